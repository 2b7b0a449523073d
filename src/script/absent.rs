//! What people look for and does not exist here: names, and what is said of them.

/// Parts of PyTorch that are left out, as the reference has it.
pub(crate) const LEFT_OUT: &str = "\
Tensors hold real numbers, dense and in memory: there are no complex dtypes, and so no `fft` and none of what gives
complex numbers (`linalg::eig`, `linalg::eigvals`, `view_as_complex`), no sparse layouts and no quantised dtypes. A model is
neither compiled nor traced (`torch.compile`, `torch.jit`).
";

const COMPLEX: &str = "there are no complex numbers here";
const SPARSE: &str = "tensors are dense here";

/// Names, and what there is instead of them.
const ABSENT: [(&str, &str); 15] = [
    (
        "copy",
        "`deepcopy(x)` copies a network or anything else, `x.clone()` a tensor, and `y.copy_(x)` writes into one",
    ),
    (
        "cuda::is_initialized",
        "a GPU is ready from the beginning: `cuda::is_available()` tells whether there is one",
    ),
    (
        "cudnn::version",
        "`doctor()` tells which libraries there are, and `cudnn::is_available()` whether cuDNN is one",
    ),
    (
        "register_full_backward_hook",
        "`net.register_forward_hook(|m, inputs, out| { out.register_hook(|g| …); () })` sees the gradient of the output",
    ),
    (
        "linalg::eig",
        "its results are complex numbers, which there are none of here; of a symmetric matrix `linalg::eigh`",
    ),
    (
        "linalg::eigvals",
        "its results are complex numbers, which there are none of here; of a symmetric matrix `linalg::eigvalsh`",
    ),
    ("view_as_complex", COMPLEX),
    ("view_as_real", COMPLEX),
    ("complex64", COMPLEX),
    ("complex128", COMPLEX),
    ("cfloat", COMPLEX),
    ("fft", COMPLEX),
    ("sparse", SPARSE),
    ("to_sparse", SPARSE),
    ("sparse_coo_tensor", SPARSE),
];

/// What is said of a name that is not here, where another of a name like it does something else.
pub(super) fn absent(name: &str) -> Option<String> {
    ABSENT.iter().find(|(absent, _)| *absent == name).map(|(_, hint)| (*hint).to_owned())
}

//! What people look for and does not exist here: names, and what is said of them.

use crate::distributed::Reduction;

/// Parts of PyTorch that are left out, as the reference has it.
pub(crate) const LEFT_OUT: &str = "\
Tensors hold real numbers, dense and in memory: there are no complex dtypes, and so no `fft` and none of what gives
complex numbers (`linalg::eig`, `linalg::eigvals`, `view_as_complex`), no sparse layouts and no quantised dtypes. A model is
neither compiled nor traced (`torch.compile`, `torch.jit`).

Nor are there, so far: `vmap` and the transforms of `torch.func`, averaged models (`optim.swa_utils`), wrapped weights
(`weight_norm`, `spectral_norm`, pruning), lazy modules, `ParameterList`, iterable data sets, other distributions than
normal, categorical and Bernoulli's, an optimiser's `state`, functions of your own with several outputs, tensors on `meta`,
the `inputs` of `backward()`, `view(dtype)` and `gradcheck`.

Pieces of `split`, `chunk` and `unbind` may be written to in place where PyTorch refuses it; the gradient is right. Where floats
become integers, NaN becomes 0, what int64 can't hold the nearest that it can, and narrower integers wrap around; in
PyTorch that differs from machine to machine.
";

const COMPLEX: &str = "there are no complex numbers here";
const SPARSE: &str = "tensors are dense here";

const OWN_PARTS: &str =
    "a module of one's own keeps parameters by their names: `nn::module(#{w: nn::Parameter(ones(2))}, …)`";
const NO_WRAPPED_WEIGHTS: &str =
    "weights are used as they are; one that is computed is given to a function, `F::linear(x, w / w.norm())`";
const DISTRIBUTIONS: &str = "`distributions::Normal`, `Categorical` and `Bernoulli` are there; `normal(mean, std)`, `rand(size)`, `bernoulli(p)` and \
     `multinomial(p, n)` draw, and the methods of tensors draw more: `x.exponential_()`";
const AVERAGE: &str =
    "`let mean = deepcopy(net);` and after each step, under no_grad, `a.lerp_(b, 0.01)` for its parameters";

pub(super) const LEAVES: &str = "`exit()` ends a script; `:quit` or Ctrl-D leaves the prompt";

const NOT_FINITE: &str =
    "`inf` and `nan` are names of their own, and `finfo(dtype)` has the limits of a dtype";

/// Names, and what there is instead of them; modules with `::` behind, for a function of one's own may be called so.
const ABSENT: [(&str, &str); 72] = [
    ("torch::", "what is PyTorch's own stands without it: `ones(2)`, `nn::Linear(2, 1)`, `optim::SGD(…)`"),
    (
        "backends::",
        "switches stand in modules of their own: `cudnn::benchmark(true)`, `matmul::allow_tf32(true)`",
    ),
    (
        "utils::",
        "`checkpoint(f, x)`, `data::DataLoader(…)` and `nn::utils::clip_grad_norm_(…)` are what is in it there",
    ),
    ("float::", NOT_FINITE),
    ("f64::", NOT_FINITE),
    ("quit", LEAVES),
    ("jit::", "a model is neither compiled nor traced here"),
    ("compile", "a model is neither compiled nor traced here"),
    ("hub::", "`load(path)` reads a file of weights"),
    ("autograd::set_detect_anomaly", "`with detect_anomaly() { … }` stands around the passes to look at"),
    ("set_detect_anomaly", "`with detect_anomaly() { … }` stands around the passes to look at"),
    (
        "random::",
        "`rand(3)` draws, and `manual_seed(n)`, `get_rng_state()` and `with fork_rng() { … }` are about what is drawn",
    ),
    (
        "time::",
        "`time(|| …)` and `timeit(|| …)` measure; `let t = timestamp(); …; t.elapsed` is the time between, in seconds",
    ),
    ("mark_dirty", "a function of your own gives a new tensor, and leaves its inputs as they are"),
    ("set_materialize_grads", "a function of your own has one output, whose gradient is always there"),
    ("optim::swa_utils::SWALR", AVERAGE),
    ("optim::SWALR", AVERAGE),
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
        "register_backward_hook",
        "`register_full_backward_hook(|m, grads, outs| …)` is PyTorch's newer one, and sees the gradients of all inputs",
    ),
    (
        "linalg::eig",
        "its results are complex numbers, which there are none of here; of a symmetric matrix `linalg::eigh`",
    ),
    (
        "linalg::eigvals",
        "its results are complex numbers, which there are none of here; of a symmetric matrix `linalg::eigvalsh`",
    ),
    ("ord", "`\"a\"[0].to_int()` is the number of a character"),
    (
        "chr",
        "`blob(1, 98).as_string()` is the text of the byte 98, and `\"\\u03c0\"` a character by its number",
    ),
    ("asarray", "`as_tensor(data)` makes a tensor of arrays, or gives the one that there is"),
    ("default_collate", "it stands in a module: `data::default_collate(samples)`"),
    (
        "data::IterableDataset",
        "a dataset has a length and gives samples by number: `#{len: 100, get: |i| …}`",
    ),
    ("data::get_worker_info", "workers get their samples by number here, so that none is given twice"),
    ("cuda::CUDAGraph", "`let g = cuda::graph(|| step());` writes work down, and `g.replay()` does it again"),
    ("Categorical", "it stands in a module: `distributions::Categorical(probs)`"),
    ("Normal", "it stands in a module: `distributions::Normal(mean, std)`"),
    ("self", "a module's function is given the module first: `|self, x| self.layer.forward(x)`"),
    ("distributions::Beta", DISTRIBUTIONS),
    ("distributions::Gamma", DISTRIBUTIONS),
    ("distributions::Independent", "`d.log_prob(x).sum(-1)` is that of the elements of a row together"),
    ("distributions::MultivariateNormal", DISTRIBUTIONS),
    ("distributions::Uniform", DISTRIBUTIONS),
    (
        "func::",
        "`autograd::grad`, `autograd::functional::jacobian` and `autograd::functional::hessian` give derivatives",
    ),
    ("get_lr", "`sched.get_last_lr()` gives the rates that are in use"),
    ("get_default_dtype", "it is float32 always: another dtype is asked for where a tensor is made"),
    ("set_default_dtype", "it is float32 always: another dtype is asked for where a tensor is made"),
    ("gradcheck", "a difference quotient beside `autograd::grad` in float64 shows the same"),
    ("hasattr", "`\"weight\" in net.state_dict().keys()` tells of tensors of a network"),
    ("kaiser_window", "there are hann_window, hamming_window, blackman_window and bartlett_window"),
    ("F::max_pool2d_with_indices", "`F::max_pool2d(x, 2, #{return_indices: true})` gives both"),
    (
        "nn::Module",
        "`nn::module(#{layer: nn::Linear(2, 1)}, |self, x| self.layer.forward(x))` makes one of one's own",
    ),
    ("nn::SyncBatchNorm", "each rank takes the statistics of its own part of a batch: nn::BatchNorm2d"),
    ("nn::utils::parametrizations::spectral_norm", NO_WRAPPED_WEIGHTS),
    ("nn::utils::parametrizations::weight_norm", NO_WRAPPED_WEIGHTS),
    ("nn::LazyLinear", "sizes are given: `nn::Linear(in, out)`, and `x.shape` tells them"),
    ("nn::LazyConv2d", "sizes are given: `nn::Conv2d(in, out, 3)`, and `x.shape` tells them"),
    ("nn::ParameterDict", OWN_PARTS),
    ("nn::ParameterList", OWN_PARTS),
    ("nn::utils::spectral_norm", NO_WRAPPED_WEIGHTS),
    ("nn::utils::weight_norm", NO_WRAPPED_WEIGHTS),
    ("optim::swa_utils::AveragedModel", AVERAGE),
    ("optim::swa_utils::get_ema_multi_avg_fn", AVERAGE),
    (
        "register_post_accumulate_grad_hook",
        "`p.register_hook(|g| …)` sees the gradient before it is added to `p.grad`",
    ),
    ("set_num_threads", "RAYON_NUM_THREADS in the environment says how many threads compute"),
    (
        "set_printoptions",
        "tensors print as PyTorch's do unless told otherwise; `x.tolist()` gives the numbers",
    ),
    ("triangular_solve", "`linalg::solve_triangular(A, B, #{upper: true})` solves it"),
    ("vmap", "most functions take batches; `stack(list(xs).map(|x| f.call(x)))` calls one for each"),
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
pub(super) fn absent_space(name: &str) -> Option<String> {
    // `import "lib/util" as u`
    if name.contains(['/', '\\', '.']) {
        let told = "a script is one file, and imports no other: what several share is written into each, or stands in one \
                    notebook";
        return Some(told.to_owned());
    }
    let around = name.split("::").next().unwrap_or(name);
    [name, around].iter().find_map(|space| absent(&format!("{space}::")))
}

/// What there is instead of a name.
pub(super) fn absent(name: &str) -> Option<String> {
    let known = ABSENT.iter().find(|(absent, _)| *absent == name).map(|(_, hint)| (*hint).to_owned());
    known.or_else(|| shortened(name))
}

/// What there is instead of names of other languages and of the members of an enumeration.
fn shortened(name: &str) -> Option<String> {
    if let Some((_, member)) = name.rsplit_once("ReduceOp") {
        let member = member.trim_start_matches(':').to_lowercase();
        return Some(match Reduction::NAMES.contains(&member.as_str()) {
            true => format!("the operation is a text here: `#{{op: \"{member}\"}}`"),
            false => format!("the operation is a text here, one of \"{}\"", Reduction::NAMES.join("\", \"")),
        });
    }
    let (_, dtype) = DTYPES.iter().find(|(short, _)| *short == name)?;
    Some(format!("the dtype is called `{dtype}`"))
}

/// Dtypes as Rust and others shorten them.
const DTYPES: [(&str, &str); 10] = [
    ("f16", "float16"),
    ("f32", "float32"),
    ("f64", "float64"),
    ("bf16", "bfloat16"),
    ("fp16", "float16"),
    ("fp32", "float32"),
    ("i16", "int16"),
    ("i32", "int32"),
    ("i64", "int64"),
    ("u8", "uint8"),
];

#[cfg(test)]
mod tests {
    use super::absent;

    #[test]
    fn members_and_short_names_are_known() {
        assert!(absent("distributed::ReduceOp::AVG").is_some_and(|told| told.contains("`#{op: \"avg\"}`")));
        for unknown in ["ReduceOp", "ReduceOp::", "distributed::ReduceOp::BXOR"] {
            assert!(
                absent(unknown).is_some_and(|told| told.contains("one of \"sum\", \"avg\"")),
                "{unknown}"
            );
        }
        assert_eq!(absent("f16").as_deref(), Some("the dtype is called `float16`"));
    }
}

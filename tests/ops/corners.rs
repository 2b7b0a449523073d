//! Values and gradients at bounds, ties, zeros and in mixed dtypes, as PyTorch 2.15 has them on a CPU.

use crate::parallel::{fault, on};

/// What a leaf's gradient is after `body`, which gives a number.
fn grad(leaf: &str, body: &str) -> String {
    on("cpu", &format!("let x = tensor({leaf}, #{{requires_grad: true}});\n{body}.backward();\nx.grad"))
}

/// PyTorch looks at the values on every device, for which it waits.
#[test]
fn negative_deviations_are_refused_on_every_device() {
    for device in ["cpu", "sim:t4"] {
        let there = if device == "cpu" { "cpu" } else { "cuda" };
        let variance = format!("let x = ones(2, #{{device: \"{there}\"}}); F::gaussian_nll_loss(x, x, -x)");
        assert!(fault(device, &variance).message.contains("var has negative entry/entries"), "{device}");
        let deviation = format!("let x = ones(2, #{{device: \"{there}\"}}); normal(x, -x)");
        assert!(
            fault(device, &deviation).message.contains("normal expects all elements of std >= 0.0"),
            "{device}"
        );
    }
}

#[test]
fn gradients_at_bounds_and_ties() {
    for (leaf, body, want) in [
        ("[-1.0, 0.5, 1.0]", "x.clamp(-1.0, 1.0).sum()", "tensor([0., 1., 0.])"),
        ("[-1.0, 0.5, 0.0 / 0.0]", "x.clamp_min(-1.0).sum()", "tensor([0., 1., 0.])"),
        ("[1.0 / 0.0, 0.0, 2.0]", "x.clamp_min(0.0).sum()", "tensor([1., 0., 1.])"),
        ("[-3.0, -1.0, 3.0]", "F::hardsigmoid(x).sum()", "tensor([0.0000, 0.1667, 0.0000])"),
        ("[1.0, 2.0, 3.0]", "x.clamp_max(tensor([1.0, 3.0, 1.0])).sum()", "tensor([0.5000, 1.0000, 0.0000])"),
        ("[1.0, 2.0, 3.0]", "x.clamp(ones(3), ones(3) * 3.0).sum()", "tensor([0.5000, 1.0000, 0.5000])"),
        ("[1.0, 2.0, 3.0]", "tensor([1.0, 2.0, 3.0]).clamp(x, x.detach()).sum()", "tensor([0., 0., 0.])"),
        ("[1.0, 2.0, 3.0]", "zeros(3).clamp(x, ones(3) * 2.0).sum()", "tensor([1., 1., 0.])"),
        (
            "[1.0, 0.0 / 0.0, 2.0]",
            "maximum(x, tensor([0.0 / 0.0, 1.0, 2.0])).sum()",
            "tensor([1.0000, 1.0000, 0.5000])",
        ),
        ("[1.0, 1.0, 2.0]", "x.median()", "tensor([0.5000, 0.5000, 0.0000])"),
        ("[0.1, 0.5, 1.0]", "logit(x, 0.2).sum()", "tensor([0., 4., 0.])"),
        ("[0.0, 0.0]", "linalg::norm(x, -0.5)", "tensor([0., 0.])"),
        ("[3.0, -4.0]", "x.norm(0)", "tensor([0., 0.])"),
        ("[0.0]", "atan2(x, zeros(1)).sum()", "tensor([0.])"),
        ("[7.0]", "x.clone().div_(2.0, #{rounding_mode: \"floor\"}).sum()", "tensor([0.])"),
        ("5.0", "ones(2).masked_fill(tensor([true, false]), x).sum()", "tensor(1.)"),
        ("5.0", "ones(2).clone().masked_fill_(tensor([true, true]), x).sum()", "tensor(2.)"),
    ] {
        assert_eq!(grad(leaf, body), want, "{body}");
    }
}

#[test]
fn second_gradients_through_casts_and_at_zeros() {
    let code = "let a = tensor(2.0, #{dtype: float64, requires_grad: true}); let b = tensor(3.0, #{requires_grad: true});
let g = autograd::grad((a * b * b + b.to(float64) ** 3).sum(), [b], #{create_graph: true})[0];
autograd::grad(g.sum(), [b])[0]";
    assert_eq!(on("cpu", code), "tensor(22.)");
    let code = "let x = tensor([2.0, 0.0, 3.0], #{requires_grad: true});
let g = autograd::grad(x.cumprod(0).sum(), [x], #{create_graph: true})[0];
autograd::grad((g * tensor([1.0, 2.0, 3.0])).sum(), [x])[0]";
    assert_eq!(on("cpu", code), "tensor([ 8., 10.,  4.])");
}

#[test]
fn values_shapes_and_dtypes() {
    for (code, want) in [
        (
            "F::interpolate(tensor([[[[10, 20], [30, 40]]]], #{dtype: uint8}), #{size: [3, 3], mode: \"bilinear\", align_corners: true})[0][0][0]",
            "tensor([10, 15, 20], dtype=torch.uint8)",
        ),
        (
            "linalg::vector_norm(tensor([8.5], #{dtype: float16}), #{ord: 6})",
            "tensor(8.5000, dtype=torch.float16)",
        ),
        (
            "let i = ones([2], #{dtype: int64}); i.addmv(ones([2, 2], #{dtype: int64}), i, #{beta: 0.2, alpha: 0.6})",
            "tensor([0, 0])",
        ),
        ("linspace(4.3, 1, 50, #{dtype: int64})[1]", "tensor(3)"),
        ("logit(tensor([0.1, 0.9]), 0.6)", "tensor([ 0.4055, -0.4055])"),
        ("tensor_split(arange(6), tensor(2))[0]", "tensor([0, 1, 2])"),
        ("cov(ones([1, 5])).shape", "[]"),
        ("tensor([1, 2]).diff(0, 0, tensor([5]), tensor([6]))", "tensor([1, 2])"),
        (
            "[tensor(1.0).quantile(0.5, 0, true).shape, F::prelu(tensor(-2.0), tensor([0.25])).shape]",
            "[[], []]",
        ),
        ("nonzero(tensor(3.0), #{as_tuple: true})", "[tensor([0])]"),
        ("unravel_index(tensor([5], #{dtype: uint8}), [2, 3])[0].dtype", "torch.int64"),
        (
            "let x = ones([2, 2], #{requires_grad: true}); [x.matrix_power(0).requires_grad, x.floor_divide(2.0).requires_grad]",
            "[true, true]",
        ),
    ] {
        assert_eq!(on("cpu", code), want, "{code}");
    }
    let floor =
        fault("cpu", "let x = ones(2, #{requires_grad: true}); x.floor_divide(2.0).sum().backward();");
    assert!(
        floor.message.contains("derivative for aten::floor_divide is not implemented"),
        "{}",
        floor.message
    );
    let matrix = fault("cpu", "F::prelu(ones([2, 2]), ones([2, 2]))");
    assert!(matrix.message.contains("ndim = 2"), "{}", matrix.message);
}

#[test]
fn options_that_pytorch_has_and_what_it_refuses() {
    for (code, want) in [
        (
            "[tensor([1.0, 3.0]).var(#{unbiased: false}), tensor([1.0, 3.0]).std(#{unbiased: true})]",
            "[tensor(1.), tensor(1.4142)]",
        ),
        ("tensor([2, 1]).sort(#{stable: true}).values", "tensor([1, 2])"),
        ("tensor([2, 3, 1]).topk(2, #{sorted: true}).values", "tensor([3, 2])"),
    ] {
        assert_eq!(on("cpu", code), want, "{code}");
    }
    for (code, want) in [
        (
            "isclose(ones(1), ones(1), #{rtol: -1.0})",
            "rtol must be greater than or equal to zero, but got -1",
        ),
        (
            "allclose(ones(1), ones(1), #{atol: -1.0})",
            "atol must be greater than or equal to zero, but got -1",
        ),
        ("F::hardtanh(ones(1), 2.0, 1.0)", "min_val cannot be greater than max_val"),
        ("F::group_norm(ones([1, 0, 2]), 1)", "Expected number of channels to be greater than 0, got 0"),
        ("ones(3).roll([])", "`shifts` required"),
        ("zeros(0).scatter(0, tensor([5]), 1.0)", "index 5 is out of bounds for dimension 0 with size 0"),
        (
            "zeros(0).scatter_add(0, tensor([5]), ones(1))",
            "index 5 is out of bounds for dimension 0 with size 0",
        ),
        (
            "zeros(0).scatter_reduce(0, tensor([5]), ones(1), \"sum\")",
            "index 5 is out of bounds for dimension 0 with size 0",
        ),
        (
            "zeros([0, 3]).index_put([tensor([1])], tensor(1.0))",
            "index is out of bounds for dimension with size 0",
        ),
        (
            "zeros([2, 3]).index_fill(1, tensor([9]), 1)",
            "index 9 is out of bounds for dimension 1 with size 3",
        ),
        (
            "tensor(1.0).index_select(0, tensor([0, 0]))",
            "index_select(): Index to scalar can have only 1 value, got 2 value(s)",
        ),
    ] {
        assert_eq!(fault("cpu", code).message, want, "{code}");
    }
}

#[test]
fn scalars_and_nothing_are_filled_at_indices() {
    for (code, want) in [
        ("tensor(1.0).index_fill(0, tensor([0, 0, 0]), 2.0)", "tensor(2.)"),
        ("tensor(1.0).index_fill(0, tensor([], #{dtype: int64}), 2.0)", "tensor(1.)"),
        ("zeros([2, 0]).scatter(0, zeros([3, 0], #{dtype: int64}), 1.0).shape", "[2, 0]"),
        ("zeros([2, 0]).index_put([tensor([1])], tensor(1.0)).shape", "[2, 0]"),
    ] {
        assert_eq!(on("cpu", code), want, "{code}");
    }
}

#[test]
fn factors_of_sums_fit_their_dtype() {
    for (code, want) in [
        ("add(tensor([1]), tensor([1.0]), #{alpha: 0.5})", "tensor([1.5000])"),
        ("rsub(tensor([1]), 1.0, #{alpha: 0.5})", "tensor([0.5000])"),
        ("add(tensor([true]), tensor([false]), #{alpha: true})", "tensor([True])"),
    ] {
        assert_eq!(on("cpu", code), want, "{code}");
    }
    let fraction = "For integral input tensors, argument alpha must not be a floating point number.";
    for (code, want) in [
        ("add(tensor([1]), tensor([1]), #{alpha: 0.5})", fraction),
        ("add(tensor([1]), 1, #{alpha: 2.0})", fraction),
        ("add(tensor([true]), tensor([true]), #{alpha: 0.5})", fraction),
        ("tensor([1]).add_(tensor([1]), #{alpha: 0.5})", fraction),
        ("sub(tensor([1]), tensor([1]), #{alpha: 0.5})", fraction),
        ("subtract(tensor([1]), tensor([1]), #{alpha: 0.5})", fraction),
        ("rsub(tensor([1]), tensor([1]), #{alpha: 0.5})", fraction),
        (
            "add(tensor([1]), tensor([1]), #{alpha: true})",
            "Boolean alpha only supported for Boolean results.",
        ),
        (
            "sub(tensor([true]), tensor([true]), #{alpha: 0.5})",
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` \
             operator instead.",
        ),
    ] {
        assert_eq!(fault("cpu", code).message, want, "{code}");
    }
}

#[test]
fn sums_of_products_have_one_dtype_but_for_addr() {
    for (code, want) in [
        (
            "addr(ones([1, 2], #{dtype: int32}), ones([1], #{dtype: int64}), full([2], 0.5))",
            "tensor([[1.5000, 1.5000]])",
        ),
        ("addr(ones([1, 1], #{dtype: int32}), ones(1), ones(1, #{dtype: float64})).dtype", "torch.float64"),
    ] {
        assert_eq!(on("cpu", code), want, "{code}");
    }
    let made =
        "let i = ones([2, 2], #{dtype: int64}); let b = ones([2, 2], #{dtype: bool}); let f = ones([2, 2]);
let h = ones([2, 2], #{dtype: int16});\n";
    for (code, want) in [
        (
            "addr(i, i[0], i[0], #{beta: 0.5})",
            "For integral input tensors, argument beta must not be a floating point number.",
        ),
        ("addr(i, i[0], i[0], #{alpha: true})", "Boolean alpha only supported for Boolean results."),
        ("i.addr_(f[0], f[0])", "result type Float can't be cast to the desired output type Long"),
        (
            "addmv(h[0], i, i[0])",
            "addmv input tensors must have the same dtype, but got Short, Long, and Long",
        ),
        (
            "addmv(f[0], f, i[0])",
            "addmv input tensors must have the same dtype, but got Float, Float, and Long",
        ),
        ("addmv(b[0], b, b[0])", "\"addmv_impl_cpu\" not implemented for 'Bool'"),
        ("mv(b, b[0])", "\"addmv_impl_cpu\" not implemented for 'Bool'"),
        ("addmm(f, i, f)", "mat1 and mat2 must have the same dtype, but got Long and Float"),
        ("addmm(h, i, i)", "self and mat2 must have the same dtype, but got Short and Long"),
        (
            "addbmm(f, stack([i]), stack([f]))",
            "mat1 and mat2 must have the same dtype, but got Long and Float",
        ),
        (
            "addbmm(f, stack([i]), stack([i]))",
            "self and mat2 must have the same dtype, but got Float and Long",
        ),
        ("addbmm(b, stack([b]), stack([b]))", "\"addmm_impl_cpu_\" not implemented for 'Bool'"),
        (
            "baddbmm(h, stack([i]), stack([f]))",
            "Input dtypes must be the same, got: input short int, batch1: long int, batch2: float",
        ),
        ("baddbmm(f, stack([f]), stack([i]))", "expected scalar type Float but found Long"),
        ("baddbmm(b, stack([b]), stack([b]))", "\"baddbmm\" not implemented for 'Bool'"),
    ] {
        assert_eq!(fault("cpu", &format!("{made}{code}")).message, want, "{code}");
    }
}

/// Each call fails with the sentence beside it.
fn refused(cases: &[(&str, &str)]) {
    for (code, want) in cases {
        assert_eq!(fault("cpu", code).message, *want, "{code}");
    }
}

#[test]
fn integers_and_floats_where_the_other_is_wanted() {
    let long = "tensor_split expected tensor_indices_or_sections to have dtype of long, but got Float";
    refused(&[
        ("tensor_split(arange(7), tensor(3.0))", long),
        ("tensor_split(arange(7), tensor([1.0, 3.0]))", long),
        (
            "tensor_split(arange(7), tensor([[3]]))",
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got \
             a tensor with 2 dims",
        ),
        (
            "unravel_index(tensor([5.0]), [2, 3])",
            "expected 'indices' to be integer dtype, but got torch.float32",
        ),
        (
            "unravel_index(tensor([true]), [2, 3])",
            "expected 'indices' to be integer dtype, but got torch.bool",
        ),
        ("round(arange(3), #{decimals: -1})", "\"round_cpu\" not implemented for 'Long'"),
        ("arange(3).round_(#{decimals: 1})", "\"round_cpu\" not implemented for 'Long'"),
        ("igamma(arange(3), arange(3))", "\"igamma_cpu\" not implemented for 'Long'"),
        ("arange(3).igamma_(arange(3))", "\"igamma_cpu\" not implemented for 'Long'"),
        ("igammac(arange(3).int(), arange(3))", "\"igammac_cpu\" not implemented for 'Long'"),
        ("special::gammainc(tensor([true]), tensor([true]))", "\"igamma_cpu\" not implemented for 'Bool'"),
        (
            "F::max_pool1d(ones([1, 1, 4], #{dtype: int64}), 2)",
            "\"max_pool1d_impl\" not implemented for 'Long'",
        ),
    ]);
    for (code, want) in [
        ("round(arange(3))", "tensor([0, 1, 2])"),
        ("igamma(tensor([1.0]), tensor([1]))", "tensor([0.6321])"),
        (
            "F::max_pool1d(ones([1, 1, 4], #{dtype: int64}), 2, #{return_indices: true})[1]",
            "tensor([[[0, 2]]])",
        ),
    ] {
        assert_eq!(on("cpu", code), want, "{code}");
    }
}

#[test]
fn what_is_empty_or_has_no_dimension() {
    let empty = "adaptive_avg_pool3d(): Expected input to have non-zero size for non-batch dimensions, but input has \
                 sizes [1, 0, 4, 4, 4] with dimension 1 being empty";
    refused(&[
        ("nn::Hardtanh(2.0, 1.0)", "max_val (1.0) must be greater than min_val (2.0)"),
        ("nn::Hardtanh(1.0, 1.0)", "max_val (1.0) must be greater than min_val (1.0)"),
        (
            "F::interpolate(zeros([1, 0, 4, 4]), #{size: [3, 5], mode: \"bilinear\"})",
            "Non-empty 4D data tensor expected but got a tensor with sizes [1, 0, 4, 4]",
        ),
        (
            "F::interpolate(zeros([1, 0, 4]), #{size: [3], mode: \"nearest\"})",
            "Non-empty 3D data tensor expected but got a tensor with sizes [1, 0, 4]",
        ),
        (
            "F::interpolate(zeros([1, 0, 4, 4]), #{size: [3, 5], mode: \"bicubic\", antialias: true})",
            "Non-empty 4D data tensor expected but got a tensor with sizes [1, 0, 4, 4]",
        ),
        ("F::interpolate(zeros([1, 0, 4, 4, 4]), #{size: [3, 5, 2], mode: \"area\"})", empty),
        ("F::adaptive_avg_pool3d(zeros([1, 0, 4, 4, 4]), 2)", empty),
        ("trapz(tensor(1.0))", "Dimension specified as -1 but tensor has no dimensions"),
        ("trapezoid(tensor(1.0), tensor(1.0))", "Dimension specified as 0 but tensor has no dimensions"),
        ("cumulative_trapezoid(tensor(1.0))", "slice() cannot be applied to a 0-dim tensor."),
    ]);
    for (code, want) in [
        ("F::interpolate(zeros([1, 0, 4, 4]), #{size: [3, 5], mode: \"area\"})", "[1, 0, 3, 5]"),
        ("F::interpolate(zeros([0, 2, 4, 4]), #{size: [3, 5], mode: \"bilinear\"})", "[0, 2, 3, 5]"),
        ("F::adaptive_avg_pool3d(ones([0, 3, 5, 4]), 2)", "[0, 2, 2, 2]"),
        ("F::adaptive_max_pool3d(ones([0, 3, 5, 4]), 2)", "[0, 2, 2, 2]"),
        ("F::adaptive_max_pool2d(ones([0, 3, 5]), 2)", "[0, 2, 2]"),
        ("F::adaptive_max_pool1d(ones([0, 3]), 2)", "[0, 2]"),
    ] {
        assert_eq!(on("cpu", &format!("({code}).shape")), want, "{code}");
    }
}

#[test]
fn clamped_gradients_where_bounds_meet_or_cross() {
    let code = "let x = []; let l = []; let h = [];
for a in [1.0, 2.0, 3.0] { for b in [1.0, 2.0, 3.0] { for c in [1.0, 2.0, 3.0] { x.push(a); l.push(b); h.push(c); } } }
let x = tensor(x, #{requires_grad: true}); let l = tensor(l, #{requires_grad: true});
let h = tensor(h, #{requires_grad: true});
x.clamp(l, h).sum().backward();
[x.grad * 2, l.grad * 2, h.grad * 2].map(|t| t.int().tolist())";
    let of_x = [2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 2, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 2];
    let of_low = [0, 1, 1, 0, 2, 2, 0, 0, 2, 0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let of_high = [0, 0, 0, 2, 0, 0, 2, 2, 0, 2, 1, 0, 2, 0, 0, 2, 2, 0, 2, 2, 1, 2, 2, 1, 2, 2, 0];
    assert_eq!(on("cpu", code), format!("[{of_x:?}, {of_low:?}, {of_high:?}]"));
}

#[test]
fn products_of_vectors_broadcast() {
    for (code, want) in [
        ("linalg::vecdot(ones([2, 3]), ones(3), #{dim: 0})", "tensor([2., 2., 2.])"),
        ("linalg::vecdot(ones([2, 3]), ones([2, 1]))", "tensor([3., 3.])"),
        ("linalg::vecdot(tensor(1.0), tensor(2.0))", "tensor(2.)"),
        ("linalg::vecdot(tensor(2.0), ones(3))", "tensor(6.)"),
    ] {
        assert_eq!(on("cpu", code), want, "{code}");
    }
    refused(&[
        (
            "linalg::vecdot(ones(3), ones(3).int())",
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type Float and y of type Int instead",
        ),
        (
            "linalg::vecdot(ones(3), ones(1))",
            "inconsistent tensor size, expected tensor [3] and src [1] to have the same number of elements, but got 3 and \
             1 elements respectively",
        ),
    ]);
}

#[test]
fn indices_and_numbers_in_other_places() {
    for (code, want) in [
        ("take_along_dim(tensor([10, 20, 30]), tensor([3, -4, -1]), 0)", "tensor([10, 30, 30])"),
        (
            "take_along_dim(tensor([[1, 2], [3, 4]]), tensor([[2, -3]]), 1)",
            "tensor([[1, 2],\n        [3, 4]])",
        ),
        ("[isin(1, tensor([1, 2])), isin(1.5, tensor([1, 2]))]", "[tensor(True), tensor(False)]"),
        ("isin(1, tensor([1, 2]), #{invert: true})", "tensor(False)"),
        ("F::gaussian_nll_loss(ones(2), zeros(2), 2.0, #{full: true})", "tensor(1.5155)"),
    ] {
        assert_eq!(on("cpu", code), want, "{code}");
    }
    refused(&[
        (
            "take_along_dim(tensor([10, 20, 30]), tensor([3]))",
            "index 3 is out of bounds for dimension 0 with size 3",
        ),
        (
            "take_along_dim(tensor([10, 20, 30]), tensor([-1]))",
            "index -1 is out of bounds for dimension 0 with size 3",
        ),
        ("take_along_dim(ones([0, 2]), zeros([1, 2], #{dtype: int64}), 0)", "ZeroDivisionError"),
        ("F::gaussian_nll_loss(ones(2), ones(2), -2.0)", "var has negative entry/entries"),
    ]);
}

#[test]
fn what_lies_out_of_range_and_what_has_no_inverse() {
    let of_labels = "argument #2 'target' is out of range";
    let singular = "is zero, the inversion could not be completed because the input matrix is singular.";
    refused(&[
        ("F::one_hot(tensor([-1]))", "Class values must be non-negative."),
        ("F::one_hot(tensor([7, -1]), 3)", "Class values must be non-negative."),
        ("F::multi_margin_loss(ones([2, 3]), tensor([0, 3]))", "target out of range"),
        ("F::multi_margin_loss(ones(3), tensor(-3))", "target out of range"),
        ("F::multilabel_margin_loss(ones(3), tensor([0, 3, 0]))", of_labels),
        ("F::multilabel_margin_loss(ones(3), tensor([0, -1, -2]))", of_labels),
        (
            "F::max_unpool1d(ones([1, 1, 2]), tensor([[[0, 9]]]), 2)",
            "Found an invalid max index: 9 (output volumes are of size 4x1)",
        ),
        (
            "F::max_unpool2d(ones([1, 1, 1, 2]), tensor([[[[0, -9]]]]), 2)",
            "Found an invalid max index: -9 (output volumes are of size 2x4)",
        ),
        (
            "F::max_unpool3d(ones([1, 1, 1, 1, 2]), tensor([[[[[0, 99]]]]]), 2)",
            "Found an invalid max index: 99 (output volumes are of size 2x2x4)",
        ),
        (
            "linalg::inv(tensor([[1.0, 2.0], [2.0, 4.0]]))",
            &format!("linalg.inv: The diagonal element 2 {singular}"),
        ),
        (
            "linalg::inv(stack([eye(2), zeros([2, 2])]))",
            &format!("linalg.inv: (Batch element 1): The diagonal element 1 {singular}"),
        ),
        (
            "linalg::inv_ex(zeros([2, 2]), #{check_errors: true})",
            &format!("linalg.inv_ex: The diagonal element 1 {singular}"),
        ),
        (
            "linalg::solve(zeros([2, 2]), ones(2))",
            "torch.linalg.solve: The solver failed because the input matrix is singular.",
        ),
        (
            "linalg::solve_ex(stack([eye(2), zeros([2, 2])]), ones([2, 2, 1]), #{check_errors: true})",
            "torch.linalg.solve_ex: (Batch element 1): The solver failed because the input matrix is singular.",
        ),
    ]);
}

#[test]
fn elements_put_at_places_and_numbers_along_diagonals() {
    for (code, want) in [
        ("zeros([2, 2]).put_(tensor([1, -1]), tensor([5.0, 6.0]))", "tensor([[0., 5.],\n        [0., 6.]])"),
        ("zeros(2).put_(tensor([[1], [1]]), tensor([5.0, 6.0]), #{accumulate: true})", "tensor([ 0., 11.])"),
        (
            "as_strided_scatter(zeros([2, 3]), ones([2, 2]), [2, 2], [3, 1], 1)",
            "tensor([[0., 1., 1.],\n        [0., 1., 1.]])",
        ),
        ("as_strided_scatter(zeros([4, 3])[1..], ones(2), [2], [3], 3)[0]", "tensor([1., 0., 0.])"),
        ("as_strided_scatter(zeros([3, 2]).t(), ones(2), [2], [1])[1]", "tensor([1., 0., 0.])"),
        ("zeros([4, 2]).fill_diagonal_(2).sum(0)", "tensor([2., 2.])"),
        ("zeros([4, 2]).fill_diagonal_(2, true)[3]", "tensor([2., 0.])"),
        ("zeros([2, 5]).fill_diagonal_(1, true).sum()", "tensor(2.)"),
        (
            "zeros([2, 2, 2], #{dtype: int64}).fill_diagonal_(1.7).flatten()",
            "tensor([1, 0, 0, 0, 0, 0, 0, 1])",
        ),
        ("zeros([1, 1, 1]).fill_diagonal_(3)", "tensor([[[3.]]])"),
        ("tensor([1.0, 2.0]).polygamma_(1)", "tensor([1.6449, 0.6449])"),
    ] {
        assert_eq!(on("cpu", code), want, "{code}");
    }
    assert_eq!(
        grad("[[1.0, 2.0], [3.0, 4.0]]", "x.clone().fill_diagonal_(5).sum()"),
        "tensor([[0., 1.],\n        [1., 0.]])"
    );
    refused(&[
        (
            "as_strided_scatter(zeros([2, 3]), ones(2), [2, 2], [3, 1])",
            "expected src to have a size equal to the slice of self. src size = [2], slice size = [2, 2]",
        ),
        (
            "zeros([2, 3]).put_(tensor([1, 9]), tensor([5.0, 6.0]))",
            "out of range: tried to access index 9 on a tensor of 6 elements.",
        ),
        (
            "zeros(2).put_(tensor([1, 0]), tensor([5.0]))",
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = 1, \
             index.numel() = 2",
        ),
        (
            "zeros(2).put_(tensor([1.0]), tensor([5.0]))",
            "put_(): Expected a long tensor for index, but got Float",
        ),
        (
            "zeros(2).put_(tensor([1]), tensor([5]))",
            "put_(): self and source expected to have the same dtype, but got self.dtype = Float and source.dtype = Long",
        ),
        ("zeros(0).put_(tensor([0]), tensor([5.0]))", "put_(): Tried to put elements into an empty tensor"),
        ("tensor([1]).polygamma_(1)", "result type Float can't be cast to the desired output type Long"),
        ("zeros(2).fill_diagonal_(1)", "dimensions must larger than 1"),
        ("zeros([2, 3, 2]).fill_diagonal_(2)", "all dimensions of input must be of equal length"),
    ]);
}

#[test]
fn what_elements_become_fits_their_dtype() {
    let mut lab = crate::nn::Lab::new();
    let half = "#{dtype: float16}";
    for (code, name) in [
        ("ones(2, H).fill_(1e10)".to_owned(), "c10::Half"),
        ("full([0], -70000, H)".to_owned(), "c10::Half"),
        ("ones(2, H).masked_fill(ones(2) > 0, -1e9)".to_owned(), "c10::Half"),
        ("let x = ones(2, H); x[0] = 65505.0".to_owned(), "c10::Half"),
        ("F::pad(ones(2, H), [1, 1], \"constant\", 1e10)".to_owned(), "c10::Half"),
        ("ones(2, H).clamp(#{max: 1e10})".to_owned(), "c10::Half"),
        ("full([2], 1e39)".to_owned(), "float"),
        ("where(ones(2) > 0, ones(2), -1e39)".to_owned(), "float"),
        ("full_like(ones(2, #{dtype: bfloat16}), 1e39)".to_owned(), "c10::BFloat16"),
    ] {
        let (error, _) = lab.try_run(&code.replace('H', half)).unwrap_err();
        assert_eq!(
            error,
            format!("RuntimeError: value cannot be converted to type {name} without overflow"),
            "{code}"
        );
    }
    for code in [
        "[full([2], 65504, H), ones(2, H).masked_fill(ones(2) > 0, -inf), where(ones(2) > 0, ones(2, H), 1e10), ones(2, H) * 1e10]",
        "[full([2], 1e39, #{dtype: float64}), ones(2, H).clamp(-inf, inf), ones(2, H) > 1e10]",
    ] {
        lab.run(&code.replace('H', half));
    }
    assert_eq!(lab.value("let m = tensor([true, false]); [m.clone().pow_(true).tolist(), m.clone().pow_(false).tolist()].to_string()").to_string(), "[[true, false], [true, true]]");
}

/// As PyTorch 2.15 has them: numbers in tensors, what an impossible sequence gives, and who is asked what.
#[test]
fn calls_take_what_pytorchs_take() {
    let mut lab = crate::nn::Lab::on("cpu");
    for (code, want) in [
        ("zeros(tensor(2)).shape", "[2]"),
        ("zeros([tensor(2), 3]).shape", "[2, 3]"),
        ("arange(tensor(3))", "tensor([0, 1, 2])"),
        ("ones(4).reshape(tensor([2]), -1).shape", "[2, 2]"),
        ("let x = ones(2, #{requires_grad: true}); autograd::grad(x * 2, x, ones(2))[0]", "tensor([2., 2.])"),
        ("let s = 0; for i in data::SequentialSampler(range(1, 4)) { s += 1 } s", "3"),
        (
            "[ones(2).get_device(), ones(2).is_cpu, ones(2).is_signed(), ones(2).bool().is_signed(), ones(2).is_complex()]",
            "[-1, true, true, false, false]",
        ),
    ] {
        assert_eq!(lab.text(code), want, "{code}");
    }
    let lost = "let lp = zeros(3, 2, 2).log_softmax(2).detach().requires_grad_(true); \
                let each = F::ctc_loss(lp, tensor([[1, 1, 1], [1, 0, 0]]), [3, 3], [3, 1], #{reduction: \"none\"}); \
                each.sum().backward(); [each[0].isinf(), lp.grad.select(1, 0).isnan().all(), lp.grad.select(1, 1).isfinite().all()]";
    assert!(lab.text(lost).matches("True").count() == 3, "{}", lab.text(lost));
    assert!(lab.error("zeros(tensor(2.5))").0.contains("must be an integer"));
}

/// As PyTorch 2.15 gives them.
#[test]
fn places_without_dimensions_ties_and_what_is_not_a_number() {
    for (code, want) in [
        // A place in a tensor without dimensions is a number, which leaves the others side by side.
        ("arange(12).reshape([1, 4, 3]).at([tensor(0), 1..3, [0, 1]]).tolist()", "[[3, 4], [6, 7]]"),
        (
            "let z = zeros([1, 2, 2]); z.put([tensor(0), 0..2, [1, 0]], tensor([[1.0, 2], [3, 4]])); z.tolist()",
            "[[[2.0, 1.0], [4.0, 3.0]]]",
        ),
        ("let x = arange(3); let i = tensor(1); x[i] = 7; [x.tolist(), x[i].shape]", "[[0, 7, 2], []]"),
        (
            "[ones(2).any([]), zeros([1, 2]).all([], #{keepdim: true}).shape]",
            "[tensor([True, True]), [1, 2]]",
        ),
        ("tensor([[1, 2], [3, 3]]).mode().values.tolist()", "[1, 3]"),
        ("tensor([1.0], #{dtype: bfloat16}).logaddexp2(tensor([-2.5]))", "tensor([1.1222])"),
        ("tensor([1]).logaddexp2(tensor([1.0], #{dtype: float16})).dtype", "torch.float16"),
        // Many are looked for in order.
        ("isin(arange(6), arange(0, 90, 5)).tolist()", "[true, false, false, false, false, true]"),
        ("isin(tensor([nan, 2.5]), arange(40) / 2).tolist()", "[false, true]"),
        ("isin(tensor([1.0, 2.5]), cat([tensor([1.0, 2.0]), full([30], nan)])).tolist()", "[true, false]"),
        ("isin(tensor([300, 2]), arange(40, #{dtype: uint8})).tolist()", "[false, true]"),
        ("isin(zeros([0, 2]), arange(40)).shape", "[0, 2]"),
    ] {
        assert_eq!(on("cpu", code), want, "{code}");
    }
    assert_eq!(grad("0.1", "tensor(6.0).remainder(x)"), "tensor(-59.)");
    assert_eq!(grad("[1.0, 3.0, 3.0]", "x.aminmax(#{dim: 0}).max"), "tensor([0.0000, 0.5000, 0.5000])");
    for name in ["rad2deg_", "deg2rad_", "logit_"] {
        let fault = fault("cpu", &format!("tensor([1]).{name}()"));
        assert!(
            fault.message.contains("result type Float can't be cast to the desired output type Long"),
            "{name}"
        );
    }
}

//! Options, second names, forms in place and functions that small programs name, as PyTorch 2.15 has them.

use crate::nn::Lab;
use crate::parallel::{fault, on};

fn hold(rows: &[(&str, &str)]) {
    for (code, want) in rows {
        assert_eq!(on("cpu", code), *want, "{code}");
    }
}

#[test]
fn options_of_functions() {
    hold(&[
        ("tensor([1.234, 5.678]).round(#{decimals: 2})", "tensor([1.2300, 5.6800])"),
        ("tensor([1234.5, 5678.0]).round(#{decimals: -2})", "tensor([1200., 5700.])"),
        ("norm(tensor([[3.0, 0.0], [0.0, 4.0]]), \"fro\")", "tensor(5.)"),
        ("tensor([7.0, -7.0]).divide(2.0, #{rounding_mode: \"floor\"})", "tensor([ 3., -4.])"),
        ("tensor([7.0]).subtract(2.0, #{alpha: 3})", "tensor([1.])"),
        ("true_divide(2.0, tensor([4.0]))", "tensor([0.5000])"),
        ("multiply(2.0, tensor([4.0]))", "tensor([8.])"),
        (
            "F::softmin(tensor([1.0, 2.0]), 0, #{dtype: float64})",
            "tensor([0.7311, 0.2689], dtype=torch.float64)",
        ),
        ("searchsorted(tensor([1, 3, 5]), tensor([3]), #{side: \"right\"})", "tensor([2])"),
        ("searchsorted(tensor([5, 1, 3]), tensor([3, 4]), #{sorter: tensor([1, 2, 0])})", "tensor([1, 2])"),
        (
            "cov(tensor([[0.0, 2.0, 1.0], [1.0, 5.0, 3.0]]), #{fweights: tensor([1, 2, 3])})",
            "tensor([[0.5667, 1.1333],\n        [1.1333, 2.2667]])",
        ),
        (
            "cov(tensor([[0.0, 2.0, 1.0], [1.0, 5.0, 3.0]]), #{aweights: tensor([0.5, 1.0, 2.0])})",
            "tensor([[0.7143, 1.4286],\n        [1.4286, 2.8571]])",
        ),
        (
            "cov(tensor([[0.0, 2.0, 1.0], [1.0, 5.0, 3.0]]), #{fweights: tensor([1, 2, 3]), aweights: tensor([0.5, 1.0, 2.0])})",
            "tensor([[0.3276, 0.6552],\n        [0.6552, 1.3103]])",
        ),
        (
            "cov(tensor([[0.0, 2.0, 1.0], [1.0, 5.0, 3.0]]), #{correction: 0, aweights: tensor([0.5, 1.0, 2.0])})",
            "tensor([[0.4082, 0.8163],\n        [0.8163, 1.6327]])",
        ),
        ("take_along_dim(arange(3), tensor([-1, 0]), 0)", "tensor([2, 0])"),
        (
            "linalg::cholesky(tensor([[4.0, 2.0], [2.0, 5.0]]), #{upper: true})",
            "tensor([[2., 1.],\n        [0., 2.]])",
        ),
        (
            "F::scaled_dot_product_attention(ones([1, 4, 1, 2]), ones([1, 2, 1, 2]), arange(4.0).reshape([1, 2, 1, 2]), #{enable_gqa: true})",
            "tensor([[[[0., 1.]],\n\n         [[0., 1.]],\n\n         [[2., 3.]],\n\n         [[2., 3.]]]])",
        ),
        (
            "F::max_pool1d(tensor([[1.0, 3.0, 2.0, 0.0]]), 2, #{return_indices: true})",
            "[tensor([[3., 2.]]), tensor([[1, 2]])]",
        ),
        (
            "F::avg_pool2d(arange(16.0).reshape([1, 1, 4, 4]), 2, #{divisor_override: 3})",
            "tensor([[[[ 3.3333,  6.0000],\n          [14.0000, 16.6667]]]])",
        ),
        (
            "F::adaptive_avg_pool1d(arange(8.0).reshape([1, 8]), [4])",
            "tensor([[0.5000, 2.5000, 4.5000, 6.5000]])",
        ),
    ]);
}

#[test]
fn a_query_that_may_see_no_key_gets_nothing() {
    let q = "let q = tensor([[1.0, 0.0], [0.0, 1.0]]).view(1, 1, 2, 2).requires_grad_(); \
             let seen = tensor([[true, false], [false, false]]);";
    let layer = "let layer = nn::MultiheadAttention(2, 1, #{batch_first: true}); let x = ones(1, 2, 2); \
                 let padding = tensor([[true, true]]);";
    let passed = "y.sum().backward(); [y, q.grad].map(|t| t.flatten().tolist())";
    let attention = "F::scaled_dot_product_attention(q, q, q";
    hold(&[
        (
            &format!("{q} let y = {attention}, #{{attn_mask: seen}}); {passed}"),
            "[[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]]",
        ),
        (
            &format!(
                "{q} let y = {attention}, #{{attn_mask: zeros(2, 2).masked_fill(!seen, -inf)}}); {passed}"
            ),
            "[[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]]",
        ),
        // What is seen of NaN is NaN.
        (
            &format!(
                "{q} F::scaled_dot_product_attention(q, q, full([1, 1, 2, 2], nan), #{{attn_mask: seen}}).isnan().all()"
            ),
            "tensor(True)",
        ),
        // Weights that are given back are as PyTorch's: a row of them is NaN.
        (
            &format!(
                "{layer} layer.forward(x, x, x, #{{key_padding_mask: padding, need_weights: false}})[0].isnan().any()"
            ),
            "tensor(False)",
        ),
        (
            &format!("{layer} layer.forward(x, x, x, #{{key_padding_mask: padding}})[0].isnan().all()"),
            "tensor(True)",
        ),
    ]);
}

#[test]
fn functions_and_other_names() {
    hold(&[
        ("F::threshold(tensor([0.5, 2.0]), 1.0, -1.0)", "tensor([-1.,  2.])"),
        (
            "F::softshrink(tensor([-2.0, 0.2, 1.0, 0.0 / 0.0]))",
            "tensor([-1.5000,  0.0000,  0.5000,     nan])",
        ),
        ("F::hardshrink(tensor([-2.0, 0.2, 1.0, 0.0 / 0.0]))", "tensor([-2.,  0.,  1., nan])"),
        ("F::tanhshrink(tensor([0.0, 1.0]))", "tensor([0.0000, 0.2384])"),
        (
            "manual_seed(3); F::alpha_dropout(ones(4), 0.5, true)",
            "tensor([ 1.6656,  1.6656, -0.7792,  1.6656])",
        ),
        ("manual_seed(3); F::gumbel_softmax(tensor([1.0, 2.0, 0.5]))", "tensor([0.7732, 0.2158, 0.0110])"),
        ("manual_seed(3); F::gumbel_softmax(tensor([1.0, 2.0, 0.5]), #{hard: true})", "tensor([1., 0., 0.])"),
        ("manual_seed(3); F::dropout3d(ones([1, 4, 1, 1, 1])).flatten()", "tensor([2., 2., 0., 2.])"),
        ("select_scatter(zeros([2, 2]), ones(2), 0, 1)", "tensor([[0., 0.],\n        [1., 1.]])"),
        ("slice_scatter(zeros(5), ones(2), 0, -4, -1, 2)", "tensor([0., 1., 0., 1., 0.])"),
        ("diagonal_scatter(zeros([2, 3]), ones(2), 1)", "tensor([[0., 1., 0.],\n        [0., 0., 1.]])"),
        ("logdet(tensor([[2.0, 0.0], [0.0, -3.0]]))", "tensor(nan)"),
        ("logdet(tensor([[2.0, 1.0], [0.0, 3.0]]))", "tensor(1.7918)"),
        ("sgn(tensor([-2.0, 0.0, 3.0]))", "tensor([-1.,  0.,  1.])"),
        ("msort(tensor([[3, 1], [2, 5]]))", "tensor([[2, 1],\n        [3, 5]])"),
        ("trapz(tensor([1.0, 2.0, 4.0]))", "tensor(4.5000)"),
        ("concatenate([ones(1), zeros(2)])", "tensor([1., 0., 0.])"),
        ("row_stack([ones(2), zeros(2)])", "tensor([[1., 1.],\n        [0., 0.]])"),
        ("ger(tensor([1, 2]), tensor([3, 4]))", "tensor([[3, 4],\n        [6, 8]])"),
        ("dsplit(arange(4).reshape([1, 2, 2]), 2)[1]", "tensor([[[1],\n         [3]]])"),
    ]);
}

#[test]
fn forms_in_place() {
    hold(&[
        ("let x = ones([2, 2]); x.tril_(); x", "tensor([[1., 0.],\n        [1., 1.]])"),
        ("let x = ones([2, 2]); x.triu_(1); x", "tensor([[0., 1.],\n        [0., 0.]])"),
        ("let x = ones(3); x.cumsum_(0); x", "tensor([1., 2., 3.])"),
        ("let x = tensor([1, 2, 3]); x.cumprod_(0); x", "tensor([1, 2, 6])"),
        (
            "let x = ones([2, 2]); x.addmm_(ones([2, 3]), ones([3, 2]), #{beta: 2}); x",
            "tensor([[5., 5.],\n        [5., 5.]])",
        ),
        (
            "let x = ones([2, 2]); x.addbmm_(ones([3, 2, 1]), ones([3, 1, 2])); x",
            "tensor([[4., 4.],\n        [4., 4.]])",
        ),
        (
            "let x = ones([1, 2, 2]); x.baddbmm_(ones([1, 2, 2]), ones([1, 2, 2])); x",
            "tensor([[[3., 3.],\n         [3., 3.]]])",
        ),
        ("let x = ones(2); x.addmv_(ones([2, 2]), ones(2)); x", "tensor([3., 3.])"),
        ("let x = ones([2, 2]); x.addr_(ones(2), ones(2)); x", "tensor([[2., 2.],\n        [2., 2.]])"),
        ("let x = tensor([1.0, 2.0]); x.eq_(1); x", "tensor([1., 0.])"),
        ("let x = tensor([1.0, 2.0]); x.less_(2); x", "tensor([1., 0.])"),
        ("let x = tensor([1, 0]); x.logical_xor_(tensor([1, 1])); x", "tensor([0, 1])"),
        ("let x = tensor([0.5, 0.9]); x.logit_(); x", "tensor([0.0000, 2.1972])"),
        ("let x = tensor([1.0, 3.0]); x.ldexp_(tensor([2, 1])); x", "tensor([4., 6.])"),
        ("let x = tensor([180.0]); x.deg2rad_(); x", "tensor([3.1416])"),
        ("let x = tensor([-3.0]); x.absolute_(); x", "tensor([3.])"),
        ("let x = tensor([3.0]); x.true_divide_(2); x", "tensor([1.5000])"),
        ("let x = tensor([3.0]); F::dropout(x, 0.0, true, true); x", "tensor([3.])"),
    ]);
}

#[test]
fn modules() {
    hold(&[
        ("nn::Threshold(0.5, 2.0)", "Threshold(threshold=0.5, value=2.0)"),
        ("nn::Softshrink()", "Softshrink(0.5)"),
        ("nn::Hardshrink(1.0)", "Hardshrink(1.0)"),
        ("let x = tensor([0.1, 1.0]); nn::Threshold(0.5, 2.0, true).forward(x); x", "tensor([2., 1.])"),
        ("nn::Dropout(0.5, #{inplace: true})", "Dropout(p=0.5, inplace=True)"),
        (
            "let x = ones(4); manual_seed(3); let y = nn::Dropout(0.5, true).forward(x); (x == y).all().item()",
            "true",
        ),
        (
            "let x = ones([1, 2, 3]); let net = nn::Dropout1d(0.999, #{inplace: true}); net.eval(); net.forward(x); x.sum()",
            "tensor(6.)",
        ),
        (
            "let x = ones([1, 2, 3]); nn::Dropout1d(0.999999, #{inplace: true}).forward(x); x.sum()",
            "tensor(0.)",
        ),
        ("nn::Tanhshrink()", "Tanhshrink()"),
        ("nn::Softmax2d().forward(zeros([2, 1, 1]))", "tensor([[[0.5000]],\n\n        [[0.5000]]])"),
        ("nn::AlphaDropout(0.2)", "AlphaDropout(p=0.2, inplace=False)"),
        ("nn::Dropout3d()", "Dropout3d(p=0.5, inplace=False)"),
        (
            "nn::InstanceNorm3d(2).forward(arange(8.0).reshape([1, 2, 1, 2, 2])).flatten()",
            "tensor([-1.3416, -0.4472,  0.4472,  1.3416, -1.3416, -0.4472,  0.4472,  1.3416])",
        ),
        ("optim::SGD(nn::Linear(2, 2).named_parameters(), #{lr: 0.1}).param_groups.len()", "1"),
    ]);
}

/// What each gives for -1 and 7 in PyTorch 2.15.
#[test]
fn activations_write_to_their_input_where_they_are_told_to() {
    for (function, module, want) in [
        ("relu(x, true)", "ReLU(true)", "[0., 7.]"),
        ("leaky_relu(x, 0.5, true)", "LeakyReLU(0.5, true)", "[-0.5000,  7.0000]"),
        ("elu(x, #{inplace: true})", "ELU(1.0, true)", "[-0.6321,  7.0000]"),
        ("hardtanh(x, #{inplace: true})", "Hardtanh(-1.0, 1.0, true)", "[-1.,  1.]"),
        ("silu(x, #{inplace: true})", "SiLU(true)", "[-0.2689,  6.9936]"),
        ("hardswish(x, true)", "Hardswish(true)", "[-0.3333,  7.0000]"),
        ("hardsigmoid(x, true)", "Hardsigmoid(true)", "[0.3333, 1.0000]"),
        ("mish(x, true)", "Mish(true)", "[-0.3034,  7.0000]"),
        ("celu(x, 1.0, true)", "CELU(1.0, true)", "[-0.6321,  7.0000]"),
        ("selu(x, true)", "SELU(true)", "[-1.1113,  7.3549]"),
        ("relu6(x, true)", "ReLU6(true)", "[0., 6.]"),
    ] {
        let tensor = format!("tensor({want})");
        hold(&[
            (&format!("let x = tensor([-1.0, 7.0]); F::{function}; x"), &tensor),
            (&format!("let x = tensor([-1.0, 7.0]); nn::{module}.forward(x); x"), &tensor),
        ]);
    }
    hold(&[
        ("nn::SiLU(true)", "SiLU(inplace=True)"),
        ("nn::ReLU6()", "ReLU6()"),
        ("nn::ELU(0.5, true)", "ELU(alpha=0.5, inplace=True)"),
        ("nn::LeakyReLU(0.2)", "LeakyReLU(negative_slope=0.2)"),
        ("nn::Hardswish(true)", "Hardswish()"),
        ("nn::SELU().inplace", "false"),
        (
            "let x = tensor([-1.0, 2.0], #{requires_grad: true}); F::elu(x * 1, 1.0, true).sum().backward(); x.grad",
            "tensor([0.3679, 1.0000])",
        ),
    ]);
}

/// PyTorch 2.15's results of the same calls.
#[test]
fn tables_bound_their_rows_and_share_gradients() {
    let table = "let w = tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]]);";
    let bounded = "tensor([[0.6000, 0.8000],\n        [0.3000, 0.4000],\n        [6.0000, 8.0000]])";
    let first = "F::embedding(tensor([0, 1, 0]), w, #{max_norm: 1.0})";
    hold(&[
        (
            &format!("{table} {first}"),
            "tensor([[0.6000, 0.8000],\n        [0.3000, 0.4000],\n        [0.6000, 0.8000]])",
        ),
        (&format!("{table} {first}; w"), bounded),
        (
            &format!("{table} w.requires_grad_(); {first}.sum().backward(); w.grad"),
            "tensor([[2., 2.],\n        [1., 1.],\n        [0., 0.]])",
        ),
        (
            &format!("{table} F::embedding(tensor([2], #{{dtype: int32}}), w, (), 2.0, 1.0)"),
            "tensor([[0.8571, 1.1429]])",
        ),
        (
            "let w = ones([3, 2], #{requires_grad: true}); let g = tensor([[1.0], [2.0], [3.0], [5.0]]); \
             (F::embedding(tensor([0, 1, 0, 0]), w, #{scale_grad_by_freq: true}) * g).sum().backward(); w.grad",
            "tensor([[3., 3.],\n        [2., 2.],\n        [0., 0.]])",
        ),
        (
            &format!(
                "{table} F::embedding_bag(tensor([[0, 1], [0, 2]]), w, #{{max_norm: 1.0, mode: \"sum\"}})"
            ),
            "tensor([[0.9000, 1.2000],\n        [1.2000, 1.6000]])",
        ),
        (
            "let net = nn::Embedding(3, 2, #{max_norm: 0.5}); net.forward(arange(3)); (net.weight.norm(2, 1) <= 0.50001).all()",
            "tensor(True)",
        ),
        (
            "nn::Embedding(3, 2, #{max_norm: 1.0, norm_type: 1.0, scale_grad_by_freq: true})",
            "Embedding(3, 2, max_norm=1.0, norm_type=1.0, scale_grad_by_freq=True)",
        ),
        (
            "nn::EmbeddingBag(3, 2, #{max_norm: 1.5, mode: \"sum\", padding_idx: 1})",
            "EmbeddingBag(3, 2, max_norm=1.5, mode='sum', padding_idx=1)",
        ),
    ]);
}

/// Billions of places of a window that lie beside the input are not gone through: these would not end.
#[test]
fn windows_of_all_sizes_are_pooled_at_once() {
    hold(&[
        (
            "F::max_pool1d(arange(8.0).reshape([1, 8]), 2147483647, 1, 1073741823)",
            "tensor([[7., 7., 7., 7., 7., 7., 7., 7.]])",
        ),
        (
            "F::max_pool2d(arange(4.0).reshape([1, 2, 2]), 2147483647, 1, 1073741823)",
            "tensor([[[3., 3.],\n         [3., 3.]]])",
        ),
        ("F::max_pool1d(arange(8.0).reshape([1, 8]), 2, 2147483648)", "tensor([[1.]])"),
    ]);
}

#[test]
fn what_the_forms_refuse() {
    for (code, said) in [
        ("ones(2).relu(true)", "relu() takes at most 1 argument, and 2 were given"),
        ("ones(2).relu_(false)", "relu_() takes at most 1 argument, and 2 were given"),
        ("norm(ones([2, 2, 2]), \"nuc\")", "dim must be a 2-tuple"),
        (
            "searchsorted(tensor([1]), tensor([1]), #{side: \"up\"})",
            "side can only be 'left' or 'right' but got up",
        ),
        (
            "searchsorted(tensor([1]), tensor([1]), #{side: \"left\", right: true})",
            "side and right can't be set to opposites",
        ),
        ("cov(ones([2, 3]), #{fweights: ones(3)})", "expected fweights to have integral dtype"),
        (
            "cov(ones([2, 3]), #{aweights: ones(2)})",
            "same numel as there are observations in the input but got 2 != 3",
        ),
        ("cdist(ones([1, 1]), ones([1, 1]), 2.0, \"fast\")", "fast is not a valid value for compute_mode"),
        ("F::avg_pool2d(ones([1, 2, 2]), 2, #{divisor_override: 0})", "divisor must be not zero"),
        (
            "F::softshrink(ones(1), -1.0)",
            "lambda must be in range [0, 3.40282e+38] for input dtype Float, but found -1",
        ),
        (
            "select_scatter(ones([2, 2]), ones(3), 0, 0)",
            "expected src to have a size equal to the part it replaces",
        ),
        (
            "F::scaled_dot_product_attention(ones([3, 1, 2]), ones([2, 1, 2]), ones([2, 1, 2]), #{enable_gqa: true})",
            "3 heads of queries, 2 of keys",
        ),
        (
            "let x = ones(2, #{requires_grad: true}); x.cumsum_(0)",
            "a leaf Variable that requires grad is being used in an in-place operation",
        ),
    ] {
        let text = fault("cpu", code);
        assert!(text.report.contains(said), "{code}: {}", text.report);
    }
}

/// Every argument may be given by its name, as Python's functions take them, and some by NumPy's.
#[test]
fn arguments_are_taken_by_their_names() {
    let mut lab = Lab::new();
    lab.run("let x = tensor([[1.0, 5.0], [3.0, 2.0]]);");
    for (code, want) in [
        ("F::softmax(#{input: x, dim: 1}).equal(x.softmax(1))", "true"),
        ("max(#{input: x, dim: 1, keepdim: true}).values.tolist()", "[[5.0], [3.0]]"),
        ("min(#{input: x}).item()", "1.0"),
        ("sum(#{input: x, axis: 0, keepdims: true}).tolist()", "[[4.0, 7.0]]"),
        ("x.mean(#{axis: 1}).tolist()", "[3.0, 2.5]"),
        ("cat([x, x], #{axis: 1}).shape", "[2, 4]"),
        ("take(#{input: x, index: tensor([0, 3])}).tolist()", "[1.0, 2.0]"),
        ("pow(x, #{exponent: 2}).tolist()", "[[1.0, 25.0], [9.0, 4.0]]"),
        ("mul(#{input: x, other: 2}).equal(mul(x, #{other: 2}))", "true"),
        ("floor_divide(x, #{other: 2}).tolist()", "[[0.0, 2.0], [1.0, 1.0]]"),
        ("swapaxes(#{input: x, axis0: 0, axis1: 1}).tolist()", "[[1.0, 3.0], [5.0, 2.0]]"),
        ("linalg::norm(#{A: tensor([3.0, 4.0])}).item()", "5.0"),
        ("F::mse_loss(#{input: x, target: x}).item()", "0.0"),
        (
            "let y = x.clone().requires_grad_(); autograd::grad(#{outputs: (y * y).sum(), inputs: [y]})[0].equal(x * 2)",
            "true",
        ),
        ("x.split(#{split_size_or_sections: 1})[1].tolist()", "[[3.0, 2.0]]"),
        ("tensor_split(arange(4), #{sections: 2})[1].tolist()", "[2, 3]"),
        ("tensor_split(arange(4), #{indices: [1]})[0].tolist()", "[0]"),
        ("zeros(3).scatter(0, tensor([1]), #{value: 3}).tolist()", "[0.0, 3.0, 0.0]"),
        ("linalg::pinv(eye(2), #{rcond: 0.1}).equal(eye(2))", "true"),
        // What is a map is still one.
        ("max(#{a: 1, b: 2})", "b"),
        ("max([1, 2]) + sum([1, 2]) + len(#{input: 1})", "6"),
    ] {
        assert_eq!(lab.text(code), want, "{code}");
    }
    for (code, said) in [
        ("softmax(#{inpt: x, dim: 0})", "softmax() got an unknown option 'inpt'"),
        ("F::softmax(#{input: x, dm: 1})", "softmax() got an unknown option 'dm'"),
        ("F::softmax(#{input: 3, dim: 1})", "argument 'input' (position 1) must be Tensor, not int"),
        ("F::mse_loss(#{input: x})", "missing required argument 'target'"),
        ("exp(#{b: 3})", "exp() does not take (map)"),
        ("sum(x, #{dim: 0, axis: 1})", "two values for 'dim'"),
    ] {
        let (text, _) = lab.error(code);
        assert!(text.contains(said), "{code}: {text}");
    }
}

/// `F::elu_` and its like, as PyTorch has them.
#[test]
fn activations_have_names_that_write() {
    let mut lab = Lab::new();
    for (code, want) in [
        ("let x = tensor([-1.0, 2.0]); F::hardtanh_(x, -0.5, 0.5); x.tolist()", "[-0.5, 0.5]"),
        ("let x = tensor([-1.0, 2.0]); F::leaky_relu_(x, #{negative_slope: 0.5}); x.tolist()", "[-0.5, 2.0]"),
        ("let x = tensor([-1.0, 2.0]); F::threshold_(x, 0.0, 9.0); x.tolist()", "[9.0, 2.0]"),
        ("let x = tensor([-1.0, 2.0]); [F::relu_(x).tolist(), x.tolist()]", "[[0.0, 2.0], [0.0, 2.0]]"),
        ("[\"elu\", \"selu\", \"celu\"].map(|n| n).len()", "3"),
        ("let x = ones(1); F::elu_(x); F::selu_(x); F::celu_(x, 2.0); F::rrelu_(x); x.item() > 1.05", "true"),
    ] {
        assert_eq!(lab.text(code), want, "{code}");
    }
}

/// Python's casts of numbers and texts; Rhai's own `int` of a float is a float.
#[test]
fn numbers_and_texts_are_cast_as_in_python() {
    let mut lab = Lab::on("sim:t4");
    for (code, want) in [
        ("[int(3.7), int(-3.7), int(\" 4 \"), int(true), int(3)]", "[3, -3, 4, 1, 3]"),
        ("[1, 2, 3][int(1.9)]", "2"),
        ("[float(\"-1e3\"), float(2), float(true), float(\"inf\") > 1e300]", "[-1000.0, 2.0, 1.0, true]"),
        ("[bool(3), bool(0.0), bool(\"\"), bool(\"no\")]", "[true, false, false, true]"),
        ("[int(tensor([[1.5]])), float(tensor(2)), bool(tensor(0.5))]", "[1, 2.0, true]"),
        ("type_of(int(time(|| 1).median_ms))", "i64"),
    ] {
        assert_eq!(lab.text(code), want, "{code}");
    }
    for (code, said) in [
        ("int(\"x\")", "invalid literal for int() with base 10: 'x'"),
        ("int(\"2.5\")", "invalid literal for int() with base 10: '2.5'"),
        ("int(0.0 / 0.0)", "cannot convert float NaN to integer"),
        ("int(1e30)", "cannot convert float beyond 64 bits to integer"),
        ("int(1.0 / 0.0)", "cannot convert float infinity to integer"),
        ("float(\"one\")", "could not convert string to float: 'one'"),
    ] {
        let (text, _) = lab.error(code);
        assert!(text.contains(said), "{code}: {text}");
    }
}

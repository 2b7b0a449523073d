//! Calls with which PyTorch's developers test it, as PyTorch 2.15 answers them.

use crate::parallel::{fault, on};

fn hold(rows: &[(&str, &str)]) {
    for (code, want) in rows {
        assert_eq!(on("cpu", code), *want, "{code}");
    }
}

#[test]
fn counts_of_repeats() {
    hold(&[
        ("arange(3).repeat_interleave(tensor([1, 0, 3]))", "tensor([0, 2, 2, 2])"),
        (
            "tensor([[1, 2], [3, 4]]).repeat_interleave(tensor([2, 1]), 1)",
            "tensor([[1, 1, 2],\n        [3, 3, 4]])",
        ),
        ("repeat_interleave(tensor([1, 0, 3]))", "tensor([0, 2, 2, 2])"),
        ("arange(3).repeat_interleave(tensor(2))", "tensor([0, 0, 1, 1, 2, 2])"),
        ("repeat_interleave(arange(2), tensor([2, 1]), #{output_size: 3})", "tensor([0, 0, 1])"),
    ]);
}

#[test]
fn spreads_with_unbiased_by_place() {
    hold(&[
        ("tensor([1.0, 3.0, 8.0]).var(false)", "tensor(8.6667)"),
        ("tensor([1.0, 3.0, 8.0]).std(true)", "tensor(3.6056)"),
        ("var_mean(tensor([1.0, 3.0]), false)", "[tensor(1.), tensor(2.)]"),
        ("std_mean(tensor([1.0, 3.0]), false)", "[tensor(1.), tensor(2.)]"),
        ("tensor([[1.0, 3.0], [2.0, 8.0]]).var(1, false, true)", "tensor([[1.],\n        [9.]])"),
    ]);
}

#[test]
fn sums_of_windows_over_a_divisor() {
    hold(&[
        (
            "F::avg_pool2d(arange(16.0).reshape([1, 1, 4, 4]), 3, #{ceil_mode: true, divisor_override: 3})",
            "tensor([[[[15.,  7.],\n          [13.,  5.]]]])",
        ),
        (
            "F::avg_pool3d(arange(8.0).reshape([1, 2, 2, 2]), 2, #{stride: 1, padding: 1, ceil_mode: true, count_include_pad: false, divisor_override: 2}).sum()",
            "tensor(112.)",
        ),
        (
            "nn::AvgPool2d(2, #{divisor_override: 3}).forward(arange(16.0).reshape([1, 4, 4]))",
            "tensor([[[ 3.3333,  6.0000],\n         [14.0000, 16.6667]]])",
        ),
        ("nn::AvgPool3d(2, #{divisor_override: 1}).forward(ones([1, 2, 2, 2]))", "tensor([[[[8.]]]])"),
    ]);
}

#[test]
fn group_norm_without_a_bias() {
    hold(&[
        ("nn::GroupNorm(2, 4, #{bias: false})", "GroupNorm(2, 4, eps=1e-05, affine=True, bias=False)"),
        ("nn::GroupNorm(2, 4, #{bias: false}).state_dict().keys()", "[\"weight\"]"),
    ]);
}

#[test]
fn a_reduction_beside_scatter() {
    hold(&[
        (
            "ones(3).scatter(0, tensor([0, 0]), tensor([2.0, 3.0]), #{reduce: \"add\"})",
            "tensor([6., 1., 1.])",
        ),
        ("ones(3).scatter(0, tensor([0, 0]), 3.0, #{reduce: \"multiply\"})", "tensor([9., 1., 1.])"),
        (
            "ones(3).scatter_(0, tensor([1, 1]), tensor([2.0, 3.0]), #{reduce: \"multiply\"})",
            "tensor([1., 6., 1.])",
        ),
    ]);
}

#[test]
fn an_index_without_elements() {
    hold(&[
        ("gather(ones([3]), 0, tensor([]))", "tensor([])"),
        ("ones(3).gather(0, tensor([], #{dtype: uint8}).reshape([2, 0]))", "tensor([], size=(2, 0))"),
    ]);
}

#[test]
fn images_by_weights() {
    hold(&[
        (
            "F::interpolate(arange(4.0).reshape([1, 1, 2, 2]), #{scale_factor: 1.7, mode: \"bicubic\"})",
            "tensor([[[[-0.2921,  0.1737,  0.7826],\n          [ 0.6395,  1.1054,  1.7142],\n          [ 1.8572,  2.3231,  2.9319]]]])",
        ),
        (
            "F::interpolate(arange(9.0).reshape([1, 1, 3, 3]), [2, 4], #{mode: \"bicubic\", align_corners: true})",
            "tensor([[[[0.0000, 0.5741, 1.4259, 2.0000],\n          [6.0000, 6.5741, 7.4259, 8.0000]]]])",
        ),
        (
            "F::interpolate(arange(5.0).reshape([1, 1, 5]), [3], #{mode: \"area\"})",
            "tensor([[[0.5000, 2.0000, 3.5000]]])",
        ),
        (
            "F::interpolate(arange(16.0).reshape([1, 1, 4, 4]), [2, 3], #{mode: \"bilinear\", antialias: true})",
            "tensor([[[[ 3.1571,  4.3571,  5.5571],\n          [ 9.4429, 10.6429, 11.8429]]]])",
        ),
        (
            "F::interpolate(arange(16.0).reshape([1, 1, 4, 4]), [2, 2], #{mode: \"bicubic\", antialias: true})",
            "tensor([[[[ 2.9339,  4.7603],\n          [10.2397, 12.0661]]]])",
        ),
        (
            "F::interpolate(arange(16.0).reshape([1, 1, 4, 4]), [2, 2], #{mode: \"lanczos\", antialias: true})",
            "tensor([[[[ 2.6906,  4.6144],\n          [10.3856, 12.3094]]]])",
        ),
        (
            "F::interpolate(arange(4.0).reshape([1, 1, 4]), #{scale_factor: 1.7, mode: \"linear\", recompute_scale_factor: true})",
            "tensor([[[0.0000, 0.5000, 1.1667, 1.8333, 2.5000, 3.0000]]])",
        ),
        (
            "F::interpolate(tensor([5, 1, 6, 4, 2, 5, 9, 0, 3], #{dtype: uint8}).reshape([1, 1, 3, 3]), [2, 2], #{mode: \"bilinear\"})",
            "tensor([[[[4, 5],\n          [6, 3]]]], dtype=torch.uint8)",
        ),
        (
            "nn::Upsample(#{scale_factor: 2.5, mode: \"nearest\", recompute_scale_factor: true}).forward(arange(3.0).reshape([1, 1, 3]))",
            "tensor([[[0., 0., 0., 1., 1., 2., 2.]]])",
        ),
    ]);
}

#[test]
fn a_rate_in_a_tensor() {
    hold(&[("optim::SGD([ones(2).requires_grad_()], #{lr: tensor([0.5])}).param_groups[0].lr", "0.5")]);
}

#[test]
fn inputs_by_name() {
    hold(&[
        ("nn::Linear(2, 1).forward(#{input: ones([3, 2])}).shape", "[3, 1]"),
        ("nn::MSELoss().forward(#{input: ones(2), target: zeros(2)})", "tensor(1.)"),
    ]);
}

#[test]
fn options_that_are_refused() {
    let refused = |code: &str, words: &str| {
        let message = fault("cpu", code).message;
        assert!(message.contains(words), "{code}: {message}");
    };
    refused(
        "arange(3).repeat_interleave(tensor([1, 2]))",
        "repeats must have the same size as input along dim",
    );
    refused("repeat_interleave(tensor([1, -2]))", "repeats can not be negative");
    refused(
        "repeat_interleave(tensor([1, 2]), #{output_size: 5})",
        "allocated size does not match required size",
    );
    refused(
        "ones(2).scatter(0, tensor([0]), 1.0, #{reduce: \"sum\"})",
        "reduce argument must be either add or multiply",
    );
    refused("F::interpolate(ones([1, 1, 4]), [2], #{antialias: true})", "Anti-alias option is restricted");
    refused("optim::SGD([ones(2)], #{lr: tensor([0.1, 0.2])})", "Tensor lr must be 1-element");
    refused("optim::Adam([[\"w\", ones(2)], ones(2)])", "Some param names are missing");
    refused(
        "optim::Adam([#{params: [ones(2)]}, #{params: [[\"w\", ones(2)]]}])",
        "cannot add param group with names to the optimizer",
    );
}
#[test]
fn numbers_and_masks_first() {
    hold(&[
        ("float_power(2.0, tensor([1, 3]))", "tensor([2., 8.], dtype=torch.float64)"),
        ("div(7, tensor([2, -2]), #{rounding_mode: \"trunc\"})", "tensor([ 3, -3])"),
        ("div(7.0, tensor([2, -2]), #{rounding_mode: \"floor\"})", "tensor([ 3., -4.])"),
        ("multiply(true, tensor([true, false]))", "tensor([ True, False])"),
        ("true / tensor([2, 4])", "tensor([0.5000, 0.2500])"),
        ("bitwise_xor(true, tensor([true, false]))", "tensor([False,  True])"),
        ("tensor([0.0, 2.0]).logical_not_()", "tensor([1., 0.])"),
    ]);
}

#[test]
fn bounds_of_ranks_in_tensors() {
    hold(&[
        ("linalg::matrix_rank(tensor([[4.0, 0.0], [0.0, 1.0]]), #{atol: tensor(2.0)})", "tensor(1)"),
        (
            "linalg::matrix_rank(tensor([[4.0, 0.0], [0.0, 1.0]]), #{rtol: tensor([0.1, 0.5])})",
            "tensor([2, 1])",
        ),
        (
            "linalg::pinv(tensor([[4.0, 0.0], [0.0, 1.0]]), #{atol: tensor(2.0), rtol: tensor(0.0)})",
            "tensor([[0.2500, 0.0000],\n        [0.0000, 0.0000]])",
        ),
    ]);
}

#[test]
fn borders_that_cut_off() {
    hold(&[
        (
            "F::pad(arange(12.0).reshape([1, 3, 4]), [-1, 1], \"reflect\")",
            "tensor([[[ 1.,  2.,  3.,  2.],\n         [ 5.,  6.,  7.,  6.],\n         [ 9., 10., 11., 10.]]])",
        ),
        (
            "F::pad(arange(4.0).reshape([1, 1, 4]), [5, -4], \"replicate\")",
            "tensor([[[0., 0., 0., 0., 0.]]])",
        ),
        ("F::pad(arange(4.0).reshape([1, 1, 4]), [-1, 2], \"circular\")", "tensor([[[1., 2., 3., 1., 2.]]])"),
    ]);
}

#[test]
fn norms_of_singular_values() {
    hold(&[
        ("norm(tensor([[3.0, 0.0], [0.0, 4.0]]), \"nuc\")", "tensor(7.)"),
        ("tensor([[[3.0, 0.0], [0.0, 4.0]]]).norm(\"nuc\", [1, 2])", "tensor([7.])"),
    ]);
}

#[test]
fn products_with_vectors_and_single_sizes() {
    hold(&[
        ("F::linear(tensor([[1.0, 2.0]]), tensor([3.0, 4.0]))", "tensor([11.])"),
        (
            "tensordot(ones([1, 2]), ones([2, 3]), [[0], [0]])",
            "tensor([[2., 2., 2.],\n        [2., 2., 2.]])",
        ),
    ]);
}

#[test]
fn tensors_in_the_place_of_numbers() {
    hold(&[
        ("narrow(arange(5), 0, tensor(1), 2)", "tensor([1, 2])"),
        ("linspace(tensor(0), tensor(1.0), 3)", "tensor([0.0000, 0.5000, 1.0000])"),
        ("logspace(0, tensor(2), 3)", "tensor([  1.,  10., 100.])"),
    ]);
}

#[test]
fn windows_over_whole_numbers() {
    hold(&[
        (
            "F::conv1d(arange(6).reshape([1, 2, 3]), arange(8).reshape([2, 2, 2]), tensor([1, 2]), #{padding: 1})",
            "tensor([[[10, 20, 26, 11],\n         [23, 53, 75, 40]]])",
        ),
        (
            "F::conv2d(arange(18).reshape([1, 2, 3, 3]), arange(8).reshape([2, 1, 2, 2]), #{groups: 2, stride: 2, padding: 1})",
            "tensor([[[[  0,   8],\n          [ 21,  43]],\n\n         [[ 63, 137],\n          [165, 337]]]])",
        ),
        (
            "F::conv3d(arange(8).reshape([1, 1, 2, 2, 2]), arange(4).reshape([1, 1, 1, 2, 2]))",
            "tensor([[[[[14]],\n\n          [[38]]]]])",
        ),
        (
            "F::conv_transpose1d(arange(4).reshape([1, 2, 2]), arange(8).reshape([2, 2, 2]), (), #{stride: 2, padding: 1, output_padding: 1})",
            "tensor([[[10, 12, 16],\n         [14, 20, 24]]])",
        ),
        (
            "F::conv_transpose2d(arange(8).reshape([1, 2, 2, 2]), arange(8).reshape([2, 1, 2, 2]), tensor([1, 2]), #{groups: 2})",
            "tensor([[[[  1,   1,   2],\n          [  1,   5,   7],\n          [  5,  13,  10]],\n\n         [[ 18,  42,  27],\n          [ 50, 118,  72],\n          [ 38,  86,  51]]]])",
        ),
        (
            "F::avg_pool1d(tensor([[-8, 6, 9, 0, 0, 5]]), 3, #{stride: 2, padding: 1, ceil_mode: true, count_include_pad: false})",
            "tensor([[-1,  5,  1,  5]])",
        ),
        (
            "F::avg_pool2d(arange(16).reshape([1, 4, 4]), 3, #{ceil_mode: true, divisor_override: 2})",
            "tensor([[[22, 10],\n         [19,  7]]])",
        ),
        (
            "F::avg_pool3d(arange(27).reshape([1, 3, 3, 3]), 2, #{stride: 2, padding: 1, ceil_mode: true})",
            "tensor([[[[ 0,  0],\n          [ 1,  3]],\n\n         [[ 3,  7],\n          [ 9, 19]]]])",
        ),
        (
            "F::unfold(tensor([[[true, false], [true, true]]]), 2)",
            "tensor([[ True],\n        [False],\n        [ True],\n        [ True]])",
        ),
    ]);
}

#[test]
fn what_pytorch_refuses() {
    let refused = |code: &str, words: &str| {
        let message = fault("cpu", code).message;
        assert!(message.contains(words), "{code}: {message}");
    };
    refused(
        "nn::BatchNorm1d(2, #{eps: 0.0}).forward(ones([2, 2]))",
        "batch_norm eps must be positive during training",
    );
    refused(
        "F::cross_entropy(zeros([1, 2]), tensor([[0.5, 0.5]]), #{ignore_index: 1})",
        "ignore_index is not supported for floating point target",
    );
}
#[test]
fn arrays_with_more_dimensions() {
    hold(&[
        ("atleast_2d([tensor(3), tensor([1, 2])])", "[tensor([[3]]), tensor([[1, 2]])]"),
        ("atleast_1d(tensor(3))", "tensor([3])"),
    ]);
}

#[test]
fn sums_back_to_a_size() {
    hold(&[
        ("ones([2, 3]).sum_to_size(1, 3)", "tensor([[2., 2., 2.]])"),
        ("ones([2, 3]).sum_to_size([])", "tensor(6.)"),
    ]);
}

#[test]
fn weights_of_a_wider_dtype() {
    hold(&[("cov(tensor([[1.0, 2.0]]).bfloat16(), #{aweights: tensor([0.5, 0.25])})", "tensor(0.5000)")]);
}

#[test]
fn a_recorded_gradient_at_nan() {
    hold(&[(
        "let x = tensor([0.0 / 0.0], #{requires_grad: true}); autograd::grad(F::relu(x), x, #{create_graph: true})[0].detach()",
        "tensor([1.])",
    )]);
}

#[test]
fn sums_of_masks_and_variances_of_one_size() {
    hold(&[
        ("tensor([[true, false], [true, true]]).sum_to_size(1, 2)", "tensor([[2, 1]])"),
        ("F::gaussian_nll_loss(ones([2, 3]), zeros([2, 3]), ones([1, 3]))", "tensor(0.5000)"),
    ]);
    let message = fault("cpu", "gradient(ones([3, 3]), #{dim: [1, 1]})").message;
    assert!(message.contains("dim 1 appears multiple times in the list of dims"), "{message}");
}

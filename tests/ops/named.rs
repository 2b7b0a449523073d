//! Functions and layers that small programs name, with the values of PyTorch 2.15.

use crate::parallel::{fault, on};

fn hold(rows: &[(&str, &str)]) {
    for (code, want) in rows {
        for device in ["cpu", "sim:t4"] {
            let code =
                format!("set_default_device(\"{}\"); {code}", if device == "cpu" { "cpu" } else { "cuda" });
            let got = on(device, &code);
            let got = got.replace(", device='cuda:0'", "");
            assert_eq!(got, *want, "{code} on {device}");
        }
    }
}

#[test]
fn pools_and_windows_of_images_and_volumes() {
    hold(&[
        (
            "F::adaptive_max_pool1d(tensor([[1.0, 5.0, 2.0, 7.0, 3.0]]), 3, #{return_indices: true})",
            "[tensor([[5., 7., 7.]]), tensor([[1, 3, 3]])]",
        ),
        (
            "F::adaptive_max_pool2d(arange(20.0).reshape([1, 4, 5]).sin(), [3, 2], #{return_indices: true})",
            "[tensor([[[0.9093, 0.9894],\n         [0.6570, 0.9906],\n         [0.6503, 0.9906]]]), tensor([[[ 2,  8],\n         [ 7, 14],\n         [15, 14]]])]",
        ),
        (
            "F::adaptive_max_pool2d(tensor([[[1.0, 1.0], [1.0, 1.0]]]), 1, #{return_indices: true})",
            "[tensor([[[1.]]]), tensor([[[0]]])]",
        ),
        (
            "F::adaptive_max_pool3d(arange(60.0).reshape([1, 3, 4, 5]).sin(), [2, 3, 1], #{return_indices: true})",
            "[tensor([[[[0.9894],\n          [0.9999],\n          [0.9999]],\n\n         [[0.9564],\n          [0.9999],\n          [0.9999]]]]), tensor([[[[ 8],\n          [33],\n          [33]],\n\n         [[27],\n          [33],\n          [33]]]])]",
        ),
        (
            "F::adaptive_avg_pool3d(arange(60.0).reshape([1, 3, 4, 5]), [2, 3, 1])",
            "tensor([[[[14.5000],\n          [19.5000],\n          [24.5000]],\n\n         [[34.5000],\n          [39.5000],\n          [44.5000]]]])",
        ),
        (
            "F::lp_pool1d(tensor([[-1.0, 2.0, -3.0, 4.0, 5.0]]), 3, 2, #{ceil_mode: true})",
            "tensor([[1.9129, 3.3322, 6.2996]])",
        ),
        (
            "F::lp_pool2d(arange(12.0).reshape([1, 3, 4]), 2, [2, 3], #{stride: 1})",
            "tensor([[[ 9.0554, 11.1355],\n         [17.9444, 20.2978]]])",
        ),
        (
            "F::max_pool3d(arange(24.0).reshape([1, 2, 3, 4]).cos(), [2, 2, 3], #{stride: 1, return_indices: true})",
            "[tensor([[[[1.0000, 0.9887],\n          [0.9602, 0.9887]]]]), tensor([[[[ 0, 19],\n          [ 6, 19]]]])]",
        ),
        (
            "F::max_unpool1d(tensor([[3.0, 2.0]]), tensor([[1, 3]]), 2, #{output_size: [5]})",
            "tensor([[0., 3., 0., 2., 0.]])",
        ),
        (
            "F::max_unpool2d(tensor([[[1.0, 2.0]]]), tensor([[[0, 7]]]), [2, 2])",
            "tensor([[[1., 0., 0., 0.],\n         [0., 0., 0., 2.]]])",
        ),
        (
            "F::local_response_norm(arange(12.0).reshape([1, 4, 3]), 3, 0.5, 0.6, 2.0)",
            "tensor([[[0.0000, 0.3886, 0.6313],\n         [0.7771, 0.8584, 0.8977],\n         [0.9144, 0.9188, 0.9166],\n         [1.4282, 1.3893, 1.3540]]])",
        ),
        (
            "F::local_response_norm(arange(16.0).reshape([1, 4, 2, 2]), 2, 1.0)",
            "tensor([[[[0.0000, 0.7378],\n          [0.8774, 0.8353]],\n\n         [[0.7698, 0.6908],\n          [0.6116, 0.5461]],\n\n         [[0.4937, 0.4518],\n          [0.4177, 0.3895]],\n\n         [[0.3658, 0.3457],\n          [0.3283, 0.3131]]]])",
        ),
        (
            "F::conv_transpose3d(arange(8.0).reshape([1, 1, 2, 2, 2]), arange(8.0).reshape([1, 1, 2, 2, 2]), tensor([1.0]), #{stride: 2, padding: 1, output_padding: 1})",
            "tensor([[[[[ 1.,  7.,  8.],\n           [11., 13., 16.],\n           [15., 19., 22.]],\n\n          [[13., 11., 16.],\n           [ 7.,  1.,  8.],\n           [19., 15., 22.]],\n\n          [[29., 31., 36.],\n           [31., 29., 36.],\n           [43., 43., 50.]]]]])",
        ),
        (
            "F::conv_transpose3d(arange(16.0).reshape([2, 2, 2, 2]), arange(8.0).reshape([2, 1, 2, 1, 2]), #{groups: 2, dilation: 2})",
            "tensor([[[[  0.,   0.,   0.,   1.],\n          [  0.,   0.,   2.,   3.]],\n\n         [[  0.,   0.,   4.,   5.],\n          [  0.,   0.,   6.,   7.]],\n\n         [[  0.,   2.,   0.,   3.],\n          [  4.,   6.,   6.,   9.]],\n\n         [[  8.,  10.,  12.,  15.],\n          [ 12.,  14.,  18.,  21.]]],\n\n\n        [[[ 32.,  36.,  40.,  45.],\n          [ 40.,  44.,  50.,  55.]],\n\n         [[ 48.,  52.,  60.,  65.],\n          [ 56.,  60.,  70.,  75.]],\n\n         [[ 48.,  54.,  56.,  63.],\n          [ 60.,  66.,  70.,  77.]],\n\n         [[ 72.,  78.,  84.,  91.],\n          [ 84.,  90.,  98., 105.]]]])",
        ),
    ]);
}

#[test]
fn layers_of_them() {
    hold(&[
        (
            "nn::MaxPool1d(2, #{return_indices: true}).forward(tensor([[1.0, 3.0, 2.0, 0.0]]))",
            "[tensor([[3., 2.]]), tensor([[1, 2]])]",
        ),
        (
            "nn::MaxPool3d(2, #{return_indices: true}).forward(arange(8.0).reshape([1, 2, 2, 2]))",
            "[tensor([[[[7.]]]]), tensor([[[[7]]]])]",
        ),
        (
            "nn::AdaptiveMaxPool2d([2, ()]).forward(arange(12.0).reshape([1, 4, 3]))",
            "tensor([[[ 3.,  4.,  5.],\n         [ 9., 10., 11.]]])",
        ),
        (
            "nn::AdaptiveAvgPool3d([1, 2, ()]).forward(arange(12.0).reshape([1, 1, 4, 3]))",
            "tensor([[[[1.5000, 2.5000, 3.5000],\n          [7.5000, 8.5000, 9.5000]]]])",
        ),
        ("nn::LPPool1d(2, 2).forward(tensor([[3.0, 4.0, 6.0, 8.0]]))", "tensor([[ 5., 10.]])"),
        (
            "nn::MaxUnpool2d(2).forward(tensor([[[4.0]]]), tensor([[[3]]]), #{output_size: [3, 3]})",
            "tensor([[[0., 0., 0.],\n         [4., 0., 0.],\n         [0., 0., 0.]]])",
        ),
        (
            "nn::LocalResponseNorm(2, #{k: 2.0}).forward(ones([1, 2, 1]))",
            "tensor([[[0.5946],\n         [0.5946]]])",
        ),
        (
            "nn::MultiMarginLoss(#{p: 2}).forward(tensor([[0.1, 0.2, 0.4, 0.8]]), tensor([3]))",
            "tensor(0.1525)",
        ),
        (
            "nn::MultiLabelMarginLoss().forward(tensor([[0.1, 0.2, 0.4, 0.8]]), tensor([[3, 0, -1, 1]]))",
            "tensor(0.8500)",
        ),
        (
            "nn::MultiLabelSoftMarginLoss(#{weight: tensor([1.0, 2.0])}).forward(tensor([[0.5, -1.0]]), tensor([[1.0, 0.0]]))",
            "tensor(0.5503)",
        ),
        (
            "nn::PoissonNLLLoss(#{full: true}).forward(tensor([0.0, 1.0]), tensor([1.0, 2.0]))",
            "tensor(1.1850)",
        ),
        (
            "nn::GaussianNLLLoss(#{reduction: \"sum\"}).forward(tensor([1.0, 2.0]), tensor([1.0, 4.0]), tensor([1.0, 2.0]))",
            "tensor(1.3466)",
        ),
    ]);
}

#[test]
fn losses_of_margins_between_classes() {
    hold(&[
        (
            "F::multi_margin_loss(tensor([[0.1, 0.2, 0.4, 0.8], [0.3, 0.1, 0.2, 0.9]]), tensor([3, 1]), #{p: 2, margin: 0.5, weight: tensor([1.0, 2.0, 3.0, 4.0]), reduction: \"none\"})",
            "tensor([0.0100, 1.2700])",
        ),
        ("F::multi_margin_loss(tensor([0.1, 0.2, 0.4, 0.8]), tensor(3))", "tensor(0.3250)"),
        (
            "F::multilabel_margin_loss(tensor([[0.1, 0.2, 0.4, 0.8], [0.3, 0.1, 0.2, 0.9]]), tensor([[3, 0, -1, 1], [1, -1, 0, 0]]), #{reduction: \"none\"})",
            "tensor([0.8500, 1.0250])",
        ),
    ]);
}

#[test]
fn systems_by_factors() {
    hold(&[
        (
            "cholesky_solve(tensor([[4.0, 1.0], [9.0, 2.0]]), tensor([[2.0, 0.0], [1.0, 3.0]]))",
            "tensor([[0.6111, 0.1667],\n        [0.7778, 0.1667]])",
        ),
        (
            "cholesky_solve(tensor([[4.0], [9.0]]), tensor([[2.0, 1.0], [0.0, 3.0]]), #{upper: true})",
            "tensor([[0.6111],\n        [0.7778]])",
        ),
        (
            "cholesky_inverse(tensor([[2.0, 0.0], [1.0, 3.0]]))",
            "tensor([[ 0.2778, -0.0556],\n        [-0.0556,  0.1111]])",
        ),
        (
            "linalg::lu_solve(tensor([[4.0, 1.0, 2.0], [0.5, 3.0, 1.0], [0.25, 0.5, 2.0]]), tensor([2, 3, 3], #{dtype: int32}), tensor([[1.0], [2.0], [3.0]]))",
            "tensor([[ 0.4375],\n        [ 0.7500],\n        [-0.2500]])",
        ),
        (
            "linalg::lu_solve(tensor([[4.0, 1.0, 2.0], [0.5, 3.0, 1.0], [0.25, 0.5, 2.0]]), tensor([2, 3, 3], #{dtype: int32}), tensor([[1.0], [2.0], [3.0]]), #{adjoint: true})",
            "tensor([[ 0.9583],\n        [-0.0417],\n        [ 0.1042]])",
        ),
        (
            "linalg::lu_solve(tensor([[4.0, 1.0, 2.0], [0.5, 3.0, 1.0], [0.25, 0.5, 2.0]]), tensor([2, 3, 3], #{dtype: int32}), tensor([[1.0, 2.0, 3.0]]), #{left: false})",
            "tensor([[ 0.9583, -0.0417,  0.1042]])",
        ),
        (
            "linalg::solve_ex(tensor([[2.0, 1.0], [1.0, 3.0]]), tensor([4.0, 5.0])).result",
            "tensor([1.4000, 1.2000])",
        ),
        ("linalg::inv_ex(tensor([[2.0, 1.0], [1.0, 3.0]])).info", "tensor(0, dtype=torch.int32)"),
        ("linalg::inv_ex(tensor([[2.0, 1.0], [4.0, 2.0]])).info", "tensor(2, dtype=torch.int32)"),
        (
            "linalg::diagonal(arange(12).reshape([2, 2, 3]), #{offset: 1})",
            "tensor([[ 1,  5],\n        [ 7, 11]])",
        ),
        (
            "pinverse(tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))",
            "tensor([[-1.3333, -0.3333,  0.6667],\n        [ 1.0833,  0.3333, -0.4167]])",
        ),
    ]);
}

#[test]
fn windows_slopes_and_pieces() {
    hold(&[
        ("hann_window(5)", "tensor([0.0000, 0.3455, 0.9045, 0.9045, 0.3455])"),
        ("hamming_window(5, false)", "tensor([0.0800, 0.5400, 1.0000, 0.5400, 0.0800])"),
        (
            "blackman_window(6)",
            "tensor([-2.9802e-08,  1.3000e-01,  6.3000e-01,  1.0000e+00,  6.3000e-01,\n         1.3000e-01])",
        ),
        ("bartlett_window(5, false)", "tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])"),
        ("bartlett_window(1)", "tensor([1.])"),
        ("hann_window(0)", "tensor([])"),
        ("gradient(tensor([1.0, 4.0, 9.0, 25.0]), #{spacing: 0.5})", "[tensor([ 6.,  8., 21., 32.])]"),
        (
            "gradient(tensor([[1.0, 4.0, 9.0, 25.0], [2.0, 3.0, 5.0, 1.0]]))",
            "[tensor([[  1.,  -1.,  -4., -24.],\n        [  1.,  -1.,  -4., -24.]]), tensor([[ 3.0000,  4.0000, 10.5000, 16.0000],\n        [ 1.0000,  1.5000, -1.0000, -4.0000]])]",
        ),
        (
            "gradient(tensor([1.0, 4.0, 9.0, 25.0, 3.0]), #{spacing: [tensor([0.0, 1.0, 3.0, 3.5, 7.0])], edge_order: 2})",
            "[tensor([  3.1667,   2.8333,  26.1000,  27.2143, -39.7857])]",
        ),
        ("gradient(tensor([1, 4, 9]))", "[tensor([3., 4., 5.])]"),
        ("split_with_sizes(arange(5), [2, 3])", "[tensor([0, 1]), tensor([2, 3, 4])]"),
        (
            "index_put(zeros([2, 2]), [tensor([0, 1]), tensor([1, 1])], tensor([3.0, 4.0]))",
            "tensor([[0., 3.],\n        [0., 4.]])",
        ),
    ]);
}

#[test]
fn corners_of_gradients_and_types() {
    hold(&[
        (
            "let x = tensor([0.0], #{requires_grad: true}); (x ** tensor([0.0])).sum().backward(); x.grad",
            "tensor([0.])",
        ),
        (
            "let x = tensor([0.0], #{requires_grad: true}); x.xlogy(tensor([0.5])).sum().backward(); x.grad",
            "tensor([-0.6931])",
        ),
        (
            "let x = tensor([0.0], #{requires_grad: true}); x.xlogy(tensor([0.0])).sum().backward(); x.grad",
            "tensor([0.])",
        ),
        (
            "F::dropout3d(ones([4, 3, 1, 2]), #{p: 0.5}).sum([1, 2, 3]).remainder(12).abs().sum()",
            "tensor(0.)",
        ),
        ("F::alpha_dropout(tensor([1.0, -2.0]), #{p: 1.0, training: true}).abs()", "tensor([0., 0.])"),
        ("logspace(4.3, 1.2, 2, 2.0, #{dtype: int64})", "tensor([16,  2])"),
        (
            "let v = tensor(1.0, #{requires_grad: true}); zeros(3).index_fill(0, tensor([0, 0]), v).sum().backward(); v.grad",
            "tensor(1.)",
        ),
        (
            "let x = tensor([100.0, 0.0], #{requires_grad: true}); let g = autograd::grad(F::elu(x).sum(), x, #{create_graph: true})[0]; autograd::grad(g.sum(), x)[0]",
            "tensor([0., 0.])",
        ),
        ("isclose(tensor([true, false]), tensor([true, true]))", "tensor([ True, False])"),
        ("isclose(tensor([true, false]), tensor([false, false]), #{atol: 2.0})", "tensor([True, True])"),
    ]);
}

#[test]
fn tensors_one_after_the_other() {
    hold(&[
        ("einsum(\"i,i\", tensor([1.0, 2.0]), tensor([3.0, 4.0]))", "tensor(11.)"),
        ("einsum(\"ij->ji\", tensor([[1, 2]]))", "tensor([[1],\n        [2]])"),
        ("einsum(\"i,i\", [tensor([1.0, 2.0]), tensor([3.0, 4.0])])", "tensor(11.)"),
        (
            "meshgrid(tensor([1, 2]), tensor([3]), #{indexing: \"xy\"})",
            "[tensor([[1, 2]]), tensor([[3, 3]])]",
        ),
        ("cartesian_prod(tensor([1, 2]), tensor([3]))", "tensor([[1, 3],\n        [2, 3]])"),
        ("block_diag(tensor([[1]]), tensor([[2]]))", "tensor([[1, 0],\n        [0, 2]])"),
        ("broadcast_tensors(tensor([1, 2]), tensor([[3]]))[1]", "tensor([[3, 3]])"),
        ("chain_matmul(ones([1, 2]), ones([2, 3]), ones([3, 1]))", "tensor([[6.]])"),
    ]);
}

#[test]
fn refusals_are_pytorch_s() {
    for (code, want) in [
        (
            "F::adaptive_max_pool2d(arange(20).reshape([1, 4, 5]), 2)",
            "\"adaptive_max_pool2d\" not implemented for 'Long'",
        ),
        (
            "F::max_unpool2d(ones([1, 1, 1]), ones([1, 1, 1]), 2)",
            "elements in indices should be type int64 but got: Float",
        ),
        (
            "F::max_unpool1d(ones([1, 3]), ones([1, 3]).long(), 2, #{output_size: [99]})",
            "(dim 0 must be between 4 and 8)",
        ),
        ("F::multi_margin_loss(ones([2, 3]), tensor([0, 1]), 3)", "only p == 1 and p == 2 supported"),
        (
            "F::multilabel_margin_loss(ones([2, 3]), tensor([[0, 1, 2]]))",
            "inconsistent target size: [1, 3] for input of size: [2, 3]",
        ),
        (
            "F::conv_transpose3d(ones([1, 2, 3, 3, 3]), ones([3, 1, 2, 2, 2]))",
            "expected input[1, 2, 3, 3, 3] to have 3 channels, but got 2 channels instead",
        ),
        (
            "F::conv_transpose3d(ones([1, 2, 1, 1, 1]), ones([2, 1, 2, 2, 2]), #{padding: 3})",
            "Calculated output size per channel: (-4 x -4 x -4)",
        ),
        (
            "F::local_response_norm(ones(2), 2)",
            "Expected 3D or higher dimensionality input (got 1 dimensions)",
        ),
        (
            "linalg::vecdot(tensor([1]), tensor([1]))",
            "Expected a floating point or complex tensor as input. Got Long",
        ),
        (
            "gradient(tensor([1.0]))",
            "torch.gradient expected each dimension size to be at least edge_order+1",
        ),
    ] {
        let told = fault("cpu", code).report.to_string();
        assert!(told.contains(want), "{code}: {told}");
    }
}

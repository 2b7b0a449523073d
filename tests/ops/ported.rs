//! Functions of PyTorch that ported programs call now and then.

use crate::nn::Lab;

/// Names of PyTorch that stand beside those above, as PyTorch 2.15 has them on both sides of where formulas change.
#[test]
fn what_porters_miss_is_pytorch_s() {
    let mut lab = Lab::on("sim:t4");
    lab.run("let s = tensor([2.0, 1.5, 20.0, 4.0, 3.0], #{dtype: float64});");
    lab.run("let q = tensor([1.0, 0.25, 3.5, -2.5, 40.0], #{dtype: float64});");
    lab.run("let p = tensor([1e-300, 1e-10, 0.01, 0.3, 0.5, 0.9, 0.999999999], #{dtype: float64});");
    lab.run("let m = tensor([2.0, 7.5], #{dtype: float64});");
    for (code, want) in [
        (
            "special::zeta(s, q)",
            &[
                1.6449340668482266,
                10.213055360466601,
                1.3229189094143142e-11,
                32.457979369864596,
                0.00032041013591764924,
            ] as &[f64],
        ),
        (
            "special::ndtri(p)",
            &[
                -37.0470962993612,
                -6.361340902404056,
                -2.3263478740408408,
                -0.5244005127080409,
                0.0,
                1.2815515655446004,
                5.997807019601637,
            ],
        ),
        ("mvlgamma(m, 4)", &[3.8857723628376557, 27.997858908956225]),
    ] {
        for place in ["cpu", "cuda"] {
            lab.run(&format!("s = s.to(\"{place}\"); q = q.to(s); p = p.to(s); m = m.to(s);"));
            let got = lab.numbers(code);
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs();
            assert!(
                got.len() == want.len() && got.iter().zip(want).all(close),
                "{code}: {got:?}, not {want:?}"
            );
        }
    }
    for (code, want) in [
        ("frexp(tensor([1.0 / 0.0, 0.0, -3.0, 1e-42])).exponent.tolist()", "[0, 0, 2, -139]"),
        ("frexp(tensor([0.0, -3.0, 8.0])).mantissa.tolist()", "[0.0, -0.75, 0.5]"),
        (
            "tensor([[1.0, 2.0], [3.0, 4.0]]).index_reduce(0, tensor([1, 1]), tensor([[3.0, 5.0], [6.0, -7.0]]), \"prod\").tolist()",
            "[[1.0, 2.0], [54.0, -140.0]]",
        ),
        ("tensor([7, 3]).index_reduce_(0, tensor([0]), tensor([-10]), \"mean\").tolist()", "[-2, 3]"),
        (
            "linalg::vander(tensor([2, 3], #{dtype: int8}), #{N: 3})",
            "tensor([[1, 2, 4],\n        [1, 3, 9]])",
        ),
        (
            "linalg::cholesky_ex(tensor([[[4.0, 0.0], [0.0, 1.0]], [[4.0, 3.0], [3.0, 1.0]]])).info.tolist()",
            "[0, 2]",
        ),
        ("broadcast_shapes([2, 1], 3, [1])", "[2, 3]"),
        ("broadcast_shapes()", "[]"),
        (
            "F::upsample(tensor([[[1.0, 3.0]]]), #{scale_factor: 2, mode: \"linear\"}).tolist()",
            "[[[1.0, 1.5, 2.5, 3.0]]]",
        ),
        // The generator is asked for negative elements alone.
        (
            "manual_seed(0); F::rrelu(tensor([-1.0, 2.0, -1.0, -1.0]), #{training: true})",
            "tensor([-0.3271,  2.0000, -0.2725, -0.2207])",
        ),
        ("nn::RReLU()", "RReLU(lower=0.125, upper=0.3333333333333333)"),
        ("nn::RReLU(0.1, 0.2, true)", "RReLU(lower=0.1, upper=0.2, inplace=True)"),
        ("nn::RReLU(0.1, 0.3).eval().forward(tensor([-1.0, 2.0]))", "tensor([-0.2000,  2.0000])"),
    ] {
        assert_eq!(lab.text(code), want, "{code}");
    }
    lab.run("let x = tensor([[0.0, 1.0], [0.0, 1.0], [2.0, 5.0]]).requires_grad_(); F::pdist(x).sum().backward();");
    assert_eq!(
        lab.text("x.grad"),
        "tensor([[-0.4472, -0.8944],\n        [-0.4472, -0.8944],\n        [ 0.8944,  1.7889]])"
    );
    lab.run("let x = tensor([-1.0, 2.0, -3.0], #{device: \"cuda\"}).requires_grad_(); let y = F::rrelu(x, #{training: true}); y.sum().backward();");
    assert_eq!(lab.text("(x.grad * x).equal(y)"), "true");
}

#[test]
fn what_porters_miss_refuses_what_pytorch_does() {
    let mut lab = Lab::on("cpu");
    for (code, want) in [
        ("frexp(tensor([1]))", "torch.frexp() only supports floating-point dtypes"),
        ("F::pdist(zeros(2))", "pdist only supports 2D tensors, got: 1D"),
        ("F::pdist(zeros(2, 2), -1)", "pdist only supports non-negative p values"),
        ("mvlgamma(tensor([3.0]), 0)", "p has to be greater than or equal to 1"),
        ("tensor([3]).mvlgamma_(2)", "result type Long can't be cast"),
        ("F::rrelu(tensor([-1.0]), 0.5, 0.1)", "Lower bound should be less than or equal to the upper bound"),
        ("linalg::vander(zeros(2, 3), #{N: 1})", "N must be greater than 1."),
        ("vander(zeros(2, 3))", "x must be a one-dimensional tensor."),
        (
            "zeros(2).index_reduce(0, tensor([0]), ones(1), \"sum\")",
            "Expected reduce to be one of prod, mean, amax or amin but got sum.",
        ),
        ("zeros(2).index_reduce(0, tensor([5]), ones(1), \"mean\")", "index out of range in self"),
        (
            "zeros(2, 3).index_reduce(1, tensor([0]), ones(2, 3), \"mean\")",
            "Number of indices (1) should be equal to source.size(dim): (3), for dim: 1",
        ),
        (
            "linalg::cholesky(tensor([[4.0, 2.0], [2.0, -5.0]]))",
            "(the leading minor of order 2 is not positive-definite)",
        ),
        (
            "linalg::cholesky_ex(tensor([[[4.0, 2.0], [2.0, -5.0]]]), #{check_errors: true})",
            "linalg.cholesky_ex: (Batch element 0): ",
        ),
        ("broadcast_shapes([2], [3])", "must match the size of tensor b (3)"),
        ("broadcast_shapes([-1])", "negative length"),
        ("broadcast_shapes(\"ab\")", "broadcast_shapes() takes arrays of sizes, not string"),
    ] {
        let told = format!("{:?}", lab.error(code));
        assert!(told.contains(want), "{code}: {told}");
    }
}

/// Orders of memory by name, with the strides that PyTorch 2.15 has.
#[test]
fn memory_formats_are_strides() {
    let mut lab = Lab::on("sim:t4");
    lab.run("let x = arange(24.0).reshape([1, 2, 3, 4]); let c = x.to(#{memory_format: channels_last});");
    let last = "[24, 1, 8, 2]";
    for (code, want) in [
        ("c.stride()", last),
        (
            "[c.is_contiguous(), c.is_contiguous(#{memory_format: channels_last}), c.equal(x)]",
            "[false, true, true]",
        ),
        ("x.contiguous(#{memory_format: \"channels_last\"}).stride()", last),
        ("c.contiguous(#{memory_format: channels_last}).data_ptr() == c.data_ptr()", "true"),
        ("c.contiguous().stride()", "[24, 12, 4, 1]"),
        (
            "[c.clone().stride(), c.double().stride(), zeros_like(c).stride()]",
            "[[24, 1, 8, 2], [24, 1, 8, 2], [24, 1, 8, 2]]",
        ),
        ("c.clone(#{memory_format: contiguous_format}).stride()", "[24, 12, 4, 1]"),
        ("c.half(#{memory_format: contiguous_format}).stride()", "[24, 12, 4, 1]"),
        ("zeros_like(x, #{memory_format: channels_last}).stride()", last),
        ("rand_like(x.cuda(), #{memory_format: channels_last}).stride()", last),
        ("empty([1, 2, 3, 4], #{memory_format: channels_last}).stride()", last),
        ("zeros(2, 1, 1, 4).contiguous(#{memory_format: channels_last}).stride()", "[4, 4, 4, 1]"),
        ("zeros(2, 1, 1, 4).clone(#{memory_format: channels_last}).stride()", "[4, 1, 4, 1]"),
        ("zeros(1, 2, 1, 3, 2).contiguous(#{memory_format: channels_last_3d}).stride()", "[12, 1, 12, 4, 2]"),
        ("nn::Conv2d(2, 2, 1).to(#{memory_format: channels_last}).forward(c).shape", "[1, 2, 3, 4]"),
        // Draws go along memory.
        ("manual_seed(0); randn_like(zeros(2, 3).t())[0]", "tensor([1.5410, 0.5684])"),
        ("manual_seed(0); zeros(4, 6).t().normal_()[0]", "tensor([ 1.5410,  0.4033, -0.8567, -0.8920])"),
        ("manual_seed(0); zeros(2, 6).t()[0..3].normal_()[0]", "tensor([1.5410, 0.5684])"),
        ("manual_seed(0); zeros(2, 3).t().uniform_()[0]", "tensor([0.4963, 0.1320])"),
    ] {
        assert_eq!(lab.text(code), want, "{code}");
    }
    lab.run(
        "let y = x.clone().requires_grad_(); (y.to(#{memory_format: channels_last}) * x).sum().backward();",
    );
    assert_eq!(lab.text("y.grad.equal(x)"), "true");
    for (code, want) in [
        (
            "zeros(2).contiguous(#{memory_format: channels_last})",
            "required rank 4 tensor to use channels_last format",
        ),
        (
            "zeros(2).clone(#{memory_format: channels_last_3d})",
            "required rank 5 tensor to use channels_last_3d format",
        ),
        ("zeros(2).clone(#{memory_format: \"channels_lost\"})", "there is no memory format 'channels_lost'"),
        ("empty([2], #{memory_format: preserve_format})", "unsupported memory format Preserve"),
    ] {
        let told = format!("{:?}", lab.error(code));
        assert!(told.contains(want), "{code}: {told}");
    }
}

/// Where PyTorch has a gradient of zeros, there is one, and it leads on.
#[test]
fn flat_gradients_are_zeros() {
    let mut lab = Lab::on("sim:t4");
    lab.run("let x = tensor([[[-1.5, 0.5, 2.5, 1.0]]]).requires_grad_();");
    for code in [
        "x.relu()",
        "F::leaky_relu(x)",
        "F::max_pool1d(x, 2)",
        "F::avg_pool1d(x, 2)",
        "F::hardtanh(x)",
        "F::hardshrink(x)",
        "F::threshold(x, 0.1, 2)",
        "F::adaptive_avg_pool1d(x, 2)",
    ] {
        for place in ["cpu", "cuda"] {
            lab.run(&format!(
                "let y = x.to(\"{place}\"); let z = {};",
                code.replace("(x", "(y").replace("x.relu", "y.relu")
            ));
            lab.run("let first = autograd::grad(z.sum(), x, #{create_graph: true})[0];");
            assert_eq!(
                lab.text("autograd::grad(first.sum(), x)[0].tolist()"),
                "[[[0.0, 0.0, 0.0, 0.0]]]",
                "{code}"
            );
        }
    }
    // A penalty on a gradient reaches weights through it.
    lab.run("let w = tensor([[2.0, -1.0]]).requires_grad_(); let x = tensor([[1.0, 1.0]]).requires_grad_();");
    lab.run("let slope = autograd::grad((x * w).relu().sum(), x, #{create_graph: true})[0]; (slope * slope).sum().backward();");
    assert_eq!(lab.text("[w.grad.tolist(), x.grad.tolist()]"), "[[[4.0, 0.0]], [[0.0, -0.0]]]");
    lab.run("let m = zeros(2).requires_grad_(); let s = ones(2).requires_grad_();");
    for code in [
        "normal(m, s)",
        "bernoulli(zeros([0, 2]) + m)",
        "F::layer_norm(zeros([0, 2]) + m, [2], s, m)",
        "combinations(m, 3)",
    ] {
        assert_eq!(
            lab.text(&format!("m.grad = (); ({code}).sum().backward(); m.grad.tolist()")),
            "[0.0, 0.0]",
            "{code}"
        );
    }
    lab.run("let q = tensor([0.25, 0.5], #{dtype: float64}).requires_grad_();");
    lab.run("tensor([1.0, 3.0, 9.0, 4.0], #{dtype: float64}).quantile(q).backward(tensor([1.0, 10.0], #{dtype: float64}));");
    assert_eq!(lab.text("q.grad.tolist()"), "[6.0, 30.0]");
    // What is at a margin exactly has no gradient, and NaN none.
    lab.run("let a = tensor([0.0, 0.0 / 0.0]).requires_grad_(); F::margin_ranking_loss(a, zeros(2), ones(2), #{reduction: \"sum\"}).backward();");
    assert_eq!(lab.text("a.grad.abs().tolist()"), "[0.0, 0.0]");
}

#[test]
fn more_refusals_are_pytorch_s() {
    let mut lab = Lab::on("cpu");
    for (code, want) in [
        ("F::max_pool1d(zeros(0, 10), 1)", "with optional 0 dim batch size for input, but got:[0, 10]"),
        (
            "F::max_pool1d(zeros(2, 10, 4), 2147483647, #{dilation: 2147483647, ceil_mode: true})",
            "max_pool1d() Invalid computed output size: -2147483644",
        ),
        (
            "F::max_pool1d(zeros(1, 2, 6), 2, #{padding: -1})",
            "max_pool1d() padding must be non-negative, but got -1",
        ),
        ("F::max_pool2d(zeros(1, 2, 6, 6), 2, #{padding: -1})", "pad must be non-negative, but got pad: -1"),
        (
            "F::max_unpool3d(zeros(1, 1, 2, 2, 2), zeros([1, 1, 2, 2, 2], #{dtype: int64}), 3, 0)",
            "strides should be greater than zero, but got stride: [0, 0, 0]",
        ),
        ("F::group_norm(zeros(1, 2, 0), 1)", "Expected HxW to be greater than 0, got 0"),
        (
            "F::nll_loss(zeros(2, 3), tensor([0, 1]), ones(3).double())",
            "expected scalar type Float but found Double",
        ),
        ("arange(5).hsplit(2)", "the size of the dimension 5 is not divisible by the split_size 2!"),
        (
            "arange(5).vsplit(1)",
            "torch.vsplit requires a tensor with at least 2 dimension, but got a tensor with 1 dimensions!",
        ),
        ("hstack([])", "hstack expects a non-empty TensorList"),
        ("optim::SGD(zeros(2), 0.1)", "should be an iterable of Tensors or dicts, but got torch.FloatTensor"),
        (
            "F::conv2d(zeros(1, 2, 4, 4), zeros(2, 2, 3, 3), #{groups: 3})",
            "expected weight to be at least 3 at dimension 0",
        ),
        ("zeros(2, 2, 2).trace()", "trace: expected a matrix, but got tensor with dim 3"),
        (
            "F::softshrink(zeros(2), -0.5)",
            "lambda must be in range [0, 3.40282e+38] for input dtype Float, but found -0.5",
        ),
        ("nn::LSTM(3, 5, #{bias: 0})", "TypeError: bias should be of type bool, got: int"),
        ("nn::RNN(\"10\", 5)", "TypeError: input_size should be of type int, got: str"),
        ("nn::Softmax(#{dim: true})", "dim must be an int or None, got <class 'bool'>"),
        ("fmax(ones(3), 2)", "fmax(): argument 'other' (position 2) must be Tensor, not int"),
        (
            "linspace(zeros(1), zeros(2, 2), 1)",
            "but got start with 1 dimension(s) and end with 2 dimension(s).",
        ),
        ("linspace(0, zeros(2), 1)", "end tensors, but got end with 1 dimension(s)."),
        ("ones(1).reshape([0, -1])", "shape '[0, -1]' is invalid for input of size 1"),
        ("ones(0, 1).reshape([0, -1])", "can be any value and is ambiguous"),
        ("F::adaptive_avg_pool2d(ones(2, 2), [2, 2])", "ValueError: Input dimension should be at least 3"),
        (
            "F::adaptive_avg_pool3d(ones(1, 2, 2, 2), [-1, 0, 2])",
            "adaptive_avg_pool3d: elements of output_size must be greater than or equal to 0 but received {-1, 0,2}",
        ),
        ("F::adaptive_avg_pool1d(ones(1, 2), [])", "argument 'output_size' should contain one int (got 0)"),
        (
            "F::max_pool1d(zeros(0, 1, 49), 2, #{padding: 4, return_indices: true})",
            "pad should be at most half of effective kernel size, but got pad=4, kernel_size=2 and dilation=1",
        ),
        (
            "F::avg_pool3d(zeros(0, 1, 49, 50), 2, #{padding: -1})",
            "pad must be non-negative, but got pad: -1",
        ),
        (
            "F::max_pool3d(zeros(2, 1, 0, 1, 2), 1)",
            "but input has sizes [2, 1, 0, 1, 2] with dimension 2 being empty",
        ),
        ("F::max_pool2d(zeros(1, 0, 10), 1)", "with optional 0 dim batch size for input, but got:[1, 0, 10]"),
        ("F::conv1d(ones(1, 2, 4), ones(2, 2))", "weight should have at least three dimensions"),
        (
            "F::conv2d(ones(1, 1, 4, 3), ones(1, 2, 2))",
            "Expected 3-dimensional input for 3-dimensional weight[1, 2, 2], but got 4-dimensional input of size [1, 1, 4, 3]",
        ),
        ("F::conv1d(ones(1, 1, 4), ones(1, 1, 2), #{dilation: 0})", "greater than zero, but got [1, 0]"),
        ("F::multi_margin_loss(ones(5, 4), ones(5, 4))", "Expected target size [5], but got [5, 4]."),
        (
            "F::triplet_margin_loss(ones(3), ones(4, 3), ones(4, 3))",
            "anchor 1D, positive 2D, and negative 2D",
        ),
        (
            "F::rms_norm(ones(1, 2, 3), [1, 2, 3], ones(1, 2))",
            "got weight of shape [1, 2] and normalized_shape",
        ),
        (
            "optim::Adam([ones(2)], #{betas: [0.9, tensor(0.9)]})",
            "betas must be either both floats or both Tensors",
        ),
        (
            "optim::Adam([ones(2)], #{betas: [tensor(0.9), tensor(0.9)]})",
            "betas must be an array of two numbers",
        ),
        ("cov(ones(2, 5), #{aweights: tensor([1, 2])})", "expected aweights to have floating point dtype"),
        (
            "gradient(ones(3, 3), #{spacing: [0.1], dim: [1, 0]})",
            "got a spacing argument of length 1 and a dim argument of length 2.",
        ),
    ] {
        let told = format!("{:?}", lab.error(code));
        assert!(told.contains(want), "{code}: {told}");
    }
}

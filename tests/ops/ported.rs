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

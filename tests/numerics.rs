//! Clamping between tensors, distances, draws from generators of one's own, factors of matrices, warnings: what PyTorch
//! gives for the same.

use std::sync::{Arc, Mutex};

use tensorlab::device::Machine;
use tensorlab::plot::Figure;
use tensorlab::script::engine::Stopped;
use tensorlab::script::{Host, Interpreter, Limits, Origin};

use crate::nn::Lab;

#[test]
fn bounds_may_be_tensors_and_have_gradients() {
    let mut lab = Lab::new();
    lab.run(
        "let x = tensor([-2.0, 0.0, 5.0]).requires_grad_(true); let lo = tensor([-1.0, 1.0, 9.0]).requires_grad_(true);
         let hi = tensor([1.0, 2.0, 3.0]).requires_grad_(true);
         let y = x.clamp(lo, hi); y.backward(tensor([1.0, 2.0, 3.0]));",
    );
    assert_eq!(lab.text("y"), "tensor([-1.,  1.,  3.], grad_fn=<ClampBackward0>)");
    assert_eq!(
        lab.text("[x.grad.tolist(), lo.grad.tolist(), hi.grad.tolist()]"),
        "[[0.0, 0.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 3.0]]"
    );
    assert_eq!(lab.text("x.clip(#{max: hi})"), "tensor([-2.,  0.,  3.], grad_fn=<ClampBackward0>)");
    assert_eq!(lab.text("x.clamp_min(lo)"), "tensor([-1.,  1.,  9.], grad_fn=<ClampMinBackward1>)");
    assert_eq!(lab.text("x.clamp_max(hi)"), "tensor([-2.,  0.,  3.], grad_fn=<ClampMaxBackward1>)");
    assert_eq!(lab.text("tensor([1, 2, 3]).clamp(tensor([1.5]), ())"), "tensor([1.5000, 2.0000, 3.0000])");
    assert_eq!(lab.text("tensor([(0.0 / 0.0), 1.0]).clamp(zeros(2), ones(2))"), "tensor([nan, 1.])");
    // Bounds spread over the tensor, and it over them.
    assert_eq!(
        lab.text("zeros([2, 2]).clamp(tensor([[1.0], [2.0]]), ()).tolist()"),
        "[[1.0, 1.0], [2.0, 2.0]]"
    );
    assert_eq!(lab.text("zeros(2).clamp(tensor([[1.0], [2.0]]), ()).tolist()"), "[[1.0, 1.0], [2.0, 2.0]]");
    // In place: the same tensor, and its old value for the gradient.
    lab.run(
        "let a = tensor([-2.0, 0.5, 5.0]).requires_grad_(true); let b = a * 1.0;
             let c = b.clamp_(tensor([-1.0]), tensor([1.0])); c.sum().backward();",
    );
    assert!(lab.truth("b is c"));
    assert_eq!(lab.text("[b.tolist(), a.grad.tolist()]"), "[[-1.0, 0.5, 1.0], [0.0, 1.0, 0.0]]");
    for (code, want) in [
        ("x.clamp(lo, 1.0)", "must be two tensors or two numbers"),
        ("x.clamp()", "At least one of 'min' or 'max' must not be None"),
        (
            "tensor([1, 2]).clamp_(tensor([1.5]), ())",
            "result type Float can't be cast to the desired output type Long",
        ),
        (
            "zeros(3).clamp_(zeros([2, 3]), ())",
            "output with shape [3] doesn't match the broadcast shape [2, 3]",
        ),
        ("zeros(3).clamp(zeros(2), ())", "must match"),
    ] {
        let (error, _) = lab.error(code);
        assert!(error.contains(want), "{code}\n{error}");
    }
}

#[test]
fn distances_are_norms_of_differences() {
    let mut lab = Lab::new();
    lab.run(
        "let a = sin(arange(12).float()).reshape([3, 4]); let b = cos(arange(12).float()).reshape([3, 4]);",
    );
    for (code, want) in [
        ("dist(a, b)", "tensor(3.3708)"),
        ("a.dist(b, 1)", "tensor(10.1975)"),
        ("dist(a, b[0], (1.0 / 0.0))", "tensor(1.7568)"),
        ("F::pairwise_distance(a, b)", "tensor([2.0315, 1.7609, 2.0334])"),
        ("nn::PairwiseDistance(1, #{keepdim: true}).forward(a, b).shape", "[3, 1]"),
        (
            "linalg::cross(tensor([[1.0, 2.0, 3.0]]), tensor([[4.0, 5.0, 6.5]]))",
            "tensor([[-2.0000,  5.5000, -3.0000]])",
        ),
    ] {
        assert_eq!(lab.text(code), want, "{code}");
    }
    let (error, _) = lab.error("linalg::cross(ones([1, 3]), ones(3))");
    assert!(error.contains("linalg.cross: inputs must have the same number of dimensions."), "{error}");
    let (error, _) = lab.error("linalg::cross(ones(2), ones(2))");
    assert!(error.contains("linalg.cross: inputs dimension -1 must have length 3. Got 2 and 2"), "{error}");
}

/// Draws one after another from `torch.Generator().manual_seed(7)`.
#[test]
fn draws_from_a_generator_are_those_of_pytorch() {
    let mut lab = Lab::new();
    lab.run("manual_seed(3); let g = Generator().manual_seed(7);");
    for (code, want) in [
        ("rand(3, #{generator: g})", vec![0.534923, 0.198803, 0.659212]),
        ("randn(3, #{generator: g})", vec![-0.032552, 1.011054, 1.771494]),
        ("randn(20, #{generator: g})[0..3]", vec![0.986112, 0.609473, -0.581134]),
        ("randint(0, 10, [4], #{generator: g})", vec![8.0, 2.0, 2.0, 9.0]),
        ("randperm(6, #{generator: g})", vec![5.0, 3.0, 0.0, 1.0, 2.0, 4.0]),
        ("full([6], 0.5).bernoulli(#{generator: g})", vec![1.0, 1.0, 0.0, 0.0, 1.0, 0.0]),
    ] {
        let got = lab.numbers(code);
        assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-6), "{code}: {got:?}");
    }
    // The session's generator has not moved, and the same seed gives the same again.
    assert_eq!(lab.text("rand(2)"), lab.text("manual_seed(3); rand(2)"));
    lab.run("let w = tensor([1.0, 2.0, 3.0]);");
    for code in [
        "w.multinomial(2, #{generator: g})",
        "w.multinomial(5, true, #{generator: g})",
        "normal(1.0, 2.0, [3], #{generator: g})",
        "normal(arange(3).float(), ones(3), #{generator: g})",
        "zeros(3).uniform_(1, 2, #{generator: g})",
        "zeros(3).normal_(#{generator: g})",
        "zeros(3).bernoulli_(w / 4.0, #{generator: g})",
        "w.bernoulli(0.5, #{generator: g})",
        "zeros(3).exponential_(#{generator: g})",
        "zeros(3).random_(100, #{generator: g})",
        "zeros(3).geometric_(0.3, #{generator: g})",
        "zeros(3).log_normal_(#{generator: g})",
        "zeros(3).cauchy_(#{generator: g})",
        "poisson(w, #{generator: g})",
    ] {
        let first = lab.text(&format!("g.manual_seed(11); {code}"));
        lab.run("rand(7);");
        assert_eq!(lab.text(&format!("g.manual_seed(11); {code}")), first, "{code}");
        assert_eq!(
            lab.text("manual_seed(3); rand(2)"),
            lab.text(&format!("manual_seed(3); {code}; rand(2)")),
            "{code}"
        );
    }
    let (error, hint) = lab.error("rand(2, #{generator: 3})");
    assert!(
        error.contains("argument 'generator' must be a Generator, not int") && hint.contains("Generator()"),
        "{error}"
    );
    let (error, _) = lab.error("normal(0.0, -ones(2))");
    assert!(error.contains("normal expects all elements of std >= 0.0"), "{error}");
    let mut lab = Lab::on("sim:t4");
    let (error, _) = lab.error("rand(2, #{device: \"cuda\", generator: Generator()})");
    assert!(error.contains("Expected a 'cuda' device type for generator but found 'cpu'"), "{error}");
}

#[test]
fn factors_of_large_matrices_give_the_matrix_back() {
    let mut lab = Lab::new();
    lab.run(
        "manual_seed(0); let a = randn([90, 60]).double(); let s = a.t() @ a;
         let e = linalg::eigh(s); let f = linalg::svd(a, false);",
    );
    for code in [
        "(s @ e.eigenvectors - e.eigenvectors * e.eigenvalues).abs().max() / e.eigenvalues.max()",
        "(e.eigenvectors.t() @ e.eigenvectors - eye(60)).abs().max()",
        "(linalg::eigvalsh(s) - e.eigenvalues).abs().max() / e.eigenvalues.max()",
        "((f.U * f.S) @ f.Vh - a).abs().max()",
        "(f.U.t() @ f.U - eye(60)).abs().max()",
        "(linalg::svdvals(a.t()) - f.S).abs().max()",
        "(linalg::pinv(a) @ a - eye(60)).abs().max()",
    ] {
        let error = lab.numbers(code)[0];
        assert!(error < 1e-12, "{code}: {error}");
    }
    assert_eq!(lab.text("linalg::matrix_rank(cat([a, a], 1)).item()"), "60");
    for (code, want) in [
        (
            "let b = ones([2, 3, 3]); b[1] = (0.0 / 0.0); linalg::svd(b)",
            "linalg.svd: (Batch element 1): The algorithm failed to converge because the input matrix contained \
             non-finite values.",
        ),
        (
            "linalg::eigh(full([3, 3], (0.0 / 0.0)))",
            "linalg.eigh: The algorithm failed to converge because the input matrix is ill-conditioned or has too many \
             repeated eigenvalues (error code: 2).",
        ),
        ("linalg::svdvals(full([2, 2], (1.0 / 0.0)))", "linalg.svd: The algorithm failed to converge"),
    ] {
        let (error, _) = lab.error(code);
        assert!(error.contains(want), "{code}\n{error}");
    }
}

/// What `torch.nn.functional` gives for the same.
#[test]
fn losses_of_margins_and_other_sizes_are_those_of_pytorch() {
    let mut lab = Lab::new();
    lab.run(
        "let x = sin(arange(24).float()).reshape([1, 2, 3, 4]); let y = cos(arange(24).float()).reshape([1, 2, 3, 4]);
         let a = x[0][0]; let b = y[0][0]; let t = where(b > 0, 1.0, -1.0); let p = a * a + 0.1;",
    );
    for (code, want) in [
        ("F::margin_ranking_loss(a, b, t, 0.3)", vec![1.0825]),
        ("F::hinge_embedding_loss(a, t)", vec![0.34242]),
        ("F::cosine_embedding_loss(a, b, tensor([1, -1, -1]), -0.2)", vec![0.54094]),
        ("F::triplet_margin_loss(a, b, p)", vec![1.30779]),
        ("F::triplet_margin_loss(a, b, p, #{swap: true, p: 1, reduction: \"sum\"})", vec![6.68708]),
        ("F::soft_margin_loss(a, t)", vec![0.83255]),
        ("F::multilabel_soft_margin_loss(a, (b > 0).float(), arange(4).float())", vec![1.26246]),
        ("F::poisson_nll_loss(a, p * 3)", vec![1.2494]),
        ("F::poisson_nll_loss(p, p * 30, #{log_input: false, full: true})", vec![46.05333]),
        ("F::gaussian_nll_loss(a, b, p, true)", vec![2.259]),
        ("F::gaussian_nll_loss(a, b, p.select(1, 0), #{eps: 0.5, reduction: \"sum\"})", vec![6.32039]),
        ("F::interpolate(x, [5, 7])", vec![0.0, 0.0, 0.84147, 0.84147, 0.9093, 0.9093, 0.14112, 0.0]),
        (
            "F::interpolate(x, [5, 7], #{mode: \"nearest-exact\"})",
            vec![0.0, 0.0, 0.84147, 0.9093, 0.9093, 0.14112, 0.14112, 0.0],
        ),
        (
            "F::interpolate(x, [5, 7], #{mode: \"bilinear\"})",
            vec![0.0, 0.30053, 0.78137, 0.87538, 0.85443, 0.41547, 0.14112, -0.30272],
        ),
        (
            "F::interpolate(x, [5, 7], #{mode: \"bilinear\", align_corners: true})",
            vec![0.0, 0.42074, 0.84147, 0.87538, 0.9093, 0.52521, 0.14112, -0.3784],
        ),
        (
            "F::interpolate(x, #{scale_factor: 1.7, mode: \"bilinear\"})",
            vec![0.0, 0.32174, 0.81672, 0.87937, 0.79633, 0.34446, -0.28937, -0.12019],
        ),
        (
            "F::interpolate(x, #{scale_factor: [0.5, 2.0]})",
            vec![0.0, 0.0, 0.84147, 0.84147, 0.9093, 0.9093, 0.14112, 0.14112],
        ),
        (
            "F::interpolate(x[0], #{scale_factor: 2.5, mode: \"linear\"})",
            vec![0.0, 0.08415, 0.42074, 0.75732, 0.86182, 0.88895, 0.83248, 0.52521],
        ),
    ] {
        let got = lab.numbers(code);
        assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 2e-5), "{code}: {got:?}, not {want:?}");
    }
    assert!(lab.truth(
        "F::pixel_unshuffle(F::pixel_shuffle(ones([2, 8, 3, 3]).cumsum(1), 2), 2).shape == [2, 8, 3, 3]"
    ));
    for (code, want) in [
        ("F::interpolate(x)", "either size or scale_factor should be defined"),
        ("F::interpolate(x, 3, #{mode: \"linear\"})", "Got 4D input, but linear mode needs 3D input"),
        ("F::interpolate(x, 3, #{align_corners: true})", "align_corners option can only be set"),
        ("F::pixel_shuffle(zeros([3, 2, 2]), 2)", "to be divisible by the square of upscale_factor"),
        ("F::gaussian_nll_loss(a, b, -p)", "var has negative entry/entries"),
    ] {
        let (error, _) = lab.error(code);
        assert!(error.contains(want), "{code}\n{error}");
    }
}

/// Keeps what it is warned of.
#[derive(Default)]
struct Warned(Mutex<Vec<String>>);

impl Host for Warned {
    fn print(&self, _: &str) {}

    fn warn(&self, text: &str) {
        self.0.lock().unwrap().push(text.into());
    }

    fn figure(&self, _: &Figure, _: Option<&str>) {}

    fn progress(&self, _: &str, _: u64, _: Option<u64>, _: &str) {}
}

#[test]
fn what_is_seldom_meant_is_warned_of_once_a_line() {
    let host = Arc::new(Warned::default());
    let mut lab = Interpreter::new(Machine::cpu_only(), host.clone(), &Limits::default());
    let mut warnings = |code: &str| {
        assert!(lab.evaluate(1, &Origin { name: "test", code, first_line: 1 }).is_ok());
        std::mem::take(&mut *host.0.lock().unwrap())
    };
    let dropout = "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers \
                   greater than 1, but got dropout=0.5 and num_layers=1";
    assert_eq!(warnings("for i in 0..3 { nn::LSTM(2, 3, #{dropout: 0.5}); }"), [dropout]);
    assert_eq!(warnings("nn::LSTM(2, 3, 2, #{dropout: 0.5});"), [""; 0]);
    let sizes = "input's size at dim=1 does not match num_features. You can silence this warning by not passing in \
                 num_features, which is not used because affine=False";
    assert_eq!(warnings("nn::InstanceNorm1d(4).forward(zeros([2, 3, 5]));"), [sizes]);
    let spread = "Using a target size (torch.Size([3])) that is different to the input size (torch.Size([3, 1])). This will \
                  likely lead to incorrect results due to broadcasting. Please ensure they have the same size.";
    for (code, line) in
        [("F::mse_loss(zeros([3, 1]), zeros(3));", 1), ("\nF::huber_loss(zeros([3, 1]), zeros(3));", 2)]
    {
        assert_eq!(warnings(code), [format!("{spread} (in line {line})")]);
    }
    assert!(warnings("zeros(1).std();")[0].starts_with("std(): degrees of freedom is <= 0."));
    assert!(warnings("F::kl_div(zeros([2, 3]), zeros([2, 3]));")[0].starts_with("reduction: 'mean' divides"));
}

#[test]
fn softmax_without_a_dimension_takes_the_usual_one_and_says_so() {
    let host = Arc::new(Warned::default());
    let mut lab = Interpreter::new(Machine::cpu_only(), host.clone(), &Limits::default());
    let mut run = |code: &str| {
        let value = lab.evaluate(1, &Origin { name: "test", code, first_line: 1 });
        let text = match value {
            Ok(value) => lab.show(&value).unwrap_or_default(),
            Err(Stopped::Fault(f)) => format!("{}: {}", f.kind, f.message),
            Err(Stopped::Cancelled(e)) => e.to_string(),
        };
        (text, std::mem::take(&mut *host.0.lock().unwrap()))
    };
    let told = |name: &str| {
        format!(
            "Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument."
        )
    };
    for (function, module, name) in [
        ("|x, d| F::softmax(x, d)", "|x| F::softmax(x)", "softmax"),
        ("|x, d| F::log_softmax(x, d)", "|x| F::log_softmax(x)", "log_softmax"),
        ("|x, d| F::softmin(x, d)", "|x| F::softmin(x)", "softmin"),
        ("|x, d| F::softmax(x, d)", "|x| nn::Softmax().forward(x)", "softmax"),
        ("|x, d| F::log_softmax(x, d)", "|x| nn::LogSoftmax().forward(x)", "log_softmax"),
        ("|x, d| F::softmin(x, d)", "|x| nn::Softmin().forward(x)", "softmin"),
    ] {
        let code = format!(
            "let given = {function}; let usual = {module}; manual_seed(2);
             [[], [3], [2, 3], [2, 3, 4], [2, 3, 4, 5]].map(|shape| {{
                 let x = rand(shape);
                 usual.call(x).equal(given.call(x, if shape.len() in [0, 1, 3] {{ 0 }} else {{ 1 }}))
             }})"
        );
        assert_eq!(run(&code), ("[true, true, true, true, true]".into(), vec![told(name)]), "{module}");
    }
    for (code, name) in [
        ("ones(2).softmax()", "softmax"),
        ("softmax(ones(2))", "softmax"),
        ("special::softmax(ones(2))", "softmax"),
        ("ones(2).log_softmax()", "log_softmax"),
        ("log_softmax(#{input: ones(2)})", "log_softmax"),
    ] {
        let want = format!("TypeError: {name}() missing required argument 'dim'");
        assert_eq!(run(code), (want, Vec::new()), "{code}");
    }
}

/// As in PyTorch's kernels: to the last bit, and so are the gradients that are made of them.
#[test]
fn small_whole_powers_are_products_and_their_reciprocals() {
    let mut lab = Lab::new();
    lab.run(
        "manual_seed(3); let special = tensor([0.0, -0.0, 1.0 / 0.0, -1.0 / 0.0, 1e-30, 3e30]);
         let same = |a, b| a.equal(b) && a.signbit().equal(b.signbit());",
    );
    for dtype in ["float32", "float64", "float16", "bfloat16"] {
        // Halves are computed in float32 and rounded once.
        let wide = if dtype == "float64" { "float64" } else { "float32" };
        lab.run(&format!(
            "let x = cat([randn(5000) * 3.0, special]).to({dtype}); let w = x.to({wide}); let to = |y| y.to({dtype});
             let finite = x.narrow(0, 0, 5000).clone();"
        ));
        for code in [
            "same(x ** 2, to.call(w * w))",
            "same(x ** 3, to.call(w * w * w))",
            "same(x.pow(3.0), to.call(w * w * w))",
            "same(x ** -1, to.call(w.reciprocal()))",
            "same(x ** -2, to.call((w * w).reciprocal()))",
            "same(x.clone().pow_(3), x ** 3)",
            "same(x.narrow(0, 1, 4000) ** 3, (x ** 3).narrow(0, 1, 4000))",
        ] {
            assert!(lab.truth(&code.replace("same(", "same.call(")), "{dtype}: {code}");
        }
        for (power, slope) in
            [("3", "p * p * 3"), ("4", "p * p * p * 4"), ("-1", "(p * p).reciprocal() * -1")]
        {
            if dtype == wide {
                let code = format!(
                    "let p = finite.clone().requires_grad_(true); (p ** {power}).sum().backward(); p.grad.equal({slope})"
                );
                assert!(lab.truth(&code), "{dtype}: {power}");
            }
        }
    }
    assert_eq!(lab.text("(tensor([2, -3]) ** 3).tolist()"), "[8, -27]");
    assert_eq!(lab.text("(tensor([1, -1, 2]) ** tensor(-1)).tolist()"), "[1, -1, 0]");
    assert_eq!(lab.text("(tensor([1, -1, 2]) ** tensor(-2)).tolist()"), "[1, 1, 0]");
}

/// What one kernel would compute rounds halves at its end, whatever it is made of here.
#[test]
fn halves_are_rounded_once() {
    let mut lab = Lab::new();
    lab.run(
        "manual_seed(3);
         let calls = [
            [[2, 3, 5, 4], |x| F::interpolate(x, #{scale_factor: 1.7, mode: \"bilinear\"})],
            [[2, 3, 7], |x| F::interpolate(x, #{size: 4, mode: \"linear\", align_corners: true})],
            [[2, 4, 7, 5], |x| F::adaptive_avg_pool2d(x, [3, 2])],
            [[2, 7, 5, 4], |x| F::adaptive_avg_pool3d(x, [3, 2, 3])],
            [[2, 6, 9], |x| F::group_norm(x, 2, #{weight: x.at([0, 0..6, 0]), bias: x.at([1, 0..6, 1])})],
            [[5, 7], |x| gradient(x, #{spacing: 0.3})[1]],
            [[6], |x| addr(x.unsqueeze(1), x, x, #{beta: 0.6, alpha: 0.2})],
            [[2, 4, 4], |x| addbmm(x[0], x, x, #{beta: 0.6})],
            [[2, 3, 8], |x| conv_transpose1d(x, x.at([0, 0..3, 0..2]).unsqueeze(1), #{bias: x.at([0, 0, 0..1]), stride: 2})],
            [[2, 3, 4, 5], |x| F::conv_transpose3d(x, x.at([0..2, 0..2, 0..2, 0..2]).unsqueeze(1), #{bias: x.at([0, 0, 0, 0..1])})],
            [[2, 6, 8], |x| F::scaled_dot_product_attention(x, x, x, #{attn_mask: x.at([0, 0..6, 0..6])})],
            [[4, 9], |x| F::selu(x)],
            [[4, 9], |x| F::celu(x, 0.7)],
            [[4, 9], |x| F::hardsigmoid(x)],
            [[4, 9], |x| F::hardswish(x)],
            [[4, 8], |x| F::glu(x)],
            [[1, 2, 5, 5], |x| F::grid_sample(x, (x.at([0..1, 0..2, 0..3, 0..2]) * 0.5).permute([0, 2, 3, 1]), #{align_corners: false})],
         ];
         let apart = [];
         for k in 0..calls.len() {
            let shape = calls[k][0]; let work = calls[k][1];
            for to in [float16, bfloat16] {
                let x = randn(shape).to(to);
                let one = work.call(x); let wide = work.call(x.float());
                if one.dtype != to || !one.equal(wide.to(to)) { apart.push([k, to]); }
            }
         }",
    );
    assert_eq!(lab.text("apart"), "[]");
}

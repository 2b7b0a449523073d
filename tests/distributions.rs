//! Probability distributions: values, draws and errors are those of PyTorch 2.15.

use crate::nn::Lab;

fn holds(lab: &mut Lab, rows: &[(&str, &[f64])]) {
    for (code, want) in rows {
        let got = lab.numbers(code);
        let close = |(a, b): (&f64, &f64)| a == b || (a - b).abs() <= 2e-6 * b.abs().max(1.0);
        assert!(got.len() == want.len() && got.iter().zip(*want).all(close), "{code}: {got:?}, not {want:?}");
    }
}

#[test]
fn densities_entropies_and_moments() {
    for device in ["cpu", "cuda"] {
        let mut lab = Lab::on("sim:t4");
        lab.run(&format!("let p = #{{device: \"{device}\"}};"));
        lab.run(
            "let n = distributions::Normal(tensor([0.5, -1.0], p), tensor([2.0, 0.3], p));
             let c = distributions::Categorical(#{logits: tensor([[0.1, 0.2, -1.0], [3.0, 2.0, 1.0]], p)});
             let w = distributions::Categorical(tensor([1.0, 2.0, 0.0], p));
             let b = distributions::Bernoulli(tensor([0.2, 0.9, 0.0], p));
             let s = distributions::Bernoulli(#{logits: tensor([0.2, -0.9], p)});",
        );
        holds(
            &mut lab,
            &[
                ("n.log_prob(tensor([0.1, 0.2], p))", &[-1.6320857, -7.7149658]),
                ("n.log_prob(0.5)", &[-1.6120857, -12.2149658]),
                ("n.entropy()", &[2.1120858, 0.2149657]),
                ("n.cdf(tensor([0.1, 0.2], p))", &[0.4207403, 0.9999683]),
                ("n.icdf(tensor([0.3, 0.975], p))", &[-0.5488010, -0.4120108]),
                ("n.icdf(n.cdf(tensor([0.1, -0.9], p)))", &[0.1, -0.9]),
                ("n.variance", &[4.0, 0.09]),
                ("[n.mean, n.mode, n.stddev][2]", &[2.0, 0.3]),
                ("c.log_prob(tensor([1, 2], p))", &[-0.7911952, -2.4076059]),
                (
                    "c.log_prob(tensor([[1, 2], [0, 0]], p))",
                    &[-0.7911952, -2.4076059, -0.8911952, -0.4076059],
                ),
                ("c.log_prob(0)", &[-0.8911952, -0.4076059]),
                ("c.entropy()", &[0.9960504, 0.8323955]),
                ("w.probs", &[0.3333333, 0.6666667, 0.0]),
                ("w.log_prob(2)", &[-15.9423847]),
                ("b.log_prob(tensor([1.0, 0.0, 0.0], p))", &[-1.6094379, -std::f64::consts::LN_10, 0.0]),
                ("b.entropy()", &[0.5004024, 0.3250830, 0.0]),
                ("b.mode", &[0.0, 1.0, 0.0]),
                ("s.log_prob(tensor([1.0, 0.0], p))", &[-0.5981388, -0.3411539]),
                ("s.variance", &[0.2475166, 0.2055003]),
                ("distributions::kl_divergence(n, distributions::Normal(0.0, 1.0))", &[0.9318528, 1.2489727]),
                ("distributions::kl_divergence(w, distributions::Categorical(ones(3, p)))", &[0.4620980]),
                ("distributions::kl_divergence(distributions::Categorical(ones(3, p)), w)", &[f64::INFINITY]),
                (
                    "distributions::kl_divergence(b, distributions::Bernoulli(full([3], 0.5, p)))",
                    &[0.1927449, 0.3680642, std::f64::consts::LN_2],
                ),
            ],
        );
        assert_eq!(lab.text("[c.mode.tolist(), c.batch_shape, w.batch_shape]"), "[[1, 0], [2], []]");
        assert_eq!(lab.text("n.sample([3]).device.type"), device);
    }
}

#[test]
fn halves_have_their_own_least_number() {
    let mut lab = Lab::on("cpu");
    for dtype in ["float16", "bfloat16", "float64"] {
        let code = format!(
            "distributions::Categorical(#{{logits: tensor([0.0, 1.0]).to({dtype})}}).entropy().double().item()"
        );
        let got = lab.value(&code).as_float().unwrap();
        assert!((got - 0.5823).abs() < 4e-3, "{dtype}: {got}");
    }
}

#[test]
fn draws_are_those_of_the_seed() {
    let mut lab = Lab::on("cpu");
    lab.run(
        "manual_seed(3); let n = distributions::Normal(tensor([0.5, -1.0]), tensor([2.0, 0.3]));
         let c = distributions::Categorical(#{logits: tensor([[0.1, 0.2, -1.0], [3.0, 2.0, 1.0]])});
         let b = distributions::Bernoulli(tensor([0.2, 0.9, 0.0]));",
    );
    holds(
        &mut lab,
        &[
            ("n.sample()", &[2.1065521240234375, -0.9475499987602234]),
            (
                "n.sample([3])",
                &[
                    0.677956223487854,
                    -1.1841154098510742,
                    0.5923649072647095,
                    -1.4104777574539185,
                    1.174990177154541,
                    -0.6966652274131775,
                ],
            ),
            (
                "n.rsample([2])",
                &[-2.37035870552063, -0.7067704200744629, 1.5440999269485474, -0.6286249756813049],
            ),
            ("c.sample()", &[1.0, 0.0]),
            ("c.sample([4])", &[2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0]),
            ("b.sample([2])", &[0.0, 0.0, 0.0, 0.0, 1.0, 0.0]),
        ],
    );
    assert!(
        !lab.truth("distributions::Normal(tensor(0.0, #{requires_grad: true}), 1.0).sample().requires_grad")
    );
}

#[test]
fn gradients_flow_through_densities_and_through_what_is_drawn_again() {
    let mut lab = Lab::on("cpu");
    lab.run(
        "let mu = tensor([0.3], #{requires_grad: true}); let s = tensor([0.7], #{requires_grad: true});
         distributions::Normal(mu, s).log_prob(tensor([1.0])).sum().backward();
         let scores = tensor([0.1, 0.5, -0.2], #{requires_grad: true}); let d = distributions::Categorical(#{logits: scores});
         (d.log_prob(tensor(1)) + 0.1 * d.entropy()).backward();",
    );
    holds(&mut lab, &[("mu.grad", &[1.4285715]), ("s.grad", &[-1.1920929e-7])]);
    holds(&mut lab, &[("scores.grad", &[-0.3057608, 0.5253990, -0.2196381])]);
    lab.run("mu.grad = (); s.grad = (); manual_seed(0); distributions::Normal(mu, s).rsample([2]).sum().backward();");
    holds(&mut lab, &[("mu.grad", &[2.0]), ("s.grad", &[1.5409960 - 0.2934289])]);
}

#[test]
fn what_is_wrong_is_told_as_pytorch_tells_it() {
    let mut lab = Lab::on("cpu");
    lab.run(
        "let n = distributions::Normal(zeros(2), ones(2)); let c = distributions::Categorical(ones(2, 3));
         let b = distributions::Bernoulli(full([3], 0.5));",
    );
    for (code, want) in [
        (
            "distributions::Normal(0.0, -1.0)",
            "ValueError: Expected parameter scale (Tensor of shape ()) of distribution Normal(loc: 0.0, scale: -1.0) to satisfy \
             the constraint GreaterThan(lower_bound=0.0), but found invalid values:\n-1.0",
        ),
        (
            "distributions::Normal(zeros(2), tensor([1.0, -1.0]))",
            "(Tensor of shape (2,)) of distribution Normal(loc: torch.Size([2])",
        ),
        ("distributions::Categorical(tensor([-1.0, 2.0]))", "to satisfy the constraint Simplex()"),
        ("distributions::Bernoulli(1.5)", "Interval(lower_bound=0.0, upper_bound=1.0)"),
        ("c.log_prob(tensor(3))", "within the support (IntegerInterval(lower_bound=0, upper_bound=2))"),
        ("c.log_prob(tensor(0.5))", "within the support (IntegerInterval(lower_bound=0, upper_bound=2))"),
        ("b.log_prob(tensor(0.5))", "within the support (Boolean())"),
        ("n.log_prob(tensor(0.0 / 0.0))", "but found invalid values:\nnan"),
        ("n.log_prob(zeros(3))", "batch_shape+event_shape: torch.Size([3]) vs torch.Size([2])"),
        ("distributions::Categorical()", "Either `probs` or `logits` must be specified, but not both."),
        ("distributions::Categorical(tensor(1.0))", "`probs` parameter must be at least one-dimensional."),
        ("c.rsample()", "NotImplementedError"),
        ("n.logits", "'Normal' object has no attribute 'logits'"),
        (
            "distributions::kl_divergence(n, c)",
            "No KL(p || q) is implemented for p type Normal and q type Categorical",
        ),
    ] {
        let (text, _) = lab.error(code);
        assert!(text.contains(want), "{code}: {text}");
    }
    assert_eq!(lab.text("distributions::Normal(0.0, 1.0)"), "Normal(loc: 0.0, scale: 1.0)");
    assert_eq!(lab.text("c"), "Categorical(probs: torch.Size([2, 3]))");
}

#[test]
fn a_density_runs_nothing_that_it_does_not_need() {
    let mut lab = Lab::on("sim:t4");
    lab.run(
        "let p = #{device: \"cuda\"}; let logits = tensor([[0.1, 0.2], [3.0, 2.0]], p); let v = tensor([0, 1], p);
         let c = distributions::Categorical(#{logits: logits}); let b = distributions::Bernoulli(#{logits: logits});",
    );
    for (code, strange) in [("c.log_prob(v)", "full"), ("b.log_prob(1.0)", "sigmoid")] {
        let ran = lab.text(&format!("telemetry::record(|| {code}).by_op.keys()"));
        assert!(!ran.contains(strange), "{code}: {ran}");
    }
}

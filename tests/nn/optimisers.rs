//! Optimisers: ten steps against PyTorch's losses, their groups and state, and clipping.

use super::{Lab, recorded};

/// Five steps by other betas each, with an optimiser that goes on from the state of another after the third.
const BETAS: &str = "
    let make = |w| optim::NAdam([w], #{lr: 0.1});
    let w = tensor([1.0, -2.0, 3.0], #{requires_grad: true});
    let opt = make.call(w);
    for b in [0.95, 0.9, 0.85, 0.85, 0.9] {
        if opt.state_dict().state.len() > 0 && b == 0.9 && opt.param_groups[0].betas[0] == 0.85 {
            let saved = opt.state_dict(); opt = make.call(w); opt.load_state_dict(saved);
        }
        opt.param_groups[0].betas = [b, 0.999];
        opt.zero_grad(); (w ** 4).sum().backward(); opt.step();
    }";

/// Loss for loss of ten training steps and one evaluation.
fn losses(lab: &mut Lab, entry: &serde_json::Value) -> Vec<f64> {
    lab.reset();
    let part = |key: &str| entry[key].as_str().unwrap().to_string();
    let shape = part("shape");
    let rows = shape.trim_start_matches('[').split(',').next().unwrap().to_string();
    lab.run(&format!(
        "manual_seed(0); let net = {}; let x = rand({shape}); let y = randint(0, 4, [{rows}]); let opt = {};",
        part("net"),
        part("optimiser")
    ));
    let step = "opt.zero_grad(); let loss = F::cross_entropy(net.forward(x), y); loss.backward(); opt.step(); \
                loss.item()";
    let mut seen: Vec<f64> = (0..10).map(|_| lab.float(step)).collect();
    seen.push(lab.float("net.eval(); F::cross_entropy(net.forward(x), y).item()"));
    seen
}

#[test]
fn ten_steps_lose_what_pytorch_loses() {
    let mut lab = Lab::new();
    let record = recorded();
    let mut wrong = Vec::new();
    for entry in record["trained"].as_array().unwrap() {
        let got = losses(&mut lab, entry);
        let want: Vec<f64> =
            entry["losses"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        let far = |(a, b): (&f64, &f64)| (a - b).abs() > 1e-4 * b.abs();
        if got.len() != want.len() || got.iter().zip(&want).any(far) {
            wrong.push(format!("{}\n  {got:?}\n  {want:?}", entry["name"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Eight steps towards a minimum from `[1, -2, 0.5]`; what `torch.optim` comes to.
#[test]
fn the_less_common_optimisers_step_as_pytorch_s_do() {
    for (code, want) in [
        (
            "Adadelta([w], #{lr: 0.5, weight_decay: 0.1})",
            [0.9866960644721985, -1.986648678779602, 0.49261829257011414],
        ),
        ("Adadelta([w], #{maximize: true})", [1.0270426273345947, -2.026848554611206, 0.5]),
        ("Adamax([w], #{lr: 0.1})", [0.3990972936153412, -1.2697160243988037, 0.5]),
        (
            "NAdam([w], #{lr: 0.1, weight_decay: 0.1})",
            [0.47659632563591003, -1.3932032585144043, 0.49394428730010986],
        ),
        (
            "NAdam([w], #{lr: 0.1, weight_decay: 0.1, decoupled_weight_decay: true})",
            [0.4392382502555847, -1.2692300081253052, 0.4959149658679962],
        ),
        ("RAdam([w], #{lr: 0.1})", [0.4335930049419403, 0.6335463523864746, 0.5]),
        (
            "RAdam([w], #{lr: 0.1, weight_decay: 0.1, decoupled_weight_decay: true})",
            [0.39402586221694946, 0.620246410369873, 0.4831536114215851],
        ),
        ("Rprop([w], #{lr: 0.1})", [0.35951995849609375, -0.35009118914604187, 0.5]),
        ("Rprop([w], #{maximize: true})", [1.164990782737732, -2.1649911403656006, 0.5]),
    ] {
        let mut lab = Lab::new();
        lab.run(&format!(
            "let w = tensor([1.0, -2.0, 0.5]).requires_grad_(true); let opt = optim::{code};
             let to = tensor([0.3, 0.1, 0.5]); let by = tensor([1.0, 2.0, 3.0]);
             for i in 0..8 {{ opt.zero_grad(); ((w - to) ** 2 * by).sum().backward(); opt.step(); }}"
        ));
        let got = lab.numbers("w");
        assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 2e-6), "{code}: {got:?}, not {want:?}");
        // What it remembers comes back.
        lab.run(&format!("let other = optim::{code}; other.load_state_dict(opt.state_dict());"));
    }
    let mut lab = Lab::new();
    for (code, want) in [
        ("Adadelta([ones(2).requires_grad_(true)], #{rho: 1.5})", "Invalid rho value: 1.5"),
        ("Rprop([ones(2).requires_grad_(true)], #{etas: [1.5, 1.2]})", "Invalid eta values: 1.5, 1.2"),
        (
            "NAdam([ones(2).requires_grad_(true)], #{momentum_decay: -1.0})",
            "Invalid momentum_decay value: -1.0",
        ),
        (
            "Adamax([ones(2).requires_grad_(true)], #{betas: [1.0, 0.9]})",
            "Invalid beta parameter at index 0: 1.0",
        ),
    ] {
        let (error, _) = lab.error(&format!("optim::{code}"));
        assert!(error.contains(want), "{code}\n{error}");
    }
}

const NET: &str = "manual_seed(1); let net = nn::Sequential(nn::Linear(4, 8), nn::Tanh(), nn::Linear(8, 2)); \
                   let x = rand([6, 4]); let y = rand([6, 2]);";
const STEP: &str =
    "opt.zero_grad(); let loss = F::mse_loss(net.forward(x), y); loss.backward(); opt.step(); loss.item()";

#[test]
fn options_of_a_group_are_read_and_written() {
    let mut lab = Lab::new();
    lab.run(NET);
    lab.run(
        "let opt = optim::SGD([#{params: net[0].parameters()}, #{params: net[2].parameters(), lr: 0.5}], \
         #{lr: 0.1});",
    );
    assert_eq!(lab.float("opt.param_groups[0].lr"), 0.1);
    assert_eq!(lab.float("opt.param_groups[1].lr"), 0.5);
    assert_eq!(lab.text("opt.param_groups[1].params.len()"), "2");
    lab.run("opt.param_groups[0].lr = 0.0; for g in opt.param_groups { g.momentum = 0.5 }");
    assert_eq!(lab.float("opt.param_groups[1][\"momentum\"]"), 0.5);
    let (still, moved) = (lab.numbers("net[0].weight"), lab.numbers("net[2].weight"));
    lab.run(STEP);
    assert_eq!(lab.numbers("net[0].weight"), still, "a rate of 0 changes nothing");
    assert_ne!(lab.numbers("net[2].weight"), moved);
    let (text, hint) = lab.error("opt.param_groups[0].rl = 1.0");
    assert_eq!((text.as_str(), hint.as_str()), ("TypeError: SGD has no option 'rl'", "did you mean `lr`?"));
    let (text, _) = lab.error("opt.param_groups[0].lr = -1");
    assert_eq!(text, "ValueError: Invalid learning rate: -1");
    let (text, _) = lab.error("opt.param_groups[0].lr = \"high\"");
    assert!(text.starts_with("TypeError"), "{text}");
    lab.run("opt.add_param_group(#{params: [ones(1).requires_grad_(true)], lr: 2.0})");
    assert_eq!(lab.text("opt.param_groups.len()"), "3");
}

/// As PyTorch's `defaults`: what was changed since, and what the first group has of its own, is of that group alone.
#[test]
fn a_group_that_is_added_has_the_options_that_the_optimiser_was_made_with() {
    let mut lab = Lab::new();
    let parameter = "[ones(1).requires_grad_(true)]";
    let add =
        |options: &str| format!("o.add_param_group(#{{params: {parameter}{options}}}); o.param_groups[1].lr");
    lab.run(&format!("let o = optim::SGD({parameter}, #{{lr: 0.5}}); o.param_groups[0].lr = 0.001;"));
    assert_eq!(lab.float(&add("")), 0.5);
    assert_eq!(lab.float("o.param_groups[0].lr"), 0.001);
    lab.run(&format!(
        "let o = optim::SGD([#{{params: {parameter}, lr: 0.1, momentum: 0.9}}], #{{lr: 0.5}});"
    ));
    assert_eq!(lab.float(&add("")), 0.5);
    assert_eq!(lab.text("o.param_groups[1].momentum"), "0");
    lab.run(&format!(
        "let o = optim::SGD({parameter}, #{{lr: 0.5}}); let s = optim::lr_scheduler::StepLR(o, 1); o.step(); s.step();"
    ));
    assert_eq!(lab.float(&add(", momentum: 0.5")), 0.5);
    // A state holds what the groups have, and no defaults.
    lab.run(&format!(
        "let old = optim::SGD({parameter}, #{{lr: 0.25}}); let o = optim::SGD({parameter}, #{{lr: 0.5}});"
    ));
    lab.run("o.load_state_dict(old.state_dict());");
    assert_eq!(lab.float("o.param_groups[0].lr"), 0.25);
    assert_eq!(lab.float(&add("")), 0.5);
}

#[test]
fn zero_grad_drops_gradients_or_fills_them() {
    let mut lab = Lab::new();
    lab.run(NET);
    lab.run("let opt = optim::SGD(net.parameters()); F::mse_loss(net.forward(x), y).backward();");
    lab.run("opt.zero_grad(#{set_to_none: false})");
    assert!(lab.truth("net[0].weight.grad.abs().sum().item() == 0.0"));
    lab.run("opt.zero_grad()");
    assert!(lab.truth("net[0].weight.grad == ()"));
    let before = lab.numbers("net[0].weight");
    lab.run("opt.step()");
    assert_eq!(lab.numbers("net[0].weight"), before, "without gradients nothing moves");
}

#[test]
fn a_loaded_state_goes_on_as_the_first_would_have() {
    let mut lab = Lab::new();
    for optimiser in [
        "optim::SGD(net.parameters(), #{lr: 0.1, momentum: 0.9})",
        "optim::Adam(net.parameters(), #{lr: 0.05})",
        "optim::AdamW(net.parameters(), #{lr: 0.05})",
        "optim::Adam(net.parameters(), #{lr: 0.05, amsgrad: true})",
        "optim::RMSprop(net.parameters(), #{centered: true, momentum: 0.3})",
        "optim::Adagrad(net.parameters(), #{lr: 0.1})",
    ] {
        lab.reset();
        lab.run(NET);
        lab.run(&format!("let opt = {optimiser};"));
        let once: Vec<f64> = (0..6).map(|_| lab.float(STEP)).collect();
        lab.run(NET);
        lab.run(&format!("let opt = {optimiser};"));
        let mut twice: Vec<f64> = (0..3).map(|_| lab.float(STEP)).collect();
        lab.run(&format!("let saved = opt.state_dict(); let opt = {optimiser}; opt.load_state_dict(saved);"));
        twice.extend((0..3).map(|_| lab.float(STEP)));
        assert_eq!(once, twice, "{optimiser}");
    }
    let (text, _) = lab.error("optim::SGD(net[0].parameters(), #{lr: 1}).load_state_dict(opt.state_dict())");
    assert!(text.starts_with("ValueError: loaded state dict contains a parameter group"), "{text}");
}

#[test]
fn nadam_multiplies_the_momenta_that_it_had() {
    let mut lab = Lab::new();
    lab.run(BETAS);
    let got = lab.numbers("w");
    let want = [0.6746175289154053, -1.6337599754333496, 2.6197500228881836];
    assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 2e-6), "{got:?}");
    let product = lab.float("opt.state_dict().state[\"0\"].mu_product.item()");
    assert!((product - 0.0174).abs() < 5e-5, "{product}");
    // A state of before it was kept: as many steps with the betas of today.
    lab.run(
        "let w = ones(2).requires_grad_(true); let v = ones(2).requires_grad_(true);
         let a = optim::NAdam([w], #{lr: 0.1}); let b = optim::NAdam([v], #{lr: 0.1});
         let step = |o, p| { o.zero_grad(); (p ** 2).sum().backward(); o.step(); };
         for i in 0..3 { step.call(a, w); }
         let saved = a.state_dict(); saved.state[\"0\"].remove(\"mu_product\");
         b.load_state_dict(saved); with no_grad() { v.copy_(w); }
         step.call(a, w); step.call(b, v);",
    );
    assert!(lab.truth("allclose(w, v, #{rtol: 0.0, atol: 1e-6})"));
}

#[test]
fn an_optimiser_prints_its_options_as_pytorch_does() {
    let mut lab = Lab::new();
    lab.run("let w = ones(1).requires_grad_(true);");
    assert_eq!(
        lab.text("optim::SGD([w], #{lr: 0.1})"),
        "SGD (\nParameter Group 0\n    dampening: 0\n    foreach: None\n    fused: None\n    lr: 0.1\n    maximize: False\n    momentum: 0\n    \
         nesterov: False\n    weight_decay: 0\n)"
    );
    assert_eq!(
        lab.text("optim::AdamW([w])"),
        "AdamW (\nParameter Group 0\n    amsgrad: False\n    betas: (0.9, 0.999)\n    decoupled_weight_decay: True\n    eps: 1e-08\n    \
         foreach: None\n    fused: None\n    lr: 0.001\n    maximize: False\n    weight_decay: 0.01\n)"
    );
}

#[test]
fn clipping_scales_all_gradients_by_one_factor() {
    let mut lab = Lab::new();
    lab.run(
        "let a = zeros(2).requires_grad_(true); let b = zeros(1).requires_grad_(true); \
         a.grad = tensor([3.0, 0.0]); b.grad = tensor([4.0]);",
    );
    assert_eq!(lab.float("nn::utils::clip_grad_norm_([a, b], 10.0).item()"), 5.0);
    assert_eq!(lab.numbers("a.grad"), [3.0, 0.0], "below the bound nothing changes");
    lab.run("nn::utils::clip_grad_norm_([a, b], 1.0)");
    let (a, b) = (lab.numbers("a.grad"), lab.numbers("b.grad"));
    assert!((a[0] - 0.6).abs() < 1e-6 && (b[0] - 0.8).abs() < 1e-6, "{a:?} {b:?}");
    assert_eq!(lab.float("nn::utils::clip_grad_norm_([ones(1)], 1.0).item()"), 0.0);
    lab.run("let odd = nn::Parameter(ones(2)); odd.grad = tensor([1.0, nan]);");
    let clip =
        |finite: bool| format!("nn::utils::clip_grad_norm_(odd, 1.0, #{{error_if_nonfinite: {finite}}})");
    let (text, _) = lab.error(&clip(true));
    assert!(text.contains("The total norm of order 2.0") && text.contains("is non-finite"), "{text}");
    assert_eq!(lab.numbers("odd.grad")[0], 1.0);
    assert!(lab.float(&format!("{}.item()", clip(false))).is_nan());
}

#[test]
fn an_optimiser_works_on_a_simulated_gpu_as_on_the_cpu() {
    let mut runs = Vec::new();
    for (devices, place) in [("cpu", "cpu"), ("sim:t4", "cuda")] {
        let mut lab = Lab::on(devices);
        lab.run(NET);
        lab.run(&format!(
            "let opt = optim::Adam(net.parameters(), #{{lr: 0.05}}); net.to(\"{place}\"); x = x.to(\"{place}\"); \
             y = y.to(\"{place}\");"
        ));
        runs.push((0..5).map(|_| lab.float(STEP)).collect::<Vec<f64>>());
    }
    assert_eq!(runs[0], runs[1]);
}

#[test]
fn adam_without_decay_leaves_the_parameter_out_of_the_gradient() {
    let mut lab = Lab::new();
    for optimiser in ["Adam", "AdamW"] {
        lab.run(&format!(
            "let w = tensor([1.0, 1.0 / 0.0]).requires_grad_(true); w.grad = ones(2); \
             optim::{optimiser}([w], #{{lr: 0.5, weight_decay: 0}}).step();"
        ));
        let w = lab.numbers("w");
        assert!((w[0] - 0.5).abs() < 1e-6 && w[1] == f64::INFINITY, "{optimiser}: {w:?}");
    }
}

#[test]
fn a_step_takes_a_closure_that_uses_the_optimiser() {
    let mut lab = Lab::new();
    lab.run(
        "manual_seed(0); let net = nn::Linear(3, 1); let x = rand([8, 3]);
         let opt = optim::SGD(net.parameters(), #{lr: 0.1}); let twin = nn::Linear(3, 1);
         twin.load_state_dict(net.state_dict()); let plain = optim::SGD(twin.parameters(), #{lr: 0.1});
         let seen = [];",
    );
    lab.run(
        "for i in 0..3 {
             let loss = opt.step(|| {
                 opt.zero_grad();
                 let loss = net.forward(x).square().mean();
                 loss.backward();
                 loss
             });
             seen.push(loss.item());
             plain.zero_grad(); let loss = twin.forward(x).square().mean(); loss.backward(); plain.step();
             seen.push(loss.item());
         }",
    );
    assert!(lab.truth("seen[0] == seen[1] && seen[2] == seen[3] && seen[4] == seen[5] && seen[4] < seen[0]"));
    assert!(lab.truth("net.weight.equal(twin.weight)"));
    // Gradients are on inside, whatever they are outside.
    assert!(
        lab.truth("with no_grad() { opt.step(|| { opt.zero_grad(); net.forward(x).sum().requires_grad }) }")
    );
    // An error inside keeps its text, and no step is taken.
    lab.run("let before = net.weight.detach().clone();");
    let (text, _) = lab.error("opt.step(|| { opt.zero_grad(); net.forward(ones([2, 7])) })");
    assert!(text.contains("mat1 and mat2 shapes cannot be multiplied"), "{text}");
    assert!(lab.truth("net.weight.equal(before)"));
    // A closure that a name holds, and one for the modules of a network that it captured.
    assert!(lab.truth("let f = || 7; plain.step(f) == 7"));
    assert_eq!(lab.text("let n = 0; net.apply(|m| if m is net { n += 1 }); n"), "1");
}

#[test]
fn dropped_names_are_free_though_a_closure_captured_them() {
    let mut lab = Lab::on("sim:t4");
    lab.run(
        "let a = cuda::memory_allocated(); let y = ones([1000], #{device: \"cuda\"}); let f = || y.sum();",
    );
    assert!(lab.truth("f.call(); cuda::memory_allocated() > a"));
    lab.run("drop(y);");
    assert!(lab.truth("y == () && cuda::memory_allocated() == a"));
    assert!(lab.truth("let z = ones(3); if true { drop(z) } z == ()"));
}

/// Keeps what warns.
#[derive(Default)]
struct Warned(std::sync::Mutex<Vec<String>>);

impl tensorlab::script::Host for Warned {
    fn print(&self, _: &str) {}
    fn warn(&self, text: &str) {
        self.0.lock().unwrap().push(text.into());
    }
    fn figure(&self, _: &tensorlab::plot::Figure, _: Option<&str>) {}
    fn progress(&self, _: &str, _: u64, _: Option<u64>, _: &str) {}
}

#[test]
fn a_schedule_that_steps_before_its_optimiser_warns_once() {
    use tensorlab::script::{Host, Interpreter, Limits, Origin};
    let warned = std::sync::Arc::new(Warned::default());
    let host: std::sync::Arc<dyn Host> = warned.clone();
    let mut lab = Interpreter::new(tensorlab::device::Machine::cpu_only(), host, &Limits::default());
    let mut count = |code: &str| {
        let _ = lab.evaluate(1, &Origin { name: "test", code, first_line: 1 }).unwrap();
        std::mem::take(&mut *warned.0.lock().unwrap())
    };
    let new = "let opt = optim::SGD(nn::Linear(2, 1).parameters(), #{lr: 0.1});";
    let made = format!("{new} let sched = optim::lr_scheduler::StepLR(opt, 2);");
    assert!(count(&made).is_empty());
    let text = count("sched.step()");
    assert_eq!(text.len(), 1, "{text:?}");
    assert!(
        text[0].starts_with(
            "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0"
        )
    );
    assert!(count("sched.step(); opt.step(); sched.step();").is_empty(), "only the first step is looked at");
    assert!(count(&format!("{made} opt.step(); sched.step();")).is_empty());
    // Steps before the schedule was there do not count, and several parts warn once.
    assert_eq!(
        count(&format!("{new} opt.step(); let s = optim::lr_scheduler::ExponentialLR(opt, 0.9); s.step();"))
            .len(),
        1
    );
    let parts = "optim::lr_scheduler::ChainedScheduler([optim::lr_scheduler::StepLR(opt, 2), \
                 optim::lr_scheduler::ExponentialLR(opt, 0.9)])";
    assert_eq!(count(&format!("{new} let s = {parts}; s.step();")).len(), 1);
    let plateau = "let s = optim::lr_scheduler::ReduceLROnPlateau(opt); s.step(1.0);";
    assert!(count(&format!("{new} {plateau}")).is_empty());
    // So does a line that makes one schedule after the other.
    assert_eq!(count(&format!("for i in 0..3 {{ {made} sched.step(); }}")).len(), 1);
}

/// Rosenbrock's valley, as PyTorch goes through it: where four steps of twelve iterations lead, and after how many
/// evaluations.
#[test]
fn lbfgs_goes_where_pytorch_goes() {
    for (options, evaluations, want) in [
        ("lr: 0.02", 48, [-1.444_537_704_823_113_1, 2.012_073_139_110_517]),
        ("line_search_fn: \"strong_wolfe\"", 55, [0.999_984_833_521_556_8, 0.999_969_540_862_690_2]),
    ] {
        for (devices, device) in [("cpu", "cpu"), ("sim:t4", "cuda")] {
            let mut lab = Lab::on(devices);
            lab.run(&format!(
                "let w = tensor([-1.5, 2.0], #{{dtype: float64, device: \"{device}\", requires_grad: true}});
                 let calls = []; let first = ();
                 let opt = optim::LBFGS([w], #{{max_iter: 12, history_size: 5, {options}}});
                 for i in 0..4 {{
                     let loss = opt.step(|| {{
                         opt.zero_grad();
                         let loss = (w[0] - 1) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2;
                         loss.backward(); calls.push(1); loss
                     }});
                     if first == () {{ first = loss.item(); }}
                 }}"
            ));
            assert_eq!(lab.float("first"), 12.5);
            assert_eq!(lab.value("calls.len()").as_int().unwrap(), evaluations, "{options} on {device}");
            for (got, want) in lab.numbers("w.detach()").into_iter().zip(want) {
                assert!((got - want).abs() < 1e-6, "{options} on {device}: {got}, not {want}");
            }
        }
    }
    let mut lab = Lab::new();
    lab.run("let w = ones(1, #{requires_grad: true});");
    let (text, _) = lab.error("optim::LBFGS([w]).step()");
    assert!(text.ends_with("missing 1 required positional argument: 'closure'"), "{text}");
    let (text, _) = lab.error("optim::LBFGS([#{params: [w]}, #{params: [ones(1)]}])");
    assert!(text.contains("doesn't support per-parameter options"), "{text}");
}

/// Four steps, and two of them taken by an optimiser that goes on from the file of another.
#[test]
fn lbfgs_goes_on_from_its_state() {
    let file = std::env::temp_dir().join(format!("tensorlab-lbfgs-{}.safetensors", std::process::id()));
    let mut lab = Lab::new();
    lab.run(&format!(
        "fn made(w) {{ optim::LBFGS([w], #{{lr: 0.02, max_iter: 6, history_size: 5}}) }}
         fn stepped(opt, w) {{
             opt.step(|| {{
                 opt.zero_grad();
                 let loss = (w[0] - 1) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2;
                 loss.backward(); loss
             }})
         }}
         let w = tensor([-1.5, 2.0], #{{dtype: float64, requires_grad: true}});
         let opt = made(w);
         let fresh = opt.state_dict().state.len();
         stepped(opt, w); stepped(opt, w);
         save(opt.state_dict(), {file:?});
         let v = w.detach().clone().requires_grad_(true);
         let next = made(v);
         next.load_state_dict(load({file:?}));
         let names = next.state_dict().state[\"0\"].keys();
         stepped(opt, w); stepped(opt, w); stepped(next, v); stepped(next, v);",
        file = file.display().to_string()
    ));
    std::fs::remove_file(&file).unwrap();
    assert_eq!(lab.value("fresh").as_int().unwrap(), 0);
    assert_eq!(lab.numbers("w.detach()"), lab.numbers("v.detach()"));
    let names: Vec<String> = lab.value("names").into_typed_array().unwrap();
    for name in [
        "d",
        "t",
        "old_dirs",
        "old_stps",
        "ro",
        "H_diag",
        "prev_flat_grad",
        "n_iter",
        "func_evals",
        "prev_loss",
    ] {
        assert!(names.iter().any(|n| n == name), "{name} is not among {names:?}");
    }
    let (text, _) =
        lab.error("let s = opt.state_dict(); s.state[\"0\"].d = ones(3); made(w).load_state_dict(s)");
    assert!(
        text.ends_with("'d' of an LBFGS state has shape [3], the parameters have 2 elements in all"),
        "{text}"
    );
    let (text, _) =
        lab.error("let s = opt.state_dict(); s.state[\"0\"].remove(\"t\"); made(w).load_state_dict(s)");
    assert!(text.ends_with("an LBFGS state without 't'"), "{text}");
    // What PyTorch keeps of a step that had nowhere to go, and counts that no one reaches.
    lab.run(
        "let s = opt.state_dict(); s.state[\"0\"] = #{func_evals: 1, n_iter: 0}; made(w).load_state_dict(s);
         let s = opt.state_dict(); s.state[\"0\"].func_evals = 9223372036854775807; s.state[\"0\"].n_iter = \
         9223372036854775807; let far = made(w); far.load_state_dict(s); stepped(far, w);",
    );
    assert_eq!(lab.value("far.state_dict().state[\"0\"].n_iter").as_int().unwrap(), i64::MAX);
    let (text, _) = lab.error("let s = opt.state_dict(); optim::SGD([w], 0.1).load_state_dict(s)");
    assert!(text.ends_with("SGD has no option 'history_size'"), "{text}");
}

/// Eight steps of a matrix, or a vector, and what `torch.optim` comes to.
#[test]
fn optimisers_of_matrices_step_as_pytorch_s_do() {
    for (code, shape, want) in [
        (
            "Muon([w], #{lr: 0.1})",
            "[2, 3]",
            vec![-0.3910714, -0.3340065, -0.198749, 0.2777497, 0.2772482, 0.4362324],
        ),
        (
            "Muon([w], #{lr: 0.1, nesterov: false, adjust_lr_fn: \"match_rms_adamw\", ns_steps: 3})",
            "[3, 2]",
            vec![-0.7457794, -0.5072159, -0.0850465, 0.0344686, 0.5768611, 0.7536345],
        ),
        (
            "Adafactor([w], #{lr: 0.1})",
            "[2, 3]",
            vec![-0.6657591, -0.3085237, -0.0694416, 0.0983085, 0.2046996, 0.2359671],
        ),
        (
            "Adafactor([w], #{lr: 0.3, weight_decay: 0.1, eps: [1e-5, 1e-2], d: 1.5})",
            "[4]",
            vec![-0.1372318, 0.1449783, -0.1449783, 0.1372318],
        ),
        (
            "Adafactor([w], #{lr: 0.1, maximize: true, beta2_decay: -0.5})",
            "[3, 2]",
            vec![-1.715486, -1.2183857, -0.8301454, 1.1523124, 1.1208502, 1.9920728],
        ),
    ] {
        for devices in ["cpu", "sim:t4"] {
            let mut lab = Lab::on(devices);
            lab.run(&format!(
                "let w = linspace(-1, 1, {n}).view({shape}).clone().requires_grad_(true); let opt = optim::{code};
                 let to = linspace(0.5, -0.5, {n}).view({shape});
                 for i in 0..8 {{ opt.zero_grad(); ((w - to) ** 2 * (to + 1)).sum().backward(); opt.step(); }}
                 let other = optim::{code}; other.load_state_dict(opt.state_dict());",
                n = want.len()
            ));
            let got = lab.numbers("w.flatten()");
            assert!(
                got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 2e-6),
                "{code}: {got:?}, not {want:?}"
            );
        }
    }
    let mut lab = Lab::new();
    lab.run("let w = eye(2).requires_grad_(true);");
    for (code, want) in [
        ("Muon([ones(2).requires_grad_(true)])", "Muon only supports 2D parameters"),
        ("Muon([w], #{adjust_lr_fn: \"x\"})", "Adjust learning rate function x is not supported"),
        ("Adafactor([w], #{d: 0.5})", "Clipping threshold d should be >= 1 but is: 0.5"),
        ("Adafactor([w], #{eps: [1]})", "eps must be an array of two numbers"),
        ("Adafactor([w], #{beta2_decay: 1.0})", "beta2_decay should be <= 0 but is: 1.0"),
    ] {
        let (error, _) = lab.error(&format!("optim::{code}"));
        assert!(error.contains(want), "{code}: {error}");
    }
}

/// As in PyTorch, where a loaded state's groups replace those of the optimiser, and one that lacks a choice leaves it.
#[test]
fn a_state_brings_its_choice_of_how_steps_are_taken() {
    let mut lab = Lab::new();
    lab.run(
        "let w = ones(2).requires_grad_(true); let a = optim::AdamW([w]); let b = optim::AdamW([w], #{fused: true});
         let old = b.state_dict(); old.param_groups[0].remove(\"fused\"); old.param_groups[0].remove(\"foreach\");
         b.load_state_dict(old); let kept = b.param_groups[0].fused;
         a.load_state_dict(b.state_dict()); let brought = a.param_groups[0].fused;
         b.load_state_dict(optim::AdamW([w]).state_dict());",
    );
    assert_eq!(lab.text("[kept, brought, b.param_groups[0].fused]"), "[true, true, ()]");
}

//! Training as PyTorch trains: losses of ten steps of whole networks, and learning rates of fifty epochs.

use serde_json::Value;

use super::nn::{Lab, pairs};

/// What PyTorch gave: see `scripts/record_training.py`.
fn recorded() -> Value {
    serde_json::from_str(include_str!("golden/training.json")).unwrap()
}

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn array(lab: &mut Lab, code: &str) -> Vec<f64> {
    let items = lab.value(code).into_array().unwrap();
    items.iter().map(|v| v.as_float().or_else(|_| v.as_int().map(|i| i as f64)).unwrap()).collect()
}

/// Every recorded network on a device, loss for loss within 1e-4.
pub fn follow(devices: &str, device: &str, draws: bool) {
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for entry in recorded()["trained"].as_array().unwrap() {
        // A GPU has a generator of its own, so what is dropped there is dropped elsewhere than on the CPU.
        if entry["draws"].as_bool().unwrap() && !draws {
            continue;
        }
        let mut lab = Lab::on(devices);
        let script = entry["script"].as_str().unwrap();
        let got = array(&mut lab, &format!("let device = \"{device}\"; cudnn::allow_tf32(false);\n{script}"));
        let want = numbers(&entry["losses"]);
        let far = |(a, b): (&f64, &f64)| (a - b).abs() > 1e-4 * b.abs();
        if got.len() != want.len() || got.iter().zip(&want).any(far) {
            wrong.push(format!("{}\n  {got:?}\n  {want:?}", entry["name"]));
        }
        checked += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked >= 12, "{checked}");
}

#[test]
fn networks_lose_on_the_cpu_what_they_lose_in_pytorch() {
    follow("cpu", "cpu", true);
}

#[test]
fn networks_lose_on_a_simulated_gpu_what_they_lose_in_pytorch() {
    follow("sim:t4", "cuda", false);
}

const OPTIMISERS: &str = "let a = ones(1).requires_grad_(true); let b = ones(1).requires_grad_(true);
    let opt = optim::SGD([#{params: [a], lr: 0.1}, #{params: [b]}], #{lr: 0.5, momentum: 0.9});
    let adam = optim::Adam([a, b], #{lr: 0.5});";

/// A scheduler's constructor as a script writes it.
fn written(code: &str) -> String {
    format!("optim::lr_scheduler::{}", code.replace("LR::", "optim::lr_scheduler::"))
}

/// Rates and momenta of the groups.
fn group_values(lab: &mut Lab, owner: &str) -> Vec<f64> {
    let momentum = if owner == "adam" { "g.betas[0]" } else { "g.momentum" };
    let all = format!(
        "let all = []; for g in {owner}.param_groups {{ all.push(g.lr) }} \
         for g in {owner}.param_groups {{ all.push({momentum}) }} all"
    );
    array(lab, &all)
}

fn check_rates(code: &str, want: &Value, step: impl Fn(usize) -> String) -> Option<String> {
    let mut lab = Lab::new();
    lab.run(OPTIMISERS);
    lab.run(&format!("let sched = {};", written(code)));
    let owner = if code.contains("(adam") { "adam" } else { "opt" };
    for (epoch, want) in want.as_array().unwrap().iter().enumerate() {
        let (got, want) = (group_values(&mut lab, owner), numbers(want));
        let far = |(a, b): (&f64, &f64)| (a - b).abs() > 1e-12 * b.abs().max(1e-3);
        if got.len() != want.len() || got.iter().zip(&want).any(far) {
            return Some(format!("{code}, epoch {epoch}: {got:?}, not {want:?}"));
        }
        assert_eq!(array(&mut lab, "sched.get_last_lr()"), got[..want.len() / 2], "{code}");
        lab.run(&step(epoch));
    }
    None
}

#[test]
fn learning_rates_follow_pytorchs() {
    let record = recorded();
    let plain = pairs(&record, "schedules")
        .filter_map(|(code, want)| check_rates(code, want, |_| "sched.step()".into()));
    let watched = numbers(&record["watched"]);
    let plateaus = pairs(&record, "plateaus").filter_map(|(code, want)| {
        check_rates(code, want, |epoch| format!("sched.step({:?})", watched[epoch]))
    });
    let wrong: Vec<String> = plain.chain(plateaus).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(pairs(&record, "schedules").count() > 20);
}

#[test]
fn a_loaded_schedule_goes_on_as_the_first_would_have() {
    for code in [
        "StepLR(opt, 3, 0.5)",
        "CosineAnnealingLR(opt, 10)",
        "CosineAnnealingWarmRestarts(opt, 4, 2)",
        "OneCycleLR(opt, 1.0, 30)",
        "LambdaLR(opt, |epoch| 0.9 ** epoch)",
        "SequentialLR(opt, [LR::LinearLR(opt, 0.1, 1.0, 8), LR::ExponentialLR(opt, 0.9)], [8])",
    ] {
        let make = format!("let sched = {};", written(code));
        let mut lab = Lab::new();
        lab.run(OPTIMISERS);
        lab.run(&make);
        lab.run(
            "for i in 0..7 { sched.step() } let state = sched.state_dict(); let kept = opt.state_dict();",
        );
        lab.run("for i in 0..9 { sched.step() }");
        let want = group_values(&mut lab, "opt");
        lab.run(OPTIMISERS);
        lab.run(&make);
        lab.run("opt.load_state_dict(kept); sched.load_state_dict(state);");
        assert_eq!(lab.text("sched.last_epoch"), "7", "{code}");
        lab.run("for i in 0..9 { sched.step() }");
        assert_eq!(group_values(&mut lab, "opt"), want, "{code}");
    }
    let mut lab = Lab::new();
    lab.run(OPTIMISERS);
    lab.run(
        "let sched = optim::lr_scheduler::ReduceLROnPlateau(opt, #{patience: 2}); sched.step(1.0); sched.step(1.0);
         let state = sched.state_dict(); let twin = optim::lr_scheduler::ReduceLROnPlateau(opt); \
         twin.load_state_dict(state); twin.step(1); twin.step(tensor(1.0));",
    );
    assert_eq!(group_values(&mut lab, "opt")[0], 0.1 * 0.1);
    let (text, hint) = lab.error("twin.load_state_dict(#{gama: 0.1})");
    assert!(text.contains("has no option 'gama'"), "{text} {hint}");
}

#[test]
fn a_schedule_and_its_functions_can_be_asked_and_fail_in_their_place() {
    let mut lab = Lab::new();
    lab.run(OPTIMISERS);
    lab.run("let sched = optim::lr_scheduler::StepLR(opt, 30);");
    assert_eq!(lab.text("sched"), "StepLR(step_size=30, gamma=0.1, last_epoch=0)");
    assert_eq!(lab.text("[sched.step_size, sched.gamma, sched.base_lrs]"), "[30, 0.1, [0.1, 0.5]]");
    assert!(lab.truth("sched.optimizer is opt"));
    assert_eq!(lab.float("opt.param_groups[0].initial_lr"), 0.1);
    let (text, hint) = lab.error("sched.gama");
    assert!(
        text.contains("'StepLR' object has no attribute 'gama'") && hint.contains("`gamma`"),
        "{text} {hint}"
    );
    let (text, _) = lab.error("optim::lr_scheduler::LambdaLR(opt, |epoch| \"fast\")");
    assert!(text.contains("lr_lambda must give a number, not string"), "{text}");
    let (text, _) = lab.error("optim::lr_scheduler::LambdaLR(opt, |epoch| ones(2).reshape([3]))");
    assert!(text.contains("shape '[3]' is invalid for input of size 2"), "{text}");
    let (text, hint) = lab.error("optim::lr_scheduler::StepLR(opt, #{step_sise: 3})");
    assert!(text.contains("unknown option 'step_sise'") && hint.contains("`step_size`"), "{text} {hint}");
}

/// Rates as PyTorch 2.15 gives them.
#[test]
fn a_schedule_goes_to_the_epoch_that_is_named() {
    let rates = |lab: &mut Lab, schedule: &str, epochs: &[&str]| {
        lab.run(&format!("let o = optim::SGD([nn::Parameter(ones(1))], #{{lr: 0.1}}); o.step(); let s = optim::lr_scheduler::{schedule};"));
        let mut all = Vec::new();
        for epoch in epochs {
            lab.run(&format!("s.step({epoch});"));
            all.push(lab.value("s.get_last_lr()[0]").as_float().unwrap());
        }
        all
    };
    let restarts = |growth: i64| format!("CosineAnnealingWarmRestarts(o, 4, {growth})");
    let parts = ["0.25", "1.25", "3.75", "4.5", "13.2", ""];
    let mut lab = Lab::new();
    for (schedule, epochs, want) in [
        (
            restarts(1).as_str(),
            &parts[..],
            &[
                0.09903926402016153,
                0.07777851165098011,
                0.0009607359798384785,
                0.09619397662556434,
                0.07938926261462369,
                0.04217827674798849,
            ][..],
        ),
        (
            restarts(2).as_str(),
            &parts,
            &[
                0.09903926402016153,
                0.07777851165098011,
                0.0009607359798384785,
                0.09903926402016153,
                0.09861849601988384,
                0.09540715869125407,
            ],
        ),
        ("StepLR(o, 2)", &["5", ""], &[0.0010000000000000002, 0.00010000000000000003]),
        ("LambdaLR(o, |e| 0.9 ** e)", &["3"], &[0.0729]),
        ("OneCycleLR(o, 1.0, #{total_steps: 10})", &["3"], &[0.9504846320134737]),
        ("CosineAnnealingLR(o, 10)", &["3"], &[0.07938926261462366]),
    ] {
        let got = rates(&mut lab, schedule, epochs);
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-15;
        assert!(
            got.len() == want.len() && got.iter().zip(want).all(close),
            "{schedule}: {got:?}, not {want:?}"
        );
    }
    assert_eq!(lab.text("s.step(2); s.last_epoch"), "2");
    for (schedule, epoch, want) in [
        ("CosineAnnealingWarmRestarts(o, 4)", "inf", "Expected non-negative epoch"),
        ("CosineAnnealingWarmRestarts(o, 4)", "-1", "Expected non-negative epoch, but got -1"),
        ("StepLR(o, 2)", "0.5", "takes the whole number of an epoch, and got 0.5"),
        ("ChainedScheduler([optim::lr_scheduler::StepLR(o, 2)])", "3", "takes 1 positional argument"),
    ] {
        let (text, _) = lab.error(&format!("optim::lr_scheduler::{schedule}.step({epoch})"));
        assert!(text.contains(want), "{schedule}: {text}");
    }
}

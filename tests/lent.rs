//! What a check calls runs on copies that hold together: it does what it does in the learner's own cell, and leaves
//! nothing behind.

use tensorlab::session::protocol::{Outcome, Verdict};

use crate::forged::Lesson;

/// Code with a closure `step`, and what its first run gives in the learner's own cell.
const STEPS: &[(&str, &str)] = &[
    (
        "let w = ones([1], #{requires_grad: true}); let opt = optim::SGD([w], 0.1);
let step = || { opt.zero_grad(); ((w - 3.0) ** 2).sum().backward(); opt.step(); w.item() };",
        "1.4",
    ),
    (
        "let w = ones([1], #{requires_grad: true}); (w * 3.0).sum().backward();
let opt = optim::SGD([w], 0.1, #{momentum: 0.5}); opt.step();
let step = || { opt.step(); w.item() };",
        "0.25",
    ),
    (
        "let net = nn::Linear(1, 1, #{bias: false}); with no_grad() { net.weight.fill_(1.0); }
let opt = optim::Adam(net.parameters(), 0.5); let sched = optim::lr_scheduler::StepLR(opt, #{step_size: 1, gamma: 0.5});
let step = || { net.forward(ones([1, 1])).sum().backward(); opt.step(); sched.step(); opt.param_groups[0].lr };",
        "0.25",
    ),
    ("let c = []; let add = |x| c.push(x); let step = || { add.call(1); add.call(2); c.len() };", "2"),
    ("let acts = [|x| x * 2.0]; let f = |x| acts[0].call(x); let step = || f.call(3.0);", "6.0"),
    ("let by = #{d: |x| x * 2.0}; let step = || by.d.call(3.0);", "6.0"),
    ("const K = [|x| x * 2.0]; fn twice(x) { global::K[0].call(x) } let step = || twice(4.0);", "8.0"),
    (
        "let k = zeros([1]); let net = nn::module(#{}, |m, x| { k.add_(1.0); x + k });
let step = || net.forward(ones([1])).item();",
        "2.0",
    ),
    (
        "let k = zeros([1]); let ds = data::Dataset(2, |i| { k.add_(1.0); k + i });
let step = || ds[1].item() + ds[1].item() + k.item();",
        "7.0",
    ),
    (
        "let k = zeros([1]); let loader = data::DataLoader(data::Dataset(2, |i| { k.add_(1.0); i }), #{batch_size: 2});
let step = || { for batch in loader {} k.item() };",
        "2.0",
    ),
    ("let x = zeros([2, 2]); let row = x[1]; let step = || { row.add_(1.0); x.sum().item() };", "2.0"),
    (
        "let w = ones([1], #{requires_grad: true}); w.register_hook(|g| g * 10.0);
let step = || { (w * 2.0).sum().backward(); w.grad.item() };",
        "20.0",
    ),
    (
        "let calls = []; let f = autograd::Function(|ctx, x| { calls.push(1); ctx.save_for_backward(x); x * x },
    |ctx, g| { calls.push(2); ctx.saved_tensors[0] * g * 10.0 });
let step = || { let w = tensor([3.0], #{requires_grad: true}); f.apply(w).sum().backward(); w.grad.item() + calls.len() };",
        "32.0",
    ),
    ("let g = Generator(); g.manual_seed(3); let step = || rand([1], #{generator: g}).item();", ""),
    (
        "let w = ones([1], #{requires_grad: true}); let scaler = amp::GradScaler(); let opt = optim::SGD([w], 0.1);
let step = || { scaler.scale((w * 2.0).sum()).backward(); scaler.step(opt); scaler.update(); w.item() };",
        "0.8",
    ),
    (
        "let tally = #{n: 0}; let count = || { tally.n += 1; tally.n }; let both = [count, count];
let step = || { both[0].call(); both[1].call() };",
        "2",
    ),
];

#[test]
fn a_call_does_what_the_cell_would_and_leaves_nothing_behind() {
    let mut wrong = Vec::new();
    for (code, want) in STEPS {
        let mut lesson = Lesson::new();
        // Twice in the check, and then in the cell: each begins where the learner's code ended.
        let check = "let a = call(step, []); expect_equal(call(step, []), a); expect(false, `${a}`);";
        let verdict = lesson.attempt(code, check);
        let told = verdict.reason().unwrap_or_default();
        let cell = match lesson.run("step.call()") {
            Outcome::Ok { value: Some(value) } => value,
            other => format!("{other:?}"),
        };
        let is_near = |a: &str, b: &str| match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(a), Ok(b)) => (a - b).abs() < 1e-6,
            _ => a == b,
        };
        if !is_near(&told, &cell) || !want.is_empty() && !is_near(&cell, want) {
            wrong.push(format!("{code}\n  {told} in the check, {cell} in the cell: {verdict:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn reading_and_calling_leave_what_the_learner_has() {
    let code = "let k = zeros([1]); let c = []; let net = nn::module(#{}, |m, x| { k.add_(1.0); x * 2.0 });
let w = ones([1], #{requires_grad: true}); (w * 3.0).sum().backward();
let opt = optim::SGD([w], 0.1, #{momentum: 0.9}); opt.step();
let f = |x| { opt.step(); opt.zero_grad(); x * 2.0 };
let ds = data::Dataset(2, |i| { k.add_(100.0); c.push(i); i });
let y = checkpoint(|x| x * w, ones([1], #{requires_grad: true})).sum();";
    let seen = "[k.item(), c, w.item(), w.grad.item(), opt.state_dict().state]";
    let mut lesson = Lesson::new();
    lesson.attempt(code, "");
    let before = lesson.run(seen);
    assert!(matches!(before, Outcome::Ok { value: Some(_) }), "{before:?}");
    for check in [
        "call(net, [ones(1)])",
        "call(f, [ones(1)])",
        "ds[1]; for i in ds {}",
        "for batch in data::DataLoader(ds) {}",
        "expect_close(autograd::grad(y, [w])[0], ones(1));",
    ] {
        assert_eq!(lesson.attempt(code, check), Verdict::Pass, "{check}");
        assert_eq!(lesson.run(seen), before, "{check}");
    }
}

#[test]
fn what_is_one_thing_to_the_learner_is_one_in_a_call() {
    let mut lesson = Lesson::new();
    let code = "let w = ones([1], #{requires_grad: true}); let net = nn::module(#{w: w}, |m, x| m.w * x);
let opt = optim::SGD([w], 0.5); let same = |n, t| [n is net, n.w is w, t is w, opt.param_groups[0].params[0] is t];";
    let check = "expect_equal(call(same, [net, w]), [true, true, true, true]);";
    assert_eq!(lesson.attempt(code, check), Verdict::Pass);
}

#[test]
fn what_has_no_copy_is_not_called() {
    let mut lesson = Lesson::new();
    let code = "let x = ones([2], #{requires_grad: true}); let handle = x.register_hook(|g| g * 2.0);
let f = || { handle.remove(); 1 };";
    let verdict = lesson.attempt(code, "expect_equal(call(f, []), 1);");
    assert!(verdict.to_string().contains("there is no copy of one"), "{verdict:?}");
}

#[test]
fn reading_a_property_is_no_change() {
    let mut lesson = Lesson::new();
    let code = "let w = ones([1], #{requires_grad: true}); (w * 2.0).sum().backward(); let v = ones(1);
let net = nn::Linear(1, 1); net.forward(ones([1, 1])).sum().backward(); let opt = optim::SGD([w], 0.5);";
    for check in [
        "expect_equal(w.grad.item(), 2.0);",
        "expect_equal(w.grad.sum(), 2.0); expect((w.grad).sum().item() == 2.0);",
        "expect(w.grad.isfinite().all().item());",
        "expect_equal(net.weight.grad.sum(), 1.0); expect(net.weight.grad[0].sum().item() == 1.0);",
        "for p in net.parameters() { expect(p.grad.norm().item() == 1.0); }",
        "expect_equal(w.requires_grad.to_string(), \"true\");",
        "expect_equal(opt.param_groups[0].lr.to_string(), \"0.5\"); expect_equal(opt.param_groups[0].params[0].sum(), 1.0);",
    ] {
        assert_eq!(lesson.attempt(code, check), Verdict::Pass, "{check}");
    }
    for check in [
        "w.grad = w.grad * 2.0;",
        "w.grad = ();",
        "w.requires_grad = false;",
        "opt.param_groups[0].lr = 1.0;",
    ] {
        let verdict = lesson.attempt(code, check);
        assert!(verdict.to_string().contains("can't change what the learner has"), "{check}: {verdict:?}");
    }
}

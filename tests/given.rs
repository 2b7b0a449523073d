//! A check reads what the lesson gave as it was given, whatever the learner's code does with its name.

use std::sync::Arc;

use tensorlab::device::Machine;
use tensorlab::device::open::Use;
use tensorlab::script::Limits;
use tensorlab::session::engine::{Evaluator, Host};
use tensorlab::session::evaluator::ScriptEvaluator;
use tensorlab::session::protocol::{Display, GivenName, Outcome, Stream, Verdict};

struct Quiet;

impl Host for Quiet {
    fn print(&self, _: Stream, _: &str) {}
    fn display(&self, _: Display, _: Option<&str>) {}
    fn progress(&self, _: &str, _: u64, _: Option<u64>, _: &str) {}
}

/// What the lesson has before the exercise.
const SETUP: &str =
    "let x = tensor([1.0, 2.0, 3.0]); const K = 3; let net = nn::Linear(3, 1); let list = [1, 2];
    let pts = #{xs: ones([2])}; let batches = [ones([2])]; let w = ones([2], #{requires_grad: true}); let opt = optim::SGD([w], 0.5);
    fn reference(v) { v * 2.0 }";
/// It asks for `y`, twice `x`.
const CHECK: &str =
    "expect_close(y, x * 2.0); expect_close(y, call(\"reference\", [x])); expect_equal(list, [1, 2]);
    expect_equal(K, 3); expect_equal(net.weight.shape, [1, 3]);";

fn attempt(code: &str, check: &str) -> Verdict {
    tried(SETUP, code, check, if code.contains(".step(") { &["w", "opt"] } else { &[] })
}

/// The same after another set-up, where some names may change in place.
fn tried(setup: &str, code: &str, check: &str, changes: &[&str]) -> Verdict {
    let names = ["x", "K", "net", "list", "w", "pts", "batches", "reference", "f", "set", "opt"];
    tried_with(&names, setup, code, check, changes)
}

/// The same where the check reads these names.
fn tried_with(names: &[&str], setup: &str, code: &str, check: &str, changes: &[&str]) -> Verdict {
    let machine = Machine::open(&"sim:t4".parse().unwrap(), Use::Headless).unwrap().machine;
    let mut session = ScriptEvaluator::new(machine, &Limits::default());
    let host = Arc::new(Quiet) as Arc<dyn Host>;
    assert!(matches!(session.evaluate(1, 1, setup, &host), Outcome::Ok { .. }));
    let given = names.iter().map(|name| GivenName { name: (*name).into(), fixed: !changes.contains(name) });
    let given: Vec<GivenName> = given.collect();
    session.keep_given(&given, true);
    session.evaluate(2, 1, code, &host);
    session.check(2, 1, check, &host).unwrap()
}

#[test]
fn what_was_given_can_not_be_exchanged() {
    assert_eq!(attempt("let y = x + x;", CHECK), Verdict::Pass);
    // A name that is used again is no mistake.
    assert_eq!(attempt("let x = x.to(\"cuda\"); let y = (x * 2.0).cpu();", CHECK), Verdict::Pass);
    assert_eq!(attempt("let list = 5; let K = 4; let net = 1; let y = x * 2.0;", CHECK), Verdict::Pass);
    for forged in [
        "let x = zeros([1]); let y = zeros([1]);",
        "x = zeros([3]); let y = zeros([3]);",
        "const x = zeros([3]); let y = x;",
        "x.zero_(); let y = zeros([3]);",
        "x[0] = 0.0; let y = x * 2.0;",
        "with no_grad() { x.mul_(0.0) } let y = x;",
        "let reference = |v| v; let x = zeros([3]); let y = x;",
        "fn reference(v) { v } let y = x;",
        "list.push(3); let x = 0.0; let y = 0.0;",
        "x.data.zero_(); let y = zeros([3]);",
        "x.data = zeros([3]); let y = zeros([3]);",
        "x.view([3]).data.zero_(); let y = zeros([3]);",
    ] {
        let verdict = attempt(forged, CHECK);
        assert!(matches!(verdict, Verdict::Fail { .. }), "{forged}: {verdict:?}");
    }
    for forged in
        ["pts.xs.zero_(); let y = zeros([2]);", "for b in batches { b.zero_(); } let y = batches[0];"]
    {
        let check = "expect_close(y, pts.xs * 2.0); expect_close(y, batches[0] * 2.0);";
        let told = attempt(forged, check).to_string();
        assert!(told.contains("which the lesson gives"), "{forged}: {told}");
    }
    let told = attempt("x.zero_(); let y = x.clone();", CHECK).to_string();
    assert!(told.contains("your code writes into `x`, which the lesson gives"), "{told}");
    let told = attempt("fn reference(v) { v } let y = x * 2.0;", CHECK).to_string();
    assert!(told.contains("`reference` is a function of the lesson's"), "{told}");
}

const HOLDERS: &str =
    "let x = ones([2, 3]); let shift = ones([3]); let factor = 2.0; let table = #{rows: [zeros([3])]};
    let f = |v| v * factor + shift; let rows = ones([4, 3]);
    let set = data::Dataset(4, |i| rows[i] * 2.0 + table.rows[0]);
    let net = nn::Sequential([nn::Linear(3, 3), nn::BatchNorm1d(3)]); net.eval();";
const READ: &str =
    "expect_close(y, call(f, [x])); expect_close(set[1], ones([3]) * 2.0); expect_close(z, call(net, [x]));";

#[test]
fn what_given_functions_datasets_and_modules_hold_stays() {
    let passes = |code: &str| assert_eq!(tried(HOLDERS, code, READ, &[]), Verdict::Pass, "{code}");
    passes("let y = x * 2.0 + 1.0; let z = net.forward(x);");
    passes("net.to(\"cuda\"); let y = f.call(x); let z = net.forward(x.cuda()).cpu(); net.cpu();");
    for (name, forged) in [
        ("f", "shift.zero_(); factor = 0.0;"),
        ("f", "factor = 0.0;"),
        ("f", "shift.zero_();"),
        ("set", "rows.add_(1.0);"),
        ("set", "table.rows[0].add_(1.0);"),
        ("net", "net[1].running_mean.fill_(3.0);"),
        ("net", "for p in net.parameters() { p.detach().zero_(); }"),
        ("net", "with no_grad() { for p in net.parameters() { p.zero_(); } }"),
        ("net", "net[0].weight = nn::Parameter(zeros([3, 3]));"),
        ("net", "net.append(nn::ReLU());"),
        ("net", "net[0].register_buffer(\"mine\", ones([1]));"),
        ("net", "net.half(); net.float();"),
        ("net", "net[0].weight.data.zero_();"),
        ("net", "net[0].weight.data = zeros([3, 3]);"),
        ("f", "shift.data.zero_();"),
    ] {
        let code = format!("{forged} let y = f.call(x); let z = net.forward(x);");
        let told = tried(HOLDERS, &code, READ, &[]).to_string();
        assert!(told.contains(&format!("what `{name}` holds, which the lesson gives")), "{code}: {told}");
    }
}

#[test]
fn what_optimisers_schedules_and_modules_are_set_to_stays() {
    let setup = "let w = ones([2], #{requires_grad: true}); let opt = optim::SGD([w], #{lr: 0.5});
        let sch = optim::lr_scheduler::StepLR(opt, 1); let scaler = amp::GradScaler();
        let net = nn::module(#{lin: nn::Linear(3, 1), s: 2.0, sizes: [1, 2]}, |self, x| self.lin.forward(x) * self.s);
        (w * 2.0).sum().backward(); let x = ones([4, 3]); let cfg = #{lr: 0.1}; let rate = || cfg.lr;";
    let check = "expect_equal(lr, opt.param_groups[0].lr); expect_close(g, w.grad); expect_close(out, call(net, [x]));
        expect_equal(s, scaler.get_scale()); expect_equal(last, sch.get_last_lr()); expect_equal(r, call(rate, []));";
    let answer = "let lr = opt.param_groups[0].lr; let g = w.grad.clone(); let out = net.forward(x);
        let s = scaler.get_scale(); let last = sch.get_last_lr(); let r = rate.call();";
    let told = |code: &str| {
        let names = ["w", "opt", "sch", "scaler", "net", "x", "rate"];
        tried_with(&names, setup, &format!("{code} {answer}"), check, &[])
    };
    assert_eq!(told(""), Verdict::Pass);
    assert_eq!(told("let y = w * 3.0; net.eval(); net.train();"), Verdict::Pass);
    for (name, forged) in [
        ("opt", "opt.param_groups[0].lr = 0.0;"),
        ("opt", "opt.add_param_group(#{params: [ones([1], #{requires_grad: true})]});"),
        ("opt", "let d = opt.state_dict(); d.param_groups[0].lr = 0.25; opt.load_state_dict(d);"),
        ("opt", "sch.step();"),
        ("scaler", "let d = scaler.state_dict(); d.scale = 2.0; scaler.load_state_dict(d);"),
        ("net", "net.s = 0.0;"),
        ("net", "net.sizes = [3];"),
        ("net", "net.lin.weight.requires_grad = false;"),
        ("opt", "w.grad.zero_();"),
        ("opt", "w.grad = zeros([2]);"),
        ("opt", "let kept = w.grad; opt.zero_grad(); w.grad = kept.clone();"),
        ("opt", "(w * w).sum().backward();"),
        ("rate", "cfg.lr = 0.0;"),
    ] {
        let told = told(forged).to_string();
        assert!(
            told.contains(&format!("`{name}`")) && told.contains("which the lesson gives"),
            "{forged}: {told}"
        );
    }
}

#[test]
fn what_lies_in_given_things_is_not_exchanged() {
    let setup = "let x = ones([2]); let net = nn::module(#{f: |v| v * 2.0, m: #{g: |v| v}, a: [|v| v]}, |self, v| self.f.call(v));
        let inner = |v| v * 2.0; let outer = |v| inner.call(v); let dm = #{d: data::Dataset(2, |i| i)}; let at = |i| dm.d[i];
        let w = nn::Parameter(ones(2)); let slope = || { (w * w).sum().backward(); w.grad };";
    let check =
        "expect_close(y, call(net, [x])); expect_close(y, call(outer, [x])); expect_equal(call(at, [1]), 1);
        expect_close(s, call(slope, []));";
    let names = ["x", "net", "outer", "at", "slope"];
    let told = |code: &str| {
        let code = format!("{code} let y = outer.call(x); let s = slope.call();");
        tried_with(&names, setup, &code, check, &[])
    };
    assert_eq!(told(""), Verdict::Pass);
    for (name, forged) in [
        ("net", "net.f = |v| v * 0.0;"),
        ("net", "net.m.g = |v| v * 0.0;"),
        ("net", "net.a[0] = |v| v * 0.0;"),
        ("outer", "inner = |v| v;"),
        ("at", "dm.d = data::Dataset(2, |i| 9);"),
        ("slope", "w.register_hook(|g| g * 0.0);"),
    ] {
        let told = told(forged).to_string();
        assert!(told.contains(&format!("what `{name}` holds")), "{forged}: {told}");
    }
    // A check's call begins with the gradients that were there.
    let forged = "w.grad = w.detach() * -2.0; let y = x * 2.0; let s = zeros(2);";
    assert!(matches!(tried_with(&names, setup, forged, check, &[]), Verdict::Fail { .. }));
}

#[test]
fn a_given_module_is_called_as_it_was_given() {
    let setup = "let x = ones([4, 3]); let net = nn::Sequential([nn::Linear(3, 3), nn::Dropout(1.0)]); net[1].eval();";
    let check = "expect_close(y, call(net, [x]));";
    let told = |code: &str| tried(setup, code, check, &[]);
    for right in [
        "let y = net.forward(x);",
        "net.eval(); let y = net.forward(x);",
        "let y = net.forward(x); net.train();",
        "net.to(\"cuda\"); let y = net.forward(x.cuda()).cpu();",
    ] {
        assert_eq!(told(right), Verdict::Pass, "{right}");
    }
    assert!(matches!(told("net.train(); let y = zeros([4, 3]);"), Verdict::Fail { .. }));
    // Whether it was set otherwise is for the check to ask.
    let asks = "expect(!net[0].training);";
    assert_eq!(tried(setup, "net.eval();", asks, &[]), Verdict::Pass);
    assert!(matches!(tried(setup, "let y = 1;", asks, &[]), Verdict::Fail { .. }));
    // What an exercise says changes is called as it is then.
    let zeros = "expect_close(call(net, [x]), zeros([4, 3]));";
    assert_eq!(tried(setup, "net.train();", zeros, &["net"]), Verdict::Pass);
}

#[test]
fn a_given_closure_is_called_in_a_check_as_anywhere() {
    let setup = "let x = ones([3]); let f = |v| v * 2.0; let set = data::Dataset(2, |i| i);";
    for check in [
        "expect_close(y, f.call(x));",
        "let g = |h, v| h.call(v) + 0.0; expect_close(y, g.call(f, x));",
        "expect_close(y, #{f: f}.f.call(x));",
    ] {
        assert_eq!(tried(setup, "let y = x * 2.0;", check, &[]), Verdict::Pass, "{check}");
        let told = tried(setup, "let y = x;", check, &[]);
        assert!(matches!(&told, Verdict::Fail { .. }), "{check}: {told}");
    }
}

#[test]
fn what_an_exercise_says_it_changes_may_change() {
    let setup = "let net = nn::Sequential([nn::Linear(3, 3), nn::BatchNorm1d(3)]); let x = ones([4, 3]);
        let seen = 0; let f = |v| { seen += 1; v * 2.0 };
        let opt = optim::SGD(net.parameters(), 0.1);";
    let check = "expect_equal(net[1].running_mean.shape, [3]); expect_close(call(f, [x]), x * 2.0);";
    let told = |code: &str, changes: &[&str]| tried(setup, code, check, changes);
    assert_eq!(told("let y = net.forward(f.call(x));", &["net", "f"]), Verdict::Pass);
    assert!(matches!(told("let y = net.forward(f.call(x));", &["net"]), Verdict::Fail { .. }));
    let step = "net.forward(x).sum().backward(); opt.step();";
    assert_eq!(told(step, &["net", "opt"]), Verdict::Pass);
    assert!(matches!(told(step, &["opt"]), Verdict::Fail { .. }));
    // What else is given stays.
    assert!(told(&format!("x.zero_(); {step}"), &["net", "opt"]).to_string().contains("writes into `x`"));
}

#[test]
fn an_answer_with_a_name_of_the_lessons_is_told_what_the_check_reads() {
    let told = attempt("let x = zeros([3]); let y = zeros([3]);", CHECK).to_string();
    assert!(
        told.contains("the check reads the `x` that the lesson gave, not the one that your code makes"),
        "{told}"
    );
    // A list that may change is read as it is then.
    let code = "list.push(3); let y = x * 2.0;";
    assert_eq!(tried(SETUP, code, "expect_equal(list, [1, 2, 3]);", &["list"]), Verdict::Pass);
    let code = "w = w.detach() * 3.0;";
    assert_eq!(tried(SETUP, code, "expect_close(w, ones(2) * 3.0);", &["w"]), Verdict::Pass);
    // Another number of parameters makes another function.
    assert_eq!(attempt("fn reference(a, b) { a + b } let y = reference(x, x);", CHECK), Verdict::Pass);
    let told = attempt("pts.xs.zero_(); let y = 1;", "expect_close(y, pts.xs);").to_string();
    assert!(
        told.contains("writes into `pts`, which the lesson gives: work on copies of its tensors"),
        "{told}"
    );
}

#[test]
fn what_training_changes_is_read_as_it_is_then() {
    let code = "(w * 3.0).sum().backward(); opt.step();";
    assert_eq!(attempt(code, "expect_close(w, tensor([-0.5, -0.5]));"), Verdict::Pass);
}

/// What shows a cell's last value asks a device for it: that is not the learner's doing.
#[test]
fn showing_a_cells_value_is_no_wait_of_the_learners() {
    let check =
        "expect(events.implicit_syncs == 0, \"it waited\"); expect(events.d2h.count == 0, \"it copied\");";
    for code in [
        "let y = ones(3, #{device: \"cuda\"}); y + 1.0",
        "let y = ones(3, #{device: \"cuda\"}); y.mul_(2.0);",
    ] {
        assert_eq!(attempt(code, check), Verdict::Pass, "{code}");
    }
    let printed = attempt("print(ones(3, #{device: \"cuda\"}));", check);
    assert!(matches!(printed, Verdict::Fail { .. }), "{printed:?}");
}

#[test]
fn what_holds_a_given_net_is_called_where_the_net_was_given() {
    let setup = "let x = ones(2); let net = nn::Linear(2, 1); let f = |v| net.forward(v);
        let set = data::Dataset(2, |i| net.forward(x)); fn reference(n, v) { n.forward(v) }";
    let check = "expect_close(y.cpu(), call(f, [x])); expect_close(y.cpu(), call(\"reference\", [net, x]));
        expect_close(y.cpu(), set[1]);";
    for right in ["let y = net.forward(x);", "net.cuda(); let y = net.forward(x.cuda());"] {
        assert_eq!(tried(setup, right, check, &[]), Verdict::Pass, "{right}");
    }
    let told = tried(setup, "net.cuda(); let y = net.forward(x.cuda()) * 2.0;", check, &[]).to_string();
    assert!(told.contains("not the expected ones"), "{told}");
    // What fails wherever it runs is told as it failed first.
    let told = tried(setup, "net.cuda(); let y = 1;", "call(f, [ones(5)]);", &[]).to_string();
    assert!(told.contains("same device"), "{told}");
}

#[test]
fn a_check_runs_a_given_normalisation_and_the_learner_does_not_move_its_statistics() {
    let setup = "manual_seed(0); let x = rand([4, 3]); let net = nn::BatchNorm1d(3);";
    let run = "let y = net.forward(x);";
    let told = tried(setup, run, "expect_close(y, net.forward(x));", &[]).to_string();
    assert!(
        told.contains("changes what `net` holds, which the lesson gives: buffers")
            && told.contains("run it after `net.eval()`"),
        "{told}"
    );
    let training = "net.eval(); let y = net.forward(x); net.train();";
    let check = "net.forward(x); expect_equal(net.num_batches_tracked.item(), 1);";
    assert_eq!(tried(setup, training, check, &[]), Verdict::Pass);
    // What the check ran has moved nothing of the learner's.
    let check = "net.forward(x + 100.0); expect_close(y, call(net, [x]));";
    assert_eq!(tried(setup, run, check, &["net"]), Verdict::Pass);
}

#[test]
fn a_given_map_or_array_that_is_written_to_is_told_of() {
    let setup = "let pts = #{n: 1, t: ones(2)}; let list = [1, 2];";
    for (code, check, name) in [
        ("pts.n = 5;", "expect_equal(pts.n, 5);", "pts"),
        ("pts.t = zeros(2);", "expect_close(pts.t, zeros(2));", "pts"),
        ("list[0] = 3;", "expect_equal(list[0], 3);", "list"),
        ("list.push(3);", "expect_equal(list.len(), 3);", "list"),
    ] {
        let told = tried(setup, code, check, &[]).to_string();
        let reads =
            format!("the check reads the `{name}` that the lesson gave, not what your code makes of it");
        assert!(told.contains(&reads), "{told}");
        assert_eq!(tried(setup, code, check, &[name]), Verdict::Pass);
    }
    let told = tried(setup, "let y = 2;", "expect_equal(y, pts.n);", &[]).to_string();
    assert!(!told.contains("that the lesson gave"), "{told}");
}

#[test]
fn a_name_that_is_called_and_is_no_function_is_told_with_what_it_is() {
    let told = attempt("let f = 3;", "call(\"f\", [x]);").to_string();
    assert!(told.contains("the check calls `f`, which is no function but an int"), "{told}");
    let told = attempt("let h = 3;", "call(\"f\", [x]);").to_string();
    assert!(told.contains("your code does not define it"), "{told}");
}

/// As in one script.
#[test]
fn a_dataset_calls_the_function_that_a_later_cell_gave_its_closure() {
    let setup = "let h = |i| i * 2; let set = data::Dataset(3, |i| h.call(i));";
    let told = tried_with(&["set"], setup, "h = |i| 9; let y = set[1];", "expect_equal(y, 9);", &["set"]);
    assert_eq!(told, Verdict::Pass);
}

#[test]
fn a_closure_that_was_given_is_called_by_its_name_whatever_function_has_it_too() {
    let setup = "let right = || 42;";
    let check = "expect_equal(y, call(\"right\", []));";
    let of = |code: &str| tried_with(&["right"], setup, code, check, &[]);
    assert_eq!(of("let y = 42;"), Verdict::Pass);
    for forged in ["fn right() { 7 } let y = 7;", "let right = || 7; let y = 7;", "right = || 7; let y = 7;"]
    {
        assert!(matches!(of(forged), Verdict::Fail { .. }), "{forged}: {:?}", of(forged));
    }
    // What is the learner's to write is found as they wrote it.
    let own = "expect_equal(call(\"twice\", [2]), 4);";
    assert_eq!(tried_with(&["right"], setup, "fn twice(x) { 2 * x }", own, &[]), Verdict::Pass);
}

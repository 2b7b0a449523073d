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
    let machine = Machine::open(&"sim:t4".parse().unwrap(), Use::Headless).unwrap().machine;
    let mut session = ScriptEvaluator::new(machine, &Limits::default());
    let host = Arc::new(Quiet) as Arc<dyn Host>;
    assert!(matches!(session.evaluate(1, 1, SETUP, &host), Outcome::Ok { .. }));
    let fixed = |name: &str| GivenName { name: name.into(), fixed: true };
    session.keep_given(&["x", "K", "net", "list", "w", "pts", "batches", "reference"].map(fixed));
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

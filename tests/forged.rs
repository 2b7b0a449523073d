//! A check judges what the learner's code did, whatever it defines, changes, prints or ends with.

use std::sync::{Arc, Mutex};

use tensorlab::device::Machine;
use tensorlab::device::open::Use;
use tensorlab::script::Limits;
use tensorlab::session::engine::{Evaluator, Host};
use tensorlab::session::evaluator::ScriptEvaluator;
use tensorlab::session::protocol::{Display, Outcome, ProbeValue, Stream, Verdict};

/// Keeps what is printed.
#[derive(Default)]
struct Quiet(Mutex<String>);

impl Host for Quiet {
    fn print(&self, _: Stream, text: &str) {
        self.0.lock().unwrap().push_str(text);
    }
    fn display(&self, _: Display, _: Option<&str>) {}
    fn progress(&self, _: &str, _: u64, _: Option<u64>, _: &str) {}
}

pub struct Lesson {
    session: ScriptEvaluator,
    cell: u32,
}

impl Lesson {
    pub fn new() -> Lesson {
        let machine = Machine::open(&"sim:t4x2".parse().unwrap(), Use::Headless).unwrap().machine;
        Lesson { session: ScriptEvaluator::new(machine, &Limits::default()), cell: 0 }
    }

    pub fn run(&mut self, code: &str) -> Outcome {
        self.run_at(1, code)
    }

    /// Code that begins in a line of its file.
    fn run_at(&mut self, first_line: u32, code: &str) -> Outcome {
        self.cell += 1;
        self.session.evaluate(self.cell, first_line, code, &(Arc::new(Quiet::default()) as Arc<dyn Host>))
    }

    fn check(&mut self, check: &str) -> Verdict {
        self.session.check(self.cell, 1, check, &(Arc::new(Quiet::default()) as Arc<dyn Host>)).unwrap()
    }

    /// What a check of the last cell prints.
    pub fn told(&mut self, check: &str) -> String {
        let host = Arc::new(Quiet::default());
        let _ = self.session.check(self.cell, 1, check, &(Arc::clone(&host) as Arc<dyn Host>));
        host.0.lock().unwrap().clone()
    }

    /// An attempt from nothing.
    pub fn attempt(&mut self, code: &str, check: &str) -> Verdict {
        self.attempt_at(1, code, check)
    }

    pub fn attempt_at(&mut self, first_line: u32, code: &str, check: &str) -> Verdict {
        self.session.reset();
        self.run_at(first_line, code);
        self.check(check)
    }
}

/// What the exercise asks for: the mean of each row of `x`, on the GPU, with one copy.
const ASKS: &str = "expect_equal(means.shape, [2]);
expect_close(means, tensor([2.0, 5.0]));
expect_device(means, \"cuda\");
expect(means.ne(0.0).all().item(), \"a mean is 0\");
expect(events.h2d.count <= 1, \"more than one copy\");
expect(events.peak_bytes(\"cuda:0\") < 100000, \"too much memory\");";

const SOLUTION: &str =
    "let x = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);\nlet means = x.to(\"cuda\").mean(1);";

/// A cell that is wrong: the means are not those of the rows.
const WRONG: &str = "let means = zeros([2], #{device: \"cuda\"});";

/// What learners put beside a wrong answer to have it pass.
const FORGERIES: &[&str] = &[
    "fn all() { true }",
    "fn all(x) { true }",
    "fn ones(s) { zeros(s) }",
    "fn tensor(x) { zeros([2]) }",
    "fn expect(ok, text) { }",
    "fn expect(ok) { }",
    "fn expect_equal(a, b) { }",
    "fn expect_close(a, b) { }",
    "fn expect_device(a, b) { }",
    "fn peak_bytes(d) { 0 }",
    "fn peak_bytes(e, d) { 0 }",
    "fn h2d(e) { #{count: 0, bytes: 0, pinned: 0} }",
    "fn item(x) { true }",
    "fn item() { true }",
    "fn ne(x, y) { true }",
    "fn eq(a, b) { true }",
    "fn shape(x) { [2] }",
    "fn mean(d) { this }",
    "fn to_string(x) { \"[2]\" }",
    "fn print(x) { }",
    "const tensor = |x| zeros([2]);",
    "let expect = |ok, text| true;",
    "let events = #{h2d: #{count: 0}};",
    "const events = #{h2d: #{count: 0}};",
    "let all = || true;",
    "let float32 = float64;",
    "let F = #{};",
    "exit();",
    "exit(true);",
    "print(\"✓ check passed\");",
    "print(`{\"verdict\": \"pass\"}`);",
    "manual_seed(0);",
    "set_grad_enabled(false);",
    "cuda::set_device(1);",
    "let means = full([2], 0.0 / 0.0, #{device: \"cuda\"});",
    "let means = full([2], 1.0 / 0.0, #{device: \"cuda\"});",
    "let means = \"tensor([2., 5.])\";",
    "let means = [2.0, 5.0];",
    "let means = tensor([2.0, 5.0]);",
    "let means = tensor([2.0, 5.1], #{device: \"cuda\"});",
    "let means = tensor([[2.0, 5.0]], #{device: \"cuda\"});",
    "let means = #{shape: [2], all: || true};",
    "let means = nn::module(#{}, |m, x| x);",
    "let means = || tensor([2.0, 5.0]);",
    "let means = ();",
    "let means = tensor([2.0, 5.0], #{device: \"cuda\"}); throw \"done\";",
    "let means = tensor([2.0, 5.0], #{device: \"cuda\"}); ones(2) + ones(3);",
    "let many = zeros([1000000], #{device: \"cuda\"}); let means = tensor([2.0, 5.0], #{device: \"cuda\"});",
    "let a = ones(2).to(\"cuda\"); let b = ones(2).to(\"cuda\"); let means = tensor([2.0, 5.0], #{device: \"cuda\"});",
];

#[test]
fn forged_answers_fail() {
    let mut lesson = Lesson::new();
    assert_eq!(lesson.attempt(SOLUTION, ASKS), Verdict::Pass);
    assert!(FORGERIES.len() >= 40, "{}", FORGERIES.len());
    let mut wrong = Vec::new();
    for forgery in FORGERIES {
        for code in [format!("{forgery}\n{WRONG}\n{forgery}"), format!("{WRONG}\n{forgery}")] {
            // A name is defined once.
            let verdict = lesson.attempt(&code, ASKS);
            let told = matches!(
                verdict,
                Verdict::Fail { .. } | Verdict::LearnerError { .. } | Verdict::OutOfMemory { .. }
            );
            if !told {
                wrong.push(format!("{code}\n  {verdict:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A learner may call a function of theirs whatever they like.
#[test]
fn what_is_compared_is_compared_by_value() {
    let mut lesson = Lesson::new();
    let code = "let a = ones([2]); let b = ones([2], #{device: \"cuda\"}); let c = ones([2], #{dtype: float64});\n\
        let m = nn::Linear(2, 2); let n = nn::Linear(3, 3);";
    let same = [
        "a.device, a.device",
        "b.device, ones([1], #{device: \"cuda:0\"}).device",
        "a.dtype, float32",
        "m, m",
        "(), ()",
    ];
    for pair in same {
        assert_eq!(lesson.attempt(code, &format!("expect_equal({pair});")), Verdict::Pass, "{pair}");
    }
    let other = [
        "a.device, b.device",
        "a.dtype, c.dtype",
        "[a.dtype], [c.dtype]",
        "m, n",
        "true, 1",
        "a.device, \"cuda\"",
        "(), 0",
    ];
    for pair in other {
        let verdict = lesson.attempt(code, &format!("expect_equal({pair});"));
        assert!(matches!(verdict, Verdict::Fail { .. }), "{pair}: {verdict:?}");
        assert!(!verdict.to_string().contains("tensorlab::"), "{pair}: {verdict}");
    }
}

#[test]
fn a_function_is_called_by_its_name_in_quotes_or_without() {
    let mut lesson = Lesson::new();
    for check in ["expect_equal(call(\"twice\", [3]), 6);", "expect_equal(call(twice, [3]), 6);"] {
        assert_eq!(lesson.attempt("fn twice(x) { 2 * x }", check), Verdict::Pass, "{check}");
        let verdict = lesson.attempt("fn thrice(x) { 3 * x }", check);
        assert!(verdict.to_string().contains("does not define it"), "{check}: {verdict}");
    }
}

#[test]
fn a_name_in_quotes_is_that_of_a_variable_as_well() {
    let mut lesson = Lesson::new();
    let check = "expect_equal(call(\"twice\", [3]), 6);";
    assert_eq!(lesson.attempt("let k = 2; let twice = |x| k * x;", check), Verdict::Pass);
    let check = "expect_equal(call(\"net\", [ones([4, 2])]).shape, [4, 1]);";
    assert_eq!(lesson.attempt("let net = nn::Linear(2, 1);", check), Verdict::Pass);
    // A function of the name comes first, as in the learner's own code.
    let both = "fn twice(x) { 2 * x } let twice = |x| 0;";
    assert_eq!(lesson.attempt(both, "expect_equal(call(\"twice\", [3]), 6);"), Verdict::Pass);
    let verdict = lesson.attempt("let twice = 6;", "expect_equal(call(\"twice\", [3]), 6);");
    assert!(verdict.to_string().contains("which is no function but an int"), "{verdict}");
}

#[test]
fn what_the_learners_code_gives_is_the_learners() {
    let mut lesson = Lesson::new();
    let verdict = lesson.attempt("fn f(x) { }", "expect_equal(call(\"f\", [1])[0], 1);");
    assert!(verdict.to_string().contains("the check can't read your answer"), "{verdict:?}");
    for check in ["expect_equal(call(\"f\", [1]), 1);", "let y = call(\"f\", [1]); expect_equal(y, 1);"] {
        let verdict = lesson.attempt("fn f(x) { exit(1) }", check);
        assert!(matches!(verdict, Verdict::LearnerError { .. }), "{verdict:?}");
        assert!(verdict.to_string().contains("exit()"), "{verdict}");
    }
    let verdict = lesson.attempt("let y = ();", "expect_equal(y, 1);");
    assert_eq!(verdict.reason().as_deref(), Some("expected 1, found ()"));
}

#[test]
fn what_is_called_knows_its_constants() {
    let mut lesson = Lesson::new();
    let code = "const N = 3; fn times(x) { x * global::N }";
    assert_eq!(lesson.attempt(code, "expect_equal(call(times, [2]), 6);"), Verdict::Pass);
}

#[test]
fn a_call_that_does_not_fit_says_so() {
    let mut lesson = Lesson::new();
    let verdict = lesson.attempt("fn f(a) { a }", "expect_equal(call(\"f\", [1, 2]), 3);");
    assert!(matches!(verdict, Verdict::LearnerError { .. }), "{verdict:?}");
    assert!(verdict.to_string().contains("'f' takes 1 argument"), "{verdict}");
    let verdict = lesson.attempt("let f = |a| a;", "expect_equal(call(f, [1, 2]), 3);");
    assert!(matches!(verdict, Verdict::LearnerError { .. }), "{verdict:?}");
    assert!(verdict.to_string().contains("the closure takes another number of arguments"), "{verdict}");
    assert!(!verdict.to_string().contains("anon"), "{verdict}");
    let verdict =
        lesson.attempt("let n = 1;", "try { call(\"f\", [1]) } catch {} expect(n == 2, \"n is not 2\");");
    assert!(verdict.to_string().contains("n is not 2"), "{verdict}");
}

#[test]
fn functions_of_the_learner_run_in_the_learners_engine() {
    let mut lesson = Lesson::new();
    let check = "let g = autograd::grad(y, [x])[0]; expect_close(g, full([2], 2.0));";
    let start = "let x = ones(2, #{requires_grad: true});";
    for (code, right) in [
        ("let y = checkpoint(|x| x * 2.0, x).sum();", true),
        ("fn exit(x) { x * 2.0 } let y = checkpoint(Fn(\"exit\"), x).sum();", true),
        ("fn exit(x) { x * 3.0 } let y = checkpoint(Fn(\"exit\"), x).sum();", false),
        ("fn zeros(x) { x * 3.0 } let y = checkpoint(Fn(\"zeros\"), x).sum();", false),
    ] {
        let verdict = lesson.attempt(&format!("{start} {code}"), check);
        assert_eq!(verdict == Verdict::Pass, right, "{code}: {verdict:?}");
        assert!(!matches!(verdict, Verdict::CheckerFault { .. }), "{code}: {verdict:?}");
    }
    let own = "fn exit(x) { 1 } let net = nn::module(#{act: Fn(\"exit\")}, |me, x| x);";
    let verdict = lesson.attempt(own, "net.act.call(1); expect(false, \"not so\");");
    assert_ne!(verdict, Verdict::Pass, "{verdict:?}");
    let verdict = lesson.attempt(own, "expect_equal(call(net.act, [1]), 1);");
    assert_eq!(verdict, Verdict::Pass);
}

#[test]
fn what_a_check_makes_is_not_the_learners_to_change() {
    let mut lesson = Lesson::new();
    let check = "let m = nn::Linear(2, 2); let x = ones([1, 2]);
expect_close(call(\"f\", [m, x]), m.forward(x));";
    let forged = "fn f(m, x) { no_grad(|| { m.weight.zero_(); m.bias.zero_(); }); zeros([1, 2]) }";
    assert_ne!(lesson.attempt(forged, check), Verdict::Pass);
    assert_eq!(lesson.attempt("fn f(m, x) { m.forward(x) }", check), Verdict::Pass);
    let tied = "let a = ones(2); let out = call(\"f\", [a, a]); expect_equal(out, true);";
    assert_eq!(lesson.attempt("fn f(a, b) { a is b }", tied), Verdict::Pass);
}

#[test]
fn what_is_one_module_is_one_in_a_check() {
    let mut lesson = Lesson::new();
    let code = "let l = nn::Linear(2, 2); let net = nn::Sequential(l, l); let other = net;";
    let check = "expect(net[0] is l, \"not the same\"); expect(net[1] is l); expect_equal(other, net);";
    assert_eq!(lesson.attempt(code, check), Verdict::Pass);
}

#[test]
fn a_check_begins_on_the_first_device_and_draws_anew() {
    let mut lesson = Lesson::new();
    lesson.attempt("cuda::set_device(1); let x = 1;", "cuda::set_device(1); expect(false);");
    let code = "let d = ones(2).to(\"cuda\");";
    assert_eq!(lesson.attempt(code, "expect_device(ones(2).to(\"cuda\"), \"cuda:0\");"), Verdict::Pass);
    let drawn =
        |lesson: &mut Lesson| lesson.attempt("let x = 1;", "expect(false, `${rand(1)}`);").to_string();
    let (one, other) = (drawn(&mut lesson), drawn(&mut lesson));
    assert_ne!(one, other, "what is drawn can't be learnt by heart");
}

#[test]
fn integers_are_compared_as_such() {
    let mut lesson = Lesson::new();
    let check = "expect_equal(n, 9007199254740992); ";
    assert_eq!(lesson.attempt("let n = 9007199254740992;", check), Verdict::Pass);
    assert_ne!(lesson.attempt("let n = 9007199254740993;", check), Verdict::Pass);
    assert_ne!(lesson.attempt("let n = tensor(9007199254740993);", check), Verdict::Pass);
    assert_eq!(lesson.attempt("let n = 2.0;", "expect_equal(n, 2);"), Verdict::Pass);
}

#[test]
fn an_answer_may_be_called_as_a_space_of_the_language_is() {
    let mut lesson = Lesson::new();
    let code = "let data = [ones([2]), ones([3])]; let nn = data.len();";
    assert_eq!(lesson.attempt(code, "expect_equal(data.len(), 2); expect_equal(nn, 2);"), Verdict::Pass);
}

#[test]
fn right_answers_pass_whatever_else_is_defined() {
    let mut lesson = Lesson::new();
    let mut wrong = Vec::new();
    let innocent = FORGERIES.iter().filter(|code| {
        let starts = ["fn ", "const ", "print", "let e"].iter().any(|start| code.starts_with(start));
        starts && !code.starts_with("fn print")
    });
    for helper in innocent {
        // The learner's own call of a name is the learner's own function.
        let verdict = lesson.attempt(&format!("{SOLUTION}\n{helper}"), ASKS);
        let own = ["fn tensor(x)", "fn mean(d)"].iter().any(|own| helper.starts_with(own));
        if verdict != Verdict::Pass && !own {
            wrong.push(format!("{helper}\n  {verdict:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_name_that_is_asked_for_and_not_there_is_a_fail_that_says_so() {
    let mut lesson = Lesson::new();
    let verdict = lesson.attempt("let mean = 3;", ASKS);
    let reason = verdict.reason().unwrap_or_default();
    assert_eq!(reason, "the exercise asks for `means`; your code does not define it");
    let verdict = lesson.attempt("let means = 1;", ASKS);
    assert!(
        matches!(&verdict, Verdict::Fail { reason, .. } if reason.contains("can't read your answer")),
        "{verdict:?}"
    );
    let verdict = lesson.attempt("let x = 1;", "expect_equal(call(\"double\", [3]), 6);");
    assert_eq!(
        verdict.reason().as_deref().unwrap_or_default(),
        "the exercise asks for `double()`; your code does not define it"
    );
}

#[test]
fn a_check_that_fails_by_itself_is_a_checker_fault() {
    let mut lesson = Lesson::new();
    for check in ["let y = ;", "expect(ones(2) + ones(3))", "expect(1, \"x\")", "throw 1", "exec(1)"] {
        let verdict = lesson.attempt("let x = 1;", check);
        assert!(matches!(verdict, Verdict::CheckerFault { .. }), "{check}: {verdict:?}");
    }
    // Also where it reads the answer.
    for (check, at) in [
        ("expect(x==1", 1),
        ("let q = [1];\nq[5];\nexpect(x == 1, \"n\");", 2),
        ("expect(x == 1, \"n\");\nthrow \"oops\";", 2),
        ("if x == 1 {\n throw \"oops \" + x;\n}", 2),
        ("\nexpect_close(x, 1, #{bogus: 1});", 2),
        ("expect_device(ones(x), \"cdua\");", 1),
        ("expect_equal(x);", 1),
        ("expcet(x == 1, \"n\");", 1),
        ("let v = [1, 2]; for i in 0..3 { v[i]; } expect(x == 1);", 1),
        ("let m = #{a: x}; expect(m.a == 1); let q = [1]; q[2];", 1),
        ("expect(x == 1);\nexpect(!(events.h2d.cuont > 1), \"n\");", 2),
    ] {
        let verdict = lesson.attempt("let x = 1;", check);
        assert!(
            matches!(verdict, Verdict::CheckerFault { line: Some(line), .. } if line == at),
            "{check}: {verdict:?}"
        );
    }
}

#[test]
fn what_is_told_of_an_answer_is_told_from_what_looks_like_it() {
    let mut lesson = Lesson::new();
    for (code, check, told) in [
        ("let x = \"5\";", "expect_equal(x, 5);", "expected 5, found \"5\""),
        ("let x = [\"a\"];", "expect_equal(x, [1]);", "expected [1], found [\"a\"]"),
        ("let x = |n| n;", "expect_equal(x, 5);", "expected 5, found function"),
    ] {
        assert_eq!(lesson.attempt(code, check).reason().as_deref(), Some(told), "{check}");
    }
    let verdict = lesson.attempt("let x = 1;", "expect(!(events.h2d.cuont > 1), \"n\");");
    assert!(verdict.to_string().contains("no field 'cuont'; did you mean `count`?"), "{verdict}");
}

#[test]
fn what_is_wrong_with_an_answer_is_no_fault_of_the_check() {
    let mut lesson = Lesson::new();
    for check in [
        "expect(x, \"n\");",
        "x[3];",
        "let y = x;\nlet z = [y];\nz[0].shape;",
        "let y = 0; y = x * ones([2, 2]); expect(y == 1);",
        "for row in [x] { expect(row.sum().item() == 1, \"n\"); }",
        "fn total(t) { t.sum() }\ntotal(x);",
        "[x].map(|t| t.sum());",
        "let m = #{a: x}; m.a.sum();",
        "fields.lr == 1;",
        "load(SCRATCH + \"/x.npy\");",
        "expect_equal(`${x.sum()}`, \"1\");",
    ] {
        let verdict =
            lesson.attempt("let x = \"one\"; let fields = #{};\nconst SCRATCH = \"/nowhere\";", check);
        assert!(
            matches!(&verdict, Verdict::Fail { reason, .. } if reason.contains("can't read your answer")),
            "{check}: {verdict:?}"
        );
    }
}

#[test]
fn a_memory_fraction_of_the_learners_is_none_of_the_checks() {
    let mut lesson = Lesson::new();
    let code = "let x = ones(4, #{device: \"cuda\"}); cuda::set_per_process_memory_fraction(0.0001, 0);";
    let check = "expect(zeros([1024, 1024], #{device: \"cuda\"}).sum().item() == 0.0, \"n\");";
    assert_eq!(lesson.attempt(code, check), Verdict::Pass);
    // It holds for the learner's code as before.
    let outcome = lesson.run("zeros([1024, 1024], #{device: \"cuda\"});");
    assert!(matches!(&outcome, Outcome::Error { fault } if fault.kind == "OutOfMemoryError"), "{outcome:?}");
}

#[test]
fn a_check_calls_what_the_learner_wrote_by_one_word() {
    let mut lesson = Lesson::new();
    for (code, check) in [
        ("fn double(x) { x * 2 }", "expect_equal(call(\"double\", [3]), 6)"),
        ("let twice = |x| x * 2;", "expect_equal(call(twice, [3]), 6)"),
        ("let k = 2; let twice = |x| x * k;", "expect_equal(call(twice, [3]), 6)"),
        ("let twice = |x| x * 2;", "expect_equal(twice.call(3), 6)"),
        ("let net = nn::Linear(2, 1);", "expect_equal(call(net, [ones([4, 2])]).shape, [4, 1])"),
        (
            "let net = nn::module(#{}, |m, x| x * 2);",
            "expect_close(call(net, [ones(2)]), tensor([2.0, 2.0]))",
        ),
        ("let fs = [|x| x + 1, |x| x + 2];", "expect_equal(call(fs[1], [1]), 3)"),
        ("fn pair(a, b) { [a, b] }", "expect_equal(call(\"pair\", [1, \"2\"]), [1, \"2\"])"),
        ("fn make() { |x| x + 1 }", "expect_equal(call(call(\"make\", []), [1]), 2)"),
        ("fn none() { }", "expect(call(\"none\", []) == ())"),
        (
            "let net = nn::Linear(2, 1); net.eval();",
            "expect(!net.training); expect_equal(net.forward(ones([1, 2])).shape, [1, 1])",
        ),
    ] {
        assert_eq!(lesson.attempt(code, check), Verdict::Pass, "{code}\n{check}");
    }
    for (code, check) in [
        // What it writes to is its own.
        ("fn double(x) { x.zero_(); x }", "let x = ones(2); expect_close(call(\"double\", [x]), x * 2)"),
        ("fn double(x) { exit(6) } ", "expect_equal(call(\"double\", [4]), 8)"),
        ("fn f(x) { throw \"no\" }", "expect_equal(call(\"f\", [1]), 1)"),
        ("fn f(x) { ones(2) + ones(3) }", "expect_equal(call(\"f\", [1]), 1)"),
        ("let f = |x| exit(6);", "expect_equal(f.call(1), 6)"),
        ("let f = || true;", "expect(f == true, \"a function is no answer\")"),
    ] {
        let verdict = lesson.attempt(code, check);
        assert!(
            !matches!(verdict, Verdict::Pass | Verdict::CheckerFault { .. }),
            "{code}\n{check}\n{verdict:?}"
        );
    }
    for code in ["let f = 3;", "let f = \"x\";", "let f = [1];"] {
        let verdict = lesson.attempt(code, "expect_equal(f.call(1), 3)");
        assert!(verdict.counts_as_attempt() && verdict != Verdict::Pass, "{code}: {verdict:?}");
    }
    let verdict = lesson.attempt("let f = 3;", "let x = ones(2); expect_close(call(\"relu\", [x]), x)");
    assert!(verdict.to_string().contains("the exercise asks for `relu()`"), "{verdict:?}");
    let own = "let net = nn::module(#{}, |self, x| x);";
    let verdict = lesson.attempt(own, "expect_close(net.forward(ones(2)), ones(2))");
    assert!(
        matches!(&verdict, Verdict::CheckerFault { message, .. } if message.contains("by itself")),
        "{verdict:?}"
    );
    // A word of the language is none of the learner's.
    let half = "fn half(x) { x / 2.0 }";
    assert_eq!(lesson.attempt(half, "expect_equal(call(\"half\", [4.0]), 2.0)"), Verdict::Pass);
    let verdict = lesson.attempt(half, "expect_equal(call(half, [4.0]), 2.0)");
    assert!(
        matches!(&verdict, Verdict::CheckerFault { message, .. } if message.contains("not the dtype")),
        "{verdict:?}"
    );
    let verdict = lesson.attempt("let f = float32;", "expect_equal(call(f, [4.0]), 2.0)");
    assert!(verdict.counts_as_attempt(), "{verdict:?}");
    let verdict = lesson.attempt("fn f(x) { throw \"not today\" }", "expect_equal(call(\"f\", [1]), 1)");
    assert!(
        matches!(&verdict, Verdict::LearnerError { message, .. } if message.contains("not today")),
        "{verdict:?}"
    );
}

#[test]
fn a_check_changes_nothing_that_the_learner_has() {
    let mut lesson = Lesson::new();
    let made = "let x = ones([2, 2]); let w = ones(2, #{requires_grad: true}); let l = (w * 2.0).sum();
fn noisy(x) { x + randn(2) + rand(2, #{device: \"cuda\"}).cpu() } fn first() { cuda::set_device(1); global::kept.zero_(); global::kept }
const kept = ones(2); let count = 0; let counted = |x| { count += 1; x }; let norm = nn::BatchNorm1d(2); let normed = |x| norm.forward(x);
let g = Generator(); g.manual_seed(3); let loader = data::DataLoader(data::TensorDataset(x), #{shuffle: true, generator: g});
let net = nn::Linear(2, 1); let opt = optim::SGD([w], #{lr: 0.5}); let a = [1, 2]; let m = #{k: 1}; let y = x.to(\"cuda\");
w.grad = ones(2);";
    let seen = "[x.sum().item(), w.sum().item(), w.grad.sum().item(), a, m, net.training, net.weight.requires_grad, opt.param_groups[0].lr, cuda::current_device(), cuda::memory_allocated(), cuda::max_memory_allocated(), rand(3), rand(2, #{device: \"cuda\"}), y.sum().item(), kept, count, norm.running_mean.clone(), norm.num_batches_tracked.item(), rand(2, #{generator: g}), cudnn::benchmark(), get_float32_matmul_precision(), are_deterministic_algorithms_enabled(), cuda::memory_stats(), zeros([1500000], #{device: \"cuda\"}).shape]";
    let plain = {
        lesson.session.reset();
        lesson.run(&format!("manual_seed(1); {made}"));
        lesson.run(seen)
    };
    assert!(matches!(plain, Outcome::Ok { value: Some(_) }), "{plain:?}");
    for check in [
        "x.fill_(0.0)",
        "x[0] = 5.0",
        "x.data.zero_()",
        "x.view([4]).add_(1.0)",
        "x.add_(1)",
        "y.mul_(0.0)",
        "l.backward()",
        "w.grad = ()",
        "w.grad.zero_()",
        "w.requires_grad_(false)",
        "w.requires_grad = false",
        "w.register_hook(|g| g * 0.0)",
        "net.eval()",
        "net.half()",
        "net.to(\"cuda\")",
        "net.zero_grad()",
        "net.weight.fill_(0.0)",
        "nn::init::zeros_(net.weight)",
        "opt.step()",
        "opt.zero_grad()",
        "a.push(3)",
        "m.k = 2",
        "a[0] = 9",
        "manual_seed(7); rand(100)",
        "rand(10)",
        "rand(10, #{device: \"cuda\"})",
        "cuda::set_device(1)",
        "zeros([10000], #{device: \"cuda\"})",
        "zeros([1500000], #{device: \"cuda\"}); zeros([100], #{device: \"cuda\"}).item()",
        "call(first, [])",
        "let big = zeros([1500000], #{device: \"cuda\"}); call(noisy, [ones(2)])",
        "cuda::empty_cache()",
        "cuda::set_per_process_memory_fraction(0.0001)",
        "cuda::reset_peak_memory_stats()",
        "cuda::reset_accumulated_memory_stats()",
        "let x = 3",
        "w.copy_(zeros(2))",
        "net.load_state_dict(#{weight: zeros([1, 2]), bias: zeros([1])})",
        "opt.param_groups[0].lr = 9.0",
        "call(noisy, [ones(2)])",
        "call(counted, [1])",
        "call(norm, [rand(4, 2)])",
        "call(normed, [rand(4, 2)])",
        "call(\"noisy\", [ones(2)]); manual_seed(9)",
        "use_deterministic_algorithms(true)",
        "set_float32_matmul_precision(\"high\")",
        "cudnn::benchmark(true)",
        "rand(2, #{generator: g})",
        "for batch in loader {}",
    ] {
        lesson.session.reset();
        lesson.run(&format!("manual_seed(1); {made}"));
        let _ = lesson.check(check);
        let _ = lesson.session.probe(lesson.cell, check);
        assert_eq!(lesson.run(seen), plain, "{check}");
    }
}

#[test]
fn an_error_after_a_right_answer_is_no_pass_and_an_expected_one_is() {
    let mut lesson = Lesson::new();
    let verdict = lesson.attempt(&format!("{SOLUTION}\nones(2) + ones(3)"), ASKS);
    assert!(matches!(verdict, Verdict::LearnerError { line: Some(3), .. }), "{verdict:?}");
    assert_eq!(lesson.attempt("ones(2) + ones(3)", "expect_error(\"RuntimeError\")"), Verdict::Pass);
    assert_eq!(
        lesson.attempt("ones(2) + ones(3)", "expect(events.error == \"RuntimeError\")"),
        Verdict::Pass
    );
    // A word in the check's text is no look at the error.
    let verdict = lesson.attempt("ones(2) + ones(3)", "expect(true, \"expect_error\") // expect_error");
    assert!(matches!(verdict, Verdict::LearnerError { .. }), "{verdict:?}");
}

#[test]
fn a_prediction_is_answered_by_what_happened() {
    let mut lesson = Lesson::new();
    lesson.run("fn sum(x) { 7 } fn h2d(e) { 0 } let x = ones([4]).to(\"cuda\"); let events = 3; let n = 5;");
    for (answer, value) in [
        ("events.h2d.bytes", ProbeValue::Number(16.0)),
        ("x.sum().item()", ProbeValue::Number(4.0)),
        ("n", ProbeValue::Number(5.0)),
        ("x.device.type == \"cuda\"", ProbeValue::Bool(true)),
    ] {
        assert_eq!(lesson.session.probe(lesson.cell, answer).unwrap().unwrap(), value, "{answer}");
    }
    assert!(lesson.session.probe(lesson.cell, "missing").unwrap().is_err());
}

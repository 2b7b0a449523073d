//! Whose fault it is that a check stops, and what an expectation says and lets pass.

use tensorlab::session::protocol::Verdict;

use crate::forged::Lesson;

#[test]
fn a_variable_of_the_checks_own_is_never_the_learners() {
    let mut lesson = Lesson::new();
    let check = "let q = [1, 2]; if v == 2 { q[7]; } expect_equal(v, 1);";
    for code in ["let v = 2;", "let q = 0; let v = 2;", "let v = 2; fn q() { 1 }", "let q = []; let v = 2;"] {
        let verdict = lesson.attempt(code, check);
        assert!(matches!(verdict, Verdict::CheckerFault { .. }), "{code}: {verdict:?}");
    }
    // Before the check has one of its own, and behind the block in which it has, it is the learner's.
    for check in ["let q = q[7];", "{ let q = [1]; } q[7];", "let p = q; p[7];", "for p in [q] { p[7]; }"] {
        let verdict = lesson.attempt("let q = [1];", check);
        assert!(verdict.to_string().contains("can't read your answer"), "{check}: {verdict:?}");
    }
}

#[test]
fn what_a_check_does_wrong_whatever_the_answer_is_its_own_fault() {
    let mut lesson = Lesson::new();
    let code = "let v = 3; let f = |q| q + 1; let t = ones([2]);";
    for (check, told) in [
        ("let own = |q| q + v; expect(call(f, [own]) == 3);", "can't hand a function of the check's"),
        ("expect_device(t, \"cuda:9\");", "invalid device ordinal"),
        ("let g = Generator(); g.manual_seed(v);", "changes no generators"),
        (
            "let w = ones([1], #{requires_grad: true}); let s = optim::lr_scheduler::StepLR(optim::SGD([w], 0.1), v); s.step();",
            "changes no generators",
        ),
    ] {
        let verdict = lesson.attempt(code, check);
        assert!(
            matches!(&verdict, Verdict::CheckerFault { message, .. } if message.contains(told)),
            "{check}: {verdict:?}"
        );
    }
}

#[test]
fn a_check_that_ends_before_its_last_line_judges_nothing() {
    let mut lesson = Lesson::new();
    for check in [
        "return;",
        "exit();",
        "if v == 7 { return; }\nexpect_equal(v, 8);",
        "fn ends() { exit(); }\nends();\nexpect_equal(v, 8);",
        "for x in [v] { exit(x); }\nexpect_equal(v, 8);",
    ] {
        let verdict = lesson.attempt("let v = 7;", check);
        assert!(
            matches!(&verdict, Verdict::CheckerFault { message, .. } if message.contains("before it with exit()")),
            "{check}: {verdict:?}"
        );
    }
    let check = "fn twice(x) { if x > 3 { return x * 2; } x }\nexpect_equal(v, 7);\nif v == 8 { return; }\ntwice(v) // the end";
    assert_eq!(lesson.attempt("let v = 7;", check), Verdict::Pass);
}

#[test]
fn an_error_in_what_a_check_calls_has_the_line_that_it_has_in_its_file() {
    let mut lesson = Lesson::new();
    let code = "let v = 7;\nfn f(x) {\n  x[3]\n}\nlet g = |x|\n  x[4];";
    for (check, line) in [("call(f, [[1]]);", 13), ("call(g, [[1]]);", 16)] {
        let verdict = lesson.attempt_at(11, code, check);
        assert!(
            matches!(&verdict, Verdict::LearnerError { line: Some(at), .. } if *at == line),
            "{verdict:?}"
        );
    }
}

#[test]
fn an_error_that_the_cell_ended_with_is_not_told_again_by_its_check() {
    let mut lesson = Lesson::new();
    lesson.run("fn f(x) { no_name }\nf(1)");
    assert_eq!(lesson.told("call(\"f\", [1]);"), "");
    lesson.run("fn f(x) { no_name }");
    assert!(lesson.told("call(\"f\", [1]);").contains("name 'no_name' is not defined"));
    lesson.run("fn f(x) { if x == 1 { other } no_name }\nf(2)");
    assert!(lesson.told("call(\"f\", [1]);").contains("name 'other' is not defined"));
}

#[test]
fn an_error_in_what_a_check_calls_is_of_the_kind_that_the_learners_own_code_catches() {
    let mut lesson = Lesson::new();
    let check =
        "let kind = \"\"; try { call(\"f\", []); } catch (e) { kind = e.kind; } expect_equal(kind, KIND);";
    for (body, kind) in [
        ("empty([1 << 40], #{device: \"cuda:0\"})", "OutOfMemoryError"),
        ("[1][4]", "IndexError"),
        ("zeros([2]).view([3])", "RuntimeError"),
        ("parse_int(\"x\")", "ValueError"),
        ("q + 1", "NameError"),
        ("throw \"by hand\"", "RuntimeError"),
    ] {
        let check = check.replace("KIND", &format!("{kind:?}"));
        let verdict = lesson.attempt(&format!("fn f() {{ {body} }}"), &check);
        assert_eq!(verdict, Verdict::Pass, "{body}");
    }
}

/// A parameter is the learner's where the function is called with what is theirs.
#[test]
fn a_fault_within_the_checks_own_function_is_the_learners_where_their_answer_is_handed_over() {
    let mut lesson = Lesson::new();
    for check in [
        "fn chk(n) { [1][n] }\nchk(3);\nexpect_equal(v, 7);",
        "let chk = |n| [1][n];\nchk.call(3);\nexpect_equal(v, 7);",
        "let chk = |n| { let m = n + 1; [1][m] };\nchk.call(3);\nexpect_equal(v, 7);",
        "[5].map(|n| [1][n]);\nexpect_equal(v, 7);",
        "fn chk(n) { [1][n] }\nif v == 7 { chk(0); }\nchk(3);\nexpect_equal(v, 7);",
        "fn chk(n) { [1][n] }\nif v == 0 { chk(v); }\nchk(3);",
    ] {
        let verdict = lesson.attempt("let v = 7;", check);
        assert!(matches!(verdict, Verdict::CheckerFault { .. }), "{check}: {verdict:?}");
    }
    for check in [
        "fn chk(n) { [1][n] }\nchk(v);",
        "fn chk(n) { [1][n] }\nfn outer(n) { chk(n) }\nouter(v);",
        "let chk = |n| [1][n];\nlet w = v + 0;\nchk.call(w);",
        "let chk = |n| { let m = n + 1; [1][m] };\nchk.call(v);",
        "[v].map(|n| [1][n]);",
        "let all = [v];\nall.map(|n| [1][n]);",
    ] {
        let told = lesson.attempt("let v = 7;", check).to_string();
        assert!(told.contains("can't read your answer"), "{check}: {told}");
    }
}

#[test]
fn a_change_of_what_the_learner_has_is_the_checks_fault() {
    let mut lesson = Lesson::new();
    let code = "let w = ones([2], #{requires_grad: true}); let k = ones([2]); let l = (w * 2.0).sum();
let opt = optim::SGD([w], 0.1); let sched = optim::lr_scheduler::StepLR(opt, #{step_size: 1});";
    let verdict = lesson.attempt(code, "sched.step();");
    assert!(
        matches!(&verdict, Verdict::CheckerFault { message, .. } if message.contains("changes no generators")),
        "{verdict:?}"
    );
    for check in ["opt.step();", "k.add_(1.0);", "k[0] = 5.0;", "l.backward();", "w.grad = k;"] {
        let verdict = lesson.attempt(code, check);
        assert!(
            matches!(&verdict, Verdict::CheckerFault { message, .. } if message.contains("can't change what")),
            "{check}: {verdict:?}"
        );
    }
}

#[test]
fn the_learners_dtype_widens_no_tolerance() {
    let mut lesson = Lesson::new();
    let check = "expect_close(m, tensor([2.0, 5.0]));";
    for (code, told) in [
        (
            "let m = tensor([2.03, 5.05]).to(bfloat16);",
            "expected values of torch.float32, found torch.bfloat16",
        ),
        (
            "let m = tensor([2.0, 5.0]).to(float16) + 0.002;",
            "expected values of torch.float32, found torch.float16",
        ),
        ("let m = tensor([2.0, 5.0]).to(float64);", "expected values of torch.float32, found torch.float64"),
        ("let m = tensor([2, 5]);", "expected values of torch.float32, found torch.int64"),
    ] {
        assert_eq!(lesson.attempt(code, check).reason().as_deref(), Some(told), "{code}");
    }
    let wide = "let m = tensor([2.03, 5.05]).to(bfloat16);";
    let free = "expect_close(m, tensor([2.0, 5.0]), #{check_dtype: false});";
    assert!(lesson.attempt(wide, free).to_string().contains("largest difference"));
    let free = "expect_close(m, tensor([2.0, 5.0]), #{check_dtype: false, rtol: 0.1});";
    assert_eq!(lesson.attempt(wide, free), Verdict::Pass);
    assert_eq!(lesson.attempt(wide, "expect_close(m, tensor([2.0, 5.0]).to(bfloat16));"), Verdict::Pass);
    // A number has no dtype: that of the answer is no excuse either.
    let verdict = lesson.attempt("let m = tensor(2.0).to(bfloat16) + 0.02;", "expect_close(m, 2.0);");
    assert!(verdict.to_string().contains("largest difference"), "{verdict}");
    assert_eq!(lesson.attempt("let m = tensor(0.1);", "expect_close(m, 0.1);"), Verdict::Pass);
    assert_eq!(lesson.attempt("let m = 2.0;", "expect_close(m, tensor(2.0));"), Verdict::Pass);
}

#[test]
fn what_lies_nowhere_is_on_no_device() {
    let mut lesson = Lesson::new();
    for net in ["nn::Identity()", "nn::ReLU()", "nn::Sequential()"] {
        let verdict = lesson.attempt(&format!("let net = {net};"), "expect_device(net, \"cuda:0\");");
        assert!(verdict.reason().is_some_and(|reason| reason.contains("it has no tensors")), "{verdict:?}");
    }
}

#[test]
fn a_character_is_told_from_a_text_and_a_number() {
    let mut lesson = Lesson::new();
    for (code, check, told) in [
        ("let n = '5';", "expect_equal(n, 5);", "expected 5, found '5'"),
        ("let n = ['5'];", "expect_equal(n, [5]);", "expected [5], found ['5']"),
        ("let n = #{a: '5'};", "expect_equal(n, #{a: 5});", "expected #{a: 5}, found #{a: '5'}"),
        ("let n = \"123\";", "expect_equal(n[1], 2);", "expected 2, found '2'"),
        ("let n = '5';", "expect_equal(n, \"5\");", "expected \"5\", found '5'"),
    ] {
        assert_eq!(lesson.attempt(code, check).reason().as_deref(), Some(told), "{check}");
    }
}

#[test]
fn values_that_differ_are_told_in_one_line_with_their_shapes() {
    let mut lesson = Lesson::new();
    for (code, check, told) in [
        ("let x = ones([2, 1]);", "expect_equal(x, ones([3]));", "expected shape [3], found shape [2, 1]"),
        (
            "let x = ones([2, 1]);",
            "expect_close(x, ones([3, 4]));",
            "expected shape [3, 4], found shape [2, 1]",
        ),
        (
            "let x = ones([2]);",
            "expect_equal(x, zeros([2]));",
            "expected tensor([0., 0.]), found tensor([1., 1.])",
        ),
        (
            "let x = ones([3, 4]); x[1][2] = 5.0; x[2][0] = 7.0;",
            "expect_equal(x, ones([3, 4]));",
            "2 of 12 values differ, the first at [1, 2]: expected 1, found 5",
        ),
        ("let x = ones([3, 4]);", "expect_equal(x, 2);", "expected 2, found a tensor of shape [3, 4]"),
        (
            "let x = ones([3, 4]);",
            "expect_close(x, 2.0);",
            "a tensor of shape [3, 4] cannot be compared with 2.0",
        ),
        ("let x = [1] + ones([60, 2]).tolist();", "expect_equal(x, 2);", "expected 2, found an array of 61"),
    ] {
        assert_eq!(lesson.attempt(code, check).reason().as_deref(), Some(told), "{code} {check}");
    }
}

#[test]
fn arrays_are_close_item_by_item() {
    let mut lesson = Lesson::new();
    let code = "let a = [1.0, 2.0]; let t = tensor([1.0, 2.0]);";
    assert_eq!(lesson.attempt(code, "expect_close(a, [1.0, 2.0]); expect_close([t], [t]);"), Verdict::Pass);
    for (check, told) in [
        ("expect_close(a, [1.0, 2.5]);", "the largest difference is 0.5"),
        ("expect_close(a, [1.0]);", "cannot be compared"),
        ("expect_close(t, [1.0, 2.0]);", "tensor([1., 2.]) cannot be compared with [1.0, 2.0]"),
    ] {
        let reason = lesson.attempt(code, check).reason().unwrap_or_default();
        assert!(reason.contains(told), "{check}: {reason}");
    }
    for check in ["expect_close(a, \"1.0\");", "expect_close(a, [()]);", "expect_close(a, #{a: 1});"] {
        let verdict = lesson.attempt(code, check);
        assert!(matches!(verdict, Verdict::CheckerFault { .. }), "{check}: {verdict:?}");
    }
}

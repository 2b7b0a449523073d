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
fn a_change_of_what_the_learner_has_is_the_checks_fault() {
    let mut lesson = Lesson::new();
    let code = "let w = ones([2], #{requires_grad: true}); let k = ones([2]); let l = (w * 2.0).sum();
let opt = optim::SGD([w], 0.1); let sched = optim::lr_scheduler::StepLR(opt, #{step_size: 1});";
    for check in
        ["sched.step();", "opt.step();", "k.add_(1.0);", "k[0] = 5.0;", "l.backward();", "w.grad = k;"]
    {
        let verdict = lesson.attempt(code, check);
        assert!(
            matches!(&verdict, Verdict::CheckerFault { message, .. } if message.contains("can't change what")),
            "{check}: {verdict:?}"
        );
    }
}

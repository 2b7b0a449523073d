//! Values within values, however many: an error or a result, never the end of the process.
//!
//! Each script runs in a process of its own, for what fails here ends it.

use std::process::{Command, Output};

use crate::feed;

fn run(code: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tensorlab"));
    feed::run(command.args(["run", "--devices", "cpu", "-"]).env_remove("TENSORLAB_DEVICES"), code)
}

#[test]
fn what_nests_without_end_is_an_error_that_says_so() {
    for code in [
        "let f = |n| n; for i in 0..100000 { let g = f; f = |n| g.call(n); }",
        "let f = [1, 2, 3]; loop { f = f.reduce(|all, x| { let g = all; || g }, f); f = [f, f, f]; }",
        "fn p(x) { x } let f = |n| n; for i in 0..100000 { f = Fn(\"p\").curry(f); }",
        "let a = []; for i in 0..100000 { a = [a]; }",
        "let a = #{}; for i in 0..100000 { a = #{a: a}; }",
        "let a = [0]; for i in 0..100000 { a[0] = a; }",
        "let a = #{}; for i in 0..100000 { a.b = a; }",
        "let a = #{}; for i in 0..100000 { a[\"b\"] = a; }",
        "let a = []; for i in 0..100000 { a.push(a); }",
        "let a = []; for i in 0..100000 { let b = []; b.insert(0, a); a = b; }",
        "fn f(a) { this.push(a) } let a = []; for i in 0..100000 { let b = []; b.f(a); a = b; }",
        "let e = 0; loop { let k = e; try { throw #{a: k} } catch (x) { if type_of(x) != \"map\" { throw x; } e = x; } }",
    ] {
        let output = run(code);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{code}\n{told}");
        assert!(told.starts_with("RecursionError") || told.starts_with("LimitError"), "{code}\n{told}");
        assert!(told.contains("hint:"), "{told}");
    }
}

#[test]
fn long_chains_of_what_holds_others_are_dropped() {
    for code in [
        "let b = ones(1); for i in 0..100000 { let c = ones(1); c.grad = b; b = c; }",
        "let x = ones(1); for i in 0..30000 { let y = ones(1).requires_grad_(true); let z = x; y.register_hook(|g| z); x = y; }",
        "let d = data::TensorDataset(ones(4)); for i in 0..100000 { d = data::ConcatDataset([d]); }",
        "let d = data::Dataset(3, |i| i); for i in 0..30000 { let k = d; d = data::Dataset(3, |i| k); }",
        "let o = optim::SGD([ones(1).requires_grad_(true)], #{lr: 0.1}); let s = 0; \
         for i in 0..20000 { let t = s; s = optim::lr_scheduler::LambdaLR(o, |e| { t; 1.0 }); }",
        "let p = [1]; for i in 0..30000 { p = progress([p], \"a\"); }",
        "let m = nn::Linear(1, 1); for i in 0..30000 { let k = m; m = nn::module(#{}, |self, x| k.forward(x)); }",
        "let m = 0; for i in 0..30000 { let k = m; m = nn::module(#{f: || k}, |self, x| x); }",
        "let x = ones(1).requires_grad_(true); let k = 0; \
         for i in 0..20000 { let j = k; x = checkpoint(|v| { j; v * 1.0 }, x); k = x; }",
    ] {
        let output = run(&format!("{code} print(\"fine\")"));
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{code}\n{told}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "fine\n", "{code}");
    }
}

#[test]
fn what_is_nested_as_programs_nest_is_no_error() {
    for (code, want) in [
        (
            "let a = 1; for i in 0..200 { a = [a]; } let n = 0; while a.type_of() == \"array\" { a = a[0]; n += 1; } print(n)",
            "200\n",
        ),
        ("let f = |n| n; for i in 0..40 { let g = f; f = |n| g.call(n) + 1; } print(f.call(2))", "42\n"),
        ("let rows = []; for i in 0..20000 { rows.push([i, i + 1]); } print(rows.len())", "20000\n"),
        ("let f = 0; f = || f; let g = [f, f]; print(g.len())", "2\n"),
        ("print(rand([300, 500]).tolist().len())", "300\n"),
    ] {
        let output = run(code);
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            want,
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// Every operator and every link takes one step, not twice as many as the one before it: what is run, and what is looked
/// at for a hint.
#[test]
fn long_chains_are_gone_through_once() {
    let chain = |link: &str| std::iter::repeat_n("x", 60).collect::<Vec<_>>().join(link);
    for sign in ["/", "%", "<", "==", "+", "-", "*", "**"] {
        let code = format!("let x = 1; let f = || {}; 5", chain(&format!(" {sign} ")));
        assert_eq!(crate::parallel::on("cpu", &code), "5", "{sign}");
        let fault = crate::parallel::fault(
            "cpu",
            &format!("let x = ones(2);\nlet y = {}; nowhere", chain(&format!(" {sign} "))),
        );
        assert!(fault.message.contains("nowhere"), "{sign}: {}", fault.report);
    }
    for link in [".foo()", "[0]", ".foo", ".bar(x)[1]"] {
        let fault =
            crate::parallel::fault("cpu", &format!("let x = ones(2);\nlet y = x{} 5;", link.repeat(60)));
        assert_eq!(fault.kind, "SyntaxError", "{link}");
    }
}

//! How long a value lives that nobody holds: to the end of the statement that made it.

use std::sync::Arc;

use rhai::Dynamic;
use tensorlab::device::{Machine, Use};
use tensorlab::script::engine::Stopped;
use tensorlab::script::{Interpreter, Limits, Origin, Silent};
use tensorlab::session::engine::{Evaluator, Host, Inspected};
use tensorlab::session::evaluator::ScriptEvaluator;
use tensorlab::session::protocol::{Display, Outcome, Stream};

/// Bytes of a tensor of 1024 float32, which the allocator hands out as they are.
const ONE: i64 = 4096;

fn machine() -> Arc<Machine> {
    Machine::open(&"sim:t4".parse().unwrap(), Use::Headless).unwrap().machine
}

fn lab() -> Interpreter {
    Interpreter::new(machine(), Arc::new(Silent), &Limits::default())
}

fn run(lab: &mut Interpreter, code: &str) -> Dynamic {
    match lab.evaluate(1, &Origin { name: "test", code, first_line: 1 }) {
        Ok(value) => value,
        Err(Stopped::Fault(fault)) => panic!("{code}\n{}", fault.report),
        Err(Stopped::Cancelled(error)) => panic!("{error}"),
    }
}

/// The numbers that a script gives, in tensors of [`ONE`] byte count.
fn tensors(code: &str) -> Vec<i64> {
    let value = run(&mut lab(), code);
    value.into_array().unwrap().into_iter().map(|n| n.as_int().unwrap() / ONE).collect()
}

const MAKE: &str = "const M = 0; let x = rand([1024]).cuda(); let seen = []; ";

#[test]
fn a_statements_value_is_free_before_the_next_begins() {
    for (what, code, want) in [
        ("an expression", "x * 2.0; seen.push(cuda::memory_allocated());", 1),
        ("a call", "relu(x); seen.push(cuda::memory_allocated());", 1),
        ("a method", "x.exp(); seen.push(cuda::memory_allocated());", 1),
        ("an array", "[x * 2.0, x * 3.0]; seen.push(cuda::memory_allocated());", 1),
        ("a block", "{ x * 2.0 } seen.push(cuda::memory_allocated());", 1),
        ("if", "if true { x * 2.0 } else { x } seen.push(cuda::memory_allocated());", 1),
        ("switch", "switch 1 { 1 => x * 2.0, _ => x } seen.push(cuda::memory_allocated());", 1),
        ("loop", "loop { break x * 2.0 } seen.push(cuda::memory_allocated());", 1),
        ("in a loop", "for i in 0..3 { x * 2.0; if i == 2 { seen.push(cuda::memory_allocated()); } }", 1),
        (
            "after each turn",
            "for i in 0..3 { seen.push(cuda::memory_allocated()); x * 2.0 } seen.remove(0);",
            1,
        ),
        ("try", "try { x * 2.0 } catch { } seen.push(cuda::memory_allocated());", 1),
        ("in try", "try { x * 2.0; seen.push(cuda::memory_allocated()); } catch { }", 1),
        ("with", "with no_grad() { x * 2.0; seen.push(cuda::memory_allocated()); }", 1),
        ("pop", "let list = [x * 2.0]; list.pop(); seen.push(cuda::memory_allocated());", 1),
        ("remove", "let map = #{t: x * 2.0}; map.remove(\"t\"); seen.push(cuda::memory_allocated());", 1),
        ("a closure", "let f = || { x * 2.0; cuda::memory_allocated() }; seen.push(f.call());", 1),
        ("a value in its place", "seen.push({ x * 2.0; cuda::memory_allocated() });", 1),
        ("what is bound stays", "let y = x * 2.0; y; seen.push(cuda::memory_allocated());", 2),
    ] {
        let code = format!("{MAKE}{code} seen");
        let seen = tensors(&code);
        assert!(!seen.is_empty() && seen.iter().all(|n| *n == want), "{what}: {seen:?}");
    }
}

#[test]
fn functions_and_methods_let_go_as_well() {
    for code in [
        "fn f(x) { x * 2.0; cuda::memory_allocated() } [f(rand([1024]).cuda())]",
        "fn f() { this * 2.0; cuda::memory_allocated() } let x = rand([1024]).cuda(); [x.f()]",
        "fn Tensor.f() { this * 2.0; cuda::memory_allocated() } let x = rand([1024]).cuda(); [x.f()]",
        "fn Tensor.f() { this * 2.0; cuda::memory_allocated() } fn int.f() { this } let x = rand([1024]).cuda(); [x.f()]",
    ] {
        assert_eq!(tensors(code), [1], "{code}");
    }
}

#[test]
fn two_results_that_nobody_holds_are_never_there_at_once() {
    let code = "let x = rand([1024]).cuda(); x * 2.0; x * 3.0; [cuda::max_memory_allocated()]";
    assert_eq!(tensors(code), [2]);
}

#[test]
fn a_name_that_is_bound_anew_lets_the_old_value_go() {
    for (code, want) in [
        ("let x = rand([1024]).cuda(); let x = x * 2.0; [cuda::memory_allocated()]", 1),
        ("fn f(x) { let x = x * 2.0; cuda::memory_allocated() } [f(rand([1024]).cuda())]", 1),
        (
            "let seen = []; for x in [1] { let x = rand([1024]).cuda(); let x = x * 2.0; \
             seen.push(cuda::memory_allocated()); } seen",
            1,
        ),
        // Of an outer block it comes back.
        ("let x = rand([1024]).cuda(); { let x = 1; } x.sum(); [cuda::memory_allocated()]", 1),
        (
            "let x = rand([1024]).cuda(); let f = || x; let x = 1; let n = cuda::memory_allocated(); f.call(); [n]",
            1,
        ),
    ] {
        assert_eq!(tensors(code), [want], "{code}");
    }
}

#[test]
fn a_cell_that_binds_a_name_again_has_the_old_value_no_longer() {
    let mut lab = lab();
    let _ = run(&mut lab, "let x = rand([1024]).cuda();");
    let seen = run(&mut lab, "let x = rand([1024]).cuda(); cuda::memory_allocated()");
    assert_eq!(seen.as_int().unwrap(), ONE);
    let seen = run(&mut lab, "let f = || x; let x = 1; [f.call().numel(), x, cuda::memory_allocated()]");
    assert_eq!(seen.to_string(), format!("[1024, 1, {ONE}]"), "a closure keeps what it captured");
}

#[test]
fn after_an_error_what_was_bound_stays_and_the_rest_goes() {
    let mut lab = lab();
    let code = "let x = rand([1024]).cuda(); let y = x * 2.0;\n\
                for i in 0..2 { let z = x * 3.0; [z, x * 4.0, x @ ones([2, 3])] }";
    let Err(Stopped::Fault(_)) = lab.evaluate(1, &Origin { name: "test", code, first_line: 1 }) else {
        panic!("the product fails")
    };
    assert_eq!(run(&mut lab, "cuda::memory_allocated()").as_int().unwrap(), 2 * ONE);
    assert_eq!(run(&mut lab, "y.numel()").as_int().unwrap(), 1024);
    let caught = "let n = 0; try { x * 3.0; throw 1 } catch { n = cuda::memory_allocated(); } n";
    assert_eq!(run(&mut lab, caught).as_int().unwrap(), 2 * ONE);
}

struct Deaf;

impl Host for Deaf {
    fn print(&self, _: Stream, _: &str) {}
    fn display(&self, _: Display, _: Option<&str>) {}
    fn progress(&self, _: &str, _: u64, _: Option<u64>, _: &str) {}
}

struct Session(ScriptEvaluator);

impl Session {
    fn cell(&mut self, code: &str) -> Outcome {
        let host: Arc<dyn Host> = Arc::new(Deaf);
        self.0.evaluate(1, 1, code, &host)
    }

    /// The variables, and the tensors that are on the device.
    fn state(&self) -> (Vec<String>, u64) {
        let Inspected { variables, devices, .. } = self.0.inspect();
        let allocated: u64 = devices.iter().map(|d| d.allocated).sum();
        (variables.into_iter().map(|v| v.name).collect(), allocated / ONE as u64)
    }
}

fn named(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn the_last_value_is_listed_and_lives_until_the_next() {
    let mut session = Session(ScriptEvaluator::new(machine(), &Limits::default()));
    session.0.keep_last();
    assert_eq!(session.state(), (named(&[]), 0), "no value yet");
    session.cell("let x = rand([1024]).cuda();");
    assert_eq!(session.state(), (named(&["x"]), 1));
    session.cell("x * 2.0");
    let (mut names, tensors) = session.state();
    names.sort();
    assert_eq!((names, tensors), (named(&["_", "x"]), 2));
    session.cell("let y = 1;");
    assert_eq!(session.state().1, 2, "a cell without a value leaves it");
    session.cell("fails");
    assert_eq!(session.state().1, 2, "a failed one as well");
    assert_eq!(session.cell("_.numel()"), Outcome::Ok { value: Some("1024".into()) });
    assert_eq!(session.state().1, 1, "the number takes its place");
}

#[test]
fn where_no_last_value_is_kept_there_is_none() {
    let mut session = Session(ScriptEvaluator::new(machine(), &Limits::default()));
    session.cell("rand([1024]).cuda()");
    assert_eq!(session.state(), (named(&[]), 0));
    assert!(matches!(session.cell("_"), Outcome::Error { fault } if fault.kind == "NameError"));
}

//! Measured and modelled time come to nothing together: whatever way they meet, it is said so.

use std::sync::{Arc, Mutex};

use tensorlab::base::event::Clock;
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

    fn display(&self, shown: Display, _: Option<&str>) {
        if let Display::Text { text } = shown {
            self.0.lock().unwrap().push_str(&format!("{text}\n"));
        }
    }
    fn progress(&self, _: &str, _: u64, _: Option<u64>, _: &str) {}
}

const BOTH: &str = "sim:t4@measured";

const MIXES: &str = "this mixes measured with modelled time";

/// What a learner has timed: on the CPU, measured, and on a GPU, modelled.
const CELL: &str = "
    let cpu = time(|| ones(4) + 1.0);
    let gpu = time(|| ones(4, #{device: \"cuda\"}) + 1.0);
    let start = timestamp();
    let slow = cpu.median_ms;
    let ratio = slow / gpu.median_ms;
    let count = 3 * cpu.runs;
    let r = telemetry::record(|| { let x = ones(4).cuda(); x.cpu() });
    let at = [cuda::Event(#{enable_timing: true}), cuda::Event(#{enable_timing: true})];
    at[0].record(); at[1].record(); at[1].synchronize();
    let both = #{cpu: cpu.median_ms, gpu: gpu.median_ms};
    fn quotient(a, b) { a.median_ms / b.median_ms }
    fn is_slower(a, b) { a.median_ms > b.median_ms }
    fn one(a, b) { 1 }
    let x = ones(8).cuda(); x.cpu();";

fn session(devices: &str, cell: &str) -> ScriptEvaluator {
    let machine = Machine::open(&devices.parse().unwrap(), Use::Headless).unwrap().machine;
    let mut session = ScriptEvaluator::new(machine, &Limits::default());
    assert!(matches!(shown(&mut session, 1, cell), Outcome::Ok { .. }));
    session
}

fn shown(session: &mut ScriptEvaluator, cell: u32, code: &str) -> Outcome {
    session.evaluate(cell, 1, code, &(Arc::new(Quiet::default()) as Arc<dyn Host>))
}

fn check(session: &mut ScriptEvaluator, code: &str) -> Verdict {
    session.check(1, 1, code, &(Arc::new(Quiet::default()) as Arc<dyn Host>)).unwrap()
}

/// Ways in which times of both clocks become one number or truth.
const MIXTURES: [&str; 38] = [
    "max([cpu.median_ms, gpu.median_ms])",
    "min([1.0, cpu.median_ms, gpu.median_ms])",
    "sum([cpu.median_ms, gpu.median_ms])",
    "round(ratio, 2)",
    "tensor([cpu.median_ms, gpu.median_ms]).tolist()[0]",
    "tensor([cpu.median_ms, gpu.median_ms]).argmax().item()",
    "{ let s = 0.0; for t in tensor([cpu.median_ms, gpu.median_ms]) { s = t.item(); } s }",
    "quotient(cpu, gpu)",
    "#{r: cpu.median_ms / gpu.median_ms}.r",
    "{ let s = 0.0; for t in [cpu.median_ms, gpu.median_ms] { s += t; } s }",
    "[cpu.median_ms, gpu.median_ms].reduce(|s, t| s + t, 0.0)",
    "max(cpu.median_ms, gpu.median_ms)",
    "min(gpu.median_ms, 1 + cpu.median_ms)",
    "(|a, b| a - b).call(cpu.max_ms, gpu.max_ms)",
    "r.waited_ms + slow",
    "r.h2d.ms * cpu.min_ms",
    "r.waits[0].ms - cpu.min_ms",
    "r.busy_ms[\"cuda:0\"] / slow",
    "at[0].elapsed_time(at[1]) + start.elapsed",
    "(timestamp() - start) + gpu.median_ms",
    "-ratio",
    "ratio.abs().sqrt().floor().to_int()",
    "to_float(to_int(ratio))",
    "ratio ** 2",
    "2.0 ** (cpu.median_ms - gpu.median_ms)",
    "(ratio + 1.0) % 2",
    "3 / (ratio + 1)",
    "both.cpu / both.gpu",
    "{ let m = both; m.cpu -= m.gpu; m.cpu }",
    "{ let a = [slow]; a[0] /= gpu.median_ms; a[0] }",
    "cpu.median_ms > gpu.median_ms",
    "!(cpu.median_ms == gpu.median_ms)",
    "is_slower(cpu, gpu)",
    "{ let t = slow; let f = || t / gpu.median_ms; f.call() }",
    "if true { ratio } else { 0.0 }",
    "tensor([cpu.median_ms, gpu.median_ms]).mean().item()",
    "cpu.median_ms.max(gpu.median_ms)",
    "(cpu.median_ms > gpu.median_ms) & true",
];

#[test]
fn a_mixture_is_named_where_it_is_shown() {
    let mut session = session(BOTH, CELL);
    for code in MIXTURES.into_iter().chain(["[1, ratio]", "both.values().map(|t| t + slow)", "ratio"]) {
        let Outcome::Ok { value: Some(text) } = shown(&mut session, 2, code) else { panic!("{code}") };
        assert!(text.ends_with("(mixes measured with modelled time)"), "{code}: {text}");
    }
    let variables = session.inspect().variables;
    let summary = |name: &str| &variables.iter().find(|variable| variable.name == name).unwrap().summary;
    assert!(summary("ratio").ends_with("(mixes measured with modelled time)"), "{}", summary("ratio"));
    assert!(!summary("slow").contains("mixes"));
}

#[test]
fn a_printed_number_says_that_it_is_a_mixture() {
    let mut session = session(BOTH, CELL);
    let host = Arc::new(Quiet::default());
    let code = "ratio = ratio * 0.0 + 2.5; print(ratio); print(1.0 / 4.0); print(3); print(`${slow * 0.0}`); \
        print([ratio, 1]); print(#{r: ratio}); print(\"r\", ratio); print(`r ${ratio}`); print([slow * 0.0]);";
    assert!(matches!(
        session.evaluate(2, 1, code, &(Arc::clone(&host) as Arc<dyn Host>)),
        Outcome::Ok { .. }
    ));
    let note = "(mixes measured with modelled time)";
    let want = format!(
        "2.5 {note}\n0.25\n3\n0.0\n[2.5, 1] {note}\n#{{\"r\": 2.5}} {note}\nr 2.5 {note}\nr 2.5 {note}\n[0.0]\n"
    );
    assert_eq!(*host.0.lock().unwrap(), want);
}

#[test]
fn what_is_chosen_or_displayed_by_a_mixture_says_so() {
    let mut session = session(BOTH, CELL);
    let host = Arc::new(Quiet::default());
    let code =
        "display(ratio * 0.0);\nlet faster = if cpu.median_ms < gpu.median_ms { \"cpu\" } else { \"gpu\" };
        for i in 0..3 { if slow > 0.0 { } if slow > gpu.median_ms { } }";
    assert!(matches!(
        session.evaluate(2, 1, code, &(Arc::clone(&host) as Arc<dyn Host>)),
        Outcome::Ok { .. }
    ));
    let said = host.0.lock().unwrap().clone();
    assert!(said.starts_with("0.0 (mixes measured with modelled time)"), "{said}");
    assert_eq!(said.matches("compares measured with modelled time").count(), 2, "{said}");
}

/// What the learner's code makes of times and hands over, and what the check does itself.
#[test]
fn a_mixture_is_refused_in_checks_and_answers() {
    for code in MIXTURES {
        let mut session = session(BOTH, &format!("{CELL} let made = {code};"));
        let Err(fault) = session.probe(1, "made").unwrap() else { panic!("{code}") };
        assert_eq!(fault.message, format!("{MIXES}: `made` was made of both"), "{code}");
        for check in ["expect(made != 3, \"no\")", "expect_equal(made, 3)", "expect_close(made, 3)"] {
            let verdict = self::check(&mut session, check);
            assert!(
                matches!(&verdict, Verdict::CheckerFault { message, .. } if message.contains("`made` was")
                    || message.contains(check)),
                "{code}: {verdict:?}"
            );
        }
    }
    let mut session = session(BOTH, CELL);
    for code in MIXTURES {
        let code = code.replace("quotient(cpu, gpu)", "call(quotient, [cpu, gpu])");
        let code = code.replace("is_slower(cpu, gpu)", "call(\"is_slower\", [cpu, gpu])");
        let Err(fault) = session.probe(1, &code).unwrap() else { panic!("{code}") };
        assert!(fault.message.starts_with(&format!("{MIXES}: ")), "{code}: {}", fault.message);
        let verdict =
            check(&mut session, &format!("expect(1 == 1, \"\");\nlet made = {code};\nexpect(made == 1);"));
        let Verdict::CheckerFault { message, line } = &verdict else { panic!("{code}: {verdict:?}") };
        assert!(message.starts_with(MIXES) && matches!(line, Some(2 | 3)), "{code}: {verdict:?}");
    }
}

#[test]
fn the_error_has_the_names_that_are_written() {
    let mut session = session(BOTH, CELL);
    let mut told = |code: &str| session.probe(1, code).unwrap().unwrap_err();
    let fault = told("cpu.median_ms / gpu.median_ms");
    assert_eq!(fault.message, format!("{MIXES}: `cpu.median_ms` is measured, `gpu.median_ms` is modelled"));
    assert!(fault.hint.unwrap().contains("without `--host measured`"));
    assert_eq!(
        told("events.waited_ms + slow").message,
        format!("{MIXES}: `slow` is measured, `events.waited_ms` is modelled")
    );
    assert_eq!(told("ratio * 2.0").message, format!("{MIXES}: `ratio` was made of both"));
    assert_eq!(
        told("call(quotient, [cpu, gpu])").message,
        format!("{MIXES}: `call(quotient, [cpu, gpu])` was made of both")
    );
    let code = "let factor = 2.0;\nexpect(slow > factor * r.h2d.ms, \"slower\")";
    let message = format!("{MIXES}: `slow` is measured, `r.h2d.ms` is modelled");
    assert_eq!(check(&mut session, code), Verdict::CheckerFault { message, line: Some(2) });
}

#[test]
fn what_is_of_one_clock_or_none_passes() {
    let mut session = session(BOTH, CELL);
    for (code, clock) in [
        ("cpu.median_ms", Some(Clock::Measured)),
        ("slow * 2.0 + start.elapsed", Some(Clock::Measured)),
        ("gpu.median_ms + gpu.iqr_ms", Some(Clock::Modelled)),
        ("events.waited_ms + events.busy_ms(\"cuda:0\") - events.time", Some(Clock::Modelled)),
        ("call(quotient, [gpu, gpu])", Some(Clock::Modelled)),
        ("call(quotient, [cpu, cpu])", Some(Clock::Measured)),
        ("both.gpu", Some(Clock::Modelled)),
        ("[cpu.median_ms, gpu.median_ms][0]", Some(Clock::Measured)),
        ("cpu.median_ms > 0.0 && gpu.median_ms > 0.0", None),
        ("both.len()", None),
        ("count", None),
        ("cpu.runs + gpu.runs", None),
        ("r.h2d.bytes", None),
        ("call(one, [cpu, gpu])", None),
        ("call(one, [cpu.median_ms, gpu.median_ms]) + count", None),
        ("1.0", None),
    ] {
        let value =
            session.probe(1, code).unwrap().unwrap_or_else(|fault| panic!("{code}: {}", fault.message));
        assert!(!matches!(value, ProbeValue::Text(_)), "{code}");
        assert_eq!(session.clock_of(code), clock, "{code}");
        let verdict = check(&mut session, &format!("let v = {code}; expect(v == v); expect_equal(v, v);"));
        assert_eq!(verdict, Verdict::Pass, "{code}");
    }
    for code in ["both.len()", "[cpu.median_ms, gpu.median_ms]", "slow", "count + 1", "cpu.clock", "both"] {
        let Outcome::Ok { value: Some(text) } = shown(&mut session, 2, code) else { panic!("{code}") };
        assert!(!text.contains("mixes"), "{code}: {text}");
    }
    let verdict = check(&mut session, "expect_equal([slow, gpu.median_ms], [slow, gpu.median_ms])");
    assert_eq!(verdict, Verdict::Pass);
    let _ = shown(&mut session, 1, "ratio = 7.0; slow = gpu.median_ms;");
    assert_eq!(session.probe(1, "ratio > 2.0").unwrap().unwrap(), ProbeValue::Bool(true));
    let _ = session.probe(1, "slow").unwrap().unwrap();
    assert_eq!(session.clock_of("slow"), Some(Clock::Modelled));
}

/// Where all is modelled, or all measured, values are as Rhai has them.
#[test]
fn on_a_machine_of_one_clock_nothing_is_marked() {
    for (devices, clock) in [("sim:t4", Clock::Modelled), ("sim:t4@workstation", Clock::Modelled)] {
        let mut session = session(devices, CELL);
        for code in ["cpu.median_ms / gpu.median_ms", "ratio", "max(slow, r.h2d.ms)"] {
            let _ = session.probe(1, code).unwrap().unwrap();
            assert_eq!(session.clock_of(code), Some(clock), "{code}");
        }
        let Outcome::Ok { value } = shown(&mut session, 2, "[slow.tag, ratio.tag, r.waited_ms.tag]") else {
            panic!()
        };
        assert_eq!(value.as_deref(), Some("[0, 0, 0]"));
    }
}

/// What carries the clocks computes as Rhai does.
#[test]
fn numbers_compute_as_they_do_elsewhere() {
    let numbers =
        ["0", "1", "-7", "3", "0.0", "2.5", "-0.1", "0.30000000000000004", "0.3", "1.0 / 0.0", "0.0 / 0.0"];
    let operators = ["+", "-", "*", "/", "%", "**", "<", "<=", ">", ">=", "==", "!="];
    let mut cells = Vec::new();
    for a in numbers {
        for b in numbers {
            cells.extend(operators.map(|op| format!("let a = {a}; let b = {b}; a {op} b")));
            cells.extend(operators.map(|op| format!("({a}) {op} ({b})")));
            cells.extend(["+=", "-=", "*=", "/=", "**="].map(|op| format!("let a = {a}; a {op} {b}; a")));
            cells.extend(["max", "min"].map(|f| format!("{f}({a}, {b})")));
        }
        cells.extend(["-", "+"].map(|op| format!("let a = {a}; {op}a")));
        let functions =
            ["abs", "sign", "floor", "sqrt", "to_int", "to_float", "round", "exp", "ln", "is_zero"];
        cells.extend(functions.map(|f| format!("let a = {a}; {f}(a)")));
        cells.push(format!("const A = {a}; [A + 1, A * A, -A, A.abs()]"));
    }
    let [mut one, mut both] = ["sim:t4", BOTH].map(|devices| session(devices, "1"));
    let text = |session: &mut ScriptEvaluator, code: &str| match shown(session, 2, code) {
        Outcome::Error { fault } => fault.report,
        other => format!("{other:?}"),
    };
    for code in cells {
        assert_eq!(text(&mut one, &code), text(&mut both, &code), "{code}");
    }
}

/// So does all else.
#[test]
fn examples_give_what_they_do_elsewhere() {
    let [one, both] = ["sim:t4", BOTH]
        .map(|devices| Machine::open(&devices.parse().unwrap(), Use::Headless).unwrap().machine);
    let run = |machine: &Arc<Machine>, code: &str| {
        let mut session = ScriptEvaluator::new(Arc::clone(machine), &Limits::default());
        match shown(&mut session, 1, code) {
            Outcome::Error { fault } => fault.report,
            other => format!("{other:?}"),
        }
    };
    let mut others = Vec::new();
    for def in tensorlab::script::help::rows().filter(|def| !matches!(def.name, "sleep" | "timeit")) {
        let (code, want) = def.example;
        let (first, second) = (run(&one, code), run(&both, code));
        // What has a time in it is another in each run.
        if first.contains(want) && first != second && run(&one, code) == first {
            others.push(format!("{code}: {first} and {second}"));
        }
    }
    assert!(others.is_empty(), "{others:#?}");
}

//! Whose line it was: events, waits and errors name the line that ran, and the line that called it.

use std::sync::{Arc, Mutex};

use tensorlab::base::event::{Body, Event, HIDDEN_CELLS, Page, Source};
use tensorlab::device::Machine;
use tensorlab::script::engine::Stopped;
use tensorlab::script::{Interpreter, Limits, Origin, Silent};

use crate::parallel::{fault, machine, on};

/// What happened while some cells ran, one after the other.
fn events(machine: &Arc<Machine>, cells: &[&str]) -> Vec<Event> {
    let cells: Vec<(&str, u32)> = cells.iter().map(|code| (*code, 1)).collect();
    events_from(machine, &cells)
}

/// The same of cells that begin at some line of their file.
fn events_from(machine: &Arc<Machine>, cells: &[(&str, u32)]) -> Vec<Event> {
    let mut script = Interpreter::new(Arc::clone(machine), Arc::new(Silent), &Limits::default());
    let events: Arc<Mutex<Vec<Event>>> = Arc::default();
    let sink = Arc::clone(&events);
    let reader = Arc::new(move |page: &Page| sink.lock().unwrap().extend(page.iter().cloned()));
    let subscription = machine.bus().read(reader);
    for (cell, (code, first_line)) in (1..).zip(cells.iter().copied()) {
        match script.evaluate(cell, &Origin { name: "test", code, first_line }) {
            Ok(value) => drop(script.show(&value).unwrap()),
            Err(Stopped::Fault(fault)) => panic!("{}", fault.report),
            Err(other) => panic!("{other:?}"),
        }
    }
    drop(subscription);
    events.lock().unwrap().clone()
}

/// Where the host waited on its own account.
fn waits(cells: &[&str]) -> Vec<Source> {
    let all = events(&machine("sim:t4"), cells);
    all.iter().filter(|e| matches!(e.body, Body::Sync { implicit: true, .. })).map(|e| e.source).collect()
}

fn lines(code: &str) -> Vec<u32> {
    waits(&[code]).iter().map(|source| source.line).collect()
}

#[test]
fn what_a_variable_held_goes_in_the_line_that_gives_it_another_value() {
    let code = "let a = ones(4, #{device: \"cuda\"}); let b = a + 1.0; let c = a + 2.0; let d = a + 3.0; let e = [a + 4.0];
let none = 0;
let f = || {
    a = 1;
};
b = none;
drop(c);

d = ();
if true {
    e = [];
}
f.call();";
    let all = events(&machine("sim:t4"), &[code]);
    let freed = all.iter().filter(|e| matches!(e.body, Body::Free { device, .. } if device.is_cuda()));
    let lines: Vec<u32> = freed.map(|e| e.source.line).collect();
    assert_eq!(lines, [6, 7, 9, 11, 4]);
}

#[test]
fn what_a_lessons_function_does_for_a_cell_is_done_by_the_line_that_calls_it() {
    let machine = machine("sim:t4");
    let mut script = Interpreter::new(Arc::clone(&machine), Arc::new(Silent), &Limits::default());
    let events: Arc<Mutex<Vec<Event>>> = Arc::default();
    let sink = Arc::clone(&events);
    let reader = Arc::new(move |page: &Page| sink.lock().unwrap().extend(page.iter().cloned()));
    let subscription = machine.bus().read(reader);
    let set_up = "fn work(run) {\n    ones(2, #{device: \"cuda\"});\n    run.call();\n    zeros(2, #{device: \"cuda\"});\n}";
    let cell = "let own = || {\n    full(2, 3.0, #{device: \"cuda\"})\n};\nwork(own);\nwork(|| 1);";
    for (number, code) in [(HIDDEN_CELLS + 1, set_up), (3, cell)] {
        let done = script.evaluate(number, &Origin { name: "test", code, first_line: 1 });
        assert!(done.is_ok(), "{:?}", done.err());
    }
    drop(subscription);
    let launches = events.lock().unwrap();
    let launches: Vec<(u32, u32)> = launches
        .iter()
        .filter(|event| matches!(event.body, Body::Launch { .. }))
        .map(|event| (event.source.cell, event.source.line))
        .collect();
    assert_eq!(launches, [(3, 4), (3, 2), (3, 4), (3, 5), (3, 5)]);
}

fn at(cell: u32, line: u32, caller: u32) -> Source {
    Source { cell, line, caller }
}

const SETUP: &str = "let x = ones(2, #{device: \"cuda\"}); let one = x.sum(); let s = \"\"; let items = [x]; \
                     let map = #{a: x}; let f = |t| t;\n";

#[test]
fn each_way_to_look_at_a_tensor_is_on_the_line_that_looks() {
    for looks in [
        "print(x);",
        "debug(x);",
        "display(x);",
        "let u = `is ${x}`;",
        "let u = \"\" + x;",
        "let u = x + \"\";",
        "s += x;",
        "let u = x.to_string();",
        "let u = x.to_debug();",
        "let u = to_string(x);",
        "print([x]);",
        "print(map);",
        "let u = `${map}`;",
        "let u = items.to_string();",
        "s += items;",
        "let u = map.a.tolist();",
        "let u = items[0].tolist();",
        "if one { }",
        "if one > 1.0 { }",
        "if x.sum() > 1.0 { }",
        "if !one { }",
        "while one < 1.0 { }",
        "do { } while one < 1;",
        "let u = one && true;",
        "let u = false || one;",
        "let u = if one { 1 } else { 2 };",
        "let u = switch 1 { 1 if one => 2, _ => 3 };",
        "let u = (x == x).all().item();",
        "let u = f.call(x).tolist();",
        "let u = (-one).item();",
    ] {
        let code = format!("{SETUP}let before = x.relu();\n\n{looks}\nlet behind = x.relu();");
        assert_eq!(lines(&code), [4], "{looks}");
    }
}

#[test]
fn a_cells_last_value_is_looked_at_on_its_own_line() {
    assert_eq!(lines(&format!("{SETUP}let f = |t| {{\n  t * 2\n}};\nf.call(x)\n// end")), [5]);
    assert_eq!(lines(&format!("{SETUP}let y = x * 2;\nx")), [3]);
}

#[test]
fn conditions_of_loops_are_on_the_loops_line() {
    let code = format!("{SETUP}let n = 0;\nwhile one > n {{\n  n += 1;\n  let y = x * 2;\n}}");
    assert_eq!(lines(&code), [3, 3, 3]);
    let code = format!("{SETUP}let n = 0;\ndo {{\n  n += 1;\n  let y = x * 2;\n}} while one > n;");
    assert_eq!(lines(&code), [6, 6]);
}

/// Lines of what an operation launched.
fn launches(cells: &[&str], of: &str) -> Vec<Source> {
    let all = events(&machine("sim:t4"), cells);
    let launched = |e: &&Event| matches!(&e.body, Body::Launch { op, .. } if op.as_str() == of);
    all.iter().filter(launched).map(|e| e.source).collect()
}

#[test]
fn what_a_loop_fetches_is_on_the_loops_line() {
    let code = format!(
        "{SETUP}let set = data::TensorDataset(arange(4, #{{device: \"cuda\"}}));
let loader = data::DataLoader(set, #{{batch_size: 2}});
for batch in loader {{
    let y = x.relu();
    let z = y.exp();
}}
for batch in progress(loader) {{
    let z = x.exp();
}}"
    );
    let all = events(&machine("sim:t4"), &[&code]);
    let made = |e: &&Event| matches!(&e.body, Body::Alloc { op, .. } if !["relu", "exp", "arange"].contains(&op.as_str()));
    let lines: Vec<u32> = all.iter().filter(made).map(|e| e.source.line).filter(|line| *line > 1).collect();
    assert!(lines.len() >= 4, "{lines:?}");
    assert!(lines.iter().all(|line| [4, 8].contains(line)), "{lines:?}");
}

#[test]
fn closures_and_functions_have_their_own_lines_with_the_callers_beside_them() {
    let code = format!(
        "{SETUP}
let f = |t| {{
    t.tolist()
}};
fn g(t) {{ t.tolist() }}
fn h(t) {{
    g(t)
}}

f.call(x);
g(x);
h(x);
[x].map(|t| t.tolist());
telemetry::record(|| {{
    x.tolist();
    f.call(x);
}});
x.tolist();"
    );
    assert_eq!(
        waits(&[&code]),
        [at(1, 4, 11), at(1, 6, 12), at(1, 6, 8), at(1, 14, 14), at(1, 16, 15), at(1, 4, 17), at(1, 19, 0)]
    );
}

#[test]
fn what_follows_a_closure_is_the_callers() {
    let code = format!(
        "{SETUP}let double = nn::module(#{{}}, |me, t| {{
    t.exp()
}});
let net = nn::Sequential([double, nn::ReLU()]).cuda();
let y = 0;
y = net.forward(x);
y = f.call(x.exp());"
    );
    assert_eq!(launches(&[&code], "exp"), [at(1, 3, 7), at(1, 8, 0)]);
    assert_eq!(launches(&[&code], "relu"), [at(1, 7, 0)]);
    let all = events(&machine("sim:t4"), &[&code]);
    let freed = all.iter().filter(|e| matches!(e.body, Body::Free { .. })).map(|e| e.source.line);
    assert!(freed.clone().any(|line| line == 8), "{:?}", freed.collect::<Vec<_>>());
}

#[test]
fn a_function_of_an_earlier_cell_has_its_cell_and_line() {
    let first =
        "fn step(t) {\n    t.tolist()\n}\nlet k = ones(2, #{device: \"cuda\"});\nlet look = |t| k.tolist();";
    let second = "let t = k * 2;\n\nstep(t);\nlook.call(t);\nt.tolist();";
    assert_eq!(waits(&[first, second]), [at(1, 2, 3), at(1, 5, 4), at(2, 5, 0)]);
}

#[test]
fn lines_are_those_of_the_file_that_a_cell_begins_in() {
    let first = "let look = |t| t.tolist();\nlet x = ones(2, #{device: \"cuda\"});\nx.tolist();";
    let all = events_from(&machine("sim:t4"), &[(first, 10), ("look.call(x);", 20)]);
    let waits = all.iter().filter(|e| matches!(e.body, Body::Sync { .. })).map(|e| e.source);
    assert_eq!(waits.collect::<Vec<_>>(), [at(1, 12, 0), at(1, 10, 20)]);
}

#[test]
fn the_trace_and_the_summary_name_the_caller() {
    let code = "let x = ones(2, #{device: \"cuda\"});
let look = |t| {
    t.tolist()
};
let t = telemetry::record(|| {
    look.call(x);
});
[t.waits[0].line, t.waits[0].caller]";
    assert_eq!(on("sim:t4", code), "[3, 6]");
}

#[test]
fn errors_in_functions_name_the_line_that_called() {
    let report = |code: &str| fault("sim:t4", code).report.clone();
    let text = report("fn f(t) {\n  t + ones(3)\n}\n\nf(ones(2));");
    assert!(text.contains("test:2:5") && text.contains("called from line 5"), "{text}");
    let text = report("let f = |t| t + ones(3);\nf.call(ones(2));");
    assert!(text.contains("test:1:15") && text.contains("called from line 2"), "{text}");
    let text = report("let f = |t| t + ones(3); f.call(ones(2));");
    assert!(!text.contains("called from"), "{text}");
}

#[test]
fn errors_in_functions_of_earlier_cells_stand_in_those() {
    let machine = machine("sim:t4");
    let mut script = Interpreter::new(machine, Arc::new(Silent), &Limits::default());
    let mut run = |cell: u32, name: &str, first_line: u32, code: &str| {
        script.evaluate(cell, &Origin { name, code, first_line })
    };
    let defined = "fn f(t) {\n  t + ones(3)\n}\nlet g = |t| {\n  f(t)\n};";
    let _ = run(1, "In [1]", 10, defined).unwrap();
    for (code, called) in [("1;\nf(ones(2));", "In [2]:2"), ("1;\n2;\ng.call(ones(2));", "In [2]:3")] {
        let Err(Stopped::Fault(fault)) = run(2, "In [2]", 1, code) else { panic!("{code}") };
        let place = "--> In [1]:11:5\n   |\n11 |   t + ones(3)\n   |     ^\n";
        assert!(fault.report.contains(place), "{}", fault.report);
        assert!(fault.report.contains(&format!("called from {called}")), "{}", fault.report);
        assert_eq!(fault.line, Some(code.lines().count() as u32));
    }
    // What has been defined anew stands where it was defined last.
    let Err(Stopped::Fault(fault)) = run(3, "In [3]", 1, "fn f(t) { t[9] }\nf([1]);") else { panic!() };
    assert!(
        fault.report.contains("--> In [3]:1:13") && fault.report.contains("called from line 2"),
        "{}",
        fault.report
    );
}

#[test]
fn errors_in_functions_of_datasets_stand_in_the_cells_of_these() {
    let defined = "let ds = data::Dataset(3, |i|\n [i].oops()\n);
let fine = data::Dataset(3, |i| i);
let load = |workers| data::DataLoader(ds, #{num_workers: workers});
let put = |workers| data::DataLoader(fine, #{num_workers: workers, collate_fn: |all|
 all.oops()
});";
    for (code, place) in [
        ("let k = 1;\nds[0]", "--> In [1]:2:6"),
        ("let k = 1;\nfor x in load.call(0) {}", "--> In [1]:2:6"),
        ("let k = 1;\nfor x in load.call(2) {}", "--> In [1]:2:6"),
        ("let k = 1;\nfor x in put.call(0) {}", "--> In [1]:7:6"),
        ("let k = 1;\nfor x in put.call(2) {}", "--> In [1]:7:6"),
    ] {
        let mut script = Interpreter::new(machine("sim:t4"), Arc::new(Silent), &Limits::default());
        let mut run = |cell, name, code| script.evaluate(cell, &Origin { name, code, first_line: 1 });
        let _ = run(1, "In [1]", defined).unwrap();
        let Err(Stopped::Fault(fault)) = run(2, "In [2]", code) else { panic!("{code}") };
        assert_eq!(fault.kind, "NameError", "{}", fault.report);
        assert!(fault.message.contains("there is no function 'oops' for (array)"), "{}", fault.report);
        assert!(fault.report.contains(place), "{}", fault.report);
        assert!(fault.report.contains("called from In [2]:2"), "{}", fault.report);
        assert!(!fault.message.contains("in line"), "{}", fault.report);
    }
    // What fails in an operation, and what is thrown, has its place as well; within one cell both lines are told.
    let text = fault("cpu", "let ds = data::Dataset(3, |i|\n ones(2) + ones(3)\n);\nds[0]").report.clone();
    assert!(text.contains("test:2:10") && text.contains("called from line 4"), "{text}");
    let text = fault("cpu", "let ds = data::Dataset(3, |i|\n throw `no ${i}`\n);\nds[1]").report.clone();
    assert!(text.starts_with("RuntimeError: no 1\n") && text.contains("test:2:2"), "{text}");
}

#[test]
fn what_is_caught_of_the_languages_own_errors_reads_as_what_is_not() {
    for code in [
        "undefined_name",
        "1 / 0",
        "[1, 2][7]",
        "ones(2).oops()",
        "oops(3)",
        "let x = 1; x.oops",
        "\"abc\" - 1",
    ] {
        let uncaught = fault("cpu", code);
        let asked =
            format!("let told = []; try {{ {code}; }} catch (e) {{ told = [e.kind, e.message]; }} told");
        assert_eq!(on("cpu", &asked), format!("[{:?}, {:?}]", uncaught.kind, uncaught.message), "{code}");
        let again = fault("cpu", &format!("try {{ {code}; }} catch (e) {{\n throw e; }}"));
        assert_eq!(
            (&again.kind, &again.message, again.line),
            (&uncaught.kind, &uncaught.message, Some(2)),
            "{code}"
        );
        let again = fault("cpu", &format!("try {{ {code}; }} catch {{\n throw; }}"));
        assert_eq!(
            (&again.kind, &again.message, again.line),
            (&uncaught.kind, &uncaught.message, Some(2)),
            "{code}"
        );
    }
    // What leaves a block and is no error goes on as it did.
    assert_eq!(
        on("cpu", "let n = 0; for i in 0..9 { try { if i == 3 { break; } n += 1; } catch { n = 99; } } n"),
        "3"
    );
    assert_eq!(on("cpu", "fn f() { try { return 7; } catch { 8 } 9 } f()"), "7");
    assert_eq!(on("cpu", "let told = (); try { throw 5 } catch (e) { told = e; } told"), "5");
}

#[test]
fn a_tensor_that_is_thrown_is_shown() {
    assert!(fault("cpu", "throw tensor([1, 2])").report.starts_with("RuntimeError: tensor([1, 2])\n"));
    assert_eq!(fault("cpu", "throw [tensor(1), \"a\"]").message, "[tensor(1), \"a\"]");
    assert_eq!(fault("cpu", "throw \"a\"").message, "a");
}

#[test]
fn a_tensor_with_one_element_is_true_or_false() {
    for (code, want) in [
        ("if tensor(2.0) { 1 } else { 0 }", "1"),
        ("if tensor([[0]]) { 1 } else { 0 }", "0"),
        ("if tensor(-0.0) { 1 } else { 0 }", "0"),
        ("if tensor(1e-40) { 1 } else { 0 }", "1"),
        ("if tensor(0.0) / 0.0 { 1 } else { 0 }", "1"),
        ("if tensor(false) { 1 } else { 0 }", "0"),
        ("if ones(2).sum() > 1.0 { 1 } else { 0 }", "1"),
        ("let x = ones(1); let y = x * 2; if x < y { 1 } else { 0 }", "1"),
        ("if !tensor(5) { 1 } else { 0 }", "0"),
        ("if !(ones(2).sum() > 5) { 1 } else { 0 }", "1"),
        ("[tensor(1) && tensor(0.0), tensor(0) || tensor(true), true && tensor(3)]", "[false, true, true]"),
        ("let n = tensor(3); let k = 0; while n > k { k += 1; } k", "3"),
        ("let n = tensor(3); let k = 0; while n { n -= 1; k += 1; } k", "3"),
        ("let k = 0; do { k += 1; } until tensor(k) > 4; k", "5"),
        ("switch 1 { 1 if tensor(0) => 1, 1 if tensor(1) => 2, _ => 3 }", "2"),
        ("!tensor([true, false])", "tensor([False,  True])"),
        ("fn f(t) { if t { 1 } else { 0 } } f(tensor(1))", "1"),
    ] {
        for devices in ["cpu", "sim:t4"] {
            assert_eq!(on(devices, code), want, "{code}");
        }
    }
}

#[test]
fn several_elements_and_none_are_ambiguous() {
    for code in
        ["if T { }", "while T { }", "let u = T && true;", "if !T { }", "let u = if T { 1 } else { 2 };"]
    {
        for (tensor, text) in [
            ("ones(2)", "Boolean value of Tensor with more than one value is ambiguous"),
            ("ones(0)", "Boolean value of Tensor with no values is ambiguous"),
        ] {
            let code = code.replace('T', tensor);
            let fault = fault("cpu", &code);
            assert_eq!((fault.kind.as_str(), fault.message.as_str()), ("RuntimeError", text), "{code}");
            assert!(fault.line == Some(1) && fault.column.is_some(), "{code}: {}", fault.report);
        }
    }
}

#[test]
fn a_condition_waits_once_and_says_why() {
    let code = "let x = ones(3, #{device: \"cuda\"});
let t = telemetry::record(|| {
    if x.sum() > 0.0 { }
});
[t.implicit_syncs, t.waits[0].cause, t.waits[0].line, t.d2h.count]";
    assert_eq!(on("sim:t4", code), "[1, \"bool\", 3, 1]");
}

/// However many threads the loader has: the dataset's function has lines of its own, and the loop's line called it.
#[test]
fn what_a_worker_does_is_on_the_functions_line() {
    for workers in [0, 1, 2] {
        let code = format!(
            "{SETUP}let big = rand([16]);
fn look(i) {{
    big_of(i)
}}
let set = data::Dataset(4, |i| {{
    let v = big[i].sin();
    let w = v.exp();
    look(w)
}});
fn big_of(w) {{ w.relu() }}
for b in data::DataLoader(set, #{{num_workers: {workers}}}) {{
    b.exp();
}}"
        );
        assert_eq!(launches(&[&code], "sin"), [at(1, 7, 12); 4], "{workers}");
        let mut exps = launches(&[&code], "exp");
        exps.sort_by_key(|source| source.line);
        assert_eq!(exps, [[at(1, 8, 12); 4], [at(1, 13, 0); 4]].concat(), "{workers}");
        assert_eq!(launches(&[&code], "relu"), [at(1, 11, 4); 4], "{workers}");
    }
    let first = "let x = ones(8);\nlet set = data::Dataset(4, |i| {\n    x[i].sin()\n});";
    let second = "let n = 0;\nfor b in data::DataLoader(set, #{num_workers: 2}) { n += 1; }";
    assert_eq!(launches(&[first, second], "sin"), [at(1, 3, 2); 4], "another cell's");
}

#[test]
fn what_a_functions_variables_held_goes_on_its_last_line() {
    let code = "let x = ones(2, #{device: \"cuda\"});
fn f(t) {
    let a = t.exp();
    a.sum();
    1
}
let g = |t| {
    let a = t.exp();
    a.sum();
};
f(x);
g.call(x);
telemetry::record(|| {
    f(x.relu());
    let b = x.exp();
    b.sum();
});";
    let all = events(&machine("sim:t4"), &[code]);
    let mut ends = Vec::new();
    let mut made = std::collections::HashMap::new();
    for event in &all {
        match &event.body {
            Body::Alloc { op, address, .. } if op.as_str() == "exp" => {
                made.insert(*address, event.source);
            }
            Body::Free { address, .. } => {
                ends.extend(made.remove(address).map(|made| (made.line, event.source.line)));
            }
            _ => {}
        }
    }
    assert_eq!(ends, [(3, 4), (8, 9), (3, 4), (15, 16)]);
}

/// The line of a call is where it stands, whatever lines its arguments have.
#[test]
fn a_callers_line_is_that_of_the_call_and_not_of_its_last_argument() {
    let code = "let x = ones([2, 2], #{device: \"cuda\"});
fn item_of(a) {
    a.item()
}
let look = |a, k| {
    a.item()
};
let seen = telemetry::record(|| {
    let v = item_of(
        x.sum()
    );
    item_of(item_of(
        x.mean()) + x.max()
    );
    look.call(
        x.sum(),
        2.0 * 3.0
    );
});
seen.waits.map(|w| [w.line, w.caller])";
    assert_eq!(on("sim:t4", code), "[[3, 9], [3, 12], [3, 12], [6, 15]]");
}

#[test]
fn a_habit_of_pythons_in_a_function_of_an_earlier_cell_is_answered_too() {
    let mut script = Interpreter::new(machine("cpu"), Arc::new(Silent), &Limits::default());
    let mut run = |cell, name, code| script.evaluate(cell, &Origin { name, code, first_line: 1 });
    let _ = run(1, "In [1]", "fn twice(f, x) {\n    f(f(x))\n}").unwrap();
    let Err(Stopped::Fault(fault)) = run(2, "In [2]", "twice(|x| x + 1, 3)") else { panic!() };
    assert!(fault.report.contains("--> In [1]:2:"), "{}", fault.report);
    assert!(fault.report.contains("called from In [2]:1"), "{}", fault.report);
    assert_eq!(fault.hint.as_deref(), Some("a closure is called by `call`: `f.call(f.call(x))`"));
    // Pieces of code may have one name, as those of a lesson's set-up have.
    for (cell, code) in
        (3..).zip(["fn a(x) {\n x\n}", "fn b(x) {\n x\n}", "fn c(x) {\n x\n}", "fn d(x) {\n x\n}"])
    {
        let _ = run(cell, "In [1]", code).unwrap();
    }
    let Err(Stopped::Fault(fault)) = run(30, "In [3]", "twice(|x| x + 1, 3)") else { panic!() };
    assert_eq!(fault.hint.as_deref(), Some("a closure is called by `call`: `f.call(f.call(x))`"));
}

#[test]
fn a_try_block_where_a_value_is_asked_for_is_told_to_have_none() {
    let fault = fault("cpu", "let t = try { 1 } catch (e) { 2 };");
    assert!(fault.hint.as_deref().is_some_and(|hint| hint.contains("has no value")), "{}", fault.report);
}

#[test]
fn a_call_in_place_is_told_how_it_itself_is_called() {
    let called = "it is called as `add_(input, other, alpha = 1)`";
    for (call, hint) in [
        ("x.add_([1, 2])", called),
        ("x.add_(1, #{of: 2})", called),
        ("x.add_()", "`?add_` shows how it is called"),
        ("x.add_(1, 2, 3)", "`?add_` shows how it is called"),
    ] {
        let fault = fault("cpu", &format!("let x = ones(3); {call}"));
        assert!(
            fault.message.starts_with("add_() ") || fault.message.starts_with("add_():"),
            "{}",
            fault.report
        );
        assert_eq!(fault.hint.as_deref(), Some(hint), "{}", fault.report);
    }
}

#[test]
fn a_linear_layer_says_what_it_takes_and_where_it_stands() {
    let net = "let net = nn::Sequential(nn::Flatten(), nn::Sequential(nn::Linear(4, 3), nn::ReLU(), nn::Linear(4, 2)));";
    for (call, layer, way) in [
        (
            "net.forward(ones([2, 4]))",
            "in `linear` of layer 1.2 (Linear)",
            "here they are 3: `nn::Linear(3, 2)` would",
        ),
        ("net[1][0].forward(ones([5]))", "in `linear`\n", "here they are 5: `nn::Linear(5, 3)` would"),
        (
            "nn::Linear(12, 10).forward(ones([8, 3, 2, 2]))",
            "in `linear`\n",
            "`x.flatten(1)` makes rows of 12 of [8, 3, 2, 2]",
        ),
    ] {
        let fault = fault("cpu", &format!("{net} {call}"));
        assert!(fault.report.contains(layer), "{}", fault.report);
        assert!(fault.hint.as_deref().is_some_and(|hint| hint.contains(way)), "{}", fault.report);
    }
}

#[test]
fn an_error_in_the_gradient_of_an_own_function_stands_where_it_arose() {
    let code = "let f = autograd::Function(|ctx, x| x * 2, |ctx, g|
    g + ones(7)
);
f.apply(ones(2, #{requires_grad: true})).sum().backward()";
    let report = fault("cpu", code).report.clone();
    assert!(report.contains("2 |     g + ones(7)"), "{report}");
}

#[test]
fn the_memory_of_a_moved_network_has_the_shapes_of_its_tensors() {
    let code = "let net = nn::Conv2d(4, 8, 3).to(#{memory_format: \"channels_last\"});
let other = nn::Linear(128, 10);
other.cuda();
net.to(\"cuda\", float16);";
    let all = events(&machine("sim:t4"), &[code]);
    let made = all.iter().filter_map(|event| match &event.body {
        Body::Alloc { device, shape, .. } if device.is_cuda() => Some((event.source.line, shape.to_vec())),
        _ => None,
    });
    let made: Vec<_> = made.collect();
    assert_eq!(made, [(3, vec![10, 128]), (3, vec![10]), (4, vec![8, 4, 3, 3]), (4, vec![8])]);
}

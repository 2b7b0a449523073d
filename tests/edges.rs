//! What operations do at their edges, against PyTorch: empty tensors, zero-sized dimensions, tensors without
//! dimensions, negative places, overflow, NaN and infinities. Recorded by `scripts/record_edges.py`.

use std::sync::Arc;

use rhai::Dynamic;
use serde_json::Value;
use tensorlab::base::DeviceSpec;
use tensorlab::device::Machine;
use tensorlab::script::engine::Stopped;
use tensorlab::script::{Interpreter, Limits, Origin, Silent};

use crate::conformance::{compare, results, unpacked};

/// Calls whose outcome differs on purpose, and why.
const OTHERWISE: &[(&str, &str)] = &[
    ("none of rows: index_fill(0,i,1)", "PyTorch trips over its own view"),
    ("empty: index_fill(0,i,1)", "PyTorch trips over its own view"),
    ("integers of none: index_fill(0,i,1)", "PyTorch trips over its own view"),
    (
        "half: histc(3)",
        "PyTorch multiplies in float16, overflows, and counts the largest number into the first piece",
    ),
];

fn run(lab: &mut Interpreter, code: &str) -> Result<Dynamic, String> {
    match lab.evaluate(1, &Origin { name: "edge", code, first_line: 1 }) {
        Ok(value) => Ok(value),
        Err(Stopped::Fault(f)) => Err(format!("{}: {}", f.kind, f.message)),
        Err(Stopped::Cancelled(e)) => Err(e.to_string()),
    }
}

fn kind(text: &str) -> &str {
    text.split(':').next().unwrap_or("")
}

/// What is wrong with an outcome, if anything is; whether an error's text is PyTorch's own.
fn judge(got: &Result<Dynamic, String>, want: &Value) -> (Option<String>, bool) {
    match (got, want["error"].as_str()) {
        (Err(got), Some(want)) => {
            let same = got.lines().next() == Some(want);
            ((kind(got) != kind(want)).then(|| format!("{got}\nnot {want}")), same)
        }
        (Ok(_), Some(want)) => (Some(format!("works, and should be {want}")), false),
        (Err(got), None) => (Some(format!("{got}\nbut should work")), false),
        (Ok(value), None) => (values(value, want), false),
    }
}

fn values(value: &Dynamic, want: &Value) -> Option<String> {
    let got = results(value);
    if let Some(shapes) = want["shapes"].as_array() {
        let have: Vec<Value> = got.iter().map(|t| t.shape().to_vec().into()).collect();
        return (have != *shapes).then(|| format!("shapes {have:?}"));
    }
    let Some(expect) = want["expect"].as_array() else {
        let number = value.as_float().or_else(|_| value.as_int().map(|i| i as f64)).ok();
        return (number != want["value"].as_f64()).then(|| format!("{value}, not {}", want["value"]));
    };
    if got.len() != expect.len() {
        return Some(format!("{} tensors, not {}", got.len(), expect.len()));
    }
    let tolerance = if want["name"].as_str().unwrap_or("").starts_with("half") { 2e-3 } else { 1e-5 };
    got.iter().zip(expect).find_map(|(t, v)| compare(t, v, tolerance, tolerance, "result").err())
}

#[test]
fn edges_are_those_of_pytorch() {
    let cases = unpacked(include_bytes!("golden/edges.jsonl.gz"));
    let mut lab = Interpreter::new(Machine::cpu_only(), Arc::new(Silent), &Limits::default());
    let (mut wrong, mut errors, mut texts) = (Vec::new(), 0, 0);
    for case in &cases {
        let name = case["name"].as_str().unwrap();
        if OTHERWISE.iter().any(|(known, _)| name == *known) {
            continue;
        }
        lab.reset();
        let _ = run(&mut lab, case["setup"].as_str().unwrap()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let got = run(&mut lab, case["rhai"].as_str().unwrap());
        let _here = lab.machine().enter();
        let (bad, same) = judge(&got, case);
        errors += usize::from(case.get("error").is_some());
        texts += usize::from(same);
        wrong.extend(bad.map(|why| format!("{name}: {why}")));
    }
    println!("{} calls, {texts} of {errors} error texts are the recorded ones", cases.len());
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    assert!(cases.len() > 1600);
}

#[test]
fn a_simulated_device_has_the_same_edges() {
    let cases = unpacked(include_bytes!("golden/edges.jsonl.gz"));
    let machine =
        Machine::open(&"sim:t4".parse().unwrap(), tensorlab::device::Use::Headless).unwrap().machine;
    let mut lab = Interpreter::new(machine, Arc::new(Silent), &Limits::default());
    let mut wrong = Vec::new();
    for case in cases.iter().filter(|c| c["setup"] != "" && c.get("expect").is_some()) {
        lab.reset();
        let moved = "x = x.cuda(); i = i.cuda(); v = v.cuda(); m = m.cuda(); s = s.cuda();";
        let setup = format!("{} {moved}", case["setup"].as_str().unwrap());
        let _ = run(&mut lab, &setup).unwrap();
        let name = case["name"].as_str().unwrap();
        if OTHERWISE.iter().any(|(known, _)| name == *known) {
            continue;
        }
        let got = run(&mut lab, case["rhai"].as_str().unwrap());
        let _here = lab.machine().enter();
        let device = DeviceSpec::Cuda(Some(0));
        if let Ok(value) = &got
            && let Some(t) = results(value).iter().find(|t| DeviceSpec::from(t.device()) != device)
        {
            wrong.push(format!("{name}: a result on {}", t.device()));
        }
        wrong.extend(judge(&got, case).0.map(|why| format!("{name}: {why}")));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// What a size is multiplied with may be more than 64 bits hold, and a width may not fit its points: errors, in every
/// build, and never memory that is not the tensor's.
#[test]
fn sizes_that_do_not_fit_are_errors() {
    let mut lab = Interpreter::new(Machine::cpu_only(), Arc::new(Silent), &Limits::default());
    for (code, wanted) in [
        ("ones([1]).expand([1000000000000000000]).diagflat()", "OutOfMemoryError"),
        ("nn::LSTMCell(3, 9223372036854775806)", "OutOfMemoryError"),
        ("nn::LSTM(3, 9223372036854775806)", "OutOfMemoryError"),
        ("ones([3, 4]).as_strided([2, 3], [3, 1], 9223372036854775807)", "RuntimeError"),
        ("trapezoid(rand([2, 3, 4, 5]), tensor([1.0, 2.0, 4.0]))", "RuntimeError"),
        ("cumulative_trapezoid(rand([5]), tensor([1.0, 2.0, 4.0]))", "RuntimeError"),
    ] {
        let error = run(&mut lab, code).expect_err(code);
        assert_eq!(kind(&error), wanted, "{code}: {error}");
    }
    let schedule = "let opt = optim::SGD([ones(1)], #{lr: 1.0}); \
                    let s = optim::lr_scheduler::CosineAnnealingLR(opt, 9223372036854775807); \
                    opt.step(); s.step(); s.get_last_lr()[0]";
    assert_eq!(run(&mut lab, schedule).unwrap().as_float().unwrap(), 1.0);
}

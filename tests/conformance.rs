//! The golden cases recorded from PyTorch, on every device and over several memory layouts.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rhai::{Array, Dynamic};
use serde_json::Value;
use tensorlab::base::{DType, DeviceSpec, Scalar};
use tensorlab::device::Machine;
use tensorlab::device::open::Use;
use tensorlab::script::engine::Stopped;
use tensorlab::script::{Interpreter, Limits, Origin, Silent};
use tensorlab::tensor::Tensor;

/// How an input lies in memory; the values are the same.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Laid {
    Contiguous,
    Transposed,
    Sliced,
    /// The first slice repeated, by a stride of 0.
    Stretched,
    /// The first slice repeated, by copies: what a stretched input must be equal to.
    Repeated,
}

/// What came of a case.
enum Verdict {
    Passed,
    Unsupported(String),
    Wrong(String),
}

fn cases() -> Vec<Value> {
    unpacked(include_bytes!("golden/ops.jsonl.gz"))
}

/// Recorded by `scripts/record_ops.py`.
fn more_cases() -> Vec<Value> {
    unpacked(include_bytes!("golden/ops_more.jsonl.gz"))
}

/// Samples of PyTorch's own tests, chosen and recorded by `scripts/check_peer_samples.py`.
fn peer_samples() -> Vec<Value> {
    unpacked(include_bytes!("golden/peer_samples.jsonl.gz"))
}

pub fn unpacked(packed: &[u8]) -> Vec<Value> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed).read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A machine whose convolutions keep to float32, which a real GPU's do not unless asked.
fn machine(devices: &str) -> Arc<Machine> {
    let machine = Machine::open(&devices.parse().unwrap(), Use::Headless).unwrap().machine;
    machine.shared.settings.cudnn_tf32.store(false, Ordering::Relaxed);
    machine
}

fn numbers(data: &Value) -> Vec<Scalar> {
    data.as_array()
        .unwrap()
        .iter()
        .map(|v| match v {
            Value::Bool(b) => Scalar::Bool(*b),
            Value::Number(n) if n.is_i64() => Scalar::Int(n.as_i64().unwrap()),
            Value::Number(n) => Scalar::Float(n.as_f64().unwrap()),
            Value::String(s) if s == "nan" || s == "NaN" => Scalar::Float(f64::NAN),
            Value::String(s) if s.starts_with('-') => Scalar::Float(f64::NEG_INFINITY),
            _ => Scalar::Float(f64::INFINITY),
        })
        .collect()
}

fn shape(v: &Value) -> Vec<usize> {
    v["shape"].as_array().unwrap().iter().map(|d| d.as_u64().unwrap() as usize).collect()
}

fn dtype(v: &Value) -> DType {
    DType::parse(v["dtype"].as_str().unwrap()).unwrap()
}

/// A tensor of the recorded values on `device`, in the asked layout.
fn tensor(v: &Value, device: DeviceSpec, laid: Laid) -> Tensor {
    let machine = Machine::current();
    let cpu = Tensor::from_numbers(&numbers(&v["data"]), &shape(v), dtype(v)).unwrap();
    let context = machine.context(machine.resolve(device)).unwrap();
    let plain = if device == DeviceSpec::Cpu { cpu } else { cpu.moved(context, false, "test").unwrap() };
    let rank = plain.rank();
    let out = match laid {
        Laid::Transposed if rank >= 2 => {
            let turned = plain.with_layout(plain.layout().transpose(0, rank - 1).unwrap());
            let stored = turned.copied(plain.dtype(), "test").unwrap();
            stored.with_layout(stored.layout().transpose(0, rank - 1).unwrap())
        }
        Laid::Sliced if rank >= 1 => {
            let mut wide = plain.shape().to_vec();
            let last = wide[rank - 1];
            wide[rank - 1] = 2 * last + 1;
            let big = Tensor::full(&wide, 7i64.into(), plain.dtype(), context, "test").unwrap();
            let part = big.with_layout(big.layout().slice(rank - 1, 1, last, 2).unwrap());
            part.assign(&plain, "test").unwrap();
            part
        }
        Laid::Stretched | Laid::Repeated if rank >= 1 && plain.shape()[0] > 0 => {
            let first = plain.with_layout(plain.layout().slice(0, 0, 1, 1).unwrap());
            let wide = first.with_layout(first.layout().expand(plain.shape()).unwrap());
            if laid == Laid::Stretched { wide } else { wide.copied(plain.dtype(), "test").unwrap() }
        }
        _ => plain,
    };
    if v["requires_grad"].as_bool().unwrap_or(false) {
        out.set_requires_grad(true).unwrap();
    }
    out
}

pub fn compare(got: &Tensor, want: &Value, rtol: f64, atol: f64, what: &str) -> Result<(), String> {
    if got.shape() != shape(want) {
        return Err(format!("{what}: shape {:?}, not {:?}", got.shape(), shape(want)));
    }
    if got.dtype() != dtype(want) {
        return Err(format!("{what}: dtype {}, not {}", got.dtype(), dtype(want)));
    }
    let values = got.to_f64s("test").map_err(|e| e.to_string())?;
    for (i, (a, b)) in values.iter().zip(numbers(&want["data"])).enumerate() {
        let b = b.as_f64();
        let same = (a.is_nan() && b.is_nan()) || *a == b || (a - b).abs() <= atol + rtol * b.abs();
        if !same {
            return Err(format!("{what}[{i}]: {a}, not {b}"));
        }
    }
    Ok(())
}

/// The tensors of a result: itself, an array's, or a map's in PyTorch's order.
pub fn results(value: &Dynamic) -> Vec<Tensor> {
    if let Some(t) = value.read_lock::<Tensor>() {
        return vec![t.clone()];
    }
    if let Some(items) = value.read_lock::<Array>() {
        return items.iter().flat_map(results).collect();
    }
    const NAMES: [&str; 19] = [
        "values",
        "indices",
        "min",
        "max",
        "sign",
        "logabsdet",
        "Q",
        "R",
        "U",
        "S",
        "Vh",
        "eigenvalues",
        "eigenvectors",
        "solution",
        "residuals",
        "rank",
        "singular_values",
        "LU",
        "pivots",
    ];
    match value.read_lock::<rhai::Map>() {
        Some(map) => NAMES.iter().filter_map(|k| map.get(*k)).flat_map(results).collect(),
        None => Vec::new(),
    }
}

fn run(case: &Value, interpreter: &mut Interpreter, device: DeviceSpec, laid: Laid) -> Verdict {
    interpreter.reset();
    let machine = Arc::clone(interpreter.machine());
    let _here = machine.enter();
    let code = case["rhai"].as_str().unwrap();
    // `view` refuses what cannot be viewed, as PyTorch does.
    let laid = if code.contains(".view(") { Laid::Contiguous } else { laid };
    let inputs: Vec<(String, Tensor)> = case["inputs"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, v)| (name.clone(), tensor(v, device, laid)))
        .collect();
    for (name, t) in &inputs {
        interpreter.set(name, Dynamic::from(t.clone()));
    }
    let value = match interpreter.evaluate(1, &Origin { name: "case", code, first_line: 1 }) {
        Ok(value) => value,
        Err(Stopped::Fault(f))
            if matches!(f.kind.as_str(), "NameError" | "NotImplementedError" | "SyntaxError") =>
        {
            return Verdict::Unsupported(f.message.clone());
        }
        Err(Stopped::Fault(f)) => return Verdict::Wrong(f.report.clone()),
        Err(Stopped::Cancelled(e)) => return Verdict::Wrong(e.to_string()),
    };
    let (rtol, atol) = (case["rtol"].as_f64().unwrap(), case["atol"].as_f64().unwrap());
    match check(case, &results(&value), &inputs, device, rtol, atol) {
        Ok(()) => Verdict::Passed,
        Err(text) => Verdict::Wrong(text),
    }
}

fn check(
    case: &Value,
    got: &[Tensor],
    inputs: &[(String, Tensor)],
    device: DeviceSpec,
    rtol: f64,
    atol: f64,
) -> Result<(), String> {
    let expect = case["expect"].as_array().unwrap();
    if got.len() != expect.len() {
        return Err(format!("{} tensors, not {}", got.len(), expect.len()));
    }
    for (i, (t, want)) in got.iter().zip(expect).enumerate() {
        compare(t, want, rtol, atol, &format!("result {i}"))?;
    }
    let Some(cotangent) = case.get("cotangent") else { return Ok(()) };
    let seed = tensor(cotangent, device, Laid::Contiguous).detach();
    got[0].backward(Some(&seed), Default::default()).map_err(|e| format!("backward: {e}"))?;
    for (name, want) in case["grads"].as_object().unwrap() {
        let (_, input) = inputs.iter().find(|(n, _)| n == name).unwrap();
        let grad = input.grad().ok_or_else(|| format!("no gradient of {name}"))?;
        compare(&grad, want, rtol, atol, &format!("gradient of {name}"))?;
    }
    Ok(())
}

/// Runs every case; fails on anything that is wrong or not there.
pub fn all_on(devices: &str, device: DeviceSpec, laid: Laid) {
    let recorded = cases();
    assert_eq!(recorded.len(), 559);
    run_all(&recorded, devices, device, laid);
    run_all(&more_cases(), devices, device, laid);
}

/// As [`all_on`] with case `first` of each `every`.
pub fn sample_on(devices: &str, device: DeviceSpec, laid: Laid, (first, every): (usize, usize)) {
    let all = cases().into_iter().chain(more_cases());
    let chosen: Vec<Value> = all.skip(first).step_by(every).collect();
    run_all(&chosen, devices, device, laid);
}

fn run_all(cases: &[Value], devices: &str, device: DeviceSpec, laid: Laid) {
    let mut interpreter = Interpreter::new(machine(devices), Arc::new(Silent), &Limits::default());
    let (mut passed, mut unsupported, mut wrong) = (0, Vec::new(), Vec::new());
    for case in cases {
        let name = case["name"].as_str().unwrap();
        match run(case, &mut interpreter, device, laid) {
            Verdict::Passed => passed += 1,
            Verdict::Unsupported(why) => unsupported.push(format!("{name} ({why})")),
            Verdict::Wrong(why) => {
                wrong.push(format!("{name}: `{}`\n    {why}", case["rhai"].as_str().unwrap()))
            }
        }
    }
    println!("{devices} {laid:?}: {passed} of {} recorded cases pass", cases.len());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(unsupported.is_empty(), "{} not there: {}", unsupported.len(), unsupported.join(", "));
    assert_eq!(passed, cases.len());
}

#[test]
fn cpu_contiguous() {
    all_on("cpu", DeviceSpec::Cpu, Laid::Contiguous);
}

#[test]
fn cpu_transposed() {
    all_on("cpu", DeviceSpec::Cpu, Laid::Transposed);
}

#[test]
fn cpu_sliced() {
    all_on("cpu", DeviceSpec::Cpu, Laid::Sliced);
}

#[test]
fn simulated_contiguous() {
    all_on("sim:t4x2", DeviceSpec::Cuda(Some(1)), Laid::Contiguous);
}

#[test]
fn simulated_transposed() {
    all_on("sim:t4x2", DeviceSpec::Cuda(Some(1)), Laid::Transposed);
}

#[test]
fn simulated_sliced() {
    all_on("sim:t4x2", DeviceSpec::Cuda(Some(1)), Laid::Sliced);
}

pub fn peer_samples_on(devices: &str, device: DeviceSpec) {
    run_all(&peer_samples(), devices, device, Laid::Contiguous);
}

#[test]
fn peer_samples_on_the_cpu() {
    peer_samples_on("cpu", DeviceSpec::Cpu);
}

#[test]
fn peer_samples_on_a_simulated_device() {
    peer_samples_on("sim:t4", DeviceSpec::Cuda(Some(0)));
}

/// The results of a call and the gradients of its first one, or what went wrong.
fn outcome(
    case: &Value,
    interpreter: &mut Interpreter,
    device: DeviceSpec,
    laid: Laid,
) -> Result<Vec<Tensor>, String> {
    interpreter.reset();
    let machine = Arc::clone(interpreter.machine());
    let _here = machine.enter();
    let mut inputs = Vec::new();
    for (name, v) in case["inputs"].as_object().unwrap() {
        let t = tensor(v, device, laid);
        interpreter.set(name, Dynamic::from(t.clone()));
        inputs.push(t);
    }
    let code = case["rhai"].as_str().unwrap();
    let value = match interpreter.evaluate(1, &Origin { name: "case", code, first_line: 1 }) {
        Ok(value) => value,
        Err(Stopped::Fault(f)) => return Err(f.message.clone()),
        Err(Stopped::Cancelled(e)) => return Err(e.to_string()),
    };
    let mut all = results(&value);
    if let Some(first) = all.first().filter(|t| t.requires_grad()).cloned() {
        let seed =
            Tensor::full(first.shape(), 0.5f64.into(), first.dtype(), &first.context(), "test").unwrap();
        first.backward(Some(&seed), Default::default()).map_err(|e| e.to_string())?;
        all.extend(inputs.iter().filter_map(Tensor::grad));
    }
    Ok(all)
}

/// Every recorded call on inputs with a stride of 0, against the same values in memory of their own.
pub fn stretched_on(devices: &str, device: DeviceSpec) {
    let mut interpreter = Interpreter::new(machine(devices), Arc::new(Silent), &Limits::default());
    let (mut same, mut wrong) = (0, Vec::new());
    for case in cases().iter().chain(&more_cases()) {
        let want = outcome(case, &mut interpreter, device, Laid::Repeated);
        let got = outcome(case, &mut interpreter, device, Laid::Stretched);
        let _here = interpreter.machine().enter();
        let said = match (&got, &want) {
            (Ok(got), Ok(want)) => {
                differs(got, want, case["rtol"].as_f64().unwrap(), case["atol"].as_f64().unwrap())
            }
            // What repeats cannot be written to, nor be viewed in every shape.
            (Err(why), _) if why.contains("single memory location") || why.contains("view size") => None,
            (Err(a), Err(b)) if a == b => None,
            (a, b) => Some(format!("{:?} against {:?}", a.as_ref().err(), b.as_ref().err())),
        };
        match said {
            None => same += 1,
            Some(why) => wrong.push(format!("{}: `{}`: {why}", case["name"], case["rhai"])),
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(same > 850, "{same}");
}

fn differs(got: &[Tensor], want: &[Tensor], rtol: f64, atol: f64) -> Option<String> {
    if got.len() != want.len() {
        return Some(format!("{} tensors, not {}", got.len(), want.len()));
    }
    got.iter().zip(want).enumerate().find_map(|(i, (a, b))| {
        if a.shape() != b.shape() || a.dtype() != b.dtype() {
            return Some(format!(
                "tensor {i} is {:?} {}, not {:?} {}",
                a.shape(),
                a.dtype(),
                b.shape(),
                b.dtype()
            ));
        }
        let (a, b) = (a.to_f64s("test").unwrap(), b.to_f64s("test").unwrap());
        let near =
            |a: f64, b: f64| (a.is_nan() && b.is_nan()) || a == b || (a - b).abs() <= atol + rtol * b.abs();
        let bad = a.iter().zip(&b).position(|(a, b)| !near(*a, *b))?;
        Some(format!("tensor {i}[{bad}] is {}, not {}", a[bad], b[bad]))
    })
}

#[test]
fn cpu_stretched() {
    stretched_on("cpu", DeviceSpec::Cpu);
}

#[test]
fn simulated_stretched() {
    stretched_on("sim:t4x2", DeviceSpec::Cuda(Some(1)));
}

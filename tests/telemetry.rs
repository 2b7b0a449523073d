//! The files of what happened, held against the schemas that their readers go by: JSON lines and Chrome traces.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

use crate::parallel::{evaluate, machine, on};

/// Copies both ways and between GPUs, on two streams, pinned and not; frees, waits, an out-of-memory that is caught.
const WORK: &str = "
    let x = rand([256, 256]).pin_memory();
    let a = x.to(\"cuda:0\", #{non_blocking: true});
    let s = cuda::Stream();
    s.wait_stream(cuda::current_stream());
    with cuda::stream(s) { let early = a + 1.0; }
    s.synchronize();
    let b = a.to(\"cuda:1\");
    for i in 0..5 { let y = a @ a; let z = y.relu(); }
    let total = a.sum().item();
    try { let no = zeros([1 << 40], #{device: \"cuda\"}); } catch { }
    let back = b.cpu();
    let h = back.half().float();
    cuda::synchronize();
    drop(b);
";

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("tensorlab-telemetry-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_string()
    }

    /// Runs a script with options on two simulated GPUs.
    fn run(&self, code: &str, options: &[&str]) -> Output {
        std::fs::write(self.0.join("work.rhai"), code).unwrap();
        let script = self.file("work.rhai");
        let program = env!("CARGO_BIN_EXE_tensorlab");
        let mut command = Command::new(program);
        command.args(["run", "--devices", "sim:t4x2"]).args(options).arg(script);
        command.output().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn said(o: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&o.stdout), String::from_utf8_lossy(&o.stderr))
}

fn read_lines(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The fields of each kind and their types, as the documentation has them.
fn schema() -> HashMap<String, BTreeMap<String, String>> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/telemetry.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| event |"));
    let fields = |cell: &str| -> BTreeMap<String, String> {
        let pairs = cell.split(", ").map(|field| field.trim().rsplit_once(' ').unwrap());
        pairs.map(|(name, kind)| (name.trim_matches('`').to_string(), kind.to_string())).collect()
    };
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        (cells[0].trim_matches('`').to_string(), fields(cells[1].trim_end_matches('|')))
    })
    .collect()
}

fn fits(value: &Value, kind: &str) -> bool {
    let is_device =
        |text: &str| text == "cpu" || text.strip_prefix("cuda:").is_some_and(|i| i.parse::<u32>().is_ok());
    match kind {
        "int" => value.is_u64(),
        "bool" => value.is_boolean(),
        "text" => value.is_string(),
        "device" => value.as_str().is_some_and(is_device),
        "dtype" => value
            .as_str()
            .is_some_and(|name| ["float32", "float16", "int64", "uint8", "bool"].contains(&name)),
        "ints" => value.as_array().is_some_and(|all| all.iter().all(Value::is_u64)),
        "clock" => value == "measured" || value == "modelled",
        "objects" => value.as_array().is_some_and(|all| all.iter().all(Value::is_object)),
        other => panic!("the documentation names no type {other:?}"),
    }
}

/// Every line has the fields of its kind and no others, each of its type; ids are those of a stream without gaps.
pub fn check_lines(lines: &[Value]) {
    let schema = schema();
    for (at, line) in lines.iter().enumerate() {
        let kind = line["event"].as_str().unwrap();
        let own = schema.get(kind).unwrap_or_else(|| panic!("{kind:?} is not documented"));
        let any = if at == 0 { None } else { schema.get("any") };
        let want: BTreeMap<&String, &String> = own.iter().chain(any.into_iter().flatten()).collect();
        let have: BTreeSet<&String> = line.as_object().unwrap().keys().collect();
        assert_eq!(have, want.keys().copied().collect(), "{line}");
        for (name, kind) in want {
            assert!(fits(&line[name], kind), "{name} is no {kind} in {line}");
        }
        assert_eq!(kind == "header", at == 0);
    }
    let (header, events) = lines.split_first().unwrap();
    assert_eq!((&header["format"], &header["version"]), (&"tensorlab-telemetry".into(), &1.into()));
    assert_eq!(header["events"], events.len());
    let first = events[0]["id"].as_u64().unwrap();
    for (at, event) in events.iter().enumerate() {
        assert_eq!(event["id"], first + at as u64);
    }
}

/// Times of a lane never go back: kernels and copies of a stream follow each other, and so do the waits of the host.
fn check_times(events: &[Value]) {
    let mut lanes: HashMap<(String, String, String), u64> = HashMap::new();
    for event in events.iter().filter(|event| event.get("start_ns").is_some()) {
        let text = |name: &str| event[name].as_str().unwrap_or_default().to_string();
        let device = if text("to").starts_with("cuda") {
            text("to")
        } else {
            format!("{}{}", text("from"), text("device"))
        };
        let device = if event["event"] == "copy" { device.replace("cpu", "") } else { device };
        let lane = if event["event"] == "sync" { "host".into() } else { event["stream"].to_string() };
        let start = event["start_ns"].as_u64().unwrap();
        let end = start.checked_add(event["ns"].as_u64().unwrap()).unwrap();
        let last = lanes.entry((device, lane, text("clock"))).or_default();
        assert!(start >= *last, "{event} begins before {last}");
        *last = if event["event"] == "sync" { start } else { end };
    }
    assert!(lanes.len() >= 5, "{lanes:?}");
}

/// A free gives back what an allocation took, and the totals are the sums of both.
fn check_balance(events: &[Value]) {
    let mut held: HashMap<(String, u64), u64> = HashMap::new();
    let mut totals: HashMap<String, u64> = HashMap::new();
    let mut segments: HashMap<String, BTreeMap<u64, u64>> = HashMap::new();
    for event in events.iter().filter(|event| event["device"].as_str().is_some_and(|d| d.starts_with("cuda")))
    {
        let number = |name: &str| event[name].as_u64().unwrap();
        let device = event["device"].as_str().unwrap().to_string();
        let total = totals.entry(device.clone()).or_default();
        let mapped = segments.entry(device.clone()).or_default();
        match event["event"].as_str().unwrap() {
            "alloc" => {
                assert!(number("bytes") >= number("requested"));
                *total += number("bytes");
                assert_eq!(held.insert((device, number("address")), number("bytes")), None, "{event}");
            }
            "free" => {
                *total -= number("bytes");
                assert_eq!(held.remove(&(device, number("address"))), Some(number("bytes")), "{event}");
            }
            "segment" if event["mapped"] == true => {
                assert_eq!(mapped.insert(number("address"), number("bytes")), None);
            }
            "segment" => assert_eq!(mapped.remove(&number("address")), Some(number("bytes"))),
            _ => continue,
        }
        if event["event"] != "segment" {
            assert_eq!(event["allocated"], *total, "{event}");
        }
        assert_eq!(event["reserved"], mapped.values().sum::<u64>(), "{event}");
    }
    assert!(
        held.is_empty() && totals.len() == 2 && totals.values().all(|&total| total == 0),
        "{totals:?} {held:?}"
    );
}

#[test]
fn a_run_as_lines_is_as_documented_and_adds_up() {
    let folder = Folder::new("lines");
    let out = folder.file("lines.jsonl");
    // Nothing outlives the function, so all that it took is given back.
    let code = format!("let seen = telemetry::record(|| {{ {WORK} }});\nseen");
    let o = folder.run(&code, &["--json", "--telemetry-lines", &out]);
    assert!(o.status.success(), "{}", said(&o));
    let lines = read_lines(&out);
    check_lines(&lines);
    let events = &lines[1..];
    let kinds: BTreeSet<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(
        kinds.into_iter().collect::<Vec<_>>(),
        ["alloc", "copy", "free", "launch", "out_of_memory", "segment", "sync"]
    );
    check_times(events);
    check_balance(events);
    let seen: Value =
        serde_json::from_str(String::from_utf8_lossy(&o.stdout).lines().last().unwrap()).unwrap();
    same_sums(events, &seen);
}

/// What `telemetry::record` counts, counted again from the lines.
fn same_sums(events: &[Value], seen: &Value) {
    let on_gpu = |event: &Value, field: &str| event[field].as_str().is_some_and(|d| d.starts_with("cuda"));
    let of = |kind: &str| events.iter().filter(move |event| event["event"] == kind).collect::<Vec<_>>();
    for (name, from, to) in [("h2d", false, true), ("d2h", true, false), ("d2d", true, true)] {
        let copies: Vec<&Value> =
            of("copy").into_iter().filter(|c| (on_gpu(c, "from"), on_gpu(c, "to")) == (from, to)).collect();
        let sum = |field: &str| copies.iter().map(|c| c[field].as_u64().unwrap()).sum::<u64>();
        let want = &seen[name];
        assert!(!copies.is_empty(), "{name}");
        assert_eq!((&want["count"], &want["bytes"]), (&copies.len().into(), &sum("bytes").into()), "{name}");
        assert_eq!(want["blocking"], copies.iter().filter(|c| c["blocking"] == true).count());
        assert_eq!(want["pinned"], copies.iter().filter(|c| c["pinned"] == true).count());
        assert!((want["ms"].as_f64().unwrap() - sum("ns") as f64 / 1e6).abs() < 1e-9);
        let lines: Vec<&Value> = copies.iter().map(|c| &c["line"]).collect();
        assert_eq!(want["lines"].as_array().unwrap().iter().collect::<Vec<_>>(), lines);
    }
    let gpu = |kind: &str| of(kind).into_iter().filter(|event| on_gpu(event, "device")).count();
    assert_eq!(seen["launches"], gpu("launch"));
    assert_eq!(seen["allocations"], gpu("alloc"));
    let implicit = of("sync").into_iter().filter(|event| event["implicit"] == true).count();
    assert_eq!(
        (&seen["implicit_syncs"], &seen["syncs"]),
        (&implicit.into(), &(of("sync").len() - implicit).into())
    );
    assert_eq!(seen["oom"], of("out_of_memory").len());
    let holds: Vec<&Value> =
        events.iter().filter(|e| ["sync", "hold"].contains(&e["event"].as_str().unwrap())).collect();
    let told: Vec<Value> = holds
        .iter()
        .map(|e| serde_json::json!({"cause": e["cause"], "line": e["line"], "caller": e["caller"], "clock": e["clock"], "ms": e["ns"].as_u64().unwrap() as f64 / 1e6}))
        .collect();
    assert_eq!(seen["waits"], Value::Array(told));
    let waited: u64 = holds.iter().map(|e| e["ns"].as_u64().unwrap()).sum();
    assert!((seen["waited_ms"].as_f64().unwrap() - waited as f64 / 1e6).abs() < 1e-9);
    for device in ["cuda:0", "cuda:1"] {
        let totals = events.iter().filter(|e| e["device"] == device).filter_map(|e| e["allocated"].as_u64());
        assert_eq!(seen["peak"][device], totals.max().unwrap_or(0));
        assert_eq!(seen["leaked"][device], 0);
    }
    let mut by_dtype: BTreeMap<&str, u64> = BTreeMap::new();
    of("launch").into_iter().for_each(|e| *by_dtype.entry(e["dtype"].as_str().unwrap()).or_default() += 1);
    assert_eq!(seen["by_dtype"], serde_json::json!(by_dtype));
}

/// Each reason for which a device holds the host, told with its line.
#[test]
fn every_hold_of_the_host_has_a_cause_and_a_line() {
    let code =
        "let a = rand([1024, 1024], #{device: \"cuda\"}); let x = rand([1 << 20]); let small_there = ones([8], #{device: \"cuda\"});
let p = x.pin_memory();
cuda::synchronize();
let seen = telemetry::record(|| {
    let b = a @ a;
    x.to(\"cuda\", #{non_blocking: true});
    x.to(\"cuda\");
    p.to(\"cuda\", #{non_blocking: true});
    if (b.sum() > 0.0).item() { 1 } else { 2 };
    small_there.nonzero();
    b.cpu();
    cuda::synchronize();
});
seen";
    let (_keeps, seen) = evaluate(&machine("sim:t4"), code).unwrap();
    let seen = seen.cast::<rhai::Map>();
    let waits: Vec<rhai::Map> =
        seen["waits"].clone().cast::<rhai::Array>().into_iter().map(|w| w.cast()).collect();
    let told: Vec<(String, i64)> = waits
        .iter()
        .map(|wait| (wait["cause"].clone().into_string().unwrap(), wait["line"].as_int().unwrap()))
        .collect();
    let want = [
        ("pageable copy", 6),
        ("blocking copy", 7),
        ("item", 9),
        ("nonzero", 10),
        ("copy to cpu", 11),
        ("cuda::synchronize", 12),
    ];
    assert_eq!(told, want.map(|(cause, line)| (cause.to_string(), line)));
    assert_eq!(
        (seen["implicit_syncs"].as_int(), seen["syncs"].as_int()),
        (Ok(3), Ok(1)),
        "a hold is no wait"
    );
    let h2d = seen["h2d"].clone().cast::<rhai::Map>();
    assert_eq!((h2d["count"].as_int(), h2d["blocking"].as_int()), (Ok(3), Ok(2)));
    let all: f64 = waits.iter().map(|wait| wait["ms"].as_float().unwrap()).sum();
    assert!(all > 0.5 && (seen["waited_ms"].as_float().unwrap() - all).abs() < 1e-9, "{all}");
}

#[test]
fn a_queue_without_room_and_memory_given_back_hold_the_host() {
    let code = "let a = zeros([1 << 17], #{device: \"cuda\"});
cuda::synchronize();
let seen = telemetry::record(|| {
    for i in 0..1500 {
        a.zero_();
    }
    let big = rand([1 << 23], #{device: \"cuda\"});
    drop(big);
    a.zero_();
    cuda::empty_cache();
});
seen.waits.map(|w| `${w.cause} ${w.line}`)";
    let (_keeps, told) = evaluate(&machine("sim:tiny"), code).unwrap();
    let told: Vec<String> =
        told.cast::<rhai::Array>().into_iter().map(|t| t.into_string().unwrap()).collect();
    assert!(told.iter().any(|t| t == "full queue 5"), "{told:?}");
    assert_eq!(told.last().map(String::as_str), Some("giving memory back 10"), "{told:?}");
}

#[test]
fn busy_and_idle_make_up_the_run() {
    let code = "let a = rand([1024, 1024], #{device: \"cuda:0\"});
let s = cuda::Stream();
cuda::synchronize();
let seen = telemetry::record(|| {
    a @ a;
    with cuda::stream(s) { a @ a; }
    cuda::synchronize();
    rand([1024], #{device: \"cuda:1\"});
});
[seen.busy_ms[\"cuda:0\"], seen.idle_ms[\"cuda:0\"], seen.busy_ms[\"cuda:1\"], seen.idle_ms[\"cuda:1\"]]";
    let (_keeps, got) = evaluate(&machine("sim:t4x2"), code).unwrap();
    let got: Vec<f64> = got.cast::<rhai::Array>().into_iter().map(|t| t.as_float().unwrap()).collect();
    let [busy, idle, other_busy, other_idle] = got[..] else { panic!("{got:?}") };
    // Two products of 2 * 1024^3 operations at 4.3 TFLOP/s, one after the other whatever their streams.
    assert!((0.9..1.2).contains(&busy) && idle < 0.3, "{got:?}");
    assert!(other_busy < 0.01 && (other_busy + other_idle - busy - idle).abs() < 0.05, "{got:?}");
}

/// A short kernel comes before what another stream has queued, which was told already.
#[test]
fn a_device_that_is_overtaken_is_never_idle() {
    let code =
        "let a = rand([2048, 2048], #{device: \"cuda\"}); let b = rand([512, 512], #{device: \"cuda\"});
let s = cuda::Stream();
a @ a; b @ b; with cuda::stream(s) { b @ b; }
cuda::synchronize();
let seen = telemetry::record(|| {
    for i in 0..5 { a @ a; }
    with cuda::stream(s) { for i in 0..4 { b @ b; } }
    cuda::synchronize();
});
[seen.busy_ms[\"cuda:0\"], seen.idle_ms[\"cuda:0\"]]";
    let (_keeps, got) = evaluate(&machine("sim:t4"), code).unwrap();
    let got: Vec<f64> = got.cast::<rhai::Array>().into_iter().map(|t| t.as_float().unwrap()).collect();
    assert!((20.2..20.4).contains(&got[0]) && got[1] < 0.03, "{got:?}");
}

/// A check can tell who computed, however much the other did as well.
#[test]
fn work_is_told_of_each_device_without_what_only_moves() {
    let code = "let x = ones([4, 256]);
let there = x.to(\"cuda\");
let seen = telemetry::record(|| {
    let moved = [x[1], x.clone(), x.to(float64), x.t().contiguous(), x.to(\"cuda\")];
    for i in 0..5 { there * 2.0; }
    x.sum();
    x + x;
});
[seen.work.cpu.ops, seen.work.cpu.bytes, seen.work.cpu.flops, seen.work.cpu.line, seen.work[\"cuda:0\"].ops,
 seen.work[\"cuda:0\"].bytes]";
    // The sum reads 1024 floats and writes one; `x + x` reads its operand twice.
    assert_eq!(on("sim:t4", code), format!("[2, {}, 2048, 7, 5, {}]", 4100 + 3 * 4096, 5 * 8192));
}

/// As PyTorch's `AccumulateGrad` takes over a gradient that nobody else holds, and copies any other.
#[test]
fn a_leaf_takes_over_its_first_gradient_where_nobody_else_holds_it() {
    let cases = [
        ("let x = leaf(); let l = (x * 2.0).sum();", "l.backward()", 0),
        ("let x = leaf(); let l = x.exp().sum();", "l.backward()", 0),
        ("let x = leaf(); let l = (x @ x).sum();", "l.backward()", 0),
        (
            "let n = nn::Linear(8, 8).to(\"cuda\"); let l = n.forward(ones([4, 8], #{device: \"cuda\"})).sum();",
            "l.backward()",
            0,
        ),
        ("let x = leaf(); let l = softmax(x, -1).select(1, 0).sum();", "l.backward()", 0),
        // An expanded gradient, and one that the caller keeps.
        ("let x = leaf(); let l = x.sum();", "l.backward()", 1),
        ("let x = leaf(); let y = x + 1.0; let g = ones([8, 8], #{device: \"cuda\"});", "y.backward(g)", 1),
    ];
    for (before, pass, copies) in cases {
        let code = format!(
            "fn leaf() {{ rand([8, 8], #{{device: \"cuda\", requires_grad: true}}) }}
{before}
let seen = telemetry::record(|| {{ {pass} }});
if \"clone\" in seen.by_op {{ seen.by_op.clone.float32 }} else {{ 0 }}"
        );
        assert_eq!(on("sim:t4", &code), copies.to_string(), "{before}");
    }
}

/// An event behind all of a stream's work is reached with it, also where a short kernel of another stream came between.
#[test]
fn an_event_behind_work_that_is_overtaken_is_reached_with_it() {
    let code = "let a = zeros([8000000], #{device: \"cuda\"}); let b = zeros([300000], #{device: \"cuda\"});
let s = cuda::Stream();
let main = cuda::current_stream();
a + a; b + b; with cuda::stream(s) { b + b; }
cuda::synchronize();
let timed = || cuda::Event(#{enable_timing: true});
let start = timed.call();
let end = timed.call();
start.record();
for i in 0..5 { a + a; }
end.record();
with cuda::stream(s) { for i in 0..4 { b + b; } }
let before = end.query();
end.synchronize();
let reached = main.query();
let alone = timed.call();
alone.record();
cuda::synchronize();
[before, reached, (end.elapsed_time(alone) * 100.0).round()]";
    assert_eq!(on("sim:t4", code), "[false, true, 0.0]");
}

#[test]
fn the_header_says_where_the_lines_come_from() {
    let folder = Folder::new("header");
    let out = folder.file("lines.jsonl");
    // A script that fails leaves what it did.
    let o = folder.run("let x = ones([4], #{device: \"cuda\"});\nx @ 1.0", &["--telemetry-lines", &out]);
    assert_eq!(o.status.code(), Some(1));
    let lines = read_lines(&out);
    check_lines(&lines);
    let header = &lines[0];
    assert!(header["origin"].as_str().unwrap().ends_with("work.rhai"));
    assert_eq!(header["dropped"], 0);
    let devices = header["devices"].as_array().unwrap();
    let names: Vec<&str> = devices.iter().map(|d| d["device"].as_str().unwrap()).collect();
    assert_eq!(names, ["cpu", "cuda:0", "cuda:1"]);
    assert_eq!((&devices[1]["simulated"], &devices[0]["simulated"]), (&true.into(), &true.into()));
    assert!(lines[1..].iter().any(|e| e["event"] == "alloc" && e["op"] == "ones" && e["line"] == 1));
    let o = folder.run("1", &["--telemetry-lines", "/nowhere/at/all.jsonl"]);
    assert!(
        o.status.code() == Some(2) && said(&o).contains("cannot write /nowhere/at/all.jsonl"),
        "{}",
        said(&o)
    );
}

#[test]
fn a_function_is_written_as_lines() {
    let folder = Folder::new("function");
    let out = folder.file("lines.jsonl");
    let code = format!(
        "let x = ones([10], #{{device: \"cuda\"}});
         telemetry::export_lines(\"{out}\", || {{ let y = x * 2; }})"
    );
    assert_eq!(on("sim:t4", &code), "3", "an allocation, a launch and a free");
    let lines = read_lines(&out);
    check_lines(&lines);
    let kinds: Vec<&str> = lines.iter().map(|e| e["event"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["header", "alloc", "launch", "free"]);
    let fault = crate::parallel::fault("sim:t4", "telemetry::export_lines(\"/nowhere/at/all.jsonl\", || 1)");
    assert!(fault.message.starts_with("cannot write /nowhere/at/all.jsonl: "), "{}", fault.report);
}

/// The slices of a trace: lane, start, end, name.
fn slices(trace: &Value) -> Vec<((u64, u64), f64, f64, &Value)> {
    let all = trace["traceEvents"].as_array().unwrap();
    let complete = all.iter().filter(|e| e["ph"] == "X");
    complete
        .map(|e| {
            let lane = (e["pid"].as_u64().unwrap(), e["tid"].as_u64().unwrap());
            let (start, length) = (e["ts"].as_f64().unwrap(), e["dur"].as_f64().unwrap());
            assert!(start.is_finite() && start >= 0.0 && length.is_finite() && length >= 0.0, "{e}");
            (lane, start, start + length, e)
        })
        .collect()
}

#[test]
fn a_chrome_trace_has_every_slice_in_a_named_lane_and_none_crosses_another() {
    let folder = Folder::new("trace");
    let (out, lines) = (folder.file("trace.json"), folder.file("lines.jsonl"));
    let o = folder.run(WORK, &["--trace", &out, "--telemetry-lines", &lines]);
    assert!(o.status.success(), "{}", said(&o));
    let trace: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    let mut named: HashMap<(u64, u64), BTreeMap<&str, &str>> = HashMap::new();
    for event in trace["traceEvents"].as_array().unwrap() {
        let fields: BTreeSet<&str> = event.as_object().unwrap().keys().map(String::as_str).collect();
        let lane = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
        let name = event["name"].as_str().unwrap();
        assert!(!name.is_empty() && event["args"].is_object());
        match event["ph"].as_str().unwrap() {
            "M" => {
                assert!(["process_name", "thread_name"].contains(&name), "{event}");
                let old =
                    named.entry(lane).or_default().insert(name, event["args"]["name"].as_str().unwrap());
                assert_eq!(old, None, "a lane is named once: {event}");
            }
            "X" => {
                let want = ["args", "cat", "dur", "name", "ph", "pid", "tid", "ts"];
                assert_eq!(fields, BTreeSet::from(want), "{event}");
                assert!(["kernel", "memcpy", "sync"].contains(&event["cat"].as_str().unwrap()));
                assert!(fits(&event["args"]["clock"], "clock") && event["args"]["line"].is_u64(), "{event}");
            }
            other => panic!("no phase {other:?} is written"),
        }
    }
    let mut all = slices(&trace);
    let counted = read_lines(&lines).iter().filter(|e| e.get("start_ns").is_some()).count();
    assert_eq!(all.len(), counted, "every timed event is a slice");
    let threads = all.iter().map(|(lane, ..)| named.get(lane).expect("a lane with a name"));
    assert!(threads.into_iter().all(|names| names.contains_key("thread_name")));
    // Within a lane and a clock, slices lie one behind the other or one in the other.
    all.sort_by(|a, b| (a.0, a.1).partial_cmp(&(b.0, b.1)).unwrap().then(b.2.total_cmp(&a.2)));
    let mut open: Vec<((u64, u64), f64)> = Vec::new();
    for (lane, start, end, event) in all {
        while open.last().is_some_and(|(other, until)| *other != lane || *until <= start + 1e-4) {
            open.pop();
        }
        assert!(
            open.last().is_none_or(|(_, until)| end <= until + 1e-4),
            "{event} crosses what is open: {open:?}"
        );
        open.push((lane, end));
    }
}

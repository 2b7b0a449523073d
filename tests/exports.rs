//! What leaves a session: memory snapshots for PyTorch's viewer, the summary on standard error, `tensorlab bench`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use tensorlab::script::pickle::{Data, dump};

use crate::parallel::{fault, on};

fn program(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tensorlab")).args(args).env_remove("TENSORLAB_DEVICES").output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A folder of its own, removed afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("tensorlab-exports-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_string()
    }

    fn script(&self, code: &str) -> String {
        let path = self.file("script.rhai");
        std::fs::write(&path, code).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What `pickle.load` makes of a file: as much of the format as snapshots use.
fn load(bytes: &[u8]) -> Value {
    let (mut stack, mut marks, mut memo): (Vec<Value>, Vec<usize>, BTreeMap<u32, Value>) = Default::default();
    let mut at = 0;
    let mut take = |n: usize| {
        at += n;
        &bytes[at - n..at]
    };
    let word = |b: &[u8]| u32::from_le_bytes(b.try_into().unwrap());
    loop {
        match take(1)[0] {
            0x80 => assert_eq!(take(1), [2]),
            b'}' => stack.push(Value::Object(Default::default())),
            b']' => stack.push(Value::Array(Vec::new())),
            b'(' => marks.push(stack.len()),
            b'K' => stack.push(take(1)[0].into()),
            b'M' => stack.push(u16::from_le_bytes(take(2).try_into().unwrap()).into()),
            b'J' => stack.push(i32::from_le_bytes(take(4).try_into().unwrap()).into()),
            0x8a => {
                assert_eq!(take(1), [8]);
                stack.push(i64::from_le_bytes(take(8).try_into().unwrap()).into());
            }
            0x88 => stack.push(true.into()),
            0x89 => stack.push(false.into()),
            b'X' => {
                let n = word(take(4)) as usize;
                stack.push(text(take(n)).into());
            }
            b'r' => {
                memo.insert(word(take(4)), stack.last().unwrap().clone());
            }
            b'j' => stack.push(memo[&word(take(4))].clone()),
            0x86 => {
                let pair = stack.split_off(stack.len() - 2);
                stack.push(pair.into());
            }
            b'e' => {
                let items = stack.split_off(marks.pop().unwrap());
                stack.last_mut().unwrap().as_array_mut().unwrap().extend(items);
            }
            b'u' => {
                let items = stack.split_off(marks.pop().unwrap());
                let dict = stack.last_mut().unwrap().as_object_mut().unwrap();
                for pair in items.chunks(2) {
                    dict.insert(pair[0].as_str().unwrap().into(), pair[1].clone());
                }
            }
            b'.' => return stack.pop().unwrap(),
            other => panic!("opcode {other:#x}"),
        }
    }
}

fn actions(trace: &Value) -> Vec<(String, u64)> {
    let entry = |e: &Value| (e["action"].as_str().unwrap().to_string(), e["size"].as_u64().unwrap());
    trace.as_array().unwrap().iter().map(entry).collect()
}

#[test]
fn a_run_writes_what_the_allocators_did_and_hold() {
    let folder = Folder::new("run");
    let out = folder.file("memory.pickle");
    let script = folder.script("let x = zeros([1000], #{device: \"cuda:0\"});\nx + 1.0;\nprint(\"done\")\n");
    let o = program(&["run", "--devices", "sim:t4,tiny", "--memory-snapshot", &out, &script]);
    assert!(o.status.success(), "{}", text(&o.stderr));
    assert_eq!(text(&o.stdout), "done\n");
    let snapshot = load(&std::fs::read(&out).unwrap());
    let segment = &snapshot["segments"][0];
    assert_eq!((segment["device"].as_u64(), segment["total_size"].as_u64()), (Some(0), Some(2 << 20)));
    let block = &segment["blocks"][0];
    assert_eq!(
        (block["requested_size"].as_u64(), block["state"].as_str()),
        (Some(4000), Some("active_allocated"))
    );
    let frame = &block["frames"][0];
    assert_eq!((frame["line"].as_u64(), frame["name"].as_str()), (Some(1), Some("zeros")));
    assert!(frame["filename"].as_str().unwrap().ends_with("script.rhai"));
    let traces = snapshot["device_traces"].as_array().unwrap();
    let expected = [
        ("segment_alloc", 2 << 20),
        ("alloc", 4000),
        ("alloc", 4000),
        ("free_requested", 4000),
        ("free_completed", 4000),
    ];
    assert_eq!(actions(&traces[0]), expected.map(|(a, n)| (a.to_string(), n)));
    assert_eq!(traces[1].as_array().unwrap().len(), 0);
    assert_eq!(snapshot["tensorlab_devices"][0]["name"], "Tesla T4 (simulated)");
    assert_eq!(snapshot["tensorlab_devices"][0]["clock"], "modelled");
}

#[test]
fn running_out_of_memory_is_in_the_file() {
    let folder = Folder::new("oom");
    let out = folder.file("memory.pickle");
    let script = folder.script(
        "let x = zeros([25 << 20], #{device: \"cuda\"});\nlet y = zeros([60 << 20], #{device: \"cuda\"});",
    );
    let o = program(&["run", "--devices", "sim:tiny", "--memory-snapshot", &out, &script]);
    assert_eq!(o.status.code(), Some(3), "{}", text(&o.stderr));
    let snapshot = load(&std::fs::read(&out).unwrap());
    let entries = snapshot["device_traces"][0].as_array().unwrap();
    let oom = entries.iter().find(|e| e["action"] == "oom").unwrap();
    assert_eq!((oom["size"].as_u64(), oom["device_free"].as_u64()), (Some(240 << 20), Some(156 << 20)));
    assert_eq!(oom["frames"][0]["line"], 2);
    assert_eq!(snapshot["segments"][0]["allocated_size"], 100 << 20);
}

#[test]
fn a_script_writes_one_itself() {
    let folder = Folder::new("script");
    let (now, history) = (folder.file("now.pickle"), folder.file("history.pickle"));
    let code = format!(
        "let x = ones([10], #{{device: \"cuda\"}});
         telemetry::export_memory_snapshot(\"{now}\");
         telemetry::export_memory_snapshot(\"{history}\", || {{ let y = x * 2; }})"
    );
    assert_eq!(on("sim:t4", &code), "3", "an allocation, a launch and a free");
    let (now, history) = (load(&std::fs::read(now).unwrap()), load(&std::fs::read(history).unwrap()));
    assert_eq!(now["segments"], history["segments"]);
    assert_eq!(actions(&now["device_traces"][0]), []);
    assert_eq!(actions(&history["device_traces"][0]).len(), 3);
    let fault = fault("sim:t4", "telemetry::export_memory_snapshot(\"/nowhere/at/all.pickle\")");
    assert!(fault.message.starts_with("cannot write /nowhere/at/all.pickle: "), "{}", fault.report);
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_and_no_panic() {
    let folder = Folder::new("unwritable");
    let script = folder.script("1");
    let o = program(&["run", "--memory-snapshot", "/nowhere/at/all.pickle", &script]);
    assert_eq!(o.status.code(), Some(2));
    assert!(text(&o.stderr).contains("cannot write /nowhere/at/all.pickle"), "{}", text(&o.stderr));
}

#[test]
fn numbers_of_every_size_survive() {
    let numbers =
        [0, 255, 256, 65_535, 65_536, -1, i64::from(i32::MAX), i64::from(i32::MAX) + 1, i64::MIN, 1 << 47];
    let data = Data::List(numbers.map(Data::Int).to_vec());
    assert_eq!(load(&dump(&data)), serde_json::json!(numbers));
}

#[test]
fn telemetry_is_summed_up_on_standard_error() {
    let folder = Folder::new("telemetry");
    let script = folder.script(
        "let y = ones([1024]) + 1.0; let x = ones([1024]).cuda(); x.add_(1.0); print(x.sum().item());",
    );
    let o = program(&["run", "--devices", "sim:t4", "--telemetry", &script]);
    assert_eq!(text(&o.stdout), "2048.0\n");
    let said = text(&o.stderr);
    for piece in ["host to device    1 copy, 4096 bytes", "modelled", "waits", "1 implicit", "peak on cuda:0"]
    {
        assert!(said.contains(piece), "{piece:?} is missing in\n{said}");
    }
    // `telemetry::record` counts those on GPUs, and the lines have an event for each.
    assert!(said.contains("launches          2 on GPUs, 3 on the CPU\n"), "{said}");
}

#[test]
fn characters_that_a_picture_lacks_are_counted_once() {
    let folder = Folder::new("lacking");
    let save = |name: &str| {
        let path = folder.0.join(name).display().to_string();
        let title = "\u{5b66}\u{7fd2} \u{5b66}";
        let script = folder.script(&format!(
            "plot::figure(#{{title: \"{title}\"}}); plot::line([1, 2], #{{label: \"é µ\"}}); plot::save(\"{path}\");"
        ));
        text(&program(&["run", "--devices", "cpu", &script]).stderr)
    };
    let said = save("f.png");
    assert_eq!(said.matches("2 characters of the figure are not in the font").count(), 1, "{said}");
    assert_eq!(save("f.svg"), "");
}

#[test]
fn a_bench_has_a_clock_with_every_figure() {
    let o = program(&["bench", "--json", "--repeat", "1", "--devices", "sim:t4"]);
    assert!(o.status.success(), "{}", text(&o.stderr));
    let document: Value = serde_json::from_str(&text(&o.stdout)).unwrap();
    let figures = document["figures"].as_array().unwrap();
    let of = |device: &str| figures.iter().filter(|f| f["device"] == device).collect::<Vec<_>>();
    assert_eq!((of("cpu").len(), of("cuda:0").len()), (3, 6));
    assert!(of("cpu").iter().all(|f| f["clock"] == "modelled" && f["median_ms"].as_f64().unwrap() > 0.0));
    assert!(of("cuda:0").iter().all(|f| f["clock"] == "modelled"));
    // A pinned copy at 12.2 GB/s, less its latency.
    let pinned = of("cuda:0").into_iter().find(|f| f["name"].as_str().unwrap().contains("pinned")).unwrap();
    assert!((1.2e10..1.22e10).contains(&pinned["rate"].as_f64().unwrap()), "{pinned}");
    let table = text(&program(&["bench", "--repeat", "1"]).stdout);
    assert!(table.contains("cpu: ") && table.contains("measured") && !table.contains("modelled"), "{table}");
}

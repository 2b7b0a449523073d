//! The program as a user meets it: arguments, exit codes, and what it says of bad input.

mod class;
mod leftovers;
mod lesson_notebook;
mod plan;
mod signals;
mod streams;
mod ways;

use std::io::Read;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tensorlab::cli::exit;

use crate::feed;

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tensorlab"));
    command.env_remove("TENSORLAB_DEVICES").env("NO_COLOR", "1");
    command
}

/// Runs a script from standard input.
fn script(arguments: &[&str], code: &str) -> Output {
    feed::run(program().arg("run").args(arguments).arg("-"), code)
}

fn out(o: &Output) -> String {
    String::from_utf8(o.stdout.clone()).unwrap()
}

fn err(o: &Output) -> String {
    String::from_utf8(o.stderr.clone()).unwrap()
}

/// Checks the exit status and that every piece is part of the report.
fn fails(o: &Output, code: i32, pieces: &[&str]) {
    let text = err(o);
    assert_eq!(o.status.code(), Some(code), "{text}");
    for piece in pieces {
        assert!(text.contains(piece), "{piece:?} is missing in:\n{text}");
    }
    assert!(!text.contains("panicked"), "{text}");
}

#[test]
fn output_is_the_scripts_alone_and_the_last_value_is_json() {
    let o = script(&["--json"], "print(\"hello\"); #{x: tensor([[1.0, 2.0]]), n: 3}");
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    let text = out(&o);
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(text.lines().next(), Some("hello"));
    assert_eq!(last["n"], 3);
    assert_eq!(last["x"]["data"], serde_json::json!([[1.0, 2.0]]));
    assert_eq!(last["x"]["device"], "cpu");
}

#[test]
fn a_mistake_is_shown_with_its_line_a_caret_and_a_hint() {
    let o = script(&[], "let a = ones([2, 3]);\nlet b = ones([2, 4]);\nlet c = a + b;\n");
    fails(
        &o,
        1,
        &[
            "RuntimeError: The size of tensor a (3) must match",
            ":3:",
            "let c = a + b;",
            "^",
            "[2, 3]",
            "hint:",
        ],
    );
}

#[test]
fn a_syntax_error_has_its_place() {
    fails(&script(&[], "let x = ;\n"), 1, &["SyntaxError", ":1:", "let x = ;"]);
}

#[test]
fn an_unknown_function_gets_a_suggestion() {
    fails(&script(&[], "let x = oness([2]);"), 1, &["oness", "did you mean `ones`?"]);
}

#[test]
fn mixed_devices_are_refused_in_pytorchs_words() {
    let o = script(&["--devices", "sim:t4x2"], "let a = ones([2]);\nlet b = a.to(\"cuda\");\na + b");
    let text =
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!";
    fails(&o, 1, &[text, ":3:", "hint:"]);
    // PyTorch's kernel says mat2; what to do is said in the program's own names.
    let o = script(&["--devices", "sim:t4"], "let right = ones([2, 2]);\nright.cuda() @ right");
    fails(&o, 1, &["but got mat2 is on cpu", ":2:", "hint: move `right` with `.to(\"cuda:0\")`"]);
    let o = script(&["--devices", "sim:t4"], "let x = ones([2, 2]);\nnn::Linear(2, 2).cuda().forward(x)");
    fails(&o, 1, &["but got mat1 is on cpu", ":2:", "hint: move `x` with `.to(\"cuda:0\")`"]);
}

#[test]
fn a_device_that_does_not_exist_ends_with_4() {
    let o = script(&["--devices", "cpu"], "ones([2], #{device: \"cuda\"})");
    fails(&o, 4, &["Found no NVIDIA driver on your system", "--devices sim:t4"]);
    let o = script(&["--devices", "sim:t4"], "ones([2]).to(\"cuda:7\")");
    fails(&o, 4, &["invalid device ordinal"]);
}

#[test]
fn devices_that_make_no_sense_are_usage_errors() {
    fails(&script(&["--devices", "sim:t5"], "1"), 2, &["t5", "t4"]);
    fails(&script(&["--devices", "banana"], "1"), 2, &["banana"]);
}

#[test]
fn out_of_memory_ends_with_3_and_names_a_remedy() {
    let o = script(
        &["--devices", "sim:tiny"],
        "let kept = ones([1024, 1024, 32], #{device: \"cuda\"});\nlet more = ones([1024, 1024, 64], #{device: \"cuda\"});",
    );
    fails(&o, 3, &["CUDA out of memory. Tried to allocate 256.00 MiB", "hint:"]);
}

#[test]
fn a_tensor_of_10_to_the_18_elements_is_an_error() {
    let o = script(&[], "zeros([1000000000, 1000000000])");
    assert!(matches!(o.status.code(), Some(1 | 3)), "{:?} {}", o.status, err(&o));
    assert!(err(&o).contains("--> "), "{}", err(&o));
    fails(&script(&[], "zeros([4611686018427387904, 1048576])"), 1, &["Storage size calculation overflowed"]);
}

#[test]
fn recursion_without_end_is_an_error() {
    fails(&script(&[], "fn f(x) { f(x + 1) }\nf(0)"), 1, &["RecursionError"]);
}

#[test]
fn an_endless_loop_ends_on_time() {
    let start = Instant::now();
    let o = script(&["--timeout", "0.5"], "loop { }");
    assert!(start.elapsed() < Duration::from_secs(5));
    fails(&o, 124, &["timed out after 0.5 s"]);
    let o = script(
        &["--timeout", "0.5"],
        "let x = ones([1024, 1024]); try { loop { x = x @ x; } } catch (e) { loop { } }",
    );
    fails(&o, 124, &["timed out"]);
}

/// As with `tensorlab docs | head -1`, which stops reading after a line.
#[cfg(target_os = "linux")]
#[test]
fn a_reader_that_goes_ends_no_command_badly_and_a_full_disk_is_told() {
    let shell = |line: &str| {
        let line = line.replace("tensorlab", env!("CARGO_BIN_EXE_tensorlab"));
        Command::new("bash").args(["-c", &format!("set -o pipefail; {line}")]).output().unwrap()
    };
    for answer in ["docs", "devices --devices sim:t4x8", "doctor", "lesson list"] {
        let o = shell(&format!("tensorlab {answer} | true"));
        assert!(!err(&o).contains("panicked"), "{answer}: {}", err(&o));
        assert_eq!(o.status.code(), Some(0), "{answer}: {}", err(&o));
        let o = shell(&format!("tensorlab {answer} > /dev/full"));
        assert_eq!(o.status.code(), Some(1), "{answer}");
        assert!(err(&o).contains("cannot write to standard output"), "{answer}: {}", err(&o));
    }
}

#[test]
fn a_missing_file_a_folder_a_binary_and_an_empty_script() {
    let run = |path: &str| program().args(["run", path]).stdin(Stdio::null()).output().unwrap();
    fails(&run("no/such/file.rhai"), 2, &["no/such/file.rhai", "cannot read"]);
    fails(&run("src"), 2, &["folder"]);
    fails(&run(env!("CARGO_BIN_EXE_tensorlab")), 2, &["binary file"]);
    let empty = script(&[], "");
    assert_eq!((empty.status.code(), out(&empty)), (Some(0), String::new()));
}

#[test]
fn a_broken_lesson_names_its_place() {
    let folder = std::env::temp_dir().join(format!("tensorlab-lesson-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("broken.md");
    std::fs::write(&file, "+++\nid = \"x\"\ntitel = \"oops\"\n+++\n\n# X\n\n```rhai run\nlet a = 1;\n")
        .unwrap();
    let o = program().args(["lesson", "verify"]).arg(&file).stdin(Stdio::null()).output().unwrap();
    fails(&o, 2, &["broken.md:3", "titel"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn errors_can_be_caught_and_asked() {
    let code = "try { ones([2]) + ones([3]) } catch (e) { print(`${e.kind}: ${e.message}`); }";
    let o = script(&[], code);
    assert_eq!(
        out(&o).lines().next().map(|l| l.starts_with("RuntimeError: The size of tensor a (2)")),
        Some(true),
        "{}{}",
        out(&o),
        err(&o)
    );
    let code = "try { parse_json(\"{LONG: 1}\") } catch (e) { print(e.kind); }";
    assert_eq!(out(&script(&[], code)), "ValueError\n");
}

#[test]
fn a_trace_is_written_and_says_which_clock_it_has() {
    let file = std::env::temp_dir().join(format!("tensorlab-trace-{}.json", std::process::id()));
    let path = file.to_str().unwrap().to_string();
    let o = script(
        &["--devices", "sim:t4", "--trace", &path, "--telemetry"],
        "let x = ones([64, 64]).to(\"cuda\"); (x @ x).sum().item()",
    );
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    assert!(err(&o).contains("modelled"), "{}", err(&o));
    let trace: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    assert!(events.iter().any(|e| e["cat"] == "memcpy" && e["args"]["clock"] == "modelled"));
    assert!(events.iter().all(|e| e["ph"] == "M" || (e["ts"].is_number() && e["dur"].is_number())));
    std::fs::remove_file(&file).unwrap();
}

/// What is told of a run takes no script's place, whatever it is called.
#[test]
fn no_script_is_written_over() {
    let folder = std::env::temp_dir().join(format!("tensorlab-over-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let code = "telemetry::export_chrome_trace(\"own.rhai\", || 1);";
    for (name, code) in [("own.rhai", code), ("other.txt", "1 + 1")] {
        std::fs::write(folder.join(name), code).unwrap();
    }
    let run =
        |arguments: &[&str]| program().current_dir(&folder).arg("run").args(arguments).output().unwrap();
    for option in ["--trace", "--telemetry-lines", "--memory-snapshot"] {
        fails(&run(&[option, "own.rhai", "own.rhai"]), 2, &["own.rhai would be written over"]);
        fails(&run(&[option, "./other.txt", "other.txt"]), 2, &["other.txt would be written over"]);
        fails(
            &run(&[option, "own.rhai", "other.txt"]),
            2,
            &["cannot write own.rhai", "a script or a notebook"],
        );
    }
    fails(
        &run(&["--trace", "a.json", "--telemetry-lines", "./a.json", "other.txt"]),
        2,
        &["a.json would be"],
    );
    assert_eq!(run(&["--trace", "a.json", "other.txt"]).status.code(), Some(0));
    assert_eq!(std::fs::read_to_string(folder.join("own.rhai")).unwrap(), code);
    assert_eq!(std::fs::read_to_string(folder.join("other.txt")).unwrap(), "1 + 1");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// What is set for PyTorch's allocator and changes nothing here is no secret.
#[test]
fn settings_of_the_allocator_that_are_not_followed_are_told_of_once() {
    for (devices, times) in [("sim:tiny", 1), ("cpu", 0)] {
        let mut run = program();
        run.args(["run", "--devices", devices, "-"])
            .env("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True");
        let o = feed::run(&mut run, "print(1);");
        let told = err(&o).matches("PYTORCH_CUDA_ALLOC_CONF is set and not followed").count();
        assert_eq!((o.status.code(), told), (Some(0), times), "{devices}: {}", err(&o));
    }
    let o = feed::run(program().args(["run", "--devices", "sim:tiny", "-"]), "print(1);");
    assert!(!err(&o).contains("ALLOC_CONF"), "{}", err(&o));
}

/// A run of hours is not lost at its end, and what was there before stays.
#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_run() {
    let folder = std::env::temp_dir().join(format!("tensorlab-unwritable-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("sub")).unwrap();
    std::fs::write(folder.join("one.rhai"), "print(42); exit(3)").unwrap();
    std::fs::write(folder.join("old.json"), "old").unwrap();
    let run = |arguments: &[&str]| program().current_dir(&folder).args(arguments).output().unwrap();
    for option in ["--trace", "--telemetry-lines", "--memory-snapshot"] {
        for (path, why) in [
            ("none/t.json", "there is no folder none"),
            ("sub", "it is a folder"),
            ("new/", "it names a folder"),
            ("one.rhai/t.json", "there is no folder one.rhai"),
        ] {
            let o = run(&["run", option, path, "one.rhai"]);
            fails(&o, 2, &[&format!("cannot write {path}: {why}")]);
            assert!(out(&o).is_empty(), "{option} {path}: {}", out(&o));
        }
        // A file that could be written is as it was, where the script is not there.
        assert_eq!(run(&["run", option, "old.json", "no.rhai"]).status.code(), Some(2));
    }
    for export in ["chrome_trace", "lines", "memory_snapshot"] {
        let o = script(&[], &format!("telemetry::export_{export}(\"none/t.json\", || print(42))"));
        fails(&o, 1, &["ValueError: cannot write none/t.json: there is no folder none"]);
        assert!(out(&o).is_empty(), "{export}: {}", out(&o));
    }
    let o = run(&["notebook", "run", "one.rhai", "--output", "none/two.rhai"]);
    fails(&o, 2, &["cannot write none/two.rhai: there is no folder none"]);
    let o = run(&["lesson", "export", "moving", "--html", "none/page.html"]);
    fails(&o, 2, &["cannot write none/page.html: there is no folder none"]);
    assert_eq!(std::fs::read_to_string(folder.join("old.json")).unwrap(), "old");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3, "something was left");
    assert_eq!(run(&["run", "--trace", "old.json", "one.rhai"]).status.code(), Some(3));
    assert_ne!(std::fs::read_to_string(folder.join("old.json")).unwrap(), "old");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_script_chooses_its_exit_status() {
    for (code, status) in [
        ("exit(3); print(1);", 3),
        ("fn f() { exit(7) } f(); 1", 7),
        ("exit()", 0),
        ("exit(-1)", 255),
        ("[1].map(|x| exit(4));", 4),
    ] {
        let o = script(&[], code);
        assert_eq!((o.status.code(), out(&o).as_str()), (Some(status), ""), "{code}");
    }
    for (code, told) in [("exit(`no ${1 + 1}`)", "no 2\n"), ("exit(2.5)", "2.5\n"), ("exit(true)", "")] {
        let o = script(&[], code);
        assert_eq!((o.status.code(), out(&o).as_str(), err(&o).as_str()), (Some(1), "", told), "{code}");
    }
    // Functions that the engine calls for the script end it too, on the script's own thread.
    for code in [
        "data::Dataset(3, |i| exit(4))[1]",
        "for b in data::DataLoader(data::Dataset(3, |i| exit(4))) { print(b); }",
        "for b in data::DataLoader([1, 2], #{collate_fn: |s| exit(4)}) { print(b); }",
        "for b in data::DataLoader([1, 2], #{batch_size: (), collate_fn: |s| exit(4)}) { print(b); }",
        "next(iter(data::DataLoader(#{len: 2, get: |i| exit(4)})))",
        "data::DataLoader(#{len: || exit(4), get: |i| i})",
    ] {
        let o = script(&[], &format!("{code}; print(\"on\");"));
        assert_eq!((o.status.code(), out(&o).as_str(), err(&o).as_str()), (Some(4), "", ""), "{code}");
    }
    assert_eq!(script(&[], "exit(3 + ())").status.code(), Some(1), "a fault has its own");
    let o = script(
        &[],
        "try { [1].map(|x| exit(5)); } catch { } let xs = [2, 1]; xs.sort(|a, b| exit(6)); print(\"done\");",
    );
    assert_eq!((o.status.code(), out(&o).as_str()), (Some(0), "done\n"), "what goes on was not ended");
}

/// As processes of PyTorch's: the script goes on where nothing failed, and is told where something did.
#[test]
fn exit_ends_a_rank_or_a_worker_alone() {
    let spawn = |exit: &str| {
        format!("distributed::spawn(|rank, world| {{ if rank == 1 {{ {exit} }} rank }}, #{{nprocs: 2}})")
    };
    for exit in ["exit(0)", "exit()", "exit(false)"] {
        let o = script(&["--json"], &spawn(exit));
        assert_eq!((o.status.code(), out(&o).as_str()), (Some(0), "[0,null]\n"), "{exit}: {}", err(&o));
    }
    fails(&script(&[], &spawn("exit(3)")), 1, &["rank 1 ended by exit(3) in line 1"]);
    fails(&script(&[], &spawn("exit(\"no\")")), 1, &["rank 1 ended by exit(\"no\") in line 1"]);
    // What a rank chose is none of the script's own doing.
    let caught = format!("try {{ {}; }} catch {{ }} 3", spawn("exit(3)"));
    assert_eq!(script(&[], &caught).status.code(), Some(0));
    for (exit, told) in
        [("exit(3)", " with exit code 3"), ("exit(-1)", " with exit code 255"), ("exit()", "")]
    {
        for code in [
            format!("data::DataLoader(data::Dataset(3, |i| {exit}), #{{num_workers: 1}})"),
            format!("data::DataLoader([1, 2], #{{num_workers: 1, collate_fn: |s| {exit}}})"),
            format!("data::DataLoader([1, 2], #{{num_workers: 1, worker_init_fn: |n| {exit}}})"),
        ] {
            let o = script(&[], &format!("for b in {code} {{ }}"));
            let told = format!("RuntimeError: DataLoader worker 0 exited unexpectedly{told}\n");
            fails(&o, 1, &[&told, &format!("hint: {exit} ended it")]);
        }
    }
}

#[test]
fn what_is_printed_goes_on_within_its_line() {
    for (code, want) in [
        ("for i in 0..3 { print(i, #{end: \" \"}); } print(); print(\"x\");", "0 1 2 \nx\n"),
        (
            "print(\"a\", \"b\", #{sep: \"-\", end: \"!\\n\"}); print(1, #{end: \"\\r\"}); print(2, #{end: \"\\r\\r\"});",
            "a-b!\n1\r2\r\r",
        ),
        ("print(1, #{end: ()}); print(2, #{end: 3}); print(3, #{flush: true});", "1\n2 #{\"end\": 3}\n3\n"),
        ("print(1, #{end: \"\"}); let y = 1 + ();", "1"),
    ] {
        assert_eq!(out(&script(&[], code)), want, "{code}");
    }
    let o = feed::run(program().arg("repl"), "print(1, #{end: \"\"})\n1 + 1\n");
    assert_eq!(out(&o), "1\n2\n");
}

#[test]
fn seeds_repeat_and_arguments_arrive() {
    let o = |seed: &str| out(&script(&["--seed", seed], "print(rand([3]));"));
    assert_eq!(o("7"), o("7"));
    assert_ne!(o("7"), o("8"));
    let o = feed::run(program().args(["run", "-", "--", "a", "b c"]), "print(ARGS[1]);");
    assert_eq!(out(&o), "b c\n");
}

#[cfg(unix)]
#[test]
fn nobody_reading_is_no_error() {
    let mut child = feed::start(program().args(["run", "-"]), "for i in 0..100000 { print(i); }");
    drop(child.stdout.take());
    let o = child.wait_with_output().unwrap();
    assert!(!err(&o).contains("panicked"), "{}", err(&o));
}

/// Statuses are one table, in the help and in the README, and each is what a process ends with.
#[test]
fn every_exit_status_is_told_and_given() {
    let readme = include_str!("../README.md");
    let rows: Vec<(u8, &str)> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "))
        .filter_map(|(status, meaning)| Some((status.parse().ok()?, meaning)))
        .collect();
    assert_eq!(rows, exit::ALL);
    for arguments in [&["--help"][..], &["run", "--help"]] {
        let o = program().args(arguments).output().unwrap();
        assert!(out(&o).trim_end().ends_with(&exit::help()), "{}", out(&o));
    }
    let given = [
        (exit::FINE, script(&[], "1 + 1")),
        (exit::SCRIPT, script(&[], "1 + ones(")),
        (exit::USAGE, script(&["--devices", "none"], "1")),
        (
            exit::OUT_OF_MEMORY,
            script(&["--devices", "sim:tiny"], "ones([1024, 1024, 128], #{device: \"cuda\"})"),
        ),
        (exit::NO_DEVICE, script(&["--devices", "cpu"], "ones([2], #{device: \"cuda\"})")),
        (exit::TIMEOUT, script(&["--timeout", "0.2"], "loop { }")),
        (exit::INTERRUPTED, interrupted("loop { }")),
    ];
    for (status, o) in &given {
        assert_eq!(o.status.code(), Some(i32::from(*status)), "{}", err(o));
    }
    // A defect is what no test has.
    assert_eq!(given.len() + 1, exit::ALL.len());
    assert_eq!(tensorlab::session::host::Ending::Panicked.code(), i32::from(exit::DEFECT));
}

/// A script that runs until a Ctrl-C.
fn interrupted(code: &str) -> Output {
    let code = format!("print(\"begun\"); {code}");
    let mut child = feed::start(program().args(["run", "-"]), code);
    let mut begun = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut begun).unwrap();
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    child.wait_with_output().unwrap()
}

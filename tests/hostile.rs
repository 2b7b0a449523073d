//! Everything a script can call, called with what nobody should call it with, in processes with little memory: each
//! call ends in a value or an error, at once or when it is interrupted, and none takes the process down.
//!
//! `TENSORLAB_HOSTILE=10` makes ten times as many changes to each call; the default is what a gate bears.
#![cfg(target_os = "linux")]

mod calls;
mod process;
mod seeds;

use std::process::Command;
use std::sync::Mutex;

use calls::Call;
use tensorlab::op::Form;

use crate::feed;

/// Calls of a process.
const BATCH: usize = 400;

#[test]
fn every_call_ends_in_a_value_or_an_error() {
    let more: usize = std::env::var("TENSORLAB_HOSTILE").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let calls = calls::all(more);
    let folder = std::env::temp_dir().join(format!("tensorlab-hostile-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let batches = Mutex::new(calls.chunks(BATCH).enumerate());
    let bad: Mutex<Vec<String>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get().min(8)) {
            scope.spawn(|| {
                loop {
                    let next = batches.lock().unwrap().next();
                    let Some((number, batch)) = next else { return };
                    let found = process::run(number, batch, &folder);
                    bad.lock().unwrap().extend(found);
                }
            });
        }
    });
    let _ = std::fs::remove_dir_all(&folder);
    let mut bad = bad.into_inner().unwrap();
    bad.sort();
    println!("{} calls", calls.len());
    assert!(bad.is_empty(), "{} of {} calls:\n{}", bad.len(), calls.len(), bad.join("\n"));
}

#[test]
fn what_a_call_makes_by_the_hundred_thousand_is_refused_before_nothing_is_left() {
    for made in [
        "nn::RNN(3, 4).forward(ones([100000, 2, 3]))",
        "ones([900000]).requires_grad_(true).unbind()",
        "ones([900000]).requires_grad_(true).split(1)",
    ] {
        for memory in [320 << 10, 400 << 10, 480 << 10] {
            let limited = format!("ulimit -v {memory}; ulimit -c 0; exec \"$0\" run --devices cpu -");
            let mut command = Command::new("sh");
            command.args(["-c", &limited, env!("CARGO_BIN_EXE_tensorlab")]).env_remove("TENSORLAB_DEVICES");
            let output = feed::run(&mut command, made);
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(3), "{made} with {memory} KiB\n{told}");
            assert!(told.starts_with("OutOfMemoryError"), "{told}");
        }
    }
}

#[test]
fn a_script_goes_on_behind_the_error_of_what_found_no_memory() {
    // What the call held is free again, whether the system has it or the tensors' pool keeps it.
    let code = "try { nn::LSTM(3, 4, #{num_layers: 1, batch_first: true}).forward(rand([100000, 5, 3])) }
        catch (e) { print(`caught ${e.message}`) } print(ones(3).sum())";
    let mut caught = 0;
    for memory in (320..=520).step_by(20) {
        let limited = format!("ulimit -v {}; ulimit -c 0; exec \"$0\" run -", memory << 10);
        let mut command = Command::new("sh");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_tensorlab")]).env_remove("TENSORLAB_DEVICES");
        let output = feed::run(&mut command, code);
        let said = String::from_utf8_lossy(&output.stdout);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "with {memory} MiB\n{said}{told}");
        assert!(said.contains("tensor(3.)"), "{memory} MiB\n{said}");
        caught += usize::from(said.contains("caught DefaultCPUAllocator"));
    }
    assert!(caught >= 3, "{caught}");
}

/// So many copies are refused before the first is made: those of an unfinished list would leave the heap in pieces.
#[test]
fn copies_by_the_hundred_thousand_leave_a_script_memory_to_go_on_with() {
    let code = "let all = []; all.pad(100000, 1);
        try { parallel::broadcast(tensor([1, 2, 3]), all); } catch (e) { } print(ones(3).sum())";
    for memory in (260..=400).step_by(20) {
        let limited =
            format!("ulimit -v {}; ulimit -c 0; exec \"$0\" run --devices sim:t4x2 -", memory << 10);
        let mut command = Command::new("sh");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_tensorlab")]).env_remove("TENSORLAB_DEVICES");
        let output = feed::run(&mut command, code);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "with {memory} MiB\n{told}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "tensor(3.)\n");
    }
}

/// More pairs than a value may hold are refused before the first is made.
#[test]
fn pairs_of_a_long_text_need_no_memory() {
    for pairs in ["enumerate(long)", "zip(long, long)"] {
        let code = format!("let long = \"x\"; long.pad(1000000, \"x\"); {pairs};");
        let mut command = Command::new("sh");
        let limited = "ulimit -v 307200; ulimit -c 0; exec \"$0\" run --devices cpu -";
        command.args(["-c", limited, env!("CARGO_BIN_EXE_tensorlab")]).env_remove("TENSORLAB_DEVICES");
        let output = feed::run(&mut command, &code);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{pairs}\n{told}");
        assert!(told.contains("an array holds less than 262144 pairs"), "{pairs}\n{told}");
    }
}

#[test]
fn every_name_is_called() {
    let called: Vec<Call> = calls::all(0);
    let code: String = called.iter().map(|call| format!("{}\n", call.code)).collect();
    let words: std::collections::HashSet<&str> =
        code.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    let rows = tensorlab::script::help::rows().filter(|def| def.forms != [Form::Word]);
    let missing: Vec<&str> = rows.map(|def| def.name).filter(|name| !words.contains(name)).collect();
    assert!(missing.is_empty(), "in tests/hostile/seeds.rs nothing calls {missing:?}");
}

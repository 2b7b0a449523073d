//! A script that is told to end ends, and writes what it was asked for.

use std::process::{Command, Stdio};

/// A script that tells that it runs and goes on for ever, ended by a signal: its status, what it wrote and its trace.
fn ended_by(signal: &str, body: &str) -> (Option<i32>, String, String) {
    let folder = std::env::temp_dir().join(format!("tensorlab-signals-{}-{signal}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("s.rhai"), format!("let x = ones([3]) + 1; print(\"runs\"); {body}")).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_tensorlab"))
        .args(["run", "--trace", "t.json", "s.rhai"])
        .current_dir(&folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 5];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let trace = std::fs::read_to_string(folder.join("t.json")).unwrap_or_default();
    let _ = std::fs::remove_dir_all(&folder);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned(), trace)
}

#[test]
fn a_script_that_is_told_to_end_writes_its_trace() {
    for (signal, status) in [("INT", 130), ("TERM", 143)] {
        for body in ["loop { }", "sleep(60);"] {
            let (code, told, trace) = ended_by(signal, body);
            assert_eq!(code, Some(status), "{signal}, {body}: {told}");
            assert!(told.contains("interrupted"), "{signal}, {body}: {told}");
            assert!(trace.contains("\"add"), "{signal}, {body}: {trace}");
        }
    }
}

#[test]
fn a_plan_that_is_told_to_end_says_by_which_signal() {
    for (signal, status) in [("INT", 130), ("TERM", 143)] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tensorlab"))
            .args(["plan", "--devices", "sim:t4", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut script = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut script, b"loop { }").unwrap();
        drop(script);
        std::thread::sleep(std::time::Duration::from_millis(1500));
        let pid = child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

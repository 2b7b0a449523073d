//! A process that makes calls one after the other with little memory, and is watched.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use super::calls::Call;
use crate::feed;

/// KiB of address space: some processes have enough for most calls, others for little.
const MEMORY: [usize; 2] = [1 << 20, 400 << 10];
/// A call that takes longer is interrupted, as Ctrl-C does.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long a process takes to its first call, at most.
const START: Duration = Duration::from_secs(30);
/// How soon an interrupt is answered, with room for a busy machine.
const ANSWER: Duration = Duration::from_secs(4);

/// Makes the calls of a batch, and goes on behind those that end the process; says which ones are bad.
pub fn run(number: usize, calls: &[Call], folder: &Path) -> Vec<String> {
    let memory = MEMORY[number % MEMORY.len()];
    let mut bad = Vec::new();
    let mut rest = calls;
    while !rest.is_empty() {
        let (at, trouble) = Running::start(rest, folder, memory).watch();
        let Some(at) = at else {
            bad.push(format!("no call was made: {}", trouble.unwrap_or_default()));
            break;
        };
        let (done, later) = rest.split_at((at + 1).min(rest.len()));
        if let (Some(trouble), Some(call)) = (trouble, done.last())
            // A script chooses what it ends with.
            && !(call.name == "exit" && trouble.starts_with("exit status: "))
        {
            bad.push(format!("{}  <- {}: {trouble}", call.code.trim(), call.name));
        }
        rest = later;
    }
    bad
}

struct Running {
    child: Child,
    /// The numbers of calls as they begin.
    begun: Receiver<usize>,
}

impl Running {
    fn start(calls: &[Call], folder: &Path, memory: usize) -> Running {
        let limited = format!("ulimit -v {memory}; ulimit -c 0; exec \"$0\" run --devices sim:t4x2 -");
        let mut command = Command::new("sh");
        command
            .args(["-c", &limited, env!("CARGO_BIN_EXE_tensorlab")])
            .env_remove("TENSORLAB_DEVICES")
            .env_remove("RUST_BACKTRACE")
            .current_dir(folder);
        let mut child = feed::start(&mut command, super::calls::script(calls));
        let (tell, begun) = channel();
        let lines = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in lines.split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line);
                if let Some(number) = line.strip_prefix(super::calls::MARK).and_then(|n| n.parse().ok()) {
                    let _ = tell.send(number);
                }
            }
        });
        Running { child, begun }
    }

    /// Waits for the end: the last call that was made, and what is wrong with it, if anything is.
    fn watch(mut self) -> (Option<usize>, Option<String>) {
        let mut errors = self.child.stderr.take().unwrap();
        let errors = std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = errors.by_ref().take(1 << 16).read_to_end(&mut text);
            let _ = std::io::copy(&mut errors, &mut std::io::sink());
            String::from_utf8_lossy(&text).into_owned()
        });
        let (mut at, mut interrupted) = (None, false);
        loop {
            let patience = match at {
                _ if interrupted => ANSWER,
                None => START,
                Some(_) => PATIENCE,
            };
            match self.begun.recv_timeout(patience) {
                Ok(number) => at = Some(number),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) if interrupted => {
                    let _ = self.child.kill();
                    let _ = self.child.wait();
                    return (at, Some("an interrupt is not answered".into()));
                }
                Err(RecvTimeoutError::Timeout) => {
                    interrupted = true;
                    let id = self.child.id().to_string();
                    let _ = Command::new("kill").args(["-INT", &id]).status();
                }
            }
        }
        let status = self.child.wait().unwrap();
        let said = errors.join().unwrap();
        match (status.code(), interrupted) {
            (Some(0), _) | (Some(130), true) => (at, None),
            // An array or a text beyond the script's limits ends the script, as no `try` can stop.
            (Some(1), _) if said.contains("LimitError") => (at, None),
            _ => (at, Some(why(status, &said))),
        }
    }
}

fn why(status: ExitStatus, said: &str) -> String {
    let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
    let second = said.lines().nth(2).unwrap_or("");
    format!("{status}, {line} {second}")
}

//! A program of ours with text on its standard input.

use std::io::Write;
use std::process::{Child, Command, Output, Stdio};

/// Starts it with pipes at both ends and writes `input`, all of it. One that reads nothing may have ended before.
pub fn start(command: &mut Command, input: impl AsRef<[u8]>) -> Child {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(input.as_ref());
    child
}

/// What it gave, once it has ended.
pub fn run(command: &mut Command, input: impl AsRef<[u8]>) -> Output {
    start(command, input).wait_with_output().unwrap()
}

//! `tensorlab repl` as people and programs meet it: on a terminal, in plain mode, in a pipe.

mod pipes;
#[cfg(target_os = "linux")]
pub mod pty;
#[cfg(target_os = "linux")]
mod terminal;

use std::path::PathBuf;
use std::process::Command;

/// A folder of this test's own, gone when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tensorlab-repl-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The program with nothing of this machine's settings; its history is in `folder`.
fn program(folder: &Folder) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tensorlab"));
    for name in ["TENSORLAB_DEVICES", "NO_COLOR", "COLORTERM"] {
        command.env_remove(name);
    }
    command.env("XDG_STATE_HOME", &folder.0).env("TERM", "xterm-256color").current_dir(&folder.0);
    command
}

//! The lab in a real pseudo-terminal, as a learner meets it and as bad luck does.
#![cfg(target_os = "linux")]

mod hostile;
mod lesson;
mod pictures;
mod promises;
mod screen;
mod screens;
mod walk;
mod ways;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::repl::pty::{Terminal, signal};
use screen::Screen;

const PATIENCE: Duration = Duration::from_secs(60);

const ENTER: &str = "\r";
const ESC: &str = "\x1b";
const F5: &str = "\x1b[15~";
const F6: &str = "\x1b[17~";
const F7: &str = "\x1b[18~";
const CTRL_C: &str = "\x03";
const CTRL_P: &str = "\x10";
const CTRL_Q: &str = "\x11";
const CTRL_R: &str = "\x12";
const CTRL_S: &str = "\x13";

/// A folder of this test's own, gone when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tensorlab-terminal-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn with(name: &str, notebook: &str) -> Folder {
        let folder = Folder::new(name);
        std::fs::write(folder.0.join("n.rhai"), notebook).unwrap();
        folder
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let all = std::fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut all: Vec<String> = all.filter(|name| name != "tensorlab").collect();
        all.sort();
        all
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The program with nothing of this machine's settings; all that it keeps is in `folder`.
fn program(folder: &Folder) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tensorlab"));
    cleared(&mut command, folder);
    command
}

fn cleared(command: &mut Command, folder: &Folder) {
    for name in
        ["TENSORLAB_DEVICES", "TENSORLAB_GRAPHICS", "NO_COLOR", "COLORTERM", "TMUX", "STY", "TERM_PROGRAM"]
    {
        command.env_remove(name);
    }
    for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
        command.env_remove(name);
    }
    for name in ["XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME"] {
        command.env(name, &folder.0);
    }
    command.env("TERM", "xterm-256color").current_dir(&folder.0);
}

/// The lab on a terminal of 30 rows and 140 columns: notes with paths fit.
struct Lab {
    terminal: Terminal,
    screen: Screen,
    taken: usize,
}

impl Lab {
    fn start(command: Command) -> Lab {
        Lab { terminal: Terminal::start_sized(command, 30, 140), screen: Screen::new(30, 140), taken: 0 }
    }

    /// On a notebook, with its session ready.
    fn open(folder: &Folder) -> Lab {
        let mut command = program(folder);
        command.args(["lab", "n.rhai", "--devices", "sim:t4"]);
        let mut lab = Lab::start(command);
        lab.until("session ready");
        lab
    }

    fn keys(&mut self, keys: &str) {
        self.terminal.type_(keys);
    }

    /// Escape, and a while in which nothing is taken for the rest of a sequence.
    fn esc(&mut self) {
        self.keys(ESC);
        std::thread::sleep(Duration::from_millis(60));
    }

    fn look(&mut self) -> String {
        let new = self.terminal.bytes_from(self.taken);
        self.taken += new.len();
        self.screen.feed(&new);
        self.screen.text()
    }

    /// Waits until the screen holds; gives it.
    fn until_it(&mut self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let shown = self.look();
            if holds(&shown) {
                return shown;
            }
            assert!(start.elapsed() < PATIENCE, "{what} never holds of\n{shown}");
            std::thread::sleep(Duration::from_millis(3));
        }
    }

    fn until(&mut self, text: &str) -> String {
        self.until_it(&format!("{text:?}"), |shown| shown.contains(text))
    }

    fn until_not(&mut self, text: &str) -> String {
        self.until_it(&format!("no {text:?}"), |shown| !shown.contains(text))
    }

    fn resize(&mut self, rows: u16, columns: u16) {
        self.look();
        self.screen.resize(rows.into(), columns.into());
        self.terminal.resize(rows, columns);
    }

    /// Leaves, and holds the terminal against what it was.
    fn quits(mut self) {
        self.keys(CTRL_Q);
        let (start, mut asked, mut again) = (Instant::now(), false, Duration::from_secs(10));
        while self.terminal.is_running() {
            // Read together with an escape before it, it was another key.
            if !asked && start.elapsed() > again {
                self.keys(CTRL_Q);
                again *= 2;
            }
            // Once: what comes after the end would be echoed.
            if !asked && self.look().contains("  stay") {
                self.keys("y");
                asked = true;
            }
            assert!(start.elapsed() < PATIENCE, "it does not quit:\n{}", self.look());
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(self.terminal.end().code(), Some(0));
        assert!(self.terminal.echoes(), "the terminal is as it was");
        // What was written last may not have been read yet.
        let start = Instant::now();
        while !self.terminal.raw().trim_end().ends_with("\x1b[?25h") {
            let raw = self.terminal.raw();
            let tail: String = raw.chars().skip(raw.chars().count().saturating_sub(200)).collect();
            assert!(start.elapsed() < Duration::from_secs(2), "the cursor is not back: {tail:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

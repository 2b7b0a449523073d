//! The lab on a pseudo-terminal: a learner types, completes a name, runs, undoes, and quits by the list of actions.

#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(120);

struct Terminal {
    child: Child,
    keys: File,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    fn start(mut command: Command) -> Terminal {
        let (mut ours, mut theirs) = (0, 0);
        let size = libc::winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        let null = std::ptr::null_mut();
        // SAFETY: both descriptors are written by the call, the size is only read.
        assert_eq!(unsafe { libc::openpty(&mut ours, &mut theirs, null, std::ptr::null_mut(), &size) }, 0);
        // SAFETY: the two were opened just now, and are owned here alone.
        let (keys, end) = unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
        command.stdin(end.try_clone().unwrap()).stdout(end.try_clone().unwrap()).stderr(end);
        // SAFETY: both are system calls that are allowed between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                Ok(())
            });
        }
        let child = command.spawn().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (mut reader, written) = (keys.try_clone().unwrap(), Arc::clone(&seen));
        std::thread::spawn(move || {
            let mut some = [0; 8192];
            while let Ok(n @ 1..) = reader.read(&mut some) {
                written.lock().unwrap().extend_from_slice(&some[..n]);
            }
        });
        Terminal { child, keys, seen }
    }

    fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the screen shows a text.
    fn until(&mut self, text: &str) {
        let start = Instant::now();
        loop {
            let screen = screen(&self.seen.lock().unwrap());
            if screen.contains(text) {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "no {text:?} on\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a terminal shows after these bytes, as far as the lab uses one: text, and places on the screen.
fn screen(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut rows = vec![vec![' '; 80]; 24];
    let (mut y, mut x) = (0, 0);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                Some('[') => {
                    let mut numbers = String::new();
                    let end =
                        chars.by_ref().find(|c| c.is_ascii_alphabetic() || !numbers_go_on(&mut numbers, *c));
                    if end == Some('H') {
                        let place = numbers.split_once(';').unwrap_or(("1", "1"));
                        let number = |text: &str| text.parse::<usize>().unwrap_or(1).saturating_sub(1);
                        (y, x) = (number(place.0), number(place.1));
                    }
                }
                Some(']') => drop(chars.by_ref().find(|c| *c == '\u{7}')),
                _ => {}
            },
            '\r' => x = 0,
            '\n' => y += 1,
            c => {
                if let Some(cell) = rows.get_mut(y).and_then(|row| row.get_mut(x)) {
                    *cell = c;
                }
                x += 1;
            }
        }
    }
    rows.into_iter().map(|row| row.into_iter().collect::<String>() + "\n").collect()
}

/// Collects the numbers of a control sequence.
fn numbers_go_on(numbers: &mut String, c: char) -> bool {
    numbers.push(c);
    true
}

#[test]
fn a_learner_types_completes_runs_undoes_and_quits_by_the_palette() {
    let folder = std::env::temp_dir().join(format!("tensorlab-terminal-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tensorlab"));
    command.args(["lab", "scratch.rhai", "--devices", "cpu"]).current_dir(&folder);
    for variable in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "HOME"] {
        command.env(variable, &folder);
    }
    command.env("TERM", "xterm-256color").env_remove("NO_COLOR").env_remove("TENSORLAB_CONFIG");
    let mut terminal = Terminal::start(command);
    terminal.until("session ready");
    terminal.types("\r");
    terminal.until("editing");
    terminal.types("let t = randp\t(4);");
    terminal.until("randperm(4)");
    // A paste of several lines comes in one piece.
    terminal.types("\u{1b}[200~\nlet shape =\n    t.shape;\u{1b}[201~");
    terminal.types("\rprint(`it has ${shape}`);");
    terminal.types("\u{1b}[15~");
    terminal.until("it has [4]");
    terminal.types("\u{1a}");
    terminal.until("edited since");
    terminal.types("\u{19}\u{13}");
    terminal.until("saved");
    terminal.types("\u{10}");
    terminal.until("actions");
    terminal.types("lab quit\r");
    let start = Instant::now();
    let status = loop {
        if let Some(status) = terminal.child.try_wait().unwrap() {
            break status;
        }
        assert!(start.elapsed() < PATIENCE, "it does not end");
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(status.success(), "{status:?}");
    let saved = std::fs::read_to_string(folder.join("scratch.rhai")).unwrap();
    assert!(saved.contains("let t = randperm(4);\nlet shape =\n    t.shape;\n"), "{saved}");
    let history = std::fs::read_to_string(folder.join("tensorlab/history.jsonl")).unwrap();
    assert!(history.contains("randperm") && history.ends_with("\"\n"), "{history}");
    std::fs::remove_dir_all(folder).unwrap();
}

//! The lab in a real pseudo-terminal: `cargo bench --bench keys`.
//!
//! How long until the first frame and until the session is ready; how long from a key to its character on the screen,
//! idle and while a cell computes; the share of a core that an idle lab and its session take over ten seconds.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a benchmark that cannot go on may stop"
)]

#[cfg(target_os = "linux")]
#[allow(dead_code, reason = "the tests need more of it")]
#[path = "../tests/repl/pty.rs"]
mod pty;
#[cfg(target_os = "linux")]
#[allow(dead_code, reason = "the tests need more of it")]
#[path = "../tests/terminal/screen.rs"]
mod screen;

#[cfg(target_os = "linux")]
fn main() {
    lab::measure();
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("this needs Linux");
}

#[cfg(target_os = "linux")]
mod lab {
    use std::path::PathBuf;
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::pty::Terminal;
    use super::screen::Screen;

    const STARTS: usize = 10;
    const KEYS: usize = 300;
    const IDLE: Duration = Duration::from_secs(10);
    const PATIENCE: Duration = Duration::from_secs(60);

    const NOTEBOOK: &str = "// %%\nlet x = rand([64, 64]).cuda();\nloop { let y = x @ x; }\n\n// %%\n\n";

    struct Lab {
        terminal: Terminal,
        screen: Screen,
        taken: usize,
        begun: Instant,
    }

    impl Lab {
        fn start(folder: &PathBuf) -> Lab {
            let mut command = Command::new(env!("CARGO_BIN_EXE_tensorlab"));
            for name in ["XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME"] {
                command.env(name, folder);
            }
            command.env_remove("NO_COLOR").env("TERM", "xterm-256color").current_dir(folder);
            command.args(["lab", "n.rhai", "--devices", "sim:t4"]);
            let begun = Instant::now();
            let terminal = Terminal::start_sized(command, 60, 200);
            Lab { terminal, screen: Screen::new(60, 200), taken: 0, begun }
        }

        /// Waits until the screen holds, looking without a pause.
        fn until(&mut self, holds: impl Fn(&str) -> bool) {
            let start = Instant::now();
            loop {
                let new = self.terminal.bytes_from(self.taken);
                if !new.is_empty() {
                    self.taken += new.len();
                    self.screen.feed(&new);
                    if holds(&self.screen.text()) {
                        return;
                    }
                }
                assert!(start.elapsed() < PATIENCE, "it never shows:\n{}", self.screen.text());
                std::thread::sleep(Duration::from_micros(50));
            }
        }

        /// Times from a key to its character: each is typed into a line that grows and is emptied.
        fn keys(&mut self) -> Vec<Duration> {
            let mut times = Vec::new();
            let mut line = String::from("//");
            for key in 0..KEYS {
                if line.len() > 60 {
                    // The line is left as a comment, and the next one begun.
                    self.terminal.type_("\r//");
                    line = format!("//{key}");
                    self.terminal.type_(&key.to_string());
                    let shown = line.clone();
                    self.until(move |screen| screen.contains(&shown));
                }
                let letter = char::from(b'a' + (key % 26) as u8);
                line.push(letter);
                let wanted = line.clone();
                // Not in step with the frames.
                std::thread::sleep(Duration::from_micros(20_000 + 977 * (key as u64 % 31)));
                let start = Instant::now();
                self.terminal.type_(&letter.to_string());
                self.until(move |screen| screen.contains(&wanted));
                times.push(start.elapsed());
            }
            times
        }
    }

    pub fn measure() {
        let folder = std::env::temp_dir().join(format!("tensorlab-keys-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("n.rhai"), NOTEBOOK).unwrap();
        starts(&folder);
        let mut lab = Lab::start(&folder);
        lab.until(|screen| screen.contains("session ready"));
        idle(&lab);
        lab.terminal.type_("\x1b[B\r//");
        lab.until(|screen| screen.contains("leave"));
        report("key to screen, idle", lab.keys());
        lab.terminal.type_("\x1b");
        lab.until(|screen| !screen.contains("leave"));
        lab.terminal.type_("\x1b[A\x1b[15~\x1b[B\r\r//");
        lab.until(|screen| screen.contains("leave") && screen.contains("interrupt"));
        report("key to screen, computing", lab.keys());
        drop(lab);
        let _ = std::fs::remove_dir_all(folder);
    }

    fn starts(folder: &PathBuf) {
        let (mut frames, mut ready) = (Vec::new(), Vec::new());
        for _ in 0..STARTS {
            let mut lab = Lab::start(folder);
            lab.until(|screen| screen.contains("loop {"));
            frames.push(lab.begun.elapsed());
            lab.until(|screen| screen.contains("session ready"));
            ready.push(lab.begun.elapsed());
            lab.terminal.type_("q");
            lab.terminal.end();
        }
        report("first frame", frames);
        report("session ready", ready);
    }

    fn idle(lab: &Lab) {
        let processes = [("the lab", lab.terminal.pid()), ("its session", lab.terminal.session())];
        std::thread::sleep(Duration::from_secs(2));
        let before = processes.map(|(_, pid)| on_cpu(pid));
        std::thread::sleep(IDLE);
        for ((name, pid), before) in processes.into_iter().zip(before) {
            let share = (on_cpu(pid) - before).as_secs_f64() / IDLE.as_secs_f64();
            println!("idle, {name:<20} {:8.3} % of a core", 100.0 * share);
        }
    }

    /// The time that all threads of a process were on a CPU.
    fn on_cpu(pid: u32) -> Duration {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let of = |path: PathBuf| -> u64 {
            let text = std::fs::read_to_string(path.join("schedstat")).unwrap_or_default();
            text.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0)
        };
        Duration::from_nanos(tasks.map(|task| of(task.unwrap().path())).sum())
    }

    fn report(what: &str, mut times: Vec<Duration>) {
        times.sort();
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let (median, most) = (times[times.len() / 2], times[times.len() * 99 / 100]);
        println!("{what:<26} {:6.2} ms, {:6.2} ms at the 99th of 100", ms(median), ms(most));
    }
}

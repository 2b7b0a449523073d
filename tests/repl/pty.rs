//! A program on a pseudo-terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tensorlab::base::text::strip_control;

const PATIENCE: Duration = Duration::from_secs(60);

pub struct Terminal {
    child: Child,
    master: File,
    /// Kept open, so that its modes can be asked for when the program has gone.
    slave: OwnedFd,
    seen: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    /// How much of it, without control sequences, was waited for.
    mark: usize,
}

impl Terminal {
    /// Starts a program on a terminal of 24 rows and 80 columns.
    pub fn start(command: Command) -> Terminal {
        Terminal::start_sized(command, 24, 80)
    }

    /// Starts a program on a terminal whose characters have 10 x 20 pixels.
    pub fn start_sized(mut command: Command, rows: u16, columns: u16) -> Terminal {
        let (mut master, mut slave) = (0, 0);
        let size = size_of(rows, columns);
        let none = std::ptr::null_mut();
        // SAFETY: the two numbers are written, the size is read, and no name or modes are asked for.
        let opened = unsafe { libc::openpty(&mut master, &mut slave, none, std::ptr::null_mut(), &size) };
        assert_eq!(opened, 0);
        // SAFETY: both were just opened, and nothing else owns them.
        let opened = unsafe { (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
        // Copies are closed in children: a terminal that a child holds open could not vanish.
        let (master, slave) = (opened.0.try_clone().unwrap(), opened.1.try_clone().unwrap());
        drop(opened);
        let end = || slave.try_clone().unwrap();
        command.stdin(end()).stdout(end()).stderr(end());
        // SAFETY: both calls may be made between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                Ok(())
            })
        };
        let child = command.spawn().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (mut from, to) = (master.try_clone().unwrap(), Arc::clone(&seen));
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while !stopped.load(Ordering::Relaxed) {
                let mut ready = libc::pollfd { fd: from.as_raw_fd(), events: libc::POLLIN, revents: 0 };
                // SAFETY: one entry is read and written.
                if unsafe { libc::poll(&mut ready, 1, 50) } == 0 {
                    continue;
                }
                let Ok(n @ 1..) = from.read(&mut buffer) else { return };
                to.lock().unwrap().extend_from_slice(&buffer[..n]);
            }
        });
        Terminal { child, master, slave, seen, reader: Some(reader), stop, mark: 0 }
    }

    /// Gives the terminal another size, which the program is told.
    pub fn resize(&self, rows: u16, columns: u16) {
        let size = size_of(rows, columns);
        // SAFETY: the call reads the size.
        assert_eq!(unsafe { libc::ioctl(self.master.as_raw_fd(), libc::TIOCSWINSZ, &size) }, 0);
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The program's child, which is its session.
    pub fn session(&self) -> u32 {
        let pid = self.pid();
        let start = Instant::now();
        loop {
            let all = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
            if let Some(child) = all.split_whitespace().next_back() {
                return child.parse().unwrap();
            }
            assert!(start.elapsed() < PATIENCE, "no session");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn type_(&mut self, keys: &str) {
        self.write(keys.as_bytes());
    }

    pub fn write(&mut self, bytes: &[u8]) {
        self.master.write_all(bytes).unwrap();
    }

    /// Closes the terminal, as a window is closed or a connection lost.
    pub fn vanish(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.reader.take().unwrap().join().unwrap();
        self.master = File::open("/dev/null").unwrap();
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// What was written from a byte on.
    pub fn bytes_from(&self, from: usize) -> Vec<u8> {
        self.seen.lock().unwrap().get(from..).unwrap_or_default().to_vec()
    }

    /// All that was written, as it was.
    pub fn raw(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }

    /// What was written after what was waited for last, without control sequences.
    pub fn shown(&self) -> String {
        let all = strip_control(&self.raw()).into_owned();
        all.get(self.mark..).unwrap_or_default().to_string()
    }

    /// Waits until `text` is among what was written after what was waited for last; gives all of it.
    pub fn until(&mut self, text: &str) -> String {
        let start = Instant::now();
        loop {
            let shown = self.shown();
            if let Some(at) = shown.find(text) {
                self.mark += at + text.len();
                return shown;
            }
            assert!(start.elapsed() < PATIENCE, "no {text:?} in:\n{shown}\n---\n{:?}", self.raw());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits for the program's end.
    pub fn end(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "it does not end:\n{}", self.shown());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Whether the terminal echoes what is typed, as it does by default.
    pub fn echoes(&self) -> bool {
        // SAFETY: `modes` is a plain value that the call fills.
        let modes = unsafe {
            let mut modes = std::mem::zeroed::<libc::termios>();
            assert_eq!(libc::tcgetattr(self.slave.as_raw_fd(), &mut modes), 0);
            modes
        };
        modes.c_lflag & libc::ECHO != 0
    }
}

fn size_of(rows: u16, columns: u16) -> libc::winsize {
    libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 10 * columns, ws_ypixel: 20 * rows }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal to a process. After `STOP`, it stands still in all its threads when this returns: until the kernel has
/// let each of them take the signal, one that was busy or woken beforehand works on.
pub fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap().success());
    let start = Instant::now();
    while name == "STOP" && !stands_still(pid) {
        assert!(start.elapsed() < PATIENCE, "{pid} does not stop");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether each thread of a process is stopped, by the state that follows the name in `/proc/PID/task/TID/stat`.
fn stands_still(pid: u32) -> bool {
    std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().all(|task| {
        let stat = std::fs::read_to_string(task.unwrap().path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('T'))
    })
}

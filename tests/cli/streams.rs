//! Standard streams that are full, closed, or left by who read them: an exit status, never a panic, in every command.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder with a home of its own and a notebook, gone when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tensorlab-streams-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(path.join("config/tensorlab")).unwrap();
        std::fs::write(path.join("config/tensorlab/config.toml"), "wrong = 1\n").unwrap();
        std::fs::write(path.join("n.rhai"), "// %%\nlet x = 1;\nprint(x);\n// %%\nx + y\n").unwrap();
        std::fs::write(path.join("talks.rhai"), TALKS).unwrap();
        std::fs::write(path.join("fails.rhai"), "print(\"before\");\nones([2]) + ones([3])").unwrap();
        Folder(path)
    }

    fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tensorlab"));
        self.set(&mut command);
        command.args(arguments);
        command
    }

    /// The program through a shell, which closes a stream or sets a limit before.
    fn through(&self, shell: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("sh");
        self.set(&mut command);
        command.args(["-c", shell, env!("CARGO_BIN_EXE_tensorlab")]).args(arguments);
        command
    }

    fn set(&self, command: &mut Command) {
        for (name, place) in [
            ("HOME", "home"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CONFIG_HOME", "config"),
        ] {
            command.env(name, self.0.join(place));
        }
        command.env_remove("TENSORLAB_DEVICES").env_remove("TENSORLAB_CONFIG").env("NO_COLOR", "1");
        command.current_dir(&self.0).stdin(Stdio::null());
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Prints, warns, shows progress and draws.
const TALKS: &str = "print(\"one\"); debug(2); warn(\"three\"); for i in track(0..3) { i }
plot::line(ones([4])).show(); plot::line(ones([4])).show(\"again\"); 5";

/// Every command, with what makes it speak on both streams.
const COMMANDS: &[&[&str]] = &[
    &["--help"],
    &["--version"],
    &["run", "--help"],
    &["nothing"],
    &["completions", "bash"],
    &["completions", "fish"],
    &["devices"],
    &["devices", "--devices", "sim:t4x2", "--json"],
    &["devices", "--devices", "sim:t5"],
    &["doctor"],
    &["doctor", "--json"],
    &["docs"],
    &["docs", "softmax"],
    &["docs", "softmacs"],
    &["config"],
    &["config", "--keys"],
    &["config", "--init"],
    &["run", "talks.rhai"],
    &["run", "--json", "--telemetry", "talks.rhai"],
    &["run", "fails.rhai"],
    &["run", "--trace", "no/such/folder", "talks.rhai"],
    &["run", "none.rhai"],
    &["lesson", "list"],
    &["lesson", "list", "--json"],
    &["lesson", "progress"],
    &["lesson", "verify", "none"],
    &["lesson", "start", "none"],
    &["lesson", "reset", "moving"],
    &["pack", "list"],
    &["pack", "info", "course"],
    &["pack", "remove", "none"],
    &["pack", "update", "none"],
    &["pack", "check", "none"],
    &["progress"],
    &["progress", "export", "--csv"],
    &["progress", "export", "--json"],
    &["notebook", "run", "n.rhai"],
    &["notebook", "verify", "n.rhai"],
    &["notebook", "export", "--html", "n.html", "n.rhai"],
    &["notebook", "new", "n.rhai"],
    &["lab"],
    &["lab", "n.rhai"],
    &["repl"],
];

fn status(output: &Output, what: &str) -> i32 {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!error.contains("panicked"), "{what}: {error}");
    let code = output.status.code().unwrap_or_else(|| panic!("{what}: {}", output.status));
    assert_ne!(code, 101, "{what}: {error}");
    code
}

fn full() -> File {
    std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap()
}

/// The end of a pipe that nobody reads any more.
fn left() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn no_full_or_closed_stream_is_a_panic() {
    if !Path::new("/dev/full").exists() {
        eprintln!("skipped: there is no /dev/full");
        return;
    }
    let folder = Folder::new("all");
    for arguments in COMMANDS {
        let usual = folder.program(arguments).output().unwrap();
        let code = status(&usual, &format!("{arguments:?}"));
        let case = |how: &str, output: Output| (status(&output, &format!("{arguments:?}, {how}")), output);
        // What is lost on standard error changes nothing.
        let (deaf, _) = case("full stderr", folder.program(arguments).stderr(full()).output().unwrap());
        let (gone, _) = case("left stderr", folder.program(arguments).stderr(left()).output().unwrap());
        let (shut, _) =
            case("closed stderr", folder.through("\"$0\" \"$@\" 2>&-", arguments).output().unwrap());
        assert_eq!([deaf, gone, shut], [code; 3], "{arguments:?}");
        // What is lost on standard output is an error, unless its reader has left.
        let (mute, said) = case("full stdout", folder.program(arguments).stdout(full()).output().unwrap());
        if usual.stdout.is_empty() {
            assert_eq!(mute, code, "{arguments:?}");
        } else {
            let error = String::from_utf8_lossy(&said.stderr);
            assert!(mute == 1 && error.contains("No space left"), "{arguments:?}: {mute}, {error}");
        }
        let (unread, said) = case("left stdout", folder.program(arguments).stdout(left()).output().unwrap());
        assert!(unread == 0 || unread == code, "{arguments:?}: {unread}");
        let error = String::from_utf8_lossy(&said.stderr);
        assert!(!error.contains("pipe"), "{arguments:?}: {error}");
        let (closed, _) =
            case("closed stdout", folder.through("\"$0\" \"$@\" >&-", arguments).output().unwrap());
        assert_eq!(closed, code, "{arguments:?}");
        case("both full", folder.program(arguments).stdout(full()).stderr(full()).output().unwrap());
        let both = "\"$0\" \"$@\" <&- >&- 2>&-";
        case("all closed", folder.through(both, arguments).output().unwrap());
    }
}

#[test]
fn files_that_may_not_grow_are_an_error() {
    let folder = Folder::new("limit");
    for arguments in COMMANDS {
        let shell = "ulimit -f 0; \"$0\" \"$@\" >out.txt 2>err.txt";
        let output = folder.through(shell, arguments).output().unwrap();
        status(&output, &format!("{arguments:?} with files of no bytes"));
    }
    let output =
        folder.through("ulimit -f 0; \"$0\" \"$@\"", &["notebook", "run", "n.rhai"]).output().unwrap();
    assert_ne!(status(&output, "notebook run"), 0);
    assert!(!folder.0.join(".n.rhai.lock").exists(), "the lock is left");
}

/// A session is told by its front end when to end, and by a stream that is lost.
#[test]
fn a_session_ends_with_a_status_whatever_its_streams_are() {
    let folder = Folder::new("session");
    let session = || folder.program(&["session", "--stdio", "--devices", "cpu"]);
    for (out, err) in [(true, false), (false, true), (true, true)] {
        let mut command = session();
        if out {
            command.stdout(full());
        }
        if err {
            command.stderr(full());
        }
        status(&command.output().unwrap(), &format!("full: {out}, {err}"));
    }
    let mut child = session().stdin(Stdio::piped()).stdout(left()).stderr(left()).spawn().unwrap();
    // It may have ended already.
    let _ = child.stdin.take().unwrap().write_all(b"no message at all, of no length");
    status(&child.wait_with_output().unwrap(), "left in the midst");
}

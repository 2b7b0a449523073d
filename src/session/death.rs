//! Why a session's process ended, in words.

use std::fmt;
use std::process::ExitStatus;

/// How a session ended, and what it last wrote to standard error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Death {
    pub how: How,
    /// The last lines of its standard error, without control characters.
    pub log: Vec<String>,
}

/// How a session's process ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum How {
    /// The front end shut it down or killed it.
    Asked,
    Exited(i32),
    /// A signal by its number, where the system has them.
    Signal(i32),
    /// It said something that is not the protocol, and was killed.
    Garbled(String),
    /// The system does not say.
    Unknown(String),
}

impl Death {
    /// Whether it was asked to end.
    pub fn is_expected(&self) -> bool {
        self.how == How::Asked
    }

    pub(super) fn of(status: ExitStatus, log: Vec<String>) -> Death {
        #[cfg(unix)]
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        #[cfg(not(unix))]
        let signal = None;
        let how = match (signal, status.code()) {
            (Some(signal), _) => How::Signal(signal),
            (None, Some(code)) => How::Exited(code),
            (None, None) => How::Unknown(status.to_string()),
        };
        Death { how, log }
    }

    /// Somebody else has ended it: nothing that it ran did. What the system kills for want of memory looks the same.
    pub fn is_from_outside(&self) -> bool {
        let outside = ["SIGKILL", "SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT"];
        matches!(&self.how, How::Signal(number) if outside.contains(&signal_name(*number).as_str()))
    }

    /// It ended as one does that is shut down or killed.
    pub(super) fn is_plain(&self) -> bool {
        match &self.how {
            How::Asked | How::Exited(0) => true,
            How::Signal(number) => signal_name(*number) == "SIGKILL",
            // Where there are no signals, a killed process has a status of the system's choice.
            How::Exited(_) => cfg!(not(unix)),
            How::Garbled(_) | How::Unknown(_) => false,
        }
    }

    fn logged(&self, words: &str) -> bool {
        self.log.iter().any(|line| line.contains(words))
    }
}

/// One sentence without the log, such as `the session ran out of stack: a recursion is too deep (SIGABRT)`.
impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the session ")?;
        match &self.how {
            How::Asked => f.write_str("was ended as asked"),
            How::Exited(0) => f.write_str("ended by itself"),
            How::Exited(101) => f.write_str("failed inside: a bug in tensorlab (exit status 101)"),
            How::Exited(code) => write!(f, "ended with exit status {code}"),
            How::Signal(signal) => {
                let name = signal_name(*signal);
                write!(f, "{} ({name})", self.cause(&name))
            }
            How::Garbled(what) => write!(f, "was ended: what it sent is not the protocol ({what})"),
            How::Unknown(status) => write!(f, "ended: {status}"),
        }
    }
}

impl Death {
    fn cause(&self, signal: &str) -> &'static str {
        match signal {
            "SIGKILL" => {
                "was killed by the system or by another program; perhaps the machine ran out of memory"
            }
            "SIGABRT" | "SIGSEGV" if self.logged("overflowed its stack") => {
                "ran out of stack: a recursion is too deep"
            }
            "SIGABRT" if self.logged("memory allocation of") => "ran out of memory",
            "SIGABRT" => "aborted after a fault in native code",
            "SIGSEGV" | "SIGBUS" => {
                "touched memory that is not its own: a fault in native code or a stack overflow"
            }
            "SIGILL" | "SIGTRAP" | "SIGFPE" => "met an instruction it cannot execute: a fault in native code",
            "SIGSYS" => "asked the system for something the sandbox forbids",
            "SIGXCPU" => "used up its processor time",
            "SIGXFSZ" => "wrote a file larger than allowed",
            _ => "was ended by a signal",
        }
    }
}

#[cfg(unix)]
fn signal_name(number: i32) -> String {
    const NAMES: [(i32, &str); 15] = [
        (libc::SIGHUP, "SIGHUP"),
        (libc::SIGINT, "SIGINT"),
        (libc::SIGQUIT, "SIGQUIT"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGTRAP, "SIGTRAP"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGPIPE, "SIGPIPE"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGSYS, "SIGSYS"),
        (libc::SIGXCPU, "SIGXCPU"),
        (libc::SIGXFSZ, "SIGXFSZ"),
    ];
    match NAMES.iter().find(|(n, _)| *n == number) {
        Some((_, name)) => (*name).into(),
        None => format!("signal {number}"),
    }
}

#[cfg(not(unix))]
fn signal_name(number: i32) -> String {
    format!("signal {number}")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn words(raw: i32, log: &str) -> String {
        Death::of(ExitStatus::from_raw(raw), vec![log.into()]).to_string()
    }

    #[test]
    fn each_end_has_its_words() {
        assert_eq!(words(0, ""), "the session ended by itself");
        assert_eq!(words(3 << 8, ""), "the session ended with exit status 3");
        assert!(words(101 << 8, "").contains("a bug"));
        assert!(words(libc::SIGKILL, "").ends_with("perhaps the machine ran out of memory (SIGKILL)"));
        assert!(words(libc::SIGABRT, "").contains("native code (SIGABRT)"));
        assert!(words(libc::SIGSEGV, "").contains("not its own"));
        assert!(words(libc::SIGSEGV | 0x80, "").ends_with("(SIGSEGV)"), "with a core dump");
        assert!(words(libc::SIGABRT, "thread 'x' (9) has overflowed its stack").contains("out of stack"));
        assert!(words(libc::SIGABRT, "memory allocation of 99 bytes failed").contains("out of memory"));
        assert!(words(64, "").ends_with("by a signal (signal 64)"));
    }
}

//! What confines a session's process, applied before any code runs in it, and its private standard streams.
//!
//! The one file of the session that calls the operating system by hand.

#[cfg(target_os = "linux")]
mod landlock;

use std::io::{self, Read, Write};
use std::path::PathBuf;

/// Limits on the process, beyond those that always hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    /// Bytes of address space. Not for a real GPU: its driver reserves far more than it uses.
    pub address_space: Option<u64>,
    /// Processes and threads of this user, this session's own among them; the system counts all the user runs.
    pub processes: Option<u64>,
    /// Bytes of any file that is written.
    pub file_bytes: Option<u64>,
    /// Files that may be read; none may be written but those of its scratch folder.
    pub confined: Option<Confined>,
}

/// A process that works in one folder: it reads what is in there and in `readable`, and what the system says of the
/// processors; it opens no other file, starts no program and no TCP connection, where the system has the means.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Confined {
    pub folder: PathBuf,
    pub readable: Vec<PathBuf>,
    /// Folders that may be written to.
    pub writable: Vec<PathBuf>,
    /// A real GPU may be used: its driver reads the system's libraries and settings, and uses devices.
    pub drives: bool,
}

/// Why processes can't be confined to a folder here; none where they can.
pub fn unconfined() -> Option<String> {
    system::unconfined()
}

/// Confines this process, for good. Where a layer does not exist on this system, [`protections`] lacks it.
///
/// # Errors
/// A limit that was asked for and cannot be set.
pub fn apply(limits: &Limits) -> io::Result<()> {
    system::apply(limits)
}

/// The protections that hold for this process now, in words, as the system itself reports them.
pub fn protections() -> Vec<String> {
    system::protections()
}

/// Takes standard input and output for the protocol. What this process reads or prints by itself from now on
/// meets an empty input and standard error, and cannot disturb the protocol (on Unix; elsewhere it is not redirected).
///
/// # Errors
/// A second call, or a system that refuses.
pub(crate) fn take_stdio() -> io::Result<(impl Read + Send + 'static, impl Write + Send + 'static)> {
    system::take_stdio()
}

#[cfg(unix)]
mod system {
    use std::fs::File;
    use std::io::{self, Write};
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::{Confined, Limits};

    /// Open files a session may have, at most.
    const OPEN_FILES: u64 = 1024;

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    type Resource = libc::__rlimit_resource_t;
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    type Resource = libc::c_int;

    pub(super) fn apply(limits: &Limits) -> io::Result<()> {
        set_limit(libc::RLIMIT_CORE, 0)?;
        set_limit(libc::RLIMIT_NOFILE, OPEN_FILES)?;
        if let Some(bytes) = limits.address_space {
            set_limit(libc::RLIMIT_AS, bytes)?;
        }
        if let Some(count) = limits.processes {
            set_limit(libc::RLIMIT_NPROC, count)?;
        }
        if let Some(bytes) = limits.file_bytes {
            limit_files(bytes)?;
        }
        forbid_new_privileges()?;
        match &limits.confined {
            Some(confined) => confine(confined),
            None => Ok(()),
        }
    }

    /// Where the system has no means to confine a process, it only works in its folder; front ends say so before.
    fn confine(confined: &Confined) -> io::Result<()> {
        let unread = |error: io::Error| {
            io::Error::new(error.kind(), format!("cannot work in {}: {error}", confined.folder.display()))
        };
        let folder = std::fs::canonicalize(&confined.folder).map_err(unread)?;
        std::env::set_current_dir(&folder)?;
        let confined = Confined { folder, ..confined.clone() };
        if unconfined().is_none() { keep_to(&confined) } else { Ok(()) }
    }

    #[cfg(target_os = "linux")]
    fn keep_to(confined: &Confined) -> io::Result<()> {
        use super::landlock::{self, CHANGE, READ, USE};
        let system =
            ["/proc/self", "/proc/meminfo", "/proc/cpuinfo", "/sys/fs/cgroup", "/sys/devices/system"];
        let driver = ["/usr", "/lib", "/lib64", "/opt", "/etc", "/proc", "/sys", "/nix/store"];
        let paths = std::iter::once(&confined.folder).chain(&confined.readable).map(PathBuf::as_path);
        let mut allowed: Vec<(&Path, u64)> = paths.map(|path| (path, READ)).collect();
        allowed.extend(system.map(|path| (Path::new(path), READ)));
        allowed.extend(confined.writable.iter().map(|folder| (folder.as_path(), CHANGE)));
        if confined.drives {
            allowed.extend(driver.map(|path| (Path::new(path), READ)));
            // The driver names the threads that it starts, and does not start where it can't.
            allowed.extend([(Path::new("/dev"), USE), (Path::new("/proc/self/task"), USE)]);
        }
        landlock::confine(&allowed)
    }

    /// A write beyond the limit is an error of that write, not the end of the process.
    fn limit_files(bytes: u64) -> io::Result<()> {
        // SAFETY: to ignore a signal takes no handler and changes nothing else.
        unsafe {
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        }
        set_limit(libc::RLIMIT_FSIZE, bytes)
    }

    #[cfg(not(target_os = "linux"))]
    fn keep_to(_: &Confined) -> io::Result<()> {
        Ok(())
    }

    #[cfg(target_os = "linux")]
    pub(super) fn unconfined() -> Option<String> {
        super::landlock::version().err().map(|error| format!("this kernel has no Landlock ({error})"))
    }

    #[cfg(not(target_os = "linux"))]
    pub fn unconfined() -> Option<String> {
        Some("this system has no Landlock".into())
    }

    pub(super) fn protections() -> Vec<String> {
        let finite = |resource| limit(resource).filter(|&(soft, _)| soft != libc::RLIM_INFINITY).map(|l| l.0);
        let mut held = Vec::new();
        if limit(libc::RLIMIT_CORE).is_some_and(|(_, hard)| hard == 0) {
            held.push("no core dumps".to_string());
        }
        if let Some(count) = finite(libc::RLIMIT_NOFILE) {
            held.push(format!("at most {count} open files"));
        }
        if let Some(bytes) = finite(libc::RLIMIT_AS) {
            held.push(format!("at most {} MiB of address space", bytes >> 20));
        }
        // The system does not hold the superuser to this one.
        // SAFETY: geteuid reads a number and cannot fail.
        if let Some(count) = finite(libc::RLIMIT_NPROC).filter(|_| unsafe { libc::geteuid() } != 0) {
            held.push(format!("at most {count} processes and threads of this user"));
        }
        if privileges_forbidden() {
            held.push("no new privileges".to_string());
        }
        held
    }

    pub(crate) fn take_stdio() -> io::Result<(File, File)> {
        static TAKEN: AtomicBool = AtomicBool::new(false);
        if TAKEN.swap(true, Ordering::Relaxed) {
            return Err(io::Error::other("standard input and output are already taken"));
        }
        io::stdout().flush()?;
        let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        redirect(File::open("/dev/null")?.as_fd(), libc::STDIN_FILENO)?;
        redirect(io::stderr().as_fd(), libc::STDOUT_FILENO)?;
        Ok((input, output))
    }

    /// Makes the standard descriptor `number` another name of `file`.
    fn redirect(file: BorrowedFd<'_>, number: RawFd) -> io::Result<()> {
        // SAFETY: both descriptors are open for the call; the one replaced is a standard stream, which the
        // standard library addresses by its number only and never closes.
        check(unsafe { libc::dup2(file.as_raw_fd(), number) })
    }

    /// Lowers the soft and the hard limit to `value`, or to the hard limit where that is lower already.
    fn set_limit(resource: Resource, value: u64) -> io::Result<()> {
        let (_, hard) = limit(resource).ok_or_else(io::Error::last_os_error)?;
        let value = libc::rlim_t::from(value).min(hard);
        let wanted = libc::rlimit { rlim_cur: value, rlim_max: value };
        // SAFETY: `wanted` is a whole rlimit that outlives the call.
        check(unsafe { libc::setrlimit(resource, &wanted) })
    }

    /// The soft and the hard limit.
    fn limit(resource: Resource) -> Option<(libc::rlim_t, libc::rlim_t)> {
        let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `now` is a whole rlimit that the call may write to.
        let status = unsafe { libc::getrlimit(resource, &mut now) };
        (status == 0).then_some((now.rlim_cur, now.rlim_max))
    }

    #[cfg(target_os = "linux")]
    fn forbid_new_privileges() -> io::Result<()> {
        // SAFETY: this operation takes numbers only.
        check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })
    }

    #[cfg(target_os = "linux")]
    fn privileges_forbidden() -> bool {
        // SAFETY: this operation takes numbers only.
        (unsafe { libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) }) == 1
    }

    #[cfg(not(target_os = "linux"))]
    fn forbid_new_privileges() -> io::Result<()> {
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    fn privileges_forbidden() -> bool {
        false
    }

    fn check(status: libc::c_int) -> io::Result<()> {
        if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

#[cfg(not(unix))]
mod system {
    use std::io::{self, Stdin, Stdout};

    use super::Limits;

    pub fn apply(limits: &Limits) -> io::Result<()> {
        if let Some(confined) = &limits.confined {
            std::env::set_current_dir(&confined.folder)?;
        }
        if limits.address_space.is_none() && limits.processes.is_none() {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no limits on a process"))
    }

    pub fn unconfined() -> Option<String> {
        Some("this system has no means for it".into())
    }

    pub fn protections() -> Vec<String> {
        Vec::new()
    }

    pub(crate) fn take_stdio() -> io::Result<(Stdin, Stdout)> {
        Ok((io::stdin(), io::stdout()))
    }
}

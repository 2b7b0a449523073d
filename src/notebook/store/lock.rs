//! One writer at a time: a file beside the notebook, locked by the process that has it open.
//!
//! The system lets go of the lock when its process ends, however it ends; a file that is left behind locks nothing and
//! is taken over. It says which process on which host it is, for whoever finds the notebook taken.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Times a lock is tried that others take and leave at the same moment.
const TRIES: usize = 20;

/// Who has a notebook open.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    pub host: String,
}

impl Holder {
    fn this() -> Holder {
        Holder { pid: std::process::id(), host: host() }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, self.host.as_str()) {
            (0, _) => f.write_str("another process"),
            (pid, "") => write!(f, "process {pid}"),
            (pid, host) => write!(f, "process {pid} on {host}"),
        }
    }
}

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    // Closing it lets go.
    _file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// What came of asking for a lock.
#[derive(Debug)]
pub enum Taken {
    Ours(Lock),
    /// A live process has it.
    Theirs(Holder),
}

/// Takes the lock, or says who has it.
///
/// # Errors
/// The file can't be made, as in a folder that is read-only.
pub fn take(path: &Path) -> io::Result<Taken> {
    for _ in 0..TRIES {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let locked = match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => return Ok(Taken::Theirs(holder(&mut file))),
            // Where the file system has no locks, what the file says decides.
            Err(TryLockError::Error(_)) => false,
        };
        if !is_there(&file, path) {
            // Its owner removed it between opening and locking.
            continue;
        }
        let left = holder(&mut file);
        if left.pid != 0 && is_live(&left, locked) {
            return Ok(Taken::Theirs(left));
        }
        let told = tell(&mut file);
        // From here on it is removed with the lock, also where that is not taken.
        let lock = Lock { path: path.to_path_buf(), _file: file };
        return match told {
            // On a full disk the system's lock holds all the same; it only does not say whose it is.
            Err(error) if !locked => Err(error),
            _ => Ok(Taken::Ours(lock)),
        };
    }
    Ok(Taken::Theirs(Holder { pid: 0, host: String::new() }))
}

/// The lock of a notebook, or why it is not to be had.
pub(super) fn of(notebook: &Path, lock: &Path) -> (Option<Lock>, Option<String>) {
    match take(lock) {
        Ok(Taken::Ours(lock)) => (Some(lock), None),
        Ok(Taken::Theirs(holder)) => {
            let mut why = format!(
                "{} is open in {holder}; it is read-only here, and keeps nothing of what is done",
                notebook.display()
            );
            // What this system says of a process of its own is so.
            if holder.host != host() || holder.pid == 0 {
                why.push_str(&format!(" (if that is wrong, remove {})", lock.display()));
            }
            (None, Some(why))
        }
        Err(error) => (None, Some(format!("{} cannot be written here: {error}", notebook.display()))),
    }
}

/// Writes into the file who has it.
fn tell(file: &mut File) -> io::Result<()> {
    let text = serde_json::to_string(&Holder::this())?;
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(text.as_bytes())
}

/// Whether whoever the file names may still be there.
fn is_live(left: &Holder, locked: bool) -> bool {
    if left.host != host() {
        // Another host's locks may not be seen from here.
        return true;
    }
    !locked
        && left.pid != std::process::id()
        && (!Path::new("/proc/self").exists() || Path::new(&format!("/proc/{}", left.pid)).exists())
}

fn holder(file: &mut File) -> Holder {
    let mut text = String::new();
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.take(4096).read_to_string(&mut text));
    let told = read.ok().and_then(|_| serde_json::from_str(&text).ok());
    told.unwrap_or(Holder { pid: 0, host: String::new() })
}

/// Whether the open file is the one at the path.
#[cfg(unix)]
fn is_there(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let same = |a: fs::Metadata, b: fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    file.metadata().and_then(|a| Ok(same(a, fs::metadata(path)?))).unwrap_or(false)
}

#[cfg(not(unix))]
fn is_there(_: &File, _: &Path) -> bool {
    true
}

fn host() -> String {
    let read = |path| fs::read_to_string(path).ok();
    let named = read("/proc/sys/kernel/hostname").or_else(|| read("/etc/hostname"));
    let named =
        named.or_else(|| std::env::var("HOSTNAME").ok()).or_else(|| std::env::var("COMPUTERNAME").ok());
    named.unwrap_or_default().trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("tensorlab-lock-{}-{name}", std::process::id()))
    }

    #[test]
    fn a_second_one_is_told_who_has_it_until_the_first_lets_go() {
        let path = path("second");
        let Taken::Ours(lock) = take(&path).unwrap() else { panic!() };
        let Taken::Theirs(holder) = take(&path).unwrap() else { panic!() };
        assert_eq!(holder, Holder::this());
        assert!(holder.to_string().contains(&std::process::id().to_string()));
        drop(lock);
        assert!(!path.exists());
        assert!(matches!(take(&path).unwrap(), Taken::Ours(_)));
    }

    #[test]
    fn what_a_dead_process_left_is_taken_over_and_another_hosts_is_not() {
        let path = path("left");
        let leave = |holder: &Holder| fs::write(&path, serde_json::to_string(holder).unwrap()).unwrap();
        leave(&Holder { pid: 4_000_000, host: host() });
        assert!(matches!(take(&path).unwrap(), Taken::Ours(_)));
        fs::write(&path, "torn {").unwrap();
        assert!(matches!(take(&path).unwrap(), Taken::Ours(_)));
        let far = Holder { pid: 7, host: "elsewhere".into() };
        leave(&far);
        let Taken::Theirs(holder) = take(&path).unwrap() else { panic!() };
        assert_eq!((holder.to_string().as_str(), holder), ("process 7 on elsewhere", far));
        fs::remove_file(&path).unwrap();
        assert!(take(&path.join("no/folder")).is_err());
    }
}

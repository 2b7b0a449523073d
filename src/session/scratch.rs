//! The folder that a lesson's code may write to.
//!
//! Each session has one of its own, under a name that nobody knows before, within the folder that it is given. Nothing
//! else in that one is touched, but for what sessions left there that were killed.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::figures::bytes;
use crate::base::file::{make_folder, random_name};
use crate::base::quota;

/// What code knows the folder as.
pub(crate) const SCRATCH: &str = "SCRATCH";

/// How the names of sessions' folders begin, and those of their locks end.
const PREFIX: &str = "session-";
const LOCK: &str = ".lock";

/// Names that are tried.
const TRIES: usize = 20;

/// A folder with a limit on what it holds.
#[derive(Clone, Debug)]
pub struct Scratch {
    folder: PathBuf,
    limit: u64,
    /// Held as long as the session lives: whoever can take it takes the folder away.
    lock: Arc<File>,
}

impl Scratch {
    /// Makes a new folder within `within`, which is made as well where there is none.
    ///
    /// # Errors
    /// It can't be made, or `within` is no folder.
    pub fn make(within: &Path, limit: u64) -> io::Result<Scratch> {
        let failed = |error: io::Error| {
            io::Error::new(error.kind(), format!("the scratch folder {}: {error}", within.display()))
        };
        // Without a slash at its end, by which a link would be followed.
        let within: PathBuf = within.components().collect();
        private(&within).map_err(failed)?;
        let within = fs::canonicalize(&within).map_err(failed)?;
        sweep(&within);
        let (folder, lock) = own(&within).map_err(failed)?;
        Ok(Scratch { folder, limit, lock: Arc::new(lock) })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Bytes that it may hold.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The limit in words.
    pub(crate) fn told_limit(&self) -> String {
        format!("{} of files", bytes(self.limit))
    }

    /// Holds this thread to the limit.
    pub(crate) fn enforce(&self) {
        quota::set(&self.folder, self.limit);
    }

    /// Takes away all that is in it.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn empty(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            // A link is taken away itself, never what it leads to.
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?
            } else {
                fs::remove_file(entry.path())?
            }
        }
        Ok(())
    }

    /// Takes it away. What a confined session may not take away, the next one does.
    pub(crate) fn remove(&self) {
        let _ = self.empty();
        if fs::remove_dir(&self.folder).is_ok() {
            let _ = fs::remove_file(lock_of(&self.folder));
        }
        let _ = self.lock.unlock();
    }
}

/// Makes a folder that nobody else reads, where there is none.
fn private(folder: &Path) -> io::Result<()> {
    let is_folder = || fs::symlink_metadata(folder).map(|found| found.is_dir());
    match is_folder() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_folder(folder.parent().unwrap_or(Path::new("")))?;
            match build(folder) {
                // Somebody else was faster.
                Err(_) if matches!(is_folder(), Ok(true)) => Ok(()),
                made => made,
            }
        }
        Ok(false) => {
            Err(io::Error::new(io::ErrorKind::NotADirectory, "it is no folder (links are not followed)"))
        }
        found => found.map(drop),
    }
}

fn build(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// A new folder, and its lock, which is there before it.
fn own(within: &Path) -> io::Result<(PathBuf, File)> {
    let mut tries = TRIES;
    loop {
        let folder = within.join(format!("{PREFIX}{}", random_name()));
        let path = lock_of(&folder);
        let lock = OpenOptions::new().write(true).create_new(true).open(&path)?;
        let locked = lock.try_lock();
        tries -= 1;
        // Who sweeps the folder may have been faster.
        if tries == 0 || (!matches!(locked, Err(fs::TryLockError::WouldBlock)) && path.exists()) {
            build(&folder)?;
            return Ok((folder, lock));
        }
    }
}

/// Takes away what sessions left that have ended. Nothing comes of what can't be read or removed.
fn sweep(within: &Path) {
    let Ok(entries) = fs::read_dir(within) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let of = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(LOCK));
        let is_ours = of.is_some_and(|of| of.len() == 16 && of.bytes().all(|byte| byte.is_ascii_hexdigit()));
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let path = entry.path();
        let Ok(lock) = File::open(&path) else { continue };
        if lock.try_lock().is_err() {
            continue;
        }
        let folder = path.with_extension("");
        let gone = match fs::symlink_metadata(&folder) {
            Ok(found) if found.is_dir() => fs::remove_dir_all(&folder).is_ok(),
            found => found.is_err(),
        };
        if gone {
            let _ = fs::remove_file(&path);
        }
    }
}

fn lock_of(folder: &Path) -> PathBuf {
    let mut name = folder.as_os_str().to_os_string();
    name.push(LOCK);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("tensorlab-scratch-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut all: Vec<String> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        all.sort();
        all
    }

    #[test]
    fn each_session_has_a_folder_of_its_own_and_nothing_else_is_touched() {
        let within = place("own");
        fs::create_dir_all(within.join("session-mine")).unwrap();
        fs::write(within.join("kept"), "mine").unwrap();
        fs::write(within.join("session-0123456789abcdef"), "mine as well").unwrap();
        let (first, second) = (Scratch::make(&within, 1).unwrap(), Scratch::make(&within, 1).unwrap());
        assert_ne!(first.folder(), second.folder());
        fs::write(first.folder().join("x"), "1").unwrap();
        fs::create_dir(second.folder().join("y")).unwrap();
        second.empty().unwrap();
        assert!(names(second.folder()).is_empty());
        assert_eq!(names(first.folder()), ["x"]);
        second.remove();
        assert_eq!(names(&within).len(), 5, "the first is there with its lock: {:?}", names(&within));
        first.remove();
        assert_eq!(names(&within), ["kept", "session-0123456789abcdef", "session-mine"]);
        fs::remove_dir_all(within).unwrap();
    }

    #[test]
    fn what_a_killed_session_left_is_taken_away_by_the_next() {
        let within = place("left");
        let left = Scratch::make(&within, 1).unwrap();
        fs::write(left.folder().join("x"), "1").unwrap();
        let lives = Scratch::make(&within, 1).unwrap();
        let folder = left.folder().to_path_buf();
        assert!(folder.exists(), "as long as it lives");
        // Its lock goes with it.
        drop(left);
        let next = Scratch::make(&within, 1).unwrap();
        assert!(!folder.exists() && !lock_of(&folder).exists());
        assert!(lives.folder().exists() && next.folder().exists());
        fs::remove_dir_all(within).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed_and_nobody_else_reads_the_folder() {
        use std::os::unix::fs::PermissionsExt;
        let target = place("target");
        fs::create_dir_all(&target).unwrap();
        let link = place("link");
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(&target, &link).unwrap();
        for path in [link.clone(), link.join("")] {
            let refused = Scratch::make(&path, 1).unwrap_err();
            assert!(refused.to_string().contains("links are not followed"), "{refused}");
        }
        fs::write(target.join("file"), "").unwrap();
        assert!(Scratch::make(&target.join("file"), 1).is_err());
        let scratch = Scratch::make(&target.join("deep/er"), 1).unwrap();
        for folder in [scratch.folder(), scratch.folder().parent().unwrap()] {
            assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
        }
        fs::remove_file(link).unwrap();
        fs::remove_dir_all(target).unwrap();
    }
}

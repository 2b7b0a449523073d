//! What an installation needs while it is under way: the lock of the store, and a folder that is gone at the end.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::base::file;

use super::error::PackError;

/// Folders in the making begin with this.
const INCOMING: &str = ".incoming-";
const LOCK: &str = ".lock";

/// Keeps other installations out while it lives, where the file system has locks.
pub(super) struct Lock {
    _file: File,
    held: bool,
}

impl Lock {
    /// Waits for the lock of a folder of packs.
    pub(super) fn wait(root: &Path) -> Result<Lock, PackError> {
        let at = root.join(LOCK);
        let locking = || PackError::io(format_args!("lock {}", at.display()));
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&at).map_err(locking())?;
        match file.lock() {
            Ok(()) => Ok(Lock { _file: file, held: true }),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(Lock { _file: file, held: false }),
            Err(error) => Err(locking()(error)),
        }
    }

    /// The lock where it is there and nobody has it.
    fn free(root: &Path) -> Option<Lock> {
        let file = OpenOptions::new().write(true).open(root.join(LOCK)).ok()?;
        file.try_lock().is_ok().then_some(Lock { _file: file, held: true })
    }

    /// Removes the folders in the making of others. Whoever is at one holds the lock; where there are no locks, they
    /// may be somebody's.
    pub(crate) fn clear_stages(&self, root: &Path) {
        for folder in stages(root).filter(|_| self.held) {
            // What can't be removed now is tried again the next time.
            let _ = remove_all(&folder);
        }
    }
}

/// Removes what interrupted installations have left, unless one is at work.
pub(super) fn tidy(root: &Path) {
    if stages(root).next().is_some()
        && let Some(lock) = Lock::free(root)
    {
        lock.clear_stages(root);
    }
}

fn stages(root: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let is_stage = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(INCOMING);
    entries.filter(is_stage).map(|entry| entry.path())
}

/// A folder for what is being installed, removed at the end.
pub(super) struct Stage(pub PathBuf);

impl Stage {
    pub(super) fn new(root: &Path) -> Result<Stage, PackError> {
        let at = root.join(format!("{INCOMING}{}-{}", std::process::id(), file::random_name()));
        fs::create_dir(&at).map_err(PackError::io(format_args!("make the folder {}", at.display())))?;
        Ok(Stage(at))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = remove_all(&self.0);
    }
}

/// Removes a folder whose files are read-only.
pub(super) fn remove_all(folder: &Path) -> io::Result<()> {
    if cfg!(windows) {
        make_writable(folder)?;
    }
    fs::remove_dir_all(folder)
}

/// Waits until a folder and all folders in it are on the disk.
pub(super) fn sync_folders(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    file::sync(folder)
}

/// On some systems a read-only file can't be removed.
fn make_writable(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
            continue;
        }
        let mut rights = entry.metadata()?.permissions();
        #[expect(
            clippy::permissions_set_readonly_false,
            reason = "only where that is an attribute of the file alone"
        )]
        rights.set_readonly(false);
        fs::set_permissions(entry.path(), rights)?;
    }
    Ok(())
}

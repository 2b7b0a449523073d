//! The folder that a lesson's code may write to.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::base::figures::bytes;

/// What code knows the folder as.
pub(crate) const SCRATCH: &str = "SCRATCH";

/// Folders within folders that are looked through.
const DEEPEST: usize = 32;

/// A folder with a limit on what it holds.
#[derive(Clone, Debug)]
pub struct Scratch {
    folder: PathBuf,
    limit: u64,
}

impl Scratch {
    /// Makes the folder where there is none, and empties it.
    ///
    /// # Errors
    /// It can't be made or emptied, or is no folder.
    pub fn make(folder: PathBuf, limit: u64) -> io::Result<Scratch> {
        let failed = |error: io::Error| {
            io::Error::new(error.kind(), format!("the scratch folder {}: {error}", folder.display()))
        };
        fs::create_dir_all(&folder).map_err(failed)?;
        let whole = fs::canonicalize(&folder).map_err(failed)?;
        let scratch = Scratch { folder: whole, limit };
        scratch.empty().map_err(failed)?;
        Ok(scratch)
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Bytes that it may hold.
    pub fn limit(&self) -> u64 {
        self.limit
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

    /// The limit in words, where the folder holds more.
    pub(crate) fn overrun(&self) -> Option<String> {
        (held(&self.folder, DEEPEST) > self.limit).then(|| format!("{} of files", bytes(self.limit)))
    }
}

fn held(folder: &Path, deep: usize) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() && deep > 0 => held(&entry.path(), deep - 1),
        Ok(found) => found.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

//! A folder whose files may take only so many bytes: what this thread would write there beyond them is refused.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::figures::bytes;

/// What an entry of the folder counts for besides its bytes: names take room too.
const ENTRY: u64 = 512;

/// Folders within folders that are looked through.
const DEEPEST: usize = 32;

struct Quota {
    folder: PathBuf,
    bytes: u64,
    refused: bool,
}

thread_local! {
    static QUOTA: RefCell<Option<Quota>> = const { RefCell::new(None) };
}

/// From now on, this thread writes no more to a folder than makes so many bytes with what is there.
pub(crate) fn set(folder: &Path, bytes: u64) {
    QUOTA.set(Some(Quota { folder: folder.to_path_buf(), bytes, refused: false }));
}

/// Whether this thread was refused anything since this was asked last.
pub(crate) fn was_met() -> bool {
    QUOTA.with_borrow_mut(|quota| quota.as_mut().is_some_and(|quota| std::mem::take(&mut quota.refused)))
}

/// Lets a file that was written beside `target` take its place, unless the folder would hold too much.
///
/// # Errors
/// It would.
pub(super) fn check(target: &Path) -> io::Result<()> {
    QUOTA.with_borrow_mut(|quota| {
        let Some(quota) = quota else { return Ok(()) };
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = fs::canonicalize(parent.unwrap_or(Path::new(".")))?;
        if !parent.starts_with(&quota.folder) {
            return Ok(());
        }
        // What is there under that name makes room.
        let old = fs::symlink_metadata(target).map_or(0, |old| old.len().saturating_add(ENTRY));
        if held(&quota.folder, DEEPEST).saturating_sub(old) <= quota.bytes {
            return Ok(());
        }
        quota.refused = true;
        let text = format!("its folder takes no more than {} of files", bytes(quota.bytes));
        Err(io::Error::new(io::ErrorKind::QuotaExceeded, text))
    })
}

fn held(folder: &Path, deep: usize) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let sizes = entries.flatten().map(|entry| {
        let own = match entry.metadata() {
            Ok(found) if found.is_dir() && deep > 0 => held(&entry.path(), deep - 1),
            Ok(found) if found.is_dir() => 0,
            Ok(found) => found.len(),
            Err(_) => 0,
        };
        own.saturating_add(ENTRY)
    });
    sizes.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::file::replace;

    fn write(path: &Path, length: usize) -> io::Result<()> {
        replace(path, |out| io::Write::write_all(out, &vec![7; length]))
    }

    #[test]
    fn a_folder_takes_no_more_than_its_bytes_and_entries_count() {
        let folder = std::env::temp_dir().join(format!("tensorlab-quota-{}", std::process::id()));
        fs::create_dir_all(folder.join("in")).unwrap();
        let folder = fs::canonicalize(folder).unwrap();
        fs::remove_dir(folder.join("in")).unwrap();
        set(&folder, 4096);
        write(&folder.join("a"), 2000).unwrap();
        let refused = write(&folder.join("b"), 2000).unwrap_err();
        assert_eq!(refused.to_string(), "its folder takes no more than 4.0 KiB of files");
        assert!(was_met() && !was_met());
        assert!(!folder.join("b").exists() && fs::read_dir(&folder).unwrap().count() == 1, "nothing is left");
        write(&folder.join("a"), 3000).unwrap();
        let around = folder.join("../").join(folder.file_name().unwrap()).join("b");
        assert!(write(&around, 2000).is_err(), "whatever the way to it");
        fs::remove_file(folder.join("a")).unwrap();
        let empty = (0..20).filter(|n| write(&folder.join(format!("{n}")), 0).is_ok()).count();
        assert_eq!(empty, 8, "files without a byte take room too");
        // Other folders and other threads are nobody's business.
        let beside = folder.with_extension("beside");
        write(&beside, 9000).unwrap();
        let file = folder.join("thread");
        std::thread::spawn(move || write(&file, 9000)).join().unwrap().unwrap();
        fs::remove_file(beside).unwrap();
        fs::remove_dir_all(folder).unwrap();
    }
}

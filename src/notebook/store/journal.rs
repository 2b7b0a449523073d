//! What was done since the last save, in a file beside the notebook that only grows.
//!
//! A line is a checksum and a record in JSON. The first record is the notebook as it was; each other one is a change.
//! Lines that a crash cut off or garbled end the journal: what stands before them counts.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use crate::base::file;
use crate::notebook::document::{Change, Notebook};
use crate::notebook::hash::Hash;

#[derive(Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
enum Record {
    /// The notebook that the changes apply to, and the hash of its file; none where there was no file.
    Base {
        file: Option<Hash>,
        notebook: Box<Notebook>,
    },
    Change {
        change: Change,
    },
}

/// An open journal.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Its name is on the disk.
    named: Arc<AtomicBool>,
}

/// The journal once more, to wait until it is on the disk.
#[derive(Debug)]
pub struct Waiting {
    file: File,
    folder: PathBuf,
    named: Arc<AtomicBool>,
}

impl Waiting {
    /// # Errors
    /// Those of the disk.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()?;
        // A power cut may take a new file away whose folder is not on the disk, for all that was synced of it.
        if !self.named.swap(true, Ordering::Relaxed) {
            file::sync(&self.folder).inspect_err(|_| self.named.store(false, Ordering::Relaxed))?;
        }
        Ok(())
    }
}

/// Gives a journal that can't be read a name of its own beside it, which is told.
///
/// # Errors
/// Those of the file system; it is where it was.
pub(crate) fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let named = |n: u32| {
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(if n == 0 { ".unread".into() } else { format!(".unread-{n}") });
        path.with_file_name(name)
    };
    let mut names = (0..MOST_ASIDE).map(named);
    // Nobody else writes here: the notebook's lock is held.
    let free = names.find(|name| name.symlink_metadata().is_err());
    let free = free.ok_or_else(|| io::Error::other("there are too many journals that were set aside"))?;
    fs::rename(path, &free)?;
    Ok(free)
}

/// Journals of one notebook that are set aside, at most.
const MOST_ASIDE: u32 = 100;

/// What a journal tells.
#[derive(Clone, PartialEq, Debug)]
pub struct Replayed {
    /// The notebook with all changes.
    pub notebook: Notebook,
    /// The hash of the file that the changes were made to.
    pub base: Option<Hash>,
    pub changes: usize,
    /// Bytes up to the end of the last record that is whole.
    pub whole: u64,
    /// Bytes behind it, of records that are not.
    pub torn: u64,
}

impl Journal {
    /// Begins a journal. What is there under its name is set aside: nobody has decided about it.
    pub fn begin(path: &Path, base: Option<Hash>, notebook: &Notebook) -> io::Result<Journal> {
        if path.symlink_metadata().is_ok() {
            set_aside(path)?;
        }
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        let mut journal = Journal { path: path.to_path_buf(), file, named: Arc::default() };
        let begun = journal.write(&Record::Base { file: base, notebook: Box::new(notebook.clone()) });
        if let Err(error) = begun {
            // Half a beginning tells nothing, and would be set aside at the next try.
            let _ = journal.remove();
            return Err(error);
        }
        Ok(journal)
    }

    /// Goes on with a journal behind its last whole record.
    pub fn resume(path: &Path, whole: u64) -> io::Result<Journal> {
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.set_len(whole)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Journal { path: path.to_path_buf(), file, named: Arc::default() })
    }

    /// Appends a change, in one write. It survives the end of this process at once, that of the machine after
    /// [`Journal::sync`].
    pub fn record(&mut self, change: &Change) -> io::Result<()> {
        let before = self.file.stream_position()?;
        self.write(&Record::Change { change: change.clone() }).inspect_err(|_| {
            // Half a record would hide those that follow.
            let _ = self.file.set_len(before);
            let _ = self.file.seek(SeekFrom::Start(before));
        })
    }

    /// Waits until all is on the disk, the journal's name included.
    pub fn sync(&self) -> io::Result<()> {
        self.waiting()?.sync()
    }

    /// What waits for the disk, here or on another thread.
    pub fn waiting(&self) -> io::Result<Waiting> {
        let folder = self.path.parent().unwrap_or(Path::new("")).to_path_buf();
        Ok(Waiting { file: self.file.try_clone()?, folder, named: Arc::clone(&self.named) })
    }

    /// Ends the journal: all is saved elsewhere.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }

    fn write(&mut self, record: &Record) -> io::Result<()> {
        let json = serde_json::to_string(record)?;
        let line = format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()));
        self.file.write_all(line.as_bytes())
    }
}

/// Reads a journal; nothing where not even its beginning is whole.
pub fn replay(bytes: &[u8]) -> Option<Replayed> {
    let mut lines = bytes.split_inclusive(|&b| b == b'\n');
    let first = lines.next()?;
    let Record::Base { file: base, notebook } = read(first)? else { return None };
    let mut replayed = Replayed { notebook: *notebook, base, changes: 0, whole: first.len() as u64, torn: 0 };
    for line in lines {
        let Some(Record::Change { change }) = read(line) else { break };
        if !replayed.notebook.apply(&change) {
            break;
        }
        replayed.changes += 1;
        replayed.whole += line.len() as u64;
    }
    replayed.torn = (bytes.len() as u64).saturating_sub(replayed.whole);
    Some(replayed)
}

fn read(line: &[u8]) -> Option<Record> {
    let text = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (sum, json) = text.split_once(' ')?;
    let sum = (sum.len() == 8).then(|| u32::from_str_radix(sum, 16).ok()).flatten()?;
    (sum == crc32fast::hash(json.as_bytes())).then(|| serde_json::from_str(json).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notebook::percent;

    fn written() -> (Vec<u8>, Vec<Notebook>) {
        let path = std::env::temp_dir().join(format!("tensorlab-journal-{}", std::process::id()));
        let mut notebook = percent::parse("// %%  T\r\nlet x = 1;\r\n// %% [md]\r\n// a");
        let mut journal = Journal::begin(&path, Some(Hash::of(b"f")), &notebook).unwrap();
        let mut states = vec![notebook.clone()];
        let id = notebook.cells[0].id.clone();
        let changes = [
            Change::source(&notebook.cells[0], "let x = 12;").unwrap(),
            Change::Insert {
                at: 1,
                cell: Box::new(crate::notebook::Cell { id: "new".into(), ..Default::default() }),
            },
            Change::Move { id: "new".into(), to: 0 },
            Change::Remove { id },
        ];
        for change in changes {
            assert!(notebook.apply(&change));
            journal.record(&change).unwrap();
            states.push(notebook.clone());
        }
        journal.sync().unwrap();
        let bytes = fs::read(&path).unwrap();
        journal.remove().unwrap();
        assert!(!path.exists());
        (bytes, states)
    }

    #[test]
    fn changes_come_back_up_to_the_last_whole_one() {
        let (bytes, states) = written();
        let ends: Vec<usize> =
            bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i + 1).collect();
        for cut in 0..=bytes.len() {
            let whole = ends.iter().filter(|end| **end <= cut).count();
            match replay(&bytes[..cut]) {
                None => assert_eq!(whole, 0),
                Some(replayed) => {
                    assert_eq!(replayed.changes + 1, whole);
                    assert_eq!(replayed.notebook, states[replayed.changes], "layout and all");
                    assert_eq!(replayed.torn as usize, cut - ends[whole - 1]);
                }
            }
        }
    }

    #[test]
    fn a_garbled_byte_ends_the_journal_before_its_record() {
        let (bytes, states) = written();
        for at in 0..bytes.len() {
            let mut garbled = bytes.clone();
            garbled[at] ^= 1;
            if let Some(replayed) = replay(&garbled) {
                assert!(replayed.changes + 1 < states.len(), "byte {at} goes unnoticed");
                assert_eq!(replayed.notebook, states[replayed.changes]);
            }
        }
    }
}

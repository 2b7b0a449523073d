//! A notebook's file while it is open: one writer, a journal of what is not saved, saving whole or not at all.
//!
//! Beside `name.rhai` stand `name.rhai.outputs.json` (outputs), and while it is open `.name.rhai.lock` and, with unsaved
//! changes, `.name.rhai.journal`. Whoever edits calls [`NotebookFile::record`] with each change that it applies to its
//! [`Notebook`]; [`NotebookFile::save`] ends the journal.

pub mod journal;
pub mod lock;
mod taking;

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fmt, fs};

use crate::base::file;

use super::document::{Change, Notebook};
use super::hash::Hash;
use super::{ipynb, percent, sidecar};

use journal::Journal;
use lock::Lock;

/// No notebook is longer.
const LARGEST: u64 = 1 << 30;

/// How a notebook is written down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// A Rhai script of cells, with its outputs beside it.
    Rhai,
    /// Jupyter's.
    Ipynb,
}

impl Format {
    /// By the file's extension: `.ipynb`, and all else is a script.
    pub fn of(path: &Path) -> Format {
        let is_ipynb = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("ipynb"));
        if is_ipynb { Format::Ipynb } else { Format::Rhai }
    }
}

/// A notebook that was read, and nothing more: no lock, no journal.
#[derive(Debug)]
pub struct Loaded {
    pub notebook: Notebook,
    pub format: Format,
    /// What a user should know: conversions, outputs that could not be used.
    pub notes: Vec<String>,
    stamp: Stamp,
}

/// What a file was when it was last read or written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
    hash: Hash,
}

/// Why a notebook can't be read.
#[derive(Debug)]
pub enum OpenError {
    Io {
        path: PathBuf,
        error: io::Error,
    },
    /// What it is instead of a notebook.
    NotANotebook {
        path: PathBuf,
        reason: String,
    },
}

impl OpenError {
    /// Whether there is no such file.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, OpenError::Io { error, .. } if error.kind() == io::ErrorKind::NotFound)
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Io { path, error } => write!(f, "cannot read {}: {error}", path.display()),
            OpenError::NotANotebook { path, reason } => {
                write!(f, "{} is no notebook: {reason}", path.display())
            }
        }
    }
}

impl std::error::Error for OpenError {}

/// What happened to a file from outside since it was last read or written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForeignChange {
    Changed,
    Removed,
    /// There was none, and now there is one.
    Appeared,
}

/// Why a notebook was not saved. What is in memory and in the journal is as it was.
#[derive(Debug)]
pub enum SaveError {
    /// Somebody else wrote the file. [`NotebookFile::save_over`] replaces it; reading it again drops one's own changes.
    Conflict {
        path: PathBuf,
        change: ForeignChange,
    },
    ReadOnly(String),
    Io {
        path: PathBuf,
        error: io::Error,
    },
    /// The notebook is saved, its outputs are not.
    Outputs {
        path: PathBuf,
        error: io::Error,
    },
}

impl fmt::Display for SaveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SaveError::Conflict { path, change } => {
                let what = match change {
                    ForeignChange::Changed => "was changed by another program since it was read",
                    ForeignChange::Removed => "was removed by another program",
                    ForeignChange::Appeared => "was made by another program meanwhile",
                };
                write!(f, "{} {what}; it is not overwritten", path.display())
            }
            SaveError::ReadOnly(why) => f.write_str(why),
            SaveError::Io { path, error } => write!(f, "cannot write {}: {error}", path.display()),
            SaveError::Outputs { path, error } => {
                write!(
                    f,
                    "the notebook is saved, its outputs are not: cannot write {}: {error}",
                    path.display()
                )
            }
        }
    }
}

impl std::error::Error for SaveError {}

/// A notebook's file that is open for writing, or for reading where someone else has it.
#[derive(Debug)]
pub struct NotebookFile {
    path: PathBuf,
    format: Format,
    /// None where there is no file yet.
    stamp: Option<Stamp>,
    lock: Option<Lock>,
    read_only: Option<String>,
    journal: Option<Journal>,
    /// A journal of an earlier process that nobody has decided about: where it ends.
    pending: Option<u64>,
    /// The notebook as the file has it: what a journal begins with.
    base: Notebook,
}

/// What opening a notebook gives.
#[derive(Debug)]
pub struct Opened {
    pub file: NotebookFile,
    /// As the file has it.
    pub notebook: Notebook,
    /// Changes that were not saved when an earlier process ended. [`NotebookFile::accept`] or
    /// [`NotebookFile::discard`] decides; until then they are kept.
    pub recovered: Option<Recovered>,
    pub notes: Vec<String>,
}

/// What a journal brings back.
#[derive(Clone, PartialEq, Debug)]
pub struct Recovered {
    /// The notebook with the changes.
    pub notebook: Notebook,
    pub changes: usize,
    /// Bytes at the journal's end that could not be read.
    pub torn_bytes: u64,
    /// The file is not the one that the changes were made to: accepting them drops what it has gained since.
    pub file_changed: bool,
}

/// Reads a notebook without taking hold of its file.
///
/// # Errors
/// It can't be read, or is none.
pub fn load(path: &Path) -> Result<Loaded, OpenError> {
    let failed = |error| OpenError::Io { path: path.to_path_buf(), error };
    let found = fs::metadata(path).map_err(failed)?;
    let other = |reason: String| OpenError::NotANotebook { path: path.to_path_buf(), reason };
    if !found.is_file() {
        return Err(other(if found.is_dir() { "it is a folder" } else { "it is no regular file" }.into()));
    }
    if found.len() > LARGEST {
        return Err(other(format!("it has more than {LARGEST} bytes")));
    }
    let bytes = fs::read(path).map_err(failed)?;
    let stamp = Stamp { modified: found.modified().ok(), bytes: bytes.len() as u64, hash: Hash::of(&bytes) };
    let format = Format::of(path);
    let (mut notebook, mut notes) = match format {
        Format::Ipynb => ipynb::read(&bytes).map_err(|error| other(error.to_string()))?,
        Format::Rhai => (percent::parse(&text_of(bytes).map_err(other)?), Vec::new()),
    };
    if format == Format::Rhai {
        notes.extend(read_outputs(path, &mut notebook));
    }
    Ok(Loaded { notebook, format, notes, stamp })
}

/// Writes a notebook to a file of its own, in the format that the name asks for, outputs included.
///
/// # Errors
/// It can't be written. An older file is then as it was.
pub fn write(path: &Path, notebook: &Notebook) -> Result<Vec<String>, SaveError> {
    let bytes = bytes_of(Format::of(path), notebook);
    let failed = |error| SaveError::Io { path: path.to_path_buf(), error };
    file::replace(path, |out| out.write_all(&bytes)).map_err(failed)?;
    write_outputs(path, notebook)
}

impl NotebookFile {
    /// Opens a notebook and takes its lock. Without a file it is a new one, which saving makes. Where another process
    /// has it open, it is opened read-only.
    ///
    /// # Errors
    /// There is a file, and it can't be read or is no notebook.
    pub fn open(path: &Path) -> Result<Opened, OpenError> {
        let path = file::whole(path);
        // Before the file is read, so that nobody writes in between.
        let (lock, read_only) = lock::of(&path, &beside(&path, "lock"));
        if lock.is_some() {
            file::sweep(path.parent().unwrap_or(Path::new(".")));
        }
        let (notebook, stamp, mut notes) = match load(&path) {
            Ok(loaded) => (loaded.notebook, Some(loaded.stamp), loaded.notes),
            Err(error) if error.is_missing() => (Notebook::default(), None, Vec::new()),
            Err(error) => return Err(error),
        };
        notes.extend(read_only.clone());
        let format = Format::of(&path);
        let base = notebook.clone();
        let mut file =
            NotebookFile { path, format, stamp, lock, read_only, journal: None, pending: None, base };
        let recovered = file.left_behind(&mut notes);
        Ok(Opened { file, notebook, recovered, notes })
    }

    /// Where the notebook is kept.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// In which format it is written.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Why nothing can be saved here, where that is so.
    pub fn read_only(&self) -> Option<&str> {
        self.read_only.as_deref()
    }

    /// Writes a change to the journal at once. It is there after a crash of this process; [`NotebookFile::sync`] makes
    /// it outlast the machine's.
    ///
    /// # Errors
    /// The journal can't be written. The notebook in memory is the only place where the change is.
    pub fn record(&mut self, change: &Change) -> io::Result<()> {
        if self.read_only.is_some() {
            return Ok(());
        }
        if self.pending.is_some() {
            return Err(io::Error::other("there are recovered changes to be accepted or discarded first"));
        }
        let journal = match &mut self.journal {
            Some(journal) => journal,
            none => {
                let path = beside(&self.path, "journal");
                let base = self.stamp.map(|stamp| stamp.hash);
                none.insert(Journal::begin(&path, base, &self.base)?)
            }
        };
        journal.record(change)
    }

    /// Waits until the journal is on the disk: to be called when nothing is typed for a moment.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn sync(&self) -> io::Result<()> {
        self.journal.as_ref().map_or(Ok(()), Journal::sync)
    }

    /// The journal, for a thread that waits for the disk in place of this one.
    pub fn journal(&self) -> Option<io::Result<journal::Waiting>> {
        self.journal.as_ref().map(Journal::waiting)
    }

    /// Takes recovered changes over: they are the notebook now, and the journal goes on.
    ///
    /// # Errors
    /// The journal can't be opened; it stays as it is.
    pub(crate) fn accept(&mut self) -> io::Result<()> {
        if let Some(whole) = self.pending {
            self.journal = Some(Journal::resume(&beside(&self.path, "journal"), whole)?);
            self.pending = None;
        }
        Ok(())
    }

    /// Drops recovered changes for good.
    ///
    /// # Errors
    /// The journal can't be removed.
    pub(crate) fn discard(&mut self) -> io::Result<()> {
        if self.pending.is_some() {
            fs::remove_file(beside(&self.path, "journal"))?;
            self.pending = None;
        }
        Ok(())
    }

    /// What happened to the file from outside, if anything. As cheap as asking for its time and size unless these
    /// differ; with `sure`, its content is read.
    pub(crate) fn foreign_change(&self, sure: bool) -> Option<ForeignChange> {
        let found = fs::metadata(&self.path).ok();
        let (found, stamp) = match (found, &self.stamp) {
            (None, None) => return None,
            (None, Some(_)) => return Some(ForeignChange::Removed),
            (Some(_), None) => return Some(ForeignChange::Appeared),
            (Some(found), Some(stamp)) => (found, stamp),
        };
        let looks_same = found.len() == stamp.bytes && found.modified().ok() == stamp.modified;
        if looks_same && !sure {
            return None;
        }
        match fs::read(&self.path) {
            Ok(bytes) if Hash::of(&bytes) == stamp.hash => None,
            _ => Some(ForeignChange::Changed),
        }
    }

    /// Writes the notebook and its outputs, and ends the journal. Notes on what could not be kept.
    ///
    /// # Errors
    /// The file was changed from outside, may not be written, or the disk is full: nothing is lost then.
    pub fn save(&mut self, notebook: &Notebook) -> Result<Vec<String>, SaveError> {
        if let Some(change) = self.foreign_change(true) {
            return Err(SaveError::Conflict { path: self.path.clone(), change });
        }
        self.save_over(notebook)
    }

    /// As [`NotebookFile::save`], whatever happened to the file from outside.
    ///
    /// # Errors
    /// It may not be written, or the disk is full: nothing is lost then.
    pub(crate) fn save_over(&mut self, notebook: &Notebook) -> Result<Vec<String>, SaveError> {
        self.save_through(notebook, |out, bytes| out.write_all(bytes))
    }

    fn save_through(
        &mut self,
        notebook: &Notebook,
        write: impl FnOnce(&mut BufWriter<fs::File>, &[u8]) -> io::Result<()>,
    ) -> Result<Vec<String>, SaveError> {
        if let Some(why) = &self.read_only {
            return Err(SaveError::ReadOnly(why.clone()));
        }
        let bytes = bytes_of(self.format, notebook);
        let is_written = self.stamp.is_some_and(|stamp| stamp.hash == Hash::of(&bytes));
        // A run changes nothing of a script: its file is left alone, and only its outputs need room.
        if !is_written || self.foreign_change(true).is_some() {
            let failed = |error| SaveError::Io { path: self.path.clone(), error };
            file::replace(&self.path, |out| write(out, &bytes)).map_err(failed)?;
        }
        let modified = fs::metadata(&self.path).ok().and_then(|found| found.modified().ok());
        self.stamp = Some(Stamp { modified, bytes: bytes.len() as u64, hash: Hash::of(&bytes) });
        self.base = notebook.clone();
        let mut notes = write_outputs(&self.path, notebook)?;
        if let Some(journal) = self.journal.take()
            && let Err(error) = journal.remove()
        {
            notes.push(format!("the journal could not be removed: {error}"));
        }
        Ok(notes)
    }

    /// Looks for what an earlier process left.
    fn left_behind(&mut self, notes: &mut Vec<String>) -> Option<Recovered> {
        if self.read_only.is_some() {
            // It is the journal of whoever has the notebook open.
            return None;
        }
        let path = beside(&self.path, "journal");
        let bytes = fs::read(&path).ok()?;
        let Some(replayed) = journal::replay(&bytes) else {
            notes.extend(unread(&path, &bytes));
            return None;
        };
        let mut notebook = replayed.notebook;
        // A script has its outputs elsewhere; a session that only ran cells changed nothing but these.
        let is_saved = bytes_of(self.format, &notebook) == bytes_of(self.format, &self.base)
            && (self.format == Format::Ipynb || sidecar::write(&notebook) == sidecar::write(&self.base));
        if (replayed.changes == 0 && replayed.torn == 0) || is_saved {
            // A process that ended between saving and removing it.
            let _ = fs::remove_file(&path);
            return None;
        }
        self.pending = Some(replayed.whole);
        // A journal holds outputs since the last save; those before it are in the file.
        for cell in notebook.cells.iter_mut().filter(|cell| cell.outputs.is_empty() && cell.ran.is_none()) {
            if let Some(old) = self.base.cell(&cell.id) {
                (cell.ran, cell.execution_count) = (old.ran, old.execution_count);
                (cell.outputs, cell.usage) = (old.outputs.clone(), old.usage.clone());
            }
        }
        let file_changed = replayed.base != self.stamp.map(|stamp| stamp.hash);
        Some(Recovered { notebook, changes: replayed.changes, torn_bytes: replayed.torn, file_changed })
    }
}

impl Drop for NotebookFile {
    fn drop(&mut self) {
        // A journal without a decision, or with unsaved changes, stays; the lock goes.
        self.lock.take();
    }
}

/// Sets a journal aside whose beginning can't be read, and says so. One in which nothing was written yet just goes.
fn unread(path: &Path, bytes: &[u8]) -> Option<String> {
    let shown = path.display();
    if bytes.is_empty() {
        let _ = fs::remove_file(path);
        return None;
    }
    Some(match journal::set_aside(path) {
        Ok(aside) => format!("the journal {shown} can't be read; it was set aside as {}", aside.display()),
        Err(error) => format!("the journal {shown} can't be read, and can't be set aside: {error}"),
    })
}

/// `.name.rhai.WHAT` in the folder of `name.rhai`.
pub(crate) fn beside(path: &Path, what: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".");
    name.push(what);
    path.with_file_name(name)
}

fn bytes_of(format: Format, notebook: &Notebook) -> Vec<u8> {
    match format {
        Format::Rhai => percent::write(notebook).into_bytes(),
        Format::Ipynb => ipynb::write(notebook),
    }
}

/// Bytes as text, or why they are none.
fn text_of(bytes: Vec<u8>) -> Result<String, String> {
    if let Some(at) = bytes.iter().position(|&b| b == 0) {
        return Err(format!("it is a binary file, byte {at} is zero"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes().iter().take(at).filter(|&&b| b == b'\n').count();
        format!("it is not UTF-8 text, line {line} has a byte that belongs to no character")
    })
}

/// Reads the outputs beside a script; a note where they can't be used.
fn read_outputs(path: &Path, notebook: &mut Notebook) -> Option<String> {
    let path = sidecar::path_of(path);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return Some(format!("cannot read the outputs in {}: {error}", path.display())),
    };
    match sidecar::read(notebook, &bytes) {
        Ok(_) => None,
        Err(sidecar::Unusable::Torn(why)) => {
            Some(format!("the outputs in {} are damaged and not used: {why}", path.display()))
        }
        Err(sidecar::Unusable::Foreign(why)) => Some(format!("{} is not used: {why}", path.display())),
    }
}

/// Writes the outputs of a script beside it; those of an `.ipynb` are in it.
fn write_outputs(notebook_path: &Path, notebook: &Notebook) -> Result<Vec<String>, SaveError> {
    if Format::of(notebook_path) == Format::Ipynb {
        return Ok(Vec::new());
    }
    let path = sidecar::path_of(notebook_path);
    let old = fs::read(&path).ok();
    if old.as_ref().is_some_and(|old| !sidecar::is_own(old)) {
        return Ok(vec![format!("outputs are not kept: {} is another program's", path.display())]);
    }
    let failed = |error| SaveError::Outputs { path: path.clone(), error };
    match sidecar::write(notebook) {
        Some(bytes) if old.as_ref() != Some(&bytes) => {
            file::replace(&path, |out| out.write_all(&bytes)).map_err(failed)?;
        }
        None if old.is_some() => fs::remove_file(&path).map_err(failed)?,
        _ => {}
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests;

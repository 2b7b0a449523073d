//! Files taken hold of while a notebook is open: another one, one that somebody else had, the same one read again.

use std::path::Path;

use crate::base::file;
use crate::notebook::document::{Change, Notebook};

use super::journal::Journal;
use super::lock;
use super::{Format, NotebookFile, OpenError, Recovered, SaveError, beside, load};

impl NotebookFile {
    /// Takes hold of a file that is written next: one that is there already is neither read nor changed before that.
    ///
    /// # Errors
    /// Another process has it open, or it can't be written there.
    pub(crate) fn make(path: &Path) -> Result<NotebookFile, SaveError> {
        let path = file::whole(path);
        let (lock, read_only) = lock::of(&path, &beside(&path, "lock"));
        if let Some(why) = read_only {
            return Err(SaveError::ReadOnly(why));
        }
        let (format, base) = (Format::of(&path), Notebook::default());
        Ok(NotebookFile {
            path,
            format,
            stamp: None,
            lock,
            read_only: None,
            journal: None,
            pending: None,
            base,
        })
    }

    /// Where another process has the file open: asks whether it has let go of it. Nothing where it has not; else the
    /// file is ours from now on, and with it comes what that process has not saved, if it left such a thing.
    pub(crate) fn ask_for_lock(&mut self) -> Option<Option<Recovered>> {
        self.read_only.as_ref()?;
        let (lock, read_only) = lock::of(&self.path, &beside(&self.path, "lock"));
        (self.lock, self.read_only) = (lock, read_only);
        self.lock.as_ref()?;
        Some(self.left_behind(&mut Vec::new()))
    }

    /// What a journal begins with where a notebook was changed while nothing was kept of it.
    pub(crate) fn changes_to(&self, notebook: &Notebook) -> Vec<Change> {
        if *notebook == self.base {
            return Vec::new();
        }
        let gone: Vec<Change> =
            self.base.cells.iter().map(|cell| Change::Remove { id: cell.id.clone() }).collect();
        let now = notebook.cells.iter().enumerate();
        let now = now.map(|(at, cell)| Change::Insert { at, cell: Box::new(cell.clone()) });
        gone.into_iter().chain(now).collect()
    }

    /// Reads the file again. What the journal holds goes.
    ///
    /// # Errors
    /// It can't be read, or is no notebook any more: all stays as it is.
    pub(crate) fn reread(&mut self) -> Result<(Notebook, Vec<String>), OpenError> {
        let loaded = load(&self.path)?;
        (self.stamp, self.base) = (Some(loaded.stamp), loaded.notebook.clone());
        let mut notes = loaded.notes;
        if let Some(Err(error)) = self.journal.take().map(Journal::remove) {
            notes.push(format!("the journal could not be removed: {error}"));
        }
        Ok((loaded.notebook, notes))
    }

    /// Lets go of the file, and of what was not saved there: it is saved elsewhere.
    pub(crate) fn leave(mut self) {
        if let Some(journal) = self.journal.take() {
            // Left behind, it would be offered again: no more than that.
            let _ = journal.remove();
        }
    }
}

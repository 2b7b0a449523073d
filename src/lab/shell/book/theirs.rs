//! What another lab has left in a lesson that is open here as well. What is written here goes on from it; where it takes
//! the place of what was written there, that is kept in a file of its own.

use std::path::{Path, PathBuf};

use crate::lab::model::book_change::BookChange;
use crate::notebook::{Notebook, store};

/// Cells in which the other lab has written, and all of its notebook.
#[derive(Debug)]
pub(super) struct Theirs {
    left: Notebook,
    written: Vec<String>,
}

impl Theirs {
    /// What it left beside what this lab had read; none where it has written nothing since.
    pub(super) fn of(left: &Notebook, read: &Notebook) -> Option<Theirs> {
        let is_same = |id: &str, text: &str| read.cell(id).is_some_and(|cell| cell.source == text);
        let written = left.cells.iter().filter(|cell| !is_same(&cell.id, &cell.source));
        let written: Vec<String> = written.map(|cell| cell.id.clone()).collect();
        (!written.is_empty()).then(|| Theirs { left: left.clone(), written })
    }

    /// Whether a change takes the place of what was written there.
    pub(super) fn loses_by(&self, change: &BookChange) -> bool {
        let (id, text) = match change {
            BookChange::Text { id, text } => (id, Some(text)),
            BookChange::Remove { id } => (id, None),
            _ => return false,
        };
        self.written.contains(id) && self.left.cell(id).map(|cell| &cell.source) != text
    }

    /// Writes it to a file beside that of the lesson; says so.
    ///
    /// # Errors
    /// It can't be written, and why.
    pub(super) fn keep(&self, path: &Path) -> Result<String, String> {
        let aside = write_aside(path, &self.left)?;
        Ok(format!(
            "both labs wrote in the same cell, which has what you wrote here; what was written in the other lab is in {}",
            aside.display()
        ))
    }
}

/// Writes a notebook to a file of its own beside another one; gives its path.
///
/// # Errors
/// It can't be written, and why.
pub(super) fn write_aside(path: &Path, notebook: &Notebook) -> Result<PathBuf, String> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let named = |n: u32| path.with_file_name(format!("{name}.recovered-{n}.{extension}"));
    let free = (1..1000).map(named).find(|path| path.symlink_metadata().is_err());
    let aside = free.ok_or("there are too many recovered ones beside it")?;
    store::write(&aside, notebook).map_err(|error| error.to_string())?;
    Ok(aside)
}

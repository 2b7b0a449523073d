//! The notebook behind the lab's cells: its file, its journal, and what other programs do to the file.

use std::io;
use std::path::Path;

use serde_json::{Value, json};

use crate::base::figures::plural;
use crate::base::file;
use crate::lab::model::book_change::{BookChange, Keeping, NotSaved};
use crate::lab::model::document::{self, Document, Item, Step, Stored};
use crate::lab::model::document::{Beside, Page, Stand};
use crate::lab::model::file_facts::FileFacts;
use crate::lab::shell::book::theirs::Theirs;
use crate::notebook::output::Fields;
use crate::notebook::store::{self, Recovered, SaveError};
use crate::notebook::{Cell, Change, Kind, Notebook, NotebookFile, Wants, difference, new_id};

/// Where a cell of the learner's own says where it stands in its lesson.
const STANDS: &str = "lesson_place";

/// A notebook that is open in the lab.
#[derive(Debug)]
pub struct Book {
    file: NotebookFile,
    /// With every change that the lab has made.
    notebook: Notebook,
    /// What the journal does not have yet: what was done to an empty notebook before anything else, which waits until
    /// there is more, and what it could not be told.
    first: Vec<Change>,
    /// The journal could not be written: what is in `first` is nowhere else.
    unjournaled: bool,
    /// It is saved by itself: what is written in a lesson.
    always: bool,
    /// Changes were recorded since the journal was last on the disk.
    unsynced: bool,
    /// Another program has changed the file.
    changed_outside: bool,
    /// Changes of an earlier lab that are taken over and not saved yet.
    recovered: usize,
    /// What another lab left in a lesson, until something here takes its place.
    theirs: Option<Theirs>,
}

impl Book {
    /// Opens a notebook, and says what there is to say of it; one that is not there yet is empty. Changes that an
    /// earlier lab could not save are taken over, or, where the file is another one now, kept in a file of their own.
    ///
    /// # Errors
    /// The file can't be read, or is no notebook.
    pub fn open(path: &Path) -> Result<(Book, Vec<String>), String> {
        let opened = NotebookFile::open(path).map_err(|error| error.to_string())?;
        let (mut file, mut notebook, mut notes) = (opened.file, opened.notebook, opened.notes);
        let mut recovered = 0;
        if let Some(found) = opened.recovered {
            if found.file_changed {
                let why = "another program has changed this file since";
                notes.push(set_aside(&mut file, &found.notebook, found.changes, why));
            } else if file.accept().is_ok() {
                (notebook, recovered) = (found.notebook, found.changes);
            }
        }
        let first = begun(&mut notebook).into_iter().collect();
        let (always, unsynced, changed_outside, theirs) = (false, false, false, None);
        let unjournaled = false;
        let book =
            Book { file, notebook, first, unjournaled, always, unsynced, changed_outside, recovered, theirs };
        Ok((book, notes))
    }

    /// Opens a notebook that is saved by itself, so that changes that an earlier lab could not save are nothing to speak
    /// of; one that is not there yet has these cells.
    pub(crate) fn open_own(path: &Path, cells: Vec<Cell>) -> Result<(Book, Vec<String>), String> {
        let exists = path.exists();
        let (mut book, notes) = Book::open(path)?;
        book.always = true;
        // They are here as they were made, and saved by themselves.
        book.recovered = 0;
        if !exists && !book.first.is_empty() {
            (book.notebook, book.first) = (Notebook::default(), Vec::new());
            cells.into_iter().for_each(|cell| book.begin_with(cell));
        }
        Ok((book, notes))
    }

    fn begin_with(&mut self, cell: Cell) {
        let change = Change::Insert { at: self.notebook.cells.len(), cell: Box::new(cell) };
        self.notebook.apply(&change);
        self.first.push(change);
    }

    /// What becomes of what is written.
    pub fn keeping(&self) -> Keeping {
        match self.always {
            false => Keeping::OnSave,
            true if self.file.read_only().is_some() => Keeping::Nothing,
            true => Keeping::Always,
        }
    }

    /// It is saved by itself.
    pub(crate) fn is_kept(&self) -> bool {
        self.always && self.file.read_only().is_none()
    }

    pub(crate) fn cells(&self) -> &[Cell] {
        &self.notebook.cells
    }

    pub(crate) fn cell(&self, id: &str) -> Option<&Cell> {
        self.notebook.cell(id)
    }

    /// Puts a cell below another one, or at the top.
    pub(crate) fn insert_after(&mut self, above: Option<&str>, cell: Cell) {
        let at = above.and_then(|id| self.notebook.position(id)).map_or(0, |at| at + 1);
        self.make(vec![Change::Insert { at, cell: Box::new(cell) }]);
    }

    pub(crate) fn change_metadata(&mut self, id: &str, metadata: Fields) {
        self.make(vec![Change::Metadata { id: id.into(), metadata }]);
    }

    /// Gives a cell another text, and no outputs.
    pub(crate) fn clear(&mut self, id: &str, text: &str) {
        let source = self.notebook.cell(id).and_then(|cell| Change::source(cell, text));
        self.make(source.into_iter().chain([Change::ClearOutputs { id: id.into() }]).collect());
    }

    /// Changes that are made again whenever the notebook is opened, so that it is no loss where they can't be written.
    fn make(&mut self, changes: Vec<Change>) {
        let _ = self.apply(changes);
    }

    /// The cells as the lab shows them: code, text in Markdown, and raw text.
    pub fn document(&self) -> Document {
        let items = self.notebook.cells.iter().map(|cell| Item::Cell(Box::new(shown(cell)))).collect();
        let title = self.file.path().display().to_string();
        Document { title, steps: vec![Step { items, ..Step::default() }], ..Document::default() }
    }

    /// What its code needs of a session.
    pub(crate) fn wants(&self) -> Wants {
        self.notebook.wants()
    }

    /// The language of its code, where it is not Rhai.
    pub(crate) fn other_language(&self) -> Option<&str> {
        Some(self.notebook.language()).filter(|language| *language != "rhai")
    }

    /// Whether this is the file's notebook, however its path is written.
    pub(crate) fn is_of(&self, path: &Path) -> bool {
        file::whole(self.file.path()) == file::whole(path)
    }

    /// Makes a change, and writes it to the journal at once. Says where what another lab wrote is, where the change took
    /// its place.
    ///
    /// # Errors
    /// The journal can't be written: the change is here alone until the notebook is saved.
    pub fn change(&mut self, change: BookChange) -> io::Result<Option<String>> {
        let kept = self.theirs.take_if(|theirs| theirs.loses_by(&change)).map(|theirs| {
            theirs.keep(self.file.path()).unwrap_or_else(|reason| {
                format!(
                    "both labs wrote in the same cell, and what was written in the other is lost: {reason}"
                )
            })
        });
        self.apply(self.changes(change))?;
        Ok(kept)
    }

    fn apply(&mut self, changes: Vec<Change>) -> io::Result<()> {
        let mut is_changed = false;
        for change in changes {
            if self.notebook.apply(&change) {
                self.first.push(change);
                is_changed = true;
            }
        }
        if is_changed { self.journal() } else { Ok(()) }
    }

    /// Tells the journal what it does not have yet, in order; what it can't be told waits.
    fn journal(&mut self) -> io::Result<()> {
        let told = self.first.iter().try_fold(0, |told, change| match self.file.record(change) {
            Ok(()) => Ok(told + 1),
            Err(error) => Err((told, error)),
        });
        let (told, done) = told.map_or_else(|(told, error)| (told, Err(error)), |told| (told, Ok(())));
        self.first.drain(..told);
        self.unsynced |= told > 0;
        self.unjournaled = done.is_err();
        done
    }

    /// Writes the file; `over` even where another program has changed it. Notes on what could not be kept.
    ///
    /// # Errors
    /// Nothing is lost then.
    pub fn save(&mut self, over: bool) -> Result<Vec<String>, NotSaved> {
        let freed = self.ask_for_lock();
        let saved = if over { self.file.save_over(&self.notebook) } else { self.file.save(&self.notebook) };
        match saved {
            Ok(mut notes) => {
                notes.extend(freed);
                self.rests();
                Ok(notes)
            }
            Err(error @ SaveError::Conflict { .. }) => Err(NotSaved::Conflict(error.to_string())),
            Err(error) => Err(NotSaved::Failed(error.to_string())),
        }
    }

    /// All that is here is in the file.
    fn rests(&mut self) {
        self.first.clear();
        (self.unjournaled, self.unsynced, self.changed_outside, self.recovered) = (false, false, false, 0);
    }

    /// Looks what another program has done to the file. Only another lab writes what is done in a lesson, and that is
    /// taken over with the lock.
    pub(crate) fn look_outside(&mut self) {
        self.changed_outside = !self.always && self.file.foreign_change(false).is_some();
    }

    /// The file that it is in.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// What holds of the file as long as nothing is done about it.
    pub(crate) fn facts(&self) -> FileFacts {
        FileFacts {
            read_only: self.file.read_only().map(str::to_owned),
            recovered: self.recovered,
            changed_outside: self.changed_outside,
            unjournaled: self.unjournaled,
        }
    }

    /// Where another lab has the file: asks whether it has let go of it, and says so. From then on changes are kept,
    /// and of a notebook those made until then too. What is kept by itself is what the other lab has left: the lab
    /// tells of what was done here meanwhile, once [`Book::keeping`] says that it is kept.
    pub(crate) fn ask_for_lock(&mut self) -> Option<String> {
        let left = self.file.ask_for_lock()?;
        if self.always {
            return Some(self.take_over(left));
        }
        let mut told = "the other lab has let go of the file: it can be saved here now".to_owned();
        if let Some(left) = left {
            told = format!(
                "{told}; {}",
                set_aside(&mut self.file, &left.notebook, left.changes, "it left them")
            );
        }
        self.first = self.file.changes_to(&self.notebook);
        Some(match self.journal() {
            Ok(()) => told,
            Err(error) => format!("{told}; what you type is not kept until then: {error}"),
        })
    }

    /// Goes on from what another lab has left in the file and its journal; says so.
    fn take_over(&mut self, left: Option<Recovered>) -> String {
        let told = "the other lab has let go of this lesson: what you do here is kept from now on, and what you have done";
        let read = self.notebook.clone();
        let mut notes = match left {
            Some(left) if !left.file_changed && self.file.accept().is_ok() => {
                self.rests();
                (self.notebook, self.unsynced) = (left.notebook, true);
                Vec::new()
            }
            Some(left) => {
                vec![set_aside(&mut self.file, &left.notebook, left.changes, "the other lab left them")]
            }
            None => Vec::new(),
        };
        if self.file.journal().is_none() && self.file.foreign_change(true).is_some() {
            notes.extend(self.reload().unwrap_or_else(|reason| vec![reason]));
        }
        self.theirs = Theirs::of(&self.notebook, &read);
        if self.theirs.is_some() {
            notes.push("what was written there is shown when you open the lesson again".into());
        }
        notes.iter().fold(told.to_owned(), |told, note| format!("{told}; {note}"))
    }

    /// How the file differs from what is here, line by line.
    ///
    /// # Errors
    /// The file can't be read, or is no notebook any more.
    pub(crate) fn differences(&self) -> Result<Vec<String>, String> {
        let file = store::load(self.file.path()).map_err(|error| error.to_string())?.notebook;
        Ok(difference::of(&self.notebook, &file))
    }

    /// Takes the file as it is now; what was here and is not saved goes.
    ///
    /// # Errors
    /// The file can't be read, or is no notebook any more: all stays as it is.
    pub(crate) fn reload(&mut self) -> Result<Vec<String>, String> {
        let (notebook, notes) = self.file.reread().map_err(|error| error.to_string())?;
        self.notebook = notebook;
        self.rests();
        self.first.extend(begun(&mut self.notebook));
        Ok(notes)
    }

    /// Writes the notebook to another file, `over` even where there is one, and goes on there. The file that it was in
    /// stays as it was saved last.
    ///
    /// # Errors
    /// There is such a file, or it can't be written; all stays as it is.
    pub(crate) fn save_as(&mut self, path: &Path, over: bool) -> Result<Vec<String>, NotSaved> {
        let typed = path;
        let folder = self.file.path().parent().unwrap_or(Path::new(""));
        let path = folder.join(file::at_home(typed));
        if self.is_of(&path) {
            return self.save(over);
        }
        if !over && path.symlink_metadata().is_ok() {
            return Err(NotSaved::Exists(path));
        }
        let failed =
            |error: &dyn std::fmt::Display| NotSaved::As { path: typed.into(), reason: error.to_string() };
        let mut file = NotebookFile::make(&path).map_err(|error| failed(&error))?;
        let notes = file.save_over(&self.notebook).map_err(|error| failed(&error))?;
        let before = std::mem::replace(&mut self.file, file);
        before.leave();
        self.rests();
        Ok(notes)
    }

    /// Has the journal written to the disk, elsewhere than on this thread.
    pub fn sync(&mut self) {
        if self.unjournaled {
            // There may be room again; that there is none has been told.
            let _ = self.journal();
        }
        if std::mem::take(&mut self.unsynced)
            && let Some(Ok(journal)) = self.file.journal()
        {
            // Where no thread can be had, the journal outlasts this process all the same.
            let _ = std::thread::Builder::new().name("journal".into()).spawn(move || journal.sync());
        }
    }

    fn changes(&self, change: BookChange) -> Vec<Change> {
        match change {
            BookChange::Text { id, text } => {
                self.notebook.cell(&id).and_then(|cell| Change::source(cell, &text)).into_iter().collect()
            }
            BookChange::Markdown { id, markdown } => {
                let kind = if markdown { Kind::Markdown } else { Kind::Code };
                vec![Change::ClearOutputs { id: id.clone() }, Change::Kind { id, kind }]
            }
            BookChange::Insert { after, cell } => {
                let at = after.and_then(|id| self.notebook.position(&id)).map_or(0, |at| at + 1);
                vec![Change::Insert { at, cell: Box::new(kept(*cell)) }]
            }
            BookChange::Remove { id } => vec![Change::Remove { id }],
            BookChange::Move { id, after } => {
                let mut rest = self.notebook.cells.iter().filter(|cell| cell.id != id);
                let to = after.and_then(|id| rest.position(|cell| cell.id == id)).map_or(0, |at| at + 1);
                vec![Change::Move { id, to }]
            }
            BookChange::Stands { id, stand } => {
                let Some(mut metadata) = self.notebook.cell(&id).map(|cell| cell.metadata.clone()) else {
                    return Vec::new();
                };
                metadata.insert(STANDS.into(), stand_to_json(&stand));
                vec![Change::Metadata { id, metadata }]
            }
            BookChange::Ran { id, stored } => {
                let Stored { outputs, ran, count, usage } = *stored;
                let hash = ran.unwrap_or_else(|| Kind::Code.hash(""));
                let before = self.notebook.cell(&id);
                let usage = usage.map(|now| match before {
                    Some(before) => before.settled(now, Some(hash), &outputs),
                    None => now,
                });
                vec![Change::Ran { id, hash, execution_count: count, outputs, usage: usage.map(Box::new) }]
            }
        }
    }
}

/// Gives a notebook that has no cell but raw text an empty one; what was done to it.
fn begun(notebook: &mut Notebook) -> Option<Change> {
    if !notebook.cells.iter().all(|cell| cell.kind == Kind::Raw) {
        return None;
    }
    let mut cell = Box::new(Cell::code(""));
    cell.id = new_id();
    let change = Change::Insert { at: notebook.cells.len(), cell };
    notebook.apply(&change);
    Some(change)
}

/// Writes recovered changes to a file of their own, and says why they are there.
fn set_aside(file: &mut NotebookFile, recovered: &Notebook, changes: usize, why: &str) -> String {
    let unsaved = plural(changes as u64, "change that was not saved", "changes that were not saved");
    let [are, wait] = if changes == 1 { ["is", "waits"] } else { ["are", "wait"] };
    let aside = theirs::write_aside(file.path(), recovered);
    let kept = aside.and_then(|aside| file.discard().map(|()| aside).map_err(|error| error.to_string()));
    match kept {
        Ok(aside) => format!("{unsaved} {are} in {}: {why}", aside.display()),
        Err(reason) => format!("{unsaved} {wait} beside the file: {reason}"),
    }
}

/// Where a cell stands in its lesson, where it says so.
pub(super) fn stand_of(cell: &Cell) -> Option<Stand> {
    let kept = cell.metadata.get(STANDS)?;
    let page = match kept.get("page")? {
        Value::String(_) => Page::Last,
        number => Page::At(usize::try_from(number.as_u64()?).ok()?),
    };
    let id = |name: &str| kept.get(name).and_then(Value::as_str).map(str::to_owned);
    let beside = id("below").map(Beside::Below).or_else(|| id("above").map(Beside::Above));
    Some(Stand { page, beside })
}

fn stand_to_json(stand: &Stand) -> Value {
    let page = match stand.page {
        Page::At(number) => Value::from(number),
        Page::Last => Value::from("last"),
    };
    match &stand.beside {
        Some(Beside::Below(id)) => json!({ "page": page, "below": id }),
        Some(Beside::Above(id)) => json!({ "page": page, "above": id }),
        None => json!({ "page": page }),
    }
}

pub(super) fn shown(cell: &Cell) -> document::Cell {
    let stored = Stored {
        outputs: cell.outputs.clone(),
        ran: cell.ran,
        count: cell.execution_count,
        usage: cell.usage.clone(),
    };
    let has_run = cell.kind == Kind::Code && (!cell.outputs.is_empty() || cell.ran.is_some());
    document::Cell {
        id: cell.id.clone(),
        code: cell.source.clone(),
        markdown: cell.kind != Kind::Code,
        raw: cell.kind == Kind::Raw,
        stored: has_run.then(|| Box::new(stored)),
        ..document::Cell::default()
    }
}

fn kept(cell: document::Cell) -> Cell {
    let kind = Kind::of_text(cell.markdown, cell.raw);
    let mut kept = Cell::new(kind, cell.code);
    kept.id = cell.id;
    if let Some(stored) = cell.stored {
        (kept.outputs, kept.ran) = (stored.outputs, stored.ran);
        (kept.execution_count, kept.usage) = (stored.count, stored.usage);
    }
    kept
}

mod theirs;

#[cfg(test)]
mod tests;

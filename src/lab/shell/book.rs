//! The notebook behind the lab's cells: its file, its journal, and what other programs do to the file.

use std::io;
use std::path::{Path, PathBuf};

use crate::base::figures::plural;
use serde_json::{Value, json};

use crate::base::file;
use crate::lab::model::book_change::{BookChange, Keeping, NotSaved};
use crate::lab::model::document::{self, Document, Item, Step, Stored};
use crate::lab::model::file_facts::FileFacts;
use crate::lab::model::stands::{Beside, Page, Stand};
use crate::notebook::output::Fields;
use crate::notebook::store::{self, Recovered, SaveError};
use crate::notebook::{Cell, Change, Kind, Notebook, NotebookFile, difference, new_id};

/// Where a cell of the learner's own says where it stands in its lesson.
const STANDS: &str = "lesson_place";

/// A notebook that is open in the lab.
#[derive(Debug)]
pub struct Book {
    file: NotebookFile,
    /// With every change that the lab has made.
    notebook: Notebook,
    /// What was done to an empty notebook before anything else: the journal has it once there is more.
    first: Vec<Change>,
    /// It is saved by itself: what is written in a lesson.
    always: bool,
    /// Changes were recorded since the journal was last on the disk.
    unsynced: bool,
    /// A change from outside has been told.
    told: bool,
    /// Changes of an earlier lab that are taken over and not saved yet.
    recovered: usize,
}

impl Book {
    /// Opens a notebook, and says what there is to say of it; one that is not there yet is empty. Changes that an
    /// earlier lab could not save are taken over, or, where the file is another one now, kept in a file of their own.
    ///
    /// # Errors
    /// The file can't be read, or is no notebook.
    pub fn open(path: &Path) -> Result<(Book, Vec<String>), String> {
        let (book, mut notes) = Book::take_up(path)?;
        if book.recovered > 0 {
            // They are shown, and the file has them once they are saved.
            let changes = plural(book.recovered as u64, "change that was", "changes that were");
            let are = if book.recovered == 1 { "is" } else { "are" };
            notes.push(format!(
                "{changes} not saved {are} recovered; Ctrl-S saves, Alt-r shows the differences"
            ));
        }
        Ok((book, notes))
    }

    /// Opens a notebook with the changes that an earlier lab could not save.
    fn take_up(path: &Path) -> Result<(Book, Vec<String>), String> {
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
        let always = false;
        Ok((Book { file, notebook, first, always, unsynced: false, told: false, recovered }, notes))
    }

    /// Opens a notebook that is saved by itself, so that changes that an earlier lab could not save are nothing to speak
    /// of; one that is not there yet has these cells.
    pub(crate) fn open_own(path: &Path, cells: Vec<Cell>) -> Result<(Book, Vec<String>), String> {
        let exists = path.exists();
        let (mut book, notes) = Book::take_up(path)?;
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

    /// The cells as the lab shows them: code, and text in Markdown.
    pub fn document(&self) -> Document {
        let cells = self.notebook.cells.iter().filter(|cell| cell.kind != Kind::Raw);
        let items = cells.map(|cell| Item::Cell(Box::new(shown(cell)))).collect();
        let title = self.file.path().display().to_string();
        Document { title, steps: vec![Step { items, ..Step::default() }], ..Document::default() }
    }

    /// The language of its code, where it is not Rhai.
    pub(crate) fn other_language(&self) -> Option<&str> {
        Some(self.notebook.language()).filter(|language| *language != "rhai")
    }

    /// Whether this is the file's notebook, however its path is written.
    pub(crate) fn is_of(&self, path: &Path) -> bool {
        file::whole(self.file.path()) == file::whole(path)
    }

    /// Makes a change, and writes it to the journal at once.
    ///
    /// # Errors
    /// The journal can't be written: the change is here alone until the notebook is saved.
    pub fn change(&mut self, change: BookChange) -> io::Result<()> {
        self.apply(self.changes(change))
    }

    fn apply(&mut self, changes: Vec<Change>) -> io::Result<()> {
        for change in changes {
            for first in std::mem::take(&mut self.first) {
                self.file.record(&first)?;
            }
            if self.notebook.apply(&change) {
                self.file.record(&change)?;
                self.unsynced = true;
            }
        }
        Ok(())
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
                (self.unsynced, self.told, self.recovered) = (false, false, 0);
                Ok(notes)
            }
            Err(error @ SaveError::Conflict { .. }) => Err(NotSaved::Conflict(error.to_string())),
            Err(error) => Err(NotSaved::Failed(error.to_string())),
        }
    }

    /// What another program has done to the file, once each time.
    pub(crate) fn foreign_change(&mut self) -> Option<&'static str> {
        if self.always {
            // Only another lab writes what is done in a lesson, and it is taken over with the lock.
            return None;
        }
        let change = self.file.foreign_change(false);
        let new = change.is_some() && !self.told;
        self.told = change.is_some();
        new.then_some("another program has changed the file: Alt-r shows the differences and can reload it")
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
            changed_outside: self.told,
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
        let kept = self.file.record_all(&self.notebook);
        self.unsynced = true;
        Some(match kept {
            Ok(()) => told,
            Err(error) => format!("{told}; what you type is not kept until then: {error}"),
        })
    }

    /// Goes on from what another lab has left in the file and its journal; says so.
    fn take_over(&mut self, left: Option<Recovered>) -> String {
        let told = "the other lab has let go of this lesson: what you do here is kept from now on, and what you have done";
        let mut notes = match left {
            Some(left) if !left.file_changed && self.file.accept().is_ok() => {
                (self.notebook, self.first, self.unsynced) = (left.notebook, Vec::new(), true);
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
        (self.first, self.unsynced, self.told, self.recovered) =
            (begun(&mut self.notebook).into_iter().collect(), false, false, 0);
        Ok(notes)
    }

    /// Writes the notebook to another file, `over` even where there is one, and goes on there. The file that it was in
    /// stays as it was saved last.
    ///
    /// # Errors
    /// There is such a file, or it can't be written; all stays as it is.
    pub(crate) fn save_as(&mut self, path: &Path, over: bool) -> Result<Vec<String>, NotSaved> {
        let folder = self.file.path().parent().unwrap_or(Path::new(""));
        let path = folder.join(file::at_home(path));
        if self.is_of(&path) {
            return self.save(over);
        }
        if !over && path.symlink_metadata().is_ok() {
            return Err(NotSaved::Exists(path));
        }
        let failed = |error: &dyn std::fmt::Display| NotSaved::Failed(error.to_string());
        let mut file = NotebookFile::make(&path).map_err(|error| failed(&error))?;
        let notes = file.save_over(&self.notebook).map_err(|error| failed(&error))?;
        let before = std::mem::replace(&mut self.file, file);
        before.leave();
        (self.first, self.unsynced, self.told, self.recovered) = (Vec::new(), false, false, 0);
        Ok(notes)
    }

    /// Has the journal written to the disk, elsewhere than on this thread.
    pub fn sync(&mut self) {
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
                // Raw text, which the lab does not show, stays behind the cell it stood behind.
                let above = after.and_then(|id| self.notebook.position(&id)).map_or(0, |at| at + 1);
                let raw = self.notebook.cells.iter().skip(above).take_while(|cell| cell.kind == Kind::Raw);
                vec![Change::Insert { at: above + raw.count(), cell: Box::new(kept(*cell)) }]
            }
            BookChange::Remove { id } => vec![Change::Remove { id }],
            BookChange::Move { id, after } => {
                let rest: Vec<&Cell> = self.notebook.cells.iter().filter(|cell| cell.id != id).collect();
                let above =
                    after.and_then(|id| rest.iter().position(|cell| cell.id == id)).map_or(0, |at| at + 1);
                let raw = rest.iter().skip(above).take_while(|cell| cell.kind == Kind::Raw);
                vec![Change::Move { id, to: above + raw.count() }]
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
                vec![Change::Ran { id, hash, execution_count: count, outputs, usage: usage.map(Box::new) }]
            }
        }
    }
}

/// Gives a notebook that shows no cell an empty one; what was done to it.
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
    let free = |path: &PathBuf| !path.exists();
    let path = file.path();
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    let named = |n: u32| path.with_file_name(format!("{name}.recovered-{n}.{extension}"));
    let Some(aside) = (1..1000).map(named).find(free) else {
        return format!("{changes} changes that were not saved wait beside the file");
    };
    let written = store::write(&aside, recovered).map_err(|error| error.to_string());
    match written.and_then(|_| file.discard().map_err(|error| error.to_string())) {
        Ok(()) => format!("{changes} changes that were not saved are in {}: {why}", aside.display()),
        Err(reason) => format!("{changes} changes that were not saved wait beside the file: {reason}"),
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
        markdown: cell.kind == Kind::Markdown,
        stored: has_run.then(|| Box::new(stored)),
        ..document::Cell::default()
    }
}

fn kept(cell: document::Cell) -> Cell {
    let kind = if cell.markdown { Kind::Markdown } else { Kind::Code };
    let mut kept = Cell::new(kind, cell.code);
    kept.id = cell.id;
    if let Some(stored) = cell.stored {
        (kept.outputs, kept.ran) = (stored.outputs, stored.ran);
        (kept.execution_count, kept.usage) = (stored.count, stored.usage);
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::notebook::Output;

    /// A folder of its own with a notebook of this text.
    fn folder(name: &str, text: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("tensorlab-book-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("n.rhai");
        fs::write(&path, text).unwrap();
        path
    }

    fn ids(book: &Book) -> Vec<String> {
        book.notebook.cells.iter().map(|cell| cell.id.clone()).collect()
    }

    fn text(id: &str, text: &str) -> BookChange {
        BookChange::Text { id: id.into(), text: text.into() }
    }

    fn new_cell(id: &str, code: &str) -> Box<document::Cell> {
        Box::new(document::Cell { id: id.into(), code: code.into(), ..document::Cell::default() })
    }

    #[test]
    fn saving_keeps_what_the_lab_does_not_show() {
        let source =
            "// %% [markdown]\n// # T\n\n// %%  One\nlet x = 1;\n\n\n// %% [raw]\n// between\n// %%\nx\n";
        let path = folder("raw", source);
        let (mut book, notes) = Book::open(&path).unwrap();
        assert_eq!(notes, Vec::<String>::new());
        assert_eq!(book.document().steps[0].items.len(), 3);
        book.save(false).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), source);
        let [_, one, _, last] = ids(&book).try_into().unwrap();
        book.change(text(&one, "let x = 2;")).unwrap();
        book.change(BookChange::Insert { after: Some(one.clone()), cell: new_cell("new", "new") }).unwrap();
        book.save(false).unwrap();
        let written = fs::read_to_string(&path).unwrap();
        assert_eq!(written, source.replace("= 1", "= 2").replace("// %%\nx", "\n// %%\nnew\n// %%\nx"));
        book.change(BookChange::Remove { id: one }).unwrap();
        book.change(BookChange::Markdown { id: last, markdown: true }).unwrap();
        let kinds: Vec<_> = book.notebook.cells.iter().map(|c| (c.kind, c.source.as_str())).collect();
        use Kind::*;
        assert_eq!(kinds, [(Markdown, "# T"), (Raw, "between"), (Code, "new"), (Markdown, "x")]);
    }

    #[test]
    fn what_was_not_saved_comes_back_with_its_outputs() {
        let path = folder("crash", "// %%\nlet x = 1;\n// %%\nx\n");
        let (mut book, _) = Book::open(&path).unwrap();
        let [a, b] = ids(&book).try_into().unwrap();
        book.change(text(&a, "let x = 5;")).unwrap();
        let outputs = vec![Output::result("5", 2)];
        let stored = Stored { outputs, ran: Some(Kind::Code.hash("x")), count: Some(2), usage: None };
        book.change(BookChange::Ran { id: b, stored: Box::new(stored.clone()) }).unwrap();
        drop(book);
        let (mut book, notes) = Book::open(&path).unwrap();
        assert_eq!(
            notes,
            ["2 changes that were not saved are recovered; Ctrl-S saves, Alt-r shows the differences"]
        );
        assert_eq!(book.facts().recovered, 2);
        let document = book.document();
        let [Item::Cell(first), Item::Cell(second)] = document.steps[0].items.as_slice() else { panic!() };
        assert_eq!(first.code, "let x = 5;");
        assert_eq!(second.stored.as_deref(), Some(&stored));
        book.save(false).unwrap();
        drop(book);
        let (book, notes) = Book::open(&path).unwrap();
        assert!(notes.is_empty(), "{notes:?}");
        assert!(book.document() == document, "the outputs are beside the file");
    }

    #[test]
    fn a_new_notebook_has_a_cell_that_comes_back_too() {
        let path = folder("new", "");
        fs::remove_file(&path).unwrap();
        let (mut book, _) = Book::open(&path).unwrap();
        let [only] = ids(&book).try_into().unwrap();
        book.change(text(&only, "1 + 1")).unwrap();
        drop(book);
        let (book, notes) = Book::open(&path).unwrap();
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert_eq!(book.notebook.cells[0].source, "1 + 1");
        assert!(!path.exists());
    }

    #[test]
    fn changes_to_a_file_that_is_another_one_now_are_kept_beside_it() {
        let path = folder("aside", "// %%\nlet x = 1;\n");
        let (mut book, _) = Book::open(&path).unwrap();
        let [a] = ids(&book).try_into().unwrap();
        book.change(text(&a, "mine")).unwrap();
        drop(book);
        fs::write(&path, "// %%\ntheirs\n").unwrap();
        let (mut book, notes) = Book::open(&path).unwrap();
        assert!(notes[0].contains("n.recovered-1.rhai") && notes[0].contains("another program"), "{notes:?}");
        assert_eq!(book.notebook.cells[0].source, "theirs");
        let aside = path.with_file_name("n.recovered-1.rhai");
        assert!(fs::read_to_string(aside).unwrap().contains("mine"));
        let [a] = ids(&book).try_into().unwrap();
        book.change(text(&a, "theirs and mine")).unwrap();
        drop(book);
        let (book, _) = Book::open(&path).unwrap();
        assert_eq!(book.notebook.cells[0].source, "theirs and mine", "the journal goes on");
    }

    #[test]
    fn a_file_that_changed_meanwhile_is_written_over_only_when_told_so() {
        let path = folder("conflict", "// %%\nlet x = 1;\n");
        let (mut book, _) = Book::open(&path).unwrap();
        assert_eq!(book.foreign_change(), None);
        fs::write(&path, "// %%\nsomething else\n").unwrap();
        assert!(book.foreign_change().is_some());
        assert_eq!(book.foreign_change(), None, "it is told once");
        let [a] = ids(&book).try_into().unwrap();
        book.change(text(&a, "mine")).unwrap();
        assert!(matches!(book.save(false), Err(NotSaved::Conflict(_))));
        assert_eq!(fs::read_to_string(&path).unwrap(), "// %%\nsomething else\n");
        book.save(true).unwrap();
        assert!(fs::read_to_string(&path).unwrap().contains("mine"));
        assert_eq!(book.foreign_change(), None);
    }

    #[test]
    fn a_moved_cell_keeps_its_title_and_stands_behind_raw_text() {
        let source = "// %%  One\nlet x = 1;\n\n// %% [raw]\n// between\n\n// %%  Two\nx\n";
        let path = folder("move", source);
        let (mut book, _) = Book::open(&path).unwrap();
        let [one, _, two] = ids(&book).try_into().unwrap();
        book.change(BookChange::Move { id: one.clone(), after: Some(two.clone()) }).unwrap();
        assert_eq!(ids(&book).last(), Some(&one));
        book.change(BookChange::Move { id: one, after: None }).unwrap();
        book.change(BookChange::Move { id: two, after: None }).unwrap();
        book.save(false).unwrap();
        let written = fs::read_to_string(&path).unwrap();
        let order: Vec<usize> = ["// between", "// %%  Two\nx", "// %%  One\nlet"]
            .map(|text| written.find(text).unwrap_or(usize::MAX))
            .to_vec();
        assert!(order.is_sorted() && order.last() != Some(&usize::MAX), "{written}");
    }

    #[test]
    fn saving_elsewhere_asks_before_it_replaces_and_leaves_the_first_file_alone() {
        let path = folder("save-as", "// %%\nlet x = 1;\n");
        let (mut book, _) = Book::open(&path).unwrap();
        let [a] = ids(&book).try_into().unwrap();
        book.change(text(&a, "mine")).unwrap();
        let other = path.with_file_name("other.rhai");
        fs::write(&other, "// %%\ntheirs\n").unwrap();
        assert_eq!(book.save_as(Path::new("other.rhai"), false), Err(NotSaved::Exists(other.clone())));
        assert!(matches!(book.save_as(Path::new("no/folder.rhai"), false), Err(NotSaved::Failed(_))));
        assert_eq!(fs::read_to_string(&other).unwrap(), "// %%\ntheirs\n");
        book.save_as(&other, true).unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "// %%\nmine\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), "// %%\nlet x = 1;\n");
        assert!(book.is_of(&other) && !path.with_file_name(".n.rhai.journal").exists());
        book.change(text(&a, "mine again")).unwrap();
        let (first, notes) = Book::open(&path).unwrap();
        assert!(notes.is_empty() && first.facts().read_only.is_none(), "it is free: {notes:?}");
        let (second, _) = Book::open(&other).unwrap();
        assert!(second.facts().read_only.is_some(), "this one is taken");
        drop((book, second));
        assert_eq!(Book::open(&other).unwrap().0.notebook.cells[0].source, "mine again");
    }

    #[test]
    fn a_new_notebook_of_a_relative_path_is_whole_and_saved_elsewhere_by_its_shown_name() {
        let path = folder("relative", "");
        let there = path.with_file_name("work");
        fs::create_dir_all(&there).unwrap();
        // From the folder in which the tests run, up to the root and down again.
        let here = std::env::current_dir().unwrap();
        let up: PathBuf = here.components().skip(1).map(|_| "..").collect();
        let relative = up.join(there.join("first.rhai").strip_prefix("/").unwrap());
        let (mut book, _) = Book::open(&relative).unwrap();
        assert!(book.path().is_absolute() && book.is_of(&relative));
        let shown = book.document().title;
        book.save_as(Path::new(&shown.replace("first", "second")), false).unwrap();
        assert!(there.join("second.rhai").exists(), "{}", book.path().display());
        book.save_as(Path::new("third.rhai"), false).unwrap();
        assert!(there.join("third.rhai").exists(), "{}", book.path().display());
    }

    #[test]
    fn what_is_kept_by_itself_is_nothing_to_speak_of_after_a_crash() {
        let path = folder("one-change", "// %%\nlet x = 1;\n");
        let (mut book, _) = Book::open_own(&path, Vec::new()).unwrap();
        let [a] = ids(&book).try_into().unwrap();
        book.change(text(&a, "let x = 2;")).unwrap();
        drop(book);
        let (book, notes) = Book::open_own(&path, Vec::new()).unwrap();
        assert_eq!((notes, book.facts()), (Vec::new(), FileFacts::default()));
        assert_eq!(book.notebook.cells[0].source, "let x = 2;");
    }

    #[test]
    fn the_second_lab_of_a_lesson_goes_on_from_what_the_first_has_left() {
        for crashes in [false, true] {
            let path = folder("lesson-relock", "// %%\na\n\n// %%\nb\n");
            let (mut first, _) = Book::open_own(&path, Vec::new()).unwrap();
            let (mut second, _) = Book::open_own(&path, Vec::new()).unwrap();
            assert_eq!((first.keeping(), second.keeping()), (Keeping::Always, Keeping::Nothing));
            let [a, b] = ids(&second).try_into().unwrap();
            first.change(text(&a, "a of the first")).unwrap();
            assert_eq!((second.foreign_change(), second.ask_for_lock()), (None, None));
            if !crashes {
                first.save(false).unwrap();
            }
            drop(first);
            let told = second.ask_for_lock().unwrap();
            assert!(told.contains("let go of this lesson") && !told.contains("recovered"), "{told}");
            assert_eq!(second.keeping(), Keeping::Always);
            // The lab tells now what was typed meanwhile.
            second.change(text(&b, "b of the second")).unwrap();
            second.save(false).unwrap();
            drop(second);
            let (third, notes) = Book::open_own(&path, Vec::new()).unwrap();
            let texts: Vec<_> = third.notebook.cells.iter().map(|cell| cell.source.as_str()).collect();
            assert_eq!((texts, notes), (vec!["a of the first", "b of the second"], Vec::new()), "{crashes}");
        }
    }

    #[test]
    fn what_the_first_lab_left_and_what_the_second_typed_are_both_kept() {
        let path = folder("relock", "// %%\nlet x = 1;\n");
        let (mut first, _) = Book::open(&path).unwrap();
        let (mut second, notes) = Book::open(&path).unwrap();
        assert!(notes[0].contains("read-only") && second.facts().read_only.is_some());
        let [a] = ids(&second).try_into().unwrap();
        second.change(text(&a, "second")).unwrap();
        assert_eq!(second.ask_for_lock(), None);
        first.change(text(&a, "first")).unwrap();
        drop(first);
        let told = second.ask_for_lock().unwrap();
        assert!(told.contains("can be saved here now") && told.contains("n.recovered-1.rhai"), "{told}");
        let aside = path.with_file_name("n.recovered-1.rhai");
        assert!(fs::read_to_string(aside).unwrap().contains("first"));
        assert_eq!(second.facts(), FileFacts::default());
        drop(second);
        let (mut third, notes) = Book::open(&path).unwrap();
        assert!(notes[0].contains("recovered; Ctrl-S"), "{notes:?}");
        assert_eq!(third.notebook.cells[0].source, "second");
        // Reloading drops it, after the differences were shown.
        assert_eq!(third.differences().unwrap(), ["  // %%", "- second", "+ let x = 1;"]);
        third.reload().unwrap();
        assert_eq!(third.differences().unwrap(), Vec::<String>::new());
        drop(third);
        assert!(Book::open(&path).unwrap().1.is_empty());
    }
}

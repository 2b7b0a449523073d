//! `tensorlab lab`: opens the lab.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::base::text::strip_control;
use crate::lab::document::{self, Item, Step};
use crate::lab::{self, Document, Keep, LabExit, Past, Remember, Save, in_child_process};
use crate::lesson::{Key, Lesson, ProgressLog, Record};
use crate::notebook::{Cell, Kind, Notebook, NotebookFile};

use super::{exit, lesson, library};

/// The pack that the built-in lessons belong to.
pub const COURSE: &str = "course";

#[derive(clap::Args, Default)]
pub struct LabOptions {
    /// A notebook (.rhai or .ipynb), a lesson's file or a lesson's id; the home screen where none is named
    file: Option<PathBuf>,
    #[command(flatten)]
    look: LookOptions,
}

#[derive(clap::Args, Default, Clone)]
pub struct LookOptions {
    /// ASCII characters only
    #[arg(long)]
    ascii: bool,
    /// Colours for a light terminal
    #[arg(long)]
    light: bool,
}

/// Opens the lab and gives the exit status: on the home screen where nothing is named.
pub fn open(options: &LabOptions, devices: &str) -> u8 {
    let Some(named) = &options.file else {
        return finish(run((None, Vec::new()), &options.look, devices, devices.into(), None, None));
    };
    if named.extension().is_some_and(|e| e == "rhai" || e == "ipynb") {
        return open_notebook_file(named, &options.look, devices);
    }
    match lesson::find(&named.to_string_lossy()) {
        Ok(found) => open_lesson(&found, &options.look, devices),
        Err(text) => {
            eprintln!("{}", text.trim_end());
            exit::USAGE
        }
    }
}

/// Opens the lab on a lesson. Devices left to `auto` are those the lesson is made for.
pub fn open_lesson(lesson: &Lesson, look: &LookOptions, devices: &str) -> u8 {
    let keep = match progress(lesson) {
        Ok(keep) => Some(keep),
        Err(error) => {
            eprintln!("note: progress is not kept: {error}");
            None
        }
    };
    let own = devices_for(lesson, devices);
    finish(run((Some(Document::lesson(lesson)), Vec::new()), look, devices, own, None, keep))
}

/// The devices that a lesson's session has: those it is made for, where the choice is left to `auto`.
pub fn devices_for(lesson: &Lesson, devices: &str) -> String {
    match (devices, lesson.front.devices.first()) {
        ("auto", Some(own)) => own.clone(),
        _ => devices.to_string(),
    }
}

/// Opens the lab on a notebook; a file that is not there yet is made by saving.
pub fn open_notebook_file(path: &Path, look: &LookOptions, devices: &str) -> u8 {
    match open_notebook(path) {
        Ok((document, save, notes)) => {
            finish(run((Some(document), notes), look, devices, devices.into(), Some(save), None))
        }
        Err(text) => {
            eprintln!("error: {}", strip_control(&text));
            exit::USAGE
        }
    }
}

/// A notebook's cells, how it is saved, and what there is to say of it; one that is not there yet is empty. It is
/// remembered.
pub fn open_notebook(path: &Path) -> Result<(Document, Save, Vec<String>), String> {
    let opened = NotebookFile::open(path).map_err(|error| error.to_string())?;
    let (mut file, mut notebook, mut notes) = (opened.file, opened.notebook, opened.notes);
    match opened.recovered {
        Some(recovered) if recovered.file_changed => notes.push(format!(
            "{} changes that were not saved are kept beside the file, which another program has changed",
            recovered.changes
        )),
        // They are shown, and the file has them once they are saved.
        Some(recovered) if file.accept().is_ok() => {
            notes.push(format!("{} changes that were not saved are recovered", recovered.changes));
            notebook = recovered.notebook;
        }
        _ => {}
    }
    let document = document_of(path, &notebook);
    let save: Save = Box::new(move |document| {
        notebook = with_code(&notebook, document);
        file.save(&notebook).map(|_| ()).map_err(io::Error::other)
    });
    library::remember(path);
    Ok((document, save, notes))
}

/// The cells of a notebook as the lab shows them: code, and text in Markdown.
fn document_of(path: &Path, notebook: &Notebook) -> Document {
    let shown = |cell: &Cell| document::Cell {
        id: cell.id.clone(),
        code: cell.source.clone(),
        markdown: cell.kind == Kind::Markdown,
        ..Default::default()
    };
    let cells = notebook.cells.iter().filter(|cell| cell.kind != Kind::Raw);
    let mut items: Vec<Item> = cells.map(|cell| Item::Cell(Box::new(shown(cell)))).collect();
    if items.is_empty() {
        items.push(Item::Cell(Box::default()));
    }
    Document { title: path.display().to_string(), steps: vec![Step { items, ..Step::default() }] }
}

/// The notebook with its cells as the lab has them. Raw text, which is not shown, stays behind what it stood behind.
fn with_code(notebook: &Notebook, document: &Document) -> Notebook {
    let mut rest = notebook.cells.clone();
    let raw = |cells: &mut Vec<Cell>, from: usize| -> Vec<Cell> {
        let end = cells.iter().skip(from).take_while(|cell| cell.kind == Kind::Raw).count();
        cells.drain(from..from + end).collect()
    };
    let mut result = notebook.clone();
    result.cells = raw(&mut rest, 0);
    let items = document.steps.iter().flat_map(|step| &step.items);
    for shown in items.filter_map(|item| if let Item::Cell(cell) = item { Some(cell) } else { None }) {
        let kind = if shown.markdown { Kind::Markdown } else { Kind::Code };
        match rest.iter().position(|cell| cell.id == shown.id && cell.kind != Kind::Raw) {
            Some(at) => {
                let behind = raw(&mut rest, at + 1);
                let mut cell = rest.remove(at);
                cell.source.clone_from(&shown.code);
                if cell.kind != kind {
                    cell.kind = kind;
                    cell.clear_outputs();
                }
                result.cells.push(cell);
                result.cells.extend(behind);
            }
            None => {
                result.insert(usize::MAX, Cell::new(kind, shown.code.clone()));
            }
        }
    }
    // Raw text whose cell was cut.
    result.cells.extend(rest.into_iter().filter(|cell| cell.kind == Kind::Raw));
    result
}

/// `devices` is what was asked for, `own` what the document's session has.
fn run(
    (document, notes): (Option<Document>, Vec<String>),
    look: &LookOptions,
    devices: &str,
    own: String,
    save: Option<Save>,
    keep: Option<Keep>,
) -> io::Result<LabExit> {
    let program = std::env::current_exe()?;
    let session = Arc::new(Mutex::new(own));
    let library = library::Shelf::new(devices, Arc::clone(&session));
    let connect = in_child_process(move || {
        let devices = session.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut command = Command::new(&program);
        command.args(["session", "--stdio", "--devices", &devices]);
        command
    });
    let config = super::config::load();
    let (past, remember) = history(config.past());
    let look = config.look(look.light, look.ascii);
    let library = Some(Box::new(library) as Box<dyn lab::Library>);
    let options = lab::LabOptions { look, save, keep, library, config, past, remember, notes };
    lab::run(options, document, connect)
}

fn finish(result: io::Result<LabExit>) -> u8 {
    match result {
        Ok(left) => match left.end {
            lab::End::Quit => exit::FINE,
            lab::End::Signal(number) => 128u8.saturating_add(u8::try_from(number).unwrap_or(0)),
            lab::End::TerminalLost => exit::SCRIPT,
        },
        Err(error) => {
            eprintln!("error: the lab cannot open: {}", strip_control(&error.to_string()));
            exit::SCRIPT
        }
    }
}

/// The cells run before, and what keeps the next ones. A history that can't be kept hinders nothing.
fn history(most: usize) -> (Vec<String>, Option<Remember>) {
    let Some(path) = state_folder().map(|folder| folder.join("history.jsonl")).filter(|_| most > 0) else {
        return (Vec::new(), None);
    };
    match Past::open(&path, most) {
        Ok((mut past, cells)) => (cells, Some(Box::new(move |code: &str| past.push(code)))),
        Err(error) => {
            eprintln!("note: cells run before are not kept: {}: {error}", path.display());
            (Vec::new(), None)
        }
    }
}

/// Appends to the learner's progress log.
pub fn progress(lesson: &Lesson) -> io::Result<Keep> {
    let folder = data_folder().ok_or_else(|| io::Error::other("there is no home folder"))?;
    std::fs::create_dir_all(&folder)?;
    let (mut log, _) = ProgressLog::open(&folder.join("progress.jsonl"))?;
    let id = lesson.front.id.clone();
    Ok(Box::new(move |step, entry| {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
        let key = Key { pack: COURSE.into(), lesson: id.clone(), step: step.to_string() };
        log.append(&Record {
            key,
            version: env!("CARGO_PKG_VERSION").into(),
            at_ms: at,
            entry: entry.clone(),
        })
    }))
}

/// `$XDG_DATA_HOME/tensorlab`, by default `~/.local/share/tensorlab`.
pub fn data_folder() -> Option<PathBuf> {
    super::folder("XDG_DATA_HOME", ".local/share")
}

/// `$XDG_STATE_HOME/tensorlab`, by default `~/.local/state/tensorlab`.
fn state_folder() -> Option<PathBuf> {
    super::folder("XDG_STATE_HOME", ".local/state")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notebook::percent;

    #[test]
    fn saving_from_the_lab_keeps_what_the_lab_does_not_show() {
        let text =
            "// %% [markdown]\n// # T\n\n// %%  One\nlet x = 1;\n\n\n// %% [raw]\n// between\n// %%\nx\n";
        let notebook = percent::parse(text);
        let mut document = document_of(Path::new("n.rhai"), &notebook);
        assert_eq!(percent::write(&with_code(&notebook, &document)), text);
        let items = &mut document.steps[0].items;
        let Item::Cell(cell) = &mut items[1] else { panic!() };
        cell.code = "let x = 2;".into();
        items.insert(2, Item::Cell(Box::new(document::Cell { code: "new".into(), ..Default::default() })));
        let written = percent::write(&with_code(&notebook, &document));
        assert_eq!(written, text.replace("= 1", "= 2").replace("// %%\nx", "\n// %%\nnew\n// %%\nx"));
        document.steps[0].items.remove(1);
        let left = with_code(&notebook, &document);
        let sources: Vec<&str> = left.cells.iter().map(|cell| cell.source.as_str()).collect();
        assert_eq!(sources, ["# T", "new", "x", "between"]);
    }

    #[test]
    fn cells_of_text_are_shown_and_kept_as_text() {
        let text = "// %% [markdown]\n// # T\n\n// %%\nlet x = 1;\n";
        let notebook = percent::parse(text);
        let mut document = document_of(Path::new("n.rhai"), &notebook);
        let items = &mut document.steps[0].items;
        let Item::Cell(cell) = &mut items[0] else { panic!() };
        assert!(cell.markdown && cell.code == "# T", "{cell:?}");
        cell.code = "# U\n\nmore".into();
        let Item::Cell(cell) = &mut items[1] else { panic!() };
        cell.markdown = true;
        let kept = with_code(&notebook, &document);
        assert_eq!(kept.cells.iter().map(|cell| cell.kind).collect::<Vec<_>>(), [Kind::Markdown; 2]);
        let again = percent::parse(&percent::write(&kept));
        let sources: Vec<&str> = again.cells.iter().map(|cell| cell.source.as_str()).collect();
        assert_eq!(sources, ["# U\n\nmore", "let x = 1;"]);
        assert!(again.cells.iter().all(|cell| cell.kind == Kind::Markdown));
    }
}

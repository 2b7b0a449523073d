//! `tensorlab lab`: opens the lab.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::base::text::strip_control;
use crate::lab::document::{self, Item, Step};
use crate::lab::{self, Document, Keep, LabExit, Look, Save, in_child_process};
use crate::lesson::{Lesson, ProgressLog, Record};
use crate::notebook::{Cell, Kind, Notebook, NotebookFile};
use crate::session::sandbox;

use super::packs::{self, Chosen};
use super::{exit, library};

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
        return finish(run((None, Vec::new()), &options.look, devices, Setup::plain(devices), None, None));
    };
    if named.extension().is_some_and(|e| e == "rhai" || e == "ipynb") {
        return open_notebook_file(named, &options.look, devices);
    }
    match packs::find(&named.to_string_lossy()) {
        Ok(found) => open_lesson(&found, &options.look, devices),
        Err(text) => {
            eprintln!("{}", text.trim_end());
            exit::USAGE
        }
    }
}

/// Opens the lab on a lesson. Devices left to `auto` are those the lesson is made for.
pub fn open_lesson(chosen: &Chosen, look: &LookOptions, devices: &str) -> u8 {
    let keep = match progress(chosen) {
        Ok(keep) => Some(keep),
        Err(error) => {
            eprintln!("note: progress is not kept: {error}");
            None
        }
    };
    look_at(chosen, look, devices, keep)
}

/// Opens the lab on a lesson; where `keep` is none, no progress is kept.
pub fn look_at(chosen: &Chosen, look: &LookOptions, devices: &str, keep: Option<Keep>) -> u8 {
    let own = Setup::of(chosen, devices);
    let notes = own.missing_protection().into_iter().collect();
    finish(run((Some(Document::lesson(&chosen.lesson)), notes), look, devices, own, None, keep))
}

/// What a session is started with.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    pub devices: String,
    /// The folder of the pack that the session is confined to.
    pub pack: Option<PathBuf>,
}

impl Setup {
    /// The session of a lesson.
    pub fn of(chosen: &Chosen, devices: &str) -> Setup {
        Setup { devices: devices_for(&chosen.lesson, devices), pack: chosen.folder.clone() }
    }

    /// The session of a notebook.
    pub fn plain(devices: &str) -> Setup {
        Setup { devices: devices.into(), pack: None }
    }

    /// What there is to say before the code of a pack runs on a system that cannot confine it.
    pub fn missing_protection(&self) -> Option<String> {
        let reason = self.pack.as_ref().and_then(|_| sandbox::unconfined())?;
        Some(format!("this pack's code is not kept from your files: {reason}"))
    }

    fn arguments(&self, command: &mut Command) {
        command.args(["session", "--stdio", "--devices", &self.devices]);
        if let Some(folder) = &self.pack {
            command.arg("--pack").arg(folder);
        }
    }
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
            finish(run((Some(document), notes), look, devices, Setup::plain(devices), Some(save), None))
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

/// The code cells of a notebook as the lab shows them.
fn document_of(path: &Path, notebook: &Notebook) -> Document {
    let cell =
        |cell: &Cell| document::Cell { id: cell.id.clone(), code: cell.source.clone(), ..Default::default() };
    let mut items: Vec<Item> = notebook.code_cells().map(|c| Item::Cell(Box::new(cell(c)))).collect();
    if items.is_empty() {
        items.push(Item::Cell(Box::default()));
    }
    Document { title: path.display().to_string(), steps: vec![Step { items, ..Step::default() }] }
}

/// The notebook with its code as the lab has it. Text stays behind the code it stood behind.
fn with_code(notebook: &Notebook, document: &Document) -> Notebook {
    let mut rest = notebook.cells.clone();
    let text = |cells: &mut Vec<Cell>, from: usize| -> Vec<Cell> {
        let end = cells.iter().skip(from).take_while(|cell| cell.kind != Kind::Code).count();
        cells.drain(from..from + end).collect()
    };
    let mut result = notebook.clone();
    result.cells = text(&mut rest, 0);
    let items = document.steps.iter().flat_map(|step| &step.items);
    for shown in items.filter_map(|item| if let Item::Cell(cell) = item { Some(cell) } else { None }) {
        match rest.iter().position(|cell| cell.id == shown.id && cell.kind == Kind::Code) {
            Some(at) => {
                let behind = text(&mut rest, at + 1);
                let mut cell = rest.remove(at);
                cell.source.clone_from(&shown.code);
                result.cells.push(cell);
                result.cells.extend(behind);
            }
            None => {
                result.insert(usize::MAX, Cell::code(shown.code.clone()));
            }
        }
    }
    // Text whose code was cut.
    result.cells.extend(rest.into_iter().filter(|cell| cell.kind != Kind::Code));
    result
}

/// `devices` is what was asked for, `own` what the document's session has.
fn run(
    (document, notes): (Option<Document>, Vec<String>),
    look: &LookOptions,
    devices: &str,
    own: Setup,
    save: Option<Save>,
    keep: Option<Keep>,
) -> io::Result<LabExit> {
    let program = std::env::current_exe()?;
    let session = Arc::new(Mutex::new(own));
    let library = library::Shelf::new(devices, Arc::clone(&session));
    let connect = in_child_process(move || {
        let mut command = Command::new(&program);
        session.lock().unwrap_or_else(PoisonError::into_inner).arguments(&mut command);
        command
    });
    let look = Look::from_env(look.light, look.ascii);
    let options = lab::LabOptions { look, save, keep, library: Some(Box::new(library)), notes };
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

/// Appends to the learner's progress log.
pub fn progress(chosen: &Chosen) -> io::Result<Keep> {
    let (mut log, _) = ProgressLog::open(&progress_file()?)?;
    let chosen = chosen.clone();
    Ok(Box::new(move |step, entry| {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
        let (key, version) = (chosen.key(step), chosen.version.clone());
        log.append(&Record { key, version, at_ms: at, entry: entry.clone() })
    }))
}

/// Where the learner's progress is kept.
pub fn progress_file() -> io::Result<PathBuf> {
    let folder = data_folder().ok_or_else(|| io::Error::other("there is no home folder"))?;
    Ok(folder.join("progress.jsonl"))
}

/// `$XDG_DATA_HOME/tensorlab`, by default `~/.local/share/tensorlab`.
pub fn data_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
    base.map(|folder| folder.join("tensorlab"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notebook::percent;

    #[test]
    fn saving_from_the_lab_keeps_what_the_lab_does_not_show() {
        let text =
            "// %% [markdown]\n// # T\n\n// %%  One\nlet x = 1;\n\n\n// %% [md]\n// between\n// %%\nx\n";
        let notebook = percent::parse(text);
        let mut document = document_of(Path::new("n.rhai"), &notebook);
        assert_eq!(percent::write(&with_code(&notebook, &document)), text);
        let items = &mut document.steps[0].items;
        let Item::Cell(cell) = &mut items[0] else { panic!() };
        cell.code = "let x = 2;".into();
        items.insert(1, Item::Cell(Box::new(document::Cell { code: "new".into(), ..Default::default() })));
        let written = percent::write(&with_code(&notebook, &document));
        assert_eq!(written, text.replace("= 1", "= 2").replace("// %%\nx", "\n// %%\nnew\n// %%\nx"));
        document.steps[0].items.remove(0);
        let left = with_code(&notebook, &document);
        let sources: Vec<&str> = left.cells.iter().map(|cell| cell.source.as_str()).collect();
        assert_eq!(sources, ["# T", "new", "x", "between"]);
    }
}

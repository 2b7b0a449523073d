//! `tensorlab lab`: opens the lab.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::base::text::strip_control;
use crate::lab::document::Item;
use crate::lab::{self, Document, Keep, LabExit, Look, Save, in_child_process};
use crate::lesson::{Key, Lesson, ProgressLog, Record};
use crate::notebook;

use super::{exit, lesson, library, read_code};

/// The pack that the built-in lessons belong to.
pub const COURSE: &str = "course";

#[derive(clap::Args, Default)]
pub struct LabOptions {
    /// A script, a lesson's file or a lesson's id; the home screen where none is named
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
        return finish(run(None, &options.look, devices, devices.into(), None, None));
    };
    if named.extension().is_some_and(|e| e == "rhai") {
        return open_script(named, &options.look, devices);
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
    finish(run(Some(Document::lesson(lesson)), look, devices, own, None, keep))
}

/// The devices that a lesson's session has: those it is made for, where the choice is left to `auto`.
pub fn devices_for(lesson: &Lesson, devices: &str) -> String {
    match (devices, lesson.front.devices.first()) {
        ("auto", Some(own)) => own.clone(),
        _ => devices.to_string(),
    }
}

/// Opens a script as a notebook, one cell for each `// %%`.
fn open_script(path: &Path, look: &LookOptions, devices: &str) -> u8 {
    match open_notebook(path) {
        Ok((document, save)) => finish(run(Some(document), look, devices, devices.into(), Some(save), None)),
        Err(text) => {
            eprintln!("error: {text}");
            exit::USAGE
        }
    }
}

/// A notebook's cells, and how it is saved; one that is not there yet is empty. It is remembered.
pub fn open_notebook(path: &Path) -> Result<(Document, Save), String> {
    let text = path.exists().then(|| read_code(path)).transpose()?.unwrap_or_default();
    let document = Document::notebook(path.display().to_string(), notebook::split(&text));
    let target = path.to_path_buf();
    let save: Save = Box::new(move |document| write_whole(&target, &script_of(document)));
    library::remember(path);
    Ok((document, save))
}

/// `devices` is what was asked for, `own` what the document's session has.
fn run(
    document: Option<Document>,
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
    let look = Look::from_env(look.light, look.ascii);
    let options = lab::LabOptions { look, save, keep, library: Some(Box::new(library)) };
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

fn script_of(document: &Document) -> String {
    let items = document.steps.iter().flat_map(|step| &step.items);
    notebook::join(items.filter_map(|item| match item {
        Item::Cell(cell) => Some(cell.code.as_str()),
        _ => None,
    }))
}

/// Replaces a file as a whole: a crash leaves the old one.
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write;
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let mut file = std::fs::File::create(&part)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&part, path)
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
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
    base.map(|folder| folder.join("tensorlab"))
}

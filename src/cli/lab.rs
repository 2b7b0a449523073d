//! `tensorlab lab`: opens the lab.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::base::text::strip_control;
use crate::lab::document::Item;
use crate::lab::{self, Document, Keep, LabExit, Past, Remember, Save, in_child_process};
use crate::lesson::{BUILT_IN, Key, Lesson, ProgressLog, Record};
use crate::notebook;

use super::{exit, lesson, read_code};

/// The pack that the built-in lessons belong to.
const COURSE: &str = "course";

#[derive(clap::Args, Default)]
pub struct LabOptions {
    /// A script, a lesson's file or a lesson's id; the first lesson where none is named
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

/// Opens the lab and gives the exit status.
pub fn open(options: &LabOptions, devices: &str) -> u8 {
    let named = match &options.file {
        Some(path) => path.clone(),
        None => BUILT_IN.first().map(|(file, _)| PathBuf::from(file)).unwrap_or_default(),
    };
    if named.extension().is_some_and(|e| e == "rhai") {
        return open_script(&named, &options.look, devices);
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
    let devices = match (devices, lesson.front.devices.first()) {
        ("auto", Some(own)) => own.clone(),
        _ => devices.to_string(),
    };
    let keep = match progress(lesson) {
        Ok(keep) => Some(keep),
        Err(error) => {
            eprintln!("note: progress is not kept: {error}");
            None
        }
    };
    finish(run(Document::lesson(lesson), look, &devices, None, keep))
}

/// Opens a script as a notebook, one cell for each `// %%`.
fn open_script(path: &Path, look: &LookOptions, devices: &str) -> u8 {
    let text = match path.exists().then(|| read_code(path)).transpose() {
        Ok(text) => text.unwrap_or_default(),
        Err(text) => {
            eprintln!("error: {text}");
            return exit::USAGE;
        }
    };
    let cells = notebook::marked::split(&text);
    let mut document =
        Document::notebook(path.display().to_string(), cells.iter().map(|(text, _)| text.clone()));
    let items = document.steps.iter_mut().flat_map(|step| &mut step.items);
    for (item, (_, markdown)) in items.zip(&cells) {
        if let Item::Cell(cell) = item {
            cell.markdown = *markdown;
        }
    }
    let target = path.to_path_buf();
    let save: Save = Box::new(move |document| write_whole(&target, &script_of(document)));
    finish(run(document, look, devices, Some(save), None))
}

fn run(
    document: Document,
    look: &LookOptions,
    devices: &str,
    save: Option<Save>,
    keep: Option<Keep>,
) -> io::Result<LabExit> {
    let program = std::env::current_exe()?;
    let devices = devices.to_string();
    let connect = in_child_process(move || {
        let mut command = Command::new(&program);
        command.args(["session", "--stdio", "--devices", &devices]);
        command
    });
    let config = super::config::load();
    let (past, remember) = history(config.past());
    let look = config.look(look.light, look.ascii);
    let options = lab::LabOptions { look, save, keep, config, past, remember };
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
    notebook::marked::join(items.filter_map(|item| match item {
        Item::Cell(cell) => Some((cell.code.as_str(), cell.markdown)),
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
fn progress(lesson: &Lesson) -> io::Result<Keep> {
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
fn data_folder() -> Option<PathBuf> {
    super::folder("XDG_DATA_HOME", ".local/share")
}

/// `$XDG_STATE_HOME/tensorlab`, by default `~/.local/state/tensorlab`.
fn state_folder() -> Option<PathBuf> {
    super::folder("XDG_STATE_HOME", ".local/state")
}

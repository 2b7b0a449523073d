//! `tensorlab lab`: opens the lab.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::base::locale;
use crate::base::stderr::tell;
use crate::base::text::strip_control;
use crate::cli::folders::{data_folder, state_folder};
use crate::cli::library::open_notebook;
use crate::cli::setup::{lesson_session, notebook_session, opened, placed, progress};
use crate::device::sim::Selection;
use crate::lab::{self, Book, Document, Keep, LabExit, Past, Remember, in_child_process};
use crate::lesson::order;
use crate::session::options::SessionOptions;

use super::packs::{self, Chosen};
use super::{exit, library, repl, terminal};

#[derive(clap::Args, Default)]
pub(super) struct LabOptions {
    /// A notebook (.rhai or .ipynb), a lesson's file or a lesson's id; the home screen where none is named
    file: Option<PathBuf>,
    #[command(flatten)]
    look: LookOptions,
    /// Arguments for the notebook, as ARGS
    #[arg(last = true, requires = "file")]
    args: Vec<String>,
}

#[derive(clap::Args, Default, Clone)]
pub(crate) struct LookOptions {
    /// ASCII characters only
    #[arg(long)]
    pub ascii: bool,
    /// Colours for a light terminal
    #[arg(long)]
    light: bool,
}

impl LabOptions {
    /// One that opens the home screen.
    pub(super) fn at_home(look: LookOptions) -> LabOptions {
        LabOptions { look, ..LabOptions::default() }
    }

    pub(super) fn look_mut(&mut self) -> &mut LookOptions {
        &mut self.look
    }
}

impl LookOptions {
    /// With what stood before the subcommand as well.
    pub(super) fn add(&mut self, look: &LookOptions) {
        self.ascii |= look.ascii;
        self.light |= look.light;
    }

    pub(super) fn is_set(&self) -> bool {
        self.ascii || self.light
    }
}

/// Opens the lab and gives the exit status: on the home screen where nothing is named. A terminal that can't show it
/// gets the prompt.
pub(super) fn open(options: &LabOptions, devices: &str) -> u8 {
    if let Err(error) = Selection::check(devices) {
        tell!("error: {}", strip_control(&error));
        return exit::USAGE;
    }
    match &options.file {
        None if terminal::is_dumb() => {
            tell!(
                "note: TERM=dumb can't show the lab; this is the prompt, as `tensorlab repl --plain` opens it"
            );
            return repl::plain(options.look.light, devices);
        }
        _ => {}
    }
    let Some(named) = &options.file else {
        return finish(run(
            (None, None, Vec::new()),
            &options.look,
            (devices, None),
            SessionOptions::plain(devices),
            None,
            None,
        ));
    };
    if named.extension().is_some_and(|e| e == "rhai" || e == "ipynb") {
        return open_notebook_file(named, &options.look, devices, &options.args);
    }
    if !options.args.is_empty() {
        tell!(
            "error: only a notebook takes arguments, and {} is none",
            strip_control(&named.to_string_lossy())
        );
        return exit::USAGE;
    }
    match packs::find(&named.to_string_lossy()) {
        Ok(found) => open_lesson(&found, &options.look, devices),
        Err(text) => {
            tell!("{}", text.trim_end());
            exit::USAGE
        }
    }
}

/// Opens the lab on a lesson. Devices left to `auto` are those the lesson is made for.
pub(crate) fn open_lesson(chosen: &Chosen, look: &LookOptions, devices: &str) -> u8 {
    if terminal::is_dumb() {
        let name = chosen.name();
        return refuse_dumb(&format!("`tensorlab lesson start {name} --plain` goes through it line by line"));
    }
    let keep = match progress(chosen) {
        Ok(keep) => Some(keep),
        Err(error) => {
            tell!("note: progress is not kept: {error}");
            None
        }
    };
    let chosen = &placed(chosen, devices);
    let (document, book, notes) = opened(chosen);
    let own = lesson_session(chosen, devices);
    let notes = own.missing_protection().into_iter().chain(library::builds_on(chosen)).chain(notes).collect();
    let at = library::where_left_off(chosen);
    let name = Some((chosen.pack.clone(), chosen.lesson.front.id.clone()));
    finish(run((Some(document), at, notes), look, (devices, name), own, book, keep))
}

/// Opens the lab on a lesson of which nothing is kept.
pub(crate) fn look_at(chosen: &Chosen, look: &LookOptions, devices: &str) -> u8 {
    let chosen = &placed(chosen, devices);
    let own = lesson_session(chosen, devices);
    let notes = own.missing_protection().into_iter().collect();
    finish(run((Some(Document::lesson(&chosen.lesson)), None, notes), look, (devices, None), own, None, None))
}

/// Opens the lab on a notebook; a file that is not there yet is made by saving. Its code knows `args` as ARGS.
pub(crate) fn open_notebook_file(path: &Path, look: &LookOptions, devices: &str, args: &[String]) -> u8 {
    if terminal::is_dumb() {
        let path = path.display();
        return refuse_dumb(&format!(
            "`tensorlab notebook run {path}` runs it, and `tensorlab repl --plain` opens the prompt"
        ));
    }
    let opened = open_notebook(path);
    match opened.and_then(|opened| Ok((notebook_session(&opened.1.wants(), devices)?, opened))) {
        Ok((own, (document, book, notes))) => {
            let own = SessionOptions { args: args.to_vec(), ..own };
            finish(run((Some(document), None, notes), look, (devices, None), own, Some(book), None))
        }
        Err(text) => {
            tell!("error: {}", strip_control(&text));
            exit::USAGE
        }
    }
}

fn refuse_dumb(instead: &str) -> u8 {
    tell!("error: TERM=dumb can't show the lab");
    tell!("hint: {}", strip_control(instead));
    exit::USAGE
}

/// What the lab opens on: a document, the id of the item where the learner left off, and what there is to say.
type Opens = (Option<Document>, Option<String>, Vec<String>);

/// `devices` is what was asked for, with the pack and the id of a lesson; `own` is what the document's session has.
fn run(
    (document, at, notes): Opens,
    look: &LookOptions,
    (devices, lesson): (&str, Option<(String, String)>),
    own: SessionOptions,
    book: Option<Book>,
    keep: Option<Keep>,
) -> io::Result<LabExit> {
    let session = Arc::new(Mutex::new(own));
    let library = library::Shelf::new(devices, Arc::clone(&session), lesson);
    let connect = in_child_process(move || session.lock().unwrap_or_else(PoisonError::into_inner).command());
    let config = super::config::load();
    let (past, remember) = history(config.past());
    let look = config.look(look.light, look.ascii || locale::is_ascii());
    let library = Some(Box::new(library) as Box<dyn lab::Library>);
    let seed = order::seed(&data_folder().unwrap_or_default().to_string_lossy());
    let options = lab::LabOptions { look, book, keep, library, config, past, remember, notes, at, seed };
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
            tell!("error: the lab cannot open: {}", strip_control(&error.to_string()));
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
            tell!("note: cells run before are not kept: {}: {error}", path.display());
            (Vec::new(), None)
        }
    }
}

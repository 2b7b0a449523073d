//! What every front end is set up with.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::base::file;
use crate::base::text::strip_control;
use crate::cli::folders::{progress_file, state_folder, work_file};
use crate::cli::kept;
use crate::cli::packs::Chosen;
use crate::device::sim::Selection;
use crate::device::sim::host_choice::{split_host, with_host};
use crate::lab::{Book, Document, Keep, open_lesson_work};
use crate::lesson::{Lesson, ProgressLog, Record};
use crate::notebook::Wants;
use crate::session::options::SessionOptions;

/// Appends to the learner's progress log.
pub(crate) fn progress(chosen: &Chosen) -> io::Result<Keep> {
    let (mut log, _) = ProgressLog::open(&progress_file()?)?;
    let chosen = chosen.clone();
    Ok(Box::new(move |step, entry| {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
        let (key, version) = (chosen.key(step), chosen.version.clone());
        log.append(&Record { key, version, at_ms: at, entry: entry.clone() })
    }))
}

/// A lesson's document as the learner left it, the file of what is written in it, and what there is to say. Where what
/// was written can't be read, the lesson is there as it begins.
pub(super) fn opened(chosen: &Chosen) -> (Document, Option<Book>, Vec<String>) {
    match recalled(chosen) {
        Ok((document, book, notes)) => (document, Some(book), notes),
        Err(text) => {
            let note = format!("what you wrote in this lesson is not shown: {}", strip_control(&text));
            (Document::lesson(&chosen.lesson), None, vec![note])
        }
    }
}

fn recalled(chosen: &Chosen) -> Result<(Document, Book, Vec<String>), String> {
    let kept = kept::read().map_err(|error| error.to_string())?;
    let memory = chosen.memory(&kept.records);
    let document = Document::lesson(&chosen.lesson).recalling(&memory);
    let path = work_file(&chosen.pack, &chosen.lesson.front.id).map_err(|error| error.to_string())?;
    let folder = path.parent().unwrap_or(Path::new("."));
    file::make_folder(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let (book, document, mut notes) = open_lesson_work(&path, document)?;
    notes.extend(kept.note);
    Ok((document, book, notes))
}

/// The scratch folder of a lesson that asks for one.
fn scratch(chosen: &Chosen) -> Option<(PathBuf, u64)> {
    let bytes = chosen.lesson.front.limits.scratch?;
    let work = work_file(&chosen.pack, &chosen.lesson.front.id).ok()?;
    Some((work.with_extension("scratch"), bytes))
}

/// The session of a lesson.
pub(super) fn lesson_session(chosen: &Chosen, devices: &str) -> SessionOptions {
    SessionOptions {
        devices: devices_for(&chosen.lesson, devices),
        pack: chosen.folder.clone(),
        limits: chosen.lesson.front.limits.runs(),
        scratch: scratch(chosen),
        ..SessionOptions::default()
    }
}

/// The session of a notebook, on the devices that it asks for where the choice is left to `auto`.
///
/// # Errors
/// It asks for devices that mean nothing.
pub(super) fn notebook_session(wants: &Wants, devices: &str) -> Result<SessionOptions, String> {
    let devices = match (split_host(devices), &wants.devices) {
        (("auto", host), Some(own)) => {
            let own = with_host(own, host);
            Selection::check(&own).map_err(|error| format!("the notebook asks for {own}: {error}"))?;
            own
        }
        _ => devices.to_owned(),
    };
    let folder = || state_folder().unwrap_or_else(std::env::temp_dir).join("scratch");
    let scratch = wants.scratch.map(|bytes| (folder(), bytes));
    Ok(SessionOptions { scratch, ..SessionOptions::plain(&devices) })
}

/// The lesson as it is on the devices that its session has.
pub(super) fn placed(chosen: &Chosen, devices: &str) -> Chosen {
    let lesson = chosen.lesson.on(&devices_for(&chosen.lesson, devices));
    Chosen { lesson, ..chosen.clone() }
}

/// The devices that a lesson's session has: those it is made for, where the choice is left to `auto`.
pub(crate) fn devices_for(lesson: &Lesson, devices: &str) -> String {
    match (split_host(devices), lesson.front.devices.first()) {
        (("auto", host), Some(own)) => with_host(own, host),
        _ => devices.to_string(),
    }
}

//! What every front end is set up with.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::cli::folders::progress_file;
use crate::cli::packs::Chosen;
use crate::lab::Keep;
use crate::lesson::{Lesson, ProgressLog, Record};
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

/// The session of a lesson.
pub(super) fn lesson_session(chosen: &Chosen, devices: &str) -> SessionOptions {
    SessionOptions {
        devices: devices_for(&chosen.lesson, devices),
        pack: chosen.folder.clone(),
        last_value: false,
        limits: chosen.lesson.front.limits.runs(),
    }
}

/// The devices that a lesson's session has: those it is made for, where the choice is left to `auto`.
pub(crate) fn devices_for(lesson: &Lesson, devices: &str) -> String {
    match (devices, lesson.front.devices.first()) {
        ("auto", Some(own)) => own.clone(),
        _ => devices.to_string(),
    }
}

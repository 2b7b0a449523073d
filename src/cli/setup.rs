//! What every front end is set up with.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::cli::folders::progress_file;
use crate::cli::packs::Chosen;
use crate::lab::Keep;
use crate::lesson::{Lesson, ProgressLog, Record};
use crate::session::sandbox;

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

/// What a session is started with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setup {
    pub devices: String,
    /// The folder of the pack that the session is confined to.
    pub pack: Option<PathBuf>,
    /// The last value is kept as `_`: in a notebook, but not where a lesson counts what is alive.
    pub last_value: bool,
    /// What its code knows as ARGS.
    pub args: Vec<String>,
}

impl Setup {
    /// The session of a lesson.
    pub(super) fn of(chosen: &Chosen, devices: &str) -> Setup {
        Setup {
            devices: devices_for(&chosen.lesson, devices),
            pack: chosen.folder.clone(),
            last_value: false,
            args: Vec::new(),
        }
    }

    /// The session of a notebook.
    pub(super) fn plain(devices: &str) -> Setup {
        Setup { devices: devices.into(), pack: None, last_value: true, args: Vec::new() }
    }

    /// What there is to say before the code of a pack runs on a system that cannot confine it.
    pub(crate) fn missing_protection(&self) -> Option<String> {
        let reason = self.pack.as_ref().and_then(|_| sandbox::unconfined())?;
        Some(format!("this pack's code is not kept from your files: {reason}"))
    }

    pub(super) fn arguments(&self, command: &mut Command) {
        command.args(["session", "--stdio", "--devices", &self.devices]);
        if self.last_value {
            command.arg("--last-value");
        }
        if let Some(folder) = &self.pack {
            command.arg("--pack").arg(folder);
        }
        if !self.args.is_empty() {
            command.arg("--").args(&self.args);
        }
    }
}

/// The devices that a lesson's session has: those it is made for, where the choice is left to `auto`.
pub(crate) fn devices_for(lesson: &Lesson, devices: &str) -> String {
    match (devices, lesson.front.devices.first()) {
        ("auto", Some(own)) => own.clone(),
        _ => devices.to_string(),
    }
}

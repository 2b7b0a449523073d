//! What a session's process is started with.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use crate::device::sim::Selection;

use super::limits::RunLimits;
use super::sandbox;

/// The command line of a session of this program.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// As `--devices` takes them.
    pub devices: String,
    /// The folder that it is confined to: of a pack, or of a lesson that is in none.
    pub pack: Option<PathBuf>,
    /// The last value is kept as `_`: in a notebook, but not where a lesson counts what is alive.
    pub last_value: bool,
    /// A figure goes on from cell to cell, as at a prompt.
    pub keep_figure: bool,
    /// A simulated GPU's atomics add in another order whenever it begins: not where a lesson is to repeat.
    pub chance: bool,
    pub limits: RunLimits,
    /// A folder in which it has one of its own that its code knows as SCRATCH, and how many bytes that may hold.
    pub scratch: Option<(PathBuf, u64)>,
    /// What its code knows as ARGS.
    pub args: Vec<String>,
}

impl SessionOptions {
    /// The session of a notebook.
    pub fn plain(devices: &str) -> SessionOptions {
        SessionOptions {
            devices: devices.into(),
            last_value: true,
            chance: true,
            ..SessionOptions::default()
        }
    }

    /// Has other devices from now on.
    ///
    /// # Errors
    /// The text means none, or the file of a profile can't be read; nothing is changed. Whether they are there is for
    /// the session to say.
    pub fn set_devices(&mut self, devices: &str) -> Result<(), String> {
        Selection::check(devices)?;
        devices.clone_into(&mut self.devices);
        Ok(())
    }

    /// What starts it.
    ///
    /// # Errors
    /// The system does not say where this program is.
    pub fn command(&self) -> io::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["session", "--stdio", "--devices", &self.devices]);
        if self.last_value {
            command.arg("--last-value");
        }
        if let Some(folder) = &self.pack {
            command.arg("--pack").arg(folder);
        }
        if self.keep_figure {
            command.arg("--keep-figure");
        }
        if self.chance {
            command.arg("--chance");
        }
        if let Some((folder, bytes)) = &self.scratch {
            command.arg("--scratch").arg(folder).arg(format!("--scratch-limit={bytes}"));
        }
        command.args(self.limits.arguments());
        if !self.args.is_empty() {
            command.arg("--").args(&self.args);
        }
        Ok(command)
    }

    /// What there is to say before the code of a lesson runs on a system that cannot confine it.
    pub fn missing_protection(&self) -> Option<String> {
        let reason = self.pack.as_ref().and_then(|_| sandbox::unconfined())?;
        Some(format!("this lesson's code is not kept from your files: {reason}"))
    }
}

//! Where things of the user are kept.

use std::io;
use std::path::PathBuf;

/// Where the learner's progress is kept.
pub(crate) fn progress_file() -> io::Result<PathBuf> {
    let folder = data_folder().ok_or_else(|| io::Error::other("there is no home folder"))?;
    Ok(folder.join("progress.jsonl"))
}

/// Where what a learner writes in a lesson is kept.
pub(crate) fn work_file(pack: &str, lesson: &str) -> io::Result<PathBuf> {
    let folder = data_folder().ok_or_else(|| io::Error::other("there is no home folder"))?;
    Ok(folder.join("lessons").join(pack).join(format!("{lesson}.ipynb")))
}

/// `$XDG_DATA_HOME/tensorlab`, by default `~/.local/share/tensorlab`.
pub(crate) fn data_folder() -> Option<PathBuf> {
    super::folder("XDG_DATA_HOME", ".local/share")
}

/// `$XDG_STATE_HOME/tensorlab`, by default `~/.local/state/tensorlab`.
pub(crate) fn state_folder() -> Option<PathBuf> {
    super::folder("XDG_STATE_HOME", ".local/state")
}

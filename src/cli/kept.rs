//! What the learner's progress says today: without what was done at steps that a later version of a pack has changed.

use std::io;

use crate::cli::{folders, packs};
use crate::lesson::pack::{Manifest, Outdated};
use crate::lesson::{Progress, Record, unread_and_records};

/// The records that count, in their order.
pub(super) struct Learned {
    pub records: Vec<Record>,
    /// All that there are, those that no longer count among them.
    pub all: Vec<Record>,
    /// What is to be said of lines that can't be read.
    pub note: Option<String>,
}

impl Learned {
    /// What they add up to.
    pub(super) fn progress(&self) -> Progress {
        let mut progress = Progress::default();
        self.records.iter().for_each(|record| progress.apply(record));
        progress
    }
}

/// Reads the learner's log; where there is none, nothing was done.
///
/// # Errors
/// Those of the file system.
pub(super) fn read() -> io::Result<Learned> {
    let file = folders::progress_file()?;
    let (unread, all) = unread_and_records(&file)?;
    let outdated = outdated();
    let records = all.iter().filter(|record| outdated.counts(record)).cloned().collect();
    let note = (unread > 0).then(|| {
        let file = file.display();
        match unread {
            1 => format!("1 line of {file} can't be read: it is left out, and stays there as it is"),
            _ => format!(
                "{unread} lines of {file} can't be read: they are left out, and stay there as they are"
            ),
        }
    });
    Ok(Learned { records, all, note })
}

/// The steps that the built-in pack and the installed ones have changed.
pub(super) fn outdated() -> Outdated {
    let store = packs::store().ok();
    let ids = store.iter().flat_map(|store| store.ids().into_iter().map(move |id| store.manifest(&id)));
    Outdated::of(ids.filter_map(Result::ok).chain(Manifest::built_in()))
}

//! What code is warned of, and how often: as Python's default filter has it, once for each text and place.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::event::{HIDDEN_CELLS, Source};

/// Takes a warning's text.
pub(crate) type Warner = dyn Fn(&str) + Send + Sync;

#[derive(Default)]
pub(super) struct Warnings {
    warner: Mutex<Option<Arc<Warner>>>,
    /// What lines said, by their cell.
    said: Mutex<HashMap<u32, CellWarnings>>,
    /// What has one place in PyTorch's own code, with the run in which it was said last.
    of_library: Mutex<HashMap<String, CodeRun>>,
    run: Mutex<CodeRun>,
    runs: AtomicU64,
    /// Lines that were told of a division of integers, or of what it leaves.
    divisions: Mutex<HashSet<(u32, u32, bool)>>,
}

/// Lines that are told of divisions: whoever has read it so often knows it.
const DIVISIONS: usize = 6;

/// What lines of a cell said, with the hash of its code.
#[derive(Default)]
struct CellWarnings {
    code: u64,
    lines: HashSet<(u32, String)>,
}

/// A run of some code, by its hash and by its number.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct CodeRun {
    code: u64,
    number: u64,
}

impl Warnings {
    /// Whether a line divides integers for the first time, and is to be told.
    pub(super) fn is_first_division(&self, at: Source, divides: bool) -> bool {
        let mut told = lock(&self.divisions);
        told.len() < DIVISIONS && told.insert((at.cell, at.line, divides))
    }

    pub(super) fn set_warner(&self, warner: Option<Arc<Warner>>) {
        *lock(&self.warner) = warner;
    }

    /// Code of this hash begins to run as that of a cell. In place of another one, its lines have said nothing.
    pub(super) fn begin(&self, cell: u32, code: u64) {
        if let Some(said) = lock(&self.said).get_mut(&cell).filter(|said| said.code != code) {
            *said = CellWarnings { code, ..CellWarnings::default() };
        }
        *lock(&self.run) = CodeRun { code, number: self.runs.fetch_add(1, Ordering::Relaxed) };
    }

    /// Nothing was said.
    pub(super) fn forget(&self) {
        lock(&self.divisions).clear();
        lock(&self.said).clear();
        lock(&self.of_library).clear();
    }

    /// Says it, once for each line of a cell.
    pub(super) fn say(&self, Source { cell, line, .. }: Source, text: &str) {
        let code = lock(&self.run).code;
        let new = {
            let mut said = lock(&self.said);
            let said = said.entry(cell).or_insert_with(|| CellWarnings { code, ..CellWarnings::default() });
            said.lines.insert((line, text.to_string()))
        };
        if new {
            self.tell(text);
        }
    }

    /// Says it, once for all lines. A cell that runs again says it again: what it said is no longer shown.
    pub(super) fn say_of_library(&self, source: Source, text: &str) {
        if source.cell >= HIDDEN_CELLS {
            // What a lesson does by itself, nobody sees.
            return self.say(source, text);
        }
        let run = *lock(&self.run);
        let new = {
            let mut said = lock(&self.of_library);
            let was = said.get(text).copied();
            let new = was.is_none_or(|was| was.code == run.code && was.number != run.number);
            if new {
                said.insert(text.to_string(), run);
            }
            new
        };
        if new {
            self.tell(text);
        }
    }

    fn tell(&self, text: &str) {
        let warner = lock(&self.warner).clone();
        warner.into_iter().for_each(|warner| warner(text));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_says_the_same_once_and_the_library_has_one_place() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let warnings = Warnings::default();
        let teller = Arc::clone(&told);
        warnings.set_warner(Some(Arc::new(move |text: &str| lock(&teller).push(text.to_owned()))));
        let taken = || std::mem::take(&mut *lock(&told));
        warnings.begin(1, 1);
        for line in [1, 1, 2] {
            warnings.say(Source::at(1, line), "own");
            warnings.say_of_library(Source::at(1, line), "library");
        }
        assert_eq!(taken(), ["own", "library", "own"]);
        // Another cell, and the one that said it, again.
        warnings.begin(2, 2);
        warnings.say_of_library(Source::at(2, 1), "library");
        assert!(taken().is_empty());
        warnings.begin(3, 1);
        warnings.say_of_library(Source::at(3, 1), "library");
        warnings.say_of_library(Source::at(3, 2), "library");
        assert_eq!(taken(), ["library"]);
        warnings.say_of_library(Source::at(HIDDEN_CELLS, 1), "other");
        warnings.say_of_library(Source::at(3, 2), "other");
        assert_eq!(taken(), ["other", "other"]);
        // Other code in the place of a cell's has lines of its own.
        warnings.say(Source::at(3, 1), "own");
        warnings.begin(3, 1);
        warnings.say(Source::at(3, 1), "own");
        assert_eq!(taken(), ["own"]);
        warnings.begin(3, 4);
        warnings.say(Source::at(3, 1), "own");
        assert_eq!(taken(), ["own"]);
        warnings.forget();
        warnings.say_of_library(Source::at(3, 2), "library");
        assert_eq!(taken(), ["library"]);
    }
}

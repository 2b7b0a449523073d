//! What the session did, written to files for other tools: a Chrome trace, JSON lines, a memory snapshot.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::event::{Event, HIDDEN_CELLS};
use crate::base::figures::plural;
use crate::lab::model::export_kind::What;
use crate::lab::model::history::records::DeviceTally;
use crate::lab::model::state::{SessionStatus, State};
use crate::lab::model::text;
use crate::lab::model::work::Pending;
use crate::script::lines::{self, Header, Known};
use crate::script::trace;
use crate::session::protocol::Request;

/// Names that are tried before a file is written over none.
const TRIES: u32 = 10_000;

/// How a file comes to be.
pub(crate) enum Begun {
    /// The session writes it, and answers.
    Ask(Request),
    /// The lab does, on a thread of its own.
    Write(ExportJob),
    /// There is nothing to write; why.
    Nothing(&'static str),
}

/// A file to be written.
pub(crate) struct ExportJob {
    what: What,
    path: PathBuf,
    header: Header,
    batches: Vec<Arc<Vec<Event>>>,
}

/// Begins a file beside the notebook, or in the current folder; no other file is replaced.
pub(crate) fn begin(state: &mut State, what: What) -> Begun {
    let path = free(&state.title, what.ending());
    let log = &state.history.log;
    match what {
        What::Snapshot if state.session.status != SessionStatus::Ready => {
            Begun::Nothing("there is no session that could say what its allocators hold")
        }
        What::Snapshot => Begun::Ask(ask(state, &path)),
        _ if log.is_empty() => Begun::Nothing("nothing has happened yet that could be written"),
        _ => {
            let known = |device: &DeviceTally| Known {
                device: device.device,
                name: device.name.clone(),
                simulated: device.simulated,
            };
            let devices = state.history.devices().map(known).collect();
            let header = Header { origin: state.title.clone(), devices, dropped: log.dropped };
            Begun::Write(ExportJob { what, path, header, batches: log.batches() })
        }
    }
}

/// The request that has the session write its snapshot; its value is the file's name.
fn ask(state: &mut State, path: &Path) -> Request {
    state.work.next_id = state.work.next_id.saturating_add(1);
    let id = state.work.next_id;
    state.work.pending.insert(id, Pending::Snapshot);
    let quoted = serde_json::Value::from(path.display().to_string());
    let code = format!("telemetry::export_memory_snapshot({quoted}); {quoted}");
    Request::Evaluate { id, cell: HIDDEN_CELLS, code, first_line: 1, given: Vec::new(), answer: false }
}

impl ExportJob {
    /// Writes the file, and says what came of it.
    pub(crate) fn run(&self) -> String {
        let events: Vec<Event> = self.batches.iter().flat_map(|batch| batch.iter().cloned()).collect();
        let written = match self.what {
            What::Trace => trace::write(&self.path, &events),
            _ => lines::write(&self.path, &self.header, &events),
        };
        let path = self.path.display();
        if let Err(error) = written {
            return text::clean_line(&format!("cannot write {path}: {error}"));
        }
        let missing = match self.header.dropped {
            0 => String::new(),
            n => format!("; {} earlier or lost", plural(n, "event", "events")),
        };
        let count = plural(events.len() as u64, "event", "events");
        text::clean_line(&format!("{path}: {count}{missing}"))
    }
}

/// A name that no file has: the notebook's with another ending, or the program's.
fn free(title: &str, ending: &str) -> PathBuf {
    let notebook = Path::new(title);
    let is_file = notebook.extension().is_some_and(|e| e == "rhai" || e == "ipynb");
    let stem = if is_file { notebook.with_extension("") } else { PathBuf::from("tensorlab") };
    let named = |number: u32| {
        let mut name = stem.clone().into_os_string();
        name.push(if number < 2 { format!(".{ending}") } else { format!("-{number}.{ending}") });
        PathBuf::from(name)
    };
    let free = (1..TRIES).map(named).find(|path| path.symlink_metadata().is_err());
    free.unwrap_or_else(|| named(TRIES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stand_beside_the_notebook_and_replace_none() {
        let folder = std::env::temp_dir().join(format!("tensorlab-record-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let title = folder.join("n.v2.rhai").display().to_string();
        let name = |path: PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(name(free(&title, "trace.json")), "n.v2.trace.json");
        std::fs::write(folder.join("n.v2.trace.json"), "").unwrap();
        assert_eq!(name(free(&title, "trace.json")), "n.v2-2.trace.json");
        assert_eq!(free("Lesson 3", "memory.pickle"), Path::new("tensorlab.memory.pickle"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}

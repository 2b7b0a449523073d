//! The outputs of a `.rhai` notebook, in a file of JSON beside it: `name.rhai.outputs.json`.
//!
//! Each entry carries the hash of the content that gave it, so outputs come back to cells that still have that content,
//! and to no others. With them is kept what a script has no place for: ids of cells, the notebook's metadata, metadata
//! that changes with every run. Without the file a notebook is whole; it only shows nothing until it runs.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::session::protocol::Usage;

use super::cell::{Cell, Kind};
use super::document::Notebook;
use super::hash::Hash;
use super::output::{Fields, Output};
use super::percent;

/// What every such file begins with.
const MARK: &str = "{\"format\":\"tensorlab-outputs\"";
const FORMAT: &str = "tensorlab-outputs";
const VERSION: u32 = 1;

/// Where the outputs of a notebook are.
pub(crate) fn path_of(notebook: &Path) -> PathBuf {
    let mut path = OsString::from(notebook);
    path.push(".outputs.json");
    path.into()
}

#[derive(Serialize, Deserialize)]
struct File {
    format: String,
    version: u32,
    #[serde(default)]
    metadata: Fields,
    #[serde(default)]
    extra: Fields,
    #[serde(default)]
    cells: Vec<SidecarEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename = "Entry")]
struct SidecarEntry {
    hash: Hash,
    id: String,
    #[serde(default, skip_serializing_if = "is_false")]
    ran: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    execution_count: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    outputs: Vec<Output>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Fields::is_empty")]
    metadata: Fields,
    #[serde(default, skip_serializing_if = "Fields::is_empty")]
    extra: Fields,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Why a file's outputs are not used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unusable {
    /// It is one of these files, and damaged. Saving replaces it.
    Torn(String),
    /// It is something else, or of a later version. Saving leaves it alone.
    Foreign(String),
}

/// The file's content; nothing where there is nothing to keep.
pub fn write(notebook: &Notebook) -> Option<Vec<u8>> {
    let entry = |cell: &Cell| {
        let hidden = cell.metadata.iter().filter(|(key, _)| !percent::is_shown(key));
        let current = cell.kind == Kind::Code && cell.is_current();
        SidecarEntry {
            hash: cell.hash(),
            id: cell.id.clone(),
            ran: current,
            execution_count: cell.execution_count.filter(|_| current),
            outputs: if current { cell.outputs.clone() } else { Vec::new() },
            usage: cell.usage.clone().filter(|_| current),
            metadata: hidden.map(|(key, value)| (key.clone(), value.clone())).collect(),
            extra: cell.extra.clone(),
        }
    };
    let cells: Vec<SidecarEntry> = notebook.cells.iter().map(entry).collect();
    let says = |entry: &SidecarEntry| entry.ran || !entry.metadata.is_empty() || !entry.extra.is_empty();
    if notebook.metadata.is_empty() && notebook.extra.is_empty() && !cells.iter().any(says) {
        return None;
    }
    let file = File {
        format: FORMAT.into(),
        version: VERSION,
        metadata: notebook.metadata.clone(),
        extra: notebook.extra.clone(),
        cells,
    };
    let mut bytes = serde_json::to_vec(&file).ok()?;
    bytes.push(b'\n');
    Some(bytes)
}

/// Gives the outputs in `bytes` to the cells whose content they come from. The number of cells that ran and whose
/// outputs belong to no cell any more.
///
/// # Errors
/// Why nothing could be used; the notebook is then as it was.
pub fn read(notebook: &mut Notebook, bytes: &[u8]) -> Result<usize, Unusable> {
    let file = parse(bytes)?;
    notebook.metadata = file.metadata;
    notebook.extra = file.extra;
    let mut entries: HashMap<Hash, VecDeque<SidecarEntry>> = HashMap::new();
    for entry in file.cells {
        entries.entry(entry.hash).or_default().push_back(entry);
    }
    for cell in &mut notebook.cells {
        let Some(entry) = entries.get_mut(&cell.hash()).and_then(VecDeque::pop_front) else {
            // Its id comes from its content; one that is kept has the right to it.
            cell.id.clear();
            continue;
        };
        cell.id = entry.id;
        for (key, value) in entry.metadata {
            cell.metadata.entry(key).or_insert(value);
        }
        cell.extra = entry.extra;
        if entry.ran && cell.kind == Kind::Code {
            cell.ran = Some(entry.hash);
            (cell.execution_count, cell.outputs, cell.usage) =
                (entry.execution_count, entry.outputs, entry.usage);
        }
    }
    notebook.identify();
    Ok(entries.values().flatten().filter(|entry| entry.ran).count())
}

/// Whether a file may be replaced: it is one of these, whole or not.
pub(crate) fn is_own(bytes: &[u8]) -> bool {
    !matches!(parse(bytes), Err(Unusable::Foreign(_)))
}

fn parse(bytes: &[u8]) -> Result<File, Unusable> {
    #[derive(Deserialize)]
    struct Begin {
        format: String,
        version: u32,
    }
    match serde_json::from_slice::<Begin>(bytes) {
        Ok(Begin { format, .. }) if format != FORMAT => {
            return Err(Unusable::Foreign("it is of another program".into()));
        }
        Ok(Begin { version, .. }) if version > VERSION => {
            return Err(Unusable::Foreign(format!(
                "its format has version {version}, {VERSION} is known here"
            )));
        }
        _ => {}
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let mark = MARK.as_bytes();
        // Even a piece of the beginning says whose it is.
        let length = bytes.len().min(mark.len());
        if bytes.get(..length) == mark.get(..length) {
            Unusable::Torn(error.to_string())
        } else {
            Unusable::Foreign(format!("it holds no outputs of a notebook: {error}"))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Notebook {
        let mut notebook =
            percent::parse("// %%\nlet x = 1;\n// %%\nx + 1\n// %% [md]\n// m\n// %%\nx + 1\n");
        for (i, text) in [(1, "2"), (3, "3")] {
            let cell = &mut notebook.cells[i];
            cell.ran = Some(cell.hash());
            cell.outputs = vec![Output::result(text, i as u64)];
            cell.execution_count = Some(i as u64);
        }
        notebook.metadata.insert("kept".into(), true.into());
        notebook.cells[0].metadata.insert("collapsed".into(), true.into());
        notebook.cells[0].id = "own-id".into();
        notebook
    }

    fn reopened(text: &str, bytes: &[u8]) -> (Notebook, usize) {
        let mut notebook = percent::parse(text);
        let lost = read(&mut notebook, bytes).unwrap();
        (notebook, lost)
    }

    #[test]
    fn outputs_come_back_to_the_content_they_came_from() {
        let notebook = run();
        let (text, bytes) = (percent::write(&notebook), write(&notebook).unwrap());
        assert!(bytes.starts_with(MARK.as_bytes()));
        assert_eq!(reopened(&text, &bytes), (notebook, 0));
        let (changed, lost) = reopened(&text.replacen("x + 1", "x + 9", 1), &bytes);
        assert_eq!(lost, 1);
        // The second of two equal cells takes the place of the first, as nothing tells them apart.
        assert!(changed.cells[1].outputs.is_empty() && changed.cells[3].outputs[0].text() == "2");
        let (moved, lost) = reopened("// %%\nx + 1\n// %%\nlet x = 1;", &bytes);
        assert_eq!((moved.cells[0].outputs[0].text().as_str(), lost), ("2", 1));
        assert_eq!(moved.cells[1].id, "own-id");
    }

    #[test]
    fn a_cell_that_changed_since_it_ran_keeps_no_outputs() {
        let mut notebook = run();
        notebook.cells[1].source = "x + 5".into();
        let (back, _) = reopened(&percent::write(&notebook), &write(&notebook).unwrap());
        assert!(back.cells[1].outputs.is_empty() && !back.cells[3].outputs.is_empty());
        assert_eq!(write(&percent::parse("let x = 1;")), None);
    }

    #[test]
    fn torn_files_are_told_from_foreign_ones_and_neither_changes_anything() {
        let notebook = run();
        let (text, bytes) = (percent::write(&notebook), write(&notebook).unwrap());
        for cut in 0..bytes.len() - 1 {
            let mut plain = percent::parse(&text);
            let torn = read(&mut plain, &bytes[..cut]).unwrap_err();
            assert!(matches!(torn, Unusable::Torn(_)), "{cut}: {torn:?}");
            assert_eq!(plain, percent::parse(&text));
        }
        let later = "{\"format\":\"tensorlab-outputs\",\"version\":99}";
        for foreign in ["[]", "{\"a\":1}", "hello", "\u{0}", "{\"format\":\"x\",\"version\":1}", later] {
            let error = read(&mut percent::parse(&text), foreign.as_bytes()).unwrap_err();
            assert!(matches!(error, Unusable::Foreign(_)) && !is_own(foreign.as_bytes()), "{foreign}");
        }
    }
}

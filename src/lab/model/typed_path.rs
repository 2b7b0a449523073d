//! The path of a notebook, as it is typed.

use std::path::{Path, PathBuf};

use crate::lab::model::text;

/// Characters of a path.
pub(crate) const MAX_PATH: usize = 1000;

/// Takes a character, while there is room for one.
pub(crate) fn push(path: &mut String, c: char) {
    if path.len() < MAX_PATH && text::printable(c) {
        path.push(c);
    }
}

/// The notebook of a path, with the ending of a script where it has none; none where nothing was typed.
pub(crate) fn notebook(typed: &str) -> Option<PathBuf> {
    let mut path = PathBuf::from(typed.trim());
    if path.as_os_str().is_empty() {
        return None;
    }
    if path.extension().is_none() {
        path.set_extension("rhai");
    }
    Some(path)
}

/// Whether its ending is that of a notebook, so that it can be opened again.
pub(crate) fn is_notebook(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ["rhai", "ipynb"].iter().any(|known| ending.eq_ignore_ascii_case(known)))
}

//! What the notebook's file is told of the cells, and why it was not saved.

use std::fmt;
use std::path::PathBuf;

use crate::lab::model::document;
use crate::lab::model::document::Stand;
use crate::lab::model::document::Stored;

/// What the lab does to a cell of the notebook, which is named by its id.
#[derive(Clone, PartialEq, Debug)]
pub enum BookChange {
    Text {
        id: String,
        text: String,
    },
    Markdown {
        id: String,
        markdown: bool,
    },
    /// Below the cell `after`, or at the top.
    Insert {
        after: Option<String>,
        cell: Box<document::Cell>,
    },
    Remove {
        id: String,
    },
    /// To the place below the cell `after`, or to the top.
    Move {
        id: String,
        after: Option<String>,
    },
    /// Where a cell of the learner's own stands in a lesson.
    Stands {
        id: String,
        stand: Stand,
    },
    Ran {
        id: String,
        stored: Box<Stored>,
    },
}

/// What becomes of what is written in a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Keeping {
    /// It has no file, or another lab has the file of a lesson.
    #[default]
    Nothing,
    /// It is saved when that is asked for.
    OnSave,
    /// It is kept as it is written, as that of a lesson.
    Always,
}

/// Why a notebook was not saved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotSaved {
    /// Another program has changed the file meanwhile.
    Conflict(String),
    /// There is a file of that name already.
    Exists(PathBuf),
    Failed(String),
    /// Not under this name, for this reason.
    As {
        path: PathBuf,
        reason: String,
    },
}

impl fmt::Display for NotSaved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotSaved::Conflict(reason) | NotSaved::Failed(reason) | NotSaved::As { reason, .. } => {
                f.write_str(reason)
            }
            NotSaved::Exists(path) => write!(f, "{} exists already", path.display()),
        }
    }
}

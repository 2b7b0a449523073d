//! A cell: code, Markdown, or text that is neither, with what it gave when it ran.

use serde::{Deserialize, Serialize};

use crate::session::protocol::Usage;

use super::hash::Hash;
use super::output::{Fields, Output};
use crate::notebook::layout::Layout;

/// What a cell's source is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    #[default]
    Code,
    Markdown,
    Raw,
}

impl Kind {
    /// Of a cell that is text or not, and of such text raw or not.
    pub(crate) fn of_text(is_text: bool, raw: bool) -> Kind {
        match (is_text, raw) {
            (true, true) => Kind::Raw,
            (true, false) => Kind::Markdown,
            (false, _) => Kind::Code,
        }
    }

    /// As nbformat and the marker of a cell call it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Code => "code",
            Kind::Markdown => "markdown",
            Kind::Raw => "raw",
        }
    }

    /// The hash of a cell of this kind: see [`Cell::hash`].
    pub fn hash(self, source: &str) -> Hash {
        Hash::of(self.name().as_bytes()).and(b"\n").and(source.trim().as_bytes())
    }
}

/// One cell of a notebook.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Cell {
    /// Unique within the notebook: 1 to 64 letters, digits, `-` and `_`.
    pub id: String,
    pub kind: Kind,
    /// Lines end in `\n`, whatever the file has.
    pub source: String,
    /// `title` is the cell's title.
    pub metadata: Fields,
    /// What the last run gave; empty for cells that are no code.
    pub outputs: Vec<Output>,
    /// The `n` of `In [n]`.
    pub execution_count: Option<u64>,
    /// The content that gave the outputs; see [`Cell::is_current`].
    pub ran: Option<Hash>,
    /// What the last run took.
    pub usage: Option<Usage>,
    /// Fields of an `.ipynb` cell that are not known here; a Markdown cell's `attachments` among them.
    pub extra: Fields,
    /// How the cell stands in its file.
    pub(super) layout: Option<Layout>,
}

impl Cell {
    /// A code cell without outputs. Its id is given when a notebook takes it.
    pub fn code(source: impl Into<String>) -> Cell {
        Cell::new(Kind::Code, source)
    }

    /// A Markdown cell.
    pub fn markdown(source: impl Into<String>) -> Cell {
        Cell::new(Kind::Markdown, source)
    }

    /// A cell that was not run.
    pub fn new(kind: Kind, source: impl Into<String>) -> Cell {
        Cell { kind, source: source.into(), ..Cell::default() }
    }

    /// The name that it was given.
    pub fn title(&self) -> Option<&str> {
        self.metadata.get("title").and_then(|title| title.as_str())
    }

    /// The hash of kind and source. Blank space at the ends, and of which kind line ends are, make no difference.
    pub fn hash(&self) -> Hash {
        self.kind.hash(&self.source)
    }

    /// Whether the outputs come from the source as it is now.
    pub(crate) fn is_current(&self) -> bool {
        self.ran == Some(self.hash())
    }

    /// Whether the outputs come from an earlier source.
    pub(crate) fn is_edited(&self) -> bool {
        self.ran.is_some() && !self.is_current()
    }

    pub(crate) fn clear_outputs(&mut self) {
        self.outputs.clear();
        (self.execution_count, self.ran, self.usage) = (None, None, None);
    }

    /// What a later run of the cell took, with this one's duration where nothing else differs: files with the same
    /// outputs are the same.
    pub(crate) fn settled(&self, now: Usage, ran: Option<Hash>, outputs: &[Output]) -> Usage {
        let Some(then) = &self.usage else { return now };
        let settled = Usage { host_nanos: then.host_nanos, ..now.clone() };
        let is_same = settled == *then && ran == self.ran && outputs == self.outputs;
        if is_same { settled } else { now }
    }
}

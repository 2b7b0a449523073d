//! Cells that are shown on demand. Jupyter folds text that stands behind a summary, and code whose source is hidden; here
//! a cell's metadata say so, and its text is its own.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::notebook::cell::{Cell, Kind};
use crate::notebook::html::{FOLDED, escaped};
use crate::notebook::output::Fields;

const END: &str = "\n\n</details>";

/// What text begins with that is folded under its title; none where it is not.
fn begin(metadata: &Fields) -> Option<String> {
    let title = metadata.get(FOLDED).and_then(Value::as_str)?;
    Some(format!("<details><summary>{}</summary>\n\n", escaped(&title.replace('\n', " "))))
}

/// A cell's source as the file has it.
pub(super) fn fold<'a>(cell: &'a Cell, metadata: &mut Fields) -> Cow<'a, str> {
    match (begin(metadata), cell.kind) {
        (Some(begin), Kind::Markdown) => format!("{begin}{}{END}", cell.source).into(),
        (Some(_), Kind::Code) => {
            // Who unfolded it in Jupyter has said so there.
            metadata.entry("jupyter").or_insert_with(|| json!({ "source_hidden": true }));
            (&cell.source).into()
        }
        _ => (&cell.source).into(),
    }
}

/// The source of a cell whose file may have it folded.
pub(super) fn unfold(kind: Kind, source: String, metadata: &Fields) -> String {
    let begin = begin(metadata).filter(|_| kind == Kind::Markdown);
    let inner = begin.and_then(|begin| source.strip_prefix(&begin)?.strip_suffix(END).map(str::to_owned));
    inner.unwrap_or(source)
}

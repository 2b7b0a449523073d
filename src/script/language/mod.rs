//! What Rhai brings: functions of arrays, texts, maps and numbers. They are called as Rhai has them; these rows are their
//! pages, for help, completion and the reference.

mod arrays;
mod declare;
mod functions;
mod maps;
mod numbers;
mod texts;
mod words;

use crate::op::OpDef;
use crate::op::def::documented;

static ROWS: [&[OpDef]; 6] =
    documented([arrays::ROWS, functions::ROWS, maps::ROWS, numbers::ROWS, texts::ROWS, words::ROWS]);

/// Every page.
pub fn rows() -> impl Iterator<Item = &'static OpDef> {
    ROWS.into_iter().flatten()
}

/// The words that are no names.
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    words::ROWS.iter().map(|def| def.name)
}

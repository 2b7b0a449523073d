//! What Rhai brings: functions of arrays, texts, maps and numbers. They are called as Rhai has them; these rows are their
//! pages, for help, completion and the reference.

mod arrays;
mod declare;
mod functions;
mod maps;
mod numbers;
mod texts;

use crate::op::OpDef;
use crate::op::def::documented;

static ROWS: [&[OpDef]; 5] =
    documented([arrays::ROWS, functions::ROWS, maps::ROWS, numbers::ROWS, texts::ROWS]);

/// Every page.
pub fn rows() -> impl Iterator<Item = &'static OpDef> {
    ROWS.into_iter().flatten()
}

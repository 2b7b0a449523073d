//! Cells for the tests of this layer.

use std::sync::Arc;

use crate::device::Machine;

use super::{Interpreter, Limits, Origin, Silent};

/// What the last of some cells shows: its value, or how it stopped.
pub(super) fn shown(cells: &[&str]) -> String {
    let mut script = Interpreter::new(Machine::cpu_only(), Arc::new(Silent), &Limits::default());
    let mut last = String::new();
    for code in cells {
        last = match script.evaluate(0, &Origin { name: "test", code, first_line: 1 }) {
            Ok(value) => script.show(&value).unwrap(),
            Err(stopped) => format!("{stopped:?}"),
        };
    }
    last
}

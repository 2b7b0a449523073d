//! Cells for the tests of this layer.

use std::sync::Arc;

use crate::device::Machine;

use super::engine::Stopped;
use super::fault::Fault;
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

/// The first error of some cells.
pub(super) fn failed(cells: &[&str], limits: &Limits) -> Fault {
    let mut script = Interpreter::new(Machine::cpu_only(), Arc::new(Silent), limits);
    let mut faults = cells.iter().zip(1..).filter_map(|(code, number)| {
        match script.evaluate(number, &Origin { name: "test", code, first_line: 1 }) {
            Err(Stopped::Fault(fault)) => Some(*fault),
            _ => None,
        }
    });
    faults.next().unwrap_or_else(|| panic!("{cells:?}"))
}

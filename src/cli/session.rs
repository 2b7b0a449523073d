//! `tensorlab session --stdio`: the session protocol on standard input and output.

use crate::device::Machine;
use crate::device::open::Use;
use crate::device::sim::Selection;
use crate::script::Limits;
use crate::session::evaluator::ScriptEvaluator;
use crate::session::{host, sandbox};

use super::exit;

/// Serves one front end and gives the exit status.
pub fn run(devices: &str, last_value: bool) -> u8 {
    let devices = devices.to_string();
    let make = move || {
        let selection: Selection =
            devices.parse().map_err(|e: crate::device::sim::SelectionError| e.to_string())?;
        let opened = Machine::open(&selection, Use::Interactive).map_err(|e| e.message())?;
        let mut evaluator = ScriptEvaluator::new(opened.machine, &Limits::default());
        if last_value {
            evaluator.keep_last();
        }
        Ok(evaluator)
    };
    match host::serve_stdio(&sandbox::Limits::default(), make) {
        // A native loop that ignores an interrupt is left behind by exiting.
        Ok(ending) => std::process::exit(ending.code()),
        Err(error) => {
            eprintln!("error: {error}");
            exit::SCRIPT
        }
    }
}

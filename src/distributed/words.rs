//! How it is told that ranks do not get on with each other.

use std::time::Duration;

use crate::base::{Error, Kind};

use super::collect::Posted;

/// A rank's error, with whose it is; an interrupt stays as it is, and a full device keeps what it advises.
pub(super) fn told(rank: usize, error: &Error, line: Option<u32>) -> Error {
    if error.is_interrupt() {
        return error.clone();
    }
    let place = line.map(|line| format!(" in line {line}")).unwrap_or_default();
    if let Some(exit) = error.exit() {
        let own = Error::runtime(format!("rank {rank} ended by {exit}{place}"));
        return error.place().cloned().into_iter().fold(own, Error::in_function);
    }
    if let Kind::OutOfMemoryError | Kind::DeviceError = error.kind() {
        return error.clone().with_note_first(format!("rank {rank} failed{place}"));
    }
    let own = Error::new(error.kind(), format!("rank {rank} failed{place}: {}", error.message()));
    // With its place, so that the line is shown in which it happened.
    let own = error.place().cloned().into_iter().fold(own, Error::in_function);
    match error.hint() {
        Some(hint) => own.with_hint(hint),
        None => own,
    }
}

/// Two ranks that do not do the same.
pub(super) fn disagreement(a: (usize, &Posted), b: (usize, &Posted)) -> Error {
    let one = |(rank, posted): (usize, &Posted)| {
        let has_tensors = !(posted.part.inputs.is_empty() && posted.part.outputs.is_empty());
        let on = if has_tensors { format!(" on {}", posted.device) } else { String::new() };
        format!("rank {rank} calls {}{on} in line {}", posted.wants(), posted.line)
    };
    let (a, b) = if a.0 <= b.0 { (a, b) } else { (b, a) };
    Error::runtime(format!("ranks do not do the same: {}; {}", one(a), one(b))).with_hint(
        "all ranks call the same collectives, in the same order, with tensors of one shape and dtype",
    )
}

/// Ranks that did not come to the meeting.
pub(super) fn absent(missing: &[usize], world: usize) -> String {
    let named: Vec<String> = missing.iter().map(usize::to_string).collect();
    let s = if missing.len() == 1 { "" } else { "s" };
    format!("{} of {world} ranks came, and rank{s} {} did not,", world - missing.len(), named.join(", "))
}

/// Nobody can go on.
pub(super) fn stuck(states: &str) -> Error {
    Error::runtime(format!("no rank can go on: {states}")).with_hint(
        "all ranks call the same collectives, in the same order; what one sends another one receives",
    )
}

/// A rank has waited too long; `of` is the function that takes a longer time.
pub(super) fn late(timeout: Duration, states: &str, of: &str) -> Error {
    Error::runtime(format!("no rank came for {} s: {states}", timeout.as_secs_f64())).with_hint(format!(
        "all ranks call the same collectives, in the same order; `#{{timeout: seconds}}` of {of}() waits longer"
    ))
}

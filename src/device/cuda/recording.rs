//! Whether this thread's launches are written down for a graph of the driver's.

use std::cell::Cell;

use crate::base::{Error, Result};

thread_local! {
    static RECORDING: Cell<bool> = const { Cell::new(false) };
}

/// Does `work` while this thread's launches are written down.
pub(super) fn recording<R>(work: impl FnOnce() -> R) -> R {
    RECORDING.set(true);
    let done = work();
    RECORDING.set(false);
    done
}

/// Refuses what must not be written down, for later replays would find something else there.
#[inline]
pub(super) fn not_of_a_graph(what: &str) -> Result<()> {
    if RECORDING.get() { Err(Error::runtime(format!("a part {what}"))) } else { Ok(()) }
}

//! Whether the recomputation of a checkpointed call has all it needs.

use std::cell::Cell;

use crate::base::{Error, Result};

thread_local! {
    /// What a recomputation would compute from here on is of no use.
    pub(super) static STOPPED: Cell<bool> = const { Cell::new(false) };
}

/// Ends a recomputation that has all it needs, at its next operation.
#[inline]
pub(super) fn check_stopped() -> Result<()> {
    if STOPPED.get() { Err(Error::runtime("the recomputation has all that it needs")) } else { Ok(()) }
}

/// Whether a recomputation on this thread is over, and its function only has to return.
pub(crate) fn is_stopped() -> bool {
    STOPPED.get()
}

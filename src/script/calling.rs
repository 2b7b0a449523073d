//! Whether a check runs what the learner wrote.

use std::cell::Cell;

thread_local! {
    static CALLING: Cell<bool> = const { Cell::new(false) };
}

/// This thread runs the learner's code for a check, until it is dropped.
pub(super) struct Calling;

impl Calling {
    pub(super) fn begin() -> Calling {
        CALLING.set(true);
        Calling
    }
}

impl Drop for Calling {
    fn drop(&mut self) {
        CALLING.set(false);
    }
}

/// Whether this thread runs the learner's code for a check.
pub(super) fn is_calling() -> bool {
    CALLING.get()
}

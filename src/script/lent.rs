//! Functions of the learner's that come to run while a check does: in a graph that the check follows, in a module.
//!
//! A check's engine knows nothing of them, and another function by the same name would run; they run in the learner's.

use std::cell::RefCell;
use std::sync::Arc;

use rhai::{Dynamic, FnPtr};

use super::fault::RhaiResult;

/// Who has the learner's engine while a check runs.
pub(crate) trait Learners: Send + Sync {
    /// Calls a function as the learner's own code would.
    fn run(&self, function: &FnPtr, args: Vec<Dynamic>, lent: Lent) -> RhaiResult<Dynamic>;

    /// A value of the learner's as a check gets it.
    fn hand(&self, value: &Dynamic) -> Dynamic;
}

/// What of the learner's their function gets to see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lent {
    /// Copies, which it may change.
    Copies,
    /// The tensors themselves, which it may not change, and copies of all else.
    OwnTensors,
}

thread_local! {
    static LEARNERS: RefCell<Option<Arc<dyn Learners>>> = const { RefCell::new(None) };
}

/// The learner's engine can be asked for until it is dropped.
#[must_use = "nobody can be asked any more once it is dropped"]
pub(crate) struct Asked(Option<Arc<dyn Learners>>);

impl Asked {
    pub(crate) fn of(learners: Arc<dyn Learners>) -> Asked {
        Asked(LEARNERS.replace(Some(learners)))
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        LEARNERS.set(self.0.take());
    }
}

/// Who has the learner's engine now.
pub(crate) fn learners() -> Option<Arc<dyn Learners>> {
    LEARNERS.with_borrow(Clone::clone)
}

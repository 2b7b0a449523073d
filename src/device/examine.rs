//! A lesson's check looks at what the learner has and changes none of it: while it runs, only what it made itself can be
//! written to.

use std::cell::Cell;

use crate::base::{Error, Result};

thread_local! {
    static EXAMINING: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, this thread examines, or does not.
#[must_use = "the examination ends with it"]
pub struct Examination {
    before: bool,
}

impl Examination {
    /// From now on only what is made from now on can be written to.
    pub fn begin() -> Examination {
        Examination { before: EXAMINING.replace(true) }
    }

    /// The learner's own code runs meanwhile.
    pub fn pause() -> Examination {
        Examination { before: EXAMINING.replace(false) }
    }
}

impl Drop for Examination {
    fn drop(&mut self) {
        EXAMINING.set(self.before);
    }
}

/// Whether this thread runs a check.
#[inline]
pub fn examining() -> bool {
    EXAMINING.get()
}

/// Whether a check made a thing, which it may change then.
#[derive(Clone, Copy, Debug)]
pub struct Maker {
    check: bool,
}

impl Maker {
    /// Who makes things now.
    #[inline]
    pub fn of_now() -> Maker {
        Maker { check: examining() }
    }

    /// Whether it is a check's.
    #[inline]
    pub fn is_check(self) -> bool {
        self.check
    }

    /// Lets the thing be changed, unless a check runs that has not made it.
    ///
    /// # Errors
    /// It is what the learner has.
    #[inline]
    pub fn check_own(self) -> Result<()> {
        if self.check { Ok(()) } else { refuse_change() }
    }
}

/// What a check is told that would change what it has not made.
pub(crate) const NO_CHANGE: &str = "a check can't change what the learner has";

/// What a check is told that would take a step with a thing that does not know who made it.
pub(crate) const NO_STEPS: &str = "a check changes no generators, schedules and scalers, its own among them: a hidden block before the step can";

/// Refuses a change of what a check has not made.
///
/// # Errors
/// A check runs.
pub fn refuse_steps() -> Result<()> {
    if examining() { Err(Error::runtime(NO_STEPS)) } else { Ok(()) }
}

/// Refuses a change of what a check has not made.
///
/// # Errors
/// A check runs.
pub fn refuse_change() -> Result<()> {
    if examining() {
        return Err(Error::runtime(NO_CHANGE).with_hint("it can change a copy: `.clone()`"));
    }
    Ok(())
}

//! A point in a stream's work.

use crate::device::backend::Mark;
use crate::device::races::Moment;

/// A point in a stream's work.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub mark: Mark,
    /// What comes before it, where that is watched.
    pub(super) moment: Option<Moment>,
}

/// What a stream is done with at some point, where that is watched: a [`Recorded`] whose time is not known yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Foreseen(pub(super) Option<Moment>);

impl From<Mark> for Recorded {
    fn from(mark: Mark) -> Recorded {
        Recorded { mark, moment: None }
    }
}

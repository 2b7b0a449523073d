//! A place of a filter.

/// A place that a filter reads: a channel of the source's group, and how far from the output's place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tap {
    pub channel: usize,
    pub shift: [isize; 2],
}

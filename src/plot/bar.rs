//! A bar of a chart.

/// Upright bars.
pub(super) struct Bars {
    pub bars: Vec<Bar>,
    /// Share their edges, as those of a histogram do.
    pub joined: bool,
    /// Other series reach the same places, so that this one must not hide them.
    pub see_through: bool,
}

/// A bar from zero to `value` between two numbers of the x axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bar {
    pub left: f64,
    pub right: f64,
    pub value: f64,
    /// The category, or the number of the bin.
    pub place: usize,
}

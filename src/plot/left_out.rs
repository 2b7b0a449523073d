//! What a smaller figure left out.

use serde::{Deserialize, Serialize};

use crate::plot::axis::Verdict;

/// Numbers that are not drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LeftOut {
    /// NaN or infinite.
    pub non_finite: u64,
    /// At or below zero on a logarithmic axis.
    pub non_positive: u64,
    /// Beyond the outer edges of a histogram.
    pub outside: u64,
    /// Spans that are shorter than all that are kept.
    pub short: u64,
}

impl LeftOut {
    pub(super) fn add(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Shown => {}
            Verdict::NonFinite => self.non_finite += 1,
            Verdict::NonPositive => self.non_positive += 1,
        }
    }
}

//! How long a device worked: the union of the spans of its work on all streams.

use std::collections::VecDeque;

use crate::base::event::{Clock, Span};

/// Spans kept apart; what lies before the oldest is only counted.
const KEPT: usize = 1024;

/// The times at which a device worked, on one clock.
#[derive(Default)]
pub(super) struct Busy {
    /// Ordered, not touching.
    spans: VecDeque<(u64, u64)>,
    /// Nanoseconds of the spans that are no longer kept.
    counted: u64,
    /// The end of the last of them.
    floor: u64,
    first: Option<u64>,
    clock: Option<Clock>,
}

impl Busy {
    /// Takes a span of work. Spans of another clock than the first one's are passed over.
    pub(super) fn take(&mut self, span: Span) {
        if *self.clock.get_or_insert(span.clock) != span.clock {
            return;
        }
        let (mut from, mut to) = (span.start.max(self.floor), span.end());
        self.first = Some(self.first.map_or(span.start, |first| first.min(span.start)));
        if from >= to {
            return;
        }
        let begin = self.spans.partition_point(|(_, end)| *end < from);
        let end = self.spans.partition_point(|(start, _)| *start <= to);
        for (start, stop) in self.spans.drain(begin..end.max(begin)) {
            (from, to) = (from.min(start), to.max(stop));
        }
        self.spans.insert(begin, (from, to));
        if self.spans.len() > KEPT
            && let Some((start, stop)) = self.spans.pop_front()
        {
            self.counted += stop - start;
            self.floor = stop;
        }
    }

    /// Nanoseconds in which it worked.
    pub(super) fn nanos(&self) -> u64 {
        self.counted + self.spans.iter().map(|(start, end)| end - start).sum::<u64>()
    }

    /// When it began and ended to work.
    pub(super) fn ends(&self) -> Option<(u64, u64)> {
        let last = self.spans.back().map_or(self.floor, |(_, end)| *end);
        self.first.map(|first| (first, last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn span(start: u64, nanos: u64) -> Span {
        Span { start, nanos, clock: Clock::Modelled }
    }

    #[test]
    fn work_side_by_side_counts_once() {
        let mut busy = Busy::default();
        for (start, nanos) in [(10, 10), (15, 10), (40, 5), (12, 2)] {
            busy.take(span(start, nanos));
        }
        busy.take(Span { clock: Clock::Measured, ..span(0, 1000) });
        assert_eq!((busy.nanos(), busy.ends()), (20, Some((10, 45))));
    }

    #[test]
    fn many_spans_are_counted_in_little_room() {
        let mut busy = Busy::default();
        (0..100_000).for_each(|i| busy.take(span(10 * i, 3)));
        assert_eq!((busy.nanos(), busy.spans.len()), (300_000, KEPT));
    }

    proptest! {
        #[test]
        fn agrees_with_a_plain_model(all in prop::collection::vec((0..200_u64, 0..20_u64), 0..60)) {
            let (mut busy, mut worked) = (Busy::default(), [false; 220]);
            for (start, nanos) in all {
                busy.take(span(start, nanos));
                worked[start as usize..(start + nanos) as usize].fill(true);
                prop_assert_eq!(busy.nanos(), worked.iter().filter(|w| **w).count() as u64);
            }
        }
    }
}

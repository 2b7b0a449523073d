//! How much of the last while a device ran kernels.

use std::collections::VecDeque;

/// Nanoseconds over which utilisation is taken: nvidia-smi's longest sample.
pub(super) const WINDOW: u64 = 1_000_000_000;

/// The spans in which some kernel ran, in order and apart, as far as they can still matter.
#[derive(Clone, Debug, Default)]
pub(super) struct Busy {
    spans: VecDeque<(u64, u64)>,
}

impl Busy {
    /// A kernel runs from `start` to `end`; the host's time is `now`.
    pub(super) fn add(&mut self, start: u64, end: u64, now: u64) {
        while self.spans.front().is_some_and(|(_, end)| end.saturating_add(WINDOW) <= now) {
            self.spans.pop_front();
        }
        if start >= end {
            return;
        }
        // Most kernels come after all others.
        match self.spans.back_mut() {
            Some((left, right)) if *left <= start && start <= *right => {
                *right = end.max(*right);
                return;
            }
            Some((_, right)) if *right >= start => {}
            _ => return self.spans.push_back((start, end)),
        }
        let (mut from, mut to) = (start, end);
        let first = self.spans.partition_point(|(_, end)| *end < from);
        while let Some(&(left, right)) = self.spans.get(first)
            && left <= to
        {
            (from, to) = (from.min(left), to.max(right));
            self.spans.remove(first);
        }
        self.spans.insert(first, (from, to));
    }

    /// The part, from 0 to 1, of the window before `now`, or of all the time since 0 where that is less.
    pub(super) fn share(&self, now: u64) -> f64 {
        let since = now.saturating_sub(WINDOW);
        let within = |(start, end): &(u64, u64)| now.min(*end).saturating_sub(since.max(*start));
        let busy: u64 = self.spans.iter().map(within).sum();
        if now == since { 0.0 } else { busy as f64 / (now - since) as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_several_streams_count_once() {
        let mut busy = Busy::default();
        assert_eq!(busy.share(0), 0.0);
        for (start, end) in [(100, 200), (300, 400), (150, 320), (900, 1200), (500, 500)] {
            busy.add(start, end, 0);
        }
        assert_eq!(busy.share(1000), 0.4, "what is still to run does not count");
        assert_eq!(busy.share(100), 0.0);
        assert_eq!(busy.spans, [(100, 400), (900, 1200)]);
    }

    #[test]
    fn what_is_long_past_is_forgotten() {
        let mut busy = Busy::default();
        busy.add(0, WINDOW, 0);
        assert_eq!(busy.share(WINDOW), 1.0);
        assert_eq!(busy.share(WINDOW + WINDOW / 4), 0.75);
        busy.add(3 * WINDOW, 3 * WINDOW + 1, 2 * WINDOW);
        assert_eq!(busy.spans, [(3 * WINDOW, 3 * WINDOW + 1)]);
        busy.add(u64::MAX, u64::MAX, u64::MAX);
        assert_eq!(busy.share(u64::MAX), 0.0);
    }
}

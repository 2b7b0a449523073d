//! When a resource that serves one at a time is taken.

use std::collections::VecDeque;

/// Spans kept apart, and ends kept of bookings, before the oldest are forgotten.
const KEPT: usize = 4096;

/// Spans looked at from the end before all are searched.
const NEAR: usize = 4;

/// The busy spans of one resource (a device's compute, a copy engine), in nanoseconds.
///
/// A booking takes the first gap that is long enough, so that work which waits for an event far ahead does
/// not hold up work that could run now. Once [`KEPT`] spans lie apart, the gap after the oldest is given up:
/// the memory is bounded, and only a host thread that lags that far behind could have used it.
#[derive(Clone, Debug, Default)]
pub(super) struct Calendar {
    /// Ordered, not empty, not touching.
    busy: VecDeque<(u64, u64)>,
    /// When each of the latest bookings ends, in order.
    ends: VecDeque<u64>,
    /// Nothing is booked before this any more.
    floor: u64,
}

impl Calendar {
    /// The first time from `earliest` on at which the resource is free for `length`.
    pub(super) fn fit(&self, earliest: u64, length: u64) -> u64 {
        let mut start = earliest.max(self.floor);
        if length == 0 {
            return start;
        }
        let first = place(&self.busy, |(_, end)| *end <= start);
        for (from, to) in self.busy.range(first..) {
            if start.saturating_add(length) <= *from {
                break;
            }
            start = *to;
        }
        start
    }

    /// The first stretch from `earliest` on in which the resource is free, however long: its start and end.
    pub(super) fn gap(&self, earliest: u64) -> (u64, u64) {
        let mut start = earliest.max(self.floor);
        let first = place(&self.busy, |(_, end)| *end <= start);
        for (from, to) in self.busy.range(first..) {
            if start < *from {
                return (start, *from);
            }
            start = *to;
        }
        (start, u64::MAX)
    }

    /// The first time from `earliest` on at which what does not need all of the resource finds room: at once where
    /// nothing has it, else where the booking that has it ends, whatever comes after that.
    pub(super) fn room(&self, earliest: u64) -> u64 {
        let start = earliest.max(self.floor);
        let at = place(&self.busy, |(_, end)| *end <= start);
        match self.busy.get(at) {
            Some((from, to)) if *from <= start => {
                let next = place(&self.ends, |end| *end <= start);
                self.ends.get(next).copied().unwrap_or(*to).min(*to)
            }
            _ => start,
        }
    }

    /// Takes the resource from `start`, which [`fit`](Calendar::fit) gave, for `length`; returns the end.
    pub(super) fn book(&mut self, start: u64, length: u64) -> u64 {
        let mut from = start;
        let end = start.saturating_add(length);
        if from == end {
            return end;
        }
        let mut to = end;
        let next = place(&self.ends, |earlier| *earlier <= end);
        self.ends.insert(next, end);
        if self.ends.len() > KEPT {
            self.ends.pop_front();
        }
        let at = place(&self.busy, |(_, busy_end)| *busy_end < from);
        if let Some((left, right)) = self.busy.get(at).copied()
            && right == from
        {
            from = left;
            self.busy.remove(at);
        }
        if let Some((left, right)) = self.busy.get(at).copied()
            && left == to
        {
            to = right;
            self.busy.remove(at);
        }
        self.busy.insert(at, (from, to));
        if self.busy.len() > KEPT
            && let Some((_, oldest)) = self.busy.pop_front()
        {
            self.floor = oldest;
        }
        end
    }

    /// Takes the first long enough gap from `earliest` on; returns its start and end.
    pub(super) fn take(&mut self, earliest: u64, length: u64) -> (u64, u64) {
        let start = self.fit(earliest, length);
        (start, self.book(start, length))
    }
}

/// Where those end that come `before`: mostly among the last.
fn place<T>(ordered: &VecDeque<T>, before: impl Fn(&T) -> bool) -> usize {
    let from_end = ordered.iter().rev().take(NEAR).position(&before);
    from_end.map_or_else(|| ordered.partition_point(&before), |later| ordered.len() - later)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_gap_is_used_when_it_is_long_enough() {
        let mut calendar = Calendar::default();
        assert_eq!(calendar.take(100, 50), (100, 150));
        assert_eq!(calendar.take(0, 100), (0, 100));
        assert_eq!(calendar.take(0, 1), (150, 151));
        assert_eq!(calendar.take(200, 10), (200, 210));
        assert_eq!(calendar.take(0, 50), (210, 260));
        assert_eq!(calendar.take(0, 49), (151, 200));
        assert_eq!(calendar.busy, [(0, 260)]);
    }

    #[test]
    fn a_gap_is_found_however_short() {
        let mut calendar = Calendar::default();
        assert_eq!(calendar.gap(7), (7, u64::MAX));
        calendar.take(10, 10);
        calendar.take(21, 9);
        let gaps = [0, 9, 10, 15, 20, 21, 40].map(|earliest| calendar.gap(earliest));
        let end = u64::MAX;
        assert_eq!(gaps, [(0, 10), (9, 10), (20, 21), (20, 21), (20, 21), (30, end), (40, end)]);
    }

    #[test]
    fn what_needs_little_finds_room_where_a_booking_ends() {
        let mut calendar = Calendar::default();
        for _ in 0..5 {
            calendar.take(100, 50);
        }
        let rooms = [0, 99, 100, 149, 150, 160, 349, 350, 400].map(|earliest| calendar.room(earliest));
        assert_eq!(rooms, [0, 99, 150, 150, 200, 200, 350, 350, 400]);
    }

    #[test]
    fn nothing_takes_no_room() {
        let mut calendar = Calendar::default();
        calendar.take(0, 100);
        assert_eq!(calendar.take(50, 0), (50, 50));
        assert_eq!(calendar.busy.len(), 1);
    }

    #[test]
    fn the_end_of_time_is_an_end() {
        let mut calendar = Calendar::default();
        assert_eq!(calendar.take(10, u64::MAX), (10, u64::MAX));
        assert_eq!(calendar.take(5, 10), (u64::MAX, u64::MAX));
        assert_eq!(calendar.take(5, 5), (5, 10));
    }

    #[test]
    fn memory_is_bounded() {
        let mut calendar = Calendar::default();
        for i in 0..10_000 {
            calendar.take(i * 10, 1);
        }
        assert_eq!(calendar.busy.len(), KEPT);
        let (start, _) = calendar.take(0, 1);
        assert!(start >= 10 * (9_999 - KEPT as u64), "{start}");
    }

    proptest! {
        /// Against the same rule on a list of single nanoseconds.
        #[test]
        fn agrees_with_a_plain_model(bookings in prop::collection::vec((0..80_u64, 0..12_u64), 0..40)) {
            let mut calendar = Calendar::default();
            let mut taken = vec![false; 1000];
            for (earliest, length) in bookings {
                let free = |start: u64| (start..start + length).all(|t| !taken[t as usize]);
                let expected = (earliest..).find(|start| free(*start)).unwrap();
                prop_assert_eq!(calendar.take(earliest, length), (expected, expected + length));
                taken[expected as usize..(expected + length) as usize].fill(true);
            }
        }
    }
}

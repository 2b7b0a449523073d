//! How a device's memory came to be what it is: bytes over the device's own clock, in a bounded number of stretches.

/// Stretches kept; of a longer time each stands for twice as much.
const KEPT: usize = 512;
/// The shortest stretch is of two to this power nanoseconds: about a microsecond.
const FINEST: u32 = 10;
const COARSEST: u32 = 63;

/// The most bytes at once in a stretch of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Stretch {
    pub allocated: u64,
    pub reserved: u64,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Curve {
    /// The moment at which the first begins.
    start: u64,
    /// The length of each, as a power of two.
    width: u32,
    stretches: Vec<Stretch>,
    now: Stretch,
    /// Some stretches are known by their most alone.
    pub is_sampled: bool,
}

impl Stretch {
    fn or(self, other: Stretch) -> Stretch {
        Stretch {
            allocated: self.allocated.max(other.allocated),
            reserved: self.reserved.max(other.reserved),
        }
    }
}

impl Curve {
    pub(crate) fn is_empty(&self) -> bool {
        self.stretches.is_empty()
    }

    /// The most bytes that were reserved or allocated at once.
    pub(crate) fn most(&self) -> u64 {
        self.stretches.iter().map(|s| s.reserved.max(s.allocated)).max().unwrap_or(0)
    }

    /// From its first moment to its last, in nanoseconds.
    pub(crate) fn span(&self) -> (u64, u64) {
        let length = (self.stretches.len() as u64).saturating_mul(1u64 << self.width.min(COARSEST));
        (self.start, self.start.saturating_add(length))
    }

    /// The curve in so many columns.
    pub(crate) fn columns(&self, columns: usize) -> impl Iterator<Item = Stretch> {
        let count = self.stretches.len();
        (0..columns).map(move |column| {
            let from = column * count / columns.max(1);
            let to = ((column + 1) * count / columns.max(1)).max(from + 1);
            self.stretches.iter().take(to).skip(from).copied().fold(Stretch::default(), Stretch::or)
        })
    }

    /// The device holds so much from a moment on.
    pub(crate) fn note(&mut self, at: u64, allocated: u64, reserved: u64) {
        let now = Stretch { allocated, reserved };
        let last = self.reach(at);
        if let Some(place) = self.stretches.get_mut(last) {
            *place = place.or(now);
        }
        self.now = now;
    }

    /// In a time of which not all is known the device held at most `peak`, and so much at its end.
    pub(super) fn miss(&mut self, from: u64, to: u64, peak: u64, allocated: u64, reserved: u64) {
        self.is_sampled = true;
        self.reach(from);
        self.reach(to.max(from));
        let first = self.place(from);
        let most = Stretch { allocated: peak, reserved };
        self.stretches.iter_mut().skip(first).for_each(|place| *place = place.or(most));
        self.now = Stretch { allocated, reserved };
    }

    fn place(&self, at: u64) -> usize {
        usize::try_from(at.saturating_sub(self.start) >> self.width.min(COARSEST)).unwrap_or(usize::MAX)
    }

    /// Goes on to a moment, in which nothing has changed; gives the place of its stretch. Time never goes back.
    fn reach(&mut self, at: u64) -> usize {
        if self.stretches.is_empty() {
            (self.start, self.width) = (at, FINEST);
        }
        while self.place(at) >= KEPT && self.width < COARSEST {
            self.coarsen();
        }
        let wanted = self.place(at).min(KEPT - 1) + 1;
        if wanted > self.stretches.len() {
            self.stretches.resize(wanted, self.now);
        }
        self.stretches.len() - 1
    }

    /// Joins each two stretches.
    fn coarsen(&mut self) {
        let joined =
            self.stretches.chunks(2).map(|two| two.iter().copied().fold(Stretch::default(), Stretch::or));
        self.stretches = joined.collect();
        self.width += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn allocated(curve: &Curve, columns: usize) -> Vec<u64> {
        curve.columns(columns).map(|s| s.allocated).collect()
    }

    #[test]
    fn a_level_holds_until_the_next_and_a_peak_is_never_lost() {
        let mut curve = Curve::default();
        curve.note(0, 1, 8);
        curve.note(2 << FINEST, 9, 16);
        curve.note(2 << FINEST, 3, 16);
        curve.note(4 << FINEST, 2, 8);
        assert_eq!(allocated(&curve, 5), [1, 1, 9, 3, 3]);
        assert_eq!(curve.span(), (0, 5 << FINEST));
        assert_eq!(allocated(&curve, 10), [1, 1, 1, 1, 9, 9, 3, 3, 3, 3]);
        assert_eq!((allocated(&curve, 1), curve.most()), (vec![9], 16));
        // What is known by its most alone is drawn as that.
        curve.miss(4 << FINEST, 6 << FINEST, 7, 4, 8);
        curve.note(7 << FINEST, 4, 8);
        assert_eq!(allocated(&curve, 8), [1, 1, 9, 3, 7, 7, 7, 4]);
        assert!(curve.is_sampled);
    }

    proptest! {
        #[test]
        fn however_long_it_takes_the_most_stays_and_little_is_kept(
            steps in prop::collection::vec((0..u64::MAX / 64, 0..1000u64), 1..60),
        ) {
            let (mut curve, mut at) = (Curve::default(), 0u64);
            for (after, bytes) in &steps {
                at = at.saturating_add(*after);
                curve.note(at, *bytes, *bytes);
            }
            prop_assert!(curve.stretches.len() <= KEPT);
            prop_assert_eq!(curve.most(), steps.iter().map(|s| s.1).max().unwrap_or(0));
            prop_assert_eq!(allocated(&curve, 7).into_iter().max(), Some(curve.most()));
        }
    }
}

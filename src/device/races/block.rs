//! Who used a piece of memory last.

use smallvec::SmallVec;

use super::order::{Orders, StreamStep};
use super::region::Region;
use crate::base::event::{Name, Sizes, Source};

/// Uses kept of a piece of memory; older ones are forgotten.
const KEPT: usize = 48;

/// A piece of memory, and who used it.
#[derive(Debug, Default)]
pub(super) struct UsedBlock {
    pub uses: SmallVec<[Use; 2]>,
    /// Between which streams a race was told of; `None` is the host.
    told: SmallVec<[(usize, Option<usize>); 1]>,
}

/// A use by a stream.
#[derive(Clone, Debug)]
pub(super) struct Use {
    pub step: StreamStep,
    pub writes: bool,
    pub region: Region,
    pub op: Name,
    pub source: Source,
    /// The memory was freed meanwhile, there.
    pub freed: Option<Box<(Source, Sizes)>>,
}

/// A use that is about to be.
pub(super) struct Next<'a> {
    /// The stream; `None` is the host.
    pub lane: Option<usize>,
    pub writes: bool,
    pub region: &'a Region,
}

impl UsedBlock {
    /// A use that conflicts with the next one, and that nothing orders before it. The same two streams are told of
    /// once, until they are ordered.
    pub(super) fn conflict(&mut self, orders: &mut Orders, next: &Next) -> Option<&Use> {
        let mut found = None;
        let (mut ordered, mut open) = (SmallVec::<[_; 2]>::new(), SmallVec::<[_; 2]>::new());
        for (at, used) in self.uses.iter().enumerate().rev() {
            if Some(used.step.lane) == next.lane || !(used.writes || next.writes) {
                continue;
            }
            let pair = (used.step.lane, next.lane);
            if orders.is_before(used.step, next.lane) {
                ordered.push(pair);
            } else if used.region.overlaps(next.region) {
                open.push(pair);
                if found.is_none() && !self.told.contains(&pair) {
                    found = Some((at, pair));
                }
            }
        }
        let other_way = |(a, b): (usize, Option<usize>)| b.map(|b| (b, Some(a)));
        self.told.retain(|pair| {
            let is_in =
                |all: &[_]| all.contains(pair) || other_way(*pair).is_some_and(|pair| all.contains(&pair));
            is_in(&open) || !is_in(&ordered)
        });
        let (at, pair) = found?;
        self.told.push(pair);
        self.told.extend(next.lane.map(|lane| (lane, Some(pair.0))));
        self.uses.get(at)
    }

    /// Whether a race between the two streams was told of, and they are not ordered since.
    pub(super) fn is_told(&self, earlier: usize, later: usize) -> bool {
        self.told.contains(&(earlier, Some(later)))
    }

    /// Takes a use in, and lets go of those that it stands for as well: nothing conflicts with them that does not
    /// conflict with it.
    #[inline]
    pub(super) fn take(&mut self, orders: &mut Orders, new: Use) {
        let is_part = |used: &Use| used.step == new.step && used.region.covers(&new.region);
        if !new.writes && self.uses.iter().any(is_part) {
            return;
        }
        // A stream alone with the memory mostly does the same again.
        if let [old] = self.uses.as_mut_slice()
            && old.step.lane == new.step.lane
            && (new.writes || !old.writes)
            && new.region.covers(&old.region)
        {
            *old = new;
            return;
        }
        let mut at = 0;
        while let Some(old) = self.uses.get(at) {
            let stands = (new.writes || !old.writes)
                && new.region.covers(&old.region)
                && (old.step.lane == new.step.lane
                    || new.writes && orders.is_before(old.step, Some(new.step.lane)));
            if stands {
                self.uses.remove(at);
            } else {
                at += 1;
            }
        }
        if self.uses.len() >= KEPT {
            self.uses.remove(0);
        }
        self.uses.push(new);
    }
}

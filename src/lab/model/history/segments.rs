//! The segments that an allocator has taken, with the blocks that tensors hold, kept up with each event.

use std::collections::BTreeMap;

use crate::session::protocol::SegmentInfo;

/// Blocks followed on a device; of more, the map is no longer told.
const BLOCKS_KEPT: usize = 1 << 16;

/// One device's segments. Whatever lies between held blocks is one free block, as the allocator joins neighbours.
#[derive(Clone, Debug, Default)]
pub(crate) struct SegmentMap {
    segments: BTreeMap<u64, Segment>,
    /// Free blocks by size: how many there are.
    gaps: BTreeMap<u64, usize>,
    blocks: usize,
    reserved: u64,
    held: u64,
    split_free: u64,
    /// An event did not fit what was known: the map waits for the session's own.
    pub torn: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Segment {
    pub bytes: u64,
    /// Bytes that tensors hold.
    pub held: u64,
    /// Held blocks: address and bytes.
    blocks: BTreeMap<u64, u64>,
}

/// How far the free memory of an allocator is cut up. Sizes are in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Fragmentation {
    /// Cached and not held.
    pub free: u64,
    /// The largest block of it.
    pub largest: u64,
    /// The part of it whose segment is partly held: `empty_cache` can't return it.
    pub split: u64,
}

impl Fragmentation {
    /// How much of the free memory is out of reach for the largest request that a block could serve; `None` where
    /// nothing is free.
    pub(crate) fn share(&self) -> Option<f64> {
        (self.free > 0).then(|| 1.0 - self.largest as f64 / self.free as f64)
    }
}

impl Segment {
    /// The held blocks by address: offset in the segment and bytes.
    pub(crate) fn blocks(&self, address: u64) -> impl Iterator<Item = (u64, u64)> {
        self.blocks.iter().map(move |(at, bytes)| (at.saturating_sub(address), *bytes))
    }

    /// Free bytes that can't be returned.
    fn split(&self) -> u64 {
        if self.held > 0 { self.bytes.saturating_sub(self.held) } else { 0 }
    }
}

impl SegmentMap {
    /// By address.
    pub(crate) fn segments(&self) -> impl Iterator<Item = (u64, &Segment)> {
        self.segments.iter().map(|(address, segment)| (*address, segment))
    }

    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub(crate) fn fragmentation(&self) -> Fragmentation {
        Fragmentation {
            free: self.reserved.saturating_sub(self.held),
            largest: self.gaps.last_key_value().map_or(0, |(bytes, _)| *bytes),
            split: self.split_free,
        }
    }

    /// The map as the session has it.
    pub(crate) fn reset(&mut self, segments: &[SegmentInfo]) {
        *self = SegmentMap::default();
        for segment in segments {
            self.map(segment.address, segment.bytes);
            for (offset, bytes, _) in segment.blocks.iter().filter(|(.., held)| *held) {
                self.take(segment.address.saturating_add(*offset), *bytes);
            }
        }
    }

    /// A segment was taken from the device.
    pub(crate) fn map(&mut self, address: u64, bytes: u64) {
        let end = address.checked_add(bytes);
        let before = self.segments.range(..=address).next_back();
        let clear = before.is_none_or(|(at, s)| at.saturating_add(s.bytes) <= address)
            && end.is_some_and(|end| self.segments.range(address..).next().is_none_or(|(at, _)| *at >= end));
        if !clear || bytes == 0 {
            self.torn = true;
            return;
        }
        self.segments.insert(address, Segment { bytes, ..Segment::default() });
        self.reserved = self.reserved.saturating_add(bytes);
        self.gap(bytes, true);
    }

    /// A segment went back to the device.
    pub(crate) fn unmap(&mut self, address: u64) {
        let Some(segment) = self.segments.remove(&address) else {
            self.torn = true;
            return;
        };
        self.reserved = self.reserved.saturating_sub(segment.bytes);
        self.held = self.held.saturating_sub(segment.held);
        self.split_free = self.split_free.saturating_sub(segment.split());
        self.blocks = self.blocks.saturating_sub(segment.blocks.len());
        let mut at = address;
        for (block, bytes) in &segment.blocks {
            self.gap(block.saturating_sub(at), false);
            at = block.saturating_add(*bytes);
        }
        self.gap(address.saturating_add(segment.bytes).saturating_sub(at), false);
    }

    /// A tensor holds a block.
    pub(crate) fn take(&mut self, address: u64, bytes: u64) {
        let Some((start, end)) = self.hole(address) else {
            self.torn = true;
            return;
        };
        let last = address.checked_add(bytes).filter(|last| *last <= end && address >= start && bytes > 0);
        let Some(last) = last.filter(|_| self.blocks < BLOCKS_KEPT) else {
            self.torn = true;
            return;
        };
        self.gap(end - start, false);
        self.gap(address - start, true);
        self.gap(end - last, true);
        self.change(address, |segment| {
            segment.blocks.insert(address, bytes);
            segment.held = segment.held.saturating_add(bytes);
        });
        self.blocks += 1;
        self.held = self.held.saturating_add(bytes);
    }

    /// A block is free again.
    pub(crate) fn give(&mut self, address: u64) {
        let at = self.segments.range(..=address).next_back().map(|(at, _)| *at);
        let bytes = at.and_then(|at| self.segments.get(&at)?.blocks.get(&address).copied());
        let Some(bytes) = bytes else {
            self.torn = true;
            return;
        };
        self.change(address, |segment| {
            segment.blocks.remove(&address);
            segment.held = segment.held.saturating_sub(bytes);
        });
        self.blocks = self.blocks.saturating_sub(1);
        self.held = self.held.saturating_sub(bytes);
        if let Some((start, end)) = self.hole(address) {
            self.gap(address.saturating_sub(start), false);
            self.gap(end.saturating_sub(address.saturating_add(bytes)), false);
            self.gap(end - start, true);
        }
    }

    /// The free stretch around an address: from the end of the block before it to the start of the one after.
    fn hole(&self, address: u64) -> Option<(u64, u64)> {
        let (at, segment) = self.segments.range(..=address).next_back()?;
        let segment_end = at.saturating_add(segment.bytes);
        if address >= segment_end {
            return None;
        }
        let before = segment.blocks.range(..=address).next_back();
        let start = before.map_or(*at, |(at, bytes)| at.saturating_add(*bytes));
        let after = segment.blocks.range(address..).map(|(at, _)| *at).find(|after| *after >= start);
        let end = after.unwrap_or(segment_end);
        (start < end).then_some((start, end))
    }

    fn change(&mut self, address: u64, change: impl FnOnce(&mut Segment)) {
        if let Some((_, segment)) = self.segments.range_mut(..=address).next_back() {
            let before = segment.split();
            change(segment);
            self.split_free = self.split_free.saturating_sub(before).saturating_add(segment.split());
        }
    }

    /// Counts a free block in or out.
    fn gap(&mut self, bytes: u64, is_there: bool) {
        if bytes == 0 {
            return;
        }
        let count = self.gaps.entry(bytes).or_default();
        *count = if is_there { count.saturating_add(1) } else { count.saturating_sub(1) };
        if *count == 0 {
            self.gaps.remove(&bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_figures_follow_blocks_that_come_and_go() {
        let mut map = SegmentMap::default();
        map.map(1000, 100);
        map.map(2000, 50);
        assert_eq!(map.fragmentation(), Fragmentation { free: 150, largest: 100, split: 0 });
        map.take(1000, 40);
        map.take(1060, 20);
        assert_eq!(map.fragmentation(), Fragmentation { free: 90, largest: 50, split: 40 });
        map.give(1000);
        assert_eq!(map.fragmentation(), Fragmentation { free: 130, largest: 60, split: 80 });
        map.give(1060);
        map.unmap(2000);
        assert_eq!(map.fragmentation(), Fragmentation { free: 100, largest: 100, split: 0 });
        assert!(!map.torn && map.len() == 1);
        assert_eq!(map.fragmentation().share(), Some(0.0));
    }

    #[test]
    fn what_does_not_fit_tears_the_map_and_the_sessions_own_mends_it() {
        let mut map = SegmentMap::default();
        map.take(7, 1);
        assert!(map.torn);
        let blocks = vec![(0, 10, true), (10, 20, false), (30, 10, true)];
        map.reset(&[SegmentInfo { address: 100, bytes: 40, blocks }]);
        assert!(!map.torn);
        assert_eq!(map.fragmentation(), Fragmentation { free: 20, largest: 20, split: 20 });
        let held: Vec<_> = map.segments().flat_map(|(at, s)| s.blocks(at).collect::<Vec<_>>()).collect();
        assert_eq!(held, [(0, 10), (30, 10)]);
    }

    /// The same figures, computed from the blocks.
    fn counted(map: &SegmentMap) -> Fragmentation {
        let mut found = Fragmentation::default();
        for (address, segment) in map.segments() {
            let mut at = 0;
            let mut gaps = Vec::new();
            for (offset, bytes) in segment.blocks(address) {
                gaps.push(offset - at);
                at = offset + bytes;
            }
            gaps.push(segment.bytes - at);
            let free: u64 = gaps.iter().sum();
            found.free += free;
            found.largest = found.largest.max(gaps.iter().copied().max().unwrap_or(0));
            found.split += if segment.held > 0 { free } else { 0 };
        }
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn whatever_happens_the_figures_are_those_of_the_blocks(
            steps in prop::collection::vec((0..4u8, 0..60u64, 0..30u64), 0..200),
        ) {
            let mut map = SegmentMap::default();
            for (what, address, bytes) in steps {
                match what {
                    0 => map.map(address, bytes),
                    1 => map.unmap(address),
                    2 => map.take(address, bytes),
                    _ => map.give(address),
                }
                prop_assert_eq!(map.fragmentation(), counted(&map));
            }
        }
    }
}

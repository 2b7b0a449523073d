//! The free blocks, in the order of best fit: of one stream the smallest that is large
//! enough, of one size the one whose segment is the oldest, of one segment the first.

use std::collections::BTreeMap;

use super::block::{Id, Node};
use super::size::{MIN_BLOCK, PoolKind, SMALL_SEGMENT};

/// The free blocks of both pools.
#[derive(Debug, Default)]
pub(super) struct FreeBlocks {
    small: BTreeMap<u32, Bins>,
    large: BTreeMap<LargePlace, Id>,
}

impl FreeBlocks {
    pub(super) fn insert(&mut self, node: &Node, id: Id) {
        match node.kind {
            PoolKind::Small => self.small.entry(node.stream).or_default().insert(node, id),
            PoolKind::Large => {
                self.large.insert(LargePlace::of(node), id);
            }
        }
    }

    pub(super) fn remove(&mut self, node: &Node) {
        match node.kind {
            PoolKind::Small => {
                if let Some(bins) = self.small.get_mut(&node.stream) {
                    bins.remove(node);
                }
            }
            PoolKind::Large => {
                self.large.remove(&LargePlace::of(node));
            }
        }
    }

    /// Takes the best fit for `size` bytes (rounded) on `stream`.
    pub(super) fn take(&mut self, kind: PoolKind, stream: u32, size: u64) -> Option<Id> {
        match kind {
            PoolKind::Small => self.small.get_mut(&stream)?.take(size),
            PoolKind::Large => {
                let least = LargePlace { stream, size, segment: 0, address: 0 };
                let (&place, &id) = self.large.range(least..).next()?;
                if place.stream != stream {
                    return None;
                }
                self.large.remove(&place);
                Some(id)
            }
        }
    }

    /// The bytes of the largest free block on `stream`; 0 when there is none.
    pub(super) fn largest_on(&self, kind: PoolKind, stream: u32) -> u64 {
        match kind {
            PoolKind::Small => self.small.get(&stream).map_or(0, Bins::largest),
            PoolKind::Large => {
                let end = LargePlace { stream, size: u64::MAX, segment: u64::MAX, address: u64::MAX };
                match self.large.range(..=end).next_back() {
                    Some((place, _)) if place.stream == stream => place.size,
                    _ => 0,
                }
            }
        }
    }

    /// The bytes of the largest free block on any stream; 0 when there is none.
    pub(super) fn largest(&self, kind: PoolKind) -> u64 {
        match kind {
            PoolKind::Small => self.small.values().map(Bins::largest).max().unwrap_or(0),
            PoolKind::Large => self.large.keys().map(|place| place.size).max().unwrap_or(0),
        }
    }

    /// The free blocks of a pool, in the order of best fit.
    pub(super) fn ids(&self, kind: PoolKind) -> Vec<Id> {
        match kind {
            PoolKind::Small => self.small.values().flat_map(Bins::ids).collect(),
            PoolKind::Large => self.large.values().copied().collect(),
        }
    }

    /// Gives up the bins of the streams that have no free block.
    pub(super) fn shrink(&mut self) {
        self.small.retain(|_, bins| !bins.is_empty());
    }
}

/// Where a free block of the large pool stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LargePlace {
    stream: u32,
    size: u64,
    segment: u64,
    address: u64,
}

impl LargePlace {
    fn of(node: &Node) -> Self {
        Self { stream: node.stream, size: node.size, segment: node.segment, address: node.address }
    }
}

/// How many sizes a block of the small pool can have.
const SIZES: usize = (SMALL_SEGMENT / MIN_BLOCK) as usize;
/// How many sizes one word of a [`Bins`] speaks of.
const WORD: usize = 64;

/// The free blocks of the small pool on one stream: a bin for each size, by segment and
/// address, and two levels of bits that say which bins hold something.
#[derive(Debug)]
struct Bins {
    words: u64,
    filled: [u64; SIZES / WORD],
    bins: Vec<Bin>,
}

impl Default for Bins {
    fn default() -> Self {
        Self { words: 0, filled: [0; SIZES / WORD], bins: vec![Bin::default(); SIZES] }
    }
}

impl Bins {
    fn insert(&mut self, node: &Node, id: Id) {
        let index = index(node.size);
        if let (Some(bin), Some(bits)) = (self.bins.get_mut(index), self.filled.get_mut(index / WORD)) {
            bin.insert(SmallPlace::of(node), id);
            *bits |= 1 << (index % WORD);
            self.words |= 1 << (index / WORD);
        }
    }

    fn remove(&mut self, node: &Node) {
        let index = index(node.size);
        if let Some(bin) = self.bins.get_mut(index) {
            bin.remove(SmallPlace::of(node));
            if bin.is_empty() {
                self.clear(index);
            }
        }
    }

    fn take(&mut self, size: u64) -> Option<Id> {
        let index = self.first_from(index(size))?;
        let bin = self.bins.get_mut(index)?;
        let id = bin.take()?;
        if bin.is_empty() {
            self.clear(index);
        }
        Some(id)
    }

    fn largest(&self) -> u64 {
        let Some(word) = self.words.checked_ilog2() else { return 0 };
        let bits = self.filled.get(word as usize).copied().unwrap_or(0);
        let bit = bits.checked_ilog2().unwrap_or(0);
        (u64::from(word) * WORD as u64 + u64::from(bit) + 1) * MIN_BLOCK
    }

    fn ids(&self) -> impl Iterator<Item = Id> {
        self.bins.iter().flat_map(Bin::ids)
    }

    fn is_empty(&self) -> bool {
        self.words == 0
    }

    /// The first bin from `index` on that holds something.
    fn first_from(&self, index: usize) -> Option<usize> {
        let word = index / WORD;
        let here = self.filled.get(word)? & (u64::MAX << (index % WORD));
        if here != 0 {
            return Some(word * WORD + here.trailing_zeros() as usize);
        }
        let later = self.words & u64::MAX.checked_shl(word as u32 + 1).unwrap_or(0);
        let word = later.trailing_zeros() as usize;
        let bits = self.filled.get(word)?;
        Some(word * WORD + bits.trailing_zeros() as usize)
    }

    fn clear(&mut self, index: usize) {
        if let Some(bits) = self.filled.get_mut(index / WORD) {
            *bits &= !(1 << (index % WORD));
            if *bits == 0 {
                self.words &= !(1 << (index / WORD));
            }
        }
    }
}

/// The free blocks of one size, by place. The first is kept at hand, as most bins hold
/// one block at a time, or give one and take it back.
#[derive(Clone, Debug, Default)]
struct Bin {
    /// Before all of `rest`; may be absent while `rest` holds something.
    first: Option<(SmallPlace, Id)>,
    rest: BTreeMap<SmallPlace, Id>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SmallPlace {
    segment: u64,
    address: u64,
}

impl SmallPlace {
    fn of(node: &Node) -> Self {
        Self { segment: node.segment, address: node.address }
    }
}

impl Bin {
    fn insert(&mut self, place: SmallPlace, id: Id) {
        let next = match &self.first {
            Some((first, _)) => Some(first),
            None => self.rest.keys().next(),
        };
        if next.is_some_and(|&next| next < place) {
            self.rest.insert(place, id);
        } else if let Some((second, id)) = self.first.replace((place, id)) {
            self.rest.insert(second, id);
        }
    }

    fn remove(&mut self, place: SmallPlace) {
        match self.first {
            Some((first, _)) if first == place => self.first = None,
            _ => {
                self.rest.remove(&place);
            }
        }
    }

    fn take(&mut self) -> Option<Id> {
        match self.first.take() {
            Some((_, id)) => Some(id),
            None => self.rest.pop_first().map(|(_, id)| id),
        }
    }

    fn ids(&self) -> impl Iterator<Item = Id> {
        self.first.iter().map(|&(_, id)| id).chain(self.rest.values().copied())
    }

    fn is_empty(&self) -> bool {
        self.first.is_none() && self.rest.is_empty()
    }
}

/// The bin of the blocks of `size` bytes.
fn index(size: u64) -> usize {
    usize::try_from((size / MIN_BLOCK).saturating_sub(1)).unwrap_or(usize::MAX)
}

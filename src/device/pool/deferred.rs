//! Blocks that were freed while other streams may still use them.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::block::Id;
use super::memory::Memory;

/// The streams that have recorded a block, and the freed blocks that wait for them.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    recorded: HashMap<u64, Vec<u32>>,
    waiting: BTreeMap<u32, VecDeque<DeferredBlock>>,
}

#[derive(Debug)]
struct DeferredBlock {
    mark: u64,
    id: Id,
}

impl Deferred {
    /// Whether no freed block waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Notes that `stream` uses the block at `address`.
    pub(super) fn record(&mut self, address: u64, stream: u32) {
        let streams = self.recorded.entry(address).or_default();
        if !streams.contains(&stream) {
            streams.push(stream);
        }
    }

    /// The streams that use the block at `address`, besides its own.
    pub(super) fn recorded(&self, address: u64) -> &[u32] {
        self.recorded.get(&address).map_or(&[], Vec::as_slice)
    }

    /// Lets a freed block wait for all that its streams have been given so far; says
    /// for how many streams.
    pub(super) fn wait_for(&mut self, address: u64, id: Id, memory: &mut impl Memory) -> u32 {
        let streams = self.recorded.remove(&address).unwrap_or_default();
        let mut waits = 0;
        for stream in streams {
            let mark = memory.mark(stream);
            self.waiting.entry(stream).or_default().push_back(DeferredBlock { mark, id });
            waits += 1;
        }
        waits
    }

    /// Takes out every wait that is over, of each stream up to its first mark that is
    /// not reached.
    pub(super) fn take(&mut self, mut reached: impl FnMut(u32, u64) -> bool) -> Vec<Id> {
        let mut over = Vec::new();
        self.waiting.retain(|&stream, queue| {
            while let Some(waiting) = queue.pop_front_if(|waiting| reached(stream, waiting.mark)) {
                over.push(waiting.id);
            }
            !queue.is_empty()
        });
        over
    }

    /// The last mark that is waited for, of every stream.
    pub(super) fn last_marks(&self) -> impl Iterator<Item = (u32, u64)> {
        self.waiting.iter().filter_map(|(&stream, queue)| Some((stream, queue.back()?.mark)))
    }
}

//! Blocks that are freed while another stream may still use them.

use std::collections::HashMap;

use tensorlab::device::pool::{BlockState, Memory, Pool, Simulated};

use super::{GIB, MIB};

/// A memory whose streams take work and do it when told to.
struct Clocked {
    memory: Simulated,
    given: HashMap<u32, u64>,
    done: HashMap<u32, u64>,
    waited: Vec<(u32, u64)>,
}

impl Clocked {
    /// In a box, as devices of several kinds hold it.
    fn pool() -> Pool<Box<Self>> {
        let memory = Simulated::new(GIB, 0);
        let clocked = Self { memory, given: HashMap::new(), done: HashMap::new(), waited: Vec::new() };
        Pool::new(Box::new(clocked), 0)
    }

    fn give(&mut self, stream: u32) {
        *self.given.entry(stream).or_default() += 1;
    }

    fn finish(&mut self, stream: u32, work: u64) {
        self.done.insert(stream, work);
    }
}

impl Memory for Clocked {
    fn allocate(&mut self, bytes: u64) -> Option<u64> {
        self.memory.allocate(bytes)
    }
    fn free(&mut self, address: u64, bytes: u64) {
        self.memory.free(address, bytes);
    }
    fn total(&self) -> u64 {
        self.memory.total()
    }
    fn available(&self) -> u64 {
        self.memory.available()
    }
    fn mark(&mut self, stream: u32) -> u64 {
        self.given.get(&stream).copied().unwrap_or(0)
    }
    fn reached(&self, stream: u32, mark: u64) -> bool {
        self.done.get(&stream).copied().unwrap_or(0) >= mark
    }
    fn wait(&mut self, stream: u32, mark: u64) {
        self.waited.push((stream, mark));
        self.finish(stream, mark);
    }
}

#[test]
fn a_recorded_block_stays_active_until_its_stream_is_done() {
    let mut pool = Pool::new(Simulated::new(GIB, 0), 0);
    let block = pool.allocate(2 * MIB, 0).unwrap();
    assert!(pool.record_stream(block.address, 7) && pool.record_stream(block.address, 7));
    assert!(pool.free(block.address));
    let stats = pool.stats();
    assert_eq!((stats.allocated_bytes.all.current, stats.allocation.all.current), (0, 0));
    assert_eq!((stats.active_bytes.all.current, stats.active.all.current), (2 << 20, 1));
    assert_eq!(stats.requested_bytes.all.current, 2 << 20);
    assert_eq!(pool.snapshot().segments[0].blocks[0].state, BlockState::ActivePendingFree);

    let second = pool.allocate(2 * MIB, 0).unwrap();
    assert_ne!(second.address, block.address, "it cannot be taken again yet");
    pool.complete(3);
    assert_eq!(pool.stats().active.all.current, 2, "another stream's work does not release it");
    pool.complete(7);
    let stats = pool.stats();
    assert_eq!((stats.active.all.current, stats.active_bytes.all.current), (1, 2 << 20));
    assert_eq!(pool.allocate(2 * MIB, 0).unwrap().address, block.address);
}

#[test]
fn a_block_used_by_two_streams_waits_for_both() {
    let mut pool = Pool::new(Simulated::new(GIB, 0), 0);
    let block = pool.allocate(100, 0).unwrap();
    assert!(pool.record_stream(block.address, 1) && pool.record_stream(block.address, 2));
    assert!(pool.free(block.address));
    pool.complete(2);
    assert_eq!(pool.stats().active.all.current, 1);
    pool.complete(1);
    assert_eq!(pool.stats().active.all.current, 0);
}

#[test]
fn the_blocks_own_stream_is_not_waited_for() {
    let mut pool = Pool::new(Simulated::new(GIB, 0), 0);
    let block = pool.allocate(100, 5).unwrap();
    assert!(pool.record_stream(block.address, 5));
    assert!(pool.free(block.address));
    assert_eq!(pool.stats().active.all.current, 0);
}

#[test]
fn marks_are_made_at_the_free_and_reached_in_order() {
    let mut pool = Clocked::pool();
    let blocks = [1, 2, 3].map(|_| pool.allocate(100, 0).unwrap());
    for block in blocks {
        assert!(pool.record_stream(block.address, 1));
        pool.memory_mut().give(1);
        assert!(pool.free(block.address));
    }
    let mut asked = Vec::new();
    pool.process(|stream, mark| {
        asked.push((stream, mark));
        mark <= 1
    });
    assert_eq!(asked, [(1, 1), (1, 2)], "the stream is not past 2, so 3 is not asked for");
    assert_eq!(pool.stats().active.all.current, 2);

    pool.memory_mut().finish(1, 2);
    let again = pool.allocate(100, 0).unwrap();
    assert_eq!(again.address, blocks[0].address, "an allocation first takes back what is done");
    assert_eq!(pool.stats().active.all.current, 2);
}

#[test]
fn emptying_the_cache_waits_for_each_streams_last_mark() {
    let mut pool = Clocked::pool();
    for (stream, works) in [(1, 2), (2, 1)] {
        for _ in 0..works {
            let block = pool.allocate(5 * MIB, 0).unwrap();
            assert!(pool.record_stream(block.address, stream));
            pool.memory_mut().give(stream);
            assert!(pool.free(block.address));
        }
    }
    assert_eq!(pool.reserved(), 20 * MIB);
    pool.empty_cache();
    assert_eq!(pool.memory().waited, [(1, 2), (2, 1)]);
    assert_eq!(pool.reserved(), 0);
    assert_eq!(pool.stats().num_sync_all_streams, 1);
}

#[test]
fn a_request_that_does_not_fit_waits_for_pending_blocks_first() {
    let mut pool = Clocked::pool();
    let block = pool.allocate(GIB, 0).unwrap();
    assert!(pool.record_stream(block.address, 1));
    pool.memory_mut().give(1);
    assert!(pool.free(block.address));
    assert!(pool.allocate(GIB, 0).is_ok());
    assert_eq!(pool.memory().waited, [(1, 1)]);
    let stats = pool.stats();
    assert_eq!((stats.num_alloc_retries, stats.num_ooms), (1, 0));
    assert_eq!((stats.num_device_alloc, stats.num_device_free), (2, 1));
}

#[test]
fn a_pending_block_keeps_its_neighbours_apart() {
    let mut pool = Pool::new(Simulated::new(GIB, 0), 0);
    let blocks = [1, 2, 3].map(|_| pool.allocate(512, 0).unwrap());
    assert!(pool.record_stream(blocks[1].address, 1));
    blocks.iter().for_each(|block| assert!(pool.free(block.address)));
    let states: Vec<_> = pool.snapshot().segments[0].blocks.iter().map(|b| b.state.name()).collect();
    assert_eq!(states, ["inactive", "active_pending_free", "inactive"]);
    pool.complete(1);
    assert_eq!(pool.snapshot().segments[0].blocks.len(), 1);
    assert_eq!(pool.stats().inactive_split.all.current, 0);
}

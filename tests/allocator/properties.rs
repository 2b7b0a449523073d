//! What holds after every step, whatever the steps are.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;
use tensorlab::device::pool::{
    Action, Block, BlockState, LiveTensor, Memory, Pool, Simulated, Snapshot, remedy,
};

use super::{KIB, MIB};

const TOTAL: u64 = 96 * MIB;

#[derive(Clone, Debug)]
enum Step {
    Allocate { bytes: u64, stream: u32 },
    Free { which: usize },
    Record { which: usize, stream: u32 },
    Complete { stream: u32 },
    EmptyCache,
    ResetPeak,
}

fn sizes() -> impl Strategy<Value = u64> {
    prop_oneof![
        1 => Just(0),
        4 => 1..4 * KIB,
        4 => 1..=2 * MIB,
        2 => MIB..=30 * MIB,
        1 => Just(MIB), 1 => Just(MIB + 1), 1 => Just(10 * MIB), 1 => Just(10 * MIB - 512),
        1 => 30 * MIB..=120 * MIB,
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (sizes(), 0..3u32).prop_map(|(bytes, stream)| Step::Allocate { bytes, stream }),
        6 => any::<usize>().prop_map(|which| Step::Free { which }),
        2 => (any::<usize>(), 0..3u32).prop_map(|(which, stream)| Step::Record { which, stream }),
        1 => (0..3u32).prop_map(|stream| Step::Complete { stream }),
        1 => Just(Step::EmptyCache),
        1 => Just(Step::ResetPeak),
    ];
    vec(step, 1..120)
}

/// What a pool should hold, kept the simplest way.
#[derive(Default)]
struct Model {
    live: Vec<(Block, BTreeSet<u32>)>,
    /// Freed blocks, with the streams they wait for.
    pending: BTreeMap<u64, (Block, BTreeSet<u32>)>,
}

impl Model {
    fn complete(&mut self, stream: u32) {
        self.pending.retain(|_, (_, streams)| {
            streams.remove(&stream);
            !streams.is_empty()
        });
    }

    fn take(&mut self, which: usize) -> Option<(Block, BTreeSet<u32>)> {
        let index = which.checked_rem(self.live.len())?;
        Some(self.live.swap_remove(index))
    }
}

fn apply(pool: &mut Pool<Simulated>, model: &mut Model, step: &Step) {
    match *step {
        Step::Allocate { bytes, stream } => {
            let syncs = pool.stats().num_sync_all_streams;
            let result = pool.allocate(bytes, stream);
            let waited = !model.pending.is_empty();
            if pool.stats().num_sync_all_streams > syncs {
                model.pending.clear();
            }
            match result {
                Ok(block) if bytes == 0 => assert_eq!(block, Block { stream, ..Block::default() }),
                Ok(block) => {
                    assert!(block.bytes >= bytes && block.bytes % 512 == 0 && block.address % 512 == 0);
                    assert_eq!((block.requested, block.stream), (bytes, stream));
                    model.live.push((block, BTreeSet::new()));
                }
                // What other streams give back during the request itself is not looked at.
                Err(error) => assert!(waited || !error.would_fit(bytes, &[]), "{error:?} fits after all"),
            }
        }
        Step::Free { which } => {
            if let Some((block, streams)) = model.take(which) {
                assert!(pool.free(block.address));
                if !streams.is_empty() {
                    model.pending.insert(block.address, (block, streams));
                }
            }
        }
        Step::Record { which, stream } => {
            if let Some(index) = which.checked_rem(model.live.len()) {
                let (block, streams) = &mut model.live[index];
                assert!(pool.record_stream(block.address, stream));
                if stream != block.stream {
                    streams.insert(stream);
                }
            }
        }
        Step::Complete { stream } => {
            pool.complete(stream);
            model.complete(stream);
        }
        Step::EmptyCache => {
            pool.empty_cache();
            model.pending.clear();
            let free = |s: &tensorlab::device::pool::Segment| s.active_size() == 0;
            assert!(!pool.snapshot().segments.iter().any(free), "a free segment was kept");
        }
        Step::ResetPeak => {
            pool.reset_peak();
            assert_eq!((pool.peak_allocated(), pool.peak_reserved()), (pool.allocated(), pool.reserved()));
        }
    }
}

/// Blocks tile their segments, segments lie apart, and no two free blocks touch.
fn check_layout(snapshot: &Snapshot) {
    let mut end = 0;
    for segment in &snapshot.segments {
        assert!(segment.address >= end, "segments overlap");
        end = segment.address;
        for block in &segment.blocks {
            assert_eq!(block.address, end, "a gap or an overlap between blocks");
            assert!(block.size > 0 && block.size % 512 == 0);
            end += block.size;
        }
        assert_eq!(end, segment.address + segment.size);
        let free = |block: &tensorlab::device::pool::SegmentBlock| block.state == BlockState::Inactive;
        assert!(
            !segment.blocks.windows(2).any(|pair| pair.iter().all(free)),
            "free neighbours were not merged"
        );
    }
}

/// The model's blocks are the snapshot's, and every statistic is the sum over it.
fn check_sums(pool: &Pool<Simulated>, model: &Model) {
    let snapshot = pool.snapshot();
    let held = |state: BlockState| -> BTreeMap<u64, (u64, u64)> {
        let blocks = snapshot.segments.iter().flat_map(|segment| &segment.blocks);
        blocks.filter(|b| b.state == state).map(|b| (b.address, (b.size, b.requested))).collect()
    };
    let entry = |block: &Block| (block.address, (block.bytes, block.requested));
    assert_eq!(held(BlockState::ActiveAllocated), model.live.iter().map(|(block, _)| entry(block)).collect());
    assert_eq!(
        held(BlockState::ActivePendingFree),
        model.pending.values().map(|(block, _)| entry(block)).collect()
    );

    let stats = pool.stats();
    for (pool_name, small) in [("small_pool", Some(true)), ("large_pool", Some(false)), ("all", None)] {
        let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
        let mut add = |name, value| *expected.entry(name).or_default() += value;
        for segment in
            snapshot.segments.iter().filter(|segment| small.is_none_or(|small| small == segment.small))
        {
            add("segment", 1);
            add("reserved_bytes", segment.size);
            for block in &segment.blocks {
                let allocated = u64::from(block.state == BlockState::ActiveAllocated);
                let active = u64::from(block.state != BlockState::Inactive);
                let split = u64::from(block.state == BlockState::Inactive && segment.blocks.len() > 1);
                add("allocation", allocated);
                add("allocated_bytes", allocated * block.size);
                add("active", active);
                add("active_bytes", active * block.size);
                add("requested_bytes", block.requested);
                add("inactive_split", split);
                add("inactive_split_bytes", split * block.size);
            }
        }
        for name in [
            "segment",
            "reserved_bytes",
            "allocation",
            "allocated_bytes",
            "active",
            "active_bytes",
            "requested_bytes",
            "inactive_split",
            "inactive_split_bytes",
        ] {
            let value = |metric: &str| stats.get(&format!("{name}.{pool_name}.{metric}")).unwrap();
            assert_eq!(
                value("current"),
                expected.get(name).copied().unwrap_or(0) as i64,
                "{name}.{pool_name}"
            );
            assert_eq!(value("allocated") - value("freed"), value("current"), "{name}.{pool_name}");
            assert!(value("peak") >= value("current"), "{name}.{pool_name}");
        }
    }
    assert_eq!(pool.memory().available(), TOTAL - pool.reserved());
    assert_eq!(stats.num_device_alloc - stats.num_device_free, snapshot.segments.len() as i64);
}

/// A pool after `steps`, with what it should hold.
fn after(steps: &[Step], each: impl Fn(&mut Pool<Simulated>, &Model)) -> (Pool<Simulated>, Model) {
    let mut pool = Pool::new(Simulated::new(TOTAL, 0), 0);
    let mut model = Model::default();
    for step in steps {
        apply(&mut pool, &mut model, step);
        each(&mut pool, &model);
    }
    (pool, model)
}

fn tensor(block: &Block, name: Option<String>) -> LiveTensor {
    LiveTensor {
        name,
        address: block.address,
        bytes: block.requested,
        shape: format!("[{}]", block.requested),
        dtype: "uint8".into(),
        made_by: "zeros".into(),
        cell: None,
        line: Some(1),
        held_by: None,
        needed: false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn blocks_never_overlap_and_sums_agree_with_statistics(steps in steps()) {
        let (mut pool, mut model) = after(&steps, |pool, model| {
            check_layout(&pool.snapshot());
            check_sums(pool, model);
        });
        while let Some((block, _)) = model.take(0) {
            assert!(pool.free(block.address));
        }
        pool.process(|_, _| true);
        pool.empty_cache();
        assert_eq!(pool.snapshot().segments, []);
        let counts = ["num_", "max_split"];
        for (key, value) in pool.stats().iter().filter(|(key, _)| !counts.iter().any(|c| key.starts_with(c))) {
            assert!(!key.ends_with(".current") || value == 0, "{key} is {value} though everything was freed");
        }
        assert_eq!(pool.mem_get_info(), (TOTAL, TOTAL));
    }

    #[test]
    fn announced_segments_add_up_to_those_held(steps in steps()) {
        let mut held: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut pool, _) = after(&steps, |_, _| ());
        for change in pool.take_changes() {
            if change.mapped {
                assert_eq!(held.insert(change.address, change.bytes), None, "taken twice");
            } else {
                assert_eq!(held.remove(&change.address), Some(change.bytes), "returned, but not held");
            }
        }
        let segments = pool.snapshot().segments;
        assert_eq!(held, segments.iter().map(|segment| (segment.address, segment.size)).collect());
        assert!(pool.take_changes().is_empty());
    }

    #[test]
    fn fragmentation_tells_what_the_cache_can_serve(steps in steps()) {
        // Each stream asks a pool of its own, as a miss changes what is cached.
        let cache_serves = |bytes: u64| (0..3).any(|stream| {
            let (mut pool, _) = after(&steps, |_, _| ());
            let taken = pool.stats().num_device_alloc;
            pool.allocate(bytes, stream).is_ok() && pool.stats().num_device_alloc == taken
        });
        let (pool, _) = after(&steps, |_, _| ());
        let fragmentation = pool.fragmentation();
        let largest = fragmentation.largest_request;
        assert!(largest == 0 || cache_serves(largest));
        assert!(!cache_serves(largest + 1));
        let split = pool.snapshot().segments.into_iter().filter(|s| s.active_size() > 0);
        assert_eq!(fragmentation.split_free, split.map(|s| s.size - s.active_size()).sum::<u64>());
    }

    #[test]
    fn what_is_said_to_fit_after_frees_fits_after_them(steps in steps(), bytes in sizes(), which in vec(any::<bool>(), 120)) {
        let (mut pool, model) = after(&steps, |_, _| ());
        let Err(error) = pool.allocate(bytes, 0) else { return Ok(()) };
        let released: Vec<u64> =
            model.live.iter().zip(which).filter_map(|((block, _), free)| free.then_some(block.address)).collect();
        let said = error.would_fit(bytes, &released);
        for address in released {
            assert!(pool.free(address));
        }
        pool.process(|_, _| true);
        assert_eq!(pool.allocate(bytes, 0).is_ok(), said);
    }

    #[test]
    fn every_remedy_works(steps in steps(), bytes in sizes(), named in vec(any::<bool>(), 120), half in any::<bool>()) {
        let failed = || {
            let (mut pool, model) = after(&steps, |_, _| ());
            if half {
                pool.set_fraction(0.5).unwrap();
            }
            let error = pool.allocate(bytes, 0).err();
            (pool, model, error)
        };
        let (_, model, Some(error)) = failed() else { return Ok(()) };
        let live: Vec<LiveTensor> = model
            .live
            .iter()
            .zip(named)
            .enumerate()
            .map(|(index, ((block, _), named))| tensor(block, named.then(|| format!("x{index}"))))
            .collect();
        let remedy = remedy(&error, &live);
        assert!(remedy.first().is_some());
        for action in &remedy.actions {
            let (mut pool, _, _) = failed();
            let asked = match action {
                Action::TryAgain => bytes,
                Action::Delete { tensors, .. } => {
                    tensors.iter().for_each(|tensor| assert!(pool.free(tensor.address)));
                    pool.process(|_, _| true);
                    bytes
                }
                Action::RaiseLimit { fraction, .. } => {
                    pool.set_fraction(*fraction).unwrap();
                    bytes
                }
                Action::Smaller { bytes: smaller, least, or } => {
                    assert!(*smaller < bytes);
                    let below = or.map_or(1, |most| most + 1);
                    assert!(least.is_none_or(|least| below <= least && least <= *smaller));
                    // All that it says, and not the largest alone.
                    for part in 0..=8 {
                        let from = least.unwrap_or(1);
                        let (mut pool, _, _) = failed();
                        let asked = from + (smaller - from) / 8 * part;
                        assert!(pool.allocate(asked, 0).is_ok(), "{action:?} does not help with {asked}");
                    }
                    if let Some(most) = or {
                        let (mut pool, _, _) = failed();
                        assert!(pool.allocate(*most, 0).is_ok(), "{action:?} does not help");
                    }
                    *smaller
                }
                Action::LargerDevice { bytes: device } => {
                    assert!(*device > TOTAL);
                    continue;
                }
                Action::DeleteGraphs { .. } => panic!("no graph was captured"),
                Action::FreeOthers { .. } => panic!("no one else uses the device"),
            };
            assert!(pool.allocate(asked, 0).is_ok(), "{action:?} does not help");
        }
    }

    #[test]
    fn the_largest_batch_fits_and_the_next_does_not(steps in steps(), row in 1..MIB, batch in 1..200u64) {
        let (mut pool, _) = after(&steps, |_, _| ());
        let Err(error) = pool.allocate(row * batch, 0) else { return Ok(()) };
        let largest = error.largest_batch(batch).unwrap_or(0);
        assert!(largest < batch);
        assert!(largest == 0 || error.would_fit(row * largest, &[]));
        assert!((largest + 1..batch).all(|other| !error.would_fit(row * other, &[])));
    }
}

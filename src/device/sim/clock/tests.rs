use proptest::prelude::*;

use crate::device::kernel::KernelClass;
use crate::device::sim::rate::Rate;

use super::*;
use crate::device::sim::form::WorkForm;

const MIB: u64 = 1 << 20;
const HOST: u64 = 5_000;
const LATENCY: u64 = 3_500;
const CALL: u64 = 1_000;

fn host() -> HostProfile {
    HostProfile::builtin("notebook").unwrap()
}

impl Clock {
    /// When all that is queued on the stream is done.
    fn stream_time(&self, at: StreamId) -> Result<u64, ClockError> {
        Ok(self.device(at.device)?.free(at.stream))
    }
}

fn machine(ids: &[&str]) -> Clock {
    Clock::new(ids.iter().map(|id| Profile::builtin(id).unwrap()).collect(), host())
}

fn on(stream: u32) -> StreamId {
    StreamId { device: 0, stream }
}

/// An elementwise kernel that works for `nanos` on a T4 (256 bytes a nanosecond).
fn busy(nanos: u64) -> Work {
    Work {
        class: KernelClass::Elementwise,
        rate: Rate::Fp32,
        flops: 0,
        bytes: nanos * 256,
        form: WorkForm::Plain,
    }
}

fn h2d(bytes: u64, pinned: bool) -> Transfer {
    Transfer { direction: Direction::H2D, bytes, pinned }
}

fn d2h(bytes: u64, pinned: bool) -> Transfer {
    Transfer { direction: Direction::D2H, bytes, pinned }
}

#[test]
fn a_launch_costs_the_host_little_and_runs_later() {
    let mut clock = machine(&["t4"]);
    let first = clock.launch(on(0), &busy(100_000)).unwrap();
    assert_eq!(first, Span { start: HOST, end: HOST + LATENCY + 100_000 });
    assert_eq!(clock.now(), HOST);
    let second = clock.launch(on(0), &busy(100_000)).unwrap();
    assert_eq!(second.start, first.end);
    assert_eq!(clock.stream_time(on(0)), Ok(second.end));
}

#[test]
fn the_host_runs_ahead_and_then_waits() {
    let mut clock = machine(&["t4"]);
    for _ in 0..100 {
        clock.launch(on(0), &busy(100_000)).unwrap();
    }
    let launched = clock.now();
    assert_eq!(launched, 100 * HOST);
    let waited = clock.synchronize_device(0).unwrap();
    assert_eq!(clock.now(), HOST + 100 * (LATENCY + 100_000));
    assert_eq!(waited, clock.now() - launched - CALL);
    assert_eq!(clock.synchronize_stream(on(0)), Ok(0));
}

#[test]
fn tiny_launches_are_bound_by_the_host() {
    let mut clock = machine(&["t4"]);
    for _ in 0..10_000 {
        clock.launch(on(0), &busy(10)).unwrap();
    }
    clock.synchronize_device(0).unwrap();
    assert_eq!(clock.now(), 10_000 * HOST + LATENCY + 10);
}

#[test]
fn a_full_queue_holds_the_host() {
    let mut clock = machine(&["t4"]);
    for _ in 0..1000 {
        clock.launch(on(0), &busy(10_000_000)).unwrap();
    }
    assert_eq!(clock.now(), 1000 * HOST);
    clock.launch(on(1), &busy(1)).unwrap();
    assert_eq!(clock.now(), 1001 * HOST, "another stream has room");
    clock.launch(on(0), &busy(10_000_000)).unwrap();
    assert_eq!(clock.now(), (HOST + LATENCY + 10_000_000) + HOST, "the host waits for the oldest");
}

#[test]
fn a_pinned_non_blocking_copy_overlaps_another_streams_kernel() {
    let mut clock = machine(&["t4"]);
    let copy = clock.copy(on(1), &h2d(64 * MIB, true), true).unwrap();
    assert_eq!((copy.blocking, copy.host_waited, clock.now()), (false, 0, HOST));
    let kernel = clock.launch(on(0), &busy(5_000_000)).unwrap();
    assert!(kernel.start < copy.end && copy.start < kernel.end, "{kernel:?} {copy:?}");
    assert_eq!(kernel.start, 2 * HOST);
}

#[test]
fn a_pageable_copy_holds_the_host_so_that_nothing_overlaps_it() {
    let mut clock = machine(&["t4"]);
    let copy = clock.copy(on(1), &h2d(64 * MIB, false), true).unwrap();
    assert!(copy.blocking);
    assert_eq!((clock.now(), copy.host_waited), (copy.end, copy.end - HOST));
    let kernel = clock.launch(on(0), &busy(5_000_000)).unwrap();
    assert!(kernel.start >= copy.end);
}

#[test]
fn a_short_pageable_copy_holds_the_host_until_it_is_in_the_drivers_buffers() {
    let profile = Profile::builtin("t4").unwrap();
    let mut host = host();
    host.link.staged = MIB;
    for (transfer, non_blocking, staged) in [
        (h2d(MIB, false), true, true),
        (h2d(MIB, false), false, false),
        (h2d(MIB + 1, false), true, false),
        (d2h(MIB, false), true, false),
    ] {
        let mut clock = Clock::new(vec![profile.clone()], host.clone());
        let kernel = clock.launch(on(0), &busy(50_000_000)).unwrap();
        let copy = clock.copy(on(0), &transfer, non_blocking).unwrap();
        assert_eq!((copy.start, copy.blocking), (kernel.end, !staged), "{transfer:?}");
        let length = copy.end - copy.start;
        assert_eq!(clock.now(), if staged { 2 * HOST + length } else { copy.end }, "{transfer:?}");
    }
}

#[test]
fn copies_wait_for_their_own_stream() {
    for (transfer, non_blocking) in
        [(h2d(MIB, false), false), (d2h(MIB, false), true), (d2h(MIB, true), false), (d2h(MIB, true), true)]
    {
        let mut clock = machine(&["t4"]);
        let kernel = clock.launch(on(0), &busy(5_000_000)).unwrap();
        let copy = clock.copy(on(0), &transfer, non_blocking).unwrap();
        assert_eq!(copy.start, kernel.end, "{transfer:?}");
        assert_eq!(copy.blocking, !(transfer.pinned && non_blocking));
        assert_eq!(clock.now(), if copy.blocking { copy.end } else { 2 * HOST });
    }
}

#[test]
fn two_engines_copy_both_ways_at_once_and_one_does_not() {
    let both_ways = |engines| {
        let mut profile = Profile::builtin("t4").unwrap();
        profile.device.copy_engines = engines;
        let mut clock = Clock::new(vec![profile], host());
        let up = clock.copy(on(1), &h2d(64 * MIB, true), true).unwrap();
        let down = clock.copy(on(2), &d2h(64 * MIB, true), true).unwrap();
        let again = clock.copy(on(3), &h2d(64 * MIB, true), true).unwrap();
        assert!(again.start >= up.end, "one engine serves one copy at a time");
        (up, down)
    };
    for engines in [2, 3] {
        let (up, down) = both_ways(engines);
        assert!(down.start < up.end);
    }
    let (up, down) = both_ways(1);
    assert_eq!(down.start, up.end);
}

#[test]
fn large_kernels_of_two_streams_share_the_device() {
    let mut clock = machine(&["t4"]);
    let first = clock.launch(on(1), &busy(1_000_000)).unwrap();
    let second = clock.launch(on(2), &busy(1_000_000)).unwrap();
    assert_eq!(second, Span { start: first.end - LATENCY, end: first.end + 1_000_000 });
}

#[test]
fn a_small_kernel_of_a_side_stream_does_not_wait_for_a_backlog() {
    let mut clock = machine(&["t4"]);
    let products: Vec<Span> = (0..5).map(|_| clock.launch(on(0), &busy(500_000)).unwrap()).collect();
    let small = clock.launch(on(1), &busy(1_000)).unwrap();
    assert_eq!(small.end, products[0].end + 1_000, "when the running kernel leaves room");
    let [_, second, .., last] = products.as_slice() else { panic!() };
    assert!(small.end < second.end);
    assert!(last.end < 6 * 500_000);
}

#[test]
fn a_kernel_that_is_short_beside_a_backlog_shares_the_device_with_it() {
    for streams in [1, 2] {
        let work = 50_000;
        let mut clock = machine(&["t4"]);
        let queued: Vec<Span> = (0..5).map(|_| clock.launch(on(0), &busy(500_000)).unwrap()).collect();
        let idle = queued[4].end;
        for stream in 1..=streams {
            let side = clock.launch(on(stream), &busy(work)).unwrap();
            assert_eq!(side.start, queued[0].end - LATENCY, "when the running kernel leaves room");
            assert_eq!(side.end, queued[0].end + u64::from(stream + 1) * work, "at its share of the device");
        }
        assert_eq!(clock.stream_time(on(0)), Ok(idle + u64::from(streams) * work), "nothing is for nothing");
        let after = clock.launch(on(0), &busy(1_000_000)).unwrap();
        assert_eq!(after.end, idle + u64::from(streams) * work + LATENCY + 1_000_000);
    }
    let mut clock = machine(&["t4"]);
    let queued: Vec<Span> = (0..5).map(|_| clock.launch(on(0), &busy(500_000)).unwrap()).collect();
    let side = clock.launch(on(1), &busy(500_000)).unwrap();
    assert_eq!(side.end, queued[4].end + 500_000, "one that is not comes after it");
}

#[test]
fn two_backlogs_take_as_long_as_one_of_both() {
    let mut clock = machine(&["t4"]);
    let (mut first, mut all) = (Vec::new(), Vec::new());
    for stream in [0, 1] {
        let queued: Vec<Span> = (0..4).map(|_| clock.launch(on(stream), &busy(500_000)).unwrap()).collect();
        first.push(queued[0].end);
        all.extend(queued);
    }
    all.sort_by_key(|span| span.start);
    let mut end = all[0].end;
    for span in &all {
        assert!(span.start <= end, "the device is never without a kernel: {all:?}");
        end = end.max(span.end);
    }
    clock.synchronize_device(0).unwrap();
    assert!(clock.now() >= 8 * 500_000 && clock.now() < 8 * 500_000 + 100_000, "{}", clock.now());
    assert!(first[0] < first[1]);
}

#[test]
fn small_kernels_take_their_share_of_the_device() {
    let mut clock = machine(&["t4"]);
    let mut end = 0;
    for i in 0..2_000 {
        end = clock.launch(on(i % 32), &busy(LATENCY)).unwrap().end.max(end);
    }
    // Each of them fills the device but for nothing: side by side they take as long as one after the other.
    assert!(end >= 2_000 * LATENCY, "{end}");
}

#[test]
fn kernels_that_are_mostly_latency_gain_from_a_second_stream() {
    let total = |streams: u32| {
        let mut clock = machine(&["t4"]);
        for i in 0..100 {
            clock.launch(on(i % streams), &busy(4_000)).unwrap();
        }
        clock.synchronize_device(0).unwrap();
        clock.now()
    };
    assert!(total(2) * 4 < total(1) * 3, "{} {}", total(2), total(1));
}

#[test]
fn work_behind_a_wait_does_not_hold_up_work_that_can_run() {
    let mut clock = machine(&["t4"]);
    let copy = clock.copy(on(1), &h2d(64 * MIB, true), true).unwrap();
    let arrived = clock.record(on(1)).unwrap();
    clock.wait_event(on(2), arrived).unwrap();
    let behind = clock.launch(on(2), &busy(1_000)).unwrap();
    assert_eq!(behind.start, copy.end);
    let free = clock.launch(on(0), &busy(1_000)).unwrap();
    assert!(free.end < behind.start);
}

#[test]
fn events_time_what_lies_between_them() {
    let mut clock = machine(&["t4"]);
    let start = clock.record(on(0)).unwrap();
    clock.launch(on(0), &busy(2_000_000)).unwrap();
    let end = clock.record(on(0)).unwrap();
    assert_eq!(clock.query(end), Ok(false));
    let remaining = end.time - clock.now();
    assert_eq!(clock.elapsed(start, end), Err(ClockError::NotReached { ready_in: remaining }));
    clock.synchronize_mark(end).unwrap();
    // The host's enqueueing lies between the events, as on hardware.
    assert_eq!(clock.elapsed(start, end), Ok((HOST + LATENCY + 2_000_000) as f64 / 1e6));
    assert_eq!(clock.elapsed(end, start), Ok(-((HOST + LATENCY + 2_000_000) as f64) / 1e6));
    assert_eq!(clock.query(end), Ok(true));
}

#[test]
fn polling_ends() {
    let mut clock = machine(&["t4"]);
    clock.launch(on(0), &busy(1_000_000)).unwrap();
    let done = clock.record(on(0)).unwrap();
    let polls = (0..).take_while(|_| !clock.query(done).unwrap()).count();
    assert_eq!(polls, 1_002);
}

#[test]
fn events_of_two_devices_are_not_compared() {
    let mut clock = machine(&["t4", "t4"]);
    let here = clock.record(on(0)).unwrap();
    let there = clock.record(StreamId { device: 1, stream: 0 }).unwrap();
    assert_eq!(clock.elapsed(here, there), Err(ClockError::DifferentDevices { start: 0, end: 1 }));
}

#[test]
fn devices_work_side_by_side() {
    let mut clock = machine(&["t4", "t4"]);
    let first = clock.launch(on(0), &busy(1_000_000)).unwrap();
    let second = clock.launch(StreamId { device: 1, stream: 0 }, &busy(1_000_000)).unwrap();
    assert_eq!(second.start, first.start + HOST);
    assert_eq!(clock.synchronize_device(1), Ok(second.end - 2 * HOST - CALL));
}

#[test]
fn a_peer_copy_orders_both_devices_streams_and_frees_the_host() {
    let mut clock = machine(&["t4", "t4"]);
    let there = StreamId { device: 1, stream: 0 };
    let from = clock.launch(on(0), &busy(1_000_000)).unwrap();
    let to = clock.launch(there, &busy(2_000_000)).unwrap();
    let copy = clock.copy_peer(on(0), there, 64 * MIB).unwrap();
    assert_eq!(copy.start, from.end.max(to.end));
    assert_eq!((copy.host_waited, copy.blocking, clock.now()), (0, false, 3 * HOST));
    for stream in [on(0), there] {
        assert_eq!(clock.launch(stream, &busy(1)).unwrap().start, copy.end);
    }
}

#[test]
fn without_peer_access_a_copy_takes_an_engine_at_each_end() {
    let there = StreamId { device: 1, stream: 0 };
    for (id, direct) in [("t4", true), ("rtx4090", false)] {
        let mut clock = machine(&[id, id]);
        let peer = clock.copy_peer(on(0), there, 64 * MIB).unwrap();
        let out = clock.copy(on(1), &d2h(MIB, true), true).unwrap();
        let into = clock.copy(StreamId { device: 1, stream: 1 }, &h2d(MIB, true), true).unwrap();
        assert_eq!((out.start < peer.end, into.start < peer.end), (direct, direct), "{id}");
    }
    let mut clock = machine(&["rtx4090", "rtx4090"]);
    let into = clock.copy(StreamId { device: 1, stream: 1 }, &h2d(64 * MIB, true), true).unwrap();
    let out = clock.copy(on(1), &d2h(128 * MIB, true), true).unwrap();
    let peer = clock.copy_peer(on(0), there, MIB).unwrap();
    assert!(into.end < out.end);
    assert_eq!(peer.start, out.end);
}

#[test]
fn a_peer_copy_within_a_device_is_a_kernel() {
    let mut clock = machine(&["t4"]);
    let copy = clock.copy_peer(on(1), on(2), 128 * MIB).unwrap();
    assert_eq!(copy.end - copy.start, LATENCY + 1_048_576);
    assert_eq!(clock.stream_time(on(2)), Ok(0));
}

#[test]
fn giving_memory_back_waits_for_the_device() {
    let mut clock = machine(&["t4"]);
    clock.take_segment(0).unwrap();
    assert_eq!(clock.now(), 200_000);
    let kernel = clock.launch(on(3), &busy(1_000_000)).unwrap();
    let waited = clock.give_segment(0).unwrap();
    assert_eq!((waited, clock.now()), (kernel.end - 205_000, kernel.end + 150_000));
}

#[test]
fn pinning_takes_the_host_time() {
    let mut clock = machine(&["t4"]);
    clock.pin(0, 250_000_000).unwrap();
    assert_eq!(clock.now(), 100_000_000 + CALL);
}

#[test]
fn host_threads_have_times_of_their_own() {
    let mut clock = machine(&["t4"]);
    clock.host_work(100);
    let worker = clock.spawn();
    clock.host_work(1_000);
    clock.switch(worker).unwrap();
    assert_eq!(clock.now(), 100);
    clock.host_work(5_000);
    clock.switch(HostThread::MAIN).unwrap();
    assert_eq!(clock.now(), 1_100);
    assert_eq!(clock.join(worker), Ok(4_000));
    assert_eq!(clock.now(), 5_100);
    assert_eq!(clock.switch(worker), Err(ClockError::NoThread { thread: worker }));
    assert_eq!(clock.join(HostThread::MAIN), Err(ClockError::CannotJoin { thread: HostThread::MAIN }));
}

#[test]
fn an_absent_device_is_an_error() {
    let mut clock = machine(&["t4"]);
    let absent = StreamId { device: 1, stream: 0 };
    let error = ClockError::NoDevice { device: 1, count: 1 };
    assert_eq!(clock.launch(absent, &busy(1)), Err(error));
    assert_eq!(clock.copy_peer(on(0), absent, 1), Err(error));
    assert_eq!(clock.synchronize_device(1), Err(error));
    assert_eq!(clock.now(), 0, "a refused call costs nothing");
    assert_eq!(error.to_string(), "there is no simulated device 1: the machine has 1");
}

#[test]
fn reset_forgets_all_but_the_devices() {
    let mut clock = machine(&["t4", "tiny"]);
    let worker = clock.spawn();
    clock.switch(worker).unwrap();
    clock.launch(on(4), &busy(1_000_000)).unwrap();
    clock.reset();
    assert_eq!((clock.now(), clock.device_count(), clock.thread()), (0, 2, HostThread::MAIN));
    assert_eq!(clock.launch(on(4), &busy(10)).unwrap().start, HOST);
}

#[test]
fn immense_work_saturates() {
    let mut clock = machine(&["t4", "t4"]);
    let there = StreamId { device: 1, stream: 0 };
    let copy = clock.copy(on(0), &h2d(1_000_000_000_000_000_000, false), false).unwrap();
    assert_eq!(clock.now(), copy.end);
    assert!((1.9e17..2.1e17).contains(&(copy.end as f64)), "{copy:?}");
    let immense = Work {
        class: KernelClass::Matmul,
        rate: Rate::Fp64,
        flops: u64::MAX,
        bytes: u64::MAX,
        form: WorkForm::Plain,
    };
    for _ in 0..1_000 {
        clock.launch(on(0), &immense).unwrap();
        clock.copy(on(0), &d2h(u64::MAX, false), false).unwrap();
        clock.copy_peer(on(0), there, u64::MAX).unwrap();
        clock.host_work(u64::MAX);
    }
    assert_eq!(clock.now(), u64::MAX);
    assert_eq!(clock.launch(on(1), &busy(1)).unwrap(), Span { start: u64::MAX, end: u64::MAX });
    assert_eq!(clock.synchronize_device(0), Ok(0));
}

#[derive(Clone, Debug)]
enum Step {
    Launch(StreamId, Work),
    Copy(StreamId, Transfer, bool),
    Peer(StreamId, StreamId, u64),
    Record(StreamId),
    Wait(StreamId, usize),
    SyncMark(usize),
    Sync(StreamId),
    Host(u64),
    Thread(bool),
}

fn stream() -> impl Strategy<Value = StreamId> {
    (0..2_usize, 0..3_u32).prop_map(|(device, stream)| StreamId { device, stream })
}

fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..1_u64 << 26, 1 => any::<u64>()]
}

fn step() -> impl Strategy<Value = Step> {
    let transfer = (0..3_usize, bytes(), any::<bool>()).prop_map(|(direction, bytes, pinned)| {
        let direction = [Direction::H2D, Direction::D2H, Direction::D2D][direction];
        Transfer { direction, bytes, pinned }
    });
    // The classes with the latency of every kernel.
    let work = (0..8_usize, 0..6_usize, bytes(), bytes()).prop_map(|(class, rate, flops, bytes)| Work {
        class: KernelClass::ALL[class],
        rate: Rate::ALL[rate],
        flops,
        bytes,
        form: WorkForm::Plain,
    });
    prop_oneof![
        4 => (stream(), work).prop_map(|(at, work)| Step::Launch(at, work)),
        4 => (stream(), transfer, any::<bool>()).prop_map(|(at, t, free)| Step::Copy(at, t, free)),
        1 => (stream(), stream(), bytes()).prop_map(|(from, to, bytes)| Step::Peer(from, to, bytes)),
        1 => stream().prop_map(Step::Record),
        1 => (stream(), any::<usize>()).prop_map(|(at, mark)| Step::Wait(at, mark)),
        1 => any::<usize>().prop_map(Step::SyncMark),
        1 => stream().prop_map(Step::Sync),
        1 => (0..100_000_u64).prop_map(Step::Host),
        1 => any::<bool>().prop_map(Step::Thread),
    ]
}

/// Something that ran: where, when, and which copy engine it took or that it is a kernel.
type Ran = (StreamId, u64, u64, Option<Direction>);

/// What kernels that fill a device have done there: when the first began, and how long all would take alone.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Done {
    since: Option<u64>,
    work: u64,
}

fn play(ids: [&str; 2], steps: &[Step]) -> (Vec<Ran>, Vec<u64>) {
    let mut clock = machine(&ids);
    let mut done = [Done::default(); 2];
    let (mut marks, mut ran, mut times) = (Vec::<Mark>::new(), Vec::new(), Vec::new());
    let worker = clock.spawn();
    for step in steps {
        let (before, thread) = (clock.now(), clock.thread());
        let pick = |marks: &[Mark], i: usize| marks.get(i.checked_rem(marks.len()).unwrap_or(0)).copied();
        match step.clone() {
            Step::Launch(at, work) => {
                let span = clock.launch(at, &work).unwrap();
                let cost = cost::kernel(clock.profile(at.device).unwrap(), &work);
                if cost.bound != Bound::Latency {
                    assert!(
                        span.end - span.start >= cost.body || span.end == u64::MAX,
                        "none is faster than alone"
                    );
                    let done = &mut done[at.device];
                    done.since = Some(done.since.unwrap_or(u64::MAX).min(span.start));
                    done.work = done.work.saturating_add(cost.body);
                }
                ran.push((at, span.start, span.end, None));
            }
            Step::Copy(at, transfer, non_blocking) => {
                let span = clock.copy(at, &transfer, non_blocking).unwrap();
                let engine = Some(transfer.direction).filter(|d| *d != Direction::D2D);
                assert_eq!(span.blocking, engine.is_some() && !(transfer.pinned && non_blocking));
                assert!(!span.blocking || clock.now() == span.end.max(before));
                ran.push((at, span.start, span.end, engine));
            }
            Step::Peer(from, to, bytes) => {
                let span = clock.copy_peer(from, to, bytes).unwrap();
                assert!(clock.stream_time(from).unwrap() >= span.end);
                assert!(from.device == to.device || clock.stream_time(to).unwrap() >= span.end);
            }
            Step::Record(at) => marks.push(clock.record(at).unwrap()),
            Step::Wait(at, mark) => {
                if let Some(mark) = pick(&marks, mark) {
                    clock.wait_event(at, mark).unwrap();
                    assert!(clock.stream_time(at).unwrap() >= mark.time);
                }
            }
            Step::SyncMark(mark) => {
                if let Some(mark) = pick(&marks, mark) {
                    clock.synchronize_mark(mark).unwrap();
                    assert!(clock.query(mark).unwrap());
                }
            }
            Step::Sync(at) => {
                clock.synchronize_stream(at).unwrap();
                assert!(clock.stream_time(at).unwrap() <= clock.now());
            }
            Step::Host(nanos) => clock.host_work(nanos),
            Step::Thread(other) => {
                clock.switch(if other { worker } else { HostThread::MAIN }).unwrap();
            }
        }
        assert!(clock.now() >= before || clock.thread() != thread, "a thread's time never goes back");
        times.push(clock.now());
        for (device, done) in done.iter().enumerate() {
            let idle = clock.device(device).unwrap().idle();
            assert!(
                done.since.is_none_or(|since| idle >= since.saturating_add(done.work)),
                "{done:?} {idle}"
            );
        }
    }
    (ran, times)
}

fn overlap(a: &Ran, b: &Ran) -> bool {
    a.1 < b.2 && b.1 < a.2
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_script_keeps_the_rules_and_repeats(steps in prop::collection::vec(step(), 1..80)) {
        let ids = ["t4", "tiny"];
        let (ran, times) = play(ids, &steps);
        for (i, later) in ran.iter().enumerate() {
            prop_assert!(later.1 <= later.2);
            for earlier in &ran[..i] {
                let one_stream = earlier.0 == later.0;
                prop_assert!(!one_stream || earlier.2 <= later.1, "{earlier:?} {later:?}");
                // The second device has one engine, so its directions exclude each other as well.
                let one_engine = earlier.0.device == later.0.device
                    && earlier.3.is_some() && later.3.is_some()
                    && (earlier.3 == later.3 || later.0.device == 1);
                prop_assert!(!one_engine || !overlap(earlier, later), "{earlier:?} {later:?}");
            }
        }
        prop_assert_eq!(play(ids, &steps), (ran, times));
    }
}

use proptest::prelude::*;

use super::*;
use crate::base::DType;
use crate::base::event::{HIDDEN_CELLS, Span};
use crate::lab::model::history::records::TRANSFERS_KEPT;
use crate::session::digest::Digester;
use crate::session::protocol::{SegmentInfo, TensorInfo};

const GPU: Device = Device::Cuda(0);

fn alloc(seq: u64, address: u64, allocated: u64) -> Event {
    Event {
        seq,
        source: Source::at(1, 2),
        body: Body::Alloc {
            device: GPU,
            address,
            bytes: 512,
            requested: 400,
            dtype: DType::Float32,
            shape: vec![100].into(),
            op: Name::new("rand"),
            allocated,
            reserved: 2 << 20,
        },
    }
}

fn free(seq: u64, address: u64, allocated: u64) -> Event {
    let body = Body::Free { device: GPU, address, bytes: 512, allocated, reserved: 2 << 20 };
    Event { seq, source: Source::default(), body }
}

fn variable(name: &str, address: u64) -> Variable {
    Variable {
        name: name.into(),
        type_name: "Tensor".into(),
        summary: String::new(),
        tensor: Some(TensorInfo {
            shape: vec![100],
            dtype: DType::Float32,
            device: GPU,
            bytes: 400,
            address,
            requires_grad: false,
            grad: None,
            is_view: false,
        }),
    }
}

fn names(history: &History) -> Vec<Option<String>> {
    history.live(0, 10).into_iter().map(|live| live.name.clone()).collect()
}

#[test]
fn what_a_lesson_takes_by_itself_is_in_the_curve_and_no_peak_of_the_learners() {
    let mut history = History::default();
    history.fold(alloc(0, 1, 512));
    let hidden = Event { source: Source::at(HIDDEN_CELLS + 1, 1), ..alloc(1, 2, 4096) };
    history.fold(hidden);
    let curve = history.curve(GPU).unwrap();
    assert_eq!(curve.most(), 2 << 20);
    assert_eq!(curve.columns(1).last().unwrap().allocated, 4096);
    assert_eq!(history.devices().find(|tally| tally.device == GPU).unwrap().peak, 512);
}

#[test]
fn memory_follows_the_stream_and_the_peak_stays() {
    let mut history = History::default();
    history.fold(alloc(0, 1, 512));
    history.fold(alloc(1, 2, 1024));
    history.fold(free(2, 1, 512));
    let tally = history.devices().next().unwrap().clone();
    assert_eq!((tally.allocated, tally.peak, tally.reserved), (512, 1024, 2 << 20));
    history.fold(Event { seq: 3, source: Source::default(), body: Body::PeakReset { device: GPU } });
    assert_eq!(history.devices().next().unwrap().peak, 512);
    let tally = history.devices().next().unwrap();
    assert_eq!((tally.tensors, tally.tensor_bytes), (1, 400));
}

#[test]
fn a_name_does_not_outlive_its_tensor() {
    let mut history = History::default();
    history.fold(alloc(0, 1, 512));
    // The session names the newest first, and the last value among them.
    history
        .set_variables(&[variable("same", 1), variable("_", 1), variable("also", 1), variable("z", 1)], &[]);
    assert_eq!(names(&history), [Some("z, also, same, _".to_owned())]);
    history.fold(free(1, 1, 0));
    history.fold(alloc(2, 1, 512));
    assert_eq!(names(&history), [None]);
}

#[test]
fn missed_frees_are_found_and_missed_tensors_appear() {
    let mut history = History::default();
    history.fold(alloc(0, 1, 512));
    history.fold(alloc(1, 513, 1024));
    history.missed = 5;
    let segments = vec![SegmentInfo {
        address: 1,
        bytes: 2 << 20,
        blocks: vec![(0, 512, false), (512, 512, true), (1024, 512, true)],
    }];
    history.set_devices(&[DeviceInfo {
        device: GPU,
        name: "T4".into(),
        simulated: true,
        clock: Clock::Modelled,
        total: 1 << 30,
        allocated: 1024,
        reserved: 2 << 20,
        peak: 2048,
        free: None,
        segments,
    }]);
    history.set_variables(&[variable("kept", 513), variable("new", 1025)], &[]);
    let mut found = names(&history);
    found.sort();
    assert_eq!(found, [Some("kept".to_owned()), Some("new".to_owned())]);
}

#[test]
fn the_log_is_a_ring_that_counts_what_it_dropped() {
    let mut history = History::default();
    for seq in 0..TRANSFERS_KEPT as u64 + 3 {
        history.fold(Event {
            seq,
            source: Source::default(),
            body: Body::Copy {
                from: Device::Cpu,
                to: GPU,
                bytes: seq,
                pinned: false,
                blocking: true,
                stream: 0,
                span: Span { start: 0, nanos: 1, clock: Clock::Modelled },
            },
        });
    }
    assert_eq!((history.transfers().len(), history.transfers().dropped), (TRANSFERS_KEPT, 3));
    assert_eq!(history.transfers().newest().next().map(|t| t.bytes), Some(TRANSFERS_KEPT as u64 + 2));
    let all = history.directions().next().unwrap();
    assert_eq!(all.2.count, TRANSFERS_KEPT as u64 + 3);
    assert!(history.all_timed_by(Clock::Modelled) && !history.all_timed_by(Clock::Measured));
}

#[test]
fn only_the_largest_are_sorted_out() {
    let mut history = History::default();
    for i in 0..1000u64 {
        history.fold(alloc(i, i + 1, 512));
    }
    history.set_variables(&[variable("x", 900)], &[]);
    let first = history.live(0, 2);
    assert_eq!(first.len(), 2);
    assert_eq!(first[0].name.as_deref(), Some("x"));
    assert_eq!(first[1].address, 1);
}

/// What can happen to two devices with a few places for tensors.
#[derive(Clone, Debug)]
enum Step {
    Toggle { gpu: bool, place: u64, hidden: bool },
    Copy { back: bool, hidden: bool },
    Launch { gpu: bool, hidden: bool },
    Sync { implicit: bool, line: u32 },
    Refused,
    PeakReset,
    Segment { place: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let hidden = || prop::bool::weighted(0.2);
    prop_oneof![
        6 => (any::<bool>(), 1..6u64, hidden()).prop_map(|(gpu, place, hidden)| Step::Toggle { gpu, place, hidden }),
        2 => (any::<bool>(), hidden()).prop_map(|(back, hidden)| Step::Copy { back, hidden }),
        2 => (any::<bool>(), hidden()).prop_map(|(gpu, hidden)| Step::Launch { gpu, hidden }),
        2 => (any::<bool>(), 1..4u32).prop_map(|(implicit, line)| Step::Sync { implicit, line }),
        1 => Just(Step::Refused),
        1 => Just(Step::PeakReset),
        1 => (1..4u64).prop_map(|place| Step::Segment { place }),
    ]
}

/// The events of some steps, as a machine would tell them.
fn told(steps: &[Step]) -> Vec<Event> {
    let (mut held, mut mapped) = (HashSet::new(), HashSet::new());
    let span = |seq: u64| Span { start: seq * 10, nanos: 5, clock: Clock::Modelled };
    // The tensors of the GPU lie in one segment.
    let body = Body::Segment { device: GPU, address: 0, bytes: 4096, mapped: true, reserved: 4096 };
    let first = Event { seq: 0, source: Source::default(), body };
    let event = |(seq, step): (usize, &Step)| {
        let seq = seq as u64 + 1;
        let mut source = Source::at(1, seq as u32 % 7);
        let mut hide = |hidden: &bool| {
            if *hidden {
                source.cell = HIDDEN_CELLS + 1
            }
        };
        let body = match step {
            Step::Toggle { gpu, place, hidden } => {
                hide(hidden);
                let device = if *gpu { GPU } else { Device::Cpu };
                let (key, address) = ((device, *place), 512 * place);
                let alloc = held.insert(key) || !held.remove(&key);
                let allocated = held.iter().filter(|(d, _)| *d == device).count() as u64 * 512;
                let (bytes, reserved) = (512, allocated.next_multiple_of(2048));
                let (dtype, shape, op) = (DType::Float32, vec![100].into(), Name::new("rand"));
                if alloc {
                    Body::Alloc {
                        device,
                        address,
                        bytes,
                        requested: 400,
                        dtype,
                        shape,
                        op,
                        allocated,
                        reserved,
                    }
                } else {
                    Body::Free { device, address, bytes, allocated, reserved }
                }
            }
            Step::Copy { back, hidden } => {
                hide(hidden);
                let (from, to) = if *back { (GPU, Device::Cpu) } else { (Device::Cpu, GPU) };
                Body::Copy { from, to, bytes: seq, pinned: false, blocking: true, stream: 0, span: span(seq) }
            }
            Step::Launch { gpu, hidden } => {
                hide(hidden);
                let device = if *gpu { GPU } else { Device::Cpu };
                let (op, kernel, dtype) = (Name::new("add"), Name::new("map"), DType::Float32);
                Body::Launch { device, stream: 0, op, kernel, dtype, bytes: 1, flops: 1, span: span(seq) }
            }
            Step::Sync { implicit, line } => {
                source.line = *line;
                Body::Sync { device: GPU, implicit: *implicit, cause: Name::new("item"), span: span(seq) }
            }
            Step::Refused => Body::OutOfMemory { device: GPU, requested: seq, message: String::new() },
            Step::PeakReset => Body::PeakReset { device: GPU },
            Step::Segment { place } => {
                let map = mapped.insert(*place) || !mapped.remove(place);
                let reserved = 2048 * mapped.len() as u64;
                Body::Segment { device: GPU, address: 1 << (20 + place), bytes: 2048, mapped: map, reserved }
            }
        };
        Event { seq, source, body }
    };
    std::iter::once(first).chain(steps.iter().enumerate().map(event)).collect()
}

/// All that the panel shows as a figure.
fn figures(history: &History) -> String {
    let live: Vec<_> =
        history.live(0, 100).into_iter().map(|l| (l.device, l.address, l.bytes, l.seq)).collect();
    let tallies: Vec<_> = history.devices().collect();
    let ways: Vec<_> = history.directions().collect();
    let lanes: u64 = history.timeline().shown() + history.timeline().dropped();
    let map = history.segments(GPU);
    format!("{tallies:#?} {ways:?} {live:?} {} {lanes} {} {map:?}", history.untracked, history.events)
}

proptest! {
    #[test]
    fn sums_in_place_of_events_leave_every_figure_as_it_is(
        steps in prop::collection::vec(step(), 0..120), cuts in prop::collection::vec((1..40usize, any::<bool>()), 1..12),
    ) {
        // As they come from a session.
        let sent = serde_json::to_string(&told(&steps)).unwrap();
        let events: Vec<Event> = serde_json::from_str(&sent).unwrap();
        let (mut whole, mut parts) = (History::default(), History::default());
        whole.take(events.clone());
        let mut rest = events.as_slice();
        for (length, known) in cuts.into_iter().cycle() {
            let (part, after) = rest.split_at(length.min(rest.len()));
            rest = after;
            if known {
                parts.take(part.to_vec());
            } else {
                let mut digester = Digester::default();
                part.iter().for_each(|event| digester.take(event));
                digester.finish().into_iter().for_each(|digest| {
                    let sent = serde_json::to_string(&digest).unwrap();
                    parts.take_sums(serde_json::from_str(&sent).unwrap());
                });
            }
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(figures(&whole), figures(&parts));
    }
}

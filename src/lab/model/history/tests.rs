use super::*;
use crate::base::DType;
use crate::base::event::Span;
use crate::lab::model::history::records::TRANSFERS_KEPT;
use crate::session::protocol::{SegmentInfo, TensorInfo};

const GPU: Device = Device::Cuda(0);

fn alloc(seq: u64, address: u64, allocated: u64) -> Event {
    Event {
        seq,
        source: Source { cell: 1, line: 2 },
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
    history.set_variables(&[variable("x", 1), variable("y", 1)], &[]);
    assert_eq!(names(&history), [Some("x, y".to_owned())]);
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

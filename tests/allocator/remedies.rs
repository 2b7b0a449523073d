//! What an out-of-memory error advises.

use tensorlab::device::pool::{Action, Block, LiveTensor, OutOfMemory, Pool, Simulated, remedy};

use super::{GIB, MIB};

fn pool(total: u64) -> Pool<Simulated> {
    Pool::new(Simulated::new(total, 0), 0)
}

fn tensor(name: &str, block: Block, line: u32) -> LiveTensor {
    LiveTensor {
        name: (!name.is_empty()).then(|| name.to_owned()),
        address: block.address,
        bytes: block.requested,
        shape: format!("[{}]", block.requested / 4),
        dtype: "float32".into(),
        made_by: "randn".into(),
        cell: None,
        line: Some(line),
        held_by: None,
        needed: false,
    }
}

fn names(action: &Action) -> Vec<Option<&str>> {
    match action {
        Action::Delete { tensors, .. } => tensors.iter().map(|tensor| tensor.name.as_deref()).collect(),
        other => panic!("{other:?} deletes nothing"),
    }
}

/// Tensors of these names and MiB on a full device, and the error of one more request.
fn full(held: &[(&str, u64)], request: u64) -> (OutOfMemory, Vec<LiveTensor>) {
    let total = held.iter().map(|(_, size)| size * MIB).sum();
    let mut pool = pool(total);
    let live =
        (1..).zip(held).map(|(line, (name, size))| tensor(name, pool.allocate(size * MIB, 0).unwrap(), line));
    let live: Vec<LiveTensor> = live.collect();
    let error = pool.allocate(request * MIB, 0).unwrap_err();
    (*error, live)
}

#[test]
fn the_smallest_tensor_that_is_enough_is_to_be_deleted() {
    let (error, live) = full(&[("a", 100), ("b", 40), ("c", 30), ("d", 20)], 28);
    let remedy = remedy(&error, &live);
    assert_eq!(names(remedy.first().unwrap()), [Some("c")]);
    let largest: Vec<_> = remedy.largest.iter().map(|tensor| tensor.name.as_deref().unwrap()).collect();
    assert_eq!(largest, ["a", "b", "c", "d"]);
}

#[test]
fn several_are_named_when_none_is_enough_alone() {
    let (error, live) = full(&[("a", 40), ("b", 30), ("c", 28), ("d", 12)], 50);
    assert_eq!(names(remedy(&error, &live).first().unwrap()), [Some("a"), Some("b")]);
    let (error, live) = full(&[("a", 40), ("b", 30), ("c", 30), ("d", 12)], 100);
    assert_eq!(names(remedy(&error, &live).first().unwrap()), [Some("a"), Some("b"), Some("c")]);
}

#[test]
fn a_list_of_more_than_five_comes_after_a_smaller_request() {
    let held = [("a", 12), ("b", 12), ("c", 12), ("d", 12), ("e", 12), ("f", 12), ("g", 12)];
    let (error, live) = full(&held, 70);
    let explained = remedy(&error, &live);
    assert_eq!(names(&explained.actions[0]).len(), 6, "nothing smaller fits on a full device");
    let text = explained.to_string();
    assert!(text.contains("delete a, b, c, d, e, f (72.00 MiB)"), "{text}");
}

#[test]
fn what_other_streams_gave_back_is_to_be_asked_for_again() {
    let mut pool = pool(20 * MIB);
    let first = pool.allocate(9 * MIB, 0).unwrap();
    pool.allocate(9 * MIB, 0).unwrap();
    assert!(pool.record_stream(first.address, 1) && pool.free(first.address));
    let error = pool.allocate(8 * MIB, 0).unwrap_err();
    assert_eq!(remedy(&error, &[]).actions, [Action::TryAgain]);
    assert!(pool.allocate(8 * MIB, 0).is_ok());
}

#[test]
fn a_tensor_that_a_variable_holds_comes_before_one_that_none_holds() {
    let (error, live) = full(&[("", 30), ("kept", 40), ("small", 10)], 25);
    let explained = remedy(&error, &live);
    assert_eq!(names(explained.first().unwrap()), [Some("kept")]);

    let (error, live) = full(&[("", 30), ("small", 10)], 25);
    let explained = remedy(&error, &live);
    assert_eq!(names(explained.actions.last().unwrap()), [None]);
    let text = explained.to_string();
    let origin = "free one tensor (30.00 MiB) that randn made on line 1; no variable is known whose deletion alone frees that";
    assert!(text.contains(origin), "{text}");
}

#[test]
fn tensors_that_share_a_block_go_together() {
    let mut pool = pool(64 * MIB);
    let base = pool.allocate(40 * MIB, 0).unwrap();
    let other = pool.allocate(20 * MIB, 0).unwrap();
    let view = LiveTensor { address: base.address + 4096, ..tensor("view", base, 2) };
    let live = [tensor("base", base, 1), view.clone(), tensor("other", other, 3)];
    let error = pool.allocate(30 * MIB, 0).unwrap_err();
    let explained = remedy(&error, &live);
    assert_eq!(names(explained.first().unwrap()), [Some("base"), Some("view")]);
    assert_eq!(explained.held, 2, "a view is not a second block");

    let hidden = [tensor("base", base, 1), LiveTensor { name: None, ..view }, tensor("other", other, 3)];
    let explained = remedy(&error, &hidden);
    let named = |action: &Action| matches!(action, Action::Delete { names, .. } if !names.is_empty());
    assert!(!explained.actions.iter().any(named), "deleting base alone frees nothing");
}

#[test]
fn a_small_tensor_that_pins_a_segment_is_found() {
    let mut pool = pool(40 * MIB);
    let pin = pool.allocate(2 * MIB, 0).unwrap();
    let mid = pool.allocate(9 * MIB, 0).unwrap();
    let big = pool.allocate(20 * MIB, 0).unwrap();
    assert!(pool.free(mid.address));
    let live = [tensor("big", big, 1), tensor("pin", pin, 2)];
    let error = pool.allocate(19 * MIB, 0).unwrap_err();
    assert_eq!((error.fragmentation, error.largest_cached), (18 * MIB, 18 * MIB));
    let explained = remedy(&error, &live);
    assert_eq!(names(explained.first().unwrap()), [Some("pin")]);
    let text = explained.to_string();
    assert!(text.contains("18.00 MiB free in split blocks, at most 18.00 MiB in one piece"), "{text}");
}

#[test]
fn the_largest_size_and_batch_that_fit_are_said() {
    let mut pool = pool(100 * MIB);
    pool.allocate(52 * MIB, 0).unwrap();
    let error = pool.allocate(64 * MIB, 0).unwrap_err();
    assert_eq!(error.largest_fitting(), Some(48 * MIB));
    assert_eq!(error.largest_batch(128), Some(96));
    assert_eq!(error.largest_batch(1), None);
    assert_eq!(error.largest_batch(0), None);
    let explained = remedy(&error, &[]);
    assert_eq!(explained.first(), Some(&Action::Smaller { bytes: 48 * MIB, least: None, or: None }));
    assert!(
        explained.to_string().contains("request at most 48.00 MiB at once, 75% of the 64.00 MiB requested")
    );
}

#[test]
fn between_1_and_10_mib_a_segment_of_20_is_needed() {
    let mut pool = pool(12 * MIB);
    let error = pool.allocate(5 * MIB, 0).unwrap_err();
    assert_eq!(error.largest_fitting(), Some(MIB));
    assert_eq!(error.largest_batch(50), Some(10));
    assert!(error.would_fit(12 * MIB, &[]), "a larger request is given a segment to measure");
    assert!(pool.allocate(12 * MIB, 0).is_ok());
}

#[test]
fn where_less_takes_a_larger_segment_the_range_is_said() {
    let mut pool = pool(12 * MIB);
    let error = pool.allocate(14 * MIB, 0).unwrap_err();
    let smaller = Action::Smaller { bytes: 12 * MIB, least: Some(10 * MIB), or: Some(MIB) };
    let explained = remedy(&error, &[]);
    assert_eq!(explained.first(), Some(&smaller));
    let text = explained.to_string();
    assert!(text.contains("request 10.00 MiB to 12.00 MiB at once, 85% of the 14.00 MiB"), "{text}");
    assert!(text.contains("or at most 1.00 MiB"), "{text}");
    assert!(pool.allocate(9 * MIB, 0).is_err() && pool.allocate(10 * MIB, 0).is_ok());
}

#[test]
fn a_context_is_no_other_processs_memory() {
    let mut pool = Pool::new(Simulated::new(GIB, 0).with_context(8 * MIB), 0);
    let error = pool.allocate(GIB - 4 * MIB, 0).unwrap_err();
    assert_eq!(error.used_by_others(), 0);
    assert!(!remedy(&error, &[]).to_string().contains("other processes"));
}

#[test]
fn a_memory_fraction_is_to_be_raised_where_that_is_enough() {
    let mut pool = pool(GIB);
    pool.set_fraction(0.25).unwrap();
    let held = pool.allocate(200 * MIB, 0).unwrap();
    let error = pool.allocate(100 * MIB, 0).unwrap_err();
    let explained = remedy(&error, &[]);
    assert_eq!(explained.first(), Some(&Action::RaiseLimit { bytes: 300 * MIB, fraction: 300.0 / 1024.0 }));
    assert!(explained.to_string().contains("raise the memory fraction to at least 0.2930"));
    let explained = remedy(&error, &[tensor("held", held, 4)]);
    assert_eq!(names(explained.first().unwrap()), [Some("held")]);
}

#[test]
fn what_others_hold_and_what_no_device_has_are_told_apart() {
    let mut shared = Pool::new(Simulated::new(GIB, 900 * MIB), 0);
    let error = shared.allocate(300 * MIB, 0).unwrap_err();
    assert!(remedy(&error, &[]).actions.contains(&Action::FreeOthers { bytes: 900 * MIB }));

    let error = pool(GIB).allocate(3 * GIB, 0).unwrap_err();
    let explained = remedy(&error, &[]);
    assert_eq!(
        explained.actions,
        [Action::Smaller { bytes: GIB, least: None, or: None }, Action::LargerDevice { bytes: 3 * GIB }]
    );

    let mut half = pool(GIB);
    half.set_fraction(0.5).unwrap();
    let error = half.allocate(3 * GIB, 0).unwrap_err();
    assert_eq!(remedy(&error, &[]).actions.last(), Some(&Action::LargerDevice { bytes: 6 * GIB }));
}

#[test]
fn the_explanation_reads_as_a_whole() {
    let mut pool = pool(96 * MIB);
    let held = [("hidden", 33), ("x", 20), ("w1", 12), ("w2", 3), ("b", 2), ("t", 2)];
    let live: Vec<LiveTensor> = (1..)
        .zip(held)
        .map(|(line, (name, size))| tensor(name, pool.allocate(size * MIB, 0).unwrap(), line))
        .collect();
    let error = pool.allocate(26 * MIB, 0).unwrap_err();
    let expected = "\
Requested of cuda:0: 26.00 MiB.
Largest live tensors (5 of 6):
     33.00 MiB  hidden  float32 [8650752], made by randn, line 1
     20.00 MiB  x       float32 [5242880], made by randn, line 2
     12.00 MiB  w1      float32 [3145728], made by randn, line 3
      3.00 MiB  w2      float32 [786432], made by randn, line 4
      2.00 MiB  b       float32 [524288], made by randn, line 5
Fragmentation: 13.00 MiB free in split blocks, at most 13.00 MiB in one piece for this request of 26.00 MiB.
The setting that the message names is for PyTorch: here no segment expands, whatever PYTORCH_CUDA_ALLOC_CONF says.
Would have let it through: delete w2, b, t (7.00 MiB).
                       or: request at most 13.00 MiB at once, 50% of the 26.00 MiB requested: a smaller batch, where the request grows with it.";
    assert_eq!(remedy(&error, &live).to_string(), expected);
}

/// What is small and stands in the way is cheaper than the one large thing that would do.
#[test]
fn the_least_memory_that_makes_room_is_deleted() {
    // Segments of 20 MiB in pieces of 5, of which every other one is free, beside a large one.
    let mut pool = pool(256 * MIB);
    let mut live = vec![tensor("large", pool.allocate(60 * MIB, 0).unwrap(), 1)];
    let pieces: Vec<_> = (0..16).map(|_| pool.allocate(5 * MIB, 0).unwrap()).collect();
    let names: Vec<String> = (0..16).map(|at| format!("p{at}")).collect();
    for (at, piece) in pieces.into_iter().enumerate() {
        match at % 2 {
            0 => assert!(pool.free(piece.address)),
            _ => live.push(tensor(names[at].clone().leak(), piece, 2)),
        }
    }
    let error = pool.allocate(130 * MIB, 0).unwrap_err();
    let Some(Action::Delete { names, .. }) = remedy(&error, &live).actions.into_iter().next() else {
        panic!()
    };
    assert_eq!(names, ["p1", "p3"]);
    // Within one segment, two small ones between what is free.
    let mut pool = self::pool(126 * MIB);
    let whole = pool.allocate(64 * MIB, 0).unwrap();
    pool.free(whole.address);
    let [first, a, second, b, third, large] =
        [25, 2, 10, 2, 25, 60].map(|size| pool.allocate(size * MIB, 0).unwrap());
    [first, second, third].iter().for_each(|block| assert!(pool.free(block.address)));
    let live = [tensor("a", a, 1), tensor("b", b, 2), tensor("large", large, 3)];
    let error = pool.allocate(60 * MIB, 0).unwrap_err();
    let Some(Action::Delete { names, .. }) = remedy(&error, &live).actions.into_iter().next() else {
        panic!()
    };
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn only_tensors_of_the_pool_are_listed() {
    let (error, mut live) = full(&[("a", 30)], 20);
    live.push(LiveTensor { address: 4096, ..live[0].clone() });
    live.push(LiveTensor { address: u64::MAX, ..live[0].clone() });
    assert_eq!(remedy(&error, &live).largest.len(), 1);
}

//! Streams, events and the clock that devices share.

use super::*;

/// The spans of the launches and copies among what happened, in the order of the calls.
fn spans(recorder: &Recorder) -> Vec<Span> {
    let span = |body| match body {
        Body::Launch { span, .. } | Body::Copy { span, .. } => Some(span),
        _ => None,
    };
    recorder.take().into_iter().filter_map(span).collect()
}

#[test]
fn a_launch_is_timed_by_its_bytes() {
    let machine = machine("sim:t4");
    let gpu = &machine.gpus()[0];
    let profile = Profile::builtin("t4").unwrap();
    let big = bytes_on(gpu, 64 * MIB);
    let recorder = Recorder::on(&machine);
    let start = gpu.backend.now();
    big.fill(Scalar::Int(1), "fill_").unwrap();
    let work = nanos(64 * MIB, profile.device.memory_bandwidth * profile.efficiency.copy);
    let expected = Body::Launch {
        device: Device::Cuda(0),
        stream: 0,
        op: "fill_".into(),
        kernel: "copy".into(),
        dtype: DType::UInt8,
        bytes: 64 * MIB,
        flops: 0,
        span: modelled(start + host().profile.driver.launch, profile.launch.latency + work),
    };
    assert_eq!(recorder.take(), [expected]);
    assert_eq!(gpu.backend.now(), start + host().profile.driver.launch, "the host runs ahead");
    gpu.synchronize(None, "synchronize", false).unwrap();
    let [Body::Sync { implicit: false, span, .. }] = recorder.take()[..] else { panic!("one wait") };
    assert_eq!(span.end(), gpu.backend.now());
    assert_eq!(gpu.backend.now(), start + host().profile.driver.launch + profile.launch.latency + work);
}

/// A pinned `non_blocking` copy runs beside a kernel of another stream; on the same stream it waits.
#[test]
fn a_pinned_copy_overlaps_with_another_streams_kernel() {
    let machine = machine("sim:t4");
    let _entered = machine.enter();
    let gpu = &machine.gpus()[0];
    let pinned = host_bytes(MIB).pin_memory().unwrap();
    let (big, small) = (bytes_on(gpu, 64 * MIB), bytes_on(gpu, MIB));
    let stream = gpu.backend.create_stream().unwrap();
    let recorder = Recorder::on(&machine);
    let pair = |copy_stream: u32, non_blocking: bool| {
        gpu.synchronize(None, "synchronize", false).unwrap();
        recorder.take();
        big.fill(Scalar::Int(1), "fill_").unwrap();
        gpu.set_stream(copy_stream);
        small.copy_values(&pinned, non_blocking).unwrap();
        gpu.set_stream(0);
        let now = gpu.backend.now();
        let [kernel, copy] = spans(&recorder)[..] else { panic!("a launch and a copy") };
        (kernel, copy, now)
    };
    let (kernel, copy, now) = pair(stream, true);
    assert!(kernel.start < copy.start && copy.end() < kernel.end(), "{copy:?} lies within {kernel:?}");
    assert!(now <= copy.start, "the host waits for neither");
    let (kernel, copy, now) = pair(0, true);
    assert_eq!(copy.start, kernel.end());
    assert!(now < kernel.end());
    let (kernel, copy, now) = pair(stream, false);
    assert!(copy.end() < kernel.end() && now == copy.end(), "the host waits for the copy alone");
}

#[test]
fn devices_work_side_by_side_on_one_clock() {
    let machine = machine("sim:t4x2");
    let [first, second] = machine.gpus() else { panic!("two devices") };
    let (a, b) = (bytes_on(first, 64 * MIB), bytes_on(second, 64 * MIB));
    let recorder = Recorder::on(&machine);
    a.fill(Scalar::Int(1), "fill_").unwrap();
    b.fill(Scalar::Int(1), "fill_").unwrap();
    let [one, two] = spans(&recorder)[..] else { panic!("two launches") };
    assert_eq!((one.nanos, two.start), (two.nanos, one.start + 5_000), "a launch costs the host 5 us");
    assert!(two.start < one.end());
    first.synchronize(None, "synchronize", false).unwrap();
    assert_eq!(second.backend.now(), first.backend.now());
}

#[test]
fn events_measure_what_lies_between_them() {
    let machine = machine("sim:t4");
    let gpu = &machine.gpus()[0];
    let big = bytes_on(gpu, 64 * MIB);
    let start = gpu.backend.record(0).unwrap();
    let recorder = Recorder::on(&machine);
    big.fill(Scalar::Int(1), "fill_").unwrap();
    let end = gpu.backend.record(0).unwrap();
    let [kernel] = spans(&recorder)[..] else { panic!("one launch") };
    assert!(!gpu.backend.query(end).unwrap());
    let early = gpu.backend.elapsed(start, end).unwrap_err();
    assert_eq!(early.message(), "Both events must be completed before calculating elapsed time.");
    gpu.synchronize_mark(end, "event").unwrap();
    assert!(gpu.backend.query(end).unwrap());
    assert_eq!(gpu.backend.now(), kernel.end() + 1_000, "the query cost a call");
    let elapsed = gpu.backend.elapsed(start, end).unwrap();
    assert_eq!(elapsed, (kernel.end() - start.value) as f64 / 1e6);
    assert_eq!(gpu.backend.elapsed(end, start).unwrap(), -elapsed);
}

#[test]
fn a_stream_waits_for_an_event_of_another_device() {
    let machine = machine("sim:t4x2");
    let [first, second] = machine.gpus() else { panic!("two devices") };
    let (a, b) = (bytes_on(first, 64 * MIB), bytes_on(second, MIB));
    let recorder = Recorder::on(&machine);
    a.fill(Scalar::Int(1), "fill_").unwrap();
    let mark = first.backend.record(0).unwrap();
    second.backend.wait(0, mark).unwrap();
    b.fill(Scalar::Int(1), "fill_").unwrap();
    let [long, short] = spans(&recorder)[..] else { panic!("two launches") };
    assert_eq!(short.start, long.end());
    second.synchronize(None, "synchronize", false).unwrap();
    let other = second.backend.record(0).unwrap();
    assert_eq!(
        first.backend.elapsed(mark, other).unwrap_err().message(),
        "CUDA error: invalid resource handle"
    );
}

#[test]
fn streams_come_round_again_as_pytorchs_do() {
    let machine = machine("sim:t4");
    let backend = &machine.gpus()[0].backend;
    let streams: Vec<u32> = (0..33).map(|_| backend.create_stream().unwrap()).collect();
    assert!(streams[..32].iter().all(|stream| *stream != 0));
    assert_eq!(streams[32], streams[0]);
    let mut distinct = streams.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 32);
}

/// Nobody listening changes nothing about the time.
#[test]
fn time_passes_whether_or_not_anyone_looks() {
    let run = |listen: bool| {
        let machine = machine("sim:t4");
        let recorder = listen.then(|| Recorder::on(&machine));
        let tensor = bytes_on(&machine.gpus()[0], MIB);
        (0..10).for_each(|i| tensor.fill(Scalar::Int(i), "fill_").unwrap());
        machine.gpus()[0].synchronize(None, "synchronize", false).unwrap();
        drop(recorder);
        machine.gpus()[0].backend.now()
    };
    assert_eq!(run(false), run(true));
}

//! The rules of the virtual clock that other files here do not speak of: engines, queues, peers, kernels' bounds.

use super::*;

/// When the copies and launches among what happened ran, in the order of the calls.
fn spans(recorder: &Recorder) -> Vec<Span> {
    let span = |body| match body {
        Body::Launch { span, .. } | Body::Copy { span, .. } => Some(span),
        _ => None,
    };
    recorder.take().into_iter().filter_map(span).collect()
}

/// Copies both ways on two streams, from and to pinned memory.
fn both_ways(devices: &str) -> (Span, Span) {
    let machine = machine(devices);
    let _entered = machine.enter();
    let gpu = &machine.gpus()[0];
    let (from, to) = (host_bytes(8 * MIB).pin_memory().unwrap(), host_bytes(8 * MIB).pin_memory().unwrap());
    let (a, b) = (bytes_on(gpu, 8 * MIB), bytes_on(gpu, 8 * MIB));
    let (up, down) = (gpu.backend.create_stream().unwrap(), gpu.backend.create_stream().unwrap());
    let recorder = Recorder::on(&machine);
    gpu.set_stream(up);
    a.copy_values(&from, true).unwrap();
    gpu.set_stream(down);
    to.copy_values(&b, true).unwrap();
    let [first, second] = spans(&recorder)[..] else { panic!("two copies") };
    (first, second)
}

/// A T4 has an engine for each direction, the tiny GPU one for both.
#[test]
fn copies_overlap_where_there_is_an_engine_for_each() {
    let (up, down) = both_ways("sim:t4");
    assert!(down.start < up.end(), "{up:?} {down:?}");
    let (up, down) = both_ways("sim:tiny");
    assert_eq!(down.start, up.end());
}

#[test]
fn two_copies_of_one_direction_share_an_engine() {
    let machine = machine("sim:t4");
    let _entered = machine.enter();
    let gpu = &machine.gpus()[0];
    let host = host_bytes(8 * MIB).pin_memory().unwrap();
    let (a, b) = (bytes_on(gpu, 8 * MIB), bytes_on(gpu, 8 * MIB));
    let recorder = Recorder::on(&machine);
    for to in [&a, &b] {
        gpu.set_stream(gpu.backend.create_stream().unwrap());
        to.copy_values(&host, true).unwrap();
    }
    let [first, second] = spans(&recorder)[..] else { panic!("two copies") };
    assert_eq!(second.start, first.end());
}

/// A pageable copy first waits for its stream's work, and holds the host until it is done; work of other streams goes
/// on beside it.
#[test]
fn a_pageable_copy_waits_for_its_own_stream_alone() {
    let machine = machine("sim:t4");
    let _entered = machine.enter();
    let gpu = &machine.gpus()[0];
    let (big, small) = (bytes_on(gpu, 64 * MIB), bytes_on(gpu, MIB));
    let host = host_bytes(MIB);
    let other = gpu.backend.create_stream().unwrap();
    let recorder = Recorder::on(&machine);
    let copied = |stream: u32| {
        gpu.synchronize(None, "synchronize", false).unwrap();
        recorder.take();
        big.fill(Scalar::Int(1), "fill_").unwrap();
        gpu.set_stream(stream);
        small.copy_values(&host, true).unwrap();
        gpu.set_stream(0);
        let [kernel, copy] = spans(&recorder)[..] else { panic!("a launch and a copy") };
        (kernel, copy, gpu.backend.now())
    };
    let (kernel, copy, now) = copied(0);
    assert_eq!((copy.start, now), (kernel.end(), copy.end()));
    let (kernel, copy, now) = copied(other);
    assert!(copy.end() < kernel.end() && now == copy.end(), "{kernel:?} {copy:?} {now}");
}

/// Peers copy over their own link; without one the copy takes the host links' engines at both ends.
#[test]
fn a_peer_copy_takes_the_peer_links_time() {
    for (devices, id) in [("sim:h100x2", "h100"), ("sim:tinyx2", "tiny")] {
        let machine = machine(devices);
        let _entered = machine.enter();
        let [first, second] = machine.gpus() else { panic!("two devices") };
        let peer = Profile::builtin(id).unwrap().peer;
        let (from, to) = (bytes_on(first, 16 * MIB), bytes_on(second, 16 * MIB));
        let host = host_bytes(16 * MIB).pin_memory().unwrap();
        let busy = bytes_on(second, 16 * MIB);
        let recorder = Recorder::on(&machine);
        second.set_stream(second.backend.create_stream().unwrap());
        busy.copy_values(&host, true).unwrap();
        second.set_stream(0);
        to.copy_values(&from, false).unwrap();
        let [up, across] = spans(&recorder)[..] else { panic!("two copies") };
        assert_eq!(across.nanos, peer.latency + nanos(16 * MIB, peer.bandwidth), "{devices}");
        assert_eq!(across.start >= up.end(), !peer.access, "{devices}: {up:?} {across:?}");
        assert!(first.backend.now() < across.end(), "a copy between devices does not hold the host");
    }
}

/// A queue holds so many operations; then the host waits for the oldest.
#[test]
fn a_full_queue_holds_the_host() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/device/sim/profiles/t4.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let short = text.replace("queue_depth = { value = 1000,", "queue_depth = { value = 16,");
    let profile = Profile::parse(&short, "short queue").unwrap();
    let depth = u64::from(profile.launch.queue_depth);
    assert_eq!(depth, 16);
    let machine = Machine::simulated(vec![profile], &host());
    let gpu = &machine.gpus()[0];
    let big = bytes_on(gpu, 4 * MIB);
    let recorder = Recorder::on(&machine);
    let start = gpu.backend.now();
    for i in 0..depth {
        big.fill(Scalar::Int(i as i64 % 100), "fill_").unwrap();
    }
    assert_eq!(gpu.backend.now(), start + depth * 5_000, "the host runs ahead of the device");
    let first = spans(&recorder)[0];
    big.fill(Scalar::Int(1), "fill_").unwrap();
    assert_eq!(gpu.backend.now(), (start + depth * 5_000).max(first.end()) + 5_000);
    for _ in 0..depth {
        big.fill(Scalar::Int(1), "fill_").unwrap();
    }
    let all = spans(&recorder);
    let last = all.last().unwrap();
    assert!(gpu.backend.now() + (depth + 1) * last.nanos > last.end(), "at most {depth} are queued");
    assert!(gpu.backend.now() > start + (2 * depth + 1) * 5_000, "the host has waited");
}

/// A kernel takes its latency, and the longer of its arithmetic and its traffic.
#[test]
fn large_products_are_bound_by_arithmetic_and_additions_by_memory() {
    use tensorlab::op::linalg::matmul::matmul;
    let machine = machine("sim:t4");
    let _entered = machine.enter();
    let gpu = &machine.gpus()[0];
    let profile = Profile::builtin("t4").unwrap();
    let a = Tensor::full(&[256, 256], Scalar::Float(1.0), DType::Float32, gpu, "full").unwrap();
    let recorder = Recorder::on(&machine);
    matmul(&a, &a).unwrap();
    tensorlab::op::elementwise::arithmetic::add(&a, &a).unwrap();
    let [product, sum] = spans(&recorder)[..] else { panic!("two launches") };
    let efficiency = profile.efficiency.matmul_by_rate.iter().find(|(r, _)| r.key() == "fp32").unwrap().1;
    let arithmetic = (2.0 * 256f64.powi(3) / (profile.peak.fp32 * efficiency) * 1e9).ceil() as u64;
    assert!(product.nanos.abs_diff(profile.launch.latency + arithmetic) <= 1, "{product:?}");
    let traffic = nanos(3 * 4 * 256 * 256, profile.device.memory_bandwidth * profile.efficiency.elementwise);
    assert_eq!(sum.nanos, profile.launch.latency + traffic);
}

/// Giving memory back to the device waits for everything it does.
#[test]
fn emptying_the_cache_waits_for_the_device() {
    let machine = machine("sim:t4");
    let gpu = &machine.gpus()[0];
    let (big, other) = (bytes_on(gpu, 64 * MIB), bytes_on(gpu, 64 * MIB));
    drop(other);
    let recorder = Recorder::on(&machine);
    big.fill(Scalar::Int(1), "fill_").unwrap();
    let [kernel] = spans(&recorder)[..] else { panic!("one launch") };
    gpu.empty_cache();
    assert_eq!(gpu.backend.now(), kernel.end() + host().profile.driver.free);
}

//! Copies: which way, how long, and whether the host waits.

use super::*;
use tensorlab::device::sim::host::Driver;
use tensorlab::device::sim::profile::HostLink;

fn t4() -> (HostLink, Driver) {
    let profile = Profile::builtin("t4").unwrap();
    (profile.link, host().profile.driver)
}

/// The copies and the waits among what happened.
fn copies(bodies: Vec<Body>) -> Vec<Body> {
    bodies.into_iter().filter(|body| matches!(body, Body::Copy { .. } | Body::Sync { .. })).collect()
}

#[test]
fn a_pageable_copy_holds_the_host() {
    let machine = machine("sim:t4");
    let _entered = machine.enter();
    let gpu = &machine.gpus()[0];
    let (link, driver) = t4();
    let side = host().profile.link;
    let host = host_bytes(8 * MIB);
    let warm = bytes_on(gpu, 8 * MIB);
    for non_blocking in [false, true] {
        let recorder = Recorder::on(&machine);
        let start = gpu.backend.now();
        warm.copy_values(&host, non_blocking).unwrap();
        let span = modelled(
            start + driver.launch,
            link.latency + nanos(8 * MIB, pageable(link.pinned_h2d, side.staging_h2d)),
        );
        let expected = Body::Copy {
            from: Device::Cpu,
            to: Device::Cuda(0),
            bytes: 8 * MIB,
            pinned: false,
            blocking: true,
            stream: 0,
            span,
        };
        assert_eq!(copies(recorder.take()), [expected]);
        assert_eq!(gpu.backend.now(), span.end());
    }
}

#[test]
fn a_pinned_copy_need_not_hold_the_host() {
    let machine = machine("sim:t4");
    let _entered = machine.enter();
    let gpu = &machine.gpus()[0];
    let (link, driver) = t4();
    let pinned = host_bytes(8 * MIB).pin_memory().unwrap();
    let warm = bytes_on(gpu, 8 * MIB);
    for non_blocking in [false, true] {
        let recorder = Recorder::on(&machine);
        let start = gpu.backend.now();
        warm.copy_values(&pinned, non_blocking).unwrap();
        let [Body::Copy { pinned: true, blocking, span, .. }] = copies(recorder.take())[..] else {
            panic!("one pinned copy")
        };
        assert_eq!(span, modelled(start + driver.launch, link.latency + nanos(8 * MIB, link.pinned_h2d)));
        assert_eq!(blocking, !non_blocking);
        assert_eq!(gpu.backend.now(), if non_blocking { start + driver.launch } else { span.end() });
    }
}

#[test]
fn a_copy_to_the_host_is_a_wait_and_says_so() {
    let machine = machine("sim:t4");
    let _entered = machine.enter();
    let gpu = &machine.gpus()[0];
    let (link, driver) = t4();
    let side = host().profile.link;
    let there = bytes_on(gpu, 4 * MIB);
    there.fill(Scalar::Int(3), "fill_").unwrap();
    let recorder = Recorder::on(&machine);
    let start = gpu.backend.now();
    let back = there.moved(machine.cpu(), false, "cpu").unwrap();
    assert!(!back.is_pinned() && back.host_bytes("tolist").unwrap().iter().all(|b| *b == 3));
    let [Body::Copy { from: Device::Cuda(0), to: Device::Cpu, blocking: true, span: copy, .. }, wait] =
        &copies(recorder.take())[..]
    else {
        panic!("a copy and a wait")
    };
    assert_eq!(copy.nanos, link.latency + nanos(4 * MIB, pageable(link.pinned_d2h, side.staging_d2h)));
    assert!(copy.start > start + driver.launch, "the copy stands behind the kernel");
    let called = start + driver.launch;
    let span = modelled(called, copy.end() - called);
    assert_eq!(
        *wait,
        Body::Sync { device: Device::Cuda(0), implicit: true, cause: "copy to cpu".into(), span }
    );
    assert_eq!(gpu.backend.now(), copy.end());
}

/// As in PyTorch, `to("cpu", non_blocking=True)` makes pinned memory, and nobody waits.
#[test]
fn a_non_blocking_copy_to_the_host_lands_in_pinned_memory() {
    let machine = machine("sim:t4");
    let _entered = machine.enter();
    let gpu = &machine.gpus()[0];
    let there = bytes_on(gpu, 4 * MIB);
    let recorder = Recorder::on(&machine);
    let back = there.moved(machine.cpu(), true, "cpu").unwrap();
    assert!(back.is_pinned());
    assert!(matches!(copies(recorder.take())[..], [Body::Copy { pinned: true, blocking: false, .. }]));
    // Into pageable memory the driver copies while the host waits, whatever was asked for.
    host_bytes(4 * MIB).copy_values(&there, true).unwrap();
    assert!(matches!(
        copies(recorder.take())[..],
        [Body::Copy { pinned: false, blocking: true, .. }, Body::Sync { implicit: true, .. }]
    ));
}

#[test]
fn reading_a_number_waits_and_names_its_cause() {
    let machine = machine("sim:t4");
    let _entered = machine.enter();
    let one = Tensor::full(&[], Scalar::Float(1.5), DType::Float32, &machine.gpus()[0], "full").unwrap();
    let recorder = Recorder::on(&machine);
    assert_eq!(one.item().unwrap(), Scalar::Float(1.5));
    let events = recorder.take();
    let [Body::Copy { bytes: 4, .. }, Body::Sync { implicit: true, cause, .. }] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(cause, "item");
}

#[test]
fn page_locking_costs_the_host_once() {
    let machine = machine("sim:t4");
    let _entered = machine.enter();
    let gpu = &machine.gpus()[0];
    let own = host().profile;
    let host = host_bytes(8 * MIB);
    let once = own.driver.call + nanos(8 * MIB, own.pin);
    let pinned = host.pin_memory().unwrap();
    assert!(pinned.is_pinned() && !host.is_pinned());
    assert_eq!(pinned.host_bytes("tolist").unwrap(), host.host_bytes("tolist").unwrap());
    let copied = gpu.backend.now() - once;
    assert!(copied > nanos(16 * MIB, own.cpu.cache_bandwidth), "its bytes are copied there");
    assert!(pinned.pin_memory().unwrap().is(&pinned), "what is pinned is not pinned again");
    drop(pinned);
    let again = host.pin_memory().unwrap();
    assert_eq!(gpu.backend.now(), once + 2 * copied, "page-locked memory is kept");
    host.pin_memory().unwrap();
    assert_eq!(gpu.backend.now(), 2 * once + 3 * copied, "a second block is locked as well");
    drop(again);
}

#[test]
fn pinning_has_pytorchs_limits() {
    let none = machine("cpu");
    let entered = none.enter();
    let error = host_bytes(8).pin_memory().unwrap_err();
    assert!(error.message().starts_with("Found no NVIDIA driver on your system."), "{error}");
    assert!(error.hint().unwrap().contains("--devices sim:t4"));
    drop(entered);
    let machine = machine("sim:t4");
    let _entered = machine.enter();
    let there = Tensor::empty(&[2], DType::Float32, &machine.gpus()[0], "empty").unwrap();
    let text = "cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned";
    assert_eq!(there.pin_memory().unwrap_err().message(), text);
    let nothing = Tensor::from_bytes(&[], &[0], DType::UInt8).unwrap();
    assert_eq!(nothing.pin_memory().unwrap().numel(), 0);
}

#[test]
fn devices_copy_to_each_other_without_the_host() {
    let machine = machine("sim:t4x2");
    let _entered = machine.enter();
    let [first, second] = machine.gpus() else { panic!("two devices") };
    let peer = Profile::builtin("t4").unwrap().peer;
    let source = bytes_on(first, 16 * MIB);
    source.fill(Scalar::Int(9), "fill_").unwrap();
    let target = bytes_on(second, 16 * MIB);
    let recorder = Recorder::on(&machine);
    let before = first.backend.now();
    target.copy_values(&source, false).unwrap();
    target.copied(DType::Int64, "long").unwrap();
    let events = recorder.take();
    let find = |wanted: fn(&Body) -> bool| events.iter().find(|body| wanted(body)).unwrap();
    let Body::Copy {
        from: Device::Cuda(0),
        to: Device::Cuda(1),
        bytes,
        pinned: false,
        blocking: false,
        span,
        ..
    } = find(|body| matches!(body, Body::Copy { .. }))
    else {
        panic!("{events:?}")
    };
    assert_eq!((*bytes, span.nanos), (16 * MIB, peer.latency + nanos(16 * MIB, peer.bandwidth)));
    assert!(before < span.start && first.backend.now() < span.end(), "the host went on");
    let Body::Launch { device: Device::Cuda(1), span: cast, .. } =
        find(|body| matches!(body, Body::Launch { .. }))
    else {
        panic!("{events:?}")
    };
    assert_eq!(cast.start, span.end(), "the target's stream waits for the copy");
    assert!(target.host_bytes("tolist").unwrap().iter().all(|byte| *byte == 9));
}

/// As `aten/src/ATen/native/cuda/Copy.cu` of PyTorch casts: on the host, or on the device where the host is not to wait.
#[test]
fn copies_in_another_dtype_are_cast_where_pytorch_casts_them() {
    for (code, want) in [
        ("host.to(\"cuda\", float16)", "[2048, 0, 0]"),
        ("host.to(\"cuda\", float16, #{non_blocking: true})", "[4096, 0, 1]"),
        ("gpu.to(\"cpu\", float16)", "[0, 4096, 0]"),
        ("gpu.half().to(\"cpu\", float32)", "[0, 2048, 1]"),
        ("gpu.to(\"cpu\", float16, #{non_blocking: true})", "[0, 2048, 1]"),
        ("halves.copy_(host, true)", "[4096, 0, 1]"),
        ("halves.copy_(host)", "[2048, 0, 0]"),
        ("nn::Linear(32, 32, #{bias: false, device: \"cuda\"}).to(\"cpu\", float16)", "[0, 4096, 1]"),
    ] {
        let code = format!(
            "let host = zeros([1024]).pin_memory(); let gpu = host.cuda(); let halves = gpu.half();
             let seen = telemetry::record(|| {{ {code} }});
             [seen.h2d.bytes, seen.d2h.bytes, seen.launches]"
        );
        assert_eq!(crate::parallel::on("sim:t4", &code), want, "{code}");
    }
}

#[test]
fn page_locked_memory_is_not_filled_by_a_copy() {
    let code = "let other = empty([1 << 20], #{pin_memory: true});
        [other.is_pinned(), zeros([4], #{pin_memory: true}).is_pinned(), full([2], 3, #{pin_memory: true}).tolist()]";
    assert_eq!(crate::parallel::on("sim:t4", code), "[true, true, [3, 3]]");
}

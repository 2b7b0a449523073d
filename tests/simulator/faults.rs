//! Misfortunes on request.

use super::*;
use tensorlab::base::{Cause, DeviceCause, Error};

const TEXT: &str = "CUDA error: an illegal memory access was encountered\n";

fn is_fault(error: &Error) -> bool {
    let lost =
        matches!(error.cause(), Cause::Device(DeviceCause::DeviceFault { device: Device::Cuda(0), .. }));
    lost && error.kind() == Kind::DeviceError && error.message().starts_with(TEXT)
}

/// The launch returns; the first call after the device got there does not, nor does any other.
#[test]
fn a_device_fails_at_its_nth_launch_and_stays_failed() {
    let machine = faulty("fail_at_launch = 3");
    let _entered = machine.enter();
    let [gpu, other] = machine.gpus() else { panic!("two devices") };
    let tensor = bytes_on(gpu, 16 * MIB);
    for i in 0..3 {
        tensor.fill(Scalar::Int(i), "fill_").unwrap();
    }
    assert!(is_fault(&gpu.synchronize(None, "synchronize", false).unwrap_err()));
    assert!(is_fault(&tensor.fill(Scalar::Int(9), "fill_").unwrap_err()));
    assert!(is_fault(&tensor.host_bytes("tolist").unwrap_err()));
    assert!(is_fault(&host_bytes(4).moved(gpu, false, "to").unwrap_err()));
    assert!(is_fault(&gpu.backend.record(0).unwrap_err()));
    let recorder = Recorder::on(&machine);
    let error = Tensor::empty(&[4], DType::UInt8, gpu, "empty").unwrap_err();
    assert!(is_fault(&error));
    assert!(error.hint().unwrap().contains("until the session restarts"));
    assert!(recorder.take().is_empty(), "a fault is not out of memory");
    drop(tensor);
    assert_eq!(gpu.memory().0, 0, "memory still goes back");
    let fine = host_bytes(4).moved(other, false, "to").unwrap();
    assert_eq!(fine.host_bytes("tolist").unwrap(), [7; 4]);
}

#[test]
fn a_copy_that_waits_behind_the_failure_reports_it_and_writes_nothing() {
    let machine = faulty("fail_at_launch = 1");
    let _entered = machine.enter();
    let gpu = &machine.gpus()[0];
    let tensor = bytes_on(gpu, 16 * MIB);
    tensor.fill(Scalar::Int(1), "fill_").unwrap();
    let target = host_bytes(16 * MIB);
    assert!(is_fault(&target.copy_values(&tensor, false).unwrap_err()));
    assert!(target.host_bytes("tolist").unwrap().iter().all(|byte| *byte == 7));
}

#[test]
fn a_memory_fraction_bounds_the_pool() {
    let machine = faulty("memory_fraction = 0.5");
    let gpu = &machine.gpus()[0];
    let held = bytes_on(gpu, 100 * MIB);
    let error = Tensor::empty(&[40 << 20], DType::UInt8, gpu, "empty").unwrap_err();
    let text = "GPU 0 has a total capacity of 264.00 MiB of which 156.00 MiB is free. Including non-PyTorch memory, this \
         process has 108.00 MiB memory in use. 132.00 MiB allowed; Of the";
    assert!(error.message().contains(text), "{error}");
    let hint = error.hint().unwrap();
    assert!(hint.contains("Would have let it through: request at most"), "{hint}");
    for useless in ["raise the memory fraction", "use a device with"] {
        assert!(!hint.contains(useless), "nothing lifts that bound: {hint}");
    }
    drop(held);
}

#[test]
fn a_slow_link_slows_copies_alone() {
    let machine = faulty("slow_link = 4");
    let _entered = machine.enter();
    let link = Profile::builtin("tiny").unwrap().link;
    let rate = pageable(link.pinned_h2d, host().profile.link.staging_h2d);
    let host = host_bytes(MIB);
    let recorder = Recorder::on(&machine);
    let times: Vec<u64> = machine
        .gpus()
        .iter()
        .map(|gpu| {
            host.moved(gpu, false, "to").unwrap().fill(Scalar::Int(0), "fill_").unwrap();
            let events = recorder.take();
            let copy = events
                .iter()
                .find_map(|body| if let Body::Copy { span, .. } = body { Some(span) } else { None });
            copy.unwrap().nanos
        })
        .collect();
    assert_eq!(times, [link.latency + nanos(4 * MIB, rate), link.latency + nanos(MIB, rate)]);
}

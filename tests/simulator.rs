//! The simulated GPU through tensors: memory, copies, streams, times, faults, and the events of them all.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a helper of a test fails as the test does"
)]

use std::path::Path;
use std::sync::{Arc, Mutex};

use tensorlab::base::event::{Body, Clock, Event, Page, Span, Subscription};
use tensorlab::base::{DType, Device, Kind, Layout, Scalar};
use tensorlab::device::sim::{Host, HostProfile, Profile, Selection};
use tensorlab::device::{Context, Machine, Use};
use tensorlab::tensor::Tensor;

mod copies;
mod faults;
mod launches;
mod measured;
mod memory;
mod profiles;
mod rules;
mod streams;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn machine(devices: &str) -> Arc<Machine> {
    let selection: Selection = devices.parse().unwrap();
    Machine::open(&selection, Use::Headless).unwrap().machine
}

/// The host of whoever names none.
fn host() -> Host {
    Host { profile: HostProfile::builtin("notebook").unwrap(), measured: false }
}

/// What a pageable copy goes at: through the driver's buffers and over the link, one after the other.
fn pageable(link: f64, staging: f64) -> f64 {
    link * staging / (link + staging)
}

/// A machine with one tiny device that has the faults in `wishes`, and one without.
fn faulty(wishes: &str) -> Arc<Machine> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/device/sim/profiles/tiny.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let faulty = Profile::parse(&format!("{text}\n[faults]\n{wishes}\n"), "faulty").unwrap();
    Machine::simulated(vec![faulty, Profile::parse(&text, "tiny").unwrap()], &host())
}

/// Every event of a machine from now on.
struct Recorder {
    events: Arc<Mutex<Vec<Event>>>,
    subscription: Subscription,
}

impl Recorder {
    fn on(machine: &Machine) -> Recorder {
        let events = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&events);
        let reader = Arc::new(move |page: &Page| sink.lock().unwrap().extend(page.iter().cloned()));
        Recorder { events, subscription: machine.bus().read(reader) }
    }

    /// What happened since the last call.
    fn take(&self) -> Vec<Body> {
        self.subscription.turn_page();
        std::mem::take(&mut *self.events.lock().unwrap()).into_iter().map(|event| event.body).collect()
    }
}

/// Uninitialised bytes on the first device.
fn bytes_on(gpu: &Arc<Context>, bytes: u64) -> Tensor {
    Tensor::empty(&[bytes as usize], DType::UInt8, gpu, "empty").unwrap()
}

fn host_bytes(bytes: u64) -> Tensor {
    Tensor::from_bytes(&vec![7; bytes as usize], &[bytes as usize], DType::UInt8).unwrap()
}

fn modelled(start: u64, nanos: u64) -> Span {
    Span { start, nanos, clock: Clock::Modelled }
}

/// Nanoseconds of `bytes` at `per_second`.
fn nanos(bytes: u64, per_second: f64) -> u64 {
    (bytes as f64 * 1e9 / per_second).ceil() as u64
}

#[test]
fn a_device_says_what_it_is() {
    let machine = machine("sim:t4x2,h100");
    let names: Vec<&str> = machine.gpus().iter().map(|g| g.backend.properties().name.as_str()).collect();
    assert_eq!(names, ["Tesla T4 (simulated)", "Tesla T4 (simulated)", "NVIDIA H100 80GB HBM3 (simulated)"]);
    let t4 = machine.gpus()[1].backend.properties();
    assert!(t4.simulated && t4.clock == Clock::Modelled && t4.peer_access);
    assert_eq!((t4.capability, t4.multiprocessors, t4.threads_per_multiprocessor), ((7, 5), 40, 1024));
    assert_eq!(machine.gpus()[2].device, Device::Cuda(2));
}

#[test]
fn an_ordinal_without_a_device_is_pytorchs_error() {
    let two = machine("sim:t4x2");
    let error = two.context(Device::Cuda(7)).err().unwrap();
    assert_eq!(error.kind(), Kind::DeviceError);
    let text =
        "CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?\n";
    assert_eq!(error.message(), text);
    assert!(error.hint().unwrap().contains("`cuda:0` to `cuda:1`"));
    assert!(two.set_current_gpu(2).is_err() && two.set_current_gpu(1).is_ok());
    let none = machine("cpu").context(Device::Cuda(0)).err().unwrap();
    assert!(none.hint().unwrap().contains("--devices sim:t4"), "{none}");
}

#[test]
fn tensors_of_two_devices_do_not_mix() {
    let machine = machine("sim:t4x2");
    let _entered = machine.enter();
    let (a, b) = (bytes_on(&machine.gpus()[0], 16), bytes_on(&machine.gpus()[1], 16));
    assert_eq!(
        a.assign(&b, "copy_").unwrap_err().message(),
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cuda:1!"
    );
}

#[test]
fn values_are_real() {
    let machine = machine("sim:t4x2");
    let _entered = machine.enter();
    let [first, second] = machine.gpus() else { panic!("two devices") };
    let numbers: Vec<f32> = (0..6).map(|i| i as f32 * 0.5).collect();
    let host = Tensor::from_f32(&numbers, &[2, 3]).unwrap();
    let there = host.moved(first, false, "to").unwrap();
    let turned = there.with_layout(there.layout().transpose(0, 1).unwrap());
    let other = turned.moved(second, true, "to").unwrap();
    assert_eq!(other.device(), Device::Cuda(1));
    assert_eq!(other.to_f64s("tolist").unwrap(), [0.0, 1.5, 0.5, 2.0, 1.0, 2.5]);
    let filled = Tensor::full(&[3], Scalar::Float(2.5), DType::Float16, second, "full").unwrap();
    assert_eq!(filled.to_f64s("tolist").unwrap(), [2.5; 3]);
    let doubles =
        filled.copied(DType::Float64, "double").unwrap().moved(machine.cpu(), false, "cpu").unwrap();
    assert_eq!(doubles.to_f64s("tolist").unwrap(), [2.5; 3]);
}

#[test]
fn work_on_nothing_is_no_work() {
    let machine = machine("sim:t4");
    let gpu = &machine.gpus()[0];
    let recorder = Recorder::on(&machine);
    let empty = Tensor::full(&[0, 3], Scalar::Int(1), DType::Int64, gpu, "full").unwrap();
    assert!(empty.host_bytes("tolist").unwrap().is_empty());
    drop(empty);
    assert!(
        !recorder
            .take()
            .iter()
            .any(|e| matches!(e, Body::Launch { .. } | Body::Copy { .. } | Body::Alloc { .. }))
    );
    assert_eq!((gpu.memory(), gpu.backend.now()), ((0, 0), 0));
}

/// A program that uses all there is, as its events tell of it.
fn program() -> Vec<Body> {
    let machine = machine("sim:t4x2");
    let _entered = machine.enter();
    let recorder = Recorder::on(&machine);
    let [first, second] = machine.gpus() else { panic!("two devices") };
    let host = host_bytes(3 * MIB);
    let pinned = host.pin_memory().unwrap();
    let stream = first.backend.create_stream().unwrap();
    for round in 0..3 {
        let a = host.moved(first, false, "to").unwrap();
        first.set_stream(if round == 1 { stream } else { 0 });
        let b = pinned.moved(first, true, "to").unwrap();
        b.fill(Scalar::Int(round), "fill_").unwrap();
        let c = a.moved(second, false, "to").unwrap();
        c.copied(DType::Float32, "float").unwrap().moved(machine.cpu(), round == 2, "cpu").unwrap();
        first.synchronize(None, "synchronize", false).unwrap();
    }
    first.empty_cache();
    let of_devices = |body: &Body| match body {
        // Addresses and times of the host are real.
        Body::Alloc { device, .. } | Body::Free { device, .. } | Body::Launch { device, .. } => {
            device.is_cuda()
        }
        _ => true,
    };
    recorder.take().into_iter().filter(of_devices).collect()
}

#[test]
fn the_same_program_has_the_same_events_and_times() {
    let (first, again) = (program(), program());
    assert!(first.len() > 35, "{}", first.len());
    assert_eq!(first, again);
    let spans = first.iter().filter_map(|body| match body {
        Body::Copy { span, .. } | Body::Launch { span, .. } | Body::Sync { span, .. } => Some(span),
        _ => None,
    });
    assert!(spans.clone().count() > 15);
    assert!(spans.clone().all(|span| span.clock == Clock::Modelled));
}

#[test]
fn a_strided_layout_is_kept_in_pinned_memory() {
    let machine = machine("sim:t4");
    let _entered = machine.enter();
    let host = Tensor::from_i64(&[1, 2, 3, 4, 5, 6], &[2, 3]).unwrap();
    let turned = host.with_layout(host.layout().transpose(0, 1).unwrap());
    let pinned = turned.pin_memory().unwrap();
    assert_eq!((pinned.shape(), pinned.layout().strides()), (&[3, 2][..], &[1, 3][..]));
    assert_eq!(pinned.to_i64s("tolist").unwrap(), [1, 4, 2, 5, 3, 6]);
    assert!(Layout::contiguous(&[2, 3]).is_ok_and(|plain| plain == *host.layout()));
}

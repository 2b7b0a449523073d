//! Capacity and the caching allocator, as tensors see them.

use tensorlab::base::Variables;

use super::*;

/// The first checks of the allocator, by hand: bytes asked for, allocated, reserved.
const SIZES: [(u64, u64, u64); 6] = [
    (4, 512, 2 * MIB),
    (513, 1024, 2 * MIB),
    (MIB, MIB, 2 * MIB),
    (MIB + 1, MIB + 512, 20 * MIB),
    (10 * MIB, 10 * MIB, 10 * MIB),
    (23 * MIB / 2, 12 * MIB, 12 * MIB),
];

#[test]
fn tensors_take_what_the_allocator_gives() {
    for (asked, allocated, reserved) in SIZES {
        let machine = machine("sim:t4");
        let gpu = &machine.gpus()[0];
        let tensor = bytes_on(gpu, asked);
        assert_eq!(gpu.memory(), (allocated, reserved), "{asked}");
        let view = tensor.detach();
        drop(tensor);
        assert_eq!(gpu.memory(), (allocated, reserved), "a view holds its storage");
        drop(view);
        assert_eq!(gpu.memory(), (0, reserved));
        gpu.empty_cache();
        assert_eq!(gpu.memory(), (0, 0));
        let pool = gpu.pool().unwrap();
        assert_eq!((pool.peak_allocated(), pool.peak_reserved()), (allocated, reserved));
        let stats = pool.stats();
        assert_eq!(
            (stats.get("requested_bytes.all.peak"), stats.get("num_ooms")),
            (Some(asked as i64), Some(0))
        );
    }
}

#[test]
fn every_byte_has_its_event() {
    let machine = machine("sim:t4");
    let gpu = &machine.gpus()[0];
    let recorder = Recorder::on(&machine);
    let device = Device::Cuda(0);
    let tensor = Tensor::empty(&[3, 100], DType::Float32, gpu, "empty").unwrap();
    let address = tensor.data_ptr();
    assert_eq!(tensor.with_layout(tensor.layout().slice(0, 1, 2, 1).unwrap()).data_ptr(), address + 400);
    drop(tensor);
    gpu.empty_cache();
    gpu.reset_peak();
    let segment = |mapped, reserved| Body::Segment { device, address, bytes: 2 * MIB, mapped, reserved };
    let alloc = Body::Alloc {
        device,
        address,
        bytes: 1536,
        requested: 1200,
        dtype: DType::Float32,
        shape: vec![3, 100].into(),
        op: "empty".into(),
        allocated: 1536,
        reserved: 2 * MIB,
    };
    let free = Body::Free { device, address, bytes: 1536, allocated: 0, reserved: 2 * MIB };
    assert_eq!(
        recorder.take(),
        [segment(true, 2 * MIB), alloc, free, segment(false, 0), Body::PeakReset { device }]
    );
}

/// `cudaMalloc` and `cudaFree` cost the host what the profile says; a cached block costs nothing.
#[test]
fn a_segment_costs_time_and_a_cached_block_does_not() {
    let machine = machine("sim:t4");
    let gpu = &machine.gpus()[0];
    let costs = host().profile.driver;
    drop(bytes_on(gpu, 4));
    assert_eq!(gpu.backend.now(), costs.allocate);
    drop((bytes_on(gpu, 4), bytes_on(gpu, 100 * KIB)));
    assert_eq!(gpu.backend.now(), costs.allocate);
    gpu.empty_cache();
    assert_eq!(gpu.backend.now(), costs.allocate + costs.free);
}

#[test]
fn devices_have_memory_and_addresses_of_their_own() {
    let machine = machine("sim:t4,tiny");
    let [large, small] = machine.gpus() else { panic!("two devices") };
    let (a, b) = (bytes_on(large, 4), bytes_on(small, 2 * MIB));
    assert_eq!((large.memory(), small.memory()), ((512, 2 * MIB), (2 * MIB, 20 * MIB)));
    assert_ne!(a.data_ptr() >> 40, b.data_ptr() >> 40);
    assert_eq!(small.pool().unwrap().mem_get_info(), (236 * MIB, 264 * MIB));
}

/// Variables that nothing else holds.
struct Known(Vec<(u64, String)>);

impl Variables for Known {
    fn names(&self) -> Vec<(u64, String)> {
        self.0.clone()
    }

    fn deletable(&self) -> Vec<String> {
        self.0.iter().map(|(_, name)| name.clone()).collect()
    }

    /// All that lies in one storage has to go.
    fn freed(&self, chosen: &[usize]) -> Vec<u64> {
        let near = |at: u64| move |(other, _): &&(u64, String)| other.abs_diff(at) < MIB;
        let all = chosen.iter().map(|&i| self.0[i].0);
        let kept = |at: &u64| {
            chosen.iter().filter(|&&i| near(*at)(&&self.0[i])).count()
                == self.0.iter().filter(near(*at)).count()
        };
        all.filter(kept).collect()
    }

    fn needed(&self) -> Vec<u64> {
        Vec::new()
    }

    fn graphs(&self) -> Vec<(u64, String)> {
        Vec::new()
    }
}

#[test]
fn running_out_of_memory_says_what_would_help() {
    let machine = machine("sim:tiny");
    let gpu = &machine.gpus()[0];
    machine.shared.set_line(3);
    let x = bytes_on(gpu, 120 * MIB);
    machine.shared.set_line(4);
    let y = bytes_on(gpu, 100 * MIB);
    let known =
        vec![(x.data_ptr(), "x".to_owned()), (y.data_ptr() + 9, "view".into()), (y.data_ptr(), "y".into())];
    let recorder = Recorder::on(&machine);
    let mut error = Tensor::empty(&[25, 1024, 1024], DType::Float32, gpu, "randn").unwrap_err();
    error.retell(&Known(known));
    assert_eq!(error.kind(), Kind::OutOfMemoryError);
    let text = "CUDA out of memory. Tried to allocate 100.00 MiB. GPU 0 has a total capacity of 264.00 MiB of which \
                36.00 MiB is free. Including non-PyTorch memory, this process has 228.00 MiB memory in use. Of the allocated memory 220.00 MiB is allocated by PyTorch, and 0 bytes is reserved \
                by PyTorch but unallocated. ";
    assert!(error.message().starts_with(text), "{}", error.message());
    let hint = error.hint().unwrap();
    let lines: Vec<&str> = hint.lines().map(str::trim).collect();
    assert_eq!(lines[0], "Requested of cuda:0: 100.00 MiB.");
    assert_eq!(lines[1], "Largest live tensors (2 of 2):");
    assert_eq!(lines[2], "120.00 MiB  x        uint8 [125829120], made by empty, line 3");
    assert_eq!(lines[3], "100.00 MiB  y, view  uint8 [104857600], made by empty, line 4");
    assert_eq!(lines[5], "Would have let it through: delete x (120.00 MiB).");
    let event = Body::OutOfMemory { device: Device::Cuda(0), requested: 100 * MIB, message: error.message() };
    assert_eq!(recorder.take(), [event]);
    assert_eq!(gpu.pool().unwrap().stats().num_ooms, 1);
    drop(x);
    assert!(Tensor::empty(&[25, 1024, 1024], DType::Float32, gpu, "randn").is_ok(), "the advice is good");
}

#[test]
fn what_no_variable_holds_is_said_to_have_none() {
    let machine = machine("sim:tiny");
    let gpu = &machine.gpus()[0];
    let held = bytes_on(gpu, 200 * MIB);
    let hint = Tensor::empty(&[60 << 20], DType::UInt8, gpu, "rand").unwrap_err().hint().unwrap();
    assert!(hint.contains("(no variable)  uint8 [209715200], made by empty\n"), "{hint}");
    assert_eq!(gpu.live().len(), 1);
    drop(held);
    assert!(gpu.live().is_empty());
}

/// A request that fits no device is refused by the device, not by this computer.
#[test]
fn a_tensor_beyond_all_bounds_is_out_of_memory() {
    let machine = machine("sim:t4");
    let error = Tensor::empty(&[1 << 45], DType::Float64, &machine.gpus()[0], "zeros").unwrap_err();
    assert!(error.message().starts_with("CUDA out of memory. Tried to allocate 262144.00 GiB."), "{error}");
    assert_eq!(machine.gpus()[0].memory(), (0, 0));
}

/// Cached blocks are given back before memory counts as gone, and the events show it.
#[test]
fn the_cache_is_emptied_before_memory_runs_out() {
    let machine = machine("sim:tiny");
    let gpu = &machine.gpus()[0];
    drop(bytes_on(gpu, 150 * MIB));
    let recorder = Recorder::on(&machine);
    let large = bytes_on(gpu, 200 * MIB);
    let segments: Vec<(u64, bool, u64)> = recorder
        .take()
        .into_iter()
        .filter_map(|body| match body {
            Body::Segment { bytes, mapped, reserved, .. } => Some((bytes, mapped, reserved)),
            _ => None,
        })
        .collect();
    assert_eq!(segments, [(150 * MIB, false, 0), (200 * MIB, true, 200 * MIB)]);
    assert_eq!(gpu.pool().unwrap().stats().num_alloc_retries, 1);
    drop(large);
}

/// What another stream uses is not given out again before that stream is done with it.
#[test]
fn recorded_memory_waits_for_its_stream() {
    let machine = machine("sim:t4");
    let gpu = &machine.gpus()[0];
    let reused = |record: bool| {
        let tensor = bytes_on(gpu, 30 * MIB);
        let address = tensor.data_ptr();
        let side = gpu.backend.create_stream().unwrap();
        gpu.set_stream(side);
        tensor.fill(Scalar::Int(1), "fill_").unwrap();
        gpu.set_stream(0);
        if record {
            tensor.record_stream(side);
        }
        drop(tensor);
        let next = bytes_on(gpu, 30 * MIB);
        next.data_ptr() == address
    };
    assert!(reused(false));
    assert!(!reused(true));
    gpu.synchronize(None, "synchronize", false).unwrap();
    let (again, more) = (bytes_on(gpu, 30 * MIB), bytes_on(gpu, 30 * MIB));
    assert_eq!(gpu.memory(), (60 * MIB, 60 * MIB), "{again:?} and {more:?} lie where the two lay");
}

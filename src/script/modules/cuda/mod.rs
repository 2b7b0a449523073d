//! `cuda::`: devices, memory statistics, streams, events and graphs; `cudnn::`, `matmul::` and `smi()`.

mod backends;
pub(crate) mod device;
mod graph;
mod memory;
mod requirements;
mod smi;
mod streams;

use std::sync::Arc;

use rhai::{Array, Dynamic, Engine, INT, Map};

use crate::device::Context;
use crate::op::params::kind::{self, Int};
use crate::op::params::params;
use crate::op::{Family, Form, OpDef};
use crate::script::call::{self, ScriptRow, Spaces};
use crate::script::maps::map_of;
use crate::script::modules::cuda::device::{
    CurrentDevice, LOOKED_ERRORS, NO_GPU, WORKED_ERRORS, gpu, known_gpu, looked_up, seen,
};
use crate::script::modules::hook::context;

pub use graph::Captured;
pub(crate) use smi::Smi;
pub use streams::{Event, Stream};

params! {
    GpuParams {
        device: kind::Device, "the GPU, as 0, \"cuda:0\" or a device";
    }
}

params! {
    PeersParams {
        device: kind::Device, "the GPU that reads and writes";
        peer_device: kind::Device, "the one whose memory it reaches";
    }
}

params! {
    SeedParams {
        seed: Int, "where the generators' numbers begin";
    }
}

/// Every row, file by file.
pub(super) static FILES: [&[ScriptRow]; 7] = call::documented([
    ROWS,
    requirements::ROWS,
    smi::ROWS,
    memory::ROWS,
    streams::ROWS,
    graph::ROWS,
    backends::ROWS,
]);

pub(crate) fn register(engine: &mut Engine, spaces: &mut Spaces) {
    requirements::register(spaces);
    streams::register(engine);
    graph::register(engine);
    smi::register(engine);
}

static ROWS: &[ScriptRow] = &[
    ScriptRow {
        def: OpDef::script("is_available", Family::Cuda, "Whether there is a GPU, real or simulated.", &[])
        .forms(&[Form::Of("cuda")])
        .example("cuda::is_available()", "true"),
        run: |call| Ok((!call.machine().gpus().is_empty()).into()),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("device_count", Family::Cuda, "The number of GPUs.", &[])
        .forms(&[Form::Of("cuda")])
        .example("cuda::device_count()", "2"),
        run: |call| Ok((call.machine().gpus().len() as INT).into()),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("current_device", Family::Cuda, "The ordinal that \"cuda\" means.", &[])
        .forms(&[Form::Of("cuda")])
        .errors(&[NO_GPU])
        .example("cuda::current_device()", "0"),
        run: |call| Ok((gpu(call.machine(), None)?.device.index() as INT).into()),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("set_device", Family::Cuda, "Makes another GPU the one that \"cuda\" means.", GpuParams::LIST)
        .forms(&[Form::Of("cuda")])
        .errors(WORKED_ERRORS)
        .example("cuda::set_device(1); let now = cuda::current_device(); cuda::set_device(0); now", "1"),
        run: |call| {
            let context = gpu(call.machine(), Some(GpuParams::of(&call.args)?.device))?;
            call.machine().set_current_gpu(context.device.index())?;
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("device", Family::Cuda, "Another GPU is the current one inside the block, and the old one after it, on an error too.", GpuParams::LIST)
        .forms(&[Form::Of("cuda"), Form::With("cuda")])
        .errors(WORKED_ERRORS)
        .example("with cuda::device(1) { cuda::current_device() }", "1"),
        run: |call| {
            let machine = Arc::clone(call.machine());
            let ordinal = gpu(&machine, Some(GpuParams::of(&call.args)?.device))?.device.index();
            context("device", move || {
                let before = machine.set_current_gpu(ordinal)?;
                Ok(CurrentDevice { machine: Arc::clone(&machine), before })
            })
        },
        set: None,
    },
    ScriptRow {
        def: seen("get_device_name", "The name of a GPU; that of a simulated one ends in \"(simulated)\".")
        .example("cuda::get_device_name(0)", "\"Tesla T4 (simulated)\""),
        run: |call| Ok(looked_up(call)?.backend.properties().name.clone().into()),
        set: None,
    },
    ScriptRow {
        def: seen("get_device_capability", "The compute capability as [major, minor].")
        .example("cuda::get_device_capability()", "[7, 5]"),
        run: |call| {
            let (major, minor) = looked_up(call)?.backend.properties().capability;
            let both: Array = vec![INT::from(major).into(), INT::from(minor).into()];
            Ok(both.into())
        },
        set: None,
    },
    ScriptRow {
        def: seen("get_device_properties", "What a GPU is like, as a map.")
        .details("It holds name, major, minor, total_memory (bytes), multi_processor_count, max_threads_per_multi_processor, L2_cache_size (bytes), warp_size and simulated.")
        .example("cuda::get_device_properties().multi_processor_count", "40"),
        run: |call| Ok(device_properties(looked_up(call)?.as_ref()).into()),
        set: None,
    },
    ScriptRow {
        def: seen("is_simulated", "Whether a GPU is simulated.")
        .own()
        .example("cuda::is_simulated()", "true"),
        run: |call| Ok(looked_up(call)?.backend.properties().simulated.into()),
        set: None,
    },
    ScriptRow {
        def: OpDef::script("can_device_access_peer", Family::Cuda, "Whether two GPUs copy to each other over their own link; others copy through the host.", PeersParams::LIST)
        .forms(&[Form::Of("cuda")])
        .errors(LOOKED_ERRORS)
        .example("cuda::can_device_access_peer(0, 0)", "false"),
        run: |call| {
            let given = PeersParams::of(&call.args)?;
            let one = known_gpu(call.machine(), Some(given.device), "Invalid device id")?;
            let other = known_gpu(call.machine(), Some(given.peer_device), "Invalid peer device id")?;
            let reaches = |c: &Context| c.backend.properties().peer_access;
            Ok((one.device != other.device && reaches(&one) && reaches(&other)).into())
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("manual_seed", Family::Cuda, "Seeds the current GPU's generator.", SeedParams::LIST)
        .forms(&[Form::Of("cuda")])
        .example("cuda::manual_seed(7); cuda::initial_seed()", "7"),
        run: |call| {
            let seed = SeedParams::of(&call.args)?.seed;
            call.machine().seed_gpus(Some(call.machine().current_gpu()), seed as u64);
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("manual_seed_all", Family::Cuda, "Seeds the generators of all GPUs.", SeedParams::LIST)
        .forms(&[Form::Of("cuda")])
        .example("cuda::manual_seed_all(7); with cuda::device(1) { cuda::initial_seed() }", "7"),
        run: |call| {
            let seed = SeedParams::of(&call.args)?.seed;
            call.machine().seed_gpus(None, seed as u64);
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("initial_seed", Family::Cuda, "The seed of the current GPU's generator.", &[])
        .forms(&[Form::Of("cuda")])
        .errors(&[NO_GPU])
        .example("cuda::manual_seed(3); cuda::initial_seed()", "3"),
        run: |call| {
            let device = gpu(call.machine(), None)?.device;
            Ok(call.machine().generator_state(device).map_or(0, |(seed, _)| seed as INT).into())
        },
        set: None,
    },
];

/// As PyTorch's `_CudaDeviceProperties`, and whether the device is simulated.
fn device_properties(context: &Context) -> Map {
    /// Threads that run in lockstep, on every GPU so far.
    const WARP: INT = 32;
    let p = context.backend.properties();
    let numbers = [
        ("major", INT::from(p.capability.0)),
        ("minor", INT::from(p.capability.1)),
        ("total_memory", p.total_memory as INT),
        ("multi_processor_count", INT::from(p.multiprocessors)),
        ("max_threads_per_multi_processor", INT::from(p.threads_per_multiprocessor)),
        ("L2_cache_size", p.l2_cache as INT),
        ("warp_size", WARP),
    ];
    let mut map = map_of(numbers.into_iter().map(|(name, n)| (name.into(), n.into())));
    map.insert("name".into(), p.name.clone().into());
    map.insert("simulated".into(), p.simulated.into());
    map
}

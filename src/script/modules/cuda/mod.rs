//! `cuda::`: devices, memory statistics, streams, events and graphs; `cudnn::`, `matmul::` and `smi()`.

mod backends;
mod graph;
mod memory;
pub mod pages;
mod smi;
mod streams;

use std::sync::Arc;

use rhai::{Array, Dynamic, Engine, INT, Map, Module, NativeCallContext};

use crate::base::{Cause, Device, DeviceSpec, Error, Kind, Result};
use crate::device::{Context, Machine};
use crate::script::bind::note_line;
use crate::script::fault::raise;
use crate::script::syntax::ContextManager;
use crate::script::value;

use super::RhaiResult;

pub const NAMES: &[&str] = &[
    "cuda",
    "is_available",
    "device_count",
    "get_device_name",
    "get_device_properties",
    "get_device_capability",
    "current_device",
    "set_device",
    "synchronize",
    "memory_allocated",
    "max_memory_allocated",
    "memory_reserved",
    "max_memory_reserved",
    "memory_stats",
    "memory_summary",
    "memory_snapshot",
    "reset_peak_memory_stats",
    "reset_accumulated_memory_stats",
    "empty_cache",
    "mem_get_info",
    "set_per_process_memory_fraction",
    "get_per_process_memory_fraction",
    "Stream",
    "stream",
    "current_stream",
    "default_stream",
    "set_stream",
    "Event",
    "graph",
    "replay",
    "is_current_stream_capturing",
    "manual_seed",
    "manual_seed_all",
    "initial_seed",
    "can_device_access_peer",
    "is_simulated",
    "smi",
    "cudnn",
    "benchmark",
    "deterministic",
    "enabled",
    "matmul",
    "allow_tf32",
    "use_deterministic_algorithms",
    "are_deterministic_algorithms_enabled",
    "set_float32_matmul_precision",
    "get_float32_matmul_precision",
];

pub fn register(engine: &mut Engine, machine: &Arc<Machine>) {
    let mut module = Module::new();
    devices(&mut module, machine);
    properties(&mut module, machine);
    seeds(&mut module, machine);
    memory::register(&mut module, machine);
    streams::register(engine, &mut module, machine);
    graph::register(engine, &mut module, machine);
    engine.register_static_module("cuda", module.into());
    backends::register(engine, machine);
    let m = Arc::clone(machine);
    engine.register_fn("smi", move || smi::table(&m));
}

/// Registers `name()` for the current device and `name(device)` for another.
fn per_device<T: Send + Sync + Clone + 'static>(
    module: &mut Module,
    machine: &Arc<Machine>,
    name: &str,
    run: fn(&Arc<Context>) -> Result<T>,
) {
    let here = Arc::clone(machine);
    module.set_native_fn(name, move |ctx: NativeCallContext| -> RhaiResult<T> {
        note_line(&here.shared, &ctx);
        gpu(&here, &Dynamic::UNIT).and_then(|c| run(&c)).map_err(raise)
    });
    let here = Arc::clone(machine);
    module.set_native_fn(name, move |ctx: NativeCallContext, device: Dynamic| -> RhaiResult<T> {
        note_line(&here.shared, &ctx);
        gpu(&here, &device).and_then(|c| run(&c)).map_err(raise)
    });
}

/// The accelerator that a value names; () is the current one.
fn gpu(machine: &Machine, device: &Dynamic) -> Result<Arc<Context>> {
    let spec = if device.is_unit() { DeviceSpec::Cuda(None) } else { value::device(device)? };
    match machine.resolve(spec) {
        Device::Cpu => Err(Error::value("Expected a cuda device, but got: cpu")
            .with_hint("this is a function of GPUs: name one as 0 or \"cuda:0\"")),
        device => machine.context(device).map(Arc::clone),
    }
}

/// As [`gpu`], with the error of functions that only look.
fn known_gpu(machine: &Machine, device: &Dynamic, text: &str) -> Result<Arc<Context>> {
    gpu(machine, device).map_err(|e| match e.cause() {
        Cause::InvalidOrdinal { count, .. } => {
            let last = count.saturating_sub(1);
            let hint = match count {
                0 => "there is no GPU: `--devices sim:t4x2` gives two simulated ones".to_string(),
                _ => format!("devices are numbered from 0 to {last}"),
            };
            Error::new(Kind::AssertionError, text).with_hint(hint)
        }
        _ => e,
    })
}

fn devices(module: &mut Module, machine: &Arc<Machine>) {
    let m = Arc::clone(machine);
    module.set_native_fn("is_available", move || Ok(!m.gpus().is_empty()));
    let m = Arc::clone(machine);
    module.set_native_fn("device_count", move || Ok(m.gpus().len() as INT));
    let m = Arc::clone(machine);
    module.set_native_fn("current_device", move || -> RhaiResult<INT> {
        gpu(&m, &Dynamic::UNIT).map(|c| c.device.index() as INT).map_err(raise)
    });
    let m = Arc::clone(machine);
    module.set_native_fn("set_device", move |device: Dynamic| -> RhaiResult<()> {
        let context = gpu(&m, &device).map_err(raise)?;
        m.set_current_gpu(context.device.index()).map(|_| ()).map_err(raise)
    });
    let m = Arc::clone(machine);
    module.set_native_fn("device", move |device: Dynamic| -> RhaiResult<ContextManager> {
        let ordinal = gpu(&m, &device).map_err(raise)?.device.index();
        let m = Arc::clone(&m);
        Ok(ContextManager::new("device", move || {
            let before = m.set_current_gpu(ordinal)?;
            Ok(CurrentDevice { machine: Arc::clone(&m), before })
        }))
    });
}

fn properties(module: &mut Module, machine: &Arc<Machine>) {
    macro_rules! looked_up {
        ($name:literal, $t:ty, |$c:ident| $body:expr) => {{
            let m = Arc::clone(machine);
            module.set_native_fn($name, move || -> RhaiResult<$t> {
                let $c = known_gpu(&m, &Dynamic::UNIT, "Invalid device id").map_err(raise)?;
                Ok($body)
            });
            let m = Arc::clone(machine);
            module.set_native_fn($name, move |device: Dynamic| -> RhaiResult<$t> {
                let $c = known_gpu(&m, &device, "Invalid device id").map_err(raise)?;
                Ok($body)
            });
        }};
    }
    looked_up!("get_device_name", String, |c| c.backend.properties().name.clone());
    looked_up!("get_device_capability", Array, |c| {
        let (major, minor) = c.backend.properties().capability;
        vec![Dynamic::from(INT::from(major)), Dynamic::from(INT::from(minor))]
    });
    looked_up!("is_simulated", bool, |c| c.backend.properties().simulated);
    looked_up!("get_device_properties", Map, |c| device_properties(&c));
    let m = Arc::clone(machine);
    module.set_native_fn("can_device_access_peer", move |a: Dynamic, b: Dynamic| -> RhaiResult<bool> {
        let one = known_gpu(&m, &a, "Invalid device id").map_err(raise)?;
        let other = known_gpu(&m, &b, "Invalid peer device id").map_err(raise)?;
        let reaches = |c: &Context| c.backend.properties().peer_access;
        Ok(one.device != other.device && reaches(&one) && reaches(&other))
    });
}

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
    let mut map: Map = numbers.into_iter().map(|(name, n)| (name.into(), n.into())).collect();
    map.insert("name".into(), p.name.clone().into());
    map.insert("simulated".into(), p.simulated.into());
    map
}

fn seeds(module: &mut Module, machine: &Arc<Machine>) {
    let m = Arc::clone(machine);
    module.set_native_fn("manual_seed", move |seed: INT| {
        m.seed_gpus(Some(m.current_gpu()), seed as u64);
        Ok(())
    });
    let m = Arc::clone(machine);
    module.set_native_fn("manual_seed_all", move |seed: INT| {
        m.seed_gpus(None, seed as u64);
        Ok(())
    });
    let m = Arc::clone(machine);
    module.set_native_fn("initial_seed", move || -> RhaiResult<INT> {
        let device = gpu(&m, &Dynamic::UNIT).map_err(raise)?.device;
        Ok(m.generator_state(device).map_or(0, |(seed, _)| seed as INT))
    });
}

struct CurrentDevice {
    machine: Arc<Machine>,
    before: usize,
}

impl Drop for CurrentDevice {
    fn drop(&mut self) {
        // The ordinal was current, so it exists.
        let _ = self.machine.set_current_gpu(self.before);
    }
}

//! `cuda::`: devices, memory statistics, streams and events.

use std::sync::{Arc, Mutex};

use rhai::{Array, Dynamic, Engine, INT, Map, Module, NativeCallContext};

use crate::base::{Cause, Device, DeviceSpec, Error, Kind, Result};
use crate::device::{Context, Machine, Mark};
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
    "reset_peak_memory_stats",
    "empty_cache",
    "mem_get_info",
    "set_per_process_memory_fraction",
    "Stream",
    "stream",
    "current_stream",
    "Event",
    "manual_seed",
    "can_device_access_peer",
    "is_simulated",
];

/// A stream of a device.
#[derive(Clone)]
struct Stream {
    context: Arc<Context>,
    id: u32,
}

/// A point in a stream's work, once recorded.
#[derive(Clone)]
struct Event(Arc<Mutex<Option<(Arc<Context>, Mark)>>>);

pub fn register(engine: &mut Engine, machine: &Arc<Machine>) {
    let mut module = Module::new();
    devices(&mut module, machine);
    properties(&mut module, machine);
    memory(&mut module, machine);
    streams(engine, &mut module, machine);
    events(engine, &mut module, machine);
    engine.register_static_module("cuda", module.into());
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
    // The counters complain in words of their own.
    let counts = ["memory", "max_memory", "reset_peak"].iter().any(|lead| name.starts_with(lead));
    let here = Arc::clone(machine);
    module.set_native_fn(name, move |ctx: NativeCallContext, device: Dynamic| -> RhaiResult<T> {
        note_line(&here.shared, &ctx);
        let known = gpu(&here, &device).map_err(|e| match (counts, e.cause()) {
            (true, Cause::InvalidOrdinal { .. }) => {
                Error::runtime("Invalid device argument \t: did you call init?")
                    .with_hint(format!("devices run from 0 to {}", here.gpus().len().saturating_sub(1)))
            }
            _ => e,
        });
        known.and_then(|c| run(&c)).map_err(raise)
    });
}

/// The accelerator that a value names; () is the current one.
fn gpu(machine: &Machine, device: &Dynamic) -> Result<Arc<Context>> {
    let spec = if device.is_unit() { DeviceSpec::Cuda(None) } else { value::device(device)? };
    match machine.resolve(spec) {
        Device::Cpu => Err(Error::value("Expected a cuda device, but got: cpu")),
        device => machine.context(device).map(Arc::clone),
    }
}

/// As [`gpu`], with the error of functions that only look.
fn known_gpu(machine: &Machine, device: &Dynamic) -> Result<Arc<Context>> {
    gpu(machine, device).map_err(|e| match e.cause() {
        Cause::InvalidOrdinal { .. } => Cause::InvalidDeviceId.into(),
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
                let $c = known_gpu(&m, &Dynamic::UNIT).map_err(raise)?;
                Ok($body)
            });
            let m = Arc::clone(machine);
            module.set_native_fn($name, move |device: Dynamic| -> RhaiResult<$t> {
                let $c = known_gpu(&m, &device).map_err(raise)?;
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
    looked_up!("get_device_properties", Map, |c| {
        let p = c.backend.properties();
        let mut map = Map::new();
        map.insert("name".into(), p.name.clone().into());
        map.insert("total_memory".into(), (p.total_memory as INT).into());
        map.insert("major".into(), INT::from(p.capability.0).into());
        map.insert("minor".into(), INT::from(p.capability.1).into());
        map.insert("multi_processor_count".into(), INT::from(p.multiprocessors).into());
        map.insert("simulated".into(), p.simulated.into());
        map
    });
    let m = Arc::clone(machine);
    module.set_native_fn("can_device_access_peer", move |a: Dynamic, b: Dynamic| -> RhaiResult<bool> {
        let (a, b) = (known_gpu(&m, &a).map_err(raise)?, known_gpu(&m, &b).map_err(raise)?);
        Ok(a.device != b.device)
    });
}

fn memory(module: &mut Module, machine: &Arc<Machine>) {
    per_device(module, machine, "memory_allocated", |c| Ok(c.memory().0 as INT));
    per_device(module, machine, "memory_reserved", |c| Ok(c.memory().1 as INT));
    per_device(module, machine, "max_memory_allocated", |c| {
        Ok(c.pool().map_or(0, |p| p.peak_allocated()) as INT)
    });
    per_device(module, machine, "max_memory_reserved", |c| {
        Ok(c.pool().map_or(0, |p| p.peak_reserved()) as INT)
    });
    per_device(module, machine, "reset_peak_memory_stats", |c| {
        c.reset_peak();
        Ok(())
    });
    per_device(module, machine, "memory_summary", |c| {
        Ok(c.pool().map_or_else(String::new, |p| p.memory_summary()))
    });
    per_device(module, machine, "memory_stats", |c| {
        let stats = c.pool().map(|p| p.stats());
        let entries = stats.iter().flat_map(|s| s.iter());
        Ok(entries.map(|(k, v)| (k.into(), Dynamic::from(v))).collect::<Map>())
    });
    per_device(module, machine, "mem_get_info", |c| {
        let (free, total) = c.pool().map_or((0, 0), |p| p.mem_get_info());
        Ok(vec![Dynamic::from(free as INT), Dynamic::from(total as INT)])
    });
    per_device(module, machine, "synchronize", |c| c.synchronize(None, "cuda::synchronize", false));
    let m = Arc::clone(machine);
    module.set_native_fn("empty_cache", move || {
        m.gpus().iter().for_each(|c| c.empty_cache());
        Ok(())
    });
    let m = Arc::clone(machine);
    module.set_native_fn("manual_seed", move |seed: INT| {
        m.manual_seed(seed as u64);
        Ok(())
    });
    fn set(machine: &Machine, fraction: f64, device: &Dynamic) -> RhaiResult<()> {
        let context = gpu(machine, device).map_err(raise)?;
        let result = context.pool().map(|mut p| p.set_fraction(fraction));
        result.transpose().map(|_| ()).map_err(|e| raise(Error::value(e.to_string())))
    }
    let m = Arc::clone(machine);
    module.set_native_fn("set_per_process_memory_fraction", move |f: f64| set(&m, f, &Dynamic::UNIT));
    let m = Arc::clone(machine);
    module.set_native_fn("set_per_process_memory_fraction", move |f: f64, d: Dynamic| set(&m, f, &d));
}

fn streams(engine: &mut Engine, module: &mut Module, machine: &Arc<Machine>) {
    engine.register_type_with_name::<Stream>("Stream");
    per_device(module, machine, "Stream", |c| {
        Ok(Stream { context: Arc::clone(c), id: c.backend.create_stream()? })
    });
    per_device(module, machine, "current_stream", |c| Ok(Stream { context: Arc::clone(c), id: c.stream() }));
    module.set_native_fn("stream", |s: Stream| {
        Ok(ContextManager::new("stream", move || {
            let before = s.context.set_stream(s.id);
            Ok(CurrentStream { context: Arc::clone(&s.context), before })
        }))
    });
    engine.register_fn("to_string", |s: &mut Stream| format!("Stream({}, {})", s.context.device, s.id));
    engine.register_fn("synchronize", |s: &mut Stream| {
        s.context.synchronize(Some(s.id), "stream.synchronize", false).map_err(raise)
    });
    engine.register_fn("wait_stream", |s: &mut Stream, other: Stream| -> RhaiResult<()> {
        let mark = other.context.backend.record(other.id).map_err(raise)?;
        s.context.backend.wait(s.id, mark).map_err(raise)
    });
    engine.register_fn("wait_event", |s: &mut Stream, e: Event| -> RhaiResult<()> {
        let (_, mark) = e.recorded().map_err(raise)?;
        s.context.backend.wait(s.id, mark).map_err(raise)
    });
    engine.register_fn("record_event", |s: &mut Stream| -> RhaiResult<Event> {
        let event = Event::new();
        event.record(&s.context, s.id).map_err(raise)?;
        Ok(event)
    });
    engine.register_get("device", |s: &mut Stream| DeviceSpec::from(s.context.device));
    engine.register_get("id", |s: &mut Stream| INT::from(s.id));
}

fn events(engine: &mut Engine, module: &mut Module, machine: &Arc<Machine>) {
    engine.register_type_with_name::<Event>("Event");
    module.set_native_fn("Event", || Ok(Event::new()));
    module.set_native_fn("Event", |options: Map| -> RhaiResult<Event> {
        let known = ["enable_timing", "blocking", "interprocess"];
        match options.keys().find(|k| !known.contains(&k.as_str())) {
            Some(name) => {
                let text = format!("Event() got an unknown option '{name}'");
                Err(raise(Error::type_error(text).with_hint(format!("options are {}", known.join(", ")))))
            }
            None => Ok(Event::new()),
        }
    });
    let m = Arc::clone(machine);
    engine.register_fn("record", move |e: &mut Event| -> RhaiResult<()> {
        let context = gpu(&m, &Dynamic::UNIT).map_err(raise)?;
        e.record(&context, context.stream()).map_err(raise)
    });
    engine.register_fn("record", |e: &mut Event, s: Stream| e.record(&s.context, s.id).map_err(raise));
    engine.register_fn("synchronize", |e: &mut Event| -> RhaiResult<()> {
        let (context, mark) = e.recorded().map_err(raise)?;
        context.synchronize_mark(mark, "event.synchronize").map_err(raise)
    });
    engine.register_fn("query", |e: &mut Event| -> RhaiResult<bool> {
        let (context, mark) = e.recorded().map_err(raise)?;
        context.backend.query(mark).map_err(raise)
    });
    engine.register_fn("elapsed_time", |e: &mut Event, end: Event| -> RhaiResult<f64> {
        let ((context, from), (_, to)) = (e.recorded().map_err(raise)?, end.recorded().map_err(raise)?);
        let reached = |mark| context.backend.query(mark).map_err(raise);
        if !reached(from)? || !reached(to)? {
            let error = Error::new(Kind::DeviceError, "CUDA error: device not ready");
            return Err(raise(error.with_hint("wait for the end first: `end.synchronize()`")));
        }
        context.backend.elapsed(from, to).map_err(raise)
    });
}

impl Event {
    fn new() -> Event {
        Event(Arc::default())
    }

    fn record(&self, context: &Arc<Context>, stream: u32) -> Result<()> {
        let mark = context.backend.record(stream)?;
        *self.0.lock().unwrap_or_else(|e| e.into_inner()) = Some((Arc::clone(context), mark));
        Ok(())
    }

    fn recorded(&self) -> Result<(Arc<Context>, Mark)> {
        let slot = self.0.lock().unwrap_or_else(|e| e.into_inner());
        slot.clone().ok_or_else(|| {
            Error::value("the event has not been recorded").with_hint("call `event.record()` first")
        })
    }
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

struct CurrentStream {
    context: Arc<Context>,
    before: u32,
}

impl Drop for CurrentStream {
    fn drop(&mut self) {
        self.context.set_stream(self.before);
    }
}

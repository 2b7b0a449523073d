//! Memory of devices, as `torch.cuda.memory` tells of it.

use std::sync::Arc;

use rhai::{Array, Dynamic, INT, Map, Module, NativeCallContext};

use crate::base::{Cause, Error, Result};
use crate::device::graph::GRAPH_POOLS;
use crate::device::pool::{Segment, SegmentBlock};
use crate::device::{Context, Machine};
use crate::script::bind::note_line;
use crate::script::fault::raise;
use crate::script::value::type_name;

use super::super::unknown_option;
use super::{RhaiResult, gpu, per_device};

pub(super) fn register(module: &mut Module, machine: &Arc<Machine>) {
    numbers(module, machine);
    summaries(module, machine);
    fraction(module, machine);
    per_device(module, machine, "synchronize", |c| c.synchronize(None, "cuda::synchronize", false));
    let m = Arc::clone(machine);
    module.set_native_fn("empty_cache", move |ctx: NativeCallContext| {
        note_line(&m.shared, &ctx);
        m.gpus().iter().for_each(|c| c.empty_cache());
        Ok(())
    });
}

fn numbers(module: &mut Module, machine: &Arc<Machine>) {
    asked(module, machine, "memory_allocated", |c| Ok(c.memory().0 as INT));
    asked(module, machine, "memory_reserved", |c| Ok(c.memory().1 as INT));
    asked(module, machine, "max_memory_allocated", |c| Ok(c.pool().map_or(0, |p| p.peak_allocated()) as INT));
    asked(module, machine, "max_memory_reserved", |c| Ok(c.pool().map_or(0, |p| p.peak_reserved()) as INT));
    asked(module, machine, "reset_peak_memory_stats", |c| {
        c.reset_peak();
        Ok(())
    });
    asked(module, machine, "reset_accumulated_memory_stats", |c| {
        if let Some(mut pool) = c.pool() {
            pool.reset_accumulated();
        }
        Ok(())
    });
    asked(module, machine, "memory_stats", |c| {
        let stats = c.pool().map(|p| p.stats());
        let entries = stats.iter().flat_map(|s| s.iter());
        Ok(entries.map(|(k, v)| (k.into(), Dynamic::from(v))).collect::<Map>())
    });
    per_device(module, machine, "mem_get_info", |c| {
        let (free, total) = c.pool().map_or((0, 0), |p| p.mem_get_info());
        Ok(vec![Dynamic::from(free as INT), Dynamic::from(total as INT)])
    });
}

/// As [`per_device`], with the error of PyTorch's allocator for a device that is not there.
fn asked<T: Send + Sync + Clone + 'static>(
    module: &mut Module,
    machine: &Arc<Machine>,
    name: &str,
    run: fn(&Arc<Context>) -> Result<T>,
) {
    let m = Arc::clone(machine);
    module.set_native_fn(name, move || -> RhaiResult<T> {
        pooled(&m, &Dynamic::UNIT).and_then(|c| run(&c)).map_err(raise)
    });
    let m = Arc::clone(machine);
    module.set_native_fn(name, move |device: Dynamic| -> RhaiResult<T> {
        pooled(&m, &device).and_then(|c| run(&c)).map_err(raise)
    });
}

fn pooled(machine: &Machine, device: &Dynamic) -> Result<Arc<Context>> {
    gpu(machine, device).map_err(|error| match error.cause() {
        Cause::InvalidOrdinal { ordinal, count } if *count > 0 => {
            let last = count.saturating_sub(1);
            Error::runtime(format!("Invalid device argument {ordinal}: did you call init?"))
                .with_hint(format!("devices are numbered from 0 to {last}"))
        }
        _ => error,
    })
}

fn summaries(module: &mut Module, machine: &Arc<Machine>) {
    fn summary(machine: &Machine, device: &Dynamic, options: &Map) -> RhaiResult<String> {
        let (mut device, mut abbreviated) = (device.clone(), false);
        for (name, value) in options {
            match (name.as_str(), value.as_bool()) {
                ("device", _) => device = value.clone(),
                ("abbreviated", Ok(on)) => abbreviated = on,
                ("abbreviated", Err(_)) => {
                    let text = format!("'abbreviated' must be bool, not {}", type_name(value));
                    return Err(raise(Error::type_error(text)));
                }
                _ => return Err(raise(unknown_option("memory_summary", name, &["device", "abbreviated"]))),
            }
        }
        let context = pooled(machine, &device).map_err(raise)?;
        let summary =
            context.pool().map(|pool| pool.stats().summary(context.device.index() as u32, abbreviated));
        Ok(summary.unwrap_or_default())
    }
    let m = Arc::clone(machine);
    module.set_native_fn("memory_summary", move || summary(&m, &Dynamic::UNIT, &Map::new()));
    let m = Arc::clone(machine);
    module.set_native_fn("memory_summary", move |given: Dynamic| match given.read_lock::<Map>() {
        Some(options) => summary(&m, &Dynamic::UNIT, &options),
        None => summary(&m, &given, &Map::new()),
    });
    let m = Arc::clone(machine);
    module
        .set_native_fn("memory_summary", move |device: Dynamic, options: Map| summary(&m, &device, &options));
    let m = Arc::clone(machine);
    module.set_native_fn("memory_snapshot", move || Ok(snapshot(&m)));
}

/// Every segment of every device, as `torch.cuda.memory_snapshot()` has them.
fn snapshot(machine: &Machine) -> Array {
    let mut all = Array::new();
    for context in machine.gpus() {
        let segments = context.pool().map(|pool| pool.snapshot().segments).unwrap_or_default();
        all.extend(segments.iter().map(|s| Dynamic::from_map(segment(context.device.index(), s))));
    }
    all
}

fn segment(device: usize, segment: &Segment) -> Map {
    let graph = segment.stream.checked_sub(GRAPH_POOLS);
    let number = |n: u64| Dynamic::from(n as INT);
    let mut map = Map::new();
    map.insert("device".into(), number(device as u64));
    map.insert("address".into(), number(segment.address));
    map.insert("total_size".into(), number(segment.size));
    map.insert("allocated_size".into(), number(segment.allocated_size()));
    map.insert("active_size".into(), number(segment.active_size()));
    map.insert("requested_size".into(), number(segment.requested_size()));
    map.insert("stream".into(), number(if graph.is_some() { 0 } else { segment.stream.into() }));
    map.insert("segment_type".into(), if segment.small { "small" } else { "large" }.into());
    let pool = vec![number(0), number(graph.unwrap_or(0).into())];
    map.insert("segment_pool_id".into(), pool.into());
    map.insert("is_expandable".into(), false.into());
    map.insert("frames".into(), Array::new().into());
    let blocks: Array = segment.blocks.iter().map(|b| Dynamic::from_map(block(b))).collect();
    map.insert("blocks".into(), blocks.into());
    map
}

fn block(block: &SegmentBlock) -> Map {
    let mut map = Map::new();
    map.insert("address".into(), (block.address as INT).into());
    map.insert("size".into(), (block.size as INT).into());
    map.insert("requested_size".into(), (block.requested as INT).into());
    map.insert("state".into(), block.state.name().into());
    map.insert("frames".into(), Array::new().into());
    map
}

fn fraction(module: &mut Module, machine: &Arc<Machine>) {
    fn set(machine: &Machine, fraction: &Dynamic, device: &Dynamic) -> RhaiResult<()> {
        let Ok(fraction) = fraction.as_float() else {
            let error = Error::type_error("Invalid type for fraction argument, must be `float`");
            let hint = format!("it is a {}; write 1.0 for all of the memory", type_name(fraction));
            return Err(raise(error.with_hint(hint)));
        };
        let context = gpu(machine, device).map_err(raise)?;
        let result = context.pool().map(|mut p| p.set_fraction(fraction));
        result.transpose().map(|_| ()).map_err(|e| raise(Error::value(e.to_string())))
    }
    let m = Arc::clone(machine);
    module.set_native_fn("set_per_process_memory_fraction", move |f: Dynamic| set(&m, &f, &Dynamic::UNIT));
    let m = Arc::clone(machine);
    module.set_native_fn("set_per_process_memory_fraction", move |f: Dynamic, d: Dynamic| set(&m, &f, &d));
    per_device(module, machine, "get_per_process_memory_fraction", |c| {
        let pool = c.pool();
        Ok(pool.map_or(1.0, |p| match (p.limit(), p.mem_get_info().1) {
            (Some(limit), total) if total > 0 => limit as f64 / total as f64,
            _ => 1.0,
        }))
    });
}

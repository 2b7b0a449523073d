//! Memory of devices, as `torch.cuda.memory` tells of it.

use std::sync::Arc;

use rhai::{Array, Dynamic, INT, Map};

use crate::base::{Cause, DeviceCause, DeviceSpec, Error, Result};
use crate::device::capture::GRAPH_POOLS;
use crate::device::pool::{Segment, SegmentBlock};
use crate::device::{Context, Machine};
use crate::op::params::kind::{self, Bool};
use crate::op::params::{Maybe, params};
use crate::op::{Family, Form, OpDef};
use crate::script::call::kind::Given;
use crate::script::call::{Call, Outcome, ScriptRow};
use crate::script::maps::map_of;
use crate::script::modules::cuda::device::{DeviceParams, NOT_CPU, asked, gpu, worked_on};
use crate::script::value::type_name;

params! {
    MemorySummaryParams {
        device: Maybe<kind::Device>, "the GPU, as 0, \"cuda:0\" or a device; the current one where it is not given";
        abbreviated: Bool = false, "leaves out the sums by size of block";
    }
}

params! {
    FractionParams {
        fraction: Given, "the part, from 0.0 to 1.0";
        device: Maybe<kind::Device>, "the GPU, as 0, \"cuda:0\" or a device; the current one where it is not given";
    }
}

/// When a function that asks the allocator of a GPU fails.
const POOL_ERRORS: &[&str] = &["RuntimeError: there is no such GPU", NOT_CPU];

/// A function that asks the allocator of a GPU, which may be named.
const fn pool_row(name: &'static str, summary: &'static str) -> OpDef {
    asked(name, summary).errors(POOL_ERRORS)
}

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow {
        def: pool_row("memory_allocated", "Bytes that tensors hold, each rounded up to blocks of 512.")
        .example("let x = ones(100, #{device: \"cuda\"}); cuda::memory_allocated()", "512"),
        run: |call| counted(call, |gpu| gpu.memory().0),
        set: None,
    },
    ScriptRow {
        def: pool_row("max_memory_allocated", "The most bytes that tensors held since the last reset_peak_memory_stats().")
        .example("let x = ones(100, #{device: \"cuda\"}); drop(x); cuda::max_memory_allocated()", "512"),
        run: |call| counted(call, |gpu| gpu.pool().map_or(0, |p| p.peak_allocated())),
        set: None,
    },
    ScriptRow {
        def: pool_row("memory_reserved", "Bytes that the caching allocator took from the GPU, in use or kept for the next request.")
        .example("let x = ones(100, #{device: \"cuda\"}); cuda::memory_reserved()", "2097152"),
        run: |call| counted(call, |gpu| gpu.memory().1),
        set: None,
    },
    ScriptRow {
        def: pool_row("max_memory_reserved", "The most bytes that were reserved since the last reset_peak_memory_stats().")
        .example("let x = ones(100, #{device: \"cuda\"}); cuda::max_memory_reserved()", "2097152"),
        run: |call| counted(call, |gpu| gpu.pool().map_or(0, |p| p.peak_reserved())),
        set: None,
    },
    ScriptRow {
        def: pool_row("memory_stats", "Every statistic of the allocator under PyTorch's keys.")
        .details("Empty where there is no GPU. Such as \"allocated_bytes.all.peak\", \"segment.all.allocated\" and \"num_alloc_retries\".")
        .example("let x = ones(100, #{device: \"cuda\"}); cuda::memory_stats()[\"allocated_bytes.all.peak\"]", "512"),
        run: |call| {
            let Some(context) = if_any(pooled(call))? else { return Ok(Map::new().into()) };
            let stats = context.pool().map(|p| p.stats());
            let entries = stats.iter().flat_map(|s| s.iter());
            Ok(map_of(entries.map(|(k, v)| (k.into(), Dynamic::from(v)))).into())
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("memory_summary", Family::Cuda, "The statistics as a table.", MemorySummaryParams::LIST)
        .forms(&[Form::Of("cuda")])
        .errors(POOL_ERRORS)
        .example("cuda::memory_summary(#{abbreviated: true}).contains(\"PyTorch CUDA memory summary\")", "true"),
        run: |call| {
            let given = MemorySummaryParams::of(&call.args)?;
            let context = pool_of(call.machine(), given.device)?;
            let ordinal = context.device.index() as u32;
            let summary = context.pool().map(|pool| pool.stats().summary(ordinal, given.abbreviated));
            Ok(summary.unwrap_or_default().into())
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("memory_snapshot", Family::Cuda, "Every segment of every GPU as a map.", &[])
        .forms(&[Form::Of("cuda")])
        .details("It holds address, total_size, allocated_size, active_size, stream, segment_type, segment_pool_id, and blocks with address, size, requested_size and state. telemetry::export_memory_snapshot(path) writes a file for PyTorch's memory viewer.")
        .example("let x = ones(100, #{device: \"cuda\"}); cuda::memory_snapshot()[0].total_size", "2097152"),
        run: |call| Ok(snapshot(call.machine()).into()),
        set: None,
    },
    ScriptRow {
        def: pool_row("reset_peak_memory_stats", "Peaks start again from what is held now.")
        .example("let x = ones(100, #{device: \"cuda\"}); drop(x); cuda::reset_peak_memory_stats(); cuda::max_memory_allocated()", "0"),
        run: |call| {
            pooled(call)?.reset_peak();
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: pool_row("reset_accumulated_memory_stats", "Sums of what was allocated and freed start again from 0.")
        .example("let x = ones(100, #{device: \"cuda\"}); cuda::reset_accumulated_memory_stats(); cuda::memory_stats()[\"allocated_bytes.all.allocated\"]", "0"),
        run: |call| {
            if let Some(mut pool) = pooled(call)?.pool() {
                pool.reset_accumulated();
            }
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("empty_cache", Family::Cuda, "Gives reserved memory that no tensor uses back to the GPU.", &[])
        .forms(&[Form::Of("cuda")])
        .details("Segments of a captured graph stay. It makes no room for tensors: what is reserved serves the next ones anyway.")
        .example("let x = ones(100, #{device: \"cuda\"}); drop(x); cuda::empty_cache(); cuda::memory_reserved()", "0"),
        run: |call| {
            call.machine().gpus().iter().for_each(|c| c.empty_cache());
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
    ScriptRow {
        def: asked("mem_get_info", "The GPU's [free, total] bytes.")
        .example("let both = cuda::mem_get_info(); both[0] <= both[1]", "true"),
        run: |call| {
            let (free, total) = worked_on(call)?.pool().map_or((0, 0), |p| p.mem_get_info());
            let both: Array = vec![(free as INT).into(), (total as INT).into()];
            Ok(both.into())
        },
        set: None,
    },
    ScriptRow {
        def: OpDef::script("set_per_process_memory_fraction", Family::Cuda, "Lets tensors use only a part of the memory: beyond it, out of memory.", FractionParams::LIST)
        .forms(&[Form::Of("cuda")])
        .errors(&[
            "TypeError: the fraction is no float; write 1.0 for all of the memory",
            "ValueError: it is below 0 or above 1",
            "DeviceError: there is no such GPU",
            NOT_CPU,
        ])
        .example("cuda::set_per_process_memory_fraction(0.5); cuda::get_per_process_memory_fraction()", "0.5"),
        run: set_fraction,
        set: None,
    },
    ScriptRow {
        def: asked("get_per_process_memory_fraction", "The part of the memory that may be used.")
        .example("cuda::get_per_process_memory_fraction()", "1.0"),
        run: |call| {
            let context = worked_on(call)?;
            let pool = context.pool();
            let part = pool.map_or(1.0, |p| match (p.limit(), p.mem_get_info().1) {
                (Some(limit), total) if total > 0 => limit as f64 / total as f64,
                _ => 1.0,
            });
            Ok(part.into())
        },
        set: None,
    },
    ScriptRow {
        def: asked("synchronize", "The host waits for everything that was given to a GPU.")
        .errors(&["DeviceError: there is no such GPU, or work is being captured for a graph", NOT_CPU])
        .details("Work is queued and runs beside the host: a time that is taken without waiting is that of the queueing.")
        .example("cuda::synchronize(); cuda::current_stream().query()", "true"),
        run: |call| {
            worked_on(call)?.synchronize(None, "cuda::synchronize", false)?;
            Ok(Dynamic::UNIT)
        },
        set: None,
    },
];

/// A figure of an allocator; 0 where there is no GPU, as in PyTorch.
fn counted(call: &Call, figure: impl Fn(&Context) -> u64) -> Outcome {
    let context = if_any(pooled(call))?;
    Ok((context.map_or(0, |gpu| figure(&gpu)) as INT).into())
}

/// Nothing where there is no GPU at all: code that runs with and without one asks for memory as well.
fn if_any(found: Result<Arc<Context>>) -> Result<Option<Arc<Context>>> {
    match found {
        Err(error) if matches!(error.cause(), Cause::Device(DeviceCause::NoGpu { .. })) => Ok(None),
        found => found.map(Some),
    }
}

/// The GPU whose allocator a function asks, with the error of PyTorch's for one that is not there.
fn pooled(call: &Call) -> Result<Arc<Context>> {
    pool_of(call.machine(), DeviceParams::of(&call.args)?.device)
}

fn pool_of(machine: &Machine, device: Option<DeviceSpec>) -> Result<Arc<Context>> {
    gpu(machine, device).map_err(|error| match error.cause() {
        Cause::Device(DeviceCause::InvalidOrdinal { ordinal, count }) => {
            let last = count.saturating_sub(1);
            Error::runtime(format!("Invalid device argument {ordinal}: did you call init?"))
                .with_hint(format!("devices are numbered from 0 to {last}"))
        }
        _ => error,
    })
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

fn set_fraction(call: &mut Call) -> Outcome {
    let given = FractionParams::of(&call.args)?;
    let Ok(fraction) = given.fraction.as_float() else {
        let error = Error::type_error("Invalid type for fraction argument, must be `float`");
        let hint = format!("it is a {}; write 1.0 for all of the memory", type_name(&given.fraction));
        return Err(error.with_hint(hint).into());
    };
    let context = gpu(call.machine(), given.device)?;
    let result = context.pool().map(|mut p| p.set_fraction(fraction));
    result.transpose().map_err(|e| Error::value(e.to_string()))?;
    Ok(Dynamic::UNIT)
}

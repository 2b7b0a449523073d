//! What the allocators hold and did, as a file that PyTorch's memory viewer opens (`torch.cuda._memory_viz`,
//! pytorch.org/memory_viz).
//!
//! Form: the dictionary of `torch.cuda.memory._snapshot()`, pickled: segments with their blocks, and for each device
//! the allocations, frees and segments in their order. A frame is a script's line and the operation that it ran.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use crate::base::event::{Body, Event, Source};
use crate::base::file;
use crate::device::capture::GRAPH_POOLS;
use crate::device::pool::{Segment, SegmentBlock};
use crate::device::{Context, Machine};

use super::pickle::{Data, dump};

/// Writes a snapshot file, whole or not at all. `origin` is the script's name.
pub fn write(path: &Path, machine: &Machine, events: &[Event], origin: &str) -> std::io::Result<()> {
    file::export(path, |out| out.write_all(&dump(&document(machine, events, origin))))
}

/// The state of all GPUs now, and what `events` tell of their memory.
pub fn document(machine: &Machine, events: &[Event], origin: &str) -> Data {
    let gpus = machine.gpus();
    let segments = gpus.iter().flat_map(|context| segments(context, origin)).collect();
    let traces = gpus.iter().map(|context| Data::List(trace(context, events, origin))).collect();
    let device = |context: &std::sync::Arc<Context>| {
        let properties = context.backend.properties();
        Data::Dict(vec![
            ("name", properties.name.as_str().into()),
            ("clock", properties.clock.name().into()),
            ("simulated", Data::Bool(properties.simulated)),
        ])
    };
    let settings = Data::Dict(vec![
        ("PYTORCH_CUDA_ALLOC_CONF", "".into()),
        ("max_split_size", Data::Int(-1)),
        ("expandable_segments", Data::Bool(false)),
    ]);
    Data::Dict(vec![
        ("segments", Data::List(segments)),
        ("device_traces", Data::List(traces)),
        ("allocator_settings", settings),
        ("external_annotations", Data::List(Vec::new())),
        ("tensorlab_devices", Data::List(gpus.iter().map(device).collect())),
    ])
}

/// Where a tensor came from.
struct Maker {
    op: String,
    source: Source,
}

fn segments(context: &Context, origin: &str) -> Vec<Data> {
    let live = context.live().into_iter();
    let makers: HashMap<u64, Maker> =
        live.map(|(address, l)| (address, Maker { op: l.op.to_string(), source: l.source })).collect();
    let snapshot = context.pool().map(|pool| pool.snapshot()).unwrap_or_default();
    let device = context.device.index() as u64;
    snapshot.segments.iter().map(|s| segment(device, s, &makers, origin)).collect()
}

fn segment(device: u64, segment: &Segment, makers: &HashMap<u64, Maker>, origin: &str) -> Data {
    let graph = segment.stream.checked_sub(GRAPH_POOLS);
    let blocks = segment.blocks.iter().map(|b| block(b, makers.get(&b.address), origin)).collect();
    Data::Dict(vec![
        ("device", device.into()),
        ("address", segment.address.into()),
        ("total_size", segment.size.into()),
        ("allocated_size", segment.allocated_size().into()),
        ("active_size", segment.active_size().into()),
        ("requested_size", segment.requested_size().into()),
        ("stream", u64::from(if graph.is_some() { 0 } else { segment.stream }).into()),
        ("segment_type", if segment.small { "small" } else { "large" }.into()),
        ("segment_pool_id", pool_id(graph)),
        ("is_expandable", Data::Bool(false)),
        ("frames", Data::List(Vec::new())),
        ("blocks", Data::List(blocks)),
    ])
}

fn block(block: &SegmentBlock, maker: Option<&Maker>, origin: &str) -> Data {
    let frames = maker.map(|maker| frame(&maker.op, maker.source, origin)).into_iter().collect();
    Data::Dict(vec![
        ("address", block.address.into()),
        ("size", block.size.into()),
        ("requested_size", block.requested.into()),
        ("state", block.state.name().into()),
        ("frames", Data::List(frames)),
    ])
}

fn pool_id(graph: Option<u32>) -> Data {
    Data::Pair(Box::new(Data::Int(0)), Box::new(Data::Int(graph.unwrap_or(0).into())))
}

/// A script's line, as the viewer shows a stack's frame.
fn frame(op: &str, source: Source, origin: &str) -> Data {
    let filename = if source.cell > 0 { format!("In [{}]", source.cell) } else { origin.to_string() };
    Data::Dict(vec![
        ("filename", Data::Text(filename)),
        ("line", u64::from(source.line).into()),
        ("name", op.into()),
    ])
}

/// What one device's allocator did.
fn trace(context: &Context, events: &[Event], origin: &str) -> Vec<Data> {
    let of = context.device;
    let mut sizes: HashMap<u64, (u64, String)> = HashMap::new();
    let mut free = free_before(context, events);
    let mut out = Vec::new();
    for event in events {
        let mut entry = |action: &str, address: Option<u64>, size: u64, op: &str| {
            let mut fields = vec![("action", action.into()), ("size", size.into())];
            match address {
                Some(address) => fields.push(("addr", address.into())),
                None => fields.push(("device_free", u64::try_from(free).unwrap_or(0).into())),
            }
            fields.push(("stream", Data::Int(0)));
            fields.push(("pool_id", pool_id(None)));
            fields.push(("frames", Data::List(vec![frame(op, event.source, origin)])));
            out.push(Data::Dict(fields));
        };
        match &event.body {
            Body::Alloc { device, address, requested, op, .. } if *device == of => {
                sizes.insert(*address, (*requested, op.to_string()));
                entry("alloc", Some(*address), *requested, op);
            }
            Body::Free { device, address, bytes, .. } if *device == of => {
                let (size, op) = sizes.remove(address).unwrap_or((*bytes, "unknown".into()));
                entry("free_requested", Some(*address), size, &op);
                entry("free_completed", Some(*address), size, &op);
            }
            Body::Segment { device, address, bytes, mapped, .. } if *device == of => {
                let action = if *mapped { "segment_alloc" } else { "segment_free" };
                entry(action, Some(*address), *bytes, "allocator");
                free -= change(*bytes, *mapped);
            }
            Body::OutOfMemory { device, requested, .. } if *device == of => {
                entry("oom", None, *requested, "out of memory");
            }
            _ => {}
        }
    }
    out
}

/// The device's free bytes before the first event: those of now, with what the events took and gave back undone.
fn free_before(context: &Context, events: &[Event]) -> i128 {
    let now = context.pool().map_or(0, |pool| pool.mem_get_info().0);
    let of = |event: &Event| match &event.body {
        Body::Segment { device, bytes, mapped, .. } if *device == context.device => change(*bytes, *mapped),
        _ => 0,
    };
    i128::from(now) + events.iter().map(of).sum::<i128>()
}

/// Bytes that a segment takes from the device.
fn change(bytes: u64, mapped: bool) -> i128 {
    if mapped { i128::from(bytes) } else { -i128::from(bytes) }
}

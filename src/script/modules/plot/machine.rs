//! Figures of what the machine did and holds: a timeline, and memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::base::event::{Body, Clock, Event, Page, Reader, Span};
use crate::base::{Device, Error, figures};
use crate::device::pool::{BlockState, Segment};
use crate::plot::{Figure, Series};
use crate::script::call::{Call, Outcome};
use crate::script::modules::telemetry::whole;

use super::options::{MemoryParams, TimelineParams};
use super::sheet::place;

const KINDS: [&str; 4] = ["kernel", "copy", "exchange", "wait"];
const EXCHANGE: usize = 2;
const STATES: [&str; 3] = ["tensor", "waits for another stream", "free"];
const MIB: f64 = 1_048_576.0;

/// Draws what the devices do while a closure runs.
pub(super) fn timeline(call: &mut Call) -> Outcome {
    let given = TimelineParams::of(&call.args)?;
    call.machine().settle()?;
    let begun = call.machine().shared.time();
    let turns = Arc::new(Turns::default());
    let subscription = call.machine().bus().read(Arc::clone(&turns) as _);
    let result = whole(call, &given.body);
    drop(subscription);
    let _ = result?;
    let machine = call.machine();
    let gpu = machine.gpus().get(machine.current_gpu()).map_or(Device::Cpu, |gpu| gpu.device);
    let parts: Vec<DrawnSpan> = turns.parts(gpu).into_iter().filter_map(|part| part.since(begun)).collect();
    let from = parts.iter().map(|part| part.span.start).min().unwrap_or(0);
    let mut rows: Vec<Row> = parts.iter().map(|part| part.row).collect();
    rows.sort_unstable();
    rows.dedup();
    let mut drawn = Spans::new(&KINDS);
    // The rows stand in their order, whatever was first.
    for row in rows {
        for part in parts.iter().filter(|part| part.row == row) {
            let start = (part.span.start - from) as f64 / 1e6;
            drawn.add(part.kind, row.name(), (start, part.span.nanos as f64 / 1e6), part.text.clone());
        }
    }
    let clock = parts.first().map(|part| part.span.clock);
    let is_one = parts.iter().all(|part| Some(part.span.clock) == clock);
    let unit = match clock.filter(|_| is_one) {
        Some(Clock::Modelled) => "ms, modelled",
        Some(Clock::Measured) => "ms, measured",
        None => "ms",
    };
    let height = height(drawn.rows.len());
    let figure = Figure { x_label: unit.into(), height, series: drawn.series(), ..Figure::default() };
    place(call, "timeline", &given.told(), figure)
}

/// Draws the segments that a GPU's allocator has taken, and what lies in them.
pub(super) fn memory(call: &mut Call) -> Outcome {
    let given = MemoryParams::of(&call.args)?;
    let machine = call.machine();
    let device = match given.device {
        Some(spec) => machine.resolve(spec),
        None => machine.gpus().get(machine.current_gpu()).map_or(Device::Cpu, |gpu| gpu.device),
    };
    let context = machine.context(device)?;
    let Some(pool) = context.pool() else {
        let text = format!("{device} has no caching allocator: the segments of a GPU are drawn");
        return Err(Error::value(text).with_hint("plot::memory(\"cuda:0\")").into());
    };
    let live: HashMap<u64, String> =
        context.live().into_iter().map(|(address, live)| (address, format!("{:?}", live.shape))).collect();
    let mut drawn = Spans::new(&STATES);
    let segments = pool.snapshot().segments;
    for (place, segment) in segments.iter().enumerate() {
        draw_segment(&mut drawn, place, segment, &live);
    }
    let figure = Figure {
        title: format!("{device}: {}", figures::plural(segments.len() as u64, "segment", "segments")),
        x_label: "MiB from the segment's beginning".into(),
        height: height(segments.len()),
        series: drawn.series(),
        ..Figure::default()
    };
    place(call, "memory", &given.told(), figure)
}

fn draw_segment(drawn: &mut Spans, place: usize, segment: &Segment, live: &HashMap<u64, String>) {
    let pool = if segment.small { "small" } else { "large" };
    let stream = if segment.stream == 0 { String::new() } else { format!(", stream {}", segment.stream) };
    let row = format!("{} {pool}{stream}", place + 1);
    for block in &segment.blocks {
        let kind = match block.state {
            BlockState::ActiveAllocated => 0,
            BlockState::ActivePendingFree => 1,
            BlockState::Inactive => 2,
        };
        let text = match live.get(&block.address).filter(|_| kind == 0) {
            Some(shape) => shape.clone(),
            None if kind == 2 => format!("free {}", figures::bytes(block.size)),
            None => figures::bytes(block.size),
        };
        let start = block.address.saturating_sub(segment.address) as f64 / MIB;
        drawn.add(kind, row.clone(), (start, block.size as f64 / MIB), text);
    }
}

/// Pixels for so many rows.
fn height(rows: usize) -> u32 {
    let rows = u32::try_from(rows).unwrap_or(u32::MAX).min(40);
    (120 + 44 * rows).clamp(200, 1_200)
}

/// A row of a timeline; the host's stand first, then the buses', then the GPUs'.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    /// Of a rank, or the script's own, a thread of the host.
    Host(Option<u32>, u32),
    Bus(Device, Device),
    Stream(Device, u32),
}

impl Row {
    fn name(self) -> String {
        match self {
            Row::Host(rank, thread) => {
                let rank = rank.map_or_else(String::new, |rank| format!(", rank {rank}"));
                let worker =
                    thread.checked_sub(1).map_or_else(String::new, |worker| format!(", worker {worker}"));
                format!("cpu{rank}{worker}")
            }
            Row::Bus(from, to) => format!("{from} to {to}"),
            Row::Stream(device, 0) => device.to_string(),
            Row::Stream(device, stream) => format!("{device}, stream {stream}"),
        }
    }
}

struct DrawnSpan {
    row: Row,
    kind: usize,
    text: String,
    span: Span,
}

impl DrawnSpan {
    /// What of it lies behind a moment, where that is on its clock: work of before may still be under way.
    fn since(mut self, (moment, clock): (u64, Clock)) -> Option<DrawnSpan> {
        let before = if self.span.clock == clock { moment.saturating_sub(self.span.start) } else { 0 };
        self.span.start += before;
        let rest = self.span.nanos.checked_sub(before).filter(|rest| *rest > 0 || before == 0)?;
        self.span.nanos = rest;
        Some(self)
    }
}

/// What happened, and in whose turn: ranks have the host's rows each for its own. A rank that draws sees itself alone, for
/// the others are elsewhere in their programs; of exchanges it sees its own GPU's part.
#[derive(Default)]
struct Turns(Mutex<Vec<(Option<u32>, Vec<Page>)>>);

impl Turns {
    fn parts(&self, gpu: Device) -> Vec<DrawnSpan> {
        let turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = turns.first().and_then(|(rank, _)| *rank);
        let is_own = |rank: Option<u32>, part: &DrawnSpan| match part.row {
            _ if own.is_none() => true,
            Row::Stream(device, _) if part.kind == EXCHANGE => device == gpu,
            _ => rank == own,
        };
        let of = |(rank, pages): &(Option<u32>, Vec<Page>)| -> Vec<DrawnSpan> {
            let all = pages.iter().flat_map(|page| page.iter()).flat_map(|event| parts(event, *rank));
            all.filter(|part| is_own(*rank, part)).collect()
        };
        turns.iter().flat_map(of).collect()
    }
}

impl Reader for Turns {
    fn on_rank(&self, rank: Option<u32>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((rank, Vec::new()));
    }

    fn on_page(&self, page: &Page) {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        turns.last_mut().into_iter().for_each(|(_, pages)| pages.push(Arc::clone(page)));
    }
}

fn parts(event: &Event, rank: Option<u32>) -> Vec<DrawnSpan> {
    let part = |row: Row, kind: usize, text: String, span: &Span| DrawnSpan { row, kind, text, span: *span };
    match &event.body {
        Body::Launch { device, stream, op, span, .. } => {
            let row = if device.is_cuda() { Row::Stream(*device, *stream) } else { Row::Host(rank, *stream) };
            vec![part(row, 0, op.to_string(), span)]
        }
        Body::Copy { from, to, bytes, span, .. } => {
            vec![part(Row::Bus(*from, *to), 1, figures::bytes(*bytes), span)]
        }
        Body::Collective { op, devices, stream, span, .. } => {
            let rows = devices.iter().map(|device| Row::Stream(*device, *stream));
            rows.map(|row| part(row, EXCHANGE, op.to_string(), span)).collect()
        }
        Body::Sync { cause, span, .. } | Body::Hold { cause, span, .. } => {
            vec![part(Row::Host(rank, 0), 3, cause.to_string(), span)]
        }
        _ => Vec::new(),
    }
}

/// Spans of several kinds.
struct Spans {
    kinds: &'static [&'static str],
    spans: Vec<(usize, String, (f64, f64), String)>,
    /// In the order of the figure.
    rows: Vec<String>,
}

impl Spans {
    fn new(kinds: &'static [&'static str]) -> Spans {
        Spans { kinds, spans: Vec::new(), rows: Vec::new() }
    }

    fn add(&mut self, kind: usize, row: String, at: (f64, f64), text: String) {
        if !self.rows.contains(&row) {
            self.rows.push(row.clone());
        }
        self.spans.push((kind, row, at, text));
    }

    /// A series that names the rows in their order, and one for each kind, so that a kind has its colour in any figure.
    fn series(self) -> Vec<Series> {
        let empty = |rows: Vec<String>, label: &str| Series::Spans {
            rows,
            starts: Vec::new(),
            lengths: Vec::new(),
            texts: Vec::new(),
            label: label.into(),
        };
        let mut all: Vec<Series> = std::iter::once(empty(self.rows, "")).collect();
        all.extend(self.kinds.iter().map(|kind| empty(Vec::new(), kind)));
        for (kind, row, (start, length), text) in self.spans {
            if let Some(Series::Spans { rows, starts, lengths, texts, .. }) = all.get_mut(kind + 1) {
                rows.push(row);
                starts.push(start);
                lengths.push(length);
                texts.push(text);
            }
        }
        all
    }
}

//! What happened in a run, added up event by event: nothing grows with the run but the lines that copied or waited.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rhai::{Array, Dynamic, INT, Map};

use crate::base::event::{Body, Clock, Event, Name, Race, Source, Span};
use crate::base::{DType, Device, sorted};
use crate::device::{Context, Machine, MapOp};
use crate::script::maps::map_of;

use super::busy::Busy;
use super::carry::{self, Clocks};

/// Sums over events.
pub(crate) struct Summary {
    /// Host to device, device to host, device to device.
    pub copies: [Copies; 3],
    /// Launches on accelerators.
    pub launches: INT,
    /// Launches on any device, in the order of [`DType::ALL`].
    pub by_dtype: [INT; DType::ALL.len()],
    /// Launches on accelerators, by operation and dtype.
    by_op: HashMap<(Name, DType), INT>,
    /// Waits that the script asked for.
    pub syncs: INT,
    /// The line of each wait that it did not ask for.
    pub implicit_lines: Vec<u32>,
    /// Every hold of the host.
    waits: Vec<Wait>,
    /// Accesses that nothing ordered: one of each kind for a pair of lines, with how often there was one.
    pub races: Vec<(Source, Box<Race>, INT)>,
    /// What loaders gave the script: of one kind at a line, with how many there were.
    batches: Vec<(Batches, INT)>,
    /// What ranks exchanged.
    collectives: Vec<Collective>,
    busy: HashMap<Device, Busy>,
    /// What operations computed, the CPU's too.
    work: BTreeMap<Device, Computing>,
    /// Tensors made on accelerators.
    pub allocations: INT,
    pub out_of_memory: INT,
    /// By accelerator.
    pub memory: BTreeMap<String, Memory>,
    /// The accelerator of the last change, with its memory: names are made once per turn, not per event.
    current: Option<(Device, Memory)>,
    /// What each accelerator's clock said at the beginning, and how often its allocator had tried again.
    before: Vec<Before>,
    /// The same at the end.
    after: Vec<Before>,
    /// The machine has times of both clocks, and each says its own.
    marks: bool,
}

/// An accelerator at one moment.
struct Before {
    device: Device,
    clock: Clock,
    now: u64,
    worked: u64,
    retries: INT,
}

/// An accelerator, how long it worked, and how long the run took on its clock.
type Worked = (Device, u64, u64);

/// What operations computed on one device.
#[derive(Default)]
struct Computing {
    ops: INT,
    /// Read and written.
    bytes: u64,
    flops: u64,
    /// The line of the operation that read and wrote most.
    line: u32,
    most: u64,
}

/// Batches that a loader gave at one line.
#[derive(PartialEq)]
struct Batches {
    workers: u32,
    pinned: bool,
    line: u32,
}

impl Batches {
    fn value(&self, count: INT) -> Dynamic {
        let mut map = Map::new();
        map.insert("count".into(), count.into());
        map.insert("workers".into(), INT::from(self.workers).into());
        map.insert("pinned".into(), self.pinned.into());
        map.insert("line".into(), INT::from(self.line).into());
        map.into()
    }
}

struct Collective {
    op: Name,
    bytes: u64,
    ranks: u32,
    span: Span,
    line: u32,
}

impl Collective {
    fn value(&self, ms: Dynamic) -> Dynamic {
        let mut map = Map::new();
        map.insert("op".into(), self.op.as_str().into());
        map.insert("bytes".into(), (self.bytes as INT).into());
        map.insert("ranks".into(), INT::from(self.ranks).into());
        map.insert("ms".into(), ms);
        map.insert("clock".into(), self.span.clock.name().into());
        map.insert("line".into(), INT::from(self.line).into());
        map.into()
    }
}

/// A hold of the host.
struct Wait {
    cause: Name,
    nanos: u64,
    clock: Clock,
    source: Source,
}

/// Copies in one direction.
pub struct Copies {
    pub count: INT,
    pub bytes: INT,
    pub pinned: INT,
    /// Of them, those that held the host until their end.
    pub blocking: INT,
    pub nanos: u64,
    pub clock: Clock,
    pub lines: Vec<u32>,
}

/// Allocated bytes of an accelerator, and the most that its allocator had reserved.
#[derive(Clone, Copy, Default)]
pub struct Memory {
    pub start: u64,
    pub peak: u64,
    pub last: u64,
    pub reserved: u64,
}

const DIRECTIONS: [&str; 3] = ["h2d", "d2h", "d2d"];

impl Default for Summary {
    fn default() -> Summary {
        Summary {
            copies: std::array::from_fn(|_| Copies::new()),
            launches: 0,
            by_dtype: [0; DType::ALL.len()],
            by_op: HashMap::new(),
            syncs: 0,
            implicit_lines: Vec::new(),
            waits: Vec::new(),
            races: Vec::new(),
            batches: Vec::new(),
            collectives: Vec::new(),
            busy: HashMap::new(),
            work: BTreeMap::new(),
            allocations: 0,
            out_of_memory: 0,
            memory: BTreeMap::new(),
            current: None,
            before: Vec::new(),
            after: Vec::new(),
            marks: false,
        }
    }
}

impl Summary {
    /// Of what happens on a machine from now on.
    pub(crate) fn begin(machine: &Machine) -> Summary {
        let mut sums = Summary::default();
        sums.work.insert(Device::Cpu, Computing::default());
        for gpu in machine.gpus() {
            sums.work.insert(gpu.device, Computing::default());
            let (allocated, reserved) = gpu.memory();
            let memory = Memory { start: allocated, peak: allocated, last: allocated, reserved };
            sums.memory.insert(gpu.device.to_string(), memory);
        }
        // What did not happen has the clock that it would have had.
        let clocks = machine.gpus().iter().map(|gpu| gpu.backend.properties().clock);
        let clock = clocks.max_by_key(|clock| *clock == Clock::Modelled).unwrap_or(Clock::Measured);
        sums.copies.iter_mut().for_each(|copies| copies.clock = clock);
        sums.before = moments(machine);
        sums.marks = machine.shared.has_both_clocks();
        sums
    }

    /// All has happened; to be called once the events are in.
    pub(crate) fn end(&mut self, machine: &Machine) {
        self.after = moments(machine);
    }

    pub(crate) fn of(events: &[Event]) -> Summary {
        let mut sums = Summary::default();
        events.iter().for_each(|event| sums.take(event));
        sums.settle();
        sums
    }

    /// Adds an event.
    pub(crate) fn take(&mut self, event: &Event) {
        match &event.body {
            Body::Alloc { device, allocated, reserved, .. } if device.is_cuda() => {
                self.allocations += 1;
                self.note_memory(*device, *allocated, *reserved);
            }
            Body::Free { device, allocated, reserved, .. } if device.is_cuda() => {
                self.note_memory(*device, *allocated, *reserved);
            }
            Body::Launch { device, op, kernel, dtype, bytes, flops, span, .. } => {
                self.note_dtype(*dtype);
                // What only moves or casts computes nothing.
                if kernel.as_str() != MapOp::Identity.kernel_name() {
                    self.work.entry(*device).or_default().add(*bytes, *flops, event.source.line);
                }
                if device.is_cuda() {
                    self.launches += 1;
                    *self.by_op.entry((*op, *dtype)).or_default() += 1;
                    self.busy.entry(*device).or_default().take(*span);
                }
            }
            Body::Copy { from, to, bytes, pinned, blocking, span, .. } => {
                for device in [from, to].into_iter().filter(|device| device.is_cuda()) {
                    self.busy.entry(*device).or_default().take(*span);
                }
                let direction = match (from.is_cuda(), to.is_cuda()) {
                    (true, false) => 1,
                    (true, true) => 2,
                    (false, true) => 0,
                    (false, false) => return,
                };
                if let Some(copies) = self.copies.get_mut(direction) {
                    copies.add(*bytes, (*pinned, *blocking), *span, event.source.line);
                }
            }
            Body::Sync { implicit, cause, span, .. } => {
                match implicit {
                    true => self.implicit_lines.push(event.source.line),
                    false => self.syncs += 1,
                }
                self.note_wait(*cause, *span, event.source);
            }
            Body::Hold { cause, span, .. } => self.note_wait(*cause, *span, event.source),
            Body::Batch { workers, pinned } => {
                let batches = Batches { workers: *workers, pinned: *pinned, line: event.source.line };
                match self.batches.iter_mut().find(|(known, _)| *known == batches) {
                    Some((_, count)) => *count += 1,
                    None => self.batches.push((batches, 1)),
                }
            }
            Body::Collective { op, bytes, ranks, devices, span, .. } => {
                for device in devices.iter().filter(|device| device.is_cuda()) {
                    self.busy.entry(*device).or_default().take(*span);
                }
                let (op, bytes, ranks, span, line) = (*op, *bytes, *ranks, *span, event.source.line);
                self.collectives.push(Collective { op, bytes, ranks, span, line });
            }
            Body::Race { race } => self.note_race(event.source, race),
            Body::OutOfMemory { .. } => self.out_of_memory += 1,
            _ => {}
        }
    }

    /// Everything by name.
    pub(crate) fn map(&mut self) -> Map {
        self.settle();
        let line = |line: &u32| Dynamic::from(INT::from(*line));
        let mut out = Map::new();
        for (name, copies) in DIRECTIONS.iter().zip(&self.copies) {
            out.insert((*name).into(), copies.map(&|nanos, clock| self.ms(nanos, Clocks::of(clock))).into());
        }
        out.insert("launches".into(), self.launches.into());
        out.insert("syncs".into(), self.syncs.into());
        out.insert("implicit_syncs".into(), (self.implicit_lines.len() as INT).into());
        out.insert(
            "implicit_sync_lines".into(),
            self.implicit_lines.iter().map(line).collect::<Array>().into(),
        );
        let waits = self.waits.iter().map(|wait| wait.value(self.ms(wait.nanos, Clocks::of(wait.clock))));
        out.insert("waits".into(), waits.collect::<Array>().into());
        let batches = self.batches.iter().map(|(batches, count)| batches.value(*count));
        out.insert("batches".into(), batches.collect::<Array>().into());
        out.insert("races".into(), self.races.iter().map(race_value).collect::<Array>().into());
        out.insert("collectives".into(), {
            let one = |c: &Collective| c.value(self.ms(c.span.nanos, Clocks::of(c.span.clock)));
            self.collectives.iter().map(one).collect::<Array>().into()
        });
        let waited: u64 = self.waits.iter().map(|wait| wait.nanos).sum();
        let clocks = self.waits.iter().map(|wait| Clocks::of(wait.clock));
        let clocks = clocks.fold(Clocks::default(), Clocks::and);
        out.insert("waited_ms".into(), self.ms(waited, clocks));
        out.insert("clock".into(), self.clock().name().into());
        let spans = self.spans();
        let by_device = |figure: &dyn Fn(&Worked) -> u64| -> Map {
            let entry =
                |all: &Worked| (all.0.to_string().as_str().into(), self.ms(figure(all), self.clocks(all.0)));
            map_of(spans.iter().map(entry))
        };
        out.insert("busy_ms".into(), by_device(&|(_, busy, _)| *busy).into());
        out.insert("idle_ms".into(), by_device(&|(_, busy, all)| all.saturating_sub(*busy)).into());
        let retries = self.after.iter().zip(&self.before);
        let retries = retries.map(|(after, before)| {
            (after.device.to_string().as_str().into(), (after.retries - before.retries).into())
        });
        out.insert("alloc_retries".into(), map_of(retries).into());
        out.insert("reserved".into(), self.memory_map(|m| m.reserved as INT).into());
        out.insert("by_op".into(), self.ops().into());
        let work =
            self.work.iter().map(|(device, work)| (device.to_string().as_str().into(), work.map().into()));
        out.insert("work".into(), map_of(work).into());
        out.insert("allocations".into(), self.allocations.into());
        out.insert("oom".into(), self.out_of_memory.into());
        out.insert("peak".into(), self.memory_map(|m| m.peak as INT).into());
        out.insert("leaked".into(), self.memory_map(|m| m.last as INT - m.start as INT).into());
        let counts = DType::ALL.iter().zip(&self.by_dtype).filter(|(_, n)| **n > 0);
        let counts = counts.map(|(dtype, n)| (dtype.name().into(), (*n).into()));
        out.insert("by_dtype".into(), map_of(counts).into());
        out
    }

    /// The most bytes that an accelerator held at once, where it took any.
    pub(crate) fn peak(&mut self, device: Device) -> Option<u64> {
        self.settle();
        let memory = self.memory.get(&device.to_string())?;
        (memory.peak > memory.start).then_some(memory.peak)
    }

    fn memory_map(&self, figure: impl Fn(&Memory) -> INT) -> Map {
        map_of(self.memory.iter().map(|(device, m)| (device.as_str().into(), figure(m).into())))
    }

    /// Launches on accelerators, by operation and by dtype.
    fn ops(&self) -> Map {
        let mut ops: BTreeMap<&str, Map> = BTreeMap::new();
        for ((op, dtype), count) in &self.by_op {
            ops.entry(op.as_str()).or_default().insert(dtype.name().into(), (*count).into());
        }
        map_of(ops.into_iter().map(|(op, counts)| (op.into(), counts.into())))
    }

    /// By accelerator, how long it worked, and how long the run took on its clock: from the beginning to when the host
    /// had ended and its work was done.
    fn spans<'s>(&'s self) -> Vec<Worked> {
        let mut devices: Vec<Device> = self.before.iter().map(|before| before.device).collect();
        devices.extend(self.busy.keys().filter(|device| !self.before.iter().any(|b| b.device == **device)));
        sorted::sort(&mut devices);
        let of = |device: &Device| {
            let moment = |moments: &'s [Before]| moments.iter().find(|m| m.device == *device);
            let at = |moments| moment(moments).map(|m| m.now);
            let worked = |moments| moment(moments).map_or(0, |m| m.worked);
            let busy = self.busy.get(device);
            let ends = busy.and_then(Busy::ends);
            let begin = at(&self.before).into_iter().chain(ends.map(|ends| ends.0)).min().unwrap_or(0);
            let end = at(&self.after).into_iter().chain(ends.map(|ends| ends.1)).max().unwrap_or(0);
            // What a short kernel is said to have run beside is done later than was told.
            let worked = worked(&self.after).saturating_sub(worked(&self.before));
            (*device, busy.map_or(0, Busy::nanos).max(worked), end.saturating_sub(begin))
        };
        devices.iter().map(of).collect()
    }

    /// Milliseconds as a script gets them.
    fn ms(&self, nanos: u64, clocks: Clocks) -> Dynamic {
        let ms = (nanos as f64 / 1e6).into();
        if self.marks { carry::marked(ms, clocks) } else { ms }
    }

    /// The clock of the accelerators' times: what has no times has the clock that it would have had.
    fn clock(&self) -> Clock {
        self.copies.first().map_or(Clock::Measured, |copies| copies.clock)
    }

    fn clocks(&self, device: Device) -> Clocks {
        let moment = self.before.iter().find(|moment| moment.device == device);
        moment.map_or(Clocks::default(), |moment| Clocks::of(moment.clock))
    }

    fn note_wait(&mut self, cause: Name, span: Span, source: Source) {
        self.waits.push(Wait { cause, nanos: span.nanos, clock: span.clock, source });
    }

    fn note_race(&mut self, source: Source, race: &Race) {
        let same = |known: &Race| (known.earlier, known.kind) == (race.earlier, race.kind);
        match self.races.iter_mut().find(|(at, known, _)| *at == source && same(known)) {
            Some((_, _, count)) => *count += 1,
            None => self.races.push((source, Box::new(race.clone()), 1)),
        }
    }

    fn note_memory(&mut self, device: Device, allocated: u64, reserved: u64) {
        if self.current.is_none_or(|(current, _)| current != device) {
            self.settle();
            let known = self.memory.get(&device.to_string()).copied().unwrap_or_default();
            self.current = Some((device, known));
        }
        if let Some((_, memory)) = &mut self.current {
            memory.peak = memory.peak.max(allocated);
            memory.last = allocated;
            memory.reserved = memory.reserved.max(reserved);
        }
    }

    fn note_dtype(&mut self, dtype: DType) {
        if let Some(count) = self.by_dtype.get_mut(dtype as usize) {
            *count += 1;
        }
    }

    /// Files the memory of the current accelerator under its name.
    fn settle(&mut self) {
        if let Some((device, memory)) = self.current.take() {
            self.memory.insert(device.to_string(), memory);
        }
    }
}

/// The accelerators of a machine as they are now.
fn moments(machine: &Machine) -> Vec<Before> {
    let moment = |gpu: &Arc<Context>| Before {
        device: gpu.device,
        clock: gpu.backend.properties().clock,
        now: gpu.backend.now(),
        worked: gpu.backend.worked(),
        retries: gpu.peaks().map_or(0, |stats| stats.num_alloc_retries),
    };
    machine.gpus().iter().map(moment).collect()
}

/// A race with both lines, both streams and the tensor.
fn race_value((source, race, count): &(Source, Box<Race>, INT)) -> Dynamic {
    let mut map = Map::new();
    let mut put = |name: &str, value: Dynamic| map.insert(name.into(), value);
    let shape: Array = race.shape.iter().map(|size| (*size as INT).into()).collect();
    put("kind", race.kind.as_str().into());
    put("line", INT::from(source.line).into());
    put("op", race.op.as_str().into());
    put("by", race.by.to_string().into());
    put("stream", INT::from(race.stream).into());
    put("earlier_line", INT::from(race.earlier.line).into());
    put("earlier_op", race.earlier_op.as_str().into());
    put("earlier_by", race.earlier_by.to_string().into());
    put("earlier_stream", INT::from(race.earlier_stream).into());
    put("device", race.device.to_string().into());
    put("shape", shape.into());
    put("address", (race.address as INT).into());
    put("count", (*count).into());
    map.into()
}

impl Computing {
    fn add(&mut self, bytes: u64, flops: u64, line: u32) {
        self.ops += 1;
        self.bytes += bytes;
        self.flops += flops;
        if bytes >= self.most {
            (self.most, self.line) = (bytes, line);
        }
    }

    fn map(&self) -> Map {
        let mut map = Map::new();
        map.insert("ops".into(), self.ops.into());
        map.insert("bytes".into(), (self.bytes as INT).into());
        map.insert("flops".into(), (self.flops as INT).into());
        map.insert("line".into(), INT::from(self.line).into());
        map
    }
}

impl Wait {
    fn value(&self, ms: Dynamic) -> Dynamic {
        let mut map = Map::new();
        map.insert("cause".into(), self.cause.as_str().into());
        map.insert("ms".into(), ms);
        map.insert("line".into(), INT::from(self.source.line).into());
        if self.source.caller > 0 {
            map.insert("caller".into(), INT::from(self.source.caller).into());
        }
        map.insert("clock".into(), self.clock.name().into());
        map.into()
    }
}

impl Copies {
    fn new() -> Copies {
        let clock = Clock::Measured;
        Copies { count: 0, bytes: 0, pinned: 0, blocking: 0, nanos: 0, clock, lines: Vec::new() }
    }

    fn add(&mut self, bytes: u64, (pinned, blocking): (bool, bool), span: Span, line: u32) {
        self.count += 1;
        self.bytes += bytes as INT;
        self.pinned += INT::from(pinned);
        self.blocking += INT::from(blocking);
        self.nanos += span.nanos;
        self.clock = span.clock;
        self.lines.push(line);
    }

    fn map(&self, ms: &dyn Fn(u64, Clock) -> Dynamic) -> Map {
        let lines: Array = self.lines.iter().map(|line| INT::from(*line).into()).collect();
        let mut map = Map::new();
        map.insert("count".into(), self.count.into());
        map.insert("bytes".into(), self.bytes.into());
        map.insert("pinned".into(), self.pinned.into());
        map.insert("blocking".into(), self.blocking.into());
        map.insert("ms".into(), ms(self.nanos, self.clock));
        map.insert("clock".into(), self.clock.name().into());
        map.insert("lines".into(), lines.into());
        map
    }
}

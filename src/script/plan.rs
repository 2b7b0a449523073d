//! What a script needs and takes on simulated devices, found out by running it without values.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use rhai::Dynamic;

use crate::base::event::{Body, Event, Name, Page, Reader, Span};
use crate::base::{Device, Error, Kind};
use crate::device::Machine;

use super::busy::Busy;
use super::engine::{Interpreter, Limits, Stopped};
use super::fault::{Fault, Origin};
use super::host::Silent;

/// What a script took on a machine, up to its end or to where it stopped.
#[derive(Debug)]
pub struct Planned {
    /// The most bytes that tensors held at once, of the accelerator that held most, and its number.
    pub peak: u64,
    pub fullest: u16,
    /// The most bytes that its allocator took for them.
    pub reserved: u64,
    /// Nanoseconds from the script's beginning to the end of all that it began.
    pub nanos: u64,
    pub shares: Shares,
    /// Requests for memory that were refused.
    pub refusals: u64,
    pub end: Ended,
}

/// How a planned script ended.
#[derive(Debug)]
pub enum Ended {
    Ran,
    /// A device was full.
    Full(Box<Fault>),
    Stopped(Box<Fault>),
    /// By an interrupt or a timeout.
    Cancelled(Error),
}

/// Parts of the time, from 0 to 1, that together make all of it.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Shares {
    /// The busiest accelerator computed.
    pub kernels: f64,
    /// It only copied, or exchanged with others.
    pub copies: f64,
    /// It had nothing to do, and another one worked: a pipeline, or one GPU that has more to do than the rest.
    pub others: f64,
    /// None had anything to do: the host was on its own.
    pub host: f64,
    /// The operation whose kernels took longest, with its part of the kernels' time.
    pub longest: Option<(Name, f64)>,
}

/// Runs a script on a machine that is there for nothing else and computes no values. Nothing that it prints is shown.
pub fn plan(machine: &Arc<Machine>, origin: &Origin, arguments: Dynamic) -> Planned {
    let tally = Arc::new(Tallied::default());
    let start = now(machine);
    let subscription = machine.bus().read(Arc::clone(&tally) as _);
    let mut interpreter = Interpreter::new(Arc::clone(machine), Arc::new(Silent), &Limits::default());
    interpreter.set_constant("ARGS", arguments);
    let result = interpreter.evaluate(0, origin);
    // What the devices still have to do belongs to the script.
    let end = machine.gpus().iter().map(|gpu| gpu.backend.now()).max().unwrap_or(0).max(now(machine));
    drop(subscription);
    let tally = tally.lock();
    let end = tally.last_end().unwrap_or(0).max(end);
    let (fullest, peak) = tally.fullest();
    Planned {
        peak,
        fullest,
        reserved: tally.reserved.get(&fullest).copied().unwrap_or(0),
        nanos: end.saturating_sub(start),
        shares: tally.shares(end.saturating_sub(start)),
        refusals: tally.refusals,
        end: match result {
            Ok(_) => Ended::Ran,
            Err(Stopped::Fault(fault)) if fault.kind == Kind::OutOfMemoryError.to_string() => {
                Ended::Full(fault)
            }
            Err(Stopped::Fault(fault)) => Ended::Stopped(fault),
            Err(Stopped::Cancelled(error)) => Ended::Cancelled(error),
        },
    }
}

fn now(machine: &Machine) -> u64 {
    machine.shared.host_time().map_or(0, |host| host.now())
}

#[derive(Default)]
struct Tallied(Mutex<Tally>);

impl Tallied {
    fn lock(&self) -> MutexGuard<'_, Tally> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl Reader for Tallied {
    fn on_page(&self, page: &Page) {
        let mut tally = self.lock();
        page.iter().for_each(|event| tally.take(event));
    }
}

/// Tallied over events: nothing grows with the run.
#[derive(Default)]
struct Tally {
    peaks: BTreeMap<u16, u64>,
    reserved: BTreeMap<u16, u64>,
    kernels: HashMap<Device, Busy>,
    work: HashMap<Device, Busy>,
    /// When any of them worked.
    any: Busy,
    /// Nanoseconds of kernels by operation.
    ops: HashMap<Name, u64>,
    refusals: u64,
}

impl Tally {
    fn take(&mut self, event: &Event) {
        match &event.body {
            Body::Alloc { device: Device::Cuda(index), allocated, reserved, .. } => {
                let most = self.reserved.entry(*index).or_default();
                *most = (*most).max(*reserved);
                let peak = self.peaks.entry(*index).or_default();
                *peak = (*peak).max(*allocated);
            }
            Body::Launch { device, op, span, .. } if device.is_cuda() => {
                self.kernels.entry(*device).or_default().take(*span);
                self.works(*device, *span);
                *self.ops.entry(*op).or_default() += span.nanos;
            }
            Body::Copy { from, to, span, .. } => {
                for device in [from, to].into_iter().filter(|device| device.is_cuda()) {
                    self.works(*device, *span);
                }
            }
            Body::Collective { devices, span, .. } => {
                for device in devices.iter().filter(|device| device.is_cuda()) {
                    self.works(*device, *span);
                }
            }
            Body::OutOfMemory { .. } => self.refusals += 1,
            _ => {}
        }
    }

    fn works(&mut self, device: Device, span: Span) {
        self.work.entry(device).or_default().take(span);
        self.any.take(span);
    }

    fn fullest(&self) -> (u16, u64) {
        let all = self.peaks.iter().map(|(index, peak)| (*index, *peak));
        all.rev().max_by_key(|(_, peak)| *peak).unwrap_or((0, 0))
    }

    fn last_end(&self) -> Option<u64> {
        self.work.values().filter_map(|busy| busy.ends().map(|(_, end)| end)).max()
    }

    fn shares(&self, all: u64) -> Shares {
        let busiest =
            self.work.iter().max_by_key(|(device, busy)| (busy.nanos(), std::cmp::Reverse(**device)));
        let Some((device, busy)) = busiest.filter(|_| all > 0) else {
            return Shares { host: 1.0, ..Shares::default() };
        };
        let part = |nanos: u64| (nanos as f64 / all as f64).clamp(0.0, 1.0);
        let kernels = self.kernels.get(device).map_or(0, Busy::nanos);
        let longest = self.ops.iter().max_by_key(|(op, nanos)| (**nanos, std::cmp::Reverse(op.as_str())));
        let launched: u64 = self.ops.values().sum();
        Shares {
            kernels: part(kernels),
            copies: part(busy.nanos().saturating_sub(kernels)),
            others: part(self.any.nanos().saturating_sub(busy.nanos())),
            host: part(all.saturating_sub(self.any.nanos().max(busy.nanos()))),
            longest: longest.map(|(op, nanos)| (*op, *nanos as f64 / launched.max(1) as f64)),
        }
    }
}

//! The seam: what a device must be able to do. `cpu`, `sim` and `cuda` implement it.

use std::sync::Mutex;

use crate::base::event::{Clock, Span};
use crate::base::{DType, Device, Error, Result};
use crate::device::buffer::Buffer;

use super::cpu::memory::HostBlock;
use super::kernel::Launch;
use super::pool::{Memory, OutOfMemory, Pool};

/// The caching allocator as every accelerator holds it.
pub type DevicePool = Pool<Box<dyn Memory + Send>>;

/// A contiguous run of bytes between two memories.
pub struct Transfer<'a> {
    pub from: (Device, &'a Buffer, usize),
    pub to: (Device, &'a Buffer, usize),
    pub bytes: usize,
    pub non_blocking: bool,
    /// The stream that carries it out; between two accelerators the source's.
    pub stream: u32,
    /// The target's stream, between two accelerators: the copy waits for its work, and its work for the copy.
    pub target_stream: u32,
}

/// A part of a captured graph.
pub enum GraphWork<'a> {
    Launch(Launch<'a>),
    /// Does not hold the host.
    Copy(Transfer<'a>),
}

/// When work ran.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// Nobody asked.
    Unknown,
    Ran(Span),
    /// It may run still: [`Backend::timings`] gives the span under this ticket.
    Later(u64),
}

/// How a transfer went.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    pub when: When,
    /// The host's side was page-locked.
    pub pinned: bool,
    /// The host was held until the end.
    pub blocking: bool,
    /// The host's waiting, where it was held: until the end, or until it had handed the bytes over.
    pub waited: Option<Span>,
}

/// Why the host was held, beside copies and waits that somebody asked for, and how long.
pub type Hold = (&'static str, Span);

/// Memory in which a library works while it computes a launch.
#[derive(Debug)]
pub struct Workspace {
    pub buffer: Buffer,
    /// Bytes that were asked for.
    pub requested: u64,
    /// Whose it is, such as `cublas workspace`.
    pub owner: &'static str,
    /// It is for a search, after which PyTorch gives what is cached back to the device.
    pub search: bool,
}

/// Why a backend gives no memory.
#[derive(Debug)]
pub enum Refusal {
    /// The device is full; the state of its allocator says what would help.
    OutOfMemory(Box<OutOfMemory>),
    Other(Error),
}

impl From<Box<OutOfMemory>> for Refusal {
    fn from(full: Box<OutOfMemory>) -> Refusal {
        Refusal::OutOfMemory(full)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Other(error)
    }
}

/// A point in a stream's work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    pub device: Device,
    pub stream: u32,
    /// Nanoseconds on the device's clock at which the work before it is done, or a backend's own number.
    pub value: u64,
}

/// What a device says about itself.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Properties {
    /// Ends in `(simulated)` where it is.
    pub name: String,
    pub simulated: bool,
    pub total_memory: u64,
    pub capability: (u32, u32),
    pub multiprocessors: u32,
    /// Threads that a multiprocessor holds at a time.
    pub threads_per_multiprocessor: u32,
    /// Bytes.
    pub l2_cache: u64,
    /// Reaches the memory of other devices of which this is true as well.
    pub peer_access: bool,
    pub clock: Clock,
}

/// What a device says of its state beside its memory; `None` where nobody can tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vitals {
    /// The part, from 0 to 1, of the last second in which a kernel ran; on a simulated device of its clock.
    pub utilisation: Option<f64>,
    /// Watts that are drawn, and the most that may be.
    pub power: Option<[f64; 2]>,
    /// The driver's version, such as `580.159.04`.
    pub driver: Option<String>,
    /// The newest CUDA that the driver supports.
    pub cuda: Option<(u32, u32)>,
}

/// What passes between the devices of a group's ranks at once: steps one after the other, in each of which every device
/// gives as many bytes to the next.
pub struct Exchange<'a> {
    pub devices: &'a [Device],
    /// The stream that carries it, on each.
    pub stream: u32,
    /// When the last of them is ready, in nanoseconds of their clock.
    pub ready: u64,
    /// Steps that carry `bytes`.
    pub steps: u64,
    pub bytes: u64,
    /// Further steps, which carry nothing to speak of.
    pub hops: u64,
}

/// What a backend keeps of a graph between two replays.
pub type GraphCache = Option<Box<dyn std::any::Any + Send>>;

/// A device. Calls may come from several threads.
pub trait Backend: Send + Sync {
    fn device(&self) -> Device;

    fn properties(&self) -> &Properties;

    /// Takes memory for work on `stream`. Zero bytes give a buffer that costs nothing.
    fn allocate(&self, bytes: usize, stream: u32) -> std::result::Result<Buffer, Refusal>;

    /// Takes memory that is not the device's, for what is computed beside the clock of a simulated one.
    fn unseen(&self, _bytes: usize) -> Result<Buffer> {
        Err(Error::runtime("only simulated devices work beside a clock"))
    }

    fn free(&self, buffer: Buffer);

    /// Page-locks host memory, so that copies between it and this device need not hold the host.
    fn page_lock(&self, block: &HostBlock) -> Result<()>;

    /// So many bytes of page-locked memory are taken. A host whose time is modelled has them page-locked on its clock,
    /// unless as many were given back before.
    fn takes_pinned(&self, _bytes: u64) {}

    /// The caching allocator, where memory comes from one.
    fn pool(&self) -> Option<&Mutex<DevicePool>>;

    /// Lets no more than so many bytes be taken from it.
    fn limit_memory(&self, bytes: u64) {
        if let Some(pool) = self.pool() {
            pool.lock().unwrap_or_else(|e| e.into_inner()).keep_within(bytes);
        }
    }

    /// The memory that the library behind a launch works in, where it comes from the caching allocator: taken before the
    /// launch, and freed after it.
    fn workspace(&self, launch: &Launch) -> std::result::Result<Option<Workspace>, Refusal> {
        let _ = launch;
        Ok(None)
    }

    /// Forgets what earlier launches taught it, such as which algorithms are fast; streams are handed out from the first.
    fn begin_anew(&self) {}

    /// How it is.
    fn vitals(&self) -> Vitals {
        Vitals::default()
    }

    /// Runs or enqueues a kernel; says when it ran if `timed` asks for it.
    fn launch(&self, launch: &Launch) -> Result<When>;

    /// Whether it has [`Kernel::Attention`](super::kernel::Kernel::Attention) for rows of `width` elements. Where it has
    /// not, attention is made of products and a softmax.
    fn attends(&self, dtype: DType, width: usize) -> bool {
        let _ = (dtype, width);
        false
    }

    /// Whether it has [`Kernel::LstmCell`](super::kernel::Kernel::LstmCell). Where it has not, cells are made of functions
    /// of their gates.
    fn has_lstm_cell(&self) -> bool {
        false
    }

    /// The spans of timed work that is done by now, by ticket, each given once.
    fn timings(&self) -> Vec<(u64, Span)> {
        Vec::new()
    }

    /// Launches captured work on `stream`, in order, as one; says of each part when it ran. What would serve the next
    /// replay of the same graph is left in `kept`.
    fn replay(&self, stream: u32, work: &[GraphWork], kept: &mut GraphCache) -> Result<Vec<When>> {
        let _ = (stream, kept);
        self.replay_in_parts(work)
    }

    /// Launches captured work part by part.
    fn replay_in_parts(&self, work: &[GraphWork]) -> Result<Vec<When>> {
        let each = |part: &GraphWork| match part {
            GraphWork::Launch(launch) => self.launch(launch),
            GraphWork::Copy(transfer) => self.transfer(transfer).map(|moved| moved.when),
        };
        work.iter().map(each).collect()
    }

    /// Copies between this device's memory and the host's or another device's.
    fn transfer(&self, transfer: &Transfer) -> Result<Moved>;

    /// When an exchange takes place, where the time of its devices is modelled.
    fn exchange(&self, exchange: &Exchange) -> Result<Option<Span>> {
        let _ = exchange;
        Ok(None)
    }

    /// Computes what has its time elsewhere, as a part of an exchange.
    fn compute(&self, launch: &Launch) -> Result<()> {
        self.launch(launch).map(|_| ())
    }

    /// What held the host since this was asked last, where the backend knows: a queue without room, memory that could
    /// be given back only once the device was idle.
    fn take_hold(&self) -> Option<Hold> {
        None
    }

    /// A stream of one's own. Streams may come round again, as PyTorch's do after 32.
    fn create_stream(&self) -> Result<u32>;

    fn record(&self, stream: u32) -> Result<Mark>;

    /// Makes later work of `stream` wait for `mark`, which may be another device's.
    fn wait(&self, stream: u32, mark: Mark) -> Result<()>;

    fn query(&self, mark: Mark) -> Result<bool>;

    /// Milliseconds between two marks of this device, both reached; negative where `to` came first.
    fn elapsed(&self, from: Mark, to: Mark) -> Result<f64>;

    /// Waits for `stream`, or for all of them; the span is the host's waiting.
    fn synchronize(&self, stream: Option<u32>) -> Result<Span>;

    /// Waits for a mark.
    fn synchronize_mark(&self, mark: Mark) -> Result<Span>;

    /// The host's time on the device's clock, in nanoseconds.
    fn now(&self) -> u64;

    /// Nanoseconds of its time that kernels took so far, those that are still to run among them, where that is known.
    fn worked(&self) -> u64 {
        0
    }
}

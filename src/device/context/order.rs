//! Points in streams and waiting for them, and the races that come of not doing so.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::base::event::{Body, Race, Sizes, Source};
use crate::base::{Device, Result};
use crate::device::backend::{GraphWork, Transfer};
use crate::device::buffer::Buffer;
use crate::device::capture::GRAPH_POOLS;
use crate::device::kernel::{Arg, Launch, View};
use crate::device::races::{Access, AccessRegion, FoundRaces, Freeing, Who};
use crate::device::streams::Streams;

use super::Context;
use super::recorded::{Foreseen, Recorded};

/// Makes the stream current again that was so before.
#[must_use = "the stream is current as long as it lives"]
pub(crate) struct OnStream {
    context: Arc<Context>,
    before: u32,
}

impl Drop for OnStream {
    fn drop(&mut self) {
        self.context.set_stream(self.before);
    }
}

impl Context {
    /// The stream that was current among some of a thread's.
    pub(crate) fn stream_of(&self, streams: &Streams) -> u32 {
        streams.get(self.id)
    }

    /// The thread's work goes to `stream` until the guard is dropped.
    pub(crate) fn on_stream(self: &Arc<Context>, stream: u32) -> OnStream {
        OnStream { before: self.set_stream(stream), context: Arc::clone(self) }
    }

    /// The present end of a stream's work.
    pub fn record(&self, stream: u32) -> Result<Recorded> {
        let mark = self.backend.record(stream)?;
        Ok(Recorded { mark, moment: self.watched.then(|| self.shared.races.moment(self.device, stream)) })
    }

    /// Makes later work of `stream` wait for a point, which may be another device's; the host goes on.
    pub fn wait(&self, stream: u32, point: &Recorded) -> Result<()> {
        self.backend.wait(stream, point.mark)?;
        if let Some(moment) = point.moment.as_ref().filter(|_| self.watched) {
            self.shared.races.wait(self.device, stream, moment);
        }
        Ok(())
    }

    /// Makes later work of `stream` wait for all that another stream of this or another device was given so far.
    pub(crate) fn wait_for(&self, stream: u32, other: &Context, other_stream: u32) -> Result<()> {
        self.wait(stream, &other.record(other_stream)?)
    }

    /// Whether a point is reached.
    pub fn reached(&self, point: &Recorded) -> Result<bool> {
        let reached = self.backend.query(point.mark)?;
        if let Some(moment) = point.moment.as_ref().filter(|_| reached) {
            self.shared.races.host_waits(moment);
        }
        Ok(reached)
    }

    /// Waits for a point.
    pub fn synchronize_mark(&self, point: impl Into<Recorded>, cause: &'static str) -> Result<()> {
        let point = point.into();
        self.check_not_capturing("waiting for an event")?;
        let span = self.backend.synchronize_mark(point.mark)?;
        if let Some(moment) = &point.moment {
            self.shared.races.host_waits(moment);
        }
        self.note_late();
        self.note_sync(cause, false, span);
        Ok(())
    }

    /// The host reads memory of its own itself, without a kernel.
    pub(crate) fn host_reads(&self, op: &'static str, view: &View) {
        if view.buffer.pinned && self.shared.races.has_pinned() {
            self.watch_host(op, view, false);
        }
    }

    /// The host has waited for a stream, or for the device.
    pub(super) fn watch_wait(&self, stream: Option<u32>) {
        if self.watched {
            self.shared.races.host_waits_for(self.device, stream);
        }
    }

    /// Watches an accelerator's kernel.
    #[inline]
    pub(super) fn watch_launch(&self, launch: &Launch) {
        if self.watched {
            self.watch_kernel(launch.op, launch.stream, launch.inputs, launch.outputs);
        }
    }

    /// Watches what a kernel of the CPU does to pinned memory that copies use.
    #[inline]
    pub(super) fn watch_pinned(&self, launch: &Launch) {
        if self.shared.races.has_pinned() {
            self.watch_host_kernel(launch);
        }
    }

    /// Watches what an exchange between ranks does on a stream, which first waits for the thread's own; gives its end.
    pub(crate) fn watch_exchange(
        &self,
        op: &'static str,
        stream: u32,
        inputs: &[Arg],
        outputs: &[View],
    ) -> Foreseen {
        if !self.watched {
            return Foreseen::default();
        }
        let given = self.shared.races.moment(self.device, self.stream());
        self.shared.races.wait(self.device, stream, &given);
        self.watch_kernel(op, stream, inputs, outputs);
        Foreseen(Some(self.shared.races.moment(self.device, stream)))
    }

    /// The thread's stream has waited for an exchange.
    pub(crate) fn watch_joined(&self, exchange: &Foreseen) {
        if let Some(moment) = &exchange.0 {
            self.shared.races.wait(self.device, self.stream(), moment);
        }
    }

    /// Watches a kernel that is written down.
    pub(crate) fn watch_capture(&self, op: &'static str, inputs: &[Arg], outputs: &[View]) {
        if self.watched {
            self.watch_kernel(op, self.stream(), inputs, outputs);
        }
    }

    #[cold]
    fn watch_host_kernel(&self, launch: &Launch) {
        let reads = launch.inputs.iter().filter_map(view);
        let each = reads.map(|view| (view, false)).chain(launch.outputs.iter().map(|view| (view, true)));
        each.filter(|(view, _)| view.buffer.pinned)
            .for_each(|(view, writes)| self.watch_host(launch.op, view, writes));
    }

    fn watch_kernel(&self, op: &'static str, stream: u32, inputs: &[Arg], outputs: &[View]) {
        // Writes first: what is read and written is written.
        let reads = inputs.iter().filter_map(view).map(|view| (view, false));
        let all = outputs.iter().map(|view| (view, true)).chain(reads);
        let all = all.filter(|(view, _)| view.buffer.address != 0).map(|(view, writes)| Access {
            device: self.device,
            buffer: view.buffer,
            region: AccessRegion::View(view),
            writes,
        });
        self.tell(self.shared.races.work((self.device, stream), self.who(op), all));
    }

    #[cold]
    fn watch_host(&self, op: &'static str, view: &View, writes: bool) {
        let access =
            Access { device: Device::Cpu, buffer: view.buffer, region: AccessRegion::View(view), writes };
        self.tell(self.shared.races.host(self.who(op), &access).into_iter().collect());
    }

    /// Watches a copy's accesses; where it held the host, that has waited for its stream.
    pub(crate) fn watch_copy(&self, transfer: &Transfer, blocking: bool) {
        if !self.watched {
            return;
        }
        let ends = [(&transfer.from, false), (&transfer.to, true)];
        let shapes = ends.map(|((device, buffer, _), _)| self.known_shape(*device, buffer.address));
        let accesses = ends.iter().zip(&shapes).filter_map(|(((device, buffer, offset), writes), shape)| {
            if !device.is_cuda() && !buffer.pinned || buffer.address == 0 {
                return None;
            }
            let region = AccessRegion::Bytes { offset: *offset, bytes: transfer.bytes, shape };
            Some(Access { device: *device, buffer, region, writes: *writes })
        });
        let races = &self.shared.races;
        if ends.iter().any(|((_, buffer, _), _)| buffer.pinned) {
            races.note_pinned();
        }
        let (from, to) = (transfer.from.0, transfer.to.0);
        let who = self.who("copy_");
        let found = if from.is_cuda() && to.is_cuda() {
            races.peer_copy((from, transfer.stream), (to, transfer.target_stream), who, accesses)
        } else {
            races.work((self.device, transfer.stream), who, accesses)
        };
        if blocking {
            races.host_waits_for(self.device, Some(transfer.stream));
        }
        self.tell(found);
    }

    /// Watches the parts of a graph.
    pub(super) fn watch_replay(&self, work: &[GraphWork]) {
        for part in work.iter().filter(|_| self.watched) {
            match part {
                GraphWork::Launch(Launch { op, inputs, outputs, stream, .. }) => {
                    self.watch_kernel(op, *stream, inputs, outputs);
                }
                GraphWork::Copy(transfer) => self.watch_copy(transfer, false),
            }
        }
    }

    /// Memory is about to go back.
    pub(super) fn watch_free(&self, buffer: &Buffer) {
        let races = &self.shared.races;
        let is_watched = self.watched || buffer.pinned && races.has_pinned();
        if buffer.address == 0 || !is_watched {
            return;
        }
        let owner = self.pool().filter(|_| races.has_side_streams());
        let owner = owner.and_then(|pool| pool.owner(buffer.address));
        // The host's allocator waits for the copies that use pinned memory, and a graph's memory is its own.
        let Some((owner, recorded)) = owner.filter(|(owner, _)| *owner < GRAPH_POOLS && !self.is_captured())
        else {
            return races.forget(self.device, buffer);
        };
        let found = races.free(&Freeing {
            device: self.device,
            buffer,
            owner,
            recorded: &recorded,
            current: self.stream(),
            shape: self.known_shape(self.device, buffer.address),
            source: self.shared.source(),
        });
        self.tell(found.into_iter().collect());
    }

    /// Memory was taken.
    #[inline]
    pub(super) fn watch_taken(&self, buffer: &Buffer) {
        if self.watched && self.shared.races.has_side_streams() {
            self.shared.races.taken(self.device, buffer);
        }
    }

    fn who(&self, op: &'static str) -> Who {
        Who { op, source: self.shared.source() }
    }

    /// The sizes of the tensor that this device's memory was taken for.
    fn known_shape(&self, device: Device, address: u64) -> Sizes {
        let table = (device == self.device && device.is_cuda()).then(|| self.live_table());
        table.and_then(|table| table.get(&address).map(|live| live.shape.clone())).unwrap_or_default()
    }

    fn tell(&self, found: FoundRaces) {
        for (source, race) in found {
            // What a lesson does by itself is no learner's mistake.
            if !source.is_hidden() && self.shared.races.is_new(source, &race) {
                self.shared.warn(&said(source, &race));
            }
            self.shared.bus.emit(source, || Body::Race { race });
        }
    }
}

fn view<'a>(arg: &'a Arg<'a>) -> Option<&'a View<'a>> {
    match arg {
        Arg::View(view) => Some(view),
        Arg::Scalar(_) => None,
    }
}

/// A race in words.
#[cold]
fn said(source: Source, race: &Race) -> String {
    let cells = source.cell != race.earlier.cell;
    let place = |at: Source| match (cells, at.line) {
        (_, 0) => "an unknown line".to_string(),
        (false, line) => format!("line {line}"),
        (true, line) => format!("line {line} of cell {}", at.cell),
    };
    let who = |by: Device, stream: u32| match by {
        Device::Cpu => "the host".to_string(),
        device => format!("stream {stream} of {device}"),
    };
    let (now, before) = (place(source), place(race.earlier));
    let (by, earlier_by) = (who(race.by, race.stream), who(race.earlier_by, race.earlier_stream));
    let sizes: SmallVec<[String; 4]> = race.shape.iter().map(ToString::to_string).collect();
    let what = format!("the tensor of shape [{}] at {:#x}", sizes.join(", "), race.address);
    let (op, earlier_op) = (race.op, race.earlier_op);
    if &*race.kind == "free after use" {
        return format!(
            "race on {}: {now} frees {what} while {earlier_by} may still use it ({before}, {earlier_op}); {by} gets its \
             memory back, and may give it to the next tensor at once. Before the tensor goes, `x.record_stream(s)`, or \
             have the stream that it was made on wait: `wait_stream(s)`",
            race.device
        );
    }
    let (does, did) = match &*race.kind {
        "read after write" => ("reads", "writes"),
        "write after read" => ("writes to", "reads"),
        _ => ("writes to", "writes"),
    };
    let cure = match race.by {
        Device::Cpu => "wait for the copy first: an event's synchronize(), or the stream's",
        _ => "have one stream wait for the other: `wait_stream`, or an event",
    };
    format!(
        "race on {}: in {now}, {by} {does} {what} ({op}) while {earlier_by} still {did} it ({before}, {earlier_op}); \
         nothing orders the two: {cure}",
        race.device
    )
}

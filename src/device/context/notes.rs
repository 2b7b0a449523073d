//! What a device did, as events.

use std::collections::HashMap;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

use crate::base::event::{Body, Clock, Sizes, Span};
use crate::device::backend::{Transfer, When};
use crate::device::buffer::Buffer;
use crate::device::context::late::Late;
use crate::device::host_time::keep_event;
use crate::device::kernel::Launch;
use crate::device::live::{Live, Purpose};
use crate::device::shared::ASIDE;

use super::Context;

/// After so many launches it is asked which are done.
const LATE_AT_A_TIME: usize = 64;
const UNKNOWN_SPAN: Span = Span { start: 0, nanos: 0, clock: Clock::Measured };

impl Context {
    pub(super) fn note_launch(&self, launch: &Launch, when: When) {
        self.note_when(when, |span| Body::Launch {
            device: self.device,
            // The CPU has no streams: there it is the host's thread that computes.
            stream: if self.device.is_cuda() { launch.stream } else { ASIDE.get() },
            op: launch.op.into(),
            kernel: launch.kernel.name().into(),
            dtype: launch.dtype(),
            bytes: launch.bytes(),
            flops: launch.flops(),
            span,
        });
    }

    pub(super) fn note_copy(&self, transfer: &Transfer, pinned: bool, blocking: bool, when: When) {
        self.note_when(when, |span| Body::Copy {
            from: transfer.from.0,
            to: transfer.to.0,
            bytes: transfer.bytes as u64,
            pinned,
            blocking,
            stream: transfer.stream,
            span,
        });
    }

    /// Tells that a copy to this device or from it to another held the host; what comes to the host says its own cause.
    pub(super) fn note_copy_hold(&self, transfer: &Transfer, blocking: bool, span: Span) {
        if !transfer.to.0.is_cuda() || !self.device.is_cuda() {
            return;
        }
        let cause = match (transfer.non_blocking, blocking) {
            (false, _) => "blocking copy",
            (true, true) => "pageable copy",
            (true, false) => "pageable copy into the driver's buffers",
        };
        self.tell_hold(cause, span);
    }

    /// Tells what else held the host.
    pub(super) fn note_hold(&self) {
        if self.shared.bus.listening()
            && let Some((cause, span)) = self.backend.take_hold()
        {
            self.tell_hold(cause, span);
        }
    }

    fn tell_hold(&self, cause: &'static str, span: Span) {
        let device = self.device;
        self.shared.bus.emit(self.shared.source(), || Body::Hold { device, cause: cause.into(), span });
    }

    /// Tells of work now, or once it is known when it ran.
    fn note_when(&self, when: When, body: impl FnOnce(Span) -> Body) {
        match when {
            When::Unknown => {}
            When::Ran(span) => self.tell_ran(body, span),
            When::Later(ticket) => {
                let late = Late { ticket, source: self.shared.source(), body: body(UNKNOWN_SPAN) };
                let waiting = {
                    let mut all = self.late();
                    all.push(late);
                    all.len()
                };
                if waiting % LATE_AT_A_TIME == 0 {
                    self.note_late();
                }
            }
        }
    }

    /// Tells of work that has run. When a worker's ran on the host is known once its batch is taken.
    fn tell_ran(&self, body: impl FnOnce(Span) -> Body, span: Span) {
        if !self.shared.bus.listening() {
            return;
        }
        let source = self.shared.source();
        if self.device.is_cuda() || self.shared.host_time().is_none() {
            self.shared.bus.emit(source, || body(span));
        } else if let Some(body) = keep_event(source, body(span)) {
            self.shared.bus.emit(source, || body);
        }
    }

    /// Tells of the work that is done by now and was not told of yet.
    pub(crate) fn note_late(&self) {
        if self.late().is_empty() {
            return;
        }
        let spans: HashMap<u64, Span> = self.backend.timings().into_iter().collect();
        let waiting = std::mem::take(&mut *self.late());
        let mut left = Vec::new();
        for mut late in waiting {
            match (spans.get(&late.ticket), &mut late.body) {
                (Some(ran), Body::Launch { span, .. } | Body::Copy { span, .. }) => {
                    *span = *ran;
                    self.shared.bus.emit(late.source, || late.body);
                }
                _ => left.push(late),
            }
        }
        let mut all = self.late();
        left.append(&mut all);
        *all = left;
    }

    /// Whether something was not told of yet.
    pub(super) fn has_late(&self) -> bool {
        !self.late().is_empty()
    }

    /// Gives up on what was not told of yet.
    pub(super) fn forget_late(&self) {
        self.late().clear();
    }

    fn late(&self) -> MutexGuard<'_, Vec<Late>> {
        self.late.lock().unwrap_or_else(|e| e.into_inner())
    }

    pub(super) fn note_alloc(&self, buffer: &Buffer, requested: u64, purpose: Purpose) {
        self.note_segments();
        if buffer.address == 0 {
            return;
        }
        let source = self.shared.source();
        self.asked_last.store(source.place(), Ordering::Relaxed);
        let bytes = buffer.bytes as u64;
        let (Purpose { op, dtype, shape }, of_no_batch) = (purpose, purpose.of_no_batch());
        self.shared.bus.emit(source, || {
            let (allocated, reserved) = self.memory();
            Body::Alloc {
                device: self.device,
                address: buffer.address,
                bytes,
                requested,
                dtype,
                shape: Sizes::from_slice(shape),
                op: op.into(),
                allocated,
                reserved,
            }
        });
        if self.device.is_cuda() {
            let shape = Sizes::from_slice(shape);
            let live = Live { bytes, requested, dtype, shape, op, source, of_no_batch };
            self.live_table().insert(buffer.address, live);
        }
    }

    pub(super) fn note_segments(&self) {
        let Some((changes, reserved)) = self.pool().map(|mut p| (p.take_changes(), p.reserved())) else {
            return;
        };
        if changes.iter().any(|change| !change.mapped) {
            // Memory goes back to a device once that has done all its work.
            self.watch_wait(None);
            self.note_hold();
        }
        // Each tells what is reserved after it, not after all of them.
        let bytes =
            |mapped: bool| changes.iter().filter(|c| c.mapped == mapped).map(|c| c.bytes).sum::<u64>();
        let mut reserved = reserved.saturating_add(bytes(false)).saturating_sub(bytes(true));
        for change in changes {
            reserved = match change.mapped {
                true => reserved.saturating_add(change.bytes),
                false => reserved.saturating_sub(change.bytes),
            };
            self.shared.bus.emit(self.shared.source(), || Body::Segment {
                device: self.device,
                address: change.address,
                bytes: change.bytes,
                mapped: change.mapped,
                reserved,
            });
        }
    }

    pub(super) fn note_sync(&self, cause: &'static str, implicit: bool, span: Span) {
        self.shared.bus.emit(self.shared.source(), || Body::Sync {
            device: self.device,
            implicit,
            cause: cause.into(),
            span,
        });
    }
}

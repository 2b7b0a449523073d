//! Copies between memories, and when they hold the host.

use crate::base::event::Span;
use crate::base::{Device, Error, Result};
use crate::device::backend::{Transfer, When};
use crate::device::buffer::Buffer;
use crate::device::cuda::table::Handle;

use super::{CudaBackend, Pinned};

/// Bytes that are read through page-locked memory.
const SMALL: usize = 4096;

impl CudaBackend {
    /// Enqueues a copy on `stream`.
    fn enqueue_copy(&self, transfer: &Transfer, stream: Handle) -> Result<()> {
        let ((from, source, start), (to, target, end)) = (transfer.from, transfer.to);
        let (bytes, driver) = (transfer.bytes, self.gpu.driver);
        let host = |buffer: &Buffer, offset: usize| {
            buffer.host.as_ref().map_or(std::ptr::null_mut(), |block| block.as_ptr().wrapping_add(offset))
        };
        let on_device = |buffer: &Buffer, offset: usize| buffer.address + offset as u64;
        // SAFETY: the caller's ranges lie inside their buffers.
        let code = unsafe {
            match (from, to) {
                (Device::Cpu, _) => (driver.cuMemcpyHtoDAsync_v2)(
                    on_device(target, end),
                    host(source, start).cast(),
                    bytes,
                    stream,
                ),
                (_, Device::Cpu) => (driver.cuMemcpyDtoHAsync_v2)(
                    host(target, end).cast(),
                    on_device(source, start),
                    bytes,
                    stream,
                ),
                _ if from == to => (driver.cuMemcpyDtoDAsync_v2)(
                    on_device(target, end),
                    on_device(source, start),
                    bytes,
                    stream,
                ),
                _ => {
                    let context = |device: Device| match self.peers.gpus.get(device.index()) {
                        Some(gpu) => gpu.context(),
                        None => Err(Error::runtime(format!("there is no {device}"))),
                    };
                    let (there, here) = (context(to)?, context(from)?);
                    (driver.cuMemcpyPeerAsync)(
                        on_device(target, end),
                        there,
                        on_device(source, start),
                        here,
                        bytes,
                        stream,
                    )
                }
            }
        };
        self.gpu.check(code)
    }

    /// Enqueues a copy, between events where someone wants to know when it ran.
    fn copy_timed(&self, transfer: &Transfer, stream: Handle) -> Result<When> {
        if !self.shared.bus.listening() {
            return self.enqueue_copy(transfer, stream).map(|()| When::Unknown);
        }
        let ((), ticket) = self.queues.timed(stream, || self.enqueue_copy(transfer, stream))?;
        Ok(When::Later(ticket))
    }

    /// A copy between accelerators: it waits for the target's stream, and that for it.
    fn to_peer(&self, transfer: &Transfer, stream: Handle) -> Result<When> {
        self.reach(transfer.to.0)?;
        let target = self.queues_of(transfer.to.0)?;
        let ready = target.record(transfer.target_stream, false)?;
        self.gpu.enter()?;
        target.wait(stream, ready)?;
        let when = self.copy_timed(transfer, stream)?;
        let done = self.queues.record(transfer.stream, false)?;
        self.queues.wait(target.stream(transfer.target_stream)?, done)?;
        Ok(when)
    }

    /// Lets this device and another reach each other's memory, where they can.
    fn reach(&self, other: Device) -> Result<()> {
        let mut reached = self.reached.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(gpu) = self.peers.gpus.get(other.index()).filter(|_| reached.insert(other.index())) {
            if self.gpu.can_reach(gpu) {
                self.gpu.reach(gpu)?;
            }
            if gpu.can_reach(&self.gpu) {
                gpu.reach(&self.gpu)?;
            }
        }
        Ok(())
    }

    /// Reads a few bytes through page-locked memory: one wait that can be interrupted, where the driver would wait again
    /// for a copy to other memory.
    fn read_small(&self, transfer: &Transfer, stream: Handle) -> Result<When> {
        let (_, target, end) = transfer.to;
        let block =
            self.shared.pinned.take_prepared(transfer.bytes, |block| Pinned::lock(&self.gpu, block))?;
        let through = Buffer::new(block.as_ptr() as u64, block.capacity(), Some(block), true);
        let copy = Transfer { to: (Device::Cpu, &through, 0), ..*transfer };
        let when = self.copy_timed(&copy, stream);
        let waited = self.queues.synchronize(Some(transfer.stream), &|| self.shared.cancel.check());
        let Some(block) = through.host else { return when };
        if waited.is_err() {
            // It may be under way still.
            self.peers.pinned.copied(&block, self.gpu.device, transfer.stream);
        } else if let Some(host) = &target.host {
            block.copy_to(0, host, end, transfer.bytes);
        }
        self.shared.pinned.give(block);
        waited.and(when)
    }

    /// The copy's own time, and the host's waiting where it was held.
    pub(super) fn carry_out(&self, transfer: &Transfer, stream: Handle) -> Result<(When, Option<Span>)> {
        let ends = (transfer.from, transfer.to);
        let host = match ends {
            ((Device::Cpu, buffer, _), _) | (_, (Device::Cpu, buffer, _)) => buffer,
            _ => return Ok((self.to_peer(transfer, stream)?, None)),
        };
        let start = self.queues.now();
        let interrupt = || self.shared.cancel.check();
        if transfer.non_blocking && host.pinned {
            let when = self.copy_timed(transfer, stream)?;
            if let Some(block) = &host.host {
                self.peers.pinned.copied(block, self.gpu.device, transfer.stream);
            }
            return Ok((when, None));
        }
        if ends.1.0 == Device::Cpu && !host.pinned && transfer.bytes <= SMALL {
            let when = self.read_small(transfer, stream)?;
            return Ok((when, Some(self.queues.since(start))));
        }
        if !transfer.non_blocking || ends.1.0 == Device::Cpu {
            // The wait before the copy can be interrupted; the copy can't, for its memory is in use.
            self.queues.synchronize(Some(transfer.stream), &interrupt)?;
        }
        let when = self.copy_timed(transfer, stream)?;
        // A copy to memory that is not page-locked is over when the driver's call returns.
        let is_over = ends.1.0 == Device::Cpu && !host.pinned;
        if (!transfer.non_blocking || host.pinned) && !is_over {
            self.queues.synchronize(Some(transfer.stream), &|| Ok(()))?;
        }
        Ok((when, Some(self.queues.since(start))))
    }
}

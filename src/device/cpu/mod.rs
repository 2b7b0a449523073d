//! The CPU: host memory from a pool, kernels over both cores.

pub mod access;
mod along;
mod attention;
mod batch_norm;
mod block;
mod cell;
pub mod clock;
pub mod convert;
mod convolution;
mod copy;
mod create;
mod dense;
mod factor;
mod float;
mod fold;
mod gather;
mod gemm;
mod index;
pub mod isa;
mod lines;
mod long_row;
mod loss;
mod loss_scale;
mod map;
pub mod math;
mod matmul;
pub mod memory;
mod narrow;
mod normalise;
mod optimise;
mod order;
mod pages;
pub mod parallel;
mod places;
mod pooling;
mod random;
mod reduce;
mod reserve;
mod room;
mod rows;
mod run;
mod scan;
mod scratch;
mod slices;
mod softmax;
mod sort;
pub(crate) mod strided;
mod team;
#[cfg(test)]
pub(crate) mod testing;
pub mod threads;
mod walk;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::base::event::{Clock, Span};
use crate::base::{Device, DeviceCause, Error, Result};
use crate::device::buffer::Buffer;
use crate::device::shared::Shared;

use super::backend::{Backend, DevicePool, Mark, Moved, Properties, Refusal, Transfer, When};
use super::kernel::Launch;

use memory::{HostBlock, HostPool};

pub use reserve::hold as hold_reserve;
pub use run::run;
pub(crate) use run::run_in_order;

/// The processor that runs the program. Work is done when a call returns; there is one stream.
pub(crate) struct CpuBackend {
    shared: Arc<Shared>,
    memory: HostPool,
    properties: Properties,
    /// Bytes that tensors may hold; `u64::MAX` without a limit.
    limit: AtomicU64,
    /// Bytes that they hold, counted where there is a limit.
    held: AtomicU64,
}

impl CpuBackend {
    pub(crate) fn new(shared: Arc<Shared>) -> CpuBackend {
        reserve::keep_heap();
        CpuBackend {
            shared,
            memory: HostPool::default(),
            limit: AtomicU64::new(u64::MAX),
            held: AtomicU64::new(0),
            properties: Properties {
                name: "CPU".into(),
                simulated: false,
                total_memory: 0,
                capability: (0, 0),
                multiprocessors: 0,
                threads_per_multiprocessor: 0,
                l2_cache: 0,
                peer_access: false,
                clock: Clock::Measured,
            },
        }
    }

    fn take(&self, bytes: usize) -> Result<Buffer> {
        let buffer = host_buffer(&self.memory, bytes)?;
        let address = self.shared.host_addresses.of(buffer.address, buffer.bytes);
        Ok(Buffer::new(address, buffer.bytes, buffer.host, buffer.pinned))
    }
}

impl Backend for CpuBackend {
    fn device(&self) -> Device {
        Device::Cpu
    }

    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn allocate(&self, bytes: usize, _stream: u32) -> std::result::Result<Buffer, Refusal> {
        let limit = self.limit.load(Ordering::Relaxed);
        if limit == u64::MAX {
            return Ok(self.take(bytes)?);
        }
        let held = self.held.load(Ordering::Relaxed);
        if held.saturating_add(bytes as u64) > limit {
            return Err(Error::from(DeviceCause::HostLimit { bytes, held, limit }).into());
        }
        let buffer = self.take(bytes)?;
        self.held.fetch_add(buffer.bytes as u64, Ordering::Relaxed);
        Ok(buffer)
    }

    fn limit_memory(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    fn free(&self, buffer: Buffer) {
        if !buffer.pinned && self.limit.load(Ordering::Relaxed) != u64::MAX {
            self.held.fetch_sub(buffer.bytes as u64, Ordering::Relaxed);
        }
        let pool = if buffer.pinned { &self.shared.pinned } else { &self.memory };
        if let Some(block) = buffer.host {
            pool.give(block);
        }
    }

    /// The processor itself reaches all host memory.
    fn page_lock(&self, _block: &HostBlock) -> Result<()> {
        Ok(())
    }

    fn has_lstm_cell(&self) -> bool {
        true
    }

    fn pool(&self) -> Option<&Mutex<DevicePool>> {
        None
    }

    fn launch(&self, launch: &Launch) -> Result<When> {
        if !launch.timed {
            return run(launch).map(|()| When::Unknown);
        }
        let start = self.shared.nanos();
        run(launch)?;
        Ok(When::Ran(self.shared.span_since(start)))
    }

    fn transfer(&self, transfer: &Transfer) -> Result<Moved> {
        let start = self.shared.nanos();
        copy_bytes(transfer);
        let span = self.shared.span_since(start);
        Ok(Moved { when: When::Ran(span), pinned: false, blocking: true, waited: Some(span) })
    }

    fn create_stream(&self) -> Result<u32> {
        Ok(0)
    }

    fn record(&self, stream: u32) -> Result<Mark> {
        Ok(Mark { device: Device::Cpu, stream, value: self.shared.nanos() })
    }

    fn wait(&self, _stream: u32, _mark: Mark) -> Result<()> {
        Ok(())
    }

    fn query(&self, _mark: Mark) -> Result<bool> {
        Ok(true)
    }

    fn elapsed(&self, from: Mark, to: Mark) -> Result<f64> {
        Ok((to.value as f64 - from.value as f64) / 1e6)
    }

    fn synchronize(&self, _stream: Option<u32>) -> Result<Span> {
        Ok(self.shared.span_since(self.shared.nanos()))
    }

    fn synchronize_mark(&self, _mark: Mark) -> Result<Span> {
        self.synchronize(None)
    }

    fn now(&self) -> u64 {
        self.shared.nanos()
    }
}

/// A buffer of host memory whose address is its pointer.
pub fn host_buffer(memory: &HostPool, bytes: usize) -> Result<Buffer> {
    if bytes == 0 {
        return Ok(Buffer::new(0, 0, None, false));
    }
    let block = memory.take(bytes)?;
    Ok(Buffer::new(block.as_ptr() as u64, block.capacity(), Some(block), false))
}

/// Moves a transfer's values; what is made of memory without values has none.
pub(crate) fn copy_values(transfer: &Transfer) {
    let (_, from, _) = transfer.from;
    let (_, to, _) = transfer.to;
    match from.is_hollow() {
        true => to.set_hollow(true),
        false => copy_bytes(transfer),
    }
}

/// Moves a transfer's bytes between host blocks.
fn copy_bytes(transfer: &Transfer) {
    let (_, from, at) = transfer.from;
    let (_, to, to_at) = transfer.to;
    if let (Some(from), Some(to)) = (&from.host, &to.host) {
        from.copy_to(at, to, to_at, transfer.bytes);
    }
}

//! A device's memory, as its caching allocator takes it: whole segments from `cuMemAlloc`.

use std::collections::HashMap;
use std::sync::Arc;

use crate::device::backend::Mark;
use crate::device::pool::Memory;

use super::call::{Gpu, SUCCESS};
use super::queues::Queues;

pub(crate) struct DeviceMemory {
    gpu: Gpu,
    queues: Arc<Queues>,
    /// Bytes by address.
    segments: HashMap<u64, u64>,
}

impl DeviceMemory {
    pub(super) fn new(gpu: Gpu, queues: Arc<Queues>) -> DeviceMemory {
        DeviceMemory { gpu, queues, segments: HashMap::new() }
    }

    fn mark_of(&self, stream: u32, value: u64) -> Mark {
        Mark { device: self.gpu.device, stream, value }
    }
}

impl Memory for DeviceMemory {
    fn allocate(&mut self, bytes: u64) -> Option<u64> {
        self.gpu.enter().ok()?;
        let mut address = 0;
        // SAFETY: the place lives through the call.
        let code = unsafe { (self.gpu.driver.cuMemAlloc_v2)(&mut address, usize::try_from(bytes).ok()?) };
        if code != SUCCESS {
            return None;
        }
        self.segments.insert(address, bytes);
        Some(address)
    }

    /// Waits for all of the device's work, as `cuMemFree` does.
    fn free(&mut self, address: u64, _bytes: u64) {
        if self.segments.remove(&address).is_some() && self.gpu.enter().is_ok() {
            // SAFETY: the address came from `cuMemAlloc`, and leaves the table before it is freed.
            unsafe { (self.gpu.driver.cuMemFree_v2)(address) };
        }
    }

    fn total(&self) -> u64 {
        self.gpu.memory().map_or(0, |(_, total)| total)
    }

    fn available(&self) -> u64 {
        self.gpu.memory().map_or(0, |(free, _)| free)
    }

    fn mark(&mut self, stream: u32) -> u64 {
        match self.queues.record(stream, false) {
            Ok(mark) => mark.value,
            // For want of an event the work itself is waited for; no mark counts as reached.
            Err(_) => {
                let _ = self.queues.drain(stream);
                0
            }
        }
    }

    fn reached(&self, stream: u32, mark: u64) -> bool {
        self.queues.query(self.mark_of(stream, mark)).unwrap_or(true)
    }

    fn wait(&mut self, stream: u32, mark: u64) {
        // A device that fails says so at the next call of its own.
        let _ = self.queues.synchronize_mark(self.mark_of(stream, mark), &|| Ok(()));
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        let all: Vec<u64> = self.segments.keys().copied().collect();
        for address in all {
            self.free(address, 0);
        }
    }
}

//! Page-locked host memory: copies that are under way keep it from serving others.

use std::collections::HashMap;
use std::ffi::c_uint;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::Result;
use crate::device::backend::Mark;
use crate::device::cpu::memory::{HostBlock, Keeper};

use super::call::Gpu;
use super::queues::Queues;

/// `CU_MEMHOSTREGISTER_PORTABLE`: page-locked for every device.
const PORTABLE: c_uint = 1;

/// Locks memory, and knows which copies use it.
pub(super) struct Pinned {
    queues: Vec<Arc<Queues>>,
    gpus: Vec<Gpu>,
    /// Marks behind the copies of a block, by its address.
    copies: Mutex<HashMap<usize, Vec<Mark>>>,
}

impl Pinned {
    pub(super) fn new(gpus: Vec<Gpu>, queues: Vec<Arc<Queues>>) -> Pinned {
        Pinned { queues, gpus, copies: Mutex::default() }
    }

    /// Page-locks a block, which covers whole pages.
    pub(super) fn lock(gpu: &Gpu, block: &HostBlock) -> Result<()> {
        gpu.enter()?;
        // SAFETY: the block is memory of this process; it is unlocked before it goes back to the system.
        let code =
            unsafe { (gpu.driver.cuMemHostRegister_v2)(block.as_ptr().cast(), block.capacity(), PORTABLE) };
        gpu.check(code)
    }

    /// Notes that a copy of the block ends before `mark`.
    pub(super) fn copied(&self, block: &HostBlock, mark: Mark) {
        let mut copies = self.copies();
        let marks = copies.entry(block.as_ptr() as usize).or_default();
        marks.retain(|earlier| earlier.device != mark.device || earlier.stream != mark.stream);
        marks.push(mark);
    }

    fn copies(&self) -> MutexGuard<'_, HashMap<usize, Vec<Mark>>> {
        self.copies.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn of(&self, mark: Mark) -> Option<&Queues> {
        self.queues.get(mark.device.index()).map(Arc::as_ref)
    }
}

impl Keeper for Pinned {
    fn is_busy(&self, block: &HostBlock) -> bool {
        let mut copies = self.copies();
        let Some(marks) = copies.get_mut(&(block.as_ptr() as usize)) else { return false };
        marks.retain(|mark| self.of(*mark).is_some_and(|queues| matches!(queues.query(*mark), Ok(false))));
        let busy = !marks.is_empty();
        if !busy {
            copies.remove(&(block.as_ptr() as usize));
        }
        busy
    }

    fn release(&self, block: &HostBlock) {
        let marks = self.copies().remove(&(block.as_ptr() as usize)).unwrap_or_default();
        for mark in marks {
            if let Some(queues) = self.of(mark) {
                // A device that fails copies no more.
                let _ = queues.synchronize_mark(mark, &|| Ok(()));
            }
        }
        if let Some(gpu) = self.gpus.first().filter(|gpu| gpu.enter().is_ok()) {
            // SAFETY: the block was locked by `lock`, and no copy uses it.
            unsafe { (gpu.driver.cuMemHostUnregister)(block.as_ptr().cast()) };
        }
    }
}

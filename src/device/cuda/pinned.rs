//! Page-locked host memory: copies that are under way keep it from serving others.

use std::collections::HashMap;
use std::ffi::c_uint;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::{Device, Result};
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
    /// Where the copies of a block went, by its address.
    copies: Mutex<HashMap<usize, Vec<Copied>>>,
}

/// Where copies of a block are over: behind the work that a stream has when the block is let go, as in PyTorch, or, once
/// it was, behind a mark.
#[derive(Clone, Copy, PartialEq)]
enum Copied {
    On(Device, u32),
    Before(Mark),
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

    /// Notes that a copy of the block goes by a stream of a device.
    pub(super) fn copied(&self, block: &HostBlock, device: Device, stream: u32) {
        let mut copies = self.copies();
        let all = copies.entry(block.as_ptr() as usize).or_default();
        if !all.contains(&Copied::On(device, stream)) {
            all.push(Copied::On(device, stream));
        }
    }

    /// What is under way of it: nothing once a mark is reached, which is set where there is none, or the device failed.
    fn under_way(&self, copied: Copied) -> Option<Copied> {
        let (queues, mark) = match copied {
            Copied::Before(mark) => (self.of(mark.device)?, Ok(mark)),
            Copied::On(device, stream) => {
                let queues = self.of(device)?;
                (queues, queues.record(stream, false))
            }
        };
        match mark.and_then(|mark| Ok((mark, queues.query(mark)?))) {
            Ok((mark, true)) => {
                queues.forget(mark);
                None
            }
            Ok((mark, false)) => Some(Copied::Before(mark)),
            // For want of an event nobody knows; a device that failed copies no more.
            Err(_) => Some(copied).filter(|_| queues.is_alive()),
        }
    }

    fn copies(&self) -> MutexGuard<'_, HashMap<usize, Vec<Copied>>> {
        self.copies.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn of(&self, device: Device) -> Option<&Queues> {
        self.queues.get(device.index()).map(Arc::as_ref)
    }
}

impl Keeper for Pinned {
    fn is_busy(&self, block: &HostBlock) -> bool {
        let mut copies = self.copies();
        let Some(all) = copies.get_mut(&(block.as_ptr() as usize)) else { return false };
        *all = all.iter().filter_map(|copied| self.under_way(*copied)).collect();
        let busy = !all.is_empty();
        if !busy {
            copies.remove(&(block.as_ptr() as usize));
        }
        busy
    }

    fn release(&self, block: &HostBlock) {
        let all = self.copies().remove(&(block.as_ptr() as usize)).unwrap_or_default();
        for copied in all {
            // A device that fails copies no more.
            let _ = match copied {
                Copied::On(device, stream) => self.of(device).map(|queues| queues.drain(stream)),
                Copied::Before(mark) => {
                    self.of(mark.device).map(|queues| queues.synchronize_mark(mark, &|| Ok(())).map(|_| ()))
                }
            };
        }
        // Any device unlocks it; one that was not asked for anything yet is not started for that.
        let mut started = self.gpus.iter().filter(|gpu| gpu.is_started());
        if let Some(gpu) = started.find(|gpu| gpu.enter().is_ok()) {
            // SAFETY: the block was locked by `lock`, and no copy uses it.
            unsafe { (gpu.driver.cuMemHostUnregister)(block.as_ptr().cast()) };
        }
    }
}

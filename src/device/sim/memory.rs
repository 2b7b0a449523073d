//! The memory of a simulated device, as its caching allocator sees it.

use std::sync::{Arc, Mutex, MutexGuard};

use crate::device::host_time::Steps;
use crate::device::pool::{Memory, Simulated};
use crate::device::shared::ASIDE;

use super::clock::{Clock, Mark, StreamId};

/// The one clock of all simulated devices of a machine.
///
/// Its lock is the innermost: whoever holds it takes no other, and an allocator is locked before it.
#[derive(Clone, Debug)]
pub(super) struct SharedClock {
    clock: Arc<Mutex<Clock>>,
    /// Steps of the script that are not on the clock yet.
    steps: Arc<Steps>,
}

impl SharedClock {
    pub(super) fn new(clock: Clock, steps: Arc<Steps>) -> SharedClock {
        SharedClock { clock: Arc::new(Mutex::new(clock)), steps }
    }

    /// The clock as it is, for who looks on while another thread's steps are counted.
    pub(super) fn look(&self) -> MutexGuard<'_, Clock> {
        self.clock.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The clock, with the script's steps so far on it where the script's own thread asks: a loader's worker comes at any
    /// moment, and must not decide when they are counted.
    pub(super) fn lock(&self) -> MutexGuard<'_, Clock> {
        let mut clock = self.look();
        if ASIDE.get() > 0 {
            return clock;
        }
        match self.steps.take() {
            0 => {}
            steps => {
                let nanos = (steps as f64 * clock.host().step).ceil() as u64;
                clock.host_work(nanos);
            }
        }
        clock
    }
}

/// Made-up addresses within a capacity, and the time that `cudaMalloc`, `cudaFree` and events take.
///
/// A pool is made for a device of the clock, so what the clock says of absent ones can't happen here.
pub(super) struct DeviceMemory {
    space: Simulated,
    clock: SharedClock,
    device: usize,
}

impl DeviceMemory {
    /// Where the addresses of device 0 begin; each further device has its own TiB below.
    const BASE: u64 = 0x7f00_0000_0000;
    const APART: u64 = 1 << 40;

    pub(super) fn new(capacity: u64, context: u64, device: usize, clock: SharedClock) -> DeviceMemory {
        let below = (device as u64).saturating_mul(Self::APART);
        let space =
            Simulated::new(capacity, 0).with_context(context).with_base(Self::BASE.saturating_sub(below));
        DeviceMemory { space, clock, device }
    }

    fn at(&self, stream: u32) -> StreamId {
        StreamId { device: self.device, stream }
    }
}

impl Memory for DeviceMemory {
    fn allocate(&mut self, bytes: u64) -> Option<u64> {
        self.clock.lock().take_segment(self.device).ok()?;
        self.space.allocate(bytes)
    }

    fn free(&mut self, address: u64, bytes: u64) {
        let waited = self.clock.lock().give_segment(self.device);
        debug_assert!(waited.is_ok());
        self.space.free(address, bytes);
    }

    fn total(&self) -> u64 {
        self.space.total()
    }

    fn available(&self) -> u64 {
        self.space.available()
    }

    fn context(&self) -> u64 {
        self.space.context()
    }

    fn mark(&mut self, stream: u32) -> u64 {
        self.clock.lock().record(self.at(stream)).map_or(0, |mark| mark.time)
    }

    fn reached(&self, stream: u32, mark: u64) -> bool {
        self.clock.lock().query(Mark { at: self.at(stream), time: mark }).unwrap_or(true)
    }

    fn wait(&mut self, stream: u32, mark: u64) {
        let waited = self.clock.lock().synchronize_mark(Mark { at: self.at(stream), time: mark });
        debug_assert!(waited.is_ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::pool::Pool;
    use crate::device::sim::{HostProfile, KernelClass, Profile, Rate, Work};

    const MIB: u64 = 1 << 20;

    fn memory() -> (DeviceMemory, SharedClock) {
        let profile = Profile::builtin("t4").unwrap();
        let host = HostProfile::builtin("notebook").unwrap();
        let clock = Clock::new(vec![profile.clone(), profile], host);
        let clock = SharedClock::new(clock, Arc::default());
        (DeviceMemory::new(64 * MIB, 0, 1, clock.clone()), clock)
    }

    #[test]
    fn segments_cost_time_and_devices_have_addresses_of_their_own() {
        let (mut memory, clock) = memory();
        let costs = HostProfile::builtin("notebook").unwrap().driver;
        let now = || clock.lock().now();
        let first = memory.allocate(20 * MIB).unwrap();
        assert_eq!(first, 0x7e00_0000_0000);
        assert_eq!(now(), costs.allocate);
        assert!(memory.allocate(50 * MIB).is_none());
        assert_eq!(now(), 2 * costs.allocate, "a refusal takes as long");
        memory.free(first, 20 * MIB);
        assert_eq!(now(), 2 * costs.allocate + costs.free);
    }

    /// What a stream has recorded waits for it, on the clock.
    #[test]
    fn a_block_that_another_stream_uses_waits_for_it() {
        let (memory, clock) = memory();
        let mut pool = Pool::new(memory, 1);
        let used = pool.allocate(20 * MIB, 0).unwrap();
        pool.record_stream(used.address, 1);
        let work = Work {
            class: KernelClass::Elementwise,
            rate: Rate::Fp32,
            flops: 0,
            bytes: 256_000_000,
            form: Default::default(),
        };
        clock.lock().launch(StreamId { device: 1, stream: 1 }, &work).unwrap();
        pool.free(used.address);
        let elsewhere = pool.allocate(20 * MIB, 0).unwrap();
        assert_ne!(elsewhere.address, used.address);
        assert_eq!(pool.stats().active_bytes.all.current.cast_unsigned(), 40 * MIB);
        clock.lock().synchronize_device(1).unwrap();
        assert_eq!(pool.allocate(20 * MIB, 0).unwrap().address, used.address);
    }
}

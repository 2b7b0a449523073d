//! Memory of a device.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::device::cpu::memory::HostBlock;

/// Memory of a device. Freed by handing it back to its backend.
#[derive(Debug)]
pub struct Buffer {
    /// The address the program sees (`data_ptr`); made up on a simulated device.
    pub address: u64,
    /// Bytes that may be touched.
    pub bytes: usize,
    /// Host memory behind it: the memory itself on a CPU, the values of a simulated device, none on a GPU.
    pub host: Option<HostBlock>,
    pub pinned: bool,
    /// Nothing was computed for what is in it: see [`is_hollow`](Buffer::is_hollow).
    hollow: AtomicBool,
}

impl Buffer {
    /// Memory with values in it.
    pub const fn new(address: u64, bytes: usize, host: Option<HostBlock>, pinned: bool) -> Buffer {
        Buffer { address, bytes, host, pinned, hollow: AtomicBool::new(false) }
    }

    /// Whether it has no values: it is memory of a simulated device that computes none, or was made of such.
    pub fn is_hollow(&self) -> bool {
        self.hollow.load(Ordering::Relaxed)
    }

    /// Says whether it has values.
    pub fn set_hollow(&self, hollow: bool) {
        self.hollow.store(hollow, Ordering::Relaxed);
    }
}

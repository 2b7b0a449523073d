//! Memory of a device.

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
}

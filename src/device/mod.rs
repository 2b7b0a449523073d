//! Devices: the backend seam, the caching allocator, and the cpu, sim and cuda backends.

pub mod cuda;
pub mod pool;
pub mod sim;

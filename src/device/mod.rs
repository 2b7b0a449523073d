//! Devices: the backend seam, the caching allocator, and the cpu, sim and cuda backends.

pub mod backend;
pub mod context;
pub mod cpu;
pub mod cuda;
pub mod distribution;
pub mod graph;
pub mod kernel;
pub mod machine;
mod oom;
pub mod open;
pub mod philox;
pub mod poll;
pub mod pool;
pub mod random;
pub mod scalar;
pub mod settings;
pub mod sim;
pub mod storage;

pub use backend::{Backend, Buffer, Cancel, GraphWork, Mark, Moved, Properties, Refusal, Transfer, When};
pub use context::{Context, Purpose, Shared};
pub(crate) use cpu::hold_reserve;
pub use graph::Graph;
pub use kernel::{Arg, Kernel, Launch, View};
pub use machine::Machine;
pub use open::{Opened, Use};
pub use scalar::MapOp;
pub use storage::Storage;

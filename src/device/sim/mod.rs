//! The simulated GPU: real values, modelled capacity, transfers and time.
//!
//! Here is what it is made of: [`profile`]s of devices, what a kernel or copy [`cost`]s on one, the virtual
//! [`clock`] of a machine, the [`selection`] of devices on the command line, and the [`backend`] that joins
//! them with the caching allocator and the CPU's kernels.

pub mod algorithms;
pub mod backend;
pub mod clock;
pub mod cost;
pub mod error;
pub mod host;
pub mod host_choice;
pub mod profile;
pub(crate) mod rate;
pub mod selection;

mod busy;
mod calendar;
mod cores;
mod fault;
mod figures;
mod form;
mod host_backend;
mod memory;
mod plan;
mod queues;
mod work;

pub use crate::device::kernel::KernelClass;
pub use crate::device::sim::rate::Rate;
pub use backend::devices;
pub use clock::{Clock, ClockError, CopySpan, HostThread, Mark, Span, StreamId};
pub use cost::{Bound, Direction, KernelCost, Transfer, Work};
pub use error::{ProfileError, ProfileFault};
pub use form::{Product, Reduced, Scattered, WorkForm};
pub use host::{Host, HostProfile, host_ids};
pub use host_choice::HostChoice;
pub use profile::{Profile, builtin_ids};
pub use selection::{Selection, SelectionError, SimulatedDevices, profile_names};
pub use work::work;

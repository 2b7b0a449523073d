//! The simulated GPU: real values, modelled capacity, transfers and time.
//!
//! Here is what it is made of: [`profile`]s of devices, what a kernel or copy [`cost`]s on one, the virtual
//! [`clock`] of a machine, and the [`selection`] of devices on the command line. Nothing here knows tensors
//! or computes values.

pub mod clock;
pub mod cost;
pub mod error;
pub mod profile;
pub mod selection;

mod calendar;
mod figures;
mod nearest;
mod queues;

pub use clock::{Clock, ClockError, CopySpan, HostThread, Mark, Span, StreamId};
pub use cost::{Bound, Direction, KernelClass, KernelCost, Rate, Transfer, Work};
pub use error::{ProfileError, ProfileFault};
pub use profile::{Profile, builtin_ids};
pub use selection::{Selection, SelectionError, SimulatedDevices};

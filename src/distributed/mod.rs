//! Ranks that work on one task, each with a network and data of its own, as `torch.distributed` has them.
//!
//! What ranks give each other goes through one seam, [`Group`]: collectives, their order and their errors are written
//! above it. [`ranks`] is a group within this process, one rank at a time.

mod buckets;
mod calls;
mod collect;
mod data_parallel;
mod group;
pub(crate) mod ranks;

pub use calls::{
    PendingWork, all_gather, all_reduce, barrier, broadcast, gather, receive, reduce, reduce_scatter,
    scatter, send,
};
pub use data_parallel::{DdpOptions, DistributedDataParallel, NoSync};
pub use group::{
    CollectiveKind, Group, RankPart, Reduction, Ticket, current, destroy, in_ranks, initialise,
    is_initialised,
};

//! Ranks that work on one task, each with a network and data of its own, as `torch.distributed` has them.
//!
//! What ranks give each other goes through one seam, [`Group`]: collectives, their order and their errors are written
//! above it. [`ranks`] is a group within this process, one rank at a time; [`processes`] is one of processes that meet over a
//! local socket, in the [`hub`] of rank 0.

mod buckets;
mod calls;
mod collect;
mod data_parallel;
mod group;
mod hub;
mod init;
mod processes;
pub(crate) mod ranks;
mod wire;
mod words;

pub use calls::{
    PendingWork, all_gather, all_reduce, barrier, broadcast, gather, receive, reduce, reduce_scatter,
    scatter, send,
};
pub use data_parallel::{DdpOptions, DistributedDataParallel, NoSync};
pub use group::{
    CollectiveKind, Group, RankPart, Reduction, Ticket, current, in_ranks, is_initialised, spawned_rank,
};
pub use init::{destroy, end, initialise};
pub use processes::{Wish, local_rank};

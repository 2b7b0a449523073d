//! One protocol for every front end; the child process that evaluates cells.
//!
//! [`client`] is the front end's side, [`host`] the child's, [`protocol`] what they say to each other, and
//! [`engine`] the seam to what evaluates.

pub mod client;
mod complete;
pub mod death;
mod described;
pub mod digest;
pub mod engine;
pub mod evaluator;
pub mod exchange;
pub(crate) mod given;
pub mod host;
mod inspect;
pub mod limits;
pub mod options;
mod outbox;
pub mod protocol;
mod queue;
mod relay;
pub mod sandbox;
pub mod scratch;
mod spent;
pub mod verdict;
mod writer;

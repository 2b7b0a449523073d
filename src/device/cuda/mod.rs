//! The real GPU: what of it is there, and its backend. The kernels' templates stand in `kernels/`.

pub mod backend;
pub mod folders;
pub mod found;
pub mod kernels;
pub mod probe;

mod blas;
mod call;
mod compile;
mod dnn;
mod driver;
mod host;
mod library;
mod lt;
mod memory;
mod pinned;
mod queues;
mod recording;
mod solver;
mod table;

#[cfg(test)]
mod testing;

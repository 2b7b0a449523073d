//! One integration binary; each module speaks of one behaviour.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failing test may panic; clippy's own exemption covers only test functions, not their helpers"
)]

mod allocator;
mod architecture;
mod cli;
mod conformance;
mod edges;
mod examples;
mod lab_session;
mod lesson_format;
mod nn;
mod ops;
mod plot;
mod screens;
mod scripts;
mod semantics;
mod session;
mod simulator;
mod teaching;

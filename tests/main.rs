//! One integration binary; each module speaks of one behaviour.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, and its helpers with it"
)]

#[cfg(unix)]
mod session;

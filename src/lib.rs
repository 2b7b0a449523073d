//! `tensorlab`: a notebook-style lab for the terminal that shows what a GPU does to tensors.
//!
//! Layers, top to bottom; imports point strictly downwards (`docs/architecture.md`).

// What nobody outside uses is `pub(crate)`, so that the compiler finds it when nobody does at all.
#![warn(unreachable_pub)]
// They panic on a full or closed stream: `cli::output` and `base::stderr` write in their place.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "a test may end where it finds no memory"))]

pub mod amp;
pub mod base;
pub mod checkpoint;
pub mod cli;
pub mod data;
pub mod device;
pub mod distributed;
#[expect(clippy::disallowed_methods, reason = "sized by a screen, or by a file whose size is bounded")]
pub mod lab;
#[expect(clippy::disallowed_methods, reason = "sized by a screen, or by a file whose size is bounded")]
pub mod lesson;
pub mod nn;
#[expect(clippy::disallowed_methods, reason = "sized by a screen, or by a file whose size is bounded")]
pub mod notebook;
pub mod op;
pub mod optim;
pub mod parallel;
pub mod plot;
#[expect(clippy::disallowed_methods, reason = "sized by a screen, or by a file whose size is bounded")]
pub mod repl;
pub mod script;
pub mod session;
pub mod tensor;

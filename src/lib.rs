//! `tensorlab`: a notebook-style lab for the terminal that shows what a GPU does to tensors.
//!
//! Layers, top to bottom; imports point strictly downwards (`docs/architecture.md`).

pub mod amp;
pub mod base;
pub mod checkpoint;
pub mod cli;
pub mod data;
pub mod device;
pub mod lab;
pub mod lesson;
pub mod nn;
pub mod notebook;
pub mod op;
pub mod optim;
pub mod parallel;
pub mod plot;
pub mod repl;
pub mod script;
pub mod session;
pub mod tensor;

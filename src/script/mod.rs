//! The Rhai language layer: PyTorch's names over the op table.

pub mod aside;
pub mod bind;
pub mod complete;
pub mod engine;
pub mod fault;
pub mod help;
pub mod indexing;
pub mod json;
pub mod lexer;
pub mod modules;
mod operands;
pub mod pickle;
pub mod python;
mod rewrite;
pub mod snapshot;
pub mod summary;
pub mod syntax;
pub mod trace;
pub mod value;

pub use engine::{Host, Interpreter, Limits, Silent};
pub use fault::{Fault, Origin};

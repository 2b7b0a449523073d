//! The Rhai language layer: PyTorch's names over the op table.

pub mod aside;
pub mod bind;
pub mod complete;
mod direct;
pub mod engine;
pub mod fault;
pub mod help;
pub mod indexing;
pub mod json;
pub mod lexer;
pub mod lines;
pub mod modules;
pub mod operands;
pub mod parse;
pub mod pickle;
pub mod python;
mod rewrite;
pub mod snapshot;
pub mod summary;
pub mod syntax;
pub mod tokens;
pub mod trace;
mod tree;
pub mod value;

pub use engine::{Host, Interpreter, Limits, Silent};
pub use fault::{Fault, Origin};

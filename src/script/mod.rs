//! The Rhai language layer: PyTorch's names over the op table.

pub mod aside;
pub mod bind;
pub mod call;
mod captures;
mod common;
pub mod complete;
pub(crate) mod custom;
mod direct;
mod ends;
pub mod engine;
pub mod examine;
pub mod fault;
mod habits;
pub mod help;
pub mod host;
pub mod indent;
pub mod indexing;
pub mod json;
pub mod language;
pub mod lexer;
pub mod lines;
pub mod modules;
mod nesting;
pub mod operands;
pub mod parse;
pub mod pickle;
mod printing;
mod program;
pub mod python;
mod rewrite;
pub mod snapshot;
pub mod spaces;
mod strings;
pub mod summary;
pub mod syntax;
#[cfg(test)]
mod testing;
pub mod tokens;
pub mod trace;
mod tree;
pub mod value;
pub mod whole;

pub use crate::script::host::Host;
pub use crate::script::host::Silent;
pub use engine::{Interpreter, Limits};
pub use fault::{Fault, Origin};

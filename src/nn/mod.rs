//! Modules: layers with parameters, containers, and what one does with a whole network.

pub mod activation;
pub mod adaptive;
pub mod attention;
pub(crate) mod backward_hooks;
pub mod bags;
pub mod cells;
pub mod classes_margin;
pub mod clip;
pub mod composed;
pub mod containers;
pub mod conv_transpose;
pub mod convolution;
pub mod decoder;
pub mod edit;
pub mod embedding;
pub(crate) mod hooks;
pub mod init;
pub mod instance_norm;
pub(crate) mod laws;
pub mod linear;
pub mod loss;
pub(crate) mod made;
pub mod margins;
pub mod module;
mod nested;
pub mod normalise;
pub mod packed;
pub mod padding;
pub mod pooling;
pub mod recurrent;
pub mod response;
pub mod show;
pub mod shrink;
pub mod state;
pub mod transformer;
pub mod unpool;

pub use module::{Call, Caller, Layer, Module, Parts, Role};

use crate::op::def::{OpDef, documented};

/// Every constructor and helper, file by file.
pub fn table() -> impl Iterator<Item = &'static OpDef> {
    ROWS.into_iter().flatten()
}

static ROWS: [&[OpDef]; 27] = documented([
    linear::ROWS,
    convolution::ROWS,
    conv_transpose::ROWS,
    normalise::ROWS,
    instance_norm::ROWS,
    response::ROWS,
    embedding::ROWS,
    bags::ROWS,
    padding::ROWS,
    attention::ROWS,
    transformer::ROWS,
    decoder::ROWS,
    cells::ROWS,
    recurrent::ROWS,
    pooling::ROWS,
    adaptive::ROWS,
    unpool::ROWS,
    activation::ROWS,
    composed::ROWS,
    shrink::ROWS,
    loss::ROWS,
    margins::ROWS,
    classes_margin::ROWS,
    containers::ROWS,
    init::ROWS,
    clip::ROWS,
    packed::ROWS,
]);

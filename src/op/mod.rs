//! The table of operations.

pub mod activation;
pub mod args;
pub mod attention;
pub mod autocast;
pub mod batch_norm;
pub mod bilinear;
pub mod binary;
pub mod bounds;
pub mod compare;
pub mod composed;
pub mod conv_transpose;
pub mod convert;
pub mod convolution;
pub mod counting;
pub mod create;
pub mod ctc;
pub mod decompose;
pub mod def;
pub mod distance;
pub mod draw;
pub mod einsum;
pub mod elementwise;
pub mod embedding;
pub mod embedding_bag;
pub mod extra;
pub mod extremum;
pub mod fill;
pub mod grid;
pub mod index;
pub mod instance_norm;
pub mod joins;
pub mod layer_norm;
pub mod linalg;
pub mod linear;
pub mod loss;
pub mod many;
pub mod margins;
pub mod masks;
pub mod matmul;
pub mod movement;
pub mod nll;
pub mod normalise;
pub mod order;
pub mod pad;
pub mod params;
pub mod placing;
pub mod pooling;
pub mod promote;
pub mod random;
pub mod record;
pub mod reduce;
pub mod resize;
pub mod rows;
pub mod sampling;
pub mod scan;
pub mod scatter;
pub mod select;
pub mod shapes;
pub mod sliding;
pub mod sort;
pub mod triangular;
pub mod unary;
pub mod volumes;

pub use args::{Args, MapValue, Object, Value, map_value};
pub use def::{Family, Form, Forward, Gradient, InPlace, OpDef, Operand, Param, ParamKind, Receiver, Torch};

/// Every operation, family by family.
pub fn table() -> impl Iterator<Item = &'static OpDef> {
    [
        unary::ROWS,
        binary::ROWS,
        binary::ALPHA_ROWS,
        activation::ROWS,
        composed::ROWS,
        convolution::ROWS,
        conv_transpose::ROWS,
        pooling::ROWS,
        volumes::ROWS,
        loss::ROWS,
        distance::ROWS,
        margins::ROWS,
        resize::ROWS,
        attention::ROWS,
        normalise::ROWS,
        instance_norm::ROWS,
        embedding::ROWS,
        embedding_bag::ROWS,
        bilinear::ROWS,
        sliding::ROWS,
        grid::ROWS,
        ctc::ROWS,
        pad::ROWS,
        rows::create::ROWS,
        rows::random::ROWS,
        rows::select::ROWS,
        rows::reduce::ROWS,
        rows::matmul::ROWS,
        rows::movement::ROWS,
        rows::views::ROWS,
        rows::index::ROWS,
        rows::masks::ROWS,
        rows::extra::ROWS,
        rows::order::ROWS,
        rows::counting::ROWS,
        rows::shapes::ROWS,
        rows::linalg::ROWS,
        rows::decompose::ROWS,
        triangular::ROWS,
        rows::sampling::ROWS,
        rows::convert::ROWS,
        rows::convert::WRITES,
        rows::inspect::ROWS,
        rows::inspect::PROPERTIES,
    ]
    .into_iter()
    .flatten()
}

/// Rows whose names other rows of the table have too; a module tells them apart.
pub fn homonyms() -> impl Iterator<Item = &'static OpDef> {
    rows::decompose::HOMONYMS.iter().chain(rows::shapes::HOMONYMS).chain(sliding::HOMONYMS)
}

/// The row of a name.
pub fn find(name: &str) -> Option<&'static OpDef> {
    table().find(|def| def.name == name)
}

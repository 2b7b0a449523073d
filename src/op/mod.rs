//! The table of operations: each family is a folder, its rows beside its functions.

pub mod activation;
pub mod arrange;
pub mod attention;
pub mod convolution;
pub mod core;
pub mod create;
pub mod elementwise;
pub mod embedding;
pub mod gather;
pub mod image;
pub mod index;
pub mod inspect;
pub mod linalg;
pub mod loss;
pub mod normalise;
pub mod random;
pub mod reduce;
pub mod shape;
pub mod sorting;

pub use self::core::copies::Copies;
pub use self::core::def::{
    Args, Family, Form, Forward, Gradient, InPlace, OpDef, Param, ParamKind, Receiver, Torch,
};
pub use self::core::operand::Operand;
pub(crate) use self::core::value::MapValue;
pub use self::core::value::{Object, Value, map_value};
pub use self::core::{args, def, params, shapes};

/// Every operation, family by family.
pub fn table() -> impl Iterator<Item = &'static OpDef> {
    let families = [
        elementwise::ROWS,
        activation::ROWS,
        convolution::ROWS,
        loss::ROWS,
        image::ROWS,
        attention::ROWS,
        normalise::ROWS,
        embedding::ROWS,
        arrange::ROWS,
        create::ROWS,
        random::ROWS,
        reduce::ROWS,
        linalg::ROWS,
        shape::ROWS,
        gather::ROWS,
        sorting::ROWS,
        index::ROWS,
        self::core::ROWS,
        inspect::ROWS,
    ];
    families.into_iter().flatten().copied().flatten()
}

/// Rows whose names other rows of the table have too; a module tells them apart.
pub(crate) fn homonyms() -> impl Iterator<Item = &'static OpDef> {
    [activation::HOMONYMS, linalg::HOMONYMS, convolution::HOMONYMS].into_iter().flatten().copied().flatten()
}

/// The row of a name.
pub fn find(name: &str) -> Option<&'static OpDef> {
    table().find(|def| def.name == name)
}

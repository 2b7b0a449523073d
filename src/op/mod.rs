//! The table of operations.

pub mod args;
pub mod binary;
pub mod def;
pub mod elementwise;
pub mod index;
pub mod movement;
pub mod promote;
pub mod select;
pub mod unary;

pub use args::{Args, Value};
pub use def::{Family, Form, Forward, Gradient, InPlace, OpDef, Operand, Param, ParamKind};

/// Every operation, family by family.
pub fn table() -> impl Iterator<Item = &'static OpDef> {
    [unary::ROWS, binary::ROWS, binary::ALPHA_ROWS].into_iter().flatten()
}

/// The row of a name.
pub fn find(name: &str) -> Option<&'static OpDef> {
    table().find(|def| def.name == name)
}

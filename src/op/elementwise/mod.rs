//! Functions of one, two and three operands, element by element.

pub mod arithmetic;
pub mod binary;
pub mod bitwise;
pub mod bounds;
pub mod choose;
pub mod clamp;
pub mod comparison;
pub mod declare;
pub mod frexp;
pub mod fused;
pub mod numbers;
pub mod predicates;
pub mod rounding;
pub mod sign;
pub mod special;
pub mod unary;

use crate::op::core::def::{OpDef, documented};

/// The rows of the family, file by file.
pub static ROWS: &[&[OpDef]] = &documented([
    predicates::ROWS,
    predicates::MORE_ROWS,
    comparison::ROWS,
    comparison::MORE_ROWS,
    bitwise::ROWS,
    bitwise::MORE_ROWS,
    sign::ROWS,
    sign::MORE_ROWS,
    rounding::ROWS,
    rounding::MORE_ROWS,
    arithmetic::ROWS,
    arithmetic::MORE_ROWS,
    choose::ROWS,
    unary::ROWS,
    unary::MORE_ROWS,
    binary::ROWS,
    binary::MORE_ROWS,
    special::of_one::ROWS,
    special::of_two::ROWS,
    special::MORE_ROWS,
    bounds::ROWS,
    fused::ROWS,
    frexp::ROWS,
    numbers::ROWS,
]);

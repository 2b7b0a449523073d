//! Comparisons of two operands, and logic.

use crate::op::core::args::to_value;
use crate::op::core::def::OpDef;
use crate::op::core::params::by_name;
use crate::op::core::shapes;

use super::declare::{PairParams, binary, named};

binary! {
    eq Eq Compare Bool, (none), ["=="], (Any, Any),
        "Whether elements are equal.", "tensor([1, 2]) == 2" => "tensor([False,  True])";
    ne Ne Compare Bool, (none), ["!="], (Any, Any),
        "Whether elements differ.", "tensor([1, 2]) != 2" => "tensor([ True, False])";
    lt Lt Compare Bool, (none), ["<"], (Any, Any),
        "Whether elements are less.", "tensor([1, 2]) < 2" => "tensor([ True, False])";
    le Le Compare Bool, (none), ["<="], (Any, Any),
        "Whether elements are less or equal.", "tensor([1, 2]) <= 1" => "tensor([ True, False])";
    gt Gt Compare Bool, (none), [">"], (Any, Any),
        "Whether elements are greater.", "tensor([1, 2]) > 1" => "tensor([False,  True])";
    ge Ge Compare Bool, (none), [">="], (Any, Any),
        "Whether elements are greater or equal.", "tensor([1, 2]) >= 2" => "tensor([False,  True])";
    logical_and LogicalAnd Compare Bool, (none), [], (Any, Any),
        "Whether both elements are non-zero.", "tensor([1, 0]).logical_and(tensor([1, 1]))" => "tensor([ True, False])";
    logical_or LogicalOr Compare Bool, (none), [], (Any, Any),
        "Whether either element is non-zero.", "tensor([1, 0]).logical_or(tensor([0, 0]))" => "tensor([ True, False])";
    logical_xor LogicalXor Compare Bool, (none), [], (Any, Any),
        "Whether exactly one element is non-zero.", "tensor([1, 0]).logical_xor(tensor([1, 1]))" => "tensor([False,  True])";
}

/// The rows of this file that no macro writes.
pub(crate) static MORE_ROWS: &[OpDef] = &[
    named(
        "greater",
        "Another name of `gt`.",
        by_name!(PairParams, |a| to_value(gt(a.input, a.other))),
        PairParams::LIST,
        "tensor([3]).greater(2)",
        "tensor([True])",
    )
    .shapes(shapes::BROADCAST)
    .errors(shapes::APART),
    named(
        "greater_equal",
        "Another name of `ge`.",
        by_name!(PairParams, |a| to_value(ge(a.input, a.other))),
        PairParams::LIST,
        "tensor([3]).greater_equal(3)",
        "tensor([True])",
    )
    .shapes(shapes::BROADCAST)
    .errors(shapes::APART),
    named(
        "less",
        "Another name of `lt`.",
        by_name!(PairParams, |a| to_value(lt(a.input, a.other))),
        PairParams::LIST,
        "tensor([3]).less(2)",
        "tensor([False])",
    )
    .shapes(shapes::BROADCAST)
    .errors(shapes::APART),
    named(
        "less_equal",
        "Another name of `le`.",
        by_name!(PairParams, |a| to_value(le(a.input, a.other))),
        PairParams::LIST,
        "tensor([3]).less_equal(3)",
        "tensor([True])",
    )
    .shapes(shapes::BROADCAST)
    .errors(shapes::APART),
    named(
        "not_equal",
        "Another name of `ne`.",
        by_name!(PairParams, |a| to_value(ne(a.input, a.other))),
        PairParams::LIST,
        "tensor([3]).not_equal(3)",
        "tensor([False])",
    )
    .shapes(shapes::BROADCAST)
    .errors(shapes::APART),
];

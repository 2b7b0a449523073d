//! Comparisons of two operands, and logic.

use crate::op::core::def::OpDef;

use super::declare::{PairParams, binary, overwritten, twin};

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
    twin(
        "greater",
        "Another name of `gt`.",
        &specs::Gt,
        (PairParams::LIST, |args, how| PairParams::of(args)?.run(&specs::Gt, how)),
        ("tensor([3]).greater(2)", "tensor([True])"),
    )
    .in_place(|args| overwritten(args, &specs::Gt)),
    twin(
        "greater_equal",
        "Another name of `ge`.",
        &specs::Ge,
        (PairParams::LIST, |args, how| PairParams::of(args)?.run(&specs::Ge, how)),
        ("tensor([3]).greater_equal(3)", "tensor([True])"),
    )
    .in_place(|args| overwritten(args, &specs::Ge)),
    twin(
        "less",
        "Another name of `lt`.",
        &specs::Lt,
        (PairParams::LIST, |args, how| PairParams::of(args)?.run(&specs::Lt, how)),
        ("tensor([3]).less(2)", "tensor([False])"),
    )
    .in_place(|args| overwritten(args, &specs::Lt)),
    twin(
        "less_equal",
        "Another name of `le`.",
        &specs::Le,
        (PairParams::LIST, |args, how| PairParams::of(args)?.run(&specs::Le, how)),
        ("tensor([3]).less_equal(3)", "tensor([True])"),
    )
    .in_place(|args| overwritten(args, &specs::Le)),
    twin(
        "not_equal",
        "Another name of `ne`.",
        &specs::Ne,
        (PairParams::LIST, |args, how| PairParams::of(args)?.run(&specs::Ne, how)),
        ("tensor([3]).not_equal(3)", "tensor([False])"),
    )
    .in_place(|args| overwritten(args, &specs::Ne)),
];

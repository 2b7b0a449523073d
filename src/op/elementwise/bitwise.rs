//! Operations on the bits of integers and on masks.

use crate::base::{DType, Error, Kind, Result};
use crate::device::MapOp;
use crate::op::core::args::to_value;
use crate::op::core::def::{Family, Form, Gradient, OpDef};
use crate::op::core::fill::replaced;
use crate::op::core::params::{InputParams, by_name};
use crate::op::core::shapes;
use crate::op::core::spec::{Gives, Keep, Refusal, Unary};
use crate::tensor::Tensor;

use super::declare::binary;
use super::predicates::logical_not;

binary! {
    bitwise_and BitAnd Binary Same, (none), ["&"], (Mask, Mask),
        "The bits that are set in both; for masks, whether both are true.", "tensor([12, 10]).bitwise_and(6)" => "tensor([4, 2])";
    bitwise_or BitOr Binary Same, (none), ["|"], (Mask, Mask),
        "The bits that are set in either; for masks, whether one is true.", "tensor([12, 10]).bitwise_or(6)" => "tensor([14, 14])";
    bitwise_xor BitXor Binary Same, (none), ["^"], (Mask, Mask),
        "The bits in which two numbers differ; for masks, whether exactly one is true.", "tensor([12, 10]).bitwise_xor(6)" => "tensor([10, 12])";
    bitwise_left_shift ShiftLeft Binary Same, (none), ["<<"], (Any, Any),
        "Bits moved up: `input * 2**other`.", "tensor([1, 3]).bitwise_left_shift(2)" => "tensor([ 4, 12])";
    bitwise_right_shift ShiftRight Binary Same, (none), [">>"], (Any, Any),
        "Bits moved down: `input / 2**other`, rounded down.", "tensor([8, -3]).bitwise_right_shift(1)" => "tensor([ 4, -2])";
}

/// Each bit turned over; what is false becomes true.
pub(crate) fn bitwise_not(x: &Tensor) -> Result<Tensor> {
    static SPEC: Unary = Unary {
        name: "bitwise_not",
        op: MapOp::BitNot,
        gives: Gives::Same,
        keep: Keep::Nothing,
        rule: None,
        refusal: Refusal::ByName,
    };
    match x.dtype() {
        DType::Bool => logical_not(x),
        float if float.is_float() => {
            let text = format!("\"bitwise_not_cpu\" not implemented for '{}'", float.type_name());
            Err(Error::new(Kind::NotImplementedError, text))
        }
        _ => SPEC.apply(x, [0.0; 2]),
    }
}

/// The rows of this file that no macro writes.
pub(crate) static MORE_ROWS: &[OpDef] = &[OpDef::call(
    "bitwise_not",
    Family::Elementwise,
    "Each bit turned over; for masks, what is false becomes true. In a condition, `!x` is Python's `not x`.",
    InputParams::LIST,
    by_name!(InputParams, |a| to_value(bitwise_not(a.input))),
)
.forms(&[Form::Method, Form::Function, Form::Operator("!")])
.in_place(by_name!(InputParams, |a| to_value(replaced(a.input, bitwise_not))))
.shapes(shapes::SAME)
.errors(&["NotImplementedError: the tensor holds floats"])
.example("tensor([true, false]).bitwise_not()", "tensor([False,  True])")
.gradient(Gradient::NoGrad("bits have no gradient"))];

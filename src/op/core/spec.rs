//! What describes a function of one or two operands, element by element.

use crate::base::Scalar;
use crate::device::MapOp;
use crate::tensor::autograd::Rule;

/// What a function's result dtype is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gives {
    /// The (promoted) dtype of the operands.
    Same,
    /// That, with integers and bools made float.
    Float,
    Bool,
    /// As `Same`, but bool operands are an error, as for `-x`.
    Number,
    /// As `Same`, with bools counted: int64.
    Count,
}

/// How a function that gives [`Gives::Number`] refuses bools.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// In the words that PyTorch has for a kernel of the function's name.
    ByName,
    /// As `ByName`, with another name of the kernel.
    Kernel(&'static str),
    Text(&'static str),
}

/// What the gradient rule wants kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    Nothing,
    Input,
    Output,
    /// Both operands.
    Both,
    /// Each operand where the other wants a gradient, as a product has it.
    Cross,
    /// The right one, and the left where the right wants a gradient, as a quotient has it.
    Quotient,
}

/// A function of one tensor, element by element.
pub struct Unary {
    pub name: &'static str,
    pub op: MapOp,
    pub gives: Gives,
    pub keep: Keep,
    /// None for functions without a gradient.
    pub rule: Option<&'static dyn Rule>,
    pub refusal: Refusal,
}

/// A function of two operands, element by element, with broadcasting and promotion.
pub struct Binary {
    pub name: &'static str,
    pub op: MapOp,
    pub gives: Gives,
    pub keep: Keep,
    pub rule: Option<&'static dyn Rule>,
    pub refusal: Refusal,
    /// What the kernel gets where a call has no options.
    pub params: Params,
}

/// Where a call writes its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writes {
    New,
    /// To its first operand.
    First,
}

/// The two parameters of a map.
pub(crate) type Params = [f64; 2];

/// Where a plain number stood among two operands; rules read it from the saved attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Side {
    Left(Scalar),
    Right(Scalar),
}

/// What a map's rule finds in the saved attribute.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapAttribute {
    pub params: Params,
    /// Set where one operand was a number: the rule then has one input only.
    pub number: Option<Side>,
}

//! Variances and standard deviations.

use crate::base::{Error, Kind, Result, Scalar};
use crate::device::kernel::ReduceOp;
use crate::op::core::args::{to_list, to_value};
use crate::op::core::def::{Args, DefaultValue, Domain, Draw, FUNCTION, Family, Gradient, OpDef, Sample};
use crate::op::core::params::{Maybe, by_name, kind, kinds, params};
use crate::op::core::record::{in_mask, one, recorded};
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::{div, mul, scale, sub};
use crate::op::elementwise::choose::masked_fill;
use crate::op::elementwise::comparison::eq;
use crate::op::shape::view::restore_dims;
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp};

use super::sums;
use super::sums::{Over, mean, reduce};

/// Variance over `dims`, divided by `n - correction`.
pub fn var(x: &Tensor, dims: Option<&[i64]>, correction: f64, keepdim: bool) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "VarBackward0", run: var_grad };
    spread_of("var", x, Over::of(x, dims, keepdim)?, correction, false, &RULE)
}

/// Standard deviation over `dims`, the root of [`var`].
pub fn std(x: &Tensor, dims: Option<&[i64]>, correction: f64, keepdim: bool) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "StdBackward0", run: std_grad };
    spread_of("std", x, Over::of(x, dims, keepdim)?, correction, true, &RULE)
}

fn spread_of(
    name: &'static str,
    x: &Tensor,
    over: Over,
    correction: f64,
    root: bool,
    rule: &'static Vjp,
) -> Result<Tensor> {
    if !x.dtype().is_float() {
        let text = "std and var only support floating point and complex dtypes";
        return Err(
            Error::new(Kind::NotImplementedError, text).with_hint("convert to floats with `.float()`")
        );
    }
    if x.numel() > 0 && over.count(x) as f64 <= correction {
        x.context().shared.warn(&format!(
            "{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input \
             numel divided by output numel)."
        ));
    }
    let out = reduce(name, ReduceOp::Var { correction, root }, x, over, x.dtype())?;
    Ok(recorded(out, rule, &[x], |s, y| {
        s.input(x);
        if root {
            s.output(y);
        }
        s.attribute((over, correction));
    }))
}

fn var_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    one(var_part(s, g)?)
}

/// `2 / (n - correction) * g * (x - mean)`.
fn var_part(s: &Saved, g: &Tensor) -> Result<Tensor> {
    let x = s.tensor(0)?;
    let &(over, correction): &(Over, f64) = s.attribute()?;
    let dims: Vec<i64> = (0..x.rank()).filter(|i| in_mask(over.mask, *i)).map(|i| i as i64).collect();
    let centred = sub(&x, &mean(&x, Some(&dims), true)?)?;
    let factor = 2.0 / (over.count(&x) as f64 - correction).max(0.0);
    mul(&restore_dims(&scale(g, factor)?, x.shape(), over.mask)?, &centred)
}

fn std_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let y = s.tensor(1)?;
    let half = div(g, &scale(&y, 2.0)?)?;
    one(var_part(s, &masked_fill(&half, &eq(&y, 0i64)?, 0i64.into())?)?)
}

const NO_DIM: &str = "IndexError: the tensor has no such dimension as `dim` names";
const X: &[Draw] = &[Draw::of("x", &[3, 4, 2], Domain::Any)];
const MATRIX: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];

/// Dimensions, or in their place whether the sample's variance is meant.
enum Along {
    All,
    Dims(Vec<i64>),
    Unbiased(bool),
}

kinds! {
    AlongDims(Object) => Along, |args: &Args, at| match args.get(at) {
        Value::None => Ok(Along::All),
        Value::Scalar(Scalar::Bool(unbiased)) => Ok(Along::Unbiased(*unbiased)),
        _ => args.ints(at).map(Along::Dims),
    };
}

params! {
    SpreadParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: AlongDims => DefaultValue::None, "the dimension it runs along, or several; `unbiased` may stand in its place";
        correction: kind::Scalar = 1, "what is taken from the count before dividing: 1 for a sample, 0 for the whole";
        keepdim: kind::Bool = false, "keeps reduced dimensions, with size 1";
        unbiased: Maybe<kind::Bool>, "in place of `correction`: 1 where it is true, 0 where it is not";
    }
}

impl SpreadParams<'_> {
    fn taken(&self) -> f64 {
        let unbiased = if let Along::Unbiased(first) = self.dim { Some(first) } else { self.unbiased };
        unbiased.map_or(self.correction.as_f64(), |unbiased| if unbiased { 1.0 } else { 0.0 })
    }

    fn dims(&self) -> Option<&[i64]> {
        if let Along::Dims(dims) = &self.dim { Some(dims) } else { None }
    }

    /// The spread and the mean, as an array.
    fn with_mean(
        &self,
        spread: fn(&Tensor, Option<&[i64]>, f64, bool) -> Result<Tensor>,
    ) -> Result<Vec<Tensor>> {
        let (dims, keepdim) = (self.dims(), self.keepdim);
        Ok(vec![spread(self.input, dims, self.taken(), keepdim)?, sums::mean(self.input, dims, keepdim)?])
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "var",
        Family::Reduce,
        "The variance, with Bessel's correction.",
        SpreadParams::LIST,
        by_name!(SpreadParams, |a| to_value(var(a.input, a.dims(), a.taken(), a.keepdim))),
    )
    .shapes(shapes::REDUCED)
    .errors(&[shapes::NO_FLOAT, NO_DIM])
    .example("tensor([1.0, 3.0]).var()", "tensor(2.)")
    .gradient(Gradient::Vjp("VarBackward0"))
    .samples(&[Sample::of("x.var()", X), Sample::of("x.var(1)", X)]),
    OpDef::call(
        "std",
        Family::Reduce,
        "The standard deviation, with Bessel's correction.",
        SpreadParams::LIST,
        by_name!(SpreadParams, |a| to_value(std(a.input, a.dims(), a.taken(), a.keepdim))),
    )
    .shapes(shapes::REDUCED)
    .errors(&[shapes::NO_FLOAT, NO_DIM])
    .example("tensor([1.0, 3.0]).std()", "tensor(1.4142)")
    .gradient(Gradient::Vjp("StdBackward0"))
    .samples(&[Sample::of("x.std(1)", X)]),
    OpDef::call(
        "var_mean",
        Family::Reduce,
        "The variance and the mean, as an array.",
        SpreadParams::LIST,
        by_name!(SpreadParams, |a| to_list(a.with_mean(var))),
    )
    .forms(FUNCTION)
    .shapes("any -> two without dim, or two of () where none is given; keepdim leaves sizes of 1")
    .errors(&[shapes::NO_FLOAT, NO_DIM])
    .example("var_mean(tensor([1.0, 3.0]))", "[tensor(2.), tensor(2.)]")
    .samples(&[Sample::of("var_mean(x, 1)[0]", MATRIX)]),
    OpDef::call(
        "std_mean",
        Family::Reduce,
        "The standard deviation and the mean, as an array.",
        SpreadParams::LIST,
        by_name!(SpreadParams, |a| to_list(a.with_mean(std))),
    )
    .forms(FUNCTION)
    .shapes("any -> two without dim, or two of () where none is given; keepdim leaves sizes of 1")
    .errors(&[shapes::NO_FLOAT, NO_DIM])
    .example("std_mean(tensor([1.0, 3.0]))", "[tensor(1.4142), tensor(2.)]")
    .samples(&[Sample::of("std_mean(x, 0)[0]", MATRIX)]),
];

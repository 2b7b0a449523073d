//! Variances and standard deviations.

use crate::base::{Error, Kind, Result};
use crate::device::kernel::ReduceOp;
use crate::op::core::args::{to_list, to_value};
use crate::op::core::def::{Domain, Draw, FUNCTION, Family, Gradient, OpDef, Sample};
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::record::{in_mask, one, recorded};
use crate::op::core::shapes;
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

const X: &[Draw] = &[Draw::of("x", &[3, 4, 2], Domain::Any)];
const MATRIX: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];

params! {
    SpreadParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: Maybe<kind::Dims>, "the dimension it runs along; negative ones count from the end";
        correction: kind::Scalar = 1, "what is taken from the count before dividing: 1 for a sample, 0 for the whole";
        keepdim: kind::Bool = false, "keeps reduced dimensions, with size 1";
        unbiased: Maybe<kind::Bool>, "in place of `correction`: 1 where it is true, 0 where it is not";
    }
}

impl SpreadParams<'_> {
    fn taken(&self) -> f64 {
        self.unbiased.map_or(self.correction.as_f64(), |unbiased| if unbiased { 1.0 } else { 0.0 })
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "var",
        Family::Reduce,
        "The variance, with Bessel's correction.",
        SpreadParams::LIST,
        by_name!(SpreadParams, |a| to_value(var(a.input, a.dim.as_deref(), a.taken(), a.keepdim))),
    )
    .shapes(shapes::REDUCED)
    .errors(&[shapes::NO_FLOAT])
    .example("tensor([1.0, 3.0]).var()", "tensor(2.)")
    .gradient(Gradient::Vjp("VarBackward0"))
    .samples(&[Sample::of("x.var()", X), Sample::of("x.var(1)", X)]),
    OpDef::call(
        "std",
        Family::Reduce,
        "The standard deviation, with Bessel's correction.",
        SpreadParams::LIST,
        by_name!(SpreadParams, |a| to_value(std(a.input, a.dim.as_deref(), a.taken(), a.keepdim))),
    )
    .shapes(shapes::REDUCED)
    .errors(&[shapes::NO_FLOAT])
    .example("tensor([1.0, 3.0]).std()", "tensor(1.4142)")
    .gradient(Gradient::Vjp("StdBackward0"))
    .samples(&[Sample::of("x.std(1)", X)]),
    OpDef::call(
        "var_mean",
        Family::Reduce,
        "The variance and the mean, as an array.",
        SpreadParams::LIST,
        by_name!(SpreadParams, |a| {
            let taken = a.taken();
            let (x, dims) = (a.input, a.dim);
            let spread = var(x, dims.as_deref(), taken, a.keepdim)?;
            to_list(Ok(vec![spread, sums::mean(x, dims.as_deref(), a.keepdim)?]))
        }),
    )
    .forms(FUNCTION)
    .shapes("any -> two without dim, or two of () where none is given; keepdim leaves sizes of 1")
    .errors(&[shapes::NO_FLOAT])
    .example("var_mean(tensor([1.0, 3.0]))", "[tensor(2.), tensor(2.)]")
    .samples(&[Sample::of("var_mean(x, 1)[0]", MATRIX)]),
    OpDef::call(
        "std_mean",
        Family::Reduce,
        "The standard deviation and the mean, as an array.",
        SpreadParams::LIST,
        by_name!(SpreadParams, |a| {
            let taken = a.taken();
            let (x, dims) = (a.input, a.dim);
            let spread = std(x, dims.as_deref(), taken, a.keepdim)?;
            to_list(Ok(vec![spread, sums::mean(x, dims.as_deref(), a.keepdim)?]))
        }),
    )
    .forms(FUNCTION)
    .shapes("any -> two without dim, or two of () where none is given; keepdim leaves sizes of 1")
    .errors(&[shapes::NO_FLOAT])
    .example("std_mean(tensor([1.0, 3.0]))", "[tensor(1.4142), tensor(2.)]")
    .samples(&[Sample::of("std_mean(x, 0)[0]", MATRIX)]),
];

//! The gamma function of several dimensions.

use crate::base::{Error, Result, Scalar};
use crate::op::core::args::to_value;
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Domain, Draw, Family, Form, OpDef, Sample};
use crate::op::core::fill::replaced;
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::promote::to_float;
use crate::op::core::shapes;
use crate::op::elementwise::arithmetic::{add, shift};
use crate::op::elementwise::unary::lgamma;
use crate::op::shape::view::unsqueeze;
use crate::tensor::{Tensor, launch};

use super::sums::sum;

/// The logarithm of the gamma function of `p` dimensions: `p (p - 1) / 4 log(pi)`, and `lgamma(x - i / 2)` summed over
/// `i` from 0 to `p - 1`.
pub fn mvlgamma(x: &Tensor, p: i64) -> Result<Tensor> {
    if p < 1 {
        return Err(Error::runtime("p has to be greater than or equal to 1"));
    }
    let x = if x.dtype().is_float() { x.clone() } else { to_dtype(x, to_float(x.dtype()))? };
    let count = usize::try_from(p).unwrap_or(usize::MAX);
    let steps = Tensor::empty(&[count], x.dtype(), &x.context(), "mvlgamma")?;
    let kernel =
        crate::device::Kernel::Arange { start: (-0.5 * (p - 1) as f64).into(), step: Scalar::Float(0.5) };
    launch("mvlgamma", &kernel, &[], &[&steps])?;
    let p = p as f64;
    let total = sum(&lgamma(&add(&unsqueeze(&x, -1)?, &steps)?)?, Some(&[-1]), false)?;
    shift(&total, 0.25 * p * (p - 1.0) * std::f64::consts::PI.ln())
}

/// In the place of a tensor, which has to hold floats.
fn written(x: &Tensor, p: i64) -> Result<Tensor> {
    if !x.dtype().is_float() {
        return Err(Error::runtime(format!(
            "mvlgamma: result type {} can't be cast to the desired output type Float",
            x.dtype().type_name()
        )));
    }
    replaced(x, |x| mvlgamma(x, p))
}

params! {
    MvlgammaParams {
        input: kind::Tensor, "the tensor it is computed of";
        p: kind::Int, "how many dimensions, from 1";
    }
}

const DRAWN: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Above)];

const fn row(name: &'static str, summary: &'static str) -> OpDef {
    OpDef::call(
        name,
        Family::Elementwise,
        summary,
        MvlgammaParams::LIST,
        by_name!(MvlgammaParams, |a| to_value(mvlgamma(a.input, a.p))),
    )
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: `p` is less than 1"])
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    row("mvlgamma", "The logarithm of the gamma function of `p` dimensions.")
        .in_place(by_name!(MvlgammaParams, |a| to_value(written(a.input, a.p))))
        .details("It is defined for elements above `(p - 1) / 2`.")
        .example("mvlgamma(tensor([3.0]), 2)", "tensor([1.5502])")
        .samples(&[Sample::of("mvlgamma(x, 3)", DRAWN)]),
    row("multigammaln", "Another name of `mvlgamma`.")
        .forms(&[Form::Of("special")])
        .example("special::multigammaln(tensor([3.0]), 2)", "tensor([1.5502])"),
];

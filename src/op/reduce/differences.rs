//! Differences between neighbours, and areas under them.

use crate::base::{DType, Error, Kind, Result};
use crate::op::core::args::to_value;
use crate::op::core::convert::cloned;
use crate::op::core::def::{DefaultValue as D, Domain, Draw, FUNCTION, Family, OpDef, Sample};
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::elementwise::arithmetic::{add, mul, scale, sub};
use crate::op::elementwise::comparison::logical_xor;
use crate::op::shape::join::cat;
use crate::op::shape::part::slice;
use crate::op::shape::view::reshape_to;
use crate::tensor::Tensor;

use super::sums::sum;

/// Differences of neighbours along `dim`, `n` times over, with what is put before and behind.
pub fn diff(
    x: &Tensor,
    n: i64,
    dim: i64,
    before: Option<&Tensor>,
    behind: Option<&Tensor>,
) -> Result<Tensor> {
    if x.rank() == 0 {
        return Err(Error::runtime("diff expects input to be at least one-dimensional"));
    }
    if n < 0 {
        return Err(Error::runtime(format!("order must be non-negative but got {n}")));
    }
    if n == 0 {
        // As PyTorch, which then joins nothing either.
        return cloned(x);
    }
    let joined: Vec<&Tensor> = before.into_iter().chain([x]).chain(behind).collect();
    let mut out = if joined.len() > 1 { cat(&joined, dim)? } else { x.clone() };
    let at = out.dim(dim)?;
    // After as many as there are elements nothing is left.
    for _ in 0..n.min(out.size(dim)? as i64) {
        let size = out.size(dim)?;
        let step = size.saturating_sub(1);
        let (new, old) = (slice(&out, at, size - step, step, 1)?, slice(&out, at, 0, step, 1)?);
        out = if x.dtype() == DType::Bool { logical_xor(&new, &old)? } else { sub(&new, &old)? };
    }
    Ok(out)
}

/// The area under points, by trapezoids along `dim`; `x` gives their places, or `dx` their distance.
pub fn trapezoid(y: &Tensor, x: Option<&Tensor>, dx: f64, dim: i64) -> Result<Tensor> {
    if y.rank() == 0 {
        let dim = if x.is_some() { y.dim(dim)? as i64 } else { dim };
        let text = format!("Dimension specified as {dim} but tensor has no dimensions");
        return Err(Error::new(Kind::IndexError, text));
    }
    // Of no points the area is 0.
    if y.size(dim)? > 0 {
        check_no_bools("trapezoid", y, x)?;
    }
    sum(&trapezoids(y, x, dx, dim)?, Some(&[dim]), false)
}

/// The area under points up to each of them but the first, as [`trapezoid`].
pub fn cumulative_trapezoid(y: &Tensor, x: Option<&Tensor>, dx: f64, dim: i64) -> Result<Tensor> {
    if y.rank() == 0 {
        return Err(Error::new(Kind::IndexError, "slice() cannot be applied to a 0-dim tensor."));
    }
    check_no_bools("cumulative_trapezoid", y, x)?;
    super::scan::cumsum(&trapezoids(y, x, dx, dim)?, dim, None)
}

fn check_no_bools(name: &str, y: &Tensor, x: Option<&Tensor>) -> Result<()> {
    if ![Some(y), x].into_iter().flatten().any(|t| t.dtype() == DType::Bool) {
        return Ok(());
    }
    let which = if x.is_some() { "`x` or `y`" } else { "`y`" };
    let text = format!("{name}: received a bool input for {which}, but bool is not supported");
    Err(Error::new(Kind::NotImplementedError, text)
        .with_hint("convert it first, for example with `.float()`"))
}

/// The area of each trapezoid between neighbours along `dim`.
fn trapezoids(y: &Tensor, x: Option<&Tensor>, dx: f64, dim: i64) -> Result<Tensor> {
    let at = y.dim(dim)?;
    let size = y.size(dim)?;
    let step = size.saturating_sub(1);
    if let Some(x) = x.filter(|x| x.rank() == 1 && x.numel() != size) {
        let text = "trapezoid: There must be one `x` value for each sample point";
        return Err(Error::runtime(text)
            .with_hint(format!("`x` has {} values, and dimension {dim} of `y` has {size}", x.numel())));
    }
    let pairs = add(&slice(y, at, size - step, step, 1)?, &slice(y, at, 0, step, 1)?)?;
    match x {
        None => scale(&pairs, 0.5 * dx),
        Some(x) => {
            let along = if x.rank() == 1 { -1 } else { at as i64 - y.rank() as i64 };
            let width = diff(x, 1, along, None, None)?;
            let wide = if x.rank() == 1 && y.rank() > 1 {
                let mut shape: Vec<usize> = vec![1; y.rank()];
                if let Some(slot) = shape.get_mut(at) {
                    *slot = step;
                }
                reshape_to(&width, &shape)?
            } else {
                width
            };
            scale(&mul(&pairs, &wide)?, 0.5)
        }
    }
}

const MATRIX: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];

params! {
    DiffParams {
        input: kind::Tensor, "the tensor it is computed of";
        n: kind::Int = 1, "how many times";
        dim: kind::Dim = -1, "the dimension it runs along; negative ones count from the end";
        prepend: Maybe<kind::Tensor>, "values put before the tensor before differences are taken";
        append: Maybe<kind::Tensor>, "values put behind the tensor before differences are taken";
    }
}

params! {
    PointsParams {
        y: kind::Tensor, "the values that are integrated";
        x: Maybe<kind::Tensor>, "places of the values, instead of equal distances";
        dx: kind::Float => D::Int(1), "the distance between neighbours where `x` gives none";
        dim: kind::Dim = -1, "the dimension it runs along; negative ones count from the end";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call("diff", Family::Reduce, "Differences of neighbours along a dimension, `n` times over.", DiffParams::LIST, by_name!(DiffParams, |a| {
            let (before, behind) = (a.prepend, a.append);
            to_value(diff(a.input, a.n, a.dim, before, behind))
        }))
    .shapes("(…, m, …) -> (…, m - n, …), m with the sizes of `prepend` and `append`")
    .example("tensor([1, 4, 9]).diff()", "tensor([3, 5])")
    .samples(&[Sample::of("x.diff()", MATRIX), Sample::of("x.diff(2, 0)", MATRIX)]),
    OpDef::call("cumulative_trapezoid", Family::Reduce, "The area under points up to each of them but the first; `x` gives their places, or `dx` their distance.", PointsParams::LIST, by_name!(PointsParams, |a| to_value(cumulative_trapezoid(a.y, a.x, a.dx, a.dim))))
    .forms(FUNCTION)
    .shapes("(…, n, …) -> (…, n - 1, …)")
    .errors(&["RuntimeError: `x` does not have one value for each point", "NotImplementedError: one of them holds bools"])
    .example("cumulative_trapezoid(tensor([1.0, 2.0, 4.0]))", "tensor([1.5000, 4.5000])")
    .samples(&[Sample::of("cumulative_trapezoid(x, #{dx: 0.5, dim: 0})", MATRIX)]),
    OpDef::call("trapezoid", Family::Reduce, "The area under points along a dimension; `x` gives their places, or `dx` their distance.", PointsParams::LIST, by_name!(PointsParams, |a| to_value(trapezoid(a.y, a.x, a.dx, a.dim))))
    .forms(FUNCTION)
    .shapes("(…, n, …) -> without dim")
    .errors(&["RuntimeError: `x` does not have one value for each point", "NotImplementedError: one of them holds bools"])
    .example("trapezoid(tensor([1.0, 2.0, 3.0]))", "tensor(4.)")
    .samples(&[Sample::of("trapezoid(x, #{dx: 0.5})", MATRIX)]),
    OpDef::call("trapz", Family::Reduce, "Another name of `trapezoid`.", PointsParams::LIST, by_name!(PointsParams, |a| to_value(trapezoid(a.y, a.x, a.dx, a.dim))))
    .forms(FUNCTION)
    .shapes("(…, n, …) -> without dim")
    .errors(&["RuntimeError: `x` does not have one value for each point", "NotImplementedError: one of them holds bools"])
    .example("trapz(tensor([1.0, 2.0, 3.0]))", "tensor(4.)")
    .samples(&[Sample::of("trapz(x, #{dx: 0.5})", MATRIX)]),
];

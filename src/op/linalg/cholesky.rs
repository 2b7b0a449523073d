//! The factor of a positive definite matrix.

use crate::base::{DType, Error, Kind, Result};
use crate::device::kernel::{Factor, Kernel};
use crate::op::core::args::to_value;
use crate::op::core::autocast::whole;
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Domain, Draw, Family, Form, Gradient, OpDef, Sample};
use crate::op::core::operand::Operand;
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::record::{no_grad, one, recorded};
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::{add, mul, scale, shift, sub};
use crate::op::elementwise::choose::{masked_fill, where_};
use crate::op::elementwise::comparison::{eq, ge, logical_and};
use crate::op::elementwise::predicates::isnan;
use crate::op::reduce::sums::{any, sum};
use crate::op::shape::part::diagonal;
use crate::op::shape::permute::matrix_transpose;
use crate::op::shape::triangle::tril;
use crate::op::shape::view::unsqueeze;
use crate::op::sorting::extremum::argmax;
use crate::op::sorting::running::places_along;
use crate::tensor::autograd::{Grads, Saved, Vjp};
use crate::tensor::{Tensor, launch};

use super::batches::{like, square};
use super::matmul::matmul;
use super::solve::inv;

/// The lower triangle `l` with `l @ l.mT = x`, for a symmetric positive definite matrix.
pub fn cholesky(x: &Tensor) -> Result<Tensor> {
    whole("cholesky", [x], |[x]| {
        let out = factored(x, "linalg.cholesky")?;
        check(&out, "linalg.cholesky")?;
        Ok(out)
    })
}

/// As [`cholesky`], and 0 for each matrix that has such a triangle, else the order of the first minor that is not
/// positive definite: from there on it is what is left of the matrix.
pub(crate) fn cholesky_ex(x: &Tensor, check_errors: bool) -> Result<(Tensor, Tensor)> {
    whole("cholesky_ex", [x], |[x]| {
        let out = eliminated(x, "linalg.cholesky_ex")?;
        if check_errors {
            check(&out, "linalg.cholesky_ex")?;
        }
        let info = failed_minor(&out)?;
        let out = so_far(x, &out, &info)?;
        Ok((with_gradient(out, x), info))
    })
}

/// A triangle up to the column that failed, and from there on what was found of the matrix: the pivot that is not
/// positive, and elements as they were. No graph.
fn so_far(x: &Tensor, triangle: &Tensor, info: &Tensor) -> Result<Tensor> {
    let _off = no_grad();
    let x = &x.detach();
    let (rows, columns) = (places_along(triangle, -2)?, places_along(triangle, -1)?);
    let at = shift(&unsqueeze(&unsqueeze(&to_dtype(info, DType::Int64)?, -1)?, -1)?, -1.0)?;
    let later = logical_and(&ge(&columns, &at)?, &ge(&at, 0i64)?)?;
    let known = masked_fill(triangle, &later, 0i64.into())?;
    let squares = sum(&mul(&known, &known)?, Some(&[-1]), true)?;
    let corner = logical_and(&eq(&rows, &at)?, &eq(&columns, &at)?)?;
    let left = where_(&corner, (&sub(x, &squares)?).into(), (&tril(x, 0)?).into())?;
    where_(&later, (&left).into(), triangle.into())
}

/// The order of the first minor that is not positive definite, or 0.
fn failed_minor(triangle: &Tensor) -> Result<Tensor> {
    let _off = no_grad();
    let bad = to_dtype(&isnan(&diagonal(triangle, 0, -2, -1)?)?, DType::Int32)?;
    let batch = triangle.shape().get(..triangle.rank().saturating_sub(2)).unwrap_or_default();
    if triangle.size(-1)? == 0 {
        return Tensor::full(batch, 0i64.into(), DType::Int32, &triangle.context(), "cholesky_ex");
    }
    let place = shift(&argmax(&bad, Some(-1), false)?, 1.0)?;
    let is_bad = any(&bad, Some(&[-1]), false)?;
    to_dtype(&where_(&is_bad, (&place).into(), Operand::Scalar(0i64.into()))?, DType::Int32)
}

/// Fails where a triangle is not one of numbers.
fn check(triangle: &Tensor, name: &str) -> Result<()> {
    let _off = no_grad();
    if any(&isnan(triangle)?, None, false)?.item()?.as_i64() == 0 {
        return Ok(());
    }
    let orders = failed_minor(triangle)?.to_f64s("cholesky")?;
    let (element, order) = orders.iter().enumerate().find(|(_, order)| **order > 0.0).unwrap_or((0, &1.0));
    let which = if triangle.rank() > 2 { format!("(Batch element {element}): ") } else { String::new() };
    Err(Error::new(
        Kind::RuntimeError,
        format!(
            "{name}: {which}The factorization could not be completed because the input is not positive-definite (the \
             leading minor of order {order} is not positive-definite)."
        ),
    ))
}

fn factored(x: &Tensor, name: &str) -> Result<Tensor> {
    Ok(with_gradient(eliminated(x, name)?, x))
}

/// The triangle; no graph.
fn eliminated(x: &Tensor, name: &str) -> Result<Tensor> {
    square(x, name)?;
    let _off = no_grad();
    let n = x.size(-1)?;
    let out = like(x, &[n, n])?;
    launch("linalg.cholesky", &Kernel::Factor(Factor::Cholesky), &[x.into()], &[&out])?;
    Ok(out)
}

fn with_gradient(triangle: Tensor, x: &Tensor) -> Tensor {
    static RULE: Vjp = Vjp { name: "LinalgCholeskyExBackward0", run: cholesky_grad };
    recorded(triangle, &RULE, &[x], |s, y| s.output(y))
}

/// Murray's rule (2016): `l^-T phi(l^T g) l^-1`, made symmetric.
fn cholesky_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let l = s.tensor(0)?;
    let inverse = inv(&l)?;
    let low = tril(&matmul(&matrix_transpose(&l)?, g)?, 0)?;
    let corner =
        scale(&crate::op::arrange::diagonal::diag_embed(&diagonal(&low, 0, -2, -1)?, 0, -2, -1)?, 0.5)?;
    let phi = sub(&low, &corner)?;
    let whole = matmul(&matmul(&matrix_transpose(&inverse)?, &phi)?, &inverse)?;
    one(scale(&add(&whole, &matrix_transpose(&whole)?)?, 0.5)?)
}

/// A product with its transpose, moved up the diagonal, is well conditioned.
const SQUARE: &[Draw] = &[Draw::of("x", &[3, 3], Domain::Inside), Draw::of("b", &[3, 2], Domain::Any)];
const SPACE: &[Form] = &[Form::Of("linalg")];

params! {
    CholeskyParams {
        A: kind::Tensor, "the matrix, or a batch of matrices";
        upper: kind::Bool = false, "gives the upper triangle, whose transpose stands in front of it";
    }
}

params! {
    CholeskyExParams {
        A: kind::Tensor, "the matrix, or a batch of matrices";
        upper: kind::Bool = false, "gives the upper triangle, whose transpose stands in front of it";
        check_errors: kind::Bool = false, "fails where a matrix is not positive-definite";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[OpDef::call(
    "cholesky_ex",
    Family::Matmul,
    "As `linalg::cholesky`, and whether there is such a triangle: a map of `L` and `info`.",
    CholeskyExParams::LIST,
    by_name!(CholeskyExParams, |a| {
        let (lower, info) = cholesky_ex(a.A, a.check_errors)?;
        let triangle = if a.upper { matrix_transpose(&lower)? } else { lower };
        Ok(Value::Map(vec![("L", triangle.into()), ("info", info.into())]))
    }),
)
.forms(SPACE)
.details(
    "`info` is 0, or the order of the first leading minor that is not positive-definite; from there on the triangle is \
     what was found of the matrix till then.",
)
.shapes("(…, n, n) -> (…, n, n) and info (…)")
.errors(&[
    "RuntimeError: a matrix is not square",
    "RuntimeError: a matrix is not positive-definite, with `check_errors`",
])
.example("linalg::cholesky_ex(tensor([[4.0, 0.0], [0.0, -1.0]])).info", "tensor(2, dtype=torch.int32)")
.gradient(Gradient::Vjp("LinalgCholeskyExBackward0"))
.samples(&[Sample::of("linalg::cholesky_ex(x @ x.t() + eye(3, #{dtype: x.dtype})).L", SQUARE)]),
OpDef::call(
    "cholesky",
    Family::Matmul,
    "The lower triangle whose product with its transpose is a positive-definite matrix.",
    CholeskyParams::LIST,
    by_name!(CholeskyParams, |a| {
        let lower = cholesky(a.A)?;
        to_value(if a.upper { matrix_transpose(&lower) } else { Ok(lower) })
    }),
)
.forms(SPACE)
.shapes("(…, n, n) -> (…, n, n)")
.errors(&["RuntimeError: a matrix is not square", "RuntimeError: a matrix is not positive-definite"])
.example("linalg::cholesky(tensor([[4.0, 2.0], [2.0, 5.0]]))", "tensor([[2., 0.],\n        [1., 2.]])")
.gradient(Gradient::Vjp("LinalgCholeskyExBackward0"))
.samples(&[Sample::of("linalg::cholesky(x @ x.t() + eye(3, #{dtype: x.dtype}))", SQUARE)])];

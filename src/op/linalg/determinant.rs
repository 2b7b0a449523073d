//! Determinants. Their gradients are cofactors, which singular matrices have too.

use crate::base::Result;
use crate::base::memory::collected;
use crate::op::core::args::to_value;
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Domain, Draw, Family, Form, Gradient, OpDef, Sample};
use crate::op::core::operand::Operand;
use crate::op::core::params::{InputParams, by_name};
use crate::op::core::record::{no_grad, one, recorded};
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::{add, mul, scale, sub};
use crate::op::elementwise::choose::{masked_fill, where_};
use crate::op::elementwise::comparison::{eq, le, lt};
use crate::op::elementwise::sign::sign;
use crate::op::elementwise::unary::{abs, log};
use crate::op::gather::select::index_select;
use crate::op::index::masks::positions;
use crate::op::index::places::index_copy;
use crate::op::reduce::products::prod;
use crate::op::reduce::sums::{amax, amin, any, sum};
use crate::op::shape::part::diagonal;
use crate::op::shape::permute::{matrix_transpose, permute};
use crate::op::shape::view::{expand_to, reshape_to, sizes, unsqueeze};
use crate::op::sorting::running::places_along;
use crate::tensor::Tensor;
use crate::tensor::autograd::Vjp;

use super::batches::{identity, outer, square};
use super::matmul::matmul;
use super::solve::{inv, solve};
use super::svd::svd;
use super::triangular::eliminated;

/// The factor by which a matrix stretches volumes.
pub fn det(x: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "LinalgDetBackward0",
        run: |s, g| one(mul(&last_two(g)?, &cofactors(&s.tensor(0)?, &s.tensor(1)?, &s.tensor(2)?)?)?),
    };
    square(x, "linalg.det")?;
    let _paused = crate::tensor::autocast::pause();
    let (out, pivots) = {
        let _off = no_grad();
        let (pivots, sign) = pivots(x)?;
        (mul(&prod(&pivots, Some(-1), false, None)?, &sign)?, pivots)
    };
    Ok(recorded(out, &RULE, &[x], |s, y| {
        s.input(x);
        s.output(y);
        s.constant(Some(&pivots));
    }))
}

/// The pivots of elimination, and 1 or -1 by the number of rows that changed places.
fn pivots(x: &Tensor) -> Result<(Tensor, Tensor)> {
    let found = eliminated(x)?;
    let stayed = eq(&found.pivots, &add(&places_along(&found.pivots, -1)?, 1i64)?)?;
    let signs = sub(&mul(&to_dtype(&stayed, x.dtype())?, 2.0)?, 1.0)?;
    Ok((diagonal(&found.both, 0, -2, -1)?, prod(&signs, Some(-1), false, None)?))
}

/// How many elements all minors of the singular matrices of a batch may have together.
const MINORS: usize = 1 << 24;

/// The cofactors of matrices whose elimination has these `pivots`, and whose determinant is `det`. The inverse has them,
/// but for matrices that are singular or so nearly that it has no digits left.
fn cofactors(x: &Tensor, det: &Tensor, pivots: &Tensor) -> Result<Tensor> {
    let n = x.size(-1)?;
    let singular = {
        let _off = no_grad();
        flat_pivots(pivots, n)?
    };
    let Some(singular) = singular else { return by_inverse(x, det) };
    let safe = where_(&last_two(&singular)?, Operand::Tensor(&identity(x)?), Operand::Tensor(x))?;
    let all = by_inverse(&safe, det)?;
    let count: usize = outer(x).iter().product();
    let (places, rows) = (positions(&reshape_to(&singular, &[count])?)?, [count, n, n]);
    let of_singular = index_select(&reshape_to(x, &rows)?, 0, &places)?;
    let found = if minors(places.numel(), n).is_some_and(|all| all <= MINORS) {
        by_minors(&of_singular, n)?
    } else {
        by_directions(&of_singular)?
    };
    reshape_to(&index_copy(&reshape_to(&all, &rows)?, 0, &places, &found)?, x.shape())
}

fn minors(matrices: usize, n: usize) -> Option<usize> {
    let side = n.checked_mul(n.saturating_sub(1))?;
    side.checked_mul(side)?.checked_mul(matrices)
}

/// Which matrices have a pivot that is nothing but rounding, where there is any; of larger ones those with none at all.
fn flat_pivots(pivots: &Tensor, n: usize) -> Result<Option<Tensor>> {
    if pivots.numel() == 0 {
        return Ok(None);
    }
    let sizes = abs(pivots)?;
    let least = amin(&sizes, Some(&[-1]), false)?;
    let flat = if minors(1, n).is_some_and(|all| all <= MINORS) {
        let rounding = 8.0 * n as f64 * pivots.dtype().epsilon();
        le(&least, &scale(&amax(&sizes, Some(&[-1]), false)?, rounding)?)?
    } else {
        eq(&least, 0.0)?
    };
    Ok((any(&flat, None, false)?.item()?.as_i64() != 0).then_some(flat))
}

fn by_inverse(x: &Tensor, det: &Tensor) -> Result<Tensor> {
    mul(&last_two(det)?, &matrix_transpose(&inv(x)?)?)
}

/// Each cofactor as the determinant of what its row and its column leave: all derivatives are exact.
fn by_minors(x: &Tensor, n: usize) -> Result<Tensor> {
    if n == 1 {
        return Tensor::full(x.shape(), 1i64.into(), x.dtype(), &x.context(), "linalg.det");
    }
    let (count, less) = (x.size(0)?, n - 1);
    let kept =
        collected((0..n).flat_map(|left_out| (0..n).filter(move |&k| k != left_out)).map(|k| k as i64))?;
    let kept = Tensor::from_i64(&kept, &[kept.len()])?.moved(&x.context(), false, "linalg.det")?;
    let parts = index_select(&index_select(x, 1, &kept)?, 2, &kept)?;
    let parts = permute(&reshape_to(&parts, &[count, n, less, n, less])?, &[0, 1, 3, 2, 4])?;
    let signs = collected((0..n * n).map(|k| if (k / n + k % n).is_multiple_of(2) { 1i64 } else { -1 }))?;
    mul(&det(&parts)?, &Tensor::from_i64(&signs, &[n, n])?.moved(&x.context(), false, "linalg.det")?)
}

/// By singular values, of which each direction has the product of the others.
fn by_directions(x: &Tensor) -> Result<Tensor> {
    let found = svd(x, false)?;
    let each = expand_to(&unsqueeze(&found.s, -2)?, &sizes(x))?;
    let own = eq(&identity(x)?, 1.0)?;
    let others = prod(&where_(&own, Operand::from(1.0), Operand::Tensor(&each))?, Some(-1), false, None)?;
    let turns = {
        let _off = no_grad();
        mul(&det(&found.u)?, &det(&found.vh)?)?
    };
    let scaled = mul(&found.u, &unsqueeze(&others, -2)?)?;
    mul(&last_two(&turns)?, &matmul(&scaled, &found.vh)?)
}

/// `x` with two more dimensions of size 1.
fn last_two(x: &Tensor) -> Result<Tensor> {
    let mut shape: Vec<usize> = x.shape().to_vec();
    shape.extend([1, 1]);
    reshape_to(x, &shape)
}

/// The sign of the determinant, and the logarithm of its size.
pub(crate) fn slogdet(x: &Tensor) -> Result<(Tensor, Tensor)> {
    signed(x, "linalg.slogdet")
}

fn signed(x: &Tensor, name: &str) -> Result<(Tensor, Tensor)> {
    static RULE: Vjp = Vjp {
        name: "LinalgSlogdetBackward0",
        run: |s, g| {
            let x = s.tensor(0)?;
            one(solve(&matrix_transpose(&x)?, &mul(&last_two(g)?, &identity(&x)?)?)?)
        },
    };
    square(x, name)?;
    let _paused = crate::tensor::autocast::pause();
    let (signs, size) = {
        let _off = no_grad();
        let (pivots, exchanges) = pivots(x)?;
        let signs = mul(&prod(&sign(&pivots)?, Some(-1), false, None)?, &exchanges)?;
        (signs, sum(&log(&abs(&pivots)?)?, Some(&[-1]), false)?)
    };
    Ok((signs, recorded(size, &RULE, &[x], |s, _| s.input(x))))
}

/// A product with its transpose, moved up the diagonal, is well conditioned.
const SQUARE: &[Draw] = &[Draw::of("x", &[3, 3], Domain::Inside), Draw::of("b", &[3, 2], Domain::Any)];
const ANYWHERE: &[Form] = &[Form::Method, Form::Function, Form::Of("linalg")];

/// The logarithm of the determinant of square matrices.
pub(crate) fn logdet(x: &Tensor) -> Result<Tensor> {
    let (sign, size) = signed(x, "logdet")?;
    masked_fill(&size, &lt(&sign, 0.0)?, f64::NAN.into())
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "det",
        Family::Matmul,
        "The determinant of square matrices.",
        InputParams::LIST,
        by_name!(InputParams, |a| to_value(det(a.input))),
    )
    .forms(ANYWHERE)
    .shapes("(…, n, n) -> (…)")
    .errors(&["RuntimeError: a matrix is not square"])
    .example("tensor([[2.0, 1.0], [0.0, 4.0]]).det()", "tensor(8.)")
    .gradient(Gradient::Vjp("LinalgDetBackward0"))
    .samples(&[Sample::of("(x + 2 * eye(3, #{dtype: x.dtype})).det()", SQUARE)]),
    OpDef::call(
        "slogdet",
        Family::Matmul,
        "The sign of the determinant and the logarithm of its size.",
        InputParams::LIST,
        by_name!(InputParams, |a| {
            let (sign, size) = slogdet(a.input)?;
            Ok(Value::Map(vec![("sign", sign.into()), ("logabsdet", size.into())]))
        }),
    )
    .forms(ANYWHERE)
    .shapes("(…, n, n) -> `sign` and `logabsdet` of (…)")
    .errors(&["RuntimeError: a matrix is not square"])
    .example("tensor([[1.0, 0.0], [0.0, -1.0]]).slogdet().sign", "tensor(-1.)")
    .gradient(Gradient::Vjp("LinalgSlogdetBackward0"))
    .samples(&[Sample::of("(x + 2 * eye(3, #{dtype: x.dtype})).slogdet().logabsdet", SQUARE)]),
    OpDef::call(
        "logdet",
        Family::Matmul,
        "The logarithm of the determinant; NaN where that is negative.",
        InputParams::LIST,
        by_name!(InputParams, |a| to_value(logdet(a.input))),
    )
    .shapes("(…, n, n) -> (…)")
    .errors(&["RuntimeError: a matrix is not square"])
    .example("(2 * eye(2)).logdet()", "tensor(1.3863)"),
];

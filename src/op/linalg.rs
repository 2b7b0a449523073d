//! Small dense systems: factors, inverses, determinants. Batches are the leading dimensions.
//!
//! Elimination runs column by column over whole batches, so that the host waits for nothing but the check for a
//! singular matrix.

use crate::base::{DType, Error, Kind, Result, memory};
use crate::device::poll;
use crate::tensor::Tensor;
use crate::tensor::accumulate::expand;
use crate::tensor::autograd::{Grads, Saved, Vjp};

use super::autocast::whole;
use super::binary::{add, div, eq, mul, ne, sub};
use super::convert::to_dtype;
use super::def::Operand;
use super::extremum::argmax;
use super::joins::{cat, tril};
use super::matmul::{matmul, mm};
use super::movement::{cloned, diagonal, matrix_transpose, reshape_to, slice, squeeze, unsqueeze};
use super::record::{no_grad, one, recorded, two, wanted};
use super::reduce::{amax, any, norm, prod, sum};
use super::scatter::gather;
use super::select::where_;
use super::unary::{abs, isnan, log, neg, scale, sign, sqrt};

/// The matrix whose product with `x` is the identity.
pub fn inv(x: &Tensor) -> Result<Tensor> {
    whole("inv", [x], |[x]| inverted(x))
}

fn inverted(x: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "LinalgInvExBackward0",
        run: |s, g| {
            let turned = matrix_transpose(&s.tensor(0)?)?;
            one(neg(&matmul(&matmul(&turned, g)?, &turned)?)?)
        },
    };
    square(x, "linalg.inv")?;
    let out = {
        let _off = no_grad();
        let found = eliminate(x, &identity(x)?)?;
        singular(&found.pivots, "linalg.inv")?;
        found.solution
    };
    Ok(recorded(out, &RULE, &[x], |s, y| s.output(y)))
}

/// The `y` with `a @ y = b`; `b` is a matrix, or a vector for one matrix.
pub fn solve(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    whole("solve", [a, b], |[a, b]| solved(a, b))
}

fn solved(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    square(a, "linalg.solve")?;
    let vector = b.rank() == 1 || (b.rank() + 1 == a.rank() && a.shape().starts_with(b.shape()));
    if vector {
        return squeeze(&solved(a, &unsqueeze(b, -1)?)?, Some(&[-1]));
    }
    let (rows, n) = (b.size(-2)?, a.size(-1)?);
    if rows != n {
        return Err(Error::runtime(format!(
            "linalg.solve: Incompatible shapes of A and B for the equation AX = B ({n}x{n} and {rows}x{})",
            b.size(-1)?
        )));
    }
    if a.dtype() != b.dtype() {
        return Err(Error::runtime(format!(
            "linalg.solve: Expected A and B to have the same dtype, but found A of type {} and B of type {} instead",
            a.dtype().type_name(),
            b.dtype().type_name()
        )));
    }
    static RULE: Vjp = Vjp { name: "LinalgSolveExBackward0", run: solve_grad };
    let batch = crate::base::shape::broadcast(outer(a), outer(b))?;
    let (a, b) = (batched(a, &batch)?, batched(b, &batch)?);
    let out = {
        let _off = no_grad();
        let found = eliminate(&a, &b)?;
        singular(&found.pivots, "torch.linalg.solve")?;
        found.solution
    };
    Ok(recorded(out, &RULE, &[&a, &b], |s, y| {
        s.input(&a);
        s.output(y);
    }))
}

/// The factor by which a matrix stretches volumes.
pub fn det(x: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "LinalgDetBackward0",
        run: |s, g| {
            let (x, y) = (s.tensor(0)?, s.tensor(1)?);
            let cofactors = mul(&last_two(&y)?, &matrix_transpose(&inv(&x)?)?)?;
            one(mul(&last_two(g)?, &cofactors)?)
        },
    };
    square(x, "linalg.det")?;
    let _paused = crate::tensor::autocast::pause();
    let out = {
        let _off = no_grad();
        let found = eliminate(x, &identity(x)?)?;
        mul(&prod(&found.pivots, Some(-1), false, None)?, &found.sign)?
    };
    Ok(recorded(out, &RULE, &[x], |s, y| {
        s.input(x);
        s.output(y);
    }))
}

/// The sign of the determinant, and the logarithm of its size.
pub fn slogdet(x: &Tensor) -> Result<(Tensor, Tensor)> {
    static RULE: Vjp = Vjp {
        name: "LinalgSlogdetBackward0",
        run: |s, g| one(mul(&last_two(g)?, &matrix_transpose(&inv(&s.tensor(0)?)?)?)?),
    };
    square(x, "linalg.slogdet")?;
    let _paused = crate::tensor::autocast::pause();
    let (signs, size) = {
        let _off = no_grad();
        let found = eliminate(x, &identity(x)?)?;
        let signs = mul(&prod(&sign(&found.pivots)?, Some(-1), false, None)?, &found.sign)?;
        (signs, sum(&log(&abs(&found.pivots)?)?, Some(&[-1]), false)?)
    };
    Ok((signs, recorded(size, &RULE, &[x], |s, _| s.input(x))))
}

/// The lower triangle `l` with `l @ l.mT = x`, for a symmetric positive definite matrix.
pub fn cholesky(x: &Tensor) -> Result<Tensor> {
    whole("cholesky", [x], |[x]| factored(x))
}

fn factored(x: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "LinalgCholeskyExBackward0", run: cholesky_grad };
    square(x, "linalg.cholesky")?;
    let out = {
        let _off = no_grad();
        let n = x.size(-1)?;
        let mut rest = x.detach();
        let mut columns: Vec<Tensor> = memory::with_capacity(n)?;
        let places = super::order::places_along(&slice_of(x, 1)?, -2)?;
        for k in 0..n {
            let pivot = sqrt(&part(&rest, (k, 1), (k, 1))?)?;
            let column = div(&part(&rest, (0, n), (k, 1))?, &pivot)?;
            let below = super::binary::ge(&places, k as i64)?;
            let column = where_(&below, (&column).into(), Operand::Scalar(0i64.into()))?;
            rest = sub(&rest, &matmul(&column, &matrix_transpose(&column)?)?)?;
            columns.push(column);
        }
        let out = match columns.is_empty() {
            true => x.copied(x.dtype(), "cholesky")?,
            false => cat(&columns.iter().collect::<Vec<_>>(), -1)?,
        };
        let bad = any(&isnan(&out)?, None, false)?;
        if bad.item()?.as_i64() != 0 {
            return Err(Error::new(
                Kind::RuntimeError,
                "linalg.cholesky: The factorization could not be completed because the input is not \
                 positive-definite.",
            ));
        }
        out
    };
    Ok(recorded(out, &RULE, &[x], |s, y| s.output(y)))
}

/// A matrix times itself `n` times; negative powers are those of the inverse.
pub fn matrix_power(x: &Tensor, n: i64) -> Result<Tensor> {
    square_of(x, "linalg.matrix_power")?;
    let base = if n < 0 { inv(x)? } else { x.clone() };
    let mut left = n.unsigned_abs();
    if left == 0 {
        return identity(x);
    }
    let (mut power, mut out) = (base, None);
    loop {
        if left & 1 == 1 {
            out = Some(match out {
                None => power.clone(),
                Some(before) => matmul(&before, &power)?,
            });
        }
        left >>= 1;
        if left == 0 {
            return out.map_or_else(|| cloned(x), Ok);
        }
        power = matmul(&power, &power)?;
    }
}

/// The product of several matrices in the cheapest order.
pub fn multi_dot(all: &[&Tensor]) -> Result<Tensor> {
    if let Some(casts) = super::autocast::enter("multi_dot", all)? {
        let cast = casts.cast_all(all)?;
        return multi_dot(&cast.iter().collect::<Vec<_>>());
    }
    let count = all.len();
    if count < 2 {
        return Err(Error::runtime(format!("multi_dot(): expected at least 2 tensors but got {count}")));
    }
    let matrices = all
        .iter()
        .enumerate()
        .map(|(i, t)| match t.rank() {
            2 => Ok((*t).clone()),
            1 if i == 0 => unsqueeze(t, 0),
            1 if i + 1 == count => unsqueeze(t, 1),
            n => Err(Error::runtime(format!("multi_dot(): tensor {i} must be 2D but got {n}D"))),
        })
        .collect::<Result<Vec<_>>>()?;
    let mut out = chain(&matrices)?;
    if all.first().is_some_and(|t| t.rank() == 1) {
        out = squeeze(&out, Some(&[0]))?;
    }
    if all.last().is_some_and(|t| t.rank() == 1) { squeeze(&out, Some(&[-1])) } else { Ok(out) }
}

/// The order with the fewest multiplications, by the usual table over intervals.
fn chain(matrices: &[Tensor]) -> Result<Tensor> {
    let size = |i: usize| -> f64 {
        match matrices.get(i) {
            Some(m) => m.shape().first().copied().unwrap_or(1) as f64,
            None => matrices.last().and_then(|m| m.shape().get(1).copied()).unwrap_or(1) as f64,
        }
    };
    let n = matrices.len();
    // The cheapest way of `from..=to`, and where it is cut, at `from * n + to`.
    let mut best: Vec<(f64, usize)> = memory::filled(memory::count::<(f64, usize)>(&[n, n])?, (0.0, 0))?;
    for width in 1..n {
        for from in 0..n - width {
            poll::check()?;
            let to = from + width;
            let cost = |cut: usize| {
                let of = |a: usize, b: usize| best.get(a * n + b).map_or(0.0, |c| c.0);
                (of(from, cut) + of(cut + 1, to) + size(from) * size(cut + 1) * size(to + 1), cut)
            };
            let found = (from..to).map(cost).min_by(|a, b| a.0.total_cmp(&b.0));
            if let (Some(found), Some(place)) = (found, best.get_mut(from * n + to)) {
                *place = found;
            }
        }
    }
    fn product(m: &[Tensor], best: &[(f64, usize)], from: usize, to: usize) -> Result<Tensor> {
        match (from == to, m.get(from), best.get(from * m.len() + to)) {
            (true, Some(one), _) => Ok(one.clone()),
            (false, _, Some(&(_, cut))) => mm(&product(m, best, from, cut)?, &product(m, best, cut + 1, to)?),
            _ => Err(Error::runtime("multi_dot(): an empty chain")),
        }
    }
    product(matrices, &best, 0, n - 1)
}

/// A norm of the matrices in the last two dimensions (or `dims`): `fro`, or 1, -1, inf, -inf of row and column sums.
pub fn matrix_norm(x: &Tensor, kind: NormKind, dims: [i64; 2], keepdim: bool) -> Result<Tensor> {
    whole("matrix_norm", [x], |[x]| norm_of_matrices(x, kind, dims, keepdim))
}

fn norm_of_matrices(x: &Tensor, kind: NormKind, dims: [i64; 2], keepdim: bool) -> Result<Tensor> {
    if x.rank() < 2 {
        return Err(Error::runtime(
            "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.",
        ));
    }
    let (a, b) = (x.dim(dims[0])?, x.dim(dims[1])?);
    if a == b {
        let text = format!("linalg.matrix_norm: dims must be different. Got ({}, {})", dims[0], dims[1]);
        return Err(Error::runtime(text));
    }
    if !x.dtype().is_float() {
        return Err(Error::new(
            Kind::NotImplementedError,
            format!(
                "linalg.matrix_norm: Expected a floating point or complex tensor as input. Got {}",
                x.dtype().type_name()
            ),
        )
        .with_hint("convert it with `.float()`"));
    }
    let over = |x: &Tensor, dim: usize, keep: bool| sum(&abs(x)?, Some(&[dim as i64]), keep);
    let (summed, other, largest) = match kind {
        NormKind::Frobenius => return norm(x, 2.0, Some(&[a as i64, b as i64]), keepdim),
        NormKind::Columns { largest } => (a, b, largest),
        NormKind::Rows { largest } => (b, a, largest),
        NormKind::Nuclear | NormKind::Spectral { .. } => {
            let order = [a as i64, b as i64];
            let values = super::decompose::svdvals(&super::movement::movedim(x, &order, &[-2, -1])?)?;
            let found = match kind {
                NormKind::Nuclear => sum(&values, Some(&[-1]), false)?,
                NormKind::Spectral { largest: true } => amax(&values, Some(&[-1]), false)?,
                _ => super::reduce::amin(&values, Some(&[-1]), false)?,
            };
            if !keepdim {
                return Ok(found);
            }
            let kept: Vec<usize> =
                x.shape().iter().enumerate().map(|(i, &d)| if i == a || i == b { 1 } else { d }).collect();
            return reshape_to(&found, &kept);
        }
    };
    let sums = over(x, summed, true)?;
    let found = if largest {
        amax(&sums, Some(&[other as i64]), true)?
    } else {
        super::reduce::amin(&sums, Some(&[other as i64]), true)?
    };
    if keepdim { Ok(found) } else { squeeze(&found, Some(&[a as i64, b as i64])) }
}

/// Which norm of a matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NormKind {
    Frobenius,
    /// The sum of the singular values.
    Nuclear,
    /// The largest or the smallest singular value.
    Spectral {
        largest: bool,
    },
    /// Of the sums of columns.
    Columns {
        largest: bool,
    },
    /// Of the sums of rows.
    Rows {
        largest: bool,
    },
}

impl NormKind {
    pub fn of(order: f64) -> Result<NormKind> {
        Ok(match order {
            1.0 => NormKind::Columns { largest: true },
            -1.0 => NormKind::Columns { largest: false },
            f64::INFINITY => NormKind::Rows { largest: true },
            f64::NEG_INFINITY => NormKind::Rows { largest: false },
            2.0 => NormKind::Spectral { largest: true },
            -2.0 => NormKind::Spectral { largest: false },
            other => return Err(NormKind::unknown(&other.to_string())),
        })
    }

    /// By a name, such as `fro`.
    pub fn named(name: &str) -> Result<NormKind> {
        match name {
            "fro" => Ok(NormKind::Frobenius),
            "nuc" => Ok(NormKind::Nuclear),
            "inf" => NormKind::of(f64::INFINITY),
            "-inf" => NormKind::of(f64::NEG_INFINITY),
            other => Err(NormKind::unknown(other)),
        }
    }

    fn unknown(order: &str) -> Error {
        Error::runtime(format!("linalg.matrix_norm: Order {order} not supported."))
            .with_hint("orders are \"fro\", \"nuc\", 1, -1, 2, -2, and infinities")
    }
}

/// What elimination finds.
struct Eliminated {
    solution: Tensor,
    /// The pivots, the last dimension.
    pivots: Tensor,
    /// 1 or -1 by the number of exchanged rows.
    sign: Tensor,
}

/// Gauss's and Jordan's elimination with the largest pivot of each column, on `[a | b]`.
fn eliminate(a: &Tensor, b: &Tensor) -> Result<Eliminated> {
    let n = a.size(-1)?;
    let (a, b) = (a.detach(), b.detach());
    let mut both = cat(&[&a, &b], -1)?;
    let width = both.size(-1)?;
    let mut sign = Tensor::full(outer(&a), 1i64.into(), a.dtype(), &a.context(), "ones")?;
    let mut pivots = memory::with_capacity(n)?;
    let rows = super::order::places_along(&slice_of(&a, 1)?, -2)?;
    for k in 0..n {
        let column = part(&both, (k, n - k), (k, 1))?;
        let chosen = add(&argmax(&abs(&column)?, Some(-2), true)?, k as i64)?;
        // The pivot's row and row k change places: each row learns which it becomes.
        let here = eq(&rows, k as i64)?;
        let there = eq(&rows, &chosen)?;
        let from = where_(&here, (&chosen).into(), (&rows).into())?;
        let from = where_(
            &super::binary::logical_and(&there, &ne(&rows, k as i64)?)?,
            (k as i64).into(),
            (&from).into(),
        )?;
        let mut wide: Vec<usize> = outer(&a).to_vec();
        wide.extend([n, width]);
        both = gather(&both, -2, &expand(&from, &wide)?)?;
        let moved = ne(&squeeze(&chosen, Some(&[-1, -2]))?, k as i64)?;
        sign = where_(&moved, (&neg(&sign)?).into(), (&sign).into())?;
        let pivot = part(&both, (k, 1), (k, 1))?;
        // A column of zeros has no pivot; its row stays as it is, and the pivot tells that the matrix is singular.
        let divisor = where_(&eq(&pivot, 0i64)?, Operand::Scalar(1i64.into()), (&pivot).into())?;
        let row = div(&part(&both, (k, 1), (0, width))?, &divisor)?;
        let others = where_(&here, Operand::Scalar(0i64.into()), (&part(&both, (0, n), (k, 1))?).into())?;
        let cleared = sub(&both, &mul(&others, &row)?)?;
        both = where_(&here, (&row).into(), (&cleared).into())?;
        pivots.push(squeeze(&pivot, Some(&[-2]))?);
    }
    let mut empty: Vec<usize> = outer(&a).to_vec();
    empty.push(0);
    let pivots = match pivots.is_empty() {
        true => Tensor::empty(&empty, a.dtype(), &a.context(), "linalg")?,
        false => cat(&pivots.iter().collect::<Vec<_>>(), -1)?,
    };
    let solution = part(&both, (0, n), (n, width - n))?.copied(a.dtype(), "linalg")?;
    Ok(Eliminated { solution, pivots, sign })
}

fn singular(pivots: &Tensor, name: &str) -> Result<()> {
    let zero = any(&eq(pivots, 0i64)?, None, false)?;
    if pivots.numel() > 0 && zero.item()?.as_i64() != 0 {
        return Err(Error::runtime(format!(
            "{name}: The diagonal element is zero, the inversion could not be completed because the input matrix is \
             singular."
        ))
        .with_hint("a singular matrix maps some direction to nothing; add a small multiple of `eye(n)`"));
    }
    Ok(())
}

fn solve_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (a, y) = (s.tensor(0)?, s.tensor(1)?);
    let right = solve(&matrix_transpose(&a)?, g)?;
    let left = wanted(s, 0, || neg(&matmul(&right, &matrix_transpose(&y)?)?))?;
    two(left, Some(right))
}

/// Murray's rule (2016): `l^-T phi(l^T g) l^-1`, made symmetric.
fn cholesky_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let l = s.tensor(0)?;
    let inverse = inv(&l)?;
    let low = tril(&matmul(&matrix_transpose(&l)?, g)?, 0)?;
    let corner = scale(&super::shapes::diag_embed(&diagonal(&low, 0, -2, -1)?, 0, -2, -1)?, 0.5)?;
    let phi = sub(&low, &corner)?;
    let whole = matmul(&matmul(&matrix_transpose(&inverse)?, &phi)?, &inverse)?;
    one(scale(&add(&whole, &matrix_transpose(&whole)?)?, 0.5)?)
}

pub(super) fn square(x: &Tensor, name: &str) -> Result<()> {
    square_of(x, name)?;
    if matches!(x.dtype(), DType::Float32 | DType::Float64) {
        return Ok(());
    }
    let dtype = x.dtype().type_name();
    let text = match name {
        _ if !x.dtype().is_float() => {
            format!("{name}: Expected a floating point or complex tensor as input. Got {dtype}")
        }
        "linalg.inv" | "linalg.slogdet" => format!("{name}: Low precision dtypes not supported. Got {dtype}"),
        "linalg.cholesky" => format!("\"cholesky_cpu\" not implemented for '{dtype}'"),
        _ => format!("\"lu_cpu\" not implemented for '{dtype}'"),
    };
    Err(Error::new(Kind::NotImplementedError, text).with_hint("convert it with `.float()`"))
}

/// [`square`] for any dtype.
pub(super) fn square_of(x: &Tensor, name: &str) -> Result<()> {
    if x.rank() < 2 {
        return Err(Error::runtime(format!("{name}: The input tensor A must have at least 2 dimensions.")));
    }
    let (rows, columns) = (x.size(-2)?, x.size(-1)?);
    if rows != columns {
        return Err(Error::runtime(format!(
            "{name}: A must be batches of square matrices, but they are {rows} by {columns} matrices"
        )));
    }
    Ok(())
}

/// The identity in the shape of a batch of square matrices.
pub(super) fn identity(x: &Tensor) -> Result<Tensor> {
    let rows = super::order::places_along(x, -2)?;
    to_dtype(&eq(&rows, &super::order::places_along(x, -1)?)?, x.dtype())
}

pub(super) fn outer(x: &Tensor) -> &[usize] {
    x.shape().get(..x.rank().saturating_sub(2)).unwrap_or(&[])
}

pub(super) fn batched(x: &Tensor, batch: &[usize]) -> Result<Tensor> {
    let inner = x.shape().iter().skip(x.rank().saturating_sub(2));
    let wide: Vec<i64> = batch.iter().chain(inner).map(|&d| d as i64).collect();
    super::movement::expand_to(x, &wide)
}

pub(super) fn part(x: &Tensor, rows: (usize, usize), columns: (usize, usize)) -> Result<Tensor> {
    let rank = x.rank();
    let cut = slice(x, rank.saturating_sub(2), rows.0, rows.1, 1)?;
    slice(&cut, rank.saturating_sub(1), columns.0, columns.1, 1)
}

/// The first columns of a batch of matrices.
fn slice_of(x: &Tensor, columns: usize) -> Result<Tensor> {
    slice(x, x.rank().saturating_sub(1), 0, columns.min(x.size(-1)?), 1)
}

fn last_two(x: &Tensor) -> Result<Tensor> {
    let mut shape: Vec<usize> = x.shape().to_vec();
    shape.extend([1, 1]);
    reshape_to(x, &shape)
}

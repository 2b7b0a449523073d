//! Triangular systems, and the factors of elimination.

use crate::base::{DType, Error, Kind, Result};
use crate::device::kernel::{Factor, Kernel};
use crate::op::core::autocast::whole;
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Domain, Draw, Family, Form, Gradient, OpDef, Sample};
use crate::op::core::operand::Operand;
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::record::{no_grad, recorded, two, wanted};
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::{add, div, mul, sub};
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::comparison::eq;
use crate::op::elementwise::sign::neg;
use crate::op::gather::along_dim::gather;
use crate::op::reduce::sums::any;
use crate::op::shape::join::cat;
use crate::op::shape::permute::matrix_transpose;
use crate::op::shape::triangle::{tril, triu};
use crate::op::shape::view::unsqueeze;
use crate::op::sorting::running::places_along;
use crate::tensor::autograd::{Grads, Saved, Vjp};
use crate::tensor::{Tensor, launch};

use super::batches::{batched, like, outer, part, square_of};
use super::eigen::wants_gradient;
use super::matmul::matmul;

/// How [`solve_triangular`] reads its matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Triangle {
    pub upper: bool,
    /// `a @ x = b`; else `x @ a = b`.
    pub left: bool,
    /// The diagonal counts as ones.
    pub unit: bool,
}

/// The `x` with `a @ x = b` (or `x @ a = b`) for a triangular `a`, whose other triangle is not read.
pub(crate) fn solve_triangular(a: &Tensor, b: &Tensor, how: Triangle) -> Result<Tensor> {
    whole("solve_triangular", [a, b], |[a, b]| triangle_solved(a, b, how))
}

fn triangle_solved(a: &Tensor, b: &Tensor, how: Triangle) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "LinalgSolveTriangularBackward0", run: triangular_grad };
    const NAME: &str = "linalg.solve_triangular";
    square_of(a, NAME)?;
    if b.rank() < 2 {
        let text = format!("{NAME}: The input tensor B must have at least 2 dimensions.");
        return Err(Error::runtime(text).with_hint("`b.unsqueeze(-1)` makes a column of a vector"));
    }
    let (n, [rows, columns]) = (a.size(-1)?, [b.size(-2)?, b.size(-1)?]);
    if n != if how.left { rows } else { columns } {
        let equation = if how.left { "AX = B" } else { "XA = B" };
        return Err(Error::runtime(format!(
            "{NAME}: Incompatible shapes of A and B for the equation {equation} ({n}x{n} and {rows}x{columns})"
        )));
    }
    for t in [a, b] {
        if !matches!(t.dtype(), DType::Float32 | DType::Float64) {
            let text = format!("\"triangular_solve_cpu\" not implemented for '{}'", t.dtype().type_name());
            return Err(Error::new(Kind::NotImplementedError, text).with_hint("convert it with `.float()`"));
        }
    }
    let common = a.dtype().promote(b.dtype());
    let (a, b) = (to_dtype(a, common)?, to_dtype(b, common)?);
    let batch = crate::base::shape::broadcast(outer(&a), outer(&b))?;
    let (a, b) = (batched(&a, &batch)?, batched(&b, &batch)?);
    let out = {
        let _off = no_grad();
        substituted(&a, &b, how)?
    };
    Ok(recorded(out, &RULE, &[&a, &b], |s, y| {
        s.input(&a);
        s.output(y);
        s.attribute(how);
    }))
}

/// Substitution by halves: the first half of the unknowns, then what it leaves of the other equations.
fn substituted(a: &Tensor, b: &Tensor, how: Triangle) -> Result<Tensor> {
    if !how.left {
        let turned = Triangle { upper: !how.upper, left: true, ..how };
        return matrix_transpose(&substituted(&matrix_transpose(a)?, &matrix_transpose(b)?, turned)?);
    }
    let (n, width) = (a.size(-1)?, b.size(-1)?);
    if n == 0 {
        return Ok(b.clone());
    }
    if n == 1 {
        return if how.unit { Ok(b.clone()) } else { div(b, a) };
    }
    let half = n / 2;
    let (first, second) = ((0, half), (half, n - half));
    // A lower triangle begins at the top, an upper one at the bottom.
    let (known, other) = if how.upper { (second, first) } else { (first, second) };
    let rows = |r| part(b, r, (0, width));
    let x = substituted(&part(a, known, known)?, &rows(known)?, how)?;
    let rest = sub(&rows(other)?, &matmul(&part(a, other, known)?, &x)?)?;
    let y = substituted(&part(a, other, other)?, &rest, how)?;
    if how.upper { cat(&[&y, &x], -2) } else { cat(&[&x, &y], -2) }
}

fn triangular_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (a, x, &how): (Tensor, Tensor, &Triangle) = (s.tensor(0)?, s.tensor(1)?, s.attribute()?);
    let turned = Triangle { upper: !how.upper, ..how };
    let right = solve_triangular(&matrix_transpose(&a)?, g, turned)?;
    let left = wanted(s, 0, || {
        let x = matrix_transpose(&x)?;
        let all = neg(&if how.left { matmul(&right, &x)? } else { matmul(&x, &right)? })?;
        let off = i64::from(how.unit);
        if how.upper { triu(&all, off) } else { tril(&all, -off) }
    })?;
    two(left, Some(right))
}

/// `p`, `l` and `u` with `p @ l @ u = x`: a permutation, a lower triangle with ones on its diagonal, an upper triangle.
pub(crate) struct Lu {
    pub p: Tensor,
    pub l: Tensor,
    pub u: Tensor,
}

/// What elimination with the largest pivot of each column finds. No graph.
pub(super) struct Eliminated {
    /// The upper triangle, and below it the lower one without its ones.
    pub both: Tensor,
    /// For each step the row that took its place, counted from 1: `[.., steps]`, int32.
    pub pivots: Tensor,
    /// For each row of the factors the row of the matrix, `[.., rows, 1]`, int64.
    order: Tensor,
}

/// Elimination of a batch of matrices.
pub(super) fn eliminated(x: &Tensor) -> Result<Eliminated> {
    let _off = no_grad();
    let (m, n) = (x.size(-2)?, x.size(-1)?);
    let (both, pivots, order) = (like(x, &[m, n])?, like(x, &[m.min(n)])?, like(x, &[m])?);
    launch("linalg.lu", &Kernel::Factor(Factor::Lu), &[(&x.detach()).into()], &[&both, &pivots, &order])?;
    Ok(Eliminated {
        both,
        pivots: to_dtype(&pivots, DType::Int32)?,
        order: unsqueeze(&to_dtype(&order, DType::Int64)?, -1)?,
    })
}

/// Both triangles of a matrix.
fn triangles(x: &Tensor, found: &Eliminated) -> Result<(Tensor, Tensor)> {
    if wants_gradient(x) {
        return factors(&ordered(x, &found.order)?);
    }
    let (m, n) = (x.size(-2)?, x.size(-1)?);
    let k = m.min(n);
    let low = tril(&part(&found.both, (0, m), (0, k))?, -1)?;
    let ones = eq(&places_along(&low, -2)?, &places_along(&low, -1)?)?;
    Ok((
        where_(&ones, Operand::from(1.0), Operand::Tensor(&low))?,
        triu(&part(&found.both, (0, k), (0, n))?, 0)?,
    ))
}

/// A pivot to divide by: 1 where the column has none.
fn safe_pivot(pivot: &Tensor) -> Result<Tensor> {
    where_(&eq(pivot, 0.0)?, Operand::from(1.0), Operand::Tensor(pivot))
}

fn check_lu(x: &Tensor, name: &str) -> Result<()> {
    if x.rank() < 2 {
        return Err(Error::runtime(format!(
            "{name}: Expected tensor with 2 or more dimensions. Got size: {:?} instead",
            x.shape()
        )));
    }
    if !matches!(x.dtype(), DType::Float32 | DType::Float64) {
        let text = format!("\"lu_cpu\" not implemented for '{}'", x.dtype().type_name());
        return Err(Error::new(Kind::NotImplementedError, text).with_hint("convert it with `.float()`"));
    }
    Ok(())
}

/// The factors of a matrix whose rows are in the order of its pivots: elimination, recorded.
fn factors(x: &Tensor) -> Result<(Tensor, Tensor)> {
    let (m, n) = (x.size(-2)?, x.size(-1)?);
    let steps = m.min(n);
    let zeros = |rows: usize, columns: usize| {
        let mut shape = outer(x).to_vec();
        shape.extend([rows, columns]);
        Tensor::full(&shape, 0i64.into(), x.dtype(), &x.context(), "linalg.lu")
    };
    let (mut columns, mut rows, mut rest) = (Vec::new(), Vec::new(), x.clone());
    for k in 0..steps {
        let (pivot, row) = (part(&rest, (0, 1), (0, 1))?, part(&rest, (0, 1), (0, n - k))?);
        let below = div(&part(&rest, (1, m - k - 1), (0, 1))?, &safe_pivot(&pivot)?)?;
        let one = {
            let _off = no_grad();
            add(&zeros(1, 1)?, 1.0)?
        };
        columns.push(cat(&[&zeros(k, 1)?, &one, &below], -2)?);
        rows.push(cat(&[&zeros(1, k)?, &row], -1)?);
        let right = part(&row, (0, 1), (1, n - k - 1))?;
        rest = sub(&part(&rest, (1, m - k - 1), (1, n - k - 1))?, &mul(&below, &right)?)?;
    }
    if steps == 0 {
        return Ok((zeros(m, 0)?, zeros(0, n)?));
    }
    let join = |all: &[Tensor], dim| cat(&all.iter().collect::<Vec<_>>(), dim);
    Ok((join(&columns, -1)?, join(&rows, -2)?))
}

fn ordered(x: &Tensor, order: &Tensor) -> Result<Tensor> {
    gather(x, -2, &crate::tensor::accumulate::expand(order, x.shape())?)
}

/// The factors of elimination with the largest pivot of each column, as `torch.linalg.lu`.
pub(crate) fn lu(x: &Tensor) -> Result<Lu> {
    check_lu(x, "linalg.lu")?;
    let _paused = crate::tensor::autocast::pause();
    let found = eliminated(x)?;
    let (l, u) = triangles(x, &found)?;
    let p = {
        let _off = no_grad();
        let m = x.size(-2)?;
        let mut shape = outer(x).to_vec();
        shape.extend([m, m]);
        let rows = Tensor::empty(&shape, x.dtype(), &x.context(), "linalg.lu")?;
        // Column j of the permutation has its 1 in the row that the factors' row j came from.
        to_dtype(&eq(&places_along(&rows, -2)?, &matrix_transpose(&found.order)?)?, x.dtype())?
    };
    Ok(Lu { p, l, u })
}

/// Both factors in one matrix, and the exchanges of rows, as `torch.linalg.lu_factor`.
pub(crate) fn lu_factor(x: &Tensor) -> Result<(Tensor, Tensor)> {
    check_lu(x, "torch.linalg.lu_factor")?;
    let _paused = crate::tensor::autocast::pause();
    let found = eliminated(x)?;
    {
        let _off = no_grad();
        let zeros = eq(&crate::op::shape::part::diagonal(&found.both, 0, -2, -1)?, 0.0)?;
        if zeros.numel() > 0 && any(&zeros, None, false)?.item()?.as_i64() != 0 {
            let places = zeros.to_scalars("linalg.lu_factor")?;
            let per = zeros.size(-1)?.max(1);
            let at = 1 + places.iter().position(|z| z.as_i64() != 0).unwrap_or(0) % per;
            return Err(Error::runtime(format!(
                "torch.linalg.lu_factor: U[{at},{at}] is zero and using it on lu_solve would result in a division by \
                 zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or \
                 linalg.lu_factor_ex(A, pivot)"
            ))
            .with_hint("the matrix is singular; `linalg::lu` factors it all the same"));
        }
    }
    if !wants_gradient(x) {
        return Ok((found.both, found.pivots));
    }
    let (l, u) = triangles(x, &found)?;
    let (m, n) = (x.size(-2)?, x.size(-1)?);
    let (low, high) = (tril(&l, -1)?, triu(&u, 0)?);
    // The factors share the leading square; what is longer stands alone.
    let k = m.min(n);
    let both = add(&part(&low, (0, k), (0, k))?, &part(&high, (0, k), (0, k))?)?;
    let together = if m > n {
        cat(&[&both, &part(&low, (k, m - k), (0, k))?], -2)?
    } else {
        cat(&[&both, &part(&high, (0, k), (k, n - k))?], -1)?
    };
    Ok((together, found.pivots))
}

const SPACE: &[Form] = &[Form::Of("linalg")];
const SQUARE: &[Draw] = &[Draw::of("x", &[3, 3], Domain::Inside), Draw::of("b", &[3, 2], Domain::Any)];

params! {
    SolveTriangularParams {
        A: kind::Tensor, "the triangular matrix, or a batch of such";
        B: kind::Tensor, "what its product with the result is to be";
        upper: kind::Bool, "whether the upper triangle is read, and not the lower one";
        left: kind::Bool = true, "whether the matrix is the left factor of the product";
        unitriangular: kind::Bool = false, "whether its diagonal counts as ones and is not read";
    }
}

params! {
    LuParams {
        A: kind::Tensor, "the matrix, or a batch of matrices";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "solve_triangular",
        Family::Matmul,
        "The tensor that a triangular matrix turns into another.",
        SolveTriangularParams::LIST, by_name!(SolveTriangularParams, |a| {
            let how = Triangle { upper: a.upper, left: a.left, unit: a.unitriangular };
            solve_triangular(a.A, a.B, how).map(Value::from)
        }),
    )
    .forms(SPACE)
    .details(
        "`A @ X = B`, or `X @ A = B` without `left`. The other triangle of `A` is not read, and with `unitriangular` \
         neither is its diagonal, which counts as ones.",
    )
    .shapes("(…, n, n), (…, n, p) -> (…, n, p), or (…, p, n) -> (…, p, n) without left; batches broadcast")
    .errors(&["RuntimeError: `B` is no matrix, or its size is not that of `A`", shapes::NO_FLOAT])
    .example(
        "linalg::solve_triangular(tensor([[2.0, 1.0], [0.0, 4.0]]), tensor([[4.0], [8.0]]), #{upper: true})",
        "tensor([[1.],\n        [2.]])",
    )
    .gradient(Gradient::Vjp("LinalgSolveTriangularBackward0"))
    .samples(&[
        Sample::of("linalg::solve_triangular(x + 2 * eye(3, #{dtype: x.dtype}), b, true)", SQUARE),
        Sample::of(
            "linalg::solve_triangular(x + 2 * eye(3, #{dtype: x.dtype}), b.t(), #{upper: false, left: false})",
            SQUARE,
        ),
        Sample::of("linalg::solve_triangular(x, b, #{upper: false, unitriangular: true})", SQUARE),
    ]),
    OpDef::call("lu", Family::Matmul, "The factors of elimination: a permutation, a lower and an upper triangle.", LuParams::LIST, by_name!(LuParams, |a| {
            let found = lu(a.A)?;
            Ok(Value::Map(vec![("P", found.p.into()), ("L", found.l.into()), ("U", found.u.into())]))
        }))
    .forms(SPACE)
    .details("`A = P @ L @ U`; the diagonal of `L` is ones.")
    .shapes("(…, n, m) -> `P` (…, n, n), `L` (…, n, k), `U` (…, k, m), k = min(n, m)")
    .errors(&["RuntimeError: the input has fewer than two dimensions", shapes::NO_FLOAT])
    .example("linalg::lu(tensor([[1.0, 2.0], [4.0, 4.0]])).U", "tensor([[4., 4.],\n        [0., 1.]])")
    .samples(&[
        Sample::of("linalg::lu(x + 2 * eye(3, #{dtype: x.dtype})).L", SQUARE),
        Sample::of("linalg::lu(x + 2 * eye(3, #{dtype: x.dtype})).U", SQUARE),
    ]),
    OpDef::call("lu_factor", Family::Matmul, "The triangles of elimination in one matrix, and which rows changed places.", LuParams::LIST, by_name!(LuParams, |a| {
            let (both, pivots) = lu_factor(a.A)?;
            Ok(Value::Map(vec![("LU", both.into()), ("pivots", pivots.into())]))
        }))
    .forms(SPACE)
    .details("At step `i` row `i` and row `pivots[i]` changed places, both counted from 1. A singular matrix is an error.")
    .shapes("(…, n, m) -> `LU` (…, n, m), `pivots` (…, min(n, m))")
    .errors(&["RuntimeError: a matrix is singular", shapes::NO_FLOAT])
    .example(
        "linalg::lu_factor(tensor([[1.0, 2.0], [4.0, 4.0]])).pivots",
        "tensor([2, 2], dtype=torch.int32)",
    )
    .samples(&[Sample::of("linalg::lu_factor(x + 2 * eye(3, #{dtype: x.dtype})).LU", SQUARE)]),
];

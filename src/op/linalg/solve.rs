//! Small dense systems: solutions and inverses. Batches are the leading dimensions.

use crate::base::{DType, Error, Kind, Result, memory};
use crate::op::core::args::to_value;
use crate::op::core::autocast::whole;
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Domain, Draw, Family, Form, Gradient, OpDef, Sample};
use crate::op::core::operand::Operand;
use crate::op::core::params::{InputParams, by_name, kind, params};
use crate::op::core::record::{no_grad, one, recorded, two, wanted};
use crate::op::core::shapes;
use crate::op::elementwise::arithmetic::{add, div, mul, sub};
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::comparison::{eq, ne};
use crate::op::elementwise::sign::neg;
use crate::op::elementwise::unary::abs;
use crate::op::gather::along_dim::gather;
use crate::op::reduce::sums::any;
use crate::op::shape::join::cat;
use crate::op::shape::part::slice;
use crate::op::shape::permute::matrix_transpose;
use crate::op::shape::view::{squeeze, unsqueeze};
use crate::op::sorting::extremum::argmax;
use crate::tensor::Tensor;
use crate::tensor::accumulate::expand;
use crate::tensor::autograd::{Grads, Saved, Vjp};

use super::matmul::matmul;

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

/// What elimination finds.
pub(crate) struct Eliminated {
    solution: Tensor,
    /// The pivots, the last dimension.
    pub pivots: Tensor,
    /// 1 or -1 by the number of exchanged rows.
    pub sign: Tensor,
}

/// Gauss's and Jordan's elimination with the largest pivot of each column, on `[a | b]`.
pub(crate) fn eliminate(a: &Tensor, b: &Tensor) -> Result<Eliminated> {
    let n = a.size(-1)?;
    let (a, b) = (a.detach(), b.detach());
    let mut both = cat(&[&a, &b], -1)?;
    let width = both.size(-1)?;
    let mut sign = Tensor::full(outer(&a), 1i64.into(), a.dtype(), &a.context(), "ones")?;
    let mut pivots = memory::with_capacity(n)?;
    let rows = crate::op::sorting::running::places_along(&slice_of(&a, 1)?, -2)?;
    for k in 0..n {
        let column = part(&both, (k, n - k), (k, 1))?;
        let chosen = add(&argmax(&abs(&column)?, Some(-2), true)?, k as i64)?;
        // The pivot's row and row k change places: each row learns which it becomes.
        let here = eq(&rows, k as i64)?;
        let there = eq(&rows, &chosen)?;
        let from = where_(&here, (&chosen).into(), (&rows).into())?;
        let from = where_(
            &crate::op::elementwise::comparison::logical_and(&there, &ne(&rows, k as i64)?)?,
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
    let rows = crate::op::sorting::running::places_along(x, -2)?;
    to_dtype(&eq(&rows, &crate::op::sorting::running::places_along(x, -1)?)?, x.dtype())
}

pub(super) fn outer(x: &Tensor) -> &[usize] {
    x.shape().get(..x.rank().saturating_sub(2)).unwrap_or(&[])
}

pub(super) fn batched(x: &Tensor, batch: &[usize]) -> Result<Tensor> {
    let inner = x.shape().iter().skip(x.rank().saturating_sub(2));
    let wide: Vec<i64> = batch.iter().chain(inner).map(|&d| d as i64).collect();
    crate::op::shape::view::expand_to(x, &wide)
}

pub(super) fn part(x: &Tensor, rows: (usize, usize), columns: (usize, usize)) -> Result<Tensor> {
    let rank = x.rank();
    let cut = slice(x, rank.saturating_sub(2), rows.0, rows.1, 1)?;
    slice(&cut, rank.saturating_sub(1), columns.0, columns.1, 1)
}

/// The first columns of a batch of matrices.
pub(crate) fn slice_of(x: &Tensor, columns: usize) -> Result<Tensor> {
    slice(x, x.rank().saturating_sub(1), 0, columns.min(x.size(-1)?), 1)
}

/// A product with its transpose, moved up the diagonal, is well conditioned.
const SQUARE: &[Draw] = &[Draw::of("x", &[3, 3], Domain::Inside), Draw::of("b", &[3, 2], Domain::Any)];
const SPACE: &[Form] = &[Form::Of("linalg")];

params! {
    InvParams {
        A: kind::Tensor, "square matrices that have an inverse";
    }
}

params! {
    SolveParams {
        A: kind::Tensor, "the square matrix of coefficients";
        B: kind::Tensor, "the right-hand side: a vector, or a column for each system";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "inverse",
        Family::Matmul,
        "The inverse of square matrices.",
        InputParams::LIST,
        by_name!(InputParams, |a| to_value(inv(a.input))),
    )
    .shapes(shapes::SQUARE)
    .errors(&["RuntimeError: a matrix is not square", "RuntimeError: a matrix is singular"])
    .example(
        "tensor([[2.0, 0.0], [0.0, 4.0]]).inverse()",
        "tensor([[0.5000, 0.0000],\n        [0.0000, 0.2500]])",
    )
    .gradient(Gradient::Vjp("LinalgInvExBackward0"))
    .samples(&[Sample::of("(x + 2 * eye(3, #{dtype: x.dtype})).inverse()", SQUARE)]),
    OpDef::call(
        "inv",
        Family::Matmul,
        "The inverse of square matrices.",
        InvParams::LIST,
        by_name!(InvParams, |a| to_value(inv(a.A))),
    )
    .forms(SPACE)
    .shapes(shapes::SQUARE)
    .errors(&["RuntimeError: a matrix is not square", "RuntimeError: a matrix is singular"])
    .example(
        "linalg::inv(tensor([[2.0, 0.0], [0.0, 4.0]]))",
        "tensor([[0.5000, 0.0000],\n        [0.0000, 0.2500]])",
    )
    .gradient(Gradient::Vjp("LinalgInvExBackward0"))
    .samples(&[Sample::of("linalg::inv(x + 2 * eye(3, #{dtype: x.dtype}))", SQUARE)]),
    OpDef::call(
        "solve",
        Family::Matmul,
        "The tensor that a matrix turns into another.",
        SolveParams::LIST,
        by_name!(SolveParams, |a| to_value(solve(a.A, a.B))),
    )
    .forms(SPACE)
    .details("Faster and more accurate than the product with an inverse.")
    .shapes("(…, n, n), (…, n, p) -> (…, n, p), batches broadcast; (…, n, n), (…, n) -> (…, n)")
    .errors(&[
        "RuntimeError: `A` is singular, or not square",
        "RuntimeError: `B` has other rows than `A`",
        "IndexError: `B` has no dimension",
    ])
    .example("linalg::solve(tensor([[2.0, 0.0], [0.0, 4.0]]), tensor([2.0, 4.0]))", "tensor([1., 1.])")
    .gradient(Gradient::Vjp("LinalgSolveExBackward0"))
    .samples(&[Sample::of("linalg::solve(x + 2 * eye(3, #{dtype: x.dtype}), b)", SQUARE)]),
];

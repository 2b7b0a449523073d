//! Systems solved by factors that are there already, and factors and solutions that say instead of failing whether a
//! matrix allows them.

use crate::base::{DType, Error, Kind, Result, ShapeCause};
use crate::op::core::args::to_value;
use crate::op::core::autocast::whole;
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Domain, Draw, Family, Form, Gradient, OpDef, Sample};
use crate::op::core::operand::Operand;
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::record::{no_grad, one, recorded};
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::{add, mul, sub};
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::comparison::{eq, ne};
use crate::op::elementwise::sign::neg;
use crate::op::gather::along_dim::{gather, same_place};
use crate::op::reduce::sums::{any, sum};
use crate::op::shape::part::{diagonal, narrow, select};
use crate::op::shape::permute::matrix_transpose as turned;
use crate::op::shape::view::{squeeze, unsqueeze};
use crate::op::sorting::extremum::argmax;
use crate::op::sorting::running::places_along;
use crate::op::sorting::sort::argsort;
use crate::tensor::Tensor;
use crate::tensor::autograd::Vjp;

use super::batches::{batched, identity, outer, square};
use super::matmul::{dot, matmul};
use super::solve::no_inverse;
use super::triangular::{Triangle, eliminated, solve_triangular};

const fn triangle(upper: bool, unit: bool) -> Triangle {
    Triangle { upper, left: true, unit }
}

/// The `x` with `l @ l.mT @ x = b` (or `u.mT @ u @ x = b` of an upper factor).
pub(crate) fn cholesky_solve(b: &Tensor, factor: &Tensor, upper: bool) -> Result<Tensor> {
    whole("cholesky_solve", [b, factor], |[b, factor]| {
        same_place(b, "input2", factor, "wrapper_CUDA_cholesky_solve")?;
        if b.rank() < 2 {
            let text =
                format!("b should have at least 2 dimensions, but has {} dimensions instead", b.rank());
            return Err(Error::runtime(text).with_hint("`b.unsqueeze(-1)` makes a column of a vector"));
        }
        square(factor, "cholesky_solve")?;
        let other = turned(factor)?;
        let (lower, above) = if upper { (&other, factor) } else { (factor, &other) };
        solve_triangular(above, &solve_triangular(lower, b, triangle(false, false))?, triangle(true, false))
    })
}

/// The inverse of the matrix that a Cholesky factor belongs to.
pub(crate) fn cholesky_inverse(factor: &Tensor, upper: bool) -> Result<Tensor> {
    whole("cholesky_inverse", [factor], |[factor]| inverse_by_factor(factor, upper))
}

fn inverse_by_factor(factor: &Tensor, upper: bool) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "CholeskyInverseBackward0",
        run: |s, g| {
            let (factor, inverse) = (s.tensor(0)?, s.tensor(1)?);
            let &upper: &bool = s.attribute()?;
            let both = matmul(&inverse, &matmul(&add(g, &turned(g)?)?, &inverse)?)?;
            one(neg(&if upper { matmul(&factor, &both)? } else { matmul(&both, &factor)? })?)
        },
    };
    square(factor, "cholesky_inverse")?;
    let out = {
        let _off = no_grad();
        let info = first_zero(&eq(&diagonal(factor, 0, -2, -1)?, 0i64)?)?;
        checked(&info, true, "cholesky_inverse")?;
        cholesky_solve(&identity(factor)?, factor, upper)?
    };
    Ok(recorded(out, &RULE, &[factor], |s, y| {
        s.input(factor);
        s.output(y);
        s.attribute(upper);
    }))
}

/// How [`lu_solve`] reads its system.
#[derive(Clone, Copy)]
struct Side {
    /// `a @ x = b`; else `x @ a = b`.
    left: bool,
    /// The matrix counts as its transpose.
    adjoint: bool,
}

/// The `x` with `a @ x = b`, by both factors of `a` in one matrix and the exchanges of rows, as `lu_factor` gives them.
fn lu_solve(lu: &Tensor, pivots: &Tensor, b: &Tensor, side: Side) -> Result<Tensor> {
    if !side.left {
        let across = Side { left: true, adjoint: !side.adjoint };
        return turned(&lu_solve(lu, pivots, &turned(b)?, across)?);
    }
    square(lu, "linalg.lu_solve")?;
    if b.rank() < 2 {
        return Err(Error::runtime("linalg.lu_solve: Expected tensor with 2 or more dimensions."));
    }
    if pivots.dtype() != DType::Int32 {
        let text = "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32";
        return Err(Error::runtime(text).with_hint("`linalg::lu_factor` gives them"));
    }
    let (n, rows) = (lu.size(-1)?, b.size(-2)?);
    if n != rows {
        return Err(Error::runtime(format!(
            "linalg.lu_solve: Incompatible shapes of A and B for the equation AX = B ({n}x{n} and {rows}x{})",
            b.size(-1)?
        )));
    }
    let batch = crate::base::shape::broadcast(outer(lu), outer(b))?;
    let (lu, b) = (batched(lu, &batch)?, batched(b, &batch)?);
    let order = order_of(pivots, n, &batch)?;
    let rows_of = |x: &Tensor, order: &Tensor| {
        gather(x, -2, &crate::tensor::accumulate::expand(&unsqueeze(order, -1)?, x.shape())?)
    };
    if side.adjoint {
        let across = turned(&lu)?;
        let first = solve_triangular(&across, &b, triangle(false, false))?;
        let second = solve_triangular(&across, &first, triangle(true, true))?;
        return rows_of(&second, &argsort(&order, -1, false)?);
    }
    let first = solve_triangular(&lu, &rows_of(&b, &order)?, triangle(false, true))?;
    solve_triangular(&lu, &first, triangle(true, false))
}

/// For each row of the factors the row of the matrix, `[…, n]`, by exchanges that are counted from 1.
fn order_of(pivots: &Tensor, n: usize, batch: &[usize]) -> Result<Tensor> {
    let _off = no_grad();
    let shape: Vec<i64> = batch.iter().copied().chain([n]).map(|s| s as i64).collect();
    let pivots = crate::op::shape::view::expand_to(&to_dtype(pivots, DType::Int64)?, &shape)?;
    let places = places_along(&pivots, -1)?;
    let mut order = crate::op::shape::view::expand_to(&places, &shape)?;
    for k in 0..n {
        let other = sub(&narrow(&pivots, -1, k as i64, 1)?, 1i64)?;
        let (there, here) = (eq(&places, &other)?, eq(&places, k as i64)?);
        let (own, others) = (unsqueeze(&select(&order, -1, k as i64)?, -1)?, gather(&order, -1, &other)?);
        let moved = where_(&there, Operand::Tensor(&own), Operand::Tensor(&order))?;
        order = where_(&here, Operand::Tensor(&others), Operand::Tensor(&moved))?;
    }
    Ok(order)
}

/// For each matrix the number of the first pivot that is zero, counted from 1, or 0 where there is none; int32.
fn first_zero(bad: &Tensor) -> Result<Tensor> {
    let _off = no_grad();
    if bad.size(-1)? == 0 {
        return Tensor::full(
            bad.shape().split_last().map_or(&[], |(_, rest)| rest),
            0i64.into(),
            DType::Int32,
            &bad.context(),
            "linalg",
        );
    }
    let place = add(&argmax(&to_dtype(bad, DType::Int64)?, Some(-1), false)?, 1i64)?;
    let found = where_(&any(bad, Some(&[-1]), false)?, Operand::Tensor(&place), Operand::from(0i64))?;
    to_dtype(&found, DType::Int32)
}

/// The solution of `a @ x = b`, and for each matrix 0 or the pivot that is zero.
fn solve_ex(a: &Tensor, b: &Tensor, name: &str) -> Result<(Tensor, Tensor)> {
    square(a, name)?;
    let vector = b.rank() == 1 || (b.rank() + 1 == a.rank() && a.shape().starts_with(b.shape()));
    let columns = if vector { unsqueeze(b, -1)? } else { b.clone() };
    let found = eliminated(a)?;
    let info = {
        let _off = no_grad();
        first_zero(&eq(&diagonal(&found.both, 0, -2, -1)?, 0i64)?)?
    };
    let is_singular = ne(&info, 0i64)?;
    if info.numel() == 0 || any(&is_singular, None, false)?.item()?.as_i64() == 0 {
        let solved = super::solve::solve(a, &columns)?;
        return Ok((if vector { squeeze(&solved, Some(&[-1]))? } else { solved }, info));
    }
    // A singular matrix has no solution; the identity stands in for it, `info` tells, and division by zero says where
    // the solution goes.
    let singular = unsqueeze(&unsqueeze(&is_singular, -1)?, -1)?;
    let safe = where_(&singular, Operand::Tensor(&identity(a)?), Operand::Tensor(a))?;
    let solved = super::solve::solve(&safe, &columns)?;
    let endless = {
        let _off = no_grad();
        lu_solve(&found.both, &found.pivots, &columns.detach(), Side { left: true, adjoint: false })?
    };
    let found = where_(&singular, Operand::Tensor(&endless), Operand::Tensor(&solved))?;
    Ok((if vector { squeeze(&found, Some(&[-1]))? } else { found }, info))
}

fn checked(info: &Tensor, check: bool, name: &'static str) -> Result<()> {
    if !check {
        return Ok(());
    }
    let all = info.to_i64s(name)?;
    match all.iter().enumerate().find(|(_, element)| **element != 0) {
        Some((batch, &element)) => Err(no_inverse(name, (info.rank() > 0).then_some(batch), element)
            .with_hint("without `check_errors` the second result says which matrix it is")),
        None => Ok(()),
    }
}

/// `Σ x * y` along a dimension of both, broadcast together.
pub(crate) fn vecdot(x: &Tensor, y: &Tensor, dim: i64) -> Result<Tensor> {
    let (of_x, of_y) = (x.dtype().type_name(), y.dtype().type_name());
    if !x.dtype().is_float() {
        let text = format!("linalg.vecdot: Expected a floating point or complex tensor as input. Got {of_x}");
        return Err(Error::new(Kind::NotImplementedError, text).with_hint("convert it with `.float()`"));
    }
    if x.dtype() != y.dtype() {
        return Err(Error::runtime(format!(
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type {of_x} and y of type {of_y} \
             instead"
        ))
        .with_hint("convert one of them, for example with `.float()`"));
    }
    let run = || match (x.shape(), y.shape()) {
        (&[n], &[m]) if n != m => Err(ShapeCause::VectorSizes { left: n, right: m }.into()),
        (&[_], &[_]) => dot(x, y),
        _ => sum(&mul(x, y)?, Some(&[dim]), false),
    };
    run().map_err(|e| e.in_op("linalg.vecdot", || vec![x.operand(), y.operand()]))
}

const SPACE: &[Form] = &[Form::Of("linalg")];
const B: Draw = Draw::of("b", &[3, 2], Domain::Any);
const X: Draw = Draw::of("x", &[3, 3], Domain::Inside);

params! {
    CholeskySolveParams {
        B: kind::Tensor, "the right-hand side, a column for each system";
        L: kind::Tensor, "the Cholesky factor of the matrix";
        upper: kind::Bool = false, "whether the factor is the upper triangle";
    }
}

params! {
    CholeskyInverseParams {
        L: kind::Tensor, "the Cholesky factor of the matrix";
        upper: kind::Bool = false, "whether the factor is the upper triangle";
    }
}

params! {
    LuSolveParams {
        LU: kind::Tensor, "both factors in one matrix, as `linalg::lu_factor` gives them";
        pivots: kind::Tensor, "the exchanges of rows, as it gives them";
        B: kind::Tensor, "the right-hand side, a column for each system";
        left: kind::Bool = true, "`A @ x = B`; otherwise `x @ A = B`";
        adjoint: kind::Bool = false, "whether the matrix counts as its transpose";
    }
}

params! {
    SolveExParams {
        A: kind::Tensor, "the square matrix of coefficients";
        B: kind::Tensor, "the right-hand side: a vector, or a column for each system";
        check_errors: kind::Bool = false, "whether a singular matrix is an error";
    }
}

params! {
    InvExParams {
        A: kind::Tensor, "square matrices";
        check_errors: kind::Bool = false, "whether a singular matrix is an error";
    }
}

params! {
    VecdotParams {
        x: kind::Tensor, "the vectors on one side";
        y: kind::Tensor, "the vectors on the other side";
        dim: kind::Dim = -1, "the dimension along which the vectors lie; negative ones count from the end";
    }
}

params! {
    DiagonalParams {
        A: kind::Tensor, "the matrix, or a batch of matrices";
        offset: kind::Int = 0, "which diagonal: 0 the main one, above it positive, below it negative";
        dim1: kind::Dim = -2, "the dimension of the rows";
        dim2: kind::Dim = -1, "the dimension of the columns";
    }
}

const NOT_SQUARE: &str = "RuntimeError: a matrix is not square, or the shapes do not go together";

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "cholesky_solve",
        Family::Matmul,
        "The tensor that a positive definite matrix turns into another, by its Cholesky factor.",
        CholeskySolveParams::LIST,
        by_name!(CholeskySolveParams, |a| to_value(cholesky_solve(a.B, a.L, a.upper))),
    )
    .shapes("(…, n, p), (…, n, n) -> (…, n, p), batches broadcast")
    .errors(&[NOT_SQUARE, shapes::NO_FLOAT])
    .example("cholesky_solve(tensor([[4.0], [9.0]]), tensor([[2.0, 0.0], [0.0, 3.0]]))", "tensor([[1.],\n        [1.]])")
    .gradient(Gradient::Composite)
    .samples(&[Sample::of("cholesky_solve(b, x.tril() + 2 * eye(3, #{dtype: x.dtype}))", &[X, B])]),
    OpDef::call(
        "cholesky_inverse",
        Family::Matmul,
        "The inverse of a positive definite matrix, by its Cholesky factor.",
        CholeskyInverseParams::LIST,
        by_name!(CholeskyInverseParams, |a| to_value(cholesky_inverse(a.L, a.upper))),
    )
    .shapes(shapes::SQUARE)
    .errors(&[NOT_SQUARE, "RuntimeError: the factor has a zero on its diagonal", shapes::NO_FLOAT])
    .example(
        "cholesky_inverse(tensor([[2.0, 0.0], [0.0, 1.0]]))",
        "tensor([[0.2500, 0.0000],\n        [0.0000, 1.0000]])",
    )
    .gradient(Gradient::Vjp("CholeskyInverseBackward0"))
    .samples(&[Sample::of("cholesky_inverse(x.tril() + 2 * eye(3, #{dtype: x.dtype}))", &[X])]),
    OpDef::call(
        "lu_solve",
        Family::Matmul,
        "The tensor that a matrix turns into another, by the factors of elimination.",
        LuSolveParams::LIST,
        by_name!(LuSolveParams, |a| {
            let side = Side { left: a.left, adjoint: a.adjoint };
            to_value(whole("lu_solve", [a.LU, a.B], |[lu, b]| lu_solve(lu, a.pivots, b, side)))
        }),
    )
    .forms(SPACE)
    .shapes("(…, n, n), (…, n), (…, n, p) -> (…, n, p), batches broadcast")
    .errors(&[NOT_SQUARE, "RuntimeError: the pivots are not int32", shapes::NO_FLOAT])
    .example(
        "let f = linalg::lu_factor(tensor([[0.0, 2.0], [4.0, 0.0]])); linalg::lu_solve(f.LU, f.pivots, tensor([[2.0], [4.0]]))",
        "tensor([[1.],\n        [1.]])",
    )
    .gradient(Gradient::Composite)
    .samples(&[Sample::of(
        "linalg::lu_solve(x + 2 * eye(3, #{dtype: x.dtype}), tensor([2, 3, 3], #{dtype: int32}), b)",
        &[X, B],
    )]),
    OpDef::call(
        "solve_ex",
        Family::Matmul,
        "As `linalg::solve`, and whether there is a solution: a map of `result` and `info`.",
        SolveExParams::LIST,
        by_name!(SolveExParams, |a| {
            let (found, info) = solve_ex(a.A, a.B, "linalg.solve_ex")?;
            checked(&info, a.check_errors, "torch.linalg.solve_ex")?;
            Ok(Value::Map(vec![("result", found.into()), ("info", info.into())]))
        }),
    )
    .forms(SPACE)
    .details("`info` is 0, or the number of the pivot that is zero, counted from 1; the solution is then what divisions by zero \
         give.")
    .shapes("(…, n, n), (…, n, p) -> (…, n, p) and info (…)")
    .errors(&[
        NOT_SQUARE,
        "RuntimeError: a matrix is singular, with `check_errors`",
        "IndexError: `B` has no dimension",
        shapes::NO_FLOAT,
    ])
    .example("linalg::solve_ex(tensor([[2.0]]), tensor([4.0])).result", "tensor([2.])")
    .gradient(Gradient::Composite)
    .samples(&[Sample::of("linalg::solve_ex(x + 2 * eye(3, #{dtype: x.dtype}), b).result", &[X, B])]),
    OpDef::call(
        "inv_ex",
        Family::Matmul,
        "As `linalg::inv`, and whether there is an inverse: a map of `inverse` and `info`.",
        InvExParams::LIST,
        by_name!(InvExParams, |a| {
            square(a.A, "linalg.inv_ex")?;
            let (found, info) = solve_ex(a.A, &identity(a.A)?, "linalg.inv_ex")?;
            checked(&info, a.check_errors, "linalg.inv_ex")?;
            Ok(Value::Map(vec![("inverse", found.into()), ("info", info.into())]))
        }),
    )
    .forms(SPACE)
    .details("`info` is 0, or the number of the pivot that is zero, counted from 1; the inverse is then what divisions by zero \
         give.")
    .shapes("(…, n, n) -> (…, n, n) and info (…)")
    .errors(&[NOT_SQUARE, "RuntimeError: a matrix is singular, with `check_errors`", shapes::NO_FLOAT])
    .example("linalg::inv_ex(tensor([[2.0, 0.0], [0.0, 0.0]])).info", "tensor(2, dtype=torch.int32)")
    .gradient(Gradient::Composite)
    .samples(&[Sample::of("linalg::inv_ex(x + 2 * eye(3, #{dtype: x.dtype})).inverse", &[X])]),
    OpDef::call(
        "vecdot",
        Family::Matmul,
        "Products of vectors with each other, along a dimension.",
        VecdotParams::LIST,
        by_name!(VecdotParams, |a| to_value(vecdot(a.x, a.y, a.dim))),
    )
    .forms(SPACE)
    .shapes("(…, n, …), (…, n, …), broadcast together -> without dim")
    .errors(&["RuntimeError: the shapes do not go together", shapes::NO_FLOAT])
    .example("linalg::vecdot(tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([1.0, 1.0]))", "tensor([3., 7.])")
    .gradient(Gradient::Composite)
    .samples(&[Sample::of("linalg::vecdot(x, b, 0)", &[Draw::of("x", &[3, 2], Domain::Any), B])]),
];

/// Rows whose names other rows have too.
pub(crate) static HOMONYMS: &[OpDef] = &[OpDef::call(
    "diagonal",
    Family::Matmul,
    "The diagonals of matrices, a view.",
    DiagonalParams::LIST,
    by_name!(DiagonalParams, |a| to_value(diagonal(a.A, a.offset, a.dim1, a.dim2))),
)
.forms(SPACE)
.shapes("(…, n, m) -> (…, min(n, m)), less where an offset leaves less")
.errors(&["RuntimeError: both dimensions are the same"])
.example("linalg::diagonal(tensor([[1, 2], [3, 4]]))", "tensor([1, 4])")
.gradient(Gradient::Composite)
.samples(&[Sample::of("linalg::diagonal(x, #{offset: 1})", &[X])])];

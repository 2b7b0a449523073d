//! Small dense systems: solutions and inverses. Batches are the leading dimensions.

use crate::base::{Error, Result};
use crate::device::kernel::{Factor, Kernel};
use crate::op::core::args::to_value;
use crate::op::core::autocast::whole;
use crate::op::core::def::{Domain, Draw, Family, Form, Gradient, OpDef, Sample};
use crate::op::core::params::{InputParams, by_name, kind, params};
use crate::op::core::record::{no_grad, one, recorded, two, wanted};
use crate::op::core::shapes;
use crate::op::elementwise::comparison::eq;
use crate::op::elementwise::sign::neg;
use crate::op::reduce::sums::any;
use crate::op::shape::permute::matrix_transpose;
use crate::op::shape::view::{squeeze, unsqueeze};
use crate::tensor::autograd::{Grads, Saved, Vjp};
use crate::tensor::{Tensor, launch};

use super::batches::{batched, identity, like, outer, square};
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
        let (inverse, pivots) = systems(x, &identity(x)?)?;
        singular(&pivots, "linalg.inv")?;
        inverse
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
        let (found, pivots) = systems(&a, &b)?;
        singular(&pivots, "torch.linalg.solve")?;
        found
    };
    Ok(recorded(out, &RULE, &[&a, &b], |s, y| {
        s.input(&a);
        s.output(y);
    }))
}

/// The solutions of `a x = b`, and the pivots of elimination in the last dimension. No graph.
fn systems(a: &Tensor, b: &Tensor) -> Result<(Tensor, Tensor)> {
    let (n, p) = (a.size(-1)?, b.size(-1)?);
    let (x, pivots) = (like(a, &[n, p])?, like(a, &[n])?);
    launch("linalg.solve", &Kernel::Factor(Factor::Solve), &[a.into(), b.into()], &[&x, &pivots])?;
    Ok((x, pivots))
}

fn singular(pivots: &Tensor, name: &'static str) -> Result<()> {
    let zeros = eq(pivots, 0i64)?;
    if pivots.numel() == 0 || any(&zeros, None, false)?.item()?.as_i64() == 0 {
        return Ok(());
    }
    let n = pivots.size(-1)?.max(1);
    let at = zeros.to_scalars(name)?.iter().position(|z| z.as_i64() != 0).unwrap_or(0);
    Err(no_inverse(name, (pivots.rank() > 1).then_some(at / n), (at % n) as i64 + 1)
        .with_hint("a singular matrix maps some direction to nothing; add a small multiple of `eye(n)`"))
}

/// What is wrong with a matrix, of a batch or alone, whose pivot `element`, counted from 1, is zero.
pub(super) fn no_inverse(name: &str, batch: Option<usize>, element: i64) -> Error {
    let which = batch.map_or_else(String::new, |batch| format!("(Batch element {batch}): "));
    if name.contains("solve") {
        return Error::runtime(format!(
            "{name}: {which}The solver failed because the input matrix is singular."
        ));
    }
    Error::runtime(format!(
        "{name}: {which}The diagonal element {element} is zero, the inversion could not be completed because the input \
         matrix is singular."
    ))
}

fn solve_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (a, y) = (s.tensor(0)?, s.tensor(1)?);
    let right = solve(&matrix_transpose(&a)?, g)?;
    let left = wanted(s, 0, || neg(&matmul(&right, &matrix_transpose(&y)?)?))?;
    two(left, Some(right))
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

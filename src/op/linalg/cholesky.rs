//! The factor of a positive definite matrix.

use crate::base::{Error, Kind, Result};
use crate::device::kernel::{Factor, Kernel};
use crate::op::core::args::to_value;
use crate::op::core::autocast::whole;
use crate::op::core::def::{Domain, Draw, Family, Form, Gradient, OpDef, Sample};
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::record::{no_grad, one, recorded};
use crate::op::elementwise::arithmetic::{add, scale, sub};
use crate::op::elementwise::predicates::isnan;
use crate::op::reduce::sums::any;
use crate::op::shape::part::diagonal;
use crate::op::shape::permute::matrix_transpose;
use crate::op::shape::triangle::tril;
use crate::tensor::autograd::{Grads, Saved, Vjp};
use crate::tensor::{Tensor, launch};

use super::eigen::like;
use super::matmul::matmul;
use super::solve::{inv, square};

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
        let out = like(x, &[n, n])?;
        launch("linalg.cholesky", &Kernel::Factor(Factor::Cholesky), &[x.into()], &[&out])?;
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

/// The rows of this file.
pub static ROWS: &[OpDef] = &[OpDef::call(
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

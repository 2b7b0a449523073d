//! Eigenvalues of symmetric matrices, and what other decompositions share. Batches are the leading dimensions.

use crate::base::{DType, Error, Kind, Result};
use crate::device::Kernel;
use crate::device::kernel::Factor;
use crate::op::core::args::to_value;
use crate::op::core::autocast::whole;
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Domain, Draw, Family, Form, Gradient, OpDef, Sample};
use crate::op::core::operand::Operand;
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::record::{no_grad, one, recorded};
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::{div, mul, scale, sub};
use crate::op::elementwise::binary::maximum;
use crate::op::elementwise::choose::{masked_fill, where_};
use crate::op::elementwise::comparison::gt;
use crate::op::elementwise::predicates::isfinite;
use crate::op::elementwise::unary::abs;
use crate::op::reduce::sums::{all, amax};
use crate::op::shape::permute::matrix_transpose as turned;
use crate::op::shape::view::{reshape_to, unsqueeze};
use crate::tensor::autograd::{Grads, Saved, Vjp, grad_enabled};
use crate::tensor::{Tensor, launch};

use super::batches::{identity, like, square_of};
use super::matmul::matmul;

/// The eigenvalues of symmetric matrices in ascending order, and their vectors as columns. Only the triangle that
/// `uplo` names, `L` or `U`, is read.
pub fn eigh(x: &Tensor, uplo: &str) -> Result<(Tensor, Tensor)> {
    static VALUES: Vjp = Vjp { name: "LinalgEighBackward0", run: |s, g| eigh_grad(s, Some(g), None) };
    static VECTORS: Vjp = Vjp { name: "LinalgEighBackward0", run: |s, g| eigh_grad(s, None, Some(g)) };
    let lower = reads_lower(uplo)?;
    whole("eigh", [x], |[x]| {
        let n = symmetric(x)?;
        let (values, vectors) = (like(x, &[n])?, like(x, &[n, n])?);
        let read = if lower { x.detach() } else { turned(&x.detach())? };
        launch("linalg.eigh", &Kernel::Factor(Factor::Eigh), &[(&read).into()], &[&values, &vectors])?;
        solvable(&values)?;
        let plain = (values.detach(), vectors.detach());
        let kept = |s: &mut crate::tensor::autograd::Saver| {
            s.input(x);
            s.constant(Some(&plain.0));
            s.constant(Some(&plain.1));
            s.attribute(lower);
        };
        Ok((
            recorded(values, &VALUES, &[x], |s, _| kept(s)),
            recorded(vectors, &VECTORS, &[x], |s, _| kept(s)),
        ))
    })
}

/// The eigenvalues alone; where a gradient is wanted, the vectors are found too.
pub fn eigvalsh(x: &Tensor, uplo: &str) -> Result<Tensor> {
    if wants_gradient(x) {
        return eigh(x, uplo).map(|(values, _)| values);
    }
    let lower = reads_lower(uplo)?;
    whole("eigh", [x], |[x]| {
        let values = like(x, &[symmetric(x)?])?;
        let read = if lower { x.detach() } else { turned(&x.detach())? };
        launch("linalg.eigh", &Kernel::Factor(Factor::Eigh), &[(&read).into()], &[&values])?;
        solvable(&values)?;
        Ok(values)
    })
}

pub(crate) fn wants_gradient(x: &Tensor) -> bool {
    grad_enabled() && x.requires_grad()
}

fn reads_lower(uplo: &str) -> Result<bool> {
    match uplo {
        "L" | "l" => Ok(true),
        "U" | "u" => Ok(false),
        other => {
            let text = format!("Expected UPLO argument to be 'L' or 'U', but got {other}");
            Err(Error::runtime(text))
        }
    }
}

/// The size of square matrices of full precision.
fn symmetric(x: &Tensor) -> Result<usize> {
    square_of(x, "linalg.eigh")?;
    implemented(x, "linalg_eigh_cpu")?;
    x.size(-1)
}

fn solvable(values: &Tensor) -> Result<()> {
    let code = values.size(-1)?.saturating_sub(1).max(1);
    converged(
        values,
        "linalg.eigh",
        &format!(
            "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated \
             eigenvalues (error code: {code})."
        ),
    )
}

fn eigh_grad(s: &Saved, values: Option<&Tensor>, vectors: Option<&Tensor>) -> Result<Grads> {
    let lower: &bool = s.attribute()?;
    let (l, v) = if grad_enabled() {
        eigh(&s.tensor(0)?, if *lower { "L" } else { "U" })?
    } else {
        (s.tensor(1)?, s.tensor(2)?)
    };
    let back = turned(&v)?;
    if let Some(g) = values {
        return one(matmul(&mul(&v, &unsqueeze(g, -2)?)?, &back)?);
    }
    let Some(g) = vectors else { return Err(Error::runtime("linalg.eigh: no gradient came")) };
    let turn = scale(&apart(&skew(&matmul(&back, g)?)?, &l)?, 0.5)?;
    one(matmul(&matmul(&v, &turn)?, &back)?)
}

/// `x[i, j] / (values[j] - values[i])`, and 0 on the diagonal.
pub fn apart(x: &Tensor, values: &Tensor) -> Result<Tensor> {
    let same = to_dtype(&identity(x)?, DType::Bool)?;
    let gaps = sub(&unsqueeze(values, -2)?, &unsqueeze(values, -1)?)?;
    masked_fill(&div(x, &masked_fill(&gaps, &same, 1i64.into())?)?, &same, 0i64.into())
}

/// The singular values of matrices in descending order, with their vectors: columns of `u`, rows of `vh`.
pub struct Svd {
    pub u: Tensor,
    pub s: Tensor,
    pub vh: Tensor,
}

pub(crate) fn skew(x: &Tensor) -> Result<Tensor> {
    sub(x, &turned(x)?)
}

/// From which size on a singular value counts: of the largest and of itself, the larger bound.
#[derive(Clone, Copy, Default)]
pub struct Cut<'a> {
    pub atol: Option<Operand<'a>>,
    pub rtol: Option<Operand<'a>>,
    /// The matrices are symmetric; eigenvalues serve as singular values.
    pub hermitian: bool,
}

impl Cut<'_> {
    /// Which of the values count; `values` in the last dimension, signs apart.
    pub fn counts(&self, x: &Tensor, values: &Tensor) -> Result<Tensor> {
        let eps = if x.dtype() == DType::Float64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
        let usual = eps * x.size(-1)?.max(x.size(-2)?) as f64;
        let sizes = abs(values)?;
        let largest = amax(&sizes, Some(&[-1]), true)?;
        let bound = match (self.rtol, self.atol) {
            (Some(Operand::Tensor(rtol)), _) => mul(&largest, &unsqueeze(rtol, -1)?)?,
            (Some(Operand::Scalar(rtol)), _) => scale(&largest, rtol.as_f64())?,
            // A bound of its own takes the place of the usual share.
            (None, Some(Operand::Tensor(atol))) => {
                let share = where_(&gt(atol, 0i64)?, 0.0.into(), usual.into())?;
                mul(&largest, &unsqueeze(&share, -1)?)?
            }
            (None, Some(Operand::Scalar(atol))) if atol.as_f64() > 0.0 => scale(&largest, 0.0)?,
            (None, _) => scale(&largest, usual)?,
        };
        let bound = match self.atol {
            Some(Operand::Tensor(atol)) => maximum(&bound, &unsqueeze(atol, -1)?)?,
            Some(Operand::Scalar(atol)) => maximum(&bound, atol.as_f64())?,
            None => maximum(&bound, 0.0)?,
        };
        gt(&sizes, &bound)
    }
}

/// What least squares give.
pub(crate) struct Fit {
    pub solution: Tensor,
    pub residuals: Tensor,
    pub rank: Tensor,
    pub singular_values: Tensor,
}

pub(crate) fn matrix(x: &Tensor, name: &str, kernel: &str) -> Result<()> {
    if x.rank() < 2 {
        return Err(Error::runtime(format!("{name}: The input tensor A must have at least 2 dimensions.")));
    }
    if !x.dtype().is_float() {
        let text = format!(
            "{name}: Expected a floating point or complex tensor as input. Got {}",
            x.dtype().type_name()
        );
        return Err(Error::new(Kind::NotImplementedError, text).with_hint("convert it with `.float()`"));
    }
    implemented(x, kernel)
}

fn implemented(x: &Tensor, kernel: &str) -> Result<()> {
    if matches!(x.dtype(), DType::Float32 | DType::Float64) {
        return Ok(());
    }
    let text = format!("\"{kernel}\" not implemented for '{}'", x.dtype().type_name());
    Err(Error::new(Kind::NotImplementedError, text).with_hint("convert it with `.float()`"))
}

pub(crate) fn only_full(x: &Tensor) -> Result<()> {
    if matches!(x.dtype(), DType::Float32 | DType::Float64) {
        return Ok(());
    }
    Err(Error::runtime("This function doesn't handle types other than float and double")
        .with_hint("convert it with `.float()`"))
}

/// An error where the values found are not all finite; of a batch it names the first matrix that is to blame.
pub(crate) fn converged(values: &Tensor, name: &str, text: &str) -> Result<()> {
    let _off = no_grad();
    let fine = isfinite(values)?;
    if all(&fine, None, false)?.item()?.as_i64() != 0 {
        return Ok(());
    }
    let element = if values.rank() > 1 {
        let each = reshape_to(&all(&fine, Some(&[-1]), false)?, &[outer_count(values)])?;
        let first = crate::op::sorting::extremum::argmin(&to_dtype(&each, DType::Int64)?, Some(0), false)?;
        format!("(Batch element {}): ", first.item()?.as_i64())
    } else {
        String::new()
    };
    Err(Error::runtime(format!("{name}: {element}{text}"))
        .with_hint("the matrix has an infinite element or a NaN"))
}

fn outer_count(values: &Tensor) -> usize {
    values.shape().iter().rev().skip(1).product()
}

const SPACE: &[Form] = &[Form::Of("linalg")];
const SQUARE: &[Draw] = &[Draw::of("x", &[3, 3], Domain::Any)];

params! {
    EighParams {
        A: kind::Tensor, "symmetric matrices, of which one triangle is read";
        UPLO: kind::Str = "L", "which triangle is read: `L` or `U`";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call("eigh", Family::Matmul, "The eigenvalues of symmetric matrices in ascending order, and their vectors as columns.", EighParams::LIST, by_name!(EighParams, |a| {
            let (values, vectors) = eigh(a.A, a.UPLO)?;
            Ok(Value::Map(vec![("eigenvalues", values.into()), ("eigenvectors", vectors.into())]))
        }))
    .forms(SPACE)
    .details(
        "A map of `eigenvalues` and `eigenvectors`. Only the lower triangle is read, or with \"U\" the upper one. The sign \
         of a vector is free; it is the one that LAPACK's iterations give.",
    )
    .shapes("(…, n, n) -> `eigenvalues` (…, n), `eigenvectors` (…, n, n)")
    .errors(&["RuntimeError: a matrix is not square"])
    .example("linalg::eigh(tensor([[2.0, 1.0], [1.0, 2.0]])).eigenvalues", "tensor([1., 3.])")
    .gradient(Gradient::Vjp("LinalgEighBackward0"))
    .samples(&[
        Sample::of("linalg::eigh(x + x.mT).eigenvalues", SQUARE),
        Sample::of("linalg::eigh(x + x.mT).eigenvectors ** 2", SQUARE),
    ]),
    OpDef::call("eigvalsh", Family::Matmul, "The eigenvalues of symmetric matrices in ascending order.", EighParams::LIST, by_name!(EighParams, |a| to_value(eigvalsh(a.A, a.UPLO))))
    .forms(SPACE)
    .shapes("(…, n, n) -> (…, n)")
    .errors(&["RuntimeError: a matrix is not square"])
    .example("linalg::eigvalsh(tensor([[2.0, 1.0], [1.0, 2.0]]))", "tensor([1., 3.])")
    .gradient(Gradient::Vjp("LinalgEighBackward0"))
    .samples(&[Sample::of("linalg::eigvalsh(x + x.mT)", SQUARE)]),
];

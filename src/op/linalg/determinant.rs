//! Determinants.

use crate::base::Result;
use crate::op::core::args::to_value;
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Domain, Draw, Family, Form, Gradient, OpDef, Sample};
use crate::op::core::params::{InputParams, by_name};
use crate::op::core::record::{no_grad, one, recorded};
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::{add, mul, sub};
use crate::op::elementwise::choose::masked_fill;
use crate::op::elementwise::comparison::{eq, lt};
use crate::op::elementwise::sign::sign;
use crate::op::elementwise::unary::{abs, log};
use crate::op::reduce::products::prod;
use crate::op::reduce::sums::sum;
use crate::op::shape::part::diagonal;
use crate::op::shape::permute::matrix_transpose;
use crate::op::shape::view::reshape_to;
use crate::op::sorting::running::places_along;
use crate::tensor::Tensor;
use crate::tensor::autograd::Vjp;

use super::batches::square;
use super::solve::inv;
use super::triangular::eliminated;

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
        let (pivots, sign) = pivots(x)?;
        mul(&prod(&pivots, Some(-1), false, None)?, &sign)?
    };
    Ok(recorded(out, &RULE, &[x], |s, y| {
        s.input(x);
        s.output(y);
    }))
}

/// The pivots of elimination, and 1 or -1 by the number of rows that changed places.
fn pivots(x: &Tensor) -> Result<(Tensor, Tensor)> {
    let found = eliminated(x)?;
    let stayed = eq(&found.pivots, &add(&places_along(&found.pivots, -1)?, 1i64)?)?;
    let signs = sub(&mul(&to_dtype(&stayed, x.dtype())?, 2.0)?, 1.0)?;
    Ok((diagonal(&found.both, 0, -2, -1)?, prod(&signs, Some(-1), false, None)?))
}

/// The sign of the determinant, and the logarithm of its size.
pub(crate) fn slogdet(x: &Tensor) -> Result<(Tensor, Tensor)> {
    static RULE: Vjp = Vjp {
        name: "LinalgSlogdetBackward0",
        run: |s, g| one(mul(&last_two(g)?, &matrix_transpose(&inv(&s.tensor(0)?)?)?)?),
    };
    square(x, "linalg.slogdet")?;
    let _paused = crate::tensor::autocast::pause();
    let (signs, size) = {
        let _off = no_grad();
        let (pivots, exchanges) = pivots(x)?;
        let signs = mul(&prod(&sign(&pivots)?, Some(-1), false, None)?, &exchanges)?;
        (signs, sum(&log(&abs(&pivots)?)?, Some(&[-1]), false)?)
    };
    Ok((signs, recorded(size, &RULE, &[x], |s, _| s.input(x))))
}

fn last_two(x: &Tensor) -> Result<Tensor> {
    let mut shape: Vec<usize> = x.shape().to_vec();
    shape.extend([1, 1]);
    reshape_to(x, &shape)
}

/// A product with its transpose, moved up the diagonal, is well conditioned.
const SQUARE: &[Draw] = &[Draw::of("x", &[3, 3], Domain::Inside), Draw::of("b", &[3, 2], Domain::Any)];
const ANYWHERE: &[Form] = &[Form::Method, Form::Function, Form::Of("linalg")];

/// The logarithm of the determinant of square matrices.
pub(crate) fn logdet(x: &Tensor) -> Result<Tensor> {
    let (sign, size) = slogdet(x)?;
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

//! Condition numbers, and the exponential of a matrix.

use crate::base::{Error, Kind, Result};
use crate::op::core::autocast::whole;
use crate::op::core::def::{DefaultValue as D, Domain, Draw, Family, Form, OpDef, Sample};
use crate::op::core::operand::Operand;
use crate::op::core::params::{InputParams, by_name, kind, params};
use crate::op::core::record::no_grad;
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::{add, div, mul, scale};
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::comparison::eq;
use crate::op::elementwise::predicates::isnan;
use crate::op::elementwise::unary::abs;
use crate::op::reduce::sums::{amax, max_all, sum};
use crate::op::shape::part::select;
use crate::op::shape::view::unsqueeze;
use crate::tensor::Tensor;

use super::batches::{identity, outer, square, square_of};
use super::matmul::matmul;
use super::norms::{ConditionOrder, NormOrder, norm_of};
use super::solve::inv;
use super::svd::svdvals;

/// How much a matrix can enlarge errors: the norm of the matrix times that of its inverse, as `torch.linalg.cond`.
pub fn cond(x: &Tensor, order: NormOrder) -> Result<Tensor> {
    whole("cond", [x], |[x]| condition(x, order))
}

fn condition(x: &Tensor, order: NormOrder) -> Result<Tensor> {
    const NAME: &str = "linalg.cond";
    if x.rank() < 2 {
        return Err(Error::runtime(format!("{NAME}: The input tensor must have at least 2 dimensions.")));
    }
    let (by_values, shown) = match &order {
        NormOrder::Usual => (Some(1.0), "2".to_string()),
        NormOrder::Of(p) if p.abs() == 2.0 => (Some(p.signum()), String::new()),
        NormOrder::Of(p) => {
            let shown = crate::base::python::float(*p).trim_end_matches(".0").to_string();
            if ![1.0, f64::INFINITY].contains(&p.abs()) {
                return Err(Error::value(format!("{NAME} got an invalid norm type: {shown}")));
            }
            (None, shown)
        }
        NormOrder::Named(name) if name == "fro" || name == "nuc" => (None, name.clone()),
        NormOrder::Named(name) => {
            return Err(Error::value(format!("{NAME} got an invalid norm type: {name}")));
        }
    };
    if x.numel() == 0 {
        return Tensor::full(outer(x), 0i64.into(), x.dtype(), &x.context(), "linalg.cond");
    }
    if let Some(sign) = by_values {
        let values = svdvals(x)?;
        let (first, last) = (select(&values, -1, 0)?, select(&values, -1, -1)?);
        let quotient = if sign > 0.0 { div(&first, &last)? } else { div(&last, &first)? };
        // A matrix of zeros has no finite one.
        return where_(&isnan(&quotient)?, Operand::from(f64::INFINITY), Operand::Tensor(&quotient));
    }
    square(x, &format!("{NAME}(ord={shown})"))?;
    let flat = {
        let _off = no_grad();
        eq(&abs(&super::determinant::det(x)?)?, 0.0)?
    };
    let safe =
        where_(&unsqueeze(&unsqueeze(&flat, -1)?, -1)?, Operand::Tensor(&identity(x)?), Operand::Tensor(x))?;
    let dims = Some(&[-2i64, -1][..]);
    let product = mul(&norm_of(x, order.clone(), dims, false)?, &norm_of(&inv(&safe)?, order, dims, false)?)?;
    where_(&flat, Operand::from(f64::INFINITY), Operand::Tensor(&product))
}

/// `1 + x + x² / 2 + x³ / 6 + …` of square matrices: the series of `x / 2^s`, squared `s` times. The host waits for the
/// size of `x`.
pub fn matrix_exp(x: &Tensor) -> Result<Tensor> {
    const NAME: &str = "linalg.matrix_exp";
    const TERMS: i32 = 18;
    square_of(x, NAME)?;
    if !x.dtype().is_float() {
        let text = format!(
            "{NAME}: Expected a floating point or complex tensor as input. Got {}",
            x.dtype().type_name()
        );
        return Err(Error::new(Kind::NotImplementedError, text).with_hint("convert it with `.float()`"));
    }
    let _paused = crate::tensor::autocast::pause();
    if x.numel() == 0 {
        return crate::op::core::convert::cloned(x);
    }
    let size = {
        let _off = no_grad();
        max_all(&amax(&sum(&abs(&x.detach())?, Some(&[-2]), false)?, Some(&[-1]), false)?)?.item()?.as_f64()
    };
    // Below 1 the terms fall fast enough for double precision. NaN and infinities stay what they are.
    let halvings = if size.is_finite() && size > 1.0 { size.log2().ceil() as i32 } else { 0 };
    let (small, one) = (scale(x, 0.5f64.powi(halvings))?, identity(x)?);
    let mut out = one.clone();
    for k in (1..=TERMS).rev() {
        out = add(&one, &scale(&matmul(&small, &out)?, 1.0 / f64::from(k))?)?;
    }
    for _ in 0..halvings {
        out = matmul(&out, &out)?;
    }
    Ok(out)
}

const SPACE: &[Form] = &[Form::Of("linalg")];
const SQUARE: &[Draw] = &[Draw::of("x", &[3, 3], Domain::Inside), Draw::of("b", &[3, 2], Domain::Any)];
const WIDE: &[Draw] = &[Draw::of("x", &[3, 5], Domain::Any)];

params! {
    CondParams {
        A: kind::Tensor, "the matrix, or a batch of matrices";
        p: ConditionOrder => D::None, "which norm: a number, `fro` or `nuc`; 2 where none is given";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "cond",
        Family::Matmul,
        "How much a matrix can enlarge errors: its norm times that of its inverse.",
        CondParams::LIST,
        by_name!(CondParams, |a| cond(a.A, a.p).map(Value::from)),
    )
    .forms(SPACE)
    .details("`p` is a norm's order: 1, -1, 2, -2, the infinities, \"fro\" or \"nuc\"; without one it is 2.")
    .shapes("(…, n, m) -> (…)")
    .errors(&["RuntimeError: a matrix is not square and the order is neither 2 nor -2", shapes::NO_FLOAT])
    .example("linalg::cond(tensor([[1.0, 0.0], [0.0, 0.5]]))", "tensor(2.)")
    .samples(&[
        Sample::of("linalg::cond(x)", WIDE),
        Sample::of("linalg::cond(x + 2 * eye(3, #{dtype: x.dtype}), \"fro\")", SQUARE),
    ]),
    OpDef::call(
        "matrix_exp",
        Family::Matmul,
        "The exponential of square matrices: `1 + x + x @ x / 2 + …`.",
        InputParams::LIST,
        by_name!(InputParams, |a| matrix_exp(a.input).map(Value::from)),
    )
    .forms(&[Form::Method, Form::Function, Form::Of("linalg")])
    .details("The host waits for the size of the matrix.")
    .shapes(shapes::SQUARE)
    .errors(&["RuntimeError: a matrix is not square"])
    .example("tensor([[0.0, 1.0], [0.0, 0.0]]).matrix_exp()", "tensor([[1., 1.],\n        [0., 1.]])")
    .samples(&[Sample::of("x.matrix_exp()", SQUARE), Sample::of("(3 * x).matrix_exp()", SQUARE)]),
];

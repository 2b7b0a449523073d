//! Norms of vectors.

use crate::base::{DType, Error, Kind, Result};
use crate::device::kernel::ReduceOp;
use crate::op::core::args::to_value;
use crate::op::core::autocast::{self, whole};
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Domain, Draw, Family, Form, Gradient, OpDef, Sample};
use crate::op::core::fill::replaced;
use crate::op::core::operand::Operand;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::record::{no_grad, one, recorded};
use crate::op::core::shapes;
use crate::op::elementwise::arithmetic::{div, mul, scale, shift};
use crate::op::elementwise::binary::pow;
use crate::op::elementwise::choose::{masked_fill, where_};
use crate::op::elementwise::comparison::{eq, gt, ne};
use crate::op::elementwise::sign::sign;
use crate::op::elementwise::unary::{abs, reciprocal};
use crate::op::shape::view::restore_dims;
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp};

use super::sums::{Over, amax, amin, reduce, sum, sum_as};

/// The extremes of sizes have none over nothing.
fn check_any(x: &Tensor, p: f64, dims: Option<&[i64]>) -> Result<()> {
    let refused = |what: String| {
        Err(Error::runtime(format!(
            "linalg.vector_norm cannot compute the {p} norm on {what} and the operation does not have an identity"
        )))
    };
    match dims {
        None | Some([]) if x.numel() == 0 => Err(Error::runtime(format!(
            "linalg.vector_norm cannot compute the {p} norm on an empty tensor because the operation does not have an \
             identity"
        ))),
        Some(dims) => match dims.iter().find(|d| x.size(**d).is_ok_and(|size| size == 0)) {
            Some(&dim) => refused(format!("the dimension {}because this dimension is empty", x.dim(dim)?)),
            None => Ok(()),
        },
        None => Ok(()),
    }
}

/// The vector norm of order `p` over `dims`: `sum(|x|^p)^(1/p)`, the largest for infinity, the count for 0.
pub fn norm(x: &Tensor, p: f64, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("norm", &[x])? {
        return norm(&casts.cast(x)?, p, dims, keepdim);
    }
    static RULE: Vjp = Vjp { name: "LinalgVectorNormBackward0", run: norm_grad };
    if !x.dtype().is_float() {
        let text = format!(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {}",
            x.dtype().type_name()
        );
        return Err(
            Error::new(Kind::NotImplementedError, text).with_hint("convert to floats with `.float()`")
        );
    }
    if p < 0.0 || p == f64::INFINITY {
        check_any(x, p, dims)?;
    }
    if p == 2.0 {
        let over = Over::of(x, dims, keepdim)?;
        let out = reduce("norm", ReduceOp::Norm2, x, over, x.dtype())?;
        return Ok(recorded(out, &RULE, &[x], |s, y| {
            s.input(x);
            s.output(y);
            s.attribute(over);
        }));
    }
    if p == 0.0 {
        static COUNT: Vjp = Vjp { name: "LinalgVectorNormBackward0", run: count_grad };
        let count = sum_as(&ne(x, 0i64)?, dims, keepdim, Some(x.dtype()))?;
        return Ok(recorded(count, &COUNT, &[x], |s, _| s.input(x)));
    }
    if matches!(x.dtype(), DType::Float16 | DType::BFloat16) && p.is_finite() && p != 1.0 {
        // Powers leave the range of halves long before the norm does.
        return to_dtype(&norm(&to_dtype(x, DType::Float32)?, p, dims, keepdim)?, x.dtype());
    }
    let size = abs(x)?;
    if p == 1.0 {
        sum(&size, dims, keepdim)
    } else if p == f64::INFINITY {
        amax(&size, dims, keepdim)
    } else if p == f64::NEG_INFINITY {
        amin(&size, dims, keepdim)
    } else {
        static POWER: Vjp = Vjp { name: "LinalgVectorNormBackward0", run: power_grad };
        let over = Over::of(x, dims, keepdim)?;
        let out = {
            let _off = no_grad();
            pow(&sum(&pow(&size, p)?, dims, keepdim)?, 1.0 / p)?
        };
        Ok(recorded(out, &POWER, &[x], |s, y| {
            s.input(x);
            s.output(y);
            s.attribute((over, p));
        }))
    }
}

/// How many are not 0 changes with none of them.
fn count_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let x = s.tensor(0)?;
    one(Tensor::full(x.shape(), 0i64.into(), g.dtype(), &g.context(), "zeros_like")?)
}

/// `x |x|^(p-2) / norm^(p-1)`, and 0 where that is not defined: at a norm of 0, and at elements of 0 for `p` below 1.
fn power_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (x, y) = (s.tensor(0)?, s.tensor(1)?);
    let &(over, p): &(Over, f64) = s.attribute()?;
    let size = abs(&x)?;
    let own = match p {
        p if p < 1.0 => mul(&sign(&x)?, &masked_fill(&pow(&size, p - 1.0)?, &eq(&x, 0i64)?, 0i64.into())?)?,
        p if p < 2.0 => mul(&sign(&x)?, &pow(&size, p - 1.0)?)?,
        p => mul(&x, &pow(&size, p - 2.0)?)?,
    };
    let whole = match p {
        p if p < 1.0 => mul(g, &pow(&y, 1.0 - p)?)?,
        p => masked_fill(&div(g, &pow(&y, p - 1.0)?)?, &eq(&y, 0i64)?, 0i64.into())?,
    };
    one(mul(&own, &restore_dims(&whole, x.shape(), over.mask)?)?)
}

fn norm_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (x, y) = (s.tensor(0)?, s.tensor(1)?);
    let over: &Over = s.attribute()?;
    let part = masked_fill(&div(g, &y)?, &eq(&y, 0i64)?, 0i64.into())?;
    one(mul(&x, &restore_dims(&part, x.shape(), over.mask)?)?)
}

/// The slices along `dim` whose `p`-norm is more than `most`, scaled down to it.
pub fn renorm(x: &Tensor, p: f64, dim: i64, most: f64) -> Result<Tensor> {
    whole("renorm", [x], |[x]| bounded_norm(x, p, dim, most))
}

fn bounded_norm(x: &Tensor, p: f64, dim: i64, most: f64) -> Result<Tensor> {
    if p <= 0.0 {
        return Err(Error::runtime("renorm: non-positive-norm not supported"));
    }
    if most < 0.0 {
        return Err(Error::runtime(format!("renorm: expected maxnorm to be >= 0 but got {most}")));
    }
    if x.rank() < 2 {
        let text = format!("renorm: input needs at least 2 dimensions, got {} dimensions", x.rank());
        return Err(Error::runtime(text));
    }
    let dim = x.dim(dim)?;
    let others: Vec<i64> = (0..x.rank()).filter(|&d| d != dim).map(|d| d as i64).collect();
    let sizes = norm(x, p, Some(&others), true)?;
    let factor = scale(&reciprocal(&shift(&sizes, 1e-7)?)?, most)?;
    mul(x, &where_(&gt(&sizes, most)?, Operand::Tensor(&factor), 1.0.into())?)
}

const TWO_VECTORS: &[Draw] = &[Draw::of("a", &[4], Domain::Any), Draw::of("b", &[4], Domain::Positive)];
const SPACE: &[Form] = &[Form::Of("linalg")];
const MATRIX: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];

params! {
    RenormParams {
        input: kind::Tensor, "the tensor whose slices are scaled";
        p: kind::Float, "which norm is taken: 1, 2, …";
        dim: kind::Dim, "the dimension along which the slices are counted";
        maxnorm: kind::Float, "the largest norm that a slice may keep";
    }
}

params! {
    VectorNormParams {
        x: kind::Tensor, "the tensor whose norm is taken";
        ord: kind::Scalar = 2, "which norm: a number, or infinity";
        dim: Maybe<kind::Dims>, "the dimension it runs along; negative ones count from the end";
        keepdim: kind::Bool = false, "keeps reduced dimensions, with size 1";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "renorm",
        Family::Normalise,
        "The slices along a dimension whose `p`-norm is more than `maxnorm`, scaled down to it.",
        RenormParams::LIST,
        by_name!(RenormParams, |a| to_value(renorm(a.input, a.p, a.dim, a.maxnorm))),
    )
    .in_place(by_name!(RenormParams, |a| {
        to_value(replaced(a.input, |x| renorm(x, a.p, a.dim, a.maxnorm)))
    }))
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: the input has fewer than two dimensions", shapes::NO_FLOAT])
    .example(
        "tensor([[1.0, 2.0, 2.0], [3.0, 4.0, 0.0]]).renorm(2, 0, 4)",
        "tensor([[1.0000, 2.0000, 2.0000],\n        [2.4000, 3.2000, 0.0000]])",
    )
    .samples(&[Sample::of("x.renorm(2, 0, 1.5)", MATRIX), Sample::of("x.renorm(1, 1, 2.0)", MATRIX)]),
    OpDef::call(
        "vector_norm",
        Family::Reduce,
        "The norm of all elements, or along dimensions, as of a vector.",
        VectorNormParams::LIST,
        by_name!(VectorNormParams, |a| {
            let (order, dims, keepdim) = (a.ord.as_f64(), a.dim, a.keepdim);
            to_value(whole("vector_norm", [a.x], |[x]| norm(x, order, dims.as_deref(), keepdim)))
        }),
    )
    .forms(SPACE)
    .shapes(shapes::REDUCED)
    .errors(&[shapes::NO_FLOAT])
    .example("linalg::vector_norm(tensor([3.0, 4.0]))", "tensor(5.)")
    .gradient(Gradient::Vjp("LinalgVectorNormBackward0"))
    .samples(&[Sample::of("linalg::vector_norm(a, 3)", TWO_VECTORS)]),
];

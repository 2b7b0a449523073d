//! Products over a dimension, and running ones.

use crate::base::{DType, Result, memory};
use crate::device::Kernel;
use crate::device::kernel::{ReduceOp, ScanOp};
use crate::op::core::args::to_value;
use crate::op::core::def::{Domain, Draw, Family, Gradient, OpDef, Sample};
use crate::op::core::fill::replaced;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::record::{no_grad, one, recorded};
use crate::op::core::{autocast, shapes};
use crate::op::elementwise::arithmetic::{div, mul};
use crate::op::elementwise::choose::{masked_fill, where_};
use crate::op::elementwise::comparison::eq;
use crate::op::shape::join::cat;
use crate::op::shape::part::slice;
use crate::op::shape::repeat::flip;
use crate::op::shape::view::{reshape_to, spread};
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp, grad_enabled};

use super::scan::{along, cumsum, from_the_end};
use super::sums::{Over, reduce, sum, widened};

/// Product over one dimension, or over everything.
pub fn prod(x: &Tensor, dim: Option<i64>, keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("prod", &[x])? {
        return prod(&casts.cast(x)?, dim, keepdim, casts.dtype(dtype));
    }
    static ALL: Vjp = Vjp { name: "ProdBackward0", run: prod_grad };
    static ONE: Vjp = Vjp { name: "ProdBackward1", run: prod_grad };
    let dims = dim.map(|d| [d]);
    let over = Over::of(x, dims.as_ref().map(|d| d.as_slice()), keepdim)?;
    let dtype = dtype.unwrap_or_else(|| widened(x.dtype()));
    let out = reduce("prod", ReduceOp::Prod, x, over, dtype)?;
    Ok(recorded(out, if over.all { &ALL } else { &ONE }, &[x], |s, _| {
        s.input(x);
        s.attribute(over);
    }))
}

/// The product of all the others, by running products from both ends: zeros need no case of their own.
fn prod_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let x = s.tensor(0)?;
    let over: &Over = s.attribute()?;
    if x.rank() == 0 {
        return one(g.clone());
    }
    let wide = spread(g, x.shape(), over.mask)?;
    if over.mask.count_ones() == 1 {
        return one(mul(&wide, &exclusive_products(&x, over.mask.trailing_zeros() as usize)?)?);
    }
    let flat = exclusive_products(&reshape_to(&x, &[x.numel()])?, 0)?;
    one(mul(&wide, &reshape_to(&flat, x.shape())?)?)
}

/// The running product along `dim`; integers and bools in int64.
pub fn cumprod(x: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("cumprod", &[x])? {
        return cumprod(x, dim, casts.dtype(dtype));
    }
    static RULE: Vjp = Vjp { name: "CumprodBackward0", run: cumprod_grad };
    let dim = x.dim(dim)?;
    let out =
        along("cumprod", Kernel::Scan { op: ScanOp::Prod, dim }, x, dtype.unwrap_or(widened(x.dtype())))?;
    Ok(recorded(out, &RULE, &[x], |s, y| {
        s.input(x);
        s.output(y);
        s.attribute(dim);
    }))
}

/// For each element along `dim` the product of all the others.
pub(crate) fn exclusive_products(x: &Tensor, dim: usize) -> Result<Tensor> {
    let before = products_before(x, dim)?;
    let back = [dim as i64];
    mul(&before, &flip(&products_before(&flip(x, &back)?, dim)?, &back)?)
}

fn products_before(x: &Tensor, dim: usize) -> Result<Tensor> {
    let size = x.shape().get(dim).copied().unwrap_or(1);
    if size == 0 {
        return Ok(x.clone());
    }
    let mut edge: crate::base::Dims = x.shape().into();
    if let Some(d) = edge.get_mut(dim) {
        *d = 1;
    }
    let ones = Tensor::full(&edge, 1i64.into(), x.dtype(), &x.context(), "ones_like")?;
    cumprod(&cat(&[&ones, &slice(x, dim, 0, size - 1, 1)?], dim as i64)?, dim as i64, None)
}

/// `d/dx_k sum_i g_i prod_{j<=i} x_j`.
///
/// Before the first zero this is the sum from `k` on of `g * y`, divided by `x_k`. At the first zero it is the
/// same sum over products that leave the zero out; after it nothing depends on `x_k`.
fn cumprod_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (x, y) = (s.tensor(0)?, s.tensor(1)?);
    let &dim: &usize = s.attribute()?;
    if x.rank() == 0 {
        return one(g.clone());
    }
    if grad_enabled() && any_zero(&x)? {
        return one(cumprod_grad_by_element(&x, g, dim)?);
    }
    let (first, later) = {
        let _off = no_grad();
        let zero = eq(&x, 0i64)?;
        let seen = cumsum(&zero, dim as i64, None)?;
        let first = mul(&zero, &eq(&seen, 1i64)?)?;
        (first, crate::op::elementwise::comparison::gt(&seen, 0i64)?)
    };
    let safe = masked_fill(&x, &eq(&x, 0i64)?, 1i64.into())?;
    let before = div(&from_the_end(&mul(g, &y)?, dim)?, &safe)?;
    let without = cumprod(&masked_fill(&x, &first, 1i64.into())?, dim as i64, None)?;
    let at_first = from_the_end(&mul(g, &without)?, dim)?;
    one(where_(&first, (&at_first).into(), (&masked_fill(&before, &later, 0i64.into())?).into())?)
}

/// Whether there is a zero, which is looked up.
fn any_zero(x: &Tensor) -> Result<bool> {
    let _off = no_grad();
    let zeros = sum(&eq(x, 0i64)?, None, false)?;
    Ok(zeros.decided("cumprod")?.as_i64() > 0)
}

/// The gradient without a quotient, so that it can be differentiated at zeros, where products that leave out one element
/// still depend on the others.
fn cumprod_grad_by_element(x: &Tensor, g: &Tensor, dim: usize) -> Result<Tensor> {
    let (along, size) = (dim as i64, x.size(dim as i64)?);
    let mut parts = memory::with_capacity(size)?;
    let mut before: Option<Tensor> = None;
    for k in 0..size {
        let own = slice(x, dim, k, 1, 1)?;
        let rest = slice(x, dim, k + 1, size - k - 1, 1)?;
        // What follows, with 1 in the element's place.
        let ones = Tensor::full(own.shape(), 1i64.into(), x.dtype(), &x.context(), "ones_like")?;
        let mut products = cumprod(&cat(&[&ones, &rest], along)?, along, None)?;
        if let Some(before) = &before {
            products = mul(&products, before)?;
        }
        parts.push(sum(&mul(&slice(g, dim, k, size - k, 1)?, &products)?, Some(&[along]), true)?);
        before = Some(match &before {
            Some(before) => mul(before, &own)?,
            None => own,
        });
    }
    cat(&parts.iter().collect::<Vec<_>>(), along)
}

params! {
    ProdParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: Maybe<kind::Dim>, "the dimension it runs along; negative ones count from the end";
        keepdim: kind::Bool = false, "keeps reduced dimensions, with size 1";
        dtype: Maybe<kind::DType>, "the dtype computed in and given";
    }
}

params! {
    CumprodParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Dim, "the dimension it runs along; negative ones count from the end";
        dtype: Maybe<kind::DType>, "the dtype computed in and given";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "prod",
        Family::Reduce,
        "The product of all elements, or along a dimension.",
        ProdParams::LIST,
        by_name!(ProdParams, |a| to_value(prod(a.input, a.dim, a.keepdim, a.dtype))),
    )
    .shapes(shapes::REDUCED)
    .example("tensor([2.0, 3.0]).prod()", "tensor(6.)")
    .gradient(Gradient::Vjp("ProdBackward0"))
    .samples(&[Sample::of("x.prod(1)", &[Draw::of("x", &[3, 4], Domain::Positive)])]),
    OpDef::call(
        "cumprod",
        Family::Reduce,
        "Running products along a dimension.",
        CumprodParams::LIST,
        by_name!(CumprodParams, |a| to_value(cumprod(a.input, a.dim, a.dtype))),
    )
    .in_place(by_name!(CumprodParams, |a| to_value(replaced(a.input, |x| cumprod(x, a.dim, a.dtype)))))
    .shapes(shapes::SAME)
    .example("tensor([1, 2, 3]).cumprod(0)", "tensor([1, 2, 6])")
    .gradient(Gradient::Vjp("CumprodBackward0"))
    .samples(&[Sample::of("x.cumprod(1)", &[Draw::of("x", &[3, 4], Domain::Positive)])]),
];

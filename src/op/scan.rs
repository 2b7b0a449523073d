//! Running sums and products, and softmax: operations along one dimension that keep its length.

use crate::base::{DType, Result};
use crate::device::Kernel;
use crate::device::kernel::ScanOp;
use crate::tensor::autograd::{Grads, Saved, Vjp, grad_enabled};
use crate::tensor::{In, Tensor, launch};

use super::autocast;
use super::binary::{div, eq, mul, sub};
use super::joins::{cat, flip};
use super::movement::slice;
use super::record::{no_grad, one, recorded};
use super::reduce::{sum, widened};
use super::select::{masked_fill, only_floats, where_};
use super::unary::exp;

/// The running sum along `dim`; integers and bools in int64.
pub fn cumsum(x: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("cumsum", &[x])? {
        return cumsum(x, dim, casts.dtype(dtype));
    }
    static RULE: Vjp = Vjp {
        name: "CumsumBackward0",
        run: |s, g| {
            let &dim: &usize = s.attribute()?;
            one(from_the_end(g, dim)?)
        },
    };
    let dim = x.dim(dim)?;
    let out = along("cumsum", Kernel::Scan { op: ScanOp::Sum, dim }, x, dtype.unwrap_or(widened(x.dtype())))?;
    Ok(recorded(out, &RULE, &[x], |s, _| s.attribute(dim)))
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

/// `exp(x)` divided by its sum along `dim`.
pub fn softmax(x: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "SoftmaxBackward0", run: softmax_grad };
    normalised("softmax", false, x, dim, dtype, &RULE)
}

/// The logarithm of [`softmax`], without overflow.
pub fn log_softmax(x: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "LogSoftmaxBackward0", run: log_softmax_grad };
    normalised("log_softmax", true, x, dim, dtype, &RULE)
}

/// For each element along `dim` the product of all the others.
pub fn exclusive_products(x: &Tensor, dim: usize) -> Result<Tensor> {
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

/// A kernel that works along one dimension; a scalar is a vector of one. No graph.
fn along(name: &'static str, kernel: Kernel, x: &Tensor, dtype: DType) -> Result<Tensor> {
    let out = Tensor::empty(x.shape(), dtype, &x.context(), name)?;
    if x.rank() == 0 {
        let (from, to) = (x.layout().unsqueeze(0)?, out.with_layout(out.layout().unsqueeze(0)?));
        launch(name, &kernel, &[In::Laid(x, &from)], &[&to])?;
    } else {
        launch(name, &kernel, &[x.into()], &[&out])?;
    }
    Ok(out)
}

fn normalised(
    name: &'static str,
    log: bool,
    x: &Tensor,
    dim: i64,
    dtype: Option<DType>,
    rule: &'static Vjp,
) -> Result<Tensor> {
    if let Some(casts) = autocast::enter(name, &[x])? {
        return normalised(name, log, x, dim, casts.dtype(dtype), rule);
    }
    let dim = x.dim(dim)?;
    let dtype = dtype.unwrap_or(x.dtype());
    if x.numel() == 0 && !dtype.is_float() {
        return x.copied(dtype, name);
    }
    only_floats(dtype, if log { "log_softmax_lastdim_kernel_impl" } else { "softmax_lastdim_kernel_impl" })?;
    let out = along(name, Kernel::Softmax { log, dim }, x, dtype)?;
    Ok(recorded(out, rule, &[x], |s, y| {
        s.output(y);
        s.attribute(dim);
    }))
}

fn softmax_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let y = s.tensor(0)?;
    let &dim: &usize = s.attribute()?;
    if !grad_enabled() {
        return one(fused_grad(false, dim, g, &y)?);
    }
    let weighted = mul(g, &y)?;
    one(sub(&weighted, &mul(&y, &sum(&weighted, Some(&[dim as i64]), true)?)?)?)
}

fn log_softmax_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let y = s.tensor(0)?;
    let &dim: &usize = s.attribute()?;
    if !grad_enabled() {
        return one(fused_grad(true, dim, g, &y)?);
    }
    one(sub(g, &mul(&exp(&y)?, &sum(g, Some(&[dim as i64]), true)?)?)?)
}

fn fused_grad(log: bool, dim: usize, g: &Tensor, y: &Tensor) -> Result<Tensor> {
    let out = Tensor::empty(y.shape(), y.dtype(), &y.context(), "softmax_backward")?;
    let kernel = Kernel::SoftmaxGrad { log, dim };
    if y.rank() == 0 {
        let (a, b) = (g.layout().unsqueeze(0)?, y.layout().unsqueeze(0)?);
        let to = out.with_layout(out.layout().unsqueeze(0)?);
        launch("softmax_backward", &kernel, &[In::Laid(g, &a), In::Laid(y, &b)], &[&to])?;
    } else {
        launch("softmax_backward", &kernel, &[g.into(), y.into()], &[&out])?;
    }
    Ok(out)
}

/// The running sum from the end towards the beginning.
fn from_the_end(x: &Tensor, dim: usize) -> Result<Tensor> {
    let dim = dim as i64;
    if x.rank() == 0 {
        return Ok(x.clone());
    }
    flip(&cumsum(&flip(x, &[dim])?, dim, None)?, &[dim])
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
    let (first, later) = {
        let _off = no_grad();
        let zero = eq(&x, 0i64)?;
        let seen = cumsum(&zero, dim as i64, None)?;
        let first = mul(&zero, &eq(&seen, 1i64)?)?;
        (first, super::binary::gt(&seen, 0i64)?)
    };
    let safe = masked_fill(&x, &eq(&x, 0i64)?, 1i64.into())?;
    let before = div(&from_the_end(&mul(g, &y)?, dim)?, &safe)?;
    let without = cumprod(&masked_fill(&x, &first, 1i64.into())?, dim as i64, None)?;
    let at_first = from_the_end(&mul(g, &without)?, dim)?;
    one(where_(&first, (&at_first).into(), (&masked_fill(&before, &later, 0i64.into())?).into())?)
}

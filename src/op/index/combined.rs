//! Elements that are sent to one place, combined.

use crate::base::{DType, Dims, Error, Kind, Result, Scalar};
use crate::device::kernel::ScatterMode;
use crate::op::core::convert::to_dtype;
use crate::op::core::operand::Operand;
use crate::op::core::promote::cast;
use crate::op::core::record::{check_deterministic, no_grad, recorded, two, wanted};
use crate::op::elementwise::arithmetic::{div, floor_divide, mul, sub};
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::clamp::clamp;
use crate::op::elementwise::comparison::{eq, ne};
use crate::op::gather::along_dim::{check_scatter, gather, scatter, scatter_add, scatter_into};
use crate::op::reduce::sums::all;
use crate::op::shape::join::cat;
use crate::op::shape::part::slice;
use crate::op::shape::repeat::flip;
use crate::op::shape::view::reshape_to;
use crate::op::sorting::sort::argsort;
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp, grad_enabled};

/// How several values for one place become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Combine {
    Sum,
    Prod,
    Mean,
    Amax,
    Amin,
}

impl Combine {
    pub(crate) fn parse(name: &str) -> Result<Combine> {
        Ok(match name {
            "sum" => Combine::Sum,
            "prod" => Combine::Prod,
            "mean" => Combine::Mean,
            "amax" | "max" => Combine::Amax,
            "amin" | "min" => Combine::Amin,
            other => {
                let text =
                    format!("reduce argument must be either sum, prod, mean, amax or amin, got {other}");
                return Err(Error::runtime(text).with_near(other, ["sum", "prod", "mean", "amax", "amin"]));
            }
        })
    }

    /// What nothing sent stands for.
    fn neutral(self, x: &Tensor) -> Scalar {
        match (self, x.dtype().whole_range()) {
            (Combine::Prod, _) => Scalar::Int(1),
            (Combine::Amax, Some((least, _))) => Scalar::Int(least),
            (Combine::Amin, Some((_, most))) => Scalar::Int(most),
            (Combine::Amax, None) => Scalar::Float(f64::NEG_INFINITY),
            (Combine::Amin, None) => Scalar::Float(f64::INFINITY),
            (Combine::Sum | Combine::Mean, _) => Scalar::Int(0),
        }
    }
}

/// The elements of `source` that `at` sends to one place along `dim`, combined, and with `include_self` also with
/// what stands there.
pub(crate) fn scatter_reduce(
    x: &Tensor,
    dim: i64,
    at: &Tensor,
    source: &Tensor,
    how: Combine,
    include_self: bool,
) -> Result<Tensor> {
    let along = x.dim(dim)?;
    if how == Combine::Mean && x.dtype() == DType::Bool {
        return Err(not_of_bools("scatter_gather_tensor_cpu_reduce_mean"));
    }
    if x.rank() == 0 {
        let one = |t: &Tensor| reshape_to(t, &[t.numel()]);
        return reshape_to(&scatter_reduce(&one(x)?, 0, &one(at)?, &one(source)?, how, include_self)?, &[]);
    }
    check_scatter(x, dim, at, source.into())
        .map_err(|e| e.in_op("scatter_reduce", || vec![x.operand(), at.operand(), source.operand()]))?;
    let mode = match how {
        Combine::Sum | Combine::Mean => {
            let start = if include_self { x.clone() } else { scatter(x, dim, at, 0i64.into())? };
            let total = scatter_add(&start, dim, at, source)?;
            return if how == Combine::Sum { Ok(total) } else { mean(&total, dim, at, include_self) };
        }
        Combine::Prod => ScatterMode::Multiply,
        Combine::Amax => ScatterMode::Maximum,
        Combine::Amin => ScatterMode::Minimum,
    };
    if how == Combine::Prod {
        check_deterministic(x, "scatter_reduce_cuda_prod_")?;
    }
    let out = if include_self {
        x.copied(x.dtype(), "scatter_reduce")?
    } else {
        scatter(&x.detach(), dim, at, how.neutral(x).into())?
    };
    scatter_into(&out, dim, at, source, mode)?;
    let source = &before(source, at.shape())?;
    let rule = if how == Combine::Prod { &PRODUCT } else { &EXTREME };
    Ok(recorded(out, rule, &[x, source], |s, y| {
        [x, source].into_iter().for_each(|t| s.input(t));
        s.constant(Some(at));
        s.output(y);
        s.attribute((along, include_self));
    }))
}

/// PyTorch's error for its kernel of this name.
pub(super) fn not_of_bools(kernel: &str) -> Error {
    Error::new(Kind::NotImplementedError, format!("\"{kernel}\" not implemented for 'Bool'"))
        .with_hint("convert the tensor: `x.float()`, or `x.long()`")
}

/// A sum over what it was made of at each place; of whole numbers rounded down.
fn mean(total: &Tensor, dim: i64, at: &Tensor, include_self: bool) -> Result<Tensor> {
    let count = {
        let _off = no_grad();
        let of = |shape: &[usize], n: bool| {
            Tensor::full(shape, i64::from(n).into(), DType::Int64, &total.context(), "scatter_reduce")
        };
        // Where the index is the same for a whole row, so is the count.
        let (mut at, mut shape): (Tensor, Dims) = (at.clone(), total.shape().into());
        let along = total.dim(dim)?;
        for (d, size) in shape.iter_mut().enumerate() {
            let repeats = at.layout().strides().get(d) == Some(&0) && at.shape().get(d) == Some(&*size);
            if d != along && repeats && *size > 1 {
                (at, *size) = (slice(&at, d, 0, 1, 1)?, 1);
            }
        }
        let count = scatter_add(&of(&shape, include_self)?, dim, &at, &of(at.shape(), true)?)?;
        clamp(&count, Some(1i64.into()), None)?
    };
    let quotient = if total.dtype().is_float() { div(total, &count)? } else { floor_divide(total, &count)? };
    to_dtype(&quotient, total.dtype())
}

/// As much of a tensor as an index of this shape reads.
fn before(source: &Tensor, shape: &[usize]) -> Result<Tensor> {
    let mut near = source.clone();
    for (i, &size) in shape.iter().enumerate() {
        near = slice(&near, i, 0, size, 1)?;
    }
    Ok(near)
}

static EXTREME: Vjp = Vjp { name: "ScatterReduceBackward0", run: extreme_grad };

/// All that are the result at a place share its gradient, what stood there too.
fn extreme_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (x, source, at, y) = (s.tensor(0)?, s.tensor(1)?, s.tensor(2)?, s.tensor(3)?);
    let &(dim, include_self): &(usize, bool) = s.attribute()?;
    let along = dim as i64;
    let (own, sent, count) = {
        let _off = no_grad();
        let own = to_dtype(&eq(&x, &y)?, g.dtype())?;
        let sent = to_dtype(&eq(&source, &gather(&y, along, &at)?)?, g.dtype())?;
        let count = scatter_add(&own, along, &at, &sent)?;
        (own, sent, count)
    };
    let share = div(g, &count)?;
    let of_own = wanted(s, 0, || {
        let all = mul(&own, &share)?;
        if include_self { Ok(all) } else { scatter(&all, along, &at, 0i64.into()) }
    })?;
    let of_sent = wanted(s, 1, || mul(&sent, &gather(&share, along, &at)?))?;
    two(of_own, of_sent)
}

static PRODUCT: Vjp = Vjp { name: "ScatterReduceBackward0", run: product_grad };

/// Each factor has the product of the others, whatever of them is 0.
fn product_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (x, source, at, y) = (s.tensor(0)?, s.tensor(1)?, s.tensor(2)?, s.tensor(3)?);
    let &(dim, include_self): &(usize, bool) = s.attribute()?;
    let along = dim as i64;
    let of_own = wanted(s, 0, || {
        if !include_self {
            return scatter(g, along, &at, 0i64.into());
        }
        let ones = Tensor::full(x.shape(), 1i64.into(), x.dtype(), &x.context(), "scatter_reduce")?;
        mul(g, &scatter_reduce(&ones, along, &at, &source, Combine::Prod, true)?)
    })?;
    let of_sent = wanted(s, 1, || {
        if source.numel() == 0 {
            return Tensor::full(source.shape(), 0i64.into(), g.dtype(), &g.context(), "scatter_reduce");
        }
        if !x.device().is_cuda() && nonzero_all(&source)? {
            return div(&gather(&mul(g, &y)?, along, &at)?, &source);
        }
        let start = if include_self { mul(g, &x)? } else { g.clone() };
        if !grad_enabled() {
            return beside_zeros(&start, along, &at, &source);
        }
        mul(&gather(&start, along, &at)?, &others(dim, &at, &source)?)
    })?;
    two(of_own, of_sent)
}

fn nonzero_all(x: &Tensor) -> Result<bool> {
    let _off = no_grad();
    Ok(all(&ne(x, 0i64)?, None, false)?.item()?.as_f64() != 0.0)
}

/// The gradient of each factor where some are 0, without its own gradient: of one zero at a place the product of the
/// others, of several none.
fn beside_zeros(start: &Tensor, along: i64, at: &Tensor, source: &Tensor) -> Result<Tensor> {
    let is_zero = eq(source, 0i64)?;
    let full =
        |n: i64| Tensor::full(start.shape(), n.into(), source.dtype(), &source.context(), "scatter_reduce");
    let zeros = scatter_add(&full(0)?, along, at, &to_dtype(&is_zero, source.dtype())?)?;
    let factors = where_(&is_zero, cast(Scalar::Int(1), source.dtype()).into(), source.into())?;
    let product = full(1)?;
    scatter_into(&product, along, at, &factors, ScatterMode::Multiply)?;
    let whole = gather(&mul(start, &product)?, along, at)?;
    // A zero counts itself among those at its place.
    let others = sub(&gather(&zeros, along, at)?, &to_dtype(&is_zero, source.dtype())?)?;
    where_(&eq(&others, 0i64)?, (&div(&whole, &factors)?).into(), cast(Scalar::Int(0), source.dtype()).into())
}

/// For each of `source` the product of the others that go to its place: of those before it and of those behind it, once
/// they lie sorted by their places.
fn others(dim: usize, at: &Tensor, source: &Tensor) -> Result<Tensor> {
    let along = dim as i64;
    let order = argsort(at, along, false)?;
    let (places, sorted) = (gather(at, along, &order)?, gather(source, along, &order)?);
    let turned = |t: &Tensor| flip(t, &[along]);
    let before = products_before(dim, &places, &sorted)?;
    let behind = turned(&products_before(dim, &turned(&places)?, &turned(&sorted)?)?)?;
    let product = mul(&before, &behind)?;
    let room = Tensor::full(at.shape(), 0i64.into(), source.dtype(), &source.context(), "scatter_reduce")?;
    scatter(&room, along, &order, (&product).into())
}

/// The product of the values before each that have its place, of values sorted by their places: combined in doubling
/// steps.
fn products_before(dim: usize, places: &Tensor, values: &Tensor) -> Result<Tensor> {
    let size = places.size(dim as i64)?;
    let earlier = |t: &Tensor, by: usize| slice(t, dim, 0, size - by, 1);
    let later = |t: &Tensor, by: usize| slice(t, dim, by, size - by, 1);
    let one: Operand = cast(Scalar::Int(1), values.dtype()).into();
    // What goes elsewhere counts as 1: its NaN in no gradient.
    let alike = |t: &Tensor, by: usize| {
        where_(&eq(&later(places, by)?, &earlier(places, by)?)?, (&earlier(t, by)?).into(), one)
    };
    let first = slice(values, dim, 0, 1, 1)?;
    let ones = Tensor::full(first.shape(), 1i64.into(), values.dtype(), &values.context(), "scatter_reduce")?;
    if size == 1 {
        return Ok(ones);
    }
    let mut products = cat(&[&ones, &alike(values, 1)?], dim as i64)?;
    let mut width = 1;
    while width < size {
        let rest = mul(&later(&products, width)?, &alike(&products, width)?)?;
        products = cat(&[&slice(&products, dim, 0, width, 1)?, &rest], dim as i64)?;
        width *= 2;
    }
    Ok(products)
}

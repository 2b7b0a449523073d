//! Elements that are sent to one place, combined.

use crate::base::{DType, Dims, Error, Result, Scalar};
use crate::op::core::convert::to_dtype;
use crate::op::core::promote::cast;
use crate::op::core::record::{check_deterministic, no_grad, recorded, two, wanted};
use crate::op::elementwise::arithmetic::{add, div, mul};
use crate::op::elementwise::binary::{maximum, minimum};
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::comparison::eq;
use crate::op::gather::along_dim::{gather, scatter, scatter_add};
use crate::op::shape::join::cat;
use crate::op::shape::part::slice;
use crate::op::shape::view::reshape_to;
use crate::op::sorting::sort::argsort;
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp};

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
            "amax" => Combine::Amax,
            "amin" => Combine::Amin,
            other => {
                return Err(Error::runtime(format!(
                    "reduce argument must be either sum, prod, mean, amax or amin, got {other}"
                )));
            }
        })
    }

    fn pair(self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        match self {
            Combine::Sum | Combine::Mean => add(a, b),
            Combine::Prod => mul(a, b),
            Combine::Amax => maximum(a, b),
            Combine::Amin => minimum(a, b),
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
    if x.rank() == 0 {
        let one = |t: &Tensor| reshape_to(t, &[t.numel()]);
        return reshape_to(&scatter_reduce(&one(x)?, 0, &one(at)?, &one(source)?, how, include_self)?, &[]);
    }
    // The checks are those of `scatter_add`; an index without elements changes nothing.
    let zeros = Tensor::full(x.shape(), 0i64.into(), x.dtype(), &x.context(), "scatter_reduce")?;
    let total = scatter_add(&zeros, dim, at, source)?;
    if at.numel() == 0 {
        return crate::op::core::convert::cloned(x);
    }
    let count = {
        let _off = no_grad();
        let ones = Tensor::full(at.shape(), 1i64.into(), DType::Int64, &x.context(), "scatter_reduce")?;
        let none = Tensor::full(x.shape(), 0i64.into(), DType::Int64, &x.context(), "scatter_reduce")?;
        scatter_add(&none, dim, at, &ones)?
    };
    if how == Combine::Prod {
        check_deterministic(x, "scatter_reduce_cuda_prod_")?;
    }
    let untouched = eq(&count, 0i64)?;
    let combined = match how {
        Combine::Sum | Combine::Mean => total,
        Combine::Prod => by_groups(x, along, at, source, how)?,
        Combine::Amax | Combine::Amin => {
            let mut near = source.clone();
            for (i, &size) in at.shape().iter().enumerate() {
                near = slice(&near, i, 0, size, 1)?;
            }
            let source = &near;
            let out = {
                let _off = no_grad();
                let combined = by_groups(x, along, at, source, how)?;
                let together = if include_self { how.pair(x, &combined)? } else { combined };
                where_(&untouched, x.into(), (&together).into())?
            };
            return Ok(recorded(out, &EXTREME, &[x, source], |s, y| {
                [x, source].into_iter().for_each(|t| s.input(t));
                s.constant(Some(at));
                s.output(y);
                s.attribute((along, include_self));
            }));
        }
    };
    let together = if include_self { how.pair(x, &combined)? } else { combined };
    let together = match how {
        Combine::Mean => {
            let count = add(&count, i64::from(include_self))?;
            let count = crate::op::elementwise::clamp::clamp(&count, Some(1i64.into()), None)?;
            let quotient = if x.dtype().is_float() {
                div(&together, &count)?
            } else {
                crate::op::elementwise::arithmetic::floor_divide(&together, &count)?
            };
            crate::op::core::convert::to_dtype(&quotient, x.dtype())?
        }
        _ => together,
    };
    where_(&untouched, x.into(), (&together).into())
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

/// Sorts what goes to one place together, combines each group by doubling steps, and writes each group's last
/// element to its place; the others go to a spare slot.
fn by_groups(x: &Tensor, dim: usize, at: &Tensor, source: &Tensor, how: Combine) -> Result<Tensor> {
    let along = dim as i64;
    let mut source = source.clone();
    for (i, &size) in at.shape().iter().enumerate() {
        source = slice(&source, i, 0, size, 1)?;
    }
    let order = argsort(at, along, false)?;
    let (at, mut values) = (gather(at, along, &order)?, gather(&source, along, &order)?);
    let size = at.size(along)?;
    let mut width = 1;
    while width < size {
        let later = |t: &Tensor| slice(t, dim, width, size - width, 1);
        let earlier = |t: &Tensor| slice(t, dim, 0, size - width, 1);
        let same = eq(&later(&at)?, &earlier(&at)?)?;
        let new = later(&values)?;
        let rest = if how == Combine::Prod {
            // What goes elsewhere counts as 1: its NaN in no gradient.
            mul(
                &new,
                &where_(&same, (&earlier(&values)?).into(), cast(Scalar::Int(1), values.dtype()).into())?,
            )?
        } else {
            let joined = how.pair(&new, &earlier(&values)?)?;
            where_(&same, (&joined).into(), (&new).into())?
        };
        values = cat(&[&slice(&values, dim, 0, width, 1)?, &rest], along)?;
        width *= 2;
    }
    let spare = x.size(along)? as i64;
    let ends = {
        let _off = no_grad();
        let next = slice(&at, dim, 1, size - 1, 1)?;
        let inner = where_(
            &eq(&next, &slice(&at, dim, 0, size - 1, 1)?)?,
            spare.into(),
            (&slice(&at, dim, 0, size - 1, 1)?).into(),
        )?;
        cat(&[&inner, &slice(&at, dim, size - 1, 1, 1)?], along)?
    };
    let mut shape: Dims = x.shape().into();
    if let Some(slot) = shape.get_mut(dim) {
        *slot += 1;
    }
    let room = Tensor::full(&shape, 0i64.into(), x.dtype(), &x.context(), "scatter_reduce")?;
    slice(&scatter(&room, along, &ends, (&values).into())?, dim, 0, spare as usize, 1)
}

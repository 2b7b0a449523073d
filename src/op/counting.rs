//! Counting and looking up: distinct values, histograms, and places in a sorted row.

use crate::base::{DType, Dims, Error, Kind, Result, memory};
use crate::device::poll;
use crate::tensor::Tensor;

use super::binary::{add, div, floor_divide, ge, gt, le, logical_and, lt, minimum, mul, sub};
use super::convert::to_dtype;
use super::joins::cat;
use super::masks::{masked_select, positions};
use super::movement::{movedim, reshape_to, slice};
use super::order::run_starts;
use super::record::no_grad;
use super::reduce::{any, max_all, min_all};
use super::scan::cumsum;
use super::scatter::{gather, index_add, index_select, scatter};
use super::select::{only_floats, where_};
use super::sort::sort;
use super::unary::{floor, logical_not};

/// The distinct values of a tensor.
pub struct Distinct {
    pub values: Tensor,
    /// For each element the place of its value, in the tensor's shape.
    pub inverse: Tensor,
    pub counts: Tensor,
}

/// The distinct values in ascending order.
pub fn unique(x: &Tensor) -> Result<Distinct> {
    let _off = no_grad();
    let flat = reshape_to(&x.detach(), &[x.numel()])?;
    let plain = if x.dtype() == DType::Bool { to_dtype(&flat, DType::UInt8)? } else { flat };
    let (sorted, order) = sort(&plain, 0, false)?;
    let runs = Runs::of(&sorted)?;
    let values = to_dtype(&masked_select(&sorted, &runs.starts)?, x.dtype())?;
    let inverse = scatter(&order, 0, &order, (&runs.number).into())?;
    Ok(Distinct { values, inverse: reshape_to(&inverse, x.shape())?, counts: runs.lengths(x.numel())? })
}

/// The values without those that repeat the one before, in their order.
pub fn unique_consecutive(x: &Tensor) -> Result<Distinct> {
    let _off = no_grad();
    let flat = reshape_to(&x.detach(), &[x.numel()])?;
    let runs = Runs::of(&flat)?;
    let values = masked_select(&flat, &runs.starts)?;
    Ok(Distinct { values, inverse: reshape_to(&runs.number, x.shape())?, counts: runs.lengths(x.numel())? })
}

/// The distinct slices along a dimension in ascending order, which their first different elements decide; or, where
/// only neighbours are `consecutive`, in their own. Places and counts are vectors.
pub fn unique_along(x: &Tensor, dim: i64, consecutive: bool) -> Result<Distinct> {
    let _off = no_grad();
    if x.rank() == 0 {
        let text = format!("Dimension specified as {dim} but tensor has no dimensions");
        return Err(Error::new(Kind::IndexError, text));
    }
    let at = x.dim(dim)?;
    let empty = x.shape().iter().filter(|&&d| d == 0).count();
    let size = x.shape().get(at).copied().unwrap_or(0);
    if empty > 1 {
        let text = "Number of zero sized dimensions is more than one, so unique cannot be applied ";
        return Err(Error::runtime(text));
    }
    if empty == 1 && size > 0 {
        let text = "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied";
        return Err(Error::runtime(text));
    }
    let x = x.detach();
    let first = movedim(&x, &[dim], &[0])?;
    let width: usize = first.shape().iter().skip(1).product();
    let rows = reshape_to(&first, &[size, width])?;
    let rows = if x.dtype() == DType::Bool { to_dtype(&rows, DType::UInt8)? } else { rows };
    let order = if consecutive { None } else { Some(ascending(&rows)?) };
    let sorted = match &order {
        Some(order) => index_select(&rows, 0, order)?,
        None => rows,
    };
    let starts = match size {
        0 => Tensor::empty(&[0], DType::Bool, &x.context(), "unique")?,
        _ => any(&run_starts(&sorted, 0)?, Some(&[1]), false)?,
    };
    let runs = Runs::from(starts)?;
    let places = positions(&runs.starts)?;
    let (places, inverse) = match &order {
        Some(order) => (index_select(order, 0, &places)?, scatter(order, 0, order, (&runs.number).into())?),
        None => (places, runs.number.clone()),
    };
    Ok(Distinct { values: index_select(&x, dim, &places)?, inverse, counts: runs.lengths(size)? })
}

/// The places of the rows of a matrix in ascending order: stable sorts by each column, the last first.
fn ascending(rows: &Tensor) -> Result<Tensor> {
    let mut order: Option<Tensor> = None;
    for column in (0..rows.size(1)? as i64).rev() {
        let values = super::movement::select(rows, 1, column)?;
        order = Some(match order {
            None => sort(&values, 0, false)?.1,
            Some(before) => {
                let (_, next) = sort(&index_select(&values, 0, &before)?, 0, false)?;
                index_select(&before, 0, &next)?
            }
        });
    }
    order.map_or_else(|| Tensor::empty(&[0], DType::Int64, &rows.context(), "unique"), Ok)
}

/// Runs of equal neighbours.
struct Runs {
    starts: Tensor,
    /// For each place the number of its run.
    number: Tensor,
}

impl Runs {
    fn of(row: &Tensor) -> Result<Runs> {
        Runs::from(run_starts(row, 0)?)
    }

    fn from(starts: Tensor) -> Result<Runs> {
        let number = sub(&cumsum(&starts, 0, None)?, 1i64)?;
        Ok(Runs { starts, number })
    }

    fn lengths(&self, total: usize) -> Result<Tensor> {
        let begins = positions(&self.starts)?;
        let runs = begins.numel();
        let end = Tensor::full(&[1], (total as i64).into(), DType::Int64, &begins.context(), "unique")?;
        let bounds = cat(&[&begins, &end], 0)?;
        sub(&slice(&bounds, 0, 1, runs, 1)?, &begins)
    }
}

/// How often each number from 0 on occurs, or what its weights add up to.
pub fn bincount(x: &Tensor, weights: Option<&Tensor>, least: i64) -> Result<Tensor> {
    if least < 0 {
        return Err(Error::runtime("minlength should be >= 0"));
    }
    if x.dtype().is_float() || x.dtype() == DType::Bool {
        let text = format!("\"bincount_cpu\" not implemented for '{}'", x.dtype().type_name());
        return Err(Error::new(Kind::NotImplementedError, text)
            .with_hint("it counts whole numbers: `.long()` makes them"));
    }
    let _off = no_grad();
    if x.rank() != 1 || (x.numel() > 0 && min_all(x)?.item()?.as_i64() < 0) {
        return Err(Error::runtime("bincount only supports 1-d non-negative integral inputs."));
    }
    if let Some(w) = weights.filter(|w| w.shape() != x.shape()) {
        return Err(Error::runtime("weights should be 1-d and have the same length as input")
            .with_hint(format!("they have shapes {:?} and {:?}", w.shape(), x.shape())));
    }
    let most = if x.numel() == 0 { 0 } else { max_all(x)?.item()?.as_i64().saturating_add(1) };
    let size = [usize::try_from(most.max(least)).unwrap_or(0)];
    let (dtype, source) = match weights {
        None => {
            let ones = Tensor::full(x.shape(), 1i64.into(), DType::Int64, &x.context(), "bincount")?;
            (DType::Int64, ones)
        }
        Some(w) => {
            let dtype = if w.dtype() == DType::Float32 { DType::Float32 } else { DType::Float64 };
            (dtype, to_dtype(w, dtype)?)
        }
    };
    let zeros = Tensor::full(&size, 0i64.into(), dtype, &x.context(), "bincount")?;
    index_add(&zeros, 0, &to_dtype(x, DType::Int64)?, &source, 1.0)
}

/// How many elements lie in each of `bins` equal pieces of `low..=high`; equal bounds mean those of the data.
pub fn histc(x: &Tensor, bins: i64, low: f64, high: f64) -> Result<Tensor> {
    only_floats(x.dtype(), "histogram_cpu")?;
    if bins <= 0 {
        return Err(Error::runtime("torch.histc(): bins must be > 0"));
    }
    let _off = no_grad();
    let x = reshape_to(&x.detach(), &[x.numel()])?;
    let (mut low, mut high) = (low, high);
    if low == high && x.numel() > 0 {
        (low, high) = (min_all(&x)?.item()?.as_f64(), max_all(&x)?.item()?.as_f64());
    }
    if low == high {
        (low, high) = (low - 1.0, high + 1.0);
    }
    if !(low.is_finite() && high.is_finite()) {
        return Err(Error::runtime(format!("torch.histc: range of [{low}, {high}] is not finite")));
    }
    if low > high {
        return Err(Error::runtime("torch.histc: max must be larger than min"));
    }
    let zeros = Tensor::full(&[bins as usize], 0i64.into(), x.dtype(), &x.context(), "histc")?;
    let inside = logical_and(&ge(&x, low)?, &le(&x, high)?)?;
    let kept = masked_select(&x, &inside)?;
    // Half types are too coarse to tell the pieces apart.
    let kept = if x.dtype().size() == 2 { to_dtype(&kept, DType::Float32)? } else { kept };
    let place = floor(&div(&mul(&sub(&kept, low)?, bins as f64)?, high - low)?)?;
    let place = minimum(&to_dtype(&place, DType::Int64)?, bins - 1)?;
    let ones = Tensor::full(place.shape(), 1i64.into(), x.dtype(), &x.context(), "histc")?;
    index_add(&zeros, 0, &place, &ones, 1.0)
}

/// Where each of `values` would be put into the ascending rows of `edges`: before its equals, or behind them
/// where `right`. One row serves values of any shape; several rows pair up with the values' rows.
pub fn searchsorted(edges: &Tensor, values: &Tensor, right: bool, narrow: bool) -> Result<Tensor> {
    let _off = no_grad();
    let same_rows = edges.rank() == values.rank()
        && edges.shape().split_last().map(|(_, rows)| rows)
            == values.shape().split_last().map(|(_, rows)| rows);
    if edges.rank() == 0 {
        return Err(Error::runtime(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1",
        ));
    }
    if edges.rank() > 1 && !same_rows {
        return Err(Error::runtime(format!(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries \
             tensor and input value tensor must match, but we got boundaries tensor {:?} and input value tensor {:?}",
            edges.shape(),
            values.shape()
        )));
    }
    let edges = to_dtype(&edges.detach(), edges.dtype().promote(values.dtype()))?;
    let size = edges.size(-1)?;
    let out = search(&edges, values, size, right)?;
    if narrow { to_dtype(&out, DType::Int32) } else { Ok(out) }
}

/// A binary search for all values at once: the answer lies in `low..=high` all the time.
fn search(edges: &Tensor, values: &Tensor, size: usize, right: bool) -> Result<Tensor> {
    let full =
        |n: i64| Tensor::full(values.shape(), n.into(), DType::Int64, &values.context(), "searchsorted");
    let (mut low, mut high) = (full(0)?, full(size as i64)?);
    if size == 0 || values.numel() == 0 {
        return Ok(low);
    }
    for _ in 0..=size.ilog2() {
        let middle = floor_divide(&add(&low, &high)?, 2i64)?;
        let at = minimum(&middle, size as i64 - 1)?;
        let edge = if edges.rank() == 1 {
            reshape_to(&index_select(edges, 0, &reshape_to(&at, &[at.numel()])?)?, values.shape())?
        } else {
            gather(edges, -1, &at)?
        };
        // What NaN is compared with is never found too large: it goes behind everything.
        let beyond = logical_not(&if right { gt(&edge, values)? } else { ge(&edge, values)? })?;
        let open = logical_and(&beyond, &lt(&low, &high)?)?;
        let next = add(&middle, 1i64)?;
        high = where_(&open, (&high).into(), (&minimum(&middle, &high)?).into())?;
        low = where_(&open, (&next).into(), (&low).into())?;
    }
    Ok(low)
}

/// Each choice of `r` elements of a vector, in order; with replacement an element may come again.
pub fn combinations(x: &Tensor, r: i64, with_replacement: bool) -> Result<Tensor> {
    if x.rank() != 1 {
        return Err(Error::runtime(format!("Expect a 1D vector, but got shape {:?}", x.shape())));
    }
    if r < 0 {
        return Err(Error::runtime(format!("Expect a non-negative number, but got {r}")));
    }
    if r == 0 {
        return Tensor::empty(&[0], x.dtype(), &x.context(), "combinations");
    }
    let (n, r) = (x.numel(), r as usize);
    // Without so many elements there is no choice.
    if r > n && !(with_replacement && n > 0) {
        return Tensor::empty(&[0, r], x.dtype(), &x.context(), "combinations");
    }
    let mut rows: Vec<i64> = Vec::new();
    let mut count = 0usize;
    let mut at = poll::listed((0..r).map(|i| if with_replacement { 0 } else { i }))?;
    let most = |i: usize| if with_replacement { n.checked_sub(1) } else { (n + i).checked_sub(r) };
    let mut open = (0..r).all(|i| most(i).is_some());
    while open {
        poll::at(count)?;
        for &i in &at {
            memory::push(&mut rows, i as i64)?;
        }
        count += 1;
        if count > 1 << 24 {
            return Err(Error::runtime("combinations: there are more than 16777216 of them"));
        }
        let Some(i) = (0..r).rev().find(|&i| at.get(i).copied() < most(i)) else {
            open = false;
            continue;
        };
        let mut next = at.get(i).map_or(0, |v| v + 1);
        for slot in at.iter_mut().skip(i) {
            *slot = next;
            next += usize::from(!with_replacement);
        }
    }
    let places = Tensor::from_i64(&rows, &[rows.len()])?.moved(&x.context(), false, "combinations")?;
    let shape: Dims = [count, r].into_iter().collect();
    reshape_to(&index_select(x, 0, &places)?, &shape)
}

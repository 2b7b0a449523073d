//! Distinct values and how often they occur.

use crate::base::{DType, Error, Kind, Result};
use crate::op::core::args::{to_list, to_value};
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{DefaultValue as D, Family, Gradient, OpDef};
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::promote::only_floats;
use crate::op::core::record::{check_deterministic, no_grad};
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::{add, div, mul, sub};
use crate::op::elementwise::binary::minimum;
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::comparison::{ge, le, logical_and};
use crate::op::elementwise::predicates::isnan;
use crate::op::elementwise::rounding::floor;
use crate::op::gather::along_dim::scatter;
use crate::op::gather::select::{index_add, index_select};
use crate::op::reduce::scan::cumsum;
use crate::op::reduce::sums::{all, any, max_all, min_all};
use crate::op::shape::join::cat;
use crate::op::shape::part::slice;
use crate::op::shape::permute::movedim;
use crate::op::shape::view::{reshape_to, unsqueeze};
use crate::op::sorting::quantile::run_starts;
use crate::op::sorting::sort::{sort, sort_values};
use crate::tensor::Tensor;

use super::masks::{masked_select, positions};

/// The distinct values of a tensor.
struct Distinct {
    values: Tensor,
    /// For each element the place of its value, in the tensor's shape, where it is asked for.
    inverse: Option<Tensor>,
    counts: Option<Tensor>,
}

/// The distinct values in ascending order.
fn unique(x: &Tensor, asked: &AskedParams) -> Result<Distinct> {
    let _off = no_grad();
    let flat = reshape_to(&x.detach(), &[x.numel()])?;
    let plain = if x.dtype() == DType::Bool { to_dtype(&flat, DType::UInt8)? } else { flat };
    let (sorted, order) = if asked.return_inverse {
        let (sorted, order) = sort(&plain, 0, false)?;
        (sorted, Some(order))
    } else {
        (sort_values(&plain, 0, "sort")?, None)
    };
    let runs = Runs::of(&sorted)?;
    let values = to_dtype(&masked_select(&sorted, &runs.starts)?, x.dtype())?;
    let places =
        |order: Tensor| reshape_to(&scatter(&order, 0, &order, (&runs.number()?).into())?, x.shape());
    let inverse = order.map(places).transpose()?;
    let counts = asked.return_counts.then(|| runs.lengths(x.numel())).transpose()?;
    Ok(Distinct { values, inverse, counts })
}

/// The values without those that repeat the one before, in their order.
fn unique_consecutive(x: &Tensor, asked: &AskedParams) -> Result<Distinct> {
    let _off = no_grad();
    let flat = reshape_to(&x.detach(), &[x.numel()])?;
    let runs = Runs::of(&flat)?;
    let values = masked_select(&flat, &runs.starts)?;
    runs.found(asked, values, || reshape_to(&runs.number()?, x.shape()), x.numel())
}

/// The distinct slices along a dimension in ascending order, which their first different elements decide; or, where
/// only neighbours are `consecutive`, in their own. Places and counts are vectors.
fn unique_along(x: &Tensor, dim: i64, consecutive: bool, asked: &AskedParams) -> Result<Distinct> {
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
    let runs = Runs { starts };
    let places = positions(&runs.starts)?;
    let places = match &order {
        Some(order) => index_select(order, 0, &places)?,
        None => places,
    };
    let inverse = || match &order {
        Some(order) => scatter(order, 0, order, (&runs.number()?).into()),
        None => runs.number(),
    };
    runs.found(asked, movedim(&index_select(&first, 0, &places)?, &[0], &[dim])?, inverse, size)
}

/// Columns that are looked at first; rows that do not differ in them are told apart by twice as many more.
const FIRST: usize = 8;

/// Elements of the columns that are ranked at once, at most, but of a few columns at least.
const RANKED: usize = 1 << 20;
const FEWEST: usize = 4;

/// The places of the rows of a matrix in ascending order. Its first columns decide on most rows; others are looked at where
/// those leave some equal.
fn ascending(rows: &Tensor) -> Result<Tensor> {
    let (size, width) = (rows.size(0)?, rows.size(1)?);
    let most = (RANKED / size.max(1)).max(FEWEST);
    let (mut start, mut count, mut before) = (0, FIRST.min(most), None);
    while start < width {
        let end = width.min(start + count);
        let columns = slice(rows, 1, start, end - start, 1)?;
        let keys = match &before {
            None => columns,
            Some(before) => cat(&[before, &ranks(&columns)?], 1)?,
        };
        let keys = joined(keys)?;
        let (sorted, order) = sort(&keys, 0, false)?;
        if end == width || all(&run_starts(&sorted, 0)?, None, false)?.decided("unique")?.as_i64() != 0 {
            return Ok(order);
        }
        before = Some(unsqueeze(&ranked(&sorted, &order)?, 1)?);
        (start, count) = (end, most.min(count * 2));
    }
    Tensor::empty(&[0], DType::Int64, &rows.context(), "unique")
}

/// A key for each row of a matrix, in the order of the rows. All columns are ranked at once, and the ranks of two
/// neighbours make a number of both, until one column is left.
fn joined(mut keys: Tensor) -> Result<Tensor> {
    let size = keys.size(0)? as i64;
    loop {
        let width = keys.size(1)?;
        if width == 1 {
            return crate::op::shape::part::select(&keys, 1, 0);
        }
        let ranks = ranks(&keys)?;
        let half = |first: usize| slice(&ranks, 1, first, width / 2, 2);
        let pairs = add(&mul(&half(0)?, size)?, &half(1)?)?;
        keys = match width % 2 {
            0 => pairs,
            _ => cat(&[&pairs, &slice(&ranks, 1, width - 1, 1, 1)?], 1)?,
        };
    }
}

/// For each element of a matrix how many distinct smaller values its column has; NaN is one value, the largest.
fn ranks(keys: &Tensor) -> Result<Tensor> {
    let (sorted, order) = sort(keys, 0, false)?;
    ranked(&sorted, &order)
}

/// The same of keys that are sorted, with the places that they come from.
fn ranked(sorted: &Tensor, order: &Tensor) -> Result<Tensor> {
    let mut starts = run_starts(sorted, 0)?;
    if sorted.dtype().is_float() {
        let odd = isnan(sorted)?;
        starts = where_(&odd, (&run_starts(&odd, 0)?).into(), (&starts).into())?;
    }
    scatter(order, 0, order, (&sub(&cumsum(&starts, 0, None)?, 1i64)?).into())
}

/// Runs of equal neighbours.
struct Runs {
    starts: Tensor,
}

impl Runs {
    fn of(row: &Tensor) -> Result<Runs> {
        Ok(Runs { starts: run_starts(row, 0)? })
    }

    /// For each place the number of its run.
    fn number(&self) -> Result<Tensor> {
        sub(&cumsum(&self.starts, 0, None)?, 1i64)
    }

    /// The values with what is asked for beside them, of `total` elements.
    fn found(
        &self,
        asked: &AskedParams,
        values: Tensor,
        inverse: impl Fn() -> Result<Tensor>,
        total: usize,
    ) -> Result<Distinct> {
        let inverse = asked.return_inverse.then(inverse).transpose()?;
        let counts = asked.return_counts.then(|| self.lengths(total)).transpose()?;
        Ok(Distinct { values, inverse, counts })
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
    if weights.is_some() {
        check_deterministic(x, "_bincount_cuda")?;
    }
    let most = if x.numel() == 0 { 0 } else { max_all(x)?.decided("bincount")?.as_i64().saturating_add(1) };
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
    check_deterministic(x, "_histc_cuda with floating point input")?;
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

/// Why counts and places have no gradient.
pub const COUNTED: Gradient = Gradient::NoGrad("the result is a count or a place");

params! {
    UniqueParams {
        input: kind::Tensor, "the tensor it is computed of";
        sorted: kind::Bool = true, "as in PyTorch; the values are sorted either way";
        ..asked: AskedParams;
    }
}

params! {
    UniqueConsecutiveParams {
        input: kind::Tensor, "the tensor it is computed of";
        ..asked: AskedParams;
    }
}

params! {
    /// What is asked for beside the values.
    group AskedParams {
        return_inverse: kind::Bool = false, "gives the place of each element's value too";
        return_counts: kind::Bool = false, "gives how often each value occurs too";
        dim: Maybe<kind::Dim>, "the dimension whose slices are compared; single elements where none is named";
    }
}

params! {
    BincountParams {
        input: kind::Tensor, "the tensor it is computed of";
        weights: Maybe<kind::Tensor>, "what each element counts, instead of 1";
        minlength: kind::Int = 0, "how many counts there are at least";
    }
}

params! {
    HistcParams {
        input: kind::Tensor, "the tensor it is computed of";
        bins: kind::Int = 100, "how many equal intervals";
        min: kind::Float => D::Int(0), "where the first interval begins";
        max: kind::Float => D::Int(0), "where the last interval ends; the range of the data where equal to `min`";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "unique",
        Family::Index,
        "The distinct values, in ascending order.",
        UniqueParams::LIST,
        by_name!(UniqueParams, |a| {
            // Without it the order is left open, and this is one.
            let _ = a.sorted;
            match a.asked.dim {
            Some(dim) => distinct(unique_along(a.input, dim, false, &a.asked)?),
            None => distinct(unique(a.input, &a.asked)?),
        }
        }),
    )
    .details(
        "With `return_inverse` or `return_counts` an array: the values, for each element the place of its value, and \
         how often each value occurs. `dim` asks for distinct slices along it.",
    )
    .shapes("any -> values (k), places of the input's shape, counts (k); with `dim` (…, k, …), (n), (k)")
    .example("tensor([3, 1, 3, 2]).unique()", "tensor([1, 2, 3])")
    .gradient(COUNTED),
    OpDef::call(
        "unique_consecutive",
        Family::Index,
        "The values without those that repeat the one before.",
        UniqueConsecutiveParams::LIST,
        by_name!(UniqueConsecutiveParams, |a| match a.asked.dim {
            Some(dim) => distinct(unique_along(a.input, dim, true, &a.asked)?),
            None => distinct(unique_consecutive(a.input, &a.asked)?),
        }),
    )
    .details("`dim` leaves out slices that repeat the one before along it.")
    .shapes("any -> values (k), places of the input's shape, counts (k); with `dim` (…, k, …), (n), (k)")
    .example("tensor([1, 1, 2, 1]).unique_consecutive()", "tensor([1, 2, 1])")
    .gradient(COUNTED),
    OpDef::call("bincount", Family::Index, "How often each number from 0 on occurs, or what its weights add up to.", BincountParams::LIST, by_name!(BincountParams, |a| to_value(bincount(a.input, a.weights, a.minlength))))
    .shapes("(n) -> (largest number + 1), or (minlength) where that is more")
    .errors(&[
        "RuntimeError: a number is negative, or the input no vector",
        "NotImplementedError: the tensor holds floats or bools",
    ])
    .example("tensor([0, 2, 2]).bincount()", "tensor([1, 0, 2])")
    .gradient(COUNTED),
    OpDef::call("histc", Family::Index, "How many elements lie in each of some equal pieces of a range.", HistcParams::LIST, by_name!(HistcParams, |a| to_value(histc(a.input, a.bins, a.min, a.max))))
    .details("Equal bounds stand for the smallest and the largest element.")
    .shapes("any -> (bins)")
    .errors(&["RuntimeError: `bins` is not above 0, or `max` below `min`", shapes::NO_FLOAT])
    .example("tensor([1.0, 2.0, 1.0]).histc(4, 0, 3)", "tensor([0., 2., 1., 0.])")
    .gradient(COUNTED),
];

/// The values alone, or an array where more was asked for.
fn distinct(found: Distinct) -> Result<Value> {
    if found.inverse.is_none() && found.counts.is_none() {
        return to_value(Ok(found.values));
    }
    to_list(Ok([Some(found.values), found.inverse, found.counts].into_iter().flatten().collect()))
}

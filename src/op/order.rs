//! Order statistics: medians, quantiles, modes, and running extremes.

use crate::base::dtype::Category;
use crate::base::{DType, Error, Kind, Result, memory};
use crate::tensor::Tensor;

use super::binary::{
    add, div, eq, floor_divide, ge, le, logaddexp, logical_and, logical_or, logical_xor, lt, maximum,
    minimum, mul, ne, sub,
};
use super::convert::to_dtype;
use super::def::Operand;
use super::extremum::{max_dim, min_dim};
use super::joins::{cat, stack};
use super::movement::{reshape_to, select, slice, unsqueeze};
use super::record::no_grad;
use super::reduce::{max_all, min_all, sum};
use super::scatter::gather;
use super::select::{lerp, masked_fill, only_floats, where_};
use super::sort::{argsort, sort};
use super::unary::{ceil, floor, isnan, logical_not, round, scale};

/// Values and where they were.
pub type ValuesIndices = (Tensor, Tensor);

/// The middle element along `dim`, the lower of two; NaN where there is one.
pub fn median(x: &Tensor, dim: i64, keepdim: bool) -> Result<ValuesIndices> {
    let (line, dim) = lined(x, dim, "median")?;
    let k = {
        let _off = no_grad();
        let size = line.size(dim)? as i64;
        let numbers = numbers(&line, dim)?;
        // NaN sorts behind the numbers: the first of them stands where the numbers end.
        let short = lt(&numbers, size)?;
        where_(&short, (&numbers).into(), ((size - 1) / 2).into())?
    };
    ranked(x, &line, dim, &k, keepdim)
}

/// The middle of the elements along `dim` that are numbers.
pub fn nanmedian(x: &Tensor, dim: i64, keepdim: bool) -> Result<ValuesIndices> {
    let (line, dim) = lined(x, dim, "nanmedian")?;
    let k = {
        let _off = no_grad();
        maximum(&floor_divide(&sub(&numbers(&line, dim)?, 1i64)?, 2i64)?, 0i64)?
    };
    ranked(x, &line, dim, &k, keepdim)
}

/// The median of all elements; of none NaN, or the smallest int32 or int64.
pub fn median_all(x: &Tensor, skip_nan: bool) -> Result<Tensor> {
    let flat = reshape_to(x, &[x.numel()])?;
    if x.numel() == 0 {
        // What PyTorch's NaN becomes in an integer.
        let none = match x.dtype() {
            DType::Int64 => i64::MIN.into(),
            DType::Int32 => i64::from(i32::MIN).into(),
            dtype if dtype.is_float() => f64::NAN.into(),
            DType::Bool => true.into(),
            _ => 0i64.into(),
        };
        return Tensor::full(&[], none, x.dtype(), &x.context(), "median");
    }
    let found = if skip_nan { nanmedian(&flat, 0, false) } else { median(&flat, 0, false) };
    found.map(|(values, _)| values)
}

/// The `k`-th smallest element along `dim`, counted from 1.
pub fn kthvalue(x: &Tensor, k: i64, dim: i64, keepdim: bool) -> Result<ValuesIndices> {
    let (line, dim) = lined(x, dim, "kthvalue")?;
    if k < 1 || k > line.size(dim)? as i64 {
        return Err(Error::runtime(format!(
            "kthvalue(): selected number k out of range for dimension {dim}"
        ))
        .with_hint(format!("`k` counts from 1 to the size of the dimension, {}", line.size(dim)?)));
    }
    let mut kept: crate::base::Dims = line.shape().into();
    if let Some(size) = kept.get_mut(dim as usize) {
        *size = 1;
    }
    let k = Tensor::full(&kept, (k - 1).into(), DType::Int64, &x.context(), "kthvalue")?;
    ranked(x, &line, dim, &k, keepdim)
}

/// The most frequent element along `dim`, of equally frequent ones the smallest, and where it stands last.
pub fn mode(x: &Tensor, dim: i64, keepdim: bool) -> Result<ValuesIndices> {
    if x.dtype() == DType::Bool {
        let (values, indices) = mode(&to_dtype(x, DType::UInt8)?, dim, keepdim)?;
        return Ok((to_dtype(&values, DType::Bool)?, indices));
    }
    let (line, dim) = lined(x, dim, "mode")?;
    let (k, order) = {
        let _off = no_grad();
        let (sorted, order) = sort(&line, dim, false)?;
        let starts = run_starts(&sorted, dim)?;
        let places = places_along(&line, dim)?;
        let begins = cummax(&mul(&places, &starts)?, dim)?.0;
        let (_, k) = max_dim(&sub(&places, &begins)?, dim, true)?;
        (k, order)
    };
    let at = gather(&order, dim, &k)?;
    chosen(x, &line, dim, &at, keepdim)
}

/// The values below which the fractions `q` of the elements lie; see [`Between`].
pub fn quantile(
    x: &Tensor,
    q: Operand,
    dim: Option<i64>,
    keepdim: bool,
    between: Between,
    skip_nan: bool,
) -> Result<Tensor> {
    let name = if skip_nan { "nanquantile" } else { "quantile" };
    if let Some(casts) = super::autocast::enter(name, &[x])? {
        let q = super::autocast::Cast::of(&casts, q)?;
        return quantile(&casts.cast(x)?, q.operand(), dim, keepdim, between, skip_nan);
    }
    if !matches!(x.dtype(), DType::Float32 | DType::Float64) {
        return Err(Error::runtime(format!("{name}() input tensor must be either float or double dtype"))
            .with_hint("convert it with `.float()`"));
    }
    if x.numel() == 0 {
        return Err(Error::runtime(format!("{name}() input tensor must be non-empty")));
    }
    let fractions = fractions(x, q, name)?;
    let (line, along) = match dim {
        Some(dim) => lined(x, dim, name)?,
        None => (reshape_to(x, &[x.numel()])?, 0),
    };
    let (sorted, _) = sort(&line, along, false)?;
    let last = {
        let _off = no_grad();
        let count = numbers(&line, along)?;
        let size = line.size(along)? as i64;
        let last = maximum(&sub(&count, 1i64)?, 0i64)?;
        let all = if skip_nan { eq(&count, 0i64)? } else { lt(&count, size)? };
        // A line with NaN is NaN: its last place is.
        (to_dtype(&last, x.dtype())?, all, (size - 1) as f64)
    };
    let mut parts = memory::with_capacity(fractions.len())?;
    for &fraction in &fractions {
        let rank = where_(&last.1, last.2.into(), (&scale(&last.0, fraction)?).into())?;
        let value = between.at(&sorted, along, &to_dtype(&rank, x.dtype())?)?;
        parts.push(match (keepdim, dim) {
            (true, None) => reshape_to(&value, &vec![1; x.rank()])?,
            (true, Some(_)) => value,
            (false, _) => drop_dim(x, &value, along, dim.is_none())?,
        });
    }
    match (q, parts.as_slice()) {
        (Operand::Tensor(t), _) if t.rank() > 0 => stack(&parts.iter().collect::<Vec<_>>(), 0),
        (_, [one, ..]) => Ok(one.clone()),
        _ => Err(Error::runtime(format!("{name}() q must be a scalar or 1D tensor"))),
    }
}

/// What a quantile between two elements is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Between {
    Linear,
    Lower,
    Higher,
    Midpoint,
    Nearest,
}

impl Between {
    pub fn parse(name: &str) -> Result<Between> {
        Ok(match name {
            "linear" => Between::Linear,
            "lower" => Between::Lower,
            "higher" => Between::Higher,
            "midpoint" => Between::Midpoint,
            "nearest" => Between::Nearest,
            other => {
                return Err(Error::runtime(format!(
                    "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {other}"
                )));
            }
        })
    }

    fn at(self, sorted: &Tensor, dim: i64, rank: &Tensor) -> Result<Tensor> {
        let take = |rank: &Tensor| gather(sorted, dim, &to_dtype(rank, DType::Int64)?);
        match self {
            Between::Lower => take(&floor(rank)?),
            Between::Higher => take(&ceil(rank)?),
            Between::Nearest => take(&round(rank)?),
            Between::Linear | Between::Midpoint => {
                let below = floor(rank)?;
                let (low, high) = (take(&below)?, take(&ceil(rank)?)?);
                match self {
                    Between::Linear => lerp(&low, &high, (&sub(rank, &below)?).into()),
                    _ => lerp(&low, &high, 0.5.into()),
                }
            }
        }
    }
}

/// The running maximum along `dim` and where it was last reached; NaN stays.
pub fn cummax(x: &Tensor, dim: i64) -> Result<ValuesIndices> {
    running(x, dim, |new, old| ge(new, old))
}

/// The running minimum along `dim` and where it was last reached; NaN stays.
pub fn cummin(x: &Tensor, dim: i64) -> Result<ValuesIndices> {
    running(x, dim, |new, old| le(new, old))
}

/// The smallest and the largest element, of everything or along `dim`.
pub fn aminmax(x: &Tensor, dim: Option<i64>, keepdim: bool) -> Result<(Tensor, Tensor)> {
    match dim {
        None => Ok((min_all(x)?, max_all(x)?)),
        Some(dim) => Ok((min_dim(x, dim, keepdim)?.0, max_dim(x, dim, keepdim)?.0)),
    }
}

/// Doubling steps: after the step of width `w` each place knows the best of the `2w` places up to it.
fn running(x: &Tensor, dim: i64, better: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Result<ValuesIndices> {
    let (line, dim) = (if x.rank() == 0 { reshape_to(x, &[1])? } else { x.clone() }, x.dim(dim)? as i64);
    let indices = {
        let _off = no_grad();
        let size = line.size(dim)?;
        let (mut best, mut at) = (line.detach(), places_along(&line, dim)?);
        let mut width = 1;
        while width < size {
            let later = |t: &Tensor| slice(t, dim as usize, width, size - width, 1);
            let earlier = |t: &Tensor| slice(t, dim as usize, 0, size - width, 1);
            let (new, old) = (later(&best)?, earlier(&best)?);
            let mut keep = better(&new, &old)?;
            if x.dtype().is_float() {
                let (nan, before) = (isnan(&new)?, isnan(&old)?);
                keep = logical_or(&nan, &logical_and(&logical_not(&before)?, &keep)?)?;
            }
            let pick = |all: &Tensor| -> Result<Tensor> {
                let rest = where_(&keep, (&later(all)?).into(), (&earlier(all)?).into())?;
                cat(&[&slice(all, dim as usize, 0, width, 1)?, &rest], dim)
            };
            (best, at) = (pick(&best)?, pick(&at)?);
            width *= 2;
        }
        at
    };
    let values = gather(&line, dim, &indices)?;
    Ok((reshape_to(&values, x.shape())?, reshape_to(&indices, x.shape())?))
}

/// 0, 1, 2, … along `dim`, in the shape of `x`.
pub fn places_along(x: &Tensor, dim: i64) -> Result<Tensor> {
    let mut shape: crate::base::Dims = x.shape().iter().map(|_| 1).collect();
    let size = x.size(dim)?;
    if let Some(slot) = shape.get_mut(x.dim(dim)?) {
        *slot = size;
    }
    let row = Tensor::empty(&shape, DType::Int64, &x.context(), "arange")?;
    let kernel = crate::device::Kernel::Arange { start: 0i64.into(), step: 1i64.into() };
    crate::tensor::launch("arange", &kernel, &[], &[&row])?;
    crate::tensor::accumulate::expand(&row, x.shape())
}

/// Where an element differs from the one before it along `dim`; the first does.
pub fn run_starts(sorted: &Tensor, dim: i64) -> Result<Tensor> {
    let size = sorted.size(dim)?;
    let at = sorted.dim(dim)?;
    if size == 0 {
        return sorted.copied(DType::Bool, "unique");
    }
    let head = slice(sorted, at, 0, 1, 1)?;
    let first = Tensor::full(head.shape(), true.into(), DType::Bool, &sorted.context(), "ones")?;
    if size == 1 {
        return Ok(first);
    }
    let changed = ne(&slice(sorted, at, 1, size - 1, 1)?, &slice(sorted, at, 0, size - 1, 1)?)?;
    cat(&[&first, &changed], dim)
}

/// A scalar as a vector of one, and the dimension, which must have elements.
fn lined(x: &Tensor, dim: i64, name: &str) -> Result<(Tensor, i64)> {
    let at = x.dim(dim)?;
    if x.shape().get(at) == Some(&0) {
        let text = format!("{name}(): Expected reduction dim {at} to have non-zero size.");
        return Err(Error::new(Kind::IndexError, text));
    }
    if x.dtype().category() == Category::Bool {
        let text = format!("\"{name}_cpu\" not implemented for 'Bool'");
        return Err(Error::new(Kind::NotImplementedError, text).with_hint("convert it with `.int()`"));
    }
    Ok((if x.rank() == 0 { reshape_to(x, &[1])? } else { x.clone() }, at as i64))
}

/// How many elements along `dim` are no NaN, with `dim` kept.
fn numbers(line: &Tensor, dim: i64) -> Result<Tensor> {
    let counted = if line.dtype().is_float() { logical_not(&isnan(line)?)? } else { eq(line, line)? };
    sum(&counted, Some(&[dim]), true)
}

/// The elements of rank `k` (from 0) along `dim`.
fn ranked(x: &Tensor, line: &Tensor, dim: i64, k: &Tensor, keepdim: bool) -> Result<ValuesIndices> {
    let at = {
        let _off = no_grad();
        gather(&argsort(line, dim, false)?, dim, k)?
    };
    chosen(x, line, dim, &at, keepdim)
}

/// The elements at the places `at`, whose dimension `dim` is one.
fn chosen(x: &Tensor, line: &Tensor, dim: i64, at: &Tensor, keepdim: bool) -> Result<ValuesIndices> {
    let values = gather(line, dim, at)?;
    if keepdim && x.rank() > 0 {
        return Ok((values, at.clone()));
    }
    Ok((drop_dim(x, &values, dim, false)?, drop_dim(x, at, dim, false)?))
}

fn drop_dim(x: &Tensor, value: &Tensor, dim: i64, flat: bool) -> Result<Tensor> {
    if flat || x.rank() == 0 { reshape_to(value, &[]) } else { select(value, dim, 0) }
}

fn fractions(x: &Tensor, q: Operand, name: &str) -> Result<Vec<f64>> {
    let all = match q {
        Operand::Scalar(n) => vec![n.as_f64()],
        Operand::Tensor(t) => {
            if t.rank() > 1 {
                return Err(Error::runtime(format!("{name}() q must be a scalar or 1D tensor")));
            }
            if t.dtype() != x.dtype() {
                return Err(Error::runtime(format!(
                    "{name}() q tensor must be same dtype as the input tensor"
                ))
                .with_hint(format!("convert it: `q.to({})`", x.dtype())));
            }
            t.to_f64s("quantile")?
        }
    };
    if all.iter().any(|f| !(0.0..=1.0).contains(f)) {
        let what = if all.len() == 1 { "value" } else { "values" };
        return Err(Error::runtime(format!("{name}() q {what} must be in the range [0, 1]")));
    }
    Ok(all)
}

/// The sum of the elements that are numbers.
pub fn nansum(x: &Tensor, dims: Option<&[i64]>, keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    let _paused = crate::tensor::autocast::pause();
    super::reduce::sum_as(&without_nan(x)?, dims, keepdim, dtype)
}

/// The mean of the elements that are numbers.
pub fn nanmean(x: &Tensor, dims: Option<&[i64]>, keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    only_floats(dtype.unwrap_or(x.dtype()), "nanmean")?;
    let _paused = crate::tensor::autocast::pause();
    let count = {
        let _off = no_grad();
        sum(&logical_not(&isnan(x)?)?, dims, keepdim)?
    };
    div(&nansum(x, dims, keepdim, dtype)?, &count)
}

fn without_nan(x: &Tensor) -> Result<Tensor> {
    if !x.dtype().is_float() {
        return Ok(x.clone());
    }
    let nan = {
        let _off = no_grad();
        isnan(x)?
    };
    masked_fill(x, &nan, 0i64.into())
}

/// Differences of neighbours along `dim`, `n` times over, with what is put before and behind.
pub fn diff(
    x: &Tensor,
    n: i64,
    dim: i64,
    before: Option<&Tensor>,
    behind: Option<&Tensor>,
) -> Result<Tensor> {
    if x.rank() == 0 {
        return Err(Error::runtime("diff expects input to be at least one-dimensional"));
    }
    if n < 0 {
        return Err(Error::runtime(format!("order must be non-negative but got {n}")));
    }
    let joined: Vec<&Tensor> = before.into_iter().chain([x]).chain(behind).collect();
    let mut out = if joined.len() > 1 { cat(&joined, dim)? } else { x.clone() };
    let at = out.dim(dim)?;
    for _ in 0..n {
        let size = out.size(dim)?;
        let step = size.saturating_sub(1);
        let (new, old) = (slice(&out, at, size - step, step, 1)?, slice(&out, at, 0, step, 1)?);
        out = if x.dtype() == DType::Bool { logical_xor(&new, &old)? } else { sub(&new, &old)? };
    }
    Ok(out)
}

/// `log(cumsum(exp(x)))` along `dim`, without overflow.
pub fn logcumsumexp(x: &Tensor, dim: i64) -> Result<Tensor> {
    only_floats(x.dtype(), "logcumsumexp_out_cpu")?;
    if x.rank() == 0 || x.numel() == 0 {
        x.dim(dim)?;
        return super::movement::cloned(x);
    }
    let at = x.dim(dim)?;
    let size = x.size(dim)?;
    let (mut out, mut width) = (x.clone(), 1);
    // Doubling steps; `logaddexp` keeps the exponentials in range.
    while width < size {
        let (new, old) = (slice(&out, at, width, size - width, 1)?, slice(&out, at, 0, size - width, 1)?);
        out = cat(&[&slice(&out, at, 0, width, 1)?, &logaddexp(&new, &old)?], dim)?;
        width *= 2;
    }
    Ok(out)
}

/// The covariance matrix of variables (rows) observed together (columns).
pub fn cov(x: &Tensor, correction: f64) -> Result<Tensor> {
    if x.rank() > 2 {
        return Err(Error::runtime(format!(
            "cov(): expected input to have two or fewer dimensions but got an input with {} dimensions",
            x.rank()
        )));
    }
    let rows = if x.rank() < 2 { reshape_to(x, &[1, x.numel()])? } else { x.clone() };
    let rows = if rows.dtype().is_float() { rows } else { to_dtype(&rows, super::promote::DEFAULT_FLOAT)? };
    let centred = sub(&rows, &super::reduce::mean(&rows, Some(&[1]), true)?)?;
    let count = (rows.size(1)? as f64 - correction).max(0.0);
    let out = div(&super::matmul::mm(&centred, &super::movement::t(&centred)?)?, count)?;
    if x.rank() < 2 { reshape_to(&out, &[]) } else { Ok(out) }
}

/// The correlation matrix of variables (rows) observed together (columns).
pub fn corrcoef(x: &Tensor) -> Result<Tensor> {
    let c = cov(x, 1.0)?;
    if c.rank() == 0 {
        return div(&c, &c);
    }
    let deviation = super::unary::sqrt(&super::movement::diagonal(&c, 0, 0, 1)?)?;
    let scaled = div(&c, &unsqueeze(&deviation, 1)?)?;
    let scaled = div(&scaled, &unsqueeze(&deviation, 0)?)?;
    super::select::clamp(&scaled, Some((-1.0).into()), Some(1.0.into()))
}

/// Euclid's or another `p`-norm distance of each row of `a` from each row of `b`.
pub fn cdist(a: &Tensor, b: &Tensor, p: f64) -> Result<Tensor> {
    if a.rank() < 2 || b.rank() < 2 {
        return Err(Error::runtime("cdist only supports at least 2D tensors, X1 got: 1D")
            .with_hint("`x.unsqueeze(0)` makes a vector one row"));
    }
    let (columns, other) = (a.size(-1)?, b.size(-1)?);
    if columns != other {
        return Err(Error::runtime(format!(
            "X1 and X2 must have the same number of columns. X1: {columns} X2: {other}"
        )));
    }
    let apart = sub(&unsqueeze(a, -2)?, &unsqueeze(b, -3)?)?;
    super::reduce::norm(&apart, p, Some(&[-1]), false)
}

/// The area under points, by trapezoids along `dim`; `x` gives their places, or `dx` their distance.
pub fn trapezoid(y: &Tensor, x: Option<&Tensor>, dx: f64, dim: i64) -> Result<Tensor> {
    sum(&trapezoids(y, x, dx, dim)?, Some(&[dim]), false)
}

/// The area under points up to each of them but the first, as [`trapezoid`].
pub fn cumulative_trapezoid(y: &Tensor, x: Option<&Tensor>, dx: f64, dim: i64) -> Result<Tensor> {
    super::scan::cumsum(&trapezoids(y, x, dx, dim)?, dim, None)
}

/// The area of each trapezoid between neighbours along `dim`.
fn trapezoids(y: &Tensor, x: Option<&Tensor>, dx: f64, dim: i64) -> Result<Tensor> {
    let at = y.dim(dim)?;
    let size = y.size(dim)?;
    let step = size.saturating_sub(1);
    if let Some(x) = x.filter(|x| x.rank() == 1 && x.numel() != size) {
        let text = "trapezoid: There must be one `x` value for each sample point";
        return Err(Error::runtime(text)
            .with_hint(format!("`x` has {} values, and dimension {dim} of `y` has {size}", x.numel())));
    }
    let pairs = add(&slice(y, at, size - step, step, 1)?, &slice(y, at, 0, step, 1)?)?;
    match x {
        None => scale(&pairs, 0.5 * dx),
        Some(x) => {
            let along = if x.rank() == 1 { -1 } else { at as i64 - y.rank() as i64 };
            let width = diff(x, 1, along, None, None)?;
            let wide = if x.rank() == 1 && y.rank() > 1 {
                let mut shape: Vec<usize> = vec![1; y.rank()];
                if let Some(slot) = shape.get_mut(at) {
                    *slot = step;
                }
                reshape_to(&width, &shape)?
            } else {
                width
            };
            scale(&mul(&pairs, &wide)?, 0.5)
        }
    }
}

/// The larger of two elements; a number wins over NaN.
pub fn fmax(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    keep_number(a, b, maximum(a, b)?)
}

/// The smaller of two elements; a number wins over NaN.
pub fn fmin(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    keep_number(a, b, minimum(a, b)?)
}

fn keep_number(a: &Tensor, b: &Tensor, both: Tensor) -> Result<Tensor> {
    let (first, second) = {
        let _off = no_grad();
        (isnan(a)?, isnan(b)?)
    };
    let one = where_(&first, b.into(), (&both).into())?;
    where_(&second, a.into(), (&one).into())
}

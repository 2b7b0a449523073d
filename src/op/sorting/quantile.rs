//! Medians, quantiles and modes.

use crate::base::dtype::Category;
use crate::base::{DType, Error, Kind, Result, memory};
use crate::device::Kernel;
use crate::device::kernel::Kth;
use crate::op::core::args::{to_pair, to_value};
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Domain, Draw, Family, OpDef, Sample};
use crate::op::core::operand::Operand;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::record::{check_deterministic, kept_shape, no_grad, one, recorded};
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::{div, floor_divide, mul, scale, sub};
use crate::op::elementwise::binary::maximum;
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::comparison::{eq, logical_and, logical_or, lt, ne};
use crate::op::elementwise::fused::lerp;
use crate::op::elementwise::predicates::{isnan, logical_not};
use crate::op::elementwise::rounding::{ceil, floor, round};
use crate::op::gather::along_dim::gather;
use crate::op::reduce::sums::sum;
use crate::op::shape::join::{cat, stack};
use crate::op::shape::part::{select, slice};
use crate::op::shape::view::{reshape_to, unsqueeze};
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp};

use super::extremum::{max_dim, selected, selected_grad};
use super::running::{ValuesIndices, cummax, places_along};
use super::sort::{argsort, sort};

/// The middle element along `dim`, the lower of two; NaN where there is one.
pub fn median(x: &Tensor, dim: i64, keepdim: bool) -> Result<ValuesIndices> {
    check_deterministic(x, "median CUDA with indices output")?;
    middle_along(x, dim, keepdim)
}

fn middle_along(x: &Tensor, dim: i64, keepdim: bool) -> Result<ValuesIndices> {
    static RULE: Vjp = Vjp { name: "MedianBackward1", run: selected_grad };
    let (line, dim) = lined(x, dim, "median")?;
    let middle = line.size(dim)?.saturating_sub(1) / 2;
    ranked("median", x, &line, dim, Kth::RankOrNan(middle), keepdim, &RULE)
}

/// The middle of the elements along `dim` that are numbers.
pub(crate) fn nanmedian(x: &Tensor, dim: i64, keepdim: bool) -> Result<ValuesIndices> {
    check_deterministic(x, "median CUDA with indices output")?;
    middle_of_numbers(x, dim, keepdim)
}

fn middle_of_numbers(x: &Tensor, dim: i64, keepdim: bool) -> Result<ValuesIndices> {
    static RULE: Vjp = Vjp { name: "NanmedianBackward1", run: selected_grad };
    let (line, dim) = lined(x, dim, "nanmedian")?;
    ranked("nanmedian", x, &line, dim, Kth::MiddleOfNumbers, keepdim, &RULE)
}

/// The median of all elements; of none NaN, or the smallest int32 or int64.
pub(crate) fn median_all(x: &Tensor, skip_nan: bool) -> Result<Tensor> {
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
    static RULE: Vjp = Vjp { name: "MedianBackward0", run: median_grad };
    static NUMBERS: Vjp = Vjp { name: "NanmedianBackward0", run: median_grad };
    let value = {
        let _off = no_grad();
        if skip_nan { middle_of_numbers(&flat, 0, false)?.0 } else { middle_along(&flat, 0, false)?.0 }
    };
    Ok(recorded(value, if skip_nan { &NUMBERS } else { &RULE }, &[x], |s, y| {
        s.input(x);
        s.output(y);
    }))
}

/// Elements that are the median share its gradient.
fn median_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (x, y) = (s.tensor(0)?, s.tensor(1)?);
    let hit = {
        let _off = no_grad();
        logical_or(&eq(&x, &y)?, &logical_and(&isnan(&x)?, &isnan(&y)?)?)?
    };
    one(mul(&hit, &div(g, &sum(&hit, None, false)?)?)?)
}

/// The `k`-th smallest element along `dim`, counted from 1.
pub(crate) fn kthvalue(x: &Tensor, k: i64, dim: i64, keepdim: bool) -> Result<ValuesIndices> {
    static RULE: Vjp = Vjp { name: "KthvalueBackward0", run: selected_grad };
    let (line, dim) = lined(x, dim, "kthvalue")?;
    if k < 1 || k > line.size(dim)? as i64 {
        return Err(Error::runtime(format!(
            "kthvalue(): selected number k out of range for dimension {dim}"
        ))
        .with_hint(format!("`k` counts from 1 to the size of the dimension, {}", line.size(dim)?)));
    }
    ranked("kthvalue", x, &line, dim, Kth::Rank(k as usize - 1), keepdim, &RULE)
}

/// The most frequent element along `dim`, of equally frequent ones the smallest, and where it stands last.
pub fn mode(x: &Tensor, dim: i64, keepdim: bool) -> Result<ValuesIndices> {
    if x.dtype() == DType::Bool {
        let (values, indices) = mode(&to_dtype(x, DType::UInt8)?, dim, keepdim)?;
        return Ok((to_dtype(&values, DType::Bool)?, indices));
    }
    static RULE: Vjp = Vjp { name: "ModeBackward0", run: selected_grad };
    let (line, dim) = lined(x, dim, "mode")?;
    let at = {
        let _off = no_grad();
        let (sorted, order) = sort(&line, dim, false)?;
        let starts = run_starts(&sorted, dim)?;
        let places = places_along(&line, dim)?;
        let begins = cummax(&mul(&places, &starts)?, dim)?.0;
        let (_, k) = max_dim(&sub(&places, &begins)?, dim, true)?;
        gather(&order, dim, &k)?
    };
    standing_at(x, &line, dim, &at, keepdim, &RULE)
}

/// The values below which the fractions `q` of the elements lie; see [`Between`].
pub(crate) fn quantile(
    x: &Tensor,
    q: Operand,
    dim: Option<i64>,
    keepdim: bool,
    between: Between,
    skip_nan: bool,
) -> Result<Tensor> {
    let name = if skip_nan { "nanquantile" } else { "quantile" };
    if let Some(casts) = crate::op::core::autocast::enter(name, &[x])? {
        let q = crate::op::core::autocast::Cast::of(&casts, q)?;
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
    if fractions.is_empty() {
        let one = quantile(x, Operand::Scalar(0.0.into()), dim, keepdim, between, skip_nan)?;
        return slice(&unsqueeze(&one, 0)?, 0, 0, 0, 1);
    }
    let (line, along) = match dim {
        Some(dim) => lined(x, dim, name)?,
        None => (reshape_to(x, &[x.numel()])?, 0),
    };
    let keep = |value: Tensor| match (keepdim, dim) {
        (true, None) => reshape_to(&value, &vec![1; x.rank()]),
        (true, Some(_)) if x.rank() == 0 => reshape_to(&value, &[]),
        (true, Some(_)) => Ok(value),
        (false, _) => drop_dim(x, &value, along, dim.is_none()),
    };
    let tracked = matches!(q, Operand::Tensor(q) if q.requires_grad());
    if fractions.len() <= FEW && !skip_nan && !tracked && !x.device().is_cuda() {
        let each = fractions.iter().map(|&fraction| keep(between.of_line(&line, along, fraction)?));
        return together(q, &each.collect::<Result<Vec<_>>>()?, name);
    }
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
    for (i, &fraction) in fractions.iter().enumerate() {
        let scaled = match q {
            Operand::Tensor(q) if q.requires_grad() && q.rank() == 0 => mul(&last.0, q)?,
            Operand::Tensor(q) if q.requires_grad() => mul(&last.0, &select(q, 0, i as i64)?)?,
            _ => scale(&last.0, fraction)?,
        };
        let rank = where_(&last.1, last.2.into(), (&scaled).into())?;
        parts.push(keep(between.at(&sorted, along, &to_dtype(&rank, x.dtype())?)?)?);
    }
    together(q, &parts, name)
}

/// So many quantiles are found one by one, where of more the lines are sorted.
const FEW: usize = 4;

/// The quantiles of one fraction, or of several in a new first dimension.
fn together(q: Operand, parts: &[Tensor], name: &str) -> Result<Tensor> {
    match (q, parts) {
        (Operand::Tensor(t), _) if t.rank() > 0 => stack(&parts.iter().collect::<Vec<_>>(), 0),
        (_, [one, ..]) => Ok(one.clone()),
        _ => Err(Error::runtime(format!("{name}() q must be a scalar or 1D tensor"))),
    }
}

/// What a quantile between two elements is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Between {
    Linear,
    Lower,
    Higher,
    Midpoint,
    Nearest,
}

impl Between {
    pub(crate) fn parse(name: &str) -> Result<Between> {
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

    /// The quantile of a whole line along `dim`, without sorting it.
    fn of_line(self, line: &Tensor, dim: i64, fraction: f64) -> Result<Tensor> {
        static RULE: Vjp = Vjp { name: "SortBackward0", run: selected_grad };
        let last = line.size(dim)?.saturating_sub(1);
        // Ranks are computed in the line's own dtype.
        let rank = match line.dtype() {
            DType::Float32 => f64::from(last as f32 * fraction as f32),
            _ => last as f64 * fraction,
        };
        let take = |rank: f64| {
            let kth = Kth::RankOrNan((rank as usize).min(last));
            ranked("quantile", line, line, dim, kth, true, &RULE).map(|(values, _)| values)
        };
        let (low, high) = (rank.floor(), rank.ceil());
        match self {
            Between::Lower => take(low),
            Between::Higher => take(high),
            Between::Nearest => take(rank.round_ties_even()),
            Between::Linear | Between::Midpoint => {
                let weight = if self == Between::Linear { rank - low } else { 0.5 };
                let below = take(low)?;
                let above = if high == low { below.clone() } else { take(high)? };
                lerp(&below, &above, weight.into())
            }
        }
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

/// Where an element differs from the one before it along `dim`; the first does.
pub(crate) fn run_starts(sorted: &Tensor, dim: i64) -> Result<Tensor> {
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

/// The elements of a rank along `dim`, where they stand, and the way back.
fn ranked(
    name: &'static str,
    x: &Tensor,
    line: &Tensor,
    dim: i64,
    kth: Kth,
    keepdim: bool,
    rule: &'static Vjp,
) -> Result<ValuesIndices> {
    if !x.device().is_cuda() {
        let along = x.dim(dim)?;
        return selected(name, &Kernel::Kth { dim: along, kth }, x, along, keepdim, rule);
    }
    let at = {
        let _off = no_grad();
        gather(&argsort(line, dim, false)?, dim, &ranks(line, dim, kth)?)?
    };
    standing_at(x, line, dim, &at, keepdim, rule)
}

/// The rank that is meant, line by line, with `dim` kept.
fn ranks(line: &Tensor, dim: i64, kth: Kth) -> Result<Tensor> {
    match kth {
        Kth::Rank(rank) => {
            let kept = kept_shape(line.shape(), 1u64 << dim.clamp(0, 63));
            Tensor::full(&kept, (rank as i64).into(), DType::Int64, &line.context(), "full")
        }
        Kth::RankOrNan(rank) => {
            let (numbers, size) = (numbers(line, dim)?, line.size(dim)? as i64);
            // NaN sorts behind the numbers: the first of them stands where the numbers end.
            where_(&lt(&numbers, size)?, (&numbers).into(), (rank as i64).into())
        }
        Kth::MiddleOfNumbers => maximum(&floor_divide(&sub(&numbers(line, dim)?, 1i64)?, 2i64)?, 0i64),
    }
}

/// The elements at the places `at`, whose dimension `dim` is one.
fn standing_at(
    x: &Tensor,
    line: &Tensor,
    dim: i64,
    at: &Tensor,
    keepdim: bool,
    rule: &'static Vjp,
) -> Result<ValuesIndices> {
    let (values, places) = {
        let _off = no_grad();
        let values = gather(line, dim, at)?;
        if keepdim && x.rank() > 0 {
            (values, at.clone())
        } else {
            (drop_dim(x, &values, dim, false)?, drop_dim(x, at, dim, false)?)
        }
    };
    let values = recorded(values, rule, &[x], |s, _| {
        s.constant(Some(at));
        s.attribute(dim as usize);
    });
    Ok((values, places))
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
        return Err(Error::runtime(match q {
            Operand::Scalar(q) if q.as_f64().is_nan() => {
                "quantile() q must be in the range [0, 1] but got nan".to_string()
            }
            Operand::Scalar(q) => format!("quantile() q must be in the range [0, 1] but got {}", q.as_f64()),
            Operand::Tensor(_) => "quantile() q values must be in the range [0, 1]".to_string(),
        }));
    }
    Ok(all)
}

const APART: &[Draw] = &[Draw::of("x", &[3, 5], Domain::Distinct)];

params! {
    MedianParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: Maybe<kind::Dim>, "the dimension it runs along; all elements where none is named";
        keepdim: kind::Bool = false, "keeps reduced dimensions, with size 1";
    }
}

params! {
    QuantileParams {
        input: kind::Tensor, "the tensor it is computed of";
        q: kind::Operand, "the fraction that lies below, from 0 to 1: a number, or a vector of them";
        dim: Maybe<kind::Dim>, "the dimension it runs along; all elements where none is named";
        keepdim: kind::Bool = false, "keeps reduced dimensions, with size 1";
        interpolation: kind::Str = "linear", "what is given between two elements: linear, lower, higher, midpoint or nearest";
    }
}

params! {
    ModeParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Dim = -1, "the dimension it runs along; negative ones count from the end";
        keepdim: kind::Bool = false, "keeps reduced dimensions, with size 1";
    }
}

params! {
    KthvalueParams {
        input: kind::Tensor, "the tensor it is computed of";
        k: kind::Int, "which one in ascending order, from 1";
        dim: kind::Dim = -1, "the dimension it runs along; negative ones count from the end";
        keepdim: kind::Bool = false, "keeps reduced dimensions, with size 1";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call("median", Family::Reduce, "The middle element: of all, or along a dimension.", MedianParams::LIST, by_name!(MedianParams, |a| middle(a, false)))
    .details("Of two middle elements the lower; NaN where there is one. With a dimension, values and indices.")
    .shapes("any -> (), or with `dim` values and indices without it (1 with keepdim)")
    .errors(&[shapes::BOOLS])
    .example("tensor([3, 1, 4, 2]).median()", "tensor(2)")
    .samples(&[Sample::of("x.median(1).values", APART), Sample::of("x.median()", APART)]),
    OpDef::call("nanmedian", Family::Reduce, "The middle of the elements that are no NaN.", MedianParams::LIST, by_name!(MedianParams, |a| middle(a, true)))
    .shapes("any -> (), or with `dim` values and indices without it (1 with keepdim)")
    .errors(&[shapes::BOOLS])
    .example("tensor([3.0, 1.0, 0.0 / 0.0]).nanmedian()", "tensor(1.)")
    .samples(&[Sample::of("x.nanmedian(0).values", APART)]),
    OpDef::call("mode", Family::Reduce, "The most frequent element along a dimension, and where it stands last.", ModeParams::LIST, by_name!(ModeParams, |a| to_pair(mode(a.input, a.dim, a.keepdim))))
    .details("Of equally frequent elements the smallest.")
    .shapes("any -> values and indices without dim (1 with keepdim)")
    .example("tensor([2, 7, 7, 2, 7]).mode().values", "tensor(7)")
    .samples(&[Sample::of("x.mode(1).values", APART)]),
    OpDef::call("kthvalue", Family::Reduce, "The k-th smallest element along a dimension, counted from 1, and where it stands.", KthvalueParams::LIST, by_name!(KthvalueParams, |a| to_pair(kthvalue(a.input, a.k, a.dim, a.keepdim))))
    .shapes("any -> values and indices without dim (1 with keepdim)")
    .errors(&["RuntimeError: `k` is below 1 or above the dimension's size", shapes::BOOLS])
    .example("tensor([3, 9, 5]).kthvalue(2).values", "tensor(5)")
    .samples(&[Sample::of("x.kthvalue(2).values", APART)]),
    OpDef::call(
        "quantile",
        Family::Reduce,
        "The values below which the fractions `q` of the elements lie.",
        QuantileParams::LIST,
        by_name!(QuantileParams, |a| quantile_row(a, false)),
    )
    .details(
        "`interpolation` between two elements is linear, lower, higher, midpoint or nearest. A vector `q` gives a new \
         first dimension.",
    )
    .shapes("any, q () -> without dim, or () where none is given; keepdim leaves sizes of 1; q (k) puts k in front")
    .errors(&["RuntimeError: a fraction is not in 0 to 1", "RuntimeError: `interpolation` has another name"])
    .across()
    .example("tensor([1.0, 2.0, 3.0, 4.0]).quantile(0.5)", "tensor(2.5000)")
    .samples(&[Sample::of("x.quantile(0.4, 1)", APART), Sample::of("x.quantile(0.7, #{interpolation: \"midpoint\"})", APART)]),
    OpDef::call("nanquantile", Family::Reduce, "`quantile` of the elements that are no NaN.", QuantileParams::LIST, by_name!(QuantileParams, |a| quantile_row(a, true)))
    .shapes("any, q () -> without dim, or () where none is given; keepdim leaves sizes of 1; q (k) puts k in front")
    .errors(&["RuntimeError: a fraction is not in 0 to 1", "RuntimeError: `interpolation` has another name"])
    .across()
    .example("tensor([1.0, 3.0, 0.0 / 0.0]).nanquantile(0.5)", "tensor(2.)")
    .samples(&[Sample::of("x.nanquantile(0.3, 0)", APART)]),
];

fn middle(a: MedianParams, skip_nan: bool) -> Result<Value> {
    let x = a.input;
    match a.dim {
        None => to_value(median_all(x, skip_nan)),
        Some(dim) if skip_nan => to_pair(nanmedian(x, dim, a.keepdim)),
        Some(dim) => to_pair(median(x, dim, a.keepdim)),
    }
}

fn quantile_row(a: QuantileParams, skip_nan: bool) -> Result<Value> {
    let between = Between::parse(a.interpolation)?;
    to_value(quantile(a.input, a.q, a.dim, a.keepdim, between, skip_nan))
}

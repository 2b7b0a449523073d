//! How values are spread over bins.

use crate::base::{Error, Result};
use crate::op::core::args::to_list;
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Args, DefaultValue, Family, OpDef};
use crate::op::core::params::{Maybe, by_name, kind, kinds, params};
use crate::op::core::promote::only_floats;
use crate::op::core::record::no_grad;
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::create::filled::Make;
use crate::op::create::ranges::linspace;
use crate::op::elementwise::arithmetic::{div, mul, sub};
use crate::op::elementwise::binary::minimum;
use crate::op::elementwise::comparison::{ge, le, logical_and};
use crate::op::gather::select::{index_add, index_select};
use crate::op::reduce::sums::{max_all, min_all, sum};
use crate::op::shape::part::{select, slice};
use crate::op::shape::view::reshape_to;
use crate::tensor::Tensor;

use super::distinct::COUNTED;
use super::masks::positions;
use super::search::search;

/// Bins of a histogram: so many of one width, or between edges.
pub enum Bins {
    Count(i64),
    Edges(Tensor),
}

/// How much lies in each bin, and the edges. A bin has its lower edge, and the last one its upper edge too.
pub fn histogram(
    x: &Tensor,
    bins: &Bins,
    range: Option<&[f64]>,
    weight: Option<&Tensor>,
    density: bool,
) -> Result<[Tensor; 2]> {
    only_floats(x.dtype(), "histogram_cpu")?;
    if let Some(weight) = weight {
        if weight.shape() != x.shape() {
            let text = "histogramdd(): if weight tensor is provided it should have the same shape as the input tensor \
                        excluding its innermost dimension";
            return Err(Error::runtime(text));
        }
        if weight.dtype() != x.dtype() {
            let text = "histogramdd(): if weight tensor is provided, input tensor and weight tensor should have the same dtype";
            return Err(Error::runtime(text));
        }
    }
    let _off = no_grad();
    let flat = |t: &Tensor| reshape_to(&t.detach(), &[t.numel()]);
    let x = flat(x)?;
    let edges = match bins {
        Bins::Edges(edges) => edges_given(edges, &x)?,
        Bins::Count(count) => edges_of(&x, *count, range)?,
    };
    let count = edges.numel().saturating_sub(1);
    let (low, high) = (select(&edges, 0, 0)?, select(&edges, 0, -1)?);
    let kept = positions(&logical_and(&ge(&x, &low)?, &le(&x, &high)?)?)?;
    let place = sub(&search(&edges, &index_select(&x, 0, &kept)?, count + 1, true)?, 1i64)?;
    let place = minimum(&place, count as i64 - 1)?;
    let source = match weight {
        Some(weight) => index_select(&flat(weight)?, 0, &kept)?,
        None => Tensor::full(place.shape(), 1i64.into(), x.dtype(), &x.context(), "histogram")?,
    };
    let zeros = Tensor::full(&[count], 0i64.into(), x.dtype(), &x.context(), "histogram")?;
    let hist = index_add(&zeros, 0, &place, &source, 1.0)?;
    if !density {
        return Ok([hist, edges]);
    }
    let widths = sub(&slice(&edges, 0, 1, count, 1)?, &slice(&edges, 0, 0, count, 1)?)?;
    Ok([div(&hist, &mul(&widths, &sum(&hist, None, false)?)?)?, edges])
}

fn edges_given(edges: &Tensor, x: &Tensor) -> Result<Tensor> {
    if edges.rank() != 1 || edges.numel() < 2 {
        let text = "histogramdd(): bins tensor should have one dimension, and at least two edges";
        return Err(Error::runtime(text));
    }
    to_dtype(&edges.detach(), x.dtype())
}

/// Edges of equal bins over the range, or over what the data span.
fn edges_of(x: &Tensor, count: i64, range: Option<&[f64]>) -> Result<Tensor> {
    if count <= 0 {
        return Err(Error::runtime("histogramdd(): bins must be > 0"));
    }
    let (mut low, mut high) = match range {
        Some([low, high]) => (*low, *high),
        Some(_) => return Err(Error::runtime("histogramdd(): range should have two numbers")),
        None if x.numel() == 0 => (0.0, 1.0),
        None => (min_all(x)?.item()?.as_f64(), max_all(x)?.item()?.as_f64()),
    };
    if !(low.is_finite() && high.is_finite()) {
        return Err(Error::runtime(format!("histogramdd(): range [{low}, {high}] is not finite")));
    }
    if low > high {
        return Err(Error::runtime("histogramdd(): min should not exceed max"));
    }
    if low == high {
        (low, high) = (low - 0.5, high + 0.5);
    }
    let make = Make { dtype: Some(x.dtype()), device: Some(x.device().into()), ..Make::default() };
    linspace(low, high, count.saturating_add(1), &make)
}

kinds! {
    /// Two numbers, if any.
    RangeKind(Object) => Option<Vec<f64>>, |args: &Args, at| match args.get(at) {
        Value::None => Ok(None),
        given => given.floats().map(Some).ok_or_else(|| args.wrong(at, given)),
    };
    /// How many bins, or their edges.
    BinsKind(Object) => Bins, |args: &Args, at| match args.get(at) {
        Value::Tensor(edges) => Ok(Bins::Edges(edges.clone())),
        given => args.int(at).map(Bins::Count).map_err(|_| {
            let text = format!("histogram(): argument 'bins' must be int or Tensor, not {}", given.describe());
            Error::type_error(text)
        }),
    };
}

params! {
    HistogramParams {
        input: kind::Tensor, "the values that are counted";
        bins: BinsKind => DefaultValue::Int(100), "how many bins of equal width, or a vector of their edges";
        range: RangeKind => DefaultValue::None, "where the first bin begins and the last one ends; what the data span where absent";
        weight: Maybe<kind::Tensor>, "what each element counts, instead of 1";
        density: kind::Bool = false, "gives each bin's share over its width, so that all of them make an area of 1";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[OpDef::call(
    "histogram",
    Family::Index,
    "How many elements lie in each bin, and the bins' edges.",
    HistogramParams::LIST,
    by_name!(HistogramParams, |a| {
        let found = histogram(a.input, &a.bins, a.range.as_deref(), a.weight, a.density);
        to_list(found.map(Vec::from))
    }),
)
.details("A bin has its lower edge, and the last one its upper edge too. What lies outside is not counted.")
.shapes("any -> (bins), (bins + 1)")
.errors(&["RuntimeError: `bins` is not above 0, the range is not finite or upside down", shapes::NO_FLOAT])
.example("tensor([1.0, 2.0, 1.0]).histogram(4, #{range: [0, 3]})[0]", "tensor([0., 2., 1., 0.])")
.gradient(COUNTED)];

//! Pools over as many windows as asked for, of signals, images and volumes: the largest element of each, and means of
//! volumes.

use crate::base::{DType, Error, Result};
use crate::op::core::autocast::whole;
use crate::op::core::def::{Domain, Draw, FUNCTIONAL, Family, OpDef, Sample};
use crate::op::core::format::MemoryFormat;
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::promote::only_floats;
use crate::op::core::record::{named, undetermined};
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::core::wide::in_single;
use crate::op::create::filled::Make;
use crate::op::create::ranges::arange;
use crate::op::elementwise::arithmetic::{add, floor_divide, mul, sub};
use crate::op::elementwise::binary::minimum;
use crate::op::gather::along_dim::gather;
use crate::op::gather::select::index_select;
use crate::op::shape::part::select;
use crate::op::shape::permute::permute;
use crate::op::shape::view::{expand_to, reshape_to, unsqueeze};
use crate::op::sorting::extremum::max_dim;
use crate::tensor::Tensor;
use crate::tensor::autograd::Vjp;

use super::adaptive_size::windows_for;
use super::conv::taken;
use super::pooling::adaptive_avg_pool2d;

/// The largest element of each of so many windows over the last dimensions, and its place among the elements of its
/// channel (int64); the first of equals wins. `size` has a number of windows for each dimension, or `None` to keep it.
fn adaptive_max_pool(x: &Tensor, size: &[Option<usize>]) -> Result<(Tensor, Tensor)> {
    let dims = size.len();
    checked("adaptive_max_pool", x, dims)?;
    only_floats(x.dtype(), if dims == 3 { "adaptive_max_pool3d_cpu" } else { "adaptive_max_pool2d" })?;
    let (before, sizes) = x.shape().split_at(x.rank() - dims);
    let counts: Vec<usize> = size.iter().zip(sizes).map(|(count, &size)| count.unwrap_or(size)).collect();
    let n: usize = before.iter().product();
    let out_shape: Vec<usize> = before.iter().chain(&counts).copied().collect();
    // What no memory holds is refused before places are counted.
    drop(Tensor::empty(&out_shape, x.dtype(), &x.context(), "adaptive_max_pool")?);
    let mut shape: Vec<usize> = std::iter::once(n).chain(sizes.iter().copied()).collect();
    let mut windows = reshape_to(x, &shape)?;
    let mut places = Tensor::full(&[1], 0i64.into(), DType::Int64, &x.context(), "adaptive_max_pool")?;
    for (d, (&size, &count)) in sizes.iter().zip(&counts).enumerate() {
        let (index, longest) = cover(size, count, x)?;
        windows = index_select(&windows, 1 + 2 * d as i64, &reshape_to(&index, &[count * longest])?)?;
        shape.splice(1 + 2 * d..2 + 2 * d, [count, longest]);
        windows = reshape_to(&windows, &shape)?;
        places = add(&unsqueeze(&unsqueeze(&mul(&places, size as i64)?, -1)?, -1)?, &index)?;
    }
    let outer = (0..dims as i64).map(|d| 1 + 2 * d);
    let order: Vec<i64> = std::iter::once(0).chain(outer.clone()).chain(outer.map(|d| d + 1)).collect();
    let mut grouped: Vec<usize> = std::iter::once(n).chain(counts.iter().copied()).collect();
    grouped.push(shape.iter().skip(2).step_by(2).product());
    let (largest, at) = max_dim(&reshape_to(&permute(&windows, &order)?, &grouped)?, -1, false)?;
    let places = expand_to(
        &reshape_to(&permute(&places, &order)?, grouped.get(1..).unwrap_or(&[]))?,
        &grouped.iter().map(|&s| s as i64).collect::<Vec<_>>(),
    )?;
    let places = select(&gather(&places, -1, &unsqueeze(&at, -1)?)?, -1, 0)?;
    // Of volumes they lie row-major always.
    let format = if dims == 2 { MemoryFormat::suggested(x) } else { MemoryFormat::Contiguous };
    let lying = |t: &Tensor| format.applied(&reshape_to(t, &out_shape)?);
    Ok((lying(&largest)?, lying(&places)?))
}

/// Where the windows along a dimension lie, `[windows, elements]`: from `⌊i * size / count⌋` to before
/// `⌈(i + 1) * size / count⌉`. Shorter ones repeat their last place, so that all are as long as the longest.
fn cover(size: usize, count: usize, beside: &Tensor) -> Result<(Tensor, usize)> {
    let count = count.max(1);
    let longest =
        if size.is_multiple_of(count) { size / count } else { (size.div_ceil(count) + 1).min(size) };
    let make = Make { device: Some(beside.device().into()), ..Make::default() };
    let line = |start: i64, end: i64, step: i64| arange(start.into(), end.into(), step.into(), &make);
    let (size, count, longest_of) = (size as i64, (count as i64).max(1), longest as i64);
    let starts = floor_divide(&line(0, count * size, size)?, count)?;
    // ⌈a / b⌉ is ⌊(a - 1) / b⌋ + 1 for whole numbers from 1.
    let last = floor_divide(&sub(&line(size, (count + 1) * size, size)?, 1i64)?, count)?;
    let reach = add(&unsqueeze(&starts, 1)?, &line(0, longest_of, 1)?)?;
    Ok((minimum(&reach, &unsqueeze(&last, 1)?)?, longest))
}

fn checked(name: &str, x: &Tensor, dims: usize) -> Result<()> {
    let (few, many) = (dims + 1, dims + 2);
    if x.rank() != few && x.rank() != many {
        let text = format!("{name}{dims}d(): Expected {few}D or {many}D tensor, but got: {:?}", x.shape());
        return Err(Error::runtime(text).with_hint(taken(dims)));
    }
    shapes::check_past_batch(name, x, dims)
}

/// [`adaptive_max_pool`] over `DIMS` dimensions; on a GPU no order is promised for what its gradient adds.
pub(crate) fn adaptive_max<const DIMS: usize>(
    x: &Tensor,
    size: &[Option<usize>],
) -> Result<(Tensor, Tensor)> {
    static PLANES: Vjp = Vjp {
        name: "AdaptiveMaxPool2DBackward0",
        run: |_, g| undetermined(g, "adaptive_max_pool2d_backward_cuda"),
    };
    static VOLUMES: Vjp = Vjp {
        name: "AdaptiveMaxPool3DBackward0",
        run: |_, g| undetermined(g, "adaptive_max_pool3d_backward_cuda"),
    };
    let name = match DIMS {
        1 => "adaptive_max_pool1d",
        2 => "adaptive_max_pool2d",
        _ => "adaptive_max_pool3d",
    };
    let (out, places) = whole(name, [x], |[x]| adaptive_max_pool(x, size))?;
    Ok((named(out, if DIMS == 3 { &VOLUMES } else { &PLANES }), places))
}

/// The mean of each of so many parts of the last three dimensions.
pub(crate) fn adaptive_avg_pool3d(x: &Tensor, size: &[Option<usize>]) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "AdaptiveAvgPool3DBackward0",
        run: |_, g| undetermined(g, "adaptive_avg_pool3d_backward_cuda"),
    };
    checked("adaptive_avg_pool", x, 3)?;
    let (before, sizes) = x.shape().split_at(x.rank() - 3);
    let (&[d, h, w], &[deep, high, wide]) = (sizes, size) else {
        return Err(Error::runtime("adaptive_avg_pool3d(): output_size must have 3 elements"));
    };
    let [deep, high, wide] = [deep.unwrap_or(d), high.unwrap_or(h), wide.unwrap_or(w)];
    let n: usize = before.iter().product();
    let out = in_single([x], |[x]| {
        let planes = adaptive_avg_pool2d(&reshape_to(x, &[n, d, h, w])?, [Some(high), Some(wide)])?;
        adaptive_avg_pool2d(&reshape_to(&planes, &[n, 1, d, high * wide])?, [Some(deep), None])
    })?;
    let shape: Vec<usize> = before.iter().copied().chain([deep, high, wide]).collect();
    Ok(named(reshape_to(&out, &shape)?, &RULE))
}

/// Runs a pool of the largest elements of `DIMS` dimensions.
fn run<const DIMS: usize>(a: AdaptiveMaxPoolParams) -> Result<Value> {
    let AdaptiveMaxPoolParams { input, output_size, return_indices, .. } = a;
    let (out, places) =
        adaptive_max::<DIMS>(input, &windows_for("adaptive_max_pool", input, output_size, DIMS)?)?;
    Ok(if return_indices { Value::List(vec![out.into(), places.into()]) } else { out.into() })
}

params! {
    AdaptiveMaxPoolParams {
        input: kind::Tensor, "what is divided in windows, `[channels, …]` or a batch of them";
        output_size: kind::Any, "how many windows there are, along all dimensions or along each; () keeps a size";
        return_indices: kind::Bool = false, "whether the places of the largest elements are given too";
    }
}

params! {
    AdaptiveAvgPool3dParams {
        input: kind::Tensor, "volumes, `[c, d, h, w]` or a batch of them";
        output_size: kind::Any, "how many means there are, along all dimensions or along each; () keeps a size";
    }
}

/// When such a pool fails.
pub(crate) const ADAPTIVE_ERRORS: &[&str] = &[
    "RuntimeError: the input has another number of dimensions, or one of size 0 that is not the batch",
    "RuntimeError: `output_size` has not as many numbers as there are dimensions",
    "RuntimeError: an output size is negative",
    shapes::NO_FLOAT,
];
/// [`ADAPTIVE_ERRORS`] of a function over several dimensions.
const CALL_ERRORS: &[&str] = &[
    "ValueError: the input has no more dimensions than `output_size` has numbers",
    "RuntimeError: the input has another number of dimensions, or one of size 0 that is not the batch",
    "RuntimeError: `output_size` has not as many numbers as there are dimensions",
    "RuntimeError: an output size is negative",
    shapes::NO_FLOAT,
];
const SIGNAL: Draw = Draw::of("x", &[2, 3, 7], Domain::Distinct);
const PLANE: Draw = Draw::of("x", &[2, 5, 4], Domain::Distinct);
const VOLUME: Draw = Draw::of("x", &[1, 2, 3, 5, 2], Domain::Distinct);

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "adaptive_max_pool1d",
        Family::Convolution,
        "The largest elements of nearly equal parts of the last dimension, as many as asked for.",
        AdaptiveMaxPoolParams::LIST,
        by_name!(AdaptiveMaxPoolParams, |a| run::<1>(a)),
    )
    .forms(FUNCTIONAL)
    .details("Parts overlap where the size does not divide. `return_indices` gives `[values, indices]`.")
    .shapes(shapes::ADAPTIVE1D)
    .errors(ADAPTIVE_ERRORS)
    .example("F::adaptive_max_pool1d(tensor([[1.0, 3.0, 2.0, 0.0]]), 2)", "tensor([[3., 2.]])")
    .samples(&[Sample::of("F::adaptive_max_pool1d(x, 3)", &[SIGNAL])]),
    OpDef::call(
        "adaptive_max_pool2d",
        Family::Convolution,
        "The largest elements of nearly equal parts of the last two dimensions, as many as asked for.",
        AdaptiveMaxPoolParams::LIST,
        by_name!(AdaptiveMaxPoolParams, |a| run::<2>(a)),
    )
    .forms(FUNCTIONAL)
    .details("Parts overlap where a size does not divide. `return_indices` gives `[values, indices]`.")
    .shapes(shapes::ADAPTIVE2D)
    .errors(CALL_ERRORS)
    .example("F::adaptive_max_pool2d(tensor([[[1.0, 2.0], [3.0, 4.0]]]), 1)", "tensor([[[4.]]])")
    .samples(&[
        Sample::of("F::adaptive_max_pool2d(x, 1)", &[PLANE]),
        Sample::of("F::adaptive_max_pool2d(x, [3, ()])", &[PLANE]),
    ]),
    OpDef::call(
        "adaptive_max_pool3d",
        Family::Convolution,
        "The largest elements of nearly equal parts of the last three dimensions, as many as asked for.",
        AdaptiveMaxPoolParams::LIST,
        by_name!(AdaptiveMaxPoolParams, |a| run::<3>(a)),
    )
    .forms(FUNCTIONAL)
    .details("Parts overlap where a size does not divide. `return_indices` gives `[values, indices]`.")
    .shapes(shapes::ADAPTIVE3D)
    .errors(CALL_ERRORS)
    .example("F::adaptive_max_pool3d(arange(8).float().reshape([1, 2, 2, 2]), 1)", "tensor([[[[7.]]]])")
    .samples(&[Sample::of("F::adaptive_max_pool3d(x, [2, 3, 1])", &[VOLUME])]),
    OpDef::call(
        "adaptive_avg_pool3d",
        Family::Convolution,
        "The means of nearly equal parts of the last three dimensions, as many as asked for.",
        AdaptiveAvgPool3dParams::LIST,
        by_name!(AdaptiveAvgPool3dParams, |a| {
            let size = windows_for("adaptive_avg_pool", a.input, a.output_size, 3)?;
            whole("adaptive_avg_pool3d", [a.input], |[x]| adaptive_avg_pool3d(x, &size)).map(Value::from)
        }),
    )
    .forms(FUNCTIONAL)
    .details("`output_size` is a number or `[depth, height, width]`; () keeps a size.")
    .shapes(shapes::ADAPTIVE3D)
    .errors(CALL_ERRORS)
    .example("F::adaptive_avg_pool3d(arange(8).float().reshape([1, 2, 2, 2]), 1)", "tensor([[[[3.5000]]]])")
    .samples(&[Sample::of("F::adaptive_avg_pool3d(x, [2, 3, 1])", &[VOLUME])]),
];

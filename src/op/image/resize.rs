//! Images and signals in other sizes: interpolation, and channels that become pixels.

use crate::base::{DType, Error, Kind, Result, Scalar};
use crate::device::poll;
use crate::op::core::args::to_value;
use crate::op::core::autocast::whole;
use crate::op::core::convert::{apart, to_dtype};
use crate::op::core::def::{Args, DefaultValue, Domain, Draw, FUNCTIONAL, Family, OpDef, Param, Sample};
use crate::op::core::format::MemoryFormat;
use crate::op::core::params::{Maybe, by_name, kind, kinds, params};
use crate::op::core::record::{named, undetermined, wants_determinism};
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::core::whole::{Whole, first};
use crate::op::core::wide::in_single;
use crate::op::elementwise::arithmetic::{add, mul};
use crate::op::gather::select::index_select;
use crate::op::shape::permute::permute;
use crate::op::shape::view::reshape_to;
use crate::tensor::Tensor;
use crate::tensor::autograd::Vjp;

use super::kernels::{CUBIC, EXACT, LINEAR, NEAREST};
use super::resample::{Filter, Resampling, resampled};

/// How [`interpolate`] finds values between those that are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum InterpolateMode {
    /// The one at or before the place.
    Nearest,
    /// The one whose middle is nearest.
    NearestExact,
    /// Between the two nearest along each dimension: `linear`, `bilinear` and `trilinear`.
    Linear,
    /// By weights of more elements.
    Weighted(Filter),
}

/// The size of one dimension's result, and how far its elements are apart in the input.
struct Axis {
    from: usize,
    to: usize,
    /// Given by the caller, and used instead of the ratio of the sizes.
    factor: Option<f64>,
}

/// What a resizing is asked for.
#[derive(Clone, Copy)]
pub struct Resize<'a> {
    pub size: Option<&'a [i64]>,
    pub factors: Option<&'a [f64]>,
    pub mode: &'a str,
    pub align: Option<bool>,
    /// Factors are those of the sizes that they lead to.
    pub recompute: bool,
    pub antialias: bool,
}

/// `x [n, channels, …]` with its trailing dimensions in other sizes.
pub fn interpolate(x: &Tensor, how: &Resize) -> Result<Tensor> {
    let dims = x.rank().saturating_sub(2);
    let mode = checked_mode(x.rank(), how)?;
    let (align, fixed) = (how.align.unwrap_or(false), wants_determinism(x));
    let mut axes = axes(x, dims, how)?;
    if how.recompute || mode == InterpolateMode::Weighted(Filter::Area) {
        axes.iter_mut().for_each(|axis| axis.factor = None);
    }
    // Only a batch can be empty, but where means of areas are taken, and there but for volumes.
    if how.mode == "area" && x.rank() == 5 {
        shapes::check_past_batch("adaptive_avg_pool", x, dims)?;
    }
    if how.mode != "area" && x.shape().iter().skip(1).any(|&size| size == 0) {
        return Err(Error::runtime(format!(
            "Non-empty {}D data tensor expected but got a tensor with sizes {:?}",
            x.rank(),
            x.shape()
        )));
    }
    let filter = match mode {
        InterpolateMode::Weighted(filter) => Some(filter),
        InterpolateMode::Linear if x.dtype() == DType::UInt8 => Some(Filter::Linear),
        _ => None,
    };
    let ways = Ways { mode, filter, align, antialias: how.antialias, fixed };
    match ways.kernel(dims) {
        Some(kernel) => kernel.run(&[x], &[], Box::new(move |all| ways.made(first(all)?, &axes))),
        None => ways.made(x, &axes),
    }
}

/// How sizes change, whatever they are.
#[derive(Clone, Copy)]
struct Ways {
    mode: InterpolateMode,
    filter: Option<Filter>,
    align: bool,
    antialias: bool,
    /// Determinism is asked for.
    fixed: bool,
}

impl Ways {
    /// The one kernel that a GPU has for it.
    fn kernel(self, dims: usize) -> Option<&'static Whole> {
        let of = match self.mode {
            InterpolateMode::Nearest => &NEAREST,
            InterpolateMode::NearestExact => &EXACT,
            InterpolateMode::Linear if self.filter.is_none() && (dims == 1 || !self.fixed) => &LINEAR,
            InterpolateMode::Weighted(Filter::Cubic) if !self.antialias && !self.fixed => {
                return Some(&CUBIC);
            }
            _ => return None,
        };
        of.get(dims.checked_sub(1)?)
    }

    /// The result, one dimension after the other.
    fn made(self, x: &Tensor, axes: &[Axis]) -> Result<Tensor> {
        let Ways { mode, align, fixed, .. } = self;
        let format = MemoryFormat::suggested(x);
        let Some(filter) = self.filter else {
            let along = |[x]: [&Tensor; 1]| {
                let each = |out: Tensor, (i, axis)| resized(&out, i as i64 + 2, axis, mode, align);
                axes.iter().enumerate().try_fold(x.clone(), each)
            };
            return match mode {
                InterpolateMode::Linear => {
                    Ok(alerting(format.applied(&apart(in_single([x], along)?, x)?)?, x.rank() - 2, fixed))
                }
                _ => format.applied(&apart(along([x])?, x)?),
            };
        };
        let plans: Vec<Resampling> = axes
            .iter()
            .map(|axis| Resampling {
                from: axis.from,
                to: axis.to,
                step: axis.step(align),
                align,
                antialias: self.antialias,
            })
            .collect();
        static CUBIC: Vjp = Vjp {
            name: "UpsampleBicubic2DBackward0",
            run: |_, g| undetermined(g, "upsample_bicubic2d_backward_out_cuda"),
        };
        let out = format.applied(&resampled(x, filter, &plans)?)?;
        let plain = filter == Filter::Cubic && !self.antialias && !fixed;
        Ok(if plain { named(out, &CUBIC) } else { out })
    }
}

impl Axis {
    /// How far elements of the result are apart in the input.
    fn step(&self, align: bool) -> f64 {
        match self.factor {
            _ if align && self.to > 1 => self.from.saturating_sub(1) as f64 / (self.to - 1) as f64,
            _ if align => 0.0,
            Some(factor) => 1.0 / factor,
            None => self.from as f64 / self.to as f64,
        }
    }
}

/// The gradients of linear interpolation add by atomics. Where determinism is asked for beforehand PyTorch computes two
/// and three dimensions by other functions, whose gradients do not.
fn alerting(out: Tensor, dims: usize, fixed: bool) -> Tensor {
    static LINEAR: Vjp = Vjp {
        name: "UpsampleLinear1DBackward0",
        run: |_, g| undetermined(g, "upsample_linear1d_backward_out_cuda"),
    };
    static BILINEAR: Vjp = Vjp {
        name: "UpsampleBilinear2DBackward0",
        run: |_, g| undetermined(g, "upsample_bilinear2d_backward_out_cuda"),
    };
    static TRILINEAR: Vjp = Vjp {
        name: "UpsampleTrilinear3DBackward0",
        run: |_, g| undetermined(g, "upsample_trilinear3d_backward_out_cuda"),
    };
    match dims {
        1 => named(out, &LINEAR),
        _ if fixed => out,
        2 => named(out, &BILINEAR),
        _ => named(out, &TRILINEAR),
    }
}

fn checked_mode(rank: usize, how: &Resize) -> Result<InterpolateMode> {
    use InterpolateMode::{Linear, Nearest, NearestExact, Weighted};
    let (mode, wants) = match how.mode {
        "nearest" => (Nearest, None),
        "nearest-exact" => (NearestExact, None),
        "area" => (Weighted(Filter::Area), None),
        "linear" => (Linear, Some(3)),
        "bilinear" if how.antialias => (Weighted(Filter::Linear), Some(4)),
        "bilinear" => (Linear, Some(4)),
        "trilinear" => (Linear, Some(5)),
        "bicubic" => (Weighted(Filter::Cubic), Some(4)),
        "lanczos" => (Weighted(Filter::Lanczos), Some(4)),
        other => {
            let text = format!("interpolate(): mode '{other}' is not known");
            let hint =
                "modes are nearest, nearest-exact, area, linear, bilinear, bicubic, trilinear and lanczos";
            return Err(Error::new(Kind::NotImplementedError, text).with_hint(hint));
        }
    };
    if wants.is_none() && how.align.is_some() {
        return Err(Error::value(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear",
        ));
    }
    let resampling = matches!(how.mode, "bilinear" | "bicubic" | "lanczos");
    if how.antialias && !(resampling && rank == 4) {
        return Err(Error::value(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input",
        ));
    }
    if how.mode == "lanczos" && !how.antialias {
        return Err(Error::value("Lanczos mode requires antialias=True"));
    }
    if how.mode == "lanczos" && how.align == Some(true) {
        return Err(Error::value("Lanczos mode does not support align_corners=True"));
    }
    if !(3..=5).contains(&rank) || wants.is_some_and(|want| want != rank) {
        let text = format!("Got {rank}D input, but {} mode needs {}D input", how.mode, wants.unwrap_or(4));
        return Err(Error::new(Kind::NotImplementedError, text));
    }
    Ok(mode)
}

fn axes(x: &Tensor, dims: usize, how: &Resize) -> Result<Vec<Axis>> {
    let from = x.shape().iter().skip(2).copied();
    match (how.size, how.factors) {
        (Some(_), None) if how.recompute => {
            Err(Error::value("recompute_scale_factor is not meaningful with an explicit size."))
        }
        (Some(_), Some(_)) => Err(Error::value("only one of size or scale_factor should be defined")),
        (None, None) => Err(Error::value("either size or scale_factor should be defined")),
        (Some(size), None) => {
            let sizes = spread(size, dims, "size")?;
            from.zip(sizes)
                .map(|(from, to)| match usize::try_from(to) {
                    Ok(to) if to > 0 && from > 0 => Ok(Axis { from, to, factor: None }),
                    _ => Err(Error::runtime(format!(
                        "Input and output sizes should be greater than 0, but got input size {from} and output size {to}"
                    ))),
                })
                .collect()
        }
        (None, Some(factors)) => {
            let factors = spread(factors, dims, "scale_factor")?;
            from.zip(factors)
                .map(|(from, factor)| {
                    let to = (from as f64 * factor).floor();
                    if !(1.0..1e12).contains(&to) || from == 0 {
                        return Err(Error::runtime(format!(
                            "Input and output sizes should be greater than 0, but got input size {from} and scale {factor}"
                        )));
                    }
                    Ok(Axis { from, to: to as usize, factor: Some(factor) })
                })
                .collect()
        }
    }
}

fn spread<T: Copy>(given: &[T], dims: usize, name: &str) -> Result<Vec<T>> {
    match given {
        [one] => Ok(vec![*one; dims]),
        all if all.len() == dims => Ok(all.to_vec()),
        all => Err(Error::value(format!(
            "Input and output must have the same number of spatial dimensions, but got input with {dims} spatial \
             dimensions and {name} of {} numbers",
            all.len()
        ))),
    }
}

fn resized(x: &Tensor, dim: i64, axis: &Axis, mode: InterpolateMode, align: bool) -> Result<Tensor> {
    if axis.from == axis.to && axis.factor.is_none_or(|f| f == 1.0) {
        return Ok(x.clone());
    }
    let last = axis.from.saturating_sub(1);
    // Places are found in the precision that PyTorch finds them in.
    let double = x.dtype() == DType::Float64;
    let rounded = |v: f64| if double { v } else { f64::from(v as f32) };
    let step = rounded(axis.step(align));
    let at = |i: usize| -> f64 {
        let i = i as f64;
        match mode {
            InterpolateMode::Nearest => f64::from(i as f32 * step as f32).floor(),
            InterpolateMode::NearestExact => f64::from((i as f32 + 0.5) * step as f32).floor(),
            _ if align => rounded(i * step),
            _ => rounded(rounded((i + 0.5) * step) - 0.5).max(0.0),
        }
    };
    let places = poll::listed((0..axis.to).map(at))?;
    let whole = poll::listed(places.iter().map(|p| (*p as usize).min(last) as i64))?;
    let chosen = picked(x, dim, &whole)?;
    if mode != InterpolateMode::Linear {
        return Ok(chosen);
    }
    let next = poll::listed(whole.iter().map(|&i| (i + 1).min(last as i64)))?;
    let shares = poll::listed(places.iter().zip(&whole).map(|(p, &i)| (p - i as f64).min(1.0)))?;
    let share = |values: &[f64], of: fn(f64) -> f64| -> Result<Tensor> {
        let numbers = poll::listed(values.iter().map(|&v| Scalar::Float(of(v))))?;
        let along = Tensor::from_numbers(&numbers, &[axis.to], x.dtype())?;
        let along =
            if x.device().is_cuda() { along.moved(&x.context(), false, "interpolate")? } else { along };
        let mut shape = vec![1; x.rank()];
        if let Some(size) = shape.get_mut(dim as usize) {
            *size = axis.to;
        }
        reshape_to(&along, &shape)
    };
    let (rest, own) = (share(&shares, |s| 1.0 - s)?, share(&shares, |s| s)?);
    let sum = add(&mul(&chosen, &rest)?, &mul(&picked(x, dim, &next)?, &own)?)?;
    if sum.dtype() == x.dtype() { Ok(sum) } else { to_dtype(&sum, x.dtype()) }
}

fn picked(x: &Tensor, dim: i64, places: &[i64]) -> Result<Tensor> {
    let index = Tensor::from_i64(places, &[places.len()])?;
    let index = if x.device().is_cuda() { index.moved(&x.context(), false, "interpolate")? } else { index };
    index_select(x, dim, &index)
}

/// `[…, c * r², h, w]` as `[…, c, h * r, w * r]`.
pub fn pixel_shuffle(x: &Tensor, factor: i64) -> Result<Tensor> {
    let (outer, [c, h, w]) = image(x, "pixel_shuffle", factor)?;
    let r = factor as usize;
    if !c.is_multiple_of(r * r) {
        return Err(Error::runtime(format!(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but \
             input.size(-3)={c} is not divisible by {}",
            r * r
        )));
    }
    let split = [&outer[..], &[c / (r * r), r, r, h, w]].concat();
    let n = outer.len() as i64;
    let order: Vec<i64> = (0..n).chain([n, n + 3, n + 1, n + 4, n + 2]).collect();
    let joined = [&outer[..], &[c / (r * r), h * r, w * r]].concat();
    let out = reshape_to(&permute(&reshape_to(x, &split)?, &order)?, &joined)?;
    MemoryFormat::suggested(x).applied(&apart(out, x)?)
}

/// `[…, c, h * r, w * r]` as `[…, c * r², h, w]`.
pub fn pixel_unshuffle(x: &Tensor, factor: i64) -> Result<Tensor> {
    let (outer, [c, h, w]) = image(x, "pixel_unshuffle", factor)?;
    let r = factor as usize;
    for (name, at, size) in [("height", -2, h), ("width", -1, w)] {
        if !size.is_multiple_of(r) {
            return Err(Error::runtime(format!(
                "pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({at})={size} is not \
                 divisible by {r}"
            )));
        }
    }
    let split = [&outer[..], &[c, h / r, r, w / r, r]].concat();
    let n = outer.len() as i64;
    let order: Vec<i64> = (0..n).chain([n, n + 2, n + 4, n + 1, n + 3]).collect();
    let joined = [&outer[..], &[c * r * r, h / r, w / r]].concat();
    let out = reshape_to(&permute(&reshape_to(x, &split)?, &order)?, &joined)?;
    MemoryFormat::suggested(x).applied(&apart(out, x)?)
}

fn image(x: &Tensor, name: &str, factor: i64) -> Result<(Vec<usize>, [usize; 3])> {
    let [outer @ .., c, h, w] = x.shape() else {
        return Err(Error::runtime(format!(
            "{name} expects input to have at least 3 dimensions, but got input with {} dimension(s)",
            x.rank()
        )));
    };
    if !(1..=1 << 16).contains(&factor) {
        return Err(Error::runtime(format!("{name} expects a positive factor, but got {factor}")));
    }
    Ok((outer.to_vec(), [*c, *h, *w]))
}

/// The channels of `[n, c, …]` dealt out over groups.
pub(crate) fn channel_shuffle(x: &Tensor, groups: i64) -> Result<Tensor> {
    let [n, c, rest @ ..] = x.shape() else {
        return Err(Error::runtime(format!(
            "channel_shuffle expects input with > 2 dims, but got input with sizes {:?}",
            x.shape()
        )));
    };
    let Some(g) = usize::try_from(groups).ok().filter(|g| *g > 0) else {
        let text = "Number of groups to divide channels in must be positive. Value of groups:";
        return Err(Error::runtime(format!("{text}{groups}")));
    };
    if !c.is_multiple_of(g) {
        return Err(Error::runtime(format!(
            "Number of channels must be divisible by groups. Got {c} channels and {g} groups."
        )));
    }
    let split = [&[*n, g, c / g][..], rest].concat();
    let turned = crate::op::shape::permute::transpose(&reshape_to(x, &split)?, 1, 2)?;
    apart(reshape_to(&turned, x.shape())?, x)
}

/// The factors of an argument, one or one for each dimension.
fn factors(a: &Args, at: usize) -> Result<Option<Vec<f64>>> {
    match a.get(at) {
        Value::None => Ok(None),
        Value::Scalar(s) => Ok(Some(vec![s.as_f64()])),
        other => other.floats().map(Some).ok_or_else(|| a.wrong(at, other)),
    }
}

kinds! {
    /// Factors, one or one for each dimension, if any.
    pub ScaleFactor(Object) => Option<Vec<f64>>, factors;
    /// Whether corners are aligned, where that is said.
    pub AlignCorners(Any) => Option<bool>, |args: &Args, at| Ok(args.bool(at).ok());
}

pub(crate) const fn row(
    name: &'static str,
    summary: &'static str,
    params: &'static [Param],
    run: fn(&Args) -> Result<Value>,
) -> OpDef {
    OpDef::call(name, Family::Convolution, summary, params, run).forms(FUNCTIONAL)
}

const IMAGE: &[Draw] = &[Draw::of("x", &[2, 3, 4, 3], Domain::Any)];
const SIGNAL: &[Draw] = &[Draw::of("x", &[2, 3, 5], Domain::Any)];
const CHANNELS: &[Draw] = &[Draw::of("x", &[2, 4, 2, 2], Domain::Any)];

params! {
    InterpolateParams {
        input: kind::Tensor, "signals, images or volumes, `[n, channels, …]`";
        size: Maybe<kind::Ints>, "how large the trailing dimensions of the output are";
        scale_factor: ScaleFactor => DefaultValue::None, "how many times as large they are, instead of `size`";
        mode: kind::Str = "nearest", "how values between those that are there are found";
        align_corners: AlignCorners => DefaultValue::None, "whether the outermost values stay where they are";
        recompute_scale_factor: Maybe<kind::Bool>, "whether places are found by the sizes that factors lead to, not by the factors";
        antialias: kind::Bool = false, "whether a smaller image's pixels take in all that they cover";
    }
}

params! {
    PixelShuffleParams {
        input: kind::Tensor, "the images, `[…, c, h, w]`";
        upscale_factor: kind::Int, "how many times as high and as wide they become";
    }
}

params! {
    PixelUnshuffleParams {
        input: kind::Tensor, "the images, `[…, c, h, w]`";
        downscale_factor: kind::Int, "how many times less high and less wide they become";
    }
}

params! {
    ChannelShuffleParams {
        input: kind::Tensor, "the batch; dimension 1 holds its channels";
        groups: kind::Int, "how many groups the channels are dealt out over";
    }
}

params! {
    UpsampleParams {
        input: kind::Tensor, "signals, images or volumes, `[n, channels, …]`";
        size: Maybe<kind::Ints>, "how large the trailing dimensions of the output are";
        scale_factor: ScaleFactor => DefaultValue::None, "how many times as large they are, instead of `size`";
        mode: kind::Str = "nearest", "how values between those that are there are found";
        align_corners: AlignCorners => DefaultValue::None, "whether the outermost values stay where they are";
    }
}

/// [`interpolate`] as a call, which autocast knows but for means over areas: those are a pooling.
fn called(x: &Tensor, how: &Resize) -> Result<Value> {
    match how.mode {
        "area" => to_value(interpolate(x, how)),
        _ => to_value(whole("interpolate", [x], |[x]| interpolate(x, how))),
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    row(
        "upsample",
        "The older name of `interpolate`.",
        UpsampleParams::LIST,
        by_name!(UpsampleParams, |a| {
            let how = Resize {
                size: a.size.as_deref(),
                factors: a.scale_factor.as_deref(),
                mode: a.mode,
                align: a.align_corners,
                recompute: false,
                antialias: false,
            };
            called(a.input, &how)
        }),
    )
    .shapes("(N, C, …) -> (N, C, size…), or each size times its factor, rounded down")
    .errors(&[
        "ValueError: there is neither a size nor a factor, or both",
        "NotImplementedError: the mode is for another number of dimensions",
        "RuntimeError: a size of the result would not be above 0",
    ])
    .example("F::upsample(tensor([[[1.0, 3.0]]]), 4)", "tensor([[[1., 1., 3., 3.]]])"),
    row(
        "interpolate",
        "Resizes the trailing dimensions of signals, images or volumes `[n, channels, …]`.",
        InterpolateParams::LIST, by_name!(InterpolateParams, |a| {
    let how = Resize {
        size: a.size.as_deref(),
        factors: a.scale_factor.as_deref(),
        mode: a.mode,
        align: a.align_corners,
        recompute: a.recompute_scale_factor.unwrap_or(false),
        antialias: a.antialias,
    };
    called(a.input, &how)
}),
    )
    .details(
        "To a `size`, or by a `scale_factor`. `mode` is \"nearest\", \"nearest-exact\", \"area\", or \"linear\", \
         \"bilinear\" and \"trilinear\" for one, two and three dimensions; for images also \"bicubic\" and, with \
         `antialias`, \"lanczos\". `align_corners` puts the first and last elements of both onto \
         each other. On a GPU the gradient is added in any order, unless use_deterministic_algorithms asks \
         for one; of \"linear\" it then is an error, as in PyTorch.",
    )
    .shapes("(N, C, …) -> (N, C, size…), or each size times its factor, rounded down")
    .errors(&[
        "ValueError: there is neither a size nor a factor, or both",
        "ValueError: `antialias` stands beside a mode that has none",
        "NotImplementedError: the mode is for another number of dimensions",
        "RuntimeError: a size of the result would not be above 0",
    ])
    .example(
        "F::interpolate(tensor([[[1.0, 3.0]]]), #{scale_factor: 2, mode: \"linear\"})",
        "tensor([[[1.0000, 1.5000, 2.5000, 3.0000]]])",
    )
    .samples(&[
        Sample::of("F::interpolate(x, [5, 7])", IMAGE),
        Sample::of("F::interpolate(x, [6, 2], #{mode: \"bilinear\"})", IMAGE),
        Sample::of("F::interpolate(x, [6, 2], #{mode: \"bilinear\", align_corners: true})", IMAGE),
        Sample::of("F::interpolate(x, #{scale_factor: 1.7, mode: \"linear\"})", SIGNAL),
        Sample::of("F::interpolate(x, [5, 2], #{mode: \"area\"})", IMAGE),
        Sample::of("F::interpolate(x, [6, 2], #{mode: \"bicubic\"})", IMAGE),
        Sample::of("F::interpolate(x, [2, 2], #{mode: \"bicubic\", antialias: true})", IMAGE),
    ]),
    row(
        "pixel_shuffle",
        "Channels of images as pixels: `[n, c * r², h, w]` becomes `[n, c, h * r, w * r]`.",
        PixelShuffleParams::LIST, by_name!(PixelShuffleParams, |a| pixel_shuffle(a.input, a.upscale_factor).map(Value::from)),
    )
    .shapes("(…, C r², H, W) -> (…, C, H r, W r)")
    .errors(&["RuntimeError: the channels do not divide by r²"])
    .example("F::pixel_shuffle(arange(4).reshape([4, 1, 1]), 2)", "tensor([[[0, 1],\n         [2, 3]]])")
    .samples(&[Sample::of("F::pixel_shuffle(x, 2)", CHANNELS)]),
    row(
        "pixel_unshuffle",
        "Pixels of images as channels: undoes `F::pixel_shuffle`.",
        PixelUnshuffleParams::LIST, by_name!(PixelUnshuffleParams, |a| pixel_unshuffle(a.input, a.downscale_factor).map(Value::from)),
    )
    .shapes("(…, C, H r, W r) -> (…, C r², H, W)")
    .errors(&["RuntimeError: height or width does not divide by r"])
    .example("F::pixel_unshuffle(arange(4).reshape([1, 2, 2]), 2).flatten()", "tensor([0, 1, 2, 3])")
    .samples(&[Sample::of("F::pixel_unshuffle(x, 2)", CHANNELS)]),
    row(
        "channel_shuffle",
        "Deals the channels of `[n, channels, …]` out over groups.",
        ChannelShuffleParams::LIST, by_name!(ChannelShuffleParams, |a| channel_shuffle(a.input, a.groups).map(Value::from)),
    )
    .shapes("(N, C, …) -> the same")
    .errors(&["RuntimeError: the channels do not divide by `groups`"])
    .example("F::channel_shuffle(arange(4).reshape([1, 4, 1]), 2).flatten()", "tensor([0, 2, 1, 3])")
    .samples(&[Sample::of("F::channel_shuffle(x, 2)", CHANNELS)]),
];

//! Transposed convolutions over three dimensions, from those over two: each depth of a window is spread over planes, and
//! the planes are added up at the depths that they belong to.

use crate::base::{Error, Result};
use crate::op::core::autocast;
use crate::op::core::def::{BOTH, Domain, Draw, Family, Gradient, OpDef, Sample};
use crate::op::core::format::MemoryFormat;
use crate::op::core::params::by_name;
use crate::op::core::wide::in_single_on_cpu;
use crate::op::elementwise::arithmetic::add;
use crate::op::gather::select::add_in_order_;
use crate::op::normalise::shared::kept_channels;
use crate::op::shape::part::{narrow, select};
use crate::op::shape::permute::permute;
use crate::op::shape::view::{reshape_to, unsqueeze};
use crate::tensor::Tensor;

use super::conv::{ConvolutionOptions, Padding, check_places, check_ranks};
use super::transposed::{TransposedParams, call, check_channels, conv_transpose};
use super::volumes::{VolumePlan, plan, three};

const NAME: &str = "conv_transpose3d";

/// `x [n, c, d, h, w]` (or `[c, d, h, w]`) with `weight [c, o / groups, kd, kh, kw]`: `[n, o, d', h', w']`, each size
/// `(size - 1) * stride - 2 * padding + dilation * (k - 1) + output_padding + 1`.
pub(crate) fn conv_transpose3d(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvolutionOptions,
    output_padding: &[i64],
) -> Result<Tensor> {
    if let Some(casts) = autocast::enter(NAME, &[x, weight])? {
        let bias = casts.cast_option(bias)?;
        let (x, weight) = (casts.cast(x)?, casts.cast(weight)?);
        return conv_transpose3d(&x, &weight, bias.as_ref(), options, output_padding);
    }
    let _paused = crate::tensor::autocast::pause();
    let run = || {
        if x.rank() == 4 && weight.rank() == 5 {
            return select(&checked(&unsqueeze(x, 0)?, weight, bias, options, output_padding)?, 0, 0);
        }
        checked(x, weight, bias, options, output_padding)
    };
    run().map_err(|e| {
        e.in_op(NAME, || [Some(x), Some(weight), bias].into_iter().flatten().map(Tensor::operand).collect())
    })
}

fn checked(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvolutionOptions,
    output_padding: &[i64],
) -> Result<Tensor> {
    check_ranks(NAME, 3, x, weight)?;
    let (&[_, _, depth, h, w], &[_, _, kd, kh, kw]) = (x.shape(), weight.shape()) else {
        return Err(Error::runtime("conv_transpose3d: input and weight have five dimensions"));
    };
    let along = plan([kd, kh, kw], options)?;
    let Some(extra) = three(output_padding, "output_padding")? else {
        return Err(Error::runtime("negative output_padding is not supported"));
    };
    let Some(groups) = usize::try_from(options.groups).ok().filter(|g| *g > 0) else {
        return Err(Error::runtime("non-positive groups is not supported"));
    };
    check_places(x, weight, bias)?;
    check_channels(x, weight, bias, groups)?;
    let [deep, ..] = output_size([depth, h, w], [kd, kh, kw], &along, extra)?;
    let ([[before, _], ..], [stride, ..], [dilation, ..]) = (along.padding, along.stride, along.dilation);
    let reach = (depth as i64 - 1) * stride + dilation * (kd as i64 - 1) + 1;
    let full = reach.max(before + deep as i64) as usize;
    let run = |x: &Tensor, weight: &Tensor, bias: Option<&Tensor>| {
        let planes = spread(x, weight, &along, options.groups, extra)?;
        let &[n, filters, _, high, wide] = planes.shape() else {
            return Err(Error::runtime("conv_transpose3d: planes have five dimensions"));
        };
        let index = along.depths(depth, kd, x)?;
        let room =
            Tensor::full(&[n, filters, full, high * wide], 0i64.into(), x.dtype(), &x.context(), NAME)?;
        let parts = reshape_to(&planes, &[n, filters, depth * kd, high * wide])?;
        let added = narrow(&add_in_order_(&room, 2, &index, &parts, NAME)?, 2, before, deep as i64)?;
        let out = reshape_to(&added, &[n, filters, deep, high, wide])?;
        match bias {
            Some(b) => add(&out, &reshape_to(b, &kept_channels(out.shape()))?),
            None => Ok(out),
        }
    };
    let out = match bias {
        Some(bias) => in_single_on_cpu([x, weight, bias], |[x, weight, bias]| run(x, weight, Some(bias))),
        None => in_single_on_cpu([x, weight], |[x, weight]| run(x, weight, None)),
    };
    MemoryFormat::of_any(&[x, weight]).applied(&out?)
}

/// What each depth of the input comes to by each depth of the window: `[n, filters, depth * kd, h', w']`.
fn spread(x: &Tensor, weight: &Tensor, along: &VolumePlan, groups: i64, extra: [i64; 3]) -> Result<Tensor> {
    let (&[n, c, depth, h, w], &[_, each, kd, kh, kw]) = (x.shape(), weight.shape()) else {
        return Err(Error::runtime("conv_transpose3d: input and weight have five dimensions"));
    };
    let planes = reshape_to(&permute(x, &[0, 2, 1, 3, 4])?, &[n * depth, c, h, w])?;
    let flat = reshape_to(weight, &[c, each * kd, kh, kw])?;
    let [_, rows, columns] = along.padding.map(|[before, _]| before);
    let within = ConvolutionOptions {
        stride: along.stride.get(1..).unwrap_or(&[]).to_vec(),
        padding: Padding::Sizes(vec![rows, columns]),
        dilation: along.dilation.get(1..).unwrap_or(&[]).to_vec(),
        groups,
    };
    let out = conv_transpose(2, &planes, &flat, None, &within, extra.get(1..).unwrap_or(&[]))?;
    let (high, wide, filters) = (out.size(2)?, out.size(3)?, each * groups as usize);
    let out = permute(&reshape_to(&out, &[n, depth, filters, kd, high * wide])?, &[0, 2, 1, 3, 4])?;
    reshape_to(&out, &[n, filters, depth * kd, high, wide])
}

fn output_size(
    size: [usize; 3],
    kernel: [usize; 3],
    plan: &VolumePlan,
    extra: [i64; 3],
) -> Result<[usize; 3]> {
    let named =
        |what: &str, [d, h, w]: [i64; 3]| format!("{what}_depth: {d} {what}_height: {h} {what}_width: {w}");
    if kernel.contains(&0) {
        let text = named("kernel", kernel.map(|k| k as i64));
        return Err(Error::runtime(format!("kernel size should be greater than zero, but got {text}")));
    }
    let steps = plan.stride.iter().zip(&plan.dilation);
    if extra.iter().zip(steps).any(|(e, (stride, dilation))| e >= stride && e >= dilation) {
        return Err(Error::runtime(format!(
            "output padding must be smaller than either stride or dilation, but got {} {} {}",
            named("output_padding", extra),
            named("stride", plan.stride),
            named("dilation", plan.dilation)
        )));
    }
    let mut all = [0i128; 3];
    let steps = plan.stride.iter().zip(&plan.dilation).zip(&plan.padding).zip(&extra);
    for (out, ((n, k), (((s, l), [p, _]), e))) in all.iter_mut().zip(size.iter().zip(&kernel).zip(steps)) {
        let [n, k] = [n, k].map(|v| *v as i128);
        let [s, l, p, e] = [s, l, p, e].map(|v| i128::from(*v));
        *out = (n - 1) * s - 2 * p + l * (k - 1) + e + 1;
    }
    match all.map(|n| usize::try_from(n).ok().filter(|n| *n > 0)) {
        [Some(d), Some(h), Some(w)] => Ok([d, h, w]),
        _ => {
            let show = |[d, h, w]: [i128; 3]| format!("({d} x {h} x {w})");
            Err(Error::runtime(format!(
                "Given input size per channel: {}. Calculated output size per channel: {}. Output size is too small",
                show(size.map(|n| n as i128)),
                show(all)
            )))
        }
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[OpDef::call(
    NAME,
    Family::Convolution,
    "Spreads each element over a window of the output: `[n, c, d, h, w]` gives `[n, filters, d', h', w']`.",
    TransposedParams::LIST,
    by_name!(TransposedParams, |a| call(a, conv_transpose3d)),
)
.forms(BOTH)
.gradient(Gradient::Composite)
.details(
    "The weight is `[c, filters / groups, kd, kh, kw]`. Each dimension grows to `(size - 1) * stride - 2 * padding + \
     dilation * (k - 1) + output_padding + 1`.",
)
.shapes(
    "(N, C_in, D, H, W), weight (C_in, C_out / groups, kd, kh, kw) -> (N, C_out, D_out, H_out, W_out), each size as \
     above; N may be left out",
)
.errors(&[
    "RuntimeError: the weight is for another number of channels",
    "RuntimeError: `output_padding` is not below the stride or the dilation",
])
.example(
    "F::conv_transpose3d(ones([1, 1, 1, 1, 2]), ones([1, 1, 2, 1, 2]))",
    "tensor([[[[[1., 2., 1.]],\n\n          [[1., 2., 1.]]]]])",
)
.samples(&[
    Sample::of(
        "F::conv_transpose3d(x, w, b, #{stride: [2, 1, 2], padding: [1, 0, 1], output_padding: [1, 0, 0]})",
        &[
            Draw::of("x", &[2, 2, 2, 3, 2], Domain::Any),
            Draw::of("w", &[2, 3, 3, 2, 2], Domain::Any),
            Draw::of("b", &[3], Domain::Any),
        ],
    ),
    Sample::of(
        "F::conv_transpose3d(x, w, (), #{dilation: 2, groups: 2, output_padding: 1})",
        &[Draw::of("x", &[4, 2, 1, 2], Domain::Any), Draw::of("w", &[4, 1, 2, 2, 1], Domain::Any)],
    ),
])];

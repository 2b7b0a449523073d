//! Convolutions and pools over three dimensions, from those over two: the depths of a window join the channels of a
//! convolution, and a pool goes over planes first, then over depths.

use crate::base::{Error, Result};
use crate::op::arrange::pad::constant;
use crate::op::core::autocast::{self, whole};
use crate::op::core::def::{BOTH, Domain, Draw, FUNCTIONAL, Family, OpDef, Sample};
use crate::op::core::format::MemoryFormat;
use crate::op::core::params::by_name;
use crate::op::core::record::{named, no_grad, undetermined};
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::create::filled::Make;
use crate::op::create::ranges::arange;
use crate::op::elementwise::arithmetic::{add, floor_divide, mul};
use crate::op::gather::along_dim::gather;
use crate::op::gather::select::index_select;
use crate::op::shape::part::select;
use crate::op::shape::permute::permute;
use crate::op::shape::view::{reshape_to, unsqueeze};
use crate::tensor::Tensor;
use crate::tensor::autograd::Vjp;

use super::conv::{
    ConvolutionOptions, ConvolutionParams, Padding, call, check_channels, check_places, conv2d, not_dilated,
    taken, too_far,
};
use super::integers;
use super::pooling::{AvgPoolNdParams, MaxPoolPlacesParams, avg_pool2d, check_padding, max_pool2d};
use super::windows::{Pool, whole_means};

/// What a convolution does along each of three dimensions.
pub(super) struct VolumePlan {
    pub(super) stride: [i64; 3],
    pub(super) dilation: [i64; 3],
    /// Zeros before and after.
    pub(super) padding: [[i64; 2]; 3],
}

/// `x [n, c, d, h, w]` (or `[c, d, h, w]`) with `weight [o, c / groups, kd, kh, kw]`: `[n, o, d', h', w']`.
pub fn conv3d(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvolutionOptions,
) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("conv3d", &[x, weight])? {
        let bias = casts.cast_option(bias)?;
        return conv3d(&casts.cast(x)?, &casts.cast(weight)?, bias.as_ref(), options);
    }
    let run = || {
        if x.rank() == 4 {
            return select(&convolved(&unsqueeze(x, 0)?, weight, bias, options)?, 0, 0);
        }
        convolved(x, weight, bias, options)
    };
    let _paused = crate::tensor::autocast::pause();
    run().map_err(|e| {
        e.in_op("conv3d", || {
            [Some(x), Some(weight), bias].into_iter().flatten().map(Tensor::operand).collect()
        })
    })
}

fn convolved(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvolutionOptions,
) -> Result<Tensor> {
    let &[filters, inner, kd, kh, kw] = weight.shape() else {
        return Err(Error::runtime(format!(
            "Expected weight of conv3d to have 5 dimensions, but got weight of size {:?}",
            weight.shape()
        )));
    };
    let &[n, c, depth, h, w] = x.shape() else {
        return Err(Error::runtime(format!(
            "Expected 4D (unbatched) or 5D (batched) input to conv3d, but got input of size: {:?}",
            x.shape()
        ))
        .with_hint(taken(3)));
    };
    let plan = plan([kd, kh, kw], options)?;
    let Some(groups) = usize::try_from(options.groups).ok().filter(|g| *g > 0) else {
        return Err(Error::runtime("non-positive groups is not supported"));
    };
    check_places(x, weight, bias)?;
    check_channels(x, weight, bias, groups)?;
    let [depths, ..] = plan.fits([depth, h, w], [kd, kh, kw])?;
    let border: Vec<i64> = plan.padding.iter().rev().flatten().copied().collect();
    let padded = if border.iter().all(|p| *p == 0) { x.clone() } else { constant(x, &border, 0.0.into())? };
    let (high, wide) = (padded.size(3)?, padded.size(4)?);
    let index = plan.depths(depths, kd, x)?;
    let windows = reshape_to(&index_select(&padded, 2, &index)?, &[n, c, depths, kd, high, wide])?;
    let planes = reshape_to(&permute(&windows, &[0, 2, 1, 3, 4, 5])?, &[n * depths, c * kd, high, wide])?;
    let flat = reshape_to(weight, &[filters, inner * kd, kh, kw])?;
    let within = ConvolutionOptions {
        stride: plan.stride.iter().skip(1).copied().collect(),
        padding: Padding::Valid,
        dilation: plan.dilation.iter().skip(1).copied().collect(),
        groups: options.groups,
    };
    let out = conv2d(&planes, &flat, bias, &within)?;
    let (high, wide) = (out.size(2)?, out.size(3)?);
    let out = reshape_to(&out, &[n, depths, filters, high, wide])?;
    MemoryFormat::of_any(&[x, weight]).applied(&permute(&out, &[0, 2, 1, 3, 4])?)
}

impl VolumePlan {
    /// How many places the window has along each dimension, or PyTorch's error where it does not fit.
    fn fits(&self, sizes: [usize; 3], kernel: [usize; 3]) -> Result<[usize; 3]> {
        let (mut inner, mut outer, mut places) = ([0i64; 3], [0i64; 3], [0usize; 3]);
        let all = sizes
            .iter()
            .zip(kernel)
            .zip(&self.padding)
            .zip(self.stride.iter().zip(&self.dilation))
            .enumerate();
        for (i, (((&size, k), &[before, after]), (&stride, &dilation))) in all {
            let room = (size as i64).saturating_add(before).saturating_add(after);
            let span = dilation.saturating_mul((k as i64 - 1).max(0)).saturating_add(1);
            if let (Some(a), Some(b), Some(p)) = (inner.get_mut(i), outer.get_mut(i), places.get_mut(i)) {
                (*a, *b) = (room, if k == 0 { i64::MAX } else { span });
                *p = usize::try_from((room - span).div_euclid(stride.max(1)) + 1).unwrap_or(0);
            }
        }
        if inner.iter().zip(&outer).all(|(a, b)| a >= b) {
            return Ok(places);
        }
        let show = |[d, h, w]: [i64; 3]| format!("({d} x {h} x {w})");
        Err(Error::runtime(format!(
            "Calculated padded input size per channel: {}. Kernel size: {}. Kernel size can't be greater than actual \
             input size",
            show(inner),
            show(outer)
        )))
    }

    /// The depths that the window covers at each of its places.
    pub(super) fn depths(&self, places: usize, kernel: usize, beside: &Tensor) -> Result<Tensor> {
        let ([stride, ..], [dilation, ..]) = (self.stride, self.dilation);
        let make = Make { device: Some(beside.device().into()), ..Make::default() };
        let steps = |count: usize, by: i64| {
            arange(0i64.into(), (count as i64).saturating_mul(by).into(), by.into(), &make)
        };
        let all = add(&unsqueeze(&steps(places, stride)?, 1)?, &steps(kernel, dilation)?)?;
        reshape_to(&all, &[places * kernel])
    }
}

/// How a window moves over volumes, or PyTorch's error.
pub(super) fn plan(kernel: [usize; 3], options: &ConvolutionOptions) -> Result<VolumePlan> {
    let Some(stride) = three(&options.stride, "stride")?.filter(|s| s.iter().all(|v| *v > 0)) else {
        return Err(Error::runtime("non-positive stride is not supported"));
    };
    let Some(dilation) = three(&options.dilation, "dilation")?.filter(|s| s.iter().all(|v| *v > 0)) else {
        return Err(not_dilated(&three_of(&options.dilation).unwrap_or([0; 3])));
    };
    let padding = match &options.padding {
        Padding::Valid => [[0; 2]; 3],
        Padding::Sizes(sizes) => match three(sizes, "padding")? {
            Some(padding) => padding.map(|p| [p; 2]),
            None => return Err(Error::runtime("negative padding is not supported")),
        },
        Padding::Same if stride != [1; 3] => {
            return Err(Error::runtime("padding='same' is not supported for strided convolutions"));
        }
        Padding::Same => {
            let mut both = [[0; 2]; 3];
            for ((slot, k), d) in both.iter_mut().zip(kernel).zip(dilation) {
                let total = d.saturating_mul((k as i64 - 1).max(0));
                *slot = [total / 2, total - total / 2];
            }
            both
        }
    };
    Ok(VolumePlan { stride, dilation, padding })
}

fn three_of(values: &[i64]) -> Option<[i64; 3]> {
    match values {
        [one] => Some([*one; 3]),
        _ => values.try_into().ok(),
    }
}

/// One number for each dimension, or for all; `None` where one is negative or absurdly large.
pub(super) fn three(values: &[i64], what: &str) -> Result<Option<[i64; 3]>> {
    let Some(all) = three_of(values) else {
        return Err(Error::runtime(format!(
            "expected {what} to be a single integer value or a list of 3 values to match the convolution dimensions, but \
             got {what}={values:?}"
        )));
    };
    let most = (1 << 31) - 1;
    if let (true, Some(&far)) = (what == "padding", values.iter().find(|v| **v > most)) {
        return Err(too_far(values, far));
    }
    Ok(Some(all.map(|v| v.min(most))).filter(|all| all.iter().all(|v| *v >= 0)))
}

/// A pool of three dimensions as one over planes and one over depths.
struct Split {
    planes: Pool,
    depths: Pool,
}

fn split(name: &str, pool: &Pool) -> Result<Split> {
    let each = |values: &[i64], what: &str| {
        three_of(values).ok_or_else(|| {
            Error::runtime(format!("{name}: {what} must either be a single int, or a tuple of three ints"))
        })
    };
    let size = each(&pool.size, "kernel_size")?;
    let stride = match pool.stride.as_deref() {
        None | Some([]) => size,
        Some(given) => each(given, "stride")?,
    };
    let (padding, dilation) = (each(&pool.padding, "padding")?, each(&pool.dilation, "dilation")?);
    let last = |v: [i64; 3]| v.iter().skip(1).copied().collect::<Vec<_>>();
    let first = |[d, ..]: [i64; 3], neutral: i64| vec![d, neutral];
    Ok(Split {
        planes: Pool {
            size: last(size),
            stride: Some(last(stride)),
            padding: last(padding),
            dilation: last(dilation),
            ..pool.clone()
        },
        depths: Pool {
            size: first(size, 1),
            stride: Some(first(stride, 1)),
            padding: first(padding, 0),
            dilation: first(dilation, 1),
            ..pool.clone()
        },
    })
}

/// Runs a pool over planes, then over depths, of `[n, c, d, h, w]` or `[c, d, h, w]`.
fn pooled(
    name: &str,
    x: &Tensor,
    pool: &Pool,
    run: impl Fn(&Tensor, &Pool) -> Result<Tensor>,
) -> Result<Tensor> {
    let both = split(name, pool)?;
    let (n, sizes) = match *x.shape() {
        [c, d, h, w] => (1, [c, d, h, w]),
        [n, c, d, h, w] => (n, [c, d, h, w]),
        _ => (0, [0; 4]),
    };
    if !matches!(x.rank(), 4 | 5) || sizes.contains(&0) {
        let text = "non-empty 4D or 5D (batch mode) tensor expected for input";
        check_padding(&pool.size, &pool.padding, &pool.dilation)?;
        let empty = sizes.iter().position(|&size| size == 0).filter(|_| name == "max_pool3d");
        if let Some(at) = empty.filter(|_| matches!(x.rank(), 4 | 5)) {
            return Err(Error::runtime(format!(
                "max_pool3d_with_indices_out_cpu_template(): Expected input to have non-zero size for non-batch \
                 dimensions, but input has sizes {:?} with dimension {} being empty",
                x.shape(),
                at + x.rank() - 4
            )));
        }
        return Err(Error::runtime(text).with_hint(format!("the input is {:?}", x.shape())));
    }
    let [c, d, h, w] = sizes;
    let planes = run(&reshape_to(x, &[n, c * d, h, w])?, &both.planes)?;
    let (high, wide) = (planes.size(2)?, planes.size(3)?);
    let columns = run(&reshape_to(&planes, &[n, c, d, high * wide])?, &both.depths)?;
    let deep = columns.size(2)?;
    let shape = [n, c, deep, high, wide];
    reshape_to(&columns, if x.rank() == 5 { &shape } else { shape.get(1..).unwrap_or(&[]) })
}

/// [`max_pool3d`] with the places of the elements among those of their channel.
pub(crate) fn max_pool3d_places(x: &Tensor, pool: &Pool) -> Result<(Tensor, Tensor)> {
    let out = max_pool3d(x, pool)?;
    let _off = no_grad();
    let both = split("max_pool3d", pool)?;
    let (before, sizes) = x.shape().split_at(x.rank().saturating_sub(3));
    let (&[d, h, w], &[.., deep, high, wide]) = (sizes, out.shape()) else {
        return Err(Error::runtime("max_pool3d gave no volumes"));
    };
    let n: usize = before.iter().product();
    let (planes, within) = max_pool2d(&reshape_to(x, &[n, d, h, w])?, &both.planes)?;
    let columns = reshape_to(&planes, &[n, 1, d, high * wide])?;
    let (_, along) = max_pool2d(&columns, &both.depths)?;
    let along = reshape_to(&along, &[n, deep * high * wide])?;
    let within = gather(&reshape_to(&within, &[n, d * high * wide])?, 1, &along)?;
    let plane = (high * wide) as i64;
    let places = add(&mul(&floor_divide(&along, plane)?, (h * w) as i64)?, &within)?;
    Ok((out.clone(), reshape_to(&places, out.shape())?))
}

/// The largest element of each window of three dimensions.
pub fn max_pool3d(x: &Tensor, pool: &Pool) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "MaxPool3DWithIndicesBackward0",
        run: |_, g| undetermined(g, "max_pool3d_with_indices_backward_cuda"),
    };
    let out =
        whole("max_pool3d", [x], |[x]| pooled("max_pool3d", x, pool, |x, pool| Ok(max_pool2d(x, pool)?.0)))?;
    Ok(named(MemoryFormat::suggested(x).applied(&out)?, &RULE))
}

/// The mean of each window of three dimensions.
pub fn avg_pool3d(x: &Tensor, pool: &Pool) -> Result<Tensor> {
    static RULE: Vjp =
        Vjp { name: "AvgPool3DBackward0", run: |_, g| undetermined(g, "avg_pool3d_backward_cuda") };
    if integers::concerned(x) {
        return whole_means(x, pool, None, 3, |x, pool| pooled("avg_pool3d", x, pool, avg_pool2d));
    }
    Ok(named(whole("avg_pool3d", [x], |[x]| pooled("avg_pool3d", x, pool, avg_pool2d))?, &RULE))
}

const VOLUME: Draw = Draw::of("x", &[1, 2, 4, 3, 5], Domain::Distinct);

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "conv3d",
        Family::Convolution,
        "Slides filters over the last three dimensions: `[n, c, d, h, w]` gives `[n, filters, d', h', w']`.",
        ConvolutionParams::LIST,
        by_name!(ConvolutionParams, |a| call(a, conv3d)),
    )
    .forms(BOTH)
    .details(
        "`stride`, `padding` and `dilation` are a number or one number per dimension; `padding` may be \"same\" (the \
         output keeps the input's size) or \"valid\" (none). The batch dimension may be left out.",
    )
    .shapes(
        "(N, C_in, D, H, W), weight (C_out, C_in / groups, kd, kh, kw) -> (N, C_out, D_out, H_out, W_out), each as \
         L_out of `F::conv1d`; N may be left out",
    )
    .errors(&[
        "RuntimeError: the weight is for another number of channels",
        "RuntimeError: the padded input is smaller than the kernel",
        "RuntimeError: padding is \"same\" and the stride not 1",
    ])
    .example("F::conv3d(ones([1, 1, 2, 2, 3]), ones([1, 1, 2, 2, 2]))", "tensor([[[[[8., 8.]]]]])")
    .samples(&[
        Sample::of(
            "F::conv3d(x, w, b, #{padding: 1, stride: [2, 1, 1]})",
            &[
                Draw::of("x", &[2, 2, 3, 4, 3], Domain::Any),
                Draw::of("w", &[3, 2, 2, 3, 2], Domain::Any),
                Draw::of("b", &[3], Domain::Any),
            ],
        ),
        Sample::of(
            "F::conv3d(x, w, (), #{padding: \"same\", dilation: [2, 1, 1], groups: 2})",
            &[Draw::of("x", &[4, 4, 3, 3], Domain::Any), Draw::of("w", &[2, 2, 2, 2, 3], Domain::Any)],
        ),
    ]),
    OpDef::call(
        "max_pool3d",
        Family::Convolution,
        "The largest element of each window over the last three dimensions.",
        MaxPoolPlacesParams::LIST,
        by_name!(MaxPoolPlacesParams, |a| {
            let (x, pool) = (a.pool.input, Pool::from(a.pool));
            if !a.return_indices {
                return max_pool3d(x, &pool).map(Value::from);
            }
            let (out, places) = whole("max_pool3d", [x], |[x]| max_pool3d_places(x, &pool))?;
            Ok(Value::List(vec![out.into(), places.into()]))
        }),
    )
    .forms(FUNCTIONAL)
    .details("The stride is the window's size where none is given. `return_indices` gives `[values, indices]`.")
    .shapes(shapes::POOL3D)
    .errors(shapes::POOL_ERRORS)
    .example(
        "F::max_pool3d(arange(8).float().reshape([1, 1, 2, 2, 2]), 2)",
        "tensor([[[[[7.]]]]])",
    )
    .samples(&[
        Sample::of("F::max_pool3d(x, 2)", &[VOLUME]),
        Sample::of("F::max_pool3d(x, [3, 2, 2], #{stride: 1, padding: [1, 0, 1], dilation: [1, 2, 1]})", &[VOLUME]),
    ]),
    OpDef::call(
        "avg_pool3d",
        Family::Convolution,
        "The mean of each window over the last three dimensions.",
        AvgPoolNdParams::LIST, by_name!(AvgPoolNdParams, |a| a.run(3, avg_pool3d)),
    )
    .forms(FUNCTIONAL)
    .details("Without `count_include_pad` the border does not count in the mean.")
    .shapes(shapes::AVG3D)
    .errors(shapes::AVG_ERRORS)
    .example(
        "F::avg_pool3d(arange(8).float().reshape([1, 1, 2, 2, 2]), 2)",
        "tensor([[[[[3.5000]]]]])",
    )
    .samples(&[
        Sample::of("F::avg_pool3d(x, 2)", &[VOLUME]),
        Sample::of("F::avg_pool3d(x, 2, #{stride: [1, 2, 2], padding: 1, count_include_pad: false})", &[VOLUME]),
    ]),
];

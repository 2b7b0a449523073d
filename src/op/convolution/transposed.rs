//! Transposed convolutions: what a convolution's gradient does to its input, as an operation of its own.

use crate::base::{Dims, Error, Result};
use crate::device::Kernel;
use crate::device::kernel::Conv;
use crate::op::core::autocast;
use crate::op::core::def::{Args, BOTH, Domain, Draw, Family, Gradient, OpDef, Sample};
use crate::op::core::operand::Operand;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::record::{no_grad, recorded, wanted};
use crate::op::core::value::Value;
use crate::op::core::wide::in_single_on_cpu;
use crate::op::elementwise::arithmetic::specs;
use crate::op::normalise::batch_norm::channel_sum;
use crate::op::normalise::shared::kept_channels;
use crate::op::shape::part::select;
use crate::op::shape::view::{reshape_to, unsqueeze};
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp};

use super::conv::{
    ConvolutionOptions, Padding, check_places, check_ranks, convolve, fitted, grad_weight, pair, plan, run,
    window,
};
use super::integers;

/// `x [n, c, …]` (or `[c, …]`) with `weight [c, o / groups, k, …]`: `[n, o, …]`, each dimension
/// `(size - 1) * stride - 2 * padding + dilation * (k - 1) + output_padding + 1`.
///
/// Errors are PyTorch's: channels that do not match, an output padding as large as the stride.
pub(crate) fn conv_transpose(
    dims: usize,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvolutionOptions,
    output_padding: &[i64],
) -> Result<Tensor> {
    let name = if dims == 1 { "conv_transpose1d" } else { "conv_transpose2d" };
    if let Some(casts) = autocast::enter(name, &[x, weight])? {
        let bias = casts.cast_option(bias)?;
        let (x, weight) = (casts.cast(x)?, casts.cast(weight)?);
        return conv_transpose(dims, &x, &weight, bias.as_ref(), options, output_padding);
    }
    let run = || {
        if x.rank() == dims + 1 && weight.rank() == dims + 2 {
            let batch = checked(name, dims, &unsqueeze(x, 0)?, weight, bias, options, output_padding)?;
            return select(&batch, 0, 0);
        }
        checked(name, dims, x, weight, bias, options, output_padding)
    };
    run().map_err(|e| {
        e.in_op(name, || [Some(x), Some(weight), bias].into_iter().flatten().map(Tensor::operand).collect())
    })
}

fn checked(
    name: &'static str,
    dims: usize,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvolutionOptions,
    output_padding: &[i64],
) -> Result<Tensor> {
    check_ranks(name, dims, x, weight)?;
    let (conv, _) = plan(dims, weight.shape(), options)?;
    let Some(extra) = pair(output_padding, dims, 0, "output_padding")? else {
        return Err(Error::runtime("negative output_padding is not supported"));
    };
    check_places(x, weight, bias)?;
    check_channels(x, weight, bias, conv.groups)?;
    let [rows, columns] = output_size(x, weight, conv, extra)?;
    let filters = weight.shape().get(1).copied().unwrap_or(0).saturating_mul(conv.groups);
    let batch = x.shape().first().copied().unwrap_or(0);
    let shape: Dims = match dims {
        1 => [batch, filters, columns].into_iter().collect(),
        _ => [batch, filters, rows, columns].into_iter().collect(),
    };
    if integers::concerned(x) {
        return integers::transposed(x, weight, bias, conv, &shape);
    }
    transposed(name, x, weight, bias, conv, &shape)
}

pub(super) fn check_channels(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    groups: usize,
) -> Result<()> {
    let size = |t: &Tensor, d: usize| t.shape().get(d).copied().unwrap_or(0);
    let (channels, filters) = (size(weight, 0), size(weight, 1).saturating_mul(groups));
    if channels < groups {
        return Err(Error::runtime(format!(
            "Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size {:?} \
             instead",
            weight.shape()
        )));
    }
    if !channels.is_multiple_of(groups) {
        return Err(Error::runtime(format!(
            "Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of \
             size [{:?}] instead",
            weight.shape()
        )));
    }
    if size(x, 1) != channels {
        return Err(Error::runtime(format!(
            "Given transposed=1, weight of size {:?}, expected input{:?} to have {channels} channels, but got {} \
             channels instead",
            weight.shape(),
            x.shape(),
            size(x, 1)
        ))
        .with_hint("a transposed convolution's weight is `[in_channels, out_channels / groups, …]`"));
    }
    match bias {
        Some(b) if b.shape() != [filters] => Err(Error::runtime(format!(
            "Given transposed=1, weight of size {:?}, expected bias to be 1-dimensional with {filters} elements, but \
             got bias of size {:?} instead",
            weight.shape(),
            b.shape()
        ))),
        _ => Ok(()),
    }
}

/// Height and width of the output.
fn output_size(x: &Tensor, weight: &Tensor, conv: Conv, extra: [usize; 2]) -> Result<[usize; 2]> {
    let (size, kernel) = (window(x.shape()), window(weight.shape()));
    if kernel.contains(&0) {
        return Err(Error::runtime(format!(
            "kernel size should be greater than zero, but got kernel_height: {} kernel_width: {}",
            kernel[0], kernel[1]
        )));
    }
    let fits = |e: usize, s: usize, d: usize| e < s || e < d;
    let small = |i: usize| match i {
        0 => fits(extra[0], conv.stride[0], conv.dilation[0]),
        _ => fits(extra[1], conv.stride[1], conv.dilation[1]),
    };
    if !(small(0) && small(1)) {
        return Err(Error::runtime(format!(
            "output padding must be smaller than either stride or dilation, but got output_padding_height: {} \
             output_padding_width: {} stride_height: {} stride_width: {} dilation_height: {} dilation_width: {}",
            extra[0], extra[1], conv.stride[0], conv.stride[1], conv.dilation[0], conv.dilation[1]
        )));
    }
    let along = |n: usize, k: usize, s: usize, p: usize, d: usize, e: usize| -> i128 {
        let [n, k, s, p, d, e] = [n, k, s, p, d, e].map(|v| v as i128);
        (n - 1) * s - 2 * p + d * (k - 1) + e + 1
    };
    let rows = along(size[0], kernel[0], conv.stride[0], conv.padding[0], conv.dilation[0], extra[0]);
    let columns = along(size[1], kernel[1], conv.stride[1], conv.padding[1], conv.dilation[1], extra[1]);
    match (usize::try_from(rows), usize::try_from(columns)) {
        (Ok(rows), Ok(columns)) if rows > 0 && columns > 0 => Ok([rows, columns]),
        _ => Err(Error::runtime(format!(
            "Given input size per channel: ({} x {}). Calculated output size per channel: ({rows} x {columns}). Output \
             size is too small",
            size[0], size[1]
        ))),
    }
}

fn transposed(
    name: &'static str,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    conv: Conv,
    shape: &[usize],
) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "ConvolutionBackward0", run: transposed_grad };
    let out = {
        let _quiet = no_grad();
        let plain = |[x, weight]: [&Tensor; 2]| run(name, Kernel::Conv2dGradInput(conv), &[x, weight], shape);
        match bias {
            None => plain([x, weight])?,
            Some(bias) => in_single_on_cpu([x, weight, bias], |[x, weight, bias]| {
                let out = plain([x, weight])?;
                let bias = reshape_to(bias, &kept_channels(shape))?;
                specs::Add.apply_in_place(&out, Operand::Tensor(&bias), [1.0, 0.0])?;
                Ok(out)
            })?,
        }
    };
    let inputs: Vec<&Tensor> = [Some(x), Some(weight), bias].into_iter().flatten().collect();
    Ok(recorded(out, &RULE, &inputs, |s, _| {
        s.input(x);
        s.input(weight);
        s.attribute(conv);
    }))
}

fn transposed_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (x, weight, &conv): (Tensor, Tensor, &Conv) = (s.tensor(0)?, s.tensor(1)?, s.attribute()?);
    Ok([
        wanted(s, 0, || fitted(convolve(g, &weight, None, conv)?, x.shape()))?,
        wanted(s, 1, || grad_weight(&x, g, conv, weight.shape()))?,
        wanted(s, 2, || channel_sum(g))?,
    ]
    .into_iter()
    .collect())
}

/// Runs a transposed convolution by its arguments.
pub(super) fn call(
    a: TransposedParams,
    run: fn(&Tensor, &Tensor, Option<&Tensor>, &ConvolutionOptions, &[i64]) -> Result<Tensor>,
) -> Result<Value> {
    let TransposedParams { input, weight, bias, stride, dilation, groups, .. } = a;
    let options = ConvolutionOptions { stride, padding: Padding::Sizes(a.padding), dilation, groups };
    run(input, weight, bias, &options, &a.output_padding).map(Value::from)
}

pub(crate) const fn row(name: &'static str, summary: &'static str, run: fn(&Args) -> Result<Value>) -> OpDef {
    OpDef::call(name, Family::Convolution, summary, TransposedParams::LIST, run)
        .forms(BOTH)
        .gradient(Gradient::Vjp("ConvolutionBackward0"))
        .details(
            "The weight is `[c, filters / groups, …]`. Each dimension grows to `(size - 1) * stride - 2 * padding + \
             dilation * (k - 1) + output_padding + 1`: it undoes what a convolution of the same options does to sizes.",
        )
}

params! {
    pub(super) TransposedParams {
        input: kind::Tensor, "what is spread over the output, `[n, channels, …]`";
        weight: kind::Tensor, "the filters, `[channels, filters / groups, …]`";
        bias: Maybe<kind::Tensor>, "what is added to the results of each filter, or none";
        stride: kind::Ints = 1, "how many places apart the filters are laid";
        padding: kind::Ints = 0, "how much of the output's border is left out";
        output_padding: kind::Ints = 0, "how many places are added at the far end";
        groups: kind::Int = 1, "how many groups channels and filters form, each on its own";
        dilation: kind::Ints = 1, "how far the elements of a filter are from each other";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    row(
        "conv_transpose1d",
        "Spreads each element over a window of the output: `[n, c, l]` gives `[n, filters, l']`.",
        by_name!(TransposedParams, |a| call(a, |x, w, b, o, e| conv_transpose(1, x, w, b, o, e))),
    )
    .shapes("(N, C_in, L), weight (C_in, C_out / groups, k) -> (N, C_out, L_out), L_out as above; N may be left out")
    .errors(&[
        "RuntimeError: the weight is for another number of channels",
        "RuntimeError: `output_padding` is not below the stride or the dilation",
    ])
    .example("F::conv_transpose1d(ones([1, 1, 3]), ones([1, 1, 2]))", "tensor([[[1., 2., 2., 1.]]])")
    .samples(&[Sample::of(
        "F::conv_transpose1d(x, w, b, #{stride: 2, padding: 1, output_padding: 1})",
        &[
            Draw::of("x", &[2, 3, 4], Domain::Any),
            Draw::of("w", &[3, 2, 3], Domain::Any),
            Draw::of("b", &[2], Domain::Any),
        ],
    )]),
    row(
        "conv_transpose2d",
        "Spreads each element over a window of the output: `[n, c, h, w]` gives `[n, filters, h', w']`.",
        by_name!(TransposedParams, |a| call(a, |x, w, b, o, e| conv_transpose(2, x, w, b, o, e))),
    )
    .shapes(
        "(N, C_in, H, W), weight (C_in, C_out / groups, kh, kw) -> (N, C_out, H_out, W_out), each size as above; N \
         may be left out",
    )
    .errors(&[
        "RuntimeError: the weight is for another number of channels",
        "RuntimeError: `output_padding` is not below the stride or the dilation",
    ])
    .example(
        "F::conv_transpose2d(ones([1, 1, 2, 2]), ones([1, 1, 2, 2]), #{stride: 2}).shape",
        "[1, 1, 4, 4]",
    )
    .samples(&[
        Sample::of(
            "F::conv_transpose2d(x, w, b, #{stride: [2, 1], padding: [1, 0], output_padding: [1, 0]})",
            &[
                Draw::of("x", &[2, 2, 3, 2], Domain::Any),
                Draw::of("w", &[2, 3, 3, 2], Domain::Any),
                Draw::of("b", &[3], Domain::Any),
            ],
        ),
        Sample::of(
            "F::conv_transpose2d(x, w, (), #{dilation: 2, groups: 2, output_padding: 1})",
            &[Draw::of("x", &[1, 4, 2, 3], Domain::Any), Draw::of("w", &[4, 1, 2, 2], Domain::Any)],
        ),
    ]),
];

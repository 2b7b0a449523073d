//! Convolutions over one and two dimensions. Both run on the two-dimensional kernel; a gradient is again a
//! convolution, so derivatives of any order are recorded.

use smallvec::SmallVec;

use crate::base::error::{conversion_of_bias, conversion_of_input};
use crate::base::{DType, Dims, Error, Layout, Result, Scalar};
use crate::device::Kernel;
use crate::device::kernel::Conv;
use crate::op::core::autocast;
use crate::op::core::def::{Args, BOTH, DefaultValue, Domain, Draw, Family, Gradient, OpDef, Sample};
use crate::op::core::format::MemoryFormat;
use crate::op::core::params::{Maybe, by_name, kind, kinds, params};
use crate::op::core::record::{recorded, wanted};
use crate::op::core::value::Value;
use crate::op::gather::along_dim::same_place;
use crate::op::normalise::batch_norm::channel_sum;
use crate::op::shape::view::unsqueeze;
use crate::tensor::autograd::{Grads, Saved, Vjp};
use crate::tensor::{In, Tensor, launch};

use super::integers;

/// The border of a convolution.
#[derive(Clone, Debug, PartialEq)]
pub enum Padding {
    /// Zeros on both sides of each dimension.
    Sizes(Vec<i64>),
    /// As many zeros as keep the size; the odd one goes to the far side.
    Same,
    Valid,
}

/// What a convolution is asked for, as a learner gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvolutionOptions {
    pub stride: Vec<i64>,
    pub padding: Padding,
    pub dilation: Vec<i64>,
    pub groups: i64,
}

/// `x [n, c, l]` (or `[c, l]`) with `weight [o, c / groups, k]`: `[n, o, l']`.
pub fn conv1d(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvolutionOptions,
) -> Result<Tensor> {
    conv("conv1d", 1, x, weight, bias, options)
}

/// `x [n, c, h, w]` (or `[c, h, w]`) with `weight [o, c / groups, kh, kw]`: `[n, o, h', w']`.
///
/// Errors are PyTorch's: channels that do not match, a kernel larger than the padded input.
pub fn conv2d(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvolutionOptions,
) -> Result<Tensor> {
    conv("conv2d", 2, x, weight, bias, options)
}

impl Padding {
    /// An integer, an array of integers, `"same"` or `"valid"`.
    pub(crate) fn from_value(value: &Value) -> Result<Padding> {
        match value {
            Value::Scalar(Scalar::Int(n)) => Ok(Padding::Sizes(vec![*n])),
            Value::Str(s) if s == "same" => Ok(Padding::Same),
            Value::Str(s) if s == "valid" => Ok(Padding::Valid),
            Value::Str(s) => Err(Error::runtime(format!("Invalid padding string: '{s}'"))
                .with_hint("padding is \"same\", \"valid\", or a number of zeros")),
            Value::List(items) => {
                let sizes = items.iter().map(|v| match v {
                    Value::Scalar(Scalar::Int(n)) => Ok(*n),
                    other => Err(wrong_padding(other)),
                });
                sizes.collect::<Result<_>>().map(Padding::Sizes)
            }
            other => Err(wrong_padding(other)),
        }
    }
}

/// Values for `count` spatial dimensions, height first; one value stands for all, and the height of a
/// one-dimensional window is `neutral`. Negative and absurdly large values are `None`.
pub fn pair(values: &[i64], count: usize, neutral: usize, what: &str) -> Result<Option<[usize; 2]>> {
    let most = (1 << 31) - 1;
    if let (true, Some(&far)) = (what == "padding", values.iter().find(|v| **v > most)) {
        return Err(too_far(values, far));
    }
    // What goes beyond all of a signal is as good as the largest.
    let small = |v: i64| usize::try_from(v.min(most)).ok();
    let (first, second) = match (values, count) {
        (&[v], 1) => (Some(neutral), small(v)),
        (&[v], _) => (small(v), small(v)),
        (&[a, b], 2) => (small(a), small(b)),
        _ => {
            return Err(Error::runtime(format!(
                "expected {what} to be a single integer value or a list of {count} values to match the convolution \
                 dimensions, but got {what}={values:?}"
            )));
        }
    };
    Ok(first.zip(second).map(|(a, b)| [a, b]))
}

/// The error of a border for which no memory is enough.
pub(super) fn too_far(values: &[i64], far: i64) -> Error {
    let at = values.iter().position(|v| *v == far).unwrap_or(0);
    if far > i64::MAX / 2 {
        let text = format!(
            "Given padding={far} at dimension {at} , expected padding to be at most {}",
            i64::MAX / 2
        );
        return Error::runtime(text);
    }
    crate::base::memory::refused::<f32>(usize::try_from(far).unwrap_or(usize::MAX).saturating_mul(2))
}

fn wrong_padding(value: &Value) -> Error {
    let text = format!(
        "padding must be an integer, an array of them, \"same\" or \"valid\", not {}",
        value.describe()
    );
    Error::type_error(text)
}

fn conv(
    name: &'static str,
    dims: usize,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvolutionOptions,
) -> Result<Tensor> {
    if let Some(casts) = autocast::enter(name, &[x, weight])? {
        let bias = casts.cast_option(bias)?;
        return conv(name, dims, &casts.cast(x)?, &casts.cast(weight)?, bias.as_ref(), options);
    }
    let run = || {
        if x.rank() == dims + 1 {
            let batch = run_conv(name, dims, &unsqueeze(x, 0)?, weight, bias, options)?;
            return crate::op::shape::part::select(&batch, 0, 0);
        }
        run_conv(name, dims, x, weight, bias, options)
    };
    run().map_err(|e| {
        e.in_op(name, || [Some(x), Some(weight), bias].into_iter().flatten().map(Tensor::operand).collect())
    })
}

fn run_conv(
    name: &'static str,
    dims: usize,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvolutionOptions,
) -> Result<Tensor> {
    check_ranks(name, dims, x, weight)?;
    let (conv, far) = plan(dims, weight.shape(), options)?;
    check_places(x, weight, bias)?;
    check_channels(x, weight, bias, conv.groups)?;
    if far == [0, 0] {
        return convolve(x, weight, bias, conv);
    }
    let [rows, columns] = far.map(|n| n as i64);
    let border = if dims == 1 { vec![0, columns] } else { vec![0, columns, 0, rows] };
    convolve(&crate::op::arrange::pad::constant(x, &border, 0.0.into())?, weight, bias, conv)
}

/// The kernel's parameters, and the zeros that `"same"` needs on the far side only.
pub(super) fn plan(
    dims: usize,
    weight: &[usize],
    options: &ConvolutionOptions,
) -> Result<(Conv, [usize; 2])> {
    let invalid = |text: &str| Err(Error::runtime(text.to_string()));
    let positive = |values: &[i64], what| -> Result<Option<[usize; 2]>> {
        Ok(pair(values, dims, 1, what)?.filter(|p| !p.contains(&0)))
    };
    let Some(stride) = positive(&options.stride, "stride")? else {
        return invalid("non-positive stride is not supported");
    };
    let Some(dilation) = positive(&options.dilation, "dilation")? else {
        // PyTorch shows a dilation of 0, and none below it.
        return Err(not_dilated(&match options.dilation.as_slice() {
            [one] if dims == 1 => vec![1, *one],
            [one] => vec![*one; dims],
            many => many.to_vec(),
        }));
    };
    let Some(groups) = usize::try_from(options.groups).ok().filter(|g| *g > 0) else {
        return invalid("non-positive groups is not supported");
    };
    let (padding, far) = match &options.padding {
        Padding::Valid => ([0, 0], [0, 0]),
        Padding::Sizes(sizes) => match pair(sizes, dims, 0, "padding")? {
            Some(padding) => (padding, [0, 0]),
            None => return invalid("negative padding is not supported"),
        },
        Padding::Same if stride != [1, 1] => {
            return invalid("padding='same' is not supported for strided convolutions");
        }
        Padding::Same => {
            let size = window(weight);
            let total = |s: usize, d: usize| d.saturating_mul(s.saturating_sub(1));
            let both = [total(size[0], dilation[0]), total(size[1], dilation[1])];
            (both.map(|t| t / 2), both.map(|t| t % 2))
        }
    };
    Ok((Conv { stride, padding, dilation, groups }, far))
}

/// The error of a dilation that is not above 0 in each dimension.
pub(super) fn not_dilated(all: &[i64]) -> Error {
    let text = "dilation should be greater than zero";
    Error::runtime(match all.iter().any(|&one| one < 0) {
        true => text.to_owned(),
        false => format!("{text}, but got {all:?}"),
    })
}

/// What an operation over so many dimensions takes.
pub(super) fn taken(dims: usize) -> String {
    let of = match dims {
        1 => "channels, length",
        2 => "channels, height, width",
        _ => "channels, depth, height, width",
    };
    format!("it takes `[{of}]` or `[batch, {of}]`: `x.unsqueeze(0)` adds one dimension of size 1 in front")
}

pub(super) fn check_ranks(name: &str, dims: usize, x: &Tensor, weight: &Tensor) -> Result<()> {
    if weight.rank() < 3 {
        let text = "weight should have at least three dimensions";
        return Err(Error::runtime(text).with_hint(format!("the weight is {:?}", weight.shape())));
    }
    if weight.rank() != dims + 2 && x.rank() == dims + 2 {
        let (few, shape) = (weight.rank(), weight.shape());
        return Err(Error::runtime(format!(
            "Expected {few}-dimensional input for {few}-dimensional weight{shape:?}, but got {}-dimensional input of \
             size {:?} instead",
            x.rank(),
            x.shape()
        )));
    }
    if weight.rank() != dims + 2 {
        let text = format!(
            "Expected weight of {name} to have {} dimensions, but got weight of size {:?}",
            dims + 2,
            weight.shape()
        );
        return Err(Error::runtime(text));
    }
    if x.rank() != dims + 2 {
        return Err(Error::runtime(format!(
            "Expected {}D (unbatched) or {}D (batched) input to {name}, but got input of size: {:?}",
            dims + 1,
            dims + 2,
            x.shape()
        ))
        .with_hint(taken(dims)));
    }
    Ok(())
}

pub(super) fn check_places(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<()> {
    for (argument, t) in [("weight", Some(weight)), ("bias", bias)] {
        let Some(t) = t else { continue };
        same_place(x, argument, t, "wrapper_CUDA___slow_conv2d_forward")?;
        if t.dtype() != x.dtype() {
            let hint = match argument {
                "bias" => conversion_of_bias(x.dtype()),
                _ => conversion_of_input(x.dtype(), t.dtype()),
            };
            // A device looks at the weight's type of tensor before it looks at dtypes.
            let shown = |of: &Tensor| match (of.device().is_cuda() && argument == "weight", of.dtype()) {
                (false, dtype) => dtype.c_name().to_owned(),
                (true, DType::BFloat16) => "CUDABFloat16Type".to_owned(),
                (true, dtype) => format!("torch.cuda.{}Tensor", dtype.type_name()),
            };
            return Err(Error::runtime(format!(
                "Input type ({}) and {argument} type ({}) should be the same",
                shown(x),
                shown(t)
            ))
            .with_hint(hint));
        }
    }
    Ok(())
}

pub(super) fn check_channels(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    groups: usize,
) -> Result<()> {
    let size = |t: &Tensor, d: usize| t.shape().get(d).copied().unwrap_or(0);
    let (filters, channels) = (size(weight, 0), size(weight, 1).saturating_mul(groups));
    if filters < groups {
        return Err(Error::runtime(format!(
            "Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size {:?} \
             instead",
            weight.shape()
        )));
    }
    if !filters.is_multiple_of(groups) {
        return Err(Error::runtime(format!(
            "Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of \
             size [{:?}] instead",
            weight.shape()
        )));
    }
    if size(x, 1) != channels {
        return Err(Error::runtime(format!(
            "Given groups={groups}, weight of size {:?}, expected input{:?} to have {channels} channels, but got {} \
             channels instead",
            weight.shape(),
            x.shape(),
            size(x, 1)
        ))
        .with_hint("the layer's in_channels must be the input's dimension 1"));
    }
    match bias {
        Some(b) if b.shape() != [filters] => Err(Error::runtime(format!(
            "Given weight of size {:?}, expected bias to be 1-dimensional with {filters} elements, but got bias of \
             size {:?} instead",
            weight.shape(),
            b.shape()
        ))),
        _ => Ok(()),
    }
}

/// Height and width of a weight; the height of a one-dimensional one is 1.
pub(super) fn window(weight: &[usize]) -> [usize; 2] {
    match weight {
        [_, _, k] => [1, *k],
        [_, _, h, w] => [*h, *w],
        _ => [1, 1],
    }
}

/// Sizes after the convolution, or PyTorch's error where the window does not fit.
fn output_shape(x: &[usize], weight: &[usize], conv: &Conv) -> Result<Dims> {
    let spatial = |shape: &[usize]| window(shape);
    let ([h, w], [kh, kw]) = (spatial(x), spatial(weight));
    let padded = |n: usize, i: usize| n.saturating_add(2 * conv.padding.get(i).copied().unwrap_or(0));
    let wide = |k: usize, d: usize| k.saturating_sub(1).saturating_mul(d) + 1;
    let (inner, outer) =
        ([padded(h, 0), padded(w, 1)], [wide(kh, conv.dilation[0]), wide(kw, conv.dilation[1])]);
    let dims = x.len().saturating_sub(2);
    if kh == 0 || kw == 0 || inner[0] < outer[0] || inner[1] < outer[1] {
        let show = |sizes: [usize; 2]| match (dims, sizes) {
            (1, [_, w]) => format!("({w})"),
            (_, [h, w]) => format!("({h} x {w})"),
        };
        return Err(Error::runtime(format!(
            "Calculated padded input size per channel: {}. Kernel size: {}. Kernel size can't be greater than actual \
             input size",
            show(inner),
            show(outer)
        )));
    }
    let size = |i: usize, o: usize, s: usize| (i - o) / s + 1;
    let batch = x.first().copied().unwrap_or(1);
    let filters = weight.first().copied().unwrap_or(1);
    let mut shape: Dims = [batch, filters].into_iter().collect();
    if dims == 2 {
        shape.push(size(inner[0], outer[0], conv.stride[0]));
    }
    shape.push(size(inner[1], outer[1], conv.stride[1]));
    Ok(shape)
}

/// A tensor's layout with two spatial dimensions.
fn planar(t: &Tensor) -> Result<Layout> {
    if t.rank() == 3 { t.layout().unsqueeze(2) } else { Ok(t.layout().clone()) }
}

pub(super) fn run(op: &'static str, kernel: Kernel, inputs: &[&Tensor], shape: &[usize]) -> Result<Tensor> {
    let Some(first) = inputs.first() else { return Err(Error::runtime("a convolution without inputs")) };
    let format = MemoryFormat::of_any(inputs);
    let out = format.empty(shape, first.dtype(), first, op)?;
    // cuDNN wants all of them one way and without gaps, as PyTorch hands them over.
    let on_gpu = first.device().is_cuda();
    let fits = |t: &Tensor| t.rank() != 4 || (format == MemoryFormat::Contiguous && t.layout().is_dense());
    let inputs = inputs.iter().map(|t| match on_gpu && !fits(t) {
        true => format.applied(&t.detach()),
        false => Ok((*t).clone()),
    });
    let inputs = inputs.collect::<Result<SmallVec<[Tensor; 3]>>>()?;
    let layouts = inputs
        .iter()
        .map(|t| if t.rank() == 1 { Ok(t.layout().clone()) } else { planar(t) })
        .collect::<Result<Vec<_>>>()?;
    let laid: Vec<In> = inputs.iter().zip(&layouts).map(|(t, l)| In::Laid(t, l)).collect();
    launch(op, &kernel, &laid, &[&out.with_layout(planar(&out)?)])?;
    Ok(out)
}

pub(super) fn convolve(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, conv: Conv) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "ConvolutionBackward0", run: convolve_grad };
    if integers::is_narrow(x) {
        return integers::widened(x, weight, bias, |x, weight, bias| convolve(x, weight, bias, conv));
    }
    let shape = output_shape(x.shape(), weight.shape(), &conv)?;
    let name = if x.rank() == 3 { "conv1d" } else { "conv2d" };
    if integers::concerned(x) {
        return integers::convolve(x, weight, bias, conv, &shape);
    }
    let inputs: Vec<&Tensor> = [Some(x), Some(weight), bias].into_iter().flatten().collect();
    let out = run(name, Kernel::Conv2d(conv), &inputs, &shape)?;
    Ok(recorded(out, &RULE, &inputs, |s, _| {
        s.input(x);
        s.input(weight);
        s.attribute(conv);
    }))
}

fn convolve_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (x, weight, &conv): (Tensor, Tensor, &Conv) = (s.tensor(0)?, s.tensor(1)?, s.attribute()?);
    Ok([
        wanted(s, 0, || grad_input(g, &weight, conv, x.shape()))?,
        wanted(s, 1, || grad_weight(g, &x, conv, weight.shape()))?,
        wanted(s, 2, || channel_sum(g))?,
    ]
    .into_iter()
    .collect())
}

/// The gradient of the input, `shape`.
fn grad_input(g: &Tensor, weight: &Tensor, conv: Conv, shape: &[usize]) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "ConvolutionBackwardInput0",
        run: |s, gg| {
            let (g, weight, &conv): (Tensor, Tensor, &Conv) = (s.tensor(0)?, s.tensor(1)?, s.attribute()?);
            let left = wanted(s, 0, || convolve(gg, &weight, None, conv))?;
            let right = wanted(s, 1, || grad_weight(&g, gg, conv, weight.shape()))?;
            crate::op::core::record::two(left, right)
        },
    };
    let out = run("conv_backward_input", Kernel::Conv2dGradInput(conv), &[g, weight], shape)?;
    Ok(recorded(out, &RULE, &[g, weight], |s, _| {
        s.input(g);
        s.input(weight);
        s.attribute(conv);
    }))
}

/// The gradient of the weight, `shape`.
pub(super) fn grad_weight(g: &Tensor, x: &Tensor, conv: Conv, shape: &[usize]) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "ConvolutionBackwardWeight0",
        run: |s, gg| {
            let (g, x, &conv): (Tensor, Tensor, &Conv) = (s.tensor(0)?, s.tensor(1)?, s.attribute()?);
            let left = wanted(s, 0, || fitted(convolve(&x, gg, None, conv)?, g.shape()))?;
            let right = wanted(s, 1, || grad_input(&g, gg, conv, x.shape()))?;
            crate::op::core::record::two(left, right)
        },
    };
    let out = run("conv_backward_weight", Kernel::Conv2dGradWeight(conv), &[g, x], shape)?;
    Ok(recorded(out, &RULE, &[g, x], |s, _| {
        s.input(g);
        s.input(x);
        s.attribute(conv);
    }))
}

/// The part of a convolution's output that `shape` has: a transposed one's output padding beyond the stride leaves
/// room for more.
pub(super) fn fitted(mut out: Tensor, shape: &[usize]) -> Result<Tensor> {
    for (dim, &size) in shape.iter().enumerate().skip(2) {
        if out.size(dim as i64)? > size {
            out = crate::op::shape::part::narrow(&out, dim as i64, 0, size as i64)?;
        }
    }
    Ok(out)
}

kinds! {
    /// A border: sizes, or its name.
    pub(super) Border(Any) => Padding, |args: &Args, at| Padding::from_value(args.get(at));
}

params! {
    /// The parameters of every convolution.
    pub(super) ConvolutionParams {
        input: kind::Tensor, "what the filters slide over, `[n, channels, …]`";
        weight: kind::Tensor, "the filters, `[filters, channels / groups, …]`";
        bias: Maybe<kind::Tensor>, "what is added to the results of each filter, or none";
        stride: kind::Ints = 1, "how many places the filters move on";
        padding: Border => DefaultValue::Int(0), "how wide a border of zeros is, or \"same\" or \"valid\"";
        dilation: kind::Ints = 1, "how far the elements of a filter are from each other";
        groups: kind::Int = 1, "how many groups channels and filters form, each on its own";
    }
}

type ConvolutionFn = fn(&Tensor, &Tensor, Option<&Tensor>, &ConvolutionOptions) -> Result<Tensor>;

pub(super) fn call(a: ConvolutionParams, run: ConvolutionFn) -> Result<Value> {
    let ConvolutionParams { input, weight, bias, stride, padding, dilation, groups, .. } = a;
    run(input, weight, bias, &ConvolutionOptions { stride, padding, dilation, groups }).map(Value::from)
}

pub(crate) const fn row(name: &'static str, summary: &'static str, run: fn(&Args) -> Result<Value>) -> OpDef {
    OpDef::call(name, Family::Convolution, summary, ConvolutionParams::LIST, run)
        .forms(BOTH)
        .gradient(Gradient::Vjp("ConvolutionBackward0"))
        .details(
            "`stride`, `padding` and `dilation` are a number or one number per dimension; `padding` may be \"same\" \
             (the output keeps the input's size) or \"valid\" (none). The batch dimension may be left out. On a \
             GPU the gradient by the weight is added in any order, unless cudnn::deterministic asks for one; \
             cudnn::benchmark looks for a faster algorithm.",
        )
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    row(
        "conv1d",
        "Slides filters over the last dimension: `[n, c, l]` gives `[n, filters, l']`.",
        by_name!(ConvolutionParams, |a| call(a, conv1d)),
    )
    .shapes(
        "(N, C_in, L), weight (C_out, C_in / groups, k) -> (N, C_out, L_out), L_out = ⌊(L + 2 padding - dilation (k \
         - 1) - 1) / stride⌋ + 1, or L with padding \"same\"; N may be left out",
    )
    .errors(&[
        "RuntimeError: the weight is for another number of channels",
        "RuntimeError: the padded input is smaller than the kernel",
        "RuntimeError: padding is \"same\" and the stride not 1",
    ])
    .example("F::conv1d(ones([1, 1, 4]), ones([1, 1, 3]))", "tensor([[[3., 3.]]])")
    .samples(&[Sample::of(
        "F::conv1d(x, w, b, #{padding: 1, stride: 2})",
        &[
            Draw::of("x", &[2, 3, 7], Domain::Any),
            Draw::of("w", &[4, 3, 3], Domain::Any),
            Draw::of("b", &[4], Domain::Any),
        ],
    )]),
    row(
        "conv2d",
        "Slides filters over the last two dimensions: `[n, c, h, w]` gives `[n, filters, h', w']`.",
        by_name!(ConvolutionParams, |a| call(a, conv2d)),
    )
    .shapes(
        "(N, C_in, H, W), weight (C_out, C_in / groups, kh, kw) -> (N, C_out, H_out, W_out), each as L_out of \
         `F::conv1d`; N may be left out",
    )
    .errors(&[
        "RuntimeError: the weight is for another number of channels",
        "RuntimeError: the padded input is smaller than the kernel",
        "RuntimeError: padding is \"same\" and the stride not 1",
    ])
    .example(
        "F::conv2d(ones([1, 1, 3, 3]), ones([1, 1, 2, 2]))",
        "tensor([[[[4., 4.],\n          [4., 4.]]]])",
    )
    .samples(&[
        Sample::of(
            "F::conv2d(x, w, b, #{padding: 1, stride: [2, 1]})",
            &[
                Draw::of("x", &[2, 2, 5, 4], Domain::Any),
                Draw::of("w", &[3, 2, 3, 3], Domain::Any),
                Draw::of("b", &[3], Domain::Any),
            ],
        ),
        Sample::of(
            "F::conv2d(x, w, (), #{padding: \"same\", dilation: 2, groups: 2})",
            &[Draw::of("x", &[1, 4, 5, 4], Domain::Any), Draw::of("w", &[2, 2, 2, 3], Domain::Any)],
        ),
    ]),
];

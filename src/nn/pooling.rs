//! Pooling layers.

use crate::base::Result;
use crate::nn::made::constructor;
use crate::op::convolution::adaptive_size::adaptive_size;
use crate::op::convolution::pooling::{
    adaptive_avg_pool1d, adaptive_avg_pool2d, avg_pool1d, avg_pool2d, max_pool1d, max_pool1d_places,
    max_pool2d,
};
use crate::op::convolution::volumes::{avg_pool3d, max_pool3d, max_pool3d_places};
use crate::op::convolution::windows::{Pool, divided};
use crate::op::def::DefaultValue;
use crate::op::params::{Maybe, by_name, kind, params};
use crate::op::{Args, OpDef, Value, shapes};
use crate::tensor::Tensor;

use super::activation::Simple;
use super::adaptive::WithPlaces;
use super::module::Call;

params! {
    MaxPoolParams {
        kernel_size: kind::Ints, "how large the window is, along all dimensions or along each";
        stride: kind::Ints => DefaultValue::Ints(&[]), "how far the window moves on; without it by its own size";
        padding: kind::Ints = 0, "how wide the border is that windows may begin on; it is never the largest";
        dilation: kind::Ints = 1, "how far the elements of a window are from each other";
        return_indices: kind::Bool = false, "whether the places of the largest elements are given too";
        ceil_mode: kind::Bool = false, "whether a last window that hangs over the edge counts too";
    }
}

params! {
    AvgPoolParams {
        kernel_size: kind::Ints, "how large the window is, along all dimensions or along each";
        stride: kind::Ints => DefaultValue::Ints(&[]), "how far the window moves on; without it by its own size";
        padding: kind::Ints = 0, "how wide a border of zeros is";
        ceil_mode: kind::Bool = false, "whether a last window that hangs over the edge counts too";
        count_include_pad: kind::Bool = true, "whether the border's zeros count in a mean";
    }
}

params! {
    /// Of two and three dimensions.
    AvgPoolNdParams {
        ..pool: AvgPoolParams;
        divisor_override: Maybe<kind::Int>, "what sums of windows are divided by, in place of their size";
    }
}

params! {
    AdaptiveAvgPool1dParams {
        output_size: kind::Size, "how many means there are";
    }
}

params! {
    AdaptiveAvgPool2dParams {
        output_size: kind::Any, "how many means there are along height and width; () keeps the input's count";
    }
}

/// Each argument of a pool by name. The stride is the window's size where none is given.
fn shown<'a>(args: &'a Args) -> impl Iterator<Item = (&'static str, &'a Value)> {
    let size = args.each().find(|(param, _)| param.name == "kernel_size").map(|(_, value)| value);
    args.each().map(move |(param, value)| match (value, size) {
        (Value::List(items), Some(size)) if items.is_empty() && param.name == "stride" => (param.name, size),
        _ => (param.name, value),
    })
}

/// A layer that takes the largest of each window, and perhaps says where they lay.
fn largest(
    args: &Args,
    name: &'static str,
    run: fn(&Tensor, &Pool) -> Result<Tensor>,
    places: fn(&Tensor, &Pool) -> Result<(Tensor, Tensor)>,
) -> Result<Value> {
    let MaxPoolParams { kernel_size: size, stride, padding, dilation, return_indices, ceil_mode, .. } =
        MaxPoolParams::of(args)?;
    let pool = Pool { size, stride: Some(stride), padding, dilation, ceil_mode, count_include_pad: true };
    let placed = pool.clone();
    let module = Simple::new(name, move |c| run(c.only()?, &pool));
    let module = shown(args).fold(module, |module, (name, value)| match name {
        "return_indices" => module.hidden(name, value),
        _ => module.option(name, value),
    });
    if return_indices { WithPlaces::module(module, move |x| places(x, &placed)) } else { module.module() }
}

impl From<AvgPoolParams<'_>> for Pool {
    fn from(a: AvgPoolParams) -> Pool {
        let AvgPoolParams { kernel_size: size, stride, padding, ceil_mode, count_include_pad, .. } = a;
        Pool { size, stride: Some(stride), padding, dilation: vec![1], ceil_mode, count_include_pad }
    }
}

/// A layer that takes the mean of each window of signals.
fn mean(args: &Args) -> Result<Value> {
    let pool = Pool::from(AvgPoolParams::of(args)?);
    averaging(args, Simple::new("AvgPool1d", move |c| avg_pool1d(c.only()?, &pool)), single)
}

/// A layer that takes the mean of each window of so many dimensions, or its sum over a divisor.
fn mean_of(
    args: &Args,
    name: &'static str,
    dims: usize,
    run: fn(&Tensor, &Pool) -> Result<Tensor>,
) -> Result<Value> {
    let AvgPoolNdParams { pool, divisor_override: divisor, .. } = AvgPoolNdParams::of(args)?;
    let pool = Pool::from(pool);
    averaging(args, Simple::new(name, move |c| divided(c.only()?, &pool, divisor, dims, run)), Value::clone)
}

/// A layer of means with its options, and how they are printed.
fn averaging(args: &Args, module: Simple, as_shown: fn(&Value) -> Value) -> Result<Value> {
    let module = shown(args).fold(module, |module, (name, value)| match name {
        "ceil_mode" | "count_include_pad" | "divisor_override" => module.hidden(name, value),
        _ => module.option(name, &as_shown(value)),
    });
    module.module()
}

/// A number as an array of one, as PyTorch's pools of signals keep theirs.
fn single(value: &Value) -> Value {
    match value {
        Value::List(_) => value.clone(),
        other => Value::List(vec![other.clone()]),
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "MaxPool3d",
        "The largest element of each window over the last three dimensions.",
        MaxPoolParams::LIST,
        |a| largest(a, "MaxPool3d", max_pool3d, max_pool3d_places),
    )
    .shapes(shapes::POOL3D)
    .errors(shapes::POOL_ERRORS)
    .example(
        "nn::MaxPool3d(2)",
        "MaxPool3d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)",
    ),
    constructor(
        "AvgPool3d",
        "The mean of each window over the last three dimensions.",
        AvgPoolNdParams::LIST,
        |a| mean_of(a, "AvgPool3d", 3, avg_pool3d),
    )
    .shapes(shapes::AVG3D)
    .errors(shapes::AVG_ERRORS)
    .example("nn::AvgPool3d(2)", "AvgPool3d(kernel_size=2, stride=2, padding=0)"),
    constructor("MaxPool2d", "The largest element of each window.", MaxPoolParams::LIST, |a| {
        largest(a, "MaxPool2d", |x, pool| Ok(max_pool2d(x, pool)?.0), max_pool2d)
    })
    .shapes(shapes::POOL2D)
    .errors(shapes::POOL_ERRORS)
    .example(
        "nn::MaxPool2d(2)",
        "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)",
    ),
    constructor("AvgPool2d", "The mean of each window.", AvgPoolNdParams::LIST, |a| {
        mean_of(a, "AvgPool2d", 2, avg_pool2d)
    })
    .shapes(shapes::AVG2D)
    .errors(shapes::AVG_ERRORS)
    .example("nn::AvgPool2d(2)", "AvgPool2d(kernel_size=2, stride=2, padding=0)"),
    constructor(
        "AdaptiveAvgPool2d",
        "The means of nearly equal parts of the plane, as many as asked for.",
        AdaptiveAvgPool2dParams::LIST,
        by_name!(AdaptiveAvgPool2dParams, |a, args| {
            let size = adaptive_size(None, a.output_size)?;
            let run = move |c: &Call| adaptive_avg_pool2d(c.only()?, size);
            Simple::new("AdaptiveAvgPool2d", run).options_of(args).module()
        }),
    )
    .shapes(shapes::ADAPTIVE2D)
    .errors(&[
        "RuntimeError: an output size is negative",
        "RuntimeError: the input has neither three nor four dimensions",
    ])
    .example("nn::AdaptiveAvgPool2d(1)", "AdaptiveAvgPool2d(output_size=1)"),
    constructor(
        "MaxPool1d",
        "The largest element of each window along the last dimension.",
        MaxPoolParams::LIST,
        |a| largest(a, "MaxPool1d", max_pool1d, max_pool1d_places),
    )
    .shapes(shapes::POOL1D)
    .errors(shapes::POOL1D_ERRORS)
    .example(
        "nn::MaxPool1d(2)",
        "MaxPool1d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)",
    ),
    constructor("AvgPool1d", "The mean of each window along the last dimension.", AvgPoolParams::LIST, mean)
        .shapes(shapes::AVG1D)
        .errors(shapes::AVG_ERRORS)
        .example("nn::AvgPool1d(2)", "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))"),
    constructor(
        "AdaptiveAvgPool1d",
        "The means of nearly equal parts of the last dimension, as many as asked for.",
        AdaptiveAvgPool1dParams::LIST,
        by_name!(AdaptiveAvgPool1dParams, |a, args| {
            let run = move |c: &Call| adaptive_avg_pool1d(c.only()?, a.output_size);
            Simple::new("AdaptiveAvgPool1d", run).options_of(args).module()
        }),
    )
    .shapes(shapes::ADAPTIVE1D)
    .errors(&[
        "RuntimeError: `output_size` is negative",
        "RuntimeError: the input has neither two nor three dimensions",
    ])
    .example("nn::AdaptiveAvgPool1d(3)", "AdaptiveAvgPool1d(output_size=3)"),
];

//! Pooling layers.

use crate::base::Result;
use crate::op::composed::{adaptive_avg_pool1d, avg_pool1d, max_pool1d, pool};
use crate::op::def::DefaultValue;
use crate::op::pooling::{Pool, adaptive_avg_pool2d, adaptive_size, avg_pool2d, max_pool2d};
use crate::op::volumes::{avg_pool3d, max_pool3d};
use crate::op::{Args, OpDef, Param, ParamKind, Value};
use crate::tensor::Tensor;

use super::activation::Simple;
use super::linear::constructor;
use super::module::size;

/// The stride as it was given, or the window's size.
fn stride<'a>(a: &'a Args) -> &'a Value {
    match a.get(1) {
        Value::List(items) if items.is_empty() => a.get(0),
        given => given,
    }
}

/// A layer that takes the largest of each window.
fn largest(a: &Args, name: &'static str, run: fn(&Tensor, &Pool) -> Result<Tensor>) -> Result<Value> {
    let pool = pool(a, 0, Some(3), 4, None)?;
    Simple::new(name, move |c| run(c.only()?, &pool))
        .option("kernel_size", a.get(0))
        .option("stride", stride(a))
        .option("padding", a.get(2))
        .option("dilation", a.get(3))
        .option("ceil_mode", a.get(4))
        .module()
}

/// A layer that takes the mean of each window. `shown` is how its options are printed.
fn mean(
    a: &Args,
    name: &'static str,
    run: fn(&Tensor, &Pool) -> Result<Tensor>,
    shown: fn(&Value) -> Value,
) -> Result<Value> {
    let pool = pool(a, 0, None, 3, Some(4))?;
    Simple::new(name, move |c| run(c.only()?, &pool))
        .option("kernel_size", &shown(a.get(0)))
        .option("stride", &shown(stride(a)))
        .option("padding", &shown(a.get(2)))
        .hidden("ceil_mode", a.get(3))
        .hidden("count_include_pad", a.get(4))
        .module()
}

/// A number as an array of one, as PyTorch's pools of signals keep theirs.
fn single(value: &Value) -> Value {
    match value {
        Value::List(_) => value.clone(),
        other => Value::List(vec![other.clone()]),
    }
}

const SIZE: Param = Param::required("kernel_size", ParamKind::Ints);
const STRIDE: Param = Param::optional("stride", ParamKind::Ints, DefaultValue::Ints(&[]));
const PADDING: Param = Param::optional("padding", ParamKind::Ints, DefaultValue::Int(0));
const CEIL: Param = Param::optional("ceil_mode", ParamKind::Bool, DefaultValue::Bool(false));

const DILATION: Param = Param::optional("dilation", ParamKind::Ints, DefaultValue::Int(1));
const COUNTED: Param = Param::optional("count_include_pad", ParamKind::Bool, DefaultValue::Bool(true));
const LARGEST: &[Param] = &[SIZE, STRIDE, PADDING, DILATION, CEIL];
const MEAN: &[Param] = &[SIZE, STRIDE, PADDING, CEIL, COUNTED];

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "MaxPool3d",
        "The largest element of each window over the last three dimensions.",
        LARGEST,
        |a| largest(a, "MaxPool3d", max_pool3d),
    )
    .example(
        "nn::MaxPool3d(2)",
        "MaxPool3d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)",
    ),
    constructor("AvgPool3d", "The mean of each window over the last three dimensions.", MEAN, |a| {
        mean(a, "AvgPool3d", avg_pool3d, Value::clone)
    })
    .example("nn::AvgPool3d(2)", "AvgPool3d(kernel_size=2, stride=2, padding=0)"),
    constructor("MaxPool2d", "The largest element of each window.", LARGEST, |a| {
        largest(a, "MaxPool2d", |x, pool| Ok(max_pool2d(x, pool)?.0))
    })
    .example(
        "nn::MaxPool2d(2)",
        "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)",
    ),
    constructor("AvgPool2d", "The mean of each window.", MEAN, |a| {
        mean(a, "AvgPool2d", avg_pool2d, Value::clone)
    })
    .example("nn::AvgPool2d(2)", "AvgPool2d(kernel_size=2, stride=2, padding=0)"),
    constructor(
        "AdaptiveAvgPool2d",
        "The means of nearly equal parts of the plane, as many as asked for.",
        &[Param::required("output_size", ParamKind::Any)],
        |a| {
            let size = adaptive_size(a.get(0))?;
            Simple::new("AdaptiveAvgPool2d", move |c| adaptive_avg_pool2d(c.only()?, size))
                .option("output_size", a.get(0))
                .module()
        },
    )
    .example("nn::AdaptiveAvgPool2d(1)", "AdaptiveAvgPool2d(output_size=1)"),
    constructor("MaxPool1d", "The largest element of each window along the last dimension.", LARGEST, |a| {
        largest(a, "MaxPool1d", max_pool1d)
    })
    .example(
        "nn::MaxPool1d(2)",
        "MaxPool1d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)",
    ),
    constructor("AvgPool1d", "The mean of each window along the last dimension.", MEAN, |a| {
        mean(a, "AvgPool1d", avg_pool1d, single)
    })
    .example("nn::AvgPool1d(2)", "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))"),
    constructor(
        "AdaptiveAvgPool1d",
        "The means of nearly equal parts of the last dimension, as many as asked for.",
        &[Param::required("output_size", ParamKind::Int)],
        |a| {
            let size = size(a, 0)?;
            Simple::new("AdaptiveAvgPool1d", move |c| adaptive_avg_pool1d(c.only()?, size))
                .option("output_size", a.get(0))
                .module()
        },
    )
    .example("nn::AdaptiveAvgPool1d(3)", "AdaptiveAvgPool1d(output_size=3)"),
];

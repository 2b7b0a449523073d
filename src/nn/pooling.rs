//! Pooling layers.

use crate::base::Result;
use crate::op::composed::pool;
use crate::op::def::Default;
use crate::op::pooling::{Pool, adaptive_avg_pool2d, adaptive_size, avg_pool2d, max_pool2d};
use crate::op::volumes::{avg_pool3d, max_pool3d};
use crate::op::{Args, OpDef, Param, ParamKind, Value};

use super::activation::Simple;
use super::linear::constructor;

/// The stride as it was given, or the window's size.
pub fn stride<'a>(a: &'a Args) -> &'a Value {
    match a.get(1) {
        Value::List(items) if items.is_empty() => a.get(0),
        given => given,
    }
}

fn make_max(a: &Args) -> Result<Value> {
    let pool = Pool {
        size: a.ints(0)?,
        stride: Some(a.ints(1)?),
        padding: a.ints(2)?,
        dilation: a.ints(3)?,
        ceil_mode: a.bool(4)?,
        count_include_pad: true,
    };
    Simple::new("MaxPool2d", move |c| Ok(max_pool2d(c.only()?, &pool)?.0))
        .option("kernel_size", a.get(0))
        .option("stride", stride(a))
        .option("padding", a.get(2))
        .option("dilation", a.get(3))
        .option("ceil_mode", a.get(4))
        .module()
}

fn make_avg(a: &Args) -> Result<Value> {
    let pool = Pool {
        size: a.ints(0)?,
        stride: Some(a.ints(1)?),
        padding: a.ints(2)?,
        dilation: vec![1],
        ceil_mode: a.bool(3)?,
        count_include_pad: a.bool(4)?,
    };
    Simple::new("AvgPool2d", move |c| avg_pool2d(c.only()?, &pool))
        .option("kernel_size", a.get(0))
        .option("stride", stride(a))
        .option("padding", a.get(2))
        .hidden("ceil_mode", a.get(3))
        .hidden("count_include_pad", a.get(4))
        .module()
}

const SIZE: Param = Param::required("kernel_size", ParamKind::Ints);
const STRIDE: Param = Param::optional("stride", ParamKind::Ints, Default::Ints(&[]));
const PADDING: Param = Param::optional("padding", ParamKind::Ints, Default::Int(0));
const CEIL: Param = Param::optional("ceil_mode", ParamKind::Bool, Default::Bool(false));

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "MaxPool3d",
        "The largest element of each window over the last three dimensions.",
        &[SIZE, STRIDE, PADDING, Param::optional("dilation", ParamKind::Ints, Default::Int(1)), CEIL],
        |a| {
            let pool = pool(a, 0, Some(3), 4, None)?;
            Simple::new("MaxPool3d", move |c| max_pool3d(c.only()?, &pool))
                .option("kernel_size", a.get(0))
                .option("stride", stride(a))
                .option("padding", a.get(2))
                .option("dilation", a.get(3))
                .option("ceil_mode", a.get(4))
                .module()
        },
    )
    .example(
        "nn::MaxPool3d(2)",
        "MaxPool3d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)",
    ),
    constructor(
        "AvgPool3d",
        "The mean of each window over the last three dimensions.",
        &[
            SIZE,
            STRIDE,
            PADDING,
            CEIL,
            Param::optional("count_include_pad", ParamKind::Bool, Default::Bool(true)),
        ],
        |a| {
            let pool = pool(a, 0, None, 3, Some(4))?;
            Simple::new("AvgPool3d", move |c| avg_pool3d(c.only()?, &pool))
                .option("kernel_size", a.get(0))
                .option("stride", stride(a))
                .option("padding", a.get(2))
                .hidden("ceil_mode", a.get(3))
                .hidden("count_include_pad", a.get(4))
                .module()
        },
    )
    .example("nn::AvgPool3d(2)", "AvgPool3d(kernel_size=2, stride=2, padding=0)"),
    constructor(
        "MaxPool2d",
        "The largest element of each window.",
        &[SIZE, STRIDE, PADDING, Param::optional("dilation", ParamKind::Ints, Default::Int(1)), CEIL],
        make_max,
    )
    .example(
        "nn::MaxPool2d(2)",
        "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)",
    ),
    constructor(
        "AvgPool2d",
        "The mean of each window.",
        &[
            SIZE,
            STRIDE,
            PADDING,
            CEIL,
            Param::optional("count_include_pad", ParamKind::Bool, Default::Bool(true)),
        ],
        make_avg,
    )
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
];

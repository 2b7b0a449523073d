//! Losses of margins, and layers that resize images, as modules.

use crate::base::{Error, Result};
use crate::op::def::DefaultValue;
use crate::op::loss::reduction;
use crate::op::margins::{
    Triplet, cosine_embedding_loss, hinge_embedding_loss, margin_ranking_loss, soft_margin_loss,
    triplet_margin_loss,
};
use crate::op::resize::{
    ALIGN, FACTOR, MODE, SIZE, aligned, channel_shuffle, interpolate, pixel_shuffle, pixel_unshuffle, wanted,
};
use crate::op::{Args, OpDef, Param, ParamKind, Value};
use crate::tensor::Tensor;

use super::activation::Simple;
use super::linear::constructor;
use super::module::Call;

/// So many inputs and no more.
fn inputs<'a, const N: usize>(c: &'a Call) -> Result<[&'a Tensor; N]> {
    <[&Tensor; N]>::try_from(c.inputs).map_err(|_| {
        let text = format!("{}.forward() takes {N} tensors, not {}", c.module.name(), c.inputs.len());
        Error::type_error(text)
    })
}

fn make_upsample(a: &Args) -> Result<Value> {
    let (size, factors) = wanted(a, 0)?;
    let (mode, align) = (a.str(2)?.to_string(), aligned(a, 3));
    let shown = if size.is_some() { ("size", a.get(0)) } else { ("scale_factor", a.get(1)) };
    let float = |v: &Value| match v {
        Value::Scalar(s) if shown.0 == "scale_factor" => Value::Scalar(s.as_f64().into()),
        other => other.clone(),
    };
    let value = match shown.1 {
        Value::List(items) => Value::List(items.iter().map(float).collect()),
        one => float(one),
    };
    let run = move |c: &Call| interpolate(c.only()?, size.as_deref(), factors.as_deref(), &mode, align);
    Simple::new("Upsample", run)
        .option(shown.0, &value)
        .option("mode", a.get(2))
        .hidden("align_corners", a.get(3))
        .module()
}

const REDUCTION: Param = Param::optional("reduction", ParamKind::Str, DefaultValue::Str("mean"));

const fn number(name: &'static str, default: f64) -> Param {
    Param::optional(name, ParamKind::Float, DefaultValue::Float(default))
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "MarginRankingLoss",
        "How far the order of two inputs is from the one that a target of 1 or -1 asks for.",
        &[number("margin", 0.0), REDUCTION],
        |a| {
            let (margin, how) = (a.float(0)?, reduction(a.str(1)?)?);
            let run = move |c: &Call| {
                let [x, y, target] = inputs(c)?;
                margin_ranking_loss(x, y, target, margin, how)
            };
            Simple::new("MarginRankingLoss", run)
                .hidden("margin", a.get(0))
                .hidden("reduction", a.get(1))
                .module()
        },
    )
    .example("nn::MarginRankingLoss()", "MarginRankingLoss()"),
    constructor(
        "HingeEmbeddingLoss",
        "Distances that should be small where the target is 1, and above a margin where it is -1.",
        &[number("margin", 1.0), REDUCTION],
        |a| {
            let (margin, how) = (a.float(0)?, reduction(a.str(1)?)?);
            let run = move |c: &Call| {
                let [x, target] = inputs(c)?;
                hinge_embedding_loss(x, target, margin, how)
            };
            Simple::new("HingeEmbeddingLoss", run)
                .hidden("margin", a.get(0))
                .hidden("reduction", a.get(1))
                .module()
        },
    )
    .example("nn::HingeEmbeddingLoss()", "HingeEmbeddingLoss()"),
    constructor(
        "CosineEmbeddingLoss",
        "Vectors that should point the same way where the target is 1, and apart where it is -1.",
        &[number("margin", 0.0), REDUCTION],
        |a| {
            let (margin, how) = (a.float(0)?, reduction(a.str(1)?)?);
            let run = move |c: &Call| {
                let [x, y, target] = inputs(c)?;
                cosine_embedding_loss(x, y, target, margin, how)
            };
            Simple::new("CosineEmbeddingLoss", run)
                .hidden("margin", a.get(0))
                .hidden("reduction", a.get(1))
                .module()
        },
    )
    .example("nn::CosineEmbeddingLoss()", "CosineEmbeddingLoss()"),
    constructor(
        "TripletMarginLoss",
        "How much nearer an anchor is to a negative example than to a positive one, with a margin.",
        &[
            number("margin", 1.0),
            number("p", 2.0),
            number("eps", 1e-6),
            Param::optional("swap", ParamKind::Bool, DefaultValue::Bool(false)),
            REDUCTION,
        ],
        |a| {
            let by = Triplet { margin: a.float(0)?, p: a.float(1)?, eps: a.float(2)?, swap: a.bool(3)? };
            let how = reduction(a.str(4)?)?;
            Simple::new("TripletMarginLoss", move |c| triplet_margin_loss(inputs(c)?, by, how))
                .hidden("margin", a.get(0))
                .hidden("p", a.get(1))
                .hidden("eps", a.get(2))
                .hidden("swap", a.get(3))
                .hidden("reduction", a.get(4))
                .module()
        },
    )
    .example("nn::TripletMarginLoss()", "TripletMarginLoss()"),
    constructor(
        "SoftMarginLoss",
        "`log(1 + exp(-target * input))` for targets 1 and -1.",
        &[REDUCTION],
        |a| {
            let how = reduction(a.str(0)?)?;
            let run = move |c: &Call| {
                let [x, target] = inputs(c)?;
                soft_margin_loss(x, target, how)
            };
            Simple::new("SoftMarginLoss", run).hidden("reduction", a.get(0)).module()
        },
    )
    .example("nn::SoftMarginLoss()", "SoftMarginLoss()"),
    constructor(
        "PixelShuffle",
        "Channels of images as pixels: `[n, c * r², h, w]` becomes `[n, c, h * r, w * r]`.",
        &[Param::required("upscale_factor", ParamKind::Int)],
        |a| {
            let factor = a.int(0)?;
            Simple::new("PixelShuffle", move |c| pixel_shuffle(c.only()?, factor))
                .option("upscale_factor", a.get(0))
                .module()
        },
    )
    .example("nn::PixelShuffle(2)", "PixelShuffle(upscale_factor=2)"),
    constructor(
        "PixelUnshuffle",
        "Pixels of images as channels: undoes `nn::PixelShuffle`.",
        &[Param::required("downscale_factor", ParamKind::Int)],
        |a| {
            let factor = a.int(0)?;
            Simple::new("PixelUnshuffle", move |c| pixel_unshuffle(c.only()?, factor))
                .option("downscale_factor", a.get(0))
                .module()
        },
    )
    .example("nn::PixelUnshuffle(2)", "PixelUnshuffle(downscale_factor=2)"),
    constructor(
        "ChannelShuffle",
        "Deals channels out over groups.",
        &[Param::required("groups", ParamKind::Int)],
        |a| {
            let groups = a.int(0)?;
            Simple::new("ChannelShuffle", move |c| channel_shuffle(c.only()?, groups))
                .option("groups", a.get(0))
                .module()
        },
    )
    .example("nn::ChannelShuffle(2)", "ChannelShuffle(groups=2)"),
    constructor(
        "Upsample",
        "Resizes the trailing dimensions of signals, images or volumes, as `F::interpolate` does.",
        &[SIZE, FACTOR, MODE, ALIGN],
        make_upsample,
    )
    .example("nn::Upsample(#{scale_factor: 2})", "Upsample(scale_factor=2.0, mode='nearest')"),
];

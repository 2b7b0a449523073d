//! Losses of margins, and layers that resize images, as modules.

use crate::base::{Error, Result};
use crate::nn::made::constructor;
use crate::op::def::DefaultValue;
use crate::op::image::resize::{
    AlignCorners, Resize, ScaleFactor, channel_shuffle, interpolate, pixel_shuffle, pixel_unshuffle,
};
use crate::op::loss::margins::{
    Triplet, cosine_embedding_loss, hinge_embedding_loss, margin_ranking_loss, soft_margin_loss,
    triplet_margin_loss,
};
use crate::op::params::{Maybe, by_name, kind, params};
use crate::op::{Args, OpDef, Value, shapes};
use crate::tensor::Tensor;

use super::activation::Simple;
use super::loss::LossParams;
use super::module::Call;

/// So many inputs and no more.
pub(super) fn inputs<'a, const N: usize>(c: &'a Call) -> Result<[&'a Tensor; N]> {
    <[&Tensor; N]>::try_from(c.inputs).map_err(|_| {
        let text = format!("{}.forward() takes {N} tensors, not {}", c.module.name(), c.inputs.len());
        Error::type_error(text)
    })
}

params! {
    UpsampleParams {
        size: Maybe<kind::Ints>, "how large the trailing dimensions of the output are";
        scale_factor: ScaleFactor => DefaultValue::None, "how many times as large they are, instead of `size`";
        mode: kind::Str = "nearest", "how values between those that are there are found";
        align_corners: AlignCorners => DefaultValue::None, "whether the outermost values stay where they are";
        recompute_scale_factor: Maybe<kind::Bool>, "whether places are found by the sizes that factors lead to, not by the factors";
    }
}

params! {
    MarginParams {
        margin: kind::Float = 0.0, "how much greater the one is to be than the other";
        ..loss: LossParams;
    }
}

params! {
    CosineEmbeddingParams {
        margin: kind::Float = 0.0, "the cosine up to which nothing is lost where the target is -1";
        ..loss: LossParams;
    }
}

params! {
    HingeEmbeddingParams {
        margin: kind::Float = 1.0, "the distance from which on nothing is lost where the target is -1";
        ..loss: LossParams;
    }
}

params! {
    TripletMarginParams {
        margin: kind::Float = 1.0, "how much further the negative example is to be than the positive one";
        p: kind::Float = 2.0, "which norm distances are: 1, 2, …";
        eps: kind::Float = 1e-6, "a small number that is added to each difference";
        swap: kind::Bool = false, "whether the positive example's distance from the negative one counts, if less";
        ..loss: LossParams;
    }
}

params! {
    PixelShuffleParams {
        upscale_factor: kind::Int, "how many times as high and as wide the output is";
    }
}

params! {
    PixelUnshuffleParams {
        downscale_factor: kind::Int, "how many times as low and as narrow the output is";
    }
}

params! {
    ChannelShuffleParams {
        groups: kind::Int, "how many parts the channels are dealt out over";
    }
}

/// What a layer resizes by, and how.
struct Resizing {
    size: Option<Vec<i64>>,
    factors: Option<Vec<f64>>,
    mode: String,
    align: Option<bool>,
    recompute: bool,
}

/// A layer that resizes, which prints what of its arguments it goes by.
fn resizer(name: &'static str, by: Resizing, args: &Args) -> Simple {
    let by_size = by.size.is_some();
    let float = |v: &Value| match v {
        Value::Scalar(s) => Value::Scalar(s.as_f64().into()),
        other => other.clone(),
    };
    let run = move |c: &Call| {
        let how = Resize {
            size: by.size.as_deref(),
            factors: by.factors.as_deref(),
            mode: &by.mode,
            align: by.align,
            recompute: by.recompute,
            antialias: false,
        };
        interpolate(c.only()?, &how)
    };
    args.each().fold(Simple::new(name, run), |module, (param, value)| match (param.name, value) {
        ("size", _) if !by_size => module,
        ("scale_factor", _) if by_size => module,
        ("scale_factor", Value::List(items)) => {
            module.option("scale_factor", &Value::List(items.iter().map(float).collect()))
        }
        ("scale_factor", one) => module.option("scale_factor", &float(one)),
        (name @ ("align_corners" | "recompute_scale_factor"), value) => module.hidden(name, value),
        (name, value) => module.option(name, value),
    })
}

fn make_upsample(a: UpsampleParams, args: &Args) -> Result<Value> {
    let by = Resizing {
        size: a.size,
        factors: a.scale_factor,
        mode: a.mode.to_string(),
        align: a.align_corners,
        recompute: a.recompute_scale_factor.unwrap_or(false),
    };
    resizer("Upsample", by, args).module()
}

params! {
    UpsamplingParams {
        size: Maybe<kind::Ints>, "how large the trailing dimensions of the output are";
        scale_factor: ScaleFactor => DefaultValue::None, "how many times as large they are, instead of `size`";
    }
}

/// A layer whose mode its name says.
fn make_upsampling(
    a: UpsamplingParams,
    args: &Args,
    name: &'static str,
    mode: &str,
    align: Option<bool>,
) -> Result<Value> {
    let (size, factors) = (a.size, a.scale_factor);
    let by = Resizing { size, factors, mode: mode.to_string(), align, recompute: false };
    resizer(name, by, args).option("mode", &Value::Str(mode.into())).module()
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "MarginRankingLoss",
        "How far the order of two inputs is from the one that a target of 1 or -1 asks for.",
        MarginParams::LIST,
        by_name!(MarginParams, |a, args| {
            let run = move |c: &Call| {
                let [x, y, target] = inputs(c)?;
                margin_ranking_loss(x, y, target, a.margin, a.loss.reduction)
            };
            Simple::new("MarginRankingLoss", run).hidden_of(args).module()
        }),
    )
    .shapes(
        "three of as many dimensions, broadcast together -> (), or that shape where reduction is \"none\"",
    )
    .errors(&["RuntimeError: the inputs differ in how many dimensions they have"])
    .example("nn::MarginRankingLoss()", "MarginRankingLoss()"),
    constructor(
        "HingeEmbeddingLoss",
        "Distances that should be small where the target is 1, and above a margin where it is -1.",
        HingeEmbeddingParams::LIST,
        by_name!(HingeEmbeddingParams, |a, args| {
            let run = move |c: &Call| {
                let [x, target] = inputs(c)?;
                hinge_embedding_loss(x, target, a.margin, a.loss.reduction)
            };
            Simple::new("HingeEmbeddingLoss", run).hidden_of(args).module()
        }),
    )
    .shapes(shapes::LOSS)
    .errors(&[shapes::BOOLS, "RuntimeError: the shapes do not broadcast together"])
    .example("nn::HingeEmbeddingLoss()", "HingeEmbeddingLoss()"),
    constructor(
        "CosineEmbeddingLoss",
        "Vectors that should point the same way where the target is 1, and apart where it is -1.",
        CosineEmbeddingParams::LIST,
        by_name!(CosineEmbeddingParams, |a, args| {
            let run = move |c: &Call| {
                let [x, y, target] = inputs(c)?;
                cosine_embedding_loss(x, y, target, a.margin, a.loss.reduction)
            };
            Simple::new("CosineEmbeddingLoss", run).hidden_of(args).module()
        }),
    )
    .shapes("(N, D), (N, D), (N) -> (), or (N) where reduction is \"none\"; N may be left out")
    .errors(&["RuntimeError: the target has not one dimension less than the inputs"])
    .example("nn::CosineEmbeddingLoss()", "CosineEmbeddingLoss()"),
    constructor(
        "TripletMarginLoss",
        "How much nearer an anchor is to a negative example than to a positive one, with a margin.",
        TripletMarginParams::LIST,
        by_name!(TripletMarginParams, |a, args| {
            let (how, by) =
                (a.loss.reduction, Triplet { margin: a.margin, p: a.p, eps: a.eps, swap: a.swap });
            let run = move |c: &Call| triplet_margin_loss(inputs(c)?, by, how);
            Simple::new("TripletMarginLoss", run).hidden_of(args).module()
        }),
    )
    .shapes("three (…, D), broadcast together -> (), or (…) where reduction is \"none\"")
    .errors(&["RuntimeError: the shapes do not broadcast together"])
    .example("nn::TripletMarginLoss()", "TripletMarginLoss()"),
    constructor(
        "SoftMarginLoss",
        "`log(1 + exp(-target * input))` for targets 1 and -1.",
        LossParams::LIST,
        by_name!(LossParams, |a, args| {
            let run = move |c: &Call| {
                let [x, target] = inputs(c)?;
                soft_margin_loss(x, target, a.reduction)
            };
            Simple::new("SoftMarginLoss", run).hidden_of(args).module()
        }),
    )
    .shapes(shapes::LOSS)
    .errors(&["RuntimeError: the shapes do not broadcast together"])
    .example("nn::SoftMarginLoss()", "SoftMarginLoss()"),
    constructor(
        "PixelShuffle",
        "Channels of images as pixels: `[n, c * r², h, w]` becomes `[n, c, h * r, w * r]`.",
        PixelShuffleParams::LIST,
        by_name!(PixelShuffleParams, |a, args| {
            Simple::new("PixelShuffle", move |c| pixel_shuffle(c.only()?, a.upscale_factor))
                .options_of(args)
                .module()
        }),
    )
    .shapes("(…, C r², H, W) -> (…, C, H r, W r)")
    .errors(&["RuntimeError: the channels do not divide by r²"])
    .example("nn::PixelShuffle(2)", "PixelShuffle(upscale_factor=2)"),
    constructor(
        "PixelUnshuffle",
        "Pixels of images as channels: undoes `nn::PixelShuffle`.",
        PixelUnshuffleParams::LIST,
        by_name!(PixelUnshuffleParams, |a, args| {
            Simple::new("PixelUnshuffle", move |c| pixel_unshuffle(c.only()?, a.downscale_factor))
                .options_of(args)
                .module()
        }),
    )
    .shapes("(…, C, H r, W r) -> (…, C r², H, W)")
    .errors(&["RuntimeError: height or width does not divide by r"])
    .example("nn::PixelUnshuffle(2)", "PixelUnshuffle(downscale_factor=2)"),
    constructor(
        "ChannelShuffle",
        "Deals channels out over groups.",
        ChannelShuffleParams::LIST,
        by_name!(ChannelShuffleParams, |a, args| {
            Simple::new("ChannelShuffle", move |c| channel_shuffle(c.only()?, a.groups))
                .options_of(args)
                .module()
        }),
    )
    .shapes("(N, C, …) -> the same")
    .errors(&["RuntimeError: the channels do not divide by `groups`"])
    .example("nn::ChannelShuffle(2)", "ChannelShuffle(groups=2)"),
    constructor(
        "Upsample",
        "Resizes the trailing dimensions of signals, images or volumes, as `F::interpolate` does.",
        UpsampleParams::LIST,
        by_name!(UpsampleParams, |a, args| make_upsample(a, args)),
    )
    .shapes("(N, C, …) -> (N, C, size…), or each size times its factor, rounded down")
    .errors(&[
        "ValueError: there is neither a size nor a factor, or both",
        "NotImplementedError: the mode is for another number of dimensions",
    ])
    .example("nn::Upsample(#{scale_factor: 2})", "Upsample(scale_factor=2.0, mode='nearest')"),
    constructor(
        "UpsamplingNearest2d",
        "Resizes images to more pixels, each the nearest one that is there.",
        UpsamplingParams::LIST,
        by_name!(UpsamplingParams, |a, args| make_upsampling(
            a,
            args,
            "UpsamplingNearest2d",
            "nearest",
            None
        )),
    )
    .shapes("(N, C, H, W) -> (N, C, size…), or each size times its factor, rounded down")
    .errors(&[
        "ValueError: there is neither a size nor a factor",
        "NotImplementedError: the input has not four dimensions",
    ])
    .example(
        "nn::UpsamplingNearest2d(#{scale_factor: 2})",
        "UpsamplingNearest2d(scale_factor=2.0, mode='nearest')",
    ),
    constructor(
        "UpsamplingBilinear2d",
        "Resizes images between the pixels that are there; the outermost stay where they are.",
        UpsamplingParams::LIST,
        by_name!(UpsamplingParams, |a, args| {
            make_upsampling(a, args, "UpsamplingBilinear2d", "bilinear", Some(true))
        }),
    )
    .shapes("(N, C, H, W) -> (N, C, size…), or each size times its factor, rounded down")
    .errors(&[
        "ValueError: there is neither a size nor a factor",
        "NotImplementedError: the input has not four dimensions",
    ])
    .example(
        "nn::UpsamplingBilinear2d(#{scale_factor: 2})",
        "UpsamplingBilinear2d(scale_factor=2.0, mode='bilinear')",
    ),
];

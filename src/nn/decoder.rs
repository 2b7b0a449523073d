//! Transformer decoders, and encoder and decoder together.

use crate::base::{Error, Result};
use crate::op::core::record;
use crate::op::params::{Maybe, by_name, kind, params};
use crate::op::{Args, OpDef, Value};
use crate::tensor::Tensor;

use super::attention::{Masks, additive};
use super::init::xavier_uniform_;
use super::module::{Call, Layer, Module, Parts, Role, call_row};
use super::nested::Nesting;
use super::transformer::{
    Activation, Encoder, FeedParams, LayerParams, LayerSizes, TransformerLayerParams, attend, encoder_layer,
    feed, given_module, passed, residual, stack, stacked,
};
use crate::nn::made::constructor;
use crate::op::shapes;

struct DecoderLayer {
    activation: Activation,
    norm_first: bool,
}

params! {
    /// The masks of a call: those of the target, and those of what the encoder gave.
    group DecoderMasks {
        tgt_mask: Maybe<kind::Tensor>, "true or `-inf` where a place of the target must not look in the target";
        memory_mask: Maybe<kind::Tensor>, "true or `-inf` where a place of the target must not look in the memory";
        tgt_key_padding_mask: Maybe<kind::Tensor>, "true or `-inf` at places of the target that are padding";
        memory_key_padding_mask: Maybe<kind::Tensor>, "true or `-inf` at places of the memory that are padding";
    }
}

params! {
    DecoderLayerCall {
        tgt: kind::Tensor, "the sequences that are decoded";
        memory: kind::Tensor, "what an encoder gave";
        ..masks: DecoderMasks;
        tgt_is_causal: kind::Bool = false, "says that `tgt_mask` is the causal mask";
        memory_is_causal: kind::Bool = false, "says that `memory_mask` is the causal mask";
    }
}

params! {
    DecoderCall {
        tgt: kind::Tensor, "the sequences that are decoded";
        memory: kind::Tensor, "what an encoder gave";
        ..masks: DecoderMasks;
        tgt_is_causal: Maybe<kind::Bool>, "says that `tgt_mask` is the causal mask";
        memory_is_causal: kind::Bool = false, "says that `memory_mask` is the causal mask";
    }
}

params! {
    TransformerCall {
        src: kind::Tensor, "the sequences that are encoded";
        tgt: kind::Tensor, "the sequences that are decoded";
        src_mask: Maybe<kind::Tensor>, "true or `-inf` where a place of the source must not look";
        tgt_mask: Maybe<kind::Tensor>, "true or `-inf` where a place of the target must not look in the target";
        memory_mask: Maybe<kind::Tensor>, "true or `-inf` where a place of the target must not look in the source";
        src_key_padding_mask: Maybe<kind::Tensor>, "true or `-inf` at places of the source that are padding";
        tgt_key_padding_mask: Maybe<kind::Tensor>, "true or `-inf` at places of the target that are padding";
        memory_key_padding_mask: Maybe<kind::Tensor>, "true or `-inf` at encoded places that are padding";
        src_is_causal: Maybe<kind::Bool>, "says that `src_mask` is the causal mask";
        tgt_is_causal: Maybe<kind::Bool>, "says that `tgt_mask` is the causal mask";
        memory_is_causal: kind::Bool = false, "says that `memory_mask` is the causal mask";
    }
}

impl Layer for DecoderLayer {
    fn name(&self) -> &str {
        "TransformerDecoderLayer"
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        call.responded()
    }

    fn call_row(&self) -> Option<&'static OpDef> {
        static ROW: OpDef = call_row("forward", DecoderLayerCall::LIST);
        Some(&ROW)
    }

    fn respond(&self, call: &Call, a: &Args) -> Result<Value> {
        let a = DecoderLayerCall::of(a)?;
        let (dtype, masks) = (a.tgt.dtype(), &a.masks);
        let number = |mask: Option<&Tensor>, name| mask.map(|m| additive(m, name, dtype)).transpose();
        let own = number(masks.tgt_mask, "tgt_mask")?;
        let own_padding = number(masks.tgt_key_padding_mask, "tgt_key_padding_mask")?;
        let other = number(masks.memory_mask, "memory_mask")?;
        let other_padding = number(masks.memory_key_padding_mask, "memory_key_padding_mask")?;
        let own =
            Masks { padding: own_padding.as_ref(), attention: own.as_ref(), is_causal: a.tgt_is_causal };
        let other = Masks {
            padding: other_padding.as_ref(),
            attention: other.as_ref(),
            is_causal: a.memory_is_causal,
        };
        let look = |x: &Tensor| attend(call, ["self_attn", "dropout1"], [x, x, x], own);
        let hear = |x: &Tensor| attend(call, ["multihead_attn", "dropout2"], [x, a.memory, a.memory], other);
        let think = |x: &Tensor| feed(call, self.activation, "dropout3", x);
        let x = residual(call, self.norm_first, "norm1", a.tgt, look)?;
        let x = residual(call, self.norm_first, "norm2", &x, hear)?;
        residual(call, self.norm_first, "norm3", &x, think).map(Value::from)
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        (name == "norm_first").then(|| Value::Scalar(self.norm_first.into()))
    }
}

/// A decoder layer from its sizes.
fn decoder_layer(sizes: &LayerSizes) -> Result<Module> {
    let (parts, activation) = sizes.parts(&["self_attn", "multihead_attn"])?;
    Module::new(DecoderLayer { activation, norm_first: sizes.layer.norm_first }, parts)
}

struct Decoder;

impl Layer for Decoder {
    fn name(&self) -> &str {
        "TransformerDecoder"
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        call.responded()
    }

    fn call_row(&self) -> Option<&'static OpDef> {
        static ROW: OpDef = call_row("forward", DecoderCall::LIST);
        Some(&ROW)
    }

    fn respond(&self, call: &Call, a: &Args) -> Result<Value> {
        let DecoderCall { tgt, memory, masks, tgt_is_causal, memory_is_causal, .. } = DecoderCall::of(a)?;
        let flag = |on: bool| Value::Scalar(on.into());
        let rest = [
            memory.clone().into(),
            passed(masks.tgt_mask),
            passed(masks.memory_mask),
            passed(masks.tgt_key_padding_mask),
            passed(masks.memory_key_padding_mask),
            flag(tgt_is_causal.unwrap_or(false)),
            flag(memory_is_causal),
        ];
        stack(call, tgt, &rest, None).map(Value::Tensor)
    }
}

struct Transformer {
    width: usize,
    heads: usize,
    batch_first: bool,
}

impl Transformer {
    fn check(&self, src: &Tensor, tgt: &Tensor) -> Result<()> {
        let at = usize::from(!self.batch_first);
        let batched = src.rank() == 3;
        if batched && src.shape().get(at) != tgt.shape().get(at) {
            return Err(Error::runtime("the batch number of src and tgt must be equal"));
        }
        let width = Some(&self.width);
        if src.shape().last() != width || tgt.shape().last() != width {
            return Err(Error::runtime("the feature number of src and tgt must be equal to d_model")
                .with_hint(format!("d_model is {}", self.width)));
        }
        Ok(())
    }
}

impl Layer for Transformer {
    fn name(&self) -> &str {
        "Transformer"
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        call.responded()
    }

    fn call_row(&self) -> Option<&'static OpDef> {
        static ROW: OpDef = call_row("forward", TransformerCall::LIST);
        Some(&ROW)
    }

    fn respond(&self, call: &Call, a: &Args) -> Result<Value> {
        let a = TransformerCall::of(a)?;
        self.check(a.src, a.tgt)?;
        let part = |name: &str| {
            let missing = || Error::runtime(format!("a Transformer has no {name}"));
            call.module.child(name).ok_or_else(missing)
        };
        let flag = |on: Option<bool>| on.map_or(Value::None, |on| Value::Scalar(on.into()));
        let first = vec![
            a.src.clone().into(),
            passed(a.src_mask),
            passed(a.src_key_padding_mask),
            flag(a.src_is_causal),
        ];
        let memory = part("encoder")?.respond(first, Vec::new(), call.caller)?;
        let second = vec![
            a.tgt.clone().into(),
            memory,
            passed(a.tgt_mask),
            passed(a.memory_mask),
            passed(a.tgt_key_padding_mask),
            passed(a.memory_key_padding_mask),
            flag(a.tgt_is_causal),
            flag(Some(a.memory_is_causal)),
        ];
        part("decoder")?.respond(second, Vec::new(), call.caller)
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        match name {
            "d_model" => Some(Value::Scalar((self.width as i64).into())),
            "nhead" => Some(Value::Scalar((self.heads as i64).into())),
            "batch_first" => Some(Value::Scalar(self.batch_first.into())),
            _ => None,
        }
    }
}

params! {
    DecoderParams {
        decoder_layer: kind::Any, "the layer that is copied";
        num_layers: kind::Size, "how many copies there are";
        norm: Maybe<kind::Object>, "a module for the end, such as a LayerNorm";
    }
}

params! {
    TransformerParams {
        d_model: kind::Size = 512, "how many features a place has";
        nhead: kind::Size = 8, "how many heads each attention has";
        num_encoder_layers: kind::Size = 6, "how many layers encode";
        num_decoder_layers: kind::Size = 6, "how many layers decode";
        ..feed: FeedParams;
        custom_encoder: Maybe<kind::Object>, "a module that encodes instead of the usual layers";
        custom_decoder: Maybe<kind::Object>, "a module that decodes instead of the usual layers";
        ..layer: LayerParams;
    }
}

fn make_transformer(a: TransformerParams) -> Result<Value> {
    let sizes = LayerSizes { width: a.d_model, heads: a.nhead, feed: &a.feed, layer: &a.layer };
    let own = |given: Option<&Value>| given.and_then(Module::from_value).cloned();
    let first = match own(a.custom_encoder) {
        Some(module) => module,
        None => stacked(
            Encoder { nesting: Nesting::USUAL },
            &encoder_layer(&sizes)?,
            a.num_encoder_layers,
            Some(sizes.norm()?),
        )?,
    };
    let second = match own(a.custom_decoder) {
        Some(module) => module,
        None => stacked(Decoder, &decoder_layer(&sizes)?, a.num_decoder_layers, Some(sizes.norm()?))?,
    };
    let layer = Transformer { width: sizes.width, heads: sizes.heads, batch_first: a.layer.batch_first };
    let module = Module::new(layer, Parts::new().child("encoder", first).child("decoder", second))?;
    {
        let _quiet = record::no_grad();
        for (_, weight) in module.named(Role::Parameter) {
            if weight.rank() > 1 {
                xavier_uniform_(&weight, 1.0)?;
            }
        }
    }
    a.layer.made.place(module)
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "TransformerDecoderLayer",
        "Attention of a sequence to itself and to another, then a small network on each place, each added to its input.",
        TransformerLayerParams::LIST,
        by_name!(TransformerLayerParams, |a| a.layer.made.place(decoder_layer(&LayerSizes::of(&a))?)),
    )
    .details(
        "`forward(tgt, memory, #{tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal, \
         memory_is_causal})`; `memory` is what an encoder gave. The other options are those of \
         `TransformerEncoderLayer`.",
    )
    .shapes(
        "tgt (T, N, d_model), memory (S, N, d_model) -> (T, N, d_model); N comes first with batch_first and may be \
         left out",
    )
    .errors(&[
        "ValueError: the features or the heads are not above 0",
        shapes::NEGATIVE,
        "AssertionError: `tgt` has not as many features as the layer, or `memory` as many dimensions",
        "RuntimeError: `memory` has other features, or another batch",
        "AssertionError: `nhead` does not divide `d_model`",
    ])
    .example("nn::TransformerDecoderLayer(8, 2).forward(rand([4, 3, 8]), rand([5, 3, 8])).shape", "[4, 3, 8]"),
    constructor(
        "TransformerDecoder",
        "Copies of a decoder layer, one after the other.",
        DecoderParams::LIST,
        by_name!(DecoderParams, |a| {
            let norm = a.norm.map(given_module).transpose()?;
            stacked(Decoder, &given_module(a.decoder_layer)?, a.num_layers, norm).map(Module::into_value)
        }),
    )
    .details(
        "The copies begin with the values of `decoder_layer` and are trained apart. It is called as a layer is; `norm` is \
         a module for the end.",
    )
    .shapes(
        "tgt (T, N, d_model), memory (S, N, d_model) -> (T, N, d_model); N comes first with batch_first and may be \
         left out",
    )
    .errors(&[
        shapes::NEGATIVE,
        "AssertionError: `tgt` has not as many features as the layer, or `memory` as many dimensions",
        "RuntimeError: `memory` has other features, or another batch",
        "TypeError: the layer is no TransformerDecoderLayer",
    ])
    .example(
        "nn::TransformerDecoder(nn::TransformerDecoderLayer(8, 2), 3).forward(rand([4, 3, 8]), rand([5, 3, 8])).shape",
        "[4, 3, 8]",
    ),
    constructor(
        "Transformer",
        "An encoder of one sequence and a decoder of another that looks at it (Vaswani et al., 2017).",
        TransformerParams::LIST,
        by_name!(TransformerParams, make_transformer),
    )
    .details(
        "`forward(src, tgt, #{src_mask, tgt_mask, memory_mask, src_key_padding_mask, tgt_key_padding_mask, \
         memory_key_padding_mask, …})`. `nn::Transformer::generate_square_subsequent_mask(n)` hides what comes later. \
         Matrices are drawn by `xavier_uniform_`.",
    )
    .shapes(
        "src (S, N, d_model), tgt (T, N, d_model) -> (T, N, d_model); N comes first with batch_first and may be \
         left out",
    )
    .errors(&[
        "RuntimeError: `src` and `tgt` have different batches, or not `d_model` features",
        "AssertionError: `nhead` does not divide `d_model`",
        "ValueError: the features or the heads are not above 0",
    ])
    .example(
        "nn::Transformer(8, 2, 1, 1, 16).forward(rand([5, 3, 8]), rand([4, 3, 8])).shape",
        "[4, 3, 8]",
    ),
];

//! Transformer decoders, and encoder and decoder together.

use crate::base::{DType, Error, Result};
use crate::op::binary::add;
use crate::op::def::DefaultValue;
use crate::op::{Args, OpDef, Param, ParamKind, Value, record};
use crate::tensor::Tensor;

use super::activation::dropout_module;
use super::attention::{Masks, Multihead, additive, flag, mask, multihead};
use super::containers::module_list;
use super::init::xavier_uniform_;
use super::linear::{BIAS, DEVICE, DTYPE, constructor, made};
use super::module::{Call, Layer, Module, Parts, Role, call_row, size};
use super::normalise::layer_norm_module;
use super::transformer::{
    Activation, LayerSizes, activation, attend, encoder, encoder_layer, feed, given_module, given_norm,
    stack, through,
};

struct DecoderLayer {
    activation: Activation,
    norm_first: bool,
}

/// The masks of a call: those of the target, and those of what the encoder gave.
struct Both {
    own: [Option<Tensor>; 2],
    memory: [Option<Tensor>; 2],
    causal: [bool; 2],
}

impl Both {
    /// Masks of a call, whose arguments are `mask, mask, padding, padding, causal, causal` from `first` on.
    fn of(a: &Args, first: usize, dtype: DType) -> Result<Both> {
        let mask = |i: usize, name: &'static str| {
            a.optional_tensor(first + i).map(|m| additive(m, name, dtype)).transpose()
        };
        Ok(Both {
            own: [mask(0, "tgt_mask")?, mask(2, "tgt_key_padding_mask")?],
            memory: [mask(1, "memory_mask")?, mask(3, "memory_key_padding_mask")?],
            causal: [a.bool(first + 4)?, a.bool(first + 5)?],
        })
    }

    fn own(&self) -> Masks<'_> {
        let [attention, padding] = &self.own;
        Masks { padding: padding.as_ref(), attention: attention.as_ref(), is_causal: self.causal[0] }
    }

    fn memory(&self) -> Masks<'_> {
        let [attention, padding] = &self.memory;
        Masks { padding: padding.as_ref(), attention: attention.as_ref(), is_causal: self.causal[1] }
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
        static ROW: OpDef = call_row("forward", LAYER_CALL);
        Some(&ROW)
    }

    fn respond(&self, call: &Call, a: &Args) -> Result<Value> {
        let (x, memory) = (a.tensor(0)?, a.tensor(1)?);
        let masks = Both::of(a, 2, x.dtype())?;
        let norm = |name: &str, x: &Tensor| through(call, name, x);
        let look = |x: &Tensor| attend(call, ["self_attn", "dropout1"], [x, x, x], masks.own());
        let hear =
            |x: &Tensor| attend(call, ["multihead_attn", "dropout2"], [x, memory, memory], masks.memory());
        let think = |x: &Tensor| feed(call, self.activation, "dropout3", x);
        let out = if self.norm_first {
            let x = add(x, &look(&norm("norm1", x)?)?)?;
            let x = add(&x, &hear(&norm("norm2", &x)?)?)?;
            add(&x, &think(&norm("norm3", &x)?)?)?
        } else {
            let x = norm("norm1", &add(x, &look(x)?)?)?;
            let x = norm("norm2", &add(&x, &hear(&x)?)?)?;
            norm("norm3", &add(&x, &think(&x)?)?)?
        };
        Ok(out.into())
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        (name == "norm_first").then(|| Value::Scalar(self.norm_first.into()))
    }
}

/// A decoder layer from its sizes.
fn decoder_layer(sizes: &LayerSizes) -> Result<Module> {
    let LayerSizes { width, inner, dtype, bias, .. } = *sizes;
    let attention = || {
        multihead(Multihead {
            width,
            heads: sizes.heads,
            dropout: sizes.share()?,
            bias,
            bias_kv: false,
            zero: false,
            from: [width; 2],
            batch_first: sizes.batch_first,
            dtype,
        })
    };
    let norm = || layer_norm_module(&[width as i64], sizes.eps, [true, bias], dtype);
    let dropout = || dropout_module(&sizes.dropout);
    let (activation, own) = activation(&sizes.activation)?;
    let parts = Parts::new()
        .child("self_attn", attention()?)
        .child("multihead_attn", attention()?)
        .child("linear1", made("Linear", [width, inner], bias, dtype)?)
        .child("dropout", dropout()?)
        .child("linear2", made("Linear", [inner, width], bias, dtype)?)
        .child("norm1", norm()?)
        .child("norm2", norm()?)
        .child("norm3", norm()?)
        .child("dropout1", dropout()?)
        .child("dropout2", dropout()?)
        .child("dropout3", dropout()?);
    let parts = match own {
        Some(module) => parts.child("activation", module),
        None => parts,
    };
    Module::new(DecoderLayer { activation, norm_first: sizes.norm_first }, parts)
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
        static ROW: OpDef = call_row("forward", DECODER_CALL);
        Some(&ROW)
    }

    fn respond(&self, call: &Call, a: &Args) -> Result<Value> {
        let causal = if a.is_none(6) { Value::Scalar(false.into()) } else { a.get(6).clone() };
        let rest = vec![
            a.get(1).clone(),
            a.get(2).clone(),
            a.get(3).clone(),
            a.get(4).clone(),
            a.get(5).clone(),
            causal,
            a.get(7).clone(),
        ];
        stack(call, a.tensor(0)?, &rest).map(Value::Tensor)
    }
}

/// Copies of a decoder layer, and a norm for the end.
fn decoder(layer: &Module, count: usize, norm: Option<Module>) -> Result<Module> {
    if layer.layer().call_row().is_none() {
        let text = format!("the layers of a TransformerDecoder cannot be a {}", layer.name());
        return Err(Error::type_error(text).with_hint("give it an nn::TransformerDecoderLayer"));
    }
    let copies = (0..count).map(|_| super::transformer::copy(layer)).collect::<Result<Vec<_>>>()?;
    let parts = Parts::new().child("layers", module_list(&copies)?);
    let parts = match norm {
        Some(norm) => parts.child("norm", norm),
        None => parts,
    };
    Module::new(Decoder, parts)
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
        static ROW: OpDef = call_row("forward", TRANSFORMER_CALL);
        Some(&ROW)
    }

    fn respond(&self, call: &Call, a: &Args) -> Result<Value> {
        self.check(a.tensor(0)?, a.tensor(1)?)?;
        let part = |name: &str| {
            let missing = || Error::runtime(format!("a Transformer has no {name}"));
            call.module.child(name).ok_or_else(missing)
        };
        let pick = |all: &[usize]| all.iter().map(|&i| a.get(i).clone()).collect::<Vec<_>>();
        let memory = part("encoder")?.respond(pick(&[0, 2, 5, 8]), Vec::new(), call.caller)?;
        let mut args = vec![a.get(1).clone(), memory];
        args.extend(pick(&[3, 4, 6, 7, 9, 10]));
        part("decoder")?.respond(args, Vec::new(), call.caller)
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

fn make_transformer(a: &Args) -> Result<Value> {
    let sizes = LayerSizes {
        width: size(a, 0)?,
        heads: size(a, 1)?,
        inner: size(a, 4)?,
        dropout: a.get(5).clone(),
        activation: a.get(6).clone(),
        eps: a.float(9)?,
        batch_first: a.bool(10)?,
        norm_first: a.bool(11)?,
        bias: a.bool(12)?,
        dtype: a.dtype(14).unwrap_or(DType::Float32),
    };
    let norm = || layer_norm_module(&[sizes.width as i64], sizes.eps, [true, sizes.bias], sizes.dtype);
    let own = |i: usize| Module::from_value(a.get(i)).cloned();
    let first = match own(7) {
        Some(module) => module,
        None => {
            let layer = encoder_layer(&sizes)?;
            encoder(&layer, size(a, 2)?, Some(norm()?))?
        }
    };
    let second = match own(8) {
        Some(module) => module,
        None => {
            let layer = decoder_layer(&sizes)?;
            decoder(&layer, size(a, 3)?, Some(norm()?))?
        }
    };
    let layer = Transformer { width: sizes.width, heads: sizes.heads, batch_first: sizes.batch_first };
    let module = Module::new(layer, Parts::new().child("encoder", first).child("decoder", second))?;
    {
        let _quiet = record::no_grad();
        for (_, weight) in module.named(Role::Parameter) {
            if weight.rank() > 1 {
                xavier_uniform_(&weight, 1.0)?;
            }
        }
    }
    module.placed(a.device(13)).map(Module::into_value)
}

const TGT: Param = Param::required("tgt", ParamKind::Tensor);
const MEMORY: Param = Param::required("memory", ParamKind::Tensor);
const GUESS: Param = Param::optional("tgt_is_causal", ParamKind::Bool, DefaultValue::None);

const LAYER_CALL: &[Param] = &[
    TGT,
    MEMORY,
    mask("tgt_mask"),
    mask("memory_mask"),
    mask("tgt_key_padding_mask"),
    mask("memory_key_padding_mask"),
    flag("tgt_is_causal", false),
    flag("memory_is_causal", false),
];

const DECODER_CALL: &[Param] = &[
    TGT,
    MEMORY,
    mask("tgt_mask"),
    mask("memory_mask"),
    mask("tgt_key_padding_mask"),
    mask("memory_key_padding_mask"),
    GUESS,
    flag("memory_is_causal", false),
];

const TRANSFORMER_CALL: &[Param] = &[
    Param::required("src", ParamKind::Tensor),
    TGT,
    mask("src_mask"),
    mask("tgt_mask"),
    mask("memory_mask"),
    mask("src_key_padding_mask"),
    mask("tgt_key_padding_mask"),
    mask("memory_key_padding_mask"),
    Param::optional("src_is_causal", ParamKind::Bool, DefaultValue::None),
    GUESS,
    flag("memory_is_causal", false),
];

const fn int(name: &'static str, default: i64) -> Param {
    Param::optional(name, ParamKind::Int, DefaultValue::Int(default))
}

const SHARE: Param = Param::optional("dropout", ParamKind::Float, DefaultValue::Float(0.1));
const ACTIVATION: Param = Param::optional("activation", ParamKind::Any, DefaultValue::Str("relu"));
const EPS: Param = Param::optional("layer_norm_eps", ParamKind::Float, DefaultValue::Float(1e-5));

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "TransformerDecoderLayer",
        "Attention of a sequence to itself and to another, then a small network on each place, each added to its input.",
        &[
            Param::required("d_model", ParamKind::Int),
            Param::required("nhead", ParamKind::Int),
            int("dim_feedforward", 2048),
            SHARE,
            ACTIVATION,
            EPS,
            flag("batch_first", false),
            flag("norm_first", false),
            BIAS,
            DEVICE,
            DTYPE,
        ],
        |a| decoder_layer(&LayerSizes::of_layer(a)?)?.placed(a.device(9)).map(Module::into_value),
    )
    .details(
        "`forward(tgt, memory, #{tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal, \
         memory_is_causal})`; `memory` is what an encoder gave. The other options are those of \
         `TransformerEncoderLayer`.",
    )
    .example("nn::TransformerDecoderLayer(8, 2).forward(rand([4, 3, 8]), rand([5, 3, 8])).shape", "[4, 3, 8]"),
    constructor(
        "TransformerDecoder",
        "Copies of a decoder layer, one after the other.",
        &[
            Param::required("decoder_layer", ParamKind::Any),
            Param::required("num_layers", ParamKind::Int),
            Param::optional("norm", ParamKind::Object, DefaultValue::None),
        ],
        |a| decoder(&given_module(a, 0)?, size(a, 1)?, given_norm(a, 2)?).map(Module::into_value),
    )
    .details(
        "The copies begin with the values of `decoder_layer` and are trained apart. It is called as a layer is; `norm` is \
         a module for the end.",
    )
    .example(
        "nn::TransformerDecoder(nn::TransformerDecoderLayer(8, 2), 3).forward(rand([4, 3, 8]), rand([5, 3, 8])).shape",
        "[4, 3, 8]",
    ),
    constructor(
        "Transformer",
        "An encoder of one sequence and a decoder of another that looks at it (Vaswani et al., 2017).",
        &[
            int("d_model", 512),
            int("nhead", 8),
            int("num_encoder_layers", 6),
            int("num_decoder_layers", 6),
            int("dim_feedforward", 2048),
            SHARE,
            ACTIVATION,
            Param::optional("custom_encoder", ParamKind::Object, DefaultValue::None),
            Param::optional("custom_decoder", ParamKind::Object, DefaultValue::None),
            EPS,
            flag("batch_first", false),
            flag("norm_first", false),
            BIAS,
            DEVICE,
            DTYPE,
        ],
        make_transformer,
    )
    .details(
        "`forward(src, tgt, #{src_mask, tgt_mask, memory_mask, src_key_padding_mask, tgt_key_padding_mask, \
         memory_key_padding_mask, …})`. `nn::Transformer::generate_square_subsequent_mask(n)` hides what comes later. \
         Matrices are drawn by `xavier_uniform_`.",
    )
    .example(
        "nn::Transformer(8, 2, 1, 1, 16).forward(rand([5, 3, 8]), rand([4, 3, 8])).shape",
        "[4, 3, 8]",
    ),
];

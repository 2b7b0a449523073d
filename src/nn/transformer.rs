//! Transformer encoders.

use std::collections::HashMap;

use crate::base::{DType, Error, Result};
use crate::nn::made::{Made, constructor};
use crate::op::activation::functions::gelu;
use crate::op::core::convert::cloned;
use crate::op::core::record;
use crate::op::def::DefaultValue;
use crate::op::elementwise::arithmetic::add;
use crate::op::elementwise::unary::relu;
use crate::op::params::{Maybe, OfWeights, Written, by_name, kind, params};
use crate::op::shape::triangle::triu;
use crate::op::shapes;
use crate::op::{Args, Family, Form, Gradient, OpDef, Value};
use crate::tensor::Tensor;

use super::activation::dropout_module;
use super::attention::{Masks, Multihead, MultiheadAttention, Weights, additive, multihead};
use super::containers::module_list;
use super::init;
use super::linear::made;
use super::module::{Call, Layer, Module, Parts, Role, call_row};
use super::nested::{Nesting, padded, without_padding};
use super::normalise::layer_norm_module;

#[derive(Clone, Copy)]
pub(super) enum Activation {
    Relu,
    Gelu,
    /// The child `activation`.
    Own,
}

struct EncoderLayer {
    activation: Activation,
    norm_first: bool,
}

/// One child of a layer on one tensor.
pub(super) fn through(call: &Call, name: &str, x: &Tensor) -> Result<Tensor> {
    match call.module.child(name) {
        Some(child) => child.forward(&[x], call.caller),
        None => Err(Error::runtime(format!("{} has no {name}", call.module.name()))),
    }
}

/// The attention and the dropout of these names.
pub(super) fn attend(
    call: &Call,
    [attention, dropout]: [&str; 2],
    inputs: [&Tensor; 3],
    masks: Masks,
) -> Result<Tensor> {
    let child = call.module.child(attention);
    let Some((child, layer)) = child.as_ref().and_then(|c| Some((c, MultiheadAttention::of(c)?))) else {
        let text = format!("{attention} of a {} must be a MultiheadAttention", call.module.name());
        return Err(Error::type_error(text));
    };
    let (out, _) = layer.attend(child, inputs, masks, Weights::None)?;
    through(call, dropout, &out)
}

/// The network on each place, with the dropout of this name behind it.
pub(super) fn feed(call: &Call, activation: Activation, dropout: &str, x: &Tensor) -> Result<Tensor> {
    let wide = through(call, "linear1", x)?;
    let wide = match activation {
        Activation::Relu => relu(&wide)?,
        Activation::Gelu => gelu(&wide, "none")?,
        Activation::Own => through(call, "activation", &wide)?,
    };
    let narrow = through(call, "linear2", &through(call, "dropout", &wide)?)?;
    through(call, dropout, &narrow)
}

/// A part of a layer, added to what goes into it. The norm of this name stands before the part, or behind the sum.
pub(super) fn residual(
    call: &Call,
    norm_first: bool,
    norm: &str,
    x: &Tensor,
    part: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    if norm_first {
        return add(x, &part(&through(call, norm, x)?)?);
    }
    through(call, norm, &add(x, &part(x)?)?)
}

params! {
    /// The network of a layer.
    pub(super) group FeedParams {
        dim_feedforward: kind::Size = 2048, "how many features the network has between its two linear layers";
        dropout: Written<kind::Float> => DefaultValue::Float(0.1), "how probable it is that an element becomes zero";
        activation: kind::Any => DefaultValue::Str("relu"), "what stands between the linear layers";
    }
}

params! {
    /// The last parameters of layers and of the whole transformer.
    pub(super) group LayerParams {
        layer_norm_eps: kind::Float = 1e-5, "a small number that norms add to the variance";
        batch_first: kind::Bool = false, "whether the batch is dimension 0 of inputs, and not 1";
        norm_first: kind::Bool = false, "whether norms stand before each part, and not behind it";
        bias: OfWeights<kind::Bool> = true, "whether linear layers and norms add a trained vector";
        ..made: Made;
    }
}

params! {
    /// Those of an encoder's layer and of a decoder's.
    pub(super) TransformerLayerParams {
        d_model: kind::Size, "how many features a place has";
        nhead: kind::Size, "how many heads the attention has";
        ..feed: FeedParams;
        ..layer: LayerParams;
    }
}

/// What a layer is made from.
pub(super) struct LayerSizes<'s, 'a> {
    pub width: usize,
    pub heads: usize,
    pub feed: &'s FeedParams<'a>,
    pub layer: &'s LayerParams<'a>,
}

impl<'s, 'a> LayerSizes<'s, 'a> {
    pub(super) fn of(a: &'s TransformerLayerParams<'a>) -> LayerSizes<'s, 'a> {
        LayerSizes { width: a.d_model, heads: a.nhead, feed: &a.feed, layer: &a.layer }
    }

    pub(super) fn norm(&self) -> Result<Module> {
        let LayerParams { layer_norm_eps, bias, made, .. } = self.layer;
        layer_norm_module(&[self.width as i64], *layer_norm_eps, [true, *bias], made.dtype())
    }

    fn attention(&self) -> Result<Module> {
        multihead(Multihead {
            width: self.width,
            heads: self.heads,
            dropout: self.feed.dropout.0,
            bias: self.layer.bias,
            bias_kv: false,
            zero: false,
            from: [self.width; 2],
            batch_first: self.layer.batch_first,
            dtype: self.layer.made.dtype(),
        })
    }

    /// The children of a layer: attentions of these names, the network, and a norm and a dropout for each of them.
    pub(super) fn parts(&self, attentions: &[&str]) -> Result<(Parts, Activation)> {
        let (activation, own) = activation(self.feed.activation)?;
        let linear = |sizes| made("Linear", sizes, self.layer.bias, self.layer.made.dtype());
        let (inner, dropout) = (self.feed.dim_feedforward, || dropout_module(self.feed.dropout, false));
        let mut parts = Parts::new();
        for name in attentions {
            parts = parts.child(*name, self.attention()?);
        }
        parts = parts.child("linear1", linear([self.width, inner])?);
        parts = parts.child("dropout", dropout()?);
        parts = parts.child("linear2", linear([inner, self.width])?);
        for number in 1..=attentions.len() + 1 {
            parts = parts.child(format!("norm{number}"), self.norm()?);
        }
        for number in 1..=attentions.len() + 1 {
            parts = parts.child(format!("dropout{number}"), dropout()?);
        }
        Ok((own.into_iter().fold(parts, |parts, module| parts.child("activation", module)), activation))
    }
}

impl Layer for EncoderLayer {
    fn name(&self) -> &str {
        "TransformerEncoderLayer"
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        call.responded()
    }

    fn call_row(&self) -> Option<&'static OpDef> {
        static ROW: OpDef = call_row("forward", EncoderLayerCall::LIST);
        Some(&ROW)
    }

    fn respond(&self, call: &Call, a: &Args) -> Result<Value> {
        let a = EncoderLayerCall::of(a)?;
        let dtype = a.src.dtype();
        let additive = |mask: Option<&Tensor>, name| mask.map(|m| additive(m, name, dtype)).transpose();
        let padding = additive(a.src_key_padding_mask, "src_key_padding_mask")?;
        let mask = additive(a.src_mask, "src_mask")?;
        let masks = Masks { padding: padding.as_ref(), attention: mask.as_ref(), is_causal: a.is_causal };
        let look = |x: &Tensor| attend(call, ["self_attn", "dropout1"], [x, x, x], masks);
        let think = |x: &Tensor| feed(call, self.activation, "dropout2", x);
        let x = residual(call, self.norm_first, "norm1", a.src, look)?;
        residual(call, self.norm_first, "norm2", &x, think).map(Value::from)
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        (name == "norm_first").then(|| Value::Scalar(self.norm_first.into()))
    }
}

/// An encoder layer from its sizes.
pub(super) fn encoder_layer(sizes: &LayerSizes) -> Result<Module> {
    let (parts, activation) = sizes.parts(&["self_attn"])?;
    Module::new(EncoderLayer { activation, norm_first: sizes.layer.norm_first }, parts)
}

pub(super) fn activation(value: &Value) -> Result<(Activation, Option<Module>)> {
    match (value, Module::from_value(value)) {
        (_, Some(module)) => Ok((Activation::Own, Some(module.clone()))),
        (Value::Str(name), _) if name == "relu" => Ok((Activation::Relu, None)),
        (Value::Str(name), _) if name == "gelu" => Ok((Activation::Gelu, None)),
        (Value::Str(name), _) => Err(Error::runtime(format!("activation should be relu/gelu, not {name}"))
            .with_hint("a module such as nn::SiLU() is an activation as well")),
        (other, _) => Err(Error::type_error(format!(
            "activation must be a string or a module, not {}",
            other.describe()
        ))),
    }
}

pub(super) struct Encoder {
    pub nesting: Nesting,
}

impl Layer for Encoder {
    fn name(&self) -> &str {
        "TransformerEncoder"
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        call.responded()
    }

    fn call_row(&self) -> Option<&'static OpDef> {
        static ROW: OpDef = call_row("forward", EncoderCall::LIST);
        Some(&ROW)
    }

    fn respond(&self, call: &Call, a: &Args) -> Result<Value> {
        let a = EncoderCall::of(a)?;
        let causal = a.is_causal.unwrap_or(false);
        let rest = [passed(a.mask), passed(a.src_key_padding_mask), Value::Scalar(causal.into())];
        let layers = call.module.child("layers").map(|m| m.children()).unwrap_or_default();
        let layers: Vec<Module> = layers.iter().map(|(_, layer)| layer.clone()).collect();
        // With a mask of another kind beside it every place is computed.
        let padding = a.src_key_padding_mask.filter(|_| a.mask.is_none()).map(padded).transpose()?;
        let skips = self.nesting.skips(&layers, a.src, padding.as_ref())?;
        stack(call, a.src, &rest, padding.as_ref().filter(|_| skips)).map(Value::Tensor)
    }
}

/// A tensor through the children of `layers`, each with the same other arguments, and through `norm` where there is
/// one; before it the places that are `skipped` become 0.
pub(super) fn stack(call: &Call, x: &Tensor, rest: &[Value], skipped: Option<&Tensor>) -> Result<Tensor> {
    let mut x = x.clone();
    for (_, layer) in call.module.child("layers").map(|m| m.children()).iter().flat_map(|all| all.iter()) {
        let args = std::iter::once(x.into()).chain(rest.iter().cloned()).collect();
        match layer.respond(args, Vec::new(), call.caller)? {
            Value::Tensor(t) => x = t,
            other => {
                return Err(Error::type_error(format!("a layer gave {}, no Tensor", other.describe())));
            }
        }
    }
    if let Some(padding) = skipped {
        x = without_padding(&x, padding)?;
    }
    match call.module.child("norm") {
        Some(norm) => norm.forward(&[&x], call.caller),
        None => Ok(x),
    }
}

/// A mask on its way to a layer.
pub(super) fn passed(mask: Option<&Tensor>) -> Value {
    mask.map_or(Value::None, |t| t.clone().into())
}

/// The module that an argument must be.
pub(super) fn given_module(value: &Value) -> Result<Module> {
    Module::from_value(value).cloned().ok_or_else(|| {
        let text = format!("{} is not a Module subclass", value.describe());
        Error::type_error(text).with_hint("the layers are made like `nn::TransformerEncoderLayer(64, 4)`")
    })
}

/// An [`Encoder`] or a decoder: copies of a layer, and a norm for the end.
pub(super) fn stacked(
    stack: impl Layer,
    layer: &Module,
    count: usize,
    norm: Option<Module>,
) -> Result<Module> {
    if layer.layer().call_row().is_none() {
        let text = format!("the layers of a {} cannot be a {}", stack.name(), layer.name());
        return Err(Error::type_error(text).with_hint(format!("give it an nn::{}Layer", stack.name())));
    }
    let copies = (0..count).map(|_| copy(layer)).collect::<Result<Vec<_>>>()?;
    let parts = Parts::new().child("layers", module_list(&copies)?);
    Module::new(stack, norm.into_iter().fold(parts, |parts, norm| parts.child("norm", norm)))
}

/// A network of its own with the same values: what `copy.deepcopy` gives.
pub fn copy(module: &Module) -> Result<Module> {
    let _quiet = record::no_grad();
    let mut copies = HashMap::new();
    for role in [Role::Parameter, Role::Buffer] {
        for (_, t) in module.named(role) {
            let twin = cloned(&t.detach())?;
            if t.requires_grad() {
                twin.set_requires_grad(true)?;
            }
            copies.insert(t.id(), twin);
        }
    }
    Ok(module.replica(&mut |t| copies.get(&t.id()).cloned().unwrap_or_else(|| t.clone())))
}

params! {
    CausalMaskParams {
        sz: kind::Size, "how many places the sequence has";
        device: Maybe<kind::Device>, "where the mask lies; without it on the CPU";
        dtype: Maybe<kind::DType>, "what the mask holds; without it float32";
    }
}

/// `[n, n]` with `-inf` above the diagonal, zeros elsewhere.
fn causal_mask(CausalMaskParams { sz: n, device, dtype, .. }: CausalMaskParams) -> Result<Value> {
    let hidden = init::full(&[n, n], f64::NEG_INFINITY, dtype.unwrap_or(DType::Float32))?;
    let mask = triu(&hidden, 1)?;
    match device {
        Some(spec) => {
            let machine = crate::device::Machine::current();
            let context = machine.context(machine.resolve(spec))?;
            mask.moved(context, false, "to").map(Value::from)
        }
        None => Ok(mask.into()),
    }
}

params! {
    EncoderLayerCall {
        src: kind::Tensor, "the sequences that it encodes, one vector for each place";
        src_mask: Maybe<kind::Tensor>, "true or `-inf` where a place must not look";
        src_key_padding_mask: Maybe<kind::Tensor>, "true or `-inf` at places that are padding";
        is_causal: kind::Bool = false, "says that `src_mask` is the causal mask";
    }
}

params! {
    EncoderCall {
        src: kind::Tensor, "the sequences that it encodes, one vector for each place";
        mask: Maybe<kind::Tensor>, "true or `-inf` where a place must not look";
        src_key_padding_mask: Maybe<kind::Tensor>, "true or `-inf` at places that are padding";
        is_causal: Maybe<kind::Bool>, "says that `mask` is the causal mask";
    }
}

params! {
    EncoderParams {
        encoder_layer: kind::Any, "the layer that is copied";
        num_layers: kind::Size, "how many copies there are";
        norm: Maybe<kind::Any>, "a module for the end, such as a LayerNorm";
        enable_nested_tensor: kind::Bool = true, "whether padded places become 0 where a batch is only evaluated";
        mask_check: kind::Bool = true, "whether they do so only where padding stands at the ends";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "TransformerEncoderLayer",
        "Attention of a sequence to itself, then a small network on each place, each added to its input.",
        TransformerLayerParams::LIST,
        by_name!(TransformerLayerParams, |a| a.layer.made.place(encoder_layer(&LayerSizes::of(&a))?)),
    )
    .details(
        "`forward(src, #{src_mask, src_key_padding_mask, is_causal})`; `src` is `[length, batch, d_model]`, with \
         `batch_first` `[batch, length, d_model]`. `activation` is \"relu\", \"gelu\" or a module. `norm_first` \
         normalises before each part instead of after it.",
    )
    .shapes("(S, N, d_model) -> the same; N comes first with batch_first and may be left out")
    .errors(&[
        "AssertionError: `nhead` does not divide `d_model`, or the input has not `d_model` features",
        "ValueError: the features or the heads are not above 0",
        shapes::NEGATIVE,
    ])
    .example("nn::TransformerEncoderLayer(8, 2).forward(rand([5, 3, 8])).shape", "[5, 3, 8]"),
    constructor(
        "TransformerEncoder",
        "Copies of a transformer layer, one after the other.",
        EncoderParams::LIST,
        by_name!(EncoderParams, |a| {
            let norm = a.norm.map(given_module).transpose()?;
            let nesting = Nesting { enabled: a.enable_nested_tensor, checked: a.mask_check };
            stacked(Encoder { nesting }, &given_module(a.encoder_layer)?, a.num_layers, norm).map(Module::into_value)
        }),
    )
    .details(
        "The copies begin with the values of `encoder_layer` and are trained apart. `forward(src, #{mask, \
         src_key_padding_mask, is_causal})`; `norm` is a module for the end. In evaluation mode and without gradients, with \
         `batch_first` and a mask of padding, what comes out at padded places is 0, as in PyTorch.",
    )
    .shapes("(S, N, d_model) -> the same; N comes first with batch_first and may be left out")
    .errors(&[
        "TypeError: the layer takes no masks, as a ReLU does not",
        shapes::NEGATIVE,
        "AssertionError: the input has not as many features as the layer",
    ])
    .example(
        "nn::TransformerEncoder(nn::TransformerEncoderLayer(8, 2), 3).forward(rand([5, 3, 8])).shape",
        "[5, 3, 8]",
    ),
    OpDef::call(
        "generate_square_subsequent_mask",
        Family::Module,
        "A mask that hides from each place what comes after it.",
        CausalMaskParams::LIST,
        by_name!(CausalMaskParams, causal_mask),
    )
    .forms(&[Form::Of("nn::Transformer")])
    .gradient(Gradient::NoGrad("the result does not depend on values of a tensor"))
    .shapes("-> (sz, sz)")
    .errors(&[shapes::NEGATIVE])
    .example(
        "nn::Transformer::generate_square_subsequent_mask(2)",
        "tensor([[0., -inf],\n        [0., 0.]])",
    ),
];

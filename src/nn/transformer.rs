//! Transformer encoders.

use std::collections::HashMap;

use crate::base::{DType, Error, Result};
use crate::op::activation::gelu;
use crate::op::binary::add;
use crate::op::def::DefaultValue;
use crate::op::joins::triu;
use crate::op::movement::cloned;
use crate::op::unary::relu;
use crate::op::{Args, Family, Form, Gradient, OpDef, Param, ParamKind, Value, record};
use crate::tensor::Tensor;

use super::activation::dropout_module;
use super::attention::{Masks, Multihead, MultiheadAttention, Weights, additive, flag, mask, multihead};
use super::containers::module_list;
use super::init;
use super::linear::{BIAS, DEVICE, DTYPE, constructor, made};
use super::module::{Call, Layer, Module, Parts, Role, call_row, size};
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

/// What a layer is made from.
pub(super) struct LayerSizes {
    pub width: usize,
    pub heads: usize,
    pub inner: usize,
    /// A number, as it prints.
    pub dropout: Value,
    pub activation: Value,
    pub eps: f64,
    pub batch_first: bool,
    pub norm_first: bool,
    pub bias: bool,
    pub dtype: DType,
}

impl LayerSizes {
    /// From the arguments of a layer's row.
    pub fn of_layer(a: &Args) -> Result<LayerSizes> {
        Ok(LayerSizes {
            width: size(a, 0)?,
            heads: size(a, 1)?,
            inner: size(a, 2)?,
            dropout: a.get(3).clone(),
            activation: a.get(4).clone(),
            eps: a.float(5)?,
            batch_first: a.bool(6)?,
            norm_first: a.bool(7)?,
            bias: a.bool(8)?,
            dtype: a.dtype(10).unwrap_or(DType::Float32),
        })
    }

    pub fn share(&self) -> Result<f64> {
        match &self.dropout {
            Value::Scalar(p) => Ok(p.as_f64()),
            other => Err(Error::type_error(format!("dropout must be a number, not {}", other.describe()))),
        }
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
        static ROW: OpDef = call_row("forward", LAYER_CALL);
        Some(&ROW)
    }

    fn respond(&self, call: &Call, a: &Args) -> Result<Value> {
        let x = a.tensor(0)?;
        let padding =
            a.optional_tensor(2).map(|m| additive(m, "src_key_padding_mask", x.dtype())).transpose()?;
        let mask = a.optional_tensor(1).map(|m| additive(m, "src_mask", x.dtype())).transpose()?;
        let masks = Masks { padding: padding.as_ref(), attention: mask.as_ref(), is_causal: a.bool(3)? };
        let norm = |name: &str, x: &Tensor| through(call, name, x);
        let look = |x: &Tensor| attend(call, ["self_attn", "dropout1"], [x, x, x], masks);
        let think = |x: &Tensor| feed(call, self.activation, "dropout2", x);
        let out = if self.norm_first {
            let x = add(x, &look(&norm("norm1", x)?)?)?;
            add(&x, &think(&norm("norm2", &x)?)?)?
        } else {
            let x = norm("norm1", &add(x, &look(x)?)?)?;
            norm("norm2", &add(&x, &think(&x)?)?)?
        };
        Ok(out.into())
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        (name == "norm_first").then(|| Value::Scalar(self.norm_first.into()))
    }
}

/// An encoder layer from its sizes.
pub(super) fn encoder_layer(sizes: &LayerSizes) -> Result<Module> {
    let LayerSizes { width, inner, dtype, bias, .. } = *sizes;
    let (activation, own) = activation(&sizes.activation)?;
    let attention = multihead(Multihead {
        width,
        heads: sizes.heads,
        dropout: sizes.share()?,
        bias,
        bias_kv: false,
        zero: false,
        from: [width; 2],
        batch_first: sizes.batch_first,
        dtype,
    })?;
    let norm = || layer_norm_module(&[width as i64], sizes.eps, [true, bias], dtype);
    let linear1 = made("Linear", [width, inner], bias, dtype)?;
    let linear2 = made("Linear", [inner, width], bias, dtype)?;
    let parts = Parts::new()
        .child("self_attn", attention)
        .child("linear1", linear1)
        .child("dropout", dropout_module(&sizes.dropout)?)
        .child("linear2", linear2)
        .child("norm1", norm()?)
        .child("norm2", norm()?)
        .child("dropout1", dropout_module(&sizes.dropout)?)
        .child("dropout2", dropout_module(&sizes.dropout)?);
    let parts = match own {
        Some(module) => parts.child("activation", module),
        None => parts,
    };
    Module::new(EncoderLayer { activation, norm_first: sizes.norm_first }, parts)
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

struct Encoder;

impl Layer for Encoder {
    fn name(&self) -> &str {
        "TransformerEncoder"
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        call.responded()
    }

    fn call_row(&self) -> Option<&'static OpDef> {
        static ROW: OpDef = call_row("forward", ENCODER_CALL);
        Some(&ROW)
    }

    fn respond(&self, call: &Call, a: &Args) -> Result<Value> {
        let causal = if a.is_none(3) { Value::Scalar(false.into()) } else { a.get(3).clone() };
        stack(call, a.tensor(0)?, &[a.get(1).clone(), a.get(2).clone(), causal]).map(Value::Tensor)
    }
}

/// A tensor through the children of `layers`, each with the same other arguments, and through `norm` where there is
/// one.
pub(super) fn stack(call: &Call, x: &Tensor, rest: &[Value]) -> Result<Tensor> {
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
    match call.module.child("norm") {
        Some(norm) => norm.forward(&[&x], call.caller),
        None => Ok(x),
    }
}

/// The module that an argument must be.
pub(super) fn given_module(a: &Args, i: usize) -> Result<Module> {
    Module::from_value(a.get(i)).cloned().ok_or_else(|| {
        let text = format!("{} is not a Module subclass", a.get(i).describe());
        Error::type_error(text).with_hint("the layers are made like `nn::TransformerEncoderLayer(64, 4)`")
    })
}

/// The module that an argument may be.
pub(super) fn given_norm(a: &Args, i: usize) -> Result<Option<Module>> {
    if a.is_none(i) { Ok(None) } else { given_module(a, i).map(Some) }
}

/// Copies of an encoder layer, and a norm for the end.
pub(super) fn encoder(layer: &Module, count: usize, norm: Option<Module>) -> Result<Module> {
    if layer.layer().call_row().is_none() {
        let text = format!("the layers of a TransformerEncoder cannot be a {}", layer.name());
        return Err(Error::type_error(text).with_hint("give it an nn::TransformerEncoderLayer"));
    }
    let copies = (0..count).map(|_| copy(layer)).collect::<Result<Vec<_>>>()?;
    let parts = Parts::new().child("layers", module_list(&copies)?);
    let parts = match norm {
        Some(norm) => parts.child("norm", norm),
        None => parts,
    };
    Module::new(Encoder, parts)
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

/// `[n, n]` with `-inf` above the diagonal, zeros elsewhere.
fn causal_mask(a: &Args) -> Result<Value> {
    let n = size(a, 0)?;
    let hidden = init::full(&[n, n], f64::NEG_INFINITY, a.dtype(2).unwrap_or(DType::Float32))?;
    let mask = triu(&hidden, 1)?;
    match a.device(1) {
        Some(spec) => {
            let machine = crate::device::Machine::current();
            let context = machine.context(machine.resolve(spec))?;
            mask.moved(context, false, "to").map(Value::from)
        }
        None => Ok(mask.into()),
    }
}

const LAYER_CALL: &[Param] = &[
    Param::required("src", ParamKind::Tensor),
    mask("src_mask"),
    mask("src_key_padding_mask"),
    flag("is_causal", false),
];

const ENCODER_CALL: &[Param] = &[
    Param::required("src", ParamKind::Tensor),
    mask("mask"),
    mask("src_key_padding_mask"),
    Param::optional("is_causal", ParamKind::Bool, DefaultValue::None),
];

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "TransformerEncoderLayer",
        "Attention of a sequence to itself, then a small network on each place, each added to its input.",
        &[
            Param::required("d_model", ParamKind::Int),
            Param::required("nhead", ParamKind::Int),
            Param::optional("dim_feedforward", ParamKind::Int, DefaultValue::Int(2048)),
            Param::optional("dropout", ParamKind::Float, DefaultValue::Float(0.1)),
            Param::optional("activation", ParamKind::Any, DefaultValue::Str("relu")),
            Param::optional("layer_norm_eps", ParamKind::Float, DefaultValue::Float(1e-5)),
            flag("batch_first", false),
            flag("norm_first", false),
            BIAS,
            DEVICE,
            DTYPE,
        ],
        |a| encoder_layer(&LayerSizes::of_layer(a)?)?.placed(a.device(9)).map(Module::into_value),
    )
    .details(
        "`forward(src, #{src_mask, src_key_padding_mask, is_causal})`; `src` is `[length, batch, d_model]`, with \
         `batch_first` `[batch, length, d_model]`. `activation` is \"relu\", \"gelu\" or a module. `norm_first` \
         normalises before each part instead of after it.",
    )
    .example("nn::TransformerEncoderLayer(8, 2).forward(rand([5, 3, 8])).shape", "[5, 3, 8]"),
    constructor(
        "TransformerEncoder",
        "Copies of a transformer layer, one after the other.",
        &[
            Param::required("encoder_layer", ParamKind::Any),
            Param::required("num_layers", ParamKind::Int),
            Param::optional("norm", ParamKind::Any, DefaultValue::None),
        ],
        |a| encoder(&given_module(a, 0)?, size(a, 1)?, given_norm(a, 2)?).map(Module::into_value),
    )
    .details(
        "The copies begin with the values of `encoder_layer` and are trained apart. `forward(src, #{mask, \
         src_key_padding_mask, is_causal})`; `norm` is a module for the end.",
    )
    .example(
        "nn::TransformerEncoder(nn::TransformerEncoderLayer(8, 2), 3).forward(rand([5, 3, 8])).shape",
        "[5, 3, 8]",
    ),
    OpDef::call(
        "generate_square_subsequent_mask",
        Family::Module,
        "A mask that hides from each place what comes after it.",
        &[Param::required("sz", ParamKind::Int), DEVICE, DTYPE],
        causal_mask,
    )
    .forms(&[Form::Of("nn::Transformer")])
    .gradient(Gradient::NoGrad("the result does not depend on values of a tensor"))
    .example(
        "nn::Transformer::generate_square_subsequent_mask(2)",
        "tensor([[0., -inf],\n        [0., 0.]])",
    ),
];

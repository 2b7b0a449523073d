//! Layers of composed operations: gates, channel dropout, RMS norm, and maps of modules.

use crate::base::{Error, Result, python, shape};
use crate::device::Shared;
use crate::nn::made::{Made, constructor};
use crate::op::activation::dropout::{check_probability, dropout1d, feature_dropout};
use crate::op::activation::variants::{
    celu, glu, hardsigmoid, hardswish, logsigmoid, prelu, selu, softsign, usual_dim,
};
use crate::op::core::fill::replaced_if;
use crate::op::def::DefaultValue;
use crate::op::elementwise::sign::neg;
use crate::op::normalise::layer_norm::rms_norm;
use crate::op::params::{Maybe, OfWeights, by_name, kind, kinds, params};
use crate::op::reduce::softmax::softmax;
use crate::op::shape::view::unflatten;
use crate::op::{Args, MapValue, OpDef, Value, shapes};
use crate::tensor::Tensor;

use super::activation::{InplaceParams, Simple, SoftmaxParams, activation};
use super::containers::pairs;
use super::init;
use super::module::{Call, Layer, Module, Parts};

struct RmsNorm {
    shape: Vec<i64>,
    eps: Option<f64>,
}

impl Layer for RmsNorm {
    fn name(&self) -> &str {
        "RMSNorm"
    }

    fn options(&self, module: &Module) -> String {
        format!(
            "{}, eps={}, elementwise_affine={}",
            python::tuple(&self.shape),
            self.eps.map_or_else(|| "None".into(), python::float),
            python::bool(module.tensor("weight").is_some())
        )
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        rms_norm(call.only()?, &self.shape, call.module.tensor("weight").as_ref(), self.eps)
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        match name {
            "normalized_shape" => {
                Some(Value::List(self.shape.iter().map(|&d| Value::Scalar(d.into())).collect()))
            }
            "eps" => Some(self.eps.map_or(Value::None, |eps| Value::Scalar(eps.into()))),
            _ => None,
        }
    }
}

params! {
    RmsNormParams {
        normalized_shape: kind::Ints, "the sizes of the last dimensions, which are normalised together";
        eps: Maybe<kind::Float>, "what is added to the mean square; without it the dtype's smallest step from 1";
        elementwise_affine: OfWeights<kind::Bool> = true, "whether the result is multiplied by trained weights";
        ..made: Made;
    }
}

fn make_rms_norm(a: RmsNormParams) -> Result<Value> {
    let sizes = shape::checked_sizes(&a.normalized_shape)?;
    let weight = if a.elementwise_affine { Some(init::full(&sizes, 1.0, a.made.dtype())?) } else { None };
    let layer = RmsNorm { shape: a.normalized_shape, eps: a.eps };
    a.made.place(Module::new(layer, Parts::new().parameter("weight", weight))?)
}

struct Prelu {
    count: usize,
}

impl Layer for Prelu {
    fn name(&self) -> &str {
        "PReLU"
    }

    fn options(&self, _: &Module) -> String {
        format!("num_parameters={}", self.count)
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        prelu(call.only()?, &call.module.needed("weight")?)
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        (name == "num_parameters").then(|| Value::Scalar((self.count as i64).into()))
    }
}

params! {
    PreluParams {
        num_parameters: OfWeights<kind::Size> = 1, "how many weights there are: 1, or one for each channel";
        init: kind::Float = 0.25, "what the weights are before training";
        ..made: Made;
    }
}

fn make_prelu(a: PreluParams) -> Result<Value> {
    let weight = init::full(&[a.num_parameters], a.init, a.made.dtype())?;
    let parts = Parts::new().parameter("weight", Some(weight));
    a.made.place(Module::new(Prelu { count: a.num_parameters }, parts)?)
}

struct ModuleDict;

impl Layer for ModuleDict {
    fn name(&self) -> &str {
        "ModuleDict"
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        Err(super::containers::no_forward(call.module.name())
            .with_hint("`dict[\"name\"].forward(x)` calls one"))
    }

    fn is_dict(&self) -> bool {
        true
    }
}

kinds! {
    DictEntries(Any) => Vec<(String, Value)>, |args: &Args, at| match args.get(at) {
        Value::None => Ok(Vec::new()),
        Value::Object(o) => match o.get::<MapValue>() {
            Some(entries) => {
                let mut entries = entries.to_vec();
                // A map has its names in their own order.
                entries.sort_by_key(|(_, value)| Module::from_value(value).map(Module::number));
                Ok(entries)
            }
            None => Err(args.wrong(at, args.get(at))),
        },
        other => pairs(other).ok_or_else(|| {
            Error::type_error(args.wrong(at, other).message()).with_hint(
                "it takes a map of modules, `#{act: nn::ReLU()}`, or an array of pairs, `[[\"act\", nn::ReLU()]]`",
            )
        }),
    };
}

params! {
    ModuleDictParams {
        modules: DictEntries => DefaultValue::None, "a map from names to modules, or an array of pairs, in whose order they stand";
    }
}

fn make_dict(entries: Vec<(String, Value)>) -> Result<Value> {
    let mut parts = Parts::new();
    for (name, value) in entries {
        let Some(module) = Module::from_value(&value) else {
            let text = format!("ModuleDict(): '{name}' is no module but {}", value.describe());
            return Err(Error::type_error(text));
        };
        parts = parts.child(name, module.clone());
    }
    Module::new(ModuleDict, parts).map(Module::into_value)
}

params! {
    CeluParams {
        alpha: kind::Float = 1.0, "how far below 0 the output of very negative inputs is";
        inplace: kind::Bool = false, "whether it writes to its input, which saves memory";
    }
}

params! {
    GluParams {
        dim: kind::Dim = -1, "the dimension that is cut in two halves";
    }
}

params! {
    ChannelDropoutParams {
        p: kind::Float = 0.5, "how probable it is that a channel becomes zero";
        inplace: kind::Bool = false, "whether it writes to its input, which saves memory";
    }
}

params! {
    UnflattenParams {
        dim: kind::Dim, "the dimension that is split";
        unflattened_size: kind::Ints, "the sizes it is split into; -1 stands for what is left";
    }
}

/// A dropout of whole channels.
fn channel_dropout(
    name: &'static str,
    args: &Args,
    run: fn(&Tensor, f64, bool) -> Result<Tensor>,
) -> Result<Value> {
    let ChannelDropoutParams { p, inplace, .. } = ChannelDropoutParams::of(args)?;
    check_probability(p)?;
    let run = move |c: &Call| {
        let training = c.module.training();
        replaced_if(inplace && training, c.only()?, |x| run(x, p, training))
    };
    Simple::new(name, run).options_of(args).module()
}

/// An activation that prints none of its options.
fn silent(
    name: &'static str,
    args: &Args,
    inplace: bool,
    run: fn(&Tensor) -> Result<Tensor>,
) -> Result<Value> {
    Simple::new(name, move |c| replaced_if(inplace, c.only()?, run)).hidden_of(args).module()
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor("Softsign", "`x / (1 + |x|)`.", &[], |_| {
        Simple::new("Softsign", |c| softsign(c.only()?)).module()
    })
    .shapes(shapes::SAME)
    .errors(&[shapes::BOOLS])
    .example("nn::Softsign()", "Softsign()"),
    constructor(
        "Hardsigmoid",
        "`clamp(x + 3, 0, 6) / 6`.",
        InplaceParams::LIST,
        by_name!(InplaceParams, |a, args| silent("Hardsigmoid", args, a.inplace, hardsigmoid)),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("nn::Hardsigmoid()", "Hardsigmoid()"),
    constructor(
        "Hardswish",
        "`x * hardsigmoid(x)`.",
        InplaceParams::LIST,
        by_name!(InplaceParams, |a, args| silent("Hardswish", args, a.inplace, hardswish)),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("nn::Hardswish()", "Hardswish()"),
    constructor("LogSigmoid", "The logarithm of the sigmoid.", &[], |_| {
        Simple::new("LogSigmoid", |c| logsigmoid(c.only()?)).module()
    })
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("nn::LogSigmoid()", "LogSigmoid()"),
    constructor(
        "SELU",
        "A scaled elu that keeps mean and deviation of a signal.",
        InplaceParams::LIST,
        by_name!(InplaceParams, |a, args| activation("SELU", args, a.inplace, selu)),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("nn::SELU()", "SELU()"),
    constructor(
        "CELU",
        "`x` where positive, `alpha * (exp(x / alpha) - 1)` elsewhere.",
        CeluParams::LIST,
        by_name!(CeluParams, |a, args| {
            activation("CELU", args, a.inplace, move |x| celu(x, a.alpha))
        }),
    )
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: `alpha` is 0", shapes::NO_FLOAT])
    .example("nn::CELU()", "CELU(alpha=1.0)"),
    constructor(
        "GLU",
        "The first half along a dimension times the sigmoid of the second.",
        GluParams::LIST,
        by_name!(GluParams, |a, args| {
            Simple::new("GLU", move |c| glu(c.only()?, a.dim)).options_of(args).module()
        }),
    )
    .shapes("(…, 2 n, …) -> (…, n, …)")
    .errors(&["RuntimeError: the dimension's size is odd", shapes::NO_FLOAT])
    .example("nn::GLU()", "GLU(dim=-1)"),
    constructor(
        "Softmin",
        "Softmax of `-x`.",
        SoftmaxParams::LIST,
        by_name!(SoftmaxParams, |a, args| {
            let run = move |c: &Call| {
                let x = c.only()?;
                softmax(&neg(x)?, usual_dim("softmin", x, a.dim, Shared::warn_once), None)
            };
            Simple::new("Softmin", run).options_of(args).module()
        }),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("nn::Softmin(1)", "Softmin(dim=1)"),
    constructor(
        "PReLU",
        "`x` where positive, a trained `weight * x` elsewhere.",
        PreluParams::LIST,
        by_name!(PreluParams, make_prelu),
    )
    .details("One weight for all, or one for each channel (dimension 1).")
    .shapes("(N, C, …) -> the same")
    .errors(&["RuntimeError: `num_parameters` is neither 1 nor C"])
    .example("nn::PReLU(3)", "PReLU(num_parameters=3)"),
    constructor(
        "RMSNorm",
        "Divides by the root of the mean square over the trailing dimensions.",
        RmsNormParams::LIST,
        by_name!(RmsNormParams, make_rms_norm),
    )
    .shapes("(…, normalized_shape) -> the same")
    .errors(&["RuntimeError: the input does not end with `normalized_shape`"])
    .example("nn::RMSNorm(4)", "RMSNorm((4,), eps=None, elementwise_affine=True)"),
    constructor(
        "Dropout1d",
        "While training, zeroes whole channels of `[n, channels, length]`.",
        ChannelDropoutParams::LIST,
        |a| channel_dropout("Dropout1d", a, dropout1d),
    )
    .shapes("(N, C, L) or (C, L) -> the same")
    .errors(&[
        "ValueError: `p` is not in 0 to 1",
        "RuntimeError: the input has neither two nor three dimensions, or holds integers or bools while training",
    ])
    .example("nn::Dropout1d(0.2)", "Dropout1d(p=0.2, inplace=False)"),
    constructor(
        "Dropout2d",
        "While training, zeroes whole channels of `[n, channels, h, w]`.",
        ChannelDropoutParams::LIST,
        |a| channel_dropout("Dropout2d", a, feature_dropout),
    )
    .shapes("(N, C, H, W) -> the same, as any with two dimensions or more")
    .errors(&[
        "ValueError: `p` is not in 0 to 1",
        "RuntimeError: the input has fewer than two dimensions, or holds integers or bools while training",
    ])
    .example("nn::Dropout2d(0.2)", "Dropout2d(p=0.2, inplace=False)"),
    constructor(
        "Dropout3d",
        "While training, zeroes whole channels of `[n, channels, d, h, w]`.",
        ChannelDropoutParams::LIST,
        |a| channel_dropout("Dropout3d", a, feature_dropout),
    )
    .shapes("(N, C, D, H, W) -> the same, as any with two dimensions or more")
    .errors(&[
        "ValueError: `p` is not in 0 to 1",
        "RuntimeError: the input has fewer than two dimensions, or holds integers or bools while training",
    ])
    .example("nn::Dropout3d(0.2)", "Dropout3d(p=0.2, inplace=False)"),
    constructor(
        "Unflatten",
        "Splits one dimension into several.",
        UnflattenParams::LIST,
        by_name!(UnflattenParams, |a, args| {
            let run = move |c: &Call| unflatten(c.only()?, a.dim, &a.unflattened_size);
            Simple::new("Unflatten", run).options_of(args).module()
        }),
    )
    .shapes("(…, n, …) -> (…, unflattened_size, …), -1 standing for what is left")
    .errors(&["RuntimeError: the sizes do not multiply up to the dimension's"])
    .example("nn::Unflatten(1, [2, 3]).forward(zeros([4, 6])).shape", "[4, 2, 3]"),
    constructor(
        "ModuleDict",
        "Modules by name, which one calls oneself.",
        ModuleDictParams::LIST,
        by_name!(ModuleDictParams, |a| make_dict(a.modules)),
    )
    .details(
        "`dict[\"name\"] = module` puts a module there, `pop(\"name\")` takes it out, `update(#{…})` puts several and \
         `clear()` drops all; `keys()`, `values()` and `items()` list them.",
    )
    .shapes("none: it has no forward")
    .errors(&["NotImplementedError: it is called itself"])
    .example("nn::ModuleDict(#{act: nn::ReLU()})", "ModuleDict(\n  (act): ReLU()\n)"),
];

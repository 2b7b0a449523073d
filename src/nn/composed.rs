//! Layers of composed operations: gates, channel dropout, RMS norm, and maps of modules.

use crate::base::{DType, Error, Result, python, shape};
use crate::op::activation::check_probability;
use crate::op::composed::{
    celu, dropout1d, feature_dropout, glu, hardsigmoid, hardswish, logsigmoid, prelu, rms_norm, selu,
    softsign, usual_dim,
};
use crate::op::def::DefaultValue;
use crate::op::scan::softmax;
use crate::op::shapes::unflatten;
use crate::op::unary::neg;
use crate::op::{Args, OpDef, Param, ParamKind, Value};
use crate::tensor::Tensor;

use super::activation::Simple;
use super::init;
use super::linear::{DEVICE, DTYPE, constructor};
use super::module::{Call, Layer, Module, Parts, size};

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

fn make_rms_norm(a: &Args) -> Result<Value> {
    let over = a.ints(0)?;
    let sizes = shape::checked_sizes(&over)?;
    let dtype = a.dtype(4).unwrap_or(DType::Float32);
    let weight = if a.bool(2)? { Some(init::full(&sizes, 1.0, dtype)?) } else { None };
    let layer = RmsNorm { shape: over, eps: a.optional_float(1) };
    Module::new(layer, Parts::new().parameter("weight", weight))?.placed(a.device(3)).map(Module::into_value)
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

fn make_prelu(a: &Args) -> Result<Value> {
    let count = size(a, 0)?;
    let weight = init::full(&[count], a.float(1)?, a.dtype(3).unwrap_or(DType::Float32))?;
    let parts = Parts::new().parameter("weight", Some(weight));
    Module::new(Prelu { count }, parts)?.placed(a.device(2)).map(Module::into_value)
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

fn make_dict(a: &Args) -> Result<Value> {
    let mut parts = Parts::new();
    let entries: &[(String, Value)] = match a.get(0) {
        Value::None => &[],
        Value::Object(o) => match o.get::<Vec<(String, Value)>>() {
            Some(entries) => entries,
            None => return Err(a.wrong(0, a.get(0))),
        },
        other => return Err(a.wrong(0, other)),
    };
    for (name, value) in entries {
        let Some(module) = Module::from_value(value) else {
            let text = format!("ModuleDict(): '{name}' is no module but {}", value.describe());
            return Err(Error::type_error(text));
        };
        parts = parts.child(name, module.clone());
    }
    Module::new(ModuleDict, parts).map(Module::into_value)
}

fn channel_dropout(
    name: &'static str,
    a: &Args,
    run: fn(&Tensor, f64, bool) -> Result<Tensor>,
) -> Result<Value> {
    let p = a.float(0)?;
    check_probability(p)?;
    Simple::new(name, move |c| run(c.only()?, p, c.module.training()))
        .option("p", a.get(0))
        .option("inplace", &Value::Scalar(false.into()))
        .module()
}

const DIM: Param = Param::optional("dim", ParamKind::Int, DefaultValue::None);
const SHARE: Param = Param::optional("p", ParamKind::Float, DefaultValue::Float(0.5));

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor("Softsign", "`x / (1 + |x|)`.", &[], |_| {
        Simple::new("Softsign", |c| softsign(c.only()?)).module()
    })
    .example("nn::Softsign()", "Softsign()"),
    constructor("Hardsigmoid", "`clamp(x + 3, 0, 6) / 6`.", &[], |_| {
        Simple::new("Hardsigmoid", |c| hardsigmoid(c.only()?)).module()
    })
    .example("nn::Hardsigmoid()", "Hardsigmoid()"),
    constructor("Hardswish", "`x * hardsigmoid(x)`.", &[], |_| {
        Simple::new("Hardswish", |c| hardswish(c.only()?)).module()
    })
    .example("nn::Hardswish()", "Hardswish()"),
    constructor("LogSigmoid", "The logarithm of the sigmoid.", &[], |_| {
        Simple::new("LogSigmoid", |c| logsigmoid(c.only()?)).module()
    })
    .example("nn::LogSigmoid()", "LogSigmoid()"),
    constructor("SELU", "A scaled elu that keeps mean and deviation of a signal.", &[], |_| {
        Simple::new("SELU", |c| selu(c.only()?)).module()
    })
    .example("nn::SELU()", "SELU()"),
    constructor(
        "CELU",
        "`x` where positive, `alpha * (exp(x / alpha) - 1)` elsewhere.",
        &[Param::optional("alpha", ParamKind::Float, DefaultValue::Float(1.0))],
        |a| {
            let alpha = a.float(0)?;
            Simple::new("CELU", move |c| celu(c.only()?, alpha)).option("alpha", a.get(0)).module()
        },
    )
    .example("nn::CELU()", "CELU(alpha=1.0)"),
    constructor(
        "GLU",
        "The first half along a dimension times the sigmoid of the second.",
        &[Param::optional("dim", ParamKind::Int, DefaultValue::Int(-1))],
        |a| {
            let dim = a.int(0)?;
            Simple::new("GLU", move |c| glu(c.only()?, dim)).option("dim", a.get(0)).module()
        },
    )
    .example("nn::GLU()", "GLU(dim=-1)"),
    constructor("Softmin", "Softmax of `-x`.", &[DIM], |a| {
        let dim = a.optional_int(0);
        Simple::new("Softmin", move |c| softmax(&neg(c.only()?)?, usual_dim(c.only()?, dim), None))
            .option("dim", a.get(0))
            .module()
    })
    .example("nn::Softmin(1)", "Softmin(dim=1)"),
    constructor(
        "PReLU",
        "`x` where positive, a trained `weight * x` elsewhere.",
        &[
            Param::optional("num_parameters", ParamKind::Int, DefaultValue::Int(1)),
            Param::optional("init", ParamKind::Float, DefaultValue::Float(0.25)),
            DEVICE,
            DTYPE,
        ],
        make_prelu,
    )
    .details("One weight for all, or one for each channel (dimension 1).")
    .example("nn::PReLU(3)", "PReLU(num_parameters=3)"),
    constructor(
        "RMSNorm",
        "Divides by the root of the mean square over the trailing dimensions.",
        &[
            Param::required("normalized_shape", ParamKind::Ints),
            Param::optional("eps", ParamKind::Float, DefaultValue::None),
            Param::optional("elementwise_affine", ParamKind::Bool, DefaultValue::Bool(true)),
            DEVICE,
            DTYPE,
        ],
        make_rms_norm,
    )
    .example("nn::RMSNorm(4)", "RMSNorm((4,), eps=None, elementwise_affine=True)"),
    constructor(
        "Dropout1d",
        "While training, zeroes whole channels of `[n, channels, length]`.",
        &[SHARE],
        |a| channel_dropout("Dropout1d", a, dropout1d),
    )
    .example("nn::Dropout1d(0.2)", "Dropout1d(p=0.2, inplace=False)"),
    constructor(
        "Dropout2d",
        "While training, zeroes whole channels of `[n, channels, h, w]`.",
        &[SHARE],
        |a| channel_dropout("Dropout2d", a, feature_dropout),
    )
    .example("nn::Dropout2d(0.2)", "Dropout2d(p=0.2, inplace=False)"),
    constructor(
        "Unflatten",
        "Splits one dimension into several.",
        &[Param::required("dim", ParamKind::Int), Param::required("unflattened_size", ParamKind::Ints)],
        |a| {
            let (dim, sizes) = (a.int(0)?, a.ints(1)?);
            Simple::new("Unflatten", move |c| unflatten(c.only()?, dim, &sizes))
                .option("dim", a.get(0))
                .option("unflattened_size", a.get(1))
                .module()
        },
    )
    .example("nn::Unflatten(1, [2, 3]).forward(zeros([4, 6])).shape", "[4, 2, 3]"),
    constructor(
        "ModuleDict",
        "Modules by name, which one calls oneself.",
        &[Param::optional("modules", ParamKind::Any, DefaultValue::None)],
        make_dict,
    )
    .details(
        "`dict[\"name\"] = module` puts a module there, `pop(\"name\")` takes it out, `update(#{…})` puts several and \
         `clear()` drops all; `keys()`, `values()` and `items()` list them.",
    )
    .example("nn::ModuleDict(#{act: nn::ReLU()})", "ModuleDict(\n  (act): ReLU()\n)"),
];

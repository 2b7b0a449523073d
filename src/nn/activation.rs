//! Modules without parameters: an operation with its options kept.

use crate::base::{Error, Result};
use crate::op::activation::{
    check_probability, dropout, elu, gelu, hardtanh, leaky_relu, mish, silu, softplus,
};
use crate::op::composed::usual_dim;
use crate::op::def::DefaultValue;
use crate::op::scan::{log_softmax, softmax};
use crate::op::unary::{relu, relu_, sigmoid, tanh};
use crate::op::{Args, OpDef, Param, ParamKind, Value};
use crate::tensor::Tensor;

use super::linear::constructor;
use super::module::{Call, Layer, Module, Parts};
use super::show::{option, python_value};

type SimpleForward = Box<dyn Fn(&Call) -> Result<Tensor> + Send + Sync>;

/// A module that is a function with options.
pub struct Simple {
    name: &'static str,
    run: SimpleForward,
    options: Vec<(&'static str, Value)>,
    /// One that is printed without its name.
    bare: Option<(&'static str, Value)>,
    /// Options that can be read but are not printed.
    hidden: Vec<(&'static str, Value)>,
    parts: Parts,
}

impl Simple {
    pub fn new(name: &'static str, run: impl Fn(&Call) -> Result<Tensor> + Send + Sync + 'static) -> Simple {
        Simple {
            name,
            run: Box::new(run),
            options: Vec::new(),
            bare: None,
            hidden: Vec::new(),
            parts: Parts::new(),
        }
    }

    pub fn option(mut self, name: &'static str, value: &Value) -> Simple {
        self.options.push((name, value.clone()));
        self
    }

    pub fn bare(mut self, name: &'static str, value: &Value) -> Simple {
        self.bare = Some((name, value.clone()));
        self
    }

    pub fn hidden(mut self, name: &'static str, value: &Value) -> Simple {
        self.hidden.push((name, value.clone()));
        self
    }

    /// A tensor that moves with the module.
    pub fn buffer(mut self, name: &'static str, tensor: Option<&Tensor>) -> Simple {
        self.parts = self.parts.buffer(name, tensor.cloned());
        self
    }

    pub fn made(mut self) -> Result<Module> {
        let parts = std::mem::take(&mut self.parts);
        Module::new(self, parts)
    }

    pub fn module(self) -> Result<Value> {
        self.made().map(Module::into_value)
    }
}

impl Layer for Simple {
    fn name(&self) -> &str {
        self.name
    }

    fn options(&self, _: &Module) -> String {
        let bare = self.bare.iter().map(|(_, value)| python_value(value));
        let shown: Vec<String> =
            bare.chain(self.options.iter().map(|(name, value)| option(name, value))).collect();
        shown.join(", ")
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        (self.run)(call)
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        self.options
            .iter()
            .chain(&self.bare)
            .chain(&self.hidden)
            .find(|(n, _)| *n == name)
            .map(|(_, v)| v.clone())
    }
}

const DIM: Param = Param::optional("dim", ParamKind::Int, DefaultValue::None);
const INPLACE: Param = Param::optional("inplace", ParamKind::Bool, DefaultValue::Bool(false));

const fn number(name: &'static str, default: f64) -> Param {
    Param::optional(name, ParamKind::Float, DefaultValue::Float(default))
}

fn make_relu(a: &Args) -> Result<Value> {
    if a.bool(0)? {
        return Simple::new("ReLU", |c| relu_(c.only()?)).option("inplace", a.get(0)).module();
    }
    Simple::new("ReLU", |c| relu(c.only()?)).hidden("inplace", a.get(0)).module()
}

/// A dropout layer; `p` is a number.
pub fn dropout_module(p: &Value) -> Result<Module> {
    let share = match p {
        Value::Scalar(s) => s.as_f64(),
        other => {
            return Err(Error::type_error(format!("dropout must be a number, not {}", other.describe())));
        }
    };
    check_probability(share)?;
    Simple::new("Dropout", move |c| dropout(c.only()?, share, c.module.training()))
        .option("p", p)
        .option("inplace", &Value::Scalar(false.into()))
        .made()
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor("ReLU", "Each element, or 0 where it is negative.", &[INPLACE], make_relu)
        .details("`inplace` writes to the input instead of a new tensor.")
        .example("nn::ReLU().forward(tensor([-1.0, 2.0]))", "tensor([0., 2.])"),
    constructor(
        "GELU",
        "The Gaussian error linear unit.",
        &[Param::optional("approximate", ParamKind::Str, DefaultValue::Str("none"))],
        |a| {
            let approximate = a.str(0)?.to_string();
            Simple::new("GELU", move |c| gelu(c.only()?, &approximate))
                .option("approximate", a.get(0))
                .module()
        },
    )
    .example("nn::GELU()", "GELU(approximate='none')"),
    constructor("SiLU", "`x * sigmoid(x)`.", &[], |_| Simple::new("SiLU", |c| silu(c.only()?)).module())
        .example("nn::SiLU()", "SiLU()"),
    constructor("Tanh", "The hyperbolic tangent.", &[], |_| {
        Simple::new("Tanh", |c| tanh(c.only()?)).module()
    })
    .example("nn::Tanh()", "Tanh()"),
    constructor("Sigmoid", "`1 / (1 + exp(-x))`.", &[], |_| {
        Simple::new("Sigmoid", |c| sigmoid(c.only()?)).module()
    })
    .example("nn::Sigmoid()", "Sigmoid()"),
    constructor("Mish", "`x * tanh(softplus(x))`.", &[], |_| {
        Simple::new("Mish", |c| mish(c.only()?)).module()
    })
    .example("nn::Mish()", "Mish()"),
    constructor("ReLU6", "Each element kept within `0..6`.", &[], |_| {
        Simple::new("ReLU6", |c| hardtanh(c.only()?, 0.0, 6.0)).module()
    })
    .example("nn::ReLU6()", "ReLU6()"),
    constructor("Softplus", "A smooth relu.", &[number("beta", 1.0), number("threshold", 20.0)], |a| {
        let (beta, threshold) = (a.float(0)?, a.float(1)?);
        Simple::new("Softplus", move |c| softplus(c.only()?, beta, threshold))
            .option("beta", a.get(0))
            .option("threshold", a.get(1))
            .module()
    })
    .example("nn::Softplus()", "Softplus(beta=1.0, threshold=20.0)"),
    constructor(
        "ELU",
        "`x` where positive, `alpha * (exp(x) - 1)` elsewhere.",
        &[number("alpha", 1.0)],
        |a| {
            let alpha = a.float(0)?;
            Simple::new("ELU", move |c| elu(c.only()?, alpha)).option("alpha", a.get(0)).module()
        },
    )
    .example("nn::ELU()", "ELU(alpha=1.0)"),
    constructor(
        "LeakyReLU",
        "`x` where positive, `negative_slope * x` elsewhere.",
        &[number("negative_slope", 0.01)],
        |a| {
            let slope = a.float(0)?;
            Simple::new("LeakyReLU", move |c| leaky_relu(c.only()?, slope))
                .option("negative_slope", a.get(0))
                .module()
        },
    )
    .example("nn::LeakyReLU(0.2)", "LeakyReLU(negative_slope=0.2)"),
    constructor(
        "Hardtanh",
        "Each element kept within bounds.",
        &[number("min_val", -1.0), number("max_val", 1.0)],
        |a| {
            let (low, high) = (a.float(0)?, a.float(1)?);
            Simple::new("Hardtanh", move |c| hardtanh(c.only()?, low, high))
                .option("min_val", a.get(0))
                .option("max_val", a.get(1))
                .module()
        },
    )
    .example("nn::Hardtanh()", "Hardtanh(min_val=-1.0, max_val=1.0)"),
    constructor("Softmax", "`exp(x)` divided by its sum along a dimension.", &[DIM], |a| {
        let dim = a.optional_int(0);
        Simple::new("Softmax", move |c| softmax(c.only()?, usual_dim(c.only()?, dim), None))
            .option("dim", a.get(0))
            .module()
    })
    .example("nn::Softmax(1)", "Softmax(dim=1)"),
    constructor("LogSoftmax", "The logarithm of softmax.", &[DIM], |a| {
        let dim = a.optional_int(0);
        Simple::new("LogSoftmax", move |c| log_softmax(c.only()?, usual_dim(c.only()?, dim), None))
            .option("dim", a.get(0))
            .module()
    })
    .example("nn::LogSoftmax(1)", "LogSoftmax(dim=1)"),
    constructor(
        "Dropout",
        "While training, zeroes elements with probability `p` and scales the others by `1 / (1 - p)`.",
        &[number("p", 0.5)],
        |a| dropout_module(a.get(0)).map(Module::into_value),
    )
    .details("`net.eval()` turns it off.")
    .example("nn::Dropout(0.2)", "Dropout(p=0.2, inplace=False)"),
];

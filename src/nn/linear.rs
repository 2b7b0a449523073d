//! Linear layers, and the layers that only reshape.

use crate::base::{DType, Result};
use crate::op::def::DefaultValue;
use crate::op::linear::linear;
use crate::op::movement::flatten;
use crate::op::{Args, Family, Form, Gradient, OpDef, Param, ParamKind, Value};
use crate::tensor::Tensor;

use super::activation::Simple;
use super::init;
use super::module::{Call, Layer, Module, Parts, size};
use super::show::option;

/// `nn::name(…)`
pub const NN: &[Form] = &[Form::Of("nn")];
pub const DEVICE: Param = Param::optional("device", ParamKind::Device, DefaultValue::None);
pub const DTYPE: Param = Param::optional("dtype", ParamKind::DType, DefaultValue::None);
pub const BIAS: Param = Param::optional("bias", ParamKind::Bool, DefaultValue::Bool(true));

/// A constructor's row.
pub const fn constructor(
    name: &'static str,
    summary: &'static str,
    params: &'static [Param],
    run: fn(&Args) -> Result<Value>,
) -> OpDef {
    OpDef::call(name, Family::Module, summary, params, run)
        .forms(NN)
        .gradient(Gradient::NoGrad("it makes a module; what the module computes has one"))
}

struct Linear {
    name: &'static str,
    inputs: usize,
    outputs: usize,
}

impl Layer for Linear {
    fn name(&self) -> &str {
        self.name
    }

    fn options(&self, module: &Module) -> String {
        let bias = Value::Scalar(module.tensor("bias").is_some().into());
        format!("in_features={}, out_features={}, {}", self.inputs, self.outputs, option("bias", &bias))
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        linear(call.only()?, &call.module.needed("weight")?, call.module.tensor("bias").as_ref())
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        match name {
            "in_features" => Some(Value::Scalar((self.inputs as i64).into())),
            "out_features" => Some(Value::Scalar((self.outputs as i64).into())),
            _ => None,
        }
    }
}

/// A linear layer with PyTorch's initial values, under a class name of its own.
pub fn made(name: &'static str, [inputs, outputs]: [usize; 2], bias: bool, dtype: DType) -> Result<Module> {
    let (weight, bias) = init::layer(&[outputs, inputs], bias, dtype)?;
    let parts = Parts::new().parameter("weight", Some(weight)).parameter("bias", bias);
    Module::new(Linear { name, inputs, outputs }, parts)
}

fn make_linear(a: &Args) -> Result<Value> {
    let dtype = a.dtype(4).unwrap_or(DType::Float32);
    let module = made("Linear", [size(a, 0)?, size(a, 1)?], a.bool(2)?, dtype)?;
    module.placed(a.device(3)).map(Module::into_value)
}

fn make_flatten(a: &Args) -> Result<Value> {
    let (start, end) = (a.int(0)?, a.int(1)?);
    Simple::new("Flatten", move |c| flatten(c.only()?, start, end))
        .option("start_dim", a.get(0))
        .option("end_dim", a.get(1))
        .module()
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "Linear",
        "A linear layer: `x @ weight.T + bias`.",
        &[
            Param::required("in_features", ParamKind::Int),
            Param::required("out_features", ParamKind::Int),
            BIAS,
            DEVICE,
            DTYPE,
        ],
        make_linear,
    )
    .details(
        "The weight is `[out_features, in_features]`; both are drawn uniform within `1 / sqrt(in_features)`.",
    )
    .example("nn::Linear(64, 10)", "Linear(in_features=64, out_features=10, bias=True)"),
    constructor(
        "Flatten",
        "Merges the dimensions after the batch into one.",
        &[
            Param::optional("start_dim", ParamKind::Int, DefaultValue::Int(1)),
            Param::optional("end_dim", ParamKind::Int, DefaultValue::Int(-1)),
        ],
        make_flatten,
    )
    .example("nn::Flatten().forward(zeros([2, 3, 4])).shape", "[2, 12]"),
    constructor("Identity", "Gives its input back.", &[], |_| {
        Simple::new("Identity", |c| Ok(c.only()?.clone())).module()
    })
    .example("nn::Identity()", "Identity()"),
];

//! Linear layers, and the layers that only reshape.

use crate::base::{DType, Result};
use crate::nn::made::{Made, constructor};
use crate::op::linalg::linear::linear;
use crate::op::params::{OfWeights, by_name, kind, params};
use crate::op::shape::view::flatten;
use crate::op::{OpDef, Value, shapes};
use crate::tensor::Tensor;

use super::activation::Simple;
use super::init;
use super::module::{Call, Layer, Module, Parts};
use super::show::option;

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

params! {
    LinearParams {
        in_features: kind::Size, "how long the last dimension of an input is";
        out_features: kind::Size, "how long the last dimension of the output is";
        bias: OfWeights<kind::Bool> = true, "whether a trained vector is added to the output";
        ..made: Made;
    }
}

params! {
    FlattenParams {
        start_dim: kind::Dim = 1, "the first dimension to merge; 0 merges the batch as well";
        end_dim: kind::Dim = -1, "the last dimension to merge";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "Linear",
        "A linear layer: `x @ weight.T + bias`.",
        LinearParams::LIST,
        by_name!(LinearParams, |a| {
            let sizes = [a.in_features, a.out_features];
            a.made.place(made("Linear", sizes, a.bias, a.made.dtype())?)
        }),
    )
    .details(
        "The weight is `[out_features, in_features]`; both are drawn uniform within `1 / sqrt(in_features)`.",
    )
    .shapes("(…, in_features) -> (…, out_features)")
    .errors(&[
        "RuntimeError: the input's last size is not `in_features`",
        "NotImplementedError: the input holds bools",
    ])
    .example("nn::Linear(64, 10)", "Linear(in_features=64, out_features=10, bias=True)"),
    constructor(
        "Flatten",
        "Merges the dimensions after the batch into one.",
        FlattenParams::LIST,
        by_name!(FlattenParams, |a, args| {
            Simple::new("Flatten", move |c| flatten(c.only()?, a.start_dim, a.end_dim))
                .options_of(args)
                .module()
        }),
    )
    .shapes("(N, C, H, W) -> (N, C H W), or with the dimensions from start_dim to end_dim merged")
    .errors(&["IndexError: the input has no dimension `start_dim`"])
    .example("nn::Flatten().forward(zeros([2, 3, 4])).shape", "[2, 12]"),
    constructor("Identity", "Gives its input back.", &[], |_| {
        Simple::new("Identity", |c| Ok(c.only()?.clone())).module()
    })
    .shapes(shapes::SAME)
    .example("nn::Identity()", "Identity()"),
];

//! Normalisation over neighbouring channels as a module.

use crate::nn::made::constructor;
use crate::op::convolution::response::{RESPONSE_ERRORS, ResponseParams, local_response_norm};
use crate::op::params::{by_name, params};
use crate::op::{OpDef, Value};

use super::activation::Simple;
use super::module::Call;

params! {
    LocalResponseNormParams {
        ..by: ResponseParams;
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[constructor(
    "LocalResponseNorm",
    "Divides each element by a power of the mean of squares over neighbouring channels.",
    LocalResponseNormParams::LIST,
    by_name!(LocalResponseNormParams, |a, args| {
        let by = a.by.response();
        let run = move |c: &Call| local_response_norm(c.only()?, by);
        let module = Simple::new("LocalResponseNorm", run);
        let float = |value: &Value| match value {
            Value::Scalar(s) => Value::Scalar(s.as_f64().into()),
            other => other.clone(),
        };
        args.each()
            .fold(module, |module, (param, value)| match param.name {
                "size" => module.bare("size", value),
                name => module.option(name, &float(value)),
            })
            .module()
    }),
)
.shapes("(N, C, …) -> the same")
.errors(RESPONSE_ERRORS)
.example("nn::LocalResponseNorm(2)", "LocalResponseNorm(2, alpha=0.0001, beta=0.75, k=1.0)")];

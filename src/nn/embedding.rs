//! Tables of vectors.

use crate::base::{DType, Result};
use crate::op::def::DefaultValue;
use crate::op::embedding::{embedding, padding_row};
use crate::op::{Args, OpDef, Param, ParamKind, Value};
use crate::tensor::Tensor;

use super::init;
use super::linear::{DEVICE, DTYPE, constructor};
use super::module::{Call, Layer, Module, Parts, size};

struct Embedding {
    count: usize,
    width: usize,
    padding: Option<usize>,
}

impl Layer for Embedding {
    fn name(&self) -> &str {
        "Embedding"
    }

    fn options(&self, _: &Module) -> String {
        let padding = self.padding.map_or_else(String::new, |row| format!(", padding_idx={row}"));
        format!("{}, {}{padding}", self.count, self.width)
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        embedding(call.only()?, &call.module.needed("weight")?, self.padding.map(|row| row as i64))
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        let int = |n: usize| Value::Scalar((n as i64).into());
        match name {
            "num_embeddings" => Some(int(self.count)),
            "embedding_dim" => Some(int(self.width)),
            "padding_idx" => Some(self.padding.map_or(Value::None, int)),
            _ => None,
        }
    }
}

fn make(a: &Args) -> Result<Value> {
    let (count, width) = (size(a, 0)?, size(a, 1)?);
    let weight = init::normal(&[count, width], a.dtype(4).unwrap_or(DType::Float32))?;
    let padding = padding_row(&weight, a.optional_int(2))?;
    if let Some(row) = padding {
        weight.with_layout(weight.layout().select(0, row)?).fill(0i64.into(), "fill_")?;
    }
    let parts = Parts::new().parameter("weight", Some(weight));
    Module::new(Embedding { count, width, padding }, parts)?.placed(a.device(3)).map(Module::into_value)
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[constructor(
    "Embedding",
    "A table of vectors, looked up by number.",
    &[
        Param::required("num_embeddings", ParamKind::Int),
        Param::required("embedding_dim", ParamKind::Int),
        Param::optional("padding_idx", ParamKind::Int, DefaultValue::None),
        DEVICE,
        DTYPE,
    ],
    make,
)
.details(
    "The rows are drawn from the normal distribution; the row `padding_idx` is zero and gets no gradient.",
)
.example("nn::Embedding(10, 3)", "Embedding(10, 3)")];

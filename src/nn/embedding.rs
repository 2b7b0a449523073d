//! Tables of vectors.

use crate::base::Result;
use crate::nn::made::{Made, constructor};
use crate::op::embedding::table::{embedding, padding_row};
use crate::op::params::{Maybe, OfWeights, by_name, kind, params};
use crate::op::{OpDef, Value};
use crate::tensor::Tensor;

use super::init;
use super::module::{Call, Layer, Module, Parts};

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

params! {
    EmbeddingParams {
        num_embeddings: OfWeights<kind::Size>, "how many vectors the table has";
        embedding_dim: kind::Size, "how long each vector is";
        padding_idx: Maybe<kind::Int>, "the number of a vector that stays zero, for places that mean nothing";
        ..made: Made;
    }
}

fn make(a: EmbeddingParams) -> Result<Value> {
    let (count, width) = (a.num_embeddings, a.embedding_dim);
    let weight = init::normal(&[count, width], a.made.dtype())?;
    let padding = padding_row(&weight, a.padding_idx)?;
    if let Some(row) = padding {
        weight.with_layout(weight.layout().select(0, row)?).fill(0i64.into(), "fill_")?;
    }
    let parts = Parts::new().parameter("weight", Some(weight));
    a.made.place(Module::new(Embedding { count, width, padding }, parts)?)
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[constructor(
    "Embedding",
    "A table of vectors, looked up by number.",
    EmbeddingParams::LIST,
    by_name!(EmbeddingParams, make),
)
.details(
    "The rows are drawn from the normal distribution; the row `padding_idx` is zero and gets no gradient.",
)
.shapes("(…) -> (…, embedding_dim)")
.errors(&[
    "IndexError: an index is not below `num_embeddings`",
    "RuntimeError: the input holds no integers",
    "AssertionError: `padding_idx` is no row",
])
.example("nn::Embedding(10, 3)", "Embedding(10, 3)")];

//! Tables of vectors.

use crate::base::{Error, Kind, Result, python};
use crate::nn::made::{Made, constructor};
use crate::op::embedding::table::{RowOptions, TableOptions, embedding, padding_row};
use crate::op::params::{Maybe, OfWeights, by_name, kind, params};
use crate::op::{Form, OpDef, Value};
use crate::tensor::Tensor;

use super::init;
use super::module::{Call, Layer, Module, Parts};

struct Embedding {
    count: usize,
    width: usize,
    table: TableOptions,
}

/// The row of a table that counts for nothing, as it prints behind other options.
pub(super) fn padded(table: &TableOptions) -> String {
    table.padding_idx.map_or_else(String::new, |row| format!(", padding_idx={row}"))
}

/// Other options of a table that are not as usual, as they print behind others.
pub(super) fn unusual(table: &TableOptions) -> String {
    let mut text = String::new();
    if let Some(most) = table.max_norm {
        text += &format!(", max_norm={}", python::float(most));
    }
    if table.norm_type != 2.0 {
        text += &format!(", norm_type={}", python::float(table.norm_type));
    }
    if table.scale_grad_by_freq {
        text += ", scale_grad_by_freq=True";
    }
    text
}

/// An option of a table by its name.
pub(super) fn option_of(table: &TableOptions, name: &str) -> Option<Value> {
    match name {
        "padding_idx" => Some(table.padding_idx.map_or(Value::None, |row| Value::Scalar(row.into()))),
        "max_norm" => Some(table.max_norm.map_or(Value::None, |most| Value::Scalar(most.into()))),
        "norm_type" => Some(Value::Scalar(table.norm_type.into())),
        "scale_grad_by_freq" => Some(Value::Scalar(table.scale_grad_by_freq.into())),
        _ => None,
    }
}

impl Layer for Embedding {
    fn name(&self) -> &str {
        "Embedding"
    }

    fn options(&self, _: &Module) -> String {
        let table = &self.table;
        format!("{}, {}{}{}", self.count, self.width, padded(table), unusual(table))
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        embedding(call.only()?, &call.module.needed("weight")?, self.table)
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        let int = |n: usize| Value::Scalar((n as i64).into());
        match name {
            "num_embeddings" => Some(int(self.count)),
            "embedding_dim" => Some(int(self.width)),
            other => option_of(&self.table, other),
        }
    }
}

params! {
    EmbeddingParams {
        num_embeddings: OfWeights<kind::Size>, "how many vectors the table has";
        embedding_dim: kind::Size, "how long each vector is";
        padding_idx: Maybe<kind::Int>, "the number of a vector that stays zero, for places that mean nothing";
        ..rows: RowOptions;
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
    let table = a.rows.beside(padding.map(|row| row as i64));
    a.made.place(Module::new(Embedding { count, width, table }, parts)?)
}

params! {
    FromPretrainedParams {
        embeddings: kind::Tensor, "the table, a vector in each row; its memory is the module's from then on";
        freeze: kind::Bool = true, "keeps the table as it is: it asks for no gradient";
        padding_idx: Maybe<kind::Int>, "the number of a vector that gets no gradient, for places that mean nothing";
        ..rows: RowOptions;
    }
}

fn from_pretrained(a: FromPretrainedParams) -> Result<Value> {
    let &[count, width] = a.embeddings.shape() else {
        return Err(Error::new(Kind::AssertionError, "Embeddings parameter is expected to be 2-dimensional"));
    };
    let weight = a.embeddings.detach();
    let padding = padding_row(&weight, a.padding_idx)?;
    let table = a.rows.beside(padding.map(|row| row as i64));
    let module =
        Module::new(Embedding { count, width, table }, Parts::new().parameter("weight", Some(weight)))?;
    module.requires_grad_(!a.freeze)?;
    Ok(module.into_value())
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[constructor(
    "from_pretrained",
    "A table of vectors that are there already.",
    FromPretrainedParams::LIST,
    by_name!(FromPretrainedParams, from_pretrained),
)
.forms(&[Form::Of("nn::Embedding")])
.details("`freeze: false` trains the vectors on.")
.shapes("table (num_embeddings, embedding_dim); what it makes: (…) -> (…, embedding_dim)")
.errors(&["AssertionError: the table has not two dimensions, or `padding_idx` is no row",
        "RuntimeError: the table holds integers or bools"])
.example("nn::Embedding::from_pretrained(eye(3))", "Embedding(3, 3)"),
constructor(
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

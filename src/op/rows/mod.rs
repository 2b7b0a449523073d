//! Rows of operations whose functions stand in the files beside: names, parameters, documentation, samples.

pub mod convert;
pub mod counting;
pub mod create;
pub mod decompose;
pub mod extra;
pub mod index;
pub mod inspect;
pub mod linalg;
pub mod masks;
pub mod matmul;
pub mod movement;
pub mod order;
pub mod random;
pub mod reduce;
pub mod sampling;
pub mod select;
pub mod shapes;
pub mod views;

use crate::base::Result;
use crate::tensor::Tensor;

use super::args::Value;
use super::def::{DefaultValue, Param, ParamKind};

const DIM: Param = Param::required("dim", ParamKind::Int);
const LAST_DIM: Param = Param::optional("dim", ParamKind::Int, DefaultValue::Int(-1));
const ANY_DIM: Param = Param::optional("dim", ParamKind::Int, DefaultValue::None);
const ANY_DIMS: Param = Param::optional("dim", ParamKind::Ints, DefaultValue::None);
const KEEPDIM: Param = Param::optional("keepdim", ParamKind::Bool, DefaultValue::Bool(false));
const DTYPE: Param = Param::optional("dtype", ParamKind::DType, DefaultValue::None);

/// A result of one tensor.
fn one(result: Result<Tensor>) -> Result<Value> {
    result.map(Value::Tensor)
}

/// Values and where they were, as PyTorch's named tuples.
fn pair(result: Result<(Tensor, Tensor)>) -> Result<Value> {
    result.map(|(values, indices)| {
        Value::Map(vec![("values", Value::Tensor(values)), ("indices", Value::Tensor(indices))])
    })
}

/// Several tensors, as an array.
fn list(result: Result<Vec<Tensor>>) -> Result<Value> {
    result.map(|all| Value::List(all.into_iter().map(Value::Tensor).collect()))
}

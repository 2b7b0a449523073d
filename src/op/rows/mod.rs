//! The rows of the table, family by family. What they compute is in the modules beside this folder.

mod autograd;
mod convert;
mod create;
mod index;
mod inspect;
mod joins;
mod matmul;
mod movement;
mod random;
mod reduce;
mod scatter;
mod select;

use super::args::Value;
use super::def::OpDef;
use crate::tensor::Tensor;

/// All rows of these families.
pub static ALL: &[&[OpDef]] = &[
    create::ROWS,
    select::ROWS,
    reduce::ROWS,
    reduce::ALONG,
    matmul::ROWS,
    movement::ROWS,
    joins::ROWS,
    index::ROWS,
    scatter::ROWS,
    random::ROWS,
    convert::ROWS,
    convert::WRITES,
    inspect::ROWS,
    inspect::PROPERTIES,
    autograd::ROWS,
];

/// Named results of operations that choose elements.
fn values_and_indices((values, indices): (Tensor, Tensor)) -> Value {
    Value::Map(vec![("values", values.into()), ("indices", indices.into())])
}

/// A list of tensors.
fn list(tensors: Vec<Tensor>) -> Value {
    Value::List(tensors.into_iter().map(Value::from).collect())
}

fn bool(b: bool) -> Value {
    Value::Scalar(b.into())
}

fn int(n: usize) -> Value {
    Value::Scalar((n as i64).into())
}

fn ints<T: Copy + TryInto<i64>>(all: &[T]) -> Value {
    Value::List(all.iter().map(|&n| Value::Scalar(n.try_into().unwrap_or(i64::MAX).into())).collect())
}

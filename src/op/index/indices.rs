//! What may stand in brackets.

use crate::base::{DType, Error, Kind, Result, Scalar, memory};
use crate::op::core::value::Value;
use crate::tensor::Tensor;

/// One place of an index.
#[derive(Clone, Debug)]
pub enum Index {
    /// A single place: the dimension goes away.
    At(i64),
    /// From a start to an end, which is left out; negative bounds count from the end, open ones are absent.
    Range(Option<i64>, Option<i64>),
    /// Everything: `:` in Python.
    All,
    /// As many [`Index::All`] as are missing.
    Ellipsis,
    /// A new dimension of size 1.
    New,
    /// A mask, or places in any shape.
    Tensor(Tensor),
}

impl Index {
    /// Reads a script's value: a number, a range, a mask or index tensor, an array of numbers or bools, `()` for
    /// everything, `"..."` and `"new"`.
    pub fn of(value: &Value) -> Result<Index> {
        Ok(match value {
            Value::Scalar(Scalar::Int(i)) => Index::At(*i),
            Value::Range(start, end) => Index::Range(*start, *end),
            Value::None => Index::All,
            Value::Tensor(t) => Index::Tensor(t.clone()),
            Value::Str(s) if s == "..." => Index::Ellipsis,
            Value::Str(s) if s == ":" => Index::All,
            Value::Str(s) if s == "new" => Index::New,
            Value::List(items) => {
                let numbers = memory::try_collected(items.iter().map(|v| match v {
                    Value::Scalar(s @ (Scalar::Int(_) | Scalar::Bool(_))) => Ok(*s),
                    _ => Err(unusable(value)),
                }))?;
                let mask = !numbers.is_empty() && numbers.iter().all(|n| matches!(n, Scalar::Bool(_)));
                let dtype = if mask { DType::Bool } else { DType::Int64 };
                Index::Tensor(Tensor::from_numbers(&numbers, &[numbers.len()], dtype)?)
            }
            other => return Err(unusable(other)),
        })
    }

    /// The place itself of a tensor that holds one without dimensions, which between brackets is a number as in PyTorch.
    pub fn alone(self) -> Result<Index> {
        match &self {
            Index::Tensor(t)
                if t.rank() == 0
                    && !t.dtype().is_float()
                    && !matches!(t.dtype(), DType::Bool | DType::UInt8) =>
            {
                Ok(Index::At(t.item()?.as_i64()))
            }
            _ => Ok(self),
        }
    }

    /// Reads the value inside `x[…]` or `x.at([…])`: an array names one index for each dimension.
    pub fn list(value: &Value) -> Result<Vec<Index>> {
        match value {
            Value::List(items) => items.iter().map(Index::of).collect(),
            one => Ok(vec![Index::of(one)?]),
        }
    }
}

fn unusable(value: &Value) -> Error {
    let text = format!("a {} cannot be an index", value.describe());
    Error::new(Kind::IndexError, text).with_hint(
        "an index is a number, a range such as `1..3`, a mask, an index tensor, or `()` for everything",
    )
}

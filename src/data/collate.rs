//! Samples put together to a batch, as `torch.utils.data.default_collate` does it.

use crate::base::{DType, Error, Kind, Result, Scalar, memory};
use crate::op::shape::join::stack;
use crate::op::{Value, map_value};
use crate::tensor::Tensor;

use super::tree::entries;

/// What helps where samples have different sizes.
fn unequal(error: Error) -> Error {
    if !error.message().starts_with("stack expects each tensor") {
        return error;
    }
    error.with_hint(
        "a loader's `#{collate_fn: |samples| …}` says how samples of different sizes become a batch: \
         `nn::utils::rnn::pad_sequence([…])` fills them up",
    )
}

/// One value of the samples' form: tensors are stacked along a new first dimension, numbers become a tensor, strings
/// an array, and maps and arrays are collated entry by entry.
///
/// # Errors
/// Samples of different forms or sizes, and what cannot be put together.
pub(crate) fn collate(samples: &[Value]) -> Result<Value> {
    let Some(first) = samples.first() else {
        return Err(Error::value("a batch needs a sample"));
    };
    if let Some(keys) = entries(first) {
        let entry = |(key, _): (&str, &Value)| {
            let column = memory::try_collected(samples.iter().map(|s| field(s, key)))?;
            Ok((key.to_string(), collate(&column)?))
        };
        return Ok(map_value(keys.into_iter().map(entry).collect::<Result<_>>()?));
    }
    match first {
        Value::Tensor(_) => {
            let tensors = memory::try_collected(samples.iter().map(tensor))?;
            stack(&tensors, 0).map(Value::Tensor).map_err(unequal)
        }
        Value::Scalar(kind) => numbers(*kind, samples),
        Value::Str(_) => memory::copied(samples).map(Value::List),
        Value::List(items) => {
            let lists = memory::try_collected(samples.iter().map(|s| list(s, items.len())))?;
            let column = |i: usize| -> Result<Value> {
                let values = memory::collected(lists.iter().filter_map(|l| l.get(i).cloned()))?;
                collate(&values)
            };
            (0..items.len()).map(column).collect::<Result<_>>().map(Value::List)
        }
        other => Err(unfit(other)),
    }
}

/// Floats make float64, as a batch of Python's floats does; integers int64, and bools bool.
fn numbers(first: Scalar, samples: &[Value]) -> Result<Value> {
    let numbers = memory::try_collected(samples.iter().map(|s| match s {
        Value::Scalar(s) => Ok(*s),
        other => Err(mixed("a number", other)),
    }))?;
    let float = |s: &Scalar| matches!(s, Scalar::Float(_));
    let dtype = if float(&first) {
        DType::Float64
    } else if numbers.iter().any(float) {
        DType::Float32
    } else if numbers.iter().all(|s| matches!(s, Scalar::Bool(_))) {
        DType::Bool
    } else {
        DType::Int64
    };
    Tensor::from_numbers(&numbers, &[numbers.len()], dtype).map(Value::Tensor)
}

fn tensor(sample: &Value) -> Result<&Tensor> {
    match sample {
        Value::Tensor(t) => Ok(t),
        other => Err(mixed("a Tensor", other)),
    }
}

fn list(sample: &Value, length: usize) -> Result<&[Value]> {
    match sample {
        Value::List(items) if items.len() == length => Ok(items),
        Value::List(_) => {
            Err(Error::new(Kind::RuntimeError, "each element in list of batch should be of equal size"))
        }
        other => Err(mixed("an array", other)),
    }
}

fn field(sample: &Value, key: &str) -> Result<Value> {
    let Some(map) = entries(sample) else { return Err(mixed("a map", sample)) };
    let found = map.into_iter().find(|(k, _)| *k == key).map(|(_, v)| v.clone());
    found.ok_or_else(|| Error::value(format!("the first sample has '{key}', and another has not")))
}

fn mixed(first: &str, other: &Value) -> Error {
    Error::type_error(format!(
        "the first sample of a batch holds {first} where another holds a {}",
        other.describe()
    ))
}

fn unfit(value: &Value) -> Error {
    let text = format!(
        "default_collate: batch must contain tensors, numbers, strings, maps or arrays; found {}",
        value.describe()
    );
    Error::type_error(text).with_hint("`collate_fn: |samples| …` makes batches of anything")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(n: i64) -> Value {
        Value::Scalar(n.into())
    }

    fn of(value: Value) -> Tensor {
        match value {
            Value::Tensor(t) => t,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn numbers_take_pytorch_s_dtypes() {
        let float = |f: f64| Value::Scalar(f.into());
        let bool = |b: bool| Value::Scalar(b.into());
        for (samples, dtype) in [
            (vec![int(1), int(2)], DType::Int64),
            (vec![float(1.5), int(2)], DType::Float64),
            (vec![int(1), float(2.5)], DType::Float32),
            (vec![bool(true), bool(false)], DType::Bool),
            (vec![bool(true), int(3)], DType::Int64),
        ] {
            let batch = of(collate(&samples).unwrap());
            assert_eq!((batch.dtype(), batch.shape()), (dtype, &[2][..]));
        }
    }

    #[test]
    fn arrays_and_maps_are_collated_entry_by_entry() {
        let sample = |n: i64| {
            let x = Tensor::from_i64(&[n, n], &[2]).unwrap();
            map_value(vec![
                ("x".into(), Value::List(vec![x.into(), int(n)])),
                ("name".into(), Value::Str(n.to_string())),
            ])
        };
        let batch = collate(&[sample(1), sample(2), sample(3)]).unwrap();
        let map = entries(&batch).unwrap();
        let Value::List(x) = map[0].1 else { panic!("{batch:?}") };
        assert_eq!(of(x[0].clone()).shape(), [3, 2]);
        assert_eq!(of(x[1].clone()).to_i64s("test").unwrap(), [1, 2, 3]);
        let Value::List(names) = map[1].1 else { panic!("{batch:?}") };
        assert!(matches!(&names[2], Value::Str(s) if s == "3"));
    }

    #[test]
    fn what_does_not_fit_says_so() {
        let error = |samples: &[Value]| collate(samples).unwrap_err().message();
        let x = |n: usize| Value::Tensor(Tensor::from_i64(&vec![0; n], &[n]).unwrap());
        assert_eq!(
            error(&[x(3), x(4)]),
            "stack expects each tensor to be equal size, but got [3] at entry 0 and [4] at entry 1"
        );
        let lists = [Value::List(vec![int(1)]), Value::List(vec![])];
        assert_eq!(error(&lists), "each element in list of batch should be of equal size");
        assert!(error(&[Value::None]).starts_with("default_collate: batch must contain tensors"));
        assert!(error(&[int(1), x(1)]).contains("a number where another holds a Tensor"));
        assert!(error(&[map_value(vec![("a".into(), int(1))]), map_value(vec![])]).contains("'a'"));
    }
}

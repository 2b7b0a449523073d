//! What arguments of rows are given as: datasets, samplers, counts, functions.

use crate::base::{Error, Result, Scalar};
use crate::data::dataset::{Data, Function};
use crate::data::sampler::{Generator, Sampler};
use crate::data::tree::entries;
use crate::device::random::Shared;
use crate::op::params::kinds;
use crate::op::{Args, Value};

/// The most indices that a range stands for.
const LONGEST_RANGE: i64 = 1 << 28;

kinds! {
    pub(super) DatasetKind(Any) => Data, |args: &Args, at| Data::of(args.get(at));
    /// A sampler, or indices that are given.
    pub(super) SamplerKind(Any) => Sampler, sampler;
    /// A sampler of batches, or batches that are given.
    pub(super) BatchSamplerKind(Any) => Sampler, batch_sampler;
    /// Indices from an array, a range or a tensor of integers.
    pub(super) Indices(Any) => Vec<i64>, |args: &Args, at| {
        indices(args.get(at)).ok_or_else(|| args.wrong(at, args.get(at)))
    };
    pub(super) GeneratorKind(Object) => Shared, generator;
    /// A number of things.
    pub(super) Count(Int) => usize, count;
    /// A number of things in whose place () has a meaning.
    pub(super) CountOrNone(Any) => usize, count;
    pub(super) FunctionKind(Any) => Function, |args: &Args, at| function(args.get(at)).ok_or_else(|| {
        let name = args.def.params.get(at).map_or("", |p| p.name);
        let got = args.get(at).describe();
        Error::type_error(format!("{}(): '{name}' must be a function, not {got}", args.def.name))
    });
}

/// The function of a script that a value is.
pub(super) fn function(value: &Value) -> Option<Function> {
    match value {
        Value::Object(object) => object.get::<Function>().cloned(),
        _ => None,
    }
}

fn sampler(a: &Args, i: usize) -> Result<Sampler> {
    if let Value::Object(object) = a.get(i)
        && let Some(sampler) = object.get::<Sampler>()
    {
        if sampler.gives_batches() {
            let text =
                format!("{}(): 'sampler' must give indices, and a BatchSampler gives batches", a.def.name);
            return Err(Error::type_error(text).with_hint("it goes in as `batch_sampler`"));
        }
        return Ok(sampler.clone());
    }
    let all = indices(a.get(i)).ok_or_else(|| a.wrong(i, a.get(i)))?;
    if all.iter().any(|i| *i < 0) {
        return Err(Error::value(format!("{}(): the sampler has a negative index", a.def.name)));
    }
    Ok(Sampler::listed(all))
}

fn batch_sampler(a: &Args, i: usize) -> Result<Sampler> {
    let found = match a.get(i) {
        Value::Object(object) => object.get::<Sampler>().filter(|s| s.gives_batches()).cloned(),
        Value::List(items) => {
            items.iter().map(indices).collect::<Option<Vec<_>>>().map(Sampler::listed_batches)
        }
        _ => None,
    };
    found.ok_or_else(|| a.wrong(i, a.get(i)))
}

fn generator(a: &Args, i: usize) -> Result<Shared> {
    let found = match a.get(i) {
        Value::Object(object) => object.get::<Generator>(),
        _ => None,
    };
    found.map(|generator| generator.0.clone()).ok_or_else(|| a.wrong(i, a.get(i)))
}

fn count(a: &Args, i: usize) -> Result<usize> {
    let name = a.def.params.get(i).map_or("", |p| p.name);
    match a.get(i) {
        Value::Scalar(Scalar::Int(n)) => usize::try_from(*n).map_err(|_| {
            Error::value(format!("{}(): '{name}' must not be negative, but is {n}", a.def.name))
        }),
        other => {
            let text = format!("{}(): '{name}' must be a count, not {}", a.def.name, other.describe());
            let keys = entries(other).into_iter().flatten().map(|(key, _)| key);
            let names = || a.def.params.iter().map(|p| p.name);
            Err(keys.fold(Error::type_error(text), |error, key| error.with_near(key, names())))
        }
    }
}

fn indices(value: &Value) -> Option<Vec<i64>> {
    match value {
        Value::Tensor(t) if !t.dtype().is_float() && t.rank() == 1 => t.to_i64s("indices").ok(),
        Value::List(items) => items
            .iter()
            .map(|v| match v {
                Value::Scalar(Scalar::Int(i)) => Some(*i),
                _ => None,
            })
            .collect(),
        Value::Range(Some(start), Some(end)) if end.saturating_sub(*start) <= LONGEST_RANGE => {
            Some((*start..*end).collect())
        }
        _ => None,
    }
}

//! Slopes between samples, as `torch.gradient`.

use crate::base::{DType, Error, Kind, Result};
use crate::op::core::args::to_list;
use crate::op::core::def::{Domain, Draw, Family, OpDef, Sample};
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::core::wide::in_single;
use crate::op::create::filled::Make;
use crate::op::create::ranges::arange;
use crate::op::elementwise::arithmetic::{add, div, mul, scale, sub};
use crate::op::shape::join::cat;
use crate::op::shape::part::narrow;
use crate::op::shape::view::{reshape_to, unique_dims};
use crate::tensor::Tensor;

/// Where the samples along a dimension lie: so far apart, or at places of their own.
enum Spacing<'a> {
    Even(f64),
    At(&'a Tensor),
}

/// The slope at each sample along `dim`: between its neighbours, weighted by how far they are; at the ends by the
/// nearest two samples, or three with `order` 2.
fn slopes(x: &Tensor, dim: usize, spacing: &Spacing, order: i64) -> Result<Tensor> {
    let (size, along) = (x.size(dim as i64)? as i64, dim as i64);
    if size <= order {
        return Err(Error::runtime(
            "torch.gradient expected each dimension size to be at least edge_order+1",
        ));
    }
    let gaps = gaps(x, dim, size, spacing)?;
    let value = |start: i64, length: i64| narrow(x, along, start, length);
    let gap = |start: i64, length: i64| narrow(&gaps, along, start, length);
    let step = |from: i64| div(&sub(&value(from + 1, 1)?, &value(from, 1)?)?, &gap(from, 1)?);
    let inner = (size > 2).then(|| -> Result<Tensor> {
        let (before, after) = (gap(0, size - 2)?, gap(1, size - 2)?);
        let rise = div(&sub(&value(1, size - 2)?, &value(0, size - 2)?)?, &before)?;
        let next = div(&sub(&value(2, size - 2)?, &value(1, size - 2)?)?, &after)?;
        // Each step's slope counts by the other's length.
        div(&add(&mul(&rise, &after)?, &mul(&next, &before)?)?, &add(&before, &after)?)
    });
    let end = |near: i64, far: i64| -> Result<Tensor> {
        if order == 1 {
            return step(near);
        }
        let (first, second) = (gap(near, 1)?, gap(far, 1)?);
        let bend = div(&sub(&step(near)?, &step(far)?)?, &add(&first, &second)?)?;
        add(&step(near)?, &mul(&bend, &first)?)
    };
    let (first, last) = (end(0, 1)?, end(size - 2, size - 3)?);
    let inner = inner.transpose()?;
    let all: Vec<&Tensor> = [Some(&first), inner.as_ref(), Some(&last)].into_iter().flatten().collect();
    cat(&all, along)
}

/// Distances of neighbours, in a shape that goes with the samples.
fn gaps(x: &Tensor, dim: usize, size: i64, spacing: &Spacing) -> Result<Tensor> {
    let mut shape = vec![1; x.rank()];
    if let Some(slot) = shape.get_mut(dim) {
        *slot = size as usize - 1;
    }
    let line = match spacing {
        Spacing::Even(distance) => {
            let dtype = if x.dtype().is_float() { x.dtype() } else { crate::base::DType::Float32 };
            let make = Make { device: Some(x.device().into()), dtype: Some(dtype), ..Make::default() };
            let zeros = arange(0i64.into(), (size - 1).into(), 1i64.into(), &make)?;
            add(&scale(&zeros, 0.0)?, *distance)?
        }
        Spacing::At(places) => {
            if places.shape() != [size as usize] {
                return Err(Error::runtime(format!(
                    "torch.gradient expected each element of the spacing list to have the size of its dimension, {size}, \
                     but one is {:?}",
                    places.shape()
                )));
            }
            sub(&narrow(places, 0, 1, size - 1)?, &narrow(places, 0, 0, size - 1)?)?
        }
    };
    reshape_to(&line, &shape)
}

/// For each of `count` dimensions its spacing: one for all, or one each.
fn spacings(value: Option<&Value>, count: usize, named: bool) -> Result<Vec<Spacing<'_>>> {
    let one = |v| match v {
        &Value::Scalar(distance) => Ok(Spacing::Even(distance.as_f64())),
        Value::Tensor(t) => Ok(Spacing::At(t)),
        other => {
            let text = format!("a spacing is a number or a tensor of places, not {}", other.describe());
            Err(Error::type_error(text))
        }
    };
    match value {
        None | Some(Value::None) => Ok((0..count).map(|_| Spacing::Even(1.0)).collect()),
        Some(Value::List(items)) if items.len() == count => items.iter().map(one).collect(),
        Some(Value::List(items)) if named => Err(Error::runtime(format!(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the \
             same length, but got a spacing argument of length {} and a dim argument of length {count}.",
            items.len()
        ))),
        Some(Value::List(items)) => Err(Error::runtime(format!(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to the number of \
             dimensions, {count}, but got a list of length {}",
            items.len()
        ))),
        Some(number) => (0..count).map(|_| one(number)).collect(),
    }
}

fn gradient(a: &GradientParams) -> Result<Vec<Tensor>> {
    if !matches!(a.edge_order, 1 | 2) {
        return Err(Error::runtime("torch.gradient only supports edge_order=1 and edge_order=2."));
    }
    if a.input.dtype() == DType::UInt8 {
        let text = "torch.gradient does not support uint8 input.";
        return Err(Error::new(Kind::NotImplementedError, text).with_hint("convert it with `.float()`"));
    }
    let dims: Vec<usize> = match &a.dim {
        None => (0..a.input.rank()).collect(),
        Some(dims) => unique_dims(a.input, dims)?.to_vec(),
    };
    let spacings = spacings(a.spacing, dims.len(), a.dim.is_some())?;
    let slope = |(&dim, spacing)| in_single([a.input], |[x]| slopes(x, dim, spacing, a.edge_order));
    dims.iter().zip(&spacings).map(slope).collect()
}

params! {
    GradientParams {
        input: kind::Tensor, "values of a function at neighbouring places";
        spacing: Maybe<kind::Object>, "how far apart they are: a number, one for each dimension, or tensors of places";
        dim: Maybe<kind::Dims>, "the dimensions along which slopes are taken; all where none is named";
        edge_order: kind::Int = 1, "1 or 2: how many samples beside the last one its slope is taken from";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[OpDef::call(
    "gradient",
    Family::Reduce,
    "The slopes of a sampled function along each dimension, from neighbouring samples.",
    GradientParams::LIST,
    by_name!(GradientParams, |a| to_list(gradient(&a))),
)
.forms(crate::op::core::def::FUNCTION)
.details("A list with a tensor for each dimension. It has nothing to do with autograd.")
.shapes("any -> the same, for each dimension of dim")
.errors(&[
    "RuntimeError: a dimension has no more elements than `edge_order`, or is named twice",
    "RuntimeError: `spacing` is a list that has not one element for each dimension",
    "TypeError: a spacing is neither a number nor a tensor",
    shapes::BOOLS,
])
.example("gradient(tensor([1.0, 4.0, 9.0]))", "[tensor([3., 4., 5.])]")
.samples(&[
    Sample::of("gradient(x)[1]", &[Draw::of("x", &[3, 4], Domain::Any)]),
    Sample::of(
        "gradient(x, #{spacing: [tensor([0.0, 1.0, 3.0, 3.5]).to(x.dtype)], dim: 1, edge_order: 2})[0]",
        &[Draw::of("x", &[3, 4], Domain::Any)],
    ),
])];

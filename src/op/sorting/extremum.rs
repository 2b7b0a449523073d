//! Largest and smallest elements along a dimension, with their places.

use crate::base::dtype::Category;
use crate::base::{DType, Error, Kind, Layout, Result, Scalar};
use crate::device::Kernel;
use crate::op::core::args::{to_pair, to_value};
use crate::op::core::def::{Args, DefaultValue as D, Domain, Draw, Family, Gradient, OpDef, Sample};
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::record::{kept_shape, one, recorded};
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::elementwise::binary;
use crate::op::gather::along_dim::scatter_add;
use crate::op::reduce::sums;
use crate::op::shape::view::{reshape_to, unsqueeze};
use crate::tensor::autograd::{Grads, Saved, Vjp};
use crate::tensor::{In, Tensor, launch};

/// The largest elements along `dim` and their indices; the first of equals wins.
pub fn max_dim(x: &Tensor, dim: i64, keepdim: bool) -> Result<(Tensor, Tensor)> {
    static RULE: Vjp = Vjp { name: "MaxBackward0", run: selected_grad };
    let dim = x.dim(dim)?;
    selected("max", &Kernel::ArgReduce { max: true, dim }, x, dim, keepdim, &RULE)
}

/// The smallest elements along `dim` and their indices; the first of equals wins.
pub fn min_dim(x: &Tensor, dim: i64, keepdim: bool) -> Result<(Tensor, Tensor)> {
    static RULE: Vjp = Vjp { name: "MinBackward0", run: selected_grad };
    let dim = x.dim(dim)?;
    selected("min", &Kernel::ArgReduce { max: false, dim }, x, dim, keepdim, &RULE)
}

/// The index of the largest element along `dim`, or of all elements.
pub fn argmax(x: &Tensor, dim: Option<i64>, keepdim: bool) -> Result<Tensor> {
    only_index("argmax", true, x, dim, keepdim)
}

/// The index of the smallest element along `dim`, or of all elements.
pub fn argmin(x: &Tensor, dim: Option<i64>, keepdim: bool) -> Result<Tensor> {
    only_index("argmin", false, x, dim, keepdim)
}

/// The gradient of elements chosen by index along a dimension: it goes back to where they came from.
///
/// Saved: the indices in their keepdim form; attribute: the dimension.
pub(crate) fn selected_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let index = s.tensor(0)?;
    let &dim: &usize = s.attribute()?;
    if s.shape(0).is_empty() {
        return one(g.clone());
    }
    let g = if g.rank() == index.rank() { g.clone() } else { unsqueeze(g, dim as i64)? };
    let zeros = Tensor::full(s.shape(0), 0i64.into(), g.dtype(), &g.context(), "zeros")?;
    one(scatter_add(&zeros, dim as i64, &index, &g)?)
}

/// What a kernel chooses of each line along `dim`, and where it stands.
pub(super) fn selected(
    name: &'static str,
    kernel: &Kernel,
    x: &Tensor,
    dim: usize,
    keepdim: bool,
    rule: &'static Vjp,
) -> Result<(Tensor, Tensor)> {
    let (values, indices) = chosen(name, kernel, x, dim, keepdim)?;
    let kept = if keepdim || x.rank() == 0 {
        indices.detach()
    } else {
        indices.with_layout(indices.layout().unsqueeze(dim)?)
    };
    let values = recorded(values, rule, &[x], |s, _| {
        s.constant(Some(&kept));
        s.attribute(dim);
    });
    Ok((values, indices))
}

fn only_index(name: &'static str, max: bool, x: &Tensor, dim: Option<i64>, keepdim: bool) -> Result<Tensor> {
    if x.dtype().category() == Category::Bool {
        let text = format!("{name}(): does not support bool input");
        return Err(
            Error::new(Kind::NotImplementedError, text).with_hint("convert first, for example with `.int()`")
        );
    }
    let chosen = |x: &Tensor, dim: usize, keepdim: bool| {
        chosen(name, &Kernel::ArgReduce { max, dim }, x, dim, keepdim).map(|(_, indices)| indices)
    };
    match dim {
        Some(dim) => chosen(x, x.dim(dim)?, keepdim),
        None if x.numel() == 0 => Err(Error::new(
            Kind::IndexError,
            format!("{name}(): Expected reduction dim to be specified for input.numel() == 0."),
        )),
        None => {
            let flat = reshape_to(&x.detach(), &[x.numel()])?;
            let indices = chosen(&flat, 0, false)?;
            if keepdim { reshape_to(&indices, &kept_shape(x.shape(), u64::MAX)) } else { Ok(indices) }
        }
    }
}

/// Values and indices along `dim`; no graph.
fn chosen(
    name: &'static str,
    kernel: &Kernel,
    x: &Tensor,
    dim: usize,
    keepdim: bool,
) -> Result<(Tensor, Tensor)> {
    if x.shape().get(dim) == Some(&0) {
        let text = format!("{name}(): Expected reduction dim {dim} to have non-zero size.");
        return Err(Error::new(Kind::IndexError, text));
    }
    let kept = kept_shape(x.shape(), 1u64 << dim.min(63));
    let mut shape = kept.clone();
    if !keepdim && dim < shape.len() {
        shape.remove(dim);
    }
    let context = x.context();
    let values = Tensor::empty(&shape, x.dtype(), &context, name)?;
    let indices = Tensor::empty(&shape, DType::Int64, &context, name)?;
    let (from, kept) = if x.rank() == 0 {
        (x.layout().unsqueeze(0)?, Layout::contiguous(&[1])?)
    } else {
        (x.layout().clone(), Layout::contiguous(&kept)?)
    };
    launch(
        name,
        kernel,
        &[In::Laid(x, &from)],
        &[&values.with_layout(kept.clone()), &indices.with_layout(kept)],
    )?;
    Ok((values, indices))
}

const APART: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Distinct)];

params! {
    ExtremumParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Any => D::None, "the dimension it runs along, or another tensor to compare with";
        keepdim: kind::Bool = false, "keeps reduced dimensions, with size 1";
    }
}

params! {
    ArgmaxParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: Maybe<kind::Dim>, "the dimension it runs along; negative ones count from the end";
        keepdim: kind::Bool = false, "keeps reduced dimensions, with size 1";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "max",
        Family::Reduce,
        "The largest element, or with a dimension its values and indices.",
        ExtremumParams::LIST,
        by_name!(ExtremumParams, |a, args| extremum_of(a, args, true)),
    )
    .details("With another tensor: the larger of two elements, as `maximum`.")
    .shapes(
        "any -> (), or with `dim` values and indices without it (1 with keepdim); with a tensor broadcast together",
    )
    .errors(&[
        "RuntimeError: the input is empty and no `dim` is given",
        "IndexError: the tensor has no such dimension as `dim`, or it is empty",
    ])
    .example("tensor([[1, 5], [7, 2]]).max(1).indices", "tensor([1, 0])")
    .gradient(Gradient::Vjp("MaxBackward0"))
    .samples(&[Sample::of("x.max()", APART), Sample::of("x.max(1).values", APART)]),
    OpDef::call(
        "min",
        Family::Reduce,
        "The smallest element, or with a dimension its values and indices.",
        ExtremumParams::LIST,
        by_name!(ExtremumParams, |a, args| extremum_of(a, args, false)),
    )
    .details("With another tensor: the smaller of two elements, as `minimum`.")
    .shapes(
        "any -> (), or with `dim` values and indices without it (1 with keepdim); with a tensor broadcast together",
    )
    .errors(&[
        "RuntimeError: the input is empty and no `dim` is given",
        "IndexError: the tensor has no such dimension as `dim`, or it is empty",
    ])
    .example("tensor([[1, 5], [7, 2]]).min(1).values", "tensor([1, 2])")
    .gradient(Gradient::Vjp("MinBackward0"))
    .samples(&[Sample::of("x.min()", APART), Sample::of("x.min(0).values", APART)]),
    OpDef::call(
        "argmax",
        Family::Reduce,
        "Where the largest element is, in the flattened tensor or along a dimension.",
        ArgmaxParams::LIST,
        by_name!(ArgmaxParams, |a| to_value(argmax(a.input, a.dim, a.keepdim))),
    )
    .shapes(shapes::REDUCED)
    .errors(&["IndexError: the input is empty and no `dim` is given", shapes::BOOLS])
    .example("tensor([3, 9, 4]).argmax()", "tensor(1)")
    .gradient(Gradient::NoGrad("the result is an index")),
    OpDef::call(
        "argmin",
        Family::Reduce,
        "Where the smallest element is, in the flattened tensor or along a dimension.",
        ArgmaxParams::LIST,
        by_name!(ArgmaxParams, |a| to_value(argmin(a.input, a.dim, a.keepdim))),
    )
    .shapes(shapes::REDUCED)
    .errors(&["IndexError: the input is empty and no `dim` is given", shapes::BOOLS])
    .example("tensor([3, 9, 4]).argmin()", "tensor(0)")
    .gradient(Gradient::NoGrad("the result is an index")),
];

/// `max` and `min` in their three forms: of everything, along a dimension, of two tensors.
fn extremum_of(a: ExtremumParams, args: &Args, largest: bool) -> Result<Value> {
    let x = a.input;
    match a.dim {
        Value::None if largest => to_value(sums::max_all(x)),
        Value::None => to_value(sums::min_all(x)),
        Value::Tensor(other) if largest => to_value(binary::maximum(x, other)),
        Value::Tensor(other) => to_value(binary::minimum(x, other)),
        Value::Scalar(Scalar::Int(dim)) if largest => to_pair(max_dim(x, *dim, a.keepdim)),
        Value::Scalar(Scalar::Int(dim)) => to_pair(min_dim(x, *dim, a.keepdim)),
        other => Err(Error::type_error(format!(
            "{}(): the second argument is a dimension or a tensor, not {}",
            args.def.name,
            other.describe()
        ))),
    }
}

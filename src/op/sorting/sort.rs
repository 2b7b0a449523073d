//! Sorting, the largest `k`, and classes as vectors.

use crate::base::{DType, Error, Kind, Layout, Result};
use crate::device::Kernel;
use crate::device::kernel::ScatterMode;
use crate::op::core::args::{to_pair, to_value};
use crate::op::core::def::{Domain, Draw, Family, Gradient, OpDef, Sample};
use crate::op::core::operand::Operand;
use crate::op::core::params::{InputParams, by_name, kind, params};
use crate::op::core::record::recorded;
use crate::op::core::shapes;
use crate::op::gather::along_dim::{out_of_range, ranked, write};
use crate::op::reduce::sums::{max_all, min_all};
use crate::op::shape::view::unsqueeze;
use crate::tensor::autograd::Vjp;
use crate::tensor::{In, Tensor, launch};

use super::extremum::selected_grad;

/// The elements in order along `dim`, and where they came from. Equal elements keep their order; NaN counts as
/// the largest.
pub fn sort(x: &Tensor, dim: i64, descending: bool) -> Result<(Tensor, Tensor)> {
    static RULE: Vjp = Vjp { name: "SortBackward0", run: selected_grad };
    let dim = x.dim(dim)?;
    let (values, indices) = sorted(x, dim, None, descending, "sort")?;
    let values = recorded(values, &RULE, &[x], |s, _| {
        s.constant(Some(&indices));
        s.attribute(dim);
    });
    Ok((values, indices))
}

/// The elements in order along `dim` where nobody asks for the places they came from, which a CPU need not keep; no graph.
pub(crate) fn sort_values(x: &Tensor, dim: i64, name: &'static str) -> Result<Tensor> {
    let dim = x.dim(dim)?;
    if x.device().is_cuda() {
        return Ok(sorted(x, dim, None, false, name)?.0);
    }
    let values = Tensor::empty_in(x.layout().dense_like()?, x.dtype(), &x.context(), name)?;
    let (from, to) = (ranked(x)?, values.with_layout(ranked(&values)?));
    launch(name, &Kernel::Sort { dim, descending: false }, &[In::Laid(x, &from)], &[&to])?;
    Ok(values)
}

/// The indices that would sort `x` along `dim`.
pub fn argsort(x: &Tensor, dim: i64, descending: bool) -> Result<Tensor> {
    sorted(x, x.dim(dim)?, None, descending, "argsort").map(|(_, indices)| indices)
}

/// The `k` largest (or smallest) elements along `dim`, in order, and where they came from.
pub fn topk(x: &Tensor, k: i64, dim: i64, largest: bool) -> Result<(Tensor, Tensor)> {
    static RULE: Vjp = Vjp { name: "TopkBackward0", run: selected_grad };
    if x.dtype() == DType::Bool {
        let text = "topk does not support bool dtypes on CPU";
        return Err(Error::new(Kind::NotImplementedError, text).with_hint("convert it with `.int()`"));
    }
    let dim = x.dim(dim)?;
    let size = x.shape().get(dim).copied().unwrap_or(1);
    let k = usize::try_from(k).ok().filter(|&k| k <= size).ok_or_else(|| {
        Error::runtime("selected index k out of range").with_hint(format!("dimension {dim} has size {size}"))
    })?;
    let (values, indices) = sorted(x, dim, Some(k), largest, "topk")?;
    let values = recorded(values, &RULE, &[x], |s, _| {
        s.constant(Some(&indices));
        s.attribute(dim);
    });
    Ok((values, indices))
}

/// Classes as vectors with a single 1; `classes` of -1 means one more than the largest.
pub fn one_hot(x: &Tensor, classes: i64) -> Result<Tensor> {
    if x.dtype() != DType::Int64 {
        return Err(Error::runtime("one_hot is only applicable to index tensor of type LongTensor.")
            .with_hint("convert it with `.long()`"));
    }
    // A device finds out itself, in its kernel.
    if x.numel() > 0 && !x.device().is_cuda() && min_all(x)?.decided("one_hot")?.as_i64() < 0 {
        return Err(Error::runtime(NEGATIVE));
    }
    let classes = match classes {
        -1 if x.numel() == 0 => {
            return Err(Error::runtime("Can not infer total number of classes from empty tensor."));
        }
        -1 => max_all(x)?.decided("one_hot")?.as_i64().saturating_add(1).max(0),
        n => n,
    };
    let classes = usize::try_from(classes).map_err(|_| Error::runtime("num_classes should be positive"))?;
    let mut shape: crate::base::Dims = x.shape().into();
    shape.push(classes);
    let out = Tensor::full(&shape, 0i64.into(), DType::Int64, &x.context(), "one_hot")?;
    if classes == 0 && x.numel() > 0 {
        return Err(Error::runtime(TOO_LARGE));
    }
    let one = Operand::Scalar(1i64.into());
    write("one_hot", &out, x.rank(), &unsqueeze(x, -1)?, one, ScatterMode::Assign).map_err(|e| {
        out_of_range(e, |index, _, _| Error::runtime(if index < 0 { NEGATIVE } else { TOO_LARGE }))
    })?;
    Ok(out)
}

/// Values and indices in order, the first `kept` of them; no graph.
fn sorted(
    x: &Tensor,
    dim: usize,
    kept: Option<usize>,
    descending: bool,
    name: &'static str,
) -> Result<(Tensor, Tensor)> {
    let context = x.context();
    let layout = match kept {
        None => x.layout().dense_like()?,
        Some(kept) => {
            let mut shape: crate::base::Dims = x.shape().into();
            shape.get_mut(dim).into_iter().for_each(|size| *size = kept);
            Layout::contiguous(&shape)?
        }
    };
    let values = Tensor::empty_in(layout.clone(), x.dtype(), &context, name)?;
    let indices = Tensor::empty_in(layout, DType::Int64, &context, name)?;
    let from = ranked(x)?;
    let (a, b) = (values.with_layout(ranked(&values)?), indices.with_layout(ranked(&indices)?));
    launch(name, &Kernel::Sort { dim, descending }, &[In::Laid(x, &from)], &[&a, &b])?;
    Ok((values, indices))
}

const NEGATIVE: &str = "Class values must be non-negative.";
const TOO_LARGE: &str = "Class values must be smaller than num_classes.";
const APART: &[Draw] = &[Draw::of("x", &[3, 6], Domain::Distinct)];

params! {
    SortParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Dim = -1, "the dimension it runs along; negative ones count from the end";
        descending: kind::Bool = false, "the largest element comes first";
        stable: kind::Bool = true, "equal elements keep their order, which they do here in any case";
    }
}

params! {
    TopkParams {
        input: kind::Tensor, "the tensor it is computed of";
        k: kind::Int, "how many are given";
        dim: kind::Dim = -1, "the dimension it runs along; negative ones count from the end";
        largest: kind::Bool = true, "gives the largest, where otherwise the smallest";
        sorted: kind::Bool = true, "in order, which they are here in any case";
    }
}

params! {
    OneHotParams {
        input: kind::Tensor, "classes as whole numbers";
        num_classes: kind::Int = -1, "how many columns; the largest class and one where it is -1";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "sort",
        Family::Index,
        "Values in order along a dimension, and where they were.",
        SortParams::LIST,
        by_name!(SortParams, |a| {
            let _ = a.stable;
            to_pair(sort(a.input, a.dim, a.descending))
        }),
    )
    .shapes("any -> `values` and `indices` of the same")
    .example("tensor([3, 1, 2]).sort().indices", "tensor([1, 2, 0])")
    .gradient(Gradient::Vjp("SortBackward0"))
    .samples(&[Sample::of("x.sort().values", APART)]),
    OpDef::call(
        "msort",
        Family::Index,
        "Values in ascending order along the first dimension.",
        InputParams::LIST,
        by_name!(InputParams, |a| to_value(sort(a.input, 0, false).map(|(values, _)| values))),
    )
    .shapes(shapes::SAME)
    .example("tensor([2, 3, 1]).msort()", "tensor([1, 2, 3])"),
    OpDef::call(
        "argsort",
        Family::Index,
        "The indices that would sort along a dimension.",
        SortParams::LIST,
        by_name!(SortParams, |a| {
            let _ = a.stable;
            to_value(argsort(a.input, a.dim, a.descending))
        }),
    )
    .shapes(shapes::SAME)
    .example("tensor([3, 1, 2]).argsort()", "tensor([1, 2, 0])")
    .gradient(Gradient::NoGrad("the result is an index")),
    OpDef::call(
        "topk",
        Family::Index,
        "The largest (or smallest) k values along a dimension, and where they were.",
        TopkParams::LIST,
        by_name!(TopkParams, |a| {
            let _ = a.sorted;
            to_pair(topk(a.input, a.k, a.dim, a.largest))
        }),
    )
    .shapes("(…, n, …) -> `values` and `indices` of (…, k, …)")
    .errors(&["RuntimeError: `k` is above the dimension's size", shapes::BOOLS])
    .example("tensor([3, 9, 5]).topk(2).values", "tensor([9, 5])")
    .gradient(Gradient::Vjp("TopkBackward0"))
    .samples(&[Sample::of("x.topk(2).values", APART)]),
    OpDef::call(
        "one_hot",
        Family::Index,
        "A row of zeros with a one at each index.",
        OneHotParams::LIST,
        by_name!(OneHotParams, |a| to_value(one_hot(a.input, a.num_classes))),
    )
    .forms(&[crate::op::core::def::Form::Functional])
    .shapes("any -> (…, num_classes), without a number one more than the largest class")
    .errors(&["RuntimeError: a class is negative, or not below `num_classes`"])
    .example("F::one_hot(tensor([0, 2]), 3)", "tensor([[1, 0, 0],\n        [0, 0, 1]])")
    .gradient(Gradient::NoGrad("indices have no gradient")),
];

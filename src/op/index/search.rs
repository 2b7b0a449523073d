//! Places in a sorted row, and membership.

use crate::base::{DType, Error, Kind, Result};
use crate::device::class::KernelClass;
use crate::op::core::args::to_value;
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{FUNCTION, Family, Gradient, OpDef};
use crate::op::core::launch::tensor;
use crate::op::core::operand::Operand;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::promote::{result_type, wrapped};
use crate::op::core::record::no_grad;
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::core::whole::{first, plain};
use crate::op::elementwise::arithmetic::{add, floor_divide};
use crate::op::elementwise::binary::minimum;
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::clamp::clamp_max;
use crate::op::elementwise::comparison::{eq, ge, gt, logical_and, lt};
use crate::op::elementwise::predicates::logical_not;
use crate::op::gather::along_dim::gather;
use crate::op::gather::select::index_select;
use crate::op::reduce::sums::any;
use crate::op::shape::view::{reshape_to, unsqueeze};
use crate::op::sorting::sort::sort;
use crate::tensor::Tensor;

use super::distinct::COUNTED;

/// Whether each element is among `others`.
pub(crate) fn isin(x: Operand, others: Operand, invert: bool) -> Result<Tensor> {
    let _off = no_grad();
    if [x, others].into_iter().filter_map(tensor).any(|t| t.dtype() == DType::Bool) {
        let text = "Unsupported input type encountered for isin(): Bool";
        return Err(Error::new(Kind::NotImplementedError, text)
            .with_hint("convert it first, for example with `.int()`"));
    }
    let held;
    let x = match (x, others) {
        (Operand::Tensor(x), _) => x,
        (Operand::Scalar(n), Operand::Tensor(beside)) => {
            held = Tensor::full(&[], n, n.default_dtype(), &beside.context(), "isin")?;
            &held
        }
        (Operand::Scalar(_), Operand::Scalar(_)) => {
            return Err(
                Error::type_error("isin() needs a tensor").with_hint("`tensor([n])` makes one of a number")
            );
        }
    };
    let found = match others {
        Operand::Scalar(_) => eq(x, others)?,
        // From where PyTorch sorts on, too (`aten/src/ATen/native/TensorCompare.cpp`).
        Operand::Tensor(t) if x.numel() > 0 && t.numel() as f64 >= 10.0 * (x.numel() as f64).powf(0.145) => {
            let dtype = result_type(&[x.into(), others]);
            let (sorted, _) = sort(&to_dtype(&reshape_to(&t.detach(), &[t.numel()])?, dtype)?, 0, false)?;
            // NaN stands last, and is before nothing.
            let x = to_dtype(&x.detach(), dtype)?;
            let at = search_by("isin", &sorted, &x, t.numel(), |edge, value| lt(edge, value))?;
            let at = clamp_max(&at, (t.numel() as i64 - 1).into())?;
            eq(&x, &reshape_to(&index_select(&sorted, 0, &reshape_to(&at, &[x.numel()])?)?, x.shape())?)?
        }
        Operand::Tensor(t) => {
            let row = reshape_to(t, &[t.numel()])?;
            any(&eq(&unsqueeze(x, -1)?, &row)?, Some(&[-1]), false)?
        }
    };
    if invert { logical_not(&found) } else { Ok(found) }
}

/// Where each of `values` would be put into the ascending rows of `edges`: before its equals, or behind them
/// where `right`. One row serves values of any shape; several rows pair up with the values' rows.
pub(crate) fn searchsorted(edges: &Tensor, values: &Tensor, right: bool, narrow: bool) -> Result<Tensor> {
    let _off = no_grad();
    let same_rows = edges.rank() == values.rank()
        && edges.shape().split_last().map(|(_, rows)| rows)
            == values.shape().split_last().map(|(_, rows)| rows);
    if edges.rank() == 0 {
        return Err(Error::runtime(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1",
        ));
    }
    if edges.rank() > 1 && !same_rows {
        return Err(Error::runtime(format!(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries \
             tensor and input value tensor must match, but we got boundaries tensor {:?} and input value tensor {:?}",
            edges.shape(),
            values.shape()
        )));
    }
    let edges = to_dtype(&edges.detach(), edges.dtype().promote(values.dtype()))?;
    let size = edges.size(-1)?;
    let found = || {
        let out = search(&edges, values, size, right)?;
        Ok(vec![if narrow { to_dtype(&out, DType::Int32)? } else { out }])
    };
    let found = plain("searchsorted", KernelClass::GatherElements, &[&edges, values], &found)?;
    first(&found).cloned()
}

/// A binary search for all values at once, of a place before equals or behind them where `right`.
pub(super) fn search(edges: &Tensor, values: &Tensor, size: usize, right: bool) -> Result<Tensor> {
    // What NaN is compared with is never found too large: it goes behind everything.
    search_by("searchsorted", edges, values, size, |edge, values| {
        logical_not(&if right { gt(edge, values)? } else { ge(edge, values)? })
    })
}

/// How many edges of each row lie `before` its values, where those that do come first. The answer lies in `low..=high`
/// all the time.
pub(crate) fn search_by(
    name: &'static str,
    edges: &Tensor,
    values: &Tensor,
    size: usize,
    before: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let full = |n: i64| Tensor::full(values.shape(), n.into(), DType::Int64, &values.context(), name);
    let (mut low, mut high) = (full(0)?, full(size as i64)?);
    if size == 0 || values.numel() == 0 {
        return Ok(low);
    }
    for _ in 0..=size.ilog2() {
        let middle = floor_divide(&add(&low, &high)?, 2i64)?;
        let at = minimum(&middle, size as i64 - 1)?;
        let edge = if edges.rank() == 1 {
            reshape_to(&index_select(edges, 0, &reshape_to(&at, &[at.numel()])?)?, values.shape())?
        } else {
            gather(edges, -1, &at)?
        };
        let open = logical_and(&before(&edge, values)?, &lt(&low, &high)?)?;
        let next = add(&middle, 1i64)?;
        high = where_(&open, (&high).into(), (&minimum(&middle, &high)?).into())?;
        low = where_(&open, (&next).into(), (&low).into())?;
    }
    Ok(low)
}

params! {
    SearchsortedParams {
        sorted_sequence: kind::Tensor, "ascending values, in rows along the last dimension";
        values: kind::Operand, "what is looked up";
        ..found: FoundParams;
        side: Maybe<kind::Str>, "`left` or `right`, in place of `right`";
        sorter: Maybe<kind::Tensor>, "the places at which an unsorted `sorted_sequence` is ascending, as of `argsort`";
    }
}

params! {
    BucketizeParams {
        input: kind::Operand, "what is looked up";
        boundaries: kind::Tensor, "where buckets end, ascending";
        ..found: FoundParams;
    }
}

params! {
    /// Which place is given, and how.
    group FoundParams {
        out_int32: kind::Bool = false, "gives int32 instead of int64";
        right: kind::Bool = false, "the place behind equal values instead of before them";
    }
}

params! {
    IsinParams {
        elements: kind::Operand, "the values that are looked up";
        test_elements: kind::Operand, "the values that are looked for";
        invert: kind::Bool = false, "true where the element is not found";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "isin",
        Family::Compare,
        "Whether each element is one of some others.",
        IsinParams::LIST,
        by_name!(IsinParams, |a| to_value(isin(a.elements, a.test_elements, a.invert))),
    )
    .forms(crate::op::core::def::FUNCTION)
    .shapes(shapes::SAME)
    .errors(&["NotImplementedError: one of them holds bools"])
    .example("isin(tensor([1, 2, 3]), tensor([3, 1]))", "tensor([ True, False,  True])")
    .gradient(Gradient::NoGrad("the result is bool")),
    OpDef::call(
        "searchsorted",
        Family::Index,
        "Where values would be put into an ascending row: before their equals, or behind with `right`.",
        SearchsortedParams::LIST,
        by_name!(SearchsortedParams, searchsorted_row),
    )
    .forms(FUNCTION)
    .shapes("(n), any -> that of values; (…, n), (…, m) -> (…, m)")
    .errors(&["RuntimeError: rows and values differ in the sizes before the last"])
    .example("searchsorted(tensor([1, 3, 5]), tensor([3, 4]))", "tensor([1, 2])")
    .gradient(COUNTED),
    OpDef::call(
        "bucketize",
        Family::Index,
        "The bucket of each element between ascending boundaries.",
        BucketizeParams::LIST,
        by_name!(BucketizeParams, |a| looked_up(a.boundaries, a.input, &a.found, a.found.right)),
    )
    .forms(FUNCTION)
    .shapes("any, (n) -> that of the input")
    .errors(&["RuntimeError: the boundaries are no vector"])
    .example("bucketize(tensor([0, 3, 9]), tensor([1, 3, 5]))", "tensor([0, 1, 3])")
    .gradient(COUNTED),
];

fn searchsorted_row(a: SearchsortedParams) -> Result<Value> {
    let right = match a.side {
        None => a.found.right,
        Some("right") => true,
        Some("left") if a.found.right => {
            let text = "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was \
                        True";
            return Err(Error::runtime(text));
        }
        Some("left") => false,
        Some(other) => {
            let text = format!("torch.searchsorted(): side can only be 'left' or 'right' but got {other}");
            return Err(Error::runtime(text));
        }
    };
    match a.sorter {
        None => looked_up(a.sorted_sequence, a.values, &a.found, right),
        Some(order) if order.shape() != a.sorted_sequence.shape() => Err(Error::runtime(format!(
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor {:?} and got \
             sorter tensor {:?}",
            a.sorted_sequence.shape(),
            order.shape()
        ))),
        Some(order) => {
            let _off = no_grad();
            looked_up(&gather(a.sorted_sequence, -1, order)?, a.values, &a.found, right)
        }
    }
}

/// `searchsorted` and `bucketize`. A number is looked up as a tensor.
fn looked_up(edges: &Tensor, values: Operand, found: &FoundParams, right: bool) -> Result<Value> {
    let held;
    let values = match values {
        Operand::Tensor(t) => t,
        Operand::Scalar(n) => {
            let dtype = result_type(&[edges.into(), values]);
            held = Tensor::full(&[], wrapped(n, dtype), dtype, &edges.context(), "searchsorted")?;
            &held
        }
    };
    to_value(searchsorted(edges, values, right, found.out_int32))
}

//! Choosing and adding entries along one dimension by a vector of indices.

use crate::base::dtype::Category;
use crate::base::{DType, Dims, Error, Kind, Result};
use crate::device::Kernel;
use crate::op::core::args::to_value;
use crate::op::core::def::{Domain, Draw, Family, Gradient, OpDef, Overlap, Sample};
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::record::{in_place, no_grad, one, recorded, two, wanted};
use crate::op::elementwise::arithmetic::scale;
use crate::op::shape::view::reshape_to;
use crate::tensor::autograd::{Grads, Saved, Vjp};
use crate::tensor::{In, Tensor, launch};

use super::along_dim::{beyond, out_of_range, ranked, same_place};

/// The slices of `x` along `dim` that `index` names, in its order.
pub fn index_select(x: &Tensor, dim: i64, index: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "IndexSelectBackward0", run: index_select_grad };
    let run = || {
        let dim = x.dim(dim)?;
        same_place(x, "index", index, "wrapper_CUDA__index_select")?;
        if index.rank() > 1 {
            return Err(Error::new(Kind::IndexError, "index_select(): Index is supposed to be a vector"));
        }
        if !matches!(index.dtype(), DType::Int64 | DType::Int32) {
            return Err(Error::runtime("index_select(): Expected dtype int32 or int64 for index"));
        }
        if x.rank() == 0 && index.numel() != 1 {
            let text = format!(
                "index_select(): Index to scalar can have only 1 value, got {} value(s)",
                index.numel()
            );
            return Err(Error::runtime(text));
        }
        if x.rank() > 1 && x.shape().get(dim) == Some(&0) && index.numel() > 0 {
            return Err(Error::runtime("index_select(): self indexing axis dim should be positive")
                .with_hint("the dimension is empty: there is nothing to select"));
        }
        let out = select_rows(x, dim, index, "index_select").map_err(|e| {
            out_of_range(e, |_, _, _| Error::new(Kind::IndexError, "index out of range in self"))
        })?;
        Ok(recorded(out, &RULE, &[x], |s, _| {
            s.constant(Some(index));
            s.attribute(dim);
        }))
    };
    run().map_err(|e| e.in_op("index_select", || vec![x.operand(), index.operand()]))
}

/// `x` with `alpha * source` added to the slices that `index` names along `dim`.
pub fn index_add(x: &Tensor, dim: i64, index: &Tensor, source: &Tensor, alpha: f64) -> Result<Tensor> {
    let dim = check_index_add(x, dim, index, source)?;
    let out = x.copied(x.dtype(), "index_add")?;
    add_rows("index_add", &out, dim, index, source, alpha)?;
    Ok(recorded(out, &INDEX_ADD, &[x, source], |s, _| {
        s.constant(Some(index));
        s.attribute((dim, alpha));
    }))
}

/// [`index_add`] in place.
pub(crate) fn index_add_(
    x: &Tensor,
    dim: i64,
    index: &Tensor,
    source: &Tensor,
    alpha: f64,
) -> Result<Tensor> {
    added(x, dim, index, source, ("index_add", alpha))
}

/// [`index_add_`] for an operation that is known by its own name and adds in the order of the index on every device.
pub(crate) fn add_in_order_(
    x: &Tensor,
    dim: i64,
    index: &Tensor,
    source: &Tensor,
    op: &'static str,
) -> Result<Tensor> {
    added(x, dim, index, source, (op, 1.0))
}

fn added(
    x: &Tensor,
    dim: i64,
    index: &Tensor,
    source: &Tensor,
    (op, alpha): (&'static str, f64),
) -> Result<Tensor> {
    let dim = check_index_add(x, dim, index, source)?;
    in_place(
        x,
        &[source],
        &INDEX_ADD,
        |s| {
            s.constant(Some(index));
            s.attribute((dim, alpha));
        },
        || add_rows(op, x, dim, index, source, alpha),
    )
}

/// Launches the choice of slices along `dim` by an index vector into new memory; no graph.
pub(crate) fn select_rows(x: &Tensor, dim: usize, index: &Tensor, name: &'static str) -> Result<Tensor> {
    let mut shape: Dims = x.shape().into();
    if let Some(size) = shape.get_mut(dim) {
        *size = index.numel();
    }
    let out = Tensor::empty(&shape, x.dtype(), &x.context(), name)?;
    let (from, by, to) = (ranked(x)?, ranked(index)?, out.with_layout(ranked(&out)?));
    launch(
        name,
        &Kernel::IndexSelect { dim, from_end: false },
        &[In::Laid(x, &from), In::Laid(index, &by)],
        &[&to],
    )?;
    Ok(out)
}

/// The range check of `index_add`: gradient rules leave it out, for they add at places that were read before,
/// negative ones among them.
pub(crate) fn check_places(x: &Tensor, dim: i64, index: &Tensor, op: &'static str) -> Result<()> {
    let dim = x.dim(dim)?;
    // Of more than one dimension, an empty one is spoken of by those who find nothing to read there, as in PyTorch.
    if x.rank() > 1 && x.shape().get(dim) == Some(&0) {
        return Ok(());
    }
    let size = x.shape().get(dim).copied().unwrap_or(1) as i64;
    if !matches!(index.dtype(), DType::Int64 | DType::Int32) {
        return Ok(());
    }
    let Some(bad) = beyond(index, 0, size, op)? else { return Ok(()) };
    let hint = match size {
        0 => format!("{bad} is no index: dimension {dim} has size 0, and there is none"),
        _ => format!(
            "{bad} is no index: they run from 0 to the size of dimension {dim} less 1, here {}",
            size - 1
        ),
    };
    Err(Error::new(Kind::IndexError, "index out of range in self").with_hint(hint))
}

static INDEX_ADD: Vjp = Vjp {
    name: "IndexAddBackward0",
    run: |s, g| {
        let index = s.tensor(0)?;
        let &(dim, alpha): &(usize, f64) = s.attribute()?;
        let source = wanted(s, 1, || {
            let part = reshape_to(&index_select(g, dim as i64, &index)?, s.shape(1))?;
            if alpha == 1.0 { Ok(part) } else { scale(&part, alpha) }
        })?;
        two(Some(g.clone()), source)
    },
};

fn index_select_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let index = s.tensor(0)?;
    let &dim: &usize = s.attribute()?;
    let zeros = Tensor::full(s.shape(0), 0i64.into(), g.dtype(), &g.context(), "zeros")?;
    one(index_add(&zeros, dim as i64, &index, g, 1.0)?)
}

fn check_index_add(x: &Tensor, dim: i64, index: &Tensor, source: &Tensor) -> Result<usize> {
    let dim = x.dim(dim)?;
    for (name, t) in [("index", index), ("source", source)] {
        same_place(x, name, t, "wrapper_CUDA_index_add")?;
    }
    if index.rank() > 1 {
        return Err(Error::new(Kind::IndexError, "index_add_(): Index is supposed to be a vector"));
    }
    if !matches!(index.dtype(), DType::Int64 | DType::Int32) {
        let name = index.dtype().type_name();
        let text = format!("index_add_(): Expected dtype int32/int64 for index but got: {name}");
        return Err(Error::runtime(text).with_hint("convert it: `index.long()`"));
    }
    if source.dtype() != x.dtype() {
        return Err(Error::runtime(format!(
            "index_add_(): self ({}) and source ({}) must have the same scalar type",
            x.dtype().type_name(),
            source.dtype().type_name()
        )));
    }
    let size = source.shape().get(dim).copied().unwrap_or(1);
    if size != index.numel() {
        return Err(Error::runtime(format!(
            "index_add_(): Number of indices ({}) should be equal to source.size(dim): ({size}), for dim: {dim}",
            index.numel()
        )));
    }
    let others = |t: &Tensor| -> Dims {
        t.shape().iter().enumerate().filter(|(i, _)| *i != dim).map(|(_, &d)| d).collect()
    };
    if x.rank() != source.rank() || others(x) != others(source) {
        return Err(Error::runtime(format!(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = \
             {:?} source.shape = {:?}",
            x.shape(),
            source.shape()
        )));
    }
    Ok(dim)
}

fn add_rows(
    op: &'static str,
    out: &Tensor,
    dim: usize,
    index: &Tensor,
    source: &Tensor,
    alpha: f64,
) -> Result<()> {
    // Nothing has no places, and none of them is out of range.
    if out.numel() == 0 {
        return Ok(());
    }
    // Whole numbers have a whole factor.
    let alpha = if out.dtype().category() == Category::Int { alpha.trunc() } else { alpha };
    let scaled = if alpha == 1.0 {
        source.clone()
    } else {
        let _off = no_grad();
        scale(source, alpha)?
    };
    let (by, from, to) = (ranked(index)?, ranked(&scaled)?, out.with_layout(ranked(out)?));
    launch(op, &Kernel::IndexAdd { dim }, &[In::Laid(index, &by), In::Laid(&scaled, &from)], &[&to])
}

params! {
    IndexSelectParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Dim, "the dimension it runs along; negative ones count from the end";
        index: kind::Tensor, "the places along the dimension, as whole numbers";
    }
}

params! {
    IndexAddParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Dim, "the dimension it runs along; negative ones count from the end";
        index: kind::Tensor, "the places along the dimension, as whole numbers";
        source: kind::Tensor, "the tensor that values come from";
        alpha: kind::Scalar = 1, "the factor of what is added";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "index_select",
        Family::Index,
        "The entries along a dimension that a vector of indices names.",
        IndexSelectParams::LIST,
        by_name!(IndexSelectParams, |a| {
            check_places(a.input, a.dim, a.index, "index_select")?;
            to_value(index_select(a.input, a.dim, a.index))
        }),
    )
    .shapes("(…, n, …), (k) -> (…, k, …)")
    .errors(&["IndexError: the index is no vector, or lies outside of the dimension"])
    .details(
        "Its gradient adds what was picked several times as index_add does: in any order on a GPU, unless \
         use_deterministic_algorithms asks for one.",
    )
    .example("tensor([5, 6, 7]).index_select(0, tensor([2, 0]))", "tensor([7, 5])")
    .gradient(Gradient::Vjp("IndexSelectBackward0"))
    .samples(&[Sample::of(
        "x.index_select(0, i)",
        &[Draw::of("x", &[5, 3], Domain::Any), Draw::of("i", &[4], Domain::Index(5))],
    )]),
    OpDef::call(
        "index_add",
        Family::Index,
        "Entries added at indices along a dimension.",
        IndexAddParams::LIST,
        by_name!(IndexAddParams, |a| {
            check_places(a.input, a.dim, a.index, "index_add")?;
            to_value(index_add(a.input, a.dim, a.index, a.source, a.alpha.as_f64()))
        }),
    )
    .overlap(Overlap::None)
    .in_place(by_name!(IndexAddParams, |a| {
        check_places(a.input, a.dim, a.index, "index_add")?;
        to_value(index_add_(a.input, a.dim, a.index, a.source, a.alpha.as_f64()))
    }))
    .shapes("(…, n, …), (k), (…, k, …) -> (…, n, …)")
    .errors(&[
        "RuntimeError: there are not as many indices as entries of `source`",
        "IndexError: an index lies outside of the dimension",
    ])
    .details(
        "On a GPU what goes to one place is added in an order that chance decides, as by atomics, so that last \
         bits differ between two calls; use_deterministic_algorithms gives one order, and takes longer.",
    )
    .example("zeros(3).index_add(0, tensor([1, 1]), ones(2))", "tensor([0., 2., 0.])")
    .gradient(Gradient::Vjp("IndexAddBackward0"))
    .samples(&[Sample::of(
        "x.index_add(0, i, v)",
        &[
            Draw::of("x", &[4, 3], Domain::Any),
            Draw::of("i", &[5], Domain::Index(4)),
            Draw::of("v", &[5, 3], Domain::Any),
        ],
    )]),
];

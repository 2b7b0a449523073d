//! Rows of a table by index.

use crate::base::{Cause, Dims, Error, Kind, Result};
use crate::device::Kernel;
use crate::device::kernel::ReduceOp;
use crate::tensor::autograd::{Grads, Saved, Vjp};
use crate::tensor::{In, Tensor, launch};

use super::activation::FUNCTIONAL;
use super::def::{Default, Domain, Draw, Family, Gradient, OpDef, Param, ParamKind, Sample};
use super::movement::reshape_to;
use super::record::{one, recorded};

/// Rows of `weight [n, d]` by `index` (int64): `index`'s shape with `d` at its end.
///
/// The row `padding_idx` gets no gradient. On the CPU an index outside `0..n` is an error.
pub fn embedding(index: &Tensor, weight: &Tensor, padding_idx: Option<i64>) -> Result<Tensor> {
    let run = || {
        check(index, weight)?;
        let padding = padding_row(weight, padding_idx)?;
        let flat = reshape_to(index, &[index.numel()])?;
        let rows = select_rows(weight, &flat, padding)?;
        let mut shape: Dims = index.shape().into();
        shape.extend(weight.shape().iter().skip(1).copied());
        reshape_to(&rows, &shape)
    };
    run().map_err(|e| e.in_op("embedding", || vec![index.operand(), weight.operand()]))
}

/// Slices of `x` along `dim` by a vector of indices.
pub fn take(x: &Tensor, dim: usize, index: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "IndexSelectBackward0",
        run: |s, g| {
            let &dim: &usize = s.attribute()?;
            one(put(g, dim, &s.tensor(0)?, s.shape(0))?)
        },
    };
    let mut shape: Dims = x.shape().into();
    if let Some(size) = shape.get_mut(dim) {
        *size = index.numel();
    }
    let out = Tensor::empty(&shape, x.dtype(), &x.context(), "index_select")?;
    launch("index_select", &Kernel::IndexSelect { dim }, &[In::Tensor(x), In::Tensor(index)], &[&out])?;
    Ok(recorded(out, &RULE, &[x], |s, _| {
        s.constant(Some(index));
        s.attribute(dim);
    }))
}

/// Zeros of `shape` with the slices of `g` added along `dim` at `index`.
fn put(g: &Tensor, dim: usize, index: &Tensor, shape: &[usize]) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "IndexAddBackward0",
        run: |s, gg| {
            let &dim: &usize = s.attribute()?;
            one(take(gg, dim, &s.tensor(0)?)?)
        },
    };
    let out = Tensor::full(shape, 0i64.into(), g.dtype(), &g.context(), "index_add")?;
    launch("index_add", &Kernel::IndexAdd { dim }, &[In::Tensor(index), In::Tensor(g)], &[&out])?;
    Ok(recorded(out, &RULE, &[g], |s, _| {
        s.constant(Some(index));
        s.attribute(dim);
    }))
}

fn select_rows(weight: &Tensor, index: &Tensor, padding: Option<usize>) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "EmbeddingBackward0", run: rows_grad };
    let rows = take(&weight.detach(), 0, index)?;
    Ok(recorded(rows, &RULE, &[weight], |s, _| {
        s.constant(Some(index));
        s.attribute(padding);
    }))
}

fn rows_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let &padding: &Option<usize> = s.attribute()?;
    let grad = put(g, 0, &s.tensor(0)?, s.shape(0))?;
    let Some(row) = padding else { return one(grad) };
    if !grad.requires_grad() {
        grad.with_layout(grad.layout().select(0, row)?).fill(0i64.into(), "embedding_backward")?;
        return one(grad);
    }
    let kept: Vec<f32> =
        (0..s.shape(0).first().copied().unwrap_or(0)).map(|i| f32::from(u8::from(i != row))).collect();
    let mask = Tensor::from_f32(&kept, &[kept.len(), 1])?.moved(&grad.context(), true, "embedding_backward")?;
    one(super::binary::mul(&grad, &mask.copied(grad.dtype(), "to")?)?)
}

fn check(index: &Tensor, weight: &Tensor) -> Result<()> {
    use crate::base::DType;
    if !matches!(index.dtype(), DType::Int64 | DType::Int32) {
        return Err(Error::runtime(format!(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got \
             torch.{}Tensor instead (while checking arguments for embedding)",
            index.dtype().type_name()
        ))
        .with_hint("indices are whole numbers: `index.long()`"));
    }
    if weight.rank() != 2 {
        return Err(Error::runtime("'weight' must be 2-D"));
    }
    if index.device() != weight.device() {
        let (is_on, others) = (index.device(), weight.device());
        return Err(Cause::ArgumentDevice { argument: "index", is_on, others }.into());
    }
    if index.device().is_cuda() || index.numel() == 0 {
        return Ok(());
    }
    // The kernel counts negative indices from the end, as indexing does; a table has none.
    let least = Tensor::empty(&[], index.dtype(), &index.context(), "embedding")?;
    let flat = reshape_to(&index.detach(), &[index.numel()])?;
    let target = least.with_layout(crate::base::Layout::contiguous(&[1])?);
    launch("embedding", &Kernel::Reduce { op: ReduceOp::Min, dims: 1 }, &[In::Tensor(&flat)], &[&target])?;
    if least.item()?.as_i64() < 0 {
        return Err(Error::new(Kind::IndexError, "index out of range in self"));
    }
    Ok(())
}

/// A possibly negative padding index as a row.
pub fn padding_row(weight: &Tensor, padding_idx: Option<i64>) -> Result<Option<usize>> {
    let rows = weight.shape().first().copied().unwrap_or(0) as i64;
    match padding_idx {
        None => Ok(None),
        Some(i) if (-rows..rows).contains(&i) => Ok(Some(i.rem_euclid(rows) as usize)),
        Some(_) => Err(Error::new(Kind::AssertionError, "Padding_idx must be within num_embeddings")),
    }
}

/// The rows of this family.
pub static ROWS: &[OpDef] = &[OpDef::call(
    "embedding",
    Family::Index,
    "Rows of a table by index.",
    &[
        Param::required("input", ParamKind::Tensor),
        Param::required("weight", ParamKind::Tensor),
        Param::optional("padding_idx", ParamKind::Int, Default::None),
    ],
    |a| embedding(a.tensor(0)?, a.tensor(1)?, a.optional_int(2)).map(super::Value::from),
)
.forms(FUNCTIONAL)
.gradient(Gradient::Vjp("EmbeddingBackward0"))
.details("The result has the index's shape and the table's row size. The row `padding_idx` gets no gradient.")
.example(
    "F::embedding(tensor([2, 0]), tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]))",
    "tensor([[4., 5.],\n        [0., 1.]])",
)
.samples(&[Sample::of(
    "F::embedding(i, w)",
    &[Draw::of("i", &[2, 3], Domain::Index(5)), Draw::of("w", &[5, 4], Domain::Any)],
)])];

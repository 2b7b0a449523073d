//! Rows of a table by index.

use crate::base::{DType, Dims, Error, Kind, Result};
use crate::device::poll;
use crate::op::core::def::{Domain, Draw, FUNCTIONAL, Family, Gradient, OpDef, Sample};
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::record::{one, recorded};
use crate::op::elementwise::arithmetic::mul;
use crate::op::gather::along_dim::{out_of_range, same_place};
use crate::op::gather::select::{index_add_, select_rows};
use crate::op::reduce::sums::min_all;
use crate::op::shape::view::reshape_to;
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp};

/// Rows of `weight [n, d]` by `index` (int64): `index`'s shape with `d` at its end.
///
/// The row `padding_idx` gets no gradient. On the CPU an index outside `0..n` is an error.
pub fn embedding(index: &Tensor, weight: &Tensor, padding_idx: Option<i64>) -> Result<Tensor> {
    let run = || {
        check(index, weight)?;
        let padding = padding_row(weight, padding_idx)?;
        let flat = reshape_to(index, &[index.numel()])?;
        let rows = table_rows(weight, &flat, padding)?;
        let mut shape: Dims = index.shape().into();
        shape.extend(weight.shape().iter().skip(1).copied());
        reshape_to(&rows, &shape)
    };
    run().map_err(|e| e.in_op("embedding", || vec![index.operand(), weight.operand()]))
}

fn table_rows(weight: &Tensor, index: &Tensor, padding: Option<usize>) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "EmbeddingBackward0", run: rows_grad };
    let rows =
        select_rows(weight, 0, index, "embedding").map_err(|e| out_of_range(e, |_, _, _| outside()))?;
    Ok(recorded(rows, &RULE, &[weight], |s, _| {
        s.constant(Some(index));
        s.attribute(padding);
    }))
}

fn rows_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let &padding: &Option<usize> = s.attribute()?;
    let table = Tensor::full(s.shape(0), 0i64.into(), g.dtype(), &g.context(), "embedding_backward")?;
    let grad = index_add_(&table, 0, &s.tensor(0)?, g, 1.0)?;
    let Some(row) = padding else { return one(grad) };
    if !grad.requires_grad() {
        grad.with_layout(grad.layout().select(0, row)?).fill(0i64.into(), "embedding_backward")?;
        return one(grad);
    }
    let rows = s.shape(0).first().copied().unwrap_or(0);
    let kept = poll::listed((0..rows).map(|i| f32::from(u8::from(i != row))))?;
    let mask =
        Tensor::from_f32(&kept, &[kept.len(), 1])?.moved(&grad.context(), true, "embedding_backward")?;
    one(mul(&grad, &mask.copied(grad.dtype(), "to")?)?)
}

fn check(index: &Tensor, weight: &Tensor) -> Result<()> {
    if weight.rank() != 2 {
        return Err(Error::runtime("'weight' must be 2-D"));
    }
    if !matches!(index.dtype(), DType::Int64 | DType::Int32) {
        return Err(Error::runtime(format!(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got \
             torch.{}Tensor instead (while checking arguments for embedding)",
            index.dtype().type_name()
        ))
        .with_hint("indices are whole numbers: `index.long()`"));
    }
    same_place(weight, "index", index, "wrapper_CUDA__index_select")?;
    if index.device().is_cuda() || index.numel() == 0 {
        return Ok(());
    }
    // The kernel counts negative indices from the end, as indexing does; a table has none.
    let flat = reshape_to(&index.detach(), &[index.numel()])?;
    let least = min_all(&flat)?;
    if least.item()?.as_i64() < 0 {
        return Err(outside());
    }
    Ok(())
}

fn outside() -> Error {
    Error::new(Kind::IndexError, "index out of range in self")
        .with_hint("indices run from 0 to the number of rows of the table, less 1")
}

/// A possibly negative padding index as a row.
pub(crate) fn padding_row(weight: &Tensor, padding_idx: Option<i64>) -> Result<Option<usize>> {
    let rows = weight.shape().first().copied().unwrap_or(0) as i64;
    match padding_idx {
        None => Ok(None),
        Some(i) if (-rows..rows).contains(&i) => Ok(Some(i.rem_euclid(rows) as usize)),
        Some(_) => Err(Error::new(Kind::AssertionError, "Padding_idx must be within num_embeddings")),
    }
}

params! {
    EmbeddingParams {
        input: kind::Tensor, "the numbers of the rows that are looked up";
        weight: kind::Tensor, "the table, a row for each number";
        padding_idx: Maybe<kind::Int>, "the row that gets no gradient";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[OpDef::call(
    "embedding",
    Family::Index,
    "Rows of a table by index.",
    EmbeddingParams::LIST,
    by_name!(EmbeddingParams, |a| embedding(a.input, a.weight, a.padding_idx)
        .map(crate::op::core::value::Value::from)),
)
.forms(FUNCTIONAL)
.gradient(Gradient::Vjp("EmbeddingBackward0"))
.details("The result has the index's shape and the table's row size. The row `padding_idx` gets no gradient. On a GPU the gradients of a row are added in any order, unless use_deterministic_algorithms asks for one.")
.shapes("index of any shape (…), weight (n, d) -> (…, d)")
.errors(&["IndexError: an index is not below n", "RuntimeError: the weight is no matrix"])
.example(
    "F::embedding(tensor([2, 0]), tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]))",
    "tensor([[4., 5.],\n        [0., 1.]])",
)
.samples(&[Sample::of(
    "F::embedding(i, w)",
    &[Draw::of("i", &[2, 3], Domain::Index(5)), Draw::of("w", &[5, 4], Domain::Any)],
)])];

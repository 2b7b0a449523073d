//! Rows of a table by index.

use crate::base::{DType, Dims, Error, Kind, Result};
use crate::device::poll;
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Domain, Draw, FUNCTIONAL, Family, Gradient, OpDef, Sample};
use crate::op::core::fill::replaced;
use crate::op::core::operand::Operand;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::record::{no_grad, one, recorded};
use crate::op::elementwise::arithmetic::{add, mul, scale, shift};
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::comparison::gt;
use crate::op::elementwise::unary::reciprocal;
use crate::op::gather::along_dim::{negative, out_of_range, same_place};
use crate::op::gather::select::{index_add_, select_rows};
use crate::op::index::places::index_copy;
use crate::op::reduce::norms::norm;
use crate::op::shape::view::{reshape_to, unsqueeze};
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp};

/// What is done to a table besides reading it.
#[derive(Clone, Copy, Debug)]
pub struct TableOptions {
    /// The row that gets no gradient.
    pub padding_idx: Option<i64>,
    /// Rows that are looked up are first made this long, in the table, where they are longer.
    pub max_norm: Option<f64>,
    /// By which norm.
    pub norm_type: f64,
    /// Gradients are divided by how often their row was looked up.
    pub scale_grad_by_freq: bool,
}

/// Rows of `weight [n, d]` by `index` (int64): `index`'s shape with `d` at its end.
///
/// On the CPU an index outside `0..n` is an error.
pub fn embedding(index: &Tensor, weight: &Tensor, options: TableOptions) -> Result<Tensor> {
    let run = || {
        check(index, weight)?;
        let padding = padding_row(weight, options.padding_idx)?;
        let flat = reshape_to(index, &[index.numel()])?;
        if let Some(most) = options.max_norm {
            shorten(weight, &flat, most, options.norm_type)?;
        }
        let rows = table_rows(weight, &flat, (padding, options.scale_grad_by_freq))?;
        let mut shape: Dims = index.shape().into();
        shape.extend(weight.shape().iter().skip(1).copied());
        reshape_to(&rows, &shape)
    };
    run().map_err(|e| e.in_op("embedding", || vec![index.operand(), weight.operand()]))
}

/// Rows of the table at `index` made no longer than `most`, as PyTorch's `embedding_renorm_`.
pub(super) fn shorten(weight: &Tensor, index: &Tensor, most: f64, norm_type: f64) -> Result<()> {
    const TINY: f64 = 1e-7;
    let (_off, _paused) = (no_grad(), crate::tensor::autocast::pause());
    let index = to_dtype(index, DType::Int64)?;
    let rows = select_rows(weight, 0, &index, "embedding")
        .map_err(|e| out_of_range(e, |bad, _, rows| outside(bad, rows)))?;
    let lengths = norm(&rows, norm_type, Some(&[1]), true)?;
    let factors = scale(&reciprocal(&shift(&lengths, TINY)?)?, most)?;
    let factors = where_(&gt(&lengths, most)?, Operand::Tensor(&factors), Operand::Scalar(1.0.into()))?;
    let rows = mul(&rows, &factors)?;
    replaced(weight, |table| index_copy(table, 0, &index, &rows)).map(|_| ())
}

/// The row that gets no gradient, and whether gradients are divided by how often their row was looked up.
type GradientOptions = (Option<usize>, bool);

fn table_rows(weight: &Tensor, index: &Tensor, options: GradientOptions) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "EmbeddingBackward0", run: rows_grad };
    let rows = select_rows(weight, 0, index, "embedding")
        .map_err(|e| out_of_range(e, |bad, _, rows| outside(bad, rows)))?;
    Ok(recorded(rows, &RULE, &[weight], |s, _| {
        s.constant(Some(index));
        s.attribute(options);
    }))
}

fn rows_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let &(padding, by_frequency): &GradientOptions = s.attribute()?;
    one(table_grad(&s.tensor(0)?, s.shape(0), g, (padding, by_frequency))?)
}

/// The gradient of a table of this shape whose rows at `index` were read; that of each row read is `g`.
pub(super) fn table_grad(
    index: &Tensor,
    table: &[usize],
    g: &Tensor,
    (padding, by_frequency): GradientOptions,
) -> Result<Tensor> {
    let shares = if by_frequency { Some(shares(index, table, g)?) } else { None };
    let g = &match shares {
        // In a recorded pass a gradient leads on to its own undivided, as in PyTorch.
        Some(shares) if g.requires_grad() => {
            let less = mul(&g.detach(), &shift(&shares, -1.0)?)?;
            add(g, &less)?
        }
        Some(shares) => mul(g, &shares)?,
        None => g.clone(),
    };
    let zeros = Tensor::full(table, 0i64.into(), g.dtype(), &g.context(), "embedding_backward")?;
    let grad = index_add_(&zeros, 0, index, g, 1.0)?;
    let Some(row) = padding else { return Ok(grad) };
    if !grad.requires_grad() {
        grad.with_layout(grad.layout().select(0, row)?).fill(0i64.into(), "embedding_backward")?;
        return Ok(grad);
    }
    let rows = table.first().copied().unwrap_or(0);
    let kept = poll::listed((0..rows).map(|i| f32::from(u8::from(i != row))))?;
    let mask =
        Tensor::from_f32(&kept, &[kept.len(), 1])?.moved(&grad.context(), true, "embedding_backward")?;
    mul(&grad, &mask.copied(grad.dtype(), "to")?)
}

/// For each place of the index 1 over how often its row is in it, `[count, 1]`.
fn shares(index: &Tensor, table: &[usize], like: &Tensor) -> Result<Tensor> {
    let _off = no_grad();
    let filled = |shape: &[usize], value: i64| {
        Tensor::full(shape, value.into(), like.dtype(), &like.context(), "embedding_backward")
    };
    let rows = table.first().copied().unwrap_or(0);
    let counts = index_add_(&filled(&[rows], 0)?, 0, index, &filled(&[index.numel()], 1)?, 1.0)?;
    unsqueeze(&reciprocal(&select_rows(&counts, 0, index, "embedding_backward")?)?, 1)
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
    // The kernel counts negative indices from the end, as indexing does; a table has none.
    let rows = weight.shape().first().copied().unwrap_or(0);
    negative(index, "embedding")?.map_or(Ok(()), |bad| Err(outside(bad, rows)))
}

fn outside(bad: i64, rows: usize) -> Error {
    Error::new(Kind::IndexError, "index out of range in self").with_hint(format!(
        "{bad} is no index of a table of {rows} rows: they run from 0 to the number of rows less 1"
    ))
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
    pub group RowOptions {
        max_norm: Maybe<kind::Float>, "how long a row may be: longer ones that are looked up are made so long, in the table";
        norm_type: kind::Float = 2.0, "the p of the norm that `max_norm` bounds";
        scale_grad_by_freq: kind::Bool = false, "whether the gradient of a row is divided by how often it was looked up";
    }
}

impl RowOptions<'_> {
    /// With the row that gets no gradient.
    pub fn beside(&self, padding_idx: Option<i64>) -> TableOptions {
        let RowOptions { max_norm, norm_type, scale_grad_by_freq, .. } = *self;
        TableOptions { padding_idx, max_norm, norm_type, scale_grad_by_freq }
    }
}

params! {
    EmbeddingParams {
        input: kind::Tensor, "the numbers of the rows that are looked up";
        weight: kind::Tensor, "the table, a row for each number";
        padding_idx: Maybe<kind::Int>, "the row that gets no gradient";
        ..rows: RowOptions;
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[OpDef::call(
    "embedding",
    Family::Index,
    "Rows of a table by index.",
    EmbeddingParams::LIST,
    by_name!(EmbeddingParams, |a| embedding(a.input, a.weight, a.rows.beside(a.padding_idx))
        .map(crate::op::core::value::Value::from)),
)
.forms(FUNCTIONAL)
.gradient(Gradient::Vjp("EmbeddingBackward0"))
.details("The result has the index's shape and the table's row size. The row `padding_idx` gets no gradient. `max_norm` changes the table: rows longer than it that are looked up are shortened. On a GPU the gradients of a row are added in any order, unless use_deterministic_algorithms asks for one.")
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

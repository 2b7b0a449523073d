//! Rows of a table by index, combined bag by bag.

use crate::base::{DType, Error, Kind, Result};
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Args, DefaultValue, Domain, Draw, FUNCTIONAL, Family, OpDef, Sample};
use crate::op::core::operand::Operand;
use crate::op::core::params::{Maybe, by_name, kind, kinds, params};
use crate::op::core::record::{named, no_grad, undetermined};
use crate::op::core::value::Value;
use crate::op::create::filled::Make;
use crate::op::create::ranges::arange;
use crate::op::elementwise::arithmetic::{div, mul, sub};
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::clamp::clamp_min;
use crate::op::elementwise::comparison::{eq, ne};
use crate::op::gather::along_dim::extent;
use crate::op::gather::select::add_in_order_;
use crate::op::index::combined::{Combine, scatter_reduce};
use crate::op::index::search::searchsorted;
use crate::op::shape::part::narrow;
use crate::op::shape::view::{expand_to, reshape_to, unsqueeze};
use crate::tensor::Tensor;
use crate::tensor::autograd::Vjp;

use super::table::{RowOptions, TableOptions, embedding};

/// How a bag's rows become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bag {
    Sum,
    Mean,
    Max,
}

impl Bag {
    pub(crate) fn parse(name: &str) -> Result<Bag> {
        match name {
            "sum" => Ok(Bag::Sum),
            "mean" => Ok(Bag::Mean),
            "max" => Ok(Bag::Max),
            _ => Err(Error::value("mode has to be one of sum, mean or max")),
        }
    }
}

/// The options of [`embedding_bag`].
#[derive(Clone, Copy)]
pub struct Bags<'a> {
    /// Where each bag begins in a flat input.
    pub offsets: Option<&'a Tensor>,
    pub mode: Bag,
    /// A factor for each index, for sums.
    pub weights: Option<&'a Tensor>,
    /// The last offset is the input's length and begins no bag.
    pub include_last: bool,
    /// What is done to the table; its padding row counts for nothing.
    pub table: TableOptions,
}

/// The rows of `weight [n, d]` that each bag names, combined: `[bags, d]`. `input` is `[bags, length]`, or flat with
/// offsets. An empty bag gives zeros. As `torch.nn.functional.embedding_bag`.
pub fn embedding_bag(input: &Tensor, weight: &Tensor, bags: &Bags) -> Result<Tensor> {
    let _paused = crate::tensor::autocast::pause();
    check(input, weight, bags)?;
    let (count, flat) = (input.numel(), reshape_to(input, &[input.numel()])?);
    let rows = embedding(&flat, weight, bags.table)?;
    let (ids, slots, kept) = assigned(input, count, bags)?;
    let width = weight.shape().get(1).copied().unwrap_or(0);
    let real = real_rows(&flat, weight, bags.table.padding_idx)?;
    let zeros = |shape: &[usize]| {
        Tensor::full(shape, 0i64.into(), weight.dtype(), &weight.context(), "embedding_bag")
    };
    let share = match (bags.weights, &real) {
        (Some(w), Some(real)) => Some(mul(&reshape_to(w, &[count])?, real)?),
        (Some(w), None) => Some(reshape_to(w, &[count])?),
        (None, real) => real.clone(),
    };
    let out = match bags.mode {
        Bag::Sum | Bag::Mean => {
            let rows = match &share {
                Some(share) => mul(&rows, &unsqueeze(share, 1)?)?,
                None => rows,
            };
            let total = add_in_order_(&zeros(&[slots, width])?, 0, &ids, &rows, "embedding_bag")?;
            match bags.mode {
                Bag::Mean => {
                    div(&total, &clamp_min(&sizes(&zeros(&[slots, 1])?, &ids, real.as_ref())?, 1i64.into())?)?
                }
                _ => total,
            }
        }
        Bag::Max => {
            let low = Operand::Scalar(f64::NEG_INFINITY.into());
            let rows = match &real {
                Some(real) => where_(&unsqueeze(&ne(real, 0.0)?, 1)?, Operand::Tensor(&rows), low)?,
                None => rows,
            };
            let places = expand_to(&unsqueeze(&ids, 1)?, &[count as i64, width as i64])?;
            let most = scatter_reduce(&zeros(&[slots, width])?, 0, &places, &rows, Combine::Amax, false)?;
            match &real {
                Some(real) => {
                    let empty = eq(&sizes(&zeros(&[slots, 1])?, &ids, Some(real))?, 0.0)?;
                    where_(&empty, Operand::Scalar(0.0.into()), Operand::Tensor(&most))?
                }
                None => most,
            }
        }
    };
    static MAX: Vjp =
        Vjp { name: "EmbeddingBagBackward0", run: |_, g| undetermined(g, "embedding_bag_backward_cuda_max") };
    let out = narrow(&out, 0, 0, kept as i64)?;
    Ok(if bags.mode == Bag::Max { named(out, &MAX) } else { out })
}

/// The bag of each index, how many slots the numbers need, and how many of them are bags.
fn assigned(input: &Tensor, count: usize, bags: &Bags) -> Result<(Tensor, usize, usize)> {
    let _off = no_grad();
    let make = Make { device: Some(input.device().into()), ..Make::default() };
    let places = arange(0i64.into(), (count as i64).into(), 1i64.into(), &make)?;
    match bags.offsets {
        None => {
            let length = input.shape().get(1).copied().unwrap_or(0).max(1) as i64;
            let n = input.shape().first().copied().unwrap_or(0);
            Ok((crate::op::elementwise::arithmetic::floor_divide(&places, length)?, n, n))
        }
        Some(offsets) => {
            let starts = to_dtype(offsets, DType::Int64)?;
            let slots = offsets.numel();
            let ids = sub(&searchsorted(&starts, &places, true, false)?, 1i64)?;
            Ok((ids, slots, slots - usize::from(bags.include_last && slots > 0)))
        }
    }
}

/// 1 for each index, 0 where it names the row of padding; nothing where there is none.
fn real_rows(flat: &Tensor, weight: &Tensor, padding: Option<i64>) -> Result<Option<Tensor>> {
    let rows = weight.shape().first().copied().unwrap_or(0) as i64;
    let Some(padding) = padding else { return Ok(None) };
    let _off = no_grad();
    to_dtype(&ne(flat, padding.rem_euclid(rows.max(1)))?, weight.dtype()).map(Some)
}

/// How many indices each bag has, as a column.
fn sizes(zeros: &Tensor, ids: &Tensor, real: Option<&Tensor>) -> Result<Tensor> {
    let _off = no_grad();
    let ones = match real {
        Some(real) => real.clone(),
        None => Tensor::full(ids.shape(), 1i64.into(), zeros.dtype(), &zeros.context(), "embedding_bag")?,
    };
    add_in_order_(zeros, 0, ids, &unsqueeze(&ones, 1)?, "embedding_bag")
}

fn check(input: &Tensor, weight: &Tensor, bags: &Bags) -> Result<()> {
    if let Some(w) = bags.weights
        && w.shape() != input.shape()
    {
        return Err(Error::value(format!(
            "embedding_bag: If per_sample_weights (torch.Size({:?})) is not None, then it must have the same shape as \
             the input (torch.Size({:?}))",
            w.shape(),
            input.shape()
        )));
    }
    match (input.rank(), bags.offsets) {
        (2, None) => {}
        (2, Some(_)) => {
            return Err(Error::value(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length \
                 sequences. However, found offsets of type <class 'torch.Tensor'>",
            ));
        }
        (1, None) => return Err(Error::value("offsets has to be a 1D Tensor but got None")),
        (1, Some(offsets)) if offsets.rank() != 1 => {
            return Err(Error::value("offsets has to be a 1D Tensor"));
        }
        (1, Some(offsets)) => check_offsets(offsets, input.numel())?,
        (rank, _) => {
            let text = format!("input has to be 1D or 2D Tensor, but got Tensor of dimension {rank}");
            return Err(Error::value(text));
        }
    }
    if bags.weights.is_some() && bags.mode != Bag::Sum {
        let mode = if bags.mode == Bag::Mean { "mean" } else { "max" };
        return Err(Error::new(
            Kind::NotImplementedError,
            format!(
                "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' \
                 (got mode='{mode}'). Please open a feature request on GitHub."
            ),
        ));
    }
    if !matches!(input.dtype(), DType::Int64 | DType::Int32) {
        return Err(Error::runtime(format!(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got \
             torch.{}Tensor instead (while checking arguments for embedding_bag)",
            input.dtype().type_name()
        ))
        .with_hint("indices are whole numbers: `input.long()`"));
    }
    let rows = weight.shape().first().copied().unwrap_or(0) as i64;
    if let Some(padding) = bags.table.padding_idx
        && !(-rows..rows).contains(&padding)
    {
        return Err(Error::runtime(format!(
            "padding_idx must be within the number of embeddings, -{rows} through {}, but got {padding}",
            rows - 1
        )));
    }
    check_range(input, rows)
}

/// Offsets are looked at where the host need not wait for them.
fn check_offsets(offsets: &Tensor, count: usize) -> Result<()> {
    if !matches!(offsets.dtype(), DType::Int64 | DType::Int32) {
        let name = offsets.dtype().type_name();
        return Err(Error::runtime(format!(
            "offsets are whole numbers, and not those of a torch.{name}Tensor"
        )));
    }
    if offsets.device().is_cuda() || offsets.numel() == 0 {
        return Ok(());
    }
    let all = offsets.to_scalars("embedding_bag")?;
    let first = all.first().map_or(0, |n| n.as_i64());
    if first != 0 {
        return Err(Error::runtime(format!(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, \
             got {first}"
        )));
    }
    let last = all.last().map_or(0, |n| n.as_i64());
    if last > count as i64 {
        return Err(Error::runtime(format!(
            "offsets[-1] can not be greater than input's length {count} but got offsets[-1] of {last}"
        )));
    }
    Ok(())
}

/// Names the first index that is no row, where the host need not wait for it.
fn check_range(input: &Tensor, rows: i64) -> Result<()> {
    let Some((least, most)) = extent(input)? else { return Ok(()) };
    if least >= 0 && most < rows {
        return Ok(());
    }
    let all = input.to_scalars("embedding_bag")?;
    let found = all.iter().map(|n| n.as_i64()).enumerate().find(|(_, n)| !(0..rows).contains(n));
    let (at, value) = found.unwrap_or((0, most));
    Err(Error::runtime(format!(
        "Index {at} of input takes value {value} which is not in the valid range [0, {rows})"
    )))
}

const BAGS: &[Draw] = &[Draw::of("i", &[3, 4], Domain::Index(5)), Draw::of("w", &[5, 3], Domain::Distinct)];

kinds! {
    /// How the rows of a bag become one.
    Mode(Str) => Bag, |args: &Args, at| Bag::parse(args.str(at)?);
}

params! {
    EmbeddingBagParams {
        input: kind::Tensor, "the indices of rows, `[bags, length]`, or flat with `offsets`";
        weight: kind::Tensor, "the table that the rows are of";
        offsets: Maybe<kind::Tensor>, "where each bag begins in a flat input";
        ..rows: RowOptions;
        mode: Mode => DefaultValue::Str("mean"), "what a bag becomes: the \"mean\", \"sum\" or \"max\" of its rows";
        per_sample_weights: Maybe<kind::Tensor>, "the factor of each row in a sum";
        include_last_offset: kind::Bool = false, "whether the last offset is the end of the last bag, and begins none";
        padding_idx: Maybe<kind::Int>, "the index of a row that counts for nothing";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
OpDef::call(
    "embedding_bag",
    Family::Index,
    "Rows of a table by index, combined bag by bag: their sum, mean or largest elements.",
    EmbeddingBagParams::LIST, by_name!(EmbeddingBagParams, |a| {
        let bags = Bags {
            offsets: a.offsets,
            mode: a.mode,
            weights: a.per_sample_weights,
            include_last: a.include_last_offset,
            table: a.rows.beside(a.padding_idx),
        };
        embedding_bag(a.input, a.weight, &bags).map(Value::from)
    }),
)
.forms(FUNCTIONAL)
.details(
    "`input` is `[bags, length]`, or flat with `offsets`, the places where bags begin; `include_last_offset` says that \
     the last offset is the input's length. `mode` is \"sum\", \"mean\" or \"max\"; `per_sample_weights` are factors \
     for sums. The row `padding_idx` counts for nothing. An empty bag gives zeros.",
)
.shapes(
    "(bags, length), weight (n, d) -> (bags, d); (length), offsets (bags), or (bags + 1) with include_last_offset \
     -> (bags, d)",
)
.errors(&[
    "ValueError: the input is a vector and there are no offsets",
    "RuntimeError: the first offset is not 0",
    "NotImplementedError: there are `per_sample_weights` and the mode is not \"sum\"",
])
.example(
    "F::embedding_bag(tensor([0, 2, 1]), tensor([[1.0], [2.0], [5.0]]), tensor([0, 2]), #{mode: \"sum\"})",
    "tensor([[6.],\n        [2.]])",
)
.samples(&[
    Sample::of("F::embedding_bag(i, w)", BAGS),
    Sample::of("F::embedding_bag(i, w, #{mode: \"max\", padding_idx: 2})", BAGS),
    Sample::of(
        "F::embedding_bag(i, w, tensor([0, 2, 2, 5]), #{mode: \"sum\", per_sample_weights: s, padding_idx: 1})",
        &[
            Draw::of("i", &[6], Domain::Index(5)),
            Draw::of("w", &[5, 3], Domain::Any),
            Draw::of("s", &[6], Domain::Any),
        ],
    ),
]),
];

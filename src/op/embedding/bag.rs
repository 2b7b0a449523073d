//! Rows of a table by index, combined bag by bag.

use crate::base::{DType, Error, Kind, Result, Scalar};
use crate::device::Kernel;
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Args, DefaultValue, Domain, Draw, FUNCTIONAL, Family, Gradient, OpDef, Sample};
use crate::op::core::operand::Operand;
use crate::op::core::params::{Maybe, by_name, kind, kinds, params};
use crate::op::core::record::{check_deterministic, no_grad, one, recorded, two, wanted};
use crate::op::core::value::Value;
use crate::op::create::filled::Make;
use crate::op::create::ranges::arange;
use crate::op::elementwise::arithmetic::{div, mul, sub};
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::clamp::clamp_min;
use crate::op::elementwise::comparison::{lt, ne};
use crate::op::gather::along_dim::{extent, out_of_range, same_place, scatter_add};
use crate::op::gather::select::{index_add, index_select};
use crate::op::reduce::scan::cumsum;
use crate::op::reduce::sums::sum;
use crate::op::shape::join::cat;
use crate::op::shape::part::narrow;
use crate::op::shape::view::{reshape_to, unsqueeze};
use crate::tensor::autograd::{Grads, Saved, Vjp};
use crate::tensor::{In, Tensor, launch};

use super::table::{RowOptions, TableOptions, padding_row, shorten, table_grad};

pub use crate::device::kernel::Bag;

impl Bag {
    pub(crate) fn parse(name: &str) -> Result<Bag> {
        match name {
            "sum" => Ok(Bag::Sum),
            "mean" => Ok(Bag::Mean),
            "max" => Ok(Bag::Max),
            other => Err(Error::value("mode has to be one of sum, mean or max")
                .with_near(other, ["sum", "mean", "max"])),
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
    let run = || {
        check(input, weight, bags)?;
        combined(input, weight, bags)
    };
    run().map_err(|e| e.in_op("embedding_bag", || vec![input.operand(), weight.operand()]))
}

fn combined(input: &Tensor, weight: &Tensor, bags: &Bags) -> Result<Tensor> {
    let flat = reshape_to(input, &[input.numel()])?;
    if let Some(most) = bags.table.max_norm {
        shorten(weight, &flat, most, bags.table.norm_type)?;
    }
    let (starts, kept) = starts(input, bags)?;
    let shares = bags.weights.map(|w| reshape_to(w, &[input.numel()])).transpose()?;
    let shape = [kept, weight.shape().get(1).copied().unwrap_or(0)];
    let out = Tensor::empty(&shape, weight.dtype(), &weight.context(), NAME)?;
    let places = match bags.mode {
        Bag::Max => Some(Tensor::empty(&shape, DType::Int64, &weight.context(), NAME)?),
        _ => None,
    };
    let padding = padding_row(weight, bags.table.padding_idx)?;
    let kernel = Kernel::EmbeddingBag { mode: bags.mode, padding: padding.map_or(-1, |row| row as i64) };
    let inputs: Vec<In> = [weight, &flat, &starts].into_iter().chain(&shares).map(In::Tensor).collect();
    let outputs: Vec<&Tensor> = std::iter::once(&out).chain(&places).collect();
    launch(NAME, &kernel, &inputs, &outputs).map_err(|e| {
        out_of_range(e, |bad, _, rows| {
            let text =
                format!("embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {bad}");
            Error::runtime(text).with_hint(format!("the table has {rows} rows"))
        })
    })?;
    if let Some(places) = places {
        return Ok(recorded(out, &LARGEST, &[weight], |s, _| s.constant(Some(&places))));
    }
    let read = BagsRead {
        mode: bags.mode,
        kept,
        padding,
        by_frequency: bags.table.scale_grad_by_freq,
        is_weighted: shares.is_some(),
    };
    let inputs: Vec<&Tensor> = std::iter::once(weight).chain(&shares).collect();
    Ok(recorded(out, &SUMMED, &inputs, |s, _| {
        s.constant(Some(&flat));
        s.constant(Some(&starts));
        shares.iter().for_each(|w| s.input(w));
        shares.iter().for_each(|_| s.input(weight));
        s.attribute(read);
    }))
}

const NAME: &str = "embedding_bag";

static LARGEST: Vjp = Vjp { name: "EmbeddingBagBackward0", run: largest_grad };
static SUMMED: Vjp = Vjp { name: "EmbeddingBagBackward0", run: summed_grad };

/// How bags were read.
#[derive(Clone, Copy)]
struct BagsRead {
    mode: Bag,
    kept: usize,
    padding: Option<usize>,
    by_frequency: bool,
    is_weighted: bool,
}

/// Where each bag begins, and how many bags there are: the last offset may begin none.
fn starts(input: &Tensor, bags: &Bags) -> Result<(Tensor, usize)> {
    if let Some(offsets) = bags.offsets {
        let slots = offsets.numel();
        return Ok((to_dtype(offsets, DType::Int64)?, slots - usize::from(bags.include_last && slots > 0)));
    }
    let make = Make { device: Some(input.device().into()), ..Make::default() };
    let (n, length) =
        (input.shape().first().copied().unwrap_or(0), input.shape().get(1).copied().unwrap_or(0));
    let steps = arange(0i64.into(), (n as i64).into(), 1i64.into(), &make)?;
    Ok((mul(&steps, length as i64)?, n))
}

/// What each element of the result was read of gets its gradient.
fn largest_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    check_deterministic(g, "embedding_bag_backward_cuda_max")?;
    let places = s.tensor(0)?;
    let table = Tensor::full(s.shape(0), 0i64.into(), g.dtype(), &g.context(), NAME)?;
    if table.numel() == 0 {
        return one(table);
    }
    let sent = where_(&lt(&places, 0i64)?, Operand::Scalar(0.0.into()), g.into())?;
    one(scatter_add(&table, 0, &clamp_min(&places, 0i64.into())?, &sent)?)
}

/// Each row that was read gets the gradient of its bag, by its share.
fn summed_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (flat, starts, read) = (s.tensor(0)?, s.tensor(1)?, *s.attribute::<BagsRead>()?);
    let is_weighted = read.is_weighted;
    let slots = starts.numel();
    if slots == 0 {
        let zeros =
            |i: usize| wanted(s, i, || Tensor::full(s.shape(i), 0i64.into(), g.dtype(), &g.context(), NAME));
        let own = zeros(0)?;
        return if is_weighted { two(own, zeros(1)?) } else { Ok([own].into_iter().collect()) };
    }
    let (ids, share) = {
        let _off = no_grad();
        let ids = bag_of_each(&flat, &starts)?;
        (ids.clone(), share_of_each(&flat, &ids, &starts, read, g)?)
    };
    let g = if slots > read.kept {
        let rest = [slots - read.kept, g.shape().get(1).copied().unwrap_or(0)];
        &cat(&[g, &Tensor::full(&rest, 0i64.into(), g.dtype(), &g.context(), NAME)?], 0)?
    } else {
        g
    };
    let mut rows = index_select(g, 0, &ids)?;
    if let Some(share) = &share {
        rows = mul(&rows, &unsqueeze(share, 1)?)?;
    }
    let own = wanted(s, 0, || {
        let sent = if is_weighted { mul(&rows, &unsqueeze(&s.tensor(2)?, 1)?)? } else { rows.clone() };
        table_grad(&flat, s.shape(0), &sent, (read.padding, read.by_frequency))
    })?;
    if !is_weighted {
        return Ok([own].into_iter().collect());
    }
    let of_weights = wanted(s, 1, || {
        let all = sum(&mul(&rows, &index_select(&s.tensor(3)?, 0, &flat)?)?, Some(&[1]), false)?;
        // A row that does not count leaves no NaN either.
        match read.padding {
            Some(row) => where_(&ne(&flat, row as i64)?, Operand::Tensor(&all), Operand::Scalar(0.0.into())),
            None => Ok(all),
        }
    })?;
    two(own, of_weights)
}

/// The bag of each index: how many have begun by then.
fn bag_of_each(flat: &Tensor, starts: &Tensor) -> Result<Tensor> {
    let full = |size: usize, n: i64| Tensor::full(&[size], n.into(), DType::Int64, &flat.context(), NAME);
    let begun = index_add(&full(flat.numel() + 1, 0)?, 0, starts, &full(starts.numel(), 1)?, 1.0)?;
    // Whatever the first offset is, the first bag begins with the first index.
    let bags = sub(&narrow(&cumsum(&begun, 0, None)?, 0, 0, flat.numel() as i64)?, 1i64)?;
    clamp_min(&bags, 0i64.into())
}

/// The factor that each row has by how many are in its bag, 0 for padding; nothing where all are 1.
fn share_of_each(
    flat: &Tensor,
    ids: &Tensor,
    starts: &Tensor,
    read: BagsRead,
    g: &Tensor,
) -> Result<Option<Tensor>> {
    let real = match read.padding {
        Some(row) => Some(to_dtype(&ne(flat, row as i64)?, DType::Int64)?),
        None => None,
    };
    if read.mode != Bag::Mean {
        return real.map(|real| to_dtype(&real, g.dtype())).transpose();
    }
    let full = |size: usize, n: i64| Tensor::full(&[size], n.into(), DType::Int64, &g.context(), NAME);
    let ones = match &real {
        Some(real) => real.clone(),
        None => full(flat.numel(), 1)?,
    };
    let count = clamp_min(&index_add(&full(starts.numel(), 0)?, 0, ids, &ones, 1.0)?, 1i64.into())?;
    // Halves are divided as float32, once.
    let wide = if g.dtype() == DType::Float64 { DType::Float64 } else { DType::Float32 };
    let share = div(&to_dtype(&ones, wide)?, &to_dtype(&index_select(&count, 0, ids)?, wide)?)?;
    to_dtype(&share, g.dtype()).map(Some)
}

fn check(input: &Tensor, weight: &Tensor, bags: &Bags) -> Result<()> {
    check_table(weight, bags)?;
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
        (1, None) => {
            return Err(Error::value("offsets has to be a 1D Tensor but got None").with_hint(
                "offsets are the places at which bags begin, such as `tensor([0, 4])`; or give the indices as `[bags, length]`",
            ));
        }
        (1, Some(offsets)) if bags.include_last && offsets.numel() == 0 => {
            return Err(Error::runtime("include_last_offset: number of offset should be at least 1"));
        }
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
    same_place(weight, "indices", input, "wrapper_CUDA___embedding_bag")?;
    bags.offsets.map_or(Ok(()), |o| same_place(weight, "offsets", o, "wrapper_CUDA___embedding_bag"))?;
    bags.weights
        .map_or(Ok(()), |w| same_place(weight, "per_sample_weights", w, "wrapper_CUDA___embedding_bag"))?;
    check_range(input, rows)
}

fn check_table(weight: &Tensor, bags: &Bags) -> Result<()> {
    if weight.rank() != 2 {
        let text = format!("weight has to be a 2D Tensor, but got Tensor of dimension {}", weight.rank());
        return Err(Error::value(text));
    }
    if bags.mode == Bag::Max && bags.table.scale_grad_by_freq {
        return Err(Error::value("max mode does not support scaling the gradient by the frequency"));
    }
    let name = |t: &Tensor| t.dtype().type_name();
    if !weight.dtype().is_float() {
        return Err(Error::runtime(format!(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, \
             Double; but got torch.{}Tensor instead (while checking arguments for embedding_bag)",
            name(weight)
        ))
        .with_hint("a table holds floats: `weight.float()`"));
    }
    match bags.weights {
        Some(w) if w.dtype() != weight.dtype() => Err(Error::runtime(format!(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 \
             'per_sample_weights'; but type torch.{}Tensor does not equal torch.{}Tensor (while checking arguments for \
             embedding_bag)",
            name(weight),
            name(w)
        ))
        .with_hint(format!("convert them: `per_sample_weights.to({})`", weight.dtype()))),
        _ => Ok(()),
    }
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
    let at = |place: usize| narrow(offsets, 0, place as i64, 1)?.detach().to_scalars(NAME);
    let whole = |found: Vec<Scalar>| found.first().map_or(0, |n| n.as_i64());
    let first = whole(at(0)?);
    if first != 0 {
        return Err(Error::runtime(format!(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, \
             got {first}"
        )));
    }
    let last = whole(at(offsets.numel() - 1)?);
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
.gradient(Gradient::Vjp("EmbeddingBagBackward0"))
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

//! Sequences of different lengths: padded to one size, or packed so that a recurrent layer takes each step for as many
//! of them as are left.

use crate::base::{Error, Result, Scalar, memory, sorted};
use crate::device::poll;
use crate::op::arrange::pad::constant;
use crate::op::gather::select::index_select;
use crate::op::params::{Maybe, by_name, kind, kinds, params};
use crate::op::shape::join::cat;
use crate::op::shape::part::narrow;
use crate::op::shape::permute::transpose;
use crate::op::shape::split::split_sizes;
use crate::op::shape::view::reshape_to;
use crate::op::{Args, Family, Form, Object, OpDef, Param, Value};
use crate::tensor::Tensor;
use crate::tensor::display::display;

/// Sequences step by step: first the first elements of all, the longest sequence first, then the second elements of
/// those that have one, and so on. As `torch.nn.utils.rnn.PackedSequence`.
#[derive(Clone)]
pub struct Packed {
    /// `[elements, ...]`
    pub data: Tensor,
    /// How many sequences reach each step.
    pub sizes: Vec<usize>,
    /// Where each place's sequence stood before they were ordered by length; absent where they came in order.
    pub sorted: Option<Vec<i64>>,
}

impl Packed {
    pub(crate) fn into_value(self) -> Value {
        Value::Object(Object::new("PackedSequence", self))
    }

    /// The number of sequences.
    pub fn batch(&self) -> usize {
        self.sizes.first().copied().unwrap_or(0)
    }

    /// The place of each sequence among those ordered by length.
    pub(crate) fn unsorted(&self) -> Option<Vec<i64>> {
        let sorted = self.sorted.as_ref()?;
        let mut places: Vec<(i64, i64)> =
            sorted.iter().zip(0..).map(|(&from, place)| (from, place)).collect();
        places.sort_unstable();
        Some(places.into_iter().map(|(_, place)| place).collect())
    }

    /// The same with other elements in the same places.
    pub fn with(&self, data: Tensor) -> Packed {
        Packed { data, sizes: self.sizes.clone(), sorted: self.sorted.clone() }
    }

    /// How many sequences reach each step, int64 on the CPU.
    pub fn batch_sizes(&self) -> Result<Tensor> {
        let sizes: Vec<i64> = self.sizes.iter().map(|&n| n as i64).collect();
        Tensor::from_i64(&sizes, &[sizes.len()])
    }

    /// Lengths in the order of [`Packed::sorted`], or as the sequences came.
    fn lengths(&self) -> Vec<i64> {
        let reach = |place: usize| self.sizes.iter().filter(|&&n| n > place).count() as i64;
        (0..self.batch()).map(reach).collect()
    }

    /// As PyTorch prints it.
    pub fn show(&self) -> Result<String> {
        let places = |all: Option<Vec<i64>>| -> Result<String> {
            all.map_or_else(|| Ok("None".to_string()), |all| display(&Tensor::from_i64(&all, &[all.len()])?))
        };
        Ok(format!(
            "PackedSequence(data={}, batch_sizes={}, sorted_indices={}, unsorted_indices={})",
            display(&self.data)?,
            display(&self.batch_sizes()?)?,
            places(self.sorted.clone())?,
            places(self.unsorted())?
        ))
    }
}

/// Rows of `x` along `dim` in an order.
pub(crate) fn reordered(x: &Tensor, dim: i64, order: Option<&[i64]>) -> Result<Tensor> {
    let Some(order) = order else { return Ok(x.clone()) };
    let places = Tensor::from_i64(order, &[order.len()])?;
    let context = x.context();
    let places = if x.device().is_cuda() { places.moved(&context, false, "packed")? } else { places };
    index_select(x, dim, &places)
}

/// Sequences `[length, ...]` in one tensor `[longest, n, ...]`, or `[n, longest, ...]`, filled up with `value` behind
/// them, or before.
pub fn pad_sequence(all: &[&Tensor], batch_first: bool, value: f64, left: bool) -> Result<Tensor> {
    let Some(first) = all.first() else { return Err(Error::runtime("received an empty list of sequences")) };
    let longest = all.iter().map(|t| t.shape().first().copied().unwrap_or(1)).max().unwrap_or(0);
    let rest = first.shape().get(1..).unwrap_or(&[]);
    let mut padded = memory::with_capacity(all.len())?;
    for t in all {
        if t.rank() == 0 || t.shape().get(1..) != Some(rest) {
            let text = "pad_sequence(): all sequences must have the same sizes behind the first";
            let hint = format!("one is {:?}, another {:?}", first.shape(), t.shape());
            return Err(Error::runtime(text).with_hint(hint));
        }
        let missing = (longest - t.size(0)?) as i64;
        let mut widths = vec![0i64; 2 * t.rank()];
        let at = if left { widths.len() - 2 } else { widths.len() - 1 };
        if let Some(width) = widths.get_mut(at) {
            *width = missing;
        }
        padded.push(if missing == 0 { (*t).clone() } else { constant(t, &widths, value.into())? });
    }
    let dim = if batch_first { 0 } else { 1 };
    crate::op::shape::join::stack(&padded.iter().collect::<Vec<_>>(), dim)
}

/// Packs `[longest, n, ...]`, or `[n, longest, ...]`, of which the first `lengths` count.
pub(crate) fn pack_padded(
    x: &Tensor,
    lengths: &[i64],
    batch_first: bool,
    enforce_sorted: bool,
) -> Result<Packed> {
    let x = if batch_first { transpose(x, 0, 1)? } else { x.clone() };
    if x.rank() < 2 || x.numel() == 0 {
        return Err(Error::runtime("Cannot pack empty tensors."));
    }
    let (longest, n) = (x.size(0)?, x.size(1)?);
    if lengths.len() != n {
        return Err(Error::runtime(format!(
            "Expected `len(lengths)` to be equal to batch_size, but got {} (batch_size={n})",
            lengths.len()
        )));
    }
    let mut order = poll::listed(0..n as i64)?;
    let length = |i: i64| usize::try_from(i).ok().and_then(|i| lengths.get(i)).copied().unwrap_or(0);
    if enforce_sorted {
        if !lengths.is_sorted_by(|a, b| a >= b) {
            return Err(Error::runtime(
                "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass \
                 `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if \
                 you do not need ONNX exportability.",
            ));
        }
    } else {
        sorted::sort_by_key(&mut order, |&i| std::cmp::Reverse(length(i)));
    }
    if lengths.iter().any(|&l| l <= 0) {
        return Err(Error::runtime(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0",
        ));
    }
    let most = lengths.iter().copied().max().unwrap_or(0);
    if most > longest as i64 {
        return Err(Error::runtime(format!(
            "pack_padded_sequence(): a length is {most}, and the sequences are {longest} long"
        )));
    }
    let x = if enforce_sorted { x } else { reordered(&x, 1, Some(&order))? };
    let reaching = |step: i64| {
        poll::check()?;
        Ok(lengths.iter().filter(|&&l| l > step).count())
    };
    let sizes: Vec<usize> = memory::try_collected((0..most).map(reaching))?;
    let mut parts = Vec::new();
    let mut step = 0;
    // Steps of as many sequences are one block.
    for block in sizes.chunk_by(|a, b| a == b) {
        let (steps, wide) = (block.len(), block.first().copied().unwrap_or(0));
        let part = narrow(&narrow(&x, 0, step, steps as i64)?, 1, 0, wide as i64)?;
        let mut shape = vec![steps * wide];
        shape.extend(x.shape().iter().skip(2));
        parts.push(reshape_to(&part, &shape)?);
        step += steps as i64;
    }
    let data = cat(&parts.iter().collect::<Vec<_>>(), 0)?;
    Ok(Packed { data, sizes, sorted: (!enforce_sorted).then_some(order) })
}

/// The sequences in one padded tensor as they came, and their lengths.
pub(crate) fn pad_packed(
    packed: &Packed,
    batch_first: bool,
    value: f64,
    total: Option<i64>,
) -> Result<(Tensor, Vec<i64>)> {
    let (n, longest) = (packed.batch(), packed.sizes.len());
    let total = total.unwrap_or(longest as i64);
    if total < longest as i64 {
        return Err(Error::value(format!(
            "Expected total_length to be at least the length of the longest sequence in input, but got \
             total_length={total} and max sequence length being {longest}"
        )));
    }
    let mut parts = Vec::new();
    let mut at = 0;
    for block in packed.sizes.chunk_by(|a, b| a == b) {
        let (steps, wide) = (block.len(), block.first().copied().unwrap_or(0));
        let mut shape = vec![steps, wide];
        shape.extend(packed.data.shape().iter().skip(1));
        let part = reshape_to(&narrow(&packed.data, 0, at, (steps * wide) as i64)?, &shape)?;
        parts.push(if wide == n { part } else { filled(&part, 1, (n - wide) as i64, value)? });
        at += (steps * wide) as i64;
    }
    let joined = cat(&parts.iter().collect::<Vec<_>>(), 0)?;
    let whole = filled(&joined, 0, total - longest as i64, value)?;
    let places = packed.unsorted();
    let whole = reordered(&whole, 1, places.as_deref())?;
    let lengths = packed.lengths();
    let lengths = match &places {
        None => lengths,
        Some(places) => {
            let of = |&p: &i64| usize::try_from(p).ok().and_then(|p| lengths.get(p)).copied().unwrap_or(0);
            places.iter().map(of).collect()
        }
    };
    Ok((if batch_first { transpose(&whole, 0, 1)? } else { whole }, lengths))
}

/// `count` more places with `value` at the end of a dimension.
fn filled(x: &Tensor, dim: usize, count: i64, value: f64) -> Result<Tensor> {
    if count == 0 {
        return Ok(x.clone());
    }
    let mut widths = vec![0i64; 2 * x.rank()];
    let at = 2 * (x.rank() - 1 - dim) + 1;
    if let Some(width) = widths.get_mut(at) {
        *width = count;
    }
    constant(x, &widths, value.into())
}

/// The sequences of a padded tensor, each of its own length.
pub(crate) fn unpad(padded: &Tensor, lengths: &[i64], batch_first: bool) -> Result<Vec<Tensor>> {
    let x = if batch_first { padded.clone() } else { transpose(padded, 0, 1)? };
    if x.size(0)? != lengths.len() {
        return Err(Error::runtime(format!(
            "unpad_sequence(): there are {} lengths for {} sequences",
            lengths.len(),
            x.size(0)?
        )));
    }
    let sequence =
        |(i, &length): (usize, &i64)| narrow(&crate::op::shape::part::select(&x, 0, i as i64)?, 0, 0, length);
    lengths.iter().enumerate().map(sequence).collect()
}

/// Elements step by step.
pub(crate) fn by_step(x: &Tensor, sizes: &[usize]) -> Result<Vec<Tensor>> {
    split_sizes(x, &sizes.iter().map(|&n| n as i64).collect::<Vec<_>>(), 0)
}

/// The packed sequence that an argument is.
pub fn packed(value: &Value) -> Option<&Packed> {
    match value {
        Value::Object(object) => object.get::<Packed>(),
        _ => None,
    }
}

kinds! {
    PackedSequence(Any) => &'a Packed, |args: &'a Args, at| packed(args.get(at)).ok_or_else(|| {
        let (name, got) = (args.def.name, args.get(at).describe());
        let text = format!("{name}(): argument 'sequence' must be a PackedSequence, not {got}");
        Error::type_error(text).with_hint("`nn::utils::rnn::pack_padded_sequence(x, lengths)` makes one")
    });
    Lengths(Any) => Vec<i64>, lengths;
    SequenceOrder(Object) => Vec<i64>, lengths;
}

/// Lengths from a tensor or an array.
fn lengths(a: &Args, i: usize) -> Result<Vec<i64>> {
    match a.get(i) {
        Value::Tensor(t) if !t.dtype().is_float() && t.rank() == 1 => t.to_i64s("lengths"),
        Value::List(items) => {
            let length = |v: &Value| match v {
                Value::Scalar(Scalar::Int(n)) => Some(*n),
                _ => None,
            };
            items.iter().map(length).collect::<Option<_>>().ok_or_else(|| a.wrong(i, a.get(i)))
        }
        other => Err(a.wrong(i, other)),
    }
}

fn tensors(lengths: Vec<i64>) -> Result<Value> {
    Tensor::from_i64(&lengths, &[lengths.len()]).map(Value::Tensor)
}

fn listed(all: Vec<Tensor>) -> Value {
    Value::List(all.into_iter().map(Value::Tensor).collect())
}

params! {
    PadSequenceParams {
        sequences: kind::Tensors, "the sequences, each `[length, …]`";
        batch_first: kind::Bool = false, "whether the sequences are dimension 0 of the result, and not 1";
        padding_value: kind::Float = 0.0, "what fills up the shorter ones";
        padding_side: kind::Str = "right", "the side that is filled up";
    }
}

params! {
    PackPaddedParams {
        input: kind::Tensor, "the padded sequences";
        lengths: Lengths, "how long each sequence is without its padding";
        batch_first: kind::Bool = false, "whether the sequences are dimension 0 of the input, and not 1";
        enforce_sorted: kind::Bool = true, "whether an order other than from long to short is an error";
    }
}

params! {
    PadPackedParams {
        sequence: PackedSequence, "what was packed";
        batch_first: kind::Bool = false, "whether the sequences are dimension 0 of the result, and not 1";
        padding_value: kind::Float = 0.0, "what fills up the shorter ones";
        total_length: Maybe<kind::Int>, "how long the result is, where that is more than the longest sequence";
    }
}

params! {
    PackedPartsParams {
        data: kind::Tensor, "the elements of all sequences, step by step";
        batch_sizes: Lengths, "how many sequences reach each step";
        sorted_indices: Maybe<SequenceOrder>, "which sequence stands at each place of the packed order";
        unsorted_indices: Maybe<SequenceOrder>, "at which place of the packed order each sequence stands";
    }
}

params! {
    PackSequenceParams {
        sequences: kind::Tensors, "the sequences, each `[length, …]`";
        enforce_sorted: kind::Bool = true, "whether an order other than from long to short is an error";
    }
}

params! {
    UnpadSequenceParams {
        padded_sequences: kind::Tensor, "the sequences with what fills them up";
        lengths: Lengths, "how long each sequence is without its padding";
        batch_first: kind::Bool = false, "whether the sequences are dimension 0 of the input, and not 1";
    }
}

params! {
    UnpackSequenceParams {
        packed_sequences: PackedSequence, "what was packed";
    }
}

fn pad_row(a: PadSequenceParams) -> Result<Value> {
    let left = match a.padding_side {
        "right" => false,
        "left" => true,
        _ => return Err(Error::runtime("Expected padding_side to be one of left or right")),
    };
    pad_sequence(&a.sequences, a.batch_first, a.padding_value, left).map(Value::Tensor)
}

fn pack_row(PackSequenceParams { sequences: all, enforce_sorted, .. }: PackSequenceParams) -> Result<Value> {
    let lengths: Vec<i64> = all.iter().map(|t| t.shape().first().copied().unwrap_or(0) as i64).collect();
    pack_padded(&pad_sequence(&all, false, 0.0, false)?, &lengths, false, enforce_sorted)
        .map(Packed::into_value)
}

fn of_parts(a: PackedPartsParams) -> Result<Value> {
    let (data, sizes) = (a.data.clone(), a.batch_sizes);
    let whole: Option<Vec<usize>> = sizes.iter().map(|&n| usize::try_from(n).ok()).collect();
    let falling = sizes.is_sorted_by(|a, b| a >= b) && sizes.last().is_none_or(|&n| n > 0);
    let sizes = whole.filter(|all| falling && data.shape().first() == Some(&all.iter().sum()));
    let Some(sizes) = sizes else {
        let text =
            "PackedSequence(): batch_sizes must not grow, and sum up to the number of elements of data";
        return Err(Error::value(text));
    };
    let mut packed = Packed { data, sizes, sorted: a.sorted_indices };
    if let (None, Some(places)) = (&packed.sorted, a.unsorted_indices) {
        packed.sorted = Some(places);
        packed.sorted = packed.unsorted();
    }
    let mut order = packed.sorted.clone().unwrap_or_default();
    order.sort_unstable();
    if packed.sorted.is_some() && !order.iter().copied().eq(0..packed.batch() as i64) {
        return Err(Error::value("PackedSequence(): sorted_indices must be an order of the sequences"));
    }
    Ok(packed.into_value())
}

const fn row(
    name: &'static str,
    summary: &'static str,
    params: &'static [Param],
    run: fn(&Args) -> Result<Value>,
) -> OpDef {
    OpDef::call(name, Family::Module, summary, params, run).forms(&[Form::Of("nn::utils::rnn")])
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    row(
        "pad_sequence",
        "Sequences of different lengths in one tensor, filled up with a value.",
        PadSequenceParams::LIST,
        by_name!(PadSequenceParams, pad_row),
    )
    .details("`[longest, n, …]`, or `[n, longest, …]` with `batch_first`; `padding_side` is \"right\" or \"left\".")
    .shapes("sequences (L_i, …) -> (L, n, …), or (n, L, …) with batch_first; L is the longest length")
    .errors(&["RuntimeError: the sequences differ in other sizes than the first"])
    .example(
        "nn::utils::rnn::pad_sequence([tensor([1, 2, 3]), tensor([4])], #{batch_first: true})",
        "tensor([[1, 2, 3],\n        [4, 0, 0]])",
    ),
    row(
        "pack_padded_sequence",
        "Packs padded sequences, so that a recurrent layer passes over the padding.",
        PackPaddedParams::LIST,
        by_name!(PackPaddedParams, |a| {
            pack_padded(a.input, &a.lengths, a.batch_first, a.enforce_sorted).map(Packed::into_value)
        }),
    )
    .details(
        "Longer sequences come before shorter ones, unless `enforce_sorted` is false: then they are ordered here, and come \
         back as they were. A PackedSequence has `data`, `batch_sizes`, `sorted_indices` and `unsorted_indices`; \
         `nn::RNN`, `nn::LSTM` and `nn::GRU` take it, and give one.",
    )
    .shapes(
        "(L, n, …), lengths (n) -> data (sum of lengths, …), batch_sizes (longest length); with batch_first of (n, \
         L, …)",
    )
    .errors(&[
        "RuntimeError: the lengths do not descend and `enforce_sorted` is true",
        "RuntimeError: a length is below 1 or above L",
    ])
    .example(
        "nn::utils::rnn::pack_padded_sequence(tensor([[1, 4], [2, 5], [3, 0]]), [3, 2]).data",
        "tensor([1, 4, 2, 5, 3])",
    ),
    row(
        "pad_packed_sequence",
        "The padded sequences of packed ones, and their lengths.",
        PadPackedParams::LIST,
        by_name!(PadPackedParams, |a| {
            let (padded, lengths) = pad_packed(a.sequence, a.batch_first, a.padding_value, a.total_length)?;
            Ok(Value::List(vec![padded.into(), tensors(lengths)?]))
        }),
    )
    .details("`total_length` fills up to more than the longest sequence.")
    .shapes(
        "packed sequences -> (L, n, …), or (n, L, …) with batch_first, and lengths (n); L is the longest length or \
         `total_length`",
    )
    .errors(&["ValueError: `total_length` is less than the longest sequence"])
    .example(
        "let p = nn::utils::rnn::pack_sequence([tensor([1, 2, 3]), tensor([4, 5])]); nn::utils::rnn::pad_packed_sequence(p)[0]",
        "tensor([[1, 4],\n        [2, 5],\n        [3, 0]])",
    ),
    row(
        "PackedSequence",
        "A packed sequence of its parts, such as another one's with new data.",
        PackedPartsParams::LIST,
        by_name!(PackedPartsParams, of_parts),
    )
    .details("One of the two orders is enough.")
    .shapes("data (sum of lengths, …), batch_sizes (longest length), orders (n)")
    .errors(&["ValueError: `batch_sizes` grow, or do not sum up to the elements of `data`"])
    .example(
        "let p = nn::utils::rnn::PackedSequence(tensor([1, 4, 2, 5, 3]), [2, 2, 1]); nn::utils::rnn::unpack_sequence(p)",
        "[tensor([1, 2, 3]), tensor([4, 5])]",
    ),
    row(
        "pack_sequence",
        "Packs sequences of different lengths.",
        PackSequenceParams::LIST,
        by_name!(PackSequenceParams, pack_row),
    )
    .shapes("sequences (L_i, …) -> data (sum of L_i, …), batch_sizes (longest length)")
    .errors(&["RuntimeError: the lengths do not descend and `enforce_sorted` is true"])
    .example(
        "nn::utils::rnn::pack_sequence([tensor([1]), tensor([2, 3])], #{enforce_sorted: false}).batch_sizes",
        "tensor([2, 1])",
    ),
    row(
        "unpad_sequence",
        "The sequences of a padded tensor, each of its own length.",
        UnpadSequenceParams::LIST,
        by_name!(UnpadSequenceParams, |a| unpad(a.padded_sequences, &a.lengths, a.batch_first).map(listed)),
    )
    .shapes("(L, n, …), or (n, L, …) with batch_first, lengths (n) -> n of (length, …)")
    .errors(&[
        "RuntimeError: there are not as many lengths as sequences, or one is negative or too large",
        "IndexError: the tensor has fewer than two dimensions",
    ])
    .example(
        "nn::utils::rnn::unpad_sequence(tensor([[1, 4], [2, 0]]), [2, 1])",
        "[tensor([1, 2]), tensor([4])]",
    ),
    row(
        "unpack_sequence",
        "The sequences that were packed.",
        UnpackSequenceParams::LIST,
        by_name!(UnpackSequenceParams, |a| {
            let (padded, lengths) = pad_packed(a.packed_sequences, true, 0.0, None)?;
            unpad(&padded, &lengths, true).map(listed)
        }),
    )
    .shapes("n packed sequences -> n of (length, …)")
    .example(
        "nn::utils::rnn::unpack_sequence(nn::utils::rnn::pack_sequence([tensor([1, 2]), tensor([3])]))",
        "[tensor([1, 2]), tensor([3])]",
    ),
];

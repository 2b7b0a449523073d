//! Recurrent layers over sequences: plain, LSTM and GRU.

use crate::base::{DType, Error, Result, memory, python};
use crate::device::{Machine, poll};
use crate::nn::made::{Made, constructor};
use crate::op::activation::dropout::dropout;
use crate::op::core::autocast::{self, Casts};
use crate::op::def::DefaultValue;
use crate::op::linalg::linear::linear;
use crate::op::linalg::lstm::lstm_sequence;
use crate::op::params::{OfWeights, by_name, kind, params};
use crate::op::shape::join::{cat, stack};
use crate::op::shape::part::{narrow, select};
use crate::op::shape::permute::transpose;
use crate::op::shape::view::{squeeze, unsqueeze};
use crate::op::{Args, OpDef, Value};
use crate::tensor::Tensor;

use super::cells::{Hidden, Mode, Weights, above_zero, drawn, wants_pair, zeros};
use super::module::{Call, Layer, Module, Parts, call_row};
use super::packed::{Packed, by_step, packed, reordered};

mod checks;

pub(super) struct Recurrent {
    pub(super) mode: Mode,
    inputs: usize,
    pub(super) hidden: usize,
    pub(super) layers: usize,
    bias: bool,
    batch_first: bool,
    pub(super) dropout: f64,
    bidirectional: bool,
    /// The size of an LSTM's output, where it is projected.
    projected: Option<usize>,
}

impl Recurrent {
    pub(super) fn directions(&self) -> usize {
        if self.bidirectional { 2 } else { 1 }
    }

    /// Features of one direction's output.
    pub(super) fn width(&self) -> usize {
        self.projected.unwrap_or(self.hidden)
    }

    /// The states that a call gives, if it gives any.
    pub(super) fn asked<'v>(&self, given: &'v Value) -> Result<Option<(&'v Tensor, Option<&'v Tensor>)>> {
        let lstm = self.mode == Mode::Lstm;
        Ok(match given {
            Value::None => None,
            Value::List(items) if lstm => match items.as_slice() {
                [Value::Tensor(h), Value::Tensor(c)] => Some((h, Some(c))),
                _ => return Err(wants_pair(self.name())),
            },
            Value::Tensor(h) if !lstm => Some((h, None)),
            _ if lstm => return Err(wants_pair(self.name())),
            other => {
                let text = format!("{}: hx must be a Tensor, not {}", self.name(), other.describe());
                return Err(Error::type_error(text));
            }
        })
    }

    /// States of zeros for `n` sequences.
    pub(super) fn nothing(&self, n: usize, x: &Tensor) -> Result<Hidden> {
        let count = self.layers * self.directions();
        let lstm = self.mode == Mode::Lstm;
        let c = if lstm { Some(zeros(&[count, n, self.hidden], x)?) } else { None };
        Ok(Hidden { h: zeros(&[count, n, self.width()], x)?, c })
    }

    /// The states that a call gives, `[layers * directions, n, size]`, or zeros.
    fn given(&self, x: &Tensor, n: usize, given: &Value, batched: bool) -> Result<Hidden> {
        let Some((h, c)) = self.asked(given)? else { return self.nothing(n, x) };
        let (rank, kind) = if batched { (3, "batched 3-D") } else { (2, "unbatched 2-D") };
        if h.rank() != rank || c.is_some_and(|c| c.rank() != rank) {
            let text = match c {
                Some(c) => format!(
                    "For {kind} input, hx and cx should also be {rank}-D but got ({}-D, {}-D) tensors",
                    h.rank(),
                    c.rank()
                ),
                None => format!("For {kind} input, hx should also be {rank}-D but got {}-D tensor", h.rank()),
            };
            return Err(Error::runtime(text));
        }
        let wide = |t: &Tensor| if batched { Ok(t.clone()) } else { unsqueeze(t, 1) };
        let state = Hidden { h: wide(h)?, c: c.map(wide).transpose()? };
        self.check_state(&state.h, state.c.as_ref(), n)?;
        Ok(state)
    }

    /// Outputs and last states of all layers. `over` goes through the steps of one layer in one direction, backwards
    /// where it is told so, from its projected inputs.
    pub(super) fn run(
        &self,
        module: &Module,
        x: Tensor,
        state: &Hidden,
        casts: Option<&Casts>,
        over: &dyn Fn(&Tensor, Hidden, bool, &Weights) -> Result<(Tensor, Hidden)>,
    ) -> Result<(Tensor, Hidden)> {
        let cast = |t: Tensor| casts.map_or_else(|| Ok(t.clone()), |c| c.cast(&t));
        let (mut x, mut last_h, mut last_c) = (x, Vec::new(), Vec::new());
        for layer in 0..self.layers {
            let mut outputs = Vec::new();
            for direction in 0..self.directions() {
                let at = (layer * self.directions() + direction) as i64;
                let c = state.c.as_ref().map(|c| select(c, 0, at)).transpose()?;
                let start = Hidden { h: select(&state.h, 0, at)?, c };
                let suffix = if direction == 1 { "_reverse" } else { "" };
                let name = |what: &str| format!("{what}_l{layer}{suffix}");
                let optional = |what: &str| module.tensor(&name(what)).map(cast).transpose();
                let needed = |what: &str| cast(module.needed(&name(what))?);
                let all = linear(&x, &needed("weight_ih")?, optional("bias_ih")?.as_ref())?;
                let weights = Weights {
                    hh: needed("weight_hh")?,
                    bias: optional("bias_hh")?,
                    hr: optional("weight_hr")?,
                };
                let (out, last) = over(&all, start, direction == 1, &weights)?;
                outputs.push(out);
                last_h.push(last.h);
                last_c.extend(last.c);
            }
            x = match outputs.as_slice() {
                [one] => one.clone(),
                all => cat(&all.iter().collect::<Vec<_>>(), -1)?,
            };
            if self.dropout > 0.0 && layer + 1 < self.layers {
                x = dropout(&x, self.dropout, module.training())?;
            }
        }
        let joined = |all: &[Tensor]| stack(&all.iter().collect::<Vec<_>>(), 0);
        let c = if last_c.is_empty() { None } else { Some(joined(&last_c)?) };
        Ok((x, Hidden { h: joined(&last_h)?, c }))
    }

    /// All steps of `all [t, n, size]`.
    fn sweep(
        &self,
        all: &Tensor,
        start: Hidden,
        reverse: bool,
        weights: &Weights,
    ) -> Result<(Tensor, Hidden)> {
        if self.mode == Mode::Lstm
            && let (Some(c), None) = (&start.c, &weights.hr)
            && let Some((out, c)) =
                lstm_sequence(all, [&start.h, c], &weights.hh, weights.bias.as_ref(), reverse)?
        {
            let h = select(&out, 0, if reverse { 0 } else { -1 })?;
            return Ok((out, Hidden { h, c: Some(c) }));
        }
        let mut inputs = Vec::new();
        steps(all, &mut inputs)?;
        if reverse {
            inputs.reverse();
        }
        let (mut now, mut outputs) = (start, memory::with_capacity(inputs.len())?);
        for input in &inputs {
            now = self.mode.step(input, &now, weights)?;
            outputs.push(now.h.clone());
        }
        if reverse {
            outputs.reverse();
        }
        Ok((stack(&outputs.iter().collect::<Vec<_>>(), 0)?, now))
    }
}

/// The sub-tensors along dimension 0, by halves: each gradient then fills a part of twice its size, and not the whole.
fn steps(x: &Tensor, found: &mut Vec<Tensor>) -> Result<()> {
    match x.size(0)? as i64 {
        0 => Ok(()),
        1 => {
            found.push(select(x, 0, 0)?);
            Ok(())
        }
        count => {
            steps(&narrow(x, 0, 0, count / 2)?, found)?;
            steps(&narrow(x, 0, count / 2, count - count / 2)?, found)
        }
    }
}

impl Layer for Recurrent {
    fn name(&self) -> &str {
        self.kind()
    }

    fn options(&self, _: &Module) -> String {
        let mut text = format!("{}, {}", self.inputs, self.hidden);
        if let Some(size) = self.projected {
            text += &format!(", proj_size={size}");
        }
        if self.layers != 1 {
            text += &format!(", num_layers={}", self.layers);
        }
        if !self.bias {
            text += ", bias=False";
        }
        if self.batch_first {
            text += ", batch_first=True";
        }
        if self.dropout != 0.0 {
            text += &format!(", dropout={}", python::float(self.dropout));
        }
        if self.bidirectional {
            text += ", bidirectional=True";
        }
        text
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        call.responded()
    }

    fn call_row(&self) -> Option<&'static OpDef> {
        static ROW: OpDef = call_row("forward", RecurrentCall::LIST);
        Some(&ROW)
    }

    fn respond(&self, call: &Call, a: &Args) -> Result<Value> {
        let RecurrentCall { input, hx, .. } = RecurrentCall::of(a)?;
        if let Some(packed) = packed(input) {
            return respond_packed(self, call.module, packed, hx);
        }
        let Value::Tensor(x) = input else {
            let got = input.describe();
            let text =
                format!("{}.forward(): input must be a Tensor or a PackedSequence, not {got}", self.name());
            return Err(Error::type_error(text));
        };
        self.check_input(call.module, x, false)?;
        let batched = x.rank() == 3;
        let x = match (batched, self.batch_first) {
            (false, _) => unsqueeze(x, 1)?,
            (true, true) => transpose(x, 0, 1)?,
            (true, false) => x.clone(),
        };
        let (length, n) = (x.size(0)?, x.size(1)?);
        if length == 0 {
            return Err(Error::runtime("Expected sequence length to be larger than 0 in RNN"));
        }
        let state = self.given(&x, n, hx, batched)?;
        self.check_places(call.module, &x, &state)?;
        // On the CPU only PyTorch's LSTM computes in lower precision as a whole.
        let lower = x.device().is_cuda() || self.mode == Mode::Lstm;
        let casts = if lower { autocast::enter("linear", &[&x])? } else { None };
        let cast = |t: Tensor| casts.as_ref().map_or_else(|| Ok(t.clone()), |c| c.cast(&t));
        let state = Hidden { h: cast(state.h)?, c: state.c.map(&cast).transpose()? };
        let (out, last) =
            self.run(call.module, cast(x)?, &state, casts.as_ref(), &|all, start, reverse, weights| {
                self.sweep(all, start, reverse, weights)
            })?;
        let out = match (batched, self.batch_first) {
            (false, _) => squeeze(&out, Some(&[1]))?,
            (true, true) => transpose(&out, 0, 1)?,
            (true, false) => out,
        };
        let last_of = |t: &Tensor| if batched { Ok(t.clone()) } else { squeeze(t, Some(&[1])) };
        let h = Value::from(last_of(&last.h)?);
        let hidden = match &last.c {
            Some(c) => Value::List(vec![h, last_of(c)?.into()]),
            None => h,
        };
        Ok(Value::List(vec![out.into(), hidden]))
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        let int = |n: usize| Value::Scalar((n as i64).into());
        Some(match name {
            "input_size" => int(self.inputs),
            "hidden_size" => int(self.hidden),
            "num_layers" => int(self.layers),
            "proj_size" => int(self.projected.unwrap_or(0)),
            "bias" => Value::Scalar(self.bias.into()),
            "batch_first" => Value::Scalar(self.batch_first.into()),
            "bidirectional" => Value::Scalar(self.bidirectional.into()),
            "dropout" => Value::Scalar(self.dropout.into()),
            _ => return None,
        })
    }
}

params! {
    RecurrentCall {
        input: kind::Any, "the sequences: a tensor, or packed ones";
        hx: kind::Any => DefaultValue::None, "the states before the first step; zeros where they are left out";
    }
}

params! {
    group RecurrentSizes {
        input_size: kind::Int, "how many features a step of a sequence has";
        hidden_size: kind::Int, "how many features the state has";
        num_layers: kind::Int = 1, "how many layers there are, each over the outputs of the one before";
    }
}

params! {
    group RecurrentOptions {
        bias: OfWeights<kind::Bool> = true, "whether trained vectors are added, one for the input and one for the state";
        batch_first: kind::Bool = false, "whether the batch is dimension 0 of inputs and outputs, and not 1";
        dropout: kind::Float = 0.0, "how probable it is that an element between two layers becomes zero";
        bidirectional: kind::Bool = false, "whether there are layers that go through the sequence backwards too";
    }
}

params! {
    RnnParams {
        ..sizes: RecurrentSizes;
        nonlinearity: kind::Str = "tanh", "what each step goes through: \"tanh\" or \"relu\"";
        ..options: RecurrentOptions;
        ..made: Made;
    }
}

params! {
    LstmParams {
        ..sizes: RecurrentSizes;
        ..options: RecurrentOptions;
        proj_size: kind::Int = 0, "how many features the outputs are projected to; 0 leaves them as they are";
        ..made: Made;
    }
}

params! {
    GruParams {
        ..sizes: RecurrentSizes;
        ..options: RecurrentOptions;
        ..made: Made;
    }
}

fn make(
    mode: Mode,
    sizes: RecurrentSizes,
    options: RecurrentOptions,
    projected: i64,
    place: Made,
) -> Result<Value> {
    let RecurrentOptions { bias, batch_first, dropout, bidirectional, .. } = options;
    if !(0.0..=1.0).contains(&dropout) {
        return Err(Error::value(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed",
        ));
    }
    let inputs = above_zero("input_size", sizes.input_size)?;
    let hidden = above_zero("hidden_size", sizes.hidden_size)?;
    let layers = above_zero("num_layers", sizes.num_layers)?;
    if dropout > 0.0 && layers == 1 {
        Machine::current().shared.warn_once(&format!(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers \
             greater than 1, but got dropout={} and num_layers=1",
            python::float(dropout)
        ));
    }
    let projected = projection(projected, hidden)?;
    let layer =
        Recurrent { mode, inputs, hidden, layers, bias, batch_first, dropout, bidirectional, projected };
    let parts = parameters(&layer, place.dtype())?;
    place.place(Module::new(layer, parts)?)
}

fn projection(size: i64, hidden: usize) -> Result<Option<usize>> {
    match usize::try_from(size) {
        Err(_) => Err(Error::value("proj_size should be a positive integer or zero to disable projections")),
        Ok(size) if size >= hidden => Err(Error::value("proj_size has to be smaller than hidden_size")),
        Ok(size) => Ok(Some(size).filter(|s| *s > 0)),
    }
}

/// More layers than anyone has by intent.
const MANY: usize = 1 << 12;

/// Every weight under PyTorch's name, drawn in its order.
fn parameters(layer: &Recurrent, dtype: DType) -> Result<Parts> {
    let hidden = layer.hidden;
    let rows = memory::count::<u8>(&[layer.mode.gates(), hidden])?;
    let mut parts = Parts::new();
    if layer.layers > MANY {
        // What no memory holds is refused before a part of it is made.
        let each = memory::count::<u8>(&[layer.directions(), rows, layer.width() + 1])?;
        let all = memory::count::<f32>(&[layer.layers, each])?;
        drop(Tensor::empty(&[all], dtype, Machine::current().cpu(), "parameter")?);
    }
    for number in 0..layer.layers {
        poll::at(number)?;
        let inputs = if number == 0 { layer.inputs } else { layer.width() * layer.directions() };
        for suffix in ["", "_reverse"].into_iter().take(layer.directions()) {
            let mut shapes =
                vec![("weight_ih", vec![rows, inputs]), ("weight_hh", vec![rows, layer.width()])];
            if layer.bias {
                shapes.extend([("bias_ih", vec![rows]), ("bias_hh", vec![rows])]);
            }
            shapes.extend(layer.projected.map(|size| ("weight_hr", vec![size, hidden])));
            for (name, shape) in shapes {
                parts =
                    parts.parameter(format!("{name}_l{number}{suffix}"), Some(drawn(&shape, hidden, dtype)?));
            }
        }
    }
    Ok(parts)
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "RNN",
        "A recurrent layer over sequences `[length, n, input_size]`.",
        RnnParams::LIST,
        by_name!(RnnParams, |a| make(Mode::of(a.nonlinearity)?, a.sizes, a.options, 0, a.made)),
    )
    .details(
        "`rnn.forward(x, h_0)` gives `[outputs, h_n]`: the outputs of all steps, `[length, n, hidden_size]`, and the last \
         state of each layer. With `batch_first` sequences are `[n, length, features]`; `bidirectional` layers go both \
         ways, and `dropout` stands between layers. `nonlinearity` is \"tanh\" or \"relu\".",
    )
    .shapes(
        "(L, N, input_size), h_0 (D layers, N, hidden_size) -> (L, N, D hidden_size), h_n as h_0; D is 2 where \
         bidirectional, else 1; with batch_first input and output are (N, L, …); N may be left out",
    )
    .errors(&[
        "RuntimeError: the input has not `input_size` features",
        "RuntimeError: the state is not (D layers, N, hidden_size)",
        "ValueError: a size is not above 0",
        "ValueError: the input has neither two nor three dimensions, or another dtype than the weights",
    ])
    .example("nn::RNN(3, 4).forward(ones([5, 2, 3])).map(|t| t.shape)", "[[5, 2, 4], [1, 2, 4]]"),
    constructor(
        "LSTM",
        "A recurrent layer with a memory over sequences `[length, n, input_size]`.",
        LstmParams::LIST,
        by_name!(LstmParams, |a| make(Mode::Lstm, a.sizes, a.options, a.proj_size, a.made)),
    )
    .details(
        "`lstm.forward(x, [h_0, c_0])` gives `[outputs, [h_n, c_n]]`. With `batch_first` sequences are `[n, length, \
         features]`; `bidirectional` layers go both ways, `dropout` stands between layers, and `proj_size` makes the \
         outputs smaller than the memory.",
    )
    .shapes(
        "(L, N, input_size), [h_0, c_0] of (D layers, N, hidden_size) -> (L, N, D hidden_size), [h_n, c_n] as \
         before; D is 2 where bidirectional, else 1; with proj_size h and output have that size for hidden_size; \
         with batch_first input and output are (N, L, …); N may be left out",
    )
    .errors(&[
        "RuntimeError: the input has not `input_size` features",
        "RuntimeError: the state is not (D layers, N, hidden_size)",
        "ValueError: a size is not above 0",
        "ValueError: the input has neither two nor three dimensions, or another dtype than the weights",
    ])
    .example("nn::LSTM(8, 16, 2, #{batch_first: true})", "LSTM(8, 16, num_layers=2, batch_first=True)"),
    constructor(
        "GRU",
        "A recurrent layer with gates over sequences `[length, n, input_size]`.",
        GruParams::LIST,
        by_name!(GruParams, |a| make(Mode::Gru, a.sizes, a.options, 0, a.made)),
    )
    .details(
        "`gru.forward(x, h_0)` gives `[outputs, h_n]`. With `batch_first` sequences are `[n, length, features]`; \
         `bidirectional` layers go both ways, and `dropout` stands between layers.",
    )
    .shapes(
        "(L, N, input_size), h_0 (D layers, N, hidden_size) -> (L, N, D hidden_size), h_n as h_0; D is 2 where \
         bidirectional, else 1; with batch_first input and output are (N, L, …); N may be left out",
    )
    .errors(&[
        "RuntimeError: the input has not `input_size` features",
        "RuntimeError: the state is not (D layers, N, hidden_size)",
        "ValueError: a size is not above 0",
        "ValueError: the input has neither two nor three dimensions, or another dtype than the weights",
    ])
    .example("nn::GRU(3, 4).forward(ones([5, 3]))[0].shape", "[5, 4]"),
];

/// `[outputs, last]`: packed outputs, and the last state of each layer as the sequences came.
fn respond_packed(layer: &Recurrent, module: &Module, input: &Packed, given: &Value) -> Result<Value> {
    layer.check_input(module, &input.data, true)?;
    let state = start(layer, input, given)?;
    layer.check_places(module, &input.data, &state)?;
    let lower = input.data.device().is_cuda() || layer.mode == Mode::Lstm;
    let casts = if lower { autocast::enter("linear", &[&input.data])? } else { None };
    let cast = |t: Tensor| casts.as_ref().map_or_else(|| Ok(t.clone()), |c| c.cast(&t));
    let state = Hidden { h: cast(state.h)?, c: state.c.map(&cast).transpose()? };
    let over = |all: &Tensor, first: Hidden, reverse: bool, weights: &Weights| {
        let inputs = by_step(all, &input.sizes)?;
        let sweep = if reverse { backwards } else { forwards };
        sweep(layer.mode, &inputs, first, weights)
    };
    let (out, last) = layer.run(module, cast(input.data.clone())?, &state, casts.as_ref(), &over)?;
    let places = input.unsorted();
    let h = Value::from(reordered(&last.h, 1, places.as_deref())?);
    let hidden = match &last.c {
        Some(c) => Value::List(vec![h, reordered(c, 1, places.as_deref())?.into()]),
        None => h,
    };
    Ok(Value::List(vec![input.with(out).into_value(), hidden]))
}

/// The states before the first step, in the order of the packed sequences.
fn start(layer: &Recurrent, input: &Packed, given: &Value) -> Result<Hidden> {
    let Some((h, c)) = layer.asked(given)? else { return layer.nothing(input.batch(), &input.data) };
    layer.check_state(h, c, input.batch())?;
    let order = input.sorted.as_deref();
    Ok(Hidden { h: reordered(h, 1, order)?, c: c.map(|c| reordered(c, 1, order)).transpose()? })
}

/// From the first step on: sequences that end leave their state behind.
fn forwards(mode: Mode, inputs: &[Tensor], first: Hidden, weights: &Weights) -> Result<(Tensor, Hidden)> {
    let (mut now, mut outputs, mut ended) = (first, memory::with_capacity(inputs.len())?, Vec::new());
    for input in inputs {
        let (left, before) = (input.size(0)? as i64, now.h.size(0)? as i64);
        if left < before {
            ended.push(rows(&now, left, before - left)?);
            now = rows(&now, 0, left)?;
        }
        now = mode.step(input, &now, weights)?;
        outputs.push(now.h.clone());
    }
    ended.push(now);
    ended.reverse();
    Ok((cat(&outputs.iter().collect::<Vec<_>>(), 0)?, below(&ended)?))
}

/// From the last step on: sequences join with their first state where they end.
fn backwards(mode: Mode, inputs: &[Tensor], first: Hidden, weights: &Weights) -> Result<(Tensor, Hidden)> {
    let mut now = rows(&first, 0, 0)?;
    let mut outputs = memory::with_capacity(inputs.len())?;
    for input in inputs.iter().rev() {
        let (count, before) = (input.size(0)? as i64, now.h.size(0)? as i64);
        if count > before {
            let fresh = rows(&first, before, count - before)?;
            now = if before == 0 { fresh } else { below(&[now, fresh])? };
        }
        now = mode.step(input, &now, weights)?;
        outputs.push(now.h.clone());
    }
    outputs.reverse();
    Ok((cat(&outputs.iter().collect::<Vec<_>>(), 0)?, now))
}

fn rows(state: &Hidden, from: i64, count: i64) -> Result<Hidden> {
    let c = state.c.as_ref().map(|c| narrow(c, 0, from, count)).transpose()?;
    Ok(Hidden { h: narrow(&state.h, 0, from, count)?, c })
}

/// States of sequences below one another.
fn below(all: &[Hidden]) -> Result<Hidden> {
    if let [one] = all {
        return Ok(one.clone());
    }
    let h = cat(&all.iter().map(|s| &s.h).collect::<Vec<_>>(), 0)?;
    let c: Vec<&Tensor> = all.iter().filter_map(|s| s.c.as_ref()).collect();
    Ok(Hidden { h, c: if c.is_empty() { None } else { Some(cat(&c, 0)?) } })
}

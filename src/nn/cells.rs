//! One step of recurrent layers, and the cells that take it.

use crate::base::{DType, Error, Result, memory};
use crate::nn::made::{Made, constructor};
use crate::op::core::autocast;
use crate::op::def::DefaultValue;
use crate::op::elementwise::arithmetic::{add, mul, sub};
use crate::op::elementwise::unary::{relu, sigmoid, tanh};
use crate::op::linalg::linear::linear;
use crate::op::params::{OfWeights, by_name, kind, params};
use crate::op::shape::split::chunk;
use crate::op::shape::view::{squeeze, unsqueeze};
use crate::op::{Args, OpDef, Value};
use crate::tensor::Tensor;

use super::init;
use super::module::{Call, Layer, Module, Parts, call_row};

/// What a recurrent layer computes in each step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    Tanh,
    Relu,
    Lstm,
    Gru,
}

/// Weights of the hidden state in one step.
pub struct Weights {
    /// `[gates * hidden, hidden]`
    pub hh: Tensor,
    pub bias: Option<Tensor>,
    /// `[projected, hidden]`, where an LSTM projects its output.
    pub hr: Option<Tensor>,
}

/// `[n, hidden]`; the second is an LSTM's memory.
#[derive(Clone)]
pub struct Hidden {
    pub h: Tensor,
    pub c: Option<Tensor>,
}

impl Mode {
    /// How many times the hidden size a step's gates are wide.
    pub(crate) fn gates(self) -> usize {
        match self {
            Mode::Tanh | Mode::Relu => 1,
            Mode::Gru => 3,
            Mode::Lstm => 4,
        }
    }

    /// A mode by the name of its nonlinearity.
    pub fn of(nonlinearity: &str) -> Result<Mode> {
        match nonlinearity {
            "tanh" => Ok(Mode::Tanh),
            "relu" => Ok(Mode::Relu),
            other => {
                Err(Error::value(format!("Unknown nonlinearity '{other}'. Select from 'tanh' or 'relu'.")))
            }
        }
    }

    /// The next state, from what a step's input gives all gates and the state before.
    pub fn step(self, input: &Tensor, before: &Hidden, weights: &Weights) -> Result<Hidden> {
        let from = linear(&before.h, &weights.hh, weights.bias.as_ref())?;
        match self {
            Mode::Tanh => Ok(Hidden { h: tanh(&add(input, &from)?)?, c: None }),
            Mode::Relu => Ok(Hidden { h: relu(&add(input, &from)?)?, c: None }),
            Mode::Gru => gru(input, &from, &before.h),
            Mode::Lstm => lstm(&add(input, &from)?, before, weights.hr.as_ref()),
        }
    }
}

fn three(x: &Tensor) -> Result<[Tensor; 3]> {
    let parts = chunk(x, 3, -1)?;
    <[Tensor; 3]>::try_from(parts).map_err(|_| Error::runtime("a GRU's gates are three"))
}

fn gru(input: &Tensor, from: &Tensor, before: &Tensor) -> Result<Hidden> {
    let ([xr, xz, xn], [hr, hz, hn]) = (three(input)?, three(from)?);
    let reset = sigmoid(&add(&xr, &hr)?)?;
    let keep = sigmoid(&add(&xz, &hz)?)?;
    let new = tanh(&add(&xn, &mul(&reset, &hn)?)?)?;
    Ok(Hidden { h: add(&new, &mul(&keep, &sub(before, &new)?)?)?, c: None })
}

fn lstm(gates: &Tensor, before: &Hidden, hr: Option<&Tensor>) -> Result<Hidden> {
    let parts = chunk(gates, 4, -1)?;
    let (Ok([input, forget, cell, output]), Some(c)) = (<[Tensor; 4]>::try_from(parts), &before.c) else {
        return Err(Error::runtime("an LSTM has four gates and a memory"));
    };
    let kept = mul(&sigmoid(&forget)?, c)?;
    let c = add(&kept, &mul(&sigmoid(&input)?, &tanh(&cell)?)?)?;
    let h = mul(&sigmoid(&output)?, &tanh(&c)?)?;
    let h = hr.map_or_else(|| Ok(h.clone()), |w| linear(&h, w, None))?;
    Ok(Hidden { h, c: Some(c) })
}

/// A tensor of uniform draws within `1 / sqrt(hidden)`, as recurrent layers draw all of theirs.
pub fn drawn(shape: &[usize], hidden: usize, dtype: DType) -> Result<Tensor> {
    let bound = 1.0 / (hidden as f64).sqrt();
    init::uniform(shape, -bound, bound, dtype)
}

/// Zeros beside `x`.
pub fn zeros(shape: &[usize], x: &Tensor) -> Result<Tensor> {
    Tensor::full(shape, 0.0.into(), x.dtype(), &x.context(), "zeros")
}

/// A size of a recurrent layer.
pub(crate) fn above_zero(name: &str, size: i64) -> Result<usize> {
    usize::try_from(size)
        .ok()
        .filter(|n| *n > 0)
        .ok_or_else(|| Error::value(format!("{name} must be greater than zero")))
}

struct RecurrentCell {
    mode: Mode,
    inputs: usize,
    hidden: usize,
}

impl RecurrentCell {
    fn rank(&self, what: &str, t: &Tensor) -> Result<()> {
        if matches!(t.rank(), 1 | 2) {
            return Ok(());
        }
        let text = format!("{}: Expected {what} to be 1D or 2D, got {}D instead", self.name(), t.rank());
        Err(Error::value(text))
    }

    /// The state that a call gives, `[n, hidden]`, or zeros.
    fn given(&self, x: &Tensor, given: &Value, batched: bool) -> Result<Hidden> {
        let wide = |t: &Tensor| if batched { Ok(t.clone()) } else { unsqueeze(t, 0) };
        let n = x.shape().first().copied().unwrap_or(1);
        let state = match (given, self.mode) {
            (Value::None, mode) => {
                let zeros = zeros(&[n, self.hidden], x)?;
                return Ok(Hidden { c: (mode == Mode::Lstm).then(|| zeros.clone()), h: zeros });
            }
            (Value::List(items), Mode::Lstm) => match items.as_slice() {
                [Value::Tensor(h), Value::Tensor(c)] => {
                    self.rank("hx[0]", h)?;
                    self.rank("hx[1]", c)?;
                    Hidden { h: wide(h)?, c: Some(wide(c)?) }
                }
                _ => return Err(wants_pair(self.name())),
            },
            (_, Mode::Lstm) => return Err(wants_pair(self.name())),
            (Value::Tensor(h), _) => {
                self.rank("hidden", h)?;
                Hidden { h: wide(h)?, c: None }
            }
            (other, _) => {
                let text = format!("{}: hx must be a Tensor, not {}", self.name(), other.describe());
                return Err(Error::type_error(text));
            }
        };
        for (i, t) in [Some(&state.h), state.c.as_ref()].into_iter().flatten().enumerate() {
            if t.shape() != [n, self.hidden] {
                let (got, want) = (t.shape().last().copied().unwrap_or(0), self.hidden);
                let text = if t.shape().first() != Some(&n) {
                    let rows = t.shape().first().copied().unwrap_or(0);
                    format!("Input batch size {n} doesn't match hidden{i} batch size {rows}")
                } else {
                    format!("hidden{i} has inconsistent hidden_size: got {got}, expected {want}")
                };
                return Err(Error::runtime(text));
            }
        }
        Ok(state)
    }
}

/// The error of an LSTM's state that is no pair.
pub(crate) fn wants_pair(name: &str) -> Error {
    Error::type_error(format!("{name}: hx must be an array of two tensors, [h_0, c_0]"))
        .with_hint("`out[1]` of the call before is such a pair")
}

impl Layer for RecurrentCell {
    fn name(&self) -> &str {
        match self.mode {
            Mode::Tanh | Mode::Relu => "RNNCell",
            Mode::Lstm => "LSTMCell",
            Mode::Gru => "GRUCell",
        }
    }

    fn options(&self, module: &Module) -> String {
        let mut text = format!("{}, {}", self.inputs, self.hidden);
        if module.tensor("bias_ih").is_none() {
            text += ", bias=False";
        }
        if self.mode == Mode::Relu {
            text += ", nonlinearity=relu";
        }
        text
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        call.responded()
    }

    fn call_row(&self) -> Option<&'static OpDef> {
        static ROW: OpDef = call_row("forward", CellCall::LIST);
        Some(&ROW)
    }

    fn respond(&self, call: &Call, a: &Args) -> Result<Value> {
        let CellCall { input: x, hx, .. } = CellCall::of(a)?;
        self.rank("input", x)?;
        let batched = x.rank() == 2;
        let x = if batched { x.clone() } else { unsqueeze(x, 0)? };
        let found = x.shape().last().copied().unwrap_or(0);
        if found != self.inputs {
            let text = format!("input has inconsistent input_size: got {found} expected {}", self.inputs);
            return Err(Error::runtime(text));
        }
        let state = self.given(&x, hx, batched)?;
        let module = call.module;
        // A cell computes in lower precision on accelerators alone.
        let casts = if x.device().is_cuda() { autocast::enter("linear", &[&x])? } else { None };
        let cast = |t: Tensor| casts.as_ref().map_or_else(|| Ok(t.clone()), |c| c.cast(&t));
        let optional = |name: &str| module.tensor(name).map(&cast).transpose();
        let input = linear(&cast(x)?, &cast(module.needed("weight_ih")?)?, optional("bias_ih")?.as_ref())?;
        let weights =
            Weights { hh: cast(module.needed("weight_hh")?)?, bias: optional("bias_hh")?, hr: None };
        let before = Hidden { h: cast(state.h)?, c: state.c.map(&cast).transpose()? };
        let next = self.mode.step(&input, &before, &weights)?;
        let out = |t: &Tensor| if batched { Ok(t.clone()) } else { squeeze(t, Some(&[0])) };
        Ok(match &next.c {
            Some(c) => Value::List(vec![out(&next.h)?.into(), out(c)?.into()]),
            None => out(&next.h)?.into(),
        })
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        let int = |n: usize| Value::Scalar((n as i64).into());
        match (name, self.mode) {
            ("input_size", _) => Some(int(self.inputs)),
            ("hidden_size", _) => Some(int(self.hidden)),
            ("nonlinearity", Mode::Tanh) => Some(Value::Str("tanh".into())),
            ("nonlinearity", Mode::Relu) => Some(Value::Str("relu".into())),
            _ => None,
        }
    }
}

params! {
    CellCall {
        input: kind::Tensor, "what comes in this step";
        hx: kind::Any => DefaultValue::None, "the state before; zeros where it is left out";
    }
}

params! {
    RnnCellParams {
        input_size: kind::Size, "how many features come in";
        hidden_size: kind::Size, "how many features the state has";
        bias: OfWeights<kind::Bool> = true, "whether trained vectors are added, one for the input and one for the state";
        nonlinearity: kind::Str = "tanh", "what the sum goes through: \"tanh\" or \"relu\"";
        ..made: Made;
    }
}

params! {
    GatedCellParams {
        input_size: kind::Size, "how many features come in";
        hidden_size: kind::Size, "how many features the state has";
        bias: OfWeights<kind::Bool> = true, "whether trained vectors are added, one for the input and one for the state";
        ..made: Made;
    }
}

fn make(mode: Mode, [inputs, hidden]: [usize; 2], bias: bool, place: &Made) -> Result<Value> {
    let dtype = place.dtype();
    let rows = memory::count::<u8>(&[mode.gates(), hidden])?;
    let vector = || if bias { drawn(&[rows], hidden, dtype).map(Some) } else { Ok(None) };
    let parts = Parts::new()
        .parameter("weight_ih", Some(drawn(&[rows, inputs], hidden, dtype)?))
        .parameter("weight_hh", Some(drawn(&[rows, hidden], hidden, dtype)?))
        .parameter("bias_ih", vector()?)
        .parameter("bias_hh", vector()?);
    place.place(Module::new(RecurrentCell { mode, inputs, hidden }, parts)?)
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "RNNCell",
        "One step of a recurrent layer: `tanh(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh)`.",
        RnnCellParams::LIST,
        by_name!(RnnCellParams, |a| {
            make(Mode::of(a.nonlinearity)?, [a.input_size, a.hidden_size], a.bias, &a.made)
        }),
    )
    .details("`cell.forward(x, h)` takes `[n, input_size]` and the state before, zeros where it is left out.")
    .shapes("(N, input_size), h (N, hidden_size) -> (N, hidden_size); N may be left out")
    .errors(&[
        "RuntimeError: the input has not `input_size` features",
        "RuntimeError: input and state have different batches",
        "NotImplementedError: the input holds bools",
        "ValueError: the input has neither one nor two dimensions",
    ])
    .example("nn::RNNCell(3, 4).forward(ones([2, 3])).shape", "[2, 4]"),
    constructor(
        "LSTMCell",
        "One step of an LSTM: its state is an output and a memory.",
        GatedCellParams::LIST,
        by_name!(GatedCellParams, |a| make(Mode::Lstm, [a.input_size, a.hidden_size], a.bias, &a.made)),
    )
    .details("`cell.forward(x, [h, c])` gives `[h, c]`; the state before is zeros where it is left out.")
    .shapes("(N, input_size), [h, c] of (N, hidden_size) -> [h, c] of (N, hidden_size); N may be left out")
    .errors(&[
        "RuntimeError: the input has not `input_size` features",
        "RuntimeError: input and state have different batches",
        "NotImplementedError: the input holds bools",
        "ValueError: the input has neither one nor two dimensions",
    ])
    .example("nn::LSTMCell(3, 4).forward(ones([2, 3])).map(|t| t.shape)", "[[2, 4], [2, 4]]"),
    constructor(
        "GRUCell",
        "One step of a GRU.",
        GatedCellParams::LIST,
        by_name!(GatedCellParams, |a| make(Mode::Gru, [a.input_size, a.hidden_size], a.bias, &a.made)),
    )
    .details("`cell.forward(x, h)` takes `[n, input_size]` and the state before, zeros where it is left out.")
    .shapes("(N, input_size), h (N, hidden_size) -> (N, hidden_size); N may be left out")
    .errors(&[
        "RuntimeError: the input has not `input_size` features",
        "RuntimeError: input and state have different batches",
        "NotImplementedError: the input holds bools",
        "ValueError: the input has neither one nor two dimensions",
    ])
    .example("nn::GRUCell(3, 4)", "GRUCell(3, 4)"),
];

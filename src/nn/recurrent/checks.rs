//! What recurrent layers refuse: inputs and states of another size, dtype or device.

use crate::base::{Error, Result, python};
use crate::nn::cells::{Hidden, Mode};
use crate::nn::module::Module;
use crate::tensor::Tensor;

use super::Recurrent;

impl Recurrent {
    pub(super) fn kind(&self) -> &'static str {
        match self.mode {
            Mode::Tanh | Mode::Relu => "RNN",
            Mode::Lstm => "LSTM",
            Mode::Gru => "GRU",
        }
    }

    pub(in crate::nn) fn check_input(&self, module: &Module, x: &Tensor, packed: bool) -> Result<()> {
        if packed && x.rank() != 2 {
            return Err(Error::runtime(format!("input must have 2 dimensions, got {}", x.rank())));
        }
        if !matches!(x.rank(), 2 | 3) {
            let which = if matches!(self.mode, Mode::Tanh | Mode::Relu) { " tensor" } else { "" };
            let text =
                format!("{}: Expected input to be 2D or 3D, got {}D{which} instead", self.kind(), x.rank());
            return Err(self
                .of(&[("input", x)], Error::value(text))
                .with_hint(format!("sequences are `{}`", self.sizes())));
        }
        let weight = module.needed("weight_ih_l0")?;
        if x.dtype() != weight.dtype() && !crate::tensor::autocast::active() {
            let (given, x, w) = (x, x.dtype(), weight.dtype());
            let text = format!(
                "RNN input dtype (torch.{x}) does not match weight dtype (torch.{w}). Convert input: \
                 input.to(torch.{w}), or convert model: model.to(torch.{x})"
            );
            return Err(self.of(&[("input", given)], Error::value(text)));
        }
        let found = x.shape().last().copied().unwrap_or(0);
        if found != self.inputs {
            let text =
                format!("input.size(-1) must be equal to input_size. Expected {}, got {found}", self.inputs);
            return Err(self.of(&[("input", x)], Error::runtime(text)).with_hint(format!(
                "this {} takes sequences `{}`; `nn::{}({found}, …)` would take these",
                self.kind(),
                self.sizes(),
                self.kind()
            )));
        }
        Ok(())
    }

    /// Fails unless states are `[layers * directions, n, size]`.
    pub(in crate::nn) fn check_state(&self, h: &Tensor, c: Option<&Tensor>, n: usize) -> Result<()> {
        let count = self.layers * self.directions();
        let all = [Some((h, self.width())), c.map(|c| (c, self.hidden))];
        for (i, (t, size)) in all.into_iter().flatten().enumerate() {
            if t.shape() != [count, n, size] {
                let which = if self.mode == Mode::Lstm { format!("hidden[{i}]") } else { "hidden".into() };
                let want = python::tuple(&[count, n, size]);
                let text = format!("Expected {which} size {want}, got {:?}", t.shape());
                return Err(self.of(&[(if i == 0 { "h" } else { "c" }, t)], Error::runtime(text)).with_hint(
                    "a state is `[layers * directions, batch, size]`, whether or not the input comes batch first",
                ));
            }
        }
        Ok(())
    }

    /// Fails unless the state and the weights lie where the input does, in the words of PyTorch's `RNN.cpp`.
    pub(super) fn check_places(&self, module: &Module, x: &Tensor, state: &Hidden) -> Result<()> {
        let weight = module.needed("weight_ih_l0")?;
        let states = [Some(&state.h), state.c.as_ref()].into_iter().flatten().map(|t| ("hidden", t));
        let apart = states.chain([("parameter", &weight)]).find(|(_, t)| t.device() != x.device());
        let Some((what, other)) = apart else { return Ok(()) };
        let (here, there) = (x.device(), other.device());
        let text = format!(
            "Input and {what} tensors are not at the same device, found input tensor at {here} and {what} tensor at {there}"
        );
        let hint = match what {
            "hidden" => {
                format!("move the state with `.to(\"{here}\")`: nothing is copied between devices silently")
            }
            _ => format!("move the input with `.to(\"{there}\")`, or the module with `.to(\"{here}\")`"),
        };
        Err(self.of(&[("input", x), (what, other)], Error::runtime(text)).with_hint(hint))
    }

    /// An error of this layer, with the tensors that it is about.
    fn of(&self, about: &[(&str, &Tensor)], error: Error) -> Error {
        error.in_op(self.kind(), || {
            let named = |(name, t): &(&str, &Tensor)| {
                let mut operand = t.operand();
                operand.name = Some((*name).into());
                operand
            };
            about.iter().map(named).collect()
        })
    }

    /// The sizes of an input.
    fn sizes(&self) -> String {
        let order = if self.batch_first { "batch, length" } else { "length, batch" };
        format!("[{order}, {}]", self.inputs)
    }
}

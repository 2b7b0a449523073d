//! Stochastic gradient descent.

use crate::base::{Error, Result};
use crate::device::Kernel;
use crate::op::def::DefaultValue;
use crate::op::{OpDef, Param, ParamKind};
use crate::tensor::{In, Tensor, launch};

use super::state::Moments;
use super::{MAXIMIZE, Optimizer, Options, PARAMS, Rule, constructor, number};

struct Sgd;

impl Rule for Sgd {
    fn name(&self) -> &'static str {
        "SGD"
    }

    fn check(&self, options: &Options) -> Result<()> {
        options.not_negative("lr", "learning rate")?;
        options.not_negative("momentum", "momentum value")?;
        options.not_negative("weight_decay", "weight_decay value")?;
        let (momentum, dampening) = (options.float("momentum"), options.float("dampening"));
        if options.bool("nesterov") && (momentum <= 0.0 || dampening != 0.0) {
            return Err(Error::value("Nesterov momentum requires a momentum and zero dampening"));
        }
        Ok(())
    }

    fn step(&self, options: &Options, parameter: &Tensor, grad: &Tensor, state: &mut Moments) -> Result<()> {
        let momentum = options.float("momentum");
        let kernel = |first| Kernel::Sgd {
            lr: options.float("lr"),
            momentum,
            dampening: options.float("dampening"),
            weight_decay: options.float("weight_decay"),
            nesterov: options.bool("nesterov"),
            maximize: options.bool("maximize"),
            first,
        };
        if momentum == 0.0 {
            return launch("sgd", &kernel(true), &[In::Tensor(grad)], &[parameter]);
        }
        let known = state.get("momentum_buffer");
        let first = known.is_none();
        let buffer = state.or_insert("momentum_buffer", || {
            Tensor::empty(parameter.shape(), parameter.dtype(), &parameter.context(), "optimizer_state")
        })?;
        launch("sgd", &kernel(first), &[In::Tensor(grad)], &[parameter, &buffer])?;
        state.step += 1;
        Ok(())
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[constructor(
    "SGD",
    "Stochastic gradient descent: each step goes `lr` times the gradient downhill.",
    &[
        PARAMS,
        number("lr", DefaultValue::Float(0.001)),
        number("momentum", DefaultValue::Int(0)),
        number("dampening", DefaultValue::Int(0)),
        number("weight_decay", DefaultValue::Int(0)),
        Param::optional("nesterov", ParamKind::Bool, DefaultValue::Bool(false)),
        MAXIMIZE,
    ],
    |a| Optimizer::new(&Sgd, a).map(Optimizer::into_value),
)
.details("`params` are tensors or groups `#{params, lr, …}`; `momentum` keeps a running direction.")
.example(
    "let w = ones(2).requires_grad_(true); let opt = optim::SGD([w], #{lr: 0.5}); w.sum().backward(); opt.step(); w",
    "tensor([0.5000, 0.5000], requires_grad=True)",
)];

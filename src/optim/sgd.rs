//! Stochastic gradient descent.

use crate::base::{Error, Result};
use crate::device::Kernel;
use crate::op::OpDef;
use crate::op::core::shapes;
use crate::op::def::DefaultValue;
use crate::op::params::{kind, param_list};
use crate::tensor::{In, Tensor, launch};

use super::state::Moments;
use super::{
    DECAY, FUSED, MAXIMIZE, Operations, Optimizer, Options, PARAMS, Rate, Rule, StepWay, constructor,
};

struct Sgd;

impl Rule for Sgd {
    fn copies_at_once(&self, options: &Options) -> usize {
        usize::from(options.copies_gradients())
    }

    fn operations(&self, options: &Options, way: StepWay, step: u64) -> Operations {
        let momentum = options.float("momentum") != 0.0;
        if way == StepWay::Fused {
            return vec![if momentum { "_fused_sgd_/3:5" } else { "_fused_sgd_/2:3" }];
        }
        let mut all = options.prepared(false);
        if momentum {
            all.push(if step == 1 { "*clone/2" } else { "_foreach_mul_/1 _foreach_add_/2" });
        }
        if options.bool("nesterov") {
            all.push(if way == StepWay::Lists { "_foreach_add_/2" } else { "add/3" });
        }
        all.push("_foreach_add_/2");
        all
    }

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
    param_list! {
        ..PARAMS;
        lr: Rate => DefaultValue::Float(0.001), "the learning rate: how long a step is";
        momentum: kind::Scalar = 0, "the share of the last direction that the next step keeps";
        dampening: kind::Scalar = 0, "the share of a new gradient that the direction leaves out";
        ..DECAY;
        nesterov: kind::Bool = false, "whether a step goes where the momentum is about to lead";
        ..MAXIMIZE;
        ..FUSED;
    },
    |a| Optimizer::new(&Sgd, a).map(Optimizer::into_value),
)
.details("`params` are tensors or groups `#{params, lr, …}`; `momentum` keeps a running direction.")
.shapes(shapes::STEPS)
.errors(shapes::OPTIM_ERRORS)
.example(
    "let w = ones(2).requires_grad_(true); let opt = optim::SGD([w], #{lr: 0.5}); w.sum().backward(); opt.step(); w",
    "tensor([0.5000, 0.5000], requires_grad=True)",
)];

//! Adam and AdamW.

use crate::base::{Error, Result, Scalar, python};
use crate::device::{Kernel, MapOp};
use crate::op::core::shapes;
use crate::op::def::DefaultValue;
use crate::op::elementwise::arithmetic::{add, scale, shift};
use crate::op::elementwise::binary::maximum;
use crate::op::elementwise::fused::lerp_;
use crate::op::elementwise::sign::neg;
use crate::op::elementwise::unary::sqrt;
use crate::op::params::{kind, param_list};
use crate::op::{OpDef, Param, Value};
use crate::tensor::{In, Tensor, launch};

use super::adaptive::{times, update};
use super::state::Moments;
use super::{
    DECAY, FUSED, MAXIMIZE, Operations, Optimizer, Options, PARAMS, Rate, Rule, StepWay, constructor,
};

struct Adam {
    name: &'static str,
    /// The decay does not pass through the moments.
    decoupled: bool,
}

impl Rule for Adam {
    fn copies_at_once(&self, _: &Options) -> usize {
        1
    }

    fn operations(&self, options: &Options, way: StepWay, _: u64) -> Operations {
        let largest = options.bool("amsgrad");
        if way == StepWay::Fused {
            // The numbers of steps lie on the device as well.
            let kernel = match (self.decoupled, largest) {
                (false, false) => "_fused_adam_/4:7",
                (false, true) => "_fused_adam_/5:9",
                (true, false) => "_fused_adamw_/4:7",
                (true, true) => "_fused_adamw_/5:9",
            };
            return vec!["#_foreach_add_/1", kernel];
        }
        let mut all = options.prepared(self.decoupled);
        all.push("_foreach_lerp_/2 _foreach_mul_/1 _foreach_addcmul_/3");
        if largest {
            all.push("_foreach_maximum_/2");
        }
        all.push("_foreach_sqrt/2 _foreach_div_/1n _foreach_add_/1 _foreach_addcdiv_/3n");
        all
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn check(&self, options: &Options) -> Result<()> {
        options.not_negative("lr", "learning rate")?;
        options.not_negative("eps", "epsilon value")?;
        check_betas(options)?;
        options.not_negative("weight_decay", "weight_decay value")
    }

    fn step(&self, options: &Options, parameter: &Tensor, grad: &Tensor, state: &mut Moments) -> Result<()> {
        if parameter.context().is_capturing() {
            let text = format!(
                "Attempting CUDA graph capture of step() for an instance of {} but param_groups' capturable is False.",
                self.name
            );
            return Err(Error::runtime(text).with_hint(
                "the number of the step would be written down with the graph: step outside of it, or use SGD",
            ));
        }
        if options.bool("amsgrad") {
            return self.keeping_the_largest(options, parameter, grad, state);
        }
        let mean = state.zeros("exp_avg", parameter)?;
        let square = state.zeros("exp_avg_sq", parameter)?;
        let [beta1, beta2] = options.pair("betas").unwrap_or([0.9, 0.999]);
        let step = state.step + 1;
        let kernel = Kernel::Adam {
            lr: options.float("lr"),
            beta1,
            beta2,
            eps: options.float("eps"),
            weight_decay: options.float("weight_decay"),
            decoupled: self.decoupled,
            maximize: options.bool("maximize"),
            step,
        };
        launch("adam", &kernel, &[In::Tensor(grad)], &[parameter, &mean, &square])?;
        state.step = step;
        Ok(())
    }

    fn fixed(&self) -> Option<(&'static str, bool)> {
        Some(("decoupled_weight_decay", self.decoupled))
    }
}

impl Adam {
    /// The variant that divides by the largest mean square there has been (Reddi et al., 2018), in the order of
    /// PyTorch's steps, from element-wise operations.
    fn keeping_the_largest(
        &self,
        options: &Options,
        parameter: &Tensor,
        grad: &Tensor,
        state: &mut Moments,
    ) -> Result<()> {
        let [beta1, beta2] = options.pair("betas").unwrap_or([0.9, 0.999]);
        let (lr, decay) = (options.float("lr"), options.float("weight_decay"));
        let mut grad = if options.bool("maximize") { neg(grad)? } else { grad.clone() };
        if self.decoupled {
            times(parameter, 1.0 - lr * decay)?;
        } else if decay != 0.0 {
            grad = add(&grad, &scale(parameter, decay)?)?;
        }
        let mean = state.zeros("exp_avg", parameter)?;
        let square = state.zeros("exp_avg_sq", parameter)?;
        let largest = state.zeros("max_exp_avg_sq", parameter)?;
        lerp_(&mean, &grad, (1.0 - beta1).into())?;
        times(&square, beta2)?;
        update(MapOp::Addcmul, &square, [&grad, &grad], 1.0 - beta2)?;
        largest.copy_values(&maximum(&largest, &square)?, false)?;
        state.step += 1;
        let exponent = state.step.min(i32::MAX as u64) as i32;
        let root = (1.0 - beta2.powi(exponent)).sqrt();
        let divisor = shift(&scale(&sqrt(&largest)?, 1.0 / root)?, options.float("eps"))?;
        update(MapOp::Addcdiv, parameter, [&mean, &divisor], -lr / (1.0 - beta1.powi(exponent)))
    }
}

/// Each of the two is at least 0 and below 1.
pub(super) fn check_betas(options: &Options) -> Result<()> {
    const HINT: &str = "a tensor's number is `.item()`";
    const TWO: &str = "betas must be an array of two numbers such as [0.9, 0.999]";
    let Some(betas) = options.pair("betas") else {
        return Err(match options.get("betas") {
            Some(Value::List(items))
                if matches!(
                    items.as_slice(),
                    [Value::Tensor(_), Value::Scalar(_)] | [Value::Scalar(_), Value::Tensor(_)]
                ) =>
            {
                Error::value("betas must be either both floats or both Tensors").with_hint(HINT)
            }
            Some(Value::Scalar(_)) => Error::type_error(TWO).with_hint(
                "there is no momentum here: behind the rate stand both betas, or `#{betas: [0.9, 0.999]}`",
            ),
            _ => Error::type_error(TWO).with_hint(HINT),
        });
    };
    for (i, beta) in betas.into_iter().enumerate() {
        if !(0.0..1.0).contains(&beta) {
            let shown = match options.get("betas") {
                Some(Value::List(items)) => match items.get(i) {
                    Some(Value::Scalar(s)) => *s,
                    _ => Scalar::Float(beta),
                },
                _ => Scalar::Float(beta),
            };
            let text = format!("Invalid beta parameter at index {i}: {}", python::scalar(shown));
            return Err(Error::value(text).with_hint("betas are at least 0 and below 1"));
        }
    }
    Ok(())
}

const FIRST: &[Param] = param_list! {
    ..PARAMS;
    lr: Rate => DefaultValue::Float(0.001), "the learning rate: how long a step is";
    betas: kind::Any => DefaultValue::Floats(&[0.9, 0.999]), "the shares that the running means of the gradient and of its size keep";
    eps: kind::Scalar => DefaultValue::Float(1e-8), "a small number added to what is divided by, which is then never 0";
};
const LAST: &[Param] = param_list! {
    amsgrad: kind::Bool = false, "whether steps are divided by the largest mean square so far";
    ..MAXIMIZE;
    ..FUSED;
};

static ADAM: Adam = Adam { name: "Adam", decoupled: false };
static ADAM_W: Adam = Adam { name: "AdamW", decoupled: true };

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "Adam",
        "Steps of nearly equal size per element, from running means of the gradient and its square.",
        param_list! { ..FIRST; ..DECAY; ..LAST; },
        |a| Optimizer::new(&ADAM, a).map(Optimizer::into_value),
    )
    .details(
        "`betas` are the shares that the two running means keep at each step; `amsgrad` divides by the largest mean \
         square so far.",
    )
    .shapes(shapes::STEPS)
    .errors(shapes::OPTIM_ERRORS)
    .example(
        "let w = ones(2).requires_grad_(true); let opt = optim::Adam([w], #{lr: 0.5}); w.sum().backward(); opt.step(); w",
        "tensor([0.5000, 0.5000], requires_grad=True)",
    ),
    constructor(
        "AdamW",
        "Adam whose weight decay acts on the parameter itself.",
        param_list! {
            ..FIRST;
            weight_decay: kind::Scalar => DefaultValue::Float(0.01), "the share of a parameter, times `lr`, that each step takes off";
            ..LAST;
        },
        |a| Optimizer::new(&ADAM_W, a).map(Optimizer::into_value),
    )
    .details(
        "`betas` are the shares that the two running means keep at each step; `amsgrad` divides by the largest mean \
         square so far.",
    )
    .shapes(shapes::STEPS)
    .errors(shapes::OPTIM_ERRORS)
    .example(
        "let w = ones(2).requires_grad_(true); let opt = optim::AdamW([w], #{lr: 0.1, weight_decay: 0.5}); \
         w.sum().backward(); opt.step(); w",
        "tensor([0.8500, 0.8500], requires_grad=True)",
    ),
];

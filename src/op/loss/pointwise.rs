//! Losses of input and target that are one map and one reduction, under one gradient rule.

use crate::base::shape::broadcast;
use crate::base::{Dims, Result};
use crate::device::MapOp;
use crate::device::kernel::{ReduceOp, Reduction};
use crate::op::core::autocast;
use crate::op::core::launch::{Laid, fused, map};
use crate::op::core::operand::Operand;
use crate::op::core::promote::{common_device, only_floats, result_type};
use crate::op::core::record::{recorded, wanted};
use crate::op::elementwise::arithmetic::{div, mul, scale, sub};
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::clamp::clamp_min;
use crate::op::elementwise::comparison::lt;
use crate::op::elementwise::sign::{neg, sign};
use crate::op::elementwise::unary::{abs, log, sigmoid};
use crate::op::reduce::sums::{Over, reduce};
use crate::tensor::Tensor;
use crate::tensor::accumulate::expand;
use crate::tensor::autograd::{Grads, Saved, Vjp};

/// What errors say of tensors.
pub(super) fn operands(all: &[&Tensor]) -> Vec<crate::base::error::Operand> {
    all.iter().map(|t| t.operand()).collect()
}

/// A loss of input and target, element by element: a map and a reduction under one gradient rule.
pub(super) struct Pointwise {
    name: &'static str,
    /// PyTorch's kernel, for its error on integers.
    kernel: &'static str,
    op: MapOp,
    rule: Vjp,
}

/// What a rule of a [`Pointwise`] loss finds beside input and target.
#[derive(Clone, Copy)]
struct About {
    reduction: Reduction,
    parameter: f64,
}

pub(super) static SQUARED: Pointwise = Pointwise {
    name: "mse_loss",
    kernel: "mse_cpu",
    op: MapOp::SquaredDiff,
    rule: Vjp {
        name: "MseLossBackward0",
        run: |s, g| difference_grad(s, g, |g, a, b, _| mul(&sub(a, b)?, &scale(g, 2.0)?)),
    },
};

pub(super) static ABSOLUTE: Pointwise = Pointwise {
    name: "l1_loss",
    kernel: "abs_cpu",
    op: MapOp::AbsDiff,
    rule: Vjp {
        name: "L1LossBackward0",
        run: |s, g| difference_grad(s, g, |g, a, b, _| mul(g, &sign(&sub(a, b)?)?)),
    },
};

pub(super) static SMOOTH: Pointwise = Pointwise {
    name: "smooth_l1_loss",
    kernel: "smooth_l1_cpu",
    op: MapOp::SmoothL1,
    rule: Vjp {
        name: "SmoothL1LossBackward0",
        run: |s, g| {
            difference_grad(s, g, |g, a, b, beta| {
                fused(MapOp::SmoothL1Grad, g, &[a, b], [beta, 0.0], || {
                    let d = sub(a, b)?;
                    let inner = scale(&d, 1.0 / beta)?;
                    let slope =
                        where_(&lt(&abs(&d)?, beta)?, Operand::Tensor(&inner), Operand::Tensor(&sign(&d)?))?;
                    mul(g, &slope)
                })
            })
        },
    },
};

pub(super) static HUBER: Pointwise = Pointwise {
    name: "huber_loss",
    kernel: "huber_cpu",
    op: MapOp::Huber,
    rule: Vjp {
        name: "HuberLossBackward0",
        run: |s, g| {
            difference_grad(s, g, |g, a, b, delta| {
                fused(MapOp::HuberGrad, g, &[a, b], [delta, 0.0], || {
                    let d = sub(a, b)?;
                    let outer = scale(&sign(&d)?, delta)?;
                    let slope = where_(&lt(&abs(&d)?, delta)?, Operand::Tensor(&d), Operand::Tensor(&outer))?;
                    mul(g, &slope)
                })
            })
        },
    },
};

pub(super) static PROBABILITY: Pointwise = Pointwise {
    name: "binary_cross_entropy",
    kernel: "binary_cross_entropy",
    op: MapOp::Bce,
    rule: Vjp { name: "BinaryCrossEntropyBackward0", run: probability_grad },
};

pub(super) static LOGIT: Pointwise = Pointwise {
    name: "binary_cross_entropy_with_logits",
    kernel: "binary_cross_entropy_with_logits",
    op: MapOp::BceLogits,
    rule: Vjp { name: "BinaryCrossEntropyWithLogitsBackward0", run: logit_grad },
};

impl Pointwise {
    pub(super) fn apply(
        &'static self,
        input: &Tensor,
        target: &Tensor,
        reduction: Reduction,
        parameter: f64,
    ) -> Result<Tensor> {
        if let Some(casts) = autocast::enter(self.name, &[input, target])? {
            return self.apply(&casts.cast(input)?, &casts.cast(target)?, reduction, parameter);
        }
        self.run(input, target, reduction, parameter)
            .map_err(|e| e.in_op(self.name, || operands(&[input, target])))
    }

    fn run(
        &'static self,
        input: &Tensor,
        target: &Tensor,
        reduction: Reduction,
        parameter: f64,
    ) -> Result<Tensor> {
        let both = [Operand::Tensor(input), Operand::Tensor(target)];
        let device = common_device(&both)?;
        let dtype = result_type(&both);
        only_floats(dtype, self.kernel)?;
        let shape = broadcast(input.shape(), target.shape())?;
        let model = if input.device() == device { input } else { target };
        let laid = [Laid::new(both[0], &shape, model)?, Laid::new(both[1], &shape, model)?];
        let inputs = [laid[0].input(), laid[1].input()];
        let each = map(self.name, self.op, &inputs, &shape, dtype, dtype, [parameter, 0.0], model)?;
        let out = match reduction {
            Reduction::None => each,
            Reduction::Sum | Reduction::Mean => {
                let scale = if reduction == Reduction::Sum { 1.0 } else { 1.0 / each.numel() as f64 };
                let over = Over::of(&each, None, false)?;
                reduce(self.name, ReduceOp::Sum { scale }, &each, over, dtype)?
            }
        };
        Ok(recorded(out, &self.rule, &[input, target], |s, _| {
            s.input(input);
            s.input(target);
            s.attribute(About { reduction, parameter });
        }))
    }
}

/// Input and target in their common shape, and the gradient of each element's loss.
fn spread(s: &Saved, g: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
    let (a, b) = (s.tensor(0)?, s.tensor(1)?);
    let shape: Dims = broadcast(a.shape(), b.shape())?;
    let count = shape.iter().product::<usize>().max(1) as f64;
    let up = match s.attribute::<About>()?.reduction {
        Reduction::None => g.clone(),
        Reduction::Sum => expand(g, &shape)?,
        Reduction::Mean => expand(&scale(g, 1.0 / count)?, &shape)?,
    };
    Ok((expand(&a, &shape)?, expand(&b, &shape)?, up))
}

/// The gradients of a loss of `input - target`: the target's is the negative of the input's.
fn difference_grad(
    s: &Saved,
    g: &Tensor,
    slope: impl Fn(&Tensor, &Tensor, &Tensor, f64) -> Result<Tensor>,
) -> Result<Grads> {
    let (a, b, up) = spread(s, g)?;
    let left = slope(&up, &a, &b, s.attribute::<About>()?.parameter)?;
    let right = wanted(s, 1, || neg(&left))?;
    crate::op::core::record::two(s.needs(0).then_some(left), right)
}

fn probability_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (a, b, up) = spread(s, g)?;
    let left = wanted(s, 0, || {
        fused(MapOp::BceGrad, &up, &[&a, &b], [0.0; 2], || {
            let width = clamp_min(&mul(&sub(1.0, &a)?, &a)?, 1e-12.into())?;
            mul(&up, &div(&sub(&a, &b)?, &width)?)
        })
    })?;
    let right = wanted(s, 1, || mul(&up, &sub(&log(&sub(1.0, &a)?)?, &log(&a)?)?))?;
    crate::op::core::record::two(left, right)
}

fn logit_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (a, b, up) = spread(s, g)?;
    let left = wanted(s, 0, || mul(&up, &sub(&sigmoid(&a)?, &b)?))?;
    let right = wanted(s, 1, || neg(&mul(&up, &a)?))?;
    crate::op::core::record::two(left, right)
}

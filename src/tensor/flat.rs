//! Derivatives that are flat in what they were computed at.

use std::sync::Arc;

use crate::base::Result;

use super::Tensor;
use super::autograd::{Edge, Grads, Meta, Node, Saved, Vjp};

/// Rules whose gradient depends on the output's gradient alone, wherever the input lies. In a graph of second derivatives
/// PyTorch has the input take part all the same, with zeros.
const FLAT: [&str; 17] = [
    "AdaptiveAvgPool2DBackward0",
    "AdaptiveAvgPool3DBackward0",
    "AdaptiveMaxPool2DBackward0",
    "AdaptiveMaxPool3DBackward0",
    "AvgPool2DBackward0",
    "AvgPool3DBackward0",
    "HardshrinkBackward0",
    "HardtanhBackward0",
    "LeakyReluBackward0",
    "MaxPool2DWithIndicesBackward0",
    "MaxPool3DWithIndicesBackward0",
    "NllLossBackward0",
    "ReflectionPadBackward0",
    "ReluBackward0",
    "ReplicationPadBackward0",
    "SoftshrinkBackward0",
    "ThresholdBackward0",
];

/// The gradients that a node gave in a recorded pass, the first with the node's first input as a part of it.
pub(super) fn joined(node: &Node, mut grads: Grads) -> Grads {
    let edge = node.inputs.first().filter(|(edge, _)| !matches!(edge, Edge::None));
    let (Some((edge, meta)), Some(slot)) = (edge, grads.first_mut()) else { return grads };
    if FLAT.contains(&node.rule.name())
        && let Some(grad) = slot.take()
    {
        *slot = Some(beside(grad, edge, meta));
    }
    grads
}

/// `grad`, of which what `edge` leads to is a part whose gradient is zeros.
pub(crate) fn beside(grad: Tensor, edge: &Edge, meta: &Meta) -> Tensor {
    static RULE: Vjp = Vjp { name: "ZerosLikeBackward0", run: zeros };
    let node = Node::new(&RULE, &[&grad], |s| s.attribute(meta.clone()));
    match Arc::try_unwrap(node) {
        Ok(mut node) => {
            node.inputs.push((edge.clone(), meta.clone()));
            let out = grad.detach();
            out.join(Arc::new(node));
            out
        }
        Err(_) => grad,
    }
}

fn zeros(saved: &Saved, grad: &Tensor) -> Result<Grads> {
    let meta: &Meta = saved.attribute()?;
    let none = Tensor::full(&meta.shape, 0i64.into(), meta.dtype, &grad.context(), "zeros_like")?;
    Ok([Some(grad.clone()), Some(none)].into_iter().collect())
}

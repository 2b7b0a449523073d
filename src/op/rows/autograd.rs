//! Rows of the backward pass.

use crate::op::args::Value;
use crate::op::def::{Default, Family, Gradient, METHOD, OpDef, Param, ParamKind, SELF};
use crate::tensor::backward::Pass;

/// Starting a backward pass.
pub static ROWS: &[OpDef] = &[OpDef::call(
    "backward",
    Family::Move,
    "Adds the gradients of this tensor to the `.grad` of the leaves it was computed from.",
    &[
        SELF,
        Param::optional("gradient", ParamKind::Tensor, Default::None),
        Param::optional("retain_graph", ParamKind::Bool, Default::None),
        Param::optional("create_graph", ParamKind::Bool, Default::Bool(false)),
    ],
    |a| {
        let create_graph = a.bool(3)?;
        let retain_graph = a.bool(2).unwrap_or(create_graph);
        a.tensor(0)?.backward(a.optional_tensor(1), Pass { retain_graph, create_graph })?;
        Ok(Value::None)
    },
)
.forms(METHOD)
.details(
    "A tensor of one element starts with 1, any other needs `gradient`. What the forward pass saved is freed, unless \
     `retain_graph`; with `create_graph` the pass is recorded, for second derivatives.",
)
.example("let x = tensor([3.0], #{requires_grad: true}); (x * x).sum().backward(); x.grad", "tensor([6.])")
.gradient(Gradient::NoGrad("it fills `.grad`"))];

//! Maps of three operands: choosing and fused arithmetic.

use crate::base::shape::broadcast;
use crate::base::{Dims, Result};
use crate::device::MapOp;
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp, needs_graph};

use super::def::Operand;
use super::elementwise::{Laid, map, operands};
use super::promote::{common_device, result_type};

/// `a` where `condition` is true, `b` elsewhere.
pub fn where_(condition: &Tensor, a: Operand, b: Operand) -> Result<Tensor> {
    run_where(condition, a, b).map_err(|e| e.in_op("where", || operands(&[Operand::Tensor(condition), a, b])))
}

fn run_where(condition: &Tensor, a: Operand, b: Operand) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "WhereBackward0", run: where_grad };
    let all = [Operand::Tensor(condition), a, b];
    let device = common_device(&all)?;
    let dtype = result_type(&[a, b]);
    let mut shape: Dims = condition.shape().into();
    let mut model = condition;
    for operand in [a, b] {
        if let Operand::Tensor(t) = operand {
            shape = broadcast(&shape, t.shape())?;
            if t.device() == device && model.device() != device {
                model = t;
            }
        }
    }
    let laid =
        [Laid::new(all[0], &shape, model)?, Laid::new(a, &shape, model)?, Laid::new(b, &shape, model)?];
    let [c, x, y] = &laid;
    let out = map(
        "where",
        MapOp::Where,
        &[c.input(), x.input(), y.input()],
        &shape,
        dtype,
        dtype,
        [0.0; 2],
        model,
    )?;
    let sources: Vec<&Tensor> = [a, b]
        .into_iter()
        .filter_map(|o| match o {
            Operand::Tensor(t) => Some(t),
            Operand::Scalar(_) => None,
        })
        .collect();
    if needs_graph(&sources) {
        let left = matches!(a, Operand::Tensor(_));
        return Ok(out.record(&RULE, &sources, |s, _| {
            s.constant(Some(condition));
            s.attribute(left);
        }));
    }
    Ok(out)
}

fn where_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let condition = s.tensor(0)?;
    let left_is_tensor: bool = *s.attribute()?;
    let zero = Operand::Scalar(0i64.into());
    let mut grads = Grads::new();
    if left_is_tensor {
        grads.push(Some(where_(&condition, Operand::Tensor(g), zero)?));
    }
    grads.push(Some(where_(&condition, zero, Operand::Tensor(g))?));
    Ok(grads)
}

//! Clipping gradients.

use crate::base::Result;
use crate::op::{binary, joins, reduce};
use crate::tensor::Tensor;
use crate::tensor::autograd::set_grad_mode;

/// Scales gradients so that their joint p-norm is at most `max_norm`; gives the norm before. As
/// `torch.nn.utils.clip_grad_norm_`: nothing waits for the device.
pub fn clip_grad_norm(parameters: &[Tensor], max_norm: f64, p: f64) -> Result<Tensor> {
    let _quiet = set_grad_mode(false);
    let grads: Vec<Tensor> = parameters.iter().filter_map(Tensor::grad).collect();
    let Some(first) = grads.first() else { return Tensor::from_f32(&[0.0], &[]) };
    let norms = grads
        .iter()
        .map(|g| {
            let norm = reduce::norm(g, p, None, false)?;
            if norm.device() == first.device() { Ok(norm) } else { norm.moved(&first.context(), false, "to") }
        })
        .collect::<Result<Vec<_>>>()?;
    let total = reduce::norm(&joins::stack(&norms.iter().collect::<Vec<_>>(), 0)?, p, None, false)?;
    let scale = binary::div(max_norm, &binary::add(&total, 1e-6)?)?;
    let scale = crate::op::select::clamp_max(&scale, 1.0.into())?;
    for grad in &grads {
        let here = if grad.device() == scale.device() {
            scale.clone()
        } else {
            scale.moved(&grad.context(), false, "to")?
        };
        binary::specs::Mul.apply_in_place(grad, (&here).into(), [0.0; 2])?;
    }
    Ok(total)
}

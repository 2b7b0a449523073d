//! What PyTorch's encoders skip: padded places of a batch that is only evaluated.

use crate::base::{DType, Result, Scalar};
use crate::op::Operand;
use crate::op::Value;
use crate::op::core::record::no_grad;
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::comparison::{lt, ne};
use crate::op::reduce::sums::any;
use crate::op::shape::part::narrow;
use crate::op::shape::view::unsqueeze;
use crate::tensor::Tensor;
use crate::tensor::autocast;
use crate::tensor::autograd::grad_enabled;

use super::attention::MultiheadAttention;
use super::module::{Module, Role};

/// How an encoder was made: whether it skips at all, and whether it looks that padding stands at the ends.
#[derive(Clone, Copy)]
pub(super) struct Nesting {
    pub enabled: bool,
    pub checked: bool,
}

impl Nesting {
    /// As PyTorch makes it.
    pub(super) const USUAL: Nesting = Nesting { enabled: true, checked: true };

    /// Whether an encoder of these layers skips the padded places of `[n, s, e]`: `TransformerEncoder.forward` asks the
    /// same (PyTorch 2.15), of layers that norm behind their parts and have the batch first.
    ///
    /// # Errors
    /// Those of reading the mask.
    pub(super) fn skips(self, layers: &[Module], x: &Tensor, padding: Option<&Tensor>) -> Result<bool> {
        let (Some(first), Some(padding)) = (layers.first(), padding) else { return Ok(false) };
        let fits = self.enabled && x.rank() == 3 && padding.rank() == 2 && padding.dtype() == DType::Bool;
        if !fits || first.training() || !is_plain(first) {
            return Ok(false);
        }
        let learns = |module: &Module| module.named(Role::Parameter).iter().any(|(_, t)| t.requires_grad());
        if autocast::active() || grad_enabled() && (x.requires_grad() || layers.iter().any(learns)) {
            return Ok(false);
        }
        Ok(!self.checked || stands_at_the_ends(padding)?)
    }
}

/// Whether PyTorch has a kernel for all of an encoder's layer.
fn is_plain(layer: &Module) -> bool {
    let norms_behind =
        matches!(layer.layer().attribute("norm_first"), Some(Value::Scalar(Scalar::Bool(false))));
    let attention = layer.child("self_attn");
    let whole = |attention: &Module| {
        let has_bias = attention.named(Role::Parameter).iter().any(|(name, _)| name == "in_proj_bias");
        has_bias && MultiheadAttention::of(attention).is_some_and(MultiheadAttention::is_nestable)
    };
    let is_own = layer.name() == "TransformerEncoderLayer" && layer.child("activation").is_none();
    is_own && norms_behind && attention.as_ref().is_some_and(whole)
}

/// Whether no place that is looked at stands behind one that is padding.
fn stands_at_the_ends(padding: &Tensor) -> Result<bool> {
    let _off = no_grad();
    let places = padding.size(1)? as i64;
    if places < 2 {
        return Ok(true);
    }
    let (earlier, later) = (narrow(padding, 1, 0, places - 1)?, narrow(padding, 1, 1, places - 1)?);
    Ok(any(&lt(&later, &earlier)?, None, false)?.item()?.as_f64() == 0.0)
}

/// A mask of padding as true and false: one of floats is 0 where a place is looked at.
pub(super) fn padded(mask: &Tensor) -> Result<Tensor> {
    if mask.dtype() == DType::Bool { Ok(mask.clone()) } else { ne(mask, 0.0) }
}

/// 0 at padded places.
pub(super) fn without_padding(x: &Tensor, padding: &Tensor) -> Result<Tensor> {
    where_(&unsqueeze(padding, 2)?, Operand::Scalar(0.0.into()), Operand::Tensor(x))
}

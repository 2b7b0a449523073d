//! Autocast: which operations compute in which precision, and the casts of their inputs.
//!
//! The lists are those of PyTorch 2.15 (`aten/src/ATen/autocast_mode.h`). An operation that is in the table asks
//! [`enter`] first; what it calls itself then sees autocast paused, as below PyTorch's autocast dispatch key.

use Policy::{Banned, Full, FullUnlessGiven, Lower, Plain, Promote};
use smallvec::SmallVec;

use crate::base::{DType, Error, Result};
use crate::tensor::autocast::{On, Paused};
use crate::tensor::autograd::set_grad_mode;
use crate::tensor::{Tensor, autocast};

use super::convert::to_dtype;
use super::operand::Operand;

/// What autocast does to the inputs of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// Nothing: the operation runs in the dtypes it is given.
    Plain,
    /// Casts to the region's dtype.
    Lower,
    /// Casts to float32.
    Full,
    /// Computes in float32 unless the call names a dtype.
    FullUnlessGiven,
    /// Casts to the widest dtype among the inputs.
    Promote,
    /// Is an error.
    Banned,
}

/// The policies of an operation on CUDA devices and on the CPU.
pub struct CastRow {
    pub name: &'static str,
    pub cuda: Policy,
    pub cpu: Policy,
}

const fn row(name: &'static str, cuda: Policy, cpu: Policy) -> CastRow {
    CastRow { name, cuda, cpu }
}

/// The operations that autocast knows, by the names of the op table. What is missing is [`Policy::Plain`].
pub static TABLE: &[CastRow] = &[
    row("matmul", Lower, Lower),
    row("mm", Lower, Lower),
    row("bmm", Lower, Lower),
    row("baddbmm", Lower, Lower),
    row("addmm", Lower, Lower),
    row("addbmm", Lower, Lower),
    row("multi_dot", Lower, Lower),
    row("chain_matmul", Lower, Lower),
    row("prelu", Lower, Lower),
    row("linear", Lower, Lower),
    row("conv1d", Lower, Lower),
    row("conv2d", Lower, Lower),
    row("conv3d", Lower, Lower),
    row("conv_transpose1d", Lower, Lower),
    row("conv_transpose2d", Lower, Lower),
    row("conv_transpose3d", Lower, Lower),
    row("scaled_dot_product_attention", Lower, Lower),
    row("mv", Lower, Plain),
    row("einsum", Lower, Plain),
    row("addmv", Lower, Plain),
    row("addr", Lower, Plain),
    row("acos", Full, Plain),
    row("asin", Full, Plain),
    row("cosh", Full, Plain),
    row("sinh", Full, Plain),
    row("tan", Full, Plain),
    row("erfinv", Full, Plain),
    row("exp", Full, Plain),
    row("expm1", Full, Plain),
    row("log", Full, Plain),
    row("log10", Full, Plain),
    row("log1p", Full, Plain),
    row("log2", Full, Plain),
    row("pow", Full, Plain),
    row("square", Full, Plain),
    row("reciprocal", Full, Plain),
    row("rsqrt", Full, Plain),
    row("softplus", Full, Plain),
    row("layer_norm", Full, Plain),
    row("group_norm", Full, Plain),
    row("logsumexp", Full, Plain),
    row("norm", Full, Plain),
    row("cosine_similarity", Full, Plain),
    row("rms_norm", Full, Plain),
    row("vector_norm", Full, Plain),
    row("matrix_norm", Full, Plain),
    row("renorm", Full, Plain),
    row("cdist", Full, Full),
    row("cond", Plain, Full),
    row("multi_margin_loss", Full, Full),
    row("multilabel_margin_loss", Full, Full),
    row("ctc_loss", Plain, Full),
    row("max_pool3d", Plain, Full),
    row("avg_pool3d", Plain, Full),
    row("adaptive_max_pool3d", Plain, Full),
    row("adaptive_avg_pool3d", Plain, Full),
    row("max_unpool1d", Plain, Full),
    row("max_unpool2d", Plain, Full),
    row("max_unpool3d", Plain, Full),
    row("dist", Full, Plain),
    row("pdist", Full, Plain),
    row("cross", Promote, Plain),
    row("interpolate", Full, Plain),
    // Where the border mirrors or repeats.
    row("pad", Plain, Full),
    row("hinge_embedding_loss", Full, Full),
    row("margin_ranking_loss", Full, Full),
    row("triplet_margin_loss", Full, Full),
    row("cosine_embedding_loss", Full, Full),
    row("poisson_nll_loss", Full, Full),
    row("soft_margin_loss", Full, Full),
    row("quantile", Plain, Full),
    row("nanquantile", Plain, Full),
    row("trace", Plain, Full),
    row("inv", Plain, Full),
    row("inverse", Plain, Full),
    row("solve", Plain, Full),
    row("cholesky", Plain, Full),
    row("qr", Plain, Full),
    row("svd", Plain, Full),
    row("eigh", Plain, Full),
    row("lstsq", Plain, Full),
    row("matrix_rank", Plain, Full),
    row("cross_entropy", Plain, Full),
    row("nll_loss", Full, Full),
    row("mse_loss", Full, Full),
    row("l1_loss", Full, Full),
    row("smooth_l1_loss", Full, Full),
    row("huber_loss", Full, Full),
    row("kl_div", Full, Full),
    row("binary_cross_entropy", Banned, Full),
    row("binary_cross_entropy_with_logits", Full, Full),
    row("sum", FullUnlessGiven, Plain),
    row("prod", FullUnlessGiven, Full),
    row("cumsum", FullUnlessGiven, Plain),
    row("cumprod", FullUnlessGiven, Plain),
    row("softmax", FullUnlessGiven, Plain),
    row("log_softmax", FullUnlessGiven, Plain),
    row("addcmul", Promote, Plain),
    row("addcdiv", Promote, Plain),
    row("atan2", Promote, Plain),
    row("dot", Promote, Plain),
    row("bilinear", Promote, Plain),
    row("grid_sample", Promote, Full),
    row("vdot", Promote, Plain),
    row("tensordot", Promote, Plain),
    row("scatter_add", Promote, Plain),
    row("index_copy", Plain, Promote),
    row("cat", Plain, Promote),
    row("stack", Plain, Promote),
];

/// The policy of an operation for one kind of device.
pub(crate) fn policy(name: &str, on: On) -> Policy {
    TABLE.iter().find(|r| r.name == name).map_or(Plain, |r| match on {
        On::Cpu => r.cpu,
        On::Cuda => r.cuda,
    })
}

/// The casts of one call. Autocast is paused while this lives.
pub struct Casts {
    on: On,
    to: DType,
    policy: Policy,
    /// The lower precision of the region: only casts to it are kept.
    lower: DType,
    _paused: Paused,
}

/// What to cast the inputs of operation `name` to, where autocast has a say. `tensors` are all inputs of the
/// call; a CUDA tensor among them makes it a call on a CUDA device.
///
/// Errors where the operation is not safe under autocast.
#[inline]
pub fn enter(name: &'static str, tensors: &[&Tensor]) -> Result<Option<Casts>> {
    if autocast::active() { enter_active(name, tensors) } else { Ok(None) }
}

/// [`enter`] for two operands, numbers among them.
#[inline]
pub(crate) fn enter_operands(name: &'static str, operands: &[Operand]) -> Result<Option<Casts>> {
    if !autocast::active() {
        return Ok(None);
    }
    let tensor = |o: &Operand<'_>| matches!(o, Operand::Tensor(_));
    if !operands.iter().any(tensor) {
        return Ok(None);
    }
    let tensors: SmallVec<[&Tensor; 3]> = operands
        .iter()
        .filter_map(|o| match o {
            Operand::Tensor(t) => Some(*t),
            Operand::Scalar(_) => None,
        })
        .collect();
    enter_active(name, &tensors)
}

#[cold]
fn enter_active(name: &'static str, tensors: &[&Tensor]) -> Result<Option<Casts>> {
    let settings = autocast::settings();
    let kinds = tensors.iter().map(|t| On::of(t.device()));
    let used = |on: On| kinds.clone().any(|k| k == on) && settings.mode(on).enabled;
    let Some(on) = [On::Cuda, On::Cpu].into_iter().find(|on| used(*on)) else { return Ok(None) };
    let (policy, lower) = (policy(name, on), settings.mode(on).dtype);
    let to = match policy {
        Plain => return Ok(None),
        Lower => lower,
        Full => DType::Float32,
        FullUnlessGiven if tensors.first().is_some_and(|t| is_eligible(t, on)) => DType::Float32,
        FullUnlessGiven => return Ok(None),
        Promote => widest(tensors, on, lower)?,
        Banned => return Err(banned()),
    };
    Ok(Some(Casts { on, to, policy, lower, _paused: autocast::pause() }))
}

/// Runs an operation that is composed of others as one: on inputs cast by its policy, with autocast paused.
pub fn whole<const N: usize, T>(
    name: &'static str,
    tensors: [&Tensor; N],
    run: impl FnOnce([&Tensor; N]) -> Result<T>,
) -> Result<T> {
    match enter(name, &tensors)? {
        Some(casts) => {
            let mut cast = tensors.map(Tensor::clone);
            for t in &mut cast {
                *t = casts.cast(t)?;
            }
            run(cast.each_ref())
        }
        None => {
            let _paused = autocast::pause();
            run(tensors)
        }
    }
}

impl Casts {
    /// A tensor as the operation takes it: floats other than float64 on the region's kind of device are cast.
    pub fn cast(&self, t: &Tensor) -> Result<Tensor> {
        if self.policy == FullUnlessGiven || !is_eligible(t, self.on) || t.dtype() == self.to {
            return Ok(t.clone());
        }
        let kept = self.to == self.lower && autocast::settings().cache_enabled && t.is_castable_leaf();
        if !kept {
            return to_dtype(t, self.to);
        }
        if let Some(cast) = autocast::cached(t, self.to) {
            return Ok(cast);
        }
        // A cast made without grad mode would cut later uses of it off from the graph.
        let _on = set_grad_mode(true);
        let cast = to_dtype(t, self.to)?;
        autocast::keep(t, &cast);
        Ok(cast)
    }

    pub(crate) fn cast_all(&self, tensors: &[&Tensor]) -> Result<Vec<Tensor>> {
        tensors.iter().map(|t| self.cast(t)).collect()
    }

    pub(crate) fn cast_option(&self, t: Option<&Tensor>) -> Result<Option<Tensor>> {
        t.map(|t| self.cast(t)).transpose()
    }

    /// The dtype to compute in where the call names none.
    pub fn dtype(&self, given: Option<DType>) -> Option<DType> {
        if self.policy == FullUnlessGiven { given.or(Some(self.to)) } else { given }
    }
}

/// A cast operand, to be borrowed again.
pub(crate) enum Cast {
    Tensor(Tensor),
    Scalar(crate::base::Scalar),
}

impl Cast {
    pub(crate) fn of(casts: &Casts, operand: Operand) -> Result<Cast> {
        Ok(match operand {
            Operand::Tensor(t) => Cast::Tensor(casts.cast(t)?),
            Operand::Scalar(s) => Cast::Scalar(s),
        })
    }

    pub(crate) fn operand(&self) -> Operand<'_> {
        match self {
            Cast::Tensor(t) => Operand::Tensor(t),
            Cast::Scalar(s) => Operand::Scalar(*s),
        }
    }
}

fn is_eligible(t: &Tensor, on: On) -> bool {
    t.dtype().is_float() && t.dtype() != DType::Float64 && On::of(t.device()) == on
}

/// The region's dtype, or float32 where some input has it.
fn widest(tensors: &[&Tensor], on: On, lower: DType) -> Result<DType> {
    let mut widest = lower;
    for t in tensors.iter().filter(|t| is_eligible(t, on)) {
        match t.dtype() {
            DType::Float32 => widest = DType::Float32,
            dtype if dtype == lower || widest == DType::Float32 => {}
            dtype => {
                let text = "Unexpected floating ScalarType in at::autocast::prioritize";
                return Err(Error::runtime(text)
                    .with_hint(format!("one input is {dtype}, and autocast computes in {lower}")));
            }
        }
    }
    Ok(widest)
}

fn banned() -> Error {
    Error::runtime(
        "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n\
         Many models use a sigmoid layer right before the binary cross entropy layer.\n\
         In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n\
         or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n\
         safe to autocast.",
    )
    .with_hint("`F::binary_cross_entropy_with_logits(scores, target)` takes the scores before the sigmoid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_is_that_of_an_operation_in_the_table() {
        for row in TABLE {
            assert!(crate::op::find(row.name).is_some(), "{} is no operation", row.name);
        }
        let mut names: Vec<_> = TABLE.iter().map(|r| r.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TABLE.len(), "a name stands twice");
    }
}

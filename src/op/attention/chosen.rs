//! Which of PyTorch's kernels for attention a simulated GPU has: it keeps the queries, keys and values, the result and a
//! number for each query, and no scores.

use crate::base::{DType, Result};
use crate::device::beside::beside;
use crate::device::class::KernelClass;
use crate::op::activation::dropout::dropout;
use crate::op::core::record::no_grad;
use crate::op::core::whole::{Keeps, Whole, first, is_modelled};
use crate::tensor::Tensor;

use super::composed::{Attention, composed};

/// The kernel for such tensors, and none where PyTorch computes the scores: there are four dimensions, alike but for the
/// lengths, in a dtype and of a width that the kernels take.
pub(super) fn kernel(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    options: &Attention,
) -> Result<Option<&'static Whole>> {
    let ([n, heads, _, width], [_, _, keys, _], [.., of_values]) = (q.shape(), k.shape(), v.shape()) else {
        return Ok(None);
    };
    let alike = k.shape() == [*n, *heads, *keys, *width]
        && v.shape() == [*n, *heads, *keys, *of_values]
        && [k, v].iter().all(|t| t.dtype() == q.dtype());
    if !alike || q.numel() == 0 || k.numel() == 0 || !is_modelled(&[q, k, v]) {
        return Ok(None);
    }
    let ampere = q.context().backend.properties().capability >= (8, 0);
    let half = matches!(q.dtype(), DType::Float16 | DType::BFloat16);
    let flash = half && ampere && options.mask.is_none() && width == of_values && *width <= 256;
    let step = match q.dtype() {
        DType::Float32 if ampere => 4,
        DType::Float32 => 1,
        DType::Float16 => 8,
        DType::BFloat16 if ampere => 8,
        _ => return Ok(None),
    };
    let aligned = width.is_multiple_of(step) && of_values.is_multiple_of(step);
    Ok(if flash { Some(&FLASH) } else { aligned.then_some(&EFFICIENT) })
}

/// Attention by that kernel.
pub(super) fn run(
    kernel: &'static Whole,
    all: [&Tensor; 3],
    factor: f64,
    options: &Attention,
) -> Result<Tensor> {
    let [q, k, _] = all;
    let (dropout_p, is_causal) = (options.dropout_p, options.is_causal);
    let kept = if dropout_p > 0.0 { Some(drawn(q, k, dropout_p)?) } else { None };
    let composite = move |all: &[Tensor]| match all {
        [q, k, v, mask @ ..] => {
            let options = Attention { mask: mask.first(), dropout_p, is_causal, scale: None };
            composed([q, k, v], factor, &options, kept.as_ref())
        }
        _ => first(all).cloned(),
    };
    let rows = q.size(-2)?;
    // The memory-efficient kernel has a number for each query of its blocks of 32.
    let rows = if std::ptr::eq(kernel, &FLASH) { rows } else { rows.next_multiple_of(32) };
    let sums = [q.size(0)?, q.size(1)?, rows];
    let mut statistics = vec![(sums.as_slice(), DType::Float32)];
    // A mask of bools becomes one of numbers, which is kept.
    if let Some(mask) = options.mask.filter(|mask| mask.dtype() == DType::Bool) {
        statistics.push((mask.shape(), q.dtype()));
    }
    let inputs: Vec<&Tensor> = all.into_iter().chain(options.mask).collect();
    kernel.run(&inputs, &statistics, Box::new(composite))
}

static FLASH: Whole = Whole::new(
    "_flash_attention_forward",
    "_flash_attention_backward",
    "ScaledDotProductFlashAttentionBackward0",
)
.class(KernelClass::Matmul)
.keeps(Keeps::InputsAndOutput);

static EFFICIENT: Whole = Whole::new(
    "_efficient_attention_forward",
    "_efficient_attention_backward",
    "ScaledDotProductEfficientAttentionBackward0",
)
.class(KernelClass::Matmul)
.keeps(Keeps::InputsAndOutput);

/// What dropout makes of weights of 1: the kernels draw it anew for the gradient, by the generator's state.
fn drawn(q: &Tensor, k: &Tensor, p: f64) -> Result<Tensor> {
    let _quiet = no_grad();
    let shape = [q.size(0)?, q.size(1)?, q.size(2)?, k.size(2)?];
    let (made, _) =
        beside(|| dropout(&Tensor::full(&shape, 1i64.into(), q.dtype(), &q.context(), "dropout")?, p, true));
    made
}

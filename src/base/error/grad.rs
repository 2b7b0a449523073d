//! Why a gradient cannot be had.

use crate::base::dims::{Dims, show};
use crate::base::{DType, Device};

/// What autograd refuses.
#[derive(Clone, Debug, PartialEq)]
pub enum GradCause {
    RequiresGradDtype,
    InplaceLeaf,
    InplaceExpanded,
    InplaceOverlap,
    NoGradFn,
    NonScalarBackward,
    BackwardTwice,
    ModifiedInPlace {
        dtype: DType,
        device: Device,
        shape: Dims,
        /// What made it; none for what no operation has made.
        of: Option<&'static str>,
        /// A leaf that gets a gradient, as an optimiser changes them.
        is_trained: bool,
        version: u32,
        expected: u32,
        /// Anomaly detection is on: the hint names the line.
        watched: bool,
    },
}

impl GradCause {
    pub(super) fn message(&self) -> String {
        match self {
            GradCause::RequiresGradDtype => {
                "Only Tensors of floating point and complex dtype can require gradients".into()
            }
            GradCause::InplaceLeaf => {
                "a leaf Variable that requires grad is being used in an in-place operation.".into()
            }
            GradCause::InplaceExpanded => "unsupported operation: more than one element of the written-to tensor refers \
                 to a single memory location. Please clone() the tensor before performing the operation."
                .into(),
            GradCause::InplaceOverlap => "unsupported operation: some elements of the input tensor and the written-to \
                 tensor refer to a single memory location. Please clone() the tensor before performing the operation."
                .into(),
            GradCause::NoGradFn => "element 0 of tensors does not require grad and does not have a grad_fn".into(),
            GradCause::NonScalarBackward => "grad can be implicitly created only for scalar outputs".into(),
            GradCause::BackwardTwice => "Trying to backward through the graph a second time (or directly access saved \
                 tensors after they have already been freed). Saved intermediate values of the graph are freed when \
                 you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through \
                 the graph a second time or if you need to access saved tensors after calling backward."
                .into(),
            GradCause::ModifiedInPlace { dtype, device, shape, of, version, expected, watched, .. } => {
                let of = of.map(|of| format!(", which is output 0 of {of},")).unwrap_or_default();
                let module = if device.is_cuda() { "torch.cuda" } else { "torch" };
                let advice = if *watched {
                    "the backtrace further above shows the operation that failed to compute its gradient. The variable \
                     in question was changed in there or anywhere later. Good luck!"
                } else {
                    "enable anomaly detection to find the operation that failed to compute its gradient, with \
                     torch.autograd.set_detect_anomaly(True, check_nan=False)."
                };
                format!(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: \
                     [{module}.{}Tensor {}]{of} is at version {version}; expected version \
                     {expected} instead. Hint: {advice}",
                    dtype.type_name(),
                    show(shape)
                )
            }
        }
    }

    /// What to do about it, where that can be said.
    pub(super) fn hint(&self) -> Option<String> {
        Some(match self {
            GradCause::RequiresGradDtype => {
                "make it a float first: `tensor(…, #{dtype: float32})` or `.float()`".into()
            }
            GradCause::InplaceLeaf => {
                "wrap it: `with no_grad() { w -= lr * w.grad }`; `w = w - …` would make another tensor, which no network has".into()
            }
            GradCause::ModifiedInPlace { is_trained: true, .. } => {
                "an optimiser's `step()`, or a line such as `w -= …`, changed a parameter after the forward pass that used it: \
                 all `backward()` calls stand before `step()`, or the forward pass is run again behind it"
                    .into()
            }
            GradCause::ModifiedInPlace { .. } => {
                "write `y = y + …` instead of `y += …`, or change a copy: `y.clone()`".into()
            }
            GradCause::BackwardTwice => {
                "pass `#{retain_graph: true}` to the first pass, or compute the value anew; what a loop carries on from one \
                 round to the next has the graph of all rounds: `h = h.detach()` cuts it off"
                    .into()
            }
            GradCause::NoGradFn => {
                "create a leaf with `#{requires_grad: true}` and compute with it outside `no_grad()`".into()
            }
            GradCause::NonScalarBackward => {
                "reduce to one number (`.sum()`, `.mean()`), or pass a gradient: `y.backward(g)`, where `()` is none".into()
            }
            GradCause::InplaceExpanded => {
                "its elements share their memory, as `expand` repeats without copying: write to a copy, `x.clone()`".into()
            }
            GradCause::InplaceOverlap => {
                "what is read would change while it is written: read a copy, such as `x.add_(y.clone())`".into()
            }
        })
    }
}

//! The kernels of a real GPU: which ones carry a launch out, and with what arguments. Their text is in `kernels/`.

mod args;
mod attention;
mod bag;
mod batch_norm;
mod cases;
mod cell;
mod compute;
mod convolution;
mod create;
pub(super) mod factor;
mod form;
mod index;
mod key;
mod lines;
mod loss;
mod map;
mod matmul;
mod operands;
mod optimise;
mod places;
mod plan;
mod pooling;
mod recipe;
mod reduce;
mod sort;
mod tensor_map;
mod turn;
mod walk;

#[cfg(test)]
mod tests;

use crate::device::kernel::{Kernel, Launch};

use attention::AttentionForm;
use bag::BagForm;
use batch_norm::BatchNormForm;
use cell::CellForm;
use convolution::ConvForm;
use create::CreateForm;
use factor::FactorForm;
use index::IndexForm;
use lines::LineForm;
use loss::LossForm;
use map::MapForm;
use matmul::MatmulForm;
use optimise::OptimiseForm;
use places::PlacesForm;
use pooling::PoolForm;
use reduce::ReduceForm;
use sort::SortForm;
use turn::TurnForm;

pub use args::Args;
pub use key::Key;
pub use plan::Step;
pub(crate) use plan::{Gpu, Plan};
pub use tensor_map::{EncodedMap, TensorMap};

/// Each kernel that there is, for each dtype that has it; of mixtures of dtypes one of each kind: a machine with a
/// compiler alone can say whether all of them compile.
pub fn every() -> impl Iterator<Item = Key> {
    let families = [
        MapForm::every,
        TurnForm::every,
        CreateForm::every,
        ReduceForm::every,
        LineForm::every,
        BagForm::every,
        BatchNormForm::every,
        IndexForm::every,
        LossForm::every,
        OptimiseForm::every,
        PoolForm::every,
        MatmulForm::every,
        ConvForm::every,
        SortForm::every,
        PlacesForm::every,
        AttentionForm::every,
        CellForm::every,
        FactorForm::every,
    ];
    let forms = families.into_iter().flat_map(|family| family());
    forms.flat_map(|(form, cases)| cases.types().map(move |types| Key { form, types }))
}

/// Bytes of device memory that a launch needs beside its inputs and outputs.
pub(crate) fn scratch_bytes(launch: &Launch, gpu: &Gpu) -> usize {
    match launch.kernel {
        Kernel::Reduce { op, dims } => reduce::scratch_bytes(launch, gpu, reduce::ReduceJob::of(*op), *dims),
        Kernel::ArgReduce { max, dim } => {
            reduce::scratch_bytes(launch, gpu, reduce::ReduceJob::place(*max), 1 << dim)
        }
        Kernel::Sort { dim, .. } => sort::scratch_bytes(launch, gpu, *dim),
        Kernel::Scan { dim, .. } => lines::scan_scratch(launch, gpu, *dim),
        Kernel::Places => places::scratch_bytes(launch, gpu),
        Kernel::AttentionGrad { .. } => attention::scratch_bytes(launch),
        Kernel::IndexAdd { dim } => index::add_scratch(launch, gpu, *dim),
        Kernel::Scatter { mode, .. } => index::scatter_scratch(launch, gpu, *mode),
        Kernel::LayerNormGrad { .. } => lines::scratch_bytes(launch, gpu),
        Kernel::BatchNorm { .. } => batch_norm::scratch_bytes(launch, gpu, 0),
        Kernel::BatchNormGrad { .. } => batch_norm::scratch_bytes(launch, gpu, 1),
        Kernel::Conv2dGradWeight(conv) => convolution::scratch_bytes(launch, gpu, conv),
        _ => 0,
    }
}

/// The kernels that carry a launch out, in order, on one stream; `None` where there is no kernel. `scratch` is the
/// address of memory of [`scratch_bytes`].
///
/// Nothing is checked of what lies in memory: an index outside its dimension stops the device, and an integer
/// divided by zero gives 0.
pub(crate) fn plan(launch: &Launch, gpu: &Gpu, scratch: u64) -> Option<Plan> {
    if !launch.outputs.is_empty() && launch.outputs.iter().all(|v| v.layout.numel() == 0) {
        return Some(Plan::default());
    }
    match launch.kernel {
        Kernel::Map { op, params, compute } => map::plan(launch, *op, *params, *compute),
        Kernel::Join { dim } => map::join(launch, *dim),
        Kernel::Arange { start, step } => create::arange(launch, *start, *step),
        Kernel::Triangle { upper, diagonal } => create::triangle(launch, *upper, *diagonal),
        Kernel::Random(random) => create::random(launch, random),
        Kernel::Reduce { op, dims } => reduce::plan(launch, gpu, scratch, reduce::ReduceJob::of(*op), *dims),
        Kernel::ArgReduce { max, dim } => {
            reduce::plan(launch, gpu, scratch, reduce::ReduceJob::place(*max), 1u64.checked_shl(*dim as u32)?)
        }
        Kernel::Scan { op, dim } => lines::scan(launch, gpu, scratch, *op, *dim),
        Kernel::Places => places::plan(launch, gpu, scratch),
        Kernel::Attention { scale, causal } => attention::forward(launch, gpu, *causal, *scale),
        Kernel::AttentionGrad { scale, causal } => attention::backward(launch, gpu, scratch, *causal, *scale),
        Kernel::LstmCell => cell::forward(launch),
        Kernel::LstmCellGrad => cell::backward(launch),
        Kernel::Softmax { form, dim } => lines::softmax(launch, gpu, *form, *dim),
        Kernel::SoftmaxGrad { log, dim } => lines::softmax_grad(launch, gpu, *log, *dim),
        Kernel::LayerNorm { eps, .. } => lines::layer_norm(launch, *eps),
        Kernel::LayerNormGrad { affine } => lines::layer_norm_grad(launch, gpu, scratch, *affine),
        Kernel::BatchNorm { eps, momentum } => batch_norm::forward(launch, gpu, scratch, *eps, *momentum),
        Kernel::BatchNormGrad { training } => batch_norm::backward(launch, gpu, scratch, *training),
        Kernel::NllLoss { reduction, ignore_index } => loss::nll(launch, *reduction, *ignore_index),
        Kernel::NllLossGrad { reduction, ignore_index } => loss::nll_grad(launch, *reduction, *ignore_index),
        Kernel::IndexSelect { dim, from_end } => index::select(launch, *dim, *from_end),
        Kernel::EmbeddingBag { mode, padding } => bag::plan(launch, *mode, *padding),
        Kernel::IndexAdd { dim } => index::add(launch, gpu, scratch, *dim),
        Kernel::Gather { dim } => index::gather(launch, *dim),
        Kernel::Scatter { dim, mode } => index::scatter(launch, gpu, scratch, *dim, *mode),
        Kernel::Sgd { .. } => optimise::sgd(launch),
        Kernel::Adam { .. } => optimise::adam(launch),
        Kernel::Unscale => optimise::unscale(launch),
        Kernel::UpdateScale { growth, backoff, interval } => {
            optimise::update_scale(launch, *growth, *backoff, *interval)
        }
        Kernel::MaxPool2d(_) | Kernel::MaxPool2dGrad(_) | Kernel::AvgPool2d(_) | Kernel::AvgPool2dGrad(_) => {
            pooling::plan(launch)
        }
        Kernel::Matmul { alpha, beta } => matmul::plan(launch, *alpha, *beta),
        Kernel::Conv2d(conv) => convolution::forward(launch, conv),
        Kernel::Conv2dGradInput(conv) => convolution::by_input(launch, conv),
        Kernel::Conv2dGradWeight(conv) => convolution::by_weight(launch, gpu, scratch, conv),
        Kernel::Sort { dim, descending } => sort::plan(launch, gpu, scratch, *dim, *descending),
        Kernel::Factor(_) | Kernel::Kth { .. } | Kernel::Whole { .. } => None,
    }
}

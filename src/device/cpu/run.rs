//! Which function computes which kernel.

use crate::base::Result;

use super::super::kernel::{Kernel, Launch};
use super::super::scalar::MapOp;
use super::{
    attention, batch_norm, cell, convolution, copy, create, factor, index, loss, loss_scale, map, matmul,
    normalise, optimise, places, pooling, random, reduce, scan, softmax, sort,
};

/// Computes a launch on the host's memory behind its views.
pub fn run(launch: &Launch) -> Result<()> {
    run_in_order(launch, None)
}

/// [`run`], where the parts of sums to which a GPU's threads add one by one come in the order that `chance` stands for.
pub(crate) fn run_in_order(launch: &Launch, chance: Option<u64>) -> Result<()> {
    launch.cancel.check()?;
    match launch.kernel {
        Kernel::Map { op: MapOp::Identity, .. } => copy::copy(launch),
        Kernel::Join { dim } => copy::join(launch, *dim),
        Kernel::Map { op, params, compute } => map::map(launch, *op, *params, *compute),
        Kernel::Reduce { op, dims } => reduce::reduce(launch, *op, *dims),
        Kernel::ArgReduce { max, dim } => reduce::arg_reduce(launch, *max, *dim),
        Kernel::Attention { scale, causal } => attention::attention(launch, *causal, *scale),
        Kernel::AttentionGrad { scale, causal } => attention::attention_grad(launch, *causal, *scale),
        Kernel::LstmCell => cell::lstm(launch),
        Kernel::LstmCellGrad => cell::lstm_grad(launch),
        Kernel::Softmax { form, dim } => softmax::softmax(launch, *form, *dim),
        Kernel::SoftmaxGrad { log, dim } => softmax::softmax_grad(launch, *log, *dim),

        Kernel::Arange { start, step } => create::arange(launch, *start, *step),
        Kernel::Triangle { upper, diagonal } => create::triangle(launch, *upper, *diagonal),
        Kernel::Scan { op, dim } => scan::scan(launch, *op, *dim),
        Kernel::Places => places::places(launch),
        Kernel::Sort { dim, descending } => sort::sort(launch, *dim, *descending),
        Kernel::Kth { dim, kth } => sort::kth::kth(launch, *dim, *kth),
        Kernel::Factor(what) => factor::factor(launch, *what),
        Kernel::Random(what) => random::random(launch, what),
        Kernel::Matmul { alpha, beta } => matmul::matmul(launch, *alpha, *beta),
        Kernel::LayerNorm { eps, .. } => normalise::layer_norm(launch, *eps),
        Kernel::LayerNormGrad { affine } => normalise::layer_norm_grad(launch, *affine),
        Kernel::BatchNorm { eps, momentum } => batch_norm::batch_norm(launch, *eps, *momentum),
        Kernel::BatchNormGrad { training } => batch_norm::batch_norm_grad(launch, *training),
        Kernel::NllLoss { reduction, ignore_index } => loss::nll_loss(launch, *reduction, *ignore_index),
        Kernel::NllLossGrad { reduction, ignore_index } => {
            loss::nll_loss_grad(launch, *reduction, *ignore_index)
        }
        Kernel::IndexSelect { dim, from_end } => index::index_select(launch, *dim, *from_end),
        Kernel::EmbeddingBag { mode, padding } => index::bags::embedding_bag(launch, *mode, *padding),
        Kernel::IndexAdd { dim } => index::rows::index_add(launch, *dim, chance),
        Kernel::Gather { dim } => index::gather(launch, *dim),
        Kernel::Scatter { dim, mode } => index::scatter::scatter(launch, *dim, *mode, chance),
        Kernel::Conv2d(conv) => convolution::conv2d(launch, conv),
        Kernel::Conv2dGradInput(conv) => convolution::conv2d_grad_input(launch, conv),
        Kernel::Conv2dGradWeight(conv) => convolution::conv2d_grad_weight(launch, conv, chance),
        Kernel::MaxPool2d(window) => pooling::max_pool(launch, window),
        Kernel::MaxPool2dGrad(window) => pooling::max_pool_grad(launch, window),
        Kernel::AvgPool2d(window) => pooling::avg_pool(launch, window),
        Kernel::AvgPool2dGrad(window) => pooling::avg_pool_grad(launch, window),
        Kernel::Sgd { lr, momentum, dampening, weight_decay, nesterov, maximize, first } => {
            let (lr, momentum, dampening, weight_decay) = (*lr, *momentum, *dampening, *weight_decay);
            let (nesterov, maximize, first) = (*nesterov, *maximize, *first);
            optimise::sgd(
                launch,
                optimise::Sgd { lr, momentum, dampening, weight_decay, nesterov, maximize, first },
            )
        }
        Kernel::Adam { lr, beta1, beta2, eps, weight_decay, decoupled, maximize, step } => {
            let (lr, beta1, beta2, eps, weight_decay) = (*lr, *beta1, *beta2, *eps, *weight_decay);
            let (decoupled, maximize, step) = (*decoupled, *maximize, *step);
            optimise::adam(
                launch,
                optimise::Adam { lr, beta1, beta2, eps, weight_decay, decoupled, maximize, step },
            )
        }
        Kernel::Unscale => loss_scale::unscale(launch),
        Kernel::Whole { .. } => Ok(()),
        Kernel::UpdateScale { growth, backoff, interval } => {
            loss_scale::update(launch, *growth, *backoff, *interval)
        }
    }
}

//! Which function computes which kernel.

use crate::base::{Error, Kind, Result};

use super::super::kernel::{Kernel, Launch};
use super::super::scalar::MapOp;
use super::{copy, map, reduce, softmax};

/// Computes a launch on the host's memory behind its views.
pub fn run(launch: &Launch) -> Result<()> {
    launch.cancel.check()?;
    match launch.kernel {
        Kernel::Map { op: MapOp::Identity, .. } => copy::copy(launch),
        Kernel::Map { op, params, compute } => map::map(launch, *op, *params, *compute),
        Kernel::Reduce { op, dims } => reduce::reduce(launch, *op, *dims),
        Kernel::ArgReduce { max, dim } => reduce::arg_reduce(launch, *max, *dim),
        Kernel::Softmax { log, dim } => softmax::softmax(launch, *log, *dim),
        Kernel::SoftmaxGrad { log, dim } => softmax::softmax_grad(launch, *log, *dim),

        Kernel::Arange { .. } => absent(launch),
        Kernel::Triangle { .. } => absent(launch),
        Kernel::Scan { .. } => absent(launch),
        Kernel::Sort { .. } => absent(launch),
        Kernel::Random(_) => absent(launch),
        Kernel::Matmul { .. } => absent(launch),
        Kernel::LayerNorm { .. } => absent(launch),
        Kernel::LayerNormGrad { .. } => absent(launch),
        Kernel::NllLoss { .. } => absent(launch),
        Kernel::NllLossGrad { .. } => absent(launch),
        Kernel::IndexSelect { .. } => absent(launch),
        Kernel::IndexAdd { .. } => absent(launch),
        Kernel::Gather { .. } => absent(launch),
        Kernel::Scatter { .. } => absent(launch),
        Kernel::Conv2d(_) => absent(launch),
        Kernel::Conv2dGradInput(_) => absent(launch),
        Kernel::Conv2dGradWeight(_) => absent(launch),
        Kernel::MaxPool2d(_) => absent(launch),
        Kernel::MaxPool2dGrad(_) => absent(launch),
        Kernel::AvgPool2d(_) => absent(launch),
        Kernel::AvgPool2dGrad(_) => absent(launch),
        Kernel::Sgd { .. } => absent(launch),
        Kernel::Adam { .. } => absent(launch),
    }
}

#[cold]
fn absent(launch: &Launch) -> Result<()> {
    let name = launch.kernel.name();
    Err(Error::new(
        Kind::NotImplementedError,
        format!("{name} (for {}) is not implemented on cpu", launch.op),
    ))
}

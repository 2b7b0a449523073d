//! Which function computes which kernel.

use crate::base::{Error, Kind, Result};

use super::super::kernel::{Kernel, Launch};
use super::super::scalar::MapOp;
use super::{copy, map};
use super::{create, matmul, scan, sort};

/// Computes a launch on the host's memory behind its views.
pub fn run(launch: &Launch) -> Result<()> {
    launch.cancel.check()?;
    match launch.kernel {
        Kernel::Map { op: MapOp::Identity, .. } => copy::copy(launch),
        Kernel::Map { op, params, compute } => map::map(launch, *op, *params, *compute),
        Kernel::Reduce { .. } => absent(launch),
        Kernel::ArgReduce { .. } => absent(launch),
        Kernel::Softmax { .. } => absent(launch),
        Kernel::SoftmaxGrad { .. } => absent(launch),

        Kernel::Arange { start, step } => create::arange(launch, *start, *step),
        Kernel::Triangle { upper, diagonal } => create::triangle(launch, *upper, *diagonal),
        Kernel::Scan { op, dim } => scan::scan(launch, *op, *dim),
        Kernel::Sort { dim, descending } => sort::sort(launch, *dim, *descending),
        Kernel::Random(_) => absent(launch),
        Kernel::Matmul { alpha, beta } => matmul::matmul(launch, *alpha, *beta),
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

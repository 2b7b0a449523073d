//! Instance normalisation layers.

use crate::base::{Error, Result};
use crate::nn::made::{Made, constructor};
use crate::op::def::DefaultValue;
use crate::op::normalise::batch_norm::BatchNorm;
use crate::op::normalise::instance_norm::instance_norm;
use crate::op::params::{OfWeights, by_name, kind, params};
use crate::op::shape::view::{squeeze, unsqueeze};
use crate::op::{OpDef, Value};
use crate::tensor::Tensor;

use super::module::{Call, Layer, Module};
use super::normalise::{ChannelNorm, Momentum};

struct Instance(ChannelNorm);

impl Layer for Instance {
    fn name(&self) -> &str {
        match self.0.dims {
            1 => "InstanceNorm1d",
            2 => "InstanceNorm2d",
            _ => "InstanceNorm3d",
        }
    }

    fn options(&self, module: &Module) -> String {
        self.0.options(module)
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        let x = call.only()?;
        let alone = self.0.dims + 1;
        if x.rank() != alone && x.rank() != alone + 1 {
            let text = format!("expected {alone}D or {}D input (got {}D input)", alone + 1, x.rank());
            return Err(Error::value(text));
        }
        let dim = x.rank() - alone;
        let channels = x.size(dim as i64)?;
        if channels != self.0.features && self.0.affine {
            return Err(Error::value(format!(
                "expected input's size at dim={dim} to match num_features ({}), but got: {channels}.",
                self.0.features
            )));
        }
        if channels != self.0.features {
            x.context().shared.warn_once(&format!(
                "input's size at dim={dim} does not match num_features. You can silence this warning by not passing in \
                 num_features, which is not used because affine=False"
            ));
        }
        let run = |norm: &BatchNorm| match dim {
            0 => squeeze(&instance_norm(&unsqueeze(x, 0)?, norm)?, Some(&[0])),
            _ => instance_norm(x, norm),
        };
        self.0.normalise(call.module, self.0.momentum.unwrap_or(0.0), run)
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        self.0.attribute(name)
    }
}

params! {
    InstanceNormParams {
        num_features: kind::Size, "how many channels an input has";
        eps: kind::Float = 1e-5, "a small number that is added to the variance, so that nothing is divided by 0";
        momentum: Momentum => DefaultValue::Float(0.1), "the share of a new batch in the running statistics";
        affine: OfWeights<kind::Bool> = false, "whether each channel is multiplied by a trained weight";
        track_running_stats: kind::Bool = false, "whether statistics of batches are kept for use after `eval()`";
        ..made: Made;
        bias: OfWeights<kind::Bool> = true, "whether a trained number is added to each channel, where it is affine";
    }
}

fn make(a: InstanceNormParams, dims: usize) -> Result<Value> {
    let norm = ChannelNorm {
        dims,
        features: a.num_features,
        eps: a.eps,
        momentum: a.momentum,
        affine: a.affine,
        tracks: a.track_running_stats,
    };
    let parts = norm.parts(a.bias, a.made.dtype())?;
    a.made.place(Module::new(Instance(norm), parts)?)
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "InstanceNorm1d",
        "Normalises each channel of each example of `[n, c, l]` or `[c, l]`.",
        InstanceNormParams::LIST,
        by_name!(InstanceNormParams, |a| make(a, 1)),
    )
    .shapes("(N, C, L) or (C, L) -> the same")
    .errors(&[
        "ValueError: the input has other dimensions",
        "ValueError: a channel of an example has a single place while its own statistics count",
        "RuntimeError: `num_features` is negative",
        "RuntimeError: the input holds integers or bools",
    ])
    .example(
        "nn::InstanceNorm1d(3)",
        "InstanceNorm1d(3, eps=1e-05, momentum=0.1, affine=False, bias=False, track_running_stats=False)",
    ),
    constructor(
        "InstanceNorm2d",
        "Normalises each channel of each example of `[n, c, h, w]` or `[c, h, w]`.",
        InstanceNormParams::LIST,
        by_name!(InstanceNormParams, |a| make(a, 2)),
    )
    .details("With `track_running_stats` it normalises by the running statistics after `eval()`.")
    .shapes("(N, C, H, W) or (C, H, W) -> the same")
    .errors(&[
        "ValueError: the input has other dimensions",
        "ValueError: a channel of an example has a single place while its own statistics count",
        "RuntimeError: `num_features` is negative",
    ])
    .example(
        "nn::InstanceNorm2d(3, #{affine: true})",
        "InstanceNorm2d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=False)",
    ),
    constructor(
        "InstanceNorm3d",
        "Normalises each channel of each example of `[n, c, d, h, w]` or `[c, d, h, w]`.",
        InstanceNormParams::LIST,
        by_name!(InstanceNormParams, |a| make(a, 3)),
    )
    .details("With `track_running_stats` it normalises by the running statistics after `eval()`.")
    .shapes("(N, C, D, H, W) or (C, D, H, W) -> the same")
    .errors(&[
        "ValueError: the input has other dimensions",
        "ValueError: a channel of an example has a single place while its own statistics count",
        "RuntimeError: `num_features` is negative",
    ])
    .example(
        "nn::InstanceNorm3d(3, #{affine: true})",
        "InstanceNorm3d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=False)",
    ),
];

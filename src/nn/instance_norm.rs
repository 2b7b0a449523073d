//! Instance normalisation layers.

use crate::base::{DType, Error, Result, Scalar, python};
use crate::op::batch_norm::BatchNorm;
use crate::op::def::DefaultValue;
use crate::op::instance_norm::instance_norm;
use crate::op::movement::{squeeze, unsqueeze};
use crate::op::{Args, OpDef, Param, ParamKind, Value};
use crate::tensor::Tensor;

use super::init;
use super::linear::{BIAS, DEVICE, DTYPE, constructor};
use super::module::{Call, Layer, Module, Parts, size};

struct Instance {
    /// Spatial dimensions of the class's name: 1 or 2.
    dims: usize,
    features: usize,
    eps: f64,
    momentum: Option<f64>,
    affine: bool,
    tracks: bool,
}

impl Layer for Instance {
    fn name(&self) -> &str {
        if self.dims == 1 { "InstanceNorm1d" } else { "InstanceNorm2d" }
    }

    fn options(&self, module: &Module) -> String {
        format!(
            "{}, eps={}, momentum={}, affine={}, bias={}, track_running_stats={}",
            self.features,
            python::float(self.eps),
            self.momentum.map_or_else(|| "None".into(), python::float),
            python::bool(self.affine),
            python::bool(module.tensor("bias").is_some()),
            python::bool(self.tracks)
        )
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        let (x, module) = (call.only()?, call.module);
        let alone = self.dims + 1;
        if x.rank() != alone && x.rank() != alone + 1 {
            let text = format!("expected {alone}D or {}D input (got {}D input)", alone + 1, x.rank());
            return Err(Error::value(text));
        }
        let dim = x.rank() - alone;
        let channels = x.size(dim as i64)?;
        if channels != self.features && self.affine {
            return Err(Error::value(format!(
                "expected input's size at dim={dim} to match num_features ({}), but got: {channels}.",
                self.features
            )));
        }
        if channels != self.features {
            x.context().shared.warn(&format!(
                "input's size at dim={dim} does not match num_features. You can silence this warning by not passing in \
                 num_features, which is not used because affine=False"
            ));
        }
        let (mean, variance) = (module.tensor("running_mean"), module.tensor("running_var"));
        let (weight, bias) = (module.tensor("weight"), module.tensor("bias"));
        let norm = BatchNorm {
            running_mean: mean.as_ref(),
            running_var: variance.as_ref(),
            weight: weight.as_ref(),
            bias: bias.as_ref(),
            training: module.training() || !self.tracks,
            momentum: self.momentum.unwrap_or(0.0),
            eps: self.eps,
        };
        if dim == 0 {
            return squeeze(&instance_norm(&unsqueeze(x, 0)?, &norm)?, Some(&[0]));
        }
        instance_norm(x, &norm)
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        Some(match name {
            "num_features" => Value::Scalar((self.features as i64).into()),
            "eps" => Value::Scalar(self.eps.into()),
            "momentum" => self.momentum.map_or(Value::None, |m| Value::Scalar(m.into())),
            "affine" => Value::Scalar(self.affine.into()),
            "track_running_stats" => Value::Scalar(self.tracks.into()),
            _ => return None,
        })
    }
}

fn make(a: &Args, dims: usize) -> Result<Value> {
    let (features, eps) = (size(a, 0)?, a.float(1)?);
    let momentum = match a.get(2) {
        Value::None => None,
        Value::Scalar(s) => Some(Scalar::as_f64(*s)),
        other => return Err(a.wrong(2, other)),
    };
    let (affine, tracks, bias) = (a.bool(3)?, a.bool(4)?, a.bool(7)?);
    let dtype = a.dtype(6).unwrap_or(DType::Float32);
    let made = |wanted: bool, value: f64, dtype: DType, shape: &[usize]| {
        if wanted { init::full(shape, value, dtype).map(Some) } else { Ok(None) }
    };
    let parts = Parts::new()
        .parameter("weight", made(affine, 1.0, dtype, &[features])?)
        .parameter("bias", made(affine && bias, 0.0, dtype, &[features])?)
        .buffer("running_mean", made(tracks, 0.0, dtype, &[features])?)
        .buffer("running_var", made(tracks, 1.0, dtype, &[features])?)
        .buffer("num_batches_tracked", made(tracks, 0.0, DType::Int64, &[])?);
    let layer = Instance { dims, features, eps, momentum, affine, tracks };
    Module::new(layer, parts)?.placed(a.device(5)).map(Module::into_value)
}

const PARAMS: &[Param] = &[
    Param::required("num_features", ParamKind::Int),
    Param::optional("eps", ParamKind::Float, DefaultValue::Float(1e-5)),
    Param::optional("momentum", ParamKind::Any, DefaultValue::Float(0.1)),
    Param::optional("affine", ParamKind::Bool, DefaultValue::Bool(false)),
    Param::optional("track_running_stats", ParamKind::Bool, DefaultValue::Bool(false)),
    DEVICE,
    DTYPE,
    BIAS,
];

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "InstanceNorm1d",
        "Normalises each channel of each example of `[n, c, l]` or `[c, l]`.",
        PARAMS,
        |a| make(a, 1),
    )
    .example(
        "nn::InstanceNorm1d(3)",
        "InstanceNorm1d(3, eps=1e-05, momentum=0.1, affine=False, bias=False, track_running_stats=False)",
    ),
    constructor(
        "InstanceNorm2d",
        "Normalises each channel of each example of `[n, c, h, w]` or `[c, h, w]`.",
        PARAMS,
        |a| make(a, 2),
    )
    .details("With `track_running_stats` it normalises by the running statistics after `eval()`.")
    .example(
        "nn::InstanceNorm2d(3, #{affine: true})",
        "InstanceNorm2d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=False)",
    ),
];

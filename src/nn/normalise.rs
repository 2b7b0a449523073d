//! Normalisation layers.

use crate::base::{DType, Error, Result, Scalar, python};
use crate::op::batch_norm::{BatchNorm, batch_norm};
use crate::op::binary::specs;
use crate::op::def::DefaultValue;
use crate::op::layer_norm::layer_norm;
use crate::op::normalise::group_norm;
use crate::op::{Args, OpDef, Operand, Param, ParamKind, Value};
use crate::tensor::Tensor;

use super::init;
use super::linear::{BIAS, DEVICE, DTYPE, constructor};
use super::module::{Call, Layer, Module, Parts, size};
use super::show::option;

struct Batch {
    /// Spatial dimensions of the class's name: 1 to 3.
    dims: usize,
    features: usize,
    eps: f64,
    /// `None` averages over all batches seen.
    momentum: Option<f64>,
    affine: bool,
    tracks: bool,
}

impl Batch {
    fn check(&self, x: &Tensor) -> Result<()> {
        let rank = x.rank();
        match self.dims {
            1 if !matches!(rank, 2 | 3) => {
                Err(Error::value(format!("expected 2D or 3D input (got {rank}D input)")))
            }
            2 if rank != 4 => Err(Error::value(format!("expected 4D input (got {rank}D input)"))
                .with_hint("images are `[batch, channels, height, width]`")),
            3 if rank != 5 => Err(Error::value(format!("expected 5D input (got {rank}D input)"))
                .with_hint("volumes are `[batch, channels, depth, height, width]`")),
            _ => Ok(()),
        }
    }

    /// Counts the batch and gives the share it has in the running statistics.
    fn share(&self, module: &Module) -> Result<f64> {
        let Some(count) = module.tensor("num_batches_tracked").filter(|_| module.training()) else {
            return Ok(self.momentum.unwrap_or(0.0));
        };
        specs::Add.apply_in_place(&count, Operand::Scalar(Scalar::Int(1)), [1.0, 0.0])?;
        match self.momentum {
            Some(momentum) => Ok(momentum),
            None => Ok(1.0 / count.item()?.as_f64()),
        }
    }
}

impl Layer for Batch {
    fn name(&self) -> &str {
        match self.dims {
            1 => "BatchNorm1d",
            2 => "BatchNorm2d",
            _ => "BatchNorm3d",
        }
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
        self.check(x)?;
        let momentum = self.share(module)?;
        let (mean, variance) = (module.tensor("running_mean"), module.tensor("running_var"));
        let training = module.training() || mean.is_none();
        let (weight, bias) = (module.tensor("weight"), module.tensor("bias"));
        let norm = BatchNorm {
            running_mean: mean.as_ref(),
            running_var: variance.as_ref(),
            weight: weight.as_ref(),
            bias: bias.as_ref(),
            training,
            momentum,
            eps: self.eps,
        };
        batch_norm(x, &norm)
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

fn make_batch(a: &Args, dims: usize) -> Result<Value> {
    let (features, eps) = (size(a, 0)?, a.float(1)?);
    let momentum = match a.get(2) {
        Value::None => None,
        Value::Scalar(s) => Some(s.as_f64()),
        other => return Err(a.wrong(2, other)),
    };
    let (affine, tracks) = (a.bool(3)?, a.bool(4)?);
    let dtype = a.dtype(7).unwrap_or(DType::Float32);
    let made = |wanted: bool, value: f64, dtype: DType, shape: &[usize]| {
        if wanted { init::full(shape, value, dtype).map(Some) } else { Ok(None) }
    };
    let parts = Parts::new()
        .parameter("weight", made(affine, 1.0, dtype, &[features])?)
        .parameter("bias", made(affine && a.bool(5)?, 0.0, dtype, &[features])?)
        .buffer("running_mean", made(tracks, 0.0, dtype, &[features])?)
        .buffer("running_var", made(tracks, 1.0, dtype, &[features])?)
        .buffer("num_batches_tracked", made(tracks, 0.0, DType::Int64, &[])?);
    let layer = Batch { dims, features, eps, momentum, affine, tracks };
    Module::new(layer, parts)?.placed(a.device(6)).map(Module::into_value)
}

struct LayerNorm {
    shape: Vec<i64>,
    eps: f64,
    affine: bool,
}

impl Layer for LayerNorm {
    fn name(&self) -> &str {
        "LayerNorm"
    }

    fn options(&self, module: &Module) -> String {
        format!(
            "{}, eps={}, elementwise_affine={}, bias={}",
            python::tuple(&self.shape),
            python::float(self.eps),
            python::bool(self.affine),
            python::bool(module.tensor("bias").is_some())
        )
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        let (weight, bias) = (call.module.tensor("weight"), call.module.tensor("bias"));
        layer_norm(call.only()?, &self.shape, weight.as_ref(), bias.as_ref(), self.eps)
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        match name {
            "normalized_shape" => {
                Some(Value::List(self.shape.iter().map(|&d| Value::Scalar(d.into())).collect()))
            }
            "eps" => Some(Value::Scalar(self.eps.into())),
            "elementwise_affine" => Some(Value::Scalar(self.affine.into())),
            _ => None,
        }
    }
}

/// A layer norm over trailing dimensions, with a weight of ones and a bias of zeros where it has them.
pub fn layer_norm_module(shape: &[i64], eps: f64, [affine, bias]: [bool; 2], dtype: DType) -> Result<Module> {
    let sizes = crate::base::shape::checked_sizes(shape)?;
    let weight = if affine { Some(init::full(&sizes, 1.0, dtype)?) } else { None };
    let bias = if affine && bias { Some(init::full(&sizes, 0.0, dtype)?) } else { None };
    let parts = Parts::new().parameter("weight", weight).parameter("bias", bias);
    Module::new(LayerNorm { shape: shape.to_vec(), eps, affine }, parts)
}

fn make_layer_norm(a: &Args) -> Result<Value> {
    let dtype = a.dtype(5).unwrap_or(DType::Float32);
    let module = layer_norm_module(&a.ints(0)?, a.float(1)?, [a.bool(2)?, a.bool(3)?], dtype)?;
    module.placed(a.device(4)).map(Module::into_value)
}

struct GroupNorm {
    groups: i64,
    channels: usize,
    eps: f64,
    affine: bool,
}

impl Layer for GroupNorm {
    fn name(&self) -> &str {
        "GroupNorm"
    }

    fn options(&self, module: &Module) -> String {
        format!(
            "{}, {}, eps={}, affine={}, {}",
            self.groups,
            self.channels,
            python::float(self.eps),
            python::bool(self.affine),
            option("bias", &Value::Scalar(module.tensor("bias").is_some().into()))
        )
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        let (weight, bias) = (call.module.tensor("weight"), call.module.tensor("bias"));
        group_norm(call.only()?, self.groups, weight.as_ref(), bias.as_ref(), self.eps)
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        match name {
            "num_groups" => Some(Value::Scalar(self.groups.into())),
            "num_channels" => Some(Value::Scalar((self.channels as i64).into())),
            "eps" => Some(Value::Scalar(self.eps.into())),
            "affine" => Some(Value::Scalar(self.affine.into())),
            _ => None,
        }
    }
}

fn make_group_norm(a: &Args) -> Result<Value> {
    let (groups, channels, eps, affine) = (a.int(0)?, size(a, 1)?, a.float(2)?, a.bool(3)?);
    if !usize::try_from(groups).is_ok_and(|g| g > 0 && channels.is_multiple_of(g)) {
        let text = format!("num_channels ({channels}) must be divisible by num_groups ({groups})");
        return Err(Error::value(text));
    }
    let dtype = a.dtype(5).unwrap_or(DType::Float32);
    let weight = if affine { Some(init::full(&[channels], 1.0, dtype)?) } else { None };
    let bias = if affine { Some(init::full(&[channels], 0.0, dtype)?) } else { None };
    let parts = Parts::new().parameter("weight", weight).parameter("bias", bias);
    let layer = GroupNorm { groups, channels, eps, affine };
    Module::new(layer, parts)?.placed(a.device(4)).map(Module::into_value)
}

const EPS: Param = Param::optional("eps", ParamKind::Float, DefaultValue::Float(1e-5));
const AFFINE: Param = Param::optional("affine", ParamKind::Bool, DefaultValue::Bool(true));
const BATCH: &[Param] = &[
    Param::required("num_features", ParamKind::Int),
    EPS,
    Param::optional("momentum", ParamKind::Any, DefaultValue::Float(0.1)),
    AFFINE,
    Param::optional("track_running_stats", ParamKind::Bool, DefaultValue::Bool(true)),
    BIAS,
    DEVICE,
    DTYPE,
];

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor("BatchNorm1d", "Normalises each channel over a batch `[n, c]` or `[n, c, l]`.", BATCH, |a| {
        make_batch(a, 1)
    })
    .details(
        "While training by the batch's statistics, which the running ones follow; after `eval()` by the running ones. \
         A `momentum` of () averages over all batches.",
    )
    .example(
        "nn::BatchNorm1d(3)",
        "BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)",
    ),
    constructor("BatchNorm2d", "Normalises each channel over a batch `[n, c, h, w]`.", BATCH, |a| {
        make_batch(a, 2)
    })
    .details(
        "While training by the batch's statistics, which the running ones follow; after `eval()` by the running ones. \
         A `momentum` of () averages over all batches.",
    )
    .example(
        "nn::BatchNorm2d(3, #{affine: false})",
        "BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=False, bias=False, track_running_stats=True)",
    ),
    constructor("BatchNorm3d", "Normalises each channel over a batch `[n, c, d, h, w]`.", BATCH, |a| {
        make_batch(a, 3)
    })
    .details("As `BatchNorm2d`, of volumes.")
    .example(
        "nn::BatchNorm3d(3)",
        "BatchNorm3d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)",
    ),
    constructor(
        "LayerNorm",
        "Normalises over the trailing dimensions.",
        &[
            Param::required("normalized_shape", ParamKind::Ints),
            EPS,
            Param::optional("elementwise_affine", ParamKind::Bool, DefaultValue::Bool(true)),
            BIAS,
            DEVICE,
            DTYPE,
        ],
        make_layer_norm,
    )
    .example("nn::LayerNorm(256)", "LayerNorm((256,), eps=1e-05, elementwise_affine=True, bias=True)"),
    constructor(
        "GroupNorm",
        "Normalises groups of channels per example.",
        &[
            Param::required("num_groups", ParamKind::Int),
            Param::required("num_channels", ParamKind::Int),
            EPS,
            AFFINE,
            DEVICE,
            DTYPE,
        ],
        make_group_norm,
    )
    .example("nn::GroupNorm(2, 4)", "GroupNorm(2, 4, eps=1e-05, affine=True, bias=True)"),
];

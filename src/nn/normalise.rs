//! Normalisation layers.

use crate::base::{DType, Error, Result, Scalar, python};
use crate::nn::made::{Made, constructor};
use crate::op::def::DefaultValue;
use crate::op::elementwise::arithmetic::specs;
use crate::op::normalise::batch_norm::{BatchNorm, batch_norm};
use crate::op::normalise::group_norm::group_norm;
use crate::op::normalise::layer_norm::layer_norm;
use crate::op::params::{OfWeights, by_name, kind, kinds, params};
use crate::op::{Args, OpDef, Operand, Value};
use crate::tensor::Tensor;

use super::init;
use super::module::{Call, Layer, Module, Parts};
use super::show::option;

kinds! {
    /// A number, or () for the mean of all batches.
    pub(super) Momentum(Any) => Option<f64>, |args: &Args, at| match args.get(at) {
        Value::None => Ok(None),
        Value::Scalar(s) => Ok(Some(s.as_f64())),
        other => Err(args.wrong(at, other)),
    };
}

/// What a batch norm has in common with an instance norm: options, and tensors for each channel.
pub(super) struct ChannelNorm {
    /// Spatial dimensions of the class's name: 1 to 3.
    pub(super) dims: usize,
    pub(super) features: usize,
    pub(super) eps: f64,
    /// `None` averages over all batches seen.
    pub(super) momentum: Option<f64>,
    pub(super) affine: bool,
    pub(super) tracks: bool,
}

impl ChannelNorm {
    /// Weight and bias where it is affine, statistics where it tracks them.
    pub(super) fn parts(&self, bias: bool, dtype: DType) -> Result<Parts> {
        let made = |wanted: bool, value: f64, dtype: DType, shape: &[usize]| {
            if wanted { init::full(shape, value, dtype).map(Some) } else { Ok(None) }
        };
        let channels = &[self.features];
        Ok(Parts::new()
            .parameter("weight", made(self.affine, 1.0, dtype, channels)?)
            .parameter("bias", made(self.affine && bias, 0.0, dtype, channels)?)
            .buffer("running_mean", made(self.tracks, 0.0, dtype, channels)?)
            .buffer("running_var", made(self.tracks, 1.0, dtype, channels)?)
            .buffer("num_batches_tracked", made(self.tracks, 0.0, DType::Int64, &[])?))
    }

    pub(super) fn options(&self, module: &Module) -> String {
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

    /// `run` with the module's tensors; by an input's own statistics while training, and where there are no others.
    pub(super) fn normalise(
        &self,
        module: &Module,
        momentum: f64,
        run: impl FnOnce(&BatchNorm) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let (mean, variance) = (module.tensor("running_mean"), module.tensor("running_var"));
        let (weight, bias) = (module.tensor("weight"), module.tensor("bias"));
        run(&BatchNorm {
            running_mean: mean.as_ref(),
            running_var: variance.as_ref(),
            weight: weight.as_ref(),
            bias: bias.as_ref(),
            training: module.training() || mean.is_none(),
            momentum,
            eps: self.eps,
        })
    }

    pub(super) fn attribute(&self, name: &str) -> Option<Value> {
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

struct Batch(ChannelNorm);

impl Batch {
    fn check(&self, x: &Tensor) -> Result<()> {
        let rank = x.rank();
        match self.0.dims {
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
            return Ok(self.0.momentum.unwrap_or(0.0));
        };
        specs::Add.apply_in_place(&count, Operand::Scalar(Scalar::Int(1)), [1.0, 0.0])?;
        match self.0.momentum {
            Some(momentum) => Ok(momentum),
            None => Ok(1.0 / count.item()?.as_f64()),
        }
    }
}

impl Layer for Batch {
    fn name(&self) -> &str {
        match self.0.dims {
            1 => "BatchNorm1d",
            2 => "BatchNorm2d",
            _ => "BatchNorm3d",
        }
    }

    fn options(&self, module: &Module) -> String {
        self.0.options(module)
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        let x = call.only()?;
        self.check(x)?;
        let momentum = self.share(call.module)?;
        self.0.normalise(call.module, momentum, |norm| batch_norm(x, norm))
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        self.0.attribute(name)
    }
}

params! {
    BatchNormParams {
        num_features: kind::Size, "how many channels an input has";
        eps: kind::Float = 1e-5, "a small number that is added to the variance, so that nothing is divided by 0";
        momentum: Momentum => DefaultValue::Float(0.1), "the share of a new batch in the running statistics";
        affine: OfWeights<kind::Bool> = true, "whether each channel is multiplied by a trained weight";
        track_running_stats: kind::Bool = true, "whether statistics of batches are kept for use after `eval()`";
        bias: OfWeights<kind::Bool> = true, "whether a trained number is added to each channel, where it is affine";
        ..made: Made;
    }
}

fn make_batch(a: BatchNormParams, dims: usize) -> Result<Value> {
    let norm = ChannelNorm {
        dims,
        features: a.num_features,
        eps: a.eps,
        momentum: a.momentum,
        affine: a.affine,
        tracks: a.track_running_stats,
    };
    let parts = norm.parts(a.bias, a.made.dtype())?;
    a.made.place(Module::new(Batch(norm), parts)?)
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
pub(crate) fn layer_norm_module(
    shape: &[i64],
    eps: f64,
    [affine, bias]: [bool; 2],
    dtype: DType,
) -> Result<Module> {
    let sizes = crate::base::shape::checked_sizes(shape)?;
    let weight = if affine { Some(init::full(&sizes, 1.0, dtype)?) } else { None };
    let bias = if affine && bias { Some(init::full(&sizes, 0.0, dtype)?) } else { None };
    let parts = Parts::new().parameter("weight", weight).parameter("bias", bias);
    Module::new(LayerNorm { shape: shape.to_vec(), eps, affine }, parts)
}

params! {
    LayerNormParams {
        normalized_shape: kind::Ints, "the sizes of the last dimensions, which are normalised together";
        eps: kind::Float = 1e-5, "a small number that is added to the variance, so that nothing is divided by 0";
        elementwise_affine: OfWeights<kind::Bool> = true, "whether the result is multiplied by trained weights";
        bias: OfWeights<kind::Bool> = true, "whether trained numbers are added, where it is affine";
        ..made: Made;
    }
}

params! {
    GroupNormParams {
        num_groups: kind::Int, "how many groups the channels are divided in";
        num_channels: kind::Size, "how many channels an input has";
        eps: kind::Float = 1e-5, "a small number that is added to the variance, so that nothing is divided by 0";
        affine: OfWeights<kind::Bool> = true, "whether each channel has a trained weight and bias";
        ..made: Made;
        bias: OfWeights<kind::Bool> = true, "whether each channel has a trained bias, where it is affine";
    }
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

fn make_group_norm(a: GroupNormParams) -> Result<Value> {
    let (groups, channels) = (a.num_groups, a.num_channels);
    if !usize::try_from(groups).is_ok_and(|g| g > 0 && channels.is_multiple_of(g)) {
        let text = format!("num_channels ({channels}) must be divisible by num_groups ({groups})");
        return Err(Error::value(text));
    }
    let full =
        |there: bool, value: f64| there.then(|| init::full(&[channels], value, a.made.dtype())).transpose();
    let bias = full(a.affine && a.bias, 0.0)?;
    let parts = Parts::new().parameter("weight", full(a.affine, 1.0)?).parameter("bias", bias);
    a.made.place(Module::new(GroupNorm { groups, channels, eps: a.eps, affine: a.affine }, parts)?)
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor("BatchNorm1d", "Normalises each channel over a batch `[n, c]` or `[n, c, l]`.", BatchNormParams::LIST, by_name!(BatchNormParams, |a| make_batch(a, 1)))
    .details(
        "While training by the batch's statistics, which the running ones follow; after `eval()` by the running ones. \
         A `momentum` of () averages over all batches.",
    )
    .shapes("(N, C) or (N, C, L) -> the same")
    .errors(&[
        "ValueError: the input has other dimensions",
        "ValueError: a channel has a single value while training",
        "RuntimeError: C is not `num_features`",
    ])
    .example(
        "nn::BatchNorm1d(3)",
        "BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)",
    ),
    constructor("BatchNorm2d", "Normalises each channel over a batch `[n, c, h, w]`.", BatchNormParams::LIST, by_name!(BatchNormParams, |a| make_batch(a, 2)))
    .details(
        "While training by the batch's statistics, which the running ones follow; after `eval()` by the running ones. \
         A `momentum` of () averages over all batches.",
    )
    .shapes("(N, C, H, W) -> the same")
    .errors(&[
        "ValueError: the input has other dimensions",
        "ValueError: a channel has a single value while training",
        "RuntimeError: C is not `num_features`",
    ])
    .example(
        "nn::BatchNorm2d(3, #{affine: false})",
        "BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=False, bias=False, track_running_stats=True)",
    ),
    constructor("BatchNorm3d", "Normalises each channel over a batch `[n, c, d, h, w]`.", BatchNormParams::LIST, by_name!(BatchNormParams, |a| make_batch(a, 3)))
    .details("As `BatchNorm2d`, of volumes.")
    .shapes("(N, C, D, H, W) -> the same")
    .errors(&[
        "ValueError: the input has other dimensions",
        "ValueError: a channel has a single value while training",
        "RuntimeError: C is not `num_features`",
    ])
    .example(
        "nn::BatchNorm3d(3)",
        "BatchNorm3d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)",
    ),
    constructor(
        "LayerNorm",
        "Normalises over the trailing dimensions.",
        LayerNormParams::LIST,
        by_name!(LayerNormParams, |a| {
            let affine = [a.elementwise_affine, a.bias];
            a.made.place(layer_norm_module(&a.normalized_shape, a.eps, affine, a.made.dtype())?)
        }),
    )
    .shapes("(…, normalized_shape) -> the same")
    .errors(&["RuntimeError: the input does not end with `normalized_shape`"])
    .example("nn::LayerNorm(256)", "LayerNorm((256,), eps=1e-05, elementwise_affine=True, bias=True)"),
    constructor(
        "GroupNorm",
        "Normalises groups of channels per example.",
        GroupNormParams::LIST,
        by_name!(GroupNormParams, make_group_norm),
    )
    .shapes("(N, C, …) -> the same")
    .errors(&["ValueError: `num_groups` does not divide `num_channels`", "RuntimeError: C is not `num_channels`"])
    .example("nn::GroupNorm(2, 4)", "GroupNorm(2, 4, eps=1e-05, affine=True, bias=True)"),
];

//! Convolution layers.

use crate::base::{DType, Error, Result, python};
use crate::op::convolution::{ConvolutionOptions, Padding, conv1d, conv2d};
use crate::op::def::DefaultValue;
use crate::op::volumes::conv3d;
use crate::op::{Args, OpDef, Param, ParamKind, Value, pad};
use crate::tensor::Tensor;

use super::init;
use super::linear::{BIAS, DEVICE, DTYPE, constructor};
use super::module::{Call, Layer, Module, Parts, size};

struct Convolution {
    dims: usize,
    channels: [usize; 2],
    size: Vec<i64>,
    options: ConvolutionOptions,
    /// `zeros`, or a mode of `F::pad`.
    padding_mode: String,
}

impl Convolution {
    /// The border as `F::pad` takes it: the last dimension first.
    fn border(&self) -> Vec<i64> {
        let sizes: Vec<(i64, i64)> = match &self.options.padding {
            Padding::Valid => vec![(0, 0); self.dims],
            Padding::Sizes(sizes) => sizes.iter().map(|&p| (p, p)).collect(),
            Padding::Same => {
                let spans = self.size.iter().zip(&self.options.dilation);
                let total = |k: i64, d: i64| d.saturating_mul(k - 1);
                spans.map(|(&k, &d)| (total(k, d) / 2, total(k, d) - total(k, d) / 2)).collect()
            }
        };
        sizes.iter().rev().flat_map(|&(before, after)| [before, after]).collect()
    }
}

impl Layer for Convolution {
    fn name(&self) -> &str {
        match self.dims {
            1 => "Conv1d",
            2 => "Conv2d",
            _ => "Conv3d",
        }
    }

    fn options(&self, module: &Module) -> String {
        let ([inputs, outputs], o) = (self.channels, &self.options);
        let mut text = format!(
            "{inputs}, {outputs}, kernel_size={}, stride={}",
            python::tuple(&self.size),
            python::tuple(&o.stride)
        );
        match &o.padding {
            Padding::Sizes(sizes) if sizes.iter().any(|p| *p != 0) => {
                text += &format!(", padding={}", python::tuple(sizes));
            }
            Padding::Same => text += ", padding=same",
            Padding::Valid => text += ", padding=valid",
            Padding::Sizes(_) => {}
        }
        if o.dilation.iter().any(|d| *d != 1) {
            text += &format!(", dilation={}", python::tuple(&o.dilation));
        }
        if o.groups != 1 {
            text += &format!(", groups={}", o.groups);
        }
        if module.tensor("bias").is_none() {
            text += ", bias=False";
        }
        if self.padding_mode != "zeros" {
            text += &format!(", padding_mode={}", self.padding_mode);
        }
        text
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        let run = match self.dims {
            1 => conv1d,
            2 => conv2d,
            _ => conv3d,
        };
        let (weight, bias) = (call.module.needed("weight")?, call.module.tensor("bias"));
        if self.padding_mode == "zeros" {
            return run(call.only()?, &weight, bias.as_ref(), &self.options);
        }
        let wide = pad::pad(call.only()?, &self.border(), &self.padding_mode, 0.0.into())?;
        let options = ConvolutionOptions { padding: Padding::Valid, ..self.options.clone() };
        run(&wide, &weight, bias.as_ref(), &options)
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        let ints = |v: &[i64]| Value::List(v.iter().map(|&i| Value::Scalar(i.into())).collect());
        let int = |n: usize| Value::Scalar((n as i64).into());
        let [inputs, outputs] = self.channels;
        Some(match name {
            "in_channels" => int(inputs),
            "out_channels" => int(outputs),
            "kernel_size" => ints(&self.size),
            "stride" => ints(&self.options.stride),
            "dilation" => ints(&self.options.dilation),
            "groups" => Value::Scalar(self.options.groups.into()),
            "padding_mode" => Value::Str(self.padding_mode.clone()),
            "padding" => match &self.options.padding {
                Padding::Sizes(sizes) => ints(sizes),
                Padding::Same => Value::Str("same".into()),
                Padding::Valid => Value::Str("valid".into()),
            },
            _ => return None,
        })
    }
}

/// One value per dimension: a single one stands for all.
pub(super) fn spread(values: Vec<i64>, dims: usize) -> Vec<i64> {
    match values.as_slice() {
        [one] => vec![*one; dims],
        _ => values,
    }
}

fn make(a: &Args, dims: usize) -> Result<Value> {
    let channels @ [inputs, outputs] = [size(a, 0)?, size(a, 1)?];
    let padding = Padding::from_value(a.get(4)).map_err(|e| match a.get(4) {
        Value::Str(s) => {
            Error::value(format!("Invalid padding string '{s}', should be one of {{'valid', 'same'}}"))
        }
        _ => e,
    })?;
    let padding = match padding {
        Padding::Sizes(sizes) => Padding::Sizes(spread(sizes, dims)),
        other => other,
    };
    let window = spread(a.ints(2)?, dims);
    let options = ConvolutionOptions {
        stride: spread(a.ints(3)?, dims),
        padding,
        dilation: spread(a.ints(5)?, dims),
        groups: a.int(6)?,
    };
    let padding_mode = a.str(8)?.to_string();
    let groups = check(inputs, outputs, &options, &padding_mode)?;
    if window.len() != dims {
        let text = format!("kernel_size must be a number or an array of {dims}, but got {window:?}");
        return Err(Error::value(text));
    }
    let mut shape = vec![outputs, inputs / groups];
    for &k in &window {
        shape.push(
            usize::try_from(k).map_err(|_| Error::value(format!("kernel_size must not be negative: {k}")))?,
        );
    }
    let (weight, bias) = init::layer(&shape, a.bool(7)?, a.dtype(10).unwrap_or(DType::Float32))?;
    let parts = Parts::new().parameter("weight", Some(weight)).parameter("bias", bias);
    let layer = Convolution { dims, channels, size: window, options, padding_mode };
    Module::new(layer, parts)?.placed(a.device(9)).map(Module::into_value)
}

fn check(inputs: usize, outputs: usize, options: &ConvolutionOptions, mode: &str) -> Result<usize> {
    let Some(groups) = usize::try_from(options.groups).ok().filter(|g| *g > 0) else {
        return Err(Error::value("groups must be a positive integer"));
    };
    if !inputs.is_multiple_of(groups) {
        return Err(Error::value("in_channels must be divisible by groups"));
    }
    if !outputs.is_multiple_of(groups) {
        return Err(Error::value("out_channels must be divisible by groups"));
    }
    if options.padding == Padding::Same && options.stride.iter().any(|s| *s != 1) {
        return Err(Error::value("padding='same' is not supported for strided convolutions"));
    }
    if !matches!(mode, "zeros" | "reflect" | "replicate" | "circular") {
        let text = format!(
            "padding_mode must be one of {{'zeros', 'reflect', 'replicate', 'circular'}}, but got padding_mode='{mode}'"
        );
        return Err(Error::value(text));
    }
    Ok(groups)
}

const PARAMS: &[Param] = &[
    Param::required("in_channels", ParamKind::Int),
    Param::required("out_channels", ParamKind::Int),
    Param::required("kernel_size", ParamKind::Ints),
    Param::optional("stride", ParamKind::Ints, DefaultValue::Int(1)),
    Param::optional("padding", ParamKind::Any, DefaultValue::Int(0)),
    Param::optional("dilation", ParamKind::Ints, DefaultValue::Int(1)),
    Param::optional("groups", ParamKind::Int, DefaultValue::Int(1)),
    BIAS,
    Param::optional("padding_mode", ParamKind::Str, DefaultValue::Str("zeros")),
    DEVICE,
    DTYPE,
];

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor("Conv1d", "Slides filters over the last dimension of `[n, channels, length]`.", PARAMS, |a| {
        make(a, 1)
    })
    .example("nn::Conv1d(2, 4, 3)", "Conv1d(2, 4, kernel_size=(3,), stride=(1,))"),
    constructor("Conv2d", "Slides filters over the last two dimensions of `[n, channels, h, w]`.", PARAMS, |a| {
        make(a, 2)
    })
    .details(
        "`padding` is a number, one per dimension, \"same\" or \"valid\"; `padding_mode` says what the border holds: \
         \"zeros\", \"reflect\", \"replicate\" or \"circular\".",
    )
    .example(
        "nn::Conv2d(1, 32, 3, #{padding: 1})",
        "Conv2d(1, 32, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))",
    ),
    constructor(
        "Conv3d",
        "Slides filters over the last three dimensions of `[n, channels, d, h, w]`.",
        PARAMS,
        |a| make(a, 3),
    )
    .details("Its options are those of `Conv2d`, with a number or one per dimension.")
    .example("nn::Conv3d(1, 8, 3)", "Conv3d(1, 8, kernel_size=(3, 3, 3), stride=(1, 1, 1))"),
];

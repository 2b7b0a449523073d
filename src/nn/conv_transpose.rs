//! Transposed convolution layers.

use crate::base::{DType, Error, Result, python};
use crate::op::conv_transpose::conv_transpose;
use crate::op::convolution::{ConvolutionOptions, Padding};
use crate::op::def::DefaultValue;
use crate::op::{Args, OpDef, Param, ParamKind, Value};
use crate::tensor::Tensor;

use super::convolution::spread;
use super::init::{self, kaiming_uniform_};
use super::linear::{BIAS, DEVICE, DTYPE, constructor};
use super::module::{Call, Layer, Module, Parts, call_row, size};

struct ConvTranspose {
    dims: usize,
    channels: [usize; 2],
    size: Vec<i64>,
    padding: Vec<i64>,
    output_padding: Vec<i64>,
    options: ConvolutionOptions,
}

impl ConvTranspose {
    /// What is added on the far side for an output of a given size.
    fn padding_for(&self, x: &Tensor, asked: &[i64]) -> Result<Vec<i64>> {
        let before = if x.rank() == self.dims + 2 { 2 } else { 1 };
        let asked =
            if asked.len() == before + self.dims { asked.get(before..).unwrap_or(&[]) } else { asked };
        if asked.len() != self.dims {
            let text = format!(
                "ConvTranspose{}D: for {}D input, output_size must have {} or {} elements (got {})",
                self.dims,
                x.rank(),
                self.dims,
                before + self.dims,
                asked.len()
            );
            return Err(Error::value(text));
        }
        let inputs: Vec<i64> = x.shape().iter().skip(before).map(|&n| n as i64).collect();
        let options =
            self.options.stride.iter().zip(&self.options.dilation).zip(&self.padding).zip(&self.size);
        let least: Vec<i64> = inputs
            .iter()
            .zip(options)
            .map(|(n, (((s, d), p), k))| (n - 1) * s - 2 * p + d * (k - 1) + 1)
            .collect();
        let most: Vec<i64> = least.iter().zip(&self.options.stride).map(|(n, s)| n + s - 1).collect();
        if asked.iter().zip(least.iter().zip(&most)).any(|(n, (low, high))| n < low || n > high) {
            let text = format!(
                "requested an output size of {asked:?}, but valid sizes range from {least:?} to {most:?} (for an input \
                 of torch.Size({inputs:?}))"
            );
            return Err(Error::value(text));
        }
        Ok(asked.iter().zip(&least).map(|(n, low)| n - low).collect())
    }
}

impl Layer for ConvTranspose {
    fn name(&self) -> &str {
        if self.dims == 1 { "ConvTranspose1d" } else { "ConvTranspose2d" }
    }

    fn options(&self, module: &Module) -> String {
        let ([inputs, outputs], o) = (self.channels, &self.options);
        let mut text = format!(
            "{inputs}, {outputs}, kernel_size={}, stride={}",
            python::tuple(&self.size),
            python::tuple(&o.stride)
        );
        let shown = [
            ("padding", &self.padding, 0),
            ("dilation", &o.dilation, 1),
            ("output_padding", &self.output_padding, 0),
        ];
        for (name, values, usual) in shown {
            if values.iter().any(|v| *v != usual) {
                text += &format!(", {name}={}", python::tuple(values));
            }
        }
        if o.groups != 1 {
            text += &format!(", groups={}", o.groups);
        }
        if module.tensor("bias").is_none() {
            text += ", bias=False";
        }
        text
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        call.responded()
    }

    fn call_row(&self) -> Option<&'static OpDef> {
        static ROW: OpDef = call_row("forward", CALL);
        Some(&ROW)
    }

    fn respond(&self, call: &Call, a: &Args) -> Result<Value> {
        let (weight, bias) = (call.module.needed("weight")?, call.module.tensor("bias"));
        let x = a.tensor(0)?;
        let extra = match a.is_none(1) {
            true => self.output_padding.clone(),
            false => self.padding_for(x, &a.ints(1)?)?,
        };
        conv_transpose(self.dims, x, &weight, bias.as_ref(), &self.options, &extra).map(Value::from)
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
            "padding" => ints(&self.padding),
            "output_padding" => ints(&self.output_padding),
            "dilation" => ints(&self.options.dilation),
            "groups" => Value::Scalar(self.options.groups.into()),
            "padding_mode" => Value::Str("zeros".into()),
            _ => return None,
        })
    }
}

fn make(a: &Args, dims: usize) -> Result<Value> {
    let channels @ [inputs, outputs] = [size(a, 0)?, size(a, 1)?];
    let all = |i: usize| Ok::<_, Error>(spread(a.ints(i)?, dims));
    let groups = usize::try_from(a.int(6)?).ok().filter(|g| *g > 0);
    let groups = groups.ok_or_else(|| Error::value("groups must be a positive integer"))?;
    let name = if dims == 1 { "ConvTranspose1d" } else { "ConvTranspose2d" };
    if a.str(9)? != "zeros" {
        return Err(Error::value(format!("Only \"zeros\" padding mode is supported for {name}")));
    }
    for (channels, which) in [(inputs, "in_channels"), (outputs, "out_channels")] {
        if !channels.is_multiple_of(groups) {
            return Err(Error::value(format!("{which} must be divisible by groups")));
        }
    }
    let window = all(2)?;
    if window.len() != dims {
        let text = format!("kernel_size must be a number or an array of {dims}, but got {window:?}");
        return Err(Error::value(text));
    }
    let mut shape = vec![inputs, outputs / groups];
    for &k in &window {
        let k = usize::try_from(k);
        shape.push(k.map_err(|_| Error::value("kernel_size must not be negative"))?);
    }
    let options = ConvolutionOptions {
        stride: all(3)?,
        padding: Padding::Sizes(all(4)?),
        dilation: all(8)?,
        groups: groups as i64,
    };
    let dtype = a.dtype(11).unwrap_or(DType::Float32);
    let weight = init::empty(&shape, dtype)?;
    if weight.numel() > 0 {
        kaiming_uniform_(&weight, 5f64.sqrt(), true, "leaky_relu")?;
    }
    // What a weight's second dimension and window make is its fan-in here, too.
    let fan_in: usize = shape.iter().skip(1).product();
    let bound = if fan_in > 0 { 1.0 / (fan_in as f64).sqrt() } else { 0.0 };
    let bias = if a.bool(7)? { Some(init::uniform(&[outputs], -bound, bound, dtype)?) } else { None };
    let parts = Parts::new().parameter("weight", Some(weight)).parameter("bias", bias);
    let (padding, output_padding) = (all(4)?, all(5)?);
    let layer = ConvTranspose { dims, channels, size: window, padding, output_padding, options };
    Module::new(layer, parts)?.placed(a.device(10)).map(Module::into_value)
}

const CALL: &[Param] = &[
    Param::required("input", ParamKind::Tensor),
    Param::optional("output_size", ParamKind::Ints, DefaultValue::None),
];

const PARAMS: &[Param] = &[
    Param::required("in_channels", ParamKind::Int),
    Param::required("out_channels", ParamKind::Int),
    Param::required("kernel_size", ParamKind::Ints),
    Param::optional("stride", ParamKind::Ints, DefaultValue::Int(1)),
    Param::optional("padding", ParamKind::Ints, DefaultValue::Int(0)),
    Param::optional("output_padding", ParamKind::Ints, DefaultValue::Int(0)),
    Param::optional("groups", ParamKind::Int, DefaultValue::Int(1)),
    BIAS,
    Param::optional("dilation", ParamKind::Ints, DefaultValue::Int(1)),
    Param::optional("padding_mode", ParamKind::Str, DefaultValue::Str("zeros")),
    DEVICE,
    DTYPE,
];

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor("ConvTranspose1d", "Spreads each place of `[n, channels, length]` over a window.", PARAMS, |a| {
        make(a, 1)
    })
    .details("`layer.forward(x, output_size)` chooses among the sizes that a stride leaves open.")
    .example(
        "nn::ConvTranspose1d(2, 4, 3, #{stride: 2})",
        "ConvTranspose1d(2, 4, kernel_size=(3,), stride=(2,))",
    ),
    constructor("ConvTranspose2d", "Spreads each place of `[n, channels, h, w]` over a window.", PARAMS, |a| {
        make(a, 2)
    })
    .details("It makes images larger: `stride: 2` doubles them. `layer.forward(x, output_size)` chooses among the sizes \
              that a stride leaves open.")
    .example(
        "nn::ConvTranspose2d(8, 3, 2, #{stride: 2}).forward(ones([1, 8, 5, 5])).shape",
        "[1, 3, 10, 10]",
    ),
];

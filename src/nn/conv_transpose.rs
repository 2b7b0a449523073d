//! Transposed convolution layers.

use crate::base::{Error, Result};
use crate::nn::made::{Made, constructor};
use crate::op::convolution::conv::Padding;
use crate::op::convolution::transposed::conv_transpose;
use crate::op::convolution::transposed_volumes::conv_transpose3d;
use crate::op::params::{Maybe, OfWeights, by_name, kind, params};
use crate::op::{Args, OpDef, Value, shapes};
use crate::tensor::Tensor;

use super::convolution::{Sliding, WindowParams, ints, spread, unusual};
use super::init::{self, kaiming_uniform_};
use super::module::{Call, Layer, Module, Parts, call_row};

struct ConvTranspose {
    sliding: Sliding,
    padding: Vec<i64>,
    output_padding: Vec<i64>,
}

impl ConvTranspose {
    /// What is added on the far side for an output of a given size.
    fn padding_for(&self, x: &Tensor, asked: &[i64]) -> Result<Vec<i64>> {
        let Sliding { dims, size, options, .. } = &self.sliding;
        let before = if x.rank() == dims + 2 { 2 } else { 1 };
        let asked = if asked.len() == before + dims { asked.get(before..).unwrap_or(&[]) } else { asked };
        if asked.len() != *dims {
            let text = format!(
                "ConvTranspose{dims}D: for {}D input, output_size must have {dims} or {} elements (got {})",
                x.rank(),
                before + dims,
                asked.len()
            );
            return Err(Error::value(text));
        }
        let inputs: Vec<i64> = x.shape().iter().skip(before).map(|&n| n as i64).collect();
        let along = options.stride.iter().zip(&options.dilation).zip(&self.padding).zip(size);
        let least: Vec<i64> = inputs
            .iter()
            .zip(along)
            .map(|(n, (((s, d), p), k))| (n - 1) * s - 2 * p + d * (k - 1) + 1)
            .collect();
        let most: Vec<i64> = least.iter().zip(&options.stride).map(|(n, s)| n + s - 1).collect();
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
        class(self.sliding.dims)
    }

    fn options(&self, module: &Module) -> String {
        let extra = unusual("output_padding", &self.output_padding, 0);
        self.sliding.shown(unusual("padding", &self.padding, 0), extra, module)
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        call.responded()
    }

    fn call_row(&self) -> Option<&'static OpDef> {
        static ROW: OpDef = call_row("forward", ConvTransposeCall::LIST);
        Some(&ROW)
    }

    fn respond(&self, call: &Call, a: &Args) -> Result<Value> {
        let (weight, bias) = (call.module.needed("weight")?, call.module.tensor("bias"));
        let ConvTransposeCall { input, output_size, .. } = ConvTransposeCall::of(a)?;
        let extra = match output_size {
            None => self.output_padding.clone(),
            Some(size) => self.padding_for(input, &size)?,
        };
        let Sliding { dims, options, .. } = &self.sliding;
        let out = match dims {
            3 => conv_transpose3d(input, &weight, bias.as_ref(), options, &extra),
            _ => conv_transpose(*dims, input, &weight, bias.as_ref(), options, &extra),
        };
        out.map(Value::from)
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        match name {
            "padding" => Some(ints(&self.padding)),
            "output_padding" => Some(ints(&self.output_padding)),
            "padding_mode" => Some(Value::Str("zeros".into())),
            _ => self.sliding.attribute(name),
        }
    }
}

params! {
    ConvTransposeCall {
        input: kind::Tensor, "what is spread: `[n, channels, …]`";
        output_size: Maybe<kind::Ints>, "which of the sizes that a stride leaves open the output has";
    }
}

params! {
    ConvTransposeParams {
        ..window: WindowParams;
        padding: kind::Ints = 0, "how much is cut off at each side of the output";
        output_padding: kind::Ints = 0, "how much the output is larger on its far side";
        groups: kind::Int = 1, "how many parts the channels are divided in; each has filters of its own";
        bias: OfWeights<kind::Bool> = true, "whether a trained number is added to each output channel";
        dilation: kind::Ints = 1, "how far the elements of a filter are from each other";
        padding_mode: kind::Str = "zeros", "PyTorch takes \"zeros\" alone, and so does this";
        ..made: Made;
    }
}

fn class(dims: usize) -> &'static str {
    match dims {
        1 => "ConvTranspose1d",
        2 => "ConvTranspose2d",
        _ => "ConvTranspose3d",
    }
}

fn make(a: ConvTransposeParams, dims: usize) -> Result<Value> {
    let (padding, output_padding) = (spread(a.padding, dims), spread(a.output_padding, dims));
    let sliding = Sliding::new(dims, a.window, Padding::Sizes(padding.clone()), a.dilation, a.groups)?;
    if a.padding_mode != "zeros" {
        let text = format!("Only \"zeros\" padding mode is supported for {}", class(dims));
        return Err(Error::value(text));
    }
    let [inputs, outputs] = sliding.channels;
    let (shape, dtype) = (sliding.weight([inputs, outputs / sliding.groups])?, a.made.dtype());
    let weight = init::empty(&shape, dtype)?;
    if weight.numel() > 0 {
        kaiming_uniform_(&weight, 5f64.sqrt(), true, "leaky_relu")?;
    }
    // What a weight's second dimension and window make is its fan-in here, too.
    let fan_in = shape.iter().skip(1).fold(1usize, |all, &size| all.saturating_mul(size));
    let bound = if fan_in > 0 { 1.0 / (fan_in as f64).sqrt() } else { 0.0 };
    let bias = if a.bias { Some(init::uniform(&[outputs], -bound, bound, dtype)?) } else { None };
    let parts = Parts::new().parameter("weight", Some(weight)).parameter("bias", bias);
    a.made.place(Module::new(ConvTranspose { sliding, padding, output_padding }, parts)?)
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor("ConvTranspose1d", "Spreads each place of `[n, channels, length]` over a window.", ConvTransposeParams::LIST, by_name!(ConvTransposeParams, |a| make(a, 1)))
    .details("`layer.forward(x, output_size)` chooses among the sizes that a stride leaves open.")
    .shapes(shapes::TRANSPOSED1D)
    .errors(&[
        "ValueError: `groups` does not divide the channels",
        "RuntimeError: the input has not `in_channels` channels",
        "ValueError: `output_size` is none of those that the stride leaves open",
    ])
    .example(
        "nn::ConvTranspose1d(2, 4, 3, #{stride: 2})",
        "ConvTranspose1d(2, 4, kernel_size=(3,), stride=(2,))",
    ),
    constructor("ConvTranspose2d", "Spreads each place of `[n, channels, h, w]` over a window.", ConvTransposeParams::LIST, by_name!(ConvTransposeParams, |a| make(a, 2)))
    .details("It makes images larger: `stride: 2` doubles them. `layer.forward(x, output_size)` chooses among the sizes \
              that a stride leaves open.")
    .shapes(shapes::TRANSPOSED2D)
    .errors(&[
        "ValueError: `groups` does not divide the channels",
        "RuntimeError: the input has not `in_channels` channels",
        "ValueError: `output_size` is none of those that the stride leaves open",
    ])
    .example(
        "nn::ConvTranspose2d(8, 3, 2, #{stride: 2}).forward(ones([1, 8, 5, 5])).shape",
        "[1, 3, 10, 10]",
    ),
    constructor("ConvTranspose3d", "Spreads each place of `[n, channels, d, h, w]` over a window.", ConvTransposeParams::LIST, by_name!(ConvTransposeParams, |a| make(a, 3)))
    .details("`layer.forward(x, output_size)` chooses among the sizes that a stride leaves open.")
    .shapes(shapes::TRANSPOSED3D)
    .errors(&[
        "ValueError: `groups` does not divide the channels",
        "RuntimeError: the input has not `in_channels` channels",
        "ValueError: `output_size` is none of those that the stride leaves open",
    ])
    .example(
        "nn::ConvTranspose3d(2, 4, 3)",
        "ConvTranspose3d(2, 4, kernel_size=(3, 3, 3), stride=(1, 1, 1))",
    ),
];

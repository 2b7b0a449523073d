//! Convolution layers.

use crate::base::{Error, Result, python};
use crate::nn::made::{Made, constructor};
use crate::op::arrange::pad;
use crate::op::convolution::conv::{ConvolutionOptions, Padding, conv1d, conv2d};
use crate::op::convolution::volumes::conv3d;
use crate::op::def::DefaultValue;
use crate::op::params::{OfWeights, by_name, kind, params};
use crate::op::{OpDef, Value, shapes};
use crate::tensor::Tensor;

use super::init;
use super::module::{Call, Layer, Module, Parts};

params! {
    /// The first parameters of convolutions and of transposed ones.
    pub(super) group WindowParams {
        in_channels: kind::Size, "how many channels an input has";
        out_channels: kind::Size, "how many channels the output has: one for each filter";
        kernel_size: kind::Ints, "how large the filters are, along all dimensions or along each";
        stride: kind::Ints = 1, "how many places the filters move on";
    }
}

/// What a convolution has in common with a transposed one.
pub(super) struct Sliding {
    pub(super) dims: usize,
    /// In, out.
    pub(super) channels: [usize; 2],
    pub(super) size: Vec<i64>,
    pub(super) options: ConvolutionOptions,
    pub(super) groups: usize,
}

impl Sliding {
    /// # Errors
    /// Channels that do not divide into groups, or a window of other dimensions.
    pub(super) fn new(
        dims: usize,
        window: WindowParams,
        padding: Padding,
        dilation: Vec<i64>,
        groups: i64,
    ) -> Result<Sliding> {
        let channels = [window.in_channels, window.out_channels];
        let Some(count) = usize::try_from(groups).ok().filter(|g| *g > 0) else {
            return Err(Error::value("groups must be a positive integer"));
        };
        for (channels, which) in channels.iter().zip(["in_channels", "out_channels"]) {
            if !channels.is_multiple_of(count) {
                return Err(Error::value(format!("{which} must be divisible by groups")));
            }
        }
        let (size, stride) = (spread(window.kernel_size, dims), spread(window.stride, dims));
        let options = ConvolutionOptions { stride, padding, dilation: spread(dilation, dims), groups };
        Ok(Sliding { dims, channels, size, options, groups: count })
    }

    /// The shape of a weight of so many channels, which is that of the window behind them.
    pub(super) fn weight(&self, channels: [usize; 2]) -> Result<Vec<usize>> {
        let (dims, size) = (self.dims, &self.size);
        if size.len() != dims {
            let text = format!("kernel_size must be a number or an array of {dims}, but got {size:?}");
            return Err(Error::value(text));
        }
        let whole = |k: &i64| {
            usize::try_from(*k).map_err(|_| Error::value(format!("kernel_size must not be negative: {k}")))
        };
        channels.into_iter().map(Ok).chain(size.iter().map(whole)).collect()
    }

    /// The printed options: those that are not the usual ones. `own` stands behind the dilation.
    pub(super) fn shown(&self, padding: Option<String>, own: Option<String>, module: &Module) -> String {
        let ([inputs, outputs], o) = (self.channels, &self.options);
        let unusual = [
            padding,
            unusual("dilation", &o.dilation, 1),
            own,
            (o.groups != 1).then(|| format!(", groups={}", o.groups)),
            module.tensor("bias").is_none().then(|| ", bias=False".into()),
        ];
        let (size, stride) = (python::tuple(&self.size), python::tuple(&o.stride));
        let first = format!("{inputs}, {outputs}, kernel_size={size}, stride={stride}");
        std::iter::once(first).chain(unusual.into_iter().flatten()).collect()
    }

    pub(super) fn attribute(&self, name: &str) -> Option<Value> {
        let int = |n: usize| Value::Scalar((n as i64).into());
        let [inputs, outputs] = self.channels;
        Some(match name {
            "in_channels" => int(inputs),
            "out_channels" => int(outputs),
            "kernel_size" => ints(&self.size),
            "stride" => ints(&self.options.stride),
            "dilation" => ints(&self.options.dilation),
            "groups" => int(self.groups),
            _ => return None,
        })
    }
}

/// `, name=(1, 2)`, where the values are not the usual ones.
pub(super) fn unusual(name: &str, values: &[i64], usual: i64) -> Option<String> {
    values.iter().any(|v| *v != usual).then(|| format!(", {name}={}", python::tuple(values)))
}

/// Integers as a script reads them.
pub(super) fn ints(values: &[i64]) -> Value {
    Value::List(values.iter().map(|&i| Value::Scalar(i.into())).collect())
}

/// One value per dimension: a single one stands for all.
pub(super) fn spread(values: Vec<i64>, dims: usize) -> Vec<i64> {
    match values.as_slice() {
        [one] => vec![*one; dims],
        _ => values,
    }
}

struct Convolution {
    sliding: Sliding,
    /// `zeros`, or a mode of `F::pad`.
    padding_mode: String,
}

impl Convolution {
    /// The border as `F::pad` takes it: the last dimension first.
    fn border(&self) -> Vec<i64> {
        let Sliding { dims, size, options, .. } = &self.sliding;
        let sizes: Vec<(i64, i64)> = match &options.padding {
            Padding::Valid => vec![(0, 0); *dims],
            Padding::Sizes(sizes) => sizes.iter().map(|&p| (p, p)).collect(),
            Padding::Same => {
                let spans = size.iter().zip(&options.dilation);
                let total = |k: i64, d: i64| d.saturating_mul(k - 1);
                spans.map(|(&k, &d)| (total(k, d) / 2, total(k, d) - total(k, d) / 2)).collect()
            }
        };
        sizes.iter().rev().flat_map(|&(before, after)| [before, after]).collect()
    }
}

impl Layer for Convolution {
    fn name(&self) -> &str {
        match self.sliding.dims {
            1 => "Conv1d",
            2 => "Conv2d",
            _ => "Conv3d",
        }
    }

    fn options(&self, module: &Module) -> String {
        let padding = match &self.sliding.options.padding {
            Padding::Sizes(sizes) => unusual("padding", sizes, 0),
            Padding::Same => Some(", padding=same".into()),
            Padding::Valid => Some(", padding=valid".into()),
        };
        let text = self.sliding.shown(padding, None, module);
        if self.padding_mode == "zeros" {
            text
        } else {
            format!("{text}, padding_mode={}", self.padding_mode)
        }
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        let run = match self.sliding.dims {
            1 => conv1d,
            2 => conv2d,
            _ => conv3d,
        };
        let options = &self.sliding.options;
        let (weight, bias) = (call.module.needed("weight")?, call.module.tensor("bias"));
        if self.padding_mode == "zeros" {
            return run(call.only()?, &weight, bias.as_ref(), options);
        }
        let wide = pad::pad(call.only()?, &self.border(), &self.padding_mode, 0.0.into())?;
        let options = ConvolutionOptions { padding: Padding::Valid, ..options.clone() };
        run(&wide, &weight, bias.as_ref(), &options)
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        match (name, &self.sliding.options.padding) {
            ("padding_mode", _) => Some(Value::Str(self.padding_mode.clone())),
            ("padding", Padding::Sizes(sizes)) => Some(ints(sizes)),
            ("padding", Padding::Same) => Some(Value::Str("same".into())),
            ("padding", Padding::Valid) => Some(Value::Str("valid".into())),
            _ => self.sliding.attribute(name),
        }
    }
}

params! {
    ConvolutionParams {
        ..window: WindowParams;
        padding: kind::Any => DefaultValue::Int(0), "how wide the border is; \"same\" keeps the input's size";
        dilation: kind::Ints = 1, "how far the elements of a filter are from each other";
        groups: kind::Int = 1, "how many parts the channels are divided in; each has filters of its own";
        bias: OfWeights<kind::Bool> = true, "whether a trained number is added to each output channel";
        padding_mode: kind::Str = "zeros", "what the border holds";
        ..made: Made;
    }
}

fn make(a: ConvolutionParams, dims: usize) -> Result<Value> {
    let padding = match (Padding::from_value(a.padding), a.padding) {
        (Ok(Padding::Sizes(sizes)), _) => Padding::Sizes(spread(sizes, dims)),
        (Err(_), Value::Str(s)) => {
            let text = format!("Invalid padding string '{s}', should be one of {{'valid', 'same'}}");
            return Err(Error::value(text));
        }
        (other, _) => other?,
    };
    let sliding = Sliding::new(dims, a.window, padding, a.dilation, a.groups)?;
    check(&sliding.options, a.padding_mode)?;
    let [inputs, outputs] = sliding.channels;
    let shape = sliding.weight([outputs, inputs / sliding.groups])?;
    let (weight, bias) = init::layer(&shape, a.bias, a.made.dtype())?;
    let parts = Parts::new().parameter("weight", Some(weight)).parameter("bias", bias);
    let layer = Convolution { sliding, padding_mode: a.padding_mode.to_string() };
    a.made.place(Module::new(layer, parts)?)
}

fn check(options: &ConvolutionOptions, mode: &str) -> Result<()> {
    if options.padding == Padding::Same && options.stride.iter().any(|s| *s != 1) {
        return Err(Error::value("padding='same' is not supported for strided convolutions"));
    }
    if !matches!(mode, "zeros" | "reflect" | "replicate" | "circular") {
        let text = format!(
            "padding_mode must be one of {{'zeros', 'reflect', 'replicate', 'circular'}}, but got padding_mode='{mode}'"
        );
        return Err(Error::value(text));
    }
    Ok(())
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor("Conv1d", "Slides filters over the last dimension of `[n, channels, length]`.", ConvolutionParams::LIST, by_name!(ConvolutionParams, |a| make(a, 1)))
    .shapes(shapes::CONV1D)
    .errors(shapes::CONV_ERRORS)
    .example("nn::Conv1d(2, 4, 3)", "Conv1d(2, 4, kernel_size=(3,), stride=(1,))"),
    constructor("Conv2d", "Slides filters over the last two dimensions of `[n, channels, h, w]`.", ConvolutionParams::LIST, by_name!(ConvolutionParams, |a| make(a, 2)))
    .details(
        "`padding` is a number, one per dimension, \"same\" or \"valid\"; `padding_mode` says what the border holds: \
         \"zeros\", \"reflect\", \"replicate\" or \"circular\".",
    )
    .shapes(shapes::CONV2D)
    .errors(shapes::CONV_ERRORS)
    .example(
        "nn::Conv2d(1, 32, 3, #{padding: 1})",
        "Conv2d(1, 32, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))",
    ),
    constructor(
        "Conv3d",
        "Slides filters over the last three dimensions of `[n, channels, d, h, w]`.",
        ConvolutionParams::LIST, by_name!(ConvolutionParams, |a| make(a, 3)),
    )
    .details("Its options are those of `Conv2d`, with a number or one per dimension.")
    .shapes(shapes::CONV3D)
    .errors(shapes::CONV_ERRORS)
    .example("nn::Conv3d(1, 8, 3)", "Conv3d(1, 8, kernel_size=(3, 3, 3), stride=(1, 1, 1))"),
];

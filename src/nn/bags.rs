//! Layers of pairs, of bags and of sliding windows, and the loss of sequences of labels.

use crate::base::{DType, Error, Result};
use crate::op::bilinear::bilinear;
use crate::op::ctc::{
    self, BLANK, Ctc, INPUT_LENGTHS, LOG_PROBS, REDUCTION, TARGET_LENGTHS, TARGETS, ZERO, ctc_loss, lengths,
};
use crate::op::def::DefaultValue;
use crate::op::embedding::padding_row;
use crate::op::embedding_bag::{Bag, Bags, embedding_bag};
use crate::op::sliding::{self, DILATION, KERNEL, OUTPUT, PADDING, STRIDE, Window, fold, unfold};
use crate::op::{Args, OpDef, Param, ParamKind, Value};
use crate::tensor::Tensor;

use super::activation::Simple;
use super::init;
use super::linear::{BIAS, DEVICE, DTYPE, constructor};
use super::module::{Call, Layer, Module, Parts, call_row, size};
use super::show::option;

struct Bilinear {
    sizes: [usize; 3],
}

impl Layer for Bilinear {
    fn name(&self) -> &str {
        "Bilinear"
    }

    fn options(&self, module: &Module) -> String {
        let [first, second, outputs] = self.sizes;
        let bias = option("bias", &Value::Scalar(module.tensor("bias").is_some().into()));
        format!("in1_features={first}, in2_features={second}, out_features={outputs}, {bias}")
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        let &[x1, x2] = call.inputs else {
            let text = format!("Bilinear.forward() takes 2 tensors, not {}", call.inputs.len());
            return Err(Error::type_error(text));
        };
        bilinear(x1, x2, &call.module.needed("weight")?, call.module.tensor("bias").as_ref())
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        let names = ["in1_features", "in2_features", "out_features"];
        let at = names.iter().position(|n| *n == name)?;
        self.sizes.get(at).map(|n| Value::Scalar((*n as i64).into()))
    }
}

fn make_bilinear(a: &Args) -> Result<Value> {
    let (first, second, outputs) = (size(a, 0)?, size(a, 1)?, size(a, 2)?);
    if first == 0 {
        return Err(Error::value("in1_features must be > 0, but got 0"));
    }
    let dtype = a.dtype(5).unwrap_or(DType::Float32);
    let bound = 1.0 / (first as f64).sqrt();
    let weight = init::uniform(&[outputs, first, second], -bound, bound, dtype)?;
    let bias = if a.bool(3)? { Some(init::uniform(&[outputs], -bound, bound, dtype)?) } else { None };
    let parts = Parts::new().parameter("weight", Some(weight)).parameter("bias", bias);
    let layer = Bilinear { sizes: [first, second, outputs] };
    Module::new(layer, parts)?.placed(a.device(4)).map(Module::into_value)
}

struct EmbeddingBag {
    count: usize,
    width: usize,
    mode: String,
    include_last: bool,
    padding: Option<usize>,
}

impl Layer for EmbeddingBag {
    fn name(&self) -> &str {
        "EmbeddingBag"
    }

    fn options(&self, _: &Module) -> String {
        let padding = self.padding.map_or_else(String::new, |row| format!(", padding_idx={row}"));
        format!("{}, {}, mode='{}'{padding}", self.count, self.width, self.mode)
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        call.responded()
    }

    fn call_row(&self) -> Option<&'static OpDef> {
        static ROW: OpDef = call_row("forward", BAG_CALL);
        Some(&ROW)
    }

    fn respond(&self, call: &Call, a: &Args) -> Result<Value> {
        let bags = Bags {
            offsets: a.optional_tensor(1),
            mode: Bag::parse(&self.mode)?,
            weights: a.optional_tensor(2),
            include_last: self.include_last,
            padding: self.padding.map(|row| row as i64),
        };
        embedding_bag(a.tensor(0)?, &call.module.needed("weight")?, &bags).map(Value::Tensor)
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        let int = |n: usize| Value::Scalar((n as i64).into());
        match name {
            "num_embeddings" => Some(int(self.count)),
            "embedding_dim" => Some(int(self.width)),
            "mode" => Some(Value::Str(self.mode.clone())),
            "include_last_offset" => Some(Value::Scalar(self.include_last.into())),
            "padding_idx" => Some(self.padding.map_or(Value::None, int)),
            _ => None,
        }
    }
}

fn make_bag(a: &Args) -> Result<Value> {
    let (count, width, mode) = (size(a, 0)?, size(a, 1)?, a.str(2)?.to_string());
    Bag::parse(&mode)?;
    let weight = init::normal(&[count, width], a.dtype(6).unwrap_or(DType::Float32))?;
    let padding = padding_row(&weight, a.optional_int(4))?;
    if let Some(row) = padding {
        weight.with_layout(weight.layout().select(0, row)?).fill(0i64.into(), "fill_")?;
    }
    let layer = EmbeddingBag { count, width, mode, include_last: a.bool(3)?, padding };
    let parts = Parts::new().parameter("weight", Some(weight));
    Module::new(layer, parts)?.placed(a.device(5)).map(Module::into_value)
}

struct CtcLoss {
    options: Ctc,
    reduction: String,
}

impl Layer for CtcLoss {
    fn name(&self) -> &str {
        "CTCLoss"
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        call.responded()
    }

    fn call_row(&self) -> Option<&'static OpDef> {
        static ROW: OpDef = call_row("forward", CTC_CALL);
        Some(&ROW)
    }

    fn respond(&self, _: &Call, a: &Args) -> Result<Value> {
        let (inputs, targets) = (lengths(a, 2)?, lengths(a, 3)?);
        ctc_loss(a.tensor(0)?, a.tensor(1)?, &inputs, &targets, &self.options).map(Value::Tensor)
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        match name {
            "blank" => Some(Value::Scalar(self.options.blank.into())),
            "reduction" => Some(Value::Str(self.reduction.clone())),
            "zero_infinity" => Some(Value::Scalar(self.options.zero_infinity.into())),
            _ => None,
        }
    }
}

fn make_ctc(a: &Args) -> Result<Value> {
    let layer = CtcLoss { options: ctc::options(a, 0)?, reduction: a.str(1)?.to_string() };
    Module::new(layer, Parts::new()).map(Module::into_value)
}

const BAG_CALL: &[Param] = &[
    Param::required("input", ParamKind::Tensor),
    Param::optional("offsets", ParamKind::Tensor, DefaultValue::None),
    Param::optional("per_sample_weights", ParamKind::Tensor, DefaultValue::None),
];
const CTC_CALL: &[Param] = &[LOG_PROBS, TARGETS, INPUT_LENGTHS, TARGET_LENGTHS];

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "Bilinear",
        "A product of two inputs with a weight for each output and each pair of their features.",
        &[
            Param::required("in1_features", ParamKind::Int),
            Param::required("in2_features", ParamKind::Int),
            Param::required("out_features", ParamKind::Int),
            BIAS,
            DEVICE,
            DTYPE,
        ],
        make_bilinear,
    )
    .details("`forward(x1, x2)`. Weight and bias are drawn uniform within `1 / sqrt(in1_features)`.")
    .example("nn::Bilinear(2, 3, 4).forward(ones([5, 2]), ones([5, 3])).shape", "[5, 4]"),
    constructor(
        "EmbeddingBag",
        "A table of vectors, looked up by number and combined bag by bag.",
        &[
            Param::required("num_embeddings", ParamKind::Int),
            Param::required("embedding_dim", ParamKind::Int),
            Param::optional("mode", ParamKind::Str, DefaultValue::Str("mean")),
            Param::optional("include_last_offset", ParamKind::Bool, DefaultValue::Bool(false)),
            Param::optional("padding_idx", ParamKind::Int, DefaultValue::None),
            DEVICE,
            DTYPE,
        ],
        make_bag,
    )
    .details(
        "`forward(input, #{offsets, per_sample_weights})`, as `F::embedding_bag`. The rows are drawn from the normal \
         distribution; the row `padding_idx` is zero and counts for nothing.",
    )
    .example("nn::EmbeddingBag(10, 3, #{mode: \"sum\"})", "EmbeddingBag(10, 3, mode='sum')"),
    constructor(
        "CTCLoss",
        "Minus the log-probability of label sequences whose places in the input are not known.",
        &[BLANK, REDUCTION, ZERO],
        make_ctc,
    )
    .details("`forward(log_probs, targets, input_lengths, target_lengths)`, as `F::ctc_loss`.")
    .example(
        "nn::CTCLoss().forward(zeros([4, 1, 3]).log_softmax(2), tensor([[1, 2]]), [4], [2])",
        "tensor(0.8432)",
    ),
    constructor(
        "Unfold",
        "Picks an image apart into the columns of a sliding window.",
        &[KERNEL, DILATION, PADDING, STRIDE],
        |a| {
            let window = Window::from_args(a, 0)?;
            Simple::new("Unfold", move |c| unfold(c.only()?, &window))
                .option("kernel_size", a.get(0))
                .option("dilation", a.get(1))
                .option("padding", a.get(2))
                .option("stride", a.get(3))
                .module()
        },
    )
    .example("nn::Unfold([2, 3]).forward(zeros([2, 5, 3, 4])).shape", "[2, 30, 4]"),
    constructor(
        "Fold",
        "Adds columns of sliding windows up to the image they came from.",
        &[OUTPUT, KERNEL, DILATION, PADDING, STRIDE],
        |a| {
            let (output, window) = (sliding::output_size(a, 0)?, Window::from_args(a, 1)?);
            Simple::new("Fold", move |c| fold(c.only()?, output, &window))
                .option("output_size", a.get(0))
                .option("kernel_size", a.get(1))
                .option("dilation", a.get(2))
                .option("padding", a.get(3))
                .option("stride", a.get(4))
                .module()
        },
    )
    .example("nn::Fold([4, 5], 2).forward(zeros([1, 12, 12])).shape", "[1, 3, 4, 5]"),
];

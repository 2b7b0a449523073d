//! Layers of pairs, of bags and of sliding windows, and the loss of sequences of labels.

use crate::base::{Error, Result};
use crate::nn::made::{Made, constructor};
use crate::op::convolution::sliding::{Window, both, fold, unfold};
use crate::op::embedding::bag::{Bag, Bags, embedding_bag};
use crate::op::embedding::table::{RowOptions, TableOptions, padding_row};
use crate::op::linalg::bilinear::bilinear;
use crate::op::loss::ctc::{Ctc, ctc_loss, lengths};
use crate::op::loss::elements::{ReducedBy, reduction};
use crate::op::params::{Maybe, OfWeights, by_name, kind, kinds, params};
use crate::op::shapes;
use crate::op::{Args, OpDef, Value};
use crate::tensor::Tensor;

use super::activation::Simple;
use super::embedding::{option_of, padded, unusual};
use super::init;
use super::module::{Call, Layer, Module, Parts, call_row};
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

params! {
    BilinearParams {
        in1_features: kind::Size, "how long the last dimension of the first input is";
        in2_features: kind::Size, "how long the last dimension of the second input is";
        out_features: kind::Size, "how long the last dimension of the output is";
        bias: OfWeights<kind::Bool> = true, "whether a trained vector is added to the output";
        ..made: Made;
    }
}

fn make_bilinear(a: BilinearParams) -> Result<Value> {
    let sizes @ [first, second, outputs] = [a.in1_features, a.in2_features, a.out_features];
    if first == 0 {
        return Err(Error::value("in1_features must be > 0, but got 0"));
    }
    let bound = 1.0 / (first as f64).sqrt();
    let drawn = |shape: &[usize]| init::uniform(shape, -bound, bound, a.made.dtype());
    let weight = drawn(&[outputs, first, second])?;
    let bias = if a.bias { Some(drawn(&[outputs])?) } else { None };
    let parts = Parts::new().parameter("weight", Some(weight)).parameter("bias", bias);
    a.made.place(Module::new(Bilinear { sizes }, parts)?)
}

struct EmbeddingBag {
    count: usize,
    width: usize,
    mode: String,
    include_last: bool,
    table: TableOptions,
}

impl Layer for EmbeddingBag {
    fn name(&self) -> &str {
        "EmbeddingBag"
    }

    fn options(&self, _: &Module) -> String {
        let (unusual, padding) = (unusual(&self.table), padded(&self.table));
        format!("{}, {}{unusual}, mode='{}'{padding}", self.count, self.width, self.mode)
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        call.responded()
    }

    fn call_row(&self) -> Option<&'static OpDef> {
        static ROW: OpDef = call_row("forward", EmbeddingBagCall::LIST);
        Some(&ROW)
    }

    fn respond(&self, call: &Call, a: &Args) -> Result<Value> {
        let a = EmbeddingBagCall::of(a)?;
        let bags = Bags {
            offsets: a.offsets,
            mode: Bag::parse(&self.mode)?,
            weights: a.per_sample_weights,
            include_last: self.include_last,
            table: self.table,
        };
        embedding_bag(a.input, &call.module.needed("weight")?, &bags).map(Value::Tensor)
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        let int = |n: usize| Value::Scalar((n as i64).into());
        match name {
            "num_embeddings" => Some(int(self.count)),
            "embedding_dim" => Some(int(self.width)),
            "mode" => Some(Value::Str(self.mode.clone())),
            "include_last_offset" => Some(Value::Scalar(self.include_last.into())),
            other => option_of(&self.table, other),
        }
    }
}

params! {
    EmbeddingBagCall {
        input: kind::Tensor, "numbers of vectors: a row for each bag, or all bags in one row";
        offsets: Maybe<kind::Tensor>, "where in one row each bag begins";
        per_sample_weights: Maybe<kind::Tensor>, "what each vector is multiplied by, where bags are summed up";
    }
}

params! {
    EmbeddingBagParams {
        num_embeddings: OfWeights<kind::Size>, "how many vectors the table has";
        embedding_dim: kind::Size, "how long each vector is";
        ..rows: RowOptions;
        mode: kind::Str = "mean", "how a bag is combined: \"sum\", \"mean\" or \"max\"";
        include_last_offset: kind::Bool = false, "whether offsets end with the end of the last bag";
        padding_idx: Maybe<kind::Int>, "the number of a vector that is zero and counts for nothing";
        ..made: Made;
    }
}

fn make_bag(a: EmbeddingBagParams) -> Result<Value> {
    let (count, width, mode) = (a.num_embeddings, a.embedding_dim, a.mode.to_string());
    Bag::parse(&mode)?;
    let weight = init::normal(&[count, width], a.made.dtype())?;
    let padding = padding_row(&weight, a.padding_idx)?;
    if let Some(row) = padding {
        weight.with_layout(weight.layout().select(0, row)?).fill(0i64.into(), "fill_")?;
    }
    let table = a.rows.beside(padding.map(|row| row as i64));
    let layer = EmbeddingBag { count, width, mode, include_last: a.include_last_offset, table };
    a.made.place(Module::new(layer, Parts::new().parameter("weight", Some(weight)))?)
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
        static ROW: OpDef = call_row("forward", CtcCall::LIST);
        Some(&ROW)
    }

    fn respond(&self, _: &Call, a: &Args) -> Result<Value> {
        let a = CtcCall::of(a)?;
        ctc_loss(a.log_probs, a.targets, &a.input_lengths, &a.target_lengths, &self.options)
            .map(Value::Tensor)
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

kinds! {
    CtcLengths(Any) => Vec<i64>, lengths;
}

params! {
    CtcCall {
        log_probs: kind::Tensor, "the logarithms of the labels' probabilities, `[length, n, labels]`";
        targets: kind::Tensor, "the sequences of labels, in rows or one after the other";
        input_lengths: CtcLengths, "how long each input is";
        target_lengths: CtcLengths, "how long each sequence of labels is";
    }
}

params! {
    CtcParams {
        blank: kind::Int = 0, "the label that stands between others and for none";
        reduction: ReducedBy = "mean", "what becomes of the sequences' losses: \"mean\", \"sum\" or \"none\"";
        zero_infinity: kind::Bool = false, "whether a loss without bound, of too short an input, counts as 0";
    }
}

params! {
    UnfoldParams {
        kernel_size: kind::Ints, "how large the window is, along both dimensions or along each";
        dilation: kind::Ints = 1, "how far the elements of a window are from each other";
        padding: kind::Ints = 0, "how wide a border of zeros is";
        stride: kind::Ints = 1, "how far the window moves on";
    }
}

params! {
    FoldParams {
        output_size: kind::Ints, "height and width of the image";
        ..window: UnfoldParams;
    }
}

impl UnfoldParams<'_> {
    fn window(&self) -> Result<Window> {
        Window::new(&self.kernel_size, &self.dilation, &self.padding, &self.stride)
    }
}

fn make_ctc(CtcParams { blank, reduction: how, zero_infinity, .. }: CtcParams) -> Result<Value> {
    let options = Ctc { blank, reduction: reduction(how)?, zero_infinity };
    Module::new(CtcLoss { options, reduction: how.to_string() }, Parts::new()).map(Module::into_value)
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "Bilinear",
        "A product of two inputs with a weight for each output and each pair of their features.",
        BilinearParams::LIST,
        by_name!(BilinearParams, make_bilinear),
    )
    .details("`forward(x1, x2)`. Weight and bias are drawn uniform within `1 / sqrt(in1_features)`.")
    .shapes("(…, in1_features), (…, in2_features) -> (…, out_features)")
    .errors(&[
        "RuntimeError: the inputs differ in other sizes than the last",
        "ValueError: a number of features is not above 0",
    ])
    .example("nn::Bilinear(2, 3, 4).forward(ones([5, 2]), ones([5, 3])).shape", "[5, 4]"),
    constructor(
        "EmbeddingBag",
        "A table of vectors, looked up by number and combined bag by bag.",
        EmbeddingBagParams::LIST,
        by_name!(EmbeddingBagParams, make_bag),
    )
    .details(
        "`forward(input, #{offsets, per_sample_weights})`, as `F::embedding_bag`. The rows are drawn from the normal \
         distribution; the row `padding_idx` is zero and counts for nothing.",
    )
    .shapes(
        "(bags, length) -> (bags, embedding_dim); (length), offsets (bags), or (bags + 1) with include_last_offset \
         -> (bags, embedding_dim)",
    )
    .errors(&[
        "ValueError: the input is a vector and there are no offsets",
        "IndexError: an index is not below `num_embeddings`",
        "RuntimeError: a size is negative, or an index is no integer",
    ])
    .example("nn::EmbeddingBag(10, 3, #{mode: \"sum\"})", "EmbeddingBag(10, 3, mode='sum')"),
    constructor(
        "CTCLoss",
        "Minus the log-probability of label sequences whose places in the input are not known.",
        CtcParams::LIST,
        by_name!(CtcParams, make_ctc),
    )
    .details("`forward(log_probs, targets, input_lengths, target_lengths)`, as `F::ctc_loss`.")
    .shapes(
        "(T, N, C), targets (N, S) or all in one vector, lengths (N) -> (), or (N) where reduction is \"none\"; N \
         may be left out",
    )
    .errors(&["RuntimeError: a length is more than there is in the input or the targets"])
    .example(
        "nn::CTCLoss().forward(zeros([4, 1, 3]).log_softmax(2), tensor([[1, 2]]), [4], [2])",
        "tensor(0.8432)",
    ),
    constructor(
        "Unfold",
        "Picks an image apart into the columns of a sliding window.",
        UnfoldParams::LIST,
        by_name!(UnfoldParams, |a, args| {
            let window = a.window()?;
            Simple::new("Unfold", move |c| unfold(c.only()?, &window)).options_of(args).module()
        }),
    )
    .shapes("(N, C, H, W) -> (N, C kh kw, places), places = H_out W_out as a convolution has them; N may be left out")
    .errors(&["RuntimeError: the padded image is smaller than the window"])
    .example("nn::Unfold([2, 3]).forward(zeros([2, 5, 3, 4])).shape", "[2, 30, 4]"),
    constructor(
        "Fold",
        "Adds columns of sliding windows up to the image they came from.",
        FoldParams::LIST,
        by_name!(FoldParams, |a, args| {
            let (output, window) = (both("output_size", &a.output_size)?, a.window.window()?);
            Simple::new("Fold", move |c| fold(c.only()?, output, &window)).options_of(args).module()
        }),
    )
    .shapes("(N, C kh kw, places) -> (N, C, output_size[0], output_size[1]); N may be left out")
    .errors(&["RuntimeError: the columns are not as many as the windows", shapes::NO_FLOAT])
    .example("nn::Fold([4, 5], 2).forward(zeros([1, 12, 12])).shape", "[1, 3, 4, 5]"),
];

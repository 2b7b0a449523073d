//! What each form of kernel is made of: one row per form.

use std::borrow::Cow;

use crate::base::DType;

use super::key::{Compute, Draw, Fold, Form, Key, Slot, c_type};

/// How a kernel's text comes about.
pub(crate) struct Recipe {
    /// Of its function, before the types.
    pub name: String,
    /// The operands of its walk.
    pub operands: usize,
    /// The texts of `kernels/` that make it up.
    pub parts: RecipeParts,
    /// What those texts ask for.
    pub defines: Vec<(&'static str, Cow<'static, str>)>,
}

type RecipeParts = &'static [&'static str];

macro_rules! text {
    ($name:literal) => {
        include_str!(concat!("../../../../kernels/", $name, ".cuh"))
    };
}

const WALK: &str = text!("walk");
const GROUP: &str = text!("group");
const LOSS: &str = text!("loss");
const TILE: &str = text!("tile");

const MAP: RecipeParts = &[WALK, text!("map")];
const MAP_VECTOR: RecipeParts = &[text!("map_vector")];
const CREATE: RecipeParts = &[WALK, text!("create")];
const RANDOM: RecipeParts = &[WALK, text!("random")];
const REDUCE: RecipeParts = &[WALK, GROUP, text!("reduce")];
const SOFTMAX: RecipeParts = &[WALK, GROUP, text!("softmax")];
const LAYER_NORM: RecipeParts = &[GROUP, text!("layer_norm")];
const SCAN: RecipeParts = &[WALK, text!("scan")];
const INDEX: RecipeParts = &[WALK, text!("index")];
const LOSSES: RecipeParts = &[WALK, GROUP, LOSS];
const LOSS_GRADIENTS: RecipeParts = &[WALK, LOSS];
const OPTIMISE: RecipeParts = &[WALK, text!("optimise")];
const POOL: RecipeParts = &[WALK, text!("pool")];
const MATMUL: RecipeParts = &[WALK, TILE, text!("matmul")];
const CONV: RecipeParts = &[WALK, TILE, text!("conv")];

impl Key {
    /// The row of the kernel's form.
    pub(crate) fn recipe(&self) -> Recipe {
        use Form as F;
        let lined = |name: &str, across: bool| ending(name, "_across", across);
        let log = |log: bool, name: &str| format!("{}{name}", if log { "log_" } else { "" });
        match self.form {
            F::Map(op) => row(op.kernel_name(), op.arity() + 1, MAP, [("EXPRESSION", op.cuda())]),
            F::MapVector(op, width) => {
                let name = ending(op.kernel_name(), "_vector", true);
                row(name, op.arity() + 1, MAP_VECTOR, [("EXPRESSION", op.cuda())]).number("WIDTH", width)
            }
            F::Arange => row("arange", 1, CREATE, [("ARANGE", ON), ("EXACT", self.exact())]),
            F::Eye => row("eye", 1, CREATE, [("EYE", ON)]),
            F::Triangle { upper } => {
                row(if upper { "triu" } else { "tril" }, 2, CREATE, [("UPPER", flag(upper))])
            }
            F::Random { draw, per_call } => self.random(draw, per_call),
            F::Reduce { fold, across } => {
                row(lined(&format!("reduce_{}", fold.name()), across), 3, REDUCE, folding(fold, across))
            }
            F::ReduceJoin { fold } => {
                let name = format!("reduce_{}_join", fold.name());
                row(name, 3, REDUCE, folding(fold, false)).and("JOIN", ON)
            }
            F::Softmax { log: l, across } => {
                let defines = [("LOGARITHM", flag(l)), ("ACROSS", flag(across))];
                row(lined(&log(l, "softmax"), across), 2, SOFTMAX, defines)
            }
            F::SoftmaxGrad { log: l, across } => {
                let defines = [("GRADIENT", ON), ("LOGARITHM", flag(l)), ("ACROSS", flag(across))];
                row(lined(&log(l, "softmax_grad"), across), 3, SOFTMAX, defines)
            }
            F::LayerNorm => layer_norm("layer_norm", Some("FORWARD"), false),
            F::LayerNormByInput => layer_norm("layer_norm_grad", Some("BY_INPUT"), false),
            F::LayerNormByParameters => layer_norm("layer_norm_grad_parameters", Some("BY_PARAMETERS"), true),
            F::LayerNormJoin => layer_norm("layer_norm_grad_join", None, true),
            F::Scan { product, across } => self.scan(product, across),
            F::Gather { from_end } => {
                let defines = [("GATHER", ON), ("FROM_END", flag(from_end))];
                row(ending("gather", "_from_end", from_end), 3, INDEX, defines)
            }
            F::Scatter { from_end, add } => {
                let name = if add { "scatter_add" } else { "scatter" };
                let defines = [("ADD", flag(add)), ("FROM_END", flag(from_end))];
                row(ending(name, "_from_end", from_end), 3, INDEX, defines)
            }
            F::NllLoss { each } => {
                let defines = [("EACH_SAMPLE", flag(each)), ("ACROSS", OFF), ("TARGET", self.typed(3))];
                row(ending("nll_loss", "_each", each), 3, LOSSES, defines)
            }
            F::NllLossGrad => {
                row("nll_loss_grad", 3, LOSS_GRADIENTS, [("GRADIENT", ON), ("TARGET", self.typed(2))])
            }
            F::Sgd => row("sgd", 3, OPTIMISE, [("SGD", ON)]),
            F::Adam => row("adam", 4, OPTIMISE, [("ADAM", ON)]),
            F::Unscale => row("unscale", 1, OPTIMISE, [("UNSCALE", ON)]),
            F::UpdateScale => row("update_scale", 1, OPTIMISE, []),
            F::MaxPool => {
                let defines = [("MAX_POOL", ON), ("COUNT_PADDING", OFF), ("LEAST", self.least())];
                row("max_pool2d", 3, POOL, defines)
            }
            F::MaxPoolGrad => {
                row("max_pool2d_grad", 3, POOL, [("MAX_POOL_GRAD", ON), ("COUNT_PADDING", OFF)])
            }
            F::AveragePool { padding } => {
                let defines = [("AVERAGE_POOL", ON), ("COUNT_PADDING", flag(padding))];
                row(ending("avg_pool2d", "_with_padding", padding), 2, POOL, defines)
            }
            F::AveragePoolGrad { padding } => {
                let name = ending("avg_pool2d_grad", "_with_padding", padding);
                row(name, 2, POOL, [("COUNT_PADDING", flag(padding))])
            }
            F::Matmul => row("matmul", 4, MATMUL, []),
            F::Conv => row("conv2d", 3, CONV, [("FORWARD", ON), ("XTYPE", "S1")]),
            F::ConvByInput => row("conv2d_grad_input", 3, CONV, [("BY_INPUT", ON), ("XTYPE", "S0")]),
            F::ConvByWeight => row("conv2d_grad_weight", 3, CONV, [("BY_WEIGHT", ON), ("XTYPE", "S1")]),
            F::ConvJoin => row("conv2d_grad_weight_join", 1, CONV, [("XTYPE", "S0")]),
        }
    }

    fn random(&self, draw: Draw, per_call: u8) -> Recipe {
        let (name, kind) = match draw {
            Draw::Uniform => ("uniform", "UNIFORM"),
            Draw::Normal => ("normal", "NORMAL"),
            Draw::LogNormal => ("log_normal", "LOG_NORMAL"),
            Draw::Bernoulli => ("bernoulli", "BERNOULLI"),
            Draw::Keep => ("keep", "KEEP"),
            Draw::Exponential => ("exponential", "EXPONENTIAL"),
            Draw::Cauchy => ("cauchy", "CAUCHY"),
            Draw::Geometric => ("geometric", "GEOMETRIC"),
            Draw::Integers => ("integers", "INTEGERS"),
        };
        let (p, q) =
            if draw == Draw::Integers { ("long long", "unsigned long long") } else { ("double", "double") };
        let stored = if self.is_half() { "S0" } else { "Real" };
        row(format!("random_{name}_by_{per_call}"), 1, RANDOM, [(kind, ON)])
            .number("PER_CALL", per_call)
            .and("P", p)
            .and("Q", q)
            .and("STORED", stored)
    }

    fn scan(&self, product: bool, across: bool) -> Recipe {
        let accumulator = match self.compute {
            Compute::I64 => "long long",
            Compute::F32 if self.is_half() => "float",
            _ => "double",
        };
        let (name, run, start) = if product { ("cumprod", "times", "1") } else { ("cumsum", "plus", "0") };
        let defines =
            [("ACCUMULATOR", accumulator), ("RUN", run), ("START", start), ("ACROSS", flag(across))];
        row(ending(name, "_across", across), 2, SCAN, defines)
    }

    fn is_half(&self) -> bool {
        matches!(self.slots.first(), Some(Slot::Of(DType::Float16 | DType::BFloat16)))
    }

    /// The type of an operand's elements.
    fn typed(&self, slot: usize) -> &'static str {
        match self.slots.get(slot) {
            Some(Slot::Of(dtype)) => c_type(*dtype),
            _ => "T",
        }
    }

    /// The type in which places of a range are counted.
    fn exact(&self) -> &'static str {
        if self.compute == Compute::I64 { "long long" } else { "double" }
    }

    /// What every maximum begins with.
    fn least(&self) -> &'static str {
        if self.compute == Compute::I64 { "(-0x7fffffffffffffffll - 1)" } else { "T(-INFINITY)" }
    }
}

impl Recipe {
    fn and(mut self, name: &'static str, value: &'static str) -> Recipe {
        self.defines.push((name, value.into()));
        self
    }

    fn number(mut self, name: &'static str, value: u8) -> Recipe {
        self.defines.push((name, value.to_string().into()));
        self
    }
}

fn row(
    name: impl Into<String>,
    operands: usize,
    parts: RecipeParts,
    defines: impl IntoIterator<Item = (&'static str, &'static str)>,
) -> Recipe {
    let defines = defines.into_iter().map(|(name, value)| (name, value.into())).collect();
    Recipe { name: name.into(), operands, parts, defines }
}

fn layer_norm(name: &str, what: Option<&'static str>, across: bool) -> Recipe {
    let defines = what.map(|what| (what, ON)).into_iter().chain([("ACROSS", flag(across))]);
    row(name, 3, LAYER_NORM, defines)
}

fn folding(fold: Fold, across: bool) -> [(&'static str, &'static str); 3] {
    [(fold.define(), ON), ("ARG_MAX", flag(fold == Fold::ArgMax)), ("ACROSS", flag(across))]
}

const ON: &str = "1";
const OFF: &str = "0";

fn flag(on: bool) -> &'static str {
    if on { ON } else { OFF }
}

fn ending(name: &str, suffix: &str, on: bool) -> String {
    format!("{name}{}", if on { suffix } else { "" })
}

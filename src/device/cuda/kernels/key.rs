//! Which kernel: its form, the type that it computes in, and the types of what it reads and writes.

use std::fmt::Write;

use crate::base::DType;
use crate::device::scalar::{CUDA_HELPERS, MapOp};

/// The type that a kernel computes in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Compute {
    F32,
    F64,
    I64,
}

impl Compute {
    /// float for the half types, `long long` for integers and bool.
    pub fn of(dtype: DType) -> Compute {
        match dtype {
            DType::Float64 => Compute::F64,
            DType::Float32 | DType::Float16 | DType::BFloat16 => Compute::F32,
            _ => Compute::I64,
        }
    }

    fn c(self) -> &'static str {
        match self {
            Compute::F32 => "float",
            Compute::F64 => "double",
            Compute::I64 => "long long",
        }
    }

    fn short(self) -> &'static str {
        match self {
            Compute::F32 => "f32",
            Compute::F64 => "f64",
            Compute::I64 => "i64",
        }
    }

    /// The dtype whose elements are numbers of this type.
    pub fn dtype(self) -> DType {
        match self {
            Compute::F32 => DType::Float32,
            Compute::F64 => DType::Float64,
            Compute::I64 => DType::Int64,
        }
    }
}

/// What stands in a kernel's place for an operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Slot {
    #[default]
    Empty,
    /// A number of the compute type, given with the launch.
    Number,
    /// Memory.
    Of(DType),
}

/// How many operands a kernel can have.
pub const SLOTS: usize = 6;

/// How values are folded into one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fold {
    Sum,
    Prod,
    Max,
    Min,
    All,
    Any,
    Norm,
    Var,
    LogSumExp,
    ArgMax,
    ArgMin,
}

/// How a number is made of random bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Draw {
    Uniform,
    Normal,
    LogNormal,
    Exponential,
    Cauchy,
    Geometric,
    Bernoulli,
    /// Bernoulli numbers, several neighbours to a thread.
    Keep,
    Integers,
}

/// What a kernel does, as far as its source tells. `across` forms work where neighbouring lines are nearer than
/// neighbours on a line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Form {
    Map(MapOp),
    /// So many elements to a thread.
    MapVector(MapOp, u8),
    Arange,
    Eye,
    Triangle {
        upper: bool,
    },
    Random {
        draw: Draw,
        per_call: u8,
    },
    Reduce {
        fold: Fold,
        across: bool,
    },
    ReduceJoin {
        fold: Fold,
    },
    Softmax {
        log: bool,
        across: bool,
    },
    SoftmaxGrad {
        log: bool,
        across: bool,
    },
    LayerNorm,
    LayerNormByInput,
    LayerNormByParameters,
    LayerNormJoin,
    Scan {
        product: bool,
        across: bool,
    },
    Gather {
        from_end: bool,
    },
    Scatter {
        from_end: bool,
        add: bool,
    },
    NllLoss {
        each: bool,
    },
    NllLossGrad,
    Sgd,
    Adam,
    Unscale,
    UpdateScale,
    MaxPool,
    MaxPoolGrad,
    AveragePool {
        padding: bool,
    },
    AveragePoolGrad {
        padding: bool,
    },
    Matmul,
    Conv,
    ConvByInput,
    ConvByWeight,
    ConvJoin,
}

/// Which compiled kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key {
    pub(super) form: Form,
    pub(super) compute: Compute,
    pub(super) slots: [Slot; SLOTS],
    /// Indices and steps are 64 bits wide.
    pub(super) wide: bool,
}

impl Key {
    /// The name of its function, such as `map_add_f32`.
    pub fn entry(&self) -> String {
        let mut name = self.form.name();
        let used = self.slots.iter().filter(|s| **s != Slot::Empty);
        let mut types: Vec<&str> = used.map(|s| slot_name(*s)).collect();
        let plain = |d: &DType| Compute::of(*d) == self.compute && types.iter().all(|t| *t == short(*d));
        if let Some(dtype) = DType::ALL.iter().find(|d| plain(d)) {
            types = vec![short(*dtype)];
        } else {
            types.insert(0, self.compute.short());
        }
        for part in types {
            let _ = write!(name, "_{part}");
        }
        if self.wide {
            name.push_str("_wide");
        }
        name
    }

    /// The whole text for the compiler.
    pub fn source(&self) -> String {
        let mut text = String::with_capacity(24_000);
        text.push_str(TYPES);
        if matches!(self.form, Form::Map(_) | Form::MapVector(..)) {
            text.push_str(CUDA_HELPERS);
        }
        let mut line = |args: std::fmt::Arguments| {
            let _ = text.write_fmt(args);
            text.push('\n');
        };
        line(format_args!("\n// This kernel."));
        line(format_args!("#define ENTRY {}", self.entry()));
        line(format_args!("typedef {} T;", self.compute.c()));
        line(format_args!("struct Number {{\n    T value;\n}};"));
        let (index, step) = if self.wide { ("unsigned long long", "long long") } else { ("unsigned", "int") };
        line(format_args!("typedef {index} Index;\ntypedef {step} Step;"));
        for (i, slot) in self.slots.iter().enumerate() {
            match slot {
                Slot::Of(dtype) => {
                    line(format_args!("typedef {0} S{i};\ntypedef const {0}* In{i};", c_type(*dtype)))
                }
                _ => line(format_args!("typedef T S{i};\ntypedef Number In{i};")),
            }
        }
        line(format_args!("#define OPERANDS {}", self.form.operands()));
        for (name, value) in self.defines() {
            line(format_args!("#define {name} {value}"));
        }
        for part in self.form.parts() {
            text.push('\n');
            text.push_str(part);
        }
        text
    }

    /// What the form's text asks for.
    fn defines(&self) -> Vec<(&'static str, String)> {
        let flag = |name: &'static str, on: bool| (name, String::from(if on { "1" } else { "0" }));
        let one = |name: &'static str| vec![flag(name, true)];
        let typed = |i: usize| match self.slots.get(i) {
            Some(Slot::Of(dtype)) => c_type(*dtype).to_owned(),
            _ => "T".to_owned(),
        };
        match self.form {
            Form::Map(op) => vec![("EXPRESSION", op.cuda().into())],
            Form::MapVector(op, width) => {
                vec![("EXPRESSION", op.cuda().into()), ("WIDTH", width.to_string())]
            }
            Form::Arange => {
                let n = if self.compute == Compute::I64 { "long long" } else { "double" };
                vec![flag("ARANGE", true), ("EXACT", n.into())]
            }
            Form::Eye => one("EYE"),
            Form::Triangle { upper } => vec![flag("UPPER", upper)],
            Form::Random { draw, per_call } => self.draw_defines(draw, per_call),
            Form::Reduce { fold, across } => {
                vec![flag(fold.define(), true), fold.arg(), flag("ACROSS", across)]
            }
            Form::ReduceJoin { fold } => {
                vec![flag(fold.define(), true), fold.arg(), flag("ACROSS", false), flag("JOIN", true)]
            }
            Form::Softmax { log, across } => vec![flag("LOGARITHM", log), flag("ACROSS", across)],
            Form::SoftmaxGrad { log, across } => {
                vec![flag("GRADIENT", true), flag("LOGARITHM", log), flag("ACROSS", across)]
            }
            Form::LayerNorm => vec![flag("FORWARD", true), flag("ACROSS", false)],
            Form::LayerNormByInput => vec![flag("BY_INPUT", true), flag("ACROSS", false)],
            Form::LayerNormByParameters => vec![flag("BY_PARAMETERS", true), flag("ACROSS", true)],
            Form::LayerNormJoin => vec![flag("ACROSS", true)],
            Form::Scan { product, across } => {
                let half = matches!(self.slots.first(), Some(Slot::Of(DType::Float16 | DType::BFloat16)));
                let a = match self.compute {
                    Compute::I64 => "long long",
                    Compute::F32 if half => "float",
                    _ => "double",
                };
                let (run, start) = if product { ("times", "1") } else { ("plus", "0") };
                vec![
                    ("ACCUMULATOR", a.into()),
                    ("RUN", run.into()),
                    ("START", start.into()),
                    flag("ACROSS", across),
                ]
            }
            Form::Gather { from_end } => vec![flag("GATHER", true), flag("FROM_END", from_end)],
            Form::Scatter { from_end, add } => vec![flag("ADD", add), flag("FROM_END", from_end)],
            Form::NllLoss { each } => {
                vec![flag("EACH_SAMPLE", each), flag("ACROSS", false), ("TARGET", typed(3))]
            }
            Form::NllLossGrad => vec![flag("GRADIENT", true), ("TARGET", typed(2))],
            Form::Sgd => one("SGD"),
            Form::Adam => one("ADAM"),
            Form::Unscale => one("UNSCALE"),
            Form::UpdateScale => vec![],
            Form::MaxPool => {
                let least =
                    if self.compute == Compute::I64 { "(-0x7fffffffffffffffll - 1)" } else { "T(-INFINITY)" };
                vec![flag("MAX_POOL", true), flag("COUNT_PADDING", false), ("LEAST", least.into())]
            }
            Form::MaxPoolGrad => vec![flag("MAX_POOL_GRAD", true), flag("COUNT_PADDING", false)],
            Form::AveragePool { padding } => vec![flag("AVERAGE_POOL", true), flag("COUNT_PADDING", padding)],
            Form::AveragePoolGrad { padding } => vec![flag("COUNT_PADDING", padding)],
            Form::Matmul => vec![],
            Form::Conv => vec![flag("FORWARD", true), ("XTYPE", "S1".into())],
            Form::ConvByInput => vec![flag("BY_INPUT", true), ("XTYPE", "S0".into())],
            Form::ConvByWeight => vec![flag("BY_WEIGHT", true), ("XTYPE", "S1".into())],
            Form::ConvJoin => vec![("XTYPE", "S0".into())],
        }
    }

    fn draw_defines(&self, draw: Draw, per_call: u8) -> Vec<(&'static str, String)> {
        let kind = match draw {
            Draw::Uniform => "UNIFORM",
            Draw::Normal => "NORMAL",
            Draw::LogNormal => "LOG_NORMAL",
            Draw::Bernoulli => "BERNOULLI",
            Draw::Keep => "KEEP",
            Draw::Exponential => "EXPONENTIAL",
            Draw::Cauchy => "CAUCHY",
            Draw::Geometric => "GEOMETRIC",
            Draw::Integers => "INTEGERS",
        };
        let (p, q) =
            if draw == Draw::Integers { ("long long", "unsigned long long") } else { ("double", "double") };
        let stored = match self.slots.first() {
            Some(Slot::Of(DType::Float16 | DType::BFloat16)) => "S0",
            _ => "Real",
        };
        let text = |s: &str| s.to_owned();
        vec![
            (kind, text("1")),
            ("PER_CALL", per_call.to_string()),
            ("P", text(p)),
            ("Q", text(q)),
            ("STORED", text(stored)),
        ]
    }
}

impl Fold {
    fn define(self) -> &'static str {
        match self {
            Fold::Sum => "FOLD_SUM",
            Fold::Prod => "FOLD_PROD",
            Fold::Max => "FOLD_MAX",
            Fold::Min => "FOLD_MIN",
            Fold::All => "FOLD_ALL",
            Fold::Any => "FOLD_ANY",
            Fold::Norm => "FOLD_NORM",
            Fold::Var => "FOLD_VAR",
            Fold::LogSumExp => "FOLD_LOG_SUM_EXP",
            Fold::ArgMax | Fold::ArgMin => "FOLD_ARG",
        }
    }

    fn arg(self) -> (&'static str, String) {
        ("ARG_MAX", String::from(if self == Fold::ArgMax { "1" } else { "0" }))
    }

    fn name(self) -> &'static str {
        match self {
            Fold::Sum => "sum",
            Fold::Prod => "prod",
            Fold::Max => "max",
            Fold::Min => "min",
            Fold::All => "all",
            Fold::Any => "any",
            Fold::Norm => "norm",
            Fold::Var => "var",
            Fold::LogSumExp => "logsumexp",
            Fold::ArgMax => "argmax",
            Fold::ArgMin => "argmin",
        }
    }

    /// Bytes of what a part of a line is folded into.
    pub fn size(self, compute: Compute) -> usize {
        let t = super::args::compute_size(compute);
        match self {
            Fold::All | Fold::Any => 4,
            Fold::Var => 3 * t,
            Fold::LogSumExp => 2 * t,
            Fold::ArgMax | Fold::ArgMin => t + 8,
            _ => t,
        }
    }
}

impl Form {
    fn name(self) -> String {
        let with = |name: &str, suffix: &str, on: bool| format!("{name}{}", if on { suffix } else { "" });
        let log = |log: bool, name: &str| format!("{}{name}", if log { "log_" } else { "" });
        match self {
            Form::Map(op) => op.kernel_name().into(),
            Form::MapVector(op, _) => format!("{}_vector", op.kernel_name()),
            Form::Arange => "arange".into(),
            Form::Eye => "eye".into(),
            Form::Triangle { upper } => if upper { "triu" } else { "tril" }.into(),
            Form::Random { draw, per_call } => {
                let name = match draw {
                    Draw::Uniform => "random_uniform",
                    Draw::Normal => "random_normal",
                    Draw::LogNormal => "random_log_normal",
                    Draw::Bernoulli => "random_bernoulli",
                    Draw::Keep => "random_keep",
                    Draw::Exponential => "random_exponential",
                    Draw::Cauchy => "random_cauchy",
                    Draw::Geometric => "random_geometric",
                    Draw::Integers => "random_integers",
                };
                format!("{name}_by_{per_call}")
            }
            Form::Reduce { fold, across } => format!("reduce_{}", with(fold.name(), "_across", across)),
            Form::ReduceJoin { fold } => format!("reduce_{}_join", fold.name()),
            Form::Softmax { log: l, across } => with(&log(l, "softmax"), "_across", across),
            Form::SoftmaxGrad { log: l, across } => with(&log(l, "softmax_grad"), "_across", across),
            Form::LayerNorm => "layer_norm".into(),
            Form::LayerNormByInput => "layer_norm_grad".into(),
            Form::LayerNormByParameters => "layer_norm_grad_parameters".into(),
            Form::LayerNormJoin => "layer_norm_grad_join".into(),
            Form::Scan { product, across } => {
                with(if product { "cumprod" } else { "cumsum" }, "_across", across)
            }
            Form::Gather { from_end } => with("gather", "_from_end", from_end),
            Form::Scatter { from_end, add } => {
                with(if add { "scatter_add" } else { "scatter" }, "_from_end", from_end)
            }
            Form::NllLoss { each } => with("nll_loss", "_each", each),
            Form::NllLossGrad => "nll_loss_grad".into(),
            Form::Sgd => "sgd".into(),
            Form::Adam => "adam".into(),
            Form::Unscale => "unscale".into(),
            Form::UpdateScale => "update_scale".into(),
            Form::MaxPool => "max_pool2d".into(),
            Form::MaxPoolGrad => "max_pool2d_grad".into(),
            Form::AveragePool { padding } => with("avg_pool2d", "_with_padding", padding),
            Form::AveragePoolGrad { padding } => with("avg_pool2d_grad", "_with_padding", padding),
            Form::Matmul => "matmul".into(),
            Form::Conv => "conv2d".into(),
            Form::ConvByInput => "conv2d_grad_input".into(),
            Form::ConvByWeight => "conv2d_grad_weight".into(),
            Form::ConvJoin => "conv2d_grad_weight_join".into(),
        }
    }

    /// The operands of its walk.
    fn operands(self) -> usize {
        match self {
            Form::Map(op) | Form::MapVector(op, _) => op.arity() + 1,
            Form::Arange
            | Form::Eye
            | Form::Random { .. }
            | Form::Unscale
            | Form::UpdateScale
            | Form::ConvJoin => 1,
            Form::Triangle { .. } | Form::Softmax { .. } | Form::Scan { .. } => 2,
            Form::AveragePool { .. } | Form::AveragePoolGrad { .. } => 2,
            Form::Adam | Form::Matmul => 4,
            _ => 3,
        }
    }

    /// The texts of `kernels/` that make it up.
    fn parts(self) -> &'static [&'static str] {
        match self {
            Form::Map(_) => &[WALK, include_str!("../../../../kernels/map.cuh")],
            Form::MapVector(..) => &[include_str!("../../../../kernels/map_vector.cuh")],
            Form::Arange | Form::Eye | Form::Triangle { .. } => {
                &[WALK, include_str!("../../../../kernels/create.cuh")]
            }
            Form::Random { .. } => &[WALK, include_str!("../../../../kernels/random.cuh")],
            Form::Reduce { .. } | Form::ReduceJoin { .. } => {
                &[WALK, GROUP, include_str!("../../../../kernels/reduce.cuh")]
            }
            Form::Softmax { .. } | Form::SoftmaxGrad { .. } => {
                &[WALK, GROUP, include_str!("../../../../kernels/softmax.cuh")]
            }
            Form::LayerNorm | Form::LayerNormByInput | Form::LayerNormByParameters | Form::LayerNormJoin => {
                &[GROUP, include_str!("../../../../kernels/layer_norm.cuh")]
            }
            Form::Scan { .. } => &[WALK, include_str!("../../../../kernels/scan.cuh")],
            Form::Gather { .. } | Form::Scatter { .. } => {
                &[WALK, include_str!("../../../../kernels/index.cuh")]
            }
            Form::NllLoss { .. } => &[WALK, GROUP, LOSS],
            Form::NllLossGrad => &[WALK, LOSS],
            Form::Sgd | Form::Adam | Form::Unscale | Form::UpdateScale => {
                &[WALK, include_str!("../../../../kernels/optimise.cuh")]
            }
            Form::MaxPool | Form::MaxPoolGrad | Form::AveragePool { .. } | Form::AveragePoolGrad { .. } => {
                &[WALK, include_str!("../../../../kernels/pool.cuh")]
            }
            Form::Matmul => &[WALK, TILE, include_str!("../../../../kernels/matmul.cuh")],
            Form::Conv | Form::ConvByInput | Form::ConvByWeight | Form::ConvJoin => {
                &[WALK, TILE, include_str!("../../../../kernels/conv.cuh")]
            }
        }
    }
}

const TYPES: &str = include_str!("../../../../kernels/types.cuh");
const WALK: &str = include_str!("../../../../kernels/walk.cuh");
const GROUP: &str = include_str!("../../../../kernels/group.cuh");
const LOSS: &str = include_str!("../../../../kernels/loss.cuh");
const TILE: &str = include_str!("../../../../kernels/tile.cuh");

fn slot_name(slot: Slot) -> &'static str {
    match slot {
        Slot::Of(dtype) => short(dtype),
        Slot::Number => "number",
        Slot::Empty => "none",
    }
}

fn short(dtype: DType) -> &'static str {
    match dtype {
        DType::Float64 => "f64",
        DType::Float32 => "f32",
        DType::Float16 => "f16",
        DType::BFloat16 => "bf16",
        DType::Int64 => "i64",
        DType::Int32 => "i32",
        DType::Int16 => "i16",
        DType::Int8 => "i8",
        DType::UInt8 => "u8",
        DType::Bool => "bool",
    }
}

fn c_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Float64 => "double",
        DType::Float32 => "float",
        DType::Float16 => "float16",
        DType::BFloat16 => "bfloat16",
        DType::Int64 => "long long",
        DType::Int32 => "int",
        DType::Int16 => "short",
        DType::Int8 => "signed char",
        DType::UInt8 => "unsigned char",
        DType::Bool => "boolean",
    }
}

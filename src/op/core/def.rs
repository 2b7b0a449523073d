//! What an operation is: one row of the table that the script binding, help, the reference page and the tests of
//! examples and gradients are loops over.

use crate::base::Result;
use crate::tensor::Tensor;

use super::spec::{Binary, Unary, Writes};
use super::value::Value;

pub use super::operand::Operand;

/// One operation that a learner can call.
pub struct OpDef {
    /// PyTorch's name, such as `add`.
    pub name: &'static str,
    pub family: Family,
    /// What it is called on, beside tensors: those are the first of `params`.
    pub receiver: Receiver,
    /// How it is called.
    pub forms: &'static [Form],
    pub params: &'static [Param],
    /// One sentence.
    pub summary: &'static str,
    /// More sentences, or none.
    pub details: &'static str,
    /// Shapes of what goes in and comes out, or none.
    pub shapes: &'static str,
    /// When it fails, and with which kind of error; beside those of wrong arguments.
    pub errors: &'static [&'static str],
    /// It takes tensors that lie on different devices.
    pub across: bool,
    /// It changes what it is called on; of the names that end in `_` that is known.
    pub changes: bool,
    /// PyTorch's name for it.
    pub torch: Torch,
    /// Code and the printed form of its value; tests run it.
    pub example: (&'static str, &'static str),
    pub forward: Forward,
    /// The variant that writes to its first argument, called `name_`.
    pub in_place: InPlace,
    /// What that variant may read of the memory that it writes to.
    pub overlap: Overlap,
    pub gradient: Gradient,
    /// Inputs on which tests check gradients and devices against each other.
    pub samples: &'static [Sample],
}

/// Families, in the order of the reference page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Family {
    Create,
    Elementwise,
    Binary,
    Compare,
    Reduce,
    Matmul,
    Movement,
    Index,
    Random,
    Activation,
    Normalise,
    Convolution,
    Loss,
    Move,
    Inspect,
    Module,
    Initialise,
    Optimise,
    Precision,
    Checkpoint,
    Data,
    Parallel,
    Autograd,
    Cuda,
    Telemetry,
    Figure,
    Testing,
    Session,
    Type,
    /// What the language brings.
    Language,
    /// What other names stand in.
    Space,
}

/// Declares what methods are called on: each with the type in a learner's words, and what a value of it is called in
/// documentation.
macro_rules! receivers {
    ($($(#[$doc:meta])* $name:ident $shown:literal $variable:literal,)*) => {
        /// What a method is called on.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Receiver {
            $($(#[$doc])* $name,)*
        }

        impl Receiver {
            /// Every receiver.
            pub const ALL: &'static [Receiver] = &[$(Receiver::$name,)*];

            /// The type in a learner's words.
            pub const fn type_name(self) -> &'static str {
                match self {
                    $(Receiver::$name => $shown,)*
                }
            }

            /// What a value of the type is called in documentation.
            pub const fn variable(self) -> &'static str {
                match self {
                    $(Receiver::$name => $variable,)*
                }
            }
        }
    };
}

receivers! {
    /// Nothing, or a tensor that is the first of the row's parameters.
    None "" "x",
    /// Nothing: the first argument is a variable, which is changed.
    Variable "variable" "x",
    Tensor "Tensor" "x",
    Handle "RemovableHandle" "handle",
    /// What `distributions::Normal` and its like make.
    Distribution "Distribution" "d",
    /// What `autograd::Function` makes.
    OwnFunction "Function" "f",
    /// What a function of a script's own is called with.
    FunctionContext "FunctionCtx" "ctx",
    GradScaler "GradScaler" "scaler",
    Optimizer "Optimizer" "opt",
    ParamGroup "ParamGroup" "group",
    Scheduler "LRScheduler" "sched",
    Module "Module" "net",
    /// What `load_state_dict` gives.
    Keys "IncompatibleKeys" "found",
    Packed "PackedSequence" "packed",
    Dataset "Dataset" "samples",
    DataLoader "DataLoader" "loader",
    Batches "DataLoaderIter" "batches",
    Sampler "Sampler" "sampler",
    Generator "Generator" "generator",
    /// What an exchange of ranks gives that is waited for later.
    Work "Work" "work",
    Figure "figure" "figure",
    Stream "Stream" "stream",
    Event "Event" "event",
    Graph "CUDAGraph" "graph",
    Smi "smi" "state",
    Progress "progress" "bar",
    /// What `iter` gives of an array.
    Iteration "iterator" "it",
    DType "dtype" "dtype",
    Device "device" "device",
    Error "Error" "e",
    /// What a check reads of the run before it.
    Run "events" "events",
    Array "array" "a",
    Str "string" "s",
    Char "char" "c",
    Map "map" "m",
    Blob "blob" "b",
    /// An int or a float.
    Number "number" "n",
    Span "range" "r",
    Closure "function" "f",
    Time "timestamp" "t",
}

/// What PyTorch calls a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Torch {
    /// The same, below `torch` where the row's form has it.
    Same,
    /// Another name, in full; of rows of the language, Python's own (`list.append`).
    Named(&'static str),
    /// PyTorch has nothing like it.
    Own,
}

/// How a row is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// `x.name(…)`
    Method,
    /// `name(x, …)`
    Function,
    /// `F::name(x, …)`
    Functional,
    /// `a + b`
    Operator(&'static str),
    /// `x.name`
    Property,
    /// `space::name(…)`, such as `nn::Linear(…)`
    Of(&'static str),
    /// `space::name`, a value.
    ValueOf(&'static str),
    /// `with name(…) { … }`, or `with space::name(…) { … }`
    With(&'static str),
    /// `name`, a value of its own.
    Constant,
    /// A word of the language, which is no name.
    Word,
    /// `name::…` or `space::name::…`, what other names stand in.
    Space(&'static str),
}

/// A parameter. The first of a method is the tensor itself.
#[derive(Clone, Copy)]
pub struct Param {
    pub name: &'static str,
    pub kind: ParamKind,
    /// Absent for a parameter that must be given.
    pub default: Option<DefaultValue>,
    /// What it is for.
    pub what: &'static str,
    /// When a call fails that has it, with the kind of the error first; or nothing.
    pub fails: &'static str,
}

/// What a parameter accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamKind {
    Tensor,
    /// A tensor or a number.
    Operand,
    /// A number or bool.
    Scalar,
    Int,
    /// One of a tensor's dimensions; negative ones count from the end.
    Dim,
    Float,
    Bool,
    Str,
    /// An array of integers; a single integer stands for an array of one.
    Ints,
    /// As `Ints`, each a dimension.
    Dims,
    /// As `Ints`, and several integers in a row stand for an array: `zeros(2, 3)`.
    Sizes,
    /// An array of tensors.
    Tensors,
    /// As `Tensors`, and several tensors in a row stand for an array: `einsum("ij,jk", a, b)`.
    TensorRun,
    DType,
    Device,
    /// Anything: the op looks for itself.
    Any,
    /// Anything but a map, such as a generator: a map in its place holds options.
    Object,
    /// A closure, or the name of a function.
    Function,
    /// A map that holds no options.
    Map,
    /// Any number of values, one after the other.
    Rest,
    /// A value of a type of the script's.
    Instance(Receiver),
}

/// A default value, as the reference prints it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum DefaultValue {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(&'static str),
    Ints(&'static [i64]),
    Floats(&'static [f64]),
}

/// The arguments of one call, one value per parameter of the row.
pub struct Args<'a> {
    pub def: &'a OpDef,
    pub(super) values: Vec<Value>,
}

/// How the value is computed.
#[derive(Clone, Copy)]
pub enum Forward {
    Unary(&'static Unary),
    /// With what reads the options of a call, and runs it.
    Binary(&'static Binary, fn(&Args, Writes) -> Result<Tensor>),
    /// Anything else, from arguments in the order of `params`.
    Call(fn(&Args) -> Result<Value>),
    /// In the script layer: it sees more than its arguments.
    Script,
}

/// The in-place variant.
#[derive(Clone, Copy)]
pub enum InPlace {
    None,
    /// Of a unary or binary map: the same kernel writes to its input.
    Map,
    /// Its own function; gives the first argument back.
    Call(fn(&Args) -> Result<Value>),
}

/// How what is read may lie on what is written to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Overlap {
    /// In no place.
    None,
    /// Element on element.
    Whole,
    /// In any way: it is read before anything is written.
    Any,
}

/// How the gradient comes about.
#[derive(Clone, Copy)]
pub enum Gradient {
    /// A rule of its own, by PyTorch's name.
    Vjp(&'static str),
    /// From the operations it is composed of.
    Composite,
    /// None, and why.
    NoGrad(&'static str),
}

/// Inputs for a call, drawn by the tests.
pub struct Sample {
    /// A script expression in the inputs' names.
    pub call: &'static str,
    pub inputs: &'static [Draw],
}

/// One drawn input.
pub struct Draw {
    pub name: &'static str,
    pub shape: &'static [usize],
    pub domain: Domain,
}

/// Where a drawn input's values lie.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Domain {
    /// `-2..2`, kept away from integers and kinks by a margin
    Any,
    /// `0.2..3`
    Positive,
    /// `-0.9..0.9`
    Inside,
    /// `1.2..4`
    Above,
    /// int64 in `0..n`
    Index(i64),
    /// bool
    Mask,
    /// All different, well apart: for sorting and maxima
    Distinct,
}

impl OpDef {
    /// A row computed by `run`, called as a method and a function; the builder methods fill in the rest.
    pub const fn call(
        name: &'static str,
        family: Family,
        summary: &'static str,
        params: &'static [Param],
        run: fn(&Args) -> Result<Value>,
    ) -> OpDef {
        OpDef {
            name,
            family,
            receiver: Receiver::None,
            forms: &[Form::Method, Form::Function],
            params,
            summary,
            details: "",
            shapes: "",
            errors: &[],
            across: false,
            changes: false,
            torch: Torch::Same,
            example: ("", ""),
            forward: Forward::Call(run),
            in_place: InPlace::None,
            overlap: Overlap::Whole,
            gradient: Gradient::Composite,
            samples: &[],
        }
    }

    /// A row whose function stands in the script layer; called as a function.
    pub const fn script(
        name: &'static str,
        family: Family,
        summary: &'static str,
        params: &'static [Param],
    ) -> OpDef {
        let run = |_: &Args| Ok(Value::None);
        OpDef { forward: Forward::Script, forms: FUNCTION, ..OpDef::call(name, family, summary, params, run) }
    }

    /// A method of what is no tensor.
    pub const fn on(self, receiver: Receiver) -> OpDef {
        OpDef { receiver, forms: METHOD, ..self }
    }

    /// With what goes in and comes out, such as `(N, C) -> (N)`.
    pub const fn shapes(self, shapes: &'static str) -> OpDef {
        OpDef { shapes, ..self }
    }

    /// With when it fails, each with the kind of the error first.
    pub const fn errors(self, errors: &'static [&'static str]) -> OpDef {
        OpDef { errors, ..self }
    }

    /// Its tensors may lie on different devices.
    pub const fn across(self) -> OpDef {
        OpDef { across: true, ..self }
    }

    /// Whether a name of `F::` with `_` behind it stands for the option `inplace`, as PyTorch has it for some activations.
    pub(crate) fn writes_by_name(&self) -> bool {
        const NAMES: [&str; 8] =
            ["celu", "elu", "hardtanh", "leaky_relu", "relu", "rrelu", "selu", "threshold"];
        NAMES.contains(&self.name)
            && self.forms.contains(&Form::Functional)
            && self.params.iter().any(|param| param.name == "inplace")
    }

    /// It changes what it is called on.
    pub const fn changing(self) -> OpDef {
        OpDef { changes: true, ..self }
    }

    /// PyTorch's name, where it is another one.
    pub const fn torch(self, name: &'static str) -> OpDef {
        OpDef { torch: Torch::Named(name), ..self }
    }

    /// PyTorch has nothing like it.
    pub const fn own(self) -> OpDef {
        OpDef { torch: Torch::Own, ..self }
    }

    /// The same row under another name.
    pub const fn named(self, name: &'static str) -> OpDef {
        OpDef { name, ..self }
    }

    /// With another sentence on what it does.
    pub const fn summary(self, summary: &'static str) -> OpDef {
        OpDef { summary, ..self }
    }

    /// Called in these ways alone.
    pub const fn forms(self, forms: &'static [Form]) -> OpDef {
        OpDef { forms, ..self }
    }

    pub(crate) const fn details(self, details: &'static str) -> OpDef {
        OpDef { details, ..self }
    }

    /// Code and the printed form of its value.
    pub const fn example(self, code: &'static str, shown: &'static str) -> OpDef {
        OpDef { example: (code, shown), ..self }
    }

    /// With how its gradient comes about.
    pub const fn gradient(self, gradient: Gradient) -> OpDef {
        OpDef { gradient, ..self }
    }

    /// With a function of its own for `name_`.
    pub const fn in_place(self, run: fn(&Args) -> Result<Value>) -> OpDef {
        OpDef { in_place: InPlace::Call(run), ..self }
    }

    /// With what the in-place variant may read of the memory that it writes to.
    pub const fn overlap(self, overlap: Overlap) -> OpDef {
        OpDef { overlap, ..self }
    }

    /// With inputs for the tests of gradients and devices.
    pub const fn samples(self, samples: &'static [Sample]) -> OpDef {
        OpDef { samples, ..self }
    }
}

/// Refuses, when the program is compiled, a row that does not say what it does, what its parameters are for, and how
/// a call of it looks.
#[allow(clippy::indexing_slicing, reason = "it runs while the program is compiled")]
pub const fn documented<const N: usize>(files: [&'static [OpDef]; N]) -> [&'static [OpDef]; N] {
    let mut file = 0;
    while file < N {
        let mut row = 0;
        while row < files[file].len() {
            files[file][row].documented();
            row += 1;
        }
        file += 1;
    }
    files
}

impl OpDef {
    /// [`documented`] of this row; the compiler's message is its name.
    #[allow(clippy::indexing_slicing, clippy::panic, reason = "it runs while the program is compiled")]
    pub const fn documented(&self) {
        let OpDef { name, summary, example, params, .. } = self;
        let mut whole = !summary.is_empty() && !example.0.is_empty() && !example.1.is_empty();
        let mut at = 0;
        while at < params.len() {
            whole &= !params[at].what.is_empty();
            at += 1;
        }
        if !whole {
            panic!("{}", *name);
        }
    }

    /// How many positional arguments a call may have. Sizes written one by one are counted up to [`SIZES`].
    pub(crate) fn most_arguments(&self) -> usize {
        let more = self.params.iter().map(|p| match p.kind {
            ParamKind::Sizes => SIZES - 1,
            ParamKind::Rest | ParamKind::TensorRun => REST - 1,
            _ => 0,
        });
        self.params.len() + more.max().unwrap_or(0)
    }
}

/// How many sizes may be written without brackets.
pub const SIZES: usize = 6;
/// How many values may follow one after the other.
pub(crate) const REST: usize = 9;

impl Sample {
    /// A call with its inputs.
    pub const fn of(call: &'static str, inputs: &'static [Draw]) -> Sample {
        Sample { call, inputs }
    }
}

impl Draw {
    /// An input by its name, with its shape and where its values lie.
    pub const fn of(name: &'static str, shape: &'static [usize], domain: Domain) -> Draw {
        Draw { name, shape, domain }
    }
}

/// `x.name(…)` alone
pub(crate) const METHOD: &[Form] = &[Form::Method];
/// `name(…)` alone
pub(crate) const FUNCTION: &[Form] = &[Form::Function];
/// `F::name(…)` alone.
pub(crate) const FUNCTIONAL: &[Form] = &[Form::Functional];
/// `F::name(…)` and `name(…)`.
pub(crate) const BOTH: &[Form] = &[Form::Functional, Form::Function];
/// `x.name`
pub(crate) const PROPERTY: &[Form] = &[Form::Property];

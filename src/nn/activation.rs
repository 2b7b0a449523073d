//! Modules without parameters: an operation with its options kept.

use crate::base::{Error, Kind, Result};
use crate::device::Shared;
use crate::nn::made::constructor;
use crate::op::activation::dropout::{check_probability, dropout};
use crate::op::activation::functions::{elu, gelu, hardtanh, leaky_relu, mish, silu, softplus};
use crate::op::activation::rrelu::rrelu;
use crate::op::activation::variants::usual_dim;
use crate::op::core::fill::replaced_if;
use crate::op::def::DefaultValue;
use crate::op::elementwise::unary::{relu, relu_, sigmoid, tanh};
use crate::op::params::{Maybe, Written, by_name, kind, params};
use crate::op::reduce::softmax::{log_softmax, softmax};
use crate::op::{Args, OpDef, ParamKind, Value, shapes};
use crate::tensor::Tensor;

use super::module::{Call, Layer, Module, Parts};
use super::show::{option, python_value};

type SimpleForward = Box<dyn Fn(&Call) -> Result<Tensor> + Send + Sync>;

/// A module that is a function with options.
pub(crate) struct Simple {
    name: &'static str,
    run: SimpleForward,
    options: Vec<(&'static str, Value)>,
    /// One that is printed without its name.
    bare: Option<(&'static str, Value)>,
    /// Options that can be read but are not printed.
    hidden: Vec<(&'static str, Value)>,
    parts: Parts,
}

impl Simple {
    pub(crate) fn new(
        name: &'static str,
        run: impl Fn(&Call) -> Result<Tensor> + Send + Sync + 'static,
    ) -> Simple {
        Simple {
            name,
            run: Box::new(run),
            options: Vec::new(),
            bare: None,
            hidden: Vec::new(),
            parts: Parts::new(),
        }
    }

    pub(crate) fn option(mut self, name: &'static str, value: &Value) -> Simple {
        self.options.push((name, value.clone()));
        self
    }

    /// Every argument of the constructor's call as an option.
    pub(crate) fn options_of(mut self, args: &Args) -> Simple {
        self.options.extend(args.each().map(|(param, value)| (param.name, value.clone())));
        self
    }

    /// Every argument of the constructor's call but tensors, to be read and not printed.
    pub(crate) fn hidden_of(mut self, args: &Args) -> Simple {
        let values = args.each().filter(|(param, _)| param.kind != ParamKind::Tensor);
        self.hidden.extend(values.map(|(param, value)| (param.name, value.clone())));
        self
    }

    pub(crate) fn bare(mut self, name: &'static str, value: &Value) -> Simple {
        self.bare = Some((name, value.clone()));
        self
    }

    pub(crate) fn hidden(mut self, name: &'static str, value: &Value) -> Simple {
        self.hidden.push((name, value.clone()));
        self
    }

    /// A tensor that moves with the module.
    pub(crate) fn buffer(mut self, name: &'static str, tensor: Option<&Tensor>) -> Simple {
        self.parts = self.parts.buffer(name, tensor.cloned());
        self
    }

    /// Whether it writes to its input; it is printed where it does.
    fn inplace(self, inplace: bool) -> Simple {
        let flag = Value::Scalar(inplace.into());
        if inplace { self.option("inplace", &flag) } else { self.hidden("inplace", &flag) }
    }

    pub(crate) fn made(mut self) -> Result<Module> {
        let parts = std::mem::take(&mut self.parts);
        Module::new(self, parts)
    }

    pub(crate) fn module(self) -> Result<Value> {
        self.made().map(Module::into_value)
    }
}

impl Layer for Simple {
    fn name(&self) -> &str {
        self.name
    }

    fn options(&self, _: &Module) -> String {
        let bare = self.bare.iter().map(|(_, value)| python_value(value));
        let shown: Vec<String> =
            bare.chain(self.options.iter().map(|(name, value)| option(name, value))).collect();
        shown.join(", ")
    }

    fn forward(&self, call: &Call) -> Result<Tensor> {
        (self.run)(call)
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        self.options
            .iter()
            .chain(&self.bare)
            .chain(&self.hidden)
            .find(|(n, _)| *n == name)
            .map(|(_, v)| v.clone())
    }
}

/// An activation with the options of its call, which may be to write to its input.
pub(super) fn activation(
    name: &'static str,
    args: &Args,
    inplace: bool,
    run: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
) -> Result<Value> {
    let made = Simple::new(name, move |c| replaced_if(inplace, c.only()?, &run));
    let others = args.each().filter(|(param, _)| param.name != "inplace");
    others.fold(made, |made, (param, value)| made.option(param.name, value)).inplace(inplace).module()
}

/// A dropout layer; `written` is how its share prints.
pub(crate) fn dropout_module((share, written): (f64, &Value), inplace: bool) -> Result<Module> {
    check_probability(share)?;
    let run = move |c: &Call| {
        let training = c.module.training();
        replaced_if(inplace && training, c.only()?, |x| dropout(x, share, training))
    };
    Simple::new("Dropout", run).option("p", written).option("inplace", &Value::Scalar(inplace.into())).made()
}

params! {
    pub(super) InplaceParams {
        inplace: kind::Bool = false, "whether it writes to its input, which saves memory";
    }
}

params! {
    GeluParams {
        approximate: kind::Str = "none", "\"tanh\" for a cheaper formula that is nearly the same";
    }
}

params! {
    RreluParams {
        lower: Written<kind::Float> => DefaultValue::Float(1.0 / 8.0), "the least slope";
        upper: Written<kind::Float> => DefaultValue::Float(1.0 / 3.0), "the greatest slope";
        inplace: kind::Bool = false, "whether it writes to its input, which saves memory";
    }
}

params! {
    SoftplusParams {
        beta: kind::Float = 1.0, "how sharp the bend at 0 is";
        threshold: kind::Float = 20.0, "where `beta * x` is above it, the output is `x` itself";
    }
}

params! {
    EluParams {
        alpha: kind::Float = 1.0, "how far below 0 the output of very negative inputs is";
        inplace: kind::Bool = false, "whether it writes to its input, which saves memory";
    }
}

params! {
    LeakyReluParams {
        negative_slope: kind::Float = 0.01, "what inputs below 0 are multiplied by";
        inplace: kind::Bool = false, "whether it writes to its input, which saves memory";
    }
}

params! {
    HardtanhParams {
        min_val: kind::Float = -1.0, "the least output";
        max_val: kind::Float = 1.0, "the greatest output";
        inplace: kind::Bool = false, "whether it writes to its input, which saves memory";
    }
}

params! {
    pub(super) SoftmaxParams {
        dim: Maybe<kind::Dim>, "the dimension along which the outputs sum up to 1";
    }
}

params! {
    pub(super) DropoutParams {
        p: Written<kind::Float> => DefaultValue::Float(0.5), "how probable it is that an element becomes zero";
        inplace: kind::Bool = false, "whether it writes to its input, which saves memory";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    constructor(
        "ReLU",
        "Each element, or 0 where it is negative.",
        InplaceParams::LIST,
        by_name!(InplaceParams, |a, args| match a.inplace {
            true => Simple::new("ReLU", |c| relu_(c.only()?)).options_of(args).module(),
            false => Simple::new("ReLU", |c| relu(c.only()?)).hidden_of(args).module(),
        }),
    )
    .details("`inplace` writes to the input instead of a new tensor.")
    .shapes(shapes::SAME)
    .errors(&[shapes::BOOLS])
    .example("nn::ReLU().forward(tensor([-1.0, 2.0]))", "tensor([0., 2.])"),
    constructor(
        "GELU",
        "The Gaussian error linear unit.",
        GeluParams::LIST,
        by_name!(GeluParams, |a, args| {
            let approximate = a.approximate.to_string();
            Simple::new("GELU", move |c| gelu(c.only()?, &approximate)).options_of(args).module()
        }),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("nn::GELU()", "GELU(approximate='none')"),
    constructor(
        "SiLU",
        "`x * sigmoid(x)`.",
        InplaceParams::LIST,
        by_name!(InplaceParams, |a, args| activation("SiLU", args, a.inplace, silu)),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("nn::SiLU()", "SiLU()"),
    constructor("Tanh", "The hyperbolic tangent.", &[], |_| {
        Simple::new("Tanh", |c| tanh(c.only()?)).module()
    })
    .shapes(shapes::SAME)
    .example("nn::Tanh()", "Tanh()"),
    constructor("Sigmoid", "`1 / (1 + exp(-x))`.", &[], |_| {
        Simple::new("Sigmoid", |c| sigmoid(c.only()?)).module()
    })
    .shapes(shapes::SAME)
    .example("nn::Sigmoid()", "Sigmoid()"),
    constructor(
        "Mish",
        "`x * tanh(softplus(x))`.",
        InplaceParams::LIST,
        by_name!(InplaceParams, |a, args| activation("Mish", args, a.inplace, mish)),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("nn::Mish()", "Mish()"),
    constructor(
        "ReLU6",
        "Each element kept within `0..6`.",
        InplaceParams::LIST,
        by_name!(InplaceParams, |a, args| activation("ReLU6", args, a.inplace, |x| hardtanh(x, 0.0, 6.0))),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::BOOLS])
    .example("nn::ReLU6()", "ReLU6()"),
    constructor(
        "Softplus",
        "A smooth relu.",
        SoftplusParams::LIST,
        by_name!(SoftplusParams, |a, args| {
            let run = move |c: &Call| softplus(c.only()?, a.beta, a.threshold);
            Simple::new("Softplus", run).options_of(args).module()
        }),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("nn::Softplus()", "Softplus(beta=1.0, threshold=20.0)"),
    constructor(
        "ELU",
        "`x` where positive, `alpha * (exp(x) - 1)` elsewhere.",
        EluParams::LIST,
        by_name!(EluParams, |a, args| activation("ELU", args, a.inplace, move |x| elu(x, a.alpha))),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("nn::ELU()", "ELU(alpha=1.0)"),
    constructor(
        "LeakyReLU",
        "`x` where positive, `negative_slope * x` elsewhere.",
        LeakyReluParams::LIST,
        by_name!(LeakyReluParams, |a, args| {
            activation("LeakyReLU", args, a.inplace, move |x| leaky_relu(x, a.negative_slope))
        }),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("nn::LeakyReLU(0.2)", "LeakyReLU(negative_slope=0.2)"),
    constructor(
        "RReLU",
        "`x` where positive, elsewhere times a slope, which is drawn for each element while training.",
        RreluParams::LIST,
        by_name!(RreluParams, |a| {
            let ((lower, low), (upper, high), inplace) = (a.lower, a.upper, a.inplace);
            let run = move |c: &Call| {
                let training = c.module.training();
                replaced_if(inplace, c.only()?, |x| rrelu(x, lower, upper, training))
            };
            Simple::new("RReLU", run).option("lower", low).option("upper", high).inplace(inplace).module()
        }),
    )
    .details("Outside of training the slope is the mean of the bounds.")
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("nn::RReLU(0.1, 0.3)", "RReLU(lower=0.1, upper=0.3)"),
    constructor(
        "Hardtanh",
        "Each element kept within bounds.",
        HardtanhParams::LIST,
        by_name!(HardtanhParams, |a, args| {
            if a.max_val <= a.min_val {
                let text =
                    format!("max_val ({:?}) must be greater than min_val ({:?})", a.max_val, a.min_val);
                return Err(Error::new(Kind::AssertionError, text));
            }
            activation("Hardtanh", args, a.inplace, move |x| hardtanh(x, a.min_val, a.max_val))
        }),
    )
    .shapes(shapes::SAME)
    .errors(&["AssertionError: `max_val` is not greater than `min_val`", shapes::BOOLS])
    .example("nn::Hardtanh()", "Hardtanh(min_val=-1.0, max_val=1.0)"),
    constructor(
        "Softmax",
        "`exp(x)` divided by its sum along a dimension.",
        SoftmaxParams::LIST,
        by_name!(SoftmaxParams, |a, args| {
            let run = move |c: &Call| {
                softmax(c.only()?, usual_dim("softmax", c.only()?, a.dim, Shared::warn_once), None)
            };
            Simple::new("Softmax", run).options_of(args).module()
        }),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("nn::Softmax(1)", "Softmax(dim=1)"),
    constructor(
        "LogSoftmax",
        "The logarithm of softmax.",
        SoftmaxParams::LIST,
        by_name!(SoftmaxParams, |a, args| {
            let run = move |c: &Call| {
                log_softmax(c.only()?, usual_dim("log_softmax", c.only()?, a.dim, Shared::warn_once), None)
            };
            Simple::new("LogSoftmax", run).options_of(args).module()
        }),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("nn::LogSoftmax(1)", "LogSoftmax(dim=1)"),
    constructor(
        "Dropout",
        "While training, zeroes elements with probability `p` and scales the others by `1 / (1 - p)`.",
        DropoutParams::LIST,
        by_name!(DropoutParams, |a| dropout_module(a.p, a.inplace).map(Module::into_value)),
    )
    .details("`net.eval()` turns it off.")
    .shapes(shapes::SAME)
    .errors(&[
        "ValueError: `p` is not in 0 to 1",
        "RuntimeError: while training, the input holds integers or bools",
    ])
    .example("nn::Dropout(0.2)", "Dropout(p=0.2, inplace=False)"),
];

//! Activations that are composed of other operations, gradients and all.

use crate::base::{DType, Error, Result, shape};
use crate::device::Shared;
use crate::op::core::def::{Args, Domain, Draw, FUNCTIONAL, Family, Gradient, OpDef, Param, Sample};
use crate::op::core::fill::replaced_if;
use crate::op::core::operand::Operand;
use crate::op::core::params::{ActivationParams, InputParams, Maybe, by_name, kind, params};
use crate::op::core::promote::only_floats;
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::core::whole::{Whole, first, whole1};
use crate::op::core::wide::in_single;
use crate::op::elementwise::arithmetic::{div, mul, scale, shift};
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::clamp::clamp;
use crate::op::elementwise::comparison::gt;
use crate::op::elementwise::sign::neg;
use crate::op::elementwise::unary::{abs, sigmoid};
use crate::op::reduce::softmax::{log_softmax, softmax};
use crate::op::shape::split::chunk;
use crate::op::shape::view::reshape;
use crate::tensor::Tensor;

use super::functions::{elu, softplus};

/// `x / (1 + |x|)`
pub(crate) fn softsign(x: &Tensor) -> Result<Tensor> {
    div(x, &shift(&abs(x)?, 1.0)?)
}

/// `clamp(x + 3, 0, 6) / 6`
pub(crate) fn hardsigmoid(x: &Tensor) -> Result<Tensor> {
    static KERNEL: Whole = Whole::new("hardsigmoid", "hardsigmoid_backward", "HardsigmoidBackward0");
    only_floats(x.dtype(), "hardsigmoid_cpu")?;
    KERNEL.run(&[x], &[], whole1(sigmoid_of_pieces))
}

fn sigmoid_of_pieces(x: &Tensor) -> Result<Tensor> {
    in_single([x], |[x]| scale(&clamp(&shift(x, 3.0)?, Some(0i64.into()), Some(6i64.into()))?, 1.0 / 6.0))
}

/// `x * hardsigmoid(x)`
pub(crate) fn hardswish(x: &Tensor) -> Result<Tensor> {
    static KERNEL: Whole = Whole::new("hardswish", "hardswish_backward", "HardswishBackward0");
    only_floats(x.dtype(), "hardswish_cpu")?;
    KERNEL.run(&[x], &[], whole1(|x| in_single([x], |[x]| mul(x, &sigmoid_of_pieces(x)?))))
}

/// `log(sigmoid(x))`, without overflow.
pub fn logsigmoid(x: &Tensor) -> Result<Tensor> {
    only_floats(x.dtype(), "log_sigmoid_cpu")?;
    // One operation for autocast, whatever it is made of.
    let _paused = crate::tensor::autocast::pause();
    static KERNEL: Whole = Whole::new("log_sigmoid", "log_sigmoid_backward", "LogSigmoidBackward0");
    KERNEL.run(&[x], &[], whole1(|x| neg(&softplus(&neg(x)?, 1.0, 20.0)?)))
}

/// The self-normalising unit (Klambauer et al., 2017): a scaled `elu`.
pub(crate) fn selu(x: &Tensor) -> Result<Tensor> {
    static KERNEL: Whole = Whole::new("elu", "elu_backward", "EluBackward0");
    let run =
        |x: &Tensor| in_single([x], |[x]| scale(&elu(x, 1.673_263_242_354_377_2)?, 1.050_700_987_355_480_5));
    KERNEL.run(&[x], &[], whole1(run))
}

/// `elu` that is smooth for every `alpha`: `alpha * (exp(x / alpha) - 1)` below 0.
pub(crate) fn celu(x: &Tensor, alpha: f64) -> Result<Tensor> {
    if alpha == 0.0 {
        return Err(Error::runtime("ZeroDivisionError: alpha cannot be 0 for CELU"));
    }
    only_floats(x.dtype(), "elu_cpu")?;
    static KERNEL: Whole = Whole::new("celu", "celu_backward", "CeluBackward0");
    let run = move |all: &[Tensor]| {
        let x = first(all)?;
        in_single([x], |[x]| scale(&elu(&scale(x, 1.0 / alpha)?, 1.0)?, alpha))
    };
    KERNEL.run(&[x], &[], Box::new(run))
}

/// The first half along a dimension times the sigmoid of the second.
pub(crate) fn glu(x: &Tensor, dim: i64) -> Result<Tensor> {
    if x.rank() == 0 {
        return Err(Error::runtime("glu does not support 0-dimensional tensors"));
    }
    let at = shape::wrap_dim(dim, x.rank())?;
    let size = x.size(dim)?;
    if !size.is_multiple_of(2) {
        let text = format!("Halving dimension must be even, but dimension {at} is size {size}");
        return Err(Error::runtime(text));
    }
    only_floats(x.dtype(), "glu_cpu")?;
    static KERNEL: Whole = Whole::new("glu", "glu_backward", "GluBackward0");
    let run = move |all: &[Tensor]| {
        in_single([first(all)?], |[x]| match chunk(x, 2, dim)?.as_slice() {
            [value, gate] => mul(value, &sigmoid(gate)?),
            _ => Ok(x.clone()),
        })
    };
    KERNEL.run(&[x], &[], Box::new(run))
}

/// `x` where positive, `weight * x` elsewhere; one weight, or one for each channel (dimension 1).
pub fn prelu(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    if let Some(casts) = crate::op::core::autocast::enter("prelu", &[x, weight])? {
        return prelu(&casts.cast(x)?, &casts.cast(weight)?);
    }
    let count = weight.numel();
    if weight.rank() > 1 {
        let text = format!(
            "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {}",
            weight.rank()
        );
        return Err(Error::runtime(text));
    }
    if x.rank() == 0 && count > 1 {
        return Err(Error::runtime("Not allow zero-dim input tensor."));
    }
    let weight = if count == 1 {
        if x.rank() == 0 { reshape(weight, &[])? } else { reshape(weight, &[1])? }
    } else {
        let channels = x.shape().get(1).copied().unwrap_or(1);
        if channels != count {
            let text = format!(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = {count} and channel \
                 size = {channels}."
            );
            return Err(Error::runtime(text));
        }
        let mut wide = vec![1; x.rank()];
        if let Some(slot) = wide.get_mut(1) {
            *slot = count as i64;
        }
        reshape(weight, &wide)?
    };
    if x.dtype() != weight.dtype() {
        let (of_x, of_weight) = (x.dtype().type_name(), weight.dtype().type_name());
        return Err(Error::runtime(format!(
            "prelu: Type promoting not supported. Got {of_x} and {of_weight}"
        )));
    }
    only_floats(x.dtype(), "prelu_cpu")?;
    static KERNEL: Whole = Whole::new("prelu", "prelu_backward", "PreluKernelBackward0");
    let run = |all: &[Tensor]| match all {
        [x, weight] => where_(&gt(x, 0.0)?, Operand::Tensor(x), Operand::Tensor(&mul(x, weight)?)),
        _ => first(all).cloned(),
    };
    KERNEL.run(&[x, &weight], &[], Box::new(run))
}

/// The dimension that softmax takes where none was named, as PyTorch's `_get_softmax_dim`, which warns of it: in the
/// learner's line or in one of its own.
pub(crate) fn usual_dim(name: &str, x: &Tensor, dim: Option<i64>, warn: fn(&Shared, &str)) -> i64 {
    dim.unwrap_or_else(|| {
        let text = format!(
            "Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument."
        );
        warn(&x.context().shared, &text);
        if matches!(x.rank(), 0 | 1 | 3) { 0 } else { 1 }
    })
}

pub(crate) const fn row(
    name: &'static str,
    family: Family,
    summary: &'static str,
    params: &'static [Param],
    run: fn(&Args) -> Result<Value>,
) -> OpDef {
    OpDef::call(name, family, summary, params, run).forms(FUNCTIONAL)
}

const X: Draw = Draw::of("x", &[3, 4], Domain::Any);

params! {
    CeluParams {
        input: kind::Tensor, "the tensor it is computed of";
        alpha: kind::Float = 1.0, "how far below 0 the result can come";
        inplace: kind::Bool = false, "whether it writes to its input, which saves memory";
    }
}

params! {
    GluParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Dim = -1, "the dimension that is cut into halves; negative ones count from the end";
    }
}

params! {
    FunctionalSoftmaxParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: Maybe<kind::Dim>, "the dimension it runs along";
        dtype: Maybe<kind::DType>, "the dtype computed in and given";
    }
}

params! {
    PreluParams {
        input: kind::Tensor, "the tensor it is computed of";
        weight: kind::Tensor, "the factor of negative elements, or one for each channel";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    row(
        "softsign",
        Family::Activation,
        "`x / (1 + |x|)`.",
        InputParams::LIST,
        by_name!(InputParams, |a| softsign(a.input).map(Value::from)),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::BOOLS])
    .example("F::softsign(tensor([-1.0, 0.0, 2.0]))", "tensor([-0.5000,  0.0000,  0.6667])")
    .samples(&[Sample::of("F::softsign(x)", &[X])]),
    row(
        "hardsigmoid",
        Family::Activation,
        "`clamp(x + 3, 0, 6) / 6`.",
        ActivationParams::LIST,
        by_name!(ActivationParams, |a| replaced_if(a.inplace, a.input, hardsigmoid).map(Value::from)),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("F::hardsigmoid(tensor([-1.0, 0.0, 2.0]))", "tensor([0.3333, 0.5000, 0.8333])")
    .samples(&[Sample::of("F::hardsigmoid(x * 2)", &[X])]),
    row(
        "hardswish",
        Family::Activation,
        "`x * hardsigmoid(x)`.",
        ActivationParams::LIST,
        by_name!(ActivationParams, |a| replaced_if(a.inplace, a.input, hardswish).map(Value::from)),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("F::hardswish(tensor([-1.0, 0.0, 2.0]))", "tensor([-0.3333,  0.0000,  1.6667])")
    .samples(&[Sample::of("F::hardswish(x * 2)", &[X])]),
    row(
        "logsigmoid",
        Family::Activation,
        "The logarithm of the sigmoid.",
        InputParams::LIST,
        by_name!(InputParams, |a| logsigmoid(a.input).map(Value::from)),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("F::logsigmoid(tensor([-1.0, 0.0, 2.0]))", "tensor([-1.3133, -0.6931, -0.1269])")
    .samples(&[Sample::of("F::logsigmoid(x)", &[X])]),
    row(
        "selu",
        Family::Activation,
        "A scaled elu that keeps mean and deviation of a signal.",
        ActivationParams::LIST,
        by_name!(ActivationParams, |a| replaced_if(a.inplace, a.input, selu).map(Value::from)),
    )
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("F::selu(tensor([-1.0, 0.0, 2.0]))", "tensor([-1.1113,  0.0000,  2.1014])")
    .samples(&[Sample::of("F::selu(x)", &[X])]),
    row(
        "celu",
        Family::Activation,
        "`x` where positive, `alpha * (exp(x / alpha) - 1)` elsewhere.",
        CeluParams::LIST,
        by_name!(CeluParams, |a| replaced_if(a.inplace, a.input, |x| celu(x, a.alpha)).map(Value::from)),
    )
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: `alpha` is 0", shapes::NO_FLOAT])
    .example("F::celu(tensor([-1.0, 0.0, 2.0]))", "tensor([-0.6321,  0.0000,  2.0000])")
    .samples(&[Sample::of("F::celu(x, 0.5)", &[X])]),
    row(
        "glu",
        Family::Activation,
        "The first half along a dimension times the sigmoid of the second.",
        GluParams::LIST,
        by_name!(GluParams, |a| glu(a.input, a.dim).map(Value::from)),
    )
    .shapes("(…, 2 n, …) -> (…, n, …)")
    .errors(&["RuntimeError: the dimension's size is odd", shapes::NO_FLOAT])
    .example("F::glu(tensor([1.0, 2.0, 3.0, 4.0]))", "tensor([0.9526, 1.9640])")
    .samples(&[Sample::of("F::glu(x)", &[X])]),
    row("softmin", Family::Activation, "Softmax of `-x`.", FunctionalSoftmaxParams::LIST, |args| {
        in_functional(args, |x, dim, dtype| softmax(&neg(x)?, dim, dtype))
    })
    .details(USUAL)
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("F::softmin(tensor([1.0, 2.0, 3.0]), 0)", "tensor([0.6652, 0.2447, 0.0900])")
    .samples(&[Sample::of("F::softmin(x, 1)", &[X])]),
    row(
        "prelu",
        Family::Activation,
        "`x` where positive, `weight * x` elsewhere.",
        PreluParams::LIST,
        by_name!(PreluParams, |a| prelu(a.input, a.weight).map(Value::from)),
    )
    .details("`weight` holds one number, or one for each channel (dimension 1).")
    .shapes("(N, C, …), weight (1) or (C) -> the same")
    .errors(&["RuntimeError: the weight has neither one element nor one for each channel"])
    .example("F::prelu(tensor([-1.0, 0.0, 2.0]), tensor([0.1]))", "tensor([-0.1000,  0.0000,  2.0000])")
    .samples(&[Sample::of("F::prelu(x, w)", &[X, Draw::of("w", &[4], Domain::Any)])]),
];

/// Those of `F::`, which need no dimension.
pub(crate) static HOMONYMS: &[OpDef] = &[
    row(
        "softmax",
        Family::Activation,
        "Exponentials along a dimension, scaled to sum to 1.",
        FunctionalSoftmaxParams::LIST,
        |args| in_functional(args, softmax),
    )
    .details(USUAL)
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("F::softmax(tensor([0.0, 0.0]), 0)", "tensor([0.5000, 0.5000])")
    .gradient(Gradient::Vjp("SoftmaxBackward0"))
    .samples(&[Sample::of("F::softmax(x, 1)", &[X])]),
    row(
        "log_softmax",
        Family::Activation,
        "The logarithm of softmax, without overflow.",
        FunctionalSoftmaxParams::LIST,
        |args| in_functional(args, log_softmax),
    )
    .details(USUAL)
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("F::log_softmax(tensor([0.0, 0.0]), 0)", "tensor([-0.6931, -0.6931])")
    .gradient(Gradient::Vjp("LogSoftmaxBackward0"))
    .samples(&[Sample::of("F::log_softmax(x, 1)", &[X])]),
];

const USUAL: &str =
    "Without `dim` it is 0 for inputs of 0, 1 or 3 dimensions and 1 for others, with a warning.";

/// A function along the dimension that is given, or along the usual one.
fn in_functional(args: &Args, run: impl Fn(&Tensor, i64, Option<DType>) -> Result<Tensor>) -> Result<Value> {
    let a = FunctionalSoftmaxParams::of(args)?;
    let dim = usual_dim(args.def.name, a.input, a.dim, Shared::warn);
    run(a.input, dim, a.dtype).map(Value::from)
}

//! Making tensors by a rule: numbers at equal steps or at equal ratios.

use crate::base::dtype::Category;
use crate::base::{DType, Error, Kind, Layout, Result, Scalar};
use crate::device::{Kernel, Machine};
use crate::op::core::def::{Args, FUNCTION, Family, Gradient, OpDef};
use crate::op::core::operand::Operand;
use crate::op::core::params::{Maybe, by_name, kind, kinds, params};
use crate::op::core::promote::{DEFAULT_FLOAT, cast};
use crate::op::elementwise::binary::pow;
use crate::tensor::{Tensor, launch};

use super::filled::{Make, MakeParams};

/// `start, start + step, …` below `end` (above it, for a negative step). Integers give int64, floats float32.
pub fn arange(start: Scalar, end: Scalar, step: Scalar, make: &Make) -> Result<Tensor> {
    let all = [start, end, step];
    let float = all.iter().any(|s| s.category() == Category::Float);
    let dtype = make.dtype.unwrap_or(if float { DEFAULT_FLOAT } else { DType::Int64 });
    if dtype == DType::Bool {
        let text = "\"arange_cpu\" not implemented for 'Bool'";
        return Err(Error::new(Kind::NotImplementedError, text));
    }
    let count = if float { float_steps(start, end, step)? } else { whole_steps(start, end, step)? };
    let context = make.context(&Machine::current())?;
    let out = Tensor::empty(&[count], dtype, &context, "arange")?;
    let (start, step) =
        if dtype.is_float() || !float { (start, step) } else { (cast(start, dtype), cast(step, dtype)) };
    launch("arange", &Kernel::Arange { start, step }, &[], &[&out])?;
    make.finish(out)
}

/// `steps` numbers from `start` to `end`, both included.
pub fn linspace(start: f64, end: f64, steps: i64, make: &Make) -> Result<Tensor> {
    let count = usize::try_from(steps).map_err(|_| Error::runtime("number of steps must be non-negative"))?;
    let dtype = make.dtype.unwrap_or(DEFAULT_FLOAT);
    let context = make.context(&Machine::current())?;
    let precise = if dtype.is_float() { dtype } else { DType::Float64 };
    // Integers lie between integers.
    let [start, end] = if dtype.is_float() { [start, end] } else { [start.trunc(), end.trunc()] };
    let out = Tensor::empty(&[count], precise, &context, "linspace")?;
    // PyTorch divides in the dtype, halves in float32, and fuses each product with its sum.
    let exact = if precise == DType::Float64 { DType::Float64 } else { DType::Float32 };
    let [start, end] = [start, end].map(|edge| precise.nearest(edge));
    let steps = exact.nearest(count.saturating_sub(1).max(1) as f64);
    let step = if count > 1 { exact.nearest(exact.nearest(end - start) / steps) } else { 0.0 };
    let half = if count == 1 { 1 } else { count / 2 };
    // The second half counts back from the end, so that the last number is `end` itself.
    let head = out.with_layout(out.layout().slice(0, 0, half, 1)?);
    launch("linspace", &Kernel::Arange { start: start.into(), step: step.into() }, &[], &[&head])?;
    if count > half {
        let back = Layout::new([count - half][..].into(), [-1][..].into(), count - 1)?;
        let tail = out.with_layout(back);
        launch("linspace", &Kernel::Arange { start: end.into(), step: (-step).into() }, &[], &[&tail])?;
    }
    make.finish(if precise == dtype { out } else { out.copied(dtype, "linspace")? })
}

/// `base` to the powers of `steps` numbers from `start` to `end`, both included.
pub fn logspace(start: f64, end: f64, steps: i64, base: f64, make: &Make) -> Result<Tensor> {
    let dtype = make.dtype.unwrap_or(DEFAULT_FLOAT);
    let plain = |dtype| Make { dtype: Some(dtype), device: make.device, ..Make::default() };
    // Integers lie between integers.
    let [start, end] = if dtype.is_float() { [start, end] } else { [start.trunc(), end.trunc()] };
    // The exponents have the dtype's precision, their powers are taken in double precision.
    let exponents =
        linspace(start, end, steps, &plain(if dtype.is_float() { dtype } else { DType::Float64 }))?;
    let powers = pow(base, &exponents.copied(DType::Float64, "logspace")?)?;
    make.finish(powers.copied(dtype, "logspace")?)
}

fn whole_steps(start: Scalar, end: Scalar, step: Scalar) -> Result<usize> {
    let [start, end, step] = [start, end, step].map(|s| i128::from(s.as_i64()));
    if step == 0 {
        return Err(Error::runtime("step must be nonzero"));
    }
    let span = end - start;
    if span != 0 && (span > 0) != (step > 0) {
        return Err(wrong_way(span < 0));
    }
    usize::try_from((span + step - step.signum()) / step).map_err(|_| too_many())
}

fn float_steps(start: Scalar, end: Scalar, step: Scalar) -> Result<usize> {
    let [start, end, step] = [start, end, step].map(Scalar::as_f64);
    if step == 0.0 || step.is_nan() {
        return Err(Error::runtime("step must be nonzero"));
    }
    if !start.is_finite() || !end.is_finite() {
        return Err(Error::runtime(format!("unsupported range: {start} -> {end}")));
    }
    if (step > 0.0 && end < start) || (step < 0.0 && end > start) {
        return Err(wrong_way(end < start));
    }
    let count = ((end - start) / step).ceil();
    if count < 1e18 { Ok(count as usize) } else { Err(too_many()) }
}

fn wrong_way(down: bool) -> Error {
    Error::runtime("upper bound and lower bound inconsistent with step sign").with_hint(match down {
        true => "a range that goes down needs a negative step: `arange(5, 0, -1)`",
        false => "a range that goes up needs a positive step: `arange(0, 5, 1)`; from its end down it is `arange(5, 0, -1)`",
    })
}

fn too_many() -> Error {
    Error::runtime("invalid size, possible overflow?")
        .with_hint("the range has more numbers than memory can hold")
}

const NEW: Gradient = Gradient::NoGrad("the result does not depend on values of a tensor");

params! {
    ArangeParams {
        start: kind::Scalar, "the first number; the end where it is the only one";
        end: Maybe<kind::Scalar>, "the number that is no longer part of it";
        step: kind::Scalar = 1, "how far apart neighbours are; negative ones count down";
        ..options: MakeParams;
    }
}

kinds! {
    /// An end of a row: a number, or a tensor of no dimensions.
    Bound(Operand) => f64, |args: &Args, at| match args.operand(at)? {
        Operand::Scalar(n) => Ok(n.as_f64()),
        Operand::Tensor(t) if t.rank() == 0 => t.item().map(Scalar::as_f64),
        Operand::Tensor(_) => {
            let ends = ["start", "end"].map(|name| (name, args.operand(usize::from(name == "end"))));
            let told = ends.iter().filter_map(|(name, end)| match end {
                Ok(Operand::Tensor(t)) => Some(format!("{name} with {} dimension(s)", t.rank())),
                _ => None,
            });
            Err(Error::runtime(format!(
                "{} only supports 0-dimensional start and end tensors, but got {}.",
                args.def.name,
                told.collect::<Vec<_>>().join(" and ")
            )))
        }
    };
}

params! {
    LinspaceParams {
        start: Bound, "where the row begins, a number or a tensor of no dimensions";
        end: Bound, "where the row ends; it is one of the numbers";
        steps: kind::Int, "how many numbers";
        ..options: MakeParams;
    }
}

params! {
    LogspaceParams {
        start: Bound, "the first exponent, a number or a tensor of no dimensions";
        end: Bound, "the last exponent";
        steps: kind::Int, "how many numbers";
        base: kind::Float = 10.0, "the number whose powers are taken";
        ..options: MakeParams;
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "arange",
        Family::Create,
        "`start, start + step, …` up to, but not including, `end`.",
        ArangeParams::LIST,
        by_name!(ArangeParams, |a| {
            let (start, end) = match a.end {
                Some(end) => (a.start, end),
                None => (Scalar::Int(0), a.start),
            };
            Ok(arange(start, end, a.step, &a.options.make())?.into())
        }),
    )
    .forms(FUNCTION)
    .details("A single number is the end. Integers give int64, floats float32.")
    .shapes("-> (⌈(end - start) / step⌉)")
    .errors(&["RuntimeError: the step is 0, or leads away from the end"])
    .example("arange(1, 10, 3)", "tensor([1, 4, 7])")
    .gradient(NEW),
    OpDef::call(
        "linspace",
        Family::Create,
        "`steps` numbers from `start` to `end`, both included.",
        LinspaceParams::LIST,
        by_name!(LinspaceParams, |a| Ok(linspace(a.start, a.end, a.steps, &a.options.make())?.into())),
    )
    .forms(FUNCTION)
    .shapes("-> (steps)")
    .errors(&["RuntimeError: `steps` is negative", "RuntimeError: an end is a tensor with dimensions"])
    .example("linspace(0, 1, 5)", "tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])")
    .gradient(NEW),
    OpDef::call(
        "logspace",
        Family::Create,
        "`base` to the powers of `steps` numbers from `start` to `end`, both included.",
        LogspaceParams::LIST,
        by_name!(
            LogspaceParams,
            |a| Ok(logspace(a.start, a.end, a.steps, a.base, &a.options.make())?.into())
        ),
    )
    .forms(FUNCTION)
    .shapes("-> (steps)")
    .errors(&["RuntimeError: `steps` is negative", "RuntimeError: an end is a tensor with dimensions"])
    .example("logspace(0, 3, 4, 2)", "tensor([1., 2., 4., 8.])")
    .gradient(NEW),
];

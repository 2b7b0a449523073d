//! Making tensors: from numbers, by a rule, or filled with one value.

use std::sync::Arc;

use crate::base::dtype::Category;
use crate::base::shape::checked_sizes;
use crate::base::{DType, DeviceSpec, Dims, Error, Kind, Layout, Result, Scalar, ShapeCause, memory};
use crate::device::{Context, Kernel, Machine};
use crate::tensor::{Tensor, launch};

use super::args::{Args, Value};
use super::binary::pow;
use super::def::{DefaultValue as Fallback, Param, ParamKind};
use super::movement::diagonal;
use super::promote::DEFAULT_FLOAT;
use super::select::cast;

/// The options of every function that makes a tensor.
#[derive(Clone, Copy, Default, Debug)]
pub struct Make {
    pub dtype: Option<DType>,
    pub device: Option<DeviceSpec>,
    pub requires_grad: bool,
    pub pin_memory: bool,
}

/// Where a new tensor is made. [`Make::from_args`] reads dtype, device and these, in order.
pub const DEVICE: Param = Param::optional("device", ParamKind::Device, Fallback::None);
/// Whether a new tensor asks for a gradient.
pub const REQUIRES_GRAD: Param = Param::optional("requires_grad", ParamKind::Bool, Fallback::Bool(false));
/// Whether a new tensor lies in page-locked memory.
pub const PIN_MEMORY: Param = Param::optional("pin_memory", ParamKind::Bool, Fallback::Bool(false));

impl Make {
    /// Reads the options from the four arguments at `first`.
    pub fn from_args(args: &Args, first: usize) -> Result<Make> {
        Ok(Make {
            dtype: args.dtype(first),
            device: args.device(first + 1),
            requires_grad: args.bool(first + 2)?,
            pin_memory: args.bool(first + 3)?,
        })
    }

    pub fn dtype(dtype: DType) -> Make {
        Make { dtype: Some(dtype), ..Make::default() }
    }

    /// The same, with the dtype and device of `x` where none are given.
    pub fn like(self, x: &Tensor) -> Make {
        Make {
            dtype: self.dtype.or(Some(x.dtype())),
            device: self.device.or(Some(x.device().into())),
            ..self
        }
    }

    /// Where the tensor will be.
    pub fn context(&self, machine: &Machine) -> Result<Arc<Context>> {
        let device = machine.resolve(self.device.unwrap_or(DeviceSpec::Cpu));
        if self.pin_memory && device.is_cuda() {
            return Err(Error::runtime("Only dense CPU tensors can be pinned"));
        }
        machine.context(device).cloned()
    }

    /// Gives a new tensor the options that come last.
    pub fn finish(&self, made: Tensor) -> Result<Tensor> {
        let made = if self.pin_memory { made.pin_memory()? } else { made };
        if self.requires_grad {
            made.set_requires_grad(true)?;
        }
        Ok(made)
    }
}

/// `shape` filled with `value`, in the value's own dtype where none is given.
pub fn full(shape: &[i64], value: Scalar, make: &Make) -> Result<Tensor> {
    filled("full", &checked_sizes(shape)?, value, make.dtype.unwrap_or(value.default_dtype()), make)
}

/// `shape` filled with 0.
pub fn zeros(shape: &[i64], make: &Make) -> Result<Tensor> {
    filled("zeros", &checked_sizes(shape)?, Scalar::Int(0), make.dtype.unwrap_or(DEFAULT_FLOAT), make)
}

/// `shape` filled with 1.
pub fn ones(shape: &[i64], make: &Make) -> Result<Tensor> {
    filled("ones", &checked_sizes(shape)?, Scalar::Int(1), make.dtype.unwrap_or(DEFAULT_FLOAT), make)
}

/// `shape` with whatever the memory holds.
pub fn empty(shape: &[i64], make: &Make) -> Result<Tensor> {
    let context = make.context(&Machine::current())?;
    make.finish(Tensor::empty(
        &checked_sizes(shape)?,
        make.dtype.unwrap_or(DEFAULT_FLOAT),
        &context,
        "empty",
    )?)
}

/// The shape of `x` filled with `value`, in its dtype and on its device unless said otherwise.
pub fn full_like(x: &Tensor, value: Scalar, make: &Make) -> Result<Tensor> {
    let make = make.like(x);
    let flat = filled("full_like", x.shape(), value, make.dtype.unwrap_or(x.dtype()), &make)?;
    if x.is_contiguous() {
        return Ok(flat);
    }
    let out = flat.with_layout(x.layout().dense_like()?);
    make.finish(out)
}

/// The shape of `x` with whatever the memory holds.
pub fn empty_like(x: &Tensor, make: &Make) -> Result<Tensor> {
    let make = make.like(x);
    let context = make.context(&Machine::current())?;
    let layout = x.layout().dense_like()?;
    make.finish(Tensor::empty_in(layout, make.dtype.unwrap_or(x.dtype()), &context, "empty_like")?)
}

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
    let out = Tensor::empty(&[count], precise, &context, "linspace")?;
    let step = if count > 1 { (end - start) / (count - 1) as f64 } else { 0.0 };
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
    // The exponents have the dtype's precision, their powers are taken in double precision.
    let exponents =
        linspace(start, end, steps, &plain(if dtype.is_float() { dtype } else { DType::Float64 }))?;
    let powers = pow(base, &exponents.copied(DType::Float64, "logspace")?)?;
    make.finish(powers.copied(dtype, "logspace")?)
}

/// Ones on the diagonal of `n` rows and `m` columns, zeros elsewhere.
pub fn eye(n: i64, m: Option<i64>, make: &Make) -> Result<Tensor> {
    let m = m.unwrap_or(n);
    for (name, size) in [("n", n), ("m", m)] {
        if size < 0 {
            return Err(Error::runtime(format!("{name} must be greater or equal to 0, got {size}")));
        }
    }
    let plain = Make { requires_grad: false, pin_memory: false, ..*make };
    let out = zeros(&[n, m], &plain)?;
    diagonal(&out, 0, 0, 1)?.fill(cast(Scalar::Int(1), out.dtype()), "eye")?;
    make.finish(out)
}

/// A tensor of nested arrays of numbers. Without a dtype integers give int64, floats float32, bools bool.
///
/// Errors name the first array whose length differs from its neighbours'.
pub fn from_nested(data: &Value, make: &Make) -> Result<Tensor> {
    let made = match data {
        Value::Tensor(t) => t.copied(make.dtype.unwrap_or(t.dtype()), "tensor")?,
        Value::Str(_) => return Err(Error::type_error("new(): invalid data type 'string'")),
        _ => {
            let mut reader = Nested { shape: shape_of(data)?, numbers: Vec::new(), dtype: None };
            reader.read(data, 0)?;
            let dtype = make.dtype.or(reader.dtype).unwrap_or(DEFAULT_FLOAT);
            reader.numbers.iter().try_for_each(|n| check_fits(*n, dtype))?;
            Tensor::from_numbers(&reader.numbers, &reader.shape, dtype)?
        }
    };
    let device = match (make.device, data) {
        (None, Value::Tensor(t)) => Some(t.device().into()),
        (device, _) => device,
    };
    let make = Make { device, ..*make };
    let context = make.context(&Machine::current())?;
    let made = if made.device() == context.device { made } else { made.moved(&context, false, "tensor")? };
    make.finish(made)
}

fn filled(name: &'static str, shape: &[usize], value: Scalar, dtype: DType, make: &Make) -> Result<Tensor> {
    let context = make.context(&Machine::current())?;
    make.finish(Tensor::full(shape, cast(value, dtype), dtype, &context, name)?)
}

fn whole_steps(start: Scalar, end: Scalar, step: Scalar) -> Result<usize> {
    let [start, end, step] = [start, end, step].map(|s| i128::from(s.as_i64()));
    if step == 0 {
        return Err(Error::runtime("step must be nonzero"));
    }
    let span = end - start;
    if span != 0 && (span > 0) != (step > 0) {
        return Err(wrong_way());
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
        return Err(wrong_way());
    }
    let count = ((end - start) / step).ceil();
    if count < 1e18 { Ok(count as usize) } else { Err(too_many()) }
}

fn wrong_way() -> Error {
    Error::runtime("upper bound and lower bound inconsistent with step sign")
        .with_hint("a range that goes down needs a negative step: `arange(5, 0, -1)`")
}

fn too_many() -> Error {
    Error::runtime("invalid size, possible overflow?")
        .with_hint("the range has more numbers than memory can hold")
}

/// The sizes that the first elements show.
fn shape_of(data: &Value) -> Result<Dims> {
    let mut shape = Dims::new();
    let mut at = data;
    while let Value::List(items) = at {
        if shape.len() == MAX_RANK {
            return Err(Error::value(format!(
                "too many dimensions: arrays are nested deeper than {MAX_RANK}"
            )));
        }
        shape.push(items.len());
        match items.first() {
            Some(first) => at = first,
            None => break,
        }
    }
    Ok(shape)
}

const MAX_RANK: usize = 64;

/// Collects the numbers of nested arrays in row-major order.
struct Nested {
    shape: Dims,
    numbers: Vec<Scalar>,
    dtype: Option<DType>,
}

impl Nested {
    fn read(&mut self, value: &Value, depth: usize) -> Result<()> {
        match (value, self.shape.get(depth)) {
            (Value::List(items), Some(&want)) if items.len() == want => {
                items.iter().try_for_each(|item| self.read(item, depth + 1))
            }
            (Value::List(items), Some(&want)) => {
                Err(ShapeCause::Ragged { want, dim: depth, got: items.len() }.into())
            }
            (Value::List(_), None) => {
                let text = format!("expected a number at dim {depth} (got an array)");
                Err(Error::value(text).with_hint("all rows of a tensor have one length and one depth"))
            }
            (Value::Tensor(t), None) if t.numel() != 1 => {
                Err(Error::value("only one element tensors can be converted to Python scalars")
                    .with_hint("`stack([a, b])` joins tensors"))
            }
            (Value::Scalar(n), None) => self.push(*n, n.default_dtype()),
            (Value::Tensor(t), None) => self.push(t.item()?, t.dtype()),
            (Value::Scalar(_) | Value::Tensor(_), Some(want)) => {
                let text = format!("expected sequence of length {want} at dim {depth} (got a number)");
                Err(Error::value(text).with_hint("all rows of a tensor have one length and one depth"))
            }
            (other, _) => Err(Error::runtime(format!("Could not infer dtype of {}", other.describe()))),
        }
    }

    fn push(&mut self, n: Scalar, dtype: DType) -> Result<()> {
        self.dtype = Some(self.dtype.map_or(dtype, |d| d.promote(dtype)));
        memory::push(&mut self.numbers, n)
    }
}

/// Integers must fit their dtype; negative ones wrap around in uint8, as in PyTorch.
fn check_fits(n: Scalar, dtype: DType) -> Result<()> {
    if dtype.category() != Category::Int {
        return Ok(());
    }
    let bits = 8 * dtype.size() as u32;
    let (low, high) = match dtype {
        DType::UInt8 => (-255.0, 255.0),
        _ => (-(2f64.powi(bits as i32 - 1)), 2f64.powi(bits as i32 - 1) - 1.0),
    };
    let v = n.as_f64();
    if matches!(n, Scalar::Float(_)) || bits < 64 {
        let fits = v >= low && (v <= high || (bits == 64 && v < -low));
        if !fits {
            return Err(Error::runtime(format!(
                "value cannot be converted to type {dtype} without overflow"
            ))
            .with_hint(format!("{dtype} holds {low} to {high}")));
        }
    }
    Ok(())
}

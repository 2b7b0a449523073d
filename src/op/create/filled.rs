//! Making tensors: from numbers, or filled with one value.

use std::sync::Arc;

use crate::base::shape::checked_sizes;
use crate::base::{DType, Device, DeviceSpec, Dims, Error, Layout, Result, Scalar, ShapeCause, memory};
use crate::device::{Context, Machine};
use crate::op::core::convert::{Target, to};
use crate::op::core::def::{FUNCTION, Family, Gradient, METHOD, OpDef};
use crate::op::core::format::{FormatWord, MemoryFormat};
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::promote::{DEFAULT_FLOAT, cast, check_fits, fitting};
use crate::op::core::record::determined;
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::shape::part::diagonal;
use crate::tensor::Tensor;

/// The options of every function that makes a tensor.
#[derive(Clone, Copy, Default, Debug)]
pub struct Make {
    pub dtype: Option<DType>,
    pub device: Option<DeviceSpec>,
    pub requires_grad: bool,
    pub pin_memory: bool,
    pub format: Option<MemoryFormat>,
}

params! {
    /// The options of every function that makes a tensor, as a call has them.
    pub group MakeParams {
        dtype: Maybe<kind::DType>, "what the new tensor holds, such as float64";
        device: Maybe<kind::Device>, "where the new tensor lies, such as \"cuda\"";
        requires_grad: kind::Bool = false, "whether gradients are gathered for it";
        pin_memory: kind::Bool = false, "whether it lies in page-locked memory, from which copies to a GPU are faster";
    }
}

impl MakeParams<'_> {
    /// The options as functions of the table take them.
    pub fn make(&self) -> Make {
        Make {
            dtype: self.dtype,
            device: self.device,
            requires_grad: self.requires_grad,
            pin_memory: self.pin_memory,
            format: None,
        }
    }
}

params! {
    /// The same, of functions that make a tensor like another.
    pub group LikeOptions {
        ..options: MakeParams;
        memory_format: Maybe<FormatWord>, "the order of dimensions in memory, such as \"channels_last\"; that of `input` unless one is named";
    }
}

impl LikeOptions<'_> {
    /// The options as functions of the table take them.
    pub fn make(&self) -> Make {
        Make { format: self.memory_format, ..self.options.make() }
    }
}

impl Make {
    /// Another dtype than the default.
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

    /// How a tensor like `x` lies in memory.
    pub(crate) fn layout(&self, x: &Tensor) -> Result<Layout> {
        self.format.unwrap_or(MemoryFormat::Preserve).layout(x.layout())
    }

    /// Where the tensor will be.
    pub(crate) fn device(&self, machine: &Machine) -> Device {
        machine.resolve(self.device.or_else(|| machine.default_device()).unwrap_or(DeviceSpec::Cpu))
    }

    /// The device that it will be on.
    pub fn context(&self, machine: &Machine) -> Result<Arc<Context>> {
        let device = self.device(machine);
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
    if make.format == Some(MemoryFormat::Preserve) {
        return Err(Error::runtime("unsupported memory format Preserve"));
    }
    let plain = Layout::contiguous(&checked_sizes(shape)?)?;
    let layout = make.format.unwrap_or(MemoryFormat::Contiguous).layout(&plain)?;
    let dtype = make.dtype.unwrap_or(DEFAULT_FLOAT);
    // Nothing is written, so that there is nothing to copy.
    let out = match make.pin_memory {
        true => Tensor::empty_for_copies(layout, dtype, "empty")?,
        false => Tensor::empty_in(layout, dtype, &context, "empty")?,
    };
    make.finish(determined(out)?)
}

/// The shape of `x` filled with `value`, in its dtype and on its device unless said otherwise.
pub fn full_like(x: &Tensor, value: Scalar, make: &Make) -> Result<Tensor> {
    let make = make.like(x);
    let layout = make.layout(x)?;
    let flat = filled("full_like", x.shape(), value, make.dtype.unwrap_or(x.dtype()), &make)?;
    if layout.is_contiguous() {
        return Ok(flat);
    }
    make.finish(flat.with_layout(layout))
}

/// The shape of `x` with whatever the memory holds.
pub fn empty_like(x: &Tensor, make: &Make) -> Result<Tensor> {
    let make = make.like(x);
    let context = make.context(&Machine::current())?;
    let layout = make.layout(x)?;
    let out = Tensor::empty_in(layout, make.dtype.unwrap_or(x.dtype()), &context, "empty_like")?;
    make.finish(determined(out)?)
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

/// The tensor itself where dtype and device are as wanted, else [`from_nested`].
fn as_tensor(data: &Value, make: &Make) -> Result<Tensor> {
    let Value::Tensor(t) = data else { return from_nested(data, make) };
    let target = Target { device: make.device, dtype: make.dtype };
    to(t, target, false, false)
}

fn filled(name: &'static str, shape: &[usize], value: Scalar, dtype: DType, make: &Make) -> Result<Tensor> {
    let context = make.context(&Machine::current())?;
    let value = fitting(value, dtype)?;
    if !make.pin_memory {
        return make.finish(Tensor::full(shape, value, dtype, &context, name)?);
    }
    let pinned = Tensor::empty_for_copies(Layout::contiguous(shape)?, dtype, name)?;
    pinned.fill(value, name)?;
    make.finish(pinned)
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

const MAX_RANK: usize = 64;
const NEW: Gradient = Gradient::NoGrad("the result does not depend on values of a tensor");

params! {
    DataParams {
        data: kind::Any, "a number, nested arrays of numbers, or a tensor to copy";
        ..options: MakeParams;
    }
}

params! {
    SizeParams {
        size: kind::Sizes, "how long each dimension is";
        ..options: MakeParams;
    }
}

params! {
    FullParams {
        size: kind::Ints, "how long each dimension is";
        fill_value: kind::Scalar, "the number that every element is";
        ..options: MakeParams;
    }
}

params! {
    EmptyParams {
        size: kind::Sizes, "sizes of the result";
        ..options: MakeParams;
        memory_format: Maybe<FormatWord>, "the order of dimensions in memory, such as \"channels_last\"; row-major unless one is named";
    }
}

params! {
    LikeParams {
        input: kind::Tensor, "the tensor that lends shape, dtype and device";
        ..options: LikeOptions;
    }
}

params! {
    FullLikeParams {
        input: kind::Tensor, "the tensor that lends shape, dtype and device";
        fill_value: kind::Scalar, "the number that every element is";
        ..options: LikeOptions;
    }
}

params! {
    NewSizeParams {
        input: kind::Tensor, "the tensor that lends dtype and device";
        size: kind::Sizes, "how long each dimension is";
        ..options: MakeParams;
    }
}

params! {
    NewFullParams {
        input: kind::Tensor, "the tensor that lends dtype and device";
        size: kind::Ints, "how long each dimension is";
        fill_value: kind::Scalar, "the number that every element is";
        ..options: MakeParams;
    }
}

params! {
    NewTensorParams {
        input: kind::Tensor, "the tensor that lends dtype and device";
        data: kind::Any, "a number, nested arrays of numbers, or a tensor to copy";
        ..options: MakeParams;
    }
}

params! {
    EyeParams {
        n: kind::Int, "how many rows";
        m: Maybe<kind::Int>, "how many columns; as many as rows where none are named";
        ..options: MakeParams;
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "tensor",
        Family::Create,
        "A tensor of a number or of nested arrays of numbers.",
        DataParams::LIST,
        by_name!(DataParams, |a| Ok(from_nested(a.data, &a.options.make())?.into())),
    )
    .forms(FUNCTION)
    .details("Integers give int64, floats float32, bools bool; rows of different lengths are an error.")
    .shapes("a number -> (); an array of n arrays of m numbers -> (n, m), and so on")
    .errors(&["ValueError: arrays side by side have different lengths"])
    .example("tensor([[1, 2], [3, 4.5]])", "tensor([[1.0000, 2.0000],\n        [3.0000, 4.5000]])")
    .gradient(NEW),
    OpDef::call(
        "as_tensor",
        Family::Create,
        "A tensor as it is where it fits, else one made of it or of nested arrays of numbers.",
        DataParams::LIST,
        by_name!(DataParams, |a| Ok(as_tensor(a.data, &a.options.make())?.into())),
    )
    .forms(FUNCTION)
    .shapes("a tensor -> the same; a number -> (); an array of n arrays of m numbers -> (n, m), and so on")
    .errors(&["ValueError: arrays side by side have different lengths"])
    .example("let x = ones(2); let y = as_tensor(x); y.fill_(3.0); x", "tensor([3., 3.])")
    .gradient(NEW),
    OpDef::call(
        "zeros",
        Family::Create,
        "A tensor of zeros.",
        SizeParams::LIST,
        by_name!(SizeParams, |a| Ok(zeros(&a.size, &a.options.make())?.into())),
    )
    .forms(FUNCTION)
    .shapes(shapes::SIZE)
    .errors(&["RuntimeError: a size is negative"])
    .example("zeros([2, 3])", "tensor([[0., 0., 0.],\n        [0., 0., 0.]])")
    .gradient(NEW),
    OpDef::call(
        "ones",
        Family::Create,
        "A tensor of ones.",
        SizeParams::LIST,
        by_name!(SizeParams, |a| Ok(ones(&a.size, &a.options.make())?.into())),
    )
    .forms(FUNCTION)
    .shapes(shapes::SIZE)
    .errors(&["RuntimeError: a size is negative"])
    .example("ones([2])", "tensor([1., 1.])")
    .gradient(NEW),
    OpDef::call(
        "full",
        Family::Create,
        "A tensor filled with one value, in the value's own dtype unless said otherwise.",
        FullParams::LIST,
        by_name!(FullParams, |a| Ok(full(&a.size, a.fill_value, &a.options.make())?.into())),
    )
    .forms(FUNCTION)
    .shapes(shapes::SIZE)
    .errors(&["RuntimeError: a size is negative"])
    .example("full([2], 7)", "tensor([7, 7])")
    .gradient(NEW),
    OpDef::call(
        "empty",
        Family::Create,
        "A tensor with whatever its memory holds.",
        EmptyParams::LIST,
        by_name!(EmptyParams, |a| {
            Ok(empty(&a.size, &Make { format: a.memory_format, ..a.options.make() })?.into())
        }),
    )
    .forms(FUNCTION)
    .shapes(shapes::SIZE)
    .errors(&["RuntimeError: a size is negative"])
    .example("empty([2, 3]).shape", "[2, 3]")
    .gradient(NEW),
    OpDef::call(
        "zeros_like",
        Family::Create,
        "Zeros in the shape, dtype and device of a tensor.",
        LikeParams::LIST,
        by_name!(LikeParams, |a| Ok(full_like(a.input, Scalar::Int(0), &a.options.make())?.into())),
    )
    .forms(FUNCTION)
    .shapes(shapes::SAME)
    .example("zeros_like(tensor([1, 2]))", "tensor([0, 0])")
    .gradient(NEW),
    OpDef::call(
        "ones_like",
        Family::Create,
        "Ones in the shape, dtype and device of a tensor.",
        LikeParams::LIST,
        by_name!(LikeParams, |a| Ok(full_like(a.input, Scalar::Int(1), &a.options.make())?.into())),
    )
    .forms(FUNCTION)
    .shapes(shapes::SAME)
    .example("ones_like(tensor([1.5, 2.5]))", "tensor([1., 1.])")
    .gradient(NEW),
    OpDef::call(
        "full_like",
        Family::Create,
        "One value in the shape, dtype and device of a tensor.",
        FullLikeParams::LIST,
        by_name!(FullLikeParams, |a| Ok(full_like(a.input, a.fill_value, &a.options.make())?.into())),
    )
    .forms(FUNCTION)
    .shapes(shapes::SAME)
    .example("full_like(tensor([1, 2]), 9)", "tensor([9, 9])")
    .gradient(NEW),
    OpDef::call(
        "empty_like",
        Family::Create,
        "Whatever the memory holds, in the shape, dtype and device of a tensor.",
        LikeParams::LIST,
        by_name!(LikeParams, |a| Ok(empty_like(a.input, &a.options.make())?.into())),
    )
    .forms(FUNCTION)
    .shapes(shapes::SAME)
    .example("empty_like(zeros([2, 3])).shape", "[2, 3]")
    .gradient(NEW),
    OpDef::call(
        "new_zeros",
        Family::Create,
        "Zeros of a size, in the dtype and on the device of a tensor unless said otherwise.",
        NewSizeParams::LIST,
        by_name!(NewSizeParams, |a| Ok(zeros(&a.size, &a.options.make().like(a.input))?.into())),
    )
    .forms(METHOD)
    .shapes("any, size -> size")
    .errors(&["RuntimeError: a size is negative"])
    .example("tensor([1, 2]).new_zeros(2, 3)", "tensor([[0, 0, 0],\n        [0, 0, 0]])")
    .gradient(NEW),
    OpDef::call(
        "new_ones",
        Family::Create,
        "Ones of a size, in the dtype and on the device of a tensor unless said otherwise.",
        NewSizeParams::LIST,
        by_name!(NewSizeParams, |a| Ok(ones(&a.size, &a.options.make().like(a.input))?.into())),
    )
    .forms(METHOD)
    .shapes("any, size -> size")
    .errors(&["RuntimeError: a size is negative"])
    .example("tensor([1.5, 2.5]).new_ones([2], #{dtype: int64})", "tensor([1, 1])")
    .gradient(NEW),
    OpDef::call(
        "new_empty",
        Family::Create,
        "Whatever the memory holds, in the dtype and on the device of a tensor unless said otherwise.",
        NewSizeParams::LIST,
        by_name!(NewSizeParams, |a| Ok(empty(&a.size, &a.options.make().like(a.input))?.into())),
    )
    .forms(METHOD)
    .shapes("any, size -> size")
    .errors(&["RuntimeError: a size is negative"])
    .example("tensor([1, 2]).new_empty([2, 3]).dtype", "torch.int64")
    .gradient(NEW),
    OpDef::call(
        "new_full",
        Family::Create,
        "One value in a size, in the dtype and on the device of a tensor unless said otherwise.",
        NewFullParams::LIST,
        by_name!(NewFullParams, |a| Ok(full(&a.size, a.fill_value, &a.options.make().like(a.input))?.into())),
    )
    .forms(METHOD)
    .shapes("any, size -> size")
    .errors(&["RuntimeError: a size is negative"])
    .example("tensor([1.0, 2.0]).new_full([2], 7)", "tensor([7., 7.])")
    .gradient(NEW),
    OpDef::call(
        "new_tensor",
        Family::Create,
        "A tensor of numbers, in the dtype and on the device of another unless said otherwise.",
        NewTensorParams::LIST,
        by_name!(NewTensorParams, |a| Ok(from_nested(a.data, &a.options.make().like(a.input))?.into())),
    )
    .forms(METHOD)
    .shapes("any, an array -> what `tensor` makes of the array")
    .errors(&["ValueError: arrays side by side have different lengths"])
    .example("tensor([1.0]).new_tensor([1, 2])", "tensor([1., 2.])")
    .gradient(NEW),
    OpDef::call(
        "eye",
        Family::Create,
        "Ones on the diagonal of `n` rows and `m` columns, zeros elsewhere.",
        EyeParams::LIST,
        by_name!(EyeParams, |a| Ok(eye(a.n, a.m, &a.options.make())?.into())),
    )
    .forms(FUNCTION)
    .shapes("-> (n, m), or (n, n) without m")
    .errors(&["RuntimeError: a size is negative"])
    .example("eye(2)", "tensor([[1., 0.],\n        [0., 1.]])")
    .gradient(NEW),
];

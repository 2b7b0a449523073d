//! Copies: to another device or dtype, in other memory, and out of the graph.

use crate::base::{DType, Device, DeviceSpec, Error, Kind, Result, Scalar};
use crate::device::Machine;
use crate::op::core::params::{InputParams, Maybe, by_name, kind, params};
use crate::op::core::shapes;
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp};

use super::args::to_value;
use super::def::{DefaultValue, Domain, Draw, Family, Gradient, METHOD, OpDef, Sample};
use super::format::{CLONE, FormatWord, MemoryFormat};
use super::record::{one, recorded};
use super::value::{MapValue, Value};

/// What a tensor is converted to; absent parts stay as they are.
#[derive(Clone, Copy, Default, Debug)]
pub struct Target {
    pub device: Option<DeviceSpec>,
    pub dtype: Option<DType>,
}

impl Target {
    /// Reads what `x.to(…)` takes: a device, a dtype, the name of either, or a tensor to be like.
    pub fn of(value: &Value) -> Result<Target> {
        Ok(match value {
            Value::None => Target::default(),
            Value::Device(device) => Target { device: Some(*device), dtype: None },
            Value::DType(dtype) => Target { device: None, dtype: Some(*dtype) },
            Value::Tensor(t) => Target { device: Some(t.device().into()), dtype: Some(t.dtype()) },
            Value::Scalar(Scalar::Int(ordinal)) => match u16::try_from(*ordinal) {
                Ok(ordinal) => Target { device: Some(DeviceSpec::Cuda(Some(ordinal))), dtype: None },
                Err(_) if *ordinal < 0 => return Err(Error::runtime("Device index must not be negative")),
                // More than any machine has, so that the error counts those that there are.
                Err(_) => Target { device: Some(DeviceSpec::Cuda(Some(u16::MAX))), dtype: None },
            },
            Value::Str(name) => match DType::parse(name) {
                Some(dtype) => Target { device: None, dtype: Some(dtype) },
                None => Target { device: Some(name.parse()?), dtype: None },
            },
            other => {
                let text = format!("to() takes a device, a dtype or a tensor, not {}", other.describe());
                return Err(Error::type_error(text).with_hint("such as `x.to(\"cuda\")` or `x.to(float16)`"));
            }
        })
    }

    /// Another dtype on the same device.
    pub fn dtype(dtype: DType) -> Target {
        Target { device: None, dtype: Some(dtype) }
    }

    /// Another device with the same dtype.
    pub fn device(device: Device) -> Target {
        Target { device: Some(device.into()), dtype: None }
    }
}

/// `x` on another device or in another dtype; `x` itself where nothing changes and no `copy` is asked for.
///
/// A copy to the CPU waits for the device, unless `non_blocking`.
pub fn to(x: &Tensor, target: Target, non_blocking: bool, copy: bool) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "ToCopyBackward0", run: to_grad };
    let machine = Machine::current();
    let device = target.device.map_or(x.device(), |spec| machine.resolve(spec));
    let dtype = target.dtype.unwrap_or(x.dtype());
    if device == x.device() && dtype == x.dtype() && !copy {
        return Ok(x.clone());
    }
    let run = || {
        let context = machine.context(device)?;
        if device == x.device() {
            return x.copied_like(dtype, "to");
        }
        x.moved_as(dtype, context, non_blocking, "to")
    };
    let out = run().map_err(|e| e.in_op("to", || vec![x.operand()]))?;
    Ok(recorded(out, &RULE, &[x], |s, _| s.attribute((x.device(), x.dtype()))))
}

/// `x` in another dtype.
pub(crate) fn to_dtype(x: &Tensor, dtype: DType) -> Result<Tensor> {
    if x.dtype() == dtype { Ok(x.clone()) } else { to(x, Target::dtype(dtype), false, false) }
}

/// `x` on another device.
pub(crate) fn to_device(x: &Tensor, device: Device, non_blocking: bool) -> Result<Tensor> {
    if x.device() == device { Ok(x.clone()) } else { to(x, Target::device(device), non_blocking, false) }
}

/// `x` in page-locked host memory, from which copies to a device are faster and need not wait.
pub fn pin_memory(x: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "PinMemoryBackward0", run: |_, g| one(g.clone()) };
    let out = x.pin_memory()?;
    Ok(if out.is(x) { out } else { recorded(out, &RULE, &[x], |_, _| ()) })
}

/// The same memory, outside the graph.
pub fn detach(x: &Tensor) -> Tensor {
    x.detach()
}

/// Asks for (or gives up) a gradient, in place.
pub fn requires_grad_(x: &Tensor, on: bool) -> Result<Tensor> {
    if on && !x.dtype().is_float() {
        let text = "only Tensors of floating point dtype can require gradients";
        return Err(Error::new(Kind::RuntimeError, text).with_hint("make it a float first: `.float()`"));
    }
    x.set_requires_grad(on)?;
    Ok(x.clone())
}

fn to_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let &(device, dtype): &(Device, DType) = s.attribute()?;
    one(to(g, Target { device: Some(device.into()), dtype: Some(dtype) }, false, false)?)
}

/// A row-major copy that passes gradients through.
pub fn cloned(x: &Tensor) -> Result<Tensor> {
    Ok(recorded(x.copied(x.dtype(), "clone")?, &CLONE, &[x], |_, _| ()))
}

/// `out`, or a copy of it where it looks at the memory of `x`: for what gives memory of its own, whatever its arguments.
pub(crate) fn apart(out: Tensor, x: &Tensor) -> Result<Tensor> {
    if out.shares_storage(x) { clone(&out) } else { Ok(out) }
}

/// A copy that lies in memory as `x` does and passes gradients through, as `Tensor.clone`.
pub fn clone(x: &Tensor) -> Result<Tensor> {
    Ok(recorded(x.copied_like(x.dtype(), "clone")?, &CLONE, &[x], |_, _| ()))
}

const M: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];
const X34: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];

macro_rules! casts {
    ($($name:literal $dtype:ident $shown:literal;)*) => {
        /// Moves and conversions.
        pub static ROWS: &[OpDef] = &[
            OpDef::call(
                "to",
                Family::Move,
                "The tensor on another device or in another dtype; itself where nothing changes.",
                ToParams::LIST,
                by_name!(ToParams, to_row),
            )
            .forms(METHOD)
            .shapes(shapes::SAME)
            .details(
                "The target is a device, a dtype, or a tensor to be like: `x.to(1)`, `x.to(\"cuda\", float16)`, `x.to(y)`. From pinned memory a `non_blocking` copy to a \
                 GPU lets the host go on.",
            )
            .example("tensor([1.7, -1.7]).to(int64)", "tensor([ 1, -1])")
            .gradient(Gradient::Vjp("ToCopyBackward0"))
            .samples(&[Sample::of("x.to(float32).to(float64)", X34)]),
            OpDef::call("cuda", Family::Move, "The tensor on a GPU: the current one, or the one with the number given.", CudaParams::LIST, by_name!(CudaParams, |a| {
                    let device = a.device.unwrap_or(DeviceSpec::Cuda(None));
                    let target = Target { device: Some(device), dtype: None };
                    Ok(to(a.input, target, a.non_blocking, false)?.into())
                }))
            .forms(METHOD)
            .shapes(shapes::SAME)
            .example("tensor([1, 2]).is_cuda", "false")
            .gradient(Gradient::Vjp("ToCopyBackward0")),
            OpDef::call("cpu", Family::Move, "The tensor on the CPU.", CpuParams::LIST, by_name!(CpuParams, |a| {
                let target = Target { device: Some(DeviceSpec::Cpu), dtype: None };
                Ok(to(a.input, target, a.non_blocking, false)?.into())
            }))
            .forms(METHOD)
            .shapes(shapes::SAME)
            .errors(&["DeviceError: work of the GPU is being captured for a graph"])
            .example("tensor([1, 2]).cpu()", "tensor([1, 2])")
            .gradient(Gradient::Vjp("ToCopyBackward0")),
            $(OpDef::call($name, Family::Move, concat!("The tensor in ", stringify!($dtype), "."), FormatParams::LIST, by_name!(FormatParams, |a| {
                let cast = to(a.input, Target::dtype(DType::$dtype), false, false)?;
                to_value(a.memory_format.map_or(Ok(cast.clone()), |format| format.applied(&cast)))
            }))
            .forms(METHOD)
            .shapes(shapes::SAME)
            .example(concat!("tensor([0, 2]).", $name, "()"), $shown)
            .gradient(Gradient::Vjp("ToCopyBackward0")),)*
            OpDef::call("type_as", Family::Move, "The tensor in the dtype of another.", TypeAsParams::LIST, by_name!(TypeAsParams, |a| Ok(to(a.input, Target::dtype(a.other.dtype()), false, false)?.into())))
            .forms(METHOD)
            .shapes(shapes::SAME)
            .across()
            .example("tensor([1, 2]).type_as(tensor([0.5]))", "tensor([1., 2.])"),
            OpDef::call("pin_memory", Family::Move, "The tensor in page-locked host memory, from which copies to a GPU are faster and need not wait.", InputParams::LIST, by_name!(InputParams, |a| Ok(pin_memory(a.input)?.into())))
            .forms(METHOD)
            .shapes(shapes::SAME)
            .errors(&["RuntimeError: the tensor lies on a GPU"])
            .example("tensor([1, 2]).is_pinned()", "false")
            .gradient(Gradient::Vjp("PinMemoryBackward0")),
        ];
    };
}

casts! {
    "half" Float16 "tensor([0., 2.], dtype=torch.float16)";
    "float" Float32 "tensor([0., 2.])";
    "double" Float64 "tensor([0., 2.], dtype=torch.float64)";
    "bfloat16" BFloat16 "tensor([0., 2.], dtype=torch.bfloat16)";
    "long" Int64 "tensor([0, 2])";
    "int" Int32 "tensor([0, 2], dtype=torch.int32)";
    "short" Int16 "tensor([0, 2], dtype=torch.int16)";
    "char" Int8 "tensor([0, 2], dtype=torch.int8)";
    "byte" UInt8 "tensor([0, 2], dtype=torch.uint8)";
    "bool" Bool "tensor([False,  True])";
}

params! {
    ToParams {
        input: kind::Tensor, "the tensor that is moved or converted";
        target: kind::Any => DefaultValue::None, "a device, a GPU's number, a dtype, or a tensor to be like";
        dtype: kind::Any => DefaultValue::None, "what the result holds; as before where none is named. Behind a dtype or a tensor `non_blocking` and `copy` may stand here";
        non_blocking: kind::Bool = false, "does not wait for the copy where source memory is page-locked";
        copy: kind::Bool = false, "copies even where nothing changes";
        device: Maybe<kind::Device>, "where the result lies; where it was unless one is named";
        memory_format: Maybe<FormatWord>, "the order of dimensions in memory: \"channels_last\" or \"contiguous_format\"; as it is unless one is named";
    }
}

params! {
    FormatParams {
        input: kind::Tensor, "the tensor it is computed of";
        memory_format: Maybe<FormatWord>, "the order of dimensions in memory: \"channels_last\" or \"contiguous_format\"; as it is unless one is named";
    }
}

params! {
    CudaParams {
        input: kind::Tensor, "the tensor that is moved";
        device: Maybe<kind::Device>, "which device; the current one where none is named";
        non_blocking: kind::Bool = false, "does not wait for the copy where source memory is page-locked";
    }
}

params! {
    CpuParams {
        input: kind::Tensor, "the tensor that is moved";
        non_blocking: kind::Bool = false, "does not wait for the copy where source memory is page-locked";
    }
}

params! {
    TypeAsParams {
        input: kind::Tensor, "the tensor it is computed of";
        other: kind::Tensor, "the tensor whose dtype and device are taken";
    }
}

params! {
    RequiresGradParams {
        input: kind::Tensor, "the leaf concerned";
        requires_grad: kind::Bool = true, "whether gradients are gathered for it from now on";
    }
}

/// The rows of this file that no macro writes.
pub(crate) static MORE_ROWS: &[OpDef] = &[
    OpDef::call(
        "clone",
        Family::Movement,
        "A copy with memory of its own, in the order of the original's or in another one.",
        FormatParams::LIST,
        by_name!(FormatParams, |a| to_value(match a.memory_format {
            None | Some(MemoryFormat::Preserve) => clone(a.input),
            Some(format) => format.cloned(a.input),
        })),
    )
    .shapes(shapes::SAME)
    .example("tensor([1, 2]).clone()", "tensor([1, 2])")
    .gradient(Gradient::Vjp("CloneBackward0"))
    .samples(&[Sample::of("x.clone()", M)]),
    OpDef::call(
        "detach",
        Family::Move,
        "The same memory, outside the graph.",
        InputParams::LIST,
        by_name!(InputParams, |a| Ok(detach(a.input).into())),
    )
    .shapes(shapes::SAME)
    .example("tensor([1.0], #{requires_grad: true}).detach()", "tensor([1.])")
    .gradient(Gradient::NoGrad("it leaves the graph")),
    OpDef::call(
        "detach_",
        Family::Move,
        "Takes the tensor itself out of the graph: it becomes a leaf that asks for no gradient.",
        InputParams::LIST,
        by_name!(InputParams, |a| {
            a.input.detach_in_place()?;
            Ok(a.input.clone().into())
        }),
    )
    .forms(METHOD)
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: the tensor is a view of another"])
    .example("let y = tensor([1.0], #{requires_grad: true}) * 2; y.detach_(); y", "tensor([2.])")
    .gradient(Gradient::NoGrad("it leaves the graph")),
    OpDef::call(
        "requires_grad_",
        Family::Autograd,
        "Asks for a gradient of this tensor, in place.",
        RequiresGradParams::LIST,
        by_name!(RequiresGradParams, |a| Ok(requires_grad_(a.input, a.requires_grad)?.into())),
    )
    .forms(METHOD)
    .shapes(shapes::SAME)
    .errors(&[
        "RuntimeError: the tensor holds integers or bools",
        "RuntimeError: gradients are turned off for a tensor that is no leaf",
    ])
    .example("tensor([1.0]).requires_grad_()", "tensor([1.], requires_grad=True)")
    .gradient(Gradient::NoGrad("it sets a flag")),
];

fn to_row(a: ToParams) -> Result<Value> {
    let mut target = Target::of(a.target)?;
    let (mut non_blocking, mut copy) = (a.non_blocking, a.copy);
    match (a.dtype, target.dtype) {
        (Value::None, _) => {}
        // `x.to(dtype, non_blocking, copy)`
        (Value::Scalar(Scalar::Bool(first)), Some(_)) => {
            (non_blocking, copy) = (*first, copy || a.non_blocking)
        }
        (other @ (Value::DType(_) | Value::Str(_)), _) => {
            let named = Target::of(other).ok().and_then(|named| named.dtype);
            target.dtype = Some(named.ok_or_else(|| no_dtype(other))?);
        }
        (other, _) => return Err(no_dtype(other)),
    }
    target.device = a.device.or(target.device);
    let there = to(a.input, target, non_blocking, copy)?;
    to_value(a.memory_format.map_or(Ok(there.clone()), |format| format.applied(&there)))
}

fn no_dtype(given: &Value) -> Error {
    if let Value::Object(object) = given
        && let Some((name, _)) = object.get::<MapValue>().and_then(|map| map.iter().next())
    {
        return Error::type_error(format!("to() got an unknown option '{name}'"))
            .with_near(name, ["non_blocking", "copy", "dtype", "device", "memory_format"])
            .with_hint("its options are non_blocking, copy, dtype, device and memory_format");
    }
    if let Value::Str(name) = given {
        let text = format!("to(): argument 'dtype' must be a dtype such as float32, not {name:?}");
        let names = DType::ALL.map(|dtype| dtype.to_string());
        let error = Error::type_error(text).with_near(name, names.iter().map(String::as_str));
        return error.with_hint(format!("dtypes are names of their own: {}", names.join(", ")));
    }
    let text = format!("to(): argument 'dtype' must be a dtype such as float32, not {}", given.describe());
    Error::type_error(text)
        .with_hint("`x.to(\"cuda\", #{non_blocking: true})`, `x.to(\"cuda\", float16, true)`")
}

//! What a tensor answers about itself.

use crate::base::{DType, Device, Error, Kind, Result, Scalar, memory};
use crate::device::poll;
use crate::op::core::def::{Args, FUNCTION, Family, Gradient, METHOD, OpDef, PROPERTY};
use crate::op::core::format::{FormatWord, MemoryFormat};
use crate::op::core::params::{InputParams, Maybe, by_name, kind, params};
use crate::op::core::promote::result_type;
use crate::op::core::value::Value;
use crate::op::core::{many, shapes};
use crate::tensor::Tensor;

const ASKS: Gradient = Gradient::NoGrad("the result is not a tensor of floats");

params! {
    SizeParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: Maybe<kind::Dim>, "the dimension it runs along; negative ones count from the end";
    }
}

params! {
    IsContiguousParams {
        input: kind::Tensor, "the tensor that is asked about";
        memory_format: Maybe<FormatWord>, "the order of dimensions in memory, such as \"channels_last\"; row-major unless one is named";
    }
}

params! {
    PromoteTypesParams {
        type1: kind::DType, "what the one operand holds";
        type2: kind::DType, "what the other operand holds";
    }
}

params! {
    ResultTypeParams {
        tensor1: kind::Operand, "what stands first, a tensor or a number";
        tensor2: kind::Operand, "what stands second, a tensor or a number";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call("item", Family::Inspect, "The only element as a number; the host waits for it.", InputParams::LIST, by_name!(InputParams, |a| Ok(Value::Scalar(a.input.item()?))))
    .forms(METHOD)
    .shapes("one element of any shape -> a number")
    .errors(&["RuntimeError: there is not one element", "DeviceError: work of the GPU is being captured for a graph"])
    .example("tensor([2.5]).item()", "2.5")
    .gradient(ASKS),
    OpDef::call("tolist", Family::Inspect, "All elements as nested arrays; the host waits for them.", InputParams::LIST, by_name!(InputParams, |a| tolist(a.input)))
    .forms(METHOD)
    .shapes("any -> as many arrays in each other as there are dimensions; () -> a number")
    .errors(&["DeviceError: work of the GPU is being captured for a graph"])
    .example("tensor([[1, 2], [3, 4]]).tolist()", "[[1, 2], [3, 4]]")
    .gradient(ASKS),
    OpDef::call("numpy", Family::Inspect, "All elements as nested arrays, as `tolist`: of a CPU tensor without a gradient alone, as NumPy takes it.", InputParams::LIST, by_name!(InputParams, |a| {
            let x = a.input;
            if x.requires_grad() {
                let text = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.";
                return Err(Error::runtime(text));
            }
            if x.device().is_cuda() {
                return Err(Error::type_error(format!(
                    "can't convert {} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory \
                     first.",
                    x.device()
                )));
            }
            tolist(x)
        }))
    .forms(METHOD)
    .shapes("any -> as many arrays in each other as there are dimensions; () -> a number")
    .errors(&["RuntimeError: the tensor requires gradients", "TypeError: the tensor lies on a GPU"])
    .example("tensor([1, 2]).numpy()", "[1, 2]")
    .gradient(ASKS),
    OpDef::call("numel", Family::Inspect, "The number of elements.", InputParams::LIST, by_name!(InputParams, |a| {
        Ok(int(a.input.numel()))
    }))
    .shapes(shapes::ANY)
    .example("zeros([2, 3]).numel()", "6")
    .gradient(ASKS),
    OpDef::call("nelement", Family::Inspect, "The number of elements: another name of numel.", InputParams::LIST, by_name!(InputParams, |a| {
        Ok(int(a.input.numel()))
    }))
    .forms(METHOD)
    .shapes(shapes::ANY)
    .example("zeros([2, 3]).nelement()", "6")
    .gradient(ASKS),
    OpDef::call("size", Family::Inspect, "The sizes of all dimensions, or of one.", SizeParams::LIST, by_name!(SizeParams, |a| {
            let x = a.input;
            match a.dim {
                Some(dim) if x.rank() == 0 => Err(Error::new(
                    Kind::IndexError,
                    format!("Dimension specified as {dim} but tensor has no dimensions"),
                )),
                Some(dim) => x.size(dim).map(int),
                None => Ok(ints(x.shape())),
            }
        }))
    .forms(METHOD)
    .shapes("any -> an array with a number for each dimension, or with `dim` a number")
    .example("zeros([2, 3]).size(-1)", "3")
    .gradient(ASKS),
    OpDef::call(
        "stride",
        Family::Inspect,
        "The steps in elements between neighbours along all dimensions, or along one.",
        SizeParams::LIST,
        by_name!(SizeParams, stride),
    )
    .forms(METHOD)
    .shapes("any -> an array with a number for each dimension, or with `dim` a number")
    .example("zeros([2, 3]).stride()", "[3, 1]")
    .gradient(ASKS),
    OpDef::call("storage_offset", Family::Inspect, "The place of the first element in its storage, in elements.", InputParams::LIST, by_name!(InputParams, |a| Ok(int(a.input.layout().offset()))))
    .forms(METHOD)
    .shapes(shapes::ANY)
    .example("zeros([2, 3]).select(0, 1).storage_offset()", "3")
    .gradient(ASKS),
    OpDef::call("is_contiguous", Family::Inspect, "Whether the memory is row-major, or in another order without gaps.", IsContiguousParams::LIST, by_name!(IsContiguousParams, |a| {
        Ok(bool(a.memory_format.unwrap_or(MemoryFormat::Contiguous).is_of(a.input.layout())))
    }))
    .forms(METHOD)
    .shapes(shapes::ANY)
    .example("zeros([2, 3]).t().is_contiguous()", "false")
    .gradient(ASKS),
    OpDef::call("is_pinned", Family::Inspect, "Whether the host memory is page-locked.", InputParams::LIST, by_name!(InputParams, |a| {
        Ok(bool(a.input.is_pinned()))
    }))
    .forms(METHOD)
    .shapes(shapes::ANY)
    .example("zeros([2]).is_pinned()", "false")
    .gradient(ASKS),
    OpDef::call("is_floating_point", Family::Inspect, "Whether the dtype is a floating-point one.", InputParams::LIST, by_name!(InputParams, |a| Ok(bool(a.input.dtype().is_float()))))
    .shapes(shapes::ANY)
    .example("tensor([1, 2]).is_floating_point()", "false")
    .gradient(ASKS),
    OpDef::call("is_signed", Family::Inspect, "Whether the dtype has numbers below 0.", InputParams::LIST, by_name!(InputParams, |a| {
        Ok(bool(!matches!(a.input.dtype(), DType::UInt8 | DType::Bool)))
    }))
    .shapes(shapes::ANY)
    .example("tensor([1, 2]).is_signed()", "true")
    .gradient(ASKS),
    OpDef::call("is_complex", Family::Inspect, "Whether the dtype is a complex one: there are none here.", InputParams::LIST, by_name!(InputParams, |_| Ok(bool(false))))
    .shapes(shapes::ANY)
    .example("ones(2).is_complex()", "false")
    .gradient(ASKS),
    OpDef::call("get_device", Family::Inspect, "The number of the GPU that the tensor is on; -1 on the CPU.", InputParams::LIST, by_name!(InputParams, |a| {
        Ok(Value::Scalar(Scalar::Int(match a.input.device() {
            Device::Cpu => -1,
            Device::Cuda(gpu) => i64::from(gpu),
        })))
    }))
    .shapes(shapes::ANY)
    .example("ones(2).get_device()", "-1")
    .gradient(ASKS),
    OpDef::call("is_nonzero", Family::Inspect, "Whether the only element is not 0; the host waits for it.", InputParams::LIST, by_name!(InputParams, |a| {
        match a.input.numel() {
            1 => Ok(bool(a.input.item()?.as_f64() != 0.0)),
            0 => Err(Error::runtime("Boolean value of Tensor with no values is ambiguous")),
            _ => Err(Error::runtime("Boolean value of Tensor with more than one value is ambiguous")),
        }
    }))
    .shapes("one element of any shape -> true or false")
    .errors(&["RuntimeError: there is not one element"])
    .example("is_nonzero(tensor([0.0]))", "false")
    .gradient(ASKS),
    OpDef::call("promote_types", Family::Inspect, "The dtype that holds what either of two holds.", PromoteTypesParams::LIST, by_name!(PromoteTypesParams, |a| {
        Ok(Value::DType(a.type1.promote(a.type2)))
    }))
    .forms(FUNCTION)
    .shapes("none: it takes dtypes")
    .example("promote_types(int64, float16)", "torch.float16")
    .gradient(ASKS),
    OpDef::call("result_type", Family::Inspect, "The dtype of what is computed of two tensors or numbers.", ResultTypeParams::LIST, by_name!(ResultTypeParams, |a| {
        Ok(Value::DType(result_type(&[a.tensor1, a.tensor2])))
    }))
    .forms(FUNCTION)
    .shapes("any two")
    .example("result_type(tensor([1, 2]), 1.5)", "torch.float32")
    .gradient(ASKS),
    OpDef::call("data_ptr", Family::Inspect, "The address of the first element.", InputParams::LIST, by_name!(InputParams, |a| {
        Ok(Value::Scalar(Scalar::Int(a.input.data_ptr() as i64)))
    }))
    .forms(METHOD)
    .shapes(shapes::ANY)
    .example("zeros([0]).data_ptr()", "0")
    .gradient(ASKS),
    OpDef::call("element_size", Family::Inspect, "The bytes of one element.", InputParams::LIST, by_name!(InputParams, |a| {
        Ok(int(a.input.dtype().size()))
    }))
    .forms(METHOD)
    .shapes(shapes::ANY)
    .example("zeros([2]).half().element_size()", "2")
    .gradient(ASKS),
    OpDef::call("retain_grad", Family::Inspect, "Has the backward pass keep the gradient of a computed tensor in `.grad`, as that of a leaf is.", InputParams::LIST, by_name!(InputParams, |a| {
            a.input.retain_grad()?;
            Ok(Value::None)
        }))
    .forms(METHOD)
    .details("For a leaf there is nothing to do; an error where the tensor does not require grad.")
    .shapes(shapes::ANY)
    .errors(&["RuntimeError: the tensor requires no gradients"])
    .example(
        "let x = tensor([2.0], #{requires_grad: true}); let y = x * 3; y.retain_grad(); (y * y).backward(); y.grad",
        "tensor([12.])",
    )
    .gradient(ASKS),
    OpDef::call("dim", Family::Inspect, "The number of dimensions.", InputParams::LIST, by_name!(InputParams, |a| {
        Ok(int(a.input.rank()))
    }))
    .forms(METHOD)
    .shapes(shapes::ANY)
    .example("zeros([2, 3]).dim()", "2")
    .gradient(ASKS),
    property("shape", "The sizes of all dimensions.", by_name!(InputParams, |a| Ok(ints(a.input.shape()))))
    .shapes("any -> an array with a number for each dimension")
        .example("zeros([2, 3]).shape", "[2, 3]"),
    property("dtype", "The type of the elements.", by_name!(InputParams, |a| Ok(Value::DType(a.input.dtype()))))
    .shapes(shapes::ANY)
        .example("tensor([1, 2]).dtype", "torch.int64"),
    property("device", "Where the tensor is.", by_name!(InputParams, |a| Ok(Value::Device(a.input.device().into()))))
    .shapes(shapes::ANY)
        .example("tensor([1, 2]).device", "device(type='cpu')"),
    property("ndim", "The number of dimensions.", by_name!(InputParams, |a| Ok(int(a.input.rank()))))
    .shapes(shapes::ANY)
        .example("zeros([2, 3]).ndim", "2"),
    property("nbytes", "The bytes of the elements.", by_name!(InputParams, |a| Ok(int(a.input.nbytes()))))
    .shapes(shapes::ANY)
        .example("zeros([2, 3]).nbytes", "24"),
    property("is_cuda", "Whether the tensor is on a GPU.", by_name!(InputParams, |a| Ok(bool(a.input.device().is_cuda()))))
    .shapes(shapes::ANY)
        .example("zeros([2]).is_cuda", "false"),
    property("is_cpu", "Whether the tensor is on the CPU.", by_name!(InputParams, |a| Ok(bool(!a.input.device().is_cuda()))))
    .shapes(shapes::ANY)
        .example("zeros([2]).is_cpu", "true"),
    property("requires_grad", "Whether gradients reach this tensor.", by_name!(InputParams, |a| {
        Ok(bool(a.input.requires_grad()))
    }))
    .shapes(shapes::ANY)
    .errors(&["RuntimeError: what is set is true and the tensor holds integers or bools, or false and the tensor is no leaf"])
    .example("zeros([2]).requires_grad", "false"),
    property("is_leaf", "Whether the tensor was not computed from one that requires grad.", by_name!(InputParams, |a| {
        Ok(bool(a.input.is_leaf()))
    }))
    .shapes(shapes::ANY)
    .example("zeros([2]).is_leaf", "true"),
    property("retains_grad", "Whether `retain_grad` was called on the tensor, which is no leaf.", by_name!(InputParams, |a| {
        Ok(bool(a.input.retains_grad()))
    }))
    .shapes(shapes::ANY)
    .example("zeros([2]).retains_grad", "false"),
    property("grad_fn", "The name of the operation that made the tensor, or `()` for a leaf.", by_name!(InputParams, |a| {
        Ok(a.input.node().map_or(Value::None, |n| Value::Str(n.rule.name().into())))
    }))
    .shapes(shapes::ANY)
    .example("(tensor([1.0], #{requires_grad: true}) * 2).grad_fn", "\"MulBackward0\""),
];

pub(crate) const fn property(
    name: &'static str,
    summary: &'static str,
    run: fn(&Args) -> Result<Value>,
) -> OpDef {
    OpDef::call(name, Family::Inspect, summary, InputParams::LIST, run).forms(PROPERTY).gradient(ASKS)
}

pub(crate) fn bool(b: bool) -> Value {
    Value::Scalar(b.into())
}

pub(crate) fn int(n: usize) -> Value {
    Value::Scalar((n as i64).into())
}

pub(crate) fn ints<T: Copy + TryInto<i64>>(all: &[T]) -> Value {
    Value::List(all.iter().map(|&n| Value::Scalar(n.try_into().unwrap_or(i64::MAX).into())).collect())
}

fn stride(a: SizeParams) -> Result<Value> {
    let x = a.input;
    match a.dim {
        Some(dim) => {
            let dim = x.dim(dim)?;
            let step = x.layout().strides().get(dim).copied();
            let step = step.ok_or_else(|| Error::runtime("a tensor without dimensions has no stride"))?;
            Ok(Value::Scalar(Scalar::Int(step as i64)))
        }
        None => Ok(ints(x.layout().strides())),
    }
}

/// Nested lists of the elements; a single number for a tensor without dimensions.
pub fn tolist(x: &Tensor) -> Result<Value> {
    fn nest(numbers: &[Scalar], shape: &[usize]) -> Result<Value> {
        match shape.split_first() {
            None => Ok(numbers.first().map_or(Value::None, |n| Value::Scalar(*n))),
            Some((_, [])) => memory::collected(numbers.iter().map(|n| Value::Scalar(*n))).map(Value::List),
            Some((&size, rest)) => {
                let inner = numbers.len() / size.max(1);
                let part = |i: usize| numbers.get(i * inner..(i + 1) * inner).unwrap_or(&[]);
                poll::collected((0..size).map(|i| nest(part(i), rest))).map(Value::List)
            }
        }
    }
    many::check(x.numel(), "numbers")?;
    nest(&x.to_scalars("tolist")?, x.shape())
}

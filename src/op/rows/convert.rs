//! Rows that move, convert and overwrite.

use crate::base::{DType, DeviceSpec, Result};
use crate::op::args::{Args, Value};
use crate::op::convert::{Target, detach, pin_memory, requires_grad_, to};
use crate::op::def::{
    DefaultValue, Domain, Draw, Family, Gradient, METHOD, OpDef, Param, ParamKind, SELF, Sample,
};
use crate::op::fill::{copy_, fill_, zero_};

const NON_BLOCKING: Param = Param::optional("non_blocking", ParamKind::Bool, DefaultValue::Bool(false));
const X34: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];

macro_rules! casts {
    ($($name:literal $dtype:ident $shown:literal;)*) => {
        /// Moves and conversions.
        pub static ROWS: &[OpDef] = &[
            OpDef::call(
                "to",
                Family::Move,
                "The tensor on another device or in another dtype; itself where nothing changes.",
                &[
                    SELF,
                    Param::optional("target", ParamKind::Any, DefaultValue::None),
                    Param::optional("dtype", ParamKind::DType, DefaultValue::None),
                    NON_BLOCKING,
                    Param::optional("copy", ParamKind::Bool, DefaultValue::Bool(false)),
                    Param::optional("device", ParamKind::Device, DefaultValue::None),
                ],
                to_row,
            )
            .forms(METHOD)
            .details(
                "The target is a device, a dtype, or a tensor to be like. From pinned memory a `non_blocking` copy to a \
                 GPU lets the host go on.",
            )
            .example("tensor([1.7, -1.7]).to(int64)", "tensor([ 1, -1])")
            .gradient(Gradient::Vjp("ToCopyBackward0"))
            .samples(&[Sample::of("x.to(float32).to(float64)", X34)]),
            OpDef::call(
                "cuda",
                Family::Move,
                "The tensor on a GPU: the current one, or the one with the number given.",
                &[SELF, Param::optional("device", ParamKind::Device, DefaultValue::None), NON_BLOCKING],
                |a| {
                    let device = a.device(1).unwrap_or(DeviceSpec::Cuda(None));
                    let target = Target { device: Some(device), dtype: None };
                    Ok(to(a.tensor(0)?, target, a.bool(2)?, false)?.into())
                },
            )
            .forms(METHOD)
            .example("tensor([1, 2]).is_cuda", "false")
            .gradient(Gradient::Vjp("ToCopyBackward0")),
            OpDef::call("cpu", Family::Move, "The tensor on the CPU.", &[SELF, NON_BLOCKING], |a| {
                let target = Target { device: Some(DeviceSpec::Cpu), dtype: None };
                Ok(to(a.tensor(0)?, target, a.bool(1)?, false)?.into())
            })
            .forms(METHOD)
            .example("tensor([1, 2]).cpu()", "tensor([1, 2])")
            .gradient(Gradient::Vjp("ToCopyBackward0")),
            $(OpDef::call($name, Family::Move, concat!("The tensor in ", stringify!($dtype), "."), &[SELF], |a| {
                Ok(to(a.tensor(0)?, Target::dtype(DType::$dtype), false, false)?.into())
            })
            .forms(METHOD)
            .example(concat!("tensor([0, 2]).", $name, "()"), $shown)
            .gradient(Gradient::Vjp("ToCopyBackward0")),)*
            OpDef::call(
                "type_as",
                Family::Move,
                "The tensor in the dtype of another.",
                &[SELF, Param::required("other", ParamKind::Tensor)],
                |a| Ok(to(a.tensor(0)?, Target::dtype(a.tensor(1)?.dtype()), false, false)?.into()),
            )
            .forms(METHOD)
            .example("tensor([1, 2]).type_as(tensor([0.5]))", "tensor([1., 2.])"),
            OpDef::call(
                "pin_memory",
                Family::Move,
                "The tensor in page-locked host memory, from which copies to a GPU are faster and need not wait.",
                &[SELF],
                |a| Ok(pin_memory(a.tensor(0)?)?.into()),
            )
            .forms(METHOD)
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

/// What writes to a tensor in place.
pub static WRITES: &[OpDef] = &[
    OpDef::call("detach", Family::Move, "The same memory, outside the graph.", &[SELF], |a| {
        Ok(detach(a.tensor(0)?).into())
    })
    .example("tensor([1.0], #{requires_grad: true}).detach()", "tensor([1.])")
    .gradient(Gradient::NoGrad("it leaves the graph")),
    OpDef::call(
        "requires_grad_",
        Family::Move,
        "Asks for a gradient of this tensor, in place.",
        &[SELF, Param::optional("requires_grad", ParamKind::Bool, DefaultValue::Bool(true))],
        |a| Ok(requires_grad_(a.tensor(0)?, a.bool(1)?)?.into()),
    )
    .forms(METHOD)
    .example("tensor([1.0]).requires_grad_()", "tensor([1.], requires_grad=True)")
    .gradient(Gradient::NoGrad("it sets a flag")),
    OpDef::call(
        "copy_",
        Family::Move,
        "Writes another tensor's values here, broadcast, cast and moved as needed.",
        &[SELF, Param::required("src", ParamKind::Tensor), NON_BLOCKING],
        |a| Ok(copy_(a.tensor(0)?, a.tensor(1)?, a.bool(2)?)?.into()),
    )
    .forms(METHOD)
    .example("zeros([2]).copy_(tensor([1, 2]))", "tensor([1., 2.])")
    .gradient(Gradient::Vjp("CopyBackwards")),
    OpDef::call(
        "fill_",
        Family::Move,
        "Writes one value everywhere.",
        &[SELF, Param::required("value", ParamKind::Operand)],
        |a| Ok(fill_(a.tensor(0)?, a.operand(1)?)?.into()),
    )
    .forms(METHOD)
    .example("zeros([2]).fill_(3)", "tensor([3., 3.])")
    .gradient(Gradient::Vjp("FillBackward2")),
    OpDef::call("zero_", Family::Move, "Writes zero everywhere.", &[SELF], |a| {
        Ok(zero_(a.tensor(0)?)?.into())
    })
    .forms(METHOD)
    .example("ones([2]).zero_()", "tensor([0., 0.])")
    .gradient(Gradient::Vjp("ZeroBackward0")),
];

fn to_row(a: &Args) -> Result<Value> {
    let mut target = Target::of(a.get(1))?;
    if let Some(dtype) = a.dtype(2) {
        target.dtype = Some(dtype);
    }
    if let Some(device) = a.device(5) {
        target.device = Some(device);
    }
    Ok(to(a.tensor(0)?, target, a.bool(3)?, a.bool(4)?)?.into())
}

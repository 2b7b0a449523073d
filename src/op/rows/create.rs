//! Rows that make tensors.

use crate::base::Scalar;
use crate::op::create::{
    DEVICE, Make, PIN_MEMORY, REQUIRES_GRAD, arange, empty, empty_like, eye, from_nested, full, full_like,
    linspace, logspace, ones, zeros,
};
use crate::op::def::{
    DTYPE, DefaultValue, FUNCTION, Family, Gradient, METHOD, OpDef, Param, ParamKind, SELF,
};

const SIZE: Param = Param::required("size", ParamKind::Sizes);
const FROM_SIZE: &[Param] = &[SIZE, DTYPE, DEVICE, REQUIRES_GRAD, PIN_MEMORY];
const FROM_TENSOR: &[Param] = &[SELF, DTYPE, DEVICE, REQUIRES_GRAD, PIN_MEMORY];
const SIZE_OF: &[Param] = &[SELF, SIZE, DTYPE, DEVICE, REQUIRES_GRAD, PIN_MEMORY];
const NEW: Gradient = Gradient::NoGrad("the result does not depend on values of a tensor");

/// Tensors from numbers, by a rule, or filled with one value.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "tensor",
        Family::Create,
        "A tensor of a number or of nested arrays of numbers.",
        &[Param::required("data", ParamKind::Any), DTYPE, DEVICE, REQUIRES_GRAD, PIN_MEMORY],
        |a| Ok(from_nested(a.get(0), &Make::from_args(a, 1)?)?.into()),
    )
    .forms(FUNCTION)
    .details("Integers give int64, floats float32, bools bool; rows of different lengths are an error.")
    .example("tensor([[1, 2], [3, 4.5]])", "tensor([[1.0000, 2.0000],\n        [3.0000, 4.5000]])")
    .gradient(NEW),
    OpDef::call("zeros", Family::Create, "A tensor of zeros.", FROM_SIZE, |a| {
        Ok(zeros(&a.ints(0)?, &Make::from_args(a, 1)?)?.into())
    })
    .forms(FUNCTION)
    .example("zeros([2, 3])", "tensor([[0., 0., 0.],\n        [0., 0., 0.]])")
    .gradient(NEW),
    OpDef::call("ones", Family::Create, "A tensor of ones.", FROM_SIZE, |a| {
        Ok(ones(&a.ints(0)?, &Make::from_args(a, 1)?)?.into())
    })
    .forms(FUNCTION)
    .example("ones([2])", "tensor([1., 1.])")
    .gradient(NEW),
    OpDef::call(
        "full",
        Family::Create,
        "A tensor filled with one value, in the value's own dtype unless said otherwise.",
        &[
            Param::required("size", ParamKind::Ints),
            Param::required("fill_value", ParamKind::Scalar),
            DTYPE,
            DEVICE,
            REQUIRES_GRAD,
            PIN_MEMORY,
        ],
        |a| Ok(full(&a.ints(0)?, a.scalar(1)?, &Make::from_args(a, 2)?)?.into()),
    )
    .forms(FUNCTION)
    .example("full([2], 7)", "tensor([7, 7])")
    .gradient(NEW),
    OpDef::call("empty", Family::Create, "A tensor with whatever its memory holds.", FROM_SIZE, |a| {
        Ok(empty(&a.ints(0)?, &Make::from_args(a, 1)?)?.into())
    })
    .forms(FUNCTION)
    .example("empty([2, 3]).shape", "[2, 3]")
    .gradient(NEW),
    OpDef::call(
        "zeros_like",
        Family::Create,
        "Zeros in the shape, dtype and device of a tensor.",
        FROM_TENSOR,
        |a| Ok(full_like(a.tensor(0)?, Scalar::Int(0), &Make::from_args(a, 1)?)?.into()),
    )
    .forms(FUNCTION)
    .example("zeros_like(tensor([1, 2]))", "tensor([0, 0])")
    .gradient(NEW),
    OpDef::call(
        "ones_like",
        Family::Create,
        "Ones in the shape, dtype and device of a tensor.",
        FROM_TENSOR,
        |a| Ok(full_like(a.tensor(0)?, Scalar::Int(1), &Make::from_args(a, 1)?)?.into()),
    )
    .forms(FUNCTION)
    .example("ones_like(tensor([1.5, 2.5]))", "tensor([1., 1.])")
    .gradient(NEW),
    OpDef::call(
        "full_like",
        Family::Create,
        "One value in the shape, dtype and device of a tensor.",
        &[SELF, Param::required("fill_value", ParamKind::Scalar), DTYPE, DEVICE, REQUIRES_GRAD, PIN_MEMORY],
        |a| Ok(full_like(a.tensor(0)?, a.scalar(1)?, &Make::from_args(a, 2)?)?.into()),
    )
    .forms(FUNCTION)
    .example("full_like(tensor([1, 2]), 9)", "tensor([9, 9])")
    .gradient(NEW),
    OpDef::call(
        "empty_like",
        Family::Create,
        "Whatever the memory holds, in the shape, dtype and device of a tensor.",
        FROM_TENSOR,
        |a| Ok(empty_like(a.tensor(0)?, &Make::from_args(a, 1)?)?.into()),
    )
    .forms(FUNCTION)
    .example("empty_like(zeros([2, 3])).shape", "[2, 3]")
    .gradient(NEW),
    OpDef::call(
        "arange",
        Family::Create,
        "`start, start + step, …` up to, but not including, `end`.",
        &[
            Param::required("start", ParamKind::Scalar),
            Param::optional("end", ParamKind::Scalar, DefaultValue::None),
            Param::optional("step", ParamKind::Scalar, DefaultValue::Int(1)),
            DTYPE,
            DEVICE,
            REQUIRES_GRAD,
            PIN_MEMORY,
        ],
        |a| {
            let (start, end) = match a.optional_scalar(1) {
                Some(end) => (a.scalar(0)?, end),
                None => (Scalar::Int(0), a.scalar(0)?),
            };
            Ok(arange(start, end, a.scalar(2)?, &Make::from_args(a, 3)?)?.into())
        },
    )
    .forms(FUNCTION)
    .details("A single number is the end. Integers give int64, floats float32.")
    .example("arange(1, 10, 3)", "tensor([1, 4, 7])")
    .gradient(NEW),
    OpDef::call(
        "linspace",
        Family::Create,
        "`steps` numbers from `start` to `end`, both included.",
        &[
            Param::required("start", ParamKind::Float),
            Param::required("end", ParamKind::Float),
            Param::required("steps", ParamKind::Int),
            DTYPE,
            DEVICE,
            REQUIRES_GRAD,
            PIN_MEMORY,
        ],
        |a| Ok(linspace(a.float(0)?, a.float(1)?, a.int(2)?, &Make::from_args(a, 3)?)?.into()),
    )
    .forms(FUNCTION)
    .example("linspace(0, 1, 5)", "tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])")
    .gradient(NEW),
    OpDef::call(
        "logspace",
        Family::Create,
        "`base` to the powers of `steps` numbers from `start` to `end`, both included.",
        &[
            Param::required("start", ParamKind::Float),
            Param::required("end", ParamKind::Float),
            Param::required("steps", ParamKind::Int),
            Param::optional("base", ParamKind::Float, DefaultValue::Float(10.0)),
            DTYPE,
            DEVICE,
            REQUIRES_GRAD,
            PIN_MEMORY,
        ],
        |a| Ok(logspace(a.float(0)?, a.float(1)?, a.int(2)?, a.float(3)?, &Make::from_args(a, 4)?)?.into()),
    )
    .forms(FUNCTION)
    .example("logspace(0, 3, 4, 2)", "tensor([1., 2., 4., 8.])")
    .gradient(NEW),
    OpDef::call(
        "new_zeros",
        Family::Create,
        "Zeros of a size, in the dtype and on the device of a tensor unless said otherwise.",
        SIZE_OF,
        |a| Ok(zeros(&a.ints(1)?, &Make::from_args(a, 2)?.like(a.tensor(0)?))?.into()),
    )
    .forms(METHOD)
    .example("tensor([1, 2]).new_zeros(2, 3)", "tensor([[0, 0, 0],\n        [0, 0, 0]])")
    .gradient(NEW),
    OpDef::call(
        "new_ones",
        Family::Create,
        "Ones of a size, in the dtype and on the device of a tensor unless said otherwise.",
        SIZE_OF,
        |a| Ok(ones(&a.ints(1)?, &Make::from_args(a, 2)?.like(a.tensor(0)?))?.into()),
    )
    .forms(METHOD)
    .example("tensor([1.5, 2.5]).new_ones([2], #{dtype: int64})", "tensor([1, 1])")
    .gradient(NEW),
    OpDef::call(
        "new_empty",
        Family::Create,
        "Whatever the memory holds, in the dtype and on the device of a tensor unless said otherwise.",
        SIZE_OF,
        |a| Ok(empty(&a.ints(1)?, &Make::from_args(a, 2)?.like(a.tensor(0)?))?.into()),
    )
    .forms(METHOD)
    .example("tensor([1, 2]).new_empty([2, 3]).dtype", "torch.int64")
    .gradient(NEW),
    OpDef::call(
        "new_full",
        Family::Create,
        "One value in a size, in the dtype and on the device of a tensor unless said otherwise.",
        &[
            SELF,
            Param::required("size", ParamKind::Ints),
            Param::required("fill_value", ParamKind::Scalar),
            DTYPE,
            DEVICE,
            REQUIRES_GRAD,
            PIN_MEMORY,
        ],
        |a| Ok(full(&a.ints(1)?, a.scalar(2)?, &Make::from_args(a, 3)?.like(a.tensor(0)?))?.into()),
    )
    .forms(METHOD)
    .example("tensor([1.0, 2.0]).new_full([2], 7)", "tensor([7., 7.])")
    .gradient(NEW),
    OpDef::call(
        "new_tensor",
        Family::Create,
        "A tensor of numbers, in the dtype and on the device of another unless said otherwise.",
        &[SELF, Param::required("data", ParamKind::Any), DTYPE, DEVICE, REQUIRES_GRAD, PIN_MEMORY],
        |a| Ok(from_nested(a.get(1), &Make::from_args(a, 2)?.like(a.tensor(0)?))?.into()),
    )
    .forms(METHOD)
    .example("tensor([1.0]).new_tensor([1, 2])", "tensor([1., 2.])")
    .gradient(NEW),
    OpDef::call(
        "eye",
        Family::Create,
        "Ones on the diagonal of `n` rows and `m` columns, zeros elsewhere.",
        &[
            Param::required("n", ParamKind::Int),
            Param::optional("m", ParamKind::Int, DefaultValue::None),
            DTYPE,
            DEVICE,
            REQUIRES_GRAD,
            PIN_MEMORY,
        ],
        |a| Ok(eye(a.int(0)?, a.optional_int(1), &Make::from_args(a, 2)?)?.into()),
    )
    .forms(FUNCTION)
    .example("eye(2)", "tensor([[1., 0.],\n        [0., 1.]])")
    .gradient(NEW),
];

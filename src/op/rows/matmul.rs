//! Rows of matrix products.

use crate::base::{Error, Result};
use crate::op::args::{Args, Value};
use crate::op::def::{
    Default, Domain, Draw, FUNCTION, Family, Form, Gradient, OpDef, Param, ParamKind, SELF, Sample,
};
use crate::op::einsum::einsum;
use crate::op::linear::linear;
use crate::op::matmul::{addmm, bmm, dot, matmul, mm, mv, outer};

const OTHER: Param = Param::required("other", ParamKind::Tensor);
const MAT2: Param = Param::required("mat2", ParamKind::Tensor);
const MATRICES: &[Draw] = &[Draw::of("a", &[3, 4], Domain::Any), Draw::of("b", &[4, 2], Domain::Any)];
const BATCHES: &[Draw] = &[Draw::of("a", &[5, 1, 3, 4], Domain::Any), Draw::of("b", &[2, 4, 2], Domain::Any)];
const SAME_BATCH: &[Draw] = &[Draw::of("a", &[2, 3, 4], Domain::Any), Draw::of("b", &[2, 4, 2], Domain::Any)];
const VECTORS: &[Draw] = &[Draw::of("a", &[4], Domain::Any), Draw::of("b", &[4], Domain::Any)];
const LINEAR: &[Draw] = &[
    Draw::of("x", &[2, 5, 4], Domain::Any),
    Draw::of("w", &[3, 4], Domain::Any),
    Draw::of("b", &[3], Domain::Any),
];

/// Products of matrices and vectors.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "matmul",
        Family::Matmul,
        "The product of two tensors: dot of vectors, product of matrices, batched and broadcast above.",
        &[SELF, OTHER],
        |a| Ok(matmul(a.tensor(0)?, a.tensor(1)?)?.into()),
    )
    .forms(&[Form::Method, Form::Function, Form::Operator("@")])
    .example("tensor([[1, 2], [3, 4]]) @ tensor([1, 1])", "tensor([3, 7])")
    .gradient(Gradient::Vjp("MmBackward0"))
    .samples(&[
        Sample::of("a @ b", MATRICES),
        Sample::of("a.matmul(b)", BATCHES),
        Sample::of("a @ b", &[Draw::of("a", &[2, 3, 4], Domain::Any), Draw::of("b", &[4, 5], Domain::Any)]),
        Sample::of("a @ b", &[Draw::of("a", &[3, 4], Domain::Any), Draw::of("b", &[2, 4, 5], Domain::Any)]),
        Sample::of("a @ b", &[Draw::of("a", &[4], Domain::Any), Draw::of("b", &[4, 2], Domain::Any)]),
    ]),
    OpDef::call("mm", Family::Matmul, "The product of two matrices.", &[SELF, MAT2], |a| {
        Ok(mm(a.tensor(0)?, a.tensor(1)?)?.into())
    })
    .example("tensor([[1, 2]]).mm(tensor([[3], [4]]))", "tensor([[11]])")
    .gradient(Gradient::Vjp("MmBackward0"))
    .samples(&[Sample::of("a.mm(b)", MATRICES)]),
    OpDef::call("bmm", Family::Matmul, "Products of matrices, batch by batch.", &[SELF, MAT2], |a| {
        Ok(bmm(a.tensor(0)?, a.tensor(1)?)?.into())
    })
    .example("ones([2, 1, 3]).bmm(ones([2, 3, 1]))", "tensor([[[3.]],\n\n        [[3.]]])")
    .gradient(Gradient::Vjp("BmmBackward0"))
    .samples(&[Sample::of("a.bmm(b)", SAME_BATCH)]),
    OpDef::call(
        "mv",
        Family::Matmul,
        "A matrix times a vector.",
        &[SELF, Param::required("vec", ParamKind::Tensor)],
        |a| Ok(mv(a.tensor(0)?, a.tensor(1)?)?.into()),
    )
    .example("tensor([[1, 2], [3, 4]]).mv(tensor([1, 1]))", "tensor([3, 7])")
    .gradient(Gradient::Vjp("MvBackward0"))
    .samples(&[Sample::of("a.mv(b)", &[Draw::of("a", &[3, 4], Domain::Any), Draw::of("b", &[4], Domain::Any)])]),
    OpDef::call("dot", Family::Matmul, "The inner product of two vectors.", &[SELF, OTHER], |a| {
        Ok(dot(a.tensor(0)?, a.tensor(1)?)?.into())
    })
    .example("tensor([1, 2]).dot(tensor([3, 4]))", "tensor(11)")
    .gradient(Gradient::Vjp("DotBackward0"))
    .samples(&[Sample::of("a.dot(b)", VECTORS)]),
    OpDef::call(
        "outer",
        Family::Matmul,
        "All products of an element of one vector and one of another.",
        &[SELF, Param::required("vec2", ParamKind::Tensor)],
        |a| Ok(outer(a.tensor(0)?, a.tensor(1)?)?.into()),
    )
    .example("tensor([1, 2]).outer(tensor([3, 4]))", "tensor([[3, 4],\n        [6, 8]])")
    .gradient(Gradient::Vjp("MulBackward0"))
    .samples(&[Sample::of("a.outer(b)", VECTORS)]),
    OpDef::call(
        "addmm",
        Family::Matmul,
        "`beta * input + alpha * (mat1 @ mat2)` in one product; `input` is broadcast.",
        &[
            SELF,
            Param::required("mat1", ParamKind::Tensor),
            MAT2,
            Param::optional("beta", ParamKind::Scalar, Default::Int(1)),
            Param::optional("alpha", ParamKind::Scalar, Default::Int(1)),
        ],
        |a| Ok(addmm(a.tensor(0)?, a.tensor(1)?, a.tensor(2)?, a.float(3)?, a.float(4)?)?.into()),
    )
    .example("addmm(tensor([1.0]), ones([1, 2]), ones([2, 1]))", "tensor([[3.]])")
    .gradient(Gradient::Vjp("AddmmBackward0"))
    .samples(&[Sample::of(
        "addmm(c, a, b, #{beta: 0.5, alpha: 2.0})",
        &[
            Draw::of("c", &[2], Domain::Any),
            Draw::of("a", &[3, 4], Domain::Any),
            Draw::of("b", &[4, 2], Domain::Any),
        ],
    )]),
    OpDef::call(
        "einsum",
        Family::Matmul,
        "Sums of products of elements as an equation says.",
        &[Param::required("equation", ParamKind::Str), Param::required("operands", ParamKind::Any)],
        einsum_row,
    )
    .forms(FUNCTION)
    .details(
        "Each operand's dimensions are named by letters; what the result does not name is summed. Without `->` the \
         result has the letters that appear once, in alphabetical order.",
    )
    .example("einsum(\"ij,j->i\", [tensor([[1, 2], [3, 4]]), tensor([1, 1])])", "tensor([3, 7])")
    .gradient(Gradient::Composite)
    .samples(&[
        Sample::of("einsum(\"bij,bjk->bik\", [a, b])", SAME_BATCH),
        Sample::of("einsum(\"ij,kj->ik\", [a, a])", &[Draw::of("a", &[3, 4], Domain::Any)]),
    ]),
    OpDef::call(
        "linear",
        Family::Matmul,
        "`input @ weight.t() + bias` in one product.",
        &[
            SELF,
            Param::required("weight", ParamKind::Tensor),
            Param::optional("bias", ParamKind::Tensor, Default::None),
        ],
        |a| Ok(linear(a.tensor(0)?, a.tensor(1)?, a.optional_tensor(2))?.into()),
    )
    .forms(&[Form::Functional])
    .details("`input` has `[.., in]` elements, `weight` `[out, in]` and `bias` `[out]`.")
    .example("F::linear(ones([1, 2]), tensor([[1.0, 2.0]]), tensor([0.5]))", "tensor([[3.5000]])")
    .gradient(Gradient::Vjp("AddmmBackward0"))
    .samples(&[Sample::of("F::linear(x, w, b)", LINEAR), Sample::of("F::linear(x, w)", LINEAR)]),
];

fn einsum_row(a: &Args) -> Result<Value> {
    let equation = a.str(0)?;
    match a.get(1) {
        Value::Tensor(one) => Ok(einsum(equation, &[one])?.into()),
        Value::List(_) => Ok(einsum(equation, &a.tensors(1)?)?.into()),
        other => {
            let text = format!(
                "einsum(): argument 'operands' must be an array of tensors, not {}",
                other.describe()
            );
            Err(Error::type_error(text))
        }
    }
}

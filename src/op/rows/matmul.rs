//! Rows of products.

use super::one;
use crate::op::def::DefaultValue as D;
use crate::op::def::{Domain, Draw, Family, Form, Gradient, OpDef, Param, ParamKind, SELF, Sample};
use crate::op::{einsum, linear, matmul};

const OTHER: Param = Param::required("other", ParamKind::Tensor);
const TWO: &[Param] = &[SELF, OTHER];
const AB: &[Draw] = &[Draw::of("a", &[3, 4], Domain::Any), Draw::of("b", &[4, 2], Domain::Any)];
const BATCH: &[Draw] = &[Draw::of("a", &[2, 3, 4], Domain::Any), Draw::of("b", &[2, 4, 2], Domain::Any)];
const VECTORS: &[Draw] = &[Draw::of("a", &[4], Domain::Any), Draw::of("b", &[4], Domain::Any)];

pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "matmul",
        Family::Matmul,
        "The matrix product; leading dimensions are batches and are broadcast.",
        TWO,
        |a| one(matmul::matmul(a.tensor(0)?, a.tensor(1)?)),
    )
    .forms(&[Form::Method, Form::Function, Form::Operator("@")])
    .details("A vector on the left is a row, on the right a column.")
    .example("tensor([[1.0, 2.0], [3.0, 4.0]]) @ tensor([1.0, 1.0])", "tensor([3., 7.])")
    .gradient(Gradient::Vjp("MmBackward0"))
    .samples(&[
        Sample::of("a @ b", AB),
        Sample::of("a @ b", BATCH),
        Sample::of(
            "a.t() @ b.t()",
            &[Draw::of("a", &[4, 3], Domain::Any), Draw::of("b", &[5, 4], Domain::Any)],
        ),
    ]),
    OpDef::call("mm", Family::Matmul, "The product of two matrices.", TWO, |a| {
        one(matmul::mm(a.tensor(0)?, a.tensor(1)?))
    })
    .example("ones([2, 3]).mm(ones([3, 1]))", "tensor([[3.],\n        [3.]])")
    .gradient(Gradient::Vjp("MmBackward0"))
    .samples(&[Sample::of("a.mm(b)", AB)]),
    OpDef::call("bmm", Family::Matmul, "The products of two batches of matrices.", TWO, |a| {
        one(matmul::bmm(a.tensor(0)?, a.tensor(1)?))
    })
    .example("ones([2, 1, 3]).bmm(ones([2, 3, 1])).shape", "[2, 1, 1]")
    .gradient(Gradient::Vjp("BmmBackward0"))
    .samples(&[Sample::of("a.bmm(b)", BATCH)]),
    OpDef::call("mv", Family::Matmul, "The product of a matrix and a vector.", TWO, |a| {
        one(matmul::mv(a.tensor(0)?, a.tensor(1)?))
    })
    .example("ones([2, 3]).mv(ones(3))", "tensor([3., 3.])")
    .gradient(Gradient::Vjp("MvBackward0"))
    .samples(&[Sample::of(
        "a.mv(b)",
        &[Draw::of("a", &[3, 4], Domain::Any), Draw::of("b", &[4], Domain::Any)],
    )]),
    OpDef::call("dot", Family::Matmul, "The inner product of two vectors.", TWO, |a| {
        one(matmul::dot(a.tensor(0)?, a.tensor(1)?))
    })
    .example("tensor([1.0, 2.0]).dot(tensor([3.0, 4.0]))", "tensor(11.)")
    .gradient(Gradient::Vjp("DotBackward0"))
    .samples(&[Sample::of("a.dot(b)", VECTORS)]),
    OpDef::call(
        "outer",
        Family::Matmul,
        "Every product of an element of one vector and one of another.",
        TWO,
        |a| one(matmul::outer(a.tensor(0)?, a.tensor(1)?)),
    )
    .example("tensor([1, 2]).outer(tensor([3, 4]))", "tensor([[3, 4],\n        [6, 8]])")
    .samples(&[Sample::of("a.outer(b)", VECTORS)]),
    OpDef::call(
        "addmm",
        Family::Matmul,
        "`beta * input + alpha * mat1 @ mat2` in one launch.",
        &[
            SELF,
            Param::required("mat1", ParamKind::Tensor),
            Param::required("mat2", ParamKind::Tensor),
            Param::optional("beta", ParamKind::Scalar, D::Int(1)),
            Param::optional("alpha", ParamKind::Scalar, D::Int(1)),
        ],
        |a| one(matmul::addmm(a.tensor(0)?, a.tensor(1)?, a.tensor(2)?, a.float(3)?, a.float(4)?)),
    )
    .example("addmm(ones(2), ones([1, 3]), ones([3, 2]))", "tensor([[4., 4.]])")
    .gradient(Gradient::Vjp("AddmmBackward0"))
    .samples(&[Sample::of(
        "addmm(c, a, b)",
        &[
            Draw::of("c", &[2], Domain::Any),
            Draw::of("a", &[3, 4], Domain::Any),
            Draw::of("b", &[4, 2], Domain::Any),
        ],
    )]),
    OpDef::call(
        "baddbmm",
        Family::Matmul,
        "`beta * input + alpha * batch1 @ batch2` for batches of matrices, in one launch.",
        &[
            SELF,
            Param::required("batch1", ParamKind::Tensor),
            Param::required("batch2", ParamKind::Tensor),
            Param::optional("beta", ParamKind::Scalar, D::Int(1)),
            Param::optional("alpha", ParamKind::Scalar, D::Int(1)),
        ],
        |a| one(matmul::baddbmm(a.tensor(0)?, a.tensor(1)?, a.tensor(2)?, a.float(3)?, a.float(4)?)),
    )
    .example("baddbmm(ones(2), ones([1, 1, 3]), ones([1, 3, 2]))", "tensor([[[4., 4.]]])")
    .gradient(Gradient::Vjp("BaddbmmBackward0"))
    .samples(&[Sample::of(
        "baddbmm(c, a, b, #{beta: 0.5, alpha: 2.0})",
        &[
            Draw::of("c", &[3, 2], Domain::Any),
            Draw::of("a", &[2, 3, 4], Domain::Any),
            Draw::of("b", &[2, 4, 2], Domain::Any),
        ],
    )]),
    OpDef::call(
        "einsum",
        Family::Matmul,
        "A sum of products, by Einstein's notation.",
        &[Param::required("equation", ParamKind::Str), Param::required("operands", ParamKind::Tensors)],
        |a| one(einsum::einsum(a.str(0)?, &a.tensors(1)?)),
    )
    .forms(&[Form::Function])
    .example("einsum(\"ij->ji\", [tensor([[1, 2]])])", "tensor([[1],\n        [2]])")
    .samples(&[Sample::of("einsum(\"bij,bjk->bik\", [a, b])", BATCH)]),
    OpDef::call(
        "linear",
        Family::Matmul,
        "`input @ weight.t() + bias` in one launch.",
        &[
            SELF,
            Param::required("weight", ParamKind::Tensor),
            Param::optional("bias", ParamKind::Tensor, D::None),
        ],
        |a| one(linear::linear(a.tensor(0)?, a.tensor(1)?, a.optional_tensor(2))),
    )
    .forms(&[Form::Functional])
    .example("F::linear(ones([1, 3]), ones([2, 3]))", "tensor([[3., 3.]])")
    .gradient(Gradient::Vjp("AddmmBackward0"))
    .samples(&[Sample::of(
        "F::linear(x, w, b)",
        &[
            Draw::of("x", &[5, 4], Domain::Any),
            Draw::of("w", &[3, 4], Domain::Any),
            Draw::of("b", &[3], Domain::Any),
        ],
    )]),
];

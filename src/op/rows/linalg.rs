//! Rows of linear algebra: `linalg::` and the products beside `matmul`.

use super::{KEEPDIM, one};
use crate::base::{Result, Scalar};
use crate::op::args::{Args, Value};
use crate::op::autocast::whole;
use crate::op::def::DefaultValue as D;
use crate::op::def::{
    Domain, Draw, FUNCTION, Family, Form, Gradient, OpDef, Operand, Param, ParamKind, SELF, Sample,
};
use crate::op::linalg::{self, NormKind};
use crate::op::{binary, matmul, reduce, shapes};
use crate::tensor::Tensor;

const A: Param = Param::required("A", ParamKind::Tensor);
const BETA: Param = Param::optional("beta", ParamKind::Scalar, D::Int(1));
const ALPHA: Param = Param::optional("alpha", ParamKind::Scalar, D::Int(1));
const VECTORS: &[Draw] = &[Draw::of("a", &[4], Domain::Any), Draw::of("b", &[4], Domain::Positive)];
const BATCHES: &[Draw] = &[
    Draw::of("c", &[3, 2], Domain::Any),
    Draw::of("a", &[2, 3, 4], Domain::Any),
    Draw::of("b", &[2, 4, 2], Domain::Any),
];
/// A product with its transpose, moved up the diagonal, is well conditioned.
const SQUARE: &[Draw] = &[Draw::of("x", &[3, 3], Domain::Inside), Draw::of("b", &[3, 2], Domain::Any)];
const SPACE: &[Form] = &[Form::Of("linalg")];
const ANYWHERE: &[Form] = &[Form::Method, Form::Function, Form::Of("linalg")];

const fn fused(second: &'static str) -> [Param; 5] {
    let (first, second) = match second.as_bytes() {
        b"batch2" => ("batch1", "batch2"),
        b"vec" => ("mat", "vec"),
        _ => ("vec1", "vec2"),
    };
    [SELF, Param::required(first, ParamKind::Tensor), Param::required(second, ParamKind::Tensor), BETA, ALPHA]
}

static BATCHED: [Param; 5] = fused("batch2");
static WITH_VECTOR: [Param; 5] = fused("vec");
static WITH_VECTORS: [Param; 5] = fused("vec2");

pub static ROWS: &[OpDef] = &[
    OpDef::call("inverse", Family::Matmul, "The inverse of square matrices.", &[SELF], |a| {
        one(linalg::inv(a.tensor(0)?))
    })
    .example(
        "tensor([[2.0, 0.0], [0.0, 4.0]]).inverse()",
        "tensor([[0.5000, 0.0000],\n        [0.0000, 0.2500]])",
    )
    .gradient(Gradient::Vjp("LinalgInvExBackward0"))
    .samples(&[Sample::of("(x + 2 * eye(3, #{dtype: x.dtype})).inverse()", SQUARE)]),
    OpDef::call("inv", Family::Matmul, "The inverse of square matrices.", &[A], |a| {
        one(linalg::inv(a.tensor(0)?))
    })
    .forms(SPACE)
    .example(
        "linalg::inv(tensor([[2.0, 0.0], [0.0, 4.0]]))",
        "tensor([[0.5000, 0.0000],\n        [0.0000, 0.2500]])",
    )
    .gradient(Gradient::Vjp("LinalgInvExBackward0"))
    .samples(&[Sample::of("linalg::inv(x + 2 * eye(3, #{dtype: x.dtype}))", SQUARE)]),
    OpDef::call(
        "solve",
        Family::Matmul,
        "The tensor that a matrix turns into another.",
        &[A, Param::required("B", ParamKind::Tensor)],
        |a| one(linalg::solve(a.tensor(0)?, a.tensor(1)?)),
    )
    .forms(SPACE)
    .details("Faster and more accurate than the product with an inverse.")
    .example("linalg::solve(tensor([[2.0, 0.0], [0.0, 4.0]]), tensor([2.0, 4.0]))", "tensor([1., 1.])")
    .gradient(Gradient::Vjp("LinalgSolveExBackward0"))
    .samples(&[Sample::of("linalg::solve(x + 2 * eye(3, #{dtype: x.dtype}), b)", SQUARE)]),
    OpDef::call("det", Family::Matmul, "The determinant of square matrices.", &[SELF], |a| {
        one(linalg::det(a.tensor(0)?))
    })
    .forms(ANYWHERE)
    .example("tensor([[2.0, 1.0], [0.0, 4.0]]).det()", "tensor(8.)")
    .gradient(Gradient::Vjp("LinalgDetBackward0"))
    .samples(&[Sample::of("(x + 2 * eye(3, #{dtype: x.dtype})).det()", SQUARE)]),
    OpDef::call(
        "slogdet",
        Family::Matmul,
        "The sign of the determinant and the logarithm of its size.",
        &[SELF],
        |a| {
            let (sign, size) = linalg::slogdet(a.tensor(0)?)?;
            Ok(Value::Map(vec![("sign", sign.into()), ("logabsdet", size.into())]))
        },
    )
    .forms(ANYWHERE)
    .example("tensor([[1.0, 0.0], [0.0, -1.0]]).slogdet().sign", "tensor(-1.)")
    .gradient(Gradient::Vjp("LinalgSlogdetBackward0"))
    .samples(&[Sample::of("(x + 2 * eye(3, #{dtype: x.dtype})).slogdet().logabsdet", SQUARE)]),
    OpDef::call(
        "cholesky",
        Family::Matmul,
        "The lower triangle whose product with its transpose is a positive-definite matrix.",
        &[A],
        |a| one(linalg::cholesky(a.tensor(0)?)),
    )
    .forms(SPACE)
    .example("linalg::cholesky(tensor([[4.0, 2.0], [2.0, 5.0]]))", "tensor([[2., 0.],\n        [1., 2.]])")
    .gradient(Gradient::Vjp("LinalgCholeskyExBackward0"))
    .samples(&[Sample::of("linalg::cholesky(x @ x.t() + eye(3, #{dtype: x.dtype}))", SQUARE)]),
    OpDef::call(
        "matrix_power",
        Family::Matmul,
        "A matrix times itself, `n` times over.",
        &[SELF, Param::required("n", ParamKind::Int)],
        |a| one(linalg::matrix_power(a.tensor(0)?, a.int(1)?)),
    )
    .forms(ANYWHERE)
    .example("tensor([[1.0, 1.0], [0.0, 1.0]]).matrix_power(3)", "tensor([[1., 3.],\n        [0., 1.]])")
    .samples(&[Sample::of("x.matrix_power(3)", SQUARE)]),
    OpDef::call(
        "multi_dot",
        Family::Matmul,
        "The product of several matrices in the cheapest order.",
        &[Param::required("tensors", ParamKind::Tensors)],
        |a| one(linalg::multi_dot(&a.tensors(0)?)),
    )
    .forms(SPACE)
    .example("linalg::multi_dot([ones([1, 2]), ones([2, 3]), ones([3, 1])])", "tensor([[6.]])")
    .samples(&[Sample::of(
        "linalg::multi_dot([a, b, a])",
        &[Draw::of("a", &[2, 3], Domain::Any), Draw::of("b", &[3, 2], Domain::Any)],
    )]),
    OpDef::call(
        "vector_norm",
        Family::Reduce,
        "The norm of all elements, or along dimensions, as of a vector.",
        &[
            Param::required("x", ParamKind::Tensor),
            Param::optional("ord", ParamKind::Scalar, D::Int(2)),
            Param::optional("dim", ParamKind::Ints, D::None),
            KEEPDIM,
        ],
        |a| {
            let (order, dims, keepdim) = (a.float(1)?, a.optional_ints(2)?, a.bool(3)?);
            one(whole("vector_norm", [a.tensor(0)?], |[x]| reduce::norm(x, order, dims.as_deref(), keepdim)))
        },
    )
    .forms(SPACE)
    .example("linalg::vector_norm(tensor([3.0, 4.0]))", "tensor(5.)")
    .gradient(Gradient::Vjp("LinalgVectorNormBackward0"))
    .samples(&[Sample::of("linalg::vector_norm(a, 3)", VECTORS)]),
    OpDef::call(
        "matrix_norm",
        Family::Reduce,
        "The norm of matrices: \"fro\", 1, -1 and infinities of column and row sums, 2, -2 and \"nuc\" of singular values.",
        &[
            A,
            Param::optional("ord", ParamKind::Any, D::Str("fro")),
            Param::optional("dim", ParamKind::Ints, D::Ints(&[-2, -1])),
            KEEPDIM,
        ],
        matrix_norm,
    )
    .forms(SPACE)
    .example("linalg::matrix_norm(tensor([[1.0, -2.0], [3.0, 4.0]]), 1)", "tensor(6.)")
    .samples(&[Sample::of("linalg::matrix_norm(x)", SQUARE)]),
    OpDef::call(
        "inner",
        Family::Matmul,
        "The sums of products over the last dimensions.",
        &[SELF, Param::required("other", ParamKind::Tensor)],
        |a| one(inner(a.tensor(0)?, a.tensor(1)?)),
    )
    .example("tensor([1, 2]).inner(tensor([3, 4]))", "tensor(11)")
    .samples(&[Sample::of("a.inner(b)", VECTORS)]),
    OpDef::call(
        "vdot",
        Family::Matmul,
        "The inner product of two vectors; of real ones the same as `dot`.",
        &[SELF, Param::required("other", ParamKind::Tensor)],
        |a| one(whole("vdot", [a.tensor(0)?, a.tensor(1)?], |[x, y]| matmul::dot(x, y))),
    )
    .example("tensor([1.0, 2.0]).vdot(tensor([3.0, 4.0]))", "tensor(11.)")
    .gradient(Gradient::Vjp("DotBackward0"))
    .samples(&[Sample::of("a.vdot(b)", VECTORS)]),
    OpDef::call("addmv", Family::Matmul, "`beta * input + alpha * mat @ vec`.", &WITH_VECTOR, |a| {
        fused_product("addmv", a, matmul::mv)
    })
    .example("addmv(ones(2), ones([2, 3]), ones(3))", "tensor([4., 4.])")
    .samples(&[Sample::of(
        "addmv(v, m, w, #{beta: 0.5, alpha: 2})",
        &[
            Draw::of("v", &[2], Domain::Any),
            Draw::of("m", &[2, 3], Domain::Any),
            Draw::of("w", &[3], Domain::Any),
        ],
    )]),
    OpDef::call("addr", Family::Matmul, "`beta * input + alpha * outer(vec1, vec2)`.", &WITH_VECTORS, |a| {
        fused_product("addr", a, matmul::outer)
    })
    .example("addr(zeros([2, 2]), tensor([1.0, 2.0]), ones(2))", "tensor([[1., 1.],\n        [2., 2.]])")
    .samples(&[Sample::of("addr(a, a, b)", VECTORS)]),
    OpDef::call(
        "addbmm",
        Family::Matmul,
        "`beta * input + alpha * (batch1 @ batch2).sum(0)`.",
        &BATCHED,
        |a| {
            fused_product("addbmm", a, |x, y| reduce::sum(&matmul::bmm(x, y)?, Some(&[0]), false))
        },
    )
    .example("addbmm(ones([1, 1]), ones([2, 1, 3]), ones([2, 3, 1]))", "tensor([[7.]])")
    .samples(&[Sample::of("addbmm(c, a, b)", BATCHES)]),
    OpDef::call(
        "chain_matmul",
        Family::Matmul,
        "Another name of `linalg::multi_dot`.",
        &[Param::required("tensors", ParamKind::Tensors)],
        |a| one(linalg::multi_dot(&a.tensors(0)?)),
    )
    .forms(FUNCTION)
    .example("chain_matmul([ones([1, 2]), ones([2, 3]), ones([3, 1])])", "tensor([[6.]])"),
];

/// `beta * input + alpha * product` of the two other tensors, one operation for autocast.
fn fused_product(
    name: &'static str,
    a: &Args,
    product: fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Value> {
    whole(name, [a.tensor(0)?, a.tensor(1)?, a.tensor(2)?], |[input, x, y]| {
        combined(a, input, product(x, y)?)
    })
}

/// `beta * input + alpha * product`; a `beta` of 0 leaves even NaN out.
fn combined(a: &Args, input: &Tensor, product: Tensor) -> Result<Value> {
    let (beta, alpha) = (a.scalar(3)?, a.scalar(4)?);
    let scaled = |t: &Tensor, by: Scalar| -> Result<Tensor> {
        if by.as_f64() == 1.0 { Ok(t.clone()) } else { binary::mul(t, Operand::Scalar(by)) }
    };
    let product = scaled(&product, alpha)?;
    if beta.as_f64() == 0.0 {
        return one(Ok(product));
    }
    one(binary::add(&scaled(input, beta)?, &product))
}

fn matrix_norm(a: &Args) -> Result<Value> {
    let kind = match a.get(1) {
        Value::Str(s) => NormKind::named(s)?,
        Value::Scalar(s) => NormKind::of(s.as_f64())?,
        other => return Err(a.wrong(1, other)),
    };
    match a.ints(2)?.as_slice() {
        &[first, second] => one(linalg::matrix_norm(a.tensor(0)?, kind, [first, second], a.bool(3)?)),
        other => Err(crate::base::Error::runtime(format!(
            "linalg.matrix_norm: dim must be a 2-tuple. Got {}",
            crate::base::shape::show(other)
        ))),
    }
}

fn inner(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    if x.rank() == 0 || y.rank() == 0 {
        return binary::mul(x, y);
    }
    if x.size(-1)? != y.size(-1)? {
        return Err(crate::base::Error::runtime(format!(
            "inner() the last dimension must match on both input tensors but got shapes {:?} and {:?}",
            x.shape(),
            y.shape()
        )));
    }
    if x.rank() == 1 && y.rank() == 1 {
        return matmul::dot(x, y);
    }
    shapes::tensordot(x, y, &[-1], &[-1])
}

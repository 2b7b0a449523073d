//! Products added to a tensor.

use crate::base::{Error, Result, Scalar, ShapeCause};
use crate::op::core::args::to_value;
use crate::op::core::autocast;
use crate::op::core::autocast::whole;
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Domain, Draw, Family, Gradient, OpDef, Overlap, Sample};
use crate::op::core::fill::replaced;
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::promote::{check_cast, check_factor};
use crate::op::core::record::{beside, recorded, wanted};
use crate::op::core::wide::in_single_on_cpu;
use crate::op::elementwise::arithmetic;
use crate::op::elementwise::arithmetic::scale;
use crate::op::reduce::sums;
use crate::op::shape::permute::{matrix_transpose, t};
use crate::tensor::autograd::{Grads, Saved, Vjp};
use crate::tensor::{In, Tensor};

use super::matmul;
use super::matmul::{
    batches_of, bmm, check_added_dtypes, check_addmm, check_numbers, check_place, fused_product, mm,
    save_factors,
};

/// `beta * input + alpha * (a @ b)`; `input` is broadcast.
pub fn addmm(input: &Tensor, a: &Tensor, b: &Tensor, beta: f64, alpha: f64) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("addmm", &[input, a, b])? {
        return addmm(&casts.cast(input)?, &casts.cast(a)?, &casts.cast(b)?, beta, alpha);
    }
    static RULE: Vjp = Vjp { name: "AddmmBackward0", run: addmm_grad };
    let run = || {
        for (name, x) in [("self", a), ("mat2", b)] {
            if x.rank() != 2 {
                return Err(Error::runtime(format!(
                    "addmm: {name} must be a matrix, got {}-D tensor",
                    x.rank()
                )));
            }
        }
        check_addmm(input, a, b)?;
        let (&[m, k], &[l, n]) = (a.shape(), b.shape()) else {
            return Err(Error::runtime("addmm takes matrices"));
        };
        if k != l {
            return Err(ShapeCause::MatmulShapes {
                op: "addmm",
                left: a.shape().into(),
                right: b.shape().into(),
            }
            .into());
        }
        let wide = input.layout().expand(&[m, n])?;
        let out = Tensor::empty(&[m, n], a.dtype(), &a.context(), "addmm")?;
        fused_product("addmm", [a.into(), b.into(), In::Laid(input, &wide)], &out, alpha, beta)?;
        Ok(recorded(out, &RULE, &[input, a, b], |s, _| {
            save_factors(s, a, b);
            s.attribute((beta, alpha));
        }))
    };
    run().map_err(|e| e.in_op("addmm", || vec![input.operand(), a.operand(), b.operand()]))
}

/// `beta * input + alpha * (a @ b)`, batch by batch; `input` is broadcast.
pub fn baddbmm(input: &Tensor, a: &Tensor, b: &Tensor, beta: f64, alpha: f64) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "BaddbmmBackward0", run: baddbmm_grad };
    if let Some(casts) = autocast::enter("baddbmm", &[input, a, b])? {
        return baddbmm(&casts.cast(input)?, &casts.cast(a)?, &casts.cast(b)?, beta, alpha);
    }
    let run = || -> Result<Tensor> {
        let [n, m, k] = batches_of(a, "batch1")?;
        let [other, l, p] = batches_of(b, "batch2")?;
        check_baddbmm(input, a, b)?;
        if (n, k) != (other, l) {
            return Err(ShapeCause::BatchMatmul { want: [n, k], got: [other, l] }.into());
        }
        let wide = input.layout().expand(&[n, m, p])?;
        let out = Tensor::empty(&[n, m, p], a.dtype(), &a.context(), "baddbmm")?;
        fused_product("baddbmm", [a.into(), b.into(), In::Laid(input, &wide)], &out, alpha, beta)?;
        Ok(recorded(out, &RULE, &[input, a, b], |s, _| {
            save_factors(s, a, b);
            s.attribute((beta, alpha));
        }))
    };
    run().map_err(|e| e.in_op("baddbmm", || vec![input.operand(), a.operand(), b.operand()]))
}

/// One dtype of numbers on one device, in the words of PyTorch.
fn check_baddbmm(input: &Tensor, a: &Tensor, b: &Tensor) -> Result<()> {
    check_place(input, a, b)?;
    let hint = "convert them, for example with `.float()`";
    if input.dtype() != a.dtype() {
        let [input, a, b] = [input, a, b].map(|t| t.dtype().c_name());
        let text = format!("Input dtypes must be the same, got: input {input}, batch1: {a}, batch2: {b}");
        return Err(Error::runtime(text).with_hint(hint));
    }
    if a.dtype() != b.dtype() {
        let [a, b] = [a, b].map(|t| t.dtype().type_name());
        return Err(Error::runtime(format!("expected scalar type {a} but found {b}")).with_hint(hint));
    }
    check_numbers(a.dtype(), "baddbmm")
}

fn addmm_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let &(beta, alpha): &(f64, f64) = s.attribute()?;
    let times = |x: Tensor, factor: f64| if factor == 1.0 { Ok(x) } else { scale(&x, factor) };
    Ok([
        wanted(s, 0, || times(g.clone(), beta))?,
        wanted(s, 1, || times(mm(g, &t(&s.tensor(1)?)?)?, alpha))?,
        wanted(s, 2, || times(mm(&t(&s.tensor(0)?)?, g)?, alpha))?,
    ]
    .into_iter()
    .collect())
}

fn baddbmm_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let &(beta, alpha): &(f64, f64) = s.attribute()?;
    let times = |x: Tensor, factor: f64| if factor == 1.0 { Ok(x) } else { scale(&x, factor) };
    Ok([
        wanted(s, 0, || times(g.clone(), beta))?,
        wanted(s, 1, || times(bmm(g, &matrix_transpose(&s.tensor(1)?)?)?, alpha))?,
        wanted(s, 2, || times(bmm(&matrix_transpose(&s.tensor(0)?)?, g)?, alpha))?,
    ]
    .into_iter()
    .collect())
}

const TWO_VECTORS: &[Draw] = &[Draw::of("a", &[4], Domain::Any), Draw::of("b", &[4], Domain::Positive)];
const BATCHES: &[Draw] = &[
    Draw::of("c", &[3, 2], Domain::Any),
    Draw::of("a", &[2, 3, 4], Domain::Any),
    Draw::of("b", &[2, 4, 2], Domain::Any),
];

params! {
    /// How the parts of a sum count.
    group FactorParams {
        beta: kind::Scalar = 1, "the factor of `input`";
        alpha: kind::Scalar = 1, "the factor of the product";
    }
}

params! {
    AddmmParams {
        input: kind::Tensor, "what is added to the product";
        mat1: kind::Tensor, "the left matrix";
        mat2: kind::Tensor, "the right matrix";
        ..factors: FactorParams;
    }
}

params! {
    BaddbmmParams {
        input: kind::Tensor, "what is added to the products";
        batch1: kind::Tensor, "the left matrices, `[b, n, m]`";
        batch2: kind::Tensor, "the right matrices, `[b, m, p]`";
        ..factors: FactorParams;
    }
}

params! {
    AddmvParams {
        input: kind::Tensor, "what is added to the product";
        mat: kind::Tensor, "the left factor, a matrix";
        vec: kind::Tensor, "the right factor, a vector";
        ..factors: FactorParams;
    }
}

params! {
    AddrParams {
        input: kind::Tensor, "what is added to the product";
        vec1: kind::Tensor, "the left vector, along the rows of the result";
        vec2: kind::Tensor, "the right vector, along its columns";
        ..factors: FactorParams;
    }
}

params! {
    AddbmmParams {
        input: kind::Tensor, "what is added to the sum of the products";
        batch1: kind::Tensor, "the left matrices, `[b, n, m]`";
        batch2: kind::Tensor, "the right matrices, `[b, m, p]`";
        ..factors: FactorParams;
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "addmm",
        Family::Matmul,
        "`beta * input + alpha * mat1 @ mat2` in one launch.",
        AddmmParams::LIST,
        by_name!(AddmmParams, |a| to_value(addmm(
            a.input,
            a.mat1,
            a.mat2,
            a.factors.beta.as_f64(),
            a.factors.alpha.as_f64()
        ))),
    )
    .overlap(Overlap::Any)
    .in_place(by_name!(AddmmParams, |a| to_value(replaced(a.input, |x| addmm(
        x,
        a.mat1,
        a.mat2,
        a.factors.beta.as_f64(),
        a.factors.alpha.as_f64()
    )))))
    .shapes("(n, p) or what is broadcast to it, (n, m), (m, p) -> (n, p)")
    .errors(&[
        "RuntimeError: the inner sizes differ",
        "RuntimeError: `input` does not broadcast to the product",
        "NotImplementedError: an operand holds bools",
    ])
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
        BaddbmmParams::LIST,
        by_name!(BaddbmmParams, |a| to_value(baddbmm(
            a.input,
            a.batch1,
            a.batch2,
            a.factors.beta.as_f64(),
            a.factors.alpha.as_f64()
        ))),
    )
    .overlap(Overlap::Any)
    .in_place(by_name!(BaddbmmParams, |a| to_value(replaced(a.input, |x| baddbmm(
        x,
        a.batch1,
        a.batch2,
        a.factors.beta.as_f64(),
        a.factors.alpha.as_f64()
    )))))
    .shapes("(b, n, p) or what is broadcast to it, (b, n, m), (b, m, p) -> (b, n, p)")
    .errors(&["RuntimeError: the batches or the inner sizes differ"])
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
        "addmv",
        Family::Matmul,
        "`beta * input + alpha * mat @ vec`.",
        AddmvParams::LIST,
        by_name!(AddmvParams, |a| to_value(addmv(a.input, &a))),
    )
    .overlap(Overlap::Any)
    .in_place(by_name!(AddmvParams, |a| to_value(replaced(a.input, |x| addmv(x, &a)))))
    .shapes("(n) or what is broadcast to it, (n, m), (m) -> (n)")
    .errors(&["RuntimeError: the inner sizes differ"])
    .example("addmv(ones(2), ones([2, 3]), ones(3))", "tensor([4., 4.])")
    .samples(&[Sample::of(
        "addmv(v, m, w, #{beta: 0.5, alpha: 2})",
        &[
            Draw::of("v", &[2], Domain::Any),
            Draw::of("m", &[2, 3], Domain::Any),
            Draw::of("w", &[3], Domain::Any),
        ],
    )]),
    OpDef::call(
        "addr",
        Family::Matmul,
        "`beta * input + alpha * outer(vec1, vec2)`.",
        AddrParams::LIST,
        by_name!(AddrParams, |a| to_value(addr(a.input, &a))),
    )
    .in_place(by_name!(AddrParams, |a| to_value(replaced(a.input, |x| {
        let sum = addr(x, &a)?;
        check_cast(sum.dtype(), x.dtype())?;
        Ok(sum)
    }))))
    .shapes("(n, m) or what is broadcast to it, (n), (m) -> (n, m)")
    .errors(&[
        "RuntimeError: a factor is no vector",
        "RuntimeError: `beta` or `alpha` has a point, and all three tensors hold integers or bools",
    ])
    .example("addr(zeros([2, 2]), tensor([1.0, 2.0]), ones(2))", "tensor([[1., 1.],\n        [2., 2.]])")
    .samples(&[Sample::of("addr(a, a, b)", TWO_VECTORS)]),
    OpDef::call(
        "addbmm",
        Family::Matmul,
        "`beta * input + alpha * (batch1 @ batch2).sum(0)`.",
        AddbmmParams::LIST,
        by_name!(AddbmmParams, |a| to_value(addbmm(a.input, &a))),
    )
    .overlap(Overlap::Any)
    .in_place(by_name!(AddbmmParams, |a| to_value(replaced(a.input, |x| addbmm(x, &a)))))
    .shapes("(n, p) or what is broadcast to it, (b, n, m), (b, m, p) -> (n, p)")
    .errors(&["RuntimeError: the batches or the inner sizes differ"])
    .example("addbmm(ones([1, 1]), ones([2, 1, 3]), ones([2, 3, 1]))", "tensor([[7.]])")
    .samples(&[Sample::of("addbmm(c, a, b)", BATCHES)]),
];

fn addmv(input: &Tensor, a: &AddmvParams) -> Result<Tensor> {
    added("addmv", [input, a.mat, a.vec], &a.factors, check_addmv, matmul::mv)
}

fn addr(input: &Tensor, a: &AddrParams) -> Result<Tensor> {
    // Its dtypes are promoted, unlike those of the other sums.
    whole("addr", [input, a.vec1, a.vec2], |tensors| {
        let [x, y, z] = tensors.map(Tensor::dtype);
        let dtype = x.promote(y).promote(z);
        check_factor("beta", a.factors.beta, dtype)?;
        check_factor("alpha", a.factors.alpha, dtype)?;
        let mut same = tensors.map(Tensor::clone);
        for t in &mut same {
            *t = to_dtype(t, dtype)?;
        }
        sum_of(same.each_ref(), &a.factors, matmul::outer)
    })
}

fn addbmm(input: &Tensor, a: &AddbmmParams) -> Result<Tensor> {
    let sum_of_products = |x: &Tensor, y: &Tensor| sums::sum(&matmul::bmm(x, y)?, Some(&[0]), false);
    added("addbmm", [input, a.batch1, a.batch2], &a.factors, check_added_dtypes, sum_of_products)
}

/// One dtype of numbers, in the words of PyTorch.
fn check_addmv(input: &Tensor, mat: &Tensor, vec: &Tensor) -> Result<()> {
    let ranks = [input.rank(), mat.rank(), vec.rank()];
    if !matches!(ranks, [0 | 1, 2, 1]) {
        let [input, mat, vec] = ranks;
        return Err(Error::runtime(format!("vector + matrix @ vector expected, got {input}, {mat}, {vec}")));
    }
    let all = [input, mat, vec].map(Tensor::dtype);
    if all.iter().any(|&dtype| dtype != vec.dtype()) {
        let [input, mat, vec] = all.map(|dtype| dtype.type_name());
        let text = format!("addmv input tensors must have the same dtype, but got {input}, {mat}, and {vec}");
        return Err(Error::runtime(text).with_hint("convert them, for example with `.float()`"));
    }
    if mat.numel() == 0 { Ok(()) } else { check_numbers(vec.dtype(), "addmv_impl_cpu") }
}

/// [`sum_of`] tensors that pass a check, one operation for autocast.
fn added(
    name: &'static str,
    tensors: [&Tensor; 3],
    factors: &FactorParams,
    check: fn(&Tensor, &Tensor, &Tensor) -> Result<()>,
    product: fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    whole(name, tensors, |tensors| {
        let [input, x, y] = tensors;
        check(input, x, y)?;
        sum_of(tensors, factors, product)
    })
}

/// `beta * input + alpha * product` of the two other tensors; a `beta` of 0 leaves even NaN out.
fn sum_of(
    tensors: [&Tensor; 3],
    factors: &FactorParams,
    product: fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    // Of integers they are integers, as PyTorch has them.
    let whole_numbers = !tensors.iter().any(|t| t.dtype().is_float());
    let factor = |by: Scalar| if whole_numbers { Scalar::Int(by.as_f64() as i64) } else { by };
    let (alpha, beta) = (factor(factors.alpha), factor(factors.beta));
    let scaled = |t: &Tensor, by: Scalar| -> Result<Tensor> {
        if by.as_f64() == 1.0 { Ok(t.clone()) } else { to_dtype(&arithmetic::mul(t, by)?, t.dtype()) }
    };
    in_single_on_cpu(tensors, |[input, x, y]| {
        let product = to_dtype(&product(x, y)?, x.dtype())?;
        let product = scaled(&product, alpha)?;
        if beta.as_f64() == 0.0 {
            return Ok(beside(product, input));
        }
        arithmetic::add(&scaled(input, beta)?, &product)
    })
}

//! Singular values, and what follows from them.

use crate::base::{DType, Error, Result};
use crate::device::Kernel;
use crate::device::kernel::Factor;
use crate::op::core::args::to_value;
use crate::op::core::autocast::{enter, whole};
use crate::op::core::def::{Domain, Draw, Family, Form, Gradient, OpDef, Sample};
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::record::{no_grad, one, recorded};
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::{add, div, mul, sub};
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::sign::neg;
use crate::op::elementwise::unary::{reciprocal, square};
use crate::op::reduce::sums::sum;
use crate::op::shape::part::narrow;
use crate::op::shape::permute::matrix_transpose as turned;
use crate::op::shape::view::unsqueeze;
use crate::tensor::autograd::{Grads, Saved, Vjp, grad_enabled};
use crate::tensor::{Tensor, launch};

use super::batches::{like, outer};
use super::eigen::{Cut, Svd, apart, converged, eigh, eigvalsh, matrix, only_full, skew, wants_gradient};
use super::matmul::matmul;

/// `x = u diag(s) vh`; `full` completes `u` and `vh` to square matrices.
pub fn svd(x: &Tensor, full: bool) -> Result<Svd> {
    static U: Vjp = Vjp { name: "LinalgSvdBackward0", run: |s, g| svd_grad(s, [Some(g), None, None]) };
    static S: Vjp = Vjp { name: "LinalgSvdBackward0", run: |s, g| svd_grad(s, [None, Some(g), None]) };
    static V: Vjp = Vjp { name: "LinalgSvdBackward0", run: |s, g| svd_grad(s, [None, None, Some(g)]) };
    whole("svd", [x], |[x]| {
        matrix(x, "linalg.svd", "linalg_svd_cpu")?;
        let (m, n) = (x.size(-2)?, x.size(-1)?);
        let k = m.min(n);
        let (rows, columns) = if full { (m, n) } else { (k, k) };
        let (u, s, vh) = (like(x, &[m, rows])?, like(x, &[k])?, like(x, &[columns, n])?);
        launch("linalg.svd", &Kernel::Factor(Factor::Svd), &[x.into()], &[&u, &s, &vh])?;
        converged(&s, "linalg.svd", FINITE)?;
        let (pu, ps, pv) = (u.detach(), s.detach(), vh.detach());
        let kept = |saver: &mut crate::tensor::autograd::Saver| {
            saver.input(x);
            [&pu, &ps, &pv].into_iter().for_each(|t| saver.constant(Some(t)));
        };
        Ok(Svd {
            u: recorded(u, &U, &[x], |s, _| kept(s)),
            s: recorded(s, &S, &[x], |s, _| kept(s)),
            vh: recorded(vh, &V, &[x], |s, _| kept(s)),
        })
    })
}

fn svd_grad(saved: &Saved, [gu, gs, gv]: [Option<&Tensor>; 3]) -> Result<Grads> {
    let found = if grad_enabled() {
        svd(&saved.tensor(0)?, false)?
    } else {
        Svd { u: saved.tensor(1)?, s: saved.tensor(2)?, vh: saved.tensor(3)? }
    };
    let s = found.s;
    // What completes a factor has no gradient: it may be any.
    let k = s.size(-1)? as i64;
    let (u, vh) = (narrow(&found.u, -1, 0, k)?, narrow(&found.vh, -2, 0, k)?);
    let (across, down) = (unsqueeze(&s, -2)?, unsqueeze(&s, -1)?);
    if let Some(g) = gs {
        return one(matmul(&mul(&u, &unsqueeze(g, -2)?)?, &vh)?);
    }
    if let Some(g) = gu {
        let g = narrow(g, -1, 0, k)?;
        let own = matmul(&turned(&u)?, &g)?;
        let turn = mul(&apart(&skew(&own)?, &square(&s)?)?, &across)?;
        let mut inner = matmul(&u, &turn)?;
        if u.size(-2)? as i64 > k {
            inner = add(&inner, &div(&sub(&g, &matmul(&u, &own)?)?, &across)?)?;
        }
        return one(matmul(&inner, &vh)?);
    }
    let Some(g) = gv else { return Err(Error::runtime("linalg.svd: no gradient came")) };
    let g = narrow(g, -2, 0, k)?;
    let own = matmul(&g, &turned(&vh)?)?;
    let turn = mul(&apart(&skew(&turned(&own)?)?, &square(&s)?)?, &down)?;
    let mut inner = matmul(&turn, &vh)?;
    if vh.size(-1)? as i64 > k {
        inner = add(&inner, &div(&sub(&g, &matmul(&own, &vh)?)?, &down)?)?;
    }
    one(matmul(&u, &inner)?)
}

/// The singular values alone; where a gradient is wanted, the vectors are found too.
pub fn svdvals(x: &Tensor) -> Result<Tensor> {
    if wants_gradient(x) {
        return svd(x, false).map(|found| found.s);
    }
    whole("svd", [x], |[x]| {
        matrix(x, "linalg.svd", "linalg_svd_cpu")?;
        let values = like(x, &[x.size(-2)?.min(x.size(-1)?)])?;
        launch("linalg.svd", &Kernel::Factor(Factor::Svd), &[x.into()], &[&values])?;
        converged(&values, "linalg.svd", FINITE)?;
        Ok(values)
    })
}

/// The matrix that undoes `x` as far as one can (Moore and Penrose).
pub fn pinv(x: &Tensor, cut: Cut<'_>) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "LinalgPinvBackward0", run: pinv_grad };
    if x.rank() < 2 || !matches!(x.dtype(), DType::Float32 | DType::Float64) {
        return Err(Error::runtime(format!(
            "linalg.pinv({}{{{}}}): expected a tensor with 2 or more dimensions of float, double, cfloat or cdouble types",
            x.dtype().type_name(),
            crate::base::dims::show(x.shape())
        )));
    }
    let out = {
        let _off = no_grad();
        let _paused = crate::tensor::autocast::pause();
        let x = x.detach();
        let (values, left, right) = if cut.hermitian {
            let (values, vectors) = eigh(&x, "L")?;
            (values, vectors.clone(), vectors)
        } else {
            let found = svd(&x, false)?;
            (found.s, found.u, turned(&found.vh)?)
        };
        if values.numel() == 0 {
            Tensor::full(turned(&x)?.shape(), 0i64.into(), x.dtype(), &x.context(), "linalg.pinv")?
        } else {
            let kept = cut.counts(&x, &values)?;
            let inverse = where_(&kept, (&reciprocal(&values)?).into(), 0i64.into())?;
            matmul(&mul(&right, &unsqueeze(&inverse, -2)?)?, &turned(&left)?)?
        }
    };
    let out = recorded(out, &RULE, &[x], |s, y| {
        s.input(x);
        s.output(y);
    });
    // Its last step is a product, which autocast lowers.
    match enter("matmul", &[&out])? {
        Some(casts) => casts.cast(&out),
        None => Ok(out),
    }
}

/// The differential of a pseudoinverse `p` of constant rank (Golub and Pereyra, 1973), turned round.
fn pinv_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (x, p) = (s.tensor(0)?, s.tensor(1)?);
    let (pt, gt) = (turned(&p)?, turned(g)?);
    let through = neg(&matmul(&matmul(&pt, g)?, &pt)?)?;
    // `(1 - x p) g^T p p^T` and `p^T p g^T (1 - p x)`.
    let left = matmul(&matmul(&gt, &p)?, &pt)?;
    let left = sub(&left, &matmul(&x, &matmul(&p, &left)?)?)?;
    let right = matmul(&matmul(&pt, &p)?, &gt)?;
    let right = sub(&right, &matmul(&matmul(&right, &p)?, &x)?)?;
    one(add(&add(&through, &left)?, &right)?)
}

/// How many singular values count.
pub fn matrix_rank(x: &Tensor, cut: Cut<'_>) -> Result<Tensor> {
    if x.rank() < 2 {
        return Err(Error::runtime(
            "torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.",
        ));
    }
    let _off = no_grad();
    whole("matrix_rank", [x], |[x]| {
        only_full(x)?;
        let values = if cut.hermitian { eigvalsh(x, "L")? } else { svdvals(x)? };
        if values.size(-1)? == 0 {
            return Tensor::full(outer(x), 0i64.into(), DType::Int64, &x.context(), "linalg.matrix_rank");
        }
        sum(&cut.counts(x, &values)?, Some(&[-1]), false)
    })
}

const FINITE: &str = "The algorithm failed to converge because the input matrix contained non-finite values.";
const SPACE: &[Form] = &[Form::Of("linalg")];
const TALL: &[Draw] = &[Draw::of("x", &[2, 4, 3], Domain::Any)];
const WIDE: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];
const COUNTED: Gradient = Gradient::NoGrad("the result counts");

params! {
    SvdParams {
        A: kind::Tensor, "the matrix, or a batch of matrices";
        full_matrices: kind::Bool = true, "whole orthogonal matrices, where otherwise only the columns that matter";
    }
}

params! {
    SvdvalsParams {
        A: kind::Tensor, "the matrix, or a batch of matrices";
    }
}

params! {
    ThinSvdParams {
        input: kind::Tensor, "the matrix, or a batch of matrices";
        some: kind::Bool = true, "only the columns that matter, where otherwise whole orthogonal matrices";
        compute_uv: kind::Bool = true, "whether the vectors are wanted; zeros stand for them otherwise";
    }
}

params! {
    PinverseParams {
        input: kind::Tensor, "the matrix, or a batch of matrices";
        rcond: kind::Float = 1e-15, "singular values up to it times the largest count as 0";
    }
}

params! {
    CutParams {
        A: kind::Tensor, "the matrix, or a batch of matrices";
        atol: Maybe<kind::Operand>, "singular values up to it count as 0; a tensor has one bound for each matrix";
        rtol: Maybe<kind::Operand>, "singular values up to it times the largest count as 0";
        hermitian: kind::Bool = false, "whether the matrices are taken as equal to their adjoints";
    }
}

fn cut<'a>(a: &CutParams<'a>) -> Cut<'a> {
    Cut { atol: a.atol, rtol: a.rtol, hermitian: a.hermitian }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call("svd", Family::Matmul, "Matrices as `U @ S.diag() @ Vh`: orthonormal vectors and singular values in descending order.", SvdParams::LIST, by_name!(SvdParams, |a| {
            let found = svd(a.A, a.full_matrices)?;
            Ok(Value::Map(vec![("U", found.u.into()), ("S", found.s.into()), ("Vh", found.vh.into())]))
        }))
    .forms(SPACE)
    .details(
        "A map of `U`, `S` and `Vh`. `full_matrices` completes `U` and `Vh` to square matrices. The sign of a pair of \
         vectors is free; up to 25 values it is the one that LAPACK's iterations give.",
    )
    .shapes(
        "(…, n, m) -> `U` (…, n, n), `S` (…, k), `Vh` (…, m, m), k = min(n, m); (…, n, k) and (…, k, m) without \
         full_matrices",
    )
    .errors(&["RuntimeError: the input has fewer than two dimensions", shapes::NO_FLOAT])
    .example("linalg::svd(tensor([[3.0, 0.0], [0.0, 4.0]])).S", "tensor([4., 3.])")
    .gradient(Gradient::Vjp("LinalgSvdBackward0"))
    .samples(&[
        Sample::of("linalg::svd(x, false).S", TALL),
        Sample::of("linalg::svd(x, false).U ** 2", TALL),
        Sample::of("linalg::svd(x).Vh.narrow(0, 0, 3) ** 2", WIDE),
    ]),
    OpDef::call("svdvals", Family::Matmul, "The singular values of matrices in descending order.", SvdvalsParams::LIST, by_name!(SvdvalsParams, |a| to_value(svdvals(a.A))))
    .forms(SPACE)
    .shapes("(…, n, m) -> (…, min(n, m))")
    .errors(&["RuntimeError: the input has fewer than two dimensions", shapes::NO_FLOAT])
    .example("linalg::svdvals(tensor([[3.0, 0.0], [0.0, 4.0]]))", "tensor([4., 3.])")
    .gradient(Gradient::Vjp("LinalgSvdBackward0"))
    .samples(&[Sample::of("linalg::svdvals(x)", WIDE)]),
    OpDef::call(
        "pinv",
        Family::Matmul,
        "The matrices that undo others as far as one can (Moore and Penrose).",
        CutParams::LIST, by_name!(CutParams, |a| to_value(pinv(a.A, cut(&a)))),
    )
    .forms(SPACE)
    .details(
        "Singular values up to `atol`, or `rtol` times the largest, count as 0; `rtol` is the dtype's eps times the larger \
         size where neither is given. `hermitian` takes the matrices as symmetric.",
    )
    .shapes("(…, n, m) -> (…, m, n)")
    .errors(&["RuntimeError: the input has fewer than two dimensions, or holds integers or bools"])
    .example("linalg::pinv(tensor([[2.0, 0.0], [0.0, 0.0]]))", "tensor([[0.5000, 0.0000],\n        [0.0000, 0.0000]])")
    .gradient(Gradient::Vjp("LinalgPinvBackward0"))
    .samples(&[Sample::of("linalg::pinv(x)", TALL), Sample::of("linalg::pinv(x)", WIDE)]),
    OpDef::call(
        "pinverse",
        Family::Matmul,
        "Another name of `linalg::pinv`, by the share of the largest singular value up to which others count as 0.",
        PinverseParams::LIST,
        by_name!(PinverseParams, |a| {
            to_value(pinv(a.input, Cut { atol: None, rtol: Some(a.rcond.into()), hermitian: false }))
        }),
    )
    .shapes("(…, n, m) -> (…, m, n)")
    .errors(&["RuntimeError: the input has fewer than two dimensions, or holds integers or bools"])
    .example("tensor([[2.0, 0.0], [0.0, 0.0]]).pinverse()", "tensor([[0.5000, 0.0000],\n        [0.0000, 0.0000]])")
    .gradient(Gradient::Vjp("LinalgPinvBackward0"))
    .samples(&[Sample::of("x.pinverse()", TALL)]),
    OpDef::call(
        "matrix_rank",
        Family::Matmul,
        "How many directions matrices keep: singular values above a bound.",
        CutParams::LIST, by_name!(CutParams, |a| to_value(matrix_rank(a.A, cut(&a)))),
    )
    .forms(SPACE)
    .details("The bound is that of `linalg::pinv`.")
    .shapes("(…, n, m) -> (…)")
    .errors(&[
        "RuntimeError: the input has fewer than two dimensions",
        "RuntimeError: the input holds integers or bools",
    ])
    .example("linalg::matrix_rank(tensor([[1.0, 2.0], [2.0, 4.0]]))", "tensor(1)")
    .gradient(COUNTED),
];

/// Rows whose names other rows have too.
pub(crate) static HOMONYMS: &[OpDef] = &[OpDef::call(
    "svd",
    Family::Matmul,
    "Matrices as `U @ S.diag() @ V.mT`: orthonormal vectors and singular values in descending order.",
    ThinSvdParams::LIST,
    by_name!(ThinSvdParams, |a| {
        if !a.compute_uv {
            let (values, m, n) = (svdvals(a.input)?, a.input.size(-2)?, a.input.size(-1)?);
            let zeros = |size: usize| -> Result<Tensor> {
                let shape: Vec<usize> = outer(a.input).iter().copied().chain([size, size]).collect();
                Tensor::full(&shape, 0i64.into(), a.input.dtype(), &a.input.context(), "svd")
            };
            return Ok(Value::Map(vec![("U", zeros(m)?.into()), ("S", values.into()), ("V", zeros(n)?.into())]));
        }
        let found = svd(a.input, !a.some)?;
        let v = turned(&found.vh)?;
        Ok(Value::Map(vec![("U", found.u.into()), ("S", found.s.into()), ("V", v.into())]))
    }),
)
.details("A map of `U`, `S` and `V`; `linalg::svd` gives `Vh`, the transpose of the last, and is what PyTorch advises.")
.shapes("(…, n, m) -> `U` (…, n, k), `S` (…, k), `V` (…, m, k), k = min(n, m); `some` false completes U and V")
.errors(&["RuntimeError: the input has fewer than two dimensions", shapes::NO_FLOAT])
.example("tensor([[3.0, 0.0], [0.0, 4.0]]).svd().S", "tensor([4., 3.])")
.gradient(Gradient::Vjp("LinalgSvdBackward0"))
.samples(&[Sample::of("x.svd().S", TALL), Sample::of("x.svd().V ** 2", TALL)])];

//! Orthogonal factors, and least squares.

use crate::base::{DType, Error, Result};
use crate::device::Kernel;
use crate::device::kernel::Factor;
use crate::op::core::autocast::whole;
use crate::op::core::def::{Domain, Draw, Family, Form, Gradient, OpDef, Sample};
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::record::{one, recorded};
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::{add, sub};
use crate::op::elementwise::comparison::ge;
use crate::op::elementwise::sign::neg;
use crate::op::elementwise::unary::square;
use crate::op::reduce::sums::{all, sum};
use crate::op::shape::join::cat;
use crate::op::shape::permute::matrix_transpose as turned;
use crate::op::shape::triangle::tril;
use crate::op::shape::view::{squeeze, unsqueeze};
use crate::tensor::autograd::{Grads, Saved, Vjp, grad_enabled};
use crate::tensor::{Tensor, launch};

use super::batches::{like, part};
use super::eigen::{Cut, Fit, matrix, only_full};
use super::matmul::matmul;
use super::solve::solve;
use super::svd::{matrix_rank, pinv, svdvals};

/// An upper triangle, and what turns it into the matrix: `q` is empty in mode `r`.
pub fn qr(x: &Tensor, mode: &str) -> Result<(Tensor, Tensor)> {
    static Q: Vjp = Vjp { name: "LinalgQrBackward0", run: |s, g| qr_grad(s, Some(g), None) };
    static R: Vjp = Vjp { name: "LinalgQrBackward0", run: |s, g| qr_grad(s, None, Some(g)) };
    let Some(mode) = ["reduced", "complete", "r"].into_iter().find(|known| *known == mode) else {
        return Err(Error::runtime(format!(
            "qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )));
    };
    whole("qr", [x], |[x]| {
        matrix(x, "linalg.qr", "geqrf_cpu")?;
        let (m, n) = (x.size(-2)?, x.size(-1)?);
        let k = if mode == "complete" { m } else { m.min(n) };
        let (q, r) = (like(x, &[m, k])?, like(x, &[k, n])?);
        launch("linalg.qr", &Kernel::Factor(Factor::Qr), &[x.into()], &[&q, &r])?;
        let kept = |s: &mut crate::tensor::autograd::Saver, q: &Tensor, r: &Tensor| {
            s.input(x);
            s.constant(Some(q));
            s.constant(Some(r));
            s.attribute(mode);
        };
        let (plain_q, plain_r) = (q.detach(), r.detach());
        let r = recorded(r, &R, &[x], |s, _| kept(s, &plain_q, &plain_r));
        if mode == "r" {
            return Ok((Tensor::empty(&[0], x.dtype(), &x.context(), "linalg.qr")?, r));
        }
        Ok((recorded(q, &Q, &[x], |s, _| kept(s, &plain_q, &plain_r)), r))
    })
}

fn qr_grad(s: &Saved, gq: Option<&Tensor>, gr: Option<&Tensor>) -> Result<Grads> {
    let x = s.tensor(0)?;
    let mode: &&'static str = s.attribute()?;
    let (m, n) = (x.size(-2)?, x.size(-1)?);
    if *mode == "r" {
        return Err(Error::runtime(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, \
             mode='reduced') if you are going to differentiate through linalg.qr.",
        ));
    }
    if *mode == "complete" && m > n {
        return Err(Error::runtime(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols.",
        ));
    }
    let (q, r) = if grad_enabled() { qr(&x, mode)? } else { (s.tensor(1)?, s.tensor(2)?) };
    if m >= n {
        return one(qr_tall(&q, &r, gq, gr)?);
    }
    // The first columns alone decide on `q`; the others are `q` times theirs of `r`.
    let (all, first, rest) = ((0, m), (0, m), (m, n - m));
    let Some(gr) = gr else {
        let own = qr_tall(&q, &part(&r, all, first)?, gq, None)?;
        let zeros =
            Tensor::full(part(&x, all, rest)?.shape(), 0i64.into(), x.dtype(), &x.context(), "zeros")?;
        return one(cat(&[&own, &zeros], -1)?);
    };
    let g_rest = part(gr, all, rest)?;
    let gq = matmul(&part(&x, all, rest)?, &turned(&g_rest)?)?;
    let own = qr_tall(&q, &part(&r, all, first)?, Some(&gq), Some(&part(gr, all, first)?))?;
    one(cat(&[&own, &matmul(&q, &g_rest)?], -1)?)
}

/// `(gq + q sym(r gr^T - gq^T q)) r^-T`, where `sym` mirrors the lower triangle.
fn qr_tall(q: &Tensor, r: &Tensor, gq: Option<&Tensor>, gr: Option<&Tensor>) -> Result<Tensor> {
    let from_r = gr.map(|gr| matmul(r, &turned(gr)?)).transpose()?;
    let from_q = gq.map(|gq| matmul(&turned(gq)?, q)).transpose()?;
    let both = match (from_r, from_q) {
        (Some(a), Some(b)) => sub(&a, &b)?,
        (Some(a), None) => a,
        (None, Some(b)) => neg(&b)?,
        (None, None) => return Err(Error::runtime("linalg.qr: no gradient came")),
    };
    let mirrored = add(&tril(&both, 0)?, &turned(&tril(&both, -1)?)?)?;
    let mut inner = matmul(q, &mirrored)?;
    if let Some(gq) = gq {
        inner = add(&inner, gq)?;
    }
    turned(&solve(r, &turned(&inner)?)?)
}

/// The `y` of least length for which `a @ y` is nearest to `b`. `driver` decides on what comes with it, as in LAPACK:
/// ranks but with `gels`, residuals but with `gelsy`, singular values with `gelsd` and `gelss`.
pub(crate) fn lstsq(a: &Tensor, b: &Tensor, rcond: Option<f64>, driver: &str) -> Result<Fit> {
    let fault = |text: &str| Err(Error::runtime(format!("torch.linalg.lstsq: {text}")));
    if a.rank() < 2 {
        return fault("input must have at least 2 dimensions.");
    }
    if b.rank() < 1 {
        return fault("other must have at least 1 dimension.");
    }
    if b.rank() > a.rank() || a.rank() - b.rank() > 1 {
        return fault(
            "input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1",
        );
    }
    if !["gels", "gelsy", "gelsd", "gelss"].contains(&driver) {
        return fault("parameter `driver` should be one of (gels, gelsy, gelsd, gelss)");
    }
    let vectors = b.rank() + 1 == a.rank();
    whole("lstsq", [a, b], |[a, b]| {
        let rows = if vectors { b.size(-1)? } else { b.size(-2)? };
        if rows != a.size(-2)? {
            return fault("input.size(-2) should match other.size(-2)").map_err(|e| {
                e.with_hint(format!("the matrix has {} rows, and the other {rows}", a.size(-2).unwrap_or(0)))
            });
        }
        if a.dtype() != b.dtype() {
            return fault(&format!(
                "Expected input and other to have the same dtype, but got input's dtype {} and other's dtype {}",
                a.dtype().type_name(),
                b.dtype().type_name()
            ));
        }
        only_full(a)?;
        fitted(a, b, vectors, rcond, driver)
    })
}

fn fitted(a: &Tensor, b: &Tensor, vectors: bool, rcond: Option<f64>, driver: &str) -> Result<Fit> {
    let cut = Cut { rtol: rcond.map(Into::into), ..Cut::default() };
    let columns = if vectors { unsqueeze(b, -1)? } else { b.clone() };
    let solution = matmul(&pinv(a, cut)?, &columns)?;
    let none = |dtype: DType| Tensor::empty(&[0], dtype, &a.context(), "linalg.lstsq");
    let rank = matrix_rank(a, cut)?;
    let n = a.size(-1)?;
    let full = a.size(-2)? > n && all(&ge(&rank, n as i64)?, None, false)?.item()?.as_i64() != 0;
    let residuals = match full && driver != "gelsy" {
        true => sum(&square(&sub(&matmul(a, &solution)?, &columns)?)?, Some(&[-2]), false)?,
        false => none(a.dtype())?,
    };
    Ok(Fit {
        solution: if vectors { squeeze(&solution, Some(&[-1]))? } else { solution },
        residuals,
        rank: if driver == "gels" { none(DType::Int64)? } else { rank },
        singular_values: match driver {
            "gelsd" | "gelss" => svdvals(&a.detach())?,
            _ => none(a.dtype())?,
        },
    })
}

const SPACE: &[Form] = &[Form::Of("linalg")];
const TALL: &[Draw] = &[Draw::of("x", &[2, 4, 3], Domain::Any)];
const WIDE: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];
const SYSTEM: &[Draw] = &[Draw::of("x", &[4, 3], Domain::Any), Draw::of("b", &[4, 2], Domain::Any)];

params! {
    QrParams {
        A: kind::Tensor, "the matrix, or a batch of matrices";
        mode: kind::Str = "reduced", "`reduced`, `complete`, or `r` for R alone";
    }
}

params! {
    LstsqParams {
        A: kind::Tensor, "the matrix of coefficients, with at least as many rows as columns";
        B: kind::Tensor, "the right-hand side: a vector, or a column for each system";
        rcond: Maybe<kind::Float>, "singular values below this share of the largest count as 0; accepted for compatibility";
        driver: kind::Str = "gelsy", "LAPACK's routine, accepted for compatibility: the result is the same";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call("qr", Family::Matmul, "Matrices as products of orthonormal columns and an upper triangle.", QrParams::LIST, by_name!(QrParams, |a| {
            let (q, r) = qr(a.A, a.mode)?;
            Ok(Value::Map(vec![("Q", q.into()), ("R", r.into())]))
        }))
    .forms(SPACE)
    .details(
        "A map of `Q` and `R`. \"complete\" makes `Q` square, \"r\" leaves it out. Computed by reflections, so the signs \
         are those of LAPACK.",
    )
    .shapes("(…, n, m) -> `Q` (…, n, k), `R` (…, k, m), k = min(n, m), or n with \"complete\"; with \"r\" `Q` is (0)")
    .errors(&["RuntimeError: the input has fewer than two dimensions", shapes::NO_FLOAT])
    .example("linalg::qr(tensor([[3.0, 1.0], [4.0, 2.0]])).R", "tensor([[-5.0000, -2.2000],\n        [ 0.0000,  0.4000]])")
    .gradient(Gradient::Vjp("LinalgQrBackward0"))
    .samples(&[
        Sample::of("linalg::qr(x).Q", TALL),
        Sample::of("linalg::qr(x).R", TALL),
        Sample::of("linalg::qr(x).Q", WIDE),
        Sample::of("linalg::qr(x, \"complete\").R", WIDE),
    ]),
    OpDef::call("lstsq", Family::Matmul, "The solutions of least squares: what a matrix brings nearest to another.", LstsqParams::LIST, by_name!(LstsqParams, |a| {
            let fit = lstsq(a.A, a.B, a.rcond, a.driver)?;
            Ok(Value::Map(vec![
                ("solution", fit.solution.into()),
                ("residuals", fit.residuals.into()),
                ("rank", fit.rank.into()),
                ("singular_values", fit.singular_values.into()),
            ]))
        }))
    .forms(SPACE)
    .details(
        "A map of `solution`, `residuals`, `rank` and `singular_values`. What the `driver` does not find is empty: ranks \
         with \"gels\", residuals with \"gelsy\", singular values with both.",
    )
    .shapes(
        "(…, n, m), (…, n, p) or (…, n) -> `solution` (…, m, p) or (…, m), `residuals` (…, p), `rank` (…), \
         `singular_values` (…, min(n, m)); what is not found is (0)",
    )
    .errors(&["RuntimeError: `A` and `B` have different numbers of rows"])
    .example(
        "linalg::lstsq(tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), tensor([[1.0], [3.0], [5.0]])).solution",
        "tensor([[1.0000],\n        [2.0000]])",
    )
    .gradient(Gradient::Vjp("LinalgPinvBackward0"))
    .samples(&[Sample::of("linalg::lstsq(x, b).solution", SYSTEM)]),
];

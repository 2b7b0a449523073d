//! Matrices taken apart: QR, eigenvalues of symmetric matrices, singular values, and what follows from them. Batches
//! are the leading dimensions.
//!
//! Each result is recorded with a rule of its own, for rules are linear: the gradients of a call's results add up. A
//! rule keeps the factors; where the gradient itself is to be differentiated, it takes the matrix apart once more,
//! under autograd.

use crate::base::{DType, Dims, Error, Kind, Result};
use crate::device::Kernel;
use crate::device::kernel::Factor;
use crate::tensor::autograd::{Grads, Saved, Vjp, grad_enabled};
use crate::tensor::{Tensor, launch};

use super::autocast::{enter, whole};
use super::binary::{add, div, ge, gt, mul, sub};
use super::convert::to_dtype;
use super::joins::{cat, tril};
use super::linalg::{identity, outer, part, solve, square_of};
use super::matmul::matmul;
use super::movement::{matrix_transpose as turned, narrow, reshape_to, squeeze, unsqueeze};
use super::record::{no_grad, one, recorded};
use super::reduce::{all, amax, norm, sum};
use super::select::{masked_fill, where_};
use super::unary::{abs, isfinite, neg, reciprocal, scale, square};

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

/// The eigenvalues of symmetric matrices in ascending order, and their vectors as columns. Only the triangle that
/// `uplo` names, `L` or `U`, is read.
pub fn eigh(x: &Tensor, uplo: &str) -> Result<(Tensor, Tensor)> {
    static VALUES: Vjp = Vjp { name: "LinalgEighBackward0", run: |s, g| eigh_grad(s, Some(g), None) };
    static VECTORS: Vjp = Vjp { name: "LinalgEighBackward0", run: |s, g| eigh_grad(s, None, Some(g)) };
    let lower = reads_lower(uplo)?;
    whole("eigh", [x], |[x]| {
        let n = symmetric(x)?;
        let (values, vectors) = (like(x, &[n])?, like(x, &[n, n])?);
        let read = if lower { x.detach() } else { turned(&x.detach())? };
        launch("linalg.eigh", &Kernel::Factor(Factor::Eigh), &[(&read).into()], &[&values, &vectors])?;
        solvable(&values)?;
        let plain = (values.detach(), vectors.detach());
        let kept = |s: &mut crate::tensor::autograd::Saver| {
            s.input(x);
            s.constant(Some(&plain.0));
            s.constant(Some(&plain.1));
            s.attribute(lower);
        };
        Ok((
            recorded(values, &VALUES, &[x], |s, _| kept(s)),
            recorded(vectors, &VECTORS, &[x], |s, _| kept(s)),
        ))
    })
}

/// The eigenvalues alone; where a gradient is wanted, the vectors are found too.
pub fn eigvalsh(x: &Tensor, uplo: &str) -> Result<Tensor> {
    if wants_gradient(x) {
        return eigh(x, uplo).map(|(values, _)| values);
    }
    let lower = reads_lower(uplo)?;
    whole("eigh", [x], |[x]| {
        let values = like(x, &[symmetric(x)?])?;
        let read = if lower { x.detach() } else { turned(&x.detach())? };
        launch("linalg.eigh", &Kernel::Factor(Factor::Eigh), &[(&read).into()], &[&values])?;
        solvable(&values)?;
        Ok(values)
    })
}

fn wants_gradient(x: &Tensor) -> bool {
    grad_enabled() && x.requires_grad()
}

fn reads_lower(uplo: &str) -> Result<bool> {
    match uplo {
        "L" | "l" => Ok(true),
        "U" | "u" => Ok(false),
        other => {
            let text = format!("Expected UPLO argument to be 'L' or 'U', but got {other}");
            Err(Error::runtime(text))
        }
    }
}

/// The size of square matrices of full precision.
fn symmetric(x: &Tensor) -> Result<usize> {
    square_of(x, "linalg.eigh")?;
    implemented(x, "linalg_eigh_cpu")?;
    x.size(-1)
}

fn solvable(values: &Tensor) -> Result<()> {
    let code = values.size(-1)?.saturating_sub(1).max(1);
    converged(
        values,
        "linalg.eigh",
        &format!(
            "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated \
             eigenvalues (error code: {code})."
        ),
    )
}

fn eigh_grad(s: &Saved, values: Option<&Tensor>, vectors: Option<&Tensor>) -> Result<Grads> {
    let lower: &bool = s.attribute()?;
    let (l, v) = if grad_enabled() {
        eigh(&s.tensor(0)?, if *lower { "L" } else { "U" })?
    } else {
        (s.tensor(1)?, s.tensor(2)?)
    };
    let back = turned(&v)?;
    if let Some(g) = values {
        return one(matmul(&mul(&v, &unsqueeze(g, -2)?)?, &back)?);
    }
    let Some(g) = vectors else { return Err(Error::runtime("linalg.eigh: no gradient came")) };
    let turn = scale(&apart(&skew(&matmul(&back, g)?)?, &l)?, 0.5)?;
    one(matmul(&matmul(&v, &turn)?, &back)?)
}

/// `x[i, j] / (values[j] - values[i])`, and 0 on the diagonal.
fn apart(x: &Tensor, values: &Tensor) -> Result<Tensor> {
    let same = to_dtype(&identity(x)?, DType::Bool)?;
    let gaps = sub(&unsqueeze(values, -2)?, &unsqueeze(values, -1)?)?;
    masked_fill(&div(x, &masked_fill(&gaps, &same, 1i64.into())?)?, &same, 0i64.into())
}

/// The singular values of matrices in descending order, with their vectors: columns of `u`, rows of `vh`.
pub struct Svd {
    pub u: Tensor,
    pub s: Tensor,
    pub vh: Tensor,
}

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

fn skew(x: &Tensor) -> Result<Tensor> {
    sub(x, &turned(x)?)
}

const FINITE: &str = "The algorithm failed to converge because the input matrix contained non-finite values.";

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

/// From which size on a singular value counts: of the largest and of itself, the larger bound.
#[derive(Clone, Copy, Default)]
pub struct Cut {
    pub atol: Option<f64>,
    pub rtol: Option<f64>,
    /// The matrices are symmetric; eigenvalues serve as singular values.
    pub hermitian: bool,
}

impl Cut {
    /// Which of the values count; `values` in the last dimension, signs apart.
    fn counts(&self, x: &Tensor, values: &Tensor) -> Result<Tensor> {
        let eps = if x.dtype() == DType::Float64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
        let usual =
            if self.atol.is_some_and(|a| a > 0.0) { 0.0 } else { eps * x.size(-1)?.max(x.size(-2)?) as f64 };
        let sizes = abs(values)?;
        let bound = scale(&amax(&sizes, Some(&[-1]), true)?, self.rtol.unwrap_or(usual))?;
        let bound = super::binary::maximum(&bound, self.atol.unwrap_or(0.0))?;
        gt(&sizes, &bound)
    }
}

/// The matrix that undoes `x` as far as one can (Moore and Penrose).
pub fn pinv(x: &Tensor, cut: Cut) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "LinalgPinvBackward0", run: pinv_grad };
    if x.rank() < 2 || !matches!(x.dtype(), DType::Float32 | DType::Float64) {
        return Err(Error::runtime(format!(
            "linalg.pinv({}{{{}}}): expected a tensor with 2 or more dimensions of float, double, cfloat or cdouble types",
            x.dtype().type_name(),
            crate::base::shape::show(x.shape())
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
pub fn matrix_rank(x: &Tensor, cut: Cut) -> Result<Tensor> {
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

/// What least squares give.
pub struct Fit {
    pub solution: Tensor,
    pub residuals: Tensor,
    pub rank: Tensor,
    pub singular_values: Tensor,
}

/// The `y` of least length for which `a @ y` is nearest to `b`. `driver` decides on what comes with it, as in LAPACK:
/// ranks but with `gels`, residuals but with `gelsy`, singular values with `gelsd` and `gelss`.
pub fn lstsq(a: &Tensor, b: &Tensor, rcond: Option<f64>, driver: &str) -> Result<Fit> {
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
    let cut = Cut { rtol: rcond, ..Cut::default() };
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

/// The norm of a vector, of matrices, or of all elements where no `order` is given.
pub fn norm_of(x: &Tensor, order: NormOrder, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
    use super::linalg::{NormKind, matrix_norm};
    let vector = |order: f64| whole("vector_norm", [x], |[x]| norm(x, order, dims, keepdim));
    if let Some(dims) = dims.filter(|d| !matches!(d.len(), 1 | 2)) {
        return Err(Error::runtime(format!(
            "linalg.norm: If dim is specified, it must be of length 1 or 2. Got {}",
            crate::base::shape::show(dims)
        )));
    }
    if !matches!(order, NormOrder::Usual) && dims.is_none() && !matches!(x.rank(), 1 | 2) {
        let text = "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got";
        return Err(Error::runtime(format!("{text} {}D.", x.rank())));
    }
    let flat = dims.map_or(x.rank() == 1, |d| d.len() == 1);
    let pair = match dims {
        Some(&[a, b]) => [a, b],
        _ => [-2, -1],
    };
    match order {
        NormOrder::Usual => vector(2.0),
        NormOrder::Of(order) if flat => vector(order),
        NormOrder::Of(order) => matrix_norm(x, NormKind::of(order)?, pair, keepdim),
        NormOrder::Named(name) => {
            if let Some(&[one]) = dims {
                return Err(Error::runtime(format!("linalg.matrix_norm: dim must be a 2-tuple. Got {one}")));
            }
            matrix_norm(x, NormKind::named(&name)?, pair, keepdim)
        }
    }
}

/// The order of a norm.
#[derive(Clone, Debug)]
pub enum NormOrder {
    /// None is given.
    Usual,
    Of(f64),
    /// Of matrices: `fro` or `nuc`.
    Named(String),
}

/// An empty tensor of a batch of factors of `x`.
fn like(x: &Tensor, inner: &[usize]) -> Result<Tensor> {
    let shape: Dims = outer(x).iter().chain(inner).copied().collect();
    Tensor::empty(&shape, x.dtype(), &x.context(), "linalg")
}

fn matrix(x: &Tensor, name: &str, kernel: &str) -> Result<()> {
    if x.rank() < 2 {
        return Err(Error::runtime(format!("{name}: The input tensor A must have at least 2 dimensions.")));
    }
    if !x.dtype().is_float() {
        let text = format!(
            "{name}: Expected a floating point or complex tensor as input. Got {}",
            x.dtype().type_name()
        );
        return Err(Error::new(Kind::NotImplementedError, text).with_hint("convert it with `.float()`"));
    }
    implemented(x, kernel)
}

fn implemented(x: &Tensor, kernel: &str) -> Result<()> {
    if matches!(x.dtype(), DType::Float32 | DType::Float64) {
        return Ok(());
    }
    let text = format!("\"{kernel}\" not implemented for '{}'", x.dtype().type_name());
    Err(Error::new(Kind::NotImplementedError, text).with_hint("convert it with `.float()`"))
}

fn only_full(x: &Tensor) -> Result<()> {
    if matches!(x.dtype(), DType::Float32 | DType::Float64) {
        return Ok(());
    }
    Err(Error::runtime("This function doesn't handle types other than float and double")
        .with_hint("convert it with `.float()`"))
}

/// An error where the values found are not all finite; of a batch it names the first matrix that is to blame.
fn converged(values: &Tensor, name: &str, text: &str) -> Result<()> {
    let _off = no_grad();
    let fine = isfinite(values)?;
    if all(&fine, None, false)?.item()?.as_i64() != 0 {
        return Ok(());
    }
    let element = if values.rank() > 1 {
        let each = reshape_to(&all(&fine, Some(&[-1]), false)?, &[outer_count(values)])?;
        let first = super::extremum::argmin(&to_dtype(&each, DType::Int64)?, Some(0), false)?;
        format!("(Batch element {}): ", first.item()?.as_i64())
    } else {
        String::new()
    };
    Err(Error::runtime(format!("{name}: {element}{text}"))
        .with_hint("the matrix has an infinite element or a NaN"))
}

fn outer_count(values: &Tensor) -> usize {
    values.shape().iter().rev().skip(1).product()
}

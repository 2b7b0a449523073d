//! Distances between tensors.

use crate::base::{DType, Error, Kind, Result};
use crate::op::arrange::grids::triangle_indices;
use crate::op::core::args::to_value;
use crate::op::core::autocast;
use crate::op::core::autocast::whole;
use crate::op::core::def::{DefaultValue as D, Domain, Draw, FUNCTION, Family, Form, OpDef, Sample};
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::record::{no_grad, recorded, two, wanted};
use crate::op::create::filled::Make;
use crate::op::elementwise::arithmetic::{div, mul, scale, shift, sub};
use crate::op::elementwise::choose::masked_fill;
use crate::op::elementwise::comparison::eq;
use crate::op::elementwise::unary::{relu, sqrt};
use crate::op::gather::select::index_select;
use crate::op::reduce::norms::norm;
use crate::op::reduce::sums::sum;
use crate::op::shape::join::cat;
use crate::op::shape::part::{select, slice};
use crate::op::shape::permute::matrix_transpose;
use crate::op::shape::view::unsqueeze;
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp, needs_graph};

use super::batches::{batched, outer};
use super::matmul::matmul;

/// The `p`-norm of the difference of two tensors, a scalar.
pub fn dist(a: &Tensor, b: &Tensor, p: f64) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("dist", &[a, b])? {
        return dist(&casts.cast(a)?, &casts.cast(b)?, p);
    }
    let apart = sub(a, b)?;
    if !apart.dtype().is_float() {
        let name = apart.dtype().type_name();
        let text =
            format!("norm(): input dtype should be either floating point or complex. Got {name} instead.");
        return Err(
            Error::new(Kind::NotImplementedError, text).with_hint("convert to floats with `.float()`")
        );
    }
    norm(&apart, p, None, false)
}

/// The `p`-norm of `a - b + eps` along the last dimension: the distances of vectors.
pub fn pairwise_distance(a: &Tensor, b: &Tensor, p: f64, eps: f64, keepdim: bool) -> Result<Tensor> {
    norm(&shift(&sub(a, b)?, eps)?, p, Some(&[-1]), keepdim)
}

/// Whether Euclid's distances are made of a product of matrices, `|a|² + |b|² - 2 a b`: quick, and less precise of points
/// that lie close together.
#[derive(Clone, Copy)]
pub enum ByProduct {
    /// Of more than 25 rows on either side, as in PyTorch.
    Many,
    Always,
    Never,
}

/// Euclid's or another `p`-norm distance of each row of `a` from each row of `b`.
pub fn cdist(a: &Tensor, b: &Tensor, p: f64, by: ByProduct) -> Result<Tensor> {
    if a.rank() < 2 || b.rank() < 2 {
        return Err(Error::runtime("cdist only supports at least 2D tensors, X1 got: 1D")
            .with_hint("`x.unsqueeze(0)` makes a vector one row"));
    }
    for (name, x) in [("X1", a), ("X2", b)] {
        if !x.dtype().is_float() {
            let dtype = x.dtype().type_name();
            let text = format!("cdist only supports floating-point dtypes, {name} got: {dtype}");
            return Err(Error::runtime(text).with_hint("convert it with `.float()`"));
        }
    }
    let (columns, other) = (a.size(-1)?, b.size(-1)?);
    if columns != other {
        return Err(Error::runtime(format!(
            "X1 and X2 must have the same number of columns. X1: {columns} X2: {other}"
        )));
    }
    if p.is_nan() || p < 0.0 {
        return Err(Error::runtime("cdist only supports non-negative p values"));
    }
    same_dtype(a, b)?;
    let is_many = match by {
        ByProduct::Always => true,
        ByProduct::Many => a.size(-2)? > 25 || b.size(-2)? > 25,
        ByProduct::Never => false,
    };
    let is_plain = |t: &Tensor| matches!(t.dtype(), DType::Float32 | DType::Float64);
    if p == 2.0 && is_many && columns > 0 && a.dtype() == b.dtype() && is_plain(a) {
        return euclidean(a, b);
    }
    let apart = sub(&unsqueeze(a, -2)?, &unsqueeze(b, -3)?)?;
    norm(&apart, p, Some(&[-1]), false)
}

/// What PyTorch says of a second operand of another dtype.
pub(super) fn same_dtype(a: &Tensor, b: &Tensor) -> Result<()> {
    if a.dtype() == b.dtype() {
        return Ok(());
    }
    let (wanted, found) = (a.dtype().type_name(), b.dtype().type_name());
    Err(Error::runtime(format!("expected scalar type {wanted} but found {found}"))
        .with_hint("convert one of them, for example with `.float()`"))
}

fn euclidean(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "EuclideanDistBackward0", run: euclidean_grad };
    let batch = crate::base::shape::broadcast(outer(a), outer(b))?;
    let (a, b) = (batched(a, &batch)?, batched(b, &batch)?);
    let out = {
        let _off = no_grad();
        let squares = |x: &Tensor| sum(&mul(x, x)?, Some(&[-1]), true);
        let (left, right) = (squares(&a)?, squares(&b)?);
        let ones = |x: &Tensor| Tensor::full(x.shape(), 1i64.into(), x.dtype(), &x.context(), "cdist");
        let left = cat(&[&scale(&a, -2.0)?, &left, &ones(&left)?], -1)?;
        let right = cat(&[&b, &ones(&right)?, &right], -1)?;
        sqrt(&relu(&matmul(&left, &matrix_transpose(&right)?)?)?)?
    };
    Ok(recorded(out, &RULE, &[&a, &b], |s, y| {
        s.input(&a);
        s.input(&b);
        s.output(y);
    }))
}

/// Each distance pulls its points apart, along the line between them; a distance of 0 pulls nothing.
fn euclidean_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (a, b, y) = (s.tensor(0)?, s.tensor(1)?, s.tensor(2)?);
    let ratio = masked_fill(&div(g, &y)?, &eq(&y, 0i64)?, 0.0.into())?;
    let pulled = |ratio: &Tensor, own: &Tensor, other: &Tensor| {
        sub(&mul(own, &sum(ratio, Some(&[-1]), true)?)?, &matmul(ratio, other)?)
    };
    let left = wanted(s, 0, || pulled(&ratio, &a, &b))?;
    let right = wanted(s, 1, || pulled(&matrix_transpose(&ratio)?, &b, &a))?;
    two(left, right)
}

/// The distance of each row from each that follows it.
pub fn pdist(x: &Tensor, p: f64) -> Result<Tensor> {
    if x.rank() != 2 {
        return Err(Error::runtime(format!("pdist only supports 2D tensors, got: {}D", x.rank())));
    }
    if !x.dtype().is_float() {
        return Err(Error::runtime("pdist only supports floating-point dtypes"));
    }
    if p < 0.0 {
        return Err(Error::runtime("pdist only supports non-negative p values"));
    }
    if x.numel() >= LARGE && x.size(0)? > 1 && !x.device().is_cuda() && !needs_graph(&[x]) {
        return each_from_those_after(x, p);
    }
    let rows = x.size(0)? as i64;
    let pairs =
        triangle_indices(rows, rows, 1, true, &Make::default())?.moved(&x.context(), false, "pdist")?;
    let row = |which| index_select(x, 0, &select(&pairs, 0, which)?);
    let apart = sub(&row(0)?, &row(1)?)?;
    norm(&apart, p, Some(&[-1]), false)
}

/// Elements of a matrix whose rows are worth a launch each.
const LARGE: usize = 1 << 16;

/// [`pdist`] row by row: the differences of one row stay in the cache, where those of all pairs would fill memory.
fn each_from_those_after(x: &Tensor, p: f64) -> Result<Tensor> {
    let rows = x.size(0)?;
    let parts = (1..rows).map(|next| {
        let apart = sub(&slice(x, 0, next - 1, 1, 1)?, &slice(x, 0, next, rows - next, 1)?)?;
        norm(&apart, p, Some(&[-1]), false)
    });
    let parts = parts.collect::<Result<Vec<Tensor>>>()?;
    cat(&parts.iter().collect::<Vec<_>>(), 0)
}

const VECTORS: &[Draw] = &[Draw::of("a", &[3, 4], Domain::Any), Draw::of("b", &[4], Domain::Positive)];

params! {
    DistParams {
        input: kind::Tensor, "the tensor it is computed of";
        other: kind::Tensor, "the point that the distance leads to";
        p: kind::Float = 2.0, "which norm: 1 sums distances, 2 is Euclid's";
    }
}

params! {
    PairwiseDistanceParams {
        x1: kind::Tensor, "points, one a row";
        x2: kind::Tensor, "the points that distances lead to, one a row";
        p: kind::Float = 2.0, "which norm: 1 sums distances, 2 is Euclid's";
        eps: kind::Float = 1e-6, "what is added against division by zero";
        keepdim: kind::Bool = false, "keeps reduced dimensions, with size 1";
    }
}

params! {
    CdistParams {
        x1: kind::Tensor, "points, one a row";
        x2: kind::Tensor, "the points that distances lead to, one a row";
        p: kind::Scalar => D::Float(2.0), "which norm: 1 sums distances, 2 is Euclid's";
        compute_mode: Maybe<kind::Str>, "whether Euclid's distances are made of a product of matrices: `use_mm_for_euclid_dist`, `donot_use_mm_for_euclid_dist`, or `use_mm_for_euclid_dist_if_necessary`, where there are more than 25 rows";
    }
}

params! {
    PdistParams {
        input: kind::Tensor, "points, one a row";
        p: kind::Float = 2.0, "which norm: 1 sums distances, 2 is Euclid's";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "dist",
        Family::Reduce,
        "The norm of the difference of two tensors.",
        DistParams::LIST,
        by_name!(DistParams, |a| dist(a.input, a.other, a.p).map(Into::into)),
    )
    .details("Shapes spread over each other.")
    .shapes("broadcast together -> ()")
    .errors(&["NotImplementedError: an operand holds bools"])
    .example("dist(tensor([0.0, 0.0]), tensor([3.0, 4.0]))", "tensor(5.)")
    .samples(&[Sample::of("dist(a, b)", VECTORS), Sample::of("a.dist(b, 1)", VECTORS)]),
    OpDef::call(
        "pairwise_distance",
        Family::Loss,
        "The distances of vectors: the norm of the difference along the last dimension.",
        PairwiseDistanceParams::LIST,
        by_name!(PairwiseDistanceParams, |a| {
            pairwise_distance(a.x1, a.x2, a.p, a.eps, a.keepdim).map(Into::into)
        }),
    )
    .forms(&[Form::Functional, Form::Function])
    .details("`eps` is added to the difference, which keeps the gradient of a distance of 0 finite.")
    .shapes("(…, d), (…, d), broadcast together -> (…), or (…, 1) with keepdim")
    .errors(&["NotImplementedError: an operand holds bools"])
    .example("F::pairwise_distance(tensor([[0.0, 0.0]]), tensor([[3.0, 4.0]]))", "tensor([5.0000])")
    .samples(&[
        Sample::of("F::pairwise_distance(a, b)", VECTORS),
        Sample::of("F::pairwise_distance(a, b, 1, #{keepdim: true})", VECTORS),
    ]),
    OpDef::call(
        "pdist",
        Family::Matmul,
        "The distance of each row of a matrix from each that follows it.",
        PdistParams::LIST,
        by_name!(PdistParams, |a| to_value(whole("pdist", [a.input], |[x]| pdist(x, a.p)))),
    )
    .forms(&[Form::Functional, Form::Function])
    .shapes("(n, d) -> (n (n - 1) / 2)")
    .errors(&["RuntimeError: the input is no matrix of floats, or `p` is negative"])
    .example("F::pdist(tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 8.0]]))", "tensor([5., 8., 5.])")
    .samples(&[
        Sample::of("F::pdist(x)", &[Draw::of("x", &[4, 3], Domain::Any)]),
        Sample::of("F::pdist(x, 3)", &[Draw::of("x", &[4, 3], Domain::Any)]),
    ]),
    OpDef::call(
        "cdist",
        Family::Matmul,
        "The distance of each row of one tensor from each row of another.",
        CdistParams::LIST,
        by_name!(CdistParams, |a| {
            let p = a.p.as_f64();
            let by = match a.compute_mode {
                None | Some("use_mm_for_euclid_dist_if_necessary") => ByProduct::Many,
                Some("use_mm_for_euclid_dist") => ByProduct::Always,
                Some("donot_use_mm_for_euclid_dist") => ByProduct::Never,
                Some(mode) => {
                    return Err(Error::value(format!("{mode} is not a valid value for compute_mode")));
                }
            };
            to_value(whole("cdist", [a.x1, a.x2], |[x, y]| cdist(x, y, p, by)))
        }),
    )
    .forms(FUNCTION)
    .shapes("(…, n, d), (…, m, d) -> (…, n, m), batches broadcast")
    .errors(&["RuntimeError: the rows have different lengths, or an input has fewer than two dimensions"])
    .example("cdist(tensor([[0.0, 0.0]]), tensor([[3.0, 4.0]]))", "tensor([[5.]])")
    .details(
        "Of many points Euclid's distances are made of a product of matrices, which is quick and less precise where \
         points lie close together.",
    )
    .samples(&[
        Sample::of("cdist(a, b)", &[Draw::of("a", &[3, 2], Domain::Any), Draw::of("b", &[4, 2], Domain::Positive)]),
        Sample::of(
            "cdist(a, b, #{compute_mode: \"use_mm_for_euclid_dist\"})",
            &[Draw::of("a", &[2, 3, 2], Domain::Above), Draw::of("b", &[4, 2], Domain::Inside)],
        ),
    ]),
];

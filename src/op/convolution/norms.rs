//! Pools that take the norm of each window.

use crate::base::{Error, Result};
use crate::op::core::def::{Args, DefaultValue, Domain, Draw, FUNCTIONAL, Family, OpDef, Sample};
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::{mul, scale};
use crate::op::elementwise::binary::pow;
use crate::op::elementwise::sign::{neg, sign};
use crate::op::elementwise::unary::{abs, relu};
use crate::tensor::Tensor;

use super::pooling::{avg_pool1d, avg_pool2d, max_pool1d, max_pool2d};
use super::volumes::{avg_pool3d, max_pool3d};
use super::windows::Pool;

/// The `p`-norm of each window over the last `dims` dimensions, of the sum of powers as it is: `(Σ x ** p) ** (1 / p)`.
/// Of `p` infinite the largest magnitude.
pub(crate) fn lp_pool(dims: usize, x: &Tensor, p: f64, pool: &Pool) -> Result<Tensor> {
    if p == 0.0 {
        return Err(Error::value("norm_type must be a non-zero value, but got 0"));
    }
    let largest = |x: &Tensor| match dims {
        1 => max_pool1d(x, pool),
        2 => Ok(max_pool2d(x, pool)?.0),
        _ => max_pool3d(x, pool),
    };
    if p.is_infinite() {
        let magnitudes = abs(x)?;
        return if p > 0.0 { largest(&magnitudes) } else { neg(&largest(&neg(&magnitudes)?)?) };
    }
    let powers = pow(x, p)?;
    let means = match dims {
        1 => avg_pool1d(&powers, pool),
        2 => avg_pool2d(&powers, pool),
        _ => avg_pool3d(&powers, pool),
    }?;
    let size = |d: usize| pool.size.get(d).or(pool.size.first()).copied().unwrap_or(1) as f64;
    let sums = scale(&mul(&sign(&means)?, &relu(&abs(&means)?)?)?, (0..dims).map(size).product())?;
    pow(&sums, 1.0 / p)
}

impl LpPoolParams<'_> {
    fn run(self, dims: usize) -> Result<Value> {
        let LpPoolParams { input, norm_type, .. } = self;
        lp_pool(dims, input, norm_type, &self.window.pool()).map(Value::from)
    }
}

impl LpWindowParams<'_> {
    pub(crate) fn pool(self) -> Pool {
        Pool {
            size: self.kernel_size,
            stride: Some(self.stride),
            padding: vec![0],
            dilation: vec![1],
            ceil_mode: self.ceil_mode,
            count_include_pad: true,
        }
    }
}

params! {
    pub(crate) group LpWindowParams {
        kernel_size: kind::Ints, "how large the window is, along all dimensions or along each";
        stride: kind::Ints => DefaultValue::Ints(&[]), "how far the window moves on; without it by its own size";
        ceil_mode: kind::Bool = false, "whether a last window that hangs over the edge counts too";
    }
}

params! {
    LpPoolParams {
        input: kind::Tensor, "what the window slides over, `[channels, …]` or a batch of them";
        norm_type: kind::Float, "which norm: 1 sums, 2 the root of squares, infinity the largest magnitude";
        ..window: LpWindowParams;
    }
}

const fn row(name: &'static str, summary: &'static str, run: fn(&Args) -> Result<Value>) -> OpDef {
    OpDef::call(name, Family::Convolution, summary, LpPoolParams::LIST, run)
        .forms(FUNCTIONAL)
        .details("`(Σ x ** p) ** (1 / p)`, where powers keep their signs: with an odd `p` they can cancel.")
        .errors(LP_ERRORS)
}

/// When such a pool fails.
pub(crate) const LP_ERRORS: &[&str] =
    &["ValueError: `norm_type` is 0", "RuntimeError: the input is smaller than the window", shapes::NO_FLOAT];

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    row(
        "lp_pool1d",
        "The norm of each window along the last dimension.",
        by_name!(LpPoolParams, |a| a.run(1)),
    )
    .shapes(shapes::AVG1D)
    .example("F::lp_pool1d(tensor([[3.0, 4.0, 6.0, 8.0]]), 2, 2)", "tensor([[ 5., 10.]])")
    .samples(&[Sample::of(
        "F::lp_pool1d(x, 2, 3, #{stride: 2})",
        &[Draw::of("x", &[2, 3, 7], Domain::Positive)],
    )]),
    row(
        "lp_pool2d",
        "The norm of each window of the last two dimensions.",
        by_name!(LpPoolParams, |a| a.run(2)),
    )
    .shapes(shapes::AVG2D)
    .example("F::lp_pool2d(tensor([[[1.0, 1.0], [1.0, 1.0]]]), 2, 2)", "tensor([[[2.]]])")
    .samples(&[Sample::of(
        "F::lp_pool2d(x, 3, [2, 3], #{stride: 1})",
        &[Draw::of("x", &[1, 2, 3, 4], Domain::Positive)],
    )]),
    row(
        "lp_pool3d",
        "The norm of each window of the last three dimensions.",
        by_name!(LpPoolParams, |a| a.run(3)),
    )
    .shapes(shapes::AVG3D)
    .example("F::lp_pool3d(ones([1, 2, 2, 2]), 1, 2)", "tensor([[[[8.]]]])")
    .samples(&[Sample::of("F::lp_pool3d(x, 2, 2)", &[Draw::of("x", &[1, 2, 2, 3], Domain::Positive)])]),
];

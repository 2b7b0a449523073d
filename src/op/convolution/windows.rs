//! How the windows of a pool lie, and what is made of their means: sums over a divisor, and means of whole numbers.

use crate::base::{Error, Result};
use crate::op::arrange::pad::constant;
use crate::op::elementwise::arithmetic::{mul, scale, whole_quotient};
use crate::tensor::Tensor;

use super::integers;

/// How a window moves, as a learner gives it: one number or one per dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    pub size: Vec<i64>,
    /// The window's size where it is absent.
    pub stride: Option<Vec<i64>>,
    pub padding: Vec<i64>,
    pub dilation: Vec<i64>,
    /// A last window that hangs over the edge counts too.
    pub ceil_mode: bool,
    /// Average pooling: zeros of the border count in the mean.
    pub count_include_pad: bool,
}

/// The mean of each window, or its sum over `divisor`.
pub(crate) fn divided(
    x: &Tensor,
    pool: &Pool,
    divisor: Option<i64>,
    dims: usize,
    mean: fn(&Tensor, &Pool) -> Result<Tensor>,
) -> Result<Tensor> {
    let Some(divisor) = divisor else { return mean(x, pool) };
    if divisor == 0 {
        return Err(Error::runtime("divisor must be not zero"));
    }
    let count = (0..dims).map(|d| along(&pool.size, d) as f64).product::<f64>();
    if integers::concerned(x) {
        return whole_means(x, pool, Some(divisor), dims, mean);
    }
    let (x, pool) = match border(x, pool, dims).filter(|_| pool.ceil_mode) {
        Some(border) => (constant(x, &border, 0i64.into())?, bare(pool)),
        None => (x.clone(), Pool { count_include_pad: true, ..pool.clone() }),
    };
    scale(&mean(&x, &pool)?, count / divisor as f64)
}

/// The means of whole numbers, or their sums over a divisor: sums are exact, and quotients lose their fraction once.
pub(super) fn whole_means(
    x: &Tensor,
    pool: &Pool,
    divisor: Option<i64>,
    dims: usize,
    mean: fn(&Tensor, &Pool) -> Result<Tensor>,
) -> Result<Tensor> {
    let Some(border) = border(x, pool, dims) else { return mean(x, pool) };
    let count: i64 = (0..dims).map(|d| along(&pool.size, d)).fold(1, i64::saturating_mul);
    let sums = |x: &Tensor| mean(&mul(x, count)?, &bare(pool));
    let total = sums(&constant(x, &border, 0i64.into())?)?;
    if let Some(divisor) = divisor {
        return whole_quotient(&total, divisor);
    }
    let ones = Tensor::full(x.shape(), 1i64.into(), x.dtype(), &x.context(), "avg_pool")?;
    let counted = if pool.count_include_pad {
        let padded: Vec<i64> = (0..dims).rev().flat_map(|d| [along(&pool.padding, d); 2]).collect();
        let over: Vec<i64> = border.iter().zip(&padded).map(|(b, p)| b - p).collect();
        constant(&constant(&ones, &padded, 1i64.into())?, &over, 0i64.into())?
    } else {
        constant(&ones, &border, 0i64.into())?
    };
    whole_quotient(&total, &sums(&counted)?)
}

/// How many windows of a reach fit between borders; by `ceil_mode` a last one that hangs over the edge counts too.
pub(super) fn fitting(size: usize, reach: usize, stride: usize, pad: usize, ceil_mode: bool) -> usize {
    let padded = size.saturating_add(2 * pad);
    let Some(room) = padded.checked_sub(reach) else { return usize::from(ceil_mode && padded > pad) };
    let full = room / stride + 1;
    let over = ceil_mode && !room.is_multiple_of(stride) && full * stride < size + pad;
    full + usize::from(over)
}

/// What an option says of one dimension.
fn along(values: &[i64], dim: usize) -> i64 {
    values.get(dim).or(values.first()).copied().unwrap_or(1)
}

/// A pool of whole windows, without a border of its own.
fn bare(pool: &Pool) -> Pool {
    Pool { padding: vec![0], ceil_mode: false, count_include_pad: true, ..pool.clone() }
}

/// The border that makes all windows whole, those of `ceil_mode` too that hang over the edge, as `constant` takes it.
/// None of what no pool takes, for the pool to say so.
fn border(x: &Tensor, pool: &Pool, dims: usize) -> Option<Vec<i64>> {
    let stride = pool.stride.as_deref().filter(|s| !s.is_empty()).unwrap_or(&pool.size);
    let sizes = x.rank().checked_sub(dims).and_then(|outer| x.shape().get(outer..))?;
    let mut border = Vec::new();
    for (dim, &size) in sizes.iter().enumerate().rev() {
        let (k, s, p, size) =
            (along(&pool.size, dim), along(stride, dim), along(&pool.padding, dim), size as i64);
        let most = 1 << 31;
        if !(1..most).contains(&k) || !(1..most).contains(&s) || !(0..=k / 2).contains(&p) {
            return None;
        }
        let count = fitting(size as usize, k as usize, s as usize, p as usize, pool.ceil_mode) as i64;
        if count == 0 {
            return None;
        }
        let over = ((count - 1) * s - (size + 2 * p - k)).max(0);
        border.extend([p, p + over]);
    }
    Some(border)
}

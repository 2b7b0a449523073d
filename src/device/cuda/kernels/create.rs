//! `Arange`, `Triangle` and `Random`: tensors made from the numbers of their elements.

use crate::base::{DType, Scalar};
use crate::device::kernel::{Distribution, Launch, Random, RandomSource, naturals};
use crate::device::philox;

use super::key::{Compute, Draw, Form};
use super::operands::{address, blocks, input, is_apart, key, output, per_element};
use super::walk::{Order, Walk};
use super::{Args, Plan, Step};

pub(super) fn arange(launch: &Launch, start: Scalar, step: Scalar) -> Option<Plan> {
    let y = output(launch, 0)?;
    let walk = Walk::of([Some(y.layout)], Order::Rows)?;
    let compute = Compute::of(y.dtype);
    let wide = walk.is_wide();
    let mut args = Args::new(wide);
    args.word(address(&y));
    if y.dtype.is_float() {
        args.double(start.as_f64()).double(step.as_f64());
    } else {
        args.long(start.as_i64()).long(step.as_i64());
    }
    args.walk(&walk);
    per_element(key(Form::Arange, compute, [y.dtype], wide), walk.count(), args)
}

pub(super) fn triangle(launch: &Launch, upper: bool, diagonal: i64) -> Option<Plan> {
    let y = output(launch, 0)?;
    let [.., rows, columns] = *y.layout.shape() else { return None };
    if !is_apart(launch, true) {
        return None;
    }
    let compute = Compute::of(y.dtype);
    if launch.inputs.is_empty() {
        let walk = Walk::of([Some(y.layout)], Order::Rows)?;
        let wide = walk.is_wide();
        let mut args = Args::new(wide);
        args.word(address(&y)).index(rows).index(columns).long(diagonal).walk(&walk);
        return per_element(key(Form::Eye, compute, [y.dtype], wide), walk.count(), args);
    }
    let x = input(launch, 0)?;
    let walk = Walk::of([Some(y.layout), Some(x.layout)], Order::Rows)?;
    let wide = walk.is_wide();
    let mut args = Args::new(wide);
    args.word(address(&y)).word(address(&x)).index(rows).index(columns).long(diagonal).walk(&walk);
    per_element(key(Form::Triangle { upper }, compute, [y.dtype, x.dtype], wide), walk.count(), args)
}

/// Draws from Philox. What needs an input, a sort, or numbers by row has no kernel.
pub(super) fn random(launch: &Launch, random: &Random) -> Option<Plan> {
    let y = output(launch, 0)?;
    let RandomSource::Philox { seed, offset, most } = random.source else { return None };
    let walk = Walk::of([Some(y.layout)], Order::Rows)?;
    let wide = walk.is_wide();
    let (n, per_call) = (walk.count() as u64, random.distribution.per_call(y.dtype));
    let threads = philox::threads(n, most);
    let work = match random.distribution {
        Distribution::Keep { vector, .. } if vector > 1 => n.div_ceil(vector),
        _ => threads.checked_mul(n.div_ceil(threads.checked_mul(per_call)?))?,
    };
    let mut args = Args::new(wide);
    args.word(address(&y));
    let (draw, r) = parameters(random.distribution, y.dtype, &mut args)?;
    args.double(r).word(seed).word(offset / 4).word(threads).word(work).walk(&walk);
    let form = Form::Random { draw, per_call: u8::try_from(per_call).ok()? };
    let key = key(form, Compute::of(y.dtype), [y.dtype], wide);
    let grid = [blocks(usize::try_from(work).ok()?, 256)?, 1, 1];
    Plan::of(Step { key, grid, block: [256, 1, 1], shared: 0, args })
}

/// The kind of number, and its parameters: two arguments, and the one that comes behind them.
fn parameters(distribution: Distribution, dtype: DType, args: &mut Args) -> Option<(Draw, f64)> {
    let double = dtype == DType::Float64;
    Some(match distribution {
        Distribution::Uniform { low, high } if double => {
            args.double(low).double(high - low);
            (Draw::Uniform, high)
        }
        Distribution::Uniform { low, high } => {
            let stored = stored(dtype);
            let (low, high) = (stored(low as f32), stored(high as f32));
            args.double(f64::from(low)).double(f64::from(stored(high - low)));
            (Draw::Uniform, f64::from(high))
        }
        Distribution::Normal { mean, std } => {
            args.double(mean).double(std);
            (Draw::Normal, 0.0)
        }
        Distribution::LogNormal { mean, std } => {
            args.double(mean).double(std);
            (Draw::LogNormal, 0.0)
        }
        Distribution::Bernoulli { p } => {
            args.double(if double { p } else { f64::from(p as f32) }).double(0.0);
            (Draw::Bernoulli, 0.0)
        }
        Distribution::Keep { p, wide, vector } => {
            args.double(if wide { p } else { f64::from(p as f32) }).double(vector as f64);
            (if vector > 1 { Draw::Keep } else { Draw::Bernoulli }, 0.0)
        }
        Distribution::Exponential { rate } => {
            let half = if double { f64::EPSILON / 2.0 } else { f64::from(f32::EPSILON / 2.0) };
            args.double(if double { -1.0 / rate } else { f64::from(-1.0 / rate as f32) }).double(half);
            (Draw::Exponential, 0.0)
        }
        Distribution::Cauchy { median, sigma } => {
            args.double(median).double(sigma);
            (Draw::Cauchy, f64::from(f32::EPSILON))
        }
        Distribution::Geometric { p } => {
            let below = if double { (-p).ln_1p() } else { f64::from((1.0 - p as f32).ln()) };
            args.double(below).double(0.0);
            (Draw::Geometric, 0.0)
        }
        Distribution::Integers { low, high } if low < high => {
            args.long(low).word(high.wrapping_sub(low) as u64);
            (Draw::Integers, 0.0)
        }
        Distribution::Natural => {
            args.long(0).word(naturals(dtype));
            (Draw::Integers, 0.0)
        }
        Distribution::Integers { .. }
        | Distribution::BernoulliEach
        | Distribution::Rows { .. }
        | Distribution::Permutation
        | Distribution::Poisson => return None,
    })
}

/// Rounds to what a tensor of `dtype` stores.
fn stored(dtype: DType) -> fn(f32) -> f32 {
    match dtype {
        DType::Float16 => |v| half::f16::from_f32(v).to_f32(),
        DType::BFloat16 => |v| half::bf16::from_f32(v).to_f32(),
        _ => |v| v,
    }
}

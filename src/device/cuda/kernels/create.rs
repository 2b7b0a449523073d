//! `Arange`, `Triangle` and `Random`: tensors made from the numbers of their elements.

use crate::base::{DType, Scalar};
use crate::device::kernel::{Distribution, Launch, Random, RandomSource, View, naturals};
use crate::device::philox;

use super::args::Args;
use super::cases::{all, floats};
use super::compute::{Compute, Types};
use super::form::{Field, forms};
use super::operands::{address, blocks, input, is_apart, key, output, per_element};
use super::plan::{Plan, Step};
use super::recipe::{BOTH, ON, Recipe, RecipeParts, WALK, flag, row};
use super::walk::{Order, Walk};

const CREATE: RecipeParts = &[WALK, "create"];
const RANDOM: RecipeParts = &[WALK, "random"];

forms! {
    /// What is made from the numbers of elements.
    CreateForm(types) {
        Arange => row("arange", 1, CREATE, [("ARANGE", ON), ("EXACT", exact(types))]), all(|d| [d]);
        Eye => row("eye", 1, CREATE, [("EYE", ON)]), all(|d| [d]);
        Triangle { upper: bool in BOTH } =>
            row(if upper { "triu" } else { "tril" }, 2, CREATE, [("UPPER", flag(upper))]),
            all(|d| [d; 2]);
        Random { draw: Draw in Draw::ALL, per_call: u8 in [2, 4] } =>
            drawing(types, draw, per_call, 1),
            all(|d| [d]).only(|d| draw.is_drawn(per_call, d));
        /// Draws what dropout keeps, and drops the rest.
        Dropout { draw: Draw in [Draw::Keep, Draw::Bernoulli] } =>
            drawing(types, draw, 4, 3).and("DROP", ON),
            floats(|d| [DType::Bool, d, d]).of(DType::Bool);
    }
}

/// How a number is made of random bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Draw {
    Uniform,
    Normal,
    LogNormal,
    Exponential,
    Cauchy,
    Geometric,
    Bernoulli,
    /// Bernoulli numbers, several neighbours to a thread.
    Keep,
    Integers,
}

impl Field for Draw {
    fn code(self) -> u8 {
        self as u8
    }

    fn of(code: u8) -> Draw {
        Draw::ALL.get(usize::from(code)).copied().unwrap_or(Draw::Uniform)
    }
}

impl Draw {
    const ALL: [Draw; 9] = {
        use Draw::*;
        [Uniform, Normal, LogNormal, Exponential, Cauchy, Geometric, Bernoulli, Keep, Integers]
    };

    /// Whether numbers of a dtype are made so many to a call of the generator.
    fn is_drawn(self, per_call: u8, dtype: DType) -> bool {
        let usual = if dtype == DType::Float64 { 2 } else { 4 };
        match self {
            Draw::Integers => true,
            Draw::Keep => per_call == 4 && dtype == DType::Bool,
            Draw::Geometric | Draw::Bernoulli => per_call == usual,
            _ => per_call == usual && dtype.is_float(),
        }
    }
}

fn drawing(types: &Types, draw: Draw, per_call: u8, operands: usize) -> Recipe {
    let (name, kind) = match draw {
        Draw::Uniform => ("uniform", "UNIFORM"),
        Draw::Normal => ("normal", "NORMAL"),
        Draw::LogNormal => ("log_normal", "LOG_NORMAL"),
        Draw::Bernoulli => ("bernoulli", "BERNOULLI"),
        Draw::Keep => ("keep", "KEEP"),
        Draw::Exponential => ("exponential", "EXPONENTIAL"),
        Draw::Cauchy => ("cauchy", "CAUCHY"),
        Draw::Geometric => ("geometric", "GEOMETRIC"),
        Draw::Integers => ("integers", "INTEGERS"),
    };
    let (p, q) =
        if draw == Draw::Integers { ("long long", "unsigned long long") } else { ("double", "double") };
    let name = if operands > 1 { format!("dropout_{name}") } else { format!("random_{name}_by_{per_call}") };
    row(name, operands, RANDOM, [(kind, ON)])
        .number("PER_CALL", per_call)
        .and("P", p)
        .and("Q", q)
        .and("STORED", if types.is_half() { "S0" } else { "Real" })
}

/// The type in which places of a range are counted.
fn exact(types: &Types) -> &'static str {
    if types.compute == Compute::I64 { "long long" } else { "double" }
}

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
    per_element(key(CreateForm::Arange, compute, [y.dtype], wide), walk.count(), args)
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
        return per_element(key(CreateForm::Eye, compute, [y.dtype], wide), walk.count(), args);
    }
    let x = input(launch, 0)?;
    let walk = Walk::of([Some(y.layout), Some(x.layout)], Order::Rows)?;
    let wide = walk.is_wide();
    let mut args = Args::new(wide);
    args.word(address(&y)).word(address(&x)).index(rows).index(columns).long(diagonal).walk(&walk);
    per_element(key(CreateForm::Triangle { upper }, compute, [y.dtype, x.dtype], wide), walk.count(), args)
}

/// Draws from Philox. What needs an input, a sort, or numbers by row has no kernel.
pub(super) fn random(launch: &Launch, random: &Random) -> Option<Plan> {
    if let (Some(kept), Some(y), Some(x)) = (output(launch, 0), output(launch, 1), input(launch, 0)) {
        return dropout(random, &kept, &y, &x);
    }
    let y = output(launch, 0)?;
    let RandomSource::Philox { seed, offset, most } = random.source else { return None };
    let walk = Walk::of([Some(y.layout)], Order::Rows)?;
    let wide = walk.is_wide();
    let (n, per_call) = (walk.count() as u64, random.distribution.per_call(y.dtype));
    let threads = philox::threads(n, most);
    let work = work(random.distribution, y.dtype, n, threads)?;
    let mut args = Args::new(wide);
    args.word(address(&y));
    let (draw, r) = parameters(random.distribution, y.dtype, &mut args)?;
    args.double(r).word(seed).word(offset / 4).word(threads).word(work).walk(&walk);
    let form = CreateForm::Random { draw, per_call: u8::try_from(per_call).ok()? };
    let key = key(form, Compute::of(y.dtype), [y.dtype], wide);
    let grid = [blocks(usize::try_from(threads).ok()?, 256)?, 1, 1];
    Plan::of(Step { key, grid, block: [256, 1, 1], shared: 0, args })
}

/// Draws what is kept of `x`, and what becomes of it.
fn dropout(random: &Random, kept: &View, y: &View, x: &View) -> Option<Plan> {
    let (RandomSource::Philox { seed, offset, most }, Distribution::Keep { p, .. }) =
        (&random.source, random.distribution)
    else {
        return None;
    };
    if x.dtype != y.dtype || !x.dtype.is_float() || kept.dtype != DType::Bool {
        return None;
    }
    let walk = Walk::of([Some(kept.layout), Some(y.layout), Some(x.layout)], Order::Rows)?;
    let (wide, threads) = (walk.is_wide(), philox::threads(walk.count() as u64, *most));
    let mut args = Args::new(wide);
    args.word(address(kept)).word(address(y)).word(address(x));
    let (draw, _) = parameters(random.distribution, kept.dtype, &mut args)?;
    args.double(1.0 / p).word(*seed).word(offset / 4).word(threads);
    args.word(work(random.distribution, kept.dtype, walk.count() as u64, threads)?).walk(&walk);
    let key =
        key(CreateForm::Dropout { draw }, Compute::of(kept.dtype), [kept.dtype, y.dtype, x.dtype], wide);
    let grid = [blocks(usize::try_from(threads).ok()?, 256)?, 1, 1];
    Plan::of(Step { key, grid, block: [256, 1, 1], shared: 0, args })
}

/// Elements, or runs of neighbours, that all threads together get.
fn work(distribution: Distribution, dtype: DType, n: u64, threads: u64) -> Option<u64> {
    match distribution {
        Distribution::Keep { vector, .. } if vector > 1 => Some(n.div_ceil(vector)),
        _ => threads.checked_mul(n.div_ceil(threads.checked_mul(distribution.per_call(dtype))?)),
    }
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

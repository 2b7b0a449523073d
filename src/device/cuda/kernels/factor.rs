//! What is left to do once a library took matrices apart.

use crate::base::DType;
use crate::device::kernel::View;

use super::args::Args;
use super::cases::floats;
use super::form::forms;
use super::operands::{THREADS, address, blocks, float, is_far, key, per_element};
use super::plan::{Plan, Step};
use super::recipe::{BOTH, ON, RecipeParts, WALK, ending, flag, row};

const FACTOR: RecipeParts = &[WALK, "factor"];

/// Rows whose order is found in shared memory.
const KEPT: usize = 4096;

forms! {
    /// What ends factorisations.
    FactorForm(types) {
        Triangle => row("factor_triangle", 1, FACTOR, [("TRIANGLE", ON)]), full(1);
        Watched => row("factor_watched", 1, FACTOR, [("WATCHED", ON)]), full(1);
        Rows => row("factor_rows", 1, FACTOR, [("ROWS", ON)]), full(1);
        Order { kept: bool in BOTH } =>
            row(ending("factor_order", "_kept", kept), 2, FACTOR, [("KEPT", flag(kept))]),
            full(2);
    }
}

fn full(operands: usize) -> super::cases::Cases {
    floats(move |d| vec![d; operands]).only(|d| matches!(d, DType::Float32 | DType::Float64))
}

/// Zeros above the diagonals of `[.., n, n]` matrices in place, and NaN from the column on, counted from 1, that the
/// number of each at `failed` says, where it is not 0.
pub(crate) fn triangle(y: &View, failed: u64) -> Option<Plan> {
    let (count, wide) = (y.layout.numel(), is_far(&[y.layout]));
    let mut args = Args::new(wide);
    args.word(address(y)).word(failed).index(count).index(y.layout.shape().last().copied()?);
    per_element(key(FactorForm::Triangle, float(y.dtype)?, [y.dtype], wide), count, args)
}

/// For each of `count` matrices behind each other from `a`, `each` elements large, 1 at `lost` where it holds what is
/// infinite or NaN, else 0.
pub(crate) fn watched(a: u64, dtype: DType, [count, each]: [usize; 2], lost: u64) -> Option<Plan> {
    let wide = i32::try_from(count.checked_mul(each)?).is_err();
    let mut args = Args::new(wide);
    args.word(a).word(lost).index(each);
    Plan::of(Step {
        key: key(FactorForm::Watched, float(dtype)?, [dtype], wide),
        grid: [blocks(count, 1)?, 1, 1],
        block: [THREADS as u32, 1, 1],
        shared: 0,
        args,
    })
}

/// Where of `count` numbers at `chosen`, `n` to a matrix, one is no row's, which may be where it holds NaN: the row that
/// the step began with.
pub(crate) fn rows(dtype: DType, chosen: u64, [count, n]: [usize; 2]) -> Option<Plan> {
    let wide = i32::try_from(count).is_err();
    let mut args = Args::new(wide);
    args.word(chosen).index(count).index(n);
    per_element(key(FactorForm::Rows, float(dtype)?, [dtype], wide), count, args)
}

/// For each step of an elimination the row that it chose, of `[.., steps]` numbers at `chosen`, and the order of the rows
/// that comes of it.
pub(crate) fn order(pivots: &View, order: &View, chosen: u64) -> Option<Plan> {
    let (Some(&steps), Some(&rows)) = (pivots.layout.shape().last(), order.layout.shape().last()) else {
        return None;
    };
    let wide = is_far(&[pivots.layout, order.layout]);
    let mut args = Args::new(wide);
    args.word(address(pivots)).word(address(order)).word(chosen).index(steps).index(rows);
    let form = FactorForm::Order { kept: rows <= KEPT };
    Plan::of(Step {
        key: key(form, float(pivots.dtype)?, [pivots.dtype, order.dtype], wide),
        grid: [blocks(order.layout.numel() / rows.max(1), 1)?, 1, 1],
        block: [THREADS as u32, 1, 1],
        shared: 0,
        args,
    })
}

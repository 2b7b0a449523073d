//! Copies whose neighbours in one operand are far apart in the other, such as that of a transposed matrix.

use crate::base::DType;
use crate::device::kernel::View;

use super::args::Args;
use super::cases::all;
use super::compute::Compute;
use super::form::forms;
use super::operands::{address, blocks, key};
use super::plan::{Plan, Step};
use super::recipe::{WALK, row};
use super::walk::{Order, Walk};

forms! {
    /// Elements of one size, whatever they stand for.
    TurnForm(types) {
        Tiles => row("turn", 2, &[WALK, "turn"], []), all(|d| [d; 2]).only(|d| d == word(d));
    }
}

/// Elements along each side of the tile that a block moves.
const TILE: usize = 64;
/// Sides from which on tiles are worth it.
const FEW: usize = 16;

/// The copy of a view to one of its dtype and shape, apart from it. None where neighbours of one are near in the other.
pub(super) fn plan(input: &View, output: &View) -> Option<Plan> {
    if input.dtype != output.dtype {
        return None;
    }
    let walk = Walk::of([Some(output.layout), Some(input.layout)], Order::Memory)?;
    // Where neighbours of each lie.
    let along = |operand: usize| (0..walk.rank()).find(|&d| walk.step(d, operand) == 1);
    let (near, far) = (along(0)?, along(1)?);
    let (width, height) = (walk.size(near), walk.size(far));
    if near == far || width.min(height) < FEW {
        return None;
    }
    let others = (0..walk.rank()).rev().filter(|&d| d != near && d != far);
    let rest = Walk::new(others.map(|d| (walk.size(d), [walk.step(d, 0), walk.step(d, 1)])), Order::Rows)?;
    let (across, down) = (width.div_ceil(TILE), height.div_ceil(TILE));
    let wide = walk.is_wide();
    let mut args = Args::new(wide);
    args.word(address(output)).word(address(input)).index(width).index(height);
    args.step(walk.step(far, 0)).step(walk.step(near, 1)).index(across).index(down).walk(&rest);
    let (dtype, grid) = (word(input.dtype), blocks(across.checked_mul(down)?.checked_mul(rest.count())?, 1)?);
    let key = key(TurnForm::Tiles, Compute::of(dtype), [dtype; 2], wide);
    Plan::of(Step { key, grid: [grid, 1, 1], block: [256, 1, 1], shared: 0, args })
}

/// The integers of an element's size.
fn word(dtype: DType) -> DType {
    match dtype.size() {
        1 => DType::UInt8,
        2 => DType::Int16,
        4 => DType::Int32,
        _ => DType::Int64,
    }
}

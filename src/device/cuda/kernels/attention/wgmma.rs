//! Attention by products of warpgroups (`kernels/attention_wgmma.cuh`).

use crate::device::cuda::kernels::args::Args;
use crate::device::cuda::kernels::compute::Compute;
use crate::device::cuda::kernels::form::Form;
use crate::device::cuda::kernels::operands::{address, blocks, key};
use crate::device::cuda::kernels::plan::{Gpu, Step};
use crate::device::cuda::kernels::recipe::{ON, Recipe, RecipeParts, WALK, flag, row};
use crate::device::cuda::kernels::tensor_map::TensorMap;
use crate::device::kernel::View;

use super::shape::{AttentionShape, row_step};

const PARTS: RecipeParts = &[WALK, "tensor_core", "wgmma", "attention_wgmma"];

/// Warpgroups that multiply, and rows that they have together.
const GROUPS: usize = 2;
const ROWS: usize = GROUPS * 64;
const GROUP: usize = 128;
const BARRIER: usize = 8;

/// How the operand that comes in tiles is cut.
#[derive(Clone, Copy)]
struct Tiles {
    rows: usize,
    /// Tiles that there is room for.
    stages: usize,
}

const fn forward_tiles(large: bool) -> Tiles {
    if large { Tiles { rows: 160, stages: 2 } } else { Tiles { rows: 128, stages: 3 } }
}

const fn backward_tiles(large: bool, by_keys: bool) -> Tiles {
    match (large, by_keys) {
        (false, _) => Tiles { rows: 64, stages: 3 },
        (true, true) => Tiles { rows: 64, stages: 2 },
        (true, false) => Tiles { rows: 96, stages: 2 },
    }
}

pub(super) fn forward_recipe(large: bool) -> Recipe {
    recipe("attention", large, forward_tiles(large)).and("FORWARD", ON)
}

pub(super) fn backward_recipe(large: bool, by_keys: bool) -> Recipe {
    let name = if by_keys { "attention_grad_keys" } else { "attention_grad_queries" };
    recipe(name, large, backward_tiles(large, by_keys)).and("BY_KEYS", flag(by_keys))
}

fn recipe(name: &str, large: bool, tiles: Tiles) -> Recipe {
    let name = format!("{name}_wgmma{}", if large { "_128" } else { "" });
    row(name, 4, PARTS, [("WIDTH", if large { "128" } else { "64" })])
        .number("TILE", tiles.rows as u8)
        .number("STAGES", tiles.stages as u8)
}

/// Whether there is such a kernel for a shape on a device.
pub(super) fn serves(gpu: &Gpu, shape: &AttentionShape) -> bool {
    gpu.wgmma && [64, 128].contains(&shape.width) && shape.walk.rank() <= 3
}

/// A map of an operand's matrices, of which so many rows are copied at once.
fn map(shape: &AttentionShape, operand: usize, rows: usize) -> Option<TensorMap> {
    let view = shape.views.get(operand)?;
    let count = *view.layout.shape().iter().rev().nth(1)?;
    let other = |d| (shape.walk.size(d), shape.walk.step(d, operand));
    let dims = [(count, row_step(view)), other(0), other(1), other(2)];
    TensorMap::new(view.dtype, address(view), shape.width, dims, rows as u32)
}

fn step(
    shape: &AttentionShape,
    form: impl Into<Form>,
    rows: usize,
    groups: usize,
    shared: usize,
    args: Args,
) -> Option<Step> {
    Some(Step {
        key: key(form, Compute::F32, [shape.views.first()?.dtype], true),
        grid: [blocks(rows.div_ceil(ROWS).checked_mul(shape.batch)?, 1)?, 1, 1],
        block: [(groups * GROUP) as u32, 1, 1],
        shared: shared as u32,
        args,
    })
}

/// The forward pass; `None` where tensor maps can't tell how the operands lie.
pub(super) fn forward(
    form: impl Into<Form>,
    shape: &AttentionShape,
    [y, lse]: [&View; 2],
    causal: bool,
    scale: f64,
) -> Option<Step> {
    let large = shape.large();
    let tiles = forward_tiles(large);
    let mut args = Args::new(true);
    args.word(address(y)).word(address(lse));
    sizes(shape, &mut args, causal, scale);
    args.step(row_step(y)).walk(&shape.walk);
    args.tensor_map(map(shape, 0, ROWS)?);
    args.tensor_map(map(shape, 1, tiles.rows)?).tensor_map(map(shape, 2, tiles.rows)?);
    let shared = (ROWS + 2 * tiles.stages * tiles.rows) * shape.width * 2 + (1 + 4 * tiles.stages) * BARRIER;
    // Of 128 halves a row, one warpgroup more copies.
    let groups = GROUPS + usize::from(large);
    step(shape, form, shape.queries, groups, shared, args)
}

/// A pass of the gradient, by keys or by queries; `None` as of the forward pass.
pub(super) fn backward(
    form: impl Into<Form>,
    shape: &AttentionShape,
    by_keys: bool,
    to: [u64; 2],
    [lse, deltas]: [u64; 2],
    causal: bool,
    scale: f64,
) -> Option<Step> {
    let large = shape.large();
    let tiles = backward_tiles(large, by_keys);
    let mut args = Args::new(true);
    args.word(to[0]).word(to[1]).word(lse).word(deltas);
    sizes(shape, &mut args, causal, scale);
    args.walk(&shape.walk);
    // Queries and the output's gradient, or keys and values.
    let (by_rows, in_tiles) = if by_keys { ([1, 2], [0, 3]) } else { ([0, 3], [1, 2]) };
    for operand in by_rows {
        args.tensor_map(map(shape, operand, ROWS)?);
    }
    for operand in in_tiles {
        args.tensor_map(map(shape, operand, tiles.rows)?);
    }
    let numbers = tiles.stages * tiles.rows * 2 * 4;
    let matrices = 2 * (ROWS + tiles.stages * tiles.rows) * shape.width * 2;
    let shared = matrices + numbers + (1 + 2 * tiles.stages) * BARRIER;
    let rows = if by_keys { shape.keys } else { shape.queries };
    step(shape, form, rows, GROUPS + 1, shared, args)
}

fn sizes(shape: &AttentionShape, args: &mut Args, causal: bool, scale: f64) {
    args.int(shape.queries as i32).int(shape.keys as i32).int(i32::from(causal));
    args.parameter(Compute::F32, scale);
}

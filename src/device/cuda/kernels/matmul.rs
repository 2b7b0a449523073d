//! `Matmul` without a library: a tiled product.

use crate::device::kernel::{Arg, Launch, View};

use super::args::Args;
use super::cases::{all, is_float32};
use super::compute::{Compute, SLOTS, Slot, Types};
use super::form::forms;
use super::key::Key;
use super::operands::{address, blocks, input, is_apart, is_far, output};
use super::plan::{Plan, Step};
use super::recipe::{self, RecipeParts, WALK, row};
use super::walk::{Order, Walk};

const MATMUL: RecipeParts = &[WALK, recipe::TILE, "matmul"];

forms! {
    /// Products of matrices.
    MatmulForm(types) {
        Tiled =>
            row("matmul", 4, MATMUL, []),
            all(|d| [d; 4]).and(all(|d| [d; 4]).number(3).wide(is_float32));
    }
}

/// Rows and columns of a block's tile.
pub(crate) const TILE: usize = 64;
/// Threads of a block.
pub(super) const THREADS: u32 = 256;
/// The most blocks along a grid's second and third axis.
pub(crate) const GRID: usize = 65_535;

pub(crate) fn plan(launch: &Launch, alpha: f64, beta: f64) -> Option<Plan> {
    let (a, b, y) = (input(launch, 0)?, input(launch, 1)?, output(launch, 0)?);
    let addend = launch.inputs.get(2).filter(|_| beta != 0.0);
    let c = if let Some(Arg::View(c)) = addend { Some(*c) } else { None };
    let compute = Compute::of(y.dtype);
    // Each element of `c` is read by the thread that writes its place; the factors must lie elsewhere.
    let factors = Launch { inputs: launch.inputs.get(..2)?, ..*launch };
    if !is_apart(launch, true) || !is_apart(&factors, false) {
        return None;
    }
    let (a_core, b_core, y_core) = (core(&a)?, core(&b)?, core(&y)?);
    let ([m, k], [k2, n]) = (a_core.0, b_core.0);
    let c_core = c.as_ref().map(core);
    let c_core = match c_core {
        Some(core) => core?,
        None => ([m, n], [0, 0]),
    };
    if k != k2 || y_core.0 != [m, n] || c_core.0 != [m, n] {
        return None;
    }
    let batches = batches([Some(&y), Some(&a), Some(&b), c.as_ref()])?;
    let mut wide = batches.is_wide();
    for view in [Some(&a), Some(&b), Some(&y), c.as_ref()].into_iter().flatten() {
        wide |= is_far(&[view.layout]);
    }
    let mut args = Args::new(wide);
    args.word(address(&y)).word(address(&a)).word(address(&b));
    match addend {
        Some(Arg::View(c)) => args.word(address(c)),
        Some(Arg::Scalar(value)) => args.number(compute, *value),
        None => args.word(0),
    };
    args.parameter(compute, alpha).parameter(compute, beta).int(i32::from(addend.is_some())).structure();
    for size in [m, n, k, 0] {
        args.member(size as u64);
    }
    for steps in [y_core.1, a_core.1, b_core.1, c_core.1] {
        for step in steps {
            args.member(step as u64);
        }
    }
    args.walk(&batches);
    let mut slots = [Slot::Empty; SLOTS];
    let last = c.map_or(Slot::Number, |c| Slot::Of(c.dtype));
    for (slot, what) in slots.iter_mut().zip([Slot::Of(y.dtype), Slot::Of(a.dtype), Slot::Of(b.dtype), last])
    {
        *slot = what;
    }
    let key = Key { form: MatmulForm::Tiled.into(), types: Types { compute, slots, wide } };
    let rows = blocks(m, TILE).filter(|&r| r as usize <= GRID)?;
    let grid = [blocks(n, TILE)?, rows, batches.count().min(GRID) as u32];
    Plan::of(Step { key, grid, block: [THREADS, 1, 1], shared: 0, args })
}

/// The sizes and steps of a matrix, which are the last two dimensions.
fn core(view: &View) -> Option<([usize; 2], [isize; 2])> {
    match (view.layout.shape(), view.layout.strides()) {
        (&[.., rows, columns], &[.., row, column]) => Some(([rows, columns], [row, column])),
        _ => None,
    }
}

/// The dimensions before the matrices, of one shape in all operands.
fn batches(views: [Option<&View>; 4]) -> Option<Walk<4>> {
    let first = views.iter().flatten().next()?;
    let rank = first.layout.rank().checked_sub(2)?;
    let shape = first.layout.shape().get(..rank)?;
    if views
        .iter()
        .flatten()
        .any(|v| v.layout.rank() != rank + 2 || v.layout.shape().get(..rank) != Some(shape))
    {
        return None;
    }
    let steps = |d: usize| views.map(|v| v.and_then(|v| v.layout.strides().get(d)).copied().unwrap_or(0));
    Walk::new(shape.iter().enumerate().map(|(d, &n)| (n, steps(d))), Order::Memory)
}

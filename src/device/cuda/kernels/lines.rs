//! What goes line by line: `Softmax`, `Scan`, `LayerNorm` and their gradients.

use crate::base::{DType, Layout};
use crate::device::kernel::{Launch, ScanOp, SoftmaxForm, View};

use super::args::{Args, compute_size};
use super::cases::{all, floats, is_float32};
use super::compute::{Compute, Types};
use super::form::{Field, forms};
use super::map::zeros;
use super::operands::{THREADS, address, blocks, float, input, is_apart, is_far, key, output, per_element};
use super::plan::{Gpu, Plan, Step};
use super::recipe::{BOTH, GROUP, OFF, ON, Recipe, RecipeParts, WALK, ending, flag, row};
use super::reduce::{across, along};
use super::walk::{Order, Walk};

const SOFTMAX: RecipeParts = &[WALK, GROUP, "softmax"];
const LAYER_NORM: RecipeParts = &[GROUP, "layer_norm"];
const SCAN: RecipeParts = &[WALK, "scan"];

forms! {
    /// What goes line by line. `across` forms work where neighbouring lines are nearer than neighbours on a line.
    LineForm(types) {
        Softmax { form: SoftmaxForm in EACH, across: bool in BOTH, held: u8 in [HELD, MANY] } =>
            row(softmax_name("softmax", form, across, held), 2, SOFTMAX, [
                ("LOGARITHM", flag(form == SoftmaxForm::Log)),
                ("SAFE", flag(form == SoftmaxForm::Safe)),
                ("ACROSS", flag(across)),
            ])
            .number("HELD", held),
            floats(|d| [d; 2])
                .and_wide(|d| across && is_float32(d) && form != SoftmaxForm::Safe)
                .only(|_| held == HELD || !across);
        SoftmaxGrad { log: bool in BOTH, across: bool in BOTH } =>
            row(softmax_name("softmax_grad", logarithm(log), across, HELD), 3, SOFTMAX, [
                ("GRADIENT", ON),
                ("LOGARITHM", flag(log)),
                ("ACROSS", flag(across)),
            ]),
            floats(|d| [d; 3]);
        LayerNorm =>
            row("layer_norm", 3, LAYER_NORM, [("FORWARD", ON), ("ACROSS", OFF)]),
            floats(|d| [d; 6]);
        LayerNormByInput =>
            row("layer_norm_grad", 3, LAYER_NORM, [("BY_INPUT", ON), ("ACROSS", OFF)]),
            floats(|d| [d; 6]);
        LayerNormByParameters =>
            row("layer_norm_grad_parameters", 3, LAYER_NORM, [("BY_PARAMETERS", ON), ("ACROSS", ON)]),
            floats(|d| [d; 4]);
        LayerNormJoin =>
            row("layer_norm_grad_join", 3, LAYER_NORM, [("ACROSS", ON)]),
            floats(|d| [d; 2]);
        Scan { product: bool in BOTH, across: bool in BOTH } =>
            scanning(types, product, if across { "_across" } else { "" }).and("ACROSS", flag(across)),
            all(|d| [d; 2]);
        /// A block to each tile of a line.
        ScanTiles { product: bool in BOTH } =>
            scanning(types, product, "_tiles").and("TILES", ON),
            all(|d| [d; 2]).and_wide(is_float32);
    }
}

/// Elements of a line that a thread of a softmax keeps, and as many for lines that would not fit otherwise.
const HELD: u8 = 8;
const MANY: u8 = 32;

const EACH: [SoftmaxForm; 3] = [SoftmaxForm::Plain, SoftmaxForm::Log, SoftmaxForm::Safe];

impl Field for SoftmaxForm {
    fn code(self) -> u8 {
        self as u8
    }

    fn of(code: u8) -> SoftmaxForm {
        EACH.get(usize::from(code)).copied().unwrap_or(SoftmaxForm::Plain)
    }
}

fn logarithm(log: bool) -> SoftmaxForm {
    if log { SoftmaxForm::Log } else { SoftmaxForm::Plain }
}

fn softmax_name(name: &str, form: SoftmaxForm, across: bool, held: u8) -> String {
    let beginning = match form {
        SoftmaxForm::Plain => "",
        SoftmaxForm::Log => "log_",
        SoftmaxForm::Safe => "safe_",
    };
    let name = ending(&format!("{beginning}{name}"), "_across", across);
    ending(&name, "_many", held == MANY)
}

fn scanning(types: &Types, product: bool, part: &str) -> Recipe {
    let accumulator = match types.compute {
        Compute::I64 => "long long",
        Compute::F32 if types.is_half() => "float",
        _ => "double",
    };
    let (name, run, start) = if product { ("cumprod", "times", "1") } else { ("cumsum", "plus", "0") };
    let defines = [("ACCUMULATOR", accumulator), ("RUN", run), ("START", start)];
    row(format!("{name}{part}"), 2, SCAN, defines)
}

/// The lines of operands of one shape along a dimension.
pub(super) struct OperandLines<const N: usize> {
    /// Where the lines begin.
    pub others: Walk<N>,
    pub length: usize,
    /// From one element of a line to the next, of each operand.
    pub steps: [isize; N],
    /// Neighbouring lines lie closer than neighbours on a line.
    across: bool,
    pub wide: bool,
}

impl<const N: usize> OperandLines<N> {
    pub(super) fn new(layouts: [&Layout; N], dim: usize) -> Option<OperandLines<N>> {
        let shape = layouts.first()?.shape();
        if layouts.iter().any(|l| l.shape() != shape) {
            return None;
        }
        let steps = |d: usize| layouts.map(|l| l.strides().get(d).copied().unwrap_or(0));
        let others = shape.iter().enumerate().filter(|&(d, _)| d != dim).map(|(d, &n)| (n, steps(d)));
        let others = Walk::new(others, Order::Memory)?;
        let length = shape.get(dim).copied().unwrap_or(1);
        let steps = steps(dim);
        let near = others.step(0, 0).unsigned_abs();
        let across = others.rank() > 0 && length > 1 && near < steps.first()?.unsigned_abs();
        Some(OperandLines { others, length, steps, across, wide: is_far(&layouts) })
    }

    /// Puts the addresses, the length, the steps and the walk.
    fn args(&self, views: [&View; N]) -> Args {
        let mut args = Args::new(self.wide);
        for view in views {
            args.word(address(view));
        }
        args.index(self.length);
        for step in self.steps {
            args.step(step);
        }
        args.walk(&self.others);
        args
    }

    fn step(&self, gpu: &Gpu, form: LineForm, compute: Compute, views: [&View; N]) -> Option<Plan> {
        let (block, lines) =
            if self.across { across(gpu, self.others.count(), self.length) } else { along(self.length, 8) };
        let key = key(form, compute, views.map(|v| v.dtype), self.wide);
        let grid = [blocks(self.others.count(), lines)?, 1, 1];
        Plan::of(Step { key, grid, block, shared: 0, args: self.args(views) })
    }
}

pub(super) fn softmax(launch: &Launch, gpu: &Gpu, form: SoftmaxForm, dim: usize) -> Option<Plan> {
    let (y, x) = (output(launch, 0)?, input(launch, 0)?);
    let compute = float(y.dtype)?;
    if !is_apart(launch, true) {
        return None;
    }
    let lines = OperandLines::new([y.layout, x.layout], dim)?;
    let many = !lines.across && (8 * 1024..=32 * 512).contains(&lines.length) && compute == Compute::F32;
    let held = if many { MANY } else { HELD };
    let form = LineForm::Softmax { form, across: lines.across, held };
    let mut plan = lines.step(gpu, form, compute, [&y, &x])?;
    if many {
        // Two blocks to a multiprocessor: one reads while the other computes.
        plan.steps.iter_mut().for_each(|step| step.block = [512, 1, 1]);
    }
    Some(plan)
}

pub(super) fn softmax_grad(launch: &Launch, gpu: &Gpu, log: bool, dim: usize) -> Option<Plan> {
    let (dx, dy, y) = (output(launch, 0)?, input(launch, 0)?, input(launch, 1)?);
    let compute = float(dx.dtype)?;
    if !is_apart(launch, true) {
        return None;
    }
    let lines = OperandLines::new([dx.layout, dy.layout, y.layout], dim)?;
    lines.step(gpu, LineForm::SoftmaxGrad { log, across: lines.across }, compute, [&dx, &dy, &y])
}

/// How the lines of a running sum are cut, by the sizes and the device alone.
struct ScanShape {
    lines: OperandLines<2>,
    /// The tiles of each line, where a block to a line would leave multiprocessors without work.
    tiles: Option<usize>,
}

impl ScanShape {
    /// Elements of a tile of `kernels/scan.cuh`, and tiles that tell together what they come to.
    const TILE: usize = 4096;
    const GROUP: usize = 32;

    fn new(launch: &Launch, gpu: &Gpu, dim: usize) -> Option<ScanShape> {
        let (y, x) = (output(launch, 0)?, input(launch, 0)?);
        let mut lines = OperandLines::new([y.layout, x.layout], dim)?;
        let (count, processors) = (lines.others.count(), gpu.multiprocessors as usize);
        lines.across &= count >= processors * 64 || lines.length < 64;
        // So many blocks that few multiprocessors wait for the last.
        let few = !lines.across && count < processors * 32 && lines.length >= 2 * ScanShape::TILE;
        let tiles = few.then(|| lines.length.div_ceil(ScanShape::TILE));
        Some(ScanShape { lines, tiles })
    }

    /// Words of 32 bits in which tiles tell each other what they come to; see `work` of `kernels/scan.cuh`.
    fn told(&self) -> usize {
        let of_line = |tiles: usize| 4 * (1 + tiles + tiles.div_ceil(ScanShape::GROUP));
        self.lines.others.count() * self.tiles.map_or(0, of_line)
    }
}

pub(super) fn scan_scratch(launch: &Launch, gpu: &Gpu, dim: usize) -> usize {
    ScanShape::new(launch, gpu, dim).map_or(0, |shape| shape.told() * 4)
}

pub(super) fn scan(launch: &Launch, gpu: &Gpu, scratch: u64, op: ScanOp, dim: usize) -> Option<Plan> {
    let (y, x) = (output(launch, 0)?, input(launch, 0)?);
    if !is_apart(launch, true) || matches!(op, ScanOp::Largest | ScanOp::Smallest) {
        return None;
    }
    let shape = ScanShape::new(launch, gpu, dim)?;
    let (lines, product) = (&shape.lines, op == ScanOp::Prod);
    let count = lines.others.count();
    let key = |form| key(form, Compute::of(y.dtype), [y.dtype, x.dtype], lines.wide);
    if lines.across {
        let key = key(LineForm::Scan { product, across: true });
        return per_element(key, count, lines.args([&y, &x]));
    }
    if count == 0 || lines.length == 0 {
        return Some(Plan::default());
    }
    let Some(tiles) = shape.tiles else {
        let threads = lines.length.div_ceil(8).next_power_of_two().clamp(32, 256) as u32;
        let (key, grid) = (key(LineForm::Scan { product, across: false }), [blocks(count, 1)?, 1, 1]);
        return Plan::of(Step { key, grid, block: [threads, 1, 1], shared: 0, args: lines.args([&y, &x]) });
    };
    let mut plan = zeros(scratch, shape.told())?;
    let ([y_step, x_step], mut args) = (lines.steps, Args::new(lines.wide));
    args.word(address(&y)).word(address(&x)).word(scratch).index(lines.length).step(y_step).step(x_step);
    args.index(tiles).walk(&lines.others);
    let (key, grid) = (key(LineForm::ScanTiles { product }), [blocks(count * tiles, 1)?, 1, 1]);
    plan.steps.push(Step { key, grid, block: [THREADS as u32, 1, 1], shared: 0, args });
    Some(plan)
}

/// The rows and columns of an operand, and its steps from row to row and along one.
fn matrix(view: &View) -> Option<([usize; 2], [isize; 2])> {
    match (view.layout.shape(), view.layout.strides()) {
        (&[rows, n], &[row, step]) => Some(([rows, n], [row, step])),
        _ => None,
    }
}

/// A vector of `n` elements: its address and step; a missing one is at 0.
fn vector(view: Option<&View>, n: usize) -> Option<(u64, isize)> {
    let Some(view) = view else { return Some((0, 0)) };
    match (view.layout.shape(), view.layout.strides()) {
        (&[size], &[step]) if size == n => Some((address(view), step)),
        _ => None,
    }
}

/// The dtype of a view, or one in the place of none.
fn dtype_or(view: Option<&View>, other: DType) -> DType {
    view.map_or(other, |v| v.dtype)
}

pub(super) fn layer_norm(launch: &Launch, eps: f64) -> Option<Plan> {
    let (y, mean, rstd, x) = (output(launch, 0)?, output(launch, 1)?, output(launch, 2)?, input(launch, 0)?);
    let compute = float(y.dtype)?;
    let ([rows, n], [x_row, x_step]) = matrix(&x)?;
    let (shape, [y_row, y_step]) = matrix(&y)?;
    if shape != [rows, n] || !is_apart(launch, true) {
        return None;
    }
    let (weight, bias) = (input(launch, 1), input(launch, 2));
    let (to_mean, to_rstd) = (vector(Some(&mean), rows)?, vector(Some(&rstd), rows)?);
    let (by, plus) = (vector(weight.as_ref(), n)?, vector(bias.as_ref(), n)?);
    let wide = is_far(&[x.layout, y.layout]);
    let mut args = Args::new(wide);
    args.word(address(&y)).word(to_mean.0).word(to_rstd.0).word(address(&x)).word(by.0).word(plus.0);
    args.index(rows).index(n);
    for step in [y_row, y_step, to_mean.1, to_rstd.1, x_row, x_step, by.1, plus.1] {
        args.step(step);
    }
    args.parameter(compute, eps);
    let others = [dtype_or(weight.as_ref(), x.dtype), dtype_or(bias.as_ref(), x.dtype)];
    let [weight, bias] = others;
    let key =
        key(LineForm::LayerNorm, compute, [y.dtype, mean.dtype, rstd.dtype, x.dtype, weight, bias], wide);
    let (block, lines) = along(n, 8);
    Plan::of(Step { key, grid: [blocks(rows, lines)?, 1, 1], block, shared: 0, args })
}

pub(crate) fn scratch_bytes(launch: &Launch, gpu: &Gpu) -> usize {
    let (Some(x), Some(dx)) = (input(launch, 1), output(launch, 0)) else { return 0 };
    let Some(([rows, n], _)) = matrix(&x) else { return 0 };
    if launch.outputs.len() < 2 {
        return 0;
    }
    let parts = rows.div_ceil(part_of_rows(gpu, rows, n));
    2 * parts.max(1) * n * compute_size(Compute::of(dx.dtype))
}

/// Rows whose gradients by the parameters are summed together.
fn part_of_rows(gpu: &Gpu, rows: usize, n: usize) -> usize {
    let wanted = (gpu.multiprocessors as usize * 4 / n.div_ceil(32).max(1)).max(1);
    let parts = wanted.min(rows / 64).clamp(1, 1024);
    rows.div_ceil(parts).max(1)
}

pub(crate) fn layer_norm_grad(launch: &Launch, gpu: &Gpu, scratch: u64, affine: bool) -> Option<Plan> {
    let (dy, x, dx) = (input(launch, 0)?, input(launch, 1)?, output(launch, 0)?);
    let (mean, rstd) = (input(launch, 2)?, input(launch, 3)?);
    let weight = if affine { input(launch, 4) } else { None };
    let compute = float(dx.dtype)?;
    let ([rows, n], [x_row, x_step]) = matrix(&x)?;
    let (dy_shape, [dy_row, dy_step]) = matrix(&dy)?;
    let (dx_shape, [dx_row, dx_step]) = matrix(&dx)?;
    // The parameters' sums come after `dx` is written, which must not lie in the place of what they read.
    let in_place = launch.outputs.len() < 2;
    if dy_shape != [rows, n] || dx_shape != [rows, n] || !is_apart(launch, in_place) {
        return None;
    }
    let (m, r) = (vector(Some(&mean), rows)?, vector(Some(&rstd), rows)?);
    let by = vector(weight.as_ref(), n)?;
    let wide = is_far(&[x.layout, dy.layout, dx.layout]);
    let mut args = Args::new(wide);
    args.word(address(&dx)).word(address(&dy)).word(address(&x)).word(m.0).word(r.0).word(by.0);
    args.index(rows).index(n);
    for step in [dx_row, dx_step, dy_row, dy_step, x_row, x_step, m.1, r.1, by.1] {
        args.step(step);
    }
    let dtypes = [dx.dtype, dy.dtype, x.dtype, mean.dtype, rstd.dtype, dtype_or(weight.as_ref(), x.dtype)];
    let (block, lines) = along(n, 8);
    let mut plan = Plan::default();
    if rows > 0 && n > 0 {
        let key = key(LineForm::LayerNormByInput, compute, dtypes, wide);
        plan.steps.push(Step { key, grid: [blocks(rows, lines)?, 1, 1], block, shared: 0, args });
    }
    let Some(dweight) = output(launch, 1) else { return Some(plan) };
    let dbias = output(launch, 2);
    let (to_weight, to_bias) = (vector(Some(&dweight), n)?, vector(dbias.as_ref(), n)?);
    let part = part_of_rows(gpu, rows, n);
    let parts = rows.div_ceil(part).max(1);
    let mut args = Args::new(wide);
    args.word(address(&dy))
        .word(address(&x))
        .word(m.0)
        .word(r.0)
        .word(scratch)
        .index(rows)
        .index(n)
        .index(part);
    for step in [dy_row, dy_step, x_row, x_step, m.1, r.1] {
        args.step(step);
    }
    let columns = blocks(n, 32)?;
    let dtypes = [dy.dtype, x.dtype, mean.dtype, rstd.dtype];
    plan.steps.push(Step {
        key: key(LineForm::LayerNormByParameters, compute, dtypes, wide),
        grid: [columns, u32::try_from(parts).ok()?, 1],
        block: [32, 16, 1],
        shared: 0,
        args,
    });
    let mut args = Args::new(wide);
    args.word(to_weight.0)
        .word(to_bias.0)
        .word(scratch)
        .index(n)
        .index(parts)
        .step(to_weight.1)
        .step(to_bias.1);
    let dtypes = [dweight.dtype, dtype_or(dbias.as_ref(), dweight.dtype)];
    plan.steps.push(Step {
        key: key(LineForm::LayerNormJoin, compute, dtypes, wide),
        grid: [columns, 1, 1],
        block: [32, 8, 1],
        shared: 0,
        args,
    });
    Some(plan)
}

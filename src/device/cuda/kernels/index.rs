//! `IndexSelect`, `IndexAdd`, `Gather` and `Scatter`.

use smallvec::SmallVec;

use crate::base::shape::contiguous_strides;
use crate::base::{DType, Layout};
use crate::device::buffer::Buffer;
use crate::device::kernel::{Arg, Kernel, Launch, ScatterMode, View};
use crate::device::scalar::MapOp;

use super::args::Args;
use super::cases::{all, floats};
use super::compute::{Compute, Slot, Types};
use super::form::{Field, forms};
use super::key::Key;
use super::map;
use super::operands::{THREADS, address, blocks, input, is_apart, key, output, per_element};
use super::plan::{Gpu, Plan, Step};
use super::recipe::{BOTH, OFF, ON, RecipeParts, WALK, ending, flag, row};
use super::sort;
use super::walk::{Order, Walk};

const INDEX: RecipeParts = &[WALK, "index"];
/// Elements that a thread of `kernels/index.cuh` reads.
const GATHERED: usize = 4;

forms! {
    /// What is read or written at the places that an index names.
    IndexForm(types) {
        Gather { from_end: bool in BOTH } =>
            row(ending("gather", "_from_end", from_end), 3, INDEX, [
                ("GATHER", ON),
                ("FROM_END", flag(from_end)),
            ]),
            all(|d| [d, d, DType::Int64]).wide(|_| from_end);
        Scatter { from_end: bool in BOTH, add: bool in BOTH } =>
            row(ending(if add { "scatter_add" } else { "scatter" }, "_from_end", from_end), 3, INDEX, [
                ("ADD", flag(add)),
                ("FROM_END", flag(from_end)),
            ]),
            all(|d| [d, d, DType::Int64]).and(all(|d| [DType::Float32, d, DType::Int64]).only(is_half));
        /// Elements combined with what stands at their places, other than by a sum.
        Combine { mode: ScatterMode in COMBINED } =>
            row(format!("scatter_{}", combining(mode)), 3, INDEX, [("COMBINE", combining(mode)), ("FROM_END", OFF)]),
            all(|d| [d, d, DType::Int64]);
        /// Where each element of a source goes.
        Targets { from_end: bool in BOTH } =>
            row(ending("targets", "_from_end", from_end), 3, INDEX, [("TARGETS", ON), ("FROM_END", flag(from_end))]),
            all(|_| [DType::Int64; 2]).only(|d| d == DType::Int64);
        /// Sums of elements whose targets are sorted.
        InOrder => row("add_in_order", 3, INDEX, [("IN_ORDER", ON), ("FROM_END", OFF)]),
            floats(|d| [d, d, DType::Int64]);
    }
}

const COMBINED: [ScatterMode; 3] = [ScatterMode::Multiply, ScatterMode::Maximum, ScatterMode::Minimum];

/// The function of `kernels/index.cuh` that combines two.
fn combining(mode: ScatterMode) -> &'static str {
    match mode {
        ScatterMode::Maximum => "larger",
        ScatterMode::Minimum => "smaller",
        _ => "times",
    }
}

impl Field for ScatterMode {
    fn code(self) -> u8 {
        self as u8
    }

    fn of(code: u8) -> ScatterMode {
        match code {
            0 => ScatterMode::Assign,
            1 => ScatterMode::Add,
            2 => ScatterMode::Multiply,
            3 => ScatterMode::Maximum,
            _ => ScatterMode::Minimum,
        }
    }
}

type IndexSizes = SmallVec<[usize; 6]>;
type Steps = SmallVec<[isize; 6]>;

/// Rows of `x` along `dim`.
pub(super) fn select(launch: &Launch, dim: usize, from_end: bool) -> Option<Plan> {
    let (x, index, y) = (input(launch, 0)?, input(launch, 1)?, output(launch, 0)?);
    let (size, step) = dimension(&x, dim)?;
    let shape = picked_shape(&x, dim, index.layout.numel())?;
    let index_steps = along(&index, shape.len(), dim)?;
    let places = [seen_as(&y, &shape)?, without(&x, dim), index_steps];
    read(launch, [&y, &x, &index], &shape, &places, (size, step), from_end)
}

pub(super) fn gather(launch: &Launch, dim: usize) -> Option<Plan> {
    let (x, index, y) = (input(launch, 0)?, input(launch, 1)?, output(launch, 0)?);
    let (size, step) = dimension(&x, dim)?;
    let shape = sizes(&index);
    if shape.len() != sizes(&x).len() || !reaches(&shape, &sizes(&x), Some(dim)) {
        return None;
    }
    let places = [seen_as(&y, &shape)?, without(&x, dim), steps(&index)];
    read(launch, [&y, &x, &index], &shape, &places, (size, step), false)
}

/// Bytes in which rows are added.
pub(super) fn add_scratch(launch: &Launch, gpu: &Gpu, dim: usize) -> usize {
    let rows = || {
        let (index, y) = (input(launch, 0)?, output(launch, 0)?);
        Some(picked_shape(&y, dim, index.layout.numel())?.iter().product())
    };
    if adds_in_order(launch, gpu) {
        return order_scratch(launch, gpu, rows().unwrap_or(0));
    }
    half_sums(launch)
}

/// Bytes in which elements are added that scatter.
pub(super) fn scatter_scratch(launch: &Launch, gpu: &Gpu, mode: ScatterMode) -> usize {
    let adds = mode == ScatterMode::Add;
    input(launch, 0).filter(|_| adds).map_or(0, |index| order_scratch(launch, gpu, index.layout.numel()))
}

/// Bytes in which rows of half precision are summed.
fn half_sums(launch: &Launch) -> usize {
    let halves = output(launch, 0).filter(|y| is_half(y.dtype));
    halves.map_or(0, |y| y.layout.numel() * DType::Float32.size())
}

/// Bytes in which so many elements are put in the order of their targets, where sums have to be made in one order.
fn order_scratch(launch: &Launch, gpu: &Gpu, count: usize) -> usize {
    if !adds_in_order(launch, gpu) || count == 0 {
        return 0;
    }
    let sorting = sorted(launch, 0, count, |sort| Some(sort::scratch_bytes(sort, gpu, 0)));
    3 * list_bytes(count) + sorting.unwrap_or(0)
}

/// Sums of whole numbers are the same in any order.
fn adds_in_order(launch: &Launch, gpu: &Gpu) -> bool {
    gpu.in_order && output(launch, 0).is_some_and(|y| y.dtype.is_float())
}

fn list_bytes(count: usize) -> usize {
    (count * DType::Int64.size()).next_multiple_of(16)
}

/// What `f` makes of the launch that sorts so many targets at `scratch`: behind them lie the sorted ones, and which
/// they were.
fn sorted<R>(launch: &Launch, scratch: u64, count: usize, f: impl FnOnce(&Launch) -> Option<R>) -> Option<R> {
    let layout = Layout::contiguous(&[count]).ok()?;
    let bytes = list_bytes(count);
    let lists = [0, 1, 2].map(|i| Buffer::new(scratch + i * bytes as u64, bytes, None, false));
    let [targets, values, order] =
        lists.each_ref().map(|buffer| View { buffer, dtype: DType::Int64, layout: &layout });
    let kernel = Kernel::Sort { dim: 0, descending: false };
    f(&Launch { kernel: &kernel, inputs: &[Arg::View(targets)], outputs: &[values, order], ..*launch })
}

fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::Float16 | DType::BFloat16)
}

/// `y += source` at rows along `dim`; in half precision summed as float32 and rounded once, as on the CPU.
pub(super) fn add(launch: &Launch, gpu: &Gpu, scratch: u64, dim: usize) -> Option<Plan> {
    let y = output(launch, 0)?;
    if adds_in_order(launch, gpu) || !is_half(y.dtype) {
        return add_rows(launch, gpu, scratch, dim);
    }
    let layout = Layout::contiguous(y.layout.shape()).ok()?;
    let room = Buffer::new(scratch, half_sums(launch), None, false);
    let sums = View { buffer: &room, dtype: DType::Float32, layout: &layout };
    let convert = Kernel::Map { op: MapOp::Identity, params: [0.0; 2], compute: DType::Float32 };
    let copy = |from: View, to: View| {
        let launch = Launch { kernel: &convert, inputs: &[Arg::View(from)], outputs: &[to], ..*launch };
        map::plan(&launch, MapOp::Identity, [0.0; 2], DType::Float32)
    };
    let mut plan = copy(y, sums)?;
    plan.steps.extend(add_rows(&Launch { outputs: &[sums], ..*launch }, gpu, scratch, dim)?.steps);
    plan.steps.extend(copy(sums, y)?.steps);
    Some(plan)
}

fn add_rows(launch: &Launch, gpu: &Gpu, scratch: u64, dim: usize) -> Option<Plan> {
    let (index, y) = (input(launch, 0)?, output(launch, 0)?);
    let shape = picked_shape(&y, dim, index.layout.numel())?;
    let source = match launch.inputs.get(1)? {
        Arg::View(view) => seen_as(view, &shape)?,
        Arg::Scalar(_) => SmallVec::from_elem(0, shape.len()),
    };
    let places = [without(&y, dim), source, along(&index, shape.len(), dim)?];
    if adds_in_order(launch, gpu) {
        return add_in_order(launch, gpu, scratch, &walk(&shape, &places)?, dimension(&y, dim)?, true);
    }
    let form = IndexForm::Scatter { from_end: true, add: true };
    write(launch, &shape, &places, dimension(&y, dim)?, form)
}

pub(super) fn scatter(
    launch: &Launch,
    gpu: &Gpu,
    scratch: u64,
    dim: usize,
    mode: ScatterMode,
) -> Option<Plan> {
    let (index, y) = (input(launch, 0)?, output(launch, 0)?);
    let shape = sizes(&index);
    if shape.len() != sizes(&y).len() || !reaches(&shape, &sizes(&y), Some(dim)) {
        return None;
    }
    let source = match launch.inputs.get(1)? {
        Arg::View(view) if sizes(view).len() == shape.len() && reaches(&shape, &sizes(view), None) => {
            steps(view)
        }
        Arg::View(_) => return None,
        Arg::Scalar(_) => SmallVec::from_elem(0, shape.len()),
    };
    let places = [without(&y, dim), source, steps(&index)];
    if mode == ScatterMode::Add && adds_in_order(launch, gpu) {
        return add_in_order(launch, gpu, scratch, &walk(&shape, &places)?, dimension(&y, dim)?, false);
    }
    let form = match mode {
        ScatterMode::Assign | ScatterMode::Add => {
            IndexForm::Scatter { from_end: false, add: mode == ScatterMode::Add }
        }
        mode => IndexForm::Combine { mode },
    };
    write(launch, &shape, &places, dimension(&y, dim)?, form)
}

fn read(
    launch: &Launch,
    [y, x, index]: [&View; 3],
    shape: &[usize],
    places: &[Steps; 3],
    (size, step): (usize, isize),
    from_end: bool,
) -> Option<Plan> {
    if !is_apart(launch, false) {
        return None;
    }
    let (dtype, shape, places, step) = match in_words([y, x], shape, places, step) {
        Some((shape, places, step)) => (DType::Int64, shape, places, step),
        None => (y.dtype, shape.into(), places.clone(), step),
    };
    let walk = walk(&shape, &places)?;
    let wide = is_wide(&walk, size, step);
    let mut args = Args::new(wide);
    args.word(address(y)).word(address(x)).word(address(index)).index(size).step(step).walk(&walk);
    let from = if dtype == y.dtype { x.dtype } else { dtype };
    let key = key(IndexForm::Gather { from_end }, Compute::of(dtype), [dtype, from, index.dtype], wide);
    if walk.count() == 0 {
        return Some(Plan::default());
    }
    let grid = [blocks(walk.count(), THREADS * GATHERED)?, 1, 1];
    Plan::of(Step { key, grid, block: [THREADS as u32, 1, 1], shared: 0, args })
}

/// Rows that are copied eight bytes at a time: the shape and the steps in such words, where elements are smaller and
/// all rows begin and end at whole ones.
fn in_words(
    [y, x]: [&View; 2],
    shape: &[usize],
    [to, from, index]: &[Steps; 3],
    step: isize,
) -> Option<(IndexSizes, [Steps; 3], isize)> {
    let each = 8 / y.dtype.size();
    let aligned = |view: &View| address(view).is_multiple_of(8);
    if each < 2 || y.dtype != x.dtype || !aligned(y) || !aligned(x) {
        return None;
    }
    let is_row = |d: &usize| to.get(*d) == Some(&1) && from.get(*d) == Some(&1) && index.get(*d) == Some(&0);
    let row = (0..shape.len()).find(is_row)?;
    let whole = |steps: &Steps| -> Option<Steps> {
        let word = |(d, &step): (usize, &isize)| match step {
            1 if d == row => Some(1),
            step => (step % each as isize == 0).then_some(step / each as isize),
        };
        steps.iter().enumerate().map(word).collect()
    };
    let mut sizes: IndexSizes = shape.into();
    let size = sizes.get_mut(row).filter(|size| **size % each == 0)?;
    *size /= each;
    let step = Some(step).filter(|step| step % each as isize == 0)? / each as isize;
    Some((sizes, [whole(to)?, whole(from)?, index.clone()], step))
}

fn write(
    launch: &Launch,
    shape: &[usize],
    places: &[Steps; 3],
    (size, step): (usize, isize),
    form: IndexForm,
) -> Option<Plan> {
    let (y, index) = (output(launch, 0)?, input(launch, 0)?);
    if !is_apart(launch, false) {
        return None;
    }
    let walk = walk(shape, places)?;
    let (wide, compute) = (is_wide(&walk, size, step), Compute::of(y.dtype));
    let mut args = Args::new(wide);
    args.word(address(&y));
    let source = source(launch, compute, &mut args)?;
    args.word(address(&index)).index(size).step(step).walk(&walk);
    let slots = [Slot::Of(y.dtype), source, Slot::Of(index.dtype), Slot::Empty, Slot::Empty, Slot::Empty];
    per_element(Key { form: form.into(), types: Types { compute, slots, wide } }, walk.count(), args)
}

/// Adds by sorting the targets first: the elements of each are added one after another.
fn add_in_order(
    launch: &Launch,
    gpu: &Gpu,
    scratch: u64,
    walk: &Walk<3>,
    (size, step): (usize, isize),
    from_end: bool,
) -> Option<Plan> {
    let (y, index) = (output(launch, 0)?, input(launch, 0)?);
    let count = walk.count();
    if !is_apart(launch, false) {
        return None;
    }
    if count == 0 {
        return Some(Plan::default());
    }
    let wide = is_wide(walk, size, step);
    let [targets, sorted_targets, order, room] = [0, 1, 2, 3].map(|i| scratch + i * list_bytes(count) as u64);
    let mut args = Args::new(wide);
    args.word(targets).word(address(&index)).index(size).step(step).walk(walk);
    let whole = Compute::of(DType::Int64);
    let named = key(IndexForm::Targets { from_end }, whole, [DType::Int64, index.dtype], wide);
    let mut plan = per_element(named, count, args)?;
    plan.steps.extend(sorted(launch, scratch, count, |sort| sort::plan(sort, gpu, room, 0, false))?.steps);
    let compute = Compute::of(y.dtype);
    let mut args = Args::new(wide);
    args.word(address(&y));
    let source = source(launch, compute, &mut args)?;
    args.word(sorted_targets).word(order).walk(walk);
    let slots = [Slot::Of(y.dtype), source, Slot::Of(DType::Int64), Slot::Empty, Slot::Empty, Slot::Empty];
    let adds = Key { form: IndexForm::InOrder.into(), types: Types { compute, slots, wide } };
    plan.steps.extend(per_element(adds, count, args)?.steps);
    Some(plan)
}

/// What is added or written, as an argument.
fn source(launch: &Launch, compute: Compute, args: &mut Args) -> Option<Slot> {
    match launch.inputs.get(1)? {
        Arg::View(view) => {
            args.word(address(view));
            Some(Slot::Of(view.dtype))
        }
        Arg::Scalar(value) => {
            args.number(compute, *value);
            Some(Slot::Number)
        }
    }
}

fn walk(shape: &[usize], [a, b, c]: &[Steps; 3]) -> Option<Walk<3>> {
    let at = |steps: &Steps, d: usize| steps.get(d).copied().unwrap_or(0);
    Walk::new(shape.iter().enumerate().map(|(d, &n)| (n, [at(a, d), at(b, d), at(c, d)])), Order::Memory)
}

/// What an index adds counts as well.
fn is_wide(walk: &Walk<3>, size: usize, step: isize) -> bool {
    walk.is_wide() || size.saturating_mul(step.unsigned_abs()) > i32::MAX as usize / 2
}

/// A shape in which a tensor without dimensions has one of size 1.
fn sizes(view: &View) -> IndexSizes {
    if view.layout.rank() == 0 { SmallVec::from_slice(&[1]) } else { view.layout.shape().into() }
}

fn steps(view: &View) -> Steps {
    if view.layout.rank() == 0 { SmallVec::from_slice(&[0]) } else { view.layout.strides().into() }
}

/// The size of a dimension, and the step along it.
fn dimension(view: &View, dim: usize) -> Option<(usize, isize)> {
    Some((*sizes(view).get(dim)?, *steps(view).get(dim)?))
}

/// The steps of a tensor that does not move along `dim`.
fn without(view: &View, dim: usize) -> Steps {
    let mut steps = steps(view);
    if let Some(step) = steps.get_mut(dim) {
        *step = 0;
    }
    steps
}

/// The steps of a list of indices that lies along `dim`.
fn along(index: &View, rank: usize, dim: usize) -> Option<Steps> {
    let step = match index.layout.strides() {
        [] => 0,
        [step] => *step,
        _ if index.layout.is_contiguous() => 1,
        _ => return None,
    };
    let mut steps: Steps = SmallVec::from_elem(0, rank);
    *steps.get_mut(dim)? = step;
    Some(steps)
}

/// A tensor's shape with `count` rows along `dim`.
fn picked_shape(view: &View, dim: usize, count: usize) -> Option<IndexSizes> {
    let mut shape = sizes(view);
    *shape.get_mut(dim)? = count;
    Some(shape)
}

/// The steps of a view in another shape of as many elements.
fn seen_as(view: &View, shape: &[usize]) -> Option<Steps> {
    if sizes(view).as_slice() == shape {
        return Some(steps(view));
    }
    let alike = shape.iter().product::<usize>() == view.layout.numel();
    (alike && view.layout.is_contiguous()).then(|| contiguous_strides(shape).iter().copied().collect())
}

/// Each size is within the other tensor's, but along `dim`.
fn reaches(shape: &[usize], other: &[usize], dim: Option<usize>) -> bool {
    shape.iter().zip(other).enumerate().all(|(d, (a, b))| a <= b || Some(d) == dim)
}

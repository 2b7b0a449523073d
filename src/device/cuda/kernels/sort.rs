//! `Sort`.

use crate::base::{DType, Dims, Layout, Strides};
use crate::device::buffer::Buffer;
use crate::device::kernel::{Arg, Kernel, Launch, ScanOp, View};

use super::args::Args;
use super::cases::{Cases, all};
use super::compute::{Compute, Slot, Types};
use super::form::forms;
use super::lines::{self, OperandLines};
use super::operands::{THREADS, address, blocks, input, is_apart, key, output, per_element};
use super::plan::{Gpu, Plan, Step};
use super::recipe::{BOTH, ON, Recipe, RecipeParts, WALK, flag, row, text};

const SORT: RecipeParts = &[WALK, text!("sort")];
/// Elements of a line that is sorted in shared memory.
const SHORT: usize = 2048;
/// Elements of a tile of `kernels/sort.cuh`, and values of a digit.
const TILE: usize = 4096;
const DIGITS: usize = 256;

forms! {
    /// Lines in order.
    SortForm(types) {
        Short { descending: bool in BOTH } => sorting(types, "short", "SHORT", descending), cases();
        /// Keys of a line's elements, and their places.
        Begin { descending: bool in BOTH } => sorting(types, "begin", "BEGIN", descending), cases();
        Count => sorting(types, "count", "COUNT", false), cases();
        Move => sorting(types, "move", "MOVE", false), cases();
        /// Elements where their keys came to lie.
        End => sorting(types, "end", "END", false), cases();
    }
}

fn cases() -> Cases {
    all(|d| [d, d, DType::Int64])
}

fn sorting(types: &Types, name: &str, part: &'static str, descending: bool) -> Recipe {
    let name = format!("sort_{name}{}", if descending { "_descending" } else { "" });
    let size = match types.slots.first() {
        Some(Slot::Of(dtype)) => key_bytes(*dtype),
        _ => 8,
    };
    let key = if size == 8 { "unsigned long long" } else { "unsigned" };
    row(name, 3, SORT, [(part, ON), ("DESCENDING", flag(descending)), ("KEY", key)])
}

fn key_bytes(dtype: DType) -> usize {
    dtype.size().max(4)
}

/// The digits of a key in which elements can differ, from the lowest on.
fn digits(dtype: DType) -> std::ops::Range<u32> {
    match dtype {
        DType::Float64 | DType::Int64 => 0..8,
        // As float32, whose last 16 bits are those that bfloat16 has not.
        DType::BFloat16 => 2..4,
        DType::Float16 => 1..4,
        DType::UInt8 | DType::Bool => 0..1,
        _ => 0..4,
    }
}

/// Lines that are sorted: how many, how long, and the tiles of a long one.
struct SortShape {
    lines: OperandLines<3>,
    length: usize,
    count: usize,
    tiles: usize,
}

impl SortShape {
    fn new(launch: &Launch, dim: usize) -> Option<SortShape> {
        let (values, indices, x) = (output(launch, 0)?, output(launch, 1)?, input(launch, 0)?);
        let lines = OperandLines::new([values.layout, x.layout, indices.layout], dim)?;
        let (length, count) = (lines.length, lines.others.count());
        // Places are 32 bits wide, and counts signed.
        (length < i32::MAX as usize).then_some(SortShape {
            lines,
            length,
            count,
            tiles: length.div_ceil(TILE),
        })
    }

    /// A row of counts, with the zero before them.
    fn row(&self) -> usize {
        DIGITS * self.tiles + 1
    }

    /// Bytes of keys, places and counts: the keys and places twice.
    fn sizes(&self, dtype: DType) -> [usize; 5] {
        let total = self.length * self.count;
        let [keys, places] = [total * key_bytes(dtype), total * 4].map(|bytes| bytes.next_multiple_of(16));
        [keys, keys, places, places, (self.count * self.row() * 4).next_multiple_of(16)]
    }
}

pub(super) fn scratch_bytes(launch: &Launch, gpu: &Gpu, dim: usize) -> usize {
    let Some((sort, y)) = SortShape::new(launch, dim).zip(output(launch, 0)) else { return 0 };
    if sort.length <= SHORT || sort.count == 0 {
        return 0;
    }
    let sums = with_counts(launch, &sort, 0, |scan| lines::scan_scratch(scan, gpu, 1));
    sort.sizes(y.dtype).iter().sum::<usize>() + sums.unwrap_or(0)
}

pub(super) fn plan(launch: &Launch, gpu: &Gpu, scratch: u64, dim: usize, descending: bool) -> Option<Plan> {
    let (values, indices, x) = (output(launch, 0)?, output(launch, 1)?, input(launch, 0)?);
    let sort = SortShape::new(launch, dim)?;
    if values.dtype != x.dtype || !is_apart(launch, false) {
        return None;
    }
    if sort.count == 0 || sort.length == 0 {
        return Some(Plan::default());
    }
    let wide = sort.lines.wide || sort.length * sort.count > i32::MAX as usize;
    let key = |form| key(form, Compute::of(x.dtype), [values.dtype, x.dtype, indices.dtype], wide);
    let ([value_step, x_step, index_step], others) = (sort.lines.steps, &sort.lines.others);
    if sort.length <= SHORT {
        let room = sort.length.next_power_of_two();
        let lanes = (room / 2).clamp(1, 1024);
        let each = (256 / room.max(1)).max(1);
        let mut args = Args::new(wide);
        args.word(address(&values)).word(address(&x)).word(address(&indices)).index(sort.length);
        args.step(value_step).step(x_step).step(index_step).int(room as i32).walk(others);
        let (grid, block) = ([blocks(sort.count, each)?, 1, 1], [lanes as u32, each as u32, 1]);
        return Plan::of(Step { key: key(SortForm::Short { descending }), grid, block, shared: 0, args });
    }
    let total = sort.length * sort.count;
    let mut at = scratch;
    let mut places = [0; 5];
    for (place, size) in places.iter_mut().zip(sort.sizes(x.dtype)) {
        *place = at;
        at += size as u64;
    }
    let [mut keys, mut to_keys, mut from, mut to_from, counts] = places;
    let mut args = Args::new(wide);
    args.word(keys).word(from).word(address(&x)).index(total).index(sort.length).step(x_step).walk(others);
    let mut plan = per_element(key(SortForm::Begin { descending }), total, args)?;
    let sums = with_counts(launch, &sort, counts, |scan| lines::scan(scan, gpu, at, ScanOp::Sum, 1))??;
    let grid = [blocks(sort.count * sort.tiles, 1)?, 1, 1];
    let step = |form, args| Step { key: key(form), grid, block: [THREADS as u32, 1, 1], shared: 0, args };
    let tiles = sort.tiles as i32;
    for digit in digits(x.dtype) {
        let shift = 8 * digit as i32;
        let mut args = Args::new(wide);
        args.word(keys).word(counts).index(sort.length).int(tiles).int(shift);
        plan.steps.push(step(SortForm::Count, args));
        plan.steps.extend(sums.steps.iter().cloned());
        let mut args = Args::new(wide);
        args.word(keys).word(from).word(to_keys).word(to_from).word(counts);
        args.index(sort.length).int(tiles).int(shift);
        plan.steps.push(step(SortForm::Move, args));
        std::mem::swap(&mut keys, &mut to_keys);
        std::mem::swap(&mut from, &mut to_from);
    }
    let mut args = Args::new(wide);
    args.word(address(&values)).word(address(&x)).word(address(&indices)).word(from).index(total);
    args.index(sort.length).step(value_step).step(x_step).step(index_step).walk(others);
    plan.steps.extend(per_element(key(SortForm::End), total, args)?.steps);
    Some(plan)
}

/// The running sums of each line's counts, in place, as a launch.
fn with_counts<R>(
    launch: &Launch,
    sort: &SortShape,
    counts: u64,
    then: impl FnOnce(&Launch) -> R,
) -> Option<R> {
    let shape: Dims = Dims::from_slice(&[sort.count, sort.row() - 1]);
    let layout = Layout::new(shape, Strides::from_slice(&[sort.row() as isize, 1]), 1).ok()?;
    let buffer = Buffer::new(counts, sort.count * sort.row() * 4, None, false);
    let view = View { buffer: &buffer, dtype: DType::Int32, layout: &layout };
    let kernel = Kernel::Scan { op: ScanOp::Sum, dim: 1 };
    Some(then(&Launch { kernel: &kernel, inputs: &[Arg::View(view)], outputs: &[view], ..*launch }))
}

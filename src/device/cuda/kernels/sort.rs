//! `Sort`.

use crate::base::{DType, Dims, Layout, Strides};
use crate::device::buffer::Buffer;
use crate::device::kernel::{Arg, Kernel, Launch, ScanOp, View};

use super::args::Args;
use super::cases::{Cases, all};
use super::compute::{Compute, Slot, Types};
use super::form::forms;
use super::lines::{self, OperandLines};
use super::operands::{THREADS, address, blocks, input, is_apart, is_far, key, output};
use super::plan::{Gpu, Plan, Step};
use super::recipe::{BOTH, ON, Recipe, RecipeParts, WALK, ending, flag, row};

const SORT: RecipeParts = &[WALK, "sort"];
const PICK: RecipeParts = &[WALK, "sort", "pick"];
/// Elements of a line that is sorted in shared memory.
const SHORT: usize = 2048;
/// Elements of a tile of `kernels/sort.cuh`, and values of a digit.
const TILE: usize = 4096;
const DIGITS: usize = 256;
/// Threads of a block of `kernels/pick.cuh`, and elements of which it takes the first.
const PICKERS: u32 = 512;
const PICKED: usize = 1024;
/// Elements that make a piece of a line worth a block.
const PIECE: usize = 1 << 14;

forms! {
    /// Lines in order.
    SortForm(types) {
        Short { descending: bool in BOTH } => sorting(types, "short", "SHORT", descending), cases();
        /// The elements of each digit in a tile, whose keys are made of them the first time.
        Count { first: bool in BOTH, descending: bool in BOTH } =>
            digit(types, "count", "COUNT", [first, false, descending]),
            cases().only(|d| first || digits(d).len() > 1 && !descending);
        /// Keys and places in the order of a digit; the last time the elements themselves.
        Move { first: bool in BOTH, last: bool in BOTH, descending: bool in BOTH } =>
            digit(types, "move", "MOVE", [first, last, descending]),
            cases().only(|d| has_pass(d, first, last) && (first || last || !descending));
        /// The first elements of a line, of its pieces, and of theirs together.
        Pick { descending: bool in BOTH } => picking(types, "pick", "WHOLE", descending), cases();
        PickPieces { descending: bool in BOTH } => picking(types, "pick_pieces", "PIECES", descending), cases();
        PickJoin => picking(types, "pick_join", "JOIN", false), cases();
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

fn digit(types: &Types, name: &str, part: &'static str, [first, last, descending]: [bool; 3]) -> Recipe {
    let name = ending(&ending(name, "_first", first), "_last", last);
    sorting(types, &name, part, descending).and("FIRST", flag(first)).and("LAST", flag(last))
}

fn picking(types: &Types, name: &str, part: &'static str, descending: bool) -> Recipe {
    Recipe { parts: PICK, ..sorting(types, name, part, descending) }
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

/// Whether a pass over the digits of a key can be the first, the last, or neither.
fn has_pass(dtype: DType, first: bool, last: bool) -> bool {
    match digits(dtype).len() {
        1 => first && last,
        2 => first != last,
        _ => !(first && last),
    }
}

/// Lines that are sorted: how many, how long, and the tiles of a long one.
struct SortShape {
    lines: OperandLines<3>,
    length: usize,
    /// Elements that are wanted, the first of the order.
    kept: usize,
    count: usize,
    tiles: usize,
}

impl SortShape {
    fn new(launch: &Launch, dim: usize) -> Option<SortShape> {
        let (values, indices, x) = (output(launch, 0)?, output(launch, 1)?, input(launch, 0)?);
        let of = |view: &View| view.layout.shape().get(dim).copied();
        let (length, kept) = (of(&x)?, of(&values)?);
        // Lines that have as many elements as are wanted tell where all lie.
        let first = x.layout.slice(dim, 0, kept.min(length), 1).ok()?;
        let mut lines = OperandLines::new([values.layout, &first, indices.layout], dim)?;
        lines.wide |= is_far(&[x.layout]);
        let count = lines.others.count();
        // Places are 32 bits wide, and counts signed.
        let fits = length < i32::MAX as usize && kept <= length;
        fits.then_some(SortShape { lines, length, kept, count, tiles: length.div_ceil(TILE) })
    }

    /// Few are wanted of long lines.
    fn picks(&self) -> bool {
        self.length > SHORT && self.kept <= PICKED && self.kept < self.length
    }

    /// The pieces of each line, where there are so few that all multiprocessors take part of them.
    fn pieces(&self, gpu: &Gpu) -> usize {
        let wanted = (gpu.multiprocessors as usize * 4).div_ceil(self.count.max(1));
        // What pieces give is less than they have.
        let most = self.length / PIECE.max(self.kept * 8);
        wanted.min(most).max(1)
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
    if sort.length <= SHORT || sort.count == 0 || sort.kept == 0 {
        return 0;
    }
    if sort.picks() {
        let pieces = sort.pieces(gpu);
        let each = sort.count * sort.kept * (key_bytes(y.dtype) + 4);
        return if pieces > 1 { pieces * each } else { 0 };
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
    if sort.count == 0 || sort.kept == 0 {
        return Some(Plan::default());
    }
    let wide = sort.lines.wide || sort.length * sort.count > i32::MAX as usize;
    let key = |form| key(form, Compute::of(x.dtype), [values.dtype, x.dtype, indices.dtype], wide);
    let ([value_step, x_step, index_step], others) = (sort.lines.steps, &sort.lines.others);
    if sort.picks() {
        return pick(launch, gpu, scratch, &sort, descending);
    }
    if sort.length <= SHORT {
        let room = sort.length.next_power_of_two();
        let lanes = (room / 2).clamp(1, 1024);
        let each = (256 / room.max(1)).max(1);
        let mut args = Args::new(wide);
        args.word(address(&values)).word(address(&x)).word(address(&indices)).index(sort.length);
        args.int(sort.kept as i32)
            .step(value_step)
            .step(x_step)
            .step(index_step)
            .int(room as i32)
            .walk(others);
        let (grid, block) = ([blocks(sort.count, each)?, 1, 1], [lanes as u32, each as u32, 1]);
        return Plan::of(Step { key: key(SortForm::Short { descending }), grid, block, shared: 0, args });
    }
    let mut at = scratch;
    let mut places = [0; 5];
    for (place, size) in places.iter_mut().zip(sort.sizes(x.dtype)) {
        *place = at;
        at += size as u64;
    }
    let [mut keys, mut to_keys, mut from, mut to_from, counts] = places;
    let sums = with_counts(launch, &sort, counts, |scan| lines::scan(scan, gpu, at, ScanOp::Sum, 1))??;
    let grid = [blocks(sort.count * sort.tiles, 1)?, 1, 1];
    let step = |form, args| Step { key: key(form), grid, block: [THREADS as u32, 1, 1], shared: 0, args };
    let (digits, tiles, mut plan) = (digits(x.dtype), sort.tiles as i32, Plan::default());
    for digit in digits.clone() {
        let (first, last) = (digit == digits.start, digit + 1 == digits.end);
        let shift = 8 * digit as i32;
        let keyed = || {
            let mut args = Args::new(wide);
            if first {
                args.word(address(&x)).step(x_step).walk(others);
            } else {
                args.word(keys);
            }
            args
        };
        let mut args = keyed();
        args.word(counts).index(sort.length).int(tiles).int(shift);
        plan.steps.push(step(SortForm::Count { first, descending: first && descending }, args));
        plan.steps.extend(sums.steps.iter().cloned());
        let mut args = keyed();
        if !first {
            args.word(from);
        }
        if last {
            args.word(address(&values)).step(value_step).word(address(&indices)).step(index_step);
            args.index(sort.kept);
            if !first {
                args.word(address(&x)).step(x_step).walk(others);
            }
        } else {
            args.word(to_keys).word(to_from);
        }
        args.word(counts).index(sort.length).int(tiles).int(shift);
        let descending = (first || last) && descending;
        plan.steps.push(step(SortForm::Move { first, last, descending }, args));
        std::mem::swap(&mut keys, &mut to_keys);
        std::mem::swap(&mut from, &mut to_from);
    }
    Some(plan)
}

/// The first of each line, a block to each; long lines in pieces, and then of theirs together.
fn pick(launch: &Launch, gpu: &Gpu, scratch: u64, sort: &SortShape, descending: bool) -> Option<Plan> {
    let (values, indices, x) = (output(launch, 0)?, output(launch, 1)?, input(launch, 0)?);
    let SortShape { lines, length, kept, count, .. } = sort;
    let (pieces, [value_step, x_step, index_step]) = (sort.pieces(gpu), lines.steps);
    let wide = lines.wide;
    let key = |form| key(form, Compute::of(x.dtype), [values.dtype, x.dtype, indices.dtype], wide);
    let step = |form, pieces: usize, args| {
        let grid = [blocks(*count, 1)?, u32::try_from(pieces).ok()?, 1];
        Some(Step { key: key(form), grid, block: [PICKERS, 1, 1], shared: 0, args })
    };
    let mut plan = Plan::default();
    let own = scratch + (pieces * count * kept * key_bytes(x.dtype)) as u64;
    if pieces > 1 {
        let mut args = Args::new(wide);
        args.word(scratch).word(own).word(address(&x)).index(*length).index(length.div_ceil(pieces));
        args.int(*kept as i32).step(x_step).walk(&lines.others);
        plan.steps.push(step(SortForm::PickPieces { descending }, pieces, args)?);
    }
    let (form, from) = if pieces > 1 {
        (SortForm::PickJoin, pieces * kept)
    } else {
        (SortForm::Pick { descending }, *length)
    };
    let mut args = Args::new(wide);
    args.word(address(&values)).word(address(&x)).word(address(&indices)).word(scratch).word(own).index(from);
    args.int(*kept as i32).step(value_step).step(x_step).step(index_step).walk(&lines.others);
    plan.steps.push(step(form, 1, args)?);
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

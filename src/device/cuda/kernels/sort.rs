//! `Sort`.

use crate::base::DType;
use crate::device::kernel::{Launch, View};

use super::args::Args;
use super::cases::{Cases, all};
use super::compute::{Compute, Slot, Types};
use super::form::forms;
use super::lines::OperandLines;
use super::map::zeros;
use super::operands::{address, blocks, input, is_apart, is_far, key, output};
use super::plan::{Gpu, Plan, Step};
use super::recipe::{BOTH, ON, Recipe, RecipeParts, WALK, ending, flag, row};

const SORT: RecipeParts = &[WALK, "sort"];
const PICK: RecipeParts = &[WALK, "sort", "pick"];
/// Elements of a line that is sorted in shared memory.
const SHORT: usize = 2048;
/// Threads of a block of `kernels/sort.cuh` for long lines, bytes of the keys of a tile, and values of a digit.
const SORTERS: usize = 512;
const TILE: usize = SORTERS * 64;
const DIGITS: usize = 256;
/// Threads of a block of `kernels/pick.cuh`, and elements of which it takes the first.
const PICKERS: u32 = 512;
const PICKED: usize = 1024;
/// Elements that the pieces of a line may give together.
const GIVEN: usize = 1 << 17;
/// Elements that make a piece of a line worth a block.
const PIECE: usize = 1 << 14;

forms! {
    /// Lines in order.
    SortForm(types) {
        Short { descending: bool in BOTH } => sorting(types, "short", "SHORT", descending), cases();
        /// How many elements have which digits.
        Count { descending: bool in BOTH } => digit(types, "count", "COUNT", [false, false, descending]), cases();
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
    let key = if key_bytes(sorted(types)) == 8 { "unsigned long long" } else { "unsigned" };
    row(name, 3, SORT, [(part, ON), ("DESCENDING", flag(descending)), ("KEY", key)])
}

fn digit(types: &Types, name: &str, part: &'static str, [first, last, descending]: [bool; 3]) -> Recipe {
    let name = ending(&ending(name, "_first", first), "_last", last);
    let digits = digits(sorted(types));
    sorting(types, &name, part, descending)
        .and("FIRST", flag(first))
        .and("LAST", flag(last))
        .number("LOWEST", digits.start as u8)
        .number("PASSES", digits.len() as u8)
}

/// The dtype of what is put in order.
fn sorted(types: &Types) -> DType {
    match types.slots.first() {
        Some(Slot::Of(dtype)) => *dtype,
        _ => DType::Int64,
    }
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
    passes: usize,
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
        let tiles = length.div_ceil(TILE / key_bytes(x.dtype));
        fits.then_some(SortShape { lines, length, kept, count, tiles, passes: digits(x.dtype).len() })
    }

    fn is_wide(&self) -> bool {
        self.lines.wide || self.length * self.count > i32::MAX as usize
    }

    /// The pieces of each line whose digits a block counts.
    fn counted_pieces(&self, gpu: &Gpu) -> usize {
        let wanted = (gpu.multiprocessors as usize * 4).div_ceil(self.count.max(1));
        wanted.min(self.length.div_ceil(PIECE)).max(1)
    }

    /// Few are wanted of long lines.
    fn picks(&self) -> bool {
        self.length > SHORT && self.kept <= PICKED && self.kept < self.length
    }

    /// The pieces of each line, where there are so few that all multiprocessors take part of them.
    fn pieces(&self, gpu: &Gpu) -> usize {
        let wanted = (gpu.multiprocessors as usize * 4).div_ceil(self.count.max(1));
        // What pieces give is less than they have, and all of it is for one block.
        let most = (self.length / PIECE.max(self.kept * 8)).min(GIVEN / self.kept);
        wanted.min(most).max(1)
    }

    /// Words of what a line's tiles tell each other; see `ROW` of `kernels/sort.cuh`.
    fn row(&self) -> usize {
        self.passes * (2 + DIGITS + DIGITS * self.tiles)
    }

    /// Bytes of keys and places, both twice, and of the rows.
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
    sort.sizes(y.dtype).iter().sum()
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
    let wide = sort.is_wide();
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
    digit_by_digit(launch, gpu, scratch, &sort, descending)
}

/// Long lines: a pass to each digit.
fn digit_by_digit(
    launch: &Launch,
    gpu: &Gpu,
    scratch: u64,
    sort: &SortShape,
    descending: bool,
) -> Option<Plan> {
    let (values, indices, x) = (output(launch, 0)?, output(launch, 1)?, input(launch, 0)?);
    let wide = sort.is_wide();
    let key = |form| key(form, Compute::of(x.dtype), [values.dtype, x.dtype, indices.dtype], wide);
    let step =
        |form, grid, args| Step { key: key(form), grid, block: [SORTERS as u32, 1, 1], shared: 0, args };
    let ([value_step, x_step, index_step], tiles) = (sort.lines.steps, sort.tiles as i32);
    let mut at = scratch;
    let [keys, other_keys, from, other_from, work] = sort.sizes(x.dtype).map(|size| {
        at += size as u64;
        at - size as u64
    });
    let mut plan = zeros(work, sort.count * sort.row())?;
    let elements = || {
        let mut args = Args::new(wide);
        args.word(address(&x)).step(x_step).walk(&sort.lines.others);
        args
    };
    let pieces = sort.counted_pieces(gpu);
    let mut args = elements();
    args.word(work).index(sort.length).int(tiles).int(pieces as i32).index(sort.length.div_ceil(pieces));
    plan.steps.push(step(SortForm::Count { descending }, [blocks(sort.count * pieces, 1)?, 1, 1], args));
    let grid = [blocks(sort.count * sort.tiles, 1)?, 1, 1];
    for pass in 0..sort.passes {
        let (first, last) = (pass == 0, pass + 1 == sort.passes);
        let mut args = if first { elements() } else { Args::new(wide) };
        if !first {
            args.word(keys).word(other_keys).word(from).word(other_from);
        }
        if last {
            args.word(address(&values)).step(value_step).word(address(&indices)).step(index_step);
            args.index(sort.kept);
        }
        if last && !first {
            args.word(address(&x)).step(x_step).walk(&sort.lines.others);
        } else if first && !last {
            args.word(keys).word(from);
        }
        args.word(work).index(sort.length).int(tiles).int(pass as i32);
        let descending = (first || last) && descending;
        plan.steps.push(step(SortForm::Move { first, last, descending }, grid, args));
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

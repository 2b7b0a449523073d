//! Operands of elementwise work that are rows or single numbers along the output's last dimensions, as broadcasting
//! makes them. They are read where they lie.

use std::marker::PhantomData;
use std::ops::Range;

use smallvec::SmallVec;

use crate::base::Scalar;

use super::block::{Scratch, scalar_value};
use super::convert::Compute;
use super::isa::{self, Isa, Work};
use super::strided::{BLOCK, Strided};

/// What elementwise work reads.
pub(super) enum MapInput<'a> {
    View(Strided<'a>),
    Scalar(Scalar),
}

/// Shorter rows are gathered into blocks.
const SHORTEST: usize = 64;

/// What is filled with a number that repeats: little beside the row that it is used along.
const REPEATED: usize = 256;

/// One number for each operand.
type Each<T> = SmallVec<[T; 3]>;

/// A dimension: its size, and each operand's step.
type JointDim = (usize, Each<isize>);

/// Operands of one shape, row by row.
pub(super) struct Rows<'a, C> {
    /// Elements of a row.
    length: usize,
    outer: SmallVec<[JointDim; 4]>,
    operands: Each<RowOperand<'a, C>>,
    /// An operand is one number along a row, of which a block is filled.
    repeats: bool,
    /// A visit takes one number, or one for each row, for an operand that repeats.
    as_numbers: bool,
    /// So many rows are read at once, at most.
    together: usize,
    /// The same where results need no room: more than a block of rows beside numbers, which alone take some.
    together_in_place: usize,
    /// Those rows are one, which is used again for each of the numbers.
    of_one_row: bool,
}

struct RowOperand<'a, C> {
    origin: *const C,
    /// What every element is, where the operand is a number.
    number: Option<C>,
    /// Its row lies in memory; otherwise it is one number.
    lies: bool,
    memory: PhantomData<&'a C>,
}

// SAFETY: pointers to plain memory that outlives `'a` and is only read; the constructor's caller keeps writers away.
unsafe impl<C: Send> Send for Rows<'_, C> {}
// SAFETY: as above.
unsafe impl<C: Sync> Sync for Rows<'_, C> {}

impl<'a, C: Compute> Rows<'a, C> {
    /// Views of one shape, and numbers; none where one of them is not of `C`, lies across, or has short rows. A visit is
    /// given one operand that repeats `as_numbers`: a slice of one element, or of one for each row.
    ///
    /// # Safety
    /// While a part is being read nothing may write the elements it holds.
    pub(super) unsafe fn new(
        shape: &[usize],
        inputs: &[MapInput<'a>],
        as_numbers: bool,
    ) -> Option<Rows<'a, C>> {
        let mut operands: Each<RowOperand<C>> = SmallVec::new();
        for input in inputs {
            let (origin, number) = match input {
                MapInput::View(view) if view.dtype == C::DTYPE => (view.origin::<C>().cast_const(), None),
                MapInput::View(_) => return None,
                MapInput::Scalar(scalar) => (std::ptr::dangling(), Some(scalar_value(*scalar))),
            };
            operands.push(RowOperand { origin, number, lies: false, memory: PhantomData });
        }
        let mut outer = joint(shape, inputs);
        let (length, steps) = outer.pop()?;
        if length < SHORTEST || steps.iter().any(|step| !matches!(step, 0 | 1)) {
            return None;
        }
        for (operand, step) in operands.iter_mut().zip(&steps) {
            operand.lies = *step == 1;
        }
        let repeating = operands.iter().filter(|operand| !operand.lies).count();
        // A number beside a number is no row.
        let as_numbers = as_numbers && repeating == 1;
        let repeats = repeating > 0 && !as_numbers;
        // Rows that follow one another, and those that repeat, are as good as one longer row.
        let follows = |(operand, step): (&RowOperand<C>, &isize)| {
            !operand.lies || *step == 0 || *step == length as isize
        };
        let joins = outer.last().is_some_and(|(_, steps)| operands.iter().zip(steps).all(follows));
        let together = if joins { (BLOCK / length).max(1) } else { 1 };
        let is_one = |(operand, step): (&RowOperand<C>, &isize)| !operand.lies || *step == 0;
        let of_one_row = as_numbers
            && joins
            && outer.last().is_some_and(|(_, steps)| operands.iter().zip(steps).all(is_one));
        // Fewer numbers than a row has elements tell which of the two is the row.
        let together_in_place = if as_numbers && joins { (length - 1).min(BLOCK) } else { together };
        Some(Rows { length, outer, operands, repeats, as_numbers, together, together_in_place, of_one_row })
    }

    /// Visits elements in row-major order: ranges that lie within rows, of at most a block where operands repeat or
    /// results are put `aside`, each with the operands' elements.
    pub(super) fn each(
        &self,
        range: Range<usize>,
        aside: bool,
        mut visit: impl FnMut(Range<usize>, [&[C]; 3]),
    ) {
        let most = match (self.repeats, aside) {
            (true, _) => REPEATED,
            (_, true) => BLOCK,
            _ => usize::MAX,
        };
        let mut blocks: [Scratch<C>; 3] = Default::default();
        let mut filled: Filled = [None; 3];
        let mut at = self.place(range.start / self.length.max(1), range.start % self.length.max(1));
        let mut start = range.start;
        while start < range.end {
            let n = (self.length - at.within).min(most).min(range.end - start);
            visit(start..start + n, self.read(&at, n, &mut blocks, &mut filled));
            start += n;
            at.within += n;
            if at.within == self.length {
                at.within = 0;
                self.next_row(&mut at);
            }
        }
    }

    /// The same by as many whole rows as there is room for in a block, or as can do with one, where they can be read
    /// [`Rows::together`].
    pub(super) fn each_together(
        &self,
        range: Range<usize>,
        aside: bool,
        mut visit: impl FnMut(Range<usize>, [&[C]; 3]),
    ) {
        let most = if aside { self.together } else { self.together_in_place };
        let mut blocks: [Scratch<C>; 3] = Default::default();
        let mut filled: Filled = [None; 3];
        let mut at = self.place(range.start / self.length.max(1), range.start % self.length.max(1));
        let mut start = range.start;
        while start < range.end {
            let rows = self.rows_at(&at, most, range.end - start);
            let (n, inputs) = if rows == 0 {
                let n = (self.length - at.within).min(range.end - start);
                (n, self.read(&at, n, &mut blocks, &mut filled))
            } else {
                (rows * self.length, self.read_rows(&at, rows, &mut blocks, &mut filled))
            };
            visit(start..start + n, inputs);
            start += n;
            at.within = if rows == 0 { at.within + n } else { self.length };
            self.skip(&mut at, rows.saturating_sub(1));
            if at.within == self.length {
                at.within = 0;
                self.next_row(&mut at);
            }
        }
    }

    /// Several rows are read at once.
    pub(super) fn together(&self) -> bool {
        self.together > 1
    }

    /// How many whole rows from a place on are read at once, with so many elements left to read: none within a row.
    fn rows_at(&self, at: &RowPlace, most: usize, left: usize) -> usize {
        let (Some((size, _)), Some(index)) = (self.outer.last(), at.index.last()) else { return 0 };
        if at.within > 0 { 0 } else { most.min(size - index).min(left / self.length) }
    }

    /// Goes on by so many rows within the last dimension of rows.
    fn skip(&self, at: &mut RowPlace, rows: usize) {
        let (Some((_, steps)), Some(index)) = (self.outer.last(), at.index.last_mut()) else { return };
        *index += rows;
        for (offset, step) in at.offsets.iter_mut().zip(steps) {
            *offset += rows as isize * step;
        }
    }

    fn place(&self, row: usize, within: usize) -> RowPlace {
        let mut place = RowPlace { index: SmallVec::from_elem(0, self.outer.len()), offsets: [0; 3], within };
        let mut rest = row;
        for (index, (size, steps)) in place.index.iter_mut().zip(&self.outer).rev() {
            *index = rest % size;
            rest /= size;
            for (offset, step) in place.offsets.iter_mut().zip(steps) {
                *offset += *index as isize * step;
            }
        }
        place
    }

    #[inline(always)]
    fn next_row(&self, place: &mut RowPlace) {
        for (index, (size, steps)) in place.index.iter_mut().zip(&self.outer).rev() {
            *index += 1;
            let over = *index == *size;
            let back = if over { *size as isize } else { 0 };
            for (offset, step) in place.offsets.iter_mut().zip(steps) {
                *offset += step - back * step;
            }
            if !over {
                return;
            }
            *index = 0;
        }
    }

    /// The operands' next `n` elements of a row. Blocks are filled where operands repeat, and `filled` says of what.
    #[inline(always)]
    fn read<'s>(
        &'s self,
        at: &RowPlace,
        n: usize,
        blocks: &'s mut [Scratch<C>; 3],
        filled: &mut Filled,
    ) -> [&'s [C]; 3] {
        let mut all: [&[C]; 3] = [&[]; 3];
        let places = at.offsets.iter().zip(blocks).zip(filled);
        for ((slot, operand), ((&offset, block), filled)) in all.iter_mut().zip(&self.operands).zip(places) {
            // SAFETY: a part lies within a row, and every row of a view inside it; a block has room for a part where
            // operands repeat, and what is read of it was written.
            *slot = unsafe {
                if operand.lies {
                    std::slice::from_raw_parts(operand.origin.offset(offset + at.within as isize), n)
                } else if self.as_numbers {
                    let number = operand.number.as_ref();
                    std::slice::from_ref(number.unwrap_or_else(|| &*operand.origin.offset(offset)))
                } else {
                    if !filled.is_some_and(|(of, elements)| of == offset && elements >= n) {
                        let value = operand.number.unwrap_or_else(|| *operand.origin.offset(offset));
                        block.first(n).fill(value);
                        *filled = Some((offset, n));
                    }
                    block.first(n)
                }
            };
        }
        all
    }
}

impl<C: Compute> Rows<'_, C> {
    /// The operands' elements of the next `rows` rows. A row that repeats is put into a block as often, once, unless it is
    /// beside numbers alone; where each row is a number, the numbers are put there.
    fn read_rows<'s>(
        &'s self,
        at: &RowPlace,
        rows: usize,
        blocks: &'s mut [Scratch<C>; 3],
        filled: &mut Filled,
    ) -> [&'s [C]; 3] {
        let n = rows * self.length;
        let mut all: [&[C]; 3] = [&[]; 3];
        let steps = self.outer.last().map_or(&[][..], |(_, steps)| steps);
        let places = at.offsets.iter().zip(blocks).zip(filled);
        for ((slot, (operand, &step)), ((&offset, block), filled)) in
            all.iter_mut().zip(self.operands.iter().zip(steps)).zip(places)
        {
            // SAFETY: the rows lie inside each view, and one after another where a step is a row's length; a block has
            // room for them, and what is read of it was written.
            *slot = unsafe {
                if operand.lies && step != 0 {
                    std::slice::from_raw_parts(operand.origin.offset(offset), n)
                } else if self.as_numbers && !operand.lies {
                    let numbers = if step == 0 && !self.of_one_row { 1 } else { rows };
                    for (i, number) in block.first(numbers).iter_mut().enumerate() {
                        let origin = operand.origin.wrapping_offset(offset + i as isize * step);
                        *number = operand.number.unwrap_or_else(|| *origin);
                    }
                    block.first(numbers)
                } else if self.of_one_row {
                    std::slice::from_raw_parts(operand.origin.offset(offset), self.length)
                } else {
                    let same =
                        step == 0 && filled.is_some_and(|(of, elements)| of == offset && elements >= n);
                    if !same {
                        let lines = block.first(n).chunks_exact_mut(self.length);
                        match operand.number {
                            None if operand.lies => {
                                let row =
                                    std::slice::from_raw_parts(operand.origin.offset(offset), self.length);
                                lines.for_each(|line| line.copy_from_slice(row));
                            }
                            Some(number) => lines.for_each(|line| line.fill(number)),
                            None => {
                                let numbers = operand.origin.offset(offset);
                                isa::dispatch(Repeat {
                                    block: block.first(n),
                                    length: self.length,
                                    numbers,
                                    step,
                                });
                            }
                        }
                        *filled = (step == 0).then_some((offset, n));
                    }
                    block.first(n)
                }
            };
        }
        all
    }
}

/// Fills each line of a block with a number, which lie a step apart.
struct Repeat<'a, C> {
    block: &'a mut [C],
    length: usize,
    /// As many as there are lines.
    numbers: *const C,
    step: isize,
}

impl<C: Compute> Work for Repeat<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (i, line) in self.block.chunks_exact_mut(self.length).enumerate() {
            // SAFETY: the maker's promise.
            let number = unsafe { *self.numbers.offset(i as isize * self.step) };
            line.iter_mut().for_each(|v| *v = number);
        }
    }
}

/// A row by its index along each outer dimension, where it begins in each operand, and a place within it.
struct RowPlace {
    index: SmallVec<[usize; 4]>,
    offsets: [isize; 3],
    within: usize,
}

/// For each operand the place whose number its block is filled with, and how far.
type Filled = [Option<(isize, usize)>; 3];

/// The dimensions of more than one element, neighbours merged where one step leads through both in every operand.
fn joint(shape: &[usize], inputs: &[MapInput]) -> SmallVec<[JointDim; 4]> {
    let mut merged: SmallVec<[JointDim; 4]> = SmallVec::new();
    for (d, &size) in shape.iter().enumerate().filter(|(_, size)| **size != 1) {
        let step = |input: &MapInput| match input {
            MapInput::View(view) => view.layout.strides().get(d).copied().unwrap_or(0),
            MapInput::Scalar(_) => 0,
        };
        let steps: Each<isize> = inputs.iter().map(step).collect();
        let through = |(outer, inner): (&isize, &isize)| *outer == inner.wrapping_mul(size as isize);
        match merged.last_mut() {
            Some((count, outer)) if outer.iter().zip(&steps).all(through) => {
                (*count, *outer) = (*count * size, steps);
            }
            _ => merged.push((size, steps)),
        }
    }
    merged
}

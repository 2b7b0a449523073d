//! Folding narrow rows in the order of the memory: the sums of all their columns lie in registers.

use super::block::Room;
use super::fold::{Fold, Folded, SHORT, fold_rows, fold_short_rows};
use super::isa::Isa;

/// Rows up to this long are narrow: their sums fit in registers.
pub(super) const NARROW: usize = 8 * VECTOR;

// Rows that are folded one after another hold as many sums.
const _: () = assert!(NARROW <= SHORT);

/// Columns that are folded side by side.
const VECTOR: usize = 16;

/// Rows that lie without a gap and are shorter than half of this are taken several at a time, as one.
const STRIP: usize = 4 * VECTOR;

/// Rows that are folded before their sums are widened: few, so that sums lose next to nothing.
const DEEP: usize = 8;

/// Rows of neighbours: where the first value lies, the elements from one row to the next, and how many rows.
#[derive(Clone, Copy)]
pub(super) struct Rows<C> {
    pub first: *const C,
    pub apart: isize,
    pub count: usize,
}

impl<C> Rows<C> {
    /// So many rows from row `row` on.
    ///
    /// # Safety
    /// They must be rows of this.
    #[inline(always)]
    unsafe fn part(self, row: usize, count: usize) -> Rows<C> {
        // SAFETY: the caller's promise.
        Rows { first: unsafe { self.first.offset(row as isize * self.apart) }, count, ..self }
    }
}

/// Folds rows into sums that lie side by side, each of its own column; as many centres as sums.
///
/// # Safety
/// Each row must hold as many values as there are sums, which nothing may write meanwhile.
#[inline(always)]
pub(crate) unsafe fn fold_narrow<F: Fold, C: Folded, I: Isa>(
    sums: &mut [C::Wide],
    rows: Rows<C>,
    centres: &[C],
) {
    let width = sums.len();
    let beside = if rows.apart == width as isize { STRIP / width.max(1) } else { 1 };
    let fewest = if width < VECTOR { 2 } else { DEEP };
    let joined = Some(rows.count / beside.max(1)).filter(|n| beside > 1 && *n >= fewest).unwrap_or(0);
    let (mut many, mut repeated) = (Room::<C::Wide, STRIP>::new(), Room::<C, STRIP>::new());
    // SAFETY: all values are written before they are read; rows without a gap are also rows of several of them.
    unsafe {
        let columns = if joined == 0 { 0 } else { beside * width };
        let (many, repeated) = (many.first(columns), repeated.first(columns));
        many.fill(C::wide_start::<F>());
        repeated.iter_mut().zip(centres.iter().cycle()).for_each(|(to, &centre)| *to = centre);
        let several = Rows { first: rows.first, apart: columns as isize, count: joined };
        let rest = rows.part(joined * beside, rows.count - joined * beside);
        // In a loop, so that what is compiled for each fold, type and instruction set is there once.
        for (sums, rows, centres) in [(&mut *many, several, &*repeated), (&mut *sums, rest, centres)] {
            fold_apart::<F, C, I>(sums, rows, centres);
        }
        for part in many.chunks_exact(width.max(1)) {
            sums.iter_mut().zip(part).for_each(|(sum, &other)| *sum = C::wide_join::<F>(*sum, other));
        }
    }
}

/// # Safety
/// As [`fold_narrow`].
#[inline(always)]
unsafe fn fold_apart<F: Fold, C: Folded, I: Isa>(sums: &mut [C::Wide], rows: Rows<C>, centres: &[C]) {
    let deep = if sums.len() < VECTOR { 0 } else { rows.count - rows.count % DEEP };
    // SAFETY: the caller's promise.
    unsafe {
        let strip = rows.part(0, deep);
        match sums.len().div_ceil(VECTOR) {
            _ if deep == 0 => {}
            0..=2 => fold_strip::<F, C, I, 2>(sums, strip, centres),
            3..=4 => fold_strip::<F, C, I, 4>(sums, strip, centres),
            5..=6 => fold_strip::<F, C, I, 6>(sums, strip, centres),
            _ => fold_strip::<F, C, I, 8>(sums, strip, centres),
        }
        fold_few::<F, C, I>(sums, rows.part(deep, rows.count - deep), centres);
    }
}

/// Folds rows that `K` vectors cover; vectors that would reach beyond a row's end lie over those before.
///
/// # Safety
/// As [`fold_narrow`]; a row has at least the columns of one vector, and there are as many rows as [`DEEP`] divides.
#[inline(always)]
unsafe fn fold_strip<F: Fold, C: Folded, I: Isa, const K: usize>(
    sums: &mut [C::Wide],
    rows: Rows<C>,
    centres: &[C],
) {
    let mut vector = 0;
    let columns = [(); K].map(|()| {
        vector += 1;
        ((vector - 1) * VECTOR).min(sums.len().saturating_sub(VECTOR))
    });
    let mut centred = [[C::default(); VECTOR]; K];
    if F::CENTRED {
        for (to, &column) in centred.iter_mut().zip(&columns) {
            let Some(centres) = centres.get(column..column + VECTOR) else { return };
            to.copy_from_slice(centres);
        }
    }
    let mut wide = [[C::wide_start::<F>(); VECTOR]; K];
    for row in (0..rows.count).step_by(DEEP) {
        // SAFETY: the caller's promise.
        unsafe { fold_deep::<F, C, I, K>(&mut wide, rows.part(row, DEEP), &columns, &centred) };
    }
    let mut at = 0;
    for (column, values) in columns.iter().zip(&wide) {
        let (sums, new) = (sums.get_mut(at..).unwrap_or(&mut []), values.get(at - column..).unwrap_or(&[]));
        sums.iter_mut().zip(new).for_each(|(sum, &other)| *sum = C::wide_join::<F>(*sum, other));
        at += VECTOR;
    }
}

/// Lane by lane, which become vectors, and for each the rows in order: memory that is read in order comes up to twice
/// as fast as the same memory read in steps.
///
/// # Safety
/// As [`fold_narrow`], for as many rows as [`DEEP`].
#[inline(always)]
unsafe fn fold_deep<F: Fold, C: Folded, I: Isa, const K: usize>(
    wide: &mut [[C::Wide; VECTOR]; K],
    rows: Rows<C>,
    columns: &[usize; K],
    centres: &[[C; VECTOR]; K],
) {
    for lane in 0..VECTOR {
        let mut held = [C::start::<F>(); K];
        for row in 0..DEEP {
            for ((held, &column), centres) in held.iter_mut().zip(columns).zip(centres) {
                // SAFETY: the caller's promise; `lane` is below `VECTOR`.
                let (x, centre) = unsafe {
                    let x = *rows.part(row, 1).first.add(column + lane);
                    (x, if F::CENTRED { *centres.get_unchecked(lane) } else { x })
                };
                *held = C::add::<F, I>(*held, x, centre);
            }
        }
        for (wide, held) in wide.iter_mut().zip(held) {
            // SAFETY: as above.
            let wide = unsafe { wide.get_unchecked_mut(lane) };
            *wide = C::wide_join::<F>(*wide, held.widen());
        }
    }
}

/// Few rows, or rows of few columns.
///
/// # Safety
/// As [`fold_narrow`].
#[inline(always)]
unsafe fn fold_few<F: Fold, C: Folded, I: Isa>(sums: &mut [C::Wide], rows: Rows<C>, centres: &[C]) {
    let width = sums.len();
    // SAFETY: the caller's promise.
    let slice = |row: usize| unsafe { std::slice::from_raw_parts(rows.part(row, 1).first, width) };
    let whole = rows.count - rows.count % DEEP;
    for row in (0..whole).step_by(DEEP) {
        fold_short_rows::<F, C, I, DEEP>(sums, std::array::from_fn(|i| slice(row + i)), centres);
    }
    for row in whole..rows.count {
        fold_rows::<F, C, I, 1>(sums, [slice(row)], centres);
    }
}

//! The innermost loops of a product: a tile of the output held in vector registers, of whatever instruction set.

#![allow(
    clippy::indexing_slicing,
    reason = "indices are bounded by the lengths of fixed-size arrays of registers"
)]

use crate::base::dtype::Element;
use crate::device::cpu::convert::Compute;
use crate::device::cpu::isa::Isa;

use super::tall::{TALL_HEIGHTS, TallFn, TallRow};

/// One tile of `rows` x `width` elements: `out = alpha * lhs @ rhs`, or `+=`.
///
/// Strides are in elements. The lhs is read one element at a time, the rhs in whole vectors along its rows.
pub(crate) struct Tile<E> {
    pub k: usize,
    pub lhs: *const E,
    /// From row to row, and from one `k` to the next; unused where the lhs is packed.
    pub lhs_strides: [isize; 2],
    pub rhs: *const E,
    pub rhs_stride: isize,
    pub out: *mut E,
    pub out_stride: isize,
    pub alpha: E,
    pub add: bool,
}

/// Computes a tile.
///
/// # Safety
/// All elements that the tile names must be readable, and those of `out` writable and the caller's alone.
pub(crate) type TileFn<E> = unsafe fn(&Tile<E>);

/// Writes `to[p * width + i] = from[i * stride + p]` for `rows <= lanes` rows and `lanes` columns.
///
/// # Safety
/// The rows must be readable, and `to` writable up to `lanes` elements from the start of each column.
pub(crate) type TransposeFn<E> =
    unsafe fn(from: *const E, stride: isize, rows: usize, to: *mut E, width: usize);

/// A tile of a correlation: row `k` of the rhs starts at `rhs + offsets[k]`, and the lhs is packed.
pub(crate) struct Taps<E> {
    pub k: usize,
    pub lhs: *const E,
    pub rhs: *const E,
    pub offsets: *const isize,
    pub out: *mut E,
    pub out_stride: isize,
    pub add: bool,
}

/// # Safety
/// As [`TileFn`].
pub(crate) type TapsFn<E> = unsafe fn(&Taps<E>);

/// The most rows that a tile of any instruction set has.
pub(crate) const MOST_ROWS: usize = 14;

/// A tile whose lhs rows lie anywhere: `k` runs over `lines` of `run` neighbours, which start `pitch` apart in
/// the lhs and follow each other in the packed rhs. The products are added to `out`.
pub(crate) struct LinesTile<E> {
    pub lines: usize,
    pub run: usize,
    pub pitch: isize,
    pub lhs: [*const E; MOST_ROWS],
    pub rhs: *const E,
    pub rhs_stride: isize,
    pub out: *mut E,
    pub out_stride: isize,
}

/// # Safety
/// As [`TileFn`].
pub(crate) type LinesFn<E> = unsafe fn(&LinesTile<E>);

/// The tiles that an instruction set has for an element type.
pub(crate) struct Tiles<E: 'static> {
    /// Elements of a vector.
    pub lanes: usize,
    /// The most rows a tile has.
    pub rows: usize,
    /// By vectors per row (one or two), then by rows, each from 1.
    pub(super) strided: [&'static [TileFn<E>]; 2],
    pub(super) packed: [&'static [TileFn<E>]; 2],
    pub(super) taps: [&'static [TapsFn<E>]; 2],
    pub(super) lines: [&'static [LinesFn<E>]; 2],
    pub transpose: TransposeFn<E>,
    /// Sums of products of four rows with one to four others.
    pub(super) dots: &'static [DotsFn<E>],
    /// The same of a single row.
    pub(super) dot: &'static [DotsFn<E>],
    /// The widest first.
    pub(super) tall: &'static [TallRow<E>],
}

/// `out[i * out_strides[0] + j * out_strides[1]] = alpha * sum over k of rows[i][k] * others[j][k]`, or `+=`.
pub(crate) struct Dots<E> {
    pub k: usize,
    pub rows: *const E,
    pub row_stride: isize,
    pub others: *const E,
    pub other_stride: isize,
    pub out: *mut E,
    pub out_strides: [isize; 2],
    pub alpha: E,
    pub add: bool,
}

/// # Safety
/// As [`TileFn`].
pub(crate) type DotsFn<E> = unsafe fn(&Dots<E>);

impl<E> Tiles<E> {
    /// Sums of products of four rows, or of one, with `others` of one to four.
    pub(crate) fn dots(&self, four: bool, others: usize) -> Option<DotsFn<E>> {
        let table = if four { self.dots } else { self.dot };
        table.get(others.wrapping_sub(1)).copied()
    }

    /// Sums a filter of `height` rows over rows of so many columns, where there is a function for it.
    pub(crate) fn tall(&self, height: usize, columns: usize) -> Option<TallFn<E>> {
        let which = TALL_HEIGHTS.iter().position(|&h| h == height)?;
        let (_, functions) = self.tall.iter().find(|(width, _)| *width <= columns)?;
        functions.get(which).copied()
    }

    /// The tile of `rows` and `vectors`, both within what there is.
    pub(crate) fn tile(&self, rows: usize, vectors: usize, packed: bool) -> Option<TileFn<E>> {
        pick(if packed { &self.packed } else { &self.strided }, rows, vectors)
    }

    pub(crate) fn taps(&self, rows: usize, vectors: usize) -> Option<TapsFn<E>> {
        pick(&self.taps, rows, vectors)
    }

    pub(crate) fn lines(&self, rows: usize, vectors: usize) -> Option<LinesFn<E>> {
        pick(&self.lines, rows, vectors)
    }

    /// Columns of a full tile.
    pub(crate) fn width(&self) -> usize {
        2 * self.lanes
    }
}

fn pick<F: Copy>(table: &[&'static [F]; 2], rows: usize, vectors: usize) -> Option<F> {
    table.get(vectors.wrapping_sub(1))?.get(rows.wrapping_sub(1)).copied()
}

/// A type that products are computed in.
pub(crate) trait Real: Compute + std::ops::Mul<Output = Self> + std::ops::Add<Output = Self> {
    /// The tiles of the best instruction set of this processor.
    fn tiles() -> &'static Tiles<Self>;

    /// `self * b + c`, rounded once where the instruction set does.
    fn fma<I: Isa>(self, b: Self, c: Self) -> Self;

    /// The tiles for pairs of bfloat16, where the processor sums their products in this type.
    fn paired_tiles() -> Option<&'static Tiles<Self>> {
        None
    }
}

/// Vectors of an instruction set.
pub(super) trait Vector: Copy {
    type E: Real;
    const LANES: usize;
    unsafe fn splat(value: Self::E) -> Self;
    unsafe fn load(from: *const Self::E) -> Self;
    unsafe fn store(self, to: *mut Self::E);
    /// `self * b + c`
    unsafe fn mul_add(self, b: Self, c: Self) -> Self;
    unsafe fn mul(self, b: Self) -> Self;
    /// `self * b + c`, of whatever the operands' elements hold.
    #[inline(always)]
    unsafe fn product(self, b: Self, c: Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { self.mul_add(b, c) }
    }
    /// Brings the line of an output to the first cache.
    unsafe fn prefetch(at: *const Self::E);
}

/// The sums of a tile.
type Sums<V, const R: usize, const N: usize> = [[V; N]; R];

/// Adds one step of `k`: a column of the lhs times a row of the rhs.
#[inline(always)]
unsafe fn step<V: Vector, const R: usize, const N: usize>(
    sums: &mut Sums<V, R, N>,
    lhs: impl Fn(usize) -> *const V::E,
    rhs: *const V::E,
) {
    // SAFETY: the tile's elements are readable by the caller's promise.
    unsafe {
        let mut b = [V::splat(V::E::default()); N];
        for (j, b) in b.iter_mut().enumerate() {
            *b = V::load(rhs.add(j * V::LANES));
        }
        for (i, sums) in sums.iter_mut().enumerate() {
            let a = V::splat(*lhs(i));
            for (sum, &b) in sums.iter_mut().zip(&b) {
                *sum = a.product(b, *sum);
            }
        }
    }
}

/// The output's lines are fetched while the products are summed, one row every few steps: all at once they
/// would hold up the operands.
#[inline(always)]
pub(super) unsafe fn tile<V: Vector, const R: usize, const N: usize, const PACKED: bool>(t: &Tile<V::E>) {
    // SAFETY: the tile's elements are readable and writable by the caller's promise.
    unsafe {
        let mut sums = [[V::splat(V::E::default()); N]; R];
        let (mut lhs, mut rhs, mut line) = (t.lhs, t.rhs, t.out.cast_const());
        let [row, column] = if PACKED { [1, R as isize] } else { t.lhs_strides };
        // Not a closure: one that is called twice may stay a function of its own, which the instruction set's
        // functions are not compiled into.
        macro_rules! advance {
            () => {
                step(&mut sums, |i| lhs.offset(i as isize * row), rhs);
                lhs = lhs.wrapping_offset(column);
                rhs = rhs.wrapping_offset(t.rhs_stride);
            };
        }
        let share = t.k / (R + 4);
        for _ in 0..R {
            for j in 0..N {
                V::prefetch(line.wrapping_add(j * V::LANES));
            }
            line = line.wrapping_offset(t.out_stride);
            for _ in 0..share {
                advance!();
            }
        }
        for _ in share * R..t.k {
            advance!();
        }
        write(&sums, t.out, t.out_stride, t.alpha, t.add);
    }
}

#[inline(always)]
pub(super) unsafe fn taps<V: Vector, const R: usize, const N: usize>(t: &Taps<V::E>) {
    // SAFETY: as for `tile`; there are `k` offsets.
    unsafe {
        let mut sums = [[V::splat(V::E::default()); N]; R];
        let mut lhs = t.lhs;
        for &offset in std::slice::from_raw_parts(t.offsets, t.k) {
            step(&mut sums, |i| lhs.add(i), t.rhs.offset(offset));
            lhs = lhs.wrapping_add(R);
        }
        write(&sums, t.out, t.out_stride, V::E::from_f64(1.0), t.add);
    }
}

#[inline(always)]
pub(super) unsafe fn lines<V: Vector, const R: usize, const N: usize>(t: &LinesTile<V::E>) {
    // SAFETY: as for `tile`.
    unsafe {
        let mut sums = [[V::splat(V::E::default()); N]; R];
        let mut rhs = t.rhs;
        for line in 0..t.lines as isize {
            let start = line * t.pitch;
            for at in start..start + t.run as isize {
                step(&mut sums, |i| t.lhs[i].offset(at), rhs);
                rhs = rhs.wrapping_offset(t.rhs_stride);
            }
        }
        write(&sums, t.out, t.out_stride, V::E::from_f64(1.0), true);
    }
}

#[inline(always)]
unsafe fn write<V: Vector, const R: usize, const N: usize>(
    sums: &Sums<V, R, N>,
    out: *mut V::E,
    stride: isize,
    alpha: V::E,
    add: bool,
) {
    // SAFETY: as for `tile`.
    unsafe {
        let alpha = V::splat(alpha);
        for (i, sums) in sums.iter().enumerate() {
            for (j, sum) in sums.iter().enumerate() {
                let at = out.offset(i as isize * stride).add(j * V::LANES);
                let value = if add { sum.mul_add(alpha, V::load(at)) } else { sum.mul(alpha) };
                value.store(at);
            }
        }
    }
}

#[inline(always)]
pub(super) unsafe fn dots<V: Vector, const R: usize, const C: usize>(d: &Dots<V::E>) {
    // SAFETY: rows and others have `k` readable elements, by the caller's promise.
    unsafe {
        let mut sums = [[V::splat(V::E::default()); C]; R];
        let whole = d.k - d.k % V::LANES;
        for p in (0..whole).step_by(V::LANES) {
            let mut b = [V::splat(V::E::default()); C];
            for (j, b) in b.iter_mut().enumerate() {
                *b = V::load(d.others.offset(j as isize * d.other_stride).add(p));
            }
            for (i, sums) in sums.iter_mut().enumerate() {
                let a = V::load(d.rows.offset(i as isize * d.row_stride).add(p));
                for (sum, &b) in sums.iter_mut().zip(&b) {
                    *sum = a.mul_add(b, *sum);
                }
            }
        }
        // Stored by a loop that is unrolled: sums that a longer loop looks at would be stored at every step above.
        let mut lanes = [[[V::E::default(); MOST_LANES]; C]; R];
        for (sums, lanes) in sums.iter().zip(&mut lanes) {
            for (sum, lanes) in sums.iter().zip(lanes) {
                sum.store(lanes.as_mut_ptr());
            }
        }
        for (i, lanes) in lanes.iter_mut().enumerate() {
            let row = d.rows.offset(i as isize * d.row_stride);
            for (j, lanes) in lanes.iter_mut().enumerate() {
                let other = d.others.offset(j as isize * d.other_stride);
                let mut total = across::<V>(lanes);
                for p in whole..d.k {
                    total = total + *row.add(p) * *other.add(p);
                }
                let at = d.out.offset(i as isize * d.out_strides[0] + j as isize * d.out_strides[1]);
                *at = if d.add { *at + d.alpha * total } else { d.alpha * total };
            }
        }
    }
}

/// No vector has more.
pub(super) const MOST_LANES: usize = 16;

/// The sum of a vector's elements, halves first.
#[inline(always)]
fn across<V: Vector>(lanes: &mut [V::E; MOST_LANES]) -> V::E {
    let mut half = V::LANES / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] = lanes[i] + lanes[i + half];
        }
        half /= 2;
    }
    lanes[0]
}

pub(super) unsafe fn transpose<E: Copy, const LANES: usize>(
    from: *const E,
    stride: isize,
    rows: usize,
    to: *mut E,
    width: usize,
) {
    for p in 0..LANES {
        for i in 0..rows {
            // SAFETY: the caller's promise.
            unsafe { *to.add(p * width + i) = *from.offset(i as isize * stride + p as isize) };
        }
    }
}

#[cfg(target_arch = "x86_64")]
macro_rules! vector {
    ($v:ident, $e:ty, $lanes:literal, $set1:ident, $load:ident, $store:ident, $fma:ident, $mul:ident) => {
        impl Vector for $v {
            type E = $e;
            const LANES: usize = $lanes;
            #[inline(always)]
            unsafe fn splat(value: $e) -> Self {
                // SAFETY: only code compiled for the instruction set gets here.
                unsafe { $set1(value) }
            }
            #[inline(always)]
            unsafe fn load(from: *const $e) -> Self {
                // SAFETY: as above, and the caller's promise.
                unsafe { $load(from) }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $e) {
                // SAFETY: as above.
                unsafe { $store(to, self) }
            }
            #[inline(always)]
            unsafe fn mul_add(self, b: Self, c: Self) -> Self {
                // SAFETY: as above.
                unsafe { $fma(self, b, c) }
            }
            #[inline(always)]
            unsafe fn mul(self, b: Self) -> Self {
                // SAFETY: as above.
                unsafe { $mul(self, b) }
            }
            #[inline(always)]
            unsafe fn prefetch(at: *const $e) {
                // SAFETY: a prefetch of any address has no effect but on caches.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
pub(super) use vector;

/// Tables of one instruction set: a tile per number of rows.
macro_rules! tables {
    ($name:ident, $v:ty, $e:ty, $transpose:expr, [$($rows:literal)*], [$($tall:ty: $n:literal)*] $(, $feature:literal)?) => {
        pub(crate) mod $name {
            use super::*;

            $(#[target_feature(enable = $feature)])?
            unsafe fn strided<const R: usize, const N: usize>(t: &Tile<$e>) {
                // SAFETY: the caller's promise.
                unsafe { tile::<$v, R, N, false>(t) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn packed<const R: usize, const N: usize>(t: &Tile<$e>) {
                // SAFETY: the caller's promise.
                unsafe { tile::<$v, R, N, true>(t) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn by_taps<const R: usize, const N: usize>(t: &Taps<$e>) {
                // SAFETY: the caller's promise.
                unsafe { taps::<$v, R, N>(t) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn by_lines<const R: usize, const N: usize>(t: &LinesTile<$e>) {
                // SAFETY: the caller's promise.
                unsafe { lines::<$v, R, N>(t) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn sums<const R: usize, const C: usize>(d: &Dots<$e>) {
                // SAFETY: the caller's promise.
                unsafe { dots::<$v, R, C>(d) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn by_rows<V: Vector<E = $e>, const N: usize, const H: usize>(t: &Tall<$e>) {
                // SAFETY: the caller's promise.
                unsafe { tall::<V, N, H>(t) }
            }

            pub(crate) static TILES: Tiles<$e> = Tiles {
                lanes: <$v>::LANES,
                rows: [$($rows),*].len(),
                strided: [&[$(strided::<$rows, 1>),*], &[$(strided::<$rows, 2>),*]],
                packed: [&[$(packed::<$rows, 1>),*], &[$(packed::<$rows, 2>),*]],
                taps: [&[$(by_taps::<$rows, 1>),*], &[$(by_taps::<$rows, 2>),*]],
                lines: [&[$(by_lines::<$rows, 1>),*], &[$(by_lines::<$rows, 2>),*]],
                transpose: $transpose,
                dots: &[sums::<4, 1>, sums::<4, 2>, sums::<4, 3>, sums::<4, 4>],
                dot: &[sums::<1, 1>, sums::<1, 2>, sums::<1, 3>, sums::<1, 4>],
                tall: &[$((
                    $n * <$tall>::LANES,
                    [by_rows::<$tall, $n, 3>, by_rows::<$tall, $n, 5>, by_rows::<$tall, $n, 7>],
                )),*],
            };
        }
    };
}

pub(super) use tables;

/// Tables of packed tiles alone, for operands that are never read in place.
#[cfg(target_arch = "x86_64")]
macro_rules! pairs {
    ($name:ident, $v:ty, $transpose:expr, [$($rows:literal)*], $feature:literal) => {
        pub(crate) mod $name {
            use super::*;

            #[target_feature(enable = $feature)]
            unsafe fn packed<const R: usize, const N: usize>(t: &Tile<f32>) {
                // SAFETY: the caller's promise.
                unsafe { tile::<$v, R, N, true>(t) }
            }

            pub(crate) static TILES: Tiles<f32> = Tiles {
                lanes: <$v>::LANES,
                rows: [$($rows),*].len(),
                strided: [&[], &[]],
                packed: [&[$(packed::<$rows, 1>),*], &[$(packed::<$rows, 2>),*]],
                taps: [&[], &[]],
                lines: [&[], &[]],
                transpose: $transpose,
                dots: &[],
                dot: &[],
                tall: &[],
            };
        }
    };
}
#[cfg(target_arch = "x86_64")]
pub(super) use pairs;

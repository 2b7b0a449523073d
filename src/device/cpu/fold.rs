//! Folding many values into one, over slices: lanes that vectorise, widened after a few values and joined in a
//! tree, so that sums stay accurate.

use super::convert::Compute;
use super::isa::{Baseline, Isa};
use super::math::{Lane, Real};

/// A number that folds work with.
pub(super) trait Value: Copy {
    const ZERO: Self;
    const ONE: Self;
    const LOWEST: Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// NaN where one is.
    fn larger(self, other: Self) -> Self;
    /// Its bits where `by` has none, the others where it has them: what is largest among others becomes smallest.
    fn turned(self, by: Self) -> Self;
    fn exp(self) -> Self;
}

macro_rules! real_value {
    ($t:ty) => {
        impl<I: Isa> Value for Lane<$t, I> {
            const ZERO: Self = Lane::new(0.0);
            const ONE: Self = Lane::new(1.0);
            const LOWEST: Self = Lane::new(<$t>::NEG_INFINITY);
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                self.maximum(other)
            }
            #[inline(always)]
            fn turned(self, by: Self) -> Self {
                Lane::new(<$t>::from_bits(self.0.to_bits() ^ by.0.to_bits()))
            }
            #[inline(always)]
            fn exp(self) -> Self {
                Real::exp(self)
            }
        }
    };
}

real_value!(f32);
real_value!(f64);

impl<I: Isa> Value for Lane<i64, I> {
    const ZERO: Self = Lane::new(0);
    const ONE: Self = Lane::new(1);
    const LOWEST: Self = Lane::new(i64::MIN);
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Lane::new(self.0.wrapping_add(other.0))
    }
    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Lane::new(self.0.wrapping_sub(other.0))
    }
    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Lane::new(self.0.wrapping_mul(other.0))
    }
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        Lane::new(self.0.max(other.0))
    }
    #[inline(always)]
    fn turned(self, by: Self) -> Self {
        Lane::new(self.0 ^ by.0)
    }
    /// Not asked for: what takes exponentials computes in floats.
    #[inline(always)]
    fn exp(self) -> Self {
        self
    }
}

/// A way to fold values, each perhaps relative to a centre, into one.
pub(super) trait Fold: Send + Sync + 'static {
    /// `add` uses its centre.
    const CENTRED: bool = false;
    /// `add` is more than an instruction or two.
    const LONG: bool = false;
    /// It keeps one of the values.
    const PICKS: bool = false;
    /// Its values are multiplied.
    const MULTIPLIES: bool = false;
    /// It is asked for of every dtype.
    const COMMON: bool = !Self::MULTIPLIES && (Self::PICKS || !Self::CENTRED);
    fn start<V: Value>() -> V;
    fn add<V: Value>(sum: V, x: V, centre: V) -> V;
    fn join<V: Value>(a: V, b: V) -> V;
}

macro_rules! folds {
    ($($(#[$doc:meta])* $name:ident $centred:literal $long:literal $picks:literal $multiplies:literal, $start:ident ($sum:ident $x:ident $centre:ident) $add:expr, $join:ident;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;
        impl Fold for $name {
            const CENTRED: bool = $centred;
            const LONG: bool = $long;
            const PICKS: bool = $picks;
            const MULTIPLIES: bool = $multiplies;
            #[inline(always)]
            fn start<V: Value>() -> V {
                V::$start
            }
            #[inline(always)]
            #[allow(unused_variables, reason = "few folds have a centre")]
            fn add<V: Value>($sum: V, $x: V, $centre: V) -> V {
                $add
            }
            #[inline(always)]
            fn join<V: Value>(a: V, b: V) -> V {
                a.$join(b)
            }
        }
    )*};
}

folds! {
    Sum false false false false, ZERO (sum x c) sum.plus(x), plus;
    /// Squares of distances to the centre.
    Spread true false false false, ZERO (sum x c) sum.plus(x.minus(c).times(x.minus(c))), plus;
    /// Exponentials of distances to the centre.
    Exponentials true true false false, ZERO (sum x c) sum.plus(x.minus(c).exp()), plus;
    Product false false false true, ONE (sum x c) sum.times(x), times;
    Largest false false true false, LOWEST (sum x c) sum.larger(x), larger;
    /// The largest of values that are turned by the centre: with [`Folded::TURN`] there, the smallest, turned.
    Extreme true false true false, LOWEST (sum x c) sum.larger(x.turned(c)), larger;
}

/// A compute type that folds, and the wider type between blocks.
pub(crate) trait Folded: Compute {
    type Wide: Compute;
    type Key: Copy + Ord;
    /// What turns the order of values around.
    const TURN: Self;
    /// As [`Value::turned`].
    fn turned(self, by: Self) -> Self;
    fn start<F: Fold>() -> Self;
    fn add<F: Fold, I: Isa>(sum: Self, x: Self, centre: Self) -> Self;
    fn widen(self) -> Self::Wide;
    fn narrow(wide: Self::Wide) -> Self;
    fn wide_start<F: Fold>() -> Self::Wide;
    fn wide_join<F: Fold>(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    /// A whole number that lies among others as the value does; NaN lies above all.
    fn key(self) -> Self::Key;
    fn of_key(key: Self::Key) -> Self;
}

macro_rules! folded {
    ($t:ty, $wide:ty, $key:ty, $keys:tt) => {
        impl Folded for $t {
            type Wide = $wide;
            type Key = $key;
            #[inline(always)]
            fn turned(self, by: $t) -> $t {
                Value::turned(Lane::<$t, Baseline>::new(self), Lane::new(by)).0
            }
            #[inline(always)]
            fn start<F: Fold>() -> $t {
                F::start::<Lane<$t, Baseline>>().0
            }
            #[inline(always)]
            fn add<F: Fold, I: Isa>(sum: $t, x: $t, centre: $t) -> $t {
                F::add(Lane::<$t, I>::new(sum), Lane::new(x), Lane::new(centre)).0
            }
            #[inline(always)]
            fn widen(self) -> $wide {
                self as $wide
            }
            #[inline(always)]
            fn narrow(wide: $wide) -> $t {
                wide as $t
            }
            #[inline(always)]
            fn wide_start<F: Fold>() -> $wide {
                F::start::<Lane<$wide, Baseline>>().0
            }
            #[inline(always)]
            fn wide_join<F: Fold>(a: $wide, b: $wide) -> $wide {
                F::join(Lane::<$wide, Baseline>::new(a), Lane::new(b)).0
            }
            keys! { $t, $key, $keys }
        }
    };
}

/// The bits of a float lie as it does, but for those under a minus sign, which lie the other way.
macro_rules! keys {
    ($t:ty, $key:ty, float) => {
        const TURN: $t = -0.0;
        #[inline(always)]
        fn key(self) -> $key {
            let bits = if self.is_nan() { <$t>::NAN } else { self }.to_bits() as $key;
            bits ^ ((bits >> (<$key>::BITS - 1)) & <$key>::MAX)
        }
        #[inline(always)]
        fn of_key(key: $key) -> $t {
            let value = <$t>::from_bits((key ^ ((key >> (<$key>::BITS - 1)) & <$key>::MAX)) as _);
            if value.is_nan() { <$t>::NAN } else { value }
        }
    };
    ($t:ty, $key:ty, whole) => {
        const TURN: $t = -1;
        #[inline(always)]
        fn key(self) -> $key {
            self
        }
        #[inline(always)]
        fn of_key(key: $key) -> $t {
            key
        }
    };
}

folded!(f32, f64, i32, float);
folded!(f64, f64, i64, float);
folded!(i64, i64, i64, whole);

/// Lanes of a run: the widest vector of f32, so that a block reads neighbouring cache lines in order.
const LANES: usize = 16;
/// Values that a lane takes before it is widened: few, so that sums lose next to nothing.
const NARROW: usize = 8;

/// Folds runs of `n` neighbours, each `apart` elements after the one before, into what has been folded of them so far.
///
/// # Safety
/// The runs must lie in memory that nothing writes meanwhile.
#[inline(always)]
pub(super) unsafe fn fold_runs<F: Fold, C: Folded, I: Isa>(
    to: &mut [C::Wide],
    (first, apart, n): (*const C, isize, usize),
    centres: &[C],
) {
    for (row, (to, &centre)) in to.iter_mut().zip(centres).enumerate() {
        // SAFETY: the caller's promise.
        let xs = unsafe { std::slice::from_raw_parts(first.offset(row as isize * apart), n) };
        *to = C::wide_join::<F>(*to, fold_run::<F, C, I>(xs, centre));
    }
}

/// Folds neighbours.
#[inline(always)]
pub(crate) fn fold_run<F: Fold, C: Folded, I: Isa>(xs: &[C], centre: C) -> C::Wide {
    let (chunks, rest) = xs.as_chunks::<LANES>();
    if chunks.is_empty() {
        return fold_short_run::<F, C, I>(rest, centre);
    }
    if F::PICKS {
        return picked::<F, C>(xs, centre).widen();
    }
    let mut wide = [C::wide_start::<F>(); LANES];
    let (blocks, chunks) = chunks.as_chunks::<NARROW>();
    for block in blocks {
        fold_chunks::<F, C, I, LANES, NARROW>(&mut wide, block, centre);
    }
    let (halves, chunks) = chunks.as_chunks::<{ NARROW / 2 }>();
    for half in halves {
        fold_chunks::<F, C, I, LANES, { NARROW / 2 }>(&mut wide, half, centre);
    }
    if let Some(last) = xs.last_chunk::<LANES>().filter(|_| chunks.len() + rest.len() > 0) {
        fold_end::<F, C, I>(&mut wide, chunks, (last, LANES - rest.len()), centre);
    }
    join_lanes::<F, C, LANES>(wide)
}

/// The largest of values, as numbers that processors compare in one instruction.
#[inline(always)]
fn picked<F: Fold, C: Folded>(xs: &[C], turn: C) -> C {
    let (whole, rest) = xs.split_at(xs.len() - xs.len() % LANES);
    // What is looked at twice changes nothing.
    let end = if rest.is_empty() { rest } else { xs.last_chunk::<LANES>().map_or(xs, |last| last) };
    let mut best = C::start::<F>().key();
    // In a loop: a closure that is called twice may be compiled without the processor's own instructions.
    for part in [whole, end] {
        best = part.iter().fold(best, |best, &x| best.max(if F::CENTRED { x.turned(turn) } else { x }.key()));
    }
    C::of_key(best)
}

/// The largest of fewer values than there are lanes.
#[inline(always)]
fn picked_of_few<F: Fold, C: Folded>(eights: &[[C; 8]], rest: &[C], turn: C) -> C {
    let key = |x: C| if F::CENTRED { x.turned(turn) } else { x }.key();
    let mut best = C::start::<F>().key();
    for eight in eights {
        let [a, b, c, d, e, f, g, h] = eight.map(key);
        best = best.max(a.max(e).max(c.max(g)).max(b.max(f).max(d.max(h))));
    }
    C::of_key(rest.iter().fold(best, |best, &x| best.max(key(x))))
}

/// Folds fewer neighbours than there are lanes.
#[inline(always)]
fn fold_short_run<F: Fold, C: Folded, I: Isa>(xs: &[C], centre: C) -> C::Wide {
    let (eights, rest) = xs.as_chunks::<8>();
    if F::PICKS {
        return picked_of_few::<F, C>(eights, rest, centre).widen();
    }
    let mut total = C::wide_start::<F>();
    if let [eight] = eights {
        let mut wide = [C::wide_start::<F>(); 8];
        fold_chunks::<F, C, I, 8, 1>(&mut wide, std::array::from_ref(eight), centre);
        total = join_lanes::<F, C, 8>(wide);
    }
    if rest.is_empty() {
        return total;
    }
    let add = |sum, &x| C::add::<F, I>(sum, x, centre);
    C::wide_join::<F>(total, rest.iter().fold(C::start::<F>(), add).widen())
}

/// Folds the chunks that are left, and of the `last` values those from a place on, which chunks do not hold.
#[inline(always)]
fn fold_end<F: Fold, C: Folded, I: Isa>(
    wide: &mut [C::Wide; LANES],
    chunks: &[[C; LANES]],
    (last, from): (&[C; LANES], usize),
    centre: C,
) {
    let mut lanes = [C::start::<F>(); LANES];
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = C::add::<F, I>(*lane, x, centre);
        }
    }
    // No lane is stored under a condition: such a store is slow to load again.
    for (j, (wide, lane)) in wide.iter_mut().zip(lanes).enumerate() {
        // SAFETY: `j` is below `LANES`.
        let with = C::add::<F, I>(lane, unsafe { *last.get_unchecked(j) }, centre);
        *wide = C::wide_join::<F>(*wide, if j >= from { with } else { lane }.widen());
    }
}

/// Folds chunks side by side into wide lanes: lane by lane, so that the sums of a block stay in registers.
#[inline(always)]
fn fold_chunks<F: Fold, C: Folded, I: Isa, const N: usize, const DEEP: usize>(
    wide: &mut [C::Wide; N],
    chunks: &[[C; N]; DEEP],
    centre: C,
) {
    for (j, wide) in wide.iter_mut().enumerate() {
        let mut lane = C::start::<F>();
        for chunk in chunks {
            // SAFETY: `j` is below `N`.
            lane = C::add::<F, I>(lane, unsafe { *chunk.get_unchecked(j) }, centre);
        }
        *wide = C::wide_join::<F>(*wide, lane.widen());
    }
}

/// Joins lanes in a tree; `N` is a power of two.
#[inline(always)]
fn join_lanes<F: Fold, C: Folded, const N: usize>(mut lanes: [C::Wide; N]) -> C::Wide {
    let mut width = N;
    while width > 1 {
        width /= 2;
        let (low, high) = lanes.split_at_mut(width);
        for (a, &b) in low.iter_mut().zip(high.iter()) {
            *a = C::wide_join::<F>(*a, b);
        }
    }
    lanes.first().copied().unwrap_or(C::wide_start::<F>())
}

/// Rows up to this long are folded one after another.
pub(crate) const SHORT: usize = 128;

/// Sums at hand, on whole cache lines: what is stored across two of them is slow to load again.
#[repr(align(64))]
struct HeldSums<C>([C; SHORT]);

/// Folds rows into sums that lie side by side; all slices are equally long.
#[inline(always)]
pub(crate) fn fold_rows<F: Fold, C: Folded, I: Isa, const N: usize>(
    sums: &mut [C::Wide],
    rows: [&[C]; N],
    centres: &[C],
) {
    let n = sums.len();
    if rows.iter().any(|row| row.len() != n) || centres.len() != n {
        return;
    }
    if n <= SHORT && N > 1 {
        return fold_short_rows::<F, C, I, N>(sums, rows, centres);
    }
    for (j, sum) in sums.iter_mut().enumerate() {
        let mut folded = C::start::<F>();
        for row in rows {
            // SAFETY: every row has `n` values, and so have the centres.
            let (x, centre) = unsafe {
                let x = *row.get_unchecked(j);
                (x, if F::CENTRED { *centres.get_unchecked(j) } else { x })
            };
            folded = C::add::<F, I>(folded, x, centre);
        }
        *sum = C::wide_join::<F>(*sum, folded.widen());
    }
}

/// The same sums, read row by row: short rows are neighbours, and memory that is read in order comes several times as
/// fast as the same memory read in steps. There are at most [`SHORT`] sums.
#[inline(always)]
pub(crate) fn fold_short_rows<F: Fold, C: Folded, I: Isa, const N: usize>(
    sums: &mut [C::Wide],
    rows: [&[C]; N],
    centres: &[C],
) {
    let mut held = HeldSums([C::start::<F>(); SHORT]);
    let Some(held) = held.0.get_mut(..sums.len()) else { return };
    for row in rows {
        for ((held, &x), &centre) in held.iter_mut().zip(row).zip(centres) {
            *held = C::add::<F, I>(*held, x, if F::CENTRED { centre } else { x });
        }
    }
    for (sum, held) in sums.iter_mut().zip(held) {
        *sum = C::wide_join::<F>(*sum, held.widen());
    }
}

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
    const HIGHEST: Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// NaN where one is.
    fn larger(self, other: Self) -> Self;
    fn smaller(self, other: Self) -> Self;
    fn exp(self) -> Self;
    /// 1 unless it is 0.
    fn truth(self) -> Self;
}

macro_rules! real_value {
    ($t:ty) => {
        impl<I: Isa> Value for Lane<$t, I> {
            const ZERO: Self = Lane::new(0.0);
            const ONE: Self = Lane::new(1.0);
            const LOWEST: Self = Lane::new(<$t>::NEG_INFINITY);
            const HIGHEST: Self = Lane::new(<$t>::INFINITY);
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
            fn smaller(self, other: Self) -> Self {
                self.minimum(other)
            }
            #[inline(always)]
            fn exp(self) -> Self {
                Real::exp(self)
            }
            #[inline(always)]
            fn truth(self) -> Self {
                Lane::flag(self.0 != 0.0)
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
    const HIGHEST: Self = Lane::new(i64::MAX);
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
    fn smaller(self, other: Self) -> Self {
        Lane::new(self.0.min(other.0))
    }
    /// Not asked for: what takes exponentials computes in floats.
    #[inline(always)]
    fn exp(self) -> Self {
        self
    }
    #[inline(always)]
    fn truth(self) -> Self {
        Lane::new(i64::from(self.0 != 0))
    }
}

/// A way to fold values, each perhaps relative to a centre, into one.
pub(super) trait Fold: Send + Sync + 'static {
    /// `add` uses its centre.
    const CENTRED: bool = false;
    /// `add` is more than an instruction or two.
    const LONG: bool = false;
    fn start<V: Value>() -> V;
    fn add<V: Value>(sum: V, x: V, centre: V) -> V;
    fn join<V: Value>(a: V, b: V) -> V;
}

macro_rules! folds {
    ($($(#[$doc:meta])* $name:ident $centred:literal $long:literal $start:ident ($sum:ident $x:ident $centre:ident) $add:expr, $join:ident;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;
        impl Fold for $name {
            const CENTRED: bool = $centred;
            const LONG: bool = $long;
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
    Sum false false ZERO (sum x c) sum.plus(x), plus;
    Squares false false ZERO (sum x c) sum.plus(x.times(x)), plus;
    /// Squares of distances to the centre.
    Spread true false ZERO (sum x c) sum.plus(x.minus(c).times(x.minus(c))), plus;
    /// Exponentials of distances to the centre.
    Exponentials true true ZERO (sum x c) sum.plus(x.minus(c).exp()), plus;
    Product false false ONE (sum x c) sum.times(x), times;
    Largest false false LOWEST (sum x c) sum.larger(x), larger;
    Smallest false false HIGHEST (sum x c) sum.smaller(x), smaller;
    All false false ONE (sum x c) sum.times(x.truth()), times;
    Any false false ZERO (sum x c) sum.larger(x.truth()), larger;
}

/// A compute type that folds, and the wider type between blocks.
pub(crate) trait Folded: Compute {
    type Wide: Compute;
    fn start<F: Fold>() -> Self;
    fn add<F: Fold, I: Isa>(sum: Self, x: Self, centre: Self) -> Self;
    fn widen(self) -> Self::Wide;
    fn narrow(wide: Self::Wide) -> Self;
    fn wide_start<F: Fold>() -> Self::Wide;
    fn wide_join<F: Fold>(a: Self::Wide, b: Self::Wide) -> Self::Wide;
}

macro_rules! folded {
    ($t:ty, $wide:ty) => {
        impl Folded for $t {
            type Wide = $wide;
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
        }
    };
}

folded!(f32, f64);
folded!(f64, f64);
folded!(i64, i64);

/// Lanes of a run: the widest vector of f32, so that a block reads neighbouring cache lines in order.
const LANES: usize = 16;
/// Values that a lane takes before it is widened: few, so that sums lose next to nothing.
const NARROW: usize = 8;

/// Folds neighbours.
#[inline(always)]
pub(crate) fn fold_run<F: Fold, C: Folded, I: Isa>(xs: &[C], centre: C) -> C::Wide {
    let (chunks, rest) = xs.as_chunks::<LANES>();
    let mut total = C::wide_start::<F>();
    if !chunks.is_empty() {
        let mut wide = [C::wide_start::<F>(); LANES];
        let (blocks, chunks) = chunks.as_chunks::<NARROW>();
        for block in blocks {
            fold_chunks::<F, C, I, LANES, NARROW>(&mut wide, block, centre);
        }
        let (halves, chunks) = chunks.as_chunks::<{ NARROW / 2 }>();
        for half in halves {
            fold_chunks::<F, C, I, LANES, { NARROW / 2 }>(&mut wide, half, centre);
        }
        for chunk in chunks {
            fold_chunks::<F, C, I, LANES, 1>(&mut wide, std::array::from_ref(chunk), centre);
        }
        total = join_lanes::<F, C, LANES>(wide);
    }
    let (eights, rest) = rest.as_chunks::<8>();
    if !eights.is_empty() {
        let mut wide = [C::wide_start::<F>(); 8];
        for eight in eights {
            fold_chunks::<F, C, I, 8, 1>(&mut wide, std::array::from_ref(eight), centre);
        }
        total = C::wide_join::<F>(total, join_lanes::<F, C, 8>(wide));
    }
    if !rest.is_empty() {
        let add = |sum, &x| C::add::<F, I>(sum, x, centre);
        total = C::wide_join::<F>(total, rest.iter().fold(C::start::<F>(), add).widen());
    }
    total
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

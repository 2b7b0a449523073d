//! A filter of one channel, as those of a depthwise convolution are.

use crate::device::cpu::gemm::tall::{TALL, TALL_HEIGHTS, Tall};
use crate::device::cpu::gemm::tiles::Real;
use crate::device::cpu::isa::{self, Isa, Work};

/// Places that are summed at once for one channel: as many vectors as hide each other's waits, and what is left of those.
const WIDE: usize = 64;
pub(super) const NARROW: usize = 8;

/// A filter of one channel, as those of a depthwise convolution are: a tile of one row would be called for each panel of
/// two vectors, and wait for its own sums.
pub(super) struct OneFilter<'a, E> {
    /// One for each of the offsets, and perhaps more.
    pub weights: &'a [E],
    pub offsets: &'a [isize],
    /// The picture at the strip's first place.
    pub from: *const E,
}

impl<E: Real> OneFilter<'_, E> {
    /// The sums of panels that begin at these places.
    #[inline(always)]
    fn panels<I: Isa, const N: usize, const P: usize>(&self, at: [usize; P]) -> [[E; N]; P] {
        let mut sums = [[E::default(); N]; P];
        for (&weight, &offset) in self.weights.iter().zip(self.offsets) {
            for (sum, &at) in sums.iter_mut().zip(&at) {
                // SAFETY: the picture has room around it for every tap at every place, and past its end for a whole panel.
                let values = unsafe { &*self.from.offset(offset + at as isize).cast::<[E; N]>() };
                for (sum, &value) in sum.iter_mut().zip(values) {
                    *sum = weight.fma::<I>(value, *sum);
                }
            }
        }
        sums
    }

    /// Whether its taps are so many rows of a picture, each a pitch below the one before.
    fn is_of(&self, height: usize, pitch: usize) -> bool {
        let across = self.offsets.len() / height;
        let mut below = self.offsets.iter().zip(self.offsets.iter().skip(across));
        across * height == self.offsets.len() && below.all(|(&a, &b)| b == a + pitch as isize)
    }
}

/// The sums of a strip's places, those between rows included.
pub(super) struct FilteredPlaces<'a, E> {
    pub filter: OneFilter<'a, E>,
    pub sums: &'a mut [E],
}

impl<E: Real> Work for FilteredPlaces<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let (wide, rest) = self.sums.as_chunks_mut::<WIDE>();
        let done = wide.len() * WIDE;
        for (i, to) in wide.iter_mut().enumerate() {
            [*to] = self.filter.panels::<I, WIDE, 1>([i * WIDE]);
        }
        let (narrow, rest) = rest.as_chunks_mut::<NARROW>();
        let last = done + narrow.len() * NARROW;
        for (i, to) in narrow.iter_mut().enumerate() {
            [*to] = self.filter.panels::<I, NARROW, 1>([done + i * NARROW]);
        }
        for (i, to) in rest.iter_mut().enumerate() {
            [[*to]] = self.filter.panels::<I, 1, 1>([last + i]);
        }
    }
}

/// Rows of sums, which lie `pitch` apart in the picture and `width` in the output. A row's last panel may begin within the
/// one before it: what both hold is the same.
pub(super) struct FilteredRows<'a, E> {
    pub filter: OneFilter<'a, E>,
    pub bias: E,
    pub rows: usize,
    /// At least a [`NARROW`] panel.
    pub columns: usize,
    pub pitch: usize,
    /// The first row's place in the output, which has room for all of them.
    pub to: *mut E,
    pub width: usize,
}

impl<E: Real> FilteredRows<'_, E> {
    /// Sums and writes all of them.
    pub(super) fn write(self) {
        let tiles = E::tiles();
        let heights = TALL_HEIGHTS.into_iter().filter(|_| self.rows >= TALL);
        let height = heights.into_iter().find(|&height| self.filter.is_of(height, self.pitch));
        let Some((height, compute)) = height.and_then(|h| Some((h, tiles.tall(h, self.columns)?))) else {
            return isa::dispatch(self);
        };
        let tall = Tall {
            across: self.filter.offsets.len() / height,
            factors: self.filter.weights.as_ptr(),
            offsets: self.filter.offsets.as_ptr(),
            from: self.filter.from,
            pitch: self.pitch,
            rows: self.rows,
            columns: self.columns,
            to: self.to,
            width: self.width,
            bias: self.bias,
        };
        // SAFETY: the picture has room around it for every tap at every place, and the maker's promise.
        unsafe { compute(&tall) };
    }

    /// Panels of `N` columns, four at once, be they of one row or of several.
    #[inline(always)]
    fn panels<I: Isa, const N: usize>(&self) {
        let last = self.columns - N;
        let panels = self.rows * self.columns.div_ceil(N);
        let mut next = (0, 0);
        for _ in (0..panels).step_by(4) {
            let places: [_; 4] = std::array::from_fn(|_| {
                let here = next;
                next = match here {
                    // The last panel may be written more than once.
                    (row, column) if column == last => {
                        if row + 1 < self.rows {
                            (row + 1, 0)
                        } else {
                            here
                        }
                    }
                    (row, column) => (row, (column + N).min(last)),
                };
                here
            });
            let sums = self.filter.panels::<I, N, 4>(places.map(|(row, column)| row * self.pitch + column));
            for ((row, column), sum) in places.into_iter().zip(sums) {
                // SAFETY: the maker's promise.
                unsafe { *self.to.add(row * self.width + column).cast() = sum.map(|v| v + self.bias) };
            }
        }
    }
}

impl<E: Real> Work for FilteredRows<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        if self.columns >= 16 {
            self.panels::<I, 16>();
        } else {
            self.panels::<I, NARROW>();
        }
    }
}

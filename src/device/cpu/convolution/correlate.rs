//! Correlations of padded pictures with filters, in tiles.

use std::ops::Range;

use crate::base::{Result, memory};
use crate::device::cpu::convolution::tap::Tap;
use crate::device::cpu::gemm::RowBlocks;
use crate::device::cpu::gemm::operand::{Matrix, Operand, SLACK};
use crate::device::cpu::gemm::tiles::{Real, Taps};
use crate::device::cpu::isa;
use crate::device::cpu::parallel::{self, SharedMut};
use crate::device::cpu::scratch::{Kept, zeros};
use crate::device::kernel::Launch;

use super::one_filter::{FilteredPlaces, FilteredRows, NARROW, OneFilter};
use super::plane::Planes;

/// One filter bank over a group of channels, writing some channels (and perhaps some pixels) of the output.
pub(crate) struct FilterBank<E> {
    /// Rows of the product: channels written.
    m: usize,
    /// The weights in the order of the tiles, block of taps by block of taps.
    packed: Vec<E>,
    offsets: Vec<isize>,
    /// Rows and columns of outputs.
    size: [usize; 2],
    /// The first channel written, and which of its pixels.
    first: usize,
    stride: [usize; 2],
    start: [usize; 2],
}

/// Taps that are summed before the output is touched.
const TAP_BLOCK: usize = 256;

impl<E: Real> FilterBank<E> {
    /// `weight(row, k)` is the factor of tap `k` for output channel `row`.
    pub(super) fn new(
        planes: &Planes,
        taps: &[Tap],
        m: usize,
        size: [usize; 2],
        first: usize,
        weight: impl Fn(usize, usize) -> Option<E>,
    ) -> Result<FilterBank<E>> {
        let depth = taps.len();
        let mut matrix = zeros::<E>(memory::count::<E>(&[m, depth])?)?;
        for (row, line) in matrix.chunks_exact_mut(depth.max(1)).enumerate() {
            for (k, value) in line.iter_mut().enumerate() {
                *value = weight(row, k).unwrap_or_default();
            }
        }
        let mut packed = zeros::<E>(m * depth + SLACK)?;
        // SAFETY: the matrix holds `m` rows of `depth`.
        let operand = unsafe { Matrix::of(matrix.as_ptr(), [depth as isize, 1]) };
        let rows = RowBlocks::new(m, E::tiles().rows);
        for (at, range, k) in blocks(&rows, depth) {
            let width = range.len();
            // SAFETY: blocks follow each other in the packed memory, which has the slack past its end.
            unsafe { operand.pack(range, k, packed.as_mut_ptr().add(at), width) };
        }
        let offsets = memory::collected(taps.iter().map(|&tap| planes.offset(tap)))?;
        Ok(FilterBank { m, packed, offsets, size, first, stride: [1, 1], start: [0, 0] })
    }

    /// Writes pixel `start + stride * i` for output `i`.
    pub(super) fn every(self, stride: [usize; 2], start: [usize; 2]) -> FilterBank<E> {
        FilterBank { stride, start, ..self }
    }

    /// One channel whose rows are written as they lie, each at least a [`NARROW`] panel.
    fn by_rows(&self) -> bool {
        self.m == 1 && self.stride == [1, 1] && self.size[1] >= NARROW
    }

    /// Places along the picture's memory that outputs lie at, those between rows included.
    fn places(&self, pitch: usize) -> usize {
        match self.size {
            [0, _] | [_, 0] => 0,
            [rows, columns] => (rows - 1) * pitch + columns,
        }
    }
}

/// Where the packed weights of each block of taps and rows lie.
fn blocks(rows: &RowBlocks, depth: usize) -> impl Iterator<Item = (usize, Range<usize>, Range<usize>)> {
    let mut at = 0;
    (0..depth)
        .step_by(TAP_BLOCK)
        .flat_map(move |start| {
            let k = start..(start + TAP_BLOCK).min(depth);
            rows.ranges().map(move |r| (r, k.clone()))
        })
        .map(move |(r, k)| {
            let here = at;
            at += r.len() * k.len();
            (here, r, k)
        })
}

/// A correlation of images with the filters of its parts.
pub(crate) struct Correlation<'a, E> {
    pub planes: &'a Planes,
    /// As many for each group, one group after the other.
    pub parts: Vec<FilterBank<E>>,
    pub groups: usize,
    /// Row-major images of `groups` times the planes' channels.
    pub source: &'a [E],
    pub to_channels: usize,
    pub to_size: [usize; 2],
    /// For each channel written.
    pub bias: Option<&'a [E]>,
}

thread_local! {
    static PICTURE: Kept = const { Kept::new() };
    static STRIP: Kept = const { Kept::new() };
}

/// Places of a strip: what is summed for all channels before it goes to the output.
const STRIP_PLACES: usize = 512;

/// The same where a strip is whole rows of one channel.
const ROW_PLACES: usize = 4096;

/// Rows of the longest tile, and places of the widest, that may be read past a picture's end.
const OVERRUN: usize = 64;

impl<E: Real> Correlation<'_, E> {
    /// Computes all images.
    pub(super) fn run(&self, launch: &Launch, images: usize, out: &mut [E]) -> Result<()> {
        let image = self.to_channels * self.to_size.iter().product::<usize>();
        if self.parts.iter().any(|p| p.offsets.is_empty() || p.places(self.planes.pitch) == 0) {
            // Nothing reaches some of the pixels.
            fill(out, image, self.bias, self.to_channels);
        }
        let out = CorrelationOutput { pointer: out.as_mut_ptr(), len: out.len() };
        let jobs = images * self.groups;
        let room = self.planes.room(OVERRUN);
        if jobs >= 4 * parallel::threads() {
            let grain = jobs.div_ceil(64).min(4);
            return parallel::try_for_ranges(jobs, grain, launch.cancel, |jobs| {
                PICTURE.with(|kept| {
                    kept.lend(room, |picture: &mut [E]| {
                        picture.fill(E::default());
                        for job in jobs {
                            for channel in 0..self.planes.channels {
                                let at = self.planes.range(channel);
                                self.copy(job, channel, picture.get_mut(at).unwrap_or(&mut []));
                            }
                            for strip in self.strips(job) {
                                self.strip(&strip, picture, &out)?;
                            }
                        }
                        Ok(())
                    })
                })
            });
        }
        let mut picture = zeros::<E>(room)?;
        (0..jobs).try_for_each(|job| {
            let all = SharedMut::new(&mut picture);
            let cost = parallel::grain(self.planes.range(0).len());
            parallel::for_ranges(self.planes.channels, cost, launch.cancel, |channels| {
                for channel in channels {
                    // SAFETY: channels have planes of their own.
                    self.copy(job, channel, unsafe { all.slice(self.planes.range(channel)) });
                }
            })?;
            let strips: Vec<Strip<E>> = memory::collected(self.strips(job))?;
            parallel::try_for_ranges(strips.len(), 1, launch.cancel, |range| {
                strips
                    .get(range)
                    .unwrap_or(&[])
                    .iter()
                    .try_for_each(|strip| self.strip(strip, &picture, &out))
            })
        })
    }

    /// Copies a channel of a job's group of an image to its place in the padded picture.
    fn copy(&self, job: usize, channel: usize, to: &mut [E]) {
        let area = self.planes.area();
        let at = (job * self.planes.channels + channel) * area;
        self.planes.copy(self.source.get(at..at + area).unwrap_or(&[]), to);
    }

    /// The strips of all parts over a job's group.
    fn strips(&self, job: usize) -> impl Iterator<Item = Strip<'_, E>> {
        let (image, group) = (job / self.groups, job % self.groups);
        let each = self.parts.len() / self.groups.max(1);
        let parts = self.parts.iter().skip(group * each).take(each);
        parts.filter(|p| !p.offsets.is_empty()).flat_map(move |part| {
            let places = part.places(self.planes.pitch);
            let step = if part.by_rows() {
                self.planes.pitch * (ROW_PLACES / self.planes.pitch).max(1)
            } else {
                STRIP_PLACES
            };
            (0..places).step_by(step).map(move |start| Strip {
                image,
                part,
                places: start..(start + step).min(places),
            })
        })
    }

    fn strip(&self, strip: &Strip<E>, picture: &[E], out: &CorrelationOutput<E>) -> Result<()> {
        let tiles = E::tiles();
        let part = strip.part;
        if part.by_rows() {
            self.rows(strip, picture, out);
            return Ok(());
        }
        let stride = strip.places.len().next_multiple_of(tiles.width());
        STRIP.with(|kept| {
            kept.lend(part.m * stride, |sums: &mut [E]| {
                let rows = RowBlocks::new(part.m, tiles.rows);
                self.sum(strip, &rows, picture, sums, stride);
                self.emit(strip, sums, stride, out);
                Ok(())
            })
        })
    }

    /// Whole rows of a channel, straight to the output.
    fn rows(&self, strip: &Strip<E>, picture: &[E], out: &CorrelationOutput<E>) {
        let (part, pitch, width) = (strip.part, self.planes.pitch, self.to_size[1]);
        let (first, columns) = (strip.places.start / pitch, part.size[1]);
        // Columns that reach past the places between rows make the last row seem to be several.
        let rows = strip.places.len().div_ceil(pitch).min(part.size[0].saturating_sub(first));
        let plane = (strip.image * self.to_channels + part.first) * self.to_size[0];
        let at = (plane + part.start[0] + first) * width + part.start[1];
        if rows == 0 || at + (rows - 1) * width + columns > out.len {
            return;
        }
        let rows = FilteredRows {
            filter: OneFilter {
                weights: &part.packed,
                offsets: &part.offsets,
                from: picture.as_ptr().wrapping_add(strip.places.start),
            },
            bias: self.bias.and_then(|b| b.get(part.first)).copied().unwrap_or_default(),
            rows,
            columns,
            pitch,
            to: out.pointer.wrapping_add(at),
            width,
        };
        rows.write();
    }

    /// Sums the products of a strip, panel by panel, so that the places a panel reads stay in the first cache.
    fn sum(&self, strip: &Strip<E>, rows: &RowBlocks, picture: &[E], sums: &mut [E], stride: usize) {
        let (tiles, part) = (E::tiles(), strip.part);
        if part.m == 1 {
            let from = picture.as_ptr().wrapping_add(strip.places.start);
            let filter = OneFilter { weights: &part.packed, offsets: &part.offsets, from };
            return isa::dispatch(FilteredPlaces { filter, sums });
        }
        let sums = sums.as_mut_ptr();
        let depth = part.offsets.len();
        for panel in (0..strip.places.len()).step_by(tiles.width()) {
            let vectors = if strip.places.len() - panel > tiles.lanes { 2 } else { 1 };
            let rhs = picture.as_ptr().wrapping_add(strip.places.start + panel);
            for (at, range, k) in blocks(rows, depth) {
                let Some(compute) = tiles.taps(range.len(), vectors) else { return };
                let (add, length) = (k.start > 0, k.len());
                let Some(offsets) = part.offsets.get(k) else { return };
                let taps = Taps {
                    k: length,
                    lhs: part.packed.as_ptr().wrapping_add(at),
                    rhs,
                    offsets: offsets.as_ptr(),
                    out: sums.wrapping_add(range.start * stride + panel),
                    out_stride: stride as isize,
                    add,
                };
                // SAFETY: the picture has room around it for every tap at every place, and past its end for
                // a whole tile; the sums have whole panels.
                unsafe { compute(&taps) };
            }
        }
    }

    /// Brings a strip to the output, without what lies between rows.
    fn emit(&self, strip: &Strip<E>, sums: &[E], stride: usize, out: &CorrelationOutput<E>) {
        let (part, pitch) = (strip.part, self.planes.pitch);
        let [height, width] = self.to_size;
        let [rows, columns] = part.size;
        // Where there are more columns than places between rows, the last ones share theirs with the next row's first.
        let first = strip.places.start.checked_sub(columns).map_or(0, |past| past / pitch + 1);
        let lines = first..strip.places.end.div_ceil(pitch).min(rows);
        for (row, sums) in sums.chunks_exact(stride.max(1)).enumerate().take(part.m) {
            let channel = part.first + row;
            let bias = self.bias.and_then(|b| b.get(channel)).copied().unwrap_or_default();
            let plane = (strip.image * self.to_channels + channel) * height * width;
            for line in lines.clone() {
                let from = (line * pitch).max(strip.places.start);
                let end = (line * pitch + columns).min(strip.places.end);
                if from >= end {
                    continue;
                }
                let values = sums.get(from - strip.places.start..end - strip.places.start).unwrap_or(&[]);
                let column = part.start[1] + (from - line * pitch) * part.stride[1];
                let at = plane + (part.start[0] + line * part.stride[0]) * width + column;
                // SAFETY: parts write different pixels, and strips different places; threads never meet.
                unsafe { out.write(at, part.stride[1], values, bias) };
            }
        }
    }
}

/// The output, for threads that write different elements of it.
struct CorrelationOutput<E> {
    pointer: *mut E,
    len: usize,
}

// SAFETY: what is written through it is up to callers of `write`.
unsafe impl<E> Sync for CorrelationOutput<E> {}

impl<E: Real> CorrelationOutput<E> {
    /// Writes `values` plus `bias` to every `step`-th element from `at` on.
    ///
    /// # Safety
    /// Nothing else may use those elements meanwhile.
    unsafe fn write(&self, at: usize, step: usize, values: &[E], bias: E) {
        let last = at + values.len().saturating_sub(1) * step;
        if values.is_empty() || last >= self.len {
            return;
        }
        let to = self.pointer.wrapping_add(at);
        // SAFETY: the elements lie inside the output.
        unsafe {
            if step == 1 {
                let to = std::slice::from_raw_parts_mut(to, values.len());
                to.iter_mut().zip(values).for_each(|(to, &v)| *to = v + bias);
            } else {
                for (i, &v) in values.iter().enumerate() {
                    *to.add(i * step) = v + bias;
                }
            }
        }
    }
}

/// A stretch of one part's outputs in one image.
struct Strip<'a, E> {
    image: usize,
    part: &'a FilterBank<E>,
    places: Range<usize>,
}

fn fill<E: Real>(out: &mut [E], image: usize, bias: Option<&[E]>, channels: usize) {
    let area = image / channels.max(1);
    for (i, plane) in out.chunks_exact_mut(area.max(1)).enumerate() {
        plane.fill(bias.and_then(|b| b.get(i % channels.max(1))).copied().unwrap_or_default());
    }
}

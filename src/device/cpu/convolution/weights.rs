//! The gradient by the weight: for each tap, the padded picture at the tap times the output's gradient.

use std::ops::Range;

use crate::base::{Result, memory};
use crate::device::cpu::convolution::sizes::ConvolutionSizes;
use crate::device::cpu::convolution::tap::Tap;
use crate::device::cpu::gemm::RowBlocks;
use crate::device::cpu::gemm::operand::{Matrix, Operand, SLACK};
use crate::device::cpu::gemm::tiles::{LinesTile, MOST_ROWS, Real};
use crate::device::cpu::order::SumOrder;
use crate::device::cpu::parallel::{self, SharedMut};
use crate::device::cpu::scratch::{Kept, zeros};
use crate::device::kernel::Launch;

use super::plane::Planes;

/// Writes the gradient of a weight in row-major order.
///
/// Sums over images are cut at places that depend on the sizes alone; the images come in their own order, or in the one
/// that `chance` stands for.
pub(super) fn gradient<E: Real>(
    launch: &Launch,
    sizes: &ConvolutionSizes,
    [dy, x]: [&[E]; 2],
    chance: Option<u64>,
    dw: &mut [E],
) -> Result<()> {
    let (taps, ks): (Vec<Tap>, Vec<usize>) = sizes.taps().into_iter().unzip();
    let planes = Planes::new(sizes.inputs, sizes.input, sizes.stride, sizes.output, &taps);
    let offsets = taps.iter().map(|&tap| planes.offset(tap)).collect();
    let job = WeightsJob {
        launch,
        sizes,
        dy,
        x,
        planes,
        offsets,
        ks,
        order: chance.map(|chance| SumOrder::of(chance, sizes.images)),
        stride: sizes.outputs.next_multiple_of(E::tiles().lanes),
    };
    let sums = if job.length() <= APART { job.by_images()? } else { job.by_taps()? };
    job.write(&sums, dw);
    Ok(())
}

/// Weights up to this many are summed over several stretches of images at once.
const APART: usize = 1 << 17;

/// Those stretches.
const STRETCHES: usize = 16;

thread_local! {
    static PICTURE: Kept = const { Kept::new() };
    static TURNED: Kept = const { Kept::new() };
}

struct WeightsJob<'a, E> {
    launch: &'a Launch<'a>,
    sizes: &'a ConvolutionSizes,
    dy: &'a [E],
    x: &'a [E],
    planes: Planes,
    offsets: Vec<isize>,
    /// The taps' places in the filter.
    ks: Vec<usize>,
    order: Option<SumOrder>,
    /// From tap to tap in the sums, which run along the filters.
    stride: usize,
}

impl<E: Real> WeightsJob<'_, E> {
    /// Elements of the sums: groups, taps, filters.
    fn length(&self) -> usize {
        self.sizes.groups * self.offsets.len() * self.stride
    }

    /// Each image and group among `images`, in their order.
    fn jobs(&self, images: Range<usize>) -> impl Iterator<Item = usize> {
        let (groups, order) = (self.sizes.groups, self.order);
        images.flat_map(move |place| {
            let image = order.map_or(place, |order| order.at(place));
            image * groups..(image + 1) * groups
        })
    }

    fn turned_room(&self) -> usize {
        self.panels().map(|(_, width)| width * self.sizes.area()).sum::<usize>() + SLACK
    }

    /// Filters of a group in panels, with the panels' widths.
    fn panels(&self) -> impl Iterator<Item = (Range<usize>, usize)> {
        let (tiles, n) = (E::tiles(), self.sizes.outputs);
        (0..n).step_by(tiles.width()).map(move |start| {
            let end = (start + tiles.width()).min(n);
            (start..end, if end - start > tiles.lanes { tiles.width() } else { tiles.lanes })
        })
    }

    /// Stretches of images side by side, their sums added up in order.
    fn by_images(&self) -> Result<Vec<E>> {
        let images = self.sizes.images;
        let grain = images.div_ceil(STRETCHES).max(1);
        let stretches = parallel::map_ranges(images, grain, self.launch.cancel, |range| -> Result<Vec<E>> {
            let mut sums = zeros::<E>(self.length())?;
            let room = self.planes.room(0);
            PICTURE.with(|kept| {
                kept.lend(room, |picture: &mut [E]| {
                    picture.fill(E::default());
                    TURNED.with(|kept| {
                        kept.lend(self.turned_room(), |turned: &mut [E]| {
                            for job in self.jobs(range.clone()) {
                                for channel in 0..self.planes.channels {
                                    let at = self.planes.range(channel);
                                    self.copy(job, channel, picture.get_mut(at).unwrap_or(&mut []));
                                }
                                for (place, panel) in self.places() {
                                    self.turn(job, panel, turned.get_mut(place..).unwrap_or(&mut []));
                                }
                                let rows = RowBlocks::new(self.offsets.len(), E::tiles().rows);
                                self.sum(job, 0..rows.count, picture, turned, sums.as_mut_ptr());
                            }
                            Ok(())
                        })
                    })
                })
            })?;
            Ok(sums)
        })?;
        let mut total = zeros::<E>(self.length())?;
        for sums in stretches {
            for (total, part) in total.iter_mut().zip(sums?) {
                *total = *total + part;
            }
        }
        Ok(total)
    }

    /// One image after another, the taps side by side.
    fn by_taps(&self) -> Result<Vec<E>> {
        let mut sums = zeros::<E>(self.length())?;
        let (mut picture, mut turned) = (zeros::<E>(self.planes.room(0))?, zeros::<E>(self.turned_room())?);
        let rows = RowBlocks::new(self.offsets.len(), E::tiles().rows);
        let places = memory::collected(self.places())?;
        for job in self.jobs(0..self.sizes.images) {
            let (to_picture, to_turned) = (SharedMut::new(&mut picture), SharedMut::new(&mut turned));
            let cost = parallel::grain(self.planes.range(0).len());
            parallel::for_ranges(self.planes.channels, cost, self.launch.cancel, |channels| {
                for channel in channels {
                    // SAFETY: channels have planes of their own.
                    self.copy(job, channel, unsafe { to_picture.slice(self.planes.range(channel)) });
                }
            })?;
            parallel::for_ranges(places.len(), 1, self.launch.cancel, |panels| {
                for (place, panel) in places.get(panels).unwrap_or(&[]) {
                    // SAFETY: panels have places of their own.
                    self.turn(job, panel.clone(), unsafe {
                        to_turned.slice(*place..*place + self.panel_room(panel))
                    });
                }
            })?;
            let target = TapSums(sums.as_mut_ptr());
            parallel::for_ranges(rows.count, 4, self.launch.cancel, |blocks| {
                self.sum(job, blocks, &picture, &turned, target.get());
            })?;
        }
        Ok(sums)
    }

    fn copy(&self, job: usize, channel: usize, to: &mut [E]) {
        let area = self.sizes.input.iter().product::<usize>();
        let at = (job * self.planes.channels + channel) * area;
        self.planes.copy(self.x.get(at..at + area).unwrap_or(&[]), to);
    }

    /// Panels of filters, and where each lies in the turned gradient.
    fn places(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let area = self.sizes.area();
        self.panels().scan(0, move |at, (range, width)| {
            let here = *at;
            *at += width * area;
            Some((here, range))
        })
    }

    fn panel_room(&self, panel: &Range<usize>) -> usize {
        panel.len().next_multiple_of(E::tiles().lanes) * self.sizes.area()
    }

    /// Brings a panel of the output's gradient into the order of tiles: pixel by pixel, filters side by side.
    fn turn(&self, job: usize, panel: Range<usize>, to: &mut [E]) {
        let (area, tiles) = (self.sizes.area(), E::tiles());
        let width = if panel.len() > tiles.lanes { tiles.width() } else { tiles.lanes };
        let at = job * self.sizes.outputs * area;
        let from = self.dy.get(at..at + self.sizes.outputs * area).unwrap_or(&[]);
        if from.is_empty() || to.len() < width * area {
            return;
        }
        // SAFETY: the gradient holds the filters' pictures; the place holds the panel, in whole vectors.
        unsafe { Matrix::of(from.as_ptr(), [area as isize, 1]).pack(panel, 0..area, to.as_mut_ptr(), width) };
    }

    /// Adds an image's products for some blocks of taps, in bands of rows that stay in the caches.
    fn sum(&self, job: usize, blocks: Range<usize>, picture: &[E], turned: &[E], sums: *mut E) {
        let ([height, run], tiles) = (self.sizes.output, E::tiles());
        let depth = self.offsets.len();
        let sums = sums.wrapping_add(job % self.sizes.groups * depth * self.stride);
        let rows = RowBlocks::new(depth, tiles.rows);
        let band = (BAND / run.max(1)).max(1);
        for first in (0..height).step_by(band) {
            for (place, panel) in self.places() {
                let vectors = if panel.len() > tiles.lanes { 2 } else { 1 };
                let width = vectors * tiles.lanes;
                for block in blocks.clone() {
                    let range = rows.start(block)..rows.start(block + 1);
                    let Some(compute) = tiles.lines(range.len(), vectors) else { return };
                    let start = first * self.planes.pitch;
                    let mut lhs = [picture.as_ptr(); MOST_ROWS];
                    for (lhs, offset) in lhs.iter_mut().zip(self.offsets.get(range.clone()).unwrap_or(&[])) {
                        *lhs = picture.as_ptr().wrapping_offset(offset + start as isize);
                    }
                    let lines = LinesTile {
                        lines: band.min(height - first),
                        run,
                        pitch: self.planes.pitch as isize,
                        lhs,
                        rhs: turned.as_ptr().wrapping_add(place + first * run * width),
                        rhs_stride: width as isize,
                        out: sums.wrapping_add(range.start * self.stride + panel.start),
                        out_stride: self.stride as isize,
                    };
                    // SAFETY: the picture has room around it for every tap at every output, the turned
                    // gradient and the sums have whole panels, and blocks of taps have sums of their own.
                    unsafe { compute(&lines) };
                }
            }
        }
    }

    /// Turns the sums: filters first, then taps.
    fn write(&self, sums: &[E], dw: &mut [E]) {
        let depth = self.sizes.depth();
        for (i, filter) in dw.chunks_exact_mut(depth.max(1)).enumerate() {
            let (group, column) = (i / self.sizes.outputs, i % self.sizes.outputs);
            let lines = sums.chunks_exact(self.stride).skip(group * self.offsets.len());
            filter.fill(E::default());
            for (&k, line) in self.ks.iter().zip(lines) {
                if let (Some(to), Some(&sum)) = (filter.get_mut(k), line.get(column)) {
                    *to = sum;
                }
            }
        }
    }
}

/// Pixels of a band.
const BAND: usize = 512;

/// The sums, for pieces that write different taps.
struct TapSums<E>(*mut E);

// SAFETY: pieces write different taps.
unsafe impl<E> Sync for TapSums<E> {}

impl<E> TapSums<E> {
    fn get(&self) -> *mut E {
        self.0
    }
}

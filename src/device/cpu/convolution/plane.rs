//! Pictures with room around them, so that a shifted picture is the same memory from another start.

#![allow(clippy::indexing_slicing, reason = "pairs are indexed by an axis, 0 or 1")]

use std::ops::Range;

use crate::device::cpu::convert::Compute;
use crate::device::cpu::convolution::tap::Tap;

/// How the channels of an image are laid out for a set of taps.
///
/// With a stride of `s`, rows `b`, `b + s`, … of a picture are a picture of their own, one per `b` that a tap
/// uses (and so for columns): outputs that are neighbours then read neighbours. Rows are `pitch` apart: zeros,
/// then the values. What a tap reads past the end of a row are the zeros before the next.
pub(crate) struct Planes {
    pub channels: usize,
    source: [usize; 2],
    stride: [usize; 2],
    /// Rows and columns of the source at which the interleaved pictures start.
    phases: Vec<[usize; 2]>,
    /// Rows above a picture, and zeros before each of its rows.
    above: usize,
    before: usize,
    rows: usize,
    pub pitch: usize,
}

impl Planes {
    /// Room for `taps` seen from outputs of up to `output` rows and columns.
    pub(super) fn new(
        channels: usize,
        source: [usize; 2],
        stride: [usize; 2],
        output: [usize; 2],
        taps: &[Tap],
    ) -> Planes {
        let mut phases: Vec<[usize; 2]> = taps.iter().map(|t| split(t.shift, stride).0).collect();
        phases.sort_unstable();
        phases.dedup();
        let steps: Vec<[isize; 2]> = taps.iter().map(|t| split(t.shift, stride).1).collect();
        let sides = |axis: usize| {
            let of = |pair: &[usize; 2]| pair[axis];
            let step = steps.iter().map(|s| s[axis]);
            let (least, most) = (step.clone().min().unwrap_or(0), step.max().unwrap_or(0));
            let size = of(&source).div_ceil(of(&stride)) as isize;
            let past = of(&output) as isize + most - size;
            ((-least).max(0) as usize, past.max(0) as usize, size as usize)
        };
        let ((above, below, height), (left, right, width)) = (sides(0), sides(1));
        let before = left.max(right);
        Planes {
            channels,
            source,
            stride,
            phases,
            above,
            before,
            rows: above + height + below,
            pitch: before + width,
        }
    }

    fn size(&self) -> usize {
        self.rows * self.pitch
    }

    /// Elements of an image, with what tiles may read past its end.
    pub(super) fn room(&self, slack: usize) -> usize {
        self.channels * self.phases.len() * self.size() + self.before + slack
    }

    /// Where a tap's picture starts, seen from output 0, 0.
    pub(super) fn offset(&self, tap: Tap) -> isize {
        let (phase, [row, column]) = split(tap.shift, self.stride);
        let slot = self.phases.iter().position(|p| *p == phase).unwrap_or(0);
        let plane = (tap.channel * self.phases.len() + slot) * self.size();
        plane as isize + (self.above as isize + row) * self.pitch as isize + self.before as isize + column
    }

    /// Rows times columns of a channel before.
    pub(super) fn area(&self) -> usize {
        self.source.iter().product()
    }

    /// The memory of a channel.
    pub(super) fn range(&self, channel: usize) -> Range<usize> {
        let size = self.phases.len() * self.size();
        channel * size..(channel + 1) * size
    }

    /// Copies a channel of an image to its memory; the room around it must be zeros.
    pub(super) fn copy<E: Compute>(&self, picture: &[E], to: &mut [E]) {
        let planes = to.chunks_exact_mut(self.size().max(1));
        let ([_, width], [down, across]) = (self.source, self.stride);
        for (&[top, left], plane) in self.phases.iter().zip(planes) {
            let rows = picture.chunks_exact(width.max(1)).skip(top).step_by(down);
            let places = plane.chunks_exact_mut(self.pitch.max(1)).skip(self.above);
            for (from, to) in rows.zip(places) {
                let to = to.get_mut(self.before..).unwrap_or(&mut []);
                if across == 1 {
                    copy_short_row(from, to);
                } else {
                    let from = from.iter().skip(left).step_by(across);
                    to.iter_mut().zip(from).for_each(|(to, &from)| *to = from);
                }
            }
        }
    }
}

/// Copies a row's values, a few vectors at a time; the last may begin within those before it.
#[inline]
fn copy_short_row<E: Copy>(from: &[E], to: &mut [E]) {
    const N: usize = 8;
    let n = from.len().min(to.len());
    let (from, to) = (&from[..n], &mut to[..n]);
    let (Some(&tail), Some(end)) = (from.last_chunk::<N>(), to.last_chunk_mut::<N>()) else {
        return to.iter_mut().zip(from).for_each(|(to, &from)| *to = from);
    };
    *end = tail;
    let (from, to) = (from.as_chunks::<N>().0, to.as_chunks_mut::<N>().0);
    to.iter_mut().zip(from).for_each(|(to, &from)| *to = from);
}

/// Which of the interleaved pictures a shift leads to, and how far along it.
fn split(shift: [isize; 2], stride: [usize; 2]) -> ([usize; 2], [isize; 2]) {
    let ([y, x], [sy, sx]) = (shift, stride.map(|s| s as isize));
    ([y.rem_euclid(sy) as usize, x.rem_euclid(sx) as usize], [y.div_euclid(sy), x.div_euclid(sx)])
}

//! Where the values of a batch's channels lie.

use std::ops::Range;

use crate::base::{Error, Result};
use crate::device::cpu::lines::input_shape;
use crate::device::cpu::parallel;
use crate::device::kernel::Launch;

/// A batch in row-major order: `n` planes of `size` values for each channel.
#[derive(Clone, Copy)]
pub(super) struct Planes {
    pub n: usize,
    pub channels: usize,
    pub size: usize,
}

/// Channels with planes below this many values go side by side, so many values of a row at least.
const NARROW: usize = 16;
const ABREAST: usize = 64;

impl Planes {
    pub(super) fn of(launch: &Launch, input: usize) -> Result<Planes> {
        match input_shape(launch, input)? {
            &[n, channels, size] => Ok(Planes { n, channels, size }),
            shape => Err(Error::runtime(format!("{}: a batch has shape {shape:?}", launch.op))),
        }
    }

    /// Values of a channel.
    pub(super) fn count(self) -> usize {
        self.n * self.size
    }

    pub(super) fn is_narrow(self) -> bool {
        self.size < NARROW && self.n > 1
    }

    /// How many channels make a piece of work.
    pub(super) fn grain(self) -> usize {
        let grain = parallel::grain(8 * self.count());
        if self.is_narrow() { grain.max(ABREAST.div_ceil(self.size.max(1))) } else { grain }
    }

    /// Where the planes of a channel lie.
    pub(super) fn planes(self, channel: usize) -> impl Iterator<Item = Range<usize>> + Clone {
        (0..self.n).map(move |i| (i * self.channels + channel) * self.size).map(move |at| at..at + self.size)
    }

    /// Where the values of some channels lie in a row.
    #[inline(always)]
    pub(super) fn row(self, row: usize, channels: &Range<usize>) -> Range<usize> {
        let at = |channel: usize| (row * self.channels + channel) * self.size;
        at(channels.start)..at(channels.end)
    }

    /// Those values.
    #[inline(always)]
    pub(super) fn values<'a, C>(
        self,
        of: &'a [C],
        row: usize,
        channels: &Range<usize>,
    ) -> std::slice::Iter<'a, C> {
        of.get(self.row(row, channels)).unwrap_or(&[]).iter()
    }
}

//! The sizes of a convolution.

use crate::base::{Error, Result};
use crate::device::cpu::convolution::tap::Tap;
use crate::device::kernel::{Conv, Launch};

/// Sizes of a convolution, checked against each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConvolutionSizes {
    pub(super) images: usize,
    /// Channels of a group.
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    pub(super) groups: usize,
    /// Height and width.
    pub(super) input: [usize; 2],
    pub(super) output: [usize; 2],
    pub(super) filter: [usize; 2],
    pub(super) stride: [usize; 2],
    pub(super) padding: [isize; 2],
    pub(super) dilation: [usize; 2],
}

impl ConvolutionSizes {
    pub(super) fn new(
        launch: &Launch,
        conv: &Conv,
        x: &[usize],
        w: &[usize],
        y: &[usize],
    ) -> Result<ConvolutionSizes> {
        let bad = || {
            Error::runtime(format!(
                "{}: an input of shape {x:?}, a weight of shape {w:?} and an output of shape {y:?} do not belong \
                 together in {} groups",
                launch.op, conv.groups
            ))
        };
        let (&[n, c, h, wide], &[o, per_group, kh, kw], &[n2, o2, oh, ow]) = (x, w, y) else {
            return Err(bad());
        };
        let groups = conv.groups.max(1);
        let fits = n == n2 && o == o2 && c == per_group * groups && o.is_multiple_of(groups);
        if !fits || conv.stride.contains(&0) || conv.dilation.contains(&0) {
            return Err(bad());
        }
        let padding = conv.padding.map(|p| isize::try_from(p).unwrap_or(isize::MAX));
        let sizes = ConvolutionSizes {
            images: n,
            inputs: per_group,
            outputs: o / groups,
            groups,
            input: [h, wide],
            output: [oh, ow],
            filter: [kh, kw],
            stride: conv.stride.map(|s| s.min(FAR)),
            padding,
            dilation: conv.dilation,
        };
        Ok(sizes)
    }

    pub(super) fn channels(&self) -> usize {
        self.inputs * self.groups
    }

    pub(super) fn filters(&self) -> usize {
        self.outputs * self.groups
    }

    pub(super) fn area(&self) -> usize {
        self.output.iter().product()
    }

    /// Taps of a filter over one group.
    pub(super) fn depth(&self) -> usize {
        self.inputs * self.filter.iter().product::<usize>()
    }

    /// A filter of one element in place: a product of matrices.
    pub(super) fn is_product(&self) -> bool {
        self.filter == [1, 1] && self.stride == [1, 1] && self.padding == [0, 0] && self.input == self.output
    }

    /// Where tap `k` of a filter (channel, row, column) is, seen from an output at 0.
    pub(super) fn tap(&self, k: usize) -> Tap {
        // A filter without elements has no taps, but it may be asked for one.
        let [kh, kw] = self.filter.map(|n| n.max(1));
        let at = |i: usize, dilation: usize, padding: isize| {
            i.saturating_mul(dilation).min(FAR) as isize - padding.min(FAR as isize)
        };
        let row = at(k / kw % kh, self.dilation[0], self.padding[0]);
        let column = at(k % kw, self.dilation[1], self.padding[1]);
        Tap { channel: k / (kh * kw), shift: [row, column] }
    }

    /// The taps that meet the input from some output, with their places in the filter. The others see
    /// padding alone, and would need room for it.
    pub(super) fn taps(&self) -> Vec<(Tap, usize)> {
        let meets = |tap: &Tap| {
            let axis = |shift: isize, input: usize, output: usize, stride: usize| {
                let last = output.saturating_sub(1).saturating_mul(stride).min(FAR) as isize;
                shift < input as isize && last + shift >= 0
            };
            axis(tap.shift[0], self.input[0], self.output[0], self.stride[0])
                && axis(tap.shift[1], self.input[1], self.output[1], self.stride[1])
        };
        (0..self.depth()).map(|k| (self.tap(k), k)).filter(|(tap, _)| meets(tap)).collect()
    }
}

/// Farther than any tensor reaches, and far from overflow.
pub(super) const FAR: usize = 1 << 60;

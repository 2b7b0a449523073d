//! `Conv2d` and its gradients, without an unrolled copy of the input.
//!
//! Images are copied once with room around them ([`plane`]), so that every tap of the filter is the same
//! picture from another start; tiles of a product then read the picture at the taps' offsets
//! ([`correlate`]). Strides split a picture into interleaved ones. A 1x1 filter is a plain product.

mod correlate;
mod plane;
mod weights;

use crate::base::{Error, Result, memory};
use crate::device::kernel::{Conv, Launch};

use super::access::{Dense, DenseOut, dense};
use super::float::{Float, with_float};
use super::gemm::Product;
use super::gemm::kernel::Real;
use super::gemm::operand::Matrix;
use super::lines::{expect_shape, input_shape, output_shape};
use super::parallel::{self, SharedMut};

use correlate::{Correlation, FilterBank, Tap};
use plane::Planes;

/// `y = x * weight + bias`.
pub(super) fn conv2d(launch: &Launch, conv: &Conv) -> Result<()> {
    with_float!(launch, launch.dtype(), C => forward::<C>(launch, conv))
}

/// The gradient by the input: the output's gradient spread by the same filter.
pub(crate) fn conv2d_grad_input(launch: &Launch, conv: &Conv) -> Result<()> {
    with_float!(launch, launch.dtype(), C => backward::<C>(launch, conv))
}

/// The gradient by the weight: the input times the output's gradient, at each tap.
pub(crate) fn conv2d_grad_weight(launch: &Launch, conv: &Conv) -> Result<()> {
    with_float!(launch, launch.dtype(), C => by_weight::<C>(launch, conv))
}

/// Sizes of a convolution, checked against each other.
#[derive(Clone, Copy, Debug)]
struct ConvolutionSizes {
    images: usize,
    /// Channels of a group.
    inputs: usize,
    outputs: usize,
    groups: usize,
    /// Height and width.
    input: [usize; 2],
    output: [usize; 2],
    filter: [usize; 2],
    stride: [usize; 2],
    padding: [isize; 2],
    dilation: [usize; 2],
}

impl ConvolutionSizes {
    fn new(launch: &Launch, conv: &Conv, x: &[usize], w: &[usize], y: &[usize]) -> Result<ConvolutionSizes> {
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

    fn channels(&self) -> usize {
        self.inputs * self.groups
    }

    fn filters(&self) -> usize {
        self.outputs * self.groups
    }

    fn area(&self) -> usize {
        self.output.iter().product()
    }

    /// Taps of a filter over one group.
    fn depth(&self) -> usize {
        self.inputs * self.filter.iter().product::<usize>()
    }

    /// A filter of one element in place: a product of matrices.
    fn is_product(&self) -> bool {
        self.filter == [1, 1] && self.stride == [1, 1] && self.padding == [0, 0] && self.input == self.output
    }

    /// Where tap `k` of a filter (channel, row, column) is, seen from an output at 0.
    fn tap(&self, k: usize) -> Tap {
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
    fn taps(&self) -> Vec<(Tap, usize)> {
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
const FAR: usize = 1 << 60;

fn forward<E: Real + Float>(launch: &Launch, conv: &Conv) -> Result<()> {
    let sizes = ConvolutionSizes::new(
        launch,
        conv,
        input_shape(launch, 0)?,
        input_shape(launch, 1)?,
        output_shape(launch, 0)?,
    )?;
    let (x, w) = (dense::<E>(launch, 0)?, dense::<E>(launch, 1)?);
    let bias = if launch.inputs.len() > 2 {
        expect_shape(launch, "the bias", input_shape(launch, 2)?, &[sizes.filters()])?;
        Some(dense::<E>(launch, 2)?)
    } else {
        None
    };
    let mut y = DenseOut::<E>::new(launch, 0)?;
    if sizes.is_product() {
        pointwise(launch, &sizes, &w, false, &x, bias, &mut y)?;
        return y.finish(launch);
    }
    let depth = sizes.depth();
    let (taps, ks): (Vec<Tap>, Vec<usize>) = sizes.taps().into_iter().unzip();
    let planes = Planes::new(sizes.inputs, sizes.input, sizes.stride, sizes.output, &taps);
    let parts = (0..sizes.groups).map(|group| {
        let weight =
            |row: usize, k: usize| w.get((group * sizes.outputs + row) * depth + ks.get(k)?).copied();
        let first = group * sizes.outputs;
        FilterBank::new(&planes, &taps, sizes.outputs, sizes.output, group, first, weight)
    });
    let correlation = Correlation {
        planes: &planes,
        parts: parts.collect::<Result<Vec<_>>>()?,
        groups: sizes.groups,
        source: &x,
        to_channels: sizes.filters(),
        to_size: sizes.output,
        bias: bias.as_deref(),
    };
    correlation.run(launch, sizes.images, &mut y)?;
    y.finish(launch)
}

fn backward<E: Real + Float>(launch: &Launch, conv: &Conv) -> Result<()> {
    let sizes = ConvolutionSizes::new(
        launch,
        conv,
        output_shape(launch, 0)?,
        input_shape(launch, 1)?,
        input_shape(launch, 0)?,
    )?;
    let (dy, w) = (dense::<E>(launch, 0)?, dense::<E>(launch, 1)?);
    let mut dx = DenseOut::<E>::new(launch, 0)?;
    if sizes.is_product() {
        pointwise(launch, &sizes, &w, true, &dy, None, &mut dx)?;
        return dx.finish(launch);
    }
    let [sh, sw] = sizes.stride;
    // With a stride, each class of pixels sees a filter of its own: the taps that reach it.
    let (tall, wide) = (sh.min(sizes.input[0]), sw.min(sizes.input[1]));
    let classes = memory::count::<Class>(&[tall, wide])?;
    let classes =
        memory::try_collected((0..classes).map(|class| Class::new(&sizes, [class / wide, class % wide])))?;
    let all = memory::collected(classes.iter().flat_map(|c| c.taps.iter().map(|(tap, _)| *tap)))?;
    let most = [sizes.input[0].div_ceil(sh), sizes.input[1].div_ceil(sw)];
    let planes = Planes::new(sizes.outputs, sizes.output, [1, 1], most, &all);
    let mut parts = Vec::new();
    for group in 0..sizes.groups {
        for class in &classes {
            let taps = memory::collected(class.taps.iter().map(|(tap, _)| *tap))?;
            let weight = |row: usize, k: usize| {
                let &(tap, place) = class.taps.get(k)?;
                let filter = group * sizes.outputs + tap.channel;
                let area = sizes.filter[0] * sizes.filter[1];
                w.get((filter * sizes.inputs + row) * area + place).copied()
            };
            let first = group * sizes.inputs;
            let part = FilterBank::new(&planes, &taps, sizes.inputs, class.size, group, first, weight)?;
            parts.push(part.every(sizes.stride, class.start));
        }
    }
    let correlation = Correlation {
        planes: &planes,
        parts,
        groups: sizes.groups,
        source: &dy,
        to_channels: sizes.channels(),
        to_size: sizes.input,
        bias: None,
    };
    correlation.run(launch, sizes.images, &mut dx)?;
    dx.finish(launch)
}

/// The input's pixels at one place between strides.
struct Class {
    start: [usize; 2],
    /// How many rows and columns of them there are.
    size: [usize; 2],
    /// Taps that reach them, in the output's pixels, and their places in the filter.
    taps: Vec<(Tap, usize)>,
}

impl Class {
    fn new(sizes: &ConvolutionSizes, start: [usize; 2]) -> Result<Class> {
        let axis = |a: usize| {
            let (input, output, stride, start, filter) = match a {
                0 => (sizes.input[0], sizes.output[0], sizes.stride[0], start[0], sizes.filter[0]),
                _ => (sizes.input[1], sizes.output[1], sizes.stride[1], start[1], sizes.filter[1]),
            };
            let rows = input.saturating_sub(start).div_ceil(stride);
            let reach = (0..filter).filter_map(move |k| {
                let tap = sizes.tap(if a == 0 { k * sizes.filter[1] } else { k });
                let shift = if a == 0 { tap.shift[0] } else { tap.shift[1] };
                let distance = start as isize - shift;
                let step = distance.div_euclid(stride as isize);
                let meets = step < output as isize && step + rows as isize > 0;
                (meets && distance.rem_euclid(stride as isize) == 0).then_some((k, step))
            });
            Ok((rows, memory::collected(reach)?))
        };
        let (down, across): (Result<_>, Result<_>) = (axis(0), axis(1));
        let ((rows, down), (columns, across)) = (down?, across?);
        let mut taps =
            memory::with_capacity(memory::count::<Tap>(&[sizes.outputs, down.len(), across.len()])?)?;
        for channel in 0..sizes.outputs {
            for &(ky, dy) in &down {
                for &(kx, dx) in &across {
                    taps.push((Tap { channel, shift: [dy, dx] }, ky * sizes.filter[1] + kx));
                }
            }
        }
        Ok(Class { start, size: [rows, columns], taps })
    }
}

/// The convolution (or its gradient, with the weight `turned`) by a filter of one element.
fn pointwise<E: Real + Float>(
    launch: &Launch,
    sizes: &ConvolutionSizes,
    w: &[E],
    turned: bool,
    x: &[E],
    bias: Option<Dense<'_, E>>,
    y: &mut [E],
) -> Result<()> {
    let (from, to) = if turned { (sizes.outputs, sizes.inputs) } else { (sizes.inputs, sizes.outputs) };
    let (area, all) = (sizes.area(), SharedMut::new(y));
    let product = |job: usize, threads: bool| -> Result<()> {
        let group = job % sizes.groups;
        // SAFETY: each job has its place in the output.
        let out = unsafe { all.slice(job * to * area..(job + 1) * to * area) };
        if let Some(bias) = &bias {
            for (row, &b) in out.chunks_exact_mut(area.max(1)).zip(bias.iter().skip(group * to)) {
                row.fill(b);
            }
        }
        let weight = w.get(group * from * to..(group + 1) * from * to).unwrap_or(&[]);
        let picture = x.get(job * from * area..(job + 1) * from * area).unwrap_or(&[]);
        let [row, column] = if turned { [1, to as isize] } else { [from as isize, 1] };
        // SAFETY: the slices hold these matrices.
        unsafe {
            let (lhs, rhs) = (
                Matrix::of(weight.as_ptr(), [row, column]),
                Matrix::of(picture.as_ptr(), [1, area as isize]),
            );
            Product {
                m: to,
                n: area,
                k: from,
                lhs: &lhs,
                rhs: &rhs,
                out: out.as_mut_ptr(),
                out_strides: [area as isize, 1],
                alpha: E::from_f64(1.0),
                add: bias.is_some(),
            }
            .run(threads, launch.cancel)
        }
    };
    let jobs = sizes.images * sizes.groups;
    if jobs < 4 * parallel::threads() {
        return (0..jobs).try_for_each(|job| product(job, true));
    }
    parallel::try_for_ranges(jobs, 1, launch.cancel, |mut jobs| jobs.try_for_each(|job| product(job, false)))
}

fn by_weight<E: Real + Float>(launch: &Launch, conv: &Conv) -> Result<()> {
    let sizes = ConvolutionSizes::new(
        launch,
        conv,
        input_shape(launch, 1)?,
        output_shape(launch, 0)?,
        input_shape(launch, 0)?,
    )?;
    let (dy, x) = (dense::<E>(launch, 0)?, dense::<E>(launch, 1)?);
    let mut dw = DenseOut::<E>::new(launch, 0)?;
    weights::gradient(launch, &sizes, &dy, &x, &mut dw)?;
    dw.finish(launch)
}

#[cfg(test)]
mod tests;

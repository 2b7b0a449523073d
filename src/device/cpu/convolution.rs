//! `Conv2d` and its gradients, without an unrolled copy of the input.
//!
//! Images are copied once with room around them ([`plane`]), so that every tap of the filter is the same
//! picture from another start; tiles of a product then read the picture at the taps' offsets
//! ([`correlate`]). Strides split a picture into interleaved ones. A 1x1 filter is a plain product.

mod correlate;
mod one_filter;
mod plane;
pub(crate) mod sizes;
pub(crate) mod tap;
mod weights;

use crate::base::{Result, memory};
use crate::device::cpu::convolution::sizes::ConvolutionSizes;
use crate::device::cpu::convolution::tap::Tap;
use crate::device::kernel::{Conv, Launch};

use super::access::{Dense, DenseOut, dense};
use super::float::{Float, with_float};
use super::gemm::Product;
use super::gemm::operand::Matrix;
use super::gemm::tiles::Real;
use super::lines::{expect_shape, input_shape, output_shape};
use super::parallel::{self, SharedMut};

use correlate::{Correlation, FilterBank};
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
pub(crate) fn conv2d_grad_weight(launch: &Launch, conv: &Conv, chance: Option<u64>) -> Result<()> {
    with_float!(launch, launch.dtype(), C => by_weight::<C>(launch, conv, chance))
}

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
        FilterBank::new(&planes, &taps, sizes.outputs, sizes.output, first, weight)
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
            let part = FilterBank::new(&planes, &taps, sizes.inputs, class.size, first, weight)?;
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

fn by_weight<E: Real + Float>(launch: &Launch, conv: &Conv, chance: Option<u64>) -> Result<()> {
    let sizes = ConvolutionSizes::new(
        launch,
        conv,
        input_shape(launch, 1)?,
        output_shape(launch, 0)?,
        input_shape(launch, 0)?,
    )?;
    let (dy, x) = (dense::<E>(launch, 0)?, dense::<E>(launch, 1)?);
    let mut dw = DenseOut::<E>::new(launch, 0)?;
    weights::gradient(launch, &sizes, [&dy, &x], chance, &mut dw)?;
    dw.finish(launch)
}

#[cfg(test)]
mod tests;

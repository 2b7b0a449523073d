//! `Arange` and `Triangle`: tensors made from their indices.

use std::ops::Range;

use crate::base::dtype::Element;
use crate::base::{DType, Result, Scalar};
use crate::device::cpu::strided::BLOCK;
use crate::device::kernel::{Launch, View};

use super::access::{BlockReader, BlockWriter, Scratch, missing, scalar_value};
use super::convert::{Compute, with_compute};
use super::isa::{self, Isa, Work};
use super::parallel;

/// `y[i] = start + i * step` in row-major order. Floats are computed in f64 and rounded once, as PyTorch's
/// `arange` does for the first element of each of its vectors, those of float64 as its vectors are, fused; integers wrap
/// around.
pub(super) fn arange(launch: &Launch, start: Scalar, step: Scalar) -> Result<()> {
    let output = first_output(launch)?;
    if output.dtype == DType::Float64 {
        let (start, step) = (start.as_f64(), step.as_f64());
        blocks(launch, output, |range, values| {
            isa::dispatch(Fused { start, step, from: range.start, values })
        })
    } else if output.dtype.is_float() {
        let (start, step) = (start.as_f64(), step.as_f64());
        with_compute!(output.dtype, C => fill(launch, output, |i| C::from_f64(start + step * i as f64)))
    } else {
        let (start, step) = (start.as_i64(), step.as_i64());
        fill(launch, output, |i| start.wrapping_add(step.wrapping_mul(i as i64)))
    }
}

/// `start + step * i` from the number `from` on, each product fused with its sum.
struct Fused<'a> {
    start: f64,
    step: f64,
    from: usize,
    values: &'a mut [f64],
}

impl Work for Fused<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (i, to) in (self.from..).zip(self.values) {
            *to = self.step.mul_add(i as f64, self.start);
        }
    }
}

/// Over the last two dimensions: the elements of `x` on and above `diagonal` (`upper`) or on and below it, and
/// zeros elsewhere. Without an input: ones on the diagonal.
pub(super) fn triangle(launch: &Launch, upper: bool, diagonal: i64) -> Result<()> {
    let output = first_output(launch)?;
    with_compute!(output.dtype, C => triangle_of::<C>(launch, output, upper, diagonal))
}

fn triangle_of<C: Compute>(launch: &Launch, output: &View, upper: bool, diagonal: i64) -> Result<()> {
    let shape = output.layout.shape();
    let [.., rows, columns] = shape else { return fill(launch, output, |_| C::from_i64(1)) };
    let (rows, columns) = (*rows, *columns);
    let Some(input) = launch.inputs.first() else {
        let place = |i: usize| (i % columns) as i64 - (i / columns % rows) as i64;
        return fill(launch, output, |i| C::from_i64(i64::from(place(i) == diagonal)));
    };
    // SAFETY: a block is read before its place is written, and no other piece writes there.
    let reader = unsafe { BlockReader::<C>::new(input, shape)? };
    blocks(launch, output, |range, values| {
        let mut scratch = Scratch::new();
        let from = reader.block(range.start, range.len(), &mut scratch);
        values.copy_from_slice(from);
        // What is left out of a row lies in one piece, before the diagonal or behind it.
        let (mut at, mut rest) = (range.start, values);
        while !rest.is_empty() {
            let (row, column) = (at / columns % rows, at % columns);
            let (part, after) = rest.split_at_mut((columns - column).min(rest.len()));
            let edge = (row as i64).saturating_add(diagonal).saturating_add(i64::from(!upper));
            let edge = usize::try_from(edge).unwrap_or(0).saturating_sub(column).min(part.len());
            at += part.len();
            let (before, behind) = part.split_at_mut(edge);
            if upper { before } else { behind }.fill(C::default());
            rest = after;
        }
    })
}

fn first_output<'a, 'b>(launch: &'b Launch<'a>) -> Result<&'b View<'a>> {
    launch.outputs.first().ok_or_else(|| missing(launch, "output", 0))
}

/// Writes a function of the index in row-major order.
fn fill<C: Compute>(launch: &Launch, output: &View, value: impl Fn(usize) -> C + Sync) -> Result<()> {
    blocks(launch, output, |range, values| {
        for (to, i) in values.iter_mut().zip(range) {
            *to = value(i);
        }
    })
}

/// Computes the output block by block.
fn blocks<C: Compute>(
    launch: &Launch,
    output: &View,
    compute: impl Fn(Range<usize>, &mut [C]) + Sync,
) -> Result<()> {
    let writer = BlockWriter::<C>::new(output)?;
    parallel::for_ranges(writer.numel(), parallel::GRAIN, launch.cancel, |range| {
        let mut block = [scalar_value::<C>(Scalar::Int(0)); BLOCK];
        for start in range.clone().step_by(BLOCK) {
            let n = BLOCK.min(range.end - start);
            let Some(values) = block.get_mut(..n) else { return };
            compute(start..start + n, values);
            // SAFETY: pieces are disjoint, and the block is memory of its own.
            unsafe { writer.store(start, values) };
        }
    })
}

#[cfg(test)]
mod tests {
    use crate::base::{DType, Layout};
    use crate::device::cpu::testing::{Sample, launch, output};
    use crate::device::kernel::Kernel;

    #[test]
    fn ranges_of_numbers() {
        let kernel = Kernel::Arange { start: 3i64.into(), step: (-2i64).into() };
        assert_eq!(output(&kernel, &[], DType::Int64, &[4]), [3.0, 1.0, -1.0, -3.0]);
        assert_eq!(output(&kernel, &[], DType::Float16, &[2]), [3.0, 1.0]);
        let kernel = Kernel::Arange { start: 0.5.into(), step: 0.25.into() };
        let got = output(&kernel, &[], DType::Float64, &[3000]);
        assert!(got.iter().enumerate().all(|(i, &v)| v == 0.5 + 0.25 * i as f64));
        assert!(output(&kernel, &[], DType::Float32, &[0]).is_empty());
    }

    #[test]
    fn triangles_of_batches_and_of_transposed_matrices() {
        let x = Sample::new(DType::Float32, &[2, 2, 3], (1..13).map(f64::from));
        let upper = Kernel::Triangle { upper: true, diagonal: 1 };
        let got = output(&upper, &[x.arg()], DType::Float32, &[2, 2, 3]);
        assert_eq!(got, [0.0, 2.0, 3.0, 0.0, 0.0, 6.0, 0.0, 8.0, 9.0, 0.0, 0.0, 12.0]);
        let turned = Sample::laid_out(
            DType::Int32,
            Layout::contiguous(&[3, 2]).unwrap().transpose(0, 1).unwrap(),
            (1..7).map(f64::from),
        );
        let lower = Kernel::Triangle { upper: false, diagonal: 0 };
        assert_eq!(output(&lower, &[turned.arg()], DType::Int32, &[2, 3]), [1.0, 0.0, 0.0, 4.0, 5.0, 0.0]);
        // Blocks that begin and end within rows.
        let wide = Sample::new(DType::Float32, &[7, 1500], (1..).map(f64::from));
        for (upper, diagonal) in [(true, 3), (true, -2), (false, 1400), (false, i64::MAX), (true, i64::MAX)] {
            let got =
                output(&Kernel::Triangle { upper, diagonal }, &[wide.arg()], DType::Float32, &[7, 1500]);
            let kept = |place: i64| if upper { place >= diagonal } else { place <= diagonal };
            assert!(got.iter().enumerate().all(|(i, &y)| {
                y == if kept((i % 1500) as i64 - (i / 1500) as i64) { (i + 1) as f64 } else { 0.0 }
            }));
        }
        let far = Kernel::Triangle { upper: false, diagonal: i64::MIN };
        assert_eq!(output(&far, &[turned.arg()], DType::Int32, &[2, 3]), [0.0; 6]);
    }

    #[test]
    fn a_triangle_in_place_and_the_identity() {
        let x = Sample::new(DType::Float32, &[2, 2], [1.0, 2.0, 3.0, 4.0]);
        launch(&Kernel::Triangle { upper: true, diagonal: 0 }, &[x.arg()], &[x.view()]).unwrap();
        assert_eq!(x.values(), [1.0, 2.0, 0.0, 4.0]);
        let eye = Kernel::Triangle { upper: false, diagonal: 0 };
        assert_eq!(output(&eye, &[], DType::Bool, &[2, 3]), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    }
}

//! `Arange` and `Triangle`: tensors made from their indices.

use std::ops::Range;

use crate::base::dtype::Element;
use crate::base::{Result, Scalar};
use crate::device::cpu::strided::BLOCK;
use crate::device::kernel::{Launch, View};

use super::access::{BlockReader, BlockWriter, Scratch, missing, scalar_value};
use super::convert::{Compute, with_compute};
use super::parallel;

/// `y[i] = start + i * step` in row-major order. Floats are computed in f64 and rounded once, as PyTorch's
/// `arange` does for the first element of each of its vectors; integers wrap around.
pub(super) fn arange(launch: &Launch, start: Scalar, step: Scalar) -> Result<()> {
    let output = first_output(launch)?;
    if output.dtype.is_float() {
        let (start, step) = (start.as_f64(), step.as_f64());
        with_compute!(output.dtype, C => fill(launch, output, |i| C::from_f64(start + step * i as f64)))
    } else {
        let (start, step) = (start.as_i64(), step.as_i64());
        fill(launch, output, |i| start.wrapping_add(step.wrapping_mul(i as i64)))
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
    let place = |i: usize| {
        let (row, column) = (i / columns % rows, i % columns);
        (column as i64).saturating_sub(row as i64).saturating_sub(diagonal)
    };
    let Some(input) = launch.inputs.first() else {
        return fill(launch, output, |i| C::from_i64(i64::from(place(i) == 0)));
    };
    // SAFETY: a block is read before its place is written, and no other piece writes there.
    let reader = unsafe { BlockReader::<C>::new(input, shape)? };
    blocks(launch, output, |range, values| {
        let mut scratch = Scratch::new();
        let from = reader.block(range.start, range.len(), &mut scratch);
        for ((value, &from), i) in values.iter_mut().zip(from).zip(range) {
            let keep = if upper { place(i) >= 0 } else { place(i) <= 0 };
            *value = if keep { from } else { C::default() };
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

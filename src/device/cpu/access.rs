//! Typed access to views: slices where layout and dtype allow, blocks converted to a compute type elsewhere.
//!
//! A view is proved to lie in its buffer before anything is read ([`Strided::new`](super::strided::Strided::new)). Kernels then use
//! - [`BlockReader`] and [`BlockWriter`]: blocks of elements in row-major order, for work that streams;
//! - [`dense`] and [`DenseOut`]: whole operands as contiguous slices, for work that jumps around.

pub(crate) use super::block::{BlockReader, BlockWriter, Scratch, scalar_value};
pub(crate) use super::copy::gathered;
pub(crate) use super::dense::DenseOut;
pub use super::dense::{Dense, dense};
pub use super::strided::{BLOCK, missing};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{DType, Layout};
    use crate::device::cpu::strided::Strided;
    use crate::device::cpu::testing::{Sample, layouts};
    use proptest::prelude::*;

    fn numbers() -> impl Iterator<Item = f64> {
        (0..).map(|i| f64::from(i % 120))
    }

    proptest! {
        #[test]
        fn blocks_are_the_elements_in_row_major_order(
            layout in layouts(true), d in 0usize..10, start in 0usize..300, n in 0usize..300,
        ) {
            let sample = Sample::laid_out(DType::ALL[d], layout, numbers());
            let want = sample.values();
            let view = Strided::new(&sample.view()).unwrap();
            // SAFETY: nothing is written.
            let reader = unsafe { BlockReader::<f64>::strided(&view) };
            let start = start.min(want.len());
            let n = n.min(want.len() - start);
            let mut scratch = Scratch::new();
            prop_assert_eq!(reader.block(start, n, &mut scratch), &want[start..start + n]);
        }

        #[test]
        fn stored_blocks_come_back_and_nothing_else_changes(
            layout in layouts(false), d in 0usize..10, start in 0usize..300, n in 0usize..300,
        ) {
            let sample = Sample::laid_out(DType::ALL[d], layout, std::iter::repeat(1.0));
            let writer = BlockWriter::<i64>::new(&sample.view()).unwrap();
            let start = start.min(writer.numel());
            // SAFETY: nothing else uses the memory.
            unsafe { writer.store(start, &vec![0; n]) };
            let want = (0..writer.numel()).map(|i| f64::from(u8::from(!(start..start + n).contains(&i))));
            prop_assert_eq!(sample.values(), want.collect::<Vec<_>>());
            let gaps = sample.layout.end() - used_elements(&sample.layout);
            let filler = if sample.dtype == DType::Bool { 1.0 } else { 77.0 };
            let all = Layout::contiguous(&[sample.layout.end()]).unwrap();
            let kept = sample.through(all).values().into_iter().filter(|&v| v == filler).count();
            prop_assert!(kept >= gaps);
        }
    }

    fn used_elements(layout: &Layout) -> usize {
        layout.offsets().collect::<std::collections::HashSet<_>>().len()
    }
}

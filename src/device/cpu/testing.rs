//! Tensors by hand, for tests of kernels.

use proptest::prelude::*;

use crate::base::dtype::Element;
use crate::base::{DType, Layout, Result};
use crate::device::buffer::Buffer;
use crate::device::cancel::Cancel;
use crate::with_element;

use super::super::kernel::{Arg, Kernel, Launch, View};
use super::memory::HostPool;

/// Numbers from -1 up to 1, the same for each seed.
pub(crate) fn noise(seed: u64) -> impl Iterator<Item = f64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / f64::from(1 << 23) - 1.0
    })
}

/// Memory with a layout.
pub(crate) struct Sample {
    pub buffer: Buffer,
    pub dtype: DType,
    pub layout: Layout,
}

impl Sample {
    /// A row-major tensor of these values, each rounded to the dtype.
    pub(crate) fn new(dtype: DType, shape: &[usize], values: impl IntoIterator<Item = f64>) -> Sample {
        Sample::laid_out(dtype, Layout::contiguous(shape).unwrap(), values)
    }

    /// Values in row-major order, written where the layout has them; what lies between is 77.
    pub(crate) fn laid_out(dtype: DType, layout: Layout, values: impl IntoIterator<Item = f64>) -> Sample {
        let elements = layout.end().max(1);
        let bytes = elements * dtype.size();
        let block = HostPool::default().take(bytes).unwrap();
        let buffer = Buffer::new(block.as_ptr() as u64, bytes, Some(block), false);
        let mut sample = Sample { buffer, dtype, layout: Layout::contiguous(&[elements]).unwrap() };
        sample.write(std::iter::repeat(77.0));
        sample.layout = layout;
        sample.write(values);
        sample
    }

    /// An output of zeros.
    pub(crate) fn zeros(dtype: DType, shape: &[usize]) -> Sample {
        Sample::new(dtype, shape, std::iter::repeat(0.0))
    }

    pub(crate) fn write(&mut self, values: impl IntoIterator<Item = f64>) {
        let block = self.buffer.host.as_ref().unwrap();
        with_element!(self.dtype, T => {
            for (at, value) in self.layout.offsets().zip(values) {
                // SAFETY: the buffer was made for this layout.
                unsafe { *block.as_ptr().cast::<T>().add(at) = T::from_f64(value) };
            }
        });
    }

    /// The values in row-major order.
    pub(crate) fn values(&self) -> Vec<f64> {
        let block = self.buffer.host.as_ref().unwrap();
        with_element!(self.dtype, T => {
            // SAFETY: the buffer was made for this layout.
            self.layout.offsets().map(|at| unsafe { *block.as_ptr().cast::<T>().add(at) }.to_f64()).collect()
        })
    }

    pub(crate) fn view(&self) -> View<'_> {
        View { buffer: &self.buffer, dtype: self.dtype, layout: &self.layout }
    }

    pub(crate) fn arg(&self) -> Arg<'_> {
        Arg::View(self.view())
    }

    /// This memory seen through another layout.
    pub(crate) fn through(mut self, layout: Layout) -> Sample {
        assert!(layout.end() <= self.layout.end());
        self.layout = layout;
        self
    }
}

/// Runs a kernel.
pub(crate) fn launch(kernel: &Kernel, inputs: &[Arg], outputs: &[View]) -> Result<()> {
    let cancel = Cancel::default();
    super::run(&Launch { op: "test", kernel, inputs, outputs, stream: 0, cancel: &cancel, timed: false })
}

/// Runs a kernel that must succeed and gives its only output's values.
pub(crate) fn output(kernel: &Kernel, inputs: &[Arg], dtype: DType, shape: &[usize]) -> Vec<f64> {
    let out = Sample::zeros(dtype, shape);
    launch(kernel, inputs, &[out.view()]).unwrap();
    out.values()
}

/// Layouts of up to four dimensions: plain, permuted, sliced, stepped, and (where `broadcast`) expanded.
pub(crate) fn layouts(broadcast: bool) -> impl Strategy<Value = Layout> {
    let dim = (0usize..7, 0usize..3, 1usize..3, prop::bool::weighted(if broadcast { 0.2 } else { 0.0 }));
    (prop::collection::vec(dim, 0..5), any::<u64>()).prop_map(|(dims, order)| {
        let room: Vec<usize> = dims.iter().map(|(n, before, step, _)| before + n * step + 1).collect();
        let mut layout = Layout::contiguous(&room).unwrap();
        for (i, &(n, before, step, _)) in dims.iter().enumerate() {
            layout = layout.slice(i, before, n, step).unwrap();
        }
        for (i, &(n, .., expand)) in dims.iter().enumerate() {
            if expand && n > 0 {
                let mut shape = layout.shape().to_vec();
                let one = layout.slice(i, 0, 1, 1).unwrap();
                shape[i] = n;
                layout = one.expand(&shape).unwrap();
            }
        }
        let mut permutation: Vec<usize> = (0..dims.len()).collect();
        for i in (1..permutation.len()).rev() {
            permutation.swap(i, (order >> (8 * i)) as usize % (i + 1));
        }
        layout.permute(&permutation).unwrap()
    })
}

/// Asserts that values agree within `rtol` and `atol`; NaN equals NaN.
#[track_caller]
pub(crate) fn assert_close(got: &[f64], want: &[f64], rtol: f64, atol: f64) {
    assert_eq!(got.len(), want.len());
    for (i, (&g, &w)) in got.iter().zip(want).enumerate() {
        let fine = g == w || (g.is_nan() && w.is_nan()) || (g - w).abs() <= atol + rtol * w.abs();
        assert!(fine, "element {i}: got {g}, want {w}");
    }
}

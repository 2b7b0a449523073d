//! Convolutions of whole numbers, exact where floats would round: as products with the columns of sliding windows.

use crate::base::{DType, Result};
use crate::device::kernel::Conv;
use crate::op::arrange::pad::constant;
use crate::op::core::convert::to_dtype;
use crate::op::elementwise::arithmetic::add;
use crate::op::linalg::matmul::matmul;
use crate::op::shape::permute::transpose;
use crate::op::shape::view::reshape_to;
use crate::tensor::Tensor;

use super::sliding::{Window, columns, folded};

/// Whether a convolution of the tensor goes this way: PyTorch's CPU computes with int64, its GPUs do not.
pub(super) fn concerned(x: &Tensor) -> bool {
    x.dtype() == DType::Int64 && !x.device().is_cuda()
}

/// Whether PyTorch's CPU convolves the tensor's integers as they are.
pub(super) fn is_narrow(x: &Tensor) -> bool {
    matches!(x.dtype(), DType::Int32 | DType::Int16 | DType::Int8 | DType::UInt8) && !x.device().is_cuda()
}

/// A convolution of narrow integers as one of int64: what goes beyond them wraps around all the same.
pub(super) fn widened(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    run: impl FnOnce(&Tensor, &Tensor, Option<&Tensor>) -> Result<Tensor>,
) -> Result<Tensor> {
    let wide = |t: &Tensor| to_dtype(t, DType::Int64);
    let bias = bias.map(wide).transpose()?;
    to_dtype(&run(&wide(x)?, &wide(weight)?, bias.as_ref())?, x.dtype())
}

/// The convolution, in the shape that is known of it.
pub(super) fn convolve(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    conv: Conv,
    shape: &[usize],
) -> Result<Tensor> {
    let (n, groups) = (size(x, 0), conv.groups);
    let windows = columns(&planar(x)?, &sliding(weight, conv))?;
    let (rows, places) = (size(&windows, 1), size(&windows, 2));
    let windows = reshape_to(&windows, &[n, groups, rows / groups.max(1), places])?;
    let filters = reshape_to(weight, &[groups, size(weight, 0) / groups.max(1), rows / groups.max(1)])?;
    biased(&reshape_to(&matmul(&filters, &windows)?, shape)?, bias)
}

/// The transposed convolution, in the shape that is known of it.
pub(super) fn transposed(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    conv: Conv,
    shape: &[usize],
) -> Result<Tensor> {
    let (n, channels, groups) = (size(x, 0), size(x, 1), conv.groups);
    let places: usize = x.shape().iter().skip(2).product();
    let each: usize = weight.shape().iter().skip(1).product();
    let inner = channels / groups.max(1);
    let filters = transpose(&reshape_to(weight, &[groups, inner, each])?, 1, 2)?;
    let parts = matmul(&filters, &reshape_to(x, &[n, groups, inner, places])?)?;
    let parts = reshape_to(&parts, &[n, groups * each, places])?;
    // The whole reach of the windows; of that the border is cut off, and what is asked for beyond it is 0.
    let bare = Window { padding: [0, 0], ..sliding(weight, conv) };
    let reach =
        |n: usize, k: usize, s: usize, d: usize| (n as i64 - 1) * s as i64 + d as i64 * (k as i64 - 1) + 1;
    let ([h, w], [kh, kw]) = (window(x.shape()), bare.size);
    let ([sh, sw], [dh, dw], [top, left]) = (conv.stride, conv.dilation, conv.padding.map(|p| p as i64));
    let (tall, wide) = (reach(h, kh, sh, dh), reach(w, kw, sw, dw));
    let [rows, columns] = window(shape).map(|v| v as i64);
    let image = folded(&parts, [tall, wide], &bare)?;
    let image = constant(&image, &[-left, columns + left - wide, -top, rows + top - tall], 0i64.into())?;
    biased(&reshape_to(&image, shape)?, bias)
}

/// Height and width; the height of a signal is 1.
fn window(shape: &[usize]) -> [usize; 2] {
    match shape {
        [_, _, w] => [1, *w],
        [_, _, h, w] => [*h, *w],
        _ => [1, 1],
    }
}

fn sliding(weight: &Tensor, conv: Conv) -> Window {
    let Conv { stride, padding, dilation, .. } = conv;
    Window { size: window(weight.shape()), dilation, padding, stride }
}

fn biased(out: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    let Some(bias) = bias else { return Ok(out.clone()) };
    let mut shape = vec![1; out.rank()];
    if let Some(channels) = shape.get_mut(1) {
        *channels = bias.numel();
    }
    add(out, &reshape_to(bias, &shape)?)
}

/// A signal as an image of height 1.
fn planar(x: &Tensor) -> Result<Tensor> {
    match x.shape() {
        &[n, c, w] => reshape_to(x, &[n, c, 1, w]),
        _ => Ok(x.clone()),
    }
}

fn size(t: &Tensor, dim: usize) -> usize {
    t.shape().get(dim).copied().unwrap_or(1)
}

//! What rows say of shapes and of errors where many say the same. Symbols are those of PyTorch's documentation: `N`
//! examples, `C` channels, `L` a length, `D`, `H` and `W` depth, height and width, `…` any sizes.

use crate::base::{Error, Result};
use crate::tensor::Tensor;

/// Of a row whose result has the shape of its first tensor, whatever the options.
pub const SAME: &str = "any -> the same";
/// Of a row of two or three operands.
pub const BROADCAST: &str = "broadcast together";
/// When operands do not go together.
pub const APART: &[&str] = &[NO_BROADCAST];
/// As [`APART`], where differences are taken, which masks have none of.
pub const DIFFERENCE_ERRORS: &[&str] = &[NO_BROADCAST, BOOLS];
/// When shapes do not go together.
pub const NO_BROADCAST: &str = "RuntimeError: the shapes do not broadcast together";
/// When a function of numbers is given a mask.
pub const BOOLS: &str = "NotImplementedError: the tensor holds bools";
/// When a function of fractions is given none.
pub const NO_FLOAT: &str = "NotImplementedError: the tensor holds integers or bools";
/// When nothing of a size can be made.
pub const NEGATIVE: &str = "RuntimeError: a size is negative";
/// Of a row that asks a tensor for something.
pub const ANY: &str = "any";
/// Of a row that makes a tensor of a size.
pub const SIZE: &str = "-> size";
/// Of a reduction that takes everything where no dimension is given.
pub const REDUCED: &str = "any -> without dim, or () where none is given; keepdim leaves sizes of 1";
/// Of square matrices.
pub const SQUARE: &str = "(…, n, n) -> (…, n, n)";

/// Of losses element by element.
pub const LOSS: &str = "broadcast together -> (), or that shape where reduction is \"none\"";
/// Of losses of classes.
pub const CLASSES: &str = "(N, C, …), target (N, …), or probabilities (N, C, …) -> (), or (N, …) where reduction is \
     \"none\"; N may be left out";
/// When losses of classes fail.
pub const CLASSES_ERRORS: &[&str] = &[
    "ValueError: input and target have different numbers of examples",
    "IndexError: a class is not below C",
    "RuntimeError: the target holds neither int64 nor uint8, or the weight is not (C)",
];

/// Of convolutions with a weight of their own.
pub const CONV1D: &str = "(N, C_in, L) -> (N, C_out, L_out), L_out = ⌊(L + 2 padding - dilation (kernel_size - 1) - 1) \
     / stride⌋ + 1, or L with padding \"same\"; N may be left out";
/// As [`CONV1D`], of images.
pub const CONV2D: &str = "(N, C_in, H, W) -> (N, C_out, H_out, W_out), each as L_out = ⌊(L + 2 padding - dilation \
     (kernel_size - 1) - 1) / stride⌋ + 1, or the same with padding \"same\"; N may be left out";
/// As [`CONV1D`], of volumes.
pub const CONV3D: &str = "(N, C_in, D, H, W) -> (N, C_out, D_out, H_out, W_out), each as L_out = ⌊(L + 2 padding - \
     dilation (kernel_size - 1) - 1) / stride⌋ + 1, or the same with padding \"same\"; N may be left out";
/// When convolutions with a weight of their own fail.
pub const CONV_ERRORS: &[&str] = &[
    "ValueError: `groups` does not divide the channels",
    "ValueError: padding is \"same\" and the stride not 1",
    "RuntimeError: the input has not `in_channels` channels, or is smaller than the kernel",
];
/// Of transposed convolutions with a weight of their own.
pub const TRANSPOSED1D: &str = "(N, C_in, L) -> (N, C_out, L_out), L_out = (L - 1) stride - 2 padding + dilation \
     (kernel_size - 1) + output_padding + 1; N may be left out";
/// As [`TRANSPOSED1D`], of images.
pub const TRANSPOSED2D: &str = "(N, C_in, H, W) -> (N, C_out, H_out, W_out), each as L_out = (L - 1) stride - 2 \
     padding + dilation (kernel_size - 1) + output_padding + 1; N may be left out";
/// As [`TRANSPOSED1D`], of volumes.
pub const TRANSPOSED3D: &str = "(N, C_in, D, H, W) -> (N, C_out, D_out, H_out, W_out), each as L_out = (L - 1) stride \
     - 2 padding + dilation (kernel_size - 1) + output_padding + 1; N may be left out";
/// Of the largest elements of windows.
pub const POOL1D: &str = "(N, C, L) -> (N, C, L_out), L_out = ⌊(L + 2 padding - dilation (kernel_size - 1) - 1) / \
     stride⌋ + 1; ceil_mode rounds up, but no window begins behind the input; N may be left out";
/// As [`POOL1D`], of images.
pub const POOL2D: &str = "(N, C, H, W) -> (N, C, H_out, W_out), each as L_out = ⌊(L + 2 padding - dilation \
     (kernel_size - 1) - 1) / stride⌋ + 1; ceil_mode rounds up, but no window begins behind the input; N may be \
     left out";
/// As [`POOL1D`], of volumes.
pub const POOL3D: &str = "(N, C, D, H, W) -> (N, C, D_out, H_out, W_out), each as L_out = ⌊(L + 2 padding - dilation \
     (kernel_size - 1) - 1) / stride⌋ + 1; ceil_mode rounds up, but no window begins behind the input; N may be \
     left out";
/// Of means of windows.
pub const AVG1D: &str = "(N, C, L) -> (N, C, L_out), L_out = ⌊(L + 2 padding - kernel_size) / stride⌋ + 1; ceil_mode \
     rounds up, but no window begins behind the input; N may be left out";
/// As [`AVG1D`], of images.
pub const AVG2D: &str = "(N, C, H, W) -> (N, C, H_out, W_out), each as L_out = ⌊(L + 2 padding - kernel_size) / \
     stride⌋ + 1; ceil_mode rounds up, but no window begins behind the input; N may be left out";
/// As [`AVG1D`], of volumes.
pub const AVG3D: &str = "(N, C, D, H, W) -> (N, C, D_out, H_out, W_out), each as L_out = ⌊(L + 2 padding - \
     kernel_size) / stride⌋ + 1; ceil_mode rounds up, but no window begins behind the input; N may be left out";
/// When pooling fails.
pub const POOL_ERRORS: &[&str] = &[
    "RuntimeError: the padded input is smaller than the window",
    "RuntimeError: the padding is more than half of the window",
];
/// When the largest of windows over one dimension fail.
pub const POOL1D_ERRORS: &[&str] = &[
    "RuntimeError: the padded input is smaller than the window",
    "RuntimeError: the padding is more than half of the window",
    "NotImplementedError: the input holds integers or bools, and no places are asked for",
];
/// When means of windows fail.
pub const AVG_ERRORS: &[&str] = &[
    "RuntimeError: the padded input is smaller than the window",
    "RuntimeError: the padding is more than half of the window",
    NO_FLOAT,
];
/// Of pooling into as many parts as asked for.
pub const ADAPTIVE1D: &str = "(N, C, L) -> (N, C, output_size); N may be left out";
/// As [`ADAPTIVE1D`], of images.
pub const ADAPTIVE2D: &str = "(N, C, H, W) -> (N, C, output_size[0], output_size[1]); N may be left out";
/// As [`ADAPTIVE1D`], of volumes.
pub const ADAPTIVE3D: &str =
    "(N, C, D, H, W) -> (N, C, output_size[0], output_size[1], output_size[2]); N may be left out";
/// Of an optimiser.
pub const STEPS: &str = "parameters of any shapes";
/// When an optimiser is not made.
pub const OPTIM_ERRORS: &[&str] = &[
    "ValueError: there are no parameters, or one is no leaf",
    "ValueError: an option is outside of its range, such as a negative learning rate",
];

/// The first dimension, and no other, can be empty, be it a batch's or not.
pub(crate) fn check_past_batch(name: &str, x: &Tensor, dims: usize) -> Result<()> {
    let Some(at) = x.shape().iter().skip(1).position(|&size| size == 0) else { return Ok(()) };
    Err(Error::runtime(format!(
        "{name}{dims}d(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {:?} with \
         dimension {} being empty",
        x.shape(),
        at + 1
    )))
}

//! Images as columns of sliding windows, and back: `unfold` picks the elements, `fold` adds them up where they were.

use crate::base::{DType, Error, Result};
use crate::device::Context;
use crate::op::arrange::pad::constant;
use crate::op::core::def::{Domain, Draw, FUNCTIONAL, Family, Gradient, OpDef, Sample};
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::promote::only_floats;
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::create::filled::Make;
use crate::op::create::ranges::arange;
use crate::op::elementwise::arithmetic::add;
use crate::op::gather::select::{add_in_order_, index_select};
use crate::op::shape::part::{narrow, select};
use crate::op::shape::view::{reshape_to, unsqueeze};
use crate::tensor::Tensor;

/// A sliding window over height and width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    pub size: [usize; 2],
    pub dilation: [usize; 2],
    pub padding: [usize; 2],
    pub stride: [usize; 2],
}

impl Window {
    /// A window of these options; one number stands for both directions.
    pub fn new(size: &[i64], dilation: &[i64], padding: &[i64], stride: &[i64]) -> Result<Window> {
        let positive = |sizes: [i64; 2], what: &str, names: [&str; 2]| match sizes
            .map(|v| usize::try_from(v).ok().filter(|v| (1..1 << 31).contains(v)))
        {
            [Some(h), Some(w)] => Ok([h, w]),
            _ => Err(Error::runtime(format!(
                "{what} should be greater than zero, but got {}: {} {}: {}",
                names[0], sizes[0], names[1], sizes[1]
            ))),
        };
        let padding = both("padding", padding)?;
        let [Some(top), Some(left)] = padding.map(|v| usize::try_from(v).ok().filter(|v| *v < 1 << 31))
        else {
            return Err(Error::runtime(format!(
                "padding should be non-negative, but got pad_height: {} pad_width: {}",
                padding[0], padding[1]
            )));
        };
        Ok(Window {
            size: positive(both("kernel_size", size)?, "kernel size", ["kernel_height", "kernel_width"])?,
            dilation: positive(
                both("dilation", dilation)?,
                "dilation",
                ["dilation_height", "dilation_width"],
            )?,
            padding: [top, left],
            stride: positive(both("stride", stride)?, "stride", ["stride_height", "stride_width"])?,
        })
    }

    fn padded(&self, image: [usize; 2]) -> [usize; 2] {
        [image[0].saturating_add(2 * self.padding[0]), image[1].saturating_add(2 * self.padding[1])]
    }

    /// How many places the window has along height and width; 0 or less where it does not fit.
    fn blocks(&self, image: [usize; 2]) -> [i64; 2] {
        let padded = self.padded(image);
        let along = |n: usize, k: usize, d: usize, s: usize| {
            let room = n as i64 - (d.saturating_mul(k - 1) as i64) - 1;
            room.div_euclid(s as i64) + 1
        };
        [
            along(padded[0], self.size[0], self.dilation[0], self.stride[0]),
            along(padded[1], self.size[1], self.dilation[1], self.stride[1]),
        ]
    }

    /// For each element of the window, at each of its places, the element of the padded image it lies on.
    fn places(&self, width: usize, blocks: [usize; 2], context: &std::sync::Arc<Context>) -> Result<Tensor> {
        let make = Make { device: Some(context.device.into()), ..Make::default() };
        let line = |count: usize, step: usize| {
            arange(0i64.into(), (count.saturating_mul(step) as i64).into(), (step as i64).into(), &make)
        };
        let grid = |counts: [usize; 2], steps: [usize; 2]| -> Result<Tensor> {
            let rows = line(counts[0], steps[0].saturating_mul(width.max(1)))?;
            let all = add(&unsqueeze(&rows, 1)?, &line(counts[1], steps[1])?)?;
            reshape_to(&all, &[all.numel()])
        };
        let (inside, starts) = (grid(self.size, self.dilation)?, grid(blocks, self.stride)?);
        let all = add(&unsqueeze(&inside, 1)?, &starts)?;
        reshape_to(&all, &[all.numel()])
    }

    fn describe(&self) -> String {
        let pair = |[a, b]: [usize; 2]| format!("({a}, {b})");
        format!(
            "kernel_size={}, dilation={}, padding={}",
            pair(self.size),
            pair(self.dilation),
            pair(self.padding)
        )
    }
}

/// A number, or one for height and one for width.
pub fn both(name: &str, values: &[i64]) -> Result<[i64; 2]> {
    match values {
        [one] => Ok([*one; 2]),
        [height, width] => Ok([*height, *width]),
        many => {
            Err(Error::runtime(format!("It is expected {name} equals to 2, but got size {}", many.len())))
        }
    }
}

/// The windows of `x [n, c, h, w]` (or `[c, h, w]`) as columns `[n, c * kh * kw, places]`, as
/// `torch.nn.functional.unfold`.
pub fn unfold(x: &Tensor, window: &Window) -> Result<Tensor> {
    if matches!(x.rank(), 3 | 4) && x.dtype() != DType::Bool {
        only_floats(x.dtype(), "im2col_out_cpu")?;
    }
    columns(x, window)
}

/// [`unfold`] of any dtype.
pub(super) fn columns(x: &Tensor, window: &Window) -> Result<Tensor> {
    let _paused = crate::tensor::autocast::pause();
    let &[n, c, h, w] = x.shape() else {
        if x.rank() == 3 {
            return select(&columns(&unsqueeze(x, 0)?, window)?, 0, 0);
        }
        return Err(Error::runtime(format!(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, \
             but got: {:?}",
            x.shape()
        )));
    };
    let blocks = window.blocks([h, w]);
    let [Some(rows), Some(columns)] = blocks.map(|b| usize::try_from(b).ok().filter(|b| *b > 0)) else {
        return Err(Error::runtime(format!(
            "Given input with spatial size ({h}, {w}), {}, calculated shape of the array of sliding blocks as ({}, {}), \
             but its components must be at least one.",
            window.describe(),
            blocks[0],
            blocks[1]
        )));
    };
    let [top, left] = window.padding.map(|p| p as i64);
    let padded =
        if window.padding == [0, 0] { x.clone() } else { constant(x, &[left, left, top, top], 0i64.into())? };
    let [tall, wide] = window.padded([h, w]);
    let flat = reshape_to(&padded, &[n, c, tall * wide])?;
    let picked = index_select(&flat, 2, &window.places(wide, [rows, columns], &x.context())?)?;
    reshape_to(&picked, &[n, c * window.size[0] * window.size[1], rows * columns])
}

/// Columns `[n, c * kh * kw, places]` (or without `n`) added up to an image `[n, c, h, w]`, as
/// `torch.nn.functional.fold`.
pub fn fold(x: &Tensor, output: [i64; 2], window: &Window) -> Result<Tensor> {
    if matches!(x.rank(), 2 | 3) {
        only_floats(x.dtype(), "col2im_out_cpu")?;
    }
    folded(x, output, window)
}

/// [`fold`] of any dtype.
pub(super) fn folded(x: &Tensor, output: [i64; 2], window: &Window) -> Result<Tensor> {
    let _paused = crate::tensor::autocast::pause();
    let &[n, rows, places] = x.shape() else {
        if x.rank() == 2 {
            return select(&folded(&unsqueeze(x, 0)?, output, window)?, 0, 0);
        }
        return Err(Error::runtime(format!(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for \
             input, but got: {:?}",
            x.shape()
        )));
    };
    let [Some(h), Some(w)] = output.map(|v| usize::try_from(v).ok().filter(|v| (1..1 << 31).contains(v)))
    else {
        return Err(Error::runtime(format!(
            "Expected output spatial size to be positive, but got: output_size=({}, {})",
            output[0], output[1]
        )));
    };
    let area = window.size[0].saturating_mul(window.size[1]);
    if !rows.is_multiple_of(area) {
        return Err(Error::runtime(format!(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got \
             input.size(1)={rows} and kernel_size=({}, {}).",
            window.size[0], window.size[1]
        )));
    }
    let blocks = window.blocks([h, w]);
    let wanted = blocks[0].saturating_mul(blocks[1]);
    if blocks.iter().any(|b| *b < 1) || wanted != places as i64 {
        return Err(Error::runtime(format!(
            "Given output_size=({h}, {w}), {}, stride=({}, {}), expected size of input's dimension 2 to match the \
             calculated number of sliding blocks {} * {} = {wanted}, but got input.size(2)={places}.",
            window.describe(),
            window.stride[0],
            window.stride[1],
            blocks[0],
            blocks[1]
        )));
    }
    let ([tall, wide], c) = (window.padded([h, w]), rows / area);
    let image =
        Tensor::full(&[n, c, tall.saturating_mul(wide)], 0i64.into(), x.dtype(), &x.context(), "fold")?;
    let index = window.places(wide, blocks.map(|b| b as usize), &x.context())?;
    let added = add_in_order_(&image, 2, &index, &reshape_to(x, &[n, c, area * places])?, "fold")?;
    let padded = reshape_to(&added, &[n, c, tall, wide])?;
    if window.padding == [0, 0] {
        return Ok(padded);
    }
    let [top, left] = window.padding.map(|p| p as i64);
    narrow(&narrow(&padded, 2, top, h as i64)?, 3, left, w as i64)
}

params! {
    group WindowParams {
        kernel_size: kind::Ints, "how high and how wide the window is";
        dilation: kind::Ints = 1, "how far the elements of a window are from each other";
        padding: kind::Ints = 0, "how wide a border of zeros is";
        stride: kind::Ints = 1, "how many places the window moves on";
    }
}

params! {
    FoldParams {
        input: kind::Tensor, "the columns, `[n, channels * kh * kw, places]`";
        output_size: kind::Ints, "height and width of the image";
        ..window: WindowParams;
    }
}

params! {
    UnfoldParams {
        input: kind::Tensor, "the images, `[n, channels, h, w]`";
        ..window: WindowParams;
    }
}

impl WindowParams<'_> {
    fn window(&self) -> Result<Window> {
        Window::new(&self.kernel_size, &self.dilation, &self.padding, &self.stride)
    }
}

const COLUMNS: &[Draw] = &[Draw::of("x", &[2, 8, 6], Domain::Any)];

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
OpDef::call(
    "fold",
    Family::Convolution,
    "Adds columns of sliding windows up to the image they came from: what `F::unfold` picks apart.",
    FoldParams::LIST, by_name!(FoldParams, |a| fold(a.input, both("output_size", &a.output_size)?, &a.window.window()?).map(Value::from)),
)
.forms(FUNCTIONAL)
.details(
    "`[n, channels * kh * kw, places]` gives `[n, channels, h, w]`; the batch dimension may be left out. Elements on \
     which several windows lie are added up.",
)
.shapes("(N, C kh kw, places) -> (N, C, output_size[0], output_size[1]); N may be left out")
.errors(&[
    "RuntimeError: the columns are not as many as the windows",
    "RuntimeError: the rows do not divide by the window's elements",
    shapes::NO_FLOAT,
])
.example("F::fold(ones([1, 4, 4]), [3, 3], 2)", "tensor([[[[1., 2., 1.],\n          [2., 4., 2.],\n          [1., 2., 1.]]]])")
.samples(&[
    Sample::of("F::fold(x, [3, 4], 2)", COLUMNS),
    Sample::of("F::fold(x, [4, 5], 2, #{stride: 2, padding: [0, 1], dilation: [1, 2]})", &[Draw::of("x", &[1, 4, 6], Domain::Any)]),
]),
];

/// Rows whose names other rows have too.
pub(crate) static HOMONYMS: &[OpDef] = &[
OpDef::call(
    "unfold",
    Family::Convolution,
    "Picks an image apart into the columns of a sliding window.",
    UnfoldParams::LIST, by_name!(UnfoldParams, |a| unfold(a.input, &a.window.window()?).map(Value::from)),
)
.forms(FUNCTIONAL)
.gradient(Gradient::Composite)
.details(
    "`[n, channels, h, w]` gives `[n, channels * kh * kw, places]`; the batch dimension may be left out. A product \
     with a weight `[filters, channels * kh * kw]` is then a convolution.",
)
.shapes("(N, C, H, W) -> (N, C kh kw, places), places = H_out W_out as a convolution has them; N may be left out")
.errors(&["RuntimeError: the padded image is smaller than the window"])
.example(
    "F::unfold(arange(9).float().reshape([1, 1, 3, 3]), 2)[0]",
    "tensor([[0., 1., 3., 4.],\n        [1., 2., 4., 5.],\n        [3., 4., 6., 7.],\n        [4., 5., 7., 8.]])",
)
.samples(&[
    Sample::of("F::unfold(x, 2)", &[Draw::of("x", &[2, 2, 3, 4], Domain::Any)]),
    Sample::of(
        "F::unfold(x, [2, 3], #{padding: 1, stride: 2, dilation: [2, 1]})",
        &[Draw::of("x", &[2, 4, 5], Domain::Any)],
    ),
]),
];

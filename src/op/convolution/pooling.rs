//! Pooling over the last dimensions.

use std::fmt::Display;

use crate::base::{DType, Dims, Error, Result, Scalar, memory};
use crate::device::kernel::Window;
use crate::device::{Kernel, poll};
use crate::op::activation::variants::row;
use crate::op::core::def::{DefaultValue, Domain, Draw, FUNCTIONAL, Family, Gradient, OpDef, Sample};
use crate::op::core::format::MemoryFormat;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::promote::only_floats;
use crate::op::core::record::{named, one, recorded, undetermined};
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::core::wide::in_single;
use crate::op::gather::along_dim::gather;
use crate::op::linalg::matmul::matmul;
use crate::op::reduce::sums::mean;
use crate::op::shape::part::select;
use crate::op::shape::permute::transpose;
use crate::op::shape::view::{reshape_to, squeeze, unsqueeze};
use crate::tensor::autograd::Vjp;
use crate::tensor::{In, Tensor, launch};

use super::adaptive_size::{adaptive_size, below_none};
use super::conv::pair;
use super::integers;
use super::windows::{Pool, divided, fitting};

/// The largest element of each window, and its place in its plane (int64).
pub fn max_pool2d(x: &Tensor, pool: &Pool) -> Result<(Tensor, Tensor)> {
    if matches!(x.rank(), 3 | 4) && x.shape().iter().skip(x.rank() - 3).any(|&size| size == 0) {
        check_padding(&pool.size, &pool.padding, &pool.dilation)?;
        return Err(Error::runtime(unlike_batch("Expected 3D or 4D", x)));
    }
    planes("max_pool2d", x, |x| {
        let (window, shape) = plan(x, pool)?;
        let format = MemoryFormat::suggested(x);
        let out = format.empty(&shape, x.dtype(), x, "max_pool2d")?;
        let places = format.empty(&shape, DType::Int64, x, "max_pool2d")?;
        launch("max_pool2d", &Kernel::MaxPool2d(window), &[In::Tensor(x)], &[&out, &places])?;
        let out = recorded(out, &MAX_RULE, &[x], |s, _| {
            s.constant(Some(&places));
            s.attribute(window);
        });
        Ok(vec![out, places])
    })
    .and_then(|all| match <[Tensor; 2]>::try_from(all) {
        Ok([out, places]) => Ok((out, places)),
        Err(_) => Err(Error::runtime("max_pool2d gave no indices")),
    })
}

/// The mean of each window.
pub fn avg_pool2d(x: &Tensor, pool: &Pool) -> Result<Tensor> {
    single(planes("avg_pool2d", x, |x| {
        if !integers::concerned(x) {
            only_floats(x.dtype(), "avg_pool2d")?;
        }
        let (window, shape) = plan(x, pool)?;
        Ok(vec![average(x, window, &shape)?])
    })?)
}

/// The mean of each of `size` (height, width) nearly equal parts of the plane. A size of `None` keeps the input's.
pub fn adaptive_avg_pool2d(x: &Tensor, size: [Option<usize>; 2]) -> Result<Tensor> {
    if x.rank() != 3 && x.rank() != 4 {
        let text = format!("adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got {:?}", x.shape());
        return Err(Error::runtime(text));
    }
    // A single part of nothing is a mean of nothing.
    let empty = x.shape().iter().enumerate().skip(x.rank() - 2).find(|(_, size)| **size == 0);
    if empty.is_some() && size == [Some(1), Some(1)] {
        return mean(x, Some(&[-1, -2]), true);
    }
    if let Some((at, _)) = empty {
        return Err(Error::runtime(format!(
            "adaptive_avg_pool2d(): Expected input to have non-zero size for non-batch dimensions, but input has sizes \
             {:?} with dimension {at} being empty",
            x.shape()
        )));
    }
    // One operation for autocast, whatever it is made of.
    let _paused = crate::tensor::autocast::pause();
    let out = single(planes("adaptive_avg_pool2d", x, |x| {
        let [_, _, h, w] = sizes(x);
        let [oh, ow] = [size[0].unwrap_or(h), size[1].unwrap_or(w)];
        if oh > 0 && ow > 0 && h.is_multiple_of(oh) && w.is_multiple_of(ow) && h > 0 && w > 0 {
            let size = [h / oh, w / ow];
            let window =
                Window { size, stride: size, padding: [0, 0], dilation: [1, 1], count_include_pad: true };
            let [n, c, _, _] = sizes(x);
            return Ok(vec![average(x, window, &[n, c, oh, ow])?]);
        }
        let means = in_single([x], |[x]| {
            let rows = matmul(&parts(x, h, oh)?, x)?;
            matmul(&rows, &transpose(&parts(x, w, ow)?, 0, 1)?)
        });
        Ok(vec![MemoryFormat::suggested(x).applied(&means?)?])
    })?)?;
    // PyTorch takes the mean for a single part, which is deterministic.
    if size == [Some(1); 2] {
        return Ok(out);
    }
    static RULE: Vjp = Vjp {
        name: "AdaptiveAvgPool2DBackward0",
        run: |_, g| undetermined(g, "adaptive_avg_pool2d_backward_cuda"),
    };
    Ok(named(out, &RULE))
}

static MAX_RULE: Vjp = Vjp {
    name: "MaxPool2DWithIndicesBackward0",
    run: |s, g| {
        let &window: &Window = s.attribute()?;
        one(spread(g, &s.tensor(0)?, window, s.shape(0))?)
    },
};

/// The gradient goes to the places of the maxima.
fn spread(g: &Tensor, places: &Tensor, window: Window, shape: &[usize]) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "MaxPool2DWithIndicesBackwardBackward0",
        run: |s, gg| {
            let places = s.tensor(0)?;
            let [n, c, h, w] = sizes(gg);
            let [_, _, oh, ow] = sizes(&places);
            let index = reshape_to(&places, &[n, c, oh * ow])?;
            let picked = gather(&reshape_to(gg, &[n, c, h * w])?, 2, &index)?;
            one(reshape_to(&picked, places.shape())?)
        },
    };
    let out = MemoryFormat::suggested(places).empty(shape, g.dtype(), g, "max_pool2d_backward")?;
    let inputs = [In::Tensor(g), In::Tensor(places)];
    launch("max_pool2d_backward", &Kernel::MaxPool2dGrad(window), &inputs, &[&out])?;
    Ok(recorded(out, &RULE, &[g], |s, _| s.constant(Some(places))))
}

fn average(x: &Tensor, window: Window, shape: &[usize]) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "AvgPool2DBackward0",
        run: |s, g| {
            let &window: &Window = s.attribute()?;
            one(average_grad(g, window, s.shape(0))?)
        },
    };
    let out = MemoryFormat::suggested(x).empty(shape, x.dtype(), x, "avg_pool2d")?;
    launch("avg_pool2d", &Kernel::AvgPool2d(window), &[In::Tensor(x)], &[&out])?;
    Ok(recorded(out, &RULE, &[x], |s, _| s.attribute(window)))
}

fn average_grad(g: &Tensor, window: Window, shape: &[usize]) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "AvgPool2DBackwardBackward0",
        run: |s, gg| {
            let &window: &Window = s.attribute()?;
            one(average(gg, window, s.shape(0))?)
        },
    };
    let out = MemoryFormat::suggested(g).empty(shape, g.dtype(), g, "avg_pool2d_backward")?;
    launch("avg_pool2d_backward", &Kernel::AvgPool2dGrad(window), &[In::Tensor(g)], &[&out])?;
    Ok(recorded(out, &RULE, &[g], |s, _| s.attribute(window)))
}

/// A matrix `[parts, size]` whose rows average one part each: part `i` runs from `floor(i * size / parts)` to
/// `ceil((i + 1) * size / parts)`.
fn parts(like: &Tensor, size: usize, parts: usize) -> Result<Tensor> {
    let mut rows: Vec<Scalar> = memory::with_capacity(memory::count::<Scalar>(&[size, parts])?)?;
    for i in 0..parts {
        poll::at(i)?;
        let (from, to) = (i * size / parts, ((i + 1) * size).div_ceil(parts));
        let share = 1.0 / (to - from).max(1) as f64;
        rows.extend((0..size).map(|j| Scalar::Float(if (from..to).contains(&j) { share } else { 0.0 })));
    }
    let matrix = Tensor::from_numbers(&rows, &[parts, size], like.dtype())?;
    if like.device().is_cuda() {
        matrix.moved(&like.context(), true, "adaptive_avg_pool2d")
    } else {
        Ok(matrix)
    }
}

/// Runs on a batch of planes; an input without a batch dimension gets one for the time.
fn planes(
    name: &'static str,
    x: &Tensor,
    run: impl Fn(&Tensor) -> Result<Vec<Tensor>>,
) -> Result<Vec<Tensor>> {
    let all = || match x.rank() {
        4 => run(x),
        3 => run(&unsqueeze(x, 0)?)?.iter().map(|t| select(t, 0, 0)).collect(),
        _ => Err(Error::runtime("non-empty 3D or 4D (batch mode) tensor expected for input")
            .with_hint("images are `[batch, channels, height, width]`")),
    };
    all().map_err(|e| e.in_op(name, || vec![x.operand()]))
}

fn single(all: Vec<Tensor>) -> Result<Tensor> {
    all.into_iter().next().ok_or_else(|| Error::runtime("pooling gave no result"))
}

/// The four sizes of a batch of planes.
fn sizes(x: &Tensor) -> [usize; 4] {
    let at = |d: usize| x.shape().get(d).copied().unwrap_or(1);
    [at(0), at(1), at(2), at(3)]
}

/// The kernel's parameters and the output's shape.
fn plan(x: &Tensor, pool: &Pool) -> Result<(Window, Dims)> {
    let stride = pool.stride.as_deref().filter(|s| !s.is_empty()).unwrap_or(&pool.size);
    const MOST: i64 = i32::MAX as i64;
    let checked = |values: &[i64], what: &str, zero: &str| {
        if let Some(value) = values.iter().find(|value| **value > MOST) {
            return Err(Error::runtime(format!("{what} must be at most {MOST}, but got {value}")));
        }
        let pair = pair(values, 2, 1, what)?;
        pair.filter(|p| !p.contains(&0)).ok_or_else(|| Error::runtime(zero.to_string()))
    };
    // A stride beyond every size leaves one window, however far it goes.
    let stride: Vec<i64> = memory::collected(stride.iter().map(|&step| step.min(MOST)))?;
    let stride = checked(&stride, "stride", "stride should not be zero")?;
    let size = checked(&pool.size, "kernel_size", "kernel size should be greater than zero")?;
    let dilation = checked(&pool.dilation, "dilation", "dilation should be greater than zero")?;
    let padding = pair(&pool.padding, 2, 0, "padding")?.ok_or_else(|| below_zero(&pool.padding))?;
    let window = Window { size, stride, padding, dilation, count_include_pad: pool.count_include_pad };
    let [n, c, h, w] = sizes(x);
    let (oh, ow) = (steps(h, 0, &window, pool.ceil_mode)?, steps(w, 1, &window, pool.ceil_mode)?);
    if oh == 0 || ow == 0 {
        return Err(Error::runtime(format!(
            "Given input size: ({c}x{h}x{w}). Calculated output size: ({c}x{oh}x{ow}). Output size is too small"
        )));
    }
    Ok((window, [n, c, oh, ow].into_iter().collect()))
}

/// The error of a border of negative width.
fn below_zero(padding: &[i64]) -> Error {
    let pad = padding.iter().find(|&&pad| pad < 0).copied().unwrap_or_default();
    Error::runtime(format!("pad must be non-negative, but got pad: {pad}"))
}

/// A border is not negative, and at most half as wide as the window reaches.
pub(super) fn check_padding(size: &[i64], padding: &[i64], dilation: &[i64]) -> Result<()> {
    if padding.iter().any(|&pad| pad < 0) {
        return Err(below_zero(padding));
    }
    let at = |all: &[i64], d: usize| all.get(d).or(all.first()).copied().unwrap_or(1);
    for d in 0..size.len().max(padding.len()) {
        let (kernel, pad, dilation) = (at(size, d), at(padding, d), at(dilation, d));
        let reach = kernel.saturating_sub(1).saturating_mul(dilation).saturating_add(1);
        if pad > reach / 2 {
            return Err(too_wide(pad, kernel, dilation));
        }
    }
    Ok(())
}

fn too_wide(pad: impl Display, kernel: impl Display, dilation: impl Display) -> Error {
    Error::runtime(format!(
        "pad should be at most half of effective kernel size, but got pad={pad}, kernel_size={kernel} and \
         dilation={dilation}"
    ))
}

/// What a pool over one dimension refuses in its own words.
fn check_signal(x: &Tensor, pool: &Pool) -> Result<()> {
    if x.shape().iter().skip(x.rank() - 2).any(|&size| size == 0) {
        return Err(Error::runtime(unlike_batch(SIGNALS, x)));
    }
    let of = |all: &[i64], usual: i64| match all {
        [one] => *one,
        _ => usual,
    };
    let size = of(&pool.size, 1);
    let stride = of(pool.stride.as_deref().filter(|s| !s.is_empty()).unwrap_or(&pool.size), 1);
    let (padding, dilation) = (of(&pool.padding, 0), of(&pool.dilation, 1));
    for (what, value) in [("kernel_size", size), ("stride", stride), ("dilation", dilation)] {
        if value <= 0 {
            let text = format!("max_pool1d() {what} must be greater than zero, but got {value}");
            return Err(Error::runtime(text));
        }
    }
    if padding < 0 {
        return Err(Error::runtime(format!("max_pool1d() padding must be non-negative, but got {padding}")));
    }
    if padding > size / 2 {
        let text = format!(
            "max_pool1d() padding should be at most half of kernel size, but got padding={padding} and kernel_size={size}"
        );
        return Err(Error::runtime(text));
    }
    let [size, stride, padding, dilation] = [size, stride, padding, dilation].map(i128::from);
    let room = x.size(-1)? as i128 + 2 * padding - dilation * (size - 1) - 1;
    let more = if pool.ceil_mode { stride - 1 } else { 0 };
    let count = (room + more).div_euclid(stride) + 1;
    if count <= 0 {
        return Err(Error::runtime(format!("max_pool1d() Invalid computed output size: {count}")));
    }
    Ok(())
}

/// How many windows fit along one dimension.
fn steps(size: usize, dim: usize, window: &Window, ceil_mode: bool) -> Result<usize> {
    let at = |pair: &[usize; 2]| pair.get(dim).copied().unwrap_or(1);
    let (kernel, stride, pad, dilation) =
        (at(&window.size), at(&window.stride), at(&window.padding), at(&window.dilation));
    let reach = (kernel - 1).saturating_mul(dilation) + 1;
    if pad > reach / 2 {
        return Err(too_wide(pad, kernel, dilation));
    }
    Ok(fitting(size, reach, stride, pad, ceil_mode))
}

/// What a pool of the largest over one dimension wants.
const SIGNALS: &str = "max_pool1d: Expected 2D or 3D";

fn unlike_batch(wanted: &str, x: &Tensor) -> String {
    let shape = x.shape();
    format!("{wanted} (batch mode) tensor with optional 0 dim batch size for input, but got:{shape:?}")
}

fn unlike_planes(name: &str) -> impl Fn(&Tensor) -> String {
    move |x| {
        format!(
            "Expected 2 to 3 dimensions, but got {}-dimensional tensor for argument #1 'self' (while checking \
             arguments for {name})",
            x.rank()
        )
    }
}

/// Runs a pool of two dimensions on `[channels, length]` or `[n, channels, length]`.
fn flat(
    x: &Tensor,
    refusal: impl FnOnce(&Tensor) -> String,
    run: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    if !matches!(x.rank(), 2 | 3) {
        return Err(Error::runtime(refusal(x)));
    }
    squeeze(&run(&unsqueeze(x, -2)?)?, Some(&[-2]))
}

/// A window over one dimension as one over two, the first of size 1.
fn flattened(pool: &Pool) -> Pool {
    let two = |all: &[i64], before: i64| match all {
        [one] => vec![before, *one],
        other => other.to_vec(),
    };
    Pool {
        size: two(&pool.size, 1),
        stride: pool.stride.as_ref().map(|s| two(s, 1)),
        padding: two(&pool.padding, 0),
        dilation: two(&pool.dilation, 1),
        ..pool.clone()
    }
}

/// The largest element of each window along the last dimension.
pub(crate) fn max_pool1d(x: &Tensor, pool: &Pool) -> Result<Tensor> {
    if matches!(x.rank(), 2 | 3) {
        check_signal(x, pool)?;
    }
    only_floats(x.dtype(), "max_pool1d_impl")?;
    flat(x, |x| unlike_batch(SIGNALS, x), |x| Ok(max_pool2d(x, &flattened(pool))?.0))
}

/// [`max_pool1d`] with the places of the elements along the dimension.
pub(crate) fn max_pool1d_places(x: &Tensor, pool: &Pool) -> Result<(Tensor, Tensor)> {
    if !matches!(x.rank(), 2 | 3) || x.shape().iter().skip(x.rank() - 2).any(|&size| size == 0) {
        return Err(Error::runtime(unlike_batch(SIGNALS, x)));
    }
    check_padding(&pool.size, &pool.padding, &pool.dilation)?;
    check_signal(x, pool)?;
    let (out, places) = max_pool2d(&unsqueeze(x, -2)?, &flattened(pool))?;
    Ok((squeeze(&out, Some(&[-2]))?, squeeze(&places, Some(&[-2]))?))
}

/// The mean of each window along the last dimension.
pub(crate) fn avg_pool1d(x: &Tensor, pool: &Pool) -> Result<Tensor> {
    flat(x, unlike_planes("avg_pool1d"), |x| avg_pool2d(x, &flattened(pool)))
}

/// The means of `size` nearly equal parts of the last dimension.
pub fn adaptive_avg_pool1d(x: &Tensor, size: usize) -> Result<Tensor> {
    flat(x, unlike_planes("adaptive_avg_pool1d"), |x| adaptive_avg_pool2d(x, [Some(1), Some(size)]))
}

const PLANE: Draw = Draw::of("x", &[1, 2, 5, 4], Domain::Distinct);
const SIGNAL: Draw = Draw::of("x", &[2, 3, 6], Domain::Distinct);

params! {
    pub(super) group MaxPoolParams {
        input: kind::Tensor, "what the window slides over, `[channels, …]` or a batch of them";
        kernel_size: kind::Ints, "how large the window is, along all dimensions or along each";
        stride: kind::Ints => DefaultValue::Ints(&[]), "how far the window moves on; without it by its own size";
        padding: kind::Ints = 0, "how wide the border is that windows may begin on; it is never the largest";
        dilation: kind::Ints = 1, "how far the elements of a window are from each other";
        ceil_mode: kind::Bool = false, "whether a last window that hangs over the edge counts too";
    }
}

params! {
    /// Of two and three dimensions.
    pub(super) AvgPoolNdParams {
        ..pool: AvgPoolParams;
        divisor_override: Maybe<kind::Int>, "what sums of windows are divided by, in place of their size";
    }
}

impl AvgPoolNdParams<'_> {
    pub(super) fn run(self, dims: usize, mean: fn(&Tensor, &Pool) -> Result<Tensor>) -> Result<Value> {
        let AvgPoolNdParams { pool, divisor_override, .. } = self;
        divided(pool.input, &Pool::from(pool), divisor_override, dims, mean).map(Value::from)
    }
}

params! {
    pub(super) MaxPoolPlacesParams {
        ..pool: MaxPoolParams;
        return_indices: kind::Bool = false, "whether the places of the largest elements are given too";
    }
}

params! {
    pub(super) AvgPoolParams {
        input: kind::Tensor, "what the window slides over, `[channels, …]` or a batch of them";
        kernel_size: kind::Ints, "how large the window is, along all dimensions or along each";
        stride: kind::Ints => DefaultValue::Ints(&[]), "how far the window moves on; without it by its own size";
        padding: kind::Ints = 0, "how wide a border of zeros is";
        ceil_mode: kind::Bool = false, "whether a last window that hangs over the edge counts too";
        count_include_pad: kind::Bool = true, "whether the border's zeros count in a mean";
    }
}

impl From<MaxPoolParams<'_>> for Pool {
    fn from(a: MaxPoolParams) -> Pool {
        Pool {
            size: a.kernel_size,
            stride: Some(a.stride),
            padding: a.padding,
            dilation: a.dilation,
            ceil_mode: a.ceil_mode,
            count_include_pad: true,
        }
    }
}

impl From<AvgPoolParams<'_>> for Pool {
    fn from(a: AvgPoolParams) -> Pool {
        Pool {
            size: a.kernel_size,
            stride: Some(a.stride),
            padding: a.padding,
            dilation: vec![1],
            ceil_mode: a.ceil_mode,
            count_include_pad: a.count_include_pad,
        }
    }
}

params! {
    AdaptiveAvgPool1dParams {
        input: kind::Tensor, "signals, `[channels, length]` or a batch of them";
        output_size: kind::Ints, "how many means there are";
    }
}

params! {
    AdaptiveAvgPool2dParams {
        input: kind::Tensor, "images, `[c, h, w]` or a batch of them";
        output_size: kind::Any, "height and width of the result";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    row(
        "max_pool1d",
        Family::Convolution,
        "The largest element of each window along the last dimension.",
        MaxPoolPlacesParams::LIST, by_name!(MaxPoolPlacesParams, |MaxPoolPlacesParams { pool, return_indices, .. }| {
            let (x, pool) = (pool.input, Pool::from(pool));
            if !return_indices {
                return max_pool1d(x, &pool).map(Value::from);
            }
            let (out, places) = max_pool1d_places(x, &pool)?;
            Ok(Value::List(vec![out.into(), places.into()]))
        }),
    )
    .shapes(shapes::POOL1D)
    .errors(shapes::POOL1D_ERRORS)
    .example("F::max_pool1d(tensor([[1.0, 3.0, 2.0, 0.0]]), 2)", "tensor([[3., 2.]])")
    .samples(&[Sample::of("F::max_pool1d(x, 3, #{stride: 2, padding: 1})", &[SIGNAL])]),
    row(
        "avg_pool1d",
        Family::Convolution,
        "The mean of each window along the last dimension.",
        AvgPoolParams::LIST, by_name!(AvgPoolParams, |a| avg_pool1d(a.input, &Pool::from(a)).map(Value::from)),
    )
    .shapes(shapes::AVG1D)
    .errors(shapes::AVG_ERRORS)
    .example("F::avg_pool1d(tensor([[1.0, 3.0, 2.0, 0.0]]), 2)", "tensor([[2., 1.]])")
    .samples(&[Sample::of("F::avg_pool1d(x, 3, #{stride: 2, padding: 1})", &[SIGNAL])]),
    row(
        "adaptive_avg_pool1d",
        Family::Convolution,
        "The means of nearly equal parts of the last dimension, as many as asked for.",
        AdaptiveAvgPool1dParams::LIST, by_name!(AdaptiveAvgPool1dParams, |a| {
            let &[size] = a.output_size.as_slice() else {
                let text = format!(
                    "adaptive_avg_pool1d() argument 'output_size' should contain one int (got {})",
                    a.output_size.len()
                );
                return Err(Error::runtime(text));
            };
            let size = usize::try_from(size)
                .map_err(|_| below_none("adaptive_avg_pool", &Value::Scalar(size.into()), 1))?;
            adaptive_avg_pool1d(a.input, size).map(Value::from)
        }),
    )
    .shapes(shapes::ADAPTIVE1D)
    .errors(&[
        "RuntimeError: the input has neither two nor three dimensions",
        "RuntimeError: `output_size` is negative",
        shapes::BOOLS,
    ])
    .example("F::adaptive_avg_pool1d(tensor([[1.0, 3.0, 2.0, 0.0]]), 2)", "tensor([[2., 1.]])")
    .samples(&[Sample::of("F::adaptive_avg_pool1d(x, 4)", &[SIGNAL])]),
    OpDef::call(
        "max_pool2d",
        Family::Convolution,
        "The largest element of each window of the last two dimensions.",
        MaxPoolPlacesParams::LIST, by_name!(MaxPoolPlacesParams, |MaxPoolPlacesParams { pool, return_indices, .. }| {
            let (out, places) = max_pool2d(pool.input, &Pool::from(pool))?;
            Ok(if return_indices { Value::List(vec![out.into(), places.into()]) } else { out.into() })
        }),
    )
    .forms(FUNCTIONAL)
    .gradient(Gradient::Vjp("MaxPool2DWithIndicesBackward0"))
    .details("The stride is the window's size unless given. `return_indices` gives `[values, indices]`.")
    .shapes(shapes::POOL2D)
    .errors(shapes::POOL_ERRORS)
    .example("F::max_pool2d(tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2)", "tensor([[[4.]]])")
    .samples(&[
        Sample::of("F::max_pool2d(x, 2)", &[PLANE]),
        Sample::of("F::max_pool2d(x, 3, #{stride: [2, 1], padding: 1, ceil_mode: true})", &[PLANE]),
    ]),
    OpDef::call(
        "avg_pool2d",
        Family::Convolution,
        "The mean of each window of the last two dimensions.",
        AvgPoolNdParams::LIST, by_name!(AvgPoolNdParams, |a| a.run(2, avg_pool2d)),
    )
    .forms(FUNCTIONAL)
    .gradient(Gradient::Vjp("AvgPool2DBackward0"))
    .details("The stride is the window's size unless given. Zeros of the border count unless `count_include_pad` is false.")
    .shapes(shapes::AVG2D)
    .errors(shapes::AVG_ERRORS)
    .example("F::avg_pool2d(tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2)", "tensor([[[2.5000]]])")
    .samples(&[
        Sample::of("F::avg_pool2d(x, 2)", &[PLANE]),
        Sample::of("F::avg_pool2d(x, 3, #{stride: 2, padding: 1, count_include_pad: false})", &[PLANE]),
    ]),
    OpDef::call("adaptive_avg_pool2d", Family::Convolution, "The means of nearly equal parts of the last two dimensions, as many as asked for.", AdaptiveAvgPool2dParams::LIST, by_name!(AdaptiveAvgPool2dParams, |a| adaptive_avg_pool2d(a.input, adaptive_size(Some(a.input), a.output_size)?).map(Value::from)))
    .forms(FUNCTIONAL)
    .gradient(Gradient::Vjp("AvgPool2DBackward0"))
    .details("`output_size` is a number or `[height, width]`; () keeps a size.")
    .shapes(shapes::ADAPTIVE2D)
    .errors(&[
        "ValueError: the input has no more dimensions than `output_size` has numbers",
        "RuntimeError: the input has neither three nor four dimensions",
        "RuntimeError: an output size is negative",
    ])
    .example("F::adaptive_avg_pool2d(tensor([[[1.0, 2.0], [3.0, 4.0]]]), 1)", "tensor([[[2.5000]]])")
    .samples(&[
        Sample::of("F::adaptive_avg_pool2d(x, 1)", &[PLANE]),
        Sample::of("F::adaptive_avg_pool2d(x, [2, 3])", &[PLANE]),
    ]),
];

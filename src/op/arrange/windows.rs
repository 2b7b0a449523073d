//! Views by windows and by strides, with the rule that both share.

use crate::base::dims::show;
use crate::base::sorted;
use crate::base::{DType, Dims, Error, Layout, Result, Strides};
use crate::op::core::args::to_value;
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Domain, Draw, Family, Gradient, METHOD, OpDef, Sample};
use crate::op::core::fill::reshaped;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::record::{no_grad, one};
use crate::op::create::filled::Make;
use crate::op::create::ranges::arange;
use crate::op::elementwise::arithmetic::add;
use crate::op::gather::select::{index_add, index_select};
use crate::op::index::places::index_copy;
use crate::op::shape::permute::permute;
use crate::op::shape::view::{reshape_to, viewed_with};
use crate::tensor::Tensor;
use crate::tensor::autograd::{Grads, Saved, Vjp};

/// Windows of `size` along `dim`, `step` apart, as a new last dimension; a view.
pub fn unfold(x: &Tensor, dim: i64, size: i64, step: i64) -> Result<Tensor> {
    let along = x.dim(dim)?;
    let most = x.shape().get(along).copied().unwrap_or(1) as i64;
    if size < 0 || size > most {
        let text = format!("maximum size for tensor at dimension {along} is {most} but size is {size}");
        return Err(Error::runtime(text));
    }
    if step <= 0 {
        return Err(Error::runtime(format!("step is {step} but must be > 0")));
    }
    let count = ((most - size) / step + 1) as usize;
    let windows = |layout: &Layout| -> Result<Layout> {
        let (mut shape, mut strides): (Dims, Strides) = (layout.shape().into(), layout.strides().into());
        let gap = strides.get(along).copied().unwrap_or(1);
        if let (Some(d), Some(s)) = (shape.get_mut(along), strides.get_mut(along)) {
            (*d, *s) = (count, gap * step as isize);
        }
        shape.push(size as usize);
        strides.push(gap);
        Layout::new(shape, strides, layout.offset())
    };
    static RULE: Vjp = Vjp { name: "UnfoldBackward0", run: restrided_grad };
    // The rule works on the elements as they are counted, wherever the input has them.
    let from = Layout::contiguous(x.shape())?;
    let to = windows(&from)?;
    Ok(viewed_with(x, windows(x.layout())?, &RULE, Restrided { from, to }))
}

/// The storage seen with other sizes, strides and offset; a view.
pub fn as_strided(x: &Tensor, size: &[i64], stride: &[i64], offset: Option<i64>) -> Result<Tensor> {
    if size.len() != stride.len() {
        return Err(Error::runtime("mismatch in length of strides and shape"));
    }
    if stride.iter().any(|&s| s < 0) {
        return Err(Error::runtime(format!(
            "as_strided: Negative strides are not supported at the moment, got strides: {}",
            show(stride)
        )));
    }
    let shape = crate::base::shape::checked_sizes(size)?;
    let strides: Strides = stride.iter().map(|&s| s as isize).collect();
    let offset = offset
        .map_or(Ok(x.layout().offset()), usize::try_from)
        .map_err(|_| Error::runtime("Tensor: invalid storage offset, it must not be negative"))?;
    let reach = shape.iter().zip(stride).try_fold(offset, |at, (&d, &s)| {
        let last = d.saturating_sub(1).checked_mul(usize::try_from(s).ok()?)?;
        at.checked_add(last)
    });
    let have = x.storage().numel();
    let empty = shape.contains(&0);
    if !empty && reach.is_none_or(|end| end >= have) {
        return Err(Error::runtime(format!(
            "setStorage: sizes {}, strides {}, storage offset {offset}, and itemsize {} requiring a storage size of {} \
             are out of bounds for storage of size {}",
            show(size),
            show(stride),
            x.dtype().size(),
            reach.map_or("too many".into(), |end| (end + 1).saturating_mul(x.dtype().size()).to_string()),
            have * x.dtype().size()
        )));
    }
    static RULE: Vjp = Vjp { name: "AsStridedBackward0", run: restrided_grad };
    let to = Layout::new(shape, strides, offset)?;
    Ok(viewed_with(x, to.clone(), &RULE, Restrided { from: x.layout().clone(), to }))
}

/// What the rule of a view with other strides needs: both layouts.
struct Restrided {
    from: Layout,
    to: Layout,
}

/// Gradients are added up in a picture of the storage and read back where the input lies. Where several elements
/// of the input share a place, each gets its part.
fn restrided_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let Restrided { from, to } = s.attribute()?;
    let room = from.end().max(to.end());
    let (read, written) = {
        let _off = no_grad();
        (places(from, g)?, places(to, g)?)
    };
    let zeros = Tensor::full(&[room], 0i64.into(), g.dtype(), &g.context(), "as_strided_backward")?;
    let mut flat = index_add(&zeros, 0, &written, &reshape_to(g, &[g.numel()])?, 1.0)?;
    if from.strides().iter().zip(from.shape()).any(|(&step, &size)| step == 0 && size > 1) {
        let _off = no_grad();
        let ones = Tensor::full(&[read.numel()], 1i64.into(), g.dtype(), &g.context(), "ones")?;
        let times = index_add(&zeros, 0, &read, &ones, 1.0)?;
        flat = crate::op::elementwise::arithmetic::div(
            &flat,
            &crate::op::elementwise::binary::maximum(&times, 1.0)?,
        )?;
    }
    one(reshape_to(&index_select(&flat, 0, &read)?, from.shape())?)
}

/// The places of a layout's elements in its storage, in row-major order of the indices.
fn places(layout: &Layout, like: &Tensor) -> Result<Tensor> {
    let context = like.context();
    let mut sum =
        Tensor::full(layout.shape(), (layout.offset() as i64).into(), DType::Int64, &context, "places")?;
    for (i, (&size, &step)) in layout.shape().iter().zip(layout.strides()).enumerate() {
        let mut own: Dims = layout.shape().iter().map(|_| 1).collect();
        if let Some(slot) = own.get_mut(i) {
            *slot = size;
        }
        let row = Tensor::empty(&own, DType::Int64, &context, "places")?;
        let kernel = crate::device::Kernel::Arange { start: 0i64.into(), step: (step as i64).into() };
        crate::tensor::launch("places", &kernel, &[], &[&row])?;
        sum = add(&sum, &row)?;
    }
    reshape_to(&sum, &[layout.numel()])
}

const M: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];
const X: &[Draw] = &[Draw::of("x", &[2, 3, 4], Domain::Any)];

params! {
    UnfoldParams {
        input: kind::Tensor, "the tensor it is computed of";
        dimension: kind::Int, "the dimension that windows move along";
        size: kind::Int, "how long each window is";
        step: kind::Int, "how far a window lies from the one before";
    }
}

/// A copy of `x`, which lies as `x` does, with `src` where [`as_strided`] shows it; offsets count in the memory of `x`.
fn as_strided_scatter(a: &AsStridedScatterParams) -> Result<Tensor> {
    let (x, src) = (a.input, a.src);
    let mut order: Vec<i64> = (0..x.rank() as i64).collect();
    let step = |d: &i64| x.layout().strides().get(*d as usize).copied().unwrap_or(0);
    sorted::sort_few_by_key(&mut order, |d| std::cmp::Reverse(step(d)));
    let memory = permute(x, &order)?;
    if !memory.is_contiguous() {
        let text = "as_strided_scatter(): the input is a view with gaps, which a copy of it has not";
        return Err(Error::runtime(text).with_hint("`x.contiguous()` has none"));
    }
    let (count, own) = (x.numel() as i64, x.layout().offset() as i64);
    let make = Make { device: Some(x.device().into()), ..Make::default() };
    let all = arange(0i64.into(), count.into(), 1i64.into(), &make)?;
    let places = as_strided(&all, &a.size, &a.stride, Some(a.storage_offset.unwrap_or(own) - own))?;
    if places.shape() != src.shape() {
        return Err(Error::runtime(format!(
            "expected src to have a size equal to the slice of self. src size = {:?}, slice size = {:?}",
            src.shape(),
            places.shape()
        )));
    }
    let line = |t: &Tensor| reshape_to(t, &[t.numel()]);
    let flat = index_copy(&line(&memory)?, 0, &line(&places)?, &to_dtype(&line(src)?, x.dtype())?)?;
    let mut back: Vec<i64> = (0..x.rank() as i64).collect();
    sorted::sort_few_by_key(&mut back, |d| order.get(*d as usize).copied());
    permute(&reshape_to(&flat, memory.shape())?, &back)
}

params! {
    AsStridedScatterParams {
        input: kind::Tensor, "the tensor that is copied";
        src: kind::Tensor, "what is written";
        size: kind::Ints, "sizes of the part that is written";
        stride: kind::Ints, "elements from one place to the next in memory, for each dimension";
        storage_offset: Maybe<kind::Int>, "the place of the first element in memory; that of the tensor where none is named";
    }
}

params! {
    AsStridedParams {
        input: kind::Tensor, "the tensor it is computed of";
        size: kind::Ints, "sizes of the result";
        stride: kind::Ints, "elements from one place to the next in memory, for each dimension";
        storage_offset: Maybe<kind::Int>, "the place of the first element in memory; that of the tensor where none is named";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "unfold",
        Family::Movement,
        "Windows along a dimension as a new last dimension, sharing memory.",
        UnfoldParams::LIST,
        by_name!(UnfoldParams, |a| to_value(unfold(a.input, a.dimension, a.size, a.step))),
    )
    .forms(METHOD)
    .shapes("(…, n, …) -> (…, (n - size) / step + 1, …, size), the quotient rounded down")
    .errors(&[
        "RuntimeError: the window is longer than the dimension, or the step not above 0",
        "IndexError: the tensor has no such dimension as `dimension`",
    ])
    .example("arange(4).unfold(0, 2, 1)", "tensor([[0, 1],\n        [1, 2],\n        [2, 3]])")
    .gradient(Gradient::Vjp("UnfoldBackward0"))
    .samples(&[Sample::of("x.unfold(1, 3, 1)", M), Sample::of("x.unfold(0, 2, 1)", X)]),
    OpDef::call(
        "as_strided",
        Family::Movement,
        "The memory under a tensor seen with other sizes, strides and offset.",
        AsStridedParams::LIST,
        by_name!(AsStridedParams, |a| to_value(as_strided(a.input, &a.size, &a.stride, a.storage_offset))),
    )
    .shapes("any -> size")
    .errors(&[
        "RuntimeError: sizes and strides reach behind the memory",
        "RuntimeError: there are not as many strides as sizes",
    ])
    .example("arange(6).as_strided([2, 2], [3, 1])", "tensor([[0, 1],\n        [3, 4]])")
    .in_place(by_name!(AsStridedParams, |a| to_value(reshaped(a.input, |x| {
        as_strided(x, &a.size, &a.stride, a.storage_offset)
    }))))
    .gradient(Gradient::Vjp("AsStridedBackward0"))
    .samples(&[Sample::of("x.clone().as_strided([2, 3], [3, 1], 1)", M)]),
    OpDef::call(
        "as_strided_scatter",
        Family::Movement,
        "A copy in which what `as_strided` shows is another tensor.",
        AsStridedScatterParams::LIST,
        by_name!(AsStridedScatterParams, |a| to_value(as_strided_scatter(&a))),
    )
    .shapes("any, src of the sizes -> that of the input")
    .errors(&[
        "RuntimeError: `src` has another shape",
        "RuntimeError: sizes and strides reach behind the memory",
        "RuntimeError: there are not as many strides as sizes",
        "RuntimeError: the input is a view with gaps",
    ])
    .example("zeros(4).as_strided_scatter(ones(2), [2], [3])", "tensor([1., 0., 0., 1.])")
    .samples(&[Sample::of(
        "x.as_strided_scatter(y, [2, 2], [4, 2], 1)",
        &[Draw::of("x", &[3, 4], Domain::Any), Draw::of("y", &[2, 2], Domain::Any)],
    )]),
];

//! Choosing and writing elements by index tensors along one dimension.

use crate::base::dense::order;
use crate::base::dtype::Category;
use crate::base::{Cause, DType, DeviceCause, Dims, Error, Kind, Layout, Result, Scalar, ShapeCause};
use crate::device::Kernel;
use crate::device::kernel::ScatterMode;
use crate::op::core::args::to_value;
use crate::op::core::autocast;
use crate::op::core::def::{Domain, Draw, Family, Gradient, OpDef, Overlap, Sample};
use crate::op::core::operand::Operand;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::promote::fitting;
use crate::op::core::record::{in_place, one, recorded, two, wanted};
use crate::op::elementwise::arithmetic::remainder;
use crate::op::reduce::sums::{max_all, min_all};
use crate::op::shape::join::cat;
use crate::op::shape::view::reshape_to;
use crate::tensor::accumulate::expand;
use crate::tensor::autograd::{Grads, Saved, Vjp};
use crate::tensor::{In, Tensor, launch};

/// `y[.., i, ..] = x[.., index[.., i, ..], ..]` along `dim`; the result has `index`'s shape.
pub fn gather(x: &Tensor, dim: i64, index: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "GatherBackward0", run: gather_grad };
    let run = || -> Result<Tensor> {
        let dim = x.dim(dim)?;
        if index.numel() == 0 {
            return nothing(x, index);
        }
        check_index(x, dim, index, &GATHER)?;
        let out = Tensor::empty(index.shape(), x.dtype(), &x.context(), "gather")?;
        let (from, by, to) = (ranked(x)?, ranked(index)?, out.with_layout(ranked(&out)?));
        launch("gather", &Kernel::Gather { dim }, &[In::Laid(x, &from), In::Laid(index, &by)], &[&to])
            .map_err(as_runtime)?;
        Ok(recorded(out, &RULE, &[x], |s, _| {
            s.constant(Some(index));
            s.attribute(dim);
        }))
    };
    run().map_err(|e| e.in_op("gather", || vec![x.operand(), index.operand()]))
}

/// `x` with the elements of `source` written where `index` says along `dim`.
pub fn scatter(x: &Tensor, dim: i64, index: &Tensor, source: Operand) -> Result<Tensor> {
    scattered("scatter", x, dim, index, source, ScatterMode::Assign)
}

/// [`scatter`] in place.
pub(crate) fn scatter_(x: &Tensor, dim: i64, index: &Tensor, source: Operand) -> Result<Tensor> {
    scattered_("scatter_", x, dim, index, source, ScatterMode::Assign)
}

/// `x` with the elements of `source` added where `index` says along `dim`.
pub fn scatter_add(x: &Tensor, dim: i64, index: &Tensor, source: &Tensor) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("scatter_add", &[x, source])? {
        return scatter_add(&casts.cast(x)?, dim, index, &casts.cast(source)?);
    }
    scattered("scatter_add", x, dim, index, source.into(), ScatterMode::Add)
}

/// Combines the elements of `source` with what stands where `index` says along `dim`; no graph, no version.
pub(crate) fn scatter_into(
    x: &Tensor,
    dim: i64,
    index: &Tensor,
    source: &Tensor,
    mode: ScatterMode,
) -> Result<()> {
    let run = || {
        let dim = check_scatter(x, dim, index, source.into())?;
        write("scatter_reduce", x, dim, index, source.into(), mode).map_err(as_runtime)
    };
    run().map_err(|e| e.in_op("scatter_reduce", || vec![x.operand(), index.operand()]))
}

/// [`scatter_add`] in place.
pub(crate) fn scatter_add_(x: &Tensor, dim: i64, index: &Tensor, source: &Tensor) -> Result<Tensor> {
    scattered_("scatter_add_", x, dim, index, source.into(), ScatterMode::Add)
}

/// [`gather`] with the other dimensions broadcast and indices that wrap around; without `dim` over the flattened tensors,
/// where they do not.
pub fn take_along_dim(x: &Tensor, index: &Tensor, dim: Option<i64>) -> Result<Tensor> {
    let Some(dim) = dim else {
        let (flat, by) = (reshape_to(x, &[x.numel()])?, reshape_to(index, &[index.numel()])?);
        return gather(&flat, 0, &by);
    };
    if x.rank() != index.rank() {
        return Err(Error::runtime(format!(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got {} dimensions \
             for input, and {} dimensions for indices",
            x.rank(),
            index.rank()
        )));
    }
    if index.dtype() != DType::Int64 {
        let name = index.dtype().type_name();
        let text = format!("torch.take_along_dim(): dtype of indices should be Long but got {name}");
        return Err(Error::runtime(text).with_hint("convert them: `indices.long()`"));
    }
    let dim = x.dim(dim)?;
    let (mut own, mut by): (Dims, Dims) = (x.shape().into(), index.shape().into());
    for (i, (a, b)) in own.iter_mut().zip(by.iter_mut()).enumerate() {
        if i != dim && *a != *b {
            if *a == 1 {
                *a = *b;
            } else {
                *b = *a;
            }
        }
    }
    let index = wrapped(index, own.get(dim).copied().unwrap_or(1))?;
    gather(&expand(x, &own)?, dim as i64, &expand(&index, &by)?)
}

/// Indices that start anew behind the end, and before the start count from the end.
fn wrapped(index: &Tensor, size: usize) -> Result<Tensor> {
    if index.dtype().category() != Category::Int || index.numel() == 0 {
        return Ok(index.clone());
    }
    if size == 0 {
        return Err(
            Error::runtime("ZeroDivisionError").with_hint("a dimension of size 0 has no elements to take")
        );
    }
    remainder(index, size as i64)
}

/// An index outside its dimension, said as the op says it: `(index, dim, size)`.
pub(crate) fn out_of_range(error: Error, say: impl FnOnce(i64, usize, usize) -> Error) -> Error {
    match *error.cause() {
        Cause::Shape(ShapeCause::IndexOutOfBounds { index, dim, size }) => say(index, dim, size),
        _ => error,
    }
}

/// The layout of a tensor for kernels along a dimension: a scalar is a vector of one.
pub(crate) fn ranked(x: &Tensor) -> Result<Layout> {
    if x.rank() == 0 { x.layout().unsqueeze(0) } else { Ok(x.layout().clone()) }
}

/// Indices on the CPU lie in `low..high`. A device finds out itself, in its kernel.
pub(crate) fn whole_within(
    index: &Tensor,
    (low, high): (i64, i64),
    dim: usize,
    op: &'static str,
) -> Result<()> {
    match beyond(index, low, high, op)? {
        None => Ok(()),
        Some(bad) => Err(Error::new(
            Kind::IndexError,
            format!("index {bad} is out of bounds for dimension {dim} with size {high}"),
        )),
    }
}

/// An index on the CPU that doesn't lie in `low..high`, if there is one, for which `op` ends without a kernel.
pub(crate) fn beyond(index: &Tensor, low: i64, high: i64, op: &'static str) -> Result<Option<i64>> {
    let Some((least, most)) = extent(index)? else { return Ok(None) };
    let found = if least < low { Some(least) } else { Some(most).filter(|&m| m >= high) };
    if found.is_some() {
        tell_of_reading(index, op);
    }
    Ok(found)
}

/// Up to so many numbers are looked at in their memory, which takes less than two reductions.
const FEW: usize = 4096;

/// The least and the largest of whole numbers on the CPU; none of no elements, and of those of a GPU.
pub(crate) fn extent(index: &Tensor) -> Result<Option<(i64, i64)>> {
    if index.numel() == 0 || index.device().is_cuda() {
        return Ok(None);
    }
    if let Some(ends) = seen(index) {
        return Ok(Some(ends));
    }
    let index = index.detach();
    Ok(Some((min_all(&index)?.item()?.as_i64(), max_all(&index)?.item()?.as_i64())))
}

/// A number below 0 among those of [`extent`], for which `op` ends without a kernel.
pub(crate) fn negative(index: &Tensor, op: &'static str) -> Result<Option<i64>> {
    if index.numel() == 0 || index.device().is_cuda() {
        return Ok(None);
    }
    let least = match seen(index) {
        Some((least, _)) => least,
        None => min_all(&index.detach())?.item()?.as_i64(),
    };
    if least < 0 {
        tell_of_reading(index, op);
    }
    Ok(Some(least).filter(|&least| least < 0))
}

/// Few whole numbers that lie one after another are read without a kernel.
fn is_seen(index: &Tensor) -> bool {
    let is_whole = matches!(index.dtype(), DType::Int64 | DType::Int32);
    is_whole && (1..=FEW).contains(&index.numel()) && index.is_contiguous() && index.has_values()
}

/// The least and the largest of such numbers.
fn seen(index: &Tensor) -> Option<(i64, i64)> {
    match index.dtype() {
        _ if !is_seen(index) => None,
        DType::Int64 => index.with_bytes(|bytes| both_ends(bytes, i64::from_ne_bytes)),
        _ => index.with_bytes(|bytes| both_ends(bytes, |b| i32::from_ne_bytes(b).into())),
    }
}

/// What was read without a kernel is told of where none follows that reads it too.
fn tell_of_reading(index: &Tensor, op: &'static str) {
    if is_seen(index) {
        index.host_reads(op);
    }
}

fn both_ends<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> i64) -> Option<(i64, i64)> {
    let mut numbers = bytes.as_chunks::<N>().0.iter().map(|&bytes| number(bytes));
    let first = numbers.next()?;
    Some(numbers.fold((first, first), |(least, most), n| (least.min(n), most.max(n))))
}

/// An argument off the device of `x`, in the words of PyTorch's dispatcher.
pub(crate) fn same_place(
    x: &Tensor,
    argument: &'static str,
    other: &Tensor,
    method: &'static str,
) -> Result<()> {
    if other.device() == x.device() {
        return Ok(());
    }
    Err(DeviceCause::ArgumentDevice { argument, is_on: other.device(), others: x.device(), method }.into())
}

/// PyTorch reports these as a `RuntimeError`.
pub(crate) fn as_runtime(error: Error) -> Error {
    out_of_range(error, |index, dim, size| {
        Error::runtime(format!("index {index} is out of bounds for dimension {dim} with size {size}"))
    })
}

/// What an index without elements picks, of whatever dtype and dimensions it is.
fn nothing(x: &Tensor, index: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "GatherBackward0",
        run: |s, g| one(Tensor::full(s.shape(0), 0i64.into(), g.dtype(), &g.context(), "zeros")?),
    };
    same_place(x, "index", index, GATHER.method)?;
    let out = Tensor::empty(index.shape(), x.dtype(), &x.context(), "gather")?;
    Ok(recorded(out, &RULE, &[x], |_, _| ()))
}

fn gather_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let index = s.tensor(0)?;
    let &dim: &usize = s.attribute()?;
    let zeros = Tensor::full(s.shape(0), 0i64.into(), g.dtype(), &g.context(), "zeros")?;
    one(scatter_add(&zeros, dim as i64, &index, g)?)
}

/// How an operation reads its index, and how its errors call things.
struct IndexUse {
    name: &'static str,
    /// PyTorch's function on a GPU.
    method: &'static str,
    /// What the index must have the rank of.
    what: &'static str,
    /// The index may be no larger than the tensor beside `dim`.
    bounded: bool,
}

const GATHER: IndexUse =
    IndexUse { name: "gather", method: "wrapper_CUDA_gather", what: "input", bounded: true };
const SCATTER: IndexUse =
    IndexUse { name: "scatter", method: "wrapper_CUDA_scatter", what: "self", bounded: false };

/// An index tensor for `gather` and `scatter`: ints, of the tensor's rank.
fn check_index(x: &Tensor, dim: usize, index: &Tensor, user: &IndexUse) -> Result<()> {
    let IndexUse { name, method, what, bounded } = *user;
    same_place(x, "index", index, method)?;
    if index.numel() > 0 && !matches!(index.dtype(), DType::Int64 | DType::Int32) {
        let text = format!("{name}(): Expected dtype int32/int64 for index");
        let hint = format!("this one holds {}: convert it, `index.long()`", index.dtype());
        return Err(Error::runtime(text).with_hint(hint));
    }
    if index.rank().max(1) != x.rank().max(1) {
        let text = format!("Index tensor must have the same number of dimensions as {what} tensor");
        let (has, other) = (index.rank(), x.rank());
        return Err(Error::runtime(text).with_hint(format!(
            "it has {has}, and the tensor {other}: `unsqueeze` and `expand` it, one index for each element"
        )));
    }
    let larger = |(i, (a, b)): (usize, (&usize, &usize))| i != dim && a > b;
    if bounded && let Some((at, _)) = index.shape().iter().zip(x.shape()).enumerate().find(|p| larger(*p)) {
        return Err(Error::runtime(format!(
            "Size does not match at dimension {at} expected index {:?} to be no larger than self {:?} apart from \
             dimension {dim}",
            index.shape(),
            x.shape()
        )));
    }
    Ok(())
}

pub(crate) fn check_scatter(x: &Tensor, dim: i64, index: &Tensor, source: Operand) -> Result<usize> {
    let dim = x.dim(dim)?;
    check_index(x, dim, index, &SCATTER)?;
    if let Operand::Tensor(source) = source {
        check_source(x, dim, index, source)?;
    }
    // No kernel runs where there is nothing to write.
    if x.numel() == 0 && index.numel() > 0 {
        let first = index.to_scalars(SCATTER.name)?.first().map_or(0, |n| n.as_i64());
        return Err(Error::runtime(format!(
            "index {first} is out of bounds for dimension {dim} with size 0"
        )));
    }
    Ok(dim)
}

fn check_source(x: &Tensor, dim: usize, index: &Tensor, source: &Tensor) -> Result<()> {
    same_place(x, "src", source, "wrapper_CUDA_scatter")?;
    if source.dtype() != x.dtype() {
        return Err(Error::runtime("scatter(): Expected self.dtype to be equal to src.dtype")
            .with_hint(format!("convert it: `src.to({})`", x.dtype())));
    }
    if source.rank().max(1) != index.rank().max(1) {
        return Err(Error::runtime("Index tensor must have the same number of dimensions as src tensor"));
    }
    let beyond = |other: &[usize], skip: Option<usize>| {
        index.shape().iter().zip(other).enumerate().any(|(i, (a, b))| Some(i) != skip && a > b)
    };
    if beyond(x.shape(), Some(dim)) || beyond(source.shape(), None) {
        return Err(Error::runtime(format!(
            "Expected index {:?} to be no larger than self {:?} apart from dimension {dim} and to be no larger size \
             than src {:?}",
            index.shape(),
            x.shape(),
            source.shape()
        )));
    }
    Ok(())
}

fn scattered(
    name: &'static str,
    x: &Tensor,
    dim: i64,
    index: &Tensor,
    source: Operand,
    mode: ScatterMode,
) -> Result<Tensor> {
    let run = || -> Result<Tensor> {
        let dim = check_scatter(x, dim, index, source)?;
        let out = x.copied(x.dtype(), name)?;
        write(name, &out, dim, index, source, mode).map_err(as_runtime)?;
        let (rule, inputs) = rule(mode, x, source);
        Ok(recorded(out, rule, &inputs, |s, _| {
            s.constant(Some(index));
            s.attribute(dim);
        }))
    };
    run().map_err(|e| e.in_op(name, || vec![x.operand(), index.operand()]))
}

fn scattered_(
    name: &'static str,
    x: &Tensor,
    dim: i64,
    index: &Tensor,
    source: Operand,
    mode: ScatterMode,
) -> Result<Tensor> {
    let run = || -> Result<Tensor> {
        let dim = check_scatter(x, dim, index, source)?;
        let (rule, inputs) = rule(mode, x, source);
        in_place(
            x,
            inputs.get(1..).unwrap_or_default(),
            rule,
            |s| {
                s.constant(Some(index));
                s.attribute(dim);
            },
            || write(name, x, dim, index, source, mode).map_err(as_runtime),
        )
    };
    run().map_err(|e| e.in_op(name, || vec![x.operand(), index.operand()]))
}

/// Launches the writing of `source` at `index` into `out`; no graph, no version.
pub fn write(
    name: &'static str,
    out: &Tensor,
    dim: usize,
    index: &Tensor,
    source: Operand,
    mode: ScatterMode,
) -> Result<()> {
    // What lies in another order is walked in that order.
    let laid = ranked(out)?;
    let order = match laid.is_dense() && !laid.is_contiguous() {
        true => order(laid.shape(), &[laid.strides()]),
        false => (0..laid.rank()).collect(),
    };
    let turned = |layout: Layout| layout.permute(&order);
    let dim = order.iter().position(|&d| d == dim).unwrap_or(dim);
    let (by, to) = (turned(ranked(index)?)?, out.with_layout(turned(laid)?));
    let kernel = Kernel::Scatter { dim, mode };
    match source {
        Operand::Tensor(t) => {
            let mut from = turned(ranked(t)?)?;
            for (i, &size) in by.shape().iter().enumerate() {
                from = from.slice(i, 0, size, 1)?;
            }
            launch(name, &kernel, &[In::Laid(index, &by), In::Laid(t, &from)], &[&to])
        }
        Operand::Scalar(n) => {
            launch(name, &kernel, &[In::Laid(index, &by), In::Scalar(fitting(n, out.dtype())?)], &[&to])
        }
    }
}

fn rule<'t>(mode: ScatterMode, x: &'t Tensor, source: Operand<'t>) -> (&'static Vjp, Vec<&'t Tensor>) {
    static TENSOR: Vjp = Vjp { name: "ScatterBackward0", run: scatter_grad };
    static NUMBER: Vjp = Vjp { name: "ScatterBackward1", run: scatter_grad };
    static ADD: Vjp = Vjp { name: "ScatterAddBackward0", run: scatter_add_grad };
    match (source, mode) {
        (Operand::Scalar(_), _) => (&NUMBER, vec![x]),
        (Operand::Tensor(t), ScatterMode::Add) => (&ADD, vec![x, t]),
        (Operand::Tensor(t), _) => (&TENSOR, vec![x, t]),
    }
}

fn scatter_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let index = s.tensor(0)?;
    let &dim: &usize = s.attribute()?;
    let own = wanted(s, 0, || scatter(g, dim as i64, &index, Operand::Scalar(Scalar::Int(0))))?;
    two(own, wanted(s, 1, || source_grad(s, g, dim, &index))?)
}

fn scatter_add_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let index = s.tensor(0)?;
    let &dim: &usize = s.attribute()?;
    two(Some(g.clone()), wanted(s, 1, || source_grad(s, g, dim, &index))?)
}

/// What was read of the source gets its gradient; the rest of a larger source gets zeros.
fn source_grad(s: &Saved, g: &Tensor, dim: usize, index: &Tensor) -> Result<Tensor> {
    let mut out = gather(g, dim as i64, index)?;
    for (i, &size) in s.shape(1).iter().enumerate() {
        let have = out.shape().get(i).copied().unwrap_or(size);
        if have < size {
            let mut rest: Dims = out.shape().into();
            if let Some(d) = rest.get_mut(i) {
                *d = size - have;
            }
            let zeros = Tensor::full(&rest, 0i64.into(), out.dtype(), &out.context(), "zeros")?;
            out = cat(&[&out, &zeros], i as i64)?;
        }
    }
    Ok(out)
}

const SCATTERED: &[Draw] = &[
    Draw::of("x", &[4, 3], Domain::Any),
    Draw::of("i", &[5, 3], Domain::Index(4)),
    Draw::of("v", &[5, 3], Domain::Any),
];

params! {
    GatherParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Dim, "the dimension it runs along; negative ones count from the end";
        index: kind::Tensor, "the places along the dimension, as whole numbers";
    }
}

params! {
    ScatterAddParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Dim, "the dimension it runs along; negative ones count from the end";
        index: kind::Tensor, "the places along the dimension, as whole numbers";
        src: kind::Tensor, "the values written, of at least the size of `index`";
    }
}

params! {
    TakeAlongDimParams {
        input: kind::Tensor, "the tensor it is computed of";
        indices: kind::Tensor, "the places along the dimension, as whole numbers";
        dim: Maybe<kind::Dim>, "the dimension it runs along; negative ones count from the end";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "gather",
        Family::Index,
        "Elements along a dimension, each by its own index.",
        GatherParams::LIST,
        by_name!(GatherParams, |a| to_value(gather(a.input, a.dim, a.index))),
    )
    .shapes("any, index -> that of index, which is no larger than the input but along dim")
    .errors(&[
        "RuntimeError: the index has other dimensions, or a size above the input's",
        "RuntimeError: an index lies outside of the dimension",
    ])
    .details(
        "Its gradient adds what was picked several times as scatter_add does: in any order on a GPU, unless \
         use_deterministic_algorithms asks for one.",
    )
    .example("tensor([[1, 2], [3, 4]]).gather(1, tensor([[0], [1]]))", "tensor([[1],\n        [4]])")
    .gradient(Gradient::Vjp("GatherBackward0"))
    .samples(&[Sample::of(
        "x.gather(1, i)",
        &[Draw::of("x", &[4, 5], Domain::Any), Draw::of("i", &[4, 3], Domain::Index(5))],
    )]),
    OpDef::call(
        "scatter_add",
        Family::Index,
        "Elements added along a dimension, each at its own index.",
        ScatterAddParams::LIST,
        by_name!(ScatterAddParams, |a| to_value(scatter_add(a.input, a.dim, a.index, a.src))),
    )
    .overlap(Overlap::None)
    .in_place(by_name!(ScatterAddParams, |a| to_value(scatter_add_(a.input, a.dim, a.index, a.src))))
    .shapes("any, index, src at least as large as index -> that of the input")
    .errors(&[
        "RuntimeError: the index is larger than `src`, or than the input but along dim",
        "RuntimeError: an index lies outside of the dimension",
    ])
    .details(
        "On a GPU what goes to one place is added in an order that chance decides, as by atomics, so that last \
         bits differ between two calls; use_deterministic_algorithms gives one order, and takes longer.",
    )
    .example("zeros([1, 3]).scatter_add(1, tensor([[2, 2]]), ones([1, 2]))", "tensor([[0., 0., 2.]])")
    .gradient(Gradient::Vjp("ScatterAddBackward0"))
    .samples(&[Sample::of("x.scatter_add(0, i, v)", SCATTERED)]),
    OpDef::call(
        "take_along_dim",
        Family::Index,
        "Elements along a dimension by indices as `argsort` gives them.",
        TakeAlongDimParams::LIST,
        by_name!(TakeAlongDimParams, |a| to_value(take_along_dim(a.input, a.indices, a.dim))),
    )
    .shapes(
        "input and indices broadcast together but along dim, where the indices' size holds; without dim that of the \
         indices",
    )
    .details(
        "Indices wrap around along `dim`: those behind the end start anew, and negative ones count from it. Without `dim` \
         they are places in the flattened tensor, and do not.",
    )
    .errors(&[
        "RuntimeError: without `dim`, an index lies outside of the flattened tensor",
        "RuntimeError: indices and input differ in how many dimensions they have",
        "RuntimeError: the indices hold no integers",
    ])
    .example("tensor([3, 1, 2]).take_along_dim(tensor([1, 2, 0]), 0)", "tensor([1, 2, 3])"),
];

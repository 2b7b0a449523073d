//! Movement: views by layout. What copies into a new order is in `joins`.

use smallvec::SmallVec;

use crate::base::shape::{checked_sizes, numel, show, wrap_dim};
use crate::base::{Dims, Error, Kind, Layout, Result, ShapeCause};
use crate::device::hold_reserve;
use crate::tensor::Tensor;
use crate::tensor::accumulate::expand;
use crate::tensor::autograd::{Grads, Rule, Saved, Vjp, needs_graph};

use super::record::{one, recorded};

/// `x` with `shape`, sharing its memory; an error where strides do not allow that.
pub fn view(x: &Tensor, shape: &[i64]) -> Result<Tensor> {
    let target = infer(shape, x.numel())?;
    let layout = x.layout().view(&target).ok_or(ShapeCause::ViewNotContiguous)?;
    Ok(viewed(x, layout, &VIEW))
}

/// `x` with `shape`: a view where strides allow it, a copy elsewhere. One size may be -1.
pub fn reshape(x: &Tensor, shape: &[i64]) -> Result<Tensor> {
    let target = infer(shape, x.numel())?;
    reshape_to(x, &target)
}

/// [`reshape`] to sizes that are known to fit.
pub fn reshape_to(x: &Tensor, shape: &[usize]) -> Result<Tensor> {
    match x.layout().view(shape) {
        Some(layout) => Ok(viewed(x, layout, &VIEW)),
        None => {
            let packed = contiguous(x)?;
            let layout = Layout::contiguous(shape)?;
            if layout.numel() != x.numel() {
                let text = format!("shape '{}' is invalid for input of size {}", show(shape), x.numel());
                return Err(Error::runtime(text));
            }
            Ok(viewed(&packed, layout, &VIEW))
        }
    }
}

/// `x` itself where it is row-major, else a row-major copy.
pub fn contiguous(x: &Tensor) -> Result<Tensor> {
    if x.is_contiguous() { Ok(x.clone()) } else { cloned(x) }
}

static CLONE: Vjp = Vjp { name: "CloneBackward0", run: |_, g| one(g.clone()) };

/// A row-major copy that passes gradients through.
pub fn cloned(x: &Tensor) -> Result<Tensor> {
    Ok(recorded(x.copied(x.dtype(), "clone")?, &CLONE, &[x], |_, _| ()))
}

/// A copy that lies in memory as `x` does and passes gradients through, as `Tensor.clone`.
pub fn clone(x: &Tensor) -> Result<Tensor> {
    Ok(recorded(x.copied_like(x.dtype(), "clone")?, &CLONE, &[x], |_, _| ()))
}

/// Swaps two dimensions.
pub fn transpose(x: &Tensor, a: i64, b: i64) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "TransposeBackward0",
        run: |s, g| {
            let &(a, b): &(usize, usize) = s.attribute()?;
            one(transpose(g, a as i64, b as i64)?)
        },
    };
    let (a, b) = (x.dim(a)?, x.dim(b)?);
    if x.rank() == 0 {
        return Ok(viewed(x, x.layout().clone(), &VIEW));
    }
    Ok(viewed_with(x, x.layout().transpose(a, b)?, &RULE, (a, b)))
}

/// The transpose of a matrix; vectors and scalars as they are.
pub fn t(x: &Tensor) -> Result<Tensor> {
    match x.rank() {
        0 | 1 => Ok(viewed(x, x.layout().clone(), &VIEW)),
        2 => Ok(viewed(x, x.layout().transpose(0, 1)?, &T)),
        n => Err(Error::runtime(format!("t() expects a tensor with <= 2 dimensions, but self is {n}D"))
            .with_hint("`x.transpose(a, b)` swaps two dimensions of any tensor")),
    }
}

/// Reorders dimensions.
pub fn permute(x: &Tensor, order: &[i64]) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "PermuteBackward0",
        run: |s, g| {
            let order: &SmallVec<[usize; 6]> = s.attribute()?;
            let mut back: Vec<(usize, i64)> = order.iter().copied().zip(0i64..).collect();
            back.sort_unstable();
            one(permute(g, &back.iter().map(|(_, i)| *i).collect::<Vec<_>>())?)
        },
    };
    if order.len() != x.rank() {
        return Err(Error::runtime(format!(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired \
             ordering of dimensions i.e. input.dim() = {} is not equal to len(dims) = {}",
            x.rank(),
            order.len()
        )));
    }
    let wrapped: SmallVec<[usize; 6]> =
        order.iter().map(|&d| wrap_dim(d, x.rank())).collect::<Result<_>>()?;
    let mut seen = wrapped.clone();
    seen.sort_unstable();
    seen.dedup();
    if seen.len() != wrapped.len() {
        return Err(Error::runtime("permute(): duplicate dims are not allowed."));
    }
    Ok(viewed_with(x, x.layout().permute(&wrapped)?, &RULE, wrapped))
}

/// Moves dimensions to other places; the others keep their order.
pub fn movedim(x: &Tensor, source: &[i64], destination: &[i64]) -> Result<Tensor> {
    if source.len() != destination.len() {
        return Err(Error::runtime(format!(
            "movedim: Invalid source or destination dims: source ({} dims) should contain the same number of dims as \
             destination ({} dims)",
            show(source),
            show(destination)
        )));
    }
    let (from, to) =
        (distinct(x, source, "movedim", "source")?, distinct(x, destination, "movedim", "destination")?);
    let mut rest = (0..x.rank()).filter(|d| !from.contains(d));
    let order: Vec<i64> = (0..x.rank())
        .filter_map(|place| match to.iter().position(|&t| t == place) {
            Some(i) => from.get(i).copied(),
            None => rest.next(),
        })
        .map(|d| d as i64)
        .collect();
    permute(x, &order)
}

/// All dimensions in reverse order.
pub fn reversed(x: &Tensor) -> Result<Tensor> {
    permute(x, &(0..x.rank() as i64).rev().collect::<Vec<_>>())
}

/// Swaps the last two dimensions.
pub fn matrix_transpose(x: &Tensor) -> Result<Tensor> {
    if x.rank() < 2 {
        let text = format!(
            "tensor.mT is only supported on matrices or batches of matrices. Got {}-D tensor.",
            x.rank()
        );
        return Err(Error::runtime(text));
    }
    transpose(x, -2, -1)
}

/// Inserts a dimension of size 1.
pub fn unsqueeze(x: &Tensor, dim: i64) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "UnsqueezeBackward0",
        run: |s, g| {
            let &dim: &usize = s.attribute()?;
            one(squeeze_dims(g, &[dim], &SQUEEZE_SOME)?)
        },
    };
    let dim = wrap_dim(dim, x.rank() + 1)?;
    Ok(viewed_with(x, x.layout().unsqueeze(dim)?, &RULE, dim))
}

/// Removes dimensions of size 1: all of them, or those listed.
pub fn squeeze(x: &Tensor, dims: Option<&[i64]>) -> Result<Tensor> {
    let (asked, rule) = match dims {
        None => ((0..x.rank()).collect(), &SQUEEZE_ALL),
        Some(list) => (unique_dims(x, list)?, &SQUEEZE_SOME),
    };
    let gone: Vec<usize> = asked.into_iter().filter(|&d| x.shape().get(d) == Some(&1)).collect();
    squeeze_dims(x, &gone, rule)
}

/// Stretches dimensions of size 1; -1 keeps a size.
pub fn expand_to(x: &Tensor, shape: &[i64]) -> Result<Tensor> {
    let extra = shape.len().saturating_sub(x.rank());
    if let Some(at) = shape.iter().take(extra).position(|&d| d == -1) {
        return Err(Error::runtime(format!(
            "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {at}"
        )));
    }
    let sizes: Vec<i64> = shape
        .iter()
        .enumerate()
        .map(|(i, &d)| match i.checked_sub(extra).and_then(|j| x.shape().get(j)) {
            Some(&have) if d == -1 => have as i64,
            _ => d,
        })
        .collect();
    expand(x, &checked_sizes(&sizes)?)
}

/// `length` elements along `dim` from `start`.
pub fn narrow(x: &Tensor, dim: i64, start: i64, length: i64) -> Result<Tensor> {
    if x.rank() == 0 {
        return Err(Error::runtime("narrow() cannot be applied to a 0-dim tensor."));
    }
    let dim = x.dim(dim)?;
    let size = x.shape().get(dim).copied().unwrap_or(1) as i64;
    if start < -size || start > size {
        return Err(Error::new(
            Kind::IndexError,
            format!("start out of range (expected to be in range of [-{size}, {size}], but got {start})"),
        ));
    }
    if length < 0 {
        return Err(Error::runtime("narrow(): length must be non-negative."));
    }
    let from = if start < 0 { start + size } else { start };
    if length > size - from {
        return Err(Error::runtime(format!(
            "start ({start}) + length ({length}) exceeds dimension size ({size})."
        )));
    }
    slice(x, dim, from as usize, length as usize, 1)
}

/// Every `step`-th of the elements along `dim`, `length` of them from `start`; bounds are the caller's.
pub fn slice(x: &Tensor, dim: usize, start: usize, length: usize, step: usize) -> Result<Tensor> {
    cut(x, Cut::Slice { dim, start, length, step })
}

/// The sub-tensor at `index` of `dim`.
pub fn select(x: &Tensor, dim: i64, index: i64) -> Result<Tensor> {
    if x.rank() == 0 {
        return Err(Error::new(Kind::IndexError, "select() cannot be applied to a 0-dim tensor."));
    }
    let dim = x.dim(dim)?;
    match place(x, dim, index) {
        Some(index) => cut(x, Cut::Select { dim, index }),
        None => Err(Error::new(
            Kind::IndexError,
            format!(
                "select(): index {index} out of range for tensor of size {} at dimension {dim}",
                show(x.shape())
            ),
        )),
    }
}

/// The sub-tensor at `index` of `dim`, as `x[index]` has it: errors speak of the index into dimension `named`.
pub fn at_index(x: &Tensor, dim: usize, index: i64, named: usize) -> Result<Tensor> {
    match place(x, dim, index) {
        Some(index) => cut(x, Cut::Select { dim, index }),
        None => {
            let size = x.shape().get(dim).copied().unwrap_or(1);
            Err(ShapeCause::IndexOutOfBounds { index, dim: named, size }.into())
        }
    }
}

/// A possibly negative index into a dimension, where it is inside.
fn place(x: &Tensor, dim: usize, index: i64) -> Option<usize> {
    let size = x.shape().get(dim).copied().unwrap_or(1) as i64;
    let at = if index < 0 { index.checked_add(size)? } else { index };
    (0..size).contains(&at).then_some(at as usize)
}

/// Elements `[i, i + offset]` of two dimensions, as the last dimension.
pub fn diagonal(x: &Tensor, offset: i64, a: i64, b: i64) -> Result<Tensor> {
    let (a, b) = (x.dim(a)?, x.dim(b)?);
    if a == b || x.rank() < 2 {
        return Err(Error::runtime(format!("diagonal dimensions cannot be identical {a}, {b}")));
    }
    cut(x, Cut::Diagonal { offset, a, b })
}

/// Merges dimensions `start..=end` into one.
pub fn flatten(x: &Tensor, start: i64, end: i64) -> Result<Tensor> {
    if x.rank() == 0 {
        return reshape_to(x, &[1]);
    }
    let (start, end) = (x.dim(start)?, x.dim(end)?);
    if start > end {
        return Err(Error::runtime("flatten() has invalid args: start_dim cannot come after end_dim"));
    }
    let (head, rest) = x.shape().split_at_checked(start).unwrap_or((x.shape(), &[]));
    let (middle, tail) = rest.split_at_checked(end - start + 1).unwrap_or((rest, &[]));
    let mut shape: Dims = head.into();
    shape.push(numel(middle)?);
    shape.extend_from_slice(tail);
    reshape_to(x, &shape)
}

/// Dimensions as indices; an error where one appears twice.
pub fn unique_dims(x: &Tensor, dims: &[i64]) -> Result<Vec<usize>> {
    let wrapped: Vec<usize> = dims.iter().map(|&d| x.dim(d)).collect::<Result<_>>()?;
    match wrapped.iter().enumerate().find(|(i, d)| wrapped.iter().take(*i).any(|e| e == *d)) {
        Some((_, d)) => Err(Error::runtime(format!("dim {d} appears multiple times in the list of dims"))),
        None => Ok(wrapped),
    }
}

fn distinct(x: &Tensor, dims: &[i64], op: &str, which: &str) -> Result<Vec<usize>> {
    let wrapped: Vec<usize> = dims.iter().map(|&d| x.dim(d)).collect::<Result<_>>()?;
    if wrapped.iter().enumerate().any(|(i, d)| wrapped.iter().take(i).any(|e| e == d)) {
        return Err(Error::runtime(format!("{op}: repeated dim in `{which}` ({})", show(dims))));
    }
    Ok(wrapped)
}

/// A view of other sizes and strides, recorded under `rule`.
pub fn viewed(x: &Tensor, layout: Layout, rule: &'static dyn Rule) -> Tensor {
    viewed_with(x, layout, rule, ())
}

/// A view whose rule needs a value.
pub fn viewed_with<T: std::any::Any + Send + Sync>(
    x: &Tensor,
    layout: Layout,
    rule: &'static dyn Rule,
    attribute: T,
) -> Tensor {
    let out = x.with_layout(layout).view_of(x);
    if needs_graph(&[x]) { out.record(rule, &[x], |s, _| s.attribute(attribute)) } else { out }
}

static T: Vjp = Vjp { name: "TBackward0", run: |_, g| one(t(g)?) };

static VIEW: Vjp = Vjp { name: "ViewBackward0", run: view_grad };

/// A part of a tensor, by what was asked for.
#[derive(Clone, Copy, Debug)]
enum Cut {
    Slice { dim: usize, start: usize, length: usize, step: usize },
    Select { dim: usize, index: usize },
    Diagonal { offset: i64, a: usize, b: usize },
}

impl Cut {
    fn of(self, layout: &Layout) -> Result<Layout> {
        match self {
            Cut::Slice { dim, start, length, step } => layout.slice(dim, start, length, step),
            Cut::Select { dim, index } => layout.select(dim, index),
            Cut::Diagonal { offset, a, b } => diagonal_layout(layout, offset, a, b),
        }
    }

    fn rule(self) -> &'static Vjp {
        static SLICE: Vjp = Vjp { name: "SliceBackward0", run: cut_grad };
        static SELECT: Vjp = Vjp { name: "SelectBackward0", run: cut_grad };
        static DIAGONAL: Vjp = Vjp { name: "DiagonalBackward0", run: cut_grad };
        match self {
            Cut::Slice { .. } => &SLICE,
            Cut::Select { .. } => &SELECT,
            Cut::Diagonal { .. } => &DIAGONAL,
        }
    }
}

/// A view of part of a tensor: its gradient is zero outside.
fn cut(x: &Tensor, part: Cut) -> Result<Tensor> {
    // Views by the hundred thousand take no tensor's memory, but a node each.
    hold_reserve()?;
    Ok(viewed_with(x, part.of(x.layout())?, part.rule(), part))
}

fn diagonal_layout(layout: &Layout, offset: i64, a: usize, b: usize) -> Result<Layout> {
    let at = |d: usize| {
        let size = layout.shape().get(d).copied().unwrap_or(1) as i64;
        (size, layout.strides().get(d).copied().unwrap_or(0))
    };
    let ((rows, row_step), (columns, column_step)) = (at(a), at(b));
    let (down, right) = (offset.saturating_neg().max(0), offset.max(0));
    let length = (rows - down.min(rows)).min(columns - right.min(columns)).max(0) as usize;
    let kept = (0..layout.rank()).filter(|&i| i != a && i != b);
    let (mut shape, mut strides): (Dims, SmallVec<[isize; 6]>) =
        kept.filter_map(|i| Some((*layout.shape().get(i)?, *layout.strides().get(i)?))).unzip();
    shape.push(length);
    strides.push(row_step + column_step);
    let moved = if length == 0 { 0 } else { down as isize * row_step + right as isize * column_step };
    Layout::new(shape, strides, (layout.offset() as isize + moved) as usize)
}

fn cut_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let part: &Cut = s.attribute()?;
    let whole = Tensor::full(s.shape(0), 0i64.into(), g.dtype(), &g.context(), "slice_backward")?;
    one(put(whole, *part, g)?)
}

/// `whole` (zeros) with `g` written to a part.
fn put(whole: Tensor, part: Cut, g: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "SliceScatterBackward0",
        run: |s, g| {
            let part: &Cut = s.attribute()?;
            one(cut(g, *part)?)
        },
    };
    whole.with_layout(part.of(whole.layout())?).assign(g, "slice_backward")?;
    Ok(if needs_graph(&[g]) { whole.record(&RULE, &[g], |s, _| s.attribute(part)) } else { whole })
}

static SQUEEZE_ALL: Vjp = Vjp { name: "SqueezeBackward0", run: view_grad };
static SQUEEZE_SOME: Vjp = Vjp { name: "SqueezeBackward1", run: view_grad };

fn view_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    one(reshape_to(g, s.shape(0))?)
}

fn squeeze_dims(x: &Tensor, gone: &[usize], rule: &'static Vjp) -> Result<Tensor> {
    let order: SmallVec<[usize; 6]> = (0..x.rank()).filter(|d| !gone.contains(d)).collect();
    Ok(viewed(x, x.layout().permute(&order)?, rule))
}

/// Works out a size of -1 and checks that the sizes fit `numel` elements.
fn infer(shape: &[i64], numel: usize) -> Result<Dims> {
    let bad = || ShapeCause::Reshape { target: shape.to_vec(), numel };
    if let Some((i, &d)) = shape.iter().enumerate().find(|(_, d)| **d < -1) {
        let text = format!("invalid shape dimension {d} at index {i} of shape {}", show(shape));
        return Err(Error::runtime(text));
    }
    if shape.iter().filter(|&&d| d == -1).count() > 1 {
        return Err(Error::runtime("only one dimension can be inferred"));
    }
    let known = shape
        .iter()
        .filter(|&&d| d != -1)
        .try_fold(1usize, |n, &d| n.checked_mul(d as usize))
        .ok_or_else(bad)?;
    let missing = match (shape.contains(&-1), known) {
        (false, n) if n == numel => 0,
        (true, 0) => {
            return Err(Error::runtime(format!(
                "cannot reshape tensor of 0 elements into shape {} because the unspecified dimension size -1 can be \
                 any value and is ambiguous",
                show(shape)
            )));
        }
        (true, n) if numel.is_multiple_of(n) => numel / n,
        _ => return Err(bad().into()),
    };
    Ok(shape.iter().map(|&d| if d == -1 { missing } else { d as usize }).collect())
}

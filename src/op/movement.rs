//! Movement: views by layout, and the few operations that copy into a new order.

use smallvec::SmallVec;

use crate::base::shape::{checked_sizes, numel, wrap_dim};
use crate::base::{Cause, Dims, Error, Layout, Result};
use crate::tensor::Tensor;
use crate::tensor::accumulate::expand;
use crate::tensor::autograd::{Grads, Rule, Saved, Vjp, needs_graph};

use super::unary::one;

/// `x` with `shape`, sharing its memory; an error where strides do not allow that.
pub fn view(x: &Tensor, shape: &[i64]) -> Result<Tensor> {
    let target = infer(shape, x.numel())?;
    let layout = x.layout().view(&target).ok_or(Cause::ViewNotContiguous)?;
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
            Ok(viewed(&packed, layout, &VIEW))
        }
    }
}

/// `x` itself where it is row-major, else a row-major copy.
pub fn contiguous(x: &Tensor) -> Result<Tensor> {
    if x.is_contiguous() { Ok(x.clone()) } else { cloned(x) }
}

/// A row-major copy that passes gradients through.
pub fn cloned(x: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "CloneBackward0", run: |_, g| one(g.clone()) };
    let out = x.copied(x.dtype(), "clone")?;
    Ok(if needs_graph(&[x]) { out.record(&RULE, &[x], |_, _| ()) } else { out })
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
        2 => transpose(x, 0, 1),
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

/// Moves one dimension to another place.
pub fn movedim(x: &Tensor, source: i64, destination: i64) -> Result<Tensor> {
    let (from, to) = (x.dim(source)?, x.dim(destination)?);
    let mut order: Vec<i64> = (0..x.rank() as i64).filter(|&d| d != from as i64).collect();
    order.insert(to.min(order.len()), from as i64);
    permute(x, &order)
}

/// Inserts a dimension of size 1.
pub fn unsqueeze(x: &Tensor, dim: i64) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "UnsqueezeBackward0",
        run: |s, g| {
            let &dim: &usize = s.attribute()?;
            one(squeeze_dims(g, &[dim])?)
        },
    };
    let dim = wrap_dim(dim, x.rank() + 1)?;
    Ok(viewed_with(x, x.layout().unsqueeze(dim)?, &RULE, dim))
}

/// Removes dimensions of size 1: all of them, or those listed.
pub fn squeeze(x: &Tensor, dims: Option<&[i64]>) -> Result<Tensor> {
    let asked: Vec<usize> = match dims {
        None => (0..x.rank()).collect(),
        Some(list) => list.iter().map(|&d| x.dim(d)).collect::<Result<_>>()?,
    };
    let gone: Vec<usize> = asked.into_iter().filter(|&d| x.shape().get(d) == Some(&1)).collect();
    squeeze_dims(x, &gone)
}

/// Stretches dimensions of size 1; -1 keeps a size.
pub fn expand_to(x: &Tensor, shape: &[i64]) -> Result<Tensor> {
    let extra = shape.len().saturating_sub(x.rank());
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
    let dim = x.dim(dim)?;
    let size = x.shape().get(dim).copied().unwrap_or(1) as i64;
    let from = if start < 0 { start + size } else { start };
    if from < 0 || length < 0 || from + length > size {
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
        return Err(Error::new(
            crate::base::Kind::IndexError,
            "select() cannot be applied to a 0-dim tensor.",
        ));
    }
    let dim = x.dim(dim)?;
    let size = x.shape().get(dim).copied().unwrap_or(1);
    let at = if index < 0 { index + size as i64 } else { index };
    if at < 0 || at >= size as i64 {
        return Err(Cause::IndexOutOfBounds { index, dim, size }.into());
    }
    cut(x, Cut::Select { dim, index: at as usize })
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

/// Pieces of `size` along `dim`; the last may be smaller.
pub fn split(x: &Tensor, size: i64, dim: i64) -> Result<Vec<Tensor>> {
    let dim = x.dim(dim)?;
    let total = x.shape().get(dim).copied().unwrap_or(1);
    let size = usize::try_from(size).map_err(|_| {
        Error::runtime(format!("split expects split_size be non-negative, but got split_size={size}"))
    })?;
    if size == 0 && total > 0 {
        let text =
            format!("split_size can only be 0 if dimension size is 0, but got dimension size of {total}");
        return Err(Error::runtime(text));
    }
    let starts: Vec<usize> = if total == 0 { vec![0] } else { (0..total).step_by(size).collect() };
    starts.into_iter().map(|s| slice(x, dim, s, size.min(total - s), 1)).collect()
}

/// `chunks` pieces of nearly equal size along `dim`.
pub fn chunk(x: &Tensor, chunks: i64, dim: i64) -> Result<Vec<Tensor>> {
    if chunks < 1 {
        let text = format!("chunk expects `chunks` to be greater than 0, got: {chunks}");
        return Err(Error::runtime(text));
    }
    let total = x.size(dim)? as i64;
    split(x, ((total + chunks - 1) / chunks).max(1), dim)
}

/// Joins tensors along an existing dimension.
pub fn cat(tensors: &[&Tensor], dim: i64) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "CatBackward0", run: cat_grad };
    let first = *tensors
        .first()
        .ok_or_else(|| Error::runtime("torch.cat(): expected a non-empty list of Tensors"))?;
    same_device(tensors)?;
    let dim = first.dim(dim)?;
    let mut dtype = first.dtype();
    let mut total = 0;
    for (number, t) in tensors.iter().enumerate() {
        check_cat(first, t, dim, number)?;
        dtype = dtype.promote(t.dtype());
        total += t.shape().get(dim).copied().unwrap_or(0);
    }
    let mut shape: Dims = first.shape().into();
    if let Some(size) = shape.get_mut(dim) {
        *size = total;
    }
    let out = Tensor::empty(&shape, dtype, &first.context(), "cat")?;
    let mut at = 0;
    let mut sizes = Vec::new();
    for t in tensors {
        let size = t.shape().get(dim).copied().unwrap_or(0);
        out.with_layout(out.layout().slice(dim, at, size, 1)?).assign(t, "cat")?;
        at += size;
        sizes.push(size);
    }
    Ok(if needs_graph(tensors) { out.record(&RULE, tensors, |s, _| s.attribute((dim, sizes))) } else { out })
}

/// Joins tensors of one shape along a new dimension.
pub fn stack(tensors: &[&Tensor], dim: i64) -> Result<Tensor> {
    let first = tensors.first().ok_or_else(|| Error::runtime("stack expects a non-empty TensorList"))?;
    for (i, t) in tensors.iter().enumerate() {
        if t.shape() != first.shape() {
            return Err(Error::runtime(format!(
                "stack expects each tensor to be equal size, but got {:?} at entry 0 and {:?} at entry {i}",
                first.shape(),
                t.shape()
            )));
        }
    }
    let dim = wrap_dim(dim, first.rank() + 1)? as i64;
    let wide = tensors.iter().map(|t| unsqueeze(t, dim)).collect::<Result<Vec<_>>>()?;
    cat(&wide.iter().collect::<Vec<_>>(), dim)
}

/// Tiles the tensor `times` along each dimension; missing leading dimensions are added.
pub fn repeat(x: &Tensor, times: &[i64]) -> Result<Tensor> {
    if times.len() < x.rank() {
        return Err(Error::runtime(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
        ));
    }
    let times = checked_sizes(times)?;
    let extra = times.len() - x.rank();
    let padded: Dims = std::iter::repeat_n(1, extra).chain(x.shape().iter().copied()).collect();
    let (mut split, mut wide, mut flat) = (Dims::new(), Dims::new(), Dims::new());
    for (&n, &d) in times.iter().zip(&padded) {
        split.extend([1, d]);
        wide.extend([n, d]);
        flat.push(n.saturating_mul(d));
    }
    let stretched = expand(&reshape_to(x, &split)?, &wide)?;
    reshape_to(&cloned(&stretched)?, &flat)
}

/// Reverses the order along dimensions, in a copy.
pub fn flip(x: &Tensor, dims: &[i64]) -> Result<Tensor> {
    static RULE: Vjp = Vjp {
        name: "FlipBackward0",
        run: |s, g| {
            let dims: &Vec<i64> = s.attribute()?;
            one(flip(g, dims)?)
        },
    };
    let mut strides: SmallVec<[isize; 6]> = x.layout().strides().into();
    let mut offset = x.layout().offset() as isize;
    for &d in dims {
        let d = x.dim(d)?;
        let last = x.shape().get(d).copied().unwrap_or(1).saturating_sub(1) as isize;
        if let Some(step) = strides.get_mut(d) {
            offset += last * *step;
            *step = -*step;
        }
    }
    let turned = x.with_layout(Layout::new(x.shape().into(), strides, offset as usize)?);
    let out = turned.copied(x.dtype(), "flip")?;
    Ok(if needs_graph(&[x]) { out.record(&RULE, &[x], |s, _| s.attribute(dims.to_vec())) } else { out })
}

/// Rotates elements along dimensions; without dimensions over the flattened tensor.
pub fn roll(x: &Tensor, shifts: &[i64], dims: &[i64]) -> Result<Tensor> {
    if dims.is_empty() {
        let &[shift] = shifts else {
            return Err(Error::runtime("roll() takes one shift where no dims are given"));
        };
        let flat = roll_one(&reshape_to(x, &[x.numel()])?, shift, 0)?;
        return reshape_to(&flat, x.shape());
    }
    if shifts.len() != dims.len() {
        let text = format!("shifts and dimensions must align. shifts: {}, dims:{}", shifts.len(), dims.len());
        return Err(Error::runtime(text));
    }
    let mut out = x.clone();
    for (&shift, &dim) in shifts.iter().zip(dims) {
        out = roll_one(&out, shift, dim)?;
    }
    Ok(out)
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

/// All tensors of a list on one device, in PyTorch's words.
pub fn same_device(tensors: &[&Tensor]) -> Result<()> {
    let Some(first) = tensors.first() else { return Ok(()) };
    let main = tensors.iter().map(|t| t.device()).find(|d| d.is_cuda()).unwrap_or(first.device());
    match tensors.iter().find(|t| t.device() != first.device()) {
        None => Ok(()),
        Some(_) if first.device() != main => {
            Err(Cause::ArgumentDevice { argument: "tensors", is_on: first.device(), others: main }.into())
        }
        Some(other) => {
            Err(Cause::ArgumentDevice { argument: "tensors", is_on: main, others: other.device() }.into())
        }
    }
}

static VIEW: Vjp = Vjp { name: "ViewBackward0", run: |s, g| one(reshape_to(g, s.shape(0))?) };

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

fn squeeze_dims(x: &Tensor, gone: &[usize]) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "SqueezeBackward0", run: |s, g| one(reshape_to(g, s.shape(0))?) };
    let order: SmallVec<[usize; 6]> = (0..x.rank()).filter(|d| !gone.contains(d)).collect();
    Ok(viewed(x, x.layout().permute(&order)?, &RULE))
}

fn roll_one(x: &Tensor, shift: i64, dim: i64) -> Result<Tensor> {
    let size = x.size(dim)? as i64;
    if size == 0 {
        return Ok(x.clone());
    }
    let start = (size - shift.rem_euclid(size)) % size;
    if start == 0 {
        return cloned(x);
    }
    cat(&[&narrow(x, dim, start, size - start)?, &narrow(x, dim, 0, start)?], dim)
}

fn check_cat(first: &Tensor, t: &Tensor, dim: usize, number: usize) -> Result<()> {
    if t.rank() == 0 {
        return Err(Error::runtime(format!(
            "zero-dimensional tensor (at position {number}) cannot be concatenated"
        )));
    }
    if t.rank() != first.rank() {
        return Err(Error::runtime(format!(
            "Tensors must have same number of dimensions: got {} and {}",
            first.rank(),
            t.rank()
        )));
    }
    for (d, (&want, &got)) in first.shape().iter().zip(t.shape()).enumerate() {
        if d != dim && want != got {
            return Err(Cause::CatSizes { dim, want, got, number }.into());
        }
    }
    Ok(())
}

fn cat_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (dim, sizes): &(usize, Vec<usize>) = s.attribute()?;
    let mut at = 0;
    let mut grads = Grads::new();
    for (i, &size) in sizes.iter().enumerate() {
        grads.push(if s.needs(i) { Some(slice(g, *dim, at, size, 1)?) } else { None });
        at += size;
    }
    Ok(grads)
}

/// Works out a size of -1 and checks that the sizes fit `numel` elements.
fn infer(shape: &[i64], numel: usize) -> Result<Dims> {
    let bad = || Cause::Reshape { target: shape.to_vec(), numel };
    if let Some(&d) = shape.iter().find(|&&d| d < -1) {
        return Err(Error::runtime(format!("invalid shape dimension {d}")));
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
                crate::base::shape::show(shape)
            )));
        }
        (true, n) if numel.is_multiple_of(n) => numel / n,
        _ => return Err(bad().into()),
    };
    Ok(shape.iter().map(|&d| if d == -1 { missing } else { d as usize }).collect())
}

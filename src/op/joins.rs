//! Joining, splitting and reordering into new memory.

use smallvec::SmallVec;

use crate::base::shape::{checked_sizes, show, wrap_dim};
use crate::base::{DType, DeviceCause, Dims, Error, Kind, Layout, Result, ShapeCause, memory};
use crate::device::Kernel;
use crate::tensor::accumulate::expand;
use crate::tensor::autograd::{Grads, Saved, Vjp};
use crate::tensor::{In, Tensor, launch};

use super::autocast;
use super::many;
use super::movement::{narrow, reshape_to, select, slice, unique_dims};
use super::record::{no_grad, one, recorded, wanted};

/// Pieces of `size` along `dim`; the last may be smaller.
pub fn split(x: &Tensor, size: i64, dim: i64) -> Result<Vec<Tensor>> {
    if x.rank() == 0 {
        return Err(Error::runtime("split expects at least a 1-dimensional tensor"));
    }
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
    let count = if total == 0 { 1 } else { total.div_ceil(size) };
    many::tensors(count, |i| slice(x, dim, i * size, size.min(total - i * size), 1))
}

/// Pieces of the given sizes along `dim`, which they must fill.
pub fn split_sizes(x: &Tensor, sizes: &[i64], dim: i64) -> Result<Vec<Tensor>> {
    let dim = x.dim(dim)?;
    let total = x.shape().get(dim).copied().unwrap_or(1);
    let fits = sizes.iter().try_fold(0i64, |n, &s| if s < 0 { None } else { n.checked_add(s) });
    if fits != Some(total as i64) {
        return Err(Error::runtime(format!(
            "split_with_sizes expects split_sizes to sum exactly to {total} (input tensor's size at dimension \
             {dim}), but got split_sizes={}",
            show(sizes)
        )));
    }
    let (mut at, mut rest) = (0, sizes.iter());
    many::tensors(sizes.len(), |_| {
        let size = rest.next().map_or(0, |&size| size as usize);
        at += size;
        slice(x, dim, at - size, size, 1)
    })
}

/// `chunks` pieces of nearly equal size along `dim`.
pub fn chunk(x: &Tensor, chunks: i64, dim: i64) -> Result<Vec<Tensor>> {
    if x.rank() == 0 {
        return Err(Error::runtime("chunk expects at least a 1-dimensional tensor"));
    }
    if chunks < 1 {
        let text = format!("chunk expects `chunks` to be greater than 0, got: {chunks}");
        return Err(Error::runtime(text));
    }
    let total = x.size(dim)? as i64;
    if total == 0 && chunks <= 1 << 20 {
        return many::tensors(chunks as usize, |_| Ok(x.clone()));
    }
    split(x, ((total - 1).max(0) / chunks + 1).max(1), dim)
}

/// The sub-tensors along `dim`.
pub fn unbind(x: &Tensor, dim: i64) -> Result<Vec<Tensor>> {
    if x.rank() == 0 {
        let text = format!("Dimension specified as {dim} but tensor has no dimensions");
        return Err(Error::new(Kind::IndexError, text));
    }
    let dim = x.dim(dim)? as i64;
    many::tensors(x.size(dim)?, |i| select(x, dim, i as i64))
}

/// Joins tensors along an existing dimension.
pub fn cat(tensors: &[&Tensor], dim: i64) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("cat", tensors)? {
        let cast = casts.cast_all(tensors)?;
        return cat(&cast.iter().collect::<Vec<_>>(), dim);
    }
    static RULE: Vjp = Vjp { name: "CatBackward0", run: cat_grad };
    let Some(&head) = tensors.first() else {
        return Err(Error::value("torch.cat(): expected a non-empty list of Tensors"));
    };
    same_device(tensors, "tensors", "wrapper_CUDA_cat")?;
    let dtype = tensors.iter().fold(head.dtype(), |d, t| d.promote(t.dtype()));
    // An empty vector joins anything, as it does in PyTorch.
    let counts = |t: &&Tensor| t.shape() != [0];
    let first = tensors.iter().copied().find(counts).unwrap_or(head);
    let dim = first.dim(dim)?;
    let mut total = 0usize;
    let mut sizes = memory::with_capacity(tensors.len())?;
    for (number, t) in tensors.iter().enumerate() {
        let size = if counts(t) {
            check_cat(first, t, dim, number)?;
            t.shape().get(dim).copied().unwrap_or(0)
        } else {
            0
        };
        total = total.saturating_add(size);
        sizes.push(size);
    }
    let out = joined(tensors, &sizes, first, dim, total, dtype)?;
    Ok(recorded(out, &RULE, tensors, |s, _| s.attribute((dim, sizes))))
}

/// Joins tensors of one shape along a new dimension.
pub fn stack(tensors: &[&Tensor], dim: i64) -> Result<Tensor> {
    if let Some(casts) = autocast::enter("stack", tensors)? {
        let cast = casts.cast_all(tensors)?;
        return stack(&cast.iter().collect::<Vec<_>>(), dim);
    }
    static RULE: Vjp = Vjp { name: "StackBackward0", run: stack_grad };
    let Some(&first) = tensors.first() else {
        return Err(Error::runtime("stack expects a non-empty TensorList"));
    };
    for (i, t) in tensors.iter().enumerate() {
        if t.shape() != first.shape() {
            return Err(Error::runtime(format!(
                "stack expects each tensor to be equal size, but got {} at entry 0 and {} at entry {i}",
                show(first.shape()),
                show(t.shape())
            )));
        }
    }
    same_device(tensors, "tensors", "wrapper_CUDA_cat")?;
    let dim = wrap_dim(dim, first.rank() + 1)?;
    let dtype = tensors.iter().fold(first.dtype(), |d, t| d.promote(t.dtype()));
    let mut shape: Dims = first.shape().into();
    shape.insert(dim.min(shape.len()), tensors.len());
    let out = Tensor::empty(&shape, dtype, &first.context(), "stack")?;
    for (i, t) in tensors.iter().enumerate() {
        out.with_layout(out.layout().select(dim, i)?).assign(t, "stack")?;
    }
    Ok(recorded(out, &RULE, tensors, |s, _| s.attribute(dim)))
}

/// Tiles the tensor `times` along each dimension; missing leading dimensions are added.
pub fn repeat(x: &Tensor, times: &[i64]) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "RepeatBackward0", run: repeat_grad };
    if times.len() < x.rank() {
        return Err(Error::runtime(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
        ));
    }
    let extra = times.len() - x.rank();
    let padded: Dims = std::iter::repeat_n(1, extra).chain(x.shape().iter().copied()).collect();
    let sizes: Vec<i64> = times.iter().zip(&padded).map(|(&n, &d)| n.saturating_mul(d as i64)).collect();
    let flat = checked_sizes(&sizes)?;
    let (mut apart, mut wide) = (Dims::new(), Dims::new());
    for (&n, &d) in times.iter().zip(&padded) {
        apart.extend([1, d]);
        wide.extend([n.max(0) as usize, d]);
    }
    let out = {
        let _off = no_grad();
        let out = Tensor::empty(&flat, x.dtype(), &x.context(), "repeat")?;
        let source = expand(&reshape_to(x, &apart)?, &wide)?;
        out.with_layout(Layout::contiguous(&wide)?).assign(&source, "repeat")?;
        out
    };
    Ok(recorded(out, &RULE, &[x], |s, _| s.attribute(wide)))
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
    for d in unique_dims(x, dims)? {
        let last = x.shape().get(d).copied().unwrap_or(1).saturating_sub(1) as isize;
        if let Some(step) = strides.get_mut(d) {
            offset += last * *step;
            *step = -*step;
        }
    }
    let turned = x.with_layout(Layout::new(x.shape().into(), strides, offset as usize)?);
    let out = Tensor::empty_in(x.layout().dense_like()?, x.dtype(), &x.context(), "flip")?;
    out.assign(&turned, "flip")?;
    Ok(recorded(out, &RULE, &[x], |s, _| s.attribute(dims.to_vec())))
}

/// Rotates elements along dimensions; without dimensions over the flattened tensor.
pub fn roll(x: &Tensor, shifts: &[i64], dims: &[i64]) -> Result<Tensor> {
    if let (0, Some(dim)) = (x.rank(), dims.first()) {
        let text = format!("Dimension specified as {dim} but tensor has no dimensions");
        return Err(Error::new(Kind::IndexError, text));
    }
    static RULE: Vjp = Vjp {
        name: "RollBackward0",
        run: |s, g| {
            let (shifts, dims): &(Vec<i64>, Vec<i64>) = s.attribute()?;
            let back: Vec<i64> = shifts.iter().map(|s| s.saturating_neg()).collect();
            one(roll(g, &back, dims)?)
        },
    };
    let flat = dims.is_empty() && shifts.len() == 1;
    if shifts.len() != dims.len() && !flat {
        let text = format!("shifts and dimensions must align. shifts: {}, dims:{}", shifts.len(), dims.len());
        return Err(Error::runtime(text));
    }
    let out = {
        let _off = no_grad();
        let mut out = if flat { reshape_to(x, &[x.numel()])? } else { x.clone() };
        for (i, &shift) in shifts.iter().enumerate() {
            out = roll_one(&out, shift, dims.get(i).copied().unwrap_or(0))?;
        }
        if flat { reshape_to(&out, x.shape())? } else { out }
    };
    let out = if out.shares_storage(x) { x.copied(x.dtype(), "roll")? } else { out.detach() };
    Ok(recorded(out, &RULE, &[x], |s, _| s.attribute((shifts.to_vec(), dims.to_vec()))))
}

/// The part of the last two dimensions on and below `diagonal`; zero elsewhere.
pub fn tril(x: &Tensor, diagonal: i64) -> Result<Tensor> {
    static RULE: Vjp =
        Vjp { name: "TrilBackward0", run: |s, g| one(triangle(g, false, *s.attribute()?, &RULE)?) };
    triangle(x, false, diagonal, &RULE)
}

/// The part of the last two dimensions on and above `diagonal`; zero elsewhere.
pub fn triu(x: &Tensor, diagonal: i64) -> Result<Tensor> {
    static RULE: Vjp =
        Vjp { name: "TriuBackward0", run: |s, g| one(triangle(g, true, *s.attribute()?, &RULE)?) };
    triangle(x, true, diagonal, &RULE)
}

/// Repeats each element, or each slice along `dim`, `times` in place of one.
pub fn repeat_interleave(x: &Tensor, times: i64, dim: Option<i64>) -> Result<Tensor> {
    let Some(dim) = dim else { return repeat_interleave(&reshape_to(x, &[x.numel()])?, times, Some(0)) };
    let dim = x.dim(dim)?;
    let times = usize::try_from(times).map_err(|_| Error::runtime("repeats can not be negative"))?;
    let mut wide: Dims = x.shape().into();
    wide.insert((dim + 1).min(wide.len()), times);
    let mut shape: Dims = x.shape().into();
    if let Some(size) = shape.get_mut(dim) {
        *size = size.saturating_mul(times);
    }
    let stretched = expand(&super::movement::unsqueeze(x, dim as i64 + 1)?, &wide)?;
    reshape_to(&stretched, &shape)
}

/// All tensors of a list on one device, in PyTorch's words.
pub fn same_device(tensors: &[&Tensor], argument: &'static str, method: &'static str) -> Result<()> {
    let Some(first) = tensors.first() else { return Ok(()) };
    match tensors.iter().find(|t| t.device() != first.device()) {
        None => Ok(()),
        Some(other) => {
            let (is_on, others) = (other.device(), first.device());
            Err(DeviceCause::ArgumentDevice { argument, is_on, others, method }.into())
        }
    }
}

fn triangle(x: &Tensor, upper: bool, diagonal: i64, rule: &'static Vjp) -> Result<Tensor> {
    if x.rank() < 2 {
        let name = if upper { "triu" } else { "tril" };
        return Err(Error::runtime(format!("{name}: input tensor must have at least 2 dimensions")));
    }
    let name = if upper { "triu" } else { "tril" };
    let out = Tensor::empty(x.shape(), x.dtype(), &x.context(), name)?;
    launch(name, &Kernel::Triangle { upper, diagonal }, &[In::Tensor(x)], &[&out])?;
    Ok(recorded(out, rule, &[x], |s, _| s.attribute(diagonal)))
}

fn joined(
    tensors: &[&Tensor],
    sizes: &[usize],
    model: &Tensor,
    dim: usize,
    total: usize,
    dtype: DType,
) -> Result<Tensor> {
    let mut shape: Dims = model.shape().into();
    if let Some(size) = shape.get_mut(dim) {
        *size = total;
    }
    let out = Tensor::empty(&shape, dtype, &model.context(), "cat")?;
    let mut at = 0;
    for (t, &size) in tensors.iter().zip(sizes) {
        if size > 0 {
            out.with_layout(out.layout().slice(dim, at, size, 1)?).assign(t, "cat")?;
        }
        at += size;
    }
    Ok(out)
}

fn roll_one(x: &Tensor, shift: i64, dim: i64) -> Result<Tensor> {
    let size = x.size(dim)? as i64;
    if size == 0 {
        return Ok(x.clone());
    }
    let start = (size - shift.rem_euclid(size)) % size;
    if start == 0 {
        return Ok(x.clone());
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
            return Err(ShapeCause::CatSizes { dim, want, got, number }.into());
        }
    }
    Ok(())
}

fn cat_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let (dim, sizes): &(usize, Vec<usize>) = s.attribute()?;
    let mut at = 0;
    let mut grads = Grads::new();
    for (i, &size) in sizes.iter().enumerate() {
        grads.push(wanted(s, i, || {
            let piece = slice(g, *dim, at, size, 1)?;
            if piece.rank() == s.shape(i).len() { Ok(piece) } else { reshape_to(&piece, s.shape(i)) }
        })?);
        at += size;
    }
    Ok(grads)
}

fn stack_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let dim: i64 = *s.attribute::<usize>()? as i64;
    let count = g.size(dim)?;
    (0..count).map(|i| wanted(s, i, || select(g, dim, i as i64))).collect()
}

fn repeat_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let wide: &Dims = s.attribute()?;
    let narrow: Dims =
        wide.iter().enumerate().map(|(i, &d)| if i.is_multiple_of(2) { 1 } else { d }).collect();
    let summed = crate::tensor::accumulate::sum_to(&reshape_to(g, wide)?, &narrow)?;
    one(reshape_to(&summed, s.shape(0))?)
}

//! Diagonals, grids, windows and other rearrangements made of the basic ones.

use crate::base::shape::{show, wrap_dim};
use crate::base::{DType, Dims, Error, Layout, Result, Strides, memory};
use crate::tensor::Tensor;
use crate::tensor::accumulate::expand;
use crate::tensor::autograd::{Grads, Saved, Vjp};

use super::binary::{add, floor_divide, mul, sub};
use super::create::Make;
use super::joins::{cat, flip, stack};
use super::many;
use super::movement::{diagonal, movedim, permute, reshape_to, slice, transpose, unsqueeze, viewed_with};
use super::record::{no_grad, one};
use super::reduce::sum;
use super::scatter::{index_add, index_select};

/// A vector as the diagonal of a matrix, or the diagonal of a matrix as a vector.
pub fn diag(x: &Tensor, offset: i64) -> Result<Tensor> {
    match x.rank() {
        1 => diag_embed(x, offset, -2, -1),
        2 => super::movement::cloned(&diagonal(x, offset, 0, 1)?),
        n => Err(Error::runtime(format!("diag(): Supports 1D or 2D tensors. Got {n}D"))),
    }
}

/// The last dimension as diagonals of new matrices in the dimensions `a` and `b`.
pub fn diag_embed(x: &Tensor, offset: i64, a: i64, b: i64) -> Result<Tensor> {
    let rank = x.rank() + 1;
    let (a, b) = (wrap_dim(a, rank)?, wrap_dim(b, rank)?);
    if a == b {
        return Err(Error::runtime(format!("diagonal dimensions cannot be identical {a}, {b}")));
    }
    let length = x.size(-1)?;
    let shift = offset.unsigned_abs() as usize;
    let size = length + shift;
    // Each entry stands at `shift` columns (or rows) from the edge: row * size + column of a flat matrix.
    let mut flat: Dims = x.shape().into();
    flat.pop();
    let rows: Dims = flat.clone();
    flat.push(memory::count::<u8>(&[size, size])?);
    let zeros = Tensor::full(&flat, 0i64.into(), x.dtype(), &x.context(), "diag_embed")?;
    let first = if offset >= 0 { shift } else { shift * size };
    let steps = Tensor::empty(&[length], DType::Int64, &x.context(), "diag_embed")?;
    let kernel =
        crate::device::Kernel::Arange { start: (first as i64).into(), step: (size as i64 + 1).into() };
    crate::tensor::launch("diag_embed", &kernel, &[], &[&steps])?;
    let filled = index_add(&zeros, -1, &steps, x, 1.0)?;
    let square: Dims = rows.iter().copied().chain([size, size]).collect();
    movedim(&reshape_to(&filled, &square)?, &[-2, -1], &[a as i64, b as i64])
}

/// The elements as the diagonal of a matrix.
pub fn diagflat(x: &Tensor, offset: i64) -> Result<Tensor> {
    diag_embed(&reshape_to(x, &[x.numel()])?, offset, -2, -1)
}

/// The sum of a matrix's diagonal.
pub fn trace(x: &Tensor) -> Result<Tensor> {
    if x.dtype() == DType::Bool {
        return Err(Error::new(
            crate::base::Kind::NotImplementedError,
            "\"trace\" not implemented for 'Bool'",
        )
        .with_hint("convert it with `.int()`"));
    }
    if x.rank() != 2 {
        return Err(Error::runtime("trace: expected a matrix").with_hint(format!(
            "this tensor has shape {}; `x.diagonal(0, -2, -1).sum(-1)` gives the traces of a batch",
            show(x.shape())
        )));
    }
    sum(&diagonal(x, 0, 0, 1)?, None, false)
}

/// A quarter turn `k` times over in the plane of two dimensions.
pub fn rot90(x: &Tensor, k: i64, dims: &[i64]) -> Result<Tensor> {
    let &[a, b] = dims else {
        return Err(Error::runtime(format!(
            "expected total rotation dims == 2, but got dims = {}",
            dims.len()
        )));
    };
    if x.rank() < 2 {
        return Err(Error::runtime(format!("expected total dims >= 2, but got total dims = {}", x.rank())));
    }
    if x.dim(a)? == x.dim(b)? {
        return Err(Error::runtime(format!(
            "expected rotation dims to be different, but got dim0 = {a} and dim1 = {b}"
        )));
    }
    match k.rem_euclid(4) {
        1 => transpose(&flip(x, &[b])?, a, b),
        2 => flip(x, dims),
        3 => transpose(&flip(x, &[a])?, a, b),
        _ => super::movement::cloned(x),
    }
}

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
        flat = super::binary::div(&flat, &super::binary::maximum(&times, 1.0)?)?;
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

/// One dimension in the place of `dim` for each of `sizes`, one of which may be -1.
pub fn unflatten(x: &Tensor, dim: i64, sizes: &[i64]) -> Result<Tensor> {
    let along = x.dim(dim)?;
    let total = x.shape().get(along).copied().unwrap_or(1);
    if sizes.is_empty() {
        return Err(Error::runtime("unflatten: sizes must be non-empty"));
    }
    if let Some(bad) = sizes.iter().find(|&&d| d < -1) {
        return Err(Error::runtime(format!("unflatten: invalid shape dimension {bad}")));
    }
    let known: i64 = sizes.iter().filter(|&&d| d != -1).fold(1, |all, &d| all.saturating_mul(d));
    let open = sizes.iter().filter(|&&d| d == -1).count();
    let fits = match open {
        0 => known == total as i64,
        1 => known > 0 && (total as i64) % known == 0,
        _ => return Err(Error::runtime("only one dimension can be inferred")),
    };
    if !fits {
        return Err(Error::runtime(format!(
            "unflatten: Provided sizes {} don't multiply up to the size of dim {along} ({total}) in the input tensor",
            show(sizes)
        )));
    }
    let filled = sizes.iter().map(|&d| if d == -1 { total / known.max(1) as usize } else { d as usize });
    let mut shape: Dims = x.shape().iter().take(along).copied().collect();
    shape.extend(filled);
    shape.extend(x.shape().iter().skip(along + 1).copied());
    reshape_to(x, &shape)
}

/// The row and column of each element of a triangle: `[2, count]`.
pub fn triangle_indices(rows: i64, columns: i64, offset: i64, upper: bool, make: &Make) -> Result<Tensor> {
    for (what, size) in [("row", rows), ("col", columns)] {
        if size < 0 {
            return Err(Error::runtime(format!("{what} must be non-negative, got{size}")));
        }
    }
    let span = |row: i64| {
        let edge = row.saturating_add(offset);
        if upper { edge.clamp(0, columns)..columns } else { 0..edge.saturating_add(1).clamp(0, columns) }
    };
    let count =
        triangle_size(rows, columns, offset, upper).ok_or_else(|| memory::refused::<i64>(usize::MAX))?;
    // Rows without elements are passed over: those in front of the triangle, or those behind it.
    let first = if upper { 0 } else { offset.saturating_neg().clamp(0, rows) };
    let last = if upper { columns.saturating_sub(offset).clamp(0, rows) } else { rows };
    let rows = || first..last;
    let at = rows().flat_map(|row| span(row).map(move |_| row)).chain(rows().flat_map(span));
    let made = reshape_to(&many::integers(at, memory::count::<i64>(&[2, count])?)?, &[2, count])?;
    let context = make.context(&crate::device::Machine::current())?;
    let dtype = make.dtype.unwrap_or(DType::Int64);
    make.finish(super::convert::to_dtype(&made, dtype)?.moved(&context, false, "tril_indices")?)
}

/// How many elements a triangle has, where that is a number of elements at all.
fn triangle_size(rows: i64, columns: i64, offset: i64, upper: bool) -> Option<usize> {
    let [rows, columns, offset] = [rows, columns, offset].map(i128::from);
    // Row `i` of the lower triangle has `i + offset + 1` elements, none below 0 and `columns` at the most.
    let lower = |offset: i128| {
        let (ramp, full) = ((-offset).clamp(0, rows), (columns - offset).clamp(0, rows));
        let rising = (full - ramp) * (ramp + offset + 1 + full + offset) / 2;
        rising + (rows - full) * columns
    };
    let all = if upper { rows * columns - lower(offset - 1) } else { lower(offset) };
    usize::try_from(all).ok()
}

/// Coordinates of a grid: each vector along a dimension of its own. With `"xy"` the first two are exchanged.
pub fn meshgrid(vectors: &[&Tensor], indexing: &str) -> Result<Vec<Tensor>> {
    let swap = match indexing {
        "ij" => false,
        "xy" => vectors.len() >= 2,
        other => {
            return Err(Error::runtime(format!(
                "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: {other}"
            )));
        }
    };
    if vectors.is_empty() {
        return Err(Error::runtime("meshgrid expects a non-empty TensorList"));
    }
    if let Some(t) = vectors.iter().find(|t| t.rank() > 1) {
        return Err(Error::runtime(format!(
            "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {}",
            show(t.shape())
        )));
    }
    let mut order: Vec<&Tensor> = vectors.to_vec();
    if swap {
        order.swap(0, 1);
    }
    let sizes: Dims = order.iter().map(|t| t.numel()).collect();
    let mut grids = memory::with_capacity(order.len())?;
    for (i, t) in order.iter().enumerate() {
        let own: Dims = (0..order.len()).map(|j| if i == j { t.numel() } else { 1 }).collect();
        let wide: Vec<i64> = sizes.iter().map(|&d| d as i64).collect();
        grids.push(super::movement::expand_to(&reshape_to(t, &own)?, &wide)?);
    }
    if swap {
        grids.swap(0, 1);
    }
    Ok(grids)
}

/// Every choice of one element from each vector, a row each.
pub fn cartesian_prod(vectors: &[&Tensor]) -> Result<Tensor> {
    if let [only] = vectors {
        return Ok((*only).clone());
    }
    let flat =
        meshgrid(vectors, "ij")?.iter().map(|g| reshape_to(g, &[g.numel()])).collect::<Result<Vec<_>>>()?;
    stack(&flat.iter().collect::<Vec<_>>(), 1)
}

/// Matrices along the diagonal of a larger one.
pub fn block_diag(blocks: &[&Tensor]) -> Result<Tensor> {
    let matrices = blocks
        .iter()
        .map(|b| match b.rank() {
            0 | 1 => reshape_to(b, &[1, b.numel()]),
            2 => Ok((*b).clone()),
            n => Err(Error::runtime(format!(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input 0 has {n} dimensions"
            ))),
        })
        .collect::<Result<Vec<_>>>()?;
    let columns: i64 = matrices.iter().map(|m| m.shape().get(1).copied().unwrap_or(0) as i64).sum();
    let mut rows = memory::with_capacity(matrices.len())?;
    let mut before = 0;
    for m in &matrices {
        let width = m.size(1)? as i64;
        let pad = [before, columns - before - width];
        rows.push(super::pad::constant(m, &pad, 0i64.into())?);
        before += width;
    }
    match rows.is_empty() {
        true => Tensor::empty(
            &[1, 0],
            super::promote::DEFAULT_FLOAT,
            crate::device::Machine::current().cpu(),
            "block_diag",
        ),
        false => cat(&rows.iter().collect::<Vec<_>>(), 0),
    }
}

/// Pieces along `dim`: so many of nearly equal size, or cut before each of the places.
pub fn tensor_split(x: &Tensor, parts: &[i64], one_number: bool, dim: i64) -> Result<Vec<Tensor>> {
    if x.rank() == 0 {
        return Err(Error::runtime(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims",
        ));
    }
    let along = x.dim(dim)?;
    let size = x.size(dim)? as i64;
    if !one_number {
        let (mut from, mut ends) = (0, parts.iter());
        return many::tensors(parts.len() + 1, |_| {
            let to = ends.next().copied().unwrap_or(size);
            let to = if to < 0 { (to + size).max(0) } else { to.min(size) };
            let start = std::mem::replace(&mut from, to);
            slice(x, along, start as usize, (to - start).max(0) as usize, 1)
        });
    }
    let count = parts.first().copied().unwrap_or(0);
    if count < 1 {
        return Err(Error::runtime(format!("number of sections must be larger than 0, got {count}")));
    }
    let (each, longer) = (size / count, size % count);
    many::tensors(count as usize, |i| {
        let i = i as i64;
        slice(x, along, (i * each + i.min(longer)) as usize, (each + i64::from(i < longer)) as usize, 1)
    })
}

/// At least one, two or three dimensions, new ones of size 1.
pub fn at_least(x: &Tensor, rank: usize) -> Result<Tensor> {
    match (rank, x.rank()) {
        (_, n) if n >= rank => Ok(x.clone()),
        (3, 2) => unsqueeze(x, -1),
        (3, 1) => unsqueeze(&unsqueeze(x, 0)?, -1),
        (2, 1) => unsqueeze(x, 0),
        _ => reshape_to(x, &vec![1; rank]),
    }
}

/// Kronecker's product: each element of `a` times all of `b`.
pub fn kron(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let rank = a.rank().max(b.rank());
    let padded = |t: &Tensor| -> Dims {
        std::iter::repeat_n(1, rank - t.rank()).chain(t.shape().iter().copied()).collect()
    };
    let (left, right) = (padded(a), padded(b));
    let apart = |own: &Dims, first: bool| -> Dims {
        own.iter().flat_map(|&d| if first { [d, 1] } else { [1, d] }).collect()
    };
    let product = mul(&reshape_to(a, &apart(&left, true))?, &reshape_to(b, &apart(&right, false))?)?;
    let shape: Dims = left.iter().zip(&right).map(|(x, y)| x * y).collect();
    reshape_to(&product, &shape)
}

/// The vector product of three-element vectors along `dim`.
pub fn cross(a: &Tensor, b: &Tensor, dim: Option<i64>) -> Result<Tensor> {
    let shape = crate::base::shape::broadcast(a.shape(), b.shape())?;
    let (a, b) = (expand(a, &shape)?, expand(b, &shape)?);
    let dim = match dim {
        Some(dim) => a.dim(dim)?,
        None => shape
            .iter()
            .position(|&d| d == 3)
            .ok_or_else(|| Error::runtime("no dimension of size 3 in input"))?,
    };
    if shape.get(dim) != Some(&3) {
        return Err(Error::runtime(format!(
            "linalg.cross: inputs dimension {dim} must have length 3. Got {0} and {0}",
            shape.get(dim).copied().unwrap_or(1)
        )));
    }
    let along = dim as i64;
    let turned = |t: &Tensor, by: i64| super::joins::roll(t, &[by], &[along]);
    sub(&mul(&turned(&a, -1)?, &turned(&b, -2)?)?, &mul(&turned(&a, -2)?, &turned(&b, -1)?)?)
}

/// The sum over pairs of dimensions of a product: the last `n` of `a` with the first `n` of `b`, or those named.
pub fn tensordot(a: &Tensor, b: &Tensor, left: &[i64], right: &[i64]) -> Result<Tensor> {
    if let Some(casts) = super::autocast::enter("tensordot", &[a, b])? {
        return tensordot(&casts.cast(a)?, &casts.cast(b)?, left, right);
    }
    if left.len() != right.len() {
        return Err(Error::runtime("both dimension lists should have same length"));
    }
    if a.dtype() != b.dtype() {
        return Err(Error::runtime("both inputs should have same dtype").with_hint(format!(
            "they are {} and {}; `.to(dtype)` converts one",
            a.dtype(),
            b.dtype()
        )));
    }
    let (over_a, over_b) = (super::movement::unique_dims(a, left)?, super::movement::unique_dims(b, right)?);
    for (&i, &j) in over_a.iter().zip(&over_b) {
        let (m, n) = (a.size(i as i64)?, b.size(j as i64)?);
        if m != n {
            return Err(Error::runtime(format!(
                "contracted dimensions need to match, but first has size {m} in dim {i} and second has size {n} in dim \
                 {j}"
            )));
        }
    }
    let free =
        |t: &Tensor, over: &[usize]| -> Vec<usize> { (0..t.rank()).filter(|d| !over.contains(d)).collect() };
    let (rows, columns) = (free(a, &over_a), free(b, &over_b));
    let inner: usize = over_a.iter().map(|&d| a.shape().get(d).copied().unwrap_or(1)).product();
    let sizes = |t: &Tensor, dims: &[usize]| -> Dims {
        dims.iter().map(|&d| t.shape().get(d).copied().unwrap_or(1)).collect()
    };
    let (m, n) = (sizes(a, &rows), sizes(b, &columns));
    let order = |dims: Vec<usize>| -> Vec<i64> { dims.into_iter().map(|d| d as i64).collect() };
    let left = permute(a, &order(rows.iter().chain(&over_a).copied().collect()))?;
    let right = permute(b, &order(over_b.iter().chain(&columns).copied().collect()))?;
    let left = reshape_to(&left, &[m.iter().product(), inner])?;
    let right = reshape_to(&right, &[inner, n.iter().product()])?;
    let shape: Dims = m.iter().chain(&n).copied().collect();
    reshape_to(&super::matmul::mm(&left, &right)?, &shape)
}

/// The columns `x^(n-1), …, x, 1`, or the other way round.
pub fn vander(x: &Tensor, n: Option<i64>, increasing: bool) -> Result<Tensor> {
    let n = n.unwrap_or(x.size(-1)? as i64);
    if n < 0 {
        return Err(Error::runtime("N must be greater than 1."));
    }
    let powers = Tensor::empty(&[n as usize], DType::Int64, &x.context(), "vander")?;
    let (start, step) = if increasing { (0, 1i64) } else { (n - 1, -1) };
    let kernel = crate::device::Kernel::Arange { start: start.into(), step: step.into() };
    crate::tensor::launch("vander", &kernel, &[], &[&powers])?;
    super::binary::pow(&unsqueeze(x, -1)?, &powers)
}

/// The place of each element of a flat index in a shape, a vector for each dimension.
pub fn unravel_index(at: &Tensor, shape: &[i64]) -> Result<Vec<Tensor>> {
    let mut rest = at.clone();
    let mut all = memory::with_capacity(shape.len())?;
    for &size in shape.iter().rev() {
        all.push(super::binary::remainder(&rest, size.max(1))?);
        rest = floor_divide(&rest, size.max(1))?;
    }
    all.reverse();
    Ok(all)
}

//! Elements repeated, reversed and turned, in new memory.

use smallvec::SmallVec;

use crate::base::shape::checked_sizes;
use crate::base::{Dims, Error, Kind, Layout, Result};
use crate::op::core::args::{to_list, to_value};
use crate::op::core::def::{
    DefaultValue as D, Domain, Draw, FUNCTION, Family, Form, Gradient, OpDef, Sample,
};
use crate::op::core::format::MemoryFormat;
use crate::op::core::params::{InputParams, by_name, kind, params};
use crate::op::core::record::{no_grad, one, recorded};
use crate::op::core::shapes;
use crate::tensor::Tensor;
use crate::tensor::accumulate::expand;
use crate::tensor::autograd::{Grads, Saved, Vjp};

use super::permute::transpose;
use super::view::{reshape_to, unique_dims};

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
    if shifts.is_empty() {
        return Err(Error::runtime("`shifts` required"));
    }
    let flat = dims.is_empty() && shifts.len() == 1;
    if shifts.len() != dims.len() && !flat {
        let text = format!("shifts and dimensions must align. shifts: {}, dims:{}", shifts.len(), dims.len());
        return Err(Error::runtime(text).with_hint("each shift has its dimension: `x.roll([1, 2], [0, 1])`"));
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

fn roll_one(x: &Tensor, shift: i64, dim: i64) -> Result<Tensor> {
    let size = x.size(dim)? as i64;
    if size == 0 {
        return Ok(x.clone());
    }
    let start = (size - shift.rem_euclid(size)) % size;
    if start == 0 {
        return Ok(x.clone());
    }
    let (start, size, dim) = (start as usize, size as usize, x.dim(dim)?);
    let out = MemoryFormat::suggested(x).empty(x.shape(), x.dtype(), x, "roll")?;
    let copy = |from: usize, to: usize, count: usize| {
        let part = |t: &Tensor, at| Ok::<_, Error>(t.with_layout(t.layout().slice(dim, at, count, 1)?));
        part(&out, to)?.assign(&part(x, from)?, "roll")
    };
    let is_little = start.min(size - start) <= size / 8;
    if is_little && x.numel() > 0 && x.is_contiguous() && out.is_contiguous() {
        let inner: usize = x.shape().iter().skip(dim + 1).product();
        if start <= size / 2 {
            roll_all(x, &out, inner * start, true)?;
            copy(0, size - start, start)?;
        } else {
            roll_all(x, &out, inner * (size - start), false)?;
            copy(start, 0, size - start)?;
        }
    } else {
        copy(start, 0, size - start)?;
        copy(0, size - start, start)?;
    }
    Ok(out)
}

/// All elements as one run, so far back or on: right but for those that went past an end of the dimension.
fn roll_all(x: &Tensor, out: &Tensor, far: usize, back: bool) -> Result<()> {
    let run = |t: &Tensor, from: usize| -> Result<Tensor> {
        let plain = Layout::contiguous(&[t.numel() - far])?;
        let first = t.layout().offset() + from;
        Ok(t.with_layout(Layout::new(plain.shape().into(), plain.strides().into(), first)?))
    };
    let (from, to) = if back { (far, 0) } else { (0, far) };
    run(out, to)?.assign(&run(x, from)?, "roll")
}

fn repeat_grad(s: &Saved, g: &Tensor) -> Result<Grads> {
    let wide: &Dims = s.attribute()?;
    let narrow: Dims =
        wide.iter().enumerate().map(|(i, &d)| if i.is_multiple_of(2) { 1 } else { d }).collect();
    let summed = crate::tensor::accumulate::sum_to(&reshape_to(g, wide)?, &narrow)?;
    one(reshape_to(&summed, s.shape(0))?)
}

/// A quarter turn `k` times over in the plane of two dimensions.
pub(crate) fn rot90(x: &Tensor, k: i64, dims: &[i64]) -> Result<Tensor> {
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
        _ => crate::op::core::convert::cloned(x),
    }
}

const M: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];
const X: &[Draw] = &[Draw::of("x", &[2, 3, 4], Domain::Any)];

params! {
    BroadcastTensorsParams {
        tensors: kind::TensorRun, "what is seen in one shape, one after the other or in an array";
    }
}

params! {
    RepeatParams {
        input: kind::Tensor, "the tensor it is computed of";
        repeats: kind::Sizes, "how often along each dimension";
    }
}

params! {
    FlipParams {
        input: kind::Tensor, "the tensor it is computed of";
        dims: kind::Sizes, "the dimensions concerned";
    }
}

params! {
    RollParams {
        input: kind::Tensor, "the tensor it is computed of";
        shifts: kind::Ints, "how many places elements move";
        dims: kind::Dims => D::Ints(&[]), "along which dimensions; all elements as one row where none are named";
    }
}

params! {
    Rot90Params {
        input: kind::Tensor, "the tensor it is computed of";
        k: kind::Int = 1, "how many quarter turns";
        dims: kind::Dims => D::Ints(&[0, 1]), "the plane of two dimensions that is turned";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "repeat",
        Family::Movement,
        "The tensor tiled so many times along each dimension.",
        RepeatParams::LIST,
        by_name!(RepeatParams, |a| to_value(repeat(a.input, &a.repeats))),
    )
    .forms(&[Form::Method])
    .shapes("(n, m) -> (n repeats[0], m repeats[1]); more repeats than dimensions add dimensions in front")
    .errors(&["RuntimeError: there are fewer repeats than dimensions"])
    .example("tensor([1, 2]).repeat(2)", "tensor([1, 2, 1, 2])")
    .samples(&[Sample::of("x.repeat([2, 3])", M)]),
    OpDef::call(
        "broadcast_tensors",
        Family::Movement,
        "Views of tensors in the shape that they have together.",
        BroadcastTensorsParams::LIST,
        by_name!(BroadcastTensorsParams, |a| {
            let mut shape: Vec<usize> = Vec::new();
            for t in &a.tensors {
                shape = crate::base::shape::broadcast(&shape, t.shape())?.to_vec();
            }
            let wide: Vec<i64> = shape.iter().map(|&s| s as i64).collect();
            to_list(a.tensors.iter().map(|t| crate::op::shape::view::expand_to(t, &wide)).collect())
        }),
    )
    .forms(FUNCTION)
    .shapes("any that broadcast together -> all in that shape")
    .errors(&[shapes::NO_BROADCAST])
    .example("broadcast_tensors([tensor([1, 2]), tensor([[3]])])[1]", "tensor([[3, 3]])")
    .samples(&[Sample::of("broadcast_tensors([x, x.unsqueeze(0)])[0]", M)]),
    OpDef::call(
        "flip",
        Family::Movement,
        "The order along dimensions reversed, in a copy.",
        FlipParams::LIST,
        by_name!(FlipParams, |a| to_value(flip(a.input, &a.dims))),
    )
    .shapes(shapes::SAME)
    .errors(&[
        "RuntimeError: a dimension is named twice",
        "IndexError: the tensor has no such dimension as one of `dims`",
    ])
    .example("tensor([1, 2, 3]).flip(0)", "tensor([3, 2, 1])")
    .gradient(Gradient::Vjp("FlipBackward0"))
    .samples(&[Sample::of("x.flip([0, 1])", M)]),
    OpDef::call(
        "roll",
        Family::Movement,
        "Elements rotated along dimensions, or in the flattened tensor.",
        RollParams::LIST,
        by_name!(RollParams, |a| to_value(roll(a.input, &a.shifts, &a.dims))),
    )
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: there are not as many shifts as dimensions"])
    .example("tensor([1, 2, 3]).roll(1)", "tensor([3, 1, 2])")
    .samples(&[Sample::of("x.roll(1, 0)", M)]),
    OpDef::call(
        "tile",
        Family::Movement,
        "As `repeat`, and dimensions that are not named stay as they are.",
        FlipParams::LIST,
        by_name!(FlipParams, |a| {
            let (x, mut dims) = (a.input, a.dims);
            while dims.len() < x.rank() {
                dims.insert(0, 1);
            }
            to_value(repeat(x, &dims))
        }),
    )
    .shapes("(n, m) -> (n dims[0], m dims[1]); missing counts are 1, more than dimensions add dimensions in front")
    .errors(&["RuntimeError: a number of repeats is negative"])
    .example("tensor([[1], [2]]).tile([2])", "tensor([[1, 1],\n        [2, 2]])"),
    OpDef::call(
        "rot90",
        Family::Movement,
        "A quarter turn, `k` times over, in the plane of two dimensions.",
        Rot90Params::LIST,
        by_name!(Rot90Params, |a| to_value(rot90(a.input, a.k, &a.dims))),
    )
    .shapes("(…, n, …, m, …) -> (…, m, …, n, …), or the same where k is even")
    .errors(&["RuntimeError: the input has fewer than two dimensions"])
    .example("tensor([[1, 2], [3, 4]]).rot90()", "tensor([[2, 4],\n        [1, 3]])")
    .samples(&[Sample::of("x.rot90()", M), Sample::of("x.rot90(3, [0, 2])", X)]),
    OpDef::call(
        "fliplr",
        Family::Movement,
        "Columns in reverse order.",
        InputParams::LIST,
        by_name!(InputParams, |a| to_value(flip(at_least(a.input, 2)?, &[1]))),
    )
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: the input has fewer than two dimensions"])
    .example("tensor([[1, 2], [3, 4]]).fliplr()", "tensor([[2, 1],\n        [4, 3]])")
    .samples(&[Sample::of("x.fliplr()", M)]),
    OpDef::call(
        "flipud",
        Family::Movement,
        "Rows in reverse order.",
        InputParams::LIST,
        by_name!(InputParams, |a| to_value(flip(at_least(a.input, 1)?, &[0]))),
    )
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: the input has no dimension"])
    .example("tensor([[1, 2], [3, 4]]).flipud()", "tensor([[3, 4],\n        [1, 2]])")
    .samples(&[Sample::of("x.flipud()", M)]),
];

/// A tensor of so many dimensions, or more.
pub(crate) fn at_least(x: &Tensor, rank: usize) -> crate::base::Result<&Tensor> {
    if x.rank() >= rank {
        return Ok(x);
    }
    Err(crate::base::Error::runtime(format!("Input must be >= {rank}-d.")))
}

//! A tensor in several parts.

use crate::base::dims::show;
use crate::base::{DType, Error, Kind, Result};
use crate::op::core::args::to_list;
use crate::op::core::def::{Args, Domain, Draw, Family, OpDef, Sample};
use crate::op::core::many;
use crate::op::core::params::{Written, by_name, kind, kinds, params};
use crate::op::core::value::Value;
use crate::tensor::Tensor;

use super::part::{select, slice};

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

/// What `tensor_split` takes as a tensor: one place, or a vector of them.
fn check_cuts(t: &Tensor) -> Result<()> {
    let name = "tensor_split expected tensor_indices_or_sections to";
    if t.dtype() != DType::Int64 {
        let text = format!("{name} have dtype of long, but got {}", t.dtype().type_name());
        return Err(Error::runtime(text).with_hint("convert it with `.long()`"));
    }
    if t.rank() > 1 {
        return Err(Error::runtime(format!(
            "{name} be a zero-dimensional or one-dimensional tensor, but got a tensor with {} dims",
            t.rank()
        )));
    }
    Ok(())
}

const M: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];

kinds! {
    /// A number, or an array or tensor of numbers: what was written, and its integers.
    Cuts(Any) => (bool, Vec<i64>), |args: &'a Args, at| match args.get(at) {
        Value::Tensor(t) => {
            check_cuts(t)?;
            Ok((t.rank() == 0, t.to_i64s("tensor_split")?))
        }
        given => Ok((matches!(given, Value::Scalar(_)), args.ints(at)?)),
    };
    /// A number, or an array of numbers.
    Lengths(Any) => (bool, Vec<i64>), |args: &'a Args, at| {
        Ok((matches!(args.get(at), Value::Scalar(_)), args.ints(at)?))
    };
}

params! {
    SplitParams {
        input: kind::Tensor, "the tensor it is computed of";
        split_size: Lengths, "how long each piece is, the last may be shorter; or the length of each piece";
        dim: kind::Dim = 0, "the dimension it runs along; negative ones count from the end";
    }
}

params! {
    SplitWithSizesParams {
        input: kind::Tensor, "the tensor it is computed of";
        split_sizes: kind::Ints, "the length of each piece";
        dim: kind::Dim = 0, "the dimension it runs along; negative ones count from the end";
    }
}

params! {
    TensorSplitParams {
        input: kind::Tensor, "the tensor it is computed of";
        indices_or_sections: Cuts, "how many pieces, or the places that it is cut before";
        dim: kind::Dim = 0, "the dimension it runs along; negative ones count from the end";
    }
}

params! {
    HsplitParams {
        input: kind::Tensor, "the tensor it is computed of";
        indices_or_sections: Written<kind::Ints>, "how many pieces, or the places that it is cut before";
    }
}

params! {
    ChunkParams {
        input: kind::Tensor, "the tensor it is computed of";
        chunks: kind::Int, "how many pieces; there may be fewer";
        dim: kind::Dim = 0, "the dimension it runs along; negative ones count from the end";
    }
}

params! {
    UnbindParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Dim = 0, "the dimension it runs along; negative ones count from the end";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "split",
        Family::Movement,
        "Pieces along a dimension: of one size, or of the sizes listed.",
        SplitParams::LIST,
        by_name!(SplitParams, split_row),
    )
    .shapes("(…, n, …) -> pieces (…, split_size, …), the last what is left; or of the sizes listed")
    .errors(&["RuntimeError: the sizes listed do not sum to the dimension's"])
    .example("arange(5).split(2).len()", "3")
    .samples(&[Sample::of("x.split(2)[1]", M)]),
    OpDef::call(
        "split_with_sizes",
        Family::Movement,
        "Pieces of the sizes listed along a dimension.",
        SplitWithSizesParams::LIST,
        by_name!(SplitWithSizesParams, |a| to_list(split_sizes(a.input, &a.split_sizes, a.dim))),
    )
    .shapes("(…, n, …) -> pieces (…, size, …) of the sizes listed")
    .errors(&["RuntimeError: the sizes listed do not sum to the dimension's"])
    .example("arange(3).split_with_sizes([1, 2])", "[tensor([0]), tensor([1, 2])]")
    .samples(&[Sample::of("x.split_with_sizes([1, 3], 1)[1]", M)]),
    OpDef::call(
        "chunk",
        Family::Movement,
        "So many pieces of nearly equal size along a dimension.",
        ChunkParams::LIST,
        by_name!(ChunkParams, |a| to_list(chunk(a.input, a.chunks, a.dim))),
    )
    .shapes("(…, n, …) -> pieces (…, ⌈n / chunks⌉, …), the last what is left; fewer pieces where none is left")
    .errors(&["RuntimeError: `chunks` is not above 0"])
    .example("arange(6).chunk(3)[1]", "tensor([2, 3])")
    .samples(&[Sample::of("x.chunk(2, 1)[1]", M)]),
    OpDef::call(
        "unbind",
        Family::Movement,
        "The sub-tensors along a dimension.",
        UnbindParams::LIST,
        by_name!(UnbindParams, |a| to_list(unbind(a.input, a.dim))),
    )
    .shapes("(…, n, …) -> n of (…, …)")
    .example("tensor([[1, 2], [3, 4]]).unbind()[1]", "tensor([3, 4])")
    .samples(&[Sample::of("x.unbind(1)[2]", M)]),
    OpDef::call(
        "tensor_split",
        Family::Movement,
        "Pieces along a dimension: so many, or cut before each of some places.",
        TensorSplitParams::LIST,
        by_name!(TensorSplitParams, |a| {
            let (one_number, parts) = a.indices_or_sections;
            to_list(tensor_split(a.input, &parts, one_number, a.dim))
        }),
    )
    .shapes(
        "(…, n, …) -> pieces (…, n / sections, …), the first ones larger by 1 where it does not divide; or cut at \
         indices",
    )
    .errors(&[
        "RuntimeError: the size is no multiple of the number of parts",
        "RuntimeError: the input has too few dimensions",
    ])
    .example("arange(5).tensor_split(2)", "[tensor([0, 1, 2]), tensor([3, 4])]")
    .samples(&[Sample::of("x.tensor_split(2, 1)[0]", M)]),
    OpDef::call(
        "hsplit",
        Family::Movement,
        "Pieces side by side.",
        HsplitParams::LIST,
        by_name!(HsplitParams, |a| {
            let dim = i64::from(a.input.rank() > 1);
            pieces(a, "hsplit", 1, dim)
        }),
    )
    .shapes("as `tensor_split` along dimension 1, or along 0 for a vector")
    .errors(&[
        "RuntimeError: the size is no multiple of the number of parts",
        "RuntimeError: the input has too few dimensions",
    ])
    .example("arange(4).hsplit(2)", "[tensor([0, 1]), tensor([2, 3])]")
    .samples(&[Sample::of("x.hsplit(2)[1]", M)]),
    OpDef::call(
        "vsplit",
        Family::Movement,
        "Pieces on top of each other.",
        HsplitParams::LIST,
        by_name!(HsplitParams, |a| pieces(a, "vsplit", 2, 0)),
    )
    .shapes("as `tensor_split` along dimension 0")
    .errors(&[
        "RuntimeError: the size is no multiple of the number of parts",
        "RuntimeError: the input has too few dimensions",
    ])
    .example("arange(4).reshape([2, 2]).vsplit(2)[0]", "tensor([[0, 1]])")
    .samples(&[Sample::of("x.vsplit([1])[1]", M)]),
    OpDef::call(
        "dsplit",
        Family::Movement,
        "Pieces behind each other.",
        HsplitParams::LIST,
        by_name!(HsplitParams, |a| pieces(a, "dsplit", 3, 2)),
    )
    .shapes("as `tensor_split` along dimension 2")
    .errors(&[
        "RuntimeError: the size is no multiple of the number of parts",
        "RuntimeError: the input has too few dimensions",
    ])
    .example("arange(4).reshape([1, 2, 2]).dsplit(2)[0]", "tensor([[[0],\n         [2]]])"),
];

fn split_row(a: SplitParams) -> Result<Value> {
    match a.split_size {
        (true, sizes) => to_list(split(a.input, sizes.first().copied().unwrap_or_default(), a.dim)),
        (false, sizes) => to_list(split_sizes(a.input, &sizes, a.dim)),
    }
}

/// An array cuts before its places, a number asks for so many pieces.
fn pieces(a: HsplitParams, name: &str, least: usize, dim: i64) -> Result<Value> {
    let (parts, written) = a.indices_or_sections;
    if a.input.rank() < least {
        let have = a.input.rank();
        return Err(Error::runtime(format!(
            "torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {have} \
             dimensions!"
        )));
    }
    let (size, count) = (a.input.size(dim)? as i64, parts.first().copied().unwrap_or(0));
    if matches!(written, Value::Scalar(_)) && (count == 0 || size % count != 0) {
        return Err(Error::runtime(format!(
            "torch.{name} attempted to split along dimension {dim}, but the size of the dimension {size} is not divisible by \
             the split_size {count}!"
        )));
    }
    to_list(tensor_split(a.input, &parts, matches!(written, Value::Scalar(_)), dim))
}

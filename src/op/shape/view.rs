//! Views with other sizes: reshaped, squeezed, stretched.

use smallvec::SmallVec;

use crate::base::dims::show;
use crate::base::shape::{checked_sizes, numel, wrap_dim};
use crate::base::{DType, Dims, Error, Layout, Result, ShapeCause};
use crate::op::core::args::{to_list, to_value};
use crate::op::core::convert::{cloned, to_dtype};
use crate::op::core::def::{Args, Domain, Draw, FUNCTION, Family, Form, Gradient, METHOD, OpDef, Sample};
use crate::op::core::fill::reshaped;
use crate::op::core::format::FormatWord;
use crate::op::core::params::{InputParams, Maybe, by_name, kind, kinds, params};
use crate::op::core::record::{kept_shape, one};
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::tensor::Tensor;
use crate::tensor::accumulate::{expand, sum_to};
use crate::tensor::autograd::{Grads, Rule, Saved, Vjp, needs_graph};

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
pub(crate) fn reshape_to(x: &Tensor, shape: &[usize]) -> Result<Tensor> {
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
pub(crate) fn unique_dims(x: &Tensor, dims: &[i64]) -> Result<Vec<usize>> {
    let wrapped: Vec<usize> = dims.iter().map(|&d| x.dim(d)).collect::<Result<_>>()?;
    match wrapped.iter().enumerate().find(|(i, d)| wrapped.iter().take(*i).any(|e| e == *d)) {
        Some((_, d)) => Err(Error::runtime(format!("dim {d} appears multiple times in the list of dims"))),
        None => Ok(wrapped),
    }
}

/// A view of other sizes and strides, recorded under `rule`.
pub fn viewed(x: &Tensor, layout: Layout, rule: &'static dyn Rule) -> Tensor {
    viewed_with(x, layout, rule, ())
}

/// A view whose rule needs a value.
pub(crate) fn viewed_with<T: std::any::Any + Send + Sync>(
    x: &Tensor,
    layout: Layout,
    rule: &'static dyn Rule,
    attribute: T,
) -> Tensor {
    let out = x.with_layout(layout).view_of(x);
    if needs_graph(&[x]) { out.record(rule, &[x], |s, _| s.attribute(attribute)) } else { out }
}

pub(crate) static VIEW: Vjp = Vjp { name: "ViewBackward0", run: view_grad };

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
        (true, 0) if numel == 0 => {
            return Err(Error::runtime(format!(
                "cannot reshape tensor of 0 elements into shape {} because the unspecified dimension size -1 can be \
                 any value and is ambiguous",
                show(shape)
            )));
        }
        (true, n) if n > 0 && numel.is_multiple_of(n) => numel / n,
        _ => return Err(bad().into()),
    };
    Ok(shape.iter().map(|&d| if d == -1 { missing } else { d as usize }).collect())
}

/// The dimensions named by a mask, put back with size 1: a reduced tensor's keepdim form.
pub(crate) fn restore_dims(x: &Tensor, full: &[usize], mask: u64) -> Result<Tensor> {
    if x.rank() == full.len() {
        return Ok(x.clone());
    }
    reshape_to(x, &kept_shape(full, mask))
}

/// A reduced tensor stretched over what was reduced; a view.
pub fn spread(x: &Tensor, full: &[usize], mask: u64) -> Result<Tensor> {
    expand(&restore_dims(x, full, mask)?, full)
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

/// At least one, two or three dimensions, new ones of size 1.
pub(crate) fn at_least(x: &Tensor, rank: usize) -> Result<Tensor> {
    match (rank, x.rank()) {
        (_, n) if n >= rank => Ok(x.clone()),
        (3, 2) => unsqueeze(x, -1),
        (3, 1) => unsqueeze(&unsqueeze(x, 0)?, -1),
        (2, 1) => unsqueeze(x, 0),
        _ => reshape_to(x, &vec![1; rank]),
    }
}

const X: &[Draw] = &[Draw::of("x", &[2, 3, 4], Domain::Any)];
const M: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];

params! {
    ShapeParams {
        input: kind::Tensor, "the tensor it is computed of";
        shape: kind::Sizes, "sizes of the result; one may be -1 and is worked out";
    }
}

params! {
    FlattenParams {
        input: kind::Tensor, "the tensor it is computed of";
        start_dim: kind::Dim = 0, "the first dimension that is merged";
        end_dim: kind::Dim = -1, "the last dimension that is merged";
    }
}

params! {
    UnsqueezeParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Dim, "the dimension it runs along; negative ones count from the end";
    }
}

params! {
    SqueezeParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: Maybe<kind::Dims>, "the dimension it runs along; negative ones count from the end";
    }
}

params! {
    ExpandParams {
        input: kind::Tensor, "the tensor it is computed of";
        size: kind::Sizes, "sizes of the result; -1 keeps what is there";
    }
}

params! {
    ContiguousParams {
        input: kind::Tensor, "the tensor it is computed of";
        memory_format: Maybe<FormatWord>, "the order of dimensions in memory, such as \"channels_last\"; row-major unless one is named";
    }
}

params! {
    ViewAsParams {
        input: kind::Tensor, "the tensor it is computed of";
        other: kind::Tensor, "the tensor whose shape is taken";
    }
}

params! {
    UnflattenParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Dim, "the dimension it runs along; negative ones count from the end";
        sizes: kind::Ints, "what the dimension is divided into; one may be -1";
    }
}

/// A tensor, or several.
enum Seen<'a> {
    One(&'a Tensor),
    Many(Vec<&'a Tensor>),
}

kinds! {
    OneOrMany(Any) => Seen<'a>, |args: &'a Args, at| match args.get(at) {
        Value::Tensor(x) => Ok(Seen::One(x)),
        _ => args.tensors(at).map(Seen::Many),
    };
}

params! {
    AtLeastParams {
        input: OneOrMany, "the tensor, or an array of tensors, each of which is seen so";
    }
}

params! {
    SumToSizeParams {
        input: kind::Tensor, "the tensor whose broadcast dimensions are summed";
        size: kind::Sizes, "the shape that it would be broadcast from";
    }
}

/// A tensor with so many dimensions, or each tensor of an array.
fn at_least_each(input: Seen, rank: usize) -> Result<Value> {
    match input {
        Seen::One(x) => to_value(at_least(x, rank)),
        Seen::Many(all) => to_list(all.into_iter().map(|x| at_least(x, rank)).collect()),
    }
}

/// Sums over the dimensions along which a tensor of `size` would be broadcast to that of `x`.
fn sum_to_size(x: &Tensor, size: &[i64]) -> Result<Tensor> {
    let shape = crate::base::shape::checked_sizes(size)?;
    let fits = crate::base::shape::broadcast(&shape, x.shape()).is_ok_and(|wide| wide[..] == *x.shape());
    if !fits || shape.len() > x.rank() {
        let text = format!("size {{{size:?}}} is not expandable to size {{{:?}}}.", x.shape());
        return Err(Error::runtime(text));
    }
    let counted = !x.dtype().is_float() && (x.rank() == 0 || x.shape() != shape.as_slice());
    sum_to(&if counted { to_dtype(x, DType::Int64)? } else { x.clone() }, &shape)
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "reshape",
        Family::Movement,
        "The same elements in another shape; one size may be -1.",
        ShapeParams::LIST,
        by_name!(ShapeParams, |a| to_value(reshape(a.input, &a.shape))),
    )
    .details("A view where strides allow it, a copy elsewhere.")
    .shapes("any -> shape, -1 standing for what is left")
    .errors(&["RuntimeError: the shape has not as many elements", "RuntimeError: more than one size is -1"])
    .example("arange(4).reshape([2, 2])", "tensor([[0, 1],\n        [2, 3]])")
    .gradient(Gradient::Vjp("ViewBackward0"))
    .samples(&[Sample::of("x.reshape([4, -1])", X)]),
    OpDef::call(
        "view",
        Family::Movement,
        "The same elements in another shape, sharing memory.",
        ShapeParams::LIST,
        by_name!(ShapeParams, |a| to_value(view(a.input, &a.shape))),
    )
    .forms(&[Form::Method])
    .shapes("any -> shape, -1 standing for what is left")
    .errors(&[
        "RuntimeError: the shape has not as many elements",
        "RuntimeError: strides do not allow it without a copy, as after `t()`",
    ])
    .example("arange(4).view([2, 2]).shape", "[2, 2]")
    .gradient(Gradient::Vjp("ViewBackward0"))
    .samples(&[Sample::of("x.view([6, 4])", X)]),
    OpDef::call(
        "flatten",
        Family::Movement,
        "Dimensions merged into one.",
        FlattenParams::LIST,
        by_name!(FlattenParams, |a| to_value(flatten(a.input, a.start_dim, a.end_dim))),
    )
    .shapes("(…, n, …, m, …) -> (…, n … m, …); () -> (1)")
    .errors(&["RuntimeError: `start_dim` comes after `end_dim`"])
    .example("zeros([2, 3, 4]).flatten(1).shape", "[2, 12]")
    .samples(&[Sample::of("x.flatten(1)", X)]),
    OpDef::call(
        "unsqueeze",
        Family::Movement,
        "A dimension of size 1 inserted.",
        UnsqueezeParams::LIST,
        by_name!(UnsqueezeParams, |a| to_value(unsqueeze(a.input, a.dim))),
    )
    .shapes("(…) -> (…, 1, …)")
    .example("zeros([3]).unsqueeze(0).shape", "[1, 3]")
    .in_place(by_name!(UnsqueezeParams, |a| to_value(reshaped(a.input, |x| unsqueeze(x, a.dim)))))
    .gradient(Gradient::Vjp("UnsqueezeBackward0"))
    .samples(&[Sample::of("x.unsqueeze(1)", M)]),
    OpDef::call(
        "squeeze",
        Family::Movement,
        "Dimensions of size 1 removed: all of them, or those named.",
        SqueezeParams::LIST,
        by_name!(SqueezeParams, |a| to_value(squeeze(a.input, a.dim.as_deref()))),
    )
    .shapes("(…, 1, …) -> (…, …); other sizes than 1 stay")
    .example("zeros([1, 3, 1]).squeeze().shape", "[3]")
    .in_place(by_name!(SqueezeParams, |a| to_value(reshaped(a.input, |x| squeeze(x, a.dim.as_deref())))))
    .gradient(Gradient::Vjp("SqueezeBackward0"))
    .samples(&[Sample::of("x.unsqueeze(0).squeeze()", M)]),
    OpDef::call(
        "expand",
        Family::Movement,
        "Dimensions of size 1 stretched without copying; -1 keeps a size.",
        ExpandParams::LIST,
        by_name!(ExpandParams, |a| to_value(expand_to(a.input, &a.size))),
    )
    .forms(&[Form::Method])
    .shapes("(…, 1, …) -> size, which may add dimensions in front; -1 keeps a size")
    .errors(&[
        "RuntimeError: a size other than 1 would change",
        "RuntimeError: there are fewer sizes than dimensions",
    ])
    .example("tensor([1, 2]).expand([2, 2])", "tensor([[1, 2],\n        [1, 2]])")
    .gradient(Gradient::Vjp("ExpandBackward0"))
    .samples(&[Sample::of("x.expand([2, 3, 4])", M)]),
    OpDef::call(
        "contiguous",
        Family::Movement,
        "The tensor itself where it is row-major, else a row-major copy; or so in another order.",
        ContiguousParams::LIST,
        by_name!(ContiguousParams, |a| to_value(match a.memory_format {
            None => contiguous(a.input),
            Some(format) => format.applied(a.input),
        })),
    )
    .forms(&[Form::Method])
    .shapes(shapes::SAME)
    .details(
        "With \"channels_last\" the channels of images `[n, c, h, w]` come after their rows and columns in memory; the \
         shape stays.",
    )
    .errors(&["RuntimeError: the order is for tensors of another number of dimensions"])
    .example("zeros([2, 3]).t().contiguous().stride()", "[2, 1]")
    .samples(&[Sample::of("x.t().contiguous()", M)]),
    OpDef::call(
        "view_as",
        Family::Movement,
        "`view` with the shape of another tensor.",
        ViewAsParams::LIST,
        by_name!(ViewAsParams, |a| to_value(view(a.input, &sizes(a.other)))),
    )
    .forms(METHOD)
    .shapes("any -> that of `other`")
    .errors(&[
        "RuntimeError: the shape has not as many elements",
        "RuntimeError: strides do not allow it without a copy, as after `t()`",
    ])
    .across()
    .example("arange(4).view_as(ones([2, 2]))", "tensor([[0, 1],\n        [2, 3]])"),
    OpDef::call(
        "reshape_as",
        Family::Movement,
        "`reshape` with the shape of another tensor.",
        ViewAsParams::LIST,
        by_name!(ViewAsParams, |a| to_value(reshape(a.input, &sizes(a.other)))),
    )
    .forms(METHOD)
    .shapes("any -> that of `other`")
    .errors(&["RuntimeError: the shape has not as many elements"])
    .across()
    .example("arange(4).reshape_as(ones([2, 2]))", "tensor([[0, 1],\n        [2, 3]])"),
    OpDef::call(
        "expand_as",
        Family::Movement,
        "`expand` to the shape of another tensor.",
        ViewAsParams::LIST,
        by_name!(ViewAsParams, |a| to_value(expand_to(a.input, &sizes(a.other)))),
    )
    .forms(METHOD)
    .shapes("(…, 1, …) -> that of `other`")
    .errors(&["RuntimeError: a size other than 1 would change"])
    .across()
    .example("tensor([1, 2]).expand_as(zeros([2, 2]))", "tensor([[1, 2],\n        [1, 2]])"),
    OpDef::call(
        "broadcast_to",
        Family::Movement,
        "Another name of `expand`.",
        ExpandParams::LIST,
        by_name!(ExpandParams, |a| to_value(expand_to(a.input, &a.size))),
    )
    .shapes("(…, 1, …) -> size, which may add dimensions in front; -1 keeps a size")
    .errors(&[
        "RuntimeError: a size other than 1 would change",
        "RuntimeError: there are fewer sizes than dimensions",
    ])
    .example("tensor([1, 2]).broadcast_to([2, 2])", "tensor([[1, 2],\n        [1, 2]])"),
    OpDef::call(
        "ravel",
        Family::Movement,
        "All elements as a vector.",
        InputParams::LIST,
        by_name!(InputParams, |a| to_value(flatten(a.input, 0, -1))),
    )
    .shapes("any of n elements -> (n)")
    .example("tensor([[1, 2], [3, 4]]).ravel()", "tensor([1, 2, 3, 4])"),
    OpDef::call(
        "unflatten",
        Family::Movement,
        "One dimension split into several; one size may be -1.",
        UnflattenParams::LIST,
        by_name!(UnflattenParams, |a| to_value(unflatten(a.input, a.dim, &a.sizes))),
    )
    .shapes("(…, n, …) -> (…, sizes, …), -1 standing for what is left")
    .errors(&["RuntimeError: the sizes do not multiply up to the dimension's"])
    .example("zeros([2, 6]).unflatten(1, [2, -1]).shape", "[2, 2, 3]")
    .samples(&[Sample::of("x.unflatten(2, [2, 2])", X)]),
    OpDef::call(
        "atleast_1d",
        Family::Movement,
        "At least one dimension.",
        AtLeastParams::LIST,
        by_name!(AtLeastParams, |a| at_least_each(a.input, 1)),
    )
    .forms(FUNCTION)
    .shapes("() -> (1); others the same")
    .example("atleast_1d(tensor(3))", "tensor([3])"),
    OpDef::call(
        "atleast_2d",
        Family::Movement,
        "At least two dimensions.",
        AtLeastParams::LIST,
        by_name!(AtLeastParams, |a| at_least_each(a.input, 2)),
    )
    .forms(FUNCTION)
    .shapes("() -> (1, 1); (n) -> (1, n); others the same")
    .example("atleast_2d(tensor([3, 4]))", "tensor([[3, 4]])"),
    OpDef::call(
        "atleast_3d",
        Family::Movement,
        "At least three dimensions.",
        AtLeastParams::LIST,
        by_name!(AtLeastParams, |a| at_least_each(a.input, 3)),
    )
    .forms(FUNCTION)
    .shapes("() -> (1, 1, 1); (n) -> (1, n, 1); (n, m) -> (n, m, 1); others the same")
    .example("atleast_3d(tensor([3, 4])).shape", "[1, 2, 1]"),
    OpDef::call(
        "sum_to_size",
        Family::Movement,
        "The sum over the dimensions along which a smaller shape would be broadcast to the tensor's.",
        SumToSizeParams::LIST,
        by_name!(SumToSizeParams, |a| to_value(sum_to_size(a.input, &a.size))),
    )
    .forms(METHOD)
    .shapes("any to which `size` is broadcast -> size")
    .errors(&["RuntimeError: the size is not broadcast to the tensor's shape"])
    .example("ones([2, 3]).sum_to_size([1, 3])", "tensor([[2., 2., 2.]])")
    .samples(&[Sample::of("x.sum_to_size([1, 3, 1])", X)]),
];

pub(crate) fn sizes(x: &Tensor) -> Vec<i64> {
    x.shape().iter().map(|&d| d as i64).collect()
}

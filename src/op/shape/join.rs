//! Tensors joined into one.

use crate::base::dims::show;
use crate::base::shape::wrap_dim;
use crate::base::{DType, DeviceCause, Dims, Error, Layout, Result, ShapeCause, memory};
use crate::device::{Kernel, poll};
use crate::op::core::args::to_value;
use crate::op::core::autocast;
use crate::op::core::def::{Domain, Draw, FUNCTION, Family, Form, Gradient, OpDef, Sample};
use crate::op::core::format::MemoryFormat;
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::record::{recorded, wanted};
use crate::tensor::autograd::{Grads, Saved, Vjp};
use crate::tensor::{In, Tensor, launch};

use super::part::{select, slice};
use super::view;
use super::view::{reshape_to, unsqueeze};

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
    let laid = tensors.iter().map(|t| Ok((*t, t.layout().unsqueeze(dim)?)));
    let laid = poll::collected(laid)?;
    join("stack", &laid, dim, &out)?;
    Ok(recorded(out, &RULE, tensors, |s, _| s.attribute(dim)))
}

/// All tensors of a list on one device, in PyTorch's words.
pub(crate) fn same_device(tensors: &[&Tensor], argument: &'static str, method: &'static str) -> Result<()> {
    let Some(first) = tensors.first() else { return Ok(()) };
    match tensors.iter().find(|t| t.device() != first.device()) {
        None => Ok(()),
        Some(other) => {
            let (is_on, others) = (other.device(), first.device());
            Err(DeviceCause::ArgumentDevice { argument, is_on, others, method }.into())
        }
    }
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
    // As `cat` of PyTorch, whose list decides only where all agree.
    let format = MemoryFormat::suggested(model);
    let agreed = tensors.iter().all(|t| MemoryFormat::suggested(t) == format);
    let format = if agreed { format } else { MemoryFormat::Contiguous };
    let out = format.empty(&shape, dtype, model, "cat")?;
    let filled = tensors.iter().zip(sizes).filter(|(_, size)| **size > 0);
    let laid = poll::listed(filled.map(|(t, _)| (*t, t.layout().clone())))?;
    join("cat", &laid, dim, &out)?;
    Ok(out)
}

/// Writes tensors one after another along `dim`, as they are laid out. Many go in one launch where they do on PyTorch's
/// GPUs (`aten/src/ATen/native/cuda/Shape.cu`): tensors of one dtype and at most four dimensions, dense ones in larger
/// numbers; otherwise it is a copy of each.
fn join(op: &'static str, laid: &[(&Tensor, Layout)], dim: usize, out: &Tensor) -> Result<()> {
    let is_dense = laid.iter().all(|(_, layout)| layout.is_contiguous());
    let goes_together = out.rank() <= JOINED_RANK
        && (is_dense || out.layout().is_contiguous())
        && out.numel() <= i32::MAX as usize
        && laid.iter().all(|(t, _)| t.dtype() == out.dtype());
    let together = match (goes_together, is_dense) {
        (false, _) => 1,
        (true, false) => JOINED / 2,
        (true, true) => JOINED,
    };
    let mut at = 0;
    for some in laid.chunks(together) {
        let size = some.iter().map(|(_, layout)| layout.shape().get(dim).copied().unwrap_or(0)).sum();
        let piece = out.with_layout(out.layout().slice(dim, at, size, 1)?);
        at += size;
        if let [(t, layout)] = some {
            piece.assign(&t.with_layout(layout.clone()), op)?;
            continue;
        }
        let inputs: Vec<In> = some.iter().map(|(t, layout)| In::Laid(t, layout)).collect();
        launch(op, &Kernel::Join { dim }, &inputs, &[&piece])?;
    }
    Ok(())
}

/// Tensors that one launch joins, and the dimensions that it knows.
const JOINED: usize = 128;
const JOINED_RANK: usize = 4;

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

const M: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];
const VECTORS: &[Draw] = &[Draw::of("a", &[2], Domain::Any), Draw::of("b", &[3], Domain::Any)];

params! {
    CatParams {
        tensors: kind::Tensors, "a list of tensors that agree in all other dimensions";
        dim: kind::Dim = 0, "the dimension it runs along; negative ones count from the end";
    }
}

params! {
    ConcatParams {
        tensors: kind::Tensors, "a list of tensors that agree in all other dimensions";
        dim: kind::Dim => crate::op::core::def::DefaultValue::Int(0), "the dimension it runs along; negative ones count from the end";
    }
}

params! {
    HstackParams {
        tensors: kind::Tensors, "what is put together, in this order";
    }
}

const CONCAT: OpDef = OpDef::call(
    "concat",
    Family::Movement,
    "Another name of `cat`.",
    ConcatParams::LIST,
    by_name!(ConcatParams, |a| to_value(cat(&a.tensors, a.dim))),
)
.forms(FUNCTION)
.shapes("(…, n_1, …), (…, n_2, …), … -> (…, n_1 + n_2 + …, …); an input (0) counts for nothing")
.errors(&["RuntimeError: another size than that of dim differs", "RuntimeError: an input has no dimension"])
.example("concat([tensor([1, 2]), tensor([3])])", "tensor([1, 2, 3])");

const VSTACK: OpDef = OpDef::call(
    "vstack",
    Family::Movement,
    "Tensors joined on top of each other.",
    HstackParams::LIST,
    by_name!(HstackParams, |a| to_value(vstack(&a.tensors))),
)
.forms(FUNCTION)
.shapes("a vector (m) is (1, m); joined along dimension 0")
.errors(&["RuntimeError: another size differs"])
.example("vstack([tensor([1, 2]), tensor([3, 4])])", "tensor([[1, 2],\n        [3, 4]])");

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "cat",
        Family::Movement,
        "Tensors joined along an existing dimension.",
        CatParams::LIST,
        by_name!(CatParams, |a| to_value(cat(&a.tensors, a.dim))),
    )
    .forms(&[Form::Function])
    .shapes("(…, n_1, …), (…, n_2, …), … -> (…, n_1 + n_2 + …, …); an input (0) counts for nothing")
    .errors(&[
        "RuntimeError: another size than that of dim differs",
        "RuntimeError: an input has no dimension",
    ])
    .example("cat([tensor([1, 2]), tensor([3])])", "tensor([1, 2, 3])")
    .gradient(Gradient::Vjp("CatBackward0"))
    .samples(&[Sample::of("cat([x, x * 2], 1)", M)]),
    OpDef::call(
        "stack",
        Family::Movement,
        "Tensors of one shape joined along a new dimension.",
        CatParams::LIST,
        by_name!(CatParams, |a| to_value(stack(&a.tensors, a.dim))),
    )
    .forms(&[Form::Function])
    .shapes("k of one shape -> that shape with k before dim")
    .errors(&["RuntimeError: the shapes differ"])
    .example("stack([tensor([1, 2]), tensor([3, 4])])", "tensor([[1, 2],\n        [3, 4]])")
    .samples(&[Sample::of("stack([x, x * 2], 1)", M)]),
    CONCAT,
    CONCAT.named("concatenate").example("concatenate([tensor([1, 2]), tensor([3])])", "tensor([1, 2, 3])"),
    OpDef::call(
        "hstack",
        Family::Movement,
        "Tensors joined side by side.",
        HstackParams::LIST,
        by_name!(HstackParams, |a| to_value(hstack(&a.tensors))),
    )
    .forms(FUNCTION)
    .shapes("(n_1), (n_2), … -> (n_1 + n_2 + …); with more dimensions joined along dimension 1")
    .errors(&["RuntimeError: another size differs"])
    .example("hstack([tensor([1, 2]), tensor([3])])", "tensor([1, 2, 3])"),
    VSTACK,
    VSTACK
        .named("row_stack")
        .summary("Another name of `vstack`.")
        .example("row_stack([tensor([1, 2]), tensor([3, 4])])", "tensor([[1, 2],\n        [3, 4]])"),
    OpDef::call(
        "dstack",
        Family::Movement,
        "Tensors joined along the third dimension.",
        HstackParams::LIST,
        by_name!(HstackParams, |a| {
            some(&a.tensors, "dstack")?;
            let deep = a.tensors.iter().map(|t| view::at_least(t, 3)).collect::<Result<Vec<_>>>()?;
            to_value(cat(&deep.iter().collect::<Vec<_>>(), 2))
        }),
    )
    .forms(FUNCTION)
    .shapes("(n) is (1, n, 1) and (n, m) is (n, m, 1); joined along dimension 2")
    .errors(&["RuntimeError: another size differs"])
    .example("dstack([tensor([1, 2]), tensor([3, 4])])", "tensor([[[1, 3],\n         [2, 4]]])")
    .samples(&[Sample::of("dstack([a, a])", VECTORS)]),
    OpDef::call(
        "column_stack",
        Family::Movement,
        "Vectors as columns, beside matrices.",
        HstackParams::LIST,
        by_name!(HstackParams, |a| {
            let columns = a.tensors.iter().map(|t| column(t)).collect::<Result<Vec<_>>>()?;
            to_value(cat(&columns.iter().collect::<Vec<_>>(), 1))
        }),
    )
    .forms(FUNCTION)
    .shapes("(n) is (n, 1); joined along dimension 1")
    .errors(&["RuntimeError: another size differs"])
    .example("column_stack([tensor([1, 2]), tensor([3, 4])])", "tensor([[1, 3],\n        [2, 4]])")
    .samples(&[Sample::of("column_stack([a, a])", VECTORS)]),
];

pub(crate) fn column(t: &Tensor) -> crate::base::Result<Tensor> {
    if t.rank() > 1 { Ok(t.clone()) } else { view::reshape_to(t, &[t.numel(), 1]) }
}

/// Fails where there is nothing to join.
fn some(tensors: &[&Tensor], name: &str) -> Result<()> {
    if tensors.is_empty() {
        return Err(Error::runtime(format!("{name} expects a non-empty TensorList")));
    }
    Ok(())
}

pub(crate) fn hstack(tensors: &[&Tensor]) -> Result<Tensor> {
    some(tensors, "hstack")?;
    let all = tensors
        .iter()
        .map(|t| if t.rank() == 0 { reshape_to(t, &[1]) } else { Ok((*t).clone()) })
        .collect::<Result<Vec<_>>>()?;
    let dim = if all.first().is_some_and(|t| t.rank() == 1) { 0 } else { 1 };
    cat(&all.iter().collect::<Vec<_>>(), dim)
}

pub(crate) fn vstack(tensors: &[&Tensor]) -> Result<Tensor> {
    some(tensors, "vstack")?;
    let all = tensors
        .iter()
        .map(|t| match t.rank() {
            0 => reshape_to(t, &[1, 1]),
            1 => unsqueeze(t, 0),
            _ => Ok((*t).clone()),
        })
        .collect::<Result<Vec<_>>>()?;
    cat(&all.iter().collect::<Vec<_>>(), 0)
}

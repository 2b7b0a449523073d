//! Elements written and combined at places: copies, fills, and reductions by index.

use crate::base::dtype::Category;
use crate::base::{DType, Dims, Error, Kind, Result, memory};
use crate::op::core::args::{to_list, to_value};
use crate::op::core::convert::{clone, to_dtype};
use crate::op::core::def::{Domain, Draw, FUNCTION, Family, Gradient, OpDef, Overlap, Sample};
use crate::op::core::fill::replaced;
use crate::op::core::operand::Operand;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::record::no_grad;
use crate::op::core::shapes;
use crate::op::elementwise::arithmetic::{add, floor_divide};
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::comparison::lt;
use crate::op::gather::along_dim::{out_of_range, same_place, scatter, scatter_, scatter_add, whole_within};
use crate::op::shape::part::narrow;
use crate::op::shape::view::reshape_to;
use crate::tensor::Tensor;
use crate::tensor::accumulate::expand;

use super::brackets::index;
use super::combined::{Combine, scatter_reduce};
use super::indices::Index;
use super::masks::positions;

/// The elements of the flattened tensor at `index`, in its shape.
pub fn take(x: &Tensor, at: &Tensor) -> Result<Tensor> {
    if at.dtype() != DType::Int64 {
        return Err(Error::runtime(format!(
            "take(): Expected a long tensor for index, but got {}",
            at.dtype().type_name()
        ))
        .with_hint("convert it: `index.long()`"));
    }
    let flat = reshape_to(x, &[x.numel()])?;
    index(&flat, &[Index::Tensor(at.clone())]).map_err(|e| {
        out_of_range(e, |i, _, size| {
            let text = format!("out of range: tried to access index {i} on a tensor of {size} elements.");
            Error::new(Kind::IndexError, text)
        })
    })
}

/// `x` with the slices of `source` written at `at` along `dim`.
pub(crate) fn index_copy(x: &Tensor, dim: i64, at: &Tensor, source: &Tensor) -> Result<Tensor> {
    if let Some(casts) = crate::op::core::autocast::enter("index_copy", &[x, source])? {
        return index_copy(&casts.cast(x)?, dim, at, &casts.cast(source)?);
    }
    let along = x.dim(dim)?;
    vector_index(x, at, "index_copy_()")?;
    if source.dtype() != x.dtype() {
        return Err(Error::runtime(format!(
            "index_copy_(): self and source expected to have the same dtype, but got (self) {} and (source) {}",
            x.dtype().type_name(),
            source.dtype().type_name()
        )));
    }
    let count = source.shape().get(along).copied().unwrap_or(1);
    if count != at.numel() {
        return Err(Error::new(
            Kind::IndexError,
            format!(
                "index_copy_(): Number of indices ({}) should be equal to source.size(dim) ({count})",
                at.numel()
            ),
        ));
    }
    let rest = |t: &Tensor| -> Dims { sizes_but(t, along) };
    if rest(x) != rest(source) {
        return Err(Error::runtime(format!(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: {:?} at \
             dimension {along} and source slice shape: {:?} at dimension {along}.",
            rest(x),
            rest(source)
        )));
    }
    within(at, x.shape().get(along).copied().unwrap_or(1), along, "index_copy_(): ")?;
    scatter(x, dim, &spread_index(at, source.shape(), along)?, source.into())
}

/// `x` with `value` in the slices that `at` names along `dim`; negative places count from the end.
pub fn index_fill(x: &Tensor, dim: i64, at: &Tensor, value: Operand) -> Result<Tensor> {
    let along = x.dim(dim)?;
    if x.rank() == 0 {
        let filled = index_fill(&reshape_to(x, &[1])?, 0, at, value)?;
        return reshape_to(&filled, &[]);
    }
    if at.dtype() != DType::Int64 {
        return Err(Error::new(Kind::IndexError, "index_fill_(): Expected dtype int64 for index.")
            .with_hint("convert it: `index.long()`"));
    }
    vector_index(x, at, "index_fill_()")?;
    let size = x.shape().get(along).copied().unwrap_or(1) as i64;
    let at = {
        let _off = no_grad();
        whole_within(at, (-size, size), along, "index_fill")?;
        where_(&lt(at, 0i64)?, (&add(at, size)?).into(), at.into())?
    };
    let mut shape: Dims = x.shape().into();
    if let Some(slot) = shape.get_mut(along) {
        *slot = at.numel();
    }
    let wide;
    let value = match value {
        Operand::Tensor(t) if t.rank() > 0 => {
            return Err(Error::runtime(format!(
                "index_fill_ only supports a 0-dimensional value tensor, but got tensor with {} dimension(s).",
                t.rank()
            )));
        }
        Operand::Tensor(t) if t.requires_grad() => {
            // A place that is named twice counts once in the value's gradient.
            let named = {
                let _off = no_grad();
                let zeros = Tensor::full(x.shape(), 0i64.into(), DType::Bool, &x.context(), "index_fill")?;
                scatter(&zeros, dim, &spread_index(&at, &shape, along)?, Operand::from(1i64))?
            };
            return where_(&named, Operand::Tensor(&to_dtype(t, x.dtype())?), Operand::Tensor(x));
        }
        Operand::Tensor(t) => {
            wide = expand(&to_dtype(t, x.dtype())?, &shape)?;
            Operand::Tensor(&wide)
        }
        number => number,
    };
    scatter_(&clone(x)?, dim, &spread_index(&at, &shape, along)?, value)
}

/// `x` with the elements of `source`, in order, where `mask` is true.
pub(crate) fn masked_scatter(x: &Tensor, mask: &Tensor, source: &Tensor) -> Result<Tensor> {
    if mask.dtype() != DType::Bool {
        return Err(Error::runtime(format!(
            "masked_scatter_ only supports boolean masks, but got mask with dtype {}",
            mask.dtype().type_name()
        ))
        .with_hint("a comparison such as `x > 0` gives a mask; so does `.bool()`"));
    }
    if source.dtype() != x.dtype() {
        return Err(Error::runtime(format!(
            "masked_scatter: expected self and source to have same dtypes but got {} and {}",
            x.dtype().type_name(),
            source.dtype().type_name()
        )));
    }
    same_place(x, "mask", mask, "wrapper_CUDA__masked_scatter_")?;
    same_place(x, "source", source, "wrapper_CUDA__masked_scatter_")?;
    let shape = crate::base::shape::broadcast(x.shape(), mask.shape())?;
    let at = {
        let _off = no_grad();
        positions(&expand(mask, &shape)?)?
    };
    let have = source.numel();
    if have < at.numel() {
        return Err(Error::runtime(format!(
            "masked_scatter_: expected the number of elements of source ({have}) to be at least the number of ones in \
             the mask ({})",
            at.numel()
        )));
    }
    let values = narrow(&reshape_to(source, &[have])?, 0, 0, at.numel() as i64)?;
    let flat = reshape_to(&expand(x, &shape)?, &[shape.iter().product()])?;
    reshape_to(&scatter(&flat, 0, &at, (&values).into())?, &shape)
}

/// `index` must be a vector of whole numbers on the device of `x`.
fn vector_index(x: &Tensor, at: &Tensor, name: &str) -> Result<()> {
    same_place(x, "index", at, "wrapper_CUDA_index_copy_")?;
    if at.rank() > 1 {
        let text = format!("{name}: Index should have dimension 1 or 0 (got {})", at.rank());
        return Err(Error::new(Kind::IndexError, text));
    }
    if at.dtype() != DType::Int64 {
        let text = format!("{name}: Expected a long tensor for index, but got {}", at.dtype().type_name());
        return Err(Error::runtime(text).with_hint("convert it: `index.long()`"));
    }
    Ok(())
}

/// Places on the CPU lie within `0..size`. A device says so itself, later.
fn within(at: &Tensor, size: usize, dim: usize, lead: &str) -> Result<()> {
    whole_within(at, (0, size as i64), dim, "index_copy")
        .map_err(|e| Error::new(Kind::IndexError, format!("{lead}{}", e.message())))
}

/// A vector of places as an index for `scatter`, the same in every other dimension.
pub(super) fn spread_index(at: &Tensor, shape: &[usize], dim: usize) -> Result<Tensor> {
    if shape.is_empty() {
        return reshape_to(at, &[]);
    }
    let own: Vec<usize> = (0..shape.len()).map(|i| if i == dim { at.numel() } else { 1 }).collect();
    expand(&reshape_to(at, &own)?, shape)
}

pub(super) fn sizes_but(t: &Tensor, dim: usize) -> Dims {
    t.shape().iter().enumerate().filter(|(i, _)| *i != dim).map(|(_, &d)| d).collect()
}

/// The place of each element of a flat index in a shape, a vector for each dimension.
pub(crate) fn unravel_index(at: &Tensor, shape: &[i64]) -> Result<Vec<Tensor>> {
    if at.dtype().category() != Category::Int {
        let text = format!("expected 'indices' to be integer dtype, but got torch.{}", at.dtype());
        return Err(Error::type_error(text).with_hint("convert them with `.long()`"));
    }
    let mut rest = to_dtype(at, DType::Int64)?;
    let mut all = memory::with_capacity(shape.len())?;
    for &size in shape.iter().rev() {
        all.push(crate::op::elementwise::arithmetic::remainder(&rest, size.max(1))?);
        rest = floor_divide(&rest, size.max(1))?;
    }
    all.reverse();
    Ok(all)
}

const ROWS_OF: &[Draw] = &[
    Draw::of("x", &[4, 3], Domain::Any),
    Draw::of("i", &[5, 3], Domain::Index(4)),
    Draw::of("v", &[5, 3], Domain::Positive),
];

/// What a reduction named beside `scatter` does with what stands at a place.
fn reduced(a: &ScatterParams, name: &str) -> Result<Tensor> {
    let filled;
    let source = match a.src {
        Operand::Tensor(t) => t,
        Operand::Scalar(n) => {
            filled = Tensor::full(a.index.shape(), n, a.input.dtype(), &a.input.context(), "scatter")?;
            &filled
        }
    };
    match name {
        "add" => scatter_add(a.input, a.dim, a.index, source),
        "multiply" => scatter_reduce(a.input, a.dim, a.index, source, Combine::Prod, true),
        _ => Err(Error::runtime("reduce argument must be either add or multiply.")),
    }
}

params! {
    ScatterParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Dim, "the dimension it runs along; negative ones count from the end";
        index: kind::Tensor, "the places along the dimension, as whole numbers";
        src: kind::Operand, "the values written, of at least the size of `index`";
        reduce: Maybe<kind::Str>, "\"add\" or \"multiply\": what is done with what stands at a place, instead of writing over it";
    }
}

params! {
    ScatterReduceParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Dim, "the dimension it runs along; negative ones count from the end";
        index: kind::Tensor, "for each element of `src`, the place that it is sent to";
        src: kind::Tensor, "the elements that are sent";
        reduce: kind::Str, "how elements at one place are combined: sum, prod, mean, amax or amin";
        include_self: kind::Bool = true, "whether what stood there counts";
    }
}

params! {
    TakeParams {
        input: kind::Tensor, "the tensor it is computed of";
        index: kind::Tensor, "the places, counted over all elements";
    }
}

params! {
    IndexCopyParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Dim, "the dimension it runs along; negative ones count from the end";
        index: kind::Tensor, "the places along the dimension, as whole numbers";
        source: kind::Tensor, "the tensor that values come from";
    }
}

params! {
    IndexFillParams {
        input: kind::Tensor, "the tensor it is computed of";
        dim: kind::Dim, "the dimension it runs along; negative ones count from the end";
        index: kind::Tensor, "the places along the dimension, as whole numbers";
        value: kind::Operand, "the number that is written";
    }
}

params! {
    MaskedScatterParams {
        input: kind::Tensor, "the tensor it is computed of";
        mask: kind::Tensor, "a bool tensor that broadcasts, true where elements are meant";
        source: kind::Tensor, "the tensor that values come from";
    }
}

params! {
    UnravelIndexParams {
        indices: kind::Tensor, "places counted over all elements";
        shape: kind::Ints, "sizes of the tensor that the places are in";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "take",
        Family::Index,
        "Elements of the flattened tensor at indices, in the indices' shape.",
        TakeParams::LIST,
        by_name!(TakeParams, |a| to_value(take(a.input, a.index))),
    )
    .shapes("any, index -> that of index")
    .errors(&["IndexError: an index lies outside of the flattened tensor"])
    .example("tensor([[4, 5], [6, 7]]).take(tensor([0, 3]))", "tensor([4, 7])")
    .samples(&[Sample::of(
        "x.take(i)",
        &[Draw::of("x", &[3, 4], Domain::Any), Draw::of("i", &[2, 3], Domain::Index(12))],
    )]),
    OpDef::call(
        "index_copy",
        Family::Index,
        "Entries written at indices along a dimension.",
        IndexCopyParams::LIST,
        by_name!(IndexCopyParams, |a| to_value(index_copy(a.input, a.dim, a.index, a.source))),
    )
    .overlap(Overlap::None)
    .in_place(by_name!(IndexCopyParams, |a| to_value(replaced(a.input, |x| index_copy(
        x, a.dim, a.index, a.source
    )))))
    .shapes("(…, n, …), (k), (…, k, …) -> (…, n, …)")
    .errors(&["IndexError: there are not as many indices as entries of `source`, or one lies outside"])
    .example("zeros(3).index_copy(0, tensor([2]), ones(1))", "tensor([0., 0., 1.])")
    .samples(&[Sample::of(
        "x.index_copy(0, i, v)",
        &[
            Draw::of("x", &[4, 3], Domain::Any),
            Draw::of("i", &[1], Domain::Index(4)),
            Draw::of("v", &[1, 3], Domain::Any),
        ],
    )]),
    OpDef::call(
        "index_fill",
        Family::Index,
        "A value in the entries that indices name along a dimension.",
        IndexFillParams::LIST,
        by_name!(IndexFillParams, |a| to_value(index_fill(a.input, a.dim, a.index, a.value))),
    )
    .overlap(Overlap::Any)
    .in_place(by_name!(IndexFillParams, |a| {
        // A value without dimensions is read before anything is written.
        a.input.check_overlap(a.index)?;
        to_value(replaced(a.input, |x| index_fill(x, a.dim, a.index, a.value)))
    }))
    .shapes(shapes::SAME)
    .errors(&["IndexError: an index lies outside of the dimension"])
    .example("zeros(3).index_fill(0, tensor([0, 2]), 5)", "tensor([5., 0., 5.])")
    .samples(&[Sample::of(
        "x.index_fill(1, i, 0.7)",
        &[Draw::of("x", &[4, 3], Domain::Any), Draw::of("i", &[2], Domain::Index(3))],
    )]),
    OpDef::call(
        "masked_scatter",
        Family::Index,
        "Elements of a source, in order, where a mask is true.",
        MaskedScatterParams::LIST,
        by_name!(MaskedScatterParams, |a| to_value(masked_scatter(a.input, a.mask, a.source))),
    )
    .forms(crate::op::core::def::METHOD)
    .overlap(Overlap::Any)
    .in_place(by_name!(MaskedScatterParams, |a| to_value(replaced(a.input, |x| masked_scatter(
        x, a.mask, a.source
    )))))
    .shapes("input and mask broadcast together")
    .errors(&["RuntimeError: the source has fewer elements than the mask is true"])
    .example("zeros(3).masked_scatter(tensor([true, false, true]), ones(2))", "tensor([1., 0., 1.])")
    .samples(&[Sample::of(
        "x.masked_scatter(m, v)",
        &[
            Draw::of("x", &[3, 4], Domain::Any),
            Draw::of("m", &[3, 4], Domain::Mask),
            Draw::of("v", &[12], Domain::Any),
        ],
    )]),
    OpDef::call(
        "scatter",
        Family::Index,
        "Elements written along a dimension, each at its own index.",
        ScatterParams::LIST,
        by_name!(ScatterParams, |a| to_value(match a.reduce {
            Some(name) => reduced(&a, name),
            None => scatter(a.input, a.dim, a.index, a.src),
        })),
    )
    .overlap(Overlap::None)
    .in_place(by_name!(ScatterParams, |a| to_value(match a.reduce {
        Some(name) => replaced(a.input, |_| reduced(&a, name)),
        None => scatter_(a.input, a.dim, a.index, a.src),
    })))
    .shapes("any, index, src at least as large as index, or a number -> that of the input")
    .errors(&[
        "RuntimeError: the index is larger than `src`, or than the input but along dim",
        "RuntimeError: an index lies outside of the dimension",
        "RuntimeError: `reduce` is another word",
    ])
    .example("zeros([1, 3]).scatter(1, tensor([[2]]), 5.0)", "tensor([[0., 0., 5.]])")
    .gradient(Gradient::Vjp("ScatterBackward0"))
    .samples(&[
        Sample::of("x.scatter(0, i, v, #{reduce: \"add\"})", ROWS_OF),
        Sample::of("x.scatter(0, i, v, #{reduce: \"multiply\"})", ROWS_OF),
    ]),
    OpDef::call(
        "scatter_reduce",
        Family::Index,
        "Elements sent to indices along a dimension and combined there.",
        ScatterReduceParams::LIST,
        by_name!(ScatterReduceParams, |a| to_value(scatter_reduce_row(&a, a.input))),
    )
    .details(
        "`reduce` is sum, prod, mean, amax or amin; without `include_self` what stood there does not count. \
         On a GPU elements are added and multiplied in any order; use_deterministic_algorithms has sums in one, and \
         refuses products.",
    )
    .overlap(Overlap::None)
    .in_place(by_name!(ScatterReduceParams, |a| to_value(replaced(a.input, |x| scatter_reduce_row(&a, x)))))
    .shapes("any, index, src at least as large as index -> that of the input")
    .errors(&[
        "RuntimeError: the index is larger than `src`, or than the input but along dim",
        "RuntimeError: `reduce` has another name",
        "NotImplementedError: the mean is of bools",
    ])
    .example("zeros(2).scatter_reduce(0, tensor([1, 1]), tensor([3.0, 5.0]), \"amax\")", "tensor([0., 5.])")
    .samples(&[
        Sample::of("x.scatter_reduce(0, i, v, \"sum\")", ROWS_OF),
        Sample::of("x.scatter_reduce(0, i, v, \"prod\")", ROWS_OF),
        Sample::of("x.scatter_reduce(0, i, v, \"mean\", #{include_self: false})", ROWS_OF),
        Sample::of("x.scatter_reduce(0, i, v, \"amax\")", ROWS_OF),
        Sample::of("x.scatter_reduce(0, i, v, \"amin\", #{include_self: false})", ROWS_OF),
    ]),
    OpDef::call(
        "unravel_index",
        Family::Index,
        "Places in a flattened tensor as places in its dimensions, a tensor for each.",
        UnravelIndexParams::LIST,
        by_name!(UnravelIndexParams, |a| to_list(unravel_index(a.indices, &a.shape))),
    )
    .forms(FUNCTION)
    .shapes("any -> one of the same for each size of `shape`")
    .errors(&["TypeError: the places are no integers"])
    .example("unravel_index(tensor([5]), [2, 3])", "[tensor([1]), tensor([2])]")
    .gradient(Gradient::NoGrad("the result is made of places")),
];

fn scatter_reduce_row(a: &ScatterReduceParams, x: &Tensor) -> Result<Tensor> {
    scatter_reduce(x, a.dim, a.index, a.src, Combine::parse(a.reduce)?, a.include_self)
}

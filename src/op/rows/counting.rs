//! Rows of counting, looking up, and writing at places.

use super::order::COUNTED;
use super::{ANY_DIM, DIM, list, one};
use crate::base::Result;
use crate::op::args::{Args, Value};
use crate::op::counting::{self, Distinct};
use crate::op::def::DefaultValue as D;
use crate::op::def::{Domain, Draw, FUNCTION, Family, OpDef, Param, ParamKind, SELF, Sample};
use crate::op::placing::{self, Combine};
use crate::op::record::replaced;

const INDEX: Param = Param::required("index", ParamKind::Tensor);
const SOURCE: Param = Param::required("source", ParamKind::Tensor);
const MASK: Param = Param::required("mask", ParamKind::Tensor);
const INVERSE: Param = Param::optional("return_inverse", ParamKind::Bool, D::Bool(false));
const COUNTS: Param = Param::optional("return_counts", ParamKind::Bool, D::Bool(false));
const RIGHT: Param = Param::optional("right", ParamKind::Bool, D::Bool(false));
const NARROW: Param = Param::optional("out_int32", ParamKind::Bool, D::Bool(false));
const REDUCED: &[Param] = &[
    SELF,
    DIM,
    INDEX,
    Param::required("src", ParamKind::Tensor),
    Param::required("reduce", ParamKind::Str),
    Param::optional("include_self", ParamKind::Bool, D::Bool(true)),
];
const ROWS_OF: &[Draw] = &[
    Draw::of("x", &[4, 3], Domain::Any),
    Draw::of("i", &[5, 3], Domain::Index(4)),
    Draw::of("v", &[5, 3], Domain::Positive),
];

pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "unique",
        Family::Index,
        "The distinct values, in ascending order.",
        &[SELF, Param::optional("sorted", ParamKind::Bool, D::Bool(true)), INVERSE, COUNTS, ANY_DIM],
        |a| match a.optional_int(4) {
            Some(dim) => distinct(a, counting::unique_along(a.tensor(0)?, dim, false)?, 2),
            None => distinct(a, counting::unique(a.tensor(0)?)?, 2),
        },
    )
    .details(
        "With `return_inverse` or `return_counts` an array: the values, for each element the place of its value, and \
         how often each value occurs. `dim` asks for distinct slices along it.",
    )
    .example("tensor([3, 1, 3, 2]).unique()", "tensor([1, 2, 3])")
    .gradient(COUNTED),
    OpDef::call(
        "unique_consecutive",
        Family::Index,
        "The values without those that repeat the one before.",
        &[SELF, INVERSE, COUNTS, ANY_DIM],
        |a| match a.optional_int(3) {
            Some(dim) => distinct(a, counting::unique_along(a.tensor(0)?, dim, true)?, 1),
            None => distinct(a, counting::unique_consecutive(a.tensor(0)?)?, 1),
        },
    )
    .details("`dim` leaves out slices that repeat the one before along it.")
    .example("tensor([1, 1, 2, 1]).unique_consecutive()", "tensor([1, 2, 1])")
    .gradient(COUNTED),
    OpDef::call(
        "bincount",
        Family::Index,
        "How often each number from 0 on occurs, or what its weights add up to.",
        &[
            SELF,
            Param::optional("weights", ParamKind::Tensor, D::None),
            Param::optional("minlength", ParamKind::Int, D::Int(0)),
        ],
        |a| one(counting::bincount(a.tensor(0)?, a.optional_tensor(1), a.int(2)?)),
    )
    .example("tensor([0, 2, 2]).bincount()", "tensor([1, 0, 2])")
    .gradient(COUNTED),
    OpDef::call(
        "histc",
        Family::Index,
        "How many elements lie in each of some equal pieces of a range.",
        &[
            SELF,
            Param::optional("bins", ParamKind::Int, D::Int(100)),
            Param::optional("min", ParamKind::Float, D::Int(0)),
            Param::optional("max", ParamKind::Float, D::Int(0)),
        ],
        |a| one(counting::histc(a.tensor(0)?, a.int(1)?, a.float(2)?, a.float(3)?)),
    )
    .details("Equal bounds stand for the smallest and the largest element.")
    .example("tensor([1.0, 2.0, 1.0]).histc(4, 0, 3)", "tensor([0., 2., 1., 0.])")
    .gradient(COUNTED),
    OpDef::call(
        "searchsorted",
        Family::Index,
        "Where values would be put into an ascending row: before their equals, or behind with `right`.",
        &[
            Param::required("sorted_sequence", ParamKind::Tensor),
            Param::required("values", ParamKind::Operand),
            NARROW,
            RIGHT,
        ],
        |a| looked_up(a, 0, 1),
    )
    .forms(FUNCTION)
    .example("searchsorted(tensor([1, 3, 5]), tensor([3, 4]))", "tensor([1, 2])")
    .gradient(COUNTED),
    OpDef::call(
        "bucketize",
        Family::Index,
        "The bucket of each element between ascending boundaries.",
        &[Param::required("input", ParamKind::Operand), Param::required("boundaries", ParamKind::Tensor), NARROW, RIGHT],
        |a| looked_up(a, 1, 0),
    )
    .forms(FUNCTION)
    .example("bucketize(tensor([0, 3, 9]), tensor([1, 3, 5]))", "tensor([0, 1, 3])")
    .gradient(COUNTED),
    OpDef::call(
        "combinations",
        Family::Index,
        "Every choice of `r` elements of a vector, a row each.",
        &[
            SELF,
            Param::optional("r", ParamKind::Int, D::Int(2)),
            Param::optional("with_replacement", ParamKind::Bool, D::Bool(false)),
        ],
        |a| one(counting::combinations(a.tensor(0)?, a.int(1)?, a.bool(2)?)),
    )
    .forms(FUNCTION)
    .example("combinations(tensor([1, 2, 3]))", "tensor([[1, 2],\n        [1, 3],\n        [2, 3]])")
    .samples(&[Sample::of("combinations(x)", &[Draw::of("x", &[4], Domain::Any)])]),
    OpDef::call(
        "take",
        Family::Index,
        "Elements of the flattened tensor at indices, in the indices' shape.",
        &[SELF, INDEX],
        |a| one(placing::take(a.tensor(0)?, a.tensor(1)?)),
    )
    .example("tensor([[4, 5], [6, 7]]).take(tensor([0, 3]))", "tensor([4, 7])")
    .samples(&[Sample::of(
        "x.take(i)",
        &[Draw::of("x", &[3, 4], Domain::Any), Draw::of("i", &[2, 3], Domain::Index(12))],
    )]),
    OpDef::call(
        "index_copy",
        Family::Index,
        "Entries written at indices along a dimension.",
        &[SELF, DIM, INDEX, SOURCE],
        |a| one(placing::index_copy(a.tensor(0)?, a.int(1)?, a.tensor(2)?, a.tensor(3)?)),
    )
    .in_place(|a| one(replaced(a.tensor(0)?, |x| placing::index_copy(x, a.int(1)?, a.tensor(2)?, a.tensor(3)?))))
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
        &[SELF, DIM, INDEX, Param::required("value", ParamKind::Operand)],
        |a| one(placing::index_fill(a.tensor(0)?, a.int(1)?, a.tensor(2)?, a.operand(3)?)),
    )
    .in_place(|a| one(replaced(a.tensor(0)?, |x| placing::index_fill(x, a.int(1)?, a.tensor(2)?, a.operand(3)?))))
    .example("zeros(3).index_fill(0, tensor([0, 2]), 5)", "tensor([5., 0., 5.])")
    .samples(&[Sample::of(
        "x.index_fill(1, i, 0.7)",
        &[Draw::of("x", &[4, 3], Domain::Any), Draw::of("i", &[2], Domain::Index(3))],
    )]),
    OpDef::call(
        "masked_scatter",
        Family::Index,
        "Elements of a source, in order, where a mask is true.",
        &[SELF, MASK, SOURCE],
        |a| one(placing::masked_scatter(a.tensor(0)?, a.tensor(1)?, a.tensor(2)?)),
    )
    .forms(crate::op::def::METHOD)
    .in_place(|a| one(replaced(a.tensor(0)?, |x| placing::masked_scatter(x, a.tensor(1)?, a.tensor(2)?))))
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
        "scatter_reduce",
        Family::Index,
        "Elements sent to indices along a dimension and combined there.",
        REDUCED,
        |a| one(scatter_reduce(a, a.tensor(0)?)),
    )
    .details("`reduce` is sum, prod, mean, amax or amin; without `include_self` what stood there does not count.")
    .in_place(|a| one(replaced(a.tensor(0)?, |x| scatter_reduce(a, x))))
    .example(
        "zeros(2).scatter_reduce(0, tensor([1, 1]), tensor([3.0, 5.0]), \"amax\")",
        "tensor([0., 5.])",
    )
    .samples(&[
        Sample::of("x.scatter_reduce(0, i, v, \"sum\")", ROWS_OF),
        Sample::of("x.scatter_reduce(0, i, v, \"prod\")", ROWS_OF),
        Sample::of("x.scatter_reduce(0, i, v, \"mean\", #{include_self: false})", ROWS_OF),
        Sample::of("x.scatter_reduce(0, i, v, \"amax\")", ROWS_OF),
        Sample::of("x.scatter_reduce(0, i, v, \"amin\", #{include_self: false})", ROWS_OF),
    ]),
];

fn distinct(a: &Args, found: Distinct, first: usize) -> Result<Value> {
    let (inverse, counts) = (a.bool(first)?, a.bool(first + 1)?);
    if !(inverse || counts) {
        return one(Ok(found.values));
    }
    let mut all = vec![found.values];
    all.extend(inverse.then_some(found.inverse));
    all.extend(counts.then_some(found.counts));
    list(Ok(all))
}

/// `searchsorted` and `bucketize`, whose first two arguments are exchanged. A number is looked up as a tensor.
fn looked_up(a: &Args, edges: usize, values: usize) -> Result<Value> {
    let edges = a.tensor(edges)?;
    let held;
    let values = match a.operand(values)? {
        crate::op::Operand::Tensor(t) => t,
        crate::op::Operand::Scalar(n) => {
            let dtype = edges.dtype().promote(n.default_dtype());
            held = crate::tensor::Tensor::full(&[], n, dtype, &edges.context(), "searchsorted")?;
            &held
        }
    };
    one(counting::searchsorted(edges, values, a.bool(3)?, a.bool(2)?))
}

fn scatter_reduce(a: &Args, x: &crate::tensor::Tensor) -> Result<crate::tensor::Tensor> {
    let how = Combine::parse(a.str(4)?)?;
    placing::scatter_reduce(x, a.int(1)?, a.tensor(2)?, a.tensor(3)?, how, a.bool(5)?)
}

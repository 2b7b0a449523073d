//! Grids, triangles of indices, and combinations.

use crate::base::dims::show;
use crate::base::{DType, Dims, Error, Result, memory};
use crate::device::poll;
use crate::op::core::args::{to_list, to_value};
use crate::op::core::autocast::whole;
use crate::op::core::def::{Domain, Draw, FUNCTION, Family, Gradient, OpDef, Sample};
use crate::op::core::many;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::record::beside;
use crate::op::core::value::Value;
use crate::op::create::filled::{Make, MakeParams};
use crate::op::gather::select::index_select;
use crate::op::shape::join::stack;
use crate::op::shape::view::{reshape_to, unsqueeze};
use crate::tensor::Tensor;

/// The row and column of each element of a triangle: `[2, count]`.
pub(crate) fn triangle_indices(
    rows: i64,
    columns: i64,
    offset: i64,
    upper: bool,
    make: &Make,
) -> Result<Tensor> {
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
    make.finish(crate::op::core::convert::to_dtype(&made, dtype)?.moved(&context, false, "tril_indices")?)
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
        grids.push(crate::op::shape::view::expand_to(&reshape_to(t, &own)?, &wide)?);
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

/// The columns `x^(n-1), …, x, 1`, or the other way round.
pub fn vander(x: &Tensor, n: Option<i64>, increasing: bool) -> Result<Tensor> {
    let n = n.unwrap_or(x.size(-1)? as i64);
    if n < 0 {
        return Err(Error::runtime("N must be non-negative."));
    }
    let powers = Tensor::empty(&[n as usize], DType::Int64, &x.context(), "vander")?;
    let (start, step) = if increasing { (0, 1i64) } else { (n - 1, -1) };
    let kernel = crate::device::Kernel::Arange { start: start.into(), step: step.into() };
    crate::tensor::launch("vander", &kernel, &[], &[&powers])?;
    crate::op::elementwise::binary::pow(&unsqueeze(x, -1)?, &powers)
}

/// Each choice of `r` elements of a vector, in order; with replacement an element may come again.
pub fn combinations(x: &Tensor, r: i64, with_replacement: bool) -> Result<Tensor> {
    if x.rank() != 1 {
        return Err(Error::runtime(format!("Expect a 1D vector, but got shape {:?}", x.shape())));
    }
    if r < 0 {
        return Err(Error::runtime(format!("Expect a non-negative number, but got {r}")));
    }
    if r == 0 {
        return Tensor::empty(&[0], x.dtype(), &x.context(), "combinations").map(|none| beside(none, x));
    }
    let (n, r) = (x.numel(), r as usize);
    // Without so many elements there is no choice.
    if r > n && !(with_replacement && n > 0) {
        return Tensor::empty(&[0, r], x.dtype(), &x.context(), "combinations").map(|none| beside(none, x));
    }
    let mut rows: Vec<i64> = Vec::new();
    let mut count = 0usize;
    let mut at = poll::listed((0..r).map(|i| if with_replacement { 0 } else { i }))?;
    let most = |i: usize| if with_replacement { n.checked_sub(1) } else { (n + i).checked_sub(r) };
    let mut open = (0..r).all(|i| most(i).is_some());
    while open {
        poll::at(count)?;
        for &i in &at {
            memory::push(&mut rows, i as i64)?;
        }
        count += 1;
        if count > 1 << 24 {
            return Err(Error::runtime("combinations: there are more than 16777216 of them"));
        }
        let Some(i) = (0..r).rev().find(|&i| at.get(i).copied() < most(i)) else {
            open = false;
            continue;
        };
        let mut next = at.get(i).map_or(0, |v| v + 1);
        for slot in at.iter_mut().skip(i) {
            *slot = next;
            next += usize::from(!with_replacement);
        }
    }
    let places = Tensor::from_i64(&rows, &[rows.len()])?.moved(&x.context(), false, "combinations")?;
    let shape: Dims = [count, r].into_iter().collect();
    reshape_to(&index_select(x, 0, &places)?, &shape)
}

const V: &[Draw] = &[Draw::of("x", &[4], Domain::Any)];
const VECTORS: &[Draw] = &[Draw::of("a", &[2], Domain::Any), Draw::of("b", &[3], Domain::Any)];

params! {
    TriangleParams {
        row: kind::Int, "how many rows the matrix has";
        col: kind::Int, "how many columns the matrix has";
        offset: kind::Int = 0, "which diagonal the triangle ends at: above the main one, or below where negative";
        ..options: MakeParams;
    }
}

params! {
    CombinationsParams {
        input: kind::Tensor, "the tensor it is computed of";
        r: kind::Int = 2, "how many elements are in each combination";
        with_replacement: kind::Bool = false, "an element may be there more than once";
    }
}

params! {
    MeshgridParams {
        tensors: kind::TensorRun, "vectors, one after the other or in an array";
        indexing: kind::Str = "ij", "`ij` for rows first, `xy` for columns first";
    }
}

params! {
    CartesianProdParams {
        tensors: kind::TensorRun, "vectors, one after the other or in an array";
    }
}

params! {
    VanderParams {
        input: kind::Tensor, "the tensor it is computed of";
        N: Maybe<kind::Int>, "how many columns; as many as there are elements where none are named";
        increasing: kind::Bool = false, "the lowest power comes first";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "combinations",
        Family::Index,
        "Every choice of `r` elements of a vector, a row each.",
        CombinationsParams::LIST,
        by_name!(CombinationsParams, |a| to_value(combinations(a.input, a.r, a.with_replacement))),
    )
    .forms(FUNCTION)
    .shapes("(n) -> (choices, r)")
    .errors(&["RuntimeError: the input is no vector"])
    .example("combinations(tensor([1, 2, 3]))", "tensor([[1, 2],\n        [1, 3],\n        [2, 3]])")
    .samples(&[Sample::of("combinations(x)", &[Draw::of("x", &[4], Domain::Any)])]),
    OpDef::call(
        "tril_indices",
        Family::Create,
        "The rows and columns of the lower triangle of a matrix.",
        TriangleParams::LIST,
        by_name!(TriangleParams, |a| triangle(&a, false)),
    )
    .forms(FUNCTION)
    .shapes("-> (2, elements of the triangle)")
    .errors(&["RuntimeError: `row` or `col` is negative"])
    .example("tril_indices(2, 2)", "tensor([[0, 1, 1],\n        [0, 0, 1]])")
    .gradient(Gradient::NoGrad("the result is made of places")),
    OpDef::call(
        "triu_indices",
        Family::Create,
        "The rows and columns of the upper triangle of a matrix.",
        TriangleParams::LIST,
        by_name!(TriangleParams, |a| triangle(&a, true)),
    )
    .forms(FUNCTION)
    .shapes("-> (2, elements of the triangle)")
    .errors(&["RuntimeError: `row` or `col` is negative"])
    .example("triu_indices(2, 2)", "tensor([[0, 0, 1],\n        [0, 1, 1]])")
    .gradient(Gradient::NoGrad("the result is made of places")),
    OpDef::call(
        "meshgrid",
        Family::Movement,
        "The coordinates of a grid: each vector along a dimension of its own.",
        MeshgridParams::LIST,
        by_name!(MeshgridParams, |a| to_list(meshgrid(&a.tensors, a.indexing))),
    )
    .forms(FUNCTION)
    .details("With `indexing` of \"xy\" the first two dimensions are exchanged.")
    .shapes("(n), (m), … -> as many of (n, m, …), or (m, n, …) with \"xy\"")
    .errors(&["RuntimeError: an input has more than one dimension"])
    .across()
    .example("meshgrid([tensor([1, 2]), tensor([3, 4])])[0]", "tensor([[1, 1],\n        [2, 2]])")
    .samples(&[Sample::of("meshgrid([a, b])[1]", VECTORS)]),
    OpDef::call(
        "cartesian_prod",
        Family::Movement,
        "Every choice of one element from each vector, a row each.",
        CartesianProdParams::LIST,
        by_name!(CartesianProdParams, |a| to_value(cartesian_prod(&a.tensors))),
    )
    .forms(FUNCTION)
    .shapes("k vectors (n), (m), … -> (n m …, k); a single vector stays as it is")
    .example(
        "cartesian_prod([tensor([1, 2]), tensor([3, 4])])",
        "tensor([[1, 3],\n        [1, 4],\n        [2, 3],\n        [2, 4]])",
    )
    .samples(&[Sample::of("cartesian_prod([a, b])", VECTORS)]),
    OpDef::call(
        "vander",
        Family::Create,
        "Powers of a vector's elements, a column each.",
        VanderParams::LIST,
        by_name!(VanderParams, |a| {
            let increasing = a.increasing;
            if a.input.rank() != 1 {
                return Err(Error::runtime("x must be a one-dimensional tensor."));
            }
            to_value(whole("vander", [a.input], |[x]| vander(x, a.N, increasing)))
        }),
    )
    .forms(FUNCTION)
    .shapes("(n) -> (n, N), N = n unless given")
    .errors(&["RuntimeError: `N` is negative, or the input is no vector"])
    .example("vander(tensor([1, 2, 3]))", "tensor([[1, 1, 1],\n        [4, 2, 1],\n        [9, 3, 1]])")
    .samples(&[Sample::of("vander(x)", V)]),
];

fn triangle(a: &TriangleParams, upper: bool) -> Result<Value> {
    to_value(triangle_indices(a.row, a.col, a.offset, upper, &a.options.make()))
}

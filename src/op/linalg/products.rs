//! Products made of others: powers, chains, Kronecker and cross products, contractions.

use crate::base::{DType, Dims, Error, Kind, Result, memory};
use crate::device::poll;
use crate::op::core::args::to_value;
use crate::op::core::autocast::whole;
use crate::op::core::convert::{apart, cloned, to_dtype};
use crate::op::core::def::{Args, DefaultValue as D, Domain, Draw, FUNCTION, Family, Form, OpDef, Sample};
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::record::recorded;
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic;
use crate::op::elementwise::arithmetic::{mul, sub};
use crate::op::elementwise::declare::zero_grad;
use crate::op::reduce::sums::sum;
use crate::op::shape::permute::permute;
use crate::op::shape::view::{reshape_to, squeeze, unsqueeze};
use crate::tensor::Tensor;
use crate::tensor::accumulate::expand;
use crate::tensor::autograd::Vjp;

use super::batches::{identity, square_of};
use super::matmul;
use super::matmul::{matmul, mm};
use super::solve::inv;

/// A matrix times itself `n` times; negative powers are those of the inverse.
pub(crate) fn matrix_power(x: &Tensor, n: i64) -> Result<Tensor> {
    square_of(x, "linalg.matrix_power")?;
    let base = if n < 0 { inv(x)? } else { x.clone() };
    let mut left = n.unsigned_abs();
    if left == 0 {
        static RULE: Vjp = Vjp { name: "LinalgMatrixPowerBackward0", run: zero_grad };
        return Ok(recorded(identity(x)?, &RULE, &[x], |_, _| ()));
    }
    let (mut power, mut out) = (base, None);
    loop {
        if left & 1 == 1 {
            out = Some(match out {
                None => power.clone(),
                Some(before) => matmul(&before, &power)?,
            });
        }
        left >>= 1;
        if left == 0 {
            return out.map_or_else(|| cloned(x), |out| apart(out, x));
        }
        power = matmul(&power, &power)?;
    }
}

/// The product of several matrices in the cheapest order.
pub(crate) fn multi_dot(all: &[&Tensor]) -> Result<Tensor> {
    if let Some(casts) = crate::op::core::autocast::enter("multi_dot", all)? {
        let cast = casts.cast_all(all)?;
        return multi_dot(&cast.iter().collect::<Vec<_>>());
    }
    let count = all.len();
    if count < 2 {
        return Err(Error::runtime(format!("multi_dot(): expected at least 2 tensors but got {count}")));
    }
    let matrices = all
        .iter()
        .enumerate()
        .map(|(i, t)| match t.rank() {
            2 => Ok((*t).clone()),
            1 if i == 0 => unsqueeze(t, 0),
            1 if i + 1 == count => unsqueeze(t, 1),
            n => Err(Error::runtime(format!("multi_dot(): tensor {i} must be 2D but got {n}D"))),
        })
        .collect::<Result<Vec<_>>>()?;
    let mut out = chain(&matrices)?;
    if all.first().is_some_and(|t| t.rank() == 1) {
        out = squeeze(&out, Some(&[0]))?;
    }
    if all.last().is_some_and(|t| t.rank() == 1) { squeeze(&out, Some(&[-1])) } else { Ok(out) }
}

/// The order with the fewest multiplications, by the usual table over intervals.
fn chain(matrices: &[Tensor]) -> Result<Tensor> {
    let size = |i: usize| -> f64 {
        match matrices.get(i) {
            Some(m) => m.shape().first().copied().unwrap_or(1) as f64,
            None => matrices.last().and_then(|m| m.shape().get(1).copied()).unwrap_or(1) as f64,
        }
    };
    let n = matrices.len();
    // The cheapest way of `from..=to`, and where it is cut, at `from * n + to`.
    let mut best: Vec<(f64, usize)> = memory::filled(memory::count::<(f64, usize)>(&[n, n])?, (0.0, 0))?;
    for width in 1..n {
        for from in 0..n - width {
            poll::check()?;
            let to = from + width;
            let cost = |cut: usize| {
                let of = |a: usize, b: usize| best.get(a * n + b).map_or(0.0, |c| c.0);
                (of(from, cut) + of(cut + 1, to) + size(from) * size(cut + 1) * size(to + 1), cut)
            };
            let found = (from..to).map(cost).min_by(|a, b| a.0.total_cmp(&b.0));
            if let (Some(found), Some(place)) = (found, best.get_mut(from * n + to)) {
                *place = found;
            }
        }
    }
    fn product(m: &[Tensor], best: &[(f64, usize)], from: usize, to: usize) -> Result<Tensor> {
        match (from == to, m.get(from), best.get(from * m.len() + to)) {
            (true, Some(one), _) => Ok(one.clone()),
            (false, _, Some(&(_, cut))) => mm(&product(m, best, from, cut)?, &product(m, best, cut + 1, to)?),
            _ => Err(Error::runtime("multi_dot(): an empty chain")),
        }
    }
    product(matrices, &best, 0, n - 1)
}

/// Kronecker's product: each element of `a` times all of `b`.
pub(crate) fn kron(a: &Tensor, b: &Tensor) -> Result<Tensor> {
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
    super::distance::same_dtype(a, b)?;
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
    let turned = |t: &Tensor, by: i64| crate::op::shape::repeat::roll(t, &[by], &[along]);
    sub(&mul(&turned(&a, -1)?, &turned(&b, -2)?)?, &mul(&turned(&a, -2)?, &turned(&b, -1)?)?)
}

/// The sum over pairs of dimensions of a product: the last `n` of `a` with the first `n` of `b`, or those named.
pub fn tensordot(a: &Tensor, b: &Tensor, left: &[i64], right: &[i64]) -> Result<Tensor> {
    if let Some(casts) = crate::op::core::autocast::enter("tensordot", &[a, b])? {
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
    let (over_a, over_b) =
        (crate::op::shape::view::unique_dims(a, left)?, crate::op::shape::view::unique_dims(b, right)?);
    let (mut a, mut b) = (a.clone(), b.clone());
    for (&i, &j) in over_a.iter().zip(&over_b) {
        let (m, n) = (a.size(i as i64)?, b.size(j as i64)?);
        // A size of 1 stands for as many equal ones as the other has.
        if m == 1 && n != 1 {
            b = to_dtype(&sum(&b, Some(&[j as i64]), true)?, b.dtype())?;
        } else if n == 1 && m != 1 {
            a = to_dtype(&sum(&a, Some(&[i as i64]), true)?, a.dtype())?;
        } else if m != n {
            return Err(Error::runtime(format!(
                "contracted dimensions need to match, but first has size {m} in dim {i} and second has size {n} in dim \
                 {j}"
            )));
        }
    }
    let (a, b) = (&a, &b);
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

const TWO_VECTORS: &[Draw] = &[Draw::of("a", &[4], Domain::Any), Draw::of("b", &[4], Domain::Positive)];

/// A product with its transpose, moved up the diagonal, is well conditioned.
const SQUARE: &[Draw] = &[Draw::of("x", &[3, 3], Domain::Inside), Draw::of("b", &[3, 2], Domain::Any)];
const SPACE: &[Form] = &[Form::Of("linalg")];
const ANYWHERE: &[Form] = &[Form::Method, Form::Function, Form::Of("linalg")];
const MATRICES: &[Draw] = &[Draw::of("a", &[2, 3], Domain::Any), Draw::of("b", &[3, 2], Domain::Any)];

params! {
    KronParams {
        input: kind::Tensor, "the tensor it is computed of";
        other: kind::Tensor, "the right factor";
    }
}

params! {
    CrossParams {
        input: kind::Tensor, "the tensor it is computed of";
        other: kind::Tensor, "the right factor";
        dim: Maybe<kind::Dim>, "the dimension it runs along; negative ones count from the end";
    }
}

params! {
    MatrixPowerParams {
        input: kind::Tensor, "the tensor it is computed of";
        n: kind::Int, "the power; negative ones are of the inverse";
    }
}

params! {
    MultiDotParams {
        tensors: kind::Tensors, "a list of matrices to multiply in order";
    }
}

params! {
    ChainMatmulParams {
        matrices: kind::TensorRun, "what is multiplied in order, one after the other or in an array";
    }
}

params! {
    CrossParams2 {
        input: kind::Tensor, "the tensor it is computed of";
        other: kind::Tensor, "the right factor";
        dim: kind::Dim = -1, "the dimension it runs along; negative ones count from the end";
    }
}

params! {
    TensordotParams {
        a: kind::Tensor, "the left factor, whose last dimensions are summed over";
        b: kind::Tensor, "the right factor, whose first dimensions are summed over";
        dims: kind::Any => D::Int(2), "how many dimensions of both are summed over, or an array of them for each";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "kron",
        Family::Matmul,
        "Kronecker's product: each element of one tensor times all of another.",
        KronParams::LIST,
        by_name!(KronParams, |a| to_value(kron(a.input, a.other))),
    )
    .shapes("(n_1, …), (m_1, …) -> (n_1 m_1, …); the shorter shape begins with 1s")
    .example("tensor([1, 2]).kron(tensor([1, 10]))", "tensor([ 1, 10,  2, 20])")
    .samples(&[Sample::of("a.kron(b)", MATRICES)]),
    OpDef::call(
        "cross",
        Family::Matmul,
        "The vector product of three-element vectors along a dimension.",
        CrossParams::LIST,
        by_name!(CrossParams, |a| to_value(whole("cross", [a.input, a.other], |[x, y]| cross(x, y, a.dim)))),
    )
    .details("Without `dim` along the first dimension of size 3.")
    .shapes("broadcast together; 3 elements along dim")
    .errors(&["RuntimeError: no dimension has size 3"])
    .example("tensor([1, 0, 0]).cross(tensor([0, 1, 0]), 0)", "tensor([0, 0, 1])")
    .samples(&[Sample::of(
        "a.cross(b, 1)",
        &[Draw::of("a", &[2, 3], Domain::Any), Draw::of("b", &[2, 3], Domain::Any)],
    )]),
    OpDef::call(
        "tensordot",
        Family::Matmul,
        "The sum over pairs of dimensions of a product.",
        TensordotParams::LIST,
        by_name!(TensordotParams, |a, args| tensordot_row(a, args)),
    )
    .forms(FUNCTION)
    .details("`dims` is how many of the last of `a` and the first of `b`, or two arrays of dimensions.")
    .shapes("(…, k), (k, …) -> (…, …), k standing for the pairs of `dims`")
    .errors(&[
        "RuntimeError: paired dimensions have different sizes",
        "IndexError: an input has no such dimension as `dims` names",
    ])
    .example("tensordot(ones([2, 3]), ones([3, 2]), 1)", "tensor([[3., 3.],\n        [3., 3.]])")
    .samples(&[Sample::of("tensordot(a, b, [[0], [1]])", MATRICES)]),
    OpDef::call(
        "matrix_power",
        Family::Matmul,
        "A matrix times itself, `n` times over.",
        MatrixPowerParams::LIST,
        by_name!(MatrixPowerParams, |a| to_value(matrix_power(a.input, a.n))),
    )
    .forms(ANYWHERE)
    .shapes(shapes::SQUARE)
    .errors(&[
        "RuntimeError: a matrix is not square",
        "RuntimeError: `n` is negative and a matrix is singular",
    ])
    .example("tensor([[1.0, 1.0], [0.0, 1.0]]).matrix_power(3)", "tensor([[1., 3.],\n        [0., 1.]])")
    .samples(&[Sample::of("x.matrix_power(3)", SQUARE)]),
    OpDef::call(
        "multi_dot",
        Family::Matmul,
        "The product of several matrices in the cheapest order.",
        MultiDotParams::LIST,
        by_name!(MultiDotParams, |a| to_value(multi_dot(&a.tensors))),
    )
    .forms(SPACE)
    .shapes("(n, m), (m, p), …, (q, r) -> (n, r)")
    .errors(&["RuntimeError: neighbours have different inner sizes"])
    .example("linalg::multi_dot([ones([1, 2]), ones([2, 3]), ones([3, 1])])", "tensor([[6.]])")
    .samples(&[Sample::of(
        "linalg::multi_dot([a, b, a])",
        &[Draw::of("a", &[2, 3], Domain::Any), Draw::of("b", &[3, 2], Domain::Any)],
    )]),
    OpDef::call(
        "inner",
        Family::Matmul,
        "The sums of products over the last dimensions.",
        KronParams::LIST,
        by_name!(KronParams, |a| to_value(inner(a.input, a.other))),
    )
    .shapes("(…, n), (…, n) -> the other sizes of both, one after the other; with a number () the other operand's")
    .errors(&["RuntimeError: the last sizes differ"])
    .example("tensor([1, 2]).inner(tensor([3, 4]))", "tensor(11)")
    .samples(&[Sample::of("a.inner(b)", TWO_VECTORS)]),
    OpDef::call(
        "chain_matmul",
        Family::Matmul,
        "Another name of `linalg::multi_dot`.",
        ChainMatmulParams::LIST,
        by_name!(ChainMatmulParams, |a| to_value(multi_dot(&a.matrices))),
    )
    .forms(FUNCTION)
    .shapes("(n, m), (m, p), …, (q, r) -> (n, r)")
    .errors(&["RuntimeError: neighbours have different inner sizes"])
    .example("chain_matmul([ones([1, 2]), ones([2, 3]), ones([3, 1])])", "tensor([[6.]])"),
];

/// The powers of elements from 0 on.
fn powers(x: &Tensor, count: Option<i64>) -> Result<Tensor> {
    if x.dtype() == DType::Bool {
        return Err(Error::new(
            Kind::NotImplementedError,
            "linalg.vander supports floating point, complex, and integer tensors, but got Bool",
        ));
    }
    let count = count.map_or_else(|| if x.rank() == 0 { Ok(1) } else { x.size(-1).map(|n| n as i64) }, Ok)?;
    if count <= 1 {
        return Err(Error::runtime("N must be greater than 1."));
    }
    let x = if x.dtype().is_float() { x.clone() } else { to_dtype(x, DType::Int64)? };
    let x = if x.rank() == 0 { reshape_to(&x, &[1])? } else { x };
    crate::op::arrange::grids::vander(&x, Some(count), true)
}

params! {
    PowersParams {
        x: kind::Tensor, "the vector, or a batch of vectors";
        N: Maybe<kind::Int>, "how many columns there are";
    }
}

/// Rows whose names other rows have too.
pub(crate) static HOMONYMS: &[OpDef] = &[
    OpDef::call(
        "vander",
        Family::Matmul,
        "Powers of each vector's elements from 0 on, a column each.",
        PowersParams::LIST,
        by_name!(PowersParams, |a| to_value(whole("vander", [a.x], |[x]| powers(x, a.N)))),
    )
    .forms(&[Form::Of("linalg")])
    .shapes("(…, n) -> (…, n, N), N = n unless given; () -> (1, N)")
    .errors(&[
        "RuntimeError: there would be fewer than two columns",
        "NotImplementedError: the input holds bools",
    ])
    .example("linalg::vander(tensor([2, 3]), #{N: 3})", "tensor([[1, 2, 4],\n        [1, 3, 9]])")
    .samples(&[Sample::of("linalg::vander(x)", &[Draw::of("x", &[2, 3], Domain::Any)])]),
    OpDef::call(
        "cross",
        Family::Matmul,
        "The vector product of three-element vectors along a dimension, the last where none is named.",
        CrossParams2::LIST,
        by_name!(CrossParams2, |a| {
            let (x, y) = (a.input, a.other);
            if x.rank() != y.rank() {
                return Err(Error::runtime("linalg.cross: inputs must have the same number of dimensions.")
                    .with_hint(format!("they have {} and {}", x.rank(), y.rank())));
            }
            let dim = a.dim;
            if x.size(dim)? != 3 || y.size(dim)? != 3 {
                return Err(Error::runtime(format!(
                    "linalg.cross: inputs dimension {dim} must have length 3. Got {} and {}",
                    x.size(dim)?,
                    y.size(dim)?
                )));
            }
            to_value(cross(x, y, Some(dim)))
        }),
    )
    .forms(&[Form::Of("linalg")])
    .shapes("broadcast together; 3 elements along dim")
    .errors(&[
        "RuntimeError: the dimension has not size 3",
        "RuntimeError: the inputs differ in how many dimensions they have",
    ])
    .example("linalg::cross(tensor([1, 0, 0]), tensor([0, 1, 0]))", "tensor([0, 0, 1])")
    .samples(&[Sample::of(
        "linalg::cross(a, b)",
        &[Draw::of("a", &[2, 3], Domain::Any), Draw::of("b", &[1, 3], Domain::Any)],
    )]),
];

/// The sum of products along the last dimensions: `(…, k)` and `(…, k)` give both leading shapes.
pub fn inner(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    if x.rank() == 0 || y.rank() == 0 {
        return arithmetic::mul(x, y);
    }
    if x.size(-1)? != y.size(-1)? {
        return Err(crate::base::Error::runtime(format!(
            "inner() the last dimension must match on both input tensors but got shapes {:?} and {:?}",
            x.shape(),
            y.shape()
        )));
    }
    if x.rank() == 1 && y.rank() == 1 {
        return matmul::dot(x, y);
    }
    tensordot(x, y, &[-1], &[-1])
}

fn tensordot_row(t: TensordotParams, args: &Args) -> Result<Value> {
    let (x, y) = (t.a, t.b);
    let numbers = |v: &Value| -> Option<Vec<i64>> {
        match v {
            Value::List(items) => items
                .iter()
                .map(|i| match i {
                    Value::Scalar(crate::base::Scalar::Int(i)) => Some(*i),
                    _ => None,
                })
                .collect(),
            Value::Scalar(crate::base::Scalar::Int(i)) => Some(vec![*i]),
            _ => None,
        }
    };
    let pair = match t.dims {
        Value::Scalar(crate::base::Scalar::Int(n)) => {
            let rank = x.rank() as i64;
            if *n < 0 || *n > rank || *n > y.rank() as i64 {
                let text = format!(
                    "tensordot expects dims >= 0 and no more than the tensors have, but got dims={n}"
                );
                return Err(crate::base::Error::runtime(text));
            }
            Some(((rank - n..rank).collect(), (0..*n).collect()))
        }
        Value::List(both) => match both.as_slice() {
            [left, right] => numbers(left).zip(numbers(right)),
            _ => None,
        },
        _ => None,
    };
    let Some((left, right)) = pair else { return Err(args.wrong_for("dims", t.dims)) };
    let (left, right): (Vec<i64>, Vec<i64>) = (left, right);
    to_value(tensordot(x, y, &left, &right))
}

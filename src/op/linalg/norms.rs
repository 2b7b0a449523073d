//! Norms of matrices, and of whatever `linalg::norm` is given.

use crate::base::{Error, Kind, Result};
use crate::op::core::args::to_value;
use crate::op::core::autocast::whole;
use crate::op::core::def::{Args, DefaultValue as D, Domain, Draw, Family, Form, Gradient, OpDef, Sample};
use crate::op::core::params::{Maybe, by_name, kind, kinds, params};
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::elementwise::unary::abs;
use crate::op::reduce::norms::norm;
use crate::op::reduce::sums::{amax, sum};
use crate::op::shape::view::{reshape_to, squeeze};
use crate::tensor::Tensor;

/// A norm of the matrices in the last two dimensions (or `dims`): `fro`, or 1, -1, inf, -inf of row and column sums.
pub(crate) fn matrix_norm(x: &Tensor, kind: NormKind, dims: [i64; 2], keepdim: bool) -> Result<Tensor> {
    whole("matrix_norm", [x], |[x]| norm_of_matrices(x, kind, dims, keepdim))
}

fn norm_of_matrices(x: &Tensor, kind: NormKind, dims: [i64; 2], keepdim: bool) -> Result<Tensor> {
    if x.rank() < 2 {
        return Err(Error::runtime(
            "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.",
        ));
    }
    let (a, b) = (x.dim(dims[0])?, x.dim(dims[1])?);
    if a == b {
        let text = format!("linalg.matrix_norm: dims must be different. Got ({}, {})", dims[0], dims[1]);
        return Err(Error::runtime(text));
    }
    if !x.dtype().is_float() {
        return Err(Error::new(
            Kind::NotImplementedError,
            format!(
                "linalg.matrix_norm: Expected a floating point or complex tensor as input. Got {}",
                x.dtype().type_name()
            ),
        )
        .with_hint("convert it with `.float()`"));
    }
    let over = |x: &Tensor, dim: usize, keep: bool| sum(&abs(x)?, Some(&[dim as i64]), keep);
    let (summed, other, largest) = match kind {
        NormKind::Frobenius => return norm(x, 2.0, Some(&[a as i64, b as i64]), keepdim),
        NormKind::Columns { largest } => (a, b, largest),
        NormKind::Rows { largest } => (b, a, largest),
        NormKind::Nuclear | NormKind::Spectral { .. } => {
            let order = [a as i64, b as i64];
            let values = super::svd::svdvals(&crate::op::shape::permute::movedim(x, &order, &[-2, -1])?)?;
            let found = match kind {
                NormKind::Nuclear => sum(&values, Some(&[-1]), false)?,
                NormKind::Spectral { largest: true } => most(&values, -1, false)?,
                _ => crate::op::reduce::sums::amin(&values, Some(&[-1]), false)?,
            };
            if !keepdim {
                return Ok(found);
            }
            let kept: Vec<usize> =
                x.shape().iter().enumerate().map(|(i, &d)| if i == a || i == b { 1 } else { d }).collect();
            return reshape_to(&found, &kept);
        }
    };
    let sums = over(x, summed, true)?;
    let found = if largest {
        most(&sums, other as i64, true)?
    } else {
        crate::op::reduce::sums::amin(&sums, Some(&[other as i64]), true)?
    };
    if keepdim { Ok(found) } else { squeeze(&found, Some(&[a as i64, b as i64])) }
}

/// The largest of sizes along a dimension, of none 0.
fn most(sizes: &Tensor, dim: i64, keepdim: bool) -> Result<Tensor> {
    match sizes.size(dim)? {
        0 => sum(sizes, Some(&[dim]), keepdim),
        _ => amax(sizes, Some(&[dim]), keepdim),
    }
}

/// Which norm of a matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NormKind {
    Frobenius,
    /// The sum of the singular values.
    Nuclear,
    /// The largest or the smallest singular value.
    Spectral {
        largest: bool,
    },
    /// Of the sums of columns.
    Columns {
        largest: bool,
    },
    /// Of the sums of rows.
    Rows {
        largest: bool,
    },
}

impl NormKind {
    pub(crate) fn of(order: f64) -> Result<NormKind> {
        Ok(match order {
            1.0 => NormKind::Columns { largest: true },
            -1.0 => NormKind::Columns { largest: false },
            f64::INFINITY => NormKind::Rows { largest: true },
            f64::NEG_INFINITY => NormKind::Rows { largest: false },
            2.0 => NormKind::Spectral { largest: true },
            -2.0 => NormKind::Spectral { largest: false },
            other => return Err(NormKind::unknown(&other.to_string())),
        })
    }

    /// By a name, such as `fro`.
    pub(crate) fn named(name: &str) -> Result<NormKind> {
        match name {
            "fro" => Ok(NormKind::Frobenius),
            "nuc" => Ok(NormKind::Nuclear),
            "inf" => NormKind::of(f64::INFINITY),
            "-inf" => NormKind::of(f64::NEG_INFINITY),
            other => Err(NormKind::unknown(other)),
        }
    }

    fn unknown(order: &str) -> Error {
        Error::runtime(format!("linalg.matrix_norm: Order {order} not supported."))
            .with_hint("orders are \"fro\", \"nuc\", 1, -1, 2, -2, and infinities")
    }
}

/// The norm of a vector, of matrices, or of all elements where no `order` is given.
pub(crate) fn norm_of(x: &Tensor, order: NormOrder, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
    let vector = |order: f64| whole("vector_norm", [x], |[x]| norm(x, order, dims, keepdim));
    if let Some(dims) = dims.filter(|d| !matches!(d.len(), 1 | 2)) {
        return Err(Error::runtime(format!(
            "linalg.norm: If dim is specified, it must be of length 1 or 2. Got {}",
            crate::base::dims::show(dims)
        )));
    }
    if !matches!(order, NormOrder::Usual) && dims.is_none() && !matches!(x.rank(), 1 | 2) {
        let text = "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got";
        return Err(Error::runtime(format!("{text} {}D.", x.rank())));
    }
    let flat = dims.map_or(x.rank() == 1, |d| d.len() == 1);
    let pair = match dims {
        Some(&[a, b]) => [a, b],
        _ => [-2, -1],
    };
    match order {
        NormOrder::Usual => vector(2.0),
        NormOrder::Of(order) if flat => vector(order),
        NormOrder::Of(order) => matrix_norm(x, NormKind::of(order)?, pair, keepdim),
        NormOrder::Named(name) => {
            if let Some(&[one]) = dims {
                return Err(Error::runtime(format!("linalg.matrix_norm: dim must be a 2-tuple. Got {one}")));
            }
            matrix_norm(x, NormKind::named(&name)?, pair, keepdim)
        }
    }
}

/// The norm of elements, or with "nuc" of the matrices that two dimensions hold.
fn plain_norm(x: &Tensor, order: &NormOrder, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
    match (order, dims, x.rank()) {
        (NormOrder::Of(order), ..) => norm(x, *order, dims, keepdim),
        (NormOrder::Named(name), Some(&[a, b]), _) if name == "nuc" => {
            matrix_norm(x, NormKind::Nuclear, [a, b], keepdim)
        }
        (NormOrder::Named(name), None, 2) if name == "nuc" => {
            matrix_norm(x, NormKind::Nuclear, [0, 1], keepdim)
        }
        (NormOrder::Named(name), ..) if name == "nuc" => {
            Err(Error::runtime("linalg.matrix_norm: dim must be a 2-tuple")
                .with_hint("the nuclear norm is one of matrices, which two dimensions hold"))
        }
        (NormOrder::Named(name), ..) if name != "fro" => Err(NormKind::unknown(name)),
        _ => norm(x, 2.0, dims, keepdim),
    }
}

/// The order of a norm.
#[derive(Clone, Debug)]
pub enum NormOrder {
    /// None is given.
    Usual,
    Of(f64),
    /// Of matrices: `fro` or `nuc`.
    Named(String),
}

/// A product with its transpose, moved up the diagonal, is well conditioned.
const SQUARE: &[Draw] = &[Draw::of("x", &[3, 3], Domain::Inside), Draw::of("b", &[3, 2], Domain::Any)];
const SPACE: &[Form] = &[Form::Of("linalg")];
const WIDE: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];

kinds! {
    /// The norm of a matrix, by its name or number.
    MatrixOrder(Any) => NormKind, |args: &Args, at| match args.get(at) {
        Value::Str(s) => NormKind::named(s),
        Value::Scalar(s) => NormKind::of(s.as_f64()),
        other => Err(args.wrong(at, other)),
    };
    /// The norm of a vector or a matrix, if any is named.
    VectorOrder(Any) => NormOrder, order;
    /// As `VectorOrder`, where a map holds options.
    pub(super) ConditionOrder(Object) => NormOrder, order;
}

fn order(args: &Args, at: usize) -> Result<NormOrder> {
    match args.get(at) {
        Value::None => Ok(NormOrder::Usual),
        Value::Scalar(n) => Ok(NormOrder::Of(n.as_f64())),
        Value::Str(name) => Ok(NormOrder::Named(name.clone())),
        other => Err(args.wrong(at, other)),
    }
}

params! {
    PlainNormParams {
        input: kind::Tensor, "the tensor it is computed of";
        p: ConditionOrder => D::Float(2.0), "which norm: 1 sums distances, 2 or `fro` is Euclid's, `nuc` sums singular values";
        dim: Maybe<kind::Dims>, "the dimension it runs along; negative ones count from the end";
        keepdim: kind::Bool = false, "keeps reduced dimensions, with size 1";
    }
}

params! {
    MatrixNormParams {
        A: kind::Tensor, "the matrix, or a batch of matrices";
        ord: MatrixOrder => D::Str("fro"), "which norm: a number, `fro` or `nuc`";
        dim: kind::Dims => D::Ints(&[-2, -1]), "the two dimensions that hold the matrices";
        keepdim: kind::Bool = false, "keeps reduced dimensions, with size 1";
    }
}

params! {
    NormParams {
        A: kind::Tensor, "the matrix, or a batch of matrices";
        ord: VectorOrder => D::None, "which norm: a number, `fro` or `nuc` where it is of matrices";
        dim: Maybe<kind::Dims>, "the dimension it runs along; negative ones count from the end";
        keepdim: kind::Bool = false, "keeps reduced dimensions, with size 1";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "norm",
        Family::Reduce,
        "The p-norm of all elements, or along dimensions.",
        PlainNormParams::LIST,
        by_name!(PlainNormParams, |a| to_value(plain_norm(a.input, &a.p, a.dim.as_deref(), a.keepdim))),
    )
    .shapes(shapes::REDUCED)
    .errors(&[shapes::NO_FLOAT, "RuntimeError: `p` is \"nuc\", and no two dimensions hold matrices"])
    .example("tensor([3.0, 4.0]).norm()", "tensor(5.)")
    .gradient(Gradient::Vjp("NormBackward0"))
    .samples(&[Sample::of("x.norm()", WIDE), Sample::of("x.norm(\"nuc\")", WIDE)]),
    OpDef::call(
        "matrix_norm",
        Family::Reduce,
        "The norm of matrices: \"fro\", 1, -1 and infinities of column and row sums, 2, -2 and \"nuc\" of singular values.",
        MatrixNormParams::LIST, by_name!(MatrixNormParams, |a| match a.dim.as_slice() {
            &[first, second] => to_value(matrix_norm(a.A, a.ord, [first, second], a.keepdim)),
            other => Err(Error::runtime(format!(
                "linalg.matrix_norm: dim must be a 2-tuple. Got {}",
                crate::base::dims::show(other)
            ))),
        }),
    )
    .forms(SPACE)
    .shapes("any -> without both of dim (1 each with keepdim)")
    .errors(&[
        "RuntimeError: the input has fewer than two dimensions",
        "RuntimeError: there is no such order",
        shapes::NO_FLOAT,
    ])
    .example("linalg::matrix_norm(tensor([[1.0, -2.0], [3.0, 4.0]]), 1)", "tensor(6.)")
    .samples(&[Sample::of("linalg::matrix_norm(x)", SQUARE)]),
];

/// Rows whose names other rows have too.
pub(crate) static HOMONYMS: &[OpDef] = &[OpDef::call(
    "norm",
    Family::Reduce,
    "The norm of a vector or of matrices; without an order that of all elements.",
    NormParams::LIST,
    by_name!(NormParams, |a| to_value(norm_of(a.A, a.ord, a.dim.as_deref(), a.keepdim))),
)
.forms(SPACE)
.details("Two dimensions hold matrices, of which orders are those of `linalg::matrix_norm`.")
.shapes(shapes::REDUCED)
.errors(&[
    "RuntimeError: an order but no `dim` is given, and the input is neither a vector nor a matrix",
    shapes::NO_FLOAT,
])
.example("linalg::norm(tensor([[3.0, 0.0], [0.0, 4.0]]), \"nuc\")", "tensor(7.)")
.gradient(Gradient::Composite)
.samples(&[Sample::of("linalg::norm(x, 1)", WIDE), Sample::of("linalg::norm(x, 2)", WIDE)])];

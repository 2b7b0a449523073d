//! Rows of `linalg::` that take matrices apart.

use super::{KEEPDIM, one};
use crate::base::Result;
use crate::op::args::{Args, Value};
use crate::op::decompose::{self, Cut, NormOrder};
use crate::op::def::DefaultValue as D;
use crate::op::def::{Domain, Draw, Family, Form, Gradient, OpDef, Param, ParamKind, Sample};

const A: Param = Param::required("A", ParamKind::Tensor);
const UPLO: Param = Param::optional("UPLO", ParamKind::Str, D::Str("L"));
const CUT: &[Param] = &[
    A,
    Param::optional("atol", ParamKind::Float, D::None),
    Param::optional("rtol", ParamKind::Float, D::None),
    Param::optional("hermitian", ParamKind::Bool, D::Bool(false)),
];
const SPACE: &[Form] = &[Form::Of("linalg")];
const TALL: &[Draw] = &[Draw::of("x", &[2, 4, 3], Domain::Any)];
const WIDE: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];
const SQUARE: &[Draw] = &[Draw::of("x", &[3, 3], Domain::Any)];
const SYSTEM: &[Draw] = &[Draw::of("x", &[4, 3], Domain::Any), Draw::of("b", &[4, 2], Domain::Any)];
const COUNTED: Gradient = Gradient::NoGrad("the result counts");

pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "qr",
        Family::Matmul,
        "Matrices as products of orthonormal columns and an upper triangle.",
        &[A, Param::optional("mode", ParamKind::Str, D::Str("reduced"))],
        |a| {
            let (q, r) = decompose::qr(a.tensor(0)?, a.str(1)?)?;
            Ok(Value::Map(vec![("Q", q.into()), ("R", r.into())]))
        },
    )
    .forms(SPACE)
    .details(
        "A map of `Q` and `R`. \"complete\" makes `Q` square, \"r\" leaves it out. Computed by reflections, so the signs \
         are those of LAPACK.",
    )
    .example("linalg::qr(tensor([[3.0, 1.0], [4.0, 2.0]])).R", "tensor([[-5.0000, -2.2000],\n        [ 0.0000,  0.4000]])")
    .gradient(Gradient::Vjp("LinalgQrBackward0"))
    .samples(&[
        Sample::of("linalg::qr(x).Q", TALL),
        Sample::of("linalg::qr(x).R", TALL),
        Sample::of("linalg::qr(x).Q", WIDE),
        Sample::of("linalg::qr(x, \"complete\").R", WIDE),
    ]),
    OpDef::call(
        "eigh",
        Family::Matmul,
        "The eigenvalues of symmetric matrices in ascending order, and their vectors as columns.",
        &[A, UPLO],
        |a| {
            let (values, vectors) = decompose::eigh(a.tensor(0)?, a.str(1)?)?;
            Ok(Value::Map(vec![("eigenvalues", values.into()), ("eigenvectors", vectors.into())]))
        },
    )
    .forms(SPACE)
    .details(
        "A map of `eigenvalues` and `eigenvectors`. Only the lower triangle is read, or with \"U\" the upper one. The sign \
         of a vector is free; it is the one that LAPACK's iterations give.",
    )
    .example("linalg::eigh(tensor([[2.0, 1.0], [1.0, 2.0]])).eigenvalues", "tensor([1., 3.])")
    .gradient(Gradient::Vjp("LinalgEighBackward0"))
    .samples(&[
        Sample::of("linalg::eigh(x + x.mT).eigenvalues", SQUARE),
        Sample::of("linalg::eigh(x + x.mT).eigenvectors ** 2", SQUARE),
    ]),
    OpDef::call(
        "eigvalsh",
        Family::Matmul,
        "The eigenvalues of symmetric matrices in ascending order.",
        &[A, UPLO],
        |a| one(decompose::eigvalsh(a.tensor(0)?, a.str(1)?)),
    )
    .forms(SPACE)
    .example("linalg::eigvalsh(tensor([[2.0, 1.0], [1.0, 2.0]]))", "tensor([1., 3.])")
    .gradient(Gradient::Vjp("LinalgEighBackward0"))
    .samples(&[Sample::of("linalg::eigvalsh(x + x.mT)", SQUARE)]),
    OpDef::call(
        "svd",
        Family::Matmul,
        "Matrices as `U @ S.diag() @ Vh`: orthonormal vectors and singular values in descending order.",
        &[A, Param::optional("full_matrices", ParamKind::Bool, D::Bool(true))],
        |a| {
            let found = decompose::svd(a.tensor(0)?, a.bool(1)?)?;
            Ok(Value::Map(vec![("U", found.u.into()), ("S", found.s.into()), ("Vh", found.vh.into())]))
        },
    )
    .forms(SPACE)
    .details(
        "A map of `U`, `S` and `Vh`. `full_matrices` completes `U` and `Vh` to square matrices. The sign of a pair of \
         vectors is free; up to 25 values it is the one that LAPACK's iterations give.",
    )
    .example("linalg::svd(tensor([[3.0, 0.0], [0.0, 4.0]])).S", "tensor([4., 3.])")
    .gradient(Gradient::Vjp("LinalgSvdBackward0"))
    .samples(&[
        Sample::of("linalg::svd(x, false).S", TALL),
        Sample::of("linalg::svd(x, false).U ** 2", TALL),
        Sample::of("linalg::svd(x).Vh.narrow(0, 0, 3) ** 2", WIDE),
    ]),
    OpDef::call(
        "svdvals",
        Family::Matmul,
        "The singular values of matrices in descending order.",
        &[A],
        |a| one(decompose::svdvals(a.tensor(0)?)),
    )
    .forms(SPACE)
    .example("linalg::svdvals(tensor([[3.0, 0.0], [0.0, 4.0]]))", "tensor([4., 3.])")
    .gradient(Gradient::Vjp("LinalgSvdBackward0"))
    .samples(&[Sample::of("linalg::svdvals(x)", WIDE)]),
    OpDef::call(
        "pinv",
        Family::Matmul,
        "The matrices that undo others as far as one can (Moore and Penrose).",
        CUT,
        |a| one(decompose::pinv(a.tensor(0)?, cut(a)?)),
    )
    .forms(SPACE)
    .details(
        "Singular values up to `atol`, or `rtol` times the largest, count as 0; `rtol` is the dtype's eps times the larger \
         size where neither is given. `hermitian` takes the matrices as symmetric.",
    )
    .example("linalg::pinv(tensor([[2.0, 0.0], [0.0, 0.0]]))", "tensor([[0.5000, 0.0000],\n        [0.0000, 0.0000]])")
    .gradient(Gradient::Vjp("LinalgPinvBackward0"))
    .samples(&[Sample::of("linalg::pinv(x)", TALL), Sample::of("linalg::pinv(x)", WIDE)]),
    OpDef::call(
        "matrix_rank",
        Family::Matmul,
        "How many directions matrices keep: singular values above a bound.",
        CUT,
        |a| one(decompose::matrix_rank(a.tensor(0)?, cut(a)?)),
    )
    .forms(SPACE)
    .details("The bound is that of `linalg::pinv`.")
    .example("linalg::matrix_rank(tensor([[1.0, 2.0], [2.0, 4.0]]))", "tensor(1)")
    .gradient(COUNTED),
    OpDef::call(
        "lstsq",
        Family::Matmul,
        "The solutions of least squares: what a matrix brings nearest to another.",
        &[
            A,
            Param::required("B", ParamKind::Tensor),
            Param::optional("rcond", ParamKind::Float, D::None),
            Param::optional("driver", ParamKind::Str, D::Str("gelsy")),
        ],
        |a| {
            let fit = decompose::lstsq(a.tensor(0)?, a.tensor(1)?, a.optional_float(2), a.str(3)?)?;
            Ok(Value::Map(vec![
                ("solution", fit.solution.into()),
                ("residuals", fit.residuals.into()),
                ("rank", fit.rank.into()),
                ("singular_values", fit.singular_values.into()),
            ]))
        },
    )
    .forms(SPACE)
    .details(
        "A map of `solution`, `residuals`, `rank` and `singular_values`. What the `driver` does not find is empty: ranks \
         with \"gels\", residuals with \"gelsy\", singular values with both.",
    )
    .example(
        "linalg::lstsq(tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), tensor([[1.0], [3.0], [5.0]])).solution",
        "tensor([[1.0000],\n        [2.0000]])",
    )
    .gradient(Gradient::Vjp("LinalgPinvBackward0"))
    .samples(&[Sample::of("linalg::lstsq(x, b).solution", SYSTEM)]),
];

/// Rows that share a name with another.
pub static HOMONYMS: &[OpDef] = &[OpDef::call(
    "norm",
    Family::Reduce,
    "The norm of a vector or of matrices; without an order that of all elements.",
    &[
        A,
        Param::optional("ord", ParamKind::Any, D::None),
        Param::optional("dim", ParamKind::Ints, D::None),
        KEEPDIM,
    ],
    |a| {
        let order = match a.get(1) {
            Value::None => NormOrder::Usual,
            Value::Scalar(s) => NormOrder::Of(s.as_f64()),
            Value::Str(s) => NormOrder::Named(s.clone()),
            other => return Err(a.wrong(1, other)),
        };
        one(decompose::norm_of(a.tensor(0)?, order, a.optional_ints(2)?.as_deref(), a.bool(3)?))
    },
)
.forms(SPACE)
.details("Two dimensions hold matrices, of which orders are those of `linalg::matrix_norm`.")
.example("linalg::norm(tensor([[3.0, 0.0], [0.0, 4.0]]), \"nuc\")", "tensor(7.)")
.gradient(Gradient::Composite)
.samples(&[Sample::of("linalg::norm(x, 1)", WIDE), Sample::of("linalg::norm(x, 2)", WIDE)])];

fn cut(a: &Args) -> Result<Cut> {
    Ok(Cut { atol: a.optional_float(1), rtol: a.optional_float(2), hermitian: a.bool(3)? })
}

//! Triangles of matrices.

use crate::base::{Error, Result};
use crate::device::Kernel;
use crate::op::core::args::to_value;
use crate::op::core::def::{Domain, Draw, Family, Gradient, OpDef, Sample};
use crate::op::core::fill::replaced;
use crate::op::core::params::{by_name, kind, params};
use crate::op::core::record::{one, recorded};
use crate::tensor::autograd::Vjp;
use crate::tensor::{In, Tensor, launch};

/// The part of the last two dimensions on and below `diagonal`; zero elsewhere.
pub fn tril(x: &Tensor, diagonal: i64) -> Result<Tensor> {
    static RULE: Vjp =
        Vjp { name: "TrilBackward0", run: |s, g| one(triangle(g, false, *s.attribute()?, &RULE)?) };
    triangle(x, false, diagonal, &RULE)
}

/// The part of the last two dimensions on and above `diagonal`; zero elsewhere.
pub fn triu(x: &Tensor, diagonal: i64) -> Result<Tensor> {
    static RULE: Vjp =
        Vjp { name: "TriuBackward0", run: |s, g| one(triangle(g, true, *s.attribute()?, &RULE)?) };
    triangle(x, true, diagonal, &RULE)
}

fn triangle(x: &Tensor, upper: bool, diagonal: i64, rule: &'static Vjp) -> Result<Tensor> {
    if x.rank() < 2 {
        let name = if upper { "triu" } else { "tril" };
        return Err(Error::runtime(format!("{name}: input tensor must have at least 2 dimensions")));
    }
    let name = if upper { "triu" } else { "tril" };
    let out = Tensor::empty(x.shape(), x.dtype(), &x.context(), name)?;
    launch(name, &Kernel::Triangle { upper, diagonal }, &[In::Tensor(x)], &[&out])?;
    Ok(recorded(out, rule, &[x], |s, _| s.attribute(diagonal)))
}

const M: &[Draw] = &[Draw::of("x", &[3, 4], Domain::Any)];

params! {
    DiagonalParams {
        input: kind::Tensor, "the tensor it is computed of";
        diagonal: kind::Int = 0, "which diagonal: 0 the main one, above it positive, below it negative";
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "tril",
        Family::Movement,
        "The lower triangle; the rest is zero.",
        DiagonalParams::LIST,
        by_name!(DiagonalParams, |a| to_value(tril(a.input, a.diagonal))),
    )
    .in_place(by_name!(DiagonalParams, |a| to_value(replaced(a.input, |x| tril(x, a.diagonal)))))
    .shapes("(…, n, m) -> (…, n, m)")
    .errors(&["RuntimeError: the input has fewer than two dimensions"])
    .example("ones([2, 2]).tril()", "tensor([[1., 0.],\n        [1., 1.]])")
    .gradient(Gradient::Vjp("TrilBackward0"))
    .samples(&[Sample::of("x.tril()", M)]),
    OpDef::call(
        "triu",
        Family::Movement,
        "The upper triangle; the rest is zero.",
        DiagonalParams::LIST,
        by_name!(DiagonalParams, |a| to_value(triu(a.input, a.diagonal))),
    )
    .in_place(by_name!(DiagonalParams, |a| to_value(replaced(a.input, |x| triu(x, a.diagonal)))))
    .shapes("(…, n, m) -> (…, n, m)")
    .errors(&["RuntimeError: the input has fewer than two dimensions"])
    .example("ones([2, 2]).triu()", "tensor([[1., 1.],\n        [0., 1.]])")
    .gradient(Gradient::Vjp("TriuBackward0"))
    .samples(&[Sample::of("x.triu(1)", M)]),
];

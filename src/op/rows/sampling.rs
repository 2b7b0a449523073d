//! Rows of draws beside uniform and normal ones.

use crate::base::Result;
use crate::op::args::{Args, Value};
use crate::op::def::DefaultValue as D;
use crate::op::def::{Family, Gradient, METHOD, OpDef, Param, ParamKind, SELF};
use crate::op::draw::{GENERATOR, drawing};
use crate::op::sampling;
use crate::tensor::Tensor;

const DRAWN: Gradient = Gradient::NoGrad("the result is drawn at random");

pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "multinomial",
        Family::Random,
        "Places drawn in proportion to weights, for each row.",
        &[
            SELF,
            Param::required("num_samples", ParamKind::Int),
            Param::optional("replacement", ParamKind::Bool, D::Bool(false)),
            GENERATOR,
        ],
        |a| from(a, 3, |x| sampling::multinomial(x, a.int(1)?, a.bool(2)?)),
    )
    .example("tensor([0.0, 3.0, 0.0]).multinomial(1)", "tensor([1])")
    .gradient(DRAWN),
    OpDef::call(
        "poisson",
        Family::Random,
        "Poisson numbers, each with its own mean.",
        &[SELF, GENERATOR],
        |a| from(a, 1, sampling::poisson),
    )
    .example("poisson(zeros(3))", "tensor([0., 0., 0.])")
    .gradient(DRAWN),
    OpDef::call(
        "exponential_",
        Family::Random,
        "Overwrites a tensor with waiting times of a rate.",
        &[SELF, Param::optional("lambd", ParamKind::Float, D::Float(1.0)), GENERATOR],
        |a| from(a, 2, |x| sampling::exponential_(x, a.float(1)?)),
    )
    .forms(METHOD)
    .example("(zeros(100).exponential_() >= 0).all()", "tensor(True)")
    .gradient(DRAWN),
    OpDef::call(
        "log_normal_",
        Family::Random,
        "Overwrites a tensor with `exp` of normal numbers.",
        &[
            SELF,
            Param::optional("mean", ParamKind::Float, D::Float(1.0)),
            Param::optional("std", ParamKind::Float, D::Float(2.0)),
            GENERATOR,
        ],
        |a| from(a, 3, |x| sampling::log_normal_(x, a.float(1)?, a.float(2)?)),
    )
    .forms(METHOD)
    .example("(zeros(100).log_normal_() > 0).all()", "tensor(True)")
    .gradient(DRAWN),
    OpDef::call(
        "cauchy_",
        Family::Random,
        "Overwrites a tensor with numbers of Cauchy's distribution.",
        &[
            SELF,
            Param::optional("median", ParamKind::Float, D::Float(0.0)),
            Param::optional("sigma", ParamKind::Float, D::Float(1.0)),
            GENERATOR,
        ],
        |a| from(a, 3, |x| sampling::cauchy_(x, a.float(1)?, a.float(2)?)),
    )
    .forms(METHOD)
    .example("zeros(2).cauchy_().shape", "[2]")
    .gradient(DRAWN),
    OpDef::call(
        "geometric_",
        Family::Random,
        "Overwrites a tensor with the number of trials up to the first success.",
        &[SELF, Param::required("p", ParamKind::Float), GENERATOR],
        |a| from(a, 2, |x| sampling::geometric_(x, a.float(1)?)),
    )
    .forms(METHOD)
    .example("(zeros(100).geometric_(0.5) >= 1).all()", "tensor(True)")
    .gradient(DRAWN),
    OpDef::call(
        "random_",
        Family::Random,
        "Overwrites a tensor with whole numbers from `from` up to, but not including, `to`.",
        &[
            SELF,
            Param::optional("from", ParamKind::Int, D::Int(0)),
            Param::optional("to", ParamKind::Int, D::None),
            GENERATOR,
        ],
        |a| {
            from(a, 3, |x| match (a.int(1)?, a.optional_int(2)) {
                (to, None) if to > 0 => sampling::random_(x, 0, Some(to)),
                (from, to) => sampling::random_(x, from, to),
            })
        },
    )
    .forms(METHOD)
    .details("A single number is `to`.")
    .example("zeros(2).random_(3, 4)", "tensor([3., 3.])")
    .gradient(DRAWN),
];

/// A draw for the first argument, from the generator that argument `i` names.
fn from(a: &Args, i: usize, draw: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Value> {
    let x = a.tensor(0)?;
    drawing(a, i, x.device(), || draw(x)).map(Value::Tensor)
}

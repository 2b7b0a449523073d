//! Rows that draw random numbers.

use crate::base::{Error, Result, Scalar};
use crate::device::Machine;
use crate::op::args::{Args, Value};
use crate::op::create::{DEVICE, Make, PIN_MEMORY, REQUIRES_GRAD, empty_like};
use crate::op::def::{
    DTYPE, DefaultValue, FUNCTION, Family, Gradient, METHOD, OpDef, Operand, Param, ParamKind, SELF,
};
use crate::op::draw::{GENERATOR, drawing, making};
use crate::op::random::{
    bernoulli, bernoulli_, bernoulli_each_, normal, normal_, rand, rand_like, randint, randint_like, randn,
    randn_like, randperm, uniform_,
};
use crate::op::sampling::normal_of;

const SIZE: Param = Param::required("size", ParamKind::Sizes);
const FROM_SIZE: &[Param] = &[SIZE, DTYPE, DEVICE, REQUIRES_GRAD, PIN_MEMORY, GENERATOR];
const FROM_TENSOR: &[Param] = &[SELF, DTYPE, DEVICE, REQUIRES_GRAD, PIN_MEMORY];
const DRAWN: Gradient = Gradient::NoGrad("the result is drawn at random");

/// Draws from the generators, and their seed.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "manual_seed",
        Family::Random,
        "Seeds the generators of all devices: the same seed gives the same numbers.",
        &[Param::required("seed", ParamKind::Int)],
        |a| {
            Machine::current().manual_seed(a.int(0)? as u64);
            Ok(Value::None)
        },
    )
    .forms(FUNCTION)
    .example("manual_seed(0); rand([2])", "tensor([0.4963, 0.7682])")
    .gradient(DRAWN),
    OpDef::call("rand", Family::Random, "Numbers between 0 and 1, all equally likely.", FROM_SIZE, |a| {
        let make = Make::from_args(a, 1)?;
        making(a, 5, &make, || rand(&a.ints(0)?, &make)).map(Into::into)
    })
    .forms(FUNCTION)
    .details("With `#{generator: g}` they come from a `Generator` of one's own; so do all draws that take one.")
    .example("manual_seed(0); rand([3])", "tensor([0.4963, 0.7682, 0.0885])")
    .gradient(DRAWN),
    OpDef::call("randn", Family::Random, "Numbers of the standard normal distribution.", FROM_SIZE, |a| {
        let make = Make::from_args(a, 1)?;
        making(a, 5, &make, || randn(&a.ints(0)?, &make)).map(Into::into)
    })
    .forms(FUNCTION)
    .example("manual_seed(0); randn([3])", "tensor([ 1.5410, -0.2934, -2.1788])")
    .gradient(DRAWN),
    OpDef::call(
        "randint",
        Family::Random,
        "Integers from `low` up to, but not including, `high`.",
        &[
            Param::required("low", ParamKind::Int),
            Param::required("high", ParamKind::Any),
            Param::optional("size", ParamKind::Ints, DefaultValue::None),
            DTYPE,
            DEVICE,
            REQUIRES_GRAD,
            PIN_MEMORY,
            GENERATOR,
        ],
        randint_row,
    )
    .forms(FUNCTION)
    .details("`randint(high, size)` starts at 0.")
    .example("manual_seed(42); randint(0, 10, [8])", "tensor([2, 7, 6, 4, 6, 5, 0, 4])")
    .gradient(DRAWN),
    OpDef::call(
        "randperm",
        Family::Random,
        "The numbers from 0 to `n - 1` in random order.",
        &[Param::required("n", ParamKind::Int), DTYPE, DEVICE, REQUIRES_GRAD, PIN_MEMORY, GENERATOR],
        |a| {
            let make = Make::from_args(a, 1)?;
            making(a, 5, &make, || randperm(a.int(0)?, &make)).map(Into::into)
        },
    )
    .forms(FUNCTION)
    .example("manual_seed(0); randperm(10)", "tensor([4, 1, 7, 5, 3, 9, 0, 8, 6, 2])")
    .gradient(DRAWN),
    OpDef::call(
        "normal",
        Family::Random,
        "Numbers of a normal distribution with a mean and a standard deviation.",
        &[
            Param::required("mean", ParamKind::Operand),
            Param::optional("std", ParamKind::Operand, DefaultValue::Float(1.0)),
            Param::optional("size", ParamKind::Ints, DefaultValue::None),
            DTYPE,
            DEVICE,
            REQUIRES_GRAD,
            PIN_MEMORY,
            GENERATOR,
        ],
        normal_row,
    )
    .forms(FUNCTION)
    .details(
        "With a size both are numbers. Else one of them is a tensor, or both are: then each element has its own, and the \
         result is of the dtype and device of the mean, or of the deviation.",
    )
    .example("normal(5.0, 0.0, [2])", "tensor([5., 5.])")
    .gradient(DRAWN),
    OpDef::call(
        "rand_like",
        Family::Random,
        "`rand` in the shape, dtype and device of a tensor.",
        FROM_TENSOR,
        |a| Ok(rand_like(a.tensor(0)?, &Make::from_args(a, 1)?)?.into()),
    )
    .forms(FUNCTION)
    .example("manual_seed(0); rand_like(zeros([2]))", "tensor([0.4963, 0.7682])")
    .gradient(DRAWN),
    OpDef::call(
        "randn_like",
        Family::Random,
        "`randn` in the shape, dtype and device of a tensor.",
        FROM_TENSOR,
        |a| Ok(randn_like(a.tensor(0)?, &Make::from_args(a, 1)?)?.into()),
    )
    .forms(FUNCTION)
    .example("manual_seed(0); randn_like(zeros([2]))", "tensor([ 1.5410, -0.2934])")
    .gradient(DRAWN),
    OpDef::call(
        "randint_like",
        Family::Random,
        "`randint` in the shape, dtype and device of a tensor.",
        &[
            SELF,
            Param::required("low", ParamKind::Int),
            Param::optional("high", ParamKind::Int, DefaultValue::None),
            DTYPE,
            DEVICE,
            REQUIRES_GRAD,
            PIN_MEMORY,
        ],
        |a| {
            let (low, high) = match a.optional_int(2) {
                Some(high) => (a.int(1)?, high),
                None => (0, a.int(1)?),
            };
            Ok(randint_like(a.tensor(0)?, low, high, &Make::from_args(a, 3)?)?.into())
        },
    )
    .forms(FUNCTION)
    .example("randint_like(zeros([2]), 1)", "tensor([0., 0.])")
    .gradient(DRAWN),
    OpDef::call(
        "bernoulli",
        Family::Random,
        "1 with the probability that each element says, else 0.",
        &[SELF, Param::optional("p", ParamKind::Float, DefaultValue::None), GENERATOR],
        |a| {
            let x = a.tensor(0)?;
            drawing(a, 2, x.device(), || match a.optional_float(1) {
                Some(p) => bernoulli_(&empty_like(x, &Make::default())?, p),
                None => bernoulli(x),
            })
            .map(Into::into)
        },
    )
    .details("With `p` all have the same probability, and the tensor lends shape, dtype and device alone.")
    .example("tensor([0.0, 1.0]).bernoulli()", "tensor([0., 1.])")
    .gradient(DRAWN),
    OpDef::call(
        "uniform_",
        Family::Random,
        "Overwrites a tensor with numbers between two bounds, all equally likely.",
        &[
            SELF,
            Param::optional("from", ParamKind::Float, DefaultValue::Float(0.0)),
            Param::optional("to", ParamKind::Float, DefaultValue::Float(1.0)),
            GENERATOR,
        ],
        |a| {
            let x = a.tensor(0)?;
            drawing(a, 3, x.device(), || uniform_(x, a.float(1)?, a.float(2)?)).map(Into::into)
        },
    )
    .forms(METHOD)
    .example("manual_seed(0); zeros([2]).uniform_()", "tensor([0.4963, 0.7682])")
    .gradient(DRAWN),
    OpDef::call(
        "normal_",
        Family::Random,
        "Overwrites a tensor with numbers of a normal distribution.",
        &[
            SELF,
            Param::optional("mean", ParamKind::Float, DefaultValue::Float(0.0)),
            Param::optional("std", ParamKind::Float, DefaultValue::Float(1.0)),
            GENERATOR,
        ],
        |a| {
            let x = a.tensor(0)?;
            drawing(a, 3, x.device(), || normal_(x, a.float(1)?, a.float(2)?)).map(Into::into)
        },
    )
    .forms(METHOD)
    .example("manual_seed(0); zeros([2]).normal_()", "tensor([ 1.5410, -0.2934])")
    .gradient(DRAWN),
    OpDef::call(
        "bernoulli_",
        Family::Random,
        "Overwrites a tensor with 1 with probability `p`, a number or a tensor, else 0.",
        &[SELF, Param::optional("p", ParamKind::Operand, DefaultValue::Float(0.5)), GENERATOR],
        |a| {
            let x = a.tensor(0)?;
            drawing(a, 2, x.device(), || match a.operand(1)? {
                Operand::Scalar(p) => bernoulli_(x, p.as_f64()),
                Operand::Tensor(p) => bernoulli_each_(x, p),
            })
            .map(Into::into)
        },
    )
    .forms(METHOD)
    .example("zeros([2]).bernoulli_(1.0)", "tensor([1., 1.])")
    .gradient(DRAWN),
];

fn randint_row(a: &Args) -> Result<Value> {
    let make = Make::from_args(a, 3)?;
    let (low, high, size) = match (a.get(1), a.is_none(2)) {
        (Value::Scalar(Scalar::Int(high)), false) => (a.int(0)?, *high, a.ints(2)?),
        (Value::List(_), true) => (0, a.int(0)?, a.ints(1)?),
        _ => {
            let text = "randint() takes `low`, `high` and a size, or `high` and a size";
            return Err(
                Error::type_error(text).with_hint("such as `randint(0, 10, [3])` or `randint(10, [3])`")
            );
        }
    };
    making(a, 7, &make, || randint(low, high, &size, &make)).map(Into::into)
}

fn normal_row(a: &Args) -> Result<Value> {
    let (mean, std) = (a.operand(0)?, a.operand(1)?);
    let model = match (mean, std) {
        (Operand::Tensor(t), _) | (_, Operand::Tensor(t)) => Some(t),
        (Operand::Scalar(mean), Operand::Scalar(std)) if !a.is_none(2) => {
            let make = Make::from_args(a, 3)?;
            let drawn = || normal(mean.as_f64(), std.as_f64(), &a.ints(2)?, &make);
            return making(a, 7, &make, drawn).map(Into::into);
        }
        _ => None,
    };
    match model.filter(|_| a.is_none(2)) {
        Some(model) => drawing(a, 7, model.device(), || normal_of(model, mean, std)).map(Into::into),
        None => {
            let text =
                "normal() takes two numbers and a size, or a tensor for the mean, the deviation, or both";
            let hint = "such as `normal(0.0, 1.0, [3])` or `normal(zeros(3), 1.0)`";
            Err(Error::type_error(text).with_hint(hint))
        }
    }
}

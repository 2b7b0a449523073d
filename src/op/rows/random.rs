//! Rows that draw random numbers.

use crate::base::{Error, Result, Scalar};
use crate::device::Machine;
use crate::op::args::{Args, Value};
use crate::op::create::{DEVICE, Make, PIN_MEMORY, REQUIRES_GRAD};
use crate::op::def::{DTYPE, Default, FUNCTION, Family, Gradient, METHOD, OpDef, Param, ParamKind, SELF};
use crate::op::random::{
    bernoulli, bernoulli_, normal, normal_, rand, rand_like, randint, randint_like, randn, randn_like,
    randperm, uniform_,
};

const SIZE: Param = Param::required("size", ParamKind::Sizes);
const FROM_SIZE: &[Param] = &[SIZE, DTYPE, DEVICE, REQUIRES_GRAD, PIN_MEMORY];
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
        Ok(rand(&a.ints(0)?, &Make::from_args(a, 1)?)?.into())
    })
    .forms(FUNCTION)
    .example("manual_seed(0); rand([3])", "tensor([0.4963, 0.7682, 0.0885])")
    .gradient(DRAWN),
    OpDef::call("randn", Family::Random, "Numbers of the standard normal distribution.", FROM_SIZE, |a| {
        Ok(randn(&a.ints(0)?, &Make::from_args(a, 1)?)?.into())
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
            Param::optional("size", ParamKind::Ints, Default::None),
            DTYPE,
            DEVICE,
            REQUIRES_GRAD,
            PIN_MEMORY,
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
        &[Param::required("n", ParamKind::Int), DTYPE, DEVICE, REQUIRES_GRAD, PIN_MEMORY],
        |a| Ok(randperm(a.int(0)?, &Make::from_args(a, 1)?)?.into()),
    )
    .forms(FUNCTION)
    .example("manual_seed(0); randperm(10)", "tensor([4, 1, 7, 5, 3, 9, 0, 8, 6, 2])")
    .gradient(DRAWN),
    OpDef::call(
        "normal",
        Family::Random,
        "Numbers of a normal distribution with a mean and a standard deviation.",
        &[
            Param::required("mean", ParamKind::Float),
            Param::required("std", ParamKind::Float),
            Param::required("size", ParamKind::Ints),
            DTYPE,
            DEVICE,
            REQUIRES_GRAD,
            PIN_MEMORY,
        ],
        |a| Ok(normal(a.float(0)?, a.float(1)?, &a.ints(2)?, &Make::from_args(a, 3)?)?.into()),
    )
    .forms(FUNCTION)
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
            Param::optional("high", ParamKind::Int, Default::None),
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
        &[SELF],
        |a| Ok(bernoulli(a.tensor(0)?)?.into()),
    )
    .example("tensor([0.0, 1.0]).bernoulli()", "tensor([0., 1.])")
    .gradient(DRAWN),
    OpDef::call(
        "uniform_",
        Family::Random,
        "Overwrites a tensor with numbers between two bounds, all equally likely.",
        &[
            SELF,
            Param::optional("from", ParamKind::Float, Default::Float(0.0)),
            Param::optional("to", ParamKind::Float, Default::Float(1.0)),
        ],
        |a| Ok(uniform_(a.tensor(0)?, a.float(1)?, a.float(2)?)?.into()),
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
            Param::optional("mean", ParamKind::Float, Default::Float(0.0)),
            Param::optional("std", ParamKind::Float, Default::Float(1.0)),
        ],
        |a| Ok(normal_(a.tensor(0)?, a.float(1)?, a.float(2)?)?.into()),
    )
    .forms(METHOD)
    .example("manual_seed(0); zeros([2]).normal_()", "tensor([ 1.5410, -0.2934])")
    .gradient(DRAWN),
    OpDef::call(
        "bernoulli_",
        Family::Random,
        "Overwrites a tensor with 1 with probability `p`, else 0.",
        &[SELF, Param::optional("p", ParamKind::Float, Default::Float(0.5))],
        |a| Ok(bernoulli_(a.tensor(0)?, a.float(1)?)?.into()),
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
    Ok(randint(low, high, &size, &make)?.into())
}

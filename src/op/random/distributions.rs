//! Draws of other distributions, made of uniform and normal ones.

use crate::base::{DType, Error, Result};
use crate::device::kernel::{Distribution, naturals};
use crate::op::core::convert::to_dtype;
use crate::op::core::def::{Family, Gradient, METHOD, OpDef};
use crate::op::core::operand::Operand;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::promote::only_floats;
use crate::op::core::record::{beside, in_place, no_grad, one};
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::elementwise::arithmetic::{add, div, mul};
use crate::op::elementwise::clamp::clamp;
use crate::op::elementwise::comparison::lt;
use crate::op::index::search::search_by;
use crate::op::reduce::scan::cumsum;
use crate::op::reduce::sums::{max_all, min_all, sum};
use crate::op::shape::view::unsqueeze;
use crate::op::sorting::extremum::argmax;
use crate::op::sorting::sort::topk;
use crate::tensor::Tensor;
use crate::tensor::autograd::Vjp;

use super::generator::{Drawing, draw_from, draw_into, drawing, drawn};

/// Overwrites `x` with waiting times of rate `rate`.
pub fn exponential_(x: &Tensor, rate: f64) -> Result<Tensor> {
    if rate.is_nan() || rate <= 0.0 {
        return Err(Error::runtime(format!("exponential_ expects lambda > 0.0, but found lambda={rate}")));
    }
    only_floats(x.dtype(), "exponential_kernel_cpu")?;
    overwritten(x, Distribution::Exponential { rate }, "exponential_")
}

/// Overwrites `x` with `exp` of normal numbers.
pub fn log_normal_(x: &Tensor, mean: f64, std: f64) -> Result<Tensor> {
    if std.is_nan() || std <= 0.0 {
        return Err(Error::runtime(format!("log_normal_ expects std > 0.0, but found std={std}")));
    }
    only_floats(x.dtype(), "log_normal_kernel_cpu")?;
    overwritten(x, Distribution::LogNormal { mean, std }, "log_normal_")
}

/// Overwrites `x` with numbers of Cauchy's distribution.
pub fn cauchy_(x: &Tensor, median: f64, sigma: f64) -> Result<Tensor> {
    if sigma.is_nan() || sigma <= 0.0 {
        return Err(Error::runtime(format!("cauchy_ expects sigma > 0.0, but found sigma={sigma}")));
    }
    only_floats(x.dtype(), "cauchy_kernel_cpu")?;
    overwritten(x, Distribution::Cauchy { median, sigma }, "cauchy_")
}

/// Overwrites `x` with the number of trials up to the first success.
pub fn geometric_(x: &Tensor, p: f64) -> Result<Tensor> {
    if !(p > 0.0 && p < 1.0) {
        return Err(Error::runtime(format!("geometric_ expects p to be in (0, 1), but got p={p}")));
    }
    overwritten(x, Distribution::Geometric { p }, "geometric_")
}

/// Overwrites `x` with whole numbers from `from` up to, but not including, `to`.
pub fn random_(x: &Tensor, from: i64, to: Option<i64>) -> Result<Tensor> {
    let Some(to) = to.or_else(|| (from != 0).then(|| last(x.dtype()))) else {
        return overwritten(x, Distribution::Natural, "random_");
    };
    if from >= to {
        let text = format!("random_ expects 'from' to be less than 'to', but got from={from} >= to={to}");
        return Err(Error::runtime(text));
    }
    overwritten(x, Distribution::Integers { low: from, high: to }, "random_")
}

/// One more than the largest integer that `random_` draws.
fn last(dtype: DType) -> i64 {
    i64::try_from(naturals(dtype)).unwrap_or(i64::MAX)
}

fn overwritten(x: &Tensor, what: Distribution, name: &'static str) -> Result<Tensor> {
    in_place(x, &[], &OVERWRITTEN, |_| (), || draw_into(x, what, name))
}

/// `count` places of each row of weights, drawn in proportion to them.
///
/// Without replacement the places are those with the largest weight over an exponential draw (Efraimidis and
/// Spirakis, 2006).
pub fn multinomial(x: &Tensor, count: i64, replacement: bool) -> Result<Tensor> {
    only_floats(x.dtype(), "multinomial")?;
    if !(1..=2).contains(&x.rank()) {
        return Err(Error::runtime("prob_dist must be 1 or 2 dim"));
    }
    let _off = no_grad();
    let x = x.detach();
    let classes = x.size(-1)? as i64;
    if count <= 0 {
        return Err(Error::runtime("cannot sample n_sample <= 0 samples"));
    }
    if !replacement && count > classes {
        return Err(Error::runtime(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
        )
        .with_hint(format!("there are {classes} classes; `#{{replacement: true}}` draws each time anew")));
    }
    if x.numel() > 0 && x.has_values() {
        let (low, high) = (min_all(&x)?.item()?.as_f64(), max_all(&x)?.item()?.as_f64());
        if !(low >= 0.0 && high < f64::INFINITY) {
            return Err(Error::runtime("probability tensor contains either `inf`, `nan` or element < 0"));
        }
        let least = min_all(&sum(&x, Some(&[-1]), false)?)?;
        if least.item()?.as_f64() <= 0.0 {
            return Err(Error::runtime("invalid multinomial distribution (sum of probabilities <= 0)"));
        }
    }
    if !replacement || count == 1 {
        let waits = exponential_(&Tensor::empty(x.shape(), x.dtype(), &x.context(), "multinomial")?, 1.0)?;
        let keys = div(&x, &waits)?;
        if count == 1 {
            return argmax(&keys, Some(-1), true);
        }
        return topk(&keys, count, -1, true).map(|(_, places)| places);
    }
    // The place of a uniform number among the running sums.
    let sums = cumsum(&to_dtype(&x, DType::Float64)?, -1, None)?;
    let total = crate::op::shape::part::narrow(&sums, -1, classes - 1, 1)?;
    let sums = div(&sums, &total)?;
    let mut shape: Vec<usize> = x.shape().to_vec();
    if let Some(last) = shape.last_mut() {
        *last = count as usize;
    }
    let rows = Distribution::Rows { width: count as u64, dtype: x.dtype() };
    let u = drawn(&shape, DType::Float64, &x.context(), rows, "multinomial")?;
    let places = if (x.numel() as i64).saturating_mul(count) <= COUNTED {
        sum(&lt(&unsqueeze(&sums, -2)?, &unsqueeze(&u, -1)?)?, Some(&[-1]), false)?
    } else {
        search_by("multinomial", &sums, &u, classes as usize, |sum, u| lt(sum, u))?
    };
    clamp(&places, None, Some((classes - 1).into()))
}

/// For as many pairs of sums and draws, of all rows, to compare them all takes fewer launches than a search, and no longer.
const COUNTED: i64 = 1 << 18;

/// Poisson numbers with the means in `x`.
pub fn poisson(x: &Tensor) -> Result<Tensor> {
    only_floats(x.dtype(), "poisson_cpu")?;
    let _off = no_grad();
    let rate = x.detach();
    if x.numel() == 0 {
        return rate.copied(x.dtype(), "poisson");
    }
    if min_all(&rate)?.item()?.as_f64() < 0.0 {
        return Err(Error::runtime("invalid Poisson rate, expected rate to be non-negative"));
    }
    let out = Tensor::empty(x.shape(), x.dtype(), &x.context(), "poisson")?;
    draw_from(&out, Distribution::Poisson, &[&rate], "poisson")?;
    Ok(out)
}

/// Normal numbers, each with its own mean or deviation, of the dtype of `model`.
pub(crate) fn normal_of(model: &Tensor, mean: Operand, std: Operand) -> Result<Tensor> {
    only_floats(model.dtype(), "normal_kernel_cpu")?;
    let drawn = drawn_of(model, mean, std)?;
    let parts =
        [mean, std].into_iter().filter_map(|part| if let Operand::Tensor(t) = part { Some(t) } else { None });
    Ok(parts.fold(drawn, beside))
}

fn drawn_of(model: &Tensor, mean: Operand, std: Operand) -> Result<Tensor> {
    let _off = no_grad();
    let negative = match std {
        Operand::Scalar(std) if std.as_f64() < 0.0 => {
            return Err(Error::runtime(format!("normal expects std >= 0.0, but found std {}", std.as_f64())));
        }
        Operand::Scalar(_) => false,
        Operand::Tensor(t) => t.numel() > 0 && min_all(t)?.item()?.as_f64() < 0.0,
    };
    if negative {
        return Err(Error::runtime("normal expects all elements of std >= 0.0"));
    }
    let shape = match (mean, std) {
        (Operand::Tensor(a), Operand::Tensor(b)) => crate::base::shape::broadcast(a.shape(), b.shape())?,
        _ => model.shape().into(),
    };
    let unit = Distribution::Normal { mean: 0.0, std: 1.0 };
    let noise = drawn(&shape, model.dtype(), &model.context(), unit, "normal")?;
    to_dtype(&add(&mul(&noise, std)?, mean)?, model.dtype())
}

static OVERWRITTEN: Vjp = Vjp {
    name: "RandomBackward0",
    run: |_, g| one(Tensor::full(g.shape(), 0i64.into(), g.dtype(), &g.context(), "zeros_like")?),
};

const DRAWN: Gradient = Gradient::NoGrad("the result is drawn at random");

params! {
    MultinomialParams {
        input: kind::Tensor, "the weights: how likely each place is";
        num_samples: kind::Int, "how many places are drawn from each row";
        replacement: kind::Bool = false, "whether a place may be drawn more than once";
        ..source: Drawing;
    }
}

params! {
    PoissonParams {
        input: kind::Tensor, "the mean of each number";
        ..source: Drawing;
    }
}

params! {
    ExponentialParams {
        input: kind::Tensor, "the tensor that is overwritten";
        lambd: kind::Float = 1.0, "how many events there are in a unit of time";
        ..source: Drawing;
    }
}

params! {
    LogNormalParams {
        input: kind::Tensor, "the tensor that is overwritten";
        mean: kind::Float = 1.0, "the mean of the normal numbers";
        std: kind::Float = 2.0, "the standard deviation of the normal numbers";
        ..source: Drawing;
    }
}

params! {
    CauchyParams {
        input: kind::Tensor, "the tensor that is overwritten";
        median: kind::Float = 0.0, "the middle of the distribution";
        sigma: kind::Float = 1.0, "how wide the distribution is";
        ..source: Drawing;
    }
}

params! {
    GeometricParams {
        input: kind::Tensor, "the tensor that is overwritten";
        p: kind::Float, "how likely each trial succeeds";
        ..source: Drawing;
    }
}

params! {
    RandomParams {
        input: kind::Tensor, "the tensor that is overwritten";
        from: kind::Int = 0, "the smallest number; the end where it is the only one";
        to: Maybe<kind::Int>, "the number that is no longer drawn";
        ..source: Drawing;
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "multinomial",
        Family::Random,
        "Places drawn in proportion to weights, for each row.",
        MultinomialParams::LIST,
        by_name!(MultinomialParams, |a| from(&a.source, a.input, |x| multinomial(
            x,
            a.num_samples,
            a.replacement
        ))),
    )
    .shapes("(n) -> (num_samples); (rows, n) -> (rows, num_samples)")
    .errors(&[
        "RuntimeError: more are drawn than there are, without `replacement`",
        "RuntimeError: all weights of a row are 0",
        shapes::NO_FLOAT,
    ])
    .example("tensor([0.0, 3.0, 0.0]).multinomial(1)", "tensor([1])")
    .gradient(DRAWN),
    OpDef::call(
        "poisson",
        Family::Random,
        "Poisson numbers, each with its own mean.",
        PoissonParams::LIST,
        by_name!(PoissonParams, |a| from(&a.source, a.input, poisson)),
    )
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: a rate is negative", shapes::NO_FLOAT])
    .example("poisson(zeros(3))", "tensor([0., 0., 0.])")
    .gradient(DRAWN),
    OpDef::call(
        "exponential_",
        Family::Random,
        "Overwrites a tensor with waiting times of a rate.",
        ExponentialParams::LIST,
        by_name!(ExponentialParams, |a| from(&a.source, a.input, |x| exponential_(x, a.lambd))),
    )
    .forms(METHOD)
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: `lambd` is not above 0", shapes::NO_FLOAT])
    .example("(zeros(100).exponential_() >= 0).all()", "tensor(True)")
    .gradient(DRAWN),
    OpDef::call(
        "log_normal_",
        Family::Random,
        "Overwrites a tensor with `exp` of normal numbers.",
        LogNormalParams::LIST,
        by_name!(LogNormalParams, |a| from(&a.source, a.input, |x| log_normal_(x, a.mean, a.std))),
    )
    .forms(METHOD)
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: `std` is not above 0", shapes::NO_FLOAT])
    .example("(zeros(100).log_normal_() > 0).all()", "tensor(True)")
    .gradient(DRAWN),
    OpDef::call(
        "cauchy_",
        Family::Random,
        "Overwrites a tensor with numbers of Cauchy's distribution.",
        CauchyParams::LIST,
        by_name!(CauchyParams, |a| from(&a.source, a.input, |x| cauchy_(x, a.median, a.sigma))),
    )
    .forms(METHOD)
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: `sigma` is not above 0", shapes::NO_FLOAT])
    .example("zeros(2).cauchy_().shape", "[2]")
    .gradient(DRAWN),
    OpDef::call(
        "geometric_",
        Family::Random,
        "Overwrites a tensor with the number of trials up to the first success.",
        GeometricParams::LIST,
        by_name!(GeometricParams, |a| from(&a.source, a.input, |x| geometric_(x, a.p))),
    )
    .forms(METHOD)
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: `p` is not between 0 and 1"])
    .example("(zeros(100).geometric_(0.5) >= 1).all()", "tensor(True)")
    .gradient(DRAWN),
    OpDef::call(
        "random_",
        Family::Random,
        "Overwrites a tensor with whole numbers from `from` up to, but not including, `to`.",
        RandomParams::LIST,
        by_name!(RandomParams, |a| from(&a.source, a.input, |x| match (a.from, a.to) {
            (to, None) if to > 0 => random_(x, 0, Some(to)),
            (from, to) => random_(x, from, to),
        })),
    )
    .forms(METHOD)
    .details("A single number is `to`.")
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: `from` is not below `to`"])
    .example("zeros(2).random_(3, 4)", "tensor([3., 3.])")
    .gradient(DRAWN),
];

/// A draw for a tensor.
fn from(source: &Drawing, x: &Tensor, draw: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Value> {
    drawing(source, x.device(), || draw(x)).map(Value::Tensor)
}

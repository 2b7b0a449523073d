//! Random numbers: the CPU draws what PyTorch's generator draws for the same seed.

use crate::base::shape::checked_sizes;
use crate::base::{DType, Error, Kind, Result, Scalar, memory};
use crate::device::Machine;
use crate::device::kernel::Distribution;
use crate::op::core::def::{Args, DefaultValue, FUNCTION, Family, Gradient, METHOD, OpDef};
use crate::op::core::operand::Operand;
use crate::op::core::params::{Maybe, by_name, kind, params};
use crate::op::core::promote::{DEFAULT_FLOAT, only_floats};
use crate::op::core::record::{in_place, no_grad, one, recorded};
use crate::op::core::shapes;
use crate::op::core::value::Value;
use crate::op::create::filled::{LikeOptions, Make, MakeParams, empty_like};
use crate::op::reduce::sums::{max_all, min_all};
use crate::tensor::Tensor;
use crate::tensor::autograd::Vjp;

use super::distributions::normal_of;
use super::generator::{Drawing, draw_from, draw_into, drawing, drawn, making};

/// Numbers between 0 and 1, all equally likely.
pub fn rand(shape: &[i64], make: &Make) -> Result<Tensor> {
    made("rand", &checked_sizes(shape)?, DEFAULT_FLOAT, UNIT, make)
}

/// Numbers of the normal distribution with mean 0 and deviation 1.
pub fn randn(shape: &[i64], make: &Make) -> Result<Tensor> {
    made("randn", &checked_sizes(shape)?, DEFAULT_FLOAT, NORMAL, make)
}

/// Integers from `low` up to, but not including, `high`.
pub fn randint(low: i64, high: i64, shape: &[i64], make: &Make) -> Result<Tensor> {
    let dtype = make.dtype.unwrap_or(DType::Int64);
    made("randint", &checked_sizes(shape)?, dtype, integers(low, high, dtype)?, make)
}

/// The numbers from 0 to `n - 1` in random order.
pub fn randperm(n: i64, make: &Make) -> Result<Tensor> {
    made("randperm", &checked_sizes(&[n])?, DType::Int64, Distribution::Permutation, make)
}

/// [`rand`] in the shape of `x`.
pub fn rand_like(x: &Tensor, make: &Make) -> Result<Tensor> {
    like("rand_like", x, UNIT, &make.like(x))
}

/// [`randn`] in the shape of `x`.
pub(crate) fn randn_like(x: &Tensor, make: &Make) -> Result<Tensor> {
    like("randn_like", x, NORMAL, &make.like(x))
}

/// [`randint`] in the shape of `x`.
pub(crate) fn randint_like(x: &Tensor, low: i64, high: i64, make: &Make) -> Result<Tensor> {
    let make = make.like(x);
    let dtype = make.dtype.unwrap_or(x.dtype());
    like("randint_like", x, integers(low, high, dtype)?, &make)
}

/// Numbers of the normal distribution.
pub fn normal(mean: f64, std: f64, shape: &[i64], make: &Make) -> Result<Tensor> {
    made("normal", &checked_sizes(shape)?, DEFAULT_FLOAT, gaussian(mean, std)?, make)
}

/// 1 with the probability that each element of `x` says, else 0.
pub fn bernoulli(x: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "BernoulliBackward0", run: |_, g| one(zeros_like(g)?) };
    if x.numel() == 0 {
        return Ok(recorded(x.detach().copied(x.dtype(), "bernoulli")?, &RULE, &[x], |_, _| ()));
    }
    only_floats(x.dtype(), "bernoulli_tensor_cpu_p_")?;
    let out = {
        let _off = no_grad();
        // A device finds no fault with probabilities outside, as in PyTorch it finds out too late to say so.
        if !x.device().is_cuda() {
            let least = min_all(x)?.item()?.as_f64();
            let most = max_all(x)?.item()?.as_f64();
            if !(least >= 0.0 && most <= 1.0) {
                return Err(Error::runtime("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
                    .with_hint(format!(
                        "probabilities lie between 0 and 1; here they are {least} to {most}"
                    )));
            }
        }
        let out = Tensor::empty(x.shape(), x.dtype(), &x.context(), "bernoulli")?;
        draw_from(&out, Distribution::BernoulliEach, &[&x.detach()], "bernoulli")?;
        out
    };
    Ok(recorded(out, &RULE, &[x], |_, _| ()))
}

/// Overwrites `x` with numbers between `low` and `high`.
pub fn uniform_(x: &Tensor, low: f64, high: f64) -> Result<Tensor> {
    if low > high {
        let text = format!("uniform_ expects to return a [from, to) range, but found from={low} > to={high}");
        return Err(Error::runtime(text));
    }
    overwrite(x, "uniform_", Distribution::Uniform { low, high })
}

/// Overwrites `x` with numbers of the normal distribution.
pub fn normal_(x: &Tensor, mean: f64, std: f64) -> Result<Tensor> {
    overwrite(x, "normal_", gaussian(mean, std)?)
}

/// Overwrites `x` with 1 with probability `p`, else 0.
pub fn bernoulli_(x: &Tensor, p: f64) -> Result<Tensor> {
    if !(0.0..=1.0).contains(&p) {
        return Err(Error::runtime(format!("bernoulli_ expects p to be in [0, 1], but got p={p}")));
    }
    overwrite(x, "bernoulli_", Distribution::Bernoulli { p })
}

/// Overwrites `x` with 1 with the probability that each element of `p` says, else 0; `p` spreads over `x`.
pub(crate) fn bernoulli_each_(x: &Tensor, p: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "BernoulliBackward1", run: |_, g| one(zeros_like(g)?) };
    let wide: Vec<i64> = x.shape().iter().map(|&d| d as i64).collect();
    let drawn = {
        let _off = no_grad();
        bernoulli(&crate::op::shape::view::expand_to(&p.detach(), &wide)?)?
    };
    in_place(x, &[], &RULE, |_| (), || crate::op::core::fill::copy_(&x.detach(), &drawn, false).map(|_| ()))
}

fn made(
    name: &'static str,
    shape: &[usize],
    dtype: DType,
    what: Distribution,
    make: &Make,
) -> Result<Tensor> {
    let dtype = make.dtype.unwrap_or(dtype);
    check_dtype(dtype, &what)?;
    make.finish(drawn(shape, dtype, &make.context(&Machine::current())?, what, name)?)
}

/// A tensor like `x`; one that is not row-major is filled in the order of its memory.
fn like(name: &'static str, x: &Tensor, what: Distribution, make: &Make) -> Result<Tensor> {
    let layout = make.layout(x)?;
    if layout.is_contiguous() {
        return made(name, x.shape(), x.dtype(), what, make);
    }
    let dtype = make.dtype.unwrap_or(x.dtype());
    check_dtype(dtype, &what)?;
    let out = Tensor::empty_in(layout, dtype, &make.context(&Machine::current())?, name)?;
    draw_into(&out, what, name)?;
    make.finish(out)
}

fn overwrite(x: &Tensor, name: &'static str, what: Distribution) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "NormalBackward0", run: |_, g| one(zeros_like(g)?) };
    check_dtype(x.dtype(), &what)?;
    in_place(x, &[], &RULE, |_| (), || draw_into(x, what, name))
}

fn zeros_like(x: &Tensor) -> Result<Tensor> {
    Tensor::full(x.shape(), 0i64.into(), x.dtype(), &x.context(), "zeros_like")
}

fn check_dtype(dtype: DType, what: &Distribution) -> Result<()> {
    match what {
        Distribution::Uniform { .. } => only_floats(dtype, "check_uniform_bounds"),
        Distribution::Normal { .. } => only_floats(dtype, "normal_kernel_cpu"),
        Distribution::Permutation if dtype == DType::Bool => {
            Err(Error::new(Kind::NotImplementedError, "\"randperm\" not implemented for 'Bool'"))
        }
        _ => Ok(()),
    }
}

fn gaussian(mean: f64, std: f64) -> Result<Distribution> {
    if std < 0.0 {
        return Err(Error::runtime(format!("normal expects std >= 0.0, but found std {std}")));
    }
    Ok(Distribution::Normal { mean, std })
}

/// Integers in a range that the dtype holds.
fn integers(low: i64, high: i64, dtype: DType) -> Result<Distribution> {
    if low >= high {
        let text = format!("random_ expects 'from' to be less than 'to', but got from={low} >= to={high}");
        return Err(Error::runtime(text));
    }
    let (least, most) = dtype.whole_range().unwrap_or((i64::MIN, i64::MAX));
    for (name, value) in [("from", low), ("to - 1", high - 1)] {
        if value < least || value > most {
            return Err(Error::runtime(format!("{name} is out of bounds for {}", dtype.c_name())));
        }
    }
    Ok(Distribution::Integers { low, high })
}

const UNIT: Distribution = Distribution::Uniform { low: 0.0, high: 1.0 };
const NORMAL: Distribution = Distribution::Normal { mean: 0.0, std: 1.0 };
const DRAWN: Gradient = Gradient::NoGrad("the result is drawn at random");

params! {
    ManualSeedParams {
        seed: kind::Int, "the whole number that numbers are drawn from";
    }
}

params! {
    SizeParams {
        size: kind::Sizes, "how long each dimension is";
        ..options: MakeParams;
        ..source: Drawing;
    }
}

params! {
    RandintParams {
        low: kind::Int, "the smallest number; `high` where only a size follows";
        high: kind::Any, "the number that is no longer drawn";
        size: Maybe<kind::Ints>, "how long each dimension is";
        ..options: MakeParams;
        ..source: Drawing;
    }
}

params! {
    RandpermParams {
        n: kind::Int, "how many numbers there are";
        ..options: MakeParams;
        ..source: Drawing;
    }
}

params! {
    NormalParams {
        mean: kind::Operand, "what numbers lie around: one for all, or a tensor with one for each";
        std: kind::Operand => DefaultValue::Float(1.0), "how far numbers spread around the mean: one for all, or a tensor";
        size: Maybe<kind::Ints>, "how long each dimension is, where mean and deviation are numbers";
        ..options: MakeParams;
        ..source: Drawing;
    }
}

params! {
    LikeParams {
        input: kind::Tensor, "the tensor that lends shape, dtype and device";
        ..options: LikeOptions;
    }
}

params! {
    RandintLikeParams {
        input: kind::Tensor, "the tensor that lends shape, dtype and device";
        low: kind::Int, "the smallest number; `high` where it is the only one";
        high: Maybe<kind::Int>, "the number that is no longer drawn";
        ..options: LikeOptions;
    }
}

params! {
    BernoulliParams {
        input: kind::Tensor, "how likely each element is 1";
        p: Maybe<kind::Float>, "one probability for all elements, instead of those in the tensor";
        ..source: Drawing;
    }
}

params! {
    UniformParams {
        input: kind::Tensor, "the tensor that is overwritten";
        from: kind::Float = 0.0, "where the range begins";
        to: kind::Float = 1.0, "where the range ends";
        ..source: Drawing;
    }
}

params! {
    NormalOverParams {
        input: kind::Tensor, "the tensor that is overwritten";
        mean: kind::Float = 0.0, "what numbers lie around";
        std: kind::Float = 1.0, "how far numbers spread around the mean";
        ..source: Drawing;
    }
}

params! {
    BernoulliOverParams {
        input: kind::Tensor, "the tensor that is overwritten";
        p: kind::Operand => DefaultValue::Float(0.5), "how likely a 1 is: one number for all, or a tensor that spreads";
        ..source: Drawing;
    }
}

/// The rows of this file.
pub static ROWS: &[OpDef] = &[
    OpDef::call("manual_seed", Family::Random, "Seeds the generators of all devices: the same seed gives the same numbers.", ManualSeedParams::LIST, by_name!(ManualSeedParams, |a| {
            Machine::current().manual_seed(a.seed as u64);
            Ok(Value::None)
        }))
    .forms(FUNCTION)
    .example("manual_seed(0); rand([2])", "tensor([0.4963, 0.7682])")
    .gradient(DRAWN),
    OpDef::call("rand", Family::Random, "Numbers between 0 and 1, all equally likely.", SizeParams::LIST, by_name!(SizeParams, |a| {
        let make = a.options.make();
        making(&a.source, &make, || rand(&a.size, &make)).map(Into::into)
    }))
    .forms(FUNCTION)
    .details("With `#{generator: g}` they come from a `Generator` of one's own; so do all draws that take one.")
    .shapes(shapes::SIZE)
    .errors(&[shapes::NEGATIVE])
    .example("manual_seed(0); rand([3])", "tensor([0.4963, 0.7682, 0.0885])")
    .gradient(DRAWN),
    OpDef::call("randn", Family::Random, "Numbers of the standard normal distribution.", SizeParams::LIST, by_name!(SizeParams, |a| {
        let make = a.options.make();
        making(&a.source, &make, || randn(&a.size, &make)).map(Into::into)
    }))
    .forms(FUNCTION)
    .shapes(shapes::SIZE)
    .errors(&[shapes::NEGATIVE])
    .example("manual_seed(0); randn([3])", "tensor([ 1.5410, -0.2934, -2.1788])")
    .gradient(DRAWN),
    OpDef::call(
        "randint",
        Family::Random,
        "Integers from `low` up to, but not including, `high`.",
        RandintParams::LIST,
        by_name!(RandintParams, |a, args| randint_row(&a, args)),
    )
    .forms(FUNCTION)
    .details("`randint(high, size)` starts at 0.")
    .shapes(shapes::SIZE)
    .errors(&["RuntimeError: `low` is not below `high`"])
    .example("manual_seed(42); randint(0, 10, [8])", "tensor([2, 7, 6, 4, 6, 5, 0, 4])")
    .gradient(DRAWN),
    OpDef::call(
        "randperm",
        Family::Random,
        "The numbers from 0 to `n - 1` in random order.",
        RandpermParams::LIST,
        by_name!(RandpermParams, |a| {
 let make = a.options.make();
 making(&a.source, &make, || randperm(a.n, &make)).map(Into::into)
}),
    )
    .forms(FUNCTION)
    .shapes("-> (n)")
    .errors(&["RuntimeError: `n` is negative"])
    .example("manual_seed(0); randperm(10)", "tensor([4, 1, 7, 5, 3, 9, 0, 8, 6, 2])")
    .gradient(DRAWN),
    OpDef::call(
        "normal",
        Family::Random,
        "Numbers of a normal distribution with a mean and a standard deviation.",
        NormalParams::LIST,
        by_name!(NormalParams, |a| normal_row(&a)),
    )
    .forms(FUNCTION)
    .details(
        "With a size both are numbers. Else one of them is a tensor, or both are: then each element has its own, and the \
         result is of the dtype and device of the mean, or of the deviation.",
    )
    .shapes("numbers and a size -> size; tensors broadcast together")
    .errors(&["RuntimeError: a deviation is negative"])
    .example("normal(5.0, 0.0, [2])", "tensor([5., 5.])")
    .gradient(DRAWN),
    OpDef::call(
        "rand_like",
        Family::Random,
        "`rand` in the shape, dtype and device of a tensor.",
        LikeParams::LIST,
        by_name!(LikeParams, |a| Ok(rand_like(a.input, &a.options.make())?.into())),
    )
    .forms(FUNCTION)
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("manual_seed(0); rand_like(zeros([2]))", "tensor([0.4963, 0.7682])")
    .gradient(DRAWN),
    OpDef::call(
        "randn_like",
        Family::Random,
        "`randn` in the shape, dtype and device of a tensor.",
        LikeParams::LIST,
        by_name!(LikeParams, |a| Ok(randn_like(a.input, &a.options.make())?.into())),
    )
    .forms(FUNCTION)
    .shapes(shapes::SAME)
    .errors(&[shapes::NO_FLOAT])
    .example("manual_seed(0); randn_like(zeros([2]))", "tensor([ 1.5410, -0.2934])")
    .gradient(DRAWN),
    OpDef::call(
        "randint_like",
        Family::Random,
        "`randint` in the shape, dtype and device of a tensor.",
        RandintLikeParams::LIST,
        by_name!(RandintLikeParams, |a| {
 let (low, high) = match a.high { Some(high) => (a.low, high), None => (0, a.low) };
 Ok(randint_like(a.input, low, high, &a.options.make())?.into())
}),
    )
    .forms(FUNCTION)
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: `low` is not below `high`"])
    .example("randint_like(zeros([2]), 1)", "tensor([0., 0.])")
    .gradient(DRAWN),
    OpDef::call(
        "bernoulli",
        Family::Random,
        "1 with the probability that each element says, else 0.",
        BernoulliParams::LIST,
        by_name!(BernoulliParams, |a| {
            let x = a.input;
            drawing(&a.source, x.device(), || match a.p {
                Some(p) => bernoulli_(&empty_like(x, &Make::default())?, p),
                None => bernoulli(x),
            })
            .map(Into::into)
        }),
    )
    .details("With `p` all have the same probability, and the tensor lends shape, dtype and device alone.")
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: a probability is not in 0 to 1", shapes::NO_FLOAT])
    .example("tensor([0.0, 1.0]).bernoulli()", "tensor([0., 1.])")
    .gradient(DRAWN),
    OpDef::call(
        "uniform_",
        Family::Random,
        "Overwrites a tensor with numbers between two bounds, all equally likely.",
        UniformParams::LIST,
        by_name!(UniformParams, |a| drawing(&a.source, a.input.device(), || uniform_(a.input, a.from, a.to)).map(Into::into)),
    )
    .forms(METHOD)
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: `from` is above `to`", shapes::NO_FLOAT])
    .example("manual_seed(0); zeros([2]).uniform_()", "tensor([0.4963, 0.7682])")
    .gradient(DRAWN),
    OpDef::call(
        "normal_",
        Family::Random,
        "Overwrites a tensor with numbers of a normal distribution.",
        NormalOverParams::LIST,
        by_name!(NormalOverParams, |a| drawing(&a.source, a.input.device(), || normal_(a.input, a.mean, a.std)).map(Into::into)),
    )
    .forms(METHOD)
    .shapes(shapes::SAME)
    .errors(&["RuntimeError: `std` is negative", shapes::NO_FLOAT])
    .example("manual_seed(0); zeros([2]).normal_()", "tensor([ 1.5410, -0.2934])")
    .gradient(DRAWN),
    OpDef::call(
        "bernoulli_",
        Family::Random,
        "Overwrites a tensor with 1 with probability `p`, a number or a tensor, else 0.",
        BernoulliOverParams::LIST,
        by_name!(BernoulliOverParams, |a| {
            let x = a.input;
            drawing(&a.source, x.device(), || match a.p {
                Operand::Scalar(p) => bernoulli_(x, p.as_f64()),
                Operand::Tensor(p) => bernoulli_each_(x, p),
            })
            .map(Into::into)
        }),
    )
    .forms(METHOD)
    .shapes("any -> the same; a tensor `p` is broadcast to it")
    .errors(&["RuntimeError: a probability is not in 0 to 1"])
    .across()
    .example("zeros([2]).bernoulli_(1.0)", "tensor([1., 1.])")
    .gradient(DRAWN),
];

fn randint_row(a: &RandintParams, args: &Args) -> Result<Value> {
    let listed = |items: &[Value]| -> Result<Vec<i64>> {
        memory::try_collected(items.iter().map(|item| match item {
            Value::Scalar(Scalar::Int(n)) => Ok(*n),
            other => Err(args.wrong_for("size", other)),
        }))
    };
    let (low, high, size) = match (a.high, &a.size) {
        (Value::Scalar(Scalar::Int(high)), Some(size)) => (a.low, *high, size.clone()),
        (Value::List(items), None) => (0, a.low, listed(items)?),
        _ => {
            let text = "randint() takes `low`, `high` and a size, or `high` and a size";
            return Err(
                Error::type_error(text).with_hint("such as `randint(0, 10, [3])` or `randint(10, [3])`")
            );
        }
    };
    let make = a.options.make();
    making(&a.source, &make, || randint(low, high, &size, &make)).map(Into::into)
}

fn normal_row(a: &NormalParams) -> Result<Value> {
    let (mean, std) = (a.mean, a.std);
    let model = match (mean, std, &a.size) {
        (Operand::Tensor(t), _, _) | (_, Operand::Tensor(t), _) => Some(t),
        (Operand::Scalar(mean), Operand::Scalar(std), Some(size)) => {
            let make = a.options.make();
            let drawn = || normal(mean.as_f64(), std.as_f64(), size, &make);
            return making(&a.source, &make, drawn).map(Into::into);
        }
        _ => None,
    };
    match model.filter(|_| a.size.is_none()) {
        Some(model) => drawing(&a.source, model.device(), || normal_of(model, mean, std)).map(Into::into),
        None => {
            let text =
                "normal() takes two numbers and a size, or a tensor for the mean, the deviation, or both";
            let hint = "such as `normal(0.0, 1.0, [3])` or `normal(zeros(3), 1.0)`";
            Err(Error::type_error(text).with_hint(hint))
        }
    }
}

//! Random numbers: the CPU draws what PyTorch's generator draws for the same seed.

use crate::base::dtype::Category;
use crate::base::shape::checked_sizes;
use crate::base::{DType, Error, Kind, Result};
use crate::device::Machine;
use crate::device::kernel::Distribution;
use crate::tensor::Tensor;
use crate::tensor::autograd::Vjp;

use super::create::Make;
use super::draw::{draw_from, draw_into, drawn};
use super::promote::DEFAULT_FLOAT;
use super::record::{in_place, no_grad, one, recorded};
use super::reduce::{max_all, min_all};
use super::select::only_floats;

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
    made("rand_like", x.shape(), x.dtype(), UNIT, &make.like(x))
}

/// [`randn`] in the shape of `x`.
pub fn randn_like(x: &Tensor, make: &Make) -> Result<Tensor> {
    made("randn_like", x.shape(), x.dtype(), NORMAL, &make.like(x))
}

/// [`randint`] in the shape of `x`.
pub fn randint_like(x: &Tensor, low: i64, high: i64, make: &Make) -> Result<Tensor> {
    let make = make.like(x);
    let dtype = make.dtype.unwrap_or(x.dtype());
    made("randint_like", x.shape(), dtype, integers(low, high, dtype)?, &make)
}

/// Numbers of the normal distribution.
pub fn normal(mean: f64, std: f64, shape: &[i64], make: &Make) -> Result<Tensor> {
    made("normal", &checked_sizes(shape)?, DEFAULT_FLOAT, gaussian(mean, std)?, make)
}

/// 1 with the probability that each element of `x` says, else 0.
pub fn bernoulli(x: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "BernoulliBackward0", run: |_, g| one(zeros_like(g)?) };
    if x.numel() == 0 {
        return x.detach().copied(x.dtype(), "bernoulli");
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
pub fn bernoulli_each_(x: &Tensor, p: &Tensor) -> Result<Tensor> {
    static RULE: Vjp = Vjp { name: "BernoulliBackward1", run: |_, g| one(zeros_like(g)?) };
    let wide: Vec<i64> = x.shape().iter().map(|&d| d as i64).collect();
    let drawn = {
        let _off = no_grad();
        bernoulli(&super::movement::expand_to(&p.detach(), &wide)?)?
    };
    in_place(x, &[], &RULE, |_| (), || super::fill::copy_(&x.detach(), &drawn, false).map(|_| ()))
}

const UNIT: Distribution = Distribution::Uniform { low: 0.0, high: 1.0 };
const NORMAL: Distribution = Distribution::Normal { mean: 0.0, std: 1.0 };

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
    let (least, most) = match dtype {
        DType::Bool => (0, 1),
        DType::UInt8 => (0, 255),
        d if d.category() == Category::Int && d.size() < 8 => {
            let half = 1i64 << (8 * d.size() - 1);
            (-half, half - 1)
        }
        _ => (i64::MIN, i64::MAX),
    };
    for (name, value) in [("from", low), ("to - 1", high - 1)] {
        if value < least || value > most {
            return Err(Error::runtime(format!("{name} is out of bounds for {}", dtype.c_name())));
        }
    }
    Ok(Distribution::Integers { low, high })
}

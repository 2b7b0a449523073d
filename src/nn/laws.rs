//! Probability distributions, as `torch.distributions` has them: what is drawn, and the logarithms of densities, from which
//! gradients flow into the parameters.

use std::f64::consts::PI;

use crate::base::shape::broadcast;
use crate::base::{DType, Dims, Error, Kind, Result, Scalar};
use crate::device::kernel::Reduction;
use crate::op::Operand;
use crate::op::activation::functions::softplus;
use crate::op::core::convert::to_dtype;
use crate::op::core::record::no_grad;
use crate::op::elementwise::arithmetic::{add, div, mul, scale, sub};
use crate::op::elementwise::choose::where_;
use crate::op::elementwise::clamp::clamp;
use crate::op::elementwise::comparison::{eq, ge, gt, le};
use crate::op::elementwise::rounding::floor;
use crate::op::elementwise::sign::neg;
use crate::op::elementwise::unary::{erf, erfinv, log, log1p, reciprocal, sigmoid, sqrt, square};
use crate::op::gather::along_dim::gather;
use crate::op::loss::elements::binary_cross_entropy_with_logits;
use crate::op::random::distributions::{multinomial, normal_of};
use crate::op::random::uniform_normal::bernoulli;
use crate::op::reduce::softmax::softmax;
use crate::op::reduce::sums::{all, logsumexp, sum};
use crate::op::shape::permute::t;
use crate::op::shape::view::{expand_to, reshape_to, squeeze, unsqueeze};
use crate::op::sorting::extremum::argmax;
use crate::tensor::Tensor;
use crate::tensor::display::display;

/// A distribution, or one for each element of its parameters.
#[derive(Clone)]
pub(crate) enum Law {
    Normal {
        loc: Tensor,
        scale: Tensor,
    },
    /// Over the last dimension.
    Categorical(LawWeights),
    Bernoulli(LawWeights),
}

/// Probabilities, or the numbers that they are the exponentials or the sigmoid of. One is computed from the other.
#[derive(Clone)]
pub(crate) struct LawWeights {
    given: WeightKind,
    value: Tensor,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WeightKind {
    Probs,
    Logits,
}

impl Law {
    /// Normal distributions with means and deviations, which are broadcast together.
    ///
    /// # Errors
    /// A deviation is not above 0, or the shapes don't fit each other.
    pub(crate) fn normal(loc: &Tensor, deviation: &Tensor) -> Result<Law> {
        let shape = broadcast(loc.shape(), deviation.shape())?;
        let law = Law::Normal { loc: spread(loc, &shape)?, scale: spread(deviation, &shape)? };
        if let Law::Normal { loc, scale } = &law {
            law.check_parameter("loc", loc, |x| eq(x, x), "Real()")?;
            law.check_parameter("scale", scale, |x| gt(x, 0.0), "GreaterThan(lower_bound=0.0)")?;
        }
        Ok(law)
    }

    /// Whole numbers from 0 on, in proportion to what the last dimension holds.
    ///
    /// # Errors
    /// A probability is negative, or there is no dimension.
    pub(crate) fn categorical(probs: Option<&Tensor>, logits: Option<&Tensor>) -> Result<Law> {
        let weights = LawWeights::of(probs, logits)?;
        if weights.value.rank() == 0 {
            let name = weights.name();
            return Err(Error::value(format!("`{name}` parameter must be at least one-dimensional.")));
        }
        let value = match weights.given {
            WeightKind::Probs => div(&weights.value, &sum(&weights.value, Some(&[-1]), true)?)?,
            WeightKind::Logits => sub(&weights.value, &logsumexp(&weights.value, &[-1], true)?)?,
        };
        let law = Law::Categorical(LawWeights { value, ..weights });
        if let Law::Categorical(LawWeights { given, value }) = &law {
            match given {
                WeightKind::Probs => law.check_parameter("probs", value, |x| ge(x, 0.0), "Simplex()")?,
                WeightKind::Logits => {
                    law.check_parameter("logits", value, |x| eq(x, x), "IndependentConstraint(Real(), 1)")?
                }
            }
        }
        Ok(law)
    }

    /// 1 or 0, each element for itself.
    ///
    /// # Errors
    /// A probability is below 0 or above 1.
    pub(crate) fn bernoulli(probs: Option<&Tensor>, logits: Option<&Tensor>) -> Result<Law> {
        let law = Law::Bernoulli(LawWeights::of(probs, logits)?);
        if let Law::Bernoulli(LawWeights { given, value }) = &law {
            match given {
                WeightKind::Probs => {
                    let within = |x: &Tensor| mul(&ge(x, 0.0)?, &le(x, 1.0)?);
                    law.check_parameter(
                        "probs",
                        value,
                        within,
                        "Interval(lower_bound=0.0, upper_bound=1.0)",
                    )?;
                }
                WeightKind::Logits => law.check_parameter("logits", value, |x| eq(x, x), "Real()")?,
            }
        }
        Ok(law)
    }

    /// A tensor that the distribution was made of: where it lies, and with which numbers it computes.
    pub(crate) fn parameter(&self) -> &Tensor {
        match self {
            Law::Normal { loc, .. } => loc,
            Law::Categorical(weights) | Law::Bernoulli(weights) => &weights.value,
        }
    }

    /// How many distributions there are.
    pub(crate) fn batch_shape(&self) -> &[usize] {
        match self {
            Law::Normal { loc, .. } => loc.shape(),
            Law::Bernoulli(LawWeights { value, .. }) => value.shape(),
            Law::Categorical(LawWeights { value, .. }) => {
                value.shape().split_last().map_or(&[], |(_, rest)| rest)
            }
        }
    }

    /// Draws of that shape, with the distributions behind it. No gradient flows into what is drawn.
    ///
    /// # Errors
    /// The device is full.
    pub(crate) fn sample(&self, shape: &[i64]) -> Result<Tensor> {
        let _off = no_grad();
        let shape = self.extended(shape);
        match self {
            Law::Normal { loc, scale } => {
                let (loc, scale) = (expand_to(loc, &shape)?, expand_to(scale, &shape)?);
                normal_of(&loc, Operand::Tensor(&loc), Operand::Tensor(&scale))
            }
            Law::Bernoulli(weights) => bernoulli(&expand_to(&weights.sigmoid_probs()?, &shape)?),
            Law::Categorical(weights) => {
                let probs = weights.softmax_probs()?;
                let classes = probs.size(-1)?;
                let all: i64 = shape.iter().product();
                let rows = (probs.numel() / classes.max(1)).max(1) as i64;
                let drawn = multinomial(&reshape_to(&probs, &[rows as usize, classes])?, all / rows, true)?;
                reshape_to(&t(&drawn)?, &sizes(&shape))
            }
        }
    }

    /// The same, through which gradients flow into the parameters; of normal distributions alone.
    ///
    /// # Errors
    /// What is drawn are no real numbers.
    pub(crate) fn rsample(&self, shape: &[i64]) -> Result<Tensor> {
        let Law::Normal { loc, scale } = self else {
            return Err(Error::new(Kind::NotImplementedError, "")
                .with_hint("what is drawn moves in steps, and has no gradient: `sample()` draws, and `log_prob(x)` has one"));
        };
        let shape = self.extended(shape);
        let noise = {
            let _off = no_grad();
            let zeros = expand_to(&mul(&loc.detach(), 0.0)?, &shape)?;
            normal_of(&zeros, Operand::Tensor(&zeros), 1.0.into())?
        };
        add(loc, &mul(&noise, scale)?)
    }

    /// The logarithm of the density at `value`, or of its probability.
    ///
    /// # Errors
    /// The value is none that is drawn, or its shape doesn't fit.
    pub(crate) fn log_prob(&self, value: &Tensor) -> Result<Tensor> {
        match self {
            Law::Normal { loc, scale: deviation } => {
                self.check_value(value, |x| eq(x, x), "Real()")?;
                let apart = neg(&square(&sub(value, loc)?)?)?;
                let density = div(&apart, &scale(&square(deviation)?, 2.0)?)?;
                sub(&sub(&density, &log(deviation)?)?, (2.0 * PI).sqrt().ln())
            }
            Law::Categorical(weights) => {
                let logits = weights.log_probs()?;
                let last = logits.size(-1)? as i64 - 1;
                let within = |x: &Tensor| {
                    let inside = mul(&ge(x, 0i64)?, &le(x, last)?)?;
                    if x.dtype().is_float() { mul(&inside, &eq(&floor(x)?, x)?) } else { Ok(inside) }
                };
                self.check_value(
                    value,
                    within,
                    &format!("IntegerInterval(lower_bound=0, upper_bound={last})"),
                )?;
                let place = unsqueeze(&to_dtype(value, DType::Int64)?, -1)?;
                let shape = broadcast(value.shape(), self.batch_shape())?;
                let with = |last: i64| shape.iter().map(|&n| n as i64).chain([last]).collect::<Vec<i64>>();
                let logits = expand_to(&logits, &with(logits.size(-1)? as i64))?;
                squeeze(&gather(&logits, -1, &expand_to(&place, &with(1))?)?, Some(&[-1]))
            }
            Law::Bernoulli(weights) => {
                let within = |x: &Tensor| add(&eq(x, 0.0)?, &eq(x, 1.0)?);
                self.check_value(value, within, "Boolean()")?;
                let logits = weights.sigmoid_logits()?;
                let shape = broadcast(value.shape(), logits.shape())?;
                let (logits, value) = (spread(&logits, &shape)?, spread(value, &shape)?);
                neg(&binary_cross_entropy_with_logits(&logits, &value, None, Reduction::None, None)?)
            }
        }
    }

    /// How much is not known before a draw, in nats.
    ///
    /// # Errors
    /// The device is full.
    pub(crate) fn entropy(&self) -> Result<Tensor> {
        match self {
            Law::Normal { scale, .. } => add(&log(scale)?, 0.5 + 0.5 * (2.0 * PI).ln()),
            Law::Categorical(weights) => {
                let logits = weights.log_probs()?;
                let bounded = clamp(&logits, Some(least(logits.dtype()).into()), None)?;
                neg(&sum(&mul(&bounded, &weights.softmax_probs()?)?, Some(&[-1]), false)?)
            }
            Law::Bernoulli(weights) => {
                let (logits, probs) = (weights.sigmoid_logits()?, weights.sigmoid_probs()?);
                binary_cross_entropy_with_logits(&logits, &probs, None, Reduction::None, None)
            }
        }
    }

    /// The probability of what is at most `value`; of normal distributions alone.
    ///
    /// # Errors
    /// It is another distribution.
    pub(crate) fn cdf(&self, value: &Tensor) -> Result<Tensor> {
        let Law::Normal { loc, scale: deviation } = self else {
            return Err(Error::new(Kind::NotImplementedError, ""));
        };
        let apart = div(&mul(&sub(value, loc)?, &reciprocal(deviation)?)?, 2f64.sqrt())?;
        scale(&add(&erf(&apart)?, 1.0)?, 0.5)
    }

    /// The value that is not exceeded with a probability; of normal distributions alone.
    ///
    /// # Errors
    /// It is another distribution.
    pub(crate) fn icdf(&self, value: &Tensor) -> Result<Tensor> {
        let Law::Normal { loc, scale: deviation } = self else {
            return Err(Error::new(Kind::NotImplementedError, ""));
        };
        let apart = erfinv(&sub(&scale(value, 2.0)?, 1.0)?)?;
        add(loc, &scale(&mul(deviation, &apart)?, 2f64.sqrt())?)
    }

    /// The mean of what is drawn; NaN of whole numbers that are only names.
    ///
    /// # Errors
    /// The device is full.
    pub(crate) fn mean(&self) -> Result<Tensor> {
        match self {
            Law::Normal { loc, .. } => Ok(loc.clone()),
            Law::Bernoulli(weights) => weights.sigmoid_probs(),
            Law::Categorical(weights) => {
                let context = weights.value.context();
                Tensor::full(self.batch_shape(), f64::NAN.into(), weights.value.dtype(), &context, "full")
            }
        }
    }

    /// The variance of what is drawn.
    ///
    /// # Errors
    /// The device is full.
    pub(crate) fn variance(&self) -> Result<Tensor> {
        match self {
            Law::Normal { scale, .. } => square(scale),
            Law::Bernoulli(weights) => {
                let probs = weights.sigmoid_probs()?;
                mul(&probs, &sub(1.0, &probs)?)
            }
            Law::Categorical(_) => self.mean(),
        }
    }

    /// The standard deviation of what is drawn.
    ///
    /// # Errors
    /// The device is full.
    pub(crate) fn deviation(&self) -> Result<Tensor> {
        match self {
            Law::Normal { scale, .. } => Ok(scale.clone()),
            _ => sqrt(&self.variance()?),
        }
    }

    /// The likeliest value.
    ///
    /// # Errors
    /// The device is full.
    pub(crate) fn mode(&self) -> Result<Tensor> {
        match self {
            Law::Normal { loc, .. } => Ok(loc.clone()),
            Law::Categorical(weights) => argmax(&weights.softmax_probs()?, Some(-1), false),
            Law::Bernoulli(weights) => {
                let probs = weights.sigmoid_probs()?;
                let likelier = to_dtype(&ge(&probs, 0.5)?, probs.dtype())?;
                where_(&eq(&probs, 0.5)?, f64::NAN.into(), (&likelier).into())
            }
        }
    }

    /// The means of normal distributions.
    pub(crate) fn location(&self) -> Option<Tensor> {
        if let Law::Normal { loc, .. } = self { Some(loc.clone()) } else { None }
    }

    /// The deviations of normal distributions.
    pub(crate) fn width(&self) -> Option<Tensor> {
        if let Law::Normal { scale, .. } = self { Some(scale.clone()) } else { None }
    }

    /// Probabilities of those that have them.
    pub(crate) fn probs(&self) -> Option<Result<Tensor>> {
        match self {
            Law::Normal { .. } => None,
            Law::Categorical(weights) => Some(weights.softmax_probs()),
            Law::Bernoulli(weights) => Some(weights.sigmoid_probs()),
        }
    }

    /// The logarithms of [`probs`](Law::probs), or of what they are to the others.
    pub(crate) fn logits(&self) -> Option<Result<Tensor>> {
        match self {
            Law::Normal { .. } => None,
            Law::Categorical(weights) => Some(weights.log_probs()),
            Law::Bernoulli(weights) => Some(weights.sigmoid_logits()),
        }
    }

    /// What is lost where `self` is taken for `other`, in nats: the Kullback-Leibler divergence.
    ///
    /// # Errors
    /// They are of two kinds.
    pub(crate) fn divergence(&self, other: &Law) -> Result<Tensor> {
        match (self, other) {
            (Law::Normal { loc: a, scale: s }, Law::Normal { loc: b, scale: r }) => {
                let ratio = square(&div(s, r)?)?;
                let apart = square(&div(&sub(a, b)?, r)?)?;
                scale(&sub(&sub(&add(&ratio, &apart)?, 1.0)?, &log(&ratio)?)?, 0.5)
            }
            (Law::Categorical(p), Law::Categorical(q)) => {
                let (own, theirs) = (p.softmax_probs()?, q.softmax_probs()?);
                let each = mul(&own, &sub(&p.log_probs()?, &q.log_probs()?)?)?;
                sum(&decided(&each, (&own, 0.0), (&theirs, 0.0))?, Some(&[-1]), false)
            }
            (Law::Bernoulli(p), Law::Bernoulli(q)) => {
                let (own, theirs) = (p.sigmoid_probs()?, q.sigmoid_probs()?);
                let (a, b) = (p.sigmoid_logits()?, q.sigmoid_logits()?);
                let soft = |x: &Tensor| softplus(x, 1.0, 20.0);
                let ones = mul(&own, &sub(&soft(&neg(&b)?)?, &soft(&neg(&a)?)?)?)?;
                let zeros = mul(&sub(1.0, &own)?, &sub(&soft(&b)?, &soft(&a)?)?)?;
                add(
                    &decided(&ones, (&own, 0.0), (&theirs, 0.0))?,
                    &decided(&zeros, (&own, 1.0), (&theirs, 1.0))?,
                )
            }
            _ => Err(Error::new(
                Kind::NotImplementedError,
                format!(
                    "No KL(p || q) is implemented for p type {} and q type {}",
                    self.name(),
                    other.name()
                ),
            )),
        }
    }

    /// As PyTorch shows it: parameters of one element by their value, others by their size.
    pub(crate) fn shown(&self) -> Result<String> {
        let shown = |name: &str, x: &Tensor| {
            if x.numel() == 1 && x.has_values() {
                return Ok::<_, Error>(format!("{name}: {}", told(x)?));
            }
            Ok(format!("{name}: torch.Size({:?})", x.shape()))
        };
        let parts = match self {
            Law::Normal { loc, scale } => vec![shown("loc", loc)?, shown("scale", scale)?],
            Law::Categorical(weights) | Law::Bernoulli(weights) => {
                vec![shown(weights.name(), &weights.value)?]
            }
        };
        Ok(format!("{}({})", self.name(), parts.join(", ")))
    }

    /// PyTorch's class.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Law::Normal { .. } => "Normal",
            Law::Categorical(_) => "Categorical",
            Law::Bernoulli(_) => "Bernoulli",
        }
    }

    fn extended(&self, shape: &[i64]) -> Vec<i64> {
        shape.iter().copied().chain(self.batch_shape().iter().map(|&n| n as i64)).collect()
    }

    fn check_parameter(
        &self,
        name: &str,
        value: &Tensor,
        fits: impl FnOnce(&Tensor) -> Result<Tensor>,
        wanted: &str,
    ) -> Result<()> {
        if hold(value, fits)? {
            return Ok(());
        }
        Err(Error::value(format!(
            "Expected parameter {name} (Tensor of shape {}) of distribution {} to satisfy the constraint {wanted}, but found \
             invalid values:\n{}",
            tuple(value.shape()),
            self.shown()?,
            told(value)?
        )))
    }

    fn check_value(
        &self,
        value: &Tensor,
        fits: impl FnOnce(&Tensor) -> Result<Tensor>,
        support: &str,
    ) -> Result<()> {
        if broadcast(value.shape(), self.batch_shape()).is_err() {
            return Err(Error::value(format!(
                "Value is not broadcastable with batch_shape+event_shape: torch.Size({:?}) vs torch.Size({:?}).",
                value.shape(),
                self.batch_shape()
            )));
        }
        if hold(value, fits)? {
            return Ok(());
        }
        Err(Error::value(format!(
            "Expected value argument (Tensor of shape {}) to be within the support ({support}) of the distribution {}, but \
             found invalid values:\n{}",
            tuple(value.shape()),
            self.shown()?,
            told(value)?
        )))
    }
}

impl LawWeights {
    fn of(probs: Option<&Tensor>, logits: Option<&Tensor>) -> Result<LawWeights> {
        let (given, value) = match (probs, logits) {
            (Some(probs), None) => (WeightKind::Probs, probs),
            (None, Some(logits)) => (WeightKind::Logits, logits),
            _ => {
                return Err(Error::value("Either `probs` or `logits` must be specified, but not both.")
                    .with_hint(
                        "`distributions::Categorical(probs)`, or `#{logits: scores}` of what a network gives",
                    ));
            }
        };
        Ok(LawWeights { given, value: value.clone() })
    }

    fn name(&self) -> &'static str {
        if self.given == WeightKind::Probs { "probs" } else { "logits" }
    }

    fn softmax_probs(&self) -> Result<Tensor> {
        match self.given {
            WeightKind::Probs => Ok(self.value.clone()),
            WeightKind::Logits => softmax(&self.value, -1, None),
        }
    }

    fn log_probs(&self) -> Result<Tensor> {
        match self.given {
            WeightKind::Probs => log(&self.inside()?),
            WeightKind::Logits => Ok(self.value.clone()),
        }
    }

    fn sigmoid_probs(&self) -> Result<Tensor> {
        match self.given {
            WeightKind::Probs => Ok(self.value.clone()),
            WeightKind::Logits => sigmoid(&self.value),
        }
    }

    fn sigmoid_logits(&self) -> Result<Tensor> {
        match self.given {
            WeightKind::Probs => {
                let probs = self.inside()?;
                sub(&log(&probs)?, &log1p(&neg(&probs)?)?)
            }
            WeightKind::Logits => Ok(self.value.clone()),
        }
    }

    /// Probabilities whose logarithms are finite.
    fn inside(&self) -> Result<Tensor> {
        let least = self.value.dtype().epsilon();
        clamp(&self.value, Some(least.into()), Some((1.0 - least).into()))
    }
}

/// Whether all elements fit, as far as there are values.
fn hold(value: &Tensor, fits: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<bool> {
    let _off = no_grad();
    let value = value.detach();
    Ok(value.numel() == 0 || !value.has_values() || all(&fits(&value)?, None, false)?.truth()?)
}

/// A tensor as an error shows it: one number alone.
fn told(x: &Tensor) -> Result<String> {
    let x = x.detach();
    if x.rank() > 0 || !x.has_values() {
        return display(&x);
    }
    Ok(match x.item()? {
        Scalar::Bool(b) => b.to_string(),
        Scalar::Int(i) => i.to_string(),
        Scalar::Float(f) if f.is_nan() => "nan".into(),
        Scalar::Float(f) => format!("{f:?}"),
    })
}

/// The least number of a dtype of floats.
fn least(dtype: DType) -> f64 {
    match dtype {
        DType::Float16 => half::f16::MIN.to_f64(),
        DType::BFloat16 => half::bf16::MIN.to_f64(),
        DType::Float64 => f64::MIN,
        _ => f64::from(f32::MIN),
    }
}

/// Terms of a divergence: none where the first never happens, without bound where the second never does.
fn decided(each: &Tensor, (own, never): (&Tensor, f64), (theirs, nor): (&Tensor, f64)) -> Result<Tensor> {
    let endless = where_(&eq(theirs, nor)?, f64::INFINITY.into(), each.into())?;
    where_(&eq(own, never)?, 0.0.into(), (&endless).into())
}

fn spread(x: &Tensor, shape: &Dims) -> Result<Tensor> {
    expand_to(x, &shape.iter().map(|&n| n as i64).collect::<Vec<i64>>())
}

fn sizes(shape: &[i64]) -> Vec<usize> {
    shape.iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect()
}

/// A shape as Python shows a tuple.
fn tuple(shape: &[usize]) -> String {
    match shape {
        [only] => format!("({only},)"),
        many => format!("({})", many.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

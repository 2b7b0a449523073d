//! Elementary functions that loops can vectorise: no calls and no branches for f32, std's for f64.
//!
//! The f32 functions are within 2 units in the last place of the true value over the whole range, with the
//! usual values at NaN, infinities and zeros, subnormals included (the tests hold them to it).

pub(crate) mod bessel;
mod double;
mod exponential;
mod gauss;
mod neighbour;
pub(crate) mod quantile;
pub mod special;
pub(crate) mod steps;
mod trigonometric;

pub(crate) use trigonometric::{LARGEST_ANGLE, LARGEST_QUOTIENT};

use std::cmp::Ordering;
use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::isa::Isa;

/// A real number as scalar functions see it: an element of a vector.
pub(crate) trait Real:
    Copy
    + PartialOrd
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    fn of(value: f64) -> Self;
    /// `self * b + c`, fused where that is one instruction.
    fn fma(self, b: Self, c: Self) -> Self;
    fn abs(self) -> Self;
    fn sqrt(self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn trunc(self) -> Self;
    /// Half to even.
    fn round(self) -> Self;
    fn copysign(self, sign: Self) -> Self;
    fn exp(self) -> Self;
    fn expm1(self) -> Self;
    fn ln(self) -> Self;
    fn ln_1p(self) -> Self;
    fn log2(self) -> Self;
    fn log10(self) -> Self;
    fn pow(self, exponent: Self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn tan(self) -> Self;
    fn asin(self) -> Self;
    fn acos(self) -> Self;
    fn atan(self) -> Self;
    fn atan2(self, x: Self) -> Self;
    fn sinh(self) -> Self;
    fn cosh(self) -> Self;
    fn tanh(self) -> Self;
    fn erf(self) -> Self;
    /// `1 - erf(x)`
    fn erfc(self) -> Self;
    fn erfinv(self) -> Self;
    fn lgamma(self) -> Self;
    fn digamma(self) -> Self;
    /// The `order`-th derivative of digamma.
    fn polygamma(self, order: Self) -> Self;
    /// By a function in double precision.
    fn by_double(self, f: fn(f64) -> f64) -> Self;
    /// By one of two arguments.
    fn by_doubles(self, other: Self, f: fn(f64, f64) -> f64) -> Self;
    /// The next number on the way to another, in float32 or float64.
    fn next_after(self, to: Self) -> Self;
    /// The same where both are float16.
    fn next_half(self, to: Self) -> Self;
    /// The same where both are bfloat16.
    fn next_bfloat16(self, to: Self) -> Self;
    /// C's remainder, with the dividend's sign.
    fn fmod(self, divisor: Self) -> Self;

    #[inline(always)]
    fn zero() -> Self {
        Self::of(0.0)
    }

    #[inline(always)]
    fn one() -> Self {
        Self::of(1.0)
    }

    /// 1 or 0.
    #[inline(always)]
    fn flag(truth: bool) -> Self {
        if truth { Self::one() } else { Self::zero() }
    }

    #[inline(always)]
    #[allow(clippy::eq_op, reason = "only NaN differs from itself")]
    fn is_nan(self) -> bool {
        self != self
    }

    /// The larger, or NaN where one is NaN.
    #[inline(always)]
    fn maximum(self, other: Self) -> Self {
        if self.is_nan() || self > other { self } else { other }
    }

    /// The smaller, or NaN where one is NaN.
    #[inline(always)]
    fn minimum(self, other: Self) -> Self {
        if self.is_nan() || self < other { self } else { other }
    }

    /// -1, 0 or 1; 0 for NaN.
    #[inline(always)]
    fn sign(self) -> Self {
        Self::flag(self > Self::zero()) - Self::flag(self < Self::zero())
    }

    /// `1 / (1 + exp(-x))`, accurate on both sides.
    #[inline(always)]
    fn sigmoid(self) -> Self {
        let e = (-self.abs()).exp();
        let part = if self < Self::zero() { e } else { Self::one() };
        let whole = part / (Self::one() + e);
        if self.is_nan() { self } else { whole }
    }

    #[inline(always)]
    fn asinh(self) -> Self {
        let x = self.abs();
        let near = (x + x * x / (Self::one() + x.fma(x, Self::one()).sqrt())).ln_1p();
        let far = x.ln() + Self::of(std::f64::consts::LN_2);
        (if x > Self::of(1e9) { far } else { near }).copysign(self)
    }

    #[inline(always)]
    fn acosh(self) -> Self {
        // Below 1 the sum under the logarithm would round to where it is defined again.
        if self < Self::one() {
            return Self::of(f64::NAN);
        }
        let t = self - Self::one();
        let near = (t + t.fma(t, t + t).sqrt()).ln_1p();
        let far = self.ln() + Self::of(std::f64::consts::LN_2);
        if self > Self::of(1e9) { far } else { near }
    }

    #[inline(always)]
    fn atanh(self) -> Self {
        let x = self.abs();
        (Self::of(0.5) * ((x + x) / (Self::one() - x)).ln_1p()).copysign(self)
    }

    /// `sin(pi x) / (pi x)`, 1 at 0.
    #[inline(always)]
    fn sinc(self) -> Self {
        let angle = self * Self::of(std::f64::consts::PI);
        let value = angle.sin() / angle;
        if self == Self::zero() { Self::one() } else { value }
    }

    /// `sqrt(x² + y²)`, scaled so that the squares do not overflow.
    #[inline(always)]
    fn hypot(self, other: Self) -> Self {
        let (a, b) = (self.abs(), other.abs());
        let (large, small) = if a > b { (a, b) } else { (b, a) };
        let part = small / large;
        let value = large * part.fma(part, Self::one()).sqrt();
        let infinite = a == Self::of(f64::INFINITY) || b == Self::of(f64::INFINITY);
        if infinite {
            Self::of(f64::INFINITY)
        } else if a.is_nan() || b.is_nan() {
            a + b
        } else if large == Self::zero() {
            large
        } else {
            value
        }
    }

    /// `log(exp(x) + exp(y))`, without overflow.
    #[inline(always)]
    fn logaddexp(self, other: Self) -> Self {
        let m = self.maximum(other);
        let sum = m + (-(self - other).abs()).exp().ln_1p();
        let same = self == other && self.abs() == Self::of(f64::INFINITY);
        if same { self } else { sum }
    }

    /// `x log(y)`, 0 where x is, unless y is NaN.
    #[inline(always)]
    fn xlogy(self, other: Self) -> Self {
        let product = self * other.ln();
        if other.is_nan() {
            other
        } else if self == Self::zero() {
            self.abs()
        } else {
            product
        }
    }

    /// Python's `%`: the remainder with the divisor's sign.
    #[inline(always)]
    fn remainder(self, divisor: Self) -> Self {
        let rest = self.fmod(divisor);
        let other_side = (divisor < Self::zero()) != (rest < Self::zero());
        if rest != Self::zero() && other_side { rest + divisor } else { rest }
    }

    /// Python's `//`, as PyTorch rounds it.
    #[inline(always)]
    fn floor_divide(self, divisor: Self) -> Self {
        let rest = self.fmod(divisor);
        let other_side = (divisor < Self::zero()) != (rest < Self::zero());
        let quotient = (self - rest) / divisor;
        let quotient = if rest != Self::zero() && other_side { quotient - Self::one() } else { quotient };
        let floor = quotient.floor();
        let near = if quotient - floor > Self::of(0.5) { floor + Self::one() } else { floor };
        let whole = if quotient == Self::zero() { Self::zero().copysign(self / divisor) } else { near };
        if divisor == Self::zero() { self / divisor } else { whole }
    }
}

/// An element of a vector of `T` in code for the instruction set `I`.
#[repr(transparent)]
pub(crate) struct Lane<T, I>(pub T, PhantomData<I>);

impl<T, I> Lane<T, I> {
    #[inline(always)]
    pub(crate) const fn new(value: T) -> Self {
        Lane(value, PhantomData)
    }
}

impl<T: Copy, I> Clone for Lane<T, I> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Copy, I> Copy for Lane<T, I> {}

impl<T: PartialEq, I> PartialEq for Lane<T, I> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T: PartialOrd, I> PartialOrd for Lane<T, I> {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.0.partial_cmp(&other.0)
    }
    #[inline(always)]
    fn lt(&self, other: &Self) -> bool {
        self.0 < other.0
    }
    #[inline(always)]
    fn le(&self, other: &Self) -> bool {
        self.0 <= other.0
    }
    #[inline(always)]
    fn gt(&self, other: &Self) -> bool {
        self.0 > other.0
    }
    #[inline(always)]
    fn ge(&self, other: &Self) -> bool {
        self.0 >= other.0
    }
}

impl<T: Neg<Output = T>, I> Neg for Lane<T, I> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Lane::new(-self.0)
    }
}

macro_rules! arithmetic {
    ($($trait:ident $method:ident $op:tt;)*) => {$(
        impl<T: $trait<Output = T>, I> $trait for Lane<T, I> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Lane::new(self.0 $op other.0)
            }
        }
    )*};
}

arithmetic! { Add add +; Sub sub -; Mul mul *; Div div /; }

macro_rules! real {
    ($t:ty; $($one:ident = $one_fn:path,)*; $($two:ident = $two_fn:path,)*) => {
        impl<I: Isa> Real for Lane<$t, I> {
            #[inline(always)]
            fn of(value: f64) -> Self {
                Lane::new(value as $t)
            }
            #[inline(always)]
            fn fma(self, b: Self, c: Self) -> Self {
                Lane::new(if I::FMA { self.0.mul_add(b.0, c.0) } else { self.0 * b.0 + c.0 })
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                Lane::new(self.0.copysign(sign.0))
            }
            #[inline(always)]
            fn by_double(self, f: fn(f64) -> f64) -> Self {
                Lane::new(f(f64::from(self.0)) as $t)
            }
            #[inline(always)]
            fn by_doubles(self, other: Self, f: fn(f64, f64) -> f64) -> Self {
                Lane::new(f(f64::from(self.0), f64::from(other.0)) as $t)
            }
            $(
                #[inline(always)]
                fn $one(self) -> Self {
                    Lane::new($one_fn(self.0))
                }
            )*
            $(
                #[inline(always)]
                fn $two(self, other: Self) -> Self {
                    Lane::new($two_fn(self.0, other.0))
                }
            )*
        }
    };
}

real! { f32;
    abs = f32::abs, sqrt = f32::sqrt, floor = f32::floor, ceil = f32::ceil, trunc = f32::trunc,
    round = f32::round_ties_even,
    exp = exponential::exp::<I>, expm1 = exponential::expm1::<I>, ln = exponential::ln::<I>,
    ln_1p = exponential::ln_1p::<I>, log2 = exponential::log2::<I>, log10 = exponential::log10::<I>,
    sinh = exponential::sinh::<I>, cosh = exponential::cosh::<I>, tanh = exponential::tanh::<I>,
    sin = trigonometric::sin::<I>, cos = trigonometric::cos::<I>, tan = trigonometric::tan::<I>,
    asin = trigonometric::asin::<I>, acos = trigonometric::acos::<I>, atan = trigonometric::atan::<I>,
    erf = gauss::erf::<I>, erfc = gauss::erfc::<I>, erfinv = gauss::erfinv::<I>, lgamma = single::lgamma,
    digamma = single::digamma,;
    pow = exponential::pow::<I>, atan2 = trigonometric::atan2::<I>, fmod = trigonometric::fmod::<I>,
    polygamma = single::polygamma, next_after = neighbour::single, next_half = neighbour::half,
    next_bfloat16 = neighbour::bfloat16,
}

real! { f64;
    abs = f64::abs, sqrt = f64::sqrt, floor = f64::floor, ceil = f64::ceil, trunc = f64::trunc,
    round = f64::round_ties_even,
    exp = f64::exp, expm1 = f64::exp_m1, ln = f64::ln, ln_1p = f64::ln_1p, log2 = f64::log2, log10 = f64::log10,
    sinh = f64::sinh, cosh = f64::cosh, tanh = f64::tanh, sin = f64::sin, cos = f64::cos, tan = f64::tan,
    asin = f64::asin, acos = f64::acos, atan = f64::atan, erf = double::erf,
    erfc = special::erfc, erfinv = special::erfinv, lgamma = special::lgamma, digamma = special::digamma,;
    pow = f64::powf, atan2 = f64::atan2, fmod = double::fmod,
    polygamma = special::polygamma_at, next_after = neighbour::double, next_half = neighbour::double,
    next_bfloat16 = neighbour::double,
}

/// Functions that f32 takes from double precision: rare enough to need no vector code.
mod single {
    use super::special;

    pub(crate) fn lgamma(x: f32) -> f32 {
        special::lgamma(x.into()) as f32
    }

    pub(crate) fn digamma(x: f32) -> f32 {
        special::digamma(x.into()) as f32
    }

    pub(crate) fn polygamma(x: f32, order: f32) -> f32 {
        special::polygamma_at(x.into(), order.into()) as f32
    }
}

#[cfg(test)]
mod tests;

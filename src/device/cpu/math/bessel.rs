//! Modified Bessel functions, the scaled complementary error function and the incomplete gamma function, in double
//! precision: series where they converge without cancelling, asymptotic ones beyond. `kernels/scalar.cuh` has the same.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI};

use super::special::{erfc, lgamma};

/// From here on the asymptotic series of Bessel's functions is exact to the last bit or two.
const FAR: f64 = 30.0;
/// From here on that of `erfcx` is.
const TAIL: f64 = 6.5;
/// From this shape on the gamma distribution's cube root is taken for normal.
const NORMAL: f64 = 1e6;
/// Terms that a series may take.
const MOST: u32 = 100_000;

/// The modified Bessel function of the first kind, of order 0.
pub(crate) fn i0(x: f64) -> f64 {
    let size = x.abs();
    if size < FAR { series(size, 0.0) } else { i0e(x) * size.exp() }
}

/// [`i0`] times `exp(-|x|)`.
pub(crate) fn i0e(x: f64) -> f64 {
    let size = x.abs();
    if size < FAR { series(size, 0.0) * (-size).exp() } else { beyond(size, 0.0) }
}

/// That of order 1.
pub(crate) fn i1(x: f64) -> f64 {
    let size = x.abs();
    if size < FAR { 0.5 * x * series(size, 1.0) } else { i1e(x) * size.exp() }
}

/// [`i1`] times `exp(-|x|)`.
pub(crate) fn i1e(x: f64) -> f64 {
    let size = x.abs();
    if size < FAR { 0.5 * x * series(size, 1.0) * (-size).exp() } else { beyond(size, 4.0).copysign(x) }
}

/// `sum (x²/4)^k / (k! (k + order)!)`, whose terms are all positive.
fn series(x: f64, order: f64) -> f64 {
    let quarter = 0.25 * x * x;
    let (mut term, mut sum, mut k) = (1.0, 1.0, 1.0);
    while term > sum * 1e-17 {
        term *= quarter / (k * (k + order));
        sum += term;
        k += 1.0;
    }
    if x.is_nan() { x } else { sum }
}

/// `exp(x) / sqrt(2 pi x)` times a series in `1 / 8x`, without the exponential; `mu` is four times the order's square.
fn beyond(x: f64, mu: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..30 {
        let odd = f64::from(2 * k - 1);
        term *= -(mu - odd * odd) / (f64::from(k) * 8.0 * x);
        sum += term;
    }
    if x.is_infinite() { 0.0 } else { sum / (2.0 * PI * x).sqrt() }
}

/// `exp(x²) erfc(x)`, which neither overflows nor vanishes to the right.
pub(crate) fn erfcx(x: f64) -> f64 {
    if x < 0.0 {
        // Beyond, the exponential overflows anyway.
        return if x < -27.0 { f64::INFINITY } else { 2.0 * grown(x) - erfcx(-x) };
    }
    if x < TAIL {
        return grown(x) * erfc(x);
    }
    let inverse = 0.5 / (x * x);
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..30 {
        let next = -term * f64::from(2 * k - 1) * inverse;
        if next.abs() >= term.abs() {
            break;
        }
        term = next;
        sum += term;
    }
    0.5 * FRAC_2_SQRT_PI * sum / x
}

/// The logarithm of the normal distribution's share below `x`.
pub(crate) fn log_ndtr(x: f64) -> f64 {
    let at = x * FRAC_1_SQRT_2;
    if x < -1.0 { (0.5 * erfcx(-at)).ln() - at * at } else { (-0.5 * erfc(at)).ln_1p() }
}

/// `exp(x²)`, with what the square is rounded by.
fn grown(x: f64) -> f64 {
    let square = x * x;
    square.exp() * (1.0 + x.mul_add(x, -square))
}

/// The regularised lower incomplete gamma function.
pub(crate) fn gamma_below(a: f64, x: f64) -> f64 {
    share(a, x).map_or_else(|value| value, |(below, part)| if below { part } else { 1.0 - part })
}

/// The regularised upper one.
pub(crate) fn gamma_above(a: f64, x: f64) -> f64 {
    share(a, x).map_or_else(|value| 1.0 - value, |(below, part)| if below { 1.0 - part } else { part })
}

/// One of the two, and whether it is the lower one; the lower one's value where that needs no computing.
fn share(a: f64, x: f64) -> Result<(bool, f64), f64> {
    if a.is_nan() || x.is_nan() || a < 0.0 || x < 0.0 || (a == 0.0 && x == 0.0) {
        return Err(f64::NAN);
    }
    if x == 0.0 || a.is_infinite() {
        return Err(if a.is_infinite() && x.is_infinite() { f64::NAN } else { 0.0 });
    }
    if a == 0.0 || x.is_infinite() {
        return Err(1.0);
    }
    // The cube root of what is distributed so is nearly normal (Wilson and Hilferty), to 5e-9 from here on, where
    // the series is long and the logarithms below begin to cancel.
    if a > NORMAL {
        let cube = (((x - a) / a).ln_1p() / 3.0).exp_m1();
        return Ok((false, 0.5 * erfc(3.0 * (0.5 * a).sqrt() * (cube + 1.0 / (9.0 * a)))));
    }
    let front = (a * x.ln() - x - lgamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        for _ in 0..MOST {
            n += 1.0;
            term *= x / n;
            sum += term;
            if term <= sum * 1e-17 {
                break;
            }
        }
        return Ok((true, front * sum));
    }
    Ok((false, front * fraction(a, x)))
}

/// Its continued fraction, by Lentz's method.
fn fraction(a: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut value = d;
    for i in 1..MOST {
        let i = f64::from(i);
        let by = -i * (i - a);
        b += 2.0;
        let below = by * d + b;
        d = 1.0 / if below.abs() < TINY { TINY } else { below };
        let above = b + by / c;
        c = if above.abs() < TINY { TINY } else { above };
        let step = d * c;
        value *= step;
        if (step - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}

//! Special functions in double precision: the gamma function's relatives and the inverse of the error function.
//!
//! They follow the textbook expansions (Abramowitz and Stegun, chapters 6, 7 and 23) and give PyTorch's values at
//! poles, zeros and infinities.

use std::f64::consts::{FRAC_2_SQRT_PI, PI};

use super::double::erf;

/// `1 - erf(x)`, accurate where that is small.
pub fn erfc(x: f64) -> f64 {
    if x < 1.0 || x.is_nan() {
        return 1.0 - erf(x);
    }
    if x > 27.5 {
        return 0.0;
    }
    // The continued fraction of A&S 7.1.14, from its far end; it converges faster the larger x is.
    let terms = (200.0 / (x * x)) as usize + 12;
    let fraction = (1..=terms).rev().fold(x, |rest, n| x + 0.5 * n as f64 / rest);
    let square = x * x;
    let rounding = x.mul_add(x, -square);
    (-square).exp() * (1.0 - rounding) * 0.5 * FRAC_2_SQRT_PI / fraction
}

/// The `x` whose error function is `y`; infinite at -1 and 1, NaN outside.
pub fn erfinv(y: f64) -> f64 {
    let size = y.abs();
    if size >= 1.0 || y.is_nan() {
        return if size == 1.0 { f64::INFINITY.copysign(y) } else { f64::NAN };
    }
    if size < 1e-9 {
        return y / FRAC_2_SQRT_PI;
    }
    // Winitzki's closed form is within a few thousandths; each step of Halley's triples the digits.
    const SHAPE: f64 = 0.147;
    let log = (-size * size).ln_1p();
    let half = 2.0 / (PI * SHAPE) + 0.5 * log;
    let mut x = ((half * half - log / SHAPE).sqrt() - half).sqrt();
    for _ in 0..3 {
        let miss = if size < 0.5 { erf(x) - size } else { (1.0 - size) - erfc(x) };
        let step = miss / (FRAC_2_SQRT_PI * (-x * x).exp());
        x -= step / (1.0 + x * step);
    }
    x.copysign(y)
}

/// From here on the asymptotic series below are exact to double precision.
const FAR: f64 = 12.0;

/// Even Bernoulli numbers, from the second on.
const BERNOULLI: [f64; 8] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
];

/// The logarithm of the absolute value of the gamma function; infinite at its poles.
pub fn lgamma(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x.is_infinite() || (x <= 0.0 && x == x.floor()) {
        return f64::INFINITY;
    }
    if x == 1.0 || x == 2.0 {
        return 0.0;
    }
    if x < 0.5 {
        return (PI / (PI * (x - x.round())).sin().abs()).ln() - lgamma(1.0 - x);
    }
    let (mut at, mut below) = (x, 1.0);
    while at < FAR {
        below *= at;
        at += 1.0;
    }
    let inverse = 1.0 / at;
    let series: f64 = BERNOULLI
        .iter()
        .zip(1..)
        .map(|(b, k)| b / f64::from(2 * k * (2 * k - 1)) * inverse.powi(2 * k - 1))
        .sum();
    (at - 0.5) * at.ln() - at + 0.5 * (2.0 * PI).ln() + series - below.ln()
}

/// The derivative of [`lgamma`]; NaN at the negative integers, infinite at zero.
pub fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return f64::INFINITY.copysign(-x);
    }
    if x < 0.0 {
        return if x == x.floor() { f64::NAN } else { digamma(1.0 - x) - PI / (PI * (x - x.round())).tan() };
    }
    let (mut at, mut below) = (x, 0.0);
    while at < FAR {
        below += 1.0 / at;
        at += 1.0;
    }
    let inverse = 1.0 / (at * at);
    let series: f64 = BERNOULLI.iter().zip(1..).map(|(b, k)| b / f64::from(2 * k) * inverse.powi(k)).sum();
    at.ln() - 0.5 / at - series - below
}

/// The `n`-th derivative of [`digamma`] at `x`, `(-1)^(n+1) n! zeta(n + 1, x)`.
pub fn polygamma_at(x: f64, n: f64) -> f64 {
    if n == 0.0 {
        return digamma(x);
    }
    let sign = if n % 2.0 == 0.0 { -1.0 } else { 1.0 };
    sign * lgamma(n + 1.0).exp() * zeta(n + 1.0, x)
}

/// Hurwitz's zeta function for a whole `s` above 1, by Euler's and Maclaurin's sum.
fn zeta(s: f64, q: f64) -> f64 {
    if q.is_nan() {
        return q;
    }
    if q <= 0.0 && q == q.floor() {
        return f64::INFINITY;
    }
    if q < -1e6 {
        return f64::NAN;
    }
    let (mut at, mut sum) = (q, 0.0);
    while at < FAR {
        sum += at.powf(-s);
        at += 1.0;
    }
    let mut factor = at.powf(-s);
    sum += factor * at / (s - 1.0) + 0.5 * factor;
    let mut rising = s;
    for (b, k) in BERNOULLI.iter().zip(1..) {
        factor /= at;
        let even = f64::from(2 * k);
        sum += b * rising * factor / factorial(2 * k);
        rising *= (s + even - 1.0) * (s + even);
        factor /= at;
    }
    sum
}

fn factorial(n: i32) -> f64 {
    (1..=n).map(f64::from).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, want: f64) {
        assert!((got - want).abs() <= 4e-14 * want.abs().max(1e-300), "{got:e}, not {want:e}");
    }

    #[test]
    fn known_values() {
        near(erfc(0.5), 0.479_500_122_186_953_5);
        near(erfc(1.5), 0.033_894_853_524_689_27);
        near(erfc(3.0), 2.209_049_699_858_544e-5);
        near(erfc(10.0), 2.088_487_583_762_545e-45);
        near(erfinv(0.5), 0.476_936_276_204_469_9);
        near(erfinv(-0.999_999), -3.458_910_737_275_499);
        near(lgamma(0.5), 0.572_364_942_924_700_1);
        near(lgamma(10.0), 12.801_827_480_081_469);
        near(lgamma(-1.5), 0.860_047_015_376_481);
        near(digamma(1.0), -0.577_215_664_901_532_9);
        near(digamma(-0.5), 0.036_489_973_978_576_52);
        near(polygamma_at(1.0, 1.0), PI * PI / 6.0);
        near(polygamma_at(1.0, 2.0), -2.404_113_806_319_188_4);
        near(polygamma_at(-0.5, 1.0), 8.934_802_200_544_679);
    }

    #[test]
    fn poles_and_infinities() {
        assert_eq!(erfinv(1.0), f64::INFINITY);
        assert_eq!(erfinv(-1.0), f64::NEG_INFINITY);
        assert!(erfinv(1.5).is_nan() && digamma(-3.0).is_nan() && lgamma(f64::NAN).is_nan());
        assert_eq!(lgamma(-2.0), f64::INFINITY);
        assert_eq!(digamma(0.0), f64::NEG_INFINITY);
        assert_eq!(erfc(f64::INFINITY), 0.0);
    }

    #[test]
    fn erfinv_undoes_erf() {
        for i in -40..=40 {
            let x = f64::from(i) / 8.0;
            let back = erfinv(erf(x));
            let slope = FRAC_2_SQRT_PI * (-x * x).exp();
            assert!((back - x).abs() <= 1e-15 / slope + 1e-14 * x.abs(), "{x}: {back}");
        }
    }
}

//! Special functions in double precision: the gamma function's relatives and the inverse of the error function.
//!
//! They follow the textbook expansions (Abramowitz and Stegun, chapters 6, 7 and 23) and give PyTorch's values at
//! poles, zeros and infinities.

use std::f64::consts::{FRAC_2_SQRT_PI, PI};

use super::double::{erf, scaled_erfc};

/// `1 - erf(x)`, accurate where that is small.
pub(crate) fn erfc(x: f64) -> f64 {
    if x < 1.0 || x.is_nan() {
        return 1.0 - erf(x);
    }
    if x > 27.5 {
        return 0.0;
    }
    let scaled = if x <= 6.0 {
        scaled_erfc(x)
    } else {
        // The continued fraction of A&S 7.1.14, from its far end; it converges faster the larger x is.
        let terms = (200.0 / (x * x)) as usize + 12;
        let fraction = (1..=terms).rev().fold(x, |rest, n| x + 0.5 * n as f64 / rest);
        0.5 * FRAC_2_SQRT_PI / fraction
    };
    // exp(-x²) by a part of x whose square is exact, and a few terms of the series for the rest.
    let part = f64::from_bits(x.to_bits() & !0x07ff_ffff);
    let rest = (x - part) * (x + part);
    (-part * part).exp() * (1.0 - rest * (1.0 - rest * (0.5 - rest / 6.0))) * scaled
}

/// The `x` whose error function is `y`; infinite at -1 and 1, NaN outside.
pub fn erfinv(y: f64) -> f64 {
    let size = y.abs();
    if size >= 1.0 || y.is_nan() {
        return if size == 1.0 { f64::INFINITY.copysign(y) } else { f64::NAN };
    }
    let w = -((1.0 - size) * (1.0 + size)).ln();
    y * if w < 6.0 { ratio(w, &CENTRE) } else { ratio(w.sqrt() - 2.4, &TAIL) }
}

/// A quotient of polynomials, their constant terms first.
fn ratio<const N: usize, const M: usize>(x: f64, (above, below): &([f64; N], [f64; M])) -> f64 {
    let at = |terms: &[f64]| terms.iter().rev().fold(0.0, |sum, term| sum * x + term);
    at(above) / at(below)
}

/// `erfinv(x) / x` in `w = -ln(1 - x²)`, as M. Giles approximates it, up to 6; a minimax fit of our own, within 4e-18.
const CENTRE: ([f64; 10], [f64; 9]) = (
    [
        0.886226925452758,
        0.31511473200492807,
        0.0815806173159287,
        0.01502286891011135,
        0.002051974399757898,
        0.00021323229900762478,
        1.6348133772460655e-05,
        8.488075828241812e-07,
        2.440102340162026e-08,
        1.703539687966733e-10,
    ],
    [
        1.0,
        0.09376951104009654,
        0.05447303148392564,
        0.004103358326870819,
        0.0009228067066893596,
        5.0024009209161144e-05,
        4.795628735389523e-06,
        1.3849698599598123e-07,
        3.1557307033604945e-09,
    ],
);

/// The same in `sqrt(w) - 2.4` from there to the last number before 1, within 5e-17.
const TAIL: ([f64; 12], [f64; 11]) = (
    [
        2.2381030361967307,
        2.645433442732707,
        2.7615488236287318,
        1.8980429288355662,
        1.1451973205628134,
        0.5526896647466673,
        0.2339600164020269,
        0.08269245788600967,
        0.025171264035556022,
        0.006253502004560885,
        0.001220686569594232,
        0.00013033031818651856,
    ],
    [
        1.0,
        0.7467084783442653,
        0.8884215812215308,
        0.46356186036199554,
        0.29547402933761296,
        0.11892445243987972,
        0.049407348261966855,
        0.015284161105212147,
        0.004242200313066619,
        0.0009115076013493464,
        0.00013028185368286005,
    ],
);

/// From here on the asymptotic series below are exact to double precision.
const FAR: f64 = 12.0;

/// A series in `1 / x²`, by coefficients of the Bernoulli numbers, for large `x`.
fn series(x: f64, terms: &[f64; 8]) -> f64 {
    let inverse = 1.0 / (x * x);
    terms.iter().rev().fold(0.0, |sum, term| sum * inverse + term)
}

/// The logarithm of the absolute value of the gamma function; infinite at its poles.
pub(crate) fn lgamma(x: f64) -> f64 {
    // `B(2k) / (2k (2k - 1))` (A&S 6.1.40).
    const TERMS: [f64; 8] = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1260.0,
        -1.0 / 1680.0,
        1.0 / 1188.0,
        -691.0 / 360_360.0,
        1.0 / 156.0,
        -3617.0 / 122_400.0,
    ];
    if x.is_nan() {
        return x;
    }
    if x.is_infinite() || (x <= 0.0 && x == x.floor()) {
        return f64::INFINITY;
    }
    if x == 1.0 || x == 2.0 {
        return 0.0;
    }
    if x < 0.0 && x > -1e-300 {
        return -(-x).ln();
    }
    if x < 0.0 {
        return (PI / (PI * (x - x.round())).sin().abs()).ln() - lgamma(1.0 - x);
    }
    if x < 0.5 {
        return beyond_two(x) - (x * (1.0 + x)).ln();
    }
    if x < 1.5 {
        return beyond_two(x - 1.0) - (x - 1.0).ln_1p();
    }
    // From here on the series below is exact, too.
    if x < 8.0 {
        let (mut at, mut above) = (x, 1.0);
        while at > 2.5 {
            at -= 1.0;
            above *= at;
        }
        return above.ln() + beyond_two(at - 2.0);
    }
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + series(x, &TERMS) / x
}

/// `lgamma(2 + z)` for `z` between -1/2 and 1/2, which keeps all digits near 0.
fn beyond_two(z: f64) -> f64 {
    z * ratio(z, &NEAR_TWO)
}

/// `lgamma(2 + z) / z`; a minimax fit of our own, within 1e-18.
const NEAR_TWO: ([f64; 7], [f64; 7]) = (
    [
        0.42278433509846713,
        0.9513753125520131,
        0.7656242194506884,
        0.28263105677969136,
        0.049069876021627934,
        0.0035416960679714453,
        6.963484688874827e-05,
    ],
    [
        1.0,
        1.4875392177939284,
        0.8356368306729475,
        0.21943601043913286,
        0.02687387046949631,
        0.001307957543116751,
        1.5026736970386221e-05,
    ],
);

/// The derivative of [`lgamma`]; NaN at the negative integers, infinite at zero.
pub(crate) fn digamma(x: f64) -> f64 {
    // `B(2k) / 2k` (A&S 6.3.18).
    const TERMS: [f64; 8] = [
        1.0 / 12.0,
        -1.0 / 120.0,
        1.0 / 252.0,
        -1.0 / 240.0,
        1.0 / 132.0,
        -691.0 / 32_760.0,
        1.0 / 12.0,
        -3617.0 / 8160.0,
    ];
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
    at.ln() - 0.5 / at - series(at, &TERMS) / (at * at) - below
}

/// The `n`-th derivative of [`digamma`] at `x`, `(-1)^(n+1) n! zeta(n + 1, x)`.
pub(crate) fn polygamma_at(x: f64, n: f64) -> f64 {
    if n == 0.0 {
        return digamma(x);
    }
    if n == 1.0 && x == f64::INFINITY {
        return 0.0;
    }
    let sign = if n % 2.0 == 0.0 { -1.0 } else { 1.0 };
    let factorial = if n <= 20.0 { (1..=n as i32).map(f64::from).product() } else { lgamma(n + 1.0).exp() };
    sign * factorial * zeta(n + 1.0, x)
}

/// Hurwitz's zeta function, as PyTorch bounds it.
pub(crate) fn hurwitz(s: f64, q: f64) -> f64 {
    if s == 1.0 {
        return f64::INFINITY;
    }
    if s < 1.0 {
        return f64::NAN;
    }
    if q <= 0.0 && q == q.floor() {
        return f64::INFINITY;
    }
    if s.is_nan() || q.is_infinite() || (q < 0.0 && s != s.floor()) {
        return f64::NAN;
    }
    if s.is_infinite() { q.powf(-s) } else { zeta(s, q) }
}

/// Hurwitz's zeta function for `s` above 1, a whole one where `q` is negative, by Euler's and Maclaurin's sum.
fn zeta(s: f64, q: f64) -> f64 {
    // `B(2k) / (2k)!` (A&S 23.1.30).
    const TERMS: [f64; 8] = [
        1.0 / 12.0,
        -1.0 / 720.0,
        1.0 / 30_240.0,
        -1.0 / 1_209_600.0,
        1.0 / 47_900_160.0,
        -691.0 / 1_307_674_368_000.0,
        1.0 / 74_724_249_600.0,
        -3617.0 / 10_670_622_842_880_000.0,
    ];
    if q.is_nan() {
        return q;
    }
    if q <= 0.0 && q == q.floor() {
        return f64::INFINITY;
    }
    if q < -FAR {
        // What lies below 0 mirrors a stretch above it: terms `-(1 - f), -(2 - f), …, q` for a fraction `f`.
        let f = q - q.floor();
        let sign = if s % 2.0 == 0.0 { 1.0 } else { -1.0 };
        // In this order what nearly cancels does so without loss to the small rest.
        return zeta(s, f) + sign * zeta(s, 1.0 - f) - sign * zeta(s, 1.0 - q);
    }
    // The one that trigamma takes is worth a way of its own.
    let power = |at: f64| if s == 2.0 { 1.0 / (at * at) } else { at.powf(-s) };
    let (mut at, mut sum) = (q, 0.0);
    while at < FAR {
        sum += power(at);
        at += 1.0;
    }
    let (inverse, mut rising) = (1.0 / at, s);
    let mut factor = power(at);
    // Squares of large numbers are beyond what a float holds.
    let leading = if s == 2.0 { inverse } else { factor * at / (s - 1.0) };
    sum += leading + 0.5 * factor;
    factor *= inverse;
    for (term, k) in TERMS.iter().zip(1..) {
        sum += term * rising * factor;
        let even = f64::from(2 * k);
        rising *= (s + even - 1.0) * (s + even);
        factor *= inverse * inverse;
    }
    sum
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
        near(lgamma(-1e-310), 713.801_378_828_154_1);
        near(digamma(1.0), -0.577_215_664_901_532_9);
        near(digamma(-0.5), 0.036_489_973_978_576_52);
        near(polygamma_at(1.0, 1.0), PI * PI / 6.0);
        near(polygamma_at(1e160, 1.0), 1e-160);
        near(polygamma_at(1.0, 2.0), -2.404_113_806_319_188_4);
        near(polygamma_at(-0.5, 1.0), 8.934_802_200_544_679);
    }

    #[test]
    fn digits_are_kept_near_zeros_and_far_below_zero() {
        near(lgamma(1.000_000_1), -5.772_155_829_918_507_1e-8);
        near(lgamma(0.9999), 0.000_057_729_791_561_193_863);
        near(lgamma(2.000_001), 4.227_846_576_245_292_4e-7);
        near(lgamma(1.9), -0.038_984_275_923_083_36);
        near(lgamma(1.3), -0.108_174_809_507_860_48);
        near(lgamma(2.7), 0.434_820_553_655_104_7);
        near(lgamma(7.5), 7.534_364_236_758_733);
        near(polygamma_at(-13.7, 1.0), 15.009_020_221_339_517);
        near(polygamma_at(-13.7, 2.0), -68.842_496_916_944_23);
        near(polygamma_at(-1_000_000.5, 1.0), 9.869_603_401_090_358);
        near(polygamma_at(-1_000_000.5, 2.0), -9.999_980_000_027_5e-13);
        near(polygamma_at(-12_345_678.75, 2.0), -124.025_106_721_199_29);
        near(polygamma_at(-12_345_678.75, 3.0), 1_558.545_456_544_039);
    }

    /// Against values computed with 60 digits.
    #[track_caller]
    fn all_near(f: impl Fn(f64) -> f64, most: f64, values: &[(f64, f64)]) {
        for &(x, want) in values {
            let got = f(x);
            assert!((got - want).abs() <= most * want.abs(), "at {x:e}: {got:e}, not {want:e}");
        }
    }

    #[test]
    fn erfinv_keeps_all_digits_over_its_range() {
        let values = [
            (1e-300, 8.86226925452758e-301),
            (1e-20, 8.86226925452758e-21),
            (1e-8, 8.86226925452758e-09),
            (0.001, 0.0008862271574665521),
            (0.25, 0.2253120550121781),
            (0.5, 0.4769362762044699),
            (0.75, 0.8134198475976185),
            (0.9, 1.1630871536766743),
            (0.99, 1.8213863677184494),
            // On both sides of where the fits meet.
            (0.9975, 2.1378252338818555),
            (0.9976, 2.146544515902623),
            (0.999, 2.3267537655135246),
            (0.999999, 3.458910737275499),
            (0.99999999999, 4.812924058944833),
            (1.0 - f64::EPSILON / 2.0, 5.8635847487551676),
        ];
        all_near(erfinv, 2e-15, &values);
        all_near(|x| -erfinv(-x), 2e-15, &values);
        assert!(erfinv(-0.0) == 0.0 && erfinv(-0.0).is_sign_negative() && erfinv(f64::NAN).is_nan());
    }

    #[test]
    fn erfc_keeps_all_digits_where_it_is_small() {
        let values = [
            (-7.0, 2.0),
            (-0.5, 1.5204998778130465),
            (1e-300, 1.0),
            (0.3, 0.6713732405408726),
            (0.999, 0.15771472979350307),
            (1.0, 0.15729920705028513),
            (1.25, 0.07709987174354177),
            (2.7, 0.0001343327399405242),
            (4.2, 2.8554941795921843e-09),
            (5.999, 2.1783043429548017e-17),
            (6.0, 2.1519736712498913e-17),
            (6.1, 6.3146021501937184e-18),
            (9.7, 7.936107563214511e-43),
            (15.3, 7.9765601254207e-104),
            (26.5, 2.2109076642637343e-307),
        ];
        all_near(erfc, 2e-15, &values);
        assert!(erfc(f64::NAN).is_nan() && erfc(f64::NEG_INFINITY) == 2.0);
    }

    #[test]
    fn the_gamma_function_s_relatives_keep_their_digits() {
        let values = [
            (1e-300, 690.7755278982137),
            (1e-10, 23.025850929882736),
            (0.01, 4.599479878042022),
            (0.3, 1.0957979948180756),
            (0.499, 0.5743309231606863),
            (0.75, 0.20328095143129538),
            (1.2, -0.08537409000331583),
            (2.5, 0.2846828704729192),
            (3.9, 1.6675803472417396),
            (7.9, 8.32426586800881),
            (8.1, 8.72738826343204),
            (11.5, 16.292000476567242),
            (33.3, 82.60372358165495),
            (1e10, 220258509288.81058),
            (-0.3, 1.4648400508576025),
            (-0.001, 6.908333317515028),
            (-4.7, -2.9273024136818373),
        ];
        all_near(lgamma, 3e-15, &values);
        let values = [
            (0.001, -1000.5755719318103),
            (0.7, -1.2200235536979347),
            (1.4, -0.06138454458511624),
            (3.3, 1.0348224890596216),
            (11.9, 2.4339335368825377),
            (12.1, 2.4513143481743374),
            (100.5, 4.605174352581845),
            (-3.3, 3.620353460592126),
        ];
        all_near(digamma, 2e-14, &values);
        let values = [
            (0.001, 1000001.6425331958),
            (0.3, 12.245364546107732),
            (2.5, 0.49035775610023485),
            (11.9, 0.08766320119000419),
            (40.5, 0.02499869820135674),
            (-2.3, 14.725912160961292),
        ];
        all_near(|x| polygamma_at(x, 1.0), 2e-15, &values);
        for (n, x, want) in [
            (2.0, 0.3, -75.27253658872604),
            (3.0, 4.5, 0.030322508542366587),
            (5.0, 1.5, 11.113548602435497),
            (20.0, 3.0, -233141556.11225682),
            (21.0, 3.0, 1631008138.5877748),
        ] {
            near(polygamma_at(x, n), want);
        }
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

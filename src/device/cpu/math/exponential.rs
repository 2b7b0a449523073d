//! Exponentials, logarithms, powers and hyperbolic functions in f32.
//!
//! Coefficients are minimax fits of our own over the reduced ranges, rounded one after another.

use crate::device::cpu::math::steps::{fma, fma64, polynomial, polynomial64, power_of_two};

use super::super::isa::Isa;

/// Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
const ROUND: f32 = 12_582_912.0;
/// ln 2 in two parts; the first has 9 bits, so that its product with an exponent is exact.
const LN2_HIGH: f32 = 0.693_359_375;
const LN2_LOW: f32 = -2.121_944_4e-4;
const SQRT_HALF_BITS: u32 = 0x3f35_04f3;

/// `x = n * ln 2 + r` with `r` within half of `ln 2`; gives `n` and `r`.
#[inline(always)]
fn split<I: Isa>(x: f32) -> (i32, f32) {
    let shifted = fma::<I>(x, std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = fma::<I>(n, -LN2_LOW, fma::<I>(n, -LN2_HIGH, x));
    (shifted.to_bits().wrapping_sub(ROUND.to_bits()) as i32, r)
}

/// Keeps NaN.
#[inline(always)]
fn clamp(x: f32, low: f32, high: f32) -> f32 {
    let x = if x > high { high } else { x };
    if x < low { low } else { x }
}

#[inline(always)]
pub(super) fn exp<I: Isa>(x: f32) -> f32 {
    // Beyond these the result is 0 or infinite in any case.
    let (n, r) = split::<I>(clamp(x, -104.0, 89.0));
    let tail =
        polynomial::<I, 5>(r, [4.999_999_4e-1, 1.666_651_7e-1, 4.166_828e-2, 8.369_249e-3, 1.382_077_5e-3]);
    let value = 1.0 + fma::<I>(r * r, tail, r);
    // In two steps, since 2^n alone may overflow or be subnormal.
    let half = n >> 1;
    value * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

#[inline(always)]
pub(crate) fn expm1<I: Isa>(x: f32) -> f32 {
    let (n, r) = split::<I>(clamp(x, -20.0, 88.8));
    let tail = polynomial::<I, 6>(
        r,
        [0.5, 1.666_666_6e-1, 4.166_648_5e-2, 8.333_541e-3, 1.393_322_8e-3, 1.976_699_4e-4],
    );
    let value = fma::<I>(r * r, tail, r);
    let scale = power_of_two(n.wrapping_sub(1));
    let whole = 2.0 * fma::<I>(scale, value, scale - 0.5);
    if x.abs() < 1e-8 { x } else { whole }
}

/// `x = m * 2^n` with `m` between the square roots of a half and of 2; gives `n` and `m`.
#[inline(always)]
fn normalise(x: f32) -> (i32, f32) {
    let tiny = x < f32::MIN_POSITIVE;
    let bits = (if tiny { x * 8_388_608.0 } else { x }).to_bits();
    let shifted = bits.wrapping_sub(SQRT_HALF_BITS);
    let n = (shifted as i32) >> 23;
    let m = f32::from_bits((shifted & 0x007f_ffff).wrapping_add(SQRT_HALF_BITS));
    (if tiny { n.wrapping_sub(23) } else { n }, m)
}

/// What `ln(1 + f)` has beyond `f`.
#[inline(always)]
fn ln_tail<I: Isa>(f: f32) -> f32 {
    let terms = [
        3.333_331_3e-1,
        -2.500_000_9e-1,
        2.000_207_6e-1,
        -1.666_799_3e-1,
        1.422_020_8e-1,
        -1.240_600_4e-1,
        1.188_476_6e-1,
        -1.167_243_5e-1,
        6.749_129e-2,
    ];
    f * (f * f) * polynomial::<I, 9>(f, terms)
}

/// The values of logarithms where there is no number.
#[inline(always)]
fn logarithm_at(x: f32, value: f32) -> f32 {
    let at_edge = if x == 0.0 { f32::NEG_INFINITY } else { f32::NAN };
    let inside = if x == f32::INFINITY { x } else { value };
    if x > 0.0 { inside } else { at_edge }
}

#[inline(always)]
pub(super) fn ln<I: Isa>(x: f32) -> f32 {
    let (n, m) = normalise(x);
    let (n, f) = (n as f32, m - 1.0);
    let tail = fma::<I>(-0.5 * f, f, fma::<I>(n, LN2_LOW, ln_tail::<I>(f)));
    logarithm_at(x, fma::<I>(n, LN2_HIGH, f + tail))
}

#[inline(always)]
pub(crate) fn ln_1p<I: Isa>(x: f32) -> f32 {
    // 1 + x = sum + lost, exactly.
    let sum = 1.0 + x;
    let part = sum - 1.0;
    let lost = (x - part) + (1.0 - (sum - part));
    let (n, m) = normalise(sum);
    let scale = f32::from_bits((127i32.wrapping_sub(n).max(0) as u32) << 23);
    let f = fma::<I>(lost, scale, m - 1.0);
    let n = n as f32;
    let tail = fma::<I>(-0.5 * f, f, fma::<I>(n, LN2_LOW, ln_tail::<I>(f)));
    let value = logarithm_at(sum, fma::<I>(n, LN2_HIGH, f + tail));
    if x.abs() < 1e-8 { x } else { value }
}

#[inline(always)]
pub(crate) fn log2<I: Isa>(x: f32) -> f32 {
    const EXCESS: f32 = std::f32::consts::LOG2_E - 1.0;
    let (n, m) = normalise(x);
    let f = m - 1.0;
    let tail = fma::<I>(-0.5 * f, f, ln_tail::<I>(f));
    // log2(e) * (f + tail), its 1 apart so that f enters without rounding.
    let small = fma::<I>(tail, EXCESS, f * EXCESS) + tail;
    logarithm_at(x, small + f + n as f32)
}

#[inline(always)]
pub(super) fn log10<I: Isa>(x: f32) -> f32 {
    // log10(2) and log10(e), each in a short part and the rest.
    const TWO: (f32, f32) = (0.300_781_25, 2.487_456_7e-4);
    const E: (f32, f32) = (0.433_593_75, 7.007_319e-4);
    let (n, m) = normalise(x);
    let (n, f) = (n as f32, m - 1.0);
    let tail = fma::<I>(-0.5 * f, f, ln_tail::<I>(f));
    let small = fma::<I>(tail, E.1, fma::<I>(f, E.1, n * TWO.1));
    logarithm_at(x, fma::<I>(n, TWO.0, fma::<I>(f, E.0, fma::<I>(tail, E.0, small))))
}

/// C's `pow`, through f64.
#[inline(always)]
pub(super) fn pow<I: Isa>(base: f32, exponent: f32) -> f32 {
    let size = base.abs();
    let product = log2_wide::<I>(f64::from(size)) * f64::from(exponent);
    let magnitude = if size == 1.0 { 1.0 } else { exp2_wide::<I>(product) as f32 };
    let rising = exponent > 0.0;
    let edge = if rising == (size == 0.0) { 0.0 } else { f32::INFINITY };
    let at_edge = size == 0.0 || size == f32::INFINITY;
    let magnitude = if at_edge { edge } else { magnitude };
    let half = exponent * 0.5;
    let whole = exponent.trunc() == exponent;
    let odd = whole && half.trunc() != half;
    let negative = base.is_sign_negative();
    let signed = if negative && odd { -magnitude } else { magnitude };
    let defined = !negative || whole || at_edge;
    let value = if defined && !base.is_nan() && !exponent.is_nan() { signed } else { f32::NAN };
    if exponent == 0.0 || base == 1.0 { 1.0 } else { value }
}

const ROUND_WIDE: f64 = 6_755_399_441_055_744.0;

/// Of normal positive numbers, to what f32 needs.
#[inline(always)]
pub(super) fn log2_wide<I: Isa>(x: f64) -> f64 {
    const SQRT_HALF_WIDE: u64 = 0x3fe6_a09e_667f_3bcd;
    let shifted = x.to_bits().wrapping_sub(SQRT_HALF_WIDE);
    let n = ((shifted as i64) >> 52) as i32;
    let m = f64::from_bits((shifted & 0x000f_ffff_ffff_ffff).wrapping_add(SQRT_HALF_WIDE));
    let s = (m - 1.0) / (m + 1.0);
    let terms = [
        2.885_390_081_777_926_3,
        0.961_796_693_925_452_1,
        0.577_078_016_922_563_8,
        0.412_198_440_847_331_54,
        0.320_614_162_468_441_43,
        0.261_505_037_469_033_03,
        0.242_280_587_253_775_08,
    ];
    fma64::<I>(s, polynomial64::<I, 7>(s * s, terms), f64::from(n))
}

/// To what f32 needs; beyond its range the result stays outside.
#[inline(always)]
pub(super) fn exp2_wide<I: Isa>(x: f64) -> f64 {
    let x = if x > 160.0 { 160.0 } else { x };
    let x = if x < -160.0 { -160.0 } else { x };
    let shifted = x + ROUND_WIDE;
    let r = x - (shifted - ROUND_WIDE);
    let terms = [
        0.999_999_999_961_073_5,
        0.693_147_180_731_160_4,
        0.240_226_512_041_551_3,
        0.055_504_103_472_515_02,
        0.009_618_026_442_364_157,
        0.001_333_392_550_614_260_9,
        0.000_154_695_530_487_038_76,
        1.520_171_134_895_387_5e-5,
    ];
    let scale = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    polynomial64::<I, 8>(r, terms) * scale
}

#[inline(always)]
pub(crate) fn sinh<I: Isa>(x: f32) -> f32 {
    let size = x.abs();
    let rise = expm1::<I>(size);
    let half = exp::<I>(0.5 * size);
    let value = if size > 88.0 { 0.5 * half * half } else { 0.5 * (rise + rise / (rise + 1.0)) };
    value.copysign(x)
}

#[inline(always)]
pub(crate) fn cosh<I: Isa>(x: f32) -> f32 {
    let size = x.abs();
    let e = exp::<I>(size);
    let half = exp::<I>(0.5 * size);
    if size > 88.0 { 0.5 * half * half } else { fma::<I>(0.5, e, 0.5 / e) }
}

#[inline(always)]
pub(super) fn tanh<I: Isa>(x: f32) -> f32 {
    let size = x.abs();
    let z = size * size;
    let terms =
        [-3.333_333e-1, 1.333_322_1e-1, -5.394_818_3e-2, 2.170_694_6e-2, -8.190_235e-3, 2.152_978_7e-3];
    let small = fma::<I>(size * z, polynomial::<I, 6>(z, terms), size);
    let large = 1.0 - 2.0 / (exp::<I>(2.0 * size) + 1.0);
    (if size < 0.625 { small } else { large }).copysign(x)
}

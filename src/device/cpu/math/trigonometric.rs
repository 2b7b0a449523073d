//! Circular functions and their inverses, and the remainder of a division, in f32.

use crate::device::cpu::math::steps::{fma, fma64, polynomial};

use super::super::isa::Isa;

/// Arguments of sin, cos and tan beyond this need [`super::Real`] for `Lane<f32, Careful>`.
pub(crate) const LARGEST_ANGLE: f32 = 1e6;

/// `x = n * pi/2 + r`; gives `r` and the low bits of `n`.
#[inline(always)]
fn quadrant<I: Isa>(x: f32) -> (f32, i32) {
    const ROUND: f64 = 6_755_399_441_055_744.0;
    // pi/2 in two parts; the first has 33 bits, so that its product with n is exact.
    const HIGH: f64 = 1.570_796_326_734_125_6;
    const LOW: f64 = 6.077_100_506_506_192e-11;
    let x = f64::from(x);
    let shifted = fma64::<I>(x, std::f64::consts::FRAC_2_PI, ROUND);
    let n = shifted - ROUND;
    let r = fma64::<I>(n, -LOW, fma64::<I>(n, -HIGH, x));
    (r as f32, shifted.to_bits() as i32)
}

#[inline(always)]
fn sine<I: Isa>(r: f32) -> f32 {
    let z = r * r;
    fma::<I>(r * z, polynomial::<I, 3>(z, [-1.666_665_5e-1, 8.332_187e-3, -1.951_790_8e-4]), r)
}

#[inline(always)]
fn cosine<I: Isa>(r: f32) -> f32 {
    let z = r * r;
    let tail = polynomial::<I, 3>(z, [4.166_664_6e-2, -1.388_730_9e-3, 2.443_233_6e-5]);
    fma::<I>(z * z, tail, fma::<I>(-0.5, z, 1.0))
}

#[inline(always)]
pub(super) fn sin<I: Isa>(x: f32) -> f32 {
    if I::CAREFUL {
        return f64::from(x).sin() as f32;
    }
    let (r, n) = quadrant::<I>(x);
    let value = if n & 1 == 0 { sine::<I>(r) } else { cosine::<I>(r) };
    let value = if n & 2 == 0 { value } else { -value };
    if x == 0.0 { x } else { value }
}

#[inline(always)]
pub(super) fn cos<I: Isa>(x: f32) -> f32 {
    if I::CAREFUL {
        return f64::from(x).cos() as f32;
    }
    let (r, n) = quadrant::<I>(x);
    let value = if n & 1 == 0 { cosine::<I>(r) } else { sine::<I>(r) };
    if n.wrapping_add(1) & 2 == 0 { value } else { -value }
}

#[inline(always)]
pub(crate) fn tan<I: Isa>(x: f32) -> f32 {
    if I::CAREFUL {
        return f64::from(x).tan() as f32;
    }
    let (r, n) = quadrant::<I>(x);
    let z = r * r;
    let terms = [
        3.333_334_9e-1,
        1.333_267_2e-1,
        5.405_943_5e-2,
        2.128_290_6e-2,
        1.083_714e-2,
        8.483_011e-5,
        4.379_772e-3,
    ];
    let t = fma::<I>(r * z, polynomial::<I, 7>(z, terms), r);
    let value = if n & 1 == 0 { t } else { -1.0 / t };
    if x == 0.0 { x } else { value }
}

/// The arc sine of `s`, whose square is `z`, up to a half.
#[inline(always)]
fn arc_sine<I: Isa>(s: f32, z: f32) -> f32 {
    let terms = [1.666_666e-1, 7.500_522e-2, 4.451_337_5e-2, 3.183_905_8e-2, 1.431_526_4e-2, 3.769_561_6e-2];
    fma::<I>(s * z, polynomial::<I, 6>(z, terms), s)
}

const HALF_PI: f32 = std::f32::consts::FRAC_PI_2;
/// What f32's pi/2 lacks.
const HALF_PI_REST: f32 = -4.371_139e-8;

#[inline(always)]
pub(crate) fn asin<I: Isa>(x: f32) -> f32 {
    let size = x.abs();
    let large = size > 0.5;
    let z = if large { 0.5 * (1.0 - size) } else { size * size };
    let s = if large { z.sqrt() } else { size };
    let part = arc_sine::<I>(s, z);
    let value = if large { HALF_PI - (2.0 * part - HALF_PI_REST) } else { part };
    value.copysign(x)
}

#[inline(always)]
pub(crate) fn acos<I: Isa>(x: f32) -> f32 {
    let size = x.abs();
    let large = size > 0.5;
    let z = if large { 0.5 * (1.0 - size) } else { size * size };
    let s = if large { z.sqrt() } else { size };
    let part = arc_sine::<I>(s, z);
    let inner = HALF_PI - (part.copysign(x) - HALF_PI_REST);
    let outer = if x > 0.0 { 2.0 * part } else { 2.0 * (HALF_PI - (part - HALF_PI_REST)) };
    if large { outer } else { inner }
}

/// The arc tangent of `t` in `0..=1`.
#[inline(always)]
fn arc_tangent<I: Isa>(t: f32) -> f32 {
    let terms = [
        -3.333_33e-1,
        1.999_853_1e-1,
        -1.426_405_2e-1,
        1.095_117_3e-1,
        -8.400_458e-2,
        5.790_604e-2,
        -3.112_628_9e-2,
        1.088_686_8e-2,
        -1.787_414_4e-3,
    ];
    let z = t * t;
    fma::<I>(t * z, polynomial::<I, 9>(z, terms), t)
}

#[inline(always)]
pub(crate) fn atan<I: Isa>(x: f32) -> f32 {
    let size = x.abs();
    let steep = size > 1.0;
    let part = arc_tangent::<I>(if steep { 1.0 / size } else { size });
    let value = if steep { HALF_PI - (part - HALF_PI_REST) } else { part };
    value.copysign(x)
}

#[inline(always)]
pub(super) fn atan2<I: Isa>(y: f32, x: f32) -> f32 {
    let (height, width) = (y.abs(), x.abs());
    let steep = height > width;
    let (near, far) = if steep { (width, height) } else { (height, width) };
    let ratio = near / far;
    let ratio = if near == far { 1.0 } else { ratio };
    let part = arc_tangent::<I>(if far == 0.0 { 0.0 } else { ratio });
    let value = if steep { HALF_PI - (part - HALF_PI_REST) } else { part };
    let value = if x.is_sign_negative() { 2.0 * HALF_PI - (value - 2.0 * HALF_PI_REST) } else { value };
    let value = value.copysign(y);
    if x.is_nan() || y.is_nan() { f32::NAN } else { value }
}

/// Quotients beyond this need [`super::Real`] for `Lane<f32, Careful>`.
pub(crate) const LARGEST_QUOTIENT: f32 = 134_217_728.0;

/// C's `fmod`: exact, since quotient and product fit an f64.
#[inline(always)]
pub(crate) fn fmod<I: Isa>(x: f32, y: f32) -> f32 {
    if I::CAREFUL {
        return x % y;
    }
    let (x, y) = (f64::from(x), f64::from(y));
    let quotient = (x / y).trunc();
    let rest = if quotient == 0.0 { x } else { fma64::<I>(-quotient, y, x) };
    rest.copysign(x) as f32
}

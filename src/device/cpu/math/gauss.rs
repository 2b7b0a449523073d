//! The error function and its relatives in f32.

use std::f64::consts::{LN_2, LOG2_E};

use crate::device::cpu::math::steps::{fma, polynomial, polynomial64};

use super::super::isa::Isa;
use super::exponential::{self, exp2_wide, log2_wide};

#[inline(always)]
pub(super) fn erf<I: Isa>(x: f32) -> f32 {
    let z = x * x;
    let terms = [
        1.283_791_7e-1,
        -3.761_263e-1,
        1.128_362_6e-1,
        -2.685_573e-2,
        5.192_405e-3,
        -8.049_77e-4,
        7.996_65e-5,
    ];
    let near = fma::<I>(x, polynomial::<I, 7>(z, terms), x);
    // 1 - exp(ln(erfc)); from 4 on that is 1.
    let t = x.abs();
    let t = if t > 4.0 { 4.0 } else { t };
    let terms = [
        -1.128_648_5,
        -6.351_512e-1,
        -1.062_370_4e-1,
        2.376_218_3e-2,
        -3.642_505_7e-3,
        3.228_123_2e-4,
        -1.123_177e-5,
    ];
    let far = (1.0 - exponential::exp::<I>(t * polynomial::<I, 7>(t, terms))).copysign(x);
    if t < 0.927 { near } else { far }
}

/// `1 - erf(x)`, through f64.
#[inline(always)]
pub(super) fn erfc<I: Isa>(x: f32) -> f32 {
    let size = f64::from(x.abs());
    // From about 10.1 on it is 0.
    let size = if size > 11.0 { 11.0 } else { size };
    // exp(x²) erfc(x) on 0..=10.1: a minimax fit of our own, within 6e-9.
    let above = polynomial64::<I, 5>(
        size,
        [
            1.000_000_005_604_504_6,
            1.238_467_418_627_619_4,
            0.731_662_851_381_515_9,
            0.229_246_340_033_434_53,
            0.032_802_077_840_778_585,
        ],
    );
    let below = polynomial64::<I, 6>(
        size,
        [
            1.0,
            2.366_847_161_415_514_7,
            2.402_354_552_662_765_7,
            1.325_477_940_122_979,
            0.406_354_936_673_444_36,
            0.058_139_471_161_374_34,
        ],
    );
    let value = exp2_wide::<I>(-LOG2_E * size * size) * (above / below);
    (if x < 0.0 { 2.0 - value } else { value }) as f32
}

/// The number whose error function is `x`, through f64; infinite at -1 and 1, NaN outside.
#[inline(always)]
pub(super) fn erfinv<I: Isa>(x: f32) -> f32 {
    let wide = f64::from(x);
    // In w = -ln(1 - x²), as M. Giles approximates it, erfinv(x) / x is so smooth that one quotient does for all of f32:
    // on 0..=16 a minimax fit of our own, within 2e-9.
    let w = -LN_2 * log2_wide::<I>((1.0 - wide) * (1.0 + wide));
    let above = polynomial64::<I, 7>(
        w,
        [
            0.886_226_923_899_275_9,
            0.312_937_138_867_651_7,
            0.062_658_651_667_020_81,
            0.008_465_809_026_870_092,
            0.000_746_934_016_731_074_7,
            3.558_222_058_399_37e-5,
            8.703_295_077_959_974e-8,
        ],
    );
    let below = polynomial64::<I, 6>(
        w,
        [
            1.0,
            0.091_312_307_309_914_52,
            0.033_765_426_697_351_594,
            0.002_157_313_138_230_920_7,
            0.000_223_505_172_534_912_55,
            2.860_601_819_614_294_2e-6,
        ],
    );
    let inside = (wide * (above / below)) as f32;
    let edge = if x.abs() == 1.0 { f32::INFINITY.copysign(x) } else { f32::NAN };
    if x.abs() < 1.0 { inside } else { edge }
}

//! The error function in f32.

use crate::device::cpu::math::steps::{fma, polynomial};

use super::super::isa::Isa;
use super::exponential;

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

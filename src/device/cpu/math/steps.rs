//! What functions are computed with: fused steps and polynomials.

use crate::device::cpu::isa::Isa;

/// `a * b + c` in one instruction where there is one.
#[inline(always)]
pub(super) fn fma<I: Isa>(a: f32, b: f32, c: f32) -> f32 {
    if I::FMA { a.mul_add(b, c) } else { a * b + c }
}

#[inline(always)]
pub(super) fn fma64<I: Isa>(a: f64, b: f64, c: f64) -> f64 {
    if I::FMA { a.mul_add(b, c) } else { a * b + c }
}

/// A polynomial, its constant term first.
#[inline(always)]
pub(super) fn polynomial<I: Isa, const N: usize>(x: f32, terms: [f32; N]) -> f32 {
    let Some((&last, others)) = terms.split_last() else { return 0.0 };
    others.iter().rev().fold(last, |sum, &term| fma::<I>(sum, x, term))
}

#[inline(always)]
pub(super) fn polynomial64<I: Isa, const N: usize>(x: f64, terms: [f64; N]) -> f64 {
    let Some((&last, others)) = terms.split_last() else { return 0.0 };
    others.iter().rev().fold(last, |sum, &term| fma64::<I>(sum, x, term))
}

/// `2^n` for `n` in `-126..=127`.
#[inline(always)]
pub(super) fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

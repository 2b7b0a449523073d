//! The tiles of this processor: those of the best instruction set it has.

#![allow(
    clippy::indexing_slicing,
    reason = "indices are bounded by the lengths of fixed-size arrays of registers"
)]

mod tall;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::any::TypeId;

use crate::device::cpu::isa::{self, Isa, Work};

use super::tall::Tall;
use super::tiles::*;
use tall::tall;
#[cfg(target_arch = "x86_64")]
use x86::*;

/// Vectors for processors without a set of their own here; the compiler makes of them what it can.
#[derive(Clone, Copy)]
struct Plain<E>([E; 4]);

impl<E: Real> Vector for Plain<E> {
    type E = E;
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn splat(value: E) -> Self {
        Plain([value; 4])
    }

    #[inline(always)]
    unsafe fn load(from: *const E) -> Self {
        // SAFETY: the caller's promise.
        Plain(unsafe { from.cast::<[E; 4]>().read() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut E) {
        // SAFETY: the caller's promise.
        unsafe { to.cast::<[E; 4]>().write(self.0) };
    }

    #[inline(always)]
    unsafe fn mul_add(self, b: Self, c: Self) -> Self {
        let mut out = c;
        for ((o, &a), &b) in out.0.iter_mut().zip(&self.0).zip(&b.0) {
            *o = a * b + *o;
        }
        out
    }

    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        let mut out = self;
        for (o, &b) in out.0.iter_mut().zip(&b.0) {
            *o = *o * b;
        }
        out
    }

    #[inline(always)]
    unsafe fn prefetch(_at: *const E) {}
}

tables!(plain_f32, Plain<f32>, f32, transpose::<f32, 4>, [1 2 3 4], [Plain<f32>: 2 Plain<f32>: 1]);
tables!(plain_f64, Plain<f64>, f64, transpose::<f64, 4>, [1 2 3 4], [Plain<f64>: 2 Plain<f64>: 1]);

struct Which;

impl Work for Which {
    type Output = TypeId;

    #[inline(always)]
    fn run<I: Isa>(self) -> TypeId {
        TypeId::of::<I>()
    }
}

macro_rules! real {
    ($e:ty, $avx512:ident, $avx2:ident, $plain:ident $(, $pairs:ident)?) => {
        impl Real for $e {
            #[inline(always)]
            fn fma<I: Isa>(self, b: $e, c: $e) -> $e {
                if I::FMA { self.mul_add(b, c) } else { self * b + c }
            }

            fn tiles() -> &'static Tiles<$e> {
                #[cfg(target_arch = "x86_64")]
                match isa::dispatch(Which) {
                    id if id == TypeId::of::<isa::Avx512>() => return &$avx512::TILES,
                    id if id == TypeId::of::<isa::Avx2>() => return &$avx2::TILES,
                    _ => {}
                }
                &$plain::TILES
            }

            $(
                #[cfg(target_arch = "x86_64")]
                fn paired_tiles() -> Option<&'static Tiles<$e>> {
                    isa::has_bf16_dots().then_some(&$pairs::TILES)
                }
            )?
        }
    };
}

real!(f32, avx512_f32, avx2_f32, plain_f32, avx512_pairs);
real!(f64, avx512_f64, avx2_f64, plain_f64);

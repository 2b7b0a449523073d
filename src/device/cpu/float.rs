//! Arithmetic that kernels share for the types they compute in.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::convert::Compute;

/// A compute type with wrapping sums, for kernels that serve floats and integers alike.
pub(super) trait Number: Compute {
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// The larger, or NaN where one is NaN.
    fn larger(self, other: Self) -> Self;
    /// The smaller, or NaN where one is NaN.
    fn smaller(self, other: Self) -> Self;
    /// Division, towards zero for integers.
    fn over(self, divisor: usize) -> Self;
    /// The value that is below or equal to every other.
    const LEAST: Self;
}

/// f32 or f64.
pub(super) trait Float:
    Number
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    fn sqrt(self) -> Self;
}

macro_rules! float {
    ($t:ty) => {
        impl Number for $t {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                if self.is_nan() || self > other { self } else { other }
            }
            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                if self.is_nan() || self < other { self } else { other }
            }
            #[inline(always)]
            fn over(self, divisor: usize) -> Self {
                self / divisor as $t
            }
            const LEAST: Self = <$t>::NEG_INFINITY;
        }

        impl Float for $t {
            #[inline(always)]
            fn sqrt(self) -> Self {
                <$t>::sqrt(self)
            }
        }
    };
}

float!(f32);
float!(f64);

impl Number for i64 {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        self.max(other)
    }
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        self.min(other)
    }
    #[inline(always)]
    fn over(self, divisor: usize) -> Self {
        self.checked_div(divisor as i64).unwrap_or(0)
    }
    const LEAST: Self = i64::MIN;
}

/// Runs a block with `$c` bound to the float that a dtype computes in; an error for integers, as PyTorch's
/// dispatch gives.
macro_rules! with_float {
    ($launch:expr, $dtype:expr, $c:ident => $body:expr) => {
        match $dtype {
            $crate::base::DType::Float64 => {
                type $c = f64;
                $body
            }
            dtype if dtype.is_float() => {
                type $c = f32;
                $body
            }
            dtype => Err($crate::device::cpu::float::not_for($launch, dtype)),
        }
    };
}
pub(crate) use with_float;

/// The error of a kernel that a dtype lacks.
#[cold]
pub(crate) fn not_for(launch: &crate::device::Launch, dtype: crate::base::DType) -> crate::base::Error {
    crate::base::Error::new(
        crate::base::Kind::NotImplementedError,
        format!("\"{}\" not implemented for '{}'", launch.op, dtype.type_name()),
    )
}

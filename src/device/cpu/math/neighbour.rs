//! The number next to another one, as C's `nextafter`, in the grid of each floating-point type.

/// The float32 next to `x` on the way to `to`.
pub(super) fn single(x: f32, to: f32) -> f32 {
    if x.is_nan() || to.is_nan() {
        f32::NAN
    } else if x == to {
        to
    } else if to > x {
        x.next_up()
    } else {
        x.next_down()
    }
}

/// The float64 next to `x` on the way to `to`.
pub(super) fn double(x: f64, to: f64) -> f64 {
    if x.is_nan() || to.is_nan() {
        f64::NAN
    } else if x == to {
        to
    } else if to > x {
        x.next_up()
    } else {
        x.next_down()
    }
}

/// The bfloat16 next to `x` on the way to `to`, both bfloat16 in float32: they have float32's exponents.
pub(super) fn bfloat16(x: f32, to: f32) -> f32 {
    step(x, to, f32::from_bits(0x1_0000), |bits, up| {
        f32::from_bits(if up { bits + 0x1_0000 } else { bits - 0x1_0000 })
    })
}

/// The float16 next to `x` on the way to `to`, both float16 in float32.
pub(super) fn half(x: f32, to: f32) -> f32 {
    // Below 2^-14 the grid is even.
    const TINY: f32 = 1.0 / 16_777_216.0;
    const NORMAL: f32 = 1.0 / 16_384.0;
    step(x, to, TINY, |bits, up| {
        let size = f32::from_bits(bits);
        match up {
            _ if size.is_infinite() => 65_504.0,
            true if size < NORMAL => size + TINY,
            false if size <= NORMAL => size - TINY,
            true if size >= 65_504.0 => f32::INFINITY,
            true => f32::from_bits(bits + 0x2000),
            false => f32::from_bits(bits - 0x2000),
        }
    })
}

/// One step towards `to`: `tiny` away from 0, elsewhere what `next` gives for the size of `x` and whether it grows.
fn step(x: f32, to: f32, tiny: f32, next: impl Fn(u32, bool) -> f32) -> f32 {
    if x.is_nan() || to.is_nan() {
        f32::NAN
    } else if x == to {
        to
    } else if x == 0.0 {
        tiny.copysign(to)
    } else {
        let grows = (to > x) == (x > 0.0);
        next(x.abs().to_bits(), grows).copysign(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    /// All numbers of a 16-bit type in order, as float32.
    fn grid(of: impl Fn(u16) -> f32) -> Vec<f32> {
        let mut all: Vec<f32> = (0..=u16::MAX).map(of).filter(|v| !v.is_nan()).collect();
        all.sort_by(f32::total_cmp);
        all.dedup();
        all
    }

    #[test]
    fn a_step_leads_to_the_next_number_of_the_type() {
        type Step = fn(f32, f32) -> f32;
        let halves = grid(|bits| f16::from_bits(bits).to_f32());
        let brains = grid(|bits| bf16::from_bits(bits).to_f32());
        for (all, next) in [(halves, half as Step), (brains, bfloat16 as Step)] {
            for pair in all.windows(2) {
                assert_eq!(next(pair[0], f32::INFINITY), pair[1], "up from {}", pair[0]);
                assert_eq!(next(pair[1], f32::NEG_INFINITY), pair[0], "down from {}", pair[1]);
                assert_eq!(next(pair[0], pair[0]), pair[0]);
            }
        }
    }

    #[test]
    fn nan_stays_and_zero_takes_the_sign_of_the_step() {
        assert!(
            single(f32::NAN, 1.0).is_nan() && double(1.0, f64::NAN).is_nan() && half(f32::NAN, 0.0).is_nan()
        );
        assert_eq!(single(0.0, -1.0), -f32::from_bits(1));
        assert_eq!(double(1.0, 2.0), 1.0 + f64::EPSILON);
        assert!(single(0.0, -0.0).is_sign_negative());
    }
}

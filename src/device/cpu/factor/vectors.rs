//! Sums along vectors, and what is added to them.

use super::super::isa::{self, Isa, Work};

/// `sqrt(a² + b²)`, without overflow.
#[inline]
pub(super) fn hypotenuse(a: f64, b: f64) -> f64 {
    let squares = a * a + b * b;
    // Neither square is too large for a sum of this size, nor does one that is lost count.
    if (1e-240..1e240).contains(&squares) { squares.sqrt() } else { a.hypot(b) }
}

/// The length of a vector, without overflow.
pub(super) fn norm(values: &[f64]) -> f64 {
    let squares = dot(values, values);
    // Of a sum of this size no square was too large, and none that was lost counts.
    if (1e-240..1e240).contains(&squares) {
        return squares.sqrt();
    }
    let largest = values.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return if values.iter().any(|v| v.is_nan()) { f64::NAN } else { largest };
    }
    largest * values.iter().map(|v| (v / largest) * (v / largest)).sum::<f64>().sqrt()
}

/// The sum of products, with a fixed order of additions whatever the instructions.
#[inline(always)]
pub(super) fn product(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    let ((a, last_a), (b, last_b)) = (a[..n].as_chunks::<16>(), b[..n].as_chunks::<16>());
    let mut sums = [0.0; 16];
    for (x, y) in a.iter().zip(b) {
        for k in 0..16 {
            sums[k] += x[k] * y[k];
        }
    }
    let rest: f64 = last_a.iter().zip(last_b).map(|(x, y)| x * y).sum();
    for width in [8, 4, 2, 1] {
        for k in 0..width {
            sums[k] += sums[k + width];
        }
    }
    sums[0] + rest
}

/// `y += by * x`
#[inline(always)]
pub(super) fn add_scaled(y: &mut [f64], by: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += by * x;
    }
}

/// [`product`] by the processor's vectors.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    struct Dot<'a>(&'a [f64], &'a [f64]);
    impl Work for Dot<'_> {
        type Output = f64;
        #[inline(always)]
        fn run<I: Isa>(self) -> f64 {
            product(self.0, self.1)
        }
    }
    isa::dispatch(Dot(a, b))
}

//! The roots of `1 + rho sum(z_i^2 / (d_i - x))`: the eigenvalues of a diagonal matrix plus one of rank one.

use crate::base::{Result, memory};
use crate::device::cancel::Cancel;

use super::super::isa::{self, Isa, Work};
use super::super::parallel::{self, SharedMut};
use super::super::scratch::zeros;

/// Steps after which a root is as good as it gets; halving alone takes about as many.
const STEPS: usize = 100;

/// Roots in ascending order, each between two poles or beyond the last.
pub(crate) struct Roots {
    pub values: Vec<f64>,
    /// Row `j`: `d_i - x_j` for each pole `i`, each to its own precision.
    pub gaps: Vec<f64>,
}

/// The roots for ascending poles `d`; `rho` and all weights are other than zero.
pub(crate) fn roots(d: &[f64], z: &[f64], rho: f64, cancel: &Cancel) -> Result<Roots> {
    let k = d.len();
    let weights = memory::collected(z.iter().map(|z| rho * z * z))?;
    let mut found = Roots { values: zeros(k)?, gaps: zeros(k * k)? };
    let (values, gaps) = (SharedMut::new(&mut found.values), SharedMut::new(&mut found.gaps));
    parallel::for_ranges(k, parallel::grain(k * 64).max(4), cancel, |range| {
        // SAFETY: pieces are of different roots.
        let (values, gaps) =
            unsafe { (values.slice(range.clone()), gaps.slice(range.start * k..range.end * k)) };
        isa::dispatch(Piece { d, weights: &weights, first: range.start, values, gaps });
    })?;
    Ok(found)
}

struct Piece<'a> {
    d: &'a [f64],
    weights: &'a [f64],
    first: usize,
    values: &'a mut [f64],
    gaps: &'a mut [f64],
}

impl Work for Piece<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let k = self.d.len();
        for (i, (value, gaps)) in self.values.iter_mut().zip(self.gaps.chunks_exact_mut(k)).enumerate() {
            *value = root(self.d, self.weights, self.first + i, gaps);
        }
    }
}

/// The function near `x`: what the poles up to `j` and those beyond give, with slopes.
struct Sums {
    below: f64,
    below_slope: f64,
    above: f64,
    above_slope: f64,
}

#[inline(always)]
fn sums(gaps: &[f64], weights: &[f64], j: usize, x: f64) -> Sums {
    let (a, b) = some(&gaps[..j], &weights[..j], x);
    let (c, d) = some(&gaps[j..], &weights[j..], x);
    Sums { below: a, below_slope: b, above: c, above_slope: d }
}

#[inline(always)]
fn some(gaps: &[f64], weights: &[f64], x: f64) -> (f64, f64) {
    let n = gaps.len().min(weights.len());
    let ((g, last_g), (w, last_w)) = (gaps[..n].as_chunks::<8>(), weights[..n].as_chunks::<8>());
    let (mut sums, mut slopes) = ([0.0; 8], [0.0; 8]);
    for (g, w) in g.iter().zip(w) {
        for i in 0..8 {
            let gap = g[i] - x;
            let part = w[i] / gap;
            sums[i] += part;
            slopes[i] += part / gap;
        }
    }
    let (mut sum, mut slope) = (sums.iter().sum::<f64>(), slopes.iter().sum::<f64>());
    for (g, w) in last_g.iter().zip(last_w) {
        let gap = g - x;
        sum += w / gap;
        slope += w / gap / gap;
    }
    (sum, slope)
}

/// Root `j`; `gaps` takes the poles' distances from it.
///
/// The root is counted from the nearer pole, so that its distance from that is exact. Each step puts a function with
/// two poles through value and slopes of both sums (the middle way; Li, 1993), and halves where that leads outside.
#[inline(always)]
fn root(d: &[f64], weights: &[f64], j: usize, gaps: &mut [f64]) -> f64 {
    let k = d.len();
    if k == 1 {
        gaps[0] = -weights[0];
        return d[0] + weights[0];
    }
    let last = j + 1 == k;
    // The two poles of the model, and how many poles count as below.
    let (p, q) = if last { (j - 1, j) } else { (j, j + 1) };
    let width = if last { weights.iter().sum() } else { d[j + 1] - d[j] };
    let at = |origin: f64, gaps: &mut [f64]| {
        for (g, d) in gaps.iter_mut().zip(d) {
            *g = d - origin;
        }
    };
    at(d[j], gaps);
    let middle = sums(gaps, weights, q, width / 2.0);
    let value = 1.0 + middle.below + middle.above;
    let from_upper = !last && value < 0.0;
    let origin = if from_upper { d[j + 1] } else { d[j] };
    let (mut low, mut high) = match (last, value < 0.0) {
        (true, true) => (width / 2.0, width),
        (false, true) => (-width / 2.0, 0.0),
        _ => (0.0, width / 2.0),
    };
    if from_upper {
        at(origin, gaps);
    }
    let shift = if from_upper { width } else { 0.0 };
    // The first guess takes the other poles as far away.
    let half = width / 2.0 - shift;
    let others = value - weights[p] / (gaps[p] - half) - weights[q] / (gaps[q] - half);
    let mut x = model(others, weights[p], gaps[p], weights[q], gaps[q], (low, high));
    for _ in 0..STEPS {
        let s = sums(gaps, weights, q, x);
        let value = 1.0 + s.below + s.above;
        let noise = f64::EPSILON
            * (1.0 + 4.0 * (s.below.abs() + s.above.abs()) + x.abs() * (s.below_slope + s.above_slope));
        if value < 0.0 {
            low = x
        } else {
            high = x
        }
        if value.abs() <= noise || value.is_nan() {
            break;
        }
        let (to_p, to_q) = (gaps[p] - x, gaps[q] - x);
        let (a, b) = (s.below_slope * to_p * to_p, s.above_slope * to_q * to_q);
        let rest = value - a / to_p - b / to_q;
        let next = model(rest, a, gaps[p], b, gaps[q], (low, high));
        if next == x || (high - low) <= f64::EPSILON * low.abs().min(high.abs()) {
            break;
        }
        x = next;
    }
    gaps.iter_mut().for_each(|g| *g -= x);
    origin + x
}

/// Where `rest + a / (p - x) + b / (q - x)` is zero between two bounds; their middle where it is not.
#[inline(always)]
fn model(rest: f64, a: f64, p: f64, b: f64, q: f64, (low, high): (f64, f64)) -> f64 {
    // rest x^2 - first x + second = 0
    let first = rest * (p + q) + a + b;
    let second = rest * p * q + a * q + b * p;
    let root = (first * first - 4.0 * rest * second).max(0.0).sqrt();
    let larger = first + root.copysign(first);
    let inside = |x: f64| x > low && x < high;
    let (one, two) = (2.0 * second / larger, larger / (2.0 * rest));
    if inside(one) {
        one
    } else if inside(two) {
        two
    } else {
        0.5 * (low + high)
    }
}

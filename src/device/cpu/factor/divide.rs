//! Symmetric tridiagonal matrices by halves (Cuppen): two halves are taken apart, and put together by one product with
//! the vectors of a diagonal matrix plus one of rank one (Bunch, Nielsen and Sorensen; Gu and Eisenstat for vectors that
//! stay orthogonal). Where it cuts, what it leaves out and how its vectors point are as in LAPACK's `stedc`.

use crate::base::{Result, memory, sorted};
use crate::device::cancel::Cancel;
use crate::device::cpu::factor::dense::{Precision, product};

use super::super::isa::{self, Isa, Work};
use super::super::parallel::{self, SharedMut};
use super::super::scratch::zeros;
use super::rotate::Turning;
use super::secular::{Roots, roots};
use super::tridiagonal::{Tridiagonal, diagonalise};

/// The largest matrix that is not halved.
pub(super) const SMALL: usize = 25;

/// Eigenvalues in ascending order, and rows that are their vectors.
pub(crate) struct Eigenpairs {
    pub values: Vec<f64>,
    pub rows: Vec<f64>,
}

/// Takes a tridiagonal matrix apart; none where an iteration found no end.
pub(crate) fn conquer(t: &Tridiagonal, p: Precision, cancel: &Cancel) -> Result<Option<Eigenpairs>> {
    let n = t.d.len();
    if t.d.iter().chain(&t.e).any(|v| !v.is_finite()) {
        return Ok(None);
    }
    if n <= SMALL {
        return leaf(t, p, cancel);
    }
    let mut all = Eigenpairs { values: memory::with_capacity(n)?, rows: zeros(n * n)? };
    let mut start = 0;
    while start < n {
        // A block ends where what stands beside the diagonal is nothing.
        let beside = |i: usize| p.eps * t.d[i].abs().sqrt() * t.d[i + 1].abs().sqrt();
        let end = (start..n - 1).find(|&i| t.e[i].abs() <= beside(i)).unwrap_or(n - 1);
        let block =
            Tridiagonal { d: memory::copied(&t.d[start..=end])?, e: memory::copied(&t.e[start..end])? };
        let found = if block.d.len() > SMALL {
            halves(block, levels(end - start + 1), p, cancel)?
        } else {
            leaf(&block, p, cancel)?
        };
        let Some(found) = found else { return Ok(None) };
        let size = end - start + 1;
        for (row, from) in all.rows[start * n..].chunks_exact_mut(n).zip(found.rows.chunks_exact(size)) {
            row[start..=end].copy_from_slice(from);
        }
        all.values.extend(found.values);
        start = end + 1;
    }
    in_order(all, n).map(Some)
}

fn in_order(parts: Eigenpairs, n: usize) -> Result<Eigenpairs> {
    let mut order = memory::collected(0..n)?;
    sorted::sort_by(&mut order, |&i, &j| parts.values[i].total_cmp(&parts.values[j]));
    let mut rows = memory::with_capacity(order.len() * n)?;
    order.iter().for_each(|&i| rows.extend_from_slice(&parts.rows[i * n..(i + 1) * n]));
    Ok(Eigenpairs { values: memory::collected(order.iter().map(|&i| parts.values[i]))?, rows })
}

/// How often a matrix is halved until its largest part is small.
fn levels(mut n: usize) -> u32 {
    let mut count = 0;
    while n > SMALL {
        n = n.div_ceil(2);
        count += 1;
    }
    count
}

fn leaf(t: &Tridiagonal, p: Precision, cancel: &Cancel) -> Result<Option<Eigenpairs>> {
    let n = t.d.len();
    let mut t = Tridiagonal { d: t.d.clone(), e: t.e.clone() };
    let mut turned = Turning::identity(n)?;
    if !diagonalise(&mut t, &mut turned, p, cancel)? {
        return Ok(None);
    }
    let order = memory::collected(0..n)?;
    let rows = turned.finish(&order, &memory::filled(n, false)?, cancel)?;
    in_order(Eigenpairs { values: t.d, rows }, n).map(Some)
}

fn halves(mut t: Tridiagonal, levels: u32, p: Precision, cancel: &Cancel) -> Result<Option<Eigenpairs>> {
    if levels == 0 {
        return leaf(&t, p, cancel);
    }
    let cut = t.d.len() / 2;
    let between = t.e[cut - 1];
    t.d[cut - 1] -= between.abs();
    t.d[cut] -= between.abs();
    let lower = Tridiagonal { d: t.d.split_off(cut), e: t.e.split_off(cut) };
    t.e.pop();
    let (Some(first), Some(second)) =
        (halves(t, levels - 1, p, cancel)?, halves(lower, levels - 1, p, cancel)?)
    else {
        return Ok(None);
    };
    merge(first, second, between, p, cancel).map(Some)
}

/// Which elements of a row may be other than zero.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    First,
    Second,
    Both,
}

/// Vectors of both halves on their way into one.
struct Joined {
    n: usize,
    cut: usize,
    values: Vec<f64>,
    z: Vec<f64>,
    rows: Vec<f64>,
    reach: Vec<Reach>,
}

/// What two halves make together, with `between` beside the diagonal where they meet.
fn merge(
    first: Eigenpairs,
    second: Eigenpairs,
    between: f64,
    p: Precision,
    cancel: &Cancel,
) -> Result<Eigenpairs> {
    let mut all = Joined::of(&first, &second, between < 0.0)?;
    let n = all.n;
    let rho = (2.0 * between).abs();
    let mut order = memory::collected(0..n)?;
    sorted::sort_by(&mut order, |&i, &j| all.values[i].total_cmp(&all.values[j]));
    let (kept, apart) = all.deflate(&order, rho, p)?;
    if kept.is_empty() {
        return in_order(Eigenpairs { values: all.values, rows: all.rows }, n);
    }
    let poles = memory::collected(kept.iter().map(|&i| all.values[i]))?;
    let z = memory::collected(kept.iter().map(|&i| all.z[i]))?;
    let found = roots(&poles, &z, rho, cancel)?;
    let combined = all.combined(&kept, &vectors(&found, &poles, &z, cancel)?, cancel)?;
    let mut values = found.values;
    let mut rows = combined;
    memory::reserve(&mut rows, apart.len() * n)?;
    for &i in &apart {
        values.push(all.values[i]);
        rows.extend_from_slice(&all.rows[i * n..(i + 1) * n]);
    }
    in_order(Eigenpairs { values, rows }, n)
}

impl Joined {
    fn of(first: &Eigenpairs, second: &Eigenpairs, negative: bool) -> Result<Joined> {
        let (cut, rest) = (first.values.len(), second.values.len());
        let n = cut + rest;
        let mut rows = zeros(n * n)?;
        let (mut z, mut reach) = (memory::with_capacity(n)?, memory::with_capacity(n)?);
        let sign = if negative { -1.0 } else { 1.0 };
        for (i, to) in rows.chunks_exact_mut(n).enumerate() {
            if i < cut {
                to[..cut].copy_from_slice(&first.rows[i * cut..(i + 1) * cut]);
                z.push(to[cut - 1] * std::f64::consts::FRAC_1_SQRT_2);
                reach.push(Reach::First);
            } else {
                to[cut..].copy_from_slice(&second.rows[(i - cut) * rest..(i - cut + 1) * rest]);
                z.push(sign * to[cut] * std::f64::consts::FRAC_1_SQRT_2);
                reach.push(Reach::Second);
            }
        }
        let values = memory::collected(first.values.iter().chain(&second.values).copied())?;
        Ok(Joined { n, cut, values, z, rows, reach })
    }

    /// Which vectors take part, in ascending order of their values, and which stay as they are: those that what joins
    /// the halves does not reach, and one of two whose values are the same, once they are turned to share no part.
    fn deflate(&mut self, order: &[usize], rho: f64, p: Precision) -> Result<(Vec<usize>, Vec<usize>)> {
        let largest = |v: &[f64]| v.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let tol = 8.0 * p.eps * largest(&self.values).max(largest(&self.z));
        let (mut kept, mut apart) = (memory::with_capacity(self.n)?, memory::with_capacity(self.n)?);
        let mut before: Option<usize> = None;
        for &next in order {
            if rho * self.z[next].abs() <= tol {
                apart.push(next);
                continue;
            }
            let Some(last) = before.replace(next) else { continue };
            let (s, c) = (self.z[last], self.z[next]);
            let length = c.hypot(s);
            let gap = self.values[next] - self.values[last];
            let (c, s) = (c / length, -s / length);
            if (gap * c * s).abs() > tol {
                kept.push(last);
                continue;
            }
            (self.z[next], self.z[last]) = (length, 0.0);
            self.turn(last, next, c, s);
            let (a, b) = (self.values[last], self.values[next]);
            self.values[last] = a * c * c + b * s * s;
            self.values[next] = a * s * s + b * c * c;
            apart.push(last);
        }
        kept.extend(before);
        Ok((kept, apart))
    }

    fn turn(&mut self, i: usize, j: usize, c: f64, s: f64) {
        if self.reach[i] != self.reach[j] {
            (self.reach[i], self.reach[j]) = (Reach::Both, Reach::Both);
        }
        for k in 0..self.n {
            let (x, y) = (self.rows[i * self.n + k], self.rows[j * self.n + k]);
            self.rows[i * self.n + k] = c * x + s * y;
            self.rows[j * self.n + k] = c * y - s * x;
        }
    }

    /// Rows of sums of the kept rows, weighted by each row of `by`.
    fn combined(&self, kept: &[usize], by: &[f64], cancel: &Cancel) -> Result<Vec<f64>> {
        let (n, k) = (self.n, kept.len());
        let mut out = zeros(k * n)?;
        for (range, other) in [(0..self.cut, Reach::Second), (self.cut..n, Reach::First)] {
            // Rows that are zero here are left out.
            let places = memory::collected((0..k).filter(|&i| self.reach[kept[i]] != other))?;
            let wide = range.len();
            let mut rows = memory::with_capacity(places.len() * wide)?;
            places.iter().for_each(|&i| rows.extend_from_slice(&self.rows[kept[i] * n..][range.clone()]));
            let mut weights = memory::with_capacity(k * places.len())?;
            by.chunks_exact(k).for_each(|row| weights.extend(places.iter().map(|&i| row[i])));
            let mut part = zeros(k * wide)?;
            product(&weights, &rows, &mut part, (k, places.len(), wide), cancel)?;
            for (to, from) in out.chunks_exact_mut(n).zip(part.chunks_exact(wide)) {
                to[range.clone()].copy_from_slice(from);
            }
        }
        Ok(out)
    }
}

/// The vectors of the diagonal matrix plus one of rank one, as rows. They belong to weights that have exactly these
/// roots, and are orthogonal however near the roots are.
fn vectors(found: &Roots, poles: &[f64], z: &[f64], cancel: &Cancel) -> Result<Vec<f64>> {
    let k = poles.len();
    let mut out = memory::copied(&found.gaps)?;
    if k == 1 {
        return Ok(vec![1.0]);
    }
    let mut weights = zeros(k)?;
    let to = SharedMut::new(&mut weights);
    parallel::for_ranges(k, parallel::grain(k * 4).max(16), cancel, |range| {
        // SAFETY: pieces are of different places.
        let part = unsafe { to.slice(range.clone()) };
        isa::dispatch(Weights { gaps: &found.gaps, poles, first: range.start, z: &z[range], part });
    })?;
    parallel::for_chunks(&mut out, k, 1 << 12, cancel, |_, row| {
        row.iter_mut().zip(&weights).for_each(|(v, w)| *v = w / *v);
        let length = super::vectors::norm(row);
        row.iter_mut().for_each(|v| *v /= length);
    })?;
    Ok(out)
}

/// The weights that have the roots found, with the signs of those they were found for.
struct Weights<'a> {
    gaps: &'a [f64],
    poles: &'a [f64],
    first: usize,
    z: &'a [f64],
    part: &'a mut [f64],
}

impl Work for Weights<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let k = self.poles.len();
        let from = self.first;
        let mine = &self.poles[from..from + self.part.len()];
        self.part.fill(1.0);
        for (j, row) in self.gaps.chunks_exact(k).enumerate() {
            let pole = self.poles[j];
            for (i, (to, gap)) in self.part.iter_mut().zip(&row[from..]).enumerate() {
                *to *= if from + i == j { *gap } else { gap / (mine[i] - pole) };
            }
        }
        for (to, z) in self.part.iter_mut().zip(self.z) {
            *to = (-*to).max(0.0).sqrt().copysign(*z);
        }
    }
}

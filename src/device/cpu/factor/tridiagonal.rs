//! Symmetric matrices: reflections make them tridiagonal, and implicit QL and QR steps (Francis; Dubrulle, Martin and
//! Wilkinson) diagonal. Which of the two runs on a block, its shifts and its tests are those of LAPACK's `steqr`, so
//! that vectors get the signs that it gives them.

use crate::base::{Result, memory};
use crate::device::cancel::Cancel;
use crate::device::cpu::factor::dense::Precision;

use super::super::isa::{self, Isa, Work};
use super::super::parallel::{self, SharedMut};
use super::super::scratch::zeros;
use super::reflect::{Reflections, reflector};
use super::rotate::{Sweep, Turning, rotation};
use super::vectors::{add_scaled, dot, product};

/// Steps for each value after which an iteration gives up.
const STEPS: usize = 30;

/// A symmetric tridiagonal matrix: its diagonal, and what is beside it.
pub(crate) struct Tridiagonal {
    pub d: Vec<f64>,
    pub e: Vec<f64>,
}

/// Reflects a symmetric matrix from both sides until it is tridiagonal. Both triangles of `s` are read.
pub(super) fn reduce(mut s: Vec<f64>, n: usize, cancel: &Cancel) -> Result<(Tridiagonal, Reflections)> {
    let mut out = Tridiagonal { d: memory::with_capacity(n)?, e: memory::with_capacity(n)? };
    let mut turns = Reflections::new(n, n)?;
    // What the last step leaves to be subtracted: `v w^T + w v^T`.
    let (mut v, mut w) = (zeros::<f64>(n)?, zeros(n)?);
    for i in 0..n {
        let row = &mut s[i * n + i..(i + 1) * n];
        let (v0, w0) = (v[0], w[0]);
        add_scaled(row, -v0, &w);
        add_scaled(row, -w0, &v);
        out.d.push(row[0]);
        if i + 1 == n {
            break;
        }
        let u = &mut row[1..];
        let (tau, beta) = reflector(u);
        let u = memory::copied(u)?;
        out.e.push(beta);
        let mut next = zeros(n - i - 1)?;
        {
            let (below, at) = (SharedMut::new(&mut s[(i + 1) * n..]), SharedMut::new(&mut next));
            parallel::for_ranges(n - i - 1, parallel::grain((n - i) * 3), cancel, |range| {
                // SAFETY: pieces are of different rows.
                let (rows, part) =
                    unsafe { (below.slice(range.start * n..range.end * n), at.slice(range.clone())) };
                isa::dispatch(Pass { rows, n, v: &v[1..], w: &w[1..], first: range.start, u: &u, part });
            })?;
        }
        next.iter_mut().for_each(|x| *x *= tau);
        let along = -0.5 * tau * dot(&next, &u);
        add_scaled(&mut next, along, &u);
        turns.push(i + 1, &u, tau);
        (v, w) = (u, next);
    }
    Ok((out, turns))
}

/// Subtracts `v w^T + w v^T` from rows, the last columns of them, and multiplies them with `u`.
struct Pass<'a> {
    rows: &'a mut [f64],
    n: usize,
    v: &'a [f64],
    w: &'a [f64],
    first: usize,
    u: &'a [f64],
    part: &'a mut [f64],
}

impl Work for Pass<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (i, (row, to)) in self.rows.chunks_exact_mut(self.n).zip(self.part).enumerate() {
            let row = &mut row[self.n - self.u.len()..];
            let (v, w) = (self.v[self.first + i], self.w[self.first + i]);
            for ((x, a), b) in row.iter_mut().zip(self.w).zip(self.v) {
                *x -= v * a + w * b;
            }
            *to = product(row, self.u);
        }
    }
}

/// Values of a tridiagonal matrix in no order, in place of its diagonal; `turned` takes the rotations. False where the
/// iteration found no end.
pub(crate) fn diagonalise(
    t: &mut Tridiagonal,
    turned: &mut Turning,
    p: Precision,
    cancel: &Cancel,
) -> Result<bool> {
    let n = t.d.len();
    // Nothing comes apart from what is no number.
    if t.d.iter().chain(&t.e).any(|v| !v.is_finite()) {
        return Ok(false);
    }
    let mut left = n * STEPS;
    let mut from = 0;
    while from < n {
        let to = t.block_end(from, p.eps);
        let largest = t.d[from..=to].iter().chain(&t.e[from..to]).fold(0.0, |m: f64, v| m.max(v.abs()));
        if to > from && largest > 0.0 {
            let fine = if t.d[to].abs() < t.d[from].abs() {
                t.qr_steps(to, from, turned, (&mut left, p), cancel)?
            } else {
                t.ql_steps(from, to, turned, (&mut left, p), cancel)?
            };
            if !fine {
                return Ok(false);
            }
        }
        // A block is gone through again until it has come apart.
        if (from..to).all(|i| t.e[i] == 0.0) {
            from = to + 1;
        }
    }
    Ok(true)
}

impl Tridiagonal {
    /// The last place of the block that begins at `from`: beyond it stands nothing beside the diagonal.
    fn block_end(&mut self, from: usize, eps: f64) -> usize {
        for m in from..self.d.len() - 1 {
            let size = self.e[m].abs();
            if size == 0.0 {
                return m;
            }
            if size <= self.d[m].abs().sqrt() * self.d[m + 1].abs().sqrt() * eps {
                self.e[m] = 0.0;
                return m;
            }
        }
        self.d.len() - 1
    }

    /// Whether what stands between `m` and `m + 1` is nothing beside them.
    fn small(&self, m: usize, p: Precision) -> bool {
        let size = self.e[m] * self.e[m];
        size <= (p.eps * p.eps * self.d[m].abs()) * self.d[m + 1].abs() + p.tiny
    }

    /// QL steps: values come off at the top.
    fn ql_steps(
        &mut self,
        mut l: usize,
        end: usize,
        turned: &mut Turning,
        (left, p): (&mut usize, Precision),
        cancel: &Cancel,
    ) -> Result<bool> {
        while l <= end {
            let m = (l..end).find(|&m| self.small(m, p)).unwrap_or(end);
            if m < end {
                self.e[m] = 0.0;
            }
            if m == l {
                l += 1;
            } else if m == l + 1 {
                self.pair(l, turned, cancel)?;
                l += 2;
            } else {
                if *left == 0 {
                    return Ok(false);
                }
                *left -= 1;
                cancel.check()?;
                let sweep = self.ql_step(l, m)?;
                turned.push(sweep, cancel)?;
            }
        }
        Ok(true)
    }

    /// QR steps: values come off at the bottom.
    fn qr_steps(
        &mut self,
        start: usize,
        end: usize,
        turned: &mut Turning,
        (left, p): (&mut usize, Precision),
        cancel: &Cancel,
    ) -> Result<bool> {
        // One more than the place, so that the top is not left.
        let mut l = start + 1;
        while l > end {
            let at = l - 1;
            let m = (end + 1..=at).rev().find(|&m| self.small(m - 1, p)).unwrap_or(end);
            if m > end {
                self.e[m - 1] = 0.0;
            }
            if m == at {
                l -= 1;
            } else if m + 1 == at {
                self.pair(m, turned, cancel)?;
                l -= 2;
            } else {
                if *left == 0 {
                    return Ok(false);
                }
                *left -= 1;
                cancel.check()?;
                let sweep = self.qr_step(at, m)?;
                turned.push(sweep, cancel)?;
            }
        }
        Ok(true)
    }

    /// One QL step on the block `l..=m`.
    fn ql_step(&mut self, l: usize, m: usize) -> Result<Sweep> {
        let (d, e) = (&mut self.d, &mut self.e);
        let mut g = (d[l + 1] - d[l]) / (2.0 * e[l]);
        g = d[m] - d[l] + e[l] / (g + g.hypot(1.0).copysign(g));
        let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
        let mut turns = memory::with_capacity(m - l)?;
        for i in (l..m).rev() {
            let (f, b) = (s * e[i], c * e[i]);
            let r;
            (c, s, r) = rotation(g, f);
            if i + 1 != m {
                e[i + 1] = r;
            }
            g = d[i + 1] - p;
            let r = (d[i] - g) * s + 2.0 * c * b;
            p = s * r;
            d[i + 1] = g + p;
            g = c * r - b;
            turns.push((c, -s));
        }
        d[l] -= p;
        e[l] = g;
        Ok(Sweep { first: m - 1, down: false, turns })
    }

    /// One QR step on the block `m..=l`.
    fn qr_step(&mut self, l: usize, m: usize) -> Result<Sweep> {
        let (d, e) = (&mut self.d, &mut self.e);
        let mut g = (d[l - 1] - d[l]) / (2.0 * e[l - 1]);
        g = d[m] - d[l] + e[l - 1] / (g + g.hypot(1.0).copysign(g));
        let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
        let mut turns = memory::with_capacity(l - m)?;
        for i in m..l {
            let (f, b) = (s * e[i], c * e[i]);
            let r;
            (c, s, r) = rotation(g, f);
            if i != m {
                e[i - 1] = r;
            }
            g = d[i] - p;
            let r = (d[i + 1] - g) * s + 2.0 * c * b;
            p = s * r;
            d[i] = g + p;
            g = c * r - b;
            turns.push((c, s));
        }
        d[l] -= p;
        e[l - 1] = g;
        Ok(Sweep { first: m, down: true, turns })
    }

    /// A block of two.
    fn pair(&mut self, i: usize, turned: &mut Turning, cancel: &Cancel) -> Result<()> {
        let ([larger, smaller], turn) = of_two(self.d[i], self.e[i], self.d[i + 1]);
        (self.d[i], self.d[i + 1], self.e[i]) = (larger, smaller, 0.0);
        turned.turn(i, turn, cancel)
    }
}

/// The values of `[[a, b], [b, c]]`, the one of larger size first, and the rotation that makes it diagonal.
fn of_two(a: f64, b: f64, c: f64) -> ([f64; 2], (f64, f64)) {
    let (sum, gap, twice) = (a + c, a - c, b + b);
    let (more, less) = if a.abs() > c.abs() { (a, c) } else { (c, a) };
    let root = gap.hypot(twice);
    let (first, second, up) = if sum == 0.0 {
        (0.5 * root, -0.5 * root, true)
    } else {
        let first = 0.5 * (sum + root.copysign(sum));
        (first, (more / first) * less - (b / first) * b, sum > 0.0)
    };
    let right = gap >= 0.0;
    let cs = if right { gap + root } else { gap - root };
    let (cosine, sine) = if cs.abs() > twice.abs() {
        let cotangent = -twice / cs;
        let sine = 1.0 / cotangent.hypot(1.0);
        (cotangent * sine, sine)
    } else if twice == 0.0 {
        (1.0, 0.0)
    } else {
        let tangent = -cs / twice;
        let cosine = 1.0 / tangent.hypot(1.0);
        (cosine, tangent * cosine)
    };
    let turn = if up == right { (-sine, cosine) } else { (cosine, sine) };
    ([first, second], turn)
}

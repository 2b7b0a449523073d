//! General matrices: reflections make them bidiagonal, and implicit QR steps (Golub and Kahan; with Demmel's and
//! Kahan's step without a shift, which keeps small values accurate) diagonal. Directions, shifts and tests are those of
//! LAPACK's `bdsqr`, so that vectors get the signs that it gives them.

use crate::base::{Result, memory};
use crate::device::cancel::Cancel;
use crate::device::cpu::factor::dense::Precision;

use super::blocks::MatrixBlock;
use super::reflect::{Reflections, reflector};
use super::rotate::{Sweep, Turning, upright as rotation};

/// An upper bidiagonal matrix: its diagonal, and what is above it.
pub(crate) struct Bidiagonal {
    pub d: Vec<f64>,
    pub e: Vec<f64>,
}

/// Reflects a matrix of `m` rows and `n <= m` columns from both sides until it is upper bidiagonal: the reflections from
/// the left, and from the right.
pub(super) fn reduce(
    mut a: Vec<f64>,
    (m, n): (usize, usize),
    cancel: &Cancel,
) -> Result<(Bidiagonal, Reflections, Reflections)> {
    let mut out = Bidiagonal { d: memory::with_capacity(n)?, e: memory::with_capacity(n)? };
    let (mut left, mut right) = (Reflections::new(m, n)?, Reflections::new(n, n)?);
    for i in 0..n {
        let mut v = memory::collected((i..m).map(|r| a[r * n + i]))?;
        let (tau, beta) = reflector(&mut v);
        out.d.push(beta);
        left.push(i, &v, tau);
        if i + 1 == n {
            break;
        }
        let mut rest = MatrixBlock { a: &mut a, width: n, row: i, column: i + 1 };
        let mut w = rest.on_left(&v, cancel)?;
        w.iter_mut().for_each(|x| *x *= tau);
        // The first row decides on the reflection from the right.
        let above = rest.a[i * n + i + 1..(i + 1) * n].iter();
        let mut u = memory::collected(above.zip(&w).map(|(x, w)| x - v[0] * w))?;
        let (tau, beta) = reflector(&mut u);
        out.e.push(beta);
        rest.row += 1;
        rest.subtract_and_turn(&v[1..], &w, Some((&u, tau)), cancel)?;
        right.push(i + 1, &u, tau);
    }
    Ok((out, left, right))
}

/// Rotations of a bidiagonal matrix from the left, and from the right.
pub(crate) struct Sides<'a> {
    pub left: &'a mut Turning,
    pub right: &'a mut Turning,
    pub precision: Precision,
    pub cancel: &'a Cancel,
}

/// Values of an upper bidiagonal matrix in no order and with signs, in place of its diagonal. False where the iteration
/// found no end.
pub(crate) fn diagonalise(b: &mut Bidiagonal, sides: &mut Sides) -> Result<bool> {
    let n = b.d.len();
    if b.d.iter().chain(&b.e).any(|v| !v.is_finite()) {
        return Ok(false);
    }
    if n < 2 {
        return Ok(true);
    }
    let p = sides.precision;
    let tol = p.eps * p.eps.powf(-0.125).clamp(10.0, 100.0);
    let least = b.least() / (n as f64).sqrt();
    let mut steps = 6 * n * n;
    let threshold = (tol * least).max(6.0 * (n * n) as f64 * p.tiny);
    let (mut last, mut before, mut down) = (n - 1, None, true);
    while last > 0 {
        if steps == 0 || b.d[last].is_nan() {
            return Ok(false);
        }
        let cut = (0..last).rev().find(|&i| b.e[i].abs() <= threshold);
        if let Some(i) = cut {
            b.e[i] = 0.0;
            if i + 1 == last {
                last -= 1;
                continue;
            }
        }
        let first = cut.map_or(0, |i| i + 1);
        if first + 1 == last {
            b.pair(first, sides)?;
            last = last.saturating_sub(2);
            continue;
        }
        // A new block is gone through from its larger end.
        let fresh = before.is_none_or(|(f, l)| first > l || last < f);
        if fresh {
            down = b.d[first].abs() >= b.d[last].abs();
        }
        let Some(smallest) = b.converged((first, last), down, tol) else { continue };
        before = Some((first, last));
        let largest = b.d[first..=last].iter().chain(&b.e[first..last]).fold(0.0, |m: f64, v| m.max(v.abs()));
        let shift = b.shift((first, last), down, (smallest, largest, tol), p);
        steps = steps.saturating_sub(last - first);
        sides.cancel.check()?;
        let ends = (first, last);
        match (shift == 0.0, down) {
            (true, true) => b.down_unshifted(ends, sides)?,
            (true, false) => b.up_unshifted(ends, sides)?,
            (false, true) => b.down(ends, shift, sides)?,
            (false, false) => b.up(ends, shift, sides)?,
        }
        let end = if down { last - 1 } else { first };
        if b.e[end].abs() <= threshold {
            b.e[end] = 0.0;
        }
    }
    Ok(true)
}

impl Bidiagonal {
    /// A bound below which no value lies, but for a root of the size.
    fn least(&self) -> f64 {
        let mut mu = self.d.first().map_or(0.0, |d| d.abs());
        let mut least = mu;
        for (d, e) in self.d.iter().skip(1).zip(&self.e) {
            if least == 0.0 {
                break;
            }
            mu = d.abs() * (mu / (mu + e.abs()));
            least = least.min(mu);
        }
        least
    }

    /// Clears what is nothing beside its neighbours; none where something was, else a bound of the smallest value.
    fn converged(&mut self, (first, last): (usize, usize), down: bool, tol: f64) -> Option<f64> {
        let (d, e) = (&self.d, &mut self.e);
        let (start, end) = if down { (first, last) } else { (last, first) };
        let beside = if down { last - 1 } else { first };
        if e[beside].abs() <= tol * d[end].abs() {
            e[beside] = 0.0;
            return None;
        }
        let mut mu = d[start].abs();
        let mut least = mu;
        for step in 0..last - first {
            let (i, next) =
                if down { (first + step, first + step + 1) } else { (last - step - 1, last - step - 1) };
            if e[i].abs() <= tol * mu {
                e[i] = 0.0;
                return None;
            }
            mu = d[next].abs() * (mu / (mu + e[i].abs()));
            least = least.min(mu);
        }
        Some(least)
    }

    /// The shift of the next step; 0 where it would cost the small values their accuracy.
    fn shift(
        &self,
        (first, last): (usize, usize),
        down: bool,
        (least, most, tol): (f64, f64, f64),
        p: Precision,
    ) -> f64 {
        if self.d.len() as f64 * tol * (least / most) <= p.eps.max(0.01 * tol) {
            return 0.0;
        }
        let (d, e) = (&self.d, &self.e);
        let (from, shift) = if down {
            (d[first].abs(), smaller_of_two(d[last - 1], e[last - 1], d[last]))
        } else {
            (d[last].abs(), smaller_of_two(d[first], e[first], d[first + 1]))
        };
        if from > 0.0 && (shift / from).powi(2) < p.eps { 0.0 } else { shift }
    }

    fn down_unshifted(&mut self, (first, last): (usize, usize), sides: &mut Sides) -> Result<()> {
        let (d, e) = (&mut self.d, &mut self.e);
        let (mut c, mut old_c, mut old_s) = (1.0, 1.0, 0.0);
        let (mut lefts, mut rights) =
            (memory::with_capacity(last - first)?, memory::with_capacity(last - first)?);
        for i in first..last {
            let (cosine, s, r) = rotation(d[i] * c, e[i]);
            c = cosine;
            if i > first {
                e[i - 1] = old_s * r;
            }
            (old_c, old_s, d[i]) = rotation(old_c * r, d[i + 1] * s);
            rights.push((c, s));
            lefts.push((old_c, old_s));
        }
        let h = d[last] * c;
        d[last] = h * old_c;
        e[last - 1] = h * old_s;
        sides.down(first, lefts, rights)
    }

    fn up_unshifted(&mut self, (first, last): (usize, usize), sides: &mut Sides) -> Result<()> {
        let (d, e) = (&mut self.d, &mut self.e);
        let (mut c, mut old_c, mut old_s) = (1.0, 1.0, 0.0);
        let (mut lefts, mut rights) =
            (memory::with_capacity(last - first)?, memory::with_capacity(last - first)?);
        for i in (first + 1..=last).rev() {
            let (cosine, s, r) = rotation(d[i] * c, e[i - 1]);
            c = cosine;
            if i < last {
                e[i] = old_s * r;
            }
            (old_c, old_s, d[i]) = rotation(old_c * r, d[i - 1] * s);
            lefts.push((c, -s));
            rights.push((old_c, -old_s));
        }
        let h = d[first] * c;
        d[first] = h * old_c;
        e[first] = h * old_s;
        sides.up(last - 1, lefts, rights)
    }

    fn down(&mut self, (first, last): (usize, usize), shift: f64, sides: &mut Sides) -> Result<()> {
        let (d, e) = (&mut self.d, &mut self.e);
        let mut f = (d[first].abs() - shift) * (1f64.copysign(d[first]) + shift / d[first]);
        let mut g = e[first];
        let (mut lefts, mut rights) =
            (memory::with_capacity(last - first)?, memory::with_capacity(last - first)?);
        for i in first..last {
            let (c, s, r) = rotation(f, g);
            if i > first {
                e[i - 1] = r;
            }
            f = c * d[i] + s * e[i];
            e[i] = c * e[i] - s * d[i];
            g = s * d[i + 1];
            d[i + 1] *= c;
            rights.push((c, s));
            let (c, s, r) = rotation(f, g);
            d[i] = r;
            f = c * e[i] + s * d[i + 1];
            d[i + 1] = c * d[i + 1] - s * e[i];
            if i + 1 < last {
                g = s * e[i + 1];
                e[i + 1] *= c;
            }
            lefts.push((c, s));
        }
        e[last - 1] = f;
        sides.down(first, lefts, rights)
    }

    fn up(&mut self, (first, last): (usize, usize), shift: f64, sides: &mut Sides) -> Result<()> {
        let (d, e) = (&mut self.d, &mut self.e);
        let mut f = (d[last].abs() - shift) * (1f64.copysign(d[last]) + shift / d[last]);
        let mut g = e[last - 1];
        let (mut lefts, mut rights) =
            (memory::with_capacity(last - first)?, memory::with_capacity(last - first)?);
        for i in (first + 1..=last).rev() {
            let (c, s, r) = rotation(f, g);
            if i < last {
                e[i] = r;
            }
            f = c * d[i] + s * e[i - 1];
            e[i - 1] = c * e[i - 1] - s * d[i];
            g = s * d[i - 1];
            d[i - 1] *= c;
            lefts.push((c, -s));
            let (c, s, r) = rotation(f, g);
            d[i] = r;
            f = c * e[i - 1] + s * d[i - 1];
            d[i - 1] = c * d[i - 1] - s * e[i - 1];
            if i > first + 1 {
                g = s * e[i - 2];
                e[i - 2] *= c;
            }
            rights.push((c, -s));
        }
        e[first] = f;
        sides.up(last - 1, lefts, rights)
    }

    /// A block of two.
    fn pair(&mut self, i: usize, sides: &mut Sides) -> Result<()> {
        let found = of_two(self.d[i], self.e[i], self.d[i + 1]);
        (self.d[i], self.e[i], self.d[i + 1]) = (found.larger, 0.0, found.smaller);
        sides.right.turn(i, found.right, sides.cancel)?;
        sides.left.turn(i, found.left, sides.cancel)
    }
}

impl Sides<'_> {
    fn down(&mut self, first: usize, left: Vec<(f64, f64)>, right: Vec<(f64, f64)>) -> Result<()> {
        self.right.push(Sweep { first, down: true, turns: right }, self.cancel)?;
        self.left.push(Sweep { first, down: true, turns: left }, self.cancel)
    }

    fn up(&mut self, first: usize, left: Vec<(f64, f64)>, right: Vec<(f64, f64)>) -> Result<()> {
        self.right.push(Sweep { first, down: false, turns: right }, self.cancel)?;
        self.left.push(Sweep { first, down: false, turns: left }, self.cancel)
    }
}

/// The smaller singular value of `[[f, g], [0, h]]`.
fn smaller_of_two(f: f64, g: f64, h: f64) -> f64 {
    let (f, g, h) = (f.abs(), g.abs(), h.abs());
    let (less, more) = (f.min(h), f.max(h));
    if less == 0.0 {
        return 0.0;
    }
    let (sum, gap) = (1.0 + less / more, (more - less) / more);
    if g < more {
        let over = (g / more).powi(2);
        return less * 2.0 / ((sum * sum + over).sqrt() + (gap * gap + over).sqrt());
    }
    let over = more / g;
    if over == 0.0 {
        return less * more / g;
    }
    let c = 1.0 / ((sum * over).hypot(1.0) + (gap * over).hypot(1.0));
    less * c * over * 2.0
}

struct Pair {
    larger: f64,
    smaller: f64,
    left: (f64, f64),
    right: (f64, f64),
}

/// `[[f, g], [0, h]]` taken apart, values with signs.
fn of_two(f: f64, g: f64, h: f64) -> Pair {
    let swap = h.abs() > f.abs();
    let (ft, ht) = if swap { (h, f) } else { (f, h) };
    let (fa, ha, ga) = (ft.abs(), ht.abs(), g.abs());
    let (larger, smaller, (cl, sl), (cr, sr));
    let tiny = ga > fa && fa / ga < f64::EPSILON / 2.0;
    if ga == 0.0 {
        (larger, smaller, (cl, sl), (cr, sr)) = (fa, ha, (1.0, 0.0), (1.0, 0.0));
    } else if tiny {
        (larger, smaller) = (ga, if ha > 1.0 { fa / (ga / ha) } else { fa / ga * ha });
        ((cl, sl), (cr, sr)) = ((1.0, ht / g), (ft / g, 1.0));
    } else {
        let gap = fa - ha;
        let l = if gap == fa { 1.0 } else { gap / fa };
        let m = g / ft;
        let t = 2.0 - l;
        let s = t.hypot(m);
        let r = if l == 0.0 { m.abs() } else { l.hypot(m) };
        let a = 0.5 * (s + r);
        (larger, smaller) = (fa * a, ha / a);
        let t = if m * m != 0.0 {
            (m / (s + t) + m / (r + l)) * (1.0 + a)
        } else if l == 0.0 {
            2f64.copysign(ft) * 1f64.copysign(g)
        } else {
            g / gap.copysign(ft) + m / t
        };
        let length = t.hypot(2.0);
        (cr, sr) = (2.0 / length, t / length);
        (cl, sl) = ((cr + sr * m) / a, ht / ft * sr / a);
    }
    let (left, right) = if swap { ((sr, cr), (sl, cl)) } else { ((cl, sl), (cr, sr)) };
    let one = |v: f64| 1f64.copysign(v);
    let sign = if ga > fa {
        one(right.1) * one(left.0) * one(g)
    } else if swap {
        one(right.1) * one(left.1) * one(h)
    } else {
        one(right.0) * one(left.0) * one(f)
    };
    Pair { larger: larger.copysign(sign), smaller: smaller.copysign(sign * one(f) * one(h)), left, right }
}

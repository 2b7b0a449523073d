//! Plane rotations of the rows of a matrix, put off until there are many of them.
//!
//! An iteration on a tridiagonal or bidiagonal matrix needs its few numbers alone; the vectors follow from the rotations
//! it found. They are applied to some columns at a time, which stay in the first caches meanwhile.

use crate::base::{Result, memory};
use crate::device::cancel::Cancel;

use super::super::isa::{self, Isa, Work};
use super::super::parallel;
use super::super::scratch::zeros;
use super::vectors::hypotenuse;

/// Columns that are turned together: a few vector registers.
const WIDTH: usize = 16;

/// Rotations after which they are applied.
const ENOUGH: usize = 1 << 14;

/// Rotations of neighbouring rows, one after the other: of rows `first` and `first + 1`, then of those below, or above.
pub(crate) struct Sweep {
    pub first: usize,
    pub down: bool,
    /// Cosines and sines: `x' = c x + s y`, `y' = c y - s x`.
    pub turns: Vec<(f64, f64)>,
}

/// The rows of an orthogonal matrix that begins as the identity.
pub(crate) struct Turning {
    rows: usize,
    /// Columns `16 i .. 16 (i + 1)`, all rows of them, after one another.
    slabs: Vec<f64>,
    waiting: Vec<Sweep>,
    count: usize,
}

impl Turning {
    /// The identity of size `n`.
    pub(super) fn identity(n: usize) -> Result<Turning> {
        let mut slabs = zeros(memory::count::<f64>(&[n.div_ceil(WIDTH), n, WIDTH])?)?;
        for i in 0..n {
            slabs[(i / WIDTH * n + i) * WIDTH + i % WIDTH] = 1.0;
        }
        Ok(Turning { rows: n, slabs, waiting: Vec::new(), count: 0 })
    }

    /// No matrix: rotations leave no trace.
    pub(super) fn nothing() -> Turning {
        Turning { rows: 0, slabs: Vec::new(), waiting: Vec::new(), count: 0 }
    }

    /// Turns two neighbouring rows.
    pub(super) fn turn(&mut self, first: usize, turn: (f64, f64), cancel: &Cancel) -> Result<()> {
        self.push(Sweep { first, down: true, turns: vec![turn] }, cancel)
    }

    /// Notes a sweep down for its time.
    pub(super) fn push(&mut self, sweep: Sweep, cancel: &Cancel) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        self.count += sweep.turns.len();
        self.waiting.push(sweep);
        if self.count > ENOUGH { self.catch_up(cancel) } else { Ok(()) }
    }

    fn catch_up(&mut self, cancel: &Cancel) -> Result<()> {
        let (sweeps, rows) = (std::mem::take(&mut self.waiting), self.rows);
        let cost = std::mem::take(&mut self.count) * WIDTH;
        let slabs = parallel::SharedMut::new(&mut self.slabs);
        let count = rows.div_ceil(WIDTH);
        parallel::for_ranges(count, parallel::grain(cost), cancel, |range| {
            for i in range {
                // SAFETY: pieces are of different slabs.
                let slab = unsafe { slabs.slice(i * rows * WIDTH..(i + 1) * rows * WIDTH) };
                isa::dispatch(Apply { slab, sweeps: &sweeps });
            }
        })
    }

    /// The rows in an order, each of them its negative where `negated` says so.
    pub(super) fn finish(mut self, order: &[usize], negated: &[bool], cancel: &Cancel) -> Result<Vec<f64>> {
        let n = self.rows;
        if n == 0 {
            return Ok(Vec::new());
        }
        self.catch_up(cancel)?;
        let mut out = zeros(n * n)?;
        for ((to, &from), &negate) in out.chunks_exact_mut(n).zip(order).zip(negated) {
            for (i, part) in to.chunks_mut(WIDTH).enumerate() {
                let at = (i * n + from) * WIDTH;
                part.copy_from_slice(&self.slabs[at..at + part.len()]);
            }
            if negate {
                to.iter_mut().for_each(|v| *v = -*v);
            }
        }
        Ok(out)
    }
}

/// Sweeps over the rows of one slab.
struct Apply<'a> {
    slab: &'a mut [f64],
    sweeps: &'a [Sweep],
}

impl Work for Apply<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let (rows, _) = self.slab.as_chunks_mut::<WIDTH>();
        for sweep in self.sweeps {
            let count = sweep.turns.len();
            if sweep.down {
                // The lower row of a rotation is the upper one of the next, and stays in registers.
                let mut x = rows[sweep.first];
                for (i, &(c, s)) in sweep.turns.iter().enumerate() {
                    let y = rows[sweep.first + i + 1];
                    let upper = &mut rows[sweep.first + i];
                    for k in 0..WIDTH {
                        upper[k] = c * x[k] + s * y[k];
                        x[k] = c * y[k] - s * x[k];
                    }
                }
                rows[sweep.first + count] = x;
            } else {
                let mut y = rows[sweep.first + 1];
                for (i, &(c, s)) in sweep.turns.iter().enumerate() {
                    let x = rows[sweep.first - i];
                    let lower = &mut rows[sweep.first - i + 1];
                    for k in 0..WIDTH {
                        lower[k] = c * y[k] - s * x[k];
                        y[k] = c * x[k] + s * y[k];
                    }
                }
                rows[sweep.first + 1 - count] = y;
            }
        }
    }
}

/// The cosine, the sine and the length `r` of the rotation that turns `(f, g)` to `(r, 0)`; the cosine is not negative.
///
/// LAPACK had [`rotation`] before, and libraries still have that in the iteration for symmetric matrices.
pub(crate) fn upright(f: f64, g: f64) -> (f64, f64, f64) {
    if g == 0.0 {
        return (1.0, 0.0, f);
    }
    if f == 0.0 {
        return (0.0, 1f64.copysign(g), g.abs());
    }
    let length = hypotenuse(f, g);
    let r = length.copysign(f);
    (f.abs() / length, g / r, r)
}

/// The cosine, the sine and the length `r` of the rotation that turns `(f, g)` to `(r, 0)`. The length has a sign: it is
/// positive, unless `f` is negative and the larger of the two, so that small rotations are near the identity.
pub(crate) fn rotation(f: f64, g: f64) -> (f64, f64, f64) {
    if g == 0.0 {
        return (1.0, 0.0, f);
    }
    if f == 0.0 {
        return (0.0, 1.0, g);
    }
    let length = hypotenuse(f, g);
    let r = if f < 0.0 && f.abs() > g.abs() { -length } else { length };
    (f / r, g / r, r)
}

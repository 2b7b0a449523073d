//! `Attention` and its gradient, row by row: what other devices compute without keeping the scores.

use crate::base::Result;
use crate::device::kernel::Launch;

use super::access::{DenseOut, dense};
use super::lines::{expect_shape, input_shape, mismatch};
use super::parallel::{self, SharedMut};

/// Sizes of an attention: rows of `width` numbers, for each of a batch.
#[derive(Clone, Copy)]
struct AttentionSizes {
    batch: usize,
    queries: usize,
    keys: usize,
    width: usize,
}

/// Of inputs `first` and the next two.
fn sizes(launch: &Launch, first: usize) -> Result<AttentionSizes> {
    let (q, k) = (input_shape(launch, first)?, input_shape(launch, first + 1)?);
    let ([others @ .., queries, width], [.., keys, _]) = (q, k) else {
        return Err(mismatch(launch, "the queries", q, k));
    };
    let mut want = q.to_vec();
    if let Some(rows) = want.iter_mut().rev().nth(1) {
        *rows = *keys;
    }
    expect_shape(launch, "the keys", k, &want)?;
    expect_shape(launch, "the values", input_shape(launch, first + 2)?, &want)?;
    let batch = others.iter().product();
    Ok(AttentionSizes { batch, queries: *queries, keys: *keys, width: *width })
}

impl AttentionSizes {
    /// Row `i` of matrix `batch` of `x`, whose matrices have `rows` of them.
    fn row<'a>(&self, x: &'a [f32], rows: usize, batch: usize, i: usize) -> &'a [f32] {
        let start = (batch * rows + i) * self.width;
        x.get(start..start + self.width).unwrap_or(&[])
    }

    /// The keys that query `i` sees.
    fn seen(&self, causal: bool, i: usize) -> usize {
        if causal { self.keys.min(i + 1) } else { self.keys }
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(to: &mut [f32], factor: f32, from: &[f32]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}

/// `q [.., l, e], k [.., s, e], v [.., s, e] -> y, lse [.., l]`.
pub(super) fn attention(launch: &Launch, causal: bool, scale: f64) -> Result<()> {
    let size = sizes(launch, 0)?;
    let (q, k, v) = (dense::<f32>(launch, 0)?, dense::<f32>(launch, 1)?, dense::<f32>(launch, 2)?);
    let (mut y, mut lse) = (DenseOut::<f32>::new(launch, 0)?, DenseOut::<f32>::new(launch, 1)?);
    let (to_y, to_lse) = (SharedMut::new(&mut y), SharedMut::new(&mut lse));
    let AttentionSizes { queries, keys, width, .. } = size;
    parallel::for_ranges(size.batch * queries, parallel::grain(keys * width), launch.cancel, |range| {
        for row in range {
            let (batch, i) = (row / queries, row % queries);
            // SAFETY: pieces have rows of their own.
            let (y, lse) =
                unsafe { (to_y.slice(row * width..(row + 1) * width), to_lse.slice(row..row + 1)) };
            let (own, seen) = (size.row(&q, queries, batch, i), size.seen(causal, i));
            let scores = || (0..seen).map(|j| dot(own, size.row(&k, keys, batch, j)) * scale as f32);
            let largest = scores().fold(f32::NEG_INFINITY, f32::max);
            let centre = if largest == f32::NEG_INFINITY { 0.0 } else { largest };
            y.fill(0.0);
            let mut total = 0.0;
            for (j, score) in scores().enumerate() {
                let weight = (score - centre).exp();
                total += weight;
                add(y, weight, size.row(&v, keys, batch, j));
            }
            y.iter_mut().for_each(|y| *y /= total);
            lse.fill(largest + total.ln());
        }
    })?;
    y.finish(launch)?;
    lse.finish(launch)
}

/// `dy, q, k, v, y, lse -> dq, dk, dv`.
pub(super) fn attention_grad(launch: &Launch, causal: bool, scale: f64) -> Result<()> {
    let size = sizes(launch, 1)?;
    let [dy, q, k, v, y, lse] = [0, 1, 2, 3, 4, 5].map(|i| dense::<f32>(launch, i));
    let (dy, q, k, v, y, lse) = (dy?, q?, k?, v?, y?, lse?);
    let [dq, dk, dv] = [0, 1, 2].map(|i| DenseOut::<f32>::new(launch, i));
    let (mut dq, mut dk, mut dv) = (dq?, dk?, dv?);
    let all = [SharedMut::new(&mut dq), SharedMut::new(&mut dk), SharedMut::new(&mut dv)];
    let AttentionSizes { queries, keys, width, .. } = size;
    parallel::for_ranges(size.batch, 1, launch.cancel, |range| {
        for batch in range {
            let part = |rows: usize| batch * rows * width..(batch + 1) * rows * width;
            // SAFETY: pieces have matrices of their own.
            let [dq, dk, dv] =
                unsafe { [all[0].slice(part(queries)), all[1].slice(part(keys)), all[2].slice(part(keys))] };
            [&mut *dq, &mut *dk, &mut *dv].into_iter().for_each(|to| to.fill(0.0));
            for (i, dq) in dq.chunks_mut(width.max(1)).enumerate() {
                let row = |x| size.row(x, queries, batch, i);
                let (own, dy) = (row(&q), row(&dy));
                let (delta, lse) = (dot(dy, row(&y)), lse.get(batch * queries + i).copied().unwrap_or(0.0));
                let seen = dk.chunks_mut(width.max(1)).zip(dv.chunks_mut(width.max(1)));
                for (j, (dk, dv)) in seen.enumerate().take(size.seen(causal, i)) {
                    let (k, v) = (size.row(&k, keys, batch, j), size.row(&v, keys, batch, j));
                    let weight = (dot(own, k) * scale as f32 - lse).exp();
                    let by_score = weight * (dot(dy, v) - delta) * scale as f32;
                    add(dv, weight, dy);
                    add(dq, by_score, k);
                    add(dk, by_score, own);
                }
            }
        }
    })?;
    dq.finish(launch)?;
    dk.finish(launch)?;
    dv.finish(launch)
}

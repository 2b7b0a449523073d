//! What all cores sort together: runs, then neighbouring runs merged.

use crate::base::Result;
use crate::device::cancel::Cancel;
use crate::device::cpu::parallel;

/// Lines longer than this are sorted by all cores together, one line after another.
pub(super) const LONG: usize = 1 << 16;

/// What one core may go through without looking whether it shall stop.
pub(super) const ONE_WALK: usize = 1 << 20;

/// What one core sorts at once.
pub(super) const RUN: usize = 1 << 15;

/// Merges neighbouring runs, each in order, until one is left. `other` is as long, and its content is lost.
pub(super) fn merge_runs<T: Ord + Copy + Send + Sync>(
    cancel: &Cancel,
    runs: &mut Vec<T>,
    other: &mut Vec<T>,
) -> Result<()> {
    let (n, mut run) = (runs.len(), RUN);
    while run < n {
        let from = &*runs;
        parallel::for_chunks(other, 2 * run, 2 * run, cancel, |pair, to| {
            let start = pair * 2 * run;
            let middle = (start + run).min(n);
            merge(
                from.get(start..middle).unwrap_or(&[]),
                from.get(middle..start + to.len()).unwrap_or(&[]),
                to,
                cancel,
            );
        })?;
        std::mem::swap(runs, other);
        run *= 2;
    }
    // A merge that was interrupted left its end as it was.
    cancel.check()
}

fn merge<'a, T: Ord + Copy>(mut a: &'a [T], mut b: &'a [T], to: &mut [T], cancel: &Cancel) {
    for (i, to) in to.iter_mut().enumerate() {
        if i % RUN == 0 && cancel.is_set() {
            return;
        }
        let from = match (a.first(), b.first()) {
            (Some(x), Some(y)) if y < x => &mut b,
            (Some(_), _) => &mut a,
            _ => &mut b,
        };
        if let Some((first, rest)) = from.split_first() {
            *to = *first;
            *from = rest;
        }
    }
}

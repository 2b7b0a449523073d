//! Whole numbers in order where nobody asks for the places they came from: equal ones are all alike.

use crate::base::Result;
use crate::device::cpu::dense::{DenseOut, dense};
use crate::device::cpu::lines::Lines;
use crate::device::cpu::parallel::{self, SharedMut};
use crate::device::cpu::scratch::zeros;
use crate::device::kernel::Launch;

use super::digits::{WIDEST, passes};
use super::merge::{LONG, ONE_WALK, RUN, merge_runs};

/// Sorts lines side by side.
pub(super) fn sort(launch: &Launch, lines: Lines, descending: bool) -> Result<()> {
    let x = dense::<i64>(launch, 0)?;
    let mut y = DenseOut::<i64>::new(launch, 0)?;
    let (n, all) = (lines.size, SharedMut::new(&mut y));
    // Lines with a core of their own, or each with all of them.
    let grain = if n > LONG { lines.count() } else { parallel::grain(n * 4) };
    parallel::try_for_ranges(lines.count(), grain, launch.cancel, |mut range| {
        range.try_for_each(|line| {
            // SAFETY: lines are disjoint.
            let to = unsafe { all.slice(line * n..(line + 1) * n) };
            ascending(launch, x.get(line * n..(line + 1) * n).unwrap_or(&[]), to)?;
            if descending {
                to.reverse();
            }
            launch.cancel.check()
        })
    })?;
    y.finish(launch)
}

fn ascending(launch: &Launch, from: &[i64], to: &mut [i64]) -> Result<()> {
    if from.len() <= ONE_WALK && count(from, to) {
        return Ok(());
    }
    to.copy_from_slice(from);
    if to.len() <= LONG {
        to.sort_unstable();
        return Ok(());
    }
    let (mut runs, mut other) = (zeros::<i64>(to.len())?, zeros::<i64>(to.len())?);
    runs.copy_from_slice(to);
    parallel::for_chunks(&mut runs, RUN, RUN, launch.cancel, |_, run| run.sort_unstable())?;
    merge_runs(launch.cancel, &mut runs, &mut other)?;
    to.copy_from_slice(&runs);
    Ok(())
}

/// Sorts into `to` by counting, where few bits tell all numbers apart.
fn count(from: &[i64], to: &mut [i64]) -> bool {
    const NEGATIVE: u64 = 1 << 63;
    let key = |x: i64| x as u64 ^ NEGATIVE;
    let Some(first) = from.first().map(|&x| key(x)) else { return true };
    let varying = from.iter().fold(0, |bits, &x| bits | (key(x) ^ first));
    let mut shifts = passes(varying, WIDEST);
    let shift = shifts.next().unwrap_or(0);
    if shifts.next().is_some() {
        return false;
    }
    let numbers = ((varying >> shift) as usize + 1).next_power_of_two();
    if numbers > from.len().saturating_mul(4) {
        return false;
    }
    let mask = numbers as u64 - 1;
    let mut counts = [0u32; 1 << WIDEST];
    for &x in from {
        if let Some(count) = counts.get_mut((key(x) >> shift & mask) as usize) {
            *count += 1;
        }
    }
    let (same, mut rest) = (first & !(mask << shift), to);
    for (number, &count) in (0u64..).zip(counts.iter().take(numbers)) {
        let Some((run, behind)) = rest.split_at_mut_checked(count as usize) else { return false };
        run.fill(((same | (number << shift)) ^ NEGATIVE) as i64);
        rest = behind;
    }
    true
}

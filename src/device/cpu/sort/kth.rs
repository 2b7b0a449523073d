//! `Kth`: what stands at a rank of a line's order, found without sorting the rest.

use crate::base::{Result, memory};
use crate::device::cpu::convert::with_compute;
use crate::device::cpu::dense::{Dense, DenseOut, dense};
use crate::device::cpu::lines::{Lines, expect_shape, input_shape, mismatch, output_shape};
use crate::device::cpu::parallel::{self, SharedMut};
use crate::device::kernel::{Kth, Launch};

use super::keys::{Sortable, ordered};

/// Lines beside each other that are read together, so that what lies between their elements is read once.
const BESIDE: usize = 16;

/// From this size on a sample tells first where about the rank lies.
const SAMPLED: usize = 1 << 13;
const SAMPLE: usize = 1 << 10;

/// So far from where a sample has the rank it is looked for: three deviations of a median's.
const AROUND: usize = 48;

/// Values (one a line) at a rank of the order along `dim`, and the places (int64) where they are. The order is that of
/// [`super::sort`]: of equal values the first comes first, and NaN last.
pub(in crate::device::cpu) fn kth(launch: &Launch, dim: usize, kth: Kth) -> Result<()> {
    let (from, shape) = (input_shape(launch, 0)?, output_shape(launch, 0)?);
    let (lines, found) = (Lines::new(from, dim), Lines::new(shape, dim));
    if lines.size == 0 || found.size != 1 || (found.outer, found.inner) != (lines.outer, lines.inner) {
        return Err(mismatch(launch, "the input", from, shape));
    }
    expect_shape(launch, "the indices", output_shape(launch, 1)?, shape)?;
    with_compute!(launch.dtype(), C => find::<C>(launch, lines, kth))
}

fn find<C: Sortable>(launch: &Launch, lines: Lines, kth: Kth) -> Result<()> {
    let x = dense::<C>(launch, 0)?;
    let (mut values, mut indices) = (DenseOut::<C>::new(launch, 0)?, DenseOut::<i64>::new(launch, 1)?);
    let (to_values, to_indices) = (SharedMut::new(&mut values), SharedMut::new(&mut indices));
    parallel::try_for_ranges(lines.count(), parallel::grain(8 * lines.size), launch.cancel, |range| {
        let beside = BESIDE.min(lines.inner).min(range.len());
        let mut keys: Vec<C::Key> = memory::with_capacity(lines.size.saturating_mul(beside))?;
        let mut some: Vec<C::Key> = memory::with_capacity(lines.size)?;
        let mut line = range.start;
        while line < range.end {
            let block = beside.min(lines.inner - line % lines.inner).min(range.end - line);
            launch.cancel.check()?;
            read(&x, lines, line, block, &mut keys);
            for (i, keys) in keys.chunks_exact(lines.size).enumerate() {
                let place = place_of(keys, rank::<C>(keys, kth), &mut some);
                let value = x.get(lines.start(line + i) + place * lines.inner);
                // SAFETY: each line has one writer.
                let (to, index) = unsafe { (to_values.place(line + i), to_indices.place(line + i)) };
                if let (Some(&value), Some(to), Some(index)) = (value, to, index) {
                    (*to, *index) = (value, place as i64);
                }
            }
            line += block;
        }
        Ok(())
    })?;
    values.finish(launch)?;
    indices.finish(launch)
}

/// The keys of `block` neighbouring lines, one line after the other.
fn read<C: Sortable>(x: &Dense<C>, lines: Lines, line: usize, block: usize, keys: &mut Vec<C::Key>) {
    let start = lines.start(line);
    keys.clear();
    if block == 1 {
        let values = x.iter().skip(start).step_by(lines.inner).take(lines.size);
        return keys.extend(values.map(|&value| ordered(value, false)));
    }
    keys.resize(block * lines.size, C::AFTER_ALL);
    for i in 0..lines.size {
        let from = start + i * lines.inner;
        for (j, &value) in x.get(from..from + block).unwrap_or(&[]).iter().enumerate() {
            if let Some(key) = keys.get_mut(j * lines.size + i) {
                *key = ordered(value, false);
            }
        }
    }
}

/// Which rank of the order is meant, which what is no number may decide.
fn rank<C: Sortable>(keys: &[C::Key], kth: Kth) -> usize {
    // An integer's largest key is a number's.
    let nans =
        || if C::DTYPE.is_float() { keys.iter().filter(|&&key| key == C::AFTER_ALL).count() } else { 0 };
    let rank = match kth {
        Kth::Rank(rank) => rank,
        Kth::RankOrNan(rank) => match nans() {
            0 => rank,
            nans => keys.len() - nans,
        },
        Kth::MiddleOfNumbers => (keys.len() - nans()).saturating_sub(1) / 2,
    };
    rank.min(keys.len() - 1)
}

/// Where the element of a rank stands. Of equal ones those before have the lower ranks.
fn place_of<K: Ord + Copy>(keys: &[K], rank: usize, some: &mut Vec<K>) -> usize {
    let before = gather(keys, rank, some);
    let within = rank - before;
    let (lower, &mut key, _) = some.select_nth_unstable(within);
    let equals = lower.iter().filter(|&&other| other == key).count();
    let mut same = keys.iter().enumerate().filter(|(_, other)| **other == key).map(|(place, _)| place);
    same.nth(equals).unwrap_or(0)
}

/// Puts keys into `some` among which the rank lies, and tells how many that are left out come before all of them.
fn gather<K: Ord + Copy>(keys: &[K], rank: usize, some: &mut Vec<K>) -> usize {
    some.clear();
    some.extend_from_slice(keys);
    if keys.len() < SAMPLED {
        return 0;
    }
    let mut sample: Vec<K> = keys.iter().step_by(keys.len() / SAMPLE).copied().collect();
    let about = (rank as u128 * sample.len() as u128 / keys.len() as u128) as usize;
    let mut ranked = |at: usize| (at < sample.len()).then(|| *sample.select_nth_unstable(at).1);
    let (low, high) = (about.checked_sub(AROUND).and_then(&mut ranked), ranked(about + AROUND));
    let (mut before, mut kept) = (0, 0);
    for &key in keys {
        let (early, late) = (low.is_some_and(|low| key < low), high.is_some_and(|high| key > high));
        if let Some(slot) = some.get_mut(kept) {
            *slot = key;
        }
        before += usize::from(early);
        kept += usize::from(!early && !late);
    }
    if (before..before + kept).contains(&rank) {
        some.truncate(kept);
        return before;
    }
    // The sample was like no other part of the line.
    some.clear();
    some.extend_from_slice(keys);
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::DType;
    use crate::device::cpu::testing::{Sample, launch as run, layouts, noise};
    use crate::device::kernel::Kernel;
    use proptest::prelude::*;

    /// One a line of what a whole sort has, with the places.
    fn check(x: &Sample, dim: usize, kth: Kth) {
        let shape = x.layout.shape();
        let whole = [Sample::zeros(x.dtype, shape), Sample::zeros(DType::Int64, shape)];
        let sort = Kernel::Sort { dim, descending: false };
        run(&sort, &[x.arg()], &[whole[0].view(), whole[1].view()]).unwrap();
        let mut kept = shape.to_vec();
        kept.iter_mut().skip(dim).take(1).for_each(|size| *size = 1);
        let found = [Sample::zeros(x.dtype, &kept), Sample::zeros(DType::Int64, &kept)];
        run(&Kernel::Kth { dim, kth }, &[x.arg()], &[found[0].view(), found[1].view()]).unwrap();
        let (lines, [sorted, order]) = (Lines::new(shape, dim), whole.map(|w| w.values()));
        let at = |line: usize, rank: usize| lines.start(line) + rank * lines.inner;
        let ranks = (0..lines.count()).map(|line| {
            let nans = (0..lines.size).filter(|&i| sorted[at(line, i)].is_nan()).count();
            match kth {
                Kth::Rank(rank) => rank,
                Kth::RankOrNan(rank) if nans == 0 => rank,
                Kth::RankOrNan(_) => lines.size - nans,
                Kth::MiddleOfNumbers => (lines.size - nans).saturating_sub(1) / 2,
            }
        });
        let bits = |v: &[f64]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        let wanted: Vec<usize> = ranks.enumerate().map(|(line, rank)| at(line, rank)).collect();
        let of = |all: &[f64]| wanted.iter().map(|&at| all[at]).collect::<Vec<_>>();
        assert_eq!(bits(&found[0].values()), bits(&of(&sorted)), "{kth:?} along {dim} of {shape:?}");
        assert_eq!(found[1].values(), of(&order), "{kth:?} along {dim} of {shape:?}");
    }

    fn each(size: usize, rank: usize) -> [Kth; 3] {
        [Kth::Rank(rank % size), Kth::RankOrNan(rank % size), Kth::MiddleOfNumbers]
    }

    proptest! {
        #[test]
        fn it_is_that_of_the_order(
            layout in layouts(true), dim in 0usize..4, d in 0usize..10, rank in 0usize..100,
            values in prop::collection::vec(prop::sample::select(&[0.0, -0.0, 1.0, -1.5, 7.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY][..]), 1..40),
        ) {
            let dim = dim.min(layout.rank().saturating_sub(1));
            let size = layout.shape().get(dim).copied().unwrap_or(1);
            prop_assume!(size > 0);
            let x = Sample::laid_out(DType::ALL[d], layout, values.iter().copied().cycle());
            each(size, rank).into_iter().for_each(|kth| check(&x, dim, kth));
        }
    }

    /// Lines that a sample tells of, and such that mislead it: in order, with one value only, in a rhythm.
    #[test]
    fn long_lines_have_it_too() {
        let n = 3 * SAMPLED + 5;
        let rhythm = n / SAMPLE;
        let noise: Vec<f64> = noise(3).take(n).collect();
        for dtype in [DType::Float32, DType::Float64, DType::Int32] {
            for rank in [0, 1, 40, n / 3, n / 2, n - 50, n - 1] {
                let lines: [&dyn Fn(usize) -> f64; 6] = [
                    &|i| (noise[i] * 1e6).round(),
                    &|i| i as f64,
                    &|i| (n - i) as f64,
                    &|_| 3.0,
                    &|i| if i % rhythm == 0 { -1e6 } else { i as f64 },
                    &|i| if i % 7 == 0 && dtype.is_float() { f64::NAN } else { (i % 11) as f64 },
                ];
                for line in lines {
                    let x = Sample::new(dtype, &[n], (0..n).map(line));
                    each(n, rank).into_iter().for_each(|kth| check(&x, 0, kth));
                }
            }
        }
        let columns = Sample::new(DType::Float32, &[2, SAMPLED, 21], (0..42 * SAMPLED).map(|i| noise[i % n]));
        each(SAMPLED, 4000).into_iter().for_each(|kth| check(&columns, 1, kth));
    }
}

//! Filling an output with draws, in blocks that an interrupt ends.

use crate::base::Result;
use crate::device::cpu::access::{BlockWriter, Scratch};
use crate::device::cpu::convert::{Compute, compute_dtype};
use crate::device::cpu::math::special;
use crate::device::cpu::parallel;
use crate::device::kernel::{Launch, View};

/// Elements that are drawn at a time.
pub(super) const BLOCK: usize = 1024;

/// Places between two looks at the interrupt.
pub(super) const OFTEN: usize = 1 << 16;

/// Writes blocks one after another, as a generator with a state must.
pub(super) fn in_order<C: Compute>(
    launch: &Launch,
    output: &View,
    mut draw: impl FnMut(&mut [C]),
) -> Result<()> {
    let writer = BlockWriter::<C>::new(output)?;
    let mut values = [C::default(); BLOCK];
    for start in (0..writer.numel()).step_by(BLOCK) {
        launch.cancel.check()?;
        let values = values.get_mut(..BLOCK.min(writer.numel() - start)).unwrap_or(&mut []);
        draw(values);
        // SAFETY: nothing else uses the output, and the block is memory of its own.
        unsafe { writer.store(start, values) };
    }
    Ok(())
}

/// Writes a function of the element's number, on all cores.
pub(super) fn by_place<C: Compute>(
    launch: &Launch,
    output: &View,
    value: impl Fn(u64) -> C + Sync,
) -> Result<()> {
    let writer = BlockWriter::<C>::new(output)?;
    parallel::for_ranges(writer.numel(), parallel::GRAIN / 4, launch.cancel, |range| {
        let mut block = Scratch::<C>::new();
        for start in range.clone().step_by(BLOCK) {
            // SAFETY: the values are written before they are read.
            let values = unsafe { block.first(BLOCK.min(range.end - start)) };
            for (i, to) in values.iter_mut().enumerate() {
                *to = value((start + i) as u64);
            }
            // SAFETY: pieces are disjoint, and the block is memory of its own.
            unsafe { writer.store(start, values) };
        }
    })
}

/// A Poisson number: below a mean of 10 by counting arrivals (Knuth), from there on by transformed rejection
/// (Hörmann, 1993, algorithm PTRS).
pub(super) fn arrivals(mean: f64, mut uniform: impl FnMut() -> f64) -> f64 {
    if mean == 0.0 {
        return 0.0;
    }
    if mean.is_nan() || mean < 10.0 {
        let (end, mut product, mut count) = ((-mean).exp(), uniform(), 0.0);
        while product > end {
            count += 1.0;
            product *= uniform();
        }
        return count;
    }
    let b = 0.931 + 2.53 * mean.sqrt();
    let a = -0.059 + 0.02483 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let squeeze = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let (u, v) = (uniform() - 0.5, uniform());
        let room = 0.5 - u.abs();
        let count = ((2.0 * a / room + b) * u + mean + 0.43).floor();
        if room >= 0.07 && v <= squeeze || mean.is_infinite() {
            return count;
        }
        if count < 0.0 || (room < 0.013 && v > room) {
            continue;
        }
        let bound = -mean + count * mean.ln() - special::lgamma(count + 1.0);
        if v.ln() + inverse_alpha.ln() - (a / (room * room) + b).ln() <= bound {
            return count;
        }
    }
}

/// Whether an output's values are computed in f64.
pub(super) fn is_double(output: &View) -> bool {
    compute_dtype(output.dtype) == crate::base::DType::Float64
}

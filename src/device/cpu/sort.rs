//! `Sort`: stable sorting along a dimension.

mod digits;
mod first;
mod keys;
pub(super) mod kth;
mod merge;
mod whole;

use crate::base::dtype::Category;
use crate::base::{Result, memory};
use crate::device::kernel::Launch;

use super::convert::with_compute;
use super::dense::{DenseOut, dense};
use super::lines::{Lines, expect_shape, input_shape, mismatch, output_shape};
use super::parallel::{self, SharedMut};
use super::scratch::zeros;

use keys::{SortEntry, Sortable, ordered};
use merge::{LONG, ONE_WALK, RUN, merge_runs};

/// Values along `dim` in order, and the places (int64) they came from. Equal values keep their order; NaN
/// sorts as the largest, as in `torch.sort(stable=True)`. Of outputs with shorter lines the first of the order. Without a
/// second output the values alone.
pub(super) fn sort(launch: &Launch, dim: usize, descending: bool) -> Result<()> {
    let (from, shape) = (input_shape(launch, 0)?, output_shape(launch, 0)?);
    let (lines, first) = (Lines::new(from, dim), Lines::new(shape, dim));
    if first.size > lines.size || (first.outer, first.inner) != (lines.outer, lines.inner) {
        return Err(mismatch(launch, "the input", from, shape));
    }
    if launch.outputs.len() > 1 {
        expect_shape(launch, "the indices", output_shape(launch, 1)?, shape)?;
    } else if launch.dtype().category() == Category::Int && lines.inner == 1 && first.size == lines.size {
        return whole::sort(launch, lines, descending);
    }
    with_compute!(launch.dtype(), C => sort_lines::<C>(launch, lines, first, descending))
}

fn sort_lines<C: Sortable>(launch: &Launch, lines: Lines, first: Lines, descending: bool) -> Result<()> {
    let x = dense::<C>(launch, 0)?;
    let mut values = DenseOut::<C>::new(launch, 0)?;
    let mut indices = if launch.outputs.len() > 1 { Some(DenseOut::<i64>::new(launch, 1)?) } else { None };
    let to_values = SharedMut::new(&mut values);
    let to_indices = SharedMut::new(indices.as_deref_mut().unwrap_or(&mut []));
    let entry = |start: usize, i: usize| -> SortEntry {
        let value = x.get(start + i * lines.inner).copied().unwrap_or_default();
        (ordered(value, descending).into(), i)
    };
    let write = |line: usize, sorted: &[SortEntry]| -> Result<()> {
        let start = lines.start(line);
        for (i, &(_, from)) in sorted.iter().take(first.size).enumerate() {
            if i % RUN == 0 {
                launch.cancel.check()?;
            }
            let to = first.start(line) + i * lines.inner;
            // SAFETY: lines are disjoint, and each has one writer.
            let (value, index) = unsafe { (to_values.place(to), to_indices.place(to)) };
            if let (Some(&v), Some(value)) = (x.get(start + from * lines.inner), value) {
                *value = v;
            }
            if let Some(index) = index {
                *index = from as i64;
            }
        }
        Ok(())
    };
    let few = first.size <= first::MOST && first.size <= lines.size / 8;
    if lines.size > LONG {
        for line in 0..lines.count() {
            let start = lines.start(line);
            let sorted = match x.get(start..start + lines.size).filter(|_| few && lines.inner == 1) {
                Some(values) => first_of_long(launch, values, first.size, descending)?,
                None => long_line(launch, lines.size, |i| entry(start, i))?,
            };
            write(line, &sorted)?;
        }
    } else {
        let cost = lines.size * if few { 1 } else { 16 };
        parallel::try_for_ranges(lines.count(), parallel::grain(cost), launch.cancel, |range| {
            let mut entries: Vec<SortEntry> =
                memory::with_capacity(if few { first.size } else { lines.size })?;
            let mut spare = zeros::<SortEntry>(if few { 0 } else { lines.size })?;
            let mut apart: Vec<C> = memory::with_capacity(if few { lines.size } else { 0 })?;
            for line in range {
                let start = lines.start(line);
                if few {
                    let values = match x.get(start..start + lines.size).filter(|_| lines.inner == 1) {
                        Some(values) => values,
                        None => {
                            apart.clear();
                            apart.extend(x.iter().skip(start).step_by(lines.inner).take(lines.size));
                            &apart
                        }
                    };
                    first::first(values, 0, first.size, descending, &mut entries);
                } else {
                    entries.clear();
                    entries.extend((0..lines.size).map(|i| entry(start, i)));
                    in_order(&mut entries, &mut spare, first.size);
                }
                write(line, &entries)?;
            }
            Ok(())
        })?;
    }
    values.finish(launch)?;
    indices.map_or(Ok(()), |indices| indices.finish(launch))
}

/// Sorts a line's entries, or of much more the first `wanted`.
fn in_order(entries: &mut Vec<SortEntry>, spare: &mut [SortEntry], wanted: usize) {
    if wanted < entries.len() / 4 && wanted > 0 {
        entries.select_nth_unstable(wanted - 1);
        entries.truncate(wanted);
        return entries.sort_unstable();
    }
    digits::sort(entries, spare);
}

/// The first of a long line, a few, found piece by piece on all cores.
fn first_of_long<C: Sortable>(
    launch: &Launch,
    line: &[C],
    wanted: usize,
    descending: bool,
) -> Result<Vec<SortEntry>> {
    let mut found = zeros::<SortEntry>(line.len().div_ceil(RUN) * wanted)?;
    parallel::for_chunks(&mut found, wanted, 1, launch.cancel, |piece, to| {
        let from = piece * RUN;
        let values = line.get(from..line.len().min(from + RUN)).unwrap_or(&[]);
        let mut best = Vec::new();
        first::first(values, from, wanted, descending, &mut best);
        // The last piece may be shorter than what is wanted.
        best.resize(wanted, (u64::MAX, usize::MAX));
        to.copy_from_slice(&best);
    })?;
    found.sort_unstable();
    found.truncate(wanted);
    Ok(found)
}

/// Entries by their places, sorted on all cores: runs, then neighbouring runs merged until one is left.
pub(in crate::device::cpu) fn long_line(
    launch: &Launch,
    n: usize,
    entry: impl Fn(usize) -> SortEntry + Sync,
) -> Result<Vec<SortEntry>> {
    let (mut entries, mut other) = (zeros::<SortEntry>(n)?, zeros::<SortEntry>(n)?);
    parallel::for_chunks(&mut entries, RUN, RUN, launch.cancel, |chunk, to| {
        for (i, to) in to.iter_mut().enumerate() {
            *to = entry(chunk * RUN + i);
        }
    })?;
    if n <= ONE_WALK && digits::sort_by_one(&entries, &mut other) {
        return Ok(other);
    }
    let spare = SharedMut::new(&mut other);
    parallel::for_chunks(&mut entries, RUN, RUN, launch.cancel, |chunk, to| {
        let from = chunk * RUN;
        // SAFETY: chunks are disjoint.
        digits::sort(to, unsafe { spare.slice(from..from + to.len()) });
    })?;
    merge_runs(launch.cancel, &mut entries, &mut other)?;
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::DType;
    use crate::device::cpu::testing::{Sample, launch as run, layouts};
    use crate::device::kernel::Kernel;
    use proptest::prelude::*;
    use std::cmp::Ordering;

    /// Sorted values and their places, by the standard library's stable sort.
    fn naive(x: &[f64], shape: &[usize], dim: usize, descending: bool) -> (Vec<f64>, Vec<f64>) {
        let lines = Lines::new(shape, dim);
        let (mut values, mut indices) = (x.to_vec(), vec![0.0; x.len()]);
        for line in 0..lines.count() {
            let at = |i: usize| lines.start(line) + i * lines.inner;
            let mut order: Vec<usize> = (0..lines.size).collect();
            let compare = |a: f64, b: f64| match (a.is_nan(), b.is_nan()) {
                (false, false) => a.partial_cmp(&b).unwrap(),
                (a, b) => a.cmp(&b),
            };
            order.sort_by(|&i, &j| {
                let order: Ordering = compare(x[at(i)], x[at(j)]);
                if descending { order.reverse() } else { order }
            });
            for (to, from) in order.into_iter().enumerate() {
                values[at(to)] = x[at(from)];
                indices[at(to)] = from as f64;
            }
        }
        (values, indices)
    }

    fn check(x: &Sample, dim: usize, descending: bool) {
        let shape = x.layout.shape();
        let (values, indices) = (Sample::zeros(x.dtype, shape), Sample::zeros(DType::Int64, shape));
        run(&Kernel::Sort { dim, descending }, &[x.arg()], &[values.view(), indices.view()]).unwrap();
        let (want_values, want_indices) = naive(&x.values(), shape, dim, descending);
        let bits = |v: &[f64]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&values.values()), bits(&want_values));
        assert_eq!(indices.values(), want_indices);
    }

    proptest! {
        #[test]
        fn lines_are_sorted_stably(
            layout in layouts(true), dim in 0usize..4, d in 0usize..10, descending in any::<bool>(),
            values in prop::collection::vec(prop::sample::select(&[0.0, -0.0, 1.0, -1.5, 7.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY][..]), 1..40),
        ) {
            let dim = dim.min(layout.rank().saturating_sub(1));
            check(&Sample::laid_out(DType::ALL[d], layout, values.iter().copied().cycle()), dim, descending);
        }
    }

    #[test]
    fn long_lines_too() {
        let values = (0..200_000).map(|i| f64::from(i % 20_011 * 7919 % 1009));
        check(&Sample::new(DType::Float32, &[200_000], values.clone()), 0, false);
        check(&Sample::new(DType::Int32, &[100_000, 2], values), 0, true);
    }

    /// The same numbers, whatever tells them apart: few bits or many, and more than one core sorts.
    #[test]
    fn values_alone_are_in_the_same_order() {
        let spread = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for n in [0, 1, 2, 3, 100, 5000, LONG + 3, 3 * RUN + 1] {
            for (low, numbers, apart) in
                [(0, 900, 1), (-450, 900, 1), (-7, 3, 5), (-(1 << 40), 1 << 41, 1), (9, 1, 1)]
            {
                let value = |i: u64| (low + (spread(i) % numbers) as i64 * apart) as f64;
                let dtypes = [DType::Int64, DType::Int16, DType::UInt8, DType::Float32];
                for dtype in dtypes.into_iter().take(if n > LONG { 1 } else { 4 }) {
                    let x = Sample::new(dtype, &[2, n], (0..2 * n as u64).map(value));
                    for descending in [false, true] {
                        let [alone, beside] = [(); 2].map(|()| Sample::zeros(dtype, &[2, n]));
                        let places = Sample::zeros(DType::Int64, &[2, n]);
                        let kernel = Kernel::Sort { dim: 1, descending };
                        run(&kernel, &[x.arg()], &[alone.view()]).unwrap();
                        run(&kernel, &[x.arg()], &[beside.view(), places.view()]).unwrap();
                        assert_eq!(alone.values(), beside.values(), "{dtype:?} {n} {low} {numbers} {apart}");
                    }
                }
            }
        }
        let x = Sample::new(DType::Int64, &[3, 2], [5.0, 1.0, 4.0, 9.0, -2.0, 3.0]);
        let columns = Sample::zeros(DType::Int64, &[3, 2]);
        run(&Kernel::Sort { dim: 0, descending: false }, &[x.arg()], &[columns.view()]).unwrap();
        assert_eq!(columns.values(), [-2.0, 1.0, 4.0, 3.0, 5.0, 9.0]);
    }

    #[test]
    fn large_integers_keep_their_order() {
        let x = Sample::zeros(DType::Int64, &[3]);
        let block = x.buffer.host.as_ref().unwrap();
        let bytes = [i64::MAX, i64::MIN, i64::MAX - 1].map(i64::to_le_bytes).concat();
        assert!(block.write(0, &bytes));
        let (values, indices) = (Sample::zeros(DType::Int64, &[3]), Sample::zeros(DType::Int64, &[3]));
        let kernel = Kernel::Sort { dim: 0, descending: false };
        run(&kernel, &[x.arg()], &[values.view(), indices.view()]).unwrap();
        assert_eq!(indices.values(), [1.0, 2.0, 0.0]);
    }

    #[test]
    fn shorter_outputs_have_the_first_of_the_order() {
        let x = Sample::new(
            DType::Float32,
            &[3, 70_000, 2],
            (0..420_000).map(|i| f64::from(i % 20_011 * 7919 % 1009)),
        );
        let short = Sample::new(DType::Float32, &[3, 50, 2], (0..300).map(|i| f64::from(i * 7919 % 31)));
        for (x, n) in [(x, 70_000), (short, 50)] {
            let whole = [Sample::zeros(DType::Float32, &[3, n, 2]), Sample::zeros(DType::Int64, &[3, n, 2])];
            let first = [Sample::zeros(DType::Float32, &[3, 5, 2]), Sample::zeros(DType::Int64, &[3, 5, 2])];
            for (out, kept) in [(&whole, n), (&first, 5)] {
                let kernel = Kernel::Sort { dim: 1, descending: true };
                run(&kernel, &[x.arg()], &[out[0].view(), out[1].view()]).unwrap();
                assert_eq!(out[0].layout.shape()[1], kept);
            }
            for (whole, first) in whole.into_iter().zip(first) {
                let want = whole.layout.slice(1, 0, 5, 1).unwrap();
                assert_eq!(first.values(), whole.through(want).values());
            }
        }
    }

    #[test]
    fn the_few_first_of_a_row_are_those_of_its_order() {
        let odd = [f64::NAN, f64::NEG_INFINITY, -0.0, 0.0, f64::INFINITY];
        let value = |i: usize| if i % 97 < 5 { odd[i % 97] } else { (i * 7919 % 1009) as f64 - 500.0 };
        for (rows, size, few) in [
            (3, 70_001, 7),
            (40, 1000, 10),
            (5, 512, 64),
            (1, 200_000, 64),
            (9, 9, 1),
            (3, 20, 2),
            (2, 40, 5),
        ] {
            for dtype in [DType::Float32, DType::Float64, DType::BFloat16, DType::Int64, DType::Int8] {
                for descending in [false, true] {
                    let x = Sample::new(dtype, &[rows, size], (0..rows * size).map(value));
                    let outputs =
                        |n| [Sample::zeros(dtype, &[rows, n]), Sample::zeros(DType::Int64, &[rows, n])];
                    let (whole, first) = (outputs(size), outputs(few));
                    for out in [&whole, &first] {
                        run(
                            &Kernel::Sort { dim: 1, descending },
                            &[x.arg()],
                            &[out[0].view(), out[1].view()],
                        )
                        .unwrap();
                    }
                    for (whole, first) in whole.into_iter().zip(first) {
                        let want = whole.layout.slice(1, 0, few, 1).unwrap();
                        let bits = |s: &Sample| s.values().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                        assert_eq!(bits(&first), bits(&whole.through(want)), "{dtype:?} {rows} x {size}");
                    }
                }
            }
        }
    }
}

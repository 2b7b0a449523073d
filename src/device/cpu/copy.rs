//! Copies and casts between layouts: along the memory where both lie alike, in tiles where they lie across.

use crate::base::{Dims, Layout, Result, Scalar, Strides};
use crate::device::cancel::Cancel;
use crate::device::cpu::scratch::zeros;
use crate::device::cpu::strided::{BLOCK, Overlap, Strided};

use super::super::kernel::{Arg, Launch, View};
use super::along::LinesAlong;
use super::block::{BlockReader, BlockWriter, Scratch, TileScratch, scalar_value, wrong_shape};
use super::convert::{Compute, with_compute};
use super::long_row::{LONG_ROW, copy_row};
use super::parallel::{self, GRAIN};
use super::strided::missing;
use super::walk::{Tiling, merge_by, plan};

/// `x -> y`: each element converted once from the type it computes in; a number fills.
pub(super) fn copy(launch: &Launch) -> Result<()> {
    let Some(to) = launch.outputs.first() else { return Err(missing(launch, "output", 0)) };
    let to = Strided::new(to)?;
    match launch.inputs.first() {
        None => Err(missing(launch, "input", 0)),
        Some(Arg::Scalar(Scalar::Float(value))) => fill(launch.cancel, *value, &to),
        Some(Arg::Scalar(value)) => fill::<i64>(launch.cancel, scalar_value(*value), &to),
        Some(Arg::View(from)) => {
            let from = Strided::new(from)?;
            if from.layout.shape() != to.layout.shape() {
                return Err(wrong_shape(from.layout.shape(), to.layout.shape()));
            }
            match from.overlap(&to) {
                Overlap::None => between(launch.cancel, &from, &to),
                Overlap::Same => Ok(()),
                Overlap::Partial => with_compute!(from.dtype, C => {
                    let mut values = gathered::<C>(launch.cancel, &from)?;
                    between(launch.cancel, &Strided::of_slice(&mut values, &from.as_rows()?)?, &to)
                }),
            }
        }
    }
}

/// `x, … -> y`: one after another along `dim`.
pub(super) fn join(launch: &Launch, dim: usize) -> Result<()> {
    let Some(to) = launch.outputs.first() else { return Err(missing(launch, "output", 0)) };
    for piece in launch.joined(dim) {
        let (from, layout) = piece?;
        let to = View { layout: &layout, ..*to };
        let (from, to) = (Strided::new(&from)?, Strided::new(&to)?);
        if from.layout.shape() != to.layout.shape() {
            return Err(wrong_shape(from.layout.shape(), to.layout.shape()));
        }
        between(launch.cancel, &from, &to)?;
    }
    Ok(())
}

/// Copies between views of one shape that share no memory.
pub(super) fn between(cancel: &Cancel, from: &Strided, to: &Strided) -> Result<()> {
    match merged(from.layout, to.layout)? {
        Some([from_layout, to_layout]) => {
            // SAFETY: dimensions that lie in one another in both are one; the elements stay what they are.
            let (from, to) = unsafe { (from.reordered(&from_layout), to.reordered(&to_layout)) };
            planned(cancel, &from, &to)
        }
        None => planned(cancel, from, to),
    }
}

/// Two layouts of one shape with neighbouring dimensions made one that step through the memory as one in both: tiles over
/// them are larger, and fewer. None where there are none, and of so few dimensions that there is nothing to gain.
fn merged(from: &Layout, to: &Layout) -> Result<Option<[Layout; 2]>> {
    if to.rank() < 3 {
        return Ok(None);
    }
    let steps = from.strides().iter().zip(to.strides()).map(|(&from, &to)| [from, to]);
    let dims = merge_by(to.shape().iter().copied().zip(steps), |outer, inner, size| {
        outer.iter().zip(inner).all(|(outer, inner)| *outer == inner.wrapping_mul(size))
    });
    if dims.len() == to.rank() {
        return Ok(None);
    }
    let sizes: Dims = dims.iter().map(|(size, _)| *size).collect();
    let layout = |strides: Strides, of: &Layout| Layout::new(sizes.clone(), strides, of.offset());
    let from = layout(dims.iter().map(|(_, [step, _])| *step).collect(), from)?;
    Ok(Some([from, layout(dims.iter().map(|(_, [_, step])| *step).collect(), to)?]))
}

fn planned(cancel: &Cancel, from: &Strided, to: &Strided) -> Result<()> {
    let plan = plan(to.layout, std::iter::once(from.layout));
    let Some(order) = plan.order else { return along(cancel, from, to, None) };
    let (from_layout, to_layout) = (from.layout.permute(&order)?, to.layout.permute(&order)?);
    // SAFETY: a permutation that leaves out dimensions of size 1 visits the same elements.
    let (from, to) = unsafe { (from.reordered(&from_layout), to.reordered(&to_layout)) };
    along(cancel, &from, &to, plan.tiling.as_ref())
}

fn along(cancel: &Cancel, from: &Strided, to: &Strided, tiling: Option<&Tiling>) -> Result<()> {
    if from.dtype == to.dtype {
        return match from.dtype.size() {
            1 => same::<u8>(cancel, from, to, tiling),
            2 => same::<u16>(cancel, from, to, tiling),
            4 => same::<u32>(cancel, from, to, tiling),
            _ => same::<u64>(cancel, from, to, tiling),
        };
    }
    with_compute!(from.dtype, C => {
        // SAFETY: the views share no memory, so nothing writes what is read.
        let reader = unsafe { BlockReader::<C>::strided(from) };
        transfer(cancel, from, to, (reader, BlockWriter::strided(to)), tiling)
    })
}

fn same<T: Copy + Send + Sync>(
    cancel: &Cancel,
    from: &Strided,
    to: &Strided,
    tiling: Option<&Tiling>,
) -> Result<()> {
    if tiling.is_none()
        && let Some(lines) = long_rows(from, to)
    {
        let bytes = lines.length * size_of::<T>();
        return parallel::for_ranges(lines.panels(), parallel::grain(lines.length), cancel, |rows| {
            for [at, place] in rows.map(|row| lines.panel(row).start) {
                // SAFETY: the rows lie inside each view, and the views share no memory.
                unsafe { copy_row(from.origin::<T>().offset(at), to.origin::<T>().offset(place), bytes) };
            }
        });
    }
    // SAFETY: as above; elements move unchanged between views of one dtype.
    let ends = unsafe { (BlockReader::<T>::bits(from), BlockWriter::<T>::bits(to)) };
    transfer(cancel, from, to, ends, tiling)
}

/// The rows of views that are not one piece, where they lie in pieces of some length on both sides.
fn long_rows(from: &Strided, to: &Strided) -> Option<LinesAlong<2>> {
    let last = to.layout.rank().checked_sub(1)?;
    if from.layout.is_contiguous() && to.layout.is_contiguous() {
        return None;
    }
    let lines = LinesAlong::new([from, to], last);
    let long = lines.length * from.dtype.size() >= LONG_ROW;
    (long && lines.steps == [1, 1] && !lines.across).then_some(lines)
}

fn transfer<C: Copy + Send + Sync>(
    cancel: &Cancel,
    from: &Strided,
    to: &Strided,
    (reader, writer): (BlockReader<C>, BlockWriter<C>),
    tiling: Option<&Tiling>,
) -> Result<()> {
    let Some(tiling) = tiling else {
        return parallel::for_ranges(writer.numel(), GRAIN, cancel, |range| {
            // SAFETY: pieces are disjoint, and the views share no memory.
            unsafe {
                if let Some(values) = reader.slice(range.clone()) {
                    writer.store(range.start, values);
                } else if let Some(values) = writer.slice(range.clone()) {
                    reader.load(range.start, values);
                } else {
                    let mut scratch = Scratch::new();
                    for start in range.clone().step_by(super::strided::BLOCK) {
                        writer.store(start, reader.block(start, range.end - start, &mut scratch));
                    }
                }
            }
        });
    };
    let (reader, writer) = (reader.tiled(from), writer.tiled(to));
    parallel::for_ranges(tiling.count(), parallel::grain(tiling.volume()), cancel, |tiles| {
        let (mut scratch, mut spare) = (TileScratch::new(), TileScratch::new());
        for tile in tiles.map(|number| tiling.tile(number)) {
            let values = reader.tile(&tile, &mut scratch, &mut spare);
            // SAFETY: tiles are disjoint, and the values lie in the scratch.
            unsafe { writer.store_tile(&tile, values) };
        }
    })
}

/// Writes one value everywhere.
fn fill<C: Compute>(cancel: &Cancel, value: C, to: &Strided) -> Result<()> {
    if to.layout.is_contiguous() {
        return fill_in_order(cancel, value, to);
    }
    let order = plan(to.layout, std::iter::empty()).order;
    let layout = match &order {
        Some(order) => to.layout.permute(order)?,
        None => to.layout.clone(),
    };
    // SAFETY: a permutation that leaves out dimensions of size 1 visits the same elements.
    fill_in_order(cancel, value, &unsafe { to.reordered(&layout) })
}

fn fill_in_order<C: Compute>(cancel: &Cancel, value: C, to: &Strided) -> Result<()> {
    let writer = BlockWriter::<C>::strided(to);
    let mut room = Scratch::new();
    // SAFETY: the values are written here.
    let values = unsafe { room.first(writer.numel().min(BLOCK)) };
    values.fill(value);
    let values = &*values;
    parallel::for_ranges(writer.numel(), GRAIN, cancel, |range| {
        for start in range.clone().step_by(BLOCK) {
            let n = BLOCK.min(range.end - start);
            // SAFETY: pieces are disjoint.
            unsafe { writer.store(start, values.get(..n).unwrap_or(values)) };
        }
    })
}

/// A copy of a view's elements in row-major order.
pub(crate) fn gathered<C: Compute>(cancel: &Cancel, view: &Strided) -> Result<Vec<C>> {
    let mut values = zeros(view.numel())?;
    let layout = view.as_rows()?;
    between(cancel, view, &Strided::of_slice(&mut values, &layout)?)?;
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::dtype::Element;
    use crate::base::{DType, Layout};
    use crate::device::cpu::testing::{Sample, launch, layouts};
    use crate::device::kernel::Kernel;
    use crate::device::scalar::MapOp;
    use crate::with_element;
    use proptest::prelude::*;

    fn kernel() -> Kernel {
        Kernel::Map { op: MapOp::Identity, params: [0.0; 2], compute: DType::Float32 }
    }

    fn numbers() -> impl Iterator<Item = f64> {
        (0..).map(|i| f64::from(i % 251) * 0.75 - 60.0)
    }

    /// Any permutation of a layout's dimensions for a fresh output.
    fn output_like(from: &Layout, dtype: DType, turn: bool) -> Sample {
        let shape: Vec<usize> = from.shape().to_vec();
        if turn && shape.len() > 1 {
            let last = shape.len() - 1;
            let mut turned = shape;
            turned.swap(0, last);
            let layout = Layout::contiguous(&turned).unwrap().transpose(0, last).unwrap();
            return Sample::laid_out(dtype, layout, std::iter::repeat(1.0));
        }
        Sample::zeros(dtype, &shape)
    }

    proptest! {
        #[test]
        fn every_layout_and_dtype_reaches_every_other(
            layout in layouts(true), from in 0usize..10, to in 0usize..10, turn in any::<bool>(),
        ) {
            let from = Sample::laid_out(DType::ALL[from], layout, numbers());
            let to = output_like(&from.layout, DType::ALL[to], turn);
            launch(&kernel(), &[from.arg()], &[to.view()]).unwrap();
            let want = from.values().into_iter().map(|v| with_element!(to.dtype, T => T::from_f64(v).to_f64()));
            prop_assert_eq!(to.values(), want.collect::<Vec<_>>());
        }
    }

    /// Parts of rows, from and to rows of other lengths, spread and in another order: what lies beside them stays.
    #[test]
    fn long_rows_are_copied_straight() {
        let room = Layout::contiguous(&[3, 4, 700]).unwrap();
        let part = |start, length| room.slice(2, start, length, 1).unwrap();
        for (dtype, length) in
            [(DType::UInt8, 300), (DType::BFloat16, 129), (DType::Float32, 517), (DType::Int64, 33)]
        {
            let spread = part(0, length).slice(1, 1, 1, 1).unwrap().expand(&[3, 4, length]).unwrap();
            let turned = part(5, length).permute(&[1, 0, 2]).unwrap();
            for (from, to) in [
                (part(3, length), part(0, length)),
                (part(0, length), part(3, length)),
                (spread, part(1, length)),
                (turned.clone(), Layout::contiguous(turned.shape()).unwrap()),
                (Layout::contiguous(turned.shape()).unwrap(), turned),
            ] {
                let whole = || Sample::new(dtype, &[3, 4, 700], numbers());
                let target = Sample::new(dtype, &[3, 4, 700], std::iter::repeat(3.0));
                let (read, values) = (whole(), whole().through(from.clone()).values());
                let read = Arg::View(View { layout: &from, ..read.view() });
                launch(&kernel(), &[read], &[View { layout: &to, ..target.view() }]).unwrap();
                let all = target.values();
                assert_eq!(target.through(to).values(), values, "{dtype:?}");
                let threes = |values: &[f64]| values.iter().filter(|&&v| v == 3.0).count();
                assert_eq!(threes(&all), 3 * 4 * (700 - length) + threes(&values), "{dtype:?}");
            }
        }
    }

    #[test]
    fn dimensions_that_lie_in_one_another_are_copied_as_one() {
        let orders = [
            [0, 2, 3, 1],
            [0, 3, 1, 2],
            [3, 0, 1, 2],
            [1, 2, 0, 3],
            [2, 3, 0, 1],
            [0, 1, 3, 2],
            [3, 2, 1, 0],
        ];
        let joined = [3, 3, 2, 3, 2, 3, 4];
        for (order, rank) in orders.into_iter().zip(joined) {
            let whole = Layout::contiguous(&[3, 5, 13, 9]).unwrap();
            let turned = whole.permute(&order).unwrap();
            let rows = Layout::contiguous(turned.shape()).unwrap();
            let got = merged(&turned, &rows).unwrap().map_or(4, |[one, other]| {
                assert_eq!(one.shape(), other.shape());
                one.rank()
            });
            assert_eq!(got, rank, "{order:?}");
            let from = Sample::laid_out(DType::Float32, turned, numbers());
            let to = output_like(&from.layout, DType::Float32, false);
            launch(&kernel(), &[from.arg()], &[to.view()]).unwrap();
            assert_eq!(to.values(), from.values(), "{order:?}");
        }
        // Not across a piece that was cut.
        let cut = Layout::contiguous(&[4, 4, 4]).unwrap().slice(1, 0, 3, 1).unwrap();
        assert!(
            merged(&cut, &Layout::contiguous(&[4, 3, 4]).unwrap())
                .unwrap()
                .is_some_and(|[one, _]| one.rank() == 2)
        );
    }

    #[test]
    fn large_transposes_go_through_tiles() {
        for dtype in [DType::Float32, DType::Float16, DType::Bool, DType::Int64] {
            let layout = Layout::contiguous(&[2, 150, 85]).unwrap().permute(&[2, 0, 1]).unwrap();
            let from = Sample::laid_out(dtype, layout, numbers());
            let to = output_like(&from.layout, dtype, false);
            launch(&kernel(), &[from.arg()], &[to.view()]).unwrap();
            assert_eq!(to.values(), from.values());
            let cast = output_like(&from.layout, DType::Float64, false);
            launch(&kernel(), &[from.arg()], &[cast.view()]).unwrap();
            assert_eq!(cast.values(), from.values());
        }
    }

    #[test]
    fn numbers_fill() {
        let layout = Layout::contiguous(&[3, 5]).unwrap().transpose(0, 1).unwrap();
        let to = Sample::laid_out(DType::Int32, layout, []);
        launch(&kernel(), &[Arg::Scalar(Scalar::Float(2.9))], &[to.view()]).unwrap();
        assert_eq!(to.values(), [2.0; 15]);
        let wide = Sample::zeros(DType::Int64, &[2]);
        launch(&kernel(), &[Arg::Scalar(Scalar::Int(1 << 60))], &[wide.view()]).unwrap();
        assert_eq!(wide.values(), [2f64.powi(60); 2]);
    }

    #[test]
    fn a_matrix_turns_within_its_own_memory() {
        let from = Sample::new(DType::Float32, &[40, 40], numbers());
        let want: Vec<f64> = (0..1600).map(|i| from.values()[i % 40 * 40 + i / 40]).collect();
        let turned = from.layout.transpose(0, 1).unwrap();
        let view = crate::device::View { layout: &turned, ..from.view() };
        launch(&kernel(), &[Arg::View(view)], &[from.view()]).unwrap();
        assert_eq!(from.values(), want);
    }

    #[test]
    fn an_interrupt_is_answered() {
        let from = Sample::zeros(DType::Float32, &[100]);
        let cancel = Cancel::default();
        cancel.interrupt();
        let to = Sample::zeros(DType::Float32, &[100]);
        let error =
            between(&cancel, &Strided::new(&from.view()).unwrap(), &Strided::new(&to.view()).unwrap());
        assert_eq!(error.unwrap_err().message(), "interrupted");
    }
}

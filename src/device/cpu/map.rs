//! Scalar functions element by element, over operands of any layout and dtype.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;

use crate::base::shape::same;
use crate::base::{DType, Error, Kind, Layout, Result};
use crate::device::cancel::Cancel;
use crate::device::cpu::strided::{BLOCK, Overlap, Strided};

use super::super::kernel::{Arg, Launch};
use super::super::scalar::MapOp;
use super::access::{gathered, missing};
use super::block::{BlockReader, BlockWriter, Scratch, TileScratch, scalar_value, wrong_shape};
use super::convert::with_compute;
use super::parallel::{self, GRAIN};
use super::rows::{MapInput, Rows};
use super::slices::{Mapped, SliceFunction, Slices, takes_numbers};
use super::walk::{Tiling, plan};

/// Up to so many elements go without a plan.
const FEW: usize = 256;

/// `a[, b[, c]] -> y`.
pub(super) fn map(launch: &Launch, op: MapOp, params: [f64; 2], compute: DType) -> Result<()> {
    let op = op.simplest(launch.inputs, compute);
    let inputs = launch.inputs.get(..op.arity());
    let inputs = inputs.ok_or_else(|| missing(launch, "input", launch.inputs.len()))?;
    with_compute!(compute, C => typed::<C>(launch, op, params, compute, inputs))
}

fn typed<C: Mapped>(
    launch: &Launch,
    op: MapOp,
    params: [f64; 2],
    compute: DType,
    inputs: &[Arg],
) -> Result<()> {
    let Some(function) = C::function(op) else { return Err(undefined(launch, compute)) };
    let Some(output) = launch.outputs.first() else { return Err(missing(launch, "output", 0)) };
    let output = Strided::new(output)?;
    let divides = matches!(op, MapOp::FloorDiv | MapOp::TruncDiv | MapOp::Remainder | MapOp::Fmod);
    let job = MapJob {
        function,
        parameters: params.map(C::from_f64),
        takes_numbers: takes_numbers(op),
        divides: divides && C::DTYPE == DType::Int64,
        zero: AtomicBool::new(false),
        cancel: launch.cancel,
    };
    match direct::<C>(inputs, &output)? {
        Some(slices) => job.over_slices(slices, &output)?,
        None if job.over_few(inputs, &output)? => {}
        None => job.over_blocks(inputs, &output)?,
    }
    if job.zero.into_inner() { Err(Error::runtime("ZeroDivisionError")) } else { Ok(()) }
}

#[cold]
fn undefined(launch: &Launch, compute: DType) -> Error {
    let name = compute.type_name();
    Error::new(Kind::NotImplementedError, format!("\"{}_cpu\" not implemented for '{name}'", launch.op))
}

/// The inputs as slices, where all of them and the output lie in memory as they are computed, apart.
#[inline]
fn direct<'a, C: Mapped>(inputs: &[Arg<'a>], output: &Strided) -> Result<Option<[&'a [C]; 3]>> {
    let mut slices: [&[C]; 3] = [&[]; 3];
    if !output.is_dense::<C>() {
        return Ok(None);
    }
    for (slot, arg) in slices.iter_mut().zip(inputs) {
        let Arg::View(view) = arg else { return Ok(None) };
        if view.dtype != C::DTYPE || !same(view.layout.shape(), output.layout.shape()) {
            return Ok(None);
        }
        let view = Strided::new(view)?;
        if view.overlap(output) != Overlap::None {
            return Ok(None);
        }
        // SAFETY: the launch writes its output alone, which shares no memory with the view.
        let Some(slice) = (unsafe { view.slice() }) else { return Ok(None) };
        *slot = slice;
    }
    Ok(Some(slices))
}

struct MapJob<'a, C> {
    function: SliceFunction<C>,
    parameters: [C; 2],
    takes_numbers: bool,
    /// The second input divides, and must not be 0.
    divides: bool,
    zero: AtomicBool,
    cancel: &'a Cancel,
}

impl<C: Mapped> MapJob<'_, C> {
    #[inline]
    fn apply(&self, inputs: [&[C]; 3], output: &mut [C]) {
        if self.divides && inputs[1].contains(&C::default()) {
            self.zero.store(true, Ordering::Relaxed);
        }
        (self.function)(Slices { inputs, output, parameters: self.parameters });
    }

    fn over_slices(&self, inputs: [&[C]; 3], output: &Strided) -> Result<()> {
        parallel::for_ranges(output.numel(), GRAIN, self.cancel, |range| {
            let part = inputs.map(|slice| slice.get(range.clone()).unwrap_or(&[]));
            // SAFETY: the output is a dense view of `C`, no input lies in it, and pieces are disjoint.
            let output = unsafe {
                let first = output.origin::<C>().add(range.start);
                std::slice::from_raw_parts_mut(first, range.len())
            };
            self.apply(part, output);
        })
    }

    /// Few elements in place or beside numbers, all of which lie as they are computed: there is no order of work to choose.
    /// `false` where they are otherwise.
    fn over_few(&self, inputs: &[Arg], output: &Strided) -> Result<bool> {
        let n = output.numel();
        if n > FEW || !output.is_dense::<C>() {
            return Ok(false);
        }
        self.cancel.check()?;
        let mut filled: [Scratch<C>; 3] = Default::default();
        let (mut slices, mut in_place): ([&[C]; 3], bool) = ([&[]; 3], false);
        for ((slot, arg), block) in slices.iter_mut().zip(inputs).zip(&mut filled) {
            *slot = match arg {
                Arg::Scalar(scalar) => {
                    // SAFETY: the numbers are written here.
                    let block = unsafe { block.first(n) };
                    block.fill(scalar_value(*scalar));
                    block
                }
                Arg::View(view) => {
                    let fits = view.dtype == C::DTYPE && same(view.layout.shape(), output.layout.shape());
                    let view = Strided::new(view)?;
                    let overlap = view.overlap(output);
                    in_place |= overlap == Overlap::Same;
                    // SAFETY: the output is written once the results are there, and the slices are no longer read.
                    match unsafe { view.slice() } {
                        Some(slice) if fits && overlap != Overlap::Partial => slice,
                        _ => return Ok(false),
                    }
                }
            };
        }
        let (first, mut aside) = (output.origin::<C>(), Scratch::new());
        // SAFETY: the output is a dense view of `C`; where inputs lie in it, results come from elsewhere.
        unsafe {
            if in_place {
                let results = aside.first(n);
                self.apply(slices, results);
                std::ptr::copy_nonoverlapping(results.as_ptr(), first, n);
            } else {
                self.apply(slices, std::slice::from_raw_parts_mut(first, n));
            }
        }
        Ok(true)
    }

    /// Operands of any kind, through blocks of the compute type.
    #[inline(never)]
    fn over_blocks(&self, inputs: &[Arg], output: &Strided) -> Result<()> {
        let shape = output.layout.shape();
        let mut copies: SmallVec<[Option<(Vec<C>, Layout)>; 3]> = SmallVec::new();
        let mut in_place = false;
        for arg in inputs {
            let Arg::View(view) = arg else {
                copies.push(None);
                continue;
            };
            if view.layout.shape() != shape {
                return Err(wrong_shape(view.layout.shape(), shape));
            }
            let view = Strided::new(view)?;
            let overlap = view.overlap(output);
            in_place |= overlap == Overlap::Same;
            copies.push(match overlap {
                Overlap::Partial => Some((gathered(self.cancel, &view)?, view.as_rows()?)),
                _ => None,
            });
        }
        let sources = inputs.iter().zip(&mut copies).map(|(arg, copy)| match (arg, copy) {
            (Arg::View(_), Some((values, layout))) => Strided::of_slice(values, layout).map(MapInput::View),
            (Arg::View(view), None) => Strided::new(view).map(MapInput::View),
            (Arg::Scalar(scalar), _) => Ok(MapInput::Scalar(*scalar)),
        });
        let sources: SmallVec<[MapInput; 3]> = sources.collect::<Result<_>>()?;
        self.in_order(&sources, output, in_place)
    }

    /// Chooses the order of the work and does it.
    fn in_order(&self, sources: &[MapInput], output: &Strided, in_place: bool) -> Result<()> {
        let views =
            sources.iter().filter_map(|s| if let MapInput::View(v) = s { Some(v.layout) } else { None });
        let plan = plan(output.layout, views);
        if plan.order.is_none() && output.is_dense::<C>() {
            // SAFETY: each part is read before it is written: what shares memory with the output lies at the same places,
            // and its results are computed aside.
            if let Some(rows) = unsafe { Rows::new(output.layout.shape(), sources, self.takes_numbers) } {
                return self.over_rows(&rows, output, in_place);
            }
        }
        let order = |layout: &Layout| match &plan.order {
            Some(order) => layout.permute(order),
            None => Ok(layout.clone()),
        };
        let output_layout = order(output.layout)?;
        // SAFETY: a permutation that leaves out dimensions of size 1 visits the same elements.
        let output = unsafe { output.reordered(&output_layout) };
        let layouts = sources.iter().map(|source| match source {
            MapInput::View(view) => order(view.layout),
            MapInput::Scalar(_) => Ok(output_layout.clone()),
        });
        let layouts: SmallVec<[Layout; 3]> = layouts.collect::<Result<_>>()?;
        let mut readers: SmallVec<[BlockReader<C>; 3]> = SmallVec::new();
        for (source, layout) in sources.iter().zip(&layouts) {
            readers.push(match source {
                // SAFETY: as for the output. Each block is read before it is written: what shares memory
                // with the output lies at the same places.
                MapInput::View(view) => unsafe {
                    let view = view.reordered(layout);
                    let reader = BlockReader::strided(&view);
                    if plan.tiling.is_some() { reader.tiled(&view) } else { reader }
                },
                MapInput::Scalar(scalar) => BlockReader::number(*scalar, output.numel()),
            });
        }
        let writer = BlockWriter::strided(&output);
        match &plan.tiling {
            Some(tiling) => self.over_tiles(tiling, &readers, &writer.tiled(&output)),
            None => self.over_runs(&readers, &writer, in_place),
        }
    }

    fn over_rows(&self, rows: &Rows<C>, output: &Strided, in_place: bool) -> Result<()> {
        let writer = BlockWriter::strided(output);
        parallel::for_ranges(output.numel(), GRAIN, self.cancel, |range| {
            let mut result = Scratch::new();
            // Each way has a closure of its own: one of two callers would not be compiled into its loop.
            if rows.together() {
                rows.each_together(range, in_place, |part, inputs| {
                    self.row(part, inputs, &writer, in_place, &mut result)
                });
            } else {
                rows.each(range, in_place, |part, inputs| {
                    self.row(part, inputs, &writer, in_place, &mut result)
                });
            }
        })
    }

    #[inline(always)]
    fn row(
        &self,
        part: Range<usize>,
        inputs: [&[C]; 3],
        writer: &BlockWriter<C>,
        in_place: bool,
        result: &mut Scratch<C>,
    ) {
        // SAFETY: as in `over_runs`.
        unsafe {
            let place = if in_place { None } else { writer.slice(part.clone()) };
            let aside = place.is_none();
            let output = place.unwrap_or_else(|| result.first(part.len()));
            self.apply(inputs, output);
            if aside {
                writer.store(part.start, output);
            }
        }
    }

    fn over_runs(&self, readers: &[BlockReader<C>], writer: &BlockWriter<C>, in_place: bool) -> Result<()> {
        parallel::for_ranges(writer.numel(), GRAIN, self.cancel, |range| {
            let mut scratches: [Scratch<C>; 3] = Default::default();
            let mut result = Scratch::new();
            fill_numbers(readers, &mut scratches, range.len());
            for start in range.clone().step_by(BLOCK) {
                let n = BLOCK.min(range.end - start);
                let mut inputs: [&[C]; 3] = [&[]; 3];
                for ((slot, reader), scratch) in inputs.iter_mut().zip(readers).zip(&mut scratches) {
                    *slot = match reader.splat() {
                        // SAFETY: `fill_numbers` has written them.
                        Some(_) => unsafe { scratch.first(n) },
                        None => reader.block(start, n, scratch),
                    };
                }
                // SAFETY: pieces are disjoint. A slice of the output is taken where no input lies in it;
                // otherwise the result is computed aside, and every value of it is written.
                unsafe {
                    let place = if in_place { None } else { writer.slice(start..start + n) };
                    if let Some(output) = place {
                        self.apply(inputs, output);
                    } else {
                        let output = result.first(n);
                        self.apply(inputs, output);
                        writer.store(start, output);
                    }
                }
            }
        })
    }

    fn over_tiles(&self, tiling: &Tiling, readers: &[BlockReader<C>], writer: &BlockWriter<C>) -> Result<()> {
        parallel::for_ranges(tiling.count(), parallel::grain(tiling.volume()), self.cancel, |tiles| {
            let mut scratches: [TileScratch<C>; 3] = Default::default();
            let (mut result, mut spare) = (TileScratch::new(), TileScratch::new());
            for tile in tiles.map(|number| tiling.tile(number)) {
                let mut inputs: [&[C]; 3] = [&[]; 3];
                for ((slot, reader), scratch) in inputs.iter_mut().zip(readers).zip(&mut scratches) {
                    *slot = reader.tile(&tile, scratch, &mut spare);
                }
                // SAFETY: every value of the result is written; tiles are disjoint.
                unsafe {
                    let output = result.first(tile.len());
                    self.apply(inputs, output);
                    writer.store_tile(&tile, output);
                }
            }
        })
    }
}

/// Fills the blocks of inputs that are numbers, once for a whole piece.
fn fill_numbers<C: Mapped>(readers: &[BlockReader<C>], scratches: &mut [Scratch<C>; 3], n: usize) {
    for (reader, scratch) in readers.iter().zip(scratches) {
        if let Some(value) = reader.splat() {
            // SAFETY: they are written here.
            unsafe { scratch.first(n) }.fill(value);
        }
    }
}

#[cfg(test)]
mod tests;

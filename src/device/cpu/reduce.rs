//! Reductions over any dimensions of any layout, along the input's memory and over both cores.

use std::ops::Range;

use smallvec::SmallVec;

use crate::base::dtype::Element;
use crate::base::{DType, Error, Kind, Layout, Result, memory};
use crate::device::cancel::Cancel;
use crate::device::cpu::strided::{BLOCK, Overlap, Strided};

use super::super::kernel::{Arg, Launch, ReduceOp};
use super::access::{gathered, missing};
use super::block::{BlockWriter, Room};
use super::convert::{Compute, with_compute};
use super::fold::{Exponentials, Extreme, Fold, Folded, Product, Spread, Sum};
use super::gather::{Inner, Source};
use super::isa::{self, Isa, Work};
use super::parallel::{self, GRAIN};

/// `x -> y`: the dimensions whose bit is set in `dims` become 1.
pub(super) fn reduce(launch: &Launch, op: ReduceOp, dims: u64) -> Result<()> {
    let (input, output) = operands(launch)?;
    let reduced = |dim: usize| dim < 64 && dims >> dim & 1 == 1;
    check_shapes(launch, &input, &output, reduced)?;
    if matches!(op, ReduceOp::Max | ReduceOp::Min) {
        check_not_empty(launch, input.layout, reduced)?;
    }
    if matches!(op, ReduceOp::All | ReduceOp::Any) {
        // Whether values are true is asked of the input, before a conversion could make them 0.
        return with_compute!(input.dtype, C => apart::<C>(launch.cancel, &input, &output, |input| {
            let source = Source::truths(input, output.layout, reduced);
            ReduceJob { source, output, op, cancel: launch.cancel }.run()
        }));
    }
    with_compute!(output.dtype, C => {
        if C::DTYPE == DType::Int64 && !has_integer_form(op) {
            return Err(undefined(launch, output.dtype));
        }
        apart::<C>(launch.cancel, &input, &output, |input| {
            let source = Source::<C>::new(input, output.layout, reduced);
            ReduceJob { source, output, op, cancel: launch.cancel }.run()
        })
    })
}

/// `x -> values, indices` along `dim`; the first of equals wins, NaN wins over numbers.
pub(crate) fn arg_reduce(launch: &Launch, max: bool, dim: usize) -> Result<()> {
    let (input, output) = operands(launch)?;
    let Some(indices) = launch.outputs.get(1) else { return Err(missing(launch, "output", 1)) };
    let indices = Strided::new(indices)?;
    let reduced = |d: usize| d == dim;
    check_shapes(launch, &input, &output, reduced)?;
    check_shapes(launch, &input, &indices, reduced)?;
    check_not_empty(launch, input.layout, reduced)?;
    let op = if max { ReduceOp::Max } else { ReduceOp::Min };
    with_compute!(input.dtype, C => {
        apart::<C>(launch.cancel, &input, &output, |input| {
            let source = Source::<C>::new(input, output.layout, reduced);
            let job = ReduceJob { source, output, op, cancel: launch.cancel };
            job.run_with_indices(&indices)
        })
    })
}

fn operands<'a>(launch: &Launch<'a>) -> Result<(Strided<'a>, Strided<'a>)> {
    let Some(Arg::View(input)) = launch.inputs.first() else { return Err(missing(launch, "input", 0)) };
    let Some(output) = launch.outputs.first() else { return Err(missing(launch, "output", 0)) };
    Ok((Strided::new(input)?, Strided::new(output)?))
}

fn check_shapes(
    launch: &Launch,
    input: &Strided,
    output: &Strided,
    reduced: impl Fn(usize) -> bool,
) -> Result<()> {
    let (from, to) = (input.layout.shape(), output.layout.shape());
    let fits = |(dim, (&n, &m)): (usize, (&usize, &usize))| m == if reduced(dim) { 1 } else { n };
    if from.len() == to.len() && from.iter().zip(to).enumerate().all(fits) {
        return Ok(());
    }
    Err(Error::runtime(format!("{} was given an output of shape {to:?} for an input of {from:?}", launch.op)))
}

/// PyTorch's errors for the largest of nothing.
fn check_not_empty(launch: &Launch, input: &Layout, reduced: impl Fn(usize) -> bool) -> Result<()> {
    let empty = input.shape().iter().enumerate().find(|&(dim, &n)| n == 0 && reduced(dim));
    let Some((dim, _)) = empty else { return Ok(()) };
    let op = launch.op;
    let none_kept = (0..input.rank()).all(&reduced);
    if none_kept && op.starts_with("arg") {
        let text = format!("{op}(): Expected reduction dim to be specified for input.numel() == 0.");
        return Err(Error::new(Kind::IndexError, text));
    }
    if !none_kept || input.rank() == 1 && launch.outputs.len() > 1 {
        let text = format!("{op}(): Expected reduction dim {dim} to have non-zero size.");
        return Err(Error::new(Kind::IndexError, text));
    }
    Err(Error::runtime(format!(
        "{op}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with \
         the 'dim' argument."
    )))
}

fn has_integer_form(op: ReduceOp) -> bool {
    !matches!(op, ReduceOp::Norm2 | ReduceOp::Var { .. } | ReduceOp::LogSumExp)
}

#[cold]
fn undefined(launch: &Launch, compute: DType) -> Error {
    let name = compute.type_name();
    Error::new(Kind::NotImplementedError, format!("\"{}_cpu\" not implemented for '{name}'", launch.op))
}

/// Runs `work` on the input, or on a copy where it shares memory with the output.
fn apart<C: Compute>(
    cancel: &Cancel,
    input: &Strided,
    output: &Strided,
    work: impl FnOnce(&Strided) -> Result<()>,
) -> Result<()> {
    if input.overlap(output) == Overlap::None {
        return work(input);
    }
    let mut values = gathered::<C>(cancel, input)?;
    let layout = input.as_rows()?;
    work(&Strided::of_slice(&mut values, &layout)?)
}

/// Fewer outputs than this per piece make columns' runs too short.
const COLUMNS: usize = 256;
/// Pieces over outputs that keep every core busy.
const ENOUGH: usize = 16;

struct ReduceJob<'a, C> {
    source: Source<'a, C>,
    output: Strided<'a>,
    op: ReduceOp,
    cancel: &'a Cancel,
}

type Wides<C> = SmallVec<[<C as Folded>::Wide; 8]>;

impl<C: Folded> ReduceJob<'_, C> {
    fn run(&self) -> Result<()> {
        let layout = self.source.output_layout(self.output.layout)?;
        // SAFETY: the order of dimensions changes, not the elements.
        let writer = BlockWriter::<C::Wide>::strided(&unsafe { self.output.reordered(&layout) });
        match self.split() {
            Split::Outputs(size) => self.over_outputs(size, |kept, values, _| {
                // SAFETY: pieces are disjoint, and values lie in memory of their own.
                unsafe { writer.store(kept.start, values) };
            }),
            Split::Input(size) => {
                let (values, _) = self.over_input(size)?;
                // SAFETY: nothing else runs.
                unsafe { writer.store(0, &values) };
                Ok(())
            }
        }
    }

    fn run_with_indices(&self, indices: &Strided) -> Result<()> {
        let layout = self.source.output_layout(self.output.layout)?;
        // SAFETY: the order of dimensions changes, not the elements.
        let writer = BlockWriter::<C::Wide>::strided(&unsafe { self.output.reordered(&layout) });
        let layout = self.source.output_layout(indices.layout)?;
        // SAFETY: as above.
        let places = BlockWriter::<i64>::strided(&unsafe { indices.reordered(&layout) });
        let all = 0..self.source.reduced();
        match self.split() {
            Split::Outputs(size) => self.over_outputs(size, |kept, values, centres| {
                let mut found = Room::<i64, BLOCK>::new();
                // SAFETY: `first_equal` writes every index; pieces are disjoint.
                unsafe {
                    let found = found.first(values.len());
                    self.source.first_equal(kept.clone(), all.clone(), centres, found);
                    places.store(kept.start, found);
                    writer.store(kept.start, values);
                }
            }),
            Split::Input(size) => {
                let (values, centres) = self.over_input(size)?;
                let kept = 0..self.source.kept();
                let found = parallel::map_ranges(self.source.reduced(), size, self.cancel, |part| {
                    let mut found = memory::filled(centres.len(), i64::MAX)?;
                    self.source.first_equal(kept.clone(), part, &centres, &mut found);
                    Ok(found)
                })?;
                let first = found.into_iter().reduce(|a: Result<Vec<i64>>, b| {
                    let (mut a, b) = (a?, b?);
                    a.iter_mut().zip(b).for_each(|(a, b)| *a = b.min(*a));
                    Ok(a)
                });
                let first = first.unwrap_or_else(|| Ok(Vec::new()))?;
                // SAFETY: nothing else runs.
                unsafe {
                    places.store(0, &first);
                    writer.store(0, &values);
                }
                Ok(())
            }
        }
    }

    /// How the work is cut: by the sizes alone.
    fn split(&self) -> Split {
        let (kept, reduced) = (self.source.kept(), self.source.reduced());
        let least = if self.source.inner == Inner::Kept { COLUMNS } else { 1 };
        let total = kept.saturating_mul(reduced);
        let size = parallel::grain(reduced).clamp(least, BLOCK);
        if total <= GRAIN || kept.div_ceil(size) >= ENOUGH {
            return Split::Outputs(size);
        }
        // Sums of parts would be more than what they are summed from is worth.
        if kept / ENOUGH >= least && kept > reduced {
            return Split::Outputs(kept.div_ceil(ENOUGH));
        }
        Split::Input((GRAIN / kept.max(1)).max(reduced / 64).max(1))
    }

    /// Folds everything for pieces of the outputs; `done` takes a piece, its values, and what the last fold
    /// was centred on.
    fn over_outputs(&self, size: usize, done: impl Fn(Range<usize>, &[C::Wide], &[C]) + Sync) -> Result<()> {
        let all = 0..self.source.reduced();
        parallel::for_ranges(self.source.kept(), size, self.cancel, |piece| {
            for start in piece.clone().step_by(BLOCK) {
                let kept = start..piece.end.min(start + BLOCK);
                let (mut values, mut firsts) = (Room::<C::Wide, BLOCK>::new(), Room::<C::Wide, BLOCK>::new());
                let mut centres = Room::<C, BLOCK>::new();
                // SAFETY: folds write every value before it is read.
                unsafe {
                    let (values, firsts) = (values.first(kept.len()), firsts.first(kept.len()));
                    let centres = centres.first(kept.len());
                    let fold = |by: FoldOp, centres: &[C], to: &mut [C::Wide]| {
                        self.fold(by, kept.clone(), all.clone(), centres, to);
                    };
                    self.steps(values, firsts, centres, fold);
                    done(kept, values, centres);
                }
            }
        })?;
        self.cancel.check()
    }

    /// Folds pieces of the input for all outputs, then joins them in order.
    fn over_input(&self, size: usize) -> Result<(Wides<C>, SmallVec<[C; 8]>)> {
        let n = self.source.kept();
        let nothing = C::Wide::from_i64(0);
        let mut values: Wides<C> = SmallVec::from_elem(nothing, n);
        let mut firsts: Wides<C> = SmallVec::from_elem(nothing, n);
        let mut centres: SmallVec<[C; 8]> = SmallVec::from_elem(C::default(), n);
        let mut outcome = Ok(());
        let fold = |by: FoldOp, centres: &[C], to: &mut [C::Wide]| {
            let parts = parallel::map_ranges(self.source.reduced(), size, self.cancel, |part| {
                let mut values: Wides<C> = SmallVec::from_elem(nothing, n);
                self.fold(by, 0..n, part, centres, &mut values);
                values
            });
            match parts {
                Ok(parts) => join::<C>(by, parts, to),
                Err(error) => outcome = Err(error),
            }
        };
        self.steps(&mut values, &mut firsts, &mut centres, fold);
        outcome?;
        self.cancel.check()?;
        Ok((values, centres))
    }

    /// The folds that an op is made of, and what becomes of their values.
    fn steps(
        &self,
        values: &mut [C::Wide],
        firsts: &mut [C::Wide],
        centres: &mut [C],
        mut fold: impl FnMut(FoldOp, &[C], &mut [C::Wide]),
    ) {
        let count = self.source.reduced() as f64;
        match self.op {
            ReduceOp::Sum { scale } => {
                fold(FoldOp::Sum, centres, values);
                if scale != 1.0 {
                    in_f64::<C>(values, |v| v * scale);
                }
            }
            ReduceOp::Prod => fold(FoldOp::Product, centres, values),
            ReduceOp::All => {
                extreme(&mut fold, C::TURN, centres, values);
                in_f64::<C>(values, |least| least.min(1.0));
            }
            ReduceOp::Any => {
                extreme(&mut fold, C::default(), centres, values);
                in_f64::<C>(values, |most| most.max(0.0));
            }
            ReduceOp::Max | ReduceOp::Min => {
                let turn = if self.op == ReduceOp::Max { C::default() } else { C::TURN };
                extreme(&mut fold, turn, centres, values);
                centres.iter_mut().zip(values).for_each(|(c, v)| *c = C::narrow(*v));
            }
            ReduceOp::Norm2 => {
                centres.fill(C::default());
                fold(FoldOp::Spread, centres, values);
                in_f64::<C>(values, f64::sqrt);
            }
            ReduceOp::Var { correction, root } => {
                fold(FoldOp::Sum, centres, firsts);
                in_f64::<C>(firsts, |sum| sum / count);
                centres.iter_mut().zip(&*firsts).for_each(|(c, v)| *c = C::narrow(*v));
                fold(FoldOp::Spread, centres, values);
                let free = (count - correction).max(0.0);
                for ((v, mean), centre) in values.iter_mut().zip(firsts).zip(centres) {
                    // What rounding the centre has added.
                    let off = mean.to_f64() - centre.to_f64();
                    let variance = (v.to_f64() - count * off * off).max(0.0) / free;
                    let spread = if v.to_f64().is_nan() { f64::NAN } else { variance };
                    *v = C::Wide::from_f64(if root { spread.sqrt() } else { spread });
                }
            }
            ReduceOp::LogSumExp => {
                extreme(&mut fold, C::default(), centres, firsts);
                // An infinite largest would make differences NaN.
                in_f64::<C>(firsts, |v| if v.is_infinite() { 0.0 } else { v });
                centres.iter_mut().zip(&*firsts).for_each(|(c, v)| *c = C::narrow(*v));
                fold(FoldOp::Exponentials, centres, values);
                for (v, centre) in values.iter_mut().zip(centres) {
                    *v = C::Wide::from_f64(v.to_f64().ln() + centre.to_f64());
                }
            }
        }
    }

    fn fold(&self, by: FoldOp, kept: Range<usize>, part: Range<usize>, centres: &[C], to: &mut [C::Wide]) {
        // Whole numbers have none of these, as `reduce` says; without their code the program is smaller.
        if C::DTYPE == DType::Int64 && matches!(by, FoldOp::Spread | FoldOp::Exponentials) {
            return;
        }
        match by {
            FoldOp::Sum => self.source.fold::<Sum>(self.cancel, kept, part, centres, to),
            FoldOp::Spread => self.source.fold::<Spread>(self.cancel, kept, part, centres, to),
            FoldOp::Exponentials => self.source.fold::<Exponentials>(self.cancel, kept, part, centres, to),
            FoldOp::Product => self.source.fold::<Product>(self.cancel, kept, part, centres, to),
            FoldOp::Extreme => self.source.fold::<Extreme>(self.cancel, kept, part, centres, to),
        }
    }
}

enum Split {
    /// So many outputs to a piece, each folded whole.
    Outputs(usize),
    /// So many of the reduced values to a piece, for all outputs.
    Input(usize),
}

#[derive(Clone, Copy)]
enum FoldOp {
    Sum,
    Spread,
    Exponentials,
    Product,
    Extreme,
}

/// The largest values, or the smallest where the order is turned: one fold, of which the program is smaller.
fn extreme<C: Folded>(
    fold: &mut impl FnMut(FoldOp, &[C], &mut [C::Wide]),
    turn: C,
    centres: &mut [C],
    to: &mut [C::Wide],
) {
    centres.fill(turn);
    fold(FoldOp::Extreme, centres, to);
    to.iter_mut().for_each(|value| *value = C::narrow(*value).turned(turn).widen());
}

fn join<C: Folded>(by: FoldOp, parts: Vec<Wides<C>>, to: &mut [C::Wide]) {
    fn with<C: Folded, F: Fold>(parts: Vec<Wides<C>>, to: &mut [C::Wide]) {
        to.fill(C::wide_start::<F>());
        for part in parts {
            to.iter_mut().zip(part).for_each(|(a, b)| *a = C::wide_join::<F>(*a, b));
        }
    }
    match by {
        FoldOp::Sum | FoldOp::Spread | FoldOp::Exponentials => with::<C, Sum>(parts, to),
        FoldOp::Product => with::<C, Product>(parts, to),
        FoldOp::Extreme => with::<C, Extreme>(parts, to),
    }
}

/// Functions of values, for the processor's own instructions.
struct InF64<'a, V, F> {
    values: &'a mut [V],
    f: F,
}

impl<V: Compute, F: Fn(f64) -> f64> Work for InF64<'_, V, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for value in self.values {
            *value = V::from_f64((self.f)(value.to_f64()));
        }
    }
}

fn in_f64<C: Folded>(values: &mut [C::Wide], f: impl Fn(f64) -> f64) {
    isa::dispatch(InF64 { values, f });
}

#[cfg(test)]
mod tests;

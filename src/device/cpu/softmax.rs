//! Softmax and its gradient along any dimension.

use std::ops::{Add, Mul, Range, Sub};

use crate::base::{DType, Error, Kind, Layout, Result};
use crate::device::cancel::Cancel;
use crate::device::cpu::strided::{BLOCK, Overlap, Strided};

use super::super::kernel::{Arg, Launch, SoftmaxForm};
use super::access::{gathered, missing};
use super::along::{LinesAlong, LinesFrom, LinesTo, Panel, blocks};
use super::block::{Room, Scratch, wrong_shape};
use super::convert::Compute;
use super::fold::{Exponentials, Fold, Folded, Largest, Sum, fold_rows, fold_run};
use super::isa::{self, Isa, Work};
use super::math::{Lane, Real};
use super::parallel;

/// `x -> y` along `dim`.
pub(super) fn softmax(launch: &Launch, form: SoftmaxForm, dim: usize) -> Result<()> {
    match launch.dtype() {
        DType::Float64 => forward::<f64>(launch, form, dim),
        dtype if dtype.is_float() => forward::<f32>(launch, form, dim),
        dtype => Err(undefined(launch, dtype)),
    }
}

/// `dy, y -> dx` along `dim`.
pub(super) fn softmax_grad(launch: &Launch, log: bool, dim: usize) -> Result<()> {
    match launch.dtype() {
        DType::Float64 => backward::<f64>(launch, log, dim),
        dtype if dtype.is_float() => backward::<f32>(launch, log, dim),
        dtype => Err(undefined(launch, dtype)),
    }
}

#[cold]
fn undefined(launch: &Launch, dtype: DType) -> Error {
    let text = format!("\"{}_kernel_impl\" not implemented for '{}'", launch.op, dtype.type_name());
    Error::new(Kind::NotImplementedError, text)
}

fn output<'a>(launch: &Launch<'a>) -> Result<Strided<'a>> {
    Strided::new(launch.outputs.first().ok_or_else(|| missing(launch, "output", 0))?)
}

type Aside<C> = Option<(Vec<C>, Layout)>;

/// An input of the output's shape, and whether it lies in the output's place; copied to `aside` where it
/// shares memory with the output in another way.
fn input<'b, C: Compute>(
    launch: &Launch<'b>,
    index: usize,
    output: &Strided,
    aside: &'b mut Aside<C>,
) -> Result<(Strided<'b>, bool)> {
    let Some(Arg::View(view)) = launch.inputs.get(index) else { return Err(missing(launch, "input", index)) };
    let view = Strided::new(view)?;
    if view.layout.shape() != output.layout.shape() {
        return Err(wrong_shape(view.layout.shape(), output.layout.shape()));
    }
    match view.overlap(output) {
        Overlap::None => Ok((view, false)),
        Overlap::Same => Ok((view, true)),
        Overlap::Partial => {
            let (values, layout) = aside.insert((gathered(launch.cancel, &view)?, view.as_rows()?));
            Ok((Strided::of_slice(values, layout)?, false))
        }
    }
}

fn forward<C: Soft>(launch: &Launch, form: SoftmaxForm, dim: usize) -> Result<()> {
    let y = output(launch)?;
    let mut aside = None;
    let (x, in_place) = input::<C>(launch, 0, &y, &mut aside)?;
    let lines = LinesAlong::new([&x, &y], dim);
    let (from, to) = (LinesFrom::<C>::new(&x), LinesTo::<C>::new(&y));
    over_panels(launch.cancel, y.numel(), &lines, |panels| {
        isa::dispatch(Forward { lines: &lines, x: from, y: to, in_place, form, panels });
    })
}

fn backward<C: Soft>(launch: &Launch, log: bool, dim: usize) -> Result<()> {
    let dx = output(launch)?;
    let (mut aside, mut aside_too) = (None, None);
    let (dy, in_place) = input::<C>(launch, 0, &dx, &mut aside)?;
    let (y, in_place_too) = input::<C>(launch, 1, &dx, &mut aside_too)?;
    let lines = LinesAlong::new([&dy, &y, &dx], dim);
    let (from, of, to) = (LinesFrom::<C>::new(&dy), LinesFrom::<C>::new(&y), LinesTo::<C>::new(&dx));
    let in_place = in_place || in_place_too;
    over_panels(launch.cancel, dx.numel(), &lines, |panels| {
        isa::dispatch(Backward { lines: &lines, dy: from, y: of, dx: to, in_place, log, panels });
    })
}

/// What an element costs beside cheap work.
const COST: usize = 4;

fn over_panels<const N: usize>(
    cancel: &Cancel,
    numel: usize,
    lines: &LinesAlong<N>,
    work: impl Fn(Range<usize>) + Sync,
) -> Result<()> {
    if numel == 0 {
        return Ok(());
    }
    parallel::for_ranges(lines.panels(), parallel::grain(lines.volume().saturating_mul(COST)), cancel, work)
}

/// A float that softmax computes in.
trait Soft: Folded + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    fn exp<I: Isa>(self) -> Self;
    fn inverse(wide: Self::Wide) -> Self;
    fn logarithm(wide: Self::Wide) -> Self;
}

macro_rules! soft {
    ($t:ty) => {
        impl Soft for $t {
            #[inline(always)]
            fn exp<I: Isa>(self) -> $t {
                Real::exp(Lane::<$t, I>::new(self)).0
            }
            #[inline(always)]
            fn inverse(wide: f64) -> $t {
                (1.0 / wide) as $t
            }
            #[inline(always)]
            fn logarithm(wide: f64) -> $t {
                wide.ln() as $t
            }
        }
    };
}

soft!(f32);
soft!(f64);

struct Forward<'a, C> {
    lines: &'a LinesAlong<2>,
    x: LinesFrom<'a, C>,
    y: LinesTo<'a, C>,
    /// `x` lies in the place of `y`.
    in_place: bool,
    form: SoftmaxForm,
    panels: Range<usize>,
}

impl<C: Soft> Work for Forward<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for panel in self.panels.clone().map(|number| self.lines.panel(number)) {
            if self.lines.across {
                self.across::<I>(panel);
            } else {
                self.along::<I>(panel);
            }
        }
    }
}

impl<C: Soft> Forward<'_, C> {
    #[inline(always)]
    fn along<I: Isa>(&self, panel: Panel<2>) {
        let ([x_at, y_at], [x_step, y_step], n) = (panel.start, self.lines.steps, self.lines.length);
        // SAFETY: the line lies inside both views, and is this piece's alone; where `x` lies in the place of
        // `y`, no slice of `y` is taken.
        unsafe {
            if self.x.in_place(x_step)
                && !self.in_place
                && let Some(ys) = self.y.place(y_at, y_step, n)
            {
                return whole_line::<C, I>(self.x.run(x_at, x_step, n, std::ptr::null_mut()), ys, self.form);
            }
        }
        let (mut read, mut wrote) = (Scratch::<C>::new(), Scratch::<C>::new());
        // SAFETY: as above; each block is read before it is written.
        let mut block = |part: &Range<usize>| unsafe {
            self.x.run(x_at + part.start as isize * x_step, x_step, part.len(), read.as_mut_ptr())
        };
        let largest = C::narrow(fold_blocks::<Largest, C, I>(n, C::default(), &mut block));
        let sum = fold_blocks::<Exponentials, C, I>(n, largest, &mut block);
        let (largest, scale) = parameters(self.form, largest, sum);
        for part in blocks(n) {
            let xs = block(&part);
            // SAFETY: as above; every value is written.
            unsafe {
                let ys = wrote.first(part.len());
                finish::<C, I>(self.form, xs, ys, |_| (largest, scale));
                self.y.store(y_at + part.start as isize * y_step, y_step, ys);
            }
        }
    }

    #[inline(always)]
    fn across<I: Isa>(&self, panel: Panel<2>) {
        let Panel { start: [x_at, y_at], apart: [x_apart, y_apart], width } = panel;
        let ([x_step, y_step], n) = (self.lines.steps, self.lines.length);
        let (mut sums, mut largest) = (Room::<C::Wide, BLOCK>::new(), Room::<C, BLOCK>::new());
        let (mut scales, mut wrote) = (Room::<C, BLOCK>::new(), Scratch::<C>::new());
        let mut room = Room::<[C; BLOCK], ROWS>::new();
        let room = room.as_mut_ptr().cast::<C>();
        // SAFETY: rows of the panel lie inside the view and in scratch of their own.
        let row = |r: usize, at: usize| unsafe {
            self.x.run(x_at + r as isize * x_step, x_apart, width, room.add(at * BLOCK))
        };
        // SAFETY: all values are written before they are read.
        let (sums, largest, scales) =
            unsafe { (sums.first(width), largest.first(width), scales.first(width)) };
        largest.fill(C::default());
        fold_columns::<Largest, C, I>(n, row, largest, sums);
        largest.iter_mut().zip(&*sums).for_each(|(m, &s)| *m = C::narrow(s));
        fold_columns::<Exponentials, C, I>(n, row, largest, sums);
        for ((scale, largest), &sum) in scales.iter_mut().zip(&mut *largest).zip(&*sums) {
            (*largest, *scale) = parameters(self.form, *largest, sum);
        }
        let (largest, scales) = (&*largest, &*scales);
        for r in 0..n {
            let xs = row(r, 0);
            let at = y_at + r as isize * y_step;
            // SAFETY: as in `along`.
            unsafe {
                let parameters = |j: usize| (*largest.get_unchecked(j), *scales.get_unchecked(j));
                let place = if self.in_place { None } else { self.y.place(at, y_apart, width) };
                if let Some(ys) = place {
                    finish::<C, I>(self.form, xs, ys, parameters);
                } else {
                    let ys = wrote.first(width);
                    finish::<C, I>(self.form, xs, ys, parameters);
                    self.y.store(at, y_apart, ys);
                }
            }
        }
    }
}

/// A line that lies in memory as it is computed, written over three times while it is in the first cache.
#[inline(always)]
fn whole_line<C: Soft, I: Isa>(xs: &[C], ys: &mut [C], form: SoftmaxForm) {
    let largest = largest_number(xs);
    match form {
        SoftmaxForm::Log => {
            let sum = C::logarithm(fold_run::<Exponentials, C, I>(xs, largest));
            return finish::<C, I>(form, xs, ys, |_| (largest, sum));
        }
        SoftmaxForm::Safe if is_hidden(largest) && xs.iter().all(|&x| is_hidden(x)) => {
            return ys.fill(C::default());
        }
        _ => {}
    }
    for (y, &x) in ys.iter_mut().zip(xs) {
        *y = (x - largest).exp::<I>();
    }
    let scale = C::inverse(fold_run::<Sum, C, I>(ys, C::default()));
    for y in ys {
        *y = *y * scale;
    }
}

/// The largest value but NaN, which turns the sum of exponentials into NaN in any case.
#[inline(always)]
fn largest_number<C: Soft>(xs: &[C]) -> C {
    const LANES: usize = 16;
    let larger = |a: C, b: C| if b > a { b } else { a };
    let lowest = C::narrow(C::wide_start::<Largest>());
    let (chunks, rest) = xs.as_chunks::<LANES>();
    let mut lanes = [lowest; LANES];
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, &x)| *lane = larger(*lane, x));
    }
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        let (low, high) = lanes.split_at_mut(width);
        low.iter_mut().zip(high.iter()).for_each(|(a, &b)| *a = larger(*a, b));
    }
    rest.iter().fold(lanes.first().copied().unwrap_or(lowest), |a, &b| larger(a, b))
}

/// What [`finish`] takes of a line: its largest value, and the inverse or logarithm of its sum.
#[inline(always)]
fn parameters<C: Soft>(form: SoftmaxForm, largest: C, sum: C::Wide) -> (C, C) {
    match form {
        SoftmaxForm::Log => (largest, C::logarithm(sum)),
        SoftmaxForm::Safe if is_hidden(largest) => (C::default(), C::default()),
        _ => (largest, C::inverse(sum)),
    }
}

/// Whether a value is -inf.
#[inline(always)]
fn is_hidden<C: Soft>(x: C) -> bool {
    x == C::narrow(C::wide_start::<Largest>())
}

/// The values, from each element's largest and the inverse or logarithm of its sum.
#[inline(always)]
fn finish<C: Soft, I: Isa>(form: SoftmaxForm, xs: &[C], ys: &mut [C], parameters: impl Fn(usize) -> (C, C)) {
    if form == SoftmaxForm::Log {
        for (j, (y, &x)) in ys.iter_mut().zip(xs).enumerate() {
            let (largest, sum) = parameters(j);
            *y = x - largest - sum;
        }
    } else {
        for (j, (y, &x)) in ys.iter_mut().zip(xs).enumerate() {
            let (largest, scale) = parameters(j);
            *y = (x - largest).exp::<I>() * scale;
        }
    }
}

#[inline(always)]
fn fold_blocks<'s, F: Fold, C: Folded + 's, I: Isa>(
    length: usize,
    centre: C,
    block: &mut impl FnMut(&Range<usize>) -> &'s [C],
) -> C::Wide {
    let start = C::wide_start::<F>();
    blocks(length).fold(start, |sum, part| C::wide_join::<F>(sum, fold_run::<F, C, I>(block(&part), centre)))
}

/// Rows folded at once.
const ROWS: usize = 8;

/// Folds `length` rows; `row(r, at)` reads row `r` through scratch number `at`.
#[inline(always)]
fn fold_columns<'s, F: Fold, C: Folded + 's, I: Isa>(
    length: usize,
    row: impl Fn(usize, usize) -> &'s [C],
    centres: &[C],
    sums: &mut [C::Wide],
) {
    sums.fill(C::wide_start::<F>());
    let whole = length - length % ROWS;
    for r in (0..whole).step_by(ROWS) {
        let mut at = 0;
        let rows = [(); ROWS].map(|()| {
            at += 1;
            row(r + at - 1, at - 1)
        });
        fold_rows::<F, C, I, ROWS>(sums, rows, centres);
    }
    for r in whole..length {
        fold_rows::<F, C, I, 1>(sums, [row(r, 0)], centres);
    }
}

struct Backward<'a, C> {
    lines: &'a LinesAlong<3>,
    dy: LinesFrom<'a, C>,
    y: LinesFrom<'a, C>,
    dx: LinesTo<'a, C>,
    /// `dy` or `y` lies in the place of `dx`.
    in_place: bool,
    log: bool,
    panels: Range<usize>,
}

impl<C: Soft> Work for Backward<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut scratches = Room::<[C; BLOCK], 3>::new();
        let [first, second, third] =
            [0, 1, 2].map(|i| scratches.as_mut_ptr().cast::<C>().wrapping_add(i * BLOCK));
        let mut sums = Room::<C::Wide, BLOCK>::new();
        let mut totals = Room::<C, BLOCK>::new();
        let ([dy_step, y_step, dx_step], n) = (self.lines.steps, self.lines.length);
        for panel in self.panels.clone().map(|number| self.lines.panel(number)) {
            let across = self.lines.across;
            let [dy_at, y_at, dx_at] = panel.start;
            let [dy_apart, y_apart, dx_apart] = if across { panel.apart } else { [dy_step, y_step, dx_step] };
            // Rows of the panel, or blocks of the line.
            let rows = if across { n } else { n.div_ceil(BLOCK) };
            let stride = if across { 1 } else { BLOCK as isize };
            let width = |r: usize| if across { panel.width } else { BLOCK.min(n - r * BLOCK) };
            // SAFETY: rows and blocks lie inside the views and are this piece's alone. Each is read before its
            // place is written, and no slice of `dx` is taken where an input lies in it; scratch has a block
            // for each operand.
            unsafe {
                let read = |r: usize| {
                    let at = r as isize * stride;
                    let dys = self.dy.run(dy_at + at * dy_step, dy_apart, width(r), first);
                    let ys = self.y.run(y_at + at * y_step, y_apart, width(r), second);
                    (dys, ys)
                };
                let kept = if across { panel.width } else { 1 };
                let (sums, totals) = (sums.first(kept), totals.first(kept));
                sums.fill(C::wide_start::<Sum>());
                for r in 0..rows {
                    let (dys, ys) = read(r);
                    let products = std::slice::from_raw_parts_mut(third, dys.len());
                    for ((p, &dy), &y) in products.iter_mut().zip(dys).zip(ys) {
                        *p = if self.log { dy } else { dy * y };
                    }
                    add_products::<C, I>(across, sums, products);
                }
                totals.iter_mut().zip(&*sums).for_each(|(t, &s)| *t = C::narrow(s));
                let totals = &*totals;
                for r in 0..rows {
                    let (dys, ys) = read(r);
                    let total = |j: usize| *totals.get_unchecked(if across { j } else { 0 });
                    let at = dx_at + r as isize * stride * dx_step;
                    let place = if self.in_place { None } else { self.dx.place(at, dx_apart, dys.len()) };
                    if let Some(dxs) = place {
                        slopes::<C, I>(self.log, dys, ys, dxs, total);
                    } else {
                        let dxs = std::slice::from_raw_parts_mut(third, dys.len());
                        slopes::<C, I>(self.log, dys, ys, dxs, total);
                        self.dx.store(at, dx_apart, dxs);
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn add_products<C: Soft, I: Isa>(across: bool, sums: &mut [C::Wide], products: &[C]) {
    if across {
        for (sum, &p) in sums.iter_mut().zip(products) {
            *sum = C::wide_join::<Sum>(*sum, p.widen());
        }
    } else if let Some(sum) = sums.first_mut() {
        *sum = C::wide_join::<Sum>(*sum, fold_run::<Sum, C, I>(products, C::default()));
    }
}

#[inline(always)]
fn slopes<C: Soft, I: Isa>(log: bool, dys: &[C], ys: &[C], dxs: &mut [C], total: impl Fn(usize) -> C) {
    for (j, ((dx, &dy), &y)) in dxs.iter_mut().zip(dys).zip(ys).enumerate() {
        *dx = if log { dy - y.exp::<I>() * total(j) } else { y * (dy - total(j)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::View;
    use crate::device::cpu::testing::{Sample, assert_close, launch, layouts, output};
    use crate::device::kernel::Kernel;
    use proptest::prelude::*;

    fn numbers(k: i32) -> impl Iterator<Item = f64> {
        (0..).map(move |i| f64::from(i * (5 + k) % 17) * 0.25 - 2.0)
    }

    /// Calls `line` with the values along `dim` of each line, and puts its answers in their places.
    fn per_line(
        layout: &Layout,
        dim: usize,
        inputs: &[&[f64]],
        line: impl Fn(&[Vec<f64>]) -> Vec<f64>,
    ) -> Vec<f64> {
        let shape = layout.shape();
        let (n, inner) = (shape[dim], shape[dim + 1..].iter().product::<usize>());
        let mut out = vec![0.0; layout.numel()];
        for first in (0..out.len()).filter(|i| i / inner % n == 0) {
            let places: Vec<usize> = (0..n).map(|r| first + r * inner).collect();
            let values: Vec<Vec<f64>> =
                inputs.iter().map(|x| places.iter().map(|&p| x[p]).collect()).collect();
            places.iter().zip(line(&values)).for_each(|(&p, v)| out[p] = v);
        }
        out
    }

    fn form(log: bool) -> SoftmaxForm {
        if log { SoftmaxForm::Log } else { SoftmaxForm::Plain }
    }

    fn naive(log: bool, line: &[Vec<f64>]) -> Vec<f64> {
        let m = line[0].iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = line[0].iter().map(|x| (x - m).exp()).sum();
        line[0].iter().map(|x| if log { x - m - sum.ln() } else { (x - m).exp() / sum }).collect()
    }

    fn naive_grad(log: bool, line: &[Vec<f64>]) -> Vec<f64> {
        let (dy, y) = (&line[0], &line[1]);
        let sum: f64 = dy.iter().zip(y).map(|(dy, y)| if log { *dy } else { dy * y }).sum();
        let slope = |(dy, y): (&f64, &f64)| if log { dy - y.exp() * sum } else { y * (dy - sum) };
        dy.iter().zip(y).map(slope).collect()
    }

    fn tolerance(dtype: DType) -> f64 {
        match dtype {
            DType::Float64 => 1e-12,
            DType::Float32 => 2e-6,
            DType::Float16 => 2e-3,
            _ => 2e-2,
        }
    }

    fn check(x: &Sample, dy: &Sample, dim: usize, log: bool) {
        let shape = x.layout.shape();
        let t = tolerance(x.dtype);
        let got = output(&Kernel::Softmax { form: form(log), dim }, &[x.arg()], x.dtype, shape);
        let want = per_line(&x.layout, dim, &[&x.values()], |line| naive(log, line));
        assert_close(&got, &want, t, t);
        let y = Sample::new(x.dtype, shape, want);
        let got = output(&Kernel::SoftmaxGrad { log, dim }, &[dy.arg(), y.arg()], x.dtype, shape);
        let want = per_line(&x.layout, dim, &[&dy.values(), &y.values()], |line| naive_grad(log, line));
        assert_close(&got, &want, 4.0 * t, 4.0 * t);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        #[test]
        fn softmax_agrees_with_one_by_one(
            layout in layouts(true), dim in 0usize..4, d in 0usize..4, log in any::<bool>(),
        ) {
            if dim >= layout.rank() {
                return Ok(());
            }
            let x = Sample::laid_out(DType::ALL[d], layout.clone(), numbers(0));
            let dy = Sample::laid_out(DType::ALL[d], layout, numbers(2));
            check(&x, &dy, dim, log);
        }
    }

    #[test]
    fn long_lines_and_wide_panels() {
        for (shape, dim) in [([3, 5000], 1), ([5000, 3], 0), ([70, 2100], 0), ([2100, 70], 1)] {
            for (dtype, log) in [(DType::Float32, false), (DType::Float32, true), (DType::BFloat16, false)] {
                let x = Sample::new(dtype, &shape, numbers(0));
                let dy = Sample::new(dtype, &shape, numbers(2));
                check(&x, &dy, dim, log);
            }
        }
    }

    #[test]
    fn in_place_and_overlapping_lines() {
        for dim in [0, 1] {
            let x = Sample::new(DType::Float32, &[40, 30], numbers(0));
            let want = per_line(&x.layout, dim, &[&x.values()], |line| naive(false, line));
            launch(&Kernel::Softmax { form: SoftmaxForm::Plain, dim }, &[x.arg()], &[x.view()]).unwrap();
            assert_close(&x.values(), &want, 2e-6, 1e-8);

            let x = Sample::new(DType::Float32, &[40, 30], numbers(0));
            let head = x.layout.slice(0, 0, 39, 1).unwrap();
            let tail = x.layout.slice(0, 1, 39, 1).unwrap();
            let want = per_line(&head, dim, &[&x.values()[..39 * 30]], |line| naive(false, line));
            let (head, tail) = (View { layout: &head, ..x.view() }, View { layout: &tail, ..x.view() });
            launch(&Kernel::Softmax { form: SoftmaxForm::Plain, dim }, &[Arg::View(head)], &[tail]).unwrap();
            assert_close(&x.values()[30..], &want, 2e-6, 1e-8);
        }
    }

    #[test]
    fn infinities_and_nan_as_pytorch_has_them() {
        let inf = f64::INFINITY;
        let soft = |values: &[f64]| {
            let x = Sample::new(DType::Float32, &[values.len()], values.iter().copied());
            output(
                &Kernel::Softmax { form: SoftmaxForm::Plain, dim: 0 },
                &[x.arg()],
                DType::Float32,
                &[values.len()],
            )
        };
        assert!(soft(&[inf, 1.0]).iter().all(|v| v.is_nan()));
        assert!(soft(&[-inf, -inf]).iter().all(|v| v.is_nan()));
        assert!(soft(&[f64::NAN, 1.0]).iter().all(|v| v.is_nan()));
        assert_eq!(soft(&[-inf, 3.0]), [0.0, 1.0]);
        assert_eq!(soft(&[1e30, 1e30]), [0.5, 0.5]);
        assert!(soft(&[]).is_empty());
    }

    #[test]
    fn safe_lines_of_minus_infinity_alone_are_0() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        let lines = [[-inf; 3], [-inf, 1.0, -inf], [nan, -inf, -inf], [-inf, inf, 0.0], [0.0, 0.0, -inf]];
        let want = [[0.0; 3], [0.0, 1.0, 0.0], [nan; 3], [nan; 3], [0.5, 0.5, 0.0]];
        let kernel = |dim| Kernel::Softmax { form: SoftmaxForm::Safe, dim };
        for dtype in [DType::Float32, DType::Float64, DType::BFloat16] {
            let flat = |lines: &[[f64; 3]; 5]| lines.as_flattened().to_vec();
            let turned = |lines: &[[f64; 3]; 5]| (0..15).map(|i| lines[i % 5][i / 5]).collect::<Vec<_>>();
            let rows = Sample::new(dtype, &[5, 3], flat(&lines));
            let columns = Sample::new(dtype, &[3, 5], turned(&lines));
            let same = |got: Vec<f64>, want: Vec<f64>| {
                let alike = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
                assert!(got.iter().zip(&want).all(alike), "{dtype}: {got:?}");
            };
            same(output(&kernel(1), &[rows.arg()], dtype, &[5, 3]), flat(&want));
            same(output(&kernel(0), &[columns.arg()], dtype, &[3, 5]), turned(&want));
        }
    }

    #[test]
    fn integers_have_no_softmax() {
        let x = Sample::zeros(DType::Int64, &[2]);
        let error = launch(&Kernel::Softmax { form: SoftmaxForm::Plain, dim: 0 }, &[x.arg()], &[x.view()])
            .unwrap_err();
        assert_eq!(error.message(), "\"test_kernel_impl\" not implemented for 'Long'");
    }
}

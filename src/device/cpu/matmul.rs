//! `Matmul`: batches of matrix products of any dtype and strides.

use smallvec::SmallVec;

use crate::base::{DType, Error, Result};
use crate::device::cpu::copy::gathered;
use crate::device::cpu::strided::{BLOCK, Overlap, Strided};
use crate::device::kernel::{Arg, Launch, View};

use super::access::{BlockReader, BlockWriter, Scratch, missing};
use super::convert::{Compute, compute_dtype};
use super::copy;
use super::gemm::Product;
use super::gemm::operand::{Matrix, Operand};
use super::gemm::pairs::Pairs;
use super::gemm::tiles::Real;
use super::isa::{self, Isa, Work};
use super::parallel::{self, SharedMut};
use super::scratch::zeros;

/// `alpha * a @ b`, plus `beta * c` where there is a third input. Where `beta` is 0 that input is not read,
/// so that NaN in it does not spread, as in PyTorch's `addmm`.
pub(super) fn matmul(launch: &Launch, alpha: f64, beta: f64) -> Result<()> {
    let Some(output) = launch.outputs.first() else { return Err(missing(launch, "output", 0)) };
    match compute_dtype(output.dtype) {
        DType::Float64 => real::<f64>(launch, output, alpha, beta),
        DType::Float32 => real::<f32>(launch, output, alpha, beta),
        _ => integer(launch, output, alpha as i64, beta as i64),
    }
}

/// Products of this many multiplications are worth a core of their own.
const BATCH_PIECE: usize = 1 << 17;

/// Products of more multiplications use all cores one after another.
const BATCH_LARGE: usize = 1 << 24;

fn real<E: Real>(launch: &Launch, output: &View, alpha: f64, beta: f64) -> Result<()> {
    let [a, b, y] = [operand(launch, 0)?, operand(launch, 1)?, Strided::new(output)?];
    let apart = |v: &Strided| v.overlap(&y) == Overlap::None;
    let mut in_place = y.dtype == E::DTYPE && apart(&a) && apart(&b);
    let addend = launch.inputs.get(2).filter(|_| beta != 0.0);
    let mut given = false;
    if let Some(Arg::View(c)) = addend {
        let overlap = Strided::new(c)?.overlap(&y);
        in_place &= overlap != Overlap::Partial;
        given = in_place && overlap == Overlap::Same && beta == 1.0;
    }
    let mut aside = if in_place { Vec::new() } else { zeros(y.numel())? };
    let plan = MatmulPlan::new(launch, [&a, &b, &y], in_place)?;
    let out = if in_place { y.origin() } else { aside.as_mut_ptr() };
    if let Some(addend) = addend.filter(|_| !given) {
        let to = if in_place { None } else { Some(SharedMut::new(&mut aside)) };
        start_from(launch, addend, &y, to, E::from_f64(beta))?;
    }
    let batches =
        Products { plan: &plan, a: &a, b: &b, out, alpha: E::from_f64(alpha), add: addend.is_some() };
    batches.run(launch)?;
    if in_place { Ok(()) } else { put(launch, &y, aside) }
}

/// Writes `beta * c` to where the products are added: the output, or memory aside.
fn start_from<E: Real>(
    launch: &Launch,
    c: &Arg,
    y: &Strided,
    aside: Option<SharedMut<E>>,
    beta: E,
) -> Result<()> {
    // SAFETY: a piece is read before its place is written, and no other piece's place holds it.
    let reader = unsafe { BlockReader::<E>::new(c, y.layout.shape())? };
    let writer = BlockWriter::<E>::strided(y);
    parallel::for_ranges(y.numel(), parallel::GRAIN, launch.cancel, |range| {
        let mut block = Scratch::<E>::new();
        for start in range.clone().step_by(BLOCK) {
            let n = BLOCK.min(range.end - start);
            // SAFETY: the values are loaded before they are read.
            let values = unsafe { block.first(n) };
            reader.load(start, values);
            for value in values.iter_mut() {
                *value = beta * *value;
            }
            // SAFETY: pieces are disjoint, and the block is memory of its own.
            unsafe {
                match aside {
                    Some(aside) => aside.slice(start..start + n).copy_from_slice(values),
                    None => writer.store(start, values),
                }
            }
        }
    })
}

/// Brings what was computed aside to the output.
fn put<C: Compute>(launch: &Launch, y: &Strided, mut values: Vec<C>) -> Result<()> {
    let layout = y.as_rows()?;
    copy::between(launch.cancel, &Strided::of_slice(&mut values, &layout)?, y)
}

/// The products of a launch.
struct Products<'a, E> {
    plan: &'a MatmulPlan,
    a: &'a Strided<'a>,
    b: &'a Strided<'a>,
    out: *mut E,
    alpha: E,
    add: bool,
}

// SAFETY: operands are only read, and each batch has its place in the output.
unsafe impl<E> Sync for Products<'_, E> {}

impl<E: Real> Products<'_, E> {
    fn run(&self, launch: &Launch) -> Result<()> {
        let MatmulPlan { m, n, k, .. } = *self.plan;
        let work = m.saturating_mul(n).saturating_mul(k);
        let count = self.plan.count();
        if count == 1 || work > BATCH_LARGE {
            return (0..count).try_for_each(|batch| self.product(batch, true, launch));
        }
        let grain = (BATCH_PIECE / work.max(1)).max(1);
        parallel::try_for_ranges(count, grain, launch.cancel, |mut batches| {
            batches.try_for_each(|batch| self.product(batch, false, launch))
        })
    }

    fn product(&self, batch: usize, threads: bool, launch: &Launch) -> Result<()> {
        let plan = self.plan;
        let [a, b, y] = plan.offsets(batch);
        let [a_strides, [b_row, b_column], out_strides] = plan.strides;
        let b_strides = [b_column, b_row];
        // SAFETY: the plan's sizes are the views', which lie in their memory.
        let (lhs, rhs) = unsafe { (Matrix::new(self.a, a, a_strides), Matrix::new(self.b, b, b_strides)) };
        // SAFETY: as above.
        let pairs =
            unsafe { Pairs::new(self.a, a, a_strides, plan.k).zip(Pairs::new(self.b, b, b_strides, plan.k)) };
        let (lhs, rhs, k): (&dyn Operand<E>, &dyn Operand<E>, usize) = match &pairs {
            Some((lhs, rhs)) => (lhs, rhs, plan.k.div_ceil(2)),
            None => (&lhs, &rhs, plan.k),
        };
        let product = Product {
            m: plan.m,
            n: plan.n,
            k,
            lhs,
            rhs,
            out: self.out.wrapping_offset(y),
            out_strides,
            alpha: self.alpha,
            add: self.add,
        };
        // SAFETY: the output's places are distinct and apart from the operands, or memory of its own.
        unsafe { product.run(threads, launch.cancel) }
    }
}

/// The sizes of a launch's products, and the strides of a, b and y.
struct MatmulPlan {
    /// Sizes and strides of what comes before rows and columns.
    batches: SmallVec<[(usize, [isize; 3]); 4]>,
    m: usize,
    n: usize,
    k: usize,
    /// Of rows and columns.
    strides: [[isize; 2]; 3],
}

impl MatmulPlan {
    /// `in_place`: `y` has its own strides, and those of a row-major tensor otherwise.
    fn new(launch: &Launch, views: [&Strided; 3], in_place: bool) -> Result<MatmulPlan> {
        let [a, b, y] = views.map(|v| v.layout.shape());
        let bad =
            || Error::runtime(format!("{} launched a product of {a:?} and {b:?} into {y:?}", launch.op));
        let ([a_batch @ .., m, k], [b_batch @ .., k2, n], [y_batch @ .., m2, n2]) = (a, b, y) else {
            return Err(bad());
        };
        if (m, n, k) != (m2, n2, k2) || a_batch != y_batch || b_batch != y_batch {
            return Err(bad());
        }
        let dense = crate::base::shape::contiguous_strides(y);
        let y_strides = if in_place { views[2].layout.strides() } else { &dense };
        let steps = [views[0].layout.strides(), views[1].layout.strides(), y_strides];
        let strides = steps.map(|s| match s {
            [.., row, column] => [*row, *column],
            _ => [0; 2],
        });
        let at = |i: usize| steps.map(|s| s.get(i).copied().unwrap_or(0));
        let batches = y_batch.iter().enumerate().filter(|(_, size)| **size != 1).map(|(i, &n)| (n, at(i)));
        let mut plan = MatmulPlan { batches: batches.collect(), m: *m, n: *n, k: *k, strides };
        plan.merge();
        Ok(plan)
    }

    /// Batches that share one b, and whose rows go on from one to the next, are one product with more rows.
    fn merge(&mut self) {
        while let Some(&(size, steps)) = self.batches.last() {
            let [a_step, b_step, y_step] = steps;
            let [[a, _], _, [y, _]] = &mut self.strides;
            if self.m == 1 {
                (*a, *y) = (a_step, y_step);
            }
            let m = self.m as isize;
            if b_step != 0 || a_step != m * *a || y_step != m * *y {
                return;
            }
            self.m *= size;
            self.batches.pop();
        }
    }

    fn count(&self) -> usize {
        self.batches.iter().map(|(size, _)| size).product()
    }

    /// Where the operands of a batch start.
    fn offsets(&self, mut batch: usize) -> [isize; 3] {
        let mut offsets = [0isize; 3];
        for (size, strides) in self.batches.iter().rev() {
            let index = (batch % size) as isize;
            batch /= size;
            for (offset, stride) in offsets.iter_mut().zip(strides) {
                *offset += index * stride;
            }
        }
        offsets
    }
}

/// Integers wrap around, as in PyTorch.
fn integer(launch: &Launch, output: &View, alpha: i64, beta: i64) -> Result<()> {
    let [a, b, y] = [operand(launch, 0)?, operand(launch, 1)?, Strided::new(output)?];
    let plan = MatmulPlan::new(launch, [&a, &b, &y], false)?;
    // All batches are gathered, also those that the plan takes as one for their strides.
    let m = match y.layout.shape() {
        [.., m, _] => *m,
        _ => 1,
    };
    let (a, b) = (gathered::<i64>(launch.cancel, &a)?, gathered::<i64>(launch.cancel, &b)?);
    let mut out = match launch.inputs.get(2).filter(|_| beta != 0) {
        Some(c) => gathered::<i64>(launch.cancel, &view(launch, c, 2)?)?,
        None => zeros(y.numel())?,
    };
    out.iter_mut().for_each(|v| *v = v.wrapping_mul(beta));
    let (n, k) = (plan.n, plan.k);
    let grain = (parallel::GRAIN / (n * k).max(1)).max(1) * n.max(1);
    parallel::for_chunks(&mut out, n, grain, launch.cancel, |row, out| {
        let Some(a) = a.get(row * k..(row + 1) * k) else { return };
        let b = b.get(row / m.max(1) * k * n..).unwrap_or(&[]);
        isa::dispatch(WholeRow { alpha, a, b, out });
    })?;
    put(launch, &y, out)
}

/// A row of a product of integers: `out += alpha * a @ b`.
struct WholeRow<'a> {
    alpha: i64,
    a: &'a [i64],
    /// Rows as long as `out`, one for each element of `a`.
    b: &'a [i64],
    out: &'a mut [i64],
}

impl Work for WholeRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let n = self.out.len().max(1);
        for (&a, b) in self.a.iter().zip(self.b.chunks_exact(n)) {
            let a = self.alpha.wrapping_mul(a);
            for (out, &b) in self.out.iter_mut().zip(b) {
                *out = out.wrapping_add(a.wrapping_mul(b));
            }
        }
    }
}

fn operand<'a>(launch: &Launch<'a>, index: usize) -> Result<Strided<'a>> {
    let arg = launch.inputs.get(index).ok_or_else(|| missing(launch, "input", index))?;
    view(launch, arg, index)
}

fn view<'a>(launch: &Launch, arg: &Arg<'a>, index: usize) -> Result<Strided<'a>> {
    match arg {
        Arg::View(view) => Strided::new(view),
        Arg::Scalar(_) => Err(missing(launch, "matrix as input", index)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Layout;
    use crate::device::cancel::Cancel;
    use crate::device::cpu::isa;
    use crate::device::cpu::testing::{Sample, assert_close, launch, output};
    use crate::device::kernel::Kernel;
    use proptest::prelude::*;
    use std::time::{Duration, Instant};

    /// How an operand lies in memory.
    #[derive(Clone, Copy, Debug)]
    enum Form {
        Plain,
        Turned,
        Stepped,
        Broadcast,
    }

    fn forms() -> impl Strategy<Value = Form> {
        prop::sample::select(&[Form::Plain, Form::Turned, Form::Stepped, Form::Broadcast][..])
    }

    fn layout(form: Form, shape: &[usize]) -> Layout {
        let rank = shape.len();
        match form {
            Form::Plain => Layout::contiguous(shape).unwrap(),
            Form::Turned => {
                let mut turned = shape.to_vec();
                turned.swap(rank - 2, rank - 1);
                Layout::contiguous(&turned).unwrap().transpose(rank - 2, rank - 1).unwrap()
            }
            Form::Stepped => {
                let room: Vec<usize> = shape.iter().map(|&d| 2 * d + 1).collect();
                let mut layout = Layout::contiguous(&room).unwrap();
                for (i, &d) in shape.iter().enumerate() {
                    layout = layout.slice(i, 1, d, 2).unwrap();
                }
                layout
            }
            Form::Broadcast => {
                let mut one = shape.to_vec();
                one[0] = 1;
                Layout::contiguous(&one).unwrap().expand(shape).unwrap()
            }
        }
    }

    fn sample(dtype: DType, form: Form, shape: &[usize], seed: usize) -> Sample {
        let values = (0..).map(move |i: usize| ((i * 7919 + seed * 31) % 17) as f64 - 8.0);
        Sample::laid_out(dtype, layout(form, shape), values)
    }

    /// Row-major products of the values, added to `beta * c`.
    fn naive(a: &Sample, b: &Sample, c: Option<&Sample>, alpha: f64, beta: f64) -> Vec<f64> {
        let [batch, m, k] = a.layout.shape()[..] else { panic!() };
        let n = b.layout.shape()[2];
        let (av, bv, cv) = (a.values(), b.values(), c.map(Sample::values));
        let mut out = Vec::new();
        for at in 0..batch * m * n {
            let (t, i, j) = (at / (m * n), at / n % m, at % n);
            let sum: f64 = (0..k).map(|p| av[(t * m + i) * k + p] * bv[(t * k + p) * n + j]).sum();
            out.push(alpha * sum + cv.as_ref().map_or(0.0, |c| beta * c[at]));
        }
        out
    }

    /// Small whole numbers, so that every order of summation gives the same bits.
    fn check(dtype: DType, sizes: [usize; 4], forms: [Form; 4], alpha: f64, beta: Option<f64>) {
        let [t, m, k, n] = sizes;
        let a = sample(dtype, forms[0], &[t, m, k], 1);
        let b = sample(dtype, forms[1], &[t, k, n], 2);
        let c = beta.map(|_| sample(dtype, forms[2], &[t, m, n], 3));
        let broadcast = matches!(forms[3], Form::Broadcast);
        let y = sample(dtype, if broadcast { Form::Plain } else { forms[3] }, &[t, m, n], 4);
        let beta = beta.unwrap_or(0.0);
        let want = naive(&a, &b, c.as_ref(), alpha, beta);
        let inputs: Vec<Arg> = [&a, &b].into_iter().chain(&c).map(Sample::arg).collect();
        launch(&Kernel::Matmul { alpha, beta }, &inputs, &[y.view()]).unwrap();
        let rounding = match dtype {
            DType::Float16 => 1e-3,
            DType::BFloat16 => 1e-2,
            _ => 0.0,
        };
        assert_close(&y.values(), &want, rounding, 0.0);
    }

    proptest! {
        #[test]
        fn products_of_any_layout_are_the_sums(
            t in 0usize..4, m in 0usize..40, k in 0usize..40, n in 0usize..70,
            forms in prop::array::uniform4(forms()),
            d in 0usize..6, alpha in -2i32..3, beta in prop::option::of(-2i32..3),
        ) {
            let dtype = DType::ALL[d];
            check(dtype, [t, m, k, n], forms, f64::from(alpha), beta.map(f64::from));
        }

        #[test]
        fn narrow_products_are_the_sums(
            m in 1usize..300, k in 1usize..300, few in 1usize..10, turn in any::<bool>(),
            forms in prop::array::uniform4(forms()), d in 0usize..2,
        ) {
            let (m, n) = if turn { (few, m) } else { (m, few) };
            check(DType::ALL[d], [1, m, k, n], forms, 1.0, Some(1.0));
        }
    }

    #[test]
    fn every_instruction_set_and_block_edge() {
        isa::on_each(|_| {
            for dtype in [DType::Float32, DType::Float64, DType::BFloat16] {
                for (m, k, n) in [
                    (1, 1, 1),
                    (15, 257, 33),
                    (31, 600, 47),
                    (200, 300, 200),
                    (129, 16, 65),
                    (8, 64, 100),
                    (8, 64, 1100),
                    (3, 70, 40),
                ] {
                    for form in [Form::Plain, Form::Turned] {
                        check(dtype, [1, m, k, n], [form, Form::Plain, Form::Plain, form], 1.0, None);
                        check(
                            dtype,
                            [1, m, k, n],
                            [Form::Plain, form, Form::Plain, Form::Plain],
                            2.0,
                            Some(3.0),
                        );
                    }
                }
            }
        });
    }

    #[test]
    fn a_shared_matrix_multiplies_all_batches_as_one() {
        let forms = [Form::Plain, Form::Broadcast, Form::Plain, Form::Plain];
        check(DType::Float32, [7, 1, 20, 30], forms, 1.0, None);
        check(DType::Float32, [7, 5, 20, 30], forms, 1.0, None);
    }

    #[test]
    fn nothing_spreads_from_an_addend_that_beta_drops() {
        let [a, b] =
            [Sample::new(DType::Float32, &[1, 1], [2.0]), Sample::new(DType::Float32, &[1, 1], [3.0])];
        let c = Sample::new(DType::Float32, &[1, 1], [f64::NAN]);
        let kernel = Kernel::Matmul { alpha: 1.0, beta: 0.0 };
        assert_eq!(output(&kernel, &[a.arg(), b.arg(), c.arg()], DType::Float32, &[1, 1]), [6.0]);
    }

    #[test]
    fn the_output_may_be_an_operand() {
        let a = Sample::new(DType::Float32, &[2, 2], [1.0, 2.0, 3.0, 4.0]);
        let kernel = Kernel::Matmul { alpha: 1.0, beta: 1.0 };
        launch(&kernel, &[a.arg(), a.arg(), a.arg()], &[a.view()]).unwrap();
        assert_eq!(a.values(), [8.0, 12.0, 18.0, 26.0]);
        let b = Sample::new(DType::Float32, &[2, 2], [1.0, 0.0, 0.0, 1.0]);
        launch(&kernel, &[b.arg(), b.arg(), a.arg()], &[a.view()]).unwrap();
        assert_eq!(a.values(), [9.0, 12.0, 18.0, 27.0]);
    }

    #[test]
    fn integers_wrap_and_infinities_stay() {
        let a = Sample::new(DType::Int8, &[1, 2], [100.0, 100.0]);
        let b = Sample::new(DType::Int8, &[2, 1], [1.0, 1.0]);
        let kernel = Kernel::Matmul { alpha: 1.0, beta: 0.0 };
        assert_eq!(output(&kernel, &[a.arg(), b.arg()], DType::Int8, &[1, 1]), [-56.0]);
        let a = Sample::new(DType::Float32, &[2, 2], [f64::INFINITY, 0.0, f64::NAN, 1.0]);
        let b = Sample::new(DType::Float32, &[2, 2], [1.0, 0.0, 1.0, 1.0]);
        let got = output(&kernel, &[a.arg(), b.arg()], DType::Float32, &[2, 2]);
        assert!(got[0] == f64::INFINITY && got[1].is_nan() && got[2].is_nan() && got[3].is_nan());
    }

    #[test]
    fn mismatched_operands_are_an_error() {
        let [a, b] = [Sample::zeros(DType::Float32, &[2, 3]), Sample::zeros(DType::Float32, &[2, 3])];
        let y = Sample::zeros(DType::Float32, &[2, 3]);
        let kernel = Kernel::Matmul { alpha: 1.0, beta: 0.0 };
        assert!(launch(&kernel, &[a.arg(), b.arg()], &[y.view()]).is_err());
        assert!(launch(&kernel, &[a.arg()], &[y.view()]).is_err());
    }

    #[test]
    fn an_interrupt_ends_a_large_product_soon() {
        let (n, k) = (2048, 1 << 18);
        let line = Sample::zeros(DType::Float32, &[1, k]);
        let a = line.layout.expand(&[n, k]).unwrap();
        let b = a.transpose(0, 1).unwrap();
        let y = Sample::zeros(DType::Float32, &[n, n]);
        let cancel = Cancel::default();
        let kernel = Kernel::Matmul { alpha: 1.0, beta: 0.0 };
        let inputs = [&a, &b].map(|layout| Arg::View(View { layout, ..line.view() }));
        let outputs = [y.view()];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(5));
                cancel.interrupt();
            });
            let start = Instant::now();
            let job = Launch {
                op: "test",
                kernel: &kernel,
                inputs: &inputs,
                outputs: &outputs,
                stream: 0,
                cancel: &cancel,
                timed: false,
            };
            let error = crate::device::cpu::run(&job).unwrap_err();
            assert!(error.is_interrupt());
            // All of it would take several seconds.
            assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        });
    }
}

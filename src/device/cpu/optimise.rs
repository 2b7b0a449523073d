//! `Sgd` and `Adam`: one pass over a parameter, its gradient and its state, in place.
//!
//! The order of operations is that of `torch.optim`'s single-tensor steps.

use smallvec::SmallVec;

use crate::base::Result;
use crate::device::kernel::Launch;

use super::access::{DenseOut, dense};
use super::convert::Compute;
use super::float::with_float;
use super::isa::{self, Isa, Work};
use super::lines::{expect_shape, input_shape, output_shape};
use super::math::{Lane, Real};
use super::parallel::{self, SharedMut};

/// The options of [`crate::device::Kernel::Sgd`].
#[derive(Clone, Copy)]
pub(super) struct Sgd {
    pub lr: f64,
    pub momentum: f64,
    pub dampening: f64,
    pub weight_decay: f64,
    pub nesterov: bool,
    pub maximize: bool,
    /// The momentum buffer holds nothing yet.
    pub first: bool,
}

/// The options of [`crate::device::Kernel::Adam`].
#[derive(Clone, Copy)]
pub(super) struct Adam {
    pub lr: f64,
    pub beta1: f64,
    pub beta2: f64,
    pub eps: f64,
    pub weight_decay: f64,
    pub decoupled: bool,
    pub maximize: bool,
    /// From 1.
    pub step: u64,
}

/// One step of stochastic gradient descent. Without momentum there is no buffer among the outputs.
pub(super) fn sgd(launch: &Launch, options: Sgd) -> Result<()> {
    let buffers = usize::from(options.momentum != 0.0);
    with_float!(launch, launch.dtype(), C => step::<C, _>(launch, buffers, options))
}

/// One step of Adam, or of AdamW where `decoupled`.
pub(super) fn adam(launch: &Launch, options: Adam) -> Result<()> {
    with_float!(launch, launch.dtype(), C => step::<C, _>(launch, 2, options))
}

/// What a step does to a stretch of elements.
trait Update: Copy + Send + Sync {
    /// `states` holds as many stretches as the optimiser has buffers, the others empty.
    fn update<R: Real, C: Copy>(
        self,
        grad: &[C],
        parameter: &mut [C],
        states: [&mut [C]; 2],
        load: impl Fn(C) -> R,
        store: impl Fn(R) -> C,
    );
}

fn step<C: Compute, U: Update>(launch: &Launch, buffers: usize, update: U) -> Result<()>
where
    for<'a> Stretch<'a, C, U>: Work<Output = ()>,
{
    let shape = output_shape(launch, 0)?;
    expect_shape(launch, "the gradient", input_shape(launch, 0)?, shape)?;
    let grad = dense::<C>(launch, 0)?;
    let mut parameter = DenseOut::<C>::with_values(launch, 0)?;
    let mut states: SmallVec<[DenseOut<C>; 2]> = SmallVec::new();
    for i in 1..=buffers {
        expect_shape(launch, "the optimiser's state", output_shape(launch, i)?, shape)?;
        states.push(DenseOut::with_values(launch, i)?);
    }
    let n = parameter.len();
    let mut none: [&mut [C]; 2] = [&mut [], &mut []];
    for (slot, state) in none.iter_mut().zip(&mut states) {
        *slot = state;
    }
    let (all, [first, second]) = (SharedMut::new(&mut parameter), none.map(SharedMut::new));
    parallel::for_ranges(n, parallel::GRAIN / 2, launch.cancel, |range| {
        let grad = grad.get(range.clone()).unwrap_or(&[]);
        // SAFETY: pieces are disjoint, and so are the outputs.
        let (parameter, states) =
            unsafe { (all.slice(range.clone()), [first.slice(range.clone()), second.slice(range)]) };
        isa::dispatch(Stretch { grad, parameter, states, update });
    })?;
    parameter.finish(launch)?;
    states.into_iter().try_for_each(|state| state.finish(launch))
}

struct Stretch<'a, C, U> {
    grad: &'a [C],
    parameter: &'a mut [C],
    states: [&'a mut [C]; 2],
    update: U,
}

macro_rules! stretch {
    ($t:ty) => {
        impl<U: Update> Work for Stretch<'_, $t, U> {
            type Output = ();

            #[inline(always)]
            fn run<I: Isa>(self) {
                self.update.update(self.grad, self.parameter, self.states, Lane::<$t, I>::new, |lane| lane.0);
            }
        }
    };
}

stretch!(f32);
stretch!(f64);

impl Update for Sgd {
    #[inline(always)]
    fn update<R: Real, C: Copy>(
        self,
        grad: &[C],
        parameter: &mut [C],
        [buffer, _]: [&mut [C]; 2],
        load: impl Fn(C) -> R,
        store: impl Fn(R) -> C,
    ) {
        let decay = R::of(self.weight_decay);
        let sign = R::of(if self.maximize { -1.0 } else { 1.0 });
        let direction = |g: C, p: C| {
            let g = sign * load(g);
            if self.weight_decay == 0.0 { g } else { load(p).fma(decay, g) }
        };
        let rate = R::of(-self.lr);
        if self.momentum == 0.0 {
            for (p, &g) in parameter.iter_mut().zip(grad) {
                *p = store(direction(g, *p).fma(rate, load(*p)));
            }
            return;
        }
        let (momentum, fresh) = (R::of(self.momentum), R::of(1.0 - self.dampening));
        for ((p, b), &g) in parameter.iter_mut().zip(buffer).zip(grad) {
            let g = direction(g, *p);
            let moved = if self.first { g } else { g.fma(fresh, load(*b) * momentum) };
            *b = store(moved);
            let g = if self.nesterov { moved.fma(momentum, g) } else { moved };
            *p = store(g.fma(rate, load(*p)));
        }
    }
}

impl Update for Adam {
    #[inline(always)]
    fn update<R: Real, C: Copy>(
        self,
        grad: &[C],
        parameter: &mut [C],
        [mean, square]: [&mut [C]; 2],
        load: impl Fn(C) -> R,
        store: impl Fn(R) -> C,
    ) {
        let exponent = self.step.min(i32::MAX as u64) as i32;
        let correction = |beta: f64| 1.0 - beta.powi(exponent);
        let size = R::of(-self.lr / correction(self.beta1));
        let root = R::of(correction(self.beta2).sqrt());
        let keep = R::of(if self.decoupled { 1.0 - self.lr * self.weight_decay } else { 1.0 });
        let decay = R::of(self.weight_decay);
        let sign = R::of(if self.maximize { -1.0 } else { 1.0 });
        let (beta2, fresh) = (R::of(self.beta2), R::of(1.0 - self.beta2));
        let (weight, eps) = (R::of(1.0 - self.beta1), R::of(self.eps));
        let near = 1.0 - self.beta1 < 0.5;
        let plain = self.decoupled || self.weight_decay == 0.0;
        for (((p, m), v), &g) in parameter.iter_mut().zip(mean).zip(square).zip(grad) {
            let old = load(*p) * keep;
            // Without decay the term is left out: an infinite parameter times 0 would make the gradient NaN.
            let g = if plain { sign * load(g) } else { old.fma(decay, sign * load(g)) };
            let start = load(*m);
            let away = g - start;
            let moved = if near { weight.fma(away, start) } else { (weight - R::one()).fma(away, g) };
            let spread = load(*v) * beta2 + fresh * g * g;
            let scale = spread.sqrt() / root + eps;
            *m = store(moved);
            *v = store(spread);
            *p = store(old + size * moved / scale);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{DType, Layout};
    use crate::device::cpu::testing::{Sample, assert_close, launch};
    use crate::device::kernel::Kernel;

    const SGD: Sgd = Sgd {
        lr: 0.1,
        momentum: 0.9,
        dampening: 0.0,
        weight_decay: 0.0,
        nesterov: false,
        maximize: false,
        first: false,
    };

    fn sgd_kernel(o: Sgd) -> Kernel {
        let Sgd { lr, momentum, dampening, weight_decay, nesterov, maximize, first } = o;
        Kernel::Sgd { lr, momentum, dampening, weight_decay, nesterov, maximize, first }
    }

    fn adam_kernel(o: Adam) -> Kernel {
        let Adam { lr, beta1, beta2, eps, weight_decay, decoupled, maximize, step } = o;
        Kernel::Adam { lr, beta1, beta2, eps, weight_decay, decoupled, maximize, step }
    }

    fn wave(dtype: DType, n: usize, phase: f64) -> Sample {
        Sample::new(dtype, &[n], (0..n).map(|i| (i as f64 * 0.7 + phase).sin()))
    }

    #[test]
    fn sgd_follows_its_definition() {
        let n = 40_000;
        for (nesterov, weight_decay, dampening, maximize) in
            [(false, 0.0, 0.0, false), (true, 0.01, 0.0, false), (false, 0.01, 0.5, true)]
        {
            let (p, b) = (wave(DType::Float64, n, 0.0), Sample::zeros(DType::Float64, &[n]));
            let (mut want_p, mut want_b) = (p.values(), vec![0.0; n]);
            for step in 0..3 {
                let g = wave(DType::Float64, n, f64::from(step));
                let options = Sgd { nesterov, weight_decay, dampening, maximize, first: step == 0, ..SGD };
                launch(&sgd_kernel(options), &[g.arg()], &[p.view(), b.view()]).unwrap();
                for ((p, b), g) in want_p.iter_mut().zip(&mut want_b).zip(g.values()) {
                    let g = if maximize { -g } else { g } + weight_decay * *p;
                    *b = if step == 0 { g } else { 0.9 * *b + (1.0 - dampening) * g };
                    *p -= 0.1 * if nesterov { g + 0.9 * *b } else { *b };
                }
            }
            assert_close(&p.values(), &want_p, 1e-12, 1e-12);
            assert_close(&b.values(), &want_b, 1e-12, 1e-12);
        }
    }

    #[test]
    fn plain_descent_needs_no_buffer_and_steps_through_strides() {
        let layout = Layout::contiguous(&[3, 2]).unwrap().transpose(0, 1).unwrap();
        for dtype in [DType::Float32, DType::Float16, DType::BFloat16] {
            let p = Sample::laid_out(dtype, layout.clone(), (1..7).map(f64::from));
            let g = Sample::new(dtype, &[2, 3], [2.0; 6]);
            launch(&sgd_kernel(Sgd { momentum: 0.0, lr: 0.5, ..SGD }), &[g.arg()], &[p.view()]).unwrap();
            assert_eq!(p.values(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        }
    }

    #[test]
    fn adam_follows_its_definition() {
        let n = 40_000;
        for (decoupled, weight_decay, maximize, beta1) in
            [(false, 0.0, false, 0.9), (false, 0.1, true, 0.9), (true, 0.1, false, 0.3)]
        {
            let p = wave(DType::Float64, n, 0.0);
            let (m, v) = (Sample::zeros(DType::Float64, &[n]), Sample::zeros(DType::Float64, &[n]));
            let (mut wp, mut wm, mut wv) = (p.values(), vec![0.0; n], vec![0.0; n]);
            for step in 1..4u64 {
                let g = wave(DType::Float64, n, step as f64);
                let options =
                    Adam { lr: 0.01, beta1, beta2: 0.99, eps: 1e-8, weight_decay, decoupled, maximize, step };
                launch(&adam_kernel(options), &[g.arg()], &[p.view(), m.view(), v.view()]).unwrap();
                for (((p, m), v), g) in wp.iter_mut().zip(&mut wm).zip(&mut wv).zip(g.values()) {
                    let mut g = if maximize { -g } else { g };
                    if decoupled {
                        *p *= 1.0 - 0.01 * weight_decay;
                    } else {
                        g += weight_decay * *p;
                    }
                    *m = beta1 * *m + (1.0 - beta1) * g;
                    *v = 0.99 * *v + 0.01 * g * g;
                    let unbiased = |x: f64, beta: f64| x / (1.0 - beta.powi(step as i32));
                    *p -= 0.01 * unbiased(*m, beta1) / (unbiased(*v, 0.99).sqrt() + 1e-8);
                }
            }
            assert_close(&p.values(), &wp, 1e-9, 1e-12);
            assert_close(&m.values(), &wm, 1e-9, 1e-12);
            assert_close(&v.values(), &wv, 1e-9, 1e-12);
        }
    }

    #[test]
    fn integers_do_not_descend() {
        let p = Sample::zeros(DType::Int64, &[2]);
        let error = launch(&sgd_kernel(Sgd { momentum: 0.0, ..SGD }), &[p.arg()], &[p.view()]).unwrap_err();
        assert!(error.message().contains("not implemented for 'Long'"), "{error}");
    }
}

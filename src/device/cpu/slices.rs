//! The scalar functions over slices, compiled per instruction set.

use std::marker::PhantomData;

use crate::device::scalar::{MapOp, ScalarFunction, Visitor};

use super::convert::Compute;
use super::isa::{self, Careful, Isa, Work};
use super::math::{LARGEST_ANGLE, LARGEST_QUOTIENT, Lane, Real};

/// Inputs of one length, those the function does not take empty; outputs of that length; `p` and `q`. Where the
/// function [takes numbers](takes_numbers), one of two inputs may be shorter, each of its elements for as many outputs; the
/// other has as many elements as there are outputs, or those of one number, which are used again.
pub(crate) struct Slices<'a, C> {
    pub inputs: [&'a [C]; 3],
    pub output: &'a mut [C],
    pub parameters: [C; 2],
}

pub(crate) type SliceFunction<C> = fn(Slices<C>);

/// A compute type with its version of every function.
pub(crate) trait Mapped: Compute {
    /// The function over slices, where it is defined for this type.
    fn function(op: MapOp) -> Option<SliceFunction<Self>>;
}

macro_rules! mapped {
    ($t:ty, $defined:ident, $work:ident) => {
        impl Mapped for $t {
            fn function(op: MapOp) -> Option<SliceFunction<$t>> {
                struct Find;
                impl Visitor for Find {
                    type Output = Option<SliceFunction<$t>>;
                    fn visit<F: ScalarFunction>(self) -> Self::Output {
                        let function: SliceFunction<$t> = |slices| {
                            isa::dispatch($work::<F, $t> { slices, function: PhantomData });
                        };
                        F::$defined.then_some(function)
                    }
                }
                op.visit(Find)
            }
        }
    };
}

mapped!(f32, FLOAT, Single);
mapped!(f64, FLOAT, Double);
mapped!(i64, WHOLE, Whole);

/// To read a block of one number would take as long as the function itself: it has loops in which the number stays in a
/// register.
pub(super) const fn takes_numbers(op: MapOp) -> bool {
    matches!(op, MapOp::Add | MapOp::Sub | MapOp::Mul | MapOp::Div)
}

/// Applies `function`, which is `op`, to the elements of as many inputs as there are.
#[inline(always)]
fn apply<C: Copy>(op: MapOp, arity: usize, slices: &mut Slices<C>, function: impl Fn(C, C, C, C, C) -> C) {
    let [a, b, c] = slices.inputs;
    let [p, q] = slices.parameters;
    if takes_numbers(op) && a.len() != b.len() {
        let number_first = a.len() < b.len();
        let (numbers, along) = if number_first { (a, b) } else { (b, a) };
        let each = slices.output.len() / numbers.len().max(1);
        let rows = slices.output.chunks_exact_mut(each.max(1)).zip(along.chunks_exact(each.max(1)).cycle());
        for (&number, (y, along)) in numbers.iter().zip(rows) {
            if number_first {
                y.iter_mut().zip(along).for_each(|(y, &b)| *y = function(number, b, b, p, q));
            } else {
                y.iter_mut().zip(along).for_each(|(y, &a)| *y = function(a, number, number, p, q));
            }
        }
        return;
    }
    let y = slices.output.iter_mut().zip(a);
    match arity {
        1 => y.for_each(|(y, &a)| *y = function(a, a, a, p, q)),
        2 => y.zip(b).for_each(|((y, &a), &b)| *y = function(a, b, b, p, q)),
        _ => y.zip(b).zip(c).for_each(|(((y, &a), &b), &c)| *y = function(a, b, c, p, q)),
    }
}

struct Whole<'a, F, C> {
    slices: Slices<'a, C>,
    function: PhantomData<F>,
}

impl<F: ScalarFunction> Work for Whole<'_, F, i64> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(mut self) {
        apply(F::OP, F::ARITY, &mut self.slices, F::whole);
    }
}

struct Double<'a, F, C> {
    slices: Slices<'a, C>,
    function: PhantomData<F>,
}

impl<F: ScalarFunction> Work for Double<'_, F, f64> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(mut self) {
        apply(F::OP, F::ARITY, &mut self.slices, real::<F, f64, I>);
    }
}

struct Single<'a, F, C> {
    slices: Slices<'a, C>,
    function: PhantomData<F>,
}

impl<F: ScalarFunction> Work for Single<'_, F, f32> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(mut self) {
        apply(F::OP, F::ARITY, &mut self.slices, real::<F, f32, I>);
        let [a, b, _] = self.slices.inputs;
        let [p, q] = self.slices.parameters;
        let any_rare = match F::ARITY {
            1 => a.iter().fold(false, |any, &a| any | is_rare(F::OP, a, a)),
            _ => a.iter().zip(b).fold(false, |any, (&a, &b)| any | is_rare(F::OP, a, b)),
        };
        if any_rare {
            let second = if F::ARITY == 1 { a } else { b };
            for ((y, &a), &b) in self.slices.output.iter_mut().zip(a).zip(second) {
                if is_rare(F::OP, a, b) {
                    *y = careful::<F>(a, b, p, q);
                }
            }
        }
    }
}

#[inline(always)]
fn real<F: ScalarFunction, C, I: Isa>(a: C, b: C, c: C, p: C, q: C) -> C
where
    Lane<C, I>: Real,
{
    F::float(Lane::<C, I>::new(a), Lane::new(b), Lane::new(c), Lane::new(p), Lane::new(q)).0
}

#[cold]
#[inline(never)]
fn careful<F: ScalarFunction>(a: f32, b: f32, p: f32, q: f32) -> f32 {
    real::<F, f32, Careful>(a, b, b, p, q)
}

/// Arguments that the vector code of a function leaves out.
#[inline(always)]
fn is_rare(op: MapOp, a: f32, b: f32) -> bool {
    let large = |x: f32| x.abs() > LARGEST_ANGLE;
    match op {
        MapOp::Sin | MapOp::Cos | MapOp::Tan => large(a),
        MapOp::SinGrad | MapOp::CosGrad => large(b),
        MapOp::Remainder | MapOp::Fmod | MapOp::FloorDiv => (a / b).abs() > LARGEST_QUOTIENT,
        _ => false,
    }
}

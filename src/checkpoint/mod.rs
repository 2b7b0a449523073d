//! Activation checkpointing: a part of the forward pass keeps no activations and runs again in the backward pass.

use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;

use crate::base::Result;
use crate::device::Machine;
use crate::tensor::checkpoint::Frame;
use crate::tensor::pass::Caller;
use crate::tensor::{Tensor, autocast};

/// What runs again.
#[derive(Clone)]
pub enum Function {
    Native(Arc<dyn Fn(&[Tensor]) -> Result<()> + Send + Sync>),
    /// A function of a higher layer, which its [`Caller`] knows how to call.
    Scripted(Arc<dyn Any + Send + Sync>),
}

/// Options of [`checkpoint`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Draw the same random numbers again, such as dropout masks.
    pub preserve_rng_state: bool,
    /// End the recomputation with the last tensor that the backward pass asks for.
    pub early_stop: bool,
}

thread_local! {
    /// What [`set_early_stop`] asks for, instead of the options of calls.
    static EARLY_STOP: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Has calls stop early, or not, whatever their options say, until the guard is dropped.
pub(crate) fn set_early_stop(on: bool) -> EarlyStop {
    EarlyStop(EARLY_STOP.replace(Some(on)))
}

/// Restores what was asked for before.
pub(crate) struct EarlyStop(Option<bool>);

impl Drop for EarlyStop {
    fn drop(&mut self) {
        EARLY_STOP.set(self.0);
    }
}

impl Default for Options {
    fn default() -> Options {
        Options { preserve_rng_state: true, early_stop: true }
    }
}

/// Runs `forward` and keeps nothing of what its gradient rules save but `inputs`; the backward pass calls
/// `function` with them to have it again, under the same autocast state and, unless asked otherwise, with the
/// same random numbers.
///
/// As `torch.utils.checkpoint.checkpoint` with `use_reentrant=False`: `function` must do the same each time.
pub fn checkpoint<T>(
    inputs: &[Tensor],
    function: Function,
    options: Options,
    forward: impl FnOnce() -> T,
) -> T {
    let machine = Machine::current();
    let random = options.preserve_rng_state.then(|| machine.random_state());
    let precision = autocast::settings();
    let again = move |inputs: &[Tensor], caller: &dyn Caller| {
        let _precision = autocast::enter(precision);
        let Some(state) = &random else { return function.call(inputs, caller) };
        let machine = Machine::current();
        let now = machine.random_state();
        machine.set_random_state(state);
        let result = function.call(inputs, caller);
        machine.set_random_state(&now);
        result
    };
    let frame = Frame::new(inputs, EARLY_STOP.get().unwrap_or(options.early_stop), Box::new(again));
    let _packed = frame.enter();
    forward()
}

/// [`checkpoint`] of a function without a script.
pub fn checkpoint_native(
    function: impl Fn(&[Tensor]) -> Result<Tensor> + Send + Sync + 'static,
    inputs: &[Tensor],
    options: Options,
) -> Result<Tensor> {
    let function = Arc::new(function);
    let again = Arc::clone(&function);
    let native = Function::Native(Arc::new(move |inputs| again(inputs).map(|_| ())));
    checkpoint(inputs, native, options, || function(inputs))
}

/// The bounds of the parts of `count` functions in `segments` of equal size; the last takes the rest.
pub fn segments(count: usize, segments: usize) -> Vec<std::ops::Range<usize>> {
    let size = count / segments.max(1);
    let last = size * segments.saturating_sub(1);
    let before = (0..segments.saturating_sub(1)).map(|i| i * size..(i + 1) * size).filter(|r| !r.is_empty());
    before.chain(std::iter::once(last..count)).collect()
}

impl Function {
    fn call(&self, inputs: &[Tensor], caller: &dyn Caller) -> Result<()> {
        match self {
            Function::Native(f) => f(inputs),
            Function::Scripted(f) => caller.call(f.as_ref(), inputs),
        }
    }
}

//! Activation checkpointing: a part of the forward pass keeps no activations and runs again in the backward pass.

use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;

use crate::base::{Error, Result};
use crate::device::Machine;
use crate::op::params::{kind, param_list};
use crate::op::{Family, Form, Gradient, OpDef, Param};
use crate::tensor::Tensor;
use crate::tensor::autocast;
use crate::tensor::checkpoint::{Caller, Frame};

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
pub fn set_early_stop(on: bool) -> EarlyStop {
    EarlyStop(EARLY_STOP.replace(Some(on)))
}

/// Restores what was asked for before.
pub struct EarlyStop(Option<bool>);

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

/// What both take behind the function.
const RECOMPUTED: &[Param] = param_list! {
    input: kind::Any, "what goes in: a tensor, or several one after the other";
    preserve_rng_state: kind::Bool = true, "whether random numbers are drawn again as they were";
    use_reentrant: kind::Bool = false, "PyTorch's older way, which is not to be had here";
};

/// What a script calls; its binding runs the functions.
pub static ROWS: &[OpDef] = &[
    OpDef::call(
        "checkpoint",
        Family::Checkpoint,
        "Runs a function without keeping its activations; the backward pass runs it again to have them.",
        param_list! {
            function: kind::Any, "a closure or a module, which does the same each time";
            ..RECOMPUTED;
            early_stop: kind::Bool = true, "whether the second run ends once nothing more is asked for";
        },
        |_| Err(Error::type_error("checkpoint() runs a closure or a module, which only a script can call")),
    )
    .forms(&[Form::Function])
    .gradient(Gradient::Composite)
    .details(
        "Takes less memory and more time. The function is a closure or a module and may take several inputs; it must do \
         the same each time. Random numbers are drawn again as they were, unless `preserve_rng_state` is off. The second \
         run ends with the last tensor that the backward pass asks for, unless `early_stop` is off; \
         `with set_checkpoint_early_stop(false) { … }` turns that off for all calls inside.",
    )
    .example(
        "let x = tensor([2.0], #{requires_grad: true}); checkpoint(|x| x * x, x).backward(); x.grad",
        "tensor([4.])",
    ),
    OpDef::call(
        "checkpoint_sequential",
        Family::Checkpoint,
        "Runs modules one after the other in `segments` parts, all but the last checkpointed.",
        param_list! {
            functions: kind::Any, "an nn::Sequential, or modules and closures in an array";
            segments: kind::Int, "how many parts the modules are divided in";
            ..RECOMPUTED;
        },
        |_| Err(Error::type_error("checkpoint_sequential() runs modules, which only a script can call")),
    )
    .forms(&[Form::Function])
    .gradient(Gradient::Composite)
    .details("`functions` is an nn::Sequential, or an array of modules and closures.")
    .example(
        "let net = nn::Sequential(nn::ReLU(), nn::ReLU()); checkpoint_sequential(net, 2, tensor([-1.0, 2.0]))",
        "tensor([0., 2.])",
    ),
];

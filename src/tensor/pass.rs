//! A backward pass, and who runs the functions of a script for it.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::SmallVec;

use crate::base::{Error, Result};

use super::Tensor;

/// Gradients of a node's inputs, in order; `None` where there is none.
pub(crate) type Grads = SmallVec<[Option<Tensor>; 3]>;

/// What runs functions of a higher layer, such as closures of a script, while a backward pass goes on.
pub trait Caller {
    fn call(&self, function: &dyn Any, inputs: &[Tensor]) -> Result<()>;

    /// Calls a hook with a gradient: its name and the gradient it gave, if it gave one.
    fn hook(&self, function: &dyn Any, grad: &Tensor) -> Result<Option<(String, Tensor)>>;

    /// The gradients of a function's inputs from that of its output, and from what it had kept.
    fn gradient(&self, function: &dyn Any, kept: &[Option<Tensor>], grad: &Tensor) -> Result<Grads>;
}

/// A [`Caller`] where no script is running.
pub(crate) struct NoCaller;

impl Caller for NoCaller {
    fn call(&self, _: &dyn Any, _: &[Tensor]) -> Result<()> {
        Err(Error::runtime("a checkpointed function of a script cannot run again where no script is running"))
    }

    fn hook(&self, _: &dyn Any, _: &Tensor) -> Result<Option<(String, Tensor)>> {
        Err(Error::runtime("a hook of a script cannot run where no script is running"))
    }

    fn gradient(&self, _: &dyn Any, _: &[Option<Tensor>], _: &Tensor) -> Result<Grads> {
        Err(Error::runtime("a gradient of a script's own cannot be computed where no script is running"))
    }
}

/// A backward pass: its number, and who runs functions for it.
#[derive(Clone, Copy)]
pub struct PassContext<'a> {
    pub number: u64,
    pub caller: &'a dyn Caller,
}

impl<'a> PassContext<'a> {
    /// A pass with a number of its own.
    pub fn new(caller: &'a dyn Caller) -> PassContext<'a> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        PassContext { number: NUMBER.fetch_add(1, Ordering::Relaxed), caller }
    }
}

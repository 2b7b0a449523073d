//! A backward pass, and who runs the functions of a script for it.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::base::{Error, Result};

use super::Tensor;

/// What runs functions of a higher layer, such as closures of a script, while a backward pass goes on.
pub trait Caller {
    fn call(&self, function: &dyn Any, inputs: &[Tensor]) -> Result<()>;

    /// Calls a hook with a gradient: its name and the gradient it gave, if it gave one.
    fn hook(&self, function: &dyn Any, grad: &Tensor) -> Result<Option<(String, Tensor)>>;
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

//! Functions whose gradient a script computes, as subclasses of `torch.autograd.Function` have it.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::base::{Error, Result};

use super::Tensor;
use super::autograd::{Grads, Node, Rule, Saved, needs_graph};
use super::pass::{Caller, NoCaller};

/// A result's gradient that the caller of a backward pass computes, with [`Caller::gradient`].
pub(crate) struct OwnGradient {
    name: &'static str,
}

/// What a function keeps for its gradient.
#[derive(Clone, Copy, Default)]
pub(crate) struct OwnSaved<'a> {
    /// Tensors that the caller is given back; the output itself may be one.
    pub kept: &'a [Option<Tensor>],
    /// The output, where it lies on an input: neither may be changed in place afterwards.
    pub shared: Option<&'a Tensor>,
}

/// What the caller is given back of a function: the function, and how many of the saved tensors.
struct Handed(Arc<dyn Any + Send + Sync>, usize);

/// Names that have rules of their own.
const NAMES: usize = 1 << 12;

impl OwnGradient {
    /// The rule of that name, such as `SquareBackward`: rules live as long as the program, so there is one for each name.
    pub(crate) fn named(name: &str) -> &'static OwnGradient {
        static RULES: Mutex<Option<HashMap<String, &'static OwnGradient>>> = Mutex::new(None);
        let mut rules = RULES.lock().unwrap_or_else(PoisonError::into_inner);
        let rules = rules.get_or_insert_default();
        let name = if rules.len() < NAMES { name } else { "FunctionBackward" };
        if let Some(rule) = rules.get(name) {
            return rule;
        }
        let rule = Box::leak(Box::new(OwnGradient { name: name.to_owned().leak() }));
        rules.insert(name.to_owned(), rule);
        rule
    }

    /// Has `output` come from `inputs`: its gradient is what `function` gives, to which what is kept is handed in a backward pass.
    pub(crate) fn join(
        &'static self,
        inputs: &[&Tensor],
        output: &Tensor,
        saved: OwnSaved,
        function: Arc<dyn Any + Send + Sync>,
    ) {
        if !needs_graph(inputs) {
            return;
        }
        let node = Node::new(self, inputs, |saver| {
            for t in saved.kept {
                match t {
                    Some(t) if t.is(output) => saver.output(t),
                    Some(t) => saver.input(t),
                    None => saver.constant(None),
                }
            }
            if let Some(shared) = saved.shared {
                saver.output(shared);
            }
            saver.attribute(Handed(function, saved.kept.len()));
        });
        output.join(node);
    }

    fn check(&self, saved: &Saved, grads: &Grads) -> Result<()> {
        for (i, grad) in grads.iter().enumerate() {
            let Some(grad) = grad.as_ref().filter(|_| saved.needs(i)) else { continue };
            if let Some(device) = saved.device(i).filter(|device| *device != grad.device()) {
                return Err(Error::runtime(format!(
                    "Function {} returned an invalid gradient at index {i} - expected device {device} but got {}",
                    self.name,
                    grad.device()
                ))
                .with_hint("the gradient of an input lies where the input lies"));
            }
            let (got, wanted) = (grad.shape(), saved.shape(i));
            let aligned =
                got.iter().rev().zip(wanted.iter().rev()).all(|(got, want)| got == want || *want == 1);
            if !aligned || got.len() < wanted.len() {
                return Err(Error::runtime(format!(
                    "Function {} returned an invalid gradient at index {i} - got {got:?} but expected shape compatible \
                     with {wanted:?}",
                    self.name
                ))
                .with_hint("the gradient of an input has that input's shape"));
            }
        }
        Ok(())
    }
}

impl Rule for OwnGradient {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, saved: &Saved, grad: &Tensor) -> Result<Grads> {
        self.backward_by(saved, grad, &NoCaller)
    }

    fn backward_by(&self, saved: &Saved, grad: &Tensor, caller: &dyn Caller) -> Result<Grads> {
        let function = saved.attribute::<Handed>()?;
        let kept = saved.kept()?;
        let grads = caller.gradient(&*function.0, kept.get(..function.1).unwrap_or(&kept), grad)?;
        self.check(saved, &grads)?;
        Ok(grads)
    }
}

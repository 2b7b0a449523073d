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

/// What the caller is given back of a function.
struct Handed(Arc<dyn Any + Send + Sync>);

impl OwnGradient {
    /// The rule of that name, such as `SquareBackward`: rules live as long as the program, so there is one for each name.
    pub(crate) fn named(name: &str) -> &'static OwnGradient {
        static RULES: Mutex<Option<HashMap<String, &'static OwnGradient>>> = Mutex::new(None);
        let mut rules = RULES.lock().unwrap_or_else(PoisonError::into_inner);
        let rules = rules.get_or_insert_default();
        if let Some(rule) = rules.get(name) {
            return rule;
        }
        let rule = Box::leak(Box::new(OwnGradient { name: name.to_owned().leak() }));
        rules.insert(name.to_owned(), rule);
        rule
    }

    /// Has `output` come from `inputs`: its gradient is what `function` gives, to which `kept` is handed in a backward pass.
    /// A tensor among `kept` that is the output itself may be so.
    pub(crate) fn join(
        &'static self,
        inputs: &[&Tensor],
        output: &Tensor,
        kept: &[Option<Tensor>],
        function: Arc<dyn Any + Send + Sync>,
    ) {
        if !needs_graph(inputs) {
            return;
        }
        let node = Node::new(self, inputs, |saver| {
            for t in kept {
                match t {
                    Some(t) if t.is(output) => saver.output(t),
                    Some(t) => saver.input(t),
                    None => saver.constant(None),
                }
            }
            saver.attribute(Handed(function));
        });
        output.join(node);
    }

    fn check(&self, saved: &Saved, grads: &Grads) -> Result<()> {
        for (i, grad) in grads.iter().enumerate() {
            let Some(grad) = grad.as_ref().filter(|_| saved.needs(i)) else { continue };
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
        let grads = caller.gradient(&*function.0, &saved.kept()?, grad)?;
        self.check(saved, &grads)?;
        Ok(grads)
    }
}

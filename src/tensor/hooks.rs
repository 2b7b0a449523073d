//! Functions that see a gradient on its way through the graph and may put another in its place, and tensors inside of
//! the graph that keep theirs.
//!
//! Hooks of a computed tensor belong to the operation that made it, so those of a value that was overwritten in place
//! see that value's gradient. The hooks of a tensor run in the order in which they were registered.

use std::any::Any;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use crate::base::chain::drop_linked;
use crate::base::{Device, Error, Result};
use crate::device::examine::examining;

use super::pass::Caller;
use super::{Tensor, TensorInner};

/// A hook as the layer that runs it knows it.
pub(crate) type Hook = Arc<dyn Any + Send + Sync>;

/// What is told that a leaf has its gradient.
pub(crate) type After = Arc<dyn Fn() -> Result<()> + Send + Sync>;

/// The hooks of one tensor or node.
pub struct Hooks {
    /// Run once the gradient is in `.grad`.
    after: Mutex<Vec<After>>,
    functions: Mutex<Vec<(u64, Hook)>>,
    /// Tensors that keep the gradient, as long as they live.
    retained: Mutex<Vec<Weak<TensorInner>>>,
}

/// What hooks are taken away from by their numbers.
pub(crate) trait Removes: Send + Sync {
    /// Takes a hook away; where there is none of the number, nothing.
    fn remove(&self, id: u64);
}

/// Takes a hook away again.
#[derive(Clone)]
pub struct Handle {
    hooks: Weak<dyn Removes>,
    id: u64,
}

/// A number that no other hook has.
pub(crate) fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// How many [`Hooks`] there are: a backward pass without any looks for none.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Whether there may be hooks in a graph.
pub(super) fn any() -> bool {
    LIVE.load(Ordering::Relaxed) > 0
}

impl Default for Hooks {
    fn default() -> Hooks {
        LIVE.fetch_add(1, Ordering::Relaxed);
        Hooks { after: Mutex::default(), functions: Mutex::default(), retained: Mutex::default() }
    }
}

impl Drop for Hooks {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::Relaxed);
        // What a hook captured may be a tensor with hooks of its own.
        drop_linked(std::mem::take(self.functions.get_mut().unwrap_or_else(|e| e.into_inner())));
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

impl Hooks {
    pub(super) fn add(self: &Arc<Hooks>, function: Hook) -> Handle {
        let id = next_id();
        locked(&self.functions).push((id, function));
        Handle::new(Arc::downgrade(self) as _, id)
    }

    /// The gradient after every hook.
    pub(super) fn run(&self, grad: Tensor, caller: &dyn Caller) -> Result<Tensor> {
        // The learner's have no say in a check.
        if examining() {
            return Ok(grad);
        }
        // A hook may take hooks away, itself among them.
        let functions: Vec<Hook> = locked(&self.functions).iter().map(|(_, f)| Arc::clone(f)).collect();
        functions.iter().try_fold(grad, |grad, function| {
            let Some((name, next)) = caller.hook(function.as_ref(), &grad)? else { return Ok(grad) };
            check(&name, &grad, &next)?;
            Ok(next)
        })
    }

    pub(super) fn add_after(&self, after: After) {
        locked(&self.after).push(after);
    }

    /// The gradient of a leaf is in its `.grad`.
    pub(super) fn accumulated(&self) -> Result<()> {
        let after: Vec<After> = locked(&self.after).clone();
        after.iter().try_for_each(|after| after())
    }

    pub(super) fn functions(&self) -> Vec<Hook> {
        locked(&self.functions).iter().map(|(_, function)| Arc::clone(function)).collect()
    }

    /// The tensors that keep the gradient.
    pub(super) fn retained(&self) -> Vec<Tensor> {
        locked(&self.retained).iter().filter_map(Weak::upgrade).map(Tensor).collect()
    }

    pub(super) fn keep_for(&self, t: &Tensor) {
        let weak = Arc::downgrade(&t.0);
        let mut all = locked(&self.retained);
        if !all.iter().any(|w| w.ptr_eq(&weak)) {
            all.push(weak);
        }
    }

    pub(super) fn forget(&self, t: &Tensor) {
        let weak = Arc::downgrade(&t.0);
        locked(&self.retained).retain(|w| !w.ptr_eq(&weak));
    }
}

/// Fails where a hook gave a gradient that cannot take the old one's place.
fn check(name: &str, before: &Tensor, next: &Tensor) -> Result<()> {
    let class = |t: &Tensor| match t.device() {
        Device::Cpu => format!("torch.{}Tensor", t.dtype().type_name()),
        Device::Cuda(_) => format!("torch.cuda.{}Tensor", t.dtype().type_name()),
    };
    if next.dtype() != before.dtype() || next.device().is_cuda() != before.device().is_cuda() {
        let (was, got) = (class(before), class(next));
        let text = format!("hook '{name}' has changed the type of value (was {was} got {got})");
        return Err(Error::runtime(text));
    }
    if next.shape() != before.shape() {
        return Err(Error::runtime(format!("hook '{name}' has changed the size of value")).with_hint(
            format!("the gradient has shape {:?}, and the hook gave {:?}", before.shape(), next.shape()),
        ));
    }
    Ok(())
}

impl Removes for Hooks {
    fn remove(&self, id: u64) {
        let mut all = locked(&self.functions);
        let at = all.iter().position(|(known, _)| *known == id);
        // Dropped without the lock: a hook may hold tensors with hooks of their own.
        let gone = at.map(|at| all.remove(at));
        drop(all);
        drop(gone);
    }
}

impl Handle {
    pub(crate) fn new(hooks: Weak<dyn Removes>, id: u64) -> Handle {
        Handle { hooks, id }
    }

    /// Takes the hook away; a second time does nothing.
    pub fn remove(&self) {
        if let Some(hooks) = self.hooks.upgrade() {
            hooks.remove(self.id);
        }
    }
}

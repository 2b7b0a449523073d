//! Operations that are one kernel on a GPU and made of others here: a simulated GPU shows the one, with what it keeps for
//! the backward pass, which computes the others again.

use std::sync::Arc;

use crate::base::{DType, Error, Result};
use crate::device::beside::{beside, is_beside, is_unseen};
use crate::device::class::KernelClass;
use crate::device::{Context, Kernel, MapOp};
use crate::tensor::autograd::{Grads, Meta, Saved, Vjp, grad_enabled, needs_graph, set_grad_mode};
use crate::tensor::backward::Pass;
use crate::tensor::launch::compute;
use crate::tensor::{In, Tensor, launch};

use super::record::{no_grad, one, recorded};

/// What an operation is made of; it must give the same for the same inputs.
pub(crate) type Composite = Box<dyn Fn(&[Tensor]) -> Result<Tensor> + Send + Sync>;

/// A kernel of a GPU, with that of its gradient.
pub(crate) struct Whole {
    name: &'static str,
    backward: &'static str,
    class: KernelClass,
    keeps: Keeps,
    rule: Vjp,
}

/// Which tensors the gradient's kernel reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeps {
    Nothing,
    Inputs,
    InputsAndOutput,
}

/// What the gradient finds: how it is computed again, and what the inputs looked like.
struct Again {
    of: &'static Whole,
    composite: Composite,
    inputs: Vec<Meta>,
}

impl Whole {
    /// An element-wise kernel that keeps its inputs.
    pub(crate) const fn new(name: &'static str, backward: &'static str, rule: &'static str) -> Whole {
        let rule = Vjp { name: rule, run: gradient };
        Whole { name, backward, class: KernelClass::Elementwise, keeps: Keeps::Inputs, rule }
    }

    pub(crate) const fn class(self, class: KernelClass) -> Whole {
        Whole { class, ..self }
    }

    pub(crate) const fn keeps(self, keeps: Keeps) -> Whole {
        Whole { keeps, ..self }
    }

    /// The result on inputs, the first of which says where. `statistics` are what the kernel writes for its gradient beside
    /// the result.
    pub(crate) fn run(
        &'static self,
        inputs: &[&Tensor],
        statistics: &[(&[usize], DType)],
        composite: Composite,
    ) -> Result<Tensor> {
        let all: Vec<Tensor> = inputs.iter().map(|t| (*t).clone()).collect();
        let Some(context) = modelled(&all) else { return composite(&all) };
        let _paused = crate::tensor::autocast::pause();
        let quiet = no_grad();
        let (made, flops) = beside(|| composite(&all));
        let made = made?;
        if !is_new(&made) {
            drop(quiet);
            return composite(&all);
        }
        let out = settled(&made, &context, self.name)?;
        drop(made);
        let kept = |&(shape, dtype): &(&[usize], DType)| Tensor::empty(shape, dtype, &context, self.name);
        let kept = statistics.iter().map(kept).collect::<Result<Vec<Tensor>>>()?;
        let outputs: Vec<&Tensor> = std::iter::once(&out).chain(&kept).collect();
        tell(self.name, self.class, flops, inputs, &outputs)?;
        drop(quiet);
        if !needs_graph(inputs) {
            return Ok(out);
        }
        Ok(out.record(&self.rule, inputs, |s, out| {
            if self.keeps != Keeps::Nothing {
                inputs.iter().for_each(|t| s.input(t));
            }
            if self.keeps == Keeps::InputsAndOutput {
                s.output(out);
            }
            kept.iter().for_each(|t| s.constant(Some(t)));
            s.attribute(Again { of: self, composite, inputs: all.iter().map(Meta::of).collect() });
        }))
    }
}

/// What is made of one tensor alone.
pub(crate) fn whole1(run: fn(&Tensor) -> Result<Tensor>) -> Composite {
    Box::new(move |all| run(first(all)?))
}

/// The first of the inputs.
pub(crate) fn first(all: &[Tensor]) -> Result<&Tensor> {
    all.first().ok_or_else(|| Error::type_error("an operation needs a tensor"))
}

/// Several results, none of which has a gradient, by one kernel.
pub(crate) fn plain(
    name: &'static str,
    class: KernelClass,
    inputs: &[&Tensor],
    run: &dyn Fn() -> Result<Vec<Tensor>>,
) -> Result<Vec<Tensor>> {
    let _quiet = no_grad();
    let all: Vec<Tensor> = inputs.iter().map(|t| (*t).clone()).collect();
    let Some(context) = modelled(&all) else { return run() };
    let (made, flops) = beside(run);
    let settle = |t: &Tensor| if is_new(t) { settled(t, &context, name) } else { Ok(t.clone()) };
    let made = made?.iter().map(settle).collect::<Result<Vec<Tensor>>>()?;
    tell(name, class, flops, inputs, &made.iter().collect::<Vec<_>>())?;
    Ok(made)
}

/// Whether such inputs lie on a simulated GPU that shows the one kernel.
pub(crate) fn is_modelled(inputs: &[&Tensor]) -> bool {
    let all: Vec<Tensor> = inputs.iter().map(|t| (*t).clone()).collect();
    modelled(&all).is_some()
}

/// The simulated GPU on which the inputs lie, unless a graph is captured there: that is replayed kernel by kernel.
fn modelled(inputs: &[Tensor]) -> Option<Arc<Context>> {
    let context = inputs.first()?.context();
    let there = inputs.iter().all(|t| t.device() == context.device);
    let simulated = context.device.is_cuda() && context.backend.properties().simulated;
    (there && simulated && !is_beside() && !context.is_capturing()).then_some(context)
}

/// Whether a tensor was made beside the clock.
fn is_new(t: &Tensor) -> bool {
    is_unseen(t.storage().place().buffer())
}

/// The tensor in memory of the device.
fn settled(made: &Tensor, context: &Arc<Context>, name: &'static str) -> Result<Tensor> {
    let out = Tensor::empty_in(made.layout().dense_like()?, made.dtype(), context, name)?;
    let copy = Kernel::Map { op: MapOp::Identity, params: [0.0; 2], compute: made.dtype() };
    compute(&copy, &[made], None, &out)?;
    Ok(out)
}

/// Puts the kernel on the clock.
pub(crate) fn tell(
    name: &'static str,
    class: KernelClass,
    flops: u64,
    inputs: &[&Tensor],
    outputs: &[&Tensor],
) -> Result<()> {
    let inputs: Vec<In> = inputs.iter().map(|t| In::Tensor(t)).collect();
    launch(name, &Kernel::Whole { name, class, flops, bytes: None }, &inputs, outputs)
}

fn gradient(s: &Saved, g: &Tensor) -> Result<Grads> {
    let again: &Again = s.attribute()?;
    let count = again.inputs.len();
    let kept: Vec<Tensor> = match again.of.keeps {
        Keeps::Nothing => Vec::new(),
        _ => (0..count).map(|i| s.tensor(i)).collect::<Result<_>>()?,
    };
    if grad_enabled() {
        return again.grads(s, &again.joined(&kept, g)?, g, true);
    }
    let (made, flops) = beside(|| {
        let _on = set_grad_mode(true);
        let fresh = again.fresh(s, &kept, g)?;
        again.grads(s, &fresh, g, false)
    });
    let context = g.context();
    let name = again.of.backward;
    let settle = |t: Option<Tensor>| match t {
        Some(t) if is_new(&t) => settled(&t, &context, name).map(Some),
        other => Ok(other),
    };
    let grads = made?.into_iter().map(settle).collect::<Result<Grads>>()?;
    let outputs: Vec<&Tensor> = grads.iter().flatten().collect();
    let inputs: Vec<&Tensor> = std::iter::once(g).chain(&kept).collect();
    tell(name, again.of.class, flops, &inputs, &outputs)?;
    Ok(grads)
}

impl Again {
    /// Leaves with the values of the inputs; what was not kept has none that count.
    fn fresh(&self, s: &Saved, kept: &[Tensor], g: &Tensor) -> Result<Vec<Tensor>> {
        let each = |(i, meta): (usize, &Meta)| {
            let leaf = match kept.get(i) {
                Some(t) => t.detach(),
                None => Tensor::full(&meta.shape, 0i64.into(), meta.dtype, &g.context(), self.of.backward)?,
            };
            leaf.set_requires_grad(s.needs(i))?;
            Ok(leaf)
        };
        self.inputs.iter().enumerate().map(each).collect()
    }

    /// The inputs as parts of the graph, each a node of its own: one may be given twice, or be made of another. What was not
    /// kept does not matter to the gradient.
    fn joined(&self, kept: &[Tensor], g: &Tensor) -> Result<Vec<Tensor>> {
        static ALIAS: Vjp = Vjp { name: "AliasBackward0", run: |_, g| one(g.clone()) };
        let each = |(i, meta): (usize, &Meta)| match kept.get(i) {
            Some(t) => Ok(recorded(t.detach(), &ALIAS, &[t], |_, _| ())),
            None => {
                let leaf =
                    Tensor::full(&meta.shape, 0i64.into(), meta.dtype, &g.context(), self.of.backward)?;
                leaf.set_requires_grad(meta.dtype.is_float())?;
                Ok(leaf)
            }
        };
        self.inputs.iter().enumerate().map(each).collect()
    }

    /// The gradients of the inputs that want one.
    fn grads(&self, s: &Saved, inputs: &[Tensor], g: &Tensor, create_graph: bool) -> Result<Grads> {
        let out = (self.composite)(inputs)?;
        let wanted: Vec<&Tensor> =
            inputs.iter().enumerate().filter(|(i, _)| s.needs(*i)).map(|(_, t)| t).collect();
        let pass = Pass { retain_graph: create_graph, create_graph };
        let mut found = Tensor::grads_of(&[&out], &wanted, &[Some(g)], pass)?.into_iter();
        Ok((0..inputs.len()).map(|i| if s.needs(i) { found.next().flatten() } else { None }).collect())
    }
}

//! Views and writing in place under autograd: how a change reaches the graph of what a view looks at.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use smallvec::SmallVec;

use crate::base::{Error, GradCause, Layout, Result};

use super::autograd::{Edge, Grads, Meta, Node, Saved, Vjp, grad_enabled};
use super::{TRACKED, Tensor, VIEW};

impl Tensor {
    /// Remembers that this tensor is a view, so that writing to it in place reaches its base's graph.
    pub(crate) fn view_of(self, source: &Tensor) -> Tensor {
        if !grad_enabled() {
            self.auto().untracked = Some(Arc::downgrade(&source.0));
            return self;
        }
        let root = source.auto().base.as_ref().map(|(b, _)| b.clone());
        let version = self.version();
        self.auto().base = Some((root.unwrap_or_else(|| source.clone()), version));
        self.0.flags.fetch_or(VIEW, Ordering::Relaxed);
        self
    }

    /// Checks that the tensor may be written in place under autograd.
    pub(crate) fn check_inplace(&self, recorded: bool) -> Result<()> {
        self.check_writable()?;
        if !grad_enabled() {
            return Ok(());
        }
        if self.requires_grad() && self.node().is_none() {
            return Err(GradCause::InplaceLeaf.into());
        }
        self.check_untracked(recorded)?;
        let base = self.auto().base.as_ref().map(|(b, _)| b.clone());
        match base {
            Some(base) if base.requires_grad() && base.is_leaf() => Err(Error::runtime(
                "a view of a leaf Variable that requires grad is being used in an in-place operation.",
            )),
            Some(base) if recorded && !base.is_contiguous() => Err(Error::runtime(
                "writing in place to a view of a tensor that is not contiguous is not recorded by autograd",
            )
            .with_hint("call `.contiguous()` or `.clone()` on the base first")),
            _ => Ok(()),
        }
    }

    /// After values were written in place: counts the version and records `node` as their maker.
    pub(crate) fn finish_inplace(&self, node: Option<Arc<Node>>) {
        self.bump_version();
        let Some(node) = node else { return };
        let base = self.auto().base.as_ref().map(|(b, _)| b.clone());
        match base {
            None => self.join(node),
            Some(base) => {
                let slice = copy_slices(&base, self.layout(), node);
                base.join(slice);
                let view = view_node(&base, self.layout());
                let version = self.version();
                let mut auto = self.auto();
                auto.base = Some((base, version));
                let before = auto.node.replace(Arc::clone(&view));
                drop(auto);
                self.set_tracked(true);
                self.retain_in(before.as_ref(), &view);
            }
        }
    }

    /// A view made under `no_grad` must not carry a change into a graph.
    fn check_untracked(&self, recorded: bool) -> Result<()> {
        let base = self.auto().untracked.as_ref().and_then(Weak::upgrade).map(Tensor);
        match base {
            Some(base) if recorded || base.requires_grad() => Err(Error::runtime(
                "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that \
                 this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving \
                 both the view and the inplace either both inside the no_grad block (if you don't want the inplace \
                 to be tracked) or both outside (if you want the inplace to be tracked).",
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn base_tracked(&self) -> bool {
        let base = self.auto().base.as_ref().map(|(b, _)| b.clone());
        base.is_some_and(|b| b.flag(TRACKED)) && self.node().is_some()
    }
}

/// The layout of a view inside its contiguous base.
fn within(base: &Tensor, view: &Layout) -> Layout {
    let offset = view.offset().saturating_sub(base.layout().offset());
    Layout::new(view.shape().into(), view.strides().into(), offset).unwrap_or_else(|_| view.clone())
}

pub(super) fn view_node(base: &Tensor, view: &Layout) -> Arc<Node> {
    static RULE: Vjp = Vjp { name: "AsStridedBackward0", run: as_strided_backward };
    let inner = within(base, view);
    Node::new(&RULE, &[base], |s| s.attribute(inner))
}

fn as_strided_backward(saved: &Saved, grad: &Tensor) -> Result<Grads> {
    let layout: &Layout = saved.attribute()?;
    let whole = Tensor::full(saved.shape(0), 0i64.into(), grad.dtype(), &grad.context(), "as_strided")?;
    whole.with_layout(layout.clone()).assign(grad, "as_strided")?;
    Ok([Some(whole)].into_iter().collect())
}

fn copy_slices(base: &Tensor, view: &Layout, inner: Arc<Node>) -> Arc<Node> {
    static RULE: Vjp = Vjp { name: "CopySlices", run: copy_slices_backward };
    let layout = within(base, view);
    let others = inner.inputs.iter().skip(1).cloned().collect::<SmallVec<[(Edge, Meta); 3]>>();
    let node = Node::new(&RULE, &[base], |s| {
        s.attribute(layout);
        s.inner(&inner);
    });
    match Arc::try_unwrap(node) {
        Ok(mut node) => {
            node.inputs.extend(others);
            Arc::new(node)
        }
        Err(node) => node,
    }
}

fn copy_slices_backward(saved: &Saved, grad: &Tensor) -> Result<Grads> {
    let (layout, (inner, kept)): (&Layout, _) = (saved.attribute()?, saved.inner()?);
    let whole = grad.copied(grad.dtype(), "copy_slices")?;
    let slice = whole.with_layout(layout.clone());
    let part = slice.copied(grad.dtype(), "copy_slices")?;
    let mut grads = inner.rule.backward(kept, &part)?;
    match grads.first_mut().and_then(Option::take) {
        Some(first) => slice.assign(&first, "copy_slices")?,
        None => slice.fill(0i64.into(), "copy_slices")?,
    }
    if let Some(slot) = grads.first_mut() {
        *slot = Some(whole);
    } else {
        grads.push(Some(whole));
    }
    Ok(grads)
}

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
            // What it is a view of in the end: what lies between may be gone before it.
            let root = source.auto().untracked.clone().filter(|root| root.strong_count() > 0);
            self.auto().untracked = Some(root.unwrap_or_else(|| Arc::downgrade(&source.0)));
            return self;
        }
        // A leaf that wants a gradient may be a view of what wants none.
        let is_leaf = source.flag(TRACKED) && source.is_leaf();
        let root = source.auto().base.as_ref().filter(|_| !is_leaf).map(|(b, _)| b.clone());
        let version = self.version();
        self.auto().base = Some((root.unwrap_or_else(|| source.clone()), version));
        self.0.flags.fetch_or(VIEW, Ordering::Relaxed);
        self
    }

    /// Checks that the tensor may be written in place under autograd.
    pub(crate) fn check_inplace(&self, recorded: bool) -> Result<()> {
        self.check_writable()?;
        self.check_graph(recorded)
    }

    /// The same of a change that is not recorded, wherever it lies.
    pub(crate) fn check_untouched(&self) -> Result<()> {
        self.storage().check_own()?;
        self.check_graph(false)
    }

    fn check_graph(&self, recorded: bool) -> Result<()> {
        if !grad_enabled() {
            return Ok(());
        }
        if self.requires_grad() && self.node().is_none() {
            return Err(GradCause::InplaceLeaf.into());
        }
        self.check_untracked(recorded)?;
        self.check_part_of_leaf()
    }

    /// Checks that this tensor, which is written to, lies on none of the memory of one that is read, or element on
    /// element.
    ///
    /// Follows `assert_no_partial_overlap` of PyTorch's `ATen/MemoryOverlap.cpp`: what is not dense is not looked at.
    #[inline]
    pub(crate) fn check_partial_overlap(&self, read: &Tensor) -> Result<()> {
        if !self.shares_storage(read) {
            return Ok(());
        }
        let whole = self.layout().offset() == read.layout().offset()
            && self.shape() == read.shape()
            && self.layout().strides() == read.layout().strides();
        if whole && self.dtype() == read.dtype() { Ok(()) } else { self.check_overlap(read) }
    }

    /// Checks that this tensor, which is written to, lies on none of the memory of one that is read.
    ///
    /// Follows `assert_no_overlap` of PyTorch's `ATen/MemoryOverlap.cpp`: what is not dense is not looked at.
    pub(crate) fn check_overlap(&self, read: &Tensor) -> Result<()> {
        if !self.shares_storage(read) || self.numel() == 0 || read.numel() == 0 {
            return Ok(());
        }
        let piece = |t: &Tensor| {
            let first = t.layout().offset() * t.dtype().size();
            first..first + t.numel() * t.dtype().size()
        };
        let (to, from) = (piece(self), piece(read));
        let meet = to.start < from.end && from.start < to.end;
        let known = self.is(read) || self.layout().is_dense() && read.layout().is_dense();
        if meet && known { Err(GradCause::InplaceOverlap.into()) } else { Ok(()) }
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

    /// Takes over the layout of `view`, a view of this tensor, with its place in the graph.
    ///
    /// # Errors
    /// The tensor is a leaf that wants a gradient or has one, or a part of such a leaf, nothing is recorded though it
    /// takes part in a graph, or a check runs that has not made it.
    pub(crate) fn become_view(&self, view: &Tensor) -> Result<Tensor> {
        self.storage().check_own()?;
        let recorded = grad_enabled() && view.requires_grad();
        if recorded && self.is_leaf() {
            return Err(GradCause::InplaceLeaf.into());
        }
        if self.grad().is_some() || (self.requires_grad() && !recorded) {
            let text = "the shape of a tensor that requires grad, or has a gradient, is not changed in place";
            return Err(Error::runtime(text).with_hint(
                "PyTorch lets it pass under no_grad, and later passes fail: take a view, `x.detach().t()`",
            ));
        }
        if grad_enabled() {
            self.check_untracked(recorded)?;
            self.check_part_of_leaf()?;
        }
        // That of the view stands before its base has another version.
        let node = view.node().filter(|_| recorded);
        self.0.layout.set(view.layout().clone());
        self.bump_version();
        let version = self.version();
        if let Some((_, seen)) = &mut self.auto().base {
            *seen = version;
        }
        if let Some(node) = node {
            self.join(node);
        }
        Ok(self.clone())
    }

    fn check_part_of_leaf(&self) -> Result<()> {
        let base = self.auto().base.as_ref().map(|(b, _)| b.clone());
        match base {
            Some(base) if base.requires_grad() && base.is_leaf() => Err(Error::runtime(
                "a view of a leaf Variable that requires grad is being used in an in-place operation.",
            )),
            _ => Ok(()),
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

/// How a base lies in memory of its own, and a view of it there.
struct Within {
    base: Layout,
    view: Layout,
}

impl Within {
    fn of(base: &Layout, view: &Layout) -> Within {
        let first = base.offset().min(view.offset());
        let moved = |layout: &Layout| {
            Layout::new(layout.shape().into(), layout.strides().into(), layout.offset() - first)
                .unwrap_or_else(|_| layout.clone())
        };
        Within { base: moved(base), view: moved(view) }
    }

    /// Memory for a gradient of the base, seen as the base and as the view; zeros where `blank`, or where the base has
    /// gaps.
    fn room(&self, grad: &Tensor, blank: bool, op: &'static str) -> Result<(Tensor, Tensor)> {
        let room = self.base.end().max(self.view.end());
        let flat = if blank || room > self.base.numel() {
            Tensor::full(&[room], 0i64.into(), grad.dtype(), &grad.context(), op)?
        } else {
            Tensor::empty(&[room], grad.dtype(), &grad.context(), op)?
        };
        Ok((flat.with_layout(self.base.clone()), flat.with_layout(self.view.clone())))
    }
}

pub(super) fn view_node(base: &Tensor, view: &Layout) -> Arc<Node> {
    static RULE: Vjp = Vjp { name: "AsStridedBackward0", run: as_strided_backward };
    let within = Within::of(base.layout(), view);
    Node::new(&RULE, &[base], |s| s.attribute(within))
}

fn as_strided_backward(saved: &Saved, grad: &Tensor) -> Result<Grads> {
    let within: &Within = saved.attribute()?;
    let (whole, part) = within.room(grad, true, "as_strided")?;
    part.assign(grad, "as_strided")?;
    Ok([Some(whole)].into_iter().collect())
}

fn copy_slices(base: &Tensor, view: &Layout, inner: Arc<Node>) -> Arc<Node> {
    static RULE: Vjp = Vjp { name: "CopySlices", run: copy_slices_backward };
    let within = Within::of(base.layout(), view);
    let others = inner.inputs.iter().skip(1).cloned().collect::<SmallVec<[(Edge, Meta); 3]>>();
    let node = Node::new(&RULE, &[base], |s| {
        s.attribute(within);
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
    let (within, (inner, kept)): (&Within, _) = (saved.attribute()?, saved.inner()?);
    let (whole, slice) = within.room(grad, false, "copy_slices")?;
    whole.assign(grad, "copy_slices")?;
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

//! Tensors: strided views of storage, creation, transfer, printing, autograd.

pub mod accumulate;
pub mod autocast;
pub mod autograd;
pub mod backward;
mod backward_streams;
pub mod checkpoint;
pub mod create;
pub mod display;
pub(crate) mod flat;
mod hook_plan;
pub mod hooks;
mod inplace;
pub mod launch;
mod layouts;
pub(crate) mod own_gradient;
pub mod pass;
mod stopped;
mod tracked;
pub mod transfer;
pub(crate) mod trial;

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use crate::base::chain::Link;
use crate::base::error::Operand;
use crate::base::{DType, Device, Error, GradCause, Layout, Result};
use crate::device::{Context, Purpose, Storage};

pub use autograd::{Edge, Node, Rule};
pub use launch::{In, launch};
pub(crate) use stopped::is_stopped;

/// A tensor: a strided view of storage on a device, and its place in the autograd graph.
///
/// Cloning is cheap and gives the same tensor (`is`); memory is freed with the last clone and view.
#[derive(Clone)]
pub struct Tensor(Arc<TensorInner>);

struct TensorInner {
    storage: Arc<Storage>,
    layout: layouts::Layouts,
    /// Counts writes in place of the storage's own counter: of `.data` and its views.
    versions: Option<Arc<AtomicU32>>,
    /// [`TRACKED`], [`VIEW`], [`RETAINS`] and [`PARAMETER`]: kept beside `auto` so that the common case takes no lock.
    flags: AtomicU8,
    auto: Mutex<Auto>,
}

/// Requires grad, as a leaf or through a node.
const TRACKED: u8 = 1;
/// Is a differentiable view of another tensor.
const VIEW: u8 = 2;
/// Is no leaf, and keeps its gradient all the same.
const RETAINS: u8 = 4;
/// Was made as a parameter, or is one of a module: that it is frozen does not change it.
const PARAMETER: u8 = 8;

/// The autograd state of a tensor.
#[derive(Default)]
struct Auto {
    grad: Option<Link<Tensor>>,
    node: Option<Arc<Node>>,
    /// The tensor this one is a differentiable view of, and the version its node was made at.
    base: Option<(Tensor, u32)>,
    /// The same for a view made under `no_grad`: it is not tracked, and does not keep its base alive.
    untracked: Option<Weak<TensorInner>>,
    /// Those of a leaf; a node has its own.
    hooks: Option<Arc<hooks::Hooks>>,
}

impl Tensor {
    /// A tensor over storage; the caller keeps the layout inside it.
    pub(crate) fn from_storage(storage: Arc<Storage>, layout: Layout) -> Tensor {
        Tensor::counted(storage, layout, None)
    }

    fn counted(storage: Arc<Storage>, layout: Layout, versions: Option<Arc<AtomicU32>>) -> Tensor {
        debug_assert!(layout.end() <= storage.numel());
        let (flags, auto) = (AtomicU8::new(0), Mutex::default());
        let layout = layouts::Layouts::of(layout);
        Tensor(Arc::new(TensorInner { storage, layout, versions, flags, auto }))
    }

    /// Uninitialised memory, row-major.
    pub fn empty(shape: &[usize], dtype: DType, context: &Arc<Context>, op: &'static str) -> Result<Tensor> {
        let layout = Layout::contiguous(shape)?;
        let purpose = Purpose { op, dtype, shape };
        let storage = Storage::allocate(context, layout.numel(), purpose)?;
        Ok(Tensor::from_storage(Arc::new(storage), layout))
    }

    /// Uninitialised memory under a dense layout from element 0: see [`Layout::dense_like`].
    pub(crate) fn empty_in(
        layout: Layout,
        dtype: DType,
        context: &Arc<Context>,
        op: &'static str,
    ) -> Result<Tensor> {
        let purpose = Purpose { op, dtype, shape: layout.shape() };
        let storage = Storage::allocate(context, layout.numel(), purpose)?;
        Ok(Tensor::from_storage(Arc::new(storage), layout))
    }

    /// Uninitialised page-locked host memory under a layout from element 0, for copies to and from
    /// `accelerator`.
    pub(crate) fn empty_pinned(
        layout: Layout,
        dtype: DType,
        host: &Arc<Context>,
        accelerator: &Context,
        op: &'static str,
    ) -> Result<Tensor> {
        let purpose = Purpose { op, dtype, shape: layout.shape() };
        let storage = Storage::allocate_pinned(host, accelerator, layout.end(), purpose)?;
        Ok(Tensor::from_storage(Arc::new(storage), layout))
    }

    /// The whole memory as a forked process has it, as one row: see [`Storage::forked`].
    pub(crate) fn forked(&self) -> Result<Option<Tensor>> {
        let layout = Layout::contiguous(&[self.0.storage.numel()])?;
        Ok(self.0.storage.forked().map(|storage| Tensor::from_storage(Arc::new(storage), layout)))
    }

    /// The same storage under another layout, outside the graph. See `op::movement` for tracked views.
    pub fn with_layout(&self, layout: Layout) -> Tensor {
        Tensor::counted(Arc::clone(&self.0.storage), layout, self.0.versions.clone())
    }

    /// The same values, outside the graph.
    pub fn detach(&self) -> Tensor {
        self.with_layout(self.layout().clone())
    }

    /// The same values, outside the graph, which does not see what is written here.
    pub fn data(&self) -> Tensor {
        let versions = Some(Arc::new(AtomicU32::new(0)));
        Tensor::counted(Arc::clone(&self.0.storage), self.layout().clone(), versions)
    }

    /// Takes over another tensor's values, with its dtype and its device, in the place of its own. What nothing else
    /// holds is taken as it is, anything else is copied.
    ///
    /// # Errors
    /// The shapes differ, a gradient would have to be of integers, or the tensor is a part of another.
    pub fn set_data(&self, source: &Tensor) -> Result<()> {
        self.storage().check_own()?;
        // `p.data *= 2` has changed the values already.
        if self.shares_storage(source) && self.layout() == source.layout() {
            return Ok(());
        }
        if self.shape() != source.shape() {
            let text = format!(
                "the data of a tensor of shape {:?} is not replaced by another of shape {:?}",
                self.shape(),
                source.shape()
            );
            return Err(Error::runtime(text).with_hint(
                "PyTorch takes it and changes the shape; here a tensor keeps its shape: make a new one",
            ));
        }
        if self.requires_grad() && !source.dtype().is_float() {
            return Err(Error::runtime(
                "data set to a tensor that requires gradients must be floating point or complex dtype",
            ));
        }
        if self.layout().is_dense() && self.numel() == self.0.storage.numel() {
            // Views of this tensor find their elements where they were.
            let like = if self.is_viewed() { self.layout() } else { source.layout() };
            let layout = like.dense_like()?;
            let fits = *source.layout() == layout && source.numel() == source.0.storage.numel();
            let taken = if fits && source.is_sole_owner() {
                source.clone()
            } else {
                source.copied_in(layout, "data")?
            };
            self.take(&taken);
            return Ok(());
        }
        if (self.dtype(), self.device()) != (source.dtype(), source.device()) {
            return Err(Error::runtime("the data of a view keeps its dtype and its device"));
        }
        self.assign(source, "data")
    }

    /// Takes over the memory and the layout of another tensor of the same shape that fills its storage, as this one does.
    fn take(&self, other: &Tensor) {
        self.0.storage.swap(&other.0.storage);
        self.0.layout.set(other.layout().clone());
        self.0.storage.note_unversioned();
    }

    /// Whether other tensors look at its storage.
    fn is_viewed(&self) -> bool {
        Arc::strong_count(&self.0.storage) > 1
    }

    /// The memory that it shares with its views.
    pub fn storage(&self) -> &Arc<Storage> {
        &self.0.storage
    }

    /// How its elements lie in the storage.
    pub fn layout(&self) -> &Layout {
        self.0.layout.now()
    }

    /// That which it was made with: `squeeze_` and its like change it, and memory in another order.
    pub(crate) fn first_layout(&self) -> &Layout {
        self.0.layout.first()
    }

    /// The size of each dimension.
    pub fn shape(&self) -> &[usize] {
        self.layout().shape()
    }

    /// How many dimensions there are.
    pub fn rank(&self) -> usize {
        self.layout().rank()
    }

    /// How many elements there are.
    pub fn numel(&self) -> usize {
        self.layout().numel()
    }

    /// What the elements are.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.0.storage.dtype()
    }

    /// Where the tensor is.
    #[inline]
    pub fn device(&self) -> Device {
        self.0.storage.device()
    }

    /// The device with its backend and its pool.
    pub fn context(&self) -> Arc<Context> {
        self.0.storage.context()
    }

    /// Whether the elements lie in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        self.layout().is_contiguous()
    }

    /// Bytes of the elements (`numel * itemsize`), whatever the storage holds.
    pub fn nbytes(&self) -> usize {
        self.numel() * self.dtype().size()
    }

    /// Whether the host memory is page-locked.
    pub fn is_pinned(&self) -> bool {
        self.0.storage.place().buffer().pinned
    }

    /// The address of the first element, as the device numbers its memory.
    pub fn data_ptr(&self) -> u64 {
        match self.0.storage.address() {
            0 => 0,
            base => base + (self.layout().offset() * self.dtype().size()) as u64,
        }
    }

    /// Whether two handles are the same tensor (`is` in Python).
    pub fn is(&self, other: &Tensor) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A number that tells tensors apart while they live: two handles of one tensor give the same.
    pub fn id(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// Whether two tensors look at one storage.
    pub fn shares_storage(&self, other: &Tensor) -> bool {
        Arc::ptr_eq(&self.0.storage, &other.0.storage)
    }

    /// Whether only this handle can reach the storage.
    pub(crate) fn is_sole_owner(&self) -> bool {
        self.is_held_by(1)
    }

    /// Whether only so many handles of this tensor can reach the storage.
    pub(crate) fn is_held_by(&self, handles: usize) -> bool {
        Arc::strong_count(&self.0) == handles && Arc::strong_count(&self.0.storage) == 1
    }

    /// Size of a possibly negative dimension.
    pub fn size(&self, dim: i64) -> Result<usize> {
        let dim = self.dim(dim)?;
        Ok(self.shape().get(dim).copied().unwrap_or(1))
    }

    /// A possibly negative dimension as an index.
    pub fn dim(&self, dim: i64) -> Result<usize> {
        crate::base::shape::wrap_dim(dim, self.rank())
    }

    /// What an error says of this tensor.
    pub fn operand(&self) -> Operand {
        Operand { name: None, shape: self.shape().to_vec(), dtype: self.dtype(), device: self.device() }
    }

    /// Fails unless the tensor may be written at every position on its own.
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.storage().check_own()?;
        let spread = self.shape().iter().zip(self.layout().strides());
        if spread.into_iter().any(|(&d, &s)| d > 1 && s == 0) {
            return Err(GradCause::InplaceExpanded.into());
        }
        Ok(())
    }

    /// Marks the values as changed in place.
    pub(crate) fn bump_version(&self) {
        match &self.0.versions {
            Some(versions) => {
                versions.fetch_add(1, Ordering::Relaxed);
                self.0.storage.note_unversioned();
            }
            None => self.0.storage.bump_version(),
        }
    }

    /// How often the storage was written to in place; the backward pass compares it.
    pub fn version(&self) -> u32 {
        match &self.0.versions {
            Some(versions) => versions.load(Ordering::Relaxed),
            None => self.0.storage.version(),
        }
    }

    fn auto(&self) -> MutexGuard<'_, Auto> {
        self.0.auto.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn set_tracked(&self, on: bool) {
        if on {
            self.0.flags.fetch_or(TRACKED, Ordering::Relaxed);
        } else {
            self.0.flags.fetch_and(!TRACKED, Ordering::Relaxed);
        }
    }

    #[inline]
    fn flag(&self, flag: u8) -> bool {
        self.0.flags.load(Ordering::Relaxed) & flag != 0
    }
}

impl std::fmt::Debug for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tensor({:?}, {}, {})", self.shape(), self.dtype(), self.device())
    }
}

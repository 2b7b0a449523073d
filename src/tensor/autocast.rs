//! The autocast state of a thread: per kind of device whether operations cast their inputs, and to what. Which
//! operations do is in `op::autocast`.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Weak};

use crate::base::{DType, Device};

use super::{Tensor, TensorInner};

/// Autocast for one kind of device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AutocastMode {
    pub enabled: bool,
    /// What operations of lower precision compute in.
    pub dtype: DType,
}

/// The kinds of devices that have an [`AutocastMode`] each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum On {
    Cpu,
    Cuda,
}

/// All that a region changes; `checkpoint` takes it along to the backward pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    cpu: AutocastMode,
    cuda: AutocastMode,
    pub cache_enabled: bool,
}

/// A cast of a leaf, kept until the outermost region ends.
struct Cached {
    of: Weak<TensorInner>,
    cast: Tensor,
}

struct AutocastState {
    settings: Settings,
    nesting: usize,
    cache: Vec<Cached>,
}

/// What PyTorch starts with: off, bfloat16 on the CPU and float16 on CUDA devices.
const START: Settings = Settings {
    cpu: AutocastMode { enabled: false, dtype: DType::BFloat16 },
    cuda: AutocastMode { enabled: false, dtype: DType::Float16 },
    cache_enabled: true,
};

thread_local! {
    /// Whether any operation has to look: read by every one of them, so it stands alone.
    static ACTIVE: Cell<bool> = const { Cell::new(false) };
    static STATE: RefCell<AutocastState> =
        const { RefCell::new(AutocastState { settings: START, nesting: 0, cache: Vec::new() }) };
}

/// Whether autocast is on for some kind of device, and not paused.
#[inline]
pub fn active() -> bool {
    ACTIVE.with(Cell::get)
}

/// The settings in force on this thread.
pub fn settings() -> Settings {
    STATE.with_borrow(|s| s.settings)
}

/// Makes `settings` those of the thread until the guard is dropped. Casts are kept until the outermost region
/// ends, as in PyTorch.
pub fn enter(settings: Settings) -> Region {
    let before = STATE.with_borrow_mut(|s| {
        s.nesting += 1;
        std::mem::replace(&mut s.settings, settings)
    });
    let active = settings.cpu.enabled || settings.cuda.enabled;
    Region { before, active: ACTIVE.replace(active) }
}

/// No operation casts its inputs until the guard is dropped.
pub fn pause() -> Paused {
    Paused(ACTIVE.replace(false))
}

/// Restores what held before a region when dropped.
pub struct Region {
    before: Settings,
    active: bool,
}

impl Drop for Region {
    fn drop(&mut self) {
        ACTIVE.set(self.active);
        let freed = STATE.with_borrow_mut(|s| {
            s.settings = self.before;
            s.nesting = s.nesting.saturating_sub(1);
            if s.nesting == 0 { std::mem::take(&mut s.cache) } else { Vec::new() }
        });
        drop(freed);
    }
}

/// Ends a pause when dropped.
pub struct Paused(bool);

impl Drop for Paused {
    fn drop(&mut self) {
        ACTIVE.set(self.0);
    }
}

impl On {
    /// The kind of a device.
    pub fn of(device: Device) -> On {
        if device.is_cuda() { On::Cuda } else { On::Cpu }
    }
}

impl Settings {
    /// What is cast on that kind of device.
    pub fn mode(&self, on: On) -> AutocastMode {
        match on {
            On::Cpu => self.cpu,
            On::Cuda => self.cuda,
        }
    }

    /// These settings with another mode for one kind of device.
    pub fn with(self, on: On, mode: AutocastMode) -> Settings {
        match on {
            On::Cpu => Settings { cpu: mode, ..self },
            On::Cuda => Settings { cuda: mode, ..self },
        }
    }
}

/// The kept cast of `t` to `dtype`, if there is one.
pub fn cached(t: &Tensor, dtype: DType) -> Option<Tensor> {
    STATE.with_borrow(|s| {
        let same = |c: &&Cached| c.cast.dtype() == dtype && c.of.as_ptr() == Arc::as_ptr(&t.0);
        s.cache.iter().find(same).map(|c| c.cast.clone())
    })
}

/// Keeps a cast of `t` until the outermost region ends.
pub fn keep(t: &Tensor, cast: &Tensor) {
    STATE.with_borrow_mut(|s| {
        if s.nesting > 0 {
            s.cache.push(Cached { of: Arc::downgrade(&t.0), cast: cast.clone() });
        }
    });
}

impl Tensor {
    /// Whether autocast may keep this tensor's casts: a float32 leaf that wants a gradient and is no view.
    pub(crate) fn is_castable_leaf(&self) -> bool {
        self.dtype() == DType::Float32
            && self.flag(super::TRACKED)
            && !self.flag(super::VIEW)
            && self.is_leaf()
    }
}

//! Storage: bytes plus dtype on a device, shared by the tensors that view it.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, RwLock, RwLockReadGuard};

use crate::base::{DType, Device, Result};
use crate::device::buffer::Buffer;
use crate::device::live::Purpose;

use super::capture::Holder;
use super::context::Context;
use super::examine::Maker;

/// Where a storage's bytes are.
pub struct Place {
    pub context: Arc<Context>,
    /// Absent only while the storage is being dropped.
    memory: Option<Holding>,
}

/// Whose a buffer is.
enum Holding {
    Own(Buffer),
    /// Several storages read it; the one that writes takes a copy first.
    Shared(Arc<SharedMemory>),
}

/// A buffer that several storages read.
struct SharedMemory {
    context: Arc<Context>,
    buffer: Option<Buffer>,
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            self.context.free(buffer);
        }
    }
}

impl Place {
    pub fn buffer(&self) -> &Buffer {
        static NONE: Buffer = Buffer::new(0, 0, None, false);
        let buffer = match &self.memory {
            Some(Holding::Own(buffer)) => Some(buffer),
            Some(Holding::Shared(shared)) => shared.buffer.as_ref(),
            None => None,
        };
        buffer.unwrap_or(&NONE)
    }
}

/// Bytes plus dtype. Its device and dtype change only when a module moves its parameters in place.
pub struct Storage {
    device: AtomicU32,
    dtype: AtomicU8,
    version: AtomicU32,
    unversioned: AtomicU32,
    numel: usize,
    maker: Maker,
    /// Another storage may read the same bytes.
    shared: AtomicBool,
    place: RwLock<Place>,
}

impl Storage {
    /// Uninitialised memory for `purpose.shape` elements.
    pub fn allocate(context: &Arc<Context>, numel: usize, purpose: Purpose) -> Result<Storage> {
        let buffer = context.allocate(numel * purpose.dtype.size(), purpose)?;
        Ok(Storage::from_buffer(context, buffer, numel, purpose.dtype))
    }

    /// Uninitialised page-locked memory of the host for `numel` elements.
    pub(crate) fn allocate_pinned(
        host: &Arc<Context>,
        accelerator: &Context,
        numel: usize,
        purpose: Purpose,
    ) -> Result<Storage> {
        let buffer = host.allocate_pinned(accelerator, numel * purpose.dtype.size(), purpose)?;
        Ok(Storage::from_buffer(host, buffer, numel, purpose.dtype))
    }

    /// Takes over memory that the context gave.
    pub(crate) fn from_buffer(context: &Arc<Context>, buffer: Buffer, numel: usize, dtype: DType) -> Storage {
        Storage::with_memory(context, Holding::Own(buffer), numel, dtype)
    }

    fn with_memory(context: &Arc<Context>, memory: Holding, numel: usize, dtype: DType) -> Storage {
        Storage {
            device: AtomicU32::new(context.device.code()),
            dtype: AtomicU8::new(dtype as u8),
            version: AtomicU32::new(0),
            unversioned: AtomicU32::new(0),
            numel,
            maker: Maker::of_now(),
            shared: AtomicBool::new(matches!(memory, Holding::Shared(_))),
            place: RwLock::new(Place { context: Arc::clone(context), memory: Some(memory) }),
        }
    }

    /// A storage of its own with the same values, as a forked process has it: the bytes are copied once one of the two is
    /// written to. None on a device and of page-locked memory, which processes share.
    pub(crate) fn forked(&self) -> Option<Storage> {
        if self.device() != Device::Cpu {
            return None;
        }
        let mut place = self.place.write().unwrap_or_else(|e| e.into_inner());
        if place.buffer().pinned {
            return None;
        }
        let context = Arc::clone(&place.context);
        let shared = match place.memory.take()? {
            Holding::Own(buffer) => {
                Arc::new(SharedMemory { context: Arc::clone(&context), buffer: Some(buffer) })
            }
            Holding::Shared(shared) => shared,
        };
        place.memory = Some(Holding::Shared(Arc::clone(&shared)));
        self.shared.store(true, Ordering::Relaxed);
        Some(Storage::with_memory(&context, Holding::Shared(shared), self.numel, self.dtype()))
    }

    /// Before it is written to: takes a copy of bytes that another storage reads too.
    ///
    /// # Errors
    /// There is no memory for it.
    #[inline]
    pub(crate) fn own(&self) -> Result<()> {
        if self.shared.load(Ordering::Relaxed) { self.unshare() } else { Ok(()) }
    }

    #[cold]
    fn unshare(&self) -> Result<()> {
        let mut place = self.place.write().unwrap_or_else(|e| e.into_inner());
        if let Some(Holding::Shared(shared)) = &place.memory
            && Arc::strong_count(shared) > 1
            && let Some(from) = &shared.buffer
        {
            let purpose = Purpose { op: "copy_on_write", dtype: self.dtype(), shape: &[self.numel] };
            let bytes = self.numel * self.dtype().size();
            let own = place.context.allocate(bytes, purpose)?;
            if let (Some(from), Some(to)) = (&from.host, &own.host) {
                from.copy_to(0, to, 0, bytes);
            }
            own.set_hollow(from.is_hollow());
            place.memory = Some(Holding::Own(own));
        }
        self.shared.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Where the bytes lie.
    #[inline]
    pub fn device(&self) -> Device {
        Device::from_code(self.device.load(Ordering::Relaxed))
    }

    /// What they are read as.
    #[inline]
    pub fn dtype(&self) -> DType {
        DType::from_code(self.dtype.load(Ordering::Relaxed))
    }

    /// Elements the storage holds.
    pub fn numel(&self) -> usize {
        self.numel
    }

    /// How many times its values were changed in place.
    #[inline]
    pub fn version(&self) -> u32 {
        self.version.load(Ordering::Relaxed)
    }

    /// How many times its values were changed so that no version tells of it: by conversion to another dtype, and
    /// through `.data`.
    pub(crate) fn unversioned(&self) -> u32 {
        self.unversioned.load(Ordering::Relaxed)
    }

    pub(crate) fn note_unversioned(&self) {
        self.unversioned.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn bump_version(&self) {
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    /// The bytes, held in place while the guard lives.
    #[inline]
    pub fn place(&self) -> RwLockReadGuard<'_, Place> {
        self.place.read().unwrap_or_else(|e| e.into_inner())
    }

    /// The device with its backend and its pool.
    pub fn context(&self) -> Arc<Context> {
        Arc::clone(&self.place().context)
    }

    /// The address of the first byte, on its device.
    pub fn address(&self) -> u64 {
        self.place().buffer().address
    }

    /// Before it is written to: fails where a check runs that has not made it.
    ///
    /// # Errors
    /// It is what the learner has, or there is no memory for a copy of what another storage reads.
    #[inline]
    pub fn check_own(&self) -> Result<()> {
        self.maker.check_own()?;
        self.own()
    }

    /// Exchanges contents with another storage of as many elements: tensors of either see the other's.
    pub fn swap(&self, other: &Storage) {
        if std::ptr::eq(self, other) || self.numel != other.numel {
            return;
        }
        let mut mine = self.place.write().unwrap_or_else(|e| e.into_inner());
        let mut theirs = other.place.write().unwrap_or_else(|e| e.into_inner());
        std::mem::swap(&mut *mine, &mut *theirs);
        let device = other.device.swap(self.device.load(Ordering::Relaxed), Ordering::Relaxed);
        self.device.store(device, Ordering::Relaxed);
        let shared = other.shared.swap(self.shared.load(Ordering::Relaxed), Ordering::Relaxed);
        self.shared.store(shared, Ordering::Relaxed);
        let dtype = other.dtype.swap(self.dtype.load(Ordering::Relaxed), Ordering::Relaxed);
        let before = self.dtype.swap(dtype, Ordering::Relaxed);
        self.unversioned.fetch_add((before != dtype).into(), Ordering::Relaxed);
    }
}

/// The memory of a storage, which stays in its place meanwhile.
struct HeldBuffer<'a>(RwLockReadGuard<'a, Place>);

impl Deref for HeldBuffer<'_> {
    type Target = Buffer;

    fn deref(&self) -> &Buffer {
        self.0.buffer()
    }
}

impl Holder for Storage {
    fn device(&self) -> Device {
        Storage::device(self)
    }

    fn dtype(&self) -> DType {
        Storage::dtype(self)
    }

    fn held(&self) -> Box<dyn Deref<Target = Buffer> + '_> {
        Box::new(HeldBuffer(self.place()))
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        let place = self.place.get_mut().unwrap_or_else(|e| e.into_inner());
        if let Some(Holding::Own(buffer)) = place.memory.take() {
            place.context.free(buffer);
        }
    }
}

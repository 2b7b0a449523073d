//! Storage: bytes plus dtype on a device, shared by the tensors that view it.

use std::ops::Deref;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
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
    buffer: Option<Buffer>,
}

impl Place {
    pub fn buffer(&self) -> &Buffer {
        static NONE: Buffer = Buffer::new(0, 0, None, false);
        self.buffer.as_ref().unwrap_or(&NONE)
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
        Storage {
            device: AtomicU32::new(context.device.code()),
            dtype: AtomicU8::new(dtype as u8),
            version: AtomicU32::new(0),
            unversioned: AtomicU32::new(0),
            numel,
            maker: Maker::of_now(),
            place: RwLock::new(Place { context: Arc::clone(context), buffer: Some(buffer) }),
        }
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

    /// Fails where a check runs that has not made it.
    ///
    /// # Errors
    /// It is what the learner has.
    #[inline]
    pub fn check_own(&self) -> Result<()> {
        self.maker.check_own()
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
        if let Some(buffer) = place.buffer.take() {
            place.context.free(buffer);
        }
    }
}

//! Results of the driver as errors, and the one context that each device has.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int};
use std::sync::{Mutex, OnceLock};

use cudarc::driver::sys::CUdevice_attribute;

use crate::base::{Device, DeviceCause, Error, Kind, Result};

use super::table::{Driver, Handle, driver};

/// `CUDA_SUCCESS`, and results that are answers.
pub(super) const SUCCESS: c_int = 0;
const OUT_OF_MEMORY: c_int = 2;
pub(crate) const NOT_READY: c_int = 600;
const PEER_ACCESS_ALREADY_ENABLED: c_int = 704;

/// Errors after which the context is lost: the device answers with the same until the process ends.
const STICKY: [c_int; 13] = [214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721];

/// A device of the driver. Its primary context is made when it is first needed, and lives as long as the process.
#[derive(Clone, Copy)]
pub(crate) struct Gpu {
    pub device: Device,
    pub driver: &'static Driver,
    handle: c_int,
    context: &'static OnceLock<usize>,
}

thread_local! {
    /// The context that this thread made current last.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

impl Gpu {
    /// A device by its ordinal; nothing of it is started.
    pub(super) fn open(ordinal: u16) -> Result<Gpu> {
        let driver = driver()?;
        let device = Device::Cuda(ordinal);
        let mut handle = 0;
        // SAFETY: the place lives through the calls.
        unsafe {
            check(driver, device, (driver.cuInit)(0))?;
            check(driver, device, (driver.cuDeviceGet)(&mut handle, c_int::from(ordinal)))?;
        }
        Ok(Gpu { device, driver, handle, context: context_of(ordinal) })
    }

    /// Makes the device's context current on this thread: calls that follow mean it.
    #[inline]
    pub(super) fn enter(&self) -> Result<()> {
        let context = self.context()?;
        if CURRENT.get() == context as usize {
            return Ok(());
        }
        // SAFETY: the context lives as long as the process.
        self.check(unsafe { (self.driver.cuCtxSetCurrent)(context) })?;
        CURRENT.set(context as usize);
        Ok(())
    }

    /// The device's context, made at the first call.
    #[inline]
    pub(super) fn context(&self) -> Result<Handle> {
        match self.context.get() {
            Some(context) => Ok(*context as Handle),
            None => self.start(),
        }
    }

    /// Whether anything was asked of the device yet.
    pub(crate) fn is_started(&self) -> bool {
        self.context.get().is_some()
    }

    #[cold]
    fn start(&self) -> Result<Handle> {
        let mut context = std::ptr::null_mut();
        // SAFETY: the place lives through the call. Several threads get the same context.
        self.check(unsafe { (self.driver.cuDevicePrimaryCtxRetain)(&mut context, self.handle) })?;
        Ok(*self.context.get_or_init(|| context as usize) as Handle)
    }

    #[inline]
    pub(super) fn check(&self, code: c_int) -> Result<()> {
        check(self.driver, self.device, code)
    }

    /// A number that the device says of itself.
    pub(super) fn attribute(&self, which: CUdevice_attribute) -> Result<u32> {
        let mut value = 0;
        // SAFETY: the place lives through the call.
        self.check(unsafe { (self.driver.cuDeviceGetAttribute)(&mut value, which as c_int, self.handle) })?;
        Ok(value.unsigned_abs())
    }

    /// The newest CUDA that the driver supports.
    pub(super) fn newest_cuda(&self) -> Option<(u32, u32)> {
        let mut version = 0;
        // SAFETY: the place lives through the call.
        self.check(unsafe { (self.driver.cuDriverGetVersion)(&mut version) }).ok()?;
        let version = version.unsigned_abs();
        Some((version / 1000, version % 1000 / 10))
    }

    /// Bytes that nobody holds, and all of them.
    pub(super) fn memory(&self) -> Result<(u64, u64)> {
        self.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: the places live through the call.
        self.check(unsafe { (self.driver.cuMemGetInfo_v2)(&mut free, &mut total) })?;
        Ok((free as u64, total as u64))
    }

    /// What a library's failure comes from: the device's own error where it has one, which the library only ran into.
    #[cold]
    pub(super) fn cause_of(&self, error: Error) -> Error {
        self.memory().err().unwrap_or(error)
    }

    /// Whether this device can reach the memory of `other`.
    pub(crate) fn can_reach(&self, other: &Gpu) -> bool {
        let mut can = 0;
        // SAFETY: the place lives through the call.
        let asked = unsafe { (self.driver.cuDeviceCanAccessPeer)(&mut can, self.handle, other.handle) };
        asked == SUCCESS && can != 0
    }

    /// Lets this device reach the memory of `other`; copies between them go another way where it can't.
    pub(super) fn reach(&self, other: &Gpu) -> Result<()> {
        self.enter()?;
        // SAFETY: the context lives as long as the process; flags must be 0.
        match unsafe { (self.driver.cuCtxEnablePeerAccess)(other.context()?, 0) } {
            PEER_ACCESS_ALREADY_ENABLED => Ok(()),
            code => self.check(code),
        }
    }
}

/// Where the context of an ordinal is kept: there is one of each for the whole process.
fn context_of(ordinal: u16) -> &'static OnceLock<usize> {
    static ALL: Mutex<BTreeMap<u16, &'static OnceLock<usize>>> = Mutex::new(BTreeMap::new());
    let mut all = ALL.lock().unwrap_or_else(|e| e.into_inner());
    all.entry(ordinal).or_insert_with(|| Box::leak(Box::default()))
}

#[inline]
fn check(driver: &Driver, device: Device, code: c_int) -> Result<()> {
    if code == SUCCESS { Ok(()) } else { Err(failure(driver, device, code)) }
}

/// A result as PyTorch puts it.
#[cold]
fn failure(driver: &Driver, device: Device, code: c_int) -> Error {
    let name = text(driver.cuGetErrorName, code).unwrap_or_else(|| format!("result {code}"));
    let meaning = text(driver.cuGetErrorString, code).unwrap_or_else(|| name.clone());
    let message = format!(
        "CUDA error: {meaning} ({name})\n\
         CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might \
         be incorrect.\n"
    );
    if STICKY.contains(&code) {
        return DeviceCause::DeviceFault { device, message }.into();
    }
    if code == OUT_OF_MEMORY {
        return Error::new(Kind::OutOfMemoryError, message)
            .with_hint("free tensors that are needed no more, or call cuda::empty_cache()");
    }
    Error::new(Kind::DeviceError, message)
}

fn text(ask: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int, code: c_int) -> Option<String> {
    let mut text = std::ptr::null();
    // SAFETY: the place lives through the call.
    let result = unsafe { ask(code, &mut text) };
    if result != SUCCESS || text.is_null() {
        return None;
    }
    // SAFETY: the driver gave a text that lives as long as it does.
    Some(super::library::printable(&unsafe { CStr::from_ptr(text) }.to_string_lossy()))
}

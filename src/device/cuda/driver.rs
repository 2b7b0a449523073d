//! The driver's library, asked call by call.

use std::ffi::{CStr, c_char, c_int, c_uint};

use cudarc::driver::sys::CUdevice_attribute;
use libloading::{Library, Symbol};

use crate::device::cuda::found::{Driver, FoundDevice, Missing};

use super::folders::{Folders, VARIABLE, kernel_module};
use super::library::{Loaded, load, printable, symbol};

const SUCCESS: c_int = 0;
const NO_DEVICE: c_int = 100;

/// Finds the driver and asks it for its version and devices.
pub(super) fn ask(folders: &Folders) -> Result<(Driver, Vec<FoundDevice>), Missing> {
    let loaded = load(&["cuda", "nvcuda"], folders, &folders.driver).map_err(|reason| Missing {
        reason: format!("{reason}: NVIDIA's driver is not installed, or its library is out of reach"),
        remedy: format!("install NVIDIA's driver, or name its library's folder in {VARIABLE}"),
    })?;
    let answer = survey(&loaded);
    // Kept for the rest of the process: a driver is not made to be unloaded once it was started.
    std::mem::forget(loaded.library);
    answer
}

/// What a driver's library says.
fn survey(Loaded { library, path }: &Loaded) -> Result<(Driver, Vec<FoundDevice>), Missing> {
    let calls = Calls { library };
    let answer = calls.start().and_then(|cuda| {
        let devices = (0..calls.count()?).map(|ordinal| calls.device(ordinal));
        Ok((cuda, devices.collect::<Result<Vec<FoundDevice>, Failure>>()?))
    });
    match answer {
        Ok((cuda, devices)) => Ok((Driver { library: path.clone(), cuda, module: kernel_module() }, devices)),
        Err(failure) => Err(calls.missing(failure, path)),
    }
}

/// The functions of a driver's library. Each is looked up before it is called, and results stay numbers: a
/// driver may know codes that the bindings' types do not.
struct Calls<'l> {
    library: &'l Library,
}

/// A call that gave nothing.
enum Failure {
    Absent { call: &'static str },
    Refused { call: &'static str, code: c_int },
}

impl<'l> Calls<'l> {
    /// Starts the driver; the newest CUDA it supports.
    fn start(&self) -> Result<(u32, u32), Failure> {
        type Init = unsafe extern "C" fn(c_uint) -> c_int;
        // SAFETY: the type is the driver's.
        let init = unsafe { self.get::<Init>("cuInit") }?;
        // SAFETY: it takes flags, which must be 0.
        match unsafe { init(0) } {
            NO_DEVICE => {}
            code => check("cuInit", code)?,
        }
        let version = self.number("cuDriverGetVersion")?.unsigned_abs();
        Ok((version / 1000, version % 1000 / 10))
    }

    /// How many devices there are; a driver that was started without any does not count them.
    fn count(&self) -> Result<c_int, Failure> {
        match self.number("cuDeviceGetCount") {
            Err(Failure::Refused { code: NO_DEVICE, .. }) => Ok(0),
            count => count,
        }
    }

    fn device(&self, ordinal: c_int) -> Result<FoundDevice, Failure> {
        use CUdevice_attribute as A;
        let device = self.handle(ordinal)?;
        let attribute = |which: A| self.attribute(which as c_int, device).map(c_int::unsigned_abs);
        Ok(FoundDevice {
            ordinal: ordinal.unsigned_abs(),
            name: self.text("cuDeviceGetName", device)?,
            memory: self.memory(device)?,
            capability: (
                attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            ),
            multiprocessors: attribute(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            pci: self.text("cuDeviceGetPCIBusId", device)?,
        })
    }

    /// A call that takes nothing and gives a number.
    fn number(&self, call: &'static str) -> Result<c_int, Failure> {
        type Number = unsafe extern "C" fn(*mut c_int) -> c_int;
        let mut value = 0;
        // SAFETY: the callers name functions of this type, and the place lives through the call.
        check(call, unsafe { self.get::<Number>(call)?(&mut value) })?;
        Ok(value)
    }

    fn handle(&self, ordinal: c_int) -> Result<c_int, Failure> {
        type Get = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
        let mut device = 0;
        // SAFETY: the type is the driver's, and the place lives through the call.
        check("cuDeviceGet", unsafe { self.get::<Get>("cuDeviceGet")?(&mut device, ordinal) })?;
        Ok(device)
    }

    fn memory(&self, device: c_int) -> Result<u64, Failure> {
        type Memory = unsafe extern "C" fn(*mut usize, c_int) -> c_int;
        let call = "cuDeviceTotalMem_v2";
        let mut bytes = 0;
        // SAFETY: the type is the driver's, and the place lives through the call.
        check(call, unsafe { self.get::<Memory>(call)?(&mut bytes, device) })?;
        Ok(bytes as u64)
    }

    fn attribute(&self, which: c_int, device: c_int) -> Result<c_int, Failure> {
        type Attribute = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int;
        let call = "cuDeviceGetAttribute";
        let mut value = 0;
        // SAFETY: the type is the driver's, and the place lives through the call.
        check(call, unsafe { self.get::<Attribute>(call)?(&mut value, which, device) })?;
        Ok(value)
    }

    /// A call that writes a text about a device.
    fn text(&self, call: &'static str, device: c_int) -> Result<String, Failure> {
        type Text = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
        let mut buffer = [0u8; 256];
        let room = buffer.len() as c_int;
        // SAFETY: the callers name functions of this type, which write at most `room` bytes.
        check(call, unsafe { self.get::<Text>(call)?(buffer.as_mut_ptr().cast(), room, device) })?;
        let text = CStr::from_bytes_until_nul(&buffer).unwrap_or_default();
        Ok(printable(&text.to_string_lossy()))
    }

    /// # Safety
    /// `T` is the type of the function.
    unsafe fn get<T>(&self, call: &'static str) -> Result<Symbol<'l, T>, Failure> {
        // SAFETY: the caller vouches for the type.
        unsafe { symbol(self.library, call) }.ok_or(Failure::Absent { call })
    }

    fn missing(&self, failure: Failure, path: &str) -> Missing {
        match failure {
            Failure::Absent { call } => Missing {
                reason: format!("{path} has no {call}, so it is not a driver of today"),
                remedy: "install NVIDIA's driver of this or last year".into(),
            },
            Failure::Refused { call, code } => {
                let (meaning, remedy) = known(code).unwrap_or((
                    "the driver does not start",
                    "check with `nvidia-smi`, and the system's log for lines of NVRM",
                ));
                let name = self.name(code).unwrap_or_default();
                Missing {
                    reason: format!("{path}: {call} gives {code}{name}: {meaning}"),
                    remedy: remedy.into(),
                }
            }
        }
    }

    /// The driver's own name for a result, in brackets, where it has one.
    fn name(&self, code: c_int) -> Option<String> {
        type Name = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;
        let mut text = std::ptr::null();
        // SAFETY: the type is the driver's, and the place lives through the call.
        let result = unsafe { self.get::<Name>("cuGetErrorName").ok()?(code, &mut text) };
        if result != SUCCESS || text.is_null() {
            return None;
        }
        // SAFETY: the driver gave a text that lives as long as it does.
        let text = unsafe { CStr::from_ptr(text) };
        Some(format!(" ({})", printable(&text.to_string_lossy())))
    }
}

fn check(call: &'static str, code: c_int) -> Result<(), Failure> {
    if code == SUCCESS { Ok(()) } else { Err(Failure::Refused { call, code }) }
}

/// What a result of `cuInit` means, and what helps. Numbers as in CUDA's `CUresult`.
fn known(code: c_int) -> Option<(&'static str, &'static str)> {
    Some(match code {
        34 => (
            "this library is a stub from the CUDA toolkit, for linking only",
            "install NVIDIA's driver, and take the toolkit's `stubs` folder out of LD_LIBRARY_PATH",
        ),
        999 => (
            "the driver met an unknown error, as after a suspend or without its kernel module",
            "load the module again (`modprobe nvidia_uvm`), or restart the computer",
        ),
        802 => (
            "the system is not ready, as while NVSwitch's fabric manager is not running",
            "start `nvidia-fabricmanager`",
        ),
        803 => (
            "the driver's library and its kernel module are of different versions, as after an update",
            "restart the computer",
        ),
        804 => (
            "the forward-compatibility package does not support this GPU",
            "take the toolkit's `compat` folder out of LD_LIBRARY_PATH, or update the driver",
        ),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;

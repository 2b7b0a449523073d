//! From a kernel's source to machine code for the device that is there: NVRTC, and what it made before.
//!
//! PTX that is newer than a driver is refused, so sources are compiled to machine code. That is kept on disk under
//! the hash of source, architecture and options, and loaded again by the next process, which needs no compiler then.
//! Only for a device that is newer than the compiler it is PTX of the newest architecture that this knows. Kernels of
//! one architecture's own instructions are compiled for that one, and planned for no other.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::base::{Error, Kind, Result, file};

use super::call::Gpu;
use super::folders;
use super::table::{Handle, Nvrtc, nvrtc};

const COMPILED: c_int = 0;
const OPTIONS: [&CStr; 2] = [c"--std=c++17", c"--restrict"];

/// Compiles for one architecture.
pub(crate) struct Compiler {
    /// Such as 90.
    architecture: u32,
    /// Where machine code is kept; none where there is no such folder.
    folder: Option<PathBuf>,
}

impl Compiler {
    /// A compiler for devices of a capability.
    pub(super) fn new(capability: (u32, u32)) -> Compiler {
        Compiler { architecture: capability.0 * 10 + capability.1, folder: folders::of_machine_code() }
    }

    /// Whether there can be kernels at all.
    ///
    /// # Errors
    /// `DeviceError` where there is neither a compiler nor anything that one left.
    pub(super) fn check(&self) -> Result<()> {
        let kept = self.folder.as_ref().and_then(|folder| fs::read_dir(folder).ok());
        if kept.is_some_and(|mut files| files.next().is_some()) { Ok(()) } else { nvrtc().map(|_| ()) }
    }

    /// The function `entry` of a source, loaded into a device.
    pub(super) fn load(&self, gpu: &Gpu, entry: &str, source: &str) -> Result<Handle> {
        let kept = self.folder.as_ref().map(|folder| folder.join(self.file(entry, source)));
        if let Some(code) = kept.as_deref().and_then(read)
            && let Ok(function) = function(gpu, entry, &code)
        {
            return Ok(function);
        }
        let code = self.compile(entry, source)?;
        if let Some(path) = kept {
            // Without it the next process compiles again, no more.
            let _ = write(&path, &code);
        }
        function(gpu, entry, &code)
    }

    /// Machine code of a source.
    ///
    /// # Errors
    /// `DeviceError` where there is no compiler, or with what it says of the source.
    pub(super) fn compile(&self, name: &str, source: &str) -> Result<Vec<u8>> {
        let nvrtc = nvrtc()?;
        let program = Program::new(nvrtc, name, source)?;
        let target = CodeTarget::of(self.architecture, &known(nvrtc), is_specific(source));
        let option = text(&format!("--gpu-architecture={target}"))?;
        let options = [option.as_ptr(), OPTIONS[0].as_ptr(), OPTIONS[1].as_ptr()];
        // SAFETY: the options live through the call.
        let result =
            unsafe { (nvrtc.nvrtcCompileProgram)(program.handle, options.len() as c_int, options.as_ptr()) };
        if result != COMPILED {
            let log = program.log();
            return Err(refused(&format!("NVRTC refuses the kernel {name} for {target}: {log}")));
        }
        program.code(target)
    }

    fn file(&self, entry: &str, source: &str) -> String {
        let mut hash = Sha256::new();
        let architecture = match is_specific(source) {
            true => CodeTarget::Specific(self.architecture).to_string(),
            false => CodeTarget::Machine(self.architecture).to_string(),
        };
        let options = OPTIONS.map(CStr::to_bytes);
        for part in [architecture.as_bytes(), source.as_bytes()].iter().chain(&options) {
            hash.update(part);
            hash.update([0]);
        }
        let hash = hash.finalize();
        let digits: String = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        format!("{entry}-{architecture}-{digits}.cubin")
    }
}

/// What a source is compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CodeTarget {
    /// Machine code for the device.
    Machine(u32),
    /// The same with instructions that no other architecture has, newer ones included.
    Specific(u32),
    /// PTX of an older architecture, which the driver compiles.
    Portable(u32),
}

impl CodeTarget {
    /// For a device, by the architectures that a compiler knows; nothing known of it, the device's own.
    fn of(device: u32, known: &[u32], specific: bool) -> CodeTarget {
        if specific {
            return CodeTarget::Specific(device);
        }
        let older = known.iter().copied().filter(|&known| known <= device).max();
        match older {
            Some(newest) if newest < device => CodeTarget::Portable(newest),
            _ => CodeTarget::Machine(device),
        }
    }
}

impl fmt::Display for CodeTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CodeTarget::Machine(architecture) => write!(f, "sm_{architecture}"),
            CodeTarget::Specific(architecture) => write!(f, "sm_{architecture}a"),
            CodeTarget::Portable(architecture) => write!(f, "compute_{architecture}"),
        }
    }
}

/// Whether a source has instructions of one architecture alone.
fn is_specific(source: &str) -> bool {
    source.contains("wgmma.")
}

/// The architectures that a compiler knows; none where it does not tell.
fn known(nvrtc: &Nvrtc) -> Vec<u32> {
    let mut count = 0;
    // SAFETY: the place lives through the call.
    if unsafe { (nvrtc.nvrtcGetNumSupportedArchs)(&mut count) } != COMPILED {
        return Vec::new();
    }
    let mut all: Vec<c_int> = vec![0; count.unsigned_abs() as usize];
    // SAFETY: there is room for as many as were announced.
    if unsafe { (nvrtc.nvrtcGetSupportedArchs)(all.as_mut_ptr()) } != COMPILED {
        return Vec::new();
    }
    all.into_iter().map(c_int::unsigned_abs).collect()
}

struct Program {
    nvrtc: &'static Nvrtc,
    handle: Handle,
}

impl Program {
    fn new(nvrtc: &'static Nvrtc, name: &str, source: &str) -> Result<Program> {
        let (name, source) = (text(&format!("{name}.cu"))?, text(source)?);
        let mut handle = std::ptr::null_mut();
        let none = std::ptr::null();
        // SAFETY: texts and place live through the call; there are no headers.
        let result =
            unsafe { (nvrtc.nvrtcCreateProgram)(&mut handle, source.as_ptr(), name.as_ptr(), 0, none, none) };
        if result != COMPILED {
            return Err(refused(&format!("NVRTC takes no source: result {result}")));
        }
        Ok(Program { nvrtc, handle })
    }

    fn log(&self) -> String {
        let bytes = self.bytes(self.nvrtc.nvrtcGetProgramLogSize, self.nvrtc.nvrtcGetProgramLog);
        let bytes = bytes.unwrap_or_default();
        let text = CStr::from_bytes_until_nul(&bytes).map(|text| text.to_string_lossy().into_owned());
        text.unwrap_or_default()
    }

    fn code(&self, target: CodeTarget) -> Result<Vec<u8>> {
        let bytes = match target {
            CodeTarget::Machine(_) | CodeTarget::Specific(_) => {
                self.bytes(self.nvrtc.nvrtcGetCUBINSize, self.nvrtc.nvrtcGetCUBIN)
            }
            CodeTarget::Portable(_) => self.bytes(self.nvrtc.nvrtcGetPTXSize, self.nvrtc.nvrtcGetPTX),
        };
        bytes.filter(|code| !code.is_empty()).ok_or_else(|| refused("NVRTC gives no machine code"))
    }

    fn bytes(
        &self,
        size: unsafe extern "C" fn(Handle, *mut usize) -> c_int,
        get: unsafe extern "C" fn(Handle, *mut c_char) -> c_int,
    ) -> Option<Vec<u8>> {
        let mut length = 0;
        // SAFETY: the place lives through the call.
        if unsafe { size(self.handle, &mut length) } != COMPILED {
            return None;
        }
        let mut bytes = vec![0u8; length];
        // SAFETY: there is room for as many bytes as were announced.
        let result = unsafe { get(self.handle, bytes.as_mut_ptr().cast()) };
        (result == COMPILED).then_some(bytes)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the handle is the program's, and is not used again.
        unsafe { (self.nvrtc.nvrtcDestroyProgram)(&mut self.handle) };
    }
}

fn function(gpu: &Gpu, entry: &str, code: &[u8]) -> Result<Handle> {
    gpu.enter()?;
    let entry = text(entry)?;
    let (mut module, mut function) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the code is a whole image, and the places live through the calls. Modules stay for the process's life.
    unsafe {
        gpu.check((gpu.driver.cuModuleLoadData)(&mut module, code.as_ptr().cast::<c_void>()))?;
        gpu.check((gpu.driver.cuModuleGetFunction)(&mut function, module, entry.as_ptr()))?;
    }
    Ok(function)
}

/// What was kept: the code behind its own hash, so that a torn file is none.
fn read(path: &Path) -> Option<Vec<u8>> {
    let bytes = fs::read(path).ok()?;
    let (hash, code) = bytes.split_at_checked(32)?;
    (Sha256::digest(code).as_slice() == hash).then(|| code.to_vec())
}

fn write(path: &Path, code: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut bytes = Sha256::digest(code).to_vec();
    bytes.extend_from_slice(code);
    file::replace(path, |out| out.write_all(&bytes))
}

fn text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| refused("a kernel's text has a zero in it"))
}

#[cold]
fn refused(message: &str) -> Error {
    Error::new(Kind::DeviceError, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::cuda::testing::Scratch;

    #[test]
    fn machine_code_is_kept_whole_or_not_at_all() {
        let scratch = Scratch::new("kernels");
        let path = scratch.path().join("inner").join("add-sm_90-00.cubin");
        assert_eq!(read(&path), None);
        write(&path, b"machine code").unwrap();
        assert_eq!(read(&path).as_deref(), Some(&b"machine code"[..]));
        let mut torn = fs::read(&path).unwrap();
        torn.pop();
        fs::write(&path, &torn).unwrap();
        assert_eq!(read(&path), None);
        fs::write(&path, b"short").unwrap();
        assert_eq!(read(&path), None);
    }

    #[test]
    fn devices_that_a_compiler_does_not_know_get_ptx_of_the_newest_that_it_does() {
        let known = [75, 80, 86, 89, 90];
        let of = |device, known: &[u32]| CodeTarget::of(device, known, false);
        assert_eq!(of(90, &known), CodeTarget::Machine(90));
        assert_eq!(of(120, &known), CodeTarget::Portable(90));
        assert_eq!(of(87, &known).to_string(), "compute_86");
        assert_eq!(of(70, &known).to_string(), "sm_70", "dropped: it says so itself");
        assert_eq!(of(90, &[]), CodeTarget::Machine(90));
        assert_eq!(CodeTarget::of(90, &known, true).to_string(), "sm_90a");
    }

    #[test]
    fn another_source_or_architecture_is_another_file() {
        let of = |capability, source| Compiler::new(capability).file("add", source);
        assert_eq!(of((9, 0), "a"), of((9, 0), "a"));
        assert_ne!(of((9, 0), "a"), of((9, 0), "b"));
        assert_ne!(of((9, 0), "a"), of((8, 0), "a"));
        assert!(of((9, 0), "wgmma.fence").starts_with("add-sm_90a-"));
    }
}

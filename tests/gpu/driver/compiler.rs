//! The compiler. Where kernels compute, the host's C++ compiler makes a library of a source, which is kept; its path is
//! the machine code. Where they do not, the machine code is the source.

use std::ffi::{CStr, c_char, c_int};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::host_source::{compile, host_source};
use crate::{computes, put};

const INVALID_OPTION: c_int = 5;
const COMPILATION: c_int = 6;
const ARCHITECTURES: [c_int; 4] = [75, 80, 86, 90];

pub struct Program {
    source: String,
    code: Vec<u8>,
    log: String,
}

#[unsafe(no_mangle)]
pub extern "C" fn nvrtcVersion(major: *mut c_int, minor: *mut c_int) -> c_int {
    put(major, 12);
    put(minor, 8)
}
#[unsafe(no_mangle)]
pub extern "C" fn nvrtcCreateProgram(
    program: *mut *mut Program,
    source: *const c_char,
    _: usize,
    _: c_int,
    _: usize,
    _: usize,
) -> c_int {
    let source = unsafe { CStr::from_ptr(source) }.to_string_lossy().into_owned();
    put(program, Box::into_raw(Box::new(Program { source, code: Vec::new(), log: String::new() })))
}
#[unsafe(no_mangle)]
pub extern "C" fn nvrtcDestroyProgram(program: *mut *mut Program) -> c_int {
    drop(unsafe { Box::from_raw(*program) });
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn nvrtcGetNumSupportedArchs(count: *mut c_int) -> c_int {
    put(count, ARCHITECTURES.len() as c_int)
}
#[unsafe(no_mangle)]
pub extern "C" fn nvrtcGetSupportedArchs(all: *mut c_int) -> c_int {
    for (i, known) in ARCHITECTURES.into_iter().enumerate() {
        put(unsafe { all.add(i) }, known);
    }
    0
}
/// Sources that have a kernel, for architectures that are known.
#[unsafe(no_mangle)]
pub extern "C" fn nvrtcCompileProgram(
    program: *mut Program,
    count: c_int,
    options: *const *const c_char,
) -> c_int {
    let options: Vec<String> = (0..count as usize)
        .map(|i| unsafe { CStr::from_ptr(*options.add(i)) }.to_string_lossy().into_owned())
        .collect();
    let known = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_90a", "compute_90"];
    let is_older = crate::number("STANDIN_COMPILER_IS_OLDER").is_some();
    let known = known.map(|target| if is_older && target == "sm_90a" { "" } else { target });
    let Some(target) = known.iter().find(|known| options.contains(&format!("--gpu-architecture={known}")))
    else {
        return INVALID_OPTION;
    };
    let program = unsafe { &mut *program };
    let is_specific = program.source.contains("wgmma.");
    if !program.source.contains("__global__") || is_specific != (*target == "sm_90a") {
        return COMPILATION;
    }
    match computes() {
        None => program.code = format!("code {}// for {target}", program.source).into_bytes(),
        Some(folder) => match library(Path::new(folder), &program.source) {
            Ok(path) => program.code = format!("code {}\0", path.display()).into_bytes(),
            Err(log) => {
                program.log = log;
                return COMPILATION;
            }
        },
    }
    0
}

/// The library of a source, which is made once for all processes that share the folder.
fn library(folder: &Path, source: &str) -> Result<PathBuf, String> {
    let entry = source.split("#define ENTRY ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let entry = entry.ok_or("the source names no kernel")?;
    let text = host_source(source, entry);
    let mut hasher = DefaultHasher::new();
    (&text, include_str!("../../../src/device/cuda/kernels/tests/host.h")).hash(&mut hasher);
    let path = folder.join(format!("{entry}-{:016x}.so", hasher.finish()));
    if path.exists() {
        return Ok(path);
    }
    // Whole or not at all, whoever else makes the same now.
    let part = |end: &str| path.with_extension(format!("{}.{end}", std::process::id()));
    let (written, made) = (part("cc"), part("so"));
    std::fs::create_dir_all(folder).map_err(|e| e.to_string())?;
    std::fs::write(&written, text).map_err(|e| e.to_string())?;
    let compiled = compile(&written, &made, "-O1");
    let _ = std::fs::remove_file(&written);
    compiled?;
    std::fs::rename(&made, &path).map_err(|e| e.to_string())?;
    Ok(path)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvrtcGetCUBINSize(program: *const Program, size: *mut usize) -> c_int {
    put(size, unsafe { (&*program).code.len() })
}
#[unsafe(no_mangle)]
pub extern "C" fn nvrtcGetCUBIN(program: *const Program, code: *mut u8) -> c_int {
    let from = unsafe { &(*program).code };
    unsafe { std::ptr::copy(from.as_ptr(), code, from.len()) };
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn nvrtcGetPTXSize(program: *const Program, size: *mut usize) -> c_int {
    nvrtcGetCUBINSize(program, size)
}
#[unsafe(no_mangle)]
pub extern "C" fn nvrtcGetPTX(program: *const Program, code: *mut u8) -> c_int {
    nvrtcGetCUBIN(program, code)
}
#[unsafe(no_mangle)]
pub extern "C" fn nvrtcGetProgramLogSize(program: *const Program, size: *mut usize) -> c_int {
    put(size, unsafe { (&*program).log.len() } + 1)
}
#[unsafe(no_mangle)]
pub extern "C" fn nvrtcGetProgramLog(program: *const Program, to: *mut u8) -> c_int {
    let log = unsafe { &(*program).log };
    unsafe { std::ptr::copy(log.as_ptr(), to, log.len()) };
    put(unsafe { to.add(log.len()) }, 0)
}

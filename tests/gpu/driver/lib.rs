//! CUDA's libraries as a program that needs no GPU: memory of the host behind made-up devices. The tests build it, and
//! it serves as driver, compiler, cuBLAS and cuDNN at once.
//!
//! - `STANDIN_COMPUTES` names a folder for kernels that were compiled by the host's C++ compiler. Without it kernels do
//!   nothing, and only copies are carried out.
//! - Work waits in its stream until someone waits for it. Then it runs in an order drawn from `STANDIN_SEED`, among
//!   those that streams and events allow.
//! - `STANDIN_LEAVES_OUT_WAIT` is the wait of a stream for an event, from 1, that is left out, and `STANDIN_SAYS_REACHED`
//!   the answer, among those that an event is under way, that says that it was reached: what programs then compute tells
//!   whether a test sees a wait that is missing.
//! - `STANDIN_LOG` names a file that gets a line for each launch.
//! - `STANDIN_FAIL_AT` is the launch, from 1, at which the device fails for good.
//! - `STANDIN_CAPABILITY` is the devices' compute capability, 86 without it, and `STANDIN_MEMORY` the MiB of each, 64
//!   without it. With `STANDIN_GIVES_UP` singular values come to no end, with `STANDIN_REFUSES_MATRICES` none are taken apart,
//!   with `STANDIN_ADDS_NOTHING` cuDNN adds no bias. With `STANDIN_COMPILER_IS_OLDER` it knows no instructions of one
//!   architecture alone.
//!   `STANDIN_REFUSES_MAPS` has it encode no tensor map. `STANDIN_MULTIPROCESSORS` is their number, of 2048 threads each: draws of random numbers depend on it.

#![allow(clippy::missing_safety_doc, non_snake_case)]

mod blas;
mod compiler;
mod dnn;
mod graphs;
mod launches;
mod lt;
mod maps;
mod matrices;
mod memory;
mod numbers;
mod solver;
mod streams;

#[path = "../../../src/device/cuda/kernels/tests/host_source.rs"]
mod host_source;

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_uint};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering::SeqCst};

pub const INVALID_VALUE: c_int = 1;
pub const OUT_OF_MEMORY: c_int = 2;
pub const INVALID_IMAGE: c_int = 200;
pub const INVALID_CONTEXT: c_int = 201;
pub const INVALID_HANDLE: c_int = 400;
pub const NOT_FOUND: c_int = 500;
pub const NOT_READY: c_int = 600;
pub const ILLEGAL_ADDRESS: c_int = 700;
pub const ASSERT: c_int = 710;
pub const CAPTURE_UNSUPPORTED: c_int = 900;

pub const DEVICES: usize = 2;

/// What every call answers once the device has failed.
static FAILED: AtomicI32 = AtomicI32::new(0);

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(usize::MAX) };
}

pub fn put<T>(place: *mut T, value: T) -> c_int {
    unsafe { *place = value };
    0
}

pub fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|n| n.parse().ok())
}

/// Whether a library can start: it needs memory, and none may while work of a stream is written down.
pub fn starts() -> bool {
    if streams::lock().is_capturing() {
        eprintln!("a library starts while a stream is captured");
        return false;
    }
    current().is_some_and(|device| memory::free(device) >= 1 << 20)
}

pub fn capability() -> c_int {
    number("STANDIN_CAPABILITY").map_or(86, |n| n as c_int)
}

/// Where compiled kernels are kept, where kernels compute.
pub fn computes() -> Option<&'static str> {
    static FOLDER: OnceLock<Option<String>> = OnceLock::new();
    FOLDER.get_or_init(|| std::env::var("STANDIN_COMPUTES").ok()).as_deref()
}

/// The bytes of each device.
pub fn capacity() -> usize {
    number("STANDIN_MEMORY").unwrap_or(64) as usize * (1 << 20)
}

pub fn state() -> c_int {
    FAILED.load(SeqCst)
}

pub fn fail(code: c_int) {
    FAILED.store(code, SeqCst);
}

/// The device whose context the thread made current.
pub fn current() -> Option<usize> {
    Some(CURRENT.get()).filter(|device| *device < DEVICES)
}

/// Ends the process: no program may do what this one did.
pub fn wrong(what: &str) -> ! {
    eprintln!("stand-in driver, seed {}: {what}", streams::seed());
    std::process::abort();
}

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(_: c_uint) -> c_int {
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cuDriverGetVersion(version: *mut c_int) -> c_int {
    put(version, 12_080)
}
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetCount(count: *mut c_int) -> c_int {
    put(count, DEVICES as c_int)
}
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> c_int {
    put(device, ordinal)
}
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetName(name: *mut u8, _: c_int, _: c_int) -> c_int {
    for (i, byte) in b"Stand-in\0".iter().enumerate() {
        unsafe { *name.add(i) = *byte };
    }
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetPCIBusId(name: *mut u8, room: c_int, device: c_int) -> c_int {
    cuDeviceGetName(name, room, device)
}
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, _: c_int) -> c_int {
    put(bytes, capacity())
}
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetAttribute(value: *mut c_int, which: c_int, _: c_int) -> c_int {
    // Grids grow with the multiprocessors: few where each block takes its time.
    let (multiprocessors, threads) = match number("STANDIN_MULTIPROCESSORS") {
        Some(count) => (count as c_int, 2048),
        None if computes().is_some() => (2, 1024),
        None => (40, 1536),
    };
    let said = match which {
        75 => capability() / 10,
        76 => capability() % 10,
        16 => multiprocessors,
        39 => threads,
        8 => 48 << 10,
        38 => 4 << 20,
        _ => 1,
    };
    put(value, said)
}
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceCanAccessPeer(can: *mut c_int, _: c_int, _: c_int) -> c_int {
    put(can, 1)
}
#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRetain(context: *mut usize, device: c_int) -> c_int {
    put(context, 1000 + device as usize)
}
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(context: usize) -> c_int {
    CURRENT.set(context - 1000);
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxEnablePeerAccess(_: usize, _: c_uint) -> c_int {
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorName(code: c_int, name: *mut *const c_char) -> c_int {
    let text = match code {
        INVALID_VALUE => c"CUDA_ERROR_INVALID_VALUE",
        OUT_OF_MEMORY => c"CUDA_ERROR_OUT_OF_MEMORY",
        INVALID_CONTEXT => c"CUDA_ERROR_INVALID_CONTEXT",
        INVALID_HANDLE => c"CUDA_ERROR_INVALID_HANDLE",
        ILLEGAL_ADDRESS => c"CUDA_ERROR_ILLEGAL_ADDRESS",
        ASSERT => c"CUDA_ERROR_ASSERT",
        CAPTURE_UNSUPPORTED => c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
        _ => return INVALID_VALUE,
    };
    put(name, text.as_ptr())
}
#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorString(code: c_int, text: *mut *const c_char) -> c_int {
    let said = match code {
        INVALID_VALUE => c"invalid argument",
        OUT_OF_MEMORY => c"out of memory",
        INVALID_CONTEXT => c"invalid device context",
        INVALID_HANDLE => c"invalid resource handle",
        ILLEGAL_ADDRESS => c"an illegal memory access was encountered",
        ASSERT => c"device-side assert triggered",
        CAPTURE_UNSUPPORTED => c"operation not permitted when stream is capturing",
        _ => return INVALID_VALUE,
    };
    put(text, said.as_ptr())
}

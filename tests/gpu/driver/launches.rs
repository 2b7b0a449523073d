//! Modules, their functions, and launches.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::memory::inside;
use crate::streams::{self, Work};
use crate::{
    ASSERT, ILLEGAL_ADDRESS, INVALID_CONTEXT, INVALID_HANDLE, INVALID_IMAGE, INVALID_VALUE, NOT_FOUND,
    capability, computes, current, fail, number, put, state,
};

/// Bytes of shared memory that a launch may have unless it asked for more.
const FREE_SHARED: u32 = 48 << 10;
/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const DYNAMIC_SHARED: c_int = 8;

static LAUNCHES: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

type Run = unsafe extern "C" fn(*const c_uint, *const c_uint, *mut *mut c_void) -> *const c_char;
type Sizes = unsafe extern "C" fn(*mut usize) -> usize;

/// A module is the library that was compiled for it; null where kernels do nothing.
struct Module(*mut c_void, usize);

pub struct Function {
    name: String,
    device: usize,
    /// What runs it, and the bytes of its arguments.
    code: Option<(Run, Vec<usize>)>,
    shared: u32,
}

/// `code ` and a library's path, as the compiler here gives it.
#[unsafe(no_mangle)]
pub extern "C" fn cuModuleLoadData(module: *mut *mut c_void, image: *const c_char) -> c_int {
    let Some(device) = current() else { return INVALID_CONTEXT };
    if unsafe { std::slice::from_raw_parts(image.cast::<u8>(), 5) } != b"code " {
        return INVALID_IMAGE;
    }
    let mut library = std::ptr::null_mut();
    if computes().is_some() {
        const NOW: c_int = 2;
        library = unsafe { dlopen(image.add(5), NOW) };
        if library.is_null() {
            eprintln!("{}", unsafe { CStr::from_ptr(dlerror()) }.to_string_lossy());
            return INVALID_IMAGE;
        }
    }
    put(module, Box::into_raw(Box::new(Module(library, device))).cast())
}
#[unsafe(no_mangle)]
pub extern "C" fn cuModuleGetFunction(
    function: *mut *mut Function,
    module: *const c_void,
    name: *const c_char,
) -> c_int {
    let Module(library, device) = unsafe { &*module.cast::<Module>() };
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    let mut code = None;
    if !library.is_null() {
        let of = |what: &str| -> Option<*mut c_void> {
            let symbol = CString::new(format!("{what}_{name}")).ok()?;
            Some(unsafe { dlsym(*library, symbol.as_ptr()) }).filter(|at| !at.is_null())
        };
        let (Some(run), Some(sizes)) = (of("run"), of("sizes")) else { return NOT_FOUND };
        let (run, sizes) = unsafe {
            (std::mem::transmute::<*mut c_void, Run>(run), std::mem::transmute::<*mut c_void, Sizes>(sizes))
        };
        let mut bytes = vec![0; 64];
        let count = unsafe { sizes(bytes.as_mut_ptr()) };
        bytes.truncate(count);
        code = Some((run, bytes));
    }
    put(function, Box::into_raw(Box::new(Function { name, device: *device, code, shared: FREE_SHARED })))
}
/// The bytes that a launch can ask for.
fn most_shared() -> u32 {
    if capability() == 90 { 227 << 10 } else { 99 << 10 }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetAttribute(function: *mut Function, which: c_int, value: c_int) -> c_int {
    if which != DYNAMIC_SHARED || value as u32 > most_shared() {
        return INVALID_VALUE;
    }
    unsafe { (*function).shared = value as u32 };
    state()
}

pub fn log(line: &str) {
    if let Ok(path) = std::env::var("STANDIN_LOG") {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        writeln!(file, "{line}").unwrap();
    }
}

/// A launch's arguments, read at the call.
struct Arguments(Vec<Vec<u128>>);

impl Arguments {
    fn read(from: *const *const u8, sizes: &[usize]) -> Arguments {
        let one = |(i, bytes): (usize, &usize)| {
            // In words as wide as any alignment.
            let mut words = vec![0u128; bytes.div_ceil(16)];

            unsafe { std::ptr::copy(*from.add(i), words.as_mut_ptr().cast::<u8>(), *bytes) };
            words
        };
        Arguments(sizes.iter().enumerate().map(one).collect())
    }

    /// Kernels take their arguments by value, so nobody writes through these.
    fn pointers(&self) -> Vec<*mut c_void> {
        self.0.iter().map(|words| words.as_ptr().cast_mut().cast()).collect()
    }
}

/// What runs of a launch when its time has come.
fn task(run: Run, arguments: Arguments, grid: [c_uint; 3], block: [c_uint; 3], name: String) -> Work {
    Work::Do(Arc::new(move || {
        let mut pointers = arguments.pointers();
        let said = unsafe { run(grid.as_ptr(), block.as_ptr(), pointers.as_mut_ptr()) };
        if !said.is_null() {
            let said = unsafe { CStr::from_ptr(said) }.to_string_lossy();
            eprintln!("{name}: assertion failed: {said}");
            fail(ASSERT);
        }
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLaunchKernel(
    function: *const Function,
    x: c_uint,
    y: c_uint,
    z: c_uint,
    i: c_uint,
    j: c_uint,
    k: c_uint,
    shared: c_uint,
    stream: usize,
    arguments: *const *const u8,
    _extra: usize,
) -> c_int {
    let function = unsafe { &*function };
    let number_of_it = LAUNCHES.fetch_add(1, SeqCst) + 1;
    let mut all = streams::lock();
    if number("STANDIN_FAIL_AT") == Some(number_of_it as u64) {
        fail(ILLEGAL_ADDRESS);
        all.forget();
        return 0;
    }
    if state() != 0 {
        return state();
    }
    let Some(device) = all.device_of(stream) else { return INVALID_HANDLE };
    if device != function.device || current() != Some(device) {
        return INVALID_HANDLE;
    }
    let blocks = u64::from(x) * u64::from(y) * u64::from(z);
    let threads = u64::from(i) * u64::from(j) * u64::from(k);
    let fits = x < 1 << 31 && y < 1 << 16 && z < 1 << 16 && k <= 64 && shared <= function.shared;
    if blocks == 0 || threads == 0 || threads > 1024 || !fits {
        return INVALID_VALUE;
    }

    let known = inside(unsafe { **arguments.cast::<*const u64>() }, 1);
    let line = format!("{} {blocks} {threads} {known}", function.name);
    match all.captured(stream) {
        Some(captured) => captured.lines.push(line),
        None => log(&line),
    }
    match &function.code {
        Some((run, sizes)) => {
            let arguments = Arguments::read(arguments, sizes);
            all.enqueue(stream, task(*run, arguments, [x, y, z], [i, j, k], function.name.clone()))
        }
        None => all.enqueue(stream, Work::Do(Arc::new(|| {}))),
    }
}

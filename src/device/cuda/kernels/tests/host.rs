//! Runs kernels on the host, compiled by its C++ compiler: what they compute, without a GPU.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::{LazyLock, Mutex};

use crate::device::Cancel;
use crate::device::cpu::testing::{Sample, assert_close, launch};
use crate::device::kernel::{Arg, Kernel, Launch, View};

use super::super::operands::ALL_FAR;
use super::super::{EncodedMap, Gpu, Key, TensorMap, plan, scratch_bytes};
use super::host_source::{compile, host_source};

/// Runs a grid of blocks; the assertion that failed, or null.
type Entry = unsafe extern "C" fn(*const u32, *const u32, *mut *mut c_void) -> *const c_char;

pub(super) const SMALL: Gpu =
    Gpu { multiprocessors: 2, threads_per_multiprocessor: 1024, wgmma: false, in_order: false };
pub(super) const HOPPER: Gpu = Gpu { wgmma: true, ..SMALL };

static COMPILED: LazyLock<Mutex<HashMap<Key, Entry>>> = LazyLock::new(Mutex::default);

/// Kernels hold their state in globals: one runs at a time.
fn compiled(key: Key, known: &mut HashMap<Key, Entry>) -> Entry {
    *known.entry(key).or_insert_with(|| load(&key.source(), &key.entry()))
}

fn load(source: &str, entry: &str) -> Entry {
    let folder = std::env::temp_dir().join(format!("host-kernels-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (text, library) = (folder.join(format!("{entry}.cc")), folder.join(format!("{entry}.so")));
    std::fs::write(&text, host_source(source, entry)).unwrap();
    let errors = compile(&text, &library, "-O0").err();
    assert_eq!(errors, None, "{entry}");
    // SAFETY: the library was made just now, its constructors do nothing, and the function is of this type.
    unsafe {
        let library = Box::leak(Box::new(libloading::Library::new(&library).unwrap()));
        *library.get::<Entry>(format!("run_{entry}")).unwrap()
    }
}

/// A kernel of a test's own, behind the source of another whose functions it calls, for blocks of so many threads. It
/// takes addresses.
pub(super) fn probe(key: Key, entry: &str, text: &str) -> impl Fn(u32, &[u64]) {
    let run = load(&format!("{}\n{text}", key.source()), entry);
    move |threads, args| {
        let pointers = args.iter().map(|arg| std::ptr::from_ref(arg).cast_mut().cast());
        // SAFETY: the arguments are words, and address memory of the test.
        let said = unsafe {
            run([1; 3].as_ptr(), [threads, 1, 1].as_ptr(), pointers.collect::<Vec<_>>().as_mut_ptr())
        };
        assert!(said.is_null());
    }
}

/// Runs the plan of a launch on host memory.
pub(super) fn run(kernel: &Kernel, inputs: &[Arg], outputs: &[View]) {
    run_on(&SMALL, kernel, inputs, outputs);
}

/// Tensor maps as `wgmma.h` takes them.
fn plainly(map: &TensorMap) -> Option<EncodedMap> {
    let words = [map.address].into_iter().chain(map.sizes).chain(map.strides).chain([u64::from(map.rows)]);
    let mut all = [0; 16];
    all.iter_mut().zip(words).for_each(|(to, word)| *to = word);
    Some(all)
}

pub(crate) fn run_on(gpu: &Gpu, kernel: &Kernel, inputs: &[Arg], outputs: &[View]) {
    let cancel = Cancel::default();
    let launch = Launch { op: "test", kernel, inputs, outputs, stream: 0, cancel: &cancel, timed: false };
    let bytes = scratch_bytes(&launch, gpu);
    let mut scratch = vec![0xabu8; bytes + 64];
    let mut plan = plan(&launch, gpu, scratch.as_mut_ptr() as u64).expect("a kernel");
    assert!(plan.encode(plainly));
    let mut known = COMPILED.lock().unwrap_or_else(|e| e.into_inner());
    for mut step in plan.steps {
        let threads: u32 = step.block.iter().product();
        assert!((1..=1024).contains(&threads) && step.grid.iter().all(|&g| g > 0), "{step:?}");
        let entry = compiled(step.key, &mut known);
        // SAFETY: the arguments are those of the kernel, and address memory of the test; what it says stays.
        unsafe {
            let said = entry(step.grid.as_ptr(), step.block.as_ptr(), step.args.pointers().as_mut_ptr());
            assert!(said.is_null(), "{kernel:?}: {:?}", CStr::from_ptr(said));
        }
    }
    assert!(scratch.iter().skip(bytes).all(|&b| b == 0xab), "{kernel:?} wrote behind its scratch memory");
}

/// Runs a kernel on the CPU and, on outputs of its own, as a GPU does, with indices of 32 bits and of 64, and compares all
/// outputs.
#[track_caller]
pub(super) fn agree(
    kernel: &Kernel,
    inputs: &[Arg],
    outputs: impl Fn() -> Vec<Sample>,
    rtol: f64,
    atol: f64,
) {
    agree_on(&SMALL, kernel, inputs, outputs, rtol, atol);
}

/// The same on some GPU.
#[track_caller]
pub(super) fn agree_on(
    gpu: &Gpu,
    kernel: &Kernel,
    inputs: &[Arg],
    outputs: impl Fn() -> Vec<Sample>,
    rtol: f64,
    atol: f64,
) {
    let want = outputs();
    let want_views: Vec<View> = want.iter().map(Sample::view).collect();
    launch(kernel, inputs, &want_views).unwrap();
    for far in [false, true] {
        let got = outputs();
        let got_views: Vec<View> = got.iter().map(Sample::view).collect();
        ALL_FAR.set(far);
        run_on(gpu, kernel, inputs, &got_views);
        ALL_FAR.set(false);
        for (got, want) in got.iter().zip(&want) {
            assert_close(&got.values(), &want.values(), rtol, atol);
        }
    }
}

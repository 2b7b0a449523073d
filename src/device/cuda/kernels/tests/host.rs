//! Runs kernels on the host, compiled by its C++ compiler: what they compute, without a GPU.

use std::collections::HashMap;
use std::ffi::c_void;
use std::process::Command;
use std::sync::{LazyLock, Mutex};

use crate::device::Cancel;
use crate::device::cpu::testing::{Sample, assert_close, launch};
use crate::device::kernel::{Arg, Kernel, Launch, View};

use super::super::{Gpu, Key, plan, scratch_bytes};

type Entry = unsafe extern "C" fn(*const u32, *const u32, *mut *mut c_void);

pub(super) const SMALL: Gpu = Gpu { multiprocessors: 2, threads_per_multiprocessor: 1024 };

static COMPILED: LazyLock<Mutex<HashMap<Key, Entry>>> = LazyLock::new(Mutex::default);

/// The text of a kernel with what the host lacks put in its place.
fn host_source(key: &Key) -> String {
    let mut source = key
        .source()
        .replace(include_str!("../../../../../kernels/tensor_core.cuh"), include_str!("tensor_core.h"));
    for (asm, plain) in [
        (r#"asm("cvt.f32.f16 %0, %1;" : "=f"(to) : "h"(v.bits));"#, "to = of_half(v.bits);"),
        (r#"asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.bits) : "f"(float(v)));"#, "to.bits = half_of(float(v));"),
        (
            r#"asm volatile("red.add.noftz.f16 [%0], %1;" ::"l"(y), "h"(As<float16>::of(v).bits) : "memory");"#,
            "y->bits = half_of(of_half(y->bits) + float(v));",
        ),
        (
            r#"extern "C" __device__ void __assertfail(const char*, const char*, unsigned int, const char*, size_t);"#,
            "",
        ),
    ] {
        source = source.replace(asm, plain);
    }
    assert!(!source.contains("asm"), "the host runs no PTX");
    let entry = key.entry();
    format!(
        "{}\n#undef INFINITY\n#undef NAN\n{source}\n\
         extern \"C\" __attribute__((visibility(\"default\"))) void run_on_host(const unsigned* grid, const unsigned* block, void** args) {{\n\
             gridDim = Three{{grid[0], grid[1], grid[2]}}, blockDim = Three{{block[0], block[1], block[2]}};\n\
             work = [](void** args) {{ start({entry}, args); }};\n\
             work_args = args;\n\
             for (unsigned z = 0; z < grid[2]; z++)\n\
                 for (unsigned y = 0; y < grid[1]; y++)\n\
                     for (unsigned x = 0; x < grid[0]; x++) {{\n\
                         blockIdx = Three{{x, y, z}};\n\
                         run_block();\n\
                     }}\n\
         }}\n",
        include_str!("host.h")
    )
}

/// Kernels hold their state in globals: one runs at a time.
fn compiled(key: Key, known: &mut HashMap<Key, Entry>) -> Entry {
    *known.entry(key).or_insert_with(|| {
        let folder = std::env::temp_dir().join(format!("host-kernels-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (text, library) = (folder.join(key.entry() + ".cc"), folder.join(key.entry() + ".so"));
        std::fs::write(&text, host_source(&key)).unwrap();
        let mut command = Command::new("c++");
        command.args([
            "-std=c++17",
            "-O0",
            "-w",
            "-ffp-contract=off",
            "-fvisibility=hidden",
            "-fPIC",
            "-shared",
            "-o",
        ]);
        let output = command.arg(&library).arg(&text).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {errors}", key.entry());
        // SAFETY: the library was made just now, its constructors do nothing, and the function is of this type.
        unsafe {
            let library = Box::leak(Box::new(libloading::Library::new(&library).unwrap()));
            *library.get::<Entry>(b"run_on_host").unwrap()
        }
    })
}

/// Runs the plan of a launch on host memory.
pub(super) fn run(kernel: &Kernel, inputs: &[Arg], outputs: &[View]) {
    run_on(&SMALL, kernel, inputs, outputs);
}

pub(crate) fn run_on(gpu: &Gpu, kernel: &Kernel, inputs: &[Arg], outputs: &[View]) {
    let cancel = Cancel::default();
    let launch = Launch { op: "test", kernel, inputs, outputs, stream: 0, cancel: &cancel, timed: false };
    let bytes = scratch_bytes(&launch, gpu);
    let mut scratch = vec![0xabu8; bytes + 64];
    let plan = plan(&launch, gpu, scratch.as_mut_ptr() as u64).expect("a kernel");
    let mut known = COMPILED.lock().unwrap_or_else(|e| e.into_inner());
    for mut step in plan.steps {
        let threads: u32 = step.block.iter().product();
        assert!((1..=1024).contains(&threads) && step.grid.iter().all(|&g| g > 0), "{step:?}");
        let entry = compiled(step.key, &mut known);
        // SAFETY: the arguments are those of the kernel, and address memory of the test.
        unsafe { entry(step.grid.as_ptr(), step.block.as_ptr(), step.args.pointers().as_mut_ptr()) };
    }
    assert!(scratch.iter().skip(bytes).all(|&b| b == 0xab), "{kernel:?} wrote behind its scratch memory");
}

/// Runs a kernel on the CPU and, on outputs of its own, as a GPU does, and compares all outputs.
#[track_caller]
pub(super) fn agree(
    kernel: &Kernel,
    inputs: &[Arg],
    outputs: impl Fn() -> Vec<Sample>,
    rtol: f64,
    atol: f64,
) {
    let (want, got) = (outputs(), outputs());
    let want_views: Vec<View> = want.iter().map(Sample::view).collect();
    launch(kernel, inputs, &want_views).unwrap();
    let got_views: Vec<View> = got.iter().map(Sample::view).collect();
    run(kernel, inputs, &got_views);
    for (got, want) in got.iter().zip(&want) {
        assert_close(&got.values(), &want.values(), rtol, atol);
    }
}

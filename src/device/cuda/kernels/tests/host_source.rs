//! A kernel's text as C++ for the host. The tests here use it, and so does the driver that `tests/gpu` builds: this file
//! stands alone, without the crate.

use std::path::Path;
use std::process::Command;

/// What the host lacks, and what does the same there.
const INSTEAD: [(&str, &str); 5] = [
    (include_str!("../../../../../kernels/tensor_core.cuh"), include_str!("tensor_core.h")),
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
];

/// The text of a kernel with two functions behind it: `run_` and its name runs a grid, `sizes_` and its name tells the
/// bytes of its arguments.
pub(super) fn host_source(source: &str, entry: &str) -> String {
    let source = INSTEAD.iter().fold(source.to_owned(), |text, (cuda, host)| text.replace(cuda, host));
    assert!(!source.contains("asm"), "the host runs no PTX");
    let visible = r#"extern "C" __attribute__((visibility("default")))"#;
    format!(
        "{}\n#undef INFINITY\n#undef NAN\n{source}\n\
         {visible} const char* run_{entry}(const unsigned* grid, const unsigned* block, void** args) {{\n\
             work = [](void** args) {{ start({entry}, args); }};\n\
             return run_grid(grid, block, args);\n\
         }}\n\
         {visible} size_t sizes_{entry}(size_t* to) {{ return sizes_of({entry}, to); }}\n",
        include_str!("host.h")
    )
}

/// Makes a library of such a text.
///
/// # Errors
/// What the compiler says.
pub(super) fn compile(text: &Path, library: &Path, level: &str) -> Result<(), String> {
    let mut command = Command::new("c++");
    command.args(["-std=c++17", level, "-w", "-ffp-contract=off", "-fvisibility=hidden", "-fPIC", "-shared"]);
    let output = command.arg("-o").arg(library).arg(text).output().map_err(|e| format!("c++: {e}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

//! A kernel's text as C++ for the host. The tests here use it, and so does the driver that `tests/gpu` builds: this file
//! stands alone, without the crate.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the host lacks, and what does the same there.
const INSTEAD: [(&str, &str); 6] = [
    (include_str!("../../../../../kernels/tensor_core.cuh"), include_str!("tensor_core.h")),
    (include_str!("../../../../../kernels/wgmma.cuh"), include_str!("wgmma.h")),
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

/// What every such text begins with.
const HEADER: &str = include_str!("host.h");

/// The same for the library and for what is compiled ahead of it.
const OPTIONS: [&str; 6] =
    ["-std=c++17", "-w", "-ffp-contract=off", "-fvisibility=hidden", "-fPIC", "-U_FORTIFY_SOURCE"];

/// The text of a kernel, to go behind the header, with two functions behind it: `run_` and its name runs a grid, `sizes_` and its name tells the
/// bytes of its arguments.
pub(super) fn host_source(source: &str, entry: &str) -> String {
    let source = INSTEAD.iter().fold(source.to_owned(), |text, (cuda, host)| text.replace(cuda, host));
    assert!(!source.contains("asm"), "the host runs no PTX");
    let visible = r#"extern "C" __attribute__((visibility("default")))"#;
    format!(
        "#undef INFINITY\n#undef NAN\n{source}\n\
         {visible} const char* run_{entry}(const unsigned* grid, const unsigned* block, void** args) {{\n\
             work = [](void** args) {{ start({entry}, args); }};\n\
             return run_grid(grid, block, args);\n\
         }}\n\
         {visible} size_t sizes_{entry}(size_t* to) {{ return sizes_of({entry}, to); }}\n"
    )
}

/// Makes a library of such a text, optimised as `level` says. In the text's folder the header is compiled once for all.
///
/// # Errors
/// What the compiler says.
pub(super) fn compile(text: &Path, library: &Path, level: &str) -> Result<(), String> {
    let header = header(text.parent().unwrap_or(Path::new(".")), level)?;
    run(Command::new("c++").args(OPTIONS).args([level, "-shared", "-include"]).args([
        header.as_path(),
        Path::new("-o"),
        library,
        text,
    ]))
}

/// The header in a folder, with what the compiler made of it beside: half of a kernel's time is the header's otherwise.
fn header(folder: &Path, level: &str) -> Result<PathBuf, String> {
    let mut hasher = DefaultHasher::new();
    (HEADER, OPTIONS, level).hash(&mut hasher);
    let header = folder.join(format!("host-{:016x}.h", hasher.finish()));
    let compiled = header.with_extension("h.gch");
    if !compiled.exists() {
        // Whole or not at all, whoever else makes the same now.
        let part = |end: &str| header.with_extension(format!("{}.{end}", std::process::id()));
        let (written, made) = (part("h"), part("gch"));
        std::fs::write(&written, HEADER).map_err(|e| e.to_string())?;
        run(Command::new("c++")
            .args(OPTIONS)
            .args([level, "-x", "c++-header", "-o"])
            .args([&made, &written]))?;
        std::fs::rename(&written, &header).map_err(|e| e.to_string())?;
        std::fs::rename(&made, &compiled).map_err(|e| e.to_string())?;
    }
    Ok(header)
}

fn run(compiler: &mut Command) -> Result<(), String> {
    let output = compiler.output().map_err(|e| format!("c++: {e}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

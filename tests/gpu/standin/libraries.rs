//! The libraries that `tests/gpu/driver` becomes.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Driver and compiler; the libraries that multiply, convolve and take apart. One file is all of them, so that they share streams.
const ALONE: [&str; 2] = ["libcuda.so.1", "libnvrtc.so.12"];
const BESIDE: [&str; 4] = ["libcublas.so.12", "libcublasLt.so.12", "libcudnn.so.9", "libcusolver.so.11"];

/// The folder with driver and compiler.
pub(super) fn libraries() -> PathBuf {
    built().join("alone")
}

/// The folder with cuBLAS, cuBLASLt, cuDNN and cuSOLVER too.
pub(super) fn all_libraries() -> PathBuf {
    built().join("all")
}

/// Where compiled kernels are kept, for all processes and later runs.
pub(super) fn kernels() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("standin-kernels")
}

/// Where the program under test keeps machine code, which names the kernels of these very libraries.
pub(super) fn cache() -> PathBuf {
    built().join("cache")
}

/// Whether kernels can be compiled for the host.
pub(super) fn has_compiler() -> bool {
    let found = Command::new("c++").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        println!("skipped: there is no C++ compiler (`c++`) to run kernels with");
    }
    found
}

/// Built once for what the sources are now, whichever of the tests, in processes of their own, comes first.
fn built() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("standin-{:016x}", hash(root)));
        if !folder.exists() {
            let part = folder.with_extension(std::process::id().to_string());
            build(&root.join("tests/gpu/driver/lib.rs"), &part);
            // Someone else's is as good.
            if std::fs::rename(&part, &folder).is_err() {
                std::fs::remove_dir_all(&part).unwrap();
            }
        }
        folder
    })
}

/// Of all that the library is built from.
fn hash(root: &Path) -> u64 {
    let own = std::fs::read_dir(root.join("tests/gpu/driver")).unwrap().map(|entry| entry.unwrap().path());
    let shared = ["host_source.rs", "host.h", "tensor_core.h", "wgmma.h"]
        .map(|file| root.join("src/device/cuda/kernels/tests").join(file));
    let mut files: Vec<PathBuf> = own.chain(shared).collect();
    files.extend(["kernels/tensor_core.cuh", "kernels/wgmma.cuh"].map(|file| root.join(file)));
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        std::fs::read(file).unwrap().hash(&mut hasher);
    }
    hasher.finish()
}

fn build(source: &Path, folder: &Path) {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder.join("alone")).unwrap();
    std::fs::create_dir_all(folder.join("all")).unwrap();
    let library = folder.join("standin.so");
    let rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition=2024", "--crate-type=cdylib", "--crate-name=standin", "-O", "-o"])
        .args([&library, source])
        .output()
        .unwrap();
    assert!(rustc.status.success(), "{}", String::from_utf8_lossy(&rustc.stderr));
    // The loader knows a file again by whatever name it comes.
    for name in ALONE {
        std::fs::hard_link(&library, folder.join("alone").join(name)).unwrap();
    }
    for name in ALONE.iter().chain(&BESIDE) {
        std::fs::hard_link(&library, folder.join("all").join(name)).unwrap();
    }
}

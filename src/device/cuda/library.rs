//! Loading a library from wherever it is, and asking it for its version.

use std::ffi::c_int;
use std::fs;
use std::path::{Path, PathBuf};

use crate::base::sorted;
use crate::device::cuda::found::{Library, Located, Missing};

use super::folders::{Folders, VARIABLE};

/// A library that is looked for.
pub(super) struct Wanted {
    pub name: &'static str,
    /// Its file's name, without prefix and suffix.
    file: &'static str,
    purpose: &'static str,
    /// The Python package that brings it.
    package: &'static str,
    version: fn(&libloading::Library) -> Option<String>,
}

/// A library that was loaded.
pub(super) struct Loaded {
    pub library: libloading::Library,
    pub path: String,
}

impl Wanted {
    pub(super) fn all() -> [Wanted; 6] {
        [
            Wanted {
                name: "NVRTC",
                file: "nvrtc",
                purpose: "compiles kernels",
                package: "nvidia-cuda-nvrtc-cu12",
                version: nvrtc_version,
            },
            Wanted {
                name: "cuBLAS",
                file: "cublas",
                purpose: "multiplies matrices",
                package: "nvidia-cublas-cu12",
                version: |library| by_property(library, "cublasGetProperty"),
            },
            Wanted {
                name: "cuBLASLt",
                file: "cublasLt",
                purpose: "multiplies matrices with bias and activation in one launch",
                package: "nvidia-cublas-cu12",
                version: |library| number(library, "cublasLtGetVersion"),
            },
            Wanted {
                name: "cuSOLVER",
                file: "cusolver",
                purpose: "takes matrices apart",
                package: "nvidia-cusolver-cu12",
                version: |library| by_property(library, "cusolverGetProperty"),
            },
            Wanted {
                name: "cuDNN",
                file: "cudnn",
                purpose: "convolves",
                package: "nvidia-cudnn-cu12",
                version: |library| number(library, "cudnnGetVersion"),
            },
            Wanted {
                name: "NCCL",
                file: "nccl",
                purpose: "lets several GPUs sum and share",
                package: "nvidia-nccl-cu12",
                version: nccl_version,
            },
        ]
    }
}

/// Finds a library and lets it stay loaded.
pub(super) fn find(wanted: &Wanted, folders: &Folders) -> Library {
    let found = load(&[wanted.file], folders, &folders.toolkit).map_err(|reason| Missing {
        reason,
        remedy: format!(
            "install the CUDA toolkit or `pip install {}`, or name the folder in {VARIABLE}",
            wanted.package
        ),
    });
    let found = found.map(|loaded| {
        let version = (wanted.version)(&loaded.library);
        // Kept for the rest of the process: a later load then finds this very library.
        std::mem::forget(loaded.library);
        Located { path: loaded.path, version }
    });
    Library { name: wanted.name.into(), purpose: wanted.purpose.into(), found }
}

/// Loads the first library of these names that loads: from the folders the user named, by the loader's own
/// search, from `others`. The error says what was tried.
pub(super) fn load(names: &[&str], folders: &Folders, others: &[PathBuf]) -> Result<Loaded, String> {
    let mut failures = Vec::new();
    let by_name = || names.iter().flat_map(|name| in_loaders_folders(name)).map(PathBuf::from);
    let candidates = files(names, &folders.named).into_iter().chain(by_name()).chain(files(names, others));
    for candidate in candidates {
        // SAFETY: loading runs the initialisers of a library of CUDA, which the user installed: by name from
        // the loader's folders, or by path from a toolkit's or one that the user named.
        match unsafe { libloading::Library::new(&candidate) } {
            Ok(library) => return Ok(Loaded { library, path: place(&candidate) }),
            Err(error) if candidate.is_absolute() => failures.push(format!("{error}")),
            Err(_) => {}
        }
    }
    let name = names.first().copied().unwrap_or_default();
    let file = format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    Err(match failures.first() {
        Some(failure) => format!("{file} is there but does not load: {}", printable(failure)),
        None => format!("{file} was not found"),
    })
}

/// The names under which the loader may know a library: the bindings' own, and those of other versions.
fn in_loaders_folders(name: &str) -> Vec<String> {
    use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
    // "8" is cuDNN's, "11.2" the NVRTC of all of CUDA 11.
    let others = ["13", "2", "8", "11.2"].map(|version| format!("{DLL_PREFIX}{name}{DLL_SUFFIX}.{version}"));
    cudarc::get_lib_name_candidates(name).into_iter().chain(others).collect()
}

/// A symbol of a library, if it has it.
///
/// # Safety
/// `T` is the type of what `name` names.
pub(super) unsafe fn symbol<'l, T>(
    library: &'l libloading::Library,
    name: &str,
) -> Option<libloading::Symbol<'l, T>> {
    // SAFETY: the caller vouches for the type.
    unsafe { library.get(name) }.ok()
}

/// Text from outside, without what acts on a terminal.
pub(super) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The files in these folders that carry one of the names, the newest version first in each.
fn files(names: &[&str], folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for folder in folders {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut here: Vec<PathBuf> =
            entries.filter(|path| names.iter().any(|name| is_file_of(path, name))).collect();
        sorted::sort_by_key(&mut here, |path| std::cmp::Reverse(numbers(path)));
        all.extend(here);
    }
    all
}

/// `libcublas.so.12` is of `cublas`, `libcublasLt.so.12` is not.
fn is_file_of(path: &Path, name: &str) -> bool {
    let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
    let rest = file.strip_prefix(std::env::consts::DLL_PREFIX).and_then(|rest| rest.strip_prefix(name));
    rest.is_some_and(|rest| {
        let named = rest.starts_with(|c: char| c == '.' || c.is_ascii_digit());
        named && rest.contains(std::env::consts::DLL_SUFFIX)
    })
}

/// The numbers in a file's name, by which versions are told apart.
fn numbers(path: &Path) -> Vec<u64> {
    let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
    file.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

/// Where a library that was loaded by name lies, where the system says so.
fn place(candidate: &Path) -> String {
    let shown = || candidate.display().to_string();
    if candidate.is_absolute() {
        return shown();
    }
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let stem = shown().split('.').next().unwrap_or_default().to_owned();
    let paths = maps.lines().filter_map(|line| line.find('/').and_then(|at| line.get(at..)));
    let of_it = |path: &&str| {
        let file = path.rsplit('/').next().unwrap_or_default();
        file.strip_prefix(stem.as_str()).is_some_and(|rest| rest.starts_with('.'))
    };
    paths.into_iter().find(of_it).map_or_else(shown, str::to_owned)
}

fn nvrtc_version(library: &libloading::Library) -> Option<String> {
    type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
    // SAFETY: the type is NVRTC's.
    let call = unsafe { symbol::<Version>(library, "nvrtcVersion") }?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both places live through the call.
    let result = unsafe { call(&mut major, &mut minor) };
    (result == 0).then(|| format!("{major}.{minor}"))
}

/// The version of a library that tells its parts one by one.
fn by_property(library: &libloading::Library, name: &str) -> Option<String> {
    type Property = unsafe extern "C" fn(c_int, *mut c_int) -> c_int;
    // SAFETY: the type is cuBLAS's and cuSOLVER's.
    let call = unsafe { symbol::<Property>(library, name) }?;
    let property = |which: c_int| {
        let mut value = 0;
        // SAFETY: the place lives through the call; 0, 1 and 2 are the parts of the version.
        let result = unsafe { call(which, &mut value) };
        (result == 0).then_some(value)
    };
    Some(format!("{}.{}.{}", property(0)?, property(1)?, property(2)?))
}

fn nccl_version(library: &libloading::Library) -> Option<String> {
    type Version = unsafe extern "C" fn(*mut c_int) -> c_int;
    // SAFETY: the type is NCCL's.
    let call = unsafe { symbol::<Version>(library, "ncclGetVersion") }?;
    let mut version = 0;
    // SAFETY: the place lives through the call.
    let result = unsafe { call(&mut version) };
    (result == 0).then(|| dotted(version as usize))
}

/// The version that a library gives as one number.
fn number(library: &libloading::Library, name: &str) -> Option<String> {
    type Version = unsafe extern "C" fn() -> usize;
    // SAFETY: the type is cuBLASLt's and cuDNN's.
    let call = unsafe { symbol::<Version>(library, name) }?;
    // SAFETY: it takes nothing and gives a number.
    Some(dotted(unsafe { call() }))
}

/// 91002 is 9.10.2, and 8906, as cuDNN wrote it before its ninth version, 8.9.6.
fn dotted(version: usize) -> String {
    let major = if version < 10_000 { version / 1000 } else { version / 10_000 };
    let minor = if version < 10_000 { version / 100 % 10 } else { version / 100 % 100 };
    format!("{major}.{minor}.{}", version % 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::cuda::testing::Scratch;

    #[test]
    fn files_are_told_apart_and_the_newest_comes_first() {
        let scratch = Scratch::new("files");
        for file in
            ["libcublas.so.9", "libcublas.so.12", "libcublas.so.12.8.4", "libcublasLt.so.12", "libcublas.a"]
        {
            scratch.write(file, "");
        }
        let found = files(&["cublas"], &[scratch.path().to_owned()]);
        let names: Vec<_> = found.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["libcublas.so.12.8.4", "libcublas.so.12", "libcublas.so.9"]);
    }

    #[test]
    fn a_file_that_is_no_library_is_a_reason() {
        let scratch = Scratch::new("broken");
        scratch.write("libtensorlab_absent.so.1", "not a library");
        let folders = Folders { named: vec![scratch.path().to_owned()], ..Folders::default() };
        let reason = load(&["tensorlab_absent"], &folders, &[]).err().unwrap();
        assert!(reason.starts_with("libtensorlab_absent.so is there but does not load: "), "{reason}");
        let reason = load(&["tensorlab_absent"], &Folders::default(), &[]).err().unwrap();
        assert_eq!(reason, "libtensorlab_absent.so was not found");
    }

    #[test]
    fn versions_read_as_their_makers_write_them() {
        assert_eq!(dotted(91_002), "9.10.2");
        assert_eq!(dotted(120_804), "12.8.4");
        assert_eq!(dotted(22_807), "2.28.7");
        assert_eq!((dotted(8906), dotted(2708)), ("8.9.6".into(), "2.7.8".into()));
    }

    #[test]
    fn foreign_text_acts_on_no_terminal() {
        assert_eq!(printable("a\u{1b}[31mb\n"), "a [31mb ");
    }
}

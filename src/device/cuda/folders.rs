//! Where CUDA's libraries lie when the loader does not know them.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::base::sorted;

/// The variable that names a folder (or several) to look in first.
pub(super) const VARIABLE: &str = "TENSORLAB_CUDA_PATH";

/// The folders that are looked at, in order. Only those that exist are kept.
#[derive(Debug, Default)]
pub(super) struct Folders {
    /// What the user named: before the loader.
    pub named: Vec<PathBuf>,
    /// Where drivers put their library besides the loader's folders.
    pub driver: Vec<PathBuf>,
    /// Toolkits and Python environments.
    pub toolkit: Vec<PathBuf>,
}

/// Folders that a process which opens no other files needs for a real GPU, beyond the system's own.
#[derive(Debug)]
pub struct Needed {
    /// Read beneath: CUDA's libraries, and what the loader searches.
    pub readable: Vec<PathBuf>,
    /// Where machine code is kept between runs. Made where it was not; none where there is no cache folder.
    pub kept: Option<PathBuf>,
}

/// The folders of this computer that are there.
pub fn needed() -> Needed {
    let Folders { named, driver, toolkit } = Folders::of_this_computer();
    let searched = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let searched = existing(std::env::split_paths(&searched).collect());
    let kept = of_machine_code().filter(|folder| fs::create_dir_all(folder).is_ok());
    Needed { readable: [named, driver, toolkit, searched].concat(), kept }
}

/// Where machine code is kept: `$XDG_CACHE_HOME/tensorlab/kernels`, or the one in the home folder.
pub(super) fn of_machine_code() -> Option<PathBuf> {
    let given = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = given("XDG_CACHE_HOME").or_else(|| given("HOME").map(|home| home.join(".cache")))?;
    Some(cache.join("tensorlab").join("kernels"))
}

impl Folders {
    pub(crate) fn of_this_computer() -> Folders {
        Folders::find(Path::new("/"), |name| std::env::var_os(name))
    }

    /// The folders under `root`, given the environment's variables.
    fn find(root: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Folders {
        let all = |name: &str| -> Vec<PathBuf> {
            variable(name).map(|value| std::env::split_paths(&value).collect()).unwrap_or_default()
        };
        let named = all(VARIABLE).iter().flat_map(|folder| within(folder)).collect();
        let driver =
            ["usr/lib/wsl/lib", "usr/local/nvidia/lib64", "usr/local/nvidia/lib", "run/opengl-driver/lib"];
        let mut toolkits: Vec<PathBuf> = ["CUDA_HOME", "CUDA_PATH"].into_iter().flat_map(all).collect();
        toolkits.extend([root.join("usr/local/cuda"), root.join("opt/cuda")]);
        toolkits.extend(children(&root.join("usr/local"), |name| name.starts_with("cuda-")));
        let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().flat_map(all);
        let mut toolkit: Vec<PathBuf> = toolkits.iter().flat_map(|folder| within(folder)).collect();
        toolkit.extend(environments.flat_map(|folder| in_python(&folder)));
        Folders {
            named: existing(named),
            driver: existing(driver.iter().map(|folder| root.join(folder)).collect()),
            toolkit: existing(toolkit),
        }
    }
}

/// The places of a toolkit, or of a folder of Python's `nvidia` packages, that hold libraries.
fn within(folder: &Path) -> Vec<PathBuf> {
    let mut all = vec![folder.to_owned(), folder.join("lib64"), folder.join("lib")];
    all.extend(children(&folder.join("targets"), |_| true).into_iter().map(|target| target.join("lib")));
    all.extend(children(folder, |_| true).into_iter().map(|package| package.join("lib")));
    all
}

fn in_python(environment: &Path) -> Vec<PathBuf> {
    let lib = environment.join("lib");
    let pythons = children(&lib, |name| name.starts_with("python"));
    let packages = pythons.iter().flat_map(|python| children(&python.join("site-packages/nvidia"), |_| true));
    packages.map(|package| package.join("lib")).chain([lib.clone()]).collect()
}

/// What a folder holds under the names that are wanted, the last in the alphabet first.
fn children(folder: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(&wanted));
    let mut all: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    sorted::sort(&mut all);
    all.reverse();
    all
}

fn existing(folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut kept: Vec<PathBuf> = Vec::new();
    for folder in folders {
        if folder.is_absolute() && folder.is_dir() && !kept.contains(&folder) {
            kept.push(folder);
        }
    }
    kept
}

/// NVIDIA's graphics devices on the PCI bus, where the system shows them.
pub(super) fn cards() -> Vec<String> {
    const NVIDIA: &str = "0x10de";
    const DISPLAY: &str = "0x03";
    let read = |device: &Path, file: &str| fs::read_to_string(device.join(file)).unwrap_or_default();
    let mut cards: Vec<String> = children(Path::new("/sys/bus/pci/devices"), |_| true)
        .into_iter()
        .filter(|device| {
            read(device, "vendor").trim() == NVIDIA && read(device, "class").starts_with(DISPLAY)
        })
        .filter_map(|device| {
            let model = read(&device, "device");
            let place = device.file_name()?.to_str()?;
            Some(format!("{place} (10de:{})", model.trim().trim_start_matches("0x")))
        })
        .collect();
    sorted::sort(&mut cards);
    cards
}

/// What the driver's kernel module says of itself.
pub(super) fn kernel_module() -> Option<String> {
    let text = fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let line = text.lines().next()?;
    Some(line.trim_start_matches("NVRM version:").trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::cuda::testing::Scratch;

    #[test]
    fn what_the_user_names_comes_first_and_what_is_absent_is_left_out() {
        let root = Scratch::new("folders");
        for file in [
            "usr/local/cuda-12.8/lib64/a",
            "usr/local/cuda-9.0/notes",
            "usr/lib/wsl/lib/a",
            "venv/lib/python3.12/site-packages/nvidia/cudnn/lib/a",
            "mine/nvidia/nccl/lib/a",
        ] {
            root.write(file, "");
        }
        let at = |place: &str| root.path().join(place);
        let variable = |name: &str| match name {
            "TENSORLAB_CUDA_PATH" => Some(std::env::join_paths([at("mine/nvidia"), at("nowhere")]).unwrap()),
            "VIRTUAL_ENV" => Some(at("venv").into()),
            "CUDA_HOME" => Some("relative/cuda".into()),
            _ => None,
        };
        let folders = Folders::find(root.path(), variable);
        assert_eq!(folders.named, [at("mine/nvidia"), at("mine/nvidia/nccl/lib")]);
        assert_eq!(folders.driver, [at("usr/lib/wsl/lib")]);
        let expected = [
            at("usr/local/cuda-9.0"),
            at("usr/local/cuda-12.8"),
            at("usr/local/cuda-12.8/lib64"),
            at("venv/lib/python3.12/site-packages/nvidia/cudnn/lib"),
            at("venv/lib"),
        ];
        assert_eq!(folders.toolkit, expected);
    }
}

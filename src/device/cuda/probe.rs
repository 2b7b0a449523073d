//! What this computer has of CUDA: driver, devices, libraries. Whatever is missing is a value with a reason.
//!
//! `cudarc` panics where a library or a function is absent, and even where an error is printed without a driver. So
//! its types and numbers are used here and none of its calls: all go through symbols that were looked up first.

use serde::{Deserialize, Serialize};

use crate::device::cuda::found::{Driver, FoundDevice, Library, Missing};

use super::driver;
use super::folders::{self, Folders};
use super::library::{self, Wanted};

/// All that was found and what was not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    pub driver: Result<Driver, Missing>,
    /// The devices the driver shows, by ordinal.
    pub devices: Vec<FoundDevice>,
    /// What kernels, matmuls, convolutions and several GPUs need, each found or not.
    pub libraries: Vec<Library>,
    /// NVIDIA's graphics devices on the PCI bus, as `0000:65:00.0 (10de:20b0)`: there with or without a driver.
    pub cards: Vec<String>,
}

impl Probe {
    /// Looks at everything. What is found by path stays loaded, so that a later load by name finds it.
    pub fn run() -> Probe {
        let folders = Folders::of_this_computer();
        let (driver, devices) = probe_driver(&folders);
        let libraries = Wanted::all().iter().map(|wanted| library::find(wanted, &folders)).collect();
        Probe { driver, devices, libraries, cards: folders::cards() }
    }

    /// Looks at the driver and its devices alone, which is quick where there is none.
    pub fn devices() -> (Result<Driver, Missing>, Vec<FoundDevice>) {
        probe_driver(&Folders::of_this_computer())
    }
}

fn probe_driver(folders: &Folders) -> (Result<Driver, Missing>, Vec<FoundDevice>) {
    match driver::ask(folders) {
        Ok((driver, devices)) => (Ok(driver), devices),
        Err(missing) => (Err(missing), Vec::new()),
    }
}

/// Why no device can be used, given what a driver said and showed.
pub(crate) fn why_no_device(driver: &Result<Driver, Missing>) -> Missing {
    let hidden = std::env::var("CUDA_VISIBLE_DEVICES").ok();
    match (driver, hidden) {
        (Err(missing), _) => missing.clone(),
        (Ok(_), Some(visible)) => Missing {
            reason: format!("the driver shows no device, and CUDA_VISIBLE_DEVICES is {visible:?}"),
            remedy: "unset CUDA_VISIBLE_DEVICES, or give it the number of a device".into(),
        },
        (Ok(_), None) => Missing {
            reason: "the driver answers, but shows no device".into(),
            remedy: "check with `nvidia-smi` that the GPU is seen and this user may use it".into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wherever it runs, with a GPU or without one.
    #[test]
    fn a_probe_answers_and_survives_json() {
        let probe = Probe::run();
        assert_eq!(probe.driver.is_err(), probe.devices.is_empty() && probe.driver.is_err());
        let names: Vec<&str> = probe.libraries.iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names, ["NVRTC", "cuBLAS", "cuBLASLt", "cuSOLVER", "cuDNN", "NCCL"]);
        for missing in
            probe.libraries.iter().filter_map(|l| l.found.as_ref().err()).chain(probe.driver.as_ref().err())
        {
            assert!(!missing.reason.is_empty() && !missing.remedy.is_empty(), "{missing:?}");
        }
        let text = serde_json::to_string(&probe).unwrap();
        assert_eq!(serde_json::from_str::<Probe>(&text).unwrap(), probe);
    }

    #[test]
    fn devices_that_are_hidden_are_told_from_devices_that_are_absent() {
        let missing = Missing { reason: "r".into(), remedy: "m".into() };
        assert_eq!(why_no_device(&Err(missing.clone())), missing);
        let driver = Driver { library: "libcuda.so.1".into(), cuda: (12, 8), module: None };
        assert!(why_no_device(&Ok(driver)).reason.contains("shows no device"));
    }
}

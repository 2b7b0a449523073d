//! `tensorlab doctor`: what was found on this machine, what is missing, how to get it.

use crate::device::cuda::probe::{Missing, Probe};
use crate::session::sandbox;

use super::exit;

/// Probes the machine and prints what it found.
pub fn run(as_json: bool) -> u8 {
    let found = Probe::run();
    if as_json {
        let protections = sandbox::protections();
        let document =
            serde_json::json!({"cuda": found, "session": {"protections": protections}, "cpu": cpu()});
        println!("{document}");
        return exit::FINE;
    }
    println!("processor   {}", cpu().join(" "));
    cuda(&found);
    println!("sessions    {}", sandbox::protections().join("; "));
    exit::FINE
}

/// Cores and the vector instructions that kernels use.
fn cpu() -> Vec<String> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut all = vec![format!("{cores} cores"), std::env::consts::ARCH.to_string()];
    all.push(crate::device::cpu::isa::name().to_string());
    all
}

fn cuda(found: &Probe) {
    match &found.driver {
        Ok(driver) => {
            let module = driver.module.as_deref().unwrap_or("unknown version");
            let (major, minor) = driver.cuda;
            println!("driver      {module}, CUDA {major}.{minor} ({})", driver.library);
        }
        Err(missing) => absent("driver", missing),
    }
    for device in &found.devices {
        let (major, minor) = device.capability;
        let gib = device.memory as f64 / (1u64 << 30) as f64;
        println!(
            "gpu {:<7} {} ({gib:.1} GiB, capability {major}.{minor}, {})",
            device.ordinal, device.name, device.pci
        );
    }
    for card in &found.cards {
        println!("card        {card}");
    }
    for library in &found.libraries {
        match &library.found {
            Ok(at) => {
                let version = at.version.as_deref().unwrap_or("version unknown");
                println!("{:<11} {version} ({})", library.name, at.path);
            }
            Err(missing) => absent(&library.name, missing),
        }
    }
    if found.devices.is_empty() {
        println!("simulated   `--devices sim:t4x2` gives two simulated GPUs; their times are modelled");
    }
}

fn absent(name: &str, missing: &Missing) {
    println!("{name:<11} missing: {}", missing.reason);
    println!("{:<11} -> {}", "", missing.remedy);
}

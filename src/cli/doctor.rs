//! `tensorlab doctor`: what was found on this machine, what is missing, how to get it.

use crate::device::cuda::found::Missing;
use crate::device::cuda::probe::Probe;
use crate::session::sandbox;

use super::exit;
use super::output::say;

/// Probes the machine and prints what it found.
pub(super) fn run(as_json: bool) -> u8 {
    let found = Probe::run();
    if as_json {
        let protections = sandbox::protections();
        let document = serde_json::json!({"cuda": found, "session": {"protections": protections, "packs_confined": sandbox::unconfined().is_none()}, "cpu": cpu()});
        say!("{document}");
        return exit::FINE;
    }
    say!("processor   {}", cpu().join(" "));
    cuda(&found);
    say!("sessions    {}", sandbox::protections().join("; "));
    match sandbox::unconfined() {
        None => say!("packs       code of packs reads its own files alone, and writes none (Landlock)"),
        Some(reason) => say!("packs       code of packs is not kept from your files: {reason}"),
    }
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
            say!("driver      {module}, CUDA {major}.{minor} ({})", driver.library);
        }
        Err(missing) => absent("driver", missing),
    }
    for device in &found.devices {
        let (major, minor) = device.capability;
        let gib = device.memory as f64 / (1u64 << 30) as f64;
        say!(
            "gpu {:<7} {} ({gib:.1} GiB, capability {major}.{minor}, {})",
            device.ordinal,
            device.name,
            device.pci
        );
    }
    for card in &found.cards {
        say!("card        {card}");
    }
    for library in &found.libraries {
        match &library.found {
            Ok(at) => {
                let version = at.version.as_deref().unwrap_or("version unknown");
                say!("{:<11} {version} ({})", library.name, at.path);
            }
            Err(missing) => absent(&library.name, missing),
        }
    }
    if found.devices.is_empty() {
        say!("simulated   `--devices sim:t4x2` gives two simulated GPUs; their times are modelled");
    }
}

fn absent(name: &str, missing: &Missing) {
    say!("{name:<11} missing: {}", missing.reason);
    say!("{:<11} -> {}", "", missing.remedy);
}

//! `tensorlab doctor`: what was found on this machine, what is missing, how to get it.

use crate::device::cuda::probe;
use crate::session::sandbox;

use super::exit;

/// Probes the machine and prints what it found.
pub fn run(as_json: bool) -> u8 {
    let found = probe::probe();
    if as_json {
        let protections = sandbox::protections();
        let document =
            serde_json::json!({"cuda": found, "session": {"protections": protections}, "cpu": cpu()});
        println!("{document}");
        return exit::FINE;
    }
    println!("processor   {}", cpu().join(" "));
    print!("{}", found.report());
    println!("sessions    {}", sandbox::protections().join("; "));
    exit::FINE
}

/// Cores and the vector instructions that kernels use.
fn cpu() -> Vec<String> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut all = vec![format!("{cores} cores"), std::env::consts::ARCH.to_string()];
    all.extend(crate::device::cpu::features().iter().map(ToString::to_string));
    all
}

//! `tensorlab devices`: what there is to compute with.

use std::io::stdout;

use serde_json::json;

use crate::device::open::Use;
use crate::device::sim::profile_names;

use super::output::say;
use super::terminal::fitted;
use super::{exit, machine};

/// Columns of a device's name.
const NAME: usize = 8;

/// What stands below the options: the names of profiles.
pub(super) fn help() -> String {
    format!("Profiles of simulated devices: {}; or a .toml file", profile_names())
}

/// Lists the devices that `--devices` names.
pub(super) fn run(devices: &str, as_json: bool) -> u8 {
    let machine = match machine(devices, Use::Interactive) {
        Ok(machine) => machine,
        Err(code) => return code,
    };
    let all: Vec<_> = machine.contexts().map(|c| (c.device, c.backend.properties())).collect();
    if as_json {
        let list: Vec<_> = all.iter().map(|(device, p)| json!({"device": device, "properties": p})).collect();
        say!("{}", json!({ "devices": list }));
        return exit::FINE;
    }
    for (device, p) in all {
        let memory = match p.total_memory {
            0 => String::new(),
            bytes => format!("  {:.1} GiB", bytes as f64 / (1u64 << 30) as f64),
        };
        let line = format!("{:<NAME$} {}{memory}  clock: {}", device.to_string(), p.name, p.clock.name());
        say!("{}", fitted(&line, NAME + 1, &stdout()));
    }
    exit::FINE
}

//! From a wish for devices to a machine.

use std::sync::Arc;

use crate::base::{Error, Kind, Result};
use crate::device::cuda::found::{Driver, FoundDevice, Missing};

use super::cuda;
use super::cuda::probe::{Probe, why_no_device};
use super::machine::Machine;
use super::sim::{self, Host, HostChoice, Profile, ProfileError, Selection, SimulatedDevices};

/// What `auto` means where there is no GPU to use, and someone is there to learn.
pub(crate) const SIMULATED: &str = "sim:t4x2";

/// Who asks for devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// A script that runs unattended: it has what there is.
    Headless,
    /// The lab, the REPL or a lesson: a learner shall see a GPU at work.
    Interactive,
}

/// A machine, and what its user should be told about it, a line each.
pub struct Opened {
    pub machine: Arc<Machine>,
    pub notes: Vec<String>,
}

impl Machine {
    /// The machine that a selection means here, less what `CUDA_VISIBLE_DEVICES` hides.
    ///
    /// # Errors
    /// `DeviceError` where real GPUs are asked for and there is none to use, with what is missing; `ValueError`
    /// for a profile that can't be read.
    pub fn open(selection: &Selection, purpose: Use) -> Result<Opened> {
        let visible = std::env::var("CUDA_VISIBLE_DEVICES").ok();
        let mut opened = Machine::open_visible(selection, purpose, visible.as_deref())?;
        if !opened.machine.gpus().is_empty() {
            opened
                .notes
                .extend(unfollowed(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())));
        }
        Ok(opened)
    }

    /// As [`open`](Machine::open), with what `CUDA_VISIBLE_DEVICES` is to say to simulated devices. To real ones the
    /// environment says it.
    pub(crate) fn open_visible(selection: &Selection, purpose: Use, visible: Option<&str>) -> Result<Opened> {
        let plain = |machine| Ok(Opened { machine, notes: Vec::new() });
        match selection {
            Selection::Cpu => plain(Machine::cpu_only()),
            Selection::Sim(devices) => simulated(devices, visible, Vec::new()),
            Selection::Cuda => match Probe::devices() {
                (Ok(_), devices) if !devices.is_empty() => plain(Machine::of_gpus(&devices)?),
                probed => Err(no_gpu(&probed)),
            },
            Selection::Auto(host) => automatic(&Probe::devices(), purpose, host.as_ref(), visible),
        }
    }

    /// A machine with the GPUs that a probe found.
    ///
    /// # Errors
    /// `DeviceError` where one does not start, or the compiler of its kernels is missing.
    pub(crate) fn of_gpus(devices: &[FoundDevice]) -> Result<Arc<Machine>> {
        Machine::try_new(|shared| cuda::backend::devices(devices, shared))
    }

    /// A machine with one simulated GPU per profile beside a host.
    pub fn simulated(profiles: Vec<Profile>, host: &Host) -> Arc<Machine> {
        Machine::new(|shared| sim::devices(profiles, host, shared))
    }
}

fn simulated(devices: &SimulatedDevices, visible: Option<&str>, mut notes: Vec<String>) -> Result<Opened> {
    let host = devices.host().map_err(unreadable)?;
    let mut profiles = devices.profiles().map_err(unreadable)?;
    let all = profiles.len();
    if let Some(text) = visible {
        profiles = seen(text, all).iter().filter_map(|at| profiles.get(*at).cloned()).collect();
        if profiles.len() < all {
            let hidden = all - profiles.len();
            notes.push(format!("CUDA_VISIBLE_DEVICES={text:?} hides {hidden} of {all} simulated GPUs"));
        }
    }
    let machine = Machine::simulated(profiles, &host);
    machine.shared.note_hidden(machine.gpus().is_empty());
    Ok(Opened { machine, notes })
}

/// What of PyTorch's allocator can be chosen for a process, and is not here.
fn unfollowed(is_set: impl Fn(&str) -> bool) -> Option<String> {
    const ALLOCATOR: [&str; 3] =
        ["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING"];
    let set: Vec<&str> = ALLOCATOR.into_iter().filter(|name| is_set(name)).collect();
    let verb = if set.len() == 1 { "is" } else { "are" };
    (!set.is_empty()).then(|| {
        format!("{} {verb} set and not followed: memory comes as PyTorch gives it by default", set.join(", "))
    })
}

/// The devices among `count` that `CUDA_VISIBLE_DEVICES` lets a program see, in its order: as the driver reads it, those
/// up to the first that there is not, and none where one is named twice.
fn seen(text: &str, count: usize) -> Vec<usize> {
    let named = text.split(',').map(|part| part.trim().parse::<usize>().ok().filter(|at| *at < count));
    let all: Vec<usize> = named.map_while(|at| at).collect();
    let distinct: std::collections::HashSet<&usize> = all.iter().collect();
    if distinct.len() == all.len() { all } else { Vec::new() }
}

type Probed = (std::result::Result<Driver, Missing>, Vec<FoundDevice>);

fn automatic(
    probed: &Probed,
    purpose: Use,
    host: Option<&HostChoice>,
    visible: Option<&str>,
) -> Result<Opened> {
    let mut notes = Vec::new();
    if let Some(host) = host.filter(|_| purpose == Use::Headless || !probed.1.is_empty()) {
        let text =
            format!("`--host {host}` stands beside simulated GPUs, and there are none in this machine");
        return Err(Error::value(text).with_hint(format!(
            "name some as well: `--devices {SIMULATED}`; without `--host` times are measured"
        )));
    }
    if !probed.1.is_empty() {
        match Machine::of_gpus(&probed.1) {
            Ok(machine) => return Ok(Opened { machine, notes }),
            Err(error) => notes.push(unusable(&probed.1, &error)),
        }
    }
    if purpose == Use::Headless {
        let machine = Machine::cpu_only();
        machine.shared.note_hidden(visible.is_some() && probed.0.is_ok() && probed.1.is_empty());
        return Ok(Opened { machine, notes });
    }
    let selection: Selection = SIMULATED.parse().map_err(|e| Error::value(format!("{e}")))?;
    let Selection::Sim(devices) = selection else {
        return Machine::open_visible(&selection, purpose, visible);
    };
    notes.push(format!(
        "no GPU to use here, so there are {} simulated ones ({SIMULATED}): values are real, times are modelled",
        devices.count()
    ));
    simulated(&devices.beside(host.cloned()), visible, notes)
}

fn no_gpu((driver, _): &Probed) -> Error {
    let simulated = format!("`--devices {SIMULATED}` gives two simulated ones");
    let Missing { reason, remedy } = why_no_device(driver);
    Error::new(Kind::DeviceError, format!("there is no CUDA device to use: {reason}"))
        .with_hint(format!("{remedy}; `tensorlab doctor` lists all that is missing; {simulated}"))
}

/// What to say of GPUs that are there and can't be used.
fn unusable(devices: &[FoundDevice], error: &Error) -> String {
    let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("found {}, which can't be used: {}{hint}", names.join(", "), error.message())
}

fn unreadable(error: ProfileError) -> Error {
    let place = error.line.map(|line| format!(":{line}")).unwrap_or_default();
    let unreadable = Error::value(format!("{}{place}: {}", error.origin, error.message()));
    match error.hint() {
        Some(hint) => unreadable.with_hint(hint),
        None => unreadable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn absent() -> Probed {
        (Err(Missing { reason: "libcuda.so was not found".into(), remedy: "install it".into() }), Vec::new())
    }

    fn present() -> FoundDevice {
        FoundDevice {
            ordinal: 0,
            name: "NVIDIA T4".into(),
            memory: 16 << 30,
            capability: (7, 5),
            multiprocessors: 40,
            pci: "0000:00:1e.0".into(),
        }
    }

    #[test]
    fn without_a_gpu_a_learner_has_two_simulated_ones_and_is_told() {
        let opened = automatic(&absent(), Use::Interactive, None, None).unwrap();
        let names: Vec<&str> =
            opened.machine.gpus().iter().map(|gpu| gpu.backend.properties().name.as_str()).collect();
        assert_eq!(names.len(), 2);
        assert!(names.iter().all(|name| name.ends_with("(simulated)")), "{names:?}");
        assert!(opened.notes.iter().any(|note| note.contains("sim:t4x2") && note.contains("modelled")));
    }

    #[test]
    fn a_script_has_the_cpu_alone() {
        let opened = automatic(&absent(), Use::Headless, None, None).unwrap();
        assert!(opened.machine.gpus().is_empty() && opened.notes.is_empty());
    }

    #[test]
    fn visible_devices_are_read_as_the_driver_reads_them() {
        for (text, visible) in [
            ("0,1,2", vec![0, 1, 2]),
            ("2, 0", vec![2, 0]),
            ("1,7,0", vec![1]),
            ("-1", vec![]),
            ("", vec![]),
            ("0,0", vec![]),
            ("GPU-8f", vec![]),
        ] {
            assert_eq!(seen(text, 3), visible, "{text:?}");
        }
    }

    #[test]
    fn a_host_is_refused_where_no_gpu_is_simulated() {
        let refused = |probed: &Probed, purpose| {
            automatic(probed, purpose, Some(&HostChoice::Builtin("workstation")), None).err().unwrap()
        };
        for error in
            [refused(&absent(), Use::Headless), refused(&(absent().0, vec![present()]), Use::Interactive)]
        {
            assert!(
                error.message().starts_with("`--host workstation` stands beside simulated GPUs"),
                "{error}"
            );
            assert!(error.hint().unwrap().contains("--devices sim:t4x2"), "{error}");
        }
    }

    #[test]
    fn gpus_that_are_asked_for_and_absent_are_an_error_with_a_way_out() {
        let error = no_gpu(&absent());
        assert_eq!(error.kind(), Kind::DeviceError);
        assert!(error.message().ends_with("libcuda.so was not found"), "{error}");
        let hint = error.hint().unwrap();
        assert!(hint.contains("install it") && hint.contains("--devices sim:t4x2"), "{hint}");
    }

    #[test]
    fn gpus_that_cannot_be_used_are_named_with_the_reason() {
        let error = Error::new(Kind::DeviceError, "libnvrtc.so was not found").with_hint("install it");
        let said = unusable(&[present()], &error);
        assert_eq!(said, "found NVIDIA T4, which can't be used: libnvrtc.so was not found; install it");
    }

    #[test]
    fn a_profile_that_cannot_be_read_names_its_place() {
        let selection: Selection = "sim:/nowhere/at/all.toml".parse().unwrap();
        let error = Machine::open(&selection, Use::Headless).err().unwrap();
        assert_eq!(error.kind(), Kind::ValueError);
        assert!(error.message().starts_with("/nowhere/at/all.toml: the profile can't be read"), "{error}");
    }
}

//! What a run costs: memory of the devices, and time of the virtual clock.

use crate::base::Device;
use crate::device::Machine;

use super::protocol::Usage;

/// From where to where, how often, how many bytes.
pub(super) type Copied = (Device, Device, u64, u64);

/// The devices before a run.
pub(super) struct Snapshot {
    allocated: Vec<(Device, u64)>,
    modelled: Option<u64>,
}

impl Snapshot {
    pub(super) fn of(machine: &Machine) -> Snapshot {
        Snapshot {
            allocated: machine.gpus().iter().map(|c| (c.device, c.memory().0)).collect(),
            modelled: modelled_now(machine),
        }
    }

    /// What a run has cost since.
    pub(super) fn usage(&self, machine: &Machine, copies: Vec<Copied>) -> Usage {
        let now = machine.gpus().iter().map(|c| c.memory().0);
        Usage {
            host_nanos: 0,
            modelled_nanos: modelled_now(machine).zip(self.modelled).map(|(b, a)| b.saturating_sub(a)),
            allocated: self
                .allocated
                .iter()
                .zip(now)
                .map(|(&(device, before), after)| (device, after as i64 - before as i64))
                .filter(|(_, change)| *change != 0)
                .collect(),
            copies,
            peaks: Vec::new(),
        }
    }
}

/// The virtual clock's time, once the queued work of every simulated device is done.
fn modelled_now(machine: &Machine) -> Option<u64> {
    let simulated = machine.gpus().iter().filter(|c| c.backend.properties().simulated);
    simulated.map(|c| c.backend.now()).max()
}

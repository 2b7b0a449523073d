//! What code may leave set for all that comes after it: the current GPU and streams, the default device, flags.

use super::machine::Machine;
use super::settings::Settings;

/// The switches of a machine as they stood.
#[derive(Debug)]
pub(crate) struct Switches {
    settings: Settings,
    gpu: usize,
    /// The thread's current stream of each GPU.
    streams: Vec<u32>,
}

impl Switches {
    pub(crate) fn of(machine: &Machine) -> Switches {
        Switches {
            settings: machine.shared.settings.kept(),
            gpu: machine.current_gpu(),
            streams: machine.gpus().iter().map(|gpu| gpu.stream()).collect(),
        }
    }

    /// Has everything stand as it did.
    pub(crate) fn put_back(&self, machine: &Machine) {
        machine.shared.settings.set_all(&self.settings);
        // It was current once.
        let _ = machine.set_current_gpu(self.gpu);
        for (gpu, stream) in machine.gpus().iter().zip(&self.streams) {
            gpu.set_stream(*stream);
        }
    }
}

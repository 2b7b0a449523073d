//! What a cell took, in words: a cell's footer.

use std::collections::BTreeSet;

use crate::base::event::Clock;
use crate::base::{Device, figures};
use crate::session::protocol::Usage;

/// A part of a footer: a time, a device's memory, or the copies of a direction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub of: Of,
    pub pieces: Vec<Piece>,
}

/// What a part speaks of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Of {
    Time,
    Memory,
    Copies,
}

/// A piece of a part, and what it tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    pub role: Role,
    pub text: String,
}

/// What a piece tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Time,
    Device,
    /// Bytes that a device holds more or less than before.
    Change,
    Peak,
    Copies,
}

impl Part {
    fn of(of: Of, pieces: impl IntoIterator<Item = (Role, String)>) -> Part {
        Part { of, pieces: pieces.into_iter().map(|(role, text)| Piece { role, text }).collect() }
    }

    /// All of it.
    pub(crate) fn text(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect()
    }
}

/// Times with their clocks, the change and the peak of memory on each device, copies by direction.
pub(crate) fn parts(usage: &Usage) -> Vec<Part> {
    let time = |nanos, clock| Part::of(Of::Time, [(Role::Time, figures::timed(nanos, clock))]);
    let mut parts = vec![time(usage.host_nanos, Clock::Measured)];
    parts.extend(usage.modelled_nanos.map(|nanos| time(nanos, Clock::Modelled)));
    let changed = usage.allocated.iter().filter(|(_, change)| *change != 0).map(|(device, _)| *device);
    let devices: BTreeSet<Device> = changed.chain(usage.peaks.iter().map(|(device, _)| *device)).collect();
    for device in devices {
        let change = usage.allocated.iter().find(|(of, change)| *of == device && *change != 0);
        let change = change.map(|(_, change)| (Role::Change, figures::change(*change)));
        let between = if change.is_some() { ", " } else { "" };
        let peak = usage.peaks.iter().find(|(of, _)| *of == device);
        let peak = peak.map(|(_, peak)| (Role::Peak, format!("{between}peak {}", figures::bytes(*peak))));
        let pieces = [(Role::Device, format!("{device} "))].into_iter().chain(change).chain(peak);
        parts.push(Part::of(Of::Memory, pieces));
    }
    for (from, to, count, bytes) in &usage.copies {
        let copies = figures::plural(*count, "copy", "copies");
        let text = format!("{} {copies}, {}", figures::way(*from, *to), figures::bytes(*bytes));
        parts.push(Part::of(Of::Copies, [(Role::Copies, text)]));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_frees_what_it_took_has_its_peak_and_copies_their_direction() {
        let gpu = Device::Cuda(0);
        let usage = Usage {
            host_nanos: 2_310_000,
            modelled_nanos: None,
            allocated: vec![(Device::Cpu, 4096), (gpu, 0)],
            peaks: vec![(gpu, 1 << 20)],
            copies: vec![(Device::Cpu, gpu, 2, 8192)],
        };
        let texts: Vec<String> = parts(&usage).iter().map(Part::text).collect();
        assert_eq!(texts[1..], ["cpu +4.0 KiB", "cuda:0 peak 1.00 MiB", "h2d cpu→cuda:0 2 copies, 8.0 KiB"]);
    }
}

//! What a cell took, in words: a cell's footer.

use std::collections::BTreeSet;

use crate::base::event::Clock;
use crate::base::{Device, figures};
use crate::session::protocol::Usage;

/// Times with their clocks, the change and the peak of memory on each device, copies by direction.
pub fn usage_parts(usage: &Usage) -> Vec<String> {
    let mut parts = vec![figures::timed(usage.host_nanos, Clock::Measured)];
    parts.extend(usage.modelled_nanos.map(|nanos| figures::timed(nanos, Clock::Modelled)));
    let changed = usage.allocated.iter().filter(|(_, change)| *change != 0).map(|(device, _)| *device);
    let devices: BTreeSet<Device> = changed.chain(usage.peaks.iter().map(|(device, _)| *device)).collect();
    for device in devices {
        let change = usage.allocated.iter().find(|(of, change)| *of == device && *change != 0);
        let change = change.map(|(_, change)| figures::change(*change));
        let peak = usage.peaks.iter().find(|(of, _)| *of == device);
        let peak = peak.map(|(_, peak)| format!("peak {}", figures::bytes(*peak)));
        let told: Vec<String> = change.into_iter().chain(peak).collect();
        parts.push(format!("{device} {}", told.join(", ")));
    }
    for (from, to, count, bytes) in &usage.copies {
        let copies = figures::plural(*count, "copy", "copies");
        parts.push(format!("{from}→{to} {copies}, {}", figures::bytes(*bytes)));
    }
    parts
}

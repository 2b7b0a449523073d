//! `smi()`: the table of `nvidia-smi`, of this session's devices.

use std::fmt::Write;

use crate::device::{Context, Machine};

const MIB: u64 = 1 << 20;
/// Widths of the columns between their bars.
const NAME: usize = 62;
const MEMORY: usize = 25;
const TENSORS: usize = 23;

/// The devices with their memory; simulated ones have a SIM mark.
pub(super) fn table(machine: &Machine) -> String {
    let gpus = machine.gpus();
    if gpus.is_empty() {
        return "No devices were found (`--devices sim:t4x2` gives two simulated ones)".into();
    }
    let simulated = gpus.iter().any(|c| c.backend.properties().simulated);
    let mut out = String::new();
    let inner = NAME + MEMORY + TENSORS + 2;
    let title = format!(" tensorlab {}", env!("CARGO_PKG_VERSION"));
    let note = if simulated { "SIM: a simulated device, no hardware " } else { "" };
    let _ = writeln!(out, "+{}+", "-".repeat(inner));
    let _ = writeln!(out, "|{title}{note:>width$}|", width = inner - title.len());
    line(&mut out, '-');
    row(
        &mut out,
        " GPU  Name                                            SM  Cap ",
        "Memory-Usage ",
        "Tensors     Peak ",
    );
    line(&mut out, '=');
    for context in gpus {
        device(&mut out, context);
    }
    line(&mut out, '-');
    out
}

fn device(out: &mut String, context: &Context) {
    let p = context.backend.properties();
    let (used, total) = context.pool().map_or((0, p.total_memory), |pool| {
        let (free, total) = pool.mem_get_info();
        (total.saturating_sub(free), total)
    });
    let (held, peak) = context.pool().map_or((0, 0), |pool| (pool.allocated(), pool.peak_allocated()));
    let mark = if p.simulated { "SIM" } else { "   " };
    let name = short(&p.name);
    let (major, minor) = p.capability;
    let shown = format!(
        " {:>3}  {name:<41} {mark} {:>4} {major:>2}.{minor} ",
        context.device.index(),
        p.multiprocessors
    );
    let memory = format!("{}MiB / {}MiB ", used.div_ceil(MIB), total / MIB);
    row(
        out,
        &shown,
        &memory,
        &format!("{}MiB {:>8} ", held.div_ceil(MIB), format!("{}MiB", peak.div_ceil(MIB))),
    );
}

/// A name that fits; what says that a device is simulated stays.
fn short(name: &str) -> String {
    const WIDTH: usize = 41;
    const SUFFIX: &str = " (simulated)";
    match name.strip_suffix(SUFFIX) {
        Some(own) if name.chars().count() > WIDTH => {
            own.chars().take(WIDTH - SUFFIX.len()).chain(SUFFIX.chars()).collect()
        }
        _ => name.chars().take(WIDTH).collect(),
    }
}

fn row(out: &mut String, name: &str, memory: &str, tensors: &str) {
    let _ = writeln!(out, "|{name:<NAME$}|{memory:>MEMORY$}|{tensors:>TENSORS$}|");
}

fn line(out: &mut String, with: char) {
    let part = |width: usize| with.to_string().repeat(width);
    let edge = if with == '=' { '|' } else { '+' };
    let _ = writeln!(out, "{edge}{}+{}+{}{edge}", part(NAME), part(MEMORY), part(TENSORS));
}

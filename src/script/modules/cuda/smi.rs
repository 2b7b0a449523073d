//! `smi()`: what `nvidia-smi` shows, of this session's devices.

use std::fmt::{self, Display, Formatter};

use rhai::{Array, Dynamic, Engine, FLOAT, INT, Map};

use crate::device::{Context, Machine, Vitals};
use crate::op::def::PROPERTY;
use crate::op::{Family, Form, OpDef, Receiver};
use crate::script::call::ScriptRow;

const MIB: u64 = 1 << 20;
/// The table's width without its bars, and that of its three columns.
const WIDTH: usize = 77;
const COLUMNS: [usize; 3] = [31, 22, 22];
/// Where nobody can tell, as nvidia-smi says it.
const UNKNOWN: &str = "N/A";
const SIMULATED: &str = " (simulated)";
const NO_GPU: &str = "No devices were found (`--devices sim:t4x2` gives two simulated ones)";

/// The state of all GPUs at one time. Printed, it is nvidia-smi's table.
#[derive(Clone, Debug)]
pub(crate) struct Smi {
    gpus: Vec<Gpu>,
    driver: Option<String>,
    cuda: Option<String>,
}

#[derive(Clone, Debug)]
struct Gpu {
    index: usize,
    name: String,
    simulated: bool,
    used: u64,
    total: u64,
    allocated: u64,
    reserved: u64,
    /// What this process holds, where that is known.
    own: Option<u64>,
    vitals: Vitals,
}

/// A property of what `smi()` gives.
const fn property(name: &'static str, summary: &'static str) -> OpDef {
    OpDef::script(name, Family::Cuda, summary, &[]).on(Receiver::Smi).forms(PROPERTY).own()
}

pub(super) static ROWS: &[ScriptRow] = &[
    ScriptRow::of(
        OpDef::script("smi", Family::Cuda, "The state of the GPUs, as nvidia-smi shows it; printed, it is its table.", &[])
            .forms(&[Form::Function])
            .own()
            .details(
                "Simulated GPUs are marked SIM. Their utilisation is the part of the last second of the simulated clock, or \
                 of all its time where that is less, in which a kernel ran; their power lies between that without work and \
                 the limit in the same proportion. Both are modelled. Memory used is what tensors and the cache hold, and \
                 the context. What nobody can tell is N/A in the table and () in a field: temperatures of simulated GPUs, \
                 and of real ones all that NVML alone tells.",
            )
            .example("smi().gpus[0].name", "\"Tesla T4 (simulated)\""),
        |call| Ok(Dynamic::from(Smi::of(call.machine()))),
    ),
    ScriptRow::of(
        property("gpus", "The GPUs, each a map.")
            .details(
                "It holds index, name, simulated, utilisation (percent), memory_used, memory_total, memory_allocated and \
                 memory_reserved (bytes), temperature (degrees Celsius), power_draw and power_limit (watts).",
            )
            .example("smi().gpus[1].utilisation", "0.0"),
        |call| Ok(call.on::<Smi>()?.gpus.iter().map(|gpu| Dynamic::from(gpu.fields())).collect::<Array>().into()),
    ),
    ScriptRow::of(
        property("processes", "What runs on the GPUs, as far as is known this process alone: a map for each GPU.")
            .details(
                "It holds gpu (its index), pid, which is () on simulated GPUs, name, and memory (bytes): what the caching \
                 allocator has taken, and the context.",
            )
            .example("smi().processes[0].name", "\"tensorlab\""),
        |call| Ok(call.on::<Smi>()?.gpus.iter().map(|gpu| Dynamic::from(gpu.process())).collect::<Array>().into()),
    ),
    ScriptRow::of(
        property("driver_version", "The driver's version; \"simulated\" without a driver, and () where it does not say.")
            .example("smi().driver_version", "\"simulated\""),
        |call| Ok(call.on::<Smi>()?.driver.clone().map_or(Dynamic::UNIT, Dynamic::from)),
    ),
    ScriptRow::of(
        property("cuda_version", "The newest CUDA that the driver supports; \"simulated\" without a driver.")
            .example("smi().cuda_version", "\"simulated\""),
        |call| Ok(call.on::<Smi>()?.cuda.clone().map_or(Dynamic::UNIT, Dynamic::from)),
    ),
];

pub(super) fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Smi>("smi");
    engine.register_fn("to_string", |smi: &mut Smi| smi.to_string());
    engine.register_fn("to_debug", |smi: &mut Smi| smi.to_string());
}

impl Smi {
    /// The driver's version, as [`ROWS`] has it.
    pub(super) fn driver(machine: &Machine) -> Option<String> {
        Smi::of(machine).driver
    }

    fn of(machine: &Machine) -> Smi {
        let gpus: Vec<Gpu> = machine.gpus().iter().map(|context| Gpu::of(context)).collect();
        let told = |of: fn(&Vitals) -> Option<String>| match gpus.first() {
            Some(gpu) if gpu.simulated => Some("simulated".to_owned()),
            Some(gpu) => of(&gpu.vitals),
            None => None,
        };
        let driver = told(|vitals| vitals.driver.clone());
        let cuda = told(|vitals| vitals.cuda.map(|(major, minor)| format!("{major}.{minor}")));
        Smi { gpus, driver, cuda }
    }
}

impl Gpu {
    fn of(context: &Context) -> Gpu {
        let p = context.backend.properties();
        let mut gpu = Gpu {
            index: context.device.index(),
            name: p.name.clone(),
            simulated: p.simulated,
            used: 0,
            total: p.total_memory,
            allocated: 0,
            reserved: 0,
            own: None,
            vitals: context.backend.vitals(),
        };
        if let Some(pool) = context.pool() {
            let (free, total) = pool.mem_get_info();
            (gpu.used, gpu.total) = (total.saturating_sub(free), total);
            (gpu.allocated, gpu.reserved) = (pool.allocated(), pool.reserved());
            gpu.own = p.simulated.then(|| pool.context().saturating_add(pool.reserved()));
        }
        gpu
    }

    fn fields(&self) -> Map {
        let bytes = |bytes: u64| Dynamic::from(INT::try_from(bytes).unwrap_or(INT::MAX));
        let number = |number: Option<f64>| number.map_or(Dynamic::UNIT, |n| Dynamic::from(n as FLOAT));
        let power = |i: usize| self.vitals.power.and_then(|power| power.get(i).copied());
        Map::from([
            ("index".into(), bytes(self.index as u64)),
            ("name".into(), self.name.clone().into()),
            ("simulated".into(), self.simulated.into()),
            ("utilisation".into(), number(self.vitals.utilisation.map(|share| 100.0 * share))),
            ("memory_used".into(), bytes(self.used)),
            ("memory_total".into(), bytes(self.total)),
            ("memory_allocated".into(), bytes(self.allocated)),
            ("memory_reserved".into(), bytes(self.reserved)),
            ("temperature".into(), Dynamic::UNIT),
            ("power_draw".into(), number(power(0))),
            ("power_limit".into(), number(power(1))),
        ])
    }

    fn process(&self) -> Map {
        let number = |number: u64| Dynamic::from(INT::try_from(number).unwrap_or(INT::MAX));
        Map::from([
            ("gpu".into(), number(self.index as u64)),
            ("pid".into(), self.pid().map_or(Dynamic::UNIT, number)),
            ("name".into(), "tensorlab".into()),
            ("memory".into(), self.own.map_or(Dynamic::UNIT, number)),
        ])
    }

    /// No driver sees the process of a simulated device, and what it prints is the same on every computer.
    fn pid(&self) -> Option<u64> {
        (!self.simulated).then(|| u64::from(std::process::id()))
    }

    /// Its three lines in the table, by column.
    fn lines(&self) -> [[String; 3]; 3] {
        let shown = |text: Option<String>| text.unwrap_or_else(|| UNKNOWN.to_owned());
        let power =
            |i: usize| self.vitals.power.and_then(|power| power.get(i).map(|watts| format!("{watts:.0}W")));
        let share = self.vitals.utilisation.map(|share| format!("{:.0}%", 100.0 * share));
        let bus = if self.simulated { "SIM" } else { UNKNOWN };
        let memory = format!("{}MiB / {}MiB", self.used.div_ceil(MIB), self.total / MIB);
        let end = format!("{UNKNOWN:>21} ");
        [
            [
                format!("{:>4}  {:<19} {UNKNOWN}  ", self.index, short(&self.name)),
                format!(" {bus:<16} {UNKNOWN} "),
                end.clone(),
            ],
            [
                format!(
                    " {UNKNOWN}  {UNKNOWN}  {UNKNOWN}   {:>5} / {:>5} ",
                    shown(power(0)),
                    shown(power(1))
                ),
                format!("{memory:>21} "),
                format!("{:>7}{UNKNOWN:>14} ", shown(share)),
            ],
            [if self.simulated { format!("     {SIMULATED}") } else { String::new() }, String::new(), end],
        ]
    }
}

impl Display for Smi {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.gpus.is_empty() {
            return f.write_str(NO_GPU);
        }
        let version = |version: &Option<String>| version.clone().unwrap_or_else(|| UNKNOWN.to_owned());
        let title = format!(
            " tensorlab {:<11} Driver Version: {:<13} CUDA Version: {:<9} ",
            env!("CARGO_PKG_VERSION"),
            version(&self.driver),
            version(&self.cuda)
        );
        writeln!(f, "+{}+\n|{title:<WIDTH$.WIDTH$}|", "-".repeat(WIDTH))?;
        rule(f, '|', '-', '+')?;
        row(f, [" GPU  Name        Persistence-M", " Bus-Id        Disp.A ", " Volatile Uncorr. ECC "])?;
        row(f, [" Fan  Temp  Perf  Pwr:Usage/Cap", "         Memory-Usage ", " GPU-Util  Compute M. "])?;
        row(f, ["", "", "               MIG M. "])?;
        rule(f, '|', '=', '|')?;
        for gpu in &self.gpus {
            for line in gpu.lines() {
                row(f, line.each_ref().map(String::as_str))?;
            }
            rule(f, '+', '-', '+')?;
        }
        self.processes(f)
    }
}

impl Smi {
    fn processes(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n+{}+\n|{:<WIDTH$}|", "-".repeat(WIDTH), " Processes:")?;
        let head = "  GPU   GI   CI        PID   Type   Process name                  GPU Memory ";
        writeln!(
            f,
            "|{head:<WIDTH$}|\n|{:<WIDTH$}|",
            "        ID   ID                                                   Usage"
        )?;
        writeln!(f, "|{}|", "=".repeat(WIDTH))?;
        for gpu in &self.gpus {
            let pid = gpu.pid().map_or_else(|| UNKNOWN.to_owned(), |pid| pid.to_string());
            let memory =
                gpu.own.map_or_else(|| UNKNOWN.to_owned(), |own| format!("{}MiB", own.div_ceil(MIB)));
            let line = format!(
                "{:>5}   {UNKNOWN}  {UNKNOWN} {pid:>9}      C   {:<26}{memory:>14} ",
                gpu.index, "tensorlab"
            );
            writeln!(f, "|{line:<WIDTH$}|")?;
        }
        write!(f, "+{}+", "-".repeat(WIDTH))?;
        if self.gpus.iter().any(|gpu| gpu.simulated) {
            f.write_str(
                "\n SIM: a simulated device, no hardware. Modelled: GPU-Util, over the last second\n of the \
                 simulated clock, and Pwr, between idle and limit by it.",
            )?;
        }
        Ok(())
    }
}

/// A name that fits its column; that a device is simulated stands below it.
fn short(name: &str) -> String {
    const WIDTH: usize = 19;
    let own = name.strip_suffix(SIMULATED).unwrap_or(name);
    match own.chars().count() > WIDTH {
        true => own.chars().take(WIDTH - 3).chain("...".chars()).collect(),
        false => own.to_owned(),
    }
}

fn row(f: &mut Formatter<'_>, cells: [&str; 3]) -> fmt::Result {
    f.write_str("|")?;
    for (cell, width) in cells.iter().zip(COLUMNS) {
        write!(f, "{cell:<width$.width$}|")?;
    }
    f.write_str("\n")
}

fn rule(f: &mut Formatter<'_>, edge: char, with: char, last: char) -> fmt::Result {
    let [first, second, third] = COLUMNS.map(|width| with.to_string().repeat(width));
    writeln!(f, "{edge}{first}+{second}+{third}{last}")
}

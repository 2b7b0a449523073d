//! `tensorlab bench`: a few figures of every device, each with the clock it was read from.

use std::sync::Arc;

use rhai::{Dynamic, Map};
use serde_json::{Value, json};

use crate::base::stderr;
use crate::device::open::Use;
use crate::device::{Context, Machine};
use crate::script::engine::Stopped;
use crate::script::{Fault, Interpreter, Limits, Origin, Silent};

use super::output::say;
use super::{exit, machine};

#[derive(clap::Args)]
pub(crate) struct BenchOptions {
    /// One JSON document
    #[arg(long)]
    json: bool,
    /// How often each case is timed; the median counts
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: u32,
}

/// A script whose body is timed: `D` is the device's name.
struct Case {
    name: &'static str,
    setup: &'static str,
    body: &'static str,
    /// How often the body does what is counted.
    rounds: f64,
    /// What one round does, and in what unit: operations or bytes.
    work: f64,
    unit: &'static str,
    on_cpu: bool,
}

/// Sizes are small enough for a laptop's CPU and large enough that a rate says something.
const CASES: &[Case] = &[
    Case {
        name: "add, 4 elements",
        setup: "let x = rand([4], #{device: D}); let y = rand([4], #{device: D});",
        body: "for i in 0..100 { x + y; }",
        rounds: 100.0,
        work: 1.0,
        unit: "op/s",
        on_cpu: true,
    },
    Case {
        name: "add, 4 Mi elements",
        setup: "let x = rand([4 * 1024 * 1024], #{device: D}); let y = rand([4 * 1024 * 1024], #{device: D});",
        body: "x + y;",
        rounds: 1.0,
        work: 3.0 * 4.0 * 4_194_304.0,
        unit: "B/s",
        on_cpu: true,
    },
    Case {
        name: "matmul 256, float32",
        setup: "let x = rand([256, 256], #{device: D}); let y = rand([256, 256], #{device: D});",
        body: "x @ y;",
        rounds: 1.0,
        work: 2.0 * 256.0 * 256.0 * 256.0,
        unit: "FLOP/s",
        on_cpu: true,
    },
    Case {
        name: "copy to the device, 16 MiB pageable",
        setup: "let x = zeros([16 * 1024 * 1024], #{dtype: uint8}); let y = x.to(D);",
        body: "y.copy_(x);",
        rounds: 1.0,
        work: 16_777_216.0,
        unit: "B/s",
        on_cpu: false,
    },
    Case {
        name: "copy to the device, 16 MiB pinned",
        setup: "let x = zeros([16 * 1024 * 1024], #{dtype: uint8}).pin_memory(); let y = x.to(D);",
        body: "y.copy_(x, true);",
        rounds: 1.0,
        work: 16_777_216.0,
        unit: "B/s",
        on_cpu: false,
    },
    Case {
        name: "copy to the host, 16 MiB pageable",
        setup: "let x = zeros([16 * 1024 * 1024], #{dtype: uint8}); let y = x.to(D);",
        body: "x.copy_(y);",
        rounds: 1.0,
        work: 16_777_216.0,
        unit: "B/s",
        on_cpu: false,
    },
];

/// One measured or modelled figure.
struct Figure {
    device: String,
    name: &'static str,
    /// Milliseconds of one round: the median, and the middle half's width.
    median: f64,
    spread: f64,
    runs: i64,
    clock: String,
    rate: f64,
    unit: &'static str,
}

/// Times the suite on every device and prints it.
pub(super) fn run(options: &BenchOptions, devices: &str) -> u8 {
    let machine = match machine(devices, Use::Headless) {
        Ok(machine) => machine,
        Err(code) => return code,
    };
    let mut figures = Vec::new();
    for context in machine.contexts() {
        for case in CASES.iter().filter(|case| case.on_cpu || context.device.is_cuda()) {
            match figure(&machine, context, case, options.repeat) {
                Ok(figure) => figures.push(figure),
                Err(report) => {
                    stderr::put(format_args!("{report}"));
                    return exit::SCRIPT;
                }
            }
        }
    }
    if options.json {
        say!("{}", document(&machine, &figures));
    } else {
        table(&machine, &figures);
    }
    exit::FINE
}

fn figure(machine: &Arc<Machine>, context: &Context, case: &Case, repeat: u32) -> Result<Figure, String> {
    let mut interpreter = Interpreter::new(Arc::clone(machine), Arc::new(Silent), &Limits::default());
    interpreter.set("D", Dynamic::from(context.device.to_string()));
    let code = format!("{}\ntimeit(|| {{ {} }}, #{{warmup: 2, repeat: {repeat}}})", case.setup, case.body);
    let origin = Origin { name: case.name, code: &code, first_line: 1 };
    let times = match interpreter.evaluate(0, &origin) {
        Ok(value) => value.try_cast::<Map>().ok_or("timeit gave no map\n")?,
        Err(Stopped::Fault(fault)) => return Err(fault.report),
        Err(Stopped::Cancelled(error)) => return Err(Fault::from_error(&error).report),
    };
    let number =
        |name: &str| times.get(name).and_then(|v| v.as_float().ok()).unwrap_or(f64::NAN) / case.rounds;
    let median = number("median_ms");
    Ok(Figure {
        device: context.device.to_string(),
        name: case.name,
        median,
        spread: number("iqr_ms"),
        runs: times.get("runs").and_then(|v| v.as_int().ok()).unwrap_or(0),
        clock: times.get("clock").map(ToString::to_string).unwrap_or_default(),
        rate: case.work / (median / 1e3),
        unit: case.unit,
    })
}

fn document(machine: &Machine, figures: &[Figure]) -> Value {
    let devices: Vec<Value> = machine
        .contexts()
        .map(|c| {
            let p = c.backend.properties();
            json!({"device": c.device, "name": p.name, "simulated": p.simulated})
        })
        .collect();
    let figures: Vec<Value> = figures
        .iter()
        .map(|f| {
            json!({"device": f.device, "name": f.name, "median_ms": f.median, "iqr_ms": f.spread, "runs": f.runs,
                "clock": f.clock, "rate": f.rate, "unit": f.unit})
        })
        .collect();
    json!({"version": env!("CARGO_PKG_VERSION"), "devices": devices, "figures": figures})
}

fn table(machine: &Machine, figures: &[Figure]) {
    for context in machine.contexts() {
        say!("{}: {}", context.device, context.backend.properties().name);
        for figure in figures.iter().filter(|f| f.device == context.device.to_string()) {
            say!(
                "  {:<36} {:>11} ms  ± {:<10} {:>9} {:<7} {}",
                figure.name,
                format!("{:.4}", figure.median),
                format!("{:.4}", figure.spread),
                scaled(figure.rate).0,
                format!("{}{}", scaled(figure.rate).1, figure.unit),
                figure.clock
            );
        }
    }
}

/// A rate as a number below 1000 and its prefix.
fn scaled(rate: f64) -> (String, &'static str) {
    let prefixes = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    match prefixes.iter().find(|(size, _)| rate >= *size) {
        Some((size, prefix)) => (format!("{:.2}", rate / size), prefix),
        None => (format!("{rate:.2}"), ""),
    }
}

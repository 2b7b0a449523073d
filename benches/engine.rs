//! What the engine takes from a script's point of view: `cargo bench --bench engine [-- OPTIONS] [NAME…]`.
//!
//! Every case is a script whose last lines are repeated in a loop, as a learner writes it; the time is that of one
//! round of the loop, the interpreter's part included. `scripts/compare_torch.py` times the same in PyTorch.
//!
//! Options: `--json` (one document instead of a table), `--list`, `--samples N`, `--script SETUP BODY` (a case of one's
//! own). NAME picks the cases that contain it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark that cannot go on may stop"
)]

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde_json::json;
use tensorlab::base::event::Page;
use tensorlab::device::Machine;
use tensorlab::script::engine::Stopped;
use tensorlab::script::{Interpreter, Limits, Origin, Silent};

/// Seconds that one sample should take, about.
const SAMPLE: f64 = 0.05;

/// A script to be timed.
#[derive(Clone, Copy)]
struct Case<'a> {
    name: &'a str,
    setup: &'a str,
    body: &'a str,
    /// Floating-point operations of one round, where a rate says more than a time.
    flops: f64,
    /// Whether somebody listens to the events.
    heard: bool,
}

const fn case<'a>(name: &'a str, setup: &'a str, body: &'a str) -> Case<'a> {
    Case { name, setup, body, flops: 0.0, heard: false }
}

const fn product<'a>(name: &'a str, flops: f64, setup: &'a str, body: &'a str) -> Case<'a> {
    Case { name, setup, body, flops, heard: false }
}

const SMALL: &str = "let x = rand([4]); let y = rand([4]);";
const LARGE: &str = "let a = rand([16 * 1024 * 1024]); let b = rand([16 * 1024 * 1024]);";
const SGD: &str = "manual_seed(0);
    let net = nn::Sequential([nn::Linear(64, 256), nn::ReLU(), nn::Linear(256, 10)]);
    let opt = optim::SGD(net.parameters(), #{lr: 0.1});
    let x = rand([128, 64]);
    let y = randint(0, 10, [128]);";
const ADAM: &str = "manual_seed(0);
    let net = nn::Sequential([nn::Linear(64, 256), nn::ReLU(), nn::Linear(256, 10)]);
    let opt = optim::Adam(net.parameters(), #{lr: 0.001});
    let x = rand([128, 64]);
    let y = randint(0, 10, [128]);";
const TRACKED: &str = "let x = rand([4], #{requires_grad: true}); let y = rand([4]);";
const SQUARE: &str = "let a = rand([16 * 1024 * 1024]).reshape([4096, 4096]);";
const CONV: &str = "manual_seed(0);
    let conv = nn::Conv2d(32, 64, 3, #{padding: 1});
    let x = rand([32, 32, 28, 28]);";
const CNN: &str = "manual_seed(0);
    let set = data::TensorDataset(rand([1437, 1, 8, 8]), randint(0, 10, [1437]));
    let loader = data::DataLoader(set, #{batch_size: 32, shuffle: true});
    let net = nn::Sequential([
        nn::Conv2d(1, 16, 3, #{padding: 1}), nn::ReLU(), nn::Conv2d(16, 32, 3, #{padding: 1}), nn::ReLU(),
        nn::MaxPool2d(2), nn::Flatten(), nn::Linear(512, 10)]);
    let opt = optim::Adam(net.parameters(), #{lr: 0.001});";
const EPOCH: &str = "for batch in loader {
        opt.zero_grad();
        let loss = F::cross_entropy(net.forward(batch[0]), batch[1]);
        loss.backward();
        opt.step();
    }";
const STEP: &str = "opt.zero_grad();
    let loss = F::cross_entropy(net.forward(x), y);
    loss.backward();
    opt.step();";

const CASES: &[Case] = &[
    case("x + y, 4 elements", SMALL, "let z = x + y;"),
    case("x + y, 4 elements, tracked", TRACKED, "let z = x + y;"),
    product("matmul 256", 3.4e7, "let a = rand([256, 256]); let b = rand([256, 256]);", "let c = a @ b;"),
    product("matmul 512", 2.7e8, "let a = rand([512, 512]); let b = rand([512, 512]);", "let c = a @ b;"),
    product(
        "matmul 1024",
        2.147e9,
        "let a = rand([1024, 1024]); let b = rand([1024, 1024]);",
        "let c = a @ b;",
    ),
    product(
        "matmul 1024 transposed",
        2.147e9,
        "let a = rand([1024, 1024]); let b = rand([1024, 1024]);",
        "let c = a.T @ b;",
    ),
    product(
        "matmul 2048",
        1.718e10,
        "let a = rand([2048, 2048]); let b = rand([2048, 2048]);",
        "let c = a @ b;",
    ),
    product(
        "matmul 64 x 128x64x128",
        1.342e8,
        "let a = rand([64, 128, 64]); let b = rand([64, 64, 128]);",
        "let c = a @ b;",
    ),
    product(
        "bf16 matmul 1024",
        2.147e9,
        "let a = rand([1024, 1024]).bfloat16(); let b = rand([1024, 1024]).bfloat16();",
        "let c = a @ b;",
    ),
    product(
        "bf16 matmul 2048",
        1.718e10,
        "let a = rand([2048, 2048]).bfloat16(); let b = rand([2048, 2048]).bfloat16();",
        "let c = a @ b;",
    ),
    case("add 16M", LARGE, "let c = a + b;"),
    case("exp 16M", LARGE, "let c = a.exp();"),
    case("relu 16M", LARGE, "let c = a.relu();"),
    case("gelu 16M", LARGE, "let c = F::gelu(a);"),
    case("softmax rows 16M", SQUARE, "let c = a.softmax(-1);"),
    case("clone 16M", LARGE, "let c = a.clone();"),
    case("sum 16M", LARGE, "let c = a.sum();"),
    case("sum columns 16M", SQUARE, "let c = a.sum(0);"),
    case("transpose 16M", SQUARE, "let c = a.T.contiguous();"),
    product("conv forward", 9.25e8, CONV, "let c = conv.forward(x);"),
    product("conv forward and backward", 1.85e9, CONV, "conv.zero_grad(); conv.forward(x).sum().backward();"),
    case("digits CNN epoch", CNN, EPOCH),
    case("training step 64-256-10, SGD", SGD, STEP),
    Case { heard: true, ..case("training step 64-256-10, SGD, events heard", SGD, STEP) },
    case("training step 64-256-10, Adam", ADAM, STEP),
];

/// How long one round of a case takes, in seconds.
struct Times {
    median: f64,
    least: f64,
    samples: usize,
    rounds: u64,
}

fn main() -> ExitCode {
    let options = match Options::read(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(text) => {
            eprintln!("{text}");
            return ExitCode::from(2);
        }
    };
    let own = options.script.as_ref().map(|(setup, body)| Case { setup, body, ..case("script", "", "") });
    let cases = if own.is_some() { &[] } else { CASES };
    let chosen = cases.iter().filter(|c| options.wants(c.name)).chain(&own);
    if options.list {
        chosen.for_each(|c| println!("{}", c.name));
        return ExitCode::SUCCESS;
    }
    let mut results = Vec::new();
    for case in chosen {
        match measure(case, options.samples) {
            Ok(times) if options.json => results.push(document(case, &times)),
            Ok(times) => println!("{}", line(case, &times)),
            Err(text) => {
                eprintln!("{}: {text}", case.name);
                return ExitCode::FAILURE;
            }
        }
    }
    if options.json {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        println!("{}", json!({"version": env!("CARGO_PKG_VERSION"), "threads": threads, "cases": results}));
    }
    ExitCode::SUCCESS
}

struct Options {
    json: bool,
    list: bool,
    samples: usize,
    script: Option<(String, String)>,
    names: Vec<String>,
}

impl Options {
    fn read(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut out = Options { json: false, list: false, samples: 9, script: None, names: Vec::new() };
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--json" => out.json = true,
                "--list" => out.list = true,
                // Cargo says this to every benchmark.
                "--bench" => {}
                "--samples" => {
                    let count = args.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0);
                    out.samples = count.ok_or("--samples takes a count")?;
                }
                "--script" => {
                    out.script =
                        Some(args.next().zip(args.next()).ok_or("--script takes a set-up and a body")?);
                }
                name if name.starts_with("--") => return Err(format!("unknown option {name}")),
                name => out.names.push(name.into()),
            }
        }
        Ok(out)
    }

    /// Whether a case is asked for: by its whole name, or by a part of it.
    fn wants(&self, name: &str) -> bool {
        self.names.is_empty()
            || self
                .names
                .iter()
                .any(|n| if CASES.iter().any(|c| c.name == n) { name == n } else { name.contains(n) })
    }
}

fn measure(case: &Case, samples: usize) -> Result<Times, String> {
    let machine = Machine::cpu_only();
    let events = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&events);
    let _heard = case.heard.then(|| {
        machine.bus().read(Arc::new(move |page: &Page| {
            counter.fetch_add(page.len() as u64, Ordering::Relaxed);
        }))
    });
    let mut script = Interpreter::new(machine, Arc::new(Silent), &Limits::default());
    evaluate(&mut script, case.setup)?;
    let mut sample = |rounds: u64| -> Result<f64, String> {
        let code = format!("for round in 0..{rounds} {{ {} }}", case.body);
        let start = Instant::now();
        evaluate(&mut script, &code)?;
        Ok(start.elapsed().as_secs_f64() / rounds as f64)
    };
    sample(1)?;
    let once = sample(2)?.max(1e-9);
    let rounds = (SAMPLE / once).ceil().clamp(3.0, 1e6) as u64;
    sample(rounds)?;
    let mut all = (0..samples).map(|_| sample(rounds)).collect::<Result<Vec<f64>, String>>()?;
    if case.heard && events.load(Ordering::Relaxed) == 0 {
        return Err("nobody heard an event".into());
    }
    all.sort_by(f64::total_cmp);
    let at = |i: usize| all.get(i).copied().unwrap_or(f64::NAN);
    Ok(Times { median: at(samples / 2), least: at(0), samples, rounds })
}

fn evaluate(script: &mut Interpreter, code: &str) -> Result<(), String> {
    let origin = Origin { name: "bench", code, first_line: 1 };
    match script.evaluate(0, &origin) {
        Ok(_) => Ok(()),
        Err(Stopped::Fault(fault)) => Err(fault.report),
        Err(Stopped::Cancelled(error)) => Err(error.to_string()),
    }
}

fn document(case: &Case, times: &Times) -> serde_json::Value {
    json!({
        "name": case.name,
        "median_us": times.median * 1e6,
        "least_us": times.least * 1e6,
        "samples": times.samples,
        "rounds": times.rounds,
    })
}

fn line(case: &Case, times: &Times) -> String {
    let rate = match case.flops {
        0.0 => String::new(),
        flops => format!("{:10.1} GFLOP/s", flops / times.median / 1e9),
    };
    let (median, least) = (times.median * 1e6, times.least * 1e6);
    format!("{:44}{median:12.2} us (least {least:10.2}){rate}", case.name)
}

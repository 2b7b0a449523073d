//! What the event stream costs a training run: `cargo bench --bench listening`.
//!
//! `scripts/digits.rhai` as it is, and its training loop alone (64-256-10, batches of 32 from two loader threads): with
//! nobody listening, and in a session's process whose events a front end reads. Both alternate; medians are printed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark that cannot go on may stop"
)]

use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use tensorlab::base::event::{Body, Bus, Source};
use tensorlab::device::Machine;
use tensorlab::script::{Interpreter, Limits, Origin, Silent};
use tensorlab::session::client::{Client, FromSession};
use tensorlab::session::protocol::{Message, Outcome, Request};

const SETUP: &str = "manual_seed(0);
let digits = data::digits();
let train = data::TensorDataset(digits.x_train, digits.y_train);
let loader = data::DataLoader(train, #{batch_size: 32, shuffle: true, num_workers: 2});
let net = nn::Sequential([nn::Linear(64, 256), nn::ReLU(), nn::Linear(256, 10)]);
let opt = optim::Adam(net.parameters(), #{lr: 0.005});";
const RUN: &str = "for epoch in 0..15 {
    for batch in loader {
        let loss = F::cross_entropy(net.forward(batch[0]), batch[1]);
        opt.zero_grad();
        loss.backward();
        opt.step();
    }
}";
const ROUNDS: usize = 21;

/// The script as it stands; its plot goes to a file that is left behind in the system's folder for such.
fn digits() -> String {
    let file = std::env::temp_dir().join("tensorlab-listening.png");
    format!("let ARGS = [{file:?}];\n{}", include_str!("../scripts/digits.rhai"))
}

fn main() {
    println!("scripts/digits.rhai");
    compare("", &digits());
    println!("its training loop");
    compare(SETUP, RUN);
}

fn compare(setup: &str, run: &str) {
    let mut script = Interpreter::new(Machine::cpu_only(), Arc::new(Silent), &Limits::default());
    let mut alone = |code: &str| {
        let start = Instant::now();
        let done = script.evaluate(0, &Origin { name: "bench", code, first_line: 1 });
        assert!(done.is_ok());
        start.elapsed().as_secs_f64()
    };
    let mut session = Session::start();
    for code in [setup, run] {
        alone(code);
        session.run(code);
    }
    (session.events, session.missed) = (0, 0);
    let (mut quiet, mut heard) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        quiet.push(alone(run));
        heard.push(session.run(run));
    }
    let (quiet, heard) = (median(quiet), median(heard));
    let added = (heard / quiet - 1.0) * 100.0;
    println!("  nobody listening      {:8.2} ms", quiet * 1e3);
    println!("  in a session          {:8.2} ms   {added:+.1} %", heard * 1e3);
    println!("  events received       {:8}, {} more were dropped", session.events, session.missed);
    let events = (session.events + session.missed) as f64 / ROUNDS as f64;
    let unheard = unheard();
    let share = events * unheard / quiet * 100.0;
    println!("  an event nobody hears {:8.2} ns, {events:.0} of them {share:.3} % of the run", unheard * 1e9);
}

/// Seconds that an event costs which nobody hears.
fn unheard() -> f64 {
    let bus = Bus::default();
    let rounds = 50_000_000u64;
    let start = Instant::now();
    for at in 0..rounds {
        std::hint::black_box(&bus).emit(Source::default(), || Body::CellStart { cell: 1, at });
    }
    start.elapsed().as_secs_f64() / rounds as f64
}

struct Session {
    client: Client,
    /// Events received, and those that the session dropped.
    events: u64,
    missed: u64,
    id: u64,
}

impl Session {
    fn start() -> Session {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tensorlab"));
        command.args(["session", "--stdio", "--devices", "cpu"]);
        Session { client: Client::spawn(command).unwrap(), events: 0, missed: 0, id: 0 }
    }

    fn run(&mut self, code: &str) -> f64 {
        self.id += 1;
        let start = Instant::now();
        let code = code.into();
        self.client
            .send(Request::Evaluate {
                id: self.id,
                cell: 1,
                code,
                first_line: 1,
                given: Default::default(),
                answer: false,
            })
            .unwrap();
        loop {
            match self.client.events().recv().unwrap() {
                FromSession::Message(Message::Telemetry { events }) => self.events += events.len() as u64,
                FromSession::Message(Message::Missed { digest }) => self.missed += digest.events,
                FromSession::Message(Message::Finished { outcome: Outcome::Ok { .. }, .. }) => break,
                FromSession::Message(Message::Finished { outcome, .. }) => panic!("{outcome:?}"),
                FromSession::Message(_) => {}
                FromSession::Died { reason } => panic!("{reason:?}"),
            }
        }
        start.elapsed().as_secs_f64()
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

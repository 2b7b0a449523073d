//! What a frame of the lab costs: `cargo bench --bench frames`.
//!
//! A frame at 200x60 while 10,000 events a second arrive, with much alive; and the same in a document of 500 cells
//! with 100,000 lines of output. Update and view are timed together, as the lab runs them; medians are printed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark that cannot go on may stop"
)]

#[allow(dead_code, reason = "the fixture has more than a frame needs")]
#[path = "../tests/screens/fixture.rs"]
mod fixture;

use std::time::{Duration, Instant};

use crossterm::event::KeyCode;
use fixture::{GPU, Lab, MIB, alloc, at, copy, launch, segment};
use ratatui::{Terminal, backend::TestBackend};
use tensorlab::base::Device;
use tensorlab::lab::{Msg, view};

/// Pairs of events in a frame: 10,000 events a second at 60 frames.
const PAIRS: u64 = 84;
const FRAMES: u64 = 300;

fn main() {
    let few: Vec<&str> = vec!["train()", "2", "3"];
    time("three cells", &mut Lab::notebook(&few), 0);
    let mut machine = Lab::notebook(&few);
    machine.key(KeyCode::F(6));
    time("the machine, full-screen", &mut machine, 0);
    let many = vec!["train()"; 500];
    time("500 cells, 100,000 lines", &mut Lab::notebook(&many), 100_000);
}

fn time(what: &str, lab: &mut Lab, lines: usize) {
    let mut terminal = Terminal::new(TestBackend::new(200, 60)).unwrap();
    lab.tell(Msg::Resize(200, 60));
    lab.key(KeyCode::F(5));
    lab.happens(1, 1, [segment(GPU, 0, 64 * MIB, 64 * MIB)]);
    for address in 0..5000u64 {
        lab.happens(1, 1, [alloc(GPU, address * 512, 512, address * 512, address * 512, "rand", &[128])]);
    }
    for line in 0..lines {
        lab.prints(&format!("line {line}\n"));
    }
    let mut times = Vec::new();
    for frame in 0..FRAMES {
        let start = Instant::now();
        let events = (0..PAIRS).flat_map(|i| {
            let number = frame * PAIRS + i;
            let address = (10_000 + number) * 512;
            let made = alloc(GPU, address, 512, MIB, MIB, "add", &[128]);
            let moved = copy(Device::Cpu, GPU, MIB, 1000 + i, false);
            [
                made,
                if i % 2 == 0 { at(moved, number * 12_000, 0) } else { at(launch(GPU), number * 12_000, 1) },
            ]
        });
        lab.happens(1, 1, events);
        lab.prints(&format!("epoch {frame}\n"));
        terminal.draw(|f| view(&lab.state, f)).unwrap();
        times.push(start.elapsed());
    }
    times.sort();
    let (median, most): (Duration, Duration) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    println!("{what:<26} {:6.2} ms a frame, {:6.2} ms at the 99th of 100", ms(median), ms(most));
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

//! The H100's profile against what was measured on one: `scripts/calibrate.py` recorded it, and
//! `scripts/profile_from.py` made the profile of it.

use serde_json::Value;
use tensorlab::device::sim::cost;
use tensorlab::device::sim::{
    Clock, Direction, HostProfile, KernelClass, Profile, Rate, StreamId, Transfer, Work,
};

struct Error {
    of: String,
    part: f64,
    name: String,
}

/// The host that was measured with it.
fn own_host() -> HostProfile {
    HostProfile::builtin("h100-server").unwrap()
}

fn recorded() -> Value {
    serde_json::from_str(include_str!("../../docs/gpu/h100/calibration.json")).unwrap()
}

fn kernels(profile: &Profile, recorded: &Value) -> Vec<Error> {
    let rows = recorded["kernels"].as_array().unwrap();
    rows.iter()
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap();
            let number = |key: &str| row[key].as_u64().unwrap();
            let class = KernelClass::ALL.into_iter().find(|c| c.key() == text("class")).unwrap();
            let rate = Rate::ALL.into_iter().find(|r| r.key() == text("rate")).unwrap();
            let work = Work { class, rate, flops: number("flops"), bytes: number("bytes") };
            let took = row["nanos"].as_f64().unwrap();
            let size = match row["n"].as_u64() {
                Some(n) => format!("of 2^{}", n.ilog2()),
                None => rate.key().to_owned(),
            };
            let part = (cost::kernel(profile, &work).total() as f64 / took - 1.0).abs();
            Error { of: class.key().to_owned(), part, name: format!("{} {size}", text("name")) }
        })
        .collect()
}

/// Pinned copies are compared on the device; pageable ones with the host's time, which has an operation's and a wait's.
fn copies(profile: &Profile, recorded: &Value) -> Vec<Error> {
    let host = own_host();
    let rows = recorded["transfers"].as_array().unwrap();
    rows.iter()
        .map(|row| {
            let (pinned, bytes) = (row["pinned"].as_bool().unwrap(), row["bytes"].as_u64().unwrap());
            let way = row["way"].as_str().unwrap();
            let direction = if way == "h2d" { Direction::H2D } else { Direction::D2H };
            let length = cost::transfer(profile, &host, &Transfer { direction, bytes, pinned });
            let (ours, theirs) = match pinned {
                true => (length, &row["device"]),
                false => (length + host.driver.launch + host.driver.call, &row["host"]),
            };
            let part = (ours as f64 / theirs.as_f64().unwrap() - 1.0).abs();
            let memory = if pinned { "pinned" } else { "pageable" };
            Error { of: format!("{memory} {way}"), part, name: format!("{bytes} bytes") }
        })
        .collect()
}

/// The most that a class's median and worst prediction are off.
const BOUNDS: [(&str, f64, f64); 12] = [
    ("matmul", 0.03, 0.40),
    // One efficiency for shapes between which the device's own varies by a factor of two.
    ("convolution", 0.40, 0.60),
    ("elementwise", 0.02, 0.07),
    ("reduction", 0.15, 0.42),
    ("normalise", 0.07, 0.10),
    // Whole rows, single elements and additions in one class.
    ("gather_scatter", 0.35, 0.83),
    ("random", 0.15, 0.34),
    // A transposed copy reads across its lines.
    ("copy", 0.04, 0.82),
    ("pageable h2d", 0.05, 0.12),
    // One of these copies, and one of the pinned ones to the device, took many times what their neighbours took.
    ("pageable d2h", 0.07, 0.80),
    ("pinned h2d", 0.20, 1.00),
    ("pinned d2h", 0.05, 0.25),
];

#[test]
fn the_profile_predicts_what_was_measured() {
    let (profile, recorded) = (Profile::builtin("h100").unwrap(), recorded());
    let page = include_str!("../../docs/gpu/h100.md");
    let mut errors = kernels(&profile, &recorded);
    errors.extend(copies(&profile, &recorded));
    let mut counted = 0;
    for (of, median_bound, worst_bound) in BOUNDS {
        let mut own: Vec<&Error> = errors.iter().filter(|e| e.of == of).collect();
        own.sort_by(|a, b| a.part.total_cmp(&b.part));
        let middle = own.len() / 2;
        let median = match own.len() % 2 {
            1 => own[middle].part,
            _ => (own[middle - 1].part + own[middle].part) / 2.0,
        };
        let worst = own[own.len() - 1];
        assert!(median <= median_bound, "{of}: median error {median}");
        assert!(worst.part <= worst_bound, "{of}: {} is off by {}", worst.name, worst.part);
        let row = format!(
            "| {of} | {} | {:.1}% | {:.0}% | {} |",
            own.len(),
            100.0 * median,
            100.0 * worst.part,
            worst.name
        );
        assert!(page.contains(&row), "docs/gpu/h100.md lacks: {row}");
        counted += own.len();
    }
    assert_eq!(counted, errors.len(), "every class has its bounds");
}

/// What was seen while the device had 40 ms of work before a copy: which copies held the host until it was done.
#[test]
fn copies_hold_the_host_as_on_the_device() {
    let profile = Profile::builtin("h100").unwrap();
    let busy = Work { class: KernelClass::Copy, rate: Rate::Fp32, flops: 0, bytes: 120_000_000_000 };
    for row in recorded()["held"].as_array().unwrap() {
        let (pinned, bytes) = (row["pinned"].as_bool().unwrap(), row["bytes"].as_u64().unwrap());
        let direction = if row["way"] == "h2d" { Direction::H2D } else { Direction::D2H };
        let mut clock = Clock::new(vec![profile.clone()], own_host());
        let at = StreamId { device: 0, stream: 0 };
        let work = clock.launch(at, &busy).unwrap();
        assert!(work.end > 30_000_000);
        let copy = clock.copy(at, &Transfer { direction, bytes, pinned }, true).unwrap();
        let held = row["host"].as_f64().unwrap() > 30_000_000.0;
        assert_eq!(clock.now() >= work.end, held, "{row}");
        assert_eq!(copy.blocking, held, "{row}");
        assert!(copy.start >= work.end, "{row}");
    }
}

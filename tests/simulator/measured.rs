//! The H100's profile against what was measured on one: `scripts/calibrate.py` recorded it, and
//! `scripts/profile_from.py` made the profile of it.

use serde_json::Value;
use tensorlab::device::sim::cost;
use tensorlab::device::sim::{
    Clock, Direction, HostProfile, KernelClass, Profile, Rate, StreamId, Transfer, Work, WorkForm,
};

use super::launches;

struct Error {
    of: String,
    /// What is predicted over what was measured.
    ratio: f64,
    name: String,
}

/// The host that was measured with it.
fn own_host() -> HostProfile {
    HostProfile::builtin("h100-server").unwrap()
}

impl Error {
    fn part(&self) -> f64 {
        (self.ratio - 1.0).abs()
    }
}

fn recorded() -> Value {
    serde_json::from_str(include_str!("../../docs/gpu/h100/calibration.json")).unwrap()
}

/// What is predicted for each recorded kernel, launched here as the operations of this program launch it.
fn kernels(profile: &Profile, recorded: &Value) -> Vec<Error> {
    let rows = recorded["kernels"].as_array().unwrap();
    rows.iter()
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap();
            let rate = Rate::ALL.into_iter().find(|r| r.key() == text("rate")).unwrap();
            let work = launches::work_of(row, rate);
            let size = match row["n"].as_u64() {
                Some(n) => format!("of 2^{}", n.ilog2()),
                None => rate.key().to_owned(),
            };
            let name = format!("{} {size}", text("name"));
            let split = matches!(work.form, WorkForm::Reduced(_)) && work.class == KernelClass::Reduction;
            assert!(work.class.key() == text("class") || split, "{name} is {:?}", work.class);
            let moved = work.bytes as f64 / row["bytes"].as_f64().unwrap();
            assert!((moved - 1.0).abs() < 0.02, "{name} moves {} bytes", work.bytes);
            let took = row["nanos"].as_f64().unwrap();
            let ratio = cost::kernel(profile, &work).total() as f64 / took;
            Error { of: text("class").to_owned(), ratio, name }
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
            // A second run, where the first was held up: a copy can be slower than the link, and not faster.
            let again = row["again"].as_f64().unwrap_or(f64::INFINITY);
            let ratio = ours as f64 / theirs.as_f64().unwrap().min(again);
            let memory = if pinned { "pinned" } else { "pageable" };
            Error { of: format!("{memory} {way}"), ratio, name: format!("{bytes} bytes") }
        })
        .collect()
}

/// The most that any class's median prediction is off.
const MEDIAN: f64 = 0.10;
/// The most that a class's worst prediction is off.
const BOUNDS: [(&str, f64); 17] = [
    ("matmul", 0.38),
    ("convolution", 0.17),
    ("elementwise", 0.06),
    ("reduction", 0.18),
    ("normalise", 0.10),
    ("gather_scatter", 0.08),
    ("random", 0.13),
    ("copy", 0.09),
    ("split_reduction", 0.35),
    ("arg_reduction", 0.07),
    ("gather_elements", 0.20),
    ("scatter_add", 0.21),
    ("transpose", 0.42),
    ("pageable h2d", 0.12),
    ("pageable d2h", 0.27),
    ("pinned h2d", 1.00),
    ("pinned d2h", 0.25),
];
/// Single cases of which the prediction is less than half or more than double, with the cause.
const FAR: [(&str, &str, &str); 1] = [(
    "pinned h2d",
    "16384 bytes",
    "the recording was held up: its neighbours took 4 and 11 us, this one 903",
)];

#[test]
fn the_profile_predicts_what_was_measured() {
    let (profile, recorded) = (Profile::builtin("h100").unwrap(), recorded());
    let page = include_str!("../../docs/gpu/h100.md");
    let mut errors = kernels(&profile, &recorded);
    errors.extend(copies(&profile, &recorded));
    let mut counted = 0;
    for (of, worst_bound) in BOUNDS {
        let mut own: Vec<&Error> = errors.iter().filter(|e| e.of == of).collect();
        own.sort_by(|a, b| a.part().total_cmp(&b.part()));
        let middle = own.len() / 2;
        let median = match own.len() % 2 {
            1 => own[middle].part(),
            _ => (own[middle - 1].part() + own[middle].part()) / 2.0,
        };
        let worst = own[own.len() - 1];
        assert!(median <= MEDIAN, "{of}: median error {median}");
        assert!(worst.part() <= worst_bound, "{of}: {} is off by {}", worst.name, worst.part());
        let row = format!(
            "| {of} | {} | {:.1}% | {:.0}% | {} |",
            own.len(),
            100.0 * median,
            100.0 * worst.part(),
            worst.name
        );
        assert!(page.contains(&row), "docs/gpu/h100.md lacks: {row}");
        counted += own.len();
    }
    assert_eq!(counted, errors.len(), "every class has its bounds");
    let far = errors.iter().filter(|e| !(0.5..=2.0).contains(&e.ratio));
    let far: Vec<(&str, &str)> = far.map(|e| (e.of.as_str(), e.name.as_str())).collect();
    assert_eq!(far, FAR.map(|(of, name, _)| (of, name)));
    assert!(FAR.iter().all(|(_, _, cause)| !cause.is_empty()));
}

/// What was seen while the device had 40 ms of work before a copy: which copies held the host until it was done.
#[test]
fn copies_hold_the_host_as_on_the_device() {
    let profile = Profile::builtin("h100").unwrap();
    let busy = Work {
        class: KernelClass::Copy,
        rate: Rate::Fp32,
        flops: 0,
        bytes: 120_000_000_000,
        form: WorkForm::Plain,
    };
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

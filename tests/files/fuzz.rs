//! Valid files with something changed, over and over.
//!
//! `cargo test --test suite files::fuzz -- --ignored --nocapture` goes on for `FUZZ_SECONDS` (60) per target from
//! `FUZZ_SEED` (1) and says how often; `FUZZ_TARGET` picks one. A failure names the case, which `FUZZ_CASE` runs alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use tensorlab::data::files::Format;
use tensorlab::notebook::store::journal::Journal;
use tensorlab::notebook::{Cell, Change, Notebook, Output, ipynb, percent, sidecar};
use tensorlab::session::protocol::{Display, Stream};

use super::targets;

/// What is fuzzed: a name, valid inputs, and what is done with an input.
struct Target {
    name: &'static str,
    seeds: Vec<Vec<u8>>,
    run: fn(&[u8]) -> bool,
}

fn targets() -> Vec<Target> {
    let csv: [&[u8]; 5] = [
        b"a,b\n1,2\n3,4\n",
        b"1e9,-0.5,nan\n\n2,inf,3\r\n",
        b"\xef\xbb\xbf\"1\",2",
        b"x\n1\n2\n",
        b"0.1,0.2\n",
    ];
    let profiles = tensorlab::device::sim::profile::builtin_ids()
        .map(|id| std::fs::read(root().join(format!("src/device/sim/profiles/{id}.toml"))).unwrap());
    vec![
        Target { name: "npy", seeds: files("npy"), run: |b| targets::file(Format::Npy, b) },
        Target { name: "npz", seeds: files("npz"), run: |b| targets::file(Format::Npz, b) },
        Target {
            name: "safetensors",
            seeds: files("safetensors"),
            run: |b| targets::file(Format::Safetensors, b),
        },
        Target { name: "csv", seeds: csv.map(<[u8]>::to_vec).to_vec(), run: targets::csv },
        Target { name: "profile", seeds: profiles.collect(), run: targets::profile },
        Target { name: "percent", seeds: notebooks(Kind::Percent), run: targets::percent },
        Target { name: "ipynb", seeds: notebooks(Kind::Ipynb), run: targets::ipynb },
        Target { name: "sidecar", seeds: notebooks(Kind::Sidecar), run: targets::sidecar },
        Target { name: "journal", seeds: notebooks(Kind::Journal), run: targets::journal },
        Target { name: "lesson", seeds: lessons(), run: targets::lesson },
    ]
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The recorded files of a format, those that are refused among them.
fn files(extension: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = std::fs::read_dir(root().join("tests/golden/files"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == extension))
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    let mut all: Vec<Vec<u8>> = paths.iter().map(|p| std::fs::read(p).unwrap()).collect();
    if extension == "safetensors" {
        // A nested value, whose structure stands in the metadata.
        let nested = br#"{"__metadata__":{"tensorlab.structure":"{\"map\":{\"a\":{\"list\":[{\"tensor\":\"a.0\"},1,null,{\"float\":\"inf\"}]}}}"},"a.0":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}"#;
        let mut bytes = (nested.len() as u64).to_le_bytes().to_vec();
        bytes.extend(nested);
        bytes.extend([1, 2]);
        assert!(targets::file(Format::Safetensors, &bytes));
        all.push(bytes);
    }
    all
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Percent,
    Ipynb,
    Sidecar,
    Journal,
}

/// A notebook with outputs of every kind, and old and foreign ones.
fn notebooks(kind: Kind) -> Vec<Vec<u8>> {
    let mut notebook = percent::parse(targets::CELLS);
    let fault = Output::stopped("RuntimeError", "no");
    let table = Display::Table { header: vec!["a".into()], rows: vec![vec!["1".into()]] };
    for cell in notebook.cells.iter_mut().skip(1) {
        (cell.ran, cell.execution_count) = (Some(cell.hash()), Some(1));
        cell.outputs = vec![
            Output::stream(Stream::Stdout, "a\n"),
            Output::stream(Stream::Stderr, "\u{1b}[1mb"),
            Output::display(&table),
            Output::result("1", 1),
            fault.clone(),
        ];
    }
    match kind {
        Kind::Percent => vec![
            targets::CELLS.into(),
            b"#!/usr/bin/env tensorlab\r\n// %%  One\r\nlet x = `a ${1}`;\r\n\r\n// %% [markdown]\r\n// # T\r\n//\r\n// %% [raw]\r\n/* a */".to_vec(),
            b"print(1)\n// %%\n// %%\n\n// %% [md]\nnot a comment\n".to_vec(),
        ],
        Kind::Ipynb => vec![
            ipynb::write(&notebook),
            br##"{"nbformat":4,"nbformat_minor":2,"metadata":{"kernelspec":{"name":"python3"},"x":[1]},"cells":[{"cell_type":"markdown","source":"# a","attachments":{"a.png":{"image/png":"aGk="}},"metadata":{}},{"cell_type":"code","execution_count":null,"metadata":{"tags":["t"]},"outputs":[{"output_type":"display_data","data":{"image/png":"aGk=","text/plain":["x"]},"metadata":{}},{"output_type":"error","ename":"E","evalue":"v","traceback":["t"]}],"source":["a\n","b"]}]}"##.to_vec(),
            br##"{"nbformat":3,"worksheets":[{"cells":[{"cell_type":"code","input":["a"],"language":"python","outputs":[{"output_type":"pyout","text":["x"],"prompt_number":1},{"output_type":"stream","stream":"stderr","text":"e"}]},{"cell_type":"heading","level":2,"source":"h"}]}]}"##.to_vec(),
        ],
        Kind::Sidecar => vec![sidecar::write(&notebook).unwrap()],
        Kind::Journal => vec![journal(&mut notebook)],
    }
}

/// The records of a journal, without their checksums.
fn journal(notebook: &mut Notebook) -> Vec<u8> {
    let path = std::env::temp_dir().join(format!("tensorlab-fuzz-{}", std::process::id()));
    let mut journal = Journal::begin(&path, None, notebook).unwrap();
    let first = notebook.cells[1].clone();
    let mut cell = Cell::code("");
    cell.id = "new".into();
    let changes = [
        Change::source(&first, "let x = 12;").unwrap(),
        Change::Insert { at: 1, cell: Box::new(cell) },
        Change::Move { id: "new".into(), to: 0 },
        Change::ClearOutputs { id: first.id.clone() },
        Change::Remove { id: first.id },
    ];
    for change in changes {
        assert!(notebook.apply(&change));
        journal.record(&change).unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap();
    journal.remove().unwrap();
    text.lines().flat_map(|line| format!("{}\n", &line[9..]).into_bytes()).collect()
}

fn lessons() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut folders = vec![root().join("lessons/course")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                all.push(std::fs::read(path).unwrap());
            }
        }
    }
    all.sort();
    all.push(b"+++\nid = \"a\"\ntitle = \"A\"\n+++\n\n# One\n\n```rhai\nlet x = 1;\n```\n".to_vec());
    all
}

/// A generator of its own, so that a case is its number (xorshift64*, Vigna 2016).
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Dice {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        dice.next();
        dice.next();
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n.max(1)
    }
}

const NUMBERS: [u64; 12] = [
    0,
    1,
    7,
    0xff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    0x1_0000_0000,
    1_000_000_000_000_000_000,
    i64::MAX as u64,
    u64::MAX - 7,
    u64::MAX,
];
const WORDS: [&str; 12] = [
    "(",
    "[[[[[[[[",
    "'",
    "\"",
    "\n",
    ",",
    "{\"a\":",
    "\u{0}",
    "\u{fffd}",
    "-1",
    "9999999999999999999999",
    "1e999",
];

/// Changes bytes in one of many ways.
fn change(bytes: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    let at = dice.below(bytes.len());
    let length = 1 + dice.below(16.min(bytes.len().max(1)));
    let end = (at + length).min(bytes.len());
    match dice.below(11) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..end)),
        2 => {
            let part = bytes[at..end].to_vec();
            bytes.splice(at..at, part);
        }
        3 if !bytes.is_empty() => bytes[at] ^= 1 << dice.below(8),
        4 if !bytes.is_empty() => bytes[at] = dice.next() as u8,
        5 => {
            let number = NUMBERS[dice.below(NUMBERS.len())].to_le_bytes();
            let width = [2, 4, 8][dice.below(3)];
            for (to, from) in bytes[at..].iter_mut().zip(&number[..width]) {
                *to = *from;
            }
        }
        6 => drop(bytes.splice(at..at, WORDS[dice.below(WORDS.len())].bytes())),
        7 => {
            // Another number where one stands.
            if let Some(digit) = bytes[at..].iter().position(u8::is_ascii_digit).map(|i| at + i) {
                let digits = bytes[digit..].iter().take_while(|b| b.is_ascii_digit()).count();
                let number = match dice.below(3) {
                    0 => dice.below(20).to_string(),
                    1 => NUMBERS[dice.below(NUMBERS.len())].to_string(),
                    _ => dice.next().to_string(),
                };
                bytes.splice(digit..digit + digits, number.bytes());
            }
        }
        8 => {
            let from = dice.below(other.len());
            let to = (from + 1 + dice.below(64)).min(other.len());
            bytes.splice(at..end, other[from..to].iter().copied());
        }
        9 => {
            let size = 1 + dice.below(64);
            bytes.extend(other.iter().rev().take(size));
        }
        _ => {
            let (a, b) = (at, dice.below(bytes.len()));
            if !bytes.is_empty() {
                bytes.swap(a, b);
            }
        }
    }
}

fn case(target: &Target, number: u64) -> Vec<u8> {
    let mut dice = Dice::new(number);
    let mut bytes = target.seeds[dice.below(target.seeds.len())].clone();
    let other = &target.seeds[dice.below(target.seeds.len())];
    for _ in 0..=dice.below(4) {
        change(&mut bytes, other, &mut dice);
    }
    bytes
}

fn run(target: &Target, number: u64) -> bool {
    let bytes = case(target, number);
    catch_unwind(AssertUnwindSafe(|| (target.run)(&bytes))).unwrap_or_else(|_| {
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(400)]).into_owned();
        panic!("{} fails on case {number}, {} bytes: {start:?}", target.name, bytes.len())
    })
}

#[test]
fn every_valid_input_is_taken_before_it_is_changed() {
    for target in targets() {
        let taken = target.seeds.iter().filter(|s| (target.run)(s)).count();
        assert!(taken > 0, "{}: {taken} of {}", target.name, target.seeds.len());
    }
}

#[test]
fn some_thousand_changed_inputs_end_in_a_value_or_an_error() {
    for target in targets() {
        let count = if matches!(target.name, "lesson" | "profile") { 300 } else { 3000 };
        let taken = (0..count).filter(|&number| run(&target, number)).count() as u64;
        assert!(taken < count, "{}: every change was taken", target.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_end_in_a_value_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for format in [Format::Npy, Format::Npz, Format::Safetensors] {
            targets::file(format, &bytes);
        }
        targets::csv(&bytes);
    }

    #[test]
    fn any_header_ends_in_a_value_or_an_error(text in "[\\[\\](){}'\":,.0-9a-zA-Z_<> ]{0,120}", data in 0usize..40) {
        let data = vec![0u8; data];
        let mut npy = b"\x93NUMPY\x01\x00".to_vec();
        npy.extend((text.len() as u16).to_le_bytes());
        npy.extend(text.bytes().chain(data.iter().copied()));
        targets::file(Format::Npy, &npy);
        let mut tensors = (text.len() as u64 + 1).to_le_bytes().to_vec();
        tensors.push(b'{');
        tensors.extend(text.bytes().chain(data));
        targets::file(Format::Safetensors, &tensors);
    }
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// The most memory this process has held, in MiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap_or(0) / 1024
}

#[test]
#[ignore = "goes on for minutes"]
fn millions_of_changed_inputs_end_in_a_value_or_an_error() {
    let budget = Duration::from_secs(setting("FUZZ_SECONDS").unwrap_or(60));
    let seed = setting("FUZZ_SEED").unwrap_or(1).wrapping_mul(1 << 40);
    let only = std::env::var("FUZZ_TARGET").ok();
    for target in targets().into_iter().filter(|t| only.as_deref().is_none_or(|name| name == t.name)) {
        if let Some(number) = setting("FUZZ_CASE") {
            println!("{}: case {number}: {}", target.name, run(&target, number));
            continue;
        }
        let start = Instant::now();
        let (mut count, mut taken) = (0u64, 0u64);
        while start.elapsed() < budget {
            for _ in 0..256 {
                taken += u64::from(run(&target, seed.wrapping_add(count)));
                count += 1;
            }
        }
        println!("{:<12} {count:>9} inputs, {taken} taken, peak {} MiB", target.name, peak());
        assert!(peak() < 1500, "{} took {} MiB", target.name, peak());
    }
}

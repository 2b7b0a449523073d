//! What is done with bytes from outside: shared by the tests here and the fuzz targets under `tests/fuzz/`.
//!
//! Each gives whether the bytes were taken, and panics where something is wrong with that.

use std::io::Cursor;

use tensorlab::base::{Error, Kind};
use tensorlab::data::csv;
use tensorlab::data::files::{Format, Saving, read, write};
use tensorlab::device::sim::profile::Profile;
use tensorlab::notebook::store::journal;
use tensorlab::notebook::{html, ipynb, names, percent, sidecar};
use tensorlab::op::Value;

const NAME: &str = "some.file";

/// Reads bytes as a format. What is accepted must survive being written and read; what is not must say why.
pub fn file(format: Format, bytes: &[u8]) -> bool {
    let value = match read(format, Cursor::new(bytes), bytes.len() as u64, NAME) {
        Ok(value) => value,
        Err(error) => {
            check(&error, format!("{NAME}: ").as_str());
            return false;
        }
    };
    let first = written(format, &value);
    let again = read(format, Cursor::new(&first), first.len() as u64, NAME).unwrap();
    assert!(written(format, &again) == first, "{format:?}: it reads otherwise than it was written");
    true
}

fn written(format: Format, value: &Value) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    write(format, value, &Saving::default(), &mut out, NAME).unwrap();
    out.into_inner()
}

/// Reads bytes as comma-separated numbers.
pub fn csv(bytes: &[u8]) -> bool {
    match csv::parse(bytes, NAME, csv::Reading::default()) {
        Ok(t) => {
            assert_eq!(t.rank(), 2);
            assert!(t.numel() <= bytes.len());
            true
        }
        Err(error) => {
            check(&error, format!("{NAME}:").as_str());
            false
        }
    }
}

/// Reads bytes as the description of a simulated device.
pub fn profile(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    match Profile::parse(text, NAME) {
        Ok(_) => true,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

/// Reads bytes as a lesson.
pub fn lesson(bytes: &[u8]) -> bool {
    match tensorlab::lesson::parse(NAME, bytes) {
        Ok(_) => true,
        Err(errors) => {
            assert!(!errors.is_empty());
            false
        }
    }
}

/// Reads bytes as a script of cells. What was read is written byte by byte as it was.
pub fn percent(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let notebook = percent::parse(&text);
    assert!(percent::write(&notebook) == text, "it is written otherwise than it was read");
    let placed = percent::placed(&text).len();
    assert!(placed <= notebook.cells.len());
    html::export(&notebook, NAME);
    notebook.cells.iter().for_each(|cell| drop(names::names(&cell.source)));
    notebook.cells.len() > 1
}

/// Reads bytes as Jupyter's format. What is accepted must survive being written and read.
pub fn ipynb(bytes: &[u8]) -> bool {
    match ipynb::read(bytes) {
        Ok((notebook, _)) => {
            let first = ipynb::write(&notebook);
            let (again, _) = ipynb::read(&first).unwrap();
            assert!(ipynb::write(&again) == first, "it reads otherwise than it was written");
            let script = percent::write(&notebook);
            assert_eq!(percent::write(&percent::parse(&script)), script);
            html::export(&notebook, NAME);
            true
        }
        Err(error) => {
            assert!(!error.0.is_empty());
            false
        }
    }
}

/// The notebook that outputs are read for.
pub const CELLS: &str = "// %% T [md] a={\"b\":[1]}\n// # x\n// %%\nlet x = 1;\nx\n// %%\nx + 1\n";

/// Reads bytes as the outputs beside a script.
pub fn sidecar(bytes: &[u8]) -> bool {
    let mut notebook = percent::parse(CELLS);
    let before = notebook.clone();
    match sidecar::read(&mut notebook, bytes) {
        Ok(_) => {
            assert_eq!(percent::write(&notebook), CELLS);
            if let Some(first) = sidecar::write(&notebook) {
                let mut again = percent::parse(CELLS);
                sidecar::read(&mut again, &first).unwrap();
                assert!(sidecar::write(&again) == Some(first), "it reads otherwise than it was written");
            }
            html::export(&notebook, NAME);
            true
        }
        Err(_) => {
            assert_eq!(notebook, before, "what is refused changes nothing");
            false
        }
    }
}

/// Reads bytes as a journal whose checksums are right: a record a line.
pub fn journal(bytes: &[u8]) -> bool {
    let lines = bytes.split_inclusive(|&byte| byte == b'\n');
    let mut summed = Vec::new();
    for line in lines {
        let record = line.strip_suffix(b"\n").unwrap_or(line);
        summed.extend(format!("{:08x} ", crc32fast::hash(record)).into_bytes());
        summed.extend(line);
    }
    let replayed = journal::replay(&summed);
    assert!(journal::replay(bytes).is_none(), "a record without a checksum counts");
    let Some(replayed) = replayed else { return false };
    assert_eq!(replayed.whole + replayed.torn, summed.len() as u64);
    let whole = usize::try_from(replayed.whole).unwrap();
    let again = journal::replay(&summed[..whole]).unwrap();
    // A cell whose id is taken gets another one each time.
    assert_eq!(percent::write(&again.notebook), percent::write(&replayed.notebook));
    assert_eq!((again.changes, again.torn), (replayed.changes, 0));
    html::export(&replayed.notebook, NAME);
    true
}

fn check(error: &Error, start: &str) {
    assert_eq!(error.kind(), Kind::ValueError, "{error}");
    let text = error.message();
    assert!(text.starts_with(start) && text.len() < 1000, "{text}");
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
}

//! What is done with bytes from outside: shared by the tests here and the fuzz targets under `fuzz/`.
//!
//! Each gives whether the bytes were taken, and panics where something is wrong with that.

use std::io::Cursor;

use tensorlab::base::{Error, Kind};
use tensorlab::data::csv;
use tensorlab::data::files::{Format, Saving, read, write};
use tensorlab::device::sim::profile::Profile;
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

fn check(error: &Error, start: &str) {
    assert_eq!(error.kind(), Kind::ValueError, "{error}");
    let text = error.message();
    assert!(text.starts_with(start) && text.len() < 1000, "{text}");
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
}

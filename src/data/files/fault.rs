//! What can go wrong with a file, before its path is known.

use std::fmt::Display;
use std::io;

use crate::base::{Error, Kind};

/// Why a file cannot be read or written.
#[derive(Debug)]
pub(super) enum Fault {
    /// The file system, or a file that ends too early.
    Io(io::Error),
    /// What the file holds is not what its format says.
    Invalid(String),
    /// An error that has its own text: memory, an interrupt, a device.
    Error(Error),
}

pub(super) type Outcome<T> = std::result::Result<T, Fault>;

impl Fault {
    pub(super) fn invalid(text: impl Into<String>) -> Fault {
        Fault::Invalid(text.into())
    }

    /// Says first which part of the file is meant.
    pub(super) fn within(self, part: impl Display) -> Fault {
        match self {
            Fault::Invalid(text) => Fault::Invalid(format!("{part}: {text}")),
            Fault::Io(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                Fault::Invalid(format!("{part}: {}", cut_off()))
            }
            // What flate2 says of a stream that is none.
            Fault::Io(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
                Fault::Invalid(format!("{part}: {e}"))
            }
            other => other,
        }
    }

    /// The error as a script sees it, with the file's name.
    pub(super) fn at(self, name: &str, doing: &str) -> Error {
        match self {
            Fault::Io(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                Error::value(format!("{name}: {}", cut_off()))
            }
            Fault::Io(e) => Error::value(format!("cannot {doing} {name}: {e}")),
            Fault::Invalid(text) => Error::value(format!("{name}: {}", printable(&text))),
            Fault::Error(e) if matches!(e.kind(), Kind::ValueError | Kind::TypeError) => {
                let named = Error::new(e.kind(), format!("{name}: {}", e.message()));
                match e.hint() {
                    Some(hint) => named.with_hint(hint),
                    None => named,
                }
            }
            Fault::Error(e) => e,
        }
    }
}

/// A text with parts of the file in it, made short and fit to be shown.
fn printable(text: &str) -> String {
    const LONGEST: usize = 400;
    let shown = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    let short: String = text.chars().take(LONGEST).map(shown).collect();
    if short.len() < text.len() && text.chars().count() > LONGEST { short + " …" } else { short }
}

fn cut_off() -> &'static str {
    "it ends before its contents do"
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        Fault::Io(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Error(error)
    }
}

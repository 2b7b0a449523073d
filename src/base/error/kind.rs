//! The kinds of errors, and who tells them anew.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The class of an error, by the name a script sees in `e.kind`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum Kind {
    RuntimeError,
    IndexError,
    ValueError,
    TypeError,
    OutOfMemoryError,
    AssertionError,
    DeviceError,
    NotImplementedError,
    NameError,
    KeyError,
    RecursionError,
    LimitError,
    /// What an iterator has no more of, as Python ends a loop.
    StopIteration,
    Interrupted,
    Timeout,
}

impl Kind {
    /// The kinds of what the script language itself refuses.
    const OF_LANGUAGE: [Kind; 8] = [
        Kind::RuntimeError,
        Kind::ValueError,
        Kind::IndexError,
        Kind::TypeError,
        Kind::NameError,
        Kind::KeyError,
        Kind::RecursionError,
        Kind::LimitError,
    ];

    /// The kind of that name.
    pub(crate) fn named(name: &str) -> Option<Kind> {
        Kind::all().find(|kind| kind.to_string() == name)
    }

    /// The names of all kinds.
    pub(crate) fn names() -> Vec<String> {
        Kind::all().map(|kind| kind.to_string()).collect()
    }

    fn all() -> impl Iterator<Item = Kind> {
        let rest = [
            Kind::OutOfMemoryError,
            Kind::AssertionError,
            Kind::DeviceError,
            Kind::NotImplementedError,
            Kind::Interrupted,
            Kind::Timeout,
            Kind::StopIteration,
        ];
        Kind::OF_LANGUAGE.into_iter().chain(rest)
    }

    /// The kind of what the script language refused, by its name.
    pub(crate) fn of_language(name: &str) -> Option<Kind> {
        Kind::OF_LANGUAGE.into_iter().find(|kind| kind.to_string() == name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// A [`Retell`] inside an error.
#[derive(Clone)]
pub struct Teller {
    state: Arc<dyn Retell>,
    number: u64,
}

impl Teller {
    /// A teller of a new error.
    pub fn new(state: Arc<dyn Retell>) -> Teller {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Teller { state, number: NEXT.fetch_add(1, Ordering::Relaxed) }
    }

    pub(crate) fn state(&self) -> &dyn Retell {
        &*self.state
    }

    /// Its own among all of the process: an address would serve a later error as well.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

impl fmt::Debug for Teller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Teller")
    }
}

impl PartialEq for Teller {
    fn eq(&self, other: &Teller) -> bool {
        self.number == other.number
    }
}

/// The state behind an out-of-memory error. The device knows no variables; whoever does has the remedy told with them
/// while the error is on its way out.
pub trait Retell: Send + Sync {
    /// The remedy, as far as it is known with the variables of one more scope, those further in being known.
    fn hint(&self, variables: &dyn Variables) -> String;

    /// Notes memory that the work itself held when it failed, by addresses: no variable's end would have freed it.
    fn note_held(&self, addresses: &[u64]);
}

/// The variables of a scope at the moment when a request failed.
pub trait Variables {
    /// All that holds tensors: names, each with an address inside of a tensor.
    fn names(&self) -> Vec<(u64, String)>;

    /// Names that could be deleted: what the failing line needs is none of them.
    fn deletable(&self) -> Vec<String>;

    /// The addresses of the memory that would end with some of [`deletable`](Variables::deletable), by their places.
    fn freed(&self, chosen: &[usize]) -> Vec<u64>;

    /// Addresses that the failing line itself needs.
    fn needed(&self) -> Vec<u64>;

    /// Addresses that graphs keep for their backward passes, each with whose graph it is.
    fn graphs(&self) -> Vec<(u64, String)>;

    /// Whether there are others, which can't be seen from here: those of whoever called the function.
    fn are_within_a_call(&self) -> bool {
        false
    }
}

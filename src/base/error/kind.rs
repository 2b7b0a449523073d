//! The kinds of errors, and who tells them anew.

use std::fmt;
use std::sync::Arc;

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
    Interrupted,
    Timeout,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// A [`Retell`] inside an error.
#[derive(Clone)]
pub struct Teller(pub Arc<dyn Retell>);

impl fmt::Debug for Teller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Teller")
    }
}

impl PartialEq for Teller {
    fn eq(&self, other: &Teller) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The state behind an out-of-memory error. The script layer knows more variables' names than the device did, and
/// has the remedy told with them.
pub trait Retell: Send + Sync {
    /// The remedy; `names` are those of variables, each with an address inside its tensor.
    fn hint(&self, names: Vec<(u64, String)>) -> String;
}

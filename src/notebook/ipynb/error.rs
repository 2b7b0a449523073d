//! Why a file is no notebook.

use std::fmt;

/// Why a file is no notebook.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IpynbError(pub String);

impl fmt::Display for IpynbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for IpynbError {}

pub(crate) fn fault<T>(text: impl Into<String>) -> Result<T, IpynbError> {
    Err(IpynbError(text.into()))
}

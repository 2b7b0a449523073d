//! Names of operations and kernels. There are few, so each is kept once and for good: what happens by the thousand
//! only points to it.

use std::collections::HashSet;
use std::fmt;
use std::ops::Deref;
use std::sync::{Mutex, OnceLock};

/// Names that are kept of those read from elsewhere; the table's own are some hundreds.
const MOST: usize = 4096;
/// The longest of them, in bytes.
const LONGEST: usize = 128;

/// A name that is static where it is made, and kept for good where it is [read](Name::read).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(&'static str);

impl Name {
    /// In place of a name that is not kept.
    pub(crate) const OTHER: Name = Name("(other)");

    pub const fn new(name: &'static str) -> Name {
        Name(name)
    }

    /// A name that came from another process; [`OTHER`](Name::OTHER) where it is over 128 bytes long, or 4,096 others
    /// are kept already, so that no sender can fill this process's memory.
    pub fn read(name: &str) -> Name {
        static KEPT: OnceLock<Mutex<HashSet<&'static str>>> = OnceLock::new();
        let mut kept = KEPT.get_or_init(Mutex::default).lock().unwrap_or_else(|e| e.into_inner());
        match kept.get(name) {
            Some(known) => Name(known),
            None if kept.len() >= MOST || name.len() > LONGEST => Name::OTHER,
            None => {
                let known: &'static str = Box::leak(name.into());
                kept.insert(known);
                Name(known)
            }
        }
    }

    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        self.0
    }
}

impl From<&'static str> for Name {
    fn from(name: &'static str) -> Name {
        Name(name)
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl serde::Serialize for Name {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_are_kept_once_and_only_so_many() {
        let (a, b) = (Name::read("conv2d"), Name::read(&String::from("conv2d")));
        assert!(std::ptr::eq(a.as_str(), b.as_str()));
        assert_eq!(Name::read(&"x".repeat(LONGEST + 1)), Name::OTHER);
        let names: Vec<Name> = (0..MOST + 9).map(|i| Name::read(&format!("op {i}"))).collect();
        assert_eq!(names.first().unwrap(), &"op 0");
        assert_eq!(names.last().unwrap(), &Name::OTHER);
        assert_eq!(Name::read("op 0"), names[0]);
    }
}

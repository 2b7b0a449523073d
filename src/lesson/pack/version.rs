//! Versions of packs and of the program: three numbers.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// `MAJOR.MINOR.PATCH`, ordered by its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Version([u32; 3]);

impl Version {
    /// The version of this program.
    pub(crate) fn of_program() -> Version {
        env!("CARGO_PKG_VERSION").parse().unwrap_or_default()
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Version, String> {
        let mut numbers = [0; 3];
        let mut parts = text.split('.');
        for number in &mut numbers {
            let digits = parts.next().filter(|p| p.len() == 1 || !p.starts_with('0'));
            let digits = digits.filter(|p| p.bytes().all(|b| b.is_ascii_digit()));
            *number = digits
                .and_then(|digits| digits.parse().ok())
                .ok_or_else(|| format!("`{text}` is not a version"))?;
        }
        match parts.next() {
            None => Ok(Version(numbers)),
            Some(_) => Err(format!("`{text}` is not a version")),
        }
    }
}

impl TryFrom<String> for Version {
    type Error = String;

    fn try_from(text: String) -> Result<Version, String> {
        text.parse()
    }
}

impl From<Version> for String {
    fn from(version: Version) -> String {
        version.to_string()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        f.pad(&format!("{major}.{minor}.{patch}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_three_numbers_in_their_order() {
        let read = |text: &str| text.parse::<Version>();
        assert!(read("0.10.0").unwrap() > read("0.9.99").unwrap());
        assert_eq!(read("1.2.3").unwrap().to_string(), "1.2.3");
        for bad in
            ["", "1", "1.2", "1.2.3.4", "1.2.x", "01.2.3", "1.2.-3", "1.2.3-beta", "1.2.99999999999", "1..2"]
        {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert!(Version::of_program() > Version::default());
    }
}

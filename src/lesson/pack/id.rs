//! Names that come from outside and become folders: none is joined to a path before it was looked at.

use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::lesson::text;

use super::path;

/// A pack's id: lower-case words joined by hyphens, and the name of a folder on every system. Parsing alone makes one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PackId(String);

/// Why a text is no pack's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoId {
    /// What an id is, or what this one is.
    pub why: &'static str,
}

impl PackId {
    /// The id of the built-in pack.
    pub fn built_in() -> PackId {
        PackId(COURSE.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PackId {
    type Err = NoId;

    fn from_str(text: &str) -> Result<PackId, NoId> {
        if !text::is_id(text) {
            return Err(NoId { why: text::id_rule(text) });
        }
        if path::is_reserved(text) {
            return Err(NoId { why: "it is a device on some systems; take another word" });
        }
        Ok(PackId(text.to_owned()))
    }
}

/// The name of one folder inside a pack's: no path, no way up. Parsing alone makes one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct FolderName(String);

impl FromStr for FolderName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<FolderName, &'static str> {
        match path::fault(text) {
            Some(why) => Err(why),
            None if text.contains('/') => Err("it is a path"),
            None => Ok(FolderName(text.to_owned())),
        }
    }
}

/// The folder of all installed packs. What is joined to it was parsed.
#[derive(Clone, Debug)]
pub(crate) struct Root(PathBuf);

impl Root {
    pub(super) fn at(folder: &Path) -> Root {
        Root(folder.to_path_buf())
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// The folder of one pack, in all its versions.
    pub(super) fn home(&self, id: &PackId) -> PathBuf {
        self.0.join(id.as_str())
    }

    /// The folder of one version of a pack.
    pub(super) fn folder(&self, id: &PackId, folder: &FolderName) -> PathBuf {
        self.home(id).join(&folder.0)
    }
}

impl Deref for PackId {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for PackId {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for PackId {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl fmt::Display for PackId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Display for NoId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.why)
    }
}

impl From<PackId> for String {
    fn from(id: PackId) -> String {
        id.0
    }
}

impl TryFrom<String> for PackId {
    type Error = NoId;

    fn try_from(text: String) -> Result<PackId, NoId> {
        text.parse()
    }
}

impl fmt::Display for FolderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<FolderName> for String {
    fn from(name: FolderName) -> String {
        name.0
    }
}

impl TryFrom<String> for FolderName {
    type Error = &'static str;

    fn try_from(text: String) -> Result<FolderName, &'static str> {
        text.parse()
    }
}

/// The id of the built-in pack.
pub(crate) const COURSE: &str = "course";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_anywhere_else_is_no_id_and_no_folder() {
        for bad in ["", ".", "..", "../x", "/x", "x/", "./x", "x/.", "x\\y", "C:x", "x\0", "\u{1b}[2J", "~"] {
            assert!(bad.parse::<PackId>().is_err(), "{bad:?}");
            assert!(bad.parse::<FolderName>().is_err(), "{bad:?}");
            assert!(serde_json::from_value::<PackId>(bad.into()).is_err(), "{bad:?}");
        }
        for device in ["con", "nul", "aux", "prn", "com1", "lpt9"] {
            assert!(device.parse::<PackId>().unwrap_err().why.contains("device"), "{device}");
            assert!(device.parse::<FolderName>().is_err(), "{device}");
        }
        for fine in ["p", "first-steps", "con-2", "console", "course"] {
            assert_eq!(fine.parse::<PackId>().unwrap(), *fine);
        }
        assert!("1.0.0-0123456789abcdef-2".parse::<FolderName>().is_ok());
        let root = Root::at(Path::new("packs"));
        let (id, name) = ("p".parse().unwrap(), "1.0.0-ab".parse().unwrap());
        assert_eq!(root.folder(&id, &name), Path::new("packs/p/1.0.0-ab"));
    }
}

//! Texts that the program carries, as `scripts/pack.rs` packed them.

use std::io::Read;
use std::sync::OnceLock;

/// A file's name and its text.
pub(crate) type PackedFile = (String, String);

/// Files that were packed together; read when they are first asked for.
pub(crate) struct Pack {
    packed: &'static [u8],
    files: OnceLock<Vec<PackedFile>>,
}

impl Pack {
    pub(crate) const fn new(packed: &'static [u8]) -> Pack {
        Pack { packed, files: OnceLock::new() }
    }

    /// By their names.
    pub(crate) fn files(&self) -> &[PackedFile] {
        self.files.get_or_init(|| unpacked(self.packed).unwrap_or_default())
    }

    /// The text of the file `stem` + `ending`.
    pub(crate) fn text(&self, stem: &str, ending: &str) -> Option<&str> {
        let is_it = |file: &&PackedFile| file.0.strip_suffix(ending) == Some(stem);
        self.files().iter().find(is_it).map(|(_, text)| text.as_str())
    }
}

/// Each file is a line with its name and length, and its bytes behind that. `None` where that is not so.
fn unpacked(packed: &[u8]) -> Option<Vec<PackedFile>> {
    let mut all = String::new();
    flate2::read::GzDecoder::new(packed).read_to_string(&mut all).ok()?;
    let (mut files, mut rest) = (Vec::new(), all.as_str());
    while !rest.is_empty() {
        let (line, behind) = rest.split_once('\n')?;
        let (name, length) = line.rsplit_once(' ')?;
        let (text, more) = behind.split_at_checked(length.parse().ok()?)?;
        files.push((name.to_owned(), text.to_owned()));
        rest = more;
    }
    Some(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_pack_is_none() {
        let packed: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/course.gz"));
        assert!(unpacked(packed).is_some_and(|files| files.len() > 10));
        assert_eq!(unpacked(packed.get(..packed.len() / 2).unwrap()), None);
        assert_eq!(unpacked(b""), None);
    }
}

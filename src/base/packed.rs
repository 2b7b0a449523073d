//! Texts that the program carries, as `scripts/pack.rs` packed them.

use std::io::Read;

/// A file's name and its text.
pub(crate) type PackedFile = (String, String);

/// The files of a pack: each is a line with its name and length, and its bytes behind that. `None` where that is not so.
pub(crate) fn unpacked(packed: &[u8]) -> Option<Vec<PackedFile>> {
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

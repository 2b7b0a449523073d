//! The course that is part of the program, as `scripts/pack_course.rs` packed it.

use std::io::Read;
use std::sync::LazyLock;

/// A file's name and its text.
type File = (String, String);

static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/course.gz"));
static FILES: LazyLock<Vec<File>> = LazyLock::new(|| unpacked(PACKED).unwrap_or_default());

/// The built-in lessons in their order: file name and text.
pub fn built_in() -> &'static [(String, String)] {
    FILES.get(1..).unwrap_or_default()
}

/// The manifest of the pack that they are.
pub(super) fn manifest() -> &'static str {
    FILES.first().map_or("", |(_, text)| text)
}

/// Each file is a line with its name and length, and its bytes behind that; `None` where that is not so.
fn unpacked(packed: &[u8]) -> Option<Vec<File>> {
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
    fn the_program_has_the_files_that_the_course_is() {
        let course = concat!(env!("CARGO_MANIFEST_DIR"), "/lessons/course");
        let read = |name: &str| std::fs::read_to_string(format!("{course}/{name}")).unwrap();
        assert_eq!(manifest(), read("pack.toml"));
        assert!(built_in().iter().all(|(name, text)| *text == read(&format!("lessons/{name}"))));
        assert_eq!(built_in().len(), std::fs::read_dir(format!("{course}/lessons")).unwrap().count());
    }

    #[test]
    fn a_torn_pack_is_none() {
        assert_eq!(unpacked(PACKED.get(..PACKED.len() / 2).unwrap()), None);
        assert_eq!(unpacked(b""), None);
    }
}

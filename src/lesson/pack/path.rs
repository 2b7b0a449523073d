//! Names of files in a pack: few and plain, so that they mean the same on every system.

use std::io;
use std::path::{Path, PathBuf};

/// Longest path in a pack, in bytes.
pub(crate) const LONGEST: usize = 100;
/// Folders above a file, at most.
const DEEPEST: usize = 6;

/// The manifest of a pack.
pub(crate) const MANIFEST: &str = "pack.toml";

/// What a file is in a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Manifest,
    /// `README.md`, `LICENSE…`, `NOTICE…`, `CHANGELOG.md`
    Text,
    /// `lessons/NAME.md`
    Lesson,
    /// Anything under `assets/`
    Asset,
}

/// What the file is; none where a pack has no place for it.
pub fn place(path: &str) -> Option<Place> {
    if path == MANIFEST {
        return Some(Place::Manifest);
    }
    if let Some(name) = path.strip_prefix("lessons/") {
        return (name.ends_with(".md") && name.len() > 3 && !name.contains('/')).then_some(Place::Lesson);
    }
    if path.starts_with("assets/") {
        return Some(Place::Asset);
    }
    let texts = ["README", "CHANGELOG", "LICENSE", "NOTICE"];
    (!path.contains('/') && texts.iter().any(|text| path.starts_with(text))).then_some(Place::Text)
}

/// Where a file of a pack is below the pack's folder.
///
/// # Errors
/// The path can't be that of a file in a pack.
pub(super) fn below(root: &Path, path: &str) -> io::Result<PathBuf> {
    match fault(path) {
        None => Ok(root.join(path)),
        Some(why) => Err(io::Error::new(io::ErrorKind::InvalidInput, why)),
    }
}

/// Why a path can't be that of a file in a pack; none where it can.
pub fn fault(path: &str) -> Option<&'static str> {
    let parts = || path.split('/');
    if path.is_empty() {
        Some("it is empty")
    } else if path.chars().any(char::is_control) {
        Some("it has a control character")
    } else if path.starts_with('/') {
        Some("it is absolute")
    } else if path.contains('\\') {
        Some("it has a backslash")
    } else if path.contains(':') {
        Some("it has a colon, which is a drive on some systems")
    } else if parts().any(|part| part == "..") {
        Some("it leads out of the pack")
    } else if parts().any(|part| part.is_empty() || part == ".") {
        Some("it is not in its plain form")
    } else if path.len() > LONGEST {
        Some("it is longer than 100 bytes")
    } else if parts().count() > DEEPEST + 1 {
        Some("it is more than 6 folders deep")
    } else if !parts().all(|part| part.bytes().all(is_plain)) {
        Some("it has a character other than a-z, A-Z, 0-9, `.`, `_` and `-`")
    } else if parts().any(|part| part.starts_with('.')) {
        Some("it is hidden")
    } else if parts().any(|part| part.ends_with('.') || is_reserved(part)) {
        Some("some systems have no such name")
    } else {
        None
    }
}

/// The beginning of a text that can be a path, as long as one may be.
pub(super) fn begin(text: &str) -> Option<&str> {
    let end = text.bytes().take(LONGEST).take_while(|&byte| is_plain(byte) || byte == b'/').count();
    text.get(..end)
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

/// Names that are devices on Windows, whatever their extension.
pub(super) fn is_reserved(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let numbered = |name: &str| {
        stem.strip_prefix(name)
            .is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    matches!(stem.as_str(), "con" | "prn" | "aux" | "nul") || numbered("com") || numbered("lpt")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_have_no_fault_and_others_are_told_why() {
        for fine in ["pack.toml", "lessons/01-first.md", "assets/a/b/c/d/e/f.bin", "assets/com.csv"] {
            assert_eq!(fault(fine), None, "{fine}");
        }
        for (path, why) in [
            ("", "empty"),
            ("/etc/passwd", "absolute"),
            ("c:/x", "drive"),
            ("assets\\x", "backslash"),
            ("../x", "out of the pack"),
            ("assets/../../x", "out of the pack"),
            ("assets//x", "plain form"),
            ("assets/./x", "plain form"),
            ("assets/", "plain form"),
            ("assets/a\u{1b}[2J", "control"),
            ("assets/é", "character other"),
            ("assets/a b", "character other"),
            ("assets/.git", "hidden"),
            ("assets/nul.csv", "no such name"),
            ("assets/LPT1", "no such name"),
            ("assets/x.", "no such name"),
            ("assets/a/b/c/d/e/f/g", "deep"),
        ] {
            assert!(fault(path).is_some_and(|f| f.contains(why)), "{path}: {:?}", fault(path));
        }
        assert!(fault(&"a".repeat(LONGEST + 1)).is_some());
    }

    #[test]
    fn a_file_has_a_place_or_none() {
        assert_eq!(place("pack.toml"), Some(Place::Manifest));
        assert_eq!(place("lessons/a.md"), Some(Place::Lesson));
        assert_eq!(place("assets/deep/a.csv"), Some(Place::Asset));
        assert_eq!(place("LICENSE-MIT"), Some(Place::Text));
        for stray in ["lessons/a.txt", "lessons/deep/a.md", "run.sh", "deep/README.md", "lessons/.md"] {
            assert_eq!(place(stray), None, "{stray}");
        }
    }
}

//! What can be wrong with a device profile or with the wish for one.

use std::fmt;

/// Why a profile can't be used: where, what, and what to do about it.
#[derive(Clone, PartialEq, Debug)]
pub struct ProfileError {
    /// The file's path, or the name of the built-in profile.
    pub origin: String,
    /// Counted from 1, where the fault has a place.
    pub line: Option<usize>,
    pub fault: ProfileFault,
}

/// What is wrong. Keys are dotted paths (`device.memory`); quoted text is escaped and cut short.
#[derive(Clone, PartialEq, Debug)]
pub enum ProfileFault {
    UnknownProfile {
        nearest: Option<String>,
        known: Vec<&'static str>,
    },
    Unreadable {
        reason: String,
    },
    TooLarge {
        limit: u64,
    },
    Syntax {
        message: String,
    },
    UnknownKey {
        key: String,
        nearest: Option<String>,
        allowed: Vec<&'static str>,
    },
    MissingKey {
        key: String,
        example: &'static str,
    },
    WrongType {
        key: String,
        found: &'static str,
        example: &'static str,
    },
    WrongUnit {
        key: String,
        found: String,
        allowed: Vec<&'static str>,
    },
    OutOfRange {
        key: String,
        found: String,
        rule: &'static str,
    },
    BadText {
        key: String,
        rule: &'static str,
    },
    /// A figure of the host in a device's profile, where such figures once stood.
    OfTheHost {
        key: String,
    },
}

impl ProfileError {
    /// What is wrong, without place and remedy.
    pub fn message(&self) -> String {
        match &self.fault {
            ProfileFault::UnknownProfile { .. } => {
                format!("there is no device profile `{}`", self.origin)
            }
            ProfileFault::Unreadable { reason } => format!("the profile can't be read: {reason}"),
            ProfileFault::TooLarge { limit } => {
                format!("the file is longer than the {limit} bytes that a profile may have")
            }
            ProfileFault::Syntax { message } => format!("this is not TOML: {message}"),
            ProfileFault::UnknownKey { key, .. } => format!("unknown key `{key}`"),
            ProfileFault::MissingKey { key, .. } => format!("`{key}` is missing"),
            ProfileFault::WrongType { key, found, .. } => format!("`{key}` can't be of type {found}"),
            ProfileFault::WrongUnit { key, found, .. } => format!("`{key}` has the unit `{found}`"),
            ProfileFault::OutOfRange { key, found, rule } => {
                format!("`{key}` is {found}, and must be {rule}")
            }
            ProfileFault::BadText { key, rule } => format!("`{key}` must be {rule}"),
            ProfileFault::OfTheHost { key } => format!("`{key}` is the host's, and not a device's"),
        }
    }

    /// What to do about it, where there is more to say than the message does.
    pub fn hint(&self) -> Option<String> {
        match &self.fault {
            ProfileFault::UnknownProfile { nearest, known } => Some(format!(
                "{}the profiles are {}; a name that ends in .toml is read as a file",
                did_you_mean(nearest.as_deref()),
                known.join(", ")
            )),
            ProfileFault::UnknownKey { nearest, allowed, .. } => {
                Some(format!("{}known here: {}", did_you_mean(nearest.as_deref()), allowed.join(", ")))
            }
            ProfileFault::MissingKey { example, .. } | ProfileFault::WrongType { example, .. } => {
                Some(format!("write {example}"))
            }
            ProfileFault::WrongUnit { allowed, .. } => Some(match allowed.as_slice() {
                [] => "this figure has no unit: leave it out".to_owned(),
                units => format!("write one of {}", units.join(", ")),
            }),
            ProfileFault::OfTheHost { .. } => Some(
                "leave it out here: what launches, calls of the driver and pageable memory cost stands in a host's \
                 profile, which `--host FILE` names (docs/simulator.md)"
                    .to_owned(),
            ),
            ProfileFault::Unreadable { .. }
            | ProfileFault::TooLarge { .. }
            | ProfileFault::Syntax { .. }
            | ProfileFault::OutOfRange { .. }
            | ProfileFault::BadText { .. } => None,
        }
    }
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !matches!(self.fault, ProfileFault::UnknownProfile { .. }) {
            f.write_str(&self.origin)?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.message())?;
        match self.hint() {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ProfileError {}

/// Foreign text made fit for a message: without control characters, and cut short.
pub(super) fn quoted(text: &str) -> String {
    shown(text, 100)
}

/// A path made fit for a message; its end is what tells it from others.
pub(super) fn shown_path(path: &std::path::Path) -> String {
    shown(&path.display().to_string(), 4096)
}

/// True for characters that act on a terminal or turn its text round instead of showing.
pub(super) fn acts(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn shown(text: &str, most: usize) -> String {
    let mut out = String::new();
    for c in text.chars().take(most) {
        match acts(c) {
            true => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
    }
    if text.chars().nth(most).is_some() {
        out.push('…');
    }
    out
}

pub(super) fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map(|word| format!("did you mean `{word}`? ")).unwrap_or_default()
}

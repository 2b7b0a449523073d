//! Why something could not be done with a pack.

use std::path::Path;
use std::{fmt, io};

use crate::lesson::error::LessonError;
use crate::lesson::text;

/// Why something could not be done with a pack.
#[derive(Debug)]
pub enum PackError {
    /// The pack's files are not as they must be.
    Faults(Vec<LessonError>),
    /// It is refused, with what to do about it where that is known.
    Refused { message: String, hint: Option<String> },
    /// The file system said no.
    Io { doing: String, error: io::Error },
}

impl PackError {
    pub(super) fn refused(message: impl Into<String>) -> PackError {
        PackError::Refused { message: one_line(message), hint: None }
    }

    pub(super) fn hinted(message: impl Into<String>, hint: impl Into<String>) -> PackError {
        PackError::Refused { message: one_line(message), hint: Some(hint.into()) }
    }

    /// The error with the name of an archive in the place of the folder in which it was unpacked.
    pub(super) fn with_path(self, unpacked: &Path, archive: &Path) -> PackError {
        let (from, to) = (format!("{}/", unpacked.display()), format!("{}: ", archive.display()));
        let clean = |text: String| text.replace(&from, &to);
        match self {
            PackError::Faults(faults) => {
                let named = |fault: LessonError| LessonError { file: clean(fault.file.clone()), ..fault };
                PackError::Faults(faults.into_iter().map(named).collect())
            }
            PackError::Refused { message, hint } => PackError::Refused { message: clean(message), hint },
            PackError::Io { doing, error } => PackError::Io { doing: clean(doing), error },
        }
    }

    /// Names what was being done when the file system failed.
    pub(super) fn io(doing: impl fmt::Display) -> Box<dyn FnOnce(io::Error) -> PackError> {
        let doing = doing.to_string();
        Box::new(move |error| PackError::Io { doing, error })
    }
}

/// Names out of an archive may hold line breaks.
fn one_line(text: impl Into<String>) -> String {
    text.into().replace('\n', " ")
}

/// Several lines without a trailing break, free of control characters.
impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written = match self {
            PackError::Faults(faults) => {
                faults.iter().map(LessonError::render).collect::<Vec<_>>().join("\n")
            }
            PackError::Refused { message, hint: None } => format!("error: {message}"),
            PackError::Refused { message, hint: Some(hint) } => format!("error: {message}\nhint: {hint}"),
            PackError::Io { doing, error } => format!("error: cannot {doing}: {error}"),
        };
        f.write_str(&text::strip(&written))
    }
}

impl std::error::Error for PackError {}

//! What is said on standard error: a courtesy, which a full or closed stream may swallow and which ends nothing.

use std::fmt;
use std::io::{self, Write};

/// Writes to standard error. That nobody can hear it is no reason to stop, and there is nowhere to say so.
pub fn put(text: fmt::Arguments) {
    // In one piece, so that what others write does not get in between.
    let text = text.to_string();
    let mut out = io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// A line through [`put`], in place of `eprintln!`, which panics where the line can't be written.
macro_rules! tell {
    ($($text:tt)*) => {
        $crate::base::stderr::put(format_args!("{}\n", format_args!($($text)*)))
    };
}

pub(crate) use tell;

//! Texts from files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::base::file;
use crate::base::{Error, Result};

/// Files above this size are refused, in bytes: a script's texts have the same limit.
const LARGEST: u64 = 16 << 20;

/// Reads a file of text whole. Line ends are as Python reads them: `\r\n` and `\r` become `\n`.
///
/// # Errors
/// The file can't be read, is no regular file, is too large, or holds what is no UTF-8.
pub(crate) fn read(path: &Path) -> Result<String> {
    let shown = path.display();
    let path = &file::to_read(path);
    let cannot = |e: std::io::Error| Error::value(format!("cannot read {shown}: {e}"));
    // Before opening: to open a pipe is to wait for its writer.
    if !std::fs::metadata(path).map_err(cannot)?.is_file() {
        return Err(Error::value(format!("cannot read {shown}: it is no regular file")));
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes)).map_err(cannot)?;
    if bytes.len() as u64 > LARGEST {
        return Err(Error::value(format!(
            "{shown} has more than {LARGEST} bytes, the most that a text may have"
        )));
    }
    match String::from_utf8(bytes) {
        Ok(text) if text.contains('\r') => Ok(text.replace("\r\n", "\n").replace('\r', "\n")),
        Ok(text) => Ok(text),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            Err(Error::value(format!("cannot read {shown}: what begins at byte {at} is no UTF-8")))
        }
    }
}

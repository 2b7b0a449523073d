//! `.npz`: a zip archive of `.npy` files, as `numpy.savez` and `numpy.savez_compressed` write it.

use std::io::{Read, Seek, Write};

use crate::tensor::Tensor;

use super::fault::{Fault, Outcome};
use super::npy;
use super::zip::{Archive, ZipWriter};

/// What `numpy.savez` adds to the name of each array.
const SUFFIX: &str = ".npy";
/// The length of a name in a zip archive is a 16-bit number.
const LONGEST_NAME: usize = 4096;

/// Reads all arrays, in the archive's order, without the `.npy` of their names.
pub(super) fn read<R: Read + Seek>(from: R, length: u64) -> Outcome<Vec<(String, Tensor)>> {
    let mut archive = Archive::open(from, length)?;
    let entries = archive.entries.clone();
    let mut arrays = Vec::new();
    for entry in &entries {
        check_name(&entry.name)?;
        let shown = format!("the entry '{}'", entry.name);
        let Some(name) = entry.name.strip_suffix(SUFFIX) else {
            return Err(Fault::invalid(format!("{shown} is no array: its name does not end in {SUFFIX}")));
        };
        let array = archive.entry(entry, |from| npy::read(from, entry.size)).map_err(|e| e.within(shown))?;
        arrays.push((name.to_string(), array));
    }
    Ok(arrays)
}

/// Writes arrays under their names.
pub(super) fn write<W: Write + Seek>(arrays: &[(String, Tensor)], out: W, compress: bool) -> Outcome<()> {
    let mut writer = ZipWriter::new(out);
    for (name, tensor) in arrays {
        let file = format!("{name}{SUFFIX}");
        check_name(&file)?;
        let size = npy::size(tensor).map_err(|e| e.within(format!("'{name}'")))?;
        writer.entry(&file, size, compress, |out| npy::write(tensor, out))?;
    }
    writer.finish()
}

/// Refuses names that would lead a program that unpacks the archive out of its folder.
fn check_name(name: &str) -> Outcome<()> {
    let parts = || name.split('/');
    let reason = if name.is_empty() || name == SUFFIX {
        "is empty"
    } else if name.len() > LONGEST_NAME {
        "is too long"
    } else if name.chars().any(char::is_control) {
        "has control characters"
    } else if name.starts_with('/') || name.contains('\\') || name.get(1..2) == Some(":") {
        "is no relative path"
    } else if parts().any(|p| matches!(p, "" | "." | "..")) {
        "leads out of its folder"
    } else {
        return Ok(());
    };
    let shown: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
    Err(Fault::invalid(format!("the name of an array {reason}: '{shown}'")))
}

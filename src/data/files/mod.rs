//! Tensors in files: `.safetensors`, `.npy` and `.npz`.
//!
//! The formats are read by hand: each is a header and plain bytes, and reading it here is what bounds the memory
//! that a damaged or hostile file can take. Nothing is reserved on the word of a header; every size is first
//! compared with the bytes that are there.

mod elements;
mod fault;
mod literal;
mod npy;
mod npz;
mod safetensors;
mod structure;
mod zip;

use std::fs::File;
use std::io::{BufReader, Read, Seek, Write};
use std::path::Path;

use crate::base::{DType, Device, Error, Result, Scalar, file};
use crate::device::Machine;
use crate::op::{Value, map_value};
use crate::tensor::Tensor;

use super::tree::{entries, map_tensors};

use fault::{Fault, Outcome};

pub(crate) use safetensors::Metadata;

/// A file format, by the extension of a file's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Safetensors,
    Npy,
    Npz,
}

/// Where loaded tensors go.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadTarget {
    /// The CPU where absent.
    pub device: Option<Device>,
    /// For tensors of floating point; others keep theirs.
    pub dtype: Option<DType>,
}

/// How a value is saved.
#[derive(Clone, Debug, Default)]
pub struct Saving {
    /// Text beside the tensors of a `.safetensors` file.
    pub metadata: Metadata,
    /// Deflates the arrays of an `.npz` file.
    pub compress: bool,
}

/// Reads a file: a tensor from `.npy`, a map of tensors from `.npz`, and from `.safetensors` what was saved, which is
/// a map of tensors where another program wrote it.
///
/// # Errors
/// A `ValueError` with the path for a file that is not there, is damaged, or holds what tensors cannot.
pub fn load(path: &Path, target: LoadTarget) -> Result<Value> {
    let name = path.display().to_string();
    let format = Format::of(path)?;
    let (file, length) = open(path)?;
    let value = read(format, BufReader::new(file), length, &name)?;
    map_tensors(&value, &|t| placed(t, target))
}

/// Reads a value of a format from any source of `length` bytes; errors call it `name`.
///
/// # Errors
/// As [`load`].
pub fn read<R: Read + Seek>(format: Format, from: R, length: u64, name: &str) -> Result<Value> {
    read_value(format, from, length).map_err(|fault| fault.at(name, "read"))
}

/// The metadata of a `.safetensors` file; none of another.
///
/// # Errors
/// As [`load`].
pub fn load_metadata(path: &Path) -> Result<Metadata> {
    let name = path.display().to_string();
    let format = Format::of(path)?;
    let (file, length) = open(path)?;
    if format != Format::Safetensors {
        return Ok(Vec::new());
    }
    let mut all =
        safetensors::read_metadata(BufReader::new(file), length).map_err(|e| e.at(&name, "read"))?;
    all.retain(|(key, _)| key != structure::KEY);
    Ok(all)
}

/// Writes a value to a file, whole or not at all: `.npy` takes a tensor, `.npz` a map or an array of tensors, and
/// `.safetensors` tensors, numbers, strings, and maps and arrays of them. Tensors on a GPU are copied to the host.
///
/// # Errors
/// A `TypeError` for what the format does not hold, and a `ValueError` with the path where it cannot be written; an
/// old file is then as it was.
pub fn save(value: &Value, path: &Path, how: &Saving) -> Result<()> {
    let name = path.display().to_string();
    let format = Format::of(path)?;
    let written = file::replace(path, |out| write_value(format, value, how, out));
    written.map_err(|fault| fault.at(&name, "write"))
}

/// Writes a value of a format to memory or any other place that can be sought in; errors call it `name`.
///
/// # Errors
/// As [`save`].
pub fn write<W: Write + Seek>(format: Format, value: &Value, how: &Saving, out: W, name: &str) -> Result<()> {
    write_value(format, value, how, out).map_err(|fault| fault.at(name, "write"))
}

impl Format {
    fn of(path: &Path) -> Result<Format> {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
        Ok(match extension.as_str() {
            "safetensors" => Format::Safetensors,
            "npy" => Format::Npy,
            "npz" => Format::Npz,
            other => {
                let text = format!("{}: its name does not end in .safetensors, .npy or .npz", path.display());
                let safe = path.with_extension("safetensors");
                let hint = match other {
                    "pt" | "pth" | "bin" | "pkl" | "ckpt" => format!(
                        "\"{}\" is a name for a file that is written here; PyTorch's own files are Python programs: \
                         in Python, `safetensors.torch.save_file(torch.load(…), \"x.safetensors\")` makes one that can \
                         be read here",
                        safe.display()
                    ),
                    "csv" | "txt" | "tsv" => {
                        "`data::csv(path)` reads numbers from text, `data::text(path)` the text itself".into()
                    }
                    _ => "the end of the name says which format is meant".into(),
                };
                return Err(Error::value(text).with_hint(hint));
            }
        })
    }
}

fn open(path: &Path) -> Result<(File, u64)> {
    let shown = path.display();
    let path = &file::to_read(path);
    // Before opening: to open a pipe is to wait for its writer.
    let about = std::fs::metadata(path).map_err(|e| Error::value(format!("cannot read {shown}: {e}")))?;
    if !about.is_file() {
        let what = if about.is_dir() { "a folder" } else { "no regular file" };
        return Err(Error::value(format!("cannot read {shown}: it is {what}")));
    }
    let file = File::open(path).map_err(|e| Error::value(format!("cannot read {shown}: {e}")))?;
    Ok((file, about.len()))
}

fn read_value<R: Read + Seek>(format: Format, mut from: R, length: u64) -> Outcome<Value> {
    match format {
        Format::Npy => npy::read(&mut from, length).map(Value::Tensor),
        Format::Npz => {
            let arrays = npz::read(from, length)?;
            Ok(map_value(arrays.into_iter().map(|(name, t)| (name, Value::Tensor(t))).collect()))
        }
        Format::Safetensors => {
            let (tensors, metadata) = safetensors::read(from, length)?;
            let structure = metadata.iter().find(|(key, _)| key == structure::KEY);
            structure::put_together(tensors, structure.map(|(_, text)| text.as_str()))
        }
    }
}

fn write_value<W: Write + Seek>(format: Format, value: &Value, how: &Saving, mut out: W) -> Outcome<()> {
    if format != Format::Safetensors && !how.metadata.is_empty() {
        return Err(Error::value("metadata goes into .safetensors files only").into());
    }
    if format != Format::Npz && how.compress {
        return Err(Error::value("compress is for .npz files only").into());
    }
    match (format, value) {
        (Format::Npy, Value::Tensor(t)) => npy::write(t, &mut out),
        (Format::Npy, other) => {
            let text = format!("an .npy file holds one Tensor, not {}", other.describe());
            let hint = "`tensor(…)` makes one of an array of numbers; .npz holds a map of tensors";
            Err(Error::type_error(text).with_hint(hint).into())
        }
        (Format::Npz, value) => npz::write(&arrays(value)?, out, how.compress),
        (Format::Safetensors, value) => {
            let (tensors, structure) = structure::take_apart(value)?;
            let mut metadata = how.metadata.clone();
            if metadata.iter().any(|(key, _)| key == structure::KEY) {
                return Err(Fault::invalid(format!("'{}' is taken among metadata", structure::KEY)));
            }
            metadata.extend(structure.map(|text| (structure::KEY.to_string(), text)));
            safetensors::write(&tensors, &metadata, out)
        }
    }
}

/// The arrays of an `.npz` file: a map's entries by name, an array's as `arr_0`, `arr_1`, … as `numpy.savez` has it.
fn arrays(value: &Value) -> Outcome<Vec<(String, Tensor)>> {
    let named: Vec<(String, &Value)> = match (entries(value), value) {
        (Some(entries), _) => entries.into_iter().map(|(k, v)| (k.to_string(), v)).collect(),
        (None, Value::List(items)) => {
            items.iter().enumerate().map(|(i, v)| (format!("arr_{i}"), v)).collect()
        }
        (None, tensor @ Value::Tensor(_)) => vec![("arr_0".into(), tensor)],
        (None, other) => {
            let text = format!("an .npz file holds a map of tensors, not {}", other.describe());
            return Err(Error::type_error(text).into());
        }
    };
    named.into_iter().map(|(name, v)| array(&name, v).map(|t| (name, t))).collect()
}

/// A tensor as it is, and a number as NumPy makes an array of it.
fn array(name: &str, value: &Value) -> Outcome<Tensor> {
    match value {
        Value::Tensor(t) => Ok(t.clone()),
        Value::Scalar(s) => {
            let dtype = if matches!(s, Scalar::Float(_)) { DType::Float64 } else { s.default_dtype() };
            Ok(Tensor::from_numbers(&[*s], &[], dtype)?)
        }
        other => {
            let text = format!("'{name}' must be a Tensor or a number, not {}", other.describe());
            let hint = "an .npz file is one map of arrays; .safetensors files hold nested values";
            Err(Error::type_error(text).with_hint(hint).into())
        }
    }
}

/// A tensor where the target wants it.
fn placed(tensor: &Tensor, target: LoadTarget) -> Result<Tensor> {
    let dtype = target.dtype.filter(|_| tensor.dtype().is_float()).unwrap_or(tensor.dtype());
    let cast = if dtype == tensor.dtype() { tensor.clone() } else { tensor.copied(dtype, "load")? };
    match target.device {
        Some(device) if device != cast.device() => {
            let machine = Machine::current();
            cast.moved(machine.context(device)?, false, "load")
        }
        _ => Ok(cast),
    }
}

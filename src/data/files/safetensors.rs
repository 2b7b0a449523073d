//! `.safetensors`: named tensors behind a JSON header, after the format's description
//! (<https://github.com/huggingface/safetensors>, version 0.4 and later).

use std::collections::HashSet;
use std::fmt;
use std::io::{Read, Seek, Write};

use serde::de::{Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::json;

use crate::base::figures::plural;
use crate::base::{DType, memory, sorted};
use crate::tensor::Tensor;

use super::elements;
use super::fault::{Fault, Outcome};

/// The largest header that the format allows, in bytes.
const LARGEST_HEADER: u64 = 100_000_000;
const MOST_DIMENSIONS: usize = 64;
const METADATA: &str = "__metadata__";

/// What stands in a file beside its tensors.
pub(crate) type Metadata = Vec<(String, String)>;

/// Reads all tensors, in the order of their bytes, and the metadata.
pub(super) fn read<R: Read>(mut from: R, length: u64) -> Outcome<(Vec<(String, Tensor)>, Metadata)> {
    let (header, data) = read_header(&mut from, length)?;
    let mut tensors = Vec::new();
    for (name, info, dtype) in header.checked(data)? {
        let tensor = elements::read(&mut from, &info.shape.0, dtype, cfg!(target_endian = "big"))
            .map_err(|e| e.within(format!("the tensor '{}'", shown(&name))))?;
        tensors.push((name, tensor));
    }
    Ok((tensors, header_metadata(header.metadata)))
}

/// Reads the metadata alone.
pub(crate) fn read_metadata<R: Read>(mut from: R, length: u64) -> Outcome<Metadata> {
    let (header, data) = read_header(&mut from, length)?;
    header.checked(data)?;
    Ok(header_metadata(header.metadata))
}

/// Writes tensors, wider elements first, so that each starts at a multiple of its element size.
pub(super) fn write<W: Write + Seek>(
    tensors: &[(String, Tensor)],
    metadata: &[(String, String)],
    mut out: W,
) -> Outcome<()> {
    let mut sorted: Vec<&(String, Tensor)> = tensors.iter().collect();
    sorted::sort_by(&mut sorted, |(a, x), (b, y)| {
        y.dtype().size().cmp(&x.dtype().size()).then_with(|| a.cmp(b))
    });
    let mut names = HashSet::new();
    let mut header = Vec::new();
    if !metadata.is_empty() {
        let mut map = serde_json::Map::new();
        for (key, value) in metadata {
            map.insert(key.clone(), value.clone().into());
        }
        header.push(format!("{}:{}", json!(METADATA), serde_json::Value::from(map)));
    }
    let mut at = 0u64;
    for (name, tensor) in &sorted {
        if name == METADATA || !names.insert(name) {
            return Err(Fault::invalid(format!("'{}' cannot be the name of a tensor here", shown(name))));
        }
        let end = at + tensor.nbytes() as u64;
        let (dtype, shape) = (code(tensor.dtype()), tensor.shape());
        let info = json!({"dtype": dtype, "shape": shape, "data_offsets": [at, end]});
        header.push(format!("{}:{info}", json!(name)));
        at = end;
    }
    let mut text = format!("{{{}}}", header.join(","));
    let padding = text.len().next_multiple_of(8) - text.len();
    text.extend(std::iter::repeat_n(' ', padding));
    if text.len() as u64 > LARGEST_HEADER {
        return Err(Fault::invalid("names and metadata are more than the format's header holds"));
    }
    out.write_all(&(text.len() as u64).to_le_bytes())?;
    out.write_all(text.as_bytes())?;
    sorted.iter().try_for_each(|(_, tensor)| match tensor.has_values() {
        true => elements::write(tensor, &mut out),
        false => elements::leave_room(tensor, &mut out),
    })
}

fn header_metadata(metadata: Option<Strings>) -> Metadata {
    metadata.map(|m| m.0).unwrap_or_default()
}

/// The header, and how many bytes of tensors follow it.
fn read_header(from: &mut impl Read, length: u64) -> Outcome<(SafetensorsHeader, u64)> {
    let mut bytes = [0u8; 8];
    from.read_exact(&mut bytes)?;
    let size = u64::from_le_bytes(bytes);
    let there = length.saturating_sub(8);
    if size > LARGEST_HEADER || size > there {
        let text =
            format!("its header claims {size} bytes, where {there} are there and {LARGEST_HEADER} the most");
        return Err(Fault::invalid(text));
    }
    let mut text = memory::filled(size as usize, 0u8)?;
    from.read_exact(&mut text)?;
    let text = std::str::from_utf8(&text).map_err(|_| Fault::invalid("its header is no UTF-8"))?;
    if !text.starts_with('{') {
        return Err(Fault::invalid("its header does not start with '{'"));
    }
    let header = serde_json::from_str(text).map_err(|e| Fault::invalid(format!("its header: {e}")))?;
    Ok((header, there - size))
}

#[derive(Default)]
struct SafetensorsHeader {
    tensors: Vec<(String, Info)>,
    metadata: Option<Strings>,
}

/// A tensor as the header describes it.
#[derive(Deserialize)]
struct Info {
    dtype: String,
    shape: HeaderShape,
    data_offsets: (u64, u64),
}

struct HeaderShape(Vec<usize>);

/// String to string, without repetition.
struct Strings(Vec<(String, String)>);

impl SafetensorsHeader {
    /// The tensors in the order of their bytes, which must fill the file's `data` bytes without a gap.
    fn checked(&self, data: u64) -> Outcome<Vec<(String, &Info, DType)>> {
        let mut sorted: Vec<&(String, Info)> = self.tensors.iter().collect();
        sorted::sort_by_key(&mut sorted, |(_, info)| info.data_offsets);
        let mut at = 0;
        let mut out = memory::with_capacity(sorted.len())?;
        for (name, info) in sorted {
            let part = || format!("the tensor '{}'", shown(name));
            let (start, end) = info.data_offsets;
            if start != at || end < start || end > data {
                let text = format!(
                    "{}: bytes {start} to {end} overlap others, leave a gap or lie outside the {data} of the file",
                    part()
                );
                return Err(Fault::invalid(text));
            }
            let dtype = dtype(&info.dtype).map_err(|e| e.within(part()))?;
            let needed = elements::byte_count(&info.shape.0, dtype).map_err(|e| e.within(part()))?;
            if needed != end - start {
                let shape = &info.shape.0;
                let text =
                    format!("{} of {dtype} {shape:?} takes {needed} bytes and has {}", part(), end - start);
                return Err(Fault::invalid(text));
            }
            at = end;
            out.push((name.clone(), info, dtype));
        }
        if at != data {
            return Err(Fault::invalid(plural(
                data - at,
                "byte belongs to no tensor",
                "bytes belong to no tensor",
            )));
        }
        Ok(out)
    }
}

impl<'de> Deserialize<'de> for SafetensorsHeader {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<SafetensorsHeader, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = SafetensorsHeader;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a map of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SafetensorsHeader, A::Error> {
                let mut names = HashSet::new();
                let mut header = SafetensorsHeader::default();
                while let Some(name) = map.next_key::<String>()? {
                    if !names.insert(name.clone()) {
                        return Err(A::Error::custom(format!("'{}' stands there twice", shown(&name))));
                    }
                    if name == METADATA {
                        header.metadata = map.next_value()?;
                    } else {
                        header.tensors.push((name, map.next_value()?));
                    }
                }
                Ok(header)
            }
        }
        from.deserialize_map(Entries)
    }
}

impl<'de> Deserialize<'de> for Strings {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Strings, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Strings;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a map of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Strings, A::Error> {
                let mut names = HashSet::new();
                let mut pairs = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, String>()? {
                    if !names.insert(key.clone()) {
                        return Err(A::Error::custom(format!("'{}' stands there twice", shown(&key))));
                    }
                    pairs.push((key, value));
                }
                Ok(Strings(pairs))
            }
        }
        from.deserialize_map(Pairs)
    }
}

impl<'de> Deserialize<'de> for HeaderShape {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<HeaderShape, D::Error> {
        struct Sizes;
        impl<'de> Visitor<'de> for Sizes {
            type Value = HeaderShape;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                write!(f, "at most {MOST_DIMENSIONS} sizes")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<HeaderShape, A::Error> {
                let mut sizes = Vec::new();
                while sizes.len() < MOST_DIMENSIONS {
                    match seq.next_element()? {
                        Some(size) => sizes.push(size),
                        None => return Ok(HeaderShape(sizes)),
                    }
                }
                match seq.next_element::<IgnoredAny>()? {
                    None => Ok(HeaderShape(sizes)),
                    Some(_) => Err(A::Error::invalid_length(MOST_DIMENSIONS + 1, &self)),
                }
            }
        }
        from.deserialize_seq(Sizes)
    }
}

/// The format's name of each dtype.
const CODES: [(&str, DType); 10] = [
    ("F64", DType::Float64),
    ("F32", DType::Float32),
    ("F16", DType::Float16),
    ("BF16", DType::BFloat16),
    ("I64", DType::Int64),
    ("I32", DType::Int32),
    ("I16", DType::Int16),
    ("I8", DType::Int8),
    ("U8", DType::UInt8),
    ("BOOL", DType::Bool),
];

fn code(dtype: DType) -> &'static str {
    CODES.iter().find(|(_, d)| *d == dtype).map_or("F32", |(code, _)| code)
}

fn dtype(code: &str) -> Outcome<DType> {
    let known = CODES.iter().find(|(c, _)| *c == code).map(|(_, d)| *d);
    known.ok_or_else(|| Fault::invalid(format!("tensors here have no dtype '{}'", shown(code))))
}

/// The start of a name, for an error.
fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(60).collect()
}

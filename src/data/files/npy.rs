//! `.npy`: one array, as NumPy's `numpy.lib.format` describes it (versions 1.0, 2.0 and 3.0).

use std::io::{Read, Write};

use smallvec::SmallVec;

use crate::base::figures::plural;
use crate::base::{DType, Layout};
use crate::tensor::Tensor;

use super::elements;
use super::fault::{Fault, Outcome};
use super::literal::Literal;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// NumPy reads headers of up to 10,000 characters unless told otherwise; a plain array's has some hundred.
const LONGEST_HEADER: usize = 10_000;
/// The data starts at a multiple of this.
const ALIGNMENT: usize = 64;
/// Digits that the first size may grow to.
const GROWTH: usize = 21;
/// NumPy's arrays have at most this many dimensions.
const MOST_DIMENSIONS: usize = 64;

/// Reads one array that fills `length` bytes of `from`.
///
/// A Fortran-ordered array becomes a strided tensor of the same bytes, as `torch.from_numpy` makes one.
pub(super) fn read(from: &mut dyn Read, length: u64) -> Outcome<Tensor> {
    let (header, used) = read_header(from)?;
    let (dtype, swap) = element(&header.descr)?;
    let mut shape = header.shape;
    let needed = elements::byte_count(&shape, dtype)?;
    let there = length.saturating_sub(used);
    if needed > there {
        return Err(Fault::invalid(format!(
            "an array of shape {shape:?} and dtype {dtype} takes {needed} bytes, and {there} are there"
        )));
    }
    if needed < there {
        return Err(Fault::invalid(plural(
            (there - needed) as u64,
            "byte follows the array",
            "bytes follow the array",
        )));
    }
    if !header.fortran_order {
        return elements::read(from, &shape, dtype, swap);
    }
    shape.reverse();
    let stored = elements::read(from, &shape, dtype, swap)?;
    let order: SmallVec<[usize; 6]> = (0..shape.len()).rev().collect();
    let layout: Layout = stored.layout().permute(&order)?;
    Ok(stored.with_layout(layout))
}

/// Writes one array in row-major order. Version 1.0 is written: every NumPy reads it.
///
/// # Errors
/// bfloat16, which NumPy does not have.
pub(super) fn write(tensor: &Tensor, out: &mut dyn Write) -> Outcome<()> {
    out.write_all(&header(tensor)?)?;
    elements::write(tensor, out)
}

/// Bytes that [`write`] writes.
pub(super) fn size(tensor: &Tensor) -> Outcome<u64> {
    Ok(header(tensor)?.len() as u64 + tensor.nbytes() as u64)
}

fn header(tensor: &Tensor) -> Outcome<Vec<u8>> {
    let dims: Vec<String> = tensor.shape().iter().map(ToString::to_string).collect();
    let shape = match dims.as_slice() {
        [one] => format!("({one},)"),
        several => format!("({})", several.join(", ")),
    };
    let mut text =
        format!("{{'descr': '{}', 'fortran_order': False, 'shape': {shape}, }}", descr(tensor.dtype())?);
    // NumPy leaves room for the first size to grow in place; the same bytes are written here.
    if let Some(first) = dims.first() {
        text.extend(std::iter::repeat_n(' ', GROWTH.saturating_sub(first.len())));
    }
    let lead = MAGIC.len() + 4;
    // At least one space, as NumPy has it.
    let whole = ((lead + text.len() + 1) / ALIGNMENT + 1) * ALIGNMENT;
    text.extend(std::iter::repeat_n(' ', whole - lead - text.len() - 1));
    text.push('\n');
    let length = u16::try_from(text.len())
        .map_err(|_| Fault::invalid("a tensor of so many dimensions does not fit the .npy format"))?;
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend(length.to_le_bytes());
    bytes.extend(text.as_bytes());
    Ok(bytes)
}

fn descr(dtype: DType) -> Outcome<&'static str> {
    Ok(match dtype {
        DType::Float64 => "<f8",
        DType::Float32 => "<f4",
        DType::Float16 => "<f2",
        DType::Int64 => "<i8",
        DType::Int32 => "<i4",
        DType::Int16 => "<i2",
        DType::Int8 => "|i1",
        DType::UInt8 => "|u1",
        DType::Bool => "|b1",
        DType::BFloat16 => {
            let hint = "`x.float()` has the same values in float32; `.safetensors` files keep bfloat16";
            let error = crate::base::Error::type_error("NumPy has no bfloat16").with_hint(hint);
            return Err(error.into());
        }
    })
}

struct NpyHeader {
    descr: String,
    fortran_order: bool,
    shape: Vec<usize>,
}

/// The header and the bytes it took.
fn read_header(from: &mut dyn Read) -> Outcome<(NpyHeader, u64)> {
    let mut lead = [0u8; 8];
    from.read_exact(&mut lead)?;
    let [magic @ .., major, minor] = &lead;
    if magic != MAGIC {
        return Err(Fault::invalid("it does not start as a .npy file does"));
    }
    let (length, used) = match (major, minor) {
        (1, 0) => {
            let mut bytes = [0u8; 2];
            from.read_exact(&mut bytes)?;
            (usize::from(u16::from_le_bytes(bytes)), 10)
        }
        (2 | 3, 0) => {
            let mut bytes = [0u8; 4];
            from.read_exact(&mut bytes)?;
            (u32::from_le_bytes(bytes) as usize, 12)
        }
        _ => {
            let text = format!("version {major}.{minor} of the .npy format is unknown; 1.0 to 3.0 are read");
            return Err(Fault::invalid(text));
        }
    };
    if length > LONGEST_HEADER {
        let text = format!("its header claims {length} bytes; {LONGEST_HEADER} is the most that is read");
        return Err(Fault::invalid(text));
    }
    let mut text = vec![0u8; length];
    from.read_exact(&mut text)?;
    let text = String::from_utf8(text).map_err(|_| Fault::invalid("its header is no text"))?;
    Ok((parse(&text)?, (used + length) as u64))
}

fn parse(text: &str) -> Outcome<NpyHeader> {
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    let mut literal = Literal::new(text);
    literal.expect('{')?;
    while !literal.accept('}') {
        let key = literal.string()?;
        literal.expect(':')?;
        let twice = match key.as_str() {
            "descr" => descr.replace(type_string(&mut literal)?).is_some(),
            "fortran_order" => fortran_order.replace(literal.bool()?).is_some(),
            "shape" => shape.replace(literal.tuple(MOST_DIMENSIONS)?).is_some(),
            other => return Err(Fault::invalid(format!("its header has an unknown key '{other}'"))),
        };
        if twice {
            return Err(Fault::invalid(format!("its header has '{key}' twice")));
        }
        if !literal.accept(',') {
            literal.expect('}')?;
            break;
        }
    }
    literal.end()?;
    match (descr, fortran_order, shape) {
        (Some(descr), Some(fortran_order), Some(shape)) => Ok(NpyHeader { descr, fortran_order, shape }),
        _ => Err(Fault::invalid("its header lacks 'descr', 'fortran_order' or 'shape'")),
    }
}

fn type_string(literal: &mut Literal) -> Outcome<String> {
    if literal.peek() == Some('[') {
        let text = "it holds a structured dtype, whose elements have named fields; save each field as an array \
                    of its own";
        return Err(Fault::invalid(text));
    }
    literal.string()
}

/// The dtype of a NumPy type string, and whether its bytes stand in the other order than this machine's.
fn element(descr: &str) -> Outcome<(DType, bool)> {
    let bare = descr.trim_start_matches(['<', '>', '=', '|']);
    let order = descr.strip_suffix(bare).unwrap_or_default();
    let dtype = match bare {
        "f8" => DType::Float64,
        "f4" => DType::Float32,
        "f2" => DType::Float16,
        "i8" => DType::Int64,
        "i4" => DType::Int32,
        "i2" => DType::Int16,
        "i1" => DType::Int8,
        "u1" => DType::UInt8,
        "b1" | "?" => DType::Bool,
        _ => return Err(Fault::invalid(unknown(descr, bare))),
    };
    let swap = match order {
        "<" => cfg!(target_endian = "big"),
        ">" => cfg!(target_endian = "little"),
        "" | "=" | "|" => false,
        _ => return Err(Fault::invalid(format!("'{descr}' is no NumPy dtype"))),
    };
    Ok((dtype, swap && dtype.size() > 1))
}

fn unknown(descr: &str, bare: &str) -> String {
    let what = match bare {
        "O" => "Python objects, which only Python can read",
        "u2" => "uint16; `x.astype(numpy.int32)` in Python has the same values",
        "u4" => "uint32; `x.astype(numpy.int64)` in Python has the same values",
        "u8" => "uint64; `x.astype(numpy.int64)` in Python has a dtype that tensors have",
        "f16" | "f12" => "long doubles; `x.astype(numpy.float64)` in Python has a dtype that tensors have",
        "V2" => "elements of two bytes without a type, perhaps bfloat16; `.safetensors` files keep bfloat16",
        _ if bare.starts_with('c') => "complex numbers; save `x.real` and `x.imag`",
        _ if bare.starts_with(['U', 'S']) => "text; tensors hold numbers",
        _ if bare.starts_with(['M', 'm']) => "times; `x.astype(numpy.int64)` in Python has numbers",
        _ => "a dtype that tensors do not have",
    };
    let descr: String = descr.chars().take(40).collect();
    format!("it holds {what} (NumPy's '{descr}')")
}

//! Numbers from comma-separated text.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::base::file;
use crate::base::{DType, Error, Result, memory};
use crate::device::Machine;
use crate::tensor::Tensor;

/// Files above this size are refused, in bytes.
const LARGEST: u64 = 1 << 30;
/// The longest line that is read, in bytes.
const LONGEST_LINE: u64 = 16 << 20;
/// Lines between two looks at an interrupt.
const GLANCE: usize = 4096;

/// How a file is read.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    pub delimiter: char,
    /// Lines at the start that are passed over. The first of the others is, too, where it holds no numbers.
    pub skiprows: usize,
    /// float32, float64 or int64
    pub dtype: DType,
}

impl Default for Reading {
    fn default() -> Reading {
        Reading { delimiter: ',', skiprows: 0, dtype: DType::Float32 }
    }
}

/// Reads a file of numbers as a tensor `[rows, columns]` on the CPU. Empty lines are passed over, and a first line without
/// a number is a header.
///
/// # Errors
/// Names the line and column of what is no number, and lines of another length than the first.
pub fn read(path: &Path, how: Reading) -> Result<Tensor> {
    let shown = path.display();
    let path = &file::to_read(path);
    let cannot = |e: std::io::Error| Error::value(format!("cannot read {shown}: {e}"));
    // Before opening: to open a pipe is to wait for its writer.
    let found = std::fs::metadata(path).map_err(cannot)?;
    if !found.is_file() {
        return Err(Error::value(format!("cannot read {shown}: it is no regular file")));
    }
    let size = found.len();
    if size > LARGEST {
        return Err(Error::value(format!("{shown} has {size} bytes; {LARGEST} is the most that is read")));
    }
    parse(BufReader::with_capacity(1 << 16, File::open(path).map_err(cannot)?), &shown.to_string(), how)
}

/// Reads text from any source; errors call it `name`.
///
/// # Errors
/// As [`read`].
pub fn parse(mut from: impl BufRead, name: &str, how: Reading) -> Result<Tensor> {
    if !matches!(how.dtype, DType::Float32 | DType::Float64 | DType::Int64) {
        let text = format!("csv() reads float32, float64 or int64, not {}", how.dtype);
        return Err(Error::value(text).with_hint("`.to(dtype)` converts the tensor"));
    }
    let machine = Machine::current();
    let mut table = Table { how, bytes: Vec::new(), columns: 0, rows: 0, begun: false };
    let mut line = Vec::new();
    for number in 1.. {
        if number % GLANCE == 0 {
            machine.shared.cancel.check()?;
        }
        line.clear();
        let read = (&mut from).take(LONGEST_LINE).read_until(b'\n', &mut line);
        match read.map_err(|e| Error::value(format!("cannot read {name}: {e}")))? {
            0 => break,
            n if n as u64 == LONGEST_LINE && !line.ends_with(b"\n") => {
                let text = format!("{name}:{number}: the line is longer than {LONGEST_LINE} bytes");
                return Err(Error::value(text));
            }
            _ if number <= how.skiprows => continue,
            _ => {}
        }
        let text = std::str::from_utf8(&line);
        let text = text.map_err(|_| Error::value(format!("{name}:{number}: the line is no UTF-8 text")))?;
        let text = if number == 1 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        table.reserve(line.len())?;
        let is_first = !table.begun;
        table.add(text.trim_end_matches(['\n', '\r'])).map_err(|problem| {
            let header = if is_first { "; `#{skiprows: 1}` passes over a header that has numbers" } else { "" };
            Error::value(format!("{name}:{number}: {problem}"))
                .with_hint(format!("each line has the same columns, all of them numbers; `#{{delimiter: \";\"}}` says what parts them{header}"))
        })?;
    }
    Tensor::from_bytes(&table.bytes, &[table.rows, table.columns], how.dtype)
}

/// Whether a cell is a number, as a header's names are not.
fn is_number(cell: &str) -> bool {
    bare(cell).parse::<f64>().is_ok()
}

struct Table {
    how: Reading,
    /// Elements in native byte order.
    bytes: Vec<u8>,
    columns: usize,
    rows: usize,
    /// A line that was not empty has been seen: only the first may be a header.
    begun: bool,
}

impl Table {
    /// Makes room for the numbers of a line, of which each takes at least a character and one that parts it.
    fn reserve(&mut self, characters: usize) -> Result<()> {
        let bytes = characters.div_ceil(2).saturating_mul(self.how.dtype.size());
        memory::reserve(&mut self.bytes, bytes)
    }

    fn add(&mut self, line: &str) -> std::result::Result<(), String> {
        if line.trim().is_empty() {
            return Ok(());
        }
        let first = !std::mem::replace(&mut self.begun, true);
        let before = self.bytes.len();
        let mut columns = 0;
        for cell in line.split(self.how.delimiter) {
            columns += 1;
            if !self.push(bare(cell)) {
                self.bytes.truncate(before);
                // The first column of a header may have no name.
                let mut cells =
                    line.split(self.how.delimiter).filter(|cell| !bare(cell).is_empty()).peekable();
                if first && cells.peek().is_some() && !cells.any(is_number) {
                    return Ok(());
                }
                let shown: String = cell.trim().chars().filter(|c| !c.is_control()).take(20).collect();
                return Err(match shown.is_empty() {
                    true => format!("column {columns} is empty"),
                    false => format!("column {columns} is not a number: '{shown}'"),
                });
            }
        }
        if self.rows > 0 && columns != self.columns {
            return Err(format!("{columns} columns, where the first row has {}", self.columns));
        }
        self.columns = columns;
        self.rows += 1;
        Ok(())
    }

    fn push(&mut self, cell: &str) -> bool {
        let bytes = &mut self.bytes;
        match self.how.dtype {
            DType::Float64 => cell.parse().map(|v: f64| bytes.extend(v.to_ne_bytes())).is_ok(),
            DType::Int64 => cell.parse().map(|v: i64| bytes.extend(v.to_ne_bytes())).is_ok(),
            _ => cell.parse().map(|v: f32| bytes.extend(v.to_ne_bytes())).is_ok(),
        }
    }
}

/// A cell without the space and the quotes around it.
fn bare(cell: &str) -> &str {
    let cell = cell.trim();
    cell.strip_prefix('"').and_then(|c| c.strip_suffix('"')).map_or(cell, str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Tensor> {
        parse(text.as_bytes(), "f.csv", Reading::default())
    }

    fn error(text: &str) -> String {
        of(text).unwrap_err().message()
    }

    #[test]
    fn headers_are_skipped_and_faults_have_a_place() {
        assert_eq!(of("a,b\n1,2\n3,4\n").unwrap().shape(), [2, 2]);
        assert_eq!(of("").unwrap().shape(), [0, 0]);
        assert_eq!(of("\n \na,b\n1,2\n").unwrap().shape(), [1, 2]);
        assert_eq!(error("1,2\n3,x\n"), "f.csv:2: column 2 is not a number: 'x'");
        assert_eq!(error("1,2\n3,\n"), "f.csv:2: column 2 is empty");
        assert_eq!(error("1,2\n3\n"), "f.csv:2: 1 columns, where the first row has 2");
        // A line with a number in it is data, whatever else it has.
        assert_eq!(error("1,,3\n4,5,6\n"), "f.csv:1: column 2 is empty");
        let hint = |text: &str| of(text).unwrap_err().hint().unwrap_or_default();
        assert!(hint("1,x\n").contains("skiprows") && !hint("a,b\n1 2\n").contains("skiprows"));
        assert_eq!(error("5.1, 3.5,setosa\n"), "f.csv:1: column 3 is not a number: 'setosa'");
        assert_eq!(of("label,pixel\n5,6\n").unwrap().shape(), [1, 2]);
        assert_eq!(error("a,b\nc,d\n"), "f.csv:2: column 1 is not a number: 'c'");
        assert_eq!(error(",\n1,2\n"), "f.csv:1: column 1 is empty");
        assert_eq!(of(",a,b\n0,1,2\n").unwrap().shape(), [1, 3]);
        assert_eq!(of("a,,c\n1,2,3\n").unwrap().shape(), [1, 3]);
        let whole = Reading { dtype: DType::Int64, ..Reading::default() };
        let refused = parse(&b"nan,inf\n1,2\n"[..], "f.csv", whole).unwrap_err().message();
        assert_eq!(refused, "f.csv:1: column 1 is not a number: 'nan'");
    }

    #[test]
    fn other_forms_of_the_same_numbers() {
        let want = of("1,2\n3,4\n").unwrap().to_f64s("test").unwrap();
        for text in ["\u{feff}1,2\r\n3,4", "\n1, 2\n\n3 ,4\n\n", "\"x, y\",z\n\"1\",2\n3,\"4\""] {
            assert_eq!(of(text).unwrap().to_f64s("test").unwrap(), want, "{text:?}");
        }
        let how = Reading { delimiter: ';', skiprows: 2, dtype: DType::Int64 };
        let t = parse("a note\nanother\nx;y\n9007199254740993;-2\n".as_bytes(), "f", how).unwrap();
        assert_eq!(t.to_i64s("test").unwrap(), [9_007_199_254_740_993, -2]);
    }

    #[test]
    fn text_that_is_no_text_and_other_dtypes_are_refused() {
        let bad = parse(&b"1,2\n\xff,3\n"[..], "f.csv", Reading::default()).unwrap_err().message();
        assert_eq!(bad, "f.csv:2: the line is no UTF-8 text");
        let how = Reading { dtype: DType::Bool, ..Reading::default() };
        assert!(parse(&b"1"[..], "f", how).is_err());
        let long = "1".repeat((LONGEST_LINE + 5) as usize);
        assert!(error(&long).contains("longer than"));
    }
}

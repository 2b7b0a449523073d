//! Numbers from comma-separated text.

use std::path::Path;

use crate::base::{Error, Result};
use crate::tensor::Tensor;

/// Files above this size are refused, in bytes.
const LARGEST: u64 = 1 << 30;

/// Reads a file of numbers as a float32 tensor `[rows, columns]`. A first line that is no numbers is a header.
///
/// # Errors
/// Names the line and column of what is no number, and lines of another length than the first.
pub fn read(path: &Path) -> Result<Tensor> {
    let shown = path.display();
    let size = std::fs::metadata(path).map_err(|e| Error::value(format!("cannot read {shown}: {e}")))?.len();
    if size > LARGEST {
        return Err(Error::value(format!("{shown} has {size} bytes; {LARGEST} is the most that is read")));
    }
    let text =
        std::fs::read_to_string(path).map_err(|e| Error::value(format!("cannot read {shown}: {e}")))?;
    parse(&text, &shown.to_string())
}

fn parse(text: &str, name: &str) -> Result<Tensor> {
    let mut values = Vec::new();
    let (mut columns, mut rows) = (0, 0);
    for (i, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        let parsed: std::result::Result<Vec<f32>, usize> =
            line.split(',').enumerate().map(|(c, cell)| cell.trim().parse().map_err(|_| c + 1)).collect();
        let row = match parsed {
            Ok(row) => row,
            Err(_) if rows == 0 && i == 0 => continue,
            Err(column) => {
                return Err(Error::value(format!("{name}:{}: column {column} is not a number", i + 1)));
            }
        };
        if rows > 0 && row.len() != columns {
            let text = format!("{name}:{}: {} columns, where the first row has {columns}", i + 1, row.len());
            return Err(Error::value(text));
        }
        columns = row.len();
        rows += 1;
        values.extend(row);
    }
    Tensor::from_f32(&values, &[rows, columns])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_skipped_and_faults_have_a_place() {
        assert_eq!(parse("a,b\n1,2\n3,4\n", "f").unwrap().shape(), [2, 2]);
        assert_eq!(parse("", "f").unwrap().shape(), [0, 0]);
        let e = parse("1,2\n3,x\n", "f.csv").unwrap_err().message();
        assert_eq!(e, "f.csv:2: column 2 is not a number");
        assert!(parse("1,2\n3\n", "f.csv").unwrap_err().message().starts_with("f.csv:2: 1 columns"));
    }
}

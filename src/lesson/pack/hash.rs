//! SHA-256 of files and bytes, as lower-case hexadecimal digits.

use std::io::{self, Read, Write};

use sha2::{Digest, Sha256};

/// A sum in the making; what is written to it is added.
#[derive(Default)]
pub struct Sum(Sha256);

impl Sum {
    pub(crate) fn hex(self) -> String {
        const DIGITS: [char; 16] =
            ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
        let digit = |value: u8| DIGITS.get(usize::from(value & 15)).copied().unwrap_or_default();
        self.0.finalize().iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
    }
}

impl Write for Sum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The sum of bytes.
pub fn of(bytes: &[u8]) -> String {
    let mut sum = Sum::default();
    sum.0.update(bytes);
    sum.hex()
}

/// The sum of all that is read, and how many bytes that was.
pub(crate) fn of_reader(mut from: impl Read) -> io::Result<(String, u64)> {
    let mut sum = Sum::default();
    let bytes = io::copy(&mut from, &mut sum)?;
    Ok((sum.hex(), bytes))
}

/// Whether a text is a sum as written here.
pub(crate) fn is_sum(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_examples_hold() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of(b""), empty);
        assert_eq!(of_reader(&b"abc"[..]).unwrap(), (abc.to_owned(), 3));
        assert!(is_sum(empty) && !is_sum(&empty.to_uppercase()) && !is_sum("abc"));
    }
}

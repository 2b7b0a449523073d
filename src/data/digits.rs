//! Handwritten digits: 1,797 images of 8x8 pixels with their labels, shipped with the program.
//!
//! Optical Recognition of Handwritten Digits, test part: E. Alpaydin and C. Kaynak, 1998, UCI Machine Learning
//! Repository, licence CC BY 4.0 (`assets/digits/README.md`).

use std::io::Read;

use crate::base::{Error, Result};
use crate::tensor::Tensor;

static PACKED: &[u8] = include_bytes!("../../assets/digits/digits.csv.gz");

/// Pixels of an image, row by row.
pub(crate) const PIXELS: usize = 64;
/// Every fifth row is a test row: 360 of 1,797.
const TEST_EVERY: usize = 5;

/// Training and test images with their labels, on the CPU.
pub struct Digits {
    /// `[1437, 64]` float32 in 0..1
    pub x_train: Tensor,
    /// `[1437]` int64 in 0..10
    pub y_train: Tensor,
    /// `[360, 64]` float32 in 0..1
    pub x_test: Tensor,
    /// `[360]` int64 in 0..10
    pub y_test: Tensor,
}

/// Unpacks the digits. Every fifth image, from the first on, is a test image.
pub fn load() -> Result<Digits> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(PACKED)
        .read_to_string(&mut text)
        .map_err(|e| Error::runtime(format!("the embedded digits cannot be unpacked: {e}")))?;
    let (mut train, mut test) = (DigitsSplit::default(), DigitsSplit::default());
    for (row, line) in text.lines().enumerate() {
        let part = if row % TEST_EVERY == 0 { &mut test } else { &mut train };
        part.add(line)
            .ok_or_else(|| Error::runtime(format!("row {row} of the embedded digits is damaged")))?;
    }
    let ((x_train, y_train), (x_test, y_test)) = (train.tensors()?, test.tensors()?);
    Ok(Digits { x_train, y_train, x_test, y_test })
}

#[derive(Default)]
struct DigitsSplit {
    pixels: Vec<f32>,
    labels: Vec<i64>,
}

impl DigitsSplit {
    fn add(&mut self, line: &str) -> Option<()> {
        let mut cells = line.split(',');
        for _ in 0..PIXELS {
            let value: u8 = cells.next()?.trim().parse().ok()?;
            self.pixels.push(f32::from(value) / 16.0);
        }
        self.labels.push(cells.next()?.trim().parse().ok()?);
        Some(())
    }

    fn tensors(&self) -> Result<(Tensor, Tensor)> {
        let rows = self.labels.len();
        Ok((Tensor::from_f32(&self.pixels, &[rows, PIXELS])?, Tensor::from_i64(&self.labels, &[rows])?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_split_is_1437_and_360_of_all_ten_digits() {
        let digits = load().unwrap();
        assert_eq!(digits.x_train.shape(), [1437, 64]);
        assert_eq!(digits.x_test.shape(), [360, 64]);
        let labels = digits.y_test.to_i64s("test").unwrap();
        assert!((0..10).all(|d| labels.iter().filter(|&&l| l == d).count() > 20));
        let pixels = digits.x_train.to_f64s("test").unwrap();
        assert!(pixels.iter().all(|p| (0.0..=1.0).contains(p)) && pixels.contains(&1.0));
    }
}

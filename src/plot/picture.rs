//! Pictures: numbers to colours, and colours to another size.

use crate::base::{Result, memory};

use super::color::ColorMap;
use super::stop::{asked, check, until};
use crate::plot::left_out::LeftOut;

/// Pixels, row-major, 3 bytes each.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Picture {
    pub width: usize,
    pub height: usize,
    pub rgb: Vec<u8>,
}

impl Picture {
    /// Colours `data` (row-major, the channel last) over `range`. NaN and infinities take the colour of missing values.
    pub(super) fn paint(
        (height, width, channels): (usize, usize, usize),
        data: &[f32],
        map: ColorMap,
        (low, high): (f64, f64),
    ) -> Result<Self> {
        // Halves, so that the difference cannot overflow.
        let span = high / 2.0 - low / 2.0;
        let unit = |value: f32| {
            if value.is_finite() {
                ((f64::from(value) / 2.0 - low / 2.0) / span).clamp(0.0, 1.0)
            } else {
                f64::NAN
            }
        };
        let mut rgb = memory::with_capacity(data.len().saturating_mul(4 - channels.clamp(1, 3)))?;
        if channels == 3 {
            for pixel in until(data.chunks_exact(3)) {
                if pixel.iter().all(|value| value.is_finite()) {
                    rgb.extend(pixel.iter().map(|&v| (unit(v) * 255.0).round() as u8));
                } else {
                    rgb.extend(map.color(f64::NAN));
                }
            }
        } else {
            rgb.extend(until(data.iter()).flat_map(|&value| map.color(unit(value))));
        }
        check()?;
        Ok(Self { width, height, rgb })
    }

    /// The picture on `width x height` pixels: crisp when it grows, the mean colour of each area when it shrinks.
    pub(crate) fn resample(&self, width: usize, height: usize) -> Result<Vec<u8>> {
        let bytes = memory::count::<u8>(&[width, height, 3])?;
        if self.width == 0 || self.height == 0 {
            return memory::filled(bytes, 0xff);
        }
        let mut out = memory::with_capacity(bytes)?;
        let columns = memory::collected(spans(self.width, width))?;
        let mut previous = None;
        for (top, bottom) in spans(self.height, height).take_while(|_| !asked()) {
            if previous == Some((top, bottom)) {
                let start = out.len().saturating_sub(3 * width);
                out.extend_from_within(start..);
                continue;
            }
            previous = Some((top, bottom));
            let rows = self.rgb.get(top * self.width * 3..bottom * self.width * 3).unwrap_or_default();
            for &(left, right) in &columns {
                out.extend(mean(rows, self.width, left, right));
            }
        }
        check()?;
        Ok(out)
    }
}

/// For each of `to` pixels, which of `from` it covers: one when growing, all that begin in it when shrinking.
fn spans(from: usize, to: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..to).map(move |i| {
        if from <= to {
            let nearest = ((2 * i + 1) * from / (2 * to)).min(from.saturating_sub(1));
            (nearest, nearest + 1)
        } else {
            (i * from / to, (i + 1) * from / to)
        }
    })
}

fn mean(rows: &[u8], width: usize, left: usize, right: usize) -> [u8; 3] {
    let mut sum = [0u64; 3];
    let mut count = 0;
    for row in rows.chunks_exact(3 * width) {
        for pixel in row.get(3 * left..3 * right).unwrap_or_default().chunks_exact(3) {
            sum.iter_mut().zip(pixel).for_each(|(sum, &v)| *sum += u64::from(v));
            count += 1;
        }
    }
    sum.map(|sum| ((sum + count / 2) / count.max(1)) as u8)
}

/// The range of colours when none is given; never empty.
pub(super) fn range_of(data: &[f32], channels: usize, given: Option<(f64, f64)>) -> (f64, f64) {
    let (low, high) = given.unwrap_or_else(|| {
        let finite = until(data.iter()).filter(|value| value.is_finite());
        let (low, high) =
            finite.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)));
        match channels {
            3 if low >= 0.0 && high <= 1.0 => (0.0, 1.0),
            3 if low >= 0.0 && high <= 255.0 => (0.0, 255.0),
            _ if low > high => (0.0, 1.0),
            _ => (f64::from(low), f64::from(high)),
        }
    });
    if low < high {
        (low, high)
    } else {
        // One value: it takes the first colour.
        (low, (low + (low.abs() * 0.1).max(1.0)).min(f64::MAX))
    }
}

/// The longest side that [`super::Figure::compact`] leaves alone.
const COMPACT_SIDE: usize = 1024;

/// Replaces blocks of a large picture by their means, and fixes its range so that the colours stay.
pub(super) fn compact(
    (height, width): (&mut usize, &mut usize),
    channels: usize,
    data: &mut Vec<f32>,
    range: &mut Option<(f64, f64)>,
    left_out: &mut LeftOut,
) -> Result<()> {
    if *height <= COMPACT_SIDE && *width <= COMPACT_SIDE {
        return Ok(());
    }
    *range = Some(range_of(data, channels, *range));
    let missing = |data: &[f32]| data.iter().filter(|v| !v.is_finite()).count() as u64;
    let before = missing(data);
    let (new_height, new_width) = ((*height).min(COMPACT_SIDE), (*width).min(COMPACT_SIDE));
    let mut out = memory::with_capacity(new_height * new_width * channels)?;
    let columns = memory::collected(spans(*width, new_width))?;
    for (top, bottom) in spans(*height, new_height).take_while(|_| !asked()) {
        let rows = data.get(top * *width * channels..bottom * *width * channels).unwrap_or_default();
        for &(left, right) in &columns {
            for channel in 0..channels {
                let row_values = rows.chunks_exact(*width * channels).flat_map(|row| {
                    let pixels = row.get(left * channels..right * channels);
                    pixels.unwrap_or_default().iter().skip(channel).step_by(channels)
                });
                out.push(finite_mean(row_values));
            }
        }
    }
    check()?;
    (*height, *width, *data) = (new_height, new_width, out);
    left_out.non_finite += before.saturating_sub(missing(data));
    Ok(())
}

fn finite_mean<'a>(values: impl Iterator<Item = &'a f32>) -> f32 {
    let finite = values.filter(|value| value.is_finite());
    let (sum, count) =
        finite.fold((0.0f64, 0u32), |(sum, count), &value| (sum + f64::from(value), count + 1));
    // Nothing finite: 0 / 0 is the NaN that says so.
    (sum / f64::from(count)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gray(width: usize, height: usize, levels: &[u8]) -> Picture {
        let rgb = levels.iter().flat_map(|&level| [level; 3]).collect();
        Picture { width, height, rgb }
    }

    fn levels(rgb: &[u8]) -> Vec<u8> {
        rgb.chunks(3).map(|pixel| pixel[0]).collect()
    }

    #[test]
    fn growing_is_crisp_and_shrinking_takes_means() {
        let checks = gray(2, 2, &[0, 100, 200, 50]);
        let grown = levels(&checks.resample(4, 4).unwrap());
        assert_eq!(grown, [0, 0, 100, 100, 0, 0, 100, 100, 200, 200, 50, 50, 200, 200, 50, 50]);
        assert_eq!(levels(&checks.resample(1, 1).unwrap()), [88]);
        assert_eq!(levels(&checks.resample(2, 1).unwrap()), [100, 75]);
        assert_eq!(levels(&gray(3, 1, &[1, 2, 3]).resample(7, 1).unwrap()), [1, 1, 2, 2, 2, 3, 3]);
        assert!(checks.resample(0, 5).unwrap().is_empty());
        assert_eq!(gray(0, 0, &[]).resample(2, 1).unwrap(), [255; 6]);
    }

    #[test]
    fn paint_maps_the_range_and_marks_what_is_missing() {
        let data = [0.0, 1.0, 2.0, f32::NAN];
        let picture = Picture::paint((2, 2, 1), &data, ColorMap::Gray, (0.0, 2.0)).unwrap();
        assert_eq!(levels(&picture.rgb), [0, 128, 255, 0xc9]);
        let rgb = Picture::paint((1, 1, 3), &[0.0, 0.5, 9.0], ColorMap::Gray, (0.0, 1.0)).unwrap();
        assert_eq!(rgb.rgb, [0, 128, 255]);
    }

    #[test]
    fn ranges_follow_the_data() {
        assert_eq!(range_of(&[0.2, 0.7], 3, None), (0.0, 1.0));
        assert_eq!(range_of(&[0.0, 7.0], 3, None), (0.0, 255.0));
        assert_eq!(range_of(&[-1.0, 7.0], 3, None), (-1.0, 7.0));
        assert_eq!(range_of(&[0.25, 0.75, f32::NAN], 1, None), (0.25, 0.75));
        assert_eq!(range_of(&[5.0], 1, None), (5.0, 6.0));
        assert_eq!(range_of(&[], 1, None), (0.0, 1.0));
        assert_eq!(range_of(&[5.0], 1, Some((0.0, 9.0))), (0.0, 9.0));
    }

    #[test]
    fn compact_keeps_colours_and_counts_what_is_missing() {
        let (mut height, mut width) = (1, 2048);
        let mut data: Vec<f32> = (0..2048).map(|i| (i % 2) as f32).collect();
        data[0] = f32::NAN;
        let (mut range, mut left_out) = (None, LeftOut::default());
        compact((&mut height, &mut width), 1, &mut data, &mut range, &mut left_out).unwrap();
        assert_eq!((height, width, data.len()), (1, 1024, 1024));
        assert_eq!(range, Some((0.0, 1.0)));
        assert_eq!((data[0], data[1]), (1.0, 0.5));
        assert_eq!(left_out.non_finite, 1);
    }
}

//! Pixels as sixels ("VT330/VT340 Programmer Reference Manual", volume 2, chapter 14, DEC 1988).

use std::collections::HashMap;
use std::fmt::Write;

use crate::base::sorted;

/// Colours that a terminal is sure to have.
const COLOURS: usize = 256;
/// Rows of one band.
const BAND: usize = 6;

/// The colours of a picture, each a place in a table that is as fine as five bits a channel.
pub(crate) struct Palette {
    colours: Vec<[u8; 3]>,
    nearest: HashMap<u16, u8>,
}

impl Palette {
    /// As many colours as a terminal has: those of the picture in as many boxes, which are cut at the middle of their
    /// pixels where they are widest, each as the mean of its pixels.
    pub(crate) fn of(rgb: &[u8]) -> Palette {
        let mut counts: HashMap<u16, (u64, [u64; 3])> = HashMap::new();
        for pixel in rgb.chunks_exact(3) {
            let colour = channels(pixel);
            let seen = counts.entry(key(colour)).or_default();
            seen.0 += 1;
            for (sum, value) in seen.1.iter_mut().zip(colour) {
                *sum += u64::from(value);
            }
        }
        let shade = |(key, (count, sums)): (u16, (u64, [u64; 3]))| Shade {
            key,
            count,
            colour: sums.map(|sum| (sum / count.max(1)) as u8),
        };
        let mut all: Vec<Shade> = counts.into_iter().map(shade).collect();
        sorted::sort_by_key(&mut all, |shade| shade.key);
        let mut boxes = vec![all];
        while boxes.len() < COLOURS
            && let Some(widest) = widest(&boxes)
        {
            let whole = boxes.swap_remove(widest);
            let (low, high) = cut(whole);
            boxes.extend([low, high]);
        }
        let mut palette = Palette { colours: Vec::new(), nearest: HashMap::new() };
        for shades in boxes.iter().filter(|shades| !shades.is_empty()) {
            let place = u8::try_from(palette.colours.len()).unwrap_or(u8::MAX);
            palette.nearest.extend(shades.iter().map(|shade| (shade.key, place)));
            palette.colours.push(mean(shades));
        }
        palette
    }

    fn place(&self, pixel: &[u8]) -> u8 {
        self.nearest.get(&key(channels(pixel))).copied().unwrap_or(0)
    }
}

fn channels(pixel: &[u8]) -> [u8; 3] {
    pixel.try_into().unwrap_or_default()
}

fn key([r, g, b]: [u8; 3]) -> u16 {
    u16::from(r >> 3) << 10 | u16::from(g >> 3) << 5 | u16::from(b >> 3)
}

/// Pixels that are told apart by nothing.
struct Shade {
    key: u16,
    count: u64,
    colour: [u8; 3],
}

/// The channel in which some shades differ most, and by how much.
fn spread(shades: &[Shade]) -> (usize, u64) {
    let of = |channel: usize| {
        let values = || shades.iter().filter_map(|shade| shade.colour.get(channel)).copied();
        u64::from(values().max().unwrap_or(0) - values().min().unwrap_or(0))
    };
    (0..3).map(|channel| (channel, of(channel))).max_by_key(|(_, spread)| *spread).unwrap_or((0, 0))
}

/// The box that is to be cut next; none where none can be.
fn widest(boxes: &[Vec<Shade>]) -> Option<usize> {
    let weight = |shades: &Vec<Shade>| {
        let count: u64 = shades.iter().map(|shade| shade.count).sum();
        // A few pixels of another colour count as well, but a large area counts more.
        spread(shades).1 * count.isqrt().max(1)
    };
    let several = boxes.iter().enumerate().filter(|(_, shades)| shades.len() > 1);
    several.max_by_key(|(_, shades)| weight(shades)).map(|(place, _)| place)
}

/// Cuts a box of several shades into two that hold about as many pixels.
fn cut(mut shades: Vec<Shade>) -> (Vec<Shade>, Vec<Shade>) {
    let (channel, _) = spread(&shades);
    sorted::sort_by_key(&mut shades, |shade| (shade.colour.get(channel).copied(), shade.key));
    let half = shades.iter().map(|shade| shade.count).sum::<u64>() / 2;
    let mut before = 0;
    let middle = shades.iter().take_while(|shade| {
        before += shade.count;
        before <= half
    });
    let middle = middle.count().clamp(1, shades.len().saturating_sub(1).max(1));
    let high = shades.split_off(middle);
    (shades, high)
}

fn mean(shades: &[Shade]) -> [u8; 3] {
    let count: u64 = shades.iter().map(|shade| shade.count).sum();
    let mut sums = [0u64; 3];
    for shade in shades {
        for (sum, value) in sums.iter_mut().zip(shade.colour) {
            *sum += u64::from(value) * shade.count;
        }
    }
    sums.map(|sum| (sum / count.max(1)) as u8)
}

/// The sequence that shows `rgb` pixels in rows of `width` at the cursor.
pub(crate) fn encode(rgb: &[u8], width: usize, palette: &Palette) -> String {
    let width = width.max(1);
    let pixels: Vec<u8> = rgb.chunks_exact(3).map(|pixel| palette.place(pixel)).collect();
    let height = pixels.len() / width;
    // Pixels that no colour names stay as they are; a pixel is as high as it is wide.
    let mut out = format!("\x1bP0;1;0q\"1;1;{width};{height}");
    let mut used: Vec<u8> = pixels.clone();
    used.sort_unstable();
    used.dedup();
    for place in &used {
        let Some([r, g, b]) = palette.colours.get(usize::from(*place)) else { continue };
        let percent = |value: &u8| (u32::from(*value) * 100 + 127) / 255;
        let _ = write!(out, "#{place};2;{};{};{}", percent(r), percent(g), percent(b));
    }
    for band in pixels.chunks(width * BAND) {
        let mut here: Vec<u8> = band.to_vec();
        here.sort_unstable();
        here.dedup();
        for place in here {
            let _ = write!(out, "#{place}");
            let bits = |x: usize| {
                let rows = band.chunks(width).enumerate();
                rows.fold(0u8, |bits, (y, row)| bits | u8::from(row.get(x) == Some(&place)) << y)
            };
            runs(&mut out, (0..width).map(bits));
            out.push('$');
        }
        out.push('-');
    }
    out += "\x1b\\";
    out
}

/// Columns of six pixels, repeated ones with their number; blank ones at the end are left out.
fn runs(out: &mut String, columns: impl Iterator<Item = u8>) {
    let mut open: Option<(u8, usize)> = None;
    let flush = |out: &mut String, run: Option<(u8, usize)>| {
        let Some((bits, count)) = run else { return };
        let sign = char::from(b'?' + bits);
        if count > 3 {
            let _ = write!(out, "!{count}{sign}");
        } else {
            out.extend(std::iter::repeat_n(sign, count));
        }
    };
    for bits in columns {
        open = match open {
            Some((same, count)) if same == bits => Some((same, count + 1)),
            before => {
                flush(out, before);
                Some((bits, 1))
            }
        };
    }
    flush(out, open.filter(|(bits, _)| *bits != 0));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a terminal draws: colours by place, row by row; none where nothing was said.
    fn decode(sequence: &str) -> Vec<Vec<Option<[u32; 3]>>> {
        let body = sequence.strip_prefix("\x1bP0;1;0q\"1;1;").unwrap().strip_suffix("\x1b\\").unwrap();
        let start = body.find('#').unwrap();
        let size: Vec<usize> = body[..start].split(';').map(|n| n.parse().unwrap()).collect();
        let mut rows = vec![vec![None; size[0]]; size[1]];
        let mut table: HashMap<usize, [u32; 3]> = HashMap::new();
        let (mut colour, mut x, mut y) = (0, 0, 0);
        let mut rest = &body[start..];
        while let Some(sign) = rest.chars().next() {
            rest = &rest[1..];
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(rest.len());
            let numbers: Vec<usize> = rest[..end].split(';').filter_map(|n| n.parse().ok()).collect();
            let mut times = 1;
            let mut drawn = sign;
            match sign {
                '#' => {
                    colour = numbers[0];
                    if let [_, 2, r, g, b] = numbers[..] {
                        table.insert(colour, [r as u32, g as u32, b as u32]);
                    }
                    rest = &rest[end..];
                    continue;
                }
                '$' => x = 0,
                '-' => (x, y) = (0, y + 6),
                '!' => {
                    times = numbers[0];
                    drawn = rest[end..].chars().next().unwrap();
                    rest = &rest[end + 1..];
                }
                _ => {}
            }
            if matches!(drawn, '$' | '-') {
                continue;
            }
            for _ in 0..times {
                for bit in 0..6 {
                    if (drawn as u8 - b'?') >> bit & 1 == 1 {
                        rows[y + bit][x] = Some(table[&colour]);
                    }
                }
                x += 1;
            }
        }
        rows
    }

    #[test]
    fn every_pixel_comes_back_in_its_colour() {
        let (width, height) = (17, 20);
        let colours = [[0u8, 0, 0], [255, 255, 255], [0, 114, 178], [213, 94, 0]];
        let at = |x: usize, y: usize| colours[(x / 5 + y / 7 + usize::from(x == y)) % 4];
        let rgb: Vec<u8> = (0..height).flat_map(|y| (0..width).flat_map(move |x| at(x, y))).collect();
        let drawn = decode(&encode(&rgb, width, &Palette::of(&rgb)));
        let percent = |c: [u8; 3]| c.map(|v| (u32::from(v) * 100 + 127) / 255);
        for (y, row) in drawn.iter().enumerate() {
            for (x, pixel) in row.iter().enumerate() {
                assert_eq!(*pixel, Some(percent(at(x, y))), "{x} {y}");
            }
        }
    }

    #[test]
    fn many_colours_become_near_ones() {
        let rgb: Vec<u8> =
            (0..64u32 * 64).flat_map(|i| [(i % 64 * 4) as u8, (i / 64 * 4) as u8, 128]).collect();
        let palette = Palette::of(&rgb);
        assert_eq!(palette.colours.len(), COLOURS);
        let worst = rgb.chunks(3).map(|pixel| {
            let shown = palette.colours[usize::from(palette.place(pixel))];
            shown.iter().zip(pixel).map(|(a, b)| a.abs_diff(*b)).max().unwrap()
        });
        assert!(worst.max().unwrap() <= 16, "a grid of 16 x 16 boxes of 16 x 16 shades");
        assert!(decode(&encode(&rgb, 64, &palette)).iter().flatten().all(Option::is_some));
    }
}

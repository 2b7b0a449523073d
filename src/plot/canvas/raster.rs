//! Pixels: shapes are filled span by span on a picture enlarged by a whole factor, which is then averaged down; text is
//! drawn last, at the final size.

use plotters::backend::{BitMapBackend, DrawingBackend, RGBPixel};
use plotters::style::RGBAColor;

use crate::base::memory;
use crate::plot::canvas::shape::{Canvas, Ink, Point, Rect};
use crate::plot::color::Rgb;
use crate::plot::picture::Picture;
use crate::plot::{PlotError, stop};

use super::font;

/// A canvas of RGB pixels, white at first.
pub(in crate::plot) struct Raster<'a> {
    backend: BitMapBackend<'a, RGBPixel>,
    factor: f64,
    /// Size of the enlarged picture.
    size: (i32, i32),
    texts: Vec<(String, Point, Ink)>,
}

/// Above this the enlarged picture would take more memory than its edges are worth.
const ENLARGED_PIXELS: u64 = 16 << 20;

impl Raster<'_> {
    /// Draws on a fresh picture and gives its pixels, 3 bytes each, row by row.
    ///
    /// # Errors
    /// What `draw` returns, and failures of the backend.
    pub(crate) fn render(
        width: u32,
        height: u32,
        draw: impl FnOnce(&mut dyn Canvas) -> Result<(), PlotError>,
    ) -> Result<Vec<u8>, PlotError> {
        let pixels = u64::from(width) * u64::from(height);
        let factor =
            [4, 2].into_iter().find(|factor| pixels * factor * factor <= ENLARGED_PIXELS).unwrap_or(1) as u32;
        let size = (width * factor, height * factor);
        let bytes = size.0 as usize * size.1 as usize * 3;
        let mut enlarged = memory::filled(bytes, 0xff)?;
        let texts = {
            let mut raster = Raster {
                backend: backend(&mut enlarged, size)?,
                factor: f64::from(factor),
                size: (size.0 as i32, size.1 as i32),
                texts: Vec::new(),
            };
            draw(&mut raster)?;
            raster.texts
        };
        let mut rgb = match factor {
            4 => shrink::<4>(&enlarged, width as usize)?,
            2 => shrink::<2>(&enlarged, width as usize)?,
            _ => enlarged,
        };
        stop::check()?;
        write(&mut rgb, (width, height), &texts)?;
        Ok(rgb)
    }

    fn span(&mut self, y: i32, from: f64, to: f64, color: RGBAColor) -> Result<(), PlotError> {
        // A pixel belongs to the shape if its centre does.
        let from = (from - 0.5).ceil().max(0.0) as i32;
        let to = (to - 0.5).ceil().min(f64::from(self.size.0)) as i32;
        if from >= to || y < 0 || y >= self.size.1 {
            return Ok(());
        }
        let done = self.backend.draw_rect((from, y), (to, y + 1), &color, true);
        done.map_err(failed)
    }

    /// The rows that a shape between two heights touches.
    fn rows(&self, top: f64, bottom: f64) -> std::ops::Range<i32> {
        let first = (top - 0.5).ceil().max(0.0) as i32;
        first..((bottom - 0.5).ceil().min(f64::from(self.size.1)) as i32)
    }

    /// Fills all points within `radius` of the line from `a` to `b`.
    fn capsule(&mut self, a: Point, b: Point, radius: f64, color: RGBAColor) -> Result<(), PlotError> {
        let band = Band::new(a, b, radius);
        for y in self.rows(a.1.min(b.1) - radius, a.1.max(b.1) + radius) {
            let center = f64::from(y) + 0.5;
            let parts = [
                disc_chord(a, radius, center),
                disc_chord(b, radius, center),
                band.as_ref().and_then(|band| band.chord(center)),
            ];
            // The shape is convex, so its parts of one row join.
            let from = parts.iter().flatten().map(|chord| chord.0);
            let to = parts.iter().flatten().map(|chord| chord.1);
            let chord = (from.reduce(f64::min), to.reduce(f64::max));
            if let (Some(from), Some(to)) = chord {
                self.span(y, from, to, color)?;
            }
        }
        Ok(())
    }

    fn enlarge(&self, (x, y): Point) -> Point {
        (x * self.factor, y * self.factor)
    }
}

impl Canvas for Raster<'_> {
    fn rect(&mut self, rect: Rect, color: Rgb, alpha: f64) -> Result<(), PlotError> {
        stop::check()?;
        let corner = |x: f64, y: f64| ((x * self.factor).round(), (y * self.factor).round());
        let (left, top) = corner(rect.left, rect.top);
        let (right, bottom) = corner(rect.right, rect.bottom);
        // Nothing that has a place disappears.
        let (right, bottom) = (right.max(left + 1.0), bottom.max(top + 1.0));
        let done = self.backend.draw_rect(
            (left as i32, top as i32),
            (right as i32, bottom as i32),
            &with_alpha(color, alpha),
            true,
        );
        done.map_err(failed)
    }

    fn path(&mut self, points: &[Point], width: f64, color: Rgb) -> Result<(), PlotError> {
        stop::check()?;
        let radius = width * self.factor / 2.0;
        let color = with_alpha(color, 1.0);
        if let [only] = points {
            let only = self.enlarge(*only);
            return self.capsule(only, only, radius, color);
        }
        for (&a, &b) in points.iter().zip(points.iter().skip(1)) {
            self.capsule(self.enlarge(a), self.enlarge(b), radius, color)?;
        }
        Ok(())
    }

    fn polygon(&mut self, corners: &[Point], color: Rgb) -> Result<(), PlotError> {
        stop::check()?;
        let corners: Vec<Point> = corners.iter().map(|&corner| self.enlarge(corner)).collect();
        let top = corners.iter().map(|corner| corner.1).reduce(f64::min);
        let bottom = corners.iter().map(|corner| corner.1).reduce(f64::max);
        let (Some(top), Some(bottom)) = (top, bottom) else {
            return Ok(());
        };
        for y in self.rows(top, bottom) {
            let center = f64::from(y) + 0.5;
            let next = corners.iter().cycle().skip(1);
            let crossings: Vec<f64> = corners
                .iter()
                .zip(next)
                .filter(|(a, b)| (a.1 <= center) != (b.1 <= center))
                .map(|(a, b)| a.0 + (center - a.1) / (b.1 - a.1) * (b.0 - a.0))
                .collect();
            let from = crossings.iter().copied().reduce(f64::min);
            let to = crossings.iter().copied().reduce(f64::max);
            if let (Some(from), Some(to)) = (from, to) {
                self.span(y, from, to, with_alpha(color, 1.0))?;
            }
        }
        Ok(())
    }

    fn disc(&mut self, center: Point, radius: f64, color: Rgb) -> Result<(), PlotError> {
        stop::check()?;
        let center = self.enlarge(center);
        self.capsule(center, center, radius * self.factor, with_alpha(color, 1.0))
    }

    fn text(&mut self, text: &str, at: Point, ink: Ink) -> Result<(), PlotError> {
        self.texts.push((text.to_string(), at, ink));
        Ok(())
    }

    fn picture(&mut self, picture: &Picture, rect: Rect) -> Result<(), PlotError> {
        stop::check()?;
        let edge = |value: f64, limit: i32| (value * self.factor).round().clamp(0.0, f64::from(limit)) as i32;
        let (left, right) = (edge(rect.left, self.size.0), edge(rect.right, self.size.0));
        let (top, bottom) = (edge(rect.top, self.size.1), edge(rect.bottom, self.size.1));
        let (width, height) = (right - left, bottom - top);
        if width <= 0 || height <= 0 {
            return Ok(());
        }
        let pixels = picture.resample(width as usize, height as usize)?;
        let done = self.backend.blit_bitmap((left, top), (width as u32, height as u32), &pixels);
        done.map_err(failed)
    }
}

fn backend(pixels: &mut [u8], size: (u32, u32)) -> Result<BitMapBackend<'_, RGBPixel>, PlotError> {
    BitMapBackend::with_buffer_and_format(pixels, size).map_err(failed)
}

fn with_alpha([r, g, b]: Rgb, alpha: f64) -> RGBAColor {
    RGBAColor(r, g, b, alpha)
}

fn failed(error: impl std::fmt::Display) -> PlotError {
    PlotError::Backend { reason: error.to_string() }
}

fn disc_chord((x, y): Point, radius: f64, row: f64) -> Option<(f64, f64)> {
    if (row - y).abs() >= radius {
        return None;
    }
    let half = (radius * radius - (row - y) * (row - y)).sqrt();
    Some((x - half, x + half))
}

/// The straight part of a thick line.
struct Band {
    from: Point,
    /// Of length 1.
    direction: (f64, f64),
    length: f64,
    radius: f64,
}

impl Band {
    fn new(from: Point, to: Point, radius: f64) -> Option<Self> {
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let direction = ((to.0 - from.0) / length, (to.1 - from.1) / length);
        (length >= 1e-9).then_some(Self { from, direction, length, radius })
    }

    /// Where a row crosses it.
    fn chord(&self, row: f64) -> Option<(f64, f64)> {
        let (dx, dy) = self.direction;
        let down = row - self.from.1;
        // With u = x - from.0: |u dy - down dx| <= radius across the line, 0 <= u dx + down dy <= length along it.
        let across = limits(dy, down * dx - self.radius, down * dx + self.radius)?;
        let along = limits(dx, -down * dy, self.length - down * dy)?;
        let (from, to) = (across.0.max(along.0), across.1.min(along.1));
        (from < to).then_some((self.from.0 + from, self.from.0 + to))
    }
}

/// The `u` for which `factor * u` lies in `low ..= high`.
fn limits(factor: f64, low: f64, high: f64) -> Option<(f64, f64)> {
    if factor.abs() < 1e-9 {
        return (low <= 0.0 && high >= 0.0).then_some((f64::NEG_INFINITY, f64::INFINITY));
    }
    let (one, other) = (low / factor, high / factor);
    Some((one.min(other), one.max(other)))
}

/// Averages blocks of `N x N` pixels.
fn shrink<const N: usize>(enlarged: &[u8], width: usize) -> Result<Vec<u8>, PlotError> {
    /// Pixels of the result that are looked at together: most are white in all parts.
    const TILE: usize = 32;
    let row_bytes = 3 * N * width;
    let mut out = memory::with_capacity(enlarged.len() / (N * N))?;
    for rows in enlarged.chunks_exact(N * row_bytes).take_while(|_| !stop::asked()) {
        let mut rows = [(); N].map({
            let mut rows = rows.chunks_exact(row_bytes);
            move |()| rows.next().unwrap_or_default().chunks(3 * N * TILE)
        });
        for _ in 0..width.div_ceil(TILE) {
            let tiles = rows.each_mut().map(|row| row.next().unwrap_or_default());
            let white = |tile: &[u8]| tile.iter().fold(0xff, |all, &byte| all & byte) == 0xff;
            let pixels = tiles.first().map_or(0, |tile| tile.len() / (3 * N));
            if tiles.iter().all(|tile| white(tile)) {
                out.resize(out.len() + 3 * pixels, 0xff);
            } else {
                average::<N>(tiles, pixels, &mut out);
            }
        }
    }
    Ok(out)
}

fn average<const N: usize>(rows: [&[u8]; N], pixels: usize, out: &mut Vec<u8>) {
    let area = (N * N) as u16;
    for pixel in 0..pixels {
        let mut sums = [area / 2; 3];
        for row in rows {
            let block = row.get(3 * N * pixel..).unwrap_or_default();
            for part in block.chunks_exact(3).take(N) {
                for (sum, &value) in sums.iter_mut().zip(part) {
                    *sum += u16::from(value);
                }
            }
        }
        out.extend(sums.map(|sum| (sum / area) as u8));
    }
}

fn write(rgb: &mut [u8], size: (u32, u32), texts: &[(String, Point, Ink)]) -> Result<(), PlotError> {
    let mut backend = backend(rgb, size)?;
    for (text, at, ink) in texts {
        font::draw(text, *at, *ink, |x, y, coverage| {
            let color = plotters::style::Color::to_backend_color(&with_alpha(ink.color, f64::from(coverage)));
            backend.draw_pixel((x, y), color).map_err(failed)
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::canvas::shape::Anchor;

    const BLACK: Rgb = [0; 3];

    fn ink_of(rgb: &[u8]) -> f64 {
        rgb.chunks(3).map(|pixel| f64::from(255 - pixel[0]) / 255.0).sum()
    }

    fn drawn(draw: impl FnOnce(&mut dyn Canvas) -> Result<(), PlotError>) -> Vec<u8> {
        Raster::render(40, 40, draw).unwrap()
    }

    #[test]
    fn shapes_cover_their_area() {
        let disc = drawn(|canvas| canvas.disc((20.3, 19.8), 8.0, BLACK));
        assert!((ink_of(&disc) - 201.06).abs() < 2.0, "{}", ink_of(&disc));
        let line = drawn(|canvas| canvas.path(&[(5.0, 8.0), (35.0, 30.0)], 2.0, BLACK));
        let expected = 30f64.hypot(22.0) * 2.0 + std::f64::consts::PI;
        assert!((ink_of(&line) - expected).abs() < 1.5, "{}", ink_of(&line));
        let triangle = drawn(|canvas| canvas.polygon(&[(5.0, 5.0), (35.0, 5.0), (20.0, 35.0)], BLACK));
        assert!((ink_of(&triangle) - 450.0).abs() < 4.0);
        let half = drawn(|canvas| {
            let (left, top, right, bottom) = (10.0, 10.0, 30.0, 20.0);
            let rect = Rect { left, top, right, bottom };
            canvas.rect(rect, BLACK, 0.5)
        });
        assert!((ink_of(&half) - 100.0).abs() < 1.0);
    }

    #[test]
    fn shapes_outside_leave_the_picture_white() {
        let far = drawn(|canvas| {
            canvas.disc((-50.0, 20.0), 8.0, BLACK)?;
            canvas.path(&[(90.0, -1e9), (90.0, 1e9)], 3.0, BLACK)?;
            canvas.polygon(&[(50.0, 0.0), (60.0, 0.0), (55.0, 9.0)], BLACK)?;
            canvas.polygon(&[], BLACK)?;
            canvas.path(&[], 1.0, BLACK)
        });
        assert_eq!(ink_of(&far), 0.0);
    }

    #[test]
    fn upright_text_is_turned_to_the_left() {
        let text = |upright| {
            drawn(|canvas| {
                let ink = Ink { em: 16.0, color: BLACK, anchor: Anchor::Middle, upright };
                canvas.text("L", (20.0, 20.0), ink)
            })
        };
        let (flat, upright) = (text(false), text(true));
        assert!((ink_of(&flat) - ink_of(&upright)).abs() < 3.0);
        let darkness = |rgb: &[u8], (x, y): (usize, usize)| 255 - rgb[(y * 40 + x) * 3];
        // The foot of an L lies on the baseline; turned, the baseline is a column.
        let foot = |rgb: &[u8]| (16..24).filter(|&x| darkness(rgb, (x, 19)) > 100).count();
        let column = |rgb: &[u8]| (16..24).filter(|&y| darkness(rgb, (19, y)) > 100).count();
        assert!(foot(&flat) >= 6 && column(&upright) >= 6);
        assert!(foot(&upright) < 3 && column(&flat) < 3);
    }
}

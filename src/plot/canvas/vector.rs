//! SVG.

use std::fmt::Write;

use plotters::backend::SVGBackend;
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, FontTransform, RGBColor, ShapeStyle};

use crate::base::base64;
use crate::plot::canvas::shape::{Anchor, Canvas, Ink, Point, Rect};
use crate::plot::color::Rgb;
use crate::plot::picture::Picture;
use crate::plot::{PlotError, png, stop};

use super::font;

/// Units of the view box to a pixel.
const FINE: f64 = 10.0;
/// plotters writes a font size of `size / 1.24` …
const SIZE_TO_EM: f64 = 1.24;
/// … and puts the baseline of text held at its top this many ems lower.
const TOP_TO_BASELINE: f64 = 0.76;

/// A canvas that becomes an SVG document.
pub(in crate::plot) struct Vector<'a> {
    backend: SVGBackend<'a>,
    pictures: String,
}

impl Vector<'_> {
    /// Draws a document of `width x height` units with `title` for screen readers.
    ///
    /// # Errors
    /// What `draw` returns, and failures of the backend.
    pub(crate) fn render(
        (width, height): (u32, u32),
        title: &str,
        draw: impl FnOnce(&mut dyn Canvas) -> Result<(), PlotError>,
    ) -> Result<String, PlotError> {
        let fine = |side: u32| u64::from(side) * FINE as u64;
        let mut body = String::new();
        let pictures = {
            let mut vector = Vector {
                backend: SVGBackend::with_string(&mut body, (width, height)),
                pictures: String::new(),
            };
            draw(&mut vector)?;
            vector.backend.present().map_err(failed)?;
            vector.pictures
        };
        // The opening tag is replaced: a finer view box, round joins for every line, and the pictures below all else.
        let shapes = body.split_once('>').map_or("", |(_, rest)| rest);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {w} {h}\" \
             role=\"img\" stroke-linejoin=\"round\" stroke-linecap=\"round\">\n",
            w = fine(width),
            h = fine(height),
        );
        if !title.is_empty() {
            out.push_str("<title>");
            escape(&mut out, title);
            out.push_str("</title>\n");
        }
        out.push_str("<rect width=\"100%\" height=\"100%\" fill=\"#FFFFFF\"/>\n");
        out.push_str(&pictures);
        // plotters puts the text of an element on a line of its own, which some viewers show as spaces.
        out.push_str(&shapes.trim_start().replace("\n</text>", "</text>"));
        Ok(out)
    }
}

impl Canvas for Vector<'_> {
    fn rect(&mut self, rect: Rect, color: Rgb, alpha: f64) -> Result<(), PlotError> {
        stop::check()?;
        let corners =
            (fine((rect.left, rect.top)), fine((rect.right.max(rect.left), rect.bottom.max(rect.top))));
        let color = solid(color).mix(alpha);
        self.backend.draw_rect(corners.0, corners.1, &color, true).map_err(failed)
    }

    fn path(&mut self, points: &[Point], width: f64, color: Rgb) -> Result<(), PlotError> {
        stop::check()?;
        // A line without length is not drawn by every viewer.
        if let [only] = points {
            return self.disc(*only, width / 2.0, color);
        }
        let style = ShapeStyle {
            color: solid(color).to_rgba(),
            filled: false,
            stroke_width: (width * FINE).round() as u32,
        };
        self.backend.draw_path(points.iter().map(|&point| fine(point)), &style).map_err(failed)
    }

    fn polygon(&mut self, corners: &[Point], color: Rgb) -> Result<(), PlotError> {
        stop::check()?;
        self.backend.fill_polygon(corners.iter().map(|&corner| fine(corner)), &solid(color)).map_err(failed)
    }

    fn disc(&mut self, center: Point, radius: f64, color: Rgb) -> Result<(), PlotError> {
        stop::check()?;
        let radius = (radius * FINE).round().max(1.0) as u32;
        self.backend.draw_circle(fine(center), radius, &solid(color), true).map_err(failed)
    }

    fn text(&mut self, text: &str, at: Point, ink: Ink) -> Result<(), PlotError> {
        let family = FontFamily::Name(font::FAMILY);
        let font = FontDesc::new(family, ink.em * FINE * SIZE_TO_EM, FontStyle::Normal);
        let down = TOP_TO_BASELINE * ink.em;
        let (at, transform) = if ink.upright {
            ((at.0 - down, at.1), FontTransform::Rotate270)
        } else {
            ((at.0, at.1 - down), FontTransform::None)
        };
        let h_pos = match ink.anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        let style = font.transform(transform).color(&solid(ink.color)).pos(Pos::new(h_pos, VPos::Top));
        self.backend.draw_text(text, &style, fine(at)).map_err(failed)
    }

    fn picture(&mut self, picture: &Picture, rect: Rect) -> Result<(), PlotError> {
        stop::check()?;
        if rect.width() <= 0.0 || rect.height() <= 0.0 || picture.rgb.is_empty() {
            return Ok(());
        }
        let size = |cells: usize, pixels: f64| {
            // Whole multiples stay crisp in viewers that smooth pictures; more pixels than fit are of no use.
            let most = (2.0 * pixels).ceil().max(1.0) as usize;
            if cells > most { most } else { cells * (most / cells.max(1)).max(1) }
        };
        let width = size(picture.width, rect.width());
        let height = size(picture.height, rect.height());
        let pixels = picture.resample(width, height)?;
        let bytes = png::encode(width as u32, height as u32, &pixels)?;
        let ((left, top), (right, bottom)) = (fine((rect.left, rect.top)), fine((rect.right, rect.bottom)));
        let _ = writeln!(
            self.pictures,
            "<image x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" \
             image-rendering=\"optimizeSpeed\" style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{}\"/>",
            right - left,
            bottom - top,
            base64::encode(&bytes)
        );
        Ok(())
    }
}

fn fine((x, y): Point) -> (i32, i32) {
    ((x * FINE).round() as i32, (y * FINE).round() as i32)
}

fn solid([r, g, b]: Rgb) -> RGBColor {
    RGBColor(r, g, b)
}

fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            other => out.push(other),
        }
    }
}

fn failed(error: impl std::fmt::Display) -> PlotError {
    PlotError::Backend { reason: error.to_string() }
}

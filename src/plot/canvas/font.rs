//! The embedded font: widths for layout, and glyphs for pixels.

use std::sync::OnceLock;

use ab_glyph::{Font, FontRef, PxScale, ScaleFont};

use crate::plot::PlotError;
use crate::plot::canvas::shape::{Anchor, Ink, Point};

/// DejaVu Sans, cut down (see `assets/fonts/README.md`).
static BYTES: &[u8] = include_bytes!("../../../assets/fonts/DejaVuSans-subset.ttf");

/// The first three are alike in width, for a browser that lacks the first.
pub(super) const FAMILY: &str = "DejaVu Sans, Bitstream Vera Sans, Verdana, sans-serif";

fn font() -> Result<&'static FontRef<'static>, PlotError> {
    static FONT: OnceLock<Option<FontRef<'static>>> = OnceLock::new();
    FONT.get_or_init(|| FontRef::try_from_slice(BYTES).ok())
        .as_ref()
        .ok_or_else(|| PlotError::Backend { reason: "the embedded font cannot be read".to_string() })
}

/// ab_glyph measures a font by the distance from its lowest to its highest line.
fn scale(font: &FontRef<'_>, em: f64) -> PxScale {
    let units = font.units_per_em().unwrap_or(2048.0);
    PxScale::from(em as f32 * font.height_unscaled() / units)
}

/// Whether there is a glyph of a character.
pub(in crate::plot) fn has(c: char) -> bool {
    font().is_ok_and(|font| font.glyph_id(c).0 != 0)
}

/// The width of `text` in pixels.
pub(in crate::plot) fn width_of(text: &str, em: f64) -> f64 {
    let Ok(font) = font() else {
        return 0.6 * em * text.chars().count() as f64;
    };
    let scaled = font.as_scaled(scale(font, em));
    let mut previous = None;
    let mut width = 0.0;
    for c in text.chars() {
        let id = scaled.glyph_id(c);
        width += scaled.h_advance(id) + previous.map_or(0.0, |before| scaled.kern(before, id));
        previous = Some(id);
    }
    f64::from(width)
}

/// `text`, or as much of its beginning as fits with an ellipsis into `width` pixels.
pub(in crate::plot) fn ellipsis(text: &str, em: f64, width: f64) -> String {
    if width_of(text, em) <= width {
        return text.to_string();
    }
    let mut kept: Vec<char> = text.chars().collect();
    // Halving first, so that a long text is measured a few times and not a hundred.
    while kept.len() > 8 && width_of(&String::from_iter(&kept), em) > 2.0 * width {
        kept.truncate(kept.len() / 2 + 1);
    }
    while kept.pop().is_some() {
        let cut = format!("{}…", String::from_iter(&kept).trim_end());
        if width_of(&cut, em) <= width {
            return cut;
        }
    }
    String::new()
}

/// `text` broken at spaces into at most `most` lines of `width` pixels, the last one cut if it must be.
pub(in crate::plot) fn wrap(text: &str, em: f64, width: f64, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        if lines.len() + 1 >= most {
            lines.push(ellipsis(rest, em, width));
            break;
        }
        let breaks = rest.char_indices().filter(|(_, c)| *c == ' ');
        let fitting = breaks
            .map(|(at, _)| at)
            .chain([rest.len()])
            .take_while(|&at| width_of(rest.get(..at).unwrap_or_default(), em) <= width)
            .last();
        let Some((line, after)) = fitting.and_then(|at| rest.split_at_checked(at)) else {
            lines.push(ellipsis(rest, em, width));
            break;
        };
        lines.push(line.to_string());
        rest = after.trim_start();
    }
    lines
}

/// Calls `pixel(x, y, coverage)` for each pixel that `text` touches.
pub(super) fn draw(
    text: &str,
    at: Point,
    ink: Ink,
    mut pixel: impl FnMut(i32, i32, f32) -> Result<(), PlotError>,
) -> Result<(), PlotError> {
    let font = font()?;
    let scale = scale(font, ink.em);
    let scaled = font.as_scaled(scale);
    let before = match ink.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => width_of(text, ink.em) / 2.0,
        Anchor::End => width_of(text, ink.em),
    };
    // Along the baseline glyphs sit on fractions of pixels, across it on whole ones, which keeps them sharp.
    let (along, across) = if ink.upright { (-at.1, at.0.round()) } else { (at.0, at.1.round()) };
    let mut pen = (along - before) as f32;
    let mut previous = None;
    for c in text.chars() {
        let id = scaled.glyph_id(c);
        pen += previous.map_or(0.0, |previous| scaled.kern(previous, id));
        previous = Some(id);
        let glyph = id.with_scale_and_position(scale, ab_glyph::point(pen, 0.0));
        pen += scaled.h_advance(id);
        let Some(outline) = font.outline_glyph(glyph) else {
            continue;
        };
        let bounds = outline.px_bounds();
        let mut result = Ok(());
        outline.draw(|u, v, coverage| {
            let u = u as i32 + bounds.min.x as i32;
            let v = v as i32 + bounds.min.y as i32 + across as i32;
            let (x, y) = if ink.upright { (v, -u - 1) } else { (u, v) };
            if result.is_ok() && coverage > 0.0 {
                result = pixel(x, y, coverage.min(1.0));
            }
        });
        result?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_the_fonts() {
        // DejaVu Sans: a digit is 1303 of 2048 units wide.
        assert!((width_of("0", 2048.0) - 1303.0).abs() < 0.5);
        assert!((width_of("00", 2048.0) - 2606.0).abs() < 0.5);
        assert_eq!(width_of("", 12.0), 0.0);
    }

    #[test]
    fn every_sign_in_use_has_a_glyph() {
        let font = font().unwrap();
        for c in "−…×·≤⁻⁰¹²³⁴⁵⁶⁷⁸⁹µαλθΣ∇√∞éŁЖ".chars() {
            assert_ne!(font.glyph_id(c).0, 0, "{c}");
        }
    }

    #[test]
    fn long_text_is_cut_to_the_width() {
        let long = "gradient ".repeat(400);
        let cut = ellipsis(&long, 12.0, 100.0);
        assert!(cut.ends_with('…') && width_of(&cut, 12.0) <= 100.0, "{cut}");
        assert!(width_of(&cut, 12.0) > 80.0, "{cut}");
        assert_eq!(ellipsis("loss", 12.0, 100.0), "loss");
        assert_eq!(ellipsis("loss", 12.0, 1.0), "");
    }

    #[test]
    fn wrapping_keeps_words_and_counts_lines() {
        let lines = wrap("one two three four five six", 10.0, 60.0, 9);
        assert_eq!(lines.join(" "), "one two three four five six");
        assert!(lines.len() > 1 && lines.iter().all(|line| width_of(line, 10.0) <= 60.0));
        let cut = wrap("one two three four five six", 10.0, 60.0, 2);
        assert!(cut.len() == 2 && cut[1].ends_with('…'), "{cut:?}");
        assert!(wrap("", 10.0, 60.0, 2).is_empty());
        assert_eq!(wrap("unbreakable", 10.0, 30.0, 3).len(), 1);
    }
}

//! Colours and lines of the drawing.

use crate::plot::canvas::shape::{Anchor, Ink, Rect};
use crate::plot::color::Rgb;

/// Text and the lines of the axes.
pub(super) const DARK: Rgb = [0x2b, 0x2b, 0x2b];

/// Notes.
pub(super) const DIM: Rgb = [0x6e, 0x6e, 0x6e];

pub(super) const GRID: Rgb = [0xe3, 0xe5, 0xe8];

pub(super) const WHITE: Rgb = [0xff; 3];

pub(super) fn ink(em: f64, color: Rgb, anchor: Anchor) -> Ink {
    Ink { em, color, anchor, upright: false }
}

/// A sharp vertical line of `width` pixels.
pub(super) fn vertical(x: f64, top: f64, bottom: f64, width: f64) -> Rect {
    let left = (x - width / 2.0).round();
    Rect { left, top, right: left + width, bottom }
}

/// A sharp horizontal line of `width` pixels.
pub(super) fn horizontal(y: f64, left: f64, right: f64, width: f64) -> Rect {
    let top = (y - width / 2.0).round();
    Rect { left, top, right, bottom: top + width }
}

//! What is drawn, and on what.

use crate::plot::PlotError;
use crate::plot::color::Rgb;
use crate::plot::picture::Picture;

/// A point.
pub(in crate::plot) type Point = (f64, f64);

/// A rectangle between two corners, the second beyond the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::plot) struct Rect {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Rect {
    pub(in crate::plot) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(in crate::plot) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    pub(in crate::plot) fn contains(&self, (x, y): Point) -> bool {
        x >= self.left && x <= self.right && y >= self.top && y <= self.bottom
    }
}

/// Where text is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::plot) enum Anchor {
    Start,
    Middle,
    End,
}

/// How text looks.
#[derive(Debug, Clone, Copy)]
pub(in crate::plot) struct Ink {
    /// Height of the em square in pixels.
    pub em: f64,
    pub color: Rgb,
    pub anchor: Anchor,
    /// Reads from bottom to top.
    pub upright: bool,
}

/// A surface to draw on.
pub(in crate::plot) trait Canvas {
    /// Fills a rectangle. `alpha` is 0 (nothing) to 1 (opaque).
    fn rect(&mut self, rect: Rect, color: Rgb, alpha: f64) -> Result<(), PlotError>;

    /// Draws joined lines of `width` pixels with round joins.
    fn path(&mut self, points: &[Point], width: f64, color: Rgb) -> Result<(), PlotError>;

    /// Fills a convex polygon.
    fn polygon(&mut self, corners: &[Point], color: Rgb) -> Result<(), PlotError>;

    /// Fills a circle.
    fn disc(&mut self, center: Point, radius: f64, color: Rgb) -> Result<(), PlotError>;

    /// Writes on a baseline through `at`. Text lies above everything else, whenever it is written.
    fn text(&mut self, text: &str, at: Point, ink: Ink) -> Result<(), PlotError>;

    /// Draws a picture with crisp pixels. Pictures lie below everything else, whenever they are drawn.
    fn picture(&mut self, picture: &Picture, rect: Rect) -> Result<(), PlotError>;
}

//! Figures as pixels, PNG and SVG.

use super::canvas::{Raster, Vector};
use super::label::clean;
use super::scene::Scene;
use super::{Figure, PlotError, draw, png};

/// The longest side of a drawing, in pixels.
pub(crate) const MAX_SIDE: u32 = 16_384;
/// The largest drawing, in pixels.
pub(crate) const MAX_PIXELS: u64 = 48 << 20;

impl Figure {
    /// The figure on `width x height` pixels, 3 bytes each (red, green, blue), row by row from the top.
    ///
    /// # Errors
    /// Those of [`Figure::check`].
    pub fn to_rgb(&self, width: u32, height: u32) -> Result<Vec<u8>, PlotError> {
        check_size(width, height)?;
        let scene = Scene::new(self)?;
        Raster::render(width, height, |canvas| draw::draw(canvas, self, &scene, (width, height)))
    }

    /// The figure as a PNG file of its own size, RGB with 8 bits a channel.
    ///
    /// # Errors
    /// Those of [`Figure::check`].
    pub fn to_png(&self) -> Result<Vec<u8>, PlotError> {
        let rgb = self.to_rgb(self.width, self.height)?;
        png::encode(self.width, self.height, &rgb)
    }

    /// The figure as an SVG document of its own size; text stays text.
    ///
    /// # Errors
    /// Those of [`Figure::check`].
    pub fn to_svg(&self) -> Result<String, PlotError> {
        check_size(self.width, self.height)?;
        let scene = Scene::new(self)?;
        let size = (self.width, self.height);
        Vector::render(size, &clean(&self.title, 400), |canvas| draw::draw(canvas, self, &scene, size))
    }
}

pub(super) fn check_size(width: u32, height: u32) -> Result<(), PlotError> {
    let sides = 1..=MAX_SIDE;
    let pixels = u64::from(width) * u64::from(height);
    if sides.contains(&width) && sides.contains(&height) && pixels <= MAX_PIXELS {
        return Ok(());
    }
    Err(PlotError::Size { width, height, max_side: MAX_SIDE, max_pixels: MAX_PIXELS })
}

//! Figures as pixels, PNG and SVG.

use super::canvas::{Raster, Vector};
use super::label::clean;
use super::scene::Scene;
use super::{Figure, PlotError, draw, png};
use crate::plot::size::check_size;

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

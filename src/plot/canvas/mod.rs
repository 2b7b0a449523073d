//! What figures are drawn on: pixels or SVG, both through plotters' drawing backends.
//!
//! Coordinates are pixels of the finished figure as floats, x to the right, y down. plotters takes whole numbers, so both
//! canvases hand it finer ones: pixels are drawn enlarged and averaged, SVG has tenths of a unit.

mod font;
mod raster;
pub(crate) mod shape;
mod vector;

pub(super) use font::{ellipsis, has, width_of, wrap};
pub(super) use raster::Raster;
pub(super) use vector::Vector;

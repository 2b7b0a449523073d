//! Figures as descriptions, drawn to PNG, SVG or text.
//!
//! A [`Figure`] is plain data: it crosses a process boundary as JSON and is kept with a cell's outputs. Drawing it is a pure
//! function of the figure and a size. The way from one to the other:
//!
//! `figure` (what was asked) -> `scene` (bounds, bins, bar positions, what had to be left out) -> `draw` (pixels and SVG,
//! through a canvas) or `text` (terminal cells).
//!
//! Nothing is set up before the first drawing; the font is parsed once, then.

mod axis;
pub(crate) mod bar;
mod bins;
mod canvas;
mod categories;
mod color;
mod decimate;
mod draw;
mod error;
mod figure;
mod label;
mod lacking;
pub(crate) mod left_out;
mod numbers;
mod picture;
mod plotters;
mod png;
mod rows;
mod save;
mod scene;
pub(crate) mod size;
pub mod stop;
mod text;
mod ticks;
mod told;

pub use crate::plot::left_out::LeftOut;
pub use axis::Scale;
pub use bins::Bins;
pub use color::{ColorMap, Rgb};
pub use error::PlotError;
pub use figure::{Figure, Series};
pub use png::encode as png;
pub use save::save;
pub use text::Cell;

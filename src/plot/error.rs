//! What can be wrong with a figure, with the values that are wrong.

use std::fmt;
use std::path::PathBuf;

use crate::base::{Cause, DeviceCause, Error};

/// Why a figure cannot be drawn or saved.
#[derive(Debug, Clone, PartialEq)]
pub enum PlotError {
    /// Two parts of a series that go together differ in length, such as `x` and `y`.
    Lengths {
        series: &'static str,
        left: &'static str,
        left_len: usize,
        right: &'static str,
        right_len: usize,
    },
    /// `height * width * channels` is not the number of values given.
    PictureSize { series: &'static str, height: usize, width: usize, channels: usize, given: usize },
    /// An image has neither 1 nor 3 channels.
    Channels { given: usize },
    /// The number of bins is not in `1..=limit`.
    BinCount { given: i64, limit: usize },
    /// Fewer than two bin edges.
    BinEdgeCount { given: usize },
    /// Bin edges decrease, or one of them is NaN or infinite; `index` is that of `right`.
    BinEdges { index: usize, left: f64, right: f64 },
    /// The range of colours is reversed, NaN or infinite.
    Range { low: f64, high: f64 },
    /// A picture was combined with another series.
    Mixed { first: &'static str, second: &'static str },
    /// The size asked for is zero or too large.
    Size { width: u32, height: u32, max_side: u32, max_pixels: u64 },
    /// The extension names no format that figures are saved in.
    Format { path: PathBuf },
    /// The folder to save into does not exist.
    Folder { path: PathBuf, folder: PathBuf },
    /// The operating system refused to write the file.
    Write { path: PathBuf, reason: String },
    /// The drawing was to stop.
    Stopped,
    /// The drawing library failed.
    Backend { reason: String },
    /// The host refused memory.
    Memory { bytes: usize },
}

impl From<Error> for PlotError {
    fn from(error: Error) -> PlotError {
        match error.cause() {
            Cause::Device(DeviceCause::HostMemory { bytes }) => PlotError::Memory { bytes: *bytes },
            Cause::Interrupted => PlotError::Stopped,
            _ => PlotError::Backend { reason: error.message() },
        }
    }
}

impl From<PlotError> for Error {
    fn from(error: PlotError) -> Error {
        match error {
            PlotError::Memory { bytes } => DeviceCause::HostMemory { bytes }.into(),
            PlotError::Stopped => Cause::Interrupted.into(),
            other => Error::value(other.to_string()),
        }
    }
}

impl fmt::Display for PlotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lengths { series, left, left_len, right, right_len } => write!(
                f,
                "{series}: {left} has {left_len} values and {right} has {right_len}; give both the same length"
            ),
            Self::PictureSize { series, height, width, channels, given } => write!(
                f,
                "{series}: {height} x {width} x {channels} needs {} values, {given} were given",
                height.saturating_mul(*width).saturating_mul(*channels)
            ),
            Self::Channels { given } => write!(
                f,
                "image: {given} channels; give 1 (grey or a colour map) or 3 (red, green, blue, the channel last)"
            ),
            Self::BinCount { given, limit } => {
                write!(f, "hist: {given} bins; give a number from 1 to {limit}")
            }
            Self::BinEdgeCount { given } => {
                write!(f, "hist: {given} bin edges; give at least two")
            }
            Self::BinEdges { index, left, right } => write!(
                f,
                "hist: bin edges must be finite and increase, but edge {} is {left} and edge {index} is {right}",
                index.saturating_sub(1)
            ),
            Self::Range { low, high } => {
                write!(f, "the colour range {low} .. {high} must be finite, with the lower end first")
            }
            Self::Mixed { first, second } => write!(
                f,
                "{first} and {second} cannot share one figure; draw one of them in a figure of its own"
            ),
            Self::Size { width, height, max_side, max_pixels } => write!(
                f,
                "a figure of {width} x {height} pixels cannot be drawn; each side must be 1 to {max_side} and their product at most {max_pixels}"
            ),
            Self::Format { path } => {
                write!(f, "cannot tell the format of `{}`; figures are saved as .png or .svg", path.display())
            }
            Self::Folder { path, folder } => write!(
                f,
                "cannot save `{}`: the folder `{}` does not exist; create it first",
                path.display(),
                folder.display()
            ),
            Self::Write { path, reason } => {
                write!(f, "cannot save `{}`: {reason}", path.display())
            }
            Self::Stopped => f.write_str("the drawing was stopped"),
            Self::Backend { reason } => write!(f, "the drawing library failed: {reason}"),
            Self::Memory { bytes } => {
                write!(
                    f,
                    "there is no memory for the drawing: {bytes} bytes were asked for; draw fewer values"
                )
            }
        }
    }
}

impl std::error::Error for PlotError {}

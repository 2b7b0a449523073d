//! How large a picture may be.

use crate::plot::PlotError;

/// The longest side of a drawing, in pixels.
pub(crate) const MAX_SIDE: u32 = 16_384;

/// The largest drawing, in pixels.
pub(crate) const MAX_PIXELS: u64 = 48 << 20;

pub(super) fn check_size(width: u32, height: u32) -> Result<(), PlotError> {
    let sides = 1..=MAX_SIDE;
    let pixels = u64::from(width) * u64::from(height);
    if sides.contains(&width) && sides.contains(&height) && pixels <= MAX_PIXELS {
        return Ok(());
    }
    Err(PlotError::Size { width, height, max_side: MAX_SIDE, max_pixels: MAX_PIXELS })
}

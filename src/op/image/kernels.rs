//! The kernels that resize images on a GPU, by the number of dimensions.

use crate::op::core::whole::{Keeps, Whole};

pub(super) static NEAREST: [Whole; 3] = [
    scaled("upsample_nearest1d", "upsample_nearest1d_backward", "UpsampleNearest1DBackward0"),
    scaled("upsample_nearest2d", "upsample_nearest2d_backward", "UpsampleNearest2DBackward0"),
    scaled("upsample_nearest3d", "upsample_nearest3d_backward", "UpsampleNearest3DBackward0"),
];
pub(super) static EXACT: [Whole; 3] = [
    scaled(
        "_upsample_nearest_exact1d",
        "_upsample_nearest_exact1d_backward",
        "UpsampleNearestExact1DBackward0",
    ),
    scaled(
        "_upsample_nearest_exact2d",
        "_upsample_nearest_exact2d_backward",
        "UpsampleNearestExact2DBackward0",
    ),
    scaled(
        "_upsample_nearest_exact3d",
        "_upsample_nearest_exact3d_backward",
        "UpsampleNearestExact3DBackward0",
    ),
];
pub(super) static LINEAR: [Whole; 3] = [
    scaled("upsample_linear1d", "upsample_linear1d_backward", "UpsampleLinear1DBackward0"),
    scaled("upsample_bilinear2d", "upsample_bilinear2d_backward", "UpsampleBilinear2DBackward0"),
    scaled("upsample_trilinear3d", "upsample_trilinear3d_backward", "UpsampleTrilinear3DBackward0"),
];
pub(super) static CUBIC: Whole =
    scaled("upsample_bicubic2d", "upsample_bicubic2d_backward", "UpsampleBicubic2DBackward0");

/// Resizing keeps nothing for its gradient but sizes.
const fn scaled(name: &'static str, backward: &'static str, rule: &'static str) -> Whole {
    Whole::new(name, backward, rule).keeps(Keeps::Nothing)
}

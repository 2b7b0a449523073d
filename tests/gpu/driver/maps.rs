//! Tensor maps, encoded as `wgmma.h` takes them.

use std::ffi::{c_int, c_uint};

use crate::{INVALID_VALUE, number, put};

const RANK: usize = 5;
const FLOAT16: c_int = 6;
const BFLOAT16: c_int = 9;
const SWIZZLE_128B: c_int = 3;

/// What CUDA's documentation asks of maps of halves in panels of 128 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuTensorMapEncodeTiled(
    map: *mut [u64; 16],
    dtype: c_int,
    rank: c_uint,
    address: u64,
    sizes: *const [u64; RANK],
    strides: *const [u64; RANK - 1],
    panel: *const [c_uint; RANK],
    each: *const [c_uint; RANK],
    interleave: c_int,
    swizzle: c_int,
    _promotion: c_int,
    fill: c_int,
) -> c_int {
    let kind = [FLOAT16, BFLOAT16].contains(&dtype) && interleave == 0 && swizzle == SWIZZLE_128B && fill == 0;
    if !kind || rank as usize != RANK || number("STANDIN_REFUSES_MAPS").is_some() {
        return INVALID_VALUE;
    }
    let (sizes, strides, panel, each) = unsafe { (*sizes, *strides, *panel, *each) };
    let aligned = (map as usize).is_multiple_of(64) && address.is_multiple_of(16);
    let whole = sizes.iter().all(|&size| (1..=1 << 32).contains(&size));
    let steps = strides.iter().all(|&step| step > 0 && step.is_multiple_of(16) && step < 1 << 40);
    let panels = panel.iter().all(|&n| (1..=256).contains(&n)) && panel[0] * 2 == 128 && each == [1; RANK];
    if !(aligned && whole && steps && panels) {
        return INVALID_VALUE;
    }
    let words = [address].into_iter().chain(sizes).chain(strides).chain([u64::from(panel[1])]);
    let mut encoded = [0; 16];
    encoded.iter_mut().zip(words).for_each(|(to, word)| *to = word);
    put(map, encoded)
}

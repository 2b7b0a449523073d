//! Tensor maps as the driver encodes them.

use std::ffi::{c_int, c_uint};

use cudarc::driver::sys::{
    CUtensorMapDataType as T, CUtensorMapFloatOOBfill as F, CUtensorMapInterleave as I,
    CUtensorMapL2promotion as L, CUtensorMapSwizzle as S,
};

use crate::base::DType;
use crate::device::cuda::call::SUCCESS;
use crate::device::cuda::kernels::{EncodedMap, TensorMap};
use crate::device::cuda::table::tensor_maps;

/// Where the driver puts a map: it must be aligned so.
#[repr(C, align(64))]
struct AlignedMap(EncodedMap);

/// A map's words; `None` where the driver takes no such map. What a panel has beyond the tensor's rows is 0.
pub(super) fn encoded(map: &TensorMap) -> Option<EncodedMap> {
    let dtype = match map.dtype {
        DType::Float16 => T::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        DType::BFloat16 => T::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        _ => return None,
    };
    let panel: [c_uint; 5] = [TensorMap::PANEL, map.rows, 1, 1, 1];
    let each: [c_uint; 5] = [1; 5];
    let mut place = AlignedMap([0; 16]);
    // SAFETY: the places live through the call, and have what the dimensions' number says.
    let code = unsafe {
        (tensor_maps()?.cuTensorMapEncodeTiled)(
            place.0.as_mut_ptr().cast(),
            dtype as c_int,
            map.sizes.len() as c_uint,
            map.address,
            map.sizes.as_ptr(),
            map.strides.as_ptr(),
            panel.as_ptr(),
            each.as_ptr(),
            I::CU_TENSOR_MAP_INTERLEAVE_NONE as c_int,
            S::CU_TENSOR_MAP_SWIZZLE_128B as c_int,
            L::CU_TENSOR_MAP_L2_PROMOTION_L2_128B as c_int,
            F::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE as c_int,
        )
    };
    (code == SUCCESS).then_some(place.0)
}

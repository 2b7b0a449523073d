//! cuBLASLt: products whose bias is added where they are written, by descriptors and an algorithm that was asked for. What
//! a call says is checked as the library checks it; an algorithm is for the descriptors that it was found for.

use std::ffi::{c_int, c_void};

use crate::blas::{Bias, GEMM_NOT_SUPPORTED, Turned, gemm};
use crate::put;

const NOT_INITIALIZED: c_int = 1;
const INVALID_VALUE: c_int = 7;

/// What a product is, as attributes of `cublasLtMatmulDescAttributes_t` say.
struct Description {
    compute: c_int,
    scale: c_int,
    turned: [c_int; 2],
    epilogue: u32,
    bias: u64,
}

#[derive(Clone, Copy, PartialEq)]
struct Layout {
    data: c_int,
    rows: u64,
    columns: u64,
    leading: i64,
}

#[derive(Default)]
struct Preference {
    workspace: usize,
    alignments: [u32; 4],
}

#[repr(C)]
pub struct Algorithm {
    data: [u64; 8],
}

#[repr(C)]
pub struct Found {
    algorithm: Algorithm,
    workspace: usize,
    state: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

/// Bytes that the algorithm of larger products asks for.
const WORKSPACE: usize = 1 << 16;

#[unsafe(no_mangle)]
pub extern "C" fn cublasLtCreate(handle: *mut *mut u8) -> c_int {
    // In these words libraries say that they found no memory, too.
    if !crate::starts() {
        return NOT_INITIALIZED;
    }
    put(handle, Box::into_raw(Box::new(0)))
}
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtDestroy(handle: *mut u8) -> c_int {
    drop(unsafe { Box::from_raw(handle) });
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtMatmulDescCreate(to: *mut *mut c_void, compute: c_int, scale: c_int) -> c_int {
    let made = Description { compute, scale, turned: [0; 2], epilogue: 1, bias: 0 };
    put(to, Box::into_raw(Box::new(made)).cast())
}
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtMatmulDescDestroy(at: *mut c_void) -> c_int {
    drop(unsafe { Box::from_raw(at.cast::<Description>()) });
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtMatmulDescSetAttribute(
    at: *mut c_void,
    attribute: c_int,
    value: *const c_void,
    bytes: usize,
) -> c_int {
    let description = unsafe { &mut *at.cast::<Description>() };
    match (attribute, bytes) {
        (3, 4) => description.turned[0] = unsafe { *value.cast() },
        (4, 4) => description.turned[1] = unsafe { *value.cast() },
        (7, 4) => description.epilogue = unsafe { *value.cast() },
        (8, 8) => description.bias = unsafe { *value.cast() },
        _ => return INVALID_VALUE,
    }
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtMatrixLayoutCreate(
    to: *mut *mut c_void,
    data: c_int,
    rows: u64,
    columns: u64,
    leading: i64,
) -> c_int {
    if leading < rows.max(1) as i64 {
        return INVALID_VALUE;
    }
    put(to, Box::into_raw(Box::new(Layout { data, rows, columns, leading })).cast())
}
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtMatrixLayoutDestroy(at: *mut c_void) -> c_int {
    drop(unsafe { Box::from_raw(at.cast::<Layout>()) });
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtMatmulPreferenceCreate(to: *mut *mut c_void) -> c_int {
    put(to, Box::into_raw(Box::<Preference>::default()).cast())
}
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtMatmulPreferenceDestroy(at: *mut c_void) -> c_int {
    drop(unsafe { Box::from_raw(at.cast::<Preference>()) });
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtMatmulPreferenceSetAttribute(
    at: *mut c_void,
    attribute: c_int,
    value: *const c_void,
    bytes: usize,
) -> c_int {
    let preference = unsafe { &mut *at.cast::<Preference>() };
    match (attribute, bytes) {
        (1, 8) => preference.workspace = unsafe { *value.cast() },
        (5..=8, 4) => preference.alignments[attribute as usize - 5] = unsafe { *value.cast() },
        _ => return INVALID_VALUE,
    }
    0
}

/// What an algorithm is remembered by: the sizes and the alignments that it was found for.
fn named(layouts: [&Layout; 3], alignments: [u32; 4]) -> [u64; 8] {
    let [a, b, d] = layouts;
    let [first, second, third, fourth] = alignments.map(u64::from);
    [a.rows, a.columns, b.columns, d.rows, first, second, third, fourth]
}

#[unsafe(no_mangle)]
#[rustfmt::skip]
pub extern "C" fn cublasLtMatmulAlgoGetHeuristic(
    _: *const u8, description: *const c_void, a: *const c_void, b: *const c_void, c: *const c_void, d: *const c_void,
    preference: *const c_void, most: c_int, found: *mut Found, count: *mut c_int,
) -> c_int {
    let description = unsafe { &*description.cast::<Description>() };
    let [a, b, c, d] = [a, b, c, d].map(|at| unsafe { &*at.cast::<Layout>() });
    let preference = unsafe { &*preference.cast::<Preference>() };
    if description.bias == 0 || most < 1 || c != d || description.scale != if d.data == 1 { 1 } else { 0 } {
        return INVALID_VALUE;
    }
    let workspace = if d.rows * d.columns > 64 { WORKSPACE } else { 0 };
    if workspace > preference.workspace || preference.alignments.contains(&0) {
        put(count, 0);
        return GEMM_NOT_SUPPORTED;
    }
    let algorithm = Algorithm { data: named([a, b, d], preference.alignments) };
    put(found, Found { algorithm, workspace, state: 0, waves: 1.0, reserved: [0; 4] });
    put(count, 1)
}

#[unsafe(no_mangle)]
#[rustfmt::skip]
pub extern "C" fn cublasLtMatmul(
    _: *const u8, description: *const c_void, alpha: *const c_void, a: u64, a_layout: *const c_void,
    b: u64, b_layout: *const c_void, beta: *const c_void, c: u64, c_layout: *const c_void, d: u64,
    d_layout: *const c_void, algorithm: *const Algorithm, workspace: u64, bytes: usize, stream: usize,
) -> c_int {
    let description = unsafe { &*description.cast::<Description>() };
    let [a_layout, b_layout, c_layout, d_layout] =
        [a_layout, b_layout, c_layout, d_layout].map(|at| unsafe { *at.cast::<Layout>() });
    let found_for = unsafe { &(*algorithm).data };
    let alignments: [u32; 4] = std::array::from_fn(|i| found_for[4 + i] as u32);
    let is_known = *found_for == named([&a_layout, &b_layout, &d_layout], alignments);
    let lie_so = [a, b, c, d].iter().zip(alignments).all(|(address, bytes)| address % u64::from(bytes) == 0);
    if !is_known || !lie_so || c != d || c_layout != d_layout || description.epilogue != 4 {
        eprintln!("cuBLASLt: an algorithm for other matrices");
        return INVALID_VALUE;
    }
    if bytes > 0 && !crate::memory::inside(workspace, bytes) {
        eprintln!("cuBLASLt: a workspace outside the memory of the devices");
        return INVALID_VALUE;
    }
    crate::launches::log("cublasLtMatmul");
    let inner = if description.turned[0] == 1 { a_layout.rows } else { a_layout.columns };
    gemm(
        stream,
        Turned(description.turned),
        [d_layout.rows, d_layout.columns, inner].map(|size| size as c_int),
        [alpha, beta],
        [(a, a_layout.data, a_layout.leading), (b, b_layout.data, b_layout.leading), (d, d_layout.data, d_layout.leading)],
        description.compute,
        Bias(description.bias),
    )
}

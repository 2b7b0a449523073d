//! The functions of CUDA's libraries as tables, each looked up before anything is called.
//!
//! `cudarc` loads functions by its own list of names and panics where one is absent, and its result types are
//! undefined for codes that they do not list. A table comes from the very library that the probe found, whatever its
//! major version, results stay numbers, and what is missing is an error.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use crate::base::{Error, Kind, Result};

use super::folders::Folders;
use super::library::{load, symbol};

/// An opaque handle of a library.
pub(super) type Handle = *mut c_void;

macro_rules! table {
    ($(#[$doc:meta])* $name:ident { $($function:ident($($argument:ty),* $(,)?);)* }) => {
        $(#[$doc])*
        #[allow(non_snake_case, reason = "the names are the library's")]
        pub(crate) struct $name { $(pub(crate) $function: unsafe extern "C" fn($($argument),*) -> c_int,)* }

        impl $name {
            /// Looks up every function; the name of the first that is absent.
            fn of(library: &libloading::Library) -> std::result::Result<$name, &'static str> {
                Ok($name { $(
                    // SAFETY: the types are those of the library's documentation.
                    $function: *unsafe { symbol(library, stringify!($function)) }.ok_or(stringify!($function))?,
                )* })
            }
        }
    };
}

table! {
    /// The driver. Results are those of `CUresult`.
    Driver {
        cuInit(c_uint);
        cuDriverGetVersion(*mut c_int);
        cuDeviceGet(*mut c_int, c_int);
        cuDeviceGetAttribute(*mut c_int, c_int, c_int);
        cuDeviceCanAccessPeer(*mut c_int, c_int, c_int);
        cuDevicePrimaryCtxRetain(*mut Handle, c_int);
        cuCtxSetCurrent(Handle);
        cuCtxEnablePeerAccess(Handle, c_uint);
        cuMemGetInfo_v2(*mut usize, *mut usize);
        cuMemAlloc_v2(*mut u64, usize);
        cuMemFree_v2(u64);
        cuMemHostRegister_v2(*mut c_void, usize, c_uint);
        cuMemHostUnregister(*mut c_void);
        cuMemcpyHtoDAsync_v2(u64, *const c_void, usize, Handle);
        cuMemcpyDtoHAsync_v2(*mut c_void, u64, usize, Handle);
        cuMemcpyDtoDAsync_v2(u64, u64, usize, Handle);
        cuMemcpyPeerAsync(u64, Handle, u64, Handle, usize, Handle);
        cuStreamCreate(*mut Handle, c_uint);
        cuStreamDestroy_v2(Handle);
        cuStreamQuery(Handle);
        cuStreamSynchronize(Handle);
        cuStreamWaitEvent(Handle, Handle, c_uint);
        cuEventCreate(*mut Handle, c_uint);
        cuEventDestroy_v2(Handle);
        cuEventRecord(Handle, Handle);
        cuEventQuery(Handle);
        cuEventElapsedTime(*mut f32, Handle, Handle);
        cuStreamBeginCapture_v2(Handle, c_int);
        cuStreamEndCapture(Handle, *mut Handle);
        cuGraphInstantiateWithFlags(*mut Handle, Handle, u64);
        cuGraphLaunch(Handle, Handle);
        cuGraphExecDestroy(Handle);
        cuGraphDestroy(Handle);
        cuModuleLoadData(*mut Handle, *const c_void);
        cuModuleGetFunction(*mut Handle, Handle, *const c_char);
        cuFuncSetAttribute(Handle, c_int, c_int);
        cuLaunchKernel(
            Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void,
        );
        cuGetErrorName(c_int, *mut *const c_char);
        cuGetErrorString(c_int, *mut *const c_char);
    }
}

table! {
    /// What drivers have from CUDA 12.0 on. Results are those of `CUresult`.
    TensorMaps {
        cuTensorMapEncodeTiled(
            *mut c_void, c_int, c_uint, u64, *const u64, *const u64, *const c_uint, *const c_uint, c_int, c_int, c_int,
            c_int,
        );
    }
}

table! {
    /// The compiler. Results are those of `nvrtcResult`.
    Nvrtc {
        nvrtcGetNumSupportedArchs(*mut c_int);
        nvrtcGetSupportedArchs(*mut c_int);
        nvrtcCreateProgram(
            *mut Handle, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char,
        );
        nvrtcDestroyProgram(*mut Handle);
        nvrtcCompileProgram(Handle, c_int, *const *const c_char);
        nvrtcGetCUBINSize(Handle, *mut usize);
        nvrtcGetCUBIN(Handle, *mut c_char);
        nvrtcGetPTXSize(Handle, *mut usize);
        nvrtcGetPTX(Handle, *mut c_char);
        nvrtcGetProgramLogSize(Handle, *mut usize);
        nvrtcGetProgramLog(Handle, *mut c_char);
    }
}

table! {
    /// Products of matrices. Results are those of `cublasStatus_t`.
    Cublas {
        cublasCreate_v2(*mut Handle);
        cublasDestroy_v2(Handle);
        cublasSetStream_v2(Handle, Handle);
        cublasGemmStridedBatchedEx(
            Handle, c_int, c_int, c_int, c_int, c_int, *const c_void, u64, c_int, c_int, i64, u64, c_int, c_int, i64,
            *const c_void, u64, c_int, c_int, i64, c_int, c_int, c_int,
        );
    }
}

table! {
    /// Products of matrices and what is done to them where they are written. Results are those of `cublasStatus_t`.
    CublasLt {
        cublasLtCreate(*mut Handle);
        cublasLtDestroy(Handle);
        cublasLtMatmulDescCreate(*mut Handle, c_int, c_int);
        cublasLtMatmulDescDestroy(Handle);
        cublasLtMatmulDescSetAttribute(Handle, c_int, *const c_void, usize);
        cublasLtMatrixLayoutCreate(*mut Handle, c_int, u64, u64, i64);
        cublasLtMatrixLayoutDestroy(Handle);
        cublasLtMatmulPreferenceCreate(*mut Handle);
        cublasLtMatmulPreferenceDestroy(Handle);
        cublasLtMatmulPreferenceSetAttribute(Handle, c_int, *const c_void, usize);
        cublasLtMatmulAlgoGetHeuristic(
            Handle, Handle, Handle, Handle, Handle, Handle, Handle, c_int, *mut LtFound, *mut c_int,
        );
        cublasLtMatmul(
            Handle, Handle, *const c_void, u64, Handle, u64, Handle, *const c_void, u64, Handle, u64, Handle,
            *const LtAlgorithm, u64, usize, Handle,
        );
    }
}

/// `cublasLtMatmulAlgo_t`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct LtAlgorithm {
    data: [u64; 8],
}

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct LtFound {
    pub algorithm: LtAlgorithm,
    pub workspace: usize,
    pub state: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

table! {
    /// Convolutions. Results are those of `cudnnStatus_t`.
    Cudnn {
        cudnnCreate(*mut Handle);
        cudnnDestroy(Handle);
        cudnnSetStream(Handle, Handle);
        cudnnCreateTensorDescriptor(*mut Handle);
        cudnnDestroyTensorDescriptor(Handle);
        cudnnSetTensor4dDescriptorEx(
            Handle, c_int, c_int, c_int, c_int, c_int, c_int, c_int, c_int, c_int,
        );
        cudnnCreateFilterDescriptor(*mut Handle);
        cudnnDestroyFilterDescriptor(Handle);
        cudnnSetFilter4dDescriptor(Handle, c_int, c_int, c_int, c_int, c_int, c_int);
        cudnnCreateConvolutionDescriptor(*mut Handle);
        cudnnDestroyConvolutionDescriptor(Handle);
        cudnnSetConvolution2dDescriptor(
            Handle, c_int, c_int, c_int, c_int, c_int, c_int, c_int, c_int,
        );
        cudnnSetConvolutionGroupCount(Handle, c_int);
        cudnnSetConvolutionMathType(Handle, c_int);
        cudnnGetConvolutionForwardAlgorithm_v7(
            Handle, Handle, Handle, Handle, Handle, c_int, *mut c_int, *mut c_void,
        );
        cudnnGetConvolutionBackwardDataAlgorithm_v7(
            Handle, Handle, Handle, Handle, Handle, c_int, *mut c_int, *mut c_void,
        );
        cudnnGetConvolutionBackwardFilterAlgorithm_v7(
            Handle, Handle, Handle, Handle, Handle, c_int, *mut c_int, *mut c_void,
        );
        cudnnFindConvolutionForwardAlgorithm(
            Handle, Handle, Handle, Handle, Handle, c_int, *mut c_int, *mut c_void,
        );
        cudnnFindConvolutionBackwardDataAlgorithm(
            Handle, Handle, Handle, Handle, Handle, c_int, *mut c_int, *mut c_void,
        );
        cudnnFindConvolutionBackwardFilterAlgorithm(
            Handle, Handle, Handle, Handle, Handle, c_int, *mut c_int, *mut c_void,
        );
        cudnnGetConvolutionForwardWorkspaceSize(
            Handle, Handle, Handle, Handle, Handle, c_int, *mut usize,
        );
        cudnnGetConvolutionBackwardDataWorkspaceSize(
            Handle, Handle, Handle, Handle, Handle, c_int, *mut usize,
        );
        cudnnGetConvolutionBackwardFilterWorkspaceSize(
            Handle, Handle, Handle, Handle, Handle, c_int, *mut usize,
        );
        cudnnConvolutionForward(
            Handle, *const c_void, Handle, u64, Handle, u64, Handle, c_int, u64, usize, *const c_void, Handle, u64,
        );
        cudnnConvolutionBackwardData(
            Handle, *const c_void, Handle, u64, Handle, u64, Handle, c_int, u64, usize, *const c_void, Handle, u64,
        );
        cudnnConvolutionBackwardFilter(
            Handle, *const c_void, Handle, u64, Handle, u64, Handle, c_int, u64, usize, *const c_void, Handle, u64,
        );
        cudnnAddTensor(Handle, *const c_void, Handle, u64, *const c_void, Handle, u64);
    }
}

macro_rules! routines {
    ($(#[$doc:meta])* $name:ident { $($routine:ident($($argument:ty),* $(,)?);)* }) => {
        $(#[$doc])*
        #[allow(non_snake_case, reason = "the names are the library's")]
        pub(super) struct $name { $(pub $routine: unsafe extern "C" fn($($argument),*) -> c_int,)* }

        impl $name {
            /// Those of a type of numbers, by its letter; the name of the first that is absent.
            fn of(library: &libloading::Library, letter: char) -> std::result::Result<$name, &'static str> {
                Ok($name { $(
                    // SAFETY: the types are those of the library's documentation, for which addresses are numbers.
                    $routine: *unsafe { symbol(library, &format!("cusolverDn{letter}{}", stringify!($routine))) }
                        .ok_or(stringify!($routine))?,
                )* })
            }
        }
    };
}

routines! {
    /// What takes matrices of one type of numbers apart. Matrices lie column by column; sizes of work are in elements.
    Routines {
        getrf_bufferSize(Handle, c_int, c_int, u64, c_int, *mut c_int);
        getrf(Handle, c_int, c_int, u64, c_int, u64, u64, u64);
        getrs(Handle, c_int, c_int, c_int, u64, c_int, u64, u64, c_int, u64);
        potrf_bufferSize(Handle, c_int, c_int, u64, c_int, *mut c_int);
        potrf(Handle, c_int, c_int, u64, c_int, u64, c_int, u64);
        geqrf_bufferSize(Handle, c_int, c_int, u64, c_int, *mut c_int);
        geqrf(Handle, c_int, c_int, u64, c_int, u64, u64, c_int, u64);
        orgqr_bufferSize(Handle, c_int, c_int, c_int, u64, c_int, u64, *mut c_int);
        orgqr(Handle, c_int, c_int, c_int, u64, c_int, u64, u64, c_int, u64);
        syevd_bufferSize(Handle, c_int, c_int, c_int, u64, c_int, u64, *mut c_int);
        syevd(Handle, c_int, c_int, c_int, u64, c_int, u64, u64, c_int, u64);
        gesvdj_bufferSize(
            Handle, c_int, c_int, c_int, c_int, u64, c_int, u64, u64, c_int, u64, c_int, *mut c_int, Handle,
        );
        gesvdj(
            Handle, c_int, c_int, c_int, c_int, u64, c_int, u64, u64, c_int, u64, c_int, u64, c_int, u64, Handle,
        );
    }
}

table! {
    /// What cuSOLVER needs whatever the numbers are. Results are those of `cusolverStatus_t`.
    CusolverCalls {
        cusolverDnCreate(*mut Handle);
        cusolverDnDestroy(Handle);
        cusolverDnSetStream(Handle, Handle);
        cusolverDnCreateGesvdjInfo(*mut Handle);
        cusolverDnDestroyGesvdjInfo(Handle);
    }
}

/// Factors of matrices.
pub(super) struct Cusolver {
    pub calls: CusolverCalls,
    pub single: Routines,
    pub double: Routines,
}

impl Cusolver {
    fn of(library: &libloading::Library) -> std::result::Result<Cusolver, &'static str> {
        Ok(Cusolver {
            calls: CusolverCalls::of(library)?,
            single: Routines::of(library, 'S')?,
            double: Routines::of(library, 'D')?,
        })
    }
}

/// The driver's functions.
///
/// # Errors
/// `DeviceError` with what is missing.
pub(super) fn driver() -> Result<&'static Driver> {
    static TABLE: OnceLock<std::result::Result<Driver, String>> = OnceLock::new();
    let found = TABLE.get_or_init(|| {
        let folders = Folders::of_this_computer();
        found(&["cuda", "nvcuda"], &folders, |folders| &folders.driver, Driver::of)
    });
    found.as_ref().map_err(|reason| absent(reason))
}

/// What the driver has for tensor maps, where it has it.
pub(super) fn tensor_maps() -> Option<&'static TensorMaps> {
    static TABLE: OnceLock<Option<TensorMaps>> = OnceLock::new();
    let find = || {
        let folders = Folders::of_this_computer();
        found(&["cuda", "nvcuda"], &folders, |folders| &folders.driver, TensorMaps::of).ok()
    };
    TABLE.get_or_init(find).as_ref()
}

/// The compiler's functions.
///
/// # Errors
/// `DeviceError` with what is missing.
pub(crate) fn nvrtc() -> Result<&'static Nvrtc> {
    static TABLE: OnceLock<std::result::Result<Nvrtc, String>> = OnceLock::new();
    let found = TABLE.get_or_init(|| {
        let folders = Folders::of_this_computer();
        found(&["nvrtc"], &folders, |folders| &folders.toolkit, Nvrtc::of)
    });
    found.as_ref().map_err(|reason| absent(reason))
}

/// cuBLAS's functions, where it is there.
pub(crate) fn cublas() -> Option<&'static Cublas> {
    static TABLE: OnceLock<Option<Cublas>> = OnceLock::new();
    let find =
        || found(&["cublas"], &Folders::of_this_computer(), |folders| &folders.toolkit, Cublas::of).ok();
    TABLE.get_or_init(find).as_ref()
}

/// cuBLASLt's functions, where it is there.
pub(super) fn cublas_lt() -> Option<&'static CublasLt> {
    static TABLE: OnceLock<Option<CublasLt>> = OnceLock::new();
    let find =
        || found(&["cublasLt"], &Folders::of_this_computer(), |folders| &folders.toolkit, CublasLt::of).ok();
    TABLE.get_or_init(find).as_ref()
}

/// cuSOLVER's functions, where it is there.
pub(super) fn cusolver() -> Option<&'static Cusolver> {
    static TABLE: OnceLock<Option<Cusolver>> = OnceLock::new();
    let find =
        || found(&["cusolver"], &Folders::of_this_computer(), |folders| &folders.toolkit, Cusolver::of).ok();
    TABLE.get_or_init(find).as_ref()
}

/// cuDNN's functions, where it is there.
pub(super) fn cudnn() -> Option<&'static Cudnn> {
    static TABLE: OnceLock<Option<Cudnn>> = OnceLock::new();
    let find = || found(&["cudnn"], &Folders::of_this_computer(), |folders| &folders.toolkit, Cudnn::of).ok();
    TABLE.get_or_init(find).as_ref()
}

fn found<T>(
    names: &[&str],
    folders: &Folders,
    others: impl Fn(&Folders) -> &[std::path::PathBuf],
    of: fn(&libloading::Library) -> std::result::Result<T, &'static str>,
) -> std::result::Result<T, String> {
    let loaded = load(names, folders, others(folders))?;
    let table = of(&loaded.library).map_err(|name| format!("{} has no function {name}", loaded.path));
    // Kept for the rest of the process, as the functions are.
    std::mem::forget(loaded.library);
    table
}

#[cold]
fn absent(reason: &str) -> Error {
    Error::new(Kind::DeviceError, reason)
        .with_hint("`tensorlab doctor` lists what is missing, and how to get it")
}

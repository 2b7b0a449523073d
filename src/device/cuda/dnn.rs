//! Convolutions and their gradients by cuDNN.
//!
//! Which of its algorithms serves a shape is asked once and remembered: by its heuristic, or where
//! `cudnn.benchmark` is on by trying them.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex};

use cudarc::cudnn::sys::{
    cudnnConvolutionMode_t, cudnnDataType_t as Data, cudnnDeterminism_t, cudnnMathType_t as Math,
    cudnnTensorFormat_t,
};
use smallvec::SmallVec;

use crate::base::{DType, Error, Kind, Result};
use crate::device::kernel::{Arg, Conv, Kernel, Launch, View};

use super::table::{Cudnn, Handle, cudnn};

const CROSS_CORRELATION: c_int = cudnnConvolutionMode_t::CUDNN_CROSS_CORRELATION as c_int;
const ROW_MAJOR: c_int = cudnnTensorFormat_t::CUDNN_TENSOR_NCHW as c_int;
const CHANNELS_LAST: c_int = cudnnTensorFormat_t::CUDNN_TENSOR_NHWC as c_int;
/// What the library likes: TF32 for float32.
const DEFAULT_MATH: c_int = Math::CUDNN_DEFAULT_MATH as c_int;
/// Tensor cores before the A100, where what the library likes leaves them out.
const TENSOR_OP_MATH: c_int = Math::CUDNN_TENSOR_OP_MATH as c_int;
/// Full float32.
const FMA_MATH: c_int = Math::CUDNN_FMA_MATH as c_int;
const DETERMINISTIC: c_int = cudnnDeterminism_t::CUDNN_DETERMINISTIC as c_int;
/// Answers that are asked for: an algorithm may be in them once for each way of its arithmetic.
const ANSWERS: usize = 20;
/// Elements that a tensor of cuDNN's may reach over.
const FARTHEST: usize = i32::MAX as usize;
/// Statuses of cuDNN 8, and families of cuDNN 9, for what it does not do: `BAD_PARAM` of too little to work in too.
const REFUSED: [std::ops::Range<c_int>; 4] = [3..4, 9..10, 2000..3000, 3000..4000];

/// What the session allows.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Switches {
    pub tf32: bool,
    pub benchmark: bool,
    pub deterministic: bool,
}

/// cuDNN on a device: a handle per stream.
pub(crate) struct Dnn {
    table: &'static Cudnn,
    handles: Mutex<HashMap<u32, usize>>,
    chosen: Mutex<HashMap<Question, Arc<[AlgorithmChoice]>>>,
}

/// What an algorithm is chosen for.
#[derive(PartialEq, Eq, Hash)]
struct Question {
    way: Way,
    dtype: u8,
    numbers: SmallVec<[i64; 24]>,
    switches: Switches,
}

#[derive(Clone, Copy)]
struct AlgorithmChoice {
    algorithm: c_int,
    math: c_int,
    workspace: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Way {
    Forward,
    ByInput,
    ByWeight,
}

/// A convolution's three tensors, whichever of them is written.
struct Convolution<'a> {
    way: Way,
    conv: &'a Conv,
    x: View<'a>,
    weight: View<'a>,
    y: View<'a>,
    bias: Option<View<'a>>,
}

/// As `cudnnConvolutionFwdAlgoPerf_t`; those of the gradients look the same.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Performance {
    algorithm: c_int,
    status: c_int,
    time: f32,
    memory: usize,
    determinism: c_int,
    math: c_int,
    reserved: [c_int; 3],
}

impl Dnn {
    /// None where cuDNN is not there.
    pub(super) fn new() -> Option<Dnn> {
        cudnn().map(|table| Dnn { table, handles: Mutex::default(), chosen: Mutex::default() })
    }

    /// Enqueues a convolution or one of its gradients on a stream's handle; `false` where cuDNN has none for it.
    /// `workspace` gives memory that lasts until the stream's later work.
    pub(crate) fn convolve(
        &self,
        launch: &Launch,
        handle: Handle,
        switches: Switches,
        workspace: &dyn Fn(usize, &mut dyn FnMut(u64) -> Result<()>) -> Result<()>,
    ) -> Result<bool> {
        let Some(what) = Convolution::of(launch) else { return Ok(false) };
        // What its words have no room for, the kernels here compute.
        let Ok(Some(described)) = Described::of(self.table, &what, switches) else { return Ok(false) };
        for choice in self.choices(handle, &what, &described, switches).iter() {
            described.set_math(choice.math)?;
            let mut is_done = false;
            let run = &mut |memory| {
                is_done = self.run(handle, &what, &described, *choice, memory)?;
                Ok(())
            };
            match workspace(choice.workspace, run) {
                // The next one may do with less.
                Err(error) if choice.workspace > 0 && error.kind() == Kind::OutOfMemoryError => {}
                Err(error) => return Err(error),
                Ok(()) if is_done => return Ok(true),
                Ok(()) => {}
            }
        }
        Ok(false)
    }

    /// Enqueues it; `false` where the algorithm turns out not to support it.
    fn run(
        &self,
        handle: Handle,
        what: &Convolution,
        d: &Described,
        choice: AlgorithmChoice,
        memory: u64,
    ) -> Result<bool> {
        let Numbers { one, zero, .. } = Numbers::of(what.y.dtype);
        let (x, weight, y) = (address(&what.x), address(&what.weight), address(&what.y));
        let (algorithm, room) = (choice.algorithm, choice.workspace);
        // SAFETY: the descriptors are those of the views, whose memory the addresses are; the workspace has the size
        // that was asked for.
        unsafe {
            let status = match what.way {
                Way::Forward => (self.table.cudnnConvolutionForward)(
                    handle, one, d.x.handle, x, d.weight, weight, d.conv, algorithm, memory, room, zero,
                    d.y.handle, y,
                ),
                Way::ByInput => (self.table.cudnnConvolutionBackwardData)(
                    handle, one, d.weight, weight, d.y.handle, y, d.conv, algorithm, memory, room, zero,
                    d.x.handle, x,
                ),
                Way::ByWeight => (self.table.cudnnConvolutionBackwardFilter)(
                    handle, one, d.x.handle, x, d.y.handle, y, d.conv, algorithm, memory, room, zero,
                    d.weight, weight,
                ),
            };
            let added = || match (&what.bias, &d.bias) {
                (Some(bias), Some(described)) => {
                    let at = address(bias);
                    (self.table.cudnnAddTensor)(handle, one, described.handle, at, one, d.y.handle, y)
                }
                _ => 0,
            };
            let status = if status == 0 { added() } else { status };
            if REFUSED.iter().any(|family| family.contains(&status)) {
                return Ok(false);
            }
            check(status).map(|()| true)
        }
    }

    /// The algorithms that may serve, the best one first: asked once and remembered, also that there is none.
    fn choices(
        &self,
        handle: Handle,
        what: &Convolution,
        d: &Described,
        switches: Switches,
    ) -> Arc<[AlgorithmChoice]> {
        let question = what.question(switches);
        let mut chosen = self.chosen.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(choices) = chosen.get(&question) {
            return Arc::clone(choices);
        }
        let mut found = if switches.benchmark { self.ask(handle, what, d, true) } else { Vec::new() };
        if found.is_empty() {
            found = self.ask(handle, what, d, false);
        }
        let usable =
            |p: &&Performance| p.status == 0 && (!switches.deterministic || p.determinism == DETERMINISTIC);
        let choices: Arc<[AlgorithmChoice]> = if is_full(what.y.dtype, switches) {
            self.in_full(handle, what, d, &mut found.iter().filter(usable))
        } else {
            let as_told = |p: &Performance| AlgorithmChoice {
                algorithm: p.algorithm,
                math: p.math,
                workspace: p.memory,
            };
            found.iter().filter(usable).map(as_told).collect()
        };
        chosen.insert(question, Arc::clone(&choices));
        choices
    }

    /// Algorithms in full float32, each once. An answer for `DEFAULT_MATH` is one for TF32, and what the algorithm works in
    /// without it has to be asked for.
    fn in_full(
        &self,
        handle: Handle,
        what: &Convolution,
        d: &Described,
        found: &mut dyn Iterator<Item = &Performance>,
    ) -> Arc<[AlgorithmChoice]> {
        let mut all: Vec<AlgorithmChoice> = Vec::new();
        for p in found.filter(|p| p.math == FMA_MATH || p.math == DEFAULT_MATH) {
            let algorithm = p.algorithm;
            let workspace = match p.math {
                FMA_MATH => Some(p.memory),
                _ => self.works_in(handle, what, d, algorithm),
            };
            match (all.iter_mut().find(|known| known.algorithm == algorithm), workspace) {
                (None, Some(workspace)) => all.push(AlgorithmChoice { algorithm, math: FMA_MATH, workspace }),
                (Some(known), Some(workspace)) => known.workspace = known.workspace.max(workspace),
                (_, None) => {}
            }
        }
        all.into()
    }

    /// The bytes that an algorithm works in with full float32; none where it does not do it.
    fn works_in(&self, handle: Handle, what: &Convolution, d: &Described, algorithm: c_int) -> Option<usize> {
        let table = self.table;
        let (ask, from, by, to) = match what.way {
            Way::Forward => (table.cudnnGetConvolutionForwardWorkspaceSize, d.x.handle, d.weight, d.y.handle),
            Way::ByInput => {
                (table.cudnnGetConvolutionBackwardDataWorkspaceSize, d.weight, d.y.handle, d.x.handle)
            }
            Way::ByWeight => {
                (table.cudnnGetConvolutionBackwardFilterWorkspaceSize, d.x.handle, d.y.handle, d.weight)
            }
        };
        d.set_math(FMA_MATH).ok()?;
        let mut bytes = 0;
        // SAFETY: the descriptors live through the call, and so does the place.
        let status = unsafe { ask(handle, from, by, d.conv, to, algorithm, &mut bytes) };
        (status == 0).then_some(bytes)
    }

    /// What cuDNN says of its algorithms, by trying them or by its heuristic; nothing where it fails.
    fn ask(&self, handle: Handle, what: &Convolution, d: &Described, tried: bool) -> Vec<Performance> {
        let table = self.table;
        let (ask, from, by, to) = match (what.way, tried) {
            (Way::Forward, false) => {
                (table.cudnnGetConvolutionForwardAlgorithm_v7, d.x.handle, d.weight, d.y.handle)
            }
            (Way::Forward, true) => {
                (table.cudnnFindConvolutionForwardAlgorithm, d.x.handle, d.weight, d.y.handle)
            }
            (Way::ByInput, false) => {
                (table.cudnnGetConvolutionBackwardDataAlgorithm_v7, d.weight, d.y.handle, d.x.handle)
            }
            (Way::ByInput, true) => {
                (table.cudnnFindConvolutionBackwardDataAlgorithm, d.weight, d.y.handle, d.x.handle)
            }
            (Way::ByWeight, false) => {
                (table.cudnnGetConvolutionBackwardFilterAlgorithm_v7, d.x.handle, d.y.handle, d.weight)
            }
            (Way::ByWeight, true) => {
                (table.cudnnFindConvolutionBackwardFilterAlgorithm, d.x.handle, d.y.handle, d.weight)
            }
        };
        let mut found = vec![Performance::default(); ANSWERS];
        let (room, mut count) = (ANSWERS as c_int, 0);
        // SAFETY: there is room for as many answers as are asked for.
        let status = unsafe {
            ask(handle, from, by, d.conv, to, room, &mut count, found.as_mut_ptr().cast::<c_void>())
        };
        found.truncate(if status == 0 { count.unsigned_abs() as usize } else { 0 });
        found
    }

    /// The handle of a stream, made when it is first needed.
    pub(super) fn handle(&self, stream: u32, queue: Handle) -> Result<Handle> {
        let mut handles = self.handles.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(handle) = handles.get(&stream) {
            return Ok(*handle as Handle);
        }
        let mut handle = std::ptr::null_mut();
        // SAFETY: the place lives through the call, and the stream as long as the handle.
        unsafe {
            check((self.table.cudnnCreate)(&mut handle))?;
            check((self.table.cudnnSetStream)(handle, queue))?;
        }
        handles.insert(stream, handle as usize);
        Ok(handle)
    }
}

impl Drop for Dnn {
    fn drop(&mut self) {
        for (_, handle) in self.handles.lock().unwrap_or_else(|e| e.into_inner()).drain() {
            // SAFETY: nobody else has the handle.
            unsafe { (self.table.cudnnDestroy)(handle as Handle) };
        }
    }
}

impl<'a> Convolution<'a> {
    /// What a launch convolves, where cuDNN can.
    fn of(launch: &'a Launch) -> Option<Convolution<'a>> {
        let view = |i: usize| match launch.inputs.get(i) {
            Some(Arg::View(view)) => Some(*view),
            _ => None,
        };
        let out = *launch.outputs.first()?;
        let what = match launch.kernel {
            Kernel::Conv2d(conv) => {
                Convolution { way: Way::Forward, conv, x: view(0)?, weight: view(1)?, y: out, bias: view(2) }
            }
            Kernel::Conv2dGradInput(conv) => {
                Convolution { way: Way::ByInput, conv, x: out, weight: view(1)?, y: view(0)?, bias: None }
            }
            Kernel::Conv2dGradWeight(conv) => {
                Convolution { way: Way::ByWeight, conv, x: view(1)?, weight: out, y: view(0)?, bias: None }
            }
            _ => return None,
        };
        let all = [what.x, what.weight, what.y];
        let fits = |view: &View| view.layout.numel() > 0 && view.layout.end() <= FARTHEST;
        let dense = all.iter().all(|view| fits(view) && view.layout.rank() == 4);
        let same = all.iter().chain(&what.bias).all(|view| view.dtype == what.y.dtype);
        let laid = what.filter_format().is_some() && what.bias.is_none_or(|b| b.layout.is_contiguous());
        // Overlapping inputs, of stride 0, are not cuDNN's.
        let spread = [what.x, what.y].iter().all(|view| view.layout.strides().iter().all(|&s| s > 0));
        (dense && same && laid && spread && kind(what.y.dtype).is_some()).then_some(what)
    }

    /// In which order the weight lies, in cuDNN's words: with its channels last only where those of the images are.
    fn filter_format(&self) -> Option<c_int> {
        let last = |view: &View| view.layout.is_dense_in(&[0, 2, 3, 1]);
        match () {
            () if [self.x, self.weight, self.y].iter().all(last) => Some(CHANNELS_LAST),
            () if self.weight.layout.is_contiguous() => Some(ROW_MAJOR),
            () => None,
        }
    }

    fn question(&self, switches: Switches) -> Question {
        let mut numbers: SmallVec<[i64; 24]> = SmallVec::new();
        for view in [&self.x, &self.weight, &self.y] {
            numbers.extend(view.layout.shape().iter().map(|&n| n as i64));
        }
        for view in [&self.x, &self.y] {
            numbers.extend(view.layout.strides().iter().map(|&n| n as i64));
        }
        let conv = self.conv;
        let more = conv.stride.iter().chain(&conv.padding).chain(&conv.dilation).chain([&conv.groups]);
        numbers.extend(more.map(|&n| n as i64));
        numbers.extend(self.filter_format().map(i64::from));
        Question { way: self.way, dtype: self.y.dtype as u8, numbers, switches }
    }
}

/// A convolution in cuDNN's words.
struct Described {
    table: &'static Cudnn,
    x: Tensor4d,
    y: Tensor4d,
    bias: Option<Tensor4d>,
    weight: Handle,
    conv: Handle,
}

impl Described {
    fn of(table: &'static Cudnn, what: &Convolution, switches: Switches) -> Result<Option<Described>> {
        let known = (kind(what.y.dtype), what.filter_format(), what.weight.layout.shape());
        let (Some(kind), Some(format), [outputs, inputs, height, width]) = known else {
            return Ok(None);
        };
        let int =
            |n: usize| c_int::try_from(n).map_err(|_| Error::runtime("a convolution too large for cuDNN"));
        let x = Tensor4d::of_view(table, kind, &what.x)?;
        let y = Tensor4d::of_view(table, kind, &what.y)?;
        let bias = match what.bias {
            Some(_) => {
                Some(Tensor4d::new(table, kind, [1, int(*outputs)?, 1, 1], [int(*outputs)?, 1, 1, 1])?)
            }
            None => None,
        };
        let (mut weight, mut conv) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the places live through the calls.
        unsafe {
            check((table.cudnnCreateFilterDescriptor)(&mut weight))?;
            check((table.cudnnCreateConvolutionDescriptor)(&mut conv))?;
        }
        let described = Described { table, x, y, bias, weight, conv };
        let [o, i, h, w] = [int(*outputs)?, int(*inputs)?, int(*height)?, int(*width)?];
        let pair = |[a, b]: [usize; 2]| Ok::<_, Error>([int(a)?, int(b)?]);
        let ([sh, sw], [ph, pw]) = (pair(what.conv.stride)?, pair(what.conv.padding)?);
        let [dh, dw] = pair(what.conv.dilation)?;
        let compute = if what.y.dtype == DType::Float64 { kind } else { Data::CUDNN_DATA_FLOAT as c_int };
        // SAFETY: both descriptors are new.
        unsafe {
            check((table.cudnnSetFilter4dDescriptor)(weight, kind, format, o, i, h, w))?;
            check((table.cudnnSetConvolution2dDescriptor)(
                conv,
                ph,
                pw,
                sh,
                sw,
                dh,
                dw,
                CROSS_CORRELATION,
                compute,
            ))?;
            check((table.cudnnSetConvolutionGroupCount)(conv, int(what.conv.groups)?))?;
        }
        described.set_math(match what.y.dtype {
            DType::Float16 => TENSOR_OP_MATH,
            dtype if is_full(dtype, switches) => FMA_MATH,
            _ => DEFAULT_MATH,
        })?;
        Ok(Some(described))
    }

    fn set_math(&self, math: c_int) -> Result<()> {
        // SAFETY: the descriptor is this one's own.
        check(unsafe { (self.table.cudnnSetConvolutionMathType)(self.conv, math) })
    }
}

impl Drop for Described {
    fn drop(&mut self) {
        // SAFETY: the descriptors are this one's own.
        unsafe {
            (self.table.cudnnDestroyFilterDescriptor)(self.weight);
            (self.table.cudnnDestroyConvolutionDescriptor)(self.conv);
        }
    }
}

struct Tensor4d {
    table: &'static Cudnn,
    handle: Handle,
}

impl Tensor4d {
    fn of_view(table: &'static Cudnn, kind: c_int, view: &View) -> Result<Tensor4d> {
        let (mut shape, mut strides) = ([1; 4], [1; 4]);
        let too_large = |_| Error::runtime("a tensor too large for cuDNN");
        for (to, &n) in shape.iter_mut().zip(view.layout.shape()) {
            *to = c_int::try_from(n).map_err(too_large)?;
        }
        for (to, &n) in strides.iter_mut().zip(view.layout.strides()) {
            *to = c_int::try_from(n).map_err(too_large)?;
        }
        Tensor4d::new(table, kind, shape, strides)
    }

    fn new(
        table: &'static Cudnn,
        kind: c_int,
        [n, c, h, w]: [c_int; 4],
        [sn, sc, sh, sw]: [c_int; 4],
    ) -> Result<Tensor4d> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the place lives through the call.
        check(unsafe { (table.cudnnCreateTensorDescriptor)(&mut handle) })?;
        let tensor = Tensor4d { table, handle };
        // SAFETY: the descriptor is new.
        check(unsafe { (table.cudnnSetTensor4dDescriptorEx)(handle, kind, n, c, h, w, sn, sc, sh, sw) })?;
        Ok(tensor)
    }
}

impl Drop for Tensor4d {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this one's own.
        unsafe { (self.table.cudnnDestroyTensorDescriptor)(self.handle) };
    }
}

/// 1 and 0 as cuDNN reads them: double for float64, else float.
struct Numbers {
    one: *const c_void,
    zero: *const c_void,
}

impl Numbers {
    fn of(dtype: DType) -> Numbers {
        static WIDE: [f64; 2] = [1.0, 0.0];
        static NARROW: [f32; 2] = [1.0, 0.0];
        let pair = |one: *const c_void, zero| Numbers { one, zero };
        match dtype {
            DType::Float64 => pair((&raw const WIDE[0]).cast(), (&raw const WIDE[1]).cast()),
            _ => pair((&raw const NARROW[0]).cast(), (&raw const NARROW[1]).cast()),
        }
    }
}

/// `cudnnDataType_t`.
fn kind(dtype: DType) -> Option<c_int> {
    let kind = match dtype {
        DType::Float32 => Data::CUDNN_DATA_FLOAT,
        DType::Float64 => Data::CUDNN_DATA_DOUBLE,
        DType::Float16 => Data::CUDNN_DATA_HALF,
        DType::BFloat16 => Data::CUDNN_DATA_BFLOAT16,
        _ => return None,
    };
    Some(kind as c_int)
}

fn address(view: &View) -> u64 {
    view.buffer.address + (view.layout.offset() * view.dtype.size()) as u64
}

fn check(status: c_int) -> Result<()> {
    if status == 0 { Ok(()) } else { Err(failed(status)) }
}

/// Whether float32 is to be computed as such, without TF32.
fn is_full(dtype: DType, switches: Switches) -> bool {
    dtype == DType::Float32 && !switches.tf32
}

#[cold]
fn failed(status: c_int) -> Error {
    // Of cuDNN 8, and of 9 for the host and the device.
    let kind = if matches!(status, 2 | 4003 | 4004) { Kind::OutOfMemoryError } else { Kind::DeviceError };
    Error::new(kind, format!("cuDNN error: status {status}"))
}

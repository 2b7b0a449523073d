//! cuDNN: convolutions of two dimensions and their gradients, by loops over all products. What a call says is checked,
//! and float32 is rounded to TF32 first where the descriptor allows that.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use crate::memory::inside;
use crate::numbers::{Kind, tf32};
use crate::put;
use crate::streams::{self, Work};

const NOT_INITIALIZED: c_int = 1001;
const BAD_PARAM: c_int = 2000;
const NOT_SUPPORTED: c_int = 3000;
const EXECUTION_FAILED: c_int = 5000;

/// `cudnnMathType_t`.
const DEFAULT_MATH: c_int = 0;
const TENSOR_OP_MATH: c_int = 1;
const FMA_MATH: c_int = 3;

/// The algorithms here, with the bytes that they work in: the first turns out not to do double, the last needs none.
const WORKSPACES: [usize; 3] = [40_000, 512, 0];

/// What the first works in more where TF32 is off.
const MORE: usize = 30_000;

#[derive(Clone, Copy, Debug)]
pub struct Tensor {
    kind: Option<Kind>,
    shape: [i64; 4],
    strides: [i64; 4],
}

#[derive(Clone, Copy, Debug)]
pub struct Convolution {
    padding: [i64; 2],
    stride: [i64; 2],
    dilation: [i64; 2],
    groups: i64,
    math: c_int,
    compute: Option<Kind>,
}

/// As `cudnnConvolutionFwdAlgoPerf_t`; those of the gradients look the same.
#[repr(C)]
pub struct Performance {
    algorithm: c_int,
    status: c_int,
    time: f32,
    memory: usize,
    determinism: c_int,
    math: c_int,
    reserved: [c_int; 3],
}

fn kind(data: c_int) -> Option<Kind> {
    match data {
        0 => Some(Kind::Float),
        1 => Some(Kind::Double),
        2 => Some(Kind::Half),
        9 => Some(Kind::BFloat),
        _ => None,
    }
}

fn ints<const N: usize>(from: [c_int; N]) -> [i64; N] {
    from.map(i64::from)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudnnGetVersion() -> usize {
    91_002
}
/// A handle: its stream.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnCreate(handle: *mut *mut usize) -> c_int {
    if !crate::starts() {
        return NOT_INITIALIZED;
    }
    put(handle, Box::into_raw(Box::new(0)))
}
#[unsafe(no_mangle)]
pub extern "C" fn cudnnDestroy(handle: *mut usize) -> c_int {
    drop(unsafe { Box::from_raw(handle) });
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cudnnSetStream(handle: *mut usize, stream: usize) -> c_int {
    put(handle, stream)
}
#[unsafe(no_mangle)]
pub extern "C" fn cudnnCreateTensorDescriptor(to: *mut *mut Tensor) -> c_int {
    put(to, Box::into_raw(Box::new(Tensor { kind: None, shape: [0; 4], strides: [0; 4] })))
}
#[unsafe(no_mangle)]
pub extern "C" fn cudnnDestroyTensorDescriptor(tensor: *mut Tensor) -> c_int {
    drop(unsafe { Box::from_raw(tensor) });
    0
}
#[unsafe(no_mangle)]
#[rustfmt::skip]
pub extern "C" fn cudnnSetTensor4dDescriptorEx(
    tensor: *mut Tensor, data: c_int, n: c_int, c: c_int, h: c_int, w: c_int,
    by_n: c_int, by_c: c_int, by_h: c_int, by_w: c_int,
) -> c_int {
    let (shape, strides) = (ints([n, c, h, w]), ints([by_n, by_c, by_h, by_w]));
    if kind(data).is_none() || shape.iter().chain(&strides).any(|n| *n < 1) {
        return BAD_PARAM;
    }
    put(tensor, Tensor { kind: kind(data), shape, strides })
}
#[unsafe(no_mangle)]
pub extern "C" fn cudnnCreateFilterDescriptor(to: *mut *mut Tensor) -> c_int {
    cudnnCreateTensorDescriptor(to)
}
#[unsafe(no_mangle)]
pub extern "C" fn cudnnDestroyFilterDescriptor(filter: *mut Tensor) -> c_int {
    cudnnDestroyTensorDescriptor(filter)
}
#[unsafe(no_mangle)]
#[rustfmt::skip]
pub extern "C" fn cudnnSetFilter4dDescriptor(
    filter: *mut Tensor, data: c_int, format: c_int, k: c_int, c: c_int, h: c_int, w: c_int,
) -> c_int {
    match format {
        0 => cudnnSetTensor4dDescriptorEx(filter, data, k, c, h, w, c * h * w, h * w, w, 1),
        1 => cudnnSetTensor4dDescriptorEx(filter, data, k, c, h, w, c * h * w, 1, w * c, c),
        _ => NOT_SUPPORTED,
    }
}
#[unsafe(no_mangle)]
pub extern "C" fn cudnnCreateConvolutionDescriptor(to: *mut *mut Convolution) -> c_int {
    let (padding, stride, dilation) = ([0; 2], [1; 2], [1; 2]);
    let new = Convolution { padding, stride, dilation, groups: 1, math: DEFAULT_MATH, compute: None };
    put(to, Box::into_raw(Box::new(new)))
}
#[unsafe(no_mangle)]
pub extern "C" fn cudnnDestroyConvolutionDescriptor(convolution: *mut Convolution) -> c_int {
    drop(unsafe { Box::from_raw(convolution) });
    0
}
#[unsafe(no_mangle)]
#[rustfmt::skip]
pub extern "C" fn cudnnSetConvolution2dDescriptor(
    convolution: *mut Convolution, pad_h: c_int, pad_w: c_int, stride_h: c_int, stride_w: c_int,
    apart_h: c_int, apart_w: c_int, mode: c_int, compute: c_int,
) -> c_int {
    let (padding, stride, dilation) =
        (ints([pad_h, pad_w]), ints([stride_h, stride_w]), ints([apart_h, apart_w]));
    let is_cross_correlation = mode == 1;
    if padding.iter().any(|n| *n < 0) || stride.iter().chain(&dilation).any(|n| *n < 1) || !is_cross_correlation {
        return BAD_PARAM;
    }
    let compute = kind(compute);
    put(convolution, Convolution { padding, stride, dilation, groups: 1, math: DEFAULT_MATH, compute })
}
#[unsafe(no_mangle)]
pub extern "C" fn cudnnSetConvolutionGroupCount(convolution: *mut Convolution, groups: c_int) -> c_int {
    unsafe { (*convolution).groups = i64::from(groups) };
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cudnnSetConvolutionMathType(convolution: *mut Convolution, math: c_int) -> c_int {
    unsafe { (*convolution).math = math };
    0
}

/// Before the A100 tensor cores serve those alone who ask for them.
fn has_tensor_cores(convolution: &Convolution) -> bool {
    crate::capability() >= 80 || convolution.math == TENSOR_OP_MATH
}

fn answer(
    conv: *const Convolution,
    room: c_int,
    count: *mut c_int,
    to: *mut Performance,
    order: [usize; 3],
) -> c_int {
    let second = if has_tensor_cores(unsafe { &*conv }) { TENSOR_OP_MATH } else { DEFAULT_MATH };
    let all = order.into_iter().take(room as usize);
    for (i, algorithm) in all.clone().enumerate() {
        let performance = Performance {
            algorithm: algorithm as c_int,
            status: 0,
            time: 0.1,
            memory: WORKSPACES[algorithm],
            determinism: c_int::from(algorithm != 1),
            math: [DEFAULT_MATH, second, FMA_MATH][algorithm],
            reserved: [0; 3],
        };
        put(unsafe { to.add(i) }, performance);
    }
    put(count, all.count() as c_int)
}

/// The names of cuDNN for asking, each with the order of its answers.
macro_rules! ask {
    ($($name:ident $order:expr;)*) => { $(
        #[unsafe(no_mangle)]
        #[rustfmt::skip]
        pub extern "C" fn $name(
            _: usize, _: usize, _: usize, conv: *const Convolution, _: usize, room: c_int, count: *mut c_int,
            to: *mut Performance,
        ) -> c_int {
            answer(conv, room, count, to, $order)
        }
    )* };
}
ask! {
    cudnnGetConvolutionForwardAlgorithm_v7 [0, 1, 2];
    cudnnGetConvolutionBackwardDataAlgorithm_v7 [1, 0, 2];
    cudnnGetConvolutionBackwardFilterAlgorithm_v7 [0, 2, 1];
    cudnnFindConvolutionForwardAlgorithm [2, 0, 1];
    cudnnFindConvolutionBackwardDataAlgorithm [0, 2, 1];
    cudnnFindConvolutionBackwardFilterAlgorithm [1, 2, 0];
}

fn works_in(conv: &Convolution, algorithm: c_int) -> Option<usize> {
    let more = if algorithm == 0 && conv.math == FMA_MATH { MORE } else { 0 };
    WORKSPACES.get(algorithm as usize).map(|bytes| bytes + more)
}

/// The names of cuDNN for asking what an algorithm works in.
macro_rules! work_spaces {
    ($($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        #[rustfmt::skip]
        pub extern "C" fn $name(
            _: usize, _: usize, _: usize, conv: *const Convolution, _: usize, algorithm: c_int, to: *mut usize,
        ) -> c_int {
            works_in(unsafe { &*conv }, algorithm).map_or(BAD_PARAM, |bytes| put(to, bytes))
        }
    )* };
}
work_spaces! {
    cudnnGetConvolutionForwardWorkspaceSize
    cudnnGetConvolutionBackwardDataWorkspaceSize
    cudnnGetConvolutionBackwardFilterWorkspaceSize
}

/// A tensor and where it lies.
#[derive(Clone, Copy)]
struct Placed {
    tensor: Tensor,
    kind: Kind,
    address: u64,
}

impl Placed {
    fn new(tensor: *const Tensor, address: u64) -> Option<Placed> {
        let tensor = unsafe { *tensor };
        let kind = tensor.kind?;
        let last: i64 = tensor.shape.iter().zip(&tensor.strides).map(|(n, stride)| (n - 1) * stride).sum();
        inside(address, (last + 1) as usize * kind.bytes()).then_some(Placed { tensor, kind, address })
    }

    /// Where an element of a dense copy lies.
    fn places(&self) -> impl Iterator<Item = i64> {
        let ([n, c, h, w], strides) = (self.tensor.shape, self.tensor.strides);
        (0..n * c * h * w).map(move |i| {
            let place = [i / (c * h * w), i / (h * w) % c, i / w % h, i % w];
            place.iter().zip(&strides).map(|(at, stride)| at * stride).sum()
        })
    }

    fn read(&self, rounded: bool) -> Vec<f64> {
        let value = |at| self.kind.read(self.address, at);
        self.places().map(|at| if rounded { tf32(value(at)) } else { value(at) }).collect()
    }

    /// `alpha` times the values, and `beta` times what was there; nothing is read where that is 0.
    fn write(&self, values: &[f64], [alpha, beta]: [f64; 2]) {
        for (at, value) in self.places().zip(values) {
            let before = if beta == 0.0 { 0.0 } else { beta * self.kind.read(self.address, at) };
            self.kind.write(self.address, at, alpha * value + before);
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Forward,
    ByInput,
    ByWeight,
}

struct Job {
    way: Way,
    conv: Convolution,
    x: Placed,
    weight: Placed,
    y: Placed,
    scale: [f64; 2],
    memory: (u64, usize),
}

impl Job {
    /// Whether the shapes belong together.
    fn fits(&self) -> bool {
        let ([n, c, h, w], [k, per_group, r, s]) = (self.x.tensor.shape, self.weight.tensor.shape);
        let conv = &self.conv;
        let extent = |size: i64, window: i64, d: usize| {
            (size + 2 * conv.padding[d] - conv.dilation[d] * (window - 1) - 1).div_euclid(conv.stride[d]) + 1
        };
        let groups = conv.groups;
        groups > 0
            && c == per_group * groups
            && k % groups == 0
            && self.y.tensor.shape == [n, k, extent(h, r, 0), extent(w, s, 1)]
    }

    fn run(&self) {
        let rounded = self.x.kind == Kind::Float && self.conv.math != FMA_MATH;
        // What it works in holds nothing that anyone may rely on.
        unsafe { std::ptr::write_bytes(self.memory.0 as *mut u8, 0xcd, self.memory.1) };
        let dense = |placed: &Placed, written: bool| {
            if written { vec![0.0; placed.places().count()] } else { placed.read(rounded) }
        };
        let mut x = dense(&self.x, self.way == Way::ByInput);
        let mut weight = dense(&self.weight, self.way == Way::ByWeight);
        let mut y = dense(&self.y, self.way == Way::Forward);
        self.products(|at_x, at_weight, at_y| match self.way {
            Way::Forward => y[at_y] += x[at_x] * weight[at_weight],
            Way::ByInput => x[at_x] += y[at_y] * weight[at_weight],
            Way::ByWeight => weight[at_weight] += x[at_x] * y[at_y],
        });
        match self.way {
            Way::Forward => self.y.write(&y, self.scale),
            Way::ByInput => self.x.write(&x, self.scale),
            Way::ByWeight => self.weight.write(&weight, self.scale),
        }
    }

    /// Every product of an element of `x` and one of the weight, and the element of `y` that it is part of.
    fn products(&self, mut each: impl FnMut(usize, usize, usize)) {
        let ([_, c, h, w], [_, per_group, r, s]) = (self.x.tensor.shape, self.weight.tensor.shape);
        let [_, k, height, width] = self.y.tensor.shape;
        let Convolution { padding, stride, dilation, groups, .. } = self.conv;
        for (at_y, _) in self.y.places().enumerate() {
            let i = at_y as i64;
            let (n, out, row, column) =
                (i / (k * height * width), i / (height * width) % k, i / width % height, i % width);
            let first = out / (k / groups) * per_group;
            for at in 0..per_group * r * s {
                let (part, u, v) = (at / (r * s), at / s % r, at % s);
                let y = row * stride[0] - padding[0] + u * dilation[0];
                let x = column * stride[1] - padding[1] + v * dilation[1];
                if (0..h).contains(&y) && (0..w).contains(&x) {
                    let at_x = ((n * c + first + part) * h + y) * w + x;
                    each(at_x as usize, (out * per_group * r * s + at) as usize, at_y);
                }
            }
        }
    }
}

fn scales(kind: Kind, alpha: *const c_void, beta: *const c_void) -> [f64; 2] {
    [alpha, beta].map(|from| unsafe {
        if kind == Kind::Double { *from.cast::<f64>() } else { f64::from(*from.cast::<f32>()) }
    })
}

fn enqueue(
    handle: *const usize,
    way: Way,
    conv: *const Convolution,
    [x, weight, y]: [Option<Placed>; 3],
    [alpha, beta]: [*const c_void; 2],
    (algorithm, memory, room): (c_int, u64, usize),
) -> c_int {
    let conv = unsafe { *conv };
    let (Some(x), Some(weight), Some(y)) = (x, weight, y) else {
        eprintln!("cuDNN: tensors outside the memory of the devices");
        return EXECUTION_FAILED;
    };
    let Some(needed) = works_in(&conv, algorithm) else { return BAD_PARAM };
    let same = x.kind == weight.kind && x.kind == y.kind;
    let compute = if x.kind == Kind::Double { Kind::Double } else { Kind::Float };
    let job = Job { way, conv, x, weight, y, scale: scales(x.kind, alpha, beta), memory: (memory, needed) };
    if room < needed {
        eprintln!("cuDNN: too little to work in");
        return BAD_PARAM;
    }
    if !same || conv.compute != Some(compute) || !job.fits() || (needed > 0 && !inside(memory, room)) {
        eprintln!("cuDNN: tensors that do not belong together");
        return EXECUTION_FAILED;
    }
    // Filters with their channels last go with images that have them there.
    let last = |placed: &Placed| placed.tensor.shape[1] == 1 || placed.tensor.strides[1] == 1;
    let turned = last(&job.weight) && job.weight.tensor.shape[1..] != [1, 1, 1] && job.weight.tensor.strides[3] != 1;
    if (algorithm == 0 && x.kind == Kind::Double) || (turned && !(last(&job.x) && last(&job.y))) {
        return NOT_SUPPORTED;
    }
    if conv.math == TENSOR_OP_MATH && has_tensor_cores(&conv) {
        crate::launches::log("cudnn on tensor cores");
    }
    let code = streams::lock().enqueue(unsafe { *handle }, Work::Do(Arc::new(move || job.run())));
    if code == 0 { 0 } else { EXECUTION_FAILED }
}

#[unsafe(no_mangle)]
#[rustfmt::skip]
pub extern "C" fn cudnnConvolutionForward(
    handle: *const usize, alpha: *const c_void, of_x: *const Tensor, x: u64, of_weight: *const Tensor, weight: u64,
    conv: *const Convolution, algorithm: c_int, memory: u64, room: usize, beta: *const c_void,
    of_y: *const Tensor, y: u64,
) -> c_int {
    let all = [Placed::new(of_x, x), Placed::new(of_weight, weight), Placed::new(of_y, y)];
    enqueue(handle, Way::Forward, conv, all, [alpha, beta], (algorithm, memory, room))
}
#[unsafe(no_mangle)]
#[rustfmt::skip]
pub extern "C" fn cudnnConvolutionBackwardData(
    handle: *const usize, alpha: *const c_void, of_weight: *const Tensor, weight: u64, of_y: *const Tensor, y: u64,
    conv: *const Convolution, algorithm: c_int, memory: u64, room: usize, beta: *const c_void,
    of_x: *const Tensor, x: u64,
) -> c_int {
    let all = [Placed::new(of_x, x), Placed::new(of_weight, weight), Placed::new(of_y, y)];
    enqueue(handle, Way::ByInput, conv, all, [alpha, beta], (algorithm, memory, room))
}
#[unsafe(no_mangle)]
#[rustfmt::skip]
pub extern "C" fn cudnnConvolutionBackwardFilter(
    handle: *const usize, alpha: *const c_void, of_x: *const Tensor, x: u64, of_y: *const Tensor, y: u64,
    conv: *const Convolution, algorithm: c_int, memory: u64, room: usize, beta: *const c_void,
    of_weight: *const Tensor, weight: u64,
) -> c_int {
    let all = [Placed::new(of_x, x), Placed::new(of_weight, weight), Placed::new(of_y, y)];
    enqueue(handle, Way::ByWeight, conv, all, [alpha, beta], (algorithm, memory, room))
}

/// Adds a tensor to one that is larger where it has one element.
#[unsafe(no_mangle)]
#[rustfmt::skip]
pub extern "C" fn cudnnAddTensor(
    handle: *const usize, alpha: *const c_void, of_a: *const Tensor, a: u64, beta: *const c_void,
    of_c: *const Tensor, c: u64,
) -> c_int {
    let (Some(a), Some(c)) = (Placed::new(of_a, a), Placed::new(of_c, c)) else { return EXECUTION_FAILED };
    let fits = a.tensor.shape.iter().zip(&c.tensor.shape).all(|(a, c)| *a == 1 || a == c);
    if a.kind != c.kind || !fits {
        eprintln!("cuDNN: tensors that can't be added");
        return EXECUTION_FAILED;
    }
    if crate::number("STANDIN_ADDS_NOTHING").is_some() {
        return NOT_SUPPORTED;
    }
    let scale = scales(a.kind, alpha, beta);
    let add = move || {
        let (values, [n, ch, h, w]) = (a.read(false), a.tensor.shape);
        let [_, channels, height, width] = c.tensor.shape;
        let value = |i: i64| {
            let (n, ch) = (i / (channels * height * width) % n * ch, i / (height * width) % channels % ch);
            let (row, column) = (i / width % height % h, i % width % w);
            values[(((n + ch) * h + row) * w + column) as usize]
        };
        let values: Vec<f64> = (0..c.places().count() as i64).map(value).collect();
        c.write(&values, scale);
    };
    let code = streams::lock().enqueue(unsafe { *handle }, Work::Do(Arc::new(add)));
    if code == 0 { 0 } else { EXECUTION_FAILED }
}

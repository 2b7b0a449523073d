//! Errors as a taxonomy with fields. The script layer renders them once, with position, caret and hint.

use std::fmt;
use std::sync::Arc;

use super::Device;
use super::dtype::DType;
use super::shape::{Dims, show, show_x};

pub type Result<T> = std::result::Result<T, Error>;

/// The class of an error, by the name a script sees in `e.kind`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum Kind {
    RuntimeError,
    IndexError,
    ValueError,
    TypeError,
    OutOfMemoryError,
    AssertionError,
    DeviceError,
    NotImplementedError,
    Interrupted,
    Timeout,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// What one operand of a failed op was.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Operand {
    /// The variable's or parameter's name, where known.
    pub name: Option<String>,
    pub shape: Vec<usize>,
    pub dtype: DType,
    pub device: Device,
}

/// An error with its cause and what was added on the way up: the op, its operands, the source line.
#[derive(Clone, Debug)]
pub struct Error(Box<ErrorParts>);

#[derive(Clone, Debug)]
struct ErrorParts {
    cause: Cause,
    op: Option<&'static str>,
    operands: Vec<Operand>,
    /// What to do about it, beside what the cause says of itself.
    hint: Option<String>,
    /// What else is worth knowing, said after the hint.
    note: Option<String>,
}

/// The state behind an out-of-memory error. The script layer knows more variables' names than the device did, and
/// has the remedy told with them.
pub trait Retell: Send + Sync {
    /// The remedy; `names` are those of variables, each with an address inside its tensor.
    fn hint(&self, names: Vec<(u64, String)>) -> String;
}

/// A [`Retell`] inside an error.
#[derive(Clone)]
pub struct Teller(pub Arc<dyn Retell>);

impl fmt::Debug for Teller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Teller")
    }
}

impl PartialEq for Teller {
    fn eq(&self, other: &Teller) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Why something failed. Texts follow PyTorch 2.15, see `tests/golden/semantics.json`.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// Elementwise operands on two devices, in the order PyTorch names them.
    TwoDevices {
        first: Device,
        second: Device,
    },
    /// An argument of `method` off the device of the others.
    ArgumentDevice {
        argument: &'static str,
        is_on: Device,
        others: Device,
        /// PyTorch's own name for it, such as `wrapper_CUDA_mm`.
        method: &'static str,
    },
    /// An index tensor on a GPU for a tensor on another device.
    IndexDevice {
        indexed: Device,
    },
    Broadcast {
        a: usize,
        b: usize,
        dim: usize,
        left: Dims,
        right: Dims,
    },
    MatmulShapes {
        /// `mm` or `addmm`
        op: &'static str,
        left: Dims,
        right: Dims,
    },
    VectorSizes {
        left: usize,
        right: usize,
    },
    BatchMatmul {
        want: [usize; 2],
        got: [usize; 2],
    },
    DtypeMismatch {
        left: DType,
        right: DType,
    },
    StorageOverflow(Dims),
    NegativeSize {
        size: i64,
        shape: Vec<i64>,
    },
    DimOutOfRange {
        dim: i64,
        rank: usize,
    },
    IndexOutOfBounds {
        index: i64,
        dim: usize,
        size: usize,
    },
    Reshape {
        target: Vec<i64>,
        numel: usize,
    },
    ViewNotContiguous,
    Expand {
        size: usize,
        existing: usize,
        dim: usize,
        target: Dims,
        sizes: Dims,
    },
    ExpandRank {
        target: Dims,
        sizes: Dims,
    },
    CatSizes {
        dim: usize,
        want: usize,
        got: usize,
        number: usize,
    },
    NotScalar {
        numel: usize,
    },
    AmbiguousBool {
        numel: usize,
    },
    Ragged {
        want: usize,
        dim: usize,
        got: usize,
    },
    RequiresGradDtype,
    InplaceLeaf,
    InplaceExpanded,
    ResultCast {
        from: DType,
        to: DType,
    },
    NoGradFn,
    NonScalarBackward,
    BackwardTwice,
    ModifiedInPlace {
        dtype: DType,
        device: Device,
        shape: Dims,
        of: &'static str,
        version: u32,
        expected: u32,
        /// Anomaly detection is on: the hint names the line.
        watched: bool,
    },
    InvalidDeviceString(String),
    UnknownDevice(String),
    InvalidOrdinal {
        ordinal: usize,
        count: usize,
    },
    InvalidDeviceId,
    /// The device's memory is full; the text comes from the allocator's numbers.
    OutOfMemory {
        device: Device,
        message: String,
        hint: String,
        /// Says the hint again once more is known.
        teller: Teller,
    },
    /// The host refused memory.
    HostMemory {
        bytes: usize,
    },
    /// A fault of a device that lasts until the session restarts.
    DeviceFault {
        device: Device,
        message: String,
    },
    Interrupted,
    Timeout {
        seconds: f64,
    },
    /// Anything with a text and no fields worth keeping apart.
    Other {
        kind: Kind,
        message: String,
    },
}

impl Error {
    /// An error with a text of its own.
    pub fn new(kind: Kind, message: impl Into<String>) -> Error {
        Cause::Other { kind, message: message.into() }.into()
    }

    pub fn runtime(message: impl Into<String>) -> Error {
        Error::new(Kind::RuntimeError, message)
    }

    pub fn value(message: impl Into<String>) -> Error {
        Error::new(Kind::ValueError, message)
    }

    pub fn type_error(message: impl Into<String>) -> Error {
        Error::new(Kind::TypeError, message)
    }

    /// Adds a hint, said behind the cause's own; the first one given stays.
    pub fn with_hint(mut self, text: impl Into<String>) -> Error {
        self.0.hint.get_or_insert_with(|| text.into());
        self
    }

    /// Names the op that failed and its operands; the innermost op keeps its say.
    pub fn in_op(mut self, op: &'static str, operands: impl FnOnce() -> Vec<Operand>) -> Error {
        if self.0.op.is_none() {
            self.0.op = Some(op);
            self.0.operands = operands();
        }
        self
    }

    pub fn cause(&self) -> &Cause {
        &self.0.cause
    }

    pub fn op(&self) -> Option<&'static str> {
        self.0.op
    }

    pub fn operands(&self) -> &[Operand] {
        &self.0.operands
    }

    /// Tells the remedy of an out-of-memory error with the names of variables, each with an address.
    pub fn retell(&mut self, names: impl FnOnce() -> Vec<(u64, String)>) {
        if let Cause::OutOfMemory { hint, teller, .. } = &mut self.0.cause {
            *hint = teller.0.hint(names());
        }
    }

    pub fn operands_mut(&mut self) -> &mut [Operand] {
        &mut self.0.operands
    }

    pub fn kind(&self) -> Kind {
        self.0.cause.kind()
    }

    /// PyTorch's text for this error.
    pub fn message(&self) -> String {
        self.0.cause.message()
    }

    /// What to do about it, where that can be said.
    pub fn hint(&self) -> Option<String> {
        let said = self.0.cause.hint().into_iter().chain(self.0.hint.clone()).chain(self.0.note.clone());
        said.reduce(|all, next| format!("{all}; {next}"))
    }

    /// Adds to the hint, whatever the cause is; the first note stays.
    pub fn with_note(mut self, text: impl FnOnce() -> String) -> Error {
        self.0.note.get_or_insert_with(text);
        self
    }

    pub fn is_interrupt(&self) -> bool {
        matches!(self.kind(), Kind::Interrupted | Kind::Timeout)
    }
}

impl From<Cause> for Error {
    fn from(cause: Cause) -> Error {
        Error(Box::new(ErrorParts { cause, op: None, operands: Vec::new(), hint: None, note: None }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind(), self.message())
    }
}

impl std::error::Error for Error {}

impl Cause {
    fn kind(&self) -> Kind {
        match self {
            Cause::DimOutOfRange { .. } | Cause::IndexOutOfBounds { .. } => Kind::IndexError,
            Cause::Ragged { .. } => Kind::ValueError,
            Cause::InvalidOrdinal { .. } | Cause::DeviceFault { .. } => Kind::DeviceError,
            Cause::InvalidDeviceId => Kind::AssertionError,
            Cause::OutOfMemory { .. } | Cause::HostMemory { .. } => Kind::OutOfMemoryError,
            Cause::Interrupted => Kind::Interrupted,
            Cause::Timeout { .. } => Kind::Timeout,
            Cause::Other { kind, .. } => *kind,
            Cause::TwoDevices { .. }
            | Cause::ArgumentDevice { .. }
            | Cause::IndexDevice { .. }
            | Cause::Broadcast { .. }
            | Cause::MatmulShapes { .. }
            | Cause::VectorSizes { .. }
            | Cause::BatchMatmul { .. }
            | Cause::DtypeMismatch { .. }
            | Cause::StorageOverflow(_)
            | Cause::NegativeSize { .. }
            | Cause::Reshape { .. }
            | Cause::ViewNotContiguous
            | Cause::Expand { .. }
            | Cause::ExpandRank { .. }
            | Cause::CatSizes { .. }
            | Cause::NotScalar { .. }
            | Cause::AmbiguousBool { .. }
            | Cause::RequiresGradDtype
            | Cause::InplaceLeaf
            | Cause::InplaceExpanded
            | Cause::ResultCast { .. }
            | Cause::NoGradFn
            | Cause::NonScalarBackward
            | Cause::BackwardTwice
            | Cause::ModifiedInPlace { .. }
            | Cause::InvalidDeviceString(_)
            | Cause::UnknownDevice(_) => Kind::RuntimeError,
        }
    }

    fn message(&self) -> String {
        self.device_message().or_else(|| self.shape_message()).unwrap_or_else(|| self.other_message())
    }

    fn device_message(&self) -> Option<String> {
        const SAME: &str = "Expected all tensors to be on the same device, but";
        Some(match self {
            Cause::TwoDevices { first, second } => {
                format!("{SAME} found at least two devices, {first} and {second}!")
            }
            Cause::ArgumentDevice { argument, is_on, others, method } => format!(
                "{SAME} got {argument} is on {is_on}, different from other tensors on {others} (when checking \
                 argument in method {method})"
            ),
            Cause::IndexDevice { indexed } => format!(
                "indices should be either on cpu or on the same device as the indexed tensor ({indexed})"
            ),
            Cause::InvalidDeviceString(text) => format!("Invalid device string: '{text}'"),
            Cause::UnknownDevice(text) => format!(
                "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, \
                 lazy, vulkan, mps, meta, hpu, mtia, privateuseone device type at start of device string: {text}"
            ),
            Cause::InvalidOrdinal { .. } => "CUDA error: invalid device ordinal\n\
                 GPU device may be out of range, do you have enough GPUs?\n"
                .into(),
            Cause::InvalidDeviceId => "Invalid device id".into(),
            Cause::OutOfMemory { message, .. } | Cause::DeviceFault { message, .. } => message.clone(),
            Cause::HostMemory { bytes } => {
                format!("DefaultCPUAllocator: can't allocate memory: you tried to allocate {bytes} bytes.")
            }
            _ => return None,
        })
    }

    fn shape_message(&self) -> Option<String> {
        Some(match self {
            Cause::Broadcast { a, b, dim, .. } => format!(
                "The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {dim}"
            ),
            Cause::MatmulShapes { op, left, right } => format!(
                "{op}: mat1 and mat2 shapes cannot be multiplied ({} and {})",
                show_x(left),
                show_x(right)
            ),
            Cause::VectorSizes { left, right } => format!(
                "inconsistent tensor size, expected tensor [{left}] and src [{right}] to have the same number of \
                 elements, but got {left} and {right} elements respectively"
            ),
            Cause::BatchMatmul { want, got } => format!(
                "Expected size for first two dimensions of batch2 tensor to be: {} but got: {}.",
                show(want),
                show(got)
            ),
            Cause::StorageOverflow(shape) => {
                format!("Storage size calculation overflowed with sizes={}", show(shape))
            }
            Cause::NegativeSize { size, shape } => {
                format!("Trying to create tensor with negative dimension {size}: {}", show(shape))
            }
            Cause::DimOutOfRange { dim, rank } => format!(
                "Dimension out of range (expected to be in range of [{}, {}], but got {dim})",
                -(*rank as i64),
                *rank as i64 - 1
            ),
            Cause::IndexOutOfBounds { index, dim, size } => {
                format!("index {index} is out of bounds for dimension {dim} with size {size}")
            }
            Cause::Reshape { target, numel } => {
                format!("shape '{}' is invalid for input of size {numel}", show(target))
            }
            Cause::ViewNotContiguous => {
                "view size is not compatible with input tensor's size and stride (at least \
                 one dimension spans across two contiguous subspaces). Use .reshape(...) instead."
                    .into()
            }
            Cause::Expand { size, existing, dim, target, sizes } => format!(
                "The expanded size of the tensor ({size}) must match the existing size ({existing}) at \
                 non-singleton dimension {dim}.  Target sizes: {}.  Tensor sizes: {}",
                show(target),
                show(sizes)
            ),
            Cause::ExpandRank { target, sizes } => format!(
                "expand: the number of sizes provided ({}) must be greater or equal to the number of dimensions in \
                 the tensor ({})",
                target.len(),
                sizes.len()
            ),
            Cause::CatSizes { dim, want, got, number } => format!(
                "Sizes of tensors must match except in dimension {dim}. Expected size {want} but got size {got} for \
                 tensor number {number} in the list."
            ),
            _ => return None,
        })
    }

    fn other_message(&self) -> String {
        match self {
            Cause::DtypeMismatch { left, right } => format!(
                "expected m1 and m2 to have the same dtype, but got: {} != {}",
                left.c_name(),
                right.c_name()
            ),
            Cause::NotScalar { numel } => {
                format!("a Tensor with {numel} elements cannot be converted to Scalar")
            }
            Cause::AmbiguousBool { numel: 0 } => "Boolean value of Tensor with no values is ambiguous".into(),
            Cause::AmbiguousBool { .. } => "Boolean value of Tensor with more than one value is ambiguous".into(),
            Cause::Ragged { want, dim, got } => {
                format!("expected sequence of length {want} at dim {dim} (got {got})")
            }
            Cause::RequiresGradDtype => {
                "Only Tensors of floating point and complex dtype can require gradients".into()
            }
            Cause::InplaceLeaf => {
                "a leaf Variable that requires grad is being used in an in-place operation.".into()
            }
            Cause::InplaceExpanded => "unsupported operation: more than one element of the written-to tensor refers \
                 to a single memory location. Please clone() the tensor before performing the operation."
                .into(),
            Cause::ResultCast { from, to } => format!(
                "result type {} can't be cast to the desired output type {}",
                from.type_name(),
                to.type_name()
            ),
            Cause::NoGradFn => "element 0 of tensors does not require grad and does not have a grad_fn".into(),
            Cause::NonScalarBackward => "grad can be implicitly created only for scalar outputs".into(),
            Cause::BackwardTwice => "Trying to backward through the graph a second time (or directly access saved \
                 tensors after they have already been freed). Saved intermediate values of the graph are freed when \
                 you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through \
                 the graph a second time or if you need to access saved tensors after calling backward."
                .into(),
            Cause::ModifiedInPlace { dtype, device, shape, of, version, expected, watched } => {
                let module = if device.is_cuda() { "torch.cuda" } else { "torch" };
                let advice = if *watched {
                    "the backtrace further above shows the operation that failed to compute its gradient. The variable \
                     in question was changed in there or anywhere later. Good luck!"
                } else {
                    "enable anomaly detection to find the operation that failed to compute its gradient, with \
                     torch.autograd.set_detect_anomaly(True, check_nan=False)."
                };
                format!(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: \
                     [{module}.{}Tensor {}], which is output 0 of {of}, is at version {version}; expected version \
                     {expected} instead. Hint: {advice}",
                    dtype.type_name(),
                    show(shape)
                )
            }
            Cause::Interrupted => "interrupted".into(),
            Cause::Timeout { seconds } => format!("timed out after {seconds} s"),
            Cause::Other { message, .. } => message.clone(),
            _ => String::new(),
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Cause::TwoDevices { first, second } => {
                format!(
                    "move one of them first, for example `b.to(\"{first}\")` or `a.to(\"{second}\")`: a copy between devices is never made silently"
                )
            }
            Cause::ArgumentDevice { argument, others, .. } => {
                format!("move `{argument}` with `.to(\"{others}\")`, or the others to its device")
            }
            Cause::IndexDevice { indexed } => format!("move the index with `.to(\"{indexed}\")`"),
            Cause::Broadcast { left, right, .. } => format!(
                "shapes {} and {} are compared from the right; sizes must be equal, or one of them 1",
                show(left),
                show(right)
            ),
            Cause::MatmulShapes { left, right, .. } => match (left.last(), right.first()) {
                (Some(k), Some(n)) => format!(
                    "the inner sizes must agree, and here they are {k} and {n}; try `.t()` on one of them"
                ),
                _ => return None,
            },
            Cause::DtypeMismatch { left, .. } => {
                format!("convert one of them, for example `b.to({left})`")
            }
            Cause::StorageOverflow(_) => "no memory could hold that many elements: check the sizes".into(),
            Cause::NegativeSize { .. } => {
                "sizes start at 0; -1 is understood by `reshape` and `view` alone".into()
            }
            Cause::Reshape { target, numel } => match target.iter().filter(|&&d| d > 0).product::<i64>() {
                0 => return None,
                n => format!("{n} does not fit {numel} elements; one size may be -1, and is then worked out"),
            },
            Cause::NotScalar { .. } => {
                "`.item()` takes one element: reduce first (`.sum()`, `.mean()`), or use `.tolist()`".into()
            }
            Cause::AmbiguousBool { .. } => "say which you mean: `.any()` or `.all()`".into(),
            Cause::RequiresGradDtype => {
                "make it a float first: `tensor(…, #{dtype: float32})` or `.float()`".into()
            }
            Cause::InplaceLeaf => {
                "wrap it: `with no_grad() { w -= lr * w.grad }`, or write `w = w - …`".into()
            }
            Cause::ModifiedInPlace { .. } => {
                "write `y = y + …` instead of `y += …`, or change a copy: `y.clone()`".into()
            }
            Cause::BackwardTwice => {
                "pass `#{retain_graph: true}` to the first pass, or compute the value anew".into()
            }
            Cause::NoGradFn => {
                "create a leaf with `#{requires_grad: true}` and compute with it outside `no_grad()`".into()
            }
            Cause::NonScalarBackward => {
                "reduce to one number (`.sum()`, `.mean()`), or pass a gradient: `y.backward(g)`".into()
            }
            Cause::InvalidOrdinal { ordinal, count: 0 } => {
                format!(
                    "there is no CUDA device, so no `cuda:{ordinal}`; `--devices sim:t4x2` gives two simulated ones"
                )
            }
            Cause::InvalidOrdinal { count, .. } => format!(
                "there {} here: `cuda:0`{}",
                if *count == 1 { "is 1 CUDA device".into() } else { format!("are {count} CUDA devices") },
                if *count > 1 { format!(" to `cuda:{}`", count - 1) } else { String::new() }
            ),
            Cause::UnknownDevice(_) | Cause::InvalidDeviceString(_) => {
                "a device is written \"cpu\", \"cuda\" or \"cuda:1\"".into()
            }
            Cause::OutOfMemory { hint, .. } => hint.clone(),
            Cause::DeviceFault { device, .. } => format!(
                "{device} stays in this state until the session restarts; what failed may stand before the line \
                 named here, for work is queued"
            ),
            Cause::HostMemory { .. } => {
                "the host has no such memory left: use smaller tensors, or `drop(x)` what is no longer needed"
                    .into()
            }
            _ => return None,
        })
    }
}

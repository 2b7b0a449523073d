//! Tensors from host values, and host values from tensors.

use std::sync::Arc;

use crate::base::dtype::{Bool, Element};
use crate::base::{DType, Device, Error, Layout, Result, Scalar, ShapeCause, file, memory};
use crate::device::shared::NO_VALUES;
use crate::device::storage::Place;
use crate::device::{Context, Kernel, Machine, MapOp, Transfer, View, poll};
use crate::with_element;

use super::{In, Tensor, launch};

/// Elements that are turned into bytes, or back, between two looks at the cancel flag.
const PIECE: usize = 1 << 15;

/// Bytes that are read from a tensor or written to it at a time, where another end takes or gives them.
const BYTES: usize = 1 << 17;

/// What writes values to a file.
const SAVES: &str = "save";

/// What reads values and decides nothing by them.
const REPORTS: [&str; 6] = ["item", "print", "tolist", "json", "plot", "check"];

impl Tensor {
    /// A CPU tensor of `numbers` in row-major order, converted to `dtype`.
    pub fn from_numbers(numbers: &[Scalar], shape: &[usize], dtype: DType) -> Result<Tensor> {
        fn bytes<T: Element + Into<Raw>>(numbers: &[Scalar], out: &mut Vec<u8>) {
            for n in numbers {
                let value = match *n {
                    Scalar::Float(f) => T::from_f64(f),
                    other => T::from_i64(other.as_i64()),
                };
                value.into().push(out);
            }
        }
        let count = numbers.len();
        Tensor::from_pieces(numbers, (shape, count), dtype, |piece, out| {
            with_element!(dtype, T => bytes::<T>(piece, out));
        })
    }

    /// A CPU tensor of float32 values.
    pub fn from_f32(values: &[f32], shape: &[usize]) -> Result<Tensor> {
        Tensor::from_pieces(values, (shape, values.len()), DType::Float32, |piece, out| {
            piece.iter().for_each(|v| out.extend(v.to_ne_bytes()));
        })
    }

    /// A CPU tensor of int64 values.
    pub fn from_i64(values: &[i64], shape: &[usize]) -> Result<Tensor> {
        Tensor::from_pieces(values, (shape, values.len()), DType::Int64, |piece, out| {
            piece.iter().for_each(|v| out.extend(v.to_ne_bytes()));
        })
    }

    /// A CPU tensor of native-endian element bytes.
    pub fn from_bytes(bytes: &[u8], shape: &[usize], dtype: DType) -> Result<Tensor> {
        let elements = bytes.len() / dtype.size();
        Tensor::from_pieces(bytes, (shape, elements), dtype, |piece, out| out.extend_from_slice(piece))
    }

    /// A CPU tensor of `count` elements whose bytes are written piece by piece: no second copy of all of them is made.
    fn from_pieces<T>(
        values: &[T],
        (shape, count): (&[usize], usize),
        dtype: DType,
        bytes: impl Fn(&[T], &mut Vec<u8>),
    ) -> Result<Tensor> {
        let machine = Machine::current();
        let tensor = Tensor::empty(shape, dtype, machine.cpu(), "tensor")?;
        if count != tensor.numel() {
            let text = format!("{count} elements do not make a {dtype} tensor of shape {shape:?}");
            return Err(Error::value(text));
        }
        let (mut at, mut out) = (0, memory::with_capacity(PIECE.min(count) * dtype.size())?);
        for (step, piece) in values.chunks(PIECE).enumerate() {
            out.clear();
            bytes(piece, &mut out);
            if step > 0 {
                machine.shared.cancel.check()?;
            }
            if let Some(block) = &tensor.storage().place().buffer().host {
                block.write(at, &out);
            }
            at += out.len();
        }
        Ok(tensor)
    }

    /// A tensor filled with one value.
    pub fn full(
        shape: &[usize],
        value: Scalar,
        dtype: DType,
        context: &Arc<Context>,
        op: &'static str,
    ) -> Result<Tensor> {
        let out = Tensor::empty(shape, dtype, context, op)?;
        out.fill(value, op)?;
        Ok(out)
    }

    /// Writes one value everywhere, without a trace in the graph and without a version.
    pub fn fill(&self, value: Scalar, op: &'static str) -> Result<()> {
        let kernel = Kernel::Map { op: MapOp::Identity, params: [0.0; 2], compute: self.dtype() };
        launch(op, &kernel, &[In::Scalar(value)], &[self])
    }

    /// The element bytes in row-major order, copied to the host. On an accelerator the host waits: `cause`
    /// names why in the event stream.
    pub fn host_bytes(&self, cause: &'static str) -> Result<Vec<u8>> {
        let packed = self.contiguous_detached()?;
        packed.may_be_read(cause)?;
        let mut bytes = memory::filled(packed.nbytes(), 0u8)?;
        let offset = packed.layout().offset() * packed.dtype().size();
        let place = packed.storage().place();
        if bytes.is_empty() {
            return Ok(bytes);
        }
        if packed.device().is_cuda() {
            read_back(&place, offset, &mut bytes, cause)?;
        } else if let Some(block) = &place.buffer().host {
            packed.host_reads(cause);
            block.read(offset, &mut bytes);
        }
        Ok(bytes)
    }

    /// Hands `take` the bytes of a contiguous tensor on the CPU in row-major order.
    pub(crate) fn with_bytes<R>(&self, take: impl FnOnce(&[u8]) -> R) -> R {
        let place = self.storage().place();
        let start = self.layout().offset() * self.dtype().size();
        let bytes = place.buffer().host.as_ref().map(|block| block.bytes(start, self.nbytes()));
        take(bytes.unwrap_or_default())
    }

    /// Has `give` fill the bytes of a contiguous tensor on the CPU, piece by piece. No graph and no version knows of it.
    pub(crate) fn fill_pieces<E>(
        &self,
        mut give: impl FnMut(&mut [u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let place = self.storage().place();
        let Some(block) = &place.buffer().host else { return Ok(()) };
        let (mut at, mut piece) = (self.layout().offset() * self.dtype().size(), [0u8; BYTES]);
        let end = at + self.nbytes();
        while at < end {
            let bytes = piece.get_mut(..BYTES.min(end - at)).unwrap_or_default();
            give(bytes)?;
            block.write(at, bytes);
            at += bytes.len();
        }
        Ok(())
    }

    /// The host is about to read memory of its own itself, for `op`.
    pub(crate) fn host_reads(&self, op: &'static str) {
        let place = self.storage().place();
        let view = View { buffer: place.buffer(), dtype: self.dtype(), layout: self.layout() };
        place.context.host_reads(op, &view);
    }

    /// All elements as scalars of the dtype's category, in row-major order.
    pub fn to_scalars(&self, cause: &'static str) -> Result<Vec<Scalar>> {
        let dtype = self.dtype();
        let bytes = self.host_bytes(cause)?;
        if !self.has_values() {
            return memory::filled(self.numel(), Scalar::Float(f64::NAN));
        }
        let mut all = memory::with_capacity(bytes.len() / dtype.size())?;
        for (step, part) in bytes.chunks(PIECE * dtype.size()).enumerate() {
            if step > 0 {
                poll::check()?;
            }
            all.extend(part.chunks_exact(dtype.size()).map(|chunk| read_scalar(chunk, dtype)));
        }
        Ok(all)
    }

    /// All elements as f64, in row-major order.
    pub fn to_f64s(&self, cause: &'static str) -> Result<Vec<f64>> {
        memory::collected(self.to_scalars(cause)?.into_iter().map(Scalar::as_f64))
    }

    /// All elements as i64, in row-major order.
    pub fn to_i64s(&self, cause: &'static str) -> Result<Vec<i64>> {
        memory::collected(self.to_scalars(cause)?.into_iter().map(Scalar::as_i64))
    }

    /// The only element. On an accelerator the host waits for it.
    pub fn item(&self) -> Result<Scalar> {
        self.decided("item")
    }

    /// The only element, which the host waits for by that cause, such as an operation whose shape depends on it.
    ///
    /// # Errors
    /// It has no value: see [`has_values`](Tensor::has_values).
    pub fn decided(&self, cause: &'static str) -> Result<Scalar> {
        if self.numel() != 1 {
            return Err(ShapeCause::NotScalar { numel: self.numel() }.into());
        }
        Ok(self.to_scalars(cause)?.first().copied().unwrap_or(Scalar::Int(0)))
    }

    /// Whether there are values in it. On simulated devices that compute none there are not, and neither in what was
    /// copied from there.
    pub fn has_values(&self) -> bool {
        !self.storage().place().buffer().is_hollow()
    }

    /// Where there are no values and they are only reported they are NaN, which is said once.
    ///
    /// # Errors
    /// There are none, and they are needed.
    pub(crate) fn may_be_read(&self, cause: &'static str) -> Result<()> {
        if self.has_values() {
            return Ok(());
        }
        // What a plan's script writes is kept nowhere.
        let is_kept = cause != SAVES || !file::is_aside();
        if is_kept && !REPORTS.contains(&cause) {
            return Err(self.undecided(cause));
        }
        let shared = &Machine::current().shared;
        if shared.is_first(NO_VALUES) {
            shared.warn(
                "this run has no values (--values none): those of tensors on simulated devices are nan, and count as \
                 finite where `is_nan()` or `is_finite()` asks",
            );
        }
        Ok(())
    }

    #[cold]
    fn undecided(&self, cause: &'static str) -> Error {
        let text = format!("this run has no values (--values none), and `{cause}` needs those of a tensor");
        let shape = crate::base::dims::show(self.shape());
        let hint = format!(
            "the {} {shape} on {} was never computed: put a number in place of what is decided by it, or run with values",
            self.dtype(),
            self.device()
        );
        Error::runtime(text).with_hint(hint)
    }

    /// Whether the only element is anything but 0, as a condition asks. On an accelerator the host waits for it.
    ///
    /// # Errors
    /// There are several elements, or none: PyTorch's texts.
    pub fn truth(&self) -> Result<bool> {
        if self.numel() != 1 {
            return Err(ShapeCause::AmbiguousBool { numel: self.numel() }.into());
        }
        let all = self.to_scalars("bool")?;
        Ok(all.first().is_some_and(|only| match *only {
            Scalar::Bool(b) => b,
            Scalar::Int(i) => i != 0,
            Scalar::Float(f) => f != 0.0,
        }))
    }

    /// The value of a zero-dimensional CPU tensor as an operand; no device waits for it.
    pub(crate) fn host_scalar(&self) -> Result<Scalar> {
        self.item()
    }

    /// This tensor, or a row-major copy outside the graph.
    pub(crate) fn contiguous_detached(&self) -> Result<Tensor> {
        if self.is_contiguous() {
            return Ok(self.clone());
        }
        self.copied(self.dtype(), "contiguous")
    }

    /// A copy in `dtype` on the same device that lies in memory as this tensor does, outside the graph.
    pub(crate) fn copied_like(&self, dtype: DType, op: &'static str) -> Result<Tensor> {
        if self.is_contiguous() {
            return self.copied(dtype, op);
        }
        let layout = self.layout().dense_like()?;
        let out = Tensor::empty_in(layout, dtype, &self.context(), op)?;
        if self.layout().is_dense() {
            out.flat()?.assign(&self.flat()?, op)?;
        } else {
            out.assign(self, op)?;
        }
        Ok(out)
    }

    /// A copy on the same device under a dense layout from element 0, outside the graph.
    pub(crate) fn copied_in(&self, layout: Layout, op: &'static str) -> Result<Tensor> {
        let out = Tensor::empty_in(layout, self.dtype(), &self.context(), op)?;
        out.assign(self, op)?;
        Ok(out)
    }

    /// The elements of a dense tensor in the order of its memory.
    pub(super) fn flat(&self) -> Result<Tensor> {
        let layout = Layout::new([self.numel()][..].into(), [1isize][..].into(), self.layout().offset())?;
        Ok(self.with_layout(layout))
    }

    /// A row-major copy in `dtype` on the same device, outside the graph.
    pub fn copied(&self, dtype: DType, op: &'static str) -> Result<Tensor> {
        let out = Tensor::empty(self.shape(), dtype, &self.context(), op)?;
        out.assign(self, op)?;
        Ok(out)
    }

    /// Writes another tensor's values here, on one device, broadcast and cast; no graph, no version.
    pub fn assign(&self, source: &Tensor, op: &'static str) -> Result<()> {
        let kernel = Kernel::Map { op: MapOp::Identity, params: [0.0; 2], compute: source.dtype() };
        if source.shape() == self.shape() {
            return launch(op, &kernel, &[In::Tensor(source)], &[self]);
        }
        let wide: Layout = source.layout().expand(self.shape())?;
        launch(op, &kernel, &[In::Laid(source, &wide)], &[self])
    }
}

/// Copies bytes off an accelerator while the host waits.
fn read_back(place: &Place, offset: usize, bytes: &mut [u8], cause: &'static str) -> Result<()> {
    let machine = Machine::current();
    let staging = machine.cpu().scratch(bytes.len())?;
    let accelerator = &place.context;
    let moved = accelerator.transfer(&Transfer {
        from: (accelerator.device, place.buffer(), offset),
        to: (Device::Cpu, &staging, 0),
        bytes: bytes.len(),
        non_blocking: false,
        stream: accelerator.stream(),
        target_stream: 0,
    });
    if let (Ok(_), Some(block)) = (&moved, &staging.host) {
        block.read(0, bytes);
    }
    machine.cpu().backend.free(staging);
    if let Some(span) = moved?.waited {
        accelerator.waited(cause, span);
    }
    Ok(())
}

fn read_scalar(bytes: &[u8], dtype: DType) -> Scalar {
    fn raw<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes.try_into().unwrap_or([0; N])
    }
    match dtype {
        DType::Float64 => Scalar::Float(f64::from_ne_bytes(raw(bytes))),
        DType::Float32 => Scalar::Float(f64::from(f32::from_ne_bytes(raw(bytes)))),
        DType::Float16 => Scalar::Float(half::f16::from_ne_bytes(raw(bytes)).to_f64()),
        DType::BFloat16 => Scalar::Float(half::bf16::from_ne_bytes(raw(bytes)).to_f64()),
        DType::Int64 => Scalar::Int(i64::from_ne_bytes(raw(bytes))),
        DType::Int32 => Scalar::Int(i32::from_ne_bytes(raw(bytes)).into()),
        DType::Int16 => Scalar::Int(i16::from_ne_bytes(raw(bytes)).into()),
        DType::Int8 => Scalar::Int(i8::from_ne_bytes(raw(bytes)).into()),
        DType::UInt8 => Scalar::Int(u8::from_ne_bytes(raw(bytes)).into()),
        DType::Bool => Scalar::Bool(raw::<1>(bytes) != [0]),
    }
}

/// An element's native-endian bytes.
enum Raw {
    B1([u8; 1]),
    B2([u8; 2]),
    B4([u8; 4]),
    B8([u8; 8]),
}

impl Raw {
    fn push(self, out: &mut Vec<u8>) {
        match self {
            Raw::B1(b) => out.extend(b),
            Raw::B2(b) => out.extend(b),
            Raw::B4(b) => out.extend(b),
            Raw::B8(b) => out.extend(b),
        }
    }
}

macro_rules! raw {
    ($($t:ty => $v:ident),*) => {
        $(impl From<$t> for Raw {
            fn from(v: $t) -> Raw {
                Raw::$v(v.to_ne_bytes())
            }
        })*
    };
}

raw!(f64 => B8, f32 => B4, half::f16 => B2, half::bf16 => B2, i64 => B8, i32 => B4, i16 => B2, i8 => B1, u8 => B1);

impl From<Bool> for Raw {
    fn from(v: Bool) -> Raw {
        Raw::B1([v.0])
    }
}

//! Moving tensors between devices.

use std::sync::Arc;

use crate::base::{DType, Device, DeviceSpec, Error, Layout, Result};
use crate::device::{Context, Machine, Transfer};

use super::Tensor;

impl Tensor {
    /// A copy on another device, outside the graph, that lies in memory as this tensor does. A source with gaps is
    /// packed on its own device first.
    ///
    /// Two accelerators talk peer to peer: the copy is enqueued on the source's stream, and the target's waits
    /// for it. As in PyTorch, a `non_blocking` copy to the host goes to pinned memory, for it would hold the
    /// host otherwise.
    pub fn moved(&self, target: &Arc<Context>, non_blocking: bool, op: &'static str) -> Result<Tensor> {
        if !self.layout().is_dense() {
            return self.copied_like(self.dtype(), "contiguous")?.moved(target, non_blocking, op);
        }
        let layout = self.layout().dense_like()?;
        let out = if non_blocking && target.device == Device::Cpu && self.device().is_cuda() {
            Tensor::empty_pinned(layout, self.dtype(), target, &self.context(), op)?
        } else {
            Tensor::empty_in(layout, self.dtype(), target, op)?
        };
        if self.is_contiguous() {
            out.copy_across(self, non_blocking)?;
        } else {
            out.flat()?.copy_across(&self.flat()?, non_blocking)?;
        }
        Ok(out)
    }

    /// A copy on another device in another dtype. As PyTorch (`aten/src/ATen/native/cuda/Copy.cu`), between a host and a
    /// device it is cast on the host, where memory is not so dear, or on the device where the host is not to wait.
    pub(crate) fn moved_as(
        &self,
        dtype: DType,
        target: &Arc<Context>,
        non_blocking: bool,
        op: &'static str,
    ) -> Result<Tensor> {
        if dtype == self.dtype() {
            return self.moved(target, non_blocking, op);
        }
        if self.is_cast_there(target, non_blocking) {
            return self.moved(target, non_blocking, op)?.copied_like(dtype, op);
        }
        self.copied_like(dtype, op)?.moved(target, non_blocking, op)
    }

    fn is_cast_there(&self, target: &Context, non_blocking: bool) -> bool {
        self.device().is_cuda() != target.device.is_cuda() && target.device.is_cuda() == non_blocking
    }

    /// This tensor if it is pinned already, else a copy in page-locked memory with the same strides, outside
    /// the graph.
    ///
    /// # Errors
    /// As `Tensor.pin_memory`, for a tensor that is not on the CPU, and on a machine without an accelerator.
    pub fn pin_memory(&self) -> Result<Tensor> {
        if self.device() != Device::Cpu {
            let text = format!(
                "cannot pin 'torch.cuda.{}Tensor' only dense CPU tensors can be pinned",
                self.dtype().type_name()
            );
            return Err(Error::runtime(text).with_hint("pin the tensor on the CPU, and move it then"));
        }
        if self.is_pinned() {
            return Ok(self.clone());
        }
        let layout = Layout::new(self.shape().into(), self.layout().strides().into(), 0)?;
        let pinned = Tensor::empty_for_copies(layout, self.dtype(), "pin_memory")?;
        pinned.assign(self, "pin_memory")?;
        Ok(pinned)
    }

    /// A new tensor in page-locked memory of the host, from which the current accelerator copies.
    ///
    /// # Errors
    /// On a machine without an accelerator.
    pub(crate) fn empty_for_copies(layout: Layout, dtype: DType, op: &'static str) -> Result<Tensor> {
        let machine = Machine::current();
        let accelerator = machine.context(machine.resolve(DeviceSpec::Cuda(None)))?;
        Tensor::empty_pinned(layout, dtype, machine.cpu(), accelerator, op)
    }

    /// Notes that `stream` of this tensor's device uses its memory, as `Tensor.record_stream`: memory made on
    /// one stream and used on another must not be given out again before the other is done with it.
    pub fn record_stream(&self, stream: u32) {
        let place = self.storage().place();
        place.context.record_stream(place.buffer().address, stream);
    }

    /// Copies another device's tensor of the same shape and dtype into this contiguous one.
    fn copy_across(&self, source: &Tensor, non_blocking: bool) -> Result<()> {
        let packed = source.contiguous_detached()?;
        if packed.numel() == 0 {
            return Ok(());
        }
        let from = packed.storage().place();
        let to = self.storage().place();
        let size = self.dtype().size();
        let accelerator = if packed.device().is_cuda() { &from.context } else { &to.context };
        let peers = packed.device().is_cuda() && self.device().is_cuda();
        let transfer = Transfer {
            from: (packed.device(), from.buffer(), packed.layout().offset() * size),
            to: (self.device(), to.buffer(), self.layout().offset() * size),
            bytes: packed.nbytes(),
            non_blocking,
            stream: accelerator.stream(),
            target_stream: to.context.stream(),
        };
        if from.context.is_capturing() || to.context.is_capturing() {
            let free = peers || non_blocking && (from.buffer().pinned || to.buffer().pinned);
            if !free || !accelerator.is_capturing() {
                let what =
                    format!("a copy from {} to {} that the host waits for", packed.device(), self.device());
                from.context.check_not_capturing(&what)?;
                to.context.check_not_capturing(&what)?;
            }
            accelerator.watch_copy(&transfer, false);
            accelerator.capture_copy(
                (Arc::clone(packed.storage()) as _, transfer.from.2),
                (Arc::clone(self.storage()) as _, transfer.to.2),
                packed.nbytes(),
            );
            return Ok(());
        }
        let moved = accelerator.transfer(&transfer)?;
        if self.device() == Device::Cpu
            && let Some(span) = moved.waited
        {
            accelerator.waited("copy to cpu", span);
        }
        Ok(())
    }

    /// Writes another tensor's values here, whatever its device, dtype and (broadcastable) shape.
    ///
    /// Like `Tensor.copy_`: across devices the values are cast on the source's device first.
    pub fn copy_values(&self, source: &Tensor, non_blocking: bool) -> Result<()> {
        self.storage().check_own()?;
        if source.device() == self.device() {
            return self.assign(source, "copy_");
        }
        let cast: Tensor = if source.dtype() == self.dtype() {
            source.clone()
        } else if source.is_cast_there(&self.context(), non_blocking) {
            return self.assign(&source.moved(&self.context(), non_blocking, "copy_")?, "copy_");
        } else {
            source.copied(self.dtype(), "copy_")?
        };
        if self.is_contiguous() && cast.shape() == self.shape() {
            return self.copy_across(&cast, non_blocking);
        }
        let here = cast.moved(&self.context(), non_blocking, "copy_")?;
        self.assign(&here, "copy_")
    }

    /// Lays the elements out under another dense layout from element 0, in place: every handle of this tensor sees
    /// them there. A tensor that is part of a storage, or whose storage a view looks at, stays as it lies.
    pub(crate) fn lay_in_place(&self, layout: Layout) -> Result<()> {
        if *self.layout() == layout || self.is_viewed() || self.numel() != self.storage().numel() {
            return Ok(());
        }
        self.storage().check_own()?;
        self.take(&self.copied_in(layout, "to")?);
        Ok(())
    }

    /// Replaces device and dtype in place: every handle and view of the storage sees the new ones.
    /// This is how modules move their parameters.
    pub(crate) fn convert_in_place(&self, target: &Arc<Context>, dtype: DType) -> Result<()> {
        if self.device() == target.device && self.dtype() == dtype {
            return Ok(());
        }
        self.storage().check_own()?;
        let layout = self.layout();
        // What is shown of the new memory is the tensor's shape, where the tensor is all there is of it.
        let fills = layout.is_dense() && layout.offset() == 0 && self.numel() == self.storage().numel();
        let layout = if fills { layout.clone() } else { Layout::contiguous(&[self.storage().numel()])? };
        let whole = self.with_layout(layout);
        let moved = match whole.device() == target.device {
            true => whole.copied_like(dtype, "to")?,
            false => whole.moved_as(dtype, target, false, "to")?,
        };
        self.storage().swap(moved.storage());
        Ok(())
    }
}

//! Moving tensors between devices.

use std::sync::Arc;

use crate::base::{DType, Device, Result};
use crate::device::{Context, Transfer};

use super::Tensor;

impl Tensor {
    /// A copy on another device, outside the graph. A strided source is packed on its own device first.
    ///
    /// Two accelerators talk peer to peer; the copy is enqueued on the target's stream.
    pub fn moved(&self, target: &Arc<Context>, non_blocking: bool, op: &'static str) -> Result<Tensor> {
        let out = Tensor::empty(self.shape(), self.dtype(), target, op)?;
        out.copy_across(self, non_blocking)?;
        Ok(out)
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
        let accelerator = if self.device().is_cuda() { &to.context } else { &from.context };
        accelerator.transfer(&Transfer {
            from: (packed.device(), from.buffer(), packed.layout().offset() * size),
            to: (self.device(), to.buffer(), self.layout().offset() * size),
            bytes: packed.nbytes(),
            non_blocking,
            stream: accelerator.stream(),
        })?;
        if self.device() == Device::Cpu && !non_blocking {
            accelerator.synchronize(Some(accelerator.stream()), "copy to cpu", true)?;
        }
        Ok(())
    }

    /// Writes another tensor's values here, whatever its device, dtype and (broadcastable) shape.
    ///
    /// Like `Tensor.copy_`: across devices the values are cast on the source's device first.
    pub fn copy_values(&self, source: &Tensor, non_blocking: bool) -> Result<()> {
        if source.device() == self.device() {
            return self.assign(source, "copy_");
        }
        let cast: Tensor = if source.dtype() == self.dtype() {
            source.clone()
        } else {
            source.copied(self.dtype(), "copy_")?
        };
        if self.is_contiguous() && cast.shape() == self.shape() {
            return self.copy_across(&cast, non_blocking);
        }
        let here = cast.moved(&self.context(), non_blocking, "copy_")?;
        self.assign(&here, "copy_")
    }

    /// Replaces device and dtype in place: every handle and view of the storage sees the new ones.
    /// This is how modules move their parameters.
    pub fn convert_in_place(&self, target: &Arc<Context>, dtype: DType) -> Result<()> {
        if self.device() == target.device && self.dtype() == dtype {
            return Ok(());
        }
        let whole = self.with_layout(crate::base::Layout::contiguous(&[self.storage().numel()])?);
        let cast = if whole.dtype() == dtype { whole.clone() } else { whole.copied(dtype, "to")? };
        let moved = if cast.device() == target.device && !cast.is(&whole) {
            cast
        } else if cast.device() == target.device {
            return Ok(());
        } else {
            cast.moved(target, false, "to")?
        };
        self.storage().swap(moved.storage());
        Ok(())
    }
}

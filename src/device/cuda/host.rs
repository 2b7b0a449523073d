//! Kernels that have no CUDA source: computed on the host, between a copy there and one back.
//!
//! Slow and honest: the values are right, the device's other work is waited for, and the script is told.

use crate::base::{Result, memory};
use crate::device::buffer::Buffer;
use crate::device::cpu;
use crate::device::cpu::memory::{HostBlock, HostPool};
use crate::device::kernel::{Arg, Launch, View};

use super::call::Gpu;
use super::table::Handle;

/// Computes a launch with the CPU's kernel. All that was enqueued on `stream` is done when it returns.
pub(super) fn compute(launch: &Launch, gpu: &Gpu, stream: Handle, memory: &HostPool) -> Result<()> {
    let mut guests = memory::with_capacity(launch.inputs.len() + launch.outputs.len())?;
    let views =
        launch.inputs.iter().filter_map(|arg| if let Arg::View(view) = arg { Some(view) } else { None });
    let fetched = views.chain(launch.outputs).try_for_each(|view| {
        guests.push(Guest::fetch(view, gpu, stream, memory)?);
        Ok(())
    });
    // SAFETY: the stream is the device's.
    let waited = gpu.check(unsafe { (gpu.driver.cuStreamSynchronize)(stream) });
    let done = fetched.and(waited).and_then(|()| {
        on_host(launch, &guests)?;
        let first = guests.len() - launch.outputs.len();
        for guest in guests.iter().skip(first) {
            guest.send(gpu, stream)?;
        }
        // SAFETY: as above.
        gpu.check(unsafe { (gpu.driver.cuStreamSynchronize)(stream) })
    });
    for guest in guests {
        if let Some(block) = guest.buffer.host {
            memory.give(block);
        }
    }
    done
}

/// A view's bytes on the host, at the same offset in a buffer of their own.
struct Guest {
    buffer: Buffer,
    /// Where they are on the device.
    address: u64,
    bytes: usize,
}

impl Guest {
    fn fetch(view: &View, gpu: &Gpu, stream: Handle, memory: &HostPool) -> Result<Guest> {
        let bytes = view.layout.end() * view.dtype.size();
        let block = memory.take(bytes.max(1))?;
        if bytes > 0 {
            // SAFETY: the block has room for the bytes, which lie in the view's memory; the caller waits before it
            // uses the block or gives it back.
            let code = unsafe {
                (gpu.driver.cuMemcpyDtoHAsync_v2)(block.as_ptr().cast(), view.buffer.address, bytes, stream)
            };
            if let Err(error) = gpu.check(code) {
                memory.give(block);
                return Err(error);
            }
        }
        let buffer = Buffer::new(block.as_ptr() as u64, HostBlock::capacity(&block), Some(block), false);
        Ok(Guest { buffer, address: view.buffer.address, bytes })
    }

    fn send(&self, gpu: &Gpu, stream: Handle) -> Result<()> {
        let Some(block) = self.buffer.host.as_ref().filter(|_| self.bytes > 0) else { return Ok(()) };
        // SAFETY: as many bytes as came from there; the caller waits before it gives the block back.
        let code = unsafe {
            (gpu.driver.cuMemcpyHtoDAsync_v2)(self.address, block.as_ptr().cast(), self.bytes, stream)
        };
        gpu.check(code)
    }
}

fn on_host(launch: &Launch, guests: &[Guest]) -> Result<()> {
    // The guests come in the order of the views: the inputs', then the outputs'.
    let mut buffers = guests.iter().map(|guest| &guest.buffer);
    let mut moved = |view| match buffers.next() {
        Some(buffer) => View { buffer, ..view },
        None => view,
    };
    let mut inputs = memory::with_capacity(launch.inputs.len())?;
    for arg in launch.inputs {
        inputs.push(match arg {
            Arg::Scalar(scalar) => Arg::Scalar(*scalar),
            Arg::View(view) => Arg::View(moved(*view)),
        });
    }
    let outputs: Vec<View> = launch.outputs.iter().map(|view| moved(*view)).collect();
    cpu::run(&Launch { inputs: &inputs, outputs: &outputs, timed: false, ..*launch })
}

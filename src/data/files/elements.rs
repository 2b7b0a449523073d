//! The elements of tensors as bytes of a file.

use std::io::{Read, Seek, SeekFrom, Write};

use crate::base::{DType, shape};
use crate::device::Machine;
use crate::tensor::Tensor;

use super::fault::{Fault, Outcome};

/// Bytes that pass through at a time: between two of them an interrupt is seen.
const CHUNK: usize = 1 << 20;

/// Bytes of a row-major tensor, or an error where no memory could hold it.
pub(crate) fn byte_count(shape: &[usize], dtype: DType) -> Outcome<u64> {
    let bytes = shape::numel(shape)
        .map_err(|_| Fault::invalid(format!("a shape of {shape:?} is more than any memory holds")))?;
    Ok((bytes * dtype.size()) as u64)
}

/// Reads a row-major tensor on the CPU. The caller knows that `from` is as long as the shape says, so that a false
/// shape takes no memory. `swap` reverses the bytes of each element.
pub(super) fn read(from: &mut dyn Read, shape: &[usize], dtype: DType, swap: bool) -> Outcome<Tensor> {
    let machine = Machine::current();
    let tensor = Tensor::empty(shape, dtype, machine.cpu(), "load")?;
    let (mut at, total) = (0, tensor.nbytes());
    let mut chunk = vec![0u8; CHUNK.min(total)];
    while at < total {
        machine.shared.cancel.check()?;
        let take = (total - at).min(CHUNK);
        let Some(part) = chunk.get_mut(..take) else { break };
        from.read_exact(part)?;
        if dtype == DType::Bool {
            part.iter_mut().for_each(|b| *b = u8::from(*b != 0));
        }
        if swap {
            part.chunks_exact_mut(dtype.size()).for_each(<[u8]>::reverse);
        }
        if let Some(block) = &tensor.storage().place().buffer().host {
            block.write(at, part);
        }
        at += take;
    }
    Ok(tensor)
}

/// Leaves as much room as a tensor without values takes, which needs none on the disk.
pub(super) fn leave_room<W: Write + Seek>(tensor: &Tensor, out: &mut W) -> Outcome<()> {
    tensor.may_be_read("save")?;
    if tensor.device().is_cuda() {
        // Its copy to the host takes place, in memory that nobody touches.
        tensor.moved(Machine::current().cpu(), false, "save")?;
    }
    if let Some(before) = tensor.nbytes().checked_sub(1) {
        out.seek(SeekFrom::Current(before as i64))?;
        out.write_all(&[0])?;
    }
    Ok(())
}

/// Writes a tensor's elements in row-major order, little-endian. One on a GPU is copied to the host first.
pub(super) fn write(tensor: &Tensor, out: &mut dyn Write) -> Outcome<()> {
    let machine = Machine::current();
    let size = tensor.dtype().size();
    let mut send = |part: &mut [u8]| -> Outcome<()> {
        machine.shared.cancel.check()?;
        if cfg!(target_endian = "big") {
            part.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
        Ok(out.write_all(part)?)
    };
    if tensor.device().is_cuda() {
        let mut bytes = tensor.host_bytes("save")?;
        return bytes.chunks_mut(CHUNK).try_for_each(send);
    }
    let packed = tensor.contiguous_detached()?;
    packed.may_be_read("save")?;
    let (start, total) = (packed.layout().offset() * size, packed.nbytes());
    packed.host_reads("save");
    let mut chunk = vec![0u8; CHUNK.min(total)];
    let mut at = 0;
    while at < total {
        let Some(part) = chunk.get_mut(..(total - at).min(CHUNK)) else { break };
        if let Some(block) = &packed.storage().place().buffer().host {
            block.read(start + at, part);
        }
        send(part)?;
        at += part.len();
    }
    Ok(())
}

//! The memory that libraries work in during a launch.

use crate::base::{DType, Result};
use crate::device::backend::{Refusal, Workspace};
use crate::device::buffer::Buffer;
use crate::device::kernel::Launch;
use crate::device::live::Purpose;

use super::Context;

impl Context {
    /// Takes what the library behind a launch works in, and tells of it.
    ///
    /// # Errors
    /// Out of memory, as for a tensor.
    pub(super) fn take_workspace(&self, launch: &Launch) -> Result<Option<(Buffer, bool)>> {
        match self.backend.workspace(launch) {
            Ok(None) => Ok(None),
            Ok(Some(Workspace { buffer, requested, owner, search })) => {
                let shape = [requested as usize];
                self.note_alloc(
                    &buffer,
                    requested,
                    Purpose { op: owner, dtype: DType::UInt8, shape: &shape },
                );
                Ok(Some((buffer, search)))
            }
            Err(refusal) => {
                let requested = match &refusal {
                    Refusal::OutOfMemory(full) => full.requested,
                    Refusal::Other(_) => 0,
                };
                Err(self.refused(
                    refusal,
                    requested as usize,
                    Some("as the workspace of cuBLAS, whose size no batch changes"),
                ))
            }
        }
    }

    /// Gives it back. After a search nothing stays cached, as in PyTorch.
    #[inline]
    pub(super) fn give_workspace(&self, workspace: Option<(Buffer, bool)>) {
        let Some((buffer, search)) = workspace else { return };
        self.free(buffer);
        if search {
            self.empty_cache();
        }
    }
}

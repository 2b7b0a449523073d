//! Work that is not known to be done.

use crate::base::event::{Body, Source};

/// Work that is not known to be done.
pub(super) struct Late {
    pub(super) ticket: u64,
    pub(super) source: Source,
    pub(super) body: Body,
}

//! `parallel::` and the call of `nn::DataParallel`.

use std::sync::Arc;

use crate::device::Shared;
use crate::op::Form;
use crate::script::bind::register_functional;
use crate::script::call::Spaces;

/// Registers the rows: `nn::DataParallel` in `nn`, the others in a module of their own.
pub(crate) fn register(shared: &Arc<Shared>, spaces: &mut Spaces) {
    for def in crate::parallel::table() {
        for form in def.forms {
            if let Form::Of(space) = form {
                register_functional(spaces.of(space), def, shared);
            }
        }
    }
}

//! Rows of modules' methods.

use crate::op::{Family, OpDef, Param, Receiver};

/// A method of modules.
pub(crate) const fn method(name: &'static str, summary: &'static str, params: &'static [Param]) -> OpDef {
    OpDef::script(name, Family::Module, summary, params).on(Receiver::Module)
}

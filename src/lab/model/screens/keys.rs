//! What the table of keys takes from each screen.

use crate::lab::model::binding::Binding;
use crate::lab::model::context::{Context, Together};

/// The keys of a screen.
pub(crate) struct ScreenKeys {
    /// Its contexts, as the help lists them before what is for typing.
    pub contexts: &'static [&'static Context],
    /// Those that hold at once.
    pub together: &'static [Together],
    /// The most wanted first in each context.
    pub rows: &'static [Binding],
    /// Those that lead there from elsewhere.
    pub ways: &'static [Binding],
}

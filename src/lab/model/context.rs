//! Where keys hold.

use std::fmt;

use crate::lab::model::pane::Pane;

/// Where a binding holds: a row with its names.
#[derive(Clone, Copy)]
pub struct Context {
    /// Its name in the program, by which it is told from others.
    pub(crate) id: &'static str,
    /// Its name in the learner's file; the keys of questions are fixed.
    pub(crate) name: Option<&'static str>,
    /// Above its keys in the help.
    pub(crate) heading: Option<&'static str>,
    /// Before each of its actions in the list of all actions.
    pub(crate) section: Option<&'static str>,
    /// The pane that an action chosen by its name is done in.
    pub(crate) pane: Option<Pane>,
    /// What is typed may go into a cell or a number: a letter alone is no key.
    pub(crate) typed: bool,
}

impl Context {
    pub(crate) const fn new(id: &'static str) -> Context {
        Context { id, name: None, heading: None, section: None, pane: None, typed: false }
    }
}

impl PartialEq for Context {
    fn eq(&self, other: &Context) -> bool {
        self.id == other.id
    }
}

impl Eq for Context {}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

/// Contexts that hold at once, the nearest first.
pub(crate) type Together = &'static [&'static Context];

/// Everywhere but in a popup, and where only a screen's own keys hold.
pub(crate) const ANYWHERE: Context = Context {
    name: Some("anywhere"),
    heading: Some("Anywhere"),
    section: Some("lab"),
    typed: true,
    ..Context::new("Anywhere")
};

/// Wherever one is, in popups and while typing as well; what a nearer place has goes first.
pub(crate) const ALWAYS: Context = Context {
    name: Some("always"),
    heading: Some("Always"),
    section: Some("lab"),
    typed: true,
    ..Context::new("Always")
};

/// Everywhere but in a popup or while typing.
pub(crate) const BROWSE: Context = Context {
    name: Some("browse"),
    heading: Some("While not typing"),
    section: Some("lab"),
    ..Context::new("Browse")
};

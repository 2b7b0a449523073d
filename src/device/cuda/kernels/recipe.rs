//! How a kernel's text comes about.

use std::borrow::Cow;

use crate::base::packed::Pack;

/// What a kernel's text is made of.
pub(crate) struct Recipe {
    /// Of its function, before the types.
    pub name: String,
    /// The operands of its walk.
    pub operands: usize,
    /// The text with functions that the others use, before everything else; empty for none.
    pub prelude: &'static str,
    /// The texts of `kernels/` that make it up, by their names.
    pub parts: RecipeParts,
    /// What those texts ask for.
    pub defines: Vec<(&'static str, Cow<'static, str>)>,
}

pub(super) type RecipeParts = &'static [&'static str];

pub(super) const WALK: &str = "walk";
pub(super) const GROUP: &str = "group";
pub(super) const TILE: &str = "tile";

static TEXTS: Pack = Pack::new(include_bytes!(concat!(env!("OUT_DIR"), "/kernels.gz")));

/// A text of `kernels/`, by its name without the ending; nothing where there is none of that name.
pub(super) fn text(name: &str) -> &'static str {
    TEXTS.text(name, ".cuh").unwrap_or_default()
}

impl Recipe {
    pub(super) fn after(mut self, prelude: &'static str) -> Recipe {
        self.prelude = prelude;
        self
    }

    pub(super) fn and(mut self, name: &'static str, value: &'static str) -> Recipe {
        self.defines.push((name, value.into()));
        self
    }

    pub(super) fn number(mut self, name: &'static str, value: u8) -> Recipe {
        self.defines.push((name, value.to_string().into()));
        self
    }
}

pub(super) fn row(
    name: impl Into<String>,
    operands: usize,
    parts: RecipeParts,
    defines: impl IntoIterator<Item = (&'static str, &'static str)>,
) -> Recipe {
    let defines = defines.into_iter().map(|(name, value)| (name, value.into())).collect();
    Recipe { name: name.into(), operands, prelude: "", parts, defines }
}

pub(super) const ON: &str = "1";
pub(super) const OFF: &str = "0";

/// What a flag can be.
pub(super) const BOTH: [bool; 2] = [false, true];

pub(super) fn flag(on: bool) -> &'static str {
    if on { ON } else { OFF }
}

pub(super) fn ending(name: &str, suffix: &str, on: bool) -> String {
    format!("{name}{}", if on { suffix } else { "" })
}

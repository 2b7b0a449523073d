//! How a kernel's text comes about.

use std::borrow::Cow;

/// What a kernel's text is made of.
pub(crate) struct Recipe {
    /// Of its function, before the types.
    pub name: String,
    /// The operands of its walk.
    pub operands: usize,
    /// Functions that its texts use, before everything else.
    pub prelude: &'static str,
    /// The texts of `kernels/` that make it up.
    pub parts: RecipeParts,
    /// What those texts ask for.
    pub defines: Vec<(&'static str, Cow<'static, str>)>,
}

pub(super) type RecipeParts = &'static [&'static str];

macro_rules! text {
    ($name:literal) => {
        include_str!(concat!("../../../../kernels/", $name, ".cuh"))
    };
}
pub(super) use text;

pub(super) const WALK: &str = text!("walk");
pub(super) const GROUP: &str = text!("group");
pub(super) const TILE: &str = text!("tile");

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

//! `tensorlab docs`: the reference, rendered from the table of all that a script can call.

use std::fmt::Write;

use crate::base::stderr::tell;
use crate::op::{Family, OpDef};
use crate::script::help::{describe, page, rows, suggestions};

use super::exit;
use super::output::{put, say};

/// Prints one page, or the whole reference as Markdown.
pub(super) fn run(name: Option<&str>) -> u8 {
    let Some(name) = name else {
        put(format_args!("{}", reference()));
        return exit::FINE;
    };
    if let Some(text) = page(name) {
        say!("{text}");
        return exit::FINE;
    }
    match name {
        "" => tell!("error: the name is empty; `tensorlab docs` without one prints every page"),
        name => tell!("error: there is no help on '{name}'"),
    }
    if let Some(near) = suggestions(name).first() {
        tell!("hint: did you mean `{near}`?");
    }
    exit::USAGE
}

/// The reference page: every row, family by family.
pub(super) fn reference() -> String {
    let mut rows: Vec<&OpDef> = rows().collect();
    rows.sort_by_key(|d| (d.family, d.name));
    let mut out = String::from(
        "# Reference\n\nRendered by `tensorlab docs` from the table of all that a script can call; each example is a test.\n",
    );
    let mut family: Option<Family> = None;
    for def in rows {
        if family != Some(def.family) {
            family = Some(def.family);
            let _ = write!(out, "\n## {:?}\n", def.family);
        }
        let _ = write!(out, "\n### {}\n\n```\n{}```\n", def.name, describe(def));
    }
    out
}

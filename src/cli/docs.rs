//! `tensorlab docs`: the reference, rendered from the table of all that a script can call.

use std::fmt::Write;

use crate::base::sorted;
use crate::base::stderr::tell;
use crate::op::{Family, OpDef};
use crate::script::absent::LEFT_OUT;
use crate::script::help::{describe, page, rows, suggestions};
use crate::script::phrases::page as differences;

use super::{exit, pager};

/// Shows one page, or the whole reference: on a terminal in pages, and as Markdown elsewhere.
pub(super) fn run(name: Option<&str>) -> u8 {
    let Some(name) = name else {
        pager::show(&if pager::is_wanted() { read_by_person() } else { reference() });
        return exit::FINE;
    };
    if let Some(text) = page(name) {
        pager::show(&format!("{text}\n"));
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
    let mut out = String::from(
        "# Reference\n\nRendered by `tensorlab docs` from the table of all that a script can call; each example is a test.\n",
    );
    let _ = write!(out, "\n## Where Rhai differs\n\n```\n{}```\n", differences::page());
    let _ = write!(out, "\n## What is left out\n\n{LEFT_OUT}");
    for (family, rows) in families() {
        let _ = write!(out, "\n## {family:?}\n");
        for def in rows {
            let _ = write!(out, "\n### {}\n\n```\n{}```\n", def.name, describe(def));
        }
    }
    out
}

/// The same without the marks of Markdown.
fn read_by_person() -> String {
    let mut out = String::from(
        "Reference of all that a script can call. `tensorlab docs NAME` shows one page; `/` searches, `q` leaves.\n",
    );
    let _ = write!(out, "\n{}\nWhat is left out\n\n{LEFT_OUT}", differences::page());
    for (family, rows) in families() {
        let title = format!("{family:?}").to_uppercase();
        let _ = write!(out, "\n{title}\n{}\n", "=".repeat(title.len()));
        for def in rows {
            let _ = write!(out, "\n{}", describe(def));
        }
    }
    out
}

/// Every row, family by family, each by the alphabet.
fn families() -> Vec<(Family, Vec<&'static OpDef>)> {
    let mut all: Vec<&OpDef> = rows().collect();
    sorted::sort_by_key(&mut all, |d| (d.family, d.name));
    let mut families: Vec<(Family, Vec<&OpDef>)> = Vec::new();
    for def in all {
        match families.last_mut() {
            Some((family, rows)) if *family == def.family => rows.push(def),
            _ => families.push((def.family, vec![def])),
        }
    }
    families
}

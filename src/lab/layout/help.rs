//! The help: which keys it lists, and its rows. What holds where one is comes first.

use ratatui::layout::Rect;

use crate::base::sorted;
use crate::lab::layout::{centred, inner};
use crate::lab::model::active_keys::beneath;
use crate::lab::model::binding::Bar;
use crate::lab::model::bindings::listed;
use crate::lab::model::context::Context;
use crate::lab::model::keys::names;
use crate::lab::model::state::State;

pub(crate) const HELP_WIDTH: u16 = 76;

/// What stands beside code, and what it means.
const MARKS: [(&str, &str); 7] = [
    ("0, 1, c", "its variables are on cuda:0, cuda:1, the CPU"),
    ("≠", "its variables are on several devices"),
    ("0·f32, c·i64", "with room, their dtype as well: float32, int64"),
    ("0·*", "of several dtypes"),
    ("✗, ▲", "the line of an error, of what a check found"),
    ("▶", "the line that caused what is picked (machine)"),
    ("↪", "the line above goes on"),
];

/// What the mouse does.
const MOUSE: [(&str, &str); 4] = [
    ("click", "selects a cell, an answer, a tab, a name that is offered"),
    ("wheel", "scrolls the pane below it"),
    ("drag", "selects code, and moves the line between panes"),
    ("Shift-drag", "selects text as the terminal does, outputs too"),
];

/// A row of the help.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum HelpRow {
    Gap,
    Heading(&'static str),
    Key { keys: String, help: &'static str },
}

/// The rows that fit what is looked for: those of a place whose name does, and each key that does. Behind the keys of
/// where one is come the marks beside code, where there is some.
pub(crate) fn help_rows(state: &State) -> Vec<HelpRow> {
    let elsewhere = listed().filter(|context| !beneath(state).contains(context));
    let part = |context: &Context| (context.heading, keys_of(state, context));
    let marks = state.has_document().then(|| (Some("Beside the code"), listing(&MARKS)));
    let mouse = (Some("The mouse"), listing(&MOUSE));
    let here = beneath(state).iter().map(|context| part(context)).chain(marks);
    let mut out = Vec::new();
    for (heading, rows) in here.chain(elsewhere.map(part)).chain([mouse]) {
        let Some(heading) = heading else { continue };
        let rows = fitting(state, heading, rows);
        if !rows.is_empty() {
            if !out.is_empty() {
                out.push(HelpRow::Gap);
            }
            out.push(HelpRow::Heading(heading));
            out.extend(rows.into_iter().map(|(keys, help)| HelpRow::Key { keys, help }));
        }
    }
    out
}

/// Rows of the help, and how many of them are seen at once on a screen of this size.
pub(crate) fn help_extent(state: &State, area: Rect) -> (usize, usize) {
    let inside = inner(centred(area, HELP_WIDTH, area.height.saturating_sub(2)));
    (help_rows(state).len(), usize::from(inside.height))
}

/// A key or a mark, and what it does or means.
type Told = (String, &'static str);

fn keys_of(state: &State, context: &Context) -> Vec<Told> {
    let rows = state.keymap.rows().filter(|(binding, _)| binding.context == context);
    let mut rows: Vec<_> = rows.collect();
    // As in the key bar, what is wanted most comes first; what moves stays together.
    sorted::sort_by_key(&mut rows, |(binding, _)| match binding.bar {
        Bar::Never => 0,
        _ if binding.action.is_movement() => 0,
        _ => -i16::from(binding.weight),
    });
    rows.into_iter().map(|(binding, keys)| (names(keys), binding.help)).collect()
}

fn listing(all: &[(&str, &'static str)]) -> Vec<Told> {
    all.iter().map(|(sign, means)| ((*sign).to_owned(), *means)).collect()
}

fn fitting(state: &State, heading: &str, mut rows: Vec<Told>) -> Vec<Told> {
    let wanted = state.aid.keys_search.text.to_lowercase();
    let has = |text: &str| text.to_lowercase().contains(&wanted);
    let all = has(heading);
    rows.retain(|(keys, help)| all || has(keys) || has(help));
    rows
}

//! The help: which keys it lists, and its rows. What holds where one is comes first.

use ratatui::layout::Rect;

use crate::lab::layout::{centred, inner};
use crate::lab::model::active_keys::beneath;
use crate::lab::model::binding::Bar;
use crate::lab::model::bindings::listed;
use crate::lab::model::context::Context;
use crate::lab::model::keys::names;
use crate::lab::model::state::State;

pub(crate) const HELP_WIDTH: u16 = 76;

/// A row of the help.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum HelpRow {
    Gap,
    Heading(&'static str),
    Key { keys: String, help: &'static str },
}

/// The rows that fit what is looked for: those of a place whose name does, and each key that does.
pub(crate) fn help_rows(state: &State) -> Vec<HelpRow> {
    let here = beneath(state).iter().copied();
    let elsewhere = listed().filter(|context| !beneath(state).contains(context));
    let mut out = Vec::new();
    for context in here.chain(elsewhere) {
        let keys = fitting(state, context);
        if let Some(heading) = context.heading.filter(|_| !keys.is_empty()) {
            if !out.is_empty() {
                out.push(HelpRow::Gap);
            }
            out.push(HelpRow::Heading(heading));
            out.extend(keys);
        }
    }
    out
}

/// Rows of the help, and how many of them are seen at once on a screen of this size.
pub(crate) fn help_extent(state: &State, area: Rect) -> (usize, usize) {
    let inside = inner(centred(area, HELP_WIDTH, area.height.saturating_sub(2)));
    (help_rows(state).len(), usize::from(inside.height))
}

fn fitting(state: &State, context: &Context) -> Vec<HelpRow> {
    let wanted = state.aid.keys_search.text.to_lowercase();
    let has = |text: &str| text.to_lowercase().contains(&wanted);
    let all = context.heading.is_some_and(has);
    let rows = state.keymap.rows().filter(|(binding, _)| binding.context == context);
    let mut rows: Vec<_> = rows.collect();
    // As in the key bar, what is wanted most comes first; what moves stays together.
    rows.sort_by_key(|(binding, _)| match binding.bar {
        Bar::Never => 0,
        _ if binding.action.is_movement() => 0,
        _ => -i16::from(binding.weight),
    });
    let rows = rows.into_iter().map(|(binding, keys)| (names(keys), binding.help));
    let rows = rows.filter(|(keys, help)| all || has(keys) || has(help));
    rows.map(|(keys, help)| HelpRow::Key { keys, help }).collect()
}

//! The last row: the keys that matter now, as many as there is room for.

use ratatui::layout::{Position, Rect};

use crate::lab::model::actions::Action;
use crate::lab::model::active_keys::{self, BarEntry};
use crate::lab::model::keys::Chord;
use crate::lab::model::state::State;
use crate::lab::model::text;

/// Columns between an entry and the next.
const GAP: usize = 2;

/// Entries with their columns, from the left.
pub(crate) fn entries(state: &State, columns: usize) -> Vec<(usize, BarEntry)> {
    let mut entries = active_keys::bar(state);
    // Help is always there, so that what does not fit can be found.
    let help = entries.iter().position(|entry| entry.action == Action::Help).map(|at| entries.remove(at));
    // After the last one there is no gap.
    let end = columns.saturating_sub(help.as_ref().map_or(0, |entry| width(entry) + GAP));
    let mut shown = Vec::new();
    let mut x = 1;
    for entry in entries {
        // What is wanted less and is shorter may still fit.
        let taken = width(&entry);
        if x + taken <= end {
            shown.push((x, entry));
            x += taken + GAP;
        }
    }
    shown.extend(help.map(|entry| (x, entry)));
    shown
}

/// The key that is clicked at a place of the screen.
pub(crate) fn key_at(state: &State, bar: Rect, at: Position) -> Option<Chord> {
    if !bar.contains(at) {
        return None;
    }
    let column = usize::from(at.x - bar.x);
    let shown = entries(state, usize::from(bar.width));
    let hit = shown.into_iter().find(|(x, entry)| column >= *x && column < x + width(entry))?;
    hit.1.chord
}

/// Columns of a key and what it does.
fn width(entry: &BarEntry) -> usize {
    text::width(&entry.name) + 1 + text::width(entry.label)
}

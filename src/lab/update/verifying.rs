//! Running all cells anew, and holding what they give against what they gave.

use crate::base::figures::{plural, word};
use crate::lab::model::item::{CellState, Verified};
use crate::lab::model::key::Key;
use crate::lab::model::message::Effect;
use crate::lab::model::state::State;
use crate::lab::update::{restarting, running};
use crate::notebook::verify::{Line, compare};
use crate::notebook::{Cell, Notebook};

/// Lines that differ, as far as they are shown.
const SHOWN: usize = 6;

/// Starts a new session and runs all cells in it.
pub(crate) fn restart_and_run_all(state: &mut State, fx: &mut Vec<Effect>) {
    restarting::restart(state, fx);
    running::run_step(state, fx);
}

/// As [`restart_and_run_all`], and then tells whether the outputs are the same.
pub(super) fn verify(state: &mut State, fx: &mut Vec<Effect>) {
    let before: Vec<(Key, Cell)> = state.cells().filter(|cell| cell.ran.is_some()).map(kept).collect();
    if before.is_empty() {
        return state.say("no cell has outputs that could be verified");
    }
    for cell in state.cells_mut() {
        cell.verified = None;
    }
    restart_and_run_all(state, fx);
    state.verifying = Some(before);
}

/// Compares once all has run.
pub(crate) fn settle(state: &mut State) {
    if state.work.current.is_some() || !state.work.queue.is_empty() {
        return;
    }
    let Some(before) = state.verifying.take() else { return };
    let ran = |key: Key| state.cells().find(|cell| cell.key == key && !cell.earlier).map(kept);
    let (mut old, mut new, mut keys) = (Vec::new(), Vec::new(), Vec::new());
    for (key, cell) in before {
        if let Some((_, now)) = ran(key) {
            keys.push(key);
            old.push(cell);
            new.push(now);
        }
    }
    let differences = compare(&Notebook::new(old), &Notebook::new(new));
    let (all, wrong) = (keys.len(), differences.len());
    for (place, key) in keys.into_iter().enumerate() {
        let differs = differences.iter().find(|difference| difference.place == place);
        let lines = |lines: &[Line]| {
            let differ = lines.iter().filter(|line| !matches!(line, Line::Same(_)));
            differ.take(SHOWN).cloned().collect()
        };
        if let Some(cell) = state.cell_mut(key) {
            cell.verified = Some(differs.map_or(Verified::Same, |d| Verified::Differs(lines(&d.lines))));
            cell.laid.clear();
        }
    }
    let of = |some: usize| {
        let cells = plural(all as u64, "cell", "cells");
        format!("{some} of {cells} {}", word(some as u64, "gives", "give"))
    };
    let not_run = state.cells().filter(|cell| !cell.markdown && (cell.ran.is_none() || cell.earlier)).count();
    let rest = match not_run as u64 {
        0 => String::new(),
        count => format!("; {} not run", plural(count, "cell was", "cells were")),
    };
    state.say(match wrong {
        0 => format!("verified: {} the same outputs{rest}", of(all)),
        wrong => format!("not verified: {} other outputs{rest}", of(wrong)),
    });
}

fn kept(cell: &CellState) -> (Key, Cell) {
    let mut kept = Cell::code(cell.editor.text());
    (kept.id, kept.outputs) = (cell.id.clone(), cell.outputs.clone());
    (cell.key, kept)
}

//! What is selected, in which pane and step; beginning and leaving off to type.

use crate::lab::layout;
use crate::lab::model::brought::Brought;
use crate::lab::model::item::{Guess, ItemState, PredictState};
use crate::lab::model::key::Key;
use crate::lab::model::pane::Pane;
use crate::lab::model::screens::Screen;
use crate::lab::model::state::State;
use crate::lab::model::summary;

pub(super) fn select(state: &mut State, forward: bool) {
    let selected = state.selected;
    let Some(step) = state.current_step() else { return };
    let found = if forward {
        let later = step.items.iter().enumerate().skip(selected + 1);
        later.filter(|(_, item)| item.is_selectable()).map(|(i, _)| i).next()
    } else {
        step.items.iter().take(selected).rposition(ItemState::is_selectable)
    };
    if let Some(found) = found {
        state.selected = found;
    }
    state.follow = true;
}

/// Brings a pane into view and gives it the focus.
pub(super) fn show(state: &mut State, pane: Pane) {
    if !state.panes().contains(&pane) {
        return;
    }
    state.screen = Screen::Work;
    if pane != Pane::Cells {
        leave(state);
        state.side = pane;
    }
    state.focus = pane;
}

/// Turns from the lesson's text to the cells; false where they were not in view.
pub(super) fn turn_to_cells(state: &mut State) -> bool {
    if state.focus != Pane::Lesson || state.selected_item().is_none() {
        return true;
    }
    let unseen =
        layout::areas(state, layout::whole(state)).is_some_and(|areas| areas.pane(Pane::Cells).is_none());
    show(state, Pane::Cells);
    !unseen
}

/// Goes to a step, where it exists, with its first item selected.
pub(crate) fn go_to_step(state: &mut State, step: usize) {
    if step < state.steps.len() && step != state.step {
        state.step = step;
        sum_up(state);
        state.select_first();
        // A step is read before it is done.
        let unseen = layout::areas(state, layout::whole(state))
            .is_some_and(|areas| areas.pane(Pane::Lesson).is_none());
        // Where there is nothing else, its text is what keys go through.
        let only_text = state.has_text && state.selected_item().is_none() && state.focus == Pane::Cells;
        if (unseen || only_text) && !state.maximised && state.screen == Screen::Work {
            show(state, Pane::Lesson);
        }
        state.tops.lesson = 0;
        state.tops.cells = 0;
        state.follow = true;
    }
}

/// Goes to the item of that id, where the learner left off.
pub(crate) fn continue_at(state: &mut State, id: &str) {
    let found = state.steps.iter().enumerate().find_map(|(s, step)| {
        let item = step.items.iter().position(|item| item.id() == Some(id));
        item.map(|item| (s, item))
    });
    if let Some((step, item)) = found {
        (state.step, state.selected, state.focus) = (step, item, Pane::Cells);
        // With the page's name it is true on every other, too.
        let title = state.steps.get(step).map_or("", |step| step.title.as_str());
        state.say(match title {
            "" => "you left off here".to_owned(),
            title => format!("you left off here, at {title}"),
        });
    }
}

/// Goes to an item of a step, with the cells in view beside whatever stood beside them.
pub(super) fn go_to_item(state: &mut State, step: usize, item: usize) {
    let side = state.side;
    go_to_step(state, step);
    state.screen = Screen::Work;
    (state.focus, state.side) = (Pane::Cells, side);
    (state.selected, state.follow) = (item, true);
}

/// Writes the text of a lesson's last page anew, where it is shown.
pub(super) fn sum_up(state: &mut State) {
    if state.lesson.is_none() || state.step + 1 != state.steps.len() {
        return;
    }
    let blocks = summary::page(state);
    if let Some(last) = state.steps.last_mut() {
        // Below it may stand cells of the learner's own.
        match last.items.first_mut() {
            Some(text @ ItemState::Text(_)) => *text = ItemState::Text(blocks),
            _ => last.items.insert(0, ItemState::Text(blocks)),
        }
        last.text.clear();
    }
}

/// Begins to type in the selected item.
pub(super) fn enter(state: &mut State) {
    let can = match state.selected_item_mut() {
        Some(ItemState::Cell(_)) => true,
        Some(ItemState::Predict(predict)) => predict.is_open() || reopen(predict),
        Some(ItemState::Quiz(_) | ItemState::Text(_)) | None => false,
    };
    if can {
        state.focus = Pane::Cells;
        state.editing = true;
        state.follow = true;
        if let Some(cell) = state.selected_cell_mut().filter(|cell| cell.rendered) {
            cell.rendered = false;
            cell.laid.clear();
        }
    }
}

/// A skipped prediction can still be answered before it is measured.
fn reopen(predict: &mut PredictState) -> bool {
    let can = predict.guess == Guess::Skipped && predict.answer.is_none();
    if can {
        predict.guess = Guess::Open;
        predict.laid.clear();
    }
    can
}

pub(super) fn leave(state: &mut State) {
    state.editing = false;
    state.aid.completing = None;
    if let Some(cell) = state.selected_cell_mut() {
        cell.editor.clear_selection();
        let rendered = cell.markdown && !cell.editor.text().trim().is_empty();
        if rendered != cell.rendered {
            cell.rendered = rendered;
            cell.laid.clear();
        }
    }
}

/// A cell has run: the end of what it shows is brought into view where the view follows it. One that failed is
/// selected, unless one types in another one.
pub(super) fn ran(state: &mut State, key: Key, failed: bool) {
    let Some((step, item)) = state.place(key).filter(|(step, _)| *step == state.step) else { return };
    let is_selected = item == state.selected;
    if failed && (is_selected || !state.editing) {
        (state.step, state.selected, state.follow) = (step, item, true);
        state.bring(Brought::Run);
    } else if is_selected && state.follow {
        state.bring(Brought::Run);
    }
}

/// Selects the item after the selected one, if there is one in the step.
pub(crate) fn select_next(state: &mut State) -> bool {
    let after = state.selected.saturating_add(1);
    let next = state.current_step().and_then(|step| {
        let later = step.items.iter().enumerate().skip(after);
        later.filter(|(_, item)| item.is_selectable()).map(|(i, _)| i).next()
    });
    if let Some(next) = next {
        state.selected = next;
        state.follow = true;
    }
    next.is_some()
}

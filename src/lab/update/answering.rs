//! Predictions, quizzes and hints.

use crossterm::event::{KeyCode, KeyEvent};

use super::editing;
use crate::lab::item::{Guess, ItemState};
use crate::lab::state::{Pane, State};

/// Characters of a number.
const MAX_NUMBER: usize = 32;

/// A digit on a selected prediction begins its answer at once.
pub fn begin_with(state: &mut State, c: char) {
    let open = matches!(state.selected_item(), Some(ItemState::Predict(predict)) if predict.is_open());
    if state.focus == Pane::Cells && open && (c.is_ascii_digit() || matches!(c, '-' | '.')) {
        state.editing = true;
        insert(state, c);
    }
}

pub fn insert(state: &mut State, c: char) {
    if let Some(ItemState::Predict(predict)) = state.selected_item_mut()
        && predict.input.len() < MAX_NUMBER
        && (c.is_ascii_graphic() || c == ' ')
    {
        predict.input.push(c);
        predict.laid.clear();
    }
}

pub fn backspace(state: &mut State) {
    if let Some(ItemState::Predict(predict)) = state.selected_item_mut() {
        predict.input.pop();
        predict.laid.clear();
    }
}

/// Fixes the number typed, if it is one.
pub fn commit(state: &mut State) {
    let Some(ItemState::Predict(predict)) = state.selected_item_mut() else { return };
    match predict.typed() {
        Some(number) => {
            predict.guess = Guess::Made(number);
            predict.laid.clear();
            editing::leave(state);
            editing::select_next(state);
        }
        None => {
            let unit = predict.spec.unit.clone();
            let unit = if unit.is_empty() { String::new() } else { format!(" of {unit}") };
            state.say(format!("a number{unit}, please, such as 3, 0.5 or 1e6"));
        }
    }
}

/// Passes over the selected prediction.
pub fn skip(state: &mut State) {
    if let Some(ItemState::Predict(predict)) = state.selected_item_mut()
        && predict.is_open()
    {
        predict.guess = Guess::Skipped;
        predict.laid.clear();
        editing::select_next(state);
    }
}

/// Chooses an answer of the selected quiz by its digit.
pub fn choose(state: &mut State, event: KeyEvent) {
    let KeyCode::Char(c) = event.code else { return };
    match state.selected_item() {
        Some(ItemState::Quiz(_)) => {
            if let Some(choice) = c.to_digit(10).and_then(|n| (n as usize).checked_sub(1)) {
                choose_at(state, choice);
            }
        }
        _ => begin_with(state, c),
    }
}

pub fn choose_at(state: &mut State, choice: usize) {
    if let Some(ItemState::Quiz(quiz)) = state.selected_item_mut()
        && !quiz.is_solved()
        && choice < quiz.spec.choices.len()
        && !quiz.tried.contains(&choice)
    {
        quiz.tried.push(choice);
        quiz.laid.clear();
    }
}

/// Shows the next hint of the selected exercise.
pub fn hint(state: &mut State) {
    if let Some(cell) = state.selected_cell_mut() {
        let all = cell.exercise().map_or(0, |exercise| exercise.hints.len());
        cell.hints_shown = (cell.hints_shown + 1).min(all);
        cell.laid.clear();
    }
}

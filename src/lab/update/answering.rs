//! Predictions, quizzes and hints.

use crossterm::event::{KeyCode, KeyEvent};

use crate::lab::model::actions::Action;
use crate::lab::model::active_keys::keys_for;
use crate::lab::model::brought::Brought;
use crate::lab::model::item::{Guess, ItemState, QuizState};
use crate::lab::model::message::Effect;
use crate::lab::model::pane::Pane;
use crate::lab::model::state::State;
use crate::lab::model::text;
use crate::lab::update::selecting;
use crate::lesson::Entry;

/// Characters of a number.
const MAX_NUMBER: usize = 40;

/// A digit on a selected prediction begins its answer at once, from the lesson's text as well: what is typed on is the
/// rest of the number.
pub(crate) fn begin_with(state: &mut State, c: char) -> bool {
    let open = matches!(state.selected_item(), Some(ItemState::Predict(predict)) if predict.is_open());
    let reads = matches!(state.focus, Pane::Cells | Pane::Lesson);
    let begins = reads && open && (c.is_ascii_digit() || matches!(c, '-' | '.'));
    if begins {
        selecting::turn_to_cells(state);
        selecting::enter(state);
        insert(state, c);
    }
    begins
}

pub(super) fn insert(state: &mut State, c: char) {
    let Some(ItemState::Predict(predict)) = state.selected_item_mut() else { return };
    if !text::printable(c) {
        return;
    }
    if predict.refused.take().is_some() {
        predict.input.clear();
    }
    if predict.input.len() < MAX_NUMBER {
        predict.input.push(c);
    }
    predict.laid.clear();
}

/// Takes away the last character of a number that is typed, or all of it.
pub(crate) fn shorten(state: &mut State, all: bool) {
    if let Some(ItemState::Predict(predict)) = state.selected_item_mut() {
        let kept = if all { 0 } else { predict.input.char_indices().last().map_or(0, |(at, _)| at) };
        predict.input.truncate(kept);
        predict.refused = None;
        predict.laid.clear();
    }
}

/// Fixes the number typed, if it is one.
pub(crate) fn commit(state: &mut State, fx: &mut Vec<Effect>) {
    let Some(ItemState::Predict(predict)) = state.selected_item_mut() else { return };
    match predict.question.read(&predict.input) {
        Ok(quantity) => {
            let entry = Entry::Prediction { typed: predict.input.clone(), value: quantity.value };
            fx.push(Effect::Record { step: predict.id.clone(), entry });
            predict.guess = Guess::Made(quantity);
            predict.laid.clear();
            selecting::leave(state);
            selecting::select_next(state);
        }
        Err(error) => {
            let text = text::clean_line(&error.to_string());
            predict.refused = Some(text.clone());
            predict.laid.clear();
            state.say(text);
        }
    }
}

/// Passes over the selected prediction, quiz or exercise; says where there is none.
pub(super) fn skip(state: &mut State, fx: &mut Vec<Effect>) {
    let skipped = |id: &str| Effect::Record { step: id.to_owned(), entry: Entry::Skipped };
    match state.selected_item_mut() {
        Some(ItemState::Predict(predict)) if predict.is_open() => {
            fx.push(skipped(&predict.id));
            predict.guess = Guess::Skipped;
            predict.laid.clear();
        }
        Some(ItemState::Quiz(quiz)) if !quiz.solved => {
            if quiz.skip() {
                fx.push(skipped(&quiz.id));
            }
        }
        Some(ItemState::Cell(cell)) if cell.exercise.is_some() && !cell.done => {
            if !std::mem::replace(&mut cell.skipped, true) {
                fx.push(skipped(&cell.id));
            }
            cell.laid.clear();
            state.say("passed over: what comes next goes on from the lesson's own solution");
        }
        _ => return state.say("nothing to skip here"),
    }
    if !selecting::select_next(state) {
        selecting::go_to_step(state, state.step.saturating_add(1));
    }
}

/// Chooses an answer of the selected quiz by its digit, where its choices were seen.
pub(super) fn choose(state: &mut State, event: KeyEvent, seen: bool, fx: &mut Vec<Effect>) {
    let KeyCode::Char(c) = event.code else { return };
    match state.selected_item() {
        Some(ItemState::Quiz(_)) if !seen => {}
        Some(ItemState::Quiz(quiz)) => {
            let shown = c.to_digit(10).and_then(|n| (n as usize).checked_sub(1));
            if let Some(choice) = shown.and_then(|shown| quiz.order.get(shown)) {
                choose_at(state, *choice, fx);
            }
        }
        _ => _ = begin_with(state, c),
    }
}

/// Takes a choice of the selected quiz.
pub(crate) fn choose_at(state: &mut State, choice: usize, fx: &mut Vec<Effect>) {
    let Some(ItemState::Quiz(quiz)) = state.selected_item_mut() else { return };
    if quiz.solved {
        answered(state);
    } else if quiz.take(choice) {
        record_quiz(quiz, fx);
    }
}

fn answered(state: &mut State) {
    let next = keys_for(state, Action::NextStep);
    state.say(format!("you have answered it; {next} leads on"));
}

/// Counts the choices taken of the selected quiz.
pub(crate) fn commit_choices(state: &mut State, fx: &mut Vec<Effect>) {
    let Some(ItemState::Quiz(quiz)) = state.selected_item_mut() else { return };
    if quiz.solved {
        answered(state);
    } else if !quiz.question.takes_several() {
        state.say("choose by its number");
    } else if quiz.commit() {
        record_quiz(quiz, fx);
    } else {
        state.say("take the right choices by their numbers, then Enter");
    }
}

fn record_quiz(quiz: &QuizState, fx: &mut Vec<Effect>) {
    let entry = Entry::Quiz { taken: quiz.taken.clone(), right: quiz.solved };
    fx.push(Effect::Record { step: quiz.id.clone(), entry });
}

/// Shows the next hint of the selected exercise, and after the last one a solution, which is recorded.
pub(super) fn hint(state: &mut State, fx: &mut Vec<Effect>) {
    let selected = state.selected_cell_mut().and_then(|cell| Some((cell.exercise.clone()?, cell)));
    let Some((exercise, cell)) = selected else {
        return state.say("hints are for exercises, and none is selected here");
    };
    let entry = if cell.hints_shown < exercise.hints.len() {
        cell.hints_shown += 1;
        Entry::Hint { number: cell.hints_shown }
    } else if !cell.solution_shown {
        cell.solution_shown = true;
        Entry::Solution
    } else {
        return state.say("the solution is shown already: it is the last help there is");
    };
    cell.laid.clear();
    fx.push(Effect::Record { step: cell.id.clone(), entry });
    state.follow = true;
    state.bring(Brought::Help);
}

//! Running cells: the lab's queue, one cell at a time in the session.

use crate::lab::layout;
use crate::lab::model::actions::Action;
use crate::lab::model::active_keys::keys_for;
use crate::lab::model::item::{CellState, Guess, ItemState, Status};
use crate::lab::model::key::Key;
use crate::lab::model::message::Effect;
use crate::lab::model::pane::Pane;
use crate::lab::model::state::{SessionStatus, State};
use crate::lab::update::{asking, attempting, book, foreign, machine, selecting};
use crate::notebook::names::names;
use crate::notebook::stale::Run;

/// Queues the selected cell; false where there is none or it can't run now.
pub(crate) fn run_selected(state: &mut State, fx: &mut Vec<Effect>) -> bool {
    settle_prediction(state);
    let Some(key) = state.selected_cell().map(|cell| cell.key) else {
        why_not(state);
        return false;
    };
    let begun = run(state, &[key], fx);
    // What comes of it is to be seen, wherever hints or outputs were read meanwhile.
    state.follow |= begun;
    bring_into_view(state, begun);
    begun
}

/// From a prediction that is made, on to the cell that settles it.
fn settle_prediction(state: &mut State) {
    if !matches!(state.selected_item(), Some(ItemState::Predict(predict)) if !predict.is_open()) {
        return;
    }
    let Some(step) = state.steps.get(state.step) else { return };
    let below = step.items.iter().enumerate().skip(state.selected + 1);
    if let Some((at, ItemState::Cell(_))) = below.into_iter().find(|(_, item)| item.is_selectable()) {
        state.selected = at;
    }
}

/// Where the lesson alone is seen, what runs comes into view.
fn bring_into_view(state: &mut State, begun: bool) {
    let hidden =
        layout::areas(state, layout::whole(state)).is_some_and(|areas| areas.pane(Pane::Cells).is_none());
    if begun && hidden && state.focus == Pane::Lesson {
        selecting::show(state, Pane::Cells);
    }
}

/// Why nothing runs where no cell is selected.
fn why_not(state: &mut State) {
    let next = keys_for(state, Action::NextStep);
    let reason = match state.selected_item() {
        Some(ItemState::Predict(predict)) if predict.is_open() => first_your_prediction(state),
        Some(ItemState::Predict(_)) => "your prediction is made, and the cell below it settles it".into(),
        Some(ItemState::Quiz(quiz)) if !quiz.solved => "a question: choose by its number".into(),
        Some(ItemState::Quiz(_)) => format!("you have answered it; {next} leads on"),
        _ if state.step + 1 == state.steps.len() => "there is nothing to run on this page".into(),
        _ => format!("there is nothing to run in this step; {next} leads on"),
    };
    selecting::turn_to_cells(state);
    state.say(reason);
}

/// Queues all cells of the step.
pub(crate) fn run_step(state: &mut State, fx: &mut Vec<Effect>) {
    let keys = cells(state, |step, _| step == state.step);
    if keys.is_empty() {
        return why_not(state);
    }
    let begun = run(state, &keys, fx);
    bring_into_view(state, begun);
}

/// Queues the cells of the step that are stale, in their order.
pub(crate) fn run_stale(state: &mut State, fx: &mut Vec<Effect>) {
    let is_stale = |cell: &CellState| cell.stale.is_some() || (cell.edited && !cell.earlier);
    let keys: Vec<Key> = state.cells().filter(|cell| is_stale(cell)).map(|cell| cell.key).collect();
    if keys.is_empty() {
        return state.say("no cell is stale");
    }
    run(state, &keys, fx);
}

/// Queues all cells before the selected one, those of earlier steps included.
pub(crate) fn run_above(state: &mut State, fx: &mut Vec<Effect>) {
    let here = (state.step, state.selected);
    let keys = cells(state, |step, item| (step, item) < here);
    if keys.is_empty() {
        return state.say("there is no cell above this one");
    }
    let begun = run(state, &keys, fx);
    bring_into_view(state, begun);
}

/// Sends the next cell of the queue if the session is free for it.
pub(crate) fn dispatch(state: &mut State, fx: &mut Vec<Effect>) {
    if state.work.current.is_some() || state.session.status != SessionStatus::Ready {
        return;
    }
    let Some((key, before)) = state.work.queue.pop_front() else { return };
    if stopped_by_prediction(state, key) {
        asking::unqueue(state, key, before);
        asking::clear_queue(state);
        return;
    }
    let number = state.work.executions.saturating_add(1);
    let now = state.now;
    let Some(cell) = state.cell_mut(key) else { return dispatch(state, fx) };
    cell.begin(number, now);
    let code = cell.editor.text();
    let run = cell.ran.map(|hash| Run { cell: cell.id.clone(), hash, names: names(&code) });
    state.work.executions = number;
    state.history.begin(number);
    machine::look(state);
    machine::fit(state, false);
    book::begun(state, run);
    state.work.interrupted_at = None;
    if state.aid.remember(&code) {
        fx.push(Effect::Remember(code));
    }
    attempting::begin(state, key, number, fx);
}

fn run(state: &mut State, keys: &[Key], fx: &mut Vec<Effect>) -> bool {
    if let SessionStatus::Dead { .. } = state.session.status {
        let keys = keys_for(state, Action::Restart);
        state.say(format!("the session has ended: {keys} starts a new one"));
        return false;
    }
    if let Some(lacks) = state.lesson.as_ref().and_then(|open| open.lacks.clone()) {
        state.say(format!("{lacks}: its cells can't run here"));
        return false;
    }
    let code = |key: &&Key| state.cells().any(|cell| cell.key == **key && !cell.markdown);
    let code: Vec<Key> = keys.iter().filter(code).copied().collect();
    // A cell of text is read, not run.
    let keys = if code.is_empty() && !keys.is_empty() { return true } else { code.as_slice() };
    let keys = &foreign::own_language(state, keys);
    if keys.is_empty() && !code.is_empty() {
        return false;
    }
    let Some(first) = keys.first() else {
        state.say("no cell to run here");
        return false;
    };
    if stopped_by_prediction(state, *first) {
        return false;
    }
    for key in keys {
        queue(state, *key);
    }
    dispatch(state, fx);
    true
}

fn queue(state: &mut State, key: Key) {
    let Some(cell) = state.cell_mut(key) else { return };
    if cell.is_busy() {
        return;
    }
    let before = std::mem::replace(&mut cell.status, Status::Queued);
    cell.laid.clear();
    state.work.queue.push_back((key, before));
}

/// An open prediction before a cell of this step stops it, and is brought forward. Those of other steps are
/// passed over, as their step was.
fn stopped_by_prediction(state: &mut State, key: Key) -> bool {
    let open = state.predictions_of(key).iter().find(|predict| predict.is_open()).map(|predict| predict.key);
    let Some((step, item)) = open.and_then(|key| state.place(key)) else { return false };
    if step != state.step {
        if let Some(predict) = open.and_then(|key| state.predict_mut(key)) {
            predict.guess = Guess::Skipped;
            predict.laid.clear();
        }
        return false;
    }
    state.selected = item;
    state.focus = Pane::Cells;
    state.follow = true;
    state.editing = true;
    state.say(first_your_prediction(state));
    true
}

/// What is to be done first.
fn first_your_prediction(state: &State) -> String {
    format!("first your prediction: type a number, or {} to skip", keys_for(state, Action::Skip))
}

fn cells(state: &State, wanted: impl Fn(usize, usize) -> bool) -> Vec<Key> {
    let steps = state.steps.iter().enumerate();
    let all = steps.flat_map(|(s, step)| step.items.iter().enumerate().map(move |(i, item)| (s, i, item)));
    all.filter(|(s, i, _)| wanted(*s, *i))
        .filter_map(|(_, _, item)| match item {
            ItemState::Cell(cell) => Some(cell.key),
            _ => None,
        })
        .collect()
}

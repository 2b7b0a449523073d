//! Running cells: the lab's queue, one cell at a time in the session.

use crate::lab::model::item::{CellState, Check, Guess, ItemState, Status};
use crate::lab::model::key::Key;
use crate::lab::model::message::Effect;
use crate::lab::model::pane::Pane;
use crate::lab::model::state::{Current, Pending, SessionStatus, State};
use crate::lab::update::{book, foreign};
use crate::notebook::names::names;
use crate::notebook::stale::Run;
use crate::session::protocol::Request;

/// Queues the selected cell; false where there is none or it can't run now.
pub(crate) fn run_selected(state: &mut State, fx: &mut Vec<Effect>) -> bool {
    let Some(key) = state.selected_cell().map(|cell| cell.key) else { return false };
    run(state, &[key], fx)
}

/// Queues all cells of the step.
pub(crate) fn run_step(state: &mut State, fx: &mut Vec<Effect>) {
    let keys = cells(state, |step, _| step == state.step);
    run(state, &keys, fx);
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
    run(state, &keys, fx);
}

/// Takes all cells off the queue that have not begun.
pub(crate) fn clear_queue(state: &mut State) {
    for key in std::mem::take(&mut state.work.queue) {
        if let Some(cell) = state.cell_mut(key)
            && cell.status == Status::Queued
        {
            cell.status = if cell.number.is_some() { Status::Interrupted } else { Status::Idle };
            cell.laid.clear();
        }
    }
}

/// Sends the next cell of the queue if the session is free for it.
pub(crate) fn dispatch(state: &mut State, fx: &mut Vec<Effect>) {
    if state.work.current.is_some() || state.session.status != SessionStatus::Ready {
        return;
    }
    let Some(key) = state.work.queue.pop_front() else { return };
    if stopped_by_prediction(state, key) {
        if let Some(cell) = state.cell_mut(key) {
            cell.status = Status::Idle;
            cell.laid.clear();
        }
        clear_queue(state);
        return;
    }
    let number = state.work.executions.saturating_add(1);
    let now = state.now;
    let Some(cell) = state.cell_mut(key) else { return dispatch(state, fx) };
    cell.begin(number, now);
    let code = cell.editor.text();
    let run = cell.ran.map(|hash| Run { cell: cell.id.clone(), hash, names: names(&code) });
    state.work.executions = number;
    book::begun(state, run);
    state.work.interrupted_at = None;
    if state.aid.remember(&code) {
        fx.push(Effect::Remember(code));
    }
    evaluate(state, key, number, Some(0), fx);
}

/// Goes on with a cell after a piece of its set-up.
pub(crate) fn next_piece(state: &mut State, done: Current, fx: &mut Vec<Effect>) {
    evaluate(state, done.key, done.number, done.setup.map(|piece| piece + 1), fx);
}

/// Sends a piece of a cell's set-up, or the cell itself where there is no such piece.
fn evaluate(state: &mut State, key: Key, number: u32, setup: Option<usize>, fx: &mut Vec<Effect>) {
    let id = next_id(state);
    let next_set_up = state.work.set_ups.saturating_add(1);
    let Some(cell) = state.cell_mut(key) else { return };
    let piece = setup.and_then(|piece| cell.setup.get(piece));
    let setup = setup.filter(|_| piece.is_some());
    let request = match piece {
        Some(code) => {
            let first_line = u32::try_from(code.line).unwrap_or(1);
            Request::Evaluate { id, cell: next_set_up, code: code.text.clone(), first_line }
        }
        None => Request::Evaluate { id, cell: number, code: cell.editor.text(), first_line: 1 },
    };
    if setup.is_some() {
        state.work.set_ups = next_set_up;
    }
    state.work.current = Some(Current { id, key, number, setup });
    fx.push(Effect::Send(request));
}

/// What follows a cell's end: its predictions are measured, its check runs, the variables are asked for.
pub(crate) fn follow_up(state: &mut State, current: Current, fx: &mut Vec<Effect>) {
    let probes: Vec<(Key, String)> = state
        .predictions_of(current.key)
        .iter()
        .filter(|predict| !predict.is_open())
        .map(|predict| (predict.key, predict.question.answer.text.clone()))
        .collect();
    for (key, expression) in probes {
        let id = next_id(state);
        state.work.pending.insert(id, Pending::Probe(key));
        fx.push(Effect::Send(Request::Probe { id, of: current.number, expression }));
    }
    let check = state.cell_mut(current.key).and_then(|cell| {
        let check = cell.exercise.as_ref().map(|exercise| exercise.check.clone())?;
        cell.check = Check::Running;
        cell.laid.clear();
        Some(check)
    });
    if let Some(code) = check {
        let id = next_id(state);
        state.work.pending.insert(id, Pending::Check(current.key));
        let first_line = u32::try_from(code.line).unwrap_or(1);
        fx.push(Effect::Send(Request::Check { id, of: current.number, code: code.text, first_line }));
    }
    inspect(state, fx);
}

/// Asks for the variables and devices as they are now.
pub(super) fn inspect(state: &mut State, fx: &mut Vec<Effect>) {
    let id = next_id(state);
    state.work.pending.insert(id, Pending::Inspect);
    fx.push(Effect::Send(Request::Inspect { id }));
}

fn run(state: &mut State, keys: &[Key], fx: &mut Vec<Effect>) -> bool {
    if let SessionStatus::Dead { .. } = state.session.status {
        state.say("the session has ended: r starts a new one");
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
    cell.status = Status::Queued;
    cell.laid.clear();
    state.work.queue.push_back(key);
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
    state.say("first your prediction: type a number, or Esc and s to skip");
    true
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

fn next_id(state: &mut State) -> u64 {
    state.work.next_id += 1;
    state.work.next_id
}

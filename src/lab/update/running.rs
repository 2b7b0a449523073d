//! Running cells: the lab's queue, one cell at a time in the session.

use crate::lab::item::{Guess, ItemState, Key, Status};
use crate::lab::msg::Effect;
use crate::lab::state::{Current, Pane, Pending, SessionStatus, State};
use crate::session::protocol::Request;

/// Queues the selected cell; false where there is none or it can't run now.
pub fn run_selected(state: &mut State, fx: &mut Vec<Effect>) -> bool {
    let Some(key) = state.selected_cell().map(|cell| cell.key) else { return false };
    run(state, &[key], fx)
}

/// Queues all cells of the step.
pub fn run_step(state: &mut State, fx: &mut Vec<Effect>) {
    let keys = visible(state, |step, _| step == state.step);
    run(state, &keys, fx);
}

/// Queues all cells before the selected one, those of earlier steps included.
pub fn run_above(state: &mut State, fx: &mut Vec<Effect>) {
    let here = (state.step, state.selected);
    let keys = visible(state, |step, item| (step, item) < here);
    run(state, &keys, fx);
}

/// Takes all cells off the queue that have not begun.
pub fn clear_queue(state: &mut State) {
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
pub fn dispatch(state: &mut State, fx: &mut Vec<Effect>) {
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
    let now = state.now;
    let id = next_id(state);
    let (executions, set_ups) = (state.work.executions, state.work.set_ups);
    let Some(cell) = state.cell_mut(key) else { return dispatch(state, fx) };
    let hidden = cell.is_hidden();
    let last = if hidden { set_ups } else { executions };
    let number = last.saturating_add(1);
    cell.begin(number, now);
    let code = cell.editor.text();
    *(if hidden { &mut state.work.set_ups } else { &mut state.work.executions }) = number;
    state.work.current = Some(Current { id, key, number });
    state.work.interrupted_at = None;
    fx.push(Effect::Send(Request::Evaluate { id, cell: number, code, first_line: 1 }));
}

/// What follows a cell's end: its predictions are measured, its check runs, the variables are asked for.
pub fn follow_up(state: &mut State, current: Current, fx: &mut Vec<Effect>) {
    let probes: Vec<(Key, String)> = state
        .predictions_of(current.key)
        .iter()
        .filter(|predict| !predict.is_open() && !predict.spec.answer.is_empty())
        .map(|predict| (predict.key, predict.spec.answer.clone()))
        .collect();
    for (key, expression) in probes {
        let id = next_id(state);
        state.work.pending.insert(id, Pending::Probe(key));
        fx.push(Effect::Send(Request::Probe { id, of: current.number, expression }));
    }
    let check = state.cell_mut(current.key).and_then(|cell| {
        let check = cell.exercise().map(|exercise| (exercise.check.clone(), exercise.check_line.max(1)))?;
        cell.check = crate::lab::item::Check::Running;
        cell.laid.clear();
        Some(check)
    });
    if let Some((code, first_line)) = check {
        let id = next_id(state);
        state.work.pending.insert(id, Pending::Check(current.key));
        fx.push(Effect::Send(Request::Check { id, of: current.number, code, first_line }));
    }
    inspect(state, fx);
}

/// Asks for the variables and devices as they are now.
pub fn inspect(state: &mut State, fx: &mut Vec<Effect>) {
    let id = next_id(state);
    state.work.pending.insert(id, Pending::Inspect);
    fx.push(Effect::Send(Request::Inspect { id }));
}

fn run(state: &mut State, keys: &[Key], fx: &mut Vec<Effect>) -> bool {
    if let SessionStatus::Dead { .. } = state.session.status {
        state.say("the session has ended: r starts a new one");
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
        for hidden in set_up_of(state, *key) {
            queue(state, hidden);
        }
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

/// Hidden cells before a cell that have not run in this session.
fn set_up_of(state: &State, key: Key) -> Vec<Key> {
    let before = state.cells().take_while(|cell| cell.key != key);
    let due = before.filter(|cell| cell.is_hidden() && (cell.earlier || cell.status == Status::Idle));
    due.map(|cell| cell.key).collect()
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

fn visible(state: &State, wanted: impl Fn(usize, usize) -> bool) -> Vec<Key> {
    let steps = state.steps.iter().enumerate();
    let all = steps.flat_map(|(s, step)| step.items.iter().enumerate().map(move |(i, item)| (s, i, item)));
    all.filter(|(s, i, _)| wanted(*s, *i))
        .filter_map(|(_, _, item)| match item {
            ItemState::Cell(cell) if !cell.is_hidden() => Some(cell.key),
            _ => None,
        })
        .collect()
}

fn next_id(state: &mut State) -> u64 {
    state.work.next_id += 1;
    state.work.next_id
}

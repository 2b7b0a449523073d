//! Requests beside the cell that runs, and the queue's end.

use crate::lab::model::item::Status;
use crate::lab::model::key::Key;
use crate::lab::model::message::Effect;
use crate::lab::model::state::State;
use crate::lab::model::work::Pending;
use crate::lab::update::book;
use crate::session::protocol::Request;

/// Takes all cells off the queue that have not begun.
pub(crate) fn clear_queue(state: &mut State) {
    for (key, before) in std::mem::take(&mut state.work.queue) {
        unqueue(state, key, before);
    }
    if !state.has_text {
        book::refresh(state);
    }
}

/// A cell that waited is what it was before: nothing of it has run.
pub(crate) fn unqueue(state: &mut State, key: Key, before: Status) {
    if let Some(cell) = state.cell_mut(key)
        && cell.status == Status::Queued
    {
        cell.status = before;
        cell.edited &= before != Status::Idle;
        cell.laid.clear();
    }
}

/// Asks for the variables and devices as they are now.
pub(crate) fn inspect(state: &mut State, fx: &mut Vec<Effect>) {
    let id = next_id(state);
    state.work.pending.insert(id, Pending::Inspect);
    fx.push(Effect::Send(Request::Inspect { id }));
}

/// An id that no request has had.
pub(crate) fn next_id(state: &mut State) -> u64 {
    state.work.next_id += 1;
    state.work.next_id
}

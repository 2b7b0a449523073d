//! Giving up on a session: what was asked of it is let go, and another is started.

use crate::lab::model::history::History;
use crate::lab::model::item::{Check, Status};
use crate::lab::model::message::Effect;
use crate::lab::model::state::{SessionStatus, State};
use crate::lab::update::{asking, variables};
use crate::lesson::attempt::Standing;

/// Ends the session, alive or not, and starts another. Cells, outputs and text stay.
pub(super) fn restart(state: &mut State, fx: &mut Vec<Effect>) {
    forget_session(state);
    fx.push(Effect::RestartSession);
}

/// How it is told that the session has ended by itself.
pub(crate) fn died(reason: &str) -> String {
    format!("✗ {reason}")
}

/// Gives up on the session that was: another is started next.
pub(crate) fn forget_session(state: &mut State) {
    asking::clear_queue(state);
    abandon(state);
    for cell in state.cells_mut().filter(|cell| cell.status != Status::Idle) {
        cell.earlier = true;
        cell.laid.clear();
    }
    state.work.executions = 0;
    state.runs.clear();
    state.verifying = None;
    if let Some(open) = &mut state.lesson {
        open.standing = Standing::Before(0);
    }
    state.work.interrupted_at = None;
    let sort = state.history.sorted_by();
    state.history = History::default();
    state.history.sort(sort);
    variables::place(state, &[], &[]);
    state.machine.forget();
    state.aid.known.clear();
    if let SessionStatus::Dead { reason } = &state.session.status {
        let told = died(reason);
        state.said.withdraw(&told);
    }
    state.session.status = SessionStatus::Starting;
    state.popup = None;
}

/// Gives up on all that was asked and not answered.
fn abandon(state: &mut State) {
    if let Some(current) = state.work.current.take()
        && let Some(cell) = state.cell_mut(current.key)
    {
        if let Status::Running { .. } = cell.status {
            cell.status = Status::Interrupted;
        }
        cell.replay = None;
        if cell.exercise.is_some() {
            cell.check = Check::Cut;
        }
        cell.laid.clear();
    }
    state.work.pending.clear();
}

//! What the session says, and its end.

use crate::lab::model::item::{Answer, CellState, Check, Progress, Status};
use crate::lab::model::key::Key;
use crate::lab::model::message::Effect;
use crate::lab::model::output::Ink;
use crate::lab::model::state::{Current, Pending, SessionStatus, State};
use crate::lab::model::text;
use crate::lab::update::restarting::{abandon, cut_pending};
use crate::lab::update::{book, running, selecting, variables, verifying};
use crate::lesson::Entry;
use crate::notebook;
use crate::script::complete::Known;
use crate::session::protocol::{self, Fault, Message, Outcome, ProbeValue, Usage, Verdict};

/// Progress bars that a cell shows at once.
const MAX_PROGRESS: usize = 4;

/// Takes a message; false where nothing shown has changed.
pub(super) fn message(state: &mut State, message: Message, fx: &mut Vec<Effect>) -> bool {
    match message {
        Message::Ready { version, devices, protections, .. } => {
            if version != protocol::VERSION {
                let reason = format!("it speaks protocol {version}, the lab speaks {}", protocol::VERSION);
                died(state, &reason, fx);
                return true;
            }
            state.session.status = SessionStatus::Ready;
            state.session.protections = protections;
            state.history.set_devices(&devices);
            running::dispatch(state, fx);
        }
        Message::Started { id, .. } => {
            let now = state.now;
            with_current(state, id, |cell| cell.status = Status::Running { since: now });
        }
        Message::Output { id, stream, text } => {
            with_current(state, id, |cell| {
                cell.output.print(stream, &text);
                cell.recorder.stream(&mut cell.outputs, stream, &text);
            });
        }
        Message::Display { id, content, display_id } => {
            with_current(state, id, |cell| {
                cell.output.display(&content, display_id.as_deref());
                cell.recorder.display(&mut cell.outputs, &content, display_id.as_deref());
            });
        }
        Message::Progress { id, label, done, total, note } => {
            let progress =
                Progress { label: text::clean_line(&label), done, total, note: text::clean_line(&note) };
            with_current(state, id, |cell| show_progress(&mut cell.progress, progress));
        }
        Message::Missed { digest } => state.history.take_sums(*digest),
        Message::Telemetry { events } => {
            if events.is_empty() {
                return false;
            }
            state.history.take(events);
        }
        Message::Finished { id, outcome, usage, .. } => finished(state, id, outcome, *usage, fx),
        Message::State { id, variables, devices, held } => {
            state.work.pending.remove(&id);
            state.history.set_devices(&devices);
            state.history.set_variables(&variables, &held);
            variables::place(state, &variables, &held);
            state.aid.known = variables.into_iter().map(known).collect();
        }
        Message::CheckResult { id, verdict } => checked(state, id, verdict, fx),
        Message::Probed { id, value } => probed(state, id, value, fx),
        Message::Refused { id, reason } => refused(state, id, &text::clean_line(&reason), fx),
        Message::Completions { .. } | Message::HelpText { .. } => return false,
    }
    true
}

fn known(variable: protocol::Variable) -> Known {
    Known {
        name: text::clean_line(&variable.name),
        type_name: text::clean_line(&variable.type_name),
        summary: text::clean_line(&variable.summary),
    }
}

/// The session has ended by itself: what ran is lost, all else stays.
pub(super) fn died(state: &mut State, reason: &str, fx: &mut Vec<Effect>) {
    let reason = text::clean_line(reason);
    let reason =
        if reason.starts_with("the session") { reason } else { format!("the session ended: {reason}") };
    running::clear_queue(state);
    if let Some(current) = state.work.current
        && let Some(cell) = state.cell_mut(current.key)
    {
        let told = format!("The session ended while this ran: {reason}");
        cell.output.block(Ink::Report, &told);
        cell.outputs.push(notebook::Output::stopped("SessionError", &told));
    }
    if let Some(current) = state.work.current {
        book::ran(state, current.key, fx);
    }
    abandon(state, Status::Lost);
    state.verifying = None;
    state.say(format!("✗ {reason}; r starts a new one"));
    state.session.status = SessionStatus::Dead { reason };
}

fn with_current(state: &mut State, id: u64, change: impl FnOnce(&mut CellState)) {
    // What a set-up prints is as unseen as its code.
    if let Some(current) = state.work.current.filter(|current| current.id == id && current.setup.is_none())
        && let Some(cell) = state.cell_mut(current.key)
    {
        change(cell);
        cell.laid.clear();
    }
}

fn show_progress(all: &mut Vec<Progress>, progress: Progress) {
    match all.iter_mut().find(|old| old.label == progress.label) {
        Some(old) => *old = progress,
        None => {
            if all.len() >= MAX_PROGRESS {
                all.remove(0);
            }
            all.push(progress);
        }
    }
}

fn finished(state: &mut State, id: u64, outcome: Outcome, usage: Usage, fx: &mut Vec<Effect>) {
    let Some(current) = state.work.current.take_if(|current| current.id == id) else {
        return exported(state, id, &outcome);
    };
    if current.setup.is_some() {
        set_up_finished(state, current, outcome, fx);
        return;
    }
    state.work.interrupted_at = None;
    let (stopped, cut) = match &outcome {
        Outcome::Ok { .. } => (false, false),
        Outcome::Error { .. } => (true, false),
        Outcome::Interrupted | Outcome::Timeout { .. } => (true, true),
    };
    if let Some(cell) = state.cell_mut(current.key) {
        cell.recorder.end(&mut cell.outputs, &outcome, u64::from(current.number));
        match outcome {
            Outcome::Ok { value } => {
                cell.status = Status::Ok;
                if let Some(value) = value {
                    cell.output.block(Ink::Value, &value);
                }
            }
            Outcome::Error { fault } => {
                cell.status = Status::Failed;
                cell.fault_line = fault.line;
                cell.output.block(Ink::Report, report(&fault));
            }
            Outcome::Interrupted => cell.status = Status::Interrupted,
            Outcome::Timeout { seconds } => cell.status = Status::TimedOut { seconds },
        }
        cell.usage = Some(usage);
        cell.laid.clear();
    }
    selecting::ran(state, current.key, stopped);
    if stopped {
        running::clear_queue(state);
    }
    record_run(state, current.key, !stopped, fx);
    book::ran(state, current.key, fx);
    if cut {
        cut_pending(state);
        running::inspect(state, fx);
    } else {
        running::follow_up(state, current, fx);
    }
    running::dispatch(state, fx);
    verifying::settle(state);
}

/// The session has written a snapshot, or has not.
fn exported(state: &mut State, id: u64, outcome: &Outcome) {
    if state.work.pending.get(&id) != Some(&Pending::Snapshot) {
        return;
    }
    state.work.pending.remove(&id);
    match outcome {
        Outcome::Ok { value } => {
            let path = text::clean_line(value.as_deref().unwrap_or_default());
            state.say(format!("{}: opens at pytorch.org/memory_viz", path.trim_matches('"')));
        }
        Outcome::Error { fault } => state.say(text::clean_line(&fault.message)),
        Outcome::Interrupted | Outcome::Timeout { .. } => state.say("no memory snapshot: it was interrupted"),
    }
}

/// The report as it stands; the bare message where there is none.
fn report(fault: &Fault) -> &str {
    if fault.report.trim().is_empty() { &fault.message } else { &fault.report }
}

/// After a piece of set-up comes the next one, or the cell; one that fails is the lesson's fault.
fn set_up_finished(state: &mut State, current: Current, outcome: Outcome, fx: &mut Vec<Effect>) {
    if let Outcome::Ok { .. } = outcome {
        running::next_piece(state, current, fx);
        return;
    }
    if let Some(cell) = state.cell_mut(current.key) {
        cell.status = Status::Failed;
        cell.laid.clear();
        match outcome {
            Outcome::Error { fault } => {
                cell.output.block(Ink::Report, "The lesson's set-up of this cell failed, not your code:");
                cell.output.block(Ink::Report, report(&fault));
            }
            Outcome::Timeout { seconds } => cell.status = Status::TimedOut { seconds },
            Outcome::Interrupted | Outcome::Ok { .. } => cell.status = Status::Interrupted,
        }
    }
    running::clear_queue(state);
    running::inspect(state, fx);
}

/// Of an exercise the verdict is kept instead.
fn record_run(state: &mut State, key: Key, ok: bool, fx: &mut Vec<Effect>) {
    if let Some(cell) = state.cell_mut(key).filter(|cell| cell.exercise.is_none() && !cell.own) {
        fx.push(Effect::Record { step: cell.id.clone(), entry: Entry::Ran { ok } });
    }
}

fn checked(state: &mut State, id: u64, verdict: Verdict, fx: &mut Vec<Effect>) {
    let Some(Pending::Check(key)) = state.work.pending.remove(&id) else { return };
    let verdict = verdict.said(text::clean_line);
    if let Some(cell) = state.cell_mut(key) {
        let entry = Entry::Attempt { verdict: verdict.clone(), trace: None };
        fx.push(Effect::Record { step: cell.id.clone(), entry });
        cell.check = Check::Done(verdict);
        cell.laid.clear();
    }
}

fn probed(state: &mut State, id: u64, value: Result<ProbeValue, Fault>, fx: &mut Vec<Effect>) {
    let Some(Pending::Probe(key)) = state.work.pending.remove(&id) else { return };
    let simulated = state.history.any_simulated();
    let Some(predict) = state.predict_mut(key) else { return };
    match value {
        Ok(value) => predict.measured(value, simulated),
        Err(fault) => predict.answer = Some(Err(text::clean_line(&fault.message))),
    }
    predict.laid.clear();
    if let Some(Ok(Answer::Compared(outcome))) = &predict.answer {
        let entry = Entry::Answer { answer: outcome.answer, hit: outcome.hit };
        fx.push(Effect::Record { step: predict.id.clone(), entry });
    }
}

fn refused(state: &mut State, id: Option<u64>, reason: &str, fx: &mut Vec<Effect>) {
    let pending = id.and_then(|id| state.work.pending.remove(&id));
    if let Some(Pending::Check(key)) = pending
        && let Some(cell) = state.cell_mut(key)
    {
        cell.check = Check::Cut;
        cell.laid.clear();
    }
    let current = state.work.current.filter(|current| Some(current.id) == id);
    if let Some(current) = current {
        state.work.current = None;
        if let Some(cell) = state.cell_mut(current.key) {
            cell.status = Status::Failed;
            let told = format!("the session refused: {reason}");
            cell.output.block(Ink::Report, &told);
            cell.outputs.push(notebook::Output::stopped("SessionError", &told));
            cell.laid.clear();
        }
        running::clear_queue(state);
        running::dispatch(state, fx);
    } else {
        state.say(format!("the session refused: {reason}"));
    }
}

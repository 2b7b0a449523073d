//! What the session says, and its end.

use crate::lab::model::actions::Action;
use crate::lab::model::active_keys::keys_for;
use crate::lab::model::item::{CellState, Progress, Status};
use crate::lab::model::message::Effect;
use crate::lab::model::output::Ink;
use crate::lab::model::state::{SessionStatus, State};
use crate::lab::model::text;
use crate::lab::model::work::Pending;
use crate::lab::update::{asking, attempting, restarting, running, selecting, variables, verifying};
use crate::lesson::attempt::{Took, session_ended};
use crate::script::complete::Known;
use crate::session::protocol::{self, Fault, Message, Outcome, Usage};

/// Progress bars that a cell shows at once.
const MAX_PROGRESS: usize = 4;

/// Takes a message; false where nothing shown has changed.
pub(super) fn message(state: &mut State, message: Message, fx: &mut Vec<Effect>) -> bool {
    match attempting::take(state, &message) {
        Took::Nothing => match message {
            Message::Finished { id, outcome, .. } => {
                exported(state, id, &outcome);
                true
            }
            // Nobody waits for it any more.
            Message::Started { .. }
            | Message::Output { .. }
            | Message::Display { .. }
            | Message::Progress { .. } => false,
            other => shown(state, other, fx),
        },
        Took::Shown => {
            let changed = shown(state, message, fx);
            go_on(state, fx);
            changed
        }
        Took::Unseen => {
            let answered = message.answers().is_some();
            if answered {
                go_on(state, fx);
            }
            answered
        }
    }
}

/// What is to be asked next of the cell that runs, or the next cell.
fn go_on(state: &mut State, fx: &mut Vec<Effect>) {
    if attempting::go_on(state, fx) {
        running::dispatch(state, fx);
        verifying::settle(state);
    }
}

/// The devices that the open lesson was written for, in words that follow others.
fn own_devices(state: &State) -> String {
    let own = state.lesson.as_ref().and_then(|open| open.lesson.front.devices.first());
    own.map_or(String::new(), |own| format!(", such as {}", text::clean_line(own)))
}

/// What a message changes of what is shown.
fn shown(state: &mut State, message: Message, fx: &mut Vec<Effect>) -> bool {
    match message {
        Message::Ready { version, devices, protections, .. } => {
            if version != protocol::VERSION {
                let reason = format!("it speaks protocol {version}, the lab speaks {}", protocol::VERSION);
                died(state, (&reason, false), fx);
                return true;
            }
            state.session.status = SessionStatus::Ready;
            state.session.protections = protections;
            state.history.set_devices(&devices);
            if let Some(open) = &mut state.lesson {
                open.lacks = open.lesson.front.requires.lacking(&devices);
                if let Some(lacks) = open.lacks.clone() {
                    let (key, own) = (state.keymap.name_of(Action::OtherDevices), own_devices(state));
                    state.say(format!("{lacks}: {key} goes on with others{own}"));
                }
            }
            running::dispatch(state, fx);
        }
        Message::Started { .. } => {
            let now = state.now;
            with_current(state, |cell| {
                cell.replay = None;
                cell.status = Status::Running { since: now };
            });
        }
        Message::Output { stream, text, .. } => {
            with_current(state, |cell| {
                cell.output.print(stream, &text);
                cell.recorder.stream(&mut cell.outputs, stream, &text);
            });
        }
        Message::Display { content, display_id, .. } => {
            with_current(state, |cell| {
                cell.output.display(&content, display_id.as_deref());
                cell.recorder.display(&mut cell.outputs, &content, display_id.as_deref());
            });
        }
        Message::Progress { label, done, total, note, .. } => {
            let progress =
                Progress { label: text::clean_line(&label), done, total, note: text::clean_line(&note) };
            with_current(state, |cell| show_progress(&mut cell.progress, progress));
        }
        Message::Missed { digest } => state.history.take_sums(*digest),
        Message::Telemetry { events } => {
            if events.is_empty() {
                return false;
            }
            state.history.take(events);
        }
        Message::Finished { outcome, usage, .. } => finished(state, outcome, *usage),
        Message::State { id, variables, devices, held } => {
            state.work.pending.remove(&id);
            state.history.set_devices(&devices);
            state.history.set_variables(&variables, &held);
            variables::place(state, &variables, &held);
            state.aid.known = variables.into_iter().map(known).collect();
        }
        Message::Refused { id, reason } => refused(state, id, &text::clean_line(&reason)),
        Message::Completions { .. }
        | Message::HelpText { .. }
        | Message::CheckResult { .. }
        | Message::Probed { .. } => return false,
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

/// The session has ended, for this reason and perhaps from outside: what ran is lost, all else stays.
pub(super) fn died(state: &mut State, (reason, from_outside): (&str, bool), fx: &mut Vec<Effect>) {
    let reason = text::clean_line(reason);
    let reason = session_ended(&reason);
    asking::clear_queue(state);
    attempting::die(state, (&reason, from_outside), fx);
    state.work.pending.clear();
    state.verifying = None;
    let keys = keys_for(state, Action::Restart);
    state.say(format!("{}; {keys} starts a new one", restarting::died(&reason)));
    state.session.status = SessionStatus::Dead { reason };
}

/// Changes the cell that runs; whose message it is has been found out before.
fn with_current(state: &mut State, change: impl FnOnce(&mut CellState)) {
    let key = state.work.current.as_ref().map(|current| current.key);
    if let Some(cell) = key.and_then(|key| state.cell_mut(key)) {
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

/// The learner's code has run; what follows it is the attempt's to say.
fn finished(state: &mut State, outcome: Outcome, usage: Usage) {
    let Some(current) = &state.work.current else { return };
    let (key, number) = (current.key, current.number);
    state.work.interrupted_at = None;
    let stopped = !matches!(outcome, Outcome::Ok { .. });
    if let Some(cell) = state.cell_mut(key) {
        cell.recorder.end(&mut cell.outputs, &outcome, u64::from(number));
        cell.replay = None;
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
            Outcome::Timeout { seconds } => cell.status = Status::TimedOut { seconds: Some(seconds) },
            Outcome::TooMuchOutput { limit } => {
                cell.status = Status::Flooded;
                cell.output.block(Ink::Report, &format!("stopped: it made more than {limit}"));
            }
        }
        cell.usage = Some(usage);
        cell.laid.clear();
    }
    selecting::ran(state, key, stopped);
    if stopped {
        asking::clear_queue(state);
    }
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
        Outcome::Interrupted | Outcome::Timeout { .. } | Outcome::TooMuchOutput { .. } => {
            state.say("no memory snapshot: it was interrupted")
        }
    }
}

/// The report as it stands; the bare message where there is none.
fn report(fault: &Fault) -> &str {
    if fault.report.trim().is_empty() { &fault.message } else { &fault.report }
}

fn refused(state: &mut State, id: Option<u64>, reason: &str) {
    if let Some(id) = id {
        state.work.pending.remove(&id);
    }
    state.say(format!("the session refused: {reason}"));
}

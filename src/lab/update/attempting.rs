//! The cell that runs: what the session is asked for it, one thing after another, and what comes of it.
//!
//! [`Attempt`] knows the order; here its requests are sent, and its end is shown and recorded.

use crate::base::figures::plural;
use crate::lab::model::actions::Action;
use crate::lab::model::active_keys::keys_for;
use crate::lab::model::history::History;
use crate::lab::model::item::{CellState, Check, ItemState, Status};
use crate::lab::model::key::Key;
use crate::lab::model::message::Effect;
use crate::lab::model::output::Ink;
use crate::lab::model::state::State;
use crate::lab::model::text;
use crate::lab::model::work::Current;
use crate::lab::update::{asking, book, selecting, variables};
use crate::lesson::attempt::{Attempt, AttemptEnd, INTERRUPTED, Measured, PassedCode, Standing, Took};
use crate::lesson::{Code, Element, Entry, Step};
use crate::notebook::{Kind, Output};
use crate::session::protocol::{Message, Request, Verdict};

/// Sends the first request for a cell that begins to run.
pub(super) fn begin(state: &mut State, key: Key, number: u32, fx: &mut Vec<Effect>) {
    let Some(attempt) = attempt(state, key, number) else { return };
    if attempt.begins_anew() {
        leave_changes(state, key, attempt.replayed());
    }
    tell_where(state, key, &attempt);
    state.work.current = Some(Current { key, number, attempt });
    // There is always something to ask first.
    let _ = go_on(state, fx);
}

/// What the session is to be asked for a cell.
fn attempt(state: &State, key: Key, number: u32) -> Option<Attempt> {
    let cell = state.cells().find(|cell| cell.key == key)?;
    let code = Code { text: cell.editor.text(), line: 1 };
    let Some(open) = &state.lesson else { return Some(Attempt::of_code(number, code)) };
    let (lesson, passed) = (&open.lesson, &open.passed);
    let Some(step) = cell.step else {
        // Beside a step, all before it has been done; in a session in which other things ran it takes what there is.
        let (after, is_open) = above(state, key);
        return Some(match open.standing {
            Standing::Before(at) if at <= after => {
                let attempt = if is_open { Attempt::within } else { Attempt::after };
                attempt(lesson, after, (number, code), open.standing, passed)
            }
            _ => Attempt::of_code(number, code),
        });
    };
    let probes =
        if is_as_written(&code.text, lesson.steps.get(step)) { probes(state, key) } else { Vec::new() };
    Some(Attempt::at_step(lesson, step, (number, code), open.standing, passed).settling(probes))
}

/// Steps of the lesson that are done above a cell of the learner's own, and whether the next is an exercise there that
/// has not passed: what its solution makes is not there yet.
fn above(state: &State, key: Key) -> (usize, bool) {
    let cells = state.cells().take_while(|cell| cell.key != key);
    let nearest = cells.filter(|cell| cell.step.is_some()).last();
    let is_open = |cell: &&CellState| cell.exercise.is_some() && !cell.done && !cell.skipped;
    match nearest {
        Some(cell) if is_open(&cell) => (cell.step.unwrap_or(0), true),
        nearest => (nearest.and_then(|cell| cell.step).map_or(0, |step| step + 1), false),
    }
}

/// Says where a cell begins: where the exercise above it does, or with the lesson's own solutions. Of what was passed
/// over that was said.
fn tell_where(state: &mut State, key: Key, attempt: &Attempt) {
    let is_own = state.cells().any(|cell| cell.key == key && cell.own);
    if is_own && attempt.begins_within() {
        state.say("begins where the exercise above does: run that before, for what it makes");
    }
    let is_unseen = |cell: &&CellState| {
        let is_run = cell.step.is_some_and(|step| attempt.runs_before(step));
        is_run && cell.exercise.is_none() && cell.status == Status::Idle && !cell.done
    };
    let unseen = state.cells().filter(is_unseen).count();
    if is_own && unseen > 0 {
        let cells = plural(unseen as u64, "cell of the lesson", "cells of the lesson");
        state.say(format!("begins after {cells} that you have not run: they are run before, unseen"));
    }
    let passed_over = |id: &str| state.cells().any(|cell| cell.id == id && cell.skipped);
    let mut open = attempt.solved_for().filter(|id| !passed_over(id));
    let Some(first) = open.next() else { return };
    let which = match open.count() {
        0 => format!("`{first}`, which has"),
        1 => format!("`{first}` and another, which have"),
        more => format!("`{first}` and {more} others, which have"),
    };
    let told = format!("begins with the lesson's own solution of {which} not passed yet");
    state.say(text::clean_line(&told));
}

/// A cell that is to be run as it stands still is what the lesson has written.
fn is_as_written(text: &str, step: Option<&Step>) -> bool {
    match step.and_then(|step| step.element.as_ref()) {
        // Lines that are empty make no other cell.
        Some(Element::Run(code)) => written_lines(&code.text).eq(written_lines(text)),
        _ => true,
    }
}

fn written_lines(code: &str) -> impl Iterator<Item = &str> {
    code.lines().map(str::trim_end).filter(|line| !line.is_empty())
}

/// The predictions that a cell's run settles: those that are made and not settled yet.
fn probes(state: &State, key: Key) -> Vec<(String, String)> {
    let predictions = state.predictions_of(key).into_iter();
    let open = predictions.filter(|predict| !predict.is_open() && !predict.is_settled());
    open.map(|predict| (predict.id.clone(), predict.question.answer.text.clone())).collect()
}

/// What the learner's own cells made, and what they changed in cells of the lesson, goes with the state that it was in.
fn leave_changes(state: &mut State, key: Key, replayed: usize) {
    let Some(lesson) = state.lesson.as_ref().map(|open| std::sync::Arc::clone(&open.lesson)) else { return };
    let here = state.cells().find(|cell| cell.key == key).and_then(|cell| cell.step);
    let (mut own, mut changed) = (false, Vec::new());
    for cell in state.cells_mut().filter(|cell| cell.ran.is_some() && !cell.earlier) {
        let Some(number) = cell.number else { continue };
        let is_changed = cell.step.is_some_and(|step| {
            let element = lesson.steps.get(step).and_then(|step| step.element.as_ref());
            let ran = |code: &Code| cell.ran == Some(Kind::Code.hash(&code.text));
            Some(step) < here && matches!(element, Some(Element::Run(code)) if !ran(code))
        });
        if !cell.own && !is_changed {
            continue;
        }
        own |= cell.own;
        changed.extend(is_changed.then(|| format!("In [{number}]")));
        cell.earlier = true;
        cell.laid.clear();
    }
    if !own && changed.is_empty() {
        return;
    }
    let steps = if replayed == 1 { "1 step was".to_owned() } else { format!("{replayed} steps were") };
    let without = match changed.is_empty() {
        true => String::new(),
        false => format!(" as the lesson has it, without what you changed in {}", changed.join(", ")),
    };
    let gone = if own { ", and what your own cells made is gone" } else { "" };
    state.say(format!("begins where the lesson stands: {steps} run again{without}{gone}"));
}

/// Sends what is to be asked next; true where nothing is left, and the cell's run has ended.
pub(super) fn go_on(state: &mut State, fx: &mut Vec<Effect>) -> bool {
    let id = asking::next_id(state);
    let Some(current) = &mut state.work.current else { return false };
    let key = current.key;
    if let Some(request) = current.attempt.request(id) {
        let replay = current.attempt.replay();
        let checks = matches!(request, Request::Check { .. });
        fx.push(Effect::Send(request));
        if let Some(cell) = state.cell_mut(key)
            && (cell.replay != replay || checks)
        {
            cell.replay = replay;
            cell.check = if checks { Check::Running } else { Check::Open };
            cell.laid.clear();
        }
    } else if current.attempt.end().is_some()
        && let Some(current) = state.work.current.take()
    {
        ended(state, current, fx);
        return true;
    }
    false
}

/// Whose a message is; what is run unseen is taken here.
pub(super) fn take(state: &mut State, message: &Message) -> Took {
    let Some(current) = &mut state.work.current else { return Took::Nothing };
    let resets = current.attempt.is_resetting();
    let took = current.attempt.take(message);
    if let (true, Message::State { devices, .. }) = (resets, message) {
        begin_anew(state);
        state.history.set_devices(devices);
    }
    took
}

/// The session has forgotten everything: so does the machine's panel.
fn begin_anew(state: &mut State) {
    let sort = state.history.sorted_by();
    state.history = History::default();
    state.history.sort(sort);
    variables::place(state, &[], &[]);
    state.machine.forget();
}

/// The session is no more, for this reason: what ran ends with it.
pub(super) fn die(state: &mut State, (reason, from_outside): (&str, bool), fx: &mut Vec<Effect>) {
    let Some(mut current) = state.work.current.take() else { return };
    let is_shown = current.attempt.is_shown();
    if let Some(cell) = state.cell_mut(current.key)
        && let Status::Running { .. } = cell.status
    {
        cell.status = Status::Lost;
        if is_shown {
            let told = format!("The session ended while this ran: {reason}");
            cell.output.block(Ink::Report, &told);
            cell.outputs.push(Output::stopped("SessionError", &told));
        }
    }
    current.attempt.die(reason, from_outside);
    close(state, current, fx);
}

fn ended(state: &mut State, current: Current, fx: &mut Vec<Effect>) {
    close(state, current, fx);
    asking::inspect(state, fx);
}

/// What came of an attempt is shown and recorded.
fn close(state: &mut State, current: Current, fx: &mut Vec<Effect>) {
    state.work.interrupted_at = None;
    let Current { key, attempt, .. } = current;
    if let Some(told) = state.lesson.as_mut().and_then(|open| attempt.tell_unsuited(&mut open.passed)) {
        state.say(text::clean_line(&told));
    }
    let mut standing = Standing::Elsewhere;
    match attempt.end() {
        Some(AttemptEnd::Ran(Some(verdict))) => {
            if verdict.is_pass() {
                standing = passed(state, key, attempt.code());
            }
            judged(state, key, verdict.clone(), attempt.code(), fx);
        }
        Some(AttemptEnd::Fault(verdict)) => {
            asking::clear_queue(state);
            not_begun(state, key, verdict);
            judged(state, key, verdict.clone(), attempt.code(), fx);
        }
        Some(AttemptEnd::Cut(reason)) => {
            asking::clear_queue(state);
            cut(state, key, reason);
        }
        Some(AttemptEnd::Ran(None)) | None => standing = ran(state, key, attempt.code(), fx),
    }
    if let Some(open) = &mut state.lesson {
        open.standing = standing;
    }
    let simulated = state.history.any_simulated();
    for answer in attempt.answers() {
        settled(state, answer, simulated, fx);
    }
    book::ran(state, key, fx);
    selecting::sum_up(state);
}

/// A cell without a check has run; where the session stands then.
fn ran(state: &mut State, key: Key, code: &str, fx: &mut Vec<Effect>) -> Standing {
    let Some(lesson) = state.lesson.as_ref().map(|open| std::sync::Arc::clone(&open.lesson)) else {
        return Standing::Elsewhere;
    };
    let Some(cell) = state.cell_mut(key) else { return Standing::Elsewhere };
    let Some(step) = cell.step else { return Standing::Elsewhere };
    let ok = cell.status == Status::Ok;
    cell.done |= ok;
    fx.push(Effect::Record { step: cell.id.clone(), entry: Entry::Ran { ok } });
    let as_written = is_as_written(code, lesson.steps.get(step));
    if !as_written && !probes(state, key).is_empty() {
        let key = keys_for(state, Action::LessonText);
        state.say(format!(
            "your prediction is of the cell as the lesson has it, and this one was changed: {key} puts its text back"
        ));
    }
    if ok && as_written { Standing::Before(step + 1) } else { Standing::Elsewhere }
}

/// What passed is what the steps after it build upon.
fn passed(state: &mut State, key: Key, code: &str) -> Standing {
    let Some(cell) = state.cell_mut(key) else { return Standing::Elsewhere };
    cell.done = true;
    let (id, step) = (cell.id.clone(), cell.step);
    if let Some(open) = &mut state.lesson {
        open.passed.insert(id, PassedCode { text: code.to_owned(), earlier: false });
    }
    step.map_or(Standing::Elsewhere, |step| Standing::Before(step + 1))
}

fn judged(state: &mut State, key: Key, verdict: Verdict, code: &str, fx: &mut Vec<Effect>) {
    let verdict = verdict.said(text::clean_line);
    let Some(cell) = state.cell_mut(key) else { return };
    if cell.exercise.is_none() {
        return;
    }
    let code = verdict.is_pass().then(|| code.to_owned());
    let entry = Entry::Attempt { verdict: verdict.clone(), trace: None, code };
    fx.push(Effect::Record { step: cell.id.clone(), entry });
    cell.check = Check::Done(verdict);
    cell.laid.clear();
}

/// Where the learner's code has not run, something of the lesson's failed before it. Of an exercise the verdict says so.
fn not_begun(state: &mut State, key: Key, verdict: &Verdict) {
    let Some(cell) = state.cell_mut(key).filter(|cell| !cell.has_ended()) else { return };
    if let Status::Running { .. } = cell.status {
        cell.status = Status::Failed;
    }
    cell.replay = None;
    cell.laid.clear();
    if let (None, Verdict::CheckerFault { message, .. }) = (&cell.exercise, verdict) {
        let told = format!("What the lesson does before this cell failed, not your code: {message}");
        cell.output.block(Ink::Report, &told);
        cell.outputs.push(Output::stopped("LessonError", &told));
    }
}

fn cut(state: &mut State, key: Key, reason: &str) {
    let Some(cell) = state.cell_mut(key) else { return };
    cell.replay = None;
    if let Status::Running { .. } = cell.status {
        cell.status = if reason == INTERRUPTED { Status::Interrupted } else { Status::Failed };
        if cell.status == Status::Failed {
            let told = format!("the session refused: {}", text::clean_line(reason));
            cell.output.block(Ink::Report, &told);
            cell.outputs.push(Output::stopped("SessionError", &told));
        }
    }
    if cell.exercise.is_some() {
        cell.check = Check::Cut;
    }
    cell.laid.clear();
}

/// A prediction's answer, which stays what it is.
fn settled(state: &mut State, answer: &Measured, simulated: bool, fx: &mut Vec<Effect>) {
    let Measured { id, value, clock } = answer;
    let items = state.steps.iter_mut().flat_map(|step| &mut step.items);
    let found = items.filter_map(|item| match item {
        ItemState::Predict(predict) if predict.id == *id => Some(predict),
        _ => None,
    });
    for predict in found {
        let basis = predict.question.basis(*clock, simulated);
        match value {
            Ok(value) => predict.measured(value.clone(), basis),
            Err(fault) => predict.answer = Some(Err(text::clean_line(&fault.message))),
        }
        predict.laid.clear();
        // An open question keeps nothing: who answers it yet is told then.
        if let Some(Ok(answer)) = &predict.answer
            && !predict.is_open()
        {
            let entry = answer.entry(basis);
            fx.push(Effect::Record { step: predict.id.clone(), entry });
        }
    }
}

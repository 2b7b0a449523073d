//! The script interpreter as a session's evaluator.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};

use rhai::{Array, Dynamic, Map};

use crate::base::event::{ANSWER_CELLS, Body, Bus, CHECK_CELLS, Clock, Event, HIDDEN_CELLS, Page, Reader};
use crate::base::{Cause, Device, quota};
use crate::device::Machine;
use crate::device::shared::CodePlace;
use crate::device::switches::Switches;
use crate::script::carry;
use crate::script::engine::Stopped;
use crate::script::examine::{Examiner, Refused};
use crate::script::modules::run_events::{Finding, RunEvents};
use crate::script::reads::bound_in_blocks;
use crate::script::summary::Summary;
use crate::script::{Fault, Interpreter, Limits, Origin, help};

use super::engine::{CheckStopped, Evaluator, Host, Inspected, Interrupt};
use super::given::Given;
use super::protocol::{Completion, Display, GivenName, LAST, Outcome, ProbeValue, Stream, Usage, Verdict};
use super::relay::{OfCalled, Relay};
use super::scratch::{SCRATCH, Scratch};
use super::spent::{Copied, Snapshot};
use super::{complete, described, inspect};

/// Cells whose events are kept for checks.
const KEPT_CELLS: usize = 32;
/// Events of accelerators kept of one cell: its first ones. What a check counts is summed over all; where it looks for
/// single events in a longer run, it says so.
const KEPT_EVENTS: usize = 20_000;

/// Evaluates scripts on one machine.
pub struct ScriptEvaluator {
    interpreter: Interpreter,
    relay: Arc<Relay>,
    runs: VecDeque<CellRun>,
    usage: Usage,
    /// `_` is the last cell's value.
    keeps_last: bool,
    /// What is drawn in a cell is not closed with it.
    keeps_figure: bool,
    limits: Limits,
    /// Where checks run; made for the first.
    examiner: Option<Examiner>,
    /// A check is in what the learner wrote.
    calling: Arc<AtomicBool>,
    /// Constants that a reset leaves.
    given: Vec<(&'static str, Dynamic)>,
    scratch: Option<Scratch>,
    /// A cell of the learner's has run since the last reset.
    shown: bool,
    /// What the check of the last cell is to find as it was before.
    before: Given,
    /// What the last code left set is to be put back to.
    switches: Option<Switches>,
    /// The clock of the last answer, where the machine has both.
    answered: Option<Clock>,
    /// Where the last check refused.
    check_line: Option<u32>,
}

/// What is kept of a cell's last run.
struct CellRun {
    cell: u32,
    events: Arc<Vec<Event>>,
    dropped: u64,
    figures: Map,
    fault: Option<Fault>,
    code: String,
}

impl ScriptEvaluator {
    /// Evaluates scripts on a machine, within limits.
    pub fn new(machine: Arc<Machine>, limits: &Limits) -> ScriptEvaluator {
        let relay = Arc::new(Relay::default());
        let interpreter = Interpreter::new(machine, Arc::clone(&relay) as _, limits);
        ScriptEvaluator {
            interpreter,
            relay,
            runs: VecDeque::new(),
            usage: Usage::default(),
            keeps_last: false,
            keeps_figure: false,
            limits: limits.clone(),
            examiner: None,
            calling: Arc::default(),
            given: Vec::new(),
            scratch: None,
            shown: false,
            before: Given::default(),
            switches: None,
            answered: None,
            check_line: None,
        }
    }

    /// Binds the last value to `_`, which keeps what it holds alive until the next value.
    pub fn keep_last(&mut self) {
        self.keeps_last = true;
        self.interpreter.set(LAST, Dynamic::UNIT);
    }

    /// Lets a figure go on over cells, as one is drawn line by line at a prompt.
    pub fn keep_figure(&mut self) {
        self.keeps_figure = true;
    }

    /// The list that scripts know as `ARGS`.
    pub fn set_arguments(&mut self, arguments: &[String]) {
        let arguments: Array = arguments.iter().map(|a| Dynamic::from(a.clone())).collect();
        self.give("ARGS", arguments.into());
    }

    /// Gives code a folder to write to, which is emptied at each reset. To be called on the evaluating thread.
    pub fn set_scratch(&mut self, scratch: Scratch) {
        scratch.enforce();
        self.give(SCRATCH, scratch.folder().display().to_string().into());
        self.scratch = Some(scratch);
    }

    /// A constant that a reset leaves.
    fn give(&mut self, name: &'static str, value: Dynamic) {
        self.interpreter.set_constant(name, value.clone());
        self.given.push((name, value));
    }

    fn machine(&self) -> &Arc<Machine> {
        self.interpreter.machine()
    }

    fn run_of(&self, cell: u32) -> RunEvents {
        let run = self.runs.iter().rev().find(|r| r.cell == cell);
        RunEvents::new(
            run.map(|r| Arc::clone(&r.events)).unwrap_or_default(),
            run.map_or_else(|| Summary::default().map(), |r| r.figures.clone()),
            run.map_or(0, |r| r.dropped),
            run.and_then(|r| r.fault.as_ref().map(|fault| fault.kind.clone())),
        )
    }

    /// Evaluates code on what the scope holds, with a run's events in sight. What it does is told as that of `cell`.
    fn aside<T>(
        &mut self,
        cell: u32,
        events: &RunEvents,
        (origin, to_its_end): (&Origin, bool),
        read: impl FnOnce(&Interpreter, &Dynamic) -> Result<T, Stopped>,
    ) -> Result<T, Refused> {
        let machine = Arc::clone(self.machine());
        let code = machine.shared.beside(cell);
        let (relay, limits) = (Arc::clone(&self.relay) as _, self.limits.clone());
        let examiner = self.examiner.get_or_insert_with(|| {
            Examiner::new(&machine, relay, &limits, &self.given, Arc::clone(&self.calling))
        });
        let events = ("events", Dynamic::from(events.clone()));
        let result = examiner.examine(&self.interpreter, events, (origin, to_its_end), &self.before, read);
        drop(code);
        result
    }

    /// Prints the help on a name, or says which names are near it.
    fn answer(&self, name: &str, host: &Arc<dyn Host>) -> Outcome {
        match self.help(name) {
            (Some(page), _) => host.print(Stream::Stdout, &page),
            (None, near) if near.is_empty() => {
                host.print(Stream::Stdout, &format!("there is no help on '{name}'\n"));
            }
            (None, near) => {
                let text = format!("there is no help on '{name}'; did you mean {}?\n", near.join(", "));
                host.print(Stream::Stdout, &text);
            }
        }
        Outcome::Ok { value: None }
    }

    fn keep(&mut self, run: CellRun) {
        self.runs.retain(|r| r.cell != run.cell);
        self.runs.push_back(run);
        if self.runs.len() > KEPT_CELLS {
            self.runs.pop_front();
        }
    }

    fn outcome(&self, result: Result<Dynamic, Stopped>) -> Outcome {
        // A figure that nobody has shown is shown as what it is.
        if let Some(figure) = result.as_ref().ok().and_then(Interpreter::figure_of) {
            self.relay.with(|host| host.display(Display::Figure { figure: Box::new(figure) }, None));
            return Outcome::Ok { value: None };
        }
        match result {
            Ok(value) if value.is_unit() => Outcome::Ok { value: None },
            Ok(value) => match self.interpreter.show(&value) {
                Ok(text) => Outcome::Ok { value: Some(format!("{text}{}", self.interpreter.note(&value))) },
                Err(stopped) => self.outcome(Err(stopped)),
            },
            Err(Stopped::Fault(fault)) => Outcome::Error { fault: *fault },
            Err(Stopped::Cancelled(error)) => match error.cause() {
                Cause::Timeout { seconds } => Outcome::Timeout { seconds: *seconds },
                _ => Outcome::Interrupted,
            },
        }
    }
}

impl Evaluator for ScriptEvaluator {
    fn evaluate(&mut self, cell: u32, first_line: u32, code: &str, host: &Arc<dyn Host>) -> Outcome {
        if let Some(name) = asked_name(code) {
            // A page of help does nothing on the devices: what the cell before took is not its own.
            self.usage = Usage::default();
            return self.answer(name, host);
        }
        self.before.note_code(code);
        self.relay.set(Some(Arc::clone(host)));
        // What a check was refused is none of this.
        let _ = quota::was_met();
        let machine = Arc::clone(self.machine());
        // What a lesson runs by itself is no peak of the learner's.
        let peaks: Vec<_> = if cell >= HIDDEN_CELLS {
            machine.gpus().iter().map(|gpu| gpu.peaks()).collect()
        } else {
            Vec::new()
        };
        let before = Snapshot::of(&machine);
        let recorder = Arc::new(Recorder::new(&machine));
        let subscription = machine.bus().read(Arc::clone(&recorder) as _);
        machine.shared.begin(CodePlace { cell, before: first_line.saturating_sub(1) });
        machine.bus().emit(machine.shared.source(), || Body::CellStart { cell, at: machine.shared.nanos() });
        // What a lesson runs again by itself has no number that anybody knows.
        let name = if cell < HIDDEN_CELLS { format!("In [{cell}]") } else { "an earlier step".into() };
        let origin = Origin { name: &name, code, first_line };
        let result = self.interpreter.evaluate(cell, &origin);
        let last = result.as_ref().ok().filter(|value| self.keeps_last && !value.is_unit()).cloned();
        let unseen =
            (!self.keeps_figure).then(|| self.interpreter.close_figure(result.as_ref().ok())).flatten();
        if let Some(figure) = unseen.map(Box::new) {
            host.display(Display::Figure { figure }, None);
        }
        // What the cell did is done: that its value is shown, for which a device may be asked, is none of it.
        drop(subscription);
        recorder.lock().sums.end(&machine);
        let outcome = self.outcome(result);
        if let Some(value) = last {
            self.interpreter.set(LAST, value);
        }
        let outcome = match (quota::was_met(), &self.scratch, outcome) {
            (true, Some(scratch), Outcome::Ok { .. } | Outcome::Error { .. }) => {
                Outcome::TooMuchOutput { limit: scratch.told_limit() }
            }
            (.., outcome) => outcome,
        };
        let ok = matches!(outcome, Outcome::Ok { .. });
        machine.bus().emit(machine.shared.source(), || Body::CellEnd {
            cell,
            ok,
            at: machine.shared.nanos(),
        });
        // Before the learner's first cell they begin with it.
        for (gpu, peaks) in machine.gpus().iter().zip(peaks) {
            if self.shown { gpu.keep_peaks(peaks) } else { gpu.reset_peak() }
        }
        self.shown |= cell < HIDDEN_CELLS;
        self.relay.set(None);
        let mut recording = recorder.lock();
        let Recording { events, dropped, sums, copies, .. } = &mut *recording;
        let (events, dropped, figures) = (Arc::new(std::mem::take(events)), *dropped, sums.map());
        let peaks = machine.gpus().iter().filter_map(|gpu| Some((gpu.device, sums.peak(gpu.device)?)));
        let peaks = peaks.collect();
        self.usage = Usage { peaks, ..before.usage(&machine, std::mem::take(copies)) };
        drop(recording);
        let fault = match &outcome {
            Outcome::Error { fault } => Some(fault.clone()),
            _ => None,
        };
        self.keep(CellRun { cell, events, dropped, figures, fault, code: code.to_owned() });
        outcome
    }

    fn keep_given(&mut self, given: &[GivenName], answer: bool) {
        let machine = Arc::clone(self.machine());
        // A check and a prediction's answer have seen what an answer left set; later steps begin without it.
        if let Some(switches) = self.switches.take() {
            switches.put_back(&machine);
        }
        self.switches = answer.then(|| Switches::of(&machine));
        self.before = Given::of(&self.interpreter, given);
    }

    fn usage(&self) -> Usage {
        self.usage.clone()
    }

    fn check(
        &mut self,
        of: u32,
        first_line: u32,
        code: &str,
        host: &Arc<dyn Host>,
    ) -> Result<Verdict, CheckStopped> {
        let called = OfCalled { host: Arc::clone(host), calling: Arc::clone(&self.calling) };
        self.relay.set(Some(Arc::new(called)));
        let events = self.run_of(of);
        let origin = Origin { name: "check", code, first_line };
        let result = self.aside(CHECK_CELLS.saturating_add(of), &events, (&origin, true), |_, _| Ok(()));
        let run = self.runs.iter().rev().find(|run| run.cell == of);
        let shown = run.and_then(|run| run.fault.as_ref()).map(|fault| &fault.message);
        if let Err(Refused::Called(fault)) = &result
            && shown != Some(&fault.message)
        {
            // The cell did not end with it: nobody has shown where its function stopped, and what to do.
            host.print(Stream::Stderr, &format!("{}\n", fault.report.trim_end()));
        }
        self.relay.set(None);
        self.check_line = result.as_ref().err().and_then(Refused::line);
        if let Some(fault) = result.as_ref().err().and_then(Refused::mixture) {
            let line = fault.line.map(|line| line.saturating_sub(first_line) + 1);
            let message = self.interpreter.mixture(code, line).message();
            return Ok(Verdict::CheckerFault { message, line: fault.line });
        }
        let in_block = match &result {
            Err(Refused::Missing(name)) => {
                run.filter(|run| bound_in_blocks(&run.code).contains(name)).map(|_| name.clone())
            }
            _ => None,
        };
        // An error that no check expects is the attempt's end, whatever else holds.
        let stopped = self.runs.iter().rev().find(|run| run.cell == of).and_then(|run| run.fault.clone());
        let before = std::mem::take(&mut self.before);
        let lost = before.why_lost(&self.interpreter);
        match (stopped.filter(|_| !events.expects_error()), lost) {
            (Some(fault), _) => Ok(Verdict::of_fault(&fault)),
            (None, Some(reason)) => Ok(Verdict::Fail { reason, line: None }),
            (None, _) => Ok(match (verdict(result, &events)?, before.beside(&self.interpreter)) {
                (Verdict::Fail { reason, line }, _)
                    if in_block.as_deref().is_some_and(|name| reason == Verdict::asks_for(name)) =>
                {
                    let name = in_block.unwrap_or_default();
                    Verdict::Fail { reason: Verdict::ended_with_block(&name), line }
                }
                (Verdict::Fail { reason, line }, Some(beside)) => {
                    Verdict::Fail { reason: format!("{reason} ({beside})"), line }
                }
                (verdict, _) => verdict,
            }),
        }
    }

    fn probe(&mut self, of: u32, expression: &str) -> Result<Result<ProbeValue, Box<Fault>>, CheckStopped> {
        let events = self.run_of(of);
        let origin = Origin { name: "answer", code: expression, first_line: 1 };
        let read = |room: &Interpreter, value: &Dynamic| {
            let answer = match (value.as_bool(), value.as_float(), value.as_int()) {
                (Ok(truth), ..) => ProbeValue::Bool(truth),
                (_, Ok(number), _) => ProbeValue::Number(number),
                (.., Ok(number)) => ProbeValue::Number(number as f64),
                _ => ProbeValue::Text(room.show(value)?),
            };
            Ok((answer, carry::is_mixed(value), carry::clock(value)))
        };
        let answer = self.aside(ANSWER_CELLS.saturating_add(of), &events, (&origin, false), read);
        let refused = answer.as_ref().err().and_then(Refused::mixture);
        if refused.is_some() || matches!(answer, Ok((_, true, _))) {
            let error = self.interpreter.mixture(expression, refused.and_then(|fault| fault.line));
            return Ok(Err(Box::new(Fault::from_error(&error))));
        }
        match answer {
            Ok((value, _, clock)) => {
                self.answered = clock;
                Ok(Ok(value))
            }
            Err(Refused::CalledTooLong) => Err(CheckStopped { calling: true }),
            Err(Refused::TooLong) => Err(CheckStopped { calling: false }),
            Err(refused) => Ok(Err(refused.into_fault())),
        }
    }

    fn check_line(&self) -> Option<u32> {
        self.check_line
    }

    fn clock_of(&self, expression: &str) -> Option<Clock> {
        if self.machine().shared.has_both_clocks() {
            return self.answered;
        }
        self.interpreter.clock_of(expression)
    }

    fn calling(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.calling)
    }

    fn complete(&self, code: &str, cursor: usize) -> (usize, Vec<Completion>) {
        complete::complete(&self.interpreter, code, cursor)
    }

    fn help(&self, name: &str) -> (Option<String>, Vec<String>) {
        let own = described::of(&self.interpreter, name);
        // Of a name such as `x`, which pages call a tensor by, a variable's is all there is to say.
        let page = help::page(name).filter(|_| own.is_none() || help::is_documented(name));
        match (own, page) {
            (Some(own), Some(page)) => (Some(format!("{own}\n{page}")), Vec::new()),
            (Some(page), None) | (None, Some(page)) => (Some(page), Vec::new()),
            (None, None) => (
                None,
                described::near(&self.interpreter, name).map_or_else(
                    || help::suggestions(name).into_iter().map(String::from).collect(),
                    |near| vec![near],
                ),
            ),
        }
    }

    fn inspect(&self) -> Inspected {
        Inspected {
            variables: inspect::variables(&self.interpreter),
            devices: inspect::devices(self.machine()),
            held: inspect::held(&self.interpreter),
        }
    }

    fn reset(&mut self) {
        self.interpreter.reset();
        if let Some(scratch) = &self.scratch {
            // What can't be taken away is met by the next lesson code that writes there.
            let _ = scratch.empty();
        }
        if self.keeps_last {
            self.keep_last();
        }
        self.runs.clear();
        self.before = Given::default();
        self.switches = None;
        self.shown = false;
        self.machine().reset();
    }

    fn interrupt_handle(&self) -> Arc<dyn Interrupt> {
        Arc::new(Stop(Arc::clone(self.machine())))
    }

    fn bus(&self) -> &Arc<Bus> {
        self.machine().bus()
    }
}

/// What a check's end says of the attempt.
fn verdict(result: Result<(), Refused>, events: &RunEvents) -> Result<Verdict, CheckStopped> {
    let failed = |reason: String| Verdict::Fail { reason, line: None };
    Ok(match (events.finding(), result) {
        (_, Err(Refused::CalledTooLong)) => return Err(CheckStopped { calling: true }),
        (_, Err(Refused::TooLong)) => return Err(CheckStopped { calling: false }),
        (Some(Finding { reason, line }), Err(_)) => Verdict::Fail { reason, line },
        (_, Ok(_)) => Verdict::Pass,
        (None, Err(Refused::Missing(name))) => failed(Verdict::asks_for(&name)),
        (None, Err(Refused::Called(fault))) => Verdict::of_fault(&fault),
        (None, Err(Refused::Stopped { fault, learners: true })) => {
            failed(format!("the check can't read your answer: {}: {}", fault.kind, fault.message))
        }
        (None, Err(refused)) => {
            let fault = refused.into_fault();
            let message = format!("{}: {}", fault.kind, fault.message);
            Verdict::CheckerFault { message, line: fault.line }
        }
    })
}

/// The name in `?name`, `name?` or `name??`, where that is all a cell says.
fn asked_name(code: &str) -> Option<&str> {
    let code = code.trim();
    let name = code.starts_with('?').then_some(code).or_else(|| code.ends_with('?').then_some(code))?;
    let name = name.trim_matches('?').trim();
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.');
    (!name.is_empty() && name.chars().all(fits)).then_some(name)
}

struct Stop(Arc<Machine>);

impl Interrupt for Stop {
    fn raise(&self) {
        self.0.shared.cancel.interrupt();
    }

    fn clear(&self) {
        self.0.shared.cancel.clear();
    }
}

/// Sums up a run and keeps its first events on accelerators.
struct Recorder(Mutex<Recording>);

struct Recording {
    sums: Summary,
    copies: Vec<Copied>,
    events: Vec<Event>,
    dropped: u64,
}

impl Recorder {
    fn new(machine: &Machine) -> Recorder {
        let sums = Summary::begin(machine);
        Recorder(Mutex::new(Recording { sums, copies: Vec::new(), events: Vec::new(), dropped: 0 }))
    }

    fn lock(&self) -> MutexGuard<'_, Recording> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl Recording {
    fn note_copy(&mut self, from: Device, to: Device, bytes: u64) {
        match self.copies.iter_mut().find(|c| c.0 == from && c.1 == to) {
            Some(sum) => {
                sum.2 += 1;
                sum.3 += bytes;
            }
            None => self.copies.push((from, to, 1, bytes)),
        }
    }
}

impl Reader for Recorder {
    fn on_page(&self, page: &Page) {
        let mut all = self.lock();
        for event in page.iter() {
            all.sums.take(event);
            if let Body::Copy { from, to, bytes, .. } = event.body {
                all.note_copy(from, to, bytes);
            }
            // Of the CPU's, a check asks for sums only; to keep them would slow every loop that runs there.
            if !event.body.concerns_accelerator() {
                continue;
            }
            if all.events.len() < KEPT_EVENTS {
                all.events.push(event.clone());
            } else {
                all.dropped += 1;
            }
        }
    }
}

//! Running a step of a lesson: what a session is asked, one thing after another, and what comes of it.
//!
//! No input and no output: a front end asks [`Attempt::request`] what to send, hands what the session says to
//! [`Attempt::take`], and reads [`Attempt::end`]. A step begins in the state that the steps before it leave when they
//! are solved, whatever was tried meanwhile: where the session does not stand there, everything before is run again,
//! unseen. That costs what those steps cost.

use std::collections::VecDeque;

use crate::base::event::{Clock, HIDDEN_CELLS};
use crate::session::protocol::{Fault, GivenName, Message, Outcome, ProbeValue, Request, Stream};
use crate::session::verdict::Verdict;

use super::format::{Code, Element, Lesson};
use super::given::{given, kept};
use super::replayed::{Ask, Replayed, Unseen};
pub use super::replayed::{Passed, PassedCode};
use super::strays::{self, Stray};

/// Why an attempt was cut that the learner has stopped.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// One step that is run, or a cell of the learner's own beside it.
#[derive(Clone, Debug)]
pub struct Attempt {
    number: u32,
    /// All steps before it; those from this number on are run again.
    before: Vec<Replayed>,
    from: usize,
    /// The session forgets everything first.
    anew: bool,
    /// The step's set-up and the learner's code.
    here: Vec<Ask>,
    check: Option<Code>,
    /// The state in which a step begins is built for it.
    within: bool,
    /// What the check reads of what the lesson gave.
    given: Vec<GivenName>,
    /// What the check reads though nothing defines it.
    strays: Vec<Stray>,
    /// The first name that the code binds though later steps read what it held.
    taken: Option<String>,
    probes: Vec<(String, String)>,
    /// What is left to ask.
    pieces: VecDeque<Ask>,
    /// What was asked, with the id of the request, until it is answered.
    asked: Option<(u64, Ask)>,
    replay: Replay,
    /// Steps whose kept code does not pass the lesson's check as it is now.
    unsuited: Vec<String>,
    answers: Vec<Measured>,
    /// The line of the check that refused.
    check_line: Option<u32>,
    /// It is to stop once what was asked is answered.
    stopping: bool,
    end: Option<AttemptEnd>,
}

/// What the question of a prediction came to.
#[derive(Clone, Debug)]
pub struct Measured {
    pub id: String,
    pub value: Result<ProbeValue, Fault>,
    /// The clock of the times that it was made of.
    pub clock: Option<Clock>,
}

/// How an attempt ended.
#[derive(Clone, PartialEq, Debug)]
pub enum AttemptEnd {
    /// The code ran to its end or stopped; an exercise has its verdict.
    Ran(Option<Verdict>),
    /// Something of the lesson's failed before the code began.
    Fault(Verdict),
    /// It was interrupted or refused, for this reason.
    Cut(String),
}

/// How much is run again before a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Replay {
    /// Pieces that are done.
    pub done: usize,
    /// All pieces; none where the session stands before the step.
    pub all: usize,
}

/// Where a session stands in a lesson.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Standing {
    /// Before the step of this number, with all earlier ones solved, as a new session stands before the first.
    Before(usize),
    /// Something else has run in it.
    #[default]
    Elsewhere,
}

/// Whose a message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Took {
    /// Not this attempt's.
    Nothing,
    /// It says what the learner's code does.
    Shown,
    /// It belongs to what is run unseen.
    Unseen,
}

impl Attempt {
    /// Code beside a lesson or without one.
    pub fn of_code(number: u32, code: Code) -> Attempt {
        let mut attempt = Attempt {
            number,
            before: Vec::new(),
            from: 0,
            anew: false,
            here: vec![Ask::Shown(code)],
            check: None,
            given: Vec::new(),
            within: false,
            strays: Vec::new(),
            taken: None,
            probes: Vec::new(),
            pieces: VecDeque::new(),
            asked: None,
            replay: Replay::default(),
            unsuited: Vec::new(),
            answers: Vec::new(),
            check_line: None,
            stopping: false,
            end: None,
        };
        attempt.plan();
        attempt
    }

    /// Code at a step of a lesson, as the cell of that number, in a session that stands somewhere.
    pub fn at_step(
        lesson: &Lesson,
        step: usize,
        (number, code): (u32, Code),
        standing: Standing,
        passed: &Passed,
    ) -> Attempt {
        let taken = kept(lesson, step).taken_by(&code.text);
        let mut attempt = Attempt::within(lesson, step, (number, code), standing, passed);
        let Some(here) = lesson.steps.get(step) else { return attempt };
        attempt.taken = taken;
        if let Some(Element::Exercise(exercise)) = &here.element {
            attempt.given = given(exercise);
            attempt.check = Some(exercise.check.clone());
            attempt.strays = strays::of_check(&exercise.check, &strays::given(lesson));
        }
        attempt.plan();
        attempt
    }

    /// Code of the learner's own where a step begins: after the steps before it and its set-up.
    pub fn within(
        lesson: &Lesson,
        step: usize,
        (number, code): (u32, Code),
        standing: Standing,
        passed: &Passed,
    ) -> Attempt {
        let mut attempt = Attempt::after(lesson, step, (number, code), standing, passed);
        let setup = lesson.steps.get(step).map(|here| here.setup.as_slice()).unwrap_or_default();
        let setup = setup.iter().cloned().map(|code| Ask::Unseen { step, code, what: Unseen::SetUp });
        attempt.here.splice(0..0, setup);
        attempt.within = true;
        attempt.plan();
        attempt
    }

    /// The same where the check reads other names as given.
    pub(super) fn giving(mut self, given: Vec<GivenName>) -> Attempt {
        self.given = given;
        self
    }

    /// Code of the learner's own after the steps before `step`.
    pub fn after(
        lesson: &Lesson,
        step: usize,
        (number, code): (u32, Code),
        standing: Standing,
        passed: &Passed,
    ) -> Attempt {
        let mut attempt = Attempt::of_code(number, code);
        let steps = lesson.steps.iter().enumerate().take(step);
        attempt.before = steps.map(|(number, step)| Replayed::of(number, step, passed)).collect();
        match standing {
            Standing::Before(at) if at <= step => attempt.from = at,
            _ => attempt.anew = true,
        }
        attempt.plan();
        attempt
    }

    /// What there is to ask, from the beginning.
    fn plan(&mut self) {
        self.pieces = self.anew.then_some(Ask::Reset).into_iter().collect();
        let again = self.before.iter().filter(|earlier| earlier.number >= self.from);
        self.pieces.extend(again.flat_map(Replayed::pieces));
        self.replay = Replay { done: 0, all: self.pieces.len() };
        self.pieces.extend(self.here.iter().cloned());
    }

    /// Begins once more, in a session that is new: nothing of what was asked has happened.
    pub fn begin_again(&mut self) {
        (self.anew, self.from, self.asked, self.end) = (true, 0, None, None);
        self.plan();
    }

    /// Computes the answers of predictions, by their ids, once the code has run without an error.
    #[must_use]
    pub fn settling(mut self, probes: Vec<(String, String)>) -> Attempt {
        self.probes = probes;
        self
    }

    /// What to ask next, as the request of this id; none while an answer is awaited, and at the end.
    pub fn request(&mut self, id: u64) -> Option<Request> {
        if self.asked.is_some() || self.end.is_some() {
            return None;
        }
        if self.stopping {
            self.end = Some(AttemptEnd::Cut(INTERRUPTED.into()));
            return None;
        }
        let piece = self.pieces.pop_front()?;
        let request = match &piece {
            Ask::Reset => Request::Reset { id },
            Ask::Unseen { step, code, what } => {
                let answer = matches!(what, Unseen::Solution | Unseen::Passed);
                let check =
                    self.before.iter().find(|earlier| earlier.number == *step && *what == Unseen::Passed);
                let given = check.and_then(|earlier| earlier.check.as_ref()).map(|(_, given)| given.clone());
                evaluate(id, unseen_cell(*step), code, given.unwrap_or_default(), answer)
            }
            Ask::Judge { step, code } => check(id, unseen_cell(*step), code),
            Ask::Shown(code) => evaluate(id, self.number, code, self.given.clone(), self.check.is_some()),
            Ask::Check(code) => check(id, self.number, code),
            Ask::Probe(_, expression) => {
                Request::Probe { id, of: self.number, expression: expression.clone() }
            }
        };
        self.asked = Some((id, piece));
        Some(request)
    }

    /// Takes what the session says.
    pub fn take(&mut self, message: &Message) -> Took {
        let Some((id, piece)) = &self.asked else { return Took::Nothing };
        if message.request() != Some(*id) {
            return Took::Nothing;
        }
        let took = match piece {
            Ask::Shown(_) => Took::Shown,
            // What the learner's code was warned of, or stopped with, when the check called it.
            Ask::Check(_) if matches!(message, Message::Output { stream: Stream::Stderr, .. }) => Took::Shown,
            _ => Took::Unseen,
        };
        if message.answers() == Some(*id)
            && let Some((_, piece)) = self.asked.take()
        {
            self.answered(piece, message);
        }
        took
    }

    fn answered(&mut self, piece: Ask, message: &Message) {
        self.replay.done += usize::from(self.replay.done < self.replay.all);
        match (piece, message) {
            (_, Message::Refused { reason, .. }) => self.end = Some(AttemptEnd::Cut(reason.clone())),
            (Ask::Unseen { step, what, .. }, Message::Finished { outcome, .. }) => {
                self.unseen(step, what, outcome);
            }
            (Ask::Judge { step, .. }, Message::CheckResult { verdict, .. }) if !verdict.is_pass() => {
                self.unsuited(step);
            }
            (Ask::Shown(_), Message::Finished { outcome, .. }) => self.shown(outcome),
            (Ask::Check(_), Message::CheckResult { verdict, check_line, .. }) => {
                self.check_line = *check_line;
                self.end = Some(AttemptEnd::Ran(Some(self.judged(verdict))));
            }
            (Ask::Probe(id, _), Message::Probed { value, clock, .. }) => {
                self.answers.push(Measured { id, value: value.clone(), clock: *clock });
                self.end_where_nothing_is_left();
            }
            _ => {}
        }
    }

    /// The verdict, where a name that nobody could have defined is the check's own slip, and an answer that takes a name
    /// from later steps is none.
    fn judged(&self, verdict: &Verdict) -> Verdict {
        let asks = |name: &str| verdict.reason().is_some_and(|reason| reason == Verdict::asks_for(name));
        match self.strays.iter().find(|stray| asks(&stray.name)) {
            Some(Stray { name, line, .. }) => Verdict::CheckerFault {
                message: format!("NameError: name '{name}' is not defined"),
                line: u32::try_from(*line).ok(),
            },
            None => match self.taken.as_deref().filter(|_| verdict.is_pass()) {
                Some(name) => Verdict::Fail {
                    reason: format!(
                        "this would pass, but later steps read `{name}` as the lesson gave it: give yours another name"
                    ),
                    line: None,
                },
                None => verdict.clone(),
            },
        }
    }

    /// Nothing more is asked. What runs is the session's to stop: it may end by itself before it hears of it, and the
    /// next piece would begin.
    pub fn interrupt(&mut self) {
        self.stopping = true;
    }

    /// The session is no more, for this reason. One that somebody else has ended says nothing of what it ran.
    pub fn die(&mut self, reason: &str, from_outside: bool) {
        let message = session_ended(reason);
        self.end = Some(match self.asked.take() {
            _ if from_outside => AttemptEnd::Cut(message),
            Some((_, Ask::Shown(_))) if self.check.is_some() => {
                AttemptEnd::Ran(Some(Verdict::LearnerError { message, line: None }))
            }
            Some((_, Ask::Check(_) | Ask::Judge { .. } | Ask::Unseen { .. })) => {
                AttemptEnd::Fault(Verdict::CheckerFault { message, line: None })
            }
            _ => AttemptEnd::Cut(message),
        });
    }

    fn unseen(&mut self, step: usize, what: Unseen, outcome: &Outcome) {
        let reason = match outcome {
            Outcome::Ok { .. } => return,
            Outcome::Error { .. } if what == Unseen::Solution => return,
            Outcome::Interrupted => {
                self.end = Some(AttemptEnd::Cut(INTERRUPTED.into()));
                return;
            }
            other => told(other),
        };
        let earlier = self.before.iter().find(|earlier| earlier.number == step);
        let message = match (what, earlier) {
            // An error may be what its check asks for.
            (Unseen::Passed, Some(earlier))
                if earlier.check.is_some() && matches!(outcome, Outcome::Error { .. }) =>
            {
                return;
            }
            (Unseen::Passed, Some(_)) => return self.unsuited(step),
            (Unseen::SetUp, _) | (_, None) => format!("the set-up failed: {reason}"),
            (_, Some(earlier)) => {
                format!("the step `{}` before it failed when it was run again: {reason}", earlier.id)
            }
        };
        let line = if let Outcome::Error { fault } = outcome { fault.line } else { None };
        self.end = Some(AttemptEnd::Fault(Verdict::CheckerFault { message, line }));
    }

    /// What passed once does not suit this version of the lesson: its own solution does.
    fn unsuited(&mut self, step: usize) {
        if let Some(earlier) = self.before.iter_mut().find(|earlier| earlier.number == step) {
            earlier.passed = None;
            self.unsuited.extend(earlier.check.is_some().then(|| earlier.id.clone()));
        }
        (self.anew, self.from) = (true, 0);
        self.plan();
    }

    fn shown(&mut self, outcome: &Outcome) {
        let verdict = match outcome {
            Outcome::Interrupted => {
                self.end = Some(AttemptEnd::Cut(INTERRUPTED.into()));
                return;
            }
            Outcome::Timeout { seconds } => Verdict::Timeout { limit_ms: (seconds * 1e3) as u64 },
            Outcome::TooMuchOutput { limit } => Verdict::TooMuchOutput { limit: limit.clone() },
            Outcome::Ok { .. } | Outcome::Error { .. } => {
                // A check judges errors as well: it may ask for one.
                self.pieces.extend(self.check.take().map(Ask::Check));
                if matches!(outcome, Outcome::Ok { .. }) {
                    let probes = std::mem::take(&mut self.probes).into_iter();
                    self.pieces.extend(probes.map(|(id, expression)| Ask::Probe(id, expression)));
                }
                return self.end_where_nothing_is_left();
            }
        };
        self.end = Some(AttemptEnd::Ran(self.check.take().map(|_| verdict)));
    }

    fn end_where_nothing_is_left(&mut self) {
        if self.pieces.is_empty() {
            self.end = Some(AttemptEnd::Ran(None));
        }
    }

    /// How it ended, once it has.
    pub fn end(&self) -> Option<&AttemptEnd> {
        self.end.as_ref()
    }

    /// The answers of predictions, by their ids, as far as they have come.
    pub fn answers(&self) -> &[Measured] {
        &self.answers
    }

    /// The lesson's line at which the check refused, where it is known.
    pub fn check_line(&self) -> Option<u32> {
        self.check_line
    }

    /// The code that the attempt is made with.
    pub fn code(&self) -> &str {
        match self.here.last() {
            Some(Ask::Shown(code)) => &code.text,
            _ => "",
        }
    }

    /// The state before the step is being built.
    pub fn replay(&self) -> Option<Replay> {
        (self.replay.done < self.replay.all).then_some(self.replay)
    }

    /// What was run again before the step, or will be.
    pub fn replayed(&self) -> usize {
        let again = self.before.iter().filter(|earlier| earlier.number >= self.from);
        again.filter(|earlier| earlier.code.is_some()).count()
    }

    /// Whether a cell of the lesson, by the number of its step, is run before the step.
    pub fn runs_before(&self, step: usize) -> bool {
        let again =
            self.before.iter().filter(|earlier| earlier.number >= self.from && earlier.code.is_some());
        again.into_iter().any(|earlier| earlier.number == step)
    }

    /// Exercises that have not passed, whose own solutions are run before the step.
    pub fn solved_for(&self) -> impl Iterator<Item = &str> {
        let again =
            self.before.iter().filter(|earlier| earlier.number >= self.from && earlier.passed.is_none());
        again
            .filter(|earlier| matches!(earlier.code, Some((_, Unseen::Solution))))
            .map(|earlier| earlier.id.as_str())
    }

    /// That solutions have taken the place of code that passed in another version of the lesson; the code is not to be
    /// replayed any more, and is taken out of what passed.
    pub fn tell_unsuited(&self, passed: &mut Passed) -> Option<String> {
        self.unsuited.iter().for_each(|id| drop(passed.remove(id)));
        let names = self.unsuited.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ");
        (!names.is_empty()).then(|| {
            format!(
                "your answer to {names} is of an earlier version of the lesson and does not pass this one's check: the \
                 lesson's solution stands in for it"
            )
        })
    }

    /// The state in which a step begins is built for it.
    pub fn begins_within(&self) -> bool {
        self.within
    }

    /// The session forgets all that was in it before.
    pub fn begins_anew(&self) -> bool {
        self.anew
    }

    /// What waits for an answer is the reset of the session.
    pub fn is_resetting(&self) -> bool {
        matches!(self.asked, Some((_, Ask::Reset)))
    }

    /// The learner's code runs now.
    pub fn is_shown(&self) -> bool {
        matches!(self.asked, Some((_, Ask::Shown(_))))
    }

    /// The id of the request that waits for its answer.
    pub fn waits_for(&self) -> Option<u64> {
        self.asked.as_ref().map(|(id, _)| *id)
    }
}

/// That the session is no more, in words; most reasons begin with it.
pub(crate) fn session_ended(reason: &str) -> String {
    if reason.starts_with("the session") { reason.to_owned() } else { format!("the session ended: {reason}") }
}

fn evaluate(id: u64, cell: u32, code: &Code, given: Vec<GivenName>, answer: bool) -> Request {
    Request::Evaluate { id, cell, code: code.text.clone(), first_line: line(code), given, answer }
}

fn check(id: u64, of: u32, code: &Code) -> Request {
    Request::Check { id, of, code: code.text.clone(), first_line: line(code) }
}

fn line(code: &Code) -> u32 {
    u32::try_from(code.line).unwrap_or(1)
}

/// The number of the cell that a step is run as, unseen.
fn unseen_cell(step: usize) -> u32 {
    HIDDEN_CELLS.saturating_add(u32::try_from(step).unwrap_or(0)).saturating_add(1)
}

/// What became of code, in a few words.
pub(crate) fn told(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Ok { .. } => "it is fine".into(),
        Outcome::Error { fault } => fault.report.trim_end().to_string(),
        Outcome::Interrupted => "it was interrupted".into(),
        Outcome::Timeout { seconds } => format!("it ran over {seconds} s"),
        Outcome::TooMuchOutput { limit } => format!("it made more than {limit}"),
    }
}

//! Runs a lesson's code in a session.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::base::event::HIDDEN_CELLS;
use crate::session::client::{Client, FromSession};
use crate::session::protocol::{self, Message, Outcome, ProbeValue, Request};

use super::format::{Code, Element, Exercise, Lesson, Step};
use crate::session::verdict::Verdict;

/// A session that answers nothing for so long is given up; evaluations have the lesson's own limit.
const PATIENCE: Duration = Duration::from_secs(60);

/// A session for one lesson, with the numbering of requests and cells.
pub(crate) struct Runner {
    client: Client,
    next: u64,
    limit: Duration,
}

/// Why a lesson's code could not be run at all.
#[derive(Debug)]
pub(crate) enum RunnerError {
    /// The session process did not start or ended.
    Session(String),
    /// It took longer than the lesson allows.
    Timeout,
}

impl Runner {
    /// Starts a session of this program on `devices`, in the folder of a pack and confined to it where one is named.
    /// `limit` bounds each evaluation.
    pub(crate) fn start(devices: &str, limit: Option<Duration>, pack: Option<&Path>) -> io::Result<Runner> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["session", "--stdio", "--devices", devices]);
        command.args(pack.iter().flat_map(|folder| ["--pack".as_ref(), folder.as_os_str()]));
        let mut runner =
            Runner { client: Client::spawn(command)?, next: 1, limit: limit.unwrap_or(PATIENCE) };
        runner.wait(|m| matches!(m, Message::Ready { .. }).then_some(())).map_err(other)?;
        Ok(runner)
    }

    /// Evaluates code as a cell; lines are the lesson file's.
    pub(crate) fn evaluate(&mut self, cell: u32, code: &Code) -> Result<Outcome, RunnerError> {
        let id = self.id();
        let first_line = u32::try_from(code.line).unwrap_or(1);
        self.send(Request::Evaluate { id, cell, code: code.text.clone(), first_line })?;
        self.wait(|m| match m {
            Message::Finished { id: of, outcome, .. } if of == id => Some(outcome),
            _ => None,
        })
    }

    /// Runs a check on what cell `of` did.
    pub(crate) fn check(&mut self, of: u32, code: &Code) -> Result<Verdict, RunnerError> {
        let id = self.id();
        let first_line = u32::try_from(code.line).unwrap_or(1);
        self.send(Request::Check { id, of, code: code.text.clone(), first_line })?;
        self.wait(|m| match m {
            Message::CheckResult { id: of, verdict } if of == id => Some(verdict),
            _ => None,
        })
    }

    /// The value of an expression after cell `of`.
    pub(crate) fn probe(
        &mut self,
        of: u32,
        expression: &str,
    ) -> Result<Result<ProbeValue, protocol::Fault>, RunnerError> {
        let id = self.id();
        self.send(Request::Probe { id, of, expression: expression.to_string() })?;
        self.wait(|m| match m {
            Message::Probed { id: of, value } if of == id => Some(value),
            _ => None,
        })
    }

    /// Brings the session to the state in which step `until` is entered: everything before it, solved.
    pub(crate) fn replay(&mut self, lesson: &Lesson, until: usize) -> Result<(), RunnerError> {
        let id = self.id();
        self.send(Request::Reset { id })?;
        for (cell, step) in lesson.steps.iter().enumerate().take(until) {
            self.set_up(cell, step)?;
            match &step.element {
                Some(Element::Run(code)) => self.evaluate(cell_number(cell), code)?,
                Some(Element::Exercise(e)) => self.evaluate(cell_number(cell), &e.solution)?,
                _ => continue,
            };
        }
        Ok(())
    }

    /// Runs a step's hidden code.
    pub(crate) fn set_up(&mut self, index: usize, step: &Step) -> Result<Option<Outcome>, RunnerError> {
        for code in &step.setup {
            let outcome = self.evaluate(SETUP + cell_number(index), code)?;
            if !matches!(outcome, Outcome::Ok { .. }) {
                return Ok(Some(outcome));
            }
        }
        Ok(None)
    }

    /// One attempt at an exercise from the state at its entry.
    pub(crate) fn attempt(
        &mut self,
        lesson: &Lesson,
        index: usize,
        exercise: &Exercise,
        code: &Code,
    ) -> Result<Verdict, RunnerError> {
        self.replay(lesson, index)?;
        if let Some(step) = lesson.steps.get(index)
            && let Some(outcome) = self.set_up(index, step)?
        {
            return Ok(Verdict::CheckerFault {
                message: format!("the set-up failed: {outcome:?}"),
                line: None,
            });
        }
        let cell = cell_number(index);
        let outcome = self.evaluate(cell, code)?;
        match of_outcome(&outcome) {
            Some(verdict) => Ok(verdict),
            None => self.check(cell, &exercise.check),
        }
    }

    fn id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn send(&mut self, request: Request) -> Result<(), RunnerError> {
        self.client.send(request).map_err(|e| RunnerError::Session(format!("{e:?}")))
    }

    fn wait<T>(&mut self, pick: impl Fn(Message) -> Option<T>) -> Result<T, RunnerError> {
        let end = Instant::now() + self.limit;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.client.events().recv_timeout(left) {
                Ok(FromSession::Message(Message::Refused { reason, .. })) => {
                    return Err(RunnerError::Session(reason));
                }
                Ok(FromSession::Message(message)) => {
                    if let Some(found) = pick(message) {
                        return Ok(found);
                    }
                }
                Ok(FromSession::Died { reason }) => return Err(RunnerError::Session(reason.to_string())),
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => return Err(RunnerError::Timeout),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(RunnerError::Session("the session ended".into()));
                }
            }
        }
    }
}

impl std::fmt::Display for RunnerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunnerError::Session(reason) => f.write_str(reason),
            RunnerError::Timeout => f.write_str("it ran past the lesson's time limit"),
        }
    }
}

/// Hidden cells are numbered apart from the steps' own.
const SETUP: u32 = HIDDEN_CELLS;

/// The cell number of a step.
pub(crate) fn cell_number(step: usize) -> u32 {
    u32::try_from(step).unwrap_or(0).saturating_add(1)
}

/// What an unfinished run means for an attempt; nothing where the run was fine, or a check judges its error.
pub(crate) fn of_outcome(outcome: &Outcome) -> Option<Verdict> {
    match outcome {
        Outcome::Ok { .. } | Outcome::Error { .. } => None,
        Outcome::Interrupted => Some(Verdict::LearnerError { message: "interrupted".into(), line: None }),
        Outcome::Timeout { seconds } => Some(Verdict::Timeout { limit_ms: (seconds * 1e3) as u64 }),
    }
}

fn other(error: RunnerError) -> io::Error {
    io::Error::other(error.to_string())
}

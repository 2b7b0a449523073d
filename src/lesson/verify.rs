//! Verifies a lesson by running all of it: solutions pass, starters fail, wrong answers fail for their own
//! reasons, answers are numbers, cells run.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::session::protocol::{Outcome, ProbeValue};

use super::format::{Element, Exercise, Lesson, Predict, Step};
use super::lint::lint;
use super::runner::{Runner, RunnerError, cell_number};
use crate::session::verdict::Verdict;

/// What came of verifying a lesson on one device set.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub lesson: String,
    pub devices: String,
    pub steps: Vec<StepReport>,
    /// Each with the lesson file's line.
    pub problems: Vec<Problem>,
}

/// What came of one step.
#[derive(Clone, Debug, Serialize)]
pub struct StepReport {
    pub id: String,
    pub milliseconds: f64,
    /// Things that were run: cells, checks, answers.
    pub runs: usize,
}

/// What is wrong with a step, and where.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    pub step: String,
    pub line: usize,
    pub message: String,
}

impl Report {
    pub(crate) fn is_fine(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Runs every step of a lesson on a device set.
pub fn verify(lesson: &Lesson, devices: &str) -> Report {
    verify_in(lesson, devices, None)
}

/// The same for a lesson of the pack in a folder: its session is confined to the pack.
pub(crate) fn verify_in(lesson: &Lesson, devices: &str, pack: Option<&Path>) -> Report {
    let mut report = Report {
        lesson: lesson.front.id.clone(),
        devices: devices.to_string(),
        steps: Vec::new(),
        problems: Vec::new(),
    };
    for error in lint(lesson) {
        report.problems.push(Problem {
            step: String::new(),
            line: error.line,
            message: error.message.clone(),
        });
    }
    let limit = lesson.front.limits.time_ms.map(Duration::from_millis);
    let mut runner = match Runner::start(devices, limit, pack) {
        Ok(runner) => runner,
        Err(error) => {
            let message = format!("no session on {devices}: {error}");
            report.problems.push(Problem { step: String::new(), line: 1, message });
            return report;
        }
    };
    for (index, step) in lesson.steps.iter().enumerate() {
        let start = Instant::now();
        let mut visit = Visit { lesson, index, step, runner: &mut runner, runs: 0, problems: Vec::new() };
        if let Err(error) = visit.run() {
            visit.problem(step.line, error.to_string());
            let Visit { problems, .. } = visit;
            report.problems.extend(problems);
            return report;
        }
        let Visit { runs, problems, .. } = visit;
        report.problems.extend(problems);
        let milliseconds = start.elapsed().as_secs_f64() * 1e3;
        report.steps.push(StepReport { id: step.id.clone(), milliseconds, runs });
    }
    report
}

/// One step under verification.
struct Visit<'a> {
    lesson: &'a Lesson,
    index: usize,
    step: &'a Step,
    runner: &'a mut Runner,
    runs: usize,
    problems: Vec<Problem>,
}

impl Visit<'_> {
    fn run(&mut self) -> Result<(), RunnerError> {
        match &self.step.element {
            Some(Element::Run(code)) => {
                if let Some(outcome) = self.runner.set_up(self.index, self.step)? {
                    self.problem(self.step.line, format!("the set-up fails: {}", told(&outcome)));
                }
                let outcome = self.runner.evaluate(cell_number(self.index), code)?;
                self.runs += 1;
                if !matches!(outcome, Outcome::Ok { .. }) {
                    self.problem(code.line, format!("the cell does not run: {}", told(&outcome)));
                }
                self.answers()
            }
            Some(Element::Exercise(exercise)) => self.exercise(exercise),
            _ => self.runner.set_up(self.index, self.step).map(|_| ()),
        }
    }

    /// The answers of the predictions that this cell settles.
    fn answers(&mut self) -> Result<(), RunnerError> {
        let lesson = self.lesson;
        for step in &lesson.steps {
            let Some(Element::Predict(predict)) = &step.element else { continue };
            if predict.cell == self.step.id {
                self.answer(predict)?;
            }
        }
        Ok(())
    }

    fn answer(&mut self, predict: &Predict) -> Result<(), RunnerError> {
        self.runs += 1;
        let value = self.runner.probe(cell_number(self.index), &predict.answer.text)?;
        match value {
            Ok(ProbeValue::Number(n)) if n.is_finite() => {}
            Ok(other) => {
                self.problem(predict.answer.line, format!("the answer is no finite number: {other:?}"))
            }
            Err(fault) => {
                let text = format!("the answer cannot be computed: {}: {}", fault.kind, fault.message);
                self.problem(predict.answer.line, text);
            }
        }
        Ok(())
    }

    fn exercise(&mut self, exercise: &Exercise) -> Result<(), RunnerError> {
        let verdict = self.attempt(exercise, &exercise.starter)?;
        match verdict {
            Verdict::Pass => self.problem(exercise.starter.line, "the starter passes as it stands".into()),
            Verdict::CheckerFault { .. } => {
                self.problem(exercise.check.line, format!("the check fails on the starter: {verdict}"));
            }
            _ => {}
        }
        for wrong in &exercise.wrong {
            let verdict = self.attempt(exercise, &wrong.code)?;
            if !verdict.fails_because(&wrong.because) {
                let text = format!("should fail because “{}”, but: {verdict}", wrong.because);
                self.problem(wrong.code.line, text);
            }
        }
        let verdict = self.attempt(exercise, &exercise.solution)?;
        if !verdict.is_pass() {
            self.problem(exercise.solution.line, format!("the solution does not pass: {verdict}"));
        }
        Ok(())
    }

    fn attempt(&mut self, exercise: &Exercise, code: &super::format::Code) -> Result<Verdict, RunnerError> {
        self.runs += 1;
        self.runner.attempt(self.lesson, self.index, exercise, code)
    }

    fn problem(&mut self, line: usize, message: String) {
        self.problems.push(Problem { step: self.step.id.clone(), line, message });
    }
}

fn told(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Ok { .. } => "it is fine".into(),
        Outcome::Error { fault } => fault.report.trim_end().to_string(),
        Outcome::Interrupted => "it was interrupted".into(),
        Outcome::Timeout { seconds } => format!("it ran over {seconds} s"),
    }
}

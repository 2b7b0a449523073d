//! Verifies a lesson by running all of it: solutions pass, starters fail, wrong answers fail for their own
//! reasons, answers are numbers, cells run.

use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use crate::base::file::random_name;
use crate::session::exchange::Unanswered;
use crate::session::given::{LESSONS, READS_GIVEN};
use crate::session::options::SessionOptions;
use crate::session::protocol::{Message, Outcome, ProbeValue};
use crate::session::verdict::Verdict;

use super::attempt::{Attempt, AttemptEnd, Passed, Standing, told};
use super::format::{Code, Element, Exercise, Lesson, Predict, Step};
use super::given::given;
use super::lint::lint;
use super::made_up::{self, MadeUp};
use super::predict::Tolerance;
use super::runner::Runner;
use super::stated::stated;
use super::strays;

/// What came of verifying a lesson on one device set.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub lesson: String,
    pub devices: String,
    pub steps: Vec<StepReport>,
    /// Each with the lesson file's line.
    pub problems: Vec<Problem>,
    /// Nothing was run: there is no session on these devices, or they lack what the lesson needs.
    #[serde(skip)]
    pub no_device: bool,
    /// Why a set that the lesson names was passed over: this machine can't have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
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
    /// The answer that showed it, where nobody has written it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
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

/// Runs every step of a lesson, of the pack in a folder, on each of the sets that it names. Real GPUs that are not there
/// are passed over where there is another set.
pub(crate) fn verify_own(
    lesson: &Lesson,
    sets: &[String],
    pack: Option<&Path>,
    mut each: impl FnMut(&Report),
) -> Vec<Report> {
    let one = |set: &String| {
        let mut report = verify_in(lesson, set, pack);
        if report.no_device && lesson.front.devices.len() > 1 && is_real(set) {
            report.skipped = report.problems.pop().map(|problem| problem.message);
        }
        each(&report);
        report
    };
    sets.iter().map(one).collect()
}

/// Whether a set of devices has a GPU that is not simulated.
fn is_real(set: &str) -> bool {
    set.split(',').any(|device| device.trim().starts_with("cuda"))
}

/// The same for a lesson of the pack in a folder: its session is confined to the pack.
pub(crate) fn verify_in(lesson: &Lesson, devices: &str, pack: Option<&Path>) -> Report {
    let scratch = std::env::temp_dir().join(format!("tensorlab-scratch-{}", random_name()));
    let report = verify_with(lesson, devices, pack, &scratch);
    // Where there was none, there is nothing to take away.
    let _ = std::fs::remove_dir_all(&scratch);
    report
}

fn verify_with(lesson: &Lesson, devices: &str, pack: Option<&Path>, scratch: &Path) -> Report {
    let mut report = Report {
        lesson: lesson.front.id.clone(),
        devices: devices.to_string(),
        steps: Vec::new(),
        problems: Vec::new(),
        no_device: false,
        skipped: None,
    };
    let whole = |line: usize, message: String| Problem { step: String::new(), line, message, answer: None };
    report.problems.extend(lint(lesson).into_iter().map(|error| whole(error.line, error.message)));
    let lesson = &lesson.on(devices);
    let options = SessionOptions {
        devices: devices.into(),
        pack: pack.map(Path::to_path_buf),
        limits: lesson.front.limits.runs(),
        scratch: lesson.front.limits.scratch.map(|bytes| (scratch.to_path_buf(), bytes)),
        ..SessionOptions::default()
    };
    let mut runner = match Runner::start(&options) {
        Ok(runner) => runner,
        Err(error) => {
            report.problems.push(whole(1, format!("no session on {devices}: {error}")));
            report.no_device = true;
            return report;
        }
    };
    if let Some(lacks) = lesson.front.requires.lacking(runner.devices()) {
        report.problems.push(whole(1, lacks));
        report.no_device = true;
        return report;
    }
    let mut standing = Standing::Before(0);
    for (index, step) in lesson.steps.iter().enumerate() {
        let start = Instant::now();
        let mut visit = Visit {
            lesson,
            index,
            step,
            runner: &mut runner,
            standing,
            runs: 0,
            ends: false,
            broken: false,
            check_line: None,
            problems: Vec::new(),
        };
        let visited = visit.run();
        if let Err(error) = &visited {
            visit.problem(step.line, error.to_string());
        }
        standing = visit.standing;
        let Visit { runs, problems, broken, .. } = visit;
        report.problems.extend(problems);
        let milliseconds = start.elapsed().as_secs_f64() * 1e3;
        report.steps.push(StepReport { id: step.id.clone(), milliseconds, runs });
        if visited.is_err() || broken {
            return report;
        }
    }
    report
}

/// One step under verification.
struct Visit<'a> {
    lesson: &'a Lesson,
    index: usize,
    step: &'a Step,
    runner: &'a mut Runner,
    /// Where the session stands, with all steps before it solved.
    standing: Standing,
    runs: usize,
    /// The code of the last attempt ran to its end.
    ends: bool,
    /// What every later step stands on does not run, so that none can be tried.
    broken: bool,
    /// The lesson's line at which the last check refused.
    check_line: Option<u32>,
    problems: Vec<Problem>,
}

impl Visit<'_> {
    fn run(&mut self) -> Result<(), Unanswered> {
        match &self.step.element {
            Some(Element::Run(code)) => self.cell(code),
            Some(Element::Exercise(exercise)) => {
                let passes = self.exercise(exercise)?;
                if passes {
                    self.needless_changes(exercise)?;
                    self.in_turns(exercise)?;
                    self.made_up(exercise)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A cell that runs as it stands, and the answers of the predictions that it settles.
    fn cell(&mut self, code: &Code) -> Result<(), Unanswered> {
        let answers = self.lesson.steps.iter().filter_map(|step| match &step.element {
            Some(Element::Predict(predict)) if predict.cell == self.step.id => {
                Some((step.id.clone(), predict))
            }
            _ => None,
        });
        let answers: Vec<_> = answers.collect();
        let probes = answers.iter().map(|(id, predict)| (id.clone(), predict.answer.text.clone()));
        let attempt = self.at_step(code.clone(), self.standing).settling(probes.collect());
        let mut failed = None;
        let (end, attempt) = self.drive(attempt, &mut |message| {
            if let Message::Finished { outcome, .. } = message
                && !matches!(outcome, Outcome::Ok { .. })
            {
                failed = Some(told(&outcome));
            }
        })?;
        self.standing = Standing::Before(self.index + 1);
        if let Some(failed) = failed {
            self.breaks(code.line, &format!("the cell does not run: {failed}"));
        }
        match end {
            AttemptEnd::Fault(verdict) => self.not_begun(&verdict),
            AttemptEnd::Cut(reason) if !self.broken => {
                self.breaks(code.line, &format!("the cell does not run: {reason}"));
            }
            AttemptEnd::Cut(_) => {}
            AttemptEnd::Ran(_) => {}
        }
        for ((id, predict), answer) in answers.iter().zip(attempt.answers()) {
            debug_assert_eq!(*id, answer.id);
            self.runs += 1;
            match &answer.value {
                Ok(ProbeValue::Number(n)) if n.is_finite() => {
                    self.explained(predict, *n);
                    self.can_be_wrong(predict, *n);
                }
                Ok(other) => {
                    let text = format!("the answer is no finite number, but {}", shown(other));
                    self.problem(predict.answer.line, text);
                }
                Err(fault) => {
                    let text = format!("the answer cannot be computed: {}: {}", fault.kind, fault.message);
                    self.problem(predict.answer.line, text);
                }
            }
        }
        Ok(())
    }

    /// What the lesson does before the step's own code failed.
    fn not_begun(&mut self, verdict: &Verdict) {
        let Verdict::CheckerFault { message, line } = verdict else { return };
        let line = line.and_then(|line| usize::try_from(line).ok()).unwrap_or(self.step.line);
        self.breaks(line, message);
    }

    fn breaks(&mut self, line: usize, what: &str) {
        let more = self.index + 1 < self.lesson.steps.len();
        self.broken = true;
        self.problem(
            line,
            format!(
                "{what}{}",
                if more { "\nno later step was tried: each begins with this one" } else { "" }
            ),
        );
    }

    /// The texts of an exercise, each from the state before it; whether the solution passes.
    fn exercise(&mut self, exercise: &Exercise) -> Result<bool, Unanswered> {
        let known = strays::given(self.lesson);
        for name in exercise.changes.iter().filter(|name| !known.contains(*name)) {
            let text = format!("`changes` names `{name}`, which nothing in the lesson gives");
            self.problem(self.step.line, text);
        }
        let verdict = self.attempt(&exercise.starter)?;
        let mut starter_passes = false;
        match verdict {
            _ if self.broken => return Ok(false),
            Verdict::Pass => {
                self.problem(exercise.starter.line, "the starter passes as it stands".into());
                starter_passes = true;
            }
            Verdict::CheckerFault { .. } => {
                self.problem(
                    at(&verdict, exercise.check.line),
                    format!("the check fails on the starter: {verdict}"),
                );
                // It would do so with every answer.
                return Ok(false);
            }
            _ => {}
        }
        for wrong in &exercise.wrong {
            let verdict = self.attempt(&wrong.code)?;
            if !verdict.fails_because(&wrong.because) {
                let text = format!("should fail because “{}”, but: {}", wrong.because, self.judged(&verdict));
                self.problem(at(&verdict, wrong.code.line), text);
            }
        }
        for other in &exercise.others {
            let verdict = self.attempt(other)?;
            if !verdict.is_pass() {
                let text = format!("another solution does not pass: {}", self.judged(&verdict));
                self.problem(at(&verdict, other.line), text);
            }
        }
        let verdict = self.attempt(&exercise.solution)?;
        if verdict.is_pass() {
            self.standing = Standing::Before(self.index + 1);
        } else {
            let told = self.judged(&verdict);
            let way = match self.changes_of(exercise, &told)? {
                Some(names) => format!(
                    ". Where that is what the exercise asks for, write `exercise changes = {names:?}`"
                ),
                None => String::new(),
            };
            let line = at(&verdict, exercise.solution.line);
            self.problem(line, format!("the solution does not pass: {told}{way}"));
        }
        // A check that asks for nothing refuses no answer that nobody wrote.
        Ok(verdict.is_pass() && !starter_passes)
    }

    /// An explanation that gives a number gives the one that is measured.
    fn explained(&mut self, predict: &Predict, answer: f64) {
        let said = stated(&predict.explain, predict.unit);
        if let Some(said) = said.filter(|said| !predict.tolerance.allows(*said, answer)) {
            let [said, found] = [said, answer].map(|number| predict.unit.show(number));
            let text = format!("the explanation begins with {said}, and the answer is {found}");
            self.problem(predict.answer.line, text);
        }
    }

    /// A tolerance that is many times the answer lets every number count that anybody would write.
    fn can_be_wrong(&mut self, predict: &Predict, answer: f64) {
        let Tolerance::Absolute(allowed) = predict.tolerance else { return };
        if answer != 0.0 && allowed >= 100.0 * answer.abs() {
            let [allowed, answer] = [allowed, answer].map(|number| predict.unit.show(number));
            let text = format!(
                "the answer is {answer}, and with a tolerance of {allowed} a prediction can't be wrong"
            );
            self.problem(predict.answer.line, text);
        }
    }

    /// The names that `changes` needs for the solution to pass, where that is what it lacks.
    fn changes_of(&mut self, exercise: &Exercise, told: &str) -> Result<Option<Vec<String>>, Unanswered> {
        if !told.contains(LESSONS) && !told.contains(READS_GIVEN) {
            return Ok(None);
        }
        let all = given(exercise).into_iter().map(|given| given.name).collect::<Vec<_>>();
        if !self.passes_with(exercise, &all)? {
            return Ok(None);
        }
        let mut needed = all.clone();
        for name in all.iter().filter(|name| !exercise.changes.contains(name)) {
            let fewer: Vec<String> = needed.iter().filter(|own| *own != name).cloned().collect();
            if self.passes_with(exercise, &fewer)? {
                needed = fewer;
            }
        }
        Ok(Some(needed))
    }

    /// Names in `changes` that the solution passes without.
    fn needless_changes(&mut self, exercise: &Exercise) -> Result<(), Unanswered> {
        for name in &exercise.changes {
            let fewer: Vec<String> = exercise.changes.iter().filter(|own| *own != name).cloned().collect();
            if self.passes_with(exercise, &fewer)? {
                let text = format!(
                    "`changes` names `{name}`, which the solution leaves as it is, or the check doesn't read: take it out"
                );
                self.problem(self.step.line, text);
            }
        }
        Ok(())
    }

    /// Whether the solution passes where the exercise changes these names.
    fn passes_with(&mut self, exercise: &Exercise, changes: &[String]) -> Result<bool, Unanswered> {
        let exercise = Exercise { changes: changes.to_vec(), ..exercise.clone() };
        let attempt = self.at_step(exercise.solution.clone(), Standing::Elsewhere).giving(given(&exercise));
        let (end, _) = self.drive(attempt, &mut |_| {})?;
        Ok(matches!(end, AttemptEnd::Ran(Some(verdict)) if verdict.is_pass()))
    }

    /// The solution where others were tried before: nothing of theirs is left.
    fn in_turns(&mut self, exercise: &Exercise) -> Result<(), Unanswered> {
        let wrong = exercise.wrong.iter().map(|wrong| (&wrong.code, "a wrong answer"));
        let others = [(&exercise.solution, "itself"), (&exercise.starter, "the starter")];
        for (other, name) in others.into_iter().chain(wrong) {
            self.attempt(other)?;
            let verdict = self.attempt(&exercise.solution)?;
            if !verdict.is_pass() {
                let text = format!("the solution does not pass after {name} was tried: {verdict}");
                self.problem(at(&verdict, other.line), text);
            }
        }
        self.standing = Standing::Before(self.index + 1);
        Ok(())
    }

    /// Answers that nobody wrote.
    fn made_up(&mut self, exercise: &Exercise) -> Result<(), Unanswered> {
        let before = self.problems.len();
        for MadeUp { what, code, passes, or } in made_up::answers(exercise, self.ends) {
            let line = exercise.check.line;
            let own = self.problems.get(before..).unwrap_or_default();
            // What takes NaN takes other numbers as well, and is told once.
            if or.is_some() && own.iter().any(|problem| problem.message.starts_with("NaN")) {
                continue;
            }
            let verdict = self.attempt(&Code { text: code.clone(), line: 1 })?;
            if let Some(text) = or
                && (!verdict.is_pass() || !self.attempt(&Code { text, line: 1 })?.is_pass())
            {
                continue;
            }
            let line = at(&verdict, line);
            let message = match (verdict, passes) {
                (verdict, true) if !verdict.is_pass() => format!("{what} must pass, but: {verdict}"),
                (Verdict::Pass, false) => format!("{what} must fail, but passes"),
                (verdict @ Verdict::CheckerFault { .. }, false) => {
                    format!("{what} must fail for the learner's fault, but: {verdict}")
                }
                _ => continue,
            };
            self.problem(line, message);
            if let Some(problem) = self.problems.last_mut() {
                problem.answer = Some(code);
            }
        }
        self.standing = Standing::Elsewhere;
        Ok(())
    }

    /// One attempt at the exercise.
    fn attempt(&mut self, code: &Code) -> Result<Verdict, Unanswered> {
        let attempt = self.at_step(code.clone(), Standing::Elsewhere);
        let mut ends = false;
        let (end, attempt) = self.drive(attempt, &mut |message| {
            ends |= matches!(message, Message::Finished { outcome: Outcome::Ok { .. }, .. });
        })?;
        self.ends = ends;
        self.check_line = attempt.check_line();
        Ok(match end {
            AttemptEnd::Ran(Some(verdict)) => verdict,
            AttemptEnd::Fault(verdict) => {
                self.not_begun(&verdict);
                verdict
            }
            AttemptEnd::Ran(None) => {
                Verdict::CheckerFault { message: "there is no check".into(), line: None }
            }
            AttemptEnd::Cut(message) => Verdict::LearnerError { message, line: None },
        })
    }

    /// The last verdict, and which line of the check it comes from.
    fn judged(&self, verdict: &Verdict) -> String {
        match self.check_line {
            Some(line) if !matches!(verdict, Verdict::CheckerFault { .. }) => {
                format!("{verdict} (line {line}, in the check)")
            }
            _ => verdict.to_string(),
        }
    }

    fn at_step(&self, code: Code, standing: Standing) -> Attempt {
        let number = u32::try_from(self.index).unwrap_or(0).saturating_add(1);
        Attempt::at_step(self.lesson, self.index, (number, code), standing, &Passed::new())
    }

    fn drive(
        &mut self,
        mut attempt: Attempt,
        each: &mut dyn FnMut(Message),
    ) -> Result<(AttemptEnd, Attempt), Unanswered> {
        self.runs += 1;
        let end = self.runner.run(&mut attempt, each)?;
        Ok((end, attempt))
    }

    fn problem(&mut self, line: usize, message: String) {
        self.problems.push(Problem { step: self.step.id.clone(), line, message, answer: None });
    }
}

/// What an answer came to, as an author writes it.
fn shown(value: &ProbeValue) -> String {
    match value {
        ProbeValue::Number(number) => number.to_string(),
        ProbeValue::Bool(truth) => truth.to_string(),
        ProbeValue::Text(text) => text.clone(),
    }
}

/// The line of the lesson that is told with a verdict: where the check itself went wrong, its own.
fn at(verdict: &Verdict, line: usize) -> usize {
    match verdict {
        Verdict::CheckerFault { line: Some(own), .. } => usize::try_from(*own).unwrap_or(line),
        _ => line,
    }
}

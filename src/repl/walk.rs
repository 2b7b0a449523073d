//! A lesson at the prompt: a linear walk through its steps, with nothing redrawn, fit for screen readers and pipes.

use std::io::{self, IsTerminal};
use std::sync::Arc;

use crate::base::figures::plural;
use crate::base::text::strip_control;
use crate::lesson::attempt::{Attempt, AttemptEnd, Measured, Passed, Standing, told};
use crate::lesson::linear;
use crate::lesson::markdown::Block;
use crate::lesson::order::order;
use crate::lesson::runner::Runner;
use crate::lesson::{
    Answer, Code, Element, Entry, Exercise, Lesson, LessonMemory, Predict, Quantity, Quiz, Step, Unit,
    Verdict, parse_quantity,
};
use crate::session::options::SessionOptions;
use crate::session::protocol::{Message, Outcome};

use super::lab_keys::LabKeys;
use super::lines::{Lines, Typed};
use super::paint::Paint;
use super::printer::{Printer, screen};
use super::walk_begin::{WalkBegin, begins_at};
use super::{show, waiting};

/// What is said at the end of a lesson, of what was done in it.
pub(crate) type TellEnd<'e> = &'e dyn Fn(&LessonMemory) -> Vec<Block>;

/// Keeps what the learner has done at a step.
pub(crate) type KeepStep<'k> = &'k mut dyn FnMut(&str, &Entry) -> io::Result<()>;

/// How a walk ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WalkEnd {
    /// The lesson's end, or the learner left.
    Fine,
    /// There is no session on the devices, or they lack what the lesson needs.
    NoDevice,
}

/// Walks through a lesson on this process's terminal or pipe.
///
/// # Errors
/// Standard output can't be written to, or the terminal can't be used.
pub(crate) fn walk(
    lesson: &Lesson,
    options: &SessionOptions,
    memory: &LessonMemory,
    WalkBegin { from, seed, ascii }: WalkBegin<'_>,
    (keep, end): (KeepStep<'_>, TellEnd<'_>),
) -> io::Result<WalkEnd> {
    let printer = Printer::new(true, Paint::from_env(false).only(false));
    let mut printer = if ascii { printer.in_ascii() } else { printer };
    let runner = match Runner::start(options) {
        Ok(runner) => runner,
        Err(error) => {
            printer.note(&format!("error: the session did not start: {error}"));
            return Ok(WalkEnd::NoDevice);
        }
    };
    if let Some(lacks) = lesson.front.requires.lacking(runner.devices()) {
        printer.note(&format!("error: {lacks}"));
        return Ok(WalkEnd::NoDevice);
    }
    let waiting = waiting::watch(runner.bell())?;
    let prompts = io::stdin().is_terminal() && io::stdout().is_terminal();
    let lines = Lines::new(prompts, Arc::clone(&waiting));
    let passed = memory.passed();
    let mut walk = Walk {
        lesson,
        runner,
        printer,
        lines,
        keep,
        end,
        memory: memory.clone(),
        passed,
        standing: Standing::Before(0),
        seed,
        columns: io::stdout().is_terminal().then(|| screen().0),
        guesses: Vec::new(),
        keys: LabKeys::default(),
    };
    walk.go(memory, from)?;
    Ok(WalkEnd::Fine)
}

struct Walk<'w> {
    lesson: &'w Lesson,
    runner: Runner,
    printer: Printer,
    lines: Lines,
    keep: KeepStep<'w>,
    end: TellEnd<'w>,
    memory: LessonMemory,
    passed: Passed,
    standing: Standing,
    /// What the order of a quiz's choices is drawn from.
    seed: u64,
    /// The width that prose is broken at; a pipe has none.
    columns: Option<usize>,
    /// Numbers that wait for their cell: the place of the prediction, and the number where there is one.
    guesses: Vec<(usize, Option<Quantity>)>,
    keys: LabKeys,
}

/// What comes after a step.
#[derive(PartialEq)]
enum Then {
    Next,
    Leave,
}

/// What the learner says at a prompt.
enum Said {
    Text(String),
    Skip,
    Hint,
    Solution,
    Leave,
}

impl Said {
    fn of(line: String) -> Said {
        match line.trim() {
            "q" => Said::Leave,
            "s" => Said::Skip,
            "h" => Said::Hint,
            "l" => Said::Solution,
            _ => Said::Text(line),
        }
    }
}

/// What came of typing code.
enum Written {
    Code(String),
    /// There is none to be had.
    Nothing,
    /// Ctrl-C dropped it; this was said after that.
    Anew(String),
}

/// Asks for all the choices that are right, and says how several are given.
const SEVERAL: &str = "The numbers that are right, all in one line, such as 1 3: ";

/// Asks for an exercise's code.
const YOUR_CODE: &str = "Your code: ";

impl Walk<'_> {
    fn go(&mut self, memory: &LessonMemory, from: Option<&str>) -> io::Result<()> {
        let steps = &self.lesson.steps;
        let all = steps.iter().filter(|step| step.element.is_some()).count();
        let (first, so_far) = begins_at(steps, memory, from);
        let title = strip_control(&self.lesson.front.title).into_owned();
        let things = plural(all as u64, "thing", "things");
        let minutes = plural(self.lesson.front.minutes.into(), "minute", "minutes");
        self.say(&[format!("{title}: {things} to do, about {minutes}.")])?;
        if let Some(so_far) = so_far {
            self.say(&[so_far])?;
        }
        self.say(&["At any question: s skips it, q leaves, and what you have done is kept. Enter, an empty line, runs \
                    the cell that is shown."
            .into()])?;
        for (place, step) in steps.iter().enumerate().take(first) {
            self.take_up(place, step);
        }
        for (place, step) in steps.iter().enumerate().skip(first) {
            self.text(&step.text)?;
            if self.step(place, step, memory)? == Then::Leave {
                return self.say(&["Until next time.".into()]);
            }
        }
        self.say(&["That was the lesson.".into()])?;
        let how_far = (self.end)(&self.memory);
        self.text(&how_far)
    }

    fn step(&mut self, place: usize, step: &Step, memory: &LessonMemory) -> io::Result<Then> {
        match &step.element {
            None => Ok(Then::Next),
            Some(Element::Run(code)) => self.cell(place, step, code),
            Some(Element::Predict(predict)) => {
                let settled =
                    memory.step(&step.id).is_some_and(|known| known.answer.is_some() || known.told.is_some());
                self.predict(place, step, predict, settled)
            }
            Some(Element::Quiz(quiz)) => self.quiz(step, quiz),
            Some(Element::Exercise(exercise)) => self.exercise(place, step, exercise),
        }
    }

    /// A number that was said in an earlier walk and waits for its cell; whether there is one.
    fn take_up(&mut self, place: usize, step: &Step) -> Option<String> {
        let Some(Element::Predict(predict)) = &step.element else { return None };
        let known = self.memory.step(&step.id)?;
        let waits = known.answer.is_none() && known.told.is_none();
        let typed = known.typed.clone().filter(|_| waits)?;
        self.guesses.push((place, Some(parse_quantity(&typed, predict.unit).ok()?)));
        Some(typed)
    }

    /// A cell that runs as it stands, again until it has run to its end and what it answers is told.
    fn cell(&mut self, place: usize, step: &Step, code: &Code) -> io::Result<Then> {
        self.code("The next cell:", &code.text)?;
        let mut prompt = "Enter runs it: ";
        loop {
            match self.ask(prompt)? {
                Said::Leave => return Ok(Then::Leave),
                Said::Skip => return Ok(Then::Next),
                Said::Text(text) if text.trim().is_empty() => {}
                Said::Text(_) | Said::Hint | Said::Solution => {
                    self.say(&["It runs as it stands, on an empty line; s goes on without it.".into()])?;
                    continue;
                }
            }
            match self.run_cell(place, step, code)? {
                None => return Ok(Then::Leave),
                Some(true) => return Ok(Then::Next),
                Some(false) => prompt = "Enter runs it again, s goes on without it: ",
            }
        }
    }

    /// Whether it has run to its end, with an answer for each number that waits for it; none without a session.
    fn run_cell(&mut self, place: usize, step: &Step, code: &Code) -> io::Result<Option<bool>> {
        let probes = self.guesses.iter().filter_map(|(at, _)| match self.lesson.steps.get(*at) {
            Some(Step { id, element: Some(Element::Predict(predict)), .. }) if predict.cell == step.id => {
                Some((id.clone(), predict.answer.text.clone()))
            }
            _ => None,
        });
        let code = Code { text: code.text.clone(), line: 1 };
        let attempt = self.attempt(place, code).settling(probes.collect());
        let Some((end, outcome, attempt)) = self.run(attempt)? else { return Ok(None) };
        let ok = matches!(outcome, Some(Outcome::Ok { .. }));
        if let Some(stopped @ (Outcome::Timeout { .. } | Outcome::TooMuchOutput { .. })) = &outcome {
            self.say(&[format!("It was stopped: {}.", told(stopped))])?;
        }
        self.standing = if ok { Standing::Before(place + 1) } else { Standing::Elsewhere };
        let mut whole = ok;
        for answer in attempt.answers() {
            whole &= self.answer(answer)?;
        }
        match end {
            AttemptEnd::Fault(verdict) => {
                self.say(&[strip_control(&verdict.to_string()).into_owned()])?;
                whole = false;
            }
            AttemptEnd::Cut(reason) => {
                self.say(&[format!("It was cut short: {}", strip_control(&reason))])?;
                whole = false;
            }
            AttemptEnd::Ran(_) => self.record(&step.id, &Entry::Ran { ok })?,
        }
        Ok(Some(whole))
    }

    fn predict(&mut self, place: usize, step: &Step, predict: &Predict, settled: bool) -> io::Result<Then> {
        self.say(&["A question before the next cell:".into()])?;
        self.text(&predict.ask)?;
        if settled {
            self.say(&["You have answered it; its answer stays what it was.".into()])?;
            return Ok(Then::Next);
        }
        if let Some(typed) = self.take_up(place, step) {
            self.say(&[format!("You have said {}; the next cell shows what it is.", strip_control(&typed))])?;
            return Ok(Then::Next);
        }
        loop {
            let unit = if predict.unit == Unit::Count { "" } else { predict.unit.name() };
            match self.ask(&format!("Your number{}{unit}: ", if unit.is_empty() { "" } else { ", in " }))? {
                Said::Leave => return Ok(Then::Leave),
                Said::Text(text) => match parse_quantity(&text, predict.unit) {
                    Ok(quantity) => {
                        let entry = Entry::Prediction { typed: text, value: quantity.value };
                        self.record(&step.id, &entry)?;
                        self.guesses.push((place, Some(quantity)));
                        return Ok(Then::Next);
                    }
                    Err(error) => self.say(&[strip_control(&error.to_string()).into_owned()])?,
                },
                Said::Skip => {
                    self.record(&step.id, &Entry::Skipped)?;
                    self.guesses.push((place, None));
                    return Ok(Then::Next);
                }
                Said::Hint | Said::Solution => {
                    self.say(&["The next cell shows it; say what you expect, or s goes on without.".into()])?;
                }
            }
        }
    }

    /// What was measured, beside what was said; whether there is an answer.
    fn answer(&mut self, measured: &Measured) -> io::Result<bool> {
        let Measured { id, value, clock } = measured;
        let place = self.lesson.steps.iter().position(|step| step.id == *id);
        let step = place.and_then(|place| self.lesson.steps.get(place));
        let Some(Element::Predict(predict)) = step.and_then(|step| step.element.as_ref()) else {
            return Ok(true);
        };
        let value = match value {
            Ok(value) => value,
            Err(fault) => {
                self.say(&[format!("There is no answer: {}", strip_control(&fault.message))])?;
                return Ok(false);
            }
        };
        let guess =
            self.guesses.iter().find(|(at, _)| Some(*at) == place).and_then(|(_, guess)| guess.clone());
        self.guesses.retain(|(at, _)| Some(*at) != place);
        let simulated = self.runner.devices().iter().any(|device| device.simulated);
        let basis = predict.basis(*clock, simulated);
        let told = match Answer::to(predict, guess.as_ref(), value, basis) {
            Ok(answer) => {
                self.record(id, &answer.entry(basis))?;
                answer.sentence().to_owned()
            }
            Err(reason) => reason,
        };
        self.say(&[strip_control(&told).into_owned()])?;
        self.text(&predict.explain)?;
        Ok(true)
    }

    fn quiz(&mut self, step: &Step, quiz: &Quiz) -> io::Result<Then> {
        self.say(&["A question with choices:".into()])?;
        self.text(&quiz.ask)?;
        // As the lab shows them to this learner.
        let order = order(quiz.choices.len(), &step.id, self.seed);
        for (number, choice) in order.iter().filter_map(|&place| quiz.choices.get(place)).enumerate() {
            let text = linear::lines(&choice.text, None).join(" ");
            self.printer.answer(&format!("{}: {text}\n", number + 1))?;
        }
        let several = quiz.takes_several();
        let prompt = if several { SEVERAL } else { "The number that is right: " };
        loop {
            let text = match self.ask(prompt)? {
                Said::Leave => return Ok(Then::Leave),
                Said::Text(text) => text,
                Said::Skip => {
                    self.record(&step.id, &Entry::Skipped)?;
                    return Ok(Then::Next);
                }
                Said::Hint | Said::Solution => {
                    self.say(&["Each choice says why, once it is taken; s goes on without.".into()])?;
                    continue;
                }
            };
            let numbers = text.split([' ', ',']).filter(|word| !word.is_empty()).map(str::parse::<usize>);
            let taken: Option<Vec<usize>> =
                numbers.map(|n| order.get(n.ok()?.checked_sub(1)?).copied()).collect();
            let Some(taken) = taken.filter(|taken| !taken.is_empty()) else {
                self.say(&[format!("Type numbers from 1 to {}.", quiz.choices.len())])?;
                continue;
            };
            if taken.len() > 1 && !several {
                self.say(&["One of them is right: type one number.".into()])?;
                continue;
            }
            let right = quiz.is_right(&taken);
            self.record(&step.id, &Entry::Quiz { taken: taken.clone(), right })?;
            for choice in taken.iter().filter_map(|&choice| quiz.choices.get(choice)) {
                self.text(&choice.explain)?;
            }
            if right {
                self.say(&["Right.".into()])?;
                return Ok(Then::Next);
            }
            let is_part = taken.iter().all(|&choice| quiz.choices.get(choice).is_some_and(|c| c.correct));
            self.say(&[
                if is_part { "Right as far as it goes: there are more." } else { "Not that." }.into()
            ])?;
        }
    }

    fn exercise(&mut self, place: usize, step: &Step, exercise: &Exercise) -> io::Result<Then> {
        self.code(
            &format!("An exercise, {}. It begins with:", plural(exercise.points.into(), "point", "points")),
            &exercise.starter.text,
        )?;
        self.say(&[
            "Type your code, and end it with a line that is only a full stop; or f and a file's name.".into(),
            format!(
                "h gives a hint; there {}. Once all are given, l shows a solution.",
                match exercise.hints.len() {
                    1 => "is 1".to_owned(),
                    all => format!("are {all}"),
                }
            ),
        ])?;
        let mut hints = 0;
        // What was said in the middle of code that Ctrl-C has dropped.
        let mut anew = None;
        loop {
            let said = match anew.take() {
                Some(line) => Said::of(line),
                None => self.ask(YOUR_CODE)?,
            };
            let text = match said {
                Said::Leave => return Ok(Then::Leave),
                Said::Skip => {
                    self.record(&step.id, &Entry::Skipped)?;
                    return Ok(Then::Next);
                }
                Said::Hint => {
                    self.hint(step, exercise, &mut hints)?;
                    continue;
                }
                Said::Solution if hints < exercise.hints.len() => {
                    self.say(&["First the hints: h.".into()])?;
                    continue;
                }
                Said::Solution => {
                    self.record(&step.id, &Entry::Solution)?;
                    self.code("A solution:", &exercise.solution.text)?;
                    continue;
                }
                Said::Text(first) => match self.written(first)? {
                    Written::Code(text) => text,
                    Written::Nothing => continue,
                    Written::Anew(line) => {
                        anew = Some(line);
                        continue;
                    }
                },
            };
            let attempt = self.attempt(place, Code { text: text.clone(), line: 1 });
            let Some((end, ..)) = self.run(attempt)? else { return Ok(Then::Leave) };
            let verdict = match end {
                AttemptEnd::Ran(Some(verdict)) | AttemptEnd::Fault(verdict) => verdict,
                AttemptEnd::Ran(None) => continue,
                AttemptEnd::Cut(reason) => {
                    self.say(&[format!("It was cut short: {}", strip_control(&reason))])?;
                    continue;
                }
            };
            if self.judged(place, step, text, &verdict)? {
                return Ok(Then::Next);
            }
        }
    }

    /// Tells and records a verdict; whether it is a pass.
    fn judged(&mut self, place: usize, step: &Step, text: String, verdict: &Verdict) -> io::Result<bool> {
        let passes = verdict.is_pass();
        let code = passes.then(|| text.clone());
        self.record(&step.id, &Entry::Attempt { verdict: verdict.clone(), trace: None, code })?;
        self.say(&[strip_control(&verdict.to_string()).into_owned()])?;
        if passes {
            self.passed.insert(step.id.clone(), text);
            self.standing = Standing::Before(place + 1);
        }
        Ok(passes)
    }

    fn hint(&mut self, step: &Step, exercise: &Exercise, given: &mut usize) -> io::Result<()> {
        let Some(hint) = exercise.hints.get(*given) else {
            return self.say(&["There are no more hints; l shows a solution.".into()]);
        };
        *given += 1;
        self.record(&step.id, &Entry::Hint { number: *given })?;
        self.text(&hint.text)
    }

    /// Code from a file, or typed up to a line that is only a full stop.
    fn written(&mut self, first: String) -> io::Result<Written> {
        if let Some(path) = first.strip_prefix("f ") {
            return match std::fs::read_to_string(path.trim()) {
                Ok(text) => Ok(Written::Code(text)),
                Err(error) => {
                    self.say(&[format!("{}: {error}", strip_control(path.trim()))])?;
                    Ok(Written::Nothing)
                }
            };
        }
        let mut text = first;
        loop {
            match self.lines.one("", YOUR_CODE)? {
                Some(Typed { text: line, anew: true }) => return Ok(Written::Anew(line)),
                Some(Typed { text: line, .. }) if line.trim() != "." => {
                    text.push('\n');
                    text.push_str(&line);
                }
                Some(_) | None => return Ok(Written::Code(text)),
            }
        }
    }

    fn attempt(&self, place: usize, code: Code) -> Attempt {
        let number = u32::try_from(place).unwrap_or(0).saturating_add(1);
        Attempt::at_step(self.lesson, place, (number, code), self.standing, &self.passed)
    }

    /// Runs it and prints what its code says; how it ended, and what came of the code. None where there is no session
    /// to be had.
    fn run(&mut self, mut attempt: Attempt) -> io::Result<Option<(AttemptEnd, Option<Outcome>, Attempt)>> {
        if attempt.begins_anew() && attempt.replayed() > 0 {
            let steps = plural(attempt.replayed() as u64, "step", "steps");
            self.say(&[format!("What comes before is run again: {steps}.")])?;
        }
        let (mut outcome, mut failed) = (None, Ok(()));
        let printer = &mut self.printer;
        let ran = self.runner.run(&mut attempt, &mut |message| {
            if failed.is_ok() {
                failed = hear(printer, message, &mut outcome);
            }
        });
        failed?;
        self.standing = Standing::Elsewhere;
        match ran {
            Ok(end) => Ok(Some((end, outcome, attempt))),
            Err(error) => {
                self.printer.note(&error.to_string());
                Ok(None)
            }
        }
    }

    fn ask(&mut self, prompt: &str) -> io::Result<Said> {
        Ok(self.lines.one(prompt, prompt)?.map_or(Said::Leave, |line| Said::of(line.text)))
    }

    fn text(&mut self, blocks: &[Block]) -> io::Result<()> {
        if blocks.is_empty() {
            return Ok(());
        }
        let lines = linear::lines(blocks, self.columns);
        self.say(&lines)?;
        let told = self.keys.told(&lines.join(" "));
        if let Some(told) = told { self.say(&[told]) } else { Ok(()) }
    }

    fn code(&mut self, head: &str, code: &str) -> io::Result<()> {
        let code = code.trim_end().lines().map(|line| format!("    {}", strip_control(line)));
        self.say(&std::iter::once(head.to_owned()).chain(code).collect::<Vec<_>>())
    }

    /// Lines, and an empty one after them.
    fn say(&mut self, lines: &[String]) -> io::Result<()> {
        self.printer.answer(&format!("{}\n\n", lines.join("\n")))
    }

    /// That it can't be kept is told, and hinders nothing.
    fn record(&mut self, step: &str, entry: &Entry) -> io::Result<()> {
        self.memory.take(step, entry);
        if let Err(error) = (self.keep)(step, entry) {
            self.printer.note(&format!("progress was not kept: {error}"));
        }
        Ok(())
    }
}

/// Prints what the learner's code says.
fn hear(printer: &mut Printer, message: Message, came: &mut Option<Outcome>) -> io::Result<()> {
    match message {
        Message::Output { stream, text, .. } => printer.print(stream, &text),
        Message::Display { content, display_id, .. } => printer.display(&content, display_id.as_deref()),
        Message::Finished { outcome, usage, .. } => {
            printer.end_of_output()?;
            match &outcome {
                Outcome::Ok { value: Some(value) } => printer.value("=", value)?,
                Outcome::Error { fault } => printer.fault(fault)?,
                Outcome::Ok { .. }
                | Outcome::Interrupted
                | Outcome::Timeout { .. }
                | Outcome::TooMuchOutput { .. } => {}
            }
            *came = Some(outcome);
            printer.answer(&format!("{}{}\n", show::usage(&usage), show::taken(&usage)))
        }
        _ => Ok(()),
    }
}

//! A walk under way: what it knows, how it asks, says, runs and records.

use std::io;

use crate::base::figures::plural;
use crate::base::text::strip_control;
use crate::lesson::attempt::{Attempt, AttemptEnd, Passed, Standing};
use crate::lesson::linear;
use crate::lesson::markdown::Block;
use crate::lesson::runner::Runner;
use crate::lesson::{Code, Element, Entry, Lesson, LessonMemory, Quantity, Step};
use crate::repl::input::{wants_more, without_backslashes};
use crate::repl::lines::{Lines, Typed};
use crate::repl::printer::Printer;
use crate::repl::show;
use crate::session::protocol::{Message, Outcome};

use super::begin::is_over;
use super::lab_keys::LabKeys;
use super::said::{Reply, Said, help};

/// What is said at the end of a lesson, of what was done in it.
pub(crate) type TellEnd<'e> = &'e dyn Fn(&LessonMemory) -> Vec<Block>;

/// Keeps what the learner has done at a step.
pub(crate) type KeepStep<'k> = &'k mut dyn FnMut(&str, &Entry) -> io::Result<()>;

pub(super) struct Walk<'w> {
    pub(super) lesson: &'w Lesson,
    pub(super) runner: Runner,
    pub(super) printer: Printer,
    pub(super) lines: Lines,
    pub(super) keep: KeepStep<'w>,
    pub(super) end: TellEnd<'w>,
    pub(super) memory: LessonMemory,
    pub(super) passed: Passed,
    pub(super) standing: Standing,
    /// Where code of the learner's own ran last: more of it finds what that left.
    pub(super) own: Option<usize>,
    /// How often such code has run.
    pub(super) own_runs: usize,
    /// What the order of a quiz's choices is drawn from.
    pub(super) seed: u64,
    /// The width that prose is broken at; a pipe has none.
    pub(super) columns: Option<usize>,
    /// Numbers that wait for their cell: the place of the prediction, and the number where there is one.
    pub(super) guesses: Vec<(usize, Option<Quantity>)>,
    pub(super) keys: LabKeys,
}

/// A question that waits for a line.
pub(super) struct Question<'q> {
    /// The step that asks.
    pub place: usize,
    pub prompt: &'q str,
    /// What can be typed here.
    pub help: &'q [&'q str],
}

/// What came of typing code.
pub(super) enum Written {
    Code(String),
    /// There is none to be had.
    Nothing,
    /// Ctrl-C dropped it; this was said after that.
    Anew(String),
    /// The input ended in the middle.
    Ended,
}

impl Walk<'_> {
    /// Asks until a line is for the question itself: help is given and code of one's own is run meanwhile. A line that
    /// was typed already is taken first.
    pub(super) fn ask(&mut self, question: &Question<'_>, typed: Option<String>) -> io::Result<Reply> {
        let mut typed = typed;
        loop {
            let line = match typed.take() {
                Some(line) => line,
                None => match self.lines.one(question.prompt, question.prompt)? {
                    Some(line) => line.text,
                    None => return Ok(Reply::Leave),
                },
            };
            match Said::of(line) {
                Said::Help => self.say(&help(question.help))?,
                Said::Own(first) => match self.own_code(first, question.prompt)? {
                    Written::Code(code) => {
                        if !self.run_own(question.place, code)? {
                            return Ok(Reply::Leave);
                        }
                    }
                    Written::Nothing => self.say(&["> takes code of your own, such as > smi().".into()])?,
                    Written::Anew(line) => typed = Some(line),
                    Written::Ended => return Ok(Reply::Leave),
                },
                Said::ForQuestion(reply) => return Ok(reply),
            }
        }
    }

    /// Code of the learner's own, with the lines that it goes on in.
    fn own_code(&mut self, first: String, prompt: &str) -> io::Result<Written> {
        if first.is_empty() {
            return Ok(Written::Nothing);
        }
        let mut text = first;
        while wants_more(&text) {
            match self.lines.one("", prompt)? {
                Some(Typed { text: line, anew: true }) => return Ok(Written::Anew(line)),
                Some(Typed { text: line, .. }) => text = format!("{text}\n{line}"),
                None => return self.ended(),
            }
        }
        Ok(Written::Code(without_backslashes(&text)))
    }

    /// Tells that code was dropped in whose middle the input ended.
    pub(super) fn ended(&mut self) -> io::Result<Written> {
        self.say(&["The input ended in the middle of your code, which was not run.".into()])?;
        Ok(Written::Ended)
    }

    /// Runs code of the learner's own where a step begins; false where there is no session to be had.
    fn run_own(&mut self, place: usize, text: String) -> io::Result<bool> {
        let code = Code { text, line: 1 };
        self.own_runs += 1;
        let number = number_of(&self.lesson.steps) + u32::try_from(self.own_runs).unwrap_or(0);
        let attempt = match self.own {
            Some(at) if at == place => Attempt::of_code(number, code),
            _ => Attempt::within(self.lesson, place, (number, code), self.standing, &self.passed),
        };
        let Some((end, ..)) = self.run(attempt)? else { return Ok(false) };
        match end {
            AttemptEnd::Ran(_) => self.own = Some(place),
            AttemptEnd::Fault(verdict) => self.say(&[strip_control(&verdict.not_begun()).into_owned()])?,
            AttemptEnd::Cut(reason) => self.cut_short(&reason)?,
        }
        Ok(true)
    }

    pub(super) fn cut_short(&mut self, reason: &str) -> io::Result<()> {
        self.say(&[format!("It was cut short: {}", strip_control(reason))])
    }

    /// The number that errors and reports give the cell of a step.
    pub(super) fn number(&self, place: usize) -> u32 {
        number_of(self.lesson.steps.get(..=place).unwrap_or_default())
    }

    pub(super) fn attempt(&self, place: usize, code: Code) -> Attempt {
        let number = self.number(place);
        Attempt::at_step(self.lesson, place, (number, code), self.standing, &self.passed)
    }

    /// Runs it and prints what its code says; how it ended, and what came of the code. None where there is no session
    /// to be had.
    pub(super) fn run(
        &mut self,
        mut attempt: Attempt,
    ) -> io::Result<Option<(AttemptEnd, Option<Outcome>, Attempt)>> {
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
        (self.standing, self.own) = (Standing::Elsewhere, None);
        if let Some(told) = attempt.tell_unsuited(&mut self.passed) {
            self.say(&[format!("Note: {}.", strip_control(&told))])?;
        }
        match ran {
            Ok(end) => Ok(Some((end, outcome, attempt))),
            Err(error) => {
                self.printer.note(&error.to_string());
                Ok(None)
            }
        }
    }

    /// What has been done at a step stays, so that passing it over changes nothing of it.
    pub(super) fn skip(&mut self, step: &Step) -> io::Result<()> {
        if is_over(step, &self.memory) {
            return Ok(());
        }
        self.record(&step.id, &Entry::Skipped)
    }

    /// A lesson's text, section by section; what takes the place of the lab's keys stands behind the one that names them.
    pub(super) fn text(&mut self, blocks: &[Block]) -> io::Result<()> {
        for section in blocks.chunk_by(|_, next| !matches!(next, Block::Heading { .. })) {
            self.print(&linear::lines(section, self.columns))?;
            let told = self.keys.told(&linear::lines(section, None).join(" "));
            told.map_or(Ok(()), |told| self.say(&[told]))?;
        }
        Ok(())
    }

    pub(super) fn code(&mut self, head: &str, code: &str) -> io::Result<()> {
        let code = code.trim_end().lines().map(|line| format!("    {}", strip_control(line)));
        self.print(&std::iter::once(head.to_owned()).chain(code).collect::<Vec<_>>())
    }

    /// Our own words, a line each, broken where the terminal ends.
    pub(super) fn say(&mut self, lines: &[String]) -> io::Result<()> {
        let lines = lines.iter().flat_map(|text| text.lines());
        let broken = lines.flat_map(|line| linear::broken(line, self.columns));
        self.print(&broken.collect::<Vec<_>>())
    }

    /// Lines, and an empty one after them.
    fn print(&mut self, lines: &[String]) -> io::Result<()> {
        self.printer.answer(&format!("{}\n\n", lines.join("\n")))
    }

    /// That it can't be kept is told, and hinders nothing.
    pub(super) fn record(&mut self, step: &str, entry: &Entry) -> io::Result<()> {
        self.memory.take(step, entry);
        if let Err(error) = (self.keep)(step, entry) {
            self.printer.note(&format!("progress was not kept: {error}"));
        }
        Ok(())
    }
}

/// How many of these steps run code that is shown.
fn number_of(steps: &[Step]) -> u32 {
    let runs = |step: &&Step| matches!(step.element, Some(Element::Run(_) | Element::Exercise(_)));
    u32::try_from(steps.iter().filter(runs).count()).unwrap_or(u32::MAX / 2)
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

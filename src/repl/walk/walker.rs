//! A walk under way: what it knows, how it asks, says, runs and records.

use std::io;

use crate::base::figures::plural;
use crate::base::text::strip_control;
use crate::lesson::attempt::{Attempt, AttemptEnd, Passed, Standing};
use crate::lesson::linear;
use crate::lesson::markdown::Block;
use crate::lesson::runner::Runner;
use crate::lesson::{Code, Entry, Lesson, LessonMemory, Quantity};
use crate::repl::lines::Lines;
use crate::repl::printer::Printer;
use crate::repl::show;
use crate::session::protocol::{Message, Outcome};

use super::lab_keys::LabKeys;
use super::said::Said;

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
    /// What the order of a quiz's choices is drawn from.
    pub(super) seed: u64,
    /// The width that prose is broken at; a pipe has none.
    pub(super) columns: Option<usize>,
    /// Numbers that wait for their cell: the place of the prediction, and the number where there is one.
    pub(super) guesses: Vec<(usize, Option<Quantity>)>,
    pub(super) keys: LabKeys,
}

impl Walk<'_> {
    pub(super) fn attempt(&self, place: usize, code: Code) -> Attempt {
        let number = u32::try_from(place).unwrap_or(0).saturating_add(1);
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
        self.standing = Standing::Elsewhere;
        match ran {
            Ok(end) => Ok(Some((end, outcome, attempt))),
            Err(error) => {
                self.printer.note(&error.to_string());
                Ok(None)
            }
        }
    }

    pub(super) fn ask(&mut self, prompt: &str) -> io::Result<Said> {
        Ok(self.lines.one(prompt, prompt)?.map_or(Said::Leave, |line| Said::of(line.text)))
    }

    pub(super) fn text(&mut self, blocks: &[Block]) -> io::Result<()> {
        if blocks.is_empty() {
            return Ok(());
        }
        let lines = linear::lines(blocks, self.columns);
        self.say(&lines)?;
        let told = self.keys.told(&lines.join(" "));
        if let Some(told) = told { self.say(&[told]) } else { Ok(()) }
    }

    pub(super) fn code(&mut self, head: &str, code: &str) -> io::Result<()> {
        let code = code.trim_end().lines().map(|line| format!("    {}", strip_control(line)));
        self.say(&std::iter::once(head.to_owned()).chain(code).collect::<Vec<_>>())
    }

    /// Lines, and an empty one after them.
    pub(super) fn say(&mut self, lines: &[String]) -> io::Result<()> {
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

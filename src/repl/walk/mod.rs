//! A lesson at the prompt: a linear walk through its steps, with nothing redrawn, fit for screen readers and pipes.

mod begin;
mod cell;
mod exercise;
mod lab_keys;
mod question;
mod said;
mod walker;

use std::io::{self, IsTerminal};
use std::sync::Arc;

use crate::base::figures::plural;
use crate::base::text::strip_control;
use crate::lesson::attempt::Standing;
use crate::lesson::runner::Runner;
use crate::lesson::{Element, Lesson, LessonMemory, Step};
use crate::session::options::SessionOptions;

use super::lines::{Lines, Prompts};
use super::paint::Paint;
use super::printer::{Printer, screen};
use super::waiting;

pub(crate) use begin::WalkBegin;
use begin::begins_at;
use lab_keys::LabKeys;
use said::Then;
use walker::{KeepStep, TellEnd, Walk};

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
    let printer = Printer::new(true, Paint::from_env(false).only(false)).in_one_stream();
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
    let person = io::stdin().is_terminal() && io::stdout().is_terminal();
    let prompts = if person { Prompts::Before } else { Prompts::AsLines };
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
}

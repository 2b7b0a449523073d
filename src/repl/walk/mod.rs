//! A lesson at the prompt: a linear walk through its steps, with nothing redrawn, fit for screen readers and pipes.

mod begin;
mod cell;
mod exercise;
mod lab_keys;
mod question;
mod said;
mod walker;
mod written;

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
use begin::{Beginning, begins_at, begun, is_over, passed_over};
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
        own: None,
        own_runs: 0,
        seed,
        columns: io::stdout().is_terminal().then(|| screen().0),
        guesses: Vec::new(),
        keys: LabKeys::default(),
    };
    walk.go(from)?;
    Ok(WalkEnd::Fine)
}

impl Walk<'_> {
    fn go(&mut self, from: Option<&str>) -> io::Result<()> {
        let steps = &self.lesson.steps;
        let Beginning { place: first, so_far, again } = begins_at(steps, &self.memory, from);
        self.greet(so_far)?;
        for (place, step) in steps.iter().enumerate().take(first) {
            self.take_up(place, step);
        }
        let mut over = Vec::new();
        let mut shown = 0;
        for (place, step) in steps.iter().enumerate().skip(first) {
            if !again && self.is_passed_over(place) {
                over.push(step);
                continue;
            }
            if let Some(told) = passed_over(&std::mem::take(&mut over)) {
                self.say(&[told])?;
            }
            // What a step goes on from is shown where it was passed over.
            for text in begun(steps.get(shown..place).unwrap_or_default(), step) {
                self.text(text)?;
            }
            shown = place + 1;
            self.text(&step.text)?;
            if self.step(place, step)? == Then::Leave {
                return self.say(&["Until next time.".into()]);
            }
        }
        passed_over(&over).map_or(Ok(()), |told| self.say(&[told]))?;
        self.say(&["That was the lesson.".into()])?;
        let how_far = (self.end)(&self.memory);
        self.text(&how_far)
    }

    fn greet(&mut self, so_far: Option<String>) -> io::Result<()> {
        let front = &self.lesson.front;
        let all = self.lesson.steps.iter().filter(|step| step.element.is_some()).count();
        let things = plural(all as u64, "thing", "things");
        let minutes = plural(front.minutes.into(), "minute", "minutes");
        self.say(&[format!("{}: {things} to do, about {minutes}.", strip_control(&front.title))])?;
        so_far.map_or(Ok(()), |so_far| self.say(&[so_far]))?;
        self.say(&["At any question: s skips it, q leaves, ? lists what can be typed, and what you have done is kept. \
                    Enter, an empty line, runs the cell that is shown."
            .into()])
    }

    /// Whether nothing is left to do there: at a cell, also that no number waits for it; at text, where that holds for
    /// what it leads to.
    fn is_passed_over(&self, place: usize) -> bool {
        let after = self.lesson.steps.iter().skip(place).find(|step| step.element.is_some());
        let waits = |step: &Step| {
            self.guesses.iter().filter_map(|(at, _)| self.lesson.steps.get(*at)).any(
                |asked| matches!(&asked.element, Some(Element::Predict(predict)) if predict.cell == step.id),
            )
        };
        after.is_some_and(|step| is_over(step, &self.memory) && !waits(step))
    }

    fn step(&mut self, place: usize, step: &Step) -> io::Result<Then> {
        match &step.element {
            None => Ok(Then::Next),
            Some(Element::Run(code)) => self.cell(place, step, code),
            Some(Element::Predict(predict)) => {
                let known = self.memory.step(&step.id);
                let settled = known.is_some_and(|known| known.answer.is_some() || known.told.is_some());
                self.predict(place, step, predict, settled)
            }
            Some(Element::Quiz(quiz)) => self.quiz(place, step, quiz),
            Some(Element::Exercise(exercise)) => self.exercise(place, step, exercise),
        }
    }
}

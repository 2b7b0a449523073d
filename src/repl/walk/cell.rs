//! A cell that runs as it stands, and the answers that it settles.

use std::io;

use crate::base::text::strip_control;
use crate::lesson::attempt::{AttemptEnd, Measured, Standing, told};
use crate::lesson::{Answer, Code, Element, Entry, Step};
use crate::session::protocol::Outcome;

use super::said::{Reply, Then};
use super::walker::{Question, Walk};

/// What can be typed where a cell waits.
const HELP: [&str; 1] = ["Enter, an empty line, runs the cell as it stands."];

impl Walk<'_> {
    /// A cell that runs as it stands, again until it has run to its end and what it answers is told.
    pub(super) fn cell(&mut self, place: usize, step: &Step, code: &Code) -> io::Result<Then> {
        self.code(&format!("The next cell, In [{}]:", self.number(place)), &code.text)?;
        let mut prompt = "Enter runs it: ";
        loop {
            match self.ask(&Question { place, prompt, help: &HELP }, None)? {
                Reply::Leave => return Ok(Then::Leave),
                Reply::Skip => {
                    self.skip(step)?;
                    return Ok(Then::Next);
                }
                Reply::Text(text) if text.trim().is_empty() => {}
                Reply::Text(_) | Reply::Hint | Reply::Solution => {
                    self.say(&["It runs as it stands, on an empty line; s goes on without it. > before code runs your \
                                own."
                        .into()])?;
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
                self.say(&[strip_control(&verdict.not_begun()).into_owned()])?;
                whole = false;
            }
            AttemptEnd::Cut(reason) => {
                self.cut_short(&reason)?;
                whole = false;
            }
            AttemptEnd::Ran(_) => self.record(&step.id, &Entry::Ran { ok })?,
        }
        Ok(Some(whole))
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
}

//! Predictions and questions with choices.

use std::io;

use crate::base::text::strip_control;
use crate::lesson::linear;
use crate::lesson::order::order;
use crate::lesson::{Element, Entry, Predict, Quiz, Step, Unit};

use super::begin::is_over;
use super::said::{Reply, Then};
use super::walker::{Question, Walk};

/// Asks for all the choices that are right, and says how several are given.
const SEVERAL: &str = "The numbers that are right, all in one line, such as 1 3: ";

/// What can be typed where a number is asked for, and where one of several choices is.
const NUMBER: [&str; 1] = ["A number answers it, with a unit where it has one, such as 4 MiB or 0.5 ms."];
const CHOICES: [&str; 1] = ["The numbers before the choices answer it."];

impl Walk<'_> {
    pub(super) fn predict(
        &mut self,
        place: usize,
        step: &Step,
        predict: &Predict,
        settled: bool,
    ) -> io::Result<Then> {
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
            let prompt = format!("Your number{}{unit}: ", if unit.is_empty() { "" } else { ", in " });
            match self.ask(&Question { place, prompt: &prompt, help: &NUMBER }, None)? {
                Reply::Leave => return Ok(Then::Leave),
                Reply::Text(text) => match predict.read(&text) {
                    Ok(quantity) => {
                        let entry = Entry::Prediction { typed: text, value: quantity.value };
                        self.record(&step.id, &entry)?;
                        self.guesses.push((place, Some(quantity)));
                        return Ok(Then::Next);
                    }
                    Err(error) => self.say(&[strip_control(&error.to_string()).into_owned()])?,
                },
                Reply::Skip => {
                    self.skip(step)?;
                    self.guesses.push((place, None));
                    return Ok(Then::Next);
                }
                Reply::Hint | Reply::Solution => {
                    self.say(&["The next cell shows it; say what you expect, or s goes on without.".into()])?;
                }
            }
        }
    }

    /// A number that was said in an earlier walk and waits for its cell; whether there is one.
    pub(super) fn take_up(&mut self, place: usize, step: &Step) -> Option<String> {
        let Some(Element::Predict(predict)) = &step.element else { return None };
        let known = self.memory.step(&step.id)?;
        let waits = known.answer.is_none() && known.told.is_none();
        let typed = known.typed.clone().filter(|_| waits)?;
        self.guesses.push((place, Some(predict.read(&typed).ok()?)));
        Some(typed)
    }

    pub(super) fn quiz(&mut self, place: usize, step: &Step, quiz: &Quiz) -> io::Result<Then> {
        self.say(&["A question with choices:".into()])?;
        self.text(&quiz.ask)?;
        if is_over(step, &self.memory) {
            self.say(&["You have answered it right; s goes on.".into()])?;
        }
        // As the lab shows them to this learner.
        let order = order(quiz.choices.len(), &step.id, self.seed);
        for (number, choice) in order.iter().filter_map(|&place| quiz.choices.get(place)).enumerate() {
            let text = linear::lines(&choice.text, None).join(" ");
            self.printer.answer(&format!("{}: {text}\n", number + 1))?;
        }
        let several = quiz.takes_several();
        let prompt = if several { SEVERAL } else { "The number that is right: " };
        loop {
            let text = match self.ask(&Question { place, prompt, help: &CHOICES }, None)? {
                Reply::Leave => return Ok(Then::Leave),
                Reply::Text(text) => text,
                Reply::Skip => {
                    self.skip(step)?;
                    return Ok(Then::Next);
                }
                Reply::Hint | Reply::Solution => {
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
}

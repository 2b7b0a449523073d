//! An exercise: where its code comes from, hints, a solution, and verdicts.

use std::io;

use crate::base::figures::plural;
use crate::base::text::strip_control;
use crate::lesson::attempt::{AttemptEnd, PassedCode, Standing};
use crate::lesson::{Code, Entry, Exercise, Step, Verdict};

use super::begin::is_over;
use super::said::{Reply, Then};
use super::walker::{Question, Walk, Written};
use super::written::YOUR_CODE;

/// What can be typed where code is asked for.
const HELP: [&str; 5] = [
    "Code answers it, of any number of lines; a line that is only a full stop ends it. Ctrl-C drops what is begun.",
    "f FILE takes the code from a file.",
    "r runs what the exercise begins with, as it stands.",
    "w FILE writes what it begins with to a file that can be edited.",
    "h gives a hint, and l a solution once all hints are given.",
];

impl Walk<'_> {
    pub(super) fn exercise(&mut self, place: usize, step: &Step, exercise: &Exercise) -> io::Result<Then> {
        let mut hints = self.tell_exercise(place, step, exercise)?;
        // What was said in the middle of code that Ctrl-C has dropped.
        let mut anew = None;
        loop {
            let question = Question { place, prompt: YOUR_CODE, help: &HELP };
            let text = match self.ask(&question, anew.take())? {
                Reply::Leave => return Ok(Then::Leave),
                Reply::Skip => {
                    self.skip(step)?;
                    return Ok(Then::Next);
                }
                Reply::Hint => {
                    self.hint(step, exercise, &mut hints)?;
                    continue;
                }
                Reply::Solution => {
                    self.solution(step, exercise, hints)?;
                    continue;
                }
                Reply::Text(first) => match self.written(first, exercise)? {
                    Written::Code(text) => text,
                    Written::Nothing => continue,
                    Written::Ended => return Ok(Then::Leave),
                    Written::Anew(line) => {
                        anew = Some(line);
                        continue;
                    }
                },
            };
            match self.try_code(place, step, text)? {
                None => return Ok(Then::Leave),
                Some(true) => return Ok(Then::Next),
                Some(false) => {}
            }
        }
    }

    /// What there is to know of it; how many of its hints were given already.
    fn tell_exercise(&mut self, place: usize, step: &Step, exercise: &Exercise) -> io::Result<usize> {
        let points = plural(exercise.points.into(), "point", "points");
        let head = format!("An exercise, {points}, In [{}]. It begins with:", self.number(place));
        self.code(&head, &exercise.starter.text)?;
        if let Some(own) = self.passed.get(&step.id).cloned().filter(|_| is_over(step, &self.memory)) {
            self.code("You have passed it, and that stays; s goes on. Your code was:", &own.text)?;
        }
        let all = exercise.hints.len();
        let given = self.memory.step(&step.id).map_or(0, |known| known.hints).min(all);
        self.say(&[
            "Type your code, and end it with a line that is only a full stop; or f and a file's name, or r for what it \
             begins with; ? lists what else there is."
                .into(),
            format!(
                "h gives a hint; there {}{}. Once all are given, l shows a solution.",
                if all == 1 { "is 1".to_owned() } else { format!("are {all}") },
                if given == 0 { String::new() } else { format!(", and you have had {given}") }
            ),
        ])?;
        Ok(given)
    }

    /// Runs code and tells its verdict; whether it passes, and none where there is no session to be had.
    fn try_code(&mut self, place: usize, step: &Step, text: String) -> io::Result<Option<bool>> {
        let attempt = self.attempt(place, Code { text: text.clone(), line: 1 });
        let Some((end, ..)) = self.run(attempt)? else { return Ok(None) };
        let verdict = match end {
            AttemptEnd::Ran(Some(verdict)) => verdict,
            AttemptEnd::Fault(verdict) => {
                let told = verdict.not_begun();
                return self.judged(place, step, text, (&verdict, told)).map(Some);
            }
            AttemptEnd::Ran(None) => return Ok(Some(false)),
            AttemptEnd::Cut(reason) => {
                self.cut_short(&reason)?;
                return Ok(Some(false));
            }
        };
        let told = verdict.to_string();
        self.judged(place, step, text, (&verdict, told)).map(Some)
    }

    /// Tells and records a verdict; whether it is a pass.
    fn judged(
        &mut self,
        place: usize,
        step: &Step,
        text: String,
        (verdict, told): (&Verdict, String),
    ) -> io::Result<bool> {
        let passes = verdict.is_pass();
        let code = passes.then(|| text.clone());
        self.record(&step.id, &Entry::Attempt { verdict: verdict.clone(), trace: None, code })?;
        self.say(&[strip_control(&told).into_owned()])?;
        if passes {
            self.passed.insert(step.id.clone(), PassedCode { text, earlier: false });
            self.standing = Standing::Before(place + 1);
        }
        Ok(passes)
    }

    /// The next hint. Where there is none left, all of them once more: they may have been given on another day.
    fn hint(&mut self, step: &Step, exercise: &Exercise, given: &mut usize) -> io::Result<()> {
        let Some(hint) = exercise.hints.get(*given) else {
            self.say(&["There are no more hints; l shows a solution. The hints were:".into()])?;
            return exercise.hints.iter().try_for_each(|hint| self.text(&hint.text));
        };
        *given += 1;
        self.record(&step.id, &Entry::Hint { number: *given })?;
        self.text(&hint.text)
    }

    fn solution(&mut self, step: &Step, exercise: &Exercise, hints: usize) -> io::Result<()> {
        let was_shown = self.memory.step(&step.id).is_some_and(|known| known.solution);
        if hints < exercise.hints.len() && !was_shown {
            return self.say(&["First the hints: h.".into()]);
        }
        self.record(&step.id, &Entry::Solution)?;
        self.code("A solution:", &exercise.solution.text)
    }
}

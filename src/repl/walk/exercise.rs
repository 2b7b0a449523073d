//! An exercise: code that is typed or comes from a file, hints, a solution, and verdicts.

use std::io;

use crate::base::figures::plural;
use crate::base::text::strip_control;
use crate::lesson::attempt::{AttemptEnd, Standing};
use crate::lesson::{Code, Entry, Exercise, Step, Verdict};
use crate::repl::lines::Typed;

use super::said::{Said, Then};
use super::walker::Walk;

/// Asks for an exercise's code.
const YOUR_CODE: &str = "Your code: ";

/// What came of typing code.
enum Written {
    Code(String),
    /// There is none to be had.
    Nothing,
    /// Ctrl-C dropped it; this was said after that.
    Anew(String),
}

impl Walk<'_> {
    pub(super) fn exercise(&mut self, place: usize, step: &Step, exercise: &Exercise) -> io::Result<Then> {
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
}

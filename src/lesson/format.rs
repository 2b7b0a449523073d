//! What a lesson is made of, once its file has been read.

use std::time::Duration;

use crate::base::event::Clock;
use crate::base::figures::{self, plural};
use crate::session::limits::RunLimits;
use crate::session::protocol::DeviceInfo;

use super::error::LessonError;
use super::markdown::Block;
use super::predict::{Basis, Tolerance};
use super::quantity::{Quantity, QuantityError, Unit, parse_quantity};
use super::source::Source;

/// A lesson: its front matter and its steps in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Lesson {
    pub front: Front,
    pub steps: Vec<Step>,
    /// Every link and image of the text.
    pub links: Vec<Link>,
    /// Lines with HTML in the text, other than comments.
    pub html_lines: Vec<usize>,
    pub(super) source: Source,
}

/// The head of a lesson.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Front {
    pub id: String,
    pub title: String,
    pub summary: String,
    pub concepts: Vec<String>,
    /// Lessons to be done before: `id`, or `pack/id` in another pack.
    pub prerequisites: Vec<String>,
    /// How long the lesson takes.
    pub minutes: u32,
    /// Device sets the lesson is made for, as `--devices` takes them.
    pub devices: Vec<String>,
    pub requires: Requires,
    pub limits: Limits,
    /// Where each key stands in the file: key, line, column.
    pub(super) places: Vec<(String, usize, usize)>,
}

/// What a session must have for the lesson to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requires {
    /// GPUs, real or simulated.
    pub gpus: u32,
    /// Memory of each GPU, in bytes.
    pub device_memory: Option<u64>,
}

/// Limits of each run of the lesson's code; the user's own limits cap them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    pub time_ms: Option<u64>,
    /// Bytes.
    pub host_memory: Option<u64>,
    /// Bytes on each device.
    pub device_memory: Option<u64>,
    /// Bytes of printed text.
    pub output: Option<u64>,
    pub figures: Option<u32>,
    /// Bytes of files in a scratch folder, which the lesson has where this is named.
    pub scratch: Option<u64>,
}

impl Limits {
    /// What each run may take.
    pub(crate) fn runs(&self) -> RunLimits {
        RunLimits {
            time: self.time_ms.map(Duration::from_millis),
            output: self.output,
            figures: self.figures,
            host_memory: self.host_memory,
            device_memory: self.device_memory,
        }
    }
}

impl Requires {
    /// What it asks for: `2 GPUs with 8.0 GiB of memory`; none where any machine will do.
    pub(crate) fn needs(&self) -> Option<String> {
        if self.gpus == 0 && self.device_memory.is_none() {
            return None;
        }
        let needs = plural(u64::from(self.gpus.max(1)), "GPU", "GPUs");
        Some(match self.device_memory {
            Some(bytes) => format!("{needs} with {} of memory", figures::bytes(bytes)),
            None => needs,
        })
    }

    /// What devices lack of it, in a sentence; none where they have it all.
    pub(crate) fn lacking(&self, devices: &[DeviceInfo]) -> Option<String> {
        let gpus = devices.iter().filter(|info| info.device.is_cuda());
        let large = |info: &&DeviceInfo| self.device_memory.is_none_or(|bytes| info.total >= bytes);
        let (here, fit) = (gpus.clone().count() as u64, gpus.filter(large).count() as u64);
        let needs = self.needs()?;
        if fit >= u64::from(self.gpus.max(1)) {
            return None;
        }
        let has = if here > 0 && fit < here {
            format!(
                "{} of its {} has as much",
                if fit == 0 { "none".to_owned() } else { fit.to_string() },
                here
            )
        } else {
            format!("this machine has {}", if here == 0 { "none".to_owned() } else { here.to_string() })
        };
        Some(format!("the lesson needs {needs}, and {has}"))
    }
}

/// A stretch of text and what the learner does after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The id that progress is keyed by: the written one, else one made of the content.
    pub id: String,
    /// The line of the element, else of the text.
    pub line: usize,
    pub text: Vec<Block>,
    /// Code to run unseen before the element, and again before each attempt at it.
    pub setup: Vec<Code>,
    /// Where the element applies.
    pub devices: Places,
    /// None for text alone.
    pub element: Option<Element>,
}

/// What a learner does in a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// A cell to run as it stands.
    Run(Code),
    Predict(Predict),
    Quiz(Quiz),
    Exercise(Exercise),
}

/// Code of the lesson and the line of the file at which it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    pub text: String,
    /// The line in the lesson file of the code's first line.
    pub line: usize,
}

impl Code {
    /// The line in the lesson file of a line of this code, both from 1.
    pub fn file_line(&self, line: usize) -> usize {
        self.line.saturating_add(line.saturating_sub(1))
    }
}

/// A question whose answer is a number that the next run cell produces.
#[derive(Clone, Debug, PartialEq)]
pub struct Predict {
    pub ask: Vec<Block>,
    /// The unit of the question, of the value of `answer`, and of a number typed without one.
    pub unit: Unit,
    /// The answer is a plain number of which no unit says that it was counted.
    pub plain: bool,
    /// A Rhai expression, evaluated after the cell has run.
    pub answer: Code,
    pub tolerance: Tolerance,
    /// Shown with the answer.
    pub explain: Vec<Block>,
    /// The id of the step whose run answers the question.
    pub cell: String,
}

impl Predict {
    /// Reads a number that is typed.
    ///
    /// # Errors
    /// It is no number of the question's unit, or a part of one where something is counted to the last.
    pub(crate) fn read(&self, typed: &str) -> Result<Quantity, QuantityError> {
        let guess = parse_quantity(typed, self.unit)?;
        let counts = self.unit == Unit::Count && !self.plain && self.tolerance == Tolerance::EXACT;
        if counts && guess.value.fract() != 0.0 {
            let message = format!("{} is no whole number", self.unit.show(guess.value));
            return Err(QuantityError {
                message,
                hint: "something is counted here: type a whole number".to_owned(),
            });
        }
        Ok(guess)
    }

    /// What the answer is, made of times of `clock`, or of none, on devices that are simulated or not.
    pub(crate) fn basis(&self, clock: Option<Clock>, simulated: bool) -> Basis {
        match Basis::of(self.unit, clock, simulated) {
            Basis::Counted if self.plain => Basis::Computed,
            basis => basis,
        }
    }
}

/// A question with choices; at least one is correct.
#[derive(Clone, Debug, PartialEq)]
pub struct Quiz {
    pub ask: Vec<Block>,
    pub choices: Vec<Choice>,
}

/// A choice of a quiz and what is said when it is taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    pub text: Vec<Block>,
    pub correct: bool,
    pub explain: Vec<Block>,
    /// The line in the lesson file.
    pub line: usize,
}

impl Quiz {
    /// Whether more than one choice is to be taken.
    pub(crate) fn takes_several(&self) -> bool {
        self.choices.iter().filter(|c| c.correct).count() > 1
    }

    /// Whether the choices taken (places from 0) are all the correct ones and no other.
    pub fn is_right(&self, taken: &[usize]) -> bool {
        let in_range = taken.iter().all(|&place| place < self.choices.len());
        in_range
            && self.choices.iter().enumerate().all(|(place, choice)| choice.correct == taken.contains(&place))
    }
}

/// A task with its check, an answer that passes and answers that don't.
#[derive(Clone, Debug, PartialEq)]
pub struct Exercise {
    pub points: u32,
    /// Names of what the lesson gave that the learner's code may change in place.
    pub changes: Vec<String>,
    pub starter: Code,
    /// The check that holds: where several are written, the first of them until the devices are known.
    pub check: Code,
    /// All checks, those that name devices first.
    pub checks: Vec<PlacedCheck>,
    /// The answer that is shown, and that later steps go on from.
    pub solution: Code,
    /// Other answers that pass.
    pub others: Vec<Code>,
    pub wrong: Vec<Wrong>,
    /// In the order in which they are given.
    pub hints: Vec<Hint>,
}

/// Sets of devices that a part of a lesson names; of none it applies on all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    pub sets: Vec<String>,
    /// The line in the lesson file.
    pub line: usize,
}

/// A check, and where it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedCheck {
    pub devices: Places,
    pub code: Code,
}

/// An answer that must fail, the words that its verdict's reason must contain, and where it is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    pub because: String,
    pub devices: Places,
    pub code: Code,
}

/// A hint, and its line in the lesson file.
#[derive(Clone, Debug, PartialEq)]
pub struct Hint {
    pub text: Vec<Block>,
    pub line: usize,
}

/// The target of a link or an image of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub target: String,
    pub line: usize,
    pub column: usize,
    pub is_image: bool,
}

impl Lesson {
    /// The file as it was named to the parser.
    pub fn file(&self) -> &str {
        self.source.file()
    }

    /// The step of that id.
    pub fn step(&self, id: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == id)
    }

    /// The points of all exercises.
    pub fn points(&self) -> u32 {
        let points = self.steps.iter().map(|step| match &step.element {
            Some(Element::Exercise(exercise)) => exercise.points,
            _ => 0,
        });
        points.fold(0, u32::saturating_add)
    }

    /// An error at a line and column of the lesson file, with its source line: for faults that show
    /// only when the lesson's code runs.
    pub fn error(
        &self,
        line: usize,
        column: usize,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> LessonError {
        self.source.error(line, column, message, hint)
    }
}

impl Front {
    /// Line and column of a key, else the start of the file.
    pub(super) fn place(&self, key: &str) -> (usize, usize) {
        self.places.iter().find(|(name, ..)| name == key).map_or((1, 1), |&(_, line, column)| (line, column))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_to_the_last_is_whole() {
        let question = |unit, tolerance, plain| Predict {
            ask: Vec::new(),
            unit,
            plain,
            answer: Code { text: "3".into(), line: 1 },
            tolerance,
            explain: Vec::new(),
            cell: String::new(),
        };
        let counted = question(Unit::Count, Tolerance::EXACT, false);
        assert_eq!(counted.read("3").unwrap().value, 3.0);
        assert_eq!(counted.read("7/2").unwrap_err().message, "3.5 is no whole number");
        // How many times as much, and what no unit calls an amount.
        assert_eq!(question(Unit::Count, Tolerance::Absolute(0.2), false).read("3.5").unwrap().value, 3.5);
        assert_eq!(question(Unit::Count, Tolerance::EXACT, true).read("3.5").unwrap().value, 3.5);
        assert_eq!(question(Unit::Milliseconds, Tolerance::EXACT, false).read("3.5").unwrap().value, 3.5);
    }

    #[test]
    fn a_quiz_is_right_only_with_all_the_correct_choices() {
        let choice = |correct| Choice { text: Vec::new(), correct, explain: Vec::new(), line: 1 };
        let quiz = Quiz { ask: Vec::new(), choices: vec![choice(true), choice(false), choice(true)] };
        assert!(quiz.takes_several());
        assert!(quiz.is_right(&[2, 0]));
        for taken in [&[0][..], &[0, 1, 2], &[], &[0, 2, 7]] {
            assert!(!quiz.is_right(taken), "{taken:?}");
        }
    }

    #[test]
    fn a_line_of_code_is_found_in_the_file() {
        let code = Code { text: "a\nb".to_owned(), line: 40 };
        assert_eq!((code.file_line(1), code.file_line(2)), (40, 41));
    }
}

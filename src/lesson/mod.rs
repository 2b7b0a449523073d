//! Lessons: the format of the files, questions, verdicts and progress.
//!
//! A lesson is one Markdown file. [`parse`] turns its bytes into steps or into all the faults it has,
//! [`lint`] names what is wrong with a lesson that parses, [`compare`] holds a prediction against the
//! answer, [`Verdict`] is what came of an attempt, and [`ProgressLog`] keeps what a learner has done.
//! [`attempt`] says what a session is asked for a step; [`verify`] runs all of a lesson in one, [`pack::check::run`] all
//! lessons of a pack. What a learner has done is [`memory`] when a lesson is opened again. Lessons come in packs
//! ([`pack`]), the built-in ones too.

mod answer;
pub mod attempt;
mod body;
mod course;
mod elements;
mod error;
mod errors;
mod fields;
mod format;
mod front;
mod given;
mod info;
pub(crate) mod linear;
mod lint;
mod made_up;
pub mod markdown;
pub mod memory;
pub mod order;
pub mod pack;
mod parse;
mod places;
mod predict;
mod progress;
mod quantity;
mod replayed;
pub(crate) mod runner;
mod source;
mod spoilt;
mod stated;
mod strays;
mod text;
pub mod verify;
pub(crate) mod written;

pub use crate::session::verdict::Verdict;
pub(crate) use answer::Answer;
pub use course::built_in;
pub use error::LessonError;
pub use format::{
    Choice, Code, Element, Exercise, Front, Hint, Lesson, Limits, Link, PlacedCheck, Places, Predict, Quiz,
    Requires, Step, Wrong,
};
pub use lint::lint;
pub use memory::LessonMemory;
pub use parse::{load, parse};
pub use predict::{Basis, Outcome, Tolerance, compare};
pub use progress::{
    Entry, Key, Progress, ProgressLog, Record, Recovery, StepProgress, records, unread_and_records,
};
pub use quantity::{Dimension, Quantity, QuantityError, Unit};
pub(crate) use text::content_id;

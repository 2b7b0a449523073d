//! The answer of a prediction: what a learner is told of it, and what is kept.

use crate::session::protocol::ProbeValue;

use super::format::Predict;
use super::predict::{Basis, Outcome, compare};
use super::progress::Entry;
use super::quantity::Quantity;

/// An answer as a learner is told it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    Compared(Outcome),
    /// There was no guess, or nothing that a number compares with.
    Told(String),
}

impl Answer {
    /// What was measured, for who has guessed or passed the question over.
    ///
    /// # Errors
    /// No number can be held against it, and why.
    pub(crate) fn to(
        question: &Predict,
        guess: Option<&Quantity>,
        value: &ProbeValue,
        basis: Basis,
    ) -> Result<Answer, String> {
        let unit = question.unit;
        let told = match (value, guess) {
            (ProbeValue::Number(answer), Some(guess)) => {
                return compare(guess, *answer, unit, question.tolerance, basis).map(Answer::Compared);
            }
            (ProbeValue::Number(answer), None) => unit.show(*answer),
            (ProbeValue::Bool(answer), _) => answer.to_string(),
            (ProbeValue::Text(answer), _) => answer.clone(),
        };
        Ok(Answer::Told(format!("{}: {told}.", basis.word())))
    }

    /// As it is shown.
    pub(crate) fn sentence(&self) -> &str {
        match self {
            Answer::Compared(outcome) => &outcome.sentence,
            Answer::Told(told) => told,
        }
    }

    /// As it is kept.
    pub(crate) fn entry(&self, basis: Basis) -> Entry {
        match self {
            Answer::Compared(outcome) => {
                Entry::Answer { answer: outcome.answer, hit: outcome.hit, modelled: basis == Basis::Modelled }
            }
            Answer::Told(told) => Entry::Told { answer: told.clone() },
        }
    }
}

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
        let basis = match value {
            // What was counted is whole; how many times as much one is as another was computed.
            ProbeValue::Number(answer) if basis == Basis::Counted && answer.fract() != 0.0 => Basis::Computed,
            _ => basis,
        };
        let told = match (value, guess) {
            (ProbeValue::Number(answer), Some(guess)) => {
                return compare(guess, *answer, unit, question.plain, question.tolerance, basis)
                    .map(Answer::Compared);
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

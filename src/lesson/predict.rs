//! A prediction against what was counted or measured.

use serde::{Deserialize, Serialize};

use crate::base::event::Clock;

use super::quantity::{Dimension, Quantity, QuantityError, Unit, parse_quantity};
use super::text;

/// How far a prediction may be from the answer and still count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Tolerance {
    /// In the question's unit.
    Absolute(f64),
    /// As a fraction of the answer: 0.1 for `10%`.
    Relative(f64),
}

/// Where the answer comes from. It decides the word beside the number, so that a modelled time is never
/// taken for a measured one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    Counted,
    /// What the program computed: a mean, a share, a device's number.
    Computed,
    Measured,
    Modelled,
}

impl Basis {
    /// What a value of a unit is that was made of times of `clock`, or, where that is not known, on devices that are
    /// simulated or not. A ratio of modelled times is modelled.
    pub(crate) fn of(unit: Unit, clock: Option<Clock>, simulated: bool) -> Basis {
        match (unit.dimension(), clock, simulated) {
            (Dimension::Size, ..) => Basis::Counted,
            (_, Some(Clock::Modelled), _) | (Dimension::Time | Dimension::Rate, None, true) => {
                Basis::Modelled
            }
            (_, Some(Clock::Measured), _) | (Dimension::Time | Dimension::Rate, None, false) => {
                Basis::Measured
            }
            (Dimension::Share, ..) => Basis::Computed,
            _ => Basis::Counted,
        }
    }

    /// As a sentence begins with it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Basis::Counted => "Counted",
            Basis::Computed => "Computed",
            Basis::Measured => "Measured",
            Basis::Modelled => "Modelled",
        }
    }
}

/// The comparison that a learner is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub hit: bool,
    /// Both numbers in the question's unit.
    pub guess: f64,
    pub answer: f64,
    /// What is shown beside the numbers.
    pub sentence: String,
}

impl Tolerance {
    /// Only the answer itself.
    pub(crate) const EXACT: Tolerance = Tolerance::Absolute(0.0);

    /// Reads `10%` or a number with an optional unit, such as `2` or `1 KiB`.
    pub fn parse(written: &str, unit: Unit) -> Result<Tolerance, QuantityError> {
        if let Some(percent) = written.trim().strip_suffix('%') {
            let share = parse_quantity(percent, Unit::Percent)?.value;
            return Ok(Tolerance::Relative(share / 100.0));
        }
        let quantity = parse_quantity(written, unit)?;
        if quantity.value < 0.0 {
            return Err(QuantityError {
                message: format!("a tolerance of {written} can't be"),
                hint: "write 0, a positive number, or a share such as 10%".to_owned(),
            });
        }
        Ok(Tolerance::Absolute(quantity.value))
    }

    /// Whether `guess` counts for `answer`. Rounding of the last digits never decides.
    pub fn allows(self, guess: f64, answer: f64) -> bool {
        let allowed = match self {
            Tolerance::Absolute(distance) => distance,
            Tolerance::Relative(share) => share * answer.abs(),
        };
        (guess - answer).abs() <= allowed + answer.abs() * 1e-9
    }

    fn show(self, unit: Unit) -> String {
        match self {
            Tolerance::Absolute(distance) => apart(distance, unit),
            Tolerance::Relative(share) => format!("{} %", text::number(share * 100.0)),
        }
    }
}

/// Compares a committed prediction with the answer, both for a question in `unit`. Of a `plain` number, which no unit
/// calls an amount (the place of a GPU, the value of an element), only the exact one may be right: then it is not said
/// how far off another was.
///
/// `answer` must be finite: where it isn't, the lesson is at fault, not the learner, and the error says so.
pub fn compare(
    guess: &Quantity,
    answer: f64,
    unit: Unit,
    plain: bool,
    tolerance: Tolerance,
    basis: Basis,
) -> Result<Outcome, String> {
    if !answer.is_finite() {
        return Err(format!("the answer of this prediction is {answer}, not a finite number"));
    }
    let hit = tolerance.allows(guess.value, answer);
    let word = basis.word();
    let remark = match hit {
        true => praise(guess.value, answer, unit, tolerance),
        false if plain && tolerance == Tolerance::EXACT => String::new(),
        false => miss(guess, answer, unit, tolerance),
    };
    let said = format!("You said {}. {word}: {}. {remark}", unit.show(guess.value), unit.show(answer));
    let sentence = said.trim_end().to_owned();
    Ok(Outcome { hit, guess: guess.value, answer, sentence })
}

fn praise(guess: f64, answer: f64, unit: Unit, tolerance: Tolerance) -> String {
    if Tolerance::EXACT.allows(guess, answer) {
        return "Exactly right.".to_owned();
    }
    format!("Right: up to {} off counts as right.", tolerance.show(unit))
}

fn miss(guess: &Quantity, answer: f64, unit: Unit, tolerance: Tolerance) -> String {
    let binary = match guess.typed {
        Unit::KB => Some(Unit::KiB),
        Unit::MB => Some(Unit::MiB),
        Unit::GB => Some(Unit::GiB),
        _ => None,
    };
    if let Some(meant) = binary {
        let reread = unit.convert(guess.value, guess.typed).and_then(|number| meant.convert(number, unit));
        if reread.is_some_and(|value| tolerance.allows(value, answer)) {
            let bytes = |unit: Unit| text::number(unit.convert(1.0, Unit::Bytes).unwrap_or(1.0));
            return format!(
                "Right in {meant} ({} bytes each); a {} has {}.",
                bytes(meant),
                guess.typed,
                bytes(guess.typed)
            );
        }
    }
    let direction = if guess.value > answer { "Too high" } else { "Too low" };
    let ratio = (guess.value / answer).max(answer / guess.value);
    if guess.value * answer > 0.0 && ratio.is_finite() && ratio >= 1.5 {
        let rounded = (ratio * 10.0).round() / 10.0;
        return format!("{direction} by a factor of {}.", text::number(rounded));
    }
    format!("{direction} by {}.", apart((guess.value - answer).abs(), unit))
}

/// How far two values are from each other. "10 %" would be read as a tenth of one of them.
fn apart(distance: f64, unit: Unit) -> String {
    match unit {
        Unit::Percent => format!("{} percentage points", text::number(distance)),
        _ => unit.show(distance),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn outcome(typed: &str, answer: f64, unit: Unit, tolerance: &str) -> Outcome {
        let guess = parse_quantity(typed, unit).unwrap();
        let tolerance = Tolerance::parse(tolerance, unit).unwrap();
        compare(&guess, answer, unit, false, tolerance, Basis::Counted).unwrap()
    }

    #[test]
    fn of_a_number_that_is_no_amount_it_is_not_said_how_far_off_a_guess_was() {
        let told = |typed: &str, tolerance: &str| {
            let guess = parse_quantity(typed, Unit::Count).unwrap();
            let tolerance = Tolerance::parse(tolerance, Unit::Count).unwrap();
            compare(&guess, 3.0, Unit::Count, true, tolerance, Basis::Counted).unwrap().sentence
        };
        assert_eq!(told("2", "0"), "You said 2. Counted: 3.");
        assert_eq!(told("3", "0"), "You said 3. Counted: 3. Exactly right.");
        assert_eq!(told("1", "0.5"), "You said 1. Counted: 3. Too low by a factor of 3.");
    }

    #[test]
    fn an_exact_answer_is_said_to_be_exact() {
        let outcome = outcome("4 MiB", 4_194_304.0, Unit::Bytes, "0");
        assert!(outcome.hit);
        assert_eq!(
            outcome.sentence,
            "You said 4,194,304 bytes (4 MiB). Counted: 4,194,304 bytes (4 MiB). Exactly right."
        );
    }

    #[test]
    fn tolerances_are_absolute_or_relative() {
        assert!(outcome("110", 100.0, Unit::Count, "10%").hit);
        assert!(!outcome("111", 100.0, Unit::Count, "10 %").hit);
        assert!(outcome("98", 100.0, Unit::Count, "2").hit);
        assert!(!outcome("97", 100.0, Unit::Count, "2").hit);
        assert!(outcome("5 KiB", 4096.0, Unit::Bytes, "1 KiB").hit);
        let near = outcome("105", 100.0, Unit::Count, "10%");
        assert!(near.sentence.ends_with("Right: up to 10 % off counts as right."));
        assert!(Tolerance::parse("-1", Unit::Count).is_err());
        assert!(Tolerance::parse("-1%", Unit::Count).is_err());
        assert!(Tolerance::parse("about", Unit::Count).is_err());
    }

    #[test]
    fn a_miss_says_how_far_off_it_was() {
        let remark = |typed: &str, answer, unit| outcome(typed, answer, unit, "0").sentence;
        assert!(remark("8 MiB", 4_194_304.0, Unit::Bytes).ends_with("Too high by a factor of 2."));
        assert!(remark("1", 3.0, Unit::Count).ends_with("Too low by a factor of 3."));
        assert!(remark("4", 3.0, Unit::Count).ends_with("Too high by 1."));
        assert!(remark("2", 0.0, Unit::Count).ends_with("Too high by 2."));
        assert!(remark("0", 4096.0, Unit::Bytes).ends_with("Too low by 4,096 bytes (4 KiB)."));
        assert!(remark("-2", 2.0, Unit::Count).ends_with("Too low by 4."));
        assert!(remark("120", 100.0, Unit::Percent).ends_with("Too high by 20 percentage points."));
    }

    #[test]
    fn a_decimal_megabyte_is_told_from_a_binary_one() {
        let outcome = outcome("4 MB", 4_194_304.0, Unit::Bytes, "0");
        assert!(!outcome.hit);
        assert!(
            outcome.sentence.ends_with("Right in MiB (1,048,576 bytes each); a MB has 1,000,000."),
            "{}",
            outcome.sentence
        );
    }

    #[test]
    fn a_modelled_time_is_called_modelled() {
        let guess = parse_quantity("1 ms", Unit::Milliseconds).unwrap();
        let said = |basis| {
            compare(&guess, 1.2, Unit::Milliseconds, false, Tolerance::Relative(0.5), basis).unwrap().sentence
        };
        assert!(said(Basis::Modelled).contains("Modelled: 1.2 ms"));
        assert!(said(Basis::Measured).contains("Measured: 1.2 ms"));
    }

    #[test]
    fn an_answer_that_is_no_number_is_the_lessons_fault() {
        let guess = parse_quantity("1", Unit::Count).unwrap();
        for answer in [f64::NAN, f64::INFINITY] {
            let fault = compare(&guess, answer, Unit::Count, false, Tolerance::EXACT, Basis::Counted);
            assert!(fault.unwrap_err().contains("finite"));
        }
    }

    proptest! {
        #[test]
        fn the_answer_itself_always_hits(answer in -1e12f64..1e12, share in 0.0f64..2.0) {
            prop_assert!(Tolerance::Relative(share).allows(answer, answer));
            prop_assert!(Tolerance::EXACT.allows(answer, answer));
            let outside = answer + (answer.abs() * share).max(1e-3) * 1.01 + 1.0;
            prop_assert!(!Tolerance::Relative(share).allows(outside, answer) || answer.abs() * 1e-9 > 1.0);
        }
    }
}

//! The amount that an explanation begins with: it says what the answer is, and has to be what is measured.

use super::markdown::{Block, plain};
use super::quantity::{Unit, parse_quantity};

/// Numbers that are written as words.
const WORDS: [&str; 13] = [
    "none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
];

/// What an explanation says before its first stop, in the question's unit; `None` where that is no amount alone, such
/// as `Less than 1`.
pub(super) fn stated(explain: &[Block], unit: Unit) -> Option<f64> {
    let text = plain(explain);
    let head = head(&text);
    if let Ok(quantity) = parse_quantity(head, unit) {
        return Some(quantity.value).filter(|_| head.starts_with(|c: char| c.is_ascii_digit()));
    }
    let word = head.strip_suffix(" times").unwrap_or(head).to_lowercase();
    WORDS.iter().position(|known| *known == word).map(|number| number as f64)
}

/// Up to a colon, a bracket, or a stop or comma behind which no digit follows.
fn head(text: &str) -> &str {
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let inside = rest.peek().is_some_and(|(_, next)| next.is_ascii_digit());
        if matches!(c, ':' | ';' | '(' | '!') || matches!(c, '.' | ',') && !inside {
            return text.get(..at).unwrap_or(text).trim();
        }
    }
    text.trim()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson::markdown;

    #[test]
    fn an_amount_before_the_first_stop_is_what_the_answer_is_said_to_be() {
        let said = |text: &str, unit| stated(&markdown::parse(text), unit);
        assert_eq!(said("4,194,304, as before.", Unit::Bytes), Some(4_194_304.0));
        assert_eq!(said("8 MiB: the 4 MiB of `b`, and more.", Unit::Bytes), Some(8_388_608.0));
        assert_eq!(said("1.0: it never moved.", Unit::Count), Some(1.0));
        assert_eq!(said("50 times. Each waits.", Unit::Count), Some(50.0));
        assert_eq!(said("**Three**: one, and two.", Unit::Count), Some(3.0));
        assert_eq!(said("None. It is lost.", Unit::Bytes), Some(0.0));
        for text in
            ["Less than 1: slower.", "Two of them wait.", "GPU 1.", "2 MiB and one block: kept.", "Hundreds."]
        {
            assert_eq!(said(text, Unit::Count), None, "{text}");
        }
    }
}

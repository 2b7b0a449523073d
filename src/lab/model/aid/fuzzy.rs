//! How well a text fits what was typed.

/// The score of a text, the smaller the better: all words must be in it, in any order, letters of both cases alike.
/// The beginning of a word is better than its middle, what is early than what is late, and a number than one that goes
/// on. Letters that do not stand together count where each begins a word.
pub(crate) fn score(text: &str, typed: &str) -> Option<usize> {
    let text: Vec<char> = text.to_lowercase().chars().collect();
    typed.to_lowercase().split_whitespace().map(|word| word_score(&text, word)).sum()
}

fn word_score(text: &[char], word: &str) -> Option<usize> {
    let word: Vec<char> = word.chars().collect();
    let starts_word = |at: usize| {
        at.checked_sub(1).and_then(|i| text.get(i)).is_none_or(|before| !before.is_alphanumeric())
    };
    let is_number = word.iter().all(char::is_ascii_digit);
    let goes_on = |at: usize| is_number && text.get(at + word.len()).is_some_and(char::is_ascii_digit);
    let together = (0..text.len()).filter(|at| text.get(*at..at + word.len()) == Some(word.as_slice()));
    let rank = |at: usize| 100 * usize::from(!starts_word(at)) + 200 * usize::from(goes_on(at));
    if let Some(best) = together.map(|at| rank(at) + at.min(99)).min() {
        return Some(best);
    }
    // `ra` is `run all`: each letter begins a word.
    let mut places = (0..text.len()).filter(|at| starts_word(*at));
    let mut first = None;
    for c in &word {
        let at = places.find(|at| text.get(*at) == Some(c))?;
        first.get_or_insert(at);
    }
    Some(1000 + first?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_of_words_come_first_and_scattered_letters_do_not_count() {
        let order = |typed: &str, texts: [&str; 3]| {
            let mut all: Vec<(usize, &str)> =
                texts.iter().filter_map(|t| score(t, typed).map(|s| (s, *t))).collect();
            all.sort_unstable();
            all.into_iter().map(|(_, t)| t.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(order("run", ["return", "overrun it", "run all"]), ["run all", "overrun it"]);
        assert_eq!(order("ra", ["rerun at once", "extra", "run all"]), ["extra", "rerun at once", "run all"]);
        assert_eq!(order("all run", ["run all", "run", "all"]), ["run all"]);
        assert_eq!(
            order("1", ["10  Last", " 2  1 MiB", " 1  First"]),
            [" 1  First", " 2  1 MiB", "10  Last"]
        );
        assert_eq!(order("RU", ["run", "x", ""]), ["run"]);
        assert_eq!(score("x", ""), Some(0));
    }
}

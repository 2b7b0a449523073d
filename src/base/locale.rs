//! What characters the surroundings can show.

use std::borrow::Cow;

/// Whether the locale has ASCII characters alone. One that is not set says nothing: most such terminals know UTF-8.
pub(crate) fn is_ascii() -> bool {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    locale.is_some_and(|locale| matches!(locale.as_str(), "C" | "POSIX"))
}

/// A text in ASCII characters, each other one by what stands for it in plain text.
pub(crate) fn in_ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut plain = String::new();
    for c in text.chars() {
        if c.is_ascii() { plain.push(c) } else { plain.push_str(stand_in(c)) }
    }
    Cow::Owned(plain)
}

fn stand_in(c: char) -> &'static str {
    match c {
        '…' | '⋯' => "...",
        '─' | '━' | '–' | '—' | '−' | '╌' | '┄' | '╴' | '╶' => "-",
        '│' | '┃' | '╎' | '┆' | '▏' => "|",
        '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' => "+",
        '→' | '▸' | '▶' => "->",
        '←' => "<-",
        '↑' | '▲' => "^",
        '↓' => "v",
        '✓' => "+",
        '✗' | '×' => "x",
        '·' | '•' | '◦' => "*",
        '“' | '”' => "\"",
        '‘' | '’' => "'",
        'µ' | 'μ' => "u",
        '¹' => "^1",
        '²' => "^2",
        '³' => "^3",
        '⁻' => "^-",
        'ᵀ' => "^T",
        '≤' => "<=",
        '≥' => ">=",
        '≠' => "!=",
        '≈' => "~",
        '±' => "+-",
        'π' => "pi",
        '√' => "sqrt",
        '∑' | 'Σ' => "sum",
        '∞' => "inf",
        '█' | '▇' | '▉' | '▊' | '▋' | '■' => "#",
        '▆' | '▅' | '▓' => "%",
        '▄' | '▃' | '▒' => "=",
        '▂' | '▁' | '░' => ".",
        'ä' | 'á' | 'à' => "a",
        'é' | 'è' => "e",
        'ö' => "o",
        'ü' => "u",
        _ => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_a_character_is_ascii_and_ascii_stays() {
        assert!(matches!(in_ascii("1 <= x"), Cow::Borrowed("1 <= x")));
        assert_eq!(in_ascii("5 µs → 2 × 3 … “é” 日"), "5 us -> 2 x 3 ... \"e\" ?");
        for c in ('\u{80}'..='\u{2fff}').filter(|c| !c.is_control()) {
            assert!(stand_in(c).is_ascii() && !stand_in(c).is_empty(), "{c}");
        }
    }
}

//! Text from outside on its way into a picture or onto a terminal.

/// `text` on one line, without control characters, invisible direction marks and what XML cannot hold, cut to `limit`
/// characters with an ellipsis.
pub(super) fn clean(text: &str, limit: usize) -> String {
    let mut kept = text.chars().filter_map(visible);
    let mut out: String = kept.by_ref().take(limit).collect();
    if kept.next().is_some() {
        out.pop();
        out.push('…');
    }
    out.trim().to_string()
}

fn visible(c: char) -> Option<char> {
    match c {
        '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{fdd0}'..='\u{fdef}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' => None,
        c if u32::from(c) & 0xfffe == 0xfffe => None,
        '\u{2028}' | '\u{2029}' => Some(' '),
        c if c.is_control() => Some(' '),
        c => Some(c),
    }
}

/// How many, with thousands apart: `1,234,567`.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_direction_marks_do_not_pass() {
        assert_eq!(clean("a\x1b[31mb\nc\u{202e}d\u{0}", 99), "a [31mb cd");
        assert_eq!(clean("loss µ ∇", 99), "loss µ ∇");
        assert_eq!(clean("\u{ffff}\u{1fffe}x", 99), "x");
        assert_eq!(clean("abcdef", 4), "abc…");
        assert_eq!(clean("abcd", 4), "abcd");
    }

    #[test]
    fn counts_have_thousands() {
        assert_eq!(count(7), "7");
        assert_eq!(count(123), "123");
        assert_eq!(count(1_234_567), "1,234,567");
    }
}

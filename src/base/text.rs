//! Text that came from a script, a pack or a file, made safe to show.

use std::borrow::Cow;

/// Removes what could steer a terminal: escape sequences (CSI, OSC, DCS and their kin, in their 7-bit and
/// 8-bit forms), the C0 and C1 controls except newline and tab, and the characters that override text direction.
///
/// A control string (`ESC ]` … and the like) goes with its content when it is ended; of one that never ends only
/// the introducer goes, so that a stray escape doesn't hide the rest of an output. Text without any of these is
/// borrowed, and the result is free of them: stripping twice is stripping once.
pub fn strip_control(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(is_unsafe) else { return Cow::Borrowed(text) };
    let (clean, mut rest) = text.split_at(first);
    #[expect(clippy::disallowed_methods, reason = "no longer than a text that is there")]
    let mut kept = String::with_capacity(text.len());
    kept.push_str(clean);
    while let Some(c) = rest.chars().next() {
        if is_unsafe(c) {
            rest = skip(rest, c);
        } else {
            let (clean, after) = rest.split_at(rest.find(is_unsafe).unwrap_or(rest.len()));
            kept.push_str(clean);
            rest = after;
        }
    }
    Cow::Owned(kept)
}

/// As [`strip_control`], with the carriage returns, by which what follows goes over its line.
pub(crate) fn strip_but_returns(text: &str) -> Cow<'_, str> {
    if !text.contains('\r') {
        return strip_control(text);
    }
    let parts: Vec<_> = text.split('\r').map(strip_control).collect();
    Cow::Owned(parts.join("\r"))
}

/// The lines as a terminal leaves them, where what follows a carriage return goes over its line from the start; without
/// control characters.
pub(crate) fn written_over(text: &str) -> Cow<'_, str> {
    let text = strip_but_returns(text);
    if !text.contains('\r') {
        return text;
    }
    let mut out = String::new();
    for (i, line) in text.split('\n').enumerate() {
        out.push_str(if i > 0 { "\n" } else { "" });
        let mut shown: Vec<char> = Vec::new();
        for part in line.split('\r') {
            let covered = part.chars().count().min(shown.len());
            shown.splice(..covered, part.chars());
        }
        out.extend(shown);
    }
    Cow::Owned(out)
}

/// Never kept: controls, and the embeddings, overrides and isolates of the bidirectional algorithm.
fn is_unsafe(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// What follows the control, or the sequence it introduces, at the start of `text`.
fn skip(text: &str, control: char) -> &str {
    let rest = text.strip_prefix(control).unwrap_or_default();
    match control {
        '\u{1B}' => skip_escape(rest),
        '\u{9B}' => skip_csi(rest),
        '\u{90}' | '\u{98}' | '\u{9D}' | '\u{9E}' | '\u{9F}' => skip_string(rest),
        _ => rest,
    }
}

fn skip_escape(rest: &str) -> &str {
    let mut after = rest.chars();
    match after.next() {
        Some('[') => skip_csi(after.as_str()),
        Some('P' | 'X' | ']' | '^' | '_') => skip_string(after.as_str()),
        // `ESC ( B` and the like: intermediates, then one final character.
        Some(' '..='~') => {
            let tail = rest.trim_start_matches(|c| matches!(c, ' '..='/'));
            tail.strip_prefix(|c| matches!(c, '0'..='~')).unwrap_or(tail)
        }
        _ => rest,
    }
}

/// Parameters, intermediates and the final character of a control sequence.
fn skip_csi(rest: &str) -> &str {
    let rest = rest.trim_start_matches(|c| matches!(c, '0'..='?'));
    let rest = rest.trim_start_matches(|c| matches!(c, ' '..='/'));
    rest.strip_prefix(|c| matches!(c, '@'..='~')).unwrap_or(rest)
}

/// The content and the end of a control string. Any control but a newline or tab ends it, as does the end of
/// the text; an escape that does not spell the terminator begins a sequence of its own and stays.
fn skip_string(rest: &str) -> &str {
    let Some(end) = rest.find(|c: char| c.is_control() && c != '\n' && c != '\t') else { return rest };
    let (_, tail) = rest.split_at(end);
    match tail.strip_prefix("\u{1B}\\") {
        Some(after) => after,
        None => tail.strip_prefix(['\u{7}', '\u{9C}', '\u{18}', '\u{1A}']).unwrap_or(tail),
    }
}

/// What a link names a heading by, behind `#`, as GitHub does.
pub(crate) fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// The text with its first letter in upper case.
pub(crate) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Line ends as `\n` alone: what is pasted comes with the carriage returns that a terminal's Enter sends.
pub fn line_feeds(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_carriage_return_goes_back_over_its_line() {
        for (text, shown) in [
            ("\rstep 0\rstep 1\rstep 2", "step 2"),
            ("loss 10\rloss 9", "loss 90"),
            ("a\r\nb\r\r\nc\r", "a\nb\nc"),
            ("é漢\r1\nb\u{1B}[31m\rc", "1漢\nc"),
            ("\u{1B}]0;a\nb\u{7}x\ry", "y"),
            ("plain\u{1B}[0m", "plain"),
        ] {
            assert_eq!(written_over(text), shown, "{text:?}");
        }
        assert_eq!(strip_but_returns("\u{1B}[31ma\r\u{1B}[2Kb\r\n"), "a\rb\r\n");
    }

    #[test]
    fn sequences_go_and_text_stays() {
        for (dirty, clean) in [
            ("plain äöü 漢字 \n\t", "plain äöü 漢字 \n\t"),
            ("\u{1B}[1;31mred\u{1B}[0m", "red"),
            ("\u{9B}2Jgone", "gone"),
            ("\u{1B}[?25l\u{1B}[10;20Hat\u{1B}[ q", "at"),
            ("\u{1B}]0;title\u{7}a", "a"),
            ("\u{1B}]8;;http://evil\u{1B}\\link\u{1B}]8;;\u{1B}\\", "link"),
            ("\u{1B}]52;c;cGFzdGU=\u{9C}b", "b"),
            ("\u{9D}52;c;cGFzdGU=\u{7}b", "b"),
            ("\u{1B}P1$r0m\u{1B}\\c", "c"),
            ("\u{1B}_Gf=100;AAAA\u{1B}\\d", "d"),
            ("\u{1B}cfull reset\u{1B}(B", "full reset"),
            ("bell\u{7}, back\u{8}, delete\u{7F}, return\r\n", "bell, back, delete, return\n"),
            ("user\u{202E}gpj.exe\u{2066}!\u{2069}", "usergpj.exe!"),
            ("\u{1B}\u{1B}[31mtwice", "twice"),
            ("\u{1B}]never ended, still read", "never ended, still read"),
            ("\u{1B}]0;ti\u{1B}[31mtle", "tle"),
            ("cut off \u{1B}", "cut off "),
            ("cut off \u{1B}[12;", "cut off "),
            ("\u{1B}[31\u{1B}[0mx", "x"),
        ] {
            assert_eq!(strip_control(dirty), clean, "{dirty:?}");
        }
        assert!(matches!(strip_control("plain\ntext"), Cow::Borrowed(_)));
    }

    #[test]
    fn every_kind_of_line_end_is_one_line_feed() {
        assert_eq!(line_feeds("a\rb\r\nc\nd\r\r\n"), "a\nb\nc\nd\n\n");
        assert!(matches!(line_feeds("a\nb"), Cow::Borrowed(_)));
    }

    #[test]
    fn many_unfinished_strings_take_linear_time() {
        let text = "\u{1B}]\u{9D}".repeat(500_000);
        let start = std::time::Instant::now();
        assert_eq!(strip_control(&text), "");
        assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    }

    proptest! {
        #[test]
        fn nothing_unsafe_is_left(text in "[a-zA-Z0-9\\[\\]PX^_;?\\\\\u{1B}\u{7}\u{9B}\u{9C}\u{9D}\u{90}\r\n\t\u{202E}é漢 ]{0,60}") {
            let clean = strip_control(&text).into_owned();
            prop_assert!(!clean.chars().any(is_unsafe), "{clean:?}");
            prop_assert_eq!(strip_control(&clean), clean.as_str());
            let mut source = text.chars();
            prop_assert!(clean.chars().all(|c| source.any(|s| s == c)), "not a subsequence");
        }

        #[test]
        fn any_text_without_controls_is_untouched(text in "\\PC*") {
            let safe: String = text.chars().filter(|&c| !is_unsafe(c)).collect();
            prop_assert_eq!(strip_control(&safe), safe.as_str());
        }

        #[test]
        fn a_sequence_between_words_leaves_the_words(
            before in "[a-z\n]{0,9}", middle in "[0-9;?]{0,6}[@-~]", after in "[a-z\t]{0,9}",
        ) {
            let text = format!("{before}\u{1B}[{middle}{after}");
            prop_assert_eq!(strip_control(&text), format!("{before}{after}"));
        }
    }
}

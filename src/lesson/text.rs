//! Small helpers on text: control characters, list phrases, content ids.

/// `text` without the characters that steer a terminal or disguise source: C0 and C1 controls (line
/// breaks and tabs stay), DEL, directional overrides and byte-order marks.
pub(super) fn strip(text: &str) -> String {
    text.chars().filter(|&c| !is_stripped(c)).collect()
}

/// A short id made of the content: the same text gives the same id wherever it stands.
pub(crate) fn content_id(prefix: &str, text: &str) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for line in text.trim().lines() {
        for byte in line.trim_end().bytes().chain([b'\n']) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    let short = (hash >> 40) ^ (hash & 0xffff_ffff);
    format!("{prefix}-{:08x}", short & 0xffff_ffff)
}

/// Most characters of an id.
const LONGEST_ID: usize = 64;

/// Why a text is no id, for whoever wrote it.
pub(crate) fn id_rule(id: &str) -> &'static str {
    if !id.is_ascii() {
        return "an id has the letters a to z, digits and hyphens alone, such as first-steps";
    }
    match id.len() > LONGEST_ID {
        true => "an id has at most 64 characters",
        false => "an id is lower-case words joined by hyphens, such as first-steps",
    }
}

/// An id that learners' progress is keyed by: lower-case words joined by hyphens, at most 64 characters.
pub(crate) fn is_id(id: &str) -> bool {
    (1..=LONGEST_ID).contains(&id.len())
        && id.split('-').all(|part| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        })
}

/// `4194304` as `4,194,304`; four significant digits where the number is not whole.
pub(super) fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return grouped(value);
    }
    let magnitude = value.abs().log10().floor();
    if !(-4.0..15.0).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let decimals = (3.0 - magnitude).clamp(0.0, 8.0) as usize;
    let text = format!("{value:.decimals$}");
    if decimals == 0 {
        return grouped(value.round());
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The same with the fraction of a large number, so that half a byte too many is seen as one.
pub(super) fn counted(value: f64) -> String {
    let shown = number(value);
    let fraction = format!("{:.2}", value.abs().fract());
    match fraction.strip_prefix("0.").map(|digits| digits.trim_end_matches('0')) {
        Some(digits) if !digits.is_empty() && (1000.0..1e13).contains(&value.abs()) => {
            format!("{}.{digits}", grouped(value.trunc()))
        }
        _ => shown,
    }
}

fn grouped(whole: f64) -> String {
    let digits = format!("{:.0}", whole.abs());
    let mut out = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if whole < 0.0 {
        out.push('-');
    }
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn is_stripped(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c,
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_controls_are_stripped_and_text_is_kept() {
        assert_eq!(strip("a\u{1b}[2Jb\u{9b}c\u{7}\t\n日\u{202e}x\u{7f}"), "a[2Jbc\t\n日x");
        assert_eq!(strip("👩\u{200d}🔬"), "👩\u{200d}🔬");
    }

    #[test]
    fn a_content_id_depends_on_the_content_alone() {
        let id = content_id("run", "let x = 1;\nx\n");
        assert_eq!(id, content_id("run", "\nlet x = 1;  \nx"));
        assert_ne!(id, content_id("run", "let x = 1;\ny"));
        assert!(is_id(&id), "{id}");
    }

    #[test]
    fn ids_are_lower_case_words() {
        assert!(is_id("where-tensors-live") && is_id("a1"));
        for bad in ["", "A", "a--b", "-a", "a b", "ä", "a_b", &"a".repeat(65)] {
            assert!(!is_id(bad), "{bad}");
        }
        assert!(id_rule(&"a".repeat(65)).contains("64") && id_rule("数据").contains("a to z"));
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(number(4_194_304.0), "4,194,304");
        assert_eq!(number(-1000.0), "-1,000");
        assert_eq!(number(0.0), "0");
        assert_eq!(number(999.0), "999");
        assert_eq!(number(1.25), "1.25");
        assert_eq!(number(12345.678), "12,346");
        assert_eq!(counted(4_194_304.5), "4,194,304.5");
        assert_eq!(counted(12345.999), "12,346");
        assert_eq!(counted(2.5), "2.5");
        assert_eq!(number(0.000_012_3), "1.230e-5");
        assert_eq!(number(2.0 / 3.0), "0.6667");
    }
}

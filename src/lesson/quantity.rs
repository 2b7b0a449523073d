//! Units, and what a learner types as a number.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::text;
use crate::base::near;

/// What a number counts or measures. Sizes, times and rates convert among themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    Count,
    Bytes,
    KiB,
    MiB,
    GiB,
    KB,
    MB,
    GB,
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
    GigabytesPerSecond,
    Percent,
}

/// What units have in common: numbers convert within a dimension, never across.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    Count,
    Size,
    Time,
    Rate,
    Share,
}

struct UnitRow {
    unit: Unit,
    name: &'static str,
    /// Spellings besides the name, in lower case.
    also: &'static [&'static str],
    dimension: Dimension,
    /// How many of the dimension's first unit one of these is.
    factor: f64,
}

const fn row(
    unit: Unit,
    name: &'static str,
    also: &'static [&'static str],
    dimension: Dimension,
    factor: f64,
) -> UnitRow {
    UnitRow { unit, name, also, dimension, factor }
}

/// In the order of `Unit`.
const UNITS: [UnitRow; 14] = {
    use Dimension::*;
    [
        row(Unit::Count, "count", &[], Count, 1.0),
        row(Unit::Bytes, "bytes", &["byte", "b"], Size, 1.0),
        row(Unit::KiB, "KiB", &["kibibytes"], Size, 1024.0),
        row(Unit::MiB, "MiB", &["mebibytes"], Size, 1_048_576.0),
        row(Unit::GiB, "GiB", &["gibibytes"], Size, 1_073_741_824.0),
        row(Unit::KB, "KB", &["kilobytes"], Size, 1e3),
        row(Unit::MB, "MB", &["megabytes"], Size, 1e6),
        row(Unit::GB, "GB", &["gigabytes"], Size, 1e9),
        row(Unit::Nanoseconds, "ns", &["nanoseconds"], Time, 1e-9),
        row(Unit::Microseconds, "us", &["µs", "μs", "microseconds"], Time, 1e-6),
        row(Unit::Milliseconds, "ms", &["milliseconds"], Time, 1e-3),
        row(Unit::Seconds, "s", &["sec", "second", "seconds"], Time, 1.0),
        row(Unit::GigabytesPerSecond, "GB/s", &["gbps"], Rate, 1.0),
        row(Unit::Percent, "%", &["percent"], Share, 1.0),
    ]
};

impl Unit {
    /// The unit of that name, in any case; `us` and `µs` are the same.
    pub fn named(name: &str) -> Option<Unit> {
        let name = name.trim().to_lowercase();
        UNITS
            .iter()
            .find(|row| row.name.to_lowercase() == name || row.also.contains(&name.as_str()))
            .map(|row| row.unit)
    }

    /// The names of all units.
    pub fn names() -> Vec<&'static str> {
        UNITS.iter().map(|row| row.name).collect()
    }

    pub fn name(self) -> &'static str {
        self.row().name
    }

    pub fn dimension(self) -> Dimension {
        self.row().dimension
    }

    /// `value` of this unit in another unit of the same dimension; none across dimensions.
    pub fn convert(self, value: f64, to: Unit) -> Option<f64> {
        if self == to {
            return Some(value);
        }
        (self.dimension() == to.dimension()).then(|| value * (self.row().factor / to.row().factor))
    }

    /// The number with its unit as a person reads it: bytes from 1 KiB on also in the fitting binary
    /// unit, a count as the bare number.
    pub fn show(self, value: f64) -> String {
        let number = match self {
            Unit::Bytes | Unit::Count => text::counted(value),
            _ => text::number(value),
        };
        match self {
            Unit::Count => number,
            Unit::Percent => format!("{number} %"),
            Unit::Bytes if value == 1.0 => "1 byte".to_owned(),
            Unit::Bytes if value.abs() >= 1024.0 => {
                let fitting = [Unit::GiB, Unit::MiB, Unit::KiB]
                    .into_iter()
                    .find(|unit| value.abs() >= unit.row().factor)
                    .unwrap_or(Unit::KiB);
                let scaled = text::number(value / fitting.row().factor);
                let written: f64 = scaled.replace(',', "").parse().unwrap_or(f64::NAN);
                let about = if written * fitting.row().factor == value { "" } else { "about " };
                format!("{number} bytes ({about}{scaled} {})", fitting.name())
            }
            _ => format!("{number} {}", self.name()),
        }
    }

    fn row(self) -> &'static UnitRow {
        const COUNT: &UnitRow = &row(Unit::Count, "count", &[], Dimension::Count, 1.0);
        UNITS.iter().find(|row| row.unit == self).unwrap_or(COUNT)
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A number that a learner or an author typed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantity {
    /// In the unit that was asked for.
    pub value: f64,
    /// The unit that was typed, else the one asked for.
    pub typed: Unit,
}

/// Why a typed number can't be read, and how to write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityError {
    pub message: String,
    pub hint: String,
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.hint)
    }
}

impl std::error::Error for QuantityError {}

/// Reads `4 MiB`, `4*1024*1024`, `2^22`, `~3`, `1e6`, `4,194,304`, `4 194 304` or `3 copies` for a question in `asked`.
///
/// Without a unit the number is in `asked`. Errors name what could not be read: a decimal comma, a unit
/// of another dimension, an unknown unit, something that is no finite number, a negative size or time.
pub(crate) fn parse_quantity(typed: &str, asked: Unit) -> Result<Quantity, QuantityError> {
    let clean = text::strip(typed).replace(['\u{a0}', '\u{202f}'], " ");
    let clean = clean.trim().trim_start_matches(['~', '≈', '=']).trim();
    if clean.is_empty() {
        return Err(error("nothing was typed", format!("type a number, such as {}", example(asked))));
    }
    if clean.chars().count() > 80 {
        return Err(error("this is too long for a number", "type one number"));
    }
    let mut scan = Scan { rest: clean };
    let value = scan.sum()?;
    let typed = unit_of(scan.rest.trim(), asked)?;
    let value = typed.convert(value, asked).unwrap_or(value);
    if !value.is_finite() {
        return Err(error("this is no finite number", "type a smaller number"));
    }
    if value < 0.0 && asked.dimension() != Dimension::Count {
        return Err(error(format!("{} can't be negative", asked.show(value)), "type a number from 0 up"));
    }
    Ok(Quantity { value, typed })
}

fn error(message: impl Into<String>, hint: impl Into<String>) -> QuantityError {
    QuantityError { message: message.into(), hint: hint.into() }
}

fn example(asked: Unit) -> &'static str {
    match asked.dimension() {
        Dimension::Count => "3",
        Dimension::Size => "4 MiB",
        Dimension::Time => "1.5 ms",
        Dimension::Rate => "12 GB/s",
        Dimension::Share => "80 %",
    }
}

/// The unit a word names. In a question that counts, any plain word may name what is counted.
fn unit_of(word: &str, asked: Unit) -> Result<Unit, QuantityError> {
    if word.is_empty() {
        return Ok(asked);
    }
    let Some(unit) = Unit::named(word.trim_end_matches('.')) else {
        let is_word = word.chars().count() > 2 && word.chars().all(char::is_alphabetic);
        if asked == Unit::Count && is_word {
            return Ok(asked);
        }
        let names: Vec<_> =
            UNITS.iter().filter(|row| row.dimension == asked.dimension()).map(|row| row.name).collect();
        return Err(error(
            format!("`{word}` is not a unit"),
            near::suggestion(word, &names, "the units here"),
        ));
    };
    if unit.dimension() == asked.dimension() {
        return Ok(unit);
    }
    let answer_in = match asked {
        Unit::Count => "the question asks for a count".to_owned(),
        _ => format!("the question asks for {asked}"),
    };
    Err(error(
        format!("`{unit}` does not fit: {answer_in}"),
        format!("type a number such as {}", example(asked)),
    ))
}

/// Reads arithmetic from the left: sums of products of powers, no brackets.
struct Scan<'t> {
    rest: &'t str,
}

impl Scan<'_> {
    fn sum(&mut self) -> Result<f64, QuantityError> {
        let mut total = self.product()?;
        loop {
            if self.take(&["+"]) {
                total += self.product()?;
            } else if self.take(&["-", "−"]) {
                total -= self.product()?;
            } else {
                return Ok(total);
            }
        }
    }

    fn product(&mut self) -> Result<f64, QuantityError> {
        let mut total = self.power()?;
        loop {
            if self.take(&["*", "×", "·"]) || self.take_letter_x() {
                total *= self.power()?;
            } else if self.take(&["/"]) {
                total /= self.power()?;
            } else {
                return Ok(total);
            }
        }
    }

    fn power(&mut self) -> Result<f64, QuantityError> {
        let base = self.number()?;
        if self.take(&["**", "^"]) {
            return Ok(base.powf(self.number()?));
        }
        Ok(base)
    }

    /// Takes one of the signs, unless it begins a longer one (`*` before `*`).
    fn take(&mut self, signs: &[&str]) -> bool {
        let rest = self.rest.trim_start();
        let Some(after) = signs.iter().find_map(|sign| rest.strip_prefix(sign)) else {
            return false;
        };
        if signs.contains(&"*") && after.starts_with('*') {
            return false;
        }
        self.rest = after;
        true
    }

    /// `1024 x 1024`: the letter counts as a sign only before a number.
    fn take_letter_x(&mut self) -> bool {
        let after = self.rest.trim_start().strip_prefix(['x', 'X']);
        match after {
            Some(after) if after.trim_start().starts_with(|c: char| c.is_ascii_digit()) => {
                self.rest = after;
                true
            }
            _ => false,
        }
    }

    fn number(&mut self) -> Result<f64, QuantityError> {
        let rest = self.rest.trim_start();
        let (negative, digits) = match rest.strip_prefix(['-', '−']) {
            Some(after) => (true, after.trim_start()),
            None => (false, rest),
        };
        let length = grouped_length(digits).unwrap_or_else(|| number_length(digits));
        let word = digits.get(..length).unwrap_or_default();
        if word.is_empty() {
            return Err(error(
                format!("`{}` is not a number", rest.trim()),
                "write it in digits, such as 3 or 1.5",
            ));
        }
        self.rest = digits.get(word.len()..).unwrap_or_default();
        if word == "0" && self.rest.starts_with(['x', 'X', 'b', 'o']) && self.rest.len() > 1 {
            return Err(error(format!("`{digits}` is not read as a number"), "write it in decimal digits"));
        }
        let value: f64 = without_groups(&word.replace(GROUPING, ""))?
            .parse()
            .map_err(|_| error(format!("`{word}` is not a number"), "write it like 3, 1.5 or 1e6"))?;
        Ok(if negative { -value } else { value })
    }
}

/// What stands between groups of three digits beside a comma.
const GROUPING: [char; 3] = [' ', '\'', '\u{2019}'];

/// How many bytes of `text` belong to a number in groups of three digits, `4 194 304` or `4'194'304`, with its fraction.
fn grouped_length(text: &str) -> Option<usize> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let first = digits(text);
    let mut length = first;
    let group = |from: usize| text.get(from..)?.strip_prefix(GROUPING).filter(|group| digits(group) == 3);
    while let Some(group) = group(length) {
        length = text.len() - group.len() + 3;
    }
    let is_grouped = length > first && (1..=3).contains(&first) && !text.starts_with('0');
    let rest = text.get(length..).unwrap_or_default();
    let fraction = if rest.starts_with('.') { number_length(rest) } else { 0 };
    is_grouped.then_some(length + fraction)
}

/// How many bytes of `text` belong to a number: digits, separators, and an exponent that has digits.
fn number_length(text: &str) -> usize {
    let is_part = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b',' | b'_');
    let mantissa = text.bytes().take_while(|&b| is_part(b)).count();
    if mantissa == 0 {
        return 0;
    }
    let tail = text.get(mantissa..).unwrap_or_default();
    let Some(exponent) = tail.strip_prefix(['e', 'E']) else {
        return mantissa;
    };
    let sign = usize::from(exponent.starts_with(['+', '-']));
    let digits = exponent.bytes().skip(sign).take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return mantissa;
    }
    mantissa + 1 + sign + digits
}

/// The number without its `_` and well-formed `,` groups; a comma that could be a decimal one is refused.
fn without_groups(word: &str) -> Result<String, QuantityError> {
    let word = word.replace('_', "");
    if !word.contains(',') {
        return Ok(word);
    }
    let (whole, fraction) = word.split_once('.').unwrap_or((&word, ""));
    let groups: Vec<&str> = whole.split(',').collect();
    let is_first = |group: &str| (1..=3).contains(&group.len()) && !group.starts_with('0');
    let well_formed = groups.iter().enumerate().all(|(place, group)| match place {
        0 => is_first(group),
        _ => group.len() == 3 && group.bytes().all(|b| b.is_ascii_digit()),
    });
    if well_formed && !fraction.contains(',') {
        return Ok(word.replace(',', ""));
    }
    let point = match word.matches(',').count() {
        1 if !word.contains('.') => word.replace(',', "."),
        _ => word.replace([',', '.'], ""),
    };
    Err(error(
        format!("the comma in `{word}` can't be read"),
        format!("a decimal point is a point: write {point}"),
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(typed: &str, asked: Unit) -> f64 {
        parse_quantity(typed, asked).unwrap_or_else(|e| panic!("{typed}: {e}")).value
    }

    fn refuse(typed: &str, asked: Unit) -> String {
        match parse_quantity(typed, asked) {
            Ok(read) => panic!("{typed} was read as {read:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_learners_type_is_read() {
        for (typed, bytes) in [
            ("4 MiB", 4_194_304.0),
            ("4MiB", 4_194_304.0),
            ("4 mib", 4_194_304.0),
            ("4 MB", 4e6),
            ("~ 4 MB.", 4e6),
            ("4194304", 4_194_304.0),
            ("4,194,304 bytes", 4_194_304.0),
            ("4_194_304", 4_194_304.0),
            ("4 194 304", 4_194_304.0),
            ("4\u{a0}194\u{202f}304 bytes", 4_194_304.0),
            ("4'194'304", 4_194_304.0),
            ("4 \u{d7} 1 048 576", 4_194_304.0),
            ("1 536.5 KiB", 1_573_376.0),
            ("1024*1024*4", 4_194_304.0),
            ("1024 x 1024 × 4 bytes", 4_194_304.0),
            ("2^22", 4_194_304.0),
            ("2**22", 4_194_304.0),
            ("2 * 2**21 B", 4_194_304.0),
            ("1e6", 1e6),
            ("1.5e3 KB", 1.5e6),
            ("0.5 + 3.5 MiB", 4_194_304.0),
            ("1/2 KiB", 512.0),
            ("0", 0.0),
            (".5 KiB", 512.0),
        ] {
            assert_eq!(read(typed, Unit::Bytes), bytes, "{typed}");
        }
        assert_eq!(read("~3", Unit::Count), 3.0);
        assert_eq!(read("3 copies", Unit::Count), 3.0);
        assert_eq!(read("-3", Unit::Count), -3.0);
        assert_eq!(read("250 µs", Unit::Milliseconds), 0.25);
        assert_eq!(read("12 GB/s", Unit::GigabytesPerSecond), 12.0);
        assert_eq!(read("8192 KiB", Unit::MiB), 8.0);
        assert_eq!(read("80 %", Unit::Percent), 80.0);
    }

    #[test]
    fn a_decimal_comma_is_refused_with_the_right_spelling() {
        assert!(refuse("12,5", Unit::Count).contains("write 12.5"));
        assert!(refuse("0,125", Unit::Count).contains("write 0.125"));
        assert!(refuse("1.048.576,0", Unit::Bytes).contains("comma"));
        assert_eq!(read("1,024", Unit::Count), 1024.0);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        assert!(refuse("", Unit::Bytes).contains("nothing was typed"));
        assert!(refuse("many", Unit::Count).contains("`many` is not a number"));
        assert!(refuse("4 MiC", Unit::Bytes).contains("did you mean `MiB`"));
        assert!(refuse("4 ms", Unit::Bytes).contains("asks for bytes"));
        assert!(refuse("4 ms", Unit::Count).contains("asks for a count"));
        assert!(refuse("-1", Unit::Bytes).contains("negative"));
        assert!(refuse("1e999", Unit::Count).contains("finite"));
        assert!(refuse("1/0", Unit::Count).contains("finite"));
        assert!(refuse("0x100", Unit::Count).contains("decimal digits"));
        assert!(refuse("1.2.3", Unit::Count).contains("`1.2.3` is not a number"));
        assert!(refuse("2 MiB + 2 MiB", Unit::Bytes).contains("is not a unit"));
        assert!(refuse("0 125", Unit::Bytes).contains("is not a unit"));
        assert!(refuse("4194 304", Unit::Bytes).contains("is not a unit"));
        assert!(refuse("12 34", Unit::Bytes).contains("is not a unit"));
        assert!(refuse("inf", Unit::Count).contains("not a number"));
        assert!(refuse(&"9".repeat(100), Unit::Count).contains("too long"));
    }

    #[test]
    fn the_table_of_units_is_whole() {
        for row in &UNITS {
            assert_eq!(Unit::named(row.name), Some(row.unit));
            assert_eq!(row.unit.name(), row.name);
            for also in row.also {
                assert_eq!(Unit::named(also), Some(row.unit), "{also}");
            }
        }
    }

    #[test]
    fn sizes_are_shown_in_bytes_and_in_a_fitting_unit() {
        assert_eq!(Unit::Bytes.show(4_194_304.0), "4,194,304 bytes (4 MiB)");
        assert_eq!(Unit::Bytes.show(4_194_303.0), "4,194,303 bytes (about 4 MiB)");
        assert_eq!(Unit::Bytes.show(512.0), "512 bytes");
        assert_eq!(Unit::Bytes.show(1536.0), "1,536 bytes (1.5 KiB)");
        assert_eq!(Unit::Count.show(3.0), "3");
        assert_eq!(Unit::Milliseconds.show(1.5), "1.5 ms");
    }

    proptest! {
        #[test]
        fn any_typed_text_is_read_or_refused(typed in "\\PC{0,90}") {
            for asked in [Unit::Count, Unit::Bytes, Unit::Milliseconds] {
                if let Ok(read) = parse_quantity(&typed, asked) {
                    prop_assert!(read.value.is_finite());
                }
            }
        }

        #[test]
        fn a_plain_number_with_a_unit_reads_back(value in 0.0f64..1e9, row in 1usize..8) {
            let unit = UNITS[row].unit;
            let typed = format!("{value} {unit}");
            let read = parse_quantity(&typed, Unit::Bytes).unwrap().value;
            let meant = value * UNITS[row].factor;
            prop_assert!((read - meant).abs() <= meant * 1e-12);
        }
    }
}

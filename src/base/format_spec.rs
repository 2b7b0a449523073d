//! Python's formats of values: what stands behind the colon of `{x:.4f}`.

use super::error::{Error, Result};
use super::python;

/// Columns and digits that a format may ask for.
const MOST: usize = 1 << 16;

/// What a format shows.
#[derive(Clone, Debug)]
pub enum Formatted {
    Int(i64),
    Float(f64),
    Text(String),
}

/// A format taken apart: `[[fill]align][sign][#][0][width][,][.precision][type]`.
#[derive(Clone, Debug)]
struct Spec {
    fill: char,
    align: Option<char>,
    sign: char,
    alternate: bool,
    width: usize,
    grouping: Option<char>,
    precision: Option<usize>,
    kind: Option<char>,
}

/// The value as `format(value, spec)` of Python has it.
///
/// # Errors
/// The format is none, or not one for such a value.
pub fn format(value: &Formatted, spec: &str) -> Result<String> {
    let parts = Spec::of(spec).ok_or_else(|| {
        let text = format!("Invalid format specifier '{spec}' for object of type '{}'", type_name(value));
        Error::value(text).with_hint("such as `.4f`, `.2%`, `,`, `03d`, `>10`, `.2e`, `x`")
    })?;
    if parts.width.max(parts.precision.unwrap_or(0)) > MOST {
        return Err(Error::value("Too many decimal digits in format string"));
    }
    match (value, parts.kind) {
        (Formatted::Text(text), None | Some('s')) => parts.text(text),
        (Formatted::Int(number), None | Some('b' | 'c' | 'd' | 'n' | 'o' | 'x' | 'X')) => {
            parts.integer(*number)
        }
        (Formatted::Int(number), Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%')) => {
            parts.float(*number as f64)
        }
        (Formatted::Float(number), None | Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'n' | '%')) => {
            parts.float(*number)
        }
        (_, kind) => Err(Error::value(format!(
            "Unknown format code '{}' for object of type '{}'",
            kind.unwrap_or(' '),
            type_name(value)
        ))),
    }
}

fn type_name(value: &Formatted) -> &'static str {
    match value {
        Formatted::Int(_) => "int",
        Formatted::Float(_) => "float",
        Formatted::Text(_) => "str",
    }
}

impl Spec {
    fn of(spec: &str) -> Option<Spec> {
        let mut rest: Vec<char> = spec.chars().rev().collect();
        let is_align = |c: Option<&char>| c.is_some_and(|c| matches!(c, '<' | '>' | '^' | '='));
        let (mut fill, mut align, mut sign) = (' ', None, '-');
        if is_align(rest.len().checked_sub(2).and_then(|at| rest.get(at))) {
            fill = rest.pop()?;
            align = rest.pop();
        } else if is_align(rest.last()) {
            align = rest.pop();
        }
        let filled = fill != ' ' || align.is_some();
        if matches!(rest.last(), Some('+' | '-' | ' ')) {
            sign = rest.pop()?;
        }
        let alternate = next_is(&mut rest, '#');
        if next_is(&mut rest, '0') {
            fill = if filled { fill } else { '0' };
            align = align.or(Some('='));
        }
        let width = digits(&mut rest)?.unwrap_or(0);
        let grouping = if matches!(rest.last(), Some(',' | '_')) { rest.pop() } else { None };
        let precision = if next_is(&mut rest, '.') { Some(digits(&mut rest)??) } else { None };
        let kind = rest.pop();
        let whole = Spec { fill, align, sign, alternate, width, grouping, precision, kind };
        rest.is_empty().then_some(whole)
    }

    fn text(&self, text: &str) -> Result<String> {
        if self.sign != '-' {
            return Err(Error::value("Sign not allowed in string format specifier"));
        }
        if let Some(grouping) = self.grouping {
            return Err(Error::value(format!("Cannot specify '{grouping}' with 's'.")));
        }
        // A zero before the width stands for what numbers are filled with.
        let align = match self.align {
            Some('=') if self.fill == '0' => Some('<'),
            Some('=') => return Err(Error::value("'=' alignment not allowed in string format specifier")),
            align => align,
        };
        let shown: String = text.chars().take(self.precision.unwrap_or(usize::MAX)).collect();
        Ok(Spec { align: align.or(Some('<')), ..self.clone() }.padded("", &shown, ""))
    }

    fn integer(&self, number: i64) -> Result<String> {
        if self.precision.is_some() {
            return Err(Error::value("Precision not allowed in integer format specifier"));
        }
        let size = number.unsigned_abs();
        let (before, shown) = match self.kind {
            Some('b') => ("0b", format!("{size:b}")),
            Some('o') => ("0o", format!("{size:o}")),
            Some('x') => ("0x", format!("{size:x}")),
            Some('X') => ("0X", format!("{size:X}")),
            Some('c') => {
                let character = u32::try_from(number).ok().and_then(char::from_u32);
                let character = character.ok_or_else(|| Error::value("%c arg not in range(0x110000)"))?;
                return Spec { kind: None, ..self.clone() }.text(&character.to_string());
            }
            _ => ("", size.to_string()),
        };
        if let (Some(','), false) = (self.grouping, before.is_empty()) {
            return Err(Error::value(format!("Cannot specify ',' with '{}'.", self.kind.unwrap_or('d'))));
        }
        let before = format!("{}{}", self.sign_of(number < 0), if self.alternate { before } else { "" });
        Ok(self.padded(&before, &shown, ""))
    }

    fn float(&self, number: f64) -> Result<String> {
        let size = number.abs();
        let shown = match self.kind {
            _ if !number.is_finite() => python::float(size),
            Some('f' | 'F') => self.pointed(fixed(size, self.precision.unwrap_or(6))),
            Some('%') => self.pointed(fixed(size * 100.0, self.precision.unwrap_or(6))) + "%",
            Some('e' | 'E') => scientific(size, self.precision.unwrap_or(6), self.alternate),
            Some('g' | 'G' | 'n') => self.general(size, self.precision.unwrap_or(6), false),
            _ => match self.precision {
                Some(precision) => self.general(size, precision, true),
                None => python::float(size),
            },
        };
        let shown = match self.kind {
            Some('E' | 'F' | 'G') => shown.to_uppercase(),
            _ if !number.is_finite() && self.kind == Some('%') => shown + "%",
            _ => shown,
        };
        let end = shown.find(|c: char| !c.is_ascii_digit()).unwrap_or(shown.len());
        let (whole, rest) = shown.split_at_checked(end).unwrap_or((&shown, ""));
        let negative = number.is_sign_negative() && !number.is_nan();
        Ok(self.padded(&self.sign_of(negative), whole, rest))
    }

    /// As many digits as that, with the zeros at their end taken away.
    fn general(&self, size: f64, precision: usize, with_fraction: bool) -> String {
        let precision = precision.max(1);
        let whole = scientific(size, precision - 1, false);
        let (digits, power) = whole.split_once('e').unwrap_or((&whole, "+00"));
        let exponent = power.parse::<i64>().unwrap_or(0);
        let most = precision as i64 - i64::from(with_fraction);
        let is_fixed = (-4..most).contains(&exponent);
        let mut shown = match is_fixed {
            true => fixed(size, usize::try_from(precision as i64 - 1 - exponent).unwrap_or(0)),
            false => digits.to_owned(),
        };
        if self.alternate {
            shown = self.pointed(shown);
        } else if shown.contains('.') {
            shown = shown.trim_end_matches('0').trim_end_matches('.').to_owned();
        }
        match is_fixed {
            true if with_fraction && !shown.contains('.') => shown + ".0",
            true => shown,
            false => format!("{shown}e{power}"),
        }
    }

    /// With a point behind it even where nothing follows, if that is asked for.
    fn pointed(&self, digits: String) -> String {
        if self.alternate && !digits.contains('.') { digits + "." } else { digits }
    }

    fn sign_of(&self, negative: bool) -> String {
        match self.sign {
            _ if negative => "-".into(),
            '-' => String::new(),
            sign => sign.into(),
        }
    }

    /// A sign, digits and what follows them, as wide as asked for.
    fn padded(&self, sign: &str, digits: &str, rest: &str) -> String {
        let align = self.align.unwrap_or('>');
        let every = if matches!(self.kind, Some('b' | 'o' | 'x' | 'X')) { 4 } else { 3 };
        // What is infinite has no digits that would be parted.
        let is_nothing = digits.is_empty();
        let grouped = |digits: &str| match self.grouping {
            Some(grouping) if !is_nothing => in_groups(digits, grouping, every),
            _ => digits.to_owned(),
        };
        let around = sign.chars().count() + rest.chars().count();
        let mut digits = digits.to_owned();
        // Zeros are digits, which are grouped as well.
        if align == '=' && self.fill == '0' {
            while around + grouped(&digits).chars().count() < self.width {
                digits.insert(0, '0');
            }
        }
        let digits = grouped(&digits);
        let missing = self.width.saturating_sub(around + digits.chars().count());
        let fill = |count: usize| self.fill.to_string().repeat(count);
        match align {
            '<' => format!("{sign}{digits}{rest}{}", fill(missing)),
            '^' => format!("{}{sign}{digits}{rest}{}", fill(missing / 2), fill(missing - missing / 2)),
            '=' => format!("{sign}{}{digits}{rest}", fill(missing)),
            _ => format!("{}{sign}{digits}{rest}", fill(missing)),
        }
    }
}

fn next_is(rest: &mut Vec<char>, wanted: char) -> bool {
    let is = rest.last() == Some(&wanted);
    if is {
        rest.pop();
    }
    is
}

/// A number at the front, if one stands there; none where it is too great.
fn digits(rest: &mut Vec<char>) -> Option<Option<usize>> {
    let mut number: Option<usize> = None;
    while let Some(digit) = rest.last().and_then(|c| c.to_digit(10)) {
        rest.pop();
        number = Some(number.unwrap_or(0).saturating_mul(10).saturating_add(digit as usize));
    }
    Some(number)
}

fn fixed(size: f64, precision: usize) -> String {
    format!("{size:.precision$}")
}

/// `1.50e+05`
fn scientific(size: f64, precision: usize, pointed: bool) -> String {
    let text = format!("{size:.precision$e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    let point = if pointed && precision == 0 { "." } else { "" };
    format!("{digits}{point}e{}{:02}", if power < 0 { '-' } else { '+' }, power.abs())
}

fn in_groups(digits: &str, between: char, every: usize) -> String {
    let mut out = String::new();
    let count = digits.chars().count();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (count - at).is_multiple_of(every) {
            out.push(between);
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values as Python writes them, with formats, and what Python 3.11 makes of each.
    const SHOWN: &[(&str, &str, &str)] = &[
        ("1234567.891", "g", "1.23457e+06"),
        ("1234567", "_b", "1_0010_1101_0110_1000_0111"),
        ("123.0", ".4f", "123.0000"),
        ("123456789.0", "%", "12345678900.000000%"),
        ("-inf", ",.2f", "-inf"),
        ("-0.5", ",.2f", "-0.50"),
        ("inf", "^11.1f", "    inf    "),
        ("-inf", ".10g", "-inf"),
        ("abc", "", "abc"),
        ("123456789.0", ".4f", "123456789.0000"),
        ("0.0001", "f", "0.000100"),
        ("-inf", ".4f", "-inf"),
        ("inf", " .1f", " inf"),
        ("1234567.891", "*>9.2f", "1234567.89"),
        ("2.0", "12", "         2.0"),
        ("123456789.0", ".0f", "123456789"),
        ("-0.5", ",", "-0.5"),
        ("7", "_b", "111"),
        ("1e-05", "G", "1E-05"),
        ("nan", ".3g", "nan"),
        ("7", "^7", "   7   "),
        ("1234567", "_", "1_234_567"),
        ("-0.0", "f", "-0.000000"),
        ("7", "X", "7"),
        ("-42", "08b", "-0101010"),
        ("1234567", ",", "1,234,567"),
        ("-0.5", "#g", "-0.500000"),
        ("nan", "f", "nan"),
        ("1e+22", "_.1f", "10_000_000_000_000_000_000_000.0"),
        ("1e-05", ".1", "1e-05"),
        ("99999.5", "e", "9.999950e+04"),
        ("0.5", ".1", "0.5"),
        ("99999.5", "G", "99999.5"),
        ("0.12345", "010.3f", "000000.123"),
        ("99999.5", ".3", "1e+05"),
        ("123.0", "*>9.2f", "***123.00"),
        ("0", "06x", "000000"),
        ("abc", ">8.2", "      ab"),
        ("2.0", "f", "2.000000"),
        ("-inf", "%", "-inf%"),
        ("-0.5", "+.1f", "-0.5"),
        ("1e+22", ".3", "1e+22"),
        ("7", "#x", "0x7"),
        ("99999.5", "12", "     99999.5"),
        ("-0.5", "=+9.1f", "-     0.5"),
        ("0.5", ".10g", "0.5"),
        ("1234567.891", "#g", "1.23457e+06"),
        ("0", "b", "0"),
        ("0", "#010x", "0x00000000"),
        ("2.5", "%", "250.000000%"),
        ("hé", "*^9", "***hé****"),
        ("255", "n", "255"),
        ("0.12345", "G", "0.12345"),
        ("-0.5", "_.1f", "-0.5"),
        ("1e+22", ".2e", "1.00e+22"),
        ("0.5", "e", "5.000000e-01"),
        ("-0.0", "", "-0.0"),
        ("-inf", " .1f", "-inf"),
        ("1e+22", ".1", "1e+22"),
        ("2.0", "", "2.0"),
        ("99999.5", ".0f", "100000"),
        ("123456789.0", "*>9.2f", "123456789.00"),
        ("1234567", "o", "4553207"),
        ("7", "_", "7"),
        ("0.12345", "#g", "0.123450"),
        ("2.5", "12", "         2.5"),
        ("0.12345", ",", "0.12345"),
        ("7", ",.1f", "7.0"),
        ("-0.5", " .1f", "-0.5"),
        ("123.0", "f", "123.000000"),
        ("-inf", ".2e", "-inf"),
        ("-0.5", "*>9.2f", "****-0.50"),
        ("1234567.891", "e", "1.234568e+06"),
        ("nan", ".2%", "nan%"),
        ("0.5", "G", "0.5"),
        ("-0.0", ".2e", "-0.00e+00"),
        ("1e+22", ".0e", "1e+22"),
        ("2.0", ".0f", "2"),
        ("2.0", ".0e", "2e+00"),
        ("1e+22", "#g", "1.00000e+22"),
        ("-42", "+d", "-42"),
        ("0.12345", ".10g", "0.12345"),
        ("hé", "^10", "    hé    "),
        ("1e-05", "_.1f", "0.0"),
        ("123.0", "e", "1.230000e+02"),
        ("tensor", "-<8", "tensor--"),
        ("2.5", ",.2f", "2.50"),
        ("123.0", "n", "123"),
        ("-inf", "G", "-INF"),
        ("2.0", " .1f", " 2.0"),
        ("123456789.0", ".0e", "1e+08"),
        ("0.0001", "#g", "0.000100000"),
        ("-42", "_b", "-10_1010"),
        ("0", "X", "0"),
        ("tensor", ".2", "te"),
        ("99999.5", "#.0f", "100000."),
        ("0", "o", "0"),
        ("-0.5", "", "-0.5"),
        ("1e-05", ".2e", "1.00e-05"),
        ("99999.5", ".10g", "99999.5"),
        ("2.0", ",.2f", "2.00"),
        ("-42", "e", "-4.200000e+01"),
        ("255", "08b", "11111111"),
        ("2.0", ".3", "2.0"),
        ("1234567", "010,", "01,234,567"),
        ("0", "*^7", "***0***"),
        ("7", "010,", "00,000,007"),
        ("1234567", "#b", "0b100101101011010000111"),
        ("2.0", "#g", "2.00000"),
        ("nan", "%", "nan%"),
        ("123456789.0", ".10g", "123456789"),
        ("123.0", "_.1f", "123.0"),
        ("abc", "^10", "   abc    "),
        ("0", ",", "0"),
        ("0.0001", ".4f", "0.0001"),
        ("2.0", ".3g", "2"),
        ("2.5", "g", "2.5"),
        ("2.5", ",", "2.5"),
        ("7", "o", "7"),
        ("-0.0", ".0e", "-0e+00"),
        ("1e-05", " .1f", " 0.0"),
        ("-0.0", ".0f", "-0"),
        ("255", ",", "255"),
        ("1234567", "03d", "1234567"),
        ("-inf", "e", "-inf"),
        ("-0.5", ".1", "-0.5"),
        ("-0.5", "^11.1f", "   -0.5    "),
        ("inf", "", "inf"),
        ("0.12345", ".3", "0.123"),
        ("1e-05", ",", "1e-05"),
        ("hé", "010", "hé00000000"),
        ("0.5", ".0f", "0"),
        ("7", "e", "7.000000e+00"),
        ("hé", "", "hé"),
        ("inf", "_.1f", "inf"),
        ("inf", ",", "inf"),
        ("2.0", "n", "2"),
        ("nan", ",", "nan"),
        ("2.5", "^11.1f", "    2.5    "),
        ("-inf", "*>9.2f", "*****-inf"),
        ("7", "d", "7"),
        ("0.0001", "012,.1f", "00,000,000.0"),
        ("2.0", "010.3f", "000002.000"),
        ("1234567.891", "f", "1234567.891000"),
        ("255", ".2f", "255.00"),
        ("0.12345", "g", "0.12345"),
        ("2.0", "+.1f", "+2.0"),
        ("0.12345", "%", "12.345000%"),
        ("0.5", ",.2f", "0.50"),
        ("-0.0", ".10g", "-0"),
        ("2.0", "%", "200.000000%"),
        ("-0.0", "012,.1f", "-0,000,000.0"),
        ("tensor", "", "tensor"),
        ("1e-05", "12", "       1e-05"),
        ("255", "08,", "0,000,255"),
        ("99999.5", ".4f", "99999.5000"),
        ("0.12345", ".4f", "0.1235"),
        ("123.0", ".2e", "1.23e+02"),
        ("-42", "^7", "  -42  "),
        ("123.0", "+.1f", "+123.0"),
        ("0", "=+6", "+    0"),
        ("255", "#b", "0b11111111"),
        ("-inf", ".2%", "-inf%"),
        ("-0.0", ",", "-0.0"),
        ("0", "<5", "0    "),
        ("tensor", "*^9", "*tensor**"),
        ("123456789.0", "_.1f", "123_456_789.0"),
        ("tensor", "010", "tensor0000"),
        ("0.0001", ".3g", "0.0001"),
        ("hé", ">8.2", "      hé"),
        ("123.0", ".3", "1.23e+02"),
        ("255", "X", "FF"),
        ("-42", "", "-42"),
        ("0", ".2f", "0.00"),
        ("0.12345", ".2e", "1.23e-01"),
        ("1234567.891", ",.2f", "1,234,567.89"),
        ("7", "+d", "+7"),
        ("1e+22", "f", "10000000000000000000000.000000"),
        ("0.12345", "#.0f", "0."),
        ("-42", " d", "-42"),
        ("-0.0", ",.2f", "-0.00"),
        ("2.0", "G", "2"),
        ("nan", "_.1f", "nan"),
        ("1234567.891", ".0e", "1e+06"),
        ("0.0001", " .1f", " 0.0"),
        ("inf", "f", "inf"),
        ("1234567", "b", "100101101011010000111"),
        ("1e-05", ".10g", "1e-05"),
        ("-42", "d", "-42"),
        ("1e+22", "#.0f", "10000000000000000000000."),
        ("nan", "012,.1f", "000000000nan"),
        ("7", "#010x", "0x00000007"),
        ("tensor", ">8.2", "      te"),
        ("123456789.0", "f", "123456789.000000"),
        ("2.5", "_.1f", "2.5"),
        ("0", "^7", "   0   "),
        ("-42", ",", "-42"),
        ("123456789.0", "#g", "1.23457e+08"),
        ("99999.5", "*>9.2f", "*99999.50"),
        ("1234567.891", "%", "123456789.100000%"),
        ("99999.5", "n", "99999.5"),
        ("7", "08,", "0,000,007"),
        ("inf", "G", "INF"),
        ("abc", "-<8", "abc-----"),
        ("1234567", "g", "1.23457e+06"),
        ("0", "#b", "0b0"),
        ("1e-05", ".3", "1e-05"),
        ("1e-05", "<10.2f", "0.00      "),
        ("123.0", ",.2f", "123.00"),
        ("abc", "<10", "abc       "),
        ("1e-05", "", "1e-05"),
        ("-0.0", ".3", "-0.0"),
        ("123456789.0", "012,.1f", "123,456,789.0"),
        ("255", "g", "255"),
        ("1e-05", ".0e", "1e-05"),
        ("0.0001", "n", "0.0001"),
        ("inf", ".2%", "inf%"),
        ("255", "d", "255"),
        ("0.12345", "", "0.12345"),
        ("99999.5", "012,.1f", "00,099,999.5"),
        ("-inf", "#.0f", "-inf"),
        ("-0.0", "+.1f", "-0.0"),
        ("-42", "#010x", "-0x000002a"),
        ("-42", "b", "-101010"),
        ("0", "_b", "0"),
        ("255", "^7", "  255  "),
        ("1234567", "5d", "1234567"),
        ("abc", "*^9", "***abc***"),
        ("1e-05", "=+9.1f", "+     0.0"),
        ("nan", "n", "nan"),
    ];

    #[test]
    fn values_are_formatted_as_python_formats_them() {
        for (value, spec, shown) in SHOWN {
            let value = match (value.parse::<i64>(), value.parse::<f64>()) {
                (Ok(number), _) => Formatted::Int(number),
                (_, Ok(number)) => Formatted::Float(number),
                _ => Formatted::Text((*value).into()),
            };
            let got = format(&value, spec).unwrap_or_else(|error| error.to_string());
            assert_eq!(got, *shown, "{value:?} {spec:?}");
        }
    }

    #[test]
    fn a_format_that_is_none_for_a_value_is_refused() {
        for (value, spec, message) in [
            (Formatted::Float(1.5), "d", "Unknown format code 'd' for object of type 'float'"),
            (Formatted::Text("a".into()), ".2f", "Unknown format code 'f' for object of type 'str'"),
            (Formatted::Text("a".into()), "+", "Sign not allowed in string format specifier"),
            (Formatted::Int(1), ".2", "Precision not allowed in integer format specifier"),
            (Formatted::Int(1), "zz", "Invalid format specifier 'zz' for object of type 'int'"),
            (Formatted::Int(1), "99999999", "Too many decimal digits in format string"),
        ] {
            let error = format(&value, spec).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}

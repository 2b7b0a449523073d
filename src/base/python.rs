//! Numbers and the like as Python prints them, for printed forms that follow PyTorch's.

use super::Scalar;

/// `0.1`, `1.0`, `1e-05`: the shortest digits that give the number back.
pub fn float(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf".into() } else { "-inf".into() };
    }
    let scientific = even(value, format!("{value:e}"));
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(e) if value != 0.0 && !(-4..16).contains(&e) => {
            let sign = if e < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", e.abs())
        }
        Ok(e) => {
            let decimals = digits.split_once('.').map_or(0, |(_, rest)| rest.len()) as i32 - e;
            format!("{value:.*}", decimals.max(1) as usize)
        }
        Err(_) => format!("{value:?}"),
    }
}

/// In the middle between two shortest forms, the one whose last digit is even, as Python has it; Rust takes the larger.
fn even(value: f64, shortest: String) -> String {
    let decimals = shortest.split_once('.').map_or(0, |(_, rest)| rest.find('e').unwrap_or(0));
    let nearest = format!("{value:.decimals$e}");
    if nearest.parse() == Ok(value) { nearest } else { shortest }
}

/// `True` or `False`.
pub fn bool(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

/// A number or bool.
pub fn scalar(value: Scalar) -> String {
    match value {
        Scalar::Bool(b) => bool(b).into(),
        Scalar::Int(i) => i.to_string(),
        Scalar::Float(f) => float(f),
    }
}

/// A text as code: in single quotes, or in double ones where it has single ones alone.
pub(crate) fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c if c.is_ascii_control() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

/// `(1, 2)`, `(1,)`, `()`.
pub(crate) fn tuple<T: ToString>(items: &[T]) -> String {
    match items {
        [one] => format!("({},)", one.to_string()),
        all => format!("({})", all.iter().map(T::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// As Python's: to the nearest decimal, from the middle to the even one.
pub(crate) fn round(value: f64, digits: i64) -> f64 {
    match usize::try_from(digits) {
        Ok(digits) if value.is_finite() => format!("{value:.*}", digits.min(400)).parse().unwrap_or(value),
        Ok(_) => value,
        Err(_) => {
            let unit = 10f64.powi(digits.unsigned_abs().min(400) as i32);
            if unit.is_finite() { (value / unit).round_ties_even() * unit } else { 0.0 * value }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_python_prints_them() {
        for (value, shown) in [
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (0.1, "0.1"),
            (20.0, "20.0"),
            (-0.5, "-0.5"),
            (0.0, "0.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e-10, "1.5e-10"),
            (17.367_385_864_257_812_5, "17.367385864257812"),
            (2.086_585_998_535_156_25, "2.0865859985351562"),
            (5e-324, "5e-324"),
            (9_007_199_254_740_993.0, "9007199254740992.0"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(float(value), shown);
        }
        assert_eq!(tuple(&[3]), "(3,)");
        assert_eq!(tuple(&[3, 4]), "(3, 4)");
        assert_eq!(tuple::<i64>(&[]), "()");
    }
}

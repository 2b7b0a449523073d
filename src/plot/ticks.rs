//! Where the ticks of an axis are and what they say.

use super::axis::{Axis, Bounds, Room, Scale};

/// A tick: its place (0 at the low end of the axis, 1 at the high end) and its text in plain characters.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    pub unit: f64,
    pub label: String,
}

/// The ticks of one axis.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Ticks {
    pub major: Vec<Tick>,
    /// Places of ticks without text.
    pub minor: Vec<f64>,
    /// What every label is to be multiplied with, as a power of ten, …
    exponent: i32,
    /// … and then added to; empty for nothing.
    base: String,
    /// Labels are powers of ten (`1e-3`).
    powers: bool,
}

impl Ticks {
    /// Round ticks for `axis`, about `most` of them (at least 2).
    pub(super) fn new(axis: &Axis, most: usize) -> Self {
        let most = most.max(2);
        match axis.scale {
            Scale::Linear => linear(axis.ends(), axis.whole, most, |value| axis.unit(value)),
            Scale::Log => logarithmic(axis, most),
        }
    }

    /// What stands at the end of the axis: `1e-5`, `+1000000`, or nothing.
    pub(super) fn offset(&self) -> String {
        match (self.exponent, self.base.is_empty()) {
            (0, _) => self.base.clone(),
            (exponent, true) => format!("1e{exponent}"),
            (exponent, false) => format!("1e{exponent} {}", self.base),
        }
    }

    /// The same with typographic signs.
    pub(crate) fn pretty_offset(&self) -> String {
        let base = self.base.replace('-', "\u{2212}");
        match (self.exponent, base.is_empty()) {
            (0, _) => base,
            (exponent, true) => format!("×10{}", superscript(&exponent.to_string())),
            (exponent, false) => {
                format!("×10{} {base}", superscript(&exponent.to_string()))
            }
        }
    }

    /// A label with a true minus, or as ten with a raised exponent.
    pub(crate) fn pretty(&self, label: &str) -> String {
        match label.strip_prefix("1e") {
            Some(exponent) if self.powers => format!("10{}", superscript(exponent)),
            _ => label.replace('-', "\u{2212}"),
        }
    }
}

fn superscript(digits: &str) -> String {
    digits
        .chars()
        .map(|c| match c {
            '-' => '⁻',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            '0' => '⁰',
            '4'..='9' => char::from_u32(u32::from(c) - u32::from('0') + 0x2070).unwrap_or(c),
            other => other,
        })
        .collect()
}

/// `value` with up to `digits` significant digits and no trailing zeros, as `%g` of C except for `1e-5` instead of `1e-05`.
pub(super) fn short(value: f64, digits: usize) -> String {
    if !value.is_finite() || value == 0.0 {
        return format!("{}", value + 0.0).replace("NaN", "nan");
    }
    let places = digits.max(1) - 1;
    let scientific = format!("{value:.places$e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent > places as i32 {
        return format!("{}e{exponent}", trim(mantissa));
    }
    let places = (places as i32 - exponent).max(0) as usize;
    trim(&format!("{value:.places$}")).to_string()
}

fn trim(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// `10^exponent`, correctly rounded.
fn ten_to(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().unwrap_or(1.0)
}

fn decade(value: f64) -> i32 {
    value.abs().log10().floor() as i32
}

/// Ticks at multiples of 1, 2, 2.5 or 5 times a power of ten. `place` maps a number to its place on the axis.
fn linear((low, high): (f64, f64), whole: bool, most: usize, place: impl Fn(f64) -> f64) -> Ticks {
    // Everything happens in units of the power of ten below the largest number, so that no range overflows.
    let decade_of_unit = decade(low.abs().max(high.abs()));
    let unit = ten_to(decade_of_unit);
    let (low, high) = (low / unit, high / unit);
    let mut step = step(high - low, most, whole.then_some(unit));
    let mut multiples = multiples(low, high, step);
    if multiples.len() < 2 && !whole {
        step /= 2.0;
        multiples = self::multiples(low, high, step);
    }
    let values: Vec<f64> = multiples.iter().map(|&i| i as f64 * step).collect();
    let notation = notation(&values, step, decade_of_unit);
    let major = values.iter().map(|&value| Tick { unit: place(value * unit), label: notation.label(value) });
    Ticks {
        major: major.collect(),
        exponent: notation.exponent,
        base: notation.base_text(unit),
        ..Ticks::default()
    }
}

/// The smallest round step of which `span` holds at most `most`; whole in units of `whole`.
fn step(span: f64, most: usize, whole: Option<f64>) -> f64 {
    let least = span / most as f64 * (1.0 - 1e-9);
    let power = ten_to(decade(least));
    [1.0, 2.0, 2.5, 5.0, 10.0, 20.0]
        .into_iter()
        .map(|factor| factor * power)
        .filter(|&step| step >= least)
        .find(|&step| whole.is_none_or(|unit| (step * unit).fract() == 0.0 || step * unit > 1e15))
        .unwrap_or_else(|| whole.map_or(least, |unit| 1.0 / unit).max(least))
}

fn multiples(low: f64, high: f64, step: f64) -> Vec<i64> {
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    // A step is never far smaller than the span; the bound is for ranges at the edge of precision.
    (first..=last).take(64).collect()
}

/// How the labels of one axis are written, in the units of [`linear`].
struct Notation {
    base: f64,
    base_digits: usize,
    exponent: i32,
    factor: f64,
    places: usize,
}

/// matplotlib's `ScalarFormatter`: a power of ten is split off below 1e-5 and from 1e6 on, and a common base where at least
/// four leading digits are the same.
fn notation(values: &[f64], step: f64, decade_of_unit: i32) -> Notation {
    let first = values.first().copied().unwrap_or(0.0);
    let last = values.last().copied().unwrap_or(0.0);
    let largest = first.abs().max(last.abs());
    let span = last - first;
    let mut base = 0.0;
    let mut base_digits = 0;
    if span > 0.0 && first * last > 0.0 && decade(largest) - decade(span) >= 4 {
        let round = ten_to(decade(span) + 1);
        base = (first / round + 1e-6).floor() * round;
        base_digits = usize::try_from(decade(largest) - decade(span)).unwrap_or(17);
    }
    let shown = (first - base).abs().max((last - base).abs());
    let shown_decade = if shown > 0.0 { decade(shown) + decade_of_unit } else { 0 };
    let exponent = if (-4..6).contains(&shown_decade) { 0 } else { shown_decade };
    let factor = ten_to(decade_of_unit - exponent);
    let places = (0..15)
        .find(|&places| {
            let scaled = step * factor * ten_to(places);
            (scaled - scaled.round()).abs() < 1e-6 * scaled.abs()
        })
        .unwrap_or(15);
    Notation { base, base_digits, exponent, factor, places: usize::try_from(places).unwrap_or(15) }
}

impl Notation {
    fn label(&self, value: f64) -> String {
        let places = self.places;
        let text = format!("{:.places$}", (value - self.base) * self.factor);
        match text.strip_prefix('-') {
            Some(digits) if digits.chars().all(|c| matches!(c, '0' | '.')) => digits.to_string(),
            _ => text,
        }
    }

    fn base_text(&self, unit: f64) -> String {
        if self.base == 0.0 {
            return String::new();
        }
        let text = short(self.base * unit, self.base_digits.max(7));
        if text.starts_with('-') { text } else { format!("+{text}") }
    }
}

fn logarithmic(axis: &Axis, most: usize) -> Ticks {
    let (from, to) = axis.ends();
    if axis.twos && to < SHORT_POWER {
        return of_two((from, to), most);
    }
    let first = (from - 1e-9).ceil() as i32;
    let last = (to + 1e-9).floor() as i32;
    let decades = usize::try_from(i64::from(last) - i64::from(first) + 1).unwrap_or(0);
    if decades < 2 {
        return within_a_decade(axis, most);
    }
    let stride = decades.div_ceil(most);
    let place = |exponent: i32| (f64::from(exponent) - from) / (to - from);
    let major = (first..=last)
        .filter(|exponent| exponent.rem_euclid(stride as i32) == 0)
        .map(|exponent| Tick { unit: place(exponent), label: power(exponent) });
    let minor = (first - 1..=last)
        .flat_map(|exponent| (2..10).map(move |digit| (exponent, f64::from(digit))))
        .map(|(exponent, digit)| (f64::from(exponent) + digit.log10() - from) / (to - from))
        .filter(|unit| stride == 1 && (0.0..=1.0).contains(unit));
    Ticks { major: major.collect(), minor: minor.collect(), powers: true, ..Ticks::default() }
}

/// A power of ten as a label: one is written out.
fn power(exponent: i32) -> String {
    if exponent == 0 { "1".into() } else { format!("1e{exponent}") }
}

/// Logarithm of the least number that is not written out as a power of two.
const SHORT_POWER: f64 = 6.0;

/// Sizes that double, as programs have them: ticks where the data are.
fn of_two((from, to): (f64, f64), most: usize) -> Ticks {
    let two = 2f64.log10();
    let (first, last) = ((from / two - 1e-9).ceil() as i32, (to / two + 1e-9).floor() as i32);
    let count = usize::try_from(i64::from(last) - i64::from(first) + 1).unwrap_or(0);
    let stride = count.div_ceil(most).max(1);
    let tick = |power: i32| Tick {
        unit: (f64::from(power) * two - from) / (to - from),
        label: format!("{}", 2f64.powi(power)),
    };
    // The first is one of the data, as the margin before it is less than a doubling or there are many.
    Ticks { major: (first..=last).step_by(stride).map(tick).collect(), ..Ticks::default() }
}

/// Fewer than two powers of ten are in sight: their multiples, or ticks as on a linear axis.
fn within_a_decade(axis: &Axis, most: usize) -> Ticks {
    let (from, to) = axis.ends();
    let first = from.floor() as i32;
    for digits in [&[1.0, 2.0, 5.0][..], &[1.0, 2.0, 3.0, 4.0, 6.0, 8.0][..]] {
        let major: Vec<Tick> = (first..=first + 2)
            .flat_map(|exponent| digits.iter().map(move |&digit: &f64| (exponent, digit)))
            .map(|(exponent, digit)| (f64::from(exponent) + digit.log10(), exponent, digit))
            .filter(|(log, _, _)| (from..=to).contains(log))
            .map(|(log, exponent, digit)| Tick {
                unit: (log - from) / (to - from),
                label: short(digit * ten_to(exponent), 3),
            })
            .collect();
        if (3..=most.max(3)).contains(&major.len()) {
            return Ticks { major, ..Ticks::default() };
        }
    }
    if from < -280.0 {
        // Too small for a linear axis.
        let ends = [(0.0, from), (1.0, to)]
            .map(|(unit, exponent)| Tick { unit, label: short(10f64.powf(exponent), 2) });
        return Ticks { major: ends.to_vec(), ..Ticks::default() };
    }
    let bounds =
        Bounds { low: 10f64.powf(from), high: 10f64.powf(to).min(f64::MAX), whole: false, twos: false };
    let straight = Axis::fit(Scale::Linear, bounds, Room::NONE);
    linear(straight.ends(), false, most, |value| axis.unit(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(scale: Scale, low: f64, high: f64, most: usize) -> Ticks {
        let whole = false;
        let axis = Axis::fit(scale, Bounds { low, high, whole, twos: false }, Room::NONE);
        Ticks::new(&axis, most)
    }

    fn labels(ticks: &Ticks) -> Vec<&str> {
        ticks.major.iter().map(|tick| &tick.label[..]).collect()
    }

    #[test]
    fn linear_ticks_are_round() {
        let plain = ticks(Scale::Linear, 0.0, 2.5, 6);
        assert_eq!(labels(&plain), ["0.0", "0.5", "1.0", "1.5", "2.0", "2.5"]);
        assert_eq!(plain.major[1].unit, 0.2);
        assert_eq!(plain.offset(), "");
        let negative = ticks(Scale::Linear, -0.3, 0.3, 5);
        assert_eq!(labels(&negative), ["-0.2", "0.0", "0.2"]);
        assert_eq!(negative.pretty("-0.2"), "−0.2");
    }

    #[test]
    fn small_and_large_numbers_share_a_power_of_ten() {
        let small = ticks(Scale::Linear, 0.0, 4e-7, 5);
        assert_eq!(labels(&small), ["0", "1", "2", "3", "4"]);
        assert_eq!((&small.offset()[..], &small.pretty_offset()[..]), ("1e-7", "×10⁻⁷"));
        let large = ticks(Scale::Linear, 0.0, 3e6, 6);
        assert_eq!(labels(&large), ["0.0", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0"]);
        assert_eq!(large.offset(), "1e6");
        let thousandths = ticks(Scale::Linear, 0.0, 4e-3, 4);
        assert_eq!(labels(&thousandths), ["0.000", "0.001", "0.002", "0.003", "0.004"]);
    }

    #[test]
    fn equal_leading_digits_are_split_off() {
        let near = ticks(Scale::Linear, 1_000_000.0, 1_000_000.4, 5);
        assert_eq!(labels(&near), ["0.0", "0.1", "0.2", "0.3", "0.4"]);
        assert_eq!(near.offset(), "+1000000");
        let negative = ticks(Scale::Linear, -50_000.2, -50_000.0, 5);
        assert_eq!(negative.offset(), "-50001");
    }

    #[test]
    fn whole_data_gets_whole_ticks() {
        let bounds = Bounds { low: 1.0, high: 4.0, whole: true, twos: false };
        let axis = Axis::fit(Scale::Linear, bounds, Room::BOTH);
        assert_eq!(labels(&Ticks::new(&axis, 9)), ["1", "2", "3", "4"]);
    }

    #[test]
    fn logarithmic_ticks_are_powers_of_ten() {
        let wide = ticks(Scale::Log, 1e-3, 1e1, 9);
        assert_eq!(labels(&wide), ["1e-3", "1e-2", "1e-1", "1", "1e1"]);
        assert_eq!(wide.pretty("1e-3"), "10⁻³");
        assert_eq!(wide.minor.len(), 32);
        let wider = ticks(Scale::Log, 1e-300, 1e300, 6);
        assert!((4..=7).contains(&wider.major.len()), "{wider:?}");
        let narrow = ticks(Scale::Log, 0.15, 0.6, 5);
        assert_eq!(labels(&narrow), ["0.2", "0.3", "0.4", "0.6"]);
        let tiny = ticks(Scale::Log, 1.0, 1.01, 5);
        assert!(tiny.major.len() >= 3, "{tiny:?}");
        assert!(tiny.major.windows(2).all(|pair| pair[0].unit < pair[1].unit));
    }

    #[test]
    fn sizes_that_double_have_ticks_where_they_are() {
        let doubled = |high: f64, most| {
            let bounds = Bounds { low: 16.0, high, whole: true, twos: true };
            Ticks::new(&Axis::fit(Scale::Log, bounds, Room::BOTH), most)
        };
        assert_eq!(labels(&doubled(512.0, 10)), ["16", "32", "64", "128", "256", "512"]);
        assert_eq!(labels(&doubled(512.0, 3)), ["16", "64", "256"]);
    }

    #[test]
    fn numbers_read_as_in_c() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (12.5, "12.5"),
            (1234.5, "1234"),
            (12345.0, "1.234e4"),
            (0.00012, "0.00012"),
            (0.000012, "1.2e-5"),
            (999.96, "1000"),
            (99996.0, "1e5"),
            (f64::MAX, "1.798e308"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ];
        for (value, text) in cases {
            assert_eq!(short(value, 4), text);
        }
    }

    #[test]
    fn every_range_has_ticks_in_sight() {
        for low in [-1e308, -3.0, 0.0, 1e-300, 5e-324, 7.0, 1e15, 1e300] {
            for span in [5e-324, 1e-9, 1.0, 1e10, 1e308] {
                for scale in [Scale::Linear, Scale::Log] {
                    let found = ticks(scale, low, low + span, 6);
                    assert!(found.major.len() <= 20, "{low} {span} {found:?}");
                    for tick in &found.major {
                        assert!((-0.01..=1.01).contains(&tick.unit), "{low} {span} {found:?}");
                        assert!(!tick.label.is_empty() && tick.label.len() < 20);
                    }
                    assert!(!found.major.is_empty(), "{low} {span} {scale:?}");
                }
            }
        }
    }
}

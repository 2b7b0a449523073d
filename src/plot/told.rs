//! A figure in a sentence, for who can't see it.

use std::collections::BTreeSet;

use crate::base::figures::{count, plural};
use crate::base::text::strip_control;

use super::{Figure, Series};

/// Rows that are named; of more, how many there are.
const MOST_ROWS: usize = 3;

impl Figure {
    /// What it shows, in one line: its title, each series with its extent, and what the axis of spans means.
    pub fn told(&self) -> String {
        let title = if self.title.is_empty() { String::new() } else { format!(" \"{}\"", self.title) };
        let shown: Vec<String> = self.series.iter().filter_map(told).collect();
        let has_spans = self.series.iter().any(|series| matches!(series, Series::Spans { .. }));
        let axis = match &self.x_label {
            label if label.is_empty() || !has_spans || shown.is_empty() => String::new(),
            label => format!("; all in {label}"),
        };
        let shown = if shown.is_empty() { "nothing".into() } else { shown.join("; ") };
        strip_control(&format!("figure{title}: {shown}{axis}")).replace('\n', " ")
    }
}

/// A series with values; none of spans that only give rows their places.
fn told(series: &Series) -> Option<String> {
    let of = |kind: &str, label: &str, values: &[f64]| {
        let label = if label.is_empty() { String::new() } else { format!(" {label}") };
        format!("{kind}{label} of {}{}", plural(values.len() as u64, "value", "values"), extent(values))
    };
    Some(match series {
        Series::Line { y, label, .. } => of("line", label, y) + ends(y).as_str(),
        Series::Scatter { y, label, .. } => of("points", label, y),
        Series::Bar { values, label, .. } => of("bars", label, values),
        Series::Hist { values, label, .. } => of("histogram", label, values),
        Series::Image { height, width, .. } => {
            format!("picture of {} x {} pixels", count(*height as u64), width)
        }
        Series::Heatmap { rows, columns, .. } => format!("heat map of {rows} x {columns}"),
        Series::Spans { starts, .. } if starts.is_empty() => return None,
        Series::Spans { rows, starts, lengths, label, .. } => spans(rows, starts, lengths, label),
    })
}

/// `2 spans of copy in cpu to cuda:0, 1.5 long together, from 0.1 to 3`.
fn spans(rows: &[String], starts: &[f64], lengths: &[f64], label: &str) -> String {
    let label = if label.is_empty() { String::new() } else { format!(" of {label}") };
    let mut seen = BTreeSet::new();
    let mut named: Vec<&str> = rows.iter().map(String::as_str).filter(|row| seen.insert(*row)).collect();
    let more = named.len().saturating_sub(MOST_ROWS);
    named.truncate(MOST_ROWS);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let ends = starts.iter().zip(lengths).map(|(start, length)| start + length);
    let edges: Vec<f64> = starts.iter().copied().chain(ends).collect();
    let length: f64 = lengths.iter().filter(|length| length.is_finite()).sum();
    let all = plural(starts.len() as u64, "span", "spans");
    let together = if starts.len() == 1 { "" } else { " together" };
    let (named, length, extent) = (named.join(", "), rounded(length), extent(&edges));
    format!("{all}{label} in {named}{more}, {length} long{together},{extent}")
}

fn extent(values: &[f64]) -> String {
    let finite = || values.iter().copied().filter(|v| v.is_finite());
    match (finite().reduce(f64::min), finite().reduce(f64::max)) {
        (Some(low), Some(high)) => format!(" from {} to {}", rounded(low), rounded(high)),
        _ => String::new(),
    }
}

fn ends(values: &[f64]) -> String {
    match values {
        [first, .., last] => format!(", beginning at {} and ending at {}", rounded(*first), rounded(*last)),
        _ => String::new(),
    }
}

/// Whole numbers as they are, others to four significant digits.
fn rounded(value: f64) -> String {
    if !value.is_finite() || value == value.trunc() && value.abs() < 1e15 {
        return value.to_string();
    }
    let magnitude = value.abs().log10().floor();
    if !(-4.0..15.0).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let decimals = (3.0 - magnitude).max(0.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_told_with_its_extent_and_its_ends() {
        let line = Series::Line { x: vec![], y: vec![2.0 / 3.0, 1.0, 2.0], label: "loss".into() };
        let told = Figure { title: "run".into(), ..line.into() }.told();
        let want =
            "figure \"run\": line loss of 3 values from 0.6667 to 2, beginning at 0.6667 and ending at 2";
        assert_eq!(told, want);
    }

    #[test]
    fn spans_are_told_from_their_beginning_to_their_end_and_empty_ones_are_not() {
        let spans = |rows: &[&str], starts: &[f64], lengths: &[f64], label: &str| Series::Spans {
            rows: rows.iter().map(|row| (*row).to_owned()).collect(),
            starts: starts.to_vec(),
            lengths: lengths.to_vec(),
            texts: Vec::new(),
            label: label.into(),
        };
        let series = vec![
            spans(&["cpu", "cuda:0"], &[], &[], ""),
            spans(&["cpu to cuda:0"], &[0.0], &[0.843_212_3], "copy"),
            spans(&["cpu"], &[], &[], "wait"),
        ];
        let figure = Figure { series, x_label: "ms, modelled".into(), ..Figure::default() };
        let want =
            "figure: 1 span of copy in cpu to cuda:0, 0.8432 long, from 0 to 0.8432; all in ms, modelled";
        assert_eq!(figure.told(), want);
        let rows = ["a", "b", "c", "d", "a"];
        let figure = Figure::from(spans(&rows, &[0.0; 5], &[1.0; 5], ""));
        assert_eq!(figure.told(), "figure: 5 spans in a, b, c and 1 more, 5 long together, from 0 to 1");
        assert_eq!(Figure::default().told(), "figure: nothing");
    }

    #[test]
    fn numbers_have_four_digits() {
        for (value, want) in [
            (1.0 / 3.0, "0.3333"),
            (16_777_216.0, "16777216"),
            (12_345.678, "12346"),
            (0.5, "0.5"),
            (1.234e-7, "1.234e-7"),
            (-2.000_01, "-2"),
        ] {
            assert_eq!(rounded(value), want);
        }
    }
}

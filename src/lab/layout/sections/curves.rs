//! How a device's memory came to be what it is: allocated and reserved bytes over the device's own clock.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::base::event::Clock;
use crate::base::figures;
use crate::lab::layout::sections::marks::joined;
use crate::lab::model::history::curve::{Curve, Stretch};
use crate::lab::model::text;
use crate::lab::model::theme::Theme;

/// How full a row of a column is, in eighths.
const FILL: [&str; 8] = ["▁", "▁", "▂", "▃", "▄", "▅", "▆", "▇"];
/// Columns of the scale.
const SCALE: usize = 9;

/// Rows that [`lines`] gives for a curve of so many.
pub(super) fn height(curve: Option<&Curve>, rows: usize) -> usize {
    if curve.is_some() && rows > 0 { rows + 1 } else { 0 }
}

/// The curve in `rows` rows, and a row that says of when it is and by which clock.
pub(super) fn lines(
    curve: Option<&Curve>,
    clock: Clock,
    width: usize,
    rows: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let Some(curve) = curve.filter(|_| rows > 0) else { return Vec::new() };
    let most = curve.most();
    let columns: Vec<Stretch> = curve.columns(width.saturating_sub(SCALE)).collect();
    let mut out: Vec<Line<'static>> = Vec::with_capacity(rows + 1);
    for row in (0..rows).rev() {
        let scale = if row + 1 == rows { figures::mebibytes(most) } else { String::new() };
        let mut line = Line::from(Span::styled(format!("{}▕", text::right(&scale, SCALE - 1)), theme.dim));
        let cells: Vec<_> = columns.iter().map(|stretch| cell(*stretch, row, rows, most, theme)).collect();
        line.spans.extend(joined(&cells).spans);
        out.push(line);
    }
    out.push(axis(curve, clock, width, theme));
    out
}

/// What stands in a row of a column, from the lowest row 0 on.
fn cell(stretch: Stretch, row: usize, rows: usize, most: u64, theme: &Theme) -> (&'static str, Style) {
    let eighths = |bytes: u64| {
        let all = (rows * 8) as u128;
        let exact = (u128::from(bytes) * all).div_ceil(u128::from(most.max(1)));
        usize::try_from(exact).unwrap_or(usize::MAX).saturating_sub(row * 8)
    };
    match (eighths(stretch.allocated), eighths(stretch.reserved)) {
        (8.., _) => ("█", theme.allocated),
        (held @ 1.., _) => (FILL.get(held).copied().unwrap_or("█"), theme.allocated),
        // Half a row is the least that the pattern can show.
        (_, 4..) => ("▒", theme.cached),
        (_, 1..) if row == 0 => ("▒", theme.cached),
        _ => (" ", theme.free),
    }
}

/// `MiB 0 ns ─── █ allocated ▒ cached, modelled clock ─── 741 µs`
fn axis(curve: &Curve, clock: Clock, width: usize, theme: &Theme) -> Line<'static> {
    let (start, end) = curve.span();
    let (start, end) = (figures::nanos(start), figures::nanos(end));
    let unit = text::right("MiB ", SCALE);
    let sampled = if curve.is_sampled { ", partly its peaks alone" } else { "" };
    let forms = [
        format!(" █ allocated ▒ cached, {} clock{sampled} ", clock.name()),
        format!(" {} clock{sampled} ", clock.name()),
        format!(" {} ", clock.name()),
    ];
    let used = SCALE + text::width(&start) + text::width(&end) + 4;
    let told = forms.into_iter().find(|form| used + text::width(form) <= width).unwrap_or_default();
    let rule = width.saturating_sub(used + text::width(&told)) + 2;
    let rules = |columns: usize| Span::styled("─".repeat(columns), theme.border);
    Line::from(vec![
        Span::styled(format!("{unit}{start} "), theme.dim),
        rules(rule / 2),
        Span::styled(told, theme.dim),
        rules(rule - rule / 2),
        Span::styled(format!(" {end}"), theme.dim),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::model::theme::{Colour, Look};

    #[test]
    fn a_column_is_as_high_as_what_was_held_and_what_is_held_is_never_nothing() {
        let theme = Theme::new(Look { colour: Colour::None, light: false, ascii: false });
        let column = |allocated, reserved| {
            let stretch = Stretch { allocated, reserved };
            [1, 0].map(|row| cell(stretch, row, 2, 160, &theme).0).concat()
        };
        assert_eq!(column(160, 160), "██");
        assert_eq!(column(80, 160), "▒█");
        assert_eq!(column(1, 80), " ▁");
        assert_eq!(column(120, 160), "▄█");
        assert_eq!(column(0, 1), " ▒");
        assert_eq!(column(0, 0), "  ");
    }
}

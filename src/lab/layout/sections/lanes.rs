//! A lane of the timeline: what ran in each of its columns.

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::base::event::Clock;
use crate::lab::layout::sections::marks::joined;
use crate::lab::model::history::timeline::{Lane, Mark, MarkKind};
use crate::lab::model::machine::{Pick, Window};
use crate::lab::model::state::State;
use crate::lab::model::text;
use crate::lab::model::theme::Theme;

/// Stands where a lane was busy, and what it did is not known one by one.
const NOT_SHOWN: &str = "╱";
/// Stands on a lane that is idle, below a time of the axis.
const TICK: &str = "╎";
/// How full a column is, in eighths.
const FILL: [&str; 9] = ["▁", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
/// A copy by how many begin in a column.
const COPIES: [&str; 10] = ["═", "╞", "2", "3", "4", "5", "6", "7", "8", "9"];

/// What a column of a lane holds, in nanoseconds by kind.
#[derive(Clone, Copy, Default)]
struct Column {
    kernels: u64,
    copies: u64,
    waits: u64,
    implicit: u64,
    /// Copies that begin here.
    copied: usize,
    /// An implicit wait begins here.
    flagged: bool,
    picked: bool,
    any: bool,
    /// Of what happened here so much is not known one by one.
    missed: u64,
}

/// A lane's columns; `ticks` are those at which the axis has a time.
pub(super) fn lane_line(
    state: &State,
    lane: &Lane,
    window: Window,
    columns: usize,
    ticks: &[usize],
) -> Line<'static> {
    let theme = &state.theme;
    let mut all = vec![Column::default(); columns];
    for mark in lane.between(window.start, window.end()) {
        let picked = state.machine.pick == Some(Pick::Event(mark.seq));
        spread(mark, window, columns, |column, nanos, first| {
            let Some(column) = all.get_mut(column) else { return };
            let place = match mark.what {
                MarkKind::Launch { .. } => &mut column.kernels,
                MarkKind::Copy { .. } | MarkKind::Collective { .. } => &mut column.copies,
                MarkKind::Wait { implicit: false, .. } | MarkKind::Hold { .. } => &mut column.waits,
                MarkKind::Wait { implicit: true, .. } => &mut column.implicit,
            };
            *place = place.saturating_add(nanos);
            column.any = true;
            column.picked |= picked;
            column.copied += usize::from(first && matches!(mark.what, MarkKind::Copy { .. }));
            column.flagged |= first && matches!(mark.what, MarkKind::Wait { implicit: true, .. });
        });
    }
    for (start, end) in lane.gaps(window.start, window.end()) {
        over(start, end, window, columns, |column, nanos, _| {
            if let Some(column) = all.get_mut(column) {
                column.missed = column.missed.saturating_add(nanos.max(1));
            }
        });
    }
    let worth = (window.length / columns.max(1) as u64).max(1);
    let mut cells: Vec<(&'static str, Style)> =
        all.iter().map(|column| glyph(column, worth, theme)).collect();
    for (cell, column) in ticks.iter().filter_map(|tick| Some((*tick, all.get(*tick)?))) {
        if let Some(cell) = cells.get_mut(cell).filter(|_| !column.any && column.missed == 0) {
            *cell = (TICK, theme.border);
        }
    }
    joined(&cells)
}

/// The nanoseconds of a mark in each column that it touches, and whether it begins there.
fn spread(mark: &Mark, window: Window, columns: usize, tell: impl FnMut(usize, u64, bool)) {
    over(mark.span.start, mark.span.end(), window, columns, tell);
}

/// The nanoseconds of a stretch in each column that it touches, and whether it begins there.
fn over(from: u64, to: u64, window: Window, columns: usize, mut tell: impl FnMut(usize, u64, bool)) {
    let start = from.max(window.start);
    let end = to.min(window.end()).max(start);
    if to < window.start || from >= window.end() || columns == 0 {
        return;
    }
    let length = u128::from(window.length.max(1));
    let column = |moment: u64| {
        let at = u128::from(moment - window.start) * columns as u128 / length;
        usize::try_from(at).unwrap_or(usize::MAX).min(columns - 1)
    };
    let (first, last) = (column(start), column(end.saturating_sub(1).max(start)));
    let border = |column: usize| {
        let ahead = column as u128 * length / columns as u128;
        window.start.saturating_add(u64::try_from(ahead).unwrap_or(u64::MAX))
    };
    for at in first..=last {
        let left = if at == first { start } else { border(at) };
        let right = if at == last { end } else { border(at + 1) };
        tell(at, right.saturating_sub(left), at == first && from >= window.start);
    }
}

fn glyph(column: &Column, worth: u64, theme: &Theme) -> (&'static str, Style) {
    let most = column.kernels.max(column.copies).max(column.waits).max(column.implicit);
    let eighths = |nanos: u64| (u128::from(nanos) * 8 / u128::from(worth)).min(8) as usize;
    let (glyph, style) = match column {
        Column { flagged: true, .. } => ("▲", theme.warn),
        Column { missed, .. } if *missed > most => (NOT_SHOWN, theme.dim),
        Column { any: false, .. } => (" ", theme.free),
        Column { copies, copied, .. }
            if *copies == most && (most > 0 || column.kernels == 0 && column.waits == 0) =>
        {
            (COPIES.get(*copied).copied().unwrap_or("*"), theme.copies)
        }
        Column { kernels, .. } if *kernels == most => {
            (FILL.get(eighths(most)).copied().unwrap_or("█"), theme.allocated)
        }
        Column { implicit, .. } if *implicit == most => ("┄", theme.warn),
        _ => ("─", theme.text),
    };
    if column.picked {
        (glyph, style.add_modifier(Modifier::REVERSED | Modifier::BOLD))
    } else {
        (glyph, style)
    }
}

pub(super) fn cell_line(state: &State, clock: Clock, columns: usize) -> Line<'static> {
    let theme = &state.theme;
    let mut cells = vec![(" ", theme.text); columns];
    let Some(window) = state.machine.window(&state.history, clock) else { return Line::default() };
    for (_, lane) in state.history.timeline().lanes().filter(|(id, _)| id.clock() == clock) {
        for mark in lane.between(window.start, window.end()) {
            if state.is_of_selected_cell(mark.source) {
                spread(mark, window, columns, |column, _, _| {
                    if let Some(cell) = cells.get_mut(column) {
                        *cell = ("•", theme.accent);
                    }
                });
            }
        }
    }
    joined(&cells)
}

/// What the glyphs mean, as much as fits; first that something is not shown, where that is so.
pub(super) fn legend(sampled: bool, width: usize, theme: &Theme) -> Line<'static> {
    let mut entries = [
        (NOT_SHOWN, theme.dim, " not shown"),
        ("▂▅█", theme.allocated, " kernels"),
        ("╞═", theme.copies, " copies, 3 so many"),
        ("─", theme.text, " waits"),
        ("▲┄", theme.warn, " implicit"),
    ];
    if !sampled {
        entries.rotate_left(1);
    }
    let mut spans = vec![Span::raw(" ")];
    let mut used = 1;
    for (glyph, style, label) in entries {
        let taken = text::width(glyph) + text::width(label) + 3;
        if used + taken > width {
            break;
        }
        spans.push(Span::styled(glyph, style));
        spans.push(Span::styled(format!("{label}   "), theme.dim));
        used += taken;
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::event::{Name, Source};
    use crate::base::{DType, Device};

    fn mark(start: u64, nanos: u64) -> Mark {
        let span = crate::base::event::Span { start, nanos, clock: Clock::Modelled };
        let (op, kernel, dtype) = (Name::new("add"), Name::new("map"), DType::Float32);
        let what = MarkKind::Launch { op, kernel, dtype, bytes: 0, flops: 0 };
        Mark { seq: 0, span, what, source: Source::default() }
    }

    fn touched(mark: &Mark, window: Window, columns: usize) -> Vec<(usize, u64, bool)> {
        let mut out = Vec::new();
        spread(mark, window, columns, |column, nanos, first| out.push((column, nanos, first)));
        out
    }

    #[test]
    fn a_mark_is_spread_over_its_columns_to_the_nanosecond() {
        let window = Window { start: 100, length: 40 };
        assert_eq!(touched(&mark(105, 20), window, 4), [(0, 5, true), (1, 10, false), (2, 5, false)]);
        assert_eq!(touched(&mark(90, 15), window, 4), [(0, 5, false)]);
        assert_eq!(touched(&mark(139, 100), window, 4), [(3, 1, true)]);
        assert_eq!(touched(&mark(120, 0), window, 4), [(2, 0, true)]);
        assert!(touched(&mark(140, 5), window, 4).is_empty() && touched(&mark(0, 99), window, 4).is_empty());
        let all = touched(&mark(0, u64::MAX), Window { start: 0, length: u64::MAX }, 3);
        assert_eq!(all.iter().map(|t| t.1).fold(0, u64::saturating_add), u64::MAX);
    }

    #[test]
    fn each_kind_has_a_glyph_of_its_own_and_a_half_idle_column_is_half_full() {
        use crate::lab::model::theme::{Colour, Look, ascii};
        let theme_of = |colour| Theme::new(Look { colour, light: false, ascii: false });
        let theme = theme_of(Colour::None);
        let shown = |column| glyph(&Column { any: true, ..column }, 80, &theme).0;
        assert_eq!(glyph(&Column::default(), 80, &theme).0, " ");
        assert_eq!(shown(Column { kernels: 80, ..Column::default() }), "█");
        assert_eq!(shown(Column { kernels: 40, ..Column::default() }), "▄");
        let copies = |copied| shown(Column { copies: 80, kernels: 10, copied, ..Column::default() });
        assert_eq!([0, 1, 6, 9, 10, 400].map(copies), ["═", "╞", "6", "9", "*", "*"]);
        assert_eq!(shown(Column { kernels: 40, missed: 40, ..Column::default() }), "▄");
        assert_eq!(shown(Column { kernels: 40, missed: 41, ..Column::default() }), NOT_SHOWN);
        assert_eq!(shown(Column { waits: 80, ..Column::default() }), "─");
        assert_eq!(shown(Column { implicit: 80, ..Column::default() }), "┄");
        assert_eq!(shown(Column { implicit: 8, flagged: true, ..Column::default() }), "▲");
        // Without colour, and in ASCII, each is told from the others and from nothing.
        let all = [NOT_SHOWN, "█", "═", "╞", "─", "┄", "▲", TICK, " "];
        let ascii: std::collections::BTreeSet<&str> =
            all.iter().map(|glyph| ascii(glyph).unwrap_or(glyph)).collect();
        assert_eq!(ascii.len(), all.len(), "{ascii:?}");
        // Nor are copies what cached memory is, in the map and the bar.
        assert!(!all.contains(&"▒") && theme_of(Colour::True).copies != theme_of(Colour::True).cached);
        assert_eq!(Device::Cuda(1).to_string(), "cuda:1");
    }
}

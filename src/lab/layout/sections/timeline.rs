//! What ran when: a lane for each thread of the host and each stream, on the clock that timed it.

use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::base::event::Clock;
use crate::base::figures;
use crate::lab::layout::placed::Placed;
use crate::lab::layout::position;
use crate::lab::layout::sections::entry::{Hit, SectionEntry, SectionPlace, Step, Term};
use crate::lab::layout::sections::marks::{is_active, list_title};
use crate::lab::model::history::timeline::{Lane, LaneId, Mark, MarkKind, Track};
use crate::lab::model::machine::{Pick, Section, Window};
use crate::lab::model::state::State;
use crate::lab::model::text;
use crate::lab::model::theme::Theme;

pub(crate) const ENTRY: SectionEntry = SectionEntry {
    section: Section::Timeline,
    rows: |state, _| rows(state).len(),
    fitting: |_, area| fitting(area),
    lay,
    hit,
    step,
    in_pane: SectionPlace::Bottom(|state, area| match wanted(state) {
        0 => 0,
        _ if area.height < LEAST_PANE => 0,
        rows => rows.max(4),
    }),
    on_screen: SectionPlace::Bottom(|state, _| wanted(state).max(6)),
    picked_in_pane: true,
    terms: TERMS,
};

const TERMS: &[Term] = &[
    Term {
        name: "lane",
        means: "What one thread of the host, or one stream of a device, did in its order. A loader's workers are threads \
         of their own. Things on different lanes can run at the same time.",
    },
    Term {
        name: "stream",
        means: "A queue of a device: what is put on it runs in order. Work on different streams may overlap; \
         torch.cuda.Stream() makes one, events order them.",
    },
    Term {
        name: "synchronise",
        means: "To let the host wait until a device has done its work. Kernels are only queued when a line has run: a timing \
         without synchronising measures the queueing.",
    },
    Term {
        name: "⋯ not shown",
        means: "More happened there than is sent one by one: the lane was busy, and what ran is in the counters alone, which \
         are exact.",
    },
    Term {
        name: "height of a column",
        means: "How much of that time the stream was busy: a full column had no gap, a low one was mostly idle.",
    },
];

/// Rows of the pane from which on the lanes stand below the lists.
const LEAST_PANE: u16 = 17;
/// Columns of a lane's name.
const NAME: usize = 11;
/// Stands where a lane was busy, and what it did is not known one by one.
const NOT_SHOWN: &str = "⋯";
/// How full a column is, in eighths.
const FILL: [&str; 9] = ["▁", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// A row of the section, below its title.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TimelineRow {
    /// A clock's name and the stretch that is shown.
    Axis(Clock),
    Lane(LaneId),
    /// Where the selected cell did something.
    Cell(Clock),
}

/// The rows of all clocks.
fn rows(state: &State) -> Vec<TimelineRow> {
    let timeline = state.history.timeline();
    let cell = state.selected_cell().is_some_and(|cell| cell.number.is_some() && !cell.earlier);
    let mut rows = Vec::new();
    for clock in timeline.clocks() {
        rows.push(TimelineRow::Axis(clock));
        rows.extend(
            timeline.lanes().filter(|(id, _)| id.clock() == clock).map(|(id, _)| TimelineRow::Lane(id)),
        );
        if cell {
            rows.push(TimelineRow::Cell(clock));
        }
    }
    rows
}

/// Rows that the section takes if all of it is shown, with its title and its key.
fn wanted(state: &State) -> usize {
    match rows(state).len() {
        0 => 0,
        n => n + 2,
    }
}

/// Rows below the title that are seen at once.
fn fitting(area: Rect) -> usize {
    usize::from(area.height).saturating_sub(if area.height >= 6 { 2 } else { 1 })
}

fn lay(state: &State, top: usize, area: Rect) -> Placed {
    let mut placed = Placed::default();
    let theme = &state.theme;
    let width = usize::from(area.width);
    let rows = rows(state);
    let room = fitting(area);
    let timeline = state.history.timeline();
    let mut note = position(top, room, rows.len());
    let dropped = timeline.dropped();
    if dropped > 0 {
        let shown = timeline.shown();
        let all = figures::count(shown.saturating_add(dropped));
        let dropped = format!("{} of {all} events shown", figures::count(shown));
        note = if note.is_empty() { dropped } else { format!("{dropped}, {note}") };
    }
    placed.put(0, list_title(state, Section::Timeline, "timeline", &note, width));
    if rows.is_empty() {
        placed.put(1, Line::styled(" nothing has run yet; kernels, copies and waits show here", theme.dim));
        return placed;
    }
    let columns = width.saturating_sub(NAME);
    for (y, row) in rows.iter().skip(top).take(room).enumerate() {
        match row {
            TimelineRow::Axis(clock) => placed.put(y + 1, axis(state, *clock, width)),
            TimelineRow::Lane(id) => {
                placed.put(y + 1, name(state, *id));
                if let (Some(lane), Some(window)) =
                    (timeline.lane(*id), state.machine.window(&state.history, id.clock()))
                {
                    placed.put_at(NAME, y + 1, lane_line(state, lane, window, columns));
                }
            }
            TimelineRow::Cell(clock) => {
                let number = state.selected_cell().and_then(|cell| cell.number).unwrap_or_default();
                let label = text::left(&format!(" In [{number}]"), NAME);
                placed.put(y + 1, Line::styled(label, theme.accent));
                placed.put_at(NAME, y + 1, cell_line(state, *clock, columns));
            }
        }
    }
    if area.height >= 6 {
        let last = usize::from(area.height) - 1;
        placed.put(last.min(rows.len() + 1), legend(width, theme));
    }
    placed
}

/// The lane and the moment at a place of the section, where there is one.
fn at(state: &State, top: usize, area: Rect, place: Position) -> Option<(LaneId, Option<Mark>, u64)> {
    let row = usize::from(place.y.checked_sub(area.y)?).checked_sub(1)?;
    let TimelineRow::Lane(id) = rows(state).get(top + row).copied()? else { return None };
    let column = usize::from(place.x.saturating_sub(area.x)).checked_sub(NAME)?;
    let columns = usize::from(area.width).saturating_sub(NAME);
    let window = state.machine.window(&state.history, id.clock())?;
    let moment = |column: usize| {
        let ahead = column as u128 * u128::from(window.length) / columns.max(1) as u128;
        window.start.saturating_add(u64::try_from(ahead).unwrap_or(u64::MAX))
    };
    let (start, end) = (moment(column), moment(column + 1));
    let lane = state.history.timeline().lane(id)?;
    // Of several in a column the longest is meant.
    let touching = lane
        .between(start, end)
        .filter(|mark| mark.span.end() > start || column_of(mark, window, columns) == column);
    let mark = touching.max_by_key(|mark| mark.span.nanos).copied();
    Some((id, mark, start + (end - start) / 2))
}

fn hit(state: &State, area: Rect, place: Position) -> Option<Hit> {
    let (lane, mark, moment) = at(state, state.tops.of(Section::Timeline), area, place)?;
    Some(Hit::Lane(lane, moment, mark.map(|mark| Pick::Event(mark.seq))))
}

/// Chooses the lane above or below.
fn step(state: &State, area: Rect, forward: bool) -> Option<Step> {
    let all: Vec<LaneId> = state.history.timeline().lanes().map(|(id, _)| id).collect();
    let at = state.machine.lane.and_then(|lane| all.iter().position(|id| *id == lane));
    let to = match at {
        None => Some(0),
        Some(at) if forward => Some(at + 1),
        Some(at) => at.checked_sub(1),
    };
    let lane = to.and_then(|to| all.get(to)).copied()?;
    let row = rows(state).iter().position(|row| *row == TimelineRow::Lane(lane));
    let room = fitting(area).max(1);
    let top = state.tops.of(Section::Timeline);
    let top = row.map_or(top, |row| top.clamp((row + 1).saturating_sub(room), row));
    Some(Step { pick: None, lane: Some(lane), top })
}

fn column_of(mark: &Mark, window: Window, columns: usize) -> usize {
    let ahead = u128::from(mark.span.start.saturating_sub(window.start)) * columns as u128;
    usize::try_from(ahead / u128::from(window.length.max(1))).unwrap_or(usize::MAX)
}

/// `modelled  from 1.20 ms ─────── to 3.40 ms, 2.20 ms shown`
fn axis(state: &State, clock: Clock, width: usize) -> Line<'static> {
    let theme = &state.theme;
    let Some(window) = state.machine.window(&state.history, clock) else { return Line::default() };
    let label = text::left(&format!(" {}", clock.name()), NAME);
    let from = figures::nanos(window.start);
    let to = format!("{} shown, to {}", figures::nanos(window.length), figures::nanos(window.end()));
    let to = if NAME + text::width(&from) + text::width(&to) + 4 <= width {
        to
    } else {
        figures::nanos(window.end())
    };
    let rule = width.saturating_sub(NAME + text::width(&from) + text::width(&to) + 2);
    Line::from(vec![
        Span::styled(label, if clock == Clock::Modelled { theme.warn } else { theme.strong }),
        Span::styled(from, theme.dim),
        Span::styled(format!(" {} ", "─".repeat(rule)), theme.border),
        Span::styled(to, theme.dim),
    ])
}

fn name(state: &State, id: LaneId) -> Line<'static> {
    let theme = &state.theme;
    let text = match id.track {
        Track::Host(0) => "host".to_owned(),
        Track::Host(n) => format!("worker {}", n - 1),
        Track::Stream(device, 0) => device.to_string(),
        Track::Stream(device, n) => format!("{device} s{n}"),
    };
    let chosen = is_active(state, Section::Timeline) && state.machine.lane == Some(id);
    let (mark, style) = if chosen { ("▸", theme.selected) } else { (" ", theme.text) };
    Line::from(vec![
        Span::styled(mark, style),
        Span::styled(text::left(&text, NAME - 2), style),
        Span::raw(" "),
    ])
}

/// What a column of a lane holds, in nanoseconds by kind.
#[derive(Clone, Copy, Default)]
struct Column {
    kernels: u64,
    copies: u64,
    waits: u64,
    implicit: u64,
    /// An implicit wait begins here.
    flagged: bool,
    picked: bool,
    any: bool,
    /// What happened here is not known one by one.
    missed: bool,
}

fn lane_line(state: &State, lane: &Lane, window: Window, columns: usize) -> Line<'static> {
    let theme = &state.theme;
    let mut all = vec![Column::default(); columns];
    for mark in lane.between(window.start, window.end()) {
        let picked = state.machine.pick == Some(Pick::Event(mark.seq));
        spread(mark, window, columns, |column, nanos, first| {
            let Some(column) = all.get_mut(column) else { return };
            let place = match mark.what {
                MarkKind::Launch { .. } => &mut column.kernels,
                MarkKind::Copy { .. } => &mut column.copies,
                MarkKind::Wait { implicit: false, .. } => &mut column.waits,
                MarkKind::Wait { implicit: true, .. } => &mut column.implicit,
            };
            *place = place.saturating_add(nanos);
            column.any = true;
            column.picked |= picked;
            column.flagged |= first && matches!(mark.what, MarkKind::Wait { implicit: true, .. });
        });
    }
    for (start, end) in lane.gaps(window.start, window.end()) {
        over(start, end, window, columns, |column, _, _| {
            if let Some(column) = all.get_mut(column) {
                column.missed = true;
            }
        });
    }
    let worth = (window.length / columns.max(1) as u64).max(1);
    let cells: Vec<(&'static str, Style)> = all.iter().map(|column| glyph(column, worth, theme)).collect();
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
        Column { any: false, missed: true, .. } => (NOT_SHOWN, theme.dim),
        Column { any: false, .. } => (" ", theme.free),
        Column { flagged: true, .. } => ("▲", theme.warn),
        Column { copies, .. }
            if *copies == most && (most > 0 || column.kernels == 0 && column.waits == 0) =>
        {
            (if eighths(most) >= 4 { "▒" } else { "░" }, theme.cached)
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

fn cell_line(state: &State, clock: Clock, columns: usize) -> Line<'static> {
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

fn joined(cells: &[(&'static str, Style)]) -> Line<'static> {
    let spans = cells.chunk_by(|a, b| a == b).filter_map(|run| {
        let (glyph, style) = run.first()?;
        Some(Span::styled(glyph.repeat(run.len()), *style))
    });
    Line::from(spans.collect::<Vec<_>>())
}

fn legend(width: usize, theme: &Theme) -> Line<'static> {
    let entries = [
        ("▂▅█", theme.allocated, " kernels, by how busy"),
        ("▒", theme.cached, " copies"),
        ("─", theme.text, " the host waits"),
        ("▲┄", theme.warn, " implicitly"),
        (NOT_SHOWN, theme.dim, " not shown: too much happened"),
    ];
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
        use crate::lab::model::theme::{Colour, Look};
        let theme = Theme::new(Look { colour: Colour::None, light: false, ascii: false });
        let shown = |column| glyph(&Column { any: true, ..column }, 80, &theme).0;
        assert_eq!(glyph(&Column::default(), 80, &theme).0, " ");
        assert_eq!(shown(Column { kernels: 80, ..Column::default() }), "█");
        assert_eq!(shown(Column { kernels: 40, ..Column::default() }), "▄");
        assert_eq!(shown(Column { copies: 80, kernels: 10, ..Column::default() }), "▒");
        assert_eq!(shown(Column { waits: 80, ..Column::default() }), "─");
        assert_eq!(shown(Column { implicit: 80, ..Column::default() }), "┄");
        assert_eq!(shown(Column { implicit: 8, flagged: true, ..Column::default() }), "▲");
        assert_eq!(Device::Cuda(1).to_string(), "cuda:1");
    }
}

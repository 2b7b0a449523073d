//! What ran when: a lane for each thread of the host and each stream, on the clock that timed it.

use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::base::event::Clock;
use crate::base::figures;
use crate::lab::layout::placed::Placed;
use crate::lab::layout::position;
use crate::lab::layout::sections::entry::{Hit, SectionEntry, SectionPlace, Step, Term};
use crate::lab::layout::sections::lanes::{cell_line, lane_line, legend};
use crate::lab::layout::sections::marks::{counted, is_active, list_title};
use crate::lab::model::history::timeline::{LaneId, Mark, Track};
use crate::lab::model::machine::{Pick, Section, Window};
use crate::lab::model::state::State;
use crate::lab::model::text;

pub(crate) const ENTRY: SectionEntry = SectionEntry {
    section: Section::Timeline,
    rows: |state, _| rows(state).len(),
    fitting: |_, area| fitting(area),
    needs: |state, _| wanted(state),
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
        name: "╱ not shown",
        means: "More happened there than is sent one by one, or longer ago than is kept: the lane was busy, and what ran is \
         in the counters alone, which are exact.",
    },
    Term {
        name: "╞═ and numbers",
        means: "A copy, from its beginning on. Where several begin in one column their number stands there, * for more \
         than nine; the key + shows them apart.",
    },
    Term {
        name: "┬ on the axis",
        means: "A time after the first one that is shown, on the clock that the line begins with. On lanes that are idle \
         then it goes on as ╎.",
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
/// Columns from one time of the axis to the next, at least.
const TICKS_APART: usize = 12;

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

/// Why there is no lane.
fn nothing(state: &State) -> String {
    let last =
        state.cells().find(|cell| cell.number == Some(state.work.executions)).filter(|cell| !cell.earlier);
    let Some(cell) = last else {
        return "nothing has run yet; kernels, copies and waits show here".into();
    };
    let text = cell.editor.text();
    let names = text
        .lines()
        .filter_map(|line| line.strip_prefix("fn ")?.split_once('('))
        .map(|(name, _)| name.trim());
    match names.collect::<Vec<_>>().join(", ") {
        names if names.is_empty() => {
            "no device has done anything yet; kernels, copies and waits show here".into()
        }
        names => format!("{names} defined, and not called yet: no device had anything to do"),
    }
}

fn lay(state: &State, top: usize, area: Rect) -> Placed {
    let mut placed = Placed::default();
    let theme = &state.theme;
    let width = usize::from(area.width);
    let rows = rows(state);
    let room = fitting(area);
    let timeline = state.history.timeline();
    let note = position(top, room, rows.len());
    let dropped = timeline.dropped();
    placed.put(0, list_title(state, Section::Timeline, &title(state, width), &note, width));
    if rows.is_empty() {
        placed.put(1, Line::styled(format!(" {}", text::clip(&nothing(state), width)), theme.dim));
        return placed;
    }
    let columns = width.saturating_sub(NAME);
    for (y, row) in rows.iter().skip(top).take(room).enumerate() {
        match row {
            TimelineRow::Axis(clock) => axis(state, &mut placed, y + 1, *clock, width),
            TimelineRow::Lane(id) => {
                placed.put(y + 1, name(state, *id));
                if let (Some(lane), Some(window)) =
                    (timeline.lane(*id), state.machine.window(&state.history, id.clock()))
                {
                    let ticks: Vec<usize> = ticks(window, columns).map(|(at, _)| at).collect();
                    placed.put_at(NAME, y + 1, lane_line(state, lane, window, columns, &ticks));
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
        placed.put(last.min(rows.len() + 1), legend(dropped > 0, width, theme));
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

/// The section's name, with how much of what happened it has.
fn title(state: &State, width: usize) -> String {
    let timeline = state.history.timeline();
    let whose = if state.history.shows_lesson { ", the lesson's own" } else { "" };
    let (shown, dropped) = (timeline.shown(), timeline.dropped());
    if dropped == 0 {
        return format!("timeline{whose}");
    }
    let all = shown.saturating_add(dropped);
    let told = |lead: &String| {
        let room = width.saturating_sub(text::width(lead));
        let whole = format!("{lead}{}", counted(shown, all, ("event", "events"), room));
        (text::width(&whole) + 2 <= width).then_some(whole)
    };
    let leads = [format!("timeline{whose}, "), "timeline, ".into()];
    leads.iter().find_map(told).unwrap_or_else(|| counted(shown, all, ("event", "events"), width))
}

/// The columns of a stretch that have a time, with the nanoseconds from its beginning.
fn ticks(window: Window, columns: usize) -> impl Iterator<Item = (usize, u64)> {
    let length = window.length.max(1);
    let step = round_up(length.saturating_mul(TICKS_APART as u64) / columns.max(1) as u64);
    let column = move |after: u64| {
        usize::try_from(u128::from(after) * columns as u128 / u128::from(length)).unwrap_or(usize::MAX)
    };
    let all = (1..=64u64).map(move |i| step.saturating_mul(i)).map(move |after| (column(after), after));
    all.take_while(move |(at, after)| *at < columns && *after < u64::MAX)
}

/// The next of 1, 2, 5, 10, 20 and so on.
fn round_up(nanos: u64) -> u64 {
    let mut ten = 1u64;
    while ten.saturating_mul(10) <= nanos && ten < u64::MAX / 10 {
        ten *= 10;
    }
    let round = [1, 2, 5, 10].into_iter().map(|n| ten.saturating_mul(n));
    round.into_iter().find(|round| *round >= nanos).unwrap_or(nanos)
}

/// `modelled  361 µs ───┬ +50 µs ───┬ +100 µs ─── 380 µs shown`
fn axis(state: &State, placed: &mut Placed, row: usize, clock: Clock, width: usize) {
    let theme = &state.theme;
    let Some(window) = state.machine.window(&state.history, clock) else { return };
    let columns = width.saturating_sub(NAME);
    let label = text::left(&format!(" {}", clock.name()), NAME);
    placed.put(row, Line::styled(label, if clock == Clock::Modelled { theme.warn } else { theme.strong }));
    placed.put_at(NAME, row, Line::styled("─".repeat(columns), theme.border));
    let from = format!("{} ", figures::nanos(window.start));
    let shown = format!(" {} shown", figures::nanos(window.length));
    let wide = text::width(&from) + text::width(&shown) + TICKS_APART <= columns;
    let last = columns.saturating_sub(if wide { text::width(&shown) } else { 0 });
    let mut free = text::width(&from);
    for (at, after) in ticks(window, columns) {
        let time = format!("┬ +{} ", figures::round_nanos(after));
        if at < free || at + text::width(&time) > last {
            continue;
        }
        free = at + text::width(&time);
        placed.put_at(NAME + at, row, Line::styled(time, theme.dim));
    }
    placed.put_at(NAME, row, Line::styled(from, theme.dim));
    if wide {
        placed.put_at(NAME + last, row, Line::styled(shown, theme.dim));
    }
}

fn name(state: &State, id: LaneId) -> Line<'static> {
    let theme = &state.theme;
    let text = match id.track {
        Track::Host(0) => "host".to_owned(),
        Track::Host(n) => format!("worker {}", n - 1),
        Track::Stream(device, 0) => device.to_string(),
        // With two digits there is no room for more.
        Track::Stream(device, n @ 10..) => format!("{device}/{n}"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_the_axis_are_round_and_far_enough_apart() {
        let window = Window { start: 361_000, length: 380_000 };
        let all: Vec<_> = ticks(window, 100).collect();
        assert_eq!(
            all,
            [
                (13, 50_000),
                (26, 100_000),
                (39, 150_000),
                (52, 200_000),
                (65, 250_000),
                (78, 300_000),
                (92, 350_000)
            ]
        );
        assert!(ticks(Window { start: 0, length: u64::MAX }, 5).count() <= 5);
        assert!(ticks(window, 0).next().is_none());
        assert_eq!([1, 3, 7, 10, 11, 400].map(round_up), [1, 5, 10, 10, 20, 500]);
        let short: Vec<_> = ticks(Window { start: 0, length: 7 }, 200).collect();
        assert_eq!(short.len(), 6, "{short:?}");
    }
}

//! The transfer log, newest first.

use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::base::event::Clock;
use crate::base::figures;
use crate::lab::layout::placed::Placed;
use crate::lab::layout::position;
use crate::lab::layout::sections::entry::{Hit, SectionEntry, SectionPlace, Step, Term, beside};
use crate::lab::layout::sections::marks::{counted, list_title, place, row_mark};
use crate::lab::model::history::records::Transfer;
use crate::lab::model::machine::{Pick, Section};
use crate::lab::model::state::State;
use crate::lab::model::text;

pub(crate) const ENTRY: SectionEntry = SectionEntry {
    section: Section::Transfers,
    rows: |state, _| state.history.transfers().len(),
    fitting,
    needs: |state, area| above(state, area) + state.history.transfers().len().max(1) * rows_each(state, area),
    lay,
    hit,
    step,
    in_pane: SectionPlace::List,
    on_screen: SectionPlace::List,
    picked_in_pane: true,
    terms: TERMS,
};

const TERMS: &[Term] = &[
    Term {
        name: "h2d, d2h, d2d",
        means: "The direction of a copy: h2d is host to device (cpu→cuda:0), d2h device to host (cuda:0→cpu), d2d device to \
         device (cuda:0→cuda:1). events.h2d.bytes counts the same; PyTorch's profiler says Memcpy HtoD, DtoH, DtoD.",
    },
    Term {
        name: "26 of 1,356 shown",
        means: "The log has the newest copies, and of a busy stretch some only. The sums beside 'all' are exact whatever the \
         log has.",
    },
    Term {
        name: "of the lesson's own",
        means: "Copies that a lesson's set-up, its checks and the answers of predictions made. They are in no counter, \
         footer or peak; the key 'lesson's own' shows them apart, and goes back.",
    },
    Term {
        name: "GB/s",
        means: "10^9 bytes a second of this copy. Small copies are slow: their start costs the most.",
    },
    Term {
        name: "pageable",
        means: "Ordinary main memory, which the system may move. The driver copies it through a buffer of its own, and the \
         host waits, non_blocking or not.",
    },
    Term {
        name: "pinned",
        means: "Page-locked main memory: pin_memory(). The device reads it by itself, faster, and with non_blocking = true \
         the host goes on meanwhile.",
    },
    Term {
        name: "waits, async",
        means: "Whether the host was held until the copy had ended (blocking), or went on (non_blocking from pinned memory).",
    },
];

/// Columns of a transfer in one row, but for those of its direction and the clock's name.
const ONE_ROW: usize = 52;
/// With so many more, its cell is called by its whole name.
const NAMED: usize = 5;
/// Columns that a place of the lesson's own takes more: `prediction of In [12]`.
const LONG_PLACE: usize = 14;
/// With so many more, the columns stand farther apart.
const ROOMY: usize = 12;
/// Columns of a clock's name, where times are of both.
const CLOCK: usize = 8;
/// The fewest columns of a direction.
const WAY: usize = 14;
/// Rows of an area from which on the sums may take several.
const TALL: u16 = 8;
const SUMS: usize = 3;

/// Columns of the longest direction.
fn way_columns(state: &State) -> usize {
    let ways = state.history.directions().map(|(from, to, _)| text::width(&figures::way(from, to)));
    ways.max().unwrap_or(WAY).max(WAY)
}

/// Both clocks have timed something: each row says which.
fn is_mixed(state: &State) -> bool {
    let history = &state.history;
    !history.all_timed_by(Clock::Modelled) && !history.all_timed_by(Clock::Measured)
}

/// Columns that a transfer needs in one row.
fn needed(state: &State) -> usize {
    let clock = if is_mixed(state) { CLOCK } else { 0 };
    let place = if state.history.shows_lesson { LONG_PLACE } else { 0 };
    ONE_ROW + way_columns(state) + clock + place
}

/// Rows of one transfer.
fn rows_each(state: &State, area: Rect) -> usize {
    if usize::from(area.width) >= needed(state) { 1 } else { 2 }
}

/// Rows above the transfers: the title and the sums.
fn above(state: &State, area: Rect) -> usize {
    1 + totals(state, area).len()
}

/// Transfers that fit an area.
fn fitting(state: &State, area: Rect) -> usize {
    usize::from(area.height).saturating_sub(above(state, area)) / rows_each(state, area)
}

/// The transfers in sight.
fn picks(state: &State, top: usize, area: Rect) -> Vec<Pick> {
    let newest = state.history.transfers().newest().skip(top).take(fitting(state, area));
    newest.map(|transfer| Pick::Event(transfer.seq)).collect()
}

fn hit(state: &State, area: Rect, at: Position) -> Option<Hit> {
    let row = usize::from(at.y - area.y);
    let number = row.checked_sub(above(state, area)).map(|row| row / rows_each(state, area))?;
    picks(state, state.tops.of(Section::Transfers), area).get(number).copied().map(Hit::Pick)
}

fn step(state: &State, area: Rect, forward: bool) -> Option<Step> {
    let last = state.history.transfers().len().saturating_sub(fitting(state, area));
    let list = |top| picks(state, top, area);
    beside(list, state.machine.pick, state.tops.of(Section::Transfers).min(last), last, forward)
}

fn lay(state: &State, top: usize, area: Rect) -> Placed {
    let mut placed = Placed::default();
    let theme = &state.theme;
    let width = usize::from(area.width);
    let log = state.history.transfers();
    let room = fitting(state, area);
    // Where all times are of one clock the title says which; else each row does.
    let modelled = !log.is_empty() && state.history.all_timed_by(Clock::Modelled);
    let whose = if state.history.shows_lesson { " of the lesson's own" } else { "" };
    let clock = if modelled { ", modelled" } else { "" };
    let all: u64 = state.history.directions().map(|(.., way)| way.count).fold(0, u64::saturating_add);
    let left = width.saturating_sub(text::width(whose) + text::width(clock));
    let name = counted(log.len() as u64, all, ("transfer", "transfers"), left);
    let name = format!("{name}{whose}{clock}");
    placed.put(0, list_title(state, Section::Transfers, &name, &position(top, room, log.len()), width));
    let totals = totals(state, area);
    let first = 1 + totals.len();
    for (y, line) in totals.into_iter().enumerate() {
        placed.put(1 + y, line);
    }
    if log.is_empty() {
        placed.put(first, Line::styled(" none yet; copies show here", theme.dim));
        return placed;
    }
    let columns =
        RowColumns { way: way_columns(state), width, mixed: is_mixed(state), needed: needed(state) };
    let lines = log.newest().skip(top).take(room).flat_map(|transfer| rows(state, transfer, &columns));
    for (y, line) in lines.enumerate() {
        placed.put(y + first, line);
    }
    placed
}

/// The sums by direction, which are exact whatever the log has.
fn totals(state: &State, area: Rect) -> Vec<Line<'static>> {
    let (width, most) = (usize::from(area.width), if area.height >= TALL { SUMS } else { 1 });
    let mut parts: Vec<String> = Vec::new();
    for (from, to, all) in state.history.directions() {
        let way = figures::way(from, to);
        parts.push(format!("{way} ×{} {}", figures::count(all.count), figures::bytes(all.bytes)));
    }
    let mut lines: Vec<String> = Vec::new();
    let mut left_out = 0;
    for part in parts {
        // Room is kept for the note on those left out.
        let room = |line: &str| text::width(line) + 3 + text::width(&part) + 4 <= width;
        let is_full = lines.len() >= most;
        match lines.last_mut() {
            None => lines.push(format!(" all: {part}")),
            Some(line) if left_out == 0 && room(line) => *line += &format!(" · {part}"),
            Some(_) if left_out == 0 && !is_full => lines.push(format!("      {part}")),
            Some(_) => left_out += 1,
        }
    }
    if left_out > 0
        && let Some(line) = lines.last_mut()
    {
        *line += &format!(" +{left_out}");
    }
    // What is in no counter takes the room that is left.
    let unseen = if state.history.shows_lesson { 0 } else { state.history.lesson_copies() };
    if unseen > 0 && left_out == 0 {
        let note = format!("{} of the lesson's own", figures::count(unseen));
        let is_full = lines.len() >= most;
        match lines.last_mut() {
            None => lines.push(format!(" all: {note}")),
            Some(line) if text::width(line) + 3 + text::width(&note) <= width => {
                *line += &format!(" · {note}")
            }
            Some(_) if !is_full => lines.push(format!("      {note}")),
            Some(_) => {}
        }
    }
    lines.into_iter().map(|line| Line::styled(text::clip(&line, width), state.theme.dim)).collect()
}

/// How the rows are parted.
struct RowColumns {
    way: usize,
    width: usize,
    /// Each row names its clock.
    mixed: bool,
    /// From so many on, one row is enough.
    needed: usize,
}

fn rows(state: &State, transfer: &Transfer, columns: &RowColumns) -> Vec<Line<'static>> {
    let RowColumns { way, width, mixed, needed } = *columns;
    let theme = &state.theme;
    let picked = state.machine.pick == Some(Pick::Event(transfer.seq));
    let mark = row_mark(state, picked, transfer.source);
    let name = if picked { theme.selected } else { theme.strong };
    let direction = figures::way(transfer.from, transfer.to);
    let clock = if mixed { format!(" {}", transfer.span.clock.name()) } else { String::new() };
    let time = format!("{}{clock}", figures::nanos(transfer.span.nanos));
    let rate = format!("{} GB/s", figures::rate(transfer.bytes, transfer.span));
    let memory = transfer.memory();
    let memory_style = if transfer.pinned { theme.ok } else { theme.text };
    let (waiting, waiting_style) =
        if transfer.blocking { ("waits", theme.warn) } else { ("async", theme.ok) };
    let source = place("", transfer.source);
    let times = if mixed { 8 + CLOCK } else { 8 };
    if width >= needed {
        let gap = if width >= needed + ROOMY { "  " } else { " " };
        let named = width >= needed + NAMED;
        let source = if named { source.as_str() } else { source.strip_prefix("In ").unwrap_or(&source) };
        return vec![Line::from(vec![
            mark,
            Span::styled(text::left(&direction, way), name),
            Span::styled(text::right(&figures::bytes(transfer.bytes), 9 + gap.len()), theme.text),
            Span::styled(text::right(&time, times + gap.len() - 1), theme.text),
            Span::styled(text::right(&rate, 10 + gap.len()), theme.text),
            Span::styled(format!("{gap}{:<8}", memory.unwrap_or_default()), memory_style),
            Span::styled(format!("{gap}{waiting:<5}"), waiting_style),
            Span::styled(format!("{gap}{source}"), theme.dim),
        ])];
    }
    let bytes = figures::bytes(transfer.bytes);
    let bytes = text::right(&bytes, (text::width(&bytes) + 1).max(9));
    let time = text::right(&time, (text::width(&time) + 2).max(9));
    let left = width.saturating_sub(text::width(&bytes) + text::width(&time));
    let first = Line::from(vec![
        mark,
        Span::styled(text::left(&direction, left.saturating_sub(1)), name),
        Span::styled(bytes, theme.text),
        Span::styled(time, theme.text),
    ]);
    let second = Line::from(vec![
        Span::styled(format!("  {rate}"), theme.dim),
        Span::styled(memory.map_or_else(String::new, |memory| format!(" {memory}")), memory_style),
        Span::styled(format!(" {waiting} "), waiting_style),
        Span::styled(source, theme.dim),
    ]);
    vec![first, second]
}

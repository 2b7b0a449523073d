//! The transfer log, newest first.

use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::base::event::Clock;
use crate::base::figures;
use crate::lab::layout::placed::Placed;
use crate::lab::layout::position;
use crate::lab::layout::sections::entry::{Hit, SectionEntry, SectionPlace, Step, Term, beside};
use crate::lab::layout::sections::marks::{list_title, place, row_mark};
use crate::lab::model::history::records::Transfer;
use crate::lab::model::machine::{Pick, Section};
use crate::lab::model::state::State;
use crate::lab::model::text;

pub(crate) const ENTRY: SectionEntry = SectionEntry {
    section: Section::Transfers,
    rows: |state, _| state.history.transfers().len(),
    fitting: |_, area| fitting(area),
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
        name: "direction",
        means: "cpu→cuda:0 is host to device (h2d), cuda:0→cpu device to host (d2h), cuda:0→cuda:1 device to device (d2d).",
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

/// From this width on, a transfer takes one row; below, two.
const WIDE: usize = 72;

/// Transfers that fit an area.
fn fitting(area: Rect) -> usize {
    let rows = usize::from(area.height).saturating_sub(2);
    if usize::from(area.width) >= WIDE { rows } else { rows / 2 }
}

/// Rows of one transfer.
fn rows_each(area: Rect) -> usize {
    if usize::from(area.width) >= WIDE { 1 } else { 2 }
}

/// The transfers in sight.
fn picks(state: &State, top: usize, area: Rect) -> Vec<Pick> {
    let newest = state.history.transfers().newest().skip(top).take(fitting(area));
    newest.map(|transfer| Pick::Event(transfer.seq)).collect()
}

fn hit(state: &State, area: Rect, at: Position) -> Option<Hit> {
    let row = usize::from(at.y - area.y);
    let number = row.checked_sub(2).map(|row| row / rows_each(area))?;
    picks(state, state.tops.of(Section::Transfers), area).get(number).copied().map(Hit::Pick)
}

fn step(state: &State, area: Rect, forward: bool) -> Option<Step> {
    let last = state.history.transfers().len().saturating_sub(fitting(area));
    let list = |top| picks(state, top, area);
    beside(list, state.machine.pick, state.tops.of(Section::Transfers).min(last), last, forward)
}

fn lay(state: &State, top: usize, area: Rect) -> Placed {
    let mut placed = Placed::default();
    let theme = &state.theme;
    let width = usize::from(area.width);
    let log = state.history.transfers();
    let room = fitting(area);
    // Where all times are of one clock the title says which; else each row does.
    let modelled = !log.is_empty() && state.history.all_timed_by(Clock::Modelled);
    let mixed = !modelled && !state.history.all_timed_by(Clock::Measured);
    let all: u64 = state.history.directions().map(|(.., way)| way.count).fold(0, u64::saturating_add);
    let mut name = figures::plural(all, "transfer", "transfers");
    if all > log.len() as u64 {
        name = format!("{} of {name} shown", figures::count(log.len() as u64));
    }
    if modelled {
        name += ", modelled";
    }
    placed.put(0, list_title(state, Section::Transfers, &name, &position(top, room, log.len()), width));
    if log.is_empty() {
        placed.put(1, Line::styled(" none yet; copies show here", theme.dim));
        return placed;
    }
    placed.put(1, totals(state, width));
    let lines = log.newest().skip(top).take(room).flat_map(|transfer| rows(state, transfer, width, mixed));
    for (y, line) in lines.enumerate() {
        placed.put(y + 2, line);
    }
    placed
}

fn totals(state: &State, width: usize) -> Line<'static> {
    let mut text = " all:".to_owned();
    let mut left_out = 0;
    for (i, (from, to, all)) in state.history.directions().enumerate() {
        let part = format!("{from}→{to} ×{} {}", figures::count(all.count), figures::bytes(all.bytes));
        let part = if i == 0 { format!(" {part}") } else { format!(" · {part}") };
        // Room is kept for the note on those left out.
        if left_out == 0 && text::width(&text) + text::width(&part) + 4 <= width {
            text += &part;
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        text += &format!(" +{left_out}");
    }
    Line::styled(text, state.theme.dim)
}

fn rows(state: &State, transfer: &Transfer, width: usize, mixed: bool) -> Vec<Line<'static>> {
    let theme = &state.theme;
    let picked = state.machine.pick == Some(Pick::Event(transfer.seq));
    let mark = row_mark(state, picked, transfer.source);
    let name = if picked { theme.selected } else { theme.strong };
    let direction = format!("{}→{}", transfer.from, transfer.to);
    let clock = if mixed { format!(" {}", transfer.span.clock.name()) } else { String::new() };
    let time = format!("{}{clock}", figures::nanos(transfer.span.nanos));
    let rate = format!("{} GB/s", figures::rate(transfer.bytes, transfer.span));
    let (memory, memory_style) =
        if transfer.pinned { ("pinned", theme.ok) } else { ("pageable", theme.text) };
    let (waiting, waiting_style) =
        if transfer.blocking { ("waits", theme.warn) } else { ("async", theme.ok) };
    let source = place("", transfer.source);
    let times = if mixed { 17 } else { 9 };
    if width >= WIDE {
        return vec![Line::from(vec![
            mark,
            Span::styled(text::left(&direction, 14), name),
            Span::styled(text::right(&figures::bytes(transfer.bytes), 11), theme.text),
            Span::styled(text::right(&time, times), theme.text),
            Span::styled(text::right(&rate, 11), theme.text),
            Span::styled(format!("  {memory:<8}"), memory_style),
            Span::styled(format!("  {waiting:<5}"), waiting_style),
            Span::styled(format!("  {source}"), theme.dim),
        ])];
    }
    let bytes = text::right(&figures::bytes(transfer.bytes), 11);
    let left = width.saturating_sub(11 + times + 1);
    let first = Line::from(vec![
        mark,
        Span::styled(text::left(&direction, left.saturating_sub(1)), name),
        Span::styled(bytes, theme.text),
        Span::styled(text::right(&time, times), theme.text),
    ]);
    let second = Line::from(vec![
        Span::styled(format!("  {rate} "), theme.dim),
        Span::styled(memory, memory_style),
        Span::styled(format!(" {waiting} "), waiting_style),
        Span::styled(source, theme.dim),
    ]);
    vec![first, second]
}

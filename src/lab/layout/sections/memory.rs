//! A device's memory: a bar of allocated, cached, other and free with the mark of the peak, its figures, and the map of
//! its segments.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::base::event::Clock;
use crate::base::figures;
use crate::lab::layout::placed::Placed;
use crate::lab::layout::position;
use crate::lab::layout::sections::bars::{
    WAITS, WIDE, bar_row, counters, figure_parts, has_counters, lesson_counters, name, pack, races, refusals,
    row, sensors, waits,
};
use crate::lab::layout::sections::entry::{SectionEntry, SectionPlace, Step, scrolled};
use crate::lab::layout::sections::marks::list_title;
use crate::lab::layout::sections::memory_terms::TERMS;
use crate::lab::layout::sections::{curves, segments};
use crate::lab::model::history::curve::Curve;
use crate::lab::model::history::records::DeviceTally;
use crate::lab::model::history::segments::SegmentMap;
use crate::lab::model::machine::Section;
use crate::lab::model::state::State;
use crate::lab::model::text;
use crate::lab::model::theme::{Colour, Look, Theme};

pub(crate) const ENTRY: SectionEntry = SectionEntry {
    section: Section::Memory,
    rows: |state, area| {
        let width = usize::from(area.width);
        rows(state, width, detail(state, width, fitting(state, area)))
    },
    fitting,
    needs: |_, area| usize::from(area.height),
    lay,
    hit: |_, _, _| None,
    step: |state, _, forward| {
        let top = scrolled(state.tops.of(Section::Memory), 1, forward);
        Some(Step { top, ..Step::default() })
    },
    in_pane: SectionPlace::Top(|state, area| {
        let (width, room) = (usize::from(area.width), usize::from(area.height));
        let said = detail(state, width, room / 2);
        let wanted = rows(state, width, said);
        // A curve is for where the lists still have room enough.
        let wanted = if said.curve > 0 && room < wanted + LISTS {
            rows(state, width, first(&WITHOUT_CURVE, state, width, room / 2))
        } else {
            wanted
        };
        // A device has its row, and the other sections have theirs.
        wanted.max(state.history.devices().count().min(1)).min(room.saturating_sub(OTHERS)).max(1)
    }),
    on_screen: SectionPlace::Left,
    picked_in_pane: false,
    terms: TERMS,
};

/// Rows of the pane that are left to the other sections.
const OTHERS: usize = 8;
/// The same where there is a curve.
const LISTS: usize = 26;

/// How much is said of each device; in one row where there are no figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Detail {
    /// Bar, figures and counters.
    figures: bool,
    /// Rows of the map of segments.
    map: usize,
    /// Rows of the curve.
    curve: usize,
    /// Where the host waited, and what only a real device tells.
    all: bool,
}

impl Detail {
    const fn some(map: usize, curve: usize) -> Detail {
        Detail { figures: true, map, curve, all: false }
    }

    const fn all(map: usize, curve: usize) -> Detail {
        Detail { figures: true, map, curve, all: true }
    }
}

/// What the pane may say, the most first.
const IN_PANE: [Detail; 6] = {
    let [a, b, c, d] = WITHOUT_CURVE;
    [Detail::some(3, 4), Detail::some(2, 3), a, b, c, d]
};
const WITHOUT_CURVE: [Detail; 4] =
    [Detail::some(3, 0), Detail::some(2, 0), Detail::some(1, 0), Detail::some(0, 0)];
/// What the screen may say.
const ON_SCREEN: [Detail; 9] = [
    Detail::all(6, 8),
    Detail::all(4, 6),
    Detail::all(3, 5),
    Detail::all(3, 4),
    Detail::all(2, 3),
    Detail::all(1, 3),
    Detail::all(3, 0),
    Detail::all(2, 0),
    Detail::all(1, 0),
];

/// The most that fits so many rows.
fn detail(state: &State, width: usize, room: usize) -> Detail {
    first(if state.machine_fills() { &ON_SCREEN } else { &IN_PANE }, state, width, room)
}

/// The first that fits so many rows, or the least there is.
fn first(all: &[Detail], state: &State, width: usize, room: usize) -> Detail {
    let least = if state.machine_fills() { Detail::all(1, 0) } else { Detail::default() };
    let fits = |detail: &Detail| rows(state, width, *detail) <= room;
    all.iter().copied().find(fits).unwrap_or(least)
}

/// Rows that all devices take.
fn rows(state: &State, width: usize, detail: Detail) -> usize {
    let gaps = if detail.all { state.history.devices().count().saturating_sub(1) } else { 0 };
    let each = state.history.devices().map(|device| match detail.figures {
        false => 1,
        true => height(&Shown::of(state, device), width, detail),
    });
    each.sum::<usize>() + gaps
}

/// A device, with what is known of its memory.
struct Shown<'a> {
    device: &'a DeviceTally,
    map: Option<&'a SegmentMap>,
    curve: Option<&'a Curve>,
    clock: Clock,
    /// What the lesson did on it by itself, where that is asked for.
    lesson: Option<&'a DeviceTally>,
}

impl<'a> Shown<'a> {
    fn of(state: &'a State, device: &'a DeviceTally) -> Shown<'a> {
        let history = &state.history;
        Shown {
            device,
            map: history.segments(device.device),
            curve: history.curve(device.device),
            clock: history.clock(device.device),
            lesson: history.lesson_counters(device.device).filter(|_| history.shows_lesson),
        }
    }
}

/// Rows of the section that are seen at once.
fn fitting(state: &State, area: Rect) -> usize {
    usize::from(area.height).saturating_sub(usize::from(state.machine_fills()))
}

/// The section from row `top` on.
fn lay(state: &State, top: usize, area: Rect) -> Placed {
    let mut placed = Placed::default();
    let theme = &state.theme;
    let width = usize::from(area.width);
    let room = fitting(state, area);
    let detail = detail(state, width, room);
    let mut lines = Vec::new();
    for device in state.history.devices() {
        if !detail.figures {
            lines.push(row(device, width, theme));
            continue;
        }
        if detail.all && !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.extend(block(&Shown::of(state, device), width, state.machine.whole, detail, theme));
    }
    let mut first = 0;
    if state.machine_fills() {
        let note = position(top, room, lines.len());
        placed.put(0, list_title(state, Section::Memory, "memory", &note, width));
        first = 1;
    } else if lines.len() > room {
        let more = (lines.len() - room + 1) as u64;
        lines.truncate(room.saturating_sub(1));
        let text = format!("… {}", figures::plural(more, "more row", "more rows"));
        lines.push(Line::styled(text::clip(&text, width), theme.dim));
    }
    let top = if first == 1 { top } else { 0 };
    for (y, line) in lines.into_iter().skip(top).take(room).enumerate() {
        placed.put(y + first, line);
    }
    placed
}

/// Rows that [`block`] gives.
fn height(shown: &Shown<'_>, width: usize, detail: Detail) -> usize {
    let device = shown.device;
    let out_of_memory = usize::from(device.out_of_memory > 0) + usize::from(device.races > 0);
    if device.total == 0 {
        return 1 + out_of_memory;
    }
    let figures = figure_parts(device, detail.all, &Theme::new(PLAIN));
    let map = if detail.map > 0 { segments::height(shown.map, detail.map) } else { 0 };
    let curve = curves::height(shown.curve, detail.curve);
    let all = if detail.all { device.waits.len().min(WAITS) + 1 } else { 0 };
    let counters = usize::from(has_counters(device)) + usize::from(shown.lesson.is_some());
    2 + pack(figures, width).len() + map + curve + all + counters + out_of_memory
}

/// Any look: only lengths matter.
const PLAIN: Look = Look { colour: Colour::None, light: false, ascii: false };

/// The device in full: name, bar, figures, segments, counters. `whole` keeps the bar at the whole memory's scale.
fn block(shown: &Shown<'_>, width: usize, whole: bool, detail: Detail, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let device = shown.device;
    if device.total == 0 {
        let what = if width >= WIDE { "main memory  held by tensors " } else { "held by tensors " };
        lines.push(Line::from(vec![
            Span::styled(format!("{}  ", device.device), theme.strong),
            Span::styled(what, theme.dim),
            Span::styled(figures::mebibytes(device.tensor_bytes), theme.text),
            Span::styled(" MiB", theme.dim),
        ]));
    } else {
        lines.push(name(device, width, theme));
        lines.push(bar_row(device, width, whole, theme));
        lines.extend(pack(figure_parts(device, detail.all, theme), width));
        lines.extend(curves::lines(shown.curve, shown.clock, width, detail.curve, theme));
        if detail.map > 0 {
            lines.extend(segments::lines(shown.map, width, detail.map, theme));
        }
        if has_counters(device) {
            lines.push(counters(device, width, theme));
        }
        if let Some(lesson) = shown.lesson {
            lines.push(lesson_counters(lesson, width, theme));
        }
        if detail.all {
            lines.extend(waits(device, width, theme));
            lines.push(sensors(device, width, theme));
        }
    }
    if device.races > 0 {
        lines.push(races(device, width, theme));
    }
    if device.out_of_memory > 0 {
        lines.push(refusals(device, width, theme));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Device;

    #[test]
    fn every_row_fits_and_the_height_is_told() {
        let mut tally = DeviceTally { total: 1 << 30, simulated: true, ..DeviceTally::of(Device::Cuda(0)) };
        (tally.allocated, tally.reserved, tally.peak) = (512 << 20, 768 << 20, 900 << 20);
        (tally.launches, tally.syncs, tally.implicit_syncs, tally.out_of_memory) =
            (1_000_000, 54_321, 50_000, 2);
        let theme = Theme::new(Look { colour: Colour::None, light: false, ascii: false });
        let source = |line| crate::base::event::Source::at(3, line);
        (tally.races, tally.last_race) = (1_234, Some((source(4), source(5))));
        tally.waits.insert((3, 4, crate::base::event::Name::new("item")), 50_000);
        let mut curve = Curve::default();
        curve.note(0, 1, 2);
        for (told_free, width) in [(None, 38), (Some((100 << 20, 768 << 20)), 60), (Some((0, 0)), 90)] {
            tally.told_free = told_free;
            let (map, clock, lesson) = (None, Clock::Modelled, Some(&tally));
            let shown = Shown { device: &tally, map, curve: Some(&curve), clock, lesson };
            for detail in IN_PANE.into_iter().chain(ON_SCREEN) {
                let lines = block(&shown, width, false, detail, &theme);
                assert_eq!(lines.len(), height(&shown, width, detail), "{detail:?} at {width}");
                for line in lines {
                    assert!(line.width() <= width, "{line} is wider than {width}");
                }
            }
        }
    }
}

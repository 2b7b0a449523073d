//! A device's memory: a bar of allocated, cached, other and free with the mark of the peak, its figures, and the map of
//! its segments.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::base::event::Source;
use crate::base::figures;
use crate::lab::layout::placed::Placed;
use crate::lab::layout::position;
use crate::lab::layout::sections::entry::{SectionEntry, SectionPlace, Step, scrolled};
use crate::lab::layout::sections::marks::{list_title, place};
use crate::lab::layout::sections::memory_terms::TERMS;
use crate::lab::layout::sections::segments;
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
    lay,
    hit: |_, _, _| None,
    step: |state, _, forward| {
        let top = scrolled(state.tops.of(Section::Memory), 1, forward);
        Some(Step { top, ..Step::default() })
    },
    in_pane: SectionPlace::Top(|state, area| {
        let (width, room) = (usize::from(area.width), usize::from(area.height));
        let wanted = rows(state, width, detail(state, width, room / 2));
        // A device has its row, and the other sections have theirs.
        wanted.max(state.history.devices().count().min(1)).min(room.saturating_sub(OTHERS)).max(1)
    }),
    on_screen: SectionPlace::Left,
    picked_in_pane: false,
    terms: TERMS,
};

/// A bar shows the part in use alone where that is a smaller share than one in this many.
const ZOOM: u64 = 8;
/// The smallest part that a bar shows, in bytes.
const MIN_SCALE: u64 = 4 << 20;
const MIN_BAR: usize = 8;
/// Rows of the pane that are left to the other sections.
const OTHERS: usize = 8;
/// Places shown where the host waited unasked.
const WAITS: usize = 3;

/// How much is said of each device.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Detail {
    /// One row.
    Row,
    /// Bar, figures and counters.
    Figures,
    /// The segments as well, in so many rows.
    Map(usize),
    /// And where the host waited, and what only a real device tells.
    All(usize),
}

impl Detail {
    fn map_rows(self) -> usize {
        match self {
            Detail::Row | Detail::Figures => 0,
            Detail::Map(rows) | Detail::All(rows) => rows,
        }
    }

    fn is_all(self) -> bool {
        matches!(self, Detail::All(_))
    }
}

/// The most that fits so many rows.
fn detail(state: &State, width: usize, room: usize) -> Detail {
    let fits = |detail: &Detail| rows(state, width, *detail) <= room;
    let some = [Detail::Map(3), Detail::Map(2), Detail::Map(1), Detail::Figures];
    let all = [Detail::All(6), Detail::All(4), Detail::All(3), Detail::All(2), Detail::All(1)];
    let wanted: &[Detail] = if state.machine_fills() { &all } else { &some };
    let least = if state.machine_fills() { Detail::All(1) } else { Detail::Row };
    wanted.iter().copied().find(fits).unwrap_or(least)
}

/// Rows that all devices take.
fn rows(state: &State, width: usize, detail: Detail) -> usize {
    let gaps = if detail.is_all() { state.history.devices().count().saturating_sub(1) } else { 0 };
    let each = state.history.devices().map(|device| match detail {
        Detail::Row => 1,
        _ => height(device, state.history.segments(device.device), width, detail),
    });
    each.sum::<usize>() + gaps
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
        if detail == Detail::Row {
            lines.push(row(device, width, theme));
            continue;
        }
        if detail.is_all() && !lines.is_empty() {
            lines.push(Line::default());
        }
        let map = state.history.segments(device.device);
        lines.extend(block(device, map, width, state.machine.whole, detail, theme));
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
fn height(device: &DeviceTally, map: Option<&SegmentMap>, width: usize, detail: Detail) -> usize {
    let out_of_memory = usize::from(device.out_of_memory > 0);
    if device.total == 0 {
        return 1 + out_of_memory;
    }
    let figures = figure_parts(device, detail, &Theme::new(PLAIN));
    let map = if detail.map_rows() > 0 { segments::height(map, detail.map_rows()) } else { 0 };
    let all = if detail.is_all() { device.waits.len().min(WAITS) + 1 } else { 0 };
    2 + pack(figures, width).len() + map + all + usize::from(has_counters(device)) + out_of_memory
}

/// Any look: only lengths matter.
const PLAIN: Look = Look { colour: Colour::None, light: false, ascii: false };

/// The device in full: name, bar, figures, segments, counters. `whole` keeps the bar at the whole memory's scale.
fn block(
    device: &DeviceTally,
    map: Option<&SegmentMap>,
    width: usize,
    whole: bool,
    detail: Detail,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
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
        lines.extend(pack(figure_parts(device, detail, theme), width));
        if detail.map_rows() > 0 {
            lines.extend(segments::lines(map, width, detail.map_rows(), theme));
        }
        if has_counters(device) {
            lines.push(counters(device, width, theme));
        }
        if detail.is_all() {
            lines.extend(waits(device, width, theme));
            lines.push(sensors(device, width, theme));
        }
    }
    if device.out_of_memory > 0 {
        let times = match device.out_of_memory {
            1 => String::new(),
            n => format!(" ({} times)", figures::count(n)),
        };
        let asked = figures::bytes(device.last_refused);
        let text = format!("▲ out of memory{times}: {asked} refused");
        lines.push(Line::styled(text::clip(&text, width), theme.error));
    }
    lines
}

/// Wide enough for longer names.
const WIDE: usize = 76;

/// The device in one row, for when there are many.
fn row(device: &DeviceTally, width: usize, theme: &Theme) -> Line<'static> {
    let name = text::left(&device.device.to_string(), 8);
    let used = figures::mebibytes(device.allocated);
    if device.total == 0 {
        let held = figures::mebibytes(device.tensor_bytes);
        return Line::from(vec![
            Span::styled(name, theme.strong),
            Span::styled(format!("held by tensors {held} MiB"), theme.dim),
        ]);
    }
    let label = format!(" {} of {} MiB", used, figures::mebibytes(device.total));
    let columns = width.saturating_sub(8 + text::width(&label)).max(MIN_BAR);
    let mut spans = vec![Span::styled(name, theme.strong)];
    spans.extend(bar(device, device.total, columns, theme));
    spans.push(Span::styled(label, theme.dim));
    Line::from(spans)
}

fn has_counters(device: &DeviceTally) -> bool {
    device.total > 0 && device.launches + device.syncs > 0
}

fn name(device: &DeviceTally, width: usize, theme: &Theme) -> Line<'static> {
    let badge = if device.simulated { "SIM" } else { "" };
    let id = device.device.to_string();
    let room = width.saturating_sub(id.len() + badge.len() + 3);
    let mut spans = vec![
        Span::styled(format!("{id}  "), theme.strong),
        Span::styled(text::left(&device.name, room), theme.text),
        Span::raw(" "),
    ];
    if device.simulated {
        spans.push(Span::styled(badge, theme.badge));
    }
    Line::from(spans)
}

fn bar_row(device: &DeviceTally, width: usize, whole: bool, theme: &Theme) -> Line<'static> {
    let scale = if whole { device.total } else { scale(device) };
    let total = figures::mebibytes(device.total);
    let label = if scale < device.total {
        format!(" ⋯ {} of {total} MiB", figures::mebibytes(scale))
    } else {
        format!(" {total} MiB")
    };
    let columns = width.saturating_sub(text::width(&label)).max(MIN_BAR);
    let mut spans = bar(device, scale, columns, theme);
    spans.push(Span::styled(label, theme.dim));
    Line::from(spans)
}

/// How many bytes the bar spans: all of them, or a power of two with room above what was used.
fn scale(device: &DeviceTally) -> u64 {
    let other = device.other().unwrap_or(0);
    let used = device.reserved.saturating_add(other).max(device.peak).max(MIN_SCALE);
    if used.saturating_mul(ZOOM) >= device.total {
        return device.total;
    }
    used.saturating_add(used / 4).checked_next_power_of_two().unwrap_or(device.total).min(device.total)
}

/// The bar: what is held is never drawn as nothing.
fn bar(device: &DeviceTally, scale: u64, columns: usize, theme: &Theme) -> Vec<Span<'static>> {
    let at = |bytes: u64| {
        let exact = bytes as f64 / scale.max(1) as f64 * columns as f64;
        (exact.round() as usize).clamp(usize::from(bytes > 0), columns)
    };
    let held = at(device.allocated);
    let cached_bytes = device.reserved.saturating_sub(device.allocated);
    let reserved = if cached_bytes == 0 { held } else { at(device.reserved).max(held + 1).min(columns) };
    let other_bytes = device.other().unwrap_or(0);
    let taken = if other_bytes == 0 {
        reserved
    } else {
        at(device.reserved.saturating_add(other_bytes)).max(reserved + 1).min(columns)
    };
    let peak = if device.peak > device.allocated { Some(at(device.peak).max(held + 1) - 1) } else { None };
    let cells = (0..columns).map(|i| {
        if peak == Some(i) {
            ("┆", theme.peak)
        } else if i < held {
            ("█", theme.allocated)
        } else if i < reserved {
            ("▒", theme.cached)
        } else if i < taken {
            ("▚", theme.dim)
        } else {
            ("░", theme.free)
        }
    });
    let cells: Vec<_> = cells.collect();
    cells
        .chunk_by(|a, b| a == b)
        .filter_map(|run| run.first().map(|(glyph, style)| Span::styled(glyph.repeat(run.len()), *style)))
        .collect()
}

/// The figures with their glyphs, each a part that is not broken.
fn figure_parts(device: &DeviceTally, detail: Detail, theme: &Theme) -> Vec<Vec<Span<'static>>> {
    let cached = device.reserved.saturating_sub(device.allocated);
    let entry = |glyph: &'static str, style, label: &'static str, shown: String, columns: usize| {
        vec![
            Span::styled(glyph, style),
            Span::styled(format!(" {label}"), theme.dim),
            Span::styled(text::right(&shown, columns), theme.text),
        ]
    };
    let mib = figures::mebibytes;
    let mut parts = vec![
        entry("█", theme.allocated, "allocated", mib(device.allocated), 7),
        entry("▒", theme.cached, "cached", mib(cached), 6),
    ];
    match device.other() {
        Some(other) if other > 0 || detail.is_all() => {
            parts.push(entry("▚", theme.dim, "other", mib(other), 6));
        }
        None if detail.is_all() => parts.push(entry("▚", theme.dim, "other", "n/a".into(), 6)),
        _ => {}
    }
    parts.push(entry("░", theme.free, "free", mib(device.free()), 12));
    let mut peak = entry("┆", theme.peak, "peak", mib(device.peak), 8);
    peak.push(Span::styled(" MiB", theme.dim));
    parts.push(peak);
    parts
}

/// Parts in lines, two columns between them.
fn pack(parts: Vec<Vec<Span<'static>>>, width: usize) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'static>> = Vec::new();
    for part in parts {
        let taken: usize = part.iter().map(Span::width).sum();
        match lines.last_mut() {
            Some(line) if line.width() + 2 + taken <= width => {
                line.spans.push(Span::raw("  "));
                line.spans.extend(part);
            }
            _ => lines.push(Line::from(part)),
        }
    }
    lines
}

/// Where the host waited unasked, most often first.
fn waits(device: &DeviceTally, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut all: Vec<_> = device.waits.iter().collect();
    all.sort_by_key(|(_, times)| u64::MAX - **times);
    let line = |((cell, line, cause), times): &(&(u32, u32, _), &u64)| {
        let place = place(" at ", Source { cell: *cell, line: *line });
        let text = format!("  ▲ {} implicit: {cause}{place}", figures::count(**times));
        Line::styled(text::clip(&text, width), theme.warn)
    };
    all.iter().take(WAITS).map(line).collect()
}

/// What only a driver can tell.
fn sensors(device: &DeviceTally, width: usize, theme: &Theme) -> Line<'static> {
    let why = if device.simulated { ": a simulated device has none" } else { "" };
    let text = format!("n/a: utilisation, power, temperature, PCIe{why}");
    Line::styled(text::clip(&text, width), theme.dim)
}

/// `launches 12, syncs 3, 2 implicit ▲ item In [3]:4`.
fn counters(device: &DeviceTally, width: usize, theme: &Theme) -> Line<'static> {
    let told = |number: fn(u64) -> String| {
        let all = format!("launches {}, syncs {}", number(device.launches), number(device.syncs));
        (all, format!(", ▲ {} implicit", number(device.implicit_syncs)))
    };
    let exact = told(figures::count);
    let fits = text::width(&exact.0) + text::width(&exact.1) <= width;
    let (asked, unasked) = if fits { exact } else { told(figures::short) };
    let mut used = text::width(&asked);
    let mut spans = vec![Span::styled(asked, theme.dim)];
    if device.implicit_syncs > 0 {
        used += text::width(&unasked);
        spans.push(Span::styled(unasked, theme.warn));
        if let Some((cause, source)) = &device.last_implicit {
            let text = format!(", last {cause}{}", place(" at ", *source));
            if used + text::width(&text) <= width {
                spans.push(Span::styled(text, theme.dim));
            }
        }
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Device;
    use crate::lab::model::theme::{Colour, Look};

    fn device(allocated: u64, reserved: u64, peak: u64) -> DeviceTally {
        DeviceTally {
            device: Device::Cuda(0),
            name: "Tesla T4 (simulated)".into(),
            simulated: true,
            total: 1 << 30,
            allocated,
            reserved,
            peak,
            launches: 0,
            syncs: 0,
            implicit_syncs: 0,
            last_implicit: None,
            waits: Default::default(),
            told_free: None,
            out_of_memory: 0,
            last_refused: 0,
            tensors: 0,
            tensor_bytes: 0,
        }
    }

    fn drawn(device: &DeviceTally, scale: u64, columns: usize) -> String {
        let theme = Theme::new(Look { colour: Colour::None, light: false, ascii: false });
        bar(device, scale, columns, &theme).iter().map(|span| span.content.as_ref()).collect()
    }

    #[test]
    fn a_bar_is_to_scale_and_shows_whatever_is_held() {
        let half = device(512 << 20, 768 << 20, 1 << 30);
        assert_eq!(drawn(&half, 1 << 30, 8), "████▒▒░┆");
        assert_eq!(drawn(&device(512, 2 << 20, 512), 1 << 30, 8), "█▒░░░░░░");
        assert_eq!(drawn(&device(0, 0, 0), 1 << 30, 4), "░░░░");
        let mut shared = device(256 << 20, 256 << 20, 0);
        shared.told_free = Some((512 << 20, 256 << 20));
        assert_eq!(drawn(&shared, 1 << 30, 8), "██▚▚░░░░");
        assert_eq!((shared.other(), shared.free()), (Some(256 << 20), 512 << 20));
        assert_eq!(drawn(&device(1 << 30, 1 << 30, 1 << 30), 1 << 30, 4), "████");
    }

    #[test]
    fn the_scale_follows_what_is_used() {
        assert_eq!(scale(&device(512, 2 << 20, 512)), 8 << 20);
        assert_eq!(scale(&device(0, 200 << 20, 0)), 1 << 30);
    }

    #[test]
    fn every_row_fits_and_the_height_is_told() {
        let mut tally = device(512 << 20, 768 << 20, 900 << 20);
        (tally.launches, tally.syncs, tally.implicit_syncs, tally.out_of_memory) =
            (1_000_000, 54_321, 50_000, 2);
        let theme = Theme::new(Look { colour: Colour::None, light: false, ascii: false });
        tally.waits.insert((3, 4, crate::base::event::Name::new("item")), 50_000);
        for (told_free, width) in [(None, 38), (Some((100 << 20, 768 << 20)), 60), (Some((0, 0)), 90)] {
            tally.told_free = told_free;
            for detail in [Detail::Figures, Detail::Map(2), Detail::All(3)] {
                let lines = block(&tally, None, width, false, detail, &theme);
                assert_eq!(lines.len(), height(&tally, None, width, detail), "{detail:?} at {width}");
                for line in lines {
                    assert!(line.width() <= width, "{line} is wider than {width}");
                }
            }
        }
    }
}

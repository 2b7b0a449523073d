//! The map of a device's segments, with their blocks to scale, and how far its free memory is cut up.

use ratatui::style::Style;
use ratatui::text::Line;

use crate::base::figures;
use crate::lab::layout::sections::marks::joined;
use crate::lab::model::history::segments::{Fragmentation, Segment, SegmentMap};
use crate::lab::model::text;
use crate::lab::model::theme::Theme;

/// The finest scale: the allocator rounds to so many bytes.
const FINEST: u64 = 512;
const COARSEST: u64 = 1 << 40;

/// Rows that [`lines`] gives.
pub(crate) fn height(map: Option<&SegmentMap>, rows: usize) -> usize {
    if map.is_some_and(|map| !map.is_empty()) { rows + 1 } else { 1 }
}

/// A row of figures, then the map in `rows` rows.
pub(crate) fn lines(
    map: Option<&SegmentMap>,
    width: usize,
    rows: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let mut out = Vec::with_capacity(rows + 1);
    let Some(map) = map.filter(|map| !map.is_empty()) else {
        let text = "no segment taken from the device yet";
        out.push(Line::styled(text::clip(text, width), theme.dim));
        return out;
    };
    let room = width.saturating_mul(rows);
    let scale = scale(map, room);
    out.push(told(map, scale, width, theme));
    let mut cells: Vec<(&'static str, Style)> = Vec::with_capacity(room);
    for (address, segment) in map.segments() {
        if cells.len() >= room {
            break;
        }
        paint(&mut cells, address, segment, scale, theme);
    }
    if cells.len() > room {
        cells.truncate(room.saturating_sub(1));
        cells.push(("…", theme.dim));
    }
    for row in cells.chunks(width.max(1)) {
        out.push(joined(row));
    }
    out.resize(rows + 1, Line::default());
    out
}

/// `3 segments, 256 KiB a column · fragmentation 12 %`, and what that is made of where there is room.
fn told(map: &SegmentMap, scale: u64, width: usize, theme: &Theme) -> Line<'static> {
    let Fragmentation { free, largest, split } = map.fragmentation();
    let segments = figures::plural(map.len() as u64, "segment", "segments");
    let share = match map.fragmentation().share() {
        Some(share) => format!("{:.0} %", share * 100.0),
        None => "n/a".into(),
    };
    let mark = if map.torn { "▲ " } else { "" };
    let mut text = format!("{mark}{segments} · fragmentation {share}");
    let signs = if map.len() > 1 {
        "█▊ block ▓ part ▒ free │ next segment"
    } else {
        "█▊ block ▓ part ▒ free"
    };
    let legends =
        [format!(" · {signs}, {} a column", coarse(scale)), format!(" · {signs}"), " · ▓ part ▒ free".into()];
    let room = width.saturating_sub(text::width(&text));
    text.extend(legends.into_iter().find(|legend| text::width(legend) <= room));
    let parts = [
        format!(" · largest free block {} of {}", figures::bytes(largest), figures::bytes(free)),
        format!(" · split {}", figures::bytes(split)),
    ];
    for part in parts {
        if text::width(&text) + text::width(&part) <= width {
            text += &part;
        }
    }
    Line::styled(text::clip(&text, width), theme.dim)
}

/// A power of two in bytes.
fn coarse(scale: u64) -> String {
    match scale {
        0..0x400 => format!("{scale} B"),
        0x400..0x10_0000 => format!("{} KiB", scale >> 10),
        _ => format!("{} MiB", scale >> 20),
    }
}

fn columns(segment: &Segment, scale: u64) -> u64 {
    segment.bytes.div_ceil(scale).max(1)
}

/// Bytes of a column: the finest power of two at which all segments fit, with a column between them.
fn scale(map: &SegmentMap, room: usize) -> u64 {
    let mut scale = FINEST;
    let fits = |scale: u64| {
        let taken = map
            .segments()
            .map(|(_, segment)| columns(segment, scale) + 1)
            .try_fold(0u64, |sum, n| sum.checked_add(n).filter(|sum| *sum <= room as u64 + 1));
        taken.is_some()
    };
    // A map of more segments than columns fits no scale.
    while !fits(scale) && scale < COARSEST {
        scale <<= 1;
    }
    scale
}

/// A segment's columns: held, free, or partly held; the last column of a block is narrower, so that neighbours are
/// told apart.
fn paint(cells: &mut Vec<(&'static str, Style)>, address: u64, segment: &Segment, scale: u64, theme: &Theme) {
    if !cells.is_empty() {
        cells.push(("│", theme.border));
    }
    let count = usize::try_from(columns(segment, scale)).unwrap_or(usize::MAX).min(1 << 16);
    let mut held = vec![0u64; count];
    let mut ends = vec![false; count];
    for (offset, bytes) in segment.blocks(address) {
        let end = offset.saturating_add(bytes).min(segment.bytes);
        let (mut at, mut wide) = (offset, 0);
        while at < end {
            let column = usize::try_from(at / scale).unwrap_or(usize::MAX);
            let next = (at / scale).saturating_add(1).saturating_mul(scale).min(end);
            let Some(place) = held.get_mut(column) else { break };
            *place += next - at;
            (at, wide) = (next, wide + 1);
            if at >= end
                && wide > 1
                && end.is_multiple_of(scale)
                && let Some(place) = ends.get_mut(column)
            {
                *place = true;
            }
        }
    }
    for (i, (held, ends)) in held.iter().zip(&ends).enumerate() {
        let size = segment.bytes.saturating_sub((i as u64).saturating_mul(scale)).min(scale);
        cells.push(match *held {
            0 => ("▒", theme.cached),
            held if held < size => ("▓", theme.allocated),
            _ if *ends => ("▊", theme.allocated),
            _ => ("█", theme.allocated),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::model::theme::{Colour, Look};

    fn drawn(map: &SegmentMap, width: usize, rows: usize) -> Vec<String> {
        let theme = Theme::new(Look { colour: Colour::None, light: false, ascii: false });
        let lines = lines(Some(map), width, rows, &theme);
        assert_eq!(lines.len(), rows + 1);
        lines.iter().map(|l| l.spans.iter().map(|s| s.content.as_ref()).collect()).collect()
    }

    #[test]
    fn blocks_are_to_scale_and_segments_are_told_apart() {
        let mut map = SegmentMap::default();
        map.map(0, 8 * 1024);
        map.map(1 << 20, 4 * 1024);
        map.take(0, 2048);
        map.take(2048, 2048);
        map.take(6 * 1024, 512);
        map.take(1 << 20, 4 * 1024);
        let lines = drawn(&map, 40, 1);
        assert_eq!(lines[0], "2 segments · fragmentation 43 %");
        assert_eq!(lines[1], "███▊███▊▒▒▒▒█▒▒▒│███████▊");
        // Half as wide, each column is worth twice as much.
        assert_eq!(drawn(&map, 14, 1)[1], "█▊█▊▒▒▓▒│███▊");
        assert_eq!(drawn(&map, 7, 2)[1..], ["█▊█▊▒▒▓", "▒│███▊"]);
    }

    #[test]
    fn more_segments_than_columns_are_cut_with_a_mark() {
        let mut map = SegmentMap::default();
        for i in 0..100u64 {
            map.map(i * 4096, 2048);
        }
        let lines = drawn(&map, 20, 2);
        assert!(lines[2].ends_with('…'), "{lines:?}");
        let mut huge = SegmentMap::default();
        huge.map(0, u64::MAX);
        huge.take(5, u64::MAX - 10);
        drawn(&huge, 20, 2);
    }
}

//! A device's memory: a bar of allocated, cached and free with the mark of the peak, and its figures.

use ratatui::text::{Line, Span};

use crate::lab::figures;
use crate::lab::history::DeviceTally;
use crate::lab::text;
use crate::lab::theme::Theme;

/// A bar shows the part in use alone where that is a smaller share than one in this many.
const ZOOM: u64 = 8;
/// The smallest part that a bar shows, in bytes.
const MIN_SCALE: u64 = 4 << 20;
const MIN_BAR: usize = 8;

/// Rows that [`block`] gives.
pub fn height(device: &DeviceTally, width: usize) -> usize {
    let base = match (device.total, width >= WIDE) {
        (0, _) => 1,
        (_, true) => 3,
        (_, false) => 4,
    };
    base + usize::from(has_counters(device)) + usize::from(device.out_of_memory > 0)
}

/// Wide enough for all figures in one row.
const WIDE: usize = 76;

/// The device in full: name, bar, figures, counters. `whole` keeps the bar at the whole memory's scale.
pub fn block(device: &DeviceTally, width: usize, whole: bool, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if device.total == 0 {
        let what = if width >= WIDE { "main memory  allocated " } else { "allocated " };
        lines.push(Line::from(vec![
            Span::styled(format!("{}  ", device.device), theme.strong),
            Span::styled(what, theme.dim),
            Span::styled(figures::mebibytes(device.allocated), theme.text),
            Span::styled(format!("  peak {} MiB", figures::mebibytes(device.peak)), theme.dim),
        ]));
    } else {
        lines.push(name(device, width, theme));
        lines.push(bar_row(device, width, whole, theme));
        lines.extend(figures_rows(device, width, theme));
    }
    if has_counters(device) {
        lines.push(counters(device, width, theme));
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

/// The device in one row, for when there are many.
pub fn row(device: &DeviceTally, width: usize, theme: &Theme) -> Line<'static> {
    let name = text::left(&device.device.to_string(), 8);
    let used = figures::mebibytes(device.allocated);
    if device.total == 0 {
        return Line::from(vec![
            Span::styled(name, theme.strong),
            Span::styled(format!("allocated {used} MiB"), theme.dim),
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
    let used = device.reserved.max(device.peak).max(MIN_SCALE);
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
    let peak = if device.peak > device.allocated { Some(at(device.peak).max(held + 1) - 1) } else { None };
    let cells = (0..columns).map(|i| {
        if peak == Some(i) {
            ("┆", theme.peak)
        } else if i < held {
            ("█", theme.allocated)
        } else if i < reserved {
            ("▒", theme.cached)
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

fn figures_rows(device: &DeviceTally, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let cached = device.reserved.saturating_sub(device.allocated);
    let free = device.total.saturating_sub(device.reserved);
    let entry = |glyph: &'static str, style, label: &'static str, bytes: u64, columns: usize| {
        [
            Span::styled(glyph, style),
            Span::styled(format!(" {label}"), theme.dim),
            Span::styled(text::right(&figures::mebibytes(bytes), columns), theme.text),
        ]
    };
    let allocated = entry("█", theme.allocated, "allocated", device.allocated, 7);
    let cached = entry("▒", theme.cached, "cached", cached, 6);
    let free = |columns| entry("░", theme.free, "free", free, columns);
    let peak = |columns| entry("┆", theme.peak, "peak", device.peak, columns);
    let unit = Span::styled(" MiB", theme.dim);
    let gap = Span::raw("  ");
    let join = |left: [Span<'static>; 3], right: [Span<'static>; 3]| {
        let mut spans = Vec::from(left);
        spans.push(gap.clone());
        spans.extend(right);
        spans
    };
    if width >= WIDE {
        let mut spans = join(allocated, cached);
        spans.push(gap.clone());
        spans.extend(join(free(8), peak(7)));
        spans.push(unit);
        return vec![Line::from(spans)];
    }
    let mut first = join(allocated, cached);
    let mut second = join(free(12), peak(8));
    first.push(unit.clone());
    second.push(unit);
    vec![Line::from(first), Line::from(second)]
}

/// `launches 12, syncs 3, 2 implicit ▲ item In [3]:4`.
fn counters(device: &DeviceTally, width: usize, theme: &Theme) -> Line<'static> {
    let mut spans = vec![Span::styled(
        format!("launches {}, syncs {}", figures::short(device.launches), figures::short(device.syncs)),
        theme.dim,
    )];
    let mut used = spans.iter().map(Span::width).sum::<usize>();
    if device.implicit_syncs > 0 {
        let text = format!(", ▲ {} implicit", figures::short(device.implicit_syncs));
        used += text::width(&text);
        spans.push(Span::styled(text, theme.warn));
        if let Some((cause, source)) = &device.last_implicit {
            let text = format!(", last {cause}{}", super::transfers::place(" at ", *source));
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
    use crate::lab::theme::{Colour, Look};

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
        for width in [38, 60, 90] {
            let lines = block(&tally, width, false, &theme);
            assert_eq!(lines.len(), height(&tally, width));
            for line in lines {
                assert!(line.width() <= width, "{line} is wider than {width}");
            }
        }
    }
}
